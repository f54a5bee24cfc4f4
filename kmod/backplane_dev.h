/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the backplane's carrier share.
 *
 * Locks: bd->lock (mutex; may be taken under a domain->lock; nothing of vf_mirror_*()
 * is called with it held) covers everything below that does not say otherwise;
 * bd->ring_lock (spinlock, interrupts off) is a leaf, which doorbells take.
 *
 * Works: all of a backplane's on bd->queue.
 *
 *   tick	once per period: beat, judge, ring again where somebody is behind
 *   look	after an interrupt: the same without the beat
 *   rings	after an interrupt: doorbells
 *   other.work	one per node: vf_mirror_follow() and vf_mirror_lost()
 *   ending	fences: stops the others, vf_mirror_end()
 *   starting	after that: the next incarnation
 *
 * Whatever other nodes do makes these do a bounded amount, see vf_bp_spend().
 */
#ifndef VFABRIC_BACKPLANE_DEV_H
#define VFABRIC_BACKPLANE_DEV_H

#include <linux/genalloc.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include "backplane.h"

/* Registers, BAR 0 of the device */
#define VF_BP_IVPOSITION	8
#define VF_BP_DOORBELL		12

#define VF_BP_IRQS		2	/* VFAB_BP_VECTOR_* */
#define VF_BP_NO_PEER		(~0U)

/*
 * What others cause may take so much of one CPU's time, of which VF_BP_BURST_NS may
 * come at once. Doorbells get more, as somebody waits for each of them.
 */
#define VF_BP_SHARE		8	/* 1/8: each interrupt, look, following each node */
#define VF_BP_RINGS_SHARE	2	/* 1/2: doorbells */
#define VF_BP_BURST_NS		(5 * NSEC_PER_MSEC)
#define VF_BP_MOST_MS		1000U	/* longest pause; following: half the timeout, too */
#define VF_BP_IRQ_NS		5000	/* an interrupt is taken to cost so much */
#define VF_BP_RING_NS		2000	/* a doorbell: somebody wakes */
#define VF_BP_RINGS_NS		500000	/* all wake */

struct vf_bp_budget {
	u32 share;
	u32 most_ms;			/* longest pause */
	u64 level;			/* spent and not yet earned, ns */
	u64 at;
};

/* Why a node is not followed any more */
enum vf_bp_why {
	VF_BP_WHY_NONE,
	VF_BP_WHY_SILENT,		/* no beat within its timeout */
	VF_BP_WHY_BEHIND,		/* did not follow a change within ours */
	VF_BP_WHY_LEFT,
	VF_BP_WHY_FENCED,
	VF_BP_WHY_RETURNED,		/* it is another incarnation */
	VF_BP_WHY_CLOSED,		/* its connection to vfabswitchd ended */
};

enum vf_bp_other_state {
	VF_BP_OTHER_NONE,		/* never followed */
	VF_BP_OTHER_LIVE,
	VF_BP_OTHER_LOST,
};

/**
 * struct vf_bp_other - another node, as this one sees it
 * @state:	read with READ_ONCE by vf_backplane_ring()
 * @incarnation: that is or was followed
 * @ending:	vf_mirror_lost() has not returned for it yet
 * @seen:	an incarnation that is looked at before it is followed
 * @beat:	of @seen or of @incarnation
 * @age_ms:	for how long this kernel, while it ran, saw no other beat
 * @followed:	its change that was followed last; ~0: none yet
 * @rings:	its rings to this node that were looked at
 * @peer:	its id at vfabswitchd, or VF_BP_NO_PEER; READ_ONCE
 * @unmirrored:	see vf_backplane_unmirrored(); READ_ONCE
 */
struct vf_bp_other {
	struct vf_bp_dev *bd;
	u32 node;
	enum vf_bp_other_state state;
	enum vf_bp_why why;
	u64 incarnation;
	bool ending;
	u64 seen;
	u64 beat;
	u64 age_ms;
	u32 timeout_ms;
	u64 followed;
	u64 rings;
	u32 peer;
	u32 unmirrored;
	u32 seq;			/* of follow[node] in the own slot */
	struct vf_bp_budget budget;
	unsigned long next;		/* jiffies: not looked at again before */
	struct delayed_work work;
};

struct vf_bp_irq {
	struct vf_bp_dev *bd;
	unsigned int line;
	bool requested;
	u64 count;
	u64 held;			/* how often it was held back */
	struct vf_bp_budget budget;	/* the handler's */
	struct delayed_work on;		/* when it is let through again */
};

