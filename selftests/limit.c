// SPDX-License-Identifier: GPL-2.0
/*
 * limit: calls of processes that are short of something, and signals at every
 * sleep. What a limit forbids fails with its errno, all else works, a killed
 * process leaves nothing, and nobody else notices.
 *
 *	build/selftests/limit
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

#define USER	1000

FIXTURE(limit) {
	struct vft_domain dom;
	int fd;		/* rank 0 */
	int peer;	/* rank 1, which has @handle */
	uint64_t handle;
};

FIXTURE_SETUP(limit)
{
	struct vft_options opt = { .mode = 0666, .mem_limit = 256 << 20 };

	ASSERT_EQ(0, vft_domain_create(&self->dom, 16, &opt));
	self->fd = vft_join(&self->dom, 0);
	self->peer = vft_join(&self->dom, 1);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->peer);
	ASSERT_EQ(0, vft_alloc(self->peer, VFT_HUGE, 1, VFT_RW, &self->handle));
}

FIXTURE_TEARDOWN_PARENT(limit)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

#define limit_data _test_data_limit

/* As an ordinary user with a limit; 0 or the line of what went wrong */
#define LIMITED(resource, value, ...) ({					\
	struct rlimit __limit = { value, value };				\
	pid_t __pid = vft_fork();						\
	int __status;								\
										\
	if (!__pid) {								\
		if (vft_become(USER, 0) || setrlimit(resource, &__limit))	\
			_exit(250);						\
		__VA_ARGS__;							\
		_exit(0);							\
	}									\
	__status = vft_wait_pid(__pid, 20000);					\
	WIFEXITED(__status) ? WEXITSTATUS(__status) : __status; })

#define MUST(what) do {								\
	if (!(what)) {								\
		fprintf(stderr, "# not so: %s (%s)\n", #what, strerror(errno));	\
		_exit(1);							\
	}									\
} while (0)

/* All of a session but opening the file: attach, allocate, import, map, wake */
static void session(struct limit_data *self, int fd, uint32_t rank)
{
	uint64_t handle, count = 0, loss = 0;
	struct vft_bells bells;
	char *p;

	MUST(!vft_attach(fd, rank));
	MUST(!vft_alloc(fd, VFT_HUGE, 2, VFT_RW, &handle));
	p = vft_import_map(fd, handle, VFT_HUGE, VFT_RW, 0);
	MUST(p && !vft_store(p, 1));
	p = vft_import_map(fd, self->handle, VFT_HUGE, VFT_RW, VFAB_LOSS_ABSORB);
	MUST(p && !vft_store(p, 1));
	MUST(vft_view(fd) && vft_counts(fd));
	MUST(!vft_bells(&bells, fd, rank));
	MUST(!vft_ding(&bells, 3));
	MUST(!vft_wait(fd, 3, &count, &loss, VFAB_NO_DEADLINE, NULL));
}

TEST_F(limit, only_opening_takes_a_descriptor)
{
	int fd = vft_open(&self->dom, 0), efd = eventfd(0, EFD_NONBLOCK);

	EXPECT_EQ(0, LIMITED(RLIMIT_NOFILE, 0, {
		MUST(open(vft_path(&self->dom, 0), O_RDWR) < 0 && errno == EMFILE);
		session(self, fd, 2);
		MUST(!vft_eventfd(fd, 3, efd));
		MUST(!vft_eventfd(fd, 3, -1));
	}));
	close(efd);
	close(fd);
}

/* Windows are nobody's locked memory. */
TEST_F(limit, windows_are_no_locked_memory)
{
	int fd = vft_open(&self->dom, 0);

	EXPECT_EQ(0, LIMITED(RLIMIT_MEMLOCK, 0, session(self, fd, 2)));
	close(fd);
}

/* but a mapping is like any other to who asks for it to be locked */
TEST_F(limit, locking_a_mapping_is_limited)
{
	uint64_t cookie;
	char *p;

	ASSERT_EQ(0, vft_import(self->fd, self->handle, VFT_RW, 0, &cookie));
	p = vft_map(self->fd, cookie, VFT_HUGE, PROT_READ);
	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, LIMITED(RLIMIT_MEMLOCK, VFT_PAGE, {
		MUST(mlock(p, VFT_HUGE) && errno == ENOMEM);
		MUST(mmap(NULL, VFT_HUGE, PROT_READ, MAP_SHARED | MAP_LOCKED, self->fd, cookie) ==
		     MAP_FAILED && errno == EAGAIN);
		MUST(!vft_touch(p));
	}));
}

