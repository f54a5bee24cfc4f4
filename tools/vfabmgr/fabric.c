// SPDX-License-Identifier: GPL-2.0
/* A domain as vfabmgr sees it: which links work, and what they join. */
#include <stdarg.h>
#include <stdio.h>
#include "vfabmgr.h"

int fabric_fail(struct fabric *f, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->why, sizeof(f->why), fmt, ap);
	va_end(ap);
	return err;
}

static void *array(size_t n, size_t size)
{
	return calloc(n ? n : 1, size);
}

/**
 * fabric_init - a fabric, all of it up, that has the kernel's default tables
 * @f: to fill in; fabric_free() is due only after success
 * @cfg: the same that the kernel made it of
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int fabric_init(struct fabric *f, const struct vf_topo_config *cfg)
{
	const char *why = "out of memory";
	struct vf_topo *t = &f->topo;
	size_t entries;
	int ret;

	memset(f, 0, sizeof(*f));
	ret = vf_topo_create(t, cfg, &why);
	if (ret)
		return fabric_fail(f, ret, "%s", why);
	entries = (size_t)t->routers * t->world;
	f->words = (t->routers + 63) / 64;
	f->mask = array(entries, sizeof(*f->mask));
	f->base = array(entries, sizeof(*f->base));
	f->next = array(t->nports, sizeof(*f->next));
	f->trunk = array(t->nports, sizeof(*f->trunk));
	f->trunks = array(t->world + t->switches + 1, sizeof(*f->trunks));
	f->island = array(t->routers, sizeof(*f->island));
	f->shore = array((size_t)t->world * f->words, sizeof(*f->shore));
	f->queue = array(t->world + t->switches, sizeof(*f->queue));
	f->dist = array(t->world + t->switches, sizeof(*f->dist));
	if (!f->mask || !f->base || !f->next || !f->trunk || !f->trunks || !f->island ||
	    !f->shore || !f->queue || !f->dist) {
		fabric_free(f);
		return fabric_fail(f, -ENOMEM, "%s", why);
	}
	fabric_take_wanted(f);
	fabric_links(f);
	return 0;
}

void fabric_free(struct fabric *f)
{
	vf_topo_destroy(&f->topo);
	free(f->mask);
	free(f->base);
	free(f->next);
	free(f->trunk);
	free(f->trunks);
	free(f->island);
	free(f->shore);
	free(f->queue);
	free(f->dist);
	memset(f, 0, sizeof(*f));
}

/* The tables that are wanted are those that it has. */
void fabric_take_wanted(struct fabric *f)
{
	size_t entries = (size_t)f->topo.routers * f->topo.world;

	memcpy(f->mask, f->topo.mask, entries * sizeof(*f->mask));
	memcpy(f->base, f->topo.base, entries * sizeof(*f->base));
}

static void find_trunks(struct fabric *f)
{
	const struct vf_topo *t = &f->topo;
	u32 p, v, n = 0;

	for (v = 0; v < t->world + t->switches; v++) {
		for (p = t->first[v]; p < t->first[v + 1]; p++)
			if (f->next[p] != VF_NONE && vf_topo_is_router(t, f->next[p]))
				f->trunk[n++] = p;
		f->trunks[v + 1] = n;
	}
}

static void find_islands(struct fabric *f)
{
	const struct vf_topo *t = &f->topo;
	u32 r, i, v, w, head, tail, n = 0;

	memset(f->island, 0xff, t->routers * sizeof(*f->island));
	for (r = 0; r < t->routers; r++) {
		if (f->island[r] != 0xffff)
			continue;
		head = 0;
		tail = 0;
		f->queue[tail++] = vf_router_vertex(t, r);
		f->island[r] = n;
		while (head < tail) {
			v = f->queue[head++];
			for (i = f->trunks[v]; i < f->trunks[v + 1]; i++) {
				w = f->next[f->trunk[i]];
				if (f->island[vf_topo_router(t, w)] != 0xffff)
					continue;
				f->island[vf_topo_router(t, w)] = n;
				f->queue[tail++] = w;
			}
		}
		n++;
	}
}

