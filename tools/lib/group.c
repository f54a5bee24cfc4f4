// SPDX-License-Identifier: LGPL-2.1
/* Groups made of groups. */
#include <stdlib.h>
#include <string.h>
#include "comm.h"

/* --- Split ------------------------------------------------------------------------------ */

struct choice {
	int32_t color;
	int32_t key;
};

/* By key, then by place: insertion leaves equals in the order in which they came. */
static uint32_t members(const struct vfab_comm *c, const struct choice *all, int color,
			uint32_t *ranks)
{
	uint32_t place[VFAB_MAX_WORLD], i, at, n = 0;

	for (i = 0; i < c->size; i++) {
		if (all[i].color != color)
			continue;
		for (at = n++; at && all[place[at - 1]].key > all[i].key; at--)
			place[at] = place[at - 1];
		place[at] = i;
	}
	for (i = 0; i < n; i++)
		ranks[i] = c->peer[place[i]].rank;
	return n;
}

int vfab_comm_split(struct vfab_comm *c, int color, int key, struct vfab_comm **out)
{
	struct choice mine = { color, key }, *all;
	uint32_t ranks[VFAB_MAX_WORLD], n;
	uint64_t tag;
	int ret;

	*out = NULL;
	all = calloc(c->size, sizeof(*all));
	if (!all)
		return vfabi_fail(ENOMEM, "out of memory");
	ret = vfab_allgather(c, &mine, all, 1, VFAB_U64);
	tag = comm_mix(comm_mix(c->tag, ++c->splits), (uint32_t)color) | 1;
	if (!ret && color >= 0) {
		n = members(c, all, color, ranks);
		ret = vfab_comm_create(c->ep, ranks, n, tag, c->timeout, out);
	}
	free(all);
	return ret;
}

/* --- Shrink ------------------------------------------------------------------------------ */

/*
 * Those who are left decide, in their windows of the broken group, who is to be in
 * the next one; they make it; and they decide whether it is one, which only those who
 * have got it propose: then all have met, and return it, even where somebody was lost
 * since and the first call will say so. Else they begin again without the lost.
 *
 * To decide, they go through the places in order and wait for each to propose what
 * it holds for right, or to be lost; who reads a proposal takes it for its own. The
 * first rank that nobody takes for lost so passes its own on to all, and from then
 * on all have the same: no more than ROUNDS proposals need be read, as long as fewer
 * ranks than that are lost while they decide. Who has decided proposes that, since
 * others may have skipped another place.
 *
 * Nobody proposes before all who have come have decided what was before: so a
 * proposal stays until all have read it. Who comes late, after the others have
 * gone on without it, sees that, and is left out.
 */
#define ROUNDS	8

/* @passed: has not come, has come, and decided once, twice; has given up */
#define CAME	1
#define QUIT	(UINT64_MAX >> 1)

struct shrink {
	struct vfab_comm *c;
	uint64_t turn;		/* decisions that were made before */
	uint64_t half, deadline;
	struct proposal p;
};

static bool in(const struct proposal *p, uint32_t i)
{
	return p->left[i / 64] >> i % 64 & 1;
}

static uint64_t passed(const struct peer *p)
{
	return vfabi_load(&p->m->passed);
}

static bool gone(const struct vfab_comm *c, const struct peer *p)
{
	uint64_t state = vfabi_load(&p->m->state);

	/* Nobody is there, or the window is not. */
	return vfabi_lost(c->ep, p->rank, p->losses) ||
	       ((state & COMM_MASK) != COMM_ALIVE && (state & COMM_MASK) != COMM_ABORTED);
}

/* Is nothing more to be expected of it? Those who are late have half of the time. */
static bool absent(const struct shrink *s, const struct peer *p)
{
	return gone(s->c, p) || passed(p) == QUIT ||
	       (!passed(p) && (s->turn || !vfabi_left(s->half)));
}

static int quit(struct vfab_comm *c, int ret)
{
	__atomic_store_n(&c->mine->passed, QUIT, __ATOMIC_RELEASE);
	return ret;
}

static int left_out(struct vfab_comm *c)
{
	return quit(c, vfabi_fail(ECONNRESET, "the others went on without this rank"));
}

/* Until @word of a peer is @value or more, or it is absent. What it returns quits. */
static int await(const struct shrink *s, const struct peer *p, const uint64_t *word,
		 uint64_t value)
{
	const struct timespec nap = { .tv_nsec = 200000 };
	struct vfab_comm *c = s->c;

	while (vfabi_load(word) < value && !absent(s, p)) {
		if (vfabi_ended(c->ep))
			return quit(c, vfabi_fail_ended(c->ep));
		if (!vfabi_left(s->deadline))
			return quit(c, vfabi_fail(ETIMEDOUT,
						  "rank %u did not agree with the others in time",
						  p->rank));
		nanosleep(&nap, NULL);
		vfabi_watch(c->ep);
	}
	return 0;
}

