// SPDX-License-Identifier: GPL-2.0
/* Domains that are placed on a backplane: none yet. */
#include "backplane.h"

int vf_mirror_begin(struct vf_bp_dev *bd)
{
	return 0;
}

int vf_mirror_follow(struct vf_bp_dev *bd, u32 node)
{
	return 0;
}

void vf_mirror_lost(struct vf_bp_dev *bd, u32 node)
{
}

void vf_mirror_rings(struct vf_bp_dev *bd, u32 node, const struct vf_bp_ring *ring, int n)
{
}

void vf_mirror_end(struct vf_bp_dev *bd)
{
}
