// SPDX-License-Identifier: GPL-2.0
/*
 * resiliency: what partitions of both modes say of a lost access link, trunk link
 * and switch while traffic runs, and what parking an endpoint does.
 *
 *	build/selftests/resiliency
 *	build/selftests/resiliency -t trunk_link
 */
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

#define SW(i)	((uint16_t)(VFAB_SPEC_SWITCH | (i)))
#define RATE	50000
#define WORLD	8
#define ADAPTIVE VFAB_RESILIENCY_ADAPTIVE
#define FULL	VFAB_RESILIENCY_FULL
#define HEALTHY	VFAB_HEALTH_HEALTHY
#define LIMITED	VFAB_HEALTH_LIMITED
#define UNHEALTHY VFAB_HEALTH_UNHEALTHY

/* --- asking and setting --------------------------------------------------------------------- */

static void take(const struct vft_msg *msg, void *arg)
{
	uint64_t *value = arg;		/* in: the attribute */

	*value = msg->a[*value] ? vft_u32(msg, *value) : ~0ULL;
}

static uint64_t part_get(const struct vft_domain *dom, uint32_t part, int attr)
{
	uint64_t value = attr;
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_PARTITION_GET, 0);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	vft_put_u32(&req, VFAB_A_PARTITION, part);
	return vft_call(vft_nl(), &req, take, &value) ? ~0ULL : value;
}

/* @ranks: a bitmap, in a world of 8 */
static int part_set(const struct vft_domain *dom, uint32_t part, int attr, uint32_t value)
{
	uint8_t ranks = value;
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_PARTITION_SET, 0);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	vft_put_u32(&req, VFAB_A_PARTITION, part);
	if (attr == VFAB_A_RESILIENCY)
		vft_put_u32(&req, attr, value);
	else if (attr)
		vft_put(&req, attr, &ranks, 1);
	return vft_call(vft_nl(), &req, NULL, NULL);
}

static int park(const struct vft_domain *dom, uint32_t part, uint32_t ranks)
{
	return part_set(dom, part, VFAB_A_PARK_MEMBERS, ranks);
}

static int unpark(const struct vft_domain *dom, uint32_t part, uint32_t ranks)
{
	return part_set(dom, part, VFAB_A_UNPARK_MEMBERS, ranks);
}

static int part_create(const struct vft_domain *dom, uint32_t part, uint8_t ranks, uint32_t mode)
{
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_PARTITION_CREATE, 0);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	vft_put_u32(&req, VFAB_A_PARTITION, part);
	vft_put(&req, VFAB_A_ADD_MEMBERS, &ranks, 1);
	if (mode != ADAPTIVE)
		vft_put_u32(&req, VFAB_A_RESILIENCY, mode);
	return vft_call(vft_nl(), &req, NULL, NULL);
}

static uint32_t health(const struct vft_domain *dom, uint32_t part)
{
	return part_get(dom, part, VFAB_A_HEALTH);
}

static uint32_t ep_health(const struct vft_domain *dom, uint32_t rank)
{
	return vft_endpoint_get(dom, rank, VFAB_A_HEALTH);
}

#define EXPECT_LINKS(up, all, part) do {						\
	EXPECT_EQ(up, part_get(&self->dom, part, VFAB_A_LINKS_UP));			\
	EXPECT_EQ(all, part_get(&self->dom, part, VFAB_A_LINK_COUNT));			\
} while (0)

/* --- traffic -------------------------------------------------------------------------------- */

/* What each process stores in the windows of all others of its partition */
struct traffic {
	_Atomic uint32_t ready, stop;
	_Atomic uint64_t ok[WORLD][WORLD], bad[WORLD][WORLD];
	struct vfab_peer view[WORLD][WORLD];
	pid_t pid[WORLD];
	uint8_t ranks;
};

