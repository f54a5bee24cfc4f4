// SPDX-License-Identifier: GPL-2.0
/*
 * channel: what is exported in a channel of a partition is used in that channel
 * only, whoever guesses or forges; and how channels come and go.
 *
 *	build/selftests/channel
 */
#include <fcntl.h>
#include <grp.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

/*
 * Ranks 0 and 1 are in channel 3, 2 and 3 in channel 7, 4 and 5 in none, all of
 * partition 1; ranks 6 and 7 are in the default partition, 6 in its channel 3.
 */
#define WORLD	8
#define NONE	VFAB_CHANNEL_NONE

static const struct {
	uint32_t partition, channel;
} place[WORLD] = {
	{ 1, 3 }, { 1, 3 }, { 1, 7 }, { 1, 7 }, { 1, NONE }, { 1, NONE }, { 0, 3 }, { 0, NONE },
};

FIXTURE(ch) {
	struct vft_domain dom;
	int fd[WORLD];
	uint64_t handle[WORLD];
};

FIXTURE_SETUP(ch)
{
	uint32_t r;

	ASSERT_EQ(0, vft_domain_create(&self->dom, WORLD, NULL));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, NULL, 0, 6));
	ASSERT_EQ(0, vft_channel_create(&self->dom, 1, 3, 0, 0, 0));
	ASSERT_EQ(0, vft_channel_create(&self->dom, 1, 7, 0, 0, 0));
	ASSERT_EQ(0, vft_channel_create(&self->dom, 0, 3, 0, 0, 0));
	for (r = 0; r < WORLD; r++) {
		self->fd[r] = place[r].channel == NONE ?
			vft_join_part(&self->dom, place[r].partition, r) :
			vft_join_channel(&self->dom, place[r].partition, place[r].channel, r);
		ASSERT_LE(0, self->fd[r]);
		ASSERT_EQ(0, fcntl(self->fd[r], F_SETFL, O_NONBLOCK));
		ASSERT_EQ(0, vft_alloc(self->fd[r], VFT_PAGE, 1, VFT_RW, &self->handle[r]));
	}
}

FIXTURE_TEARDOWN_PARENT(ch)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

static bool same(uint32_t a, uint32_t b)
{
	return place[a].partition == place[b].partition && place[a].channel == place[b].channel;
}

/* What must succeed: every pair of one channel, and of none */
TEST_F(ch, inside_a_channel_all_works)
{
	uint32_t a, b;

	for (a = 0; a < WORLD; a++)
		for (b = 0; b < WORLD; b++) {
			struct vft_bells bells;
			char *p;

			if (!same(a, b))
				continue;
			EXPECT_EQ(0, vft_lookup(self->fd[a], b, 1, 0, NULL));
			p = vft_import_map(self->fd[a], self->handle[b], VFT_PAGE, VFT_RW, 0);
			ASSERT_NE(NULL, p) {
				TH_LOG("rank %u, window of %u", a, b);
			}
			EXPECT_EQ(0, vft_store(p, a));
			EXPECT_EQ(0, vft_bells(&bells, self->fd[a], b));
			EXPECT_EQ(0, vft_ding(&bells, 1));
			EXPECT_EQ(0, vft_ring(self->fd[a], b, 1));
		}
}

/* What must fail: every other pair, by EPERM within the partition */
TEST_F(ch, across_channels_nothing_works)
{
	uint32_t a, b;

	for (a = 0; a < WORLD; a++)
		for (b = 0; b < WORLD; b++) {
			int err = place[a].partition == place[b].partition ? -EPERM : -EACCES;

			if (same(a, b))
				continue;
			EXPECT_EQ(err, vft_import(self->fd[a], self->handle[b], VFT_R, 0, NULL)) {
				TH_LOG("rank %u, window of %u", a, b);
			}
			EXPECT_EQ(err, vft_import(self->fd[a], self->handle[b], VFT_RW, 1, NULL));
			EXPECT_EQ(err, vft_bell(self->fd[a], b, NULL));
			EXPECT_EQ(err, vft_ring(self->fd[a], b, 0));
			EXPECT_EQ(-ENOENT, vft_free(self->fd[a], self->handle[b]));
		}
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 2, VFAB_A_IMPORTS));
}

