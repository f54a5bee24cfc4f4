/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Checks of the model (topology.c, route.c) against a slow and obvious one that
 * searches for a way link by link. Who includes this, once, says before how to
 * tell what came out, and where random numbers are from:
 *
 *	void result(bool ok, const char *what);
 *	void note(const char *text);
 *	void bail_out(const char *why);		does not return
 *	u32 below(u32 n);			0 .. n - 1, and 0 for 0
 *
 * selftests/route_test.c does so on the host, kunit.c in a kernel,
 * selftests/route_fuzz.c for a fuzzer.
 */

/* --- Fabrics ------------------------------------------------------------------- */

#define LINKS	20000

static struct vfab_link_spec specs[LINKS];
static u32 nspecs;
static u16 next_port[VF_MAX_WORLD + VF_MAX_SWITCHES];

static u32 vertex_of(u16 node, u32 world)
{
	return node & VFAB_SPEC_SWITCH ? world + (node & ~VFAB_SPEC_SWITCH) : node;
}

static void join(u32 world, u16 a, u16 b)
{
	specs[nspecs++] = (struct vfab_link_spec){
		.node = { a, b },
		.port = { next_port[vertex_of(a, world)]++, next_port[vertex_of(b, world)]++ },
		.rate = 50000, .latency = 300,
	};
}

#define SW(i)	((u16)(VFAB_SPEC_SWITCH | (i)))

static void fresh(struct vf_topo_config *cfg, u32 world, u32 switches)
{
	nspecs = 0;
	memset(next_port, 0, sizeof(next_port));
	*cfg = (struct vf_topo_config){
		.world = world, .switches = switches, .links = specs,
		.switch_latency = 100,
	};
}

static void make(struct vf_topo *t, struct vf_topo_config *cfg)
{
	const char *why = "no memory";

	cfg->nlinks = nspecs;
	if (vf_topo_create(t, cfg, &why))
		bail_out(why);
}

static void crossbar(struct vf_topo *t, u32 world, u32 planes)
{
	struct vf_topo_config cfg = {
		.world = world, .planes = planes, .rate = 50000, .latency = 701,
	};

	make(t, &cfg);
}

/* @leaves per pod, each endpoint once on each; every leaf on every spine */
static void two_tier(struct vf_topo *t, u32 pods, u32 size, u32 leaves, u32 spines)
{
	struct vf_topo_config cfg;
	u32 p, l, i;

	fresh(&cfg, pods * size, pods * leaves + spines);
	for (i = 0; i < pods * size; i++)
		for (l = 0; l < leaves; l++)
			join(cfg.world, i, SW(i / size * leaves + l));
	for (p = 0; p < pods * leaves; p++)
		for (l = 0; l < spines; l++)
			join(cfg.world, SW(p), SW(pods * leaves + l));
	make(t, &cfg);
}

static void torus(struct vf_topo *t, u32 x, u32 y)
{
	struct vf_topo_config cfg;
	u32 i, j;

	fresh(&cfg, x * y, 0);
	cfg.forwards = true;
	for (j = 0; j < y; j++)
		for (i = 0; i < x; i++) {
			if (x > 1)
				join(cfg.world, j * x + i, j * x + (i + 1) % x);
			if (y > 1)
				join(cfg.world, j * x + i, (j + 1) % y * x + i);
		}
	make(t, &cfg);
}

static void mesh(struct vf_topo *t, u32 world)
{
	struct vf_topo_config cfg;
	u32 a, b;

	fresh(&cfg, world, 0);
	for (a = 0; a < world; a++)
		for (b = a + 1; b < world; b++)
			join(world, a, b);
	make(t, &cfg);
}

/* Anything: also switches that lead nowhere, parallel links, lonely endpoints */
static void tangle(struct vf_topo *t)
{
	struct vf_topo_config cfg;
	u32 i, n, world = 2 + below(20), switches = below(12);

	fresh(&cfg, world, switches);
	cfg.forwards = below(2);
	n = world * (1 + below(6));
	for (i = 0; i < n; i++) {
		u32 a = below(world + switches), b = below(world + switches);

		if (a == b || next_port[a] >= 60 || next_port[b] >= 60)
			continue;
		join(world, a < world ? a : SW(a - world), b < world ? b : SW(b - world));
	}
	make(t, &cfg);
}

/* --- The obvious model ----------------------------------------------------------- */

