// SPDX-License-Identifier: GPL-2.0
/*
 * lifetime: one open file is one endpoint. It ends at DETACH, at the last
 * close, or when the process that attached is gone, whatever children, copies
 * of the file and mappings remain; and then all of it has ended.
 *
 *	build/selftests/lifetime
 *	build/selftests/lifetime -r life.exec_with_child
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "kselftest_harness.h"
#include "vft.h"

#define SIZE	(4 * VFT_PAGE)

/*
 * Shared by the test, the process that attaches ("holder", rank 0) and what
 * outlives it ("heir"). The heir answers questions until it is killed.
 */
struct stage {
	_Atomic unsigned int asked, answered;
	struct vft_gate gate;
	uint64_t handle;
	pid_t heir;
	int touch;		/* signal, or 0 */
	int alloc;		/* -errno, or 0 */
	char stack[65536];
};

FIXTURE(life) {
	struct vft_domain dom;
	int fd;			/* rank 1 */
	struct stage *s;
};

/* What FIXTURE_DATA(life) is: the helpers below take it */
#define life_data _test_data_life

FIXTURE_SETUP(life)
{
	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, NULL));
	self->fd = vft_join(&self->dom, 1);
	ASSERT_LE(0, self->fd);
	self->s = vft_shared(sizeof(*self->s));
}

FIXTURE_TEARDOWN_PARENT(life)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

/* What the holder has, for those that it leaves it to */
static int holder_fd;
static char *holder_map;
static struct stage *heir_stage;

static int heir(void *unused)
{
	struct stage *s = heir_stage;
	unsigned int done = 0;

	(void)unused;
	for (;;) {
		uint64_t handle;

		if (atomic_load(&s->asked) == done) {
			vft_sleep_ms(1);
			continue;
		}
		s->touch = vft_touch(holder_map);
		s->alloc = vft_alloc(holder_fd, VFT_PAGE, 0, VFT_R, &handle);
		if (!s->alloc)
			vft_free(holder_fd, handle);
		atomic_store(&s->answered, ++done);
	}
	return 0;
}

/* The heir must not outlive the test, but it does outlive its parent. */
static void heir_start(struct stage *s, bool share_files, bool close_file)
{
	pid_t pid;

	heir_stage = s;
	if (share_files) {
		/* takes its place in the same file table */
		pid = clone(heir, s->stack + sizeof(s->stack) - 64, CLONE_FILES | SIGCHLD, NULL);
	} else {
		pid = fork();
		if (!pid) {
			if (close_file)
				close(holder_fd);
			heir(NULL);
		}
	}
	s->heir = pid;
}

static bool ask(struct stage *s)
{
	unsigned int n = atomic_fetch_add(&s->asked, 1) + 1;

	return vft_until(3000, atomic_load(&s->answered) == n);
}

/* The holder's part: attach, share a window, tell the test. */
static void hold(struct life_data *self)
{
	struct stage *s = self->s;

	holder_fd = vft_join(&self->dom, 0);
	if (holder_fd < 0 || vft_alloc(holder_fd, SIZE, 1, VFT_RW, &s->handle))
		_exit(1);
	holder_map = vft_import_map(holder_fd, s->handle, SIZE, VFT_RW, 0);
	if (!holder_map || vft_store(holder_map, 77))
		_exit(1);
	/* the test's file is not this process's business */
	close(self->fd);
}

static int held(const struct life_data *self)
{
	return vft_endpoint_get(&self->dom, 0, VFAB_A_HELD);
}

/*
 * @seen is the test's own mapping of the holder's window: everything of rank
 * 0 has ended, for its peers and for its heirs.
 */
#define EXPECT_ENDED(seen) do {							\
	EXPECT_EQ(SIGBUS, vft_touch(seen));					\
	EXPECT_EQ(0, held(self));						\
	EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));		\
	EXPECT_EQ(1, vft_domain_get(&self->dom, VFAB_A_ATTACHED));		\
	if (self->s->heir > 0) {						\
		EXPECT_EQ(true, ask(self->s));					\
		EXPECT_EQ(SIGBUS, self->s->touch);				\
		EXPECT_EQ(true, self->s->alloc == -ENODEV || self->s->alloc == -EBADF); \
	}									\
	{									\
		/* and the rank is free */					\
		int __fd = vft_join(&self->dom, 0);				\
										\
		EXPECT_LE(0, __fd);						\
		close(__fd);							\
	}									\
} while (0)

