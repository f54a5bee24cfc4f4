// SPDX-License-Identifier: LGPL-2.1
/* Communicators: ranks meet, watch one another, break up. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "comm.h"

/* Of a small group, and of one in which windows add up */
#define FEW		128
#define WINDOW_OF_FEW	(UINT64_C(1) << 20)
#define WINDOW_BYTES	(UINT64_C(256) << 10)
#define WINDOW_MAX	(UINT64_C(1) << 30)

#define TOMBS		(sizeof(((struct vfab_ep *)0)->tombs) / sizeof(struct vfabi_tomb))

static __thread uint32_t lost_in_create = VFAB_RANK_ANY;

int comm_why(const struct vfab_comm *c)
{
	uint32_t rank = c->lost;
	bool own = rank == c->ep->info.rank;

	switch (-c->err) {
	case ECONNRESET:
		if (own)
			return vfabi_fail(ECONNRESET,
					  "rank %u, this one, was cut off, aborted, or was too late for the others",
					  rank);
		return vfabi_fail(ECONNRESET,
				  "rank %u of the group was lost: make a group of the others",
				  rank);
	case ETIMEDOUT:
		return vfabi_fail(ETIMEDOUT, "rank %u of the group did not come in time",
				  rank);
	case EINVAL:
		return vfabi_fail(EINVAL,
				  "rank %u%s makes another call, or has another opinion about the group: ranks, order, tag, VFAB_COMM_BYTES or VFAB_TUNING",
				  rank, own ? ", this one," : "");
	}
	return c->err;	/* whoever failed has told why */
}

int comm_fail(struct vfab_comm *c, int err, uint32_t rank)
{
	if (c->err)
		return c->err;
	c->err = -err;
	c->lost = rank;
	if (c->mine)
		__atomic_store_n(&c->mine->state, COMM_ABORTED | rank |
				 (err == EINVAL ? COMM_MISUSE : 0),
				 __ATOMIC_RELEASE);
	return comm_why(c);
}

/* What the members look like: how many are lost, and one of each kind. */
struct look {
	uint32_t lost, cut, blamed, gone, odd;
	bool died;		/* of the lost, one that ended rather than its route */
	bool misuse;		/* that is what @blamed is blamed for */
};

/*
 * Who has left is missed by those who are in a call of all, or exchange messages
 * with it; others may go on without it.
 */
static bool missed(const struct vfab_comm *c, uint32_t i)
{
	const struct op *o;

	for (o = c->messages; o; o = o->next)
		if (o->call.root == i)
			return true;
	return c->head || !c->calls;
}

static void look(const struct vfab_comm *c, bool record, struct look *l)
{
	uint64_t state, step;
	bool differs;
	uint32_t i;

	*l = (struct look) {
		.cut = VFAB_RANK_ANY, .blamed = VFAB_RANK_ANY,
		.gone = VFAB_RANK_ANY, .odd = VFAB_RANK_ANY,
	};
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	for (i = 0; i < c->size; i++) {
		const struct peer *p = &c->peer[i];

		if (i == c->index || !p->m)
			continue;
		/*
		 * The line first, the view after it (vfabi_lost() has the
		 * fence): if the line was read through a route that is gone,
		 * the view has the loss. A window that was freed shows in no
		 * state of the view, but its owner has left "aborted" in the
		 * line before.
		 */
		state = vfabi_load(&p->m->state);
		step = vfabi_load(&p->m->step);
		differs = record && step > c->base &&
			  p->m->record[c->calls & 1].call != c->call;
		if (vfabi_lost(c->ep, p->rank, p->losses)) {
			if (!l->lost++)
				l->cut = p->rank;
			l->died |= vfabi_state(c->ep, p->rank) == VFAB_PEER_VACANT;
		} else if ((state & COMM_MASK) == COMM_ABORTED) {
			l->blamed = state & ~COMM_MASK & ~COMM_MISUSE;
			l->misuse = state & COMM_MISUSE;
		} else if (state != COMM_ALIVE) {
			if (missed(c, i))
				l->gone = p->rank;
		} else if (differs) {
			l->odd = p->rank;
		}
	}
}

