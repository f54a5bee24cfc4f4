/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Domains that lie on a backplane: what placed.c, which tells the other nodes, and
 * mirror.c, which does what they tell, share.
 */
#ifndef VFABRIC_PLACED_H
#define VFABRIC_PLACED_H

#include "vfabric.h"

/* Blobs that are written anew with each change */
#define VF_PLACED_BLOBS		(VFAB_BP_BLOB_PARTITIONS - VFAB_BP_BLOB_ENTRIES + 1)

/**
 * struct vf_published - what the owner of a domain has written for the others
 * @rec:	the record, as it is in the slot
 * @links:	the blob that never changes
 * @room:	for the others, twice: as they are, and as they were
 * @at:		which of @room is in @rec
 * @change:	by which @rec was announced
 * @followed:	a change that all nodes have followed; written without a lock, and
 *		so at times less than it might be
 */
struct vf_published {
	struct vfab_bp_domain rec;
	struct vf_bp_mem links;
	struct vf_bp_mem room[2];
	u32 at;
	u64 change;
	u64 followed;
};

/**
 * struct vf_placed - what a domain has that lies on a backplane
 * @bd:		holds a reference
 * @mirror:	holds a reference
 * @home:	this node
 * @owner:	the node that made it, which alone changes it
 * @index:	of its record in the owner's slot
 * @generation:	of the record
 * @place:	by rank: the node, or VFAB_BP_NO_NODE
 * @pub:	the owner's; NULL elsewhere
 *
 * Under domain->lock:
 * @news:	records of this node have changed since it said so
 * @loss:	something was taken away by that
 * @stale:	@pub is not what is so any more
 * @reissued:	@pub is, and has not been announced
 * @windows:	of this node's endpoints
 * @change:	the last one that was announced for this domain
 * @gone:	windows whose memory is no longer used once the next one is followed
 */
struct vf_placed {
	struct vf_bp_dev *bd;
	struct vf_mirror *mirror;
	u32 home;
	u32 owner;
	u32 index;
	u64 generation;
	u8 place[VF_MAX_WORLD];
	struct vf_published *pub;
	bool news;
	bool loss;
	bool stale;
	bool reissued;
	u32 windows;
	u64 change;
	struct list_head gone;
};

/**
 * struct vf_mirror - what there is of a backplane's domains on this kernel
 * @lock:	outside of every domain->lock: domains come, nodes are followed or lost
 * @ended:	this incarnation of this node
 * @domains:	VFAB_BP_DOMAIN_ID() -> struct vf_domain, that are owned here or
 *		mirrored; they are erased before they can be freed
 * @node:	what was read of each; NULL: nothing yet
 * @bytes:	that mirrors take
 * @until:	jiffies: no more domains are made in this turn
 * @retry:	what could not be done yet
 * @pause:	jiffies: so much later than usual, as it took its time
 */
struct vf_mirror {
	struct kref ref;
	struct rcu_head rcu;
	struct vf_bp_dev *bd;
	struct mutex lock;		/* see the lock order */
	bool ended;
	struct xarray domains;
	struct vf_mirror_node *node[VFAB_BP_MAX_NODES];
	u64 bytes;
	unsigned long until;
	struct delayed_work retry;
	unsigned long pause;
};

struct vf_placed *vf_placed_new(struct vf_mirror *m, u32 owner, const u8 *place, u32 world);
struct vf_domain *vf_placed_create(struct net *net, const char *backplane, const u8 *place,
				   struct vf_domain_config *cfg,
				   struct netlink_ext_ack *extack);
bool vf_placed_handle_of(u64 handle, u32 node);
void vf_placed_unlock_nowait(struct vf_domain *dom);
struct vf_mirror *vf_mirror_get(struct vf_bp_dev *bd);
void vf_mirror_again(struct vf_mirror *m);
size_t vf_placed_blob_bytes(const struct vf_topo *t, u32 blob);
void vf_mirror_put(struct vf_mirror *m);
int vf_mirror_config(struct vf_bp_dev *bd, const struct vfab_bp_domain *rec,
		     struct vf_domain_config *cfg, uuid_t *uuid);
int vf_mirror_topo_bytes(const struct vf_topo_config *t, u64 *bytes);
int vf_mirror_apply(struct vf_bp_dev *bd, const struct vfab_bp_domain *rec,
		    const __le32 *seq, struct vf_domain *dom);

#endif
