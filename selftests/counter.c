// SPDX-License-Identifier: GPL-2.0
/*
 * counter: each counter is moved by its event, by a known amount, and by
 * nothing else. By example:
 *
 *	build/selftests/counter -t link_downed
 */
#include <sys/ioctl.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

#define ABSENT	(~0ULL)

FIXTURE(counter) {
	struct vft_domain dom;
	int fd[2];
	uint64_t handle;
};

/* Four ranks, two planes; 0 and 1 are attached, 0 has a window. */
FIXTURE_SETUP(counter)
{
	int i;

	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, NULL));
	for (i = 0; i < 2; i++)
		self->fd[i] = vft_join(&self->dom, i);
	ASSERT_EQ(0, vft_alloc(self->fd[0], VFT_PAGE, 1, VFT_RW, &self->handle));
}

FIXTURE_TEARDOWN_PARENT(counter)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

#define EP(rank, id)	vft_counter(&self->dom, rank, -1, -1, VFAB_COUNTER_##id)
#define EP_PORT(rank, port, id) vft_counter(&self->dom, rank, -1, port, VFAB_COUNTER_##id)
#define SW_PORT(sw, port, id)	vft_counter(&self->dom, -1, sw, port, VFAB_COUNTER_##id)

TEST_F(counter, attaches)
{
	EXPECT_EQ(1, EP(0, ATTACHES));
	EXPECT_EQ(0, EP(2, ATTACHES));
	EXPECT_EQ(-EBUSY, vft_join(&self->dom, 0));
	EXPECT_EQ(1, EP(0, ATTACHES));
	close(self->fd[0]);
	self->fd[0] = vft_join(&self->dom, 0);
	EXPECT_EQ(2, EP(0, ATTACHES));
	EXPECT_EQ(1, EP(1, ATTACHES));
}

TEST_F(counter, link_downed)
{
	uint32_t i;

	EXPECT_EQ(0, EP_PORT(1, 0, LINK_DOWNED));
	/* what is down goes down once */
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, vft_link(&self->dom, 1, 0, false));
	EXPECT_EQ(1, EP_PORT(1, 0, LINK_DOWNED));
	EXPECT_EQ(1, SW_PORT(0, 1, LINK_DOWNED));
	EXPECT_EQ(0, EP_PORT(1, 1, LINK_DOWNED));
	EXPECT_EQ(0, SW_PORT(0, 0, LINK_DOWNED));
	/* the switch takes the other three down */
	ASSERT_EQ(0, vft_switch(&self->dom, 0, false));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(1, SW_PORT(0, i, LINK_DOWNED));
	ASSERT_EQ(0, vft_switch(&self->dom, 0, true));
	ASSERT_EQ(0, vft_link(&self->dom, 1, 0, true));
	ASSERT_EQ(0, vft_link(&self->dom, 1, 0, false));
	EXPECT_EQ(2, EP_PORT(1, 0, LINK_DOWNED));
	EXPECT_EQ(1, EP_PORT(2, 0, LINK_DOWNED));
	/* an admin's doing is no recovery */
	EXPECT_EQ(0, EP_PORT(1, 0, LINK_ERROR_RECOVERY));
}

TEST_F(counter, draining_downs_nothing)
{
	struct vft_req req;

	vft_link_req(&req, &self->dom, 1, 0, -1);
	vft_put_flag(&req, VFAB_A_DRAIN);
	ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	EXPECT_EQ(0, EP_PORT(1, 0, LINK_DOWNED));
	/* refused, so nothing was changed either */
	vft_link_req(&req, &self->dom, 1, 1, -1);
	vft_put_flag(&req, VFAB_A_DRAIN);
	ASSERT_EQ(-EBUSY, vft_call(vft_nl(), &req, NULL, NULL));
	EXPECT_EQ(0, EP_PORT(1, 1, LINK_DOWNED));
}