static void run_rank(struct traffic *t, const struct vft_domain *dom, uint32_t part, uint32_t rank)
{
	int fd = vft_join_part(dom, part, rank);
	const struct vfab_view *view = vft_view(fd);
	uint64_t handle, n = 0;
	void *p[WORLD] = { };
	uint32_t i;

	if (fd < 0 || !view || vft_alloc(fd, VFT_PAGE, 7, VFT_RW, &handle))
		_exit(1);
	for (i = 0; i < WORLD; i++) {
		if (i == rank || !(t->ranks >> i & 1))
			continue;
		if (vft_lookup(fd, i, 7, vft_now() + 20 * VFT_SEC, &handle))
			_exit(2);
		p[i] = vft_import_map(fd, handle, VFT_PAGE, VFT_RW, VFAB_LOSS_SIGBUS);
		if (!p[i])
			_exit(3);
	}
	t->ready++;
	while (!t->stop) {
		for (i = 0; i < WORLD; i++) {
			if (!p[i])
				continue;
			if (vft_store((char *)p[i] + 8 * rank, ++n))
				t->bad[rank][i]++;
			else
				t->ok[rank][i]++;
			vft_peer(view, i, &t->view[rank][i]);
		}
		sched_yield();		/* two cores, and others want some */
	}
	_exit(0);
}

static bool all_ready(struct traffic *t)
{
	return t->ready == (uint32_t)__builtin_popcount(t->ranks);
}

static struct traffic *start(const struct vft_domain *dom, uint32_t part, uint8_t ranks)
{
	struct traffic *t = vft_shared(sizeof(*t));
	uint32_t i;

	t->ranks = ranks;
	for (i = 0; i < WORLD; i++) {
		if (!(ranks >> i & 1))
			continue;
		t->pid[i] = vft_fork();
		if (!t->pid[i])
			run_rank(t, dom, part, i);
	}
	return vft_until(20000, all_ready(t)) ? t : NULL;
}

static bool end(struct traffic *t)
{
	bool good = true;
	uint32_t i;

	t->stop = 1;
	for (i = 0; i < WORLD; i++)
		if (t->pid[i])
			good &= !vft_wait_pid(t->pid[i], 10000);
	return good;
}

/* Each pair of @ranks has stored something from now on */
static bool flows(struct traffic *t, uint8_t ranks)
{
	uint64_t was[WORLD][WORLD];
	uint32_t i, j;

	for (i = 0; i < WORLD; i++)
		for (j = 0; j < WORLD; j++)
			was[i][j] = t->ok[i][j];
	for (i = 0; i < WORLD; i++)
		for (j = 0; j < WORLD; j++)
			if (i != j && ranks >> i & 1 && ranks >> j & 1 &&
			    !vft_until(10000, t->ok[i][j] > was[i][j] + 1))
				return false;
	return true;
}

/* How often an access of a pair of @ranks has failed so far, and a peer was lost */
static uint64_t failures(struct traffic *t, uint8_t ranks)
{
	uint64_t n = 0;
	uint32_t i, j;

	for (i = 0; i < WORLD; i++)
		for (j = 0; j < WORLD; j++)
			if (i != j && ranks >> i & 1 && ranks >> j & 1)
				n += t->bad[i][j] + t->view[i][j].losses;
	return n;
}

/* --- two tiers ------------------------------------------------------------------------------ */

/*
 * Two pods of four endpoints with two leaves each (sw0 sw1, sw2 sw3), two spines
 * (sw4 sw5): an endpoint's port k leads to its pod's leaf k, a leaf's ports 4 and
 * 5 to the spines. Partition 1 spans both pods, partition 2 is in one.
 */
FIXTURE(tiers) {
	struct vft_domain dom;
	struct traffic *t;
};

FIXTURE_VARIANT(tiers) {
	uint32_t mode, lossy;
};

FIXTURE_VARIANT_ADD(tiers, adaptive) {
	.mode = ADAPTIVE, .lossy = LIMITED,
};

FIXTURE_VARIANT_ADD(tiers, full) {
	.mode = FULL, .lossy = UNHEALTHY,
};

#define SPAN	0x33	/* ranks 0 1 4 5 */
#define POD	0x0c	/* ranks 2 3 */

