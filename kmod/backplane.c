// SPDX-License-Identifier: GPL-2.0
/* The device of a backplane: nothing is bound yet. */
#include "backplane.h"
#include "vfabric.h"

int vf_backplane_init(void)
{
	return 0;
}

void vf_backplane_exit(void)
{
}

struct vf_bp_dev *vf_backplane_get(struct net *net, const char *name)
{
	return NULL;
}

void vf_backplane_put(struct vf_bp_dev *bd)
{
}

const struct vf_bp *vf_backplane_bp(const struct vf_bp_dev *bd)
{
	return NULL;
}

u32 vf_backplane_node(const struct vf_bp_dev *bd)
{
	return 0;
}

void vf_backplane_set_mirror(struct vf_bp_dev *bd, void *mirror)
{
}

void *vf_backplane_mirror(const struct vf_bp_dev *bd)
{
	return NULL;
}

bool vf_backplane_live(struct vf_bp_dev *bd, u32 node, u64 *incarnation)
{
	return false;
}

u64 vf_backplane_changed(struct vf_bp_dev *bd, bool loss)
{
	return 0;
}

/**
 * vf_backplane_followed - wait until the others have followed a change
 * @bd: the backplane
 * @change: from vf_backplane_changed()
 *
 * A node that has not within this node's timeout is expelled.
 *
 * Return: how many were expelled for it; -ENODEV: this node is fenced or has left,
 * -EINTR: killed meanwhile.
 */
int vf_backplane_followed(struct vf_bp_dev *bd, u64 change)
{
	return -ENODEV;
}

void vf_backplane_ring(struct vf_bp_dev *bd, u32 node, const struct vf_bp_ring *ring)
{
}

int vf_backplane_domain_add(struct vf_bp_dev *bd, const struct vfab_bp_domain *rec)
{
	return -ENOSPC;
}

void vf_backplane_domain_set(struct vf_bp_dev *bd, u32 index, const struct vfab_bp_domain *rec)
{
}

void vf_backplane_domain_del(struct vf_bp_dev *bd, u32 index)
{
}

int vf_backplane_endpoint_add(struct vf_bp_dev *bd, const struct vfab_bp_endpoint *rec)
{
	return -ENOSPC;
}

void vf_backplane_endpoint_set(struct vf_bp_dev *bd, u32 index,
			       const struct vfab_bp_endpoint *rec)
{
}

void vf_backplane_endpoint_del(struct vf_bp_dev *bd, u32 index)
{
}

int vf_backplane_window_add(struct vf_bp_dev *bd, const struct vfab_bp_window *rec)
{
	return -ENOSPC;
}

void vf_backplane_window_set(struct vf_bp_dev *bd, u32 index, const struct vfab_bp_window *rec)
{
}

void vf_backplane_window_del(struct vf_bp_dev *bd, u32 index)
{
}

/**
 * vf_backplane_alloc - memory of this node's data area
 * @bd: the backplane
 * @bytes: a multiple of 4096
 * @mem: the outcome; what is in it is whatever was left there: zero it
 *
 * Return: 0; -ENOSPC: full, or what was freed may still be mapped elsewhere;
 * -ENODEV: this node is fenced or has left.
 */
int vf_backplane_alloc(struct vf_bp_dev *bd, u64 bytes, struct vf_bp_mem *mem)
{
	return -ENOSPC;
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
}

unsigned long vf_backplane_pfn(const struct vf_bp_dev *bd, u64 offset)
{
	return 0;
}

void *vf_backplane_addr(const struct vf_bp_dev *bd, u64 offset)
{
	return NULL;
}
