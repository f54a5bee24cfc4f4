// SPDX-License-Identifier: LGPL-2.1
/*
 * Tests: copies, what is counted of them and of collectives, and the time that
 * they take where shape is on.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include "libtest.h"
#include "vfab_nl.h"

#define TAG	5000
#define LONG	(20 * VFAB_SECOND)
#define PACED	"paced"		/* a domain of its own */

/* --- Counters --------------------------------------------------------------------- */

struct want {
	uint32_t id;
	uint64_t value;
};

static int take(const struct vfab_nl_msg *msg, void *data)
{
	const struct nlattr *attr, *part;
	struct want *w = data;

	mnl_attr_for_each(attr, vfab_nl_header(msg), sizeof(struct genlmsghdr)) {
		uint64_t value = 0;
		uint32_t id = UINT32_MAX;

		if (mnl_attr_get_type(attr) != VFAB_A_COUNTER)
			continue;
		mnl_attr_for_each_nested(part, attr) {
			if (mnl_attr_get_type(part) == VFAB_COUNTER_A_ID)
				id = vfab_nl_uint(part);
			if (mnl_attr_get_type(part) == VFAB_COUNTER_A_VALUE)
				value = vfab_nl_uint(part);
		}
		if (id == w->id)
			w->value = value;
	}
	return 0;
}

/* Of an endpoint, or with @port of a port of it; 0 where it is absent. */
static uint64_t counter(const struct vfab_ep *ep, uint32_t rank, int port, uint32_t id)
{
	struct want w = { .id = id };
	struct nlmsghdr *req;
	struct vfab_nl *nl;

	EQUAL(vfab_nl_open(&nl), 0);
	req = vfab_nl_begin(nl, VFAB_CMD_COUNTER_GET);
	mnl_attr_put_u32(req, VFAB_A_DOMAIN, vfab_info(ep)->domain);
	mnl_attr_put_u32(req, VFAB_A_RANK, rank);
	if (port >= 0)
		mnl_attr_put_u32(req, VFAB_A_PORT, port);
	EQUAL(vfab_nl_do(nl, take, &w), 0);
	vfab_nl_close(nl);
	return w.value;
}

#define EP(rank, id)	counter(ep, rank, -1, VFAB_COUNTER_##id)

static uint64_t ports(const struct vfab_ep *ep, uint32_t rank, uint32_t id)
{
	uint64_t sum = 0;
	uint32_t p;

	for (p = 0; p < vfab_info(ep)->planes; p++)
		sum += counter(ep, rank, p, id);
	return sum;
}

/* --- Copies ------------------------------------------------------------------------ */

static struct vfab_mem import(struct vfab_ep *ep, uint32_t rank, uint64_t tag, uint32_t access)
{
	struct vfab_mem m;
	uint64_t handle;

	EQUAL(vfab_lookup(ep, rank, tag, LONG, &handle), 0);
	EQUAL(vfab_import(ep, handle, access, VFAB_LOSS_ABSORB, &m), 0);
	return m;
}

static void check_counts(const struct vfab_ep *ep, uint32_t rank, uint64_t sent, uint64_t got)
{
	if (memfd)
		return;		/* has no counters */
	EQUAL(EP(rank, XMIT_BYTES), sent);
	EQUAL(EP(rank, RCV_BYTES), got);
}

