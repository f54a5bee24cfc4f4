// SPDX-License-Identifier: GPL-2.0
/*
 * module: loading, unloading and the parameters. It unloads the module that it
 * finds and leaves it loaded with the defaults.
 *
 *	VFABRIC_KO=vfabric.ko build/selftests/module
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

/* Ends of processes may be noticed a moment late */
static int unload_soon(void)
{
	int ret = -1;

	vft_until(5000, !(ret = vft_module_unload()));
	return ret;
}

FIXTURE(module) {
	int unused;
};

FIXTURE_SETUP(module)
{
	ASSERT_NE(NULL, getenv("VFABRIC_KO"));
	if (!vft_module_loaded())
		ASSERT_EQ(0, vft_module_load(""));
}

FIXTURE_TEARDOWN_PARENT(module)
{
	if (vft_module_loaded())
		EXPECT_EQ(0, unload_soon());
	EXPECT_EQ(0, vft_module_load(""));
}

/* It creates nothing and takes hold of nothing until it is asked to. */
TEST_F(module, loading_creates_nothing)
{
	ASSERT_EQ(0, vft_module_unload());
	EXPECT_NE(0, access("/dev/vfabric", F_OK));
	ASSERT_EQ(0, vft_module_load(""));
	EXPECT_EQ(0, vft_domain_count());
	EXPECT_NE(0, access("/dev/vfabric", F_OK));
	EXPECT_EQ(0, vft_read_long("/sys/module/vfabric/refcnt"));
	EXPECT_EQ(0, vft_read_long("/sys/module/vfabric/parameters/userns_domains"));
}

TEST_F(module, parameters_are_read_only_after_loading)
{
	DIR *dir = opendir("/sys/module/vfabric/parameters");
	struct dirent *entry;
	int n = 0;

	ASSERT_NE(NULL, dir);
	while ((entry = readdir(dir))) {
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		ASSERT_EQ(0, fstatat(dirfd(dir), entry->d_name, &st, 0));
		EXPECT_EQ(0, st.st_mode & 0222) {
			TH_LOG("%s is writable", entry->d_name);
		}
		n++;
	}
	EXPECT_LT(0, n);
	closedir(dir);
}

TEST_F_TIMEOUT(module, loads_and_unloads_a_hundred_times, 120)
{
	unsigned int i;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, vft_module_unload());
		ASSERT_EQ(0, vft_module_load(""));
		/* used or not */
		if (i % 10 == 0) {
			struct vft_domain dom;

			ASSERT_EQ(0, vft_domain_create(&dom, 72, NULL));
			close(vft_join(&dom, 3));
			ASSERT_EQ(0, vft_domain_delete(&dom, false));
		}
	}
}

/* Domains without users are no reason to stay; they go with the module. */
TEST_F(module, unloads_with_domains)
{
	struct vft_domain dom[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, vft_domain_create(&dom[i], 72, NULL));
	ASSERT_EQ(0, vft_partition_create(&dom[0], 1, NULL, 0, 8));
	ASSERT_EQ(0, vft_module_unload());
	EXPECT_EQ(true, vft_until(1000, access("/dev/vfabric", F_OK)));
	ASSERT_EQ(0, vft_module_load(""));
	EXPECT_EQ(0, vft_domain_count());
}

TEST_F(module, stays_while_a_file_is_open)
{
	struct vft_domain dom;
	int fd;

	ASSERT_EQ(0, vft_domain_create(&dom, 4, NULL));
	/* not attached */
	fd = vft_open(&dom, 0);
	EXPECT_EQ(-EAGAIN, vft_module_unload());
	ASSERT_EQ(0, vft_attach(fd, 0));
	EXPECT_EQ(-EAGAIN, vft_module_unload());
	ASSERT_EQ(0, vft_detach(fd));
	EXPECT_EQ(-EAGAIN, vft_module_unload());
	/* the domain gone, the file still there */
	ASSERT_EQ(0, vft_domain_delete(&dom, false));
	EXPECT_EQ(-EAGAIN, vft_module_unload());
	close(fd);
	EXPECT_EQ(0, vft_module_unload());
}

