// SPDX-License-Identifier: GPL-2.0
/* Netlink: backplanes, and their nodes. */
#include <linux/netlink.h>
#include <net/sock.h>
#include "backplane_dev.h"
#include "netlink.h"

/* Where a dump stands */
struct vf_nl_bp_cursor {
	unsigned long index;		/* of the backplane */
	unsigned long node;
};

static bool vf_nl_bp_is(const struct vf_bp_dev *bd, const struct nlattr *name)
{
	return !name || !nla_strcmp(name, bd->bp.name);
}

/* The backplane of this name, or an ERR_PTR */
static struct vf_bp_dev *vf_nl_bp_named(struct net *net, struct nlattr *name,
					struct netlink_ext_ack *extack)
{
	struct vf_bp_dev *bd = vf_backplane_get(net, nla_data(name));

	if (bd)
		return bd;
	NL_SET_ERR_MSG_ATTR(extack, name,
			    "this machine is on no such backplane, or it is not seen in this network namespace");
	return ERR_PTR(-ENOENT);
}

/* The backplane that a request names, or an ERR_PTR */
static struct vf_bp_dev *vf_nl_bp_find(struct genl_info *info)
{
	struct nlattr *name = info->attrs[VFAB_A_BACKPLANE];

	if (name)
		return vf_nl_bp_named(genl_info_net(info), name, info->extack);
	NL_SET_ERR_MSG(info->extack, "name a backplane: attribute backplane");
	return ERR_PTR(-EINVAL);
}

/* A dump that begins: is there the one that it names? */
static int vf_nl_bp_begin(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct vf_nl_bp_cursor *cur = (struct vf_nl_bp_cursor *)cb->ctx;
	struct nlattr *name = vf_dump_attrs(cb)[VFAB_A_BACKPLANE];
	struct vf_bp_dev *bd;

	if (!name || cur->index || cur->node)
		return 0;
	bd = vf_nl_bp_named(sock_net(skb->sk), name, cb->extack);
	if (IS_ERR(bd))
		return PTR_ERR(bd);
	vf_backplane_put(bd);
	return 0;
}

static int vf_nl_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, VFAB_A_PAD);
}

static int vf_nl_put_interrupts(struct sk_buff *skb, const struct vf_bp_dev *bd)
{
	u64 count = 0, held = 0;
	u32 i;

	for (i = 0; i < VF_BP_IRQS; i++) {
		count += READ_ONCE(bd->irq[i].count);
		held += READ_ONCE(bd->irq[i].held);
	}
	return vf_nl_put_u64(skb, VFAB_A_INTERRUPTS, count) ||
	       vf_nl_put_u64(skb, VFAB_A_INTERRUPTS_HELD, held);
}

static int vf_nl_put_ms(struct sk_buff *skb, int attr, u64 ms)
{
	return nla_put_u32(skb, attr, min_t(u64, ms, U32_MAX));
}

static int vf_nl_put_bp(const struct vf_nl_to *to, struct vf_bp_dev *bd)
{
	struct sk_buff *skb = to->skb;
	void *hdr = vf_nl_begin(to, NULL);
	int err;

	if (!hdr)
		return -EMSGSIZE;
	mutex_lock(&bd->lock);
	err = nla_put_string(skb, VFAB_A_BACKPLANE, bd->bp.name) ||
	      nla_put(skb, VFAB_A_UUID, sizeof(bd->bp.uuid), bd->bp.uuid) ||
	      nla_put_u32(skb, VFAB_A_NODE, bd->self) ||
	      nla_put_u32(skb, VFAB_A_NODES, bd->bp.nodes) ||
	      vf_nl_put_u64(skb, VFAB_A_SIZE, bd->bp.size) ||
	      nla_put_u32(skb, VFAB_A_BACKPLANE_STATE, bd->state) ||
	      vf_nl_put_u64(skb, VFAB_A_INCARNATION, bd->incarnation) ||
	      nla_put_u32(skb, VFAB_A_BEAT_PERIOD, bd->period_ms) ||
	      nla_put_u32(skb, VFAB_A_BEAT_TIMEOUT, bd->timeout_ms) ||
	      vf_nl_put_u64(skb, VFAB_A_CHANGE, bd->change) ||
	      vf_nl_put_u64(skb, VFAB_A_DATA_SIZE, bd->bp.data_size) ||
	      vf_nl_put_u64(skb, VFAB_A_DATA_USED, bd->used) ||
	      vf_nl_put_u64(skb, VFAB_A_DATA_WAITING, bd->pending) ||
	      nla_put_u8(skb, VFAB_A_DATA_READY, bd->ready) ||
	      nla_put_u8(skb, VFAB_A_CACHED, bd->cached) ||
	      nla_put_u32(skb, VFAB_A_FENCES, bd->fences) ||
	      vf_nl_put_ms(skb, VFAB_A_SWITCHD_AGE, bd->daemon_age_ms) ||
	      vf_nl_put_interrupts(skb, bd);
	mutex_unlock(&bd->lock);
	return vf_nl_end(to, hdr, err);
}

