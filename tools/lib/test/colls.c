// SPDX-License-Identifier: LGPL-2.1
/*
 * Tests: every collective, with every type and operation, odd counts, in place
 * and not, in private memory and in windows, by every algorithm, against
 * plain.c.
 */
#include <sched.h>
#include <signal.h>
#include "libtest.h"
#include "plain.h"

#define TAG	UINT64_C(7000)
#define LONG	(90 * VFAB_SECOND)
#define RANKS	8
#define GUARD	32
#define ROOM	(2U << 20)

/* Where buffers are: @in and @out, each in a window or not */
struct place {
	struct vfab_ep *ep;
	struct vfab_comm *c;
	uint32_t rank, n;
	char *in[2], *out[2];		/* private, window */
	struct vfab_mem win, wout;
	uint32_t seed;			/* another for each call */
	plain *x;
};

static uint64_t noise(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 32;
}

/* Element @i of what rank @r gives to this call */
static plain element(const struct place *p, enum vfab_type type, uint32_t r, size_t i)
{
	return plain_element(type, noise((uint64_t)p->seed << 44 ^ (uint64_t)r << 32 ^ i));
}

static plain reduced(struct place *p, const struct vfab_call *v, size_t i)
{
	uint32_t r;

	for (r = 0; r < p->n; r++)
		p->x[r] = element(p, v->type, r, i);
	return plain_reduce(v->type, v->op, p->x, p->n);
}

/* Elements of a call's buffers at rank @r: 0 if it has none */
static size_t elements_in(const struct place *p, const struct vfab_call *v, uint32_t r)
{
	switch (v->kind) {
	case VFAB_BROADCAST:
		return r == v->root ? v->count : 0;
	case VFAB_SCATTER:
		return r == v->root ? v->count * p->n : 0;
	case VFAB_REDUCE_SCATTER:
	case VFAB_ALLTOALL:
		return v->count * p->n;
	default:
		return v->count;
	}
}

static size_t elements_out(const struct place *p, const struct vfab_call *v)
{
	switch (v->kind) {
	case VFAB_REDUCE:
		return p->rank == v->root ? v->count : 0;
	case VFAB_GATHER:
		return p->rank == v->root ? v->count * p->n : 0;
	case VFAB_ALLGATHER:
	case VFAB_ALLTOALL:
		return v->count * p->n;
	default:
		return v->count;
	}
}

static plain expected(struct place *p, const struct vfab_call *v, size_t i)
{
	size_t from = v->count ? i / v->count : 0, at = v->count ? i % v->count : 0;

	switch (v->kind) {
	case VFAB_ALLREDUCE:
	case VFAB_REDUCE:
		return reduced(p, v, i);
	case VFAB_REDUCE_SCATTER:
		return reduced(p, v, p->rank * v->count + i);
	case VFAB_ALLTOALL:
		return element(p, v->type, from, p->rank * v->count + at);
	case VFAB_BROADCAST:
		return element(p, v->type, v->root, i);
	case VFAB_SCATTER:
		return element(p, v->type, v->root, p->rank * v->count + i);
	default:
		return element(p, v->type, from, at);
	}
}

/* Where the input is, in place: from the result's first element */
static size_t in_place_at(const struct place *p, const struct vfab_call *v)
{
	return v->kind == VFAB_ALLGATHER || v->kind == VFAB_GATHER ? p->rank * v->count : 0;
}

/* Where the result is, in place, in an input that is larger */
static size_t out_in_place_at(const struct place *p, const struct vfab_call *v)
{
	return v->kind == VFAB_REDUCE_SCATTER || v->kind == VFAB_SCATTER ?
	       p->rank * v->count : 0;
}

static void fail_call(const struct vfab_call *v, const char *what, size_t i, uint32_t n)
{
	char text[160];

	snprintf(text, sizeof(text), "call %d, %u ranks, %zu of type %d by %d, root %u: %s (%zu)",
		 v->kind, n, v->count, v->type, v->op, v->root, what, i);
	check_failed(__FILE__, __LINE__, text);
}

static void fill(struct place *p, const struct vfab_call *v, char *in, size_t n)
{
	size_t elem = vfab_type_size(v->type), i;
	plain e;

	for (i = 0; i < n; i++) {
		e = element(p, v->type, p->rank, i);
		memcpy(in + i * elem, &e, elem);
	}
}

static void verify(struct place *p, const struct vfab_call *v, const char *in, const char *out,
		   size_t n_in, size_t n_out)
{
	size_t elem = vfab_type_size(v->type), i;
	plain e;

	for (i = 0; i < n_out; i++) {
		e = expected(p, v, i);
		if (memcmp(out + i * elem, &e, elem))
			fail_call(v, "a wrong element", i, p->n);
	}
	for (i = 0; i < n_in && in; i++) {
		e = element(p, v->type, p->rank, i);
		if (memcmp(in + i * elem, &e, elem))
			fail_call(v, "the input was changed", i, p->n);
	}
}

