// SPDX-License-Identifier: GPL-2.0
/* What this node's slot says: itself, whom it follows, and records. */
#include <linux/bitmap.h>
#include <linux/slab.h>
#include "backplane_dev.h"

static struct vfab_bp_slot *vf_bp_own(const struct vf_bp_dev *bd)
{
	return vf_bp_slot(&bd->bp, bd->self);
}

static int vf_bp_table_init(struct vf_bp_table *t, u32 room, u32 bytes, size_t offset)
{
	t->room = room;
	t->bytes = bytes;
	t->offset = offset;
	t->used = bitmap_zalloc(room, GFP_KERNEL);
	t->seq = kvcalloc(room, sizeof(*t->seq), GFP_KERNEL);
	return t->used && t->seq ? 0 : -ENOMEM;
}

static void vf_bp_table_exit(struct vf_bp_table *t)
{
	bitmap_free(t->used);
	kvfree(t->seq);
}

int vf_bp_slot_init(struct vf_bp_dev *bd)
{
	return vf_bp_table_init(&bd->domains, VFAB_BP_DOMAINS, sizeof(struct vfab_bp_domain),
				offsetof(struct vfab_bp_slot, domain)) ?:
	       vf_bp_table_init(&bd->endpoints, VFAB_BP_ENDPOINTS, sizeof(struct vfab_bp_endpoint),
				offsetof(struct vfab_bp_slot, endpoint)) ?:
	       vf_bp_table_init(&bd->windows, VFAB_BP_WINDOWS, sizeof(struct vfab_bp_window),
				offsetof(struct vfab_bp_slot, window));
}

void vf_bp_slot_exit(struct vf_bp_dev *bd)
{
	vf_bp_table_exit(&bd->domains);
	vf_bp_table_exit(&bd->endpoints);
	vf_bp_table_exit(&bd->windows);
}

static void *vf_bp_record(struct vf_bp_dev *bd, const struct vf_bp_table *t, u32 index)
{
	return (u8 *)vf_bp_own(bd) + t->offset + (size_t)index * t->bytes;
}

/* Behind the number that is there, whoever left it */
static u32 vf_bp_next_seq(const void *record)
{
	return (le32_to_cpu(READ_ONCE(*(const __le32 *)record)) + 1) & ~1U;
}

static void vf_bp_table_clear(struct vf_bp_dev *bd, struct vf_bp_table *t)
{
	static const struct vfab_bp_domain none;	/* the largest of them */
	u32 i;

	bitmap_zero(t->used, t->room);
	for (i = 0; i < t->room; i++) {
		t->seq[i] = vf_bp_next_seq(vf_bp_record(bd, t, i));
		vf_bp_write(vf_bp_record(bd, t, i), &none, t->bytes, &t->seq[i]);
	}
}

/**
 * vf_bp_slot_clear - begin an incarnation
 * @bd: @bd->incarnation is the new one
 *
 * Whatever an earlier incarnation or a stranger left here counts for nobody once
 * the state is JOINING, and is gone when it becomes ACTIVE.
 */
void vf_bp_slot_clear(struct vf_bp_dev *bd)
{
	struct vfab_bp_slot *slot = vf_bp_own(bd);
	u32 i, j;

	lockdep_assert_held(&bd->lock);
	bd->seq = vf_bp_next_seq(&slot->node);
	vf_bp_publish(bd, VFAB_BP_NODE_JOINING);
	vf_bp_store(&slot->beat.beat, ++bd->beat);
	vf_bp_store(&slot->beat.change, bd->change);
	vf_bp_store(&slot->beat.loss, bd->loss);
	for (i = 0; i < VFAB_BP_MAX_NODES; i++) {
		bd->other[i].seq = vf_bp_next_seq(&slot->follow[i]);
		vf_bp_publish_follow(bd, &bd->other[i]);
		vf_bp_store(&slot->rings[i].count, 0);
		for (j = 0; j < VFAB_BP_RINGS; j++)
			vf_bp_store(&slot->rings[i].ring[j], 0);
	}
	vf_bp_table_clear(bd, &bd->domains);
	vf_bp_table_clear(bd, &bd->endpoints);
	vf_bp_table_clear(bd, &bd->windows);
}

static u32 vf_bp_table_end(const struct vf_bp_table *t)
{
	u32 last = find_last_bit(t->used, t->room);

	return last == t->room ? 0 : last + 1;
}

/* What the node says of itself; again once per beat, so that no forgery lasts */
void vf_bp_publish(struct vf_bp_dev *bd, u32 state)
{
	struct vfab_bp_node node = {
		.state = cpu_to_le32(state),
		.incarnation = cpu_to_le64(bd->incarnation),
		.period_ms = cpu_to_le32(bd->period_ms),
		.timeout_ms = cpu_to_le32(bd->timeout_ms),
		.endpoints = cpu_to_le32(vf_bp_table_end(&bd->endpoints)),
		.windows = cpu_to_le32(vf_bp_table_end(&bd->windows)),
	};

	lockdep_assert_held(&bd->lock);
	WRITE_ONCE(bd->state, state);
	vf_bp_write(&vf_bp_own(bd)->node, &node, sizeof(node), &bd->seq);
}

