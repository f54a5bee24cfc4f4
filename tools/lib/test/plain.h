/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * What reductions are to give, computed the slow way: small floating-point types
 * by tables of all their values.
 */
#ifndef PLAIN_H
#define PLAIN_H

#include "vfab.h"

/* An element of any type, in its low bytes */
typedef uint64_t plain;

/* The type has the operation. */
int plain_has(enum vfab_type type, enum vfab_op op);

/* Some element without surprises (no infinity, no NaN) out of any 64 bits */
plain plain_element(enum vfab_type type, uint64_t bits);

/* Elements of @n ranks, reduced in their order */
plain plain_reduce(enum vfab_type type, enum vfab_op op, const plain *x, uint32_t n);

/* Of the types with tables: to single precision and back */
float plain_widen(enum vfab_type type, plain x);
plain plain_narrow(enum vfab_type type, float f);

#endif