/* @where: bit 0 @in in a window, bit 1 @out; @shift: bytes off alignment */
static void call_once(struct place *p, struct vfab_call *v, bool in_place, unsigned int where,
		      size_t shift)
{
	size_t elem = vfab_type_size(v->type), n_in, n_out, room;
	struct vfab_req *req;
	char *in, *out;
	int ret;

	/* Now and then, not all ranks do the same. */
	if (++p->seed % 3 == 0)
		where = (where + p->rank) & 3;
	in = p->in[where & 1] + GUARD + shift;
	out = p->out[where >> 1] + GUARD + shift;
	n_in = elements_in(p, v, p->rank);
	n_out = elements_out(p, v);
	room = (n_in > n_out ? n_in : n_out) * elem + 2 * GUARD + shift;
	CHECK(room <= ROOM);
	memset(p->in[where & 1], 0x5a, room);
	memset(p->out[where >> 1], 0x5a, room);
	if (in_place) {
		in = out + in_place_at(p, v) * elem;
		fill(p, v, in, n_in);
		out += out_in_place_at(p, v) * elem;
	} else {
		fill(p, v, in, n_in);
	}
	v->in = n_in ? in : NULL;
	v->out = n_out ? out : NULL;
	if (p->seed & 1) {
		EQUAL(vfab_start(p->c, v, &req), 0);
		ret = vfab_finish(req);
	} else {
		switch (v->kind) {
		case VFAB_ALLREDUCE:
			ret = vfab_allreduce(p->c, v->in, v->out, v->count, v->type, v->op);
			break;
		case VFAB_REDUCE_SCATTER:
			ret = vfab_reduce_scatter(p->c, v->in, v->out, v->count, v->type, v->op);
			break;
		case VFAB_ALLGATHER:
			ret = vfab_allgather(p->c, v->in, v->out, v->count, v->type);
			break;
		case VFAB_ALLTOALL:
			ret = vfab_alltoall(p->c, v->in, v->out, v->count, v->type);
			break;
		case VFAB_BROADCAST:
			ret = vfab_broadcast(p->c, v->in, v->out, v->count, v->type, v->root);
			break;
		case VFAB_REDUCE:
			ret = vfab_reduce(p->c, v->in, v->out, v->count, v->type, v->op, v->root);
			break;
		case VFAB_GATHER:
			ret = vfab_gather(p->c, v->in, v->out, v->count, v->type, v->root);
			break;
		default:
			ret = vfab_scatter(p->c, v->in, v->out, v->count, v->type, v->root);
			break;
		}
	}
	EQUAL(ret, 0);
	verify(p, v, in_place ? NULL : in, out, n_in, n_out);
	if (n_out && !in_place &&
	    (out[-1] != 0x5a || out[n_out * elem] != 0x5a))
		fail_call(v, "wrote beyond the result", n_out, p->n);
}

static void set_up(struct place *p, struct vfab_ep *ep, uint32_t rank, uint32_t n, uint64_t tag)
{
	uint32_t ranks[VFAB_MAX_WORLD], i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < n; i++)
		ranks[i] = i;
	p->ep = ep;
	p->rank = rank;
	p->n = n;
	p->in[0] = malloc(ROOM);
	p->out[0] = malloc(ROOM);
	p->x = calloc(n, sizeof(*p->x));
	CHECK(p->in[0] && p->out[0] && p->x);
	EQUAL(vfab_window_alloc(ep, ROOM, 0, VFAB_ACCESS_READ, &p->win), 0);
	EQUAL(vfab_window_alloc(ep, ROOM, 0, VFAB_ACCESS_WRITE, &p->wout), 0);
	p->in[1] = p->win.addr;
	p->out[1] = p->wout.addr;
	EQUAL(vfab_comm_create(ep, ranks, n, tag, LONG, &p->c), 0);
}

static void tear_down(struct place *p)
{
	vfab_comm_destroy(p->c);
	EQUAL(vfab_window_free(p->ep, &p->win), 0);
	EQUAL(vfab_window_free(p->ep, &p->wout), 0);
	free(p->in[0]);
	free(p->out[0]);
	free(p->x);
}

static bool reduces(enum vfab_coll kind)
{
	return kind == VFAB_ALLREDUCE || kind == VFAB_REDUCE || kind == VFAB_REDUCE_SCATTER;
}