FIXTURE_SETUP(tiers)
{
	struct vfab_link_spec link[24];
	struct vft_options opt = {
		.links = link, .switches = 6, .partitions = VFAB_PARTITIONS_NONE,
	};
	uint16_t i, l;

	for (i = 0; i < 8; i++)
		for (l = 0; l < 2; l++)
			link[opt.nlinks++] = (struct vfab_link_spec){
				.node = { i, SW(i / 4 * 2 + l) }, .port = { l, i % 4 },
				.width = 2, .rate = RATE, .latency = 100,
			};
	for (i = 0; i < 4; i++)
		for (l = 4; l < 6; l++)
			link[opt.nlinks++] = (struct vfab_link_spec){
				.node = { SW(i), SW(l) }, .port = { l, i },
				.width = 2, .rate = RATE, .latency = 100,
			};
	ASSERT_EQ(0, vft_domain_create(&self->dom, 8, &opt));
	ASSERT_EQ(0, part_create(&self->dom, 1, SPAN, variant->mode));
	ASSERT_EQ(0, part_create(&self->dom, 2, POD, ADAPTIVE));
	EXPECT_EQ(HEALTHY, health(&self->dom, 1));
	EXPECT_EQ(HEALTHY, health(&self->dom, 2));
	/* 4 x 2 access links and all 8 trunks; the other needs none of these */
	EXPECT_LINKS(16, 16, 1);
	EXPECT_LINKS(4, 4, 2);
	self->t = start(&self->dom, 1, SPAN);
	ASSERT_NE(NULL, self->t);
}

FIXTURE_TEARDOWN_PARENT(tiers)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

static void take_rate(const struct vft_msg *msg, void *arg)
{
	*(uint32_t *)arg = vft_u32(msg, VFAB_A_RATE);
}

static uint32_t rate(const struct vft_domain *dom, uint32_t src, uint32_t dst)
{
	uint32_t value = 0;
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_ROUTE_TRACE, 0);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	vft_put_u32(&req, VFAB_A_SRC, src);
	vft_put_u32(&req, VFAB_A_DST, dst);
	return vft_call(vft_nl(), &req, take_rate, &value) ? 0 : value;
}

TEST_F(tiers, access_link)
{
	ASSERT_EQ(2 * RATE, rate(&self->dom, 0, 4));
	ASSERT_EQ(0, vft_port(&self->dom, 0, -1, 0, false));
	EXPECT_EQ(variant->lossy, health(&self->dom, 1));
	EXPECT_EQ(variant->lossy, ep_health(&self->dom, 0));
	EXPECT_EQ(HEALTHY, ep_health(&self->dom, 1));
	EXPECT_EQ(HEALTHY, health(&self->dom, 2));
	EXPECT_LINKS(15, 16, 1);
	/* whatever it is called: half the rate, and nobody lost anything */
	EXPECT_EQ(RATE, rate(&self->dom, 0, 4));
	EXPECT_EQ(2 * RATE, rate(&self->dom, 1, 4));
	EXPECT_TRUE(flows(self->t, SPAN));
	EXPECT_EQ(0, failures(self->t, SPAN));
	/* without the one that misses it, it has all again */
	ASSERT_EQ(0, park(&self->dom, 1, 1 << 0));
	EXPECT_EQ(HEALTHY, health(&self->dom, 1));
	EXPECT_EQ(UNHEALTHY, ep_health(&self->dom, 0));
	EXPECT_LINKS(14, 14, 1);
	EXPECT_TRUE(vft_until(10000, self->t->bad[0][4] && self->t->bad[4][0]));
	EXPECT_TRUE(flows(self->t, SPAN & ~1));
	EXPECT_EQ(0, failures(self->t, SPAN & ~1));
	/* repaired, and back */
	ASSERT_EQ(0, vft_port(&self->dom, 0, -1, 0, true));
	ASSERT_EQ(0, unpark(&self->dom, 1, 1 << 0));
	EXPECT_EQ(HEALTHY, health(&self->dom, 1));
	EXPECT_EQ(HEALTHY, ep_health(&self->dom, 0));
	EXPECT_EQ(2 * RATE, rate(&self->dom, 0, 4));
	EXPECT_TRUE(flows(self->t, SPAN));
	EXPECT_TRUE(end(self->t));
}

