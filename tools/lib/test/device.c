// SPDX-License-Identifier: LGPL-2.1
/* Tests: endpoints, windows, doorbells, views, events. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include "libtest.h"

#define TAG	77

static bool says(int err, const char *text)
{
	return strstr(vfab_strerror(err), text);
}

static void find(uint32_t rank)
{
	struct vfab_info info, again;
	char path[64], name[64], tiny[4];

	(void)rank;
	EQUAL(vfab_find(domain, path, sizeof(path), &info), 0);
	EQUAL(info.rank, VFAB_RANK_ANY);
	EQUAL(vfab_find(path, NULL, 0, &again), 0);
	EQUAL(again.domain, info.domain);
	snprintf(name, sizeof(name), "%u", info.domain);
	EQUAL(vfab_find(name, NULL, 0, &again), 0);
	EQUAL(again.domain, info.domain);
	snprintf(name, sizeof(name), "dom%u", info.domain);
	EQUAL(vfab_find(name, NULL, 0, &again), 0);
	EQUAL(again.domain, info.domain);
	EQUAL(vfab_find(info.name, NULL, 0, &again), 0);
	EQUAL(again.domain, info.domain);
	EQUAL(vfab_find(domain, tiny, sizeof(tiny), NULL), -ENAMETOOLONG);
	EQUAL(vfab_find("no-such-domain", NULL, 0, NULL), -ENOENT);
	CHECK(says(-ENOENT, "no-such-domain"));
	EQUAL(vfab_find("99999", NULL, 0, NULL), -ENOENT);
	CHECK(says(-ENOENT, "/dev/vfabric/99999"));
	EQUAL(vfab_find("/dev/null", NULL, 0, NULL), -ENOTTY);
	unsetenv("VFAB_DOMAIN");
	EQUAL(vfab_find(NULL, NULL, 0, &again), 0);
	EQUAL(again.domain, info.domain);
}

/* Which file admits to the channel: the sentence names it. */
static void channels(uint32_t rank)
{
	struct vfab_ep *three, *none;
	struct vfab_info info;
	struct vfab_mem mem, got;
	char spec[32], file[64];
	uint64_t handle;

	(void)rank;
	EQUAL(vfabctl("channel create %s/part0 3", domain), 0);
	EQUAL(vfab_find(domain, NULL, 0, &info), 0);
	EQUAL(info.channel, VFAB_CHANNEL_NONE);
	snprintf(spec, sizeof(spec), "dom%u.0.3", info.domain);
	snprintf(file, sizeof(file), "/dev/vfabric/%u.0.3 ", info.domain);
	EQUAL(vfab_open(&three, spec, 5), 0);
	EQUAL(vfab_info(three)->channel, 3);
	EQUAL(vfab_open(&none, domain, 6), 0);
	EQUAL(vfab_window_alloc(three, 4096, TAG, VFAB_ACCESS_WRITE, &mem), 0);
	EQUAL(vfab_lookup(none, 5, TAG, 0, &handle), 0);
	EQUAL(vfab_import(none, handle, VFAB_ACCESS_READ, VFAB_LOSS_SIGBUS, &got), -EPERM);
	CHECK(says(-EPERM, "rank 5 exports in channel 3 of partition 0: open"));
	CHECK(says(-EPERM, file));
	EQUAL(vfab_ring(none, 5, 0), -EPERM);
	CHECK(says(-EPERM, "rank 5"));
	CHECK(says(-EPERM, "vfabctl channel show"));
	EQUAL(vfab_window_alloc(none, 4096, TAG + 1, VFAB_ACCESS_WRITE, &mem), 0);
	EQUAL(vfab_lookup(three, 6, TAG + 1, 0, &handle), 0);
	EQUAL(vfab_import(three, handle, VFAB_ACCESS_READ, VFAB_LOSS_SIGBUS, &got), -EPERM);
	CHECK(says(-EPERM, "in no channel"));
	vfab_close(none);
	EQUAL(vfab_open(&none, spec, 6), 0);
	EQUAL(vfab_lookup(none, 5, TAG, 0, &handle), 0);
	EQUAL(vfab_import(none, handle, VFAB_ACCESS_READ, VFAB_LOSS_SIGBUS, &got), 0);
	vfab_close(none);
	vfab_close(three);
	EQUAL(vfabctl("channel delete %s/part0/ch3", domain), 0);
	EQUAL(vfab_find(spec, NULL, 0, NULL), -ENOENT);
	CHECK(says(-ENOENT, "vfabctl channel create"));
	snprintf(spec, sizeof(spec), "%u.7", info.domain);
	EQUAL(vfab_find(spec, NULL, 0, NULL), -ENOENT);
	CHECK(says(-ENOENT, "vfabctl partition create"));
}