int comm_check(struct vfab_comm *c, bool record)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	uint64_t loss = vfabi_loss(c->ep);
	struct look l;
	int i;

	if (c->err)
		return c->err;
	look(c, record, &l);
	/*
	 * A change stores the loss generation after the last of the peers that
	 * it takes away: if that has not moved since nobody was lost, there
	 * are more to come, and who was cut off cannot be told yet.
	 */
	if (l.lost && loss == c->loss) {
		for (i = 0; i < 100 && vfabi_loss(c->ep) == loss; i++)
			nanosleep(&ms, NULL);
		look(c, record, &l);
	}
	if (vfabi_ended(c->ep)) {
		vfabi_fail_ended(c->ep);
		return comm_fail(c, ENODEV, c->ep->info.rank);
	}
	/*
	 * Who gave up first knows the cause, and may be gone since because of
	 * it. Who loses all others at once is the one that was cut off, unless
	 * they can be reached and are not there.
	 */
	if (l.blamed != VFAB_RANK_ANY)
		return comm_fail(c, l.misuse ? EINVAL : ECONNRESET, l.blamed);
	if (l.lost > 1 && l.lost == c->size - 1 && !l.died)
		return comm_fail(c, ECONNRESET, c->ep->info.rank);
	if (l.lost)
		return comm_fail(c, ECONNRESET, l.cut);
	if (l.gone != VFAB_RANK_ANY)
		return comm_fail(c, ECONNRESET, l.gone);
	if (l.odd != VFAB_RANK_ANY)
		return comm_fail(c, EINVAL, l.odd);
	c->loss = loss;
	return 0;
}

static int set_group(struct vfab_comm *c, const uint32_t *ranks, const uint32_t *losses)
{
	uint8_t seen[VFAB_MAX_WORLD] = { 0 };
	const struct vfab_info *info = &c->ep->info;
	uint32_t i, r;

	c->index = c->size;
	c->loss = vfabi_loss(c->ep);
	for (i = 0; i < c->size; i++) {
		r = ranks[i];
		if (r >= info->world || seen[r]++)
			return vfabi_fail(EINVAL, "rank %u is %s", r,
					  r < info->world ? "in the group twice" :
					  "not one of the domain's");
		if (r == info->rank)
			c->index = i;
		c->peer[i].rank = r;
		c->peer[i].losses = losses ? losses[i] : vfabi_losses(c->ep, r);
	}
	if (c->index == c->size)
		return vfabi_fail(EINVAL, "rank %u is not in the group of %u that it makes",
				  info->rank, c->size);
	return 0;
}

uint64_t comm_mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

static uint64_t digest(const struct vfab_comm *c, uint64_t h)
{
	uint32_t i;

	for (i = 0; i < c->size; i++)
		h = comm_mix(h, c->peer[i].rank + 1);
	return h;
}

/* A page, lines and boxes for messages, slots; see p2p.c */
static void set_slots(struct peer *p, const struct vfab_comm *c)
{
	p->slots = (const char *)p->mem.addr + p->mem.size - COMM_SLOTS * c->slot_bytes;
}

static bool lay_out(struct vfab_comm *c, uint64_t bytes)
{
	uint64_t left = bytes - c->ep->page - p2p_lines(c->size);

	c->box_bytes = p2p_boxes(c->size, bytes);
	if (bytes < c->ep->page + p2p_lines(c->size) + 2 * c->box_bytes * c->size)
		return false;
	left -= 2 * c->box_bytes * c->size;
	c->slot_bytes = left / COMM_SLOTS & ~(uint64_t)(COMM_LINE - 1);
	/* A piece for each rank, see coll.c */
	return c->slot_bytes >= 16 * (uint64_t)c->size && c->slot_bytes >= COMM_LINE;
}

/*
 * The window of a broken communicator stays, marked aborted, until its tag is
 * used again, for a few later failures, or until the endpoint's end: those who
 * look for it only now would wait, and those who look at it now would take
 * whoever left for the cause.
 */
static void bury(struct vfab_comm *c)
{
	struct vfab_ep *ep = c->ep;
	struct vfabi_tomb old;

	pthread_mutex_lock(&ep->lock);
	old = ep->tombs[ep->next_tomb];
	ep->tombs[ep->next_tomb].tag = c->tag;
	ep->tombs[ep->next_tomb].mem = c->window;
	ep->next_tomb = (ep->next_tomb + 1) % TOMBS;
	pthread_mutex_unlock(&ep->lock);
	if (old.tag)
		vfab_window_free(ep, &old.mem);
}

