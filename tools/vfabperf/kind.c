// SPDX-License-Identifier: GPL-2.0
/*
 * What each collective does with its buffers: how they lie in place, what goes in,
 * what must come out, and how often its bytes cross the fabric.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "vfabperf.h"

/* The factors are those of nccl-tests' doc/PERFORMANCE.md. */
const struct kind kinds[] = {
	{ "allreduce", "all_reduce", VFAB_ALLREDUCE, BUS_TWICE, .reduces = true },
	{ "reduce_scatter", "reducescatter", VFAB_REDUCE_SCATTER, BUS_OTHERS,
	  .reduces = true, .in_each = true },
	{ "allgather", "all_gather", VFAB_ALLGATHER, BUS_OTHERS, .out_each = true },
	{ "alltoall", "all_to_all", VFAB_ALLTOALL, BUS_OTHERS, .in_each = true, .out_each = true },
	{ "alltoallv", "all_to_allv", VFAB_ALLTOALLV, BUS_OTHERS,
	  .in_each = true, .out_each = true },
	{ "broadcast", "bcast", VFAB_BROADCAST, BUS_ONCE, .rooted = true },
	{ "reduce", "reduce", VFAB_REDUCE, BUS_ONCE, .reduces = true, .rooted = true,
	  .to_root = true },
	{ "gather", "gather", VFAB_GATHER, BUS_OTHERS, .rooted = true, .to_root = true,
	  .out_each = true },
	{ "scatter", "scatter", VFAB_SCATTER, BUS_OTHERS, .rooted = true, .in_each = true },
	/* To the next rank, from the one before: not in place. */
	{ "sendrecv", "send_recv", VFAB_SEND, BUS_ONCE, .out_of_place = true },
	{ .name = "barrier", .alias = "barrier", .coll = VFAB_BARRIER },
	{ .name = NULL }
};

double kind_bus(const struct kind *k, uint32_t n)
{
	switch (k->bus) {
	case BUS_TWICE:
		return 2.0 * (n - 1) / n;
	case BUS_OTHERS:
		return (n - 1.0) / n;
	default:
		return k->bus == BUS_ONCE;
	}
}

/* Shares of all-to-all-v: none, @count or twice that, the same in both directions. */
static size_t share(const struct kind *k, const struct place *p, uint32_t peer)
{
	if (k->coll != VFAB_ALLTOALLV)
		return p->call.count;
	return p->call.count * ((p->index + peer) % 3);
}

int place_init(struct place *p, const struct kind *k, uint32_t index, uint32_t n)
{
	memset(p, 0, sizeof(*p));
	p->index = index;
	p->n = n;
	p->call.kind = k->coll;
	p->counts = calloc(2 * n, sizeof(*p->counts));
	p->offsets = p->counts ? p->counts + n : NULL;
	return p->counts ? 0 : -ENOMEM;
}

void place_free(struct place *p)
{
	free(p->counts);
}

/* @a and @b have room for the elements of all; in place, @b is not used. */
void place_buffers(struct place *p, const struct kind *k, char *a, char *b, bool in_place)
{
	size_t elem = vfab_type_size(p->call.type), at = 0;
	size_t own = p->call.count * elem * p->index;
	bool root = !k->rooted || p->index == p->call.root;
	uint32_t i;

	for (i = 0; i < p->n; i++) {
		p->counts[i] = share(k, p, i);
		p->offsets[i] = at;
		at += p->counts[i];
	}
	p->call.in_counts = p->counts;
	p->call.out_counts = p->counts;
	p->call.in_offsets = p->offsets;
	p->call.out_offsets = p->offsets;
	p->call.in = a;
	p->call.out = in_place ? a : b;
	if (!in_place || !root)
		return;
	/* Whose share of the larger buffer is the smaller one */
	if (k->in_each && !k->out_each)
		p->call.out = a + own;
	else if (k->out_each && !k->in_each)
		p->call.in = a + own;
}

/* What this rank contributes */
void place_fill(const struct place *p, const struct kind *k, uint32_t iter)
{
	const struct vfab_call *c = &p->call;
	size_t n = k->in_each ? p->offsets[p->n - 1] + p->counts[p->n - 1] : c->count;
	struct pattern in;

	/* Only what the root has goes anywhere. */
	if (k->rooted && !k->to_root && p->index != c->root)
		n = 0;
	if (k->reduces)
		pattern_input(&in, c->type, c->op, p->index, iter);
	else
		pattern_moved(&in, c->type, p->index, iter);
	pattern_fill(&in, (void *)c->in, 0, n);
}

