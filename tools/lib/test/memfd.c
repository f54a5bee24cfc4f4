// SPDX-License-Identifier: LGPL-2.1
/* Tests: what is the memfd transport's own. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "libtest.h"

#define TAG	7
#define LONG	(20 * VFAB_SECOND)

static bool says(int err, const char *text)
{
	return strstr(vfab_strerror(err), text);
}

static struct vfab_mem import(struct vfab_ep *ep, uint32_t rank, uint64_t tag)
{
	struct vfab_mem m;
	uint64_t handle;

	EQUAL(vfab_lookup(ep, rank, tag, LONG, &handle), 0);
	EQUAL(vfab_import(ep, handle, VFAB_ACCESS_WRITE, VFAB_LOSS_ABSORB, &m), 0);
	return m;
}

/* The file itself, anew */
static int file(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%s", strchr(domain, ':') + 1);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static uint64_t memory(void)
{
	struct stat s;
	int fd = file();

	EQUAL(fstat(fd, &s), 0);
	close(fd);
	return s.st_blocks * 512;
}

/* --- Finding, opening -------------------------------------------------------------- */

static void refusals(uint32_t rank)
{
	struct vfab_event e;
	struct vfab_info info;
	struct vfab_ep *ep;
	char path[64];

	(void)rank;
	EQUAL(vfab_memfd_create(0), -EINVAL);
	EQUAL(vfab_memfd_create(1025), -EINVAL);
	CHECK(says(-EINVAL, "1 to 1024"));
	EQUAL(vfab_find("memfd:/dev/null", NULL, 0, NULL), -ENOTTY);
	CHECK(says(-ENOTTY, "/dev/null: not a file of the memfd transport"));
	EQUAL(vfab_find("memfd:/no/such", NULL, 0, NULL), -ENOENT);
	EQUAL(vfab_find("memfd:999", NULL, 0, NULL), -ENOENT);
	EQUAL(vfab_find("memfd:", NULL, 0, NULL), -ENOENT);
	CHECK(says(-ENOENT, "vfabrun --memfd"));
	EQUAL(vfab_find("memfd", path, sizeof(path), &info), 0);
	CHECK(!strcmp(path, domain));
	EQUAL(info.world, 8);
	EQUAL(info.rank, VFAB_RANK_ANY);
	CHECK(!strcmp(info.name, "memfd"));
	unsetenv("VFAB_DOMAIN");
	EQUAL(vfab_find("memfd", NULL, 0, NULL), -ENOENT);
	ep = attach(0);
	EQUAL(vfab_eventfd(ep, 0, 1), -EOPNOTSUPP);
	CHECK(says(-EOPNOTSUPP, "memfd transport has no eventfds"));
	EQUAL(vfab_event(ep, &e, 0), -EOPNOTSUPP);
	CHECK(says(-EOPNOTSUPP, "memfd transport has no events"));
	EQUAL(vfab_fd(ep), -1);
	vfab_close(ep);
}

/* A file with the same header but for one word, of @size bytes; 0: the right size */
static int spoiled(size_t at, uint32_t value, off_t size)
{
	char head[4096], address[32];
	struct stat s;
	int from = file(), fd, ret;

	EQUAL(pread(from, head, sizeof(head), 0), sizeof(head));
	EQUAL(fstat(from, &s), 0);
	fd = memfd_create("spoiled", MFD_CLOEXEC);
	if (value)
		memcpy(head + at, &value, 4);
	EQUAL(write(fd, head, sizeof(head)), sizeof(head));
	EQUAL(ftruncate(fd, size ? size : s.st_size), 0);
	snprintf(address, sizeof(address), "memfd:%d", fd);
	ret = vfab_find(address, NULL, 0, NULL);
	close(from);
	close(fd);
	return ret;
}

static void wrong_files(uint32_t rank)
{
	int fd = file();

	(void)rank;
	EQUAL(spoiled(0, 0, 0), 0);
	EQUAL(spoiled(0, 1, 0), -ENOTTY);
	EQUAL(spoiled(8, 99, 0), -EOPNOTSUPP);
	CHECK(says(-EOPNOTSUPP, "version 99"));
	EQUAL(spoiled(12, 5000, 0), -EINVAL);
	CHECK(says(-EINVAL, "damaged"));
	EQUAL(spoiled(12, 9, 0), -EINVAL);
	EQUAL(spoiled(0, 0, 5000), -EINVAL);
	CHECK(says(-EINVAL, "truncated"));
	EQUAL(spoiled(0, 0, 20), -ENOTTY);
	/* The real one cannot be truncated */
	EQUAL(ftruncate(fd, 0), -1);
	EQUAL(errno, EPERM);
	close(fd);
}

static void taken(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank), *other, *all[8];
	uint32_t i;

	sync_ranks(2, rank, 1);
	EQUAL(vfab_open(&other, domain, !rank), -EBUSY);
	CHECK(says(-EBUSY, rank ? "rank 0 of the memfd fabric is held by process" :
		   "rank 1 of the memfd fabric is held by process"));
	sync_ranks(2, rank, 2);
	if (!rank) {
		/* Its own process does not get it twice, and loses it to no close */
		for (i = 2; i < 8; i++) {
			EQUAL(vfab_open(&all[i], domain, VFAB_RANK_ANY), 0);
			EQUAL(vfab_info(all[i])->rank, i);
		}
		EQUAL(vfab_open(&other, domain, VFAB_RANK_ANY), -EHOSTUNREACH);
		EQUAL(vfab_open(&other, domain, 0), -EBUSY);
		EQUAL(vfab_open(&other, domain, 8), -EINVAL);
		EQUAL(vfab_find(domain, NULL, 0, NULL), 0);
		vfab_close(all[7]);
		EQUAL(vfab_open(&all[7], domain, 7), 0);
	}
	sync_ranks(2, rank, 3);
	if (rank)
		EQUAL(vfab_open(&other, domain, 0), -EBUSY);
	sync_ranks(2, rank, 4);
	for (i = 2; i < 8 && !rank; i++)
		vfab_close(all[i]);
	vfab_close(ep);
}