/* A partition's device file, by each address that leads to it */
static void find_partition(uint32_t rank)
{
	static const char *const formats[] = { "%s.77", "%s/part77" };
	static const char *const channels[] = { "%s.77.3", "%s/part77/ch3" };
	char id[16], dom[16], name[64], path[64];
	const char *const names[] = { "parts", id, dom };
	struct vfab_info info, other;
	size_t i, k;

	(void)rank;
	EQUAL(vfabctl("domain create parts --size 2"), 0);
	EQUAL(vfab_find("parts", NULL, 0, &info), 0);
	snprintf(id, sizeof(id), "%u", info.domain);
	snprintf(dom, sizeof(dom), "dom%u", info.domain);
	EQUAL(vfab_find("parts.77", NULL, 0, NULL), -ENOENT);
	CHECK(says(-ENOENT, "no domain \"parts\" with a partition 77"));
	snprintf(name, sizeof(name), "%s/part77", dom);
	EQUAL(vfab_find(name, NULL, 0, NULL), -ENOENT);
	CHECK(says(-ENOENT, "vfabctl partition create"));
	EQUAL(vfab_find("parts/part77/ch3", NULL, 0, NULL), -ENOENT);
	CHECK(says(-ENOENT, "no domain \"parts\" with a channel 77.3"));
	EQUAL(vfabctl("partition create parts 77"), 0);
	EQUAL(vfabctl("channel create parts/part77 3"), 0);
	for (i = 0; i < 3; i++) {
		for (k = 0; k < 2; k++) {
			snprintf(name, sizeof(name), formats[k], names[i]);
			EQUAL(vfab_find(name, path, sizeof(path), &other), 0);
			EQUAL(other.domain, info.domain);
			EQUAL(other.partition, 77);
			CHECK(strstr(path, ".77"));
			snprintf(name, sizeof(name), channels[k], names[i]);
			EQUAL(vfab_find(name, NULL, 0, &other), 0);
			EQUAL(other.domain, info.domain);
			EQUAL(other.partition, 77);
			EQUAL(other.channel, 3);
		}
		snprintf(name, sizeof(name), "%s/part0", names[i]);
		EQUAL(vfab_find(name, NULL, 0, &other), 0);
		EQUAL(other.domain, info.domain);
		EQUAL(other.partition, 0);
	}
	/* A name that ends as a partition's address does comes first */
	EQUAL(vfabctl("domain create parts.77 --size 3"), 0);
	EQUAL(vfab_find("parts.77", NULL, 0, &other), 0);
	EQUAL(other.world, 3);
	EQUAL(vfab_find("parts/part77", NULL, 0, &other), 0);
	EQUAL(other.world, 2);
	EQUAL(vfab_find("./part77", NULL, 0, NULL), -ENOENT);
	CHECK(says(-ENOENT, "./part77 does not exist"));
	EQUAL(vfab_find("parts.77.3", NULL, 0, &other), 0);
	EQUAL(other.world, 2);
	EQUAL(vfabctl("domain delete parts.77"), 0);
	EQUAL(vfabctl("domain delete parts"), 0);
}

static void closed(uint32_t rank)
{
	struct vfab_info info;
	char id[32];

	(void)rank;
	EQUAL(vfab_find(domain, NULL, 0, &info), 0);
	/* It stays until the domain goes: who could delete it is nobody below */
	vfabctl("channel create %s/part0 9 2>/dev/null", domain);
	EQUAL(setgid(65534), 0);
	EQUAL(setuid(65534), 0);
	snprintf(id, sizeof(id), "dom%u", info.domain);
	EQUAL(vfab_find(id, NULL, 0, NULL), -EACCES);
	CHECK(says(-EACCES, "domain create"));
	snprintf(id, sizeof(id), "%u.0.9", info.domain);
	EQUAL(vfab_find(id, NULL, 0, NULL), -EACCES);
	CHECK(says(-EACCES, "channel create"));
	CHECK(says(-EACCES, "chmod or chgrp"));
	EQUAL(vfab_find(info.name, NULL, 0, NULL), -EACCES);
}

