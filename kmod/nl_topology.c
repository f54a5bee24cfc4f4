// SPDX-License-Identifier: GPL-2.0
/* Netlink: switches, ports, links, routing tables and routes. */
#include <linux/slab.h>
#include "netlink.h"

static const char vf_need_sw[] = "name a switch by its index";
static const char vf_bad_sw[] = "the switch is not below the domain's number of switches";
static const char vf_bad_rank[] = "the rank is not below the domain's world size";
static const char vf_need_dest[] = "name the destination rank of the entry";
static const char vf_need_pair[] = "give both src and dst, two ranks";

int vf_nl_switch(struct genl_info *info, struct vf_domain *dom, u32 *sw)
{
	return vf_nl_index(info, VFAB_A_SWITCH, dom->topo.switches, vf_need_sw,
			   vf_bad_sw, sw);
}

/* What a change did; the filler's index is the change. */
static int vf_nl_fill_changed(const struct vf_nl_to *to, struct vf_domain *dom,
			      unsigned long index)
{
	const struct vf_change *chg = (const struct vf_change *)index;
	void *hdr = vf_nl_begin(to, dom);

	if (!hdr)
		return -EMSGSIZE;
	return vf_nl_end(to, hdr,
		nla_put_u32(to->skb, VFAB_A_ROUTES_CHANGED, chg->routes_changed) ||
		nla_put_u32(to->skb, VFAB_A_ROUTES_LOST, chg->routes_lost));
}

/* The model has been changed: let it take effect, announce it and answer. */
static int vf_nl_apply(struct sk_buff *skb, struct genl_info *info,
		       struct vf_domain *dom, const unsigned long *dests,
		       u32 reason, bool rates, struct vf_notice *n)
{
	struct vf_change chg;

	vf_change_topology(&chg, dom, reason, dests, rates);
	n->chg = &chg;
	vf_notify(dom, n);
	return vf_nl_reply(skb, info, dom, vf_nl_fill_changed, (unsigned long)&chg);
}

/* --- Switches -------------------------------------------------------------------- */

static int vf_nl_fill_switch(const struct vf_nl_to *to, struct vf_domain *dom,
			     unsigned long sw)
{
	const struct vf_topo *t = &dom->topo;
	struct sk_buff *skb = to->skb;
	void *hdr = vf_nl_begin(to, dom);
	u32 p, ports = 0, up = 0;

	if (!hdr)
		return -EMSGSIZE;
	for (p = t->first[t->world + sw]; p < t->first[t->world + sw + 1]; p++) {
		if (t->port[p].link == VF_NONE)
			continue;
		ports++;
		up += vf_link_carries(t, t->port[p].link);
	}
	return vf_nl_end(to, hdr,
		nla_put_u32(skb, VFAB_A_SWITCH, sw) ||
		nla_put_u8(skb, VFAB_A_UP, t->sw_up[sw]) ||
		nla_put_u32(skb, VFAB_A_PORTS_UP, up) ||
		nla_put_u32(skb, VFAB_A_PORTS, ports));
}

static int vf_nl_walk_switch(const struct vf_nl_to *to, struct vf_domain *dom,
			     struct nlattr **attrs, unsigned long *index)
{
	return vf_nl_walk_index(to, dom, attrs[VFAB_A_SWITCH], dom->topo.switches,
				vf_nl_fill_switch, index);
}

int vfabric_nl_switch_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	u32 sw;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_switch(info, dom, &sw);
	if (!ret)
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_switch, sw);
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_switch_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_switch);
}

int vfabric_nl_switch_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_SWITCH, VFAB_ACT_CHANGED,
				       VFAB_WHY_LINK);
	DECLARE_BITMAP(dests, VF_MAX_WORLD) = { };
	struct vf_domain *dom = vf_nl_write(skb, info);
	u32 sw;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_switch(info, dom, &sw);
	if (!ret && GENL_REQ_ATTR_CHECK(info, VFAB_A_UP))
		ret = vf_nl_refuse(info, -1, -EINVAL, "nothing to set: give up, 1 or 0");
	if (!ret) {
		n.sw = sw;
		n.up = nla_get_u8(info->attrs[VFAB_A_UP]);
		vf_change_switch(dom, sw, dests);
		dom->topo.sw_up[sw] = n.up;
		ret = vf_nl_apply(skb, info, dom, dests, VFAB_REASON_LINK, false, &n);
	}
	vf_nl_done(info, dom);
	return ret;
}

/* --- Links ----------------------------------------------------------------------- */

static struct vf_links vf_links_filter(struct nlattr **attrs)
{
	return (struct vf_links){
		attrs[VFAB_A_RANK] ? nla_get_u32(attrs[VFAB_A_RANK]) : VF_NONE,
		attrs[VFAB_A_SWITCH] ? nla_get_u32(attrs[VFAB_A_SWITCH]) : VF_NONE,
		attrs[VFAB_A_PORT] ? nla_get_u32(attrs[VFAB_A_PORT]) : VF_NONE,
		1,
	};
}

