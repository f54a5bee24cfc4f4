// SPDX-License-Identifier: GPL-2.0
/*
 * This node's data area: who has which piece, and when a piece that was given
 * back may be handed out again. What others may have mapped is theirs until they
 * have followed the change that took it from them, or can touch nothing any more.
 */
#include <linux/slab.h>
#include "backplane_dev.h"
#include "vfabric.h"

/* A piece that was handed out, or was given back and is not free yet */
struct vf_bp_chunk {
	struct list_head node;		/* bd->freed */
	u64 offset;
	u64 bytes;
	u64 change;
};

static unsigned long vf_bp_key(u64 offset)
{
	return offset >> PAGE_SHIFT;
}

int vf_bp_mem_init(struct vf_bp_dev *bd)
{
	xa_init(&bd->chunks);
	INIT_LIST_HEAD(&bd->freed);
	bd->pool = gen_pool_create(PAGE_SHIFT, NUMA_NO_NODE);
	if (!bd->pool)
		return -ENOMEM;
	return gen_pool_add(bd->pool, vf_bp_data(&bd->bp, bd->self), bd->bp.data_size,
			    NUMA_NO_NODE);
}

static void vf_bp_chunk_end(struct vf_bp_dev *bd, struct vf_bp_chunk *c)
{
	gen_pool_free(bd->pool, c->offset, c->bytes);
	bd->used -= c->bytes;
	xa_erase(&bd->chunks, vf_bp_key(c->offset));
	kfree(c);
}

/* An incarnation ends: what was handed out is taken back; vf_bp_mem_reap() looks when */
void vf_bp_mem_reset(struct vf_bp_dev *bd)
{
	struct vf_bp_chunk *c;
	unsigned long key;

	xa_for_each(&bd->chunks, key, c)
		vf_bp_chunk_end(bd, c);
	INIT_LIST_HEAD(&bd->freed);
	bd->pending = 0;
	bd->ready = false;
}

void vf_bp_mem_exit(struct vf_bp_dev *bd)
{
	if (!bd->pool)
		return;
	vf_bp_mem_reset(bd);
	gen_pool_destroy(bd->pool);
	xa_destroy(&bd->chunks);
}

/*
 * May @node have something of an earlier incarnation of this one mapped? It has
 * nothing where it never followed any, and it follows this one only after all
 * of the earlier one was unmapped.
 */
static bool vf_bp_has_old(struct vf_bp_dev *bd, u32 node)
{
	struct vfab_bp_follow f;
	int ret;

	if (!vf_bp_may_touch(bd, node))
		return false;
	ret = vf_bp_read_follow(&bd->bp, node, bd->self, &f);
	return ret != -ENOENT && (ret || le64_to_cpu(f.incarnation) != bd->incarnation);
}

/* Up to which change have all followed who may touch this node's memory? */
static u64 vf_bp_followed_by_all(struct vf_bp_dev *bd)
{
	struct vfab_bp_follow f;
	u64 least = U64_MAX;
	u32 i;
	int ret;

	for (i = 0; i < bd->bp.nodes; i++) {
		if (i == bd->self || !vf_bp_may_touch(bd, i))
			continue;
		ret = vf_bp_read_follow(&bd->bp, i, bd->self, &f);
		if (ret == -ENOENT)
			continue;
		if (ret || le64_to_cpu(f.incarnation) != bd->incarnation)
			return 0;
		least = min(least, le64_to_cpu(f.change));
	}
	return least;
}

/* Look which pieces are free by now; and whether the area is */
void vf_bp_mem_reap(struct vf_bp_dev *bd)
{
	struct vf_bp_chunk *c, *next;
	u64 change;
	u32 i;

	lockdep_assert_held(&bd->lock);
	if (!bd->ready) {
		for (i = 0; i < bd->bp.nodes; i++)
			if (i != bd->self && vf_bp_has_old(bd, i))
				return;
		bd->ready = true;
	}
	if (list_empty(&bd->freed))
		return;
	change = vf_bp_followed_by_all(bd);
	list_for_each_entry_safe(c, next, &bd->freed, node) {
		if (c->change > change)
			continue;
		list_del(&c->node);
		bd->pending -= c->bytes;
		vf_bp_chunk_end(bd, c);
	}
}