#define EXPECT_ALIVE(seen) do {							\
	EXPECT_EQ(0, vft_touch(seen));						\
	EXPECT_EQ(1, held(self));						\
	if (self->s->heir > 0) {						\
		EXPECT_EQ(true, ask(self->s));					\
		EXPECT_EQ(0, self->s->touch);					\
	}									\
} while (0)

/* Returns the test's mapping of the holder's window, when it is there. */
static char *meet(struct life_data *self)
{
	char *p;

	if (vft_gate(&self->s->gate, 2))
		return NULL;
	p = vft_import_map(self->fd, self->s->handle, SIZE, VFT_RW, 0);
	return p && !vft_touch(p) ? p : NULL;
}

static void leave(struct life_data *self)
{
	if (self->s->heir > 0)
		kill(self->s->heir, SIGKILL);
}

/* --- the process that attached is gone -------------------------------------- */

TEST_F(life, exit)
{
	pid_t pid = vft_fork();
	char *p;

	if (!pid) {
		hold(self);
		vft_gate(&self->s->gate, 2);
		vft_gate(&self->s->gate, 2);
		_exit(0);
	}
	p = meet(self);
	ASSERT_NE(NULL, p);
	EXPECT_ALIVE(p);
	vft_gate(&self->s->gate, 2);
	EXPECT_EQ(0, vft_wait_pid(pid, 3000));
	EXPECT_ENDED(p);
}

/*
 * At once, although the child has the file open. Often, since what ends it a
 * little later is mostly as fast.
 */
TEST_F(life, exit_with_child)
{
	unsigned int round;

	for (round = 0; round < 30; round++) {
		pid_t pid;
		char *p;

		memset(self->s, 0, sizeof(*self->s));
		pid = vft_fork();
		if (!pid) {
			hold(self);
			heir_start(self->s, false, false);
			vft_gate(&self->s->gate, 2);
			vft_gate(&self->s->gate, 2);
			_exit(0);
		}
		p = meet(self);
		ASSERT_NE(NULL, p);
		EXPECT_ALIVE(p);
		EXPECT_EQ(0, self->s->alloc);
		vft_gate(&self->s->gate, 2);
		EXPECT_EQ(0, vft_wait_pid(pid, 3000));
		EXPECT_ENDED(p);
		leave(self);
		munmap(p, SIZE);
	}
}

TEST_F(life, kill_with_child)
{
	pid_t pid = vft_fork();
	char *p;

	if (!pid) {
		hold(self);
		heir_start(self->s, false, false);
		vft_gate(&self->s->gate, 2);
		pause();
	}
	p = meet(self);
	ASSERT_NE(NULL, p);
	EXPECT_ALIVE(p);
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_ENDED(p);
	leave(self);
}

/* A child that has only the mapping */
TEST_F(life, exit_with_mapping_in_child)
{
	pid_t pid = vft_fork();
	char *p;

	if (!pid) {
		hold(self);
		heir_start(self->s, false, true);
		vft_gate(&self->s->gate, 2);
		pause();
	}
	p = meet(self);
	ASSERT_NE(NULL, p);
	EXPECT_ALIVE(p);
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_ENDED(p);
	leave(self);
}

/* The exit of a process that has no copy of the file any more */
TEST_F(life, exit_after_close_with_child)
{
	pid_t pid = vft_fork();
	char *p;

	if (!pid) {
		hold(self);
		heir_start(self->s, false, false);
		close(holder_fd);
		vft_gate(&self->s->gate, 2);
		pause();
	}
	p = meet(self);
	ASSERT_NE(NULL, p);
	/* alive as long as that process is */
	EXPECT_ALIVE(p);
	EXPECT_EQ(0, self->s->alloc);
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_EQ(true, vft_until(2000, !held(self)));
	EXPECT_ENDED(p);
	leave(self);
}

/* A sibling that shares the table of open files: there is no last close. */
TEST_F(life, exit_with_clone_files_sibling)
{
	pid_t pid = vft_fork();
	char *p;

	if (!pid) {
		hold(self);
		heir_start(self->s, true, false);
		vft_gate(&self->s->gate, 2);
		pause();
	}
	p = meet(self);
	ASSERT_NE(NULL, p);
	EXPECT_ALIVE(p);
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_EQ(true, vft_until(2000, !held(self)));
	EXPECT_ENDED(p);
	leave(self);
}

/* exec() closes the file, which is close-on-exec: nobody has it any more. */
TEST_F(life, exec)
{
	pid_t pid = vft_fork();
	char *p;

	if (!pid) {
		hold(self);
		vft_gate(&self->s->gate, 2);
		vft_gate(&self->s->gate, 2);
		execl("/bin/sleep", "sleep", "5", NULL);
		_exit(1);
	}
	p = meet(self);
	ASSERT_NE(NULL, p);
	EXPECT_ALIVE(p);
	vft_gate(&self->s->gate, 2);
	EXPECT_EQ(true, vft_until(3000, !held(self)));
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	EXPECT_ENDED(p);
	vft_kill(pid);
}

