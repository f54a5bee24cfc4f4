// SPDX-License-Identifier: LGPL-2.1
/*
 * bpnode live: a node that beats and follows the others, and has nothing itself. It
 * says whom it sees. Deaf: it acknowledges no change. Exit status 3: it was expelled.
 */
#include <stdio.h>
#include <time.h>
#include "bpnode.h"

static struct {
	struct vfab_bp_follow follow;
	u32 seq;
} seen[VFAB_BP_MAX_NODES];

static bool expelled_by(u32 node)
{
	struct vfab_bp_follow f;

	return !vf_bp_read_follow(&bp, node, self, &f) &&
	       le32_to_cpu(f.state) == VFAB_BP_FOLLOW_EXPELLED &&
	       f.incarnation == me.incarnation;
}

static void follow(u32 node, bool deaf)
{
	struct vfab_bp_follow was = seen[node].follow, *f = &seen[node].follow;
	struct vfab_bp_node n;

	if (vf_bp_read_node(&bp, node, &n) || le32_to_cpu(n.state) != VFAB_BP_NODE_ACTIVE)
		return;
	if (f->incarnation != n.incarnation)
		printf("node %u incarnation %u.%u\n", node, (u32)(le64_to_cpu(n.incarnation) >> 32),
		       (u32)le64_to_cpu(n.incarnation));
	f->state = cpu_to_le32(VFAB_BP_FOLLOW_LIVE);
	f->incarnation = n.incarnation;
	if (!deaf)
		f->change = cpu_to_le64(vf_bp_load(&vf_bp_slot(&bp, node)->beat.change));
	f->rings = cpu_to_le64(vf_bp_load(&vf_bp_slot(&bp, node)->rings[self].count));
	if (!memcmp(&was, f, sizeof(was)))
		return;
	vf_bp_write(&vf_bp_slot(&bp, self)->follow[node], f, sizeof(*f), &seen[node].seq);
	interrupt_all(VFAB_BP_VECTOR_CHANGE);
}

int live(unsigned int seconds, bool deaf)
{
	time_t end = time(NULL) + seconds;
	unsigned int ticks = 0;
	u32 i;

	while (time(NULL) < end) {
		learn_more();
		vf_bp_store(&vf_bp_slot(&bp, self)->beat.beat, ++ticks);
		for (i = 0; i < bp.nodes; i++) {
			if (i == self)
				continue;
			if (expelled_by(i)) {
				printf("expelled by node %u\n", i);
				publish(VFAB_BP_NODE_FENCED);
				return 3;
			}
			follow(i, deaf);
		}
		pause_ms(20);
	}
	publish(VFAB_BP_NODE_LEFT);
	return 0;
}
