// SPDX-License-Identifier: GPL-2.0
/* Whoever is joined is reached, by shortest ways, spread over all of them. */
#include "test.h"

#define RATE "rate_mb_per_s_per_direction: 1000"

static const char fat[] =
	"generator: fat-tree\nparameters: {world: 32, ports: 2, switch_ports: 8, " RATE "}\n";
static const char crossbar[] =
	"generator: crossbar\nparameters: {world: 1024, ports: 18, switches: 18, " RATE "}\n";

static char *rate[] = { "rate_mb_per_s_per_direction=1000", NULL };

/* Every pair that is joined has a route: as the kernel's model sees it */
static void all_reach(const char *what, const char *spec, char **sets, const char *engine)
{
	struct pairs whole, torn = { };
	struct fabric f;
	bool ok = true;
	u32 i;

	make(&f, spec, sets);
	ok = route(&f, engine, NULL);
	whole = fabric_pairs(&f);
	for (i = 0; ok && i < 3; i++) {
		cut(&f, f.topo.nlinks / 20 + 1);
		ok = route(&f, engine, NULL) && !fabric_pairs(&f).lost;
		torn = fabric_pairs(&f);
	}
	result(ok && !whole.lost && whole.joined == f.topo.world * (f.topo.world - 1) / 2 &&
	       torn.joined, "%s: %s: all that is joined is reached, whole and torn", engine, what);
	fabric_free(&f);
}

/* The kernel's own tables at creation are those of min-hop: nothing to write */
static void as_created(const char *spec, char **sets)
{
	struct fabric f;

	make(&f, spec, sets);
	result(route(&f, "min-hop", NULL) && !plan_count(&f),
	       "min-hop: %.12s...: the tables at creation need no change", spec);
	fabric_free(&f);
}

static void at_random(const char *engine)
{
	struct fabric f;
	u32 i, k, lost = 0;

	for (i = 0; i < 300; i++) {
		make_random(&f);
		for (k = 0; k < 3; k++) {
			if (!route(&f, engine, NULL))
				lost++;
			lost += plain_lost(&f) + fabric_pairs(&f).lost;
			cut(&f, f.topo.nlinks ? 1 + below(f.topo.nlinks / 4 + 1) : 0);
		}
		fabric_free(&f);
	}
	result(!lost, "%s: 300 random graphs, cut twice: a route where there is a way", engine);
}

/* Is it joined exactly where a search says so? */
static void islands(void)
{
	struct fabric f;
	u32 i, a, b, wrong = 0;

	for (i = 0; i < 300; i++) {
		make_random(&f);
		cut(&f, f.topo.nlinks ? below(f.topo.nlinks) : 0);
		for (a = 0; a < f.topo.world; a++)
			for (b = 0; b < f.topo.world; b++)
				wrong += a != b &&
					 fabric_joined(&f, a, b) != plain_joined(&f, a, b);
		fabric_free(&f);
	}
	result(!wrong, "joined is what a search finds, in 300 random graphs");
}

/* 100 spines of which a leaf's ports do not fit into one set */
static void wide(void)
{
	static const char text[] =
		"generator: two-tier\n"
		"parameters: {world: 200, ports: 1, pods: 2, leaves_per_pod: 1,\n"
		"  spines: 100, planes: 1, " RATE "}\n";
	u32 use[VF_MAX_RADIX] = { }, dest, i, low = VF_NONE, high = 0;
	const struct vf_topo *t;
	struct fabric f;
	u64 mask;
	size_t e;

	make(&f, text, NULL);
	t = &f.topo;
	route(&f, "min-hop", NULL);
	for (dest = 100; dest < 200; dest++) {
		e = entry_index(&f, 0, dest);
		for (mask = t->mask[e]; mask; mask &= mask - 1)
			use[t->base[e] + __ffs64(mask)]++;
	}
	for (i = 0; i < vf_vertex_ports(t, t->world); i++)
		if (t->port[t->first[t->world] + i].peer != VF_NONE &&
		    t->port[t->port[t->first[t->world] + i].peer].vertex >= t->world) {
			low = min(low, use[i]);
			high = max(high, use[i]);
		}
	result(low && !fabric_pairs(&f).lost && high <= 100,
	       "min-hop: ports that do not fit into a set take turns: each is used for %u to %u of 100 destinations",
	       low, high);
	fabric_free(&f);
}

/* A leaf's way up to another pod, by all spines that work */
static void spread_over_spines(const char *engine)
{
	struct fabric f;
	size_t e;
	u32 was, is, leaf, spine, p, k;

	make(&f, "gh200-nvl256", NULL);
	route(&f, engine, NULL);
	leaf = f.topo.port[f.topo.port[f.topo.first[0]].peer].vertex;
	e = entry_index(&f, vf_topo_router(&f.topo, leaf), 255);
	was = hweight64(f.topo.mask[e]);
	p = f.topo.first[leaf] + f.topo.base[e];
	spine = f.topo.port[f.topo.port[p].peer].vertex;
	for (k = 0; k < f.topo.nlinks; k++)
		if (f.topo.port[f.topo.link[k].end[0]].vertex == leaf &&
		    f.topo.port[f.topo.link[k].end[1]].vertex == spine)
			f.topo.link[k].outage = true;
	for (k = 0; k < f.topo.nlinks; k++)
		if (f.topo.port[f.topo.link[k].end[1]].vertex == leaf &&
		    f.topo.port[f.topo.link[k].end[0]].vertex == spine)
			f.topo.link[k].outage = true;
	fabric_links(&f);
	route(&f, engine, NULL);
	is = hweight64(f.topo.mask[e]);
	result(was > 1 && is < was && is && !fabric_pairs(&f).lost,
	       "%s: gh200-nvl256: a leaf sends by %u ports, by %u without one spine", engine,
	       was, is);
	fabric_free(&f);
}

