// SPDX-License-Identifier: GPL-2.0
/* Tables that could block are found, and no others. */
#include "test.h"

static char *rate[] = { "rate_mb_per_s_per_direction=1000", NULL };

static void loops(const char *what, const char *spec, char **sets, const char *engine, u32 vcs,
		  bool blocks)
{
	struct fabric f;
	int ret;

	make(&f, spec, sets);
	route(&f, engine, NULL);
	ret = loop_check(&f, engine_find(engine), vcs);
	result(ret == (blocks ? -EDEADLK : 0), "%s on %s, %u virtual channel%s: %s", engine, what,
	       vcs, vcs > 1 ? "s" : "", ret ? f.why : "no loop");
	fabric_free(&f);
}

static void at_random(const char *engine)
{
	const struct engine *e = engine_find(engine);
	u32 i, wrong = 0, blocks = 0;
	struct fabric f;
	bool plain;
	int ret;

	for (i = 0; i < 150; i++) {
		make_random(&f);
		cut(&f, f.topo.nlinks ? below(3) : 0);
		route(&f, engine, NULL);
		plain = plain_blocks(&f, e, 1);
		ret = loop_check(&f, e, 1);
		wrong += (ret == -EDEADLK) != plain;
		blocks += plain;
		fabric_free(&f);
	}
	result(!wrong,
	       "%s: 150 random graphs: a loop is found exactly where requests wait in one (%u)",
	       engine, blocks);
	result(strcmp(engine, "up-down") || !blocks, "%s: %s", engine,
	       strcmp(engine, "up-down") ? "may loop" : "never loops");
}

/* The torus of the slow model, small, with cuts: dor with datelines */
static void dor_at_random(u32 vcs)
{
	const struct engine *e = engine_find("dor");
	u32 i, wrong = 0, blocks = 0;
	struct fabric f;
	bool plain;
	int ret;

	for (i = 0; i < 20; i++) {
		char spec[32];

		snprintf(spec, sizeof(spec), "torus:%ux%u", 2 + below(5), 1 + below(4));
		make(&f, spec, rate);
		cut(&f, below(3));
		route(&f, "dor", NULL);
		plain = plain_blocks(&f, e, vcs);
		ret = loop_check(&f, e, vcs);
		wrong += (ret == -EDEADLK) != plain;
		blocks += plain;
		fabric_free(&f);
	}
	result(!wrong && (vcs == 1 || !blocks),
	       "dor: 20 tori, cut, %u virtual channels: a loop is found exactly where requests wait in one (%u)",
	       vcs, blocks);
}

static void names_the_links(void)
{
	struct fabric f;

	make(&f, "torus:4", rate);
	route(&f, "min-hop", NULL);
	loop_check(&f, engine_find("min-hop"), 2);
	result(strstr(f.why, "4 links wait for one another:") && strstr(f.why, " ep2/p"),
	       "the links of a loop are named: %s", f.why);
	fabric_free(&f);
}

void test_loops(void)
{
	loops("a crossbar", "gb200-nvl72", NULL, "min-hop", 1, false);
	loops("two tiers", "gh200-nvl256", NULL, "min-hop", 1, false);
	loops("two tiers", "gh200-nvl256", NULL, "up-down", 1, false);
	loops("a mesh of 8", "mi300x-8", NULL, "min-hop", 1, false);
	loops("a ring of 3", "torus:3", rate, "min-hop", 1, false);
	loops("a ring of 5", "torus:5", rate, "min-hop", 2, true);
	loops("a torus", "torus:4x4x4", rate, "min-hop", 2, true);
	loops("a torus", "torus:4x4x4", rate, "up-down", 1, false);
	loops("a torus", "torus:4x4x4", rate, "dor", 2, false);
	loops("a torus", "torus:4x4x4", rate, "dor", 1, true);
	loops("a ring of 8", "torus:8", rate, "dor", 1, true);
	loops("a ring of 8", "torus:8", rate, "dor", 2, false);
	loops("a torus of 8 x 8 x 8", "torus:8x8x8", rate, "dor", 2, false);
	names_the_links();
	at_random("min-hop");
	at_random("up-down");
	dor_at_random(1);
	dor_at_random(2);
}
