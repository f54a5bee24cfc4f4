// SPDX-License-Identifier: GPL-2.0
/*
 * Could the tables block? A request holds the buffer at the far end of the link
 * by which it came until there is one at the end of the link by which it leaves.
 * Where links (on one virtual channel) wait for one another in a circle, a
 * fabric with finite buffers can stop for good. If there is no circle, it cannot
 * (Dally and Seitz 1987): for tables, that is exact up to traffic patterns.
 *
 * Only what traffic can use counts: from the ports by which endpoints send, by
 * entries that lead on. Links to endpoints that forward nothing wait for nobody.
 * Answers are taken to travel in buffers of their own, as they do in real
 * fabrics: they keep to the same tables, so what holds for requests holds for
 * them.
 */
#include "vfabmgr.h"

/**
 * struct loop - the graph: who waits for whom
 * @vcs: virtual channels
 * @slot: per port, which of its vertex's ports to routers it is
 * @ports: @first per vertex: its ports to routers
 * @row: per port to a router, where its row in @bits starts: one bit for each
 *	channel at the far end, and @vcs rows
 * @out: per router, the channels by which what is for the destination leaves,
 *	from @at on
 * @used: per router: does anything for the destination come there?
 * @ends: per router: by how many ports endpoints send to it
 */
struct loop {
	const struct fabric *f;
	u32 vcs;
	u32 *slot, *ports, *first;
	size_t *row;
	u64 *bits;
	u64 *out;
	size_t *at;
	u32 *used, *ends;
	u32 *stack, *from;
	u8 *color;
};

static u32 words(const struct loop *l, u32 v)
{
	return ((l->first[v + 1] - l->first[v]) * l->vcs + 63) / 64;
}

static void loop_free(struct loop *l)
{
	free(l->slot);
	free(l->ports);
	free(l->first);
	free(l->row);
	free(l->bits);
	free(l->out);
	free(l->at);
	free(l->used);
	free(l->ends);
	free(l->stack);
	free(l->from);
	free(l->color);
}

/* Count an endpoint's ports that lead to routers, or with -1 no longer. */
static void count_ends(struct loop *l, u32 rank, int by)
{
	const struct fabric *f = l->f;
	u32 i;

	for (i = f->trunks[rank]; i < f->trunks[rank + 1]; i++)
		l->ends[f->next[f->trunk[i]]] += by;
}

static int loop_init(struct loop *l, const struct fabric *f, u32 vcs)
{
	const struct vf_topo *t = &f->topo;
	u32 v, p, n = 0, vertices = t->world + t->switches;
	size_t bits = 0, out = 0;

	*l = (struct loop){ .f = f, .vcs = vcs };
	l->slot = calloc(t->nports + 1, sizeof(u32));
	l->ports = calloc(t->nports + 1, sizeof(u32));
	l->first = calloc(vertices + 1, sizeof(u32));
	l->row = calloc(t->nports + 1, sizeof(size_t));
	l->at = calloc(vertices, sizeof(size_t));
	l->used = calloc(vertices, sizeof(u32));
	l->ends = calloc(vertices, sizeof(u32));
	l->stack = calloc((size_t)t->nports * vcs + vertices + 1, sizeof(u32));
	l->from = calloc((size_t)t->nports * vcs + 1, sizeof(u32));
	l->color = calloc((size_t)t->nports * vcs + 1, 1);
	if (!l->slot || !l->ports || !l->first || !l->row || !l->at || !l->used ||
	    !l->ends || !l->stack || !l->from || !l->color)
		return -ENOMEM;
	for (v = 0; v < t->world; v++)
		count_ends(l, v, 1);
	for (v = 0; v < vertices; v++) {
		for (p = t->first[v]; p < t->first[v + 1] && vf_topo_is_router(t, v); p++) {
			if (f->next[p] == VF_NONE || !vf_topo_is_router(t, f->next[p]))
				continue;
			l->slot[p] = n - l->first[v];
			l->ports[n++] = p;
		}
		l->first[v + 1] = n;
		l->at[v] = out;
		out += words(l, v);
	}
	for (v = 0; v < n; v++) {
		l->row[l->ports[v]] = bits;
		bits += (size_t)words(l, f->next[l->ports[v]]) * vcs;
	}
	l->out = calloc(out + 1, sizeof(u64));
	l->bits = calloc(bits + 1, sizeof(u64));
	return l->out && l->bits ? 0 : -ENOMEM;
}

