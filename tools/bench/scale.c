// SPDX-License-Identifier: GPL-2.0
/*
 * Large domains: what a lost link costs when nearly nobody is concerned (scale), how
 * long dumps take, and how long vfabmgr takes to make all tables anew (large).
 *
 * For scale, one process holds all endpoints. The victim and each of the others have mapped
 * and touched a window of one another: 2 * (n - 1) mappings. With one plane, the
 * victim's link carries 2 * (n - 1) routes, which are lost; with 18 as many change.
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

static const int worlds[WORLDS] = { 72, 576, 1024 };

static struct vfab_ep *eps[1024];
static struct vfab_mem mem[1024], to_victim[1024], from_victim[1024];

static void attach_all(int n)
{
	uint64_t handle;
	int i;

	for (i = 0; i < n; i++) {
		must("attaching", vfab_open(&eps[i], domain_name(), i));
		must("a window", vfab_window_alloc(eps[i], PAGE, TAG, VFAB_ACCESS_WRITE, &mem[i]));
		*(char *)mem[i].addr = 1;
	}
	for (i = 0; i < n; i++) {
		if (i == VICTIM)
			continue;
		must("looking up", vfab_lookup(eps[i], VICTIM, TAG, 0, &handle));
		must("importing", vfab_import(eps[i], handle, VFAB_ACCESS_WRITE,
					      VFAB_LOSS_ABSORB, &to_victim[i]));
		must("looking up", vfab_lookup(eps[VICTIM], i, TAG, 0, &handle));
		must("importing", vfab_import(eps[VICTIM], handle, VFAB_ACCESS_WRITE,
					      VFAB_LOSS_ABSORB, &from_victim[i]));
	}
}

/* All mappings read @want. */
static void look(int n, unsigned char want)
{
	int i;

	for (i = 0; i < n; i++) {
		if (i == VICTIM)
			continue;
		if (*(volatile unsigned char *)to_victim[i].addr != want ||
		    *(volatile unsigned char *)from_victim[i].addr != want)
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

/* One link of the victim down: what is lost is gone, and the trace says so. */
static void measure_loss(int n, int planes, int repeats)
{
	double down[MAX_REPEATS], right[MAX_REPEATS], up[MAX_REPEATS], t;
	char id[48];
	int i;

	domain_create(n, planes);
	attach_all(n);
	for (i = 0; i < repeats; i++) {
		look(n, 1);
		t = now_ns();
		link_set(VICTIM, 0, false);
		down[i] = (now_ns() - t) / 1e3;
		if (traced(n) != (uint32_t)planes - 1)
			die("the trace is wrong");
		right[i] = (now_ns() - t) / 1e3;
		look(n, planes == 1 ? 0xff : 1);
		t = now_ns();
		link_set(VICTIM, 0, true);
		up[i] = (now_ns() - t) / 1e3;
	}
	look(n, 1);
	for (i = 0; i < n; i++)
		vfab_close(eps[i]);
	domain_delete();
	snprintf(id, sizeof(id), "scale.down.%d.%d", planes, n);
	row(id, "us", down, NULL, repeats);
	snprintf(id, sizeof(id), "scale.trace.%d.%d", planes, n);
	row(id, "us", right, NULL, repeats);
	snprintf(id, sizeof(id), "scale.up.%d.%d", planes, n);
	row(id, "us", up, NULL, repeats);
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
	int i;

	for (i = 0; i < WORLDS; i++) {
		measure_loss(worlds[i], 1, repeats);
		measure_loss(worlds[i], PLANES, repeats);
	}
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
