// SPDX-License-Identifier: GPL-2.0
/*
 * race: what takes access away against what uses it, and rings against sleeps, for
 * as long or as often as one likes. A second and 10^5 doorbells unless told
 * otherwise; "make soak" has 10^7.
 *
 *	build/selftests/race
 *	VFABRIC_RACE_SECONDS=60 VFABRIC_RACE_DOORBELLS=10000000 build/selftests/race
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

static unsigned int setting(const char *name, unsigned int otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

static uint64_t the_end(void)
{
	return vft_now() + setting("VFABRIC_RACE_SECONDS", 1) * VFT_SEC;
}

/* --- mmap() against all that revokes --------------------------------------------------- */

#define SIZE	(VFT_HUGE + 4 * VFT_PAGE)
#define MAPPERS	4

enum { CHANGING, LIVE, GONE };

static struct {
	_Atomic uint64_t epoch;		/* its last two bits: the phase */
	_Atomic int stop;
	_Atomic unsigned int mapped, stored, late;
	struct vft_domain dom;
	int owner, peer;
	uint64_t handle, cookie;
} r;

static void enter(int phase)
{
	atomic_store(&r.epoch, ((atomic_load(&r.epoch) >> 2) + 1) << 2 | phase);
}

static int by_free(void)
{
	return vft_free(r.owner, r.handle);
}

static int by_release(void)
{
	return vft_release(r.peer, r.cookie);
}

static int by_link(void)
{
	return vft_link(&r.dom, 0, -1, false);
}

static int by_table(void)
{
	return vft_route_drop(&r.dom, -1, 0);
}

static int by_move(void)
{
	return vft_partition_add(&r.dom, 1, 0, 1);
}

static int by_eviction(void)
{
	return vft_evict(&r.dom, 0);
}

static int by_own_end(void)
{
	return vft_detach(r.peer);
}

static int by_delete(void)
{
	return vft_domain_delete(&r.dom, true);
}

/* Two endpoints, one with a window that the other has imported */
static int make(void)
{
	int ret = vft_domain_create(&r.dom, 4, NULL) ?:
		  vft_partition_create(&r.dom, 1, NULL, 3, 1);

	r.owner = vft_join(&r.dom, 0);
	r.peer = vft_join(&r.dom, 1);
	return ret ?: vft_alloc(r.owner, SIZE, 0, VFT_RW, &r.handle) ?:
	       vft_import(r.peer, r.handle, VFT_RW, 0, &r.cookie);
}

static void unmake(void)
{
	close(r.owner);
	close(r.peer);
	if (r.dom.exists)
		vft_domain_delete(&r.dom, true);
}

static void *map_and_store(void *arg)
{
	unsigned int seed = (uintptr_t)arg;

	while (!atomic_load(&r.stop)) {
		uint64_t e = atomic_load(&r.epoch);
		size_t at = vft_random(&seed) % (SIZE / VFT_PAGE) * VFT_PAGE;
		char *p = vft_map(r.peer, r.cookie, SIZE, PROT_READ | PROT_WRITE);

		if (!p) {
			sched_yield();
			continue;
		}
		r.mapped++;
		if (!vft_store(p + at, 1)) {
			r.stored++;
			r.late += (e & 3) == GONE && e == atomic_load(&r.epoch);
		}
		munmap(p, SIZE);
	}
	return NULL;
}

FIXTURE(revoke) {
	int unused;
};

FIXTURE_VARIANT(revoke) {
	int (*revoke)(void);
};

#define REVOKE(how) FIXTURE_VARIANT_ADD(revoke, how)
REVOKE(by_free) { .revoke = by_free };
REVOKE(by_release) { .revoke = by_release };
REVOKE(by_link) { .revoke = by_link };
REVOKE(by_table) { .revoke = by_table };
REVOKE(by_move) { .revoke = by_move };
REVOKE(by_eviction) { .revoke = by_eviction };
REVOKE(by_own_end) { .revoke = by_own_end };
REVOKE(by_delete) { .revoke = by_delete };

FIXTURE_SETUP(revoke)
{
}

FIXTURE_TEARDOWN(revoke)
{
}

