// SPDX-License-Identifier: GPL-2.0
/*
 * Up, then down: routers are put in an order, a link leads up to the one of its
 * ends that comes first, and no request that has come down goes up again. What
 * waits for what then follows the order, so nothing can block in a circle.
 *
 * A table does not know where a request came from. So a router from which a
 * destination is reached by going down always goes down; only the others go up,
 * and by going up never reach one that has to turn twice.
 */
#include "vfabmgr.h"

struct order {
	u32 *key;		/* per vertex: a lower one is further up */
	u32 *sorted;		/* routers' vertices, from the top */
	u32 *up;		/* per vertex: links to the destination, see climb() */
};

/* An endpoint that forwards nothing is at the bottom. */
static u32 make_key(const struct vf_topo *t, u32 v, u32 level)
{
	return vf_topo_is_router(t, v) ? level * (VF_MAX_WORLD + VF_MAX_SWITCHES) +
	       vf_topo_router(t, v) : VF_NONE;
}

/*
 * Distances from what is at 0 in f->dist, over links that work or, so that an
 * order outlives a cut, over all. What is not reached is FAR.
 */
static void spread(struct fabric *f, u32 tail, bool working)
{
	const struct vf_topo *t = &f->topo;
	u32 head = 0, v, w, p;

	while (head < tail) {
		v = f->queue[head++];
		for (p = t->first[v]; p < t->first[v + 1]; p++) {
			w = working ? f->next[p] : t->port[p].peer == VF_NONE ? VF_NONE :
			    t->port[t->port[p].peer].vertex;
			if (w == VF_NONE || f->dist[w] != FAR || !vf_topo_is_router(t, w))
				continue;
			f->dist[w] = f->dist[v] + 1;
			f->queue[tail++] = w;
		}
	}
}

static void forget(struct fabric *f)
{
	u32 v;

	for (v = 0; v < f->topo.world + f->topo.switches; v++)
		f->dist[v] = FAR;
}

/* By tiers: the further from endpoints, the further up. */
static void order_by_tier(struct fabric *f, struct order *o)
{
	const struct vf_topo *t = &f->topo;
	u32 v, n = 0;

	forget(f);
	for (v = 0; v < t->world; v++) {
		f->dist[v] = 0;
		f->queue[n++] = v;
	}
	spread(f, n, false);
	for (v = 0; v < t->world + t->switches; v++)
		o->key[v] = make_key(t, v, f->dist[v] == FAR ? 0 : VF_MAX_SWITCHES - f->dist[v]);
}

/* The router with most links to others, the first of several. */
static u32 busiest(const struct fabric *f, bool working)
{
	const struct vf_topo *t = &f->topo;
	u32 r, v, p, w, links, most = 0, best = VF_NONE;

	for (r = 0; r < t->routers; r++) {
		v = vf_router_vertex(t, r);
		if (f->dist[v] != FAR)
			continue;
		links = 1;
		for (p = t->first[v]; p < t->first[v + 1]; p++) {
			w = working ? f->next[p] : t->port[p].peer == VF_NONE ? VF_NONE :
			    t->port[t->port[p].peer].vertex;
			links += w != VF_NONE && vf_topo_is_router(t, w);
		}
		if (links > most) {
			most = links;
			best = v;
		}
	}
	return best;
}

/*
 * By distance from roots: the first @n of those given, or one that is chosen in
 * each part of the fabric that has none. With one root in each, and over
 * working links, all that is joined is reached: up to the root and down.
 */
static void order_by_root(struct fabric *f, struct order *o, const struct options *opt,
			  u32 n, bool working)
{
	const struct vf_topo *t = &f->topo;
	u32 i, v, given = 0;

	forget(f);
	for (i = 0; i < n; i++) {
		v = vf_router_vertex(t, opt->roots[i]);
		if (f->dist[v] == FAR)
			f->queue[given++] = v;
		f->dist[v] = 0;
	}
	spread(f, given, working);
	while ((v = busiest(f, working)) != VF_NONE) {
		f->dist[v] = 0;
		f->queue[0] = v;
		spread(f, 1, working);
	}
	for (v = 0; v < t->world + t->switches; v++)
		o->key[v] = make_key(t, v, f->dist[v]);
}

static const u32 *sort_keys;

static int by_key(const void *a, const void *b)
{
	u32 x = sort_keys[*(const u32 *)a], y = sort_keys[*(const u32 *)b];

	return x < y ? -1 : x > y;
}

