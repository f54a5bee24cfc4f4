// SPDX-License-Identifier: LGPL-2.1
/*
 * Algorithms that read the callers' own buffers, where those lie in windows, and
 * store results into the others' at once: two bytes moved per input byte.
 *
 * What a rank's record names (direct_announce()), all others import, and keep the
 * last few (struct known). They all do so in the same order, and the owner knows
 * what they have: where nothing is new, there is nothing to ask; where something
 * is, all say whether they could map it, and if anybody could not, the call goes
 * through slots.
 */
#include <stdlib.h>
#include <string.h>
#include "comm.h"

/* Bytes that are moved before others are looked at */
#define SLICE	(1 << 20)

static const struct algo algo_import, algo_direct;

/* Which of a rank's buffers others use: bit 0 @in, bit 1 @out */
static unsigned int used(const struct op *o, uint32_t i)
{
	bool root = i == o->call.root;

	switch (o->call.kind) {
	case VFAB_ALLREDUCE:
		return 3;
	case VFAB_REDUCE:
		return root ? 3 : 1;
	case VFAB_BROADCAST:
	case VFAB_SCATTER:
		return root ? 1 : 0;
	case VFAB_GATHER:
		return root ? 0 : 1;
	default:
		return 1;
	}
}

static size_t bytes_of_in(const struct op *o)
{
	switch (o->call.kind) {
	case VFAB_REDUCE_SCATTER:
	case VFAB_ALLTOALL:
	case VFAB_SCATTER:
		return o->c->size * o->len;
	default:
		return o->len;
	}
}

/* --- Which windows there are ------------------------------------------------------------ */

static struct known *known(struct vfab_comm *c, uint32_t i)
{
	if (!c->peer[i].known)
		c->peer[i].known = calloc(1, sizeof(struct known));
	return c->peer[i].known;
}

static int find(const struct known *k, uint64_t handle)
{
	unsigned int i;

	for (i = 0; i < KNOWN; i++)
		if (handle && k->w[i].handle == handle)
			return i;
	return -1;
}

/* The oldest goes, unless the same call needs it: @other. The same everywhere. */
static int learn(struct vfab_comm *c, struct known *k, uint64_t handle, uint64_t other)
{
	unsigned int i = k->next;

	if (k->w[i].handle == other)
		i = (i + 1) % KNOWN;
	k->next = (i + 1) % KNOWN;
	if (k->w[i].mem.addr)
		vfab_release(c->ep, &k->w[i].mem);
	memset(&k->w[i], 0, sizeof(k->w[i]));
	k->w[i].handle = handle;
	return i;
}

void direct_forget(struct vfab_comm *c)
{
	uint32_t i, k;

	for (i = 0; i < c->size; i++) {
		if (!c->peer[i].known)
			continue;
		for (k = 0; k < KNOWN; k++)
			if (c->peer[i].known->w[k].mem.addr)
				vfab_release(c->ep, &c->peer[i].known->w[k].mem);
		free(c->peer[i].known);
	}
}

void direct_announce(struct op *o, struct record *r)
{
	struct vfab_comm *c = o->c;
	unsigned int use = used(o, c->index), b;
	const void *buf[2] = { o->call.in, o->call.out };
	struct known *k = known(c, c->index);
	struct window_at at[2] = { 0 };
	uint32_t access;

	r->vote = 0;
	r->flags = RECORD_STAGED;
	/* Who exchanges in place would be read while it stores. */
	if (!k || (o->call.kind == VFAB_ALLTOALL && o->call.in == o->call.out))
		return;
	for (b = 0; b < 2; b++) {
		if (!(use & 1 << b))
			continue;
		if (!vfabi_region_find(c->ep, buf[b], b ? o->len : bytes_of_in(o), &at[b].handle,
				       &at[b].offset, &access) ||
		    (b && !(access & VFAB_ACCESS_WRITE)))
			return;
		if (access & VFAB_ACCESS_WRITE)
			r->flags |= RECORD_WRITE(b);
	}
	r->flags |= RECORD_WINDOW;
	if (use)
		r->flags &= ~RECORD_STAGED;
	for (b = 0; b < 2; b++) {
		int i = find(k, at[b].handle);

		if (at[b].handle && i < 0)
			i = learn(c, k, at[b].handle, at[!b].handle);
		if (i >= 0 && !k->w[i].imported)
			r->flags |= RECORD_NEW;
		r->at[b] = at[b];
	}
}

static void all_flags(const struct op *o, uint64_t *every, uint64_t *some)
{
	const struct vfab_comm *c = o->c;
	uint32_t i;

	*every = ~UINT64_C(0);
	*some = 0;
	for (i = 0; i < c->size; i++) {
		const struct record *r = &c->peer[i].m->record[c->calls & 1];

		*every &= r->flags;
		*some |= r->flags;
	}
}

