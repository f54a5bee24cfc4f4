// SPDX-License-Identifier: GPL-2.0
/* What is written: what differs, once where it can be, and nobody is lost meanwhile. */
#include "test.h"

static char *rate[] = { "rate_mb_per_s_per_direction=1000", NULL };

/**
 * struct kernel - what the kernel would have, entry by entry
 * @must: pairs that may not be lost at any time
 */
struct kernel {
	struct fabric *f;
	struct vf_topo topo;
	u64 *must;
	u32 writes, lost, odd, stop;
};

static bool *pair(struct kernel *k, u32 a, u32 b)
{
	return (bool *)k->must + a * k->f->topo.world + b;
}

static int write_one(void *data, u32 router, u32 dest, struct entry e)
{
	unsigned long dests[VF_MAX_WORLD / BITS_PER_LONG] = { };
	struct kernel *k = data;
	u32 a, world = k->f->topo.world;

	if (k->stop && k->writes == k->stop)
		return 1;
	k->writes++;
	k->odd += e.mask && !(e.mask & 1);
	if (vf_topo_set_entry(&k->topo, router, dest, e.base, e.mask))
		k->odd++;
	__set_bit(dest, dests);
	vf_route_compile(&k->topo, dests, NULL);
	for (a = 0; a < world; a++)
		if (a != dest && *pair(k, a, dest) &&
		    !vf_route_open(&k->topo, &k->topo.now, a, dest))
			k->lost++;
	return 0;
}

/* @k: the kernel, whose tables are those that f has */
static void begin(struct kernel *k, struct fabric *f)
{
	unsigned long all[VF_MAX_WORLD / BITS_PER_LONG];
	struct vf_topo wanted = f->topo;
	u32 a, b;

	memset(all, 0xff, sizeof(all));
	*k = (struct kernel){ .f = f };
	k->must = calloc((size_t)wanted.world * wanted.world, sizeof(u64));
	/* Compile both tables in the same arrays, one after the other */
	fabric_pairs(f);
	for (a = 0; a < wanted.world; a++)
		for (b = 0; b < wanted.world; b++)
			*pair(k, a, b) = a != b && vf_route_open(&f->topo, &f->topo.now, a, b);
	k->topo = f->topo;
	k->topo.mask = calloc((size_t)wanted.routers * wanted.world + 1, sizeof(u64));
	k->topo.base = calloc((size_t)wanted.routers * wanted.world + 1, sizeof(u16));
	memcpy(k->topo.mask, f->mask, (size_t)wanted.routers * wanted.world * sizeof(u64));
	memcpy(k->topo.base, f->base, (size_t)wanted.routers * wanted.world * sizeof(u16));
	vf_route_compile(&k->topo, all, NULL);
	for (a = 0; a < wanted.world; a++)
		for (b = 0; b < wanted.world; b++)
			*pair(k, a, b) &= a != b && vf_route_open(&k->topo, &k->topo.now, a, b);
}

static void end(struct kernel *k)
{
	free(k->topo.mask);
	free(k->topo.base);
	free(k->must);
}

static void hitless(const char *spec, char **sets, const char *from, const char *to)
{
	struct fabric f;
	struct kernel k;
	u32 differ;

	make(&f, spec, sets);
	route(&f, from, NULL);
	fabric_take_wanted(&f);
	cut(&f, 2);
	route(&f, to, NULL);
	differ = plan_count(&f);
	begin(&k, &f);
	plan_run(&f, write_one, &k);
	result(!k.lost && !k.odd && !plan_count(&f) && k.writes <= 2 * differ,
	       "%s, %s to %s: %u entries differ, %u writes, no pair lost meanwhile", spec, from, to,
	       differ, k.writes);
	end(&k);
	fabric_free(&f);
}

static void at_random(void)
{
	static const char *const names[] = { "min-hop", "up-down" };
	u32 i, lost = 0, left = 0;
	struct fabric f;
	struct kernel k;

	for (i = 0; i < 300; i++) {
		make_random(&f);
		cut(&f, f.topo.nlinks ? below(4) : 0);
		route(&f, names[below(2)], NULL);
		fabric_take_wanted(&f);
		mend(&f);
		cut(&f, f.topo.nlinks ? below(4) : 0);
		route(&f, names[below(2)], NULL);
		begin(&k, &f);
		/* Also when it is killed on the way, and another one goes on */
		k.stop = 1 + below(2 * plan_count(&f) + 1);
		plan_run(&f, write_one, &k);
		k.stop = 0;
		plan_run(&f, write_one, &k);
		lost += k.lost + k.odd;
		left += plan_count(&f);
		end(&k);
		fabric_free(&f);
	}
	result(!lost && !left,
	       "300 random graphs: no pair lost while tables change, also if broken off and begun again");
}

/* Links that went or came: one write for each entry that differs, few differ */
static void once(void)
{
	struct fabric f;
	struct kernel k;
	u32 differ, leaf, spine, p, link;

	make(&f, "gh200-nvl256", NULL);
	route(&f, "min-hop", NULL);
	fabric_take_wanted(&f);
	leaf = f.topo.port[f.topo.port[f.topo.first[0]].peer].vertex;
	for (p = f.topo.first[leaf]; f.next[p] < f.topo.world; p++)
		;
	spine = f.next[p];
	link = f.topo.port[p].link;
	f.topo.link[link].outage = true;
	fabric_links(&f);
	route(&f, "min-hop", NULL);
	differ = plan_count(&f);
	begin(&k, &f);
	plan_run(&f, write_one, &k);
	result(k.writes == differ && differ && differ < 1024,
	       "gh200-nvl256: a cut between a leaf and a spine (%u): %u of %u entries, each once",
	       spine - f.topo.world, k.writes, f.topo.routers * f.topo.world);
	end(&k);
	route(&f, "min-hop", NULL);
	result(!plan_count(&f), "and nothing the second time");
	mend(&f);
	route(&f, "min-hop", NULL);
	begin(&k, &f);
	plan_run(&f, write_one, &k);
	result(k.writes == differ, "and as many when it comes back");
	end(&k);
	fabric_free(&f);
}

/* An endpoint that nothing leads to any more keeps its entries for when it does */
static void keeps(void)
{
	struct fabric f;
	u32 p;

	make(&f, "gb200-nvl72", NULL);
	for (p = f.topo.first[5]; p < f.topo.first[6]; p++)
		f.topo.link[f.topo.port[p].link].admin = VF_LINK_DOWN;
	fabric_links(&f);
	route(&f, "min-hop", NULL);
	result(!plan_count(&f), "an endpoint that is cut off changes no table");
	fabric_free(&f);
}

void test_plan(void)
{
	once();
	keeps();
	hitless("torus:4x4x4", rate, "min-hop", "dor");
	hitless("torus:4x4x4", rate, "dor", "up-down");
	hitless("gh200-nvl256", NULL, "min-hop", "up-down");
	hitless("gh200-nvl256", NULL, "up-down", "min-hop");
	at_random();
}
