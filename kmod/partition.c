// SPDX-License-Identifier: GPL-2.0
/* Partitions: their members, and the channels that divide them. */
#include <linux/slab.h>
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
	struct vf_gate *gate;

	part = kzalloc(sizeof(*part), GFP_KERNEL_ACCOUNT);
	if (!part)
		return ERR_PTR(-ENOMEM);
	kref_init(&part->ref);
	kref_get(&dom->ref);
	part->dom = dom;
	part->id = id;
	strscpy(part->name, name, sizeof(part->name));
	INIT_LIST_HEAD(&part->holders);
	xa_init(&part->channels);
	part->loss = ++dom->loss_seq;

	gate = vf_gate_create(part, VFAB_CHANNEL_NONE, &dom->access);
	if (IS_ERR(gate)) {
		vf_partition_put(part);
		return ERR_CAST(gate);
	}
	part->gate = gate;

	list_for_each_entry(pos, &dom->parts, node)
		if (pos->id > id)
			break;
	list_add_tail(&part->node, &pos->node);
	dom->nparts++;
	return part;
}

/**
 * vf_partition_delete - remove a partition that has no held member
 * @part: under its domain's lock
 *
 * Its channels go with it. Who attached by one of its files and was moved
 * elsewhere goes on there.
 */
void vf_partition_delete(struct vf_partition *part)
{
	struct vf_domain *dom = part->dom;
	struct vf_gate *gate;
	unsigned long i;

	lockdep_assert_held(&dom->lock);
	WARN_ON_ONCE(part->held);
	list_del(&part->node);
	dom->nparts--;
	xa_for_each(&part->channels, i, gate)
		vf_channel_delete(gate);
	vf_gate_delete(part->gate);
	part->gate = NULL;
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
	if (IS_ERR(gate))
		xa_erase(&part->channels, id);
	else
		xa_store(&part->channels, id, gate, GFP_KERNEL); /* reserved: cannot fail */
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
	vf_gate_delete(gate);
}