/* The same process in another program is not gone yet. */
TEST_F(life, exec_with_child)
{
	pid_t pid = vft_fork();
	char *p;

	if (!pid) {
		hold(self);
		heir_start(self->s, false, false);
		vft_gate(&self->s->gate, 2);
		vft_gate(&self->s->gate, 2);
		execl("/bin/sleep", "sleep", "20", NULL);
		_exit(1);
	}
	p = meet(self);
	ASSERT_NE(NULL, p);
	vft_gate(&self->s->gate, 2);
	vft_sleep_ms(300);
	EXPECT_ALIVE(p);
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_EQ(true, vft_until(2000, !held(self)));
	EXPECT_ENDED(p);
	leave(self);
}

static void *exec_thread(void *unused)
{
	(void)unused;
	execl("/bin/sleep", "sleep", "20", NULL);
	_exit(1);
}

TEST_F(life, exec_by_another_thread_with_child)
{
	pid_t pid = vft_fork();
	pthread_t t;
	char *p;

	if (!pid) {
		hold(self);
		heir_start(self->s, false, false);
		vft_gate(&self->s->gate, 2);
		vft_gate(&self->s->gate, 2);
		pthread_create(&t, NULL, exec_thread, NULL);
		pause();
	}
	p = meet(self);
	ASSERT_NE(NULL, p);
	vft_gate(&self->s->gate, 2);
	vft_sleep_ms(300);
	EXPECT_ALIVE(p);
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_EQ(true, vft_until(2000, !held(self)));
	EXPECT_ENDED(p);
	leave(self);
}

static void *wait_thread(void *unused)
{
	(void)unused;
	pause();
	return NULL;
}

/* The first thread is gone, the process is not. */
TEST_F(life, exit_of_the_leader_thread)
{
	pid_t pid = vft_fork();
	pthread_t t;
	char *p;

	if (!pid) {
		hold(self);
		heir_start(self->s, false, false);
		pthread_create(&t, NULL, wait_thread, NULL);
		vft_gate(&self->s->gate, 2);
		pthread_exit(NULL);
	}
	p = meet(self);
	ASSERT_NE(NULL, p);
	vft_sleep_ms(200);
	EXPECT_ALIVE(p);
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_EQ(true, vft_until(2000, !held(self)));
	EXPECT_ENDED(p);
	leave(self);
}

static void *hold_thread(void *self)
{
	hold(self);
	return NULL;
}

/* The process attached, whichever of its threads made the call. */
TEST_F(life, exit_of_the_attaching_thread)
{
	pid_t pid = vft_fork();
	pthread_t t;
	char *p;

	if (!pid) {
		pthread_create(&t, NULL, hold_thread, self);
		pthread_join(t, NULL);
		heir_start(self->s, false, false);
		vft_gate(&self->s->gate, 2);
		pause();
	}
	p = meet(self);
	ASSERT_NE(NULL, p);
	vft_sleep_ms(100);
	EXPECT_ALIVE(p);
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_ENDED(p);
	leave(self);
}