/**
 * vf_nl_links - the links that a request names, of which there must be some
 * @info: names them by rank or node, switch and port
 * @dom: under its lock
 * @w: the result
 * @first: the first one of them
 */
int vf_nl_links(struct genl_info *info, struct vf_domain *dom,
		struct vf_links *w, u32 *first)
{
	u8 cmd = info->genlhdr->cmd;
	/* Other commands have no such attribute: theirs end before it */
	bool node = (cmd == VFAB_CMD_LINK_SET || cmd == VFAB_CMD_FAULT_CREATE) &&
		    info->attrs[VFAB_A_NODE];
	u32 value, at = 0;
	int ret = 0;

	*w = vf_links_filter(info->attrs);
	if (w->rank == VF_NONE && w->sw == VF_NONE && !node)
		return vf_nl_refuse(info, VFAB_A_PORT, -EINVAL,
				    "name links by rank or node, by switch or by both");
	if (node && vf_is_placed(dom))
		return vf_nl_refuse(info, VFAB_A_NODE, -EOPNOTSUPP,
			"ranks of a domain on a backplane are placed one by one: name links by rank");
	if (node && info->attrs[VFAB_A_PORT])
		return vf_nl_refuse(info, VFAB_A_PORT, -EINVAL,
				    "a port is one of a rank or of a switch, not of a node");
	if (node) {
		ret = vf_nl_node(info, dom, &value);
		if (ret)
			return ret;
		w->ranks = dom->topo.world / dom->nodes;
		w->rank = value * w->ranks;
	} else if (w->rank != VF_NONE) {
		ret = vf_nl_rank(info, dom, &value);
	}
	if (!ret && w->sw != VF_NONE)
		ret = vf_nl_switch(info, dom, &value);
	if (ret)
		return ret;
	*first = vf_links_next(&dom->topo, w, &at);
	if (*first != VF_NONE)
		return 0;
	return vf_nl_refuse(info, w->port != VF_NONE ? VFAB_A_PORT : VFAB_A_SWITCH,
			    -EINVAL, w->port != VF_NONE ?
			    "there is no link at that port" :
			    "no link joins the two");
}

static int vf_nl_link_state(const struct vf_topo *t, u32 link,
			    const struct vf_speed *shown, u32 *reason)
{
	const struct vf_link *l = &t->link[link];
	int i;

	*reason = VFAB_LINK_REASON_ADMIN;
	if (l->admin == VF_LINK_DOWN)
		return VFAB_LINK_OFF;
	*reason = VFAB_LINK_REASON_SWITCH;
	for (i = 0; i < 2; i++) {
		u32 v = t->port[l->end[i]].vertex;

		if (v >= t->world && !t->sw_up[v - t->world])
			return VFAB_LINK_OFF;
	}
	*reason = VFAB_LINK_REASON_BROKEN;
	if (l->broken)
		return VFAB_LINK_FAULT;
	*reason = VFAB_LINK_REASON_FLAP;
	if (l->outage)
		return VFAB_LINK_RECOVERY;
	if (shown->rate != l->rate || shown->latency != l->latency ||
	    shown->width != l->width) {
		/* Drained besides: the state tells the one, the reason the other */
		*reason = l->admin == VF_LINK_DRAIN ? VFAB_LINK_REASON_DRAIN :
						      VFAB_LINK_REASON_DEGRADED;
		return VFAB_LINK_DEGRADED;
	}
	*reason = VFAB_LINK_REASON_NONE;
	if (l->admin == VF_LINK_DRAIN)
		*reason = VFAB_LINK_REASON_DRAIN;
	return VFAB_LINK_ACTIVE;
}

static int vf_nl_put_link_state(struct sk_buff *skb, struct vf_domain *dom, u32 link)
{
	const struct vf_link *l = &dom->topo.link[link];
	const struct vf_speed shown = vf_fault_shown(dom, link);
	u32 reason, state = vf_nl_link_state(&dom->topo, link, &shown, &reason);

	return nla_put_u8(skb, VFAB_A_UP, l->admin != VF_LINK_DOWN) ||
	       nla_put_u32(skb, VFAB_A_LINK_STATE, state) ||
	       nla_put_u32(skb, VFAB_A_LINK_REASON, reason) ||
	       nla_put_u32(skb, VFAB_A_RATE, shown.rate) ||
	       nla_put_u32(skb, VFAB_A_LATENCY, shown.latency) ||
	       nla_put_u32(skb, VFAB_A_WIDTH, shown.width) ||
	       (shown.rate != l->rate &&
		nla_put_u32(skb, VFAB_A_BUILT_RATE, l->rate)) ||
	       (shown.latency != l->latency &&
		nla_put_u32(skb, VFAB_A_BUILT_LATENCY, l->latency)) ||
	       (shown.width != l->width &&
		nla_put_u32(skb, VFAB_A_BUILT_WIDTH, l->width));
}

/* A port, named by attributes for its owner and its number. */
int vf_nl_put_port(struct sk_buff *skb, const struct vf_topo *t, u32 port,
		   int rank_attr, int switch_attr, int port_attr)
{
	u32 v = t->port[port].vertex;

	return nla_put_u32(skb, v < t->world ? rank_attr : switch_attr,
			   v < t->world ? v : v - t->world) ||
	       nla_put_u32(skb, port_attr, port - t->first[v]);
}

