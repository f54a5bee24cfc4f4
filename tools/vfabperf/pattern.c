// SPDX-License-Identifier: GPL-2.0
/*
 * Inputs of which the result is known without reducing anything: element i of
 * rank r is a(r) + b(i), or a(r) * b(i) for products, and both depend on the
 * iteration. The moduli are primes, so that a shift by a chunk or a share
 * shows; with up to 1024 ranks every sum is an integer below 2^24, exact in a
 * float.
 */
#include "vfabperf.h"

static uint64_t a_term(uint32_t rank, uint32_t iter)
{
	return (rank * UINT64_C(17) + iter * UINT64_C(5)) % 1021;
}

static uint64_t b_term(size_t i, uint32_t iter)
{
	return (i * UINT64_C(7) + iter * UINT64_C(3)) % 509;
}

static uint64_t mixed(uint64_t key)
{
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 29;
}

/* Integers wrap around: odd factors lose nothing. */
static uint64_t a_int(uint32_t rank, uint32_t iter)
{
	return mixed((uint64_t)iter << 32 | rank) | 1;
}

static uint64_t b_int(size_t i, uint32_t iter)
{
	return mixed(~((uint64_t)iter << 32 | i % 509)) | 1;
}

/* Powers of two are exact; a 2 from each rank would be too much for a float. */
static double a_float(uint32_t rank, uint32_t iter)
{
	uint64_t x = a_int(rank, iter);

	return x % 61 == 0 ? 2 : x & 64 ? -1 : 1;
}

static double b_float(size_t i, uint32_t iter)
{
	return b_int(i, iter) & 64 ? -1 : 1;
}

/* @t: the elements' type; @w: one in which everything is exact, or wraps */
#define PATTERN(t, w, a_factor, b_factor)				\
static void fill_##t(void *buf, size_t n, bool prod, uint32_t rank,	\
		     uint32_t iter)					\
{									\
	w a = prod ? a_factor(rank, iter) : a_term(rank, iter);		\
	t *x = buf;							\
	size_t i;							\
									\
	for (i = 0; i < n; i++)						\
		x[i] = prod ? a * b_factor(i, iter) : a + b_term(i, iter); \
}									\
									\
static size_t wrong_##t(const void *buf, size_t n, enum vfab_op op,	\
			uint32_t ranks, uint32_t iter)			\
{									\
	w sum = 0, prod = 1, min = a_term(0, iter), max = 0, a, b, want;	\
	const t *x = buf;						\
	size_t i, wrong = 0;						\
	uint32_t r;							\
									\
	for (r = 0; r < ranks; r++) {					\
		a = a_term(r, iter);					\
		sum += a;						\
		min = a < min ? a : min;				\
		max = a > max ? a : max;				\
		prod *= a_factor(r, iter);				\
	}								\
	for (i = 0; i < n; i++) {					\
		b = b_term(i, iter);					\
		want = op == VFAB_SUM ? sum + ranks * b :		\
		       op == VFAB_MIN ? min + b : max + b;		\
		if (op == VFAB_PROD)					\
			for (want = prod, r = 0; r < ranks; r++)	\
				want *= b_factor(i, iter);		\
		wrong += x[i] != (t)want;				\
	}								\
	return wrong;							\
}

PATTERN(float, double, a_float, b_float)
PATTERN(double, double, a_float, b_float)
PATTERN(int32_t, uint64_t, a_int, b_int)
PATTERN(int64_t, uint64_t, a_int, b_int)
PATTERN(uint32_t, uint64_t, a_int, b_int)
PATTERN(uint64_t, uint64_t, a_int, b_int)

static const struct {
	void (*fill)(void *buf, size_t n, bool prod, uint32_t rank, uint32_t iter);
	size_t (*wrong)(const void *buf, size_t n, enum vfab_op op,
			uint32_t ranks, uint32_t iter);
} patterns[VFAB_TYPES] = {
	[VFAB_F32] = { fill_float, wrong_float },
	[VFAB_F64] = { fill_double, wrong_double },
	[VFAB_I32] = { fill_int32_t, wrong_int32_t },
	[VFAB_I64] = { fill_int64_t, wrong_int64_t },
	[VFAB_U32] = { fill_uint32_t, wrong_uint32_t },
	[VFAB_U64] = { fill_uint64_t, wrong_uint64_t },
};

void pattern_fill(void *buf, size_t count, enum vfab_type type,
		  enum vfab_op op, uint32_t rank, uint32_t iter)
{
	patterns[type].fill(buf, count, op == VFAB_PROD, rank, iter);
}

size_t pattern_wrong(const void *buf, size_t count, enum vfab_type type,
		     enum vfab_op op, uint32_t ranks, uint32_t iter)
{
	return patterns[type].wrong(buf, count, op, ranks, iter);
}
