// SPDX-License-Identifier: LGPL-2.1
/* Generators: what they join, and that nothing else comes out of any numbers. */
#include "test.h"

static bool make(const char *text, struct topo *t)
{
	char err[TOPO_ERR_LEN];

	if (!load_text(text, t, err))
		return true;
	note("%s", err);
	return false;
}

static uint32_t links_between(const struct topo *t, uint16_t x, uint16_t y)
{
	uint32_t i, n = 0;

	for (i = 0; i < t->nlinks; i++)
		n += (t->links[i].a == x && t->links[i].b == y) ||
			(t->links[i].a == y && t->links[i].b == x);
	return n;
}

static void test_torus(void)
{
	static const struct {
		const char *size;
		uint32_t x, y, z, degree;
	} sizes[] = {
		{ "3x3x3", 3, 3, 3, 6 }, { "4x4x4", 4, 4, 4, 6 }, { "4x2x3", 4, 2, 3, 5 },
		{ "2x2x2", 2, 2, 2, 3 }, { "5x4", 5, 4, 1, 4 }, { "7", 7, 1, 1, 2 },
		{ "2", 2, 1, 1, 1 }, { "1", 1, 1, 1, 0 }, { "1x1x6", 1, 1, 6, 2 },
	};
	char spec[32], err[TOPO_ERR_LEN], *sets[] = { RATE "=10", "latency_ns=5", NULL };
	struct topo_summary s;
	struct topo t;
	size_t i;

	for (i = 0; i < COUNT(sizes); i++) {
		snprintf(spec, sizeof(spec), "torus:%s", sizes[i].size);
		if (topo_load_profile(spec, sets, &t, err, sizeof(err)) || topo_measure(&t, &s)) {
			result(false, "%s: %s", spec, err);
			continue;
		}
		result(t.world == sizes[i].x * sizes[i].y * sizes[i].z && s.connected &&
		       s.ep_ports[0] == sizes[i].degree && s.ep_ports[1] == sizes[i].degree &&
		       plain_valid(&t) && s.diameter == sizes[i].x / 2 + sizes[i].y / 2 +
		       sizes[i].z / 2, "%s: each endpoint has %u neighbours", spec,
		       sizes[i].degree);
		topo_free(&t);
	}
	if (topo_load_profile("torus:4x2x3", sets, &t, err, sizeof(err))) {
		result(false, "torus:4x2x3: %s", err);
		return;
	}
	/* rank = x + 4 * (y + 2 * z) */
	result(links_between(&t, 0, 1) == 1 && links_between(&t, 0, 3) == 1 &&
	       links_between(&t, 0, 2) == 0 && links_between(&t, 0, 8) == 1 &&
	       links_between(&t, 0, 16) == 1, "torus: neighbours in x, y and z");
	result(links_between(&t, 0, 4) == 1, "torus: one link where there are two in a row");
	result(t.links[0].a == 0 && t.links[0].a_port == 0 && t.links[0].b == 1 &&
	       t.links[0].b_port == 1, "torus: port 0 leads to +x, port 1 back");
	topo_free(&t);
}

static void test_mesh(void)
{
	uint32_t x, y;
	struct topo t;
	bool ok;

	ok = make("generator: mesh\nparameters: {world: 9, links_per_pair: 3, " RATE ": 7}", &t);
	for (x = 0; ok && x < 9; x++)
		for (y = 0; y < x; y++)
			ok &= links_between(&t, x, y) == 3;
	result(ok && plain_valid(&t) && t.ports == 24, "mesh: each pair has its links");
	topo_free(&t);
}

static void test_two_tier(void)
{
	struct topo_summary s;
	uint32_t i, j;
	struct topo t;
	bool ok;

	/* 4 pods of 4; 2 leaves with 8 links down, 4 up, one to each of 4 spines */
	ok = make("generator: two-tier\nparameters: {world: 16, ports: 4, pods: 4, "
		  "leaves_per_pod: 2, spines: 4, taper: 2, " RATE ": 10}", &t);
	for (i = 0; ok && i < 8; i++)
		for (j = 8; j < 12; j++)
			ok &= links_between(&t, TOPO_SWITCH(i), TOPO_SWITCH(j)) == 1;
	result(ok && t.switches == 12 && links_between(&t, 0, TOPO_SWITCH(0)) == 2 &&
	       links_between(&t, 3, TOPO_SWITCH(1)) == 2 &&
	       links_between(&t, 4, TOPO_SWITCH(2)) == 2 &&
	       links_between(&t, 4, TOPO_SWITCH(0)) == 0, "two-tier: endpoints, leaves and spines");
	result(!topo_measure(&t, &s) && s.bisection == 8 * 4 * 10 / 2, "two-tier: tapered 2:1");
	topo_free(&t);
	/* In planes, each leaf is joined to its own two spines, twice */
	ok = make("generator: two-tier\nparameters: {world: 16, ports: 4, pods: 4, planes: 2, "
		  "leaves_per_pod: 2, spines: 4, taper: 2, " RATE ": 10}", &t);
	for (i = 0; ok && i < 8; i++)
		for (j = 8; j < 12; j++)
			ok &= links_between(&t, TOPO_SWITCH(i), TOPO_SWITCH(j)) ==
				(i % 2 == (j - 8) / 2 ? 2 : 0);
	result(ok, "two-tier: planes keep to themselves");
	topo_free(&t);
}

