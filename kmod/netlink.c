// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family: messages, who may do what, dumps, notices, and
 * what concerns the whole module. One file per group of objects has the rest.
 *
 * Who may: the table in nl_gen.c asks for CAP_NET_ADMIN in the user namespace
 * that owns the socket's network namespace; vf_nl_may_change() then asks for
 * it in the initial one, unless the domain is a restricted one.
 */
#include <net/sock.h>
#include "netlink.h"

/* A trace over 64 ports and three switches each */
#define VF_NL_REPLY	(4 * NLMSG_GOODSIZE)

static bool vf_nl_ready;

/* A sentence and the attribute it is about. */
int vf_nl_refuse(struct genl_info *info, int attr, int err, const char *text)
{
	if (info->extack) {
		info->extack->_msg = text;
		if (attr >= 0 && info->attrs[attr])
			NL_SET_BAD_ATTR(info->extack, info->attrs[attr]);
	}
	return err;
}

void *vf_nl_begin(const struct vf_nl_to *to, struct vf_domain *dom)
{
	void *hdr = genlmsg_put(to->skb, to->portid, to->seq, &vf_family,
				to->flags, to->cmd);

	if (!hdr)
		return NULL;
	if (to->cb)
		genl_dump_check_consistent(to->cb, hdr);
	if (dom && nla_put_u32(to->skb, VFAB_A_DOMAIN, dom->id)) {
		genlmsg_cancel(to->skb, hdr);
		return NULL;
	}
	return hdr;
}

