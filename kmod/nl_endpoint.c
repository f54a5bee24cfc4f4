// SPDX-License-Identifier: GPL-2.0
/* Netlink: endpoints and windows. */
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/task.h>
#include "netlink.h"

static struct vf_holder *vf_nl_holder(struct vf_domain *dom, u32 rank)
{
	return rcu_dereference_protected(dom->eps[rank].holder,
					 lockdep_is_held(&dom->lock));
}

static u32 vf_nl_ports_up(struct vf_domain *dom, u32 rank)
{
	return hweight64(dom->topo.now.port_up[rank]);
}

/* Peers whose route is out, but may be ridden out. */
static u32 vf_nl_recovering(struct vf_domain *dom, struct vf_holder *h)
{
	u32 i, n = 0;

	if (!h || !h->outages)
		return 0;
	for (i = 0; i < dom->topo.world; i++)
		n += h->view->peer[i].state == VFAB_PEER_RECOVERY;
	return n;
}

/* Who it is: in the reader's pid namespace, and for admins only. */
static int vf_nl_put_process(const struct vf_nl_to *to, struct vf_holder *h)
{
	char comm[TASK_COMM_LEN] = "";
	struct task_struct *task;
	pid_t pid;

	if (!to->admin || h->remote)
		return 0;
	pid = pid_nr_ns(h->tgid, task_active_pid_ns(current));
	task = get_pid_task(h->tgid, PIDTYPE_TGID);
	if (task) {
		get_task_comm(comm, task);
		put_task_struct(task);
	}
	return (pid && nla_put_u32(to->skb, VFAB_A_HOLDER_PID, pid)) ||
	       nla_put_string(to->skb, VFAB_A_HOLDER_COMM, comm);
}

static int vf_nl_put_channel(struct sk_buff *skb, const struct vf_holder *h)
{
	return h->channel == VFAB_CHANNEL_NONE ? 0 :
	       nla_put_u32(skb, VFAB_A_CHANNEL, h->channel);
}

/* What an endpoint says of itself, true or not. */
static void vf_nl_identity(struct vf_domain *dom, u32 rank, struct vf_identity *id)
{
	struct vf_partition *part = dom->eps[rank].part;

	*id = (struct vf_identity){
		.state = part ? VFAB_FABRIC_COMPLETED : VFAB_FABRIC_NOT_STARTED,
		.clique = part ? part->id : VF_NONE,
		.health = vf_endpoint_health(dom, rank),
		.uuid = dom->uuid,
	};
	vf_fault_lie(dom, rank, id);
}

static int vf_nl_fill_endpoint(const struct vf_nl_to *to, struct vf_domain *dom,
			       unsigned long rank)
{
	struct vf_holder *h = vf_nl_holder(dom, rank);
	u32 up = vf_nl_ports_up(dom, rank);
	struct sk_buff *skb = to->skb;
	void *hdr = vf_nl_begin(to, dom);
	struct vf_identity id;

	if (!hdr)
		return -EMSGSIZE;
	vf_nl_identity(dom, rank, &id);
	return vf_nl_end(to, hdr,
		nla_put_u32(skb, VFAB_A_RANK, rank) ||
		(id.clique != VF_NONE && nla_put_u32(skb, VFAB_A_PARTITION, id.clique)) ||
		nla_put(skb, VFAB_A_UUID, sizeof(id.uuid), &id.uuid) ||
		nla_put_u32(skb, VFAB_A_FABRIC_STATE, id.state) ||
		nla_put_s32(skb, VFAB_A_STATUS, id.status) ||
		nla_put_u32(skb, VFAB_A_HEALTH, id.health) ||
		nla_put_u32(skb, VFAB_A_PORTS_UP, up) ||
		nla_put_u32(skb, VFAB_A_PLANES, vf_vertex_ports(&dom->topo, rank)) ||
		nla_put_u8(skb, VFAB_A_HELD, !!h) ||
		nla_put_u32(skb, VFAB_A_WINDOWS, h ? h->nwindows : 0) ||
		nla_put_u64_64bit(skb, VFAB_A_MEM_USED, h ? h->win_bytes : 0,
				  VFAB_A_PAD) ||
		nla_put_u32(skb, VFAB_A_IMPORTS, h ? h->nimports : 0) ||
		(h && vf_nl_put_channel(skb, h)) ||
		nla_put_u32(skb, VFAB_A_NODE, vf_node_of(dom, rank)) ||
		nla_put_u32(skb, VFAB_A_RECOVERING, vf_nl_recovering(dom, h)) ||
		nla_put_u8(skb, VFAB_A_PARKED, dom->eps[rank].parked) ||
		(h && vf_nl_put_process(to, h)));
}

static int vf_nl_walk_endpoint(const struct vf_nl_to *to, struct vf_domain *dom,
			       struct nlattr **attrs, unsigned long *index)
{
	return vf_nl_walk_index(to, dom, attrs[VFAB_A_RANK], dom->topo.world,
				vf_nl_fill_endpoint, index);
}

