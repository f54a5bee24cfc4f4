// SPDX-License-Identifier: GPL-2.0
/* Endpoints, switches, ports and links: how they are made and set. */
#include "topology.h"

/* The @i-th link that @cfg asks for. */
static void vf_spec_get(const struct vf_topo_config *cfg, u32 i,
			struct vfab_link_spec *s)
{
	u32 rank, sw;

	if (cfg->links) {
		*s = cfg->links[i];
		return;
	}
	rank = i / cfg->planes;
	sw = i % cfg->planes;
	*s = (struct vfab_link_spec){
		.node = { rank, VFAB_SPEC_SWITCH | sw },
		.port = { sw, rank },
		.rate = cfg->rate,
		.latency = cfg->latency / 2,
	};
}

static u32 vf_spec_vertex(const struct vf_topo *t, u16 node)
{
	u32 index = node & ~VFAB_SPEC_SWITCH;

	if (node & VFAB_SPEC_SWITCH)
		return index < t->switches ? t->world + index : VF_NONE;
	return index < t->world ? index : VF_NONE;
}

static const char *vf_spec_wrong(const struct vf_topo *t,
				 const struct vfab_link_spec *s)
{
	int i;

	for (i = 0; i < 2; i++) {
		u32 v = vf_spec_vertex(t, s->node[i]);

		if (v == VF_NONE)
			return "a link ends at a rank or a switch that there is not";
		if (s->port[i] >= (v < t->world ? VF_MAX_PORTS : VF_MAX_RADIX))
			return "a link ends at a port beyond an endpoint's 64 or a switch's 4096";
	}
	if (s->node[0] == s->node[1])
		return "a link joins two ports of the same endpoint or switch";
	if (s->pad)
		return "a link's padding is not zero";
	if (!s->rate || s->rate > VF_MAX_RATE)
		return "a link's rate is not in 1 to 100000000 (10^6 bytes per second)";
	if (s->latency > VF_MAX_LATENCY)
		return "a link's latency is above 1000000000 (nanoseconds)";
	return NULL;
}

/* Count the ports of each vertex: @first[v + 1] is v's number at first. */
static const char *vf_topo_count(struct vf_topo *t,
				 const struct vf_topo_config *cfg)
{
	struct vfab_link_spec s;
	const char *why;
	u32 i, k, v;

	for (i = 0; i < t->nlinks; i++) {
		vf_spec_get(cfg, i, &s);
		why = vf_spec_wrong(t, &s);
		if (why)
			return why;
		for (k = 0; k < 2; k++) {
			v = vf_spec_vertex(t, s.node[k]);
			t->first[v + 1] = max(t->first[v + 1], s.port[k] + 1U);
		}
	}
	for (v = 0; v < t->world; v++)
		t->ports = max(t->ports, t->first[v + 1]);
	for (v = 0; v < t->world + t->switches; v++)
		t->first[v + 1] += t->first[v];
	t->nports = t->first[t->world + t->switches];
	return NULL;
}

static const char *vf_topo_join(struct vf_topo *t,
				const struct vf_topo_config *cfg)
{
	struct vfab_link_spec s;
	u32 i, k, v, end[2];

	for (v = 0; v < t->world + t->switches; v++)
		for (i = t->first[v]; i < t->first[v + 1]; i++)
			t->port[i] = (struct vf_port){ v, VF_NONE, VF_NONE };
	t->alike = true;
	for (i = 0; i < t->nlinks; i++) {
		vf_spec_get(cfg, i, &s);
		for (k = 0; k < 2; k++) {
			v = vf_spec_vertex(t, s.node[k]);
			end[k] = t->first[v] + s.port[k];
			if (t->port[end[k]].link != VF_NONE)
				return "two links end at one port";
			t->port[end[k]].link = i;
		}
		t->port[end[0]].peer = end[1];
		t->port[end[1]].peer = end[0];
		t->link[i] = (struct vf_link){
			.end = { end[0], end[1] },
			.rate = s.rate, .rate_now = s.rate,
			.latency = s.latency, .latency_now = s.latency,
			.width = s.width, .width_now = s.width,
			.set = { s.rate, s.latency, s.width },
		};
		if (t->port[end[0]].vertex < t->world && t->port[end[1]].vertex < t->world)
			t->direct = true;
		if ((t->port[end[0]].vertex < t->world) == (t->port[end[1]].vertex < t->world) ||
		    s.rate != t->link[0].rate || s.latency != t->link[0].latency)
			t->alike = false;
	}
	return NULL;
}

static bool vf_same_neighbours(const struct vf_topo *t, u32 a, u32 b)
{
	u32 k, n = vf_vertex_ports(t, a);

	if (n != vf_vertex_ports(t, b))
		return false;
	for (k = 0; k < n; k++) {
		u32 p = t->port[t->first[a] + k].peer, q = t->port[t->first[b] + k].peer;

		if (p == VF_NONE || q == VF_NONE ? p != q :
		    t->port[p].vertex != t->port[q].vertex)
			return false;
	}
	return true;
}