TEST_F(tiers, trunk_link)
{
	/* sw0 to sw4 */
	ASSERT_EQ(0, vft_port(&self->dom, -1, 0, 4, false));
	EXPECT_EQ(variant->lossy, health(&self->dom, 1));
	EXPECT_LINKS(15, 16, 1);
	/* no endpoint misses a port, and who stays in a pod misses nothing */
	EXPECT_EQ(HEALTHY, ep_health(&self->dom, 0));
	EXPECT_EQ(HEALTHY, health(&self->dom, 2));
	EXPECT_LINKS(4, 4, 2);
	EXPECT_TRUE(flows(self->t, SPAN));
	EXPECT_EQ(0, failures(self->t, SPAN));
	/* those of one pod alone would not miss it either */
	ASSERT_EQ(0, park(&self->dom, 1, 0x30));
	EXPECT_EQ(HEALTHY, health(&self->dom, 1));
	EXPECT_LINKS(4, 4, 1);
	ASSERT_EQ(0, unpark(&self->dom, 1, 0x30));
	EXPECT_EQ(variant->lossy, health(&self->dom, 1));
	ASSERT_EQ(0, vft_port(&self->dom, -1, 0, 4, true));
	EXPECT_EQ(HEALTHY, health(&self->dom, 1));
	EXPECT_TRUE(flows(self->t, SPAN));
	EXPECT_TRUE(end(self->t));
}

TEST_F(tiers, a_spine)
{
	ASSERT_EQ(0, vft_switch(&self->dom, 4, false));
	EXPECT_EQ(variant->lossy, health(&self->dom, 1));
	EXPECT_EQ(HEALTHY, ep_health(&self->dom, 0));
	EXPECT_EQ(HEALTHY, health(&self->dom, 2));
	EXPECT_LINKS(12, 16, 1);
	EXPECT_TRUE(flows(self->t, SPAN));
	EXPECT_EQ(0, failures(self->t, SPAN));
	/* both: pods do not reach each other any more, which no mode calls well */
	ASSERT_EQ(0, vft_switch(&self->dom, 5, false));
	EXPECT_EQ(UNHEALTHY, health(&self->dom, 1));
	EXPECT_LINKS(8, 16, 1);
	EXPECT_TRUE(vft_until(10000, self->t->bad[0][4] && self->t->bad[4][0]));
	EXPECT_TRUE(flows(self->t, 0x03));
	EXPECT_TRUE(flows(self->t, 0x30));
	EXPECT_EQ(0, failures(self->t, 0x03) + failures(self->t, 0x30));
	EXPECT_EQ(HEALTHY, health(&self->dom, 2));
	ASSERT_EQ(0, vft_switch(&self->dom, 4, true));
	ASSERT_EQ(0, vft_switch(&self->dom, 5, true));
	EXPECT_EQ(HEALTHY, health(&self->dom, 1));
	EXPECT_TRUE(flows(self->t, SPAN));
	EXPECT_TRUE(end(self->t));
}

TEST_F(tiers, a_leaf)
{
	ASSERT_EQ(0, vft_switch(&self->dom, 0, false));
	EXPECT_EQ(variant->lossy, health(&self->dom, 1));
	EXPECT_EQ(variant->lossy, ep_health(&self->dom, 0));
	EXPECT_EQ(HEALTHY, ep_health(&self->dom, 4));
	/* an access link of each of ranks 0 and 1, and two trunks */
	EXPECT_LINKS(12, 16, 1);
	EXPECT_EQ(LIMITED, health(&self->dom, 2));
	EXPECT_EQ(LIMITED, ep_health(&self->dom, 2));
	EXPECT_LINKS(2, 4, 2);
	EXPECT_TRUE(flows(self->t, SPAN));
	EXPECT_EQ(0, failures(self->t, SPAN));
	ASSERT_EQ(0, vft_switch(&self->dom, 0, true));
	EXPECT_EQ(HEALTHY, health(&self->dom, 1));
	EXPECT_TRUE(end(self->t));
}

