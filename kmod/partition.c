// SPDX-License-Identifier: GPL-2.0
/* Partitions: their members, and the channels that divide them. */
#include <linux/slab.h>
#include <uapi/linux/vfabric_netlink.h>
#include "vfabric.h"

static void vf_partition_free(struct kref *ref)
{
	struct vf_partition *part = container_of(ref, struct vf_partition, ref);

	xa_destroy(&part->channels);
	vf_domain_put(part->dom);
	kfree_rcu(part, rcu);
}

void vf_partition_put(struct vf_partition *part)
{
	kref_put(&part->ref, vf_partition_free);
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

static struct vf_partition *vf_partition_alloc(struct vf_domain *dom, u32 id,
					       const char *name)
{
	struct vf_partition *part = kzalloc(sizeof(*part), GFP_KERNEL_ACCOUNT);

	if (!part)
		return NULL;
	kref_init(&part->ref);
	kref_get(&dom->ref);
	part->dom = dom;
	part->id = id;
	strscpy(part->name, name, sizeof(part->name));
	INIT_LIST_HEAD(&part->holders);
	xa_init(&part->channels);
	part->loss = ++dom->loss_seq;
	return part;
}

static void vf_partition_link(struct vf_partition *part)
{
	struct vf_domain *dom = part->dom;
	struct vf_partition *pos;

	list_for_each_entry(pos, &dom->parts, node)
		if (pos->id > part->id)
			break;
	list_add_tail(&part->node, &pos->node);
	dom->nparts++;
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
	struct vf_partition *part = vf_partition_alloc(dom, id, name);
	int ret;

	if (!part)
		return ERR_PTR(-ENOMEM);
	ret = vf_partition_activate(part);
	if (ret) {
		vf_partition_put(part);
		return ERR_PTR(ret);
	}
	vf_partition_link(part);
	vf_domain_reshaped(dom);
	return part;
}

/* One with members from the beginning, of a domain that nobody sees yet */
static int vf_partition_begin(struct vf_domain *dom, u32 id, const char *name, u32 first,
			      u32 count)
{
	struct vf_partition *part = vf_partition_create(dom, id, name);
	u32 i;

	if (IS_ERR(part))
		return PTR_ERR(part);
	for (i = first; i < first + count; i++) {
		dom->eps[i].part = part;
		dom->eps[i].was_part = part;
	}
	part->members = count;
	return 0;
}

static int vf_partitions_per_node(struct vf_domain *dom)
{
	u32 id, count = dom->topo.world / dom->nodes;
	char name[VFAB_NAME_LEN + 1];
	int ret = 0;

	for (id = 0; id < dom->nodes && !ret; id++) {
		snprintf(name, sizeof(name), "part%u", id);
		ret = vf_partition_begin(dom, id, name, id * count, count);
	}
	return ret;
}

/*
 * The sets that a fabric manager gives to virtual machines on a board of 8
 * GPUs with shared switches (NVIDIA Fabric Manager User Guide, "Shared NVSwitch
 * virtualization model"), as bitmaps of ranks, by id.
 */
static const u8 vf_hgx15[] = {
	0xff,
	0x0f, 0xf0,
	0x03, 0x0c, 0x30, 0xc0,
	0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80,
};

static int vf_partitions_hgx15(struct vf_domain *dom)
{
	char name[VFAB_NAME_LEN + 1];
	struct vf_partition *part;
	u32 id;

	for (id = 0; id < ARRAY_SIZE(vf_hgx15); id++) {
		snprintf(name, sizeof(name), "part%u", id);
		part = vf_partition_alloc(dom, id, name);
		if (!part)
			return -ENOMEM;
		part->fixed = vf_hgx15[id];
		vf_partition_link(part);
	}
	return 0;
}

/**
 * vf_partitions_create - what a new domain begins with
 * @dom: not visible yet
 *
 * Return: 0 or an errno; then @dom's list may have some, which are to be deleted.
 */
int vf_partitions_create(struct vf_domain *dom)
{
	switch (dom->part_mode) {
	case VFAB_PARTITIONS_DEFAULT:
		return vf_partition_begin(dom, 0, "default", 0, dom->topo.world);
	case VFAB_PARTITIONS_HGX15:
		return vf_partitions_hgx15(dom);
	case VFAB_PARTITIONS_PER_NODE:
		return vf_partitions_per_node(dom);
	}
	return 0;
}

/* Make its device file. */
int vf_partition_activate(struct vf_partition *part)
{
	struct vf_gate *gate = vf_gate_create(part, VFAB_CHANNEL_NONE, &part->dom->access);

	if (IS_ERR(gate))
		return PTR_ERR(gate);
	part->gate = gate;
	return 0;
}

/* Take its device file away, and its channels. */
void vf_partition_deactivate(struct vf_partition *part)
{
	struct vf_gate *gate;
	unsigned long i;

	WARN_ON_ONCE(part->held);
	xa_for_each(&part->channels, i, gate)
		vf_channel_delete(gate);
	vf_gate_delete(part->gate);
	part->gate = NULL;
}

/**
 * vf_partition_delete - remove a partition that has no held member
 * @part: under its domain's lock, or of one that is not visible yet
 *
 * Its channels go with it. Who attached by one of its files and was moved
 * elsewhere goes on there.
 */
void vf_partition_delete(struct vf_partition *part)
{
	if (part->gate)
		vf_partition_deactivate(part);
	list_del(&part->node);
	part->dom->nparts--;
	vf_domain_reshaped(part->dom);
	vf_partition_put(part);
}

/**
 * vf_partition_move - make endpoints members of another partition
 * @dom: under its lock
 * @to: the partition, or NULL for none
 * @ranks: which endpoints; they are parked no more
 * @chg: collects what it cuts; commit it before unlocking
 */
void vf_partition_move(struct vf_domain *dom, struct vf_partition *to,
		       const unsigned long *ranks, struct vf_change *chg)
{
	DECLARE_BITMAP(moved, VF_MAX_WORLD) = { };
	unsigned int rank;

	lockdep_assert_held(&dom->lock);
	vf_counts_fold(dom, ranks);
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
		WRITE_ONCE(ep->parked, false);
	}
	vf_change_routes(chg, moved);
}