TEST_F(module, stays_while_a_window_is_mapped)
{
	struct vft_domain dom;
	uint64_t handle;
	char *p, *q;
	int fd;

	ASSERT_EQ(0, vft_domain_create(&dom, 4, NULL));
	fd = vft_join(&dom, 0);
	ASSERT_EQ(0, vft_alloc(fd, VFT_HUGE, 0, VFT_RW, &handle));
	p = vft_import_map(fd, handle, VFT_HUGE, VFT_RW, 0);
	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, vft_store(p, 1));
	q = (char *)vft_view(fd);
	ASSERT_NE(NULL, q);
	close(fd);
	/* only the mappings are left, and those in pieces */
	EXPECT_EQ(-EAGAIN, vft_module_unload());
	EXPECT_EQ(SIGBUS, vft_touch(p));
	ASSERT_EQ(0, vft_domain_delete(&dom, false));
	EXPECT_EQ(-EAGAIN, vft_module_unload());
	ASSERT_EQ(0, munmap(p, VFT_HUGE - VFT_PAGE));
	EXPECT_EQ(-EAGAIN, vft_module_unload());
	EXPECT_EQ(SIGBUS, vft_touch(p + VFT_HUGE - VFT_PAGE));
	ASSERT_EQ(0, munmap(p + VFT_HUGE - VFT_PAGE, VFT_PAGE));
	EXPECT_EQ(-EAGAIN, vft_module_unload());
	ASSERT_EQ(0, munmap(q, VFT_PAGE));
	EXPECT_EQ(0, vft_module_unload());
}

/* A child's mapping counts like the parent's. */
TEST_F(module, stays_while_a_child_has_a_mapping)
{
	struct vft_domain dom;
	uint64_t handle;
	pid_t pid;
	char *p;
	int fd;

	ASSERT_EQ(0, vft_domain_create(&dom, 4, NULL));
	fd = vft_join(&dom, 0);
	ASSERT_EQ(0, vft_alloc(fd, VFT_PAGE, 0, VFT_RW, &handle));
	p = vft_import_map(fd, handle, VFT_PAGE, VFT_RW, 0);
	ASSERT_NE(NULL, p);
	pid = vft_fork();
	if (!pid) {
		close(fd);
		pause();
	}
	munmap(p, VFT_PAGE);
	close(fd);
	/* the child closes its copy as well */
	EXPECT_EQ(true, vft_until(2000, !vft_domain_get(&dom, VFAB_A_ATTACHED)));
	ASSERT_EQ(0, vft_domain_delete(&dom, false));
	EXPECT_EQ(-EAGAIN, vft_module_unload());
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_EQ(0, unload_soon());
}

/* A dump of which only the first part was read: the rest would be code that is gone. */
TEST_F(module, stays_while_a_dump_is_half_read)
{
	struct vft_domain dom;
	struct vft_nl nl;
	struct vft_req req;
	char part[8192];

	ASSERT_EQ(0, vft_domain_create(&dom, 1024, NULL));
	ASSERT_EQ(0, vft_nl_open(&nl));
	vft_req(&req, &nl, VFAB_CMD_ENDPOINT_GET, NLM_F_DUMP);
	ASSERT_EQ(0, vft_send(&nl, &req));
	ASSERT_LT(0, recv(nl.fd, part, sizeof(part), 0));
	EXPECT_EQ(-EAGAIN, vft_module_unload());
	ASSERT_LT(0, recv(nl.fd, part, sizeof(part), 0));
	EXPECT_EQ(-EAGAIN, vft_module_unload());
	vft_nl_close(&nl);
	EXPECT_EQ(0, unload_soon());
}

/* Everything that can reach it while it comes and goes */
static void knock(unsigned int seed)
{
	for (;;) {
		struct vft_nl nl;
		struct vft_req req;
		char path[32];
		int fd;

		snprintf(path, sizeof(path), "/dev/vfabric/%u", vft_random(&seed) % 3);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0) {
			vft_attach(fd, VFAB_RANK_ANY);
			vft_alloc(fd, VFT_PAGE, 0, VFT_R, NULL);
			close(fd);
		}
		if (vft_nl_open(&nl))
			continue;
		vft_nl_listen(&nl);
		vft_req(&req, &nl, VFAB_CMD_DOMAIN_CREATE, NLM_F_ACK);
		vft_put_u32(&req, VFAB_A_WORLD, 4);
		vft_put_u32(&req, VFAB_A_PLANES, 1);
		vft_call(&nl, &req, NULL, NULL);
		vft_req(&req, &nl, VFAB_CMD_ENDPOINT_GET, NLM_F_DUMP);
		vft_call(&nl, &req, NULL, NULL);
		vft_req(&req, &nl, VFAB_CMD_DOMAIN_DELETE, NLM_F_ACK);
		vft_put_u32(&req, VFAB_A_DOMAIN, vft_random(&seed) % 3);
		vft_put_flag(&req, VFAB_A_FORCE);
		vft_call(&nl, &req, NULL, NULL);
		vft_nl_close(&nl);
	}
}

