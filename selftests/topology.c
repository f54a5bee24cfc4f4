// SPDX-License-Identifier: GPL-2.0
/*
 * Fabrics that are given as a list of links, and links that are neither up nor
 * down. What the model compiles is tested without a kernel (route_test); here
 * it is bytes that come through, or do not. By example:
 *
 *	build/selftests/topology -t two_tiers
 */
#include <poll.h>
#include "kselftest_harness.h"
#include "vft.h"

#define SW(i)	((uint16_t)(VFAB_SPEC_SWITCH | (i)))
#define RATE	50000
#define LATENCY	300

struct build {
	struct vfab_link_spec link[128];
	uint32_t n;
	uint16_t port[64], swport[16];
};

static void join(struct build *b, uint16_t x, uint16_t y)
{
	uint16_t *px = x & VFAB_SPEC_SWITCH ? &b->swport[x & 15] : &b->port[x];
	uint16_t *py = y & VFAB_SPEC_SWITCH ? &b->swport[y & 15] : &b->port[y];

	b->link[b->n++] = (struct vfab_link_spec){
		.node = { x, y }, .port = { (*px)++, (*py)++ },
		.width = 2, .rate = RATE, .latency = LATENCY,
	};
}

static int build(struct build *b, struct vft_domain *dom, uint32_t world, uint32_t switches,
		 bool forwarding)
{
	struct vft_options opt = {
		.links = b->link, .nlinks = b->n, .switches = switches,
		.switch_latency = 100, .forwarding = forwarding,
	};

	return vft_domain_create(dom, world, &opt);
}

/* Two pods of four, two leaves each (0 1, 2 3), two spines (4 5) */
static int two_tiers(struct vft_domain *dom)
{
	struct build b = { };
	uint16_t i, l;

	for (i = 0; i < 8; i++)
		for (l = 0; l < 2; l++)
			join(&b, i, SW(i / 4 * 2 + l));
	for (i = 0; i < 4; i++)
		for (l = 4; l < 6; l++)
			join(&b, SW(i), SW(l));
	return build(&b, dom, 8, 6, false);
}

static int torus(struct vft_domain *dom, uint16_t x, uint16_t y)
{
	struct build b = { };
	uint16_t i, j;

	for (j = 0; j < y; j++)
		for (i = 0; i < x; i++) {
			join(&b, j * x + i, j * x + (i + 1) % x);
			join(&b, j * x + i, (j + 1) % y * x + i);
		}
	return build(&b, dom, x * y, 0, true);
}

static int mesh(struct vft_domain *dom, uint16_t world)
{
	struct build b = { };
	uint16_t i, j;

	for (i = 0; i < world; i++)
		for (j = i + 1; j < world; j++)
			join(&b, i, j);
	return build(&b, dom, world, 0, false);
}

/* A window of each rank, imported by all others: p[a][b] is a's map of b's. */
struct all {
	int fd[8];
	uint32_t n;
	uint64_t *p[8][8];
};

static int attach_all(struct all *s, const struct vft_domain *dom, uint32_t n)
{
	uint64_t handle[8];
	uint32_t a, b;

	s->n = n;
	for (a = 0; a < n; a++) {
		s->fd[a] = vft_join(dom, a);
		if (s->fd[a] < 0 || vft_alloc(s->fd[a], VFT_PAGE, 1, VFT_RW, &handle[a]))
			return -1;
	}
	for (a = 0; a < n; a++)
		for (b = 0; b < n; b++) {
			s->p[a][b] = vft_import_map(s->fd[a], handle[b], VFT_PAGE, VFT_RW, 0);
			if (!s->p[a][b] || vft_store(&s->p[a][b][a], a + 1))
				return -1;
		}
	return 0;
}

/* How many ordered pairs of different ranks reach each other, by bytes. */
static unsigned int reached(const struct all *s)
{
	unsigned int n = 0;
	uint32_t a, b;

	for (a = 0; a < s->n; a++)
		for (b = 0; b < s->n; b++)
			n += a != b && !vft_touch(s->p[a][b]);
	return n;
}