/* Records of one kind in the own slot */
struct vf_bp_table {
	u32 room;
	u32 bytes;			/* of a record */
	size_t offset;			/* in the slot */
	unsigned long *used;
	u32 *seq;
};

/**
 * struct vf_bp_dev - this kernel's place on one backplane
 * @state:	enum vfab_bp_node_state; ACTIVE: others are followed. READ_ONCE
 * @open:	records and memory are handed out
 * @ready:	nobody has memory of an earlier incarnation mapped any more
 * @fences:	how often it was expelled
 * @expelled:	how many others it has expelled
 */
struct vf_bp_dev {
	struct kref ref;
	struct list_head list;
	struct pci_dev *pdev;
	struct vf_bp bp;
	void __iomem *regs;
	phys_addr_t start;		/* of the region */
	bool cached;			/* mapped write-back */
	u32 self;
	u32 peer;
	u32 period_ms;
	u32 timeout_ms;
	void *mirror;

	struct mutex lock;		/* see above */
	u32 state;
	bool open;
	bool begun;			/* vf_mirror_begin() was right, vf_mirror_end() is owed */
	bool removed;
	bool ready;
	u64 incarnation;
	u64 beat;
	u64 change;
	u64 loss;
	u64 ticked;			/* ns */
	u64 ran_ms;			/* how long it has been active, pauses left out */
	u32 fences;
	u32 expelled;
	u32 before;			/* start that the slot named before this device's first */
	u32 seq;			/* of the node's record */
	u64 daemon_beat;
	u64 daemon_age_ms;
	u64 stranger_ms;		/* how long vfabswitchd has named another connection */
	struct vf_bp_table domains;
	struct vf_bp_table endpoints;
	struct vf_bp_table windows;
	struct gen_pool *pool;		/* of offsets */
	struct xarray chunks;		/* handed out, by page */
	struct list_head freed;		/* given back, not yet free */
	u64 used;			/* bytes handed out, and given back but not yet free */
	u64 pending;			/* of these, given back */

	spinlock_t ring_lock;		/* see above */
	u64 rung[VFAB_BP_MAX_NODES];	/* ring_lock */

	wait_queue_head_t wq;		/* who waits for others */
	struct workqueue_struct *queue;
	struct delayed_work tick;
	struct delayed_work look;
	struct delayed_work rings;
	struct work_struct ending;
	struct delayed_work starting;
	struct vf_bp_budget look_budget;	/* the work's own */
	struct vf_bp_budget rings_budget;	/* the work's own */
	struct vf_bp_irq irq[VF_BP_IRQS];
	struct vf_bp_other other[VFAB_BP_MAX_NODES];
};

/* backplane.c */
#ifdef CONFIG_PCI
struct vf_bp_dev *vf_bp_nth(struct net *net, unsigned long index);
#else
static inline struct vf_bp_dev *vf_bp_nth(struct net *net, unsigned long index)
{
	return NULL;
}
#endif
void vf_bp_interrupt(struct vf_bp_dev *bd, u32 node, u32 vector);
void vf_bp_interrupt_all(struct vf_bp_dev *bd);

/* backplane_node.c */
void vf_bp_node_init(struct vf_bp_dev *bd);
int vf_bp_start(struct vf_bp_dev *bd);
void vf_bp_leave(struct vf_bp_dev *bd);
void vf_bp_cancel(struct vf_bp_dev *bd);
bool vf_bp_waited(const struct vf_bp_dev *bd, u64 since);
bool vf_bp_may_touch(const struct vf_bp_dev *bd, u32 node);
unsigned long vf_bp_spend(struct vf_bp_budget *b, u64 ns);

/* backplane_slot.c */
int vf_bp_slot_init(struct vf_bp_dev *bd);
void vf_bp_slot_exit(struct vf_bp_dev *bd);
void vf_bp_slot_clear(struct vf_bp_dev *bd);
void vf_bp_publish(struct vf_bp_dev *bd, u32 state);
void vf_bp_publish_follow(struct vf_bp_dev *bd, struct vf_bp_other *o);

/* backplane_mem.c */
int vf_bp_mem_init(struct vf_bp_dev *bd);
void vf_bp_mem_exit(struct vf_bp_dev *bd);
void vf_bp_mem_reset(struct vf_bp_dev *bd);
void vf_bp_mem_reap(struct vf_bp_dev *bd);

#endif
