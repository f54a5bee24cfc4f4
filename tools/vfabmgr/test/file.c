// SPDX-License-Identifier: GPL-2.0
/* Tables from a file: read as they were printed, and refused where they are wrong. */
#include "test.h"

static char *rate[] = { "rate_mb_per_s_per_direction=1000", NULL };

static int read_text(struct fabric *f, const char *text)
{
	struct options o = { .vcs = 1, .text = text, .file = "t" };

	return engine_run(f, engine_find("file"), &o);
}

/* What file_print() writes comes back */
static void round_trip(const char *spec, char **sets)
{
	struct fabric f;
	char *text = NULL;
	size_t len = 0, entries;
	u32 r, d;
	FILE *to;

	make(&f, spec, sets);
	route(&f, "up-down", NULL);
	to = open_memstream(&text, &len);
	for (r = 0; r < f.topo.routers; r++)
		for (d = 0; d < f.topo.world; d++)
			file_print(&f, to, 7, r, d, entry_wanted(&f, entry_index(&f, r, d)));
	fclose(to);
	entries = (size_t)f.topo.routers * f.topo.world;
	fabric_take_wanted(&f);
	memset(f.topo.mask, 0, entries * sizeof(u64));
	result(!read_text(&f, text) && !plan_count(&f), "%s: tables come back from a file", spec);
	free(text);
	fabric_free(&f);
}

static void reads(void)
{
	static const char json[] =
		"[{\"address\":\"dom0/sw3\",\"domain\":0,\n"
		"  \"switch\":3,\"dest\":2,\"egress\":[9,70]},\n"
		" {\"switch\":3,\"dest\":1,\"egress\":[]}]\n";
	struct fabric f;
	size_t e;

	make(&f, "gb200-nvl72", NULL);
	e = entry_index(&f, 3, 2);
	result(!read_text(&f, "# nothing\n\n") && !plan_count(&f), "what is not named stays");
	result(!read_text(&f, "sw3 dest 2 via 5,4") && f.topo.base[e] == 4 && f.topo.mask[e] == 3,
	       "a short line");
	result(!read_text(&f, "dom0/sw3: dest 2 drop # gone\n") && !f.topo.mask[e], "drop");
	result(!read_text(&f, json) &&
	       f.topo.base[e] == 9 && f.topo.mask[e] == (1ULL << 61 | 1) && plan_count(&f) == 2,
	       "JSON, as vfabctl -j prints it");
	result(!read_text(&f, "[]"), "an empty list");
	fabric_free(&f);
}

static void refuses(void)
{
	static const char *const texts[] = {
		"sw18 dest 2 via 1", "sw3 dest 72 via 1", "sw3 dest 2 via 72", "sw3 dest 2 via",
		"sw3 dest 2 via 1 2 x", "ep3 dest 2 via 1", "sw dest 2 via 1", "dom0 sw3", "dom0/",
		"sw3 dest 2 via 0 70", "sw99999999999999999999 dest 2 drop", "sw3",
		"sw3 dest 2 maybe",
		"sw3 dest 2 drop sw4 dest 2 drop", "x",
		"[", "[{}]", "[{\"switch\":3}]", "[{\"switch\":3,\"dest\":2}]",
		"[{\"switch\":3,\"rank\":1,\"dest\":2,\"egress\":[1]}]",
		"[{\"switch\":3,\"dest\":2,\"egress\":1}]",
		"[{\"switch\":3,\"dest\":2,\"egress\":[1}]",
		"[{\"switch\":3,\"dest\":2,\"egress\":[1]}",
		"[{\"switch\":3,\"dest\":2,\"egress\":[1]}] x",
		"[{\"a\\", "[{\"a\":\"b", "[{\"switch\":-1,\"dest\":2,\"egress\":[1]}]", "[[[[[",
		"[{\"switch\":3,\"dest\":2,\"egress\":[[1]]}]",
	};
	struct fabric f;
	u32 i;

	make(&f, "gb200-nvl72", NULL);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		f.why[0] = 0;
		result(read_text(&f, texts[i]) == -EINVAL && f.why[0], "refused: %s", f.why);
	}
	fabric_free(&f);
}

/* Whatever is in a file, it ends, and ends well */
static void garbled(void)
{
	static const char good[] =
		"dom0/sw3: dest 2 via ports 2 3\n"
		"sw1 dest 5 drop\n"
		"[{\"switch\":3,\"dest\":2,\"egress\":[1,2]}]";
	static const char json[] = "[{\"switch\":3,\"dest\":2,\"egress\":[1,2]},{\"x\":\"y\\\"\"}]";
	char text[sizeof(good) + sizeof(json)];
	struct fabric f;
	u32 i, k;

	make(&f, "gb200-nvl72", NULL);
	for (i = 0; i < 20000; i++) {
		strcpy(text, i & 1 ? good : json);
		for (k = below(4); k; k--)
			text[below(strlen(text) + 1)] = below(4) ? good[below(sizeof(good))] :
							(char)below(256);
		text[sizeof(text) - 1] = 0;
		read_text(&f, text);
	}
	result(true, "20000 garbled files");
	fabric_free(&f);
}

void test_file(void)
{
	round_trip("gh200-nvl256", NULL);
	round_trip("torus:4x4x4", rate);
	reads();
	refuses();
	garbled();
}
