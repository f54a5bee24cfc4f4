/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Communicators: what their files share.
 *
 *	comm.c		ranks meet, watch one another, break up
 *	group.c		groups made of groups: split, shrink
 *	engine.c	calls move on: waits, steps, wakes
 *	coll.c		calls: arguments, and which algorithm
 *	staged.c	algorithms through slots, and without data
 *	direct.c	algorithms that read and write the callers' own windows
 *	p2p.c		send and receive
 *	tuning.c	the table of algorithms
 *
 * Each rank exports one window that only it writes and all others read: a page
 * with its member block, lines and boxes for messages, then slots for data. Who
 * reads a rank that was lost reads all ones; so every value that lets a wait end
 * or goes into a result is followed by a check of the member's state and of the
 * route view, before anything is published that depends on it.
 *
 * Steps. A call has the same number of phases on every rank. At the end of a
 * phase a rank stores into its member's @step how many phases of all calls it
 * has passed; that number only grows. To wait is to wait for the steps of
 * others. A rank that has stored step s has done everything that comes before
 * s, reading included, so s is also what says when a slot may be filled again.
 * A call's first step is stored in its record as well, after that: who waits for
 * it fetches one line, with what there is to know of the call, and small data.
 */
#ifndef VFAB_COMM_H
#define VFAB_COMM_H

#include "reduce.h"
#include "vfab_int.h"

#define COMM_VECTOR	(VFAB_VECTORS - 1)
#define COMM_VERSION	6

/*
 * How long a rank sleeps, or is woken by rings, without looking at the others.
 * Losses of its own routes wake it at once; that somebody else gave up, it sees
 * after twice this at most.
 */
#define COMM_SLICE	(VFAB_SECOND / 5)

/* A member's state: one of these, a rank in its low half. Never all ones. */
#define COMM_ALIVE	(UINT64_C(0x76664c56) << 32)
#define COMM_ABORTED	(UINT64_C(0x76664142) << 32)
#define COMM_LEFT	(UINT64_C(0x76664c45) << 32)	/* with all calls done */
#define COMM_MASK	(UINT64_C(0xffffffff) << 32)
#define COMM_MISUSE	(UINT64_C(1) << 31)	/* aborted: with EINVAL */

/* A member's @asleep: awake, one more than the place it waits for, or this */
#define COMM_ANYONE	(UINT64_MAX >> 1)

#define COMM_LINE	128	/* two lines are fetched at once */
#define COMM_ALIGNED	__attribute__((aligned(COMM_LINE)))
#define COMM_INLINE	96	/* bytes that a record holds */
#define COMM_SLOTS	4	/* for data, in turn */
#define COMM_WORDS	(VFAB_MAX_WORLD / 64)

/*
 * What a rank says of its call, with its first step of it; two take turns. Stored
 * all at once: others poll the first line, and fetch it whenever it changes.
 */
struct record {
	uint64_t step;		/* as member's: the call's first one is polled here */
	uint64_t call;		/* digest of the arguments of all calls so far */
	uint32_t flags;		/* RECORD_* */
	uint32_t vote;		/* it has imported what the others named */
	uint64_t most;		/* bytes for one rank, of vfab_alltoallv() */
	union {
		char data[COMM_INLINE];
		struct window_at {
			uint64_t handle;
			uint64_t offset;
		} in, out;
		struct window_at at[2];
	};
} COMM_ALIGNED;

#define RECORD_WINDOW	1	/* its buffers are in windows, as far as they matter */
#define RECORD_STAGED	2	/* the first chunk is in its slot */
#define RECORD_NEW	4	/* a window that not all have imported yet */
#define RECORD_WRITE(k)	(8 << (k))	/* at[k] may be written */

/* What a rank holds for right when those who are left decide */
struct proposal {
	uint64_t left[COMM_WORDS];	/* the places that are */
	uint64_t made;			/* they have a group */
};

/* Lines of their own for what others poll, and for what seldom changes. */
struct member {
	uint64_t step;		/* only grows */
	/* COMM_* */
	uint64_t state COMM_ALIGNED;
	uint64_t asleep;	/* whom it sleeps for: they ring */
	uint64_t met;		/* not 0 from the first step on, see same_group() */
	/* As @step, at a call's end */
	uint64_t done COMM_ALIGNED;
	struct record record[2];
	/* vfab_comm_shrink(): see group.c */
	uint64_t passed;
	uint64_t turn;		/* decisions that it has proposed something for */
	struct proposal proposal;	/* for the last one */

	/* Constant once @state is not 0. */
	uint32_t version;
	uint32_t size;
	uint64_t group;		/* digest of the list of ranks */
	uint64_t slot_bytes;
	uint64_t cpus[COMM_WORDS];	/* that it may run on */
};

