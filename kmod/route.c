// SPDX-License-Identifier: GPL-2.0
/* Routing tables by default, what they amount to, and the way of a request. */
#include "topology.h"

static size_t vf_entry(const struct vf_topo *t, u32 router, u32 dest)
{
	return (size_t)router * t->world + dest;
}

/* Is @port, one of the router's, in its set for @dest? */
static bool vf_entry_has(const struct vf_topo *t, u32 router, u32 dest, u32 port)
{
	size_t i = vf_entry(t, router, dest);
	u32 number = port - t->first[vf_router_vertex(t, router)];

	return number >= t->base[i] && number - t->base[i] < 64 &&
	       t->mask[i] >> (number - t->base[i]) & 1;
}

/*
 * A set holds ports whose numbers differ by less than 64: what does not fit is
 * left out.
 */
void vf_topo_add_egress(struct vf_topo *t, u32 router, u32 dest, u32 number)
{
	size_t i = vf_entry(t, router, dest);
	u32 up;

	if (!t->mask[i])
		t->base[i] = number;
	if (number < t->base[i]) {
		up = t->base[i] - number;
		if (up >= 64 || t->mask[i] >> (64 - up))
			return;
		t->mask[i] <<= up;
		t->base[i] = number;
	}
	if (number - t->base[i] < 64)
		t->mask[i] |= 1ULL << (number - t->base[i]);
}

/* A search outwards from an endpoint */
struct vf_reach {
	u32 *queue;		/* vertices */
	u16 *dist;		/* per vertex, 0xffff: not reached */
};

static int vf_reach_init(const struct vf_topo *t, struct vf_reach *r)
{
	u32 vertices = t->world + t->switches;

	r->queue = kvcalloc(vertices, sizeof(u32), GFP_KERNEL_ACCOUNT);
	r->dist = kvcalloc(vertices, sizeof(u16), GFP_KERNEL_ACCOUNT);
	return r->queue && r->dist ? 0 : -ENOMEM;
}

static void vf_reach_free(struct vf_reach *r)
{
	kvfree(r->queue);
	kvfree(r->dist);
}

/* From @dest outwards: every router sends by all its shortest ways. */
static void vf_min_hop(struct vf_topo *t, struct vf_reach *r, u32 dest)
{
	u32 head = 0, tail = 0, i, v, w, q;

	memset(r->dist, 0xff, (t->world + t->switches) * sizeof(u16));
	r->dist[dest] = 0;
	r->queue[tail++] = dest;
	while (head < tail) {
		v = r->queue[head++];
		for (i = t->way_first[v]; i < t->way_first[v + 1]; i++) {
			q = t->port[t->way[i]].peer;
			w = t->port[q].vertex;
			if (r->dist[w] == 0xffff) {
				r->dist[w] = r->dist[v] + 1;
				r->queue[tail++] = w;
			}
			if (r->dist[w] == r->dist[v] + 1)
				vf_topo_add_egress(t, vf_topo_router(t, w), dest,
						   q - t->first[w]);
		}
	}
}

/**
 * vf_route_defaults - tables with all shortest ways, links up or not
 * @t: the topology; its tables are replaced
 *
 * An endpoint that has no table (it forwards nothing) and a direct link to
 * another needs no entry for it. Return: 0 or -ENOMEM.
 */
int vf_route_defaults(struct vf_topo *t)
{
	struct vf_reach r = { };
	u32 dest;
	int ret;

	ret = vf_reach_init(t, &r);
	if (!ret) {
		memset(t->mask, 0, (size_t)t->routers * t->world * sizeof(u64));
		for (dest = 0; dest < t->world; dest++) {
			vf_min_hop(t, &r, dest);
			cond_resched();
		}
	}
	vf_reach_free(&r);
	return ret;
}

/* The destinations that may be concerned when a link changes. */
void vf_route_touch_link(const struct vf_topo *t, u32 link, unsigned long *dests)
{
	u32 i, v, d;

	for (i = 0; i < 2; i++) {
		u32 port = t->link[link].end[i];

		v = t->port[port].vertex;
		if (v < t->world)
			__set_bit(v, dests);
		if (!vf_topo_is_router(t, v))
			continue;
		for (d = 0; d < t->world; d++)
			if (vf_entry_has(t, vf_topo_router(t, v), d, port))
				__set_bit(d, dests);
	}
}