/* All who have come have decided what was before. */
static int await_all(const struct shrink *s)
{
	struct vfab_comm *c = s->c;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < c->size && !ret; i++)
		if (i != c->index)
			ret = await(s, &c->peer[i], &c->peer[i].m->passed, s->turn + CAME);
	return ret;
}

static void propose(const struct shrink *s)
{
	struct member *m = s->c->mine;

	if (m->turn > s->turn)
		return;
	m->proposal = s->p;
	__atomic_store_n(&m->turn, s->turn + 1, __ATOMIC_RELEASE);
}

/* A peer's proposal is taken over, if it has made one: 1 */
static int adopt(struct shrink *s, const struct peer *p)
{
	uint64_t turn = vfabi_load(&p->m->turn);
	struct proposal theirs;

	if (turn < s->turn + 1)
		return 0;
	theirs = p->m->proposal;
	/* What was read comes before the looks; all ones are no proposal */
	if (gone(s->c, p))
		return 0;
	if (turn > s->turn + 1)
		return left_out(s->c);
	s->p = theirs;
	return 1;
}

static int decide(struct shrink *s)
{
	struct vfab_comm *c = s->c;
	uint32_t i, n = 0;
	int ret;

	for (i = 0; i < c->size && n < ROUNDS; i++) {
		const struct peer *p = &c->peer[i];

		if (i == c->index) {
			propose(s);
			n++;
			continue;
		}
		ret = await(s, p, &p->m->turn, s->turn + 1);
		if (!ret)
			ret = adopt(s, p);
		if (ret < 0)
			return ret;
		n += ret;
	}
	propose(s);
	s->turn++;
	__atomic_store_n(&c->mine->passed, s->turn + CAME, __ATOMIC_RELEASE);
	return 0;
}

static int decide_who(struct shrink *s)
{
	struct vfab_comm *c = s->c;
	uint32_t i;
	int ret = await_all(s);

	if (ret)
		return ret;
	memset(&s->p, 0, sizeof(s->p));
	for (i = 0; i < c->size; i++)
		if (i == c->index || !absent(s, &c->peer[i]))
			s->p.left[i / 64] |= UINT64_C(1) << i % 64;
	ret = decide(s);
	if (!ret && !in(&s->p, c->index))
		ret = left_out(c);
	return ret;
}

static int decide_whether(struct shrink *s, bool made)
{
	int ret = await_all(s);

	if (ret)
		return ret;
	s->p.made = made;
	return decide(s);
}

/* The next group; 0 or -ECONNRESET, with @out where all have met. */
static int make(struct shrink *s, struct vfab_comm **out)
{
	struct vfab_comm *c = s->c;
	uint64_t tag = comm_mix(c->tag, s->turn);
	uint32_t ranks[VFAB_MAX_WORLD], losses[VFAB_MAX_WORLD], i, n = 0;
	int ret;

	for (i = 0; i < c->size; i++) {
		if (!in(&s->p, i))
			continue;
		losses[n] = c->peer[i].losses;
		ranks[n++] = c->peer[i].rank;
		tag = comm_mix(tag, i + 1);
	}
	ret = comm_make(c->ep, ranks, losses, n, tag | 1, vfabi_left(s->deadline), out);
	return ret == -EHOSTUNREACH ? -ECONNRESET : ret;
}

int vfab_comm_shrink(struct vfab_comm *c, int64_t timeout, struct vfab_comm **out)
{
	struct shrink s = { .c = c, .turn = c->mine->turn, .deadline = vfabi_deadline(timeout) };
	struct vfab_comm *next;
	int ret, made;

	*out = NULL;
	s.half = timeout < 0 ? s.deadline : vfabi_deadline(timeout / 2);
	if (!c->err)
		comm_fail(c, ECONNRESET, c->ep->info.rank);
	if (passed(&c->peer[c->index]) == QUIT)
		return left_out(c);
	__atomic_store_n(&c->mine->passed, s.turn + CAME, __ATOMIC_RELEASE);
	for (;;) {
		ret = decide_who(&s);
		if (ret)
			return ret;
		made = make(&s, &next);
		ret = made && made != -ECONNRESET ? quit(c, made) : decide_whether(&s, !made);
		if (!ret && s.p.made && next)
			break;
		vfab_comm_destroy(next);
		if (ret)
			return ret;
	}
	vfab_comm_set_timeout(next, timeout);
	*out = next;
	return 0;
}
