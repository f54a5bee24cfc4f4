/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of vfabperf coll share. */
#ifndef VFABPERF_COLL_H
#define VFABPERF_COLL_H

#include "vfabperf.h"

#define ALIGN		4096	/* of buffers, before -u */

struct coll {
	struct run run;
	const struct kind *kind;	/* NULL: all */
	uint64_t from, to, factor, step, iters, warmup, agg, cycles, cycle;
	uint64_t check, blocking, average, unalign, window, per_iter, stamps;
	int type, op, root;		/* -1: all */
	bool no_dirty, plant, planted, histogram;
	const char *plot;
	char *buf[2];
	struct vfab_mem mem;
	double *times[2];		/* of the current row, out of place and in place */
	uint32_t iter;			/* all over the run: no input comes twice */
	/* barrier: every rank's epoch, which it counts up before each */
	struct vfab_mem epoch;
	struct vfab_mem *peers;
	/* sums for the last lines */
	uint64_t wrong, rows;
	double busbw;
	/* of all cycles, and what is drawn: rank 0's */
	struct row *all;
	size_t n_all, n_cycle;
};

struct result {
	struct stats s;
	double time_us, algbw, busbw;
	bool checked;
	uint64_t wrong;
};

/* One line; without an in-place half for what has none */
struct row {
	const struct kind *kind;
	enum vfab_type type;
	enum vfab_op op;
	int root;
	size_t bytes, count;
	int halves;
	struct result r[2];
};

/* coll_args.c: -1, or an exit status */
extern const char *const type_names[], *const op_names[];
int coll_parse(struct coll *c, struct options *o, int argc, char **argv);

/* coll_report.c: what rank 0 says; every rank calls coll_devices() */
int coll_head(struct coll *c);
int coll_devices(struct coll *c);
void row_front(const struct row *row);
void row_half(const struct coll *c, const struct result *r);
void row_back(const struct coll *c);
void row_json(const struct coll *c, const struct row *row);
int coll_tail(struct coll *c);

#endif