/* What a node says of itself, and this kernel of it, if it makes any sense */
static int vf_nl_put_said(struct sk_buff *skb, struct vf_bp_dev *bd, u32 node)
{
	struct vfab_bp_node n;

	if (vf_bp_read_node(&bd->bp, node, &n))
		return nla_put_u32(skb, VFAB_A_BACKPLANE_STATE, VFAB_BACKPLANE_NONE);
	return nla_put_u32(skb, VFAB_A_BACKPLANE_STATE, le32_to_cpu(n.state)) ||
	       vf_nl_put_u64(skb, VFAB_A_INCARNATION, le64_to_cpu(n.incarnation)) ||
	       nla_put_u32(skb, VFAB_A_BEAT_PERIOD, le32_to_cpu(n.period_ms)) ||
	       nla_put_u32(skb, VFAB_A_BEAT_TIMEOUT, le32_to_cpu(n.timeout_ms)) ||
	       (le32_to_cpu(n.flags) & VFAB_BP_NODE_COOPERATIVE &&
		nla_put_flag(skb, VFAB_A_COOPERATIVE)) ||
	       vf_nl_put_u64(skb, VFAB_A_CHANGE,
			     vf_bp_load(&vf_bp_slot(&bd->bp, node)->beat.change));
}

static int vf_nl_put_seen(struct sk_buff *skb, struct vf_bp_dev *bd, u32 node)
{
	const struct vf_bp_other *o = &bd->other[node];
	struct vfab_bp_follow f;

	if (node == bd->self)
		return nla_put_u32(skb, VFAB_A_BACKPLANE_VIEW, VFAB_BACKPLANE_VIEW_SELF);
	return nla_put_u32(skb, VFAB_A_BACKPLANE_VIEW, o->state) ||
	       nla_put_u32(skb, VFAB_A_BACKPLANE_WHY, o->why) ||
	       (o->state == VF_BP_OTHER_LIVE &&
		(vf_nl_put_ms(skb, VFAB_A_BEAT_AGE, o->age_ms) ||
		 nla_put_u32(skb, VFAB_A_UNMIRRORED, READ_ONCE(o->unmirrored)))) ||
	       (!vf_bp_read_follow(&bd->bp, node, bd->self, &f) &&
		le64_to_cpu(f.incarnation) == bd->incarnation &&
		vf_nl_put_u64(skb, VFAB_A_FOLLOWED, le64_to_cpu(f.change)));
}

static int vf_nl_put_bp_node(const struct vf_nl_to *to, struct vf_bp_dev *bd, u32 node)
{
	struct sk_buff *skb = to->skb;
	void *hdr = vf_nl_begin(to, NULL);
	struct vfab_bp_peer peer;
	int err;

	BUILD_BUG_ON(VF_BP_OTHER_LOST != (int)VFAB_BACKPLANE_VIEW_LOST);
	BUILD_BUG_ON(VF_BP_WHY_CLOSED != (int)VFAB_BACKPLANE_WHY_CLOSED);
	BUILD_BUG_ON(VFAB_BP_NODE_FENCED != (int)VFAB_BACKPLANE_FENCED);
	if (!hdr)
		return -EMSGSIZE;
	mutex_lock(&bd->lock);
	err = nla_put_string(skb, VFAB_A_BACKPLANE, bd->bp.name) ||
	      nla_put_u32(skb, VFAB_A_NODE, node) ||
	      (!vf_bp_read_peer(&bd->bp, node, &peer) &&
	       nla_put_u8(skb, VFAB_A_CONNECTED, peer.state != 0)) ||
	      vf_nl_put_said(skb, bd, node) ||
	      vf_nl_put_seen(skb, bd, node);
	mutex_unlock(&bd->lock);
	return vf_nl_end(to, hdr, err);
}