static void find_shores(struct fabric *f)
{
	const struct vf_topo *t = &f->topo;
	u32 rank, i, island;

	memset(f->shore, 0, (size_t)t->world * f->words * sizeof(*f->shore));
	for (rank = 0; rank < t->world; rank++)
		for (i = f->trunks[rank]; i < f->trunks[rank + 1]; i++) {
			island = f->island[vf_topo_router(t, f->next[f->trunk[i]])];
			f->shore[(size_t)rank * f->words + island / 64] |= 1ULL << island % 64;
		}
}

/* Links or switches of f->topo have changed: what follows from that. */
void fabric_links(struct fabric *f)
{
	const struct vf_topo *t = &f->topo;
	u32 p;

	for (p = 0; p < t->nports; p++)
		f->next[p] = t->port[p].link != VF_NONE &&
			     vf_link_carries(t, t->port[p].link) ?
			     t->port[t->port[p].peer].vertex : VF_NONE;
	find_trunks(f);
	find_islands(f);
	find_shores(f);
}

/**
 * fabric_ways - ports by which a router may send what is for a destination
 * @f: f->dist of the router is 1 where @dest is at hand
 * @v: the router's vertex
 * @dest: a rank
 * @ports: gets their numbers, in ascending order; room for VF_MAX_RADIX
 *
 * Those to @dest if it is at hand, else those to routers: not a look at each port
 * of a switch for each destination. Return: how many.
 */
u32 fabric_ways(const struct fabric *f, u32 v, u32 dest, u32 *ports)
{
	const struct vf_topo *t = &f->topo;
	u32 i, k, p, n = 0;

	if (f->dist[v] != 1) {
		for (i = f->trunks[v]; i < f->trunks[v + 1]; i++)
			ports[n++] = f->trunk[i] - t->first[v];
		return n;
	}
	for (i = t->first[dest]; i < t->first[dest + 1]; i++) {
		if (f->next[i] != v)
			continue;
		p = t->port[i].peer - t->first[v];
		for (k = n++; k && ports[k - 1] > p; k--)
			ports[k] = ports[k - 1];
		ports[k] = p;
	}
	return n;
}

/* Do working links join the router to the rank, whatever tables say? */
bool fabric_leads(const struct fabric *f, u32 router, u32 dest)
{
	u32 island = f->island[router];

	return f->shore[(size_t)dest * f->words + island / 64] >> island % 64 & 1;
}

/* The same of two endpoints. */
bool fabric_joined(const struct fabric *f, u32 a, u32 b)
{
	const struct vf_topo *t = &f->topo;
	u32 i;

	for (i = 0; i < f->words; i++)
		if (f->shore[(size_t)a * f->words + i] & f->shore[(size_t)b * f->words + i])
			return true;
	for (i = t->first[a]; t->direct && i < t->first[a + 1]; i++)
		if (f->next[i] == b)
			return true;
	return false;
}

/* Compile the tables that are wanted, and see whom they join. */
struct pairs fabric_pairs(struct fabric *f)
{
	unsigned long all[VF_MAX_WORLD / BITS_PER_LONG];
	struct vf_topo *t = &f->topo;
	struct pairs pairs = { };
	u32 a, b;

	memset(all, 0xff, sizeof(all));
	vf_route_compile(t, all, NULL);
	for (a = 0; a < t->world; a++)
		for (b = a + 1; b < t->world; b++) {
			if (!fabric_joined(f, a, b))
				continue;
			pairs.joined++;
			pairs.lost += !vf_route_open(t, &t->now, a, b);
		}
	return pairs;
}

/* A port as users write it: sw7/p12, ep5/p3 */
void fabric_port_name(const struct fabric *f, u32 port, char name[32])
{
	const struct vf_topo *t = &f->topo;
	u32 v = t->port[port].vertex;

	snprintf(name, 32, "%s%u/p%u", v < t->world ? "ep" : "sw",
		 v < t->world ? v : v - t->world, port - t->first[v]);
}