static void exhume(struct vfab_ep *ep, uint64_t tag)
{
	struct vfabi_tomb old;
	unsigned int i;

	for (i = 0; i < TOMBS; i++) {
		pthread_mutex_lock(&ep->lock);
		old = ep->tombs[i];
		if (old.tag == tag)
			ep->tombs[i] = (struct vfabi_tomb) { 0 };
		pthread_mutex_unlock(&ep->lock);
		if (old.tag == tag)
			vfab_window_free(ep, &old.mem);
	}
}

static int export(struct vfab_comm *c)
{
	const char *env = getenv("VFAB_COMM_BYTES");
	uint64_t bytes = c->size <= FEW ? WINDOW_OF_FEW : WINDOW_BYTES;
	struct vfab_ep *ep = c->ep;
	struct member *m;
	uint64_t rules;
	char *end;
	int ret;

	if (env) {
		bytes = strtoull(env, &end, 0);
		if (!isdigit((unsigned char)*env) || *end)
			bytes = 0;
	}
	bytes = (bytes + ep->page - 1) & ~(uint64_t)(ep->page - 1);
	if (bytes > WINDOW_MAX || !lay_out(c, bytes))
		return vfabi_fail(EINVAL,
				  "VFAB_COMM_BYTES=%s: give bytes without a unit; %u ranks need 20 KiB and some 300 bytes for each, and 1 GiB is the most",
				  env ? env : "", c->size);
	ret = tuning_load(&c->rules, &rules);
	if (ret)
		return ret;
	exhume(ep, c->tag);
	ret = vfab_window_alloc(ep, bytes, c->tag, VFAB_ACCESS_READ,
				&c->window);
	if (ret)
		return ret;
	c->peer[c->index].mem = c->window;
	set_slots(&c->peer[c->index], c);
	m = c->window.addr;
	m->version = COMM_VERSION;
	m->size = c->size;
	m->group = digest(c, rules);
	m->slot_bytes = c->slot_bytes;
	sched_getaffinity(0, sizeof(m->cpus), (cpu_set_t *)m->cpus);
	__atomic_store_n(&m->state, COMM_ALIVE, __ATOMIC_RELEASE);
	c->mine = m;
	c->peer[c->index].m = m;
	return 0;
}

/* While waiting for @p to turn up: may that still happen? */
static int hope(struct vfab_comm *c, const struct peer *p)
{
	int ret;

	/* There may be nobody else who waits */
	vfabi_watch(c->ep);
	ret = comm_check(c, false);
	if (!ret && vfabi_losses(c->ep, p->rank) != p->losses)
		ret = comm_fail(c, ECONNRESET, p->rank);
	if (!ret && !vfabi_left(c->deadline))
		ret = comm_fail(c, ETIMEDOUT, p->rank);
	return ret;
}

/* -EAGAIN: it is not there yet. */
static int meet(struct vfab_comm *c, struct peer *p, int64_t timeout)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	const struct member *m;
	uint64_t handle;
	int ret, why;

	if (p->m)
		return 0;
	if (vfabi_losses(c->ep, p->rank) != p->losses)
		return hope(c, p);
	ret = vfab_lookup(c->ep, p->rank, c->tag, timeout, &handle);
	if (ret == -ETIMEDOUT || ret == -EINTR || ret == -ENOENT)
		return -EAGAIN;
	if (!ret)
		ret = vfab_import(c->ep, handle, VFAB_ACCESS_READ,
				  VFAB_LOSS_ABSORB, &p->mem);
	if (ret) {
		why = hope(c, p);
		if (why)
			return why;
		/* Looked up and gone again: it has given up. */
		return comm_fail(c, ret == -ENOENT ? ECONNRESET : -ret, p->rank);
	}
	/* The window is there before it is filled. */
	m = p->mem.addr;
	while (!vfabi_load(&m->state)) {
		ret = hope(c, p);
		if (ret)
			return ret;
		nanosleep(&ms, NULL);
	}
	p->m = m;
	ret = comm_doubtful(c, p, false) ? comm_check(c, false) : 0;
	if (!ret && (p->mem.size != c->window.size ||
		     m->version != COMM_VERSION || m->size != c->size ||
		     m->group != c->mine->group ||
		     m->slot_bytes != c->slot_bytes)) {
		/* All ones differ as well; then it was lost. */
		ret = comm_check(c, false);
		if (!ret)
			ret = comm_fail(c, EINVAL, p->rank);
	}
	if (!ret)
		set_slots(p, c);
	return ret;
}

