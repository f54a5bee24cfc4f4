// SPDX-License-Identifier: LGPL-2.1
/*
 * Collectives: copies, barriers, and reductions in the group's order.
 *
 * The two slots take turns. A rank fills a slot for the second next time only
 * after a barrier that all entered when they were done with reading it.
 */
#include <string.h>
#include "comm.h"

/*
 * Everybody reads all of everybody's while that is no more than this together;
 * above, a second barrier costs less than the reading it saves.
 */
#define ONE_SHOT	(32 << 10)

/* Elements that stay in the first-level cache while they are reduced. */
#define BLOCK		4096

struct job {
	enum vfab_type type;
	enum vfab_op op;
	size_t elem;
	unsigned int slot;
};

static int begin(struct vfab_comm *c)
{
	if (c->err) {
		vfabi_fail(-c->err, "the group is broken since rank %u was lost: make another one",
			   c->lost);
		return c->err;
	}
	c->calls++;
	c->deadline = 0;
	return 0;
}

static int end(struct vfab_comm *c, int ret)
{
	if (!ret)
		__atomic_store_n(&c->mine->done, c->calls, __ATOMIC_RELEASE);
	return ret;
}

/* dst = bytes from .. from + len of all slots, reduced; dst may be a slot */
static void reduce(struct vfab_comm *c, const struct job *j, char *dst,
		   size_t from, size_t len)
{
	char acc[BLOCK] __attribute__((aligned(64)));
	size_t n;
	uint32_t i;

	for (; len; from += n, dst += n, len -= n) {
		n = len < BLOCK ? len : BLOCK;
		memcpy(acc, c->peer[0].slot[j->slot] + from, n);
		for (i = 1; i < c->size; i++)
			vfabi_reduce(acc, c->peer[i].slot[j->slot] + from,
				     n / j->elem, j->type, j->op);
		memcpy(dst, acc, n);
	}
}

/* Shares of len bytes, in whole lines; the last ones may be smaller. */
static size_t share_of_each(const struct vfab_comm *c, size_t len)
{
	return ((len + c->size - 1) / c->size + 63) & ~(size_t)63;
}

static size_t share(uint32_t i, size_t each, size_t len, size_t *from)
{
	*from = each * i < len ? each * i : len;
	return len - *from < each ? len - *from : each;
}

/* What a step reads of each: all of @len, or only that rank's share of it. */
struct reads {
	size_t len;
	size_t each;		/* 0: all of it */
	struct vfabi_pace pace;
};

static size_t read_of(const struct reads *r, uint32_t i)
{
	size_t from;

	return r->each ? share(i, r->each, r->len, &from) : r->len;
}

/* Before it: all of it is on its way at the same time. */
static int reads_begin(struct vfab_comm *c, struct reads *r)
{
	uint32_t i;
	int ret = 0;

	if (!vfabi_paced(c->ep))
		return 0;
	r->pace = comm_pace(c);
	for (i = 0; i < c->size && !ret; i++)
		ret = comm_paced(c, vfabi_reserve(&r->pace, c->peer[i].rank, VFABI_GET,
						  read_of(r, i)), c->peer[i].rank);
	return ret;
}

/* After it: when it has arrived, was it all real? Then it counts. */
static int reads_end(struct vfab_comm *c, struct reads *r, unsigned int slot)
{
	int ret = r->pace.until ? vfabi_arrive(&r->pace) : 0;
	uint32_t i;
	size_t n;

	if (!ret)
		ret = comm_check(c, slot);
	for (i = 0; i < c->size && !ret; i++) {
		n = read_of(r, i);
		if (n && i != c->index)
			vfabi_count(c->ep, c->peer[i].rank, VFABI_GET, n);
	}
	return ret;
}

static int one_shot(struct vfab_comm *c, const struct job *j, char *out,
		    size_t len)
{
	struct reads all = { .len = len };
	int ret = comm_barrier(c);

	if (!ret)
		ret = reads_begin(c, &all);
	if (ret)
		return ret;
	reduce(c, j, out, 0, len);
	return reads_end(c, &all, j->slot);
}

static int two_shot(struct vfab_comm *c, const struct job *j, char *out,
		    size_t len)
{
	struct reads mine = { 0 }, theirs = { .len = len, .each = share_of_each(c, len) };
	size_t from, n;
	uint32_t i, k;
	int ret;

	ret = comm_barrier(c);
	if (ret)
		return ret;
	/* Of its own slot, a rank alone reads its share: the result goes there. */
	n = share(c->index, theirs.each, len, &from);
	mine.len = n;
	ret = reads_begin(c, &mine);
	if (ret)
		return ret;
	reduce(c, j, (char *)c->peer[c->index].slot[j->slot] + from, from, n);
	ret = reads_end(c, &mine, j->slot);
	if (!ret)
		ret = comm_barrier(c);
	if (!ret)
		ret = reads_begin(c, &theirs);
	if (ret)
		return ret;
	for (k = 0; k < c->size; k++) {
		i = (c->index + k) % c->size;
		n = share(i, theirs.each, len, &from);
		memcpy(out + from, c->peer[i].slot[j->slot] + from, n);
	}
	return reads_end(c, &theirs, j->slot);
}

static int barrier(struct vfab_comm *c)
{
	int ret = comm_barrier(c);

	return ret ? ret : comm_check(c, -1);
}

int vfab_allreduce(struct vfab_comm *c, const void *in, void *out,
		   size_t count, enum vfab_type type, enum vfab_op op)
{
	struct job j = { .type = type, .op = op, .elem = vfab_type_size(type) };
	size_t len, n, at = 0;
	int ret;

	if (!j.elem || op >= VFAB_OPS || __builtin_mul_overflow(count, j.elem, &len))
		return vfabi_fail(EINVAL,
				  "%zu elements of type %d by operation %d: there is no such",
				  count, type, op);
	ret = begin(c);
	if (ret)
		return ret;
	/* Odd, so that a slot never used matches no call. */
	c->call = (c->calls << 48 | (uint64_t)count << 8 | type << 4 | op << 1) | 1;
	if (!len)
		ret = barrier(c);
	for (; at < len && !ret; at += n) {
		n = len - at < c->slot_bytes ? len - at : c->slot_bytes;
		j.slot = c->slot;
		c->slot ^= 1;
		memcpy((char *)c->peer[c->index].slot[j.slot],
		       (const char *)in + at, n);
		c->mine->call[j.slot] = c->call;
		if (n * c->size <= ONE_SHOT)
			ret = one_shot(c, &j, (char *)out + at, n);
		else
			ret = two_shot(c, &j, (char *)out + at, n);
	}
	return end(c, ret);
}

int vfab_barrier(struct vfab_comm *c)
{
	int ret = begin(c);

	if (!ret)
		ret = barrier(c);
	return end(c, ret);
}
