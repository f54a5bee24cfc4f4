// SPDX-License-Identifier: LGPL-2.1
/* Files: forms, profiles that they build on, sets, where profiles are found. */
#include <sys/stat.h>
#include <unistd.h>
#include "test.h"

static char dir[] = "/tmp/topotest.XXXXXX";

static void write_file(const char *name, const char *text)
{
	char path[64];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	to = fopen(path, "w");
	if (to) {
		fputs(text, to);
		fclose(to);
	}
}

static void test_links(void)
{
	char err[TOPO_ERR_LEN] = "";
	struct topo t;

	result(!load_text("name: two\nparameters:\n  world: 2\n  " RATE ": 100\n  latency_ns: 5\n"
			  "  width: 4\nlinks:\n- [ep0/p0, sw0/p9]\n"
			  "- {a: sw0/p1, b: ep1/p3, width: 2, " RATE ": 7, latency_ns: 0}\n", &t,
			  err) &&
	       t.nlinks == 2 && t.world == 2 && t.switches == 1 && t.ports == 4 &&
	       !strcmp(t.name, "two"), "links: two ends, and what the file does not say");
	result(t.nlinks == 2 && t.links[0].a == 0 && t.links[0].a_port == 0 &&
	       t.links[0].b == TOPO_SWITCH(0) && t.links[0].b_port == 9 && t.links[0].rate == 100 &&
	       t.links[0].latency == 5 && t.links[0].width == 4, "links: what holds for all");
	result(t.nlinks == 2 && t.links[1].a == TOPO_SWITCH(0) && t.links[1].b_port == 3 &&
	       t.links[1].rate == 7 && t.links[1].latency == 0 && t.links[1].width == 2,
	       "links: what one says itself");
	result(survives_dump(&t), "links: come back as they were");
	topo_free(&t);
	result(!load_text("parameters: {world: 3}\nlinks: []", &t, err) && t.world == 3 &&
	       !t.nlinks && survives_dump(&t), "links: none");
	topo_free(&t);
	result(!load_text("partitions: per-node\nparameters: {world: 4, nodes: 2}\nlinks: []", &t,
			  err) && t.partitions == TOPO_PART_PER_NODE && t.nodes == 2 &&
	       survives_dump(&t), "nodes and partitions");
	topo_free(&t);
	result(!load_text("partitions: hgx15\nparameters: {world: 8}\nlinks: []", &t, err) &&
	       t.partitions == TOPO_PART_HGX15 && survives_dump(&t), "fixed partitions");
	topo_free(&t);
}

static void test_base(void)
{
	char err[TOPO_ERR_LEN] = "";
	struct topo t;

	result(!load_text("profile: gb200-nvl72\nname: half\nparameters: {world: 36, nodes: 9}", &t,
			  err) && t.world == 36 && t.nodes == 9 && t.ports == 18 &&
	       t.links[0].latency == 350 && !strcmp(t.name, "half"),
	       "a file builds on a profile");
	topo_free(&t);
	result(load_text("profile: gb200-nvl72\nparameters: {world: 0}", &t, err) == -EINVAL &&
	       strstr(err, "f:2: world 0"), "what is wrong in the file is said of it, not of its base");
	result(load_text("profile: nothing", &t, err) == -ENOENT &&
	       strstr(err, "no profile \"nothing\""), "on one that is there");
	result(load_text("profile: ../../etc/passwd", &t, err) == -ENOENT &&
	       strstr(err, "is no name of a profile"), "by a name, not a path");
	setenv("VFAB_PROFILE_PATH", dir, 1);
	write_file("loop.yaml", "profile: loop\n");
	result(load_text("profile: loop", &t, err) == -ELOOP && strstr(err, "loop.yaml:1: "),
	       "profiles that build on themselves are refused");
	write_file("bad.yaml", "generator: mesh\nparameters:\n  world: 0\n");
	result(load_text("profile: bad", &t, err) == -EINVAL && strstr(err, "bad.yaml:3: world 0"),
	       "what is wrong in a base is said of its file");
	write_file("listed.yaml", "parameters: {world: 2, " RATE ": 1}\nlinks: [[ep0/p0, ep1/p0]]\n");
	result(load_text("profile: listed", &t, err) == -EINVAL && strstr(err, "lists links"),
	       "a list of links is nothing to build on");
	result(!topo_load_profile("listed", NULL, &t, err, sizeof(err)) && t.nlinks == 1 &&
	       !strcmp(t.name, "listed"), "but a profile, with the file's name");
	topo_free(&t);
	setenv("VFAB_PROFILE_PATH", profiles, 1);
}

static void test_path(void)
{
	char err[TOPO_ERR_LEN] = "", list[256], **names;
	struct topo t;
	int n;

	write_file("gb200-nvl72.yaml", "generator: mesh\nparameters: {world: 3, " RATE ": 1}\n");
	write_file("notes.txt", "");
	write_file(".hidden.yaml", "");
	snprintf(list, sizeof(list), ":/nonexistent:%s:%s", dir, profiles);
	setenv("VFAB_PROFILE_PATH", list, 1);
	result(!topo_load_profile("gb200-nvl72", NULL, &t, err, sizeof(err)) && t.world == 3,
	       "VFAB_PROFILE_PATH: the first directory that has it");
	topo_free(&t);
	result(!topo_load_profile("hgx-h100", NULL, &t, err, sizeof(err)) && t.world == 8,
	       "VFAB_PROFILE_PATH: then the others");
	topo_free(&t);
	setenv("VFAB_PROFILE_PATH", dir, 1);
	n = topo_profile_names(&names);
	result(n == 4 && !strcmp(names[0], "bad") && !strcmp(names[3], "loop"),
	       "names are sorted, and of profiles only");
	topo_names_free(names);
	result(topo_load_profile("hgx-h100", NULL, &t, err, sizeof(err)) == -ENOENT && !t.links,
	       "VFAB_PROFILE_PATH: nowhere else");
	setenv("VFAB_PROFILE_PATH", profiles, 1);
}

