// SPDX-License-Identifier: GPL-2.0
/* Netlink: switches, ports, links and routing tables. */
#include "netlink.h"

static const char vf_need_up[] = "nothing to set: give up, 1 or 0";
static const char vf_need_sw[] = "name a switch by its index";
static const char vf_bad_sw[] = "the switch is not below the domain's number of planes";
static const char vf_bad_rank[] = "the rank is not below the domain's world size";
static const char vf_need_dest[] = "name the destination rank of the entry";
static const char vf_need_pair[] = "give both src and dst, two ranks";

static int vf_nl_switch(struct genl_info *info, struct vf_domain *dom, u32 *sw)
{
	return vf_nl_index(info, VFAB_A_SWITCH, dom->topo.planes, vf_need_sw,
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
		       struct vf_domain *dom, const unsigned long *ranks,
		       u32 reason, struct vf_notice *n)
{
	struct vf_change chg;

	vf_change_begin(&chg, dom, reason);
	vf_change_routes(&chg, ranks);
	vf_change_commit(&chg);
	n->chg = &chg;
	vf_notify(dom, n);
	return vf_nl_reply(skb, info, dom, vf_nl_fill_changed, (unsigned long)&chg);
}

static int vf_nl_fill_switch(const struct vf_nl_to *to, struct vf_domain *dom,
			     unsigned long sw)
{
	struct sk_buff *skb = to->skb;
	void *hdr = vf_nl_begin(to, dom);
	u32 rank, up = 0;

	if (!hdr)
		return -EMSGSIZE;
	for (rank = 0; rank < dom->topo.world; rank++)
		up += vf_topo_link_up(&dom->topo, rank, sw);
	return vf_nl_end(to, hdr,
		nla_put_u32(skb, VFAB_A_SWITCH, sw) ||
		nla_put_u8(skb, VFAB_A_UP, dom->topo.now.sw_up >> sw & 1) ||
		nla_put_u32(skb, VFAB_A_PORTS_UP, up) ||
		nla_put_u32(skb, VFAB_A_WORLD, dom->topo.world));
}

static int vf_nl_walk_switch(const struct vf_nl_to *to, struct vf_domain *dom,
			     struct nlattr **attrs, unsigned long *index)
{
	struct nlattr *only = attrs[VFAB_A_SWITCH];
	int ret;

	for (; *index < dom->topo.planes; ++*index) {
		if (only && *index != nla_get_u32(only))
			continue;
		ret = vf_nl_fill_switch(to, dom, *index);
		if (ret)
			return ret;
	}
	return 0;
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
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };
	struct vf_domain *dom = vf_nl_write(skb, info);
	u32 sw;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_switch(info, dom, &sw);
	if (!ret && GENL_REQ_ATTR_CHECK(info, VFAB_A_UP))
		ret = vf_nl_refuse(info, -1, -EINVAL, vf_need_up);
	if (!ret) {
		n.sw = sw;
		n.up = nla_get_u8(info->attrs[VFAB_A_UP]);
		vf_topo_set_switch(&dom->topo, sw, n.up);
		bitmap_fill(ranks, dom->topo.world);
		ret = vf_nl_apply(skb, info, dom, ranks, VFAB_REASON_LINK, &n);
	}
	vf_nl_unlock(dom);
	return ret;
}

static int vf_nl_put_link_state(struct sk_buff *skb, struct vf_domain *dom,
				u32 rank, u32 sw)
{
	const struct vf_topo *t = &dom->topo;
	bool admin = t->now.port_up[rank] >> sw & 1;
	bool up = vf_topo_link_up(t, rank, sw);
	u32 reason = VFAB_LINK_REASON_NONE;

	if (!admin)
		reason = VFAB_LINK_REASON_ADMIN;
	else if (!up)
		reason = VFAB_LINK_REASON_SWITCH;
	return nla_put_u8(skb, VFAB_A_UP, admin) ||
	       nla_put_u32(skb, VFAB_A_LINK_STATE,
			   up ? VFAB_LINK_ACTIVE : VFAB_LINK_OFF) ||
	       nla_put_u32(skb, VFAB_A_LINK_REASON, reason) ||
	       nla_put_u32(skb, VFAB_A_RATE, t->rate) ||
	       nla_put_u32(skb, VFAB_A_LATENCY, t->latency);
}

