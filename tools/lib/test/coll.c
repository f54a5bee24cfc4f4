// SPDX-License-Identifier: LGPL-2.1
/* Tests: communicators that compute, and communicators that break. */
#include <math.h>
#include <signal.h>
#include "libtest.h"

#define TAG	UINT64_C(1000)
#define LONG	(20 * VFAB_SECOND)
#define RANKS	8

static struct vfab_comm *meet(struct vfab_ep *ep, uint32_t n, uint64_t tag)
{
	uint32_t ranks[RANKS], i;
	struct vfab_comm *c;

	for (i = 0; i < n; i++)
		ranks[i] = i;
	EQUAL(vfab_comm_create(ep, ranks, n, tag, LONG, &c), 0);
	EQUAL(vfab_comm_size(c), n);
	return c;
}

/* The first @ranks come to step @n, without the fabric. */
static void sync_first(uint32_t ranks, uint32_t rank, uint32_t n)
{
	uint32_t i;

	board[rank * 16] = n;
	for (i = 0; i < ranks; i++)
		board_wait(i * 16, n);
}

static void sync_all(uint32_t rank, uint32_t n)
{
	sync_first(RANKS, rank, n);
}

static void refusals(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	uint32_t twice[] = { 0, 1, 1 }, without[] = { 1, 2 }, far[] = { 0, 5000 };
	struct vfab_comm *c;
	float x = 3;

	EQUAL(vfab_comm_create(ep, twice, 3, TAG, LONG, &c), -EINVAL);
	EQUAL(vfab_comm_create(ep, without, 2, TAG, LONG, &c), -EINVAL);
	EQUAL(vfab_comm_create(ep, far, 2, TAG, LONG, &c), -EINVAL);
	EQUAL(vfab_comm_create(ep, twice, 0, TAG, LONG, &c), -EINVAL);
	EQUAL(vfab_comm_create(ep, twice, 1, 0, LONG, &c), -EINVAL);
	/* A group of one works. */
	EQUAL(vfab_comm_create(ep, twice, 1, TAG, LONG, &c), 0);
	EQUAL(vfab_allreduce(c, &x, &x, 1, VFAB_F32, VFAB_SUM), 0);
	EQUAL(x, 3);
	EQUAL(vfab_allreduce(c, &x, &x, 1, VFAB_TYPES, VFAB_SUM), -EINVAL);
	EQUAL(vfab_allreduce(c, &x, &x, 1, VFAB_F32, VFAB_OPS), -EINVAL);
	EQUAL(vfab_allreduce(c, &x, &x, SIZE_MAX / 2, VFAB_F32, VFAB_SUM), -EINVAL);
	EQUAL(vfab_barrier(c), 0);
	EQUAL(vfab_comm_lost_rank(c), VFAB_RANK_ANY);
	vfab_comm_destroy(c);
	vfab_comm_destroy(NULL);
	/* Nobody comes. */
	twice[1] = 3;
	EQUAL(vfab_comm_create(ep, twice, 2, TAG, VFAB_SECOND / 3, &c), -ETIMEDOUT);
	EQUAL(vfab_comm_lost_rank(NULL), 3);
	vfab_close(ep);
}

/* The group's own order */
static void places(uint32_t rank)
{
	uint32_t ranks[] = { 3, 0, 2, 1 }, i;
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c;

	EQUAL(vfab_comm_create(ep, ranks, 4, TAG, LONG, &c), 0);
	EQUAL(vfab_comm_size(c), 4);
	for (i = 0; i < 4; i++)
		EQUAL(vfab_comm_rank(c, i), ranks[i]);
	EQUAL(vfab_comm_rank(c, vfab_comm_index(c)), rank);
	EQUAL(vfab_comm_rank(c, 4), VFAB_RANK_ANY);
	EQUAL(vfab_comm_rank(c, UINT32_MAX), VFAB_RANK_ANY);
	EQUAL(vfab_barrier(c), 0);
	vfab_comm_destroy(c);
	vfab_close(ep);
}

/* Any bits: what matters is that all ranks get the same, and which. */
static float noise(uint32_t rank, uint32_t i)
{
	uint32_t x = (rank * 2654435761U) ^ (i * 2246822519U);

	x ^= x >> 13;
	x *= 3266489917U;
	return ldexpf((int32_t)x, (int)(x >> 28) - 40);
}

