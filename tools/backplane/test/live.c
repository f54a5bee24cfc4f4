// SPDX-License-Identifier: LGPL-2.1
/*
 * bpnode live: a node that beats and follows the others, and has nothing itself. It
 * says whom it sees. Exit status 3: it was expelled.
 *
 *	deaf	acknowledges no change
 *	expel	expels all that it sees
 *	duel	has no beat, and expels who has expelled it, rather than fence itself
 */
#include <stdio.h>
#include <time.h>
#include "bpnode.h"

static struct {
	struct vfab_bp_follow follow;
	u32 seq;
} seen[VFAB_BP_MAX_NODES];

static void say(u32 node)
{
	vf_bp_write(&vf_bp_slot(&bp, self)->follow[node], &seen[node].follow,
		    sizeof(seen[node].follow), &seen[node].seq);
	interrupt_all(VFAB_BP_VECTOR_CHANGE);
}

static void expel(u32 node)
{
	if (seen[node].follow.state != cpu_to_le32(VFAB_BP_FOLLOW_LIVE))
		return;
	seen[node].follow.state = cpu_to_le32(VFAB_BP_FOLLOW_EXPELLED);
	say(node);
	printf("expelled node %u\n", node);
}

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
	if (f->incarnation != n.incarnation)
		f->state = cpu_to_le32(VFAB_BP_FOLLOW_LIVE);
	f->incarnation = n.incarnation;
	if (!deaf)
		f->change = cpu_to_le64(vf_bp_load(&vf_bp_slot(&bp, node)->beat.change));
	f->rings = cpu_to_le64(vf_bp_load(&vf_bp_slot(&bp, node)->rings[self].count));
	if (memcmp(&was, f, sizeof(was)))
		say(node);
}

int live(unsigned int seconds, const char *how)
{
	bool deaf = !strcmp(how, "deaf"), duel = !strcmp(how, "duel");
	time_t end = time(NULL) + seconds;
	unsigned int ticks = 0;
	u32 i;

	while (time(NULL) < end) {
		learn_more();
		/* Some beats, so that it is seen at all */
		if (!duel || ticks < 100)
			vf_bp_store(&vf_bp_slot(&bp, self)->beat.beat, ++ticks);
		for (i = 0; i < bp.nodes; i++) {
			if (i == self)
				continue;
			if (expelled_by(i) && duel) {
				expel(i);
			} else if (expelled_by(i)) {
				printf("expelled by node %u\n", i);
				publish(VFAB_BP_NODE_FENCED);
				return 3;
			}
			follow(i, deaf);
			if (!strcmp(how, "expel"))
				expel(i);
		}
		pause_ms(20);
	}
	publish(VFAB_BP_NODE_LEFT);
	return 0;
}