/* The same for all links of a switch. */
void vf_route_touch_switch(const struct vf_topo *t, u32 sw, unsigned long *dests)
{
	u32 d, p, v = t->world + sw;

	for (d = 0; d < t->world; d++)
		if (t->mask[vf_entry(t, sw, d)])
			__set_bit(d, dests);
	for (p = t->first[v]; p < t->first[v + 1]; p++)
		if (t->port[p].peer != VF_NONE &&
		    t->port[t->port[p].peer].vertex < t->world)
			__set_bit(t->port[t->port[p].peer].vertex, dests);
}

static bool vf_is_good(const u64 *good, u32 router)
{
	return good[router / 64] >> router % 64 & 1;
}

/* Does a request for @dest get on by way of @port, as far as @good is known? */
static bool vf_leads_on(const struct vf_topo *t, const u64 *good, u32 port, u32 dest)
{
	u32 w;

	if (t->port[port].link == VF_NONE)
		return false;
	w = t->port[t->port[port].peer].vertex;
	return w == dest ||
	       (vf_topo_is_router(t, w) && vf_is_good(good, vf_topo_router(t, w)));
}

/* The bit of its entry by which a router gets on, or -1. */
static int vf_router_gets_on(const struct vf_topo *t, const u64 *good, u32 router,
			     u32 dest)
{
	size_t i = vf_entry(t, router, dest);
	u32 first = t->first[vf_router_vertex(t, router)] + t->base[i];
	u64 mask;

	for (mask = t->mask[i]; mask; mask &= mask - 1) {
		u32 port = first + __ffs64(mask);

		if (vf_leads_on(t, good, port, dest) &&
		    vf_link_carries(t, t->port[port].link))
			return __ffs64(mask);
	}
	return -1;
}

/*
 * The routers from which @dest is reached: the smallest set that holds each
 * router with a way to @dest or into the set, so loops lead nowhere; via is into
 * the set as it was, so following it does not loop. From @dest outwards, so that
 * each port is looked at once, whatever tables and numbers are.
 */
static void vf_compile_good(struct vf_topo *t, u32 dest, u64 *good)
{
	u32 *queue = t->flow.list[0], head = 0, tail = 0, v = dest, i, q, r;

	memset(good, 0, t->words * sizeof(u64));
	for (;;) {
		for (i = t->way_first[v]; i < t->way_first[v + 1]; i++) {
			q = t->port[t->way[i]].peer;
			r = vf_topo_router(t, t->port[q].vertex);
			if (vf_is_good(good, r) || !vf_entry_has(t, r, dest, q) ||
			    !vf_link_carries(t, t->port[q].link))
				continue;
			/* By this one, or by a port before it */
			t->via[vf_entry(t, r, dest)] = vf_router_gets_on(t, good, r, dest);
			good[r / 64] |= 1ULL << r % 64;
			queue[tail++] = r;
		}
		if (head == tail)
			return;
		v = vf_router_vertex(t, queue[head++]);
	}
}

static u64 vf_compile_toward(const struct vf_topo *t, const u64 *good, u32 rank,
			     u32 dest)
{
	u32 p, first = t->first[rank];
	u64 toward = 0;

	for (p = first; p < t->first[rank + 1]; p++)
		if (vf_leads_on(t, good, p, dest) &&
		    (!t->forwards || vf_entry_has(t, vf_topo_router(t, rank), dest, p)))
			toward |= 1ULL << (p - first);
	return toward;
}

static u64 vf_compile_ports(const struct vf_topo *t, u32 rank)
{
	u32 p, first = t->first[rank];
	u64 up = 0;

	for (p = first; p < t->first[rank + 1]; p++)
		if (t->port[p].link != VF_NONE && vf_link_carries(t, t->port[p].link))
			up |= 1ULL << (p - first);
	return up;
}

/**
 * vf_route_compile - make routes what tables and links say
 * @t: the topology, changed
 * @dests: the destinations that may be concerned
 * @changed: NULL, or gets the ranks that some route to or from has changed of
 *	since vf_route_settle()
 */