TEST_F(counter, link_error_recovery)
{
	struct vft_req req;

	vft_link_req(&req, &self->dom, 1, 0, -1);
	vft_put_u32(&req, VFAB_A_FLAP_PERIOD, 20);
	vft_put_u32(&req, VFAB_A_FLAP_COUNT, 5);
	ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	EXPECT_TRUE(vft_until(5000, EP_PORT(1, 0, LINK_ERROR_RECOVERY) == 5));
	vft_sleep_ms(50);
	EXPECT_EQ(5, EP_PORT(1, 0, LINK_ERROR_RECOVERY));
	EXPECT_EQ(5, EP_PORT(1, 0, LINK_DOWNED));
	EXPECT_EQ(5, SW_PORT(0, 1, LINK_ERROR_RECOVERY));
	EXPECT_EQ(0, EP_PORT(1, 1, LINK_ERROR_RECOVERY));
}

TEST_F(counter, losses)
{
	uint64_t cookie;

	ASSERT_EQ(0, vft_import(self->fd[1], self->handle, VFT_RW, 0, &cookie));
	EXPECT_EQ(0, EP(1, WINDOWS_REVOKED));
	ASSERT_EQ(0, vft_free(self->fd[0], self->handle));
	EXPECT_EQ(1, EP(1, WINDOWS_REVOKED));
	EXPECT_EQ(0, EP(0, WINDOWS_REVOKED));
	/* one of two planes is no loss */
	ASSERT_EQ(0, vft_link(&self->dom, 0, 0, false));
	EXPECT_EQ(0, EP(1, PEERS_LOST));
	ASSERT_EQ(0, vft_link(&self->dom, 0, 1, false));
	EXPECT_EQ(1, EP(1, PEERS_LOST));
	EXPECT_EQ(1, EP(0, PEERS_LOST));
	ASSERT_EQ(0, vft_link(&self->dom, 0, 1, true));
	close(self->fd[0]);
	EXPECT_EQ(2, EP(1, PEERS_LOST));
	EXPECT_EQ(1, EP(0, PEERS_LOST));
}

TEST_F(counter, imports_refused)
{
	uint64_t cookie;

	EXPECT_EQ(-ENOENT, vft_import(self->fd[1], self->handle + 1, VFT_RW, 0, &cookie));
	EXPECT_EQ(1, EP(1, IMPORTS_REFUSED));
	EXPECT_EQ(-EHOSTUNREACH, vft_bell(self->fd[1], 3, &cookie));
	EXPECT_EQ(2, EP(1, IMPORTS_REFUSED));
	/* malformed, and granted */
	EXPECT_EQ(-EINVAL, vft_import(self->fd[1], self->handle, 0, 0, &cookie));
	EXPECT_EQ(0, vft_import(self->fd[1], self->handle, VFT_RW, 0, &cookie));
	EXPECT_EQ(2, EP(1, IMPORTS_REFUSED));
	EXPECT_EQ(0, EP(0, IMPORTS_REFUSED));
	/* it is the rank's, whoever holds it */
	close(self->fd[1]);
	EXPECT_EQ(2, EP(1, IMPORTS_REFUSED));
}

TEST_F(counter, calls)
{
	uint64_t count = 0, loss = vft_view(self->fd[1])->loss;
	uint32_t reason;
	int i;

	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, vft_ring(self->fd[0], 1, 5));
	EXPECT_EQ(3, EP(0, RING_CALLS));
	EXPECT_EQ(0, EP(1, RING_CALLS));
	EXPECT_EQ(-ETIMEDOUT, vft_wait(self->fd[1], 5, &count, &loss, 1, &reason));
	EXPECT_EQ(1, EP(1, WAIT_CALLS));
	EXPECT_EQ(0, EP(0, WAIT_CALLS));
}

TEST_F(counter, events_dropped)
{
	int i;

	/* two events each time, the queue holds 128 */
	for (i = 0; i < 70; i++) {
		close(self->fd[0]);
		self->fd[0] = vft_join(&self->dom, 0);
	}
	EXPECT_EQ(70, EP(1, PEERS_LOST));
	/* the first of the fixture's is there as well: rank 1 was not yet */
	EXPECT_EQ(140 - 128, EP(1, EVENTS_DROPPED));
}

