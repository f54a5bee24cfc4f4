// SPDX-License-Identifier: GPL-2.0
/* Netlink: who manages a domain. */
#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include "netlink.h"

int vfabric_nl_manager_heartbeat_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *note = info->attrs[VFAB_A_MANAGER_NOTE];
	struct vf_domain *dom = vf_nl_write(skb, info);
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	if (GENL_REQ_ATTR_CHECK(info, VFAB_A_MANAGER_TIMEOUT)) {
		ret = vf_nl_refuse(info, -1, -EINVAL,
				   "give manager-timeout: after how long a silence it is lost");
	} else if (vf_fault_stalled(dom)) {
		ret = 0;	/* a fault: nobody hears it */
	} else {
		ret = vf_manager_beat(dom, info->snd_portid,
				      nla_get_u32(info->attrs[VFAB_A_MANAGER_TIMEOUT]),
				      note ? nla_data(note) : NULL);
		if (ret)
			vf_nl_refuse(info, VFAB_A_DOMAIN, ret,
				     "another manager is alive: stop it first");
	}
	vf_nl_done(info, dom);
	return ret;
}

int vfabric_nl_manager_goodbye_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_write(skb, info);
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_manager_leave(dom, info->snd_portid);
	if (ret == -ENOENT)
		vf_nl_refuse(info, VFAB_A_DOMAIN, ret, "the domain has no manager");
	else if (ret)
		vf_nl_refuse(info, VFAB_A_DOMAIN, ret,
			     "another process is the manager: its own socket says goodbye");
	vf_nl_done(info, dom);
	return ret;
}

/* Part of what domain-get says. */
int vf_nl_put_manager(const struct vf_nl_to *to, struct vf_domain *dom)
{
	const struct vf_manager *m = &dom->manager;
	pid_t pid = 0;

	if (to->admin && m->tgid)
		pid = pid_nr_ns(m->tgid, task_active_pid_ns(current));
	return nla_put_u32(to->skb, VFAB_A_MANAGER_STATE, m->state) ||
	       (m->state != VFAB_MANAGER_NONE &&
		(nla_put_u32(to->skb, VFAB_A_MANAGER_AGE,
			     min_t(u64, U32_MAX, jiffies_to_msecs(jiffies - m->beat))) ||
		 nla_put_u32(to->skb, VFAB_A_MANAGER_TIMEOUT, m->timeout_ms) ||
		 nla_put_string(to->skb, VFAB_A_MANAGER_NOTE, m->note) ||
		 (pid && nla_put_u32(to->skb, VFAB_A_MANAGER_PID, pid))));
}

/* A socket was closed, however its process ended. */
static int vf_nl_closed(struct notifier_block *nb, unsigned long event, void *data)
{
	struct netlink_notify *n = data;

	if (event == NETLINK_URELEASE && n->protocol == NETLINK_GENERIC)
		vf_manager_closed(n->net, n->portid);
	return NOTIFY_DONE;
}

static struct notifier_block vf_nl_notifier = {
	.notifier_call = vf_nl_closed,
};

int vf_nl_manager_init(void)
{
	return netlink_register_notifier(&vf_nl_notifier);
}

void vf_nl_manager_exit(void)
{
	netlink_unregister_notifier(&vf_nl_notifier);
}