/* Messages to one rank: how many pieces were sent, and whose they are. */
struct outbox {
	uint64_t sent;
	uint64_t call[2];	/* of the message of an even, an odd piece */
	char pad[64 - 3 * 8];
};

/* Windows of a rank that it has named in calls, in the same order everywhere */
#define KNOWN		4

struct known {
	struct {
		uint64_t handle;
		bool imported;		/* of the own ones: by all others */
		struct vfab_mem mem;
	} w[KNOWN];
	unsigned int next;
};

struct peer {
	uint32_t rank;
	uint32_t losses;	/* when the meeting began */
	const struct member *m;	/* NULL: not met yet */
	const char *slots;
	size_t got, put;	/* bytes moved in the current phase */
	/* Of the current call: its @in and @out, and the mappings that they are in */
	char *buffer[2];
	struct vfab_mem *in[2];
	uint64_t sent, taken;	/* pieces of messages to and from it */
	struct known *known;
	struct vfab_mem mem;
};

/* Places, the own one excepted */
struct range {
	uint32_t first, end;
};

struct op;

struct vfab_comm {
	struct vfab_ep *ep;
	struct member *mine;
	uint32_t size, index;
	size_t slot_bytes, box_bytes;
	uint64_t tag;
	uint64_t base;		/* steps of all calls before the current one */
	uint64_t call;		/* the own record's, 0: not compared */
	uint64_t past;		/* digest of the calls that are compared */
	uint64_t calls;
	uint64_t reached;	/* a step that all are known to have passed */
	uint64_t slot_free[COMM_SLOTS];	/* the step that all must have passed */
	uint64_t record_free[2];
	uint64_t chunk;		/* that goes into the next slot */
	bool moved;		/* some peer's got or put is not 0 */
	struct record draft;	/* of the current call, until its first step */
	struct range untold;	/* who may sleep for the last step, see op_tell() */
	bool far;		/* the others' caches are, see staged.c */
	uint32_t stores;	/* large ones to them */
	struct op *head, *tail;	/* calls, of which the first moves */
	struct op *messages;	/* all of which move */
	struct rule *rules;	/* see tuning.c */
	uint32_t splits;
	int64_t timeout;
	uint64_t deadline;	/* of meeting, or of what is waited for; 0: not known */
	uint64_t look_at;	/* when a rank that waits looks at the others */
	bool crowded;		/* more ranks than CPUs */
	int64_t spin;
	uint32_t yields;
	bool never_sleep;
	uint64_t loss;		/* loss generation when nobody was lost */
	int err;		/* why it is broken */
	uint32_t lost;
	struct vfab_mem window;
	const char **src;	/* room for a reduction over the group */
	char **dst;
	struct peer peer[];
};

/* --- comm.c ------------------------------------------------------------------------- */

/*
 * vfab_comm_create(), of ranks that have not been lost since they had so many
 * @losses, if not NULL. Where it fails after all have met, @out is the group, which
 * is broken, and NULL where it fails before.
 */
int comm_make(struct vfab_ep *ep, const uint32_t *ranks, const uint32_t *losses, uint32_t n,
	      uint64_t tag, int64_t timeout, struct vfab_comm **out);

/* Breaks the communicator and blames @rank; returns -err. */
int comm_fail(struct vfab_comm *c, int err, uint32_t rank);
int comm_why(const struct vfab_comm *c);

/*
 * Whether everything that was read from the group so far was real: 0, or the
 * communicator is broken. @record: those who have taken a step of the current
 * call must have the same one.
 */
int comm_check(struct vfab_comm *c, bool record);

/* Whether a member may be gone, or gave up, or is in another call. */
static inline bool comm_doubtful(const struct vfab_comm *c, const struct peer *p, bool record)
{
	return vfabi_load(&p->m->state) != COMM_ALIVE ||
	       vfabi_lost(c->ep, p->rank, p->losses) ||
	       (record && p->m->record[c->calls & 1].call != c->call);
}

uint64_t comm_mix(uint64_t h, uint64_t x);

/* --- engine.c ------------------------------------------------------------------------ */

struct want {
	struct range of;
	uint64_t step;
};

/*
 * What a call does. @want: whom a phase waits for. @work: what it does then,
 * OP_AGAIN if there is more to do before it ends. @heard: who waits for its end.
 * A last phase that waited for all is not published: the next call's first is
 * seen instead.
 */
struct algo {
	struct want (*want)(const struct op *o);
	int (*work)(struct op *o);
	struct range (*heard)(const struct op *o);
};

#define OP_AGAIN	1

enum stage { OP_NEW, OP_BEGIN, OP_FREE, OP_WAIT, OP_WORK, OP_DONE };

struct op {
	struct vfab_comm *c;
	struct op *next;
	struct vfab_call call;
	const struct algo *algo;
	enum stage stage;
	int result;
	uint64_t deadline;	/* 0: not known yet */
	uint32_t idle;		/* times that nothing had come */