static int vf_nl_put_ends(struct sk_buff *skb, const struct vf_topo *t, u32 port)
{
	return vf_nl_put_port(skb, t, port, VFAB_A_RANK, VFAB_A_SWITCH, VFAB_A_PORT) ||
	       vf_nl_put_port(skb, t, t->port[port].peer, VFAB_A_PEER_RANK,
			      VFAB_A_PEER_SWITCH, VFAB_A_PEER_PORT);
}

static int vf_nl_fill_link(const struct vf_nl_to *to, struct vf_domain *dom,
			   unsigned long link)
{
	const struct vf_topo *t = &dom->topo;
	void *hdr = vf_nl_begin(to, dom);

	if (!hdr)
		return -EMSGSIZE;
	return vf_nl_end(to, hdr,
		vf_nl_put_ends(to->skb, t, t->link[link].end[0]) ||
		vf_nl_put_link_state(to->skb, dom, link));
}

static int vf_nl_walk_link(const struct vf_nl_to *to, struct vf_domain *dom,
			   struct nlattr **attrs, unsigned long *index)
{
	const struct vf_links w = vf_links_filter(attrs);
	int ret;

	for (; *index < dom->topo.nlinks; ++*index) {
		if (!vf_links_have(&dom->topo, &w, *index))
			continue;
		ret = vf_nl_fill_link(to, dom, *index);
		if (ret)
			return ret;
	}
	return 0;
}

int vfabric_nl_link_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	struct vf_links w;
	u32 link;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_links(info, dom, &w, &link);
	if (!ret && w.port == VF_NONE && (w.rank == VF_NONE || w.sw == VF_NONE)) {
		GENL_REQ_ATTR_CHECK(info, w.sw == VF_NONE ? VFAB_A_SWITCH : VFAB_A_RANK);
		ret = vf_nl_refuse(info, -1, -EINVAL,
				   "name one link: by rank and switch, or by a port; or dump them");
	}
	if (!ret)
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_link, link);
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_link_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_link);
}

/**
 * struct vf_link_set - what is to become of links
 * @admin:	enum vf_link_admin, or negative
 * @rate:	VF_NONE where it stays as it is, so for latency and width
 */
struct vf_link_set {
	int admin;
	bool restore;
	u32 rate, latency, width;
	u32 period, count;
};

static u32 vf_nl_or_none(struct genl_info *info, int attr)
{
	return info->attrs[attr] ? nla_get_u32(info->attrs[attr]) : VF_NONE;
}

static int vf_nl_link_set(struct genl_info *info, struct vf_link_set *set)
{
	struct nlattr **attrs = info->attrs;
	bool degrade;

	*set = (struct vf_link_set){
		.admin = -1,
		.restore = attrs[VFAB_A_RESTORE],
		.rate = vf_nl_or_none(info, VFAB_A_RATE),
		.latency = vf_nl_or_none(info, VFAB_A_LATENCY),
		.width = vf_nl_or_none(info, VFAB_A_WIDTH),
		.count = attrs[VFAB_A_FLAP_COUNT] ?
			 nla_get_u32(attrs[VFAB_A_FLAP_COUNT]) : 1,
	};
	degrade = set->rate != VF_NONE || set->latency != VF_NONE || set->width != VF_NONE;
	if (attrs[VFAB_A_FLAP_PERIOD])
		set->period = nla_get_u32(attrs[VFAB_A_FLAP_PERIOD]);
	if (attrs[VFAB_A_DRAIN])
		set->admin = VF_LINK_DRAIN;
	else if (attrs[VFAB_A_UP])
		set->admin = nla_get_u8(attrs[VFAB_A_UP]) ? VF_LINK_UP : VF_LINK_DOWN;

	switch (!!attrs[VFAB_A_UP] + !!attrs[VFAB_A_DRAIN] + set->restore + degrade +
		!!set->period) {
	case 1:
		break;
	case 0:
		if (attrs[VFAB_A_FLAP_COUNT])
			return vf_nl_refuse(info, VFAB_A_FLAP_COUNT, -EINVAL,
					    "flap-count goes with flap-period");
		GENL_REQ_ATTR_CHECK(info, VFAB_A_UP);
		fallthrough;
	default:
		return vf_nl_refuse(info, -1, -EINVAL,
			"set one thing: up, drain, restore, flap-period, or some of rate, latency and width");
	}
	if (!set->rate || (set->rate != VF_NONE && set->rate > VF_MAX_RATE))
		return vf_nl_refuse(info, VFAB_A_RATE, -EINVAL,
				    "a link's rate is 1 to 100000000 (10^6 bytes per second)");
	if (set->latency != VF_NONE && set->latency > VF_MAX_LATENCY)
		return vf_nl_refuse(info, VFAB_A_LATENCY, -EINVAL,
				    "a link's latency is at most 1000000000 (nanoseconds)");
	if (!set->count || (attrs[VFAB_A_FLAP_COUNT] && !set->period))
		return vf_nl_refuse(info, VFAB_A_FLAP_COUNT, -EINVAL,
				    "flap-count goes with flap-period, and is at least 1");
	return 0;
}

