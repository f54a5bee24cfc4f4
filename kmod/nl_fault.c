// SPDX-License-Identifier: GPL-2.0
/* Netlink: faults. */
#include <linux/pid_namespace.h>
#include <linux/random.h>
#include "fault.h"
#include "netlink.h"

/* A flag is put as such, the UUID by its own. */
enum vf_nl_type { VF_NL_U32, VF_NL_FLAG, VF_NL_UUID };

static const struct {
	u16 attr;
	u16 type;
} vf_nl_params[VF_FAULT_PARAMS] = {
	[VF_P_DURATION]	= { VFAB_A_FAULT_DURATION },
	[VF_P_COUNT]	= { VFAB_A_FAULT_COUNT },
	[VF_P_PERIOD]	= { VFAB_A_FLAP_PERIOD },
	[VF_P_RATE]	= { VFAB_A_RATE },
	[VF_P_LATENCY]	= { VFAB_A_LATENCY },
	[VF_P_WIDTH]	= { VFAB_A_WIDTH },
	[VF_P_STATE]	= { VFAB_A_FABRIC_STATE },
	[VF_P_STATUS]	= { VFAB_A_STATUS },
	[VF_P_UUID]	= { VFAB_A_UUID, VF_NL_UUID },
	[VF_P_CLIQUE]	= { VFAB_A_CLIQUE },
	[VF_P_HEALTH]	= { VFAB_A_HEALTH },
	[VF_P_SILENT]	= { VFAB_A_FAULT_SILENT, VF_NL_FLAG },
	[VF_P_PERMILLE]	= { VFAB_A_FAULT_PERMILLE },
	[VF_P_ERRNO]	= { VFAB_A_FAULT_ERRNO },
	[VF_P_SKIP]	= { VFAB_A_FAULT_SKIP },
	[VF_P_LIMIT]	= { VFAB_A_FAULT_LIMIT },
	[VF_P_DELAY]	= { VFAB_A_FAULT_DELAY },
	[VF_P_SPARE]	= { VFAB_A_FAULT_SPARE, VF_NL_FLAG },
};

int vf_nl_put_fault_id(struct sk_buff *skb, const struct vf_fault *f)
{
	return nla_put_u32(skb, VFAB_A_FAULT_ID, f->id) ||
	       nla_put_u32(skb, VFAB_A_FAULT_KIND, f->cfg.kind) ||
	       nla_put_u32(skb, VFAB_A_FAULT_PHASE, f->phase);
}

static int vf_nl_put_known(struct sk_buff *skb, int attr, u32 value)
{
	return value == VF_NONE ? 0 : nla_put_u32(skb, attr, value);
}

static int vf_nl_put_params(struct sk_buff *skb, const struct vf_fault *f)
{
	int i, err = 0;

	for (i = 0; i < VF_FAULT_PARAMS && !err; i++) {
		int attr = vf_nl_params[i].attr;

		if (!vf_fault_given(f, i))
			continue;
		if (vf_nl_params[i].type == VF_NL_FLAG)
			err = nla_put_flag(skb, attr);
		else if (vf_nl_params[i].type == VF_NL_UUID)
			err = nla_put(skb, attr, sizeof(f->cfg.uuid), &f->cfg.uuid);
		else
			err = nla_put_u32(skb, attr, f->cfg.p[i]);
	}
	return err;
}

static int vf_nl_put_fault(const struct vf_nl_to *to, struct vf_domain *dom,
			   const struct vf_fault *f)
{
	const struct vf_fault_config *c = &f->cfg;
	void *hdr = vf_nl_begin(to, dom);
	struct sk_buff *skb = to->skb;
	u32 left = vf_fault_left(f);

	if (!hdr)
		return -EMSGSIZE;
	return vf_nl_end(to, hdr,
		vf_nl_put_fault_id(skb, f) ||
		vf_nl_put_known(skb, VFAB_A_RANK, c->rank) ||
		vf_nl_put_known(skb, VFAB_A_SWITCH, c->sw) ||
		vf_nl_put_known(skb, VFAB_A_PORT, c->port) ||
		vf_nl_put_known(skb, VFAB_A_NODE, c->node) ||
		(c->all && nla_put_flag(skb, VFAB_A_FAULT_ALL)) ||
		nla_put_u32(skb, VFAB_A_FAULT_SEED, c->seed) ||
		(c->after && nla_put_u32(skb, VFAB_A_FAULT_AFTER, c->after)) ||
		(left && nla_put_u32(skb, VFAB_A_FAULT_LEFT, left)) ||
		nla_put_u64_64bit(skb, VFAB_A_FAULT_HITS, vf_fault_hits(f), VFAB_A_PAD) ||
		vf_nl_put_params(skb, f));
}