static void put_get(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_mem mine, theirs, readable;
	char buf[3000], back[3000];
	uint64_t sent, got;
	uint32_t i;

	EQUAL(vfab_window_alloc(ep, 8192, TAG, VFAB_ACCESS_WRITE, &mine), 0);
	if (!rank) {
		sync_ranks(2, rank, 1);
		for (i = 0; i < 3000; i++)
			EQUAL(((char *)mine.addr)[100 + i], (char)(i * 7));
		EQUAL(vfab_count(ep, 3), 2);
		sync_ranks(2, rank, 2);
		vfab_close(ep);
		return;
	}
	theirs = import(ep, 0, TAG, VFAB_ACCESS_WRITE);
	readable = import(ep, 0, TAG, VFAB_ACCESS_READ);
	for (i = 0; i < 3000; i++)
		buf[i] = i * 7;
	/* the first copy maps what is counted in: from there on it is not 0 */
	EQUAL(vfab_put(ep, &theirs, 0, buf, 1), 0);
	sent = memfd ? 0 : EP(1, XMIT_BYTES);
	got = memfd ? 0 : EP(1, RCV_BYTES);
	EQUAL(vfab_put(ep, &theirs, 100, buf, 3000), 0);
	EQUAL(vfab_put(ep, &theirs, 0, buf, 0), 0);
	EQUAL(vfab_get(ep, &readable, 100, back, 3000), 0);
	CHECK(!memcmp(buf, back, 3000));
	EQUAL(vfab_get(ep, &theirs, 8192, back, 0), 0);
	EQUAL(vfab_get(ep, &theirs, 8191, back, 1), 0);
	EQUAL(vfab_ring(ep, 0, 3), 0);
	EQUAL(vfab_ring(ep, 0, 3), 0);
	check_counts(ep, 1, sent + 3000 + 16, got + 3001);
	/* to oneself, nothing passes a link */
	EQUAL(vfab_put(ep, &mine, 0, buf, 100), 0);
	EQUAL(vfab_ring(ep, 1, 3), 0);
	check_counts(ep, 1, sent + 3000 + 16, got + 3001);
	/* what is refused moves nothing */
	EQUAL(vfab_put(ep, &theirs, 8192, buf, 1), -EINVAL);
	EQUAL(vfab_put(ep, &theirs, 1, buf, 8192), -EINVAL);
	EQUAL(vfab_put(ep, &theirs, UINT64_MAX, buf, 2), -EINVAL);
	EQUAL(vfab_get(ep, &theirs, 8193, back, 0), -EINVAL);
	EQUAL(vfab_put(ep, &readable, 0, buf, 1), -EACCES);
	EQUAL(vfab_release(ep, &readable), 0);
	EQUAL(vfab_get(ep, &readable, 0, back, 1), -EINVAL);
	check_counts(ep, 1, sent + 3000 + 16, got + 3001);
	sync_ranks(2, rank, 1);
	sync_ranks(2, rank, 2);
	vfab_close(ep);
}

/* Ports count the test's own sum, over all planes, also when one goes in between. */
static void planes(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	uint64_t was, was0, ep1, ep0, port0 = 0, sum = 0;
	struct vfab_mem mem;
	char buf[5000];
	uint32_t i;

	memset(buf, 1, sizeof(buf));
	if (!rank) {
		EQUAL(vfab_window_alloc(ep, 8192, TAG, VFAB_ACCESS_WRITE, &mem), 0);
		sync_ranks(2, rank, 1);
		vfab_close(ep);
		return;
	}
	mem = import(ep, 0, TAG, VFAB_ACCESS_WRITE);
	EQUAL(vfab_put(ep, &mem, 0, buf, 1), 0);
	was = ports(ep, 1, VFAB_COUNTER_PORT_XMIT_BYTES);
	was0 = ports(ep, 0, VFAB_COUNTER_PORT_RCV_BYTES);
	ep1 = EP(1, XMIT_BYTES);
	ep0 = EP(0, RCV_BYTES);
	for (i = 0; i < 300; i++) {
		if (i == 100)
			EQUAL(vfabctl("link set %s/ep0/p0 down", domain), 0);
		if (i == 200)
			EQUAL(vfabctl("link set %s/ep0/p0 up", domain), 0);
		if (i % 100 == 0)
			port0 = counter(ep, 1, 0, VFAB_COUNTER_PORT_XMIT_BYTES);
		EQUAL(vfab_put(ep, &mem, i, buf, i * 11 + 1), 0);
		sum += i * 11 + 1;
		if (i == 199)
			EQUAL(counter(ep, 1, 0, VFAB_COUNTER_PORT_XMIT_BYTES) - port0, 0);
	}
	EQUAL(ports(ep, 1, VFAB_COUNTER_PORT_XMIT_BYTES) - was, sum);
	CHECK(counter(ep, 1, 0, VFAB_COUNTER_PORT_XMIT_BYTES) > port0);
	EQUAL(EP(1, XMIT_BYTES) - ep1, sum);
	EQUAL(EP(0, RCV_BYTES) - ep0, sum);
	EQUAL(ports(ep, 0, VFAB_COUNTER_PORT_RCV_BYTES) - was0, sum);
	sync_ranks(2, rank, 1);
	vfab_close(ep);
}