static void floats(uint32_t rank)
{
	static const uint32_t counts[] = { 0, 1, 15, 16, 17, 1000, 4099, 100003 };
	static float in[100003], out[100003];
	struct vfab_ep *ep = attach(rank);
	uint32_t n, k, i, r;

	for (n = RANKS; n > rank; n -= n > 3 ? 3 : 1) {
		struct vfab_comm *c = meet(ep, n, TAG + n);

		for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
			for (i = 0; i < counts[k]; i++)
				in[i] = noise(rank, i + k);
			EQUAL(vfab_allreduce(c, in, k & 1 ? in : out, counts[k],
					     VFAB_F32, VFAB_SUM), 0);
			for (i = 0; i < counts[k]; i++) {
				float sum = noise(0, i + k);

				for (r = 1; r < n; r++)
					sum += noise(r, i + k);
				CHECK(!memcmp(&sum, (k & 1 ? in : out) + i, 4));
			}
		}
		vfab_comm_destroy(c);
	}
	vfab_close(ep);
}

#define ALL_OPS(c, t, type)						\
	do {								\
		t in[100], out[100];					\
		uint32_t i_, r_, op_;					\
									\
		for (op_ = 0; op_ <= VFAB_MAX; op_++) {		\
			for (i_ = 0; i_ < 100; i_++)			\
				in[i_] = (t)(i_ * 3 + rank + 1) * 1000003; \
			EQUAL(vfab_allreduce(c, in, out, 100, type, op_), 0); \
			for (i_ = 0; i_ < 100; i_++) {			\
				t want = (t)(i_ * 3 + 1) * 1000003;	\
									\
				for (r_ = 1; r_ < 4; r_++) {		\
					t x = (t)(i_ * 3 + r_ + 1) * 1000003; \
									\
					want = op_ == VFAB_SUM ? want + x : \
					       op_ == VFAB_PROD ? want * x : \
					       op_ == VFAB_MIN ?	\
					       (want < x ? want : x) :	\
					       (want > x ? want : x);	\
				}					\
				CHECK(out[i_] == want);			\
			}						\
		}							\
	} while (0)

static void types(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c = meet(ep, 4, TAG);

	ALL_OPS(c, float, VFAB_F32);
	ALL_OPS(c, double, VFAB_F64);
	ALL_OPS(c, uint32_t, VFAB_U32);
	ALL_OPS(c, uint64_t, VFAB_U64);
	/* Compiled with -fwrapv: the library must not care. */
	ALL_OPS(c, int32_t, VFAB_I32);
	ALL_OPS(c, int64_t, VFAB_I64);
	vfab_comm_destroy(c);
	vfab_close(ep);
}

static void barriers(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c = meet(ep, RANKS, TAG);
	uint32_t i, k;

	for (i = 1; i <= 50; i++) {
		board[rank * 16] = i;
		EQUAL(vfab_barrier(c), 0);
		for (k = 0; k < RANKS; k++)
			CHECK(board[k * 16] >= i);
	}
	vfab_comm_destroy(c);
	vfab_close(ep);
}

/* Groups that come and go: who leaves first must not spoil the last call. */
static void churn(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	static uint64_t in[20000], out[20000];
	uint32_t i, k;

	for (i = 0; i < 10; i++) {
		struct vfab_comm *c = meet(ep, RANKS, TAG + i);

		for (k = 0; k < 20000; k++)
			in[k] = rank + k + i;
		EQUAL(vfab_allreduce(c, in, out, 20000, VFAB_U64, VFAB_SUM), 0);
		vfab_comm_destroy(c);
		for (k = 0; k < 20000; k++)
			EQUAL(out[k], RANKS * (RANKS - 1) / 2 + RANKS * (k + i));
	}
	vfab_close(ep);
}