/* LOOKUP says where the owner is, so that one knows which file to open. */
TEST_F(ch, lookup_tells_the_channel)
{
	struct vfab_lookup l = { .rank = 0, .tag = 1 };

	ASSERT_EQ(0, ioctl(self->fd[2], VFAB_IOC_LOOKUP, &l));
	EXPECT_EQ(3, l.channel);
	EXPECT_EQ(self->handle[0], l.handle);
	l = (struct vfab_lookup) { .rank = 4, .tag = 1 };
	ASSERT_EQ(0, ioctl(self->fd[2], VFAB_IOC_LOOKUP, &l));
	EXPECT_EQ(NONE, l.channel);
	l = (struct vfab_lookup) { .rank = 0, .tag = 1, .pad2 = 1 };
	EXPECT_IOCTL_FAILS(EINVAL, self->fd[2], VFAB_IOC_LOOKUP, &l);
	/* and one that was built before there were channels gets what it knew */
	l = (struct vfab_lookup) { .rank = 0, .tag = 1, .channel = 99 };
	ASSERT_EQ(0, ioctl(self->fd[2], VFT_RESIZE(VFAB_IOC_LOOKUP, 48), &l));
	EXPECT_EQ(99, l.channel);
	EXPECT_EQ(self->handle[0], l.handle);
}

TEST_F(ch, info_tells_the_channel)
{
	struct vfab_info info;
	uint32_t r;

	for (r = 0; r < WORLD; r++) {
		memset(&info, 0xff, sizeof(info));
		ASSERT_EQ(0, ioctl(self->fd[r], VFAB_IOC_INFO, &info));
		EXPECT_EQ(place[r].partition, info.partition);
		EXPECT_EQ(place[r].channel, info.channel);
		EXPECT_EQ(place[r].channel == NONE ? ~0ULL : place[r].channel,
			  vft_endpoint_get(&self->dom, r, VFAB_A_CHANNEL));
	}
	info.channel = 99;
	ASSERT_EQ(0, ioctl(self->fd[0], VFT_RESIZE(VFAB_IOC_INFO, 104), &info));
	EXPECT_EQ(99, info.channel);
}

/* Handles of other channels, guessed: never more than a refusal */
TEST_F(ch, guessing)
{
	unsigned int seed = 5, i;

	for (i = 0; i < 3000; i++) {
		uint64_t guess = self->handle[vft_random(&seed) % 6] ^
				 (1ULL << vft_random(&seed) % 64) ^ (vft_random(&seed) % 4);
		int ret = vft_import(self->fd[0], guess, VFT_R, 0, NULL);

		if (guess == self->handle[0] || guess == self->handle[1])
			continue;
		EXPECT_EQ(true, ret == -ENOENT || ret == -EPERM || ret == -EACCES) {
			TH_LOG("handle %llx: %d", (unsigned long long)guess, ret);
		}
	}
}

/* Whatever is done to the doorbells of one channel, those of another stay still. */
TEST_F(ch, doorbells_cannot_be_forged)
{
	uint64_t before[VFAB_VECTORS], count = 0, loss, value;
	int efd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	struct vft_bells own, other;
	uint32_t v;

	ASSERT_EQ(0, vft_bells(&own, self->fd[2], 2));
	ASSERT_EQ(0, vft_eventfd(self->fd[2], 9, efd));
	for (v = 0; v < VFAB_VECTORS; v++)
		before[v] = *vft_count(&own, v);
	ASSERT_EQ(0, vft_bells(&other, self->fd[0], 1));
	for (v = 0; v < VFT_PAGE; v += 8)
		vft_store(other.counts + v, ~0ULL);
	for (v = 0; v < VFAB_VECTORS; v++) {
		EXPECT_EQ(-EPERM, vft_ring(self->fd[0], 2, v));
		EXPECT_EQ(-EPERM, vft_ring(self->fd[4], 2, v));
		EXPECT_EQ(-EACCES, vft_ring(self->fd[6], 2, v));
	}
	for (v = 0; v < VFAB_VECTORS; v++)
		EXPECT_EQ(before[v], *vft_count(&own, v));
	EXPECT_EQ(-1, read(efd, &value, sizeof(value)));
	loss = vft_view(self->fd[2])->loss;
	count = before[9];
	EXPECT_EQ(-ETIMEDOUT, vft_wait(self->fd[2], 9, &count, &loss, 0, NULL));
	/* whereas one of the channel does ring it */
	EXPECT_EQ(0, vft_ring(self->fd[3], 2, 9));
	EXPECT_EQ(8, read(efd, &value, sizeof(value)));
	close(efd);
}

