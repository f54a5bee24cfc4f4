// SPDX-License-Identifier: GPL-2.0
/*
 * doorbell: a ring is a count that a peer raises and, only where somebody
 * sleeps, a call. No wake-up is lost, every wait ends, and whatever anybody
 * writes to the two pages harms nobody but himself.
 *
 *	build/selftests/doorbell
 *	build/selftests/doorbell -r bell.ping_pong
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/time.h>
#include "kselftest_harness.h"
#include "vft.h"

FIXTURE(bell) {
	struct vft_domain dom;
	int fd, peer;
	const struct vfab_view *view;	/* of fd */
	struct vft_bells own, far;	/* rank 0's, seen by itself and by rank 1 */
};

/* What FIXTURE_DATA(bell) is: the helpers below take it */
#define bell_data _test_data_bell

FIXTURE_SETUP(bell)
{
	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, NULL));
	self->fd = vft_join(&self->dom, 0);
	self->peer = vft_join(&self->dom, 1);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->peer);
	self->view = vft_view(self->fd);
	ASSERT_NE(NULL, self->view);
	ASSERT_EQ(0, vft_bells(&self->own, self->fd, 0));
	ASSERT_EQ(0, vft_bells(&self->far, self->peer, 0));
}

FIXTURE_TEARDOWN_PARENT(bell)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

static uint64_t loss_now(const struct vfab_view *view)
{
	return __atomic_load_n(&view->loss, __ATOMIC_ACQUIRE);
}

/* A child in WAIT; its exit status is the errno, or 100 + reason */
static pid_t waiter(struct bell_data *self, uint32_t vector)
{
	uint64_t count = atomic_load(vft_count(&self->own, vector)), loss = loss_now(self->view);
	pid_t pid = vft_fork();
	uint32_t reason = 0;
	int ret;

	if (pid) {
		/* until it sleeps: it has armed the vector then */
		vft_until(2000, vft_armed(&self->own, vector) != 0);
		vft_sleep_ms(20);
		return pid;
	}
	ret = vft_wait(self->fd, vector, &count, &loss, vft_now() + 20 * VFT_SEC, &reason);
	_exit(ret ? -ret : 100 + (int)reason);
}

#define BY_COUNT	((100 + VFAB_WAIT_COUNT) << 8)
#define BY_LOSS		((100 + VFAB_WAIT_LOSS) << 8)

/* --- counting, arming, waking ---------------------------------------------- */

TEST_F(bell, counts_are_shared)
{
	uint32_t v;

	for (v = 0; v < VFAB_VECTORS; v++) {
		EXPECT_EQ(0, *vft_count(&self->own, v));
		EXPECT_EQ(0, vft_armed(&self->own, v));
		/* nobody waits: this is no call at all */
		EXPECT_EQ(0, vft_ding(&self->far, v));
	}
	for (v = 0; v < VFAB_VECTORS; v++)
		EXPECT_EQ(1, *vft_count(&self->own, v));
}

TEST_F(bell, wait_that_is_satisfied_already)
{
	uint64_t count = 0, loss = loss_now(self->view), was = loss;
	uint32_t reason = 0;

	EXPECT_EQ(0, vft_ding(&self->far, 5));
	EXPECT_EQ(0, vft_wait(self->fd, 5, &count, &loss, VFAB_NO_DEADLINE, &reason));
	EXPECT_EQ(VFAB_WAIT_COUNT, reason);
	EXPECT_EQ(1, count);
	EXPECT_EQ(was, loss);
	/* different, not larger */
	count = 7;
	EXPECT_EQ(0, vft_wait(self->fd, 5, &count, &loss, VFAB_NO_DEADLINE, &reason));
	EXPECT_EQ(1, count);
	EXPECT_EQ(0, vft_armed(&self->own, 5));
}