static bool carries(const struct vf_topo *t, u32 port)
{
	const struct vf_link *l;
	u32 i;

	if (t->port[port].link == VF_NONE)
		return false;
	l = &t->link[t->port[port].link];
	for (i = 0; i < 2; i++) {
		u32 v = t->port[l->end[i]].vertex;

		if (v >= t->world && !t->sw_up[v - t->world])
			return false;
	}
	return l->admin == VF_LINK_UP && !l->outage && !l->broken;
}

static bool in_set(const struct vf_topo *t, u32 port, u32 dst)
{
	u32 v = t->port[port].vertex, n = port - t->first[v];
	size_t e = (size_t)(v >= t->world ? v - t->world : t->switches + v) * t->world + dst;

	return n >= t->base[e] && n < t->base[e] + 64U && t->mask[e] >> (n - t->base[e]) & 1;
}

static bool seen[VF_MAX_WORLD + VF_MAX_SWITCHES];

/* Is there any way for a request that leaves by @port? */
static bool arrives(const struct vf_topo *t, u32 port, u32 dst)
{
	u32 v, p;

	if (!carries(t, port))
		return false;
	v = t->port[t->port[port].peer].vertex;
	if (v == dst)
		return true;
	if (seen[v] || (v < t->world && !t->forwards))
		return false;
	seen[v] = true;
	for (p = t->first[v]; p < t->first[v + 1]; p++)
		if (in_set(t, p, dst) && arrives(t, p, dst))
			return true;
	return false;
}

static u64 plain_ports(const struct vf_topo *t, u32 src, u32 dst)
{
	u64 live = 0;
	u32 p;

	for (p = t->first[src]; p < t->first[src + 1]; p++) {
		memset(seen, 0, sizeof(seen));
		if ((!t->forwards || in_set(t, p, dst)) && arrives(t, p, dst))
			live |= 1ULL << (p - t->first[src]);
	}
	return live;
}

static bool passed[VF_MAX_WORLD + VF_MAX_SWITCHES];

/* May a request that leaves by @port, and would arrive, be swallowed on its way? */
static bool swallowed(const struct vf_topo *t, u32 port, u32 dst)
{
	u32 v, p;

	memset(seen, 0, sizeof(seen));
	if (!arrives(t, port, dst))
		return false;
	if (t->link[t->port[port].link].hole)
		return true;
	v = t->port[t->port[port].peer].vertex;
	if (v == dst || passed[v])
		return false;
	passed[v] = true;
	for (p = t->first[v]; p < t->first[v + 1]; p++)
		if (in_set(t, p, dst) && swallowed(t, p, dst))
			return true;
	return false;
}

static bool plain_holed(const struct vf_topo *t, u32 src, u32 dst)
{
	u64 live = plain_ports(t, src, dst);
	u32 p;

	for (p = t->first[src]; p < t->first[src + 1]; p++) {
		memset(passed, 0, sizeof(passed));
		if (live >> (p - t->first[src]) & 1 && swallowed(t, p, dst))
			return true;
	}
	return false;
}

/* --- Tests ---------------------------------------------------------------------- */

/* What changed, as the module would find it: only those are compiled. */
static void storm_step(struct vf_topo *t, unsigned long *changed)
{
	unsigned long dests[VF_MAX_WORLD / BITS_PER_LONG] = { };
	u32 link = below(t->nlinks), sw = below(t->switches), dest = below(t->world);
	u32 router = below(t->routers), what = below(7);

	if ((what == 0 && !t->switches) || (what > 4 && !t->routers) || !t->nlinks)
		return;
	switch (what) {
	case 0:
		t->sw_up[sw] = below(3);
		vf_route_touch_switch(t, sw, dests);
		break;
	case 1:
		t->link[link].admin = below(2) ? VF_LINK_UP : below(3);
		vf_route_touch_link(t, link, dests);
		break;
	case 2:
		t->link[link].outage = !below(3);
		vf_route_touch_link(t, link, dests);
		break;
	case 3:
		t->link[link].broken = !below(3);
		vf_route_touch_link(t, link, dests);
		break;
	case 4:
		t->holes -= t->link[link].hole;
		t->link[link].hole = !below(3);
		t->holes += t->link[link].hole;
		vf_route_touch_link(t, link, dests);
		break;
	case 5:
		vf_topo_set_entry(t, router, dest, 0, 0);
		__set_bit(dest, dests);
		break;
	default:
		vf_topo_set_entry(t, router, dest,
				  below(vf_vertex_ports(t, vf_router_vertex(t, router))),
				  below(2) ? 1 : 5);
		__set_bit(dest, dests);
	}
	vf_route_compile(t, dests, changed);
	vf_route_holes(t, dests);
}

