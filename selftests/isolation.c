// SPDX-License-Identifier: GPL-2.0
/*
 * isolation: what is on the other side of a partition border is not reached,
 * not seen and not disturbed; and who may open which device file.
 *
 *	build/selftests/isolation
 */
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "kselftest_harness.h"
#include "vft.h"

#define WORLD	6

/* Ranks 0 to 2 are in the default partition, 3 to 5 in partition 1 */
FIXTURE(part) {
	struct vft_domain dom;
	int fd[WORLD];			/* 2 and 5 are vacant */
	uint64_t handle[WORLD];
};

FIXTURE_SETUP(part)
{
	static const uint32_t held[] = { 0, 1, 3, 4 };
	size_t i;

	ASSERT_EQ(0, vft_domain_create(&self->dom, WORLD, NULL));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, "blue", 3, 3));
	for (i = 0; i < ARRAY_SIZE(held); i++) {
		uint32_t r = held[i];

		self->fd[r] = vft_join_part(&self->dom, r / 3, r);
		ASSERT_LE(0, self->fd[r]);
		ASSERT_EQ(0, fcntl(self->fd[r], F_SETFL, O_NONBLOCK));
		ASSERT_EQ(0, vft_alloc(self->fd[r], VFT_PAGE, 1, VFT_RW, &self->handle[r]));
	}
}

FIXTURE_TEARDOWN_PARENT(part)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

TEST_F(part, each_side_works)
{
	EXPECT_EQ(0, vft_import(self->fd[0], self->handle[1], VFT_RW, 0, NULL));
	EXPECT_EQ(0, vft_import(self->fd[3], self->handle[4], VFT_RW, 0, NULL));
	EXPECT_EQ(0, vft_lookup(self->fd[4], 3, 1, 0, NULL));
	EXPECT_EQ(0, vft_bell(self->fd[4], 3, NULL));
	EXPECT_EQ(0, vft_ring(self->fd[4], 3, 0));
}

TEST_F(part, nothing_reaches_across)
{
	static const int pairs[][2] = {
		{ 0, 3 }, { 0, 4 }, { 1, 3 }, { 3, 0 }, { 3, 1 }, { 4, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		int from = self->fd[pairs[i][0]], rank = pairs[i][1];

		EXPECT_EQ(-EACCES, vft_lookup(from, rank, 1, 0, NULL));
		EXPECT_EQ(-EACCES, vft_lookup(from, rank, 1, VFAB_NO_DEADLINE, NULL));
		EXPECT_EQ(-EACCES, vft_lookup(from, rank, 99, VFAB_NO_DEADLINE, NULL));
		EXPECT_EQ(-EACCES, vft_import(from, self->handle[rank], VFT_R, 0, NULL));
		EXPECT_EQ(-EACCES, vft_import(from, self->handle[rank], VFT_RW, 1, NULL));
		EXPECT_EQ(-EACCES, vft_bell(from, rank, NULL));
		EXPECT_EQ(-EACCES, vft_ring(from, rank, 0));
		EXPECT_EQ(-EACCES, vft_pace(from, rank, 0, &(uint64_t){ 8 }, &(uint64_t){ 0 }));
		EXPECT_EQ(-ENOENT, vft_free(from, self->handle[rank]));
	}
	/* vacant ranks are no different from held ones */
	EXPECT_EQ(-EACCES, vft_lookup(self->fd[0], 5, 1, 0, NULL));
	EXPECT_EQ(-EACCES, vft_bell(self->fd[0], 5, NULL));
	EXPECT_EQ(-EACCES, vft_ring(self->fd[3], 2, 0));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 0, VFAB_A_IMPORTS));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 3, VFAB_A_IMPORTS));
}