/* --- Death ------------------------------------------------------------------------- */

static uint32_t state(struct vfab_ep *ep, uint32_t rank)
{
	struct vfab_peer p;

	EQUAL(vfab_peer(ep, rank, &p), 0);
	return p.state;
}

/* Until it has happened; how long that took */
static double lost(struct vfab_ep *ep, uint32_t rank)
{
	uint64_t count = vfab_count(ep, 0), loss = 0;
	double start = now();

	while (state(ep, rank) == VFAB_PEER_HELD) {
		CHECK(now() - start < bound);
		EQUAL(vfab_wait(ep, 0, &count, &loss, LONG), -ECONNRESET);
	}
	return now() - start;
}

/* Noticed by who waits, without a launcher; then another one has the rank. */
static void death(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_mem mine, theirs;
	uint64_t handle;
	char x = 1;
	pid_t pid;
	int st;

	EQUAL(vfab_window_alloc(ep, 4 << 20, TAG, VFAB_ACCESS_WRITE, &mine), 0);
	if (rank == 1) {
		board_wait(0, 1);
		raise(SIGKILL);
	}
	theirs = import(ep, 1, TAG);
	EQUAL(vfab_put(ep, &theirs, 0, &x, 1), 0);
	EQUAL(vfab_ring(ep, 1, 0), 0);
	board[0] = 1;
	CHECK(lost(ep, 1) < bound);
	EQUAL(vfab_put(ep, &theirs, 0, &x, 1), -ENOENT);
	EQUAL(vfab_ring(ep, 1, 0), -EHOSTUNREACH);
	CHECK(says(-EHOSTUNREACH, "nothing is attached"));
	EQUAL(vfab_lookup(ep, 1, TAG, 0, &handle), -ENOENT);
	EQUAL(*(volatile char *)theirs.addr, 0);
	pid = fork();
	if (!pid) {
		ep = attach(1);
		EQUAL(vfab_window_alloc(ep, 4 << 20, TAG, VFAB_ACCESS_WRITE, &mine), 0);
		board[1] = 1;
		board_wait(1, 2);
		EQUAL(*(char *)mine.addr, 1);
		EQUAL(vfab_count(ep, 0), 1);
		vfab_close(ep);
		_exit(0);
	}
	board_wait(1, 1);
	EQUAL(state(ep, 1), VFAB_PEER_HELD);
	/* An old mapping leads nowhere */
	EQUAL(vfab_put(ep, &theirs, 0, &x, 1), -ENOENT);
	x = 2;
	*(volatile char *)theirs.addr = x;
	vfab_release(ep, &theirs);
	theirs = import(ep, 1, TAG);
	x = 1;
	EQUAL(vfab_put(ep, &theirs, 0, &x, 1), 0);
	EQUAL(vfab_ring(ep, 1, 0), 0);
	board[1] = 2;
	CHECK(lost(ep, 1) < bound);
	EQUAL(wait(&st), pid);
	EQUAL(st, 0);
	vfab_close(ep);
}