void vf_route_compile(struct vf_topo *t, const unsigned long *dests,
		      unsigned long *changed)
{
	u64 up, toward, *good;
	u32 d, g;

	for (d = 0; d < t->world; d++) {
		if (!test_bit(d, dests))
			continue;
		up = vf_compile_ports(t, d);
		if (changed && up != t->was.port_up[d])
			__set_bit(d, changed);
		WRITE_ONCE(t->now.port_up[d], up);

		good = t->good + (size_t)d * t->words;
		vf_compile_good(t, d, good);
		for (g = 0; g < t->groups; g++) {
			u32 word = g * t->world + d;

			toward = vf_compile_toward(t, good, t->sample[g], d);
			if (changed && toward != t->was.toward[word])
				__set_bit(d, changed);
			WRITE_ONCE(t->now.toward[word], toward);
		}
		cond_resched();
	}
}

/* May what a router has for @dest be swallowed, as far as @lost is known? */
static bool vf_router_loses(const struct vf_topo *t, const u64 *good, const u64 *lost,
			    u32 router, u32 dest)
{
	size_t i = vf_entry(t, router, dest);
	u32 first = t->first[vf_router_vertex(t, router)] + t->base[i];
	u64 mask;

	for (mask = t->mask[i]; mask; mask &= mask - 1) {
		u32 port = first + __ffs64(mask), w;

		if (!vf_leads_on(t, good, port, dest) ||
		    !vf_link_carries(t, t->port[port].link))
			continue;
		w = t->port[t->port[port].peer].vertex;
		if (t->link[t->port[port].link].hole ||
		    (w != dest && vf_is_good(lost, vf_topo_router(t, w))))
			return true;
	}
	return false;
}

/* The routers that may send what is for @dest into a hole, sooner or later. */
static void vf_compile_lost(const struct vf_topo *t, u32 dest, const u64 *good, u64 *lost)
{
	u32 i, r, turn = 0;
	bool more = true;

	memset(lost, 0, t->words * sizeof(u64));
	for (; more; turn++) {
		more = false;
		for (i = 0; i < t->routers; i++) {
			r = turn & 1 ? t->routers - 1 - i : i;
			if (!vf_is_good(good, r) || vf_is_good(lost, r) ||
			    !vf_router_loses(t, good, lost, r, dest))
				continue;
			lost[r / 64] |= 1ULL << r % 64;
			more = true;
		}
	}
}

static u64 vf_hole_toward(const struct vf_topo *t, const u64 *lost, u32 rank, u32 dest)
{
	u32 p, first = t->first[rank];
	u64 toward = 0;

	for (p = first; p < t->first[rank + 1]; p++) {
		u32 w = t->port[p].peer == VF_NONE ? dest : t->port[t->port[p].peer].vertex;

		if (w != dest && vf_topo_is_router(t, w) && vf_is_good(lost, vf_topo_router(t, w)))
			toward |= 1ULL << (p - first);
	}
	return toward;
}

/**
 * vf_route_holes - make t->hole what links and tables say
 * @t: compiled; there is room in t->hole
 * @dests: the destinations that may be concerned: those whose links or entries
 *	changed, or of whose links one began or ceased to swallow
 */
void vf_route_holes(struct vf_topo *t, const unsigned long *dests)
{
	u64 lost[(VF_MAX_WORLD + VF_MAX_SWITCHES) / 64], up;
	u32 d, g, p;

	for (d = 0; d < t->world; d++) {
		if (!test_bit(d, dests))
			continue;
		for (up = 0, p = t->first[d]; p < t->first[d + 1]; p++)
			if (t->port[p].link != VF_NONE && t->link[t->port[p].link].hole)
				up |= 1ULL << (p - t->first[d]);
		WRITE_ONCE(t->hole.port_up[d], up);
		vf_compile_lost(t, d, t->good + (size_t)d * t->words, lost);
		for (g = 0; g < t->groups; g++)
			WRITE_ONCE(t->hole.toward[(size_t)g * t->world + d],
				   vf_hole_toward(t, lost, t->sample[g], d));
		cond_resched();
	}
}

