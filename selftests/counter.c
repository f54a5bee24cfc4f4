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

TEST_HARNESS_MAIN