/* Whoever sleeps is woken by a loss: its nap would last a quarter of a second. */
static void woken(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	double start, least = 1;
	uint64_t count, loss;
	uint32_t i;

	if (!rank)
		board[1] = getpid();
	for (i = 1; i <= 10; i++) {
		count = vfab_count(ep, 0);
		loss = vfab_loss(ep);
		sync_ranks(2, rank, 2 * i);
		if (rank) {
			board_wait(2, i);
			await_sleep(board[1]);
			vfab_close(ep);
			ep = attach(rank);
		} else {
			start = now();
			board[2] = i;
			EQUAL(vfab_wait(ep, 0, &count, &loss, LONG), -ECONNRESET);
			least = now() - start < least ? now() - start : least;
		}
		sync_ranks(2, rank, 2 * i + 1);
	}
	CHECK(rank || least < .2);
	vfab_close(ep);
}

/* A child uses what its parent has, and does not keep it alive. */
static void forked(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_mem mine, theirs;
	uint64_t count = 0, loss;
	pid_t self = getpid();
	char x = 5;

	EQUAL(vfab_window_alloc(ep, 4096, TAG, VFAB_ACCESS_WRITE, &mine), 0);
	theirs = import(ep, !rank, TAG);
	sync_ranks(2, rank, 1);
	if (!rank) {
		board_wait(1, 1);
		EQUAL(*(char *)mine.addr, 5);
		EQUAL(vfab_count(ep, 3), 1);
		import(ep, 1, TAG + 1);
		board[2] = 1;
		/* The child finds out by itself */
		board_wait(1, 2);
		CHECK(lost(ep, 1) < bound);
		vfab_close(ep);
		return;
	}
	if (fork())
		for (;;)
			pause();
	prctl(PR_SET_PDEATHSIG, 0);
	EQUAL(vfab_put(ep, &theirs, 0, &x, 1), 0);
	EQUAL(vfab_ring(ep, 0, 3), 0);
	EQUAL(vfab_window_alloc(ep, 4096, TAG + 1, VFAB_ACCESS_WRITE, &mine), 0);
	loss = vfab_loss(ep);
	board[1] = 1;
	board_wait(2, 1);
	kill_parent(self);
	EQUAL(vfab_wait(ep, 0, &count, &loss, LONG), -ENODEV);
	EQUAL(vfab_put(ep, &theirs, 0, &x, 1), -ENODEV);
	EQUAL(vfab_ring(ep, 0, 3), -ENODEV);
	EQUAL(vfab_window_alloc(ep, 4096, 0, VFAB_ACCESS_WRITE, &mine), -ENODEV);
	vfab_close(ep);
	board[1] = 2;
	_exit(0);
}

/* A child's close is its own business. */
static void forked_close(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	pid_t pid = fork();

	if (!pid) {
		vfab_close(ep);
		_exit(0);
	}
	EQUAL(waitpid(pid, NULL, 0), pid);
	EQUAL(vfab_ring(ep, rank, 0), 0);
	EQUAL(vfab_count(ep, 0), 1);
	vfab_close(ep);
}