/* When the call returns, no mapping lets a store through, however new it is. */
TEST_F_TIMEOUT(revoke, mappers, 3600)
{
	pthread_t thread[MAPPERS];
	uint64_t end = the_end();
	unsigned int seed = 1, rounds = 0;
	uintptr_t i;

	ASSERT_EQ(0, make());
	for (i = 0; i < MAPPERS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, map_and_store, (void *)i));
	while (vft_now() < end || rounds < 10) {
		enter(LIVE);
		vft_sleep_ms(vft_random(&seed) % 4);
		enter(CHANGING);
		ASSERT_EQ(0, variant->revoke());
		enter(GONE);
		vft_sleep_ms(vft_random(&seed) % 4);
		enter(CHANGING);
		unmake();
		ASSERT_EQ(0, make());
		rounds++;
	}
	atomic_store(&r.stop, 1);
	for (i = 0; i < MAPPERS; i++)
		pthread_join(thread[i], NULL);
	unmake();
	EXPECT_EQ(0, r.late);
	EXPECT_LT(rounds / 2, r.stored);
	printf("# %u rounds, %u mappings, %u stores\n", rounds, r.mapped, r.stored);
}

FIXTURE(race) {
	int unused;
};

FIXTURE_SETUP(race)
{
}

FIXTURE_TEARDOWN(race)
{
}

/* --- flaps against page faults ----------------------------------------------------------- */

#define TOUCHERS 4

struct flapping {
	_Atomic int stop;
	_Atomic int signals, wrong;
	_Atomic uint64_t stores[TOUCHERS];
};

static void touch_often(struct flapping *f, char *p, unsigned int me)
{
	volatile char *mine = p + me * VFT_PAGE;
	uint64_t n = 0, got = 0;

	while (!f->stop) {
		if (vft_store(mine, n + 1) || vft_load(mine, &got))
			f->signals++;
		else if (got != n + 1)
			f->wrong++;
		f->stores[me] = ++n;
	}
	_exit(0);
}

/*
 * Outages that are ridden out: each store is there at the next load, although the
 * page was taken away in between, and nobody gets a signal.
 */
TEST_F_TIMEOUT(race, flaps_against_page_faults, 3600)
{
	struct vft_options opt = { .retry_ms = 60000 };
	struct flapping *f = vft_shared(sizeof(*f));
	unsigned int seed = 5, flaps = 0, i;
	uint64_t handle, end, *own;
	struct vft_domain dom;
	pid_t pid[TOUCHERS];
	int owner, peer;
	char *p;

	ASSERT_EQ(0, vft_domain_create(&dom, 4, &opt));
	owner = vft_join(&dom, 0);
	peer = vft_join(&dom, 1);
	ASSERT_EQ(0, vft_alloc(owner, VFT_HUGE, 0, VFT_RW, &handle));
	own = vft_import_map(owner, handle, VFT_HUGE, VFT_RW, 0);
	p = vft_import_map(peer, handle, VFT_HUGE, VFT_RW, 0);
	ASSERT_NE(NULL, own);
	ASSERT_NE(NULL, p);
	for (i = 0; i < TOUCHERS; i++) {
		pid[i] = vft_fork();
		if (!pid[i])
			touch_often(f, p, i);
	}
	for (end = the_end(); vft_now() < end || flaps < 10; flaps++) {
		ASSERT_EQ(0, vft_link(&dom, vft_random(&seed) % 2, -1, false));
		vft_sleep_ms(vft_random(&seed) % 3);
		ASSERT_EQ(0, vft_link(&dom, 0, -1, true));
		ASSERT_EQ(0, vft_link(&dom, 1, -1, true));
		vft_sleep_ms(vft_random(&seed) % 3);
	}
	f->stop = 1;
	for (i = 0; i < TOUCHERS; i++) {
		EXPECT_EQ(0, vft_wait_pid(pid[i], 10000));
		EXPECT_LT(flaps / 4, f->stores[i]);
		EXPECT_EQ(f->stores[i], own[i * VFT_PAGE / sizeof(*own)]);
	}
	EXPECT_EQ(0, f->signals);
	EXPECT_EQ(0, f->wrong);
	close(owner);
	close(peer);
	EXPECT_EQ(0, vft_domain_end(&dom));
	printf("# %u flaps\n", flaps);
}

/* --- doorbells ------------------------------------------------------------------------------ */

#define RINGERS	2
#define BURST	25		/* doorbells, in the mean */

struct ringing {
	_Atomic uint64_t seen;		/* by who waits */
	_Atomic uint64_t calls[RINGERS];
	uint64_t waits;
	long sleeps;
};

/*
 * Bursts that differ; then nothing until who waits has seen all of it: a wake-up
 * that is lost is not made good by the next doorbell. A burst begins when he is in
 * the kernel, if he comes there within a millisecond.
 */
