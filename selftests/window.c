// SPDX-License-Identifier: GPL-2.0
/*
 * window: memory that an endpoint exports: what it holds at first, who is
 * charged for it, how it is found, and that it comes back whole.
 *
 *	build/selftests/window
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "kselftest_harness.h"
#include "vft.h"

FIXTURE(win) {
	struct vft_domain dom;
	int owner, peer;
};

FIXTURE_SETUP(win)
{
	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, NULL));
	self->owner = vft_join(&self->dom, 0);
	ASSERT_LE(0, self->owner);
	self->peer = vft_join(&self->dom, 1);
	ASSERT_LE(0, self->peer);
}

FIXTURE_TEARDOWN_PARENT(win)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

static size_t not_zero(const uint64_t *p, size_t bytes)
{
	size_t i, n = 0;

	for (i = 0; i < bytes / sizeof(*p); i++)
		n += p[i] != 0;
	return n;
}

/* Pages come back from the last user's window: they must not bring its bytes. */
TEST_F(win, zeroed)
{
	const size_t sizes[] = { VFT_PAGE, 64 * VFT_PAGE, VFT_HUGE, VFT_HUGE + VFT_PAGE, 16 << 20 };
	size_t i;
	int round;

	for (round = 0; round < 3; round++)
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			uint64_t handle;
			void *p;

			ASSERT_EQ(0, vft_alloc(self->owner, sizes[i], 0, VFT_RW, &handle));
			p = vft_import_map(self->peer, handle, sizes[i], VFT_RW, 0);
			ASSERT_NE(NULL, p);
			EXPECT_EQ(0, not_zero(p, sizes[i]));
			memset(p, 0xa5, sizes[i]);
			munmap(p, sizes[i]);
			ASSERT_EQ(0, vft_free(self->owner, handle));
		}
}

TEST_F(win, sizes)
{
	const size_t sizes[] = { 1, 2, 511, 512, 513, 1023, 1024, 1025, 8192 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t size = sizes[i] * VFT_PAGE;
		uint64_t handle;
		char *mine, *theirs;

		ASSERT_EQ(0, vft_alloc(self->owner, size, 0, VFT_RW, &handle));
		EXPECT_EQ(size, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
		mine = vft_import_map(self->owner, handle, size, VFT_RW, 0);
		theirs = vft_import_map(self->peer, handle, size, VFT_RW, 0);
		ASSERT_NE(NULL, mine);
		ASSERT_NE(NULL, theirs);
		/* first and last byte are the same memory for both */
		mine[0] = 1;
		mine[size - 1] = 2;
		EXPECT_EQ(1, theirs[0]);
		EXPECT_EQ(2, theirs[size - 1]);
		munmap(mine, size);
		munmap(theirs, size);
		ASSERT_EQ(0, vft_free(self->owner, handle));
		EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	}
}

/* Nothing that was allocated is lacking later, whatever else runs short. */
TEST_F(win, all_pages_are_there_from_the_start)
{
	struct rusage before, after;
	uint64_t handle;
	char *p;
	size_t i;

	ASSERT_EQ(0, vft_alloc(self->owner, 8 << 20, 0, VFT_RW, &handle));
	p = vft_import_map(self->owner, handle, 8 << 20, VFT_RW, 0);
	ASSERT_NE(NULL, p);
	getrusage(RUSAGE_SELF, &before);
	for (i = 0; i < 8 << 20; i += VFT_PAGE)
		p[i] = 1;
	getrusage(RUSAGE_SELF, &after);
	EXPECT_EQ(before.ru_majflt, after.ru_majflt);
}

TEST_F(win, tags)
{
	uint64_t a, b, got;

	ASSERT_EQ(0, vft_alloc(self->owner, VFT_PAGE, 1, VFT_R, &a));
	ASSERT_EQ(0, vft_alloc(self->owner, VFT_PAGE, ~0ULL, VFT_R, &b));
	EXPECT_EQ(-EEXIST, vft_alloc(self->owner, VFT_PAGE, ~0ULL, VFT_R, NULL));
	EXPECT_EQ(0, vft_lookup(self->peer, 0, ~0ULL, 0, &got));
	EXPECT_EQ(b, got);
	EXPECT_EQ(0, vft_lookup(self->peer, 0, 1, 0, &got));
	EXPECT_EQ(a, got);
	EXPECT_EQ(-ENOENT, vft_lookup(self->peer, 1, 1, 0, &got));
	ASSERT_EQ(0, vft_free(self->owner, a));
	EXPECT_EQ(-ENOENT, vft_lookup(self->peer, 0, 1, 0, &got));
}

TEST_F(win, handles_are_never_reissued)
{
	uint64_t seen[2000], other;
	size_t i, k;
	int fd;

	for (i = 0; i < ARRAY_SIZE(seen); i++) {
		ASSERT_EQ(0, vft_alloc(self->owner, VFT_PAGE, 0, VFT_R, &seen[i]));
		ASSERT_NE(0, seen[i]);
		ASSERT_EQ(0, vft_free(self->owner, seen[i]));
	}
	for (i = 0; i < ARRAY_SIZE(seen); i++)
		for (k = 0; k < i; k++)
			ASSERT_NE(seen[i], seen[k]);
	/* nor by the next holder of the rank */
	close(self->owner);
	ASSERT_EQ(true, vft_until(1000, (fd = vft_join(&self->dom, 0)) >= 0));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, vft_alloc(fd, VFT_PAGE, 0, VFT_R, &other));
		for (k = 0; k < ARRAY_SIZE(seen); k++)
			ASSERT_NE(other, seen[k]);
		EXPECT_EQ(-ENOENT, vft_import(self->peer, seen[i], VFT_R, 0, NULL));
	}
}