/* Who closes all files, and opens others, loses the endpoint and nothing else. */
static void closed_files(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	static char was[100000], is[100000];
	uint64_t count = 0, loss;
	struct vfab_mem mine;
	char address[64];
	pid_t pid;
	int fd, i;

	/* By the process that runs the tests, which has the file open */
	snprintf(address, sizeof(address), "memfd:/proc/%d/fd/%s", getppid(),
		 strchr(domain, ':') + 1);
	EQUAL(vfab_window_alloc(ep, 4096, TAG, VFAB_ACCESS_WRITE, &mine), 0);
	sync_ranks(2, rank, 1);
	if (rank) {
		board_wait(1, 1);
		CHECK(lost(ep, 0) < bound);
		EQUAL(vfab_ring(ep, 1, 0), 0);
		sync_ranks(2, rank, 2);
		vfab_close(ep);
		return;
	}
	loss = vfab_loss(ep);
	for (i = 3; i < 64; i++)
		close(i);
	memset(was, 'x', sizeof(was));
	for (i = 3; i < 20; i++) {
		fd = memfd_create("mine", 0);
		EQUAL(fd, i);
		EQUAL(pwrite(fd, was, sizeof(was), 0), sizeof(was));
		EQUAL(ftruncate(fd, 1L << 42), 0);
		EQUAL(pwrite(fd, was, sizeof(was), 3L << 20), sizeof(was));
	}
	/* It cannot tell who is alive, and does not try */
	EQUAL(vfab_wait(ep, 0, &count, &loss, VFAB_SECOND), -ETIMEDOUT);
	EQUAL(state(ep, 1), VFAB_PEER_HELD);
	board[1] = 1;
	EQUAL(vfab_wait(ep, 0, &count, &loss, LONG), -ENODEV);
	CHECK(says(-ENODEV, "closed the library's files"));
	vfab_window_free(ep, &mine);
	sync_ranks(2, rank, 2);
	/* What it has lost, its end does not take from another one */
	board[1] = 0;
	pid = fork();
	if (!pid) {
		EQUAL(vfab_open(&ep, address, 0), 0);
		board[1] = 1;
		board_wait(1, 2);
		EQUAL(vfab_ring(ep, 0, 0), 0);
		_exit(0);
	}
	board_wait(1, 1);
	vfab_close(ep);
	board[1] = 2;
	EQUAL(waitpid(pid, &i, 0), pid);
	EQUAL(i, 0);
	for (i = 3; i < 20; i++) {
		if (fcntl(i, F_GETFD) < 0)
			continue;	/* a number that the library had */
		EQUAL(pread(i, is, sizeof(is), 3L << 20), sizeof(is));
		CHECK(!memcmp(was, is, sizeof(is)));
	}
}

/* A stopped peer is late, not dead. */
static void stopped(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	uint64_t count = 0, loss = vfab_loss(ep);

	board[2 + rank] = getpid();
	sync_ranks(2, rank, 1);
	if (rank) {
		board_wait(1, 1);
		EQUAL(vfab_ring(ep, 0, 0), 0);
		vfab_close(ep);
		return;
	}
	kill(board[3], SIGSTOP);
	board[1] = 1;
	EQUAL(vfab_wait(ep, 0, &count, &loss, VFAB_SECOND), -ETIMEDOUT);
	EQUAL(state(ep, 1), VFAB_PEER_HELD);
	kill(board[3], SIGCONT);
	EQUAL(vfab_wait(ep, 0, &count, NULL, LONG), 0);
	vfab_close(ep);
}

/*
 * Ranks that come and die at any point, seven at a time, for some seconds. Whoever
 * stays sees each go, nothing waits longer than it may, and no memory is left.
 */
static void storm_one(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_mem mem, theirs;
	uint64_t count, loss, handle;
	uint32_t i, peer;

	for (i = 0;; i++) {
		peer = (rank + i) % 8;
		EQUAL(vfab_window_alloc(ep, 300000, TAG + i % 3, VFAB_ACCESS_WRITE, &mem), 0);
		if (!vfab_lookup(ep, peer, TAG + i % 3, VFAB_SECOND / 500, &handle) &&
		    !vfab_import(ep, handle, VFAB_ACCESS_WRITE, VFAB_LOSS_ABSORB, &theirs)) {
			vfab_put(ep, &theirs, 0, &i, 4);
			vfab_release(ep, &theirs);
		}
		vfab_ring(ep, peer, 1);
		count = vfab_count(ep, 1);
		loss = vfab_loss(ep);
		vfab_wait(ep, 1, &count, &loss, VFAB_SECOND / 1000);
		EQUAL(vfab_window_free(ep, &mem), 0);
	}
}