static void test_sets(void)
{
	static const struct {
		const char *set;
		const char *said;
	} bad[] = {
		{ "ports", "is not key=value" },
		{ "=4", "is not key=value" },
		{ "lanes=4", "no parameter \"lanes\"" },
		{ "x=4", "takes no x, but: world" },
		{ "ports=", "ports is a number of 1 to 64" },
		{ "ports=0", "ports is a number of 1 to 64" },
		{ "ports=65", "ports is a number of 1 to 64" },
		{ "ports=4x", "ports is a number of 1 to 64" },
		{ "ports=-4", "ports is a number of 1 to 64" },
		{ "world=1000000000", "world is a number of 1 to 1024" },
		{ "world=99999999999999999999999", "world is a number of 1 to 1024" },
		{ "ports\n=4", "no parameter \"ports\\x0a\"" },
	};
	char err[TOPO_ERR_LEN] = "";
	char *twice[] = { "ports=4", "ports=8", NULL };
	char *good[] = { "ports=4", "latency_ns=9", NULL };
	struct topo t;
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		char *sets[] = { (char *)bad[i].set, NULL };
		int ret = topo_load_profile("ualink-1024", sets, &t, err, sizeof(err));

		if (!strstr(err, bad[i].said))
			note("%s", err);
		result(ret == -EINVAL && strstr(err, bad[i].said) && !t.links, "set %zu: %s", i,
		       bad[i].said);
	}
	result(topo_load_profile("ualink-1024", twice, &t, err, sizeof(err)) == -EINVAL &&
	       strstr(err, "given twice"), "a set is given once");
	result(!topo_load_profile("ualink-1024", good, &t, err, sizeof(err)) && t.ports == 4 &&
	       t.links[4095].latency == 9, "sets take the place of parameters");
	topo_free(&t);
}

static void test_dimensions(void)
{
	static const char *const bad[] = {
		"", "x", "8x", "x8", "8xx8", "8x8x8x", "8x8x8x1", "8x8x8x8", "0", "8x0", "-8", "+8",
		" 8", "8 ", "8y8", "65537", "99999999999999999999", "8x8:8",
	};
	char err[TOPO_ERR_LEN], spec[64], *sets[] = { RATE "=1", NULL };
	struct topo t;
	size_t i;
	int ret;

	for (i = 0; i < COUNT(bad); i++) {
		snprintf(spec, sizeof(spec), "torus:%s", bad[i]);
		ret = topo_load_profile(spec, sets, &t, err, sizeof(err));
		result(ret == -EINVAL && strstr(err, "such as torus:8x8x8"), "no dimensions: \"%s\"",
		       bad[i]);
		topo_free(&t);
	}
	result(topo_load_profile("hgx-h100:8", NULL, &t, err, sizeof(err)) == -EINVAL &&
	       strstr(err, "only a torus"), "dimensions of what has none");
	result(topo_load_profile("torus:8x8", NULL, &t, err, sizeof(err)) == -ENODATA,
	       "a size is not a rate");
}

static void test_reading(void)
{
	char err[TOPO_ERR_LEN] = "", path[64];
	struct topo t;

	result(topo_load_file("/nonexistent/x.yaml", NULL, &t, err, sizeof(err)) == -ENOENT &&
	       !strcmp(err, "/nonexistent/x.yaml: cannot open it: No such file or directory"),
	       "a file that is not there");
	result(topo_load_file(dir, NULL, &t, err, sizeof(err)) == -EISDIR, "a directory");
	result(topo_load_file("/dev/zero", NULL, &t, err, sizeof(err)) == -E2BIG,
	       "a file without an end");
	result(topo_load_file("/dev/null", NULL, &t, err, sizeof(err)) == -EINVAL &&
	       strstr(err, "begin with"), "an empty file");
	snprintf(path, sizeof(path), "%s/listed.yaml", dir);
	result(!topo_load_file(path, NULL, &t, err, sizeof(err)) && !*t.name && t.nlinks == 1,
	       "a file by its path");
	topo_free(&t);
	result(topo_load_profile("a/b", NULL, &t, err, 0) == -ENOENT, "no room for a message");
	result(topo_load_profile("a/b", NULL, &t, err, 8) == -ENOENT && strlen(err) == 7,
	       "little room for a message");
}

void test_files(void)
{
	char command[64];

	if (!mkdtemp(dir)) {
		result(false, "a directory for files");
		return;
	}
	test_links();
	test_base();
	test_path();
	test_sets();
	test_dimensions();
	test_reading();
	snprintf(command, sizeof(command), "rm -r %s", dir);
	result(!system(command), "files are removed");
}