static bool pair_agrees(const struct vf_topo *t, u32 a, u32 b)
{
	u64 live = vf_route_ports(t, &t->now, a, b), back = vf_route_ports(t, &t->now, b, a);
	struct vf_path path = { };
	struct vf_route r;
	u32 k;

	if (live != plain_ports(t, a, b) || back != plain_ports(t, b, a))
		return false;
	vf_route_get(t, a, b, &r);
	if (r.paths != min(hweight64(live), hweight64(back)) || !r.paths != !r.rate)
		return false;
	if (vf_route_holed(t, a, b) != (plain_holed(t, a, b) || plain_holed(t, b, a)))
		return false;
	for (k = 0; k < vf_vertex_ports(t, a); k++) {
		vf_route_walk(t, a, k, b, &path);
		if ((path.verdict == VF_HOP_LIVE || path.verdict == VF_HOP_NO_RETURN) !=
		    (live >> k & 1))
			return false;
	}
	return true;
}

/* What a flow brings to each vertex, and takes from it. */
struct balance {
	const struct vf_topo *t;
	u64 in[VF_MAX_WORLD + VF_MAX_SWITCHES];
	u64 out[VF_MAX_WORLD + VF_MAX_SWITCHES];
	bool dead;		/* some left by a link that does not carry */
};

static void weigh(void *arg, u32 port, u64 amount)
{
	struct balance *b = arg;

	b->dead |= !amount || !vf_link_carries(b->t, b->t->port[port].link);
	b->out[b->t->port[port].vertex] += amount;
	b->in[b->t->port[b->t->port[port].peer].vertex] += amount;
}

/* All that leaves the source arrives, by links that carry, where there is a route. */
static bool flow_agrees(struct vf_topo *t, u32 src, u32 dst)
{
	u64 amount = (u64)below(~0U) << below(32);
	bool open = vf_route_open(t, &t->now, src, dst);
	static struct balance b;
	u32 v;

	memset(&b, 0, sizeof(b));
	b.t = t;
	if (vf_route_flow(t, src, dst, amount, weigh, &b) != open || b.dead)
		return false;
	if (!open)
		amount = 0;
	for (v = 0; v < t->world + t->switches; v++)
		if (b.in[v] + (v == src ? amount : 0) != b.out[v] + (v == dst ? amount : 0))
			return false;
	for (v = 0; v < t->routers; v++)
		if (t->flow.amount[0][v] || t->flow.amount[1][v])
			return false;
	return true;
}

/* Who is not in @changed has the routes that it had. */
static bool unchanged_agree(const struct vf_topo *t, const unsigned long *changed)
{
	u32 a, b;

	for (a = 0; a < t->world; a++)
		for (b = 0; b < t->world; b++)
			if (a != b && !test_bit(a, changed) && !test_bit(b, changed) &&
			    vf_route_ports(t, &t->now, a, b) != vf_route_ports(t, &t->was, a, b))
				return false;
	return true;
}

/* Each link of a choice comes up once, and no other. */
static bool choice_agrees(const struct vf_topo *t)
{
	struct vf_links w = { VF_NONE, VF_NONE, VF_NONE, 1 + below(t->world) };
	static u8 seen[VF_MAX_LINKS];
	u32 i, at = 0;

	if (below(2))
		w.rank = below(t->world - w.ranks + 1);
	if (t->switches && below(2))
		w.sw = below(t->switches);
	if (below(2))
		w.port = below(VF_MAX_PORTS);
	memset(seen, 0, t->nlinks);
	while ((i = vf_links_next(t, &w, &at)) != VF_NONE)
		seen[i]++;
	for (i = 0; i < t->nlinks; i++)
		if (seen[i] != vf_links_have(t, &w, i))
			return false;
	return true;
}

/* Change something, and compare some pairs. */
static bool storm_once(struct vf_topo *t)
{
	unsigned long changed[VF_MAX_WORLD / BITS_PER_LONG] = { };
	bool ok;
	int i;

	storm_step(t, changed);
	ok = choice_agrees(t) && (t->world > 64 || unchanged_agree(t, changed));
	vf_route_settle(t, changed);
	for (i = 0; ok && i < 20; i++) {
		u32 a = below(t->world), b = below(t->world);

		ok = a == b || (pair_agrees(t, a, b) && flow_agrees(t, a, b));
	}
	return ok;
}