static const enum vfab_coll kinds[] = {
	VFAB_ALLREDUCE, VFAB_REDUCE_SCATTER, VFAB_ALLGATHER, VFAB_ALLTOALL, VFAB_BROADCAST,
	VFAB_REDUCE, VFAB_GATHER, VFAB_SCATTER,
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* Each type with each operation, of counts that no vector divides */
static void types_of(struct place *p)
{
	static const size_t counts[] = { 1, 13, 257 };
	struct vfab_call v = { 0 };
	uint32_t k, type, op, i;

	for (k = 0; k < KINDS; k++) {
		for (type = 0; type < VFAB_TYPES; type++) {
			for (op = 0; op < (reduces(kinds[k]) ? VFAB_OPS : 1); op++) {
				if (!plain_has(type, op))
					continue;
				for (i = 0; i < 3; i++) {
					v = (struct vfab_call){ .kind = kinds[k], .type = type,
						.op = op, .count = counts[i],
						.root = (op + type) % p->n };
					call_once(p, &v, (i + op) & 1, (i + type) & 3,
						  (op * 5 + i) % 17);
				}
			}
		}
	}
}

/* Counts around vectors, lines, inline records and chunks, in all kinds of buffers */
static void counts_of(struct place *p, const size_t *counts, uint32_t n)
{
	static const enum vfab_type types[] = { VFAB_F32, VFAB_U8, VFAB_BF16, VFAB_I64 };
	struct vfab_call v;
	uint32_t k, i, where, place;

	for (k = 0; k < KINDS; k++) {
		for (i = 0; i < n; i++) {
			for (where = 0; where < 4; where++) {
				for (place = 0; place < 2; place++) {
					v = (struct vfab_call){ .kind = kinds[k],
						.type = types[(i + where) % 4], .op = VFAB_SUM,
						.count = counts[i], .root = (i + where) % p->n };
					call_once(p, &v, place, where, (i * 3 + place) % 9);
				}
			}
		}
	}
}

/* alltoallv: as many from r to s as this says, with a gap behind each */
static size_t between(const struct place *p, size_t most, uint32_t r, uint32_t s)
{
	return noise(p->seed * 1009ULL + r * 31 + s) % (most + 1);
}

static void exchange(struct place *p, size_t most, unsigned int where)
{
	size_t in_counts[64], in_at[64], out_counts[64], out_at[64], i, a = 0, b = 0;
	uint32_t *in = (uint32_t *)p->in[where & 1], *out = (uint32_t *)p->out[where >> 1], r;

	p->seed++;
	for (r = 0; r < p->n; r++) {
		in_counts[r] = between(p, most, p->rank, r);
		out_counts[r] = between(p, most, r, p->rank);
		in_at[r] = a;
		out_at[r] = b;
		a += in_counts[r] + r % 3;
		b += out_counts[r] + 1;
		for (i = 0; i < in_counts[r]; i++)
			in[in_at[r] + i] = p->rank << 24 ^ r << 16 ^ i;
	}
	CHECK((a > b ? a : b) * 4 <= ROOM);
	memset(out, 0x5a, b * 4);
	EQUAL(vfab_alltoallv(p->c, in, in_counts, in_at, out, out_counts, out_at, VFAB_U32), 0);
	for (r = 0; r < p->n; r++) {
		for (i = 0; i < out_counts[r]; i++)
			EQUAL(out[out_at[r] + i], r << 24 ^ p->rank << 16 ^ i);
		EQUAL(out[out_at[r] + i], 0x5a5a5a5a);
	}
}

static void exchanges(struct place *p)
{
	static const size_t most[] = { 0, 1, 7, 300, 20000 };
	uint32_t i;

	for (i = 0; i < 5; i++)
		exchange(p, most[i], i & 3);
}

/* From each to each in a ring, and messages that pass one another */
static void messages(struct place *p)
{
	static const size_t counts[] = { 0, 1, 3, 100, 5000, 70000 };
	uint32_t next = (p->rank + 1) % p->n, before = (p->rank + p->n - 1) % p->n, k;
	uint32_t *in = (uint32_t *)p->in[0], *out = (uint32_t *)p->out[0];
	struct vfab_req *req[4];
	size_t i;

	if (p->n < 2)
		return;
	for (k = 0; k < 6; k++) {
		struct vfab_call send = { .kind = VFAB_SEND, .in = in, .count = counts[k],
					  .type = VFAB_U32, .root = next };
		struct vfab_call recv = { .kind = VFAB_RECV, .out = out, .count = counts[k],
					  .type = VFAB_U32, .root = before };

		for (i = 0; i < counts[k]; i++)
			in[i] = p->rank << 20 ^ i ^ k << 28;
		if (counts[k] <= 5000 && p->n > 2) {
			/* A rank that begins by receiving ends any ring. */
			if (p->rank)
				EQUAL(vfab_recv(p->c, out, counts[k], VFAB_U32, before), 0);
			EQUAL(vfab_send(p->c, in, counts[k], VFAB_U32, next), 0);
			if (!p->rank)
				EQUAL(vfab_recv(p->c, out, counts[k], VFAB_U32, before), 0);
		} else {
			/* Two of each: the second goes where the first leaves off */
			EQUAL(vfab_start(p->c, &send, &req[0]), 0);
			EQUAL(vfab_start(p->c, &send, &req[1]), 0);
			EQUAL(vfab_start(p->c, &recv, &req[2]), 0);
			recv.out = out + counts[k];
			EQUAL(vfab_start(p->c, &recv, &req[3]), 0);
			for (i = 0; i < 4; i++)
				EQUAL(vfab_finish(req[i]), 0);
			CHECK(!memcmp(out, out + counts[k], counts[k] * 4));
		}
		for (i = 0; i < counts[k]; i++)
			EQUAL(out[i], before << 20 ^ i ^ k << 28);
	}
	/* Who leaves now would be missed by those who still exchange some. */
	EQUAL(vfab_barrier(p->c), 0);
}

/* --- Algorithms -------------------------------------------------------------------- */

static const char *const tables[] = {
	NULL,
	"allreduce * * oneshot\nreduce * * oneshot\nbarrier * * tree\n",
	"allreduce * * staged\nreduce * * staged\nallgather * * staged\nalltoall * * staged\n"
	"broadcast * * staged\ngather * * staged\nscatter * * staged\n"
	"reduce_scatter * * staged\nbarrier * * flat\n",
	"allreduce * * window\nreduce * * window\nallgather * * window\nalltoall * * window\n"
	"broadcast * * window\ngather * * window\nscatter * * window\n"
	"reduce_scatter * * window\n",
	"allreduce * * star # and the rest as ever\n",
};

#define TABLES	(sizeof(tables) / sizeof(tables[0]))

static void use_table(const char *text)
{
	char path[] = "/tmp/vfab-tuning-XXXXXX";
	FILE *f;
	int fd;

	if (!text) {
		unsetenv("VFAB_TUNING");
		return;
	}
	fd = mkstemp(path);
	f = fdopen(fd, "w");
	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
	setenv("VFAB_TUNING", path, 1);
}

static void drop_table(void)
{
	if (getenv("VFAB_TUNING"))
		unlink(getenv("VFAB_TUNING"));
}

static const uint32_t sizes[] = { 2, 8, 3, 1, 5, 7, 4 };

/* Groups of the first @n sizes; @bytes: VFAB_COMM_BYTES, or NULL */
static void each_size(struct vfab_ep *ep, uint32_t rank, uint32_t table, uint32_t n,
		      const char *bytes, void (*what)(struct place *p))
{
	struct place p;
	uint32_t i;

	use_table(tables[table]);
	if (bytes)
		setenv("VFAB_COMM_BYTES", bytes, 1);
	for (i = 0; i < n; i++) {
		if (rank >= sizes[i])
			continue;
		set_up(&p, ep, rank, sizes[i], TAG + table * 8 + i);
		what(&p);
		tear_down(&p);
	}
	drop_table();
}

static void some_counts(struct place *p)
{
	static const size_t counts[] = { 0, 1, 3, 24, 25, 65, 1000, 4097 };

	counts_of(p, counts, 8);
	exchanges(p);
	messages(p);
}

/* Several chunks, and more than there are slots, of windows that are small */
static void many_chunks(struct place *p)
{
	static const size_t counts[] = { 500, 2049, 9001 };

	counts_of(p, counts, 3);
	exchange(p, 3000, 0);
	messages(p);
}

static void all_types(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);

	each_size(ep, rank, 0, memfd ? 5 : 3, NULL, types_of);
	vfab_close(ep);
}

