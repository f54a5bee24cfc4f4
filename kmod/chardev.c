// SPDX-License-Identifier: GPL-2.0
/* The device files: open, the table of ioctls, mmap, read, poll, close. */
#include <linux/cdev.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "vfabric.h"

static struct cdev vf_cdev;

static int vf_ioc_info(struct vf_holder *h, void *arg)
{
	struct vf_domain *dom = h->dom;
	struct vfab_info *info = arg;

	switch (vf_holder_state(h)) {
	case VF_HOLDER_NEW:
		if (!READ_ONCE(dom->dead) && !READ_ONCE(h->gate->dead))
			break;
		fallthrough;
	case VF_HOLDER_ENDED:
		return -ENODEV;
	case VF_HOLDER_ATTACHED:
		break;
	}
	*info = (struct vfab_info){
		.abi = VFAB_ABI,
		.domain = dom->id,
		.world = dom->topo.world,
		.planes = dom->topo.ports,
		.partition = h->gate->part->id,
		.rank = VFAB_RANK_ANY,
		.vectors = VFAB_VECTORS,
		.view_bytes = vf_view_bytes(dom),
		.view_cookie = VF_COOKIE_VIEW,
		.window_max = VF_WINDOW_MAX,
		.channel = h->gate->channel,
		.node = VFAB_NODE_NONE,
		.nodes = dom->nodes,
	};
	if (vf_holder_state(h) == VF_HOLDER_ATTACHED) {
		info->rank = h->rank;
		info->node = vf_node_of(dom, h->rank);
	}
	export_uuid(info->uuid, &dom->uuid);
	strscpy(info->name, dom->name, sizeof(info->name));
	return 0;
}

static int vf_ioc_attach(struct vf_holder *h, void *arg)
{
	return vf_holder_attach(h, arg);
}

static int vf_ioc_detach(struct vf_holder *h, void *arg)
{
	if (vf_holder_state(h) == VF_HOLDER_NEW)
		return -ENOTCONN;
	if (vf_holder_state(h) == VF_HOLDER_ENDED)
		return -ENODEV;
	vf_holder_end(h, VFAB_REASON_EXIT);
	return 0;
}

static int vf_ioc_window_alloc(struct vf_holder *h, void *arg)
{
	return vf_window_alloc(h, arg);
}

static int vf_ioc_window_free(struct vf_holder *h, void *arg)
{
	return vf_window_free(h, arg);
}

static int vf_ioc_lookup(struct vf_holder *h, void *arg)
{
	return vf_window_lookup(h, arg);
}

static int vf_ioc_import(struct vf_holder *h, void *arg)
{
	int ret = vf_import_handle(h, arg);

	vf_counter_refused(h, ret);
	return ret;
}

static int vf_ioc_release(struct vf_holder *h, void *arg)
{
	return vf_import_release(h, arg);
}

static int vf_ioc_bell(struct vf_holder *h, void *arg)
{
	int ret = vf_import_bell(h, arg);

	vf_counter_refused(h, ret);
	return ret;
}

static int vf_ioc_ring(struct vf_holder *h, void *arg)
{
	return vf_doorbell_ring(h, arg);
}

static int vf_ioc_wait(struct vf_holder *h, void *arg)
{
	return vf_doorbell_wait(h, arg);
}

static int vf_ioc_eventfd(struct vf_holder *h, void *arg)
{
	return vf_doorbell_eventfd(h, arg);
}

static int vf_ioc_counts(struct vf_holder *h, void *arg)
{
	return vf_counts_map(h, arg);
}

static int vf_ioc_pace(struct vf_holder *h, void *arg)
{
	return vf_pace(h, arg);
}

static const struct vf_ioctl {
	unsigned int cmd;
	int (*fn)(struct vf_holder *h, void *arg);
} vf_ioctls[] = {
	/* in the order of their numbers: vf_chardev_init() checks */
	{ VFAB_IOC_INFO, vf_ioc_info },
	{ VFAB_IOC_ATTACH, vf_ioc_attach },
	{ VFAB_IOC_DETACH, vf_ioc_detach },
	{ VFAB_IOC_WINDOW_ALLOC, vf_ioc_window_alloc },
	{ VFAB_IOC_WINDOW_FREE, vf_ioc_window_free },
	{ VFAB_IOC_LOOKUP, vf_ioc_lookup },
	{ VFAB_IOC_IMPORT, vf_ioc_import },
	{ VFAB_IOC_RELEASE, vf_ioc_release },
	{ VFAB_IOC_BELL, vf_ioc_bell },
	{ VFAB_IOC_RING, vf_ioc_ring },
	{ VFAB_IOC_WAIT, vf_ioc_wait },
	{ VFAB_IOC_EVENTFD, vf_ioc_eventfd },
	{ VFAB_IOC_COUNTS, vf_ioc_counts },
	{ VFAB_IOC_PACE, vf_ioc_pace },
};

