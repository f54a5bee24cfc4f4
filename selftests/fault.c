// SPDX-License-Identifier: GPL-2.0
/*
 * fault: what a fault breaks is broken, nothing else is, and at its end all is
 * as it was.
 *
 *	build/selftests/fault
 *	build/selftests/fault -t a_blackhole_lets_no_byte_through
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

#define WORLD	6
#define PLANES	2
#define NODES	3	/* ranks 0 1, 2 3, 4 5 */
#define HELD	5	/* rank 5 is vacant */
#define RATE	50000	/* as built */
#define UUID	16	/* bytes */

#define A(name)	VFAB_A_##name
#define FA(name)	VFAB_A_FAULT_##name
#define F(name)	VFAB_FAULT_##name

/* --- Requests ------------------------------------------------------------------------ */

struct answer {
	unsigned int messages;
	bool has[VFT_ATTRS];
	uint32_t u[VFT_ATTRS];
	uint64_t v[VFT_ATTRS];
	uint8_t uuid[UUID];
};

static void keep(const struct vft_msg *msg, void *arg)
{
	struct answer *a = arg;
	unsigned int i;

	a->messages++;
	for (i = 0; i < VFT_ATTRS; i++) {
		a->has[i] = msg->a[i];
		if (!msg->a[i])
			continue;
		a->u[i] = vft_u32(msg, i);
		a->v[i] = vft_u64(msg, i);
	}
	if (msg->a[A(UUID)])
		memcpy(a->uuid, msg->a[A(UUID)] + 1, UUID);
}

static bool is_flag(int attr)
{
	return attr == FA(ALL) || attr == FA(SILENT) || attr == FA(SPARE);
}

/* A request for one domain with pairs of attribute and value, up to a 0 */
static int vask(const struct vft_domain *dom, int cmd, struct answer *a, va_list ap)
{
	static const uint8_t zero[UUID];
	struct vft_req req;
	int attr;

	memset(a, 0, sizeof(*a));
	vft_req(&req, vft_nl(), cmd, NLM_F_ACK);
	vft_put_u32(&req, A(DOMAIN), dom->id);
	while ((attr = va_arg(ap, int))) {
		uint32_t value = va_arg(ap, unsigned int);

		if (is_flag(attr))
			vft_put_flag(&req, attr);
		else if (attr == A(UUID))
			vft_put(&req, attr, zero, UUID);
		else if (attr == A(UP))
			vft_put_u8(&req, attr, value);
		else
			vft_put_u32(&req, attr, value);
	}
	return vft_call(vft_nl(), &req, keep, a);
}

static int ask(const struct vft_domain *dom, int cmd, struct answer *a, ...)
{
	va_list ap;
	int ret;

	va_start(ap, a);
	ret = vask(dom, cmd, a, ap);
	va_end(ap);
	return ret;
}

/* Returns the id, or a negative errno. */
static int fault(const struct vft_domain *dom, int kind, ...)
{
	struct answer a;
	struct vft_req req;
	va_list ap;
	int attr;

	memset(&a, 0, sizeof(a));
	vft_req(&req, vft_nl(), VFAB_CMD_FAULT_CREATE, NLM_F_ACK);
	vft_put_u32(&req, A(DOMAIN), dom->id);
	vft_put_u32(&req, FA(KIND), kind);
	va_start(ap, kind);
	while ((attr = va_arg(ap, int))) {
		static const uint8_t zero[UUID];
		uint32_t value = va_arg(ap, unsigned int);

		if (is_flag(attr))
			vft_put_flag(&req, attr);
		else if (attr == A(UUID))
			vft_put(&req, attr, zero, UUID);
		else
			vft_put_u32(&req, attr, value);
	}
	va_end(ap);
	return vft_call(vft_nl(), &req, keep, &a) ?: (int)a.u[FA(ID)];
}

static int fault_get(const struct vft_domain *dom, int id, struct answer *a)
{
	return ask(dom, VFAB_CMD_FAULT_GET, a, FA(ID), id, 0);
}

static int phase(const struct vft_domain *dom, int id)
{
	struct answer a;
	int ret = fault_get(dom, id, &a);

	return ret ?: (int)a.u[FA(PHASE)];
}

static int hits(const struct vft_domain *dom, int id)
{
	struct answer a;
	int ret = fault_get(dom, id, &a);

	return ret ?: (int)a.v[FA(HITS)];
}

static bool ends(const struct vft_domain *dom, int id)
{
	return vft_until(5000, phase(dom, id) == VFAB_FAULT_PHASE_ENDED);
}

static int undo(const struct vft_domain *dom, int id)
{
	struct answer a;

	return ask(dom, VFAB_CMD_FAULT_DELETE, &a, id ? FA(ID) : 0, id, 0);
}

static int link_of(const struct vft_domain *dom, uint32_t rank, uint32_t port, struct answer *a)
{
	return ask(dom, VFAB_CMD_LINK_GET, a, A(RANK), rank, A(PORT), port, 0);
}

static int link_state(const struct vft_domain *dom, uint32_t rank, uint32_t port)
{
	struct answer a;

	return link_of(dom, rank, port, &a) ?: (int)a.u[A(LINK_STATE)];
}

static int trace(const struct vft_domain *dom, uint32_t src, uint32_t dst, struct answer *a)
{
	return ask(dom, VFAB_CMD_ROUTE_TRACE, a, A(SRC), src, A(DST), dst, 0);
}

static unsigned int faults_of(const struct vft_domain *dom)
{
	struct answer a = { };
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_FAULT_GET, NLM_F_DUMP);
	vft_put_u32(&req, A(DOMAIN), dom->id);
	return vft_call(vft_nl(), &req, keep, &a) ? ~0U : a.messages;
}

FIXTURE(fault) {
	struct vft_domain dom;
	int fd[HELD];
	uint64_t handle[HELD];
};

FIXTURE_SETUP(fault)
{
	struct vft_options opt = { .planes = PLANES, .nodes = NODES };
	uint32_t r;

	ASSERT_EQ(0, vft_domain_create(&self->dom, WORLD, &opt));
	for (r = 0; r < HELD; r++) {
		self->fd[r] = vft_join(&self->dom, r);
		ASSERT_LE(0, self->fd[r]);
		ASSERT_EQ(0, fcntl(self->fd[r], F_SETFL, O_NONBLOCK));
		ASSERT_EQ(0, vft_alloc(self->fd[r], VFT_PAGE, 1, VFT_RW, &self->handle[r]));
	}
}

FIXTURE_TEARDOWN_PARENT(fault)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

/* --- Links ---------------------------------------------------------------------------- */

TEST_F(fault, a_broken_link_is_mended_by_time)
{
	char *p = vft_import_map(self->fd[0], self->handle[2], VFT_PAGE, VFT_RW, 0);
	struct answer a;
	int one, all;

	ASSERT_NE(NULL, p);
	one = fault(&self->dom, F(LINK_DOWN), A(RANK), 2, A(PORT), 1, FA(DURATION), 400, 0);
	ASSERT_LT(0, one);
	ASSERT_EQ(0, link_of(&self->dom, 2, 1, &a));
	EXPECT_EQ(VFAB_LINK_FAULT, a.u[A(LINK_STATE)]);
	EXPECT_EQ(VFAB_LINK_REASON_BROKEN, a.u[A(LINK_REASON)]);
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&self->dom, 2, 0));
	EXPECT_EQ(1, vft_endpoint_get(&self->dom, 2, A(PORTS_UP)));
	EXPECT_EQ(0, vft_touch(p));
	ASSERT_EQ(0, fault_get(&self->dom, one, &a));
	EXPECT_EQ(F(LINK_DOWN), a.u[FA(KIND)]);
	EXPECT_EQ(2, a.u[A(RANK)]);
	EXPECT_EQ(1, a.u[A(PORT)]);
	EXPECT_EQ(400, a.u[FA(DURATION)]);
	EXPECT_GE(400, a.u[FA(LEFT)]);
	EXPECT_EQ(1, a.v[FA(HITS)]);

	/* when it is created, nothing gets through any more */
	all = fault(&self->dom, F(LINK_DOWN), A(RANK), 2, 0);
	ASSERT_LT(0, all);
	EXPECT_EQ(SIGBUS, vft_touch(p));
	EXPECT_EQ(-EHOSTUNREACH, vft_ring(self->fd[0], 2, 0));
	EXPECT_EQ(true, ends(&self->dom, one));
	/* two had it down */
	EXPECT_EQ(VFAB_LINK_FAULT, link_state(&self->dom, 2, 1));
	EXPECT_EQ(SIGBUS, vft_touch(p));
	/* and when it is deleted, all gets through again */
	ASSERT_EQ(0, undo(&self->dom, all));
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&self->dom, 2, 1));
	EXPECT_EQ(2, vft_endpoint_get(&self->dom, 2, A(PORTS_UP)));
	EXPECT_EQ(0, vft_touch(p));
	EXPECT_EQ(0, vft_ring(self->fd[0], 2, 0));
	EXPECT_EQ(-ENOENT, phase(&self->dom, all));
}

/* The admin's word and the fault's are kept apart. */
TEST_F(fault, an_admin_and_a_fault_both_have_to_let_go)
{
	int id = fault(&self->dom, F(LINK_DOWN), A(RANK), 2, A(SWITCH), 1, 0);

	ASSERT_LT(0, id);
	ASSERT_EQ(0, vft_link(&self->dom, 2, 1, true));
	EXPECT_EQ(VFAB_LINK_FAULT, link_state(&self->dom, 2, 1));
	ASSERT_EQ(0, vft_link(&self->dom, 2, 1, false));
	EXPECT_EQ(VFAB_LINK_OFF, link_state(&self->dom, 2, 1));
	ASSERT_EQ(0, undo(&self->dom, id));
	EXPECT_EQ(VFAB_LINK_OFF, link_state(&self->dom, 2, 1));
	ASSERT_EQ(0, vft_link(&self->dom, 2, 1, true));
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&self->dom, 2, 1));
}