/* A handle of one domain is not one of another. */
TEST_F(win, handle_of_another_domain)
{
	struct vft_domain other;
	uint64_t handle, wrong;
	int fd, i;

	ASSERT_EQ(0, vft_domain_create(&other, 4, NULL));
	fd = vft_join(&other, 0);
	ASSERT_LE(0, fd);
	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, vft_alloc(fd, VFT_PAGE, 0, VFT_R, &handle));
		ASSERT_EQ(0, vft_alloc(self->owner, VFT_PAGE, 0, VFT_R, &wrong));
		EXPECT_EQ(-ENOENT, vft_import(self->peer, handle, VFT_R, 0, NULL));
		EXPECT_EQ(-ENOENT, vft_free(self->owner, handle));
	}
	close(fd);
	EXPECT_EQ(0, vft_domain_end(&other));
}

TEST_F(win, access_rights)
{
	uint64_t r, rw;

	ASSERT_EQ(0, vft_alloc(self->owner, VFT_PAGE, 0, VFT_R, &r));
	ASSERT_EQ(0, vft_alloc(self->owner, VFT_PAGE, 0, VFT_RW, &rw));
	EXPECT_EQ(-EACCES, vft_import(self->peer, r, VFT_RW, 0, NULL));
	EXPECT_EQ(0, vft_import(self->peer, r, VFT_R, 0, NULL));
	EXPECT_EQ(0, vft_import(self->peer, rw, VFT_R, 0, NULL));
	EXPECT_EQ(0, vft_import(self->peer, rw, VFT_RW, 0, NULL));
	EXPECT_EQ(0, vft_import(self->owner, r, VFT_RW, 0, NULL));
}