static void be_a_nuisance(int fd, int peer, uint64_t handle, unsigned int seed)
{
	struct vft_bells bells;
	uint64_t cookie = 0;
	unsigned int i;

	vft_bells(&bells, fd, peer);
	for (;;) {
		char *p = vft_import_map(fd, handle, VFT_PAGE, VFT_RW, VFAB_LOSS_ABSORB);

		for (i = 0; p && i < VFT_PAGE; i += 8)
			vft_store(p + i, (uint64_t)vft_random(&seed) << 32 | vft_random(&seed));
		if (p)
			munmap(p, VFT_PAGE);
		for (i = 0; i < VFT_PAGE; i += 8)
			vft_store(bells.counts + i, vft_random(&seed));
		for (i = 0; i < 200; i++)
			vft_ring(fd, peer, vft_random(&seed) % VFAB_VECTORS);
		for (i = 0; i < 20; i++)
			vft_import(fd, handle, VFT_RW, VFAB_LOSS_ABSORB, &cookie);
		vft_release(fd, cookie);
	}
}

/* Two processes that fill all they can map, and a channel that goes on */
TEST_F(ch, nuisances_in_another_channel)
{
	uint64_t end = vft_now() + 3 * VFT_SEC, worst = 0;
	const volatile struct vfab_view *view = vft_view(self->fd[2]);
	struct vft_bells bells;
	unsigned int n = 0;
	pid_t pid[2];
	char *p;

	ASSERT_NE(NULL, view);
	p = vft_import_map(self->fd[3], self->handle[2], VFT_PAGE, VFT_RW, 0);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vft_bells(&bells, self->fd[3], 2));
	pid[0] = vft_fork();
	if (!pid[0])
		be_a_nuisance(self->fd[0], 1, self->handle[1], 1);
	pid[1] = vft_fork();
	if (!pid[1])
		be_a_nuisance(self->fd[4], 5, self->handle[5], 2);
	for (; vft_now() < end; n++) {
		uint64_t start = vft_now(), value, count = *vft_count(&bells, 5);
		uint64_t loss = view->loss;

		ASSERT_EQ(0, vft_store(p, n));
		ASSERT_EQ(0, vft_load(p, &value));
		EXPECT_EQ(n, value);
		EXPECT_EQ(count, *vft_count(&bells, 5));
		EXPECT_EQ(0, vft_ding(&bells, 5));
		EXPECT_EQ(0, vft_wait(self->fd[2], 5, &count, &loss, start + 5 * VFT_SEC, NULL));
		if (vft_now() - start > worst)
			worst = vft_now() - start;
	}
	EXPECT_LT(20, n);
	EXPECT_GT(5 * VFT_SEC, worst);
	vft_kill(pid[0]);
	vft_kill(pid[1]);
}

/*
 * Who is moved takes the channel along, and is not in that of the same number
 * elsewhere.
 */
TEST_F(ch, a_move_keeps_the_channel)
{
	ASSERT_EQ(0, vft_partition_add(&self->dom, 0, 0, 2));
	EXPECT_EQ(0, vft_import(self->fd[0], self->handle[1], VFT_RW, 0, NULL));
	EXPECT_EQ(-EPERM, vft_import(self->fd[0], self->handle[6], VFT_RW, 0, NULL));
	EXPECT_EQ(-EPERM, vft_import(self->fd[6], self->handle[0], VFT_RW, 0, NULL));
	EXPECT_EQ(-EPERM, vft_ring(self->fd[0], 7, 0));
	EXPECT_EQ(-EBUSY, vft_channel_delete(&self->dom, 1, 3, false));
	/* those in none have nothing to take along */
	ASSERT_EQ(0, vft_partition_add(&self->dom, 0, 4, 2));
	EXPECT_EQ(0, vft_import(self->fd[4], self->handle[7], VFT_RW, 0, NULL));
}