/* Whatever an endpoint says that it has moved, it has moved nothing over there. */
TEST_F(part, nothing_is_counted_across)
{
	struct vfab_count *c = vft_counts(self->fd[0]);
	int port;
	uint32_t r;

	ASSERT_NE(NULL, c);
	memset(c, 0x7f, VFT_PAGE);
	EXPECT_NE(0, vft_counter(&self->dom, 1, -1, -1, VFAB_COUNTER_RCV_BYTES));
	for (r = 3; r < WORLD; r++) {
		EXPECT_EQ(0, vft_counter(&self->dom, r, -1, -1, VFAB_COUNTER_RCV_BYTES));
		EXPECT_EQ(0, vft_counter(&self->dom, r, -1, -1, VFAB_COUNTER_XMIT_OPS));
		for (port = 0; port < 2; port++) {
			EXPECT_EQ(0, vft_counter(&self->dom, r, -1, port,
						 VFAB_COUNTER_PORT_RCV_BYTES));
			EXPECT_EQ(0, vft_counter(&self->dom, -1, port, r,
						 VFAB_COUNTER_PORT_XMIT_BYTES));
		}
	}
}

/* The file decides what one may attach to. */
TEST_F(part, file_admits_to_its_partition_only)
{
	int red = vft_open(&self->dom, 0), blue = vft_open(&self->dom, 1);
	uint32_t r;

	for (r = 0; r < 3; r++) {
		EXPECT_EQ(-EACCES, vft_attach(blue, r));
		EXPECT_EQ(-EACCES, vft_attach(red, 3 + r));
	}
	EXPECT_EQ(0, vft_attach(blue, VFAB_RANK_ANY));
	EXPECT_EQ(1, vft_endpoint_get(&self->dom, 5, VFAB_A_HELD));
	EXPECT_EQ(0, vft_attach(red, VFAB_RANK_ANY));
	EXPECT_EQ(1, vft_endpoint_get(&self->dom, 2, VFAB_A_HELD));
}

/* The view of the other side is the same whatever happens there. */
TEST_F(part, nothing_is_seen_of_the_other_side)
{
	const struct vfab_view *view = vft_view(self->fd[0]);
	struct vfab_peer before[WORLD], after;
	uint64_t generation, loss;
	struct vfab_event ev;
	uint32_t r;
	int fd;

	ASSERT_NE(NULL, view);
	for (r = 3; r < WORLD; r++) {
		vft_peer(view, r, &before[r]);
		EXPECT_EQ(VFAB_PEER_UNREACHABLE, before[r].state);
		EXPECT_EQ(0, before[r].paths);
		EXPECT_EQ(0, before[r].rate);
		EXPECT_EQ(0, before[r].losses);
	}
	while (read(self->fd[0], &ev, sizeof(ev)) > 0)
		;
	generation = view->generation;
	loss = view->loss;

	fd = vft_join_part(&self->dom, 1, 5);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vft_alloc(fd, VFT_PAGE, 1, VFT_R, NULL));
	ASSERT_EQ(0, vft_link(&self->dom, 5, -1, false));
	ASSERT_EQ(0, vft_link(&self->dom, 5, -1, true));
	ASSERT_EQ(0, vft_free(self->fd[3], self->handle[3]));
	close(fd);
	ASSERT_EQ(0, vft_detach(self->fd[4]));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 2, NULL, 3, 1));
	for (r = 3; r < WORLD; r++) {
		vft_peer(view, r, &after);
		EXPECT_EQ(0, memcmp(&before[r], &after, sizeof(after))) {
			TH_LOG("rank %u: generation %llu to %llu, state %u to %u, losses %u to %u",
			       r, (unsigned long long)before[r].generation,
			       (unsigned long long)after.generation, before[r].state, after.state,
			       before[r].losses, after.losses);
		}
	}
	EXPECT_EQ(generation, view->generation);
	EXPECT_EQ(loss, view->loss);
	EXPECT_EQ(-1, read(self->fd[0], &ev, sizeof(ev)));
	EXPECT_EQ(EAGAIN, errno);
}