TEST_F(bell, wait_arms_and_ring_wakes)
{
	uint64_t start;
	pid_t pid = waiter(self, 9);

	EXPECT_NE(0, vft_armed(&self->own, 9));
	EXPECT_NE(0, vft_armed(&self->far, 9));
	EXPECT_EQ(0, vft_armed(&self->own, 8));
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	start = vft_now();
	EXPECT_EQ(0, vft_ding(&self->far, 9));
	EXPECT_EQ(BY_COUNT, vft_wait_pid(pid, 5000));
	EXPECT_GT(start + 2 * VFT_SEC, vft_now());
	EXPECT_EQ(0, vft_armed(&self->own, 9));
}

/* A call without a count is no ring. */
TEST_F(bell, ring_without_count_ends_no_wait)
{
	pid_t pid = waiter(self, 9);

	EXPECT_EQ(0, vft_ring(self->peer, 0, 9));
	EXPECT_EQ(0, vft_ring(self->peer, 0, 10));
	/* the count of another vector neither */
	EXPECT_EQ(0, vft_ding(&self->far, 10));
	vft_sleep_ms(50);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	EXPECT_NE(0, vft_armed(&self->own, 9));
	EXPECT_EQ(0, vft_ding(&self->far, 9));
	EXPECT_EQ(BY_COUNT, vft_wait_pid(pid, 5000));
}

TEST_F(bell, all_waiters_wake)
{
	pid_t pid[4];
	int i;

	for (i = 0; i < 4; i++)
		pid[i] = waiter(self, 3);
	EXPECT_EQ(0, vft_ding(&self->far, 3));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(BY_COUNT, vft_wait_pid(pid[i], 5000));
	EXPECT_EQ(0, vft_armed(&self->own, 3));
	/* armed as long as one of them waits */
	pid[0] = waiter(self, 3);
	pid[1] = waiter(self, 3);
	EXPECT_EQ(SIGKILL, vft_kill(pid[0]));
	EXPECT_NE(0, vft_armed(&self->own, 3));
	EXPECT_EQ(0, vft_ding(&self->far, 3));
	EXPECT_EQ(BY_COUNT, vft_wait_pid(pid[1], 5000));
}

/* One's own doorbell, by oneself */
TEST_F(bell, own_ring)
{
	pid_t pid = waiter(self, 0);

	EXPECT_EQ(0, vft_ding(&self->own, 0));
	EXPECT_EQ(BY_COUNT, vft_wait_pid(pid, 5000));
}

/* --- no lost wake-up ---------------------------------------------------------- */

#define ROUNDS	20000

/* Spin a little, differently each time, then sleep: hits all the windows. */
static int await(int fd, const struct vft_bells *own, uint32_t vector, uint64_t seen,
		 uint64_t loss, unsigned int spins)
{
	while (spins--) {
		if (atomic_load_explicit(vft_count(own, vector), memory_order_acquire) != seen)
			return 0;
	}
	return vft_wait(fd, vector, &seen, &loss, vft_now() + 5 * VFT_SEC, NULL);
}

TEST_F_TIMEOUT(bell, ping_pong, 60)
{
	uint64_t loss = loss_now(self->view), start = vft_now();
	unsigned int seed = 11, i;
	pid_t pid = vft_fork();
	int ret = 0;

	if (!pid) {
		struct vft_bells own;

		seed = 22;
		if (vft_bells(&own, self->peer, 1))
			_exit(1);
		for (i = 0; i < ROUNDS; i++) {
			if (await(self->peer, &own, 0, i, loss, vft_random(&seed) % 300))
				_exit(2);
			if (vft_ding(&self->far, 0))
				_exit(3);
		}
		_exit(0);
	}
	{
		struct vft_bells there;

		ASSERT_EQ(0, vft_bells(&there, self->fd, 1));
		for (i = 0; i < ROUNDS; i++) {
			ret = vft_ding(&there, 0);
			if (!ret)
				ret = await(self->fd, &self->own, 0, i, loss,
					    vft_random(&seed) % 300);
			if (ret)
				break;
			if (vft_now() > start + 6 * VFT_SEC)
				break;
		}
	}
	EXPECT_EQ(0, ret) {
		TH_LOG("round %u of %u: %s", i, ROUNDS, strerror(-ret));
	}
	EXPECT_LT(500, i) {
		TH_LOG("only %u rounds", i);
	}
	/* the other one has done as many rounds, or will not */
	if (i < ROUNDS)
		kill(pid, SIGKILL);
	EXPECT_EQ(i < ROUNDS ? SIGKILL : 0, vft_wait_pid(pid, 6000));
}

