// SPDX-License-Identifier: GPL-2.0
/*
 * Inputs that differ per rank, element and iteration, and what must come of them,
 * by a plain loop in double precision or 64-bit integers.
 *
 * What repeats does so after a prime number of elements, so that a shift by a
 * chunk or a share shows. Every sum of floats is exact in single precision, up to
 * 1024 ranks; those that are rounded to fewer bits are so once, at the end.
 */
#include <math.h>
#include <string.h>
#include "vfabperf.h"

/* Floating-point types of less than 32 bits */
static const struct small {
	int mantissa, exponent;
	double max;
	bool saturates;
	int range;		/* inputs are integers of this many values */
} smalls[VFAB_TYPES] = {
	[VFAB_F16] = { 10, 5, 65504, false, 31 },
	[VFAB_BF16] = { 7, 8, 0x1.fep127, false, 31 },
	[VFAB_F8E4M3] = { 3, 4, 448, true, 5 },
	[VFAB_F8E5M2] = { 2, 5, 57344, true, 5 },
};

static bool is_float(enum vfab_type type)
{
	return type == VFAB_F32 || type == VFAB_F64 || smalls[type].mantissa;
}

bool pattern_integer(enum vfab_type type)
{
	return !is_float(type);
}

static bool is_signed(enum vfab_type type)
{
	return type == VFAB_I8 || type == VFAB_I16 || type == VFAB_I32 || type == VFAB_I64;
}

/* To the nearest, to even. */
static uint32_t encode(const struct small *s, double v)
{
	uint32_t sign = signbit(v) ? 1U << (s->mantissa + s->exponent) : 0;
	int bias = (1 << (s->exponent - 1)) - 1, e;
	double q;

	v = fabs(v);
	if (v == 0)
		return sign;
	frexp(v, &e);
	e = e - 1 > 1 - bias ? e - 1 : 1 - bias;
	q = rint(ldexp(v, s->mantissa - e));
	if (ldexp(q, e - s->mantissa) > s->max)
		return sign | (s->saturates ? encode(s, s->max) :
			       ((1U << s->exponent) - 1) << s->mantissa);
	/* The leading one of a normal number adds itself to the exponent. */
	return sign | (((uint32_t)(e + bias - 1) << s->mantissa) + (uint32_t)q);
}

static uint64_t mixed(uint64_t key)
{
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 29;
}

static uint64_t any(uint32_t rank, size_t i, uint32_t iter)
{
	return mixed(mixed((uint64_t)iter << 32 | rank) + i);
}

/* Odd factors lose nothing when integers wrap around. */
static uint64_t int_of(enum vfab_op op, uint32_t rank, size_t i, uint32_t iter)
{
	return any(rank, i, iter) | (op == VFAB_PROD);
}

static double float_of(enum vfab_type type, enum vfab_op op, uint32_t rank, size_t i,
		       uint32_t iter)
{
	uint64_t x;

	/* Powers of two are exact; a 2 from each rank would be too much for a float. */
	if (op == VFAB_PROD) {
		x = any(rank, i, iter);
		return x % 61 == 0 ? 2 : x & 64 ? -1 : 1;
	}
	x = (rank * UINT64_C(17) + iter * UINT64_C(5)) % 1021 +
	    (i * UINT64_C(7) + iter * UINT64_C(3)) % PERIOD;
	if (!smalls[type].range)
		return x;
	return (double)(x % smalls[type].range) - smalls[type].range / 2;
}

static void put(struct pattern *p, enum vfab_type type, size_t i, uint64_t x)
{
	uint8_t b = x;
	uint16_t h = x;
	uint32_t w = x;

	p->elem = vfab_type_size(type);
	memcpy(p->bytes + i * p->elem, p->elem == 1 ? (void *)&b : p->elem == 2 ? (void *)&h :
	       p->elem == 4 ? (void *)&w : (void *)&x, p->elem);
}

static void put_float(struct pattern *p, enum vfab_type type, size_t i, double v)
{
	float f = v;
	uint64_t x = 0;
	uint32_t w;

	memcpy(&x, &v, sizeof(x));
	memcpy(&w, &f, sizeof(w));
	put(p, type, i, type == VFAB_F64 ? x : type == VFAB_F32 ? w : encode(&smalls[type], v));
}