/* @index: the fault's id, which is there */
static int vf_nl_fill_fault(const struct vf_nl_to *to, struct vf_domain *dom,
			    unsigned long index)
{
	return vf_nl_put_fault(to, dom, vf_fault_find(dom, index));
}

/* @index: the id of the last one that was shown */
static int vf_nl_walk_fault(const struct vf_nl_to *to, struct vf_domain *dom,
			    struct nlattr **attrs, unsigned long *index)
{
	struct nlattr *only = attrs[VFAB_A_FAULT_ID];
	struct vf_fault *f;
	int ret;

	list_for_each_entry(f, &dom->faults, node) {
		if (f->id <= *index || (only && f->id != nla_get_u32(only)))
			continue;
		ret = vf_nl_put_fault(to, dom, f);
		if (ret)
			return ret;
		*index = f->id;
	}
	return 0;
}

/* The fault that a request names. */
static int vf_nl_fault(struct genl_info *info, struct vf_domain *dom, struct vf_fault **f)
{
	if (GENL_REQ_ATTR_CHECK(info, VFAB_A_FAULT_ID))
		return vf_nl_refuse(info, -1, -EINVAL, "name a fault by its id");
	*f = vf_fault_find(dom, nla_get_u32(info->attrs[VFAB_A_FAULT_ID]));
	if (*f)
		return 0;
	return vf_nl_refuse(info, VFAB_A_FAULT_ID, -ENOENT, "no such fault in this domain");
}

int vfabric_nl_fault_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	struct vf_fault *f;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_fault(info, dom, &f);
	if (!ret)
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_fault, f->id);
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_fault_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_fault);
}

/* --- Creation ----------------------------------------------------------------------- */

static int vf_nl_fault_kind(struct genl_info *info, struct vf_fault_config *c,
			    const struct vf_fault_kind **kind)
{
	if (GENL_REQ_ATTR_CHECK(info, VFAB_A_FAULT_KIND))
		return vf_nl_refuse(info, -1, -EINVAL, "say what breaks: give fault-kind");
	c->kind = nla_get_u32(info->attrs[VFAB_A_FAULT_KIND]);
	*kind = vf_fault_kind(c->kind);
	if (*kind)
		return 0;
	return vf_nl_refuse(info, VFAB_A_FAULT_KIND, -EOPNOTSUPP,
			    "this module knows no such kind of fault");
}

static int vf_nl_target_links(struct genl_info *info, struct vf_domain *dom)
{
	struct nlattr **attrs = info->attrs;
	struct vf_links w;
	u32 first;

	if (!attrs[VFAB_A_RANK] && !attrs[VFAB_A_SWITCH] && !attrs[VFAB_A_NODE] &&
	    !attrs[VFAB_A_PORT])
		return 0;
	return vf_nl_links(info, dom, &w, &first);
}

static int vf_nl_target_ranks(struct genl_info *info, struct vf_domain *dom)
{
	u32 value;

	if (info->attrs[VFAB_A_NODE])
		return vf_nl_node(info, dom, &value);
	return info->attrs[VFAB_A_RANK] ? vf_nl_rank(info, dom, &value) : 0;
}

/* What is broken, as far as it is named. */
static int vf_nl_target(struct genl_info *info, struct vf_domain *dom,
			enum vf_fault_target target, struct vf_fault_config *c)
{
	struct nlattr **attrs = info->attrs;
	bool named = attrs[VFAB_A_RANK] || attrs[VFAB_A_SWITCH] || attrs[VFAB_A_PORT] ||
		     attrs[VFAB_A_NODE];
	int ret = 0;