/* Several groups at a time, some of them smaller, each under a tag of its own. */
static void many(uint32_t rank)
{
	struct vfab_comm *c[3] = { NULL };
	struct vfab_ep *ep = attach(rank);
	uint32_t i, n, x;

	for (i = 0; i < 30; i++) {
		vfab_comm_destroy(c[i % 3]);
		c[i % 3] = NULL;
		n = 4 - i % 4 / 2;
		if (rank >= n)
			continue;
		c[i % 3] = meet(ep, n, TAG + i);
		x = rank + i;
		EQUAL(vfab_allreduce(c[i % 3], &x, &x, 1, VFAB_U32, VFAB_SUM), 0);
		EQUAL(x, n * (n - 1) / 2 + n * i);
	}
	for (i = 0; i < 3; i++)
		vfab_comm_destroy(c[i]);
	vfab_close(ep);
}

/* A tag is used again while rank 3 has not left the first group. */
static void reused_tag(uint32_t rank)
{
	uint32_t ranks[] = { 0, 1, 2, 3 }, x = rank;
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c = meet(ep, 4, TAG);

	EQUAL(vfab_allreduce(c, &x, &x, 1, VFAB_U32, VFAB_SUM), 0);
	EQUAL(x, 6);
	sync_first(4, rank, 1);
	if (rank != 3) {
		vfab_comm_destroy(c);
		sync_first(3, rank, 2);
		EQUAL(vfab_comm_create(ep, ranks, 4, TAG, LONG, &c), -EINVAL);
		CHECK(strstr(vfab_strerror(-EINVAL), "tag"));
		EQUAL(vfab_comm_lost_rank(NULL), 3);
	}
	sync_first(4, rank, 3);
	if (rank == 3) {
		vfab_comm_destroy(c);
		EQUAL(vfab_comm_create(ep, ranks, 4, TAG, LONG, &c), -EINVAL);
	}
	c = meet(ep, 4, TAG + 1);
	x = rank * 10;
	EQUAL(vfab_allreduce(c, &x, &x, 1, VFAB_U32, VFAB_SUM), 0);
	EQUAL(x, 60);
	vfab_comm_destroy(c);
	vfab_close(ep);
}

static void other_call(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c = meet(ep, 4, TAG);
	float x[20] = { 0 };
	int ret;

	EQUAL(vfab_allreduce(c, x, x, 10, VFAB_F32, VFAB_SUM), 0);
	ret = vfab_allreduce(c, x, x, rank == 2 ? 11 : 10, VFAB_F32, VFAB_SUM);
	CHECK(ret == -EINVAL || ret == -ECONNRESET);
	vfab_comm_destroy(c);
	vfab_close(ep);
}

static void other_group(uint32_t rank)
{
	uint32_t all[] = { 0, 1, 2, 3 }, swapped[] = { 1, 0, 2, 3 };
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c;
	int ret;

	ret = vfab_comm_create(ep, rank == 2 ? swapped : all, 4, TAG, LONG, &c);
	CHECK(ret == -EINVAL || ret == -ECONNRESET);
	c = meet(ep, 4, TAG + 1);
	EQUAL(vfab_barrier(c), 0);
	vfab_comm_destroy(c);
	vfab_close(ep);
}

/* Until it fails: 0 must mean that the sum is right. */
static int traffic(struct vfab_comm *c, uint32_t rank, uint32_t count)
{
	static uint32_t in[60000], out[60000];
	uint32_t n = vfab_comm_size(c), round, k;
	int ret;

	for (round = 0;; round++) {
		for (k = 0; k < count; k++)
			in[k] = rank + k * round;
		ret = vfab_allreduce(c, in, out, count, VFAB_U32, VFAB_SUM);
		if (ret)
			return ret;
		for (k = 0; k < count; k++)
			EQUAL(out[k], n * (n - 1) / 2 + n * k * round);
		board[rank * 16] = round;
	}
}

static void check_broken(struct vfab_comm *c, uint32_t lost)
{
	EQUAL(vfab_comm_lost_rank(c), lost);
	EQUAL(vfab_barrier(c), -ECONNRESET);
	vfab_comm_destroy(c);
}