/* A window is no file that somebody writes. */
TEST_F(limit, windows_are_no_file_size)
{
	int fd = vft_open(&self->dom, 0);

	EXPECT_EQ(0, LIMITED(RLIMIT_FSIZE, 0, session(self, fd, 2)));
	close(fd);
}

/* What could not be mapped can be once there is room. */
TEST_F(limit, address_space)
{
	struct rlimit none = { 16 << 20, RLIM_INFINITY }, all = { RLIM_INFINITY, RLIM_INFINITY };
	uint64_t cookie;
	pid_t pid;

	ASSERT_EQ(0, vft_import(self->fd, self->handle, VFT_RW, 0, &cookie));
	pid = vft_fork();
	if (!pid) {
		MUST(!setrlimit(RLIMIT_AS, &none));
		while (mmap(NULL, VFT_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		       MAP_FAILED)
			;
		MUST(!vft_map(self->fd, cookie, VFT_HUGE, PROT_READ) && errno == ENOMEM);
		MUST(!vft_import(self->fd, self->handle, VFT_R, 0, NULL));
		MUST(!setrlimit(RLIMIT_AS, &all));
		MUST(vft_map(self->fd, cookie, VFT_HUGE, PROT_READ));
		_exit(0);
	}
	EXPECT_EQ(0, vft_wait_pid(pid, 10000));
}

static void *nothing(void *arg)
{
	return arg;
}

static void cannot_fork(struct limit_data *self)
{
	int fd = vft_open(&self->dom, 0);
	pthread_t t;

	MUST(fd >= 0);
	MUST(fork() < 0 && errno == EAGAIN);
	MUST(pthread_create(&t, NULL, nothing, NULL) == EAGAIN);
	session(self, fd, 2);
}

/* Neither a session nor its end takes a process. */
TEST_F(limit, no_more_processes_of_a_user)
{
	EXPECT_EQ(0, LIMITED(RLIMIT_NPROC, 0, cannot_fork(self)));
	EXPECT_EQ(true, vft_until(2000, vft_domain_get(&self->dom, VFAB_A_ATTACHED) == 2));
}

TEST_F(limit, no_more_processes_of_a_cgroup)
{
	pid_t pid;

	ASSERT_EQ(true, vft_cgroup_make());
	if (!vft_write_text(vft_cgroup("pids.max"), "1"))
		SKIP(return, "this kernel has no cgroups of processes");
	pid = vft_fork();
	if (!pid) {
		MUST(vft_cgroup_enter());
		cannot_fork(self);
		_exit(0);
	}
	EXPECT_EQ(0, vft_wait_pid(pid, 10000));
	EXPECT_EQ(true, vft_until(2000, vft_domain_get(&self->dom, VFAB_A_ATTACHED) == 2));
	EXPECT_EQ(true, vft_until(1000, !vft_cgroup_remove()));
}

/* --- memory ------------------------------------------------------------------------- */

/* All memory there is, in windows; then what else one may call, with none left */
static void with_nothing_left(struct limit_data *self, _Atomic int *full)
{
	int fd = vft_join(&self->dom, 2), ret, i;
	struct vft_bells bells;

	MUST(fd >= 0);
	do
		ret = vft_alloc(fd, 16 * VFT_PAGE, 0, VFT_RW, NULL);
	while (!ret);
	MUST(ret == -ENOMEM);
	*full = 1;
	for (i = 0; i < 1000; i++) {
		ret = vft_import(fd, self->handle, VFT_RW, VFAB_LOSS_ABSORB, NULL);
		MUST(!ret || ret == -ENOMEM);
		ret = vft_bells(&bells, fd, i % 2);
		MUST(!ret || ret == -ENOMEM);
		ret = vft_counts(fd) ? 0 : -errno;
		MUST(!ret || ret == -ENOMEM);
		ret = vft_alloc(fd, VFT_PAGE, 0, VFT_RW, NULL);
		MUST(!ret || ret == -ENOMEM);
	}
	_exit(0);
}

/*
 * Memory for windows is refused where the cgroup is full. For its own small objects
 * the kernel may kill, as with any call. All of it goes back, and others go on.
 */
TEST_F_TIMEOUT(limit, calls_in_a_full_cgroup, 400)
{
	_Atomic int *full = vft_shared(VFT_PAGE);
	uint64_t used = vft_domain_get(&self->dom, VFAB_A_MEM_USED);
	unsigned int i, refused = 0, killed = 0;
	char text[32];

	ASSERT_EQ(true, vft_cgroup_make());
	vft_write_text(vft_cgroup("memory.swap.max"), "0");
	for (i = 0; i < 20; i++) {
		int status;
		pid_t pid;

		*full = 0;
		snprintf(text, sizeof(text), "%u", (4096 + 100 * i) << 10);
		ASSERT_EQ(true, vft_write_text(vft_cgroup("memory.max"), text));
		pid = vft_fork();
		if (!pid) {
			MUST(vft_cgroup_enter());
			with_nothing_left(self, full);
		}
		status = vft_wait_pid(pid, 100000);
		refused += *full;
		EXPECT_EQ(true, status == 0 || status == SIGKILL) {
			TH_LOG("with %s bytes: status %x", text, status);
		}
		killed += status != 0;
		EXPECT_EQ(true, vft_until(5000, vft_domain_get(&self->dom, VFAB_A_ATTACHED) == 2));
		EXPECT_EQ(true, vft_until(2000,
					  used == vft_domain_get(&self->dom, VFAB_A_MEM_USED)));
		EXPECT_EQ(0, vft_ring(self->fd, 1, 0));
	}
	EXPECT_LE(i / 2, refused);
	printf("# of %u, %u were refused memory, and %u killed after all\n", i, refused, killed);
	EXPECT_EQ(true, vft_until(3000, !vft_cgroup_remove()));
}

/* Of those one may have thousands: the last is refused, not paid for with a life. */
TEST_F(limit, imports_in_a_full_cgroup_are_refused)
{
	_Atomic int *phase = vft_shared(VFT_PAGE);
	char text[32];
	pid_t pid;

	ASSERT_EQ(true, vft_cgroup_make());
	pid = vft_fork();
	if (!pid) {
		int fd, ret = 0, i;

		MUST(vft_cgroup_enter());
		fd = vft_join(&self->dom, 2);
		MUST(!vft_import(fd, self->handle, VFT_R, 0, NULL));
		*phase = 1;
		MUST(vft_until(5000, *phase == 2));
		for (i = 0; i < 16000 && !ret; i++)
			ret = vft_import(fd, self->handle, VFT_R, i % 2, NULL);
		MUST(ret == -ENOMEM);
		_exit(0);
	}
	ASSERT_EQ(true, vft_until(5000, *phase));
	vft_write_text(vft_cgroup("memory.swap.max"), "0");
	snprintf(text, sizeof(text), "%ld", vft_read_long(vft_cgroup("memory.current")));
	EXPECT_EQ(true, vft_write_text(vft_cgroup("memory.max"), text));
	*phase = 2;
	EXPECT_EQ(0, vft_wait_pid(pid, 10000));
	EXPECT_EQ(0, vft_cgroup_event("oom_kill "));
}

static uint64_t number_after(const char *path, const char *word)
{
	static char text[1 << 20];
	char *p = vft_read_text(path, text, sizeof(text)) ? strstr(text, word) : NULL;

	return p ? strtoull(p + strlen(word), NULL, 10) : ~0ULL;
}

/* What an admin looks at: the allocation is there, and not with each who maps it. */
TEST_F(limit, windows_show_as_shared_memory)
{
	const uint64_t size = 32 << 20;
	uint64_t shmem = number_after("/proc/meminfo", "\nShmem:"), rss;
	uint64_t handle;
	pid_t pid;
	char *p;

	ASSERT_EQ(true, vft_cgroup_make());
	pid = vft_fork();
	if (!pid)
		_exit(!vft_cgroup_enter() || vft_alloc(self->fd, size, 7, VFT_RW, NULL));
	ASSERT_EQ(0, vft_wait_pid(pid, 10000));
	EXPECT_LE(size, number_after(vft_cgroup("memory.stat"), "\nshmem "));
	EXPECT_LE(size, number_after(vft_cgroup("memory.stat"), "\nunevictable "));
	EXPECT_LE(shmem + (size >> 10) - 1024, number_after("/proc/meminfo", "\nShmem:"));
	rss = number_after("/proc/self/smaps_rollup", "\nRss:");
	ASSERT_EQ(0, vft_lookup(self->peer, 0, 7, 0, &handle));
	p = vft_import_map(self->peer, handle, size, VFT_RW, 0);
	ASSERT_NE(NULL, p);
	memset(p, 1, size);
	EXPECT_GT(rss + (size >> 11), number_after("/proc/self/smaps_rollup", "\nRss:"));
	EXPECT_EQ(size + VFT_HUGE, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	ASSERT_EQ(0, vft_free(self->fd, handle));
	EXPECT_EQ(true, vft_until(3000, !vft_cgroup_remove()));
}

/* Its endpoint ends as with any death, and the window of another is untouched. */
TEST_F_TIMEOUT(limit, oom_kill_of_a_holder, 60)
{
	_Atomic uint64_t *handle = vft_shared(VFT_PAGE);
	char *theirs = vft_import_map(self->fd, self->handle, VFT_HUGE, VFT_RW, 0);
	char *p;
	pid_t pid;

	ASSERT_NE(NULL, theirs);
	ASSERT_EQ(0, vft_store(theirs, 5));
	ASSERT_EQ(true, vft_cgroup_make());
	ASSERT_EQ(true, vft_write_text(vft_cgroup("memory.max"), "33554432"));
	vft_write_text(vft_cgroup("memory.swap.max"), "0");
	pid = vft_fork();
	if (!pid) {
		uint64_t mine;
		int fd;

		MUST(vft_cgroup_enter());
		fd = vft_join(&self->dom, 2);
		MUST(!vft_alloc(fd, 8 << 20, 1, VFT_RW, &mine));
		MUST(vft_import_map(fd, self->handle, VFT_HUGE, VFT_RW, 0));
		*handle = mine;
		p = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
		vft_sleep_ms(100);
		memset(p, 1, 64 << 20);
		_exit(1);
	}
	ASSERT_EQ(true, vft_until(5000, *handle));
	p = vft_import_map(self->fd, *handle, 8 << 20, VFT_RW, 0);
	ASSERT_NE(NULL, p);
	EXPECT_EQ(SIGKILL, vft_wait_pid(pid, 20000));
	EXPECT_LT(0, vft_cgroup_event("oom_kill "));
	EXPECT_EQ(true, vft_until(5000, vft_touch(p) == SIGBUS));
	EXPECT_EQ(true, vft_until(2000, vft_domain_get(&self->dom, VFAB_A_ATTACHED) == 2));
	EXPECT_EQ(0, vft_touch(theirs));
	EXPECT_EQ(5, *(uint64_t *)theirs);
	EXPECT_EQ(true, vft_until(2000,
				  vft_domain_get(&self->dom, VFAB_A_MEM_USED) == VFT_HUGE));
	EXPECT_EQ(true, vft_until(5000, !vft_cgroup_remove()));
}

/* --- signals at every sleep ------------------------------------------------------------ */

struct sleeper {
	_Atomic int state;	/* 1: about to sleep, 2: has @ret */
	_Atomic int handled;
	struct vft_domain dom;
	int fd;			/* rank 0, who sleeps */
	int peer;		/* rank 1, which has @handle */
	uint64_t handle;
	char *p;		/* @fd's mapping of it */
	int ret;
};

static struct sleeper *sl;

static int blackhole(bool is)
{
	struct vft_req req;

	vft_req(&req, vft_nl(), is ? VFAB_CMD_FAULT_CREATE : VFAB_CMD_FAULT_DELETE, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_DOMAIN, sl->dom.id);
	if (is) {
		vft_put_u32(&req, VFAB_A_FAULT_KIND, VFAB_FAULT_BLACKHOLE);
		vft_put_u32(&req, VFAB_A_RANK, 1);
		vft_put_u32(&req, VFAB_A_FAULT_DURATION, 600000);
	}
	return vft_call(vft_nl(), &req, NULL, NULL);
}

static int begin_blackhole(void)
{
	return blackhole(true);
}

static int end_blackhole(void)
{
	return blackhole(false);
}

static int begin_outage(void)
{
	return vft_link(&sl->dom, 1, -1, false);
}

static int end_outage(void)
{
	return vft_link(&sl->dom, 1, -1, true);
}

static int sleep_wait(void)
{
	uint64_t count = 0, loss = 0;

	/* the losses that there were */
	vft_wait(sl->fd, 5, &count, &loss, 0, NULL);
	return vft_wait(sl->fd, 5, &count, &loss, VFAB_NO_DEADLINE, NULL);
}

static int wake_wait(void)
{
	struct vft_bells far;

	return vft_bells(&far, sl->peer, 0) ?: vft_ding(&far, 5);
}

static int sleep_lookup(void)
{
	return vft_lookup(sl->fd, 1, 77, VFAB_NO_DEADLINE, NULL);
}

static int wake_lookup(void)
{
	return vft_alloc(sl->peer, VFT_PAGE, 77, VFT_R, NULL);
}

static int sleep_read(void)
{
	struct vfab_event e;

	return read(sl->fd, &e, sizeof(e)) == sizeof(e) ? 0 : -errno;
}

/* An event: the window that rank 0 has imported goes */
static int wake_read(void)
{
	return vft_free(sl->peer, sl->handle);
}

static int sleep_poll(void)
{
	struct pollfd pfd = { .fd = sl->fd, .events = POLLIN };

	return poll(&pfd, 1, -1) == 1 ? 0 : -errno;
}

static int sleep_ring(void)
{
	return vft_ring(sl->fd, 1, 5);
}

static int sleep_store(void)
{
	return vft_store(sl->p, 9);
}

/* The kernel reads the mapping for the caller. */
static int sleep_write(void)
{
	int fds[2];

	return !pipe(fds) && write(fds[1], sl->p, 64) == 64 ? 0 : -errno;
}

/*
 * @handler:	what a signal makes of it whose handler has no SA_RESTART, and
 * @restart:	one that has; 0: it goes on sleeping, its handler has run
 *		LATER: it goes on sleeping, the handler runs when it is over
 */
#define LATER 1

FIXTURE_VARIANT(sleep) {
	int (*begin)(void);
	int (*sleep)(void);
	int (*wake)(void);
	int handler, restart;
};

FIXTURE(sleep) {
	struct sleeper s;
};

#define SLEEP(name)	FIXTURE_VARIANT_ADD(sleep, name)
SLEEP(wait) { NULL, sleep_wait, wake_wait, -EINTR, 0 };
SLEEP(lookup) { NULL, sleep_lookup, wake_lookup, -EINTR, 0 };
SLEEP(read) { NULL, sleep_read, wake_read, -EINTR, 0 };
SLEEP(poll) { NULL, sleep_poll, wake_read, -EINTR, -EINTR };
SLEEP(ring) { begin_blackhole, sleep_ring, end_blackhole, -EINTR, 0 };
SLEEP(blackhole) { begin_blackhole, sleep_store, end_blackhole, 0, 0 };
SLEEP(outage) { begin_outage, sleep_store, end_outage, 0, 0 };
SLEEP(blackhole_in_kernel) { begin_blackhole, sleep_write, end_blackhole, LATER, LATER };
SLEEP(outage_in_kernel) { begin_outage, sleep_write, end_outage, LATER, LATER };

FIXTURE_SETUP(sleep)
{
	struct vft_options opt = { .retry_ms = 60000 };

	sl = &self->s;
	ASSERT_EQ(0, vft_domain_create(&sl->dom, 4, &opt));
	sl->fd = vft_join(&sl->dom, 0);
	ASSERT_LE(0, sl->fd);
	sl->peer = vft_join(&sl->dom, 1);
	ASSERT_LE(0, sl->peer);
	ASSERT_EQ(0, vft_alloc(sl->peer, VFT_PAGE, 1, VFT_RW, &sl->handle));
	sl->p = vft_import_map(sl->fd, sl->handle, VFT_PAGE, VFT_RW, 0);
	ASSERT_NE(NULL, sl->p);
	if (variant->begin)
		ASSERT_EQ(0, variant->begin());
	/* of that peer's coming */
	fcntl(sl->fd, F_SETFL, O_NONBLOCK);
	while (!sleep_read())
		;
	fcntl(sl->fd, F_SETFL, 0);
}

FIXTURE_TEARDOWN_PARENT(sleep)
{
	EXPECT_EQ(0, vft_domain_end(&self->s.dom));
}

/* It tries a fault again before it looks for signals, and so spins on one. */
static bool fault_in_uml(const struct _fixture_variant_sleep *v)
{
	return v->handler >= 0 && vft_uml();
}

static void handle(int sig)
{
	(void)sig;
	sl->handled++;
}

/* A child that sleeps, seen asleep */
static pid_t fall_asleep(int (*sleep)(void), int flags)
{
	struct sigaction sa = { .sa_handler = handle, .sa_flags = flags };
	pid_t pid = vft_fork();

	if (!pid) {
		sigaction(SIGUSR1, &sa, NULL);
		sl->state = 1;
		sl->ret = sleep();
		sl->state = 2;
		_exit(0);
	}
	return pid;
}

static bool asleep(pid_t pid)
{
	char path[32], text[256], *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!vft_read_text(path, text, sizeof(text)))
		return false;
	p = strrchr(text, ')');
	return p && strchr("SD", p[2]);
}

#define EXPECT_ASLEEP(pid) do {							\
	EXPECT_EQ(true, vft_until(5000, sl->state == 1 && asleep(pid)));	\
	vft_sleep_ms(20);							\
	EXPECT_EQ(1, sl->state);						\
} while (0)