/* The file is passed on to a process that is no relative. */
TEST_F(life, file_passed_over_a_socket)
{
	int socks[2], fd;
	pid_t pid;
	char *p, *mine;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	pid = vft_fork();
	if (!pid) {
		hold(self);
		vft_send_fd(socks[1], holder_fd);
		close(holder_fd);
		vft_gate(&self->s->gate, 2);
		pause();
	}
	p = meet(self);
	ASSERT_NE(NULL, p);
	fd = vft_recv_fd(socks[0]);
	ASSERT_LE(0, fd);
	/* it can be used like the original */
	EXPECT_EQ(0, vft_alloc(fd, VFT_PAGE, 5, VFT_R, NULL));
	mine = vft_import_map(fd, self->s->handle, SIZE, VFT_RW, 0);
	ASSERT_NE(NULL, mine);
	EXPECT_EQ(77, *(uint64_t *)mine);
	EXPECT_EQ(1, held(self));
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_EQ(true, vft_until(2000, !held(self)));
	EXPECT_EQ(-ENODEV, vft_alloc(fd, VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(SIGBUS, vft_touch(mine));
	EXPECT_ENDED(p);
	/* an ended file stays dead */
	EXPECT_EQ(-ENODEV, vft_attach(fd, 0));
}

/* The only copy is on its way in a socket when the process dies. */
TEST_F(life, file_in_flight)
{
	int socks[2];
	pid_t pid;
	char *p;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	pid = vft_fork();
	if (!pid) {
		hold(self);
		vft_send_fd(socks[1], holder_fd);
		close(holder_fd);
		vft_gate(&self->s->gate, 2);
		pause();
	}
	p = meet(self);
	ASSERT_NE(NULL, p);
	EXPECT_ALIVE(p);
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_EQ(true, vft_until(2000, !held(self)));
	EXPECT_ENDED(p);
	close(socks[0]);
	close(socks[1]);
}

/* --- closing ------------------------------------------------------------------- */

TEST_F(life, last_close)
{
	int fd = vft_join(&self->dom, 0), copy = dup(fd);
	uint64_t handle;
	char *mine, *theirs;

	ASSERT_EQ(0, vft_alloc(fd, SIZE, 1, VFT_RW, &handle));
	mine = vft_import_map(fd, handle, SIZE, VFT_RW, 0);
	theirs = vft_import_map(self->fd, handle, SIZE, VFT_RW, 0);
	ASSERT_NE(NULL, mine);
	ASSERT_NE(NULL, theirs);
	EXPECT_EQ(0, vft_store(mine, 1));
	close(fd);
	EXPECT_EQ(0, vft_touch(mine));
	EXPECT_EQ(0, vft_touch(theirs));
	EXPECT_EQ(0, vft_alloc(copy, VFT_PAGE, 0, VFT_R, NULL));
	/* with mappings left, which do not keep the endpoint */
	close(copy);
	EXPECT_EQ(SIGBUS, vft_touch(mine));
	EXPECT_EQ(SIGBUS, vft_store(mine + VFT_PAGE, 1));
	EXPECT_ENDED(theirs);
}

/* A child closes its copy, and exits: that is not the end. */
TEST_F(life, end_of_a_child_is_none)
{
	int fd = vft_join(&self->dom, 0);
	uint64_t handle;
	char *mine;
	pid_t pid;

	ASSERT_EQ(0, vft_alloc(fd, SIZE, 1, VFT_RW, &handle));
	mine = vft_import_map(fd, handle, SIZE, VFT_RW, 0);
	ASSERT_NE(NULL, mine);
	pid = vft_fork();
	if (!pid) {
		vft_touch(mine);
		_exit(0);
	}
	EXPECT_EQ(0, vft_wait_pid(pid, 3000));
	pid = vft_fork();
	if (!pid)
		pause();
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	vft_sleep_ms(50);
	EXPECT_EQ(1, held(self));
	EXPECT_EQ(0, vft_touch(mine));
}

TEST_F(life, view_outlives_the_endpoint)
{
	int fd = vft_join(&self->dom, 0);
	const struct vfab_view *view = vft_view(fd);
	struct vfab_peer peer;

	ASSERT_NE(NULL, view);
	EXPECT_EQ(0, view->ended);
	vft_peer(view, 1, &peer);
	EXPECT_EQ(VFAB_PEER_HELD, peer.state);
	close(fd);
	EXPECT_NE(0, view->ended);
	EXPECT_EQ(VFAB_PARTITION_NONE, view->partition);
	vft_peer(view, 1, &peer);
	EXPECT_EQ(VFAB_PEER_UNREACHABLE, peer.state);
	/* also over the domain's end */
	ASSERT_EQ(0, vft_domain_delete(&self->dom, true));
	EXPECT_NE(0, view->ended);
}

/* The first touch comes after the end: there must still be a page behind it */
TEST_F(life, view_first_touched_after_the_end)
{
	struct vfab_info info;
	int fd = vft_join(&self->dom, 0);
	const struct vfab_view *view;

	ASSERT_EQ(0, ioctl(fd, VFAB_IOC_INFO, &info));
	view = mmap(NULL, info.view_bytes, PROT_READ, MAP_SHARED, fd, info.view_cookie);
	ASSERT_NE(MAP_FAILED, view);
	ASSERT_EQ(0, vft_detach(fd));
	EXPECT_NE(0, view->ended);
	close(fd);
	EXPECT_EQ(VFAB_PARTITION_NONE, view->partition);
}

TEST_F(life, detach_with_mappings_in_a_child)
{
	int fd = vft_join(&self->dom, 0);
	pid_t pid;

	ASSERT_EQ(0, vft_alloc(fd, SIZE, 1, VFT_RW, &self->s->handle));
	holder_fd = fd;
	holder_map = vft_import_map(fd, self->s->handle, SIZE, VFT_RW, 0);
	heir_start(self->s, false, false);
	pid = self->s->heir;
	EXPECT_EQ(true, ask(self->s));
	EXPECT_EQ(0, self->s->touch);
	ASSERT_EQ(0, vft_detach(fd));
	EXPECT_EQ(true, ask(self->s));
	EXPECT_EQ(SIGBUS, self->s->touch);
	EXPECT_EQ(-ENODEV, self->s->alloc);
	EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	vft_kill(pid);
}

/* --- device files ---------------------------------------------------------------- */

/* Another inode with the same device number, which outlives the domain's */
TEST_F(life, dead_device_file)
{
	struct vft_domain more[20];
	char path[64], part[64];
	struct stat st;
	unsigned int i;
	int fd;

	snprintf(path, sizeof(path), "/tmp/vft-dead-%d", (int)getpid());
	snprintf(part, sizeof(part), "/tmp/vft-dead-part-%d", (int)getpid());
	ASSERT_EQ(0, stat(vft_path(&self->dom, 0), &st));
	EXPECT_EQ(S_IFCHR | 0600, st.st_mode);
	ASSERT_EQ(0, mknod(path, S_IFCHR | 0600, st.st_rdev));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, NULL, 2, 1));
	ASSERT_EQ(0, stat(vft_path(&self->dom, 1), &st));
	ASSERT_EQ(0, mknod(part, S_IFCHR | 0600, st.st_rdev));
	/* it is the same device, while it lives */
	fd = open(path, O_RDWR | O_CLOEXEC);
	EXPECT_LE(0, fd);
	EXPECT_EQ(0, vft_attach(fd, 0));
	EXPECT_EQ(0, vft_partition_add(&self->dom, 0, 2, 1));
	EXPECT_EQ(0, vft_partition_delete(&self->dom, 1));
	EXPECT_EQ(-1, open(part, O_RDWR | O_CLOEXEC));
	EXPECT_EQ(ENODEV, errno);
	ASSERT_EQ(0, vft_domain_delete(&self->dom, true));
	EXPECT_EQ(-1, open(path, O_RDWR | O_CLOEXEC));
	EXPECT_EQ(ENODEV, errno);
	/* the number is not given to another soon */
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		ASSERT_EQ(0, vft_domain_create(&more[i], 2, NULL));
		EXPECT_NE(self->dom.id, more[i].id);
		EXPECT_EQ(-1, open(path, O_RDWR | O_CLOEXEC));
		EXPECT_EQ(ENODEV, errno);
		EXPECT_EQ(-1, open(part, O_RDWR | O_CLOEXEC));
		if (i % 2)
			EXPECT_EQ(0, vft_domain_delete(&more[i], false));
	}
	for (i = 0; i < ARRAY_SIZE(more); i += 2)
		EXPECT_EQ(0, vft_domain_delete(&more[i], false));
	/* nor to one that never was: a number beyond all in use */
	unlink(path);
	ASSERT_EQ(0, mknod(path, S_IFCHR | 0600, makedev(major(st.st_rdev), 1000000)));
	EXPECT_EQ(-1, open(path, O_RDWR | O_CLOEXEC));
	EXPECT_EQ(ENODEV, errno);
	unlink(path);
	unlink(part);
}