static void peer(const struct all *s, uint32_t a, uint32_t b, struct vfab_peer *p)
{
	vft_peer(vft_view(s->fd[a]), b, p);
}

FIXTURE(fabric) {
	struct vft_domain dom;
};

FIXTURE_SETUP(fabric)
{
}

FIXTURE_TEARDOWN_PARENT(fabric)
{
	if (self->dom.exists)
		EXPECT_EQ(0, vft_domain_end(&self->dom));
}

TEST_F(fabric, two_tiers)
{
	struct vfab_peer p;
	struct all s;

	ASSERT_EQ(0, two_tiers(&self->dom));
	EXPECT_EQ(6, vft_domain_get(&self->dom, VFAB_A_SWITCHES));
	EXPECT_EQ(24, vft_domain_get(&self->dom, VFAB_A_LINK_COUNT));
	EXPECT_EQ(2, vft_domain_get(&self->dom, VFAB_A_PLANES));
	/* links differ in what they join: there is no one latency */
	EXPECT_EQ(~0ULL, vft_domain_get(&self->dom, VFAB_A_LATENCY));
	ASSERT_EQ(0, attach_all(&s, &self->dom, 8));
	EXPECT_EQ(56, reached(&s));
	peer(&s, 0, 1, &p);
	EXPECT_EQ(2, p.paths);
	EXPECT_EQ(2 * RATE, p.rate);
	EXPECT_EQ(2 * LATENCY + 100, p.latency);
	peer(&s, 0, 7, &p);
	EXPECT_EQ(2, p.paths);
	EXPECT_EQ(4 * LATENCY + 300, p.latency);

	/* a spine is lost: half the rate between the leaves, no path less */
	ASSERT_EQ(0, vft_switch(&self->dom, 4, false));
	EXPECT_EQ(56, reached(&s));
	peer(&s, 0, 7, &p);
	EXPECT_EQ(2, p.paths);
	/* one leaf's last way up: the other leaf is left */
	ASSERT_EQ(0, vft_port(&self->dom, -1, 0, 5, false));
	peer(&s, 0, 7, &p);
	EXPECT_EQ(1, p.paths);
	EXPECT_EQ(RATE, p.rate);
	peer(&s, 0, 1, &p);
	EXPECT_EQ(2, p.paths);
	EXPECT_EQ(56, reached(&s));
	/* that one's too: the pods are apart, each is whole */
	ASSERT_EQ(0, vft_port(&self->dom, -1, 1, 5, false));
	EXPECT_EQ(24, reached(&s));
	EXPECT_EQ(0, vft_touch(s.p[0][3]));
	EXPECT_EQ(SIGBUS, vft_touch(s.p[0][4]));
	ASSERT_EQ(0, vft_switch(&self->dom, 4, true));
	EXPECT_EQ(56, reached(&s));
	/* a leaf: its endpoints go on by the other */
	ASSERT_EQ(0, vft_switch(&self->dom, 0, false));
	EXPECT_EQ(56, reached(&s));
	peer(&s, 1, 2, &p);
	EXPECT_EQ(1, p.paths);
}

