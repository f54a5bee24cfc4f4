// SPDX-License-Identifier: GPL-2.0
/* The calibration: what a copy and a system call cost right now. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "bench.h"

#define BYTES	(1 << 20)
#define CALLS	2000

void bench_env(int repeats)
{
	char *from = malloc(BYTES), *to = malloc(BYTES);
	double copy[MAX_REPEATS], call[MAX_REPEATS], t;
	int i, k;

	if (!from || !to)
		die("out of memory");
	memset(from, 1, BYTES);
	memset(to, 2, BYTES);
	for (i = 0; i < repeats; i++) {
		t = now_ns();
		memcpy(to, from, BYTES);
		__asm__ volatile("" : : "r"(to) : "memory");
		copy[i] = BYTES / (now_ns() - t);
		t = now_ns();
		for (k = 0; k < CALLS; k++)
			syscall(SYS_getppid);
		call[i] = (now_ns() - t) / CALLS;
	}
	row("calib.memcpy", "GB/s", copy, NULL, repeats);
	row("calib.syscall", "ns", call, NULL, repeats);
	free(from);
	free(to);
}
