// SPDX-License-Identifier: LGPL-2.1
/*
 * reducetest: kernels of reductions against plain.c, of each kind of machine that
 * this one can be. Prints TAP. By example:
 *
 *	build/tools/test/reducetest
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../plain.h"
#include "reduce.h"

#define MOST	600		/* elements, of which any may be odd ones */
#define SRCS	9
#define DSTS	3
#define GUARD	64

static int tests, failures;

static void result(int ok, const char *what)
{
	printf("%s %d - %s\n", ok ? "ok" : "not ok", ++tests, what);
	failures += !ok;
}

static uint64_t noise(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 32;
}

static char buf[SRCS][MOST * 8 + 2 * GUARD] __attribute__((aligned(64)));
static char out[DSTS][MOST * 8 + 2 * GUARD] __attribute__((aligned(64)));
static plain element[SRCS][MOST];

static void reduce(enum vfab_type type, enum vfab_op op, uint32_t srcs, uint32_t dsts,
		   const char *const *src, char *const *dst, size_t count, bool stream)
{
	struct vfabi_reduction r = {
		.type = type, .op = op, .stream = stream, .srcs = srcs, .dsts = dsts,
		.src = src, .dst = dst,
	};

	vfabi_reduce(&r, count);
}

static int one(enum vfab_type type, enum vfab_op op, uint32_t srcs, uint32_t dsts, size_t count,
	       unsigned int shift, int in_place, bool stream)
{
	size_t elem = vfab_type_size(type), i;
	const char *src[SRCS];
	char *dst[DSTS];
	plain x[SRCS], want;
	uint32_t k, d;

	for (k = 0; k < srcs; k++) {
		src[k] = buf[k] + GUARD + (shift * (k + 1)) % 64;
		for (i = 0; i < count; i++) {
			element[k][i] = plain_element(type, noise(i * 31 + k * 7919 + shift));
			memcpy((char *)src[k] + i * elem, &element[k][i], elem);
		}
	}
	for (d = 0; d < dsts; d++) {
		memset(out[d], 0x55, sizeof(out[d]));
		dst[d] = out[d] + GUARD + (shift * (d + 3)) % 64;
	}
	if (in_place)
		dst[0] = (char *)src[srcs / 2];
	reduce(type, op, srcs, dsts, src, dst, count, stream);
	for (i = 0; i < count; i++) {
		for (k = 0; k < srcs; k++)
			x[k] = element[k][i];
		want = plain_reduce(type, op, x, srcs);
		for (d = 0; d < dsts; d++)
			if (memcmp(dst[d] + i * elem, &want, elem))
				return 0;
	}
	for (d = in_place; d < dsts; d++)
		if (dst[d][-1] != 0x55 || dst[d][count * elem] != 0x55)
			return 0;
	return 1;
}

static const size_t counts[] = {
	0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 255, 257, 600
};

static void all(const char *machine)
{
	static const char *const ops[] = { "sum", "prod", "min", "max", "avg", "and", "or", "xor" };
	char name[100];
	uint32_t type, op, i, srcs, ok;

	for (op = 0; op < VFAB_OPS; op++) {
		ok = 1;
		for (type = 0; type < VFAB_TYPES; type++) {
			if (vfabi_reducible(type, op) != !!plain_has(type, op))
				ok = 0;
			if (!plain_has(type, op))
				continue;
			for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
				for (srcs = 1; srcs <= SRCS; srcs += srcs < 3 ? 1 : 3)
					ok &= one(type, op, srcs, 1 + (i + srcs) % DSTS, counts[i],
						  (i * 5 + srcs) % 64, (i + srcs) & 1, i & 1) &
					      one(type, op, srcs, 1, counts[i], 0, 0, true);
		}
		snprintf(name, sizeof(name), "%s, %s: all types as computed plainly", machine,
			 ops[op]);
		result(ok, name);
	}
}

/* Each code of the small types through a sum of one, which rounds back to itself */
static int codes(enum vfab_type type)
{
	size_t elem = vfab_type_size(type);
	uint32_t code, end = 1U << 8 * elem;
	const char *src;
	plain in, got, want;
	char *dst;

	for (code = 0; code < end; code++) {
		in = code;
		got = 0;
		src = (const char *)&in;
		dst = (char *)&got;
		reduce(type, VFAB_SUM, 1, 1, &src, &dst, 1, false);
		want = plain_narrow(type, plain_widen(type, in));
		/* Of a NaN, that it is one matters. */
		if (got != want && !(isnan(plain_widen(type, in)) && isnan(plain_widen(type, got))))
			return 0;
	}
	return 1;
}

/* Sums of pairs hit the middle between two codes, and what is too large. */
static int pairs(enum vfab_type type)
{
	size_t elem = vfab_type_size(type);
	uint32_t a, b, end = 1U << 8 * elem, step = elem == 1 ? 1 : 97;
	plain x[2], got, want;
	const char *src[2] = { (char *)&x[0], (char *)&x[1] };
	char *dst = (char *)&got;

	for (a = 0; a < end; a += step) {
		for (b = 0; b < end; b += step * (elem == 1 ? 1 : 3)) {
			x[0] = a;
			x[1] = b;
			got = 0;
			if (isnan(plain_widen(type, a)) || isnan(plain_widen(type, b)))
				continue;
			reduce(type, VFAB_SUM, 2, 1, src, &dst, 1, false);
			want = plain_reduce(type, VFAB_SUM, x, 2);
			if (got != want &&
			    !(isnan(plain_widen(type, want)) && isnan(plain_widen(type, got))))
				return 0;
		}
	}
	return 1;
}

static int rounding(void)
{
	return codes(VFAB_F16) & codes(VFAB_BF16) & codes(VFAB_F8E4M3) & codes(VFAB_F8E5M2) &
	       pairs(VFAB_F16) & pairs(VFAB_BF16) & pairs(VFAB_F8E4M3) & pairs(VFAB_F8E5M2);
}

int main(void)
{
	static const struct {
		const char *name;
		enum vfabi_machine m;
	} machines[] = {
		{ "plain", VFABI_PLAIN }, { "AVX2", VFABI_AVX2 }, { "AVX-512", VFABI_AVX512 },
	};
	char name[80];
	size_t i;

	puts("TAP version 13");
	for (i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		vfabi_reduce_machine(machines[i].m);
		all(machines[i].name);
		snprintf(name, sizeof(name), "%s: small types round to nearest even",
			 machines[i].name);
		result(rounding(), name);
	}
	printf("1..%d\n", tests);
	return failures ? 1 : 0;
}