static void storm(uint32_t rank)
{
	struct vfab_ep *ep = attach(7);
	double end = now() + 3, start;
	uint32_t i, died = 0;
	struct vfab_peer p;
	pid_t pid[7] = { 0 };
	int st;

	(void)rank;
	srandom(getpid());
	while (now() < end) {
		i = random() % 7;
		if (pid[i]) {
			kill(pid[i], SIGKILL);
			EQUAL(waitpid(pid[i], &st, 0), pid[i]);
			CHECK(WIFSIGNALED(st));
			died++;
		}
		pid[i] = fork();
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			storm_one(i);
		}
		usleep(random() % 20000);
	}
	for (i = 0; i < 7; i++) {
		if (!pid[i])
			continue;
		kill(pid[i], SIGKILL);
		EQUAL(waitpid(pid[i], &st, 0), pid[i]);
		CHECK(WIFSIGNALED(st));
	}
	CHECK(died > 20);
	start = now();
	for (i = 0; i < 7; i++)
		do
			EQUAL(vfab_peer(ep, i, &p), 0);
		while (p.state == VFAB_PEER_HELD && now() - start < bound);
	CHECK(now() - start < bound);
	EQUAL(vfab_lookup(ep, 3, TAG, VFAB_SECOND / 100, &(uint64_t){ 0 }), -ETIMEDOUT);
	CHECK(memory() < 2 << 20);
	vfab_close(ep);
}

/* --- Windows, doorbells ------------------------------------------------------------ */

/* Freed while it is imported: the mapping stays, and leads to no later window. */
static void freed(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_mem mem[3], theirs;
	uint64_t loss, count = 0, x = 5;
	uint32_t i;

	if (!rank) {
		EQUAL(vfab_window_alloc(ep, 1 << 20, TAG, VFAB_ACCESS_WRITE, &mem[0]), 0);
		sync_ranks(2, rank, 1);
		usleep(50000);
		EQUAL(vfab_window_free(ep, &mem[0]), 0);
		for (i = 0; i < 3; i++)
			EQUAL(vfab_window_alloc(ep, 1 << 20, TAG + i, VFAB_ACCESS_WRITE,
						&mem[i]), 0);
		sync_ranks(2, rank, 2);
		sync_ranks(2, rank, 3);
		for (i = 0; i < 3; i++) {
			EQUAL(*(uint64_t *)mem[i].addr, 0);
			EQUAL(vfab_window_free(ep, &mem[i]), 0);
		}
		sync_ranks(2, rank, 4);
		CHECK(memory() < 3 << 20);
	} else {
		theirs = import(ep, 0, TAG);
		memset(theirs.addr, 1, 1 << 20);
		loss = vfab_loss(ep);
		sync_ranks(2, rank, 1);
		EQUAL(vfab_wait(ep, 0, &count, &loss, LONG), -ECONNRESET);
		EQUAL(state(ep, 0), VFAB_PEER_HELD);
		EQUAL(vfab_put(ep, &theirs, 0, &x, 8), -ENOENT);
		EQUAL(vfab_get(ep, &theirs, 0, &x, 8), -ENOENT);
		sync_ranks(2, rank, 2);
		memset(theirs.addr, 1, 1 << 20);
		EQUAL(vfab_release(ep, &theirs), 0);
		sync_ranks(2, rank, 3);
		sync_ranks(2, rank, 4);
	}
	sync_ranks(2, rank, 5);
	vfab_close(ep);
}

