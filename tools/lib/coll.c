// SPDX-License-Identifier: LGPL-2.1
/* Calls of collectives: arguments, and which algorithm runs them. */
#include <stdlib.h>
#include <string.h>
#include "comm.h"

/* Results from here on do not stay in the caches. */
#define STREAM		(16 << 20)

/* What goes one way is cut so that the others begin early. */
#define PIPELINE	8
#define SMALLEST	(16 << 10)

struct vfab_req {
	struct op op;
};

static int broken(const struct vfab_comm *c)
{
	return vfabi_fail(-c->err, "the group is broken since rank %u was lost: make another one",
			  c->lost);
}

static bool has_root(enum vfab_coll kind)
{
	switch (kind) {
	case VFAB_BROADCAST:
	case VFAB_REDUCE:
	case VFAB_GATHER:
	case VFAB_SCATTER:
	case VFAB_SEND:
	case VFAB_RECV:
		return true;
	default:
		return false;
	}
}

static bool reduces(enum vfab_coll kind)
{
	return kind == VFAB_ALLREDUCE || kind == VFAB_REDUCE_SCATTER || kind == VFAB_REDUCE;
}

/* A piece for each rank in a slot */
static bool in_pieces(enum vfab_coll kind)
{
	return kind == VFAB_REDUCE_SCATTER || kind == VFAB_ALLTOALL || kind == VFAB_ALLTOALLV ||
	       kind == VFAB_SCATTER;
}

static int check_counts(const struct vfab_comm *c, const struct vfab_call *v)
{
	size_t elem = vfab_type_size(v->type), end;
	uint32_t i;

	for (i = 0; i < c->size; i++)
		if (__builtin_add_overflow(v->in_counts[i], v->in_offsets[i], &end) ||
		    __builtin_mul_overflow(end, elem, &end) ||
		    __builtin_add_overflow(v->out_counts[i], v->out_offsets[i], &end) ||
		    __builtin_mul_overflow(end, elem, &end))
			return vfabi_fail(EINVAL, "counts and offsets of place %u are too large",
					  i);
	if (v->in_counts[c->index] != v->out_counts[c->index])
		return vfabi_fail(EINVAL, "%zu elements for oneself, and %zu from there",
				  v->in_counts[c->index], v->out_counts[c->index]);
	return 0;
}

static int check(const struct vfab_comm *c, const struct vfab_call *v)
{
	size_t elem = vfab_type_size(v->type), bytes;

	if (v->kind >= VFAB_COLLS)
		return vfabi_fail(EINVAL, "there is no collective %d", v->kind);
	if (v->kind == VFAB_BARRIER)
		return 0;
	if (has_root(v->kind) && v->root >= c->size)
		return vfabi_fail(EINVAL, "place %u: the group has %u", v->root, c->size);
	if ((v->kind == VFAB_SEND || v->kind == VFAB_RECV) && v->root == c->index)
		return vfabi_fail(EINVAL, "place %u is the own one: nobody sends to itself",
				  v->root);
	if (!elem || (reduces(v->kind) && !vfabi_reducible(v->type, v->op)))
		return vfabi_fail(EINVAL,
				  "%zu elements of type %d by operation %d: there is no such",
				  v->count, v->type, v->op);
	if (v->kind == VFAB_ALLTOALLV)
		return check_counts(c, v);
	if (__builtin_mul_overflow(v->count, elem * c->size, &bytes))
		return vfabi_fail(EINVAL, "%zu elements are too many", v->count);
	return 0;
}

/* Of what has to be the same everywhere; never 0 */
static uint64_t digest(const struct vfab_call *v, bool message)
{
	uint64_t what = v->type | (uint64_t)v->kind << 8, count = v->count;

	if (message)
		what = v->type | (uint64_t)VFAB_COLLS << 8;
	else if (has_root(v->kind))
		what |= (uint64_t)v->root << 32;
	if (reduces(v->kind))
		what |= (uint64_t)v->op << 16;
	if (v->kind == VFAB_ALLTOALLV)
		count = 0;
	return comm_mix(comm_mix(1, what), count) | 1;
}