/* The slot that this rank may have filled was not read by anybody. */
static void go_on(struct op *o, const struct algo *algo, uint32_t phases)
{
	if (o->puts)
		o->c->slot_free[o->first % COMM_SLOTS] = 0;
	op_turn(o, algo, phases);
}

static void through_slots(struct op *o)
{
	go_on(o, &algo_staged, o->chunks + o->depth);
}

static void through_windows(struct op *o)
{
	go_on(o, &algo_direct, 2);
	o->spread = share_of_each(o->c, o->len);
	o->puts = 0;
}

void direct_decide(struct op *o)
{
	uint64_t every, some;

	o->windows = false;
	all_flags(o, &every, &some);
	if (!(every & RECORD_WINDOW)) {
		if (!(every & RECORD_STAGED))
			through_slots(o);
	} else if (some & RECORD_NEW) {
		go_on(o, &algo_import, 2);
	} else {
		through_windows(o);
	}
}

/* --- Importing them --------------------------------------------------------------------- */

static bool import(struct vfab_comm *c, uint32_t i, const struct record *r, unsigned int b)
{
	uint64_t handle = r->at[b].handle;
	struct known *k = known(c, i);
	uint32_t access = VFAB_ACCESS_READ;
	int at;

	if (!handle)
		return true;
	if (!k)
		return false;
	at = find(k, handle);
	if (at < 0)
		at = learn(c, k, handle, r->at[!b].handle);
	if (k->w[at].mem.addr)
		return true;
	if (r->flags & RECORD_WRITE(b))
		access |= VFAB_ACCESS_WRITE;
	return !vfab_import(c->ep, handle, access, VFAB_LOSS_ABSORB, &k->w[at].mem);
}

static void import_all(struct op *o)
{
	struct vfab_comm *c = o->c;
	bool all = true;
	unsigned int b;
	uint32_t i;

	for (i = 0; i < c->size; i++) {
		const struct record *r = &c->peer[i].m->record[c->calls & 1];

		for (b = 0; b < 2 && i != c->index; b++)
			if (used(o, i) & 1 << b)
				all &= import(c, i, r, b);
	}
	c->mine->record[c->calls & 1].vote = all;
}

static void count_votes(struct op *o)
{
	struct vfab_comm *c = o->c;
	const struct record *mine = &c->mine->record[c->calls & 1];
	bool all = true;
	unsigned int b;
	uint32_t i;
	int at;

	for (i = 0; i < c->size; i++)
		all &= c->peer[i].m->record[c->calls & 1].vote == 1;
	for (b = 0; b < 2; b++) {
		at = find(c->peer[c->index].known, mine->at[b].handle);
		if ((used(o, c->index) & 1 << b) && at >= 0)
			c->peer[c->index].known->w[at].imported = all;
	}
	if (all)
		through_windows(o);
	else
		through_slots(o);
}

static struct want import_want(const struct op *o)
{
	return (struct want){ o->phase ? all_of(o->c) : none(), o->base + o->phase };
}

static int import_work(struct op *o)
{
	int ret = op_settle(o);

	if (ret)
		return ret;
	if (!o->phase) {
		import_all(o);
		return 0;
	}
	count_votes(o);
	return OP_AGAIN;
}

static struct range import_heard(const struct op *o)
{
	return all_of(o->c);
}

static const struct algo algo_import = { import_want, import_work, import_heard };

/* --- Moving data -------------------------------------------------------------------------- */

/* A rank's @in or @out */
static char *buffer(const struct op *o, uint32_t i, unsigned int b)
{
	if (i == o->c->index)
		return b ? o->call.out : (char *)(uintptr_t)o->call.in;
	return o->c->peer[i].buffer[b];
}

/*
 * Where the others' buffers are. What a record says is read once: it may be all
 * ones a moment later.
 */
static int find_buffers(struct op *o)
{
	struct vfab_comm *c = o->c;
	uint32_t i;
	unsigned int b;
	int ret, n;

	for (i = 0; i < c->size; i++) {
		struct peer *p = &c->peer[i];

		for (b = 0; b < 2; b++) {
			const struct window_at *r = &p->m->record[c->calls & 1].at[b];
			uint64_t handle = __atomic_load_n(&r->handle, __ATOMIC_RELAXED);
			uint64_t offset = __atomic_load_n(&r->offset, __ATOMIC_RELAXED);

			if (i == c->index || !(used(o, i) & 1 << b))
				continue;
			n = p->known ? find(p->known, handle) : -1;
			if (n < 0 || offset > p->known->w[n].mem.size) {
				/* All ones are no window; then it was lost. */
				ret = comm_check(c, true);
				return ret ? ret : comm_fail(c, EINVAL, p->rank);
			}
			p->in[b] = &p->known->w[n].mem;
			p->buffer[b] = (char *)p->in[b]->addr + offset;
		}
	}
	return 0;
}