static void env(uint32_t rank)
{
	uint32_t ranks[VFAB_MAX_WORLD], n;

	unsetenv("VFAB_RANKS");
	unsetenv("VFAB_RANK");
	EQUAL(vfab_env_job(&rank, ranks, &n), 0);
	EQUAL(rank, VFAB_RANK_ANY);
	EQUAL(n, 0);
	setenv("SLURM_PROCID", "3", 1);
	setenv("SLURM_NTASKS", "4", 1);
	EQUAL(vfab_env_job(&rank, ranks, &n), 0);
	EQUAL(rank, 3);
	EQUAL(n, 4);
	EQUAL(ranks[3], 3);
	setenv("RANK", "1", 1);
	setenv("WORLD_SIZE", "2", 1);
	EQUAL(vfab_env_job(&rank, NULL, &n), 0);
	EQUAL(rank, 1);
	EQUAL(n, 2);
	setenv("VFAB_RANK", "7", 1);
	setenv("VFAB_RANKS", "9,1-3,7", 1);
	EQUAL(vfab_env_job(&rank, ranks, &n), 0);
	EQUAL(rank, 7);
	EQUAL(n, 5);
	EQUAL(ranks[0], 9);
	EQUAL(ranks[3], 3);
	setenv("VFAB_RANKS", "1,1", 1);
	EQUAL(vfab_env_job(&rank, ranks, &n), -EINVAL);
	setenv("VFAB_RANKS", "3-1", 1);
	EQUAL(vfab_env_job(&rank, ranks, &n), -EINVAL);
	setenv("VFAB_RANKS", "1,", 1);
	EQUAL(vfab_env_job(&rank, ranks, &n), -EINVAL);
	setenv("VFAB_RANKS", "1024", 1);
	EQUAL(vfab_env_job(&rank, ranks, &n), -EINVAL);
	setenv("VFAB_RANK", "-1", 1);
	EQUAL(vfab_env_job(&rank, ranks, &n), -EINVAL);
	setenv("VFAB_RANK", "1x", 1);
	EQUAL(vfab_env_job(&rank, ranks, &n), -EINVAL);
	CHECK(says(-EINVAL, "VFAB_RANK"));
	setenv("VFAB_RANK", "1", 1);
	setenv("VFAB_RANKS", "0,4-7,5", 1);
	EQUAL(vfab_env_job(&rank, ranks, &n), -EINVAL);
	CHECK(says(-EINVAL, "names rank 5 twice"));
}

static void opening(uint32_t rank)
{
	struct vfab_ep *a = attach(5), *b;

	(void)rank;
	EQUAL(vfab_info(a)->rank, 5);
	CHECK(fcntl(vfab_fd(a), F_GETFD) & FD_CLOEXEC);
	EQUAL(vfab_open(&b, domain, 5), -EBUSY);
	CHECK(says(-EBUSY, "rank 5"));
	EQUAL(vfab_open(&b, domain, 5000), -EINVAL);
	setenv("VFAB_RANK", "6", 1);
	EQUAL(vfab_open(&b, domain, VFAB_RANK_ENV), 0);
	EQUAL(vfab_info(b)->rank, 6);
	vfab_close(b);
	EQUAL(vfab_open(&b, domain, VFAB_RANK_ANY), 0);
	EQUAL(vfab_info(b)->rank, 0);
	vfab_close(b);
	vfab_close(a);
	EQUAL(vfab_open(&b, domain, 5), 0);
	vfab_close(b);
	vfab_close(NULL);
	setenv("VFAB_WAIT", "nonsense", 1);
	EQUAL(vfab_open(&b, domain, 5), -EINVAL);
	CHECK(says(-EINVAL, "VFAB_WAIT=\"nonsense\" is not auto, spin, yield or block"));
	setenv("VFAB_WAIT", "block", 1);
	EQUAL(vfab_open(&b, domain, 5), 0);
	vfab_close(b);
}

