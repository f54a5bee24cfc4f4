// SPDX-License-Identifier: LGPL-2.1
/*
 * What a topology amounts to: is it connected, how far is it across, how much
 * passes between its halves.
 *
 * Parallel links are one arc each way here, with the sum of their rates. The
 * bisection is the maximum flow (Dinic's algorithm) from one half of the ranks
 * to the other, as the least cut between halves cannot be found in reasonable
 * time: of all halvings those are tried that take every rank r with
 * r / stride % period in the first half of the period, which holds the halves
 * of each dimension of a torus, of pods and of rails.
 */
#include "topo_int.h"

/**
 * struct arc - one direction of the links between two nodes
 * @to: a node, @back: the arc of the other direction
 * @rate: of all the links, @left: what the flow has left of it
 */
struct arc {
	uint32_t to, back;
	uint64_t rate, left;
};

/**
 * struct graph - endpoints are nodes 0..world-1, switches follow
 * @first: each node's arcs begin here, and end where the next one's begin
 */
struct graph {
	const struct topo *t;
	uint32_t nodes, narcs;
	uint32_t *first, *level, *at, *queue;
	uint8_t *sink;
	struct arc *arcs;
};

static uint32_t node_of(const struct topo *t, uint16_t node)
{
	return TOPO_IS_SWITCH(node) ? t->world + TOPO_INDEX(node) : node;
}

struct edge {
	uint32_t x, y;
	uint64_t rate;
};

static int compare(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->x != y->x)
		return x->x < y->x ? -1 : 1;
	return x->y < y->y ? -1 : x->y > y->y;
}

/* Edges between lower and higher nodes, sorted, each pair once. */
static uint32_t merge(const struct topo *t, struct edge *edges)
{
	uint32_t i, n = 0, x, y;

	for (i = 0; i < t->nlinks; i++) {
		x = node_of(t, t->links[i].a);
		y = node_of(t, t->links[i].b);
		edges[i] = (struct edge){ x < y ? x : y, x < y ? y : x, t->links[i].rate };
	}
	qsort(edges, t->nlinks, sizeof(*edges), compare);
	for (i = 0; i < t->nlinks; i++) {
		if (n && !compare(&edges[n - 1], &edges[i]))
			edges[n - 1].rate += edges[i].rate;
		else
			edges[n++] = edges[i];
	}
	return n;
}

static void add_arcs(struct graph *g, const struct edge *edges, uint32_t n)
{
	uint32_t i, x, y;

	for (i = 0; i < n; i++) {
		g->first[edges[i].x + 1]++;
		g->first[edges[i].y + 1]++;
	}
	for (i = 0; i < g->nodes; i++)
		g->first[i + 1] += g->first[i];
	memcpy(g->at, g->first, g->nodes * sizeof(*g->at));
	for (i = 0; i < n; i++) {
		x = g->at[edges[i].x]++;
		y = g->at[edges[i].y]++;
		g->arcs[x] = (struct arc){ edges[i].y, y, edges[i].rate, 0 };
		g->arcs[y] = (struct arc){ edges[i].x, x, edges[i].rate, 0 };
	}
	g->narcs = 2 * n;
}

static void graph_free(struct graph *g)
{
	free(g->first);
	free(g->level);
	free(g->at);
	free(g->queue);
	free(g->sink);
	free(g->arcs);
}

static int graph_init(struct graph *g, const struct topo *t)
{
	struct edge *edges = calloc(t->nlinks + 1, sizeof(*edges));
	uint32_t n;

	*g = (struct graph){ .t = t, .nodes = t->world + t->switches };
	n = g->nodes + 1;
	g->first = calloc(n, sizeof(*g->first));
	g->level = calloc(n, sizeof(*g->level));
	g->at = calloc(n, sizeof(*g->at));
	g->queue = calloc(n, sizeof(*g->queue));
	g->sink = calloc(n, sizeof(*g->sink));
	g->arcs = calloc(2 * t->nlinks + 1, sizeof(*g->arcs));
	if (!edges || !g->first || !g->level || !g->at || !g->queue || !g->sink || !g->arcs) {
		free(edges);
		graph_free(g);
		return -ENOMEM;
	}
	add_arcs(g, edges, merge(t, edges));
	free(edges);
	return 0;
}

#define FAR UINT32_MAX

/* Levels from the @n nodes that are in the queue; over arcs with a rest only. */
static void levels(struct graph *g, uint32_t n, bool rest)
{
	uint32_t head, i, u, v;

	memset(g->level, 0xff, g->nodes * sizeof(*g->level));
	for (i = 0; i < n; i++)
		g->level[g->queue[i]] = 0;
	for (head = 0; head < n; head++) {
		u = g->queue[head];
		for (i = g->first[u]; i < g->first[u + 1]; i++) {
			v = g->arcs[i].to;
			if (g->level[v] != FAR || (rest && !g->arcs[i].left))
				continue;
			g->level[v] = g->level[u] + 1;
			g->queue[n++] = v;
		}
	}
}

