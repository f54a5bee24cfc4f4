/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Communicators: what comm.c (meeting, failing) and coll.c (moving data)
 * share.
 *
 * Each rank exports one window that only it writes and all others read:
 * a page with its member block, then two slots for data. Who reads a rank that
 * was lost reads all ones; so every value that lets a wait end or goes into a
 * result is followed by a check of the member's state and of the route view,
 * before anything is published that depends on it.
 */
#ifndef VFAB_COMM_H
#define VFAB_COMM_H

#include "vfab_int.h"

#define COMM_VECTOR	(VFAB_VECTORS - 1)
#define COMM_VERSION	2

/*
 * How long a rank sleeps, or is woken by rings, without looking at the others.
 * Losses of its own routes wake it at once; that somebody else gave up, it sees
 * after twice this at most.
 */
#define COMM_SLICE	(VFAB_SECOND / 5)

/* A member's state: one of these, a rank in its low half. Never all ones. */
#define COMM_ALIVE	(UINT64_C(0x76664c56) << 32)
#define COMM_ABORTED	(UINT64_C(0x76664142) << 32)
#define COMM_MASK	(UINT64_C(0xffffffff) << 32)
#define COMM_MISUSE	(UINT64_C(1) << 31)	/* aborted: with EINVAL */

struct member {
	/* One line: what is polled, and what tells if it can be believed. */
	uint64_t seq;		/* steps of barriers passed; only grows */
	uint64_t state;		/* stored first to last: alive, aborted */
	uint64_t done;		/* calls completed */
	uint64_t call[2];	/* by slot: whose call its data is for */
	uint64_t met;		/* not 0 from the first step on, see same_group() */
	char pad[128 - 6 * 8];

	/* Constant once @state is not 0. */
	uint32_t version;
	uint32_t size;
	uint64_t group;		/* digest of the list of ranks */
	uint64_t slot_bytes;
	uint64_t cpus[VFAB_MAX_WORLD / 64];	/* that it may run on */
};

struct peer {
	uint32_t rank;
	uint32_t losses;	/* when the meeting began */
	const struct member *m;	/* NULL: not met yet */
	const char *slot[2];
	struct vfab_mem mem;
};

struct vfab_comm {
	struct vfab_ep *ep;
	struct member *mine;
	uint32_t size, index;
	size_t slot_bytes;
	uint64_t tag;
	uint64_t seq, calls;
	uint64_t call;		/* the current call, as in member.call */
	unsigned int slot;	/* that is used next */
	int64_t timeout;
	uint64_t deadline;	/* of the current call; 0: not known yet */
	uint64_t look_at;	/* when a rank that waits looks at the others */
	bool crowded;		/* more ranks than CPUs */
	int64_t spin;
	uint32_t yields;
	bool never_sleep;
	uint64_t loss;		/* loss generation when nobody was lost */
	int err;		/* why it is broken */
	uint32_t lost;
	struct vfab_mem window;
	struct peer peer[];
};

/* Breaks the communicator and blames @rank; returns -err. */
int comm_fail(struct vfab_comm *c, int err, uint32_t rank);

/*
 * Whether everything that was read from the group so far was real: 0, or the
 * communicator is broken. @slot >= 0: that slots of this number were read.
 */
int comm_check(struct vfab_comm *c, int slot);

/* The same for one member, whose line was read. */
int comm_check_one(struct vfab_comm *c, const struct peer *p);

/* barrier.c: the steps of a barrier, without the call around it */
int comm_barrier(struct vfab_comm *c);

/*
 * A wait of the current call for what the fabric needs: ends when somebody is
 * lost or gave up, and at the call's deadline. What vfabi_reserve() and
 * vfabi_arrive() return breaks the communicator by comm_paced().
 */
struct vfabi_pace comm_pace(struct vfab_comm *c);
int comm_paced(struct vfab_comm *c, int ret, uint32_t rank);

/* acc[i] = acc[i] op src[i] */
void vfabi_reduce(void *acc, const void *src, size_t count,
		  enum vfab_type type, enum vfab_op op);

#endif