int vf_nl_end(const struct vf_nl_to *to, void *hdr, int err)
{
	if (err) {
		genlmsg_cancel(to->skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(to->skb, hdr);
	return 0;
}

int vf_nl_put_bitmap(struct sk_buff *skb, int attr, const unsigned long *ranks,
		     u32 world)
{
	u8 bytes[VF_MAX_WORLD / 8] = { };
	unsigned int rank;

	for_each_set_bit(rank, ranks, world)
		bytes[rank / 8] |= 1 << rank % 8;
	return nla_put(skb, attr, DIV_ROUND_UP(world, 8), bytes);
}

int vf_nl_get_bitmap(struct genl_info *info, int attr, u32 world,
		     unsigned long *ranks)
{
	const u8 *bytes = nla_data(info->attrs[attr]);
	int bit, bits = nla_len(info->attrs[attr]) * 8;

	for (bit = 0; bit < bits; bit++) {
		if (!(bytes[bit / 8] >> bit % 8 & 1))
			continue;
		if (bit >= world)
			return vf_nl_refuse(info, attr, -EINVAL,
				"a rank is not below the domain's world size");
		__set_bit(bit, ranks);
	}
	return 0;
}

/* A required index below @limit. */
int vf_nl_index(struct genl_info *info, int attr, u32 limit, const char *need,
		const char *range, u32 *value)
{
	if (GENL_REQ_ATTR_CHECK(info, attr))
		return vf_nl_refuse(info, -1, -EINVAL, need);
	*value = nla_get_u32(info->attrs[attr]);
	if (*value >= limit)
		return vf_nl_refuse(info, attr, -EINVAL, range);
	return 0;
}

int vf_nl_rank(struct genl_info *info, struct vf_domain *dom, u32 *rank)
{
	return vf_nl_index(info, VFAB_A_RANK, dom->topo.world,
			   "name an endpoint by its rank",
			   "the rank is not below the domain's world size", rank);
}

u32 vf_nl_u32(struct genl_info *info, int attr, u32 otherwise)
{
	return info->attrs[attr] ? nla_get_u32(info->attrs[attr]) : otherwise;
}

int vf_nl_put_access(const struct vf_nl_to *to, const struct vf_access *access)
{
	struct user_namespace *ns = sk_user_ns(NETLINK_CB(to->req).sk);

	return nla_put_u32(to->skb, VFAB_A_MODE, access->mode) ||
	       nla_put_u32(to->skb, VFAB_A_UID, from_kuid_munged(ns, access->uid)) ||
	       nla_put_u32(to->skb, VFAB_A_GID, from_kgid_munged(ns, access->gid));
}

/**
 * vf_nl_get_access - who may open a device file, as a request says
 * @skb: the request, whose user namespace its uid and gid are of
 * @info: of it
 * @restricted: it is of a restricted domain: not open to others
 * @otherwise: what holds where the request does not say
 * @access: the result
 */
int vf_nl_get_access(struct sk_buff *skb, struct genl_info *info, bool restricted,
		     const struct vf_access *otherwise, struct vf_access *access)
{
	struct user_namespace *ns = sk_user_ns(NETLINK_CB(skb).sk);

	*access = *otherwise;
	access->mode = vf_nl_u32(info, VFAB_A_MODE, otherwise->mode);
	if (info->attrs[VFAB_A_UID])
		access->uid = make_kuid(ns, nla_get_u32(info->attrs[VFAB_A_UID]));
	if (info->attrs[VFAB_A_GID])
		access->gid = make_kgid(ns, nla_get_u32(info->attrs[VFAB_A_GID]));
	if (!uid_valid(access->uid))
		return vf_nl_refuse(info, VFAB_A_UID, -EINVAL,
				    "this uid is not mapped in your user namespace");
	if (!gid_valid(access->gid))
		return vf_nl_refuse(info, VFAB_A_GID, -EINVAL,
				    "this gid is not mapped in your user namespace");
	if (restricted && access->mode & 07)
		return vf_nl_refuse(info, VFAB_A_MODE, -EPERM,
			"a device file made in a user namespace cannot be open to others");
	return 0;
}

int vf_nl_node(struct genl_info *info, struct vf_domain *dom, u32 *node)
{
	if (info->attrs[VFAB_A_RANK])
		return vf_nl_refuse(info, VFAB_A_NODE, -EINVAL,
				    "give a rank or a node, not both");
	return vf_nl_index(info, VFAB_A_NODE, dom->nodes, "",
			   "the node is not below the domain's number of nodes", node);
}

static struct vf_domain *vf_nl_find(struct net *net, struct nlattr **attrs,
				    struct netlink_ext_ack *extack)
{
	struct nlattr *id = attrs[VFAB_A_DOMAIN], *name = attrs[VFAB_A_DOMAIN_NAME];
	struct vf_domain *dom;

	if (!id && !name) {
		NL_SET_ERR_MSG(extack, "name a domain: attribute domain or domain-name");
		return ERR_PTR(-EINVAL);
	}
	dom = id ? vf_domain_get_id(nla_get_u32(id)) :
		   vf_domain_get_name(net, nla_data(name));
	if (dom && vf_domain_visible(dom, net) &&
	    (!name || !strcmp(dom->name, nla_data(name))))
		return dom;
	if (dom)
		vf_domain_put(dom);
	NL_SET_ERR_MSG_ATTR(extack, id ?: name,
			    "no such domain in this network namespace");
	return ERR_PTR(-ENOENT);
}

static struct vf_domain *vf_nl_lock(struct vf_domain *dom,
				    struct netlink_ext_ack *extack)
{
	int ret = -EINTR;

	if (mutex_lock_killable(&dom->lock))
		goto put;
	if (!dom->dead)
		return dom;
	mutex_unlock(&dom->lock);
	ret = -ENOENT;
	NL_SET_ERR_MSG(extack, "the domain is being deleted");
put:
	vf_domain_put(dom);
	return ERR_PTR(ret);
}

void vf_nl_unlock(struct vf_domain *dom)
{
	mutex_unlock(&dom->lock);
	vf_domain_put(dom);
}

/* @nodes: how many were expelled, as vf_domain_unlock() says. */
void vf_nl_expelled(struct genl_info *info, int nodes)
{
	static const char expelled[] =
		"done; a node did not follow in time, and was expelled: see vfabctl backplane show";

	if (nodes > 0 && info->extack && !info->extack->_msg)
		info->extack->_msg = expelled;
}

/* The same where it may have been changed: what was lost is lost on all nodes. */
void vf_nl_done(struct genl_info *info, struct vf_domain *dom)
{
	vf_nl_expelled(info, vf_domain_unlock(dom));
	vf_domain_put(dom);
}

/* The domain that a request names, locked, to show something of it. */
struct vf_domain *vf_nl_read(struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_find(genl_info_net(info), info->attrs,
					   info->extack);

	return IS_ERR(dom) ? dom : vf_nl_lock(dom, info->extack);
}

/* extack keeps the pointer: a sentence for each node. */
static char vf_nl_remote[VFAB_BP_MAX_NODES][80];

/* What is to be changed belongs to another node of the backplane. */
int vf_nl_refuse_remote(struct genl_info *info, int attr, u32 node)
{
	return vf_nl_refuse(info, attr, -EREMOTE, vf_nl_remote[node % VFAB_BP_MAX_NODES]);
}

static int vf_nl_may_change(struct sk_buff *skb, struct genl_info *info,
			    struct vf_domain *dom)
{
	if (dom->net != genl_info_net(info))
		return vf_nl_refuse(info, VFAB_A_DOMAIN, -EPERM,
			"the domain belongs to another network namespace: change it there");
	if (netlink_capable(skb, CAP_NET_ADMIN) ||
	    (dom->restricted && vf_param_userns_domains))
		return 0;
	return vf_nl_refuse(info, VFAB_A_DOMAIN, -EPERM,
		"changing this domain needs CAP_NET_ADMIN in the initial user namespace");
}

/* The domain that a request names, locked, to change it. */
struct vf_domain *vf_nl_write(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	int ret;

	if (IS_ERR(dom))
		return dom;
	ret = vf_nl_may_change(skb, info, dom);
	if (!ret && vf_is_placed(dom) && vf_placed_owner(dom) != vf_placed_home(dom))
		ret = vf_nl_refuse_remote(info, VFAB_A_DOMAIN, vf_placed_owner(dom));
	if (!ret)
		return dom;
	vf_nl_unlock(dom);
	return ERR_PTR(ret);
}

static bool vf_nl_admin(struct sk_buff *req, struct vf_domain *dom)
{
	return netlink_capable(req, CAP_NET_ADMIN) ||
	       (dom && dom->restricted && netlink_net_capable(req, CAP_NET_ADMIN));
}

/*
 * Answer a request with one message about one object, in the room that
 * vf_nl_pre_doit() made: what was done is not reported as a lack of memory.
 */
int vf_nl_reply(struct sk_buff *skb, struct genl_info *info,
		struct vf_domain *dom, vf_nl_fill_t fill, unsigned long index)
{
	struct vf_nl_to to = {
		.skb = info->user_ptr[0],
		.req = skb,
		.portid = info->snd_portid,
		.seq = info->snd_seq,
		.cmd = info->genlhdr->cmd,
		.admin = vf_nl_admin(skb, dom),
	};
	int ret = fill(&to, dom, index);

	if (ret)
		return ret;
	info->user_ptr[0] = NULL;
	return genlmsg_reply(to.skb, info);
}

static int vf_nl_pre_doit(const struct vf_genl_op *op, struct sk_buff *skb,
			  struct genl_info *info)
{
	info->user_ptr[0] = genlmsg_new(VF_NL_REPLY, GFP_KERNEL);
	return info->user_ptr[0] ? 0 : -ENOMEM;
}

static void vf_nl_post_doit(const struct vf_genl_op *op, struct sk_buff *skb,
			    struct genl_info *info)
{
	nlmsg_free(info->user_ptr[0]);
}

static int vf_nl_dump_domain(const struct vf_nl_to *to, struct vf_domain *dom,
			     struct nlattr **attrs, vf_nl_walk_t walk,
			     struct vf_nl_cursor *cur)
{
	int ret = 0;

	mutex_lock(&dom->lock);
	if (cur->single)
		to->cb->seq = dom->dump_seq;
	if (!dom->dead)
		ret = walk(to, dom, attrs, &cur->index);
	mutex_unlock(&dom->lock);
	return ret;
}

/* Where the messages of a dump go: to somebody who is no admin, unless he is found to be. */
struct vf_nl_to vf_nl_dump_to(struct sk_buff *skb, struct netlink_callback *cb)
{
	return (struct vf_nl_to) {
		.skb = skb,
		.req = cb->skb,
		.portid = NETLINK_CB(cb->skb).portid,
		.seq = cb->nlh->nlmsg_seq,
		.flags = NLM_F_MULTI,
		.cmd = ((struct genlmsghdr *)nlmsg_data(cb->nlh))->cmd,
		.cb = cb,
	};
}

/**
 * vf_nl_dump - dump objects of one named domain, or of all visible ones
 * @skb: to fill
 * @cb: the dump; resumes by domain id and object index
 * @walk: appends objects from *index on, and leaves *index at the first one
 *	that did not fit, with -EMSGSIZE
 *
 * The sequence is the domain's, or the whole module's where several are
 * dumped: when it moves between two parts the reader is told (DUMP_INTR).
 */
int vf_nl_dump(struct sk_buff *skb, struct netlink_callback *cb,
	       vf_nl_walk_t walk)
{
	struct vf_nl_cursor *cur = (struct vf_nl_cursor *)cb->ctx;
	struct nlattr **attrs = vf_dump_attrs(cb);
	struct net *net = sock_net(skb->sk);
	struct vf_nl_to to = vf_nl_dump_to(skb, cb);
	struct vf_domain *dom;
	unsigned long id;
	int ret = 0;

	BUILD_BUG_ON(sizeof(*cur) > sizeof(cb->ctx));
	if (cur->done)
		return 0;
	if (!cur->started) {
		cur->started = 1;
		cur->single = attrs[VFAB_A_DOMAIN] || attrs[VFAB_A_DOMAIN_NAME];
		if (cur->single) {
			dom = vf_nl_find(net, attrs, cb->extack);
			if (IS_ERR(dom))
				return PTR_ERR(dom);
			cur->domain = dom->id;
			vf_domain_put(dom);
		}
	}
	cb->seq = vf_domains_seq();
	id = cur->domain;
	while ((dom = cur->single ? vf_domain_get_id(id) : vf_domain_next(&id))) {
		if (id != cur->domain)
			cur->index = 0;
		cur->domain = id;
		to.admin = vf_nl_admin(cb->skb, dom);
		if (vf_domain_visible(dom, net))
			ret = vf_nl_dump_domain(&to, dom, attrs, walk, cur);
		vf_domain_put(dom);
		if (ret)
			return skb->len ?: ret;
		if (cur->single)
			break;
		id++;
		cur->domain = id;
		cur->index = 0;
	}
	cur->done = 1;
	return skb->len;
}

/* Part of a dump: objects 0 to @limit - 1, or only the one that is asked for. */
int vf_nl_walk_index(const struct vf_nl_to *to, struct vf_domain *dom,
		     struct nlattr *only, u32 limit, vf_nl_fill_t fill,
		     unsigned long *index)
{
	int ret;

	for (; *index < limit; ++*index) {
		if (only && *index != nla_get_u32(only))
			continue;
		ret = fill(to, dom, *index);
		if (ret)
			return ret;
	}
	return 0;
}

/* Answer a request that names a domain and a rank. */
int vf_nl_get_rank(struct sk_buff *skb, struct genl_info *info, vf_nl_fill_t fill)
{
	struct vf_domain *dom = vf_nl_read(info);
	u32 rank;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_rank(info, dom, &rank);
	if (!ret)
		ret = vf_nl_reply(skb, info, dom, fill, rank);
	vf_nl_unlock(dom);
	return ret;
}

static int vf_nl_put_if(struct sk_buff *skb, int attr, int value)
{
	return value < 0 ? 0 : nla_put_u32(skb, attr, value);
}

static int vf_nl_fill_notice(struct sk_buff *skb, struct vf_domain *dom,
			     const struct vf_notice *n)
{
	return nla_put_u32(skb, VFAB_A_OBJECT, n->object) ||
	       nla_put_u32(skb, VFAB_A_ACTION, n->action) ||
	       nla_put_u32(skb, VFAB_A_REASON, n->reason) ||
	       (dom && (nla_put_u32(skb, VFAB_A_DOMAIN, dom->id) ||
			nla_put_string(skb, VFAB_A_DOMAIN_NAME, dom->name) ||
			nla_put_u64_64bit(skb, VFAB_A_GENERATION, dom->generation,
					  VFAB_A_PAD))) ||
	       vf_nl_put_if(skb, VFAB_A_PARTITION, n->partition) ||
	       vf_nl_put_if(skb, VFAB_A_CHANNEL, n->channel) ||
	       vf_nl_put_if(skb, VFAB_A_NODE, n->node) ||
	       vf_nl_put_if(skb, VFAB_A_RANK, n->rank) ||
	       vf_nl_put_if(skb, VFAB_A_SWITCH, n->sw) ||
	       vf_nl_put_if(skb, VFAB_A_PORT, n->port) ||
	       vf_nl_put_if(skb, VFAB_A_DEST, n->dest) ||
	       (n->up >= 0 && nla_put_u8(skb, VFAB_A_UP, n->up)) ||
	       (n->active >= 0 && nla_put_u8(skb, VFAB_A_ACTIVE, n->active)) ||
	       vf_nl_put_if(skb, VFAB_A_MANAGER_STATE, n->manager) ||
	       (n->parked >= 0 && nla_put_u8(skb, VFAB_A_PARKED, n->parked)) ||
	       vf_nl_put_if(skb, VFAB_A_RESILIENCY, n->resiliency) ||
	       vf_nl_put_if(skb, VFAB_A_NETNS_MODE, n->shared) ||
	       (n->backplane && nla_put_string(skb, VFAB_A_BACKPLANE, n->backplane)) ||
	       vf_nl_put_if(skb, VFAB_A_BACKPLANE_STATE, n->bp_state) ||
	       vf_nl_put_if(skb, VFAB_A_BACKPLANE_WHY, n->bp_why) ||
	       (n->fault && vf_nl_put_fault_id(skb, n->fault)) ||
	       (n->members && vf_nl_put_bitmap(skb, VFAB_A_MEMBERS, n->members,
					       dom->topo.world)) ||
	       (n->chg && (nla_put_u32(skb, VFAB_A_ROUTES_CHANGED,
				       n->chg->routes_changed) ||
			   nla_put_u32(skb, VFAB_A_ROUTES_LOST,
				       n->chg->routes_lost)));
}

static void vf_nl_multicast(struct net *net, struct vf_domain *dom,
			    const struct vf_notice *n, gfp_t gfp)
{
	struct sk_buff *skb;
	void *hdr;

	if (!READ_ONCE(vf_nl_ready) || !genl_has_listeners(&vf_family, net, 0))
		return;
	skb = genlmsg_new(NLMSG_GOODSIZE, gfp);
	if (!skb) {
		genl_set_err(&vf_family, net, 0, 0, -ENOBUFS);
		return;
	}
	hdr = genlmsg_put(skb, 0, 0, &vf_family, 0, VFAB_CMD_EVENT);
	if (!hdr || vf_nl_fill_notice(skb, dom, n)) {
		nlmsg_free(skb);
		genl_set_err(&vf_family, net, 0, 0, -EMSGSIZE);
		return;
	}
	genlmsg_end(skb, hdr);
	genlmsg_multicast_netns(&vf_family, net, skb, 0, 0, gfp);
}

void vf_notify(struct vf_domain *dom, const struct vf_notice *n)
{
	vf_nl_multicast(dom->net, dom, n, GFP_KERNEL);
}

/*
 * What is of no domain: to the initial network namespace. Under bd->lock, without which this
 * node has no beat: does not wait for memory. Who listens is told that something is missing.
 */
void vf_notify_machine(const struct vf_notice *n)
{
	vf_nl_multicast(&init_net, NULL, n, GFP_NOWAIT | __GFP_NOWARN);
}

static int vf_nl_fill_system(const struct vf_nl_to *to, struct vf_domain *dom,
			     unsigned long index)
{
	void *hdr = vf_nl_begin(to, NULL);

	if (!hdr)
		return -EMSGSIZE;
	return vf_nl_end(to, hdr,
		nla_put_u32(to->skb, VFAB_A_NETNS_MODE, vf_netns_shared()) ||
		nla_put_u32(to->skb, VFAB_A_DOMAINS, vf_domain_count()) ||
		nla_put_u64_64bit(to->skb, VFAB_A_USER_MEM_LIMIT,
				  vf_user_mem_limit(), VFAB_A_PAD));
}

int vfabric_nl_system_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return vf_nl_reply(skb, info, NULL, vf_nl_fill_system, 0);
}

int vfabric_nl_system_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_SYSTEM, VFAB_ACT_CHANGED,
				       VFAB_WHY_ADMIN);

	if (!netlink_capable(skb, CAP_NET_ADMIN))
		return vf_nl_refuse(info, -1, -EPERM,
			"this needs CAP_NET_ADMIN in the initial user namespace");
	if (GENL_REQ_ATTR_CHECK(info, VFAB_A_NETNS_MODE))
		return vf_nl_refuse(info, -1, -EINVAL,
				    "nothing to set: give netns-mode");
	n.shared = nla_get_u32(info->attrs[VFAB_A_NETNS_MODE]);
	vf_set_netns_shared(n.shared == VFAB_NETNS_SHARED);
	vf_nl_multicast(genl_info_net(info), NULL, &n, GFP_KERNEL);
	return 0;
}