TEST_F(counter, clear)
{
	struct vft_nl nl = { };
	struct vft_msg msg;
	char buf[4096];

	ASSERT_EQ(0, vft_nl_open(&nl));
	ASSERT_EQ(0, vft_nl_listen(&nl));
	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, false));
	ASSERT_EQ(0, vft_event(&nl, 1000, &msg, buf, sizeof(buf)));
	/* a port's only */
	ASSERT_EQ(0, vft_counter_clear(&self->dom, 1, -1, 0));
	EXPECT_EQ(0, EP_PORT(1, 0, LINK_DOWNED));
	EXPECT_EQ(1, EP_PORT(1, 1, LINK_DOWNED));
	EXPECT_EQ(1, SW_PORT(0, 1, LINK_DOWNED));
	EXPECT_EQ(1, EP(1, ATTACHES));
	ASSERT_EQ(0, vft_event(&nl, 1000, &msg, buf, sizeof(buf)));
	EXPECT_EQ(VFAB_OBJ_COUNTER, vft_u32(&msg, VFAB_A_OBJECT));
	EXPECT_EQ(1, vft_u32(&msg, VFAB_A_RANK));
	/* an endpoint's, with its ports */
	ASSERT_EQ(0, vft_counter_clear(&self->dom, 1, -1, -1));
	EXPECT_EQ(0, EP_PORT(1, 1, LINK_DOWNED));
	EXPECT_EQ(0, EP(1, ATTACHES));
	EXPECT_EQ(1, EP(0, ATTACHES));
	/* a switch's ports */
	ASSERT_EQ(0, vft_counter_clear(&self->dom, -1, 0, -1));
	EXPECT_EQ(0, SW_PORT(0, 1, LINK_DOWNED));
	EXPECT_EQ(1, SW_PORT(1, 1, LINK_DOWNED));
	/* all; and they count on */
	ASSERT_EQ(0, vft_counter_clear(&self->dom, -1, -1, -1));
	EXPECT_EQ(0, SW_PORT(1, 1, LINK_DOWNED));
	EXPECT_EQ(0, EP(0, ATTACHES));
	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, true));
	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, false));
	EXPECT_EQ(1, SW_PORT(1, 1, LINK_DOWNED));
	vft_nl_close(&nl);
}

struct dumped {
	unsigned int endpoints, ports, counters;
	uint64_t downed;
};

static void take(const struct vft_msg *msg, void *arg)
{
	struct dumped *d = arg;
	uint64_t downed = vft_msg_counter(msg, VFAB_COUNTER_LINK_DOWNED);

	if (msg->a[VFAB_A_PORT]) {
		d->ports++;
		d->downed += downed;
	} else {
		d->endpoints++;
		d->counters += downed != ABSENT;
	}
}

static struct dumped dump(const struct vft_domain *dom, int rank, int sw, int port)
{
	struct dumped d = { };
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_COUNTER_GET, NLM_F_DUMP);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	if (rank >= 0)
		vft_put_u32(&req, VFAB_A_RANK, rank);
	if (sw >= 0)
		vft_put_u32(&req, VFAB_A_SWITCH, sw);
	if (port >= 0)
		vft_put_u32(&req, VFAB_A_PORT, port);
	if (vft_call(vft_nl(), &req, take, &d))
		d.endpoints = 1000;
	return d;
}

