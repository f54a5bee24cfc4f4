// SPDX-License-Identifier: GPL-2.0
/* The benchmark's library is whichever MPI this is compiled with. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "peers.h"

static MPI_Win win = MPI_WIN_NULL;

void lib_start(int *argc, char ***argv, uint32_t *rank, uint32_t *size)
{
	int r, n;

	/* Errors end the job: that is MPI's default. */
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &r);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	*rank = r;
	*size = n;
}

const char *lib_version(void)
{
	static char text[MPI_MAX_LIBRARY_VERSION_STRING];
	char *c;
	int len;

	/* MPICH has tabs and many lines, Open MPI how it was made. */
	MPI_Get_library_version(text, &len);
	text[strcspn(text, "\n,")] = 0;
	for (c = text; *c; c++)
		if (*c < ' ' || *c == '"' || *c == '\\')
			*c = ' ';
	return text;
}

void lib_alloc(size_t bytes, bool window, void **in, void **out)
{
	if (window) {
		MPI_Win_allocate_shared(2 * bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, in, &win);
		*out = (char *)*in + bytes;
	} else if (posix_memalign(in, 4096, bytes) || posix_memalign(out, 4096, bytes)) {
		die("no memory for 2 x %zu bytes", bytes);
	}
}

void lib_free(bool window)
{
	/* Private ones end with the process. */
	if (window)
		MPI_Win_free(&win);
}

void lib_call(enum coll coll, void *in, void *out, size_t count)
{
	switch (coll) {
	case BARRIER:
		MPI_Barrier(MPI_COMM_WORLD);
		break;
	case ALLREDUCE:
		MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		break;
	case BROADCAST:
		MPI_Bcast(in, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
		break;
	case ALLGATHER:
		MPI_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD);
		break;
	case REDUCE_SCATTER:
		MPI_Reduce_scatter_block(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		break;
	case ALLTOALL:
		MPI_Alltoall(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD);
		break;
	default:
		die("no collective %d", coll);
	}
}

void lib_end(void)
{
	MPI_Finalize();
}