union vf_ioc_arg {
	struct vfab_info info;
	struct vfab_attach attach;
	struct vfab_window_alloc window_alloc;
	struct vfab_window_free window_free;
	struct vfab_lookup lookup;
	struct vfab_import import;
	struct vfab_release release;
	struct vfab_bell bell;
	struct vfab_ring ring;
	struct vfab_wait wait;
	struct vfab_eventfd eventfd;
	struct vfab_counts counts;
	struct vfab_pace pace;
};

/*
 * The number and the direction choose the ioctl; the size in the number is the
 * caller's, and may be another than ours: a shorter structure is extended by
 * zeros, a longer one must be zero beyond what we know.
 */
static noinline long vf_ioctl_any(struct vf_holder *h, unsigned int cmd, void __user *u)
{
	unsigned int nr = _IOC_NR(cmd), size, usize = _IOC_SIZE(cmd);
	const struct vf_ioctl *ioc;
	union vf_ioc_arg arg = { };
	int ret;

	if (_IOC_TYPE(cmd) != VFAB_IOC_MAGIC || nr >= ARRAY_SIZE(vf_ioctls))
		return -ENOTTY;
	ioc = &vf_ioctls[nr];
	if (_IOC_DIR(cmd) != _IOC_DIR(ioc->cmd))
		return -ENOTTY;
	size = _IOC_SIZE(ioc->cmd);
	if (!usize != !size)
		return -EINVAL;
	if (_IOC_DIR(cmd) & _IOC_WRITE) {
		ret = copy_struct_from_user(&arg, size, u, usize);
		if (ret)
			return ret;
	}
	/*
	 * A reply that cannot be delivered must not have changed anything;
	 * INFO and WAIT change nothing.
	 */
	if ((_IOC_DIR(cmd) & _IOC_READ) && (_IOC_DIR(cmd) & _IOC_WRITE) &&
	    ioc->cmd != VFAB_IOC_WAIT && copy_to_user(u, &arg, min(size, usize)))
		return -EFAULT;

	ret = ioc->fn(h, &arg);

	if ((!ret || (ret == -ETIMEDOUT && ioc->cmd == VFAB_IOC_WAIT)) &&
	    (_IOC_DIR(cmd) & _IOC_READ) &&
	    copy_to_user(u, &arg, min(size, usize)))
		ret = -EFAULT;
	return ret;
}

static long vf_ioctl_ring(struct vf_holder *h, const struct vfab_ring __user *u)
{
	struct vfab_ring a;

	if (!user_access_begin(u, sizeof(*u)))
		return -EFAULT;
	unsafe_get_user(a.rank, &u->rank, fault);
	unsafe_get_user(a.vector, &u->vector, fault);
	user_access_end();
	return vf_doorbell_ring(h, &a);
fault:
	user_access_end();
	return -EFAULT;
}

static long vf_ioctl_wait(struct vf_holder *h, struct vfab_wait __user *u)
{
	struct vfab_wait a = { };
	int ret;

	if (!user_access_begin(u, sizeof(*u)))
		return -EFAULT;
	unsafe_get_user(a.vector, &u->vector, fault);
	unsafe_get_user(a.count, &u->count, fault);
	unsafe_get_user(a.loss, &u->loss, fault);
	unsafe_get_user(a.deadline, &u->deadline, fault);
	user_access_end();
	ret = vf_doorbell_wait(h, &a);
	if (ret && ret != -ETIMEDOUT)
		return ret;
	if (!user_access_begin(u, sizeof(*u)))
		return -EFAULT;
	if (!ret)
		unsafe_put_user(a.reason, &u->reason, fault);
	unsafe_put_user(a.count, &u->count, fault);
	unsafe_put_user(a.loss, &u->loss, fault);
	user_access_end();
	return ret;
fault:
	user_access_end();
	return -EFAULT;
}

/*
 * RING and WAIT, of the size that is ours, are why anybody looks at the time
 * that an ioctl takes: field by field, without the table.
 */
static long vf_ioctl(struct file *file, unsigned int cmd, unsigned long uarg)
{
	struct vf_holder *h = file->private_data;
	void __user *u = (void __user *)uarg;

	switch (cmd) {
	case VFAB_IOC_RING:
		return vf_ioctl_ring(h, u);
	case VFAB_IOC_WAIT:
		return vf_ioctl_wait(h, u);
	}
	return vf_ioctl_any(h, cmd, u);
}