/* Bytes of @len that go into a slot at a time, and how many times that is */
static void cut(struct op *o, bool one_way)
{
	const struct vfab_comm *c = o->c;
	size_t room = c->slot_bytes;

	if (in_pieces(o->call.kind)) {
		room = room / c->size - (o->call.kind == VFAB_ALLTOALLV ? 8 : 0);
	} else if (one_way && o->len / PIPELINE < room) {
		room = o->len / PIPELINE > SMALLEST ? o->len / PIPELINE : SMALLEST;
		room = room < c->slot_bytes ? room : c->slot_bytes;
	}
	o->chunk = room & (room < 64 ? ~(size_t)7 : ~(size_t)63);
	o->chunks = o->len > o->chunk ? (o->len + o->chunk - 1) / o->chunk : 1;
	o->spread = (o->chunks > 1 ? o->chunk : o->len) * (in_pieces(o->call.kind) ? c->size : 1);
	if (o->depth == 1 && !o->windows && o->call.kind != VFAB_ALLTOALLV &&
	    o->len * (in_pieces(o->call.kind) ? c->size : 1) <= COMM_INLINE) {
		o->inlined = true;
		o->chunk = o->len;
	}
}

static bool fills(const struct op *o)
{
	switch (o->call.kind) {
	case VFAB_BROADCAST:
	case VFAB_SCATTER:
		return op_at_root(o);
	case VFAB_GATHER:
		return !op_at_root(o);
	case VFAB_REDUCE:
		return !op_at_root(o) || !o->one_shot;
	default:
		return true;
	}
}

static void choose(struct op *o)
{
	struct vfab_comm *c = o->c;
	enum vfab_coll kind = o->call.kind;
	enum pick pick = tuning_pick(c->rules, kind, c->size, o->len);
	bool sums = kind == VFAB_ALLREDUCE || kind == VFAB_REDUCE;

	o->algo = &algo_staged;
	o->depth = 1;
	if (kind == VFAB_BARRIER && pick == PICK_TREE) {
		o->algo = &algo_tree;
		o->phases = 2;
		return;
	}
	if (kind == VFAB_ALLREDUCE && pick == PICK_STAR && o->len <= c->slot_bytes) {
		o->algo = &algo_star;
		o->phases = 3;
		o->chunks = 2;
		o->puts = c->index ? 1 : 2;
		return;
	}
	o->one_shot = sums && pick == PICK_ONE_SHOT;
	if (sums && !o->one_shot)
		o->depth = 2;
	o->windows = pick == PICK_WINDOW && kind != VFAB_ALLTOALLV && kind != VFAB_BARRIER &&
		     c->size > 1;
	cut(o, kind == VFAB_BROADCAST || kind == VFAB_SCATTER || kind == VFAB_GATHER);
	o->fills = fills(o) ? o->chunks : 0;
	o->phases = o->chunks + o->depth;
	o->puts = o->inlined ? 0 : o->fills;
	o->stream = o->len * (in_pieces(kind) || !sums ? c->size : 1) >= STREAM;
}

static void most_for_one(struct op *o)
{
	const struct vfab_call *v = &o->call;
	uint32_t i;

	for (i = 0; i < o->c->size; i++)
		if (i != o->c->index && v->in_counts[i] * o->elem > o->len)
			o->len = v->in_counts[i] * o->elem;
}

static int prepare(struct op *o, struct vfab_comm *c, const struct vfab_call *call)
{
	int ret;

	if (c->err)
		return broken(c);
	ret = check(c, call);
	if (ret)
		return ret;
	memset(o, 0, sizeof(*o));
	o->c = c;
	o->call = *call;
	o->message = call->kind == VFAB_SEND || call->kind == VFAB_RECV;
	o->digest = digest(call, o->message);
	o->elem = call->kind == VFAB_BARRIER ? 1 : vfab_type_size(call->type);
	o->len = call->kind == VFAB_BARRIER ? 0 : call->count * o->elem;
	if (call->kind == VFAB_ALLTOALLV) {
		o->len = 0;
		most_for_one(o);
	}
	if (!o->message)
		choose(o);
	return 0;
}

static int run(struct vfab_comm *c, const struct vfab_call *call)
{
	struct op o;
	int ret = prepare(&o, c, call);

	return ret ? ret : op_run(&o);
}

int comm_meet(struct vfab_comm *c)
{
	struct vfab_call call = { .kind = VFAB_BARRIER };
	struct op o;
	int ret = prepare(&o, c, &call);

	/* Who is of an earlier group is told apart later, see same_group(). */
	o.digest = 0;
	return ret ? ret : op_run(&o);
}

int vfab_allreduce(struct vfab_comm *c, const void *in, void *out, size_t count,
		   enum vfab_type type, enum vfab_op op)
{
	return run(c, &(struct vfab_call){ .kind = VFAB_ALLREDUCE, .in = in, .out = out,
					   .count = count, .type = type, .op = op });
}