static void ring_in_bursts(struct ringing *b, int fd, unsigned int me, uint64_t number)
{
	unsigned int seed = me + 3, i;
	struct vft_bells far;

	if (vft_bells(&far, fd, 0))
		_exit(1);
	while (number) {
		unsigned int burst = 1 + vft_random(&seed) % (2 * BURST - 1);
		uint64_t ticket = 0, end;

		burst = burst < number ? burst : number;
		end = vft_now() + VFT_SEC / 1000;
		while (!vft_armed(&far, 0) && vft_now() < end)
			sched_yield();
		for (i = 0; i < burst; i++) {
			ticket = atomic_fetch_add(vft_count(&far, 0), 1) + 1;
			atomic_thread_fence(memory_order_seq_cst);
			if (!vft_armed(&far, 0))
				continue;
			b->calls[me]++;
			if (vft_ring(fd, 0, 0))
				_exit(2);
		}
		number -= burst;
		end = vft_now() + 10 * VFT_SEC;
		while (b->seen < ticket && vft_now() < end)
			sched_yield();
		if (b->seen < ticket)
			_exit(3);
	}
	_exit(0);
}

static void wait_for_all(struct ringing *b, int fd, uint64_t number)
{
	uint64_t count = 0, loss, was;
	struct rusage usage;
	struct vft_bells own;
	const struct vfab_view *view = vft_view(fd);
	unsigned int seed = 17;

	if (!view || vft_bells(&own, fd, 0))
		_exit(1);
	loss = view->loss;
	while (count < number) {
		unsigned int spins = vft_random(&seed) % 20;

		was = count;
		while (spins-- && count == was)
			count = *vft_count(&own, 0);
		if (count == was) {
			b->waits++;
			if (vft_wait(fd, 0, &count, &loss, vft_now() + 20 * VFT_SEC, NULL))
				_exit(2);
		}
		b->seen = count;
	}
	getrusage(RUSAGE_SELF, &usage);
	b->sleeps = usage.ru_nvcsw;
	_exit(0);
}

TEST_F_TIMEOUT(race, no_wake_up_is_lost, 3600)
{
	const unsigned int number = setting("VFABRIC_RACE_DOORBELLS", 100000);
	struct ringing *b = vft_shared(sizeof(*b));
	uint64_t rings = 0, start = vft_now();
	struct vft_domain dom;
	pid_t waiter, pid[RINGERS];
	int fd[1 + RINGERS];
	unsigned int i;

	ASSERT_EQ(0, vft_domain_create(&dom, 4, NULL));
	for (i = 0; i <= RINGERS; i++) {
		fd[i] = vft_join(&dom, i);
		ASSERT_LE(0, fd[i]);
	}
	waiter = vft_fork();
	if (!waiter)
		wait_for_all(b, fd[0], number / RINGERS * RINGERS);
	for (i = 0; i < RINGERS; i++) {
		pid[i] = vft_fork();
		if (!pid[i])
			ring_in_bursts(b, fd[1 + i], i, number / RINGERS);
	}
	for (i = 0; i < RINGERS; i++)
		EXPECT_EQ(0, vft_wait_pid(pid[i], 3600 * 1000));
	EXPECT_EQ(0, vft_wait_pid(waiter, 10000));
	EXPECT_EQ(number / RINGERS * RINGERS, b->seen);
	/* each one that entered the kernel has been counted, and most of them slept */
	EXPECT_EQ(b->waits, vft_counter(&dom, 0, -1, -1, VFAB_COUNTER_WAIT_CALLS));
	for (i = 0; i < RINGERS; i++) {
		EXPECT_EQ(b->calls[i],
			  vft_counter(&dom, 1 + i, -1, -1, VFAB_COUNTER_RING_CALLS));
		rings += b->calls[i];
	}
	EXPECT_LE(number / 100, b->waits);
	EXPECT_LE(number / 100, b->sleeps);
	printf("# %u doorbells, %llu waits, %ld sleeps, %llu rings in %llu s\n", number,
	       (unsigned long long)b->waits, b->sleeps, (unsigned long long)rings,
	       (unsigned long long)((vft_now() - start) / VFT_SEC));
	for (i = 0; i <= RINGERS; i++)
		close(fd[i]);
	EXPECT_EQ(0, vft_domain_end(&dom));
}

TEST_HARNESS_MAIN