TEST_F(fabric, a_torus_forwards)
{
	struct vft_req req;
	struct vfab_peer p;
	struct all s;

	ASSERT_EQ(0, torus(&self->dom, 4, 2));
	ASSERT_EQ(0, attach_all(&s, &self->dom, 8));
	EXPECT_EQ(56, reached(&s));
	/* two steps along the ring of four, either way round */
	peer(&s, 0, 2, &p);
	EXPECT_EQ(2, p.paths);
	EXPECT_EQ(2 * LATENCY + 100, p.latency);
	/* no table entry leads the long way: ports 0 and 3 of rank 0 are all */
	ASSERT_EQ(0, vft_port(&self->dom, 0, -1, 0, false));
	peer(&s, 0, 2, &p);
	EXPECT_EQ(1, p.paths);
	EXPECT_EQ(SIGBUS, vft_touch(s.p[0][1]));
	EXPECT_EQ(0, vft_touch(s.p[0][2]));
	/* until one is given, here and there: by way of rank 4, which forwards */
	vft_req(&req, vft_nl(), VFAB_CMD_ROUTE_GET, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
	vft_put_u32(&req, VFAB_A_RANK, 4);
	vft_put_u32(&req, VFAB_A_DEST, 1);
	EXPECT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	vft_req(&req, vft_nl(), VFAB_CMD_ROUTE_SET, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
	vft_put_u32(&req, VFAB_A_RANK, 0);
	vft_put_u32(&req, VFAB_A_DEST, 1);
	vft_put_u32(&req, VFAB_A_EGRESS, 0);
	vft_put_u64(&req, VFAB_A_EGRESS_MASK, 0xf);
	EXPECT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	vft_req(&req, vft_nl(), VFAB_CMD_ROUTE_SET, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
	vft_put_u32(&req, VFAB_A_RANK, 1);
	vft_put_u32(&req, VFAB_A_DEST, 0);
	vft_put_u32(&req, VFAB_A_EGRESS, 0);
	vft_put_u64(&req, VFAB_A_EGRESS_MASK, 0xf);
	EXPECT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	EXPECT_EQ(0, vft_touch(s.p[0][1]));
	EXPECT_EQ(0, vft_touch(s.p[1][0]));
}

TEST_F(fabric, a_mesh_does_not)
{
	struct vft_req req;
	struct all s;

	ASSERT_EQ(0, mesh(&self->dom, 6));
	ASSERT_EQ(0, attach_all(&s, &self->dom, 6));
	EXPECT_EQ(30, reached(&s));
	/* rank 0's port 2 leads to rank 3 */
	ASSERT_EQ(0, vft_port(&self->dom, 0, -1, 2, false));
	EXPECT_EQ(28, reached(&s));
	EXPECT_EQ(SIGBUS, vft_touch(s.p[3][0]));
	/* endpoints that forward nothing have no table */
	vft_req(&req, vft_nl(), VFAB_CMD_ROUTE_SET, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
	vft_put_u32(&req, VFAB_A_RANK, 0);
	vft_put_u32(&req, VFAB_A_DEST, 3);
	vft_put_u32(&req, VFAB_A_EGRESS, 0);
	EXPECT_EQ(-EINVAL, vft_call(vft_nl(), &req, NULL, NULL));
	EXPECT_EQ(VFAB_A_RANK, vft_nl()->bad_attr);
}

/* --- Links that are neither up nor down ------------------------------------------ */

struct link_state {
	uint32_t state, reason, rate, latency, width, up;
};

static void take_state(const struct vft_msg *msg, void *arg)
{
	struct link_state *s = arg;

	s->state = vft_u32(msg, VFAB_A_LINK_STATE);
	s->reason = vft_u32(msg, VFAB_A_LINK_REASON);
	s->rate = vft_u32(msg, VFAB_A_RATE);
	s->latency = vft_u32(msg, VFAB_A_LATENCY);
	s->width = vft_u32(msg, VFAB_A_WIDTH);
}

static struct link_state state_of(const struct vft_domain *dom, int rank, int port)
{
	struct link_state s = { ~0U, ~0U, 0, 0, 0, 0 };
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_PORT_GET, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	vft_put_u32(&req, VFAB_A_RANK, rank);
	vft_put_u32(&req, VFAB_A_PORT, port);
	vft_call(vft_nl(), &req, take_state, &s);
	return s;
}

static int with_flag(const struct vft_domain *dom, int rank, int sw, int port, int flag)
{
	struct vft_req req;

	vft_link_req(&req, dom, rank, sw, port);
	vft_put_flag(&req, flag);
	return vft_call(vft_nl(), &req, NULL, NULL);
}

TEST_F(fabric, a_degraded_link)
{
	struct link_state s;
	struct vfab_peer p;
	struct vft_req req;
	struct all all;

	ASSERT_EQ(0, two_tiers(&self->dom));
	ASSERT_EQ(0, attach_all(&all, &self->dom, 8));
	vft_link_req(&req, &self->dom, 0, -1, 1);
	vft_put_u32(&req, VFAB_A_RATE, RATE / 2);
	vft_put_u32(&req, VFAB_A_LATENCY, 1000);
	vft_put_u32(&req, VFAB_A_WIDTH, 1);
	ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	s = state_of(&self->dom, 0, 1);
	EXPECT_EQ(VFAB_LINK_DEGRADED, s.state);
	EXPECT_EQ(VFAB_LINK_REASON_DEGRADED, s.reason);
	EXPECT_EQ(RATE / 2, s.rate);
	EXPECT_EQ(1000, s.latency);
	EXPECT_EQ(1, s.width);
	/* who uses the link sees it, from both ends; who does not, does not */
	peer(&all, 0, 1, &p);
	EXPECT_EQ(RATE + RATE / 2, p.rate);
	EXPECT_EQ(2, p.paths);
	peer(&all, 7, 0, &p);
	EXPECT_EQ(RATE + RATE / 2, p.rate);
	peer(&all, 1, 2, &p);
	EXPECT_EQ(2 * RATE, p.rate);
	EXPECT_EQ(56, reached(&all));
	/* the rest stays as it was, and comes back */
	vft_link_req(&req, &self->dom, 0, -1, 1);
	vft_put_u32(&req, VFAB_A_WIDTH, 2);
	ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	EXPECT_EQ(RATE / 2, state_of(&self->dom, 0, 1).rate);
	ASSERT_EQ(0, with_flag(&self->dom, 0, -1, 1, VFAB_A_RESTORE));
	s = state_of(&self->dom, 0, 1);
	EXPECT_EQ(VFAB_LINK_ACTIVE, s.state);
	EXPECT_EQ(RATE, s.rate);
	EXPECT_EQ(LATENCY, s.latency);
	peer(&all, 7, 0, &p);
	EXPECT_EQ(2 * RATE, p.rate);
}

/* Where all links are alike, too: what is changed and undone is seen at once. */
TEST_F(fabric, a_crossbar_is_restored)
{
	struct vfab_peer p;
	struct vft_req req;
	uint32_t rate;
	struct all s;

	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, NULL));
	ASSERT_EQ(0, attach_all(&s, &self->dom, 3));
	peer(&s, 1, 0, &p);
	rate = p.rate;
	vft_link_req(&req, &self->dom, 0, -1, 1);
	vft_put_u32(&req, VFAB_A_RATE, rate / 4);
	ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	peer(&s, 1, 0, &p);
	EXPECT_EQ(rate / 2 + rate / 4, p.rate);
	ASSERT_EQ(0, with_flag(&self->dom, 0, -1, 1, VFAB_A_RESTORE));
	peer(&s, 1, 0, &p);
	EXPECT_EQ(rate, p.rate);
	ASSERT_EQ(0, with_flag(&self->dom, 0, -1, 1, VFAB_A_DRAIN));
	peer(&s, 1, 0, &p);
	EXPECT_EQ(1, p.paths);
	EXPECT_EQ(rate / 2, p.rate);
}

TEST_F(fabric, a_drained_link)
{
	struct vfab_peer p;
	struct vft_req req;
	struct all s;

	ASSERT_EQ(0, two_tiers(&self->dom));
	ASSERT_EQ(0, attach_all(&s, &self->dom, 8));
	ASSERT_EQ(0, with_flag(&self->dom, 0, -1, 0, VFAB_A_DRAIN));
	EXPECT_EQ(VFAB_LINK_ACTIVE, state_of(&self->dom, 0, 0).state);
	EXPECT_EQ(VFAB_LINK_REASON_DRAIN, state_of(&self->dom, 0, 0).reason);
	peer(&s, 0, 1, &p);
	EXPECT_EQ(1, p.paths);
	EXPECT_EQ(56, reached(&s));
	/* degraded besides, it is both */
	vft_link_req(&req, &self->dom, 0, -1, 0);
	vft_put_u32(&req, VFAB_A_RATE, RATE / 2);
	ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	EXPECT_EQ(VFAB_LINK_DEGRADED, state_of(&self->dom, 0, 0).state);
	EXPECT_EQ(VFAB_LINK_REASON_DRAIN, state_of(&self->dom, 0, 0).reason);
	ASSERT_EQ(0, with_flag(&self->dom, 0, -1, 0, VFAB_A_RESTORE));
	/* the last one is not: refused, and nothing has changed */
	EXPECT_EQ(-EBUSY, with_flag(&self->dom, 0, -1, 1, VFAB_A_DRAIN));
	EXPECT_STRNE("", vft_nl()->text);
	EXPECT_EQ(VFAB_LINK_REASON_NONE, state_of(&self->dom, 0, 1).reason);
	EXPECT_EQ(-EBUSY, with_flag(&self->dom, -1, 1, -1, VFAB_A_DRAIN));
	EXPECT_EQ(VFAB_LINK_REASON_NONE, state_of(&self->dom, 2, 1).reason);
	EXPECT_EQ(VFAB_LINK_REASON_DRAIN, state_of(&self->dom, 0, 0).reason);
	peer(&s, 0, 1, &p);
	EXPECT_EQ(1, p.paths);
	EXPECT_EQ(0, p.losses);
	EXPECT_EQ(56, reached(&s));
	ASSERT_EQ(0, vft_port(&self->dom, 0, -1, 0, true));
	peer(&s, 0, 1, &p);
	EXPECT_EQ(2, p.paths);
}

static int flap(const struct vft_domain *dom, int rank, int sw, int port, uint32_t period,
		uint32_t count)
{
	struct vft_req req;

	vft_link_req(&req, dom, rank, sw, port);
	vft_put_u32(&req, VFAB_A_FLAP_PERIOD, period);
	if (count)
		vft_put_u32(&req, VFAB_A_FLAP_COUNT, count);
	return vft_call(vft_nl(), &req, NULL, NULL);
}

TEST_F(fabric, a_flapping_link)
{
	struct vft_options opt = { .planes = 1 };
	struct vfab_peer p;
	uint64_t start;
	struct all s;

	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, &opt));
	ASSERT_EQ(0, attach_all(&s, &self->dom, 3));
	start = vft_now();
	ASSERT_EQ(0, flap(&self->dom, 0, -1, -1, 400, 3));
	/* down when the call returns */
	EXPECT_EQ(SIGBUS, vft_touch(s.p[1][0]));
	EXPECT_EQ(VFAB_LINK_RECOVERY, state_of(&self->dom, 0, 0).state);
	EXPECT_EQ(VFAB_LINK_REASON_FLAP, state_of(&self->dom, 0, 0).reason);
	EXPECT_EQ(0, vft_touch(s.p[1][2]));
	EXPECT_EQ(true, vft_until(5000, (peer(&s, 1, 0, &p), p.losses == 3)));
	EXPECT_EQ(true, vft_until(5000, p.state == VFAB_PEER_HELD ||
				  (peer(&s, 1, 0, &p), false)));
	/* the third comes after two periods, its end half a period later */
	EXPECT_LE(900 * VFT_MS, vft_now() - start);
	vft_sleep_ms(600);
	peer(&s, 1, 0, &p);
	EXPECT_EQ(3, p.losses);
	EXPECT_EQ(6, reached(&s));
	EXPECT_EQ(VFAB_LINK_ACTIVE, state_of(&self->dom, 0, 0).state);
	/* restored in its midst, and ended with its domain */
	ASSERT_EQ(0, flap(&self->dom, 0, -1, -1, 3600000, 0));
	EXPECT_EQ(2, reached(&s));
	ASSERT_EQ(0, with_flag(&self->dom, 0, -1, -1, VFAB_A_RESTORE));
	EXPECT_EQ(6, reached(&s));
	ASSERT_EQ(0, flap(&self->dom, -1, 0, -1, 20, 1000000));
	ASSERT_EQ(0, vft_domain_delete(&self->dom, true));
}