static void windows(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct vfab_mem mine, theirs, other;
	uint64_t handle;

	if (!rank) {
		EQUAL(vfab_window_alloc(ep, 5, TAG, VFAB_ACCESS_WRITE, &mine), 0);
		EQUAL(mine.size, 4096);
		EQUAL(*(int *)mine.addr, 0);
		EQUAL(vfab_window_alloc(ep, 5, TAG, VFAB_ACCESS_WRITE, &other), -EEXIST);
		EQUAL(vfab_window_alloc(ep, 0, 0, VFAB_ACCESS_WRITE, &other), -EINVAL);
		EQUAL(vfab_window_alloc(ep, ~0ULL, 0, VFAB_ACCESS_WRITE, &other), -EINVAL);
		EQUAL(vfab_window_alloc(ep, 4 << 20, TAG + 1, VFAB_ACCESS_READ, &other), 0);
		EQUAL((uintptr_t)other.addr % (2 << 20), 0);
		board_wait(0, 1);
		EQUAL(*(int *)mine.addr, 4711);
		EQUAL(vfab_window_free(ep, &mine), 0);
		EQUAL(vfab_window_free(ep, &mine), -ENOENT);
		board[1] = 1;
		board_wait(0, 2);
	} else {
		EQUAL(vfab_lookup(ep, 0, TAG, 10 * VFAB_SECOND, &handle), 0);
		EQUAL(vfab_lookup(ep, 0, TAG + 5, 0, &handle), -ENOENT);
		EQUAL(vfab_lookup(ep, 0, TAG + 5, VFAB_SECOND / 20, &handle), -ETIMEDOUT);
		EQUAL(vfab_lookup(ep, 5000, TAG, 0, &handle), -EINVAL);
		EQUAL(vfab_lookup(ep, 0, TAG, 0, &handle), 0);
		EQUAL(vfab_import(ep, handle, VFAB_ACCESS_WRITE, VFAB_LOSS_ABSORB,
				  &theirs), 0);
		EQUAL(theirs.rank, 0);
		*(volatile int *)theirs.addr = 4711;
		EQUAL(vfab_lookup(ep, 0, TAG + 1, 10 * VFAB_SECOND, &handle), 0);
		EQUAL(vfab_import(ep, handle, VFAB_ACCESS_WRITE, VFAB_LOSS_ABSORB,
				  &other), -EACCES);
		EQUAL(vfab_import(ep, handle, VFAB_ACCESS_READ, VFAB_LOSS_ABSORB,
				  &other), 0);
		EQUAL((uintptr_t)other.addr % (2 << 20), 0);
		board[0] = 1;
		board_wait(1, 1);
		/* what is gone: a page that stands in, or none */
		EQUAL(*(volatile uint32_t *)theirs.addr, memfd ? 0 : 0xffffffffU);
		EQUAL(vfab_release(ep, &theirs), 0);
		EQUAL(vfab_release(ep, &theirs), -EINVAL);
		EQUAL(vfab_import(ep, 12345, VFAB_ACCESS_READ, VFAB_LOSS_ABSORB,
				  &theirs), -ENOENT);
		board[0] = 2;
	}
	vfab_close(ep);
}

/* Who has no window, and why not */
static void lookups(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	uint64_t handle;

	EQUAL(vfab_lookup(ep, 3, TAG, 0, &handle), -ENOENT);
	CHECK(says(-ENOENT, "nothing is attached at rank 3"));
	EQUAL(vfab_lookup(ep, 3, TAG, VFAB_SECOND / 20, &handle), -ETIMEDOUT);
	CHECK(says(-ETIMEDOUT, "nothing is attached at rank 3 yet"));
	EQUAL(vfab_lookup(ep, rank, TAG, 0, &handle), -ENOENT);
	CHECK(says(-ENOENT, "rank 0 has no window of tag 77"));
	vfab_close(ep);
}

static void foreign_lookup(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	uint64_t handle;

	EQUAL(vfab_lookup(ep, 3, TAG, 0, &handle), -ENOENT);
	CHECK(says(-ENOENT, "nothing is attached at rank 3: see 'vfabctl"));
	EQUAL(vfabctl("partition create %s 9 --members 5", domain), 0);
	EQUAL(vfab_lookup(ep, 5, TAG, 0, &handle), -EACCES);
	CHECK(says(-EACCES, "rank 5 is not in partition 0 of dom"));
	EQUAL(vfabctl("partition set %s/part0 --add 5", domain), 0);
	EQUAL(vfabctl("partition delete %s/part9", domain), 0);
	vfab_close(ep);
}

