// SPDX-License-Identifier: LGPL-2.1
/*
 * Send and receive. For each rank that it may send to, a rank has a box of two
 * halves in its own window, and a line that counts the pieces it has put there;
 * receivers count those they have taken, in their own windows. So the memory is
 * bounded, no pair waits for another, and a piece is put into the half whose
 * last one has been taken.
 */
#include "comm.h"

size_t p2p_lines(uint32_t size)
{
	return size * (sizeof(struct outbox) + sizeof(uint64_t));
}

/* An eighth of a window for all boxes, in whole elements */
size_t p2p_boxes(uint32_t size, size_t bytes)
{
	size_t half = bytes / 8 / size / 2 & ~(size_t)7;

	return half < 32 ? 32 : half;
}

static const struct outbox *outbox(const struct vfab_comm *c, uint32_t of, uint32_t to)
{
	return (const struct outbox *)((const char *)c->peer[of].m + c->ep->page) + to;
}

static const uint64_t *taken(const struct vfab_comm *c, uint32_t by, uint32_t from)
{
	return (const uint64_t *)outbox(c, by, c->size) + from;
}

static const char *box(const struct vfab_comm *c, uint32_t of, uint32_t to, uint64_t piece)
{
	return (const char *)taken(c, of, c->size) + (to * 2 + (piece & 1)) * c->box_bytes;
}

/* The next message of the same pair and way waits for the one before. */
static bool is_next(const struct op *o)
{
	const struct op *q;

	for (q = o->c->messages; q != o; q = q->next)
		if (q->call.kind == o->call.kind && q->call.root == o->call.root)
			return false;
	return true;
}

static size_t piece(const struct op *o)
{
	size_t left = o->len - o->progress;

	return left < o->c->box_bytes ? left : o->c->box_bytes;
}

/* The piece is there, or taken: count it, and tell the other one. */
static int publish(struct op *o, const uint64_t *count, uint64_t n)
{
	struct range who = one_of(o->call.root);
	int ret;

	o->check = who;
	ret = op_settle(o);
	if (!ret)
		ret = op_pace_rings(o->c, who);
	if (ret)
		return ret;
	__atomic_store_n((uint64_t *)count, n, __ATOMIC_RELEASE);
	return op_wake(o->c, who);
}

static int send_piece(struct op *o, size_t n)
{
	struct vfab_comm *c = o->c;
	uint32_t to = o->call.root;
	struct outbox *b = (struct outbox *)outbox(c, c->index, to);
	uint64_t q = c->peer[to].sent++;

	if (n)
		op_publish(o, (char *)box(c, c->index, to, q),
			   (const char *)o->call.in + o->progress, n);
	b->call[q & 1] = o->digest;
	return publish(o, &b->sent, q + 1);
}

static int recv_piece(struct op *o, size_t n)
{
	struct vfab_comm *c = o->c;
	uint32_t from = o->call.root;
	uint64_t q = c->peer[from].taken++;
	int ret;

	if (outbox(c, from, c->index)->call[q & 1] != o->digest) {
		ret = comm_check(c, false);
		return ret ? ret : comm_fail(c, EINVAL, c->peer[from].rank);
	}
	if (n)
		vfabi_copy((char *)o->call.out + o->progress, box(c, from, c->index, q), n,
			   false);
	op_got(c, from, n);
	return publish(o, taken(c, c->index, from), q + 1);
}

static bool may_send(const struct op *o)
{
	const struct vfab_comm *c = o->c;
	uint32_t to = o->call.root;

	return c->peer[to].sent - vfabi_load(taken(c, to, c->index)) < 2;
}

static bool may_recv(const struct op *o)
{
	const struct vfab_comm *c = o->c;
	uint32_t from = o->call.root;

	return vfabi_load(&outbox(c, from, c->index)->sent) > c->peer[from].taken;
}

bool p2p_advance(struct op *o)
{
	bool sends = o->call.kind == VFAB_SEND, moved = false;
	size_t n;

	if (o->c->err)
		o->result = o->c->err;
	while (!o->result && o->stage != OP_DONE && is_next(o) &&
	       (sends ? may_send(o) : may_recv(o))) {
		n = piece(o);
		o->result = sends ? send_piece(o, n) : recv_piece(o, n);
		o->progress += n;
		if (o->progress == o->len)
			o->stage = OP_DONE;
		moved = true;
	}
	if (o->result)
		o->stage = OP_DONE;
	return moved || o->stage == OP_DONE;
}

bool p2p_delivered(const struct vfab_comm *c, uint32_t to)
{
	return vfabi_load(taken(c, to, c->index)) >= c->peer[to].sent;
}