static const struct genl_multicast_group vf_groups[] = {
	[VFABRIC_NLGRP_EVENTS] = { .name = "events" },
};

struct genl_family vf_family __ro_after_init = {
	.name = VFAB_GENL_NAME,
	.version = VFAB_GENL_VERSION,
	.netnsok = true,
	.parallel_ops = true,
	.resv_start_op = VFAB_CMD_SYSTEM_GET,
	.module = THIS_MODULE,
	.ops = vfabric_nl_ops,
	.n_ops = ARRAY_SIZE(vfabric_nl_ops),
	.pre_doit = vf_nl_pre_doit,
	.post_doit = vf_nl_post_doit,
	.mcgrps = vf_groups,
	.n_mcgrps = ARRAY_SIZE(vf_groups),
};

int vf_netlink_init(void)
{
	u32 node;
	int ret;

	for (node = 0; node < VFAB_BP_MAX_NODES; node++)
		snprintf(vf_nl_remote[node], sizeof(vf_nl_remote[node]),
			 "this belongs to node %u of the backplane: change it there", node);
	ret = vf_nl_manager_init();
	if (ret)
		return ret;
	ret = genl_register_family(&vf_family);
	if (ret)
		vf_nl_manager_exit();
	WRITE_ONCE(vf_nl_ready, !ret);
	return ret;
}

void vf_netlink_exit(void)
{
	/* Handlers are done when it returns; ending domains must not send */
	genl_unregister_family(&vf_family);
	vf_nl_manager_exit();
	WRITE_ONCE(vf_nl_ready, false);
}