/* What threads and a forked child count at the same time */
#define PUTS	100000

struct putter {
	struct vfab_ep *ep;
	struct vfab_mem *mem;
};

static void *put_many(void *arg)
{
	struct putter *p = arg;
	uint64_t x = 1;
	int i;

	for (i = 0; i < PUTS; i++) {
		EQUAL(vfab_put(p->ep, p->mem, 0, &x, 3), 0);
		EQUAL(vfab_ring(p->ep, 0, 9), 0);
	}
	return NULL;
}

static void many(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_mem mem;
	struct putter p = { ep, &mem };
	uint64_t sent, ops;
	pthread_t thread;
	pid_t pid;
	int status;

	if (!rank) {
		EQUAL(vfab_window_alloc(ep, 4096, TAG, VFAB_ACCESS_WRITE, &mem), 0);
		sync_ranks(2, rank, 1);
		vfab_close(ep);
		return;
	}
	mem = import(ep, 0, TAG, VFAB_ACCESS_WRITE);
	put_many(&p);
	sent = EP(1, XMIT_BYTES);
	ops = EP(1, XMIT_OPS);
	/* a child beside its parent, then two threads */
	pid = fork();
	put_many(&p);
	if (!pid)
		_exit(0);
	EQUAL(waitpid(pid, &status, 0), pid);
	EQUAL(status, 0);
	EQUAL(pthread_create(&thread, NULL, put_many, &p), 0);
	put_many(&p);
	EQUAL(pthread_join(thread, NULL), 0);
	EQUAL(EP(1, XMIT_BYTES) - sent, 4 * PUTS * (3 + 8));
	EQUAL(EP(1, XMIT_OPS) - ops, 4 * PUTS * 2);
	sync_ranks(2, rank, 1);
	vfab_close(ep);
}