TEST_F_TIMEOUT(module, used_while_it_comes_and_goes, 60)
{
	uint64_t end = vft_now() + 4 * VFT_SEC;
	unsigned int i, gone = 0;
	pid_t pid[3];

	for (i = 0; i < 3; i++) {
		pid[i] = vft_fork();
		if (!pid[i])
			knock(i);
	}
	/* A busy machine takes longer; who never gets it out ends by the test's limit */
	while (gone < 25 && (vft_now() < end || gone < 4)) {
		int ret = vft_module_unload();

		EXPECT_EQ(true, !ret || ret == -EAGAIN);
		if (ret)
			continue;
		gone++;
		ASSERT_EQ(0, vft_module_load(""));
		vft_sleep_ms(5);
	}
	for (i = 0; i < 3; i++)
		vft_kill(pid[i]);
	EXPECT_LT(3, gone);
	EXPECT_EQ(0, unload_soon());
}

/* --- parameters ----------------------------------------------------------------------- */

TEST_F(module, max_domains)
{
	struct vft_domain dom[4];
	unsigned int i;

	ASSERT_EQ(0, vft_module_unload());
	ASSERT_EQ(0, vft_module_load("max_domains=3"));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, vft_domain_create(&dom[i], 2, NULL));
	vft_quiet = true;
	EXPECT_EQ(-ENOSPC, vft_domain_create(&dom[3], 2, NULL));
	EXPECT_EQ(0, vft_domain_delete(&dom[1], false));
	EXPECT_EQ(0, vft_domain_create(&dom[3], 2, NULL));
}

/* In a child as another, see vft_become(); its exit status */
#define AS(uid, flags, ...) ({							\
	pid_t __pid = vft_fork();						\
	int __status;								\
										\
	if (!__pid) {								\
		if (vft_become(uid, flags))					\
			_exit(250);						\
		_exit(({ __VA_ARGS__; }));					\
	}									\
	__status = vft_wait_pid(__pid, 20000);					\
	WIFEXITED(__status) ? WEXITSTATUS(__status) : __status; })

/* Of backplanes: in range, and the timeout at least two periods */
TEST_F(module, backplane_times)
{
	static const char *const bad[] = {
		"backplane_period_ms=9", "backplane_period_ms=60001",
		"backplane_period_ms=500 backplane_timeout_ms=999", "backplane_timeout_ms=600001",
	};
	size_t i;

	/* Not in a kernel without PCI */
	if (access("/sys/module/vfabric/parameters/backplane_period_ms", F_OK))
		return;
	ASSERT_EQ(0, vft_module_unload());
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, vft_module_load(bad[i]));
	EXPECT_EQ(0, vft_module_load("backplane_period_ms=10 backplane_timeout_ms=20"));
}