/* The part of the result that this rank receives, in bytes */
void *place_result(const struct place *p, const struct kind *k, size_t *len)
{
	size_t n = k->out_each ? p->offsets[p->n - 1] + p->counts[p->n - 1] : p->call.count;

	if (k->to_root && p->index != p->call.root)
		n = 0;
	*len = n * vfab_type_size(p->call.type);
	return p->call.out;
}

/* Of all-to-all-v: where rank @from keeps what is for @to */
static size_t offset_at(const struct kind *k, const struct place *p, uint32_t from, uint32_t to)
{
	struct place of = { .index = from, .n = p->n, .call = p->call };
	size_t at = 0;
	uint32_t i;

	for (i = 0; i < to; i++)
		at += share(k, &of, i);
	return at;
}

static uint64_t wrong_shares(const struct place *p, const struct kind *k, uint32_t iter)
{
	const struct vfab_call *c = &p->call;
	size_t elem = vfab_type_size(c->type), first;
	struct pattern want;
	uint64_t wrong = 0;
	uint32_t i;

	for (i = 0; i < p->n; i++) {
		first = k->in_each ? offset_at(k, p, i, p->index) : 0;
		pattern_moved(&want, c->type, i, iter);
		wrong += pattern_wrong(&want, (char *)c->out + p->offsets[i] * elem, first,
				       p->counts[i]);
	}
	return wrong;
}

/* Elements of this rank's result that are not what they must be */
uint64_t place_wrong(const struct place *p, const struct kind *k, uint32_t iter)
{
	const struct vfab_call *c = &p->call;
	struct pattern want;
	size_t len;

	place_result(p, k, &len);
	if (!len)
		return 0;
	if (k->out_each)
		return wrong_shares(p, k, iter);
	if (k->reduces)
		pattern_result(&want, c->type, c->op, p->n, iter);
	else
		pattern_moved(&want, c->type, k->rooted ? c->root : (p->index + p->n - 1) % p->n,
			      iter);
	return pattern_wrong(&want, c->out, k->in_each ? c->count * p->index : 0, c->count);
}

static int both(struct vfab_comm *comm, const struct place *p)
{
	struct vfab_call send = p->call, recv = p->call;
	struct vfab_req *s, *r;
	int ret, ret2;

	send.root = (p->index + 1) % p->n;
	recv.kind = VFAB_RECV;
	recv.root = (p->index + p->n - 1) % p->n;
	ret = vfab_start(comm, &recv, &r);
	if (ret)
		return ret;
	ret = vfab_start(comm, &send, &s);
	if (!ret)
		ret = vfab_finish(s);
	ret2 = vfab_finish(r);
	return ret ? ret : ret2;
}

/* @blocking: by the collective's own function */
int place_run(const struct place *p, struct vfab_comm *comm, bool blocking)
{
	const struct vfab_call *c = &p->call;
	struct vfab_req *req;
	int ret;

	if (c->kind == VFAB_SEND)
		return both(comm, p);
	if (!blocking) {
		ret = vfab_start(comm, c, &req);
		return ret ? ret : vfab_finish(req);
	}
	switch (c->kind) {
	case VFAB_ALLREDUCE:
		return vfab_allreduce(comm, c->in, c->out, c->count, c->type, c->op);
	case VFAB_REDUCE_SCATTER:
		return vfab_reduce_scatter(comm, c->in, c->out, c->count, c->type, c->op);
	case VFAB_ALLGATHER:
		return vfab_allgather(comm, c->in, c->out, c->count, c->type);
	case VFAB_ALLTOALL:
		return vfab_alltoall(comm, c->in, c->out, c->count, c->type);
	case VFAB_ALLTOALLV:
		return vfab_alltoallv(comm, c->in, c->in_counts, c->in_offsets, c->out,
				      c->out_counts, c->out_offsets, c->type);
	case VFAB_BROADCAST:
		return vfab_broadcast(comm, c->in, c->out, c->count, c->type, c->root);
	case VFAB_REDUCE:
		return vfab_reduce(comm, c->in, c->out, c->count, c->type, c->op, c->root);
	case VFAB_GATHER:
		return vfab_gather(comm, c->in, c->out, c->count, c->type, c->root);
	case VFAB_SCATTER:
		return vfab_scatter(comm, c->in, c->out, c->count, c->type, c->root);
	default:
		return vfab_barrier(comm);
	}
}
