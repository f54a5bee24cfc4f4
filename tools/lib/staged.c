// SPDX-License-Identifier: LGPL-2.1
/*
 * Algorithms through slots, chunk by chunk: what others need is put into the own
 * slot, what they have put is got from theirs. All chunks are under way at the
 * same time: phase p puts chunk p, reduces chunk p - 1 where each rank reduces
 * its share for all, and gets the chunk before.
 *
 * Who takes part in a chunk waits for those it gets from; who puts waits, once
 * the slots have all been used, until the oldest is free (see must_be_free()).
 * From all to all that is so after the wait for the chunk before: a chunk of
 * phase p is read until phase p + depth, and there are more slots than that.
 */
#include <string.h>
#include "comm.h"

/* Who gets something from whom */
enum flow { ALL_TO_ALL, FROM_ROOT, TO_ROOT };

static enum flow flow(const struct op *o)
{
	switch (o->call.kind) {
	case VFAB_BROADCAST:
	case VFAB_SCATTER:
		return FROM_ROOT;
	case VFAB_REDUCE:
		return o->one_shot ? TO_ROOT : ALL_TO_ALL;
	case VFAB_GATHER:
		return TO_ROOT;
	default:
		return ALL_TO_ALL;
	}
}

static struct want staged_want(const struct op *o)
{
	struct want w = { none(), o->base + o->phase };

	if (!o->phase)
		return w;
	/* Once, all see whether all buffers are in windows. */
	if (flow(o) == ALL_TO_ALL || o->windows)
		w.of = all_of(o->c);
	else if (flow(o) == FROM_ROOT && !op_at_root(o))
		w.of = one_of(o->call.root);
	else if (flow(o) == TO_ROOT && op_at_root(o))
		w.of = all_of(o->c);
	return w;
}

static struct range staged_heard(const struct op *o)
{
	/* All wait for the first one if windows are asked for, and for free slots. */
	if (flow(o) == ALL_TO_ALL || o->windows || o->chunks > COMM_SLOTS)
		return all_of(o->c);
	if (flow(o) == FROM_ROOT)
		return op_at_root(o) ? all_of(o->c) : none();
	return op_at_root(o) ? none() : one_of(o->call.root);
}

/* --- Stores ---------------------------------------------------------------------------- */

/*
 * What goes to others may be stored through the caches, or past them. Others have
 * the lines from the last time. To get one back before it is written takes some
 * 30 ns if it is in a cache that is far away, and then the way past is 8 times
 * as fast. Near, it is faster for SOME bytes, up to LARGE ones at a time:
 * with fewer, the way to memory and back costs more; with more, the lines have
 * left the other's own cache in the meantime. Far or near is not known in a
 * virtual machine, and changes: stores are timed, but not those of reductions of
 * many sources, which are mostly loads. Where ranks share CPUs, some others are
 * near at any rate: what was timed decides alone.
 */
#define SMALL	(4 << 10)
#define SOME	(8 << 10)
#define LARGE	(128 << 10)
#define FAR_NS	7		/* for each line read or written */
#define TIMED	16		/* of so many stores one, of large calls all */
#define RETRY	256		/* stores past the caches until one is tried through them */

static bool past_caches(const struct op *o, size_t bytes)
{
	struct vfab_comm *c = o->c;

	if (bytes < SMALL)
		return false;
	c->stores++;
	if (bytes >= SOME && o->spread <= LARGE && !c->crowded)
		return true;
	return c->far && c->stores % RETRY;
}

static int64_t timed(const struct op *o, size_t bytes)
{
	return bytes >= SMALL && (o->spread > LARGE || !(o->c->stores % TIMED)) ? vfabi_now() : 0;
}

static void judge(struct vfab_comm *c, uint64_t lines, int64_t ns)
{
	c->far = ns > (int64_t)(lines * FAR_NS);
}

void op_publish(struct op *o, void *to, const void *from, size_t bytes)
{
	bool past = past_caches(o, bytes);
	int64_t began = past ? 0 : timed(o, bytes);

	vfabi_copy(to, from, bytes, past);
	if (began)
		judge(o->c, bytes / 64 * 2, vfabi_now() - began);
}

/* --- Chunks ---------------------------------------------------------------------------- */

static const char *slot(const struct op *o, uint32_t i, uint32_t chunk)
{
	const struct vfab_comm *c = o->c;

	if (o->inlined)
		return c->peer[i].m->record[c->calls & 1].data;
	return c->peer[i].slots + (o->first + chunk) % COMM_SLOTS * c->slot_bytes;
}