/**
 * vf_partition_park - take endpoints out of service where they are, or back
 * @dom: under its lock
 * @ranks: which endpoints
 * @parked: as if all their links were down
 * @chg: collects what it cuts; commit it before unlocking
 */
void vf_partition_park(struct vf_domain *dom, const unsigned long *ranks, bool parked,
		       struct vf_change *chg)
{
	unsigned int rank;

	lockdep_assert_held(&dom->lock);
	vf_counts_fold(dom, ranks);
	for_each_set_bit(rank, ranks, dom->topo.world)
		WRITE_ONCE(dom->eps[rank].parked, parked);
	vf_change_routes(chg, ranks);
}

/**
 * vf_channel_create - an access group of a partition, and its device file
 * @part: under its domain's lock
 * @id: below VFAB_CHANNELS, not in use
 * @access: who may open the file
 *
 * Return: the channel's gate, in @part, or an ERR_PTR.
 */
struct vf_gate *vf_channel_create(struct vf_partition *part, u32 id,
				  const struct vf_access *access)
{
	struct vf_gate *gate;
	int ret;

	lockdep_assert_held(&part->dom->lock);
	ret = xa_insert(&part->channels, id, XA_ZERO_ENTRY, VF_GFP_LOCKED);
	if (ret)
		return ERR_PTR(ret);
	gate = vf_gate_create(part, id, access);
	if (IS_ERR(gate)) {
		xa_erase(&part->channels, id);
		return gate;
	}
	xa_store(&part->channels, id, gate, GFP_KERNEL);	/* reserved: cannot fail */
	part->dom->nchannels++;
	return gate;
}

/**
 * vf_channel_delete - remove a channel
 * @gate: of the channel, under its domain's lock
 *
 * Who attached by its file stays in it: nobody can follow.
 */
void vf_channel_delete(struct vf_gate *gate)
{
	xa_erase(&gate->part->channels, gate->channel);
	gate->part->dom->nchannels--;
	vf_gate_delete(gate);
}