static u64 vf_bp_take(struct vf_bp_dev *bd, u64 bytes)
{
	struct genpool_data_align align = {
		.align = bytes >= VFAB_BP_DATA_ALIGN ? VFAB_BP_DATA_ALIGN : PAGE_SIZE,
	};

	return gen_pool_alloc_algo(bd->pool, bytes, gen_pool_first_fit_align, &align);
}

/**
 * vf_backplane_ready - wait until the data area may be used
 * @bd: the backplane; no domain->lock is held
 *
 * After a node has come back, others may for a moment have its earlier memory mapped;
 * a VM that is stopped has it until it goes on or ends. Waits for this node's
 * timeout at most. Once it is 0 it is so for this incarnation.
 *
 * Return: 0; -EAGAIN: somebody may still have it; -ENODEV: this node is fenced or
 * has left; -EINTR.
 */
int vf_backplane_ready(struct vf_bp_dev *bd)
{
	u64 since = READ_ONCE(bd->ran_ms);

	if (wait_event_killable(bd->wq, READ_ONCE(bd->ready) || vf_bp_waited(bd, since) ||
				READ_ONCE(bd->state) != VFAB_BP_NODE_ACTIVE))
		return -EINTR;
	if (READ_ONCE(bd->state) != VFAB_BP_NODE_ACTIVE)
		return -ENODEV;
	return READ_ONCE(bd->ready) ? 0 : -EAGAIN;
}

/**
 * vf_backplane_alloc - memory of this node's data area
 * @bd: the backplane
 * @bytes: a multiple of 4096, not 0
 * @mem: the outcome; what is in it is whatever was left there: zero it
 *
 * Return: 0; -ENOSPC: full, or what was given back may still be mapped elsewhere;
 * -EAGAIN: see vf_backplane_ready(); -ENODEV: this node is fenced or has left; -ENOMEM.
 */
int vf_backplane_alloc(struct vf_bp_dev *bd, u64 bytes, struct vf_bp_mem *mem)
{
	struct vf_bp_chunk *c = kzalloc(sizeof(*c), VF_GFP_LOCKED);
	int ret = -ENODEV;

	if (!c)
		return -ENOMEM;
	mutex_lock(&bd->lock);
	if (!bd->open)
		goto err;
	vf_bp_mem_reap(bd);
	ret = -EAGAIN;
	if (!bd->ready)
		goto err;
	ret = -ENOSPC;
	c->bytes = bytes;
	c->offset = vf_bp_take(bd, bytes);
	if (!c->offset)
		goto err;
	ret = xa_err(xa_store(&bd->chunks, vf_bp_key(c->offset), c, VF_GFP_LOCKED));
	if (ret) {
		gen_pool_free(bd->pool, c->offset, bytes);
		goto err;
	}
	bd->used += bytes;
	*mem = (struct vf_bp_mem) { c->offset, bytes, bd->incarnation };
	mutex_unlock(&bd->lock);
	return 0;
err:
	mutex_unlock(&bd->lock);
	kfree(c);
	return ret;
}

/**
 * vf_backplane_free - give memory of the data area back
 * @bd: the backplane
 * @mem: from vf_backplane_alloc()
 * @change: of vf_backplane_changed(), after which no record names it; 0: none ever did
 *
 * It is handed out again once every node has followed that change, or is gone as
 * struct vfab_bp_peer says.
 */
void vf_backplane_free(struct vf_bp_dev *bd, const struct vf_bp_mem *mem, u64 change)
{
	struct vf_bp_chunk *c;

	mutex_lock(&bd->lock);
	if (mem->incarnation == bd->incarnation) {
		c = xa_load(&bd->chunks, vf_bp_key(mem->offset));
		if (!WARN_ON_ONCE(!c || c->bytes != mem->bytes || c->node.next)) {
			c->change = change;
			list_add_tail(&c->node, &bd->freed);
			bd->pending += c->bytes;
			vf_bp_mem_reap(bd);
		}
	}
	mutex_unlock(&bd->lock);
}

/* For mappings, while the mirror has not ended */
unsigned long vf_backplane_pfn(const struct vf_bp_dev *bd, u64 offset)
{
	return PHYS_PFN(bd->start + offset);
}

/* For this kernel's own accesses, up to vf_backplane_put() */
void *vf_backplane_addr(const struct vf_bp_dev *bd, u64 offset)
{
	return (u8 *)bd->bp.base + offset;
}