/* What was is forgotten for these. */
void vf_route_settle(struct vf_topo *t, const unsigned long *ranks)
{
	u32 d, g;

	for (d = 0; d < t->world; d++) {
		if (!test_bit(d, ranks))
			continue;
		t->was.port_up[d] = t->now.port_up[d];
		for (g = 0; g < t->groups; g++)
			t->was.toward[g * t->world + d] = t->now.toward[g * t->world + d];
	}
}

/* Add the rate and the latency of a step to a path. */
static void vf_path_add(struct vf_path *path, u32 rate, u32 latency)
{
	path->rate = min(path->rate, rate);
	path->latency += latency;
}

static void vf_path_hop(struct vf_path *path, u32 vertex, u32 in, u32 out, u32 ways)
{
	if (path->hop)
		path->hop[path->hops] = (struct vf_hop){ vertex, in, out, ways };
	path->hops++;
}

/*
 * The port by which @router sends what is for @dest: one that leads there, else
 * the first there is. *@rate is that of all that lead on.
 */
static u32 vf_choose(const struct vf_topo *t, u32 router, u32 dest, u32 *ways, u32 *rate)
{
	const u64 *good = t->good + (size_t)dest * t->words;
	size_t i = vf_entry(t, router, dest);
	u32 first = t->first[vf_router_vertex(t, router)] + t->base[i];
	u64 mask;

	*ways = 0;
	*rate = 0;
	for (mask = t->mask[i]; mask; mask &= mask - 1) {
		u32 p = first + __ffs64(mask);

		if (!vf_leads_on(t, good, p, dest) ||
		    !vf_link_carries(t, t->port[p].link))
			continue;
		++*ways;
		*rate = min((u64)*rate + t->link[t->port[p].link].rate_now, (u64)(u32)~0U);
	}
	return first + (*ways ? t->via[i] : __ffs64(t->mask[i]));
}

static bool vf_vertex_down(const struct vf_topo *t, u32 v)
{
	return v >= t->world && !t->sw_up[v - t->world];
}

static enum vf_verdict vf_walk_from(const struct vf_topo *t, u32 port, u32 dst,
				    struct vf_path *path)
{
	bool first = true;
	u32 in, v, r, ways, rate;

	for (;; first = false) {
		struct vf_link *l;

		if (t->port[port].link == VF_NONE)
			return VF_HOP_MISROUTED;
		l = &t->link[t->port[port].link];
		in = t->port[port].peer;
		v = t->port[in].vertex;
		if (!vf_link_carries(t, t->port[port].link)) {
			if (l->admin == VF_LINK_UP && !l->outage && !l->broken &&
			    vf_vertex_down(t, v))
				return VF_HOP_SWITCH_DOWN;
			return first ? VF_HOP_SRC_DOWN :
			       v == dst ? VF_HOP_DST_DOWN : VF_HOP_LINK_DOWN;
		}
		vf_path_add(path, first ? l->rate_now : path->rate, l->latency_now);
		if (v == dst) {
			vf_path_hop(path, v, in, VF_NONE, 0);
			return VF_HOP_LIVE;
		}
		if (!vf_topo_is_router(t, v)) {
			vf_path_hop(path, v, in, VF_NONE, 0);
			return VF_HOP_MISROUTED;
		}
		r = vf_topo_router(t, v);
		if (!t->mask[vf_entry(t, r, dst)]) {
			vf_path_hop(path, v, in, VF_NONE, 0);
			return VF_HOP_NO_ENTRY;
		}
		port = vf_choose(t, r, dst, &ways, &rate);
		vf_path_hop(path, v, in, port, ways);
		vf_path_add(path, ways ? rate : 0, t->switch_latency);
		/* Where there is a way it arrives, but more hops cannot be kept */
		if (path->hops >= (path->hop || !ways ? VF_MAX_HOPS :
				   t->world + t->switches))
			return VF_HOP_LOOP;
	}
}

/**
 * vf_route_walk - the way of a request, one port of its source after another
 * @t: the topology
 * @src: where it starts
 * @port: by which of its ports, a number
 * @dst: where it should arrive
 * @path: its hop is kept; the rest is filled in
 *
 * The verdict is VF_HOP_LIVE exactly for the ports of vf_route_ports(), if
 * there is a way back, and its hops are not kept or no more than VF_MAX_HOPS.
 */