TEST_F(life, device_file_comes_and_goes)
{
	struct vft_domain dom;
	struct stat st;
	char path[64];

	ASSERT_EQ(0, vft_domain_create(&dom, 2, NULL));
	snprintf(path, sizeof(path), "%s", vft_path(&dom, 0));
	EXPECT_EQ(0, stat(path, &st));
	ASSERT_EQ(0, vft_domain_delete(&dom, false));
	EXPECT_EQ(true, vft_until(2000, stat(path, &st) && errno == ENOENT));
}

/* --- references -------------------------------------------------------------------- */

static long module_refs(void)
{
	return vft_read_long("/sys/module/vfabric/refcnt");
}

TEST_F_TIMEOUT(life, ten_thousand_opens_leak_no_reference, 60)
{
	uint64_t end = vft_now() + 6 * VFT_SEC;
	long before = module_refs();
	unsigned int i;

	for (i = 0; i < 10000 && vft_now() < end; i++) {
		int fd = vft_open(&self->dom, 0);

		ASSERT_LE(0, fd);
		/* attached or not, ended by DETACH or by close */
		if (i % 3)
			ASSERT_EQ(0, vft_attach(fd, 2));
		if (i % 3 == 2)
			ASSERT_EQ(0, vft_detach(fd));
		ASSERT_EQ(0, close(fd));
	}
	EXPECT_LT(300, i);
	EXPECT_EQ(true, vft_until(1000, module_refs() == before)) {
		TH_LOG("%ld references before, %ld after %u opens", before, module_refs(), i);
	}
	EXPECT_EQ(1, vft_domain_get(&self->dom, VFAB_A_ATTACHED));
}

