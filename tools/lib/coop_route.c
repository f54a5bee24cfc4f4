// SPDX-License-Identifier: LGPL-2.1
/* The cooperative transport: who reaches whom, by the module's own model. */
#include "../../kmod/topology.h"
#include "coop.h"

/* Words that a topology may have: tables of all routers, arrays of pairs */
#define ROOM	(8U << 20)

struct coop_route {
	struct vf_topo topo;
	uint32_t member[VFAB_MAX_WORLD];	/* VFAB_BP_MEMBER_* */
};

static const void *blob(const struct vf_bp *bp, const struct vfab_bp_domain *dom, uint32_t i,
			uint64_t *bytes)
{
	*bytes = le64_to_cpu(dom->blob[i].bytes);
	return (const char *)bp->base + le64_to_cpu(dom->blob[i].offset);
}

static int read_links(const struct vf_bp *bp, const struct vfab_bp_domain *dom,
		      struct vf_topo_config *cfg)
{
	struct vfab_link_spec *links;
	uint64_t bytes, i, k;
	const void *from = blob(bp, dom, VFAB_BP_BLOB_LINKS, &bytes);

	if (bytes % sizeof(*links) || bytes / sizeof(*links) > VF_MAX_LINKS)
		return -EBADMSG;
	links = malloc(bytes + 1);
	if (!links)
		return -ENOMEM;
	memcpy(links, from, bytes);
	cfg->links = links;
	cfg->nlinks = bytes / sizeof(*links);
	for (i = 0; i < cfg->nlinks; i++) {
		struct vfab_link_spec *l = &links[i];

		for (k = 0; k < 2; k++) {
			l->node[k] = le16toh(l->node[k]);
			l->port[k] = le16toh(l->port[k]);
		}
		l->width = le16toh(l->width);
		l->rate = le32_to_cpu(l->rate);
		l->latency = le32_to_cpu(l->latency);
	}
	return 0;
}

/* What never changes of a domain; -EBADMSG: it makes no sense, -ENOSPC: it is too large. */
int coop_route_new(struct coop_route **out, const struct vf_bp *bp,
		   const struct vfab_bp_domain *dom)
{
	struct vf_topo_config cfg = {
		.world = le32_to_cpu(dom->world), .planes = le32_to_cpu(dom->planes),
		.switches = le32_to_cpu(dom->switches),
		.switch_latency = le32_to_cpu(dom->switch_latency),
		.forwards = le32_to_cpu(dom->flags) & VFAB_BP_DOMAIN_FORWARDS,
	};
	struct coop_route *r;
	const char *why;
	int ret;

	if (cfg.world * (cfg.switches + 3 * cfg.world) > ROOM)
		return -ENOSPC;
	if (cfg.switch_latency > VF_MAX_LATENCY)
		return -EBADMSG;
	ret = read_links(bp, dom, &cfg);
	if (ret)
		return ret;
	r = calloc(1, sizeof(*r));
	ret = r ? vf_topo_create(&r->topo, &cfg, &why) : -ENOMEM;
	free((void *)cfg.links);
	if (ret) {
		free(r);
		return ret == -ENOMEM ? ret : -EBADMSG;
	}
	*out = r;
	return 0;
}

void coop_route_free(struct coop_route *r)
{
	if (!r)
		return;
	vf_topo_destroy(&r->topo);
	free(r);
}

static bool apply_link(struct vf_topo *t, uint32_t i, struct vfab_bp_link l)
{
	uint32_t rate = le32_to_cpu(l.rate), latency = le32_to_cpu(l.latency);

	if (!rate || rate > VF_MAX_RATE || latency > VF_MAX_LATENCY ||
	    l.admin > VFAB_BP_LINK_DRAIN)
		return false;
	t->link[i].admin = l.admin;
	t->link[i].outage = !!(l.down & VFAB_BP_LINK_OUTAGE);
	t->link[i].broken = !!(l.down & VFAB_BP_LINK_BROKEN);
	vf_topo_degrade(t, i, rate, latency, le16toh(l.width));
	return true;
}

static bool apply_states(struct vf_topo *t, const void *from)
{
	const struct vfab_bp_link *link = from;
	const uint8_t *up = (const uint8_t *)(link + t->nlinks);
	uint32_t i;

	for (i = 0; i < t->nlinks; i++)
		if (!apply_link(t, i, link[i]))
			return false;
	for (i = 0; i < t->switches; i++)
		t->sw_up[i] = !!up[i];
	return true;
}

static void apply_entries(struct vf_topo *t, const struct vfab_bp_entry *e)
{
	uint32_t router, dest;

	/* What an entry says that makes no sense is no entry */
	for (router = 0; router < t->routers; router++)
		for (dest = 0; dest < t->world; dest++, e++)
			if (vf_topo_set_entry(t, router, dest, le32_to_cpu(READ_ONCE(e->base)),
					      le64_to_cpu(READ_ONCE(e->mask))))
				vf_topo_set_entry(t, router, dest, 0, 0);
}

/**
 * coop_route_apply - what of a domain changes: links, tables, members
 *
 * Return: 0, or -EBADMSG, and nobody reaches anybody.
 */
int coop_route_apply(struct coop_route *r, const struct vf_bp *bp,
		     const struct vfab_bp_domain *dom)
{
	unsigned long all[VFAB_MAX_WORLD / 64];
	struct vf_topo *t = &r->topo;
	uint64_t entry_bytes, state_bytes, member_bytes;
	const void *entries = blob(bp, dom, VFAB_BP_BLOB_ENTRIES, &entry_bytes);
	const void *states = blob(bp, dom, VFAB_BP_BLOB_STATES, &state_bytes);
	const __le32 *members = blob(bp, dom, VFAB_BP_BLOB_MEMBERS, &member_bytes);
	uint32_t i;

	memset(r->member, 0xff, sizeof(r->member));
	if (entry_bytes != (uint64_t)t->routers * t->world * sizeof(struct vfab_bp_entry) ||
	    state_bytes != t->nlinks * sizeof(struct vfab_bp_link) + t->switches ||
	    member_bytes != t->world * sizeof(__le32) || !apply_states(t, states))
		return -EBADMSG;
	apply_entries(t, entries);
	for (i = 0; i < t->world; i++)
		r->member[i] = le32_to_cpu(READ_ONCE(members[i]));
	memset(all, 0xff, sizeof(all));
	vf_route_compile(t, all, NULL);
	vf_route_settle(t, all);
	return 0;
}

/* Of a rank, or VFAB_PARTITION_NONE */
uint32_t coop_route_partition(const struct coop_route *r, uint32_t rank)
{
	uint32_t member = r->member[rank];

	return member == VFAB_BP_MEMBER_NONE ? VFAB_PARTITION_NONE :
	       member & ~VFAB_BP_MEMBER_PARKED;
}

static bool may_talk(const struct coop_route *r, uint32_t rank)
{
	uint32_t member = r->member[rank];

	return member != VFAB_BP_MEMBER_NONE && !(member & VFAB_BP_MEMBER_PARKED);
}

/* Does @src reach @dst? Fills in what a route view says of the way. */
bool coop_route_get(const struct coop_route *r, uint32_t src, uint32_t dst,
		    struct vfab_peer *to)
{
	struct vf_route route = { 0, 0, 0 };

	if (src != dst && may_talk(r, src) && may_talk(r, dst) && r->member[src] == r->member[dst])
		vf_route_get(&r->topo, src, dst, &route);
	to->paths = route.paths;
	to->rate = route.rate;
	to->latency = route.latency;
	return route.paths;
}