TEST_F(counter, dump)
{
	struct dumped d;

	ASSERT_EQ(0, vft_switch(&self->dom, 0, false));
	d = dump(&self->dom, -1, -1, -1);
	EXPECT_EQ(4, d.endpoints);
	EXPECT_EQ(16, d.ports);
	EXPECT_EQ(8, d.downed);
	EXPECT_EQ(0, d.counters);	/* ports' own */
	d = dump(&self->dom, 2, -1, -1);
	EXPECT_EQ(1, d.endpoints);
	EXPECT_EQ(2, d.ports);
	EXPECT_EQ(1, d.downed);
	d = dump(&self->dom, -1, 0, -1);
	EXPECT_EQ(0, d.endpoints);
	EXPECT_EQ(4, d.ports);
	EXPECT_EQ(4, d.downed);
	d = dump(&self->dom, 2, -1, 1);
	EXPECT_EQ(0, d.endpoints);
	EXPECT_EQ(1, d.ports);
	EXPECT_EQ(0, d.downed);
}

/* Nobody counts bytes here, nothing is paced: there is no 0 of it */
TEST_F(counter, absent_without_a_source)
{
	EXPECT_EQ(ABSENT, EP(0, XMIT_BYTES));
	EXPECT_EQ(ABSENT, EP(0, RCV_OPS));
	EXPECT_EQ(ABSENT, EP_PORT(0, 0, PORT_XMIT_BYTES));
	EXPECT_EQ(ABSENT, EP_PORT(0, 0, PORT_XMIT_WAIT));
	EXPECT_EQ(ABSENT, EP(0, LINK_DOWNED));
	EXPECT_EQ(ABSENT, EP_PORT(0, 0, ATTACHES));
}

/* --- Bytes ------------------------------------------------------------------------ */

static void add(__u64 *word, uint64_t n)
{
	__atomic_fetch_add(word, n, __ATOMIC_RELAXED);
}

/* Sum of a counter over the ports of an endpoint or a switch */
static uint64_t ports(const struct vft_domain *dom, int rank, int sw, uint32_t n, uint32_t id)
{
	uint64_t sum = 0;
	uint32_t p;

	for (p = 0; p < n; p++)
		sum += vft_counter(dom, rank, sw, p, id);
	return sum;
}

TEST_F(counter, bytes)
{
	struct vfab_count *c = vft_counts(self->fd[0]);

	ASSERT_NE(NULL, c);
	EXPECT_EQ(0, EP(0, XMIT_BYTES));
	EXPECT_EQ(0, EP_PORT(3, 1, PORT_RCV_BYTES));
	add(&c[1].put_bytes, 1001);
	add(&c[1].put_ops, 2);
	add(&c[1].get_bytes, 500);
	add(&c[1].get_ops, 1);
	add(&c[1].rings, 3);
	EXPECT_EQ(1001 + 24, EP(0, XMIT_BYTES));
	EXPECT_EQ(5, EP(0, XMIT_OPS));
	EXPECT_EQ(500, EP(0, RCV_BYTES));
	EXPECT_EQ(1, EP(0, RCV_OPS));
	EXPECT_EQ(500, EP(1, XMIT_BYTES));
	EXPECT_EQ(1, EP(1, XMIT_OPS));
	EXPECT_EQ(1001 + 24, EP(1, RCV_BYTES));
	EXPECT_EQ(5, EP(1, RCV_OPS));
	/* evenly over two planes, and nothing is lost to rounding */
	EXPECT_EQ(1025, ports(&self->dom, 0, -1, 2, VFAB_COUNTER_PORT_XMIT_BYTES));
	EXPECT_EQ(500, ports(&self->dom, 0, -1, 2, VFAB_COUNTER_PORT_RCV_BYTES));
	EXPECT_EQ(1025, ports(&self->dom, 1, -1, 2, VFAB_COUNTER_PORT_RCV_BYTES));
	EXPECT_EQ(512, EP_PORT(0, 0, PORT_XMIT_BYTES));
	EXPECT_EQ(513, EP_PORT(1, 1, PORT_RCV_BYTES));
	EXPECT_EQ(512, SW_PORT(0, 0, PORT_RCV_BYTES));
	EXPECT_EQ(512, SW_PORT(0, 1, PORT_XMIT_BYTES));
	EXPECT_EQ(250, SW_PORT(1, 1, PORT_RCV_BYTES));
	EXPECT_EQ(0, EP_PORT(2, 0, PORT_RCV_BYTES));
	/* what is read again is the same; what is cleared counts anew */
	EXPECT_EQ(1025, EP(0, XMIT_BYTES));
	ASSERT_EQ(0, vft_counter_clear(&self->dom, -1, -1, -1));
	EXPECT_EQ(0, EP(0, XMIT_BYTES));
	add(&c[1].put_bytes, 7);
	EXPECT_EQ(7, EP(0, XMIT_BYTES));
	/* they are the rank's: they stay when it is left */
	add(&c[1].put_bytes, 3);
	close(self->fd[0]);
	EXPECT_EQ(10, EP(0, XMIT_BYTES));
	EXPECT_EQ(10, EP(1, RCV_BYTES));
	/* the pages stay, and count no more */
	add(&c[1].put_bytes, 5);
	EXPECT_EQ(10, EP(0, XMIT_BYTES));
	self->fd[0] = vft_join(&self->dom, 0);
	EXPECT_EQ(10, EP(0, XMIT_BYTES));
}