static int vf_nl_fill_bp(const struct vf_nl_to *to, struct vf_domain *dom, unsigned long index)
{
	return vf_nl_put_bp(to, (struct vf_bp_dev *)index);
}

int vfabric_nl_backplane_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_bp_dev *bd = vf_nl_bp_find(info);
	int ret;

	if (IS_ERR(bd))
		return PTR_ERR(bd);
	ret = vf_nl_reply(skb, info, NULL, vf_nl_fill_bp, (unsigned long)bd);
	vf_backplane_put(bd);
	return ret;
}

struct vf_nl_bp_one {
	struct vf_bp_dev *bd;
	u32 node;
};

static int vf_nl_fill_bp_node(const struct vf_nl_to *to, struct vf_domain *dom,
			      unsigned long index)
{
	const struct vf_nl_bp_one *one = (const struct vf_nl_bp_one *)index;

	return vf_nl_put_bp_node(to, one->bd, one->node);
}

int vfabric_nl_backplane_node_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_nl_bp_one one = { vf_nl_bp_find(info) };
	int ret;

	if (IS_ERR(one.bd))
		return PTR_ERR(one.bd);
	ret = vf_nl_index(info, VFAB_A_NODE, one.bd->bp.nodes, "name a node by its number",
			  "the node is not below the backplane's number of nodes", &one.node) ?:
	      vf_nl_reply(skb, info, NULL, vf_nl_fill_bp_node, (unsigned long)&one);
	vf_backplane_put(one.bd);
	return ret;
}

int vfabric_nl_backplane_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct vf_nl_bp_cursor *cur = (struct vf_nl_bp_cursor *)cb->ctx;
	struct nlattr *name = vf_dump_attrs(cb)[VFAB_A_BACKPLANE];
	struct vf_nl_to to = vf_nl_dump_to(skb, cb);
	struct vf_bp_dev *bd;
	int ret = vf_nl_bp_begin(skb, cb);

	BUILD_BUG_ON(sizeof(*cur) > sizeof(cb->ctx));
	if (ret)
		return ret;
	for (; (bd = vf_bp_nth(sock_net(skb->sk), cur->index)); cur->index++) {
		ret = vf_nl_bp_is(bd, name) ? vf_nl_put_bp(&to, bd) : 0;
		vf_backplane_put(bd);
		if (ret)
			return skb->len ?: ret;
	}
	return skb->len;
}

int vfabric_nl_backplane_node_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct vf_nl_bp_cursor *cur = (struct vf_nl_bp_cursor *)cb->ctx;
	struct nlattr **attrs = vf_dump_attrs(cb), *only = attrs[VFAB_A_NODE];
	struct vf_nl_to to = vf_nl_dump_to(skb, cb);
	struct vf_bp_dev *bd;
	int ret = vf_nl_bp_begin(skb, cb);

	if (ret)
		return ret;
	while ((bd = vf_bp_nth(sock_net(skb->sk), cur->index))) {
		for (; vf_nl_bp_is(bd, attrs[VFAB_A_BACKPLANE]) && cur->node < bd->bp.nodes;
		     cur->node++) {
			if (!only || nla_get_u32(only) == cur->node)
				ret = vf_nl_put_bp_node(&to, bd, cur->node);
			if (ret)
				break;
		}
		vf_backplane_put(bd);
		if (ret)
			return skb->len ?: ret;
		cur->node = 0;
		cur->index++;
	}
	return skb->len;
}