/* An entry of a table of windows that leads elsewhere leads nowhere. */
static void damaged(uint32_t rank)
{
	static const uint64_t wrong[] = {
		0, 4096, 1ULL << 62, -1ULL, -4096ULL, 3ULL << 40, 12345
	};
	struct vfab_ep *ep = attach(0), *peer = attach(1);
	struct vfab_mem mem, got;
	uint64_t *word, was;
	size_t i;

	(void)rank;
	EQUAL(vfab_window_alloc(ep, 8192, TAG, VFAB_ACCESS_WRITE, &mem), 0);
	word = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file(), 0);
	CHECK(word != MAP_FAILED);
	while (*word != mem.handle)
		word++;
	/* handle, tag, offset, size */
	EQUAL(word[1], TAG);
	EQUAL(word[3], 8192);
	for (i = 0; i < 2 * sizeof(wrong) / sizeof(wrong[0]); i++) {
		was = word[2 + i % 2];
		word[2 + i % 2] = wrong[i / 2];
		if (i % 2 == 0 || wrong[i / 2] != 4096) {
			EQUAL(vfab_import(peer, mem.handle, VFAB_ACCESS_READ, VFAB_LOSS_ABSORB,
					  &got), -EIO);
			CHECK(says(-EIO, "damaged"));
		}
		word[2 + i % 2] = was;
	}
	EQUAL(vfab_import(peer, mem.handle, VFAB_ACCESS_READ, VFAB_LOSS_ABSORB, &got), 0);
	vfab_close(peer);
	vfab_close(ep);
}

static void limits(uint32_t rank)
{
	static struct vfab_mem mem[1025];
	struct vfab_ep *ep = attach(rank);
	uint64_t size;
	uint32_t i;

	EQUAL(vfab_window_alloc(ep, (16ULL << 30) + 1, TAG, VFAB_ACCESS_READ, mem), -EINVAL);
	EQUAL(vfab_window_alloc(ep, 4096, TAG, 8, mem), -EINVAL);
	/* More than the machine has is an error, and kills nobody */
	size = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	if (size < 16ULL << 30)
		EQUAL(vfab_window_alloc(ep, size, TAG, VFAB_ACCESS_READ, mem), -ENOMEM);
	for (i = 0; i < 1024; i++)
		EQUAL(vfab_window_alloc(ep, 4096, i + 1, VFAB_ACCESS_READ, &mem[i]), 0);
	EQUAL(vfab_window_alloc(ep, 4096, i + 1, VFAB_ACCESS_READ, &mem[i]), -EDQUOT);
	CHECK(says(-EDQUOT, "1024 windows"));
	for (i = 0; i < 1024; i += 2)
		EQUAL(vfab_window_free(ep, &mem[i]), 0);
	EQUAL(vfab_window_alloc(ep, 4096, 1, VFAB_ACCESS_READ, &mem[0]), 0);
	EQUAL(vfab_window_alloc(ep, 4096, 2, VFAB_ACCESS_READ, &mem[2]), -EEXIST);
	vfab_close(ep);
}

/* Sleepers are woken: a lost wake-up would cost a quarter of a second each. */
static void wake_ups(uint32_t rank)
{
	uint64_t count = 0, handle;
	struct vfab_mem mem;
	struct vfab_ep *ep;
	double start;
	uint32_t i;

	setenv("VFAB_WAIT", "block", 1);
	ep = attach(rank);
	sync_ranks(2, rank, 1);
	start = now();
	for (i = 0; i < 5000; i++) {
		if (!rank || i)
			EQUAL(vfab_ring(ep, !rank, 5), 0);
		EQUAL(vfab_wait(ep, 5, &count, NULL, LONG), 0);
	}
	if (rank)
		EQUAL(vfab_ring(ep, 0, 5), 0);
	CHECK(now() - start < 2 * bound);
	sync_ranks(2, rank, 2);
	start = now();
	for (i = 0; i < 200; i++) {
		if (i % 2 == rank) {
			usleep(500);
			EQUAL(vfab_window_alloc(ep, 4096, TAG + i, VFAB_ACCESS_READ, &mem), 0);
		} else {
			EQUAL(vfab_lookup(ep, !rank, TAG + i, LONG, &handle), 0);
		}
	}
	CHECK(now() - start < 2 * bound);
	sync_ranks(2, rank, 3);
	vfab_close(ep);
}

/* --- Many, and hostile ones -------------------------------------------------------- */

#define MANY	1024