static void doorbells(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	uint64_t count = vfab_count(ep, 3), loss;
	struct vfab_stats s;
	int i;

	EQUAL(vfab_ring(ep, 5000, 0), -EINVAL);
	EQUAL(vfab_ring(ep, 0, VFAB_VECTORS), -EINVAL);
	EQUAL(vfab_wait(ep, VFAB_VECTORS, &count, NULL, 0), -EINVAL);
	EQUAL(vfab_wait(ep, 3, &count, NULL, 0), -ETIMEDOUT);
	if (!rank) {
		double t = now();

		EQUAL(vfab_wait(ep, 4, &count, NULL, VFAB_SECOND / 10), -ETIMEDOUT);
		CHECK(now() - t >= .1 && now() - t < .1 + bound);
		board[0] = 1;
		for (i = 0; i < 100; i++) {
			EQUAL(vfab_wait(ep, 3, &count, NULL, 20 * VFAB_SECOND), 0);
			EQUAL(vfab_ring(ep, 1, 3), 0);
		}
		/* The peer's end ends the wait. */
		loss = vfab_loss(ep);
		board[0] = 3;
		EQUAL(vfab_wait(ep, 3, &count, &loss, 20 * VFAB_SECOND), -ECONNRESET);
		EQUAL(vfab_ring(ep, 1, 3), -EHOSTUNREACH);
		/* And who comes after it can be rung again. */
		board[0] = 4;
		board_wait(1, 1);
		EQUAL(vfab_ring(ep, 1, 3), 0);
		board[0] = 5;
		board_wait(1, 2);
	} else {
		board_wait(0, 1);
		for (i = 0; i < 100; i++) {
			EQUAL(vfab_ring(ep, 0, 3), 0);
			EQUAL(vfab_wait(ep, 3, &count, NULL, 20 * VFAB_SECOND), 0);
		}
		vfab_stats(ep, &s);
		EQUAL(s.rings, 100);
		CHECK(s.ring_calls <= 100);
		board_wait(0, 3);
		vfab_close(ep);
		board_wait(0, 4);
		ep = attach(rank);
		board[1] = 1;
		board_wait(0, 5);
		EQUAL(vfab_count(ep, 3), 1);
		board[1] = 2;
	}
	vfab_close(ep);
}

/* An eventfd is signalled without anybody waiting. */
static void eventfds(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	uint64_t count = vfab_count(ep, 3), value;
	int fd;

	if (!rank) {
		fd = eventfd(0, EFD_CLOEXEC);
		EQUAL(vfab_eventfd(ep, 3, 0), -EINVAL);
		EQUAL(vfab_eventfd(ep, 3, fd), 0);
		board[0] = 1;
		EQUAL(read(fd, &value, 8), 8);
		EQUAL(vfab_wait(ep, 3, &count, NULL, 0), 0);
		EQUAL(vfab_eventfd(ep, 3, -1), 0);
		board_wait(1, 1);
	} else {
		board_wait(0, 1);
		EQUAL(vfab_ring(ep, 0, 3), 0);
		board[1] = 1;
	}
	vfab_close(ep);
}

/* After its own end an endpoint rings and hears nobody, not even itself. */
static void ended(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	uint64_t count;

	if (rank) {
		board[1] = 1;
		board_wait(0, 1);
		EQUAL(vfab_count(ep, 3), 1);
		vfab_close(ep);
		return;
	}
	board_wait(1, 1);
	EQUAL(vfab_ring(ep, 0, 3), 0);
	EQUAL(vfab_ring(ep, 1, 3), 0);
	count = 0;
	EQUAL(vfab_wait(ep, 3, &count, NULL, 0), 0);
	EQUAL(count, 1);
	EQUAL(vfabctl("endpoint evict %s/ep0", domain), 0);
	EQUAL(vfab_ring(ep, 0, 3), -ENODEV);
	EQUAL(vfab_ring(ep, 1, 3), -ENODEV);
	EQUAL(vfab_wait(ep, 3, &count, NULL, 0), -ENODEV);
	board[0] = 1;
	vfab_close(ep);
}

/* All calls but the last, from several threads */
#define THREADS	4
#define ROUNDS	300

static struct vfab_ep *shared;
static uint32_t next_thread;