static bool storm(struct vf_topo *t, int steps)
{
	bool ok = true;
	int i;

	for (i = 0; ok && i < steps; i++)
		ok = storm_once(t);
	vf_topo_destroy(t);
	return ok;
}

/* All pairs by default: so many paths, or with @paths 0 at least one. */
static void defaults(struct vf_topo *t, u32 paths, u32 rate, const char *what)
{
	struct vf_route r;
	bool ok = true;
	u32 a, b;

	for (a = 0; a < t->world; a += 1 + t->world / 64)
		for (b = 0; b < t->world; b += 1 + t->world / 64) {
			if (a == b)
				continue;
			vf_route_get(t, a, b, &r);
			if (!r.paths || (paths && r.paths != paths) || (rate && r.rate != rate))
				ok = false;
		}
	vf_topo_destroy(t);
	result(ok, what);
}

static enum vf_verdict verdict(const struct vf_topo *t, u32 src, u32 port, u32 dst)
{
	struct vf_path path = { };

	vf_route_walk(t, src, port, dst, &path);
	return path.verdict;
}

static void recompile(struct vf_topo *t)
{
	unsigned long all[VF_MAX_WORLD / BITS_PER_LONG] = { };

	memset(all, 0xff, t->world / 8);
	vf_route_compile(t, all, NULL);
}

static inline void verdicts(void)
{
	struct vf_topo t;
	struct vf_route r;

	crossbar(&t, 8, 2);
	t.link[1 * 2].admin = VF_LINK_DOWN;
	recompile(&t);
	result(verdict(&t, 1, 0, 2) == VF_HOP_SRC_DOWN, "verdict: source port down");
	result(verdict(&t, 2, 0, 1) == VF_HOP_DST_DOWN, "verdict: destination port down");
	t.link[1 * 2].admin = VF_LINK_UP;
	t.sw_up[0] = false;
	recompile(&t);
	result(verdict(&t, 1, 0, 2) == VF_HOP_SWITCH_DOWN, "verdict: switch down");
	t.sw_up[0] = true;
	vf_topo_set_entry(&t, 0, 2, 0, 0);
	recompile(&t);
	result(verdict(&t, 1, 0, 2) == VF_HOP_NO_ENTRY, "verdict: no entry");
	vf_route_get(&t, 2, 1, &r);
	result(r.paths == 1 && r.latency == 701, "paths count only as far as answers have some");
	vf_topo_set_entry(&t, 1, 2, 0, 0);
	recompile(&t);
	result(verdict(&t, 2, 0, 1) == VF_HOP_NO_RETURN, "verdict: no way back");
	vf_topo_set_entry(&t, 0, 2, 3, 1);
	recompile(&t);
	result(verdict(&t, 1, 0, 2) == VF_HOP_MISROUTED, "verdict: misrouted");
	result(vf_topo_set_entry(&t, 0, 2, 7, 3) == -EINVAL && t.base[2] == 3,
	       "a port that the switch lacks is refused and changes nothing");
	vf_topo_destroy(&t);

	two_tier(&t, 2, 4, 1, 1);
	t.link[8].admin = VF_LINK_DOWN;		/* first leaf to spine */
	recompile(&t);
	result(verdict(&t, 0, 0, 7) == VF_HOP_LINK_DOWN, "verdict: link between switches down");
	result(verdict(&t, 0, 0, 1) == VF_HOP_LIVE, "who needs no such link goes on");
	t.link[8].admin = VF_LINK_UP;
	vf_topo_set_entry(&t, 2, 7, 0, 1);	/* the spine sends it back */
	recompile(&t);
	result(verdict(&t, 0, 0, 7) == VF_HOP_LOOP, "verdict: loop");
	vf_topo_destroy(&t);
}

/* Two endpoints of six ports, as many switches in a row between them, one link slow */
static u32 chain_rate(u32 switches)
{
	struct vf_topo_config cfg;
	struct vf_route r;
	struct vf_topo t;
	u32 i;

	fresh(&cfg, 2, switches);
	for (i = 0; i < 6; i++)
		join(2, 0, SW(0));
	for (i = 1; i < switches; i++)
		join(2, SW(i - 1), SW(i));
	for (i = 0; i < 6; i++)
		join(2, SW(switches - 1), 1);
	make(&t, &cfg);
	vf_topo_degrade(&t, 5, 20000, 300, 0);
	vf_route_get(&t, 0, 1, &r);
	i = r.latency == (switches + 1) * 300 + switches * 100 ? r.rate : 0;
	vf_topo_destroy(&t);
	return i;
}