static void all_counts(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);

	each_size(ep, rank, 0, memfd ? 7 : 2, NULL, some_counts);
	vfab_close(ep);
}

static void all_algorithms(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	uint32_t i;

	for (i = 1; i < TABLES; i++)
		each_size(ep, rank, i, 3, NULL, some_counts);
	vfab_close(ep);
}

static void all_chunks(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	uint32_t i;

	for (i = 0; i < TABLES; i += 2)
		each_size(ep, rank, i, 3, "36864", many_chunks);
	vfab_close(ep);
}

static void sixteen(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct place p;

	set_up(&p, ep, rank, 16, TAG);
	some_counts(&p);
	tear_down(&p);
	vfab_close(ep);
}

/* --- Calls that overlap ------------------------------------------------------------ */

#define FLIGHTS	6

/* Two groups, one of them in another order, with several calls under way in both */
static void overlapping(uint32_t rank)
{
	uint32_t order[RANKS], i, k, round;
	static uint64_t in[2][FLIGHTS][3000], out[2][FLIGHTS][3000];
	struct vfab_ep *ep = attach(rank);
	struct vfab_req *req[2][FLIGHTS];
	struct vfab_comm *c[2];
	int done, left;

	for (i = 0; i < RANKS; i++)
		order[i] = RANKS - 1 - i;
	EQUAL(vfab_comm_create(ep, order, RANKS, TAG, LONG, &c[0]), 0);
	for (i = 0; i < RANKS; i++)
		order[i] = i;
	EQUAL(vfab_comm_create(ep, order, RANKS, TAG + 1, LONG, &c[1]), 0);
	for (round = 0; round < 20; round++) {
		for (k = 0; k < 2 * FLIGHTS; k++) {
			uint32_t f = k / 2, w = (k + rank) & 1;
			struct vfab_call v = { .kind = VFAB_ALLREDUCE, .in = in[w][f],
				.out = out[w][f], .count = f * 500 + 1, .type = VFAB_U64 };

			for (i = 0; i < v.count; i++)
				in[w][f][i] = rank * (w + 1) + i + round;
			EQUAL(vfab_start(c[w], &v, &req[w][f]), 0);
		}
		do {
			left = 0;
			for (k = 0; k < 2 * FLIGHTS; k++) {
				EQUAL(vfab_test(req[k & 1][k / 2], &done), 0);
				left += !done;
			}
			if (left)
				sched_yield();
		} while (left && round & 1);
		for (k = 0; k < 2 * FLIGHTS; k++) {
			EQUAL(vfab_finish(req[k & 1][k / 2]), 0);
			for (i = 0; i < k / 2 * 500 + 1; i++)
				EQUAL(out[k & 1][k / 2][i],
				      28 * ((k & 1) + 1) + RANKS * (i + round));
		}
		EQUAL(vfab_barrier(c[round & 1]), 0);
	}
	vfab_comm_destroy(c[0]);
	vfab_comm_destroy(c[1]);
	vfab_close(ep);
}

/* --- Groups of groups -------------------------------------------------------------- */

