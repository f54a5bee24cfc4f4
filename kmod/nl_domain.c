// SPDX-License-Identifier: GPL-2.0
/* Netlink: domains. */
#include <net/sock.h>
#include "netlink.h"
#include "placed.h"

#define VF_DEFAULT_PLANES	18
#define VF_DEFAULT_RATE		50000	/* NVLink 5: 50 GB/s per link and direction */
#define VF_DEFAULT_LATENCY	700	/* ns end to end, see Documentation */

/* A rate and a latency of the whole make sense where all links are alike. */
static int vf_nl_put_topo(struct sk_buff *skb, struct vf_domain *dom)
{
	const struct vf_topo *t = &dom->topo;

	return (t->alike && t->nlinks &&
		(nla_put_u32(skb, VFAB_A_RATE, t->link[0].rate) ||
		 nla_put_u32(skb, VFAB_A_LATENCY,
			     2 * t->link[0].latency + t->switch_latency))) ||
	       nla_put_u32(skb, VFAB_A_SWITCHES, t->switches) ||
	       nla_put_u32(skb, VFAB_A_LINK_COUNT, t->nlinks) ||
	       nla_put_u32(skb, VFAB_A_SWITCH_LATENCY, t->switch_latency) ||
	       (t->forwards && nla_put_flag(skb, VFAB_A_FORWARDING)) ||
	       (dom->profile[0] && nla_put_string(skb, VFAB_A_PROFILE, dom->profile));
}

/* Where it lies, if not on this kernel. */
static int vf_nl_put_placed(struct sk_buff *skb, struct vf_domain *dom)
{
	const struct vf_placed *p = dom->placed;

	if (!vf_is_placed(dom))
		return 0;
	return nla_put_string(skb, VFAB_A_BACKPLANE, vf_backplane_bp(p->bd)->name) ||
	       nla_put(skb, VFAB_A_PLACE, dom->topo.world, p->place) ||
	       nla_put_u32(skb, VFAB_A_OWNER, p->owner);
}

static int vf_nl_fill_domain(const struct vf_nl_to *to, struct vf_domain *dom,
			     unsigned long index)
{
	struct sk_buff *skb = to->skb;
	void *hdr = vf_nl_begin(to, dom);

	if (!hdr)
		return -EMSGSIZE;
	return vf_nl_end(to, hdr,
		nla_put_string(skb, VFAB_A_DOMAIN_NAME, dom->name) ||
		nla_put(skb, VFAB_A_UUID, sizeof(dom->uuid), &dom->uuid) ||
		nla_put_u32(skb, VFAB_A_WORLD, dom->topo.world) ||
		nla_put_u32(skb, VFAB_A_PLANES, dom->topo.ports) ||
		vf_nl_put_topo(skb, dom) ||
		vf_nl_put_access(to, &dom->access) ||
		nla_put_u32(skb, VFAB_A_PEER_DEATH, dom->peer_death) ||
		nla_put_u32(skb, VFAB_A_RETRY_TIMEOUT, dom->retry_ms) ||
		nla_put_u64_64bit(skb, VFAB_A_MEM_LIMIT, dom->mem_limit, VFAB_A_PAD) ||
		nla_put_u64_64bit(skb, VFAB_A_MEM_USED,
				  atomic64_read(&dom->mem_used), VFAB_A_PAD) ||
		nla_put_u32(skb, VFAB_A_ATTACHED, dom->attached) ||
		nla_put_u64_64bit(skb, VFAB_A_GENERATION, dom->generation, VFAB_A_PAD) ||
		nla_put_u32(skb, VFAB_A_NODES, dom->nodes) ||
		nla_put_u32(skb, VFAB_A_PARTITION_MODE, dom->part_mode) ||
		nla_put_u8(skb, VFAB_A_SHAPE, dom->shape) ||
		nla_put_u32(skb, VFAB_A_SHAPE_SCALE, dom->shape_scale) ||
		vf_nl_put_manager(to, dom) ||
		vf_nl_put_placed(skb, dom));
}

static int vf_nl_walk_domain(const struct vf_nl_to *to, struct vf_domain *dom,
			     struct nlattr **attrs, unsigned long *index)
{
	return *index ? 0 : vf_nl_fill_domain(to, dom, 0);
}

int vfabric_nl_domain_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_reply(skb, info, dom, vf_nl_fill_domain, 0);
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_domain_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_domain);
}