struct ringer {
	_Atomic int *stop;
	struct vft_bells bells;
	unsigned int number;
	uint32_t vector;
	int ret;
};

static void *ring_often(void *arg)
{
	struct ringer *r = arg;
	unsigned int i;

	for (i = 0; i < r->number && !r->ret; i++) {
		r->ret = vft_ding(&r->bells, r->vector);
		if (i % 16 == 0)
			sched_yield();
	}
	return NULL;
}

TEST_F_TIMEOUT(bell, many_ringers_one_waiter, 60)
{
	enum { THREADS = 4, EACH = 4000 };
	uint64_t count = 0, loss = loss_now(self->view);
	struct ringer r[THREADS];
	pthread_t t[THREADS];
	int i, ret = 0;

	for (i = 0; i < THREADS; i++) {
		r[i] = (struct ringer){ .bells = self->far, .number = EACH, .vector = 1 };
		ASSERT_EQ(0, pthread_create(&t[i], NULL, ring_often, &r[i]));
	}
	while (count < THREADS * EACH) {
		ret = vft_wait(self->fd, 1, &count, &loss, vft_now() + 5 * VFT_SEC, NULL);
		if (ret)
			break;
	}
	EXPECT_EQ(0, ret) {
		TH_LOG("at %llu of %u: %s", (unsigned long long)count, THREADS * EACH,
		       strerror(-ret));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		EXPECT_EQ(0, r[i].ret);
	}
	EXPECT_EQ(THREADS * EACH, *vft_count(&self->own, 1));
}

/* --- ends of a wait -------------------------------------------------------------- */

TEST_F(bell, deadline)
{
	uint64_t count = 0, loss = loss_now(self->view), was = loss, start;
	uint32_t reason = 0;

	/* in the past: a poll */
	start = vft_now();
	EXPECT_EQ(-ETIMEDOUT, vft_wait(self->fd, 0, &count, &loss, 1, &reason));
	EXPECT_EQ(-ETIMEDOUT, vft_wait(self->fd, 0, &count, &loss, 0, &reason));
	EXPECT_EQ(-ETIMEDOUT, vft_wait(self->fd, 0, &count, &loss, start - 1, &reason));
	EXPECT_GT(start + VFT_SEC, vft_now());
	/* in the future: not before */
	start = vft_now();
	EXPECT_EQ(-ETIMEDOUT, vft_wait(self->fd, 0, &count, &loss, start + 150 * VFT_MS, NULL));
	EXPECT_LE(start + 150 * VFT_MS, vft_now());
	EXPECT_GT(start + 3 * VFT_SEC, vft_now());
	/* the values are reported */
	EXPECT_EQ(0, count);
	EXPECT_EQ(was, loss);
	EXPECT_EQ(0, vft_armed(&self->own, 0));
	/* as far away as there is, short of none: nothing overflows */
	EXPECT_EQ(0, vft_ding(&self->far, 0));
	EXPECT_EQ(0, vft_wait(self->fd, 0, &count, &loss, VFAB_NO_DEADLINE - 1, NULL));
	count = 0;
	EXPECT_EQ(0, vft_wait(self->fd, 0, &count, &loss, 1ULL << 63, NULL));
}

TEST_F(bell, far_deadline_does_not_end_early)
{
	const uint64_t deadlines[] = { VFAB_NO_DEADLINE, VFAB_NO_DEADLINE - 1, 1ULL << 63,
				       (1ULL << 63) - 1 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(deadlines); i++) {
		uint64_t count = *vft_count(&self->own, 0), loss = loss_now(self->view);
		pid_t pid = vft_fork();

		if (!pid)
			_exit(-vft_wait(self->fd, 0, &count, &loss, deadlines[i], NULL));
		vft_sleep_ms(60);
		EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
		EXPECT_EQ(0, vft_ding(&self->far, 0));
		EXPECT_EQ(0, vft_wait_pid(pid, 3000));
	}
}

static volatile sig_atomic_t signals;

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