	c->all = attrs[VFAB_A_FAULT_ALL];
	c->rank = vf_nl_u32(info, VFAB_A_RANK, VF_NONE);
	c->sw = vf_nl_u32(info, VFAB_A_SWITCH, VF_NONE);
	c->port = vf_nl_u32(info, VFAB_A_PORT, VF_NONE);
	c->node = vf_nl_u32(info, VFAB_A_NODE, VF_NONE);
	if (c->all && (named || target == VF_TARGET_NODE))
		return vf_nl_refuse(info, VFAB_A_FAULT_ALL, -EINVAL,
			"all stands alone, for all links or all endpoints of the domain");
	if (c->all && target == VF_TARGET_DOMAIN)
		return vf_nl_refuse(info, VFAB_A_FAULT_ALL, -EINVAL,
			"this kind of fault is the whole domain's: name no target");
	switch (target) {
	case VF_TARGET_LINKS:
		return vf_nl_target_links(info, dom);
	case VF_TARGET_RANKS:
		if (attrs[VFAB_A_SWITCH] || attrs[VFAB_A_PORT])
			ret = vf_nl_refuse(info, VFAB_A_SWITCH, -EINVAL,
					   "the target of this kind of fault is an endpoint (rank), a node, or all");
		return ret ?: vf_nl_target_ranks(info, dom);
	case VF_TARGET_NODE:
		if (attrs[VFAB_A_SWITCH] || attrs[VFAB_A_PORT] || attrs[VFAB_A_RANK])
			ret = vf_nl_refuse(info, VFAB_A_RANK, -EINVAL,
					   "the target of this kind of fault is a node");
		return ret ?: vf_nl_target_ranks(info, dom);
	case VF_TARGET_DOMAIN:
		if (named)
			ret = vf_nl_refuse(info, VFAB_A_RANK, -EINVAL,
					   "this kind of fault is the whole domain's: name no target");
	}
	return ret;
}

static int vf_nl_fault_values(struct genl_info *info, const struct vf_fault_config *c)
{
	s32 status = c->p[VF_P_STATUS];

	if (c->given & BIT(VF_P_RATE) &&
	    (!c->p[VF_P_RATE] || c->p[VF_P_RATE] > VF_MAX_RATE))
		return vf_nl_refuse(info, VFAB_A_RATE, -EINVAL,
				    "a link's rate is 1 to 100000000 (10^6 bytes per second)");
	if (c->p[VF_P_LATENCY] > VF_MAX_LATENCY)
		return vf_nl_refuse(info, VFAB_A_LATENCY, -EINVAL,
				    "a link's latency is at most 1000000000 (nanoseconds)");
	if (c->given & BIT(VF_P_WIDTH) && !c->p[VF_P_WIDTH])
		return vf_nl_refuse(info, VFAB_A_WIDTH, -EINVAL,
				    "a link's width is 1 to 65535 lanes");
	if (status > 0 || status < -MAX_ERRNO)
		return vf_nl_refuse(info, VFAB_A_STATUS, -EINVAL,
				    "a status is 0 or a negative errno");
	return 0;
}

static bool vf_nl_errno_fits(const struct vf_fault_kind *kind, u32 err)
{
	const u8 *e;

	for (e = kind->errnos; *e; e++)
		if (*e == err)
			return true;
	return false;
}

static int vf_nl_fault_params(struct genl_info *info, const struct vf_fault_kind *kind,
			      struct vf_fault_config *c)
{
	int i;