/* Longest of the shortest paths from @rank; FAR where one is missing. */
static uint32_t distance(struct graph *g, uint32_t rank)
{
	uint32_t i, most = 0;

	g->queue[0] = rank;
	levels(g, 1, false);
	for (i = 0; i < g->t->world; i++)
		if (g->level[i] > most)
			most = g->level[i];
	return most;
}

/* One path's flow; the path is @depth arcs in the queue. */
static uint64_t augment(struct graph *g, uint32_t depth)
{
	uint64_t least = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < depth; i++)
		if (g->arcs[g->queue[i]].left < least)
			least = g->arcs[g->queue[i]].left;
	for (i = 0; i < depth; i++) {
		struct arc *arc = &g->arcs[g->queue[i]];

		arc->left -= least;
		g->arcs[arc->back].left += least;
	}
	return least;
}

/* The arc by which the search goes on from @u, or FAR; @g->at remembers. */
static uint32_t next_arc(struct graph *g, uint32_t u)
{
	const struct arc *arc;

	for (; g->at[u] < g->first[u + 1]; g->at[u]++) {
		arc = &g->arcs[g->at[u]];
		if (arc->left && g->level[arc->to] == g->level[u] + 1)
			return g->at[u];
	}
	return FAR;
}

/* All that @source can still send along the levels. */
static uint64_t send_from(struct graph *g, uint32_t source)
{
	uint32_t u = source, depth = 0, arc;
	uint64_t sum = 0;

	for (;;) {
		if (g->sink[u]) {
			sum += augment(g, depth);
			u = source;
			depth = 0;
			continue;
		}
		arc = next_arc(g, u);
		if (arc != FAR) {
			g->queue[depth++] = arc;
			u = g->arcs[arc].to;
		} else if (depth) {
			g->level[u] = FAR;
			arc = g->queue[--depth];
			u = g->arcs[g->arcs[arc].back].to;
		} else {
			return sum;
		}
	}
}

/* From the ranks that are no sink to those that are. */
static uint64_t flow(struct graph *g)
{
	uint32_t world = g->t->world, rank, n;
	uint64_t sum = 0, more;

	for (n = 0; n < g->narcs; n++)
		g->arcs[n].left = g->arcs[n].rate;
	do {
		for (n = 0, rank = 0; rank < world; rank++)
			if (!g->sink[rank])
				g->queue[n++] = rank;
		levels(g, n, true);
		memcpy(g->at, g->first, g->nodes * sizeof(*g->at));
		for (more = 0, rank = 0; rank < world; rank++)
			if (!g->sink[rank])
				more += send_from(g, rank);
		sum += more;
	} while (more);
	return sum;
}

/* Where there are no switches, all that joins the halves counts. */
static uint64_t crossing(const struct graph *g)
{
	uint64_t sum = 0;
	uint32_t u, i;

	for (u = 0; u < g->nodes; u++)
		for (i = g->first[u]; !g->sink[u] && i < g->first[u + 1]; i++)
			if (g->sink[g->arcs[i].to])
				sum += g->arcs[i].rate;
	return sum;
}

static void try_halves(struct graph *g, struct topo_summary *s, uint32_t stride, uint32_t period)
{
	uint64_t rate;
	uint32_t rank;

	for (rank = 0; rank < g->t->world; rank++)
		g->sink[rank] = rank / stride % period >= period / 2;
	rate = g->t->switches ? flow(g) : crossing(g);
	if (!s->halvings++ || rate < s->bisection)
		s->bisection = rate;
}

static void measure_bisection(struct graph *g, struct topo_summary *s)
{
	uint32_t world = g->t->world, stride, period;

	if (world == 1)
		return;
	try_halves(g, s, 1, world);
	for (stride = 1; stride < world; stride++)
		for (period = 2; stride * period <= world; period += 2)
			if (world % (stride * period) == 0 && period != world)
				try_halves(g, s, stride, period);
}

static void count_ports(const struct topo *t, struct topo_summary *s, uint32_t *ports)
{
	uint32_t i, *range;

	for (i = 0; i < t->nlinks; i++) {
		ports[node_of(t, t->links[i].a)]++;
		ports[node_of(t, t->links[i].b)]++;
	}
	for (i = 0; i < t->world + t->switches; i++) {
		range = i < t->world ? s->ep_ports : s->sw_ports;
		if (i == 0 || i == t->world || ports[i] < range[0])
			range[0] = ports[i];
		if (ports[i] > range[1])
			range[1] = ports[i];
	}
}

int topo_measure(const struct topo *t, struct topo_summary *s)
{
	struct graph g;
	uint32_t rank, far;

	memset(s, 0, sizeof(*s));
	if (graph_init(&g, t))
		return -ENOMEM;
	memset(g.at, 0, g.nodes * sizeof(*g.at));
	count_ports(t, s, g.at);
	s->connected = true;
	for (rank = 0; rank < t->world && s->connected; rank++) {
		far = distance(&g, rank);
		if (far == FAR)
			s->connected = false;
		else if (far > s->diameter)
			s->diameter = far;
	}
	if (!s->connected)
		s->diameter = 0;
	measure_bisection(&g, s);
	graph_free(&g);
	return 0;
}