/* No copy succeeds that did not reach the window, and none fails that could. */
static void copies_and_loss(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_mem a, b;
	uint64_t x = 5, y;

	if (!rank) {
		EQUAL(vfab_window_alloc(ep, 4096, TAG, VFAB_ACCESS_WRITE, &a), 0);
		EQUAL(vfab_window_alloc(ep, 4096, TAG + 1, VFAB_ACCESS_WRITE, &b), 0);
		sync_ranks(2, rank, 1);
		sync_ranks(2, rank, 2);
		EQUAL(*(uint64_t *)a.addr, 6);
		EQUAL(vfab_window_free(ep, &b), 0);
		sync_ranks(2, rank, 3);
		sync_ranks(2, rank, 4);
		vfab_close(ep);
		ep = attach(rank);
		EQUAL(vfab_window_alloc(ep, 4096, TAG, VFAB_ACCESS_WRITE, &a), 0);
		sync_ranks(2, rank, 5);
		sync_ranks(2, rank, 6);
		EQUAL(*(uint64_t *)a.addr, 9);
		vfab_close(ep);
		return;
	}
	a = import(ep, 0, TAG, VFAB_ACCESS_WRITE);
	b = import(ep, 0, TAG + 1, VFAB_ACCESS_WRITE);
	sync_ranks(2, rank, 1);
	EQUAL(vfab_put(ep, &a, 0, &x, 8), 0);
	/* a route that goes and comes back */
	if (!memfd) {
		EQUAL(vfabctl("link set %s/ep0 down", domain), 0);
		EQUAL(vfab_put(ep, &a, 0, &x, 8), -EHOSTUNREACH);
		EQUAL(vfab_get(ep, &a, 0, &y, 8), -EHOSTUNREACH);
		EQUAL(vfabctl("link set %s/ep0 up", domain), 0);
	}
	EQUAL(vfab_get(ep, &a, 0, &y, 8), 0);
	EQUAL(y, 5);
	x = 6;
	EQUAL(vfab_put(ep, &a, 0, &x, 8), 0);
	EQUAL(vfab_put(ep, &b, 0, &x, 8), 0);
	sync_ranks(2, rank, 2);
	sync_ranks(2, rank, 3);
	/* a window that was freed, and one beside it */
	EQUAL(vfab_put(ep, &b, 0, &x, 8), -ENOENT);
	EQUAL(vfab_get(ep, &b, 0, &y, 8), -ENOENT);
	EQUAL(vfab_put(ep, &a, 0, &x, 8), 0);
	EQUAL(vfab_get(ep, &a, 0, &y, 8), 0);
	EQUAL(y, 6);
	sync_ranks(2, rank, 4);
	sync_ranks(2, rank, 5);
	/* another process has the rank now */
	EQUAL(vfab_put(ep, &a, 0, &x, 8), -ENOENT);
	EQUAL(vfab_release(ep, &a), 0);
	a = import(ep, 0, TAG, VFAB_ACCESS_WRITE);
	x = 9;
	EQUAL(vfab_put(ep, &a, 0, &x, 8), 0);
	sync_ranks(2, rank, 6);
	vfab_close(ep);
}

/* --- Collectives -------------------------------------------------------------------- */

#define RANKS	4

static struct vfab_comm *meet(struct vfab_ep *ep, uint64_t tag)
{
	static const uint32_t ranks[RANKS] = { 0, 1, 2, 3 };
	struct vfab_comm *c;

	EQUAL(vfab_comm_create(ep, ranks, RANKS, tag, LONG, &c), 0);
	return c;
}

/* What an all-reduce moves out of a rank: what others read of its slots */
#define SLOT	113536		/* of a window of 512 KiB, for four */

static size_t share(size_t len, uint32_t rank)
{
	size_t each = ((len + RANKS - 1) / RANKS + 63) & ~63UL;
	size_t from = each * rank < len ? each * rank : len;

	return len - from < each ? len - from : each;
}

static uint64_t moved(size_t bytes, uint32_t rank)
{
	size_t all = bytes, n;
	uint64_t sum = 0;

	for (; bytes; bytes -= n) {
		n = bytes < SLOT ? bytes : SLOT;
		if (all <= 2048)
			sum += n * (RANKS - 1);
		else	/* others their shares, and all of them its own */
			sum += n - share(n, rank) + (RANKS - 1) * share(n, rank);
	}
	return sum;
}

/* What all ranks together have sent more than they have got */
static uint64_t all_bytes(const struct vfab_ep *ep)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < vfab_info(ep)->world; i++)
		sum += EP(i, XMIT_BYTES) - EP(i, RCV_BYTES);
	return sum;
}