/* errno of a wait that a signal meets every 20 ms, 99 if no signal came */
static int wait_with_signals(struct bell_data *self, int flags)
{
	struct sigaction sa = { .sa_handler = count_signal, .sa_flags = flags };
	struct itimerval timer = { { 0, 20000 }, { 0, 20000 } };
	uint64_t count = 0, loss = loss_now(self->view);
	int ret;

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	ret = vft_wait(self->fd, 0, &count, &loss, vft_now() + 10 * VFT_SEC, NULL);
	return signals ? -ret : 99;
}

TEST_F(bell, signal_without_sa_restart)
{
	pid_t pid = vft_fork();

	if (!pid)
		_exit(wait_with_signals(self, 0));
	EXPECT_EQ(EINTR << 8, vft_wait_pid(pid, 5000));
	EXPECT_EQ(0, vft_armed(&self->own, 0));
}

TEST_F(bell, signal_with_sa_restart)
{
	pid_t pid = vft_fork();

	if (!pid)
		_exit(wait_with_signals(self, SA_RESTART));
	vft_sleep_ms(200);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	EXPECT_EQ(0, vft_ding(&self->far, 0));
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
}

TEST_F(bell, killed_waiter_disarms)
{
	pid_t pid = waiter(self, 2);

	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_EQ(0, vft_armed(&self->own, 2));
}

TEST_F(bell, loss_ends_wait)
{
	uint64_t count = 0, loss = loss_now(self->view), was = loss;
	uint32_t reason = 0;
	pid_t pid = waiter(self, 0);

	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, false));
	EXPECT_EQ(BY_LOSS, vft_wait_pid(pid, 5000));
	/* checked first, and reported with the count */
	atomic_fetch_add(vft_count(&self->own, 0), 1);
	EXPECT_EQ(0, vft_wait(self->fd, 0, &count, &loss, VFAB_NO_DEADLINE, &reason));
	EXPECT_EQ(VFAB_WAIT_LOSS, reason);
	EXPECT_NE(was, loss);
	EXPECT_EQ(1, count);
	EXPECT_EQ(loss, loss_now(self->view));
	/* having seen it, the wait is for the next one */
	EXPECT_EQ(-ETIMEDOUT, vft_wait(self->fd, 0, &count, &loss, 1, &reason));
}

TEST_F(bell, death_of_any_peer_ends_wait)
{
	_Atomic int *ready = vft_shared(VFT_PAGE);
	pid_t victim = vft_fork(), pid;

	if (!victim) {
		int fd = vft_join(&self->dom, 2);

		*ready = fd >= 0 ? 1 : 2;
		pause();
	}
	ASSERT_EQ(true, vft_until(3000, *ready));
	ASSERT_EQ(1, *ready);
	pid = waiter(self, 0);
	EXPECT_EQ(SIGKILL, vft_kill(victim));
	EXPECT_EQ(BY_LOSS, vft_wait_pid(pid, 5000));
}

/* Losses that one has no part in: of another partition, of vacant ranks */
TEST_F(bell, loss_elsewhere_does_not_end_wait)
{
	int a, b;
	pid_t pid;

	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, NULL, 2, 2));
	a = vft_join_part(&self->dom, 1, 2);
	b = vft_join_part(&self->dom, 1, 3);
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	pid = waiter(self, 0);
	ASSERT_EQ(0, vft_link(&self->dom, 2, -1, false));
	ASSERT_EQ(0, vft_link(&self->dom, 2, -1, true));
	close(b);
	vft_sleep_ms(50);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	/* a plane less is no loss */
	ASSERT_EQ(0, vft_switch(&self->dom, 0, false));
	vft_sleep_ms(50);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	ASSERT_EQ(0, vft_ding(&self->far, 0));
	EXPECT_EQ(BY_COUNT, vft_wait_pid(pid, 5000));
}

TEST_F(bell, own_end_ends_wait)
{
	pid_t pid = waiter(self, 0), other = waiter(self, 63);

	ASSERT_EQ(0, vft_detach(self->fd));
	EXPECT_EQ(ENODEV << 8, vft_wait_pid(pid, 5000));
	EXPECT_EQ(ENODEV << 8, vft_wait_pid(other, 5000));
}

