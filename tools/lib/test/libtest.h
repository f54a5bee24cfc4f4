/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Tests of libvfab in which several processes take part: each test function
 * runs once in every one of its ranks, and passes if all of them return.
 */
#ifndef LIBTEST_H
#define LIBTEST_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "vfab.h"

struct test {
	const char *name;
	uint32_t ranks;
	void (*run)(uint32_t rank);
	uint32_t killed;	/* how many ranks are to die by SIGKILL */
};

/* On each transport, on the kernel fabric only, on a memfd only */
extern const struct test device_tests[], coll_tests[], transfer_tests[];
extern const struct test fabric_device_tests[], fabric_coll_tests[], fabric_transfer_tests[];
extern const struct test memfd_tests[];
extern const struct test engine_tests[], crowd_tests[], long_tests[];
extern const char *domain;	/* that the tests run in */
extern bool memfd;		/* which is one */
extern double bound;		/* seconds that "within a second" may take */

/* In a rank: ends it, and with it the test, unless @cond holds. */
#define CHECK(cond)							\
	do {								\
		if (!(cond))						\
			check_failed(__FILE__, __LINE__, #cond);	\
	} while (0)
#define EQUAL(a, b)							\
	do {								\
		long long a_ = (a), b_ = (b);				\
		if (a_ != b_)						\
			check_differs(__FILE__, __LINE__, #a, a_, b_);	\
	} while (0)
void check_failed(const char *file, int line, const char *what)
	__attribute__((noreturn));
void check_differs(const char *file, int line, const char *what, long long is,
		   long long want) __attribute__((noreturn));

/* Memory that all ranks of a test share outside of the fabric, zeroed. */
extern volatile uint32_t *board;
/* Wait until board[i] is @value or more. */
void board_wait(uint32_t i, uint32_t value);
/* All of so many ranks have come to step @n, by board[rank * 16]. */
void sync_ranks(uint32_t ranks, uint32_t rank, uint32_t n);

/* In a child of a rank: the rank dies, unless it has; its child is another's then. */
void kill_parent(pid_t rank);

/* Until a process sleeps */
void await_sleep(pid_t pid);

double now(void);
struct vfab_ep *attach(uint32_t rank);
/* vfabctl with these words; its exit status */
int vfabctl(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