/* No link is made faster than it was built. */
static int vf_nl_check_rate(struct genl_info *info, const struct vf_topo *t,
			    const struct vf_links *w, u32 rate)
{
	u32 i, at = 0;

	while (rate != VF_NONE && (i = vf_links_next(t, w, &at)) != VF_NONE) {
		if (rate <= t->link[i].rate)
			continue;
		NL_SET_BAD_ATTR(info->extack, info->attrs[VFAB_A_RATE]);
		vf_extack_number(info->extack,
				 "a link's rate is at most the one that it was built with",
				 t->link[i].rate);
		return -EINVAL;
	}
	return 0;
}

static void vf_nl_set_link(struct vf_domain *dom, u32 link, const struct vf_link_set *set)
{
	struct vf_link *l = &dom->topo.link[link];

	if (set->admin >= 0)
		l->admin = set->admin;
	if (set->period) {
		vf_flap_start(dom, link, set->period, set->count);
		return;
	}
	if (set->restore) {
		vf_flap_stop(dom, link);
		l->set = (struct vf_speed){ l->rate, l->latency, l->width };
	}
	if (set->rate != VF_NONE)
		l->set.rate = set->rate;
	if (set->latency != VF_NONE)
		l->set.latency = set->latency;
	if (set->width != VF_NONE)
		l->set.width = set->width;
	vf_fault_speed(dom, link);
}

/* All of the links can flap from now on, or it is as before. */
static int vf_nl_make_flaps(struct vf_domain *dom, const struct vf_links *w)
{
	u32 i, at = 0;
	int ret = 0;

	while (!ret && (i = vf_links_next(&dom->topo, w, &at)) != VF_NONE)
		ret = vf_flap_make(dom, i);
	if (ret)
		vf_flap_unmake(dom);
	return ret;
}

/* Draining is undone where it would cut a pair. */
static int vf_nl_drain(struct genl_info *info, struct vf_domain *dom,
		       const struct vf_links *w, const unsigned long *dests,
		       unsigned long *undo)
{
	struct vf_topo *t = &dom->topo;
	u32 i, at = 0;

	while ((i = vf_links_next(t, w, &at)) != VF_NONE)
		if (t->link[i].admin == VF_LINK_UP) {
			t->link[i].admin = VF_LINK_DRAIN;
			__set_bit(i, undo);
		}
	vf_route_compile(t, dests, NULL);
	if (!vf_change_cuts(dom, dests))
		return 0;
	for_each_set_bit(i, undo, t->nlinks)
		t->link[i].admin = VF_LINK_UP;
	vf_route_compile(t, dests, NULL);
	return vf_nl_refuse(info, VFAB_A_DRAIN, -EBUSY,
			    "a pair of endpoints would lose its last path: take the link down if that is meant");
}

static int vf_nl_set_links(struct sk_buff *skb, struct genl_info *info,
			   struct vf_domain *dom, const struct vf_links *w,
			   struct vf_notice *n)
{
	DECLARE_BITMAP(dests, VF_MAX_WORLD) = { };
	struct vf_link_set set;
	unsigned long *undo;
	u32 i, at = 0;
	int ret;

	ret = vf_nl_link_set(info, &set) ?: vf_nl_check_rate(info, &dom->topo, w, set.rate);
	if (!ret && set.period)
		ret = vf_nl_make_flaps(dom, w);
	if (ret)
		return ret;
	while ((i = vf_links_next(&dom->topo, w, &at)) != VF_NONE)
		vf_change_link(dom, i, dests);
	if (set.admin == VF_LINK_DRAIN) {
		undo = kvcalloc(BITS_TO_LONGS(VF_MAX_LINKS), sizeof(long), VF_GFP_LOCKED);
		if (!undo)
			return -ENOMEM;
		ret = vf_nl_drain(info, dom, w, dests, undo);
		kvfree(undo);
		if (ret)
			return ret;
	} else {
		at = 0;
		while ((i = vf_links_next(&dom->topo, w, &at)) != VF_NONE)
			vf_nl_set_link(dom, i, &set);
	}
	if (info->attrs[VFAB_A_UP])
		n->up = nla_get_u8(info->attrs[VFAB_A_UP]);
	return vf_nl_apply(skb, info, dom, dests, VFAB_REASON_LINK, set.admin < 0, n);
}