TEST_F(bell, eviction_ends_wait)
{
	pid_t pid = waiter(self, 0);

	ASSERT_EQ(0, vft_evict(&self->dom, 0));
	EXPECT_EQ(ENODEV << 8, vft_wait_pid(pid, 5000));
}

TEST_F(bell, end_of_domain_ends_wait)
{
	pid_t pid = waiter(self, 0);

	ASSERT_EQ(0, vft_domain_delete(&self->dom, true));
	EXPECT_EQ(ENODEV << 8, vft_wait_pid(pid, 5000));
}

/* --- eventfd ------------------------------------------------------------------------ */

static uint64_t take(int efd)
{
	uint64_t value = 0;

	return read(efd, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

TEST_F(bell, eventfd_keeps_the_vector_armed)
{
	int efd = eventfd(0, EFD_NONBLOCK), other = eventfd(0, EFD_NONBLOCK);

	/* what was rung before is not signalled */
	EXPECT_EQ(0, vft_ding(&self->far, 4));
	ASSERT_EQ(0, vft_eventfd(self->fd, 4, efd));
	EXPECT_NE(0, vft_armed(&self->own, 4));
	EXPECT_EQ(0, vft_armed(&self->own, 5));
	EXPECT_EQ(0, take(efd));
	EXPECT_EQ(0, vft_ding(&self->far, 4));
	EXPECT_LT(0, take(efd));
	EXPECT_NE(0, vft_armed(&self->own, 4));
	EXPECT_EQ(0, vft_ding(&self->far, 4));
	EXPECT_EQ(0, vft_ding(&self->far, 4));
	EXPECT_LT(0, take(efd));
	EXPECT_EQ(4, *vft_count(&self->own, 4));
	/* a wait beside it, and its end */
	EXPECT_EQ(SIGKILL, vft_kill(waiter(self, 4)));
	EXPECT_NE(0, vft_armed(&self->own, 4));
	/* another in its place */
	ASSERT_EQ(0, vft_eventfd(self->fd, 4, other));
	EXPECT_EQ(0, vft_ding(&self->far, 4));
	EXPECT_EQ(0, take(efd));
	EXPECT_LT(0, take(other));
	/* none */
	ASSERT_EQ(0, vft_eventfd(self->fd, 4, -1));
	EXPECT_EQ(0, vft_armed(&self->own, 4));
	EXPECT_EQ(0, vft_ding(&self->far, 4));
	EXPECT_EQ(0, vft_ring(self->peer, 0, 4));
	EXPECT_EQ(0, take(other));
	ASSERT_EQ(0, vft_eventfd(self->fd, 4, -1));
}

/* The binding, not the file descriptor, keeps the eventfd. */
TEST_F(bell, eventfd_closed_while_bound)
{
	int efd = eventfd(0, EFD_NONBLOCK), copy = dup(efd);

	ASSERT_EQ(0, vft_eventfd(self->fd, 4, efd));
	close(efd);
	EXPECT_EQ(0, vft_ding(&self->far, 4));
	EXPECT_LT(0, take(copy));
	close(copy);
	EXPECT_EQ(0, vft_ding(&self->far, 4));
	EXPECT_EQ(0, vft_ding(&self->far, 4));
	/* the end of the endpoint with it still bound */
	EXPECT_EQ(0, vft_detach(self->fd));
	EXPECT_EQ(-EHOSTUNREACH, vft_ring(self->peer, 0, 4));
}

TEST_F(bell, eventfd_wakes_poll)
{
	int efd = eventfd(0, EFD_NONBLOCK);
	struct pollfd pfd = { .fd = efd, .events = POLLIN };
	pid_t pid;

	ASSERT_EQ(0, vft_eventfd(self->fd, 4, efd));
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	pid = vft_fork();
	if (!pid) {
		vft_sleep_ms(50);
		_exit(vft_ding(&self->far, 4));
	}
	EXPECT_EQ(1, poll(&pfd, 1, 5000));
	EXPECT_EQ(0, vft_wait_pid(pid, 2000));
}

/* One eventfd for several vectors, and for several endpoints */
TEST_F(bell, eventfd_shared)
{
	int efd = eventfd(0, EFD_NONBLOCK);
	struct vft_bells back;

	ASSERT_EQ(0, vft_bells(&back, self->fd, 1));
	ASSERT_EQ(0, vft_eventfd(self->fd, 4, efd));
	ASSERT_EQ(0, vft_eventfd(self->fd, 5, efd));
	ASSERT_EQ(0, vft_eventfd(self->peer, 4, efd));
	EXPECT_EQ(0, vft_ding(&self->far, 4));
	EXPECT_EQ(0, vft_ding(&self->far, 5));
	EXPECT_EQ(0, vft_ding(&back, 4));
	EXPECT_EQ(3, take(efd));
}

/* Each of the vectors, and of the eventfds and waits exactly that one */
TEST_F(bell, every_vector_is_itself)
{
	int efd[VFAB_VECTORS];
	uint32_t v, k;

	for (v = 0; v < VFAB_VECTORS; v++) {
		efd[v] = eventfd(0, EFD_NONBLOCK);
		ASSERT_LE(0, efd[v]);
		ASSERT_EQ(0, vft_eventfd(self->fd, v, efd[v]));
	}
	for (v = 0; v < VFAB_VECTORS; v++) {
		EXPECT_EQ(0, vft_ding(&self->far, v));
		for (k = 0; k < VFAB_VECTORS; k++) {
			EXPECT_EQ(k == v, take(efd[k])) {
				TH_LOG("rang %u, looked at %u", v, k);
			}
			EXPECT_EQ(k <= v, *vft_count(&self->own, k));
		}
	}
}

static void *rebind(void *arg)
{
	struct bell_data *self = arg;
	uint64_t end = vft_now() + 2 * VFT_SEC;
	long n = 0;

	while (vft_now() < end) {
		int efd = eventfd(0, EFD_NONBLOCK);

		if (vft_eventfd(self->fd, 7, efd))
			return (void *)-1L;
		/* closed: the binding holds the last reference */
		close(efd);
		if (n++ % 3 == 0 && vft_eventfd(self->fd, 7, -1))
			return (void *)-2L;
	}
	return (void *)n;
}

static void *ring_until(void *arg)
{
	struct ringer *r = arg;

	while (!atomic_load(r->stop) && !r->ret) {
		r->ret = vft_ding(&r->bells, r->vector);
		r->ret = r->ret ?: vft_ring(r->bells.fd, 0, r->vector);
	}
	return NULL;
}

TEST_F(bell, rebinding_while_four_threads_ring)
{
	int efd = eventfd(0, EFD_NONBLOCK), i;
	struct ringer r[4];
	pthread_t t[4], b;
	_Atomic int stop = 0;
	void *n;

	for (i = 0; i < 4; i++) {
		r[i] = (struct ringer){ .bells = self->far, .vector = 7, .stop = &stop };
		ASSERT_EQ(0, pthread_create(&t[i], NULL, ring_until, &r[i]));
	}
	ASSERT_EQ(0, pthread_create(&b, NULL, rebind, self));
	pthread_join(b, &n);
	EXPECT_LT(20, (long)n);
	/* the binding that was made last is the one that counts */
	ASSERT_EQ(0, vft_eventfd(self->fd, 7, efd));
	EXPECT_EQ(true, vft_until(2000, take(efd) > 0));
	atomic_store(&stop, 1);
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		EXPECT_EQ(0, r[i].ret);
	}
}

/* --- rings that must not get through --------------------------------------------------- */

TEST_F(bell, ring_to_a_lost_peer)
{
	int efd = eventfd(0, EFD_NONBLOCK);

	ASSERT_EQ(0, vft_eventfd(self->fd, 4, efd));
	EXPECT_EQ(0, vft_ring(self->peer, 0, 4));
	EXPECT_LT(0, take(efd));
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	EXPECT_EQ(-EHOSTUNREACH, vft_ring(self->peer, 0, 4));
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	ASSERT_EQ(0, vft_route_drop(&self->dom, -1, 0));
	EXPECT_EQ(-EHOSTUNREACH, vft_ring(self->peer, 0, 4));
	ASSERT_EQ(0, vft_route_via(&self->dom, 1, 0, 0));
	EXPECT_EQ(0, vft_ring(self->peer, 0, 4));
	EXPECT_LT(0, take(efd));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, NULL, 0, 1));
	EXPECT_EQ(-EACCES, vft_ring(self->peer, 0, 4));
	EXPECT_EQ(0, take(efd));
	ASSERT_EQ(0, vft_partition_add(&self->dom, 0, 0, 1));
	EXPECT_EQ(0, vft_ring(self->peer, 0, 4));
	EXPECT_LT(0, take(efd));
	ASSERT_EQ(0, vft_detach(self->fd));
	EXPECT_EQ(-EHOSTUNREACH, vft_ring(self->peer, 0, 4));
	EXPECT_EQ(0, take(efd));
}