/* What this node has seen of another one */
void vf_bp_publish_follow(struct vf_bp_dev *bd, struct vf_bp_other *o)
{
	struct vfab_bp_follow f = { };

	lockdep_assert_held(&bd->lock);
	if (o->state != VF_BP_OTHER_NONE) {
		f.state = cpu_to_le32(o->state == VF_BP_OTHER_LIVE ? VFAB_BP_FOLLOW_LIVE :
								     VFAB_BP_FOLLOW_EXPELLED);
		f.incarnation = cpu_to_le64(o->incarnation);
		f.change = cpu_to_le64(o->followed == ~0ULL ? 0 : o->followed);
		f.rings = cpu_to_le64(o->rings);
	}
	vf_bp_write(&vf_bp_own(bd)->follow[o->node], &f, sizeof(f), &o->seq);
}

/* --- Records ---------------------------------------------------------------------- */

/* Where as many as @want are free. */
static int vf_bp_add(struct vf_bp_dev *bd, struct vf_bp_table *t, const void *rec, u32 want)
{
	u32 index;

	mutex_lock(&bd->lock);
	if (!bd->open) {
		mutex_unlock(&bd->lock);
		return -ENODEV;
	}
	if (t->room - bitmap_weight(t->used, t->room) < want) {
		mutex_unlock(&bd->lock);
		return -ENOSPC;
	}
	index = find_first_zero_bit(t->used, t->room);
	__set_bit(index, t->used);
	vf_bp_write(vf_bp_record(bd, t, index), rec, t->bytes, &t->seq[index]);
	vf_bp_publish(bd, bd->state);
	mutex_unlock(&bd->lock);
	return index;
}

static void vf_bp_set(struct vf_bp_dev *bd, struct vf_bp_table *t, u32 index, const void *rec)
{
	mutex_lock(&bd->lock);
	if (bd->open && index < t->room && test_bit(index, t->used))
		vf_bp_write(vf_bp_record(bd, t, index), rec, t->bytes, &t->seq[index]);
	mutex_unlock(&bd->lock);
}

static void vf_bp_del(struct vf_bp_dev *bd, struct vf_bp_table *t, u32 index)
{
	static const struct vfab_bp_domain none;

	mutex_lock(&bd->lock);
	if (bd->open && index < t->room && __test_and_clear_bit(index, t->used)) {
		vf_bp_write(vf_bp_record(bd, t, index), &none, t->bytes, &t->seq[index]);
		vf_bp_publish(bd, bd->state);
	}
	mutex_unlock(&bd->lock);
}

/**
 * vf_backplane_domain_add - publish a record
 * @bd: the backplane
 * @rec: what it is to be, its seq apart
 *
 * Nobody needs to look at it before vf_backplane_changed(). The same for
 * endpoints and windows.
 *
 * Return: its index; -ENOSPC: all are used; -ENODEV: this node is fenced or has left.
 */
int vf_backplane_domain_add(struct vf_bp_dev *bd, const struct vfab_bp_domain *rec)
{
	return vf_bp_add(bd, &bd->domains, rec, 1);
}

/* Another content; nothing happens where the record was not added in this incarnation */
void vf_backplane_domain_set(struct vf_bp_dev *bd, u32 index, const struct vfab_bp_domain *rec)
{
	vf_bp_set(bd, &bd->domains, index, rec);
}

void vf_backplane_domain_del(struct vf_bp_dev *bd, u32 index)
{
	vf_bp_del(bd, &bd->domains, index);
}

int vf_backplane_endpoint_add(struct vf_bp_dev *bd, const struct vfab_bp_endpoint *rec)
{
	return vf_bp_add(bd, &bd->endpoints, rec, 1);
}

void vf_backplane_endpoint_set(struct vf_bp_dev *bd, u32 index,
			       const struct vfab_bp_endpoint *rec)
{
	vf_bp_set(bd, &bd->endpoints, index, rec);
}

void vf_backplane_endpoint_del(struct vf_bp_dev *bd, u32 index)
{
	vf_bp_del(bd, &bd->endpoints, index);
}

/* More than @had must be free: what whoever wants one has already */
int vf_backplane_window_add(struct vf_bp_dev *bd, const struct vfab_bp_window *rec, u32 had)
{
	return vf_bp_add(bd, &bd->windows, rec, had + 1);
}

void vf_backplane_window_set(struct vf_bp_dev *bd, u32 index, const struct vfab_bp_window *rec)
{
	vf_bp_set(bd, &bd->windows, index, rec);
}

void vf_backplane_window_del(struct vf_bp_dev *bd, u32 index)
{
	vf_bp_del(bd, &bd->windows, index);
}
