// SPDX-License-Identifier: GPL-2.0
/*
 * vfabperf coll: collectives, with nccl-tests' columns, options and factors.
 *
 * Before each iteration the input is written anew (a source that is not would
 * stay in the readers' caches), and all ranks meet. The time of an iteration
 * is that of the slowest rank; every iteration's result is checked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "coll.h"

#define TAG		UINT64_C(0x7666706572660030)

/* One bit of one element, of one rank that has a result, once for each collective. */
static void damage(struct coll *c, const struct place *p, const struct kind *k)
{
	uint32_t victim = k->to_root ? p->call.root : p->n - 1;
	size_t len;
	char *out = place_result(p, k, &len);

	if (!c->plant || c->planted || p->index != victim || !len)
		return;
	out[len / 2] ^= 1;
	c->planted = true;
}

/* Several operations in place: each one's result is the next one's input. */
static bool checks(const struct coll *c, bool in_place)
{
	return c->check && (c->agg == 1 || !in_place);
}

/* Iterations of one row's half; times in ns of this rank. */
static int iterate(struct coll *c, const struct kind *k, struct place *p, bool in_place,
		   uint64_t *wrong)
{
	const struct run *r = &c->run;
	double *times = c->times[in_place];
	uint32_t filled = 0;
	uint64_t i, m;
	double t;
	int ret;

	*wrong = 0;
	place_buffers(p, k, c->buf[0], c->buf[1], in_place);
	for (i = 0; i < c->warmup + c->iters; i++) {
		/* In place, the result has replaced the input. */
		if (!c->no_dirty || in_place || !i) {
			filled = c->iter++;
			place_fill(p, k, filled);
		}
		ret = vfab_barrier(r->comm);
		t = now_ns();
		for (m = 0; m < c->agg && !ret; m++)
			ret = place_run(p, r->comm, c->blocking);
		t = now_ns() - t;
		if (ret)
			return ret;
		if (i >= c->warmup)
			times[i - c->warmup] = t / c->agg;
		if (checks(c, in_place)) {
			damage(c, p, k);
			*wrong += place_wrong(p, k, filled);
		}
		if (run_first(r))
			progress("%s, %zu elements: iteration %llu of %llu", k->name, p->call.count,
				 (unsigned long long)i + 1,
				 (unsigned long long)(c->warmup + c->iters));
	}
	return 0;
}

/* The group's view of what each rank measured: times as -a asks, all errors. */
static int together(struct coll *c, uint64_t wrong, struct row *row, bool in_place)
{
	double *times = c->times[in_place];
	struct result *r = &row->r[in_place];
	static const enum vfab_op by[] = { VFAB_SUM, VFAB_SUM, VFAB_MIN, VFAB_MAX };
	uint32_t n = c->run.size;
	uint64_t i;
	int ret = 0;

	if (c->average)
		ret = vfab_allreduce(c->run.comm, times, times, c->iters, VFAB_F64,
				     by[c->average]);
	if (!ret)
		ret = vfab_allreduce(c->run.comm, &wrong, &r->wrong, 1, VFAB_U64, VFAB_SUM);
	if (ret)
		return ret;
	for (i = 0; c->average == 1 && i < c->iters; i++)
		times[i] /= n;
	stats_of(times, c->iters, &r->s);
	r->checked = checks(c, in_place);
	r->time_us = r->s.mean / 1e3;
	r->algbw = row->bytes / r->s.mean;
	r->busbw = r->algbw * kind_bus(row->kind, n);
	c->wrong += r->wrong;
	c->busbw += r->busbw;
	c->rows++;
	return 0;
}

/* Rank 0 says it all when the row is complete. */
static int row_done(struct coll *c, const struct row *row)
{
	if (!run_first(&c->run))
		return 0;
	c->all = realloc(c->all, (c->n_all + 1) * sizeof(*c->all));
	if (!c->all)
		return setup_error("out of memory");
	c->all[c->n_all++] = *row;
	row_back(c);
	row_json(c, row);
	return 0;
}

static int measure(struct coll *c, struct place *p, struct row *row)
{
	uint64_t wrong;
	int h, ret = 0;

	if (run_first(&c->run))
		row_front(row);
	for (h = 0; h < row->halves; h++) {
		ret = iterate(c, row->kind, p, h, &wrong);
		if (!ret)
			ret = together(c, wrong, row, h);
		progress_clear();
		if (ret) {
			if (run_first(&c->run))
				putchar('\n');
			return run_failed(&c->run, row->kind->name, ret);
		}
		if (run_first(&c->run))
			row_half(c, &row->r[h]);
	}
	return row_done(c, row);
}