static inline void rates(void)
{
	struct vf_topo t;
	struct vf_route r;

	/* 4 up to the leaf, 2 from there: the pair gets what the narrow step has */
	two_tier(&t, 2, 4, 2, 3);
	vf_route_get(&t, 0, 7, &r);
	result(r.paths == 2 && r.rate == 100000 && r.latency == 4 * 300 + 3 * 100,
	       "rate and latency over two tiers");
	vf_topo_degrade(&t, 0, 20000, 1300, 0);
	vf_route_get(&t, 0, 7, &r);
	result(r.rate == 70000 && r.latency == 1500, "a slow link narrows its path only");
	vf_topo_degrade(&t, 1, 20000, 1300, 0);
	vf_route_get(&t, 7, 0, &r);
	result(r.rate == 40000 && r.latency == 2500 && t.degraded == 2, "also from the other end");
	vf_topo_degrade(&t, 1, 50000, 300, 0);
	vf_topo_degrade(&t, 0, 50000, 300, 0);
	result(!t.degraded, "as built again");
	vf_topo_destroy(&t);

	result(chain_rate(500) == 270000, "long paths are all followed");
	result(chain_rate(1020) == 300000,
	       "of too many hops, the last path is taken to be like the others");
}

/* What leaves by one port */
struct one_port {
	u32 port;
	u64 amount;
};

static void watch(void *arg, u32 port, u64 amount)
{
	struct one_port *w = arg;

	w->amount += port == w->port ? amount : 0;
}

static u64 flow_by(struct vf_topo *t, u32 src, u32 dst, u64 amount, u32 vertex, u32 number)
{
	struct one_port w = { .port = vf_topo_port(t, vertex, number) };

	vf_route_flow(t, src, dst, amount, watch, &w);
	return w.amount;
}

/* The arithmetic that pacing and counters stand on. */
static inline void flows(void)
{
	struct vf_route r;
	struct vf_topo t;
	u32 k;
	bool ok;

	crossbar(&t, 8, 18);
	for (k = 0, ok = true; k < 18; k++)
		ok &= flow_by(&t, 0, 1, 18000, 0, k) == 1000 &&
		      flow_by(&t, 0, 1, 18000, 8 + k, 1) == 1000;
	result(ok, "a flow spreads evenly over equal planes");
	/* 17 whole links and a half one */
	vf_topo_degrade(&t, 0, 25000, 350, 0);
	vf_route_get(&t, 0, 1, &r);
	ok = r.rate == 875000 && flow_by(&t, 0, 1, 875000, 0, 0) == 25000 &&
	     flow_by(&t, 0, 1, 875000, 8, 1) == 25000 && flow_by(&t, 1, 0, 875000, 1, 0) == 25000;
	for (k = 1; k < 18; k++)
		ok &= flow_by(&t, 0, 1, 875000, 0, k) == 50000;
	ok &= flow_by(&t, 2, 3, 18000, 2, 0) == 1000;
	result(ok, "a link at half rate carries half of what the others do, of its own pairs");
	t.link[1].outage = true;
	recompile(&t);
	ok = !flow_by(&t, 0, 1, 825000, 0, 1) && flow_by(&t, 0, 1, 825000, 0, 2) == 50000 &&
	     flow_by(&t, 0, 1, 7, 0, 17) + flow_by(&t, 0, 1, 7, 0, 16) <= 7;
	result(ok, "the planes that are left carry it all");
	vf_topo_destroy(&t);

	/* Two pods, a leaf each, four spines, of which one at half rate */
	two_tier(&t, 2, 2, 1, 4);
	vf_topo_degrade(&t, 4, 25000, 300, 0);
	ok = flow_by(&t, 0, 2, 7000, 0, 0) == 7000 && flow_by(&t, 0, 2, 7000, 4, 2) == 1000 &&
	     flow_by(&t, 0, 2, 7000, 4, 3) == 2000 && flow_by(&t, 0, 2, 7000, 6, 1) == 1000 &&
	     flow_by(&t, 0, 2, 7000, 5, 0) == 7000 && !flow_by(&t, 0, 1, 7000, 4, 2);
	result(ok, "a leaf spreads over its spines as their links can take");
	vf_topo_destroy(&t);
}

