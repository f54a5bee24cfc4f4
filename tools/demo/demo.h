/* SPDX-License-Identifier: GPL-2.0 */
/* What the parent of the demonstration and its processes share. */
#ifndef DEMO_H
#define DEMO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "vfab.h"

#define TAG		UINT64_C(0x64656d6f0000)	/* + phase for groups */
#define ELEMENTS	1024		/* of a verified all-reduce */
#define TRAFFIC_ELEMENTS 256
#define ROUNDS		5
#define PINGS		500

enum phase {
	ATTACH = 1,	/* attach, export a window */
	MAP,		/* map everybody's windows, write into each */
	CHECK,		/* what everybody wrote is there */
	GROUP,		/* all-reduces over all */
	LATENCY,	/* rank 0 and 1 */
	TRAFFIC,	/* all-reduces until one fails */
	SURVIVE,	/* all-reduces without the rank that was cut off */
	RESTORE,	/* all-reduces over all again */
	PHASES
};

struct rank {
	_Atomic uint32_t done;		/* phase that it has been through */
	_Atomic uint32_t rounds;	/* all-reduces of the traffic */
	_Atomic uint32_t min_paths, max_paths;
	int err;			/* that ended the traffic */
	uint32_t lost;
	double when, meeting;
	char why[160];
};

struct shared {
	_Atomic uint32_t phase;
	_Atomic uint32_t arrivals;
	double latency[PINGS];
	struct rank rank[VFAB_MAX_WORLD];
};

extern struct shared *sh;

struct demo {
	const char *domain;
	char vfabctl[4096];
	double bound, timeout;
	uint32_t world, cut, plane, planes, id;
	pid_t pids[VFAB_MAX_WORLD];
	double began;
};

extern struct demo demo;

double now(void);
void futex_wait(_Atomic uint32_t *word, uint32_t value, double s);
void futex_wake(_Atomic uint32_t *word);

/* rank.c: a process's way through the phases */
void process(uint32_t rank) __attribute__((noreturn));

#endif