/* f->dist: links to @dest, going down only */
static void descend(struct fabric *f, const struct order *o, u32 dest)
{
	u32 i, v, w, head = 0, tail = 0;

	forget(f);
	f->dist[dest] = 0;
	f->queue[tail++] = dest;
	while (head < tail) {
		v = f->queue[head++];
		for (i = f->trunks[v]; i < f->trunks[v + 1]; i++) {
			w = f->next[f->trunk[i]];
			if (f->dist[w] != FAR || o->key[w] >= o->key[v])
				continue;
			f->dist[w] = f->dist[v] + 1;
			f->queue[tail++] = w;
		}
	}
}

/* o->up: links to where it can go down, and from there; from the top on */
static void climb(struct fabric *f, struct order *o)
{
	const struct vf_topo *t = &f->topo;
	u32 i, k, v, w;

	for (i = 0; i < t->routers; i++) {
		v = o->sorted[i];
		o->up[v] = f->dist[v];
		if (f->dist[v] != FAR)
			continue;
		for (k = f->trunks[v]; k < f->trunks[v + 1]; k++) {
			w = f->next[f->trunk[k]];
			if (o->key[w] < o->key[v])
				o->up[v] = min(o->up[v], o->up[w] + 1);
		}
	}
}

static void set_entry(struct fabric *f, const struct order *o, u32 v, u32 dest)
{
	const struct vf_topo *t = &f->topo;
	bool down = f->dist[v] != FAR, on;
	u32 i, w, ways, n = 0, ports[VF_MAX_RADIX];

	if (v == dest || o->up[v] >= FAR)
		return;
	ways = fabric_ways(f, v, dest, ports);
	for (i = 0; i < ways; i++) {
		w = f->next[t->first[v] + ports[i]];
		if (down)
			on = o->key[w] > o->key[v] && f->dist[w] + 1 == f->dist[v];
		else
			on = o->key[w] < o->key[v] && o->up[w] + 1 == o->up[v];
		if (on)
			ports[n++] = ports[i];
	}
	engine_set(f, vf_topo_router(t, v), dest, ports, n);
}

/* Return: how many pairs this order loses. */
static u32 try_order(struct fabric *f, struct order *o)
{
	struct vf_topo *t = &f->topo;
	u32 i, dest;

	for (i = 0; i < t->routers; i++)
		o->sorted[i] = vf_router_vertex(t, i);
	sort_keys = o->key;
	qsort(o->sorted, t->routers, sizeof(*o->sorted), by_key);
	memset(t->mask, 0, (size_t)t->routers * t->world * sizeof(*t->mask));
	for (dest = 0; dest < t->world; dest++) {
		descend(f, o, dest);
		climb(f, o);
		for (i = 0; i < t->routers; i++)
			set_entry(f, o, o->sorted[i], dest);
	}
	return fabric_pairs(f).lost;
}

/* The first order that loses nobody; the last of them does not. */
static void choose_order(struct fabric *f, struct order *o, const struct options *opt)
{
	if (opt->nroots) {
		order_by_root(f, o, opt, opt->nroots, false);
		if (!try_order(f, o))
			return;
	} else if (!f->topo.forwards) {
		order_by_tier(f, o);
		if (!try_order(f, o))
			return;
	}
	order_by_root(f, o, opt, min(opt->nroots, 1U), false);
	if (!try_order(f, o))
		return;
	order_by_root(f, o, opt, min(opt->nroots, 1U), true);
	try_order(f, o);
}

int updown_route(struct fabric *f, const struct options *o)
{
	u32 i, n = f->topo.world + f->topo.switches;
	struct order order;

	for (i = 0; i < o->nroots; i++)
		if (o->roots[i] >= f->topo.routers)
			return fabric_fail(f, -EINVAL,
					   "root %u: there are %u %s: name some of those",
					   o->roots[i], f->topo.routers,
					   f->topo.switches ? "switches" : "endpoints with tables");
	order = (struct order){
		calloc(n, sizeof(u32)), calloc(n, sizeof(u32)), calloc(n, sizeof(u32)),
	};
	if (order.key && order.sorted && order.up)
		choose_order(f, &order, o);
	else
		i = VF_NONE;
	free(order.key);
	free(order.sorted);
	free(order.up);
	return i == VF_NONE ? fabric_fail(f, -ENOMEM, "out of memory") : 0;
}