/* Endpoints with the same neighbours, each with a table: not even one to itself */
static inline void tables_of_their_own(void)
{
	struct vf_topo_config cfg;
	u32 i, a, b, open = 0;
	struct vf_topo t;

	fresh(&cfg, 4, 2);
	cfg.forwards = true;
	for (i = 0; i < 8; i++)
		join(4, i / 2, SW(i % 2));
	make(&t, &cfg);
	for (a = 0; a < 4; a++)
		for (b = 0; b < 4; b++)
			open += a != b && vf_route_open(&t, &t.now, a, b) &&
				vf_route_ports(&t, &t.now, a, b) == plain_ports(&t, a, b);
	result(open == 12, "endpoints with tables of their own, behind the same switches");
	vf_topo_destroy(&t);
}

static void refused(const char *what, u32 world, u32 switches, struct vfab_link_spec a,
		    struct vfab_link_spec b)
{
	struct vfab_link_spec two[] = { a, b };
	struct vf_topo_config cfg = {
		.world = world, .switches = switches, .links = two, .nlinks = 2,
	};
	const char *why = NULL;
	struct vf_topo t;
	int ret = vf_topo_create(&t, &cfg, &why);

	note(why ? why : "no sentence");
	result(ret == -EINVAL && why && !t.link, what);
	vf_topo_destroy(&t);
}

static inline void refusals(void)
{
	const struct vfab_link_spec good = { { 0, SW(0) }, { 0, 0 }, 2, 0, 10, 10 };
	struct vfab_link_spec bad = { { 1, SW(0) }, { 0, 1 }, 2, 0, 10, 10 };

#define REFUSED(what, change) do {				\
		struct vfab_link_spec b = bad;			\
								\
		b.change;					\
		refused("refused: " what, 2, 1, good, b);	\
	} while (0)
	REFUSED("no such rank", node[0] = 2);
	REFUSED("no such switch", node[1] = SW(1));
	REFUSED("a port twice", port[1] = 0);
	REFUSED("a port beyond an endpoint's", port[0] = 64);
	REFUSED("a port beyond a switch's", port[1] = 4096);
	REFUSED("a link to itself", node[0] = SW(0));
	REFUSED("rate 0", rate = 0);
	REFUSED("rate too high", rate = VF_MAX_RATE + 1);
	REFUSED("latency too high", latency = VF_MAX_LATENCY + 1);
	REFUSED("padding", pad = 1);
}

static inline void all_defaults(void)
{
	struct vf_topo t;

	crossbar(&t, 1, 1);
	defaults(&t, 1, 0, "one endpoint");
	crossbar(&t, 72, 18);
	defaults(&t, 18, 900000, "72 endpoints over 18 planes");
	crossbar(&t, 1024, 64);
	defaults(&t, 64, 0, "1024 endpoints over 64 planes");
	two_tier(&t, 16, 16, 6, 12);
	defaults(&t, 6, 300000, "256 endpoints on two tiers");
	torus(&t, 32, 32);
	defaults(&t, 0, 0, "a torus of 32 x 32");
	mesh(&t, 8);
	defaults(&t, 1, 50000, "a mesh of 8");
}

static void any_fabric(struct vf_topo *t, u32 kind)
{
	switch (kind % 5) {
	case 0:
		crossbar(t, 2 + below(100), 1 + below(64));
		break;
	case 1:
		two_tier(t, 2 + below(4), 1 + below(6), 1 + below(3), 1 + below(4));
		break;
	case 2:
		torus(t, 1 + below(6), 2 + below(6));
		break;
	case 3:
		mesh(t, 2 + below(10));
		break;
	default:
		tangle(t);
	}
	t->hole.port_up = kvcalloc(t->world, sizeof(u64), GFP_KERNEL_ACCOUNT);
	t->hole.toward = kvcalloc((size_t)t->groups * t->world, sizeof(u64),
				  GFP_KERNEL_ACCOUNT);
	if (!t->hole.port_up || !t->hole.toward)
		bail_out("no memory");
}

/* Return: how many ended well; @n: all */
static inline u32 storms(u32 n, int steps)
{
	struct vf_topo t;
	u32 i;

	for (i = 0; i < n; i++) {
		any_fabric(&t, i);
		if (!storm(&t, steps))
			break;
	}
	return i;
}