/* Degraded, not lost: a full partition wants what was built. */
TEST_F(tiers, a_slow_link)
{
	struct vft_req req;

	vft_link_req(&req, &self->dom, 0, -1, 0);
	vft_put_u32(&req, VFAB_A_RATE, RATE / 2);
	ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	EXPECT_EQ(variant->lossy, health(&self->dom, 1));
	EXPECT_EQ(HEALTHY, ep_health(&self->dom, 0));
	EXPECT_LINKS(16, 16, 1);
	/* the other mode, of the same links */
	ASSERT_EQ(0, part_set(&self->dom, 1, VFAB_A_RESILIENCY,
			      variant->mode == FULL ? ADAPTIVE : FULL));
	EXPECT_EQ(variant->mode == FULL ? LIMITED : UNHEALTHY, health(&self->dom, 1));
	EXPECT_TRUE(flows(self->t, SPAN));
	EXPECT_EQ(0, failures(self->t, SPAN));
	EXPECT_TRUE(end(self->t));
}

/* --- planes --------------------------------------------------------------------------------- */

/* (n - 1) / n of links and rate, for each switch of n that is lost */
TEST(a_lost_plane_takes_its_share)
{
	struct vft_options opt = { .planes = 4 };
	struct vft_domain dom;
	uint32_t i, all;

	ASSERT_EQ(0, vft_domain_create(&dom, 8, &opt));
	all = rate(&dom, 0, 1);
	EXPECT_EQ(32, part_get(&dom, 0, VFAB_A_LINK_COUNT));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(i ? LIMITED : HEALTHY, health(&dom, 0));
		EXPECT_EQ((4 - i) * 8, part_get(&dom, 0, VFAB_A_LINKS_UP));
		EXPECT_EQ(all / 4 * (4 - i), rate(&dom, 0, 1));
		ASSERT_EQ(0, vft_switch(&dom, i, false));
	}
	EXPECT_EQ(UNHEALTHY, health(&dom, 0));
	EXPECT_EQ(0, part_get(&dom, 0, VFAB_A_LINKS_UP));
	EXPECT_EQ(0, vft_domain_end(&dom));
}

/* --- parking -------------------------------------------------------------------------------- */

FIXTURE(park) {
	struct vft_domain dom;
	int fd[2];
	uint64_t handle;
	char *p;
};

FIXTURE_SETUP(park)
{
	ASSERT_EQ(0, vft_domain_create(&self->dom, 8, NULL));
	self->fd[0] = vft_join(&self->dom, 0);
	self->fd[1] = vft_join(&self->dom, 1);
	ASSERT_EQ(0, vft_alloc(self->fd[0], VFT_PAGE, 1, VFT_RW, &self->handle));
	self->p = vft_import_map(self->fd[1], self->handle, VFT_PAGE, VFT_RW, VFAB_LOSS_SIGBUS);
	ASSERT_NE(NULL, self->p);
	ASSERT_EQ(0, vft_store(self->p, 42));
}

FIXTURE_TEARDOWN_PARENT(park)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