/* Shorter than the retry timeout: nobody notices. */
TEST_F(fabric, a_flap_is_ridden_out)
{
	struct vft_options opt = { .planes = 1, .retry_ms = 20000 };
	struct vfab_peer p;
	struct all s;

	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, &opt));
	ASSERT_EQ(0, attach_all(&s, &self->dom, 2));
	ASSERT_EQ(0, flap(&self->dom, 0, -1, -1, 600, 2));
	EXPECT_EQ(0, vft_touch(s.p[1][0]));
	EXPECT_EQ(0, vft_touch(s.p[0][1]));
	vft_sleep_ms(700);
	EXPECT_EQ(0, vft_touch(s.p[1][0]));
	peer(&s, 1, 0, &p);
	EXPECT_EQ(0, p.losses);
}

/* --- Refusals -------------------------------------------------------------------- */

static int create(const struct vfab_link_spec *links, size_t bytes, int extra)
{
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_CREATE, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_WORLD, 2);
	vft_put_u32(&req, VFAB_A_SWITCHES, 1);
	if (links)
		vft_put(&req, VFAB_A_LINKS, links, bytes);
	if (extra == VFAB_A_FORWARDING)
		vft_put_flag(&req, extra);
	else if (extra == VFAB_A_PROFILE)
		vft_put_str(&req, extra, "no such/name");
	else if (extra)
		vft_put_u32(&req, extra, 2);
	return vft_call(vft_nl(), &req, NULL, NULL);
}