/* Endpoints with the same neighbours, port by port, share what is compiled. */
static void vf_topo_group(struct vf_topo *t)
{
	u32 rank, g;

	for (rank = 0; rank < t->world; rank++) {
		/* No two have the same at the end of direct links, or in their tables */
		g = t->direct || t->forwards ? t->groups : 0;
		while (g < t->groups && !vf_same_neighbours(t, rank, t->sample[g]))
			g++;
		if (g == t->groups)
			t->sample[t->groups++] = rank;
		t->group[rank] = g;
	}
}

static void vf_topo_ways(struct vf_topo *t)
{
	u32 v, p, n = 0;

	for (v = 0; v < t->world + t->switches; v++) {
		for (p = t->first[v]; p < t->first[v + 1]; p++)
			if (t->port[p].peer != VF_NONE &&
			    vf_topo_is_router(t, t->port[t->port[p].peer].vertex))
				t->way[n++] = p;
		t->way_first[v + 1] = n;
	}
}

void vf_topo_destroy(struct vf_topo *t)
{
	u32 i;

	kvfree(t->first);
	kvfree(t->port);
	kvfree(t->way_first);
	kvfree(t->way);
	kvfree(t->link);
	kvfree(t->sw_up);
	kvfree(t->group);
	kvfree(t->sample);
	kvfree(t->mask);
	kvfree(t->base);
	kvfree(t->good);
	kvfree(t->via);
	kvfree(t->now.port_up);
	kvfree(t->now.toward);
	kvfree(t->was.port_up);
	kvfree(t->was.toward);
	for (i = 0; i < 2; i++) {
		kvfree(t->flow.amount[i]);
		kvfree(t->flow.list[i]);
	}
	kvfree(t->hole.port_up);
	kvfree(t->hole.toward);
	memset(t, 0, sizeof(*t));
}

static void *vf_topo_array(size_t n, size_t size)
{
	return kvcalloc(n ? n : 1, size, GFP_KERNEL_ACCOUNT);
}

static int vf_topo_flow(struct vf_topo *t)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		t->flow.amount[i] = vf_topo_array(t->routers, sizeof(u64));
		t->flow.list[i] = vf_topo_array(t->routers, sizeof(u32));
		if (!t->flow.amount[i] || !t->flow.list[i])
			return -ENOMEM;
	}
	return 0;
}

static int vf_topo_build(struct vf_topo *t, const struct vf_topo_config *cfg,
			 const char **why)
{
	unsigned long all[VF_MAX_WORLD / BITS_PER_LONG] = { };
	u32 rank;
	int ret;

	t->first = vf_topo_array(t->world + t->switches + 1, sizeof(*t->first));
	if (!t->first)
		return -ENOMEM;
	*why = vf_topo_count(t, cfg);
	if (*why)
		return -EINVAL;
	t->port = vf_topo_array(t->nports, sizeof(*t->port));
	t->way_first = vf_topo_array(t->world + t->switches + 1, sizeof(*t->way_first));
	t->way = vf_topo_array(2 * t->nlinks, sizeof(*t->way));
	t->link = vf_topo_array(t->nlinks, sizeof(*t->link));
	t->sw_up = vf_topo_array(t->switches, sizeof(*t->sw_up));
	t->group = vf_topo_array(t->world, sizeof(*t->group));
	t->sample = vf_topo_array(t->world, sizeof(*t->sample));
	if (!t->port || !t->way_first || !t->way || !t->link || !t->sw_up || !t->group ||
	    !t->sample)
		return -ENOMEM;
	*why = vf_topo_join(t, cfg);
	if (*why)
		return -EINVAL;
	memset(t->sw_up, 1, t->switches);
	vf_topo_ways(t);
	vf_topo_group(t);

	t->routers = t->switches + (t->forwards ? t->world : 0);
	t->words = (t->routers + 63) / 64;
	t->mask = vf_topo_array((size_t)t->routers * t->world, sizeof(*t->mask));
	t->base = vf_topo_array((size_t)t->routers * t->world, sizeof(*t->base));
	t->good = vf_topo_array((size_t)t->words * t->world, sizeof(*t->good));
	t->via = vf_topo_array((size_t)t->routers * t->world, sizeof(*t->via));
	t->now.port_up = vf_topo_array(t->world, sizeof(u64));
	t->was.port_up = vf_topo_array(t->world, sizeof(u64));
	t->now.toward = vf_topo_array((size_t)t->groups * t->world, sizeof(u64));
	t->was.toward = vf_topo_array((size_t)t->groups * t->world, sizeof(u64));
	if (!t->mask || !t->base || !t->good || !t->via || !t->now.port_up ||
	    !t->was.port_up || !t->now.toward || !t->was.toward || vf_topo_flow(t))
		return -ENOMEM;
	ret = vf_route_defaults(t);
	if (ret)
		return ret;
	for (rank = 0; rank < t->world; rank++)
		__set_bit(rank, all);
	vf_route_compile(t, all, NULL);
	vf_route_settle(t, all);
	return 0;
}