static int vf_nl_link_or_port_set(struct sk_buff *skb, struct genl_info *info,
				  int object, bool one)
{
	struct vf_notice n = VF_NOTICE(object, VFAB_ACT_CHANGED, VFAB_WHY_LINK);
	struct vf_domain *dom = vf_nl_write(skb, info);
	struct vf_links w;
	u32 first;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_links(info, dom, &w, &first);
	if (!ret && one && w.rank != VF_NONE && w.sw != VF_NONE)
		ret = vf_nl_refuse(info, VFAB_A_SWITCH, -EINVAL,
				   "name the port's owner: a rank or a switch, not both");
	if (!ret && one && GENL_REQ_ATTR_CHECK(info, VFAB_A_PORT))
		ret = vf_nl_refuse(info, -1, -EINVAL, "name a port by its index");
	if (!ret) {
		n.rank = w.rank == VF_NONE || (!one && info->attrs[VFAB_A_NODE]) ? -1 : w.rank;
		if (!one && info->attrs[VFAB_A_NODE])
			n.node = nla_get_u32(info->attrs[VFAB_A_NODE]);
		n.sw = w.sw == VF_NONE ? -1 : w.sw;
		n.port = w.port == VF_NONE ? -1 : w.port;
		ret = vf_nl_set_links(skb, info, dom, &w, &n);
	}
	vf_nl_done(info, dom);
	return ret;
}

int vfabric_nl_link_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	return vf_nl_link_or_port_set(skb, info, VFAB_OBJ_LINK, false);
}

/* --- Ports ----------------------------------------------------------------------- */

/* @index: of the port in the whole topology: endpoints', then switches' */
static int vf_nl_fill_port(const struct vf_nl_to *to, struct vf_domain *dom,
			   unsigned long index)
{
	const struct vf_topo *t = &dom->topo;
	void *hdr = vf_nl_begin(to, dom);

	if (!hdr)
		return -EMSGSIZE;
	return vf_nl_end(to, hdr,
		vf_nl_put_ends(to->skb, t, index) ||
		vf_nl_put_link_state(to->skb, dom, t->port[index].link));
}

static int vf_nl_walk_port(const struct vf_nl_to *to, struct vf_domain *dom,
			   struct nlattr **attrs, unsigned long *index)
{
	const struct vf_links w = vf_links_filter(attrs);
	const struct vf_topo *t = &dom->topo;
	int ret;

	for (; *index < t->nports; ++*index) {
		u32 v = t->port[*index].vertex;

		if (t->port[*index].link == VF_NONE ||
		    (w.rank != VF_NONE && v != w.rank) ||
		    (w.sw != VF_NONE && v != t->world + w.sw) ||
		    (w.port != VF_NONE && *index - t->first[v] != w.port))
			continue;
		ret = vf_nl_fill_port(to, dom, *index);
		if (ret)
			return ret;
	}
	return 0;
}

/* A port that has a link, by its owner and its number; its place in the topology. */
int vf_nl_port(struct genl_info *info, struct vf_domain *dom, u32 *port)
{
	struct vf_topo *t = &dom->topo;
	u32 owner = 0;
	int ret;

	if (!info->attrs[VFAB_A_RANK] == !info->attrs[VFAB_A_SWITCH])
		ret = vf_nl_refuse(info, VFAB_A_SWITCH, -EINVAL,
				   "name the port's owner: a rank or a switch, not both");
	else if (info->attrs[VFAB_A_RANK])
		ret = vf_nl_rank(info, dom, &owner);
	else
		ret = vf_nl_switch(info, dom, &owner);
	if (!ret && info->attrs[VFAB_A_SWITCH])
		owner += t->world;
	if (!ret)
		ret = vf_nl_index(info, VFAB_A_PORT, vf_vertex_ports(t, owner),
				  "name a port by its index",
				  "the port is not below what its owner has", port);
	if (!ret)
		*port += t->first[owner];
	if (!ret && t->port[*port].link == VF_NONE)
		ret = vf_nl_refuse(info, VFAB_A_PORT, -EINVAL,
				   "there is no link at that port");
	return ret;
}

int vfabric_nl_port_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	u32 port;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_port(info, dom, &port);
	if (!ret)
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_port, port);
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_port_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_port);
}

int vfabric_nl_port_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	return vf_nl_link_or_port_set(skb, info, VFAB_OBJ_PORT, true);
}

/* --- Routing tables -------------------------------------------------------------- */

/* @index: router * world + destination */
static int vf_nl_fill_entry(const struct vf_nl_to *to, struct vf_domain *dom,
			    unsigned long index)
{
	const struct vf_topo *t = &dom->topo;
	u32 v = vf_router_vertex(t, index / t->world);
	struct sk_buff *skb = to->skb;
	void *hdr = vf_nl_begin(to, dom);
	u64 mask = t->mask[index];

	if (!hdr)
		return -EMSGSIZE;
	return vf_nl_end(to, hdr,
		nla_put_u32(skb, v < t->world ? VFAB_A_RANK : VFAB_A_SWITCH,
			    v < t->world ? v : v - t->world) ||
		nla_put_u32(skb, VFAB_A_DEST, index % t->world) ||
		(mask && (nla_put_u32(skb, VFAB_A_EGRESS, t->base[index]) ||
			  (mask != 1 && nla_put_u64_64bit(skb, VFAB_A_EGRESS_MASK, mask,
							  VFAB_A_PAD)))));
}

static int vf_nl_walk_route(const struct vf_nl_to *to, struct vf_domain *dom,
			    struct nlattr **attrs, unsigned long *index)
{
	const struct vf_links w = vf_links_filter(attrs);
	struct nlattr *dest = attrs[VFAB_A_DEST];
	const struct vf_topo *t = &dom->topo;
	int ret;