TEST_F(life, mappings_leak_no_reference)
{
	long before = module_refs();
	uint64_t handle, cookie;
	unsigned int i;
	int fd;

	fd = vft_join(&self->dom, 0);
	ASSERT_EQ(0, vft_alloc(fd, SIZE, 0, VFT_RW, &handle));
	ASSERT_EQ(0, vft_import(fd, handle, VFT_RW, 0, &cookie));
	for (i = 0; i < 2000; i++) {
		char *p = vft_map(fd, cookie, SIZE, PROT_READ | PROT_WRITE);

		ASSERT_NE(NULL, p);
		vft_touch(p);
		if (i % 2)
			ASSERT_EQ(0, munmap(p + VFT_PAGE, VFT_PAGE));
		ASSERT_EQ(0, munmap(p, SIZE));
		/* refused ones as well */
		ASSERT_EQ(NULL, vft_map(fd, cookie, SIZE + VFT_PAGE, PROT_READ));
		ASSERT_EQ(MAP_FAILED, mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, cookie));
	}
	close(fd);
	EXPECT_EQ(true, vft_until(1000, module_refs() == before)) {
		TH_LOG("%ld references before, %ld after", before, module_refs());
	}
}

/* No descriptor left: the open fails and leaves nothing. */
TEST_F(life, open_without_free_descriptors)
{
	struct rlimit limit = { 64, 1024 };
	long before = module_refs();
	int fd[64], n = 0, i;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	while (n < 64 && (fd[n] = vft_open(&self->dom, 0)) >= 0)
		n++;
	EXPECT_EQ(-EMFILE, fd[n]);
	EXPECT_LT(10, n);
	for (i = 0; i < 100; i++)
		EXPECT_EQ(-EMFILE, vft_open(&self->dom, 0));
	for (i = 0; i < n; i++)
		close(fd[i]);
	EXPECT_EQ(true, vft_until(1000, module_refs() == before));
}

/* --- races --------------------------------------------------------------------------- */

struct racer {
	int fd;
	uint32_t rank;
	_Atomic int *go;
	int ret;
};

static void *attach_racer(void *arg)
{
	struct racer *r = arg;
	struct vfab_attach a = { .rank = r->rank };

	while (!atomic_load(r->go))
		;
	r->ret = ioctl(r->fd, VFAB_IOC_ATTACH, &a) ? -errno : (int)a.rank;
	return NULL;
}

/* Many attach one file: one does; many files to one rank: one gets it. */
TEST_F(life, attach_races)
{
	unsigned int round, i;

	for (round = 0; round < 30; round++) {
		bool same_file = round & 1;
		int fd = vft_open(&self->dom, 0), winners = 0;
		_Atomic int go = 0;
		struct racer r[4];
		pthread_t t[4];

		for (i = 0; i < 4; i++) {
			r[i] = (struct racer){ same_file ? fd : vft_open(&self->dom, 0),
					       same_file ? VFAB_RANK_ANY : 0, &go, 0 };
			ASSERT_EQ(0, pthread_create(&t[i], NULL, attach_racer, &r[i]));
		}
		atomic_store(&go, 1);
		for (i = 0; i < 4; i++) {
			pthread_join(t[i], NULL);
			winners += r[i].ret >= 0;
			if (r[i].ret < 0)
				EXPECT_EQ(same_file ? -EALREADY : -EBUSY, r[i].ret);
		}
		EXPECT_EQ(1, winners);
		for (i = 0; i < 4 && !same_file; i++)
			close(r[i].fd);
		close(fd);
		EXPECT_EQ(1, vft_domain_get(&self->dom, VFAB_A_ATTACHED));
	}
}

TEST_F(life, any_rank_races)
{
	unsigned int round, i;

	for (round = 0; round < 20; round++) {
		_Atomic int go = 0;
		struct racer r[4];
		pthread_t t[4];
		unsigned int seen = 0, full = 0;

		/* three ranks are free */
		for (i = 0; i < 4; i++) {
			r[i] = (struct racer){ vft_open(&self->dom, 0), VFAB_RANK_ANY, &go, 0 };
			ASSERT_EQ(0, pthread_create(&t[i], NULL, attach_racer, &r[i]));
		}
		atomic_store(&go, 1);
		for (i = 0; i < 4; i++) {
			pthread_join(t[i], NULL);
			if (r[i].ret >= 0)
				seen |= 1U << r[i].ret;
			else
				full += r[i].ret == -EHOSTUNREACH;
		}
		EXPECT_EQ(1 | 4 | 8, seen);
		EXPECT_EQ(1, full);
		for (i = 0; i < 4; i++)
			close(r[i].fd);
	}
}