TEST_F(fault, a_flap_counts)
{
	int id = fault(&self->dom, F(LINK_FLAP), A(RANK), 1, A(FLAP_PERIOD), 100,
		       FA(COUNT), 3, 0);
	struct answer a;

	ASSERT_LT(0, id);
	ASSERT_EQ(0, link_of(&self->dom, 1, 0, &a));
	EXPECT_EQ(VFAB_LINK_RECOVERY, a.u[A(LINK_STATE)]);
	EXPECT_EQ(VFAB_LINK_REASON_FLAP, a.u[A(LINK_REASON)]);
	EXPECT_EQ(-EHOSTUNREACH, vft_ring(self->fd[0], 1, 0));
	EXPECT_EQ(true, vft_until(3000, !vft_ring(self->fd[0], 1, 0)));
	EXPECT_EQ(true, ends(&self->dom, id));
	EXPECT_EQ(3, hits(&self->dom, id));
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&self->dom, 1, 0));
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&self->dom, 1, 1));
	/* one that is deleted while it is down is up */
	id = fault(&self->dom, F(LINK_FLAP), A(RANK), 1, A(FLAP_PERIOD), 60000, 0);
	ASSERT_LT(0, id);
	EXPECT_EQ(VFAB_LINK_RECOVERY, link_state(&self->dom, 1, 1));
	ASSERT_EQ(0, undo(&self->dom, id));
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&self->dom, 1, 1));
}

TEST_F(fault, a_flap_ends_by_time_and_beside_the_admins)
{
	int id = fault(&self->dom, F(LINK_FLAP), A(RANK), 1, A(PORT), 0, A(FLAP_PERIOD), 20,
		       FA(DURATION), 300, 0);
	struct vft_req req;

	ASSERT_LT(0, id);
	vft_link_req(&req, &self->dom, 1, -1, 0);
	vft_put_u32(&req, A(FLAP_PERIOD), 30);
	vft_put_u32(&req, A(FLAP_COUNT), 10);
	ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	EXPECT_EQ(true, ends(&self->dom, id));
	EXPECT_LT(2, hits(&self->dom, id));
	EXPECT_EQ(true, vft_until(3000, link_state(&self->dom, 1, 0) == VFAB_LINK_ACTIVE));
	vft_sleep_ms(100);
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&self->dom, 1, 0));
}

TEST_F(fault, a_degraded_link_is_shown_and_acts)
{
	struct vfab_peer peer;
	struct answer a;
	int id;

	ASSERT_EQ(0, trace(&self->dom, 1, 2, &a));
	EXPECT_EQ(2 * RATE, a.u[A(RATE)]);
	id = fault(&self->dom, F(LINK_DEGRADE), A(RANK), 1, A(PORT), 0, A(RATE), 1000,
		   A(LATENCY), 90000, A(WIDTH), 1, 0);
	ASSERT_LT(0, id);
	ASSERT_EQ(0, link_of(&self->dom, 1, 0, &a));
	EXPECT_EQ(VFAB_LINK_DEGRADED, a.u[A(LINK_STATE)]);
	EXPECT_EQ(1000, a.u[A(RATE)]);
	EXPECT_EQ(RATE, a.u[A(BUILT_RATE)]);
	EXPECT_EQ(90000, a.u[A(LATENCY)]);
	EXPECT_EQ(1, a.u[A(WIDTH)]);
	ASSERT_EQ(0, trace(&self->dom, 1, 2, &a));
	EXPECT_EQ(RATE + 1000, a.u[A(RATE)]);
	vft_peer(vft_view(self->fd[2]), 1, &peer);
	EXPECT_EQ(RATE + 1000, peer.rate);
	ASSERT_EQ(0, undo(&self->dom, id));
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&self->dom, 1, 0));
	vft_peer(vft_view(self->fd[2]), 1, &peer);
	EXPECT_EQ(2 * RATE, peer.rate);
}

TEST_F(fault, a_silently_degraded_link_looks_well)
{
	struct vfab_peer peer;
	struct vft_msg msg;
	struct answer a;
	struct vft_nl nl;
	char buf[4096];
	int id;

	ASSERT_EQ(0, vft_nl_open(&nl));
	ASSERT_EQ(0, vft_nl_listen(&nl));
	id = fault(&self->dom, F(LINK_DEGRADE), A(RANK), 1, A(RATE), 1000, FA(SILENT), 1, 0);
	ASSERT_LT(0, id);
	ASSERT_EQ(0, link_of(&self->dom, 1, 0, &a));
	EXPECT_EQ(VFAB_LINK_ACTIVE, a.u[A(LINK_STATE)]);
	EXPECT_EQ(RATE, a.u[A(RATE)]);
	EXPECT_EQ(false, a.has[A(BUILT_RATE)]);
	EXPECT_EQ(VFAB_HEALTH_HEALTHY, vft_endpoint_get(&self->dom, 1, A(HEALTH)));
	/* who measures notices */
	ASSERT_EQ(0, trace(&self->dom, 1, 2, &a));
	EXPECT_EQ(2000, a.u[A(RATE)]);
	vft_peer(vft_view(self->fd[2]), 1, &peer);
	EXPECT_EQ(2000, peer.rate);
	/* no change of a link is announced */
	ASSERT_EQ(0, vft_event(&nl, 3000, &msg, buf, sizeof(buf)));
	EXPECT_EQ(VFAB_OBJ_FAULT, vft_u32(&msg, A(OBJECT)));
	ASSERT_EQ(0, undo(&self->dom, id));
	ASSERT_EQ(0, trace(&self->dom, 1, 2, &a));
	EXPECT_EQ(2 * RATE, a.u[A(RATE)]);
	vft_nl_close(&nl);
}

/* Of what the admin and several faults make of a link, the worst holds. */
TEST_F(fault, the_worst_holds)
{
	int slow = fault(&self->dom, F(LINK_DEGRADE), A(RANK), 1, A(RATE), 3000, 0);
	int late = fault(&self->dom, F(LINK_DEGRADE), FA(ALL), 1, A(LATENCY), 5000,
			 A(RATE), 9000, 0);
	struct vft_req req;
	struct answer a;

	ASSERT_LT(0, slow);
	ASSERT_LT(0, late);
	vft_link_req(&req, &self->dom, 1, -1, 0);
	vft_put_u32(&req, A(RATE), 2000);
	vft_put_u32(&req, A(LATENCY), 10);
	ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	ASSERT_EQ(0, link_of(&self->dom, 1, 0, &a));
	EXPECT_EQ(2000, a.u[A(RATE)]);
	EXPECT_EQ(5000, a.u[A(LATENCY)]);
	ASSERT_EQ(0, link_of(&self->dom, 1, 1, &a));
	EXPECT_EQ(3000, a.u[A(RATE)]);
	ASSERT_EQ(0, undo(&self->dom, slow));
	ASSERT_EQ(0, link_of(&self->dom, 1, 1, &a));
	EXPECT_EQ(9000, a.u[A(RATE)]);
	ASSERT_EQ(0, undo(&self->dom, late));
	/* the admin's is still there, and his to undo */
	ASSERT_EQ(0, link_of(&self->dom, 1, 0, &a));
	EXPECT_EQ(2000, a.u[A(RATE)]);
	EXPECT_EQ(10, a.u[A(LATENCY)]);
	vft_link_req(&req, &self->dom, 1, -1, 0);
	vft_put_flag(&req, A(RESTORE));
	ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&self->dom, 1, 0));
}

/* --- Chance and time -------------------------------------------------------------------- */

TEST_F(fault, a_seed_decides_the_target)
{
	bool seen[WORLD] = { };
	unsigned int n = 0, i;
	struct answer a;
	int first, again;

	for (i = 0; i < 30; i++) {
		uint32_t rank, port;

		first = fault(&self->dom, F(LINK_DOWN), FA(SEED), i, 0);
		ASSERT_LT(0, first);
		ASSERT_EQ(0, fault_get(&self->dom, first, &a));
		EXPECT_EQ(i, a.u[FA(SEED)]);
		rank = a.u[A(RANK)];
		port = a.u[A(PORT)];
		ASSERT_LT(rank, WORLD);
		EXPECT_EQ(VFAB_LINK_FAULT, link_state(&self->dom, rank, port));
		n += !seen[rank];
		seen[rank] = true;
		again = fault(&self->dom, F(LINK_DOWN), FA(SEED), i, 0);
		ASSERT_EQ(0, fault_get(&self->dom, again, &a));
		EXPECT_EQ(rank, a.u[A(RANK)]);
		EXPECT_EQ(port, a.u[A(PORT)]);
		ASSERT_EQ(0, undo(&self->dom, 0));
	}
	EXPECT_LT(3, n);
	/* without one, a random one is taken and shown */
	first = fault(&self->dom, F(STUCK), 0);
	again = fault(&self->dom, F(STUCK), 0);
	ASSERT_EQ(0, fault_get(&self->dom, first, &a));
	n = a.u[FA(SEED)];
	ASSERT_EQ(0, fault_get(&self->dom, again, &a));
	EXPECT_NE(n, a.u[FA(SEED)]);
	EXPECT_EQ(true, a.has[A(RANK)]);
}

