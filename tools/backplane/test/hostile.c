// SPDX-License-Identifier: LGPL-2.1
/*
 * bpnode hostile: does what no node may, from a seed, for a while.
 *
 * It takes over what another node says, so that its own slot is a valid one; then it
 * changes field by field, by the rules and against them, flips records while they are
 * read, forges what others say, and rings without end. Others must not mind: their
 * operations may fail, nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "bpnode.h"

static u64 state;

static u32 any(u32 below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % below;
}

/* Where something is read as a record: its address and its bytes */
struct place {
	void *at;
	size_t bytes;
};

static struct place any_place(u32 node)
{
	struct vfab_bp_slot *s = vf_bp_slot(&bp, node);
	/* Most that is in use is at the beginning of its table */
	u32 few = any(4) ? 4 : VFAB_BP_DOMAINS;

	switch (any(8)) {
	case 0:
		return (struct place){ &s->node, sizeof(s->node) };
	case 1:
		return (struct place){ &s->follow[any(bp.nodes)], sizeof(s->follow[0]) };
	case 2:
		return (struct place){ &s->rings[any(bp.nodes)], sizeof(s->rings[0]) };
	case 3:
	case 4:
		return (struct place){ &s->domain[any(few)], sizeof(s->domain[0]) };
	case 5:
		return (struct place){ &s->endpoint[any(few * 8)], sizeof(s->endpoint[0]) };
	default:
		return (struct place){ &s->window[any(few * 8)], sizeof(s->window[0]) };
	}
}

static u32 any_value(u32 was)
{
	static const u32 edge[] = {
		0, 1, 2, 63, 64, 255, 256, 1023, 1024, 2047, 2048, 4095, 4096, 0x7fffffff,
		0x80000000, 0xfffffffe, 0xffffffff,
	};

	switch (any(4)) {
	case 0:
		return was + 1 - any(3);
	case 1:
		return was ^ 1U << any(32);
	case 2:
		return edge[any(sizeof(edge) / sizeof(edge[0]))];
	default:
		return any(~0U);
	}
}

/* One word of it becomes another one; @rules: as a writer would */
static void mutate(struct place p, bool rules)
{
	u32 copy[sizeof(struct vfab_bp_domain) / 4], word = 1 + any(p.bytes / 4 - 1);
	u32 seq = (*(volatile u32 *)p.at + 1) & ~1U;

	/* The first words say more than the rest */
	if (any(2))
		word = 1 + word % 31 % (p.bytes / 4 - 1);
	if (!rules) {
		((volatile u32 *)p.at)[word] = any_value(((volatile u32 *)p.at)[word]);
		return;
	}
	memcpy(copy, p.at, p.bytes);
	copy[word] = any_value(copy[word]);
	vf_bp_write(p.at, copy, p.bytes, &seq);
}

/* Between two reads, many times, without a rule */
static void flip(struct place p)
{
	volatile u32 *word = (u32 *)p.at + any(p.bytes / 4);
	u32 one = *word, other = any_value(one), i;

	for (i = 0; i < 2000; i++)
		*word = i % 2 ? one : other;
}

static void changed(void)
{
	__le64 *change = &vf_bp_slot(&bp, self)->beat.change;

	vf_bp_store(change, vf_bp_load(change) + 1 + (any(50) ? 0 : any(~0U)));
	interrupt_all(VFAB_BP_VECTOR_CHANGE);
}

static void ring(void)
{
	struct vf_bp_ring r = { any(bp.nodes + 1), any(VFAB_BP_DOMAINS + 1), any(1025), any(65) };
	struct vfab_bp_rings *to = &vf_bp_slot(&bp, self)->rings[any(bp.nodes)];

	vf_bp_ring(to, vf_bp_load(&to->count) + (any(8) ? 0 : any(40)), &r);
	interrupt_all(VFAB_BP_VECTOR_RINGS);
}

static void ring_often(void)
{
	u32 i;

	for (i = 0; i < 500; i++)
		interrupt_all(i % 2);
}

