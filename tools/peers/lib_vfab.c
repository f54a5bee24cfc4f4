// SPDX-License-Identifier: GPL-2.0
/* The benchmark's library is libvfab, on the transport that VFAB_DOMAIN says. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include "peers.h"
#include "vfab.h"

#define TAG	UINT64_C(0x7666706565727301)

static struct vfab_ep *ep;
static struct vfab_comm *comm;
static struct vfab_mem mem;

static void must(const char *what, int ret)
{
	if (ret)
		die("%s: %s", what, vfab_strerror(ret));
}

/* To the rank-th CPU while there are enough, as the other launchers do. */
static void pin(uint32_t rank, uint32_t size)
{
	cpu_set_t all, one;
	int cpu;

	if (sched_getaffinity(0, sizeof(all), &all) || size > (uint32_t)CPU_COUNT(&all))
		return;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && !rank--)
			break;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

void lib_start(int *argc, char ***argv, uint32_t *rank, uint32_t *size)
{
	(void)argc;
	(void)argv;
	must("environment", vfab_env_job(rank, NULL, size));
	if (*rank == VFAB_RANK_ANY)
		die("start it by vfabrun");
	pin(*rank, *size);
	must("attach", vfab_open(&ep, NULL, VFAB_RANK_ENV));
	must("meeting the others", vfab_comm_create(ep, NULL, 0, TAG, 60 * VFAB_SECOND, &comm));
	*rank = vfab_comm_index(comm);
}

const char *lib_version(void)
{
	static char text[128];

	snprintf(text, sizeof(text), "vfabric %s, domain %s", VFAB_VERSION, vfab_info(ep)->name);
	return text;
}

void lib_alloc(size_t bytes, bool window, void **in, void **out)
{
	if (window) {
		must("window", vfab_window_alloc(ep, 2 * bytes, TAG + 1, VFAB_ACCESS_WRITE, &mem));
		*in = mem.addr;
		*out = (char *)mem.addr + bytes;
	} else if (posix_memalign(in, 4096, bytes) || posix_memalign(out, 4096, bytes)) {
		die("no memory for 2 x %zu bytes", bytes);
	}
}

void lib_free(bool window)
{
	if (window)
		must("window", vfab_window_free(ep, &mem));
}

void lib_call(enum coll coll, void *in, void *out, size_t count)
{
	switch (coll) {
	case BARRIER:
		must("barrier", vfab_barrier(comm));
		break;
	case ALLREDUCE:
		must("all-reduce", vfab_allreduce(comm, in, out, count, VFAB_F32, VFAB_SUM));
		break;
	case BROADCAST:
		must("broadcast", vfab_broadcast(comm, in, in, count, VFAB_F32, 0));
		break;
	case ALLGATHER:
		must("all-gather", vfab_allgather(comm, in, out, count, VFAB_F32));
		break;
	case REDUCE_SCATTER:
		must("reduce-scatter",
		     vfab_reduce_scatter(comm, in, out, count, VFAB_F32, VFAB_SUM));
		break;
	case ALLTOALL:
		must("all-to-all", vfab_alltoall(comm, in, out, count, VFAB_F32));
		break;
	default:
		die("no collective %d", coll);
	}
}

void lib_end(void)
{
	vfab_comm_destroy(comm);
	vfab_close(ep);
}