/* Each byte is on the links by which it went, whatever became of them later. */
TEST_F(counter, bytes_before_and_after_a_link_is_down)
{
	struct vfab_count *c = vft_counts(self->fd[0]);

	ASSERT_NE(NULL, c);
	add(&c[1].put_bytes, 1000);
	ASSERT_EQ(0, vft_link(&self->dom, 1, 0, false));
	add(&c[1].put_bytes, 100);
	EXPECT_EQ(500, EP_PORT(0, 0, PORT_XMIT_BYTES));
	EXPECT_EQ(600, EP_PORT(0, 1, PORT_XMIT_BYTES));
	add(&c[1].put_bytes, 10);
	ASSERT_EQ(0, vft_link(&self->dom, 1, 0, true));
	add(&c[1].put_bytes, 2);
	ASSERT_EQ(0, vft_switch(&self->dom, 1, false));
	add(&c[1].put_bytes, 1);
	EXPECT_EQ(502, EP_PORT(0, 0, PORT_XMIT_BYTES));
	EXPECT_EQ(611, EP_PORT(0, 1, PORT_XMIT_BYTES));
	EXPECT_EQ(1113, EP(0, XMIT_BYTES));
	EXPECT_EQ(611, SW_PORT(1, 1, PORT_XMIT_BYTES));
	/* a table that leads nowhere, a drained link, a flap */
	ASSERT_EQ(0, vft_switch(&self->dom, 1, true));
	ASSERT_EQ(0, vft_counter_clear(&self->dom, -1, -1, -1));
	add(&c[1].put_bytes, 20);
	ASSERT_EQ(0, vft_route_drop(&self->dom, 1, 1));
	EXPECT_EQ(10, EP_PORT(0, 1, PORT_XMIT_BYTES));
	add(&c[1].put_bytes, 20);
	ASSERT_EQ(0, vft_route_via(&self->dom, 1, 1, 1));
	EXPECT_EQ(10, EP_PORT(0, 1, PORT_XMIT_BYTES));
	EXPECT_EQ(30, EP_PORT(0, 0, PORT_XMIT_BYTES));
}

TEST_F(counter, bytes_of_a_flap)
{
	struct vfab_count *c = vft_counts(self->fd[0]);
	struct vft_req req;

	ASSERT_NE(NULL, c);
	vft_link_req(&req, &self->dom, 1, 0, -1);
	vft_put_u32(&req, VFAB_A_FLAP_PERIOD, 400);
	add(&c[1].put_bytes, 20);
	ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	add(&c[1].put_bytes, 1000);
	ASSERT_TRUE(vft_until(5000, EP_PORT(1, 0, LINK_ERROR_RECOVERY) == 1));
	EXPECT_EQ(10, EP_PORT(0, 0, PORT_XMIT_BYTES));
	EXPECT_EQ(1010, EP_PORT(0, 1, PORT_XMIT_BYTES));
}

