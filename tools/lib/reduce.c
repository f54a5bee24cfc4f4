// SPDX-License-Identifier: LGPL-2.1
/*
 * Reductions of many sources at once. reduce_kernels.h is compiled once for each
 * kind of machine; the best that this one can is chosen at run time. All give
 * the same bits: an element is computed from the first source to the last, and
 * nothing is contracted (-ffp-contract=off).
 */
#include <string.h>
#include "reduce.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Bytes that stay in the first-level cache between the steps of a block */
#define BLOCK	4096

/* --- Floating-point types that are computed as float ------------------------------- */

static inline uint32_t bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static inline float float_of(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

/*
 * A format of @mant bits of mantissa, whose exponents have the bias @bias. From
 * @special on, values are no finite numbers.
 */
static inline __attribute__((always_inline))
float widen(uint32_t x, uint32_t width, uint32_t mant, uint32_t bias, uint32_t special)
{
	uint32_t sign = x >> (width - 1) << 31, a = x & ((1U << (width - 1)) - 1);
	uint32_t u = a << (23 - mant), low = (128 - bias) << 23, f;

	f = u + ((127 - bias) << 23);
	/* Below 1.0: what an exponent of 0 and a mantissa say is a difference. */
	if (bias != 127)
		f = u < 1U << 23 ? bits_of(float_of(u + low) - float_of(low)) : f;
	f = a >= special ? u | 0x7f800000 : f;
	return float_of(f | sign);
}

/* To nearest even. Beyond @max there is @over; @nan is what is no number. */
static inline __attribute__((always_inline))
uint32_t narrow(float x, uint32_t width, uint32_t mant, uint32_t bias, uint32_t max,
		uint32_t over, uint32_t nan)
{
	uint32_t f = bits_of(x), sign = f >> 31 << (width - 1), u = f & 0x7fffffff;
	uint32_t shift = 23 - mant, magic = (127 - bias + shift + 1) << 23, o;

	o = (u - ((127 - bias) << 23) + (1U << (shift - 1)) - 1 + (u >> shift & 1)) >> shift;
	/* The addition rounds to the unit of the smallest numbers. */
	if (bias != 127)
		o = u < (128 - bias) << 23 ?
		    bits_of(float_of(u) + float_of(magic)) - magic : o;
	o = o > max ? over : o;
	o = u > 0x7f800000 ? nan : o;
	return o | sign;
}

/* Type, width, mantissa, bias, special; largest, beyond, no number */
#define F16	uint16_t, 16, 10, 15, 0x7c00, 0x7bff, 0x7c00, 0x7e00
#define BF16	uint16_t, 16, 7, 127, 0x7f80, 0x7f7f, 0x7f80, 0x7fc0
#define E4M3	uint8_t, 8, 3, 7, 0x7f, 0x7e, 0x7e, 0x7f
#define E5M2	uint8_t, 8, 2, 15, 0x7c, 0x7b, 0x7b, 0x7e

/* --- Kernels for each kind of machine ----------------------------------------------- */

struct kernels {
	void (*fused[VFAB_TYPES][VFAB_OPS])(char *const *dst, uint32_t dsts,
					    const char *const *src, uint32_t srcs,
					    size_t bytes, uint32_t stream);
	void (*widen[VFAB_TYPES])(float *to, const void *from, size_t n);
	void (*narrow[VFAB_TYPES])(void *to, const float *from, size_t n);
	void (*divide[VFAB_TYPES])(void *x, size_t n, uint32_t by);
};

#define NAME(x)		x##_plain
#define VBYTES		16
#if defined(__x86_64__)
#define STREAM(p, v)	_mm_stream_si128((__m128i *)(p), (__m128i)(v))
#else
#define STREAM(p, v)	(*(typeof(v) *)(p) = (v))
#endif
#include "reduce_kernels.h"

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2")
#define NAME(x)		x##_avx2
#define VBYTES		32
#define STREAM(p, v)	_mm256_stream_si256((__m256i *)(p), (__m256i)(v))
#include "reduce_kernels.h"
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#define NAME(x)		x##_avx512
#define VBYTES		64
#define STREAM(p, v)	_mm512_stream_si512((__m512i *)(p), (__m512i)(v))
#include "reduce_kernels.h"
#pragma GCC pop_options
#endif

static const struct kernels *kernels_of(enum vfabi_machine m)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (m >= VFABI_AVX512 && __builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl"))
		return &kernels_avx512;
	if (m >= VFABI_AVX2 && __builtin_cpu_supports("avx2"))
		return &kernels_avx2;
#endif
	(void)m;
	return &kernels_plain;
}

static const struct kernels *chosen;

void vfabi_reduce_machine(enum vfabi_machine m)
{
	__atomic_store_n(&chosen, kernels_of(m), __ATOMIC_RELAXED);
}

static const struct kernels *best(void)
{
	const struct kernels *k = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

	/* Constant data, the same for all threads that get here at once */
	if (__builtin_expect(!k, 0)) {
		vfabi_reduce_machine(VFABI_BEST);
		k = kernels_of(VFABI_BEST);
	}
	return k;
}

/* --- Blocks: what takes more than one step ------------------------------------------ */

/* An average is a sum first. */
static enum vfab_op step_of(enum vfab_op op)
{
	return op == VFAB_AVG ? VFAB_SUM : op;
}

static void put_block(const struct vfabi_reduction *r, const void *block, size_t at, size_t len)
{
	uint32_t d;

	for (d = 0; d < r->dsts; d++)
		vfabi_copy(r->dst[d] + at, block, len, d >= r->stream);
}

static void block_float(const struct kernels *k, const struct vfabi_reduction *r,
			size_t at, size_t n)
{
	float acc[BLOCK / 4] __attribute__((aligned(64)));
	float x[BLOCK / 4] __attribute__((aligned(64)));
	char out[BLOCK / 2] __attribute__((aligned(64)));
	char *to = (char *)acc;
	const char *from[2] = { (char *)acc, (char *)x };
	uint32_t i;

	k->widen[r->type](acc, r->src[0] + at, n);
	for (i = 1; i < r->srcs; i++) {
		k->widen[r->type](x, r->src[i] + at, n);
		k->fused[VFAB_F32][step_of(r->op)](&to, 1, from, 2, n * 4, 1);
	}
	if (r->op == VFAB_AVG)
		k->divide[VFAB_F32](acc, n, r->srcs);
	k->narrow[r->type](out, acc, n);
	put_block(r, out, at, n * vfab_type_size(r->type));
}

static void block_average(const struct kernels *k, const struct vfabi_reduction *r,
			  size_t at, size_t len)
{
	char acc[BLOCK] __attribute__((aligned(64)));
	const char *first[2] = { acc };
	char *to = acc;
	uint32_t i;

	memcpy(acc, r->src[0] + at, len);
	for (i = 1; i < r->srcs; i++) {
		first[1] = r->src[i] + at;
		k->fused[r->type][VFAB_SUM](&to, 1, first, 2, len, 1);
	}
	k->divide[r->type](acc, len / vfab_type_size(r->type), r->srcs);
	put_block(r, acc, at, len);
}

void vfabi_reduce(const struct vfabi_reduction *r, size_t count)
{
	size_t elem = vfab_type_size(r->type), bytes = count * elem, at, n;
	const struct kernels *k = best();
	bool narrow = k->widen[r->type];
	size_t step = narrow ? BLOCK / 4 * elem : BLOCK;

	if (!narrow && r->op != VFAB_AVG) {
		k->fused[r->type][r->op](r->dst, r->dsts, r->src, r->srcs, bytes, r->stream);
		return;
	}
	for (at = 0; at < bytes; at += n) {
		n = bytes - at < step ? bytes - at : step;
		if (narrow)
			block_float(k, r, at, n / elem);
		else
			block_average(k, r, at, n);
	}
}

bool vfabi_reducible(enum vfab_type type, enum vfab_op op)
{
	if (type >= VFAB_TYPES || op >= VFAB_OPS)
		return false;
	return kernels_plain.fused[type][step_of(op)] ||
	       (kernels_plain.widen[type] && kernels_plain.fused[VFAB_F32][step_of(op)]);
}

size_t vfab_type_size(enum vfab_type type)
{
	static const unsigned char size[VFAB_TYPES] = {
		[VFAB_F32] = 4, [VFAB_F64] = 8, [VFAB_I32] = 4, [VFAB_I64] = 8,
		[VFAB_U32] = 4, [VFAB_U64] = 8, [VFAB_F16] = 2, [VFAB_BF16] = 2,
		[VFAB_I8] = 1, [VFAB_U8] = 1, [VFAB_I16] = 2, [VFAB_U16] = 2,
		[VFAB_F8E4M3] = 1, [VFAB_F8E5M2] = 1,
	};

	return type < VFAB_TYPES ? size[type] : 0;
}

/* --- Copies --------------------------------------------------------------------------- */

void vfabi_copy(void *dst, const void *src, size_t len, bool stream)
{
	char *to = dst;
	const char *from = src;

	best()->fused[VFAB_U8][VFAB_OR](&to, 1, &from, 1, len, !stream);
}
