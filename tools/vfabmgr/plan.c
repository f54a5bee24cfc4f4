// SPDX-License-Identifier: GPL-2.0
/*
 * Which entries to write, and in which order.
 *
 * No pair that has a route in the old tables and in the new ones is without one
 * in between, although entries are written one by one: first each entry gets
 * what it has and what it shall have, then what it shall have alone. A request
 * may leave by any port of a set that leads on, and what leads on is the least
 * fixed point of the entries, which grows with them. So whatever the old tables
 * join stays joined while all entries hold the old ones, and whatever the new
 * ones join is joined from the moment when all hold the new ones, which is
 * before the first loses an old one.
 *
 * Ports whose link does not carry add nothing and are left out, so where links
 * went down, or came up, each entry is written once. Where old and new do not
 * fit into one set (64 port numbers), the new one is written in the second
 * round; a pair may be without a route meanwhile.
 */
#include "vfabmgr.h"

static struct entry working(const struct fabric *f, u32 router, struct entry e)
{
	u32 first = f->topo.first[vf_router_vertex(&f->topo, router)] + e.base;
	struct entry w = { e.base, 0 };
	u64 mask;

	for (mask = e.mask; mask; mask &= mask - 1)
		if (f->next[first + __ffs64(mask)] != VF_NONE)
			w.mask |= mask & -mask;
	if (w.mask) {
		w.base += __ffs64(w.mask);
		w.mask >>= __ffs64(w.mask);
	}
	return w;
}

/* Both in one; false where they do not fit */
static bool join(struct entry a, struct entry b, struct entry *both)
{
	struct entry low = a.base < b.base ? a : b, high = a.base < b.base ? b : a;
	u32 up = high.base - low.base;

	*both = a.mask ? a : b;
	if (!a.mask || !b.mask)
		return true;
	if (up >= 64 || (up && high.mask >> (64 - up)))
		return false;
	both->base = low.base;
	both->mask = low.mask | high.mask << up;
	return true;
}

/* The first round: *@e, which is wanted, with what there is; false: nothing new */
static bool grow(const struct fabric *f, u32 router, size_t i, struct entry *e)
{
	struct entry has = working(f, router, entry_has(f, i)), next;

	if (!e->mask || !join(has, *e, &next) || entry_same(next, has))
		return false;
	*e = next;
	return true;
}

/**
 * plan_run - make the tables that @f has those that are wanted
 * @f: changed as it goes: an entry that was written is one that it has
 * @write: sets one entry, at once or with those that follow; what it returns, if
 *	not 0, ends it all
 *
 * Destination by destination: the kernel compiles each one once for what it gets
 * in one request.
 */
int plan_run(struct fabric *f, plan_write write, void *data)
{
	const struct vf_topo *t = &f->topo;
	struct entry next;
	u32 round, r, dest;
	size_t i;
	int ret;

	for (round = 0; round < 2; round++)
		for (dest = 0; dest < t->world; dest++)
			for (r = 0; r < t->routers; r++) {
				i = entry_index(f, r, dest);
				next = entry_wanted(f, i);
				if (entry_same(entry_has(f, i), next) ||
				    (!round && !grow(f, r, i, &next)))
					continue;
				ret = write(data, r, dest, next);
				if (ret)
					return ret;
				f->mask[i] = next.mask;
				f->base[i] = next.base;
			}
	return 0;
}

/* How many entries differ. */
u32 plan_count(const struct fabric *f)
{
	size_t i, entries = (size_t)f->topo.routers * f->topo.world;
	u32 n = 0;

	for (i = 0; i < entries; i++)
		n += !entry_same(entry_has(f, i), entry_wanted(f, i));
	return n;
}
