// SPDX-License-Identifier: GPL-2.0
/*
 * pace: rates and latencies act on who asks, exactly as the routes say. By
 * example:
 *
 *	build/selftests/pace -t half_rate
 */
#include <sys/ioctl.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

/* Two planes of 50000 * 10^6 bytes per second, 700 ns, all a thousand times slower */
#define SCALE	1000ULL
#define MB	1000000ULL
#define LATENCY	(700 * SCALE)
#define MB_NS	(10000 * SCALE)	/* of 10^6 bytes over both */
#define BYTE_NS	(SCALE / 25)	/* of one, of which links take whole ones, at half the rate */

FIXTURE(pace) {
	struct vft_domain dom;
	int fd[4];
};

FIXTURE_SETUP(pace)
{
	int i;

	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, NULL));
	for (i = 0; i < 4; i++)
		self->fd[i] = vft_join(&self->dom, i);
}

FIXTURE_TEARDOWN_PARENT(pace)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

static int shape(const struct vft_domain *dom, uint64_t scale)
{
	int ret = vft_domain_set(dom, VFAB_A_SHAPE_SCALE, scale);

	return ret ? ret : vft_domain_set(dom, VFAB_A_SHAPE, 1);
}

/* When @bytes are there, and when that was asked: between @before and @after */
struct asked {
	uint64_t before, at, after, bytes;
	int ret;
};

static struct asked ask(int fd, uint32_t rank, uint32_t flags, uint64_t bytes)
{
	struct asked a = { .bytes = bytes };

	a.before = vft_now();
	a.ret = vft_pace(fd, rank, flags, &a.bytes, &a.at);
	a.after = vft_now();
	return a;
}

/* It takes @ns, from when it was asked on */
#define EXPECT_TAKES(ns, what) do {						\
	struct asked __a = (what);						\
										\
	EXPECT_EQ(0, __a.ret);							\
	EXPECT_LE(__a.before + (ns), __a.at);					\
	EXPECT_GE(__a.after + (ns) + BYTE_NS, __a.at);					\
} while (0)

TEST_F(pace, off)
{
	struct asked a = ask(self->fd[0], 1, 0, MB);

	EXPECT_EQ(0, a.ret);
	EXPECT_EQ(0, a.at);
	EXPECT_EQ(MB, a.bytes);
	EXPECT_EQ(0, vft_view(self->fd[0])->shape);
	EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_SHAPE));
	EXPECT_EQ(1, vft_domain_get(&self->dom, VFAB_A_SHAPE_SCALE));
}

TEST_F(pace, on_and_off)
{
	const struct vfab_view *view = vft_view(self->fd[0]);
	struct asked a;
	int fd;

	ASSERT_EQ(0, shape(&self->dom, SCALE));
	EXPECT_EQ(SCALE, view->shape);
	EXPECT_EQ(1, vft_domain_get(&self->dom, VFAB_A_SHAPE));
	EXPECT_EQ(SCALE, vft_domain_get(&self->dom, VFAB_A_SHAPE_SCALE));
	/* also for who comes later */
	close(self->fd[3]);
	fd = vft_join(&self->dom, 3);
	EXPECT_EQ(SCALE, vft_view(fd)->shape);
	a = ask(self->fd[0], 1, 0, MB);
	EXPECT_TAKES(MB_NS + LATENCY, a);
	/* another scale; what was reserved before is forgotten */
	ASSERT_EQ(0, vft_domain_set(&self->dom, VFAB_A_SHAPE_SCALE, 1));
	EXPECT_EQ(1, view->shape);
	a = ask(self->fd[0], 1, 0, MB);
	EXPECT_TAKES((MB_NS + LATENCY) / SCALE, a);
	ASSERT_EQ(0, vft_domain_set(&self->dom, VFAB_A_SHAPE, 0));
	EXPECT_EQ(0, view->shape);
	EXPECT_EQ(0, ask(self->fd[0], 1, 0, MB).at);
}

TEST_F(pace, first_come_first_served)
{
	struct asked a, b;
	uint64_t waited;

	ASSERT_EQ(0, shape(&self->dom, SCALE));
	a = ask(self->fd[0], 1, 0, MB);
	EXPECT_TAKES(MB_NS + LATENCY, a);
	b = ask(self->fd[0], 1, 0, 2 * MB);
	EXPECT_EQ(a.at + 2 * MB_NS, b.at);
	/* another way to the same place stands behind it, and is said to wait */
	EXPECT_EQ(0, vft_counter(&self->dom, -1, 0, 1, VFAB_COUNTER_PORT_XMIT_WAIT));
	a = ask(self->fd[2], 1, 0, MB);
	EXPECT_EQ(b.at + MB_NS, a.at);
	waited = vft_counter(&self->dom, -1, 0, 1, VFAB_COUNTER_PORT_XMIT_WAIT);
	EXPECT_LE(b.at - LATENCY, a.after + waited);
	EXPECT_GE(b.at - LATENCY, a.before + waited);
	EXPECT_EQ(0, vft_counter(&self->dom, 2, -1, 0, VFAB_COUNTER_PORT_XMIT_WAIT));
	/* other links and the other direction are free */
	EXPECT_TAKES(MB_NS + LATENCY, ask(self->fd[3], 2, 0, MB));
	EXPECT_TAKES(MB_NS + LATENCY, ask(self->fd[1], 0, 0, MB));
	EXPECT_EQ(0, vft_counter_clear(&self->dom, -1, -1, -1));
	EXPECT_EQ(0, vft_counter(&self->dom, -1, 0, 1, VFAB_COUNTER_PORT_XMIT_WAIT));
}