/* One's own is written. */
static char *own_slot(const struct op *o, uint32_t chunk)
{
	return o->inlined ? o->c->draft.data : (char *)slot(o, o->c->index, chunk);
}

/* Of @len bytes, those that chunk @k has */
static size_t part(const struct op *o, size_t len, uint32_t k, size_t *from)
{
	*from = k * o->chunk;
	if (*from >= len)
		return 0;
	return len - *from < o->chunk ? len - *from : o->chunk;
}

/* What goes to, or comes from, rank @i: in bytes, from the buffer's first one */
static size_t to_rank(const struct op *o, uint32_t i, size_t *from)
{
	if (o->call.kind != VFAB_ALLTOALLV) {
		*from = i * o->len;
		return o->len;
	}
	*from = o->call.in_offsets[i] * o->elem;
	return o->call.in_counts[i] * o->elem;
}

static size_t from_rank(const struct op *o, uint32_t i, size_t *from)
{
	if (o->call.kind != VFAB_ALLTOALLV) {
		*from = i * o->len;
		return o->len;
	}
	*from = o->call.out_offsets[i] * o->elem;
	return o->call.out_counts[i] * o->elem;
}

/* Shares of all others: those of other ranks, each at its own place */
static void put_shares(struct op *o, uint32_t k)
{
	struct vfab_comm *c = o->c;
	size_t from, n = part(o, o->len, k, &from), each = share_of_each(c, n), at, len;
	const char *in = (const char *)o->call.in + from;
	char *to = own_slot(o, k);

	len = share(c->index, each, n, &at);
	if (at)
		op_publish(o, to, in, at);
	at += len;
	if (at < n)
		op_publish(o, to + at, in + at, n - at);
}

/*
 * A piece for each rank, where its place in the slot is. Those of
 * vfab_alltoallv() begin with how many bytes there are in all.
 */
static size_t head(const struct op *o)
{
	return o->call.kind == VFAB_ALLTOALLV ? sizeof(uint64_t) : 0;
}

static size_t piece_at(const struct op *o, uint32_t i)
{
	return i * (o->chunk + head(o));
}

static void put_pieces(struct op *o, uint32_t k)
{
	size_t at, from, n;
	uint64_t all;
	uint32_t i;
	char *to;

	for (i = 0; i < o->c->size; i++) {
		if (i == o->c->index)
			continue;
		all = to_rank(o, i, &at);
		n = part(o, all, k, &from);
		to = own_slot(o, k) + piece_at(o, i);
		memcpy(to, &all, head(o));
		if (n)
			op_publish(o, to + head(o), (const char *)o->call.in + at + from, n);
	}
}

/* Has each what the caller expects of it? And how many chunks has the longest? */
static int agree(struct op *o)
{
	struct vfab_comm *c = o->c;
	uint64_t all, most = 0;
	size_t at;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < c->size; i++) {
		const struct record *r = &c->peer[i].m->record[c->calls & 1];

		if (r->most > most)
			most = r->most;
		if (i == c->index)
			continue;
		memcpy(&all, slot(o, i, 0) + piece_at(o, c->index), sizeof(all));
		if (all == from_rank(o, i, &at))
			continue;
		ret = comm_check(c, true);
		return ret ? ret : comm_fail(c, EINVAL, c->peer[i].rank);
	}
	/* All ones are no length; then it was lost. */
	ret = comm_check(c, true);
	o->chunks = most > o->chunk ? (most + o->chunk - 1) / o->chunk : 1;
	o->fills = o->chunks;
	o->puts = o->chunks;
	o->phases = o->chunks + o->depth;
	return ret;
}

static void put(struct op *o, uint32_t k)
{
	size_t from, n;

	switch (o->call.kind) {
	case VFAB_REDUCE_SCATTER:
	case VFAB_ALLTOALL:
	case VFAB_ALLTOALLV:
	case VFAB_SCATTER:
		put_pieces(o, k);
		return;
	case VFAB_ALLREDUCE:
	case VFAB_REDUCE:
		if (!o->one_shot) {
			put_shares(o, k);
			return;
		}
		break;
	default:
		break;
	}
	n = part(o, o->len, k, &from);
	if (n)
		op_publish(o, own_slot(o, k), (const char *)o->call.in + from, n);
}