static void test_rail(void)
{
	struct topo_summary s;
	uint32_t i;
	struct topo t;
	bool ok;

	ok = make("generator: rail\nparameters: {world: 32, nodes: 4, ports: 2, spines: 2, "
		  RATE ": 10}", &t);
	for (i = 0; ok && i < 32; i++)
		ok &= links_between(&t, i, TOPO_SWITCH(i % 8)) == 2;
	result(ok && t.switches == 10 && plain_valid(&t) &&
	       links_between(&t, TOPO_SWITCH(3), TOPO_SWITCH(9)) == 4,
	       "rail: the i-th endpoints of all nodes share a leaf");
	result(!topo_measure(&t, &s) && s.connected && s.bisection == 16 * 20, "rail: not tapered");
	topo_free(&t);
	ok = make("generator: rail\nparameters: {world: 32, nodes: 4, ports: 2, spines: 2, taper: 4, "
		  RATE ": 10}", &t);
	result(ok && !topo_measure(&t, &s) && s.bisection == 16 * 20 / 4,
	       "rail: tapered 4:1 between rails");
	topo_free(&t);
}

static void test_fat_tree(void)
{
	static const uint32_t worlds[] = { 1, 7, 8, 9, 12, 16, 17, 29, 32 };
	struct topo_summary s;
	char text[160];
	struct topo t;
	size_t i;

	for (i = 0; i < COUNT(worlds); i++) {
		snprintf(text, sizeof(text), "generator: fat-tree\nparameters: {world: %u, ports: 3, "
			 "switch_ports: 8, " RATE ": 10}", worlds[i]);
		if (!make(text, &t) || topo_measure(&t, &s)) {
			result(false, "fat-tree: %u endpoints", worlds[i]);
			continue;
		}
		result(plain_valid(&t) && s.connected && s.sw_ports[1] <= 8 &&
		       s.bisection == worlds[i] / 2 * 30ULL, "fat-tree: %u endpoints do not block",
		       worlds[i]);
		topo_free(&t);
	}
}

/* Whatever the numbers are, it is refused or right. */
static void test_random(void)
{
	static const char *const names[] = {
		"crossbar", "two-tier", "fat-tree", "rail", "mesh", "torus",
	};
	static const char *const keys[] = {
		"world", "nodes", "ports", "switches", "links_per_switch", "switch_ports", "pods",
		"leaves_per_pod", "spines", "planes", "taper", "x", "y", "z", "links_per_pair",
	};
	uint32_t made[COUNT(names)] = { 0 }, wrong = 0, i, j, kind;
	char text[1024], err[TOPO_ERR_LEN];
	struct topo_summary s;
	struct topo t;
	int len;

	for (i = 0; i < 24000; i++) {
		kind = i % COUNT(names);
		len = sprintf(text, "generator: %s\nparameters:\n  " RATE ": 3\n", names[kind]);
		for (j = 0; j < COUNT(keys); j++) {
			/* Those that it takes, as a wrong one is the end of it */
			const char *takes[] = {
				"world nodes ports switches links_per_switch switch_ports",
				"world nodes ports pods leaves_per_pod spines planes taper switch_ports",
				"world nodes ports switch_ports", "world nodes ports spines taper",
				"world nodes links_per_pair", "x y z nodes",
			};

			if (strstr(takes[kind], keys[j]) && below(12))
				len += sprintf(text + len, "  %s: %u\n", keys[j],
					       below(9) ? 1U << below(j ? 4 : 6) : 1 + below(70));
		}
		if (load_text(text, &t, err)) {
			wrong += !*err;
			continue;
		}
		made[kind]++;
		if (!plain_valid(&t) || topo_measure(&t, &s) || !s.connected)
			wrong++;
		topo_free(&t);
	}
	for (kind = 0; kind < COUNT(names); kind++)
		result(made[kind] > 20, "%s: random numbers make some", names[kind]);
	note("%u crossbars, %u of two tiers, %u fat trees, %u of rails, %u meshes, %u tori",
	     made[0], made[1], made[2], made[3], made[4], made[5]);
	result(!wrong, "what random numbers make is valid and connected");
}

void test_generate(void)
{
	test_torus();
	test_mesh();
	test_two_tier();
	test_rail();
	test_fat_tree();
	test_random();
}