/* Admins of other user namespaces: within what the parameters allow. */
static int vf_nl_restrict(struct genl_info *info, struct vf_domain_config *cfg)
{
	if (!vf_param_userns_domains)
		return vf_nl_refuse(info, -1, -EPERM,
			"creating a domain needs CAP_NET_ADMIN in the initial user namespace (or the module parameter userns_domains)");
	if (cfg->topo.world > vf_param_userns_world)
		return vf_nl_refuse(info, VFAB_A_WORLD, -EPERM,
			"larger than the module parameter userns_world allows in a user namespace");
	cfg->restricted = true;
	return 0;
}

/* The links, in as many attributes as they take, into one array. */
static int vf_nl_get_links(struct genl_info *info, struct vf_topo_config *t)
{
	struct vfab_link_spec *links;
	struct nlattr *a;
	size_t bytes = 0;
	int rem;

	BUILD_BUG_ON(sizeof(*links) != 20);
	nlmsg_for_each_attr(a, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(a) != VFAB_A_LINKS)
			continue;
		if (nla_len(a) % sizeof(*links))
			return vf_nl_refuse(info, VFAB_A_LINKS, -EINVAL,
				"links are whole records of struct vfab_link_spec");
		bytes += nla_len(a);
	}
	if (bytes / sizeof(*links) > VF_MAX_LINKS)
		return vf_nl_refuse(info, VFAB_A_LINKS, -EINVAL,
				    "a domain has at most 65536 links");
	links = kvmalloc(max_t(size_t, bytes, 1), GFP_KERNEL_ACCOUNT);
	if (!links)
		return -ENOMEM;
	t->links = links;
	nlmsg_for_each_attr(a, info->nlhdr, GENL_HDRLEN, rem)
		if (nla_type(a) == VFAB_A_LINKS) {
			memcpy(links + t->nlinks, nla_data(a), nla_len(a));
			t->nlinks += nla_len(a) / sizeof(*links);
		}
	return 0;
}

/* A crossbar of planes, or a list of links; the latter is the caller's to free. */
static int vf_nl_topo_config(struct genl_info *info, struct vf_topo_config *t)
{
	struct nlattr **attrs = info->attrs;

	t->world = nla_get_u32(attrs[VFAB_A_WORLD]);
	t->planes = vf_nl_u32(info, VFAB_A_PLANES, VF_DEFAULT_PLANES);
	t->rate = vf_nl_u32(info, VFAB_A_RATE, VF_DEFAULT_RATE);
	t->latency = vf_nl_u32(info, VFAB_A_LATENCY, VF_DEFAULT_LATENCY);
	t->switches = vf_nl_u32(info, VFAB_A_SWITCHES, 0);
	t->switch_latency = vf_nl_u32(info, VFAB_A_SWITCH_LATENCY, 0);
	t->forwards = attrs[VFAB_A_FORWARDING];
	if (!t->rate)
		return vf_nl_refuse(info, VFAB_A_RATE, -EINVAL,
				    "a link's rate is at least 1 (10^6 bytes per second)");
	if (attrs[VFAB_A_LINKS]) {
		if (attrs[VFAB_A_PLANES] || attrs[VFAB_A_RATE] || attrs[VFAB_A_LATENCY])
			return vf_nl_refuse(info, VFAB_A_LINKS, -EINVAL,
				"give planes, rate and latency, or a list of links, not both");
		return vf_nl_get_links(info, t);
	}
	if (attrs[VFAB_A_SWITCHES] || attrs[VFAB_A_SWITCH_LATENCY] ||
	    attrs[VFAB_A_FORWARDING])
		return vf_nl_refuse(info, VFAB_A_SWITCHES, -EINVAL,
			"switches, switch-latency and forwarding belong to a list of links");
	return 0;
}

static int vf_nl_domain_config(struct sk_buff *skb, struct genl_info *info,
			       struct vf_domain_config *cfg, uuid_t *uuid)
{
	const struct vf_access root = {
		.mode = 0600,
		.uid = make_kuid(sk_user_ns(NETLINK_CB(skb).sk), 0),
		.gid = make_kgid(sk_user_ns(NETLINK_CB(skb).sk), 0),
	};
	struct nlattr **attrs = info->attrs;
	int ret;

