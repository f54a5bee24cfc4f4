// SPDX-License-Identifier: GPL-2.0
/*
 * partition: domains that begin with no partition, or with the fixed ones of a
 * board; and moves that spare who is attached.
 *
 *	build/selftests/partition
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

static bool has_file(const struct vft_domain *dom, uint32_t part)
{
	struct stat st;

	return !stat(vft_path(dom, part), &st);
}

/* --- moves --------------------------------------------------------------------------- */

FIXTURE(move) {
	struct vft_domain dom;
	int fd[2];
	uint64_t handle;
};

FIXTURE_SETUP(move)
{
	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, NULL));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, NULL, 0, 0));
	self->fd[0] = vft_join(&self->dom, 0);
	self->fd[1] = vft_join(&self->dom, 1);
	ASSERT_EQ(0, vft_alloc(self->fd[0], VFT_PAGE, 1, VFT_RW, &self->handle));
}

FIXTURE_TEARDOWN_PARENT(move)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

TEST_F(move, if_detached_spares_the_attached)
{
	char *p = vft_import_map(self->fd[1], self->handle, VFT_PAGE, VFT_RW, 0);

	ASSERT_NE(NULL, p);
	EXPECT_EQ(-EBUSY, vft_partition_add_detached(&self->dom, 1, 0, 1));
	EXPECT_EQ(VFAB_A_ADD_MEMBERS, vft_nl()->bad_attr);
	/* one of several is enough, and then none of them moves */
	EXPECT_EQ(-EBUSY, vft_partition_add_detached(&self->dom, 1, 1, 3));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 3, VFAB_A_PARTITION));
	EXPECT_EQ(0, vft_touch(p));
	EXPECT_EQ(0, vft_partition_add_detached(&self->dom, 1, 2, 2));
	EXPECT_EQ(1, vft_endpoint_get(&self->dom, 3, VFAB_A_PARTITION));
	EXPECT_EQ(0, vft_touch(p));
	/* who is there already does not move */
	EXPECT_EQ(0, vft_partition_add_detached(&self->dom, 0, 0, 4));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 3, VFAB_A_PARTITION));
	/* without it, the border comes */
	EXPECT_EQ(0, vft_partition_add(&self->dom, 1, 0, 1));
	EXPECT_EQ(SIGBUS, vft_touch(p));
}

/* --- none -------------------------------------------------------------------------------- */

FIXTURE(none) {
	struct vft_domain dom;
};

FIXTURE_SETUP(none)
{
	struct vft_options opt = { .partitions = VFAB_PARTITIONS_NONE };

	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, &opt));
}

FIXTURE_TEARDOWN_PARENT(none)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

TEST_F(none, nobody_attaches_until_one_is_created)
{
	int a, b;

	EXPECT_EQ(VFAB_PARTITIONS_NONE, vft_domain_get(&self->dom, VFAB_A_PARTITION_MODE));
	EXPECT_EQ(false, has_file(&self->dom, 0));
	EXPECT_EQ(-ENOENT, vft_join(&self->dom, 0));
	EXPECT_EQ(VFAB_FABRIC_NOT_STARTED, vft_endpoint_get(&self->dom, 0, VFAB_A_FABRIC_STATE));
	EXPECT_EQ(~0ULL, vft_endpoint_get(&self->dom, 0, VFAB_A_PARTITION));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 2, NULL, 0, 2));
	EXPECT_EQ(VFAB_FABRIC_COMPLETED, vft_endpoint_get(&self->dom, 0, VFAB_A_FABRIC_STATE));
	EXPECT_EQ(VFAB_FABRIC_NOT_STARTED, vft_endpoint_get(&self->dom, 2, VFAB_A_FABRIC_STATE));
	a = vft_join_part(&self->dom, 2, 0);
	b = vft_join_part(&self->dom, 2, 1);
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	EXPECT_EQ(0, vft_ring(a, 1, 0));
	EXPECT_EQ(-EACCES, vft_join_part(&self->dom, 2, 2));
	ASSERT_EQ(0, vft_partition_add(&self->dom, 2, 2, 1));
	EXPECT_LE(0, vft_join_part(&self->dom, 2, 2));
	/* and out of it again: the state is that of the beginning */
	ASSERT_EQ(0, vft_partition_del(&self->dom, 2, 0, 1));
	EXPECT_EQ(VFAB_FABRIC_NOT_STARTED, vft_endpoint_get(&self->dom, 0, VFAB_A_FABRIC_STATE));
}

