// SPDX-License-Identifier: GPL-2.0
/* Slow and obvious answers, from links and entries alone. */
#include "test.h"

static bool carries(const struct fabric *f, u32 port)
{
	const struct vf_topo *t = &f->topo;

	return t->port[port].link != VF_NONE && vf_link_carries(t, t->port[port].link);
}

static u32 far_end(const struct fabric *f, u32 port)
{
	return f->topo.port[f->topo.port[port].peer].vertex;
}

static bool in_set(const struct fabric *f, u32 port, u32 dest)
{
	const struct vf_topo *t = &f->topo;
	u32 v = t->port[port].vertex, n = port - t->first[v];
	size_t i = entry_index(f, vf_topo_router(t, v), dest);

	return n >= t->base[i] && n < t->base[i] + 64U && t->mask[i] >> (n - t->base[i]) & 1;
}

static bool seen[VF_MAX_WORLD + VF_MAX_SWITCHES];

static bool walk(const struct fabric *f, u32 v, u32 dest, bool tables)
{
	const struct vf_topo *t = &f->topo;
	u32 p, w;

	if (v == dest)
		return true;
	if (seen[v] || !vf_topo_is_router(t, v))
		return false;
	seen[v] = true;
	for (p = t->first[v]; p < t->first[v + 1]; p++) {
		if (!carries(f, p) || (tables && !in_set(f, p, dest)))
			continue;
		w = far_end(f, p);
		if (walk(f, w, dest, tables))
			return true;
	}
	return false;
}

static bool leaves(const struct fabric *f, u32 a, u32 b, bool tables)
{
	const struct vf_topo *t = &f->topo;
	u32 p;

	memset(seen, 0, sizeof(seen));
	for (p = t->first[a]; p < t->first[a + 1]; p++)
		if (carries(f, p) && (!tables || !t->forwards || in_set(f, p, b)) &&
		    walk(f, far_end(f, p), b, tables))
			return true;
	return false;
}

bool plain_joined(const struct fabric *f, u32 a, u32 b)
{
	return leaves(f, a, b, false);
}

bool plain_reaches(const struct fabric *f, u32 a, u32 b)
{
	return leaves(f, a, b, true) && leaves(f, b, a, true);
}

u32 plain_lost(const struct fabric *f)
{
	u32 a, b, lost = 0;

	for (a = 0; a < f->topo.world; a++)
		for (b = a + 1; b < f->topo.world; b++)
			lost += plain_joined(f, a, b) != plain_reaches(f, a, b);
	return lost;
}

/*
 * Every channel that a request can hold, and what it can then wait for, by
 * following each request from each source; then links that wait for nobody are
 * taken away until none is left, or only circles and what leads into them.
 */
#define MAX_CHANNELS 2048

static bool waits[MAX_CHANNELS][MAX_CHANNELS];
static bool followed[MAX_CHANNELS];

static u32 number(const struct fabric *f, const struct engine *e, u32 vcs, u32 port, u32 dest)
{
	return port * 2 + (vcs > 1 && e->channel ? e->channel(f, dest, port) : 0);
}

/* Does a request get to @dest from the far end of @port? Then it may go there. */
static bool leads(const struct fabric *f, u32 port, u32 dest)
{
	memset(seen, 0, sizeof(seen));
	return carries(f, port) && walk(f, far_end(f, port), dest, true);
}

static void follow(const struct fabric *f, const struct engine *e, u32 vcs, u32 port, u32 dest)
{
	u32 c = number(f, e, vcs, port, dest), v = far_end(f, port), p;
	const struct vf_topo *t = &f->topo;

	if (followed[c] || v == dest)
		return;
	followed[c] = true;
	for (p = t->first[v]; p < t->first[v + 1]; p++) {
		if (!in_set(f, p, dest) || !leads(f, p, dest))
			continue;
		waits[c][number(f, e, vcs, p, dest)] = true;
		follow(f, e, vcs, p, dest);
	}
}

bool plain_blocks(const struct fabric *f, const struct engine *e, u32 vcs)
{
	const struct vf_topo *t = &f->topo;
	u32 n = t->nports * 2, a, b, p, dest;
	static bool gone[MAX_CHANNELS];
	bool more = true, left = false;

	if (n > MAX_CHANNELS)
		exit(printf("Bail out! too many links\n"));
	memset(waits, 0, sizeof(waits));
	memset(gone, 0, sizeof(gone));
	for (dest = 0; dest < t->world; dest++) {
		memset(followed, 0, sizeof(followed));
		for (a = 0; a < t->world; a++)
			for (p = t->first[a]; a != dest && p < t->first[a + 1]; p++)
				if ((!t->forwards || in_set(f, p, dest)) && leads(f, p, dest))
					follow(f, e, vcs, p, dest);
	}
	while (more) {
		more = false;
		for (a = 0; a < n; a++) {
			bool free = !gone[a];

			for (b = 0; free && b < n; b++)
				free = gone[b] || !waits[a][b];
			gone[a] |= free;
			more |= free;
		}
	}
	for (a = 0; a < n; a++)
		left |= !gone[a];
	return left;
}
