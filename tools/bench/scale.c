// SPDX-License-Identifier: GPL-2.0
/*
 * Large domains: what a lost link costs when nearly nobody is concerned (scale), how
 * long dumps take, and how long vfabmgr takes to make all tables anew (large).
 *
 * For scale, one process holds all endpoints of three domains, which take turns. In each,
 * the victim and each of the others have mapped and touched a window of one another:
 * 2 * (n - 1) mappings. With one plane, the victim's link carries 2 * (n - 1) routes,
 * which are lost; with 18 as many change. Before each, the caches are filled with
 * something else, as programs do: a small domain would else be all in there, and a
 * large one not. A sample is the best of nine, as a machine that others use only ever
 * adds time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"

#define TAG	1
#define PAGE	4096
#define VICTIM	5
#define PLANES	18
#define WORLDS	3
#define TRIES	9
#define CACHES	(64UL << 20)

static const int worlds[WORLDS] = { 72, 576, 1024 };

/* One domain and all that is held of it */
static struct world {
	int n;
	char name[16];
	struct vfab_ep *eps[1024];
	struct vfab_mem mem[1024], to_victim[1024], from_victim[1024];
} all[WORLDS];

/* What is timed: microseconds, each measure with its row's name */
enum { DOWN, TRACE, UP, MEASURES };

static const char *const names[MEASURES] = { "down", "trace", "up" };

static void attach_all(struct world *w)
{
	uint64_t handle;
	int i;

	for (i = 0; i < w->n; i++) {
		must("attaching", vfab_open(&w->eps[i], domain_name(), i));
		must("a window", vfab_window_alloc(w->eps[i], PAGE, TAG, VFAB_ACCESS_WRITE,
						   &w->mem[i]));
		*(char *)w->mem[i].addr = 1;
	}
	for (i = 0; i < w->n; i++) {
		if (i == VICTIM)
			continue;
		must("looking up", vfab_lookup(w->eps[i], VICTIM, TAG, 0, &handle));
		must("importing", vfab_import(w->eps[i], handle, VFAB_ACCESS_WRITE,
					      VFAB_LOSS_ABSORB, &w->to_victim[i]));
		must("looking up", vfab_lookup(w->eps[VICTIM], i, TAG, 0, &handle));
		must("importing", vfab_import(w->eps[VICTIM], handle, VFAB_ACCESS_WRITE,
					      VFAB_LOSS_ABSORB, &w->from_victim[i]));
	}
}

/* All mappings read @want. */
static void look(const struct world *w, unsigned char want)
{
	int i;

	for (i = 0; i < w->n; i++) {
		if (i == VICTIM)
			continue;
		if (*(volatile unsigned char *)w->to_victim[i].addr != want ||
		    *(volatile unsigned char *)w->from_victim[i].addr != want)
			die("rank %d and the victim: not %#x", i, want);
	}
}

static int take_paths(const struct vfab_nl_msg *msg, void *data)
{
	*(uint32_t *)data = vfab_nl_uint(vfab_nl_attr(msg, VFAB_A_PATHS));
	return 0;
}

/* Paths of one pair, by the trace */
static uint32_t traced(int n)
{
	struct nlmsghdr *req = request(VFAB_CMD_ROUTE_TRACE);
	uint32_t paths = ~0U;

	mnl_attr_put_u32(req, VFAB_A_SRC, VICTIM);
	mnl_attr_put_u32(req, VFAB_A_DST, n - 1);
	send_request("a trace", take_paths, &paths);
	return paths;
}

static void empty_caches(void)
{
	static unsigned char *memory;
	size_t i;

	if (!memory)
		memory = malloc(CACHES);
	if (!memory)
		die("out of memory");
	for (i = 0; i < CACHES; i += 64)
		((volatile unsigned char *)memory)[i]++;
}

/* One link of the victim down: what is lost is gone, and the trace says so. */
static void lose_link(const struct world *w, int planes, double us[MEASURES])
{
	double t;

	look(w, 1);
	empty_caches();
	t = now_ns();
	link_set(VICTIM, 0, false);
	us[DOWN] = (now_ns() - t) / 1e3;
	if (traced(w->n) != (uint32_t)planes - 1)
		die("the trace is wrong");
	us[TRACE] = (now_ns() - t) / 1e3;
	look(w, planes == 1 ? 0xff : 1);
	empty_caches();
	t = now_ns();
	link_set(VICTIM, 0, true);
	us[UP] = (now_ns() - t) / 1e3;
}