struct user {
	int fd, peer;
	_Atomic uint64_t calls;
	_Atomic int bad;
};

/* Everything that one can do with an endpoint, until it has ended */
static void *use_until_the_end(void *arg)
{
	struct user *u = arg;

	for (;;) {
		uint64_t handle = 0, cookie = 0, count = 1, loss = 0;
		char *p;
		int ret;

		ret = vft_alloc(u->fd, SIZE, 0, VFT_RW, &handle);
		if (!ret)
			ret = vft_import(u->fd, handle, VFT_RW, 0, &cookie);
		if (!ret) {
			p = vft_map(u->fd, cookie, SIZE, PROT_READ | PROT_WRITE);
			if (p) {
				int sig = vft_touch(p);

				if (sig && sig != SIGBUS)
					atomic_store(&u->bad, sig);
				munmap(p, SIZE);
			}
		}
		if (!ret)
			ret = vft_free(u->fd, handle);
		if (!ret)
			ret = vft_bell(u->fd, 1, &cookie);
		if (!ret)
			ret = vft_release(u->fd, cookie);
		if (!ret)
			ret = vft_wait(u->fd, 0, &count, &loss, 1, NULL);
		if (!ret)
			ret = vft_ring(u->fd, 1, 3);
		u->calls++;
		if (ret == -ENODEV)
			return NULL;
		if (ret)
			atomic_store(&u->bad, ret);
	}
}