static void by_handler(struct __test_metadata *_metadata, const struct _fixture_variant_sleep *v,
		       int flags, int how)
{
	pid_t pid = fall_asleep(v->sleep, flags);
	int i;

	EXPECT_ASLEEP(pid);
	for (i = 1; i <= (how < 0 ? 1 : 5); i++) {
		kill(pid, SIGUSR1);
		if (how == 0)
			EXPECT_EQ(true, vft_until(5000, sl->handled == i));
		if (how >= 0)
			EXPECT_ASLEEP(pid);
	}
	if (how < 0) {
		EXPECT_EQ(0, vft_wait_pid(pid, 5000));
		EXPECT_EQ(1, sl->handled);
		EXPECT_EQ(how, sl->ret);
	} else {
		EXPECT_EQ(0, v->wake());
		EXPECT_EQ(0, vft_wait_pid(pid, 5000));
		EXPECT_LE(1, sl->handled);
		EXPECT_EQ(0, sl->ret) {
			TH_LOG("%s", strerror(-sl->ret));
		}
	}
}

TEST_F(sleep, signal)
{
	if (fault_in_uml(variant))
		SKIP(return, "User Mode Linux delivers no signal in a fault");
	by_handler(_metadata, variant, 0, variant->handler);
}

TEST_F(sleep, signal_that_restarts)
{
	if (fault_in_uml(variant))
		SKIP(return, "User Mode Linux delivers no signal in a fault");
	by_handler(_metadata, variant, SA_RESTART, variant->restart);
}