/* One size, type, operation and root */
static int row(struct coll *c, const struct kind *k, uint64_t bytes, enum vfab_type type,
	       enum vfab_op op, int root)
{
	bool each = k->in_each || k->out_each;
	size_t elem = vfab_type_size(type), count = bytes / elem;
	struct row row = { .kind = k, .type = type, .op = op, .root = k->rooted ? root : -1,
			   .halves = k->out_of_place ? 1 : 2 };
	struct place p;
	int ret;

	/* At least one for each, unless none is asked for. */
	if (each)
		count = count && count < c->run.size ? 1 : count / c->run.size;
	row.count = count;
	row.bytes = count * elem * (each ? c->run.size : 1);
	ret = place_init(&p, k, c->run.index, c->run.size);
	if (ret)
		return run_failed(&c->run, k->name, ret);
	p.call.count = count;
	p.call.type = type;
	p.call.op = op;
	p.call.root = root;
	ret = measure(c, &p, &row);
	place_free(&p);
	return ret;
}

static int rows_of_sizes(struct coll *c, const struct kind *k, enum vfab_type type,
			 enum vfab_op op, int root)
{
	uint64_t bytes;
	int ret = 0;

	for (bytes = c->from; bytes <= c->to && !ret;
	     bytes = c->step ? bytes + c->step : bytes * c->factor)
		ret = row(c, k, bytes, type, op, root);
	return ret;
}

static int rows_of_roots(struct coll *c, const struct kind *k, enum vfab_type type,
			 enum vfab_op op)
{
	int root, ret = 0;

	if (c->root >= 0 || !k->rooted)
		return rows_of_sizes(c, k, type, op, c->root < 0 ? 0 : c->root);
	for (root = 0; root < (int)c->run.size && !ret; root++)
		ret = rows_of_sizes(c, k, type, op, root);
	return ret;
}

static int rows_of(struct coll *c, const struct kind *k)
{
	int type, op, ret = 0;

	for (type = 0; type < VFAB_TYPES; type++) {
		if (c->type >= 0 && type != c->type)
			continue;
		for (op = 0; op < VFAB_OPS && !ret; op++) {
			if (k->reduces ? c->op >= 0 && op != c->op : op != VFAB_SUM)
				continue;
			/* Bits of floats mean nothing; coll -o says so by itself. */
			if (op >= VFAB_AND && !pattern_integer(type) && c->op < 0)
				continue;
			ret = rows_of_roots(c, k, type, op);
		}
	}
	return ret;
}

/* A rank that passed before another came would find its epoch too low. */
static int meet_epochs(struct coll *c)
{
	struct run *r = &c->run;
	uint64_t handle;
	uint32_t i;
	int ret;

	if (c->peers)
		return vfab_barrier(r->comm);
	c->peers = calloc(r->size, sizeof(*c->peers));
	if (!c->peers)
		return -ENOMEM;
	ret = vfab_window_alloc(r->ep, 8, TAG, VFAB_ACCESS_READ, &c->epoch);
	for (i = 0; i < r->size && !ret; i++) {
		if (i == r->index)
			continue;
		ret = vfab_lookup(r->ep, r->ranks[i], TAG,
				  r->timeout * VFAB_SECOND, &handle);
		if (!ret)
			ret = vfab_import(r->ep, handle, VFAB_ACCESS_READ,
					  VFAB_LOSS_ABSORB, &c->peers[i]);
	}
	return ret ? ret : vfab_barrier(r->comm);
}

static uint64_t late(const struct coll *c, uint64_t epoch)
{
	uint64_t wrong = 0;
	uint32_t i;

	for (i = 0; i < c->run.size; i++)
		if (i != c->run.index)
			wrong += __atomic_load_n((uint64_t *)c->peers[i].addr,
						 __ATOMIC_RELAXED) < epoch;
	return wrong;
}

