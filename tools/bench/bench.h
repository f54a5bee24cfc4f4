/* SPDX-License-Identifier: GPL-2.0 */
/* What the measures of vfabbench share. */
#ifndef VFABBENCH_H
#define VFABBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "vfab.h"
#include "vfab_nl.h"

#define MAX_REPEATS	1000

/* The measures; each prints rows and returns, or ends the program. */
void bench_env(int repeats);
void bench_touch(int repeats);
void bench_calls(int repeats);
void bench_copy(int repeats);
void bench_create(int repeats);
void bench_import(int repeats);
void bench_loss(int repeats);
void bench_scale(int repeats);
void bench_large(int repeats);
void bench_iplink(int repeats);
void bench_vms(int repeats);

double now_ns(void);

/* Ends the program, saying what failed and why: a negative errno, or 0. */
void must(const char *what, int ret);
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/**
 * row - print what was measured, as one line of JSON
 * @id: which measure
 * @unit: of the samples
 * @ours: samples in the order in which they were taken
 * @peer: samples of what it is compared with, taken in turns with ours; or NULL
 * @n: how many of each
 */
void row(const char *id, const char *unit, const double *ours,
	 const double *peer, int n);

/* The domain that is measured in, made for it and deleted at exit. */
void domain_create(uint32_t world, uint32_t planes);
void domain_delete(void);
/* Its number, as text; and another of those that were made. */
const char *domain_name(void);
void domain_use(const char *name);
/* A link, or all of a switch (-1: no rank) or of an endpoint (-1: no switch). */
void link_set(int rank, int sw, bool up);

/* Drop the entries of all tables. */
void drop_tables(uint32_t world);
/* A request about the domain; send it, with what receives the answer. */
struct nlmsghdr *request(uint8_t cmd);
void send_request(const char *what, vfab_nl_cb cb, void *data);
/* Dump all of the domain; how many there are. */
uint32_t dump_count(uint8_t cmd);

/* Open the domain's device file without attaching. */
int device_open(void);

/*
 * A process for each rank of the domain, and the parent: team_start() returns
 * in each of them, -1 in the parent. Nobody passes meet() before all came.
 */
int team_start(int ranks);
void meet(void);
/* In the parent, at the end. */
void team_end(void);
/* Memory that all processes of a team started later share; zeroed. */
void *shared(size_t bytes);

/* Where it was and how fast it went, of each rank: the whole takes max - min. */
struct span {
	double from, to;
};

double whole(const struct span *span, int n);

#endif