TEST_F(fault, one_begins_later)
{
	int id = fault(&self->dom, F(LINK_DOWN), A(RANK), 0, FA(AFTER), 300,
		       FA(DURATION), 200, 0);
	int never = fault(&self->dom, F(LINK_DOWN), A(RANK), 1, FA(AFTER), 600, 0);
	struct answer a;

	ASSERT_LT(0, id);
	ASSERT_EQ(0, fault_get(&self->dom, id, &a));
	EXPECT_EQ(VFAB_FAULT_PHASE_PENDING, a.u[FA(PHASE)]);
	EXPECT_EQ(300, a.u[FA(AFTER)]);
	EXPECT_EQ(0, a.v[FA(HITS)]);
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&self->dom, 0, 0));
	EXPECT_EQ(true, vft_until(3000, link_state(&self->dom, 0, 0) == VFAB_LINK_FAULT));
	ASSERT_EQ(0, undo(&self->dom, never));
	EXPECT_EQ(true, vft_until(3000, link_state(&self->dom, 0, 0) == VFAB_LINK_ACTIVE));
	EXPECT_EQ(VFAB_FAULT_PHASE_ENDED, phase(&self->dom, id));
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&self->dom, 1, 0));
}

TEST_F(fault, each_phase_is_announced)
{
	struct vft_msg msg;
	struct vft_nl nl;
	char buf[4096];
	int id, i;

	ASSERT_EQ(0, vft_nl_open(&nl));
	ASSERT_EQ(0, vft_nl_listen(&nl));
	id = fault(&self->dom, F(STUCK), A(RANK), 5, FA(AFTER), 50, FA(DURATION), 50, 0);
	ASSERT_LT(0, id);
	EXPECT_EQ(true, ends(&self->dom, id));
	ASSERT_EQ(0, undo(&self->dom, id));
	for (i = 0; i < 6; i++) {
		static const struct {
			uint32_t object, action, phase;
		} want[] = {
			{ VFAB_OBJ_FAULT, VFAB_ACT_CREATED, VFAB_FAULT_PHASE_PENDING },
			{ VFAB_OBJ_ENDPOINT, VFAB_ACT_CHANGED, 0 },
			{ VFAB_OBJ_FAULT, VFAB_ACT_CHANGED, VFAB_FAULT_PHASE_ACTIVE },
			{ VFAB_OBJ_ENDPOINT, VFAB_ACT_CHANGED, 0 },
			{ VFAB_OBJ_FAULT, VFAB_ACT_CHANGED, VFAB_FAULT_PHASE_ENDED },
			{ VFAB_OBJ_FAULT, VFAB_ACT_DELETED, VFAB_FAULT_PHASE_ENDED },
		};

		ASSERT_EQ(0, vft_event(&nl, 3000, &msg, buf, sizeof(buf)));
		EXPECT_EQ(want[i].object, vft_u32(&msg, A(OBJECT)));
		EXPECT_EQ(want[i].action, vft_u32(&msg, A(ACTION)));
		if (want[i].object == VFAB_OBJ_FAULT) {
			EXPECT_EQ(id, vft_u32(&msg, FA(ID)));
			EXPECT_EQ(F(STUCK), vft_u32(&msg, FA(KIND)));
			EXPECT_EQ(want[i].phase, vft_u32(&msg, FA(PHASE)));
		} else {
			EXPECT_EQ(5, vft_u32(&msg, A(RANK)));
		}
	}
	vft_nl_close(&nl);
}

/* --- Endpoints -------------------------------------------------------------------------- */

TEST_F(fault, stuck_is_not_attached)
{
	int id = fault(&self->dom, F(STUCK), A(RANK), 5, FA(COUNT), 3, 0);
	int fd = vft_open(&self->dom, 0);

	ASSERT_LT(0, id);
	EXPECT_EQ(VFAB_FABRIC_IN_PROGRESS, vft_endpoint_get(&self->dom, 5, A(FABRIC_STATE)));
	EXPECT_EQ(VFAB_FABRIC_COMPLETED, vft_endpoint_get(&self->dom, 4, A(FABRIC_STATE)));
	EXPECT_EQ(-EAGAIN, vft_attach(fd, 5));
	EXPECT_EQ(-EBUSY, vft_attach(fd, 4));
	EXPECT_EQ(-EAGAIN, vft_attach(fd, VFAB_RANK_ANY));
	EXPECT_EQ(2, hits(&self->dom, id));
	EXPECT_EQ(-EAGAIN, vft_attach(fd, 5));
	/* that was the third */
	EXPECT_EQ(0, vft_attach(fd, 5));
	EXPECT_EQ(true, ends(&self->dom, id));
	EXPECT_EQ(3, hits(&self->dom, id));
	EXPECT_EQ(VFAB_FABRIC_COMPLETED, vft_endpoint_get(&self->dom, 5, A(FABRIC_STATE)));
	EXPECT_EQ(-EHOSTUNREACH, vft_attach(vft_open(&self->dom, 0), VFAB_RANK_ANY));

	/* who holds one keeps it, for ever; another free one is taken */
	EXPECT_EQ(0, vft_detach(fd));
	ASSERT_LT(0, fault(&self->dom, F(STUCK), A(NODE), 1, 0));
	EXPECT_EQ(VFAB_FABRIC_IN_PROGRESS, vft_endpoint_get(&self->dom, 2, A(FABRIC_STATE)));
	EXPECT_EQ(0, vft_ring(self->fd[2], 0, 0));
	EXPECT_EQ(0, vft_detach(self->fd[2]));
	fd = vft_open(&self->dom, 0);
	EXPECT_EQ(0, vft_attach(fd, VFAB_RANK_ANY));
	EXPECT_EQ(1, vft_endpoint_get(&self->dom, 5, A(HELD)));
}

TEST_F(fault, lies_are_independent)
{
	static const struct {
		int attr;
		uint32_t value;
		int shown;
		uint64_t as;
	} lies[] = {
		{ A(FABRIC_STATE), VFAB_FABRIC_NOT_STARTED, A(FABRIC_STATE),
		  VFAB_FABRIC_NOT_STARTED },
		{ A(STATUS), -ENOMEM, A(STATUS), (uint32_t)-ENOMEM },
		{ A(CLIQUE), 32766, A(PARTITION), 32766 },
		{ A(HEALTH), VFAB_HEALTH_UNHEALTHY, A(HEALTH), VFAB_HEALTH_UNHEALTHY },
	};
	static const int shown[] = { A(FABRIC_STATE), A(STATUS), A(PARTITION), A(HEALTH) };
	static const uint8_t zero[UUID];
	struct answer was, a;
	unsigned int i, k;
	int id;

	ASSERT_EQ(0, ask(&self->dom, VFAB_CMD_ENDPOINT_GET, &was, A(RANK), 3, 0));
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		id = fault(&self->dom, F(OVERRIDE), A(RANK), 3, lies[i].attr, lies[i].value, 0);
		ASSERT_LT(0, id);
		ASSERT_EQ(0, ask(&self->dom, VFAB_CMD_ENDPOINT_GET, &a, A(RANK), 3, 0));
		for (k = 0; k < ARRAY_SIZE(shown); k++)
			EXPECT_EQ(lies[i].shown == shown[k] ? lies[i].as : was.u[shown[k]],
				  a.u[shown[k]]);
		EXPECT_EQ(0, memcmp(was.uuid, a.uuid, UUID));
		/* the others say what is so, and the liar works as before */
		EXPECT_EQ(was.u[lies[i].shown],
			  (uint32_t)vft_endpoint_get(&self->dom, 2, lies[i].shown));
		EXPECT_EQ(0, vft_ring(self->fd[3], 0, 0));
		ASSERT_EQ(0, fault_get(&self->dom, id, &a));
		EXPECT_EQ(lies[i].value, a.u[lies[i].attr]);
		ASSERT_EQ(0, undo(&self->dom, id));
	}
	id = fault(&self->dom, F(OVERRIDE), A(RANK), 3, A(UUID), 0, FA(DURATION), 100, 0);
	ASSERT_LT(0, id);
	ASSERT_EQ(0, ask(&self->dom, VFAB_CMD_ENDPOINT_GET, &a, A(RANK), 3, 0));
	EXPECT_EQ(0, memcmp(zero, a.uuid, UUID));
	EXPECT_EQ(VFAB_FABRIC_COMPLETED, a.u[A(FABRIC_STATE)]);
	EXPECT_EQ(true, ends(&self->dom, id));
	ASSERT_EQ(0, ask(&self->dom, VFAB_CMD_ENDPOINT_GET, &a, A(RANK), 3, 0));
	EXPECT_EQ(0, memcmp(was.uuid, a.uuid, UUID));
}

/* A child that holds @rank and writes to its window until it is killed */
static pid_t victim(const struct vft_domain *dom, uint32_t rank, uint64_t *handle)
{
	pid_t pid = vft_fork();
	char *p;
	int fd;

	if (pid)
		return vft_until(10000, *(volatile uint64_t *)handle) ? pid : -1;
	vft_nl_reset();
	fd = vft_join(dom, rank);
	if (fd < 0 || vft_alloc(fd, VFT_PAGE, 1, VFT_RW, handle))
		_exit(1);
	p = vft_import_map(fd, *handle, VFT_PAGE, VFT_RW, 0);
	while (!vft_store(p, 1))
		;
	pause();
	_exit(2);
}