TEST_F(sleep, stop_and_continue)
{
	int status = 0;
	pid_t pid;

	if (fault_in_uml(variant))
		SKIP(return, "User Mode Linux delivers no signal in a fault");
	pid = fall_asleep(variant->sleep, 0);
	EXPECT_ASLEEP(pid);
	kill(pid, SIGSTOP);
	/* who sleeps killably stops when it is over */
	if (variant->handler != LATER) {
		EXPECT_EQ(pid, waitpid(pid, &status, WUNTRACED));
		EXPECT_EQ(true, WIFSTOPPED(status));
	}
	kill(pid, SIGCONT);
	EXPECT_ASLEEP(pid);
	EXPECT_EQ(0, variant->wake());
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
	EXPECT_EQ(0, sl->ret);
}

/* Nothing is left of it, and the next one sleeps and wakes like the first. */
TEST_F(sleep, killed)
{
	struct vft_bells own;
	pid_t pid;
	int i;

	ASSERT_EQ(0, vft_bells(&own, sl->fd, 0));
	for (i = 0; i < 3; i++) {
		sl->state = 0;
		pid = fall_asleep(variant->sleep, 0);
		EXPECT_ASLEEP(pid);
		EXPECT_EQ(SIGKILL, vft_kill(pid));
		EXPECT_EQ(0, vft_armed(&own, 5));
	}
	sl->state = 0;
	pid = fall_asleep(variant->sleep, 0);
	EXPECT_ASLEEP(pid);
	EXPECT_EQ(0, variant->wake());
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
	EXPECT_EQ(0, sl->ret);
}

TEST_HARNESS_MAIN