static int vf_open(struct inode *inode, struct file *file)
{
	struct vf_gate *gate;
	struct vf_holder *h;

	/* Whoever joins the fabric can be written to and written by */
	if ((file->f_mode & (FMODE_READ | FMODE_WRITE)) != (FMODE_READ | FMODE_WRITE))
		return -EACCES;
	gate = vf_gate_open(iminor(inode));
	if (!gate)
		return -ENODEV;
	if (READ_ONCE(gate->dead) || READ_ONCE(gate->part->dom->dead)) {
		vf_gate_put(gate);
		return -ENODEV;
	}
	h = vf_holder_create(gate);
	if (IS_ERR(h))
		return PTR_ERR(h);
	file->private_data = h;
	file->f_mapping = h->inode->i_mapping;
	return stream_open(inode, file);
}

static int vf_flush(struct file *file, fl_owner_t id)
{
	struct vf_holder *h = file->private_data;

	if (vf_holder_exiting(h))
		vf_holder_end(h, VFAB_REASON_EXIT);
	return 0;
}

static int vf_release(struct inode *inode, struct file *file)
{
	struct vf_holder *h = file->private_data;

	vf_holder_forget_pid(h);
	vf_holder_end(h, VFAB_REASON_EXIT);
	fput(h->shadow);
	vf_holder_put(h);
	return 0;
}

static int vf_mmap(struct file *file, struct vm_area_struct *vma)
{
	return vf_import_mmap(file->private_data, vma);
}

static ssize_t vf_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	return vf_event_read(file->private_data, file, buf, len);
}

static __poll_t vf_poll(struct file *file, poll_table *table)
{
	struct vf_holder *h = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &h->wq, table);
	if (vf_event_pending(h))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (vf_holder_state(h) == VF_HOLDER_ENDED)
		mask |= EPOLLHUP | EPOLLERR;
	return mask;
}

static const struct file_operations vf_fops = {
	.owner = THIS_MODULE,
	.open = vf_open,
	.flush = vf_flush,
	.release = vf_release,
	.unlocked_ioctl = vf_ioctl,
	.mmap = vf_mmap,
	.get_unmapped_area = thp_get_unmapped_area,
	.read = vf_read,
	.poll = vf_poll,
	.llseek = noop_llseek,
};

int vf_chardev_init(void)
{
	int ret;

	BUILD_BUG_ON(sizeof(struct vfab_info) != 120);
	BUILD_BUG_ON(sizeof(struct vfab_attach) != 8);
	BUILD_BUG_ON(sizeof(struct vfab_window_alloc) != 32);
	BUILD_BUG_ON(sizeof(struct vfab_lookup) != 56);
	BUILD_BUG_ON(sizeof(struct vfab_import) != 40);
	BUILD_BUG_ON(sizeof(struct vfab_bell) != 16);
	BUILD_BUG_ON(sizeof(struct vfab_wait) != 32);
	BUILD_BUG_ON(sizeof(struct vfab_eventfd) != 8);
	BUILD_BUG_ON(sizeof(struct vfab_peer) != 32);
	BUILD_BUG_ON(offsetof(struct vfab_view, peer) != 64);
	BUILD_BUG_ON(sizeof(struct vfab_event) != 32);
	BUILD_BUG_ON(sizeof(struct vfab_counts) != 16);
	BUILD_BUG_ON(sizeof(struct vfab_count) != 64);
	BUILD_BUG_ON(sizeof(struct vfab_pace) != 24);
	BUILD_BUG_ON(ARRAY_SIZE(vf_ioctls) != _IOC_NR(VFAB_IOC_PACE) + 1);
	BUILD_BUG_ON(VFAB_VECTORS * VFAB_BELL_STRIDE > PAGE_SIZE);
	BUILD_BUG_ON(VFAB_MAX_WORLD != VF_MAX_WORLD || VFAB_MAX_PLANES != VF_MAX_PORTS);

	ret = alloc_chrdev_region(&vf_devt, 0, VF_MINORS, "vfabric");
	if (ret)
		return ret;
	cdev_init(&vf_cdev, &vf_fops);
	vf_cdev.owner = THIS_MODULE;
	ret = cdev_add(&vf_cdev, vf_devt, VF_MINORS);
	if (ret)
		unregister_chrdev_region(vf_devt, VF_MINORS);
	return ret;
}

void vf_chardev_exit(void)
{
	cdev_del(&vf_cdev);
	unregister_chrdev_region(vf_devt, VF_MINORS);
}