static void collectives(uint32_t rank)
{
	static const size_t sizes[] = { 8, 8192, 8200, 100000, 300000 };
	struct vfab_ep *ep = attach(rank);
	struct vfab_comm *c = meet(ep, TAG);
	uint64_t sent, got, port, want = 0, *buf = calloc(1, 300000);
	struct vfab_stats before, after;
	uint64_t total;
	uint32_t i;

	sync_ranks(RANKS, rank, 1);
	sent = EP(rank, XMIT_BYTES);
	got = EP(rank, RCV_BYTES);
	port = ports(ep, rank, VFAB_COUNTER_PORT_RCV_BYTES);
	total = all_bytes(ep);
	vfab_stats(ep, &before);
	sync_ranks(RANKS, rank, 2);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		EQUAL(vfab_allreduce(c, buf, buf, sizes[i] / 8, VFAB_U64, VFAB_SUM), 0);
		want += moved(sizes[i] / 8 * 8, rank);
	}
	EQUAL(vfab_barrier(c), 0);
	vfab_stats(ep, &after);
	sync_ranks(RANKS, rank, 3);
	EQUAL(EP(rank, XMIT_BYTES) - sent, want + 8 * (after.rings - before.rings));
	/* what some have sent others have got, on ports as well */
	sync_ranks(RANKS, rank, 4);
	EQUAL(all_bytes(ep) - total, 0);
	EQUAL(ports(ep, rank, VFAB_COUNTER_PORT_RCV_BYTES) - port, EP(rank, RCV_BYTES) - got);
	vfab_comm_destroy(c);
	vfab_close(ep);
	free(buf);
}

/* --- Time ---------------------------------------------------------------------------- */

#define RATE	100		/* 10^6 bytes per second and link */
#define LATENCY	1000		/* ns */
/* So slow that what an emulated machine needs for itself is a small part of it */
static uint32_t scale;

/* Seconds that bytes take at so many links' rate */
static double takes(double bytes, double links)
{
	return bytes / (RATE * 1e6 * links) * scale;
}

/* Two steps of an all-reduce, and before each a ring to each of the others */
static double model(size_t bytes, double links)
{
	double rings = LATENCY / 1e9 * scale + takes((RANKS - 1) * 8, links);

	return 2 * takes((RANKS - 1) * (double)share(bytes, 0), links) + 2 * rings;
}

/* Whatever else the machine does adds to it: try again until it was quiet. */
#define TRIES	9

static bool quiet(double is, double want)
{
	return is < want * 1.02;
}

/* Of the slowest rank, by the clock that all share; the best of several. */
static double allreduce_time(struct vfab_comm *c, uint32_t rank, uint32_t *step, size_t bytes,
			     double want)
{
	static uint64_t buf[SLOT / 8];
	double start, best = 0;
	uint32_t i, k, worst;

	for (i = 0; i < TRIES && (!i || !quiet(best, want)); i++) {
		sync_ranks(RANKS, rank, ++*step);
		start = now();
		EQUAL(vfab_allreduce(c, buf, buf, bytes / 8, VFAB_U64, VFAB_SUM), 0);
		board[rank * 16 + 1] = (now() - start) * 1e6;
		sync_ranks(RANKS, rank, ++*step);
		for (k = 0, worst = 0; k < RANKS; k++)
			if (board[k * 16 + 1] > worst)
				worst = board[k * 16 + 1];
		if (!i || worst / 1e6 < best)
			best = worst / 1e6;
	}
	return best;
}

static struct vfab_ep *attach_paced(uint32_t rank, uint32_t planes, uint32_t times)
{
	struct vfab_ep *ep;

	scale = times;
	if (!rank) {
		EQUAL(vfabctl("domain create %s --size %u --planes %u --rate %u --latency %u",
			      PACED, RANKS, planes, RATE, LATENCY), 0);
		EQUAL(vfabctl("domain set " PACED " shape on scale %u", scale), 0);
	}
	sync_ranks(RANKS, rank, 1);
	EQUAL(vfab_open(&ep, PACED, rank), 0);
	EQUAL(vfab_view(ep)->shape, scale);
	return ep;
}

static void detach_paced(struct vfab_ep *ep, uint32_t rank, uint32_t step)
{
	vfab_close(ep);
	sync_ranks(RANKS, rank, step);
	if (!rank)
		EQUAL(vfabctl("domain delete " PACED), 0);
}