TEST_F(pace, both_directions)
{
	struct asked a, b;

	ASSERT_EQ(0, shape(&self->dom, SCALE));
	/* a get takes the links that the peer's put takes */
	a = ask(self->fd[0], 1, VFAB_PACE_GET, MB);
	EXPECT_TAKES(MB_NS + LATENCY, a);
	b = ask(self->fd[1], 0, 0, MB);
	EXPECT_EQ(a.at + MB_NS, b.at);
	EXPECT_TAKES(MB_NS + LATENCY, ask(self->fd[0], 1, 0, MB));
}

TEST_F(pace, half_rate)
{
	struct vft_req req;

	vft_link_req(&req, &self->dom, 1, 0, -1);
	vft_put_u32(&req, VFAB_A_RATE, 25000);
	ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	ASSERT_EQ(0, shape(&self->dom, SCALE));
	/* as the view says: 75000 of 100000 */
	EXPECT_EQ(75000, vft_view(self->fd[0])->peer[1].rate);
	EXPECT_TAKES(MB_NS * 4 / 3 + LATENCY, ask(self->fd[0], 1, 0, MB));
	EXPECT_TAKES(MB_NS + LATENCY, ask(self->fd[2], 3, 0, MB));
	/* and one plane alone */
	ASSERT_EQ(0, vft_link(&self->dom, 3, 0, false));
	EXPECT_TAKES(2 * MB_NS + LATENCY, ask(self->fd[3], 2, 0, MB));
}

TEST_F(pace, bounded)
{
	uint64_t end = 0, first = 0, granted = 0;
	struct asked a;
	int i;

	ASSERT_EQ(0, shape(&self->dom, SCALE));
	/* a tenth of a second in one call */
	a = ask(self->fd[0], 1, 0, 1ULL << 30);
	EXPECT_EQ(10 * MB, a.bytes);
	EXPECT_TAKES(10 * MB_NS + LATENCY, a);
	first = a.before;
	for (i = 0; i < 200; i++) {
		a = ask(self->fd[0], 1, 0, 1ULL << 30);
		ASSERT_EQ(0, a.ret);
		granted += a.bytes;
		if (!a.bytes)
			break;
		end = a.at;
	}
	/* ten seconds ahead, and then not before it is nearer again */
	EXPECT_GT(105, i);
	EXPECT_LT(95, i);
	EXPECT_LE(end - 10 * VFT_SEC - LATENCY, a.at);
	EXPECT_GE(end - 10 * VFT_SEC, a.at);
	EXPECT_GT(first + 12 * VFT_SEC, end);
	/* it is this endpoint's own limit */
	EXPECT_EQ(MB, ask(self->fd[1], 0, 0, MB).bytes);
	EXPECT_TAKES(MB_NS + LATENCY, ask(self->fd[2], 3, 0, MB));
	/* however slow, some progress */
	ASSERT_EQ(0, shape(&self->dom, 1000000));
	EXPECT_EQ(10000, ask(self->fd[2], 3, 0, 1ULL << 30).bytes);
}

TEST_F(pace, refusals)
{
	struct vfab_pace p = { .rank = 1, .bytes = MB };
	struct vfab_pace bad;
	int fd;

#define REFUSED(err, change) do {						\
	bad = p;								\
	bad.change;								\
	EXPECT_IOCTL_FAILS(err, self->fd[0], VFAB_IOC_PACE, &bad);		\
} while (0)
	ASSERT_EQ(0, shape(&self->dom, SCALE));
	REFUSED(EINVAL, rank = 4);
	REFUSED(EINVAL, rank = 0);
	REFUSED(EINVAL, bytes = 0);
	REFUSED(EINVAL, bytes = (16ULL << 30) + 1);
	REFUSED(EOPNOTSUPP, flags = 2);
	fd = vft_open(&self->dom, 0);
	EXPECT_IOCTL_FAILS(ENOTCONN, fd, VFAB_IOC_PACE, &p);
	close(fd);
	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, false));
	EXPECT_IOCTL_FAILS(EHOSTUNREACH, self->fd[0], VFAB_IOC_PACE, &p);
	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, true));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, NULL, 1, 1));
	EXPECT_IOCTL_FAILS(EACCES, self->fd[0], VFAB_IOC_PACE, &p);
	vft_detach(self->fd[0]);
	EXPECT_IOCTL_FAILS(ENODEV, self->fd[0], VFAB_IOC_PACE, &p);
}

