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
 * Each publishes, in its window of the broken group, whom it takes for alive: sets
 * that only get smaller. When all of a set have published the same one, they meet
 * anew. Whoever is lost until they have met makes it start again.
 */
static bool in(const uint64_t *set, uint32_t i)
{
	return __atomic_load_n(&set[i / 64], __ATOMIC_RELAXED) >> i % 64 & 1;
}

static void drop(struct vfab_comm *c, uint32_t i)
{
	uint64_t *word = &c->mine->left[i / 64];

	__atomic_store_n(word, *word & ~(UINT64_C(1) << i % 64), __ATOMIC_RELEASE);
}

static bool gone(const struct vfab_comm *c, const struct peer *p)
{
	uint64_t state = vfabi_load(&p->m->state);

	/* Nobody is there, or the window is not. */
	return vfabi_lost(c->ep, p->rank, p->losses) ||
	       ((state & COMM_MASK) != COMM_ALIVE && (state & COMM_MASK) != COMM_ABORTED);
}

/* Leave out who is gone, or has left out others; do all agree? */
static bool agreed(struct vfab_comm *c, bool wait)
{
	bool same = true;
	uint32_t i, k;

	for (i = 0; i < c->size; i++) {
		const struct peer *p = &c->peer[i];

		if (i == c->index || !in(c->mine->left, i))
			continue;
		if (gone(c, p) || (!wait && !vfabi_load(&p->m->shrinking))) {
			drop(c, i);
			same = false;
			continue;
		}
		if (!vfabi_load(&p->m->shrinking)) {
			same = false;
			continue;
		}
		for (k = 0; k < c->size; k++) {
			if (in(p->m->left, k) == in(c->mine->left, k))
				continue;
			same = false;
			/* What it says is believed while it is there. */
			if (!in(p->m->left, k) && k != c->index && !gone(c, p))
				drop(c, k);
		}
	}
	return same;
}

static uint32_t survivors(const struct vfab_comm *c, uint32_t *ranks, uint64_t *tag)
{
	uint32_t i, n = 0;

	*tag = c->tag;
	for (i = 0; i < c->size; i++) {
		if (!in(c->mine->left, i))
			continue;
		ranks[n++] = c->peer[i].rank;
		*tag = comm_mix(*tag, i + 1);
	}
	*tag |= 1;
	return n;
}

static void begin(struct vfab_comm *c)
{
	uint32_t i;

	if (c->mine->shrinking)
		return;
	for (i = 0; i < c->size; i++)
		c->mine->left[i / 64] |= UINT64_C(1) << i % 64;
	__atomic_store_n(&c->mine->shrinking, 1, __ATOMIC_RELEASE);
}

/* Those who are late are waited for half of the time. */
static int agree(struct vfab_comm *c, uint64_t half, uint64_t deadline)
{
	const struct timespec nap = { .tv_nsec = 200000 };

	while (!agreed(c, vfabi_left(half))) {
		if (vfabi_ended(c->ep))
			return vfabi_fail_ended(c->ep);
		if (!vfabi_left(deadline))
			return vfabi_fail(ETIMEDOUT, "those who are left did not agree in time");
		nanosleep(&nap, NULL);
		vfabi_watch(c->ep);
	}
	return 0;
}

int vfab_comm_shrink(struct vfab_comm *c, int64_t timeout, struct vfab_comm **out)
{
	uint64_t deadline = vfabi_deadline(timeout), tag;
	uint64_t half = timeout < 0 ? deadline : vfabi_deadline(timeout / 2);
	uint32_t ranks[VFAB_MAX_WORLD], n;
	int ret;

	*out = NULL;
	if (!c->err)
		comm_fail(c, ECONNRESET, c->ep->info.rank);
	begin(c);
	for (;;) {
		ret = agree(c, half, deadline);
		if (ret)
			return ret;
		n = survivors(c, ranks, &tag);
		ret = vfab_comm_create(c->ep, ranks, n, tag, vfabi_left(deadline), out);
		if (ret != -ECONNRESET && ret != -EHOSTUNREACH)
			break;
		/* If nobody of them is gone, another try would not end otherwise. */
		if (agreed(c, true))
			break;
	}
	if (!ret)
		vfab_comm_set_timeout(*out, timeout);
	return ret;
}