/* Who is out of reach is counted by who did it, on no link; and over no border */
TEST_F(counter, bytes_without_a_route)
{
	struct vfab_count *c = vft_counts(self->fd[0]);

	ASSERT_NE(NULL, c);
	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, false));
	add(&c[1].put_bytes, 8);
	EXPECT_EQ(8, EP(0, XMIT_BYTES));
	EXPECT_EQ(8, EP(1, RCV_BYTES));
	EXPECT_EQ(0, ports(&self->dom, 0, -1, 2, VFAB_COUNTER_PORT_XMIT_BYTES));
	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, true));
	/* before the border, and behind it */
	add(&c[1].put_bytes, 2);
	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, NULL, 1, 1));
	EXPECT_EQ(10, EP(1, RCV_BYTES));
	add(&c[1].put_bytes, 1000);
	EXPECT_EQ(10, EP(1, RCV_BYTES));
	EXPECT_EQ(1010, EP(0, XMIT_BYTES));
	EXPECT_EQ(2, ports(&self->dom, 0, -1, 2, VFAB_COUNTER_PORT_XMIT_BYTES));
	EXPECT_EQ(2, ports(&self->dom, 1, -1, 2, VFAB_COUNTER_PORT_RCV_BYTES));
}

/* Anything may stand there; what is believed is bounded. */
TEST_F(counter, scribbles_are_bounded)
{
	struct vfab_count *c = vft_counts(self->fd[0]);
	uint64_t t = vft_now();

	ASSERT_NE(NULL, c);
	memset(c, 0xff, VFT_PAGE);
	EXPECT_GE((16ULL << 30) * 2 + 1024 * (vft_now() - t + VFT_SEC), EP(1, RCV_BYTES));
	EXPECT_GE((1 << 21) + (vft_now() - t + VFT_SEC), EP(1, RCV_OPS));
	/* the own entry and what is behind the last are nobody's */
	ASSERT_EQ(0, vft_counter_clear(&self->dom, -1, -1, -1));
	add(&c[0].put_bytes, 100);
	add(&c[4].put_bytes, 100);
	EXPECT_EQ(0, EP(0, XMIT_BYTES));
	/* nor do others' counters run away when words go back */
	memset(c, 0, VFT_PAGE);
	EXPECT_GE((16ULL << 30) * 4, EP(1, RCV_BYTES));
	EXPECT_GE((16ULL << 30) * 8, ports(&self->dom, -1, 0, 4, VFAB_COUNTER_PORT_XMIT_BYTES));
}

TEST_F(counter, counts_map)
{
	struct vfab_counts c = { }, d = { };
	void *p, *q;
	int fd;

	fd = vft_open(&self->dom, 0);
	EXPECT_IOCTL_FAILS(ENOTCONN, fd, VFAB_IOC_COUNTS, &((struct vfab_counts){ }));
	close(fd);
	EXPECT_IOCTL_FAILS(EOPNOTSUPP, self->fd[0], VFAB_IOC_COUNTS,
			   &((struct vfab_counts){ .flags = 1 }));
	/* not there before it is asked for */
	EXPECT_EQ(NULL, vft_map(self->fd[0], (1ULL << 62) + (2 << 20), VFT_PAGE, PROT_READ));
	ASSERT_EQ(0, ioctl(self->fd[0], VFAB_IOC_COUNTS, &c));
	ASSERT_EQ(0, ioctl(self->fd[0], VFAB_IOC_COUNTS, &d));
	EXPECT_EQ(c.cookie, d.cookie);
	EXPECT_EQ(VFT_PAGE, c.bytes);
	p = vft_map(self->fd[0], c.cookie, c.bytes, PROT_READ | PROT_WRITE);
	q = vft_map(self->fd[0], c.cookie, c.bytes, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, p);
	ASSERT_NE(NULL, q);
	EXPECT_EQ(0, vft_store(p, 5));
	EXPECT_EQ(5, *(uint64_t *)q);
	/* it is no import that could be released, or a peer's to have */
	EXPECT_EQ(-ENOENT, vft_release(self->fd[0], c.cookie));
	EXPECT_EQ(NULL, vft_map(self->fd[1], c.cookie, c.bytes, PROT_READ));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 0, VFAB_A_IMPORTS));
	/* the end of the endpoint takes it from nobody */
	ASSERT_EQ(0, vft_detach(self->fd[0]));
	EXPECT_EQ(0, vft_store(p, 6));
	EXPECT_IOCTL_FAILS(ENODEV, self->fd[0], VFAB_IOC_COUNTS, &((struct vfab_counts){ }));
}