/* Bytes of one user in all domains, whoever has the file and wherever it goes */
TEST_F(module, user_mem_mib)
{
	struct vft_options opt = { .mode = 0666, .mem_limit = 1ULL << 40 };
	struct vft_domain a, b;
	uint64_t handle;
	int fd, other;

	ASSERT_EQ(0, vft_module_unload());
	ASSERT_EQ(0, vft_module_load("user_mem_mib=16"));
	ASSERT_EQ(0, vft_domain_create(&a, 4, &opt));
	ASSERT_EQ(0, vft_domain_create(&b, 4, &opt));
	fd = vft_join(&a, 0);
	other = vft_join(&b, 0);
	/* root is a user too */
	ASSERT_EQ(0, vft_alloc(fd, 10 << 20, 0, VFT_R, &handle));
	EXPECT_EQ(-EDQUOT, vft_alloc(other, 7 << 20, 0, VFT_R, NULL));
	EXPECT_EQ(0, vft_alloc(other, 6 << 20, 0, VFT_R, NULL));
	EXPECT_EQ(-EDQUOT, vft_alloc(fd, VFT_PAGE, 0, VFT_R, NULL));
	/* another one has a limit of his own, also on a file that he was given */
	EXPECT_EQ(0, AS(1000, 0, vft_alloc(fd, 16 << 20, 5, VFT_R, NULL) != 0));
	/* it is still his although he has gone: root freed it, he gets it back */
	EXPECT_EQ(0, AS(1000, 0, vft_alloc(other, VFT_PAGE, 0, VFT_R, NULL) != -EDQUOT));
	ASSERT_EQ(0, vft_lookup(fd, 0, 5, 0, &handle));
	ASSERT_EQ(0, vft_free(fd, handle));
	EXPECT_EQ(-EDQUOT, vft_alloc(fd, VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(0, AS(1000, 0, vft_alloc(other, 16 << 20, 0, VFT_R, NULL) != 0));
	EXPECT_EQ(0, AS(1001, 0, vft_alloc(fd, 16 << 20, 0, VFT_R, NULL) != 0));
	close(fd);
	close(other);
	fd = vft_join(&a, 0);
	EXPECT_EQ(0, vft_alloc(fd, 16 << 20, 0, VFT_R, NULL));
	close(fd);
	EXPECT_EQ(0, vft_domain_end(&a));
	EXPECT_EQ(0, vft_domain_end(&b));
}

#define NEW_NS	(CLONE_NEWUSER | CLONE_NEWNET)

/* What such an admin may do: a number of domains of limited size, his own */
static int userns_admin(const struct vft_domain *foreign)
{
	struct vft_options open_to_all = { .mode = 0666 }, others = { .uid = 1 };
	struct vft_domain dom[3];
	struct stat st;
	int bad = 0, fd, i;

#define CHECK(what) do {							\
	if (!(what)) {								\
		bad++;								\
		fprintf(stderr, "# userns: not so: %s (%s)\n", #what, vft_nl()->text); \
	}									\
} while (0)
	CHECK(vft_domain_create(&dom[0], 9, NULL) == -EPERM);
	CHECK(vft_nl()->text[0]);
	CHECK(vft_domain_create(&dom[0], 8, &open_to_all) == -EPERM);
	CHECK(vft_domain_create(&dom[0], 8, &others) == -EINVAL);
	CHECK(vft_domain_create(&dom[0], 8, NULL) == 0);
	CHECK(vft_domain_create(&dom[1], 8, NULL) == 0);
	CHECK(vft_domain_create(&dom[2], 1, NULL) == -EDQUOT);
	CHECK(vft_nl()->text[0]);
	/* his file: seen from outside it belongs to his uid */
	CHECK(stat(vft_path(&dom[0], 0), &st) == 0);
	CHECK(st.st_uid == 0 && st.st_gid == 0 && (st.st_mode & 0777) == 0600);
	fd = vft_join(&dom[0], 0);
	CHECK(fd >= 0);
	CHECK(vft_alloc(fd, VFT_PAGE, 0, VFT_RW, NULL) == 0);
	/* he can manage it, and sees who holds it */
	CHECK(vft_link(&dom[0], 0, -1, false) == 0);
	CHECK(vft_partition_create(&dom[0], 1, NULL, 2, 2) == 0);
	CHECK(vft_channel_create(&dom[0], 1, 0, 0666, 0, 0) == -EPERM);
	CHECK(vft_channel_create(&dom[0], 1, 0, 0660, 1, 0) == -EINVAL);
	for (i = 0; i < 256; i++)
		CHECK(vft_channel_create(&dom[0], i % 2, i, 0660, 0, 0) == 0);
	CHECK(vft_channel_create(&dom[0], 1, 300, 0, 0, 0) == -EDQUOT);
	CHECK(vft_channel_delete(&dom[0], 1, 7, false) == 0);
	CHECK(vft_channel_create(&dom[0], 1, 300, 0, 0, 0) == 0);
	CHECK(vft_endpoint_get(&dom[0], 0, VFAB_A_HOLDER_PID) == (uint64_t)getpid());
	CHECK(vft_domain_delete(&dom[0], true) == 0);
	/* it counts for as long as a file of it is open */
	CHECK(vft_domain_create(&dom[2], 8, NULL) == -EDQUOT);
	close(fd);
	CHECK(vft_domain_create(&dom[2], 8, NULL) == 0);
	/* and nothing of others */
	CHECK(vft_link(foreign, 0, -1, false) == -ENOENT);
	CHECK(vft_domain_delete((struct vft_domain *)foreign, true) == -ENOENT);
	{
		struct vft_req req;

		vft_req(&req, vft_nl(), VFAB_CMD_SYSTEM_SET, NLM_F_ACK);
		vft_put_u32(&req, VFAB_A_NETNS_MODE, VFAB_NETNS_SHARED);
		CHECK(vft_call(vft_nl(), &req, NULL, NULL) == -EPERM);
	}
	return bad;
}

TEST_F_TIMEOUT(module, userns_domains, 60)
{
	struct vft_domain dom;
	unsigned int i;

	vft_quiet = true;
	ASSERT_EQ(0, vft_module_unload());
	ASSERT_EQ(0, vft_module_load("userns_domains=2 userns_world=8"));
	ASSERT_EQ(0, vft_domain_create(&dom, 4, NULL));
	/* ordinary users and roots elsewhere gain nothing by it */
	EXPECT_EQ(0, AS(1000, 0, vft_link(&dom, 0, -1, false) != -EPERM));
	EXPECT_EQ(0, AS(1000, 0, struct vft_domain d;
			     vft_domain_create(&d, 2, NULL) != -EPERM));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, AS(1000, NEW_NS, userns_admin(&dom)));
		/* the namespace goes, and its domains and their count with it */
		EXPECT_EQ(true, vft_until(10000, vft_domain_total() == 1));
	}
	/* counted by user, not by namespace */
	{
		_Atomic int *phase = vft_shared(VFT_PAGE);
		pid_t pid = vft_fork();

		if (!pid) {
			struct vft_domain d;

			if (vft_become(1000, NEW_NS) || vft_domain_create(&d, 2, NULL))
				*phase = 2;
			else
				*phase = 1;
			pause();
		}
		EXPECT_EQ(true, vft_until(5000, *phase));
		EXPECT_EQ(1, *phase);
		EXPECT_EQ(0, AS(1000, NEW_NS, struct vft_domain d, e;
				vft_domain_create(&d, 2, NULL) != 0 ||
				vft_domain_create(&e, 2, NULL) != -EDQUOT));
		EXPECT_EQ(0, AS(1001, NEW_NS, struct vft_domain d, e;
				vft_domain_create(&d, 2, NULL) != 0 ||
				vft_domain_create(&e, 2, NULL) != 0));
		vft_kill(pid);
	}
	EXPECT_EQ(1, vft_domain_count());
	EXPECT_EQ(0, vft_domain_delete(&dom, false));
}

