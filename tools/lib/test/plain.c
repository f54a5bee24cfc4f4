// SPDX-License-Identifier: LGPL-2.1
/* See plain.h; compiled with -fwrapv. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "plain.h"

/* --- Small floating-point types ------------------------------------------------------- */

struct format {
	int bits, mant, bias;
	plain largest;		/* finite */
	plain beyond;		/* what is too large becomes this */
	plain nan;
	float *value;		/* of each of its non-negative codes */
};

static struct format formats[VFAB_TYPES] = {
	[VFAB_F16] = { 16, 10, 15, 0x7bff, 0x7c00, 0x7e00, NULL },
	[VFAB_BF16] = { 16, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, NULL },
	[VFAB_F8E4M3] = { 8, 3, 7, 0x7e, 0x7e, 0x7f, NULL },
	[VFAB_F8E5M2] = { 8, 2, 15, 0x7b, 0x7b, 0x7e, NULL },
};

static const struct format *format(enum vfab_type type)
{
	struct format *f = &formats[type];
	int code, mant, exp;

	if (f->value || !f->bits)
		return f->bits ? f : NULL;
	f->value = calloc(1 << (f->bits - 1), sizeof(float));
	for (code = 0; code <= (int)f->largest; code++) {
		mant = code & ((1 << f->mant) - 1);
		exp = code >> f->mant;
		f->value[code] = exp ? ldexpf(mant + (1 << f->mant), exp - f->bias - f->mant) :
				 ldexpf(mant, 1 - f->bias - f->mant);
	}
	return f;
}

float plain_widen(enum vfab_type type, plain x)
{
	const struct format *f = format(type);
	plain code = x & ((1ULL << (f->bits - 1)) - 1);
	float v;

	if (code > f->largest)
		v = f->beyond > f->largest && code == f->beyond ? INFINITY : NAN;
	/* infinity of the type that becomes its largest number all the same */
	else
		v = f->value[code];
	if (type == VFAB_F8E5M2 && code == 0x7c)
		v = INFINITY;
	return x >> (f->bits - 1) & 1 ? -v : v;
}

/* The nearest of the table; of two, the even one */
plain plain_narrow(enum vfab_type type, float x)
{
	const struct format *f = format(type);
	plain sign = (plain)!!signbit(x) << (f->bits - 1), low = 0, high = f->largest, mid;
	double a = fabs((double)x), top, below, above;

	if (isnan(x))
		return f->nan | sign;
	/* Half a unit beyond the largest */
	top = f->value[high] + ((double)f->value[high] - f->value[high - 1]) / 2;
	if (a >= top)
		return f->beyond | sign;
	if (a >= f->value[high])
		return high | sign;
	while (high - low > 1) {
		mid = (low + high) / 2;
		if (f->value[mid] <= a)
			low = mid;
		else
			high = mid;
	}
	below = a - f->value[low];
	above = f->value[high] - a;
	if (below < above || (below == above && !(low & 1)))
		return low | sign;
	return high | sign;
}

/* --- All types --------------------------------------------------------------------------- */

static int is_float(enum vfab_type type)
{
	return type == VFAB_F32 || type == VFAB_F64 || formats[type].bits;
}

int plain_has(enum vfab_type type, enum vfab_op op)
{
	return !is_float(type) || (op != VFAB_AND && op != VFAB_OR && op != VFAB_XOR);
}

plain plain_element(enum vfab_type type, uint64_t bits)
{
	double d = ldexp((int32_t)bits, (int)(bits >> 60) - 40);
	float f = d;
	plain x = 0;

	switch (type) {
	case VFAB_F32:
		memcpy(&x, &f, 4);
		return x;
	case VFAB_F64:
		memcpy(&x, &d, 8);
		return x;
	default:
		break;
	}
	if (formats[type].bits)
		return plain_narrow(type, ldexpf((int32_t)bits >> 16, (int)(bits >> 60) - 16));
	return vfab_type_size(type) == 8 ? bits : bits & ((1ULL << vfab_type_size(type) * 8) - 1);
}

#define STEP(a, b)							\
	(op == VFAB_PROD ? (a) * (b) : op == VFAB_MIN ? ((a) < (b) ? (a) : (b)) : \
	 op == VFAB_MAX ? ((a) > (b) ? (a) : (b)) : (a) + (b))

static float small(enum vfab_type type, enum vfab_op op, const plain *x, uint32_t n)
{
	volatile float sum;
	uint32_t i;
	float b;

	if (type == VFAB_F32)
		memcpy(&b, &x[0], 4);
	else
		b = plain_widen(type, x[0]);
	sum = b;
	for (i = 1; i < n; i++) {
		if (type == VFAB_F32)
			memcpy(&b, &x[i], 4);
		else
			b = plain_widen(type, x[i]);
		sum = STEP(sum, b);
	}
	return op == VFAB_AVG ? sum / n : sum;
}

static double large(enum vfab_op op, const plain *x, uint32_t n)
{
	volatile double sum;
	uint32_t i;
	double b;

	memcpy(&b, &x[0], 8);
	sum = b;
	for (i = 1; i < n; i++) {
		memcpy(&b, &x[i], 8);
		sum = STEP(sum, b);
	}
	return op == VFAB_AVG ? sum / n : sum;
}

static int is_signed(enum vfab_type type)
{
	return type == VFAB_I8 || type == VFAB_I16 || type == VFAB_I32 || type == VFAB_I64;
}

static plain cut(enum vfab_type type, plain x)
{
	int spare = 64 - 8 * (int)vfab_type_size(type);

	return is_signed(type) ? (plain)((int64_t)(x << spare) >> spare) : x << spare >> spare;
}

static plain whole(enum vfab_type type, enum vfab_op op, const plain *x, uint32_t n)
{
	plain a = cut(type, x[0]), b;
	uint32_t i;

	for (i = 1; i < n; i++) {
		b = cut(type, x[i]);
		if (op == VFAB_AND)
			a &= b;
		else if (op == VFAB_OR)
			a |= b;
		else if (op == VFAB_XOR)
			a ^= b;
		else if (is_signed(type))
			a = STEP((int64_t)a, (int64_t)b);
		else
			a = STEP(a, b);
		a = cut(type, a);
	}
	if (op == VFAB_AVG)
		a = is_signed(type) ? (plain)((int64_t)a / (int64_t)n) : a / n;
	return a;
}

plain plain_reduce(enum vfab_type type, enum vfab_op op, const plain *x, uint32_t n)
{
	plain r = 0;
	double d;
	float f;

	if (type == VFAB_F64) {
		d = large(op, x, n);
		memcpy(&r, &d, 8);
	} else if (type == VFAB_F32) {
		f = small(type, op, x, n);
		memcpy(&r, &f, 4);
	} else if (formats[type].bits) {
		r = plain_narrow(type, small(type, op, x, n));
	} else {
		r = whole(type, op, x, n);
	}
	return r;
}