/*
 * Each begins with its successor, so that not all meet rank 0 at once. While
 * one does not come, the others may have given up because of it: look at them.
 */
static int meet_all(struct vfab_comm *c)
{
	uint32_t i, k;
	int64_t left;
	int ret;

	for (i = 1; i < c->size; i++) {
		struct peer *p = &c->peer[(c->index + i) % c->size];

		for (;;) {
			left = vfabi_left(c->deadline);
			if (left < 0 || left > COMM_SLICE)
				left = COMM_SLICE;
			ret = meet(c, p, left);
			if (ret != -EAGAIN)
				break;
			ret = hope(c, p);
			for (k = i + 1; k < c->size && !ret; k++) {
				ret = meet(c, &c->peer[(c->index + k) % c->size], 0);
				if (ret == -EAGAIN)
					ret = 0;
			}
			if (ret)
				return ret;
		}
		if (ret)
			return ret;
	}
	return 0;
}

/* The same answer everywhere: it follows from what all have published. */
static int choose(struct vfab_comm *c)
{
	uint64_t cpus[VFAB_MAX_WORLD / 64] = { 0 };
	uint32_t i, k, n = 0;

	for (i = 0; i < c->size; i++)
		for (k = 0; k < VFAB_MAX_WORLD / 64; k++)
			cpus[k] |= c->peer[i].m->cpus[k];
	for (k = 0; k < VFAB_MAX_WORLD / 64; k++)
		n += __builtin_popcountll(cpus[k]);
	c->crowded = c->size > n;
	if (c->ep->policy_fixed) {
		c->spin = c->ep->spin < 0 ? COMM_SLICE : c->ep->spin;
		c->yields = c->ep->yields < 1000 ? c->ep->yields : 1000;
		c->never_sleep = c->spin || c->yields;
	} else if (c->crowded) {
		c->yields = 50;
	} else {
		c->spin = 20000;
	}
	return comm_check(c, false);
}

/* Before the first step: which windows this member has met, its own included. */
static void publish_met(struct vfab_comm *c)
{
	uint64_t h = 0;
	uint32_t i;

	for (i = 0; i < c->size; i++)
		h = comm_mix(h, c->peer[i].mem.handle);
	__atomic_store_n(&c->mine->met, h ? h : 1, __ATOMIC_RELEASE);
}

/*
 * After the first barrier: is it one group that has met? A tag that is used
 * again may find the window of an earlier group that its owner has not left
 * yet: that member looks alive, has passed more steps than any barrier asks
 * for, and has old data in its slots. But no handle is issued twice: members
 * who have met the same windows are of the same group.
 *
 * Where all is well, the barrier has ordered every store of @met before this.
 * Where it is not, somebody whose steps were believed has met other windows;
 * who has met none is only late, and blamed if there is nobody else.
 */
static int same_group(struct vfab_comm *c)
{
	uint32_t i, who = VFAB_RANK_ANY;
	uint64_t met;
	int ret;

	for (i = 0; i < c->size; i++) {
		met = vfabi_load(&c->peer[i].m->met);
		if (met != c->mine->met && (met || who == VFAB_RANK_ANY))
			who = c->peer[i].rank;
	}
	/* All ones are no answer; then it was lost. */
	ret = comm_check(c, false);
	if (ret || who == VFAB_RANK_ANY)
		return ret;
	comm_fail(c, EINVAL, who);
	return vfabi_fail(EINVAL,
			  "tag %llu is still in use by rank %u, for another group: take another tag for each group",
			  (unsigned long long)c->tag, who);
}

static void release(struct vfab_comm *c)
{
	uint32_t i;

	for (i = 0; i < c->size; i++)
		if (i != c->index && c->peer[i].mem.addr)
			vfab_release(c->ep, &c->peer[i].mem);
	direct_forget(c);
	free(c->rules);
	free(c->src);
	free(c->dst);
	free(c);
}