/* @index: rank * planes + switch */
static int vf_nl_fill_link(const struct vf_nl_to *to, struct vf_domain *dom,
			   unsigned long index)
{
	u32 rank = index / dom->topo.planes, sw = index % dom->topo.planes;
	struct sk_buff *skb = to->skb;
	void *hdr = vf_nl_begin(to, dom);

	if (!hdr)
		return -EMSGSIZE;
	return vf_nl_end(to, hdr,
		nla_put_u32(skb, VFAB_A_RANK, rank) ||
		nla_put_u32(skb, VFAB_A_SWITCH, sw) ||
		vf_nl_put_link_state(skb, dom, rank, sw));
}

static int vf_nl_walk_link(const struct vf_nl_to *to, struct vf_domain *dom,
			   struct nlattr **attrs, unsigned long *index)
{
	struct nlattr *rank = attrs[VFAB_A_RANK], *sw = attrs[VFAB_A_SWITCH];
	u32 planes = dom->topo.planes;
	int ret;

	for (; *index < (unsigned long)dom->topo.world * planes; ++*index) {
		if ((rank && *index / planes != nla_get_u32(rank)) ||
		    (sw && *index % planes != nla_get_u32(sw)))
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
	u32 rank, sw;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_rank(info, dom, &rank);
	if (!ret)
		ret = vf_nl_switch(info, dom, &sw);
	if (!ret)
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_link,
				  rank * dom->topo.planes + sw);
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_link_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_link);
}

/* Links of rank or of all (-1), to switch or to all (-1). */
static int vf_nl_set_links(struct sk_buff *skb, struct genl_info *info,
			   struct vf_domain *dom, int rank, int sw,
			   struct vf_notice *n)
{
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };
	u32 r, s;

	if (GENL_REQ_ATTR_CHECK(info, VFAB_A_UP))
		return vf_nl_refuse(info, -1, -EINVAL, vf_need_up);
	n->up = nla_get_u8(info->attrs[VFAB_A_UP]);
	for (r = 0; r < dom->topo.world; r++) {
		if ((rank >= 0 && r != rank) ||
		    (n->node >= 0 && vf_node_of(dom, r) != n->node))
			continue;
		__set_bit(r, ranks);
		for (s = 0; s < dom->topo.planes; s++)
			if (sw < 0 || s == sw)
				vf_topo_set_link(&dom->topo, r, s, n->up);
	}
	return vf_nl_apply(skb, info, dom, ranks, VFAB_REASON_LINK, n);
}

int vfabric_nl_link_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_LINK, VFAB_ACT_CHANGED, VFAB_WHY_LINK);
	struct vf_domain *dom = vf_nl_write(skb, info);
	int ret = 0;
	u32 value;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	if (info->attrs[VFAB_A_RANK]) {
		ret = vf_nl_rank(info, dom, &value);
		n.rank = value;
	}
	if (!ret && info->attrs[VFAB_A_SWITCH]) {
		ret = vf_nl_switch(info, dom, &value);
		n.sw = value;
	}
	if (!ret && info->attrs[VFAB_A_NODE]) {
		ret = vf_nl_node(info, dom, &value);
		n.node = value;
	}
	if (!ret && n.rank < 0 && n.sw < 0 && n.node < 0)
		ret = vf_nl_refuse(info, -1, -EINVAL,
				   "name links by rank or node, by switch or by both");
	if (!ret)
		ret = vf_nl_set_links(skb, info, dom, n.rank, n.sw, &n);
	vf_nl_unlock(dom);
	return ret;
}

/* A port of an endpoint, or with @sw_side the other end of the same link. */
static int vf_nl_put_port(const struct vf_nl_to *to, struct vf_domain *dom,
			  u32 rank, u32 sw, bool sw_side)
{
	struct sk_buff *skb = to->skb;
	void *hdr = vf_nl_begin(to, dom);

	if (!hdr)
		return -EMSGSIZE;
	return vf_nl_end(to, hdr,
		nla_put_u32(skb, sw_side ? VFAB_A_SWITCH : VFAB_A_RANK,
			    sw_side ? sw : rank) ||
		nla_put_u32(skb, VFAB_A_PORT, sw_side ? rank : sw) ||
		nla_put_u32(skb, sw_side ? VFAB_A_PEER_RANK : VFAB_A_PEER_SWITCH,
			    sw_side ? rank : sw) ||
		nla_put_u32(skb, VFAB_A_PEER_PORT, sw_side ? sw : rank) ||
		vf_nl_put_link_state(skb, dom, rank, sw));
}

/* @index: rank * planes + port, then world * planes + switch * world + port */
static int vf_nl_fill_port(const struct vf_nl_to *to, struct vf_domain *dom,
			   unsigned long index)
{
	u32 world = dom->topo.world, planes = dom->topo.planes;

	if (index < world * planes)
		return vf_nl_put_port(to, dom, index / planes, index % planes, false);
	index -= world * planes;
	return vf_nl_put_port(to, dom, index % world, index / world, true);
}