static void lose_links(const struct world *w, int planes, double best[MEASURES])
{
	double us[MEASURES];
	int i, m;

	domain_use(w->name);
	for (i = 0; i < TRIES; i++) {
		lose_link(w, planes, us);
		for (m = 0; m < MEASURES; m++)
			if (!i || us[m] < best[m])
				best[m] = us[m];
	}
}

static void measure_loss(int planes, int repeats)
{
	static double us[WORLDS][MEASURES][MAX_REPEATS];
	double best[MEASURES];
	char id[48];
	int i, k, m;

	for (k = 0; k < WORLDS; k++) {
		domain_create(worlds[k], planes);
		all[k].n = worlds[k];
		snprintf(all[k].name, sizeof(all[k].name), "%s", domain_name());
		attach_all(&all[k]);
	}
	for (i = 0; i < repeats; i++)
		for (k = 0; k < WORLDS; k++) {
			lose_links(&all[k], planes, best);
			for (m = 0; m < MEASURES; m++)
				us[k][m][i] = best[m];
		}
	for (k = 0; k < WORLDS; k++) {
		look(&all[k], 1);
		for (i = 0; i < all[k].n; i++)
			vfab_close(all[k].eps[i]);
		domain_use(all[k].name);
		domain_delete();
		for (m = 0; m < MEASURES; m++) {
			snprintf(id, sizeof(id), "scale.%s.%d.%d", names[m], planes, all[k].n);
			row(id, "us", us[k][m], NULL, repeats);
		}
	}
}

static void measure_dump(uint8_t cmd, const char *what, int repeats)
{
	double ms[MAX_REPEATS], t;
	uint32_t count = 0;
	char id[48];
	int i;

	for (i = 0; i < repeats; i++) {
		t = now_ns();
		count = dump_count(cmd);
		ms[i] = (now_ns() - t) / 1e6;
	}
	snprintf(id, sizeof(id), "large.dump.%s.%u", what, count);
	row(id, "ms", ms, NULL, repeats);
}

/* vfabmgr's own account of one look, with all tables empty before or as they are */
static void measure_manager(bool empty, int repeats)
{
	static const char *const steps[] = { "read", "compute", "check", "write" };
	static const char account[] =
		"ms: read %lf, min-hop %lf, loop check %lf, write %lf";
	double ms[4][MAX_REPEATS], whole[MAX_REPEATS], t;
	char command[128], line[512], id[48];
	FILE *p;
	int i, k, got;

	snprintf(command, sizeof(command), "vfabmgr --once -v --domain %s 2>&1", domain_name());
	for (i = 0; i < repeats; i++) {
		if (empty)
			drop_tables(worlds[WORLDS - 1]);
		got = 0;
		t = now_ns();
		p = popen(command, "re");
		while (p && fgets(line, sizeof(line), p)) {
			char *at = strstr(line, "ms: read ");

			if (at)
				got = sscanf(at, account, &ms[0][i], &ms[1][i], &ms[2][i],
					     &ms[3][i]);
			else
				fputs(line, stderr);
		}
		if (!p || pclose(p) || got != 4)
			die("vfabmgr: it did not say how long it took");
		whole[i] = (now_ns() - t) / 1e6;
	}
	for (k = 0; k < 4; k++) {
		snprintf(id, sizeof(id), "large.manager.%s.%s", empty ? "empty" : "same", steps[k]);
		row(id, "ms", ms[k], NULL, repeats);
	}
	snprintf(id, sizeof(id), "large.manager.%s.whole", empty ? "empty" : "same");
	row(id, "ms", whole, NULL, repeats);
}

void bench_scale(int repeats)
{
	measure_loss(1, repeats);
	measure_loss(PLANES, repeats);
}

void bench_large(int repeats)
{
	double ms[MAX_REPEATS], t;
	int i;

	for (i = 0; i < repeats; i++) {
		t = now_ns();
		domain_create(1024, PLANES);
		ms[i] = (now_ns() - t) / 1e6;
		if (i + 1 < repeats)
			domain_delete();
	}
	row("large.create", "ms", ms, NULL, repeats);
	measure_dump(VFAB_CMD_LINK_GET, "links", repeats);
	measure_dump(VFAB_CMD_ROUTE_GET, "entries", repeats);
	measure_dump(VFAB_CMD_ENDPOINT_GET, "endpoints", repeats);
	measure_manager(false, repeats);
	measure_manager(true, repeats);
	domain_delete();
}