static void split(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c, *half, *none;
	uint32_t order[RANKS], i, x;

	for (i = 0; i < RANKS; i++)
		order[i] = i;
	EQUAL(vfab_comm_create(ep, order, RANKS, TAG, LONG, &c), 0);
	for (i = 0; i < 5; i++) {
		/* Odd and even, those of higher ranks first */
		EQUAL(vfab_comm_split(c, rank & 1, -(int)rank, &half), 0);
		EQUAL(vfab_comm_size(half), RANKS / 2);
		EQUAL(vfab_comm_index(half), (RANKS - 1 - rank) / 2);
		EQUAL(vfab_comm_rank(half, 0), RANKS - 2 + (rank & 1));
		x = rank;
		EQUAL(vfab_allreduce(half, &x, &x, 1, VFAB_U32, VFAB_SUM), 0);
		EQUAL(x, rank & 1 ? 16 : 12);
		EQUAL(vfab_comm_split(c, rank < 3 ? -1 : 5, 0, &none), 0);
		CHECK(!none == (rank < 3));
		if (none) {
			EQUAL(vfab_comm_size(none), 5);
			EQUAL(vfab_comm_index(none), rank - 3);
			EQUAL(vfab_barrier(none), 0);
		}
		vfab_comm_destroy(none);
		vfab_comm_destroy(half);
	}
	vfab_comm_destroy(c);
	vfab_close(ep);
}

/* Two die, one after the other: those who remain go on each time. */
static void shrink(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c, *d;
	static const uint32_t victims[] = { 5, 2 };
	uint32_t order[RANKS], i, k, x, n = RANKS, victim;
	double start;
	int ret;

	for (i = 0; i < RANKS; i++)
		order[i] = i;
	EQUAL(vfab_comm_create(ep, order, RANKS, TAG, LONG, &c), 0);
	for (k = 0; k < 2; k++) {
		victim = victims[k];
		/* Who dies while others still meet is another matter. */
		board[rank * 16] = k + 1;
		for (i = 0; i < RANKS; i++)
			if (!k || i != victims[0])
				board_wait(i * 16, k + 1);
		if (rank == victim)
			raise(SIGKILL);
		start = now();
		do {
			x = 1;
			ret = vfab_allreduce(c, &x, &x, 1, VFAB_U32, VFAB_SUM);
			EQUAL(ret ? n : x, n);
		} while (!ret);
		EQUAL(ret, -ECONNRESET);
		CHECK(now() - start < bound);
		EQUAL(vfab_comm_lost_rank(c), victim);
		EQUAL(vfab_comm_shrink(c, LONG, &d), 0);
		vfab_comm_destroy(c);
		c = d;
		n--;
		EQUAL(vfab_comm_size(c), n);
		x = rank;
		EQUAL(vfab_allreduce(c, &x, &x, 1, VFAB_U32, VFAB_SUM), 0);
		EQUAL(x, victim == 5 ? 23 : 21);
	}
	vfab_comm_destroy(c);
	vfab_close(ep);
}

/* Who loses all others at once, because they died, was not cut off from them. */
static void all_lost(uint32_t rank)
{
	static const uint32_t order[] = { 1, 0, 2 };
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c, *d;
	struct vfab_peer p;
	uint32_t i, x = 7;

	EQUAL(vfab_comm_create(ep, order, 3, TAG, LONG, &c), 0);
	sync_ranks(3, rank, 1);
	if (rank)
		raise(SIGKILL);
	for (i = 1; i < 3; i++)
		do
			EQUAL(vfab_peer(ep, i, &p), 0);
		while (p.state == VFAB_PEER_HELD);
	EQUAL(vfab_allreduce(c, &x, &x, 1, VFAB_U32, VFAB_SUM), -ECONNRESET);
	CHECK(vfab_comm_lost_rank(c) == 1 || vfab_comm_lost_rank(c) == 2);
	EQUAL(vfab_comm_shrink(c, LONG, &d), 0);
	EQUAL(vfab_comm_size(d), 1);
	x = 7;	/* what failed was in place */
	EQUAL(vfab_allreduce(d, &x, &x, 1, VFAB_U32, VFAB_SUM), 0);
	EQUAL(x, 7);
	vfab_comm_destroy(c);
	vfab_comm_destroy(d);
	vfab_close(ep);
}

/* The only one who can notice that a rank dies waits for it to complete a call. */
static void alone(uint32_t rank)
{
	static const uint32_t order[] = { 0, 1 };
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c;
	double start;
	uint32_t x = 1;

	EQUAL(vfab_comm_create(ep, order, 2, TAG, LONG, &c), 0);
	if (rank) {
		sync_ranks(2, rank, 1);
		usleep(100000);
		raise(SIGKILL);
	}
	sync_ranks(2, rank, 1);
	EQUAL(vfab_broadcast(c, &x, &x, 1, VFAB_U32, 0), 0);
	start = now();
	vfab_comm_destroy(c);
	CHECK(now() - start < bound);
	vfab_close(ep);
}

