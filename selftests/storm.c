// SPDX-License-Identifier: GPL-2.0
/*
 * storm: processes with threads do everything at once to a few domains, at
 * random, also to ids, handles, cookies and device numbers that they guess, and are
 * killed at random. Calls may fail as they like. What must hold
 * all the time: a page of a window is zero or holds that window's own handle.
 * What must hold at the end: nothing is left.
 *
 *	build/selftests/storm
 *	VFABRIC_SEED=17 VFABRIC_STORM_SECONDS=60 build/selftests/storm
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

#define DOMAINS		3
#define WORLD		8
#define WORKERS		4
#define THREADS		2
#define FILES		4
#define MAPPINGS	8

/* Shared by all */
static struct board {
	_Atomic uint32_t id[DOMAINS];	/* + 1; 0 while there is none */
	_Atomic uint64_t calls, mixed, wrong_value;
	_Atomic uint64_t handle;	/* a late one */
	_Atomic uint64_t guessed;	/* handles that were some window's */
	_Atomic int stop;
} *board;

/* One process's */
struct mapping {
	pthread_mutex_t lock;
	char *p;
	size_t size;
	uint64_t handle;
	bool split;
};

static struct worker {
	_Atomic int fd[FILES];
	_Atomic uint64_t handle[FILES][4];
	struct mapping map[MAPPINGS];
} *w;

static void domain_of(unsigned int *seed, struct vft_domain *dom, unsigned int *slot)
{
	unsigned int i = vft_random(seed) % DOMAINS;
	uint32_t id = atomic_load(&board->id[i]);

	memset(dom, 0, sizeof(*dom));
	dom->id = id ? id - 1 : 0x7ffffffe;
	if (slot)
		*slot = i;
}

static int any_file(unsigned int *seed, unsigned int *index)
{
	unsigned int i = vft_random(seed) % FILES;

	if (index)
		*index = i;
	return atomic_load(&w->fd[i]);
}

/* Whatever the fabric did meanwhile: no other window's bytes */
static void check(const struct mapping *m, size_t offset)
{
	uint64_t value;

	if (vft_load(m->p + offset, &value))
		return;
	if (value != 0 && value != m->handle) {
		board->mixed++;
		atomic_store(&board->wrong_value, value);
	}
}

static void do_open(unsigned int *seed)
{
	struct vft_domain dom;
	unsigned int i;
	int fd, old;

	domain_of(seed, &dom, NULL);
	fd = vft_open(&dom, vft_random(seed) % 4 == 0);
	if (fd < 0)
		return;
	if (vft_random(seed) % 8)
		vft_attach(fd, vft_random(seed) % 2 ? VFAB_RANK_ANY : vft_random(seed) % WORLD);
	i = vft_random(seed) % FILES;
	old = atomic_exchange(&w->fd[i], fd);
	if (old >= 0)
		close(old);
}

static void do_alloc(unsigned int *seed)
{
	size_t size = (1 + vft_random(seed) % (vft_random(seed) % 4 ? 8 : 700)) * VFT_PAGE, k;
	unsigned int i;
	uint32_t access = vft_random(seed) % 4 ? VFT_RW : VFT_R;
	int fd = any_file(seed, &i);
	uint64_t handle;
	char *p;

	if (vft_alloc(fd, size, vft_random(seed) % 6, access, &handle))
		return;
	/* stamp it before anybody knows of it who would not wait */
	p = vft_import_map(fd, handle, size, VFT_RW, 0);
	if (p) {
		for (k = 0; k < size; k += VFT_PAGE)
			vft_store(p + k, handle);
		munmap(p, size);
	}
	atomic_store(&w->handle[i][vft_random(seed) % 4], handle);
	atomic_store(&board->handle, handle);
}