void vf_route_walk(const struct vf_topo *t, u32 src, u32 port, u32 dst,
		   struct vf_path *path)
{
	u32 p = vf_topo_port(t, src, port);

	path->hops = 0;
	path->rate = VF_NONE;
	path->latency = 0;
	path->verdict = VF_HOP_NO_ENTRY;
	vf_path_hop(path, src, VF_NONE, p, 1);
	if (p != VF_NONE &&
	    (!t->forwards || vf_entry_has(t, vf_topo_router(t, src), dst, p)))
		path->verdict = vf_walk_from(t, p, dst, path);
	if (path->verdict == VF_HOP_LIVE && !vf_route_ports(t, &t->now, dst, src))
		path->verdict = VF_HOP_NO_RETURN;
	if (path->verdict != VF_HOP_LIVE)
		path->rate = 0;
}

/* Paths from one endpoint to another: as many as there are for answers. */
u32 vf_route_paths(const struct vf_topo *t, u32 src, u32 dst)
{
	u32 there = hweight64(vf_route_ports(t, &t->now, src, dst));
	u32 back = hweight64(vf_route_ports(t, &t->now, dst, src));

	return min(there, back);
}

/*
 * One more of the paths from @src to @dst, unless @hops are enough: then @path stays that of
 * the one before. One may have as many hops as there are routers, and there may be 64, for
 * each of 1024 peers, all of it under domain->lock and as another node's tables want it.
 */
static void vf_path_next(const struct vf_topo *t, u32 src, u32 port, u32 dst,
			 struct vf_path *path, u32 *hops)
{
	if (*hops >= VF_MAX_WALK)
		return;
	vf_route_walk(t, src, port, dst, path);
	*hops += path->hops;
}

/**
 * vf_route_get - the route between two endpoints
 * @t: the topology
 * @src: a rank
 * @dst: another rank
 * @r: how they are joined, from @src's side; r->paths is the same from both
 *
 * The rate is that of all paths, the latency that of the fastest. When those that were
 * followed have VF_MAX_WALK hops, the others are taken to be like the last of them.
 */
void vf_route_get(const struct vf_topo *t, u32 src, u32 dst, struct vf_route *r)
{
	u64 there = vf_route_ports(t, &t->now, src, dst);
	u64 back = vf_route_ports(t, &t->now, dst, src);
	struct vf_path path = { };
	u64 rate = 0, most = 0;
	u32 n, hops = 0;

	r->paths = vf_route_paths(t, src, dst);
	r->rate = 0;
	r->latency = 0;
	if (!r->paths)
		return;
	if (t->alike && !t->degraded) {
		r->rate = min((u64)r->paths * t->link[0].rate, (u64)(u32)~0U);
		r->latency = 2 * t->link[0].latency + t->switch_latency;
		return;
	}
	r->latency = VF_NONE;
	for (n = 0; n < r->paths; n++, there &= there - 1) {
		vf_path_next(t, src, __ffs64(there), dst, &path, &hops);
		rate += path.rate;
		r->latency = min(r->latency, path.latency);
	}
	/* Each was followed one way; whichever they take, they end here */
	for (; back; back &= back - 1)
		most += t->link[t->port[t->first[dst] + __ffs64(back)].link].rate_now;
	r->rate = min(min(rate, most), (u64)(u32)~0U);
}

/* What falls to @weight of @total, where @before of it has been given out. */
static u64 vf_share(u64 amount, u64 before, u32 weight, u64 total)
{
	return mul_u64_u64_div_u64(amount, before + weight, total) -
	       mul_u64_u64_div_u64(amount, before, total);
}

/* One step of a flow: where it goes, and who is told. */
struct vf_flow_step {
	struct vf_topo *t;
	u32 dst;
	u32 n;			/* routers at the next step */
	u64 *amount;
	u32 *list;
	vf_flow_t visit;
	void *arg;
};

static void vf_flow_leave(struct vf_flow_step *s, u32 port, u64 amount)
{
	const struct vf_topo *t = s->t;
	u32 r, v = t->port[t->port[port].peer].vertex;

	if (!amount)
		return;
	s->visit(s->arg, port, amount);
	if (v == s->dst)
		return;
	r = vf_topo_router(t, v);
	if (!s->amount[r])
		s->list[s->n++] = r;
	s->amount[r] += amount;
}