/* Or waits for it to fill the window that it meets in. */
static void half_there(uint32_t rank)
{
	static const uint32_t order[] = { 0, 1 };
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c;
	struct vfab_mem mem;
	double start;

	if (rank) {
		EQUAL(vfab_window_alloc(ep, 1 << 20, TAG, VFAB_ACCESS_READ, &mem), 0);
		sync_ranks(2, rank, 1);
		usleep(100000);
		raise(SIGKILL);
	}
	sync_ranks(2, rank, 1);
	start = now();
	EQUAL(vfab_comm_create(ep, order, 2, TAG, LONG, &c), -ECONNRESET);
	EQUAL(vfab_comm_lost_rank(NULL), 1);
	CHECK(now() - start < bound);
	vfab_close(ep);
}

/*
 * Who does not come is left out after half of the time, and told so when it does.
 * The others have the same group.
 */
static void late(uint32_t rank)
{
	static const uint32_t order[] = { 3, 1, 0, 2 };
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c, *d;
	uint32_t x = 1;

	EQUAL(vfab_comm_create(ep, order, 4, TAG, LONG, &c), 0);
	sync_ranks(4, rank, 1);
	vfab_comm_abort(c);
	if (rank == 3) {
		board_wait(1, 3);
		EQUAL(vfab_comm_shrink(c, LONG, &d), -ECONNRESET);
		CHECK(!d);
		EQUAL(vfab_comm_shrink(c, LONG, &d), -ECONNRESET);
	} else {
		EQUAL(vfab_comm_shrink(c, VFAB_SECOND * 6, &d), 0);
		EQUAL(vfab_comm_size(d), 3);
		EQUAL(vfab_comm_rank(d, 0), 1);
		EQUAL(vfab_allreduce(d, &x, &x, 1, VFAB_U32, VFAB_SUM), 0);
		EQUAL(x, 3);
		__atomic_fetch_add(board + 1, 1, __ATOMIC_RELAXED);
		vfab_comm_destroy(d);
	}
	sync_ranks(4, rank, 2);
	vfab_comm_destroy(c);
	vfab_close(ep);
}

/* --- Mistakes ---------------------------------------------------------------------- */

/* A table that cannot be read: which line, which word of it, and what it could be */
static void mistaken_table(uint32_t rank)
{
	static const struct {
		const char *table, *why;
	} cases[] = {
		{ "allreduce 8 2048 oneshot\n# fine\n\nalreduce * * window\n",
		  ", line 4: \"alreduce\" is no collective: take one of allreduce reduce_scatter" },
		{ "barrier 0 * flat",
		  ", line 1: \"0\" is no number of ranks, 1 to 4294967295, or *" },
		{ "barrier 4294967296 * flat", "\"4294967296\" is no number of ranks" },
		{ "barrier -1 * flat", "\"-1\" is no number of ranks" },
		{ "gather * 4K staged", ", line 1: \"4K\" is no number of bytes, or *" },
		{ "gather * 18446744073709551616 staged",
		  "\"18446744073709551616\" is no number of bytes" },
		{ "allreduce * * x\n",
		  "\"x\" is no algorithm of allreduce: take one of oneshot staged star window" },
		{ "barrier * * window\n",
		  "\"window\" is no algorithm of barrier: take one of flat tree" },
		{ "reduce * * star\n",
		  "\"star\" is no algorithm of reduce: take one of oneshot staged window" },
		{ "allreduce * window", ", line 1: fewer than four words, 'collective ranks" },
		{ "\n\tallreduce\t8 * window *\n", ", line 2: more than four words, 'collective" },
	};
	const uint32_t order[] = { 0 };
	struct vfab_ep *ep = attach(rank);
	char rules[513 * 18 + 1] = "", why[64];
	struct vfab_comm *c;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		use_table(cases[i].table);
		EQUAL(vfab_comm_create(ep, order, 1, TAG, LONG, &c), -EINVAL);
		snprintf(why, sizeof(why), "VFAB_TUNING=%s, line ", getenv("VFAB_TUNING"));
		CHECK(!strncmp(vfab_strerror(EINVAL), why, strlen(why)));
		CHECK(strstr(vfab_strerror(EINVAL), cases[i].why));
		drop_table();
	}
	for (i = 0; i < 513; i++)
		strcat(rules, "barrier * * flat#\n");
	use_table(rules);
	EQUAL(vfab_comm_create(ep, order, 1, TAG, LONG, &c), -EINVAL);
	CHECK(strstr(vfab_strerror(EINVAL), ", line 513: more than 512 lines"));
	drop_table();
	/* As many as there may be, and a comment that is longer than any of them */
	memset(rules + 512 * 18, 0, 18);
	rules[0] = '#';
	memset(rules + 1, 'x', 300);
	use_table(rules);
	EQUAL(vfab_comm_create(ep, order, 1, TAG, LONG, &c), 0);
	vfab_comm_destroy(c);
	drop_table();
	unsetenv("VFAB_TUNING");
	vfab_close(ep);
}

