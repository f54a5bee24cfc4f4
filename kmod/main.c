// SPDX-License-Identifier: GPL-2.0
/* Loading and unloading; the module's parameters. */
#include <linux/mm.h>
#include <linux/module.h>
#include "backplane.h"
#include "vfabric.h"

unsigned int vf_param_max_domains = 256;
module_param_named(max_domains, vf_param_max_domains, uint, 0444);
MODULE_PARM_DESC(max_domains, "Domains that this machine owns, and again of others on backplanes (default 256)");

unsigned int vf_param_userns_domains;
module_param_named(userns_domains, vf_param_userns_domains, uint, 0444);
MODULE_PARM_DESC(userns_domains,
		 "Domains that each admin of another user namespace may have (default 0)");

unsigned int vf_param_userns_world = 72;
module_param_named(userns_world, vf_param_userns_world, uint, 0444);
MODULE_PARM_DESC(userns_world,
		 "Largest domain of such an admin, in endpoints (default 72)");

static ulong vf_param_user_mem_mib;
module_param_named(user_mem_mib, vf_param_user_mem_mib, ulong, 0444);
MODULE_PARM_DESC(user_mem_mib,
		 "MiB of windows that one user may have (default 0: half of memory)");

struct workqueue_struct *vf_wq;

u64 vf_user_mem_limit(void)
{
	if (vf_param_user_mem_mib)
		return min_t(u64, vf_param_user_mem_mib, U64_MAX >> 20) << 20;
	return (u64)totalram_pages() << PAGE_SHIFT >> 1;
}

static int __init vf_init(void)
{
	int ret;

	vf_wq = alloc_workqueue("vfabric", WQ_UNBOUND, 0);
	if (!vf_wq)
		return -ENOMEM;
	ret = vf_window_init();
	if (ret)
		goto err_wq;
	ret = vf_endpoint_init();
	if (ret)
		goto err_window;
	ret = vf_gate_init();
	if (ret)
		goto err_endpoint;
	ret = vf_chardev_init();
	if (ret)
		goto err_gate;
	ret = vf_domain_init();
	if (ret)
		goto err_chardev;
	ret = vf_backplane_init();
	if (ret)
		goto err_domain;
	/* Last: from here on there are users */
	ret = vf_netlink_init();
	if (ret)
		goto err_backplane;
	return 0;

err_backplane:
	vf_backplane_exit();
err_domain:
	vf_domain_exit();
err_chardev:
	vf_chardev_exit();
err_gate:
	vf_gate_exit();
err_endpoint:
	vf_endpoint_exit();
err_window:
	vf_window_exit();
err_wq:
	destroy_workqueue(vf_wq);
	return ret;
}

/* Open files and mappings hold the module: there are none any more. */
static void __exit vf_exit(void)
{
	vf_netlink_exit();
	vf_backplane_exit();
	vf_domain_exit();
	vf_chardev_exit();
	destroy_workqueue(vf_wq);	/* late work still holds a holder */
	rcu_barrier();			/* eventfds, domains, holders */
	vf_gate_exit();
	vf_endpoint_exit();
	vf_window_exit();
}

module_init(vf_init);
module_exit(vf_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("vfabric developers");
MODULE_DESCRIPTION("Scale-up memory fabric between processes");
MODULE_VERSION("0.1.0");