/**
 * vf_topo_create - a fabric, all of it up, with default routing tables
 * @t: to fill in
 * @cfg: world is 1 to 1024; planes, where there are no links, 1 to 64
 * @why: set to a sentence where the links are wrong, else untouched
 *
 * Return: 0, -EINVAL or -ENOMEM, and nothing allocated.
 */
int vf_topo_create(struct vf_topo *t, const struct vf_topo_config *cfg,
		   const char **why)
{
	const char *wrong = NULL;
	int ret;

	memset(t, 0, sizeof(*t));
	t->world = cfg->world;
	t->forwards = cfg->forwards;
	if (cfg->links) {
		t->switches = cfg->switches;
		t->nlinks = cfg->nlinks;
		t->switch_latency = cfg->switch_latency;
	} else {
		t->switches = cfg->planes;
		t->nlinks = cfg->world * cfg->planes;
		/* Two links, and the odd nanosecond */
		t->switch_latency = cfg->latency % 2;
	}
	ret = vf_topo_build(t, cfg, &wrong);
	if (ret)
		vf_topo_destroy(t);
	if (wrong)
		*why = wrong;
	return ret;
}

/* Is the link up, drained or not? */
bool vf_link_works(const struct vf_topo *t, u32 link)
{
	const struct vf_link *l = &t->link[link];
	int i;

	if (l->admin == VF_LINK_DOWN || l->outage || l->broken)
		return false;
	for (i = 0; i < 2; i++) {
		u32 v = t->port[l->end[i]].vertex;

		if (v >= t->world && !t->sw_up[v - t->world])
			return false;
	}
	return true;
}

/* Does the link carry requests? Not if it is drained. */
bool vf_link_carries(const struct vf_topo *t, u32 link)
{
	return t->link[link].admin == VF_LINK_UP && vf_link_works(t, link);
}

bool vf_links_have(const struct vf_topo *t, const struct vf_links *w, u32 link)
{
	bool rank = w->rank == VF_NONE, sw = w->sw == VF_NONE, port = w->port == VF_NONE;
	u32 owner = w->rank != VF_NONE ? w->rank : t->world + w->sw;
	int i;

	for (i = 0; i < 2; i++) {
		u32 p = t->link[link].end[i], v = t->port[p].vertex;

		rank |= w->rank != VF_NONE && v - w->rank < w->ranks;
		sw |= w->sw != VF_NONE && v == t->world + w->sw;
		port |= v == owner && p - t->first[v] == w->port;
	}
	return rank && sw && port;
}

/**
 * vf_links_next - go through a choice of links
 * @t: the topology
 * @w: the choice; what it names exists
 * @at: 0 to begin with, then what the last call left there
 *
 * By the ports of whom it names, so that one link of many is found at once.
 * Return: the next one, or VF_NONE.
 */
u32 vf_links_next(const struct vf_topo *t, const struct vf_links *w, u32 *at)
{
	u32 v = 0, n = t->world + t->switches, from, to, link;

	if (w->rank != VF_NONE) {
		v = w->rank;
		n = w->ranks;
	} else if (w->sw != VF_NONE) {
		v = t->world + w->sw;
		n = 1;
	}
	from = t->first[v];
	to = t->first[v + n];
	while (from + *at < to) {
		u32 p = from + (*at)++;

		link = t->port[p].link;
		/* Once, where both ends are in there */
		if (link != VF_NONE && vf_links_have(t, w, link) &&
		    (p == t->link[link].end[0] || t->link[link].end[0] - from >= to - from))
			return link;
	}
	return VF_NONE;
}

/* A vertex's port by its number, or VF_NONE. */
u32 vf_topo_port(const struct vf_topo *t, u32 vertex, u32 number)
{
	return number < vf_vertex_ports(t, vertex) ? t->first[vertex] + number : VF_NONE;
}

bool vf_topo_is_router(const struct vf_topo *t, u32 vertex)
{
	return vertex >= t->world || t->forwards;
}

static bool vf_link_as_built(const struct vf_link *l)
{
	return l->rate_now == l->rate && l->latency_now == l->latency &&
	       l->width_now == l->width;
}

/* What a link does from now on; as built if the values are those. */
void vf_topo_degrade(struct vf_topo *t, u32 link, u32 rate, u32 latency, u32 width)
{
	struct vf_link *l = &t->link[link];

	t->degraded -= !vf_link_as_built(l);
	l->rate_now = rate;
	l->latency_now = latency;
	l->width_now = width;
	t->degraded += !vf_link_as_built(l);
}

/**
 * vf_topo_set_entry - change one routing-table entry
 * @t: the topology
 * @router: whose table
 * @dest: which entry
 * @base: the first port of the set
 * @mask: bit i: port @base + i is in the set; 0 drops what is for @dest
 *
 * Return: 0, or -EINVAL where there is no such port.
 */
int vf_topo_set_entry(struct vf_topo *t, u32 router, u32 dest, u32 base, u64 mask)
{
	size_t i = (size_t)router * t->world + dest;
	u32 n = vf_vertex_ports(t, vf_router_vertex(t, router));

	if (mask && (base >= n || (n - base < 64 && mask >> (n - base))))
		return -EINVAL;
	t->mask[i] = mask;
	t->base[i] = base;
	return 0;
}