/* Dimension order takes the shortest way, and x before y before z */
static void dor_steps(void)
{
	struct fabric f;
	const struct vf_topo *t = &f.topo;
	u32 src, dst, v, hops, want, wrong = 0, axis, last, i, d;

	make(&f, "torus:4x3x5", rate);
	route(&f, "dor", NULL);
	result(f.ndims == 3 && f.dims[0] == 4 && f.dims[1] == 3 && f.dims[2] == 5,
	       "dor: the dimensions of a torus are found");
	for (src = 0; src < 60; src++)
		for (dst = 0; dst < 60; dst++) {
			u32 a[3] = { src % 4, src / 4 % 3, src / 12 };
			u32 b[3] = { dst % 4, dst / 4 % 3, dst / 12 };

			for (want = 0, i = 0; i < 3; i++) {
				d = (b[i] + f.dims[i] - a[i]) % f.dims[i];
				want += min(d, f.dims[i] - d);
			}
			for (v = src, hops = 0, last = 0; v != dst && hops < 99; hops++) {
				size_t e = entry_index(&f, vf_topo_router(t, v), dst);
				u32 p = t->base[e] + __ffs64(t->mask[e]);

				axis = p / 2;
				wrong += axis < last;
				last = axis;
				v = f.next[t->first[v] + p];
			}
			wrong += hops != want;
		}
	result(!wrong, "dor: shortest ways, axis by axis");
	fabric_free(&f);
}

static void dor_refusals(void)
{
	struct options o = { .vcs = 2, .dims = { 5, 3 }, .ndims = 2 };
	struct fabric f;

	make_mesh(&f, 3, 5);
	result(engine_run(&f, engine_find("dor"), &o) == -EINVAL,
	       "dor: wrong --dims are refused: %s", f.why);
	o.dims[0] = 3;
	o.dims[1] = 5;
	result(!engine_run(&f, engine_find("dor"), &o), "dor: a mesh with right --dims");
	fabric_free(&f);
	make(&f, "mi300x-8", NULL);
	result(engine_run(&f, engine_find("dor"), &(struct options){ .vcs = 2 }) == -EINVAL,
	       "dor: no torus is refused: %s", f.why);
	fabric_free(&f);
}

/* One cut in a ring: the other way round; not joined by it any more: says so */
static void dor_cuts(void)
{
	struct fabric f;
	u32 ok;

	make(&f, "torus:8x8", rate);
	f.topo.link[link_between(&f, 0, 1)].outage = true;
	f.topo.link[link_between(&f, 9, 17)].outage = true;
	fabric_links(&f);
	ok = route(&f, "dor", NULL) && !fabric_pairs(&f).lost &&
	     !loop_check(&f, engine_find("dor"), 2);
	result(ok, "dor: a ring with a cut is gone round the other way, still without a loop");
	f.topo.link[link_between(&f, 3, 4)].outage = true;
	fabric_links(&f);
	ok = route(&f, "dor", NULL) && fabric_pairs(&f).lost == plain_lost(&f) &&
	     fabric_pairs(&f).lost;
	result(ok, "dor: a ring with two cuts loses pairs, and they are counted");
	fabric_free(&f);
}

static void roots(void)
{
	struct options o = { .vcs = 1, .roots = { 3 }, .nroots = 1 };
	struct fabric f;
	bool ok;

	make(&f, fat, NULL);
	ok = route(&f, "up-down", &o) && !fabric_pairs(&f).lost &&
	     !loop_check(&f, engine_find("up-down"), 1);
	result(ok, "up-down: a root of one's own");
	o.roots[0] = f.topo.routers;
	result(engine_run(&f, engine_find("up-down"), &o) == -EINVAL,
	       "up-down: no such root: %s", f.why);
	fabric_free(&f);
}

void test_engines(void)
{
	static const char *const both[] = { "min-hop", "up-down" };
	u32 i;

	islands();
	for (i = 0; i < 2; i++) {
		all_reach("72 endpoints over 18 planes", "gb200-nvl72", NULL, both[i]);
		all_reach("1024 endpoints over 18 planes", crossbar, NULL, both[i]);
		all_reach("two tiers, gh200-nvl256", "gh200-nvl256", NULL, both[i]);
		all_reach("a fat tree", fat, NULL, both[i]);
		all_reach("a mesh of 8", "mi300x-8", NULL, both[i]);
		all_reach("a torus of 4 x 4 x 4", "torus:4x4x4", rate, both[i]);
		at_random(both[i]);
		spread_over_spines(both[i]);
	}
	as_created("gb200-nvl72", NULL);
	as_created("gh200-nvl256", NULL);
	as_created("torus:4x4x4", rate);
	as_created(fat, NULL);
	wide();
	roots();
	dor_steps();
	dor_cuts();
	dor_refusals();
}