int comm_make(struct vfab_ep *ep, const uint32_t *ranks, const uint32_t *losses, uint32_t n,
	      uint64_t tag, int64_t timeout, struct vfab_comm **out)
{
	uint32_t job[VFAB_MAX_WORLD], rank, i;
	struct vfab_comm *c;
	int ret;

	*out = NULL;
	lost_in_create = VFAB_RANK_ANY;
	if (!ranks) {
		ret = vfab_env_job(&rank, job, &n);
		if (ret)
			return ret;
		if (!n)
			for (n = ep->info.world, i = 0; i < n; i++)
				job[i] = i;
		ranks = job;
	}
	if (!n || n > ep->info.world || !tag)
		return vfabi_fail(EINVAL,
				  "a group of %u with tag %llu: 1 to %u ranks and a tag other than 0 are possible",
				  n, (unsigned long long)tag, ep->info.world);
	c = calloc(1, sizeof(*c) + n * sizeof(c->peer[0]));
	if (!c)
		return vfabi_fail(ENOMEM, "out of memory");
	c->ep = ep;
	c->size = n;
	c->lost = VFAB_RANK_ANY;
	c->tag = tag;
	c->timeout = timeout;
	c->deadline = vfabi_deadline(timeout);
	c->src = calloc(n, sizeof(*c->src));
	c->dst = calloc(n + 1, sizeof(*c->dst));	/* and a slot */
	ret = c->src && c->dst ? 0 : vfabi_fail(ENOMEM, "out of memory");
	if (!ret)
		ret = set_group(c, ranks, losses);
	if (!ret)
		ret = vfabi_counts(ep);
	if (!ret)
		ret = export(c);
	if (ret) {
		release(c);
		return ret;
	}
	ret = meet_all(c);
	if (!ret)
		ret = choose(c);
	if (!ret) {
		publish_met(c);
		*out = c;
		ret = comm_meet(c);
	}
	if (!ret)
		ret = same_group(c);
	if (ret)
		lost_in_create = c->lost;
	if (!*out) {
		bury(c);
		release(c);
	}
	return ret;
}

int vfab_comm_create(struct vfab_ep *ep, const uint32_t *ranks, uint32_t n,
		     uint64_t tag, int64_t timeout, struct vfab_comm **out)
{
	struct vfab_comm *c;
	int ret = comm_make(ep, ranks, NULL, n, tag, timeout, &c);

	if (!ret)
		*out = c;
	else
		vfab_comm_destroy(c);
	return ret;
}

static bool finished(const struct vfab_comm *c, const struct peer *p)
{
	return (vfabi_load(&p->m->done) >= c->base && p2p_delivered(c, p - c->peer)) ||
	       vfabi_load(&p->m->state) != COMM_ALIVE ||
	       vfabi_lost(c->ep, p->rank, p->losses);
}

void vfab_comm_destroy(struct vfab_comm *c)
{
	const struct timespec nap = { .tv_nsec = 200000 };
	uint64_t deadline;
	uint32_t i;

	if (!c)
		return;
	/* Others may still be reading the last call's slots. */
	deadline = vfabi_deadline(c->timeout);
	for (i = 0; i < c->size && !c->err; i++)
		while (i != c->index && !finished(c, &c->peer[i]) &&
		       vfabi_left(deadline)) {
			nanosleep(&nap, NULL);
			vfabi_watch(c->ep);
		}
	if (c->err) {
		bury(c);
	} else {
		/* Who is not done yet shall know, see comm_check(). */
		__atomic_store_n(&c->mine->state, COMM_LEFT, __ATOMIC_RELEASE);
		vfab_window_free(c->ep, &c->window);
	}
	release(c);
}

void vfab_comm_set_timeout(struct vfab_comm *c, int64_t timeout)
{
	c->timeout = timeout;
}

void vfab_comm_abort(struct vfab_comm *c)
{
	comm_fail(c, ECONNRESET, c->ep->info.rank);
}

uint32_t vfab_comm_index(const struct vfab_comm *c)
{
	return c->index;
}

uint32_t vfab_comm_size(const struct vfab_comm *c)
{
	return c->size;
}

uint32_t vfab_comm_rank(const struct vfab_comm *c, uint32_t index)
{
	return index < c->size ? c->peer[index].rank : VFAB_RANK_ANY;
}

uint32_t vfab_comm_lost_rank(const struct vfab_comm *c)
{
	return c ? c->lost : lost_in_create;
}