	for (; *index < (unsigned long)t->routers * t->world; ++*index) {
		u32 v = vf_router_vertex(t, *index / t->world);

		if ((w.sw != VF_NONE && v != t->world + w.sw) ||
		    (w.rank != VF_NONE && v != w.rank) ||
		    (dest && *index % t->world != nla_get_u32(dest)))
			continue;
		ret = vf_nl_fill_entry(to, dom, *index);
		if (ret)
			return ret;
	}
	return 0;
}

static int vf_nl_dest(struct genl_info *info, struct vf_domain *dom, u32 *dest)
{
	return vf_nl_index(info, VFAB_A_DEST, dom->topo.world, vf_need_dest,
			   vf_bad_rank, dest);
}

/* Whose table: a switch's or, where endpoints have one, an endpoint's. */
static int vf_nl_router(struct genl_info *info, struct vf_domain *dom, u32 *router)
{
	u32 rank;
	int ret;

	if (!info->attrs[VFAB_A_RANK])
		return vf_nl_switch(info, dom, router);
	if (info->attrs[VFAB_A_SWITCH])
		return vf_nl_refuse(info, VFAB_A_SWITCH, -EINVAL,
				    "name the table's owner: a switch or a rank, not both");
	if (!dom->topo.forwards)
		return vf_nl_refuse(info, VFAB_A_RANK, -EINVAL,
				    "endpoints of this topology forward nothing and have no table");
	ret = vf_nl_rank(info, dom, &rank);
	if (!ret)
		*router = vf_topo_router(&dom->topo, rank);
	return ret;
}

int vfabric_nl_route_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	u32 router, dest;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_router(info, dom, &router);
	if (!ret)
		ret = vf_nl_dest(info, dom, &dest);
	if (!ret)
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_entry,
				  (unsigned long)router * dom->topo.world + dest);
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_route_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_route);
}

static int vf_nl_egress(struct genl_info *info, u32 *egress, u64 *mask)
{
	struct nlattr **attrs = info->attrs;

	if (!attrs[VFAB_A_EGRESS] == !attrs[VFAB_A_DROP])
		return vf_nl_refuse(info, VFAB_A_DROP, -EINVAL,
				    "give either an egress port or drop");
	if (attrs[VFAB_A_EGRESS_MASK] && !attrs[VFAB_A_EGRESS])
		return vf_nl_refuse(info, VFAB_A_EGRESS_MASK, -EINVAL,
				    "egress-mask goes with egress, the port of its lowest bit");
	*egress = 0;
	*mask = 0;
	if (attrs[VFAB_A_DROP])
		return 0;
	*egress = nla_get_u32(attrs[VFAB_A_EGRESS]);
	*mask = attrs[VFAB_A_EGRESS_MASK] ? nla_get_u64(attrs[VFAB_A_EGRESS_MASK]) : 1;
	if (!(*mask & 1))
		return vf_nl_refuse(info, VFAB_A_EGRESS_MASK, -EINVAL,
				    "egress-mask does not have the bit of egress itself, bit 0");
	return 0;
}

/* One table's entry, or with VF_NONE those of all switches; all or nothing. */
static int vf_nl_set_entries(struct genl_info *info, struct vf_domain *dom, u32 router,
			     u32 dest, u32 egress, u64 mask)
{
	struct vf_topo *t = &dom->topo;
	u32 r, last = router == VF_NONE ? t->switches : router + 1;

	for (r = router == VF_NONE ? 0 : router; r < last; r++) {
		u32 n = vf_vertex_ports(t, vf_router_vertex(t, r));

		if (mask && egress + fls64(mask) > n)
			return vf_nl_refuse(info, VFAB_A_EGRESS, -EINVAL,
					    "the switch has no such port");
	}
	for (r = router == VF_NONE ? 0 : router; r < last; r++)
		vf_topo_set_entry(t, r, dest, egress, mask);
	return 0;
}

/* Attributes are aligned to 4 bytes only. */
static struct vfab_entry_spec vf_nl_entry(const struct nlattr *a, u32 i)
{
	struct vfab_entry_spec e;

	memcpy(&e, nla_data(a) + i * sizeof(e), sizeof(e));
	return e;
}

/* The router that a record names, or VF_NONE. */
static u32 vf_entry_router(const struct vf_topo *t, const struct vfab_entry_spec *e)
{
	u32 index = e->node & ~VFAB_SPEC_SWITCH;

	if (e->node & VFAB_SPEC_SWITCH)
		return index < t->switches ? index : VF_NONE;
	return t->forwards && index < t->world ? vf_topo_router(t, index) : VF_NONE;
}

static const char *vf_entry_wrong(const struct vf_topo *t, const struct vfab_entry_spec *e)
{
	u32 router = vf_entry_router(t, e);

	if (router == VF_NONE)
		return "an entry is of no switch, nor of an endpoint that has a table";
	if (e->dest >= t->world)
		return "an entry's destination is not below the domain's world size";
	if (e->pad || (e->mask && !(e->mask & 1)))
		return "an entry's mask does not have bit 0, or its padding is not 0";
	if (e->mask && e->egress + fls64(e->mask) >
	    vf_vertex_ports(t, vf_router_vertex(t, router)))
		return "an entry has a port that its switch has not";
	return NULL;
}

