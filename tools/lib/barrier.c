// SPDX-License-Identifier: LGPL-2.1
/*
 * Barriers: each rank counts its steps in a line that only it writes, and
 * waits for the counts of others.
 */
#include "comm.h"

static bool reached(const struct peer *p, uint64_t seq)
{
	return vfabi_load(&p->m->seq) >= seq;
}

/* Spins, then yields, as long as the policy says. */
static bool polled(const struct vfab_comm *c, const struct peer *p, uint64_t seq)
{
	int64_t end = c->spin ? vfabi_now() + c->spin : 0;
	uint32_t i;

	while (end) {
		for (i = 0; i < 64; i++) {
			if (reached(p, seq))
				return true;
			vfabi_relax();
		}
		if (vfabi_now() > end)
			break;
	}
	for (i = 0; i < c->yields; i++) {
		sched_yield();
		if (reached(p, seq))
			return true;
	}
	return false;
}

/*
 * Who is the farthest behind: the others wait for it, too. In a tree, its
 * ancestors have not moved on either, but they have lower indices.
 */
static uint32_t slowest(const struct vfab_comm *c)
{
	uint64_t seq, least = UINT64_MAX;
	uint32_t i, who = VFAB_RANK_ANY;

	for (i = 0; i < c->size; i++) {
		seq = vfabi_load(&c->peer[i].m->seq);
		if (i != c->index && seq <= least) {
			least = seq;
			who = c->peer[i].rank;
		}
	}
	return who;
}

static int pace_stop(void *arg)
{
	struct vfab_comm *c = arg;
	uint64_t now = vfabi_now();
	int ret;

	if (!c->deadline)
		c->deadline = vfabi_deadline(c->timeout);
	if (now < c->look_at && now < c->deadline)
		return 0;
	c->look_at = now + COMM_SLICE / 10;
	ret = comm_check(c, -1);
	if (!ret && now >= c->deadline)
		ret = comm_fail(c, ETIMEDOUT, slowest(c));
	return ret;
}

struct vfabi_pace comm_pace(struct vfab_comm *c)
{
	return (struct vfabi_pace){ .ep = c->ep, .stop = pace_stop, .arg = c };
}

/* Why there is no route to @rank, the view tells a moment later. */
int comm_paced(struct vfab_comm *c, int ret, uint32_t rank)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int k, why;

	if (!ret || c->err)
		return ret;
	for (k = 0; k < 100; k++) {
		why = comm_check(c, -1);
		if (why)
			return why;
		nanosleep(&ms, NULL);
	}
	return comm_fail(c, ret == -EHOSTUNREACH || ret == -EACCES ? ECONNRESET : -ret,
			 rank);
}

static int doze(struct vfab_comm *c, const struct peer *p, uint64_t seq)
{
	uint64_t count, loss, until, now;
	int ret;

	if (!c->deadline)
		c->deadline = vfabi_deadline(c->timeout);
	/*
	 * Count and loss are read before the line: whoever advances it after
	 * this look rings, and the sleep does not begin.
	 */
	count = vfab_count(c->ep, COMM_VECTOR);
	loss = vfabi_loss(c->ep);
	if (reached(p, seq))
		return 0;
	until = c->never_sleep ? 0 : vfabi_now() + COMM_SLICE;
	if (until > c->deadline)
		until = c->deadline;
	ret = vfabi_sleep(c->ep, COMM_VECTOR, &count, &loss, until);
	/*
	 * A ring need not be one of the group's: any rank of the partition may
	 * ring this doorbell as often as it likes. So it is the clock that says
	 * when to look at the group, and whether the time is up.
	 */
	now = vfabi_now();
	if (!ret && now < c->look_at && now < c->deadline)
		return 0;
	c->look_at = now + COMM_SLICE;
	ret = comm_check(c, -1);
	if (!ret && now >= c->deadline && !reached(p, seq))
		ret = comm_fail(c, ETIMEDOUT, slowest(c));
	return ret;
}

static int await(struct vfab_comm *c, uint32_t i, uint64_t seq)
{
	const struct peer *p = &c->peer[i];
	int ret;

	while (!reached(p, seq) && !polled(c, p, seq)) {
		ret = doze(c, p, seq);
		if (ret)
			return ret;
	}
	return comm_check_one(c, p);
}

static void publish(struct vfab_comm *c, uint64_t seq)
{
	__atomic_store_n(&c->mine->seq, seq, __ATOMIC_RELEASE);
}

static int ring_one(struct vfab_comm *c, uint32_t i)
{
	int ret = vfabi_ring(c->ep, c->peer[i].rank, COMM_VECTOR);
	int why;

	switch (ret) {
	case 0:
		return 0;
	case -EHOSTUNREACH:
	case -EACCES:
		return comm_paced(c, ret, c->peer[i].rank);
	}
	why = comm_check(c, -1);
	return why ? why : comm_fail(c, -ret, c->peer[i].rank);
}

/* Rings that are on their way at the same time */
static int ring(struct vfab_comm *c, uint32_t first, uint32_t end)
{
	struct vfabi_pace p;
	uint32_t i;
	int ret = 0;

	if (vfabi_paced(c->ep)) {
		p = comm_pace(c);
		for (i = first; i < end && !ret; i++)
			ret = comm_paced(c, vfabi_reserve(&p, c->peer[i].rank, VFABI_PUT,
							  VFAB_RING_BYTES),
					 c->peer[i].rank);
		if (!ret)
			ret = vfabi_arrive(&p);
	}
	for (i = first; i < end && !ret; i++)
		ret = ring_one(c, i);
	return ret;
}

/* log2(size) rounds; in each, all ranks hear from one that is farther away. */
static int dissemination(struct vfab_comm *c)
{
	uint32_t d, to, n = c->size;
	int ret = 0;

	for (d = 1; d < n && !ret; d <<= 1) {
		publish(c, ++c->seq);
		to = (c->index + d) % n;
		ret = ring(c, to, to + 1);
		if (!ret)
			ret = await(c, (c->index + n - d) % n, c->seq);
	}
	return ret;
}

#define FANOUT	8

/* Up and down a tree: two messages per rank, each worth a context switch. */
static int tree(struct vfab_comm *c)
{
	uint32_t i, first = c->index * FANOUT + 1, end = first + FANOUT;
	int ret;

	if (end > c->size)
		end = c->size;
	for (i = first; i < end; i++) {
		ret = await(c, i, c->seq + 1);
		if (ret)
			return ret;
	}
	if (c->index) {
		uint32_t parent = (c->index - 1) / FANOUT;

		publish(c, c->seq + 1);
		ret = ring(c, parent, parent + 1);
		if (!ret)
			ret = await(c, parent, c->seq + 2);
		if (ret)
			return ret;
	}
	c->seq += 2;
	publish(c, c->seq);
	return ring(c, first, end);
}

int comm_barrier(struct vfab_comm *c)
{
	return c->crowded ? tree(c) : dissemination(c);
}
