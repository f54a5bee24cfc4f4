// SPDX-License-Identifier: LGPL-2.1
/* What holds of a topology, found slowly and obviously. */
#include "test.h"

/* Each end is there, and no port is the end of two links. */
bool plain_valid(const struct topo *t)
{
	static uint8_t used[2][TOPO_MAX_WORLD][TOPO_MAX_SWITCH_PORTS / 8];
	uint32_t i;

	memset(used, 0, sizeof(used));
	for (i = 0; i < 2 * t->nlinks; i++) {
		const struct topo_link *link = &t->links[i / 2];
		uint16_t node = i % 2 ? link->b : link->a;
		uint16_t port = i % 2 ? link->b_port : link->a_port;
		uint8_t *bits;

		if (link->a == link->b || !link->rate)
			return false;
		if (node & 0x8000 ? (node & 0x7fffU) >= t->switches : node >= t->world)
			return false;
		if (port >= (node & 0x8000 ? TOPO_MAX_SWITCH_PORTS : t->ports))
			return false;
		bits = used[node >> 15][node & 0x7fff];
		if (bits[port / 8] >> port % 8 & 1)
			return false;
		bits[port / 8] |= 1 << port % 8;
	}
	return t->world && t->world <= TOPO_MAX_WORLD && t->ports <= TOPO_MAX_PORTS &&
	       t->switches <= TOPO_MAX_SWITCHES && (!t->nodes || t->world % t->nodes == 0);
}

static uint16_t root(const uint16_t *parent, uint16_t node)
{
	while (parent[node] != node)
		node = parent[node];
	return node;
}

bool plain_connected(const struct topo *t)
{
	static uint16_t parent[0x10000];
	uint32_t i;

	for (i = 0; i < 0x10000; i++)
		parent[i] = i;
	for (i = 0; i < t->nlinks; i++)
		parent[root(parent, t->links[i].a)] = root(parent, t->links[i].b);
	for (i = 1; i < t->world; i++)
		if (root(parent, i) != root(parent, 0))
			return false;
	return true;
}

/* Rates of links whose ends are on different sides; bit i: rank or switch i */
static uint64_t cut(const struct topo *t, uint32_t ranks, uint32_t switches)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < t->nlinks; i++) {
		const struct topo_link *l = &t->links[i];
		uint32_t a = l->a & 0x8000 ? switches >> (l->a & 31) : ranks >> l->a;
		uint32_t b = l->b & 0x8000 ? switches >> (l->b & 31) : ranks >> l->b;

		if ((a ^ b) & 1)
			sum += l->rate;
	}
	return sum;
}

/* The least cut for these halves, whichever side switches are on. */
static uint64_t least_cut(const struct topo *t, uint32_t ranks)
{
	uint64_t least = UINT64_MAX, rate;
	uint32_t switches;

	for (switches = 0; switches < 1U << t->switches; switches++) {
		rate = cut(t, ranks, switches);
		if (rate < least)
			least = rate;
	}
	return least;
}

/* For up to 31 ranks and few switches. */
uint64_t plain_bisection(const struct topo *t)
{
	uint64_t least = UINT64_MAX, rate;
	uint32_t stride, period, rank, ranks;

	for (stride = 1; stride <= t->world; stride++)
		for (period = 2; period <= t->world; period++) {
			if (t->world % (stride * period) ||
			    (period % 2 && period != t->world))
				continue;
			for (ranks = 0, rank = 0; rank < t->world; rank++)
				if (rank / stride % period >= period / 2)
					ranks |= 1U << rank;
			rate = least_cut(t, ranks);
			if (rate < least)
				least = rate;
		}
	return least;
}

/* Any two free ports of a small topology, joined at random. */
static void random_links(struct topo *t)
{
	uint16_t next[2][32] = { 0 };
	uint32_t i, want = 1 + below(40);

	memset(t, 0, sizeof(*t));
	t->world = 2 + below(11);
	t->switches = below(6);
	t->ports = TOPO_MAX_PORTS;
	t->partitions = below(3) == 1 ? TOPO_PART_NONE : TOPO_PART_ONE;
	t->links = calloc(want, sizeof(*t->links));
	for (i = 0; t->links && i < want; i++) {
		struct topo_link *l = &t->links[t->nlinks];
		uint32_t a = below(t->world + t->switches), b = below(t->world + t->switches);

		if (a == b)
			continue;
		*l = (struct topo_link){ .rate = 1 + below(5), .latency = below(3),
					 .width = below(2) };
		l->a = a < t->world ? a : TOPO_SWITCH(a - t->world);
		l->b = b < t->world ? b : TOPO_SWITCH(b - t->world);
		l->a_port = next[a >= t->world][l->a & 31]++;
		l->b_port = next[b >= t->world][l->b & 31]++;
		t->nlinks++;
	}
}

void test_model(void)
{
	uint32_t i, connected = 0, wrong[3] = { 0 };
	struct topo_summary s;
	struct topo t;

	for (i = 0; i < 1000; i++) {
		random_links(&t);
		if (topo_measure(&t, &s))
			break;
		wrong[0] += s.connected != plain_connected(&t);
		wrong[1] += s.bisection != plain_bisection(&t);
		wrong[2] += !survives_dump(&t);
		connected += s.connected;
		topo_free(&t);
	}
	note("%u of %u random topologies are connected", connected, i);
	result(i == 1000 && connected > 50 && connected < 950, "random topologies are of both kinds");
	result(!wrong[0], "connected or not, as found by hand");
	result(!wrong[1], "the bisection is that of the least cut, found by hand");
	result(!wrong[2], "random links come back from a file as they were");
}