static void many(uint32_t rank)
{
	volatile uint32_t *met = board + 1;
	struct vfab_ep *ep;
	struct vfab_mem mem;
	uint64_t handle;

	if (!rank)
		CHECK(memory() < 1 << 20);
	ep = attach(rank);
	EQUAL(vfab_window_alloc(ep, 4096, TAG, VFAB_ACCESS_READ, &mem), 0);
	EQUAL(vfab_lookup(ep, (rank + 1) % MANY, TAG, 4 * LONG, &handle), 0);
	__atomic_fetch_add(met, 1, __ATOMIC_RELAXED);
	while (*met < MANY)
		usleep(20000);
	if (!rank)
		CHECK(memory() < 16 << 20);
	__atomic_fetch_add(met, 1, __ATOMIC_RELAXED);
	while (*met < 2 * MANY)
		usleep(20000);
	vfab_close(ep);
}

/*
 * A rank that writes anything over what all share: nobody crashes, and no call
 * takes longer than it says.
 */
static void scribble(double end)
{
	size_t bytes = 8 * 74000;
	int fd = file();
	uint32_t *word, i;
	char *base;

	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(base != MAP_FAILED);
	srandom(getpid());
	while (now() < end) {
		for (i = 0; i < 2000; i++) {
			word = (uint32_t *)(base + 4096 + random() % (bytes - 4096) / 4 * 4);
			*(volatile uint32_t *)word = random() % 3 ? random() : random() % 1100;
		}
		usleep(100);
	}
}

static void hostile(uint32_t rank)
{
	uint64_t count, loss, handle;
	struct vfab_mem mem, theirs;
	double end = now() + 3, start;
	struct vfab_peer p;
	struct vfab_ep *ep;
	uint32_t i;

	if (rank == 4)
		return scribble(end);
	for (i = 0; now() < end; i++) {
		start = now();
		if (vfab_open(&ep, domain, rank))
			continue;
		CHECK(now() - start < 1 + bound);
		for (; now() < end && vfab_ring(ep, rank, i % 64) != -ENODEV; i++) {
			start = now();
			mem.addr = NULL;
			vfab_window_alloc(ep, 100000, i % 9, VFAB_ACCESS_WRITE, &mem);
			vfab_ring(ep, i % 5, i % 64);
			vfab_peer(ep, i % 5, &p);
			if (!vfab_lookup(ep, i % 5, i % 9 + 1, VFAB_SECOND / 500, &handle) &&
			    !vfab_import(ep, handle, VFAB_ACCESS_WRITE, VFAB_LOSS_ABSORB,
					 &theirs)) {
				vfab_put(ep, &theirs, 0, &i, 4);
				vfab_get(ep, &theirs, theirs.size - 1, &p, 1);
				vfab_release(ep, &theirs);
			}
			count = vfab_count(ep, 1);
			loss = vfab_loss(ep);
			vfab_wait(ep, 1, &count, &loss, VFAB_SECOND / 200);
			if (mem.addr)
				vfab_window_free(ep, &mem);
			CHECK(now() - start < 5 + bound);
		}
		vfab_close(ep);
	}
}

const struct test memfd_tests[] = {
	{ "memfd_refusals", 1, refusals, 0 },
	{ "memfd_wrong_files", 1, wrong_files, 0 },
	{ "memfd_taken", 2, taken, 0 },
	{ "memfd_death", 2, death, 1 },
	{ "memfd_woken", 2, woken, 0 },
	{ "memfd_forked", 2, forked, 1 },
	{ "memfd_forked_close", 1, forked_close, 0 },
	{ "memfd_closed_files", 2, closed_files, 0 },
	{ "memfd_stopped", 2, stopped, 0 },
	{ "memfd_storm", 1, storm, 0 },
	{ "memfd_freed", 2, freed, 0 },
	{ "memfd_damaged", 1, damaged, 0 },
	{ "memfd_limits", 1, limits, 0 },
	{ "memfd_wake_ups", 2, wake_ups, 0 },
	{ "memfd_many", MANY, many, 0 },
	{ "memfd_hostile", 5, hostile, 0 },
	{ 0 }
};