void op_reduce(struct op *o, uint32_t own, uint32_t dsts, size_t bytes)
{
	struct vfab_comm *c = o->c;
	struct vfabi_reduction r = {
		.type = o->call.type, .op = o->call.op, .src = c->src, .dst = c->dst,
		.srcs = c->size, .dsts = dsts, .stream = dsts,
	};
	int64_t began = 0;

	if (!bytes)
		return;
	if (o->stream)
		r.stream = 0;
	else if (own < dsts && past_caches(o, bytes))
		r.stream = own;
	else if (own < dsts && r.srcs == 2)
		began = timed(o, bytes);
	vfabi_reduce(&r, bytes / o->elem);
	if (began)
		judge(c, bytes / 64 * (2 + dsts), vfabi_now() - began);
}

/*
 * Sources of a reduction: @at bytes into the slots of others, and into the own
 * input, which is not in the slot where nobody else needs it.
 */
static void sources(struct op *o, uint32_t k, size_t at, const void *in, size_t bytes)
{
	struct vfab_comm *c = o->c;
	uint32_t i;

	for (i = 0; i < c->size; i++) {
		if (i == c->index) {
			c->src[i] = in;
			continue;
		}
		c->src[i] = slot(o, i, k) + at;
		op_got(c, i, bytes);
	}
}

/* The own share, for all: the result takes its place in the slot. */
static void reduce_share(struct op *o, uint32_t k)
{
	struct vfab_comm *c = o->c;
	size_t from, n = part(o, o->len, k, &from), each = share_of_each(c, n), at;
	uint32_t own, dsts = 0;

	n = share(c->index, each, n, &at);
	sources(o, k, at, (const char *)o->call.in + from + at, n);
	if (o->call.kind == VFAB_ALLREDUCE || op_at_root(o))
		c->dst[dsts++] = (char *)o->call.out + from + at;
	own = dsts;
	if (o->call.kind == VFAB_ALLREDUCE || !op_at_root(o))
		c->dst[dsts++] = own_slot(o, k) + at;
	op_reduce(o, own, dsts, n);
}

static void get_shares(struct op *o, uint32_t k)
{
	struct vfab_comm *c = o->c;
	size_t from, n = part(o, o->len, k, &from), each = share_of_each(c, n), at, len;
	uint32_t i, j;

	for (j = 1; j < c->size; j++) {
		i = (c->index + j) % c->size;
		len = share(i, each, n, &at);
		vfabi_copy((char *)o->call.out + from + at, slot(o, i, k) + at, len, o->stream);
		op_got(c, i, len);
	}
}

/* Whole chunks of all, reduced here */
static void get_reduced(struct op *o, uint32_t k)
{
	size_t from, n = part(o, o->len, k, &from), at = 0, own = from;

	if (o->call.kind == VFAB_REDUCE_SCATTER) {
		at = piece_at(o, o->c->index);
		own += o->c->index * o->len;
	}
	sources(o, k, at, (const char *)o->call.in + own, n);
	o->c->dst[0] = (char *)o->call.out + from;
	op_reduce(o, 1, 1, n);
}

static void get_from(struct op *o, uint32_t k, uint32_t i, size_t in_slot, size_t out,
		     size_t bytes)
{
	size_t from, n = part(o, bytes, k, &from);

	if (!n)
		return;
	vfabi_copy((char *)o->call.out + out + from, slot(o, i, k) + in_slot, n, o->stream);
	op_got(o->c, i, n);
}

/* From all others, each its own; @pieces: each has some for each */
static void get_each(struct op *o, uint32_t k, bool pieces)
{
	struct vfab_comm *c = o->c;
	size_t at, n;
	uint32_t i, j;

	for (j = 1; j < c->size; j++) {
		i = (c->index + j) % c->size;
		n = from_rank(o, i, &at);
		get_from(o, k, i, pieces ? piece_at(o, c->index) + head(o) : 0, at, n);
	}
}

static void get(struct op *o, uint32_t k)
{
	struct vfab_comm *c = o->c;

	switch (o->call.kind) {
	case VFAB_ALLREDUCE:
	case VFAB_REDUCE:
		if (o->call.kind == VFAB_REDUCE && !op_at_root(o))
			break;
		if (o->one_shot)
			get_reduced(o, k);
		else
			get_shares(o, k);
		break;
	case VFAB_REDUCE_SCATTER:
		get_reduced(o, k);
		break;
	case VFAB_ALLGATHER:
		get_each(o, k, false);
		break;
	case VFAB_ALLTOALL:
	case VFAB_ALLTOALLV:
		get_each(o, k, true);
		break;
	case VFAB_GATHER:
		if (op_at_root(o))
			get_each(o, k, false);
		break;
	case VFAB_BROADCAST:
		if (!op_at_root(o))
			get_from(o, k, o->call.root, 0, 0, o->len);
		break;
	case VFAB_SCATTER:
		if (!op_at_root(o))
			get_from(o, k, o->call.root, piece_at(o, c->index), 0, o->len);
		break;
	default:
		break;
	}
}