static int vf_nl_walk_port(const struct vf_nl_to *to, struct vf_domain *dom,
			   struct nlattr **attrs, unsigned long *index)
{
	struct nlattr *rank = attrs[VFAB_A_RANK], *sw = attrs[VFAB_A_SWITCH];
	struct nlattr *port = attrs[VFAB_A_PORT];
	u32 world = dom->topo.world, planes = dom->topo.planes;
	u32 owner, number;
	bool sw_side;
	int ret;

	for (; *index < 2UL * world * planes; ++*index) {
		sw_side = *index >= world * planes;
		owner = sw_side ? *index / world - planes : *index / planes;
		number = sw_side ? *index % world : *index % planes;
		if ((rank && (sw_side || owner != nla_get_u32(rank))) ||
		    (sw && (!sw_side || owner != nla_get_u32(sw))) ||
		    (port && number != nla_get_u32(port)))
			continue;
		ret = vf_nl_fill_port(to, dom, *index);
		if (ret)
			return ret;
	}
	return 0;
}

/* The link that a port is an end of, and the port's index for the filler. */
static int vf_nl_port(struct genl_info *info, struct vf_domain *dom, u32 *rank,
		      u32 *sw, unsigned long *index)
{
	static const char need[] = "name a port by its index";
	static const char range[] = "the port is not below what its owner has";
	u32 world = dom->topo.world, planes = dom->topo.planes;
	int ret;

	if (!info->attrs[VFAB_A_RANK] == !info->attrs[VFAB_A_SWITCH])
		return vf_nl_refuse(info, VFAB_A_SWITCH, -EINVAL,
				    "name the port's owner: a rank or a switch, not both");
	if (info->attrs[VFAB_A_RANK]) {
		ret = vf_nl_rank(info, dom, rank) ?:
		      vf_nl_index(info, VFAB_A_PORT, planes, need, range, sw);
		*index = *rank * planes + *sw;
	} else {
		ret = vf_nl_switch(info, dom, sw) ?:
		      vf_nl_index(info, VFAB_A_PORT, world, need, range, rank);
		*index = world * planes + *sw * world + *rank;
	}
	return ret;
}

int vfabric_nl_port_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	u32 rank = 0, sw = 0;
	unsigned long index;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_port(info, dom, &rank, &sw, &index);
	if (!ret)
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_port, index);
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_port_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_port);
}

int vfabric_nl_port_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_PORT, VFAB_ACT_CHANGED, VFAB_WHY_LINK);
	struct vf_domain *dom = vf_nl_write(skb, info);
	u32 rank = 0, sw = 0;
	unsigned long index;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_port(info, dom, &rank, &sw, &index);
	if (!ret) {
		bool sw_side = info->attrs[VFAB_A_SWITCH];

		n.rank = sw_side ? -1 : rank;
		n.sw = sw_side ? sw : -1;
		n.port = sw_side ? rank : sw;
		ret = vf_nl_set_links(skb, info, dom, rank, sw, &n);
	}
	vf_nl_unlock(dom);
	return ret;
}

/* @index: switch * world + destination */
static int vf_nl_fill_route(const struct vf_nl_to *to, struct vf_domain *dom,
			    unsigned long index)
{
	u16 egress = dom->topo.table[index];
	struct sk_buff *skb = to->skb;
	void *hdr = vf_nl_begin(to, dom);

	if (!hdr)
		return -EMSGSIZE;
	return vf_nl_end(to, hdr,
		nla_put_u32(skb, VFAB_A_SWITCH, index / dom->topo.world) ||
		nla_put_u32(skb, VFAB_A_DEST, index % dom->topo.world) ||
		(egress != VF_NO_PORT && nla_put_u32(skb, VFAB_A_EGRESS, egress)));
}

static int vf_nl_walk_route(const struct vf_nl_to *to, struct vf_domain *dom,
			    struct nlattr **attrs, unsigned long *index)
{
	struct nlattr *sw = attrs[VFAB_A_SWITCH], *dest = attrs[VFAB_A_DEST];
	u32 world = dom->topo.world;
	int ret;

	for (; *index < (unsigned long)world * dom->topo.planes; ++*index) {
		if ((sw && *index / world != nla_get_u32(sw)) ||
		    (dest && *index % world != nla_get_u32(dest)))
			continue;
		ret = vf_nl_fill_route(to, dom, *index);
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

int vfabric_nl_route_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	u32 sw, dest;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_switch(info, dom, &sw);
	if (!ret)
		ret = vf_nl_dest(info, dom, &dest);
	if (!ret)
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_route,
				  sw * dom->topo.world + dest);
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_route_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_route);
}