/* Switches 0 to @n - 1 in a row, by @ways links each; rank 0 at one end, 1 at the other */
static int row(struct vft_domain *dom, uint32_t n, uint32_t ways, uint32_t rate)
{
	static struct vfab_link_spec l[128];
	struct vft_options opt = { .links = l, .switches = n };
	uint32_t i, k, links = 0;

	for (i = 0; i + 1 < n; i++)
		for (k = 0; k < ways; k++)
			l[links++] = (struct vfab_link_spec){
				.node = { VFAB_SPEC_SWITCH | i, VFAB_SPEC_SWITCH | (i + 1) },
				.port = { 64 + k, k }, .rate = rate,
			};
	for (i = 0; i < 2; i++)
		l[links++] = (struct vfab_link_spec){
			.node = { i, VFAB_SPEC_SWITCH | (i ? n - 1 : 0) },
			.port = { 0, 128 }, .rate = rate,
		};
	opt.nlinks = links;
	return vft_domain_create(dom, 2, &opt);
}

/* Longer than a trace keeps, or wider than 32 bits can say: there is a rate */
TEST(every_route_has_a_rate)
{
	const struct { uint32_t n, ways, rate; } rows[] = { { 70, 1, 1000 }, { 2, 64, 1 << 26 } };
	struct vft_domain dom;
	struct vfab_peer p;
	struct asked a;
	uint32_t i;
	int fd;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, row(&dom, rows[i].n, rows[i].ways, rows[i].rate));
		fd = vft_join(&dom, 0);
		ASSERT_LE(0, fd);
		vft_peer(vft_view(fd), 1, &p);
		EXPECT_EQ(1, p.paths);
		EXPECT_EQ(rows[i].rate, p.rate);
		ASSERT_EQ(0, shape(&dom, 1));
		a = ask(fd, 1, 0, MB);
		EXPECT_EQ(0, a.ret);
		EXPECT_EQ(MB, a.bytes);
		EXPECT_LE(a.before + MB * 1000 / rows[i].rate, a.at);
		close(fd);
		EXPECT_EQ(0, vft_domain_delete(&dom, true));
	}
}

/* Switch 0 leads to 3 by 1 and by 2 */
static int diamond(struct vft_domain *dom)
{
	static const uint16_t ends[6][4] = {
		{ 0, VFAB_SPEC_SWITCH, 0, 0 }, { 1, VFAB_SPEC_SWITCH | 3, 0, 0 },
		{ VFAB_SPEC_SWITCH, VFAB_SPEC_SWITCH | 1, 1, 0 },
		{ VFAB_SPEC_SWITCH, VFAB_SPEC_SWITCH | 2, 2, 0 },
		{ VFAB_SPEC_SWITCH | 1, VFAB_SPEC_SWITCH | 3, 1, 1 },
		{ VFAB_SPEC_SWITCH | 2, VFAB_SPEC_SWITCH | 3, 1, 2 },
	};
	struct vfab_link_spec l[6] = { };
	struct vft_options opt = { .links = l, .nlinks = 6, .switches = 4 };
	int i;

	for (i = 0; i < 6; i++)
		l[i] = (struct vfab_link_spec){
			.node = { ends[i][0], ends[i][1] },
			.port = { ends[i][2], ends[i][3] }, .rate = 50000,
		};
	return vft_domain_create(dom, 2, &opt);
}

/*
 * What leaves a switch is spread by the rates of its own ways; one that is slow
 * further on is not reserved for hours, and is free once it is well again.
 */
TEST(a_slow_way_is_not_taken_for_hours)
{
	struct vft_domain dom;
	struct vft_req req;
	struct asked a;
	int fd, i;

	ASSERT_EQ(0, diamond(&dom));
	fd = vft_join(&dom, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, shape(&dom, 1));
	for (i = 1; i < 3; i++) {
		vft_link_req(&req, &dom, -1, i, 1);
		vft_put_u32(&req, VFAB_A_RATE, i == 2 ? 1 : 40000);
		ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	}
	for (i = 0; i < 1000; i++) {
		a = ask(fd, 1, 0, 1ULL << 30);
		ASSERT_EQ(0, a.ret);
		EXPECT_GT(a.after + 121 * VFT_SEC, a.at);
	}
	for (i = 1; i < 3; i++) {
		vft_link_req(&req, &dom, -1, i, 1);
		vft_put_flag(&req, VFAB_A_RESTORE);
		ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	}
	close(fd);
	fd = vft_join(&dom, 0);
	a = ask(fd, 1, 0, MB);
	EXPECT_GT(a.after + 15 * VFT_SEC, a.at);
	close(fd);
	EXPECT_EQ(0, vft_domain_delete(&dom, true));
}

TEST_HARNESS_MAIN