/* In a user namespace that maps many uids, as each of them: they are one user's. */
static void as_each_uid(_Atomic int *phase)
{
	struct vft_domain d;
	unsigned int i;

	if (vft_become(1000, 0) || unshare(NEW_NS))
		_exit(1);
	*phase = 1;
	vft_until(5000, *phase == 2);
	for (i = 0; i < 4; i++) {
		/* as root of it, but for the uid */
		if (setresuid(i, 0, 0))
			_exit(2);
		if (vft_domain_create(&d, 2, NULL) != (i < 2 ? 0 : -EDQUOT))
			_exit(3);
	}
	_exit(0);
}

TEST_F(module, userns_domains_are_of_who_made_the_namespace)
{
	_Atomic int *phase = vft_shared(VFT_PAGE);
	char path[32];
	pid_t pid;

	vft_quiet = true;
	ASSERT_EQ(0, vft_module_unload());
	ASSERT_EQ(0, vft_module_load("userns_domains=2"));
	pid = vft_fork();
	if (!pid)
		as_each_uid(phase);
	ASSERT_EQ(true, vft_until(5000, *phase));
	/* as newuidmap(1) does */
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	EXPECT_EQ(true, vft_write_text(path, "0 1000 1\n1 100000 10\n"));
	snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)pid);
	EXPECT_EQ(true, vft_write_text(path, "0 1000 1\n"));
	*phase = 2;
	EXPECT_EQ(0, vft_wait_pid(pid, 10000));
	EXPECT_EQ(true, vft_until(10000, !vft_domain_total()));
}

TEST_HARNESS_MAIN