/* From the source, by the ports that make up the route's rate. */
static bool vf_flow_start(struct vf_flow_step *s, u32 src, u64 amount)
{
	struct vf_topo *t = s->t;
	u64 there = vf_route_ports(t, &t->now, src, s->dst);
	u32 i, paths = vf_route_paths(t, src, s->dst);
	bool same = t->alike && !t->degraded;
	u8 port[VF_MAX_PORTS];
	u32 rate[VF_MAX_PORTS];
	struct vf_path path = { };
	u64 total = 0, before = 0;
	u32 hops = 0;

	for (i = 0; i < paths; i++, there &= there - 1) {
		port[i] = __ffs64(there);
		rate[i] = 1;
		if (!same) {
			vf_path_next(t, src, port[i], s->dst, &path, &hops);
			rate[i] = path.rate;
		}
		total += rate[i];
	}
	if (!total)
		return false;
	for (i = 0; i < paths; i++) {
		vf_flow_leave(s, t->first[src] + port[i],
			      vf_share(amount, before, rate[i], total));
		before += rate[i];
	}
	return true;
}

/* Does a router send what is for @dst by @port? */
static bool vf_flow_way(const struct vf_topo *t, u32 port, u32 dst)
{
	return vf_leads_on(t, t->good + (size_t)dst * t->words, port, dst) &&
	       vf_link_carries(t, t->port[port].link);
}

/* By all ports of a router that lead on, or by the one that surely arrives. */
static void vf_flow_router(struct vf_flow_step *s, u32 router, u64 amount, bool spread)
{
	const struct vf_topo *t = s->t;
	size_t i = vf_entry(t, router, s->dst);
	u32 p, first = t->first[vf_router_vertex(t, router)] + t->base[i];
	u64 mask, before = 0, total = 0;

	if (!spread) {
		vf_flow_leave(s, first + t->via[i], amount);
		return;
	}
	for (mask = t->mask[i]; mask; mask &= mask - 1) {
		p = first + __ffs64(mask);
		if (vf_flow_way(t, p, s->dst))
			total += t->link[t->port[p].link].rate_now;
	}
	for (mask = t->mask[i]; mask; mask &= mask - 1) {
		p = first + __ffs64(mask);
		if (!vf_flow_way(t, p, s->dst))
			continue;
		vf_flow_leave(s, p, vf_share(amount, before,
					     t->link[t->port[p].link].rate_now, total));
		before += t->link[t->port[p].link].rate_now;
	}
}

/**
 * vf_route_flow - how what an endpoint sends to another spreads over links
 * @t: the topology; its @flow is used, so one at a time
 * @src: a rank
 * @dst: another rank
 * @amount: what is sent, of whatever; below 2^63
 * @visit: told of each port by which some of it leaves; a port may come up
 *	more than once
 * @arg: for @visit
 *
 * Over the paths of vf_route_get() in proportion to their rates, and at each
 * router over all ways that lead on, in proportion to theirs. Nothing is lost to
 * rounding: what leaves @src arrives at @dst. Tables that lead in circles cannot
 * keep it: after VF_MAX_HOPS steps it takes the one way that arrives, which a
 * router passes once.
 *
 * Return: false where there is no route, and @visit was not called.
 */
bool vf_route_flow(struct vf_topo *t, u32 src, u32 dst, u64 amount, vf_flow_t visit,
		   void *arg)
{
	struct vf_flow_step s = {
		.t = t, .dst = dst, .visit = visit, .arg = arg,
		.amount = t->flow.amount[0], .list = t->flow.list[0],
	};
	u32 step, i, n;
	bool found;

	found = vf_flow_start(&s, src, amount);
	for (step = 1; s.n; step++) {
		u64 *here = s.amount;
		u32 *list = s.list;

		n = s.n;
		s.n = 0;
		s.amount = t->flow.amount[step & 1];
		s.list = t->flow.list[step & 1];
		for (i = 0; i < n; i++) {
			u64 has = here[list[i]];

			here[list[i]] = 0;
			vf_flow_router(&s, list[i], has, step < VF_MAX_HOPS);
		}
	}
	return found;
}