static bool leads_on(const struct vf_topo *t, u32 w, u32 dest)
{
	return w == dest ||
	       (vf_topo_is_router(t, w) &&
		t->good[(size_t)dest * t->words + vf_topo_router(t, w) / 64] >>
		vf_topo_router(t, w) % 64 & 1);
}

static u32 channel(const struct loop *l, const struct engine *e, u32 dest, u32 port)
{
	return l->vcs > 1 && e->channel ? e->channel(l->f, dest, port) : 0;
}

static u32 use(struct loop *l, u32 v, u32 dest, u32 n)
{
	if (v == dest || l->used[v] == dest + 1)
		return n;
	l->used[v] = dest + 1;
	l->stack[n] = v;
	return n + 1;
}

/* Where endpoints send to, in l->stack. Return: how many */
static u32 sources(struct loop *l, u32 dest)
{
	const struct vf_topo *t = &l->f->topo;
	u32 r, v, n = 0;

	count_ends(l, dest, -1);
	for (r = 0; r < t->routers; r++) {
		v = vf_router_vertex(t, r);
		if (t->forwards ? v < t->world : l->ends[v] && leads_on(t, v, dest))
			n = use(l, v, dest, n);
	}
	count_ends(l, dest, 1);
	return n;
}

/* All that is for @dest: who holds what and waits for what */
static void add_waits(struct loop *l, const struct engine *e, u32 dest)
{
	const struct vf_topo *t = &l->f->topo;
	u32 i, k, v, w, p, c, n = sources(l, dest);
	u64 mask, *out, *row;
	size_t entry;

	for (i = 0; i < n; i++) {
		v = l->stack[i];
		entry = entry_index(l->f, vf_topo_router(t, v), dest);
		out = l->out + l->at[v];
		memset(out, 0, words(l, v) * sizeof(u64));
		for (mask = t->mask[entry]; mask; mask &= mask - 1) {
			p = t->first[v] + t->base[entry] + __ffs64(mask);
			w = l->f->next[p];
			if (w == VF_NONE || !vf_topo_is_router(t, w) || !leads_on(t, w, dest))
				continue;
			c = l->slot[p] * l->vcs + channel(l, e, dest, p);
			out[c / 64] |= 1ULL << c % 64;
			n = use(l, w, dest, n);
		}
	}
	for (i = 0; i < n; i++) {
		v = l->stack[i];
		out = l->out + l->at[v];
		for (k = 0; k < words(l, v); k++)
			for (mask = out[k]; mask; mask &= mask - 1) {
				c = k * 64 + __ffs64(mask);
				p = l->ports[l->first[v] + c / l->vcs];
				w = l->f->next[p];
				if (w == dest)
					continue;
				row = l->bits + l->row[p] + c % l->vcs * words(l, w);
				for (c = 0; c < words(l, w); c++)
					row[c] |= l->out[l->at[w] + c];
			}
	}
}

/*
 * Channels are numbered port * vcs + virtual channel. What @c waits for, from
 * the @from-th channel at its far end on; VF_NONE: nothing more. *@at: which.
 */
static u32 waits_for(const struct loop *l, u32 c, u32 from, u32 *at)
{
	u32 w = l->f->next[c / l->vcs], n = (l->first[w + 1] - l->first[w]) * l->vcs;
	const u64 *row = l->bits + l->row[c / l->vcs] + c % l->vcs * words(l, w);
	u64 mask;

	for (; from < n; from = (from / 64 + 1) * 64) {
		mask = row[from / 64] >> from % 64;
		if (!mask)
			continue;
		*at = from + __ffs64(mask);
		return l->ports[l->first[w] + *at / l->vcs] * l->vcs + *at % l->vcs;
	}
	return VF_NONE;
}

