/* SPDX-License-Identifier: LGPL-2.1 */
/* What collectives compute with. */
#ifndef VFAB_REDUCE_H
#define VFAB_REDUCE_H

#include <stdbool.h>
#include "vfab.h"

/**
 * struct vfabi_reduction - elementwise over sources, to each of the destinations
 * @stream: destinations from this one on are not read by this CPU soon: they are
 *	stored past its caches
 *
 * A destination may be one of the sources. Nothing needs to be aligned.
 */
struct vfabi_reduction {
	enum vfab_type type;
	enum vfab_op op;
	uint32_t srcs;		/* at least 1; what VFAB_AVG divides by */
	uint32_t dsts;
	uint32_t stream;
	const char *const *src;
	char *const *dst;
};

/* The type has the operation. */
bool vfabi_reducible(enum vfab_type type, enum vfab_op op);

void vfabi_reduce(const struct vfabi_reduction *r, size_t count);

/*
 * memcpy() by vectors, past the caches if @stream. That of the C library moves
 * larger blocks by "rep movsb", which was 3 to 5 times slower where the lines are
 * in another core's cache.
 */
void vfabi_copy(void *dst, const void *src, size_t len, bool stream);

/* For tests: at most what this kind of machine has */
enum vfabi_machine { VFABI_PLAIN, VFABI_AVX2, VFABI_AVX512, VFABI_BEST = VFABI_AVX512 };
void vfabi_reduce_machine(enum vfabi_machine m);

#endif