/*
 * Before and after: do the mappings lead to the windows? The latter also says
 * that what was read there was the peer's, and what was stored has reached it.
 */
static int windows_hold(struct op *o, bool after)
{
	struct vfab_comm *c = o->c;
	uint32_t i;
	unsigned int b;
	int ret;

	for (i = 0; i < c->size; i++) {
		for (b = 0; b < 2; b++) {
			if (i == c->index || !(used(o, i) & 1 << b) ||
			    !vfabi_mem_check(c->ep, c->peer[i].in[b], after))
				continue;
			ret = comm_check(c, false);
			return ret ? ret : comm_fail(c, ECONNRESET, c->peer[i].rank);
		}
	}
	return 0;
}

/* The next slice of a rank's bytes */
static size_t slice(struct op *o, size_t len, size_t *at)
{
	size_t n;

	*at = o->progress;
	n = len - *at < SLICE ? len - *at : SLICE;
	o->progress += n;
	return n;
}

/*
 * One slice of what a call moves, each of these; they return how much there is in
 * all. First: the own share of all inputs, into all outputs, or the root's.
 */
static size_t reduce_for_all(struct op *o)
{
	struct vfab_comm *c = o->c;
	size_t from, at, n, len = share(c->index, share_of_each(c, o->len), o->len, &from);
	uint32_t i, j, own = 0, dsts = 0;

	n = slice(o, len, &at);
	for (i = 0; i < c->size; i++) {
		c->src[i] = buffer(o, i, 0) + from + at;
		if (i != c->index)
			op_got(c, i, n);
	}
	/* The own one first */
	for (j = 0; j < c->size; j++) {
		i = (c->index + j) % c->size;
		if (o->call.kind == VFAB_REDUCE && i != o->call.root)
			continue;
		c->dst[dsts++] = buffer(o, i, 1) + from + at;
		if (i != c->index)
			op_put(c, i, n);
		else
			own = 1;
	}
	op_reduce(o, own, dsts, n);
	return len;
}

/* Own elements of all inputs */
static size_t reduce_own(struct op *o)
{
	struct vfab_comm *c = o->c;
	size_t at, n = slice(o, o->len, &at);
	uint32_t i;

	for (i = 0; i < c->size; i++) {
		c->src[i] = buffer(o, i, 0) + c->index * o->len + at;
		if (i != c->index)
			op_got(c, i, n);
	}
	c->dst[0] = (char *)o->call.out + at;
	op_reduce(o, 1, 1, n);
	return o->len;
}

static void copy_from(struct op *o, uint32_t i, size_t from, size_t to, size_t n)
{
	const char *in = buffer(o, i, 0) + from;
	char *out = (char *)o->call.out + to;

	if (in != out && n)
		vfabi_copy(out, in, n, o->stream);
	if (i != o->c->index)
		op_got(o->c, i, n);
}

static size_t copy_each(struct op *o, size_t from)
{
	struct vfab_comm *c = o->c;
	size_t at, n = slice(o, o->len, &at);
	uint32_t i, j;

	for (j = 1; j <= c->size; j++) {
		i = (c->index + j) % c->size;
		copy_from(o, i, from + at, i * o->len + at, n);
	}
	return o->len;
}

static size_t copy_from_root(struct op *o, size_t from)
{
	size_t at, n = slice(o, o->len, &at);

	copy_from(o, o->call.root, from + at, at, n);
	return o->len;
}

static int direct_work(struct op *o)
{
	struct vfab_comm *c = o->c;
	size_t len = 0;
	int ret;

	if (o->phase)
		return 0;
	if (!o->progress) {
		ret = find_buffers(o);
		if (!ret)
			ret = windows_hold(o, false);
		if (ret)
			return ret;
	}
	switch (o->call.kind) {
	case VFAB_ALLREDUCE:
	case VFAB_REDUCE:
		len = reduce_for_all(o);
		break;
	case VFAB_REDUCE_SCATTER:
		len = reduce_own(o);
		break;
	case VFAB_ALLGATHER:
		len = copy_each(o, 0);
		break;
	case VFAB_GATHER:
		if (op_at_root(o))
			len = copy_each(o, 0);
		break;
	case VFAB_ALLTOALL:
		len = copy_each(o, c->index * o->len);
		break;
	case VFAB_BROADCAST:
		len = copy_from_root(o, 0);
		break;
	case VFAB_SCATTER:
		len = copy_from_root(o, c->index * o->len);
		break;
	default:
		break;
	}
	if (o->progress < len)
		return OP_AGAIN;
	/* Stores, too, come before the looks at the view, see vfabi_lost() */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	o->check = all_of(c);
	return windows_hold(o, true);
}

static const struct algo algo_direct = { import_want, direct_work, import_heard };
