/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vfabric: this kernel as a node of a backplane, for those who put domains on
 * one. uapi/linux/vfabric_backplane.h says what is where in the memory, and the
 * words (node, record, incarnation, change) that are used here.
 *
 * The carrier (backplane*.c) binds the device, keeps the node's slot, judges the
 * other nodes, and hands out the node's data area. It calls vf_mirror_*() in
 * process context, with no lock held:
 *
 *   vf_mirror_begin, then any number of follow, lost and rings, then vf_mirror_end;
 *   and the same again for the next incarnation, or nothing any more.
 *   follow and lost of one node never run at once; those of several may, and
 *   rings beside any of them. vf_mirror_end() runs alone.
 *
 * Waiting: vf_backplane_followed() waits for other kernels. Never call it with
 * a domain->lock held (two nodes that each wait under their own lock would expel
 * one another), nor from a vf_mirror_*() (the node waited for may be waiting for
 * what this one does there). The same is true of vf_backplane_ready(). All others
 * take leaf locks only, and may be called under domain->lock; vf_backplane_ring()
 * also under spinlocks and SRCU.
 *
 * Memory: what vf_backplane_addr() gave may be read and written up to
 * vf_backplane_put(), also after vf_mirror_end() (it then is nobody's), so that
 * no access of this kernel itself needs to be timed. Mappings of user space must
 * be gone when vf_mirror_end() returns: the node says so to the others then.
 */
#ifndef VFABRIC_BACKPLANE_H
#define VFABRIC_BACKPLANE_H

#include "backplane_layout.h"

struct net;
struct vf_bp_dev;

/**
 * struct vf_bp_mem - a piece of this node's data area
 * @offset:	of the region, a multiple of 4096, of 2 MiB where @bytes is 2 MiB or more
 * @bytes:	a multiple of 4096
 * @incarnation: in which it was handed out: vf_backplane_free() in another one
 *		does nothing, as all of the area was taken back in between
 */
struct vf_bp_mem {
	u64 offset;
	u64 bytes;
	u64 incarnation;
};

#ifdef CONFIG_PCI

int vf_backplane_init(void);
void vf_backplane_exit(void);
struct vf_bp_dev *vf_backplane_get(struct net *net, const char *name);
void vf_backplane_put(struct vf_bp_dev *bd);

#else

static inline int vf_backplane_init(void)
{
	return 0;
}

static inline void vf_backplane_exit(void)
{
}

static inline struct vf_bp_dev *vf_backplane_get(struct net *net, const char *name)
{
	return NULL;
}

static inline void vf_backplane_put(struct vf_bp_dev *bd)
{
}

#endif

/* What follows is called only where there is a backplane, and left out elsewhere */

/* --- backplane.c: which one --------------------------------------------------------- */

void vf_backplane_hold(struct vf_bp_dev *bd);
const struct vf_bp *vf_backplane_bp(const struct vf_bp_dev *bd);
u32 vf_backplane_node(const struct vf_bp_dev *bd);
void vf_backplane_set_mirror(struct vf_bp_dev *bd, void *mirror);
void *vf_backplane_mirror(const struct vf_bp_dev *bd);

/* --- backplane_node.c: this node and the others ---------------------------------------- */

void vf_backplane_unmirrored(struct vf_bp_dev *bd, u32 node, u32 domains);
u64 vf_backplane_changed(struct vf_bp_dev *bd, bool loss);
int vf_backplane_followed(struct vf_bp_dev *bd, u64 change);
void vf_backplane_ring(struct vf_bp_dev *bd, u32 node, const struct vf_bp_ring *ring);

/* --- backplane_slot.c: records ------------------------------------------------------------ */

int vf_backplane_domain_add(struct vf_bp_dev *bd, const struct vfab_bp_domain *rec);
void vf_backplane_domain_set(struct vf_bp_dev *bd, u32 index, const struct vfab_bp_domain *rec);
void vf_backplane_domain_del(struct vf_bp_dev *bd, u32 index);
int vf_backplane_endpoint_add(struct vf_bp_dev *bd, const struct vfab_bp_endpoint *rec);
void vf_backplane_endpoint_set(struct vf_bp_dev *bd, u32 index,
			       const struct vfab_bp_endpoint *rec);
void vf_backplane_endpoint_del(struct vf_bp_dev *bd, u32 index);
int vf_backplane_window_add(struct vf_bp_dev *bd, const struct vfab_bp_window *rec, u32 had);
void vf_backplane_window_set(struct vf_bp_dev *bd, u32 index, const struct vfab_bp_window *rec);
void vf_backplane_window_del(struct vf_bp_dev *bd, u32 index);

/* --- backplane_mem.c: the data area ---------------------------------------------------------- */

int vf_backplane_ready(struct vf_bp_dev *bd);
int vf_backplane_alloc(struct vf_bp_dev *bd, u64 bytes, struct vf_bp_mem *mem);
void vf_backplane_free(struct vf_bp_dev *bd, const struct vf_bp_mem *mem, u64 change);
unsigned long vf_backplane_pfn(const struct vf_bp_dev *bd, u64 offset);
void *vf_backplane_addr(const struct vf_bp_dev *bd, u64 offset);

/* --- mirror.c: called by the carrier --------------------------------------------------------- */

/**
 * vf_mirror_begin - an incarnation of this node begins
 * @bd: its slot is empty and its data area free
 *
 * Return: 0, or an error: the device is not bound, or not taken up again.
 */
int vf_mirror_begin(struct vf_bp_dev *bd);

/**
 * vf_mirror_follow - the records of a node may have changed
 * @bd: the backplane
 * @node: that is followed, and the same incarnation until vf_mirror_lost(). What is read
 *	may be of the next one already: as that hands out no memory before it is followed
 *	itself, its slot is empty until then
 *
 * Reads them, does what follows, up to the last mapping revoked. The carrier then
 * tells @node so. Everything that is read is to be checked.
 *
 * Return: 0; -EAGAIN: some record was being written: call again in a while.
 */
int vf_mirror_follow(struct vf_bp_dev *bd, u32 node);

/**
 * vf_mirror_lost - an incarnation that was followed is gone
 * @bd: the backplane
 * @node: whose
 *
 * Returns once nothing of @node's data area is mapped any more: its next
 * incarnation is not followed before that.
 */
void vf_mirror_lost(struct vf_bp_dev *bd, u32 node);

/**
 * vf_mirror_rings - doorbells of this node's endpoints were rung
 * @bd: the backplane
 * @node: who rang
 * @ring: what, @n of them
 * @n: -EOVERFLOW: it cannot be said which: all that wait look for themselves
 */
void vf_mirror_rings(struct vf_bp_dev *bd, u32 node, const struct vf_bp_ring *ring, int n);

/**
 * vf_mirror_end - this node is fenced or leaves
 * @bd: its calls fail or do nothing; no other vf_mirror_*() runs
 *
 * Ends everything that is on this backplane: domains that are owned here, mirrors,
 * windows. Returns once nothing of its memory is mapped any more.
 */
void vf_mirror_end(struct vf_bp_dev *bd);

#endif
