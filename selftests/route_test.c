// SPDX-License-Identifier: GPL-2.0
/*
 * The model (kmod/topology.c, kmod/route.c) against a slow and obvious one
 * that walks each request hop by hop. Runs on the host, needs no kernel:
 *
 *	build/selftests/route_test [SEED]
 *
 * Prints TAP. Built with the address and undefined-behaviour sanitizers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../kmod/topology.h"

static unsigned int failed, number;

static void result(bool ok, const char *what)
{
	printf("%sok %u %s\n", ok ? "" : "not ", ++number, what);
	failed += !ok;
}

/* The obvious model: state of everything, no bitmaps */
struct plain {
	u32 world, planes;
	bool sw[VF_MAX_PLANES];
	bool link[VF_MAX_WORLD][VF_MAX_PLANES];
	int entry[VF_MAX_PLANES][VF_MAX_WORLD];		/* -1: none */
};

static struct plain plain;

static bool arrives(u32 src, u32 dst, u32 sw)
{
	int out = plain.entry[sw][dst];

	return plain.link[src][sw] && plain.sw[sw] && out >= 0 &&
	       (u32)out == dst && plain.link[out][sw];
}

static u64 plain_planes(u32 a, u32 b)
{
	u64 live = 0;
	u32 sw;

	for (sw = 0; sw < plain.planes; sw++)
		if (arrives(a, b, sw) && arrives(b, a, sw))
			live |= 1ULL << sw;
	return live;
}

static void topo_alloc(struct vf_topo *t, u32 world, u32 planes)
{
	u32 sw, rank;

	memset(t, 0, sizeof(*t));
	t->world = world;
	t->planes = planes;
	t->now.port_up = calloc(world, sizeof(u64));
	t->now.entry = calloc(world, sizeof(u64));
	t->table = calloc(world * planes, sizeof(u16));
	vf_topo_init(t);
	plain.world = world;
	plain.planes = planes;
	for (sw = 0; sw < planes; sw++) {
		plain.sw[sw] = true;
		for (rank = 0; rank < world; rank++) {
			plain.link[rank][sw] = true;
			plain.entry[sw][rank] = rank;
		}
	}
}

static void topo_free(struct vf_topo *t)
{
	free(t->now.port_up);
	free(t->now.entry);
	free(t->table);
}

static u32 below(u32 n)
{
	return (u32)random() % n;
}

static void storm_step(struct vf_topo *t)
{
	u32 sw = below(t->planes), rank = below(t->world), to = below(t->world);
	bool up = below(3);

	switch (below(4)) {
	case 0:
		vf_topo_set_switch(t, sw, up);
		plain.sw[sw] = up;
		break;
	case 1:
		vf_topo_set_link(t, rank, sw, up);
		plain.link[rank][sw] = up;
		break;
	case 2:		/* drop, or repair */
		vf_topo_set_entry(t, sw, rank, up ? rank : VF_NO_PORT);
		plain.entry[sw][rank] = up ? (int)rank : -1;
		break;
	default:	/* mislead */
		vf_topo_set_entry(t, sw, rank, to);
		plain.entry[sw][rank] = to;
	}
}

static bool pair_agrees(const struct vf_topo *t, u32 a, u32 b)
{
	u64 live = vf_route_planes(&t->now, a, b);
	u32 sw;

	if (live != plain_planes(a, b) || live != vf_route_planes(&t->now, b, a))
		return false;
	for (sw = 0; sw < t->planes; sw++)
		if ((vf_route_verdict(t, a, b, sw) == VF_PLANE_LIVE) != (live >> sw & 1))
			return false;
	return true;
}

static bool storm(u32 world, u32 planes, int steps)
{
	struct vf_topo t;
	bool ok = true;
	int i, j;

	topo_alloc(&t, world, planes);
	for (i = 0; ok && i < steps; i++) {
		storm_step(&t);
		for (j = 0; ok && j < 20; j++) {
			u32 a = below(world), b = below(world);

			ok = a == b || pair_agrees(&t, a, b);
		}
	}
	topo_free(&t);
	return ok;
}

static void defaults(u32 world, u32 planes)
{
	struct vf_topo t;
	char what[80];
	bool ok = true;
	u32 a, b;

	topo_alloc(&t, world, planes);
	for (a = 0; a < world; a += 1 + world / 64)
		for (b = 0; b < world; b += 1 + world / 64)
			if (a != b && vf_route_planes(&t.now, a, b) != vf_topo_all(&t))
				ok = false;
	topo_free(&t);
	snprintf(what, sizeof(what), "default tables join %u endpoints over %u planes",
		 world, planes);
	result(ok, what);
}

static void verdicts(void)
{
	struct vf_topo t;

	topo_alloc(&t, 4, 2);
	vf_topo_set_link(&t, 1, 0, false);
	result(vf_route_verdict(&t, 1, 2, 0) == VF_PLANE_SRC_DOWN, "verdict: source port down");
	result(vf_route_verdict(&t, 2, 1, 0) == VF_PLANE_DST_DOWN,
	       "verdict: destination port down");
	vf_topo_set_link(&t, 1, 0, true);
	vf_topo_set_switch(&t, 0, false);
	result(vf_route_verdict(&t, 1, 2, 0) == VF_PLANE_SWITCH_DOWN, "verdict: switch down");
	vf_topo_set_switch(&t, 0, true);
	vf_topo_set_entry(&t, 0, 2, VF_NO_PORT);
	result(vf_route_verdict(&t, 1, 2, 0) == VF_PLANE_NO_ENTRY, "verdict: no entry");
	result(vf_route_verdict(&t, 2, 1, 0) == VF_PLANE_NO_RETURN, "verdict: no way back");
	vf_topo_set_entry(&t, 0, 2, 3);
	result(vf_route_verdict(&t, 1, 2, 0) == VF_PLANE_MISROUTED, "verdict: misrouted");
	result(vf_route_planes(&t.now, 1, 2) == 2, "the other plane still carries the pair");
	result(vf_topo_set_entry(&t, 0, 2, 4) == -EINVAL && t.table[2] == 3,
	       "a port that the switch lacks is refused and changes nothing");
	topo_free(&t);
}

int main(int argc, char **argv)
{
	unsigned int seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	unsigned int i;

	srandom(seed);
	printf("TAP version 13\n");
	defaults(1, 1);
	defaults(72, 18);
	defaults(1024, 64);
	verdicts();
	for (i = 0; i < 8; i++)
		if (!storm(2 + below(100), 1 + below(64), 3000))
			break;
	printf("# seed %u\n", seed);
	result(i == 8, "8 random storms agree with the hop-by-hop model");
	printf("1..%u\n", number);
	return failed ? 1 : 0;
}