enum { NEW, OPEN, DONE };

/* A channel that is on a circle, or VF_NONE. Depth first, from @c on. */
static u32 search(struct loop *l, u32 c)
{
	u32 depth = 0, next, at;

	/* l->from: the next to look at, of those on the stack */
	l->stack[depth++] = c;
	l->from[c] = 0;
	l->color[c] = OPEN;
	while (depth) {
		c = l->stack[depth - 1];
		next = waits_for(l, c, l->from[c], &at);
		if (next == VF_NONE) {
			l->color[c] = DONE;
			depth--;
			continue;
		}
		l->from[c] = at + 1;
		if (l->color[next] == OPEN)
			return next;
		if (l->color[next] == DONE)
			continue;
		l->color[next] = OPEN;
		l->from[next] = 0;
		l->stack[depth++] = next;
	}
	return VF_NONE;
}

/* The shortest way from @start back to it is in l->from, backwards. */
static void shortest(struct loop *l, u32 start)
{
	const struct vf_topo *t = &l->f->topo;
	u32 head = 0, tail = 0, c, next, at;

	memset(l->from, 0xff, (size_t)t->nports * l->vcs * sizeof(u32));
	l->stack[tail++] = start;
	while (head < tail && l->from[start] == VF_NONE) {
		c = l->stack[head++];
		for (next = waits_for(l, c, 0, &at); next != VF_NONE;
		     next = waits_for(l, c, at + 1, &at)) {
			if (l->from[next] != VF_NONE)
				continue;
			l->from[next] = c;
			if (next != start)
				l->stack[tail++] = next;
		}
	}
}

static void tell(struct loop *l, struct fabric *f, u32 start)
{
	u32 n = 0, k, c, links = 0;
	char name[32];

	shortest(l, start);
	c = start;
	do {
		l->stack[links++] = c;
		c = l->from[c];
	} while (c != start);
	n = snprintf(f->why, sizeof(f->why), "%u links wait for one another:", links);
	for (k = links; k-- && n + 48 < sizeof(f->why);) {
		fabric_port_name(f, l->stack[k] / l->vcs, name);
		n += snprintf(f->why + n, sizeof(f->why) - n, " %s", name);
		if (l->vcs > 1)
			n += snprintf(f->why + n, sizeof(f->why) - n, ".vc%u",
				      l->stack[k] % l->vcs);
	}
	if (k != VF_NONE)
		snprintf(f->why + n, sizeof(f->why) - n, " ...");
}

/**
 * loop_check - could the tables that are wanted block?
 * @f: compiled, see fabric_pairs()
 * @e: the engine that made them, which knows of virtual channels
 * @vcs: how many of those each link has, 1 or 2
 *
 * Return: 0; -EDEADLK, and f->why names the links that wait for one another, by
 * the ports they lead out of; or -ENOMEM.
 */
int loop_check(struct fabric *f, const struct engine *e, u32 vcs)
{
	const struct vf_topo *t = &f->topo;
	u32 i, c = VF_NONE, dest;
	struct loop l;
	int ret;

	if (!e->channel)
		vcs = 1;
	ret = loop_init(&l, f, vcs);
	if (ret) {
		loop_free(&l);
		return fabric_fail(f, ret, "out of memory");
	}
	/* Where no link joins two that pass something on, nobody waits */
	for (dest = 0; l.first[t->world + t->switches] && dest < t->world; dest++)
		add_waits(&l, e, dest);
	for (i = 0; i < l.first[t->world + t->switches] * vcs && c == VF_NONE; i++)
		if (l.color[l.ports[i / vcs] * vcs + i % vcs] == NEW)
			c = search(&l, l.ports[i / vcs] * vcs + i % vcs);
	if (c != VF_NONE)
		tell(&l, f, c);
	loop_free(&l);
	return c == VF_NONE ? 0 : -EDEADLK;
}