static void one_dies(uint32_t rank, uint32_t count)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c = meet(ep, RANKS, TAG);
	uint32_t ranks[] = { 0, 1, 2, 4, 5, 6, 7 };
	double *when = (double *)(board + 512);
	pid_t self = getpid();

	if (rank == 3) {
		if (!fork()) {
			board_wait(0, 5);
			usleep(getpid() % 10000);
			*when = now();
			kill_parent(self);
			_exit(0);
		}
	}
	EQUAL(traffic(c, rank, count), -ECONNRESET);
	CHECK(now() - *when < bound);
	check_broken(c, 3);
	/* The others go on, under another tag. */
	EQUAL(vfab_comm_create(ep, ranks, 7, TAG + 1, LONG, &c), 0);
	EQUAL(vfab_barrier(c), 0);
	vfab_comm_destroy(c);
	vfab_close(ep);
}

static void dies_small(uint32_t rank)
{
	one_dies(rank, 10);
}

static void dies_large(uint32_t rank)
{
	one_dies(rank, 60000);
}

/* Its own end, in the midst of a call, is an error and no signal. */
static void evicted(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c = meet(ep, RANKS, TAG);
	double *when = (double *)(board + 512);

	if (rank == 0 && !fork()) {
		board_wait(0, 5);
		usleep(getpid() % 10000);
		*when = now();
		_exit(vfabctl("endpoint evict %s/ep3", domain));
	}
	if (rank == 3) {
		EQUAL(traffic(c, rank, 60000), -ENODEV);
		EQUAL(vfab_barrier(c), -ENODEV);
		vfab_comm_destroy(c);
	} else {
		EQUAL(traffic(c, rank, 60000), -ECONNRESET);
		check_broken(c, 3);
	}
	CHECK(now() - *when < bound);
	/* Who ends before all have noticed may be taken for the cause. */
	sync_all(rank, 1U << 30);
	vfab_close(ep);
}

static void aborted(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c = meet(ep, RANKS, TAG);
	double t;

	sync_all(rank, 1);
	t = now();
	if (rank == 6)
		vfab_comm_abort(c);
	EQUAL(vfab_barrier(c), -ECONNRESET);
	CHECK(now() - t < bound);
	check_broken(c, 6);
	sync_all(rank, 2);
	vfab_close(ep);
}

/*
 * Rings of a rank that is no member, @gap microseconds apart, while rank 0 waits
 * for rank 1, which never comes: it aborts, or lets the time pass.
 */
static void foreign(uint32_t rank, const char *how, uint32_t gap, bool abort)
{
	static uint32_t turn;
	struct vfab_comm *c = NULL;
	struct vfab_ep *ep;
	double t;

	turn++;
	setenv("VFAB_WAIT", how, 1);
	ep = attach(rank);
	sync_first(3, rank, 4 * turn);
	if (rank < 2)
		c = meet(ep, 2, TAG);
	sync_first(3, rank, 4 * turn + 1);
	if (rank == 2) {
		while (board[1] < turn) {
			EQUAL(vfab_ring(ep, 0, VFAB_VECTORS - 1), 0);
			if (gap)
				usleep(gap);
		}
	} else if (!rank) {
		vfab_comm_set_timeout(c, abort ? LONG : VFAB_SECOND / 2);
		t = now();
		EQUAL(vfab_barrier(c), abort ? -ECONNRESET : -ETIMEDOUT);
		CHECK(now() - t < bound);
		EQUAL(vfab_comm_lost_rank(c), 1);
		board[1] = turn;
	} else {
		usleep(300000);
		if (abort)
			vfab_comm_abort(c);
		board_wait(1, turn);
	}
	sync_first(3, rank, 4 * turn + 2);
	vfab_comm_destroy(c);
	vfab_close(ep);
	sync_first(3, rank, 4 * turn + 3);
}

static void foreign_rings(uint32_t rank)
{
	static const char *const how[] = { "block", "yield", "spin" };
	uint32_t i;

	for (i = 0; i < 3; i++) {
		foreign(rank, how[i], 20000, true);
		foreign(rank, how[i], 0, true);
		foreign(rank, how[i], 0, false);
	}
}

static void late(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c = meet(ep, 4, TAG);
	int ret;

	vfab_comm_set_timeout(c, VFAB_SECOND / 2);
	if (rank != 1) {
		ret = vfab_barrier(c);
		CHECK(ret == -ETIMEDOUT || ret == -ECONNRESET);
		EQUAL(vfab_comm_lost_rank(c), 1);
		board[rank * 16] = 1;
	}
	/* Who ends before all have noticed may be taken for the cause. */
	board_wait(0, 1);
	board_wait(32, 1);
	board_wait(48, 1);
	vfab_comm_destroy(c);
	vfab_close(ep);
}

