/* SPDX-License-Identifier: GPL-2.0 */
/* What the model needs of the kernel, for tests of it that run without one. */
#ifndef VFABRIC_TOPOLOGY_USER_H
#define VFABRIC_TOPOLOGY_USER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;

#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
/* Nothing runs beside these tests, but the model says where it matters */
#define smp_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define BITS_PER_LONG 64
#define hweight64 __builtin_popcountll
#define __ffs64 __builtin_ctzll

#define kvcalloc(n, size, gfp) calloc(n, size)
#define kvfree free
#define GFP_KERNEL_ACCOUNT 0
#define cond_resched() do { } while (0)

static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	return (u64)((__uint128_t)a * b / c);
}

static inline bool test_bit(unsigned long bit, const unsigned long *words)
{
	return words[bit / 64] >> bit % 64 & 1;
}

static inline void __set_bit(unsigned long bit, unsigned long *words)
{
	words[bit / 64] |= 1UL << bit % 64;
}

#endif