/* Partition 0 is one as any other there. */
TEST_F(none, partition_0_comes_and_goes)
{
	ASSERT_EQ(0, vft_partition_create(&self->dom, 0, NULL, 0, 4));
	EXPECT_EQ(true, has_file(&self->dom, 0));
	EXPECT_EQ(-EBUSY, vft_partition_delete(&self->dom, 0));
	ASSERT_EQ(0, vft_partition_del(&self->dom, 0, 0, 4));
	EXPECT_EQ(0, vft_partition_delete(&self->dom, 0));
	EXPECT_EQ(false, has_file(&self->dom, 0));
}

/* --- per node ----------------------------------------------------------------------------- */

TEST(a_partition_per_node)
{
	struct vft_options opt = { .nodes = 4, .partitions = VFAB_PARTITIONS_PER_NODE };
	struct vft_domain dom;
	uint32_t i;

	ASSERT_EQ(0, vft_domain_create(&dom, 8, &opt));
	EXPECT_EQ(VFAB_PARTITIONS_PER_NODE, vft_domain_get(&dom, VFAB_A_PARTITION_MODE));
	for (i = 0; i < 8; i++) {
		EXPECT_EQ(i / 2, vft_endpoint_get(&dom, i, VFAB_A_PARTITION));
		EXPECT_EQ(i / 2, vft_endpoint_get(&dom, i, VFAB_A_NODE));
	}
	for (i = 0; i < 4; i++)
		EXPECT_TRUE(has_file(&dom, i));
	EXPECT_EQ(-EACCES, vft_join_part(&dom, 1, 0));
	ASSERT_LE(0, vft_join_part(&dom, 1, 2));
	ASSERT_EQ(0, vft_evict(&dom, 2));
	ASSERT_EQ(0, vft_partition_del(&dom, 3, 6, 2));
	EXPECT_EQ(0, vft_partition_delete(&dom, 3));
	EXPECT_EQ(0, vft_domain_end(&dom));
	/* no nodes said: one, of all */
	opt.nodes = 0;
	ASSERT_EQ(0, vft_domain_create(&dom, 2, &opt));
	EXPECT_EQ(0, vft_endpoint_get(&dom, 1, VFAB_A_PARTITION));
	EXPECT_EQ(0, vft_domain_end(&dom));
}

/* --- hgx15 -------------------------------------------------------------------------------- */

FIXTURE(board) {
	struct vft_domain dom;
};

FIXTURE_SETUP(board)
{
	struct vft_options opt = { .partitions = VFAB_PARTITIONS_HGX15 };

	ASSERT_EQ(0, vft_domain_create(&self->dom, 8, &opt));
}

FIXTURE_TEARDOWN_PARENT(board)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

struct sets {
	unsigned int n, active;
	uint8_t members[15];
};

static void collect(const struct vft_msg *msg, void *arg)
{
	uint32_t id = vft_u32(msg, VFAB_A_PARTITION);
	struct sets *s = arg;

	s->n++;
	if (id < 15)
		s->members[id] = vft_u64(msg, VFAB_A_MEMBERS);
	if (vft_u64(msg, VFAB_A_ACTIVE))
		s->active |= 1 << id;
}

static int sets(const struct vft_domain *dom, struct sets *s)
{
	struct vft_req req;

	memset(s, 0, sizeof(*s));
	vft_req(&req, vft_nl(), VFAB_CMD_PARTITION_GET, NLM_F_DUMP);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	return vft_call(vft_nl(), &req, collect, s);
}