TEST_F_TIMEOUT(life, end_races_every_call, 60)
{
	unsigned int round, i;

	for (round = 0; round < 12; round++) {
		struct user u = { .fd = vft_join(&self->dom, 0), .peer = self->fd };
		pthread_t t[3];

		ASSERT_LE(0, u.fd);
		for (i = 0; i < 3; i++)
			ASSERT_EQ(0, pthread_create(&t[i], NULL, use_until_the_end, &u));
		vft_until(1000, u.calls > 5 + round);
		EXPECT_EQ(0, round % 2 ? vft_evict(&self->dom, 0) : vft_detach(u.fd));
		for (i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
		EXPECT_EQ(0, u.bad);
		EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
		close(u.fd);
	}
}

/* Killed anywhere: when it is reaped, nothing of it is left. */
TEST_F_TIMEOUT(life, killed_anywhere, 60)
{
	unsigned int seed = 3, round;

	for (round = 0; round < 40; round++) {
		pid_t pid = vft_fork();

		if (!pid) {
			/* an endpoint of which nobody else has a copy */
			close(self->fd);
			for (;;) {
				struct user u = { .fd = vft_join(&self->dom, 0) };
				uint64_t handle, cookie;
				struct vft_bells bells;

				vft_alloc(u.fd, 16 * SIZE, 1, VFT_RW, &handle);
				vft_import(u.fd, handle, VFT_RW, VFAB_LOSS_ABSORB, &cookie);
				vft_touch(vft_map(u.fd, cookie, 16 * SIZE, PROT_READ));
				vft_bells(&bells, u.fd, 1);
				vft_ding(&bells, 1);
				if (round % 2)
					vft_detach(u.fd);
				close(u.fd);
			}
		}
		vft_sleep_ms(1 + vft_random(&seed) % 40);
		EXPECT_EQ(SIGKILL, vft_kill(pid));
		EXPECT_EQ(1, vft_domain_get(&self->dom, VFAB_A_ATTACHED));
		EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	}
}

/* --- a full domain ----------------------------------------------------------- */

#define CROWD		VFAB_MAX_WORLD
#define CROWD_WINDOWS	16	/* each */
#define CROWD_IMPORTS	64	/* each, of other ranks */
#define CROWD_MAPS	16	/* each; a process has 65530 */

static int crowd_join(const struct vft_domain *dom, int *fd, uint64_t (*handle)[CROWD_WINDOWS])
{
	uint32_t i, k;

	for (i = 0; i < CROWD; i++) {
		fd[i] = vft_join(dom, i);
		for (k = 0; fd[i] >= 0 && k < CROWD_WINDOWS; k++)
			if (vft_alloc(fd[i], VFT_PAGE, 1 + k, VFT_RW, &handle[i][k]))
				return -1;
	}
	for (i = 0; i < CROWD; i++)
		for (k = 0; k < CROWD_IMPORTS; k++) {
			uint64_t peer = (i + 1 + k * 15) % CROWD, cookie;
			const void *p;

			if (vft_import(fd[i], handle[peer][k % CROWD_WINDOWS], VFT_RW,
				       k % 2 ? VFAB_LOSS_ABSORB : VFAB_LOSS_SIGBUS, &cookie))
				return -1;
			if (k >= CROWD_MAPS)
				continue;
			p = vft_map(fd[i], cookie, VFT_PAGE, PROT_READ);
			if (!p || vft_touch(p))
				return -1;
		}
	return 0;
}

FIXTURE(crowd) {
	struct vft_domain dom, other;
	long watchdog;
};

static const char watchdog_thresh[] = "/proc/sys/kernel/watchdog_thresh";

FIXTURE_SETUP(crowd)
{
	ASSERT_EQ(0, vft_domain_create(&self->other, 2, NULL));
	ASSERT_EQ(0, vft_domain_create(&self->dom, CROWD, NULL));
	/* absent where the kernel has no watchdog */
	self->watchdog = vft_read_long(watchdog_thresh);
	if (self->watchdog > 0)
		EXPECT_EQ(true, vft_write_text(watchdog_thresh, "1"));
}

FIXTURE_TEARDOWN_PARENT(crowd)
{
	char text[16];

	snprintf(text, sizeof(text), "%ld", self->watchdog);
	if (self->watchdog > 0)
		EXPECT_EQ(true, vft_write_text(watchdog_thresh, text));
	EXPECT_EQ(0, vft_domain_end(&self->other));
	if (self->dom.exists)
		EXPECT_EQ(0, vft_domain_end(&self->dom));
}

static void crowd(struct vft_domain *dom, struct vft_gate *gate)
{
	static uint64_t handle[CROWD][CROWD_WINDOWS];
	static int fd[CROWD];
	struct rlimit files = { 2 * CROWD, 2 * CROWD };

	setrlimit(RLIMIT_NOFILE, &files);
	if (!crowd_join(dom, fd, handle))
		vft_gate(gate, 2);
	pause();
	_exit(1);
}

/*
 * 1024 endpoints, 16384 windows and 65536 imports of one process go at once.
 * The kernel complains if a CPU does nothing else for two seconds, and another
 * domain is none the worse.
 */
static void crowd_ends(struct __test_metadata *_metadata, struct vft_domain *dom,
		       const struct vft_domain *other, bool by_force)
{
	struct vft_gate *gate = vft_shared(sizeof(*gate));
	uint64_t worst = 0, begin;
	pid_t pid = vft_fork(), deleter = 0;
	bool gone;

	if (!pid)
		crowd(dom, gate);
	/* Where the kernel checks each access, this takes minutes on a busy machine */
	ASSERT_EQ(true, vft_until(300000, atomic_load(&gate->here) == 1));
	vft_gate(gate, 2);
	EXPECT_EQ(CROWD, vft_domain_get(dom, VFAB_A_ATTACHED));
	EXPECT_EQ(CROWD * CROWD_WINDOWS * VFT_PAGE, vft_domain_get(dom, VFAB_A_MEM_USED));
	begin = vft_now();
	if (by_force) {
		deleter = vft_fork();
		if (!deleter)
			_exit(vft_domain_delete(dom, true) ? 1 : 0);
	} else {
		kill(pid, SIGKILL);
	}
	do {
		uint64_t t = vft_now();
		int fd = vft_join(other, 1);

		EXPECT_LE(0, fd);
		close(fd);
		t = vft_now() - t;
		worst = t > worst ? t : worst;
		if (deleter)
			gone = waitpid(deleter, NULL, WNOHANG) == deleter;
		else
			gone = !vft_domain_get(dom, VFAB_A_ATTACHED);
	} while (!gone && vft_now() - begin < 60000 * VFT_MS);
	EXPECT_EQ(true, gone);
	TH_LOG("gone after %.2f s, another domain waited for %.3f s at most",
	       (vft_now() - begin) / 1e9, worst / 1e9);
	EXPECT_GT((vft_uml() ? 20000 : 1000) * VFT_MS, worst);
	vft_kill(pid);
}

TEST_F_TIMEOUT(crowd, deleted, 400)
{
	crowd_ends(_metadata, &self->dom, &self->other, true);
	self->dom.exists = false;
}

TEST_F_TIMEOUT(crowd, killed, 400)
{
	crowd_ends(_metadata, &self->dom, &self->other, false);
}

TEST_HARNESS_MAIN