TEST_F(fault, a_killed_peer_is_dead_and_gone)
{
	uint64_t *handle = vft_shared(2 * sizeof(*handle));
	char *p, *q;
	pid_t pid;
	int id;

	pid = victim(&self->dom, 5, handle);
	ASSERT_LT(0, pid);
	p = vft_import_map(self->fd[0], *handle, VFT_PAGE, VFT_RW, 0);
	q = vft_import_map(self->fd[1], *handle, VFT_PAGE, VFT_RW, VFAB_LOSS_ABSORB);
	ASSERT_EQ(true, p && q && !vft_touch(p) && !vft_touch(q));
	id = fault(&self->dom, F(PEER_KILL), A(RANK), 5, 0);
	ASSERT_LT(0, id);
	EXPECT_EQ(SIGBUS, vft_touch(p));
	EXPECT_EQ(~0ULL, *(volatile uint64_t *)q);
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 5, A(HELD)));
	EXPECT_EQ(SIGKILL, vft_wait_pid(pid, 5000));
	EXPECT_EQ(VFAB_FAULT_PHASE_ENDED, phase(&self->dom, id));
	EXPECT_EQ(1, hits(&self->dom, id));
	/* nobody is there to be killed */
	EXPECT_EQ(-ENOTCONN, fault(&self->dom, F(PEER_KILL), A(RANK), 5, 0));
	EXPECT_EQ(-ENOTCONN, fault(&self->dom, F(PEER_KILL), A(RANK), 5, FA(SPARE), 1, 0));
	EXPECT_NE(0, vft_nl()->text[0]);
}

TEST_F(fault, a_spared_peer_loses_its_endpoint_only)
{
	uint64_t *handle = vft_shared(sizeof(*handle));
	pid_t pid = victim(&self->dom, 5, handle);

	ASSERT_LT(0, pid);
	ASSERT_LT(0, fault(&self->dom, F(PEER_KILL), A(RANK), 5, FA(SPARE), 1, 0));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 5, A(HELD)));
	vft_sleep_ms(50);
	EXPECT_EQ(-ETIMEDOUT, vft_wait_pid(pid, 0));
	EXPECT_EQ(SIGKILL, vft_kill(pid));
}

/* Who kills from within a pid namespace reaches no process outside of it. */
struct from_pidns {
	struct vft_domain *dom;
	int victim, child;
};

static int kill_from_pidns(void *arg)
{
	struct from_pidns *from = arg;
	uint64_t *handle = vft_shared(sizeof(*handle));
	pid_t pid;

	vft_nl_reset();
	from->victim = fault(from->dom, F(PEER_KILL), A(RANK), 5, 0);
	pid = victim(from->dom, 5, handle);
	if (pid <= 0 || fault(from->dom, F(PEER_KILL), A(RANK), 5, 0) <= 0)
		return 1;
	from->child = vft_wait_pid(pid, 5000);
	return 0;
}

TEST_F(fault, a_pid_namespace_kills_only_its_own)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct from_pidns *from = vft_shared(sizeof(*from));
	uint64_t *handle = vft_shared(sizeof(*handle));
	pid_t pid = victim(&self->dom, 5, handle), child;

	ASSERT_LT(0, pid);
	from->dom = &self->dom;
	child = clone(kill_from_pidns, stack + sizeof(stack), CLONE_NEWPID | SIGCHLD, from);
	ASSERT_LT(0, child);
	EXPECT_EQ(0, vft_wait_pid(child, 20000));
	EXPECT_LT(0, from->victim);
	EXPECT_EQ(SIGKILL, from->child);
	/* it has lost its endpoint, and lives */
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 5, A(HELD)));
	EXPECT_EQ(-ETIMEDOUT, vft_wait_pid(pid, 0));
	EXPECT_EQ(SIGKILL, vft_kill(pid));
}

/* Later, whoever holds it then; and who is not named is one that is held. */
TEST_F(fault, one_is_killed_later)
{
	uint64_t *handle = vft_shared(2 * sizeof(*handle));
	struct vft_domain dom;
	struct answer a;
	pid_t pid;
	int id;

	id = fault(&self->dom, F(PEER_KILL), A(RANK), 5, FA(AFTER), 400, 0);
	ASSERT_LT(0, id);
	pid = victim(&self->dom, 5, handle);
	ASSERT_LT(0, pid);
	EXPECT_EQ(SIGKILL, vft_wait_pid(pid, 5000));
	EXPECT_EQ(1, hits(&self->dom, id));

	ASSERT_EQ(0, vft_domain_create(&dom, 7, NULL));
	EXPECT_EQ(-ENOTCONN, fault(&dom, F(PEER_KILL), 0));
	pid = victim(&dom, 3, handle + 1);
	ASSERT_LT(0, pid);
	id = fault(&dom, F(PEER_KILL), FA(SEED), 9, 0);
	ASSERT_LT(0, id);
	ASSERT_EQ(0, fault_get(&dom, id, &a));
	EXPECT_EQ(3, a.u[A(RANK)]);
	EXPECT_EQ(SIGKILL, vft_wait_pid(pid, 5000));
	EXPECT_EQ(0, vft_domain_end(&dom));
}

TEST_F(fault, a_node_is_lost_at_once)
{
	uint64_t *handle = vft_shared(2 * sizeof(*handle));
	struct vft_domain dom;
	struct vft_options opt = { .planes = PLANES, .nodes = NODES };
	pid_t pid[2];
	char *p;
	int id, fd;

	ASSERT_EQ(0, vft_domain_create(&dom, WORLD, &opt));
	fd = vft_join(&dom, 0);
	pid[0] = victim(&dom, 2, &handle[0]);
	pid[1] = victim(&dom, 3, &handle[1]);
	ASSERT_EQ(true, pid[0] > 0 && pid[1] > 0);
	p = vft_import_map(fd, handle[1], VFT_PAGE, VFT_RW, 0);
	ASSERT_NE(NULL, p);
	id = fault(&dom, F(NODE_LOSS), A(NODE), 1, FA(DURATION), 300, 0);
	ASSERT_LT(0, id);
	EXPECT_EQ(SIGBUS, vft_touch(p));
	EXPECT_EQ(1, vft_domain_get(&dom, A(ATTACHED)));
	EXPECT_EQ(2, hits(&dom, id));
	EXPECT_EQ(VFAB_LINK_FAULT, link_state(&dom, 2, 0));
	EXPECT_EQ(VFAB_LINK_FAULT, link_state(&dom, 3, 1));
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&dom, 1, 0));
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&dom, 4, 0));
	EXPECT_EQ(SIGKILL, vft_wait_pid(pid[0], 5000));
	EXPECT_EQ(SIGKILL, vft_wait_pid(pid[1], 5000));
	EXPECT_EQ(true, ends(&dom, id));
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&dom, 2, 0));
	close(fd);
	EXPECT_EQ(0, vft_domain_end(&dom));
}

TEST_F(fault, imports_are_refused_in_number)
{
	int id = fault(&self->dom, F(IMPORT_REFUSE), A(RANK), 0, FA(SKIP), 1,
		       FA(COUNT), 2, FA(ERRNO), ENOMEM, 0);
	uint64_t cookie;

	ASSERT_LT(0, id);
	EXPECT_EQ(0, vft_import(self->fd[0], self->handle[1], VFT_R, 0, &cookie));
	EXPECT_EQ(-ENOMEM, vft_import(self->fd[0], self->handle[1], VFT_R, 0, &cookie));
	/* others, and one's own, are no concern of it; nor is what fails by itself */
	EXPECT_EQ(0, vft_import(self->fd[2], self->handle[1], VFT_R, 0, &cookie));
	EXPECT_EQ(0, vft_import(self->fd[0], self->handle[0], VFT_R, 0, &cookie));
	EXPECT_EQ(-ENOENT, vft_import(self->fd[0], 99, VFT_R, 0, &cookie));
	EXPECT_EQ(1, hits(&self->dom, id));
	EXPECT_EQ(-ENOMEM, vft_import(self->fd[0], self->handle[2], VFT_R, 0, &cookie));
	EXPECT_EQ(0, vft_import(self->fd[0], self->handle[2], VFT_R, 0, &cookie));
	EXPECT_EQ(true, ends(&self->dom, id));
	EXPECT_EQ(2, hits(&self->dom, id));
	id = fault(&self->dom, F(IMPORT_REFUSE), FA(ALL), 1, 0);
	ASSERT_LT(0, id);
	EXPECT_EQ(-EPERM, vft_import(self->fd[3], self->handle[2], VFT_R, 0, &cookie));
	ASSERT_EQ(0, undo(&self->dom, id));
	EXPECT_EQ(0, vft_import(self->fd[3], self->handle[2], VFT_R, 0, &cookie));
}

/* The n-th import of a rank fares the same, whatever others did between. */
TEST_F(fault, a_seed_decides_each_call)
{
	unsigned int round, i, refused = 0, differ = 0;
	uint64_t bits[3] = { };
	uint64_t cookie;
	int id;

	for (round = 0; round < 3; round++) {
		id = fault(&self->dom, F(IMPORT_REFUSE), FA(ALL), 1, FA(PERMILLE), 300,
			   FA(SEED), round < 2 ? 7 : 8, 0);
		ASSERT_LT(0, id);
		for (i = 0; i < 64; i++) {
			int ret = vft_import(self->fd[0], self->handle[1], VFT_R, 0, &cookie);

			if (round == 1 && i % 3)
				vft_import(self->fd[2], self->handle[1], VFT_R, 0, &cookie);
			bits[round] |= (uint64_t)!!ret << i;
			refused += !round && ret;
		}
		ASSERT_EQ(0, undo(&self->dom, id));
	}
	EXPECT_EQ(bits[0], bits[1]);
	EXPECT_NE(bits[0], bits[2]);
	differ = __builtin_popcountll(bits[0] ^ bits[2]);
	EXPECT_LT(5, differ);
	/* 19 are expected of 64; 6 and 36 are four deviations away */
	EXPECT_LT(6, refused);
	EXPECT_GT(36, refused);
}