/* As the type sees it: the rest of the 64 bits follows its sign. */
static uint64_t wrapped(enum vfab_type type, uint64_t x)
{
	int bits = 64 - 8 * (int)vfab_type_size(type);

	return is_signed(type) ? (uint64_t)((int64_t)(x << bits) >> bits) : x << bits >> bits;
}

static bool below(enum vfab_type type, uint64_t a, uint64_t b)
{
	return is_signed(type) ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t int_result(enum vfab_type type, enum vfab_op op, uint32_t ranks, size_t i,
			   uint32_t iter)
{
	uint64_t acc = wrapped(type, int_of(op, 0, i, iter)), x;
	uint32_t r;

	for (r = 1; r < ranks; r++) {
		x = wrapped(type, int_of(op, r, i, iter));
		switch (op) {
		case VFAB_PROD:
			acc *= x;
			break;
		case VFAB_MIN:
			acc = below(type, x, acc) ? x : acc;
			break;
		case VFAB_MAX:
			acc = below(type, acc, x) ? x : acc;
			break;
		case VFAB_AND:
			acc &= x;
			break;
		case VFAB_OR:
			acc |= x;
			break;
		case VFAB_XOR:
			acc ^= x;
			break;
		default:
			acc += x;
		}
	}
	acc = wrapped(type, acc);
	if (op != VFAB_AVG)
		return acc;
	return is_signed(type) ? (uint64_t)((int64_t)acc / (int64_t)ranks) : acc / ranks;
}

static double float_result(enum vfab_type type, enum vfab_op op, uint32_t ranks, size_t i,
			   uint32_t iter)
{
	double acc = float_of(type, op, 0, i, iter), x;
	uint32_t r;

	for (r = 1; r < ranks; r++) {
		x = float_of(type, op, r, i, iter);
		acc = op == VFAB_PROD ? acc * x : op == VFAB_MIN ? fmin(acc, x) :
		      op == VFAB_MAX ? fmax(acc, x) : acc + x;
	}
	if (op != VFAB_AVG)
		return acc;
	return type == VFAB_F64 ? acc / ranks : (float)acc / (float)ranks;
}

/* What is moved unchanged: any bits. */
void pattern_moved(struct pattern *p, enum vfab_type type, uint32_t rank, uint32_t iter)
{
	size_t i;

	for (i = 0; i < PERIOD; i++)
		put(p, type, i, any(rank, i, iter));
}

void pattern_input(struct pattern *p, enum vfab_type type, enum vfab_op op, uint32_t rank,
		   uint32_t iter)
{
	size_t i;

	for (i = 0; i < PERIOD; i++)
		if (is_float(type))
			put_float(p, type, i, float_of(type, op, rank, i, iter));
		else
			put(p, type, i, int_of(op, rank, i, iter));
}

void pattern_result(struct pattern *p, enum vfab_type type, enum vfab_op op, uint32_t ranks,
		    uint32_t iter)
{
	size_t i;

	for (i = 0; i < PERIOD; i++)
		if (is_float(type))
			put_float(p, type, i, float_result(type, op, ranks, i, iter));
		else
			put(p, type, i, int_result(type, op, ranks, i, iter));
}

/* Elements from @first on, up to where the pattern repeats. */
static size_t piece(size_t first, size_t n)
{
	size_t left = PERIOD - first % PERIOD;

	return n < left ? n : left;
}

void pattern_fill(const struct pattern *p, void *buf, size_t first, size_t n)
{
	char *to = buf;
	size_t k;

	for (; n; n -= k, first += k, to += k * p->elem) {
		k = piece(first, n);
		memcpy(to, p->bytes + first % PERIOD * p->elem, k * p->elem);
	}
}

uint64_t pattern_wrong(const struct pattern *p, const void *buf, size_t first, size_t n)
{
	const unsigned char *from = buf, *want;
	uint64_t wrong = 0;
	size_t k, i;

	for (; n; n -= k, first += k, from += k * p->elem) {
		k = piece(first, n);
		want = p->bytes + first % PERIOD * p->elem;
		if (!memcmp(from, want, k * p->elem))
			continue;
		for (i = 0; i < k; i++)
			wrong += !!memcmp(from + i * p->elem, want + i * p->elem, p->elem);
	}
	return wrong;
}