static void do_import(unsigned int *seed)
{
	struct mapping *m = &w->map[vft_random(seed) % MAPPINGS];
	int fd = any_file(seed, NULL);
	struct vfab_lookup look = { };
	struct vfab_import im = { };

	look.rank = vft_random(seed) % WORLD;
	look.tag = 1 + vft_random(seed) % 5;
	look.deadline = vft_random(seed) % 4 ? 0 : vft_now() + VFT_MS;
	if (ioctl(fd, VFAB_IOC_LOOKUP, &look))
		return;
	im.handle = look.handle;
	im.access = VFT_R;
	if (ioctl(fd, VFAB_IOC_IMPORT, &im) || pthread_mutex_trylock(&m->lock))
		return;
	if (m->p)
		munmap(m->p, m->size);
	m->size = im.size;
	m->handle = look.handle;
	m->split = false;
	m->p = vft_map(fd, im.cookie, im.size, PROT_READ);
	if (m->p)
		check(m, 0);
	if (vft_random(seed) % 3 == 0)
		vft_release(fd, im.cookie);
	pthread_mutex_unlock(&m->lock);
}

static void do_touch(unsigned int *seed)
{
	struct mapping *m = &w->map[vft_random(seed) % MAPPINGS];
	size_t pages, i;
	void *to;

	if (pthread_mutex_trylock(&m->lock))
		return;
	if (m->p) {
		pages = m->size / VFT_PAGE;
		for (i = 0; i < 16; i++)
			check(m, vft_random(seed) % pages * VFT_PAGE);
		switch (vft_random(seed) % 8) {
		case 0:
			munmap(m->p, m->size);
			m->p = NULL;
			break;
		case 1:
			/* mremap() takes no mapping in pieces */
			if (m->split)
				break;
			to = mmap(NULL, m->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			to = mremap(m->p, m->size, m->size, MREMAP_MAYMOVE | MREMAP_FIXED, to);
			m->p = to == MAP_FAILED ? NULL : to;
			break;
		case 2:
			/*
			 * Put something else there rather than leave a hole: the other
			 * thread would map a window into it, and both would use it.
			 */
			m->split = true;
			mmap(m->p + vft_random(seed) % pages * VFT_PAGE, VFT_PAGE, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			break;
		}
	}
	pthread_mutex_unlock(&m->lock);
}

/* A child touches all that it inherits; the file outlives it or not. */
static void do_fork(unsigned int *seed)
{
	pid_t pid = fork();
	size_t i;

	if (pid < 0)
		return;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (i = 0; i < MAPPINGS; i++)
			if (w->map[i].p)
				vft_touch(w->map[i].p);
		vft_alloc(w->fd[0], VFT_PAGE, 0, VFT_R, NULL);
		_exit(0);
	}
	if (vft_random(seed) % 2)
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void do_bell(unsigned int *seed)
{
	int fd = any_file(seed, NULL), efd;
	uint32_t vector = vft_random(seed) % VFAB_VECTORS;
	uint64_t count = 0, loss = 0, cookie;
	char *p;

	switch (vft_random(seed) % 4) {
	case 0:
		if (vft_bell(fd, vft_random(seed) % WORLD, &cookie))
			break;
		p = vft_map(fd, cookie, VFT_PAGE, PROT_READ | PROT_WRITE);
		if (p) {
			vft_store(p + vector * VFAB_BELL_STRIDE, vft_random(seed));
			munmap(p, VFT_PAGE);
		}
		if (vft_random(seed) % 2)
			vft_release(fd, cookie);
		break;
	case 1:
		vft_ring(fd, vft_random(seed) % WORLD, vector);
		break;
	case 2:
		vft_wait(fd, vector, &count, &loss, vft_now() + VFT_MS, NULL);
		break;
	case 3:
		efd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		vft_eventfd(fd, vector, vft_random(seed) % 3 ? efd : -1);
		close(efd);
		break;
	}
}

static void do_watch(unsigned int *seed)
{
	int fd = any_file(seed, NULL);
	const struct vfab_view *view;
	struct vfab_event ev[4];
	struct vfab_peer peer;

	if (fd < 0)
		return;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (read(fd, ev, sizeof(ev)) == sizeof(ev))
		;
	view = vft_view(fd);
	if (view) {
		vft_peer(view, vft_random(seed) % WORLD, &peer);
		/* vft_view() maps what INFO says; unmap a page at least */
		munmap((void *)view, VFT_PAGE);
	}
}

static void do_topology(unsigned int *seed)
{
	uint32_t rank = vft_random(seed) % WORLD, sw = vft_random(seed) % 2;
	struct vft_domain dom;

	domain_of(seed, &dom, NULL);
	switch (vft_random(seed) % 8) {
	case 0:
		vft_link(&dom, rank, -1, false);
		break;
	case 1:
	case 2:
		vft_link(&dom, rank, -1, true);
		break;
	case 3:
		vft_switch(&dom, sw, vft_random(seed) % 3);
		break;
	case 4:
		vft_route_drop(&dom, sw, rank);
		break;
	case 5:
		vft_route_via(&dom, -1, rank, rank);
		break;
	case 6:
		vft_partition_create(&dom, 1, NULL, rank, 1);
		vft_partition_add(&dom, vft_random(seed) % 2, rank, 1);
		break;
	case 7:
		vft_domain_set(&dom, VFAB_A_RETRY_TIMEOUT, vft_random(seed) % 3 * 5);
		vft_domain_set(&dom, VFAB_A_PEER_DEATH, vft_random(seed) % 2);
		break;
	}
}

static void do_domain(unsigned int *seed)
{
	struct vft_domain dom;
	struct vft_options opt = { .mem_limit = 64 << 20 };
	unsigned int slot;
	uint32_t old;

	domain_of(seed, &dom, &slot);
	switch (vft_random(seed) % 6) {
	case 0:
		vft_evict(&dom, vft_random(seed) % WORLD);
		return;
	case 1:
	case 2:
		vft_domain_count();
		return;
	}
	/* one deletes it, and that one makes a new one */
	old = atomic_load(&board->id[slot]);
	if (old && vft_random(seed) % 4 == 0 &&
	    atomic_compare_exchange_strong(&board->id[slot], &old, 0)) {
		dom.id = old - 1;
		vft_domain_delete(&dom, true);
	}
	old = 0;
	if (!atomic_load(&board->id[slot]) && !vft_domain_create(&dom, WORLD, &opt)) {
		if (!atomic_compare_exchange_strong(&board->id[slot], &old, dom.id + 1))
			vft_domain_delete(&dom, true);
	}
}

/* Near one of this file, or the latest of all: they count up */
static uint64_t guess_handle(unsigned int *seed, unsigned int file)
{
	uint64_t near = vft_random(seed) % 2 ? atomic_load(&board->handle) :
			atomic_load(&w->handle[file][vft_random(seed) % 4]);
	uint32_t count = (near >> 32) + 1 - vft_random(seed) % 3;
	uint32_t index = (uint32_t)near + 1 - vft_random(seed) % 3;

	return (uint64_t)count << 32 | index;
}

static uint64_t guess_cookie(unsigned int *seed)
{
	return (uint64_t)(vft_random(seed) % (WORLD + 1)) << 45 |
	       (uint64_t)(vft_random(seed) % 64) << 21;
}

/* The device number of somebody's file, or of none */
static int guess_device(unsigned int *seed)
{
	struct vft_domain dom;
	char path[64];
	struct stat st;
	int fd = -1;

	domain_of(seed, &dom, NULL);
	if (stat(vft_path(&dom, 0), &st))
		return -1;
	snprintf(path, sizeof(path), "/dev/storm.%d.%u", (int)gettid(), vft_random(seed));
	if (!mknod(path, S_IFCHR | 0600,
		   makedev(major(st.st_rdev), minor(st.st_rdev) + 8 - vft_random(seed) % 16)))
		fd = open(path, O_RDWR | O_CLOEXEC);
	unlink(path);
	return fd;
}

static void do_guess(unsigned int *seed)
{
	struct mapping m = { .size = VFT_PAGE };
	struct vft_domain dom = { };
	unsigned int file;
	uint64_t cookie;
	int fd = any_file(seed, &file);

	m.handle = guess_handle(seed, file);
	if (vft_random(seed) % 4 == 0)
		fd = vft_random(seed) % 48;

	switch (vft_random(seed) % 6) {
	case 0:
		if (vft_import(fd, m.handle, VFT_R, 0, &cookie))
			break;
		board->guessed++;
		m.p = vft_map(fd, cookie, m.size, PROT_READ);
		if (m.p)
			check(&m, 0);
		break;
	case 1:
		m.p = vft_map(fd, guess_cookie(seed), m.size, PROT_READ);
		if (m.p)
			vft_touch(m.p);
		break;
	case 2:
		vft_release(fd, guess_cookie(seed));
		break;
	case 3:
		vft_free(fd, m.handle);
		break;
	case 4:
		fd = guess_device(seed);
		if (fd < 0)
			break;
		vft_attach(fd, VFAB_RANK_ANY);
		close(fd);
		break;
	case 5:
		domain_of(seed, &dom, NULL);
		dom.id += 4 - vft_random(seed) % 8;
		if (vft_random(seed) % 2)
			vft_evict(&dom, vft_random(seed) % WORLD);
		else
			vft_domain_delete(&dom, false);
		break;
	}
	if (m.p)
		munmap(m.p, m.size);
}

static void *work(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	while (!atomic_load(&board->stop)) {
		unsigned int what = vft_random(&seed) % 100, i;
		int fd;

		if (vft_random(&seed) % 8 == 0) {
			do_guess(&seed);
		} else if (what < 14) {
			do_open(&seed);
		} else if (what < 17) {
			fd = atomic_exchange(&w->fd[vft_random(&seed) % FILES], -1);
			if (fd >= 0)
				close(fd);
		} else if (what < 19) {
			vft_detach(any_file(&seed, NULL));
		} else if (what < 34) {
			do_alloc(&seed);
		} else if (what < 40) {
			fd = any_file(&seed, &i);
			vft_free(fd, atomic_load(&w->handle[i][vft_random(&seed) % 4]));
		} else if (what < 58) {
			do_import(&seed);
		} else if (what < 70) {
			do_touch(&seed);
		} else if (what < 72) {
			do_fork(&seed);
		} else if (what < 82) {
			do_bell(&seed);
		} else if (what < 86) {
			do_watch(&seed);
		} else if (what < 96) {
			do_topology(&seed);
		} else {
			do_domain(&seed);
		}
		board->calls++;
	}
	return NULL;
}

static pid_t start_worker(unsigned int seed)
{
	pthread_t t[THREADS];
	pid_t pid = vft_fork();
	size_t i;

	if (pid)
		return pid;
	w = calloc(1, sizeof(*w));
	for (i = 0; i < FILES; i++)
		w->fd[i] = -1;
	for (i = 0; i < MAPPINGS; i++)
		pthread_mutex_init(&w->map[i].lock, NULL);
	for (i = 0; i < THREADS; i++) {
		uintptr_t own = seed * 7919 + i * 104729 + 1;

		pthread_create(&t[i], NULL, work, (void *)own);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	_exit(0);
}

static unsigned int setting(const char *name, unsigned int otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

FIXTURE(storm) {
	unsigned int seed, seconds;
};

FIXTURE_SETUP(storm)
{
	self->seed = setting("VFABRIC_SEED", vft_now() / VFT_MS);
	self->seconds = setting("VFABRIC_STORM_SECONDS", 15);
	printf("# seed: VFABRIC_SEED=%u VFABRIC_STORM_SECONDS=%u\n", self->seed, self->seconds);
	fflush(stdout);
}

FIXTURE_TEARDOWN(storm)
{
}

/* A generous limit: the storm itself is as long as it is told */
TEST_F_TIMEOUT(storm, everything_at_once, 600)
{
	unsigned int seed = self->seed, kills = 0, left = 0, i;
	uint64_t end = vft_now() + self->seconds * VFT_SEC;
	long refs = vft_read_long("/sys/module/vfabric/refcnt");
	unsigned int before = vft_domain_count();
	pid_t pid[WORKERS];

	vft_quiet = true;
	board = vft_shared(sizeof(*board));
	for (i = 0; i < WORKERS; i++)
		pid[i] = start_worker(vft_random(&seed));
	while (vft_now() < end) {
		vft_sleep_ms(30 + vft_random(&seed) % 300);
		i = vft_random(&seed) % WORKERS;
		vft_kill(pid[i]);
		pid[i] = start_worker(vft_random(&seed));
		kills++;
	}
	/* half of them end by themselves, half are killed */
	atomic_store(&board->stop, 1);
	vft_sleep_ms(200);
	for (i = 0; i < WORKERS; i += 2)
		vft_kill(pid[i]);
	for (i = 1; i < WORKERS; i += 2)
		EXPECT_EQ(0, vft_wait_pid(pid[i], 10000));
	EXPECT_EQ(0, board->mixed) {
		TH_LOG("a window showed %llx", (unsigned long long)board->wrong_value);
	}
	EXPECT_LT(100, board->calls);
	/* all domains that anybody made, also those lost by a kill in between */
	{
		char prefix[40];

		snprintf(prefix, sizeof(prefix), "storm.");
		left = vft_domain_sweep(prefix);
	}
	EXPECT_EQ(before, vft_domain_count());
	EXPECT_EQ(true, vft_until(5000, vft_read_long("/sys/module/vfabric/refcnt") == refs)) {
		TH_LOG("%ld references before, %ld after", refs,
		       vft_read_long("/sys/module/vfabric/refcnt"));
	}
	printf("# storm: %llu calls, %llu handles guessed, %u kills, %u domains at the end\n",
	       (unsigned long long)board->calls, (unsigned long long)board->guessed, kills, left);
}

/*
 * Without anybody that deletes domains: when all processes are gone, what they
 * had must have gone by itself.
 */
static void (* const quiet_ops[])(unsigned int *seed) = {
	do_open, do_alloc, do_import, do_touch, do_bell, do_topology, do_fork, do_import,
};

TEST_F_TIMEOUT(storm, nothing_is_left, 600)
{
	unsigned int seed = self->seed + 1, i, round;
	struct vft_options opt = { .mem_limit = 64 << 20 };
	struct vft_domain dom[DOMAINS];
	pid_t pid[WORKERS];

	board = vft_shared(sizeof(*board));
	for (i = 0; i < DOMAINS; i++) {
		ASSERT_EQ(0, vft_domain_create(&dom[i], WORLD, &opt));
		ASSERT_EQ(0, vft_partition_create(&dom[i], 1, NULL, 6, 2));
		atomic_store(&board->id[i], dom[i].id + 1);
	}
	for (round = 0; round < 6; round++) {
		for (i = 0; i < WORKERS; i++) {
			pid[i] = vft_fork();
			if (pid[i])
				continue;
			w = calloc(1, sizeof(*w));
			seed += i * 1000;
			for (i = 0; i < FILES; i++)
				w->fd[i] = -1;
			for (;;)
				quiet_ops[vft_random(&seed) % ARRAY_SIZE(quiet_ops)](&seed);
		}
		vft_sleep_ms(300 + vft_random(&seed) % 200);
		for (i = 0; i < WORKERS; i++)
			vft_kill(pid[i]);
		for (i = 0; i < DOMAINS; i++) {
			uint64_t left;

			vft_until(5000, !vft_domain_get(&dom[i], VFAB_A_ATTACHED));
			EXPECT_EQ(0, vft_domain_get(&dom[i], VFAB_A_ATTACHED));
			vft_until(2000, !(left = vft_domain_get(&dom[i], VFAB_A_MEM_USED)));
			EXPECT_EQ(0, left);
		}
	}
	EXPECT_EQ(0, board->mixed);
	for (i = 0; i < DOMAINS; i++)
		EXPECT_EQ(0, vft_domain_delete(&dom[i], false));
}

TEST_HARNESS_MAIN