static void near(const char *what, double is, double want, double within)
{
	char text[120];

	snprintf(text, sizeof(text), "%s: %.4f, not %.4f within %g %%", what, is, want,
		 within * 100);
	if (getenv("VFAB_TEST_TIMES"))
		fprintf(stderr, "# %s: %.4f, model %.4f, %+.2f %%\n", what, is, want,
			(is / want - 1) * 100);
	if (is < want * (1 - within) || is > want * (1 + within))
		check_failed(__FILE__, __LINE__, text);
}

/* One link at half rate drags everyone, by as much as the model says. */
static void half_rate(uint32_t rank, uint32_t planes, double links, uint32_t times)
{
	struct vfab_ep *ep = attach_paced(rank, planes, times);
	struct vfab_comm *c = meet(ep, TAG);
	double whole, half, back;
	uint32_t step = 1;

	whole = allreduce_time(c, rank, &step, SLOT, model(SLOT, planes));
	if (!rank)
		EQUAL(vfabctl("link set " PACED "/ep1/p0 degrade --rate %u", RATE / 2), 0);
	half = allreduce_time(c, rank, &step, SLOT, model(SLOT, links));
	if (!rank)
		EQUAL(vfabctl("link set " PACED "/ep1/p0 restore"), 0);
	back = allreduce_time(c, rank, &step, SLOT, model(SLOT, planes));
	near("all-reduce", whole, model(SLOT, planes), 0.1);
	near("all-reduce, a link at half rate", half, model(SLOT, links), 0.1);
	near("all-reduce, restored", back, model(SLOT, planes), 0.1);
	near("a link at half rate against none", half / whole, planes / links, 0.05);
	vfab_comm_destroy(c);
	detach_paced(ep, rank, step + 1);
}

static void half_rate_of_one(uint32_t rank)
{
	half_rate(rank, 1, 0.5, 400);
}

static void half_rate_of_four(uint32_t rank)
{
	half_rate(rank, 4, 3.5, 1600);
}

/* The best of several, all ranks at the same time as often */
static double put_time(struct vfab_ep *ep, struct vfab_mem *to, uint32_t rank, uint32_t *step,
		       double want)
{
	static char buf[100000];
	double start, is, best = 0;
	uint32_t i, k, noisy;

	for (i = 0, noisy = 1; i < TRIES && noisy; i++) {
		sync_ranks(RANKS, rank, ++*step);
		start = now();
		EQUAL(vfab_put(ep, to, 0, buf, sizeof(buf)), 0);
		is = now() - start;
		if (!i || is < best)
			best = is;
		board[rank * 16 + 1] = !quiet(best, want);
		sync_ranks(RANKS, rank, ++*step);
		for (k = 0, noisy = 0; k < RANKS; k++)
			noisy += board[k * 16 + 1];
	}
	return best;
}

/* Pairs that do not use the slow link do not notice, while others use it. */
static void unaffected_pairs(uint32_t rank)
{
	struct vfab_ep *ep = attach_paced(rank, 1, 800);
	double before, after, whole, slow;
	struct vfab_mem mine, theirs;
	uint32_t step = 1;

	whole = takes(100000, 1) + LATENCY / 1e9 * scale;
	slow = takes(100000, rank < 2 ? 0.5 : 1) + LATENCY / 1e9 * scale;
	EQUAL(vfab_window_alloc(ep, 100000, TAG, VFAB_ACCESS_WRITE, &mine), 0);
	theirs = import(ep, rank ^ 1, TAG, VFAB_ACCESS_WRITE);
	before = put_time(ep, &theirs, rank, &step, whole);
	if (!rank)
		EQUAL(vfabctl("link set " PACED "/ep1/p0 degrade --rate %u", RATE / 2), 0);
	after = put_time(ep, &theirs, rank, &step, slow);
	near("put", before, whole, 0.03);
	near("put, a link at half rate", after, slow, 0.03);
	detach_paced(ep, rank, step + 1);
}