	for (i = 0; i < VF_FAULT_PARAMS; i++) {
		struct nlattr *a = info->attrs[vf_nl_params[i].attr];

		if (!a)
			continue;
		if (!(kind->takes & BIT(i)))
			return vf_nl_refuse(info, vf_nl_params[i].attr, -EINVAL,
				"this kind of fault does not take this attribute");
		c->given |= BIT(i);
		if (vf_nl_params[i].type == VF_NL_UUID)
			import_uuid(&c->uuid, nla_data(a));
		else if (vf_nl_params[i].type == VF_NL_U32)
			c->p[i] = nla_get_u32(a);
	}
	if (c->given & BIT(VF_P_ERRNO) && !vf_nl_errno_fits(kind, c->p[VF_P_ERRNO]))
		return vf_nl_refuse(info, VFAB_A_FAULT_ERRNO, -EINVAL,
			"this call does not fail with that errno: EPERM, EACCES, ENOENT, EHOSTUNREACH, EDQUOT, ENOSPC or ENOMEM of an import, EDQUOT or ENOMEM of a window");
	if (c->kind == VFAB_FAULT_BLACKHOLE && c->p[VF_P_DURATION] > VF_BLACKHOLE_MAX)
		return vf_nl_refuse(info, VFAB_A_FAULT_DURATION, -EINVAL,
			"a blackhole lasts 600000 milliseconds at most: programs wait for its end");
	if (kind->wants && !(c->given & kind->wants))
		return vf_nl_refuse(info, VFAB_A_FAULT_KIND, -EINVAL, kind->want);
	return vf_nl_fault_values(info, c);
}

/* Other people's processes are not killed by who may only manage the network. */
static int vf_nl_may_kill(struct sk_buff *skb, struct genl_info *info,
			  const struct vf_fault_config *c)
{
	if ((c->kind != VFAB_FAULT_PEER_KILL && c->kind != VFAB_FAULT_NODE_LOSS) ||
	    c->given & BIT(VF_P_SPARE) || netlink_capable(skb, CAP_KILL))
		return 0;
	return vf_nl_refuse(info, VFAB_A_FAULT_KIND, -EPERM,
		"killing processes needs CAP_KILL in the initial user namespace: give fault-spare to end only their endpoints");
}

static int vf_nl_fault_refused(struct genl_info *info, int err)
{
	switch (err) {
	case -ENOSPC:
		return vf_nl_refuse(info, -1, err,
			"the domain has 64 faults that have not ended: delete some");
	case -ENOTCONN:
		return vf_nl_refuse(info, VFAB_A_FAULT_KIND, err,
			"nothing holds an endpoint that this fault would end");
	case -ENODEV:
		return vf_nl_refuse(info, VFAB_A_FAULT_KIND, err, "the domain has no links");
	}
	return err;
}

int vfabric_nl_fault_create_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_write(skb, info);
	const struct vf_fault_kind *kind;
	struct vf_fault_config c = { };
	struct vf_fault *f;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_fault_kind(info, &c, &kind);
	if (!ret && vf_is_placed(dom) && c.kind > VFAB_FAULT_LINK_DEGRADE)
		ret = vf_nl_refuse(info, VFAB_A_FAULT_KIND, -EOPNOTSUPP,
				   "on a backplane links break, and nothing else: take link-down, link-flap or link-degrade");
	if (!ret)
		ret = vf_nl_target(info, dom, kind->target, &c);
	if (!ret)
		ret = vf_nl_fault_params(info, kind, &c);
	if (!ret)
		ret = vf_nl_may_kill(skb, info, &c);
	if (ret)
		goto unlock;
	c.seed = info->attrs[VFAB_A_FAULT_SEED] ? nla_get_u32(info->attrs[VFAB_A_FAULT_SEED]) :
		 get_random_u32();
	c.after = vf_nl_u32(info, VFAB_A_FAULT_AFTER, 0);
	c.pidns = task_active_pid_ns(current);
	f = vf_fault_create(dom, &c);
	ret = IS_ERR(f) ? vf_nl_fault_refused(info, PTR_ERR(f)) :
	      vf_nl_reply(skb, info, dom, vf_nl_fill_fault, f->id);
unlock:
	vf_nl_done(info, dom);
	return ret;
}

int vfabric_nl_fault_delete_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_write(skb, info);
	struct vf_fault *f = NULL;
	int ret = 0;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	if (info->attrs[VFAB_A_FAULT_ID])
		ret = vf_nl_fault(info, dom, &f);
	if (!ret)
		vf_fault_delete(dom, f);
	vf_nl_done(info, dom);
	return ret;
}