/* The file admits to its partition only, as the partition's own one does. */
TEST_F(ch, file_admits_to_its_partition_only)
{
	int fd = vft_open_channel(&self->dom, 1, 3);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EACCES, vft_attach(fd, 6));
	EXPECT_EQ(-EBUSY, vft_attach(fd, 2));
	EXPECT_EQ(-EHOSTUNREACH, vft_attach(fd, VFAB_RANK_ANY));
	close(self->fd[5]);
	ASSERT_EQ(true, vft_until(3000, !vft_endpoint_get(&self->dom, 5, VFAB_A_HELD)));
	EXPECT_EQ(0, vft_attach(fd, VFAB_RANK_ANY));
	EXPECT_EQ(3, vft_endpoint_get(&self->dom, 5, VFAB_A_CHANNEL));
	EXPECT_EQ(0, vft_import(fd, self->handle[0], VFT_RW, 0, NULL));
	EXPECT_EQ(-EPERM, vft_import(fd, self->handle[4], VFT_RW, 0, NULL));
}

/* --- channels come and go ----------------------------------------------------------- */

TEST_F(ch, delete_of_a_channel_in_use)
{
	struct stat st;
	char *p;

	EXPECT_EQ(-EBUSY, vft_channel_delete(&self->dom, 1, 3, false));
	EXPECT_EQ(0, stat(vft_channel_path(&self->dom, 1, 3), &st));
	p = vft_import_map(self->fd[0], self->handle[1], VFT_PAGE, VFT_RW, 0);
	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, vft_touch(p));
	EXPECT_EQ(0, vft_channel_delete(&self->dom, 1, 3, true));
	EXPECT_EQ(SIGBUS, vft_touch(p));
	EXPECT_EQ(-1, stat(vft_channel_path(&self->dom, 1, 3), &st));
	EXPECT_EQ(-ENODEV, vft_ring(self->fd[0], 1, 0));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 0, VFAB_A_HELD));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 1, VFAB_A_HELD));
	/* nobody else was touched */
	EXPECT_EQ(0, vft_ring(self->fd[2], 3, 0));
	EXPECT_EQ(0, vft_ring(self->fd[4], 5, 0));
	EXPECT_EQ(0, vft_ring(self->fd[6], 6, 0));
	EXPECT_EQ(-ENOENT, vft_channel_delete(&self->dom, 1, 3, true));
}

/* An old file stays dead, and its number is not given to another meanwhile. */
TEST_F(ch, dead_device_file)
{
	struct vfab_info info;
	struct stat was, st;
	char old[64];
	int fd, i;

	ASSERT_EQ(0, vft_channel_create(&self->dom, 1, 100, 0, 0, 0));
	ASSERT_EQ(0, stat(vft_channel_path(&self->dom, 1, 100), &was));
	snprintf(old, sizeof(old), "/tmp/vfabric-old.%d", getpid());
	unlink(old);
	ASSERT_EQ(0, mknod(old, S_IFCHR | 0600, was.st_rdev));
	fd = vft_open_channel(&self->dom, 1, 100);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vft_channel_delete(&self->dom, 1, 100, false));
	EXPECT_EQ(-1, ioctl(fd, VFAB_IOC_INFO, &info));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(-ENODEV, vft_attach(fd, 5));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, vft_channel_create(&self->dom, 1, 100, 0, 0, 0));
		ASSERT_EQ(0, stat(vft_channel_path(&self->dom, 1, 100), &st));
		EXPECT_NE(was.st_rdev, st.st_rdev);
		ASSERT_EQ(0, vft_channel_delete(&self->dom, 1, 100, false));
	}
	EXPECT_EQ(-1, open(old, O_RDWR));
	EXPECT_EQ(ENODEV, errno);
	unlink(old);
	close(fd);
}

TEST_F(ch, goes_with_its_partition)
{
	int fd;

	ASSERT_EQ(0, vft_partition_create(&self->dom, 5, NULL, 0, 0));
	ASSERT_EQ(0, vft_channel_create(&self->dom, 5, 0, 0, 0, 0));
	fd = vft_open_channel(&self->dom, 5, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, vft_partition_delete(&self->dom, 5));
	EXPECT_EQ(-ENOENT, vft_open_channel(&self->dom, 5, 0));
	EXPECT_EQ(-ENODEV, vft_attach(fd, 0));
	EXPECT_EQ(-ENOENT, vft_channel_delete(&self->dom, 5, 0, false));
}

/* Who came by a channel and was moved outlives the channel's partition. */
TEST_F(ch, partition_goes_before_those_who_came_by_it)
{
	ASSERT_EQ(0, vft_partition_add(&self->dom, 0, 0, 6));
	ASSERT_EQ(0, vft_partition_delete(&self->dom, 1));
	EXPECT_EQ(0, vft_import(self->fd[0], self->handle[1], VFT_RW, 0, NULL));
	EXPECT_EQ(-EPERM, vft_import(self->fd[0], self->handle[2], VFT_RW, 0, NULL));
	EXPECT_EQ(-EPERM, vft_import(self->fd[0], self->handle[6], VFT_RW, 0, NULL));
	EXPECT_EQ(0, vft_import(self->fd[4], self->handle[7], VFT_RW, 0, NULL));
}

