// SPDX-License-Identifier: LGPL-2.1
/* Each profile against the public numbers about the machine, written anew here. */
#include "test.h"

static const struct expected {
	const char *spec;
	const char *sets[4];
	uint32_t world, nodes, ports, switches, links;
	uint32_t sw_ports[2];		/* joined ones of a switch */
	uint32_t diameter;
	uint64_t bisection;		/* 10^6 bytes per second, one direction */
	uint32_t rate;
} expected[] = {
	/* 8 GPUs, 12 links of 25 GB/s, 2 to each of 6 switches: 16 ports of 36 */
	{ "hgx-a100", { NULL }, 8, 1, 12, 6, 96, { 16, 16 }, 2, 4 * 300000, 25000 },
	/* 18 links to 4 switches: 4 or 5 to each */
	{ "hgx-h100", { NULL }, 8, 1, 18, 4, 144, { 32, 40 }, 2, 4 * 450000, 25000 },
	/* 9 links to each of 2 switches with 72 ports */
	{ "hgx-b200", { NULL }, 8, 1, 18, 2, 144, { 72, 72 }, 2, 4 * 900000, 50000 },
	{ "hgx-b300", { NULL }, 8, 1, 18, 2, 144, { 72, 72 }, 2, 4 * 900000, 50000 },
	/* 57.6 TB/s of both directions, which is half of what 2:1 would not taper */
	{ "gh200-nvl256", { NULL }, 256, 256, 18, 164, 256 * 18 * 3 / 2, { 48, 64 }, 4,
	  57600000 / 2, 25000 },
	/* 9 trays of 2 switches with 72 ports */
	{ "gb200-nvl72", { NULL }, 72, 18, 18, 18, 1296, { 72, 72 }, 2, 36 * 900000, 50000 },
	{ "gb300-nvl72", { NULL }, 72, 18, 18, 18, 1296, { 72, 72 }, 2, 36 * 900000, 50000 },
	/* 36 links; the number of switches is not published */
	{ "vr-nvl72", { "switches=36" }, 72, 18, 36, 36, 2592, { 72, 72 }, 2, 36 * 1800000,
	  50000 },
	/* 144 packages; all else is not published */
	{ "rubin-ultra-nvl576", { "ports=36", "switches=36", RATE "=100000" }, 144, 0, 36, 36,
	  5184, { 144, 144 }, 2, 72ULL * 3600000, 100000 },
	/* 1800 GB/s per direction, over however many ports */
	{ "helios-72", { "ports=36", "switches=18" }, 72, 18, 36, 18, 2592, { 144, 144 }, 2,
	  36 * 1800000, 50000 },
	{ "helios-72", { "ports=18", "switches=18" }, 72, 18, 18, 18, 1296, { 72, 72 }, 2,
	  36 * 1800000, 100000 },
	/* 7 links, one to each of the others */
	{ "mi300x-8", { NULL }, 8, 1, 7, 0, 28, { 0, 0 }, 1, 4 * 4 * 64000, 64000 },
	/* stations of 100 GB/s, one to each switch */
	{ "ualink-1024", { "ports=4" }, 1024, 0, 4, 4, 4096, { 1024, 1024 }, 2,
	  512 * 400000ULL, 100000 },
	/* 32 leaves and 16 spines of 64 ports, for each port */
	{ "sue-1024", { "ports=12" }, 1024, 0, 12, 576, 2 * 1024 * 12, { 64, 64 }, 4,
	  512 * 1200000ULL, 100000 },
	/* 6 neighbours; two cuts of 64 links each halve it */
	{ "torus:8x8x8", { RATE "=100000" }, 512, 0, 6, 0, 3 * 512, { 0, 0 }, 12,
	  2 * 64 * 100000, 100000 },
	/* as many as a domain holds */
	{ "torus:16x8x8", { RATE "=100000" }, 1024, 0, 6, 0, 3 * 1024, { 0, 0 }, 16,
	  2 * 64 * 100000, 100000 },
};

/* 72 GPUs over 18 planes: port k of rank r is joined to port r of switch k. */
static void test_planes(void)
{
	char err[TOPO_ERR_LEN];
	bool ok = true;
	struct topo t;
	uint32_t i;

	if (topo_load_profile("gb200-nvl72", NULL, &t, err, sizeof(err))) {
		result(false, "gb200-nvl72: %s", err);
		return;
	}
	for (i = 0; i < t.nlinks; i++)
		ok &= t.links[i].a == i / 18 && t.links[i].a_port == i % 18 &&
			t.links[i].b == TOPO_SWITCH(i % 18) && t.links[i].b_port == i / 18;
	result(ok, "gb200-nvl72: port k of rank r leads to port r of switch k");
	topo_free(&t);
}