static void *use(void *arg)
{
	uint32_t me = __atomic_fetch_add(&next_thread, 1, __ATOMIC_RELAXED), i;
	struct vfab_mem mine, theirs;
	uint64_t handle, count, loss;
	struct vfab_stats s;
	struct vfab_peer p;
	uint32_t peer = *(uint32_t *)arg;

	for (i = 0; i < ROUNDS; i++) {
		EQUAL(vfab_window_alloc(shared, 4096, TAG + me, VFAB_ACCESS_WRITE, &mine), 0);
		EQUAL(vfab_ring(shared, peer, 5 + me), 0);
		if (!vfab_lookup(shared, peer, TAG + me, VFAB_SECOND / 1000, &handle) &&
		    !vfab_import(shared, handle, VFAB_ACCESS_WRITE, VFAB_LOSS_ABSORB, &theirs)) {
			vfab_put(shared, &theirs, 0, &i, sizeof(i));
			EQUAL(vfab_release(shared, &theirs), 0);
		}
		count = vfab_count(shared, 5 + me);
		loss = vfab_loss(shared);
		vfab_wait(shared, 5 + me, &count, &loss, VFAB_SECOND / 1000);
		EQUAL(vfab_peer(shared, peer, &p), 0);
		vfab_stats(shared, &s);
		EQUAL(vfab_window_free(shared, &mine), 0);
	}
	return NULL;
}

static void threads(uint32_t rank)
{
	pthread_t thread[THREADS];
	uint32_t i, peer = !rank;

	shared = attach(rank);
	board[rank * 16] = 1;
	board_wait(peer * 16, 1);
	for (i = 0; i < THREADS; i++)
		EQUAL(pthread_create(&thread[i], NULL, use, &peer), 0);
	for (i = 0; i < THREADS; i++)
		EQUAL(pthread_join(thread[i], NULL), 0);
	board[rank * 16] = 2;
	board_wait(peer * 16, 2);
	for (i = 0; i < THREADS; i++)
		EQUAL(vfab_count(shared, 5 + i), ROUNDS);
	vfab_close(shared);
}

static void view(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	double end = now() + bound;
	struct vfab_peer p;

	if (rank) {
		board_wait(0, 1);
		vfab_close(ep);
		return;
	}
	EQUAL(vfab_peer(ep, 5000, &p), -EINVAL);
	do
		EQUAL(vfab_peer(ep, 1, &p), 0);
	while (p.state != VFAB_PEER_HELD);
	EQUAL(p.paths, vfab_info(ep)->planes);
	EQUAL(vfab_view(ep)->world, vfab_info(ep)->world);
	EQUAL(p.losses, 0);
	board[0] = 1;
	do
		EQUAL(vfab_peer(ep, 1, &p), 0);
	while (p.state == VFAB_PEER_HELD && now() < end);
	EQUAL(p.state, VFAB_PEER_VACANT);
	EQUAL(p.losses, 1);
	vfab_close(ep);
}

static void events(uint32_t rank)
{
	struct vfab_ep *ep = attach(rank);
	struct pollfd pfd = { .fd = vfab_fd(ep), .events = POLLIN };
	struct vfab_event e;
	struct vfab_peer p;

	if (rank) {
		board_wait(0, 1);
		vfab_close(ep);
		return;
	}
	do
		EQUAL(vfab_peer(ep, 1, &p), 0);
	while (p.state != VFAB_PEER_HELD);
	while (!vfab_event(ep, &e, 0))
		;
	board[0] = 1;
	EQUAL(poll(&pfd, 1, 20000), 1);
	EQUAL(vfab_event(ep, &e, 0), 0);
	EQUAL(e.type, VFAB_EVENT_PEER_LOST);
	EQUAL(e.rank, 1);
	EQUAL(e.reason, VFAB_REASON_EXIT);
	EQUAL(vfab_event(ep, &e, VFAB_SECOND / 50), -ETIMEDOUT);
	vfab_close(ep);
}

const struct test device_tests[] = {
	{ "env", 1, env, 0 },
	{ "open", 1, opening, 0 },
	{ "window", 2, windows, 0 },
	{ "lookup", 1, lookups, 0 },
	{ "doorbell", 2, doorbells, 0 },
	{ "threads", 2, threads, 0 },
	{ "view", 2, view, 0 },
	{ 0 }
};

const struct test fabric_device_tests[] = {
	{ "find", 1, find, 0 },
	{ "find_partition", 1, find_partition, 0 },
	{ "find_closed", 1, closed, 0 },
	{ "channels", 1, channels, 0 },
	{ "lookup_foreign", 1, foreign_lookup, 0 },
	{ "eventfd", 2, eventfds, 0 },
	{ "ended", 2, ended, 0 },
	{ "events", 2, events, 0 },
	{ 0 }
};