static void mistaken(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	uint32_t order[] = { 0, 1, 2, 3 }, buf[64] = { 0 }, i, k;
	size_t counts[4] = { 1, 1, 1, 1 }, at[4] = { 0, 1, 2, 3 };
	struct vfab_comm *c, *none;
	int ret;

	for (i = 0; i < 7; i++) {
		EQUAL(vfab_comm_create(ep, order, 4, TAG + i, LONG, &c), 0);
		/* refused, and nothing happens */
		EQUAL(vfab_broadcast(c, buf, buf, 1, VFAB_U32, 4), -EINVAL);
		EQUAL(vfab_send(c, buf, 1, VFAB_U32, rank), -EINVAL);
		EQUAL(vfab_recv(c, buf, 1, VFAB_U32, 4), -EINVAL);
		EQUAL(vfab_allreduce(c, buf, buf, 1, VFAB_F32, VFAB_XOR), -EINVAL);
		EQUAL(vfab_reduce(c, buf, buf, 1, VFAB_F8E4M3, VFAB_AND, 0), -EINVAL);
		EQUAL(vfab_allgather(c, buf, buf, SIZE_MAX / 8, VFAB_U32), -EINVAL);
		EQUAL(vfab_alltoall(c, buf, buf, 1, VFAB_TYPES), -EINVAL);
		EQUAL(vfab_start(c, &(struct vfab_call){ .kind = VFAB_COLLS }, NULL), -EINVAL);
		EQUAL(vfab_barrier(c), 0);
		/* Who fails in the next call fails those who are still in this one. */
		board[rank * 16] = i + 1;
		for (k = 0; k < 4; k++)
			board_wait(k * 16, i + 1);
		switch (i) {
		case 0:
			ret = vfab_broadcast(c, buf, buf, 4, VFAB_U32, rank == 3);
			if (!ret)
				ret = vfab_barrier(c);
			break;
		case 1:
			ret = rank == 1 ? vfab_barrier(c) :
			      vfab_allgather(c, buf, buf + 16, 1, VFAB_U32);
			break;
		case 2:
			ret = vfab_reduce_scatter(c, buf, buf + 32, 5, rank ? VFAB_U32 : VFAB_I32,
						  VFAB_MIN);
			break;
		case 3:
			counts[2] = rank == 1 ? 2 : 1;
			ret = vfab_alltoallv(c, buf, counts, at, buf + 16,
					     (size_t[]){ 1, 1, 1, 1 }, at, VFAB_U32);
			if (!ret)
				ret = vfab_barrier(c);
			break;
		case 4:
			/* From 0 to 1, of another length than it expects */
			ret = rank == 0 ? vfab_send(c, buf, 3, VFAB_U32, 1) :
			      rank == 1 ? vfab_recv(c, buf, 4, VFAB_U32, 0) : 0;
			if (!ret)
				ret = vfab_barrier(c);
			break;
		case 5:
			/* Nobody waits for anybody */
			EQUAL(vfab_broadcast(c, buf, buf, 4, VFAB_U32, rank), 0);
			ret = vfab_barrier(c);
			break;
		default:
			setenv("VFAB_TUNING", "/nowhere", 1);
			EQUAL(vfab_comm_create(ep, order, 4, TAG + 9, LONG, &none), -ENOENT);
			unsetenv("VFAB_TUNING");
			ret = -EINVAL;
		}
		/* Who is told by another that there was a mistake hears the same. */
		CHECK(ret == -EINVAL || ret == -ECONNRESET);
		vfab_comm_destroy(c);
	}
	vfab_close(ep);
}

/* --- Kills at any point ------------------------------------------------------------ */

/* Calls one after the other until one fails; each that does not is right. */
static int until_lost(struct place *p, uint32_t round)
{
	static const size_t counts[] = { 1, 30, 700, 9000, 40000 };
	struct vfab_call v;
	uint32_t i;
	int ret;

	for (i = 0;; i++) {
		size_t elem, n_in, n_out, k;
		char *in, *out;

		v = (struct vfab_call){ .kind = kinds[(i + round) % KINDS], .type = VFAB_U32,
			.op = VFAB_SUM, .count = counts[(i * 3 + round) % 5] / p->n + 1,
			.root = i % p->n };
		in = p->in[i & 1];
		out = p->out[i & 1];
		p->seed = i;
		elem = 4;
		n_in = elements_in(p, &v, p->rank);
		n_out = elements_out(p, &v);
		for (k = 0; k < n_in; k++) {
			plain e = element(p, v.type, p->rank, k);

			memcpy(in + k * elem, &e, elem);
		}
		v.in = in;
		v.out = out;
		struct vfab_req *req;

		ret = vfab_start(p->c, &v, &req);
		if (!ret)
			ret = vfab_finish(req);
		if (ret)
			return ret;
		verify(p, &v, NULL, out, 0, n_out);
		board[p->rank * 16] = i;
	}
}

static void chaos_round(uint32_t rank, uint32_t round)
{
	struct vfab_ep *ep = attach(rank);
	uint32_t victim = noise(round * 77 + 1) % 4, i, x = 1;
	struct vfab_comm *d;
	struct place p;
	double *when = (double *)(board + 512);
	pid_t self = getpid();

	set_up(&p, ep, rank, 4, TAG);
	board[rank * 16 + 1] = 1;
	for (i = 0; i < 4; i++)
		board_wait(i * 16 + 1, 1);
	if (rank == victim && !fork()) {
		usleep(noise(round * 99 + 5) % 4000);
		*when = now();
		kill_parent(self);
		_exit(0);
	}
	EQUAL(until_lost(&p, round), -ECONNRESET);
	CHECK(now() - *when < bound);
	EQUAL(vfab_comm_lost_rank(p.c), victim);
	EQUAL(vfab_comm_shrink(p.c, LONG, &d), 0);
	EQUAL(vfab_comm_size(d), 3);
	EQUAL(vfab_allreduce(d, &x, &x, 1, VFAB_U32, VFAB_SUM), 0);
	EQUAL(x, 3);
	vfab_comm_destroy(d);
	tear_down(&p);
	vfab_close(ep);
}