int vfab_reduce_scatter(struct vfab_comm *c, const void *in, void *out, size_t count,
			enum vfab_type type, enum vfab_op op)
{
	return run(c, &(struct vfab_call){ .kind = VFAB_REDUCE_SCATTER, .in = in, .out = out,
					   .count = count, .type = type, .op = op });
}

int vfab_allgather(struct vfab_comm *c, const void *in, void *out, size_t count,
		   enum vfab_type type)
{
	return run(c, &(struct vfab_call){ .kind = VFAB_ALLGATHER, .in = in, .out = out,
					   .count = count, .type = type });
}

int vfab_alltoall(struct vfab_comm *c, const void *in, void *out, size_t count,
		  enum vfab_type type)
{
	return run(c, &(struct vfab_call){ .kind = VFAB_ALLTOALL, .in = in, .out = out,
					   .count = count, .type = type });
}

int vfab_alltoallv(struct vfab_comm *c, const void *in, const size_t *in_counts,
		   const size_t *in_offsets, void *out, const size_t *out_counts,
		   const size_t *out_offsets, enum vfab_type type)
{
	return run(c, &(struct vfab_call){ .kind = VFAB_ALLTOALLV, .in = in, .out = out,
					   .type = type, .in_counts = in_counts,
					   .in_offsets = in_offsets, .out_counts = out_counts,
					   .out_offsets = out_offsets });
}

int vfab_broadcast(struct vfab_comm *c, const void *in, void *out, size_t count,
		   enum vfab_type type, uint32_t root)
{
	return run(c, &(struct vfab_call){ .kind = VFAB_BROADCAST, .in = in, .out = out,
					   .count = count, .type = type, .root = root });
}

int vfab_reduce(struct vfab_comm *c, const void *in, void *out, size_t count,
		enum vfab_type type, enum vfab_op op, uint32_t root)
{
	return run(c, &(struct vfab_call){ .kind = VFAB_REDUCE, .in = in, .out = out,
					   .count = count, .type = type, .op = op,
					   .root = root });
}

int vfab_gather(struct vfab_comm *c, const void *in, void *out, size_t count,
		enum vfab_type type, uint32_t root)
{
	return run(c, &(struct vfab_call){ .kind = VFAB_GATHER, .in = in, .out = out,
					   .count = count, .type = type, .root = root });
}

int vfab_scatter(struct vfab_comm *c, const void *in, void *out, size_t count,
		 enum vfab_type type, uint32_t root)
{
	return run(c, &(struct vfab_call){ .kind = VFAB_SCATTER, .in = in, .out = out,
					   .count = count, .type = type, .root = root });
}

int vfab_send(struct vfab_comm *c, const void *in, size_t count, enum vfab_type type, uint32_t to)
{
	return run(c, &(struct vfab_call){ .kind = VFAB_SEND, .in = in, .count = count,
					   .type = type, .root = to });
}

int vfab_recv(struct vfab_comm *c, void *out, size_t count, enum vfab_type type, uint32_t from)
{
	return run(c, &(struct vfab_call){ .kind = VFAB_RECV, .out = out, .count = count,
					   .type = type, .root = from });
}

int vfab_barrier(struct vfab_comm *c)
{
	return run(c, &(struct vfab_call){ .kind = VFAB_BARRIER });
}

int vfab_start(struct vfab_comm *c, const struct vfab_call *call, struct vfab_req **req)
{
	struct vfab_req *r = malloc(sizeof(*r));
	int ret;

	if (!r)
		return vfabi_fail(ENOMEM, "out of memory");
	ret = prepare(&r->op, c, call);
	if (ret) {
		free(r);
		return ret;
	}
	op_queue(&r->op);
	op_poll(c);
	*req = r;
	/* Where it fails the communicator is broken, and so the call. */
	op_tell(c);
	return 0;
}

/* How often who only polls asks for the time */
#define POLLS	64

int vfab_test(struct vfab_req *r, int *done)
{
	struct op *o = &r->op;

	if (o->stage != OP_DONE && !op_poll(o->c) && !(++o->idle % POLLS)) {
		op_look(o);
		op_poll(o->c);
	}
	op_tell(o->c);
	*done = o->stage == OP_DONE;
	return *done ? o->result : 0;
}

int vfab_finish(struct vfab_req *r)
{
	int ret = op_wait(&r->op);

	free(r);
	return ret;
}