static void dies_meeting(uint32_t rank)
{
	uint32_t ranks[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct vfab_ep *ep = attach(rank);
	double *when = (double *)(board + 512);
	struct vfab_comm *c;

	sync_all(rank, 1);
	if (rank == 2) {
		usleep(500000);
		*when = now();
		raise(SIGKILL);
	}
	EQUAL(vfab_comm_create(ep, ranks, RANKS, TAG, LONG, &c), -ECONNRESET);
	CHECK(now() - *when < bound);
	EQUAL(vfab_comm_lost_rank(NULL), 2);
	/* Who ends before all have noticed may be taken for the cause. */
	board[rank * 16] = 2;
	for (uint32_t i = 0; i < RANKS; i++)
		if (i != 2)
			board_wait(i * 16, 2);
	vfab_close(ep);
}

/* What the administrator does to rank 5 under traffic. */
static void cut(uint32_t rank, const char *down, const char *up)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c = meet(ep, RANKS, TAG);
	uint32_t ranks[] = { 0, 1, 2, 3, 4, 6, 7 };
	double *when = (double *)(board + 512);

	if (!rank && !fork()) {
		board_wait(0, 3);
		EQUAL(vfabctl("link set %s/sw1 down", domain), 0);
		board_wait(0, board[0] + 5);
		*when = now();
		EQUAL(vfabctl(down, domain), 0);
		_exit(0);
	}
	EQUAL(traffic(c, rank, 300), -ECONNRESET);
	CHECK(now() - *when < bound);
	check_broken(c, 5);
	if (rank != 5) {
		EQUAL(vfab_comm_create(ep, ranks, 7, TAG + 1, LONG, &c), 0);
		EQUAL(vfab_barrier(c), 0);
		vfab_comm_destroy(c);
	}
	board[rank * 16 + 1] = 1;
	if (!rank) {
		for (uint32_t i = 0; i < RANKS; i++)
			board_wait(i * 16 + 1, 1);
		EQUAL(vfabctl(up, domain), 0);
		EQUAL(vfabctl("link set %s/sw1 up", domain), 0);
		board[1000] = 1;
	}
	board_wait(1000, 1);
	c = meet(ep, RANKS, TAG + 2);
	EQUAL(vfab_barrier(c), 0);
	vfab_comm_destroy(c);
	vfab_close(ep);
}

static void cut_link(uint32_t rank)
{
	cut(rank, "link set %s/ep5 down", "link set %s/ep5 up");
}

static void cut_partition(uint32_t rank)
{
	cut(rank, "partition set %s/part0 --del 5", "partition set %s/part0 --add 5");
}

const struct test coll_tests[] = {
	{ "comm_refusals", 1, refusals, 0 },
	{ "comm_places", 4, places, 0 },
	{ "allreduce_floats", RANKS, floats, 0 },
	{ "allreduce_types", 4, types, 0 },
	{ "barrier", RANKS, barriers, 0 },
	{ "comm_churn", RANKS, churn, 0 },
	{ "comm_many", 4, many, 0 },
	{ "comm_reused_tag", 4, reused_tag, 0 },
	{ "comm_other_call", 4, other_call, 0 },
	{ "comm_other_group", 4, other_group, 0 },
	{ "comm_kill_small", RANKS, dies_small, 1 },
	{ "comm_kill_large", RANKS, dies_large, 1 },
	{ "comm_kill_meeting", RANKS, dies_meeting, 1 },
	{ "comm_abort", RANKS, aborted, 0 },
	{ "comm_foreign_rings", 3, foreign_rings, 0 },
	{ "comm_timeout", 4, late, 0 },
	{ 0 }
};

const struct test fabric_coll_tests[] = {
	{ "comm_evict", RANKS, evicted, 0 },
	{ "comm_cut_link", RANKS, cut_link, 0 },
	{ "comm_cut_partition", RANKS, cut_partition, 0 },
	{ 0 }
};