/* What @node says of itself, said by this one: its offsets are in its own data area then */
static void take_over(u32 node)
{
	struct vfab_bp_slot *from = vf_bp_slot(&bp, node), *to = vf_bp_slot(&bp, self);
	u64 shift = vf_bp_data(&bp, self) - vf_bp_data(&bp, node);
	u32 i, j;

	memcpy(to->domain, from->domain, sizeof(to->domain));
	memcpy(to->endpoint, from->endpoint, sizeof(to->endpoint));
	memcpy(to->window, from->window, sizeof(to->window));
	memcpy((u8 *)bp.base + vf_bp_data(&bp, self), (u8 *)bp.base + vf_bp_data(&bp, node),
	       bp.data_size < 4 << 20 ? bp.data_size : 4 << 20);
	for (i = 0; i < VFAB_BP_DOMAINS; i++) {
		to->domain[i].name[0] = 'X';
		to->domain[i].uuid[0]++;
		for (j = 0; j < VFAB_BP_BLOBS; j++)
			to->domain[i].blob[j].offset += shift;
	}
	for (i = 0; i < VFAB_BP_ENDPOINTS; i++)
		to->endpoint[i].bell += shift;
	for (i = 0; i < VFAB_BP_WINDOWS; i++)
		to->window[i].offset += shift;
	me.endpoints = cpu_to_le32(VFAB_BP_ENDPOINTS);
	me.windows = cpu_to_le32(VFAB_BP_WINDOWS);
	publish(VFAB_BP_NODE_ACTIVE);
}

/* Every 10 s it is a right one for 2 s, so that the others look at it at all */
static void behave(u32 i)
{
	vf_bp_store(&vf_bp_slot(&bp, self)->beat.beat, i);
	me.incarnation = cpu_to_le64(le64_to_cpu(me.incarnation) + 1);
	take_over(any(bp.nodes));
	changed();
}

static void harm(void)
{
	u32 victim = any(bp.nodes);
	struct place daemons = { &vf_bp_daemon(&bp)->peer[victim], sizeof(struct vfab_bp_peer) };

	switch (any(16)) {
	case 0:
		ring_often();
		break;
	case 1:
	case 2:
		ring();
		break;
	case 3:
	case 4:
		flip(any_place(self));
		break;
	case 5:
		/* Somebody else's, and not so often that nobody is ever heard */
		if (!any(50))
			mutate(any_place(victim), any(2));
		break;
	case 6:
		if (!any(200))
			mutate(daemons, true);
		break;
	case 7:
		if (!any(200))
			memset((u8 *)bp.base + any(sizeof(struct vfab_bp_header)), any(256), 8);
		break;
	default:
		mutate(any_place(self), any(8));
		if (!any(4))
			changed();
	}
}

/* Nothing but interrupts, as many as can be */
int flood(unsigned int seconds)
{
	time_t end = time(NULL) + seconds;
	u64 times = 0;

	while (time(NULL) < end) {
		learn_more();
		interrupt_all(times % 2);
		vf_bp_store(&vf_bp_slot(&bp, self)->beat.beat, ++times);
	}
	printf("rang %llu times\n", (unsigned long long)times);
	publish(VFAB_BP_NODE_LEFT);
	return 0;
}

static void say_of(u32 node, const struct vfab_bp_peer *peer)
{
	struct vfab_bp_peer *at = &vf_bp_daemon(&bp)->peer[node];
	u32 seq = (*(volatile u32 *)&at->seq + 1) & ~1U;

	vf_bp_write(at, peer, sizeof(*peer), &seq);
}

/* That a node is of another connection, until it says so itself; before others follow it */
int misname(unsigned int seconds, u32 node)
{
	time_t end = time(NULL) + seconds;
	struct vfab_bp_peer right, wrong;
	struct vfab_bp_node n;

	if (vf_bp_read_peer(&bp, node, &right))
		fail(2, "nothing is said of node %u", node);
	wrong = right;
	wrong.generation = cpu_to_le64(le64_to_cpu(right.generation) + 1000);
	do {
		say_of(node, &wrong);
		pause_ms(1);
		if (time(NULL) > end)
			fail(1, "node %u did not begin", node);
	} while (vf_bp_read_node(&bp, node, &n) ||
		 le64_to_cpu(n.incarnation) >> 32 != le64_to_cpu(wrong.generation));
	say_of(node, &right);
	publish(VFAB_BP_NODE_LEFT);
	return 0;
}

int hostile(unsigned int seconds, unsigned int seed)
{
	time_t start = time(NULL), now;
	u64 times = 0;

	state = seed;
	while ((now = time(NULL)) < start + seconds) {
		learn_more();
		vf_bp_store(&vf_bp_slot(&bp, self)->beat.beat, ++times);
		if ((now - start) % 10 < 2) {
			behave(times);
			pause_ms(50);
		} else {
			harm();
		}
	}
	printf("did %llu things\n", (unsigned long long)times);
	publish(VFAB_BP_NODE_LEFT);
	return 0;
}