static int vf_nl_egress(struct genl_info *info, struct vf_domain *dom, u32 *egress)
{
	if (!info->attrs[VFAB_A_EGRESS] == !info->attrs[VFAB_A_DROP])
		return vf_nl_refuse(info, VFAB_A_DROP, -EINVAL,
				    "give either an egress port or drop");
	*egress = VF_NO_PORT;
	if (info->attrs[VFAB_A_DROP])
		return 0;
	return vf_nl_index(info, VFAB_A_EGRESS, dom->topo.world, "",
			   "the switch has no such port", egress);
}

int vfabric_nl_route_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_ROUTE, VFAB_ACT_CHANGED,
				       VFAB_WHY_ROUTE);
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };
	struct vf_domain *dom = vf_nl_write(skb, info);
	u32 dest, egress, value, sw;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_dest(info, dom, &dest);
	if (!ret && info->attrs[VFAB_A_SWITCH]) {
		ret = vf_nl_switch(info, dom, &value);
		n.sw = value;
	}
	if (!ret)
		ret = vf_nl_egress(info, dom, &egress);
	if (!ret) {
		n.dest = dest;
		n.port = egress == VF_NO_PORT ? -1 : egress;
		for (sw = 0; sw < dom->topo.planes; sw++)
			if (n.sw < 0 || sw == n.sw)
				vf_topo_set_entry(&dom->topo, sw, dest, egress);
		__set_bit(dest, ranks);
		ret = vf_nl_apply(skb, info, dom, ranks, VFAB_REASON_ROUTE, &n);
	}
	vf_nl_unlock(dom);
	return ret;
}

static int vf_nl_put_hop(struct sk_buff *skb, struct vf_domain *dom, u32 src,
			 u32 dst, u32 sw)
{
	u16 out = dom->topo.table[sw * dom->topo.world + dst];
	struct nlattr *nest = nla_nest_start(skb, VFAB_A_HOP);

	if (!nest || nla_put_u32(skb, VFAB_HOP_A_SWITCH, sw) ||
	    nla_put_u32(skb, VFAB_HOP_A_IN_PORT, src) ||
	    (out != VF_NO_PORT && nla_put_u32(skb, VFAB_HOP_A_OUT_PORT, out)) ||
	    nla_put_u32(skb, VFAB_HOP_A_VERDICT,
			vf_route_verdict(&dom->topo, src, dst, sw)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* @index: source * world + destination */
static int vf_nl_fill_trace(const struct vf_nl_to *to, struct vf_domain *dom,
			    unsigned long index)
{
	u32 src = index / dom->topo.world, dst = index % dom->topo.world;
	u64 planes = vf_pair_planes(dom, src, dst);
	struct sk_buff *skb = to->skb;
	void *hdr = vf_nl_begin(to, dom);
	u32 sw;
	int err;

	BUILD_BUG_ON(VFAB_HOP_LIVE != (int)VF_PLANE_LIVE ||
		     VFAB_HOP_NO_RETURN != (int)VF_PLANE_NO_RETURN);
	if (!hdr)
		return -EMSGSIZE;
	err = nla_put_u32(skb, VFAB_A_SRC, src) ||
	      nla_put_u32(skb, VFAB_A_DST, dst) ||
	      nla_put_u8(skb, VFAB_A_REACHABLE, !!planes) ||
	      nla_put_u32(skb, VFAB_A_PATHS, hweight64(planes)) ||
	      nla_put_u32(skb, VFAB_A_RATE,
			  min_t(u64, (u64)hweight64(planes) * dom->topo.rate, U32_MAX)) ||
	      nla_put_u32(skb, VFAB_A_LATENCY, dom->topo.latency);
	for (sw = 0; !err && sw < dom->topo.planes; sw++)
		err = vf_nl_put_hop(skb, dom, src, dst, sw);
	return vf_nl_end(to, hdr, err);
}

int vfabric_nl_route_trace_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	u32 src, dst;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_index(info, VFAB_A_SRC, dom->topo.world, vf_need_pair,
			  vf_bad_rank, &src);
	if (!ret)
		ret = vf_nl_index(info, VFAB_A_DST, dom->topo.world, vf_need_pair,
				  vf_bad_rank, &dst);
	if (!ret && src == dst)
		ret = vf_nl_refuse(info, VFAB_A_DST, -EINVAL,
				   "an endpoint reaches itself without the fabric: give two ranks");
	if (!ret)
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_trace,
				  src * dom->topo.world + dst);
	vf_nl_unlock(dom);
	return ret;
}
