/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the benchmark asks of a library: peers.c is the benchmark, lib_mpi.c and
 * lib_vfab.c are all that differs between the programs that are compared.
 */
#ifndef PEERS_H
#define PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum coll {
	BARRIER, ALLREDUCE, BROADCAST, ALLGATHER, REDUCE_SCATTER, ALLTOALL,
	COPY,			/* of each rank's own memory: no library's work */
	COLLS
};

/* Joins the others; takes its own words out of the arguments. */
void lib_start(int *argc, char ***argv, uint32_t *rank, uint32_t *size);

/* Name and version in one line. */
const char *lib_version(void);

/*
 * Two buffers of @bytes each, page-aligned: memory that the library shares
 * between the ranks, or any. Only one pair exists at a time.
 */
void lib_alloc(size_t bytes, bool window, void **in, void **out);
void lib_free(bool window);

/*
 * Floats, summed up. @count: of @in for broadcast (in place, root 0) and
 * all-reduce, of each rank's share for the others.
 */
void lib_call(enum coll coll, void *in, void *out, size_t count);

void lib_end(void);

/* Complains and ends the process. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