TEST_F(fault, a_quota_is_of_what_is_there)
{
	int id = fault(&self->dom, F(QUOTA), A(RANK), 0, FA(LIMIT), 2, 0);
	uint64_t handle;

	ASSERT_LT(0, id);
	EXPECT_EQ(0, vft_alloc(self->fd[0], VFT_PAGE, 0, VFT_R, &handle));
	EXPECT_EQ(-EDQUOT, vft_alloc(self->fd[0], VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(-EDQUOT, vft_alloc(self->fd[0], VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(2, hits(&self->dom, id));
	EXPECT_EQ(0, vft_alloc(self->fd[1], VFT_PAGE, 0, VFT_R, NULL));
	/* who gives back may have another */
	EXPECT_EQ(0, vft_free(self->fd[0], handle));
	EXPECT_EQ(0, vft_alloc(self->fd[0], VFT_PAGE, 0, VFT_R, &handle));
	ASSERT_EQ(0, undo(&self->dom, id));
	EXPECT_EQ(0, vft_alloc(self->fd[0], VFT_PAGE, 0, VFT_R, NULL));
	id = fault(&self->dom, F(QUOTA), A(RANK), 0, FA(ERRNO), ENOMEM, FA(COUNT), 1, 0);
	ASSERT_LT(0, id);
	EXPECT_EQ(-ENOMEM, vft_alloc(self->fd[0], VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(0, vft_alloc(self->fd[0], VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(true, ends(&self->dom, id));
}

TEST_F(fault, a_stalled_manager_changes_no_table)
{
	int id = fault(&self->dom, F(MANAGER_STALL), FA(DURATION), 300, 0);

	ASSERT_LT(0, id);
	EXPECT_EQ(-EAGAIN, vft_route_drop(&self->dom, 0, 1));
	EXPECT_NE(NULL, strstr(vft_nl()->text, "stalled"));
	EXPECT_EQ(1, hits(&self->dom, id));
	EXPECT_EQ(0, vft_ring(self->fd[0], 1, 0));
	EXPECT_EQ(0, vft_link(&self->dom, 1, 0, false));
	EXPECT_EQ(0, vft_link(&self->dom, 1, 0, true));
	EXPECT_EQ(true, ends(&self->dom, id));
	EXPECT_EQ(0, vft_route_drop(&self->dom, 0, 1));
	EXPECT_EQ(0, vft_route_via(&self->dom, 0, 1, 1));
}

/* --- Events ------------------------------------------------------------------------------ */

static void drain(int fd)
{
	struct vfab_event ev[8];

	while (read(fd, ev, sizeof(ev)) > 0)
		;
}

/* Rank 5 comes and goes @n times: so many events of each of its peers, twice */
static int come_and_go(const struct vft_domain *dom, unsigned int n)
{
	while (n--) {
		int fd = vft_join(dom, 5);

		if (fd < 0)
			return fd;
		close(fd);
	}
	return 0;
}

TEST_F(fault, events_are_late_but_the_view_is_not)
{
	const struct vfab_view *view = vft_view(self->fd[0]);
	struct pollfd pfd = { .fd = self->fd[0], .events = POLLIN };
	int id = fault(&self->dom, F(EVENT_DELAY), A(RANK), 0, FA(DELAY), 500, 0);
	uint64_t start, loss;
	struct vfab_event ev;
	struct vfab_peer peer;
	int fd;

	ASSERT_LT(0, id);
	drain(self->fd[0]);
	drain(self->fd[1]);
	start = vft_now();
	fd = vft_join(&self->dom, 5);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, read(self->fd[0], &ev, sizeof(ev)));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	EXPECT_EQ(sizeof(ev), read(self->fd[1], &ev, sizeof(ev)));
	close(fd);
	vft_peer(view, 5, &peer);
	EXPECT_EQ(VFAB_PEER_VACANT, peer.state);
	loss = view->loss;
	EXPECT_EQ(1, poll(&pfd, 1, 5000));
	EXPECT_LE(450 * VFT_MS, vft_now() - start);
	/* both, in the order in which they came, with the loss of their time */
	ASSERT_EQ(sizeof(ev), read(self->fd[0], &ev, sizeof(ev)));
	EXPECT_EQ(VFAB_EVENT_PEER_GAINED, ev.type);
	EXPECT_GT(loss, ev.loss);
	ASSERT_EQ(sizeof(ev), read(self->fd[0], &ev, sizeof(ev)));
	EXPECT_EQ(VFAB_EVENT_PEER_LOST, ev.type);
	EXPECT_EQ(loss, ev.loss);
	EXPECT_EQ(2, hits(&self->dom, id));
	/* its end keeps nothing back */
	ASSERT_EQ(0, come_and_go(&self->dom, 1));
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	ASSERT_EQ(0, undo(&self->dom, id));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	/* nor does one's own */
	id = fault(&self->dom, F(EVENT_DELAY), FA(ALL), 1, FA(DELAY), 60000, 0);
	ASSERT_LT(0, id);
	drain(self->fd[3]);
	ASSERT_EQ(0, come_and_go(&self->dom, 1));
	EXPECT_EQ(0, vft_detach(self->fd[3]));
	EXPECT_EQ(sizeof(ev), read(self->fd[3], &ev, sizeof(ev)));
}

TEST_F(fault, events_come_in_another_order)
{
	struct pollfd pfd = { .fd = self->fd[0], .events = POLLIN };
	struct vfab_event ev[12], plain[12];
	unsigned int i, moved = 0;
	uint64_t sum = 0, plain_sum = 0;
	int id;

	id = fault(&self->dom, F(EVENT_REORDER), A(RANK), 0, FA(DELAY), 1000,
		   FA(SEED), 3, 0);
	ASSERT_LT(0, id);
	drain(self->fd[0]);
	drain(self->fd[1]);
	ASSERT_EQ(0, come_and_go(&self->dom, 6));
	EXPECT_EQ(1, poll(&pfd, 1, 10000));
	ASSERT_EQ(sizeof(ev), read(self->fd[0], ev, sizeof(ev)));
	ASSERT_EQ(sizeof(plain), read(self->fd[1], plain, sizeof(plain)));
	for (i = 0; i < 12; i++) {
		moved += ev[i].loss != plain[i].loss || ev[i].type != plain[i].type;
		sum += ev[i].loss * 8 + ev[i].type;
		plain_sum += plain[i].loss * 8 + plain[i].type;
	}
	EXPECT_LT(6, moved);
	EXPECT_EQ(plain_sum, sum);
	EXPECT_EQ(-1, read(self->fd[0], ev, sizeof(ev)));
	EXPECT_EQ(12, hits(&self->dom, id));
}

TEST_F(fault, lost_events_leave_an_overflow)
{
	const struct vfab_view *view = vft_view(self->fd[0]);
	struct vfab_event ev[8];
	struct vfab_peer peer;
	int id, fd;

	id = fault(&self->dom, F(EVENT_DROP), A(RANK), 0, FA(COUNT), 1, 0);
	ASSERT_LT(0, id);
	drain(self->fd[0]);
	fd = vft_join(&self->dom, 5);
	ASSERT_LE(0, fd);
	ASSERT_EQ(sizeof(*ev), read(self->fd[0], ev, sizeof(ev)));
	EXPECT_EQ(VFAB_EVENT_OVERFLOW, ev[0].type);
	vft_peer(view, 5, &peer);
	EXPECT_EQ(VFAB_PEER_HELD, peer.state);
	EXPECT_EQ(true, ends(&self->dom, id));
	close(fd);
	ASSERT_EQ(sizeof(*ev), read(self->fd[0], ev, sizeof(ev)));
	EXPECT_EQ(VFAB_EVENT_PEER_LOST, ev[0].type);
	/* and a share of them */
	id = fault(&self->dom, F(EVENT_DROP), A(RANK), 0, FA(PERMILLE), 500,
		   FA(SEED), 1, 0);
	ASSERT_LT(0, id);
	ASSERT_EQ(0, come_and_go(&self->dom, 20));
	EXPECT_LT(5, hits(&self->dom, id));
	EXPECT_GT(35, hits(&self->dom, id));
}

struct freeing {
	int fd;
	uint64_t handle;
};

static void *free_window(void *arg)
{
	const struct freeing *f = arg;

	vft_free(f->fd, f->handle);
	return NULL;
}

/* What an overflow tells of is over when it can be read */
TEST_F(fault, an_overflow_comes_after_the_loss)
{
	struct freeing f = { .fd = vft_join(&self->dom, 5) };
	struct vfab_event ev;
	uint64_t value;
	pthread_t t;
	void *map;
	int i;

	ASSERT_LE(0, f.fd);
	ASSERT_LT(0, fault(&self->dom, F(EVENT_DROP), A(RANK), 0, 0));
	for (i = 0; i < 50; i++) {
		drain(self->fd[0]);
		ASSERT_EQ(0, vft_alloc(f.fd, VFT_PAGE, 1, VFT_RW, &f.handle));
		map = vft_import_map(self->fd[0], f.handle, VFT_PAGE, VFT_RW, VFAB_LOSS_SIGBUS);
		ASSERT_NE(NULL, map);
		ASSERT_EQ(0, vft_load(map, &value));
		ASSERT_EQ(0, pthread_create(&t, NULL, free_window, &f));
		while (read(self->fd[0], &ev, sizeof(ev)) != sizeof(ev))
			;
		EXPECT_EQ(VFAB_EVENT_OVERFLOW, ev.type);
		EXPECT_NE(0, vft_load(map, &value));
		pthread_join(t, NULL);
		munmap(map, VFT_PAGE);
	}
	close(f.fd);
}

/* --- Blackholes ---------------------------------------------------------------------------- */

enum { LIVE, CHANGING, HELD_BACK };

struct board {
	_Atomic uint32_t epoch;		/* 4 * n + phase */
	_Atomic uint32_t stop;
	_Atomic uint64_t done[4];	/* accesses of each hammer */
	_Atomic uint64_t late[4];	/* that came through a hole */
	_Atomic uint64_t failed;
};

/* 0 loads, 1 stores, 2 rings, 3 stores through mappings made anew */
static void hammer(struct board *b, unsigned int what, int fd, uint64_t handle, uint32_t peer)
{
	char *p = NULL;
	uint64_t cookie = 0;

	if (what != 2 && vft_import(fd, handle, VFT_RW, VFAB_LOSS_ABSORB, &cookie))
		_exit(1);
	while (!atomic_load(&b->stop)) {
		uint32_t before = atomic_load(&b->epoch);
		int ret = 0;

		if (what == 3 && p)
			munmap(p, VFT_PAGE);
		if (what == 3 || (what != 2 && !p))
			p = vft_map(fd, cookie, VFT_PAGE, PROT_READ | PROT_WRITE);
		if (what == 2)
			ret = vft_ring(fd, peer, 0);
		else
			ret = what ? vft_store(p + 8 * what, before) : vft_touch(p);
		if (ret)
			b->failed++;
		if (before == atomic_load(&b->epoch) && before % 4 == HELD_BACK)
			b->late[what]++;
		b->done[what]++;
	}
	_exit(0);
}

/* Do all hammers come through, some times? */
static bool goes_on(const struct board *b)
{
	uint64_t base[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		base[i] = b->done[i];
	for (i = 0; i < 4; i++)
		if (!vft_until(10000, b->done[i] > base[i] + 5))
			return false;
	return true;
}

TEST_F_TIMEOUT(fault, a_blackhole_lets_no_byte_through, 120)
{
	struct board *b = vft_shared(sizeof(*b));
	const struct vfab_view *view = vft_view(self->fd[0]);
	int efd = eventfd(0, EFD_NONBLOCK);
	struct vfab_peer peer, was;
	pid_t pid[4];
	unsigned int i, round;
	struct answer a;

	ASSERT_EQ(0, vft_eventfd(self->fd[2], 0, efd));
	for (i = 0; i < 4; i++) {
		pid[i] = vft_fork();
		if (!pid[i])
			hammer(b, i, self->fd[0], self->handle[2], 2);
	}
	vft_peer(view, 2, &was);
	for (round = 0; round < 10; round++) {
		uint64_t count;
		uint64_t *mine = (void *)vft_import_map(self->fd[2], self->handle[2], VFT_PAGE,
							VFT_RW, 0);
		uint64_t frozen[4];
		int id;

		ASSERT_NE(NULL, mine);
		ASSERT_EQ(true, goes_on(b));
		b->epoch = round * 4 + CHANGING;
		/* all of one's own links, the peer's, one of each, one link of many */
		if (round % 3 == 0)
			id = fault(&self->dom, F(BLACKHOLE), A(RANK), 0, FA(DURATION), 60000, 0);
		else if (round % 3 == 1)
			id = fault(&self->dom, F(BLACKHOLE), A(RANK), 2, A(PORT), 1,
				   FA(DURATION), 60000, 0);
		else
			id = fault(&self->dom, F(BLACKHOLE), A(SWITCH), 0, FA(DURATION),
				   60000, 0);
		ASSERT_LT(0, id);
		b->epoch = round * 4 + HELD_BACK;
		memcpy(frozen, mine, sizeof(frozen));
		while (read(efd, &count, sizeof(count)) > 0)
			;
		vft_sleep_ms(20 + round * 5);
		/* nothing came, and all looks well */
		EXPECT_EQ(0, memcmp(frozen, mine, sizeof(frozen)));
		EXPECT_EQ(-1, read(efd, &count, sizeof(count)));
		vft_peer(view, 2, &peer);
		EXPECT_EQ(0, memcmp(&was, &peer, sizeof(peer)));
		ASSERT_EQ(0, trace(&self->dom, 0, 2, &a));
		EXPECT_EQ(1, a.u[A(REACHABLE)]);
		EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&self->dom, 2, 1));
		EXPECT_EQ(VFAB_HEALTH_HEALTHY, vft_endpoint_get(&self->dom, 0, A(HEALTH)));
		/* whoever is not concerned goes on */
		if (round % 3 < 2)
			EXPECT_EQ(0, vft_ring(self->fd[3], 4, 0));
		/* all of them are stalled by this one */
		EXPECT_EQ(true, vft_until(5000, hits(&self->dom, id) >= 4));
		b->epoch = round * 4 + 4 + CHANGING;
		ASSERT_EQ(0, undo(&self->dom, id));
		EXPECT_EQ(true, goes_on(b));
		b->epoch = round * 4 + 4 + LIVE;
		munmap(mine, VFT_PAGE);
	}
	b->stop = 1;
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, b->late[i]) {
			TH_LOG("hammer %u", i);
		}
		EXPECT_EQ(0, vft_wait_pid(pid[i], 5000));
	}
	EXPECT_EQ(0, b->failed);
	close(efd);
}

/* A child whose access to @handle stalls; *state: 1 about to, 2 done, with what it got */
static pid_t stalled(int fd, uint64_t handle, volatile uint32_t *state)
{
	pid_t pid = vft_fork();
	char *p;

	if (pid) {
		vft_until(5000, *state);
		vft_sleep_ms(30);
		return pid;
	}
	p = vft_import_map(fd, handle, VFT_PAGE, VFT_RW, 0);
	if (!p)
		_exit(99);
	*state = 1;
	*state = 2 + vft_store(p, 7);
	_exit(0);
}

TEST_F(fault, a_blackhole_ends_by_time)
{
	int id = fault(&self->dom, F(BLACKHOLE), A(RANK), 0, FA(DURATION), 700, 0);
	uint32_t *state = vft_shared(sizeof(*state));
	pid_t pid;

	ASSERT_LT(0, id);
	/* an import of now is held as well, and made without waiting */
	pid = stalled(self->fd[0], self->handle[2], state);
	EXPECT_EQ(1, *state);
	EXPECT_EQ(true, ends(&self->dom, id));
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
	EXPECT_EQ(2, *state);
	EXPECT_EQ(1, hits(&self->dom, id));
}

TEST_F(fault, who_is_stalled_can_be_killed)
{
	uint32_t *state = vft_shared(2 * sizeof(*state));
	pid_t pid;
	int id;

	id = fault(&self->dom, F(BLACKHOLE), A(RANK), 0, FA(DURATION), 60000, 0);
	ASSERT_LT(0, id);
	pid = stalled(self->fd[0], self->handle[2], state);
	EXPECT_EQ(1, *state);
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	/* its own end, or the peer's, is no matter of routes */
	pid = stalled(self->fd[1], self->handle[0], state + 1);
	EXPECT_EQ(1, state[1]);
	ASSERT_EQ(0, vft_evict(&self->dom, 0));
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
	EXPECT_EQ(2 + SIGBUS, state[1]);
	EXPECT_EQ(-EHOSTUNREACH, vft_ring(self->fd[1], 0, 0));
}

/* Whoever finds the link and drains it has traffic flow again. */
TEST_F(fault, a_drained_blackhole_holds_nobody)
{
	uint32_t *state = vft_shared(3 * sizeof(*state));
	struct vft_req req;
	pid_t pid;
	int id;

	id = fault(&self->dom, F(BLACKHOLE), A(RANK), 2, A(PORT), 0, FA(DURATION), 60000, 0);
	ASSERT_LT(0, id);
	pid = stalled(self->fd[0], self->handle[2], state);
	EXPECT_EQ(1, *state);
	vft_link_req(&req, &self->dom, 2, -1, 0);
	vft_put_flag(&req, A(DRAIN));
	ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
	EXPECT_EQ(2, *state);
	/* back in its routes, it holds again */
	ASSERT_EQ(0, vft_link(&self->dom, 2, 0, true));
	pid = stalled(self->fd[0], self->handle[2], state + 1);
	EXPECT_EQ(1, state[1]);
	/* a table that leaves the switch out will do as well */
	ASSERT_EQ(0, vft_route_drop(&self->dom, 0, 2));
	vft_sleep_ms(50);
	/* not yet: rank 2 still sends by it */
	ASSERT_EQ(0, vft_route_drop(&self->dom, 0, 0));
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
	EXPECT_EQ(2, state[1]);
	/* and one that is really lost is lost */
	ASSERT_EQ(0, vft_route_via(&self->dom, 0, 2, 2));
	ASSERT_EQ(0, vft_route_via(&self->dom, 0, 0, 0));
	pid = stalled(self->fd[0], self->handle[2], state + 2);
	EXPECT_EQ(1, state[2]);
	ASSERT_EQ(0, vft_link(&self->dom, 2, -1, false));
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
	EXPECT_EQ(2 + SIGBUS, state[2]);
	ASSERT_EQ(0, undo(&self->dom, id));
}

#define SW(i)	((uint16_t)(VFAB_SPEC_SWITCH | (i)))

/* Ranks 0 1 at switch 0, 2 3 at switch 1, one link between the switches */
TEST_F(fault, a_blackhole_between_switches)
{
	struct vfab_link_spec link[5];
	struct vft_options opt = { .links = link, .nlinks = 5, .switches = 2 };
	uint32_t *state = vft_shared(2 * sizeof(*state));
	struct vft_domain dom;
	uint64_t handle[4];
	int fd[4], id, i;
	pid_t pid;

	memset(link, 0, sizeof(link));
	for (i = 0; i < 4; i++)
		link[i] = (struct vfab_link_spec){
			.node = { i, SW(i / 2) }, .port = { 0, i % 2 }, .rate = RATE,
		};
	link[4] = (struct vfab_link_spec){
		.node = { SW(0), SW(1) }, .port = { 2, 2 }, .rate = RATE,
	};
	ASSERT_EQ(0, vft_domain_create(&dom, 4, &opt));
	for (i = 0; i < 4; i++) {
		fd[i] = vft_join(&dom, i);
		ASSERT_EQ(0, vft_alloc(fd[i], VFT_PAGE, 0, VFT_RW, &handle[i]));
	}
	id = fault(&dom, F(BLACKHOLE), A(SWITCH), 1, A(PORT), 2, FA(DURATION), 60000, 0);
	ASSERT_LT(0, id);
	/* within a switch all goes on */
	EXPECT_EQ(0, vft_ring(fd[0], 1, 0));
	EXPECT_EQ(0, vft_touch(vft_import_map(fd[2], handle[3], VFT_PAGE, VFT_RW, 0)));
	pid = stalled(fd[0], handle[3], state);
	EXPECT_EQ(1, *state);
	ASSERT_EQ(0, undo(&dom, id));
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
	for (i = 0; i < 4; i++)
		close(fd[i]);
	EXPECT_EQ(0, vft_domain_end(&dom));
}

/* --- Refusals, limits, ends ------------------------------------------------------------------ */

TEST_F(fault, refusals)
{
	static const struct {
		int err;
		int bad;
		int f[10];
	} r[] = {
		{ 0, 0, { FA(KIND), 99 } },
		{ EINVAL, A(RANK), { FA(KIND), F(LINK_DOWN), A(RANK), WORLD } },
		{ EINVAL, A(SWITCH), { FA(KIND), F(LINK_DOWN), A(SWITCH), PLANES } },
		{ EINVAL, A(PORT), { FA(KIND), F(LINK_DOWN), A(RANK), 1, A(PORT), 7 } },
		{ EINVAL, A(PORT), { FA(KIND), F(LINK_DOWN), A(PORT), 1 } },
		{ EINVAL, A(NODE), { FA(KIND), F(LINK_DOWN), A(NODE), NODES } },
		{ EINVAL, FA(ALL), { FA(KIND), F(LINK_DOWN), FA(ALL), 1, A(RANK), 1 } },
		{ EINVAL, FA(COUNT), { FA(KIND), F(LINK_DOWN), FA(COUNT), 1 } },
		{ EINVAL, FA(KIND), { FA(KIND), F(LINK_FLAP) } },
		{ EINVAL, FA(KIND), { FA(KIND), F(LINK_DEGRADE) } },
		{ EINVAL, A(RATE), { FA(KIND), F(LINK_DEGRADE), A(RATE), 0 } },
		{ EINVAL, A(RATE), { FA(KIND), F(LINK_DEGRADE), A(RATE), 100000001 } },
		{ EINVAL, A(LATENCY), { FA(KIND), F(LINK_DEGRADE), A(LATENCY), 1000000001 } },
		{ EINVAL, A(WIDTH), { FA(KIND), F(LINK_DEGRADE), A(WIDTH), 0 } },
		{ EINVAL, FA(KIND), { FA(KIND), F(BLACKHOLE) } },
		{ EINVAL, FA(DURATION), { FA(KIND), F(BLACKHOLE), FA(DURATION), 600001 } },
		{ EINVAL, A(SWITCH), { FA(KIND), F(STUCK), A(SWITCH), 0 } },
		{ EINVAL, A(RANK), { FA(KIND), F(STUCK), A(RANK), WORLD } },
		{ EINVAL, FA(KIND), { FA(KIND), F(OVERRIDE) } },
		{ EINVAL, A(STATUS), { FA(KIND), F(OVERRIDE), A(STATUS), 1 } },
		{ EINVAL, FA(SILENT), { FA(KIND), F(STUCK), FA(SILENT), 1 } },
		{ EINVAL, FA(DURATION), { FA(KIND), F(PEER_KILL), FA(DURATION), 5 } },
		{ EINVAL, A(RANK), { FA(KIND), F(NODE_LOSS), A(RANK), 1 } },
		{ EINVAL, FA(ALL), { FA(KIND), F(NODE_LOSS), FA(ALL), 1 } },
		{ EINVAL, A(RANK), { FA(KIND), F(MANAGER_STALL), A(RANK), 1 } },
		{ EINVAL, FA(ALL), { FA(KIND), F(MANAGER_STALL), FA(ALL), 1 } },
		{ EINVAL, FA(ERRNO), { FA(KIND), F(IMPORT_REFUSE), FA(ERRNO), EIO } },
		{ EINVAL, FA(ERRNO), { FA(KIND), F(QUOTA), FA(ERRNO), EPERM } },
		{ EINVAL, FA(SKIP), { FA(KIND), F(QUOTA), FA(SKIP), 1 } },
		{ EINVAL, FA(LIMIT), { FA(KIND), F(IMPORT_REFUSE), FA(LIMIT), 1 } },
		{ EINVAL, FA(KIND), { FA(KIND), F(EVENT_DELAY) } },
		{ EINVAL, FA(PERMILLE), { FA(KIND), F(EVENT_DELAY), FA(PERMILLE), 5 } },
	};
	struct answer a;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(r); i++) {
		const int *f = r[i].f;
		int ret = ask(&self->dom, VFAB_CMD_FAULT_CREATE, &a, f[0], f[1], f[2], f[3], f[4],
			      f[5], f[6], f[7], 0);

		EXPECT_GT(0, ret);
		if (r[i].err)
			EXPECT_EQ(-r[i].err, ret);
		EXPECT_NE(0, vft_nl()->text[0]);
		if (r[i].bad)
			EXPECT_EQ(r[i].bad, vft_nl()->bad_attr) {
				TH_LOG("row %u: %s", i, vft_nl()->text);
			}
	}
	EXPECT_EQ(-EINVAL, ask(&self->dom, VFAB_CMD_FAULT_CREATE, &a, 0));
	EXPECT_EQ(FA(KIND), vft_nl()->missing);
	EXPECT_EQ(-EINVAL, ask(&self->dom, VFAB_CMD_FAULT_GET, &a, 0));
	EXPECT_EQ(FA(ID), vft_nl()->missing);
	EXPECT_EQ(-ENOENT, phase(&self->dom, 1));
	EXPECT_EQ(FA(ID), vft_nl()->bad_attr);
	EXPECT_EQ(-ENOENT, undo(&self->dom, 1));
	EXPECT_EQ(FA(ID), vft_nl()->bad_attr);
	/* none was made */
	EXPECT_EQ(0, faults_of(&self->dom));
	EXPECT_EQ(0, undo(&self->dom, 0));
}

static int drop_capability(int cap)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		return -1;
	d[cap / 32].effective &= ~(1U << cap % 32);
	d[cap / 32].permitted &= ~(1U << cap % 32);
	return syscall(SYS_capset, &h, d);
}

TEST_F(fault, killing_needs_cap_kill)
{
	pid_t pid = vft_fork();
	int bad = 0;

	if (!pid) {
		bad += !!drop_capability(CAP_KILL);
		vft_nl_reset();
		bad += fault(&self->dom, F(PEER_KILL), A(RANK), 1, 0) != -EPERM;
		bad += fault(&self->dom, F(PEER_KILL), A(RANK), 1, FA(AFTER), 9, 0) != -EPERM;
		bad += fault(&self->dom, F(NODE_LOSS), A(NODE), 1, 0) != -EPERM;
		bad += fault(&self->dom, F(PEER_KILL), A(RANK), 1, FA(SPARE), 1, 0) <= 0;
		bad += !!drop_capability(CAP_NET_ADMIN);
		vft_nl_reset();
		bad += fault(&self->dom, F(STUCK), 0) != -EPERM;
		bad += undo(&self->dom, 1) != -EPERM;
		bad += phase(&self->dom, 1) != VFAB_FAULT_PHASE_ENDED;
		_exit(bad);
	}
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
	EXPECT_EQ(-ENODEV, vft_ring(self->fd[1], 0, 0));
	EXPECT_EQ(0, vft_ring(self->fd[2], 0, 0));
}

TEST_F(fault, there_are_64_at_most)
{
	int i, id = 0, first = 0;

	for (i = 0; i < 64; i++) {
		id = fault(&self->dom, F(LINK_DOWN), A(RANK), 0, 0);
		ASSERT_LT(0, id);
		first = first ?: id;
	}
	EXPECT_EQ(-ENOSPC, fault(&self->dom, F(STUCK), 0));
	EXPECT_NE(0, vft_nl()->text[0]);
	EXPECT_EQ(64, faults_of(&self->dom));
	ASSERT_EQ(0, undo(&self->dom, first + 3));
	/* one that ended makes room for another */
	ASSERT_LT(0, fault(&self->dom, F(PEER_KILL), A(RANK), 4, FA(SPARE), 1, 0));
	id = fault(&self->dom, F(STUCK), A(RANK), 5, 0);
	ASSERT_LT(first + 64, id);
	EXPECT_EQ(-ENOENT, phase(&self->dom, id - 1));
	EXPECT_EQ(-ENOSPC, fault(&self->dom, F(STUCK), 0));
	EXPECT_EQ(VFAB_LINK_FAULT, link_state(&self->dom, 0, 0));
	ASSERT_EQ(0, undo(&self->dom, 0));
	EXPECT_EQ(VFAB_LINK_ACTIVE, link_state(&self->dom, 0, 0));
	/* ids are not used again */
	EXPECT_EQ(id + 1, fault(&self->dom, F(STUCK), 0));
}

/* One of each kind, as many as a domain takes at once */
static int all_kinds(const struct vft_domain *dom)
{
	return fault(dom, F(LINK_DOWN), A(RANK), 0, 0) <= 0 ||
	       fault(dom, F(LINK_FLAP), FA(ALL), 1, A(FLAP_PERIOD), 10, 0) <= 0 ||
	       fault(dom, F(LINK_DEGRADE), FA(ALL), 1, A(RATE), 5, FA(SILENT), 1, 0) <= 0 ||
	       fault(dom, F(BLACKHOLE), FA(ALL), 1, FA(DURATION), 600000, 0) <= 0 ||
	       fault(dom, F(STUCK), FA(ALL), 1, 0) <= 0 ||
	       fault(dom, F(OVERRIDE), FA(ALL), 1, A(HEALTH), VFAB_HEALTH_UNHEALTHY, 0) <= 0 ||
	       fault(dom, F(PEER_KILL), FA(ALL), 1, FA(AFTER), 60000, 0) <= 0 ||
	       fault(dom, F(NODE_LOSS), A(NODE), 0, FA(SPARE), 1, 0) <= 0 ||
	       fault(dom, F(MANAGER_STALL), 0) <= 0 ||
	       fault(dom, F(IMPORT_REFUSE), FA(ALL), 1, 0) <= 0 ||
	       fault(dom, F(QUOTA), FA(ALL), 1, 0) <= 0 ||
	       fault(dom, F(EVENT_DELAY), FA(ALL), 1, FA(DELAY), 5000, 0) <= 0 ||
	       fault(dom, F(EVENT_REORDER), FA(ALL), 1, 0) <= 0 ||
	       fault(dom, F(EVENT_DROP), FA(ALL), 1, FA(PERMILLE), 500, 0) <= 0;
}

/* Is all of it as if there had never been a fault? */
static int is_well(const struct vft_domain *dom)
{
	uint32_t r, p;
	struct answer a;
	int bad = 0;

	for (r = 0; r < dom->world; r++) {
		bad += vft_endpoint_get(dom, r, A(FABRIC_STATE)) != VFAB_FABRIC_COMPLETED;
		bad += vft_endpoint_get(dom, r, A(HEALTH)) != VFAB_HEALTH_HEALTHY;
		for (p = 0; p < PLANES; p++) {
			bad += link_of(dom, r, p, &a) != 0;
			bad += a.u[A(LINK_STATE)] != VFAB_LINK_ACTIVE;
			bad += a.u[A(RATE)] != RATE;
		}
		if (!r)
			continue;
		bad += trace(dom, 0, r, &a) != 0;
		bad += a.u[A(PATHS)] != PLANES || a.u[A(RATE)] != PLANES * RATE;
	}
	bad += vft_route_drop(dom, 0, 1) != 0;
	bad += vft_route_via(dom, 0, 1, 1) != 0;
	return bad;
}

/* Another domain beside it notices nothing. */
TEST_F(fault, no_fault_reaches_beyond_its_domain)
{
	struct vft_options opt = { .planes = PLANES, .nodes = NODES };
	struct vft_domain dom;

	ASSERT_EQ(0, vft_domain_create(&dom, WORLD, &opt));
	ASSERT_EQ(0, all_kinds(&dom));
	EXPECT_EQ(0, is_well(&self->dom));
	EXPECT_EQ(0, come_and_go(&self->dom, 1));
	EXPECT_EQ(0, vft_alloc(self->fd[0], VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(0, vft_touch(vft_import_map(self->fd[0], self->handle[1], VFT_PAGE, VFT_RW, 0)));
	/* and it can be deleted, with all that acts in it */
	EXPECT_EQ(0, vft_domain_delete(&dom, false));
	EXPECT_EQ(0, is_well(&self->dom));
}

TEST_F(fault, a_domain_ends_with_all_its_faults)
{
	uint32_t *state = vft_shared(sizeof(*state));
	pid_t pid;

	ASSERT_LT(0, fault(&self->dom, F(BLACKHOLE), FA(ALL), 1, FA(DURATION), 600000, 0));
	pid = stalled(self->fd[0], self->handle[2], state);
	EXPECT_EQ(1, *state);
	ASSERT_EQ(0, all_kinds(&self->dom));
	EXPECT_EQ(0, vft_domain_delete(&self->dom, true));
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
	EXPECT_EQ(2 + SIGBUS, *state);
	EXPECT_EQ(-ENODEV, vft_ring(self->fd[0], 1, 0));
}

TEST_F(fault, all_of_them_are_undone)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, all_kinds(&self->dom));
		vft_sleep_ms(30);
		EXPECT_NE(0, is_well(&self->dom));
		ASSERT_EQ(0, undo(&self->dom, 0));
		EXPECT_EQ(0, is_well(&self->dom));
	}
	EXPECT_EQ(0, vft_touch(vft_import_map(self->fd[2], self->handle[3], VFT_PAGE, VFT_RW, 0)));
}

/* --- Storm ------------------------------------------------------------------------------------ */

/* Any kind, any target, any of the parameters, most of which are refused */
static void storm_once(const struct vft_domain *dom, unsigned int *seed)
{
	static const int attrs[] = {
		A(RANK), A(SWITCH), A(PORT), A(NODE), FA(ALL), FA(SEED), FA(AFTER),
		FA(DURATION), FA(COUNT), A(FLAP_PERIOD), A(RATE), A(LATENCY), A(WIDTH),
		A(FABRIC_STATE), A(STATUS), A(UUID), A(CLIQUE), A(HEALTH), FA(SILENT),
		FA(PERMILLE), FA(ERRNO), FA(SKIP), FA(LIMIT), FA(DELAY),
	};
	static const struct {
		int kind, attr;
	} wants[] = {
		{ F(LINK_FLAP), A(FLAP_PERIOD) }, { F(LINK_DEGRADE), A(RATE) },
		{ F(BLACKHOLE), FA(DURATION) }, { F(OVERRIDE), A(HEALTH) },
		{ F(EVENT_DELAY), FA(DELAY) },
	};
	int extra = attrs[vft_random(seed) % ARRAY_SIZE(attrs)];
	int kind = vft_random(seed) % 14, want = 0;
	unsigned int i, value = 1 + vft_random(seed) % 60;

	for (i = 0; i < ARRAY_SIZE(wants); i++)
		if (wants[i].kind == kind)
			want = wants[i].attr;
	if (kind == F(PEER_KILL) || kind == F(NODE_LOSS))
		fault(dom, kind, FA(SPARE), 1, extra, value % 6, 0);
	else if (want && want != extra)
		fault(dom, kind, want, value % 4 + 2, extra,
		      vft_random(seed) % 5 ? value % 4 : value, 0);
	else
		fault(dom, kind, extra, value % 7, 0);
	if (vft_random(seed) % 8 == 0)
		undo(dom, vft_random(seed) % 4 ? 1 + vft_random(seed) % 300 : 0);
}

static void storm_traffic(const struct vft_domain *dom, unsigned int seed, _Atomic uint32_t *stop)
{
	while (!*stop) {
		int fd = vft_join(dom, vft_random(&seed) % WORLD);
		struct vfab_event ev[4];
		uint64_t handle = 0;
		uint32_t r;
		char *p;

		if (fd < 0)
			continue;
		fcntl(fd, F_SETFL, O_NONBLOCK);
		vft_alloc(fd, VFT_PAGE, 1, VFT_RW, NULL);
		for (r = 0; r < WORLD; r++) {
			if (vft_lookup(fd, r, 1, 0, &handle))
				continue;
			p = vft_import_map(fd, handle, VFT_PAGE, VFT_RW, VFAB_LOSS_ABSORB);
			if (p) {
				vft_store(p, 1);
				munmap(p, VFT_PAGE);
			}
			vft_ring(fd, r, 0);
			if (read(fd, ev, sizeof(ev)) < 0)
				continue;
		}
		close(fd);
	}
	_exit(0);
}

TEST_F_TIMEOUT(fault, storm, 120)
{
	struct vft_options opt = { .planes = PLANES, .nodes = NODES, .retry_ms = 20 };
	_Atomic uint32_t *stop = vft_shared(sizeof(*stop));
	struct vft_domain dom;
	uint64_t end = vft_now() + 8 * VFT_SEC;
	pid_t traffic[2], faults[2];
	unsigned int i, seed = 77;

	ASSERT_EQ(0, vft_domain_create(&dom, WORLD, &opt));
	for (i = 0; i < 2; i++) {
		traffic[i] = vft_fork();
		if (!traffic[i]) {
			vft_nl_reset();
			storm_traffic(&dom, 5 + i, stop);
		}
		faults[i] = vft_fork();
		if (!faults[i]) {
			seed += i;
			vft_nl_reset();
			while (!*stop)
				storm_once(&dom, &seed);
			_exit(0);
		}
	}
	while (vft_now() < end) {
		vft_link(&dom, vft_random(&seed) % WORLD, -1, vft_random(&seed) % 2);
		vft_sleep_ms(20);
		vft_link(&dom, -1, vft_random(&seed) % PLANES, true);
	}
	*stop = 1;
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, vft_wait_pid(faults[i], 10000));
	ASSERT_EQ(0, undo(&dom, 0));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, vft_wait_pid(traffic[i], 10000));
	for (i = 0; i < PLANES; i++)
		vft_link(&dom, -1, i, true);
	EXPECT_EQ(0, is_well(&dom));
	EXPECT_EQ(0, vft_domain_end(&dom));

	/* and a domain that goes while they come */
	ASSERT_EQ(0, vft_domain_create(&dom, WORLD, &opt));
	*stop = 0;
	for (i = 0; i < 2; i++) {
		faults[i] = vft_fork();
		if (!faults[i]) {
			vft_nl_reset();
			while (!*stop)
				storm_once(&dom, &seed);
			_exit(0);
		}
	}
	vft_sleep_ms(300);
	EXPECT_EQ(0, vft_domain_delete(&dom, true));
	*stop = 1;
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, vft_wait_pid(faults[i], 10000));
}

TEST_HARNESS_MAIN