/* Whoever waits for its time stops when there is nothing to wait for any more. */
static void paced_waits_end(uint32_t rank)
{
	struct vfab_ep *ep = attach_paced(rank, 1, 100);
	static char buf[2000000];	/* two seconds, and then minutes */
	struct vfab_mem mine, theirs;
	struct vfab_comm *c, *d;
	double start;
	int ret;

	EQUAL(vfab_window_alloc(ep, sizeof(buf), TAG + 10, VFAB_ACCESS_WRITE, &mine), 0);
	c = meet(ep, TAG);
	d = meet(ep, TAG + 1);
	theirs = import(ep, rank ^ 3, TAG + 10, VFAB_ACCESS_WRITE);
	sync_ranks(RANKS, rank, 2);
	/* a hundred times slower still: the call's own deadline */
	if (!rank)
		EQUAL(vfabctl("domain set " PACED " scale %u", 100 * scale), 0);
	sync_ranks(RANKS, rank, 3);
	vfab_comm_set_timeout(c, VFAB_SECOND / 2);
	start = now();
	ret = vfab_allreduce(c, buf, buf, SLOT / 8, VFAB_U64, VFAB_SUM);
	/* who is the first gives up, and takes the others along */
	CHECK(ret == -ETIMEDOUT || ret == -ECONNRESET);
	CHECK(now() - start < 0.5 + bound);
	sync_ranks(RANKS, rank, 4);
	/* somebody dies: those in a collective and those in a copy */
	if (rank == 3) {
		usleep(300000);
		raise(SIGKILL);
	}
	start = now();
	if (rank) {
		EQUAL(vfab_allreduce(d, buf, buf, SLOT / 8, VFAB_U64, VFAB_SUM), -ECONNRESET);
		EQUAL(vfab_comm_lost_rank(d), 3);
	} else {
		EQUAL(vfab_put(ep, &theirs, 0, buf, sizeof(buf)), -EHOSTUNREACH);
	}
	CHECK(now() - start < 0.3 + bound);
	sync_ranks(RANKS - 1, rank, 5);
	vfab_comm_destroy(c);
	vfab_comm_destroy(d);
	vfab_close(ep);
	sync_ranks(RANKS - 1, rank, 6);
	if (!rank)
		EQUAL(vfabctl("domain delete " PACED), 0);
}

/* With shape off, nothing of this takes time. */
static void unpaced(uint32_t rank)
{
	struct vfab_ep *ep = attach_paced(rank, 1, 100);
	struct vfab_comm *c = meet(ep, TAG);
	static uint64_t buf[SLOT / 8];
	double start;

	sync_ranks(RANKS, rank, 2);
	if (!rank)
		EQUAL(vfabctl("domain set " PACED " shape off scale 1000000"), 0);
	sync_ranks(RANKS, rank, 3);
	EQUAL(vfab_view(ep)->shape, 0);
	start = now();
	EQUAL(vfab_allreduce(c, buf, buf, SLOT / 8, VFAB_U64, VFAB_SUM), 0);
	CHECK(now() - start < bound);
	vfab_comm_destroy(c);
	detach_paced(ep, rank, 4);
}

const struct test transfer_tests[] = {
	{ "put_get", 2, put_get, 0 },
	{ "copies_and_loss", 2, copies_and_loss, 0 },
	{ 0 }
};

const struct test fabric_transfer_tests[] = {
	{ "counted_planes", 2, planes, 0 },
	{ "counted_by_many", 2, many, 0 },
	{ "counted_collectives", RANKS, collectives, 0 },
	{ "half_rate_of_one", RANKS, half_rate_of_one, 0 },
	{ "half_rate_of_four", RANKS, half_rate_of_four, 0 },
	{ "unaffected_pairs", RANKS, unaffected_pairs, 0 },
	{ "paced_waits_end", RANKS, paced_waits_end, 1 },
	{ "unpaced", RANKS, unpaced, 0 },
	{ 0 }
};
