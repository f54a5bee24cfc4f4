// SPDX-License-Identifier: GPL-2.0
/* The engines, what they share, and the first of them: all shortest ways. */
#include "vfabmgr.h"

/**
 * engine_set - an entry with these ports
 * @router: whose
 * @dest: for whom
 * @ports: their numbers, @n of them, in ascending order
 *
 * A set holds ports whose numbers lie within 64. Where they do not, they are
 * cut into such sets from the lowest on, and destinations take turns: each
 * port counts once, so that larger sets get more of them.
 */
void engine_set(struct fabric *f, u32 router, u32 dest, const u32 *ports, u32 n)
{
	size_t i = entry_index(f, router, dest);
	u32 k, start = 0, turn = n ? dest % n : 0;

	f->topo.mask[i] = 0;
	if (!n)
		return;
	if (ports[n - 1] - ports[0] >= 64)
		for (k = 1; k <= turn; k++)
			if (ports[k] - ports[start] >= 64)
				start = k;
	f->topo.base[i] = ports[start];
	for (k = start; k < n && ports[k] - ports[start] < 64; k++)
		f->topo.mask[i] |= 1ULL << (ports[k] - ports[start]);
}

/* Distances to @dest over links that carry, into f->dist. */
static void search(struct fabric *f, u32 dest)
{
	const struct vf_topo *t = &f->topo;
	u32 i, v, w, head = 0, tail = 0;

	for (v = 0; v < t->world + t->switches; v++)
		f->dist[v] = FAR;
	f->dist[dest] = 0;
	f->queue[tail++] = dest;
	while (head < tail) {
		v = f->queue[head++];
		for (i = f->trunks[v]; i < f->trunks[v + 1]; i++) {
			w = f->next[f->trunk[i]];
			if (f->dist[w] != FAR)
				continue;
			f->dist[w] = f->dist[v] + 1;
			f->queue[tail++] = w;
		}
	}
}

static int min_hop_route(struct fabric *f, const struct options *o)
{
	const struct vf_topo *t = &f->topo;
	u32 dest, r, v, i, n, ways, ports[VF_MAX_RADIX];

	(void)o;
	for (dest = 0; dest < t->world; dest++) {
		search(f, dest);
		for (r = 0; r < t->routers; r++) {
			v = vf_router_vertex(t, r);
			if (v == dest || f->dist[v] == FAR)
				continue;
			ways = fabric_ways(f, v, dest, ports);
			for (i = 0, n = 0; i < ways; i++)
				if (f->dist[f->next[t->first[v] + ports[i]]] + 1 == f->dist[v])
					ports[n++] = ports[i];
			engine_set(f, r, dest, ports, n);
		}
	}
	return 0;
}

const struct engine engines[] = {
	{ "min-hop", min_hop_route, NULL },
	{ "up-down", updown_route, NULL },
	{ "dor", dor_route, dor_channel },
	{ "file", file_route, NULL },
	{ NULL, NULL, NULL }
};

const struct engine *engine_find(const char *name)
{
	const struct engine *e;

	for (e = engines; e->name; e++)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

/*
 * Where no working link leads to a destination, no entry does harm or good. What
 * is there stays: it is right again at once when the links come back, and is
 * not written twice.
 */
static void keep_what_leads_nowhere(struct fabric *f)
{
	const struct vf_topo *t = &f->topo;
	u32 r, dest;
	size_t i;

	for (r = 0; r < t->routers; r++)
		for (dest = 0; dest < t->world; dest++) {
			i = entry_index(f, r, dest);
			if (t->mask[i] || !f->mask[i])
				continue;
			if (vf_router_vertex(t, r) != dest && fabric_leads(f, r, dest))
				continue;
			t->mask[i] = f->mask[i];
			t->base[i] = f->base[i];
		}
}

/**
 * engine_run - the tables that @f should have
 * @f: its links as they are, see fabric_links()
 * @e: how
 * @o: for it
 *
 * Return: 0 or a negative errno, with f->why; then those wanted are undefined.
 */
int engine_run(struct fabric *f, const struct engine *e, const struct options *o)
{
	int ret;

	memset(f->topo.mask, 0, (size_t)f->topo.routers * f->topo.world * sizeof(u64));
	ret = e->route(f, o);
	if (!ret && e->route != file_route)
		keep_what_leads_nowhere(f);
	return ret;
}