static void test_one(const struct expected *e)
{
	char err[TOPO_ERR_LEN], *sets[5] = { NULL };
	struct topo_summary s;
	struct topo t;
	uint32_t i;

	for (i = 0; i < COUNT(e->sets) && e->sets[i]; i++)
		sets[i] = (char *)e->sets[i];
	if (topo_load_profile(e->spec, sets, &t, err, sizeof(err))) {
		note("%s", err);
		result(false, "%s: is made", e->spec);
		return;
	}
	result(t.world == e->world && t.nodes == e->nodes && t.ports == e->ports,
	       "%s: %u endpoints, %u nodes, %u ports each", e->spec, e->world, e->nodes, e->ports);
	result(t.switches == e->switches && t.nlinks == e->links, "%s: %u switches, %u links",
	       e->spec, e->switches, e->links);
	result(plain_valid(&t) && plain_connected(&t), "%s: each port once, and connected",
	       e->spec);
	result(!topo_measure(&t, &s) && s.connected && s.diameter == e->diameter,
	       "%s: %u links across", e->spec, e->diameter);
	result(s.ep_ports[0] == e->ports && s.ep_ports[1] == e->ports &&
	       s.sw_ports[0] == e->sw_ports[0] && s.sw_ports[1] == e->sw_ports[1],
	       "%s: all ports of endpoints, %u to %u of a switch", e->spec, e->sw_ports[0],
	       e->sw_ports[1]);
	result(s.bisection == e->bisection, "%s: bisection %llu MB/s per direction", e->spec,
	       (unsigned long long)e->bisection);
	result(t.nlinks && t.links[0].rate == e->rate, "%s: a link has %u MB/s per direction",
	       e->spec, e->rate);
	result(survives_dump(&t), "%s: comes back from a file as it was", e->spec);
	topo_free(&t);
}

static const struct topo_value *fact(const struct topo_profile *p, const char *key)
{
	uint32_t i;

	for (i = 0; i < p->nfacts; i++)
		if (!strcmp(p->facts[i].key, key))
			return &p->facts[i];
	return NULL;
}

/* Every number says where it is from, and is made from no other than is said. */
static void test_sources(const char *name)
{
	const struct topo_value *both;
	char err[TOPO_ERR_LEN] = "";
	struct topo_profile p;
	uint32_t i, nulls = 0;
	struct topo t;
	int ret;

	if (topo_profile_read(name, NULL, &p, err, sizeof(err))) {
		result(false, "%s: %s", name, err);
		return;
	}
	ret = topo_profile_check(&p, err, sizeof(err));
	if (ret)
		note("%s", err);
	result(!ret && !strcmp(p.name, name), "%s: is well sourced", name);
	both = fact(&p, "endpoint_mb_per_s_both_directions");
	for (i = 0; i < p.nparams; i++) {
		nulls += !p.params[i].known && strcmp(p.params[i].key, "latency_ns") &&
			strcmp(p.params[i].key, "width") && strcmp(p.params[i].key, "nodes") &&
			strcmp(p.params[i].key, "switch_ports");
		if (both && p.params[i].known &&
		    !strcmp(p.params[i].key, "endpoint_rate_mb_per_s_per_direction"))
			result(both->number == 2 * p.params[i].number,
			       "%s: one direction is half of both", name);
	}
	ret = topo_load_profile(name, NULL, &t, err, sizeof(err));
	if (!ret)
		topo_free(&t);
	result(ret == (nulls ? -ENODATA : 0) && (!ret || strstr(err, "--set")),
	       nulls ? "%s: a number that is null has to be given" :
		       "%s: is made without a word", name);
	topo_profile_free(&p);
}

void test_profiles(void)
{
	char **names;
	size_t i;
	int n;

	for (i = 0; i < COUNT(expected); i++)
		test_one(&expected[i]);
	test_planes();
	n = topo_profile_names(&names);
	result(n >= 14, "all profiles are found");
	for (i = 0; n > 0 && names[i]; i++)
		test_sources(names[i]);
	topo_names_free(names);
}