TEST_F(ch, refusals)
{
	EXPECT_EQ(-EEXIST, vft_channel_create(&self->dom, 1, 3, 0, 0, 0));
	EXPECT_STREQ("a channel of this id exists", vft_nl()->text);
	EXPECT_EQ(VFAB_A_CHANNEL, vft_nl()->bad_attr);
	EXPECT_EQ(-ERANGE, vft_channel_create(&self->dom, 1, 2048, 0, 0, 0));
	EXPECT_EQ(VFAB_A_CHANNEL, vft_nl()->bad_attr);
	EXPECT_EQ(-ENOENT, vft_channel_create(&self->dom, 9, 3, 0, 0, 0));
	EXPECT_EQ(VFAB_A_PARTITION, vft_nl()->bad_attr);
	EXPECT_EQ(-ENOENT, vft_channel_delete(&self->dom, 1, 4, false));
	EXPECT_EQ(VFAB_A_CHANNEL, vft_nl()->bad_attr);
	EXPECT_EQ(-ERANGE, vft_channel_create(&self->dom, 1, 4, 01000, 0, 0));
	EXPECT_EQ(-EINVAL, vft_channel_create(&self->dom, 1, 4, 0600, ~0U, 0));
	EXPECT_EQ(VFAB_A_UID, vft_nl()->bad_attr);
	EXPECT_EQ(-EINVAL, vft_channel_create(&self->dom, 1, 4, 0600, 0, ~0U));
	EXPECT_EQ(VFAB_A_GID, vft_nl()->bad_attr);
	EXPECT_EQ(-ENOENT, vft_open_channel(&self->dom, 1, 4));
}

TEST_F(ch, changing_needs_the_capability)
{
	pid_t pid = vft_fork();

	if (!pid) {
		vft_nl_reset();
		if (setgroups(0, NULL) || setresgid(1000, 1000, 1000) ||
		    setresuid(1000, 1000, 1000))
			_exit(1);
		if (vft_channel_create(&self->dom, 1, 4, 0, 0, 0) != -EPERM)
			_exit(2);
		if (vft_channel_delete(&self->dom, 1, 3, true) != -EPERM)
			_exit(3);
		/* nor may he open the file of one */
		_exit(vft_open_channel(&self->dom, 1, 3) == -EACCES ? 0 : 4);
	}
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
}

/* A channel's file has a mode and an owner of its own, else the domain's. */
TEST_F(ch, mode_and_owner)
{
	struct stat st;
	pid_t pid;

	ASSERT_EQ(0, stat(vft_channel_path(&self->dom, 1, 3), &st));
	EXPECT_EQ(S_IFCHR | 0600, st.st_mode);
	ASSERT_EQ(0, vft_channel_create(&self->dom, 1, 20, 0640, 1001, 1002));
	ASSERT_EQ(0, stat(vft_channel_path(&self->dom, 1, 20), &st));
	EXPECT_EQ(S_IFCHR | 0640, st.st_mode);
	EXPECT_EQ(1001, st.st_uid);
	EXPECT_EQ(1002, st.st_gid);
	close(self->fd[5]);
	ASSERT_EQ(true, vft_until(3000, !vft_endpoint_get(&self->dom, 5, VFAB_A_HELD)));
	pid = vft_fork();
	if (!pid) {
		if (setgroups(0, NULL) || setresgid(1001, 1001, 1001) ||
		    setresuid(1001, 1001, 1001))
			_exit(1);
		/* the channel is the right to join; the partition's file is not his */
		if (vft_open(&self->dom, 1) != -EACCES)
			_exit(2);
		_exit(vft_join_channel(&self->dom, 1, 20, 5) >= 0 ? 0 : 3);
	}
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
}

struct counted {
	unsigned int n, held;
	uint64_t last;
	bool sorted;
};

static void count(const struct vft_msg *msg, void *arg)
{
	uint64_t at = (uint64_t)vft_u32(msg, VFAB_A_PARTITION) << 32 | vft_u32(msg, VFAB_A_CHANNEL);
	struct counted *c = arg;

	if (c->n && at <= c->last)
		c->sorted = false;
	c->last = at;
	c->n++;
	c->held += vft_u32(msg, VFAB_A_ATTACHED);
}