/* Two pods of two ranks, a leaf each (sw0, sw1), two spines (sw2, sw3) */
TEST(two_tiers)
{
	struct vfab_link_spec link[8];
	struct vft_options opt = {
		.links = link, .nlinks = 8, .switches = 4, .switch_latency = 100,
	};
	struct vfab_count *c;
	struct vft_domain dom;
	uint16_t i, n = 0;
	int fd;

	for (i = 0; i < 4; i++)
		link[n++] = (struct vfab_link_spec){
			.node = { i, VFAB_SPEC_SWITCH | i / 2 }, .port = { 0, i % 2 },
			.rate = 50000, .latency = 300,
		};
	for (i = 0; i < 4; i++)
		link[n++] = (struct vfab_link_spec){
			.node = { VFAB_SPEC_SWITCH | i / 2, VFAB_SPEC_SWITCH | (2 + i % 2) },
			.port = { 2 + i % 2, i / 2 }, .rate = 50000, .latency = 300,
		};
	ASSERT_EQ(0, vft_domain_create(&dom, 4, &opt));
	fd = vft_join(&dom, 0);
	c = vft_counts(fd);
	ASSERT_NE(NULL, c);
	add(&c[1].put_bytes, 1);
	add(&c[2].put_bytes, 1000);
	add(&c[3].get_bytes, 100);
	/* the spines share what goes from pod to pod */
	EXPECT_EQ(1001, vft_counter(&dom, 0, -1, 0, VFAB_COUNTER_PORT_XMIT_BYTES));
	EXPECT_EQ(500, vft_counter(&dom, -1, 0, 2, VFAB_COUNTER_PORT_XMIT_BYTES));
	EXPECT_EQ(500, vft_counter(&dom, -1, 0, 3, VFAB_COUNTER_PORT_XMIT_BYTES));
	EXPECT_EQ(500, vft_counter(&dom, -1, 2, 0, VFAB_COUNTER_PORT_RCV_BYTES));
	EXPECT_EQ(500, vft_counter(&dom, -1, 2, 1, VFAB_COUNTER_PORT_XMIT_BYTES));
	EXPECT_EQ(1000, vft_counter(&dom, -1, 1, 0, VFAB_COUNTER_PORT_XMIT_BYTES));
	EXPECT_EQ(50, vft_counter(&dom, -1, 3, 0, VFAB_COUNTER_PORT_XMIT_BYTES));
	EXPECT_EQ(100, vft_counter(&dom, 0, -1, 0, VFAB_COUNTER_PORT_RCV_BYTES));
	/* a trunk link goes down in the middle */
	add(&c[2].put_bytes, 10);
	ASSERT_EQ(0, vft_port(&dom, -1, 0, 2, false));
	add(&c[2].put_bytes, 1000);
	EXPECT_EQ(505, vft_counter(&dom, -1, 0, 2, VFAB_COUNTER_PORT_XMIT_BYTES));
	EXPECT_EQ(1505, vft_counter(&dom, -1, 0, 3, VFAB_COUNTER_PORT_XMIT_BYTES));
	EXPECT_EQ(2010, vft_counter(&dom, 2, -1, 0, VFAB_COUNTER_PORT_RCV_BYTES));
	EXPECT_EQ(2011, vft_counter(&dom, 0, -1, -1, VFAB_COUNTER_XMIT_BYTES));
	EXPECT_EQ(0, vft_domain_delete(&dom, true));
	close(fd);
}

TEST_HARNESS_MAIN