#define REFUSED(err, call) do {						\
	EXPECT_EQ(-(err), call);					\
	EXPECT_STRNE("", vft_nl()->text);				\
} while (0)

TEST(bad_links_make_no_domain)
{
	const struct vfab_link_spec good[2] = {
		{ { 0, SW(0) }, { 0, 0 }, 2, 0, 1, 1 }, { { 1, SW(0) }, { 0, 1 }, 2, 0, 1, 1 },
	};
	unsigned int before = vft_domain_count();
	struct vfab_link_spec bad[2];

	REFUSED(EINVAL, create(good, sizeof(good) - 1, 0));
	EXPECT_EQ(VFAB_A_LINKS, vft_nl()->bad_attr);
	REFUSED(EINVAL, create(good, sizeof(good), VFAB_A_PLANES));
	REFUSED(EINVAL, create(good, sizeof(good), VFAB_A_RATE));
	REFUSED(EINVAL, create(good, sizeof(good), VFAB_A_PROFILE));
	REFUSED(EINVAL, create(NULL, 0, 0));
	REFUSED(EINVAL, create(NULL, 0, VFAB_A_FORWARDING));
#define WITH(change) (memcpy(bad, good, sizeof(good)), bad[1].change, \
		      create(bad, sizeof(bad), 0))
	REFUSED(EINVAL, WITH(node[0] = 2));
	REFUSED(EINVAL, WITH(node[1] = SW(1)));
	REFUSED(EINVAL, WITH(port[1] = 0));
	REFUSED(EINVAL, WITH(port[0] = 64));
	REFUSED(EINVAL, WITH(port[1] = 4096));
	REFUSED(EINVAL, WITH(rate = 0));
	REFUSED(EINVAL, WITH(latency = 1000000001));
	REFUSED(EINVAL, WITH(pad = 1));
	EXPECT_EQ(before, vft_domain_count());
}