/* A border comes while one waits for a window behind it. */
TEST_F(part, border_ends_a_waiting_lookup)
{
	pid_t pid = vft_fork();

	if (!pid)
		_exit(-vft_lookup(self->fd[0], 1, 99, VFAB_NO_DEADLINE, NULL));
	vft_sleep_ms(100);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	ASSERT_EQ(0, vft_partition_add(&self->dom, 1, 1, 1));
	EXPECT_EQ(EACCES << 8, vft_wait_pid(pid, 3000));
}

/* Who moves takes his endpoint along, not what he reached before. */
TEST_F(part, moved_endpoint)
{
	const struct vfab_view *view = vft_view(self->fd[1]);
	char *red, *blue;
	struct vfab_peer peer;

	red = vft_import_map(self->fd[1], self->handle[0], VFT_PAGE, VFT_RW, 0);
	ASSERT_NE(NULL, red);
	EXPECT_EQ(0, vft_touch(red));
	ASSERT_EQ(0, vft_partition_add(&self->dom, 1, 1, 1));
	EXPECT_EQ(SIGBUS, vft_touch(red));
	EXPECT_EQ(-EACCES, vft_import(self->fd[1], self->handle[0], VFT_R, 0, NULL));
	EXPECT_EQ(-EACCES, vft_import(self->fd[0], self->handle[1], VFT_R, 0, NULL));
	blue = vft_import_map(self->fd[1], self->handle[3], VFT_PAGE, VFT_RW, 0);
	ASSERT_NE(NULL, blue);
	EXPECT_EQ(0, vft_touch(blue));
	EXPECT_EQ(0, vft_import(self->fd[3], self->handle[1], VFT_RW, 0, NULL));
	vft_peer(view, 0, &peer);
	EXPECT_EQ(VFAB_PEER_UNREACHABLE, peer.state);
	vft_peer(view, 4, &peer);
	EXPECT_EQ(VFAB_PEER_HELD, peer.state);
	EXPECT_EQ(1, view->partition);
	/* its own window is its own, wherever it is */
	EXPECT_EQ(0, vft_import(self->fd[1], self->handle[1], VFT_RW, 0, NULL));
}

TEST_F(part, endpoints_without_a_partition)
{
	char *a = vft_import_map(self->fd[0], self->handle[1], VFT_PAGE, VFT_RW, 0);
	const struct vfab_view *view = vft_view(self->fd[0]);
	int fd = vft_open(&self->dom, 0);

	ASSERT_NE(NULL, a);
	EXPECT_EQ(0, vft_touch(a));
	ASSERT_EQ(0, vft_partition_del(&self->dom, 0, 0, 3));
	EXPECT_EQ(SIGBUS, vft_touch(a));
	EXPECT_EQ(VFAB_PARTITION_NONE, view->partition);
	/* none is not a partition of its own */
	EXPECT_EQ(-EACCES, vft_import(self->fd[0], self->handle[1], VFT_R, 0, NULL));
	EXPECT_EQ(-EACCES, vft_ring(self->fd[0], 1, 0));
	EXPECT_EQ(-EACCES, vft_ring(self->fd[0], 2, 0));
	EXPECT_EQ(0, vft_import(self->fd[0], self->handle[0], VFT_RW, 0, NULL));
	EXPECT_EQ(0, vft_ring(self->fd[0], 0, 0));
	EXPECT_EQ(0, view->ended);
	/* and nobody is admitted to it */
	EXPECT_EQ(-EACCES, vft_attach(fd, 2));
	EXPECT_EQ(-EHOSTUNREACH, vft_attach(fd, VFAB_RANK_ANY));
}

/* Handles, tags and cookies of the other side guessed at random */
TEST_F(part, guessing)
{
	unsigned int seed = 9, i;

	for (i = 0; i < 3000; i++) {
		uint64_t guess = self->handle[3] ^ (1ULL << vft_random(&seed) % 64) ^
				 (vft_random(&seed) % 4);
		int ret = vft_import(self->fd[0], guess, VFT_R, 0, NULL);

		if (guess == self->handle[0] || guess == self->handle[1])
			continue;
		EXPECT_EQ(true, ret == -ENOENT || ret == -EACCES) {
			TH_LOG("handle %llx: %d", (unsigned long long)guess, ret);
		}
	}
}