TEST_F(win, limit_of_windows_per_endpoint)
{
	uint64_t first;
	int n = 0, ret = 0;

	ASSERT_EQ(0, vft_alloc(self->owner, VFT_PAGE, 0, VFT_R, &first));
	for (n = 1; n < 5000; n++) {
		ret = vft_alloc(self->owner, VFT_PAGE, 0, VFT_R, NULL);
		if (ret)
			break;
	}
	EXPECT_EQ(-EDQUOT, ret);
	EXPECT_EQ(n, vft_endpoint_get(&self->dom, 0, VFAB_A_WINDOWS));
	/* of this endpoint, not of its peers; and one back is one more */
	EXPECT_EQ(0, vft_alloc(self->peer, VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(0, vft_free(self->owner, first));
	EXPECT_EQ(0, vft_alloc(self->owner, VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(-EDQUOT, vft_alloc(self->owner, VFT_PAGE, 0, VFT_R, NULL));
}

TEST_F_TIMEOUT(win, limit_of_imports_per_endpoint, 60)
{
	uint64_t handle, first;
	int n, ret = 0;

	ASSERT_EQ(0, vft_alloc(self->owner, VFT_PAGE, 0, VFT_R, &handle));
	ASSERT_EQ(0, vft_import(self->peer, handle, VFT_R, 0, &first));
	for (n = 1; n < 20000; n++) {
		ret = vft_import(self->peer, handle, VFT_R, 0, NULL);
		if (ret)
			break;
	}
	EXPECT_EQ(-EDQUOT, ret);
	EXPECT_EQ(0, vft_import(self->owner, handle, VFT_R, 0, NULL));
	EXPECT_EQ(0, vft_release(self->peer, first));
	EXPECT_EQ(0, vft_import(self->peer, handle, VFT_R, 0, NULL));
}

TEST_F(win, domain_limit)
{
	uint64_t a;

	ASSERT_EQ(0, vft_domain_set(&self->dom, VFAB_A_MEM_LIMIT, 16 * VFT_PAGE));
	ASSERT_EQ(0, vft_alloc(self->owner, 10 * VFT_PAGE, 0, VFT_R, &a));
	EXPECT_EQ(-EDQUOT, vft_alloc(self->peer, 7 * VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(0, vft_alloc(self->peer, 6 * VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(-EDQUOT, vft_alloc(self->peer, VFT_PAGE, 0, VFT_R, NULL));
	/* below what is in use: nothing is taken away, nothing is given */
	ASSERT_EQ(0, vft_domain_set(&self->dom, VFAB_A_MEM_LIMIT, VFT_PAGE));
	EXPECT_EQ(-EDQUOT, vft_alloc(self->peer, VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(16 * VFT_PAGE, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	ASSERT_EQ(0, vft_domain_set(&self->dom, VFAB_A_MEM_LIMIT, 0));
	EXPECT_EQ(0, vft_alloc(self->peer, VFT_PAGE, 0, VFT_R, NULL));
}

/* A race for the last pages under the limit never gives more than it. */
static void *grab(void *arg)
{
	const int *fd = arg;
	long n = 0;
	int i;

	for (i = 0; i < 50; i++)
		n += !vft_alloc(*fd, VFT_PAGE, 0, VFT_R, NULL);
	return (void *)n;
}

TEST_F(win, domain_limit_race)
{
	pthread_t t[4];
	void *n;
	long sum = 0;
	int i;

	ASSERT_EQ(0, vft_domain_set(&self->dom, VFAB_A_MEM_LIMIT, 100 * VFT_PAGE));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, grab, i & 1 ? &self->owner : &self->peer));
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], &n);
		sum += (long)n;
	}
	EXPECT_EQ(100, sum);
	EXPECT_EQ(100 * VFT_PAGE, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
}

/* --- LOOKUP that waits -------------------------------------------------- */

TEST_F(win, lookup_waits_for_the_window)
{
	uint64_t handle, got = 0;
	pid_t pid = vft_fork();

	if (!pid) {
		uint64_t h = 0;
		int ret = vft_lookup(self->peer, 0, 42, vft_now() + 10 * VFT_SEC, &h);

		/* the handle cannot be known here: import it instead */
		_exit(ret || vft_import(self->peer, h, VFT_R, 0, NULL));
	}
	vft_sleep_ms(100);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	/* another tag and another rank do not end it */
	ASSERT_EQ(0, vft_alloc(self->owner, VFT_PAGE, 41, VFT_R, NULL));
	ASSERT_EQ(0, vft_alloc(self->peer, VFT_PAGE, 42, VFT_R, NULL));
	vft_sleep_ms(50);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	ASSERT_EQ(0, vft_alloc(self->owner, VFT_PAGE, 42, VFT_R, &handle));
	EXPECT_EQ(0, vft_wait_pid(pid, 2000));
	EXPECT_EQ(0, vft_lookup(self->peer, 0, 42, VFAB_NO_DEADLINE, &got));
	EXPECT_EQ(handle, got);
}

TEST_F(win, lookup_waits_for_the_peer)
{
	pid_t pid = vft_fork();
	int fd;

	if (!pid)
		_exit(-vft_lookup(self->peer, 2, 42, VFAB_NO_DEADLINE, NULL));
	vft_sleep_ms(100);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	fd = vft_join(&self->dom, 2);
	ASSERT_LE(0, fd);
	vft_sleep_ms(50);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	ASSERT_EQ(0, vft_alloc(fd, VFT_PAGE, 42, VFT_R, NULL));
	EXPECT_EQ(0, vft_wait_pid(pid, 2000));
}

TEST_F(win, lookup_peer_never_attaches)
{
	uint64_t start = vft_now();

	EXPECT_EQ(-ETIMEDOUT, vft_lookup(self->peer, 2, 42, start + 200 * VFT_MS, NULL));
	EXPECT_LE(start + 200 * VFT_MS, vft_now());
	EXPECT_GT(start + 5 * VFT_SEC, vft_now());
}

/* Reasons for which a waiting LOOKUP must end, each within its time */
static pid_t waiting_lookup(int fd, uint32_t rank)
{
	pid_t pid = vft_fork();

	if (!pid)
		_exit(-vft_lookup(fd, rank, 42, VFAB_NO_DEADLINE, NULL));
	vft_sleep_ms(100);
	return pid;
}

TEST_F(win, lookup_wait_ends_with_the_route)
{
	pid_t pid = waiting_lookup(self->peer, 0);

	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	EXPECT_EQ(EHOSTUNREACH << 8, vft_wait_pid(pid, 2000));
}

TEST_F(win, lookup_wait_ends_with_own_end)
{
	pid_t pid = waiting_lookup(self->peer, 0);

	ASSERT_EQ(0, vft_evict(&self->dom, 1));
	EXPECT_EQ(ENODEV << 8, vft_wait_pid(pid, 2000));
}

TEST_F(win, lookup_wait_ends_with_the_domain)
{
	pid_t pid = waiting_lookup(self->peer, 0);

	ASSERT_EQ(0, vft_domain_delete(&self->dom, true));
	EXPECT_EQ(ENODEV << 8, vft_wait_pid(pid, 2000));
}

TEST_F(win, lookup_wait_can_be_killed)
{
	pid_t pid = waiting_lookup(self->peer, 2);

	EXPECT_EQ(SIGKILL, vft_kill(pid));
}

static void ignore(int sig)
{
	(void)sig;
}

TEST_F(win, lookup_wait_ends_with_a_signal)
{
	pid_t pid = vft_fork();

	if (!pid) {
		struct sigaction sa = { .sa_handler = ignore };

		sigaction(SIGUSR1, &sa, NULL);
		_exit(-vft_lookup(self->peer, 2, 42, VFAB_NO_DEADLINE, NULL));
	}
	vft_sleep_ms(100);
	kill(pid, SIGUSR1);
	EXPECT_EQ(EINTR << 8, vft_wait_pid(pid, 2000));
}

/* --- what becomes of the memory ----------------------------------------- */

TEST_F(win, free_with_mappings)
{
	uint64_t handle;
	char *mine, *theirs;
	size_t size = VFT_HUGE + VFT_PAGE, i;

	ASSERT_EQ(0, vft_alloc(self->owner, size, 0, VFT_RW, &handle));
	mine = vft_import_map(self->owner, handle, size, VFT_RW, 0);
	theirs = vft_import_map(self->peer, handle, size, VFT_RW, VFAB_LOSS_SIGBUS);
	ASSERT_NE(NULL, mine);
	ASSERT_NE(NULL, theirs);
	memset(mine, 1, size);
	memset(theirs, 2, size);
	ASSERT_EQ(0, vft_free(self->owner, handle));
	/* back at once, whatever maps it */
	EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	for (i = 0; i < size; i += VFT_PAGE) {
		EXPECT_EQ(SIGBUS, vft_touch(mine + i));
		EXPECT_EQ(SIGBUS, vft_store(theirs + i, 1));
	}
	EXPECT_EQ(-ENOENT, vft_import(self->peer, handle, VFT_R, 0, NULL));
}

static long meminfo_kb(const char *field)
{
	static char text[8192];
	char *p;

	if (!vft_read_text("/proc/meminfo", text, sizeof(text)))
		return -1;
	p = strstr(text, field);
	return p ? strtol(p + strlen(field), NULL, 10) : -1;
}

/* The pages themselves, not only the count of them */
TEST_F_TIMEOUT(win, freed_memory_returns_to_the_system, 400)
{
	long before = 0, after;
	uint64_t handle;
	unsigned int i;
	char *p;

	/* per-CPU lists keep some of what the first rounds free */
	for (i = 0; i < 10; i++) {
		if (i == 2)
			before = meminfo_kb("MemFree:");
		ASSERT_EQ(0, vft_alloc(self->owner, 64 << 20, 0, VFT_RW, &handle));
		p = vft_import_map(self->peer, handle, 64 << 20, VFT_RW, 0);
		ASSERT_NE(NULL, p);
		memset(p, 1, 64 << 20);
		/* still mapped by the peer, which holds nothing of it any more */
		ASSERT_EQ(0, vft_free(self->owner, handle));
	}
	after = meminfo_kb("MemFree:");
	EXPECT_LT(before - 64 * 1024, after) {
		TH_LOG("free memory: %ld kB, after 8 times 64 MiB %ld kB", before, after);
	}
}

/* Killed in the middle of an allocation: nothing is left of it. */
TEST_F(win, killed_while_allocating)
{
	unsigned int seed = 1, i;

	for (i = 0; i < 12; i++) {
		pid_t pid = vft_fork();

		if (!pid) {
			int fd = vft_join(&self->dom, 3);

			for (;;)
				vft_alloc(fd, 32 << 20, 0, VFT_RW, NULL);
		}
		vft_sleep_ms(vft_random(&seed) % 60);
		EXPECT_EQ(SIGKILL, vft_kill(pid));
		/* it held the rank alone: when it is reaped, all is back */
		EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
		EXPECT_EQ(2, vft_domain_get(&self->dom, VFAB_A_ATTACHED));
	}
}

/* A large allocation ends soon after SIGKILL, not when it is complete. */
TEST_F(win, allocation_is_killable)
{
	_Atomic int *phase = vft_shared(VFT_PAGE);
	unsigned int tries, delay = 20;
	bool cut = false;

	for (tries = 0; tries < 20 && !cut; tries++) {
		uint64_t start;
		pid_t pid;

		*phase = 0;
		pid = vft_fork();
		if (!pid) {
			int fd = vft_join(&self->dom, 3);

			*phase = 1;
			vft_alloc(fd, 384 << 20, 0, VFT_RW, NULL);
			*phase = 2;
			pause();
		}
		ASSERT_EQ(true, vft_until(2000, *phase));
		vft_sleep_ms(delay);
		/* a fast machine is through with it: be faster */
		cut = *phase == 1;
		delay /= 2;
		start = vft_now();
		EXPECT_EQ(SIGKILL, vft_kill(pid));
		EXPECT_GT(start + 3 * VFT_SEC, vft_now());
		EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	}
	EXPECT_EQ(true, cut) {
		TH_LOG("never hit while it was allocating");
	}
}

/* More than one user may have of this machine */
TEST_F(win, too_much_is_edquot)
{
	uint64_t all = meminfo_kb("MemTotal:") / 4 * VFT_PAGE;

	EXPECT_EQ(-EDQUOT, vft_alloc(self->owner, 8ULL << 30, 0, VFT_RW, NULL));
	EXPECT_EQ(-EDQUOT, vft_alloc(self->owner, all, 0, VFT_RW, NULL));
	EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
}

/* More than the machine has left: ENOMEM, and no process pays for it. */
TEST_F_TIMEOUT(win, too_much_is_enomem, 120)
{
	long fill = (meminfo_kb("MemAvailable:") - 200 * 1024) * 1024;
	pid_t pid;
	int ret;

	ASSERT_LT(0, fill);
	pid = vft_fork();
	if (!pid) {
		/* a tempting victim */
		char *p = mmap(NULL, fill, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		vft_write_text("/proc/self/oom_score_adj", "1000");
		if (p != MAP_FAILED)
			pause();
		_exit(1);
	}
	/* An emulator fills a GiB in ten seconds if it has a CPU */
	ASSERT_EQ(true, vft_until(80000, meminfo_kb("MemAvailable:") < 260 * 1024));
	ret = vft_alloc(self->owner, 400 << 20, 0, VFT_RW, NULL);
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG)) {
		TH_LOG("a process was killed for it");
	}
	EXPECT_EQ(0, vft_alloc(self->owner, 8 << 20, 0, VFT_RW, NULL));
	vft_kill(pid);
}

/* --- memory cgroup ------------------------------------------------------- */

/* Who allocates pays, wherever the file came from and whoever touches it. */
TEST_F(win, charged_to_the_callers_cgroup)
{
	uint64_t handle = 0;
	long charged;
	pid_t pid;
	char *p;

	ASSERT_EQ(true, vft_cgroup_make());
	pid = vft_fork();
	if (!pid)
		_exit(!vft_cgroup_enter() || vft_alloc(self->owner, 32 << 20, 7, VFT_RW, NULL));
	ASSERT_EQ(0, vft_wait_pid(pid, 10000));
	charged = vft_read_long(vft_cgroup("memory.current"));
	EXPECT_LE(32 << 20, charged);
	EXPECT_GT(40 << 20, charged);
	ASSERT_EQ(0, vft_lookup(self->peer, 0, 7, 0, &handle));
	p = vft_import_map(self->peer, handle, 32 << 20, VFT_RW, 0);
	ASSERT_NE(NULL, p);
	memset(p, 1, 32 << 20);
	EXPECT_GT(charged + (1 << 20), vft_read_long(vft_cgroup("memory.current")));
	ASSERT_EQ(0, vft_free(self->owner, handle));
	EXPECT_EQ(true, vft_until(3000, vft_read_long(vft_cgroup("memory.current")) < 4 << 20)) {
		TH_LOG("%ld bytes are still charged", vft_read_long(vft_cgroup("memory.current")));
	}
	EXPECT_EQ(true, vft_until(1000, !vft_cgroup_remove()));
}

TEST_F_TIMEOUT(win, cgroup_limit_is_enomem_not_a_kill, 60)
{
	int status;
	pid_t pid;

	ASSERT_EQ(true, vft_cgroup_make());
	ASSERT_EQ(true, vft_write_text(vft_cgroup("memory.max"), "16777216"));
	vft_write_text(vft_cgroup("memory.swap.max"), "0");
	pid = vft_fork();
	if (!pid) {
		int ret;

		if (!vft_cgroup_enter())
			_exit(1);
		ret = vft_alloc(self->owner, 64 << 20, 0, VFT_RW, NULL);
		if (ret)
			_exit(-ret);
		_exit(2);
	}
	status = vft_wait_pid(pid, 30000);
	EXPECT_EQ(ENOMEM << 8, status);
	EXPECT_EQ(0, vft_cgroup_event("oom_kill "));
	EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	EXPECT_EQ(true, vft_until(3000, vft_read_long(vft_cgroup("memory.current")) < 4 << 20)) {
		TH_LOG("%ld bytes are still charged", vft_read_long(vft_cgroup("memory.current")));
	}
	/* what fits is still given */
	pid = vft_fork();
	if (!pid)
		_exit(!vft_cgroup_enter() || vft_alloc(self->owner, 8 << 20, 0, VFT_RW, NULL));
	EXPECT_EQ(0, vft_wait_pid(pid, 10000));
	EXPECT_EQ(8 << 20, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
}

TEST_HARNESS_MAIN