/* Out of service for whoever looks, and back as it was. */
TEST_F(park, nothing_gets_through_until_it_is_back)
{
	uint64_t gen = vft_domain_get(&self->dom, VFAB_A_GENERATION), handle, value;
	const struct vfab_view *view = vft_view(self->fd[1]);
	struct vfab_event ev[8] = { };
	struct vfab_peer peer;
	uint64_t loss = view->loss, cookie;

	ASSERT_EQ(0, park(&self->dom, 0, 1 << 0));
	EXPECT_LT(gen, vft_domain_get(&self->dom, VFAB_A_GENERATION));
	EXPECT_EQ(SIGBUS, vft_touch(self->p));
	EXPECT_EQ(-EHOSTUNREACH, vft_ring(self->fd[1], 0, 0));
	EXPECT_EQ(-EHOSTUNREACH, vft_ring(self->fd[0], 1, 0));
	EXPECT_EQ(-EHOSTUNREACH, vft_import(self->fd[1], self->handle, VFT_RW, 0, &cookie));
	EXPECT_EQ(-EHOSTUNREACH, vft_lookup(self->fd[1], 0, 1, 0, &handle));
	EXPECT_NE(loss, view->loss);
	vft_peer(view, 0, &peer);
	EXPECT_EQ(VFAB_PEER_UNREACHABLE, peer.state);
	EXPECT_EQ(1, peer.losses);
	ASSERT_LE((ssize_t)sizeof(ev[0]), read(self->fd[1], ev, sizeof(ev)));
	EXPECT_EQ(VFAB_EVENT_PEER_LOST, ev[0].type);
	EXPECT_EQ(0, ev[0].rank);
	EXPECT_EQ(VFAB_REASON_ROUTE, ev[0].reason);
	/* it is a member all the same, and held */
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 0, VFAB_A_PARTITION));
	EXPECT_EQ(1, vft_endpoint_get(&self->dom, 0, VFAB_A_PARKED));
	EXPECT_EQ(1, vft_endpoint_get(&self->dom, 0, VFAB_A_HELD));
	EXPECT_EQ(8, part_get(&self->dom, 0, VFAB_A_MEMBER_COUNT));
	/* once more changes nothing */
	gen = vft_domain_get(&self->dom, VFAB_A_GENERATION);
	EXPECT_EQ(0, park(&self->dom, 0, 1 << 0));
	EXPECT_EQ(gen, vft_domain_get(&self->dom, VFAB_A_GENERATION));
	/* nor does a link, meanwhile */
	ASSERT_EQ(0, vft_port(&self->dom, 0, -1, 0, false));
	ASSERT_EQ(0, vft_port(&self->dom, 0, -1, 0, true));
	EXPECT_EQ(SIGBUS, vft_touch(self->p));
	ASSERT_EQ(0, unpark(&self->dom, 0, 1 << 0));
	EXPECT_EQ(0, vft_load(self->p, &value));
	EXPECT_EQ(42, value);
	EXPECT_EQ(0, vft_ring(self->fd[1], 0, 0));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 0, VFAB_A_PARKED));
	vft_peer(view, 0, &peer);
	EXPECT_EQ(VFAB_PEER_HELD, peer.state);
}

/* Who attaches there may, and waits for better times. */
TEST_F(park, attaching)
{
	struct vfab_peer peer;
	int fd;

	ASSERT_EQ(0, park(&self->dom, 0, 1 << 5));
	fd = vft_join(&self->dom, 5);
	ASSERT_LE(0, fd);
	vft_peer(vft_view(fd), 0, &peer);
	EXPECT_EQ(VFAB_PEER_UNREACHABLE, peer.state);
	EXPECT_EQ(-EHOSTUNREACH, vft_ring(fd, 0, 0));
	ASSERT_EQ(0, unpark(&self->dom, 0, 1 << 5));
	EXPECT_EQ(0, vft_ring(fd, 0, 0));
	vft_peer(vft_view(fd), 0, &peer);
	EXPECT_EQ(VFAB_PEER_HELD, peer.state);
}

TEST_F(park, whoever_is_moved_is_parked_no_more)
{
	ASSERT_EQ(0, part_create(&self->dom, 1, 0, ADAPTIVE));
	ASSERT_EQ(0, park(&self->dom, 0, 1 << 0));
	ASSERT_EQ(0, vft_partition_add(&self->dom, 1, 0, 2));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 0, VFAB_A_PARKED));
	EXPECT_EQ(0, vft_ring(self->fd[1], 0, 0));
}

/* One with nobody in service has no health; with one, it has all it needs. */
TEST_F(park, all_of_them)
{
	ASSERT_EQ(0, park(&self->dom, 0, 0xff));
	EXPECT_EQ(VFAB_HEALTH_NOT_SUPPORTED, health(&self->dom, 0));
	EXPECT_EQ(0, part_get(&self->dom, 0, VFAB_A_LINK_COUNT));
	ASSERT_EQ(0, unpark(&self->dom, 0, 1));
	EXPECT_EQ(HEALTHY, health(&self->dom, 0));
	EXPECT_EQ(2, part_get(&self->dom, 0, VFAB_A_LINK_COUNT));
}