/* Entries of any tables and destinations: all or nothing. */
static int vf_nl_set_list(struct genl_info *info, struct vf_domain *dom,
			  unsigned long *dests)
{
	struct nlattr *a = info->attrs[VFAB_A_ENTRIES];
	u32 i, n = nla_len(a) / sizeof(struct vfab_entry_spec);
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };
	struct vfab_entry_spec e;
	const char *wrong;

	BUILD_BUG_ON(sizeof(e) != 16);
	if (info->attrs[VFAB_A_SWITCH] || info->attrs[VFAB_A_RANK] ||
	    info->attrs[VFAB_A_DEST] || info->attrs[VFAB_A_EGRESS] ||
	    info->attrs[VFAB_A_EGRESS_MASK] || info->attrs[VFAB_A_DROP])
		return vf_nl_refuse(info, VFAB_A_ENTRIES, -EINVAL,
				    "give entries alone, or one by its attributes");
	if (!n || nla_len(a) % sizeof(e))
		return vf_nl_refuse(info, VFAB_A_ENTRIES, -EINVAL,
			"entries are whole records of struct vfab_entry_spec");
	for (i = 0; i < n; i++) {
		e = vf_nl_entry(a, i);
		wrong = vf_entry_wrong(&dom->topo, &e);
		if (wrong)
			return vf_nl_refuse(info, VFAB_A_ENTRIES, -EINVAL, wrong);
		__set_bit(e.dest, ranks);
	}
	/* Before the first one changes, and once for each destination */
	for_each_set_bit(i, ranks, dom->topo.world)
		vf_change_dest(dom, i, dests);
	for (i = 0; i < n; i++) {
		e = vf_nl_entry(a, i);
		vf_topo_set_entry(&dom->topo, vf_entry_router(&dom->topo, &e), e.dest,
				  e.mask ? e.egress : 0, e.mask);
	}
	return 0;
}

int vfabric_nl_route_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_ROUTE, VFAB_ACT_CHANGED,
				       VFAB_WHY_ROUTE);
	DECLARE_BITMAP(dests, VF_MAX_WORLD) = { };
	struct vf_domain *dom = vf_nl_write(skb, info);
	u32 dest, egress, router = VF_NONE;
	u64 mask;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	if (vf_fault_stalled(dom)) {
		ret = vf_nl_refuse(info, -1, -EAGAIN,
				   "the fabric manager is stalled: routing tables cannot be changed now, try again later");
		goto unlock;
	}
	if (info->attrs[VFAB_A_ENTRIES]) {
		ret = vf_nl_set_list(info, dom, dests);
		if (!ret)
			ret = vf_nl_apply(skb, info, dom, dests, VFAB_REASON_ROUTE, false, &n);
		goto unlock;
	}
	ret = vf_nl_dest(info, dom, &dest);
	if (!ret && (info->attrs[VFAB_A_SWITCH] || info->attrs[VFAB_A_RANK]))
		ret = vf_nl_router(info, dom, &router);
	if (!ret)
		ret = vf_nl_egress(info, &egress, &mask);
	if (!ret) {
		vf_change_dest(dom, dest, dests);
		ret = vf_nl_set_entries(info, dom, router, dest, egress, mask);
	}
	if (!ret) {
		n.dest = dest;
		n.port = mask ? egress : -1;
		if (router < dom->topo.switches)
			n.sw = router;
		else if (router != VF_NONE)
			n.rank = router - dom->topo.switches;
		ret = vf_nl_apply(skb, info, dom, dests, VFAB_REASON_ROUTE, false, &n);
	}
unlock:
	vf_nl_done(info, dom);
	return ret;
}

/* --- Routes ---------------------------------------------------------------------- */

static int vf_nl_pair(struct genl_info *info, struct vf_domain *dom, u32 *src, u32 *dst)
{
	int ret = vf_nl_index(info, VFAB_A_SRC, dom->topo.world, vf_need_pair,
			      vf_bad_rank, src);

	if (!ret)
		ret = vf_nl_index(info, VFAB_A_DST, dom->topo.world, vf_need_pair,
				  vf_bad_rank, dst);
	if (!ret && *src == *dst)
		ret = vf_nl_refuse(info, VFAB_A_DST, -EINVAL,
				   "an endpoint reaches itself without the fabric: give two ranks");
	return ret;
}