#define CHAOS(n)						\
static void chaos_##n(uint32_t rank)				\
{								\
	chaos_round(rank, (n) + 10 * chaos_seed());		\
}

/* Other kills each time it is asked for */
static uint32_t chaos_seed(void)
{
	const char *s = getenv("VFAB_TEST_SEED");

	return s ? atoi(s) : 0;
}

CHAOS(0)
CHAOS(1)
CHAOS(2)
CHAOS(3)
CHAOS(4)

/* --- Many -------------------------------------------------------------------------- */

static void crowd(uint32_t rank, uint32_t n)
{
	struct vfab_ep *ep = attach(rank);
	uint64_t x, all[4] = { 1, 2, 3, 4 };
	uint32_t ranks[VFAB_MAX_WORLD], i;
	struct vfab_comm *c;

	for (i = 0; i < n; i++)
		ranks[i] = i;
	EQUAL(vfab_comm_create(ep, ranks, n, TAG, LONG, &c), 0);
	for (i = 0; i < 3; i++) {
		x = rank + i;
		EQUAL(vfab_allreduce(c, &x, &x, 1, VFAB_U64, VFAB_SUM), 0);
		EQUAL(x, (uint64_t)n * (n - 1) / 2 + n * i);
		EQUAL(vfab_barrier(c), 0);
	}
	EQUAL(vfab_broadcast(c, all, all, 4, VFAB_U64, n - 1), 0);
	EQUAL(all[3], 4);
	vfab_comm_destroy(c);
	vfab_close(ep);
}

static void crowd_72(uint32_t rank)
{
	crowd(rank, 72);
}

static void crowd_1024(uint32_t rank)
{
	crowd(rank, 1024);
}

/*
 * Who sleeps in a call is told of the others' steps, also by one that then stays
 * away: the least of some times is far from the slice that a sleep lasts.
 */
static void told(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	const uint32_t ranks[] = { 0, 1 };
	double start, least[2] = { 1, 1 };
	uint64_t x = 1;
	struct vfab_call call = { .kind = VFAB_BROADCAST, .in = &x, .out = &x, .count = 1,
				  .type = VFAB_U64 };
	struct vfab_comm *c;
	struct vfab_req *r;
	uint32_t i;

	EQUAL(vfab_comm_create(ep, ranks, 2, TAG, LONG, &c), 0);
	if (rank)
		board[1] = getpid();
	for (i = 0; i < 10; i++) {
		sync_ranks(2, rank, 2 * i + 1);
		if (rank) {
			board[2] = i + 1;
			EQUAL(vfab_broadcast(c, &x, &x, 1, VFAB_U64, 0), 0);
			start = *(volatile double *)&board[4];
			least[i % 2] = now() - start < least[i % 2] ? now() - start : least[i % 2];
		} else {
			board_wait(2, i + 1);
			await_sleep(board[1]);
			*(volatile double *)&board[4] = now();
			if (i % 2) {
				EQUAL(vfab_start(c, &call, &r), 0);
				usleep(300000);
				EQUAL(vfab_finish(r), 0);
			} else {
				EQUAL(vfab_broadcast(c, &x, &x, 1, VFAB_U64, 0), 0);
			}
		}
		sync_ranks(2, rank, 2 * i + 2);
	}
	CHECK(!rank || (least[0] < .1 && least[1] < .1));
	vfab_comm_destroy(c);
	vfab_close(ep);
}

const struct test engine_tests[] = {
	{ "colls_types", RANKS, all_types, 0 },
	{ "colls_counts", RANKS, all_counts, 0 },
	{ "colls_overlapping", RANKS, overlapping, 0 },
	{ "colls_mistaken", 4, mistaken, 0 },
	{ "colls_mistaken_table", 1, mistaken_table, 0 },
	{ "colls_told", 2, told, 0 },
	{ "comm_split", RANKS, split, 0 },
	{ "comm_shrink", RANKS, shrink, 2 },
	{ "comm_all_lost", 3, all_lost, 2 },
	{ "comm_late", 4, late, 0 },
	{ "comm_alone", 2, alone, 1 },
	{ "comm_half_there", 2, half_there, 1 },
	{ "chaos_0", 4, chaos_0, 1 },
	{ "chaos_1", 4, chaos_1, 1 },
	{ "chaos_2", 4, chaos_2, 1 },
	{ "chaos_3", 4, chaos_3, 1 },
	{ "chaos_4", 4, chaos_4, 1 },
	{ 0 }
};

/* What takes its time, and is the same on each transport */
const struct test crowd_tests[] = {
	{ "colls_algorithms", RANKS, all_algorithms, 0 },
	{ "colls_chunks", RANKS, all_chunks, 0 },
	{ "colls_sixteen", 16, sixteen, 0 },
	{ "crowd_72", 72, crowd_72, 0 },
	{ 0 }
};

const struct test long_tests[] = {
	{ "crowd_1024", 1024, crowd_1024, 0 },
	{ 0 }
};