/* What comes from the own rank */
static void get_own(struct op *o)
{
	const char *in = o->call.in;
	char *out = o->call.out;
	size_t n = o->len, from = 0, to = 0;

	switch (o->call.kind) {
	case VFAB_ALLGATHER:
	case VFAB_GATHER:
		to = o->c->index * o->len;
		break;
	case VFAB_SCATTER:
		from = o->c->index * o->len;
		break;
	case VFAB_ALLTOALL:
	case VFAB_ALLTOALLV:
		to_rank(o, o->c->index, &from);
		n = from_rank(o, o->c->index, &to);
		break;
	case VFAB_BROADCAST:
		break;
	default:
		return;
	}
	if (flow(o) != ALL_TO_ALL && !op_at_root(o))
		return;
	if (n && in + from != out + to)
		vfabi_copy(out + to, in + from, n, o->stream);
}

static int staged_work(struct op *o)
{
	uint32_t p = o->phase;
	bool held;
	int ret;

	if (p == 1 && o->call.kind == VFAB_ALLTOALLV) {
		ret = agree(o);
		if (ret)
			return ret;
	}
	/* Who is going to be read in its window puts nothing into its slot. */
	held = !p && o->windows && !(o->c->draft.flags & RECORD_STAGED);
	if (p < o->fills && !held)
		put(o, p);
	if (o->depth == 2 && p && p <= o->chunks)
		reduce_share(o, p - 1);
	if (p >= o->depth)
		get(o, p - o->depth);
	if (p + 1 == o->phases)
		get_own(o);
	return 0;
}

const struct algo algo_staged = { staged_want, staged_work, staged_heard };

/* --- Small reductions of many: one reduces for all ------------------------------------ */

/*
 * Place 0 reads all, in order, and puts the result into its next slot. That is
 * 2n lines moved rather than n^2, and each rank is switched to twice.
 */
static struct want star_want(const struct op *o)
{
	bool center = !o->c->index;

	if (o->phase == 1 && center)
		return (struct want){ all_of(o->c), o->base + 1 };
	if (o->phase == 2 && !center)
		return (struct want){ one_of(0), o->base + 2 };
	return (struct want){ none(), 0 };
}

static int star_work(struct op *o)
{
	struct vfab_comm *c = o->c;

	if (!o->phase && o->len)
		memcpy(own_slot(o, 0), o->call.in, o->len);
	if (o->phase == 1 && !c->index) {
		sources(o, 0, 0, o->call.in, o->len);
		c->dst[0] = o->call.out;
		c->dst[1] = own_slot(o, 1);
		op_reduce(o, 1, 2, o->len);
	}
	if (o->phase < 2)
		return 0;
	if (c->index && o->len) {
		memcpy(o->call.out, slot(o, 0, 1), o->len);
		op_got(c, 0, o->len);
	}
	/* All have begun this call, and so ended those before. */
	if (c->reached < c->base)
		c->reached = c->base;
	return 0;
}

static struct range star_heard(const struct op *o)
{
	if (!o->c->index)
		return o->phase == 2 ? all_of(o->c) : none();
	return o->phase == 1 ? one_of(0) : none();
}

const struct algo algo_star = { star_want, star_work, star_heard };

/* --- A barrier of many: up and down a tree, one context switch each way ---------------- */

#define FANOUT	8

static struct range kids(const struct vfab_comm *c)
{
	uint32_t first = c->index * FANOUT + 1, end = first + FANOUT;

	return (struct range){ first < c->size ? first : c->size, end < c->size ? end : c->size };
}

static struct want tree_want(const struct op *o)
{
	const struct vfab_comm *c = o->c;

	if (!o->phase)
		return (struct want){ kids(c), o->base + 1 };
	if (c->index)
		return (struct want){ one_of((c->index - 1) / FANOUT), o->base + 2 };
	return (struct want){ none(), 0 };
}

static int tree_work(struct op *o)
{
	if (o->phase && o->c->reached < o->c->base)
		o->c->reached = o->c->base;
	return 0;
}

static struct range tree_heard(const struct op *o)
{
	if (o->phase == 2)
		return kids(o->c);
	return o->c->index ? one_of((o->c->index - 1) / FANOUT) : none();
}

const struct algo algo_tree = { tree_want, tree_work, tree_heard };