	if (GENL_REQ_ATTR_CHECK(info, VFAB_A_WORLD))
		return vf_nl_refuse(info, -1, -EINVAL,
				    "give the world size: 1 to 1024 endpoints");
	if (attrs[VFAB_A_DOMAIN_NAME]) {
		cfg->name = nla_data(attrs[VFAB_A_DOMAIN_NAME]);
		if (!vf_name_valid(cfg->name))
			return vf_nl_refuse(info, VFAB_A_DOMAIN_NAME, -EINVAL,
				"a name is a letter or digit and up to 31 of letters, digits, _ . -");
	}
	if (attrs[VFAB_A_UUID]) {
		import_uuid(uuid, nla_data(attrs[VFAB_A_UUID]));
		if (uuid_is_null(uuid))
			return vf_nl_refuse(info, VFAB_A_UUID, -EINVAL,
					    "the zero UUID means no fabric: give another");
		cfg->uuid = uuid;
	}
	cfg->topo.world = nla_get_u32(attrs[VFAB_A_WORLD]);
	cfg->nodes = vf_nl_u32(info, VFAB_A_NODES, 1);
	if (cfg->topo.world % cfg->nodes)
		return vf_nl_refuse(info, VFAB_A_NODES, -EINVAL,
				    "the number of nodes must divide the world size");
	cfg->part_mode = vf_nl_u32(info, VFAB_A_PARTITION_MODE, VFAB_PARTITIONS_DEFAULT);
	if (cfg->part_mode == VFAB_PARTITIONS_HGX15 && cfg->topo.world != 8)
		return vf_nl_refuse(info, VFAB_A_PARTITION_MODE, -EINVAL,
				    "the partitions hgx15 are those of 8 endpoints: give a world size of 8");
	cfg->peer_death = vf_nl_u32(info, VFAB_A_PEER_DEATH, VFAB_PEER_DEATH_REVOKE);
	cfg->retry_ms = vf_nl_u32(info, VFAB_A_RETRY_TIMEOUT, 0);
	cfg->mem_limit = attrs[VFAB_A_MEM_LIMIT] ?
			 nla_get_u64(attrs[VFAB_A_MEM_LIMIT]) :
			 (u64)totalram_pages() << PAGE_SHIFT >> 1;
	if (attrs[VFAB_A_PROFILE]) {
		cfg->profile = nla_data(attrs[VFAB_A_PROFILE]);
		if (!vf_name_valid(cfg->profile))
			return vf_nl_refuse(info, VFAB_A_PROFILE, -EINVAL,
				"a profile's name is a letter or digit and up to 31 of letters, digits, _ . -");
	}
	ret = netlink_capable(skb, CAP_NET_ADMIN) ? 0 : vf_nl_restrict(info, cfg);
	if (!ret)
		ret = vf_nl_get_access(skb, info, cfg->restricted, &root, &cfg->access);
	return ret ?: vf_nl_topo_config(info, &cfg->topo);
}

/* On a backplane not everything goes that goes on one kernel. */
static int vf_nl_check_placed(struct genl_info *info, const struct vf_domain_config *cfg)
{
	struct nlattr **attrs = info->attrs;

	if (!attrs[VFAB_A_BACKPLANE] || !attrs[VFAB_A_PLACE])
		return vf_nl_refuse(info, VFAB_A_BACKPLANE, -EINVAL,
				    "give both a backplane and on which of its nodes each rank is placed");
	if (nla_len(attrs[VFAB_A_PLACE]) != cfg->topo.world)
		return vf_nl_refuse(info, VFAB_A_PLACE, -EINVAL,
				    "give a node for each rank: as many as the world size");
	if (cfg->restricted || !net_eq(genl_info_net(info), &init_net))
		return vf_nl_refuse(info, VFAB_A_BACKPLANE, -EPERM,
			"a domain on a backplane is the machine's: create it in the initial network and user namespace");
	if (attrs[VFAB_A_NODES])
		return vf_nl_refuse(info, VFAB_A_NODES, -EOPNOTSUPP,
				    "the nodes of a domain on a backplane are the backplane's");
	if (cfg->part_mode > VFAB_PARTITIONS_NONE)
		return vf_nl_refuse(info, VFAB_A_PARTITION_MODE, -EOPNOTSUPP,
				    "on a backplane a domain begins with the default partition or with none");
	if (cfg->peer_death != VFAB_PEER_DEATH_REVOKE)
		return vf_nl_refuse(info, VFAB_A_PEER_DEATH, -EOPNOTSUPP,
				    "on a backplane the windows of an endpoint end with it: revoke");
	return 0;
}

static struct vf_domain *vf_nl_create(struct genl_info *info, struct vf_domain_config *cfg)
{
	struct nlattr **attrs = info->attrs;
	int ret;