static int run_barrier(struct coll *c, const struct kind *k)
{
	struct run *r = &c->run;
	struct row row = { .kind = k, .root = -1, .halves = 1 };
	uint64_t i, epoch, wrong = 0;
	double t;
	int ret;

	ret = meet_epochs(c);
	for (i = 0; i < c->warmup + c->iters && !ret; i++) {
		epoch = c->cycle * (c->warmup + c->iters) + i + 1;
		/* The planted error: rank 0 does not say that it came. */
		if (!(c->plant && run_first(r) && i == c->warmup))
			__atomic_store_n((uint64_t *)c->epoch.addr, epoch, __ATOMIC_RELAXED);
		t = now_ns();
		ret = vfab_barrier(r->comm);
		t = now_ns() - t;
		if (i >= c->warmup)
			c->times[0][i - c->warmup] = t;
		if (c->check && !ret)
			wrong += late(c, epoch);
		/* Nobody counts on while others look. */
		if (c->check && !ret && c->plant)
			ret = vfab_barrier(r->comm);
	}
	if (!ret)
		ret = together(c, wrong, &row, false);
	if (ret)
		return run_failed(r, "barrier", ret);
	if (run_first(r)) {
		row_front(&row);
		row_half(c, &row.r[0]);
	}
	return row_done(c, &row);
}

static int buffers(struct coll *c)
{
	/* Shares are rounded up to an element each, those of all-to-all-v are twice as long. */
	uint64_t bytes = 2 * (c->to + 8 * c->run.size) + c->unalign;
	int ret;

	bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
	if (c->window) {
		ret = vfab_window_alloc(c->run.ep, 2 * bytes, TAG + 1, VFAB_ACCESS_WRITE, &c->mem);
		if (ret)
			return run_failed(&c->run, "window", ret);
		c->buf[0] = (char *)c->mem.addr + c->unalign;
		c->buf[1] = c->buf[0] + bytes;
		return 0;
	}
	if (posix_memalign((void **)&c->buf[0], ALIGN, bytes) ||
	    posix_memalign((void **)&c->buf[1], ALIGN, bytes))
		return setup_error("no memory for %llu bytes", (unsigned long long)bytes);
	memset(c->buf[0], 0, bytes);
	memset(c->buf[1], 0, bytes);
	c->buf[0] += c->unalign;
	c->buf[1] += c->unalign;
	return 0;
}

static int run_cycle(struct coll *c)
{
	const struct kind *k;
	int ret = 0;

	for (k = kinds; k->name && !ret; k++) {
		if ((c->kind && k != c->kind) || (c->run.size < 2 && k->coll == VFAB_SEND))
			continue;
		if (!c->kind && run_first(&c->run))
			printf("# %s\n", k->name);
		c->planted = false;
		ret = k->bus == BUS_NONE ? run_barrier(c, k) : rows_of(c, k);
	}
	return ret;
}

static int begin(struct coll *c)
{
	int ret = 0, h;

	if (c->root >= (int)c->run.size) {
		c->run.agreed = true;
		return run_first(&c->run) ? setup_error("-r %d: there are ranks 0 to %u", c->root,
							c->run.size - 1) : EXIT_SETUP;
	}
	if (c->run.size < 2 && c->kind && c->kind->coll == VFAB_SEND)
		return setup_error("sendrecv needs 2 ranks: there is 1");
	for (h = 0; h < 2; h++) {
		c->times[h] = calloc(c->iters, sizeof(double));
		if (!c->times[h])
			return setup_error("out of memory");
	}
	if (run_first(&c->run))
		ret = coll_head(c);
	if (!ret)
		ret = coll_devices(c);
	return ret ? ret : buffers(c);
}

int coll_main(int argc, char **argv)
{
	struct coll c = {
		.from = 8, .to = 512 << 10, .factor = 4, .iters = 20,
		.warmup = 5, .agg = 1, .cycles = 1, .check = 1, .blocking = 1, .average = 3,
		.type = VFAB_F32, .op = VFAB_SUM,
	};
	struct options o = { 0 };
	int ret;

	ret = coll_parse(&c, &o, argc, argv);
	if (ret >= 0)
		return ret;
	ret = run_start(&c.run, &o, argv);
	if (ret >= 0)
		return ret;
	ret = begin(&c);
	for (; c.cycle < c.cycles && !ret; c.cycle++) {
		ret = run_cycle(&c);
		if (!c.cycle)
			c.n_cycle = c.n_all;
	}
	if (!ret) {
		c.run.agreed = true;
		ret = run_first(&c.run) ? coll_tail(&c) : c.wrong ? EXIT_VERDICT : EXIT_DONE;
	}
	return run_end(&c.run, ret);
}