TEST_F(board, the_fifteen_sets)
{
	static const uint8_t want[15] = {
		0xff, 0x0f, 0xf0, 0x03, 0x0c, 0x30, 0xc0, 1, 2, 4, 8, 16, 32, 64, 128,
	};
	struct sets s;
	uint32_t i;

	ASSERT_EQ(0, sets(&self->dom, &s));
	EXPECT_EQ(15, s.n);
	EXPECT_EQ(0, s.active);
	EXPECT_EQ(0, memcmp(want, s.members, sizeof(want)));
	for (i = 0; i < 15; i++)
		EXPECT_EQ(false, has_file(&self->dom, i));
	for (i = 0; i < 8; i++)
		EXPECT_EQ(VFAB_FABRIC_NOT_STARTED,
			  vft_endpoint_get(&self->dom, i, VFAB_A_FABRIC_STATE));
}

TEST_F(board, attach_needs_activation)
{
	int a, b;

	EXPECT_EQ(-ENOENT, vft_join_part(&self->dom, 1, 0));
	ASSERT_EQ(0, vft_partition_active(&self->dom, 1, true, false));
	EXPECT_EQ(VFAB_FABRIC_COMPLETED, vft_endpoint_get(&self->dom, 3, VFAB_A_FABRIC_STATE));
	EXPECT_EQ(VFAB_FABRIC_NOT_STARTED, vft_endpoint_get(&self->dom, 4, VFAB_A_FABRIC_STATE));
	a = vft_join_part(&self->dom, 1, 0);
	b = vft_join_part(&self->dom, 1, 3);
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	EXPECT_EQ(0, vft_ring(a, 3, 0));
	EXPECT_EQ(-EACCES, vft_ring(a, 4, 0));
	EXPECT_EQ(-EACCES, vft_join_part(&self->dom, 1, 4));
	EXPECT_EQ(-EALREADY, vft_partition_active(&self->dom, 1, true, false));
}

TEST_F(board, overlapping_sets_exclude_each_other)
{
	static const uint8_t member[15] = {
		0xff, 0x0f, 0xf0, 0x03, 0x0c, 0x30, 0xc0, 1, 2, 4, 8, 16, 32, 64, 128,
	};
	struct sets s;
	char text[64];
	uint32_t i, j;

	for (i = 0; i < 15; i++) {
		ASSERT_EQ(0, vft_partition_active(&self->dom, i, true, false));
		snprintf(text, sizeof(text), "partition %u is active and overlaps it", i);
		for (j = 0; j < 15; j++) {
			int ret;

			if (j == i)
				continue;
			ret = vft_partition_active(&self->dom, j, true, false);
			EXPECT_EQ(member[i] & member[j] ? -EBUSY : 0, ret) {
				TH_LOG("%u beside %u", j, i);
			}
			EXPECT_EQ(!!ret, !!strstr(vft_nl()->text, text));
			if (ret)
				continue;
			ASSERT_EQ(0, vft_partition_active(&self->dom, j, false, false));
		}
		ASSERT_EQ(0, vft_partition_active(&self->dom, i, false, false));
	}
	/* all of the last two rows that fit */
	for (i = 7; i < 13; i++)
		ASSERT_EQ(0, vft_partition_active(&self->dom, i, true, false));
	ASSERT_EQ(0, vft_partition_active(&self->dom, 6, true, false));
	EXPECT_EQ(-EBUSY, vft_partition_active(&self->dom, 13, true, false));
	ASSERT_EQ(0, sets(&self->dom, &s));
	EXPECT_EQ(0x1fc0, s.active);
}