TEST_F(fabric, refusals)
{
	struct vft_req req;

	ASSERT_EQ(0, two_tiers(&self->dom));
#define SET(rank, sw, port, put) (vft_link_req(&req, &self->dom, rank, sw, port), put, \
				  vft_call(vft_nl(), &req, NULL, NULL))
	REFUSED(EINVAL, SET(-1, -1, -1, vft_put_u8(&req, VFAB_A_UP, 1)));
	REFUSED(EINVAL, SET(-1, -1, 0, vft_put_u8(&req, VFAB_A_UP, 1)));
	REFUSED(EINVAL, SET(0, -1, 2, vft_put_u8(&req, VFAB_A_UP, 1)));
	/* no link joins rank 0 and the other pod's leaf, or a spine */
	REFUSED(EINVAL, SET(0, 2, -1, vft_put_u8(&req, VFAB_A_UP, 1)));
	REFUSED(EINVAL, SET(0, 6, -1, vft_put_u8(&req, VFAB_A_UP, 1)));
	REFUSED(EINVAL, SET(0, -1, -1, (void)0));
	REFUSED(EINVAL, SET(0, -1, -1, (vft_put_u8(&req, VFAB_A_UP, 1),
					vft_put_flag(&req, VFAB_A_DRAIN))));
	REFUSED(EINVAL, SET(0, -1, -1, (vft_put_flag(&req, VFAB_A_RESTORE),
					vft_put_u32(&req, VFAB_A_WIDTH, 1))));
	REFUSED(EINVAL, SET(0, -1, -1, vft_put_u32(&req, VFAB_A_RATE, 0)));
	REFUSED(EINVAL, SET(0, -1, -1, vft_put_u32(&req, VFAB_A_RATE, 100000001)));
	/* and not above the one that it was built with, which is named */
	REFUSED(EINVAL, SET(0, -1, -1, vft_put_u32(&req, VFAB_A_RATE, RATE + 1)));
	EXPECT_EQ(RATE, state_of(&self->dom, 0, 1).rate);
	EXPECT_EQ(0, SET(0, -1, -1, vft_put_u32(&req, VFAB_A_RATE, RATE)));
	REFUSED(EINVAL, SET(0, -1, -1, vft_put_u32(&req, VFAB_A_LATENCY, 1000000001)));
	REFUSED(EINVAL, SET(0, -1, -1, vft_put_u32(&req, VFAB_A_FLAP_COUNT, 1)));
	EXPECT_EQ(-ERANGE, SET(0, -1, -1, vft_put_u32(&req, VFAB_A_FLAP_PERIOD, 1)));
	EXPECT_EQ(-ERANGE, SET(0, -1, -1, vft_put_u32(&req, VFAB_A_WIDTH, 65536)));
	REFUSED(EINVAL, SET(0, -1, -1, (vft_put_u32(&req, VFAB_A_FLAP_PERIOD, 10),
					vft_put_u32(&req, VFAB_A_FLAP_COUNT, 0))));

	vft_req(&req, vft_nl(), VFAB_CMD_ROUTE_SET, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
	vft_put_u32(&req, VFAB_A_SWITCH, 0);
	vft_put_u32(&req, VFAB_A_DEST, 0);
	vft_put_u32(&req, VFAB_A_EGRESS, 4);
	vft_put_u64(&req, VFAB_A_EGRESS_MASK, 6);
	REFUSED(EINVAL, vft_call(vft_nl(), &req, NULL, NULL));
	EXPECT_EQ(VFAB_A_EGRESS_MASK, vft_nl()->bad_attr);

	vft_req(&req, vft_nl(), VFAB_CMD_PATH_GET, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
	REFUSED(EINVAL, vft_call(vft_nl(), &req, NULL, NULL));
}

static int set_list(const struct vft_domain *dom, const struct vfab_entry_spec *e, size_t bytes,
		    int extra)
{
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_ROUTE_SET, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	vft_put(&req, VFAB_A_ENTRIES, e, bytes);
	if (extra == VFAB_A_DROP)
		vft_put_flag(&req, extra);
	else if (extra)
		vft_put_u32(&req, extra, 0);
	return vft_call(vft_nl(), &req, NULL, NULL);
}

/* Entries of several tables in one step, and none where one is wrong */
TEST_F(fabric, many_entries_at_once)
{
	struct vfab_entry_spec e[3] = {
		{ SW(0), 5, 0, 0, 0 }, { SW(1), 5, 0, 0, 0 }, { SW(0), 6, 5, 0, 1 },
	}, bad[3];
	uint64_t generation;
	struct all s;

	ASSERT_EQ(0, two_tiers(&self->dom));
	ASSERT_EQ(0, attach_all(&s, &self->dom, 8));
	EXPECT_EQ(56, reached(&s));
	generation = vft_domain_get(&self->dom, VFAB_A_GENERATION);
	/* the first pod loses the way to rank 5, and to rank 6 it has one spine */
	ASSERT_EQ(0, set_list(&self->dom, e, sizeof(e), 0));
	EXPECT_EQ(generation + 1, vft_domain_get(&self->dom, VFAB_A_GENERATION));
	EXPECT_EQ(56 - 8, reached(&s));
	e[0].mask = 3;
	e[0].egress = 4;
	ASSERT_EQ(0, set_list(&self->dom, e, sizeof(*e), 0));
	EXPECT_EQ(56, reached(&s));

	generation = vft_domain_get(&self->dom, VFAB_A_GENERATION);
	REFUSED(EINVAL, set_list(&self->dom, e, sizeof(e) - 1, 0));
	EXPECT_EQ(VFAB_A_ENTRIES, vft_nl()->bad_attr);
	REFUSED(EINVAL, set_list(&self->dom, e, 0, 0));
	REFUSED(EINVAL, set_list(&self->dom, e, sizeof(e), VFAB_A_SWITCH));
	REFUSED(EINVAL, set_list(&self->dom, e, sizeof(e), VFAB_A_RANK));
	REFUSED(EINVAL, set_list(&self->dom, e, sizeof(e), VFAB_A_DEST));
	REFUSED(EINVAL, set_list(&self->dom, e, sizeof(e), VFAB_A_DROP));
#define BAD_ENTRY(change) (memcpy(bad, e, sizeof(e)), bad[0].mask = 0, bad[2].change,	\
			   set_list(&self->dom, bad, sizeof(bad), 0))
	REFUSED(EINVAL, BAD_ENTRY(node = SW(6)));
	REFUSED(EINVAL, BAD_ENTRY(node = 0));
	REFUSED(EINVAL, BAD_ENTRY(dest = 8));
	REFUSED(EINVAL, BAD_ENTRY(egress = 6));
	REFUSED(EINVAL, BAD_ENTRY(mask = 3));
	REFUSED(EINVAL, BAD_ENTRY(mask = 2));
	REFUSED(EINVAL, BAD_ENTRY(mask = 1ULL << 63 | 1));
	REFUSED(EINVAL, BAD_ENTRY(pad = 1));
	EXPECT_EQ(generation, vft_domain_get(&self->dom, VFAB_A_GENERATION));
	EXPECT_EQ(56, reached(&s));
}

static void take_counts(const struct vft_msg *msg, void *arg)
{
	if (msg->a[VFAB_A_PATH_COUNTS])
		memcpy(arg, msg->a[VFAB_A_PATH_COUNTS] + 1, 8);
}

TEST_F(fabric, path_counts)
{
	uint8_t want[8] = { 2, 0, 2, 2, 0, 1, 2, 2 }, is[8] = { };
	struct vft_req req;

	ASSERT_EQ(0, two_tiers(&self->dom));
	ASSERT_EQ(0, vft_port(&self->dom, 5, -1, 0, false));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, NULL, 4, 1));
	vft_req(&req, vft_nl(), VFAB_CMD_PATH_GET, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
	vft_put_u32(&req, VFAB_A_RANK, 1);
	ASSERT_EQ(0, vft_call(vft_nl(), &req, take_counts, is));
	EXPECT_EQ(0, memcmp(want, is, 8));
}

TEST_HARNESS_MAIN