TEST_F(park, refusals)
{
	uint8_t one = 1, two = 3;
	struct vft_req req;

	ASSERT_EQ(0, part_create(&self->dom, 1, 0, FULL));
	EXPECT_EQ(-EINVAL, park(&self->dom, 1, 1));
	EXPECT_EQ(VFAB_A_PARK_MEMBERS, vft_nl()->bad_attr);
	EXPECT_EQ(-EINVAL, unpark(&self->dom, 1, 1));
	EXPECT_EQ(VFAB_A_UNPARK_MEMBERS, vft_nl()->bad_attr);
	EXPECT_EQ(-EINVAL, part_set(&self->dom, 0, 0, 0));
	EXPECT_EQ(-EINVAL, park(&self->dom, 0, 0));
	EXPECT_EQ(-ERANGE, part_set(&self->dom, 0, VFAB_A_RESILIENCY, 2));
	EXPECT_EQ(VFAB_A_RESILIENCY, vft_nl()->bad_attr);
#define TWO(a, pa, b, pb) (vft_req(&req, vft_nl(), VFAB_CMD_PARTITION_SET, 0),		\
			   vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id),		\
			   vft_put_u32(&req, VFAB_A_PARTITION, 0),			\
			   vft_put(&req, a, pa, 1), vft_put(&req, b, pb, 1),		\
			   vft_call(vft_nl(), &req, NULL, NULL))
	EXPECT_EQ(-EINVAL, TWO(VFAB_A_PARK_MEMBERS, &two, VFAB_A_UNPARK_MEMBERS, &one));
	EXPECT_EQ(-EINVAL, TWO(VFAB_A_PARK_MEMBERS, &two, VFAB_A_DEL_MEMBERS, &one));
	/* all or nothing */
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 1, VFAB_A_PARKED));
	EXPECT_EQ(8, part_get(&self->dom, 0, VFAB_A_MEMBER_COUNT));
	EXPECT_EQ(0, vft_touch(self->p));
}

/* The retry timeout is for this, too: it is as a lost link. */
TEST_F(park, a_moment_is_ridden_out)
{
	struct vfab_peer peer;
	pid_t pid;

	ASSERT_EQ(0, vft_domain_set(&self->dom, VFAB_A_RETRY_TIMEOUT, 20000));
	ASSERT_EQ(0, park(&self->dom, 0, 1 << 0));
	vft_peer(vft_view(self->fd[1]), 0, &peer);
	EXPECT_EQ(VFAB_PEER_RECOVERY, peer.state);
	pid = vft_fork();
	if (!pid) {
		vft_sleep_ms(300);
		_exit(unpark(&self->dom, 0, 1 << 0) ? 1 : 0);
	}
	EXPECT_EQ(0, vft_touch(self->p));
	EXPECT_EQ(0, vft_wait_pid(pid, 10000));
	vft_peer(vft_view(self->fd[1]), 0, &peer);
	EXPECT_EQ(VFAB_PEER_HELD, peer.state);
	EXPECT_EQ(0, peer.losses);
}

TEST_F(park, events)
{
	const int want[] = { VFAB_A_PARKED, VFAB_A_RESILIENCY, VFAB_A_PARKED };
	struct vft_msg msg;
	struct vft_nl nl;
	char buf[8192];
	unsigned int i = 0;

	ASSERT_EQ(0, vft_nl_open(&nl));
	ASSERT_EQ(0, vft_nl_listen(&nl));
	ASSERT_EQ(0, park(&self->dom, 0, 6));
	ASSERT_EQ(0, part_set(&self->dom, 0, VFAB_A_RESILIENCY, FULL));
	ASSERT_EQ(0, part_set(&self->dom, 0, VFAB_A_RESILIENCY, FULL));
	ASSERT_EQ(0, unpark(&self->dom, 0, 2));
	while (i < 3) {
		ASSERT_EQ(0, vft_event(&nl, 10000, &msg, buf, sizeof(buf)));
		if (vft_u32(&msg, VFAB_A_DOMAIN) != self->dom.id)
			continue;
		EXPECT_EQ(VFAB_OBJ_PARTITION, vft_u32(&msg, VFAB_A_OBJECT));
		EXPECT_EQ(VFAB_ACT_CHANGED, vft_u32(&msg, VFAB_A_ACTION));
		EXPECT_EQ(VFAB_WHY_ADMIN, vft_u32(&msg, VFAB_A_REASON));
		EXPECT_NE(NULL, msg.a[want[i]]);
		i++;
	}
	vft_nl_close(&nl);
}

TEST_HARNESS_MAIN
