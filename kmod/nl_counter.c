// SPDX-License-Identifier: GPL-2.0
/* Netlink: counters. */
#include "netlink.h"

/* When there is something that moves a counter */
enum vf_nl_source {
	VF_NL_ALWAYS,
	VF_NL_COUNTING,		/* some endpoint counts bytes */
	VF_NL_PACED,		/* time is, or was, reserved */
};

/* Where a counter is, in struct vf_counts, vf_port_counts or vf_port_moved */
struct vf_nl_counter {
	u8 id;
	u8 source;
	u8 offset;
};

#define VF_NL_COUNTER(id, source, type, field) \
	{ VFAB_COUNTER_##id, VF_NL_##source, offsetof(struct type, field) }

static const struct vf_nl_counter vf_nl_port_moved[] = {
	VF_NL_COUNTER(PORT_XMIT_BYTES, COUNTING, vf_port_moved, xmit_bytes),
	VF_NL_COUNTER(PORT_RCV_BYTES, COUNTING, vf_port_moved, rcv_bytes),
	VF_NL_COUNTER(PORT_XMIT_WAIT, PACED, vf_port_moved, xmit_wait),
};

static const struct vf_nl_counter vf_nl_port_counters[] = {
	VF_NL_COUNTER(LINK_DOWNED, ALWAYS, vf_port_counts, link_downed),
	VF_NL_COUNTER(LINK_ERROR_RECOVERY, ALWAYS, vf_port_counts, link_error_recovery),
};

static const struct vf_nl_counter vf_nl_counters[] = {
	VF_NL_COUNTER(XMIT_BYTES, COUNTING, vf_counts, xmit_bytes),
	VF_NL_COUNTER(RCV_BYTES, COUNTING, vf_counts, rcv_bytes),
	VF_NL_COUNTER(XMIT_OPS, COUNTING, vf_counts, xmit_ops),
	VF_NL_COUNTER(RCV_OPS, COUNTING, vf_counts, rcv_ops),
	VF_NL_COUNTER(ATTACHES, ALWAYS, vf_counts, attaches),
	VF_NL_COUNTER(PEERS_LOST, ALWAYS, vf_counts, peers_lost),
	VF_NL_COUNTER(WINDOWS_REVOKED, ALWAYS, vf_counts, windows_revoked),
	VF_NL_COUNTER(IMPORTS_REFUSED, ALWAYS, vf_counts, imports_refused),
	VF_NL_COUNTER(RING_CALLS, ALWAYS, vf_counts, ring_calls),
	VF_NL_COUNTER(WAIT_CALLS, ALWAYS, vf_counts, wait_calls),
	VF_NL_COUNTER(EVENTS_DROPPED, ALWAYS, vf_counts, events_dropped),
};

static bool vf_nl_has_source(const struct vf_domain *dom, u8 source)
{
	switch (source) {
	case VF_NL_COUNTING:
		return dom->counting;
	case VF_NL_PACED:
		return dom->busy;
	}
	return true;
}

static int vf_nl_put_counter(struct sk_buff *skb, u32 id, u64 value)
{
	struct nlattr *nest = nla_nest_start(skb, VFAB_A_COUNTER);

	if (!nest || nla_put_u32(skb, VFAB_COUNTER_A_ID, id) ||
	    nla_put_u64_64bit(skb, VFAB_COUNTER_A_VALUE, value, VFAB_COUNTER_A_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int vf_nl_put_counters(struct sk_buff *skb, const struct vf_domain *dom,
			      const struct vf_nl_counter *c, unsigned int n,
			      const void *counts)
{
	int err = 0;

	for (; n && !err; n--, c++)
		if (vf_nl_has_source(dom, c->source))
			err = vf_nl_put_counter(skb, c->id,
						*(const u64 *)(counts + c->offset));
	return err;
}

/* @index: of an endpoint, or behind those, of a port in the whole topology */
static int vf_nl_fill_counters(const struct vf_nl_to *to, struct vf_domain *dom,
			       unsigned long index)
{
	const struct vf_topo *t = &dom->topo;
	void *hdr = vf_nl_begin(to, dom);
	u32 port = index - t->world;

	if (!hdr)
		return -EMSGSIZE;
	if (index < t->world)
		return vf_nl_end(to, hdr,
			nla_put_u32(to->skb, VFAB_A_RANK, index) ||
			vf_nl_put_counters(to->skb, dom, vf_nl_counters,
					   ARRAY_SIZE(vf_nl_counters),
					   &dom->counts[index]));
	return vf_nl_end(to, hdr,
		vf_nl_put_port(to->skb, t, port, VFAB_A_RANK, VFAB_A_SWITCH, VFAB_A_PORT) ||
		(dom->port_moved &&
		 vf_nl_put_counters(to->skb, dom, vf_nl_port_moved,
				    ARRAY_SIZE(vf_nl_port_moved),
				    &dom->port_moved[port])) ||
		vf_nl_put_counters(to->skb, dom, vf_nl_port_counters,
				   ARRAY_SIZE(vf_nl_port_counters),
				   &dom->port_counts[port]));
}

/* Is the object at @index, as above, one of those that attributes name? */
static bool vf_nl_counted(const struct vf_topo *t, struct nlattr **attrs,
			  unsigned long index)
{
	struct nlattr *rank = attrs[VFAB_A_RANK], *sw = attrs[VFAB_A_SWITCH];
	struct nlattr *number = attrs[VFAB_A_PORT];
	u32 v = index, port = index - t->world;

	if (index >= t->world) {
		if (t->port[port].link == VF_NONE)
			return false;
		v = t->port[port].vertex;
		if (number && port - t->first[v] != nla_get_u32(number))
			return false;
	} else if (number) {
		return false;
	}
	return (!rank && !sw) || (rank && v == nla_get_u32(rank)) ||
	       (sw && v == t->world + nla_get_u32(sw));
}

static int vf_nl_walk_counters(const struct vf_nl_to *to, struct vf_domain *dom,
			       struct nlattr **attrs, unsigned long *index)
{
	const struct vf_topo *t = &dom->topo;
	int ret;

	if (!*index)
		vf_counters_collect(dom);
	for (; *index < t->world + t->nports; ++*index) {
		if (!vf_nl_counted(t, attrs, *index))
			continue;
		ret = vf_nl_fill_counters(to, dom, *index);
		if (ret)
			return ret;
	}
	return 0;
}

/* What a request names, checked: its owner, and its port if there is one. */
static int vf_nl_check_counted(struct genl_info *info, struct vf_domain *dom, u32 *index)
{
	int ret;

	if (info->attrs[VFAB_A_PORT]) {
		ret = vf_nl_port(info, dom, index);
		*index += dom->topo.world;
		return ret;
	}
	if (info->attrs[VFAB_A_RANK] && info->attrs[VFAB_A_SWITCH])
		return vf_nl_refuse(info, VFAB_A_SWITCH, -EINVAL,
				    "give a rank or a switch, not both");
	return info->attrs[VFAB_A_SWITCH] ? vf_nl_switch(info, dom, index) :
					    vf_nl_rank(info, dom, index);
}

int vfabric_nl_counter_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	u32 index;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_check_counted(info, dom, &index);
	if (!ret && info->attrs[VFAB_A_SWITCH] && !info->attrs[VFAB_A_PORT])
		ret = vf_nl_refuse(info, VFAB_A_SWITCH, -EINVAL,
				   "a switch counts at its ports: name one, or dump them");
	if (!ret) {
		vf_counters_collect(dom);
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_counters, index);
	}
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_counter_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_counters);
}

static void vf_nl_clear_counted(struct vf_domain *dom, struct nlattr **attrs)
{
	const struct vf_topo *t = &dom->topo;
	unsigned long i;

	vf_counters_collect(dom);
	for (i = 0; i < t->world + t->nports; i++) {
		if (!vf_nl_counted(t, attrs, i))
			continue;
		if (i < t->world) {
			memset(&dom->counts[i], 0, sizeof(*dom->counts));
			continue;
		}
		memset(&dom->port_counts[i - t->world], 0, sizeof(*dom->port_counts));
		if (dom->port_moved)
			memset(&dom->port_moved[i - t->world], 0, sizeof(*dom->port_moved));
	}
}

int vfabric_nl_counter_clear_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_COUNTER, VFAB_ACT_CHANGED,
				       VFAB_WHY_ADMIN);
	struct vf_domain *dom = vf_nl_write(skb, info);
	struct nlattr **attrs = info->attrs;
	int ret = 0;
	u32 index;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	if (attrs[VFAB_A_RANK] || attrs[VFAB_A_SWITCH] || attrs[VFAB_A_PORT])
		ret = vf_nl_check_counted(info, dom, &index);
	if (!ret) {
		vf_nl_clear_counted(dom, attrs);
		if (attrs[VFAB_A_RANK])
			n.rank = nla_get_u32(attrs[VFAB_A_RANK]);
		if (attrs[VFAB_A_SWITCH])
			n.sw = nla_get_u32(attrs[VFAB_A_SWITCH]);
		if (attrs[VFAB_A_PORT])
			n.port = nla_get_u32(attrs[VFAB_A_PORT]);
		vf_notify(dom, &n);
	}
	vf_nl_done(info, dom);
	return ret;
}