int vfabric_nl_endpoint_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return vf_nl_get_rank(skb, info, vf_nl_fill_endpoint);
}

int vfabric_nl_endpoint_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_endpoint);
}

/* The held ones among those that a request names: one, or those of a node. */
static int vf_nl_held_ranks(struct genl_info *info, struct vf_domain *dom,
			    unsigned long *ranks)
{
	bool whole_node = info->attrs[VFAB_A_NODE];
	struct vf_holder *h;
	u32 index, i;
	int ret;

	ret = whole_node ? vf_nl_node(info, dom, &index) : vf_nl_rank(info, dom, &index);
	if (ret)
		return ret;
	for (i = 0; i < dom->topo.world; i++) {
		h = vf_nl_holder(dom, i);
		if (!h || (whole_node ? vf_node_of(dom, i) : i) != index)
			continue;
		if (h->remote)
			return vf_nl_refuse_remote(info, VFAB_A_RANK, vf_node_of(dom, i));
		__set_bit(i, ranks);
	}
	if (!bitmap_empty(ranks, dom->topo.world))
		return 0;
	return whole_node ? vf_nl_refuse(info, VFAB_A_NODE, -ENOTCONN,
					 "nothing holds an endpoint of this node") :
			    vf_nl_refuse(info, VFAB_A_RANK, -ENOTCONN,
					 "nothing holds this endpoint");
}

int vfabric_nl_endpoint_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };
	struct vf_domain *dom = vf_nl_write(skb, info);
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_held_ranks(info, dom, ranks);
	if ((!ret || ret == -ENOTCONN) && !info->attrs[VFAB_A_EVICT])
		ret = vf_nl_refuse(info, -1, -EINVAL, "nothing to set: give evict");
	if (!ret)
		vf_holders_evict(dom, ranks, VFAB_WHY_ADMIN);
	vf_nl_done(info, dom);
	return ret;
}

/* Which ranks hold an import of @win that is not gone. */
static u32 vf_nl_importers(struct vf_window *win, unsigned long *ranks)
{
	struct vf_import *im;
	u32 count = 0;

	list_for_each_entry(im, &win->imports, win_node) {
		__set_bit(im->holder->rank, ranks);
		count++;
	}
	return count;
}

static int vf_nl_put_window(const struct vf_nl_to *to, struct vf_domain *dom,
			    struct vf_window *win)
{
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };
	struct sk_buff *skb = to->skb;
	void *hdr = vf_nl_begin(to, dom);
	u32 count;

	if (!hdr)
		return -EMSGSIZE;
	count = vf_nl_importers(win, ranks);
	return vf_nl_end(to, hdr,
		nla_put_u32(skb, VFAB_A_RANK, win->rank) ||
		nla_put_u64_64bit(skb, VFAB_A_HANDLE, win->handle, VFAB_A_PAD) ||
		nla_put_u64_64bit(skb, VFAB_A_SIZE, (u64)win->npages << PAGE_SHIFT,
				  VFAB_A_PAD) ||
		nla_put_u64_64bit(skb, VFAB_A_TAG, win->tag, VFAB_A_PAD) ||
		nla_put_u32(skb, VFAB_A_ACCESS, win->access) ||
		vf_nl_put_bitmap(skb, VFAB_A_IMPORTERS, ranks, dom->topo.world) ||
		nla_put_u32(skb, VFAB_A_IMPORT_COUNT, count) ||
		vf_nl_put_channel(skb, win->owner));
}

static int vf_nl_fill_window(const struct vf_nl_to *to, struct vf_domain *dom,
			     unsigned long index)
{
	return vf_nl_put_window(to, dom, xa_load(&dom->windows, index));
}

static int vf_nl_walk_window(const struct vf_nl_to *to, struct vf_domain *dom,
			     struct nlattr **attrs, unsigned long *index)
{
	struct nlattr *rank = attrs[VFAB_A_RANK], *handle = attrs[VFAB_A_HANDLE];
	struct vf_window *win;
	int ret;

	xa_for_each_start(&dom->windows, *index, win, *index) {
		if ((rank && win->rank != nla_get_u32(rank)) ||
		    (handle && win->handle != nla_get_u64(handle)))
			continue;
		ret = vf_nl_put_window(to, dom, win);
		if (ret)
			return ret;
	}
	*index = ULONG_MAX;
	return 0;
}

int vfabric_nl_window_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	struct vf_window *win;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	if (GENL_REQ_ATTR_CHECK(info, VFAB_A_HANDLE)) {
		ret = vf_nl_refuse(info, -1, -EINVAL, "name a window by its handle");
	} else {
		win = vf_window_find(dom, nla_get_u64(info->attrs[VFAB_A_HANDLE]));
		ret = win ? vf_nl_reply(skb, info, dom, vf_nl_fill_window,
					lower_32_bits(win->handle)) :
		      vf_nl_refuse(info, VFAB_A_HANDLE, -ENOENT,
				   "no such window in this domain");
	}
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_window_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_window);
}