/* --- nobody wedges his neighbours ------------------------------------------------- */

static void be_a_nuisance(int fd, int peer, uint64_t handle, unsigned int seed)
{
	struct vft_bells bells;

	vft_bells(&bells, fd, peer);
	for (;;) {
		uint64_t cookie = 0, count = 0, loss = 0, own = 0;
		unsigned int i = 0;

		switch (vft_random(&seed) % 5) {
		case 0:
			for (i = 0; i < 50; i++)
				vft_import(fd, handle, VFT_RW, VFAB_LOSS_ABSORB, &cookie);
			vft_release(fd, cookie);
			break;
		case 1:
			if (!vft_alloc(fd, VFT_HUGE, 0, VFT_RW, &own)) {
				char *p = vft_import_map(fd, own, VFT_HUGE, VFT_RW, 0);

				for (i = 0; p && i < VFT_HUGE; i += VFT_PAGE)
					vft_store(p + i, i);
				vft_free(fd, own);
				if (p)
					munmap(p, VFT_HUGE);
			}
			break;
		case 2:
			for (i = 0; i < 200; i++) {
				vft_store(bells.counts + (i * 8) % VFT_PAGE, i);
				vft_ring(fd, peer, i % VFAB_VECTORS);
			}
			break;
		case 3:
			vft_wait(fd, vft_random(&seed) % VFAB_VECTORS, &count, &loss,
				 vft_now() + VFT_MS, NULL);
			break;
		case 4:
			vft_lookup(fd, peer, 4711, vft_now() + VFT_MS, NULL);
			break;
		}
	}
}

TEST_F(part, nuisances_in_another_partition)
{
	uint64_t end, worst = 0, start;
	struct vft_bells bells;
	unsigned int n = 0;
	pid_t pid[2];

	pid[0] = vft_fork();
	if (!pid[0])
		be_a_nuisance(self->fd[3], 4, self->handle[4], 1);
	pid[1] = vft_fork();
	if (!pid[1])
		be_a_nuisance(self->fd[4], 3, self->handle[3], 2);
	ASSERT_EQ(0, vft_bells(&bells, self->fd[1], 0));
	end = vft_now() + 3 * VFT_SEC;
	while (vft_now() < end) {
		uint64_t handle, cookie, count, loss = vft_view(self->fd[0])->loss;
		char *p;

		start = vft_now();
		ASSERT_EQ(0, vft_alloc(self->fd[0], VFT_PAGE, 0, VFT_RW, &handle));
		ASSERT_EQ(0, vft_import(self->fd[1], handle, VFT_RW, 0, &cookie));
		p = vft_map(self->fd[1], cookie, VFT_PAGE, PROT_READ | PROT_WRITE);
		ASSERT_NE(NULL, p);
		EXPECT_EQ(0, vft_store(p, 1));
		count = *vft_count(&bells, 5);
		EXPECT_EQ(0, vft_ding(&bells, 5));
		EXPECT_EQ(0, vft_wait(self->fd[0], 5, &count, &loss, start + 5 * VFT_SEC, NULL));
		EXPECT_EQ(0, vft_free(self->fd[0], handle));
		munmap(p, VFT_PAGE);
		if (vft_now() - start > worst)
			worst = vft_now() - start;
		n++;
	}
	EXPECT_LT(20, n);
	/* an emulator on a busy machine is slow; being wedged is another matter */
	EXPECT_GT(5 * VFT_SEC, worst) {
		TH_LOG("the worst of %u rounds took %llu ms", n,
		       (unsigned long long)(worst / VFT_MS));
	}
	vft_kill(pid[0]);
	vft_kill(pid[1]);
}

/* --- device files -------------------------------------------------------------------- */

