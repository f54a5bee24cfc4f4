// SPDX-License-Identifier: LGPL-2.1
/*
 * Calls move on: whoever calls the library takes the steps that can be taken.
 *
 * To wait is to spin, to yield, to sleep, as long as the policy says each. Who
 * sleeps has said so, and for whom, in a line of its own; who stores a step
 * looks there, and enters the kernel only if somebody sleeps.
 */
#include <stddef.h>
#include <string.h>
#include "comm.h"

/* How long who waits for a slot sleeps: nobody knows that it does. */
#define NAP	(VFAB_SECOND / 1000)

/* --- Wakes, and what moves takes its time ------------------------------------------- */

static int pace_stop(void *arg)
{
	struct vfab_comm *c = arg;
	struct op *o = c->head ? c->head : c->messages;

	return o ? op_look(o) : comm_check(c, false);
}

static struct vfabi_pace comm_pace(struct vfab_comm *c)
{
	return (struct vfabi_pace){ .ep = c->ep, .stop = pace_stop, .arg = c };
}

/* Why there is no route to @rank, the view tells a moment later. */
static int no_route(struct vfab_comm *c, int ret, uint32_t rank)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int k, why;

	if (!ret || c->err)
		return ret;
	for (k = 0; k < 100; k++) {
		why = comm_check(c, false);
		if (why)
			return why;
		nanosleep(&ms, NULL);
	}
	return comm_fail(c, ret == -EHOSTUNREACH || ret == -EACCES ? ECONNRESET : -ret, rank);
}

int op_pace_rings(struct vfab_comm *c, struct range who)
{
	struct vfabi_pace p;
	uint32_t i;
	int ret = 0;

	if (!vfabi_paced(c->ep))
		return 0;
	p = comm_pace(c);
	for (i = who.first; i < who.end && !ret; i++)
		ret = no_route(c, vfabi_reserve(&p, c->peer[i].rank, VFABI_PUT, VFAB_RING_BYTES),
			       c->peer[i].rank);
	return ret ? ret : vfabi_arrive(&p);
}

static int ring(struct vfab_comm *c, uint32_t i)
{
	int ret = vfabi_ring(c->ep, c->peer[i].rank, COMM_VECTOR);
	int why;

	switch (ret) {
	case 0:
		return 0;
	case -EHOSTUNREACH:
	case -EACCES:
		return no_route(c, ret, c->peer[i].rank);
	}
	why = comm_check(c, false);
	return why ? why : comm_fail(c, -ret, c->peer[i].rank);
}

