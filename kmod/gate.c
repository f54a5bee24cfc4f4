// SPDX-License-Identifier: GPL-2.0
/* Gates: the device files, one of each partition and of each channel. */
#include <linux/device.h>
#include <linux/slab.h>
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
	/*
	 * Also asked for the name of the file to remove: one that stays leads
	 * to whoever has its minor next.
	 */
	return kasprintf(GFP_KERNEL | __GFP_NOFAIL, "vfabric/%s",
			 dev_name(dev) + strlen("vfabric-"));
}

static const struct device_type vf_device_type = {
	.name = "vfabric",
	.devnode = vf_devnode,
	.release = vf_device_release,
};

static int vf_device_name(struct device *dev, const struct vf_gate *gate)
{
	u32 domain = gate->part->dom->id, part = gate->part->id;

	if (gate->channel != VFAB_CHANNEL_NONE)
		return dev_set_name(dev, "vfabric-%u.%u.%u", domain, part, gate->channel);
	if (part)
		return dev_set_name(dev, "vfabric-%u.%u", domain, part);
	return dev_set_name(dev, "vfabric-%u", domain);
}

static struct device *vf_device_add(const struct vf_gate *gate)
{
	struct vf_device *vd;
	int ret;

	vd = kzalloc(sizeof(*vd), GFP_KERNEL_ACCOUNT);
	if (!vd)
		return ERR_PTR(-ENOMEM);
	vd->mode = gate->access.mode;
	vd->uid = gate->access.uid;
	vd->gid = gate->access.gid;
	device_initialize(&vd->dev);
	vd->dev.class = vf_class;
	vd->dev.type = &vf_device_type;
	vd->dev.devt = MKDEV(MAJOR(vf_devt), gate->minor);
	ret = vf_device_name(&vd->dev, gate);
	if (!ret)
		ret = device_add(&vd->dev);
	if (ret) {
		put_device(&vd->dev);
		return ERR_PTR(ret);
	}
	return &vd->dev;
}

static void vf_gate_free(struct kref *ref)
{
	struct vf_gate *gate = container_of(ref, struct vf_gate, ref);

	xa_erase(&vf_minors, gate->minor);
	vf_partition_put(gate->part);
	kfree_rcu(gate, rcu);
}

void vf_gate_put(struct vf_gate *gate)
{
	kref_put(&gate->ref, vf_gate_free);
}

/**
 * vf_gate_open - the gate behind a device number
 * @minor: from the inode
 *
 * Return: a referenced gate, or NULL where there is none any more.
 */
struct vf_gate *vf_gate_open(int minor)
{
	struct vf_gate *gate;

	rcu_read_lock();
	gate = xa_load(&vf_minors, minor);
	if (gate && !kref_get_unless_zero(&gate->ref))
		gate = NULL;
	rcu_read_unlock();
	return gate;
}

/**
 * vf_gate_create - make a device file
 * @part: where it leads; under its domain's lock, or not visible yet
 * @channel: of @part, or VFAB_CHANNEL_NONE for the partition's own file
 * @access: who may open the file
 *
 * Return: a gate, of which the caller keeps the only reference until
 * vf_gate_delete(), or an ERR_PTR.
 */
struct vf_gate *vf_gate_create(struct vf_partition *part, u32 channel,
			       const struct vf_access *access)
{
	struct vf_gate *gate;
	struct device *dev;
	u32 minor;
	int ret;

	gate = kzalloc(sizeof(*gate), GFP_KERNEL_ACCOUNT);
	if (!gate)
		return ERR_PTR(-ENOMEM);
	kref_init(&gate->ref);
	gate->channel = channel;
	gate->access = *access;

	/* Reserved first, so that no open() meets a half-made gate */
	ret = xa_alloc_cyclic(&vf_minors, &minor, XA_ZERO_ENTRY,
			      XA_LIMIT(0, VF_MINORS - 1), &vf_minor_next,
			      GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		kfree(gate);
		return ERR_PTR(ret == -EBUSY ? -ENOSPC : ret);
	}
	gate->minor = minor;
	kref_get(&part->ref);
	gate->part = part;
	/* Before the file is there: whoever sees that can open it */
	xa_store(&vf_minors, minor, gate, GFP_KERNEL);	/* reserved: cannot fail */
	dev = vf_device_add(gate);
	if (IS_ERR(dev)) {
		/* Somebody who made a file of that number may have it open */
		WRITE_ONCE(gate->dead, true);
		vf_gate_put(gate);
		return ERR_CAST(dev);
	}
	gate->dev = dev;
	return gate;
}

/**
 * vf_gate_delete - take a device file away
 * @gate: under its domain's lock; its creator's reference goes
 *
 * Open files stay, dead unless attached; the minor is theirs until the last is
 * closed.
 */
void vf_gate_delete(struct vf_gate *gate)
{
	lockdep_assert_held(&gate->part->dom->lock);
	WRITE_ONCE(gate->dead, true);
	device_unregister(gate->dev);
	gate->dev = NULL;
	vf_gate_put(gate);
}

int vf_gate_init(void)
{
	vf_class = vf_class_create("vfabric");
	return PTR_ERR_OR_ZERO(vf_class);
}

void vf_gate_exit(void)
{
	class_destroy(vf_class);
	xa_destroy(&vf_minors);
}