/* In a child: open as somebody; 0, or the errno */
static int open_as(uid_t uid, gid_t gid, gid_t also, const struct vft_domain *dom, uint32_t part)
{
	pid_t pid = vft_fork();
	int status;

	if (!pid) {
		int fd;

		if (setgroups(!!also, &also) || setresgid(gid, gid, gid) ||
		    setresuid(uid, uid, uid))
			_exit(250);
		fd = vft_open(dom, part);
		_exit(fd < 0 ? -fd : 0);
	}
	status = vft_wait_pid(pid, 5000);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 251;
}

TEST_F(part, default_mode_is_root_only)
{
	struct stat st;
	uint32_t p;

	for (p = 0; p < 2; p++) {
		ASSERT_EQ(0, stat(vft_path(&self->dom, p), &st));
		EXPECT_EQ(S_IFCHR | 0600, st.st_mode);
		EXPECT_EQ(0, st.st_uid);
		EXPECT_EQ(0, st.st_gid);
		EXPECT_EQ(EACCES, open_as(1000, 1000, 0, &self->dom, p));
		EXPECT_EQ(0, open_as(0, 0, 0, &self->dom, p));
	}
	ASSERT_EQ(0, stat("/dev/vfabric", &st));
	EXPECT_EQ(0, st.st_mode & 022);
}

TEST_F(part, mode_and_owner_as_asked_for)
{
	struct vft_options opt = { .mode = 0660, .uid = 1001, .gid = 1002 };
	struct vft_domain dom;
	struct stat st;
	uint32_t p;

	ASSERT_EQ(0, vft_domain_create(&dom, 4, &opt));
	ASSERT_EQ(0, vft_partition_create(&dom, 1, NULL, 2, 2));
	for (p = 0; p < 2; p++) {
		ASSERT_EQ(0, stat(vft_path(&dom, p), &st));
		EXPECT_EQ(S_IFCHR | 0660, st.st_mode);
		EXPECT_EQ(1001, st.st_uid);
		EXPECT_EQ(1002, st.st_gid);
		EXPECT_EQ(0, open_as(1001, 1001, 0, &dom, p));
		EXPECT_EQ(0, open_as(1000, 1002, 0, &dom, p));
		EXPECT_EQ(0, open_as(1000, 1000, 1002, &dom, p));
		EXPECT_EQ(EACCES, open_as(1000, 1000, 0, &dom, p));
	}
	/* a later change of the file is the administrator's business, and holds */
	ASSERT_EQ(0, chmod(vft_path(&dom, 1), 0666));
	EXPECT_EQ(0, open_as(1000, 1000, 0, &dom, 1));
	EXPECT_EQ(EACCES, open_as(1000, 1000, 0, &dom, 0));
	EXPECT_EQ(0, vft_domain_end(&dom));
}

/* Holding the file is the right to join: an ordinary user is a full member. */
TEST_F(part, ordinary_user_joins)
{
	struct vft_options opt = { .mode = 0666 };
	struct vft_domain dom;
	uint64_t handle;
	pid_t pid;
	int fd;

	ASSERT_EQ(0, vft_domain_create(&dom, 2, &opt));
	fd = vft_join(&dom, 0);
	ASSERT_EQ(0, vft_alloc(fd, VFT_PAGE, 1, VFT_RW, &handle));
	pid = vft_fork();
	if (!pid) {
		uint64_t h, got;
		struct vft_bells bells;
		char *p;
		int mine;

		if (setgroups(0, NULL) || setresgid(1000, 1000, 1000) ||
		    setresuid(1000, 1000, 1000))
			_exit(1);
		mine = vft_join(&dom, 1);
		if (mine < 0 || vft_alloc(mine, VFT_PAGE, 1, VFT_RW, &h) ||
		    vft_lookup(mine, 0, 1, 0, &got))
			_exit(2);
		p = vft_import_map(mine, got, VFT_PAGE, VFT_RW, 0);
		if (!p || vft_store(p, 5) || vft_bells(&bells, mine, 0) || vft_ding(&bells, 0))
			_exit(3);
		_exit(0);
	}
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
	close(fd);
	EXPECT_EQ(0, vft_domain_end(&dom));
}

TEST_HARNESS_MAIN