int op_wake(struct vfab_comm *c, struct range who)
{
	uint64_t asleep;
	uint32_t i;
	int ret = 0;

	/*
	 * Pairs with the fence in doze(): either this sees who sleeps, or the one
	 * who is about to sees what was stored before this.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (i = who.first; i < who.end && !ret; i++) {
		if (i == c->index)
			continue;
		asleep = __atomic_load_n(&c->peer[i].m->asleep, __ATOMIC_RELAXED);
		if (asleep == c->index + 1 || asleep == COMM_ANYONE)
			ret = ring(c, i);
	}
	return ret;
}

int op_tell(struct vfab_comm *c)
{
	struct range who = c->untold;

	c->untold = none();
	return who.first < who.end ? op_wake(c, who) : 0;
}

/* Has anything of what this phase depends on become doubtful? */
static int believe(struct op *o)
{
	struct vfab_comm *c = o->c;
	bool doubt = false;
	uint32_t i;

	/* What was read comes before the looks. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	for (i = o->check.first; i < o->check.end; i++)
		if (i != c->index)
			doubt |= comm_doubtful(c, &c->peer[i], o->compare);
	return doubt ? comm_check(c, o->compare) : 0;
}

static int pace_moves(struct vfab_comm *c)
{
	struct vfabi_pace p = comm_pace(c);
	uint32_t i;
	int ret = 0;

	for (i = 0; i < c->size && !ret; i++) {
		struct peer *q = &c->peer[i];

		ret = vfabi_reserve(&p, q->rank, VFABI_GET, q->got);
		if (!ret)
			ret = vfabi_reserve(&p, q->rank, VFABI_PUT, q->put);
		ret = no_route(c, ret, q->rank);
	}
	return ret ? ret : vfabi_arrive(&p);
}

static void count_moves(struct vfab_comm *c)
{
	uint32_t i;

	for (i = 0; i < c->size; i++) {
		struct peer *q = &c->peer[i];

		if (q->got && i != c->index)
			vfabi_count(c->ep, q->rank, VFABI_GET, q->got);
		if (q->put && i != c->index)
			vfabi_count(c->ep, q->rank, VFABI_PUT, q->put);
		q->got = 0;
		q->put = 0;
	}
	c->moved = false;
}

int op_settle(struct op *o)
{
	struct vfab_comm *c = o->c;
	int ret = 0;

	if (c->moved && vfabi_paced(c->ep))
		ret = pace_moves(c);
	if (!ret)
		ret = believe(o);
	if (!ret && c->moved)
		count_moves(c);
	return ret;
}

/* --- Phases --------------------------------------------------------------------------- */

static uint64_t step_of(const struct op *o, uint32_t i)
{
	const struct vfab_comm *c = o->c;
	const struct member *m = c->peer[i].m;

	return vfabi_load(o->want.step == c->base + 1 ? &m->record[c->calls & 1].step : &m->step);
}

/* Have all come that the phase waits for? */
static bool here(struct op *o)
{
	const struct vfab_comm *c = o->c;
	uint32_t n = o->want.of.end - o->want.of.first;

	for (; o->at < n; o->at++) {
		if (o->who != c->index && step_of(o, o->who) < o->want.step)
			return false;
		if (++o->who == o->want.of.end)
			o->who = o->want.of.first;
	}
	return true;
}

static bool wants_all(const struct op *o)
{
	return o->want.of.end - o->want.of.first == o->c->size;
}

/* Each begins with its successor, so that not all look at one at once. */
static void want(struct op *o, struct want w)
{
	const struct vfab_comm *c = o->c;

	o->want = w;
	o->at = 0;
	o->who = c->index + 1 > w.of.first && c->index + 1 < w.of.end ? c->index + 1 : w.of.first;
	if (w.of.first == w.of.end)
		return;
	if (w.of.first < o->check.first || o->check.first == o->check.end)
		o->check.first = w.of.first;
	if (w.of.end > o->check.end)
		o->check.end = w.of.end;
}

static void publish(struct vfab_comm *c, uint64_t step)
{
	__atomic_store_n(&c->mine->step, step, __ATOMIC_RELEASE);
}

/* Who sees the record's step sees the member's: comm_check() asks that one. */
static void publish_record(struct op *o, uint64_t step)
{
	struct record *r = &o->c->mine->record[o->c->calls & 1];
	const size_t line = 64, head = sizeof(r->step);

	memcpy((char *)r + head, (char *)&o->c->draft + head, line - head);
	if (o->inlined && o->spread > line - offsetof(struct record, data))
		memcpy((char *)r + line, (char *)&o->c->draft + line, sizeof(*r) - line);
	publish(o->c, step);
	__atomic_store_n(&r->step, step, __ATOMIC_RELEASE);
}

/* The step that all must have passed before this phase fills what it fills */
static uint64_t must_be_free(const struct op *o)
{
	const struct vfab_comm *c = o->c;
	uint64_t step = 0;

	if (!o->phase)
		step = c->record_free[c->calls & 1];
	if (o->phase < o->puts && c->slot_free[(o->first + o->phase) % COMM_SLOTS] > step)
		step = c->slot_free[(o->first + o->phase) % COMM_SLOTS];
	return step;
}

static void new_record(struct op *o)
{
	struct vfab_comm *c = o->c;
	struct record *r = &c->draft;

	/* A root waits for nobody: that others have another one, the next call sees. */
	if (o->digest)
		c->past = comm_mix(c->past, o->digest) | 1;
	c->call = o->digest ? c->past : 0;
	r->call = c->call;
	r->flags = 0;
	r->most = o->len;
	if (o->windows)
		direct_announce(o, r);
}

static void op_begin(struct op *o)
{
	struct vfab_comm *c = o->c;

	c->calls++;
	c->call = 0;
	o->base = c->base;
	o->first = c->chunk;
	o->compare = false;
	o->stage = OP_BEGIN;
}

static void op_end(struct op *o)
{
	struct vfab_comm *c = o->c;

	c->base = o->base + o->phases;
	c->record_free[c->calls & 1] = c->base;
	if (!o->inlined)
		c->chunk = o->first + o->chunks;
	o->stage = OP_DONE;
}

void op_turn(struct op *o, const struct algo *algo, uint32_t phases)
{
	o->algo = algo;
	o->base++;
	o->phase = 0;
	o->phases = phases;
	o->progress = 0;
	o->stage = OP_BEGIN;
}

/* From here on others may end, and cannot be rung any more: all have been told. */
static void op_leave(struct vfab_comm *c)
{
	__atomic_store_n(&c->mine->done, c->base, __ATOMIC_RELEASE);
}

static int phase_end(struct op *o)
{
	struct vfab_comm *c = o->c;
	bool last = o->phase + 1 == o->phases, first = o->base + o->phase == c->base;
	struct range heard;
	int ret;

	if (o->phase < o->puts)
		c->slot_free[(o->first + o->phase) % COMM_SLOTS] =
			o->base + o->phase + o->depth + 1;
	o->phase++;
	o->progress = 0;
	ret = op_tell(c);
	if (ret)
		return ret;
	if (last)
		op_end(o);
	else
		o->stage = OP_BEGIN;
	/* Nobody waits for this: who waits later sees the next call's first. */
	if (last && wants_all(o)) {
		op_leave(c);
		return 0;
	}
	heard = o->algo->heard(o);
	ret = op_pace_rings(c, heard);
	if (ret)
		return ret;
	if (first)
		publish_record(o, o->base + o->phase);
	else
		publish(c, o->base + o->phase);
	c->untold = heard;
	if (!last && c->spin)
		return 0;
	ret = op_tell(c);
	if (!ret && last)
		op_leave(c);
	return ret;
}

/* One thing, or not: false if it is to wait for others. */
static bool op_move(struct op *o)
{
	struct vfab_comm *c = o->c;
	uint64_t free;

	switch (o->stage) {
	case OP_NEW:
		op_begin(o);
		return true;
	case OP_BEGIN:
		o->check = (struct range){ 0 };
		free = must_be_free(o);
		want(o, free > c->reached ? (struct want){ all_of(c), free } : (struct want){ 0 });
		o->stage = OP_FREE;
		return true;
	case OP_FREE:
		if (!here(o))
			return false;
		if (o->want.step > c->reached)
			c->reached = o->want.step;
		want(o, o->algo->want(o));
		if (!o->phase && !c->call)
			new_record(o);
		o->stage = OP_WAIT;
		return true;
	case OP_WAIT:
		if (!here(o))
			return false;
		if (wants_all(o) && o->want.step > c->reached)
			c->reached = o->want.step;
		o->compare = c->call && o->want.step > c->base;
		o->stage = OP_WORK;
		if (o->windows && o->phase == 1) {
			o->result = believe(o);
			if (!o->result)
				direct_decide(o);
		}
		return true;
	case OP_WORK:
		o->result = o->algo->work ? o->algo->work(o) : 0;
		if (o->result == OP_AGAIN) {
			o->result = 0;
			return false;
		}
		if (!o->result)
			o->result = op_settle(o);
		if (!o->result)
			o->result = phase_end(o);
		return true;
	case OP_DONE:
		break;
	}
	return false;
}

/* True if it moved. It is done, or failed, when its stage is OP_DONE. */
static bool op_advance(struct op *o)
{
	bool moved = false;

	if (o->c->err)
		o->result = o->c->err;
	while (!o->result && op_move(o))
		moved = true;
	if (o->result)
		o->stage = OP_DONE;
	return moved || o->stage == OP_DONE;
}

/* --- Waits ---------------------------------------------------------------------------- */

/*
 * Who is the farthest behind: the others wait for it, too. In a tree, its
 * ancestors have not moved on either, but they have lower indices.
 */
static uint32_t slowest(const struct vfab_comm *c)
{
	uint64_t step, least = UINT64_MAX;
	uint32_t i, who = VFAB_RANK_ANY;

	for (i = 0; i < c->size; i++) {
		step = vfabi_load(&c->peer[i].m->step);
		if (i != c->index && step <= least) {
			least = step;
			who = c->peer[i].rank;
		}
	}
	return who;
}

static uint32_t late(const struct op *o)
{
	return o->message ? o->c->peer[o->call.root].rank : slowest(o->c);
}

int op_look(struct op *o)
{
	struct vfab_comm *c = o->c;
	uint64_t now = vfabi_now();
	int ret;

	if (!o->deadline)
		o->deadline = vfabi_deadline(c->timeout);
	if (now < c->look_at && now < o->deadline)
		return 0;
	c->look_at = now + COMM_SLICE / 4;
	vfabi_watch(c->ep);
	ret = comm_check(c, false);
	if (!ret && now >= o->deadline)
		ret = comm_fail(c, ETIMEDOUT, late(o));
	return ret;
}

bool op_poll(struct vfab_comm *c)
{
	struct op *o, **at = &c->messages;
	bool moved = false;

	while (*at) {
		o = *at;
		moved |= p2p_advance(o);
		if (o->stage == OP_DONE)
			*at = o->next;
		else
			at = &o->next;
	}
	while (c->head) {
		o = c->head;
		moved |= op_advance(o);
		if (o->stage != OP_DONE)
			break;
		c->head = o->next;
	}
	return moved;
}

/* Where only one call is under way, what it waits for is all that is looked at. */
static bool ready(struct vfab_comm *c, struct op *o)
{
	if (c->head == o && !o->next && !c->messages)
		return here(o);
	return op_poll(c);
}

static bool spun(struct vfab_comm *c, struct op *o)
{
	uint32_t i;

	for (i = 0; i < 64; i++) {
		if (ready(c, o))
			return true;
		vfabi_relax();
	}
	return false;
}

/* Spins, then yields, as long as the policy says. What it returns is seen later. */
static bool polled(struct vfab_comm *c, struct op *o)
{
	int64_t end;
	uint32_t i;

	if (c->spin && spun(c, o))
		return true;
	if (op_tell(c))
		return true;
	end = c->spin ? vfabi_now() + c->spin : 0;
	while (end) {
		if (spun(c, o))
			return true;
		if (vfabi_now() > end)
			break;
	}
	for (i = 0; i < c->yields; i++) {
		sched_yield();
		if (ready(c, o))
			return true;
	}
	return false;
}

static void fall_asleep(struct vfab_comm *c, const struct op *o)
{
	bool one = c->head == o && !o->next && !c->messages;

	__atomic_store_n(&c->mine->asleep, one ? o->who + 1 : COMM_ANYONE, __ATOMIC_RELAXED);
	/* See op_wake() */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void doze(struct vfab_comm *c, struct op *o)
{
	uint64_t count, loss, until;
	int ret = 0;

	if (!o->deadline)
		o->deadline = vfabi_deadline(c->timeout);
	/*
	 * Count and loss are read before the steps: whoever advances one after
	 * this look rings, and the sleep does not begin.
	 */
	count = vfab_count(c->ep, COMM_VECTOR);
	loss = vfabi_loss(c->ep);
	fall_asleep(c, o);
	if (!ready(c, o)) {
		until = c->never_sleep ? 0 :
			vfabi_now() + (o->stage == OP_FREE ? NAP : COMM_SLICE);
		if (until > o->deadline)
			until = o->deadline;
		ret = vfabi_sleep(c->ep, COMM_VECTOR, &count, &loss, until);
	}
	__atomic_store_n(&c->mine->asleep, 0, __ATOMIC_RELAXED);
	/*
	 * A ring need not be one of the group's: any rank of the partition may
	 * ring this doorbell as often as it likes. So it is the clock that says
	 * when to look at the group, and whether the time is up, if nothing was
	 * lost.
	 */
	if (ret == -ECONNRESET || ret == -ENODEV)
		c->look_at = 0;
	op_look(o);
}

int op_wait(struct op *o)
{
	struct vfab_comm *c = o->c;

	for (;;) {
		op_poll(c);
		if (o->stage == OP_DONE) {
			/* Calls behind this one have moved, too: what fails is theirs. */
			if (op_tell(c) && o->result)
				comm_why(c);	/* not why nobody is there to be told */
			return o->result;
		}
		/* What it returns broke the communicator, and ends the call. */
		if (!ready(c, o) && !polled(c, o))
			doze(c, o);
	}
}

void op_queue(struct op *o)
{
	struct vfab_comm *c = o->c;
	struct op **at;

	o->next = NULL;
	if (o->message) {
		for (at = &c->messages; *at; at = &(*at)->next)
			;
		*at = o;
		return;
	}
	if (c->head)
		c->tail->next = o;
	else
		c->head = o;
	c->tail = o;
}

int op_run(struct op *o)
{
	op_queue(o);
	return op_wait(o);
}
