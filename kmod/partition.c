// SPDX-License-Identifier: GPL-2.0
/* Partitions, their members and their device files. */
#include <linux/device.h>
#include <linux/slab.h>
#include <uapi/linux/vfabric_netlink.h>
#include "compat.h"
#include "vfabric.h"

dev_t vf_devt;
static struct class *vf_class;
static DEFINE_XARRAY_ALLOC(vf_minors);
static u32 vf_minor_next;

struct vf_device {
	struct device dev;
	umode_t mode;
	kuid_t uid;
	kgid_t gid;
};

static void vf_device_release(struct device *dev)
{
	kfree(container_of(dev, struct vf_device, dev));
}

static char *vf_devnode(VF_DEVNODE_CONST struct device *dev, umode_t *mode,
			kuid_t *uid, kgid_t *gid)
{
	VF_DEVNODE_CONST struct vf_device *vd = container_of(dev, struct vf_device, dev);

	if (mode)
		*mode = vd->mode;
	if (uid)
		*uid = vd->uid;
	if (gid)
		*gid = vd->gid;
	return kasprintf(GFP_KERNEL, "vfabric/%s", dev_name(dev) + strlen("vfabric-"));
}

static const struct device_type vf_device_type = {
	.name = "vfabric",
	.devnode = vf_devnode,
	.release = vf_device_release,
};

static struct device *vf_device_add(struct vf_partition *part)
{
	struct vf_domain *dom = part->dom;
	struct vf_device *vd;
	int ret;

	vd = kzalloc(sizeof(*vd), GFP_KERNEL_ACCOUNT);
	if (!vd)
		return ERR_PTR(-ENOMEM);
	vd->mode = dom->mode;
	vd->uid = dom->uid;
	vd->gid = dom->gid;
	device_initialize(&vd->dev);
	vd->dev.class = vf_class;
	vd->dev.type = &vf_device_type;
	vd->dev.devt = MKDEV(MAJOR(vf_devt), part->minor);
	if (part->id)
		ret = dev_set_name(&vd->dev, "vfabric-%u.%u", dom->id, part->id);
	else
		ret = dev_set_name(&vd->dev, "vfabric-%u", dom->id);
	if (!ret)
		ret = device_add(&vd->dev);
	if (ret) {
		put_device(&vd->dev);
		return ERR_PTR(ret);
	}
	return &vd->dev;
}

static void vf_partition_free(struct kref *ref)
{
	struct vf_partition *part = container_of(ref, struct vf_partition, ref);

	xa_erase(&vf_minors, part->minor);
	vf_domain_put(part->dom);
	kfree_rcu(part, rcu);
}

void vf_partition_put(struct vf_partition *part)
{
	kref_put(&part->ref, vf_partition_free);
}

/**
 * vf_partition_open - the partition behind a device number
 * @minor: from the inode
 *
 * Return: a referenced partition, or NULL where there is none any more.
 */
struct vf_partition *vf_partition_open(int minor)
{
	struct vf_partition *part;

	rcu_read_lock();
	part = xa_load(&vf_minors, minor);
	if (part && !kref_get_unless_zero(&part->ref))
		part = NULL;
	rcu_read_unlock();
	return part;
}

struct vf_partition *vf_partition_find(struct vf_domain *dom, u32 id)
{
	struct vf_partition *part;

	lockdep_assert_held(&dom->lock);
	list_for_each_entry(part, &dom->parts, node)
		if (part->id == id)
			return part;
	return NULL;
}

/**
 * vf_partition_create - an empty partition and its device file
 * @dom: under its lock, or not visible yet
 * @id: not in use
 * @name: valid
 *
 * Return: the partition, in @dom's list, or an ERR_PTR.
 */
struct vf_partition *vf_partition_create(struct vf_domain *dom, u32 id,
					 const char *name)
{
	struct vf_partition *part, *pos;
	struct device *dev;
	u32 minor;
	int ret;

	part = kzalloc(sizeof(*part), GFP_KERNEL_ACCOUNT);
	if (!part)
		return ERR_PTR(-ENOMEM);
	kref_init(&part->ref);
	part->dom = dom;
	part->id = id;
	strscpy(part->name, name, sizeof(part->name));
	INIT_LIST_HEAD(&part->holders);
	part->loss = ++dom->loss_seq;

	/* Reserved first, so that no open() meets a half-made partition */
	ret = xa_alloc_cyclic(&vf_minors, &minor, XA_ZERO_ENTRY,
			      XA_LIMIT(0, VF_MINORS - 1), &vf_minor_next,
			      GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		kfree(part);
		return ERR_PTR(ret == -EBUSY ? -ENOSPC : ret);
	}
	part->minor = minor;
	kref_get(&dom->ref);
	dev = vf_device_add(part);
	if (IS_ERR(dev)) {
		vf_partition_put(part);
		return ERR_CAST(dev);
	}
	part->dev = dev;

	list_for_each_entry(pos, &dom->parts, node)
		if (pos->id > id)
			break;
	list_add_tail(&part->node, &pos->node);
	dom->nparts++;
	xa_store(&vf_minors, minor, part, GFP_KERNEL);	/* reserved: cannot fail */
	return part;
}

/**
 * vf_partition_delete - remove a partition that has no held member
 * @part: under its domain's lock
 *
 * Open files stay, dead; the minor is theirs until the last is closed.
 */
void vf_partition_delete(struct vf_partition *part)
{
	struct vf_domain *dom = part->dom;

	lockdep_assert_held(&dom->lock);
	WARN_ON_ONCE(part->held);
	WRITE_ONCE(part->dead, true);
	list_del(&part->node);
	dom->nparts--;
	device_unregister(part->dev);
	part->dev = NULL;
	vf_partition_put(part);
}

/**
 * vf_partition_move - make endpoints members of another partition
 * @dom: under its lock
 * @to: the partition, or NULL for none
 * @ranks: which endpoints
 * @chg: collects what it cuts; commit it before unlocking
 */
void vf_partition_move(struct vf_domain *dom, struct vf_partition *to,
		       const unsigned long *ranks, struct vf_change *chg)
{
	DECLARE_BITMAP(moved, VF_MAX_WORLD) = { };
	unsigned int rank;

	lockdep_assert_held(&dom->lock);
	for_each_set_bit(rank, ranks, dom->topo.world) {
		struct vf_endpoint *ep = &dom->eps[rank];

		if (ep->part == to)
			continue;
		__set_bit(rank, moved);
		if (ep->part)
			ep->part->members--;
		if (to)
			to->members++;
		WRITE_ONCE(ep->part, to);
	}
	vf_change_routes(chg, moved);
}

int vf_partition_init(void)
{
	vf_class = vf_class_create("vfabric");
	return PTR_ERR_OR_ZERO(vf_class);
}

void vf_partition_exit(void)
{
	class_destroy(vf_class);
	xa_destroy(&vf_minors);
}
