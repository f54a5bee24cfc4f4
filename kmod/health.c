// SPDX-License-Identifier: GPL-2.0
/*
 * Whether a partition has what it was built with. Looked at when somebody asks,
 * so that a change costs nothing more for it.
 */
#include <linux/bitmap.h>
#include <linux/sched.h>
#include <uapi/linux/vfabric_netlink.h>
#include "vfabric.h"

/**
 * struct vf_census - what the members in service have
 * @whole:	each link carries, as built
 * @leaf:	switches to which a member has a link
 * @shared:	those to which each member has one
 */
struct vf_census {
	struct vf_health *health;
	bool whole;
	DECLARE_BITMAP(members, VF_MAX_WORLD);
	DECLARE_BITMAP(leaf, VF_MAX_SWITCHES);
	DECLARE_BITMAP(shared, VF_MAX_SWITCHES);
};

static void vf_census_link(struct vf_census *c, const struct vf_topo *t, u32 link)
{
	const struct vf_link *l = &t->link[link];
	bool carries = vf_link_carries(t, link);

	c->health->links++;
	c->health->links_up += carries;
	c->whole &= carries && l->rate_now == l->rate && l->latency_now == l->latency &&
		    l->width_now == l->width;
}

static void vf_census_member(struct vf_census *c, const struct vf_topo *t, u32 rank)
{
	DECLARE_BITMAP(mine, VF_MAX_SWITCHES) = { };
	u32 p, v;

	for (p = t->first[rank]; p < t->first[rank + 1]; p++) {
		if (t->port[p].peer == VF_NONE)
			continue;
		v = t->port[t->port[p].peer].vertex;
		if (v >= t->world)
			__set_bit(v - t->world, mine);
		/* One between two members is counted once */
		if (v >= rank || !test_bit(v, c->members))
			vf_census_link(c, t, t->port[p].link);
	}
	bitmap_or(c->leaf, c->leaf, mine, VF_MAX_SWITCHES);
	bitmap_and(c->shared, c->shared, mine, VF_MAX_SWITCHES);
}

/* Which switches have links to endpoints, members or not? */
static void vf_edge_switches(const struct vf_topo *t, unsigned long *edge)
{
	u32 p, v;

	for (p = 0; p < t->first[t->world]; p++) {
		if (t->port[p].peer == VF_NONE)
			continue;
		v = t->port[t->port[p].peer].vertex;
		if (v >= t->world)
			__set_bit(v - t->world, edge);
	}
}

/*
 * Links between switches, where members have no switch in common: all but those
 * of a switch that serves endpoints, but no member.
 */
static void vf_census_trunks(struct vf_census *c, const struct vf_topo *t)
{
	DECLARE_BITMAP(skip, VF_MAX_SWITCHES) = { };
	u32 i, a, b;

	if (!bitmap_empty(c->shared, VF_MAX_SWITCHES))
		return;
	vf_edge_switches(t, skip);
	bitmap_andnot(skip, skip, c->leaf, VF_MAX_SWITCHES);
	for (i = 0; i < t->nlinks; i++) {
		a = t->port[t->link[i].end[0]].vertex;
		b = t->port[t->link[i].end[1]].vertex;
		if (a >= t->world && b >= t->world && !test_bit(a - t->world, skip) &&
		    !test_bit(b - t->world, skip))
			vf_census_link(c, t, i);
	}
}

static bool vf_all_reach(const struct vf_topo *t, const unsigned long *members)
{
	unsigned int a, b;

	for_each_set_bit(a, members, t->world) {
		for_each_set_bit(b, members, a)
			if (!vf_route_open(t, &t->now, a, b))
				return false;
		cond_resched();
	}
	return true;
}

/**
 * vf_partition_health - how a partition is
 * @part: under its domain's lock
 * @h: the result
 *
 * Of the members in service: not those that are parked. In a torus the links
 * of others, which pass on what is for members, are left out.
 */
void vf_partition_health(const struct vf_partition *part, struct vf_health *h)
{
	const struct vf_domain *dom = part->dom;
	const struct vf_topo *t = &dom->topo;
	struct vf_census c = { .health = h, .whole = true };
	unsigned int rank;

	lockdep_assert_held(&dom->lock);
	memset(h, 0, sizeof(*h));
	for (rank = 0; rank < t->world; rank++)
		if (dom->eps[rank].part == part && !dom->eps[rank].parked)
			__set_bit(rank, c.members);
	if (bitmap_empty(c.members, t->world)) {
		h->health = VFAB_HEALTH_NOT_SUPPORTED;
		return;
	}
	bitmap_fill(c.shared, VF_MAX_SWITCHES);
	for_each_set_bit(rank, c.members, t->world)
		vf_census_member(&c, t, rank);
	vf_census_trunks(&c, t);
	if (!vf_all_reach(t, c.members))
		h->health = VFAB_HEALTH_UNHEALTHY;
	else if (c.whole)
		h->health = VFAB_HEALTH_HEALTHY;
	else
		h->health = part->resiliency == VFAB_RESILIENCY_FULL ?
			    VFAB_HEALTH_UNHEALTHY : VFAB_HEALTH_LIMITED;
}

/* How an endpoint is: what a full partition is not content with is more. */
u32 vf_endpoint_health(const struct vf_domain *dom, u32 rank)
{
	const struct vf_endpoint *ep = &dom->eps[rank];
	u32 up = hweight64(dom->topo.now.port_up[rank]);

	if (!up || ep->parked)
		return VFAB_HEALTH_UNHEALTHY;
	if (up == vf_vertex_ports(&dom->topo, rank))
		return VFAB_HEALTH_HEALTHY;
	return ep->part && ep->part->resiliency == VFAB_RESILIENCY_FULL ?
	       VFAB_HEALTH_UNHEALTHY : VFAB_HEALTH_LIMITED;
}