static int vf_nl_put_hop(struct sk_buff *skb, const struct vf_topo *t, u32 path,
			 const struct vf_hop *hop, int verdict)
{
	struct nlattr *nest = nla_nest_start(skb, VFAB_A_HOP);
	u32 v = hop->vertex, first = t->first[v];

	if (!nest ||
	    nla_put_u32(skb, v < t->world ? VFAB_HOP_A_RANK : VFAB_HOP_A_SWITCH,
			v < t->world ? v : v - t->world) ||
	    nla_put_u32(skb, VFAB_HOP_A_PATH, path) ||
	    (hop->in != VF_NONE &&
	     nla_put_u32(skb, VFAB_HOP_A_IN_PORT, hop->in - first)) ||
	    (hop->out != VF_NONE &&
	     nla_put_u32(skb, VFAB_HOP_A_OUT_PORT, hop->out - first)) ||
	    (hop->out != VF_NONE && nla_put_u32(skb, VFAB_HOP_A_WAYS, hop->ways)) ||
	    (verdict >= 0 && nla_put_u32(skb, VFAB_HOP_A_VERDICT, verdict)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/*
 * The routers of a path. A path that does not even leave its source shows where
 * it would come to.
 */
static int vf_nl_put_path(struct sk_buff *skb, const struct vf_topo *t, u32 number,
			  struct vf_path *path, u32 dst)
{
	u32 i, first = 1, last = path->hops - 1, out = path->hop[0].out;
	int err = 0;

	if (last && path->hop[last].vertex == dst && last > 1)
		last--;		/* the destination itself */
	if (!last) {
		u32 in = out == VF_NONE ? VF_NONE : t->port[out].peer;

		if (in == VF_NONE)
			return 0;
		path->hop[0] = (struct vf_hop){ t->port[in].vertex, in, VF_NONE, 0 };
		first = 0;
	}
	for (i = first; !err && i <= last; i++)
		err = vf_nl_put_hop(skb, t, number, &path->hop[i],
				    i == last ? path->verdict : -1);
	return err;
}

/* @index: source * world + destination */
static int vf_nl_fill_trace(const struct vf_nl_to *to, struct vf_domain *dom,
			    unsigned long index)
{
	const struct vf_topo *t = &dom->topo;
	u32 src = index / t->world, dst = index % t->world, port, peer;
	struct sk_buff *skb = to->skb;
	struct vf_path path = { };
	struct vf_route route;
	void *hdr;
	int err;

	BUILD_BUG_ON(VFAB_HOP_LIVE != (int)VF_HOP_LIVE ||
		     VFAB_HOP_LOOP != (int)VF_HOP_LOOP);
	path.hop = kcalloc(VF_MAX_HOPS + 1, sizeof(*path.hop), GFP_KERNEL);
	if (!path.hop)
		return -ENOMEM;
	hdr = vf_nl_begin(to, dom);
	if (!hdr) {
		kfree(path.hop);
		return -EMSGSIZE;
	}
	vf_pair_route(dom, src, dst, &route);
	err = nla_put_u32(skb, VFAB_A_SRC, src) ||
	      nla_put_u32(skb, VFAB_A_DST, dst) ||
	      nla_put_u8(skb, VFAB_A_REACHABLE, !!route.paths) ||
	      nla_put_u32(skb, VFAB_A_PATHS, route.paths) ||
	      nla_put_u32(skb, VFAB_A_RATE, route.rate) ||
	      nla_put_u32(skb, VFAB_A_LATENCY, route.latency);
	for (port = 0; !err && port < vf_vertex_ports(t, src); port++) {
		peer = t->port[t->first[src] + port].peer;
		/* Nor is a port a path to whom it does not lead without a switch */
		if (peer == VF_NONE || (t->port[peer].vertex != dst &&
					!vf_topo_is_router(t, t->port[peer].vertex)))
			continue;
		vf_route_walk(t, src, port, dst, &path);
		/* Ports that an endpoint's own table does not use are not shown */
		if (path.hops > 1 || !t->direct)
			err = vf_nl_put_path(skb, t, port, &path, dst);
	}
	kfree(path.hop);
	return vf_nl_end(to, hdr, err);
}

int vfabric_nl_route_trace_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	u32 src, dst;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_pair(info, dom, &src, &dst);
	if (!ret)
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_trace,
				  src * dom->topo.world + dst);
	vf_nl_unlock(dom);
	return ret;
}

static int vf_nl_fill_paths(const struct vf_nl_to *to, struct vf_domain *dom,
			    unsigned long rank)
{
	const struct vf_topo *t = &dom->topo;
	void *hdr = vf_nl_begin(to, dom);
	struct nlattr *a;
	u8 *count;
	u32 i;

	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_u32(to->skb, VFAB_A_RANK, rank))
		return vf_nl_end(to, hdr, -EMSGSIZE);
	a = nla_reserve(to->skb, VFAB_A_PATH_COUNTS, t->world);
	if (!a)
		return vf_nl_end(to, hdr, -EMSGSIZE);
	count = nla_data(a);
	for (i = 0; i < t->world; i++)
		count[i] = i == rank || !vf_joined(dom, rank, i) ? 0 : vf_route_paths(t, rank, i);
	return vf_nl_end(to, hdr, 0);
}

static int vf_nl_walk_paths(const struct vf_nl_to *to, struct vf_domain *dom,
			    struct nlattr **attrs, unsigned long *index)
{
	return vf_nl_walk_index(to, dom, attrs[VFAB_A_RANK], dom->topo.world,
				vf_nl_fill_paths, index);
}

int vfabric_nl_path_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return vf_nl_get_rank(skb, info, vf_nl_fill_paths);
}

int vfabric_nl_path_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_paths);
}