/* The pages belong to the holder, not to the rank. */
TEST_F(bell, next_holder_has_pages_of_its_own)
{
	struct vft_bells fresh;
	int fd;

	EXPECT_EQ(0, vft_ding(&self->far, 0));
	ASSERT_EQ(0, vft_detach(self->fd));
	fd = vft_join(&self->dom, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vft_bells(&fresh, fd, 0));
	EXPECT_EQ(0, *vft_count(&fresh, 0));
	EXPECT_EQ(SIGBUS, vft_store(self->far.counts, 1));
	EXPECT_EQ(SIGBUS, vft_touch(self->far.armed));
	EXPECT_EQ(SIGBUS, vft_touch(self->own.counts));
	EXPECT_EQ(0, *vft_count(&fresh, 0));
}

/* --- rights to the pages, and what may be in them ---------------------------------------- */

TEST_F(bell, armed_words_are_read_only_for_peers)
{
	uint64_t far, own;
	char *p;

	ASSERT_EQ(0, vft_bell(self->peer, 0, &far));
	ASSERT_EQ(0, vft_bell(self->fd, 0, &own));
	EXPECT_EQ(NULL, vft_map(self->peer, far + VFT_PAGE, VFT_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(NULL, vft_map(self->peer, far + VFT_PAGE, VFT_PAGE, PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	p = vft_map(self->peer, far + VFT_PAGE, VFT_PAGE, PROT_READ);
	ASSERT_NE(NULL, p);
	EXPECT_EQ(-1, mprotect(p, VFT_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(SIGSEGV, vft_store(p, 1));
	/* both pages in one mapping would have to have different rights */
	EXPECT_EQ(NULL, vft_map(self->peer, far, 2 * VFT_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(NULL, vft_map(self->peer, far, 2 * VFT_PAGE, PROT_READ));
	EXPECT_EQ(NULL, vft_map(self->fd, own, 2 * VFT_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(NULL, vft_map(self->peer, far + 2 * VFT_PAGE, VFT_PAGE, PROT_READ));
	/* growing does not lead there either */
	p = vft_map(self->peer, far, VFT_PAGE, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, p);
	EXPECT_EQ(MAP_FAILED, mremap(p, VFT_PAGE, 2 * VFT_PAGE, MREMAP_MAYMOVE));
	/* one's own */
	p = vft_map(self->fd, own + VFT_PAGE, VFT_PAGE, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, vft_store(p, 1));
}

static void scribble(volatile uint64_t *page, unsigned int seed)
{
	static const uint64_t values[] = { 0, 1, ~0ULL, 1ULL << 63, 0x8000000080000000ULL, 42 };
	unsigned int i;

	for (;;)
		for (i = 0; i < VFT_PAGE / 8; i++)
			page[i] = values[vft_random(&seed) % ARRAY_SIZE(values)] ^
				  vft_random(&seed) % 3;
}

/*
 * A peer writes anything to the counts, the owner itself anything to its armed
 * words, while waits, bindings and rings go on. Whatever they return, they
 * return; and when it is over, everything works.
 */
TEST_F(bell, hostile_contents_are_harmless)
{
	uint64_t end = vft_now() + 3 * VFT_SEC, cookie, count, loss;
	int efd = eventfd(0, EFD_NONBLOCK), n = 0;
	unsigned int seed = 5;
	volatile uint64_t *armed;
	pid_t counts, words;

	ASSERT_EQ(0, vft_bell(self->fd, 0, &cookie));
	armed = vft_map(self->fd, cookie + VFT_PAGE, VFT_PAGE, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, armed);
	counts = vft_fork();
	if (!counts)
		scribble((volatile uint64_t *)self->far.counts, 1);
	words = vft_fork();
	if (!words)
		scribble(armed, 2);
	while (vft_now() < end) {
		uint32_t vector = vft_random(&seed) % VFAB_VECTORS;
		int ret;

		count = vft_random(&seed) % 2;
		loss = loss_now(self->view);
		ret = vft_wait(self->fd, vector, &count, &loss, vft_now() + 2 * VFT_MS, NULL);
		EXPECT_EQ(true, !ret || ret == -ETIMEDOUT);
		EXPECT_EQ(0, vft_ring(self->peer, 0, vector));
		EXPECT_EQ(0, vft_eventfd(self->fd, vector, n & 1 ? efd : -1));
		n++;
	}
	vft_kill(counts);
	vft_kill(words);
	EXPECT_LT(20, n);
	for (n = 0; n < VFAB_VECTORS; n++)
		EXPECT_EQ(0, vft_eventfd(self->fd, n, -1));
	memset((void *)self->own.counts, 0, VFT_PAGE);
	memset((void *)armed, 0, VFT_PAGE);
	{
		pid_t pid = waiter(self, 6);

		EXPECT_NE(0, vft_armed(&self->own, 6));
		EXPECT_EQ(0, vft_ding(&self->far, 6));
		EXPECT_EQ(BY_COUNT, vft_wait_pid(pid, 5000));
	}
}

/* --- poll on the file ----------------------------------------------------------------------- */

/* Registered before ATTACH, kept over the end, and left behind by close. */
TEST_F(bell, epoll_from_before_attach_until_after_the_end)
{
	int ep = epoll_create1(EPOLL_CLOEXEC), fd = vft_open(&self->dom, 0), n;
	struct epoll_event ev = { .events = EPOLLIN }, got;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	ASSERT_EQ(0, vft_attach(fd, 2));
	/* drain what came with it */
	ASSERT_EQ(0, fcntl(fd, F_SETFL, O_NONBLOCK));
	{
		struct vfab_event event;

		while (read(fd, &event, sizeof(event)) > 0)
			;
	}
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, false));
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, 2000));
	EXPECT_EQ(EPOLLIN, got.events);
	ASSERT_EQ(0, vft_domain_delete(&self->dom, true));
	n = epoll_wait(ep, &got, 1, 2000);
	EXPECT_EQ(1, n);
	EXPECT_EQ(EPOLLHUP | EPOLLERR, got.events & (EPOLLHUP | EPOLLERR));
	close(fd);
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	close(ep);
}

static void *poll_file(void *arg)
{
	struct pollfd pfd = { .fd = *(int *)arg, .events = 0 };

	poll(&pfd, 1, 5000);
	return (void *)(long)pfd.revents;
}

TEST_F(bell, poll_wakes_at_the_end)
{
	pthread_t t;
	void *revents;

	ASSERT_EQ(0, pthread_create(&t, NULL, poll_file, &self->fd));
	vft_sleep_ms(100);
	ASSERT_EQ(0, vft_evict(&self->dom, 0));
	pthread_join(t, &revents);
	EXPECT_EQ(POLLHUP | POLLERR, (long)revents);
}

TEST_F(bell, read_wakes_at_the_end)
{
	pid_t pid = vft_fork();

	if (!pid) {
		struct vfab_event event;
		ssize_t n;

		do {
			n = read(self->fd, &event, sizeof(event));
		} while (n > 0);
		_exit(n < 0 ? errno : 0);
	}
	vft_sleep_ms(100);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	ASSERT_EQ(0, vft_evict(&self->dom, 0));
	EXPECT_EQ(0, vft_wait_pid(pid, 3000));
}

TEST_HARNESS_MAIN