static int dump(const struct vft_domain *dom, int partition, struct counted *c)
{
	struct vft_req req;

	*c = (struct counted) { .sorted = true };
	vft_req(&req, vft_nl(), VFAB_CMD_CHANNEL_GET, NLM_F_REQUEST | NLM_F_DUMP);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	if (partition >= 0)
		vft_put_u32(&req, VFAB_A_PARTITION, partition);
	return vft_call(vft_nl(), &req, count, c);
}

/* All 2048 of a partition, and not one more; a dump of many parts has each once. */
TEST_F_TIMEOUT(ch, limit_per_partition, 120)
{
	struct counted c;
	struct vft_req req;
	uint32_t i;

	ASSERT_EQ(0, dump(&self->dom, -1, &c));
	EXPECT_EQ(3, c.n);
	EXPECT_EQ(5, c.held);
	ASSERT_EQ(0, dump(&self->dom, 0, &c));
	EXPECT_EQ(1, c.n);
	ASSERT_EQ(0, vft_partition_create(&self->dom, 5, NULL, 0, 0));
	for (i = 0; i < VFAB_CHANNELS; i++) {
		vft_req(&req, vft_nl(), VFAB_CMD_CHANNEL_CREATE, NLM_F_REQUEST | NLM_F_ACK);
		vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
		vft_put_u32(&req, VFAB_A_PARTITION, 5);
		ASSERT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	}
	EXPECT_EQ(-ENOSPC, vft_call(vft_nl(), &req, NULL, NULL));
	ASSERT_EQ(0, dump(&self->dom, 5, &c));
	EXPECT_EQ(VFAB_CHANNELS, c.n);
	EXPECT_EQ(true, c.sorted);
	/* the lowest free id is given next */
	ASSERT_EQ(0, vft_channel_delete(&self->dom, 5, 77, false));
	EXPECT_EQ(0, vft_call(vft_nl(), &req, NULL, NULL));
	EXPECT_EQ(-EEXIST, vft_channel_create(&self->dom, 5, 77, 0, 0, 0));
	EXPECT_EQ(0, vft_partition_delete(&self->dom, 5));
}

TEST_F(ch, events)
{
	struct vft_nl nl;
	struct vft_msg msg;
	char buf[4096];

	ASSERT_EQ(0, vft_nl_open(&nl));
	ASSERT_EQ(0, vft_nl_listen(&nl));
	ASSERT_EQ(0, vft_channel_create(&self->dom, 1, 30, 0, 0, 0));
	ASSERT_EQ(0, vft_event(&nl, 3000, &msg, buf, sizeof(buf)));
	EXPECT_EQ(VFAB_OBJ_CHANNEL, vft_u32(&msg, VFAB_A_OBJECT));
	EXPECT_EQ(VFAB_ACT_CREATED, vft_u32(&msg, VFAB_A_ACTION));
	EXPECT_EQ(1, vft_u32(&msg, VFAB_A_PARTITION));
	EXPECT_EQ(30, vft_u32(&msg, VFAB_A_CHANNEL));
	ASSERT_EQ(0, vft_channel_delete(&self->dom, 1, 7, true));
	/* the evicted come first */
	ASSERT_EQ(0, vft_event(&nl, 3000, &msg, buf, sizeof(buf)));
	EXPECT_EQ(VFAB_ACT_DETACHED, vft_u32(&msg, VFAB_A_ACTION));
	EXPECT_EQ(2, vft_u32(&msg, VFAB_A_RANK));
	ASSERT_EQ(0, vft_event(&nl, 3000, &msg, buf, sizeof(buf)));
	EXPECT_EQ(3, vft_u32(&msg, VFAB_A_RANK));
	ASSERT_EQ(0, vft_event(&nl, 3000, &msg, buf, sizeof(buf)));
	EXPECT_EQ(VFAB_OBJ_CHANNEL, vft_u32(&msg, VFAB_A_OBJECT));
	EXPECT_EQ(VFAB_ACT_DELETED, vft_u32(&msg, VFAB_A_ACTION));
	EXPECT_EQ(7, vft_u32(&msg, VFAB_A_CHANNEL));
	vft_nl_close(&nl);
}

TEST_HARNESS_MAIN