	/* Phases, and what the current one waits for */
	uint64_t base;
	uint32_t phase, phases;
	struct want want;
	uint32_t at, who;	/* how many have come, whose turn it is */
	struct range check;	/* whose memory this phase depends on */
	bool compare;		/* records */

	/* Data */
	size_t elem;
	size_t len;		/* @count in bytes */
	size_t chunk;		/* bytes of @len in a slot */
	size_t spread;		/* bytes that are stored for others at a time */
	uint32_t chunks;
	uint32_t fills;		/* chunks that this rank puts */
	uint32_t puts;		/* those that go into its slots */
	uint32_t depth;		/* phases from a chunk's put to its last get */
	uint64_t first;		/* number of the first chunk */
	bool inlined;		/* the record is the slot */
	bool one_shot;		/* reductions: all read all */
	bool windows;		/* are asked for, and not ruled out yet */
	bool stream;		/* the result is not read soon */
	size_t progress;	/* bytes of the phase that are done */

	/* Messages */
	bool message;
	uint64_t digest;
};

static inline struct range all_of(const struct vfab_comm *c)
{
	return (struct range){ 0, c->size };
}

static inline struct range none(void)
{
	return (struct range){ 0, 0 };
}

static inline struct range one_of(uint32_t i)
{
	return (struct range){ i, i + 1 };
}

static inline bool op_at_root(const struct op *o)
{
	return o->c->index == o->call.root;
}

/* Begin another algorithm where this one has waited for all and published a step. */
void op_turn(struct op *o, const struct algo *algo, uint32_t phases);

/* Run a call to its end; the communicator's error if there is one already. */
int op_run(struct op *o);

/* Queue a call; move all that can, true if something did; wait for one to end. */
void op_queue(struct op *o);
bool op_poll(struct vfab_comm *c);
int op_wait(struct op *o);

/* Now and then, for those who only poll: is anybody lost, is the time up? */
int op_look(struct op *o);

/* Who waits for what the caller has just stored is told. */
int op_wake(struct vfab_comm *c, struct range who);

/*
 * The same, later: a step's store takes its time to get out, and who does not
 * sleep has seen it by then. To be called before the library returns or sleeps.
 */
int op_tell(struct vfab_comm *c);

/* Before stores that others hear of: where shape is on, they take their time. */
int op_pace_rings(struct vfab_comm *c, struct range who);

/* Bytes were copied from, or to, a peer in this phase. */
static inline void op_got(struct vfab_comm *c, uint32_t i, size_t bytes)
{
	c->peer[i].got += bytes;
	c->moved = true;
}

static inline void op_put(struct vfab_comm *c, uint32_t i, size_t bytes)
{
	c->peer[i].put += bytes;
	c->moved = true;
}

/* What was moved takes its time, was real, and counts. */
int op_settle(struct op *o);

/* The barrier by which a group finds that all have met */
int comm_meet(struct vfab_comm *c);

/* --- coll.c, staged.c, direct.c, p2p.c, tuning.c ------------------------------------- */

extern const struct algo algo_staged, algo_star, algo_tree;

/* Shares of len bytes, in whole lines; the last ones may be smaller. */
static inline size_t share_of_each(const struct vfab_comm *c, size_t len)
{
	return ((len + c->size - 1) / c->size + 63) & ~(size_t)63;
}

static inline size_t share(uint32_t i, size_t each, size_t len, size_t *from)
{
	*from = each * i < len ? each * i : len;
	return len - *from < each ? len - *from : each;
}

/* What is copied for others to fetch */
void op_publish(struct op *o, void *to, const void *from, size_t bytes);

/* Reduce over the group from src[], to @dsts of dst[], of which the first @own stay here. */
void op_reduce(struct op *o, uint32_t own, uint32_t dsts, size_t bytes);

/* Before a call's first step: what its record says of windows. */
void direct_announce(struct op *o, struct record *r);
/* All records are there: which algorithm goes on. */
void direct_decide(struct op *o);
void direct_forget(struct vfab_comm *c);

/* Bytes of lines and boxes for messages, of a window of so many bytes */
size_t p2p_lines(uint32_t size);
size_t p2p_boxes(uint32_t size, size_t bytes);
/* As much as there is room for, or has come; true if anything moved */
bool p2p_advance(struct op *o);
bool p2p_delivered(const struct vfab_comm *c, uint32_t to);

enum pick { PICK_ONE_SHOT, PICK_STAGED, PICK_STAR, PICK_WINDOW, PICK_FLAT, PICK_TREE, PICKS };

/* The communicator's table; @digest tells it from others. */
int tuning_load(struct rule **rules, uint64_t *digest);
enum pick tuning_pick(const struct rule *rules, enum vfab_coll kind, uint32_t ranks,
		      uint64_t bytes);

#endif