	if (!attrs[VFAB_A_BACKPLANE] && !attrs[VFAB_A_PLACE])
		return vf_domain_create(genl_info_net(info), cfg, info->extack);
	ret = vf_nl_check_placed(info, cfg);
	if (ret)
		return ERR_PTR(ret);
	if (!IS_ENABLED(CONFIG_PCI))
		return ERR_PTR(vf_nl_refuse(info, VFAB_A_BACKPLANE, -ENODEV,
			"this kernel knows no PCI devices, and so no backplane"));
	return vf_placed_create(genl_info_net(info), nla_data(attrs[VFAB_A_BACKPLANE]),
				nla_data(attrs[VFAB_A_PLACE]), cfg, info->extack);
}

int vfabric_nl_domain_create_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_DOMAIN, VFAB_ACT_CREATED,
				       VFAB_WHY_CREATE);
	struct vf_domain_config cfg = { };
	struct vf_domain *dom;
	uuid_t uuid;
	int ret;

	ret = vf_nl_domain_config(skb, info, &cfg, &uuid);
	if (ret)
		return ret;
	dom = vf_nl_create(info, &cfg);
	kvfree(cfg.topo.links);
	if (IS_ERR(dom))
		return PTR_ERR(dom);
	mutex_lock(&dom->lock);
	if (!dom->dead) {
		vf_notify(dom, &n);
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_domain, 0);
	}
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_domain_delete_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_write(skb, info);
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	mutex_unlock(&dom->lock);
	ret = vf_domain_delete(dom, info->attrs[VFAB_A_FORCE]);
	if (!ret && vf_is_placed(dom))
		vf_nl_expelled(info, vf_placed_settle(dom));
	vf_domain_put(dom);
	if (ret == -EBUSY)
		return vf_nl_refuse(info, VFAB_A_DOMAIN, ret,
			"endpoints are attached: stop their processes, or force it");
	if (ret == -ENODEV)
		return vf_nl_refuse(info, VFAB_A_DOMAIN, -ENOENT,
				    "the domain is being deleted");
	return ret;
}

/* Outages of all who are attached can be ridden out from now on. */
static int vf_nl_ride_out(struct vf_domain *dom)
{
	u32 i;
	int ret = 0;

	for (i = 0; i < dom->topo.world && !ret; i++) {
		struct vf_holder *h;

		h = rcu_dereference_protected(dom->eps[i].holder,
					      lockdep_is_held(&dom->lock));
		if (h && !h->remote)
			ret = vf_holder_ride_out(h);
	}
	return ret;
}

int vfabric_nl_domain_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_DOMAIN, VFAB_ACT_CHANGED,
				       VFAB_WHY_ADMIN);
	struct vf_domain *dom = vf_nl_write(skb, info);
	u32 retry_ms;
	int ret = 0;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	if (vf_is_placed(dom)) {
		ret = vf_nl_refuse(info, VFAB_A_DOMAIN, -EOPNOTSUPP,
				   "a domain on a backplane stays as it was created");
		goto unlock;
	}
	if (!info->attrs[VFAB_A_PEER_DEATH] && !info->attrs[VFAB_A_RETRY_TIMEOUT] &&
	    !info->attrs[VFAB_A_MEM_LIMIT] && !info->attrs[VFAB_A_SHAPE] &&
	    !info->attrs[VFAB_A_SHAPE_SCALE]) {
		ret = vf_nl_refuse(info, -1, -EINVAL,
				   "nothing to set: give peer-death, retry-timeout, mem-limit, shape or shape-scale");
		goto unlock;
	}
	retry_ms = vf_nl_u32(info, VFAB_A_RETRY_TIMEOUT, dom->retry_ms);
	if (retry_ms)
		ret = vf_nl_ride_out(dom);
	if (!ret && (info->attrs[VFAB_A_SHAPE] || info->attrs[VFAB_A_SHAPE_SCALE]))
		ret = vf_pace_set(dom, info->attrs[VFAB_A_SHAPE] ?
				  nla_get_u8(info->attrs[VFAB_A_SHAPE]) : dom->shape,
				  vf_nl_u32(info, VFAB_A_SHAPE_SCALE, dom->shape_scale));
	if (ret) {
		vf_nl_refuse(info, -1, ret, "no memory");
		goto unlock;
	}
	dom->retry_ms = retry_ms;
	dom->peer_death = vf_nl_u32(info, VFAB_A_PEER_DEATH, dom->peer_death);
	if (info->attrs[VFAB_A_MEM_LIMIT])
		WRITE_ONCE(dom->mem_limit, nla_get_u64(info->attrs[VFAB_A_MEM_LIMIT]));
	vf_domain_changed(dom);
	vf_notify(dom, &n);
unlock:
	vf_nl_done(info, dom);
	return ret;
}