TEST_F(board, deactivation)
{
	int fd;

	EXPECT_EQ(-EALREADY, vft_partition_active(&self->dom, 5, false, false));
	ASSERT_EQ(0, vft_partition_active(&self->dom, 5, true, false));
	ASSERT_EQ(0, vft_channel_create(&self->dom, 5, 9, 0, 0, 0));
	fd = vft_join_channel(&self->dom, 5, 9, 4);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBUSY, vft_partition_active(&self->dom, 5, false, false));
	EXPECT_EQ(0, vft_ring(fd, 4, 0));
	ASSERT_EQ(0, vft_partition_active(&self->dom, 5, false, true));
	EXPECT_EQ(-ENODEV, vft_ring(fd, 4, 0));
	EXPECT_EQ(false, has_file(&self->dom, 5));
	EXPECT_EQ(-ENOENT, vft_open_channel(&self->dom, 5, 9));
	EXPECT_EQ(-ENODEV, vft_channel_create(&self->dom, 5, 9, 0, 0, 0));
	EXPECT_EQ(VFAB_FABRIC_NOT_STARTED, vft_endpoint_get(&self->dom, 4, VFAB_A_FABRIC_STATE));
	/* a file that was opened before does not admit to its successor */
	ASSERT_EQ(0, vft_partition_active(&self->dom, 5, true, false));
	close(fd);
	fd = vft_open(&self->dom, 5);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vft_partition_active(&self->dom, 5, false, false));
	ASSERT_EQ(0, vft_partition_active(&self->dom, 5, true, false));
	EXPECT_EQ(-ENODEV, vft_attach(fd, 4));
	EXPECT_LE(0, vft_join_part(&self->dom, 5, 4));
}

TEST_F(board, membership_is_fixed)
{
	EXPECT_EQ(-EPERM, vft_partition_add(&self->dom, 1, 7, 1));
	EXPECT_EQ(-EPERM, vft_partition_create(&self->dom, 20, NULL, 0, 0));
	EXPECT_EQ(-EPERM, vft_partition_delete(&self->dom, 1));
	ASSERT_EQ(0, vft_partition_active(&self->dom, 1, true, false));
	EXPECT_EQ(-EPERM, vft_partition_add(&self->dom, 1, 7, 1));
	EXPECT_EQ(-EPERM, vft_partition_del(&self->dom, 1, 0, 1));
	EXPECT_NE(NULL, strstr(vft_nl()->text, "activate or deactivate"));
	EXPECT_EQ(-EPERM, vft_partition_delete(&self->dom, 1));
}

TEST_F(board, events)
{
	struct vft_msg msg;
	struct vft_nl nl;
	char buf[4096];
	int fd;

	ASSERT_EQ(0, vft_nl_open(&nl));
	ASSERT_EQ(0, vft_nl_listen(&nl));
	ASSERT_EQ(0, vft_partition_active(&self->dom, 3, true, false));
	ASSERT_EQ(0, vft_event(&nl, 3000, &msg, buf, sizeof(buf)));
	EXPECT_EQ(VFAB_OBJ_PARTITION, vft_u32(&msg, VFAB_A_OBJECT));
	EXPECT_EQ(3, vft_u32(&msg, VFAB_A_PARTITION));
	EXPECT_EQ(1, vft_u64(&msg, VFAB_A_ACTIVE));
	EXPECT_EQ(3, vft_u64(&msg, VFAB_A_MEMBERS));
	fd = vft_join_part(&self->dom, 3, 1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vft_partition_active(&self->dom, 3, false, true));
	ASSERT_EQ(0, vft_event(&nl, 3000, &msg, buf, sizeof(buf)));
	EXPECT_EQ(VFAB_ACT_ATTACHED, vft_u32(&msg, VFAB_A_ACTION));
	ASSERT_EQ(0, vft_event(&nl, 3000, &msg, buf, sizeof(buf)));
	EXPECT_EQ(VFAB_ACT_DETACHED, vft_u32(&msg, VFAB_A_ACTION));
	ASSERT_EQ(0, vft_event(&nl, 3000, &msg, buf, sizeof(buf)));
	EXPECT_EQ(VFAB_OBJ_PARTITION, vft_u32(&msg, VFAB_A_OBJECT));
	ASSERT_NE(NULL, msg.a[VFAB_A_ACTIVE]);
	EXPECT_EQ(0, vft_u64(&msg, VFAB_A_ACTIVE));
	vft_nl_close(&nl);
}

TEST_HARNESS_MAIN
