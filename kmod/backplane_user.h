/* SPDX-License-Identifier: GPL-2.0 OR LGPL-2.1 */
/* What backplane_layout.c needs of the kernel, where there is none. */
#ifndef VFABRIC_BACKPLANE_USER_H
#define VFABRIC_BACKPLANE_USER_H

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint8_t u8;

#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#define virt_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define virt_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define virt_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define virt_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)

#define le32_to_cpu le32toh
#define le64_to_cpu le64toh
#define cpu_to_le32 htole32
#define cpu_to_le64 htole64

#endif
