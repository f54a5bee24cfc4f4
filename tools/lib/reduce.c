// SPDX-License-Identifier: LGPL-2.1
/* One function per type and operation, for the compiler to vectorize. */
#include "comm.h"

/*
 * Integers are computed unsigned, where wrapping around is defined; for MIN
 * and MAX @u is the type itself.
 */
#define REDUCE(name, t, u, expr)						\
static void name(void *acc, const void *src, size_t count)		\
{									\
	const t *y = src;						\
	t *x = acc;							\
	size_t i;							\
									\
	for (i = 0; i < count; i++) {					\
		u a = x[i], b = y[i];					\
									\
		x[i] = (expr);						\
	}								\
}

#define REDUCE_TYPE(t, u)						\
	REDUCE(t##_sum, t, u, a + b)					\
	REDUCE(t##_prod, t, u, a * b)					\
	REDUCE(t##_min, t, t, a < b ? a : b)				\
	REDUCE(t##_max, t, t, a > b ? a : b)

REDUCE_TYPE(float, float)
REDUCE_TYPE(double, double)
REDUCE_TYPE(int32_t, uint32_t)
REDUCE_TYPE(int64_t, uint64_t)
REDUCE_TYPE(uint32_t, uint32_t)
REDUCE_TYPE(uint64_t, uint64_t)

#define TABLE(t) { t##_sum, t##_prod, t##_min, t##_max }

static void (*const table[VFAB_TYPES][VFAB_OPS])(void *, const void *, size_t) = {
	[VFAB_F32] = TABLE(float),
	[VFAB_F64] = TABLE(double),
	[VFAB_I32] = TABLE(int32_t),
	[VFAB_I64] = TABLE(int64_t),
	[VFAB_U32] = TABLE(uint32_t),
	[VFAB_U64] = TABLE(uint64_t),
};

void vfabi_reduce(void *acc, const void *src, size_t count,
		  enum vfab_type type, enum vfab_op op)
{
	table[type][op](acc, src, count);
}

size_t vfab_type_size(enum vfab_type type)
{
	static const unsigned char size[VFAB_TYPES] = {
		[VFAB_F32] = 4, [VFAB_F64] = 8, [VFAB_I32] = 4, [VFAB_I64] = 8,
		[VFAB_U32] = 4, [VFAB_U64] = 8,
	};

	return type < VFAB_TYPES ? size[type] : 0;
}
