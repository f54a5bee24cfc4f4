/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Reads all that a node says, as a kernel would, and uses it: whatever passed the
 * checks is touched, so that a sanitizer sees what should not have passed.
 */
#ifndef VFABRIC_BACKPLANE_WALK_H
#define VFABRIC_BACKPLANE_WALK_H

#include <stdlib.h>
#include "../../../kmod/backplane_layout.h"

static inline void touch(const struct vf_bp *bp, u64 offset, u64 bytes)
{
	const volatile u8 *at = (u8 *)bp->base + offset;

	if (bytes && at[0] + at[bytes - 1] > 512)
		abort();
}

static inline void walk_domain(const struct vf_bp *bp, u32 node, u32 index)
{
	struct vfab_bp_domain d;
	u32 i;

	if (vf_bp_read_domain(bp, node, index, &d))
		return;
	if (!strlen(d.name) || strlen(d.name) > 32)
		abort();
	for (i = 0; i < VFAB_BP_BLOBS; i++)
		if (d.blob[i].bytes)
			touch(bp, le64_to_cpu(d.blob[i].offset), le64_to_cpu(d.blob[i].bytes));
	for (i = 0; i < le32_to_cpu(d.world); i++)
		if (d.place[i] != VFAB_BP_NO_NODE)
			touch(bp, vf_bp_data(bp, d.place[i]), 1);
}

static inline void walk_endpoint(const struct vf_bp *bp, u32 node, u32 index)
{
	struct vfab_bp_endpoint e;
	struct vfab_bp_domain d;
	u32 domain;

	if (vf_bp_read_endpoint(bp, node, index, &e))
		return;
	touch(bp, le64_to_cpu(e.bell), 8192);
	domain = le32_to_cpu(e.domain);
	if (!vf_bp_read_domain(bp, domain >> 8, domain & 0xff, &d) && vf_bp_belongs(&d, node, &e) &&
	    le32_to_cpu(e.rank) >= le32_to_cpu(d.world))
		abort();
}

static inline void walk_node(const struct vf_bp *bp, u32 node)
{
	struct vf_bp_ring ring[VFAB_BP_RINGS];
	struct vfab_bp_follow follow;
	struct vfab_bp_node n;
	struct vfab_bp_window w;
	u64 seen = 0;
	u32 i;
	int got;

	if (vf_bp_read_node(bp, node, &n))
		return;
	for (i = 0; i < VFAB_BP_DOMAINS; i++)
		walk_domain(bp, node, i);
	for (i = 0; i < le32_to_cpu(n.endpoints); i++)
		walk_endpoint(bp, node, i);
	for (i = 0; i < le32_to_cpu(n.windows); i++)
		if (!vf_bp_read_window(bp, node, i, &w))
			touch(bp, le64_to_cpu(w.offset), le64_to_cpu(w.size));
	for (i = 0; i < bp->nodes; i++) {
		got = vf_bp_read_rings(bp, node, i, &seen, ring);
		while (got > 0)
			if (ring[--got].node >= bp->nodes || ring[got].rank >= VFAB_BP_MAX_WORLD)
				abort();
		if (!vf_bp_read_follow(bp, node, i, &follow) && !follow.state)
			abort();
	}
}

#endif
