// SPDX-License-Identifier: LGPL-2.1
/* The memfd transport: endpoints and their doorbells, and what it has not. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memfd.h"

static struct memfd *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void)
{
	pthread_mutex_lock(&all_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&all_lock);
}

/* The endpoint is the parent's, and ends with it. */
static void forked(void)
{
	struct memfd *m;

	for (m = all; m; m = m->next) {
		if (memfd_ours(m, m->hold))
			close(m->hold);
		m->hold = open(m->path, O_RDWR | O_CLOEXEC);
		m->forked = true;
		pthread_mutex_init(&m->lock, NULL);
	}
	pthread_mutex_unlock(&all_lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, forked);
}

static void list(struct memfd *m, bool on)
{
	struct memfd **at = &all;

	pthread_mutex_lock(&all_lock);
	while (!on && *at != m)
		at = &(*at)->next;
	if (on)
		m->next = all;
	*at = on ? m : m->next;
	pthread_mutex_unlock(&all_lock);
}

static int hold(struct memfd *m, uint32_t rank)
{
	struct place *p = place(m, rank);
	struct vfab_peer *peer;
	int ret = memfd_take(m, rank);
	uint32_t i;

	if (ret)
		return ret;
	ret = memfd_lock(m->hold, HOLD + rank, F_WRLCK);
	if (ret) {
		memfd_give(m, rank);
		if (ret == -EAGAIN || ret == -EACCES)
			return vfabi_fail(EBUSY, "rank %u of %s is held by process %u", rank,
					  m->ep->name, GET(p->pid));
		return vfabi_fail(-ret, "locking rank %u: %s", rank, strerror(-ret));
	}
	if (memfd_dirty(m, rank))
		memfd_reap(m, rank);
	for (i = 0; i < VFAB_VECTORS; i++) {
		SET(p->bell[i].count, 0);
		SET(p->bell[i].armed, 0);
	}
	SET(p->sleepers, 0);
	SET(p->top, 0);
	SET(p->pid, getpid());
	__atomic_store_n(&p->dirty, 1, __ATOMIC_RELEASE);
	peer = memfd_change_begin(m, rank);
	__atomic_store_n(&peer->state, VFAB_PEER_HELD, __ATOMIC_RELEASE);
	memfd_change_end(m, peer);
	m->ep->info.rank = rank;
	m->ep->info.node = 0;
	m->ep->ended = &peer->losses;
	m->ep->alive = GET(peer->losses);
	memfd_give(m, rank);
	return 0;
}

static int hold_any(struct memfd *m)
{
	uint32_t i;
	int ret;

	for (i = 0; i < m->ep->info.world; i++) {
		ret = memfd_held(m, i) ? -EBUSY : hold(m, i);
		if (ret != -EBUSY)
			return ret;
	}
	return vfabi_fail(EHOSTUNREACH, "every rank of %s is held", m->ep->name);
}

static int memfd_attach(struct vfab_ep *ep, const char *path, uint32_t rank)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct memfd *m;
	struct stat s;
	int ret;

	(void)path;
	snprintf(ep->name, sizeof(ep->name), "the memfd fabric");
	if (rank >= ep->info.world && rank != VFAB_RANK_ANY)
		return vfabi_fail(EINVAL, "rank %u is not one of %s's %u ranks", rank, ep->name,
				  ep->info.world);
	m = calloc(1, sizeof(*m));
	if (!m)
		return vfabi_fail(ENOMEM, "out of memory");
	m->ep = ep;
	m->bytes = control_bytes(ep->info.world);
	pthread_mutex_init(&m->lock, NULL);
	snprintf(m->path, sizeof(m->path), "/proc/self/fd/%d", ep->fd);
	m->base = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ep->fd, 0);
	if (m->base == MAP_FAILED) {
		ret = vfabi_fail(errno, "mapping %s: %s", ep->name, strerror(errno));
		goto free;
	}
	m->hold = open(m->path, O_RDWR | O_CLOEXEC);
	if (m->hold < 0 || fstat(m->hold, &s)) {
		ret = vfabi_fail(errno, "opening %s: %s", m->path, strerror(errno));
		goto unmap;
	}
	m->ino = s.st_ino;
	m->dev = s.st_dev;
	ep->own = m;
	ep->view = view(m);
	ep->armed = offsetof(struct bell, armed);
	pthread_once(&once, watch_forks);
	list(m, true);
	ret = rank == VFAB_RANK_ANY ? hold_any(m) : hold(m, rank);
	if (!ret)
		return 0;
	list(m, false);
	close(m->hold);
unmap:
	munmap(m->base, m->bytes);
free:
	pthread_mutex_destroy(&m->lock);
	free(m);
	return ret;
}

static void memfd_detach(struct vfab_ep *ep)
{
	struct memfd *m = ep->own;
	uint32_t rank = ep->info.rank;

	/* A child's is not its own; one that has ended may be another's by now */
	if (!m->forked && !memfd_take(m, rank)) {
		if (!vfabi_ended(ep))
			memfd_reap(m, rank);
		memfd_give(m, rank);
	}
	list(m, false);
	if (memfd_ours(m, m->hold))
		close(m->hold);
	munmap(m->base, m->bytes);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static int memfd_bell(struct vfab_ep *ep, uint32_t rank)
{
	struct memfd *m = ep->own;

	if (state_of(m, rank) != VFAB_PEER_HELD)
		return vfabi_fail(EHOSTUNREACH,
				  "the doorbells of rank %u: nothing is attached there", rank);
	__atomic_store_n(&ep->bells[rank].pages, (char *)place(m, rank)->bell, __ATOMIC_RELAXED);
	return 0;
}

static int memfd_wake(struct vfab_ep *ep, uint32_t rank, uint32_t vector)
{
	memfd_wake_all(&place(ep->own, rank)->bell[vector].ticket);
	return 0;
}

static int memfd_sleep(struct vfab_ep *ep, uint32_t vector, uint64_t count, uint64_t loss,
		       uint64_t deadline)
{
	struct memfd *m = ep->own;
	struct place *p = place(m, ep->info.rank);
	struct bell *b = &p->bell[vector];
	uint32_t ticket = __atomic_load_n(&b->ticket, __ATOMIC_ACQUIRE);
	int ret = 0;

	__atomic_fetch_add(&b->armed, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&p->sleepers, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (vfabi_load(&b->count) == count && vfabi_loss(ep) == loss && !vfabi_ended(ep))
		ret = (uint64_t)vfabi_now() >= deadline ? -ETIMEDOUT :
		      memfd_nap(&b->ticket, ticket, deadline);
	/* After the end they are the next holder's */
	if (!vfabi_ended(ep)) {
		__atomic_fetch_sub(&p->sleepers, 1, __ATOMIC_RELAXED);
		__atomic_fetch_sub(&b->armed, 1, __ATOMIC_RELAXED);
	}
	memfd_watch(ep);
	if (ret == -ETIMEDOUT && (uint64_t)vfabi_now() < deadline)
		return 0;
	return ret == -EAGAIN ? 0 : ret;
}

/* --- What there is not ---------------------------------------------------------------- */

static int memfd_eventfd(struct vfab_ep *ep, uint32_t vector, int fd)
{
	(void)ep;
	(void)vector;
	(void)fd;
	return vfabi_fail(EOPNOTSUPP,
			  "the memfd transport has no eventfds: wait with vfab_wait(), in a thread of its own if need be");
}

static int memfd_event(struct vfab_ep *ep, struct vfab_event *event, int64_t timeout)
{
	(void)ep;
	(void)event;
	(void)timeout;
	return vfabi_fail(EOPNOTSUPP,
			  "the memfd transport has no events: vfab_wait() ends when something is lost, vfab_peer() tells what");
}

/* Nobody adds it up */
static int memfd_counts(struct vfab_ep *ep, void **p, size_t *bytes)
{
	*bytes = ep->info.world * sizeof(struct vfab_count);
	*p = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (*p != MAP_FAILED)
		return 0;
	*p = NULL;
	return vfabi_fail(errno, "memory to count bytes in: %s", strerror(errno));
}

/* There are no links; shape is on only where somebody scribbled over the view */
static int memfd_pace(struct vfab_ep *ep, struct vfab_pace *q)
{
	(void)ep;
	q->at = 0;
	return 0;
}

const struct vfab_ops vfabi_memfd = {
	.find = memfd_find,
	.attach = memfd_attach,
	.detach = memfd_detach,
	.alloc = memfd_alloc,
	.free = memfd_free,
	.lookup = memfd_lookup,
	.import = memfd_import,
	.release = memfd_release,
	.bell = memfd_bell,
	.wake = memfd_wake,
	.sleep = memfd_sleep,
	.eventfd = memfd_eventfd,
	.event = memfd_event,
	.counts = memfd_counts,
	.pace = memfd_pace,
	.watch = memfd_watch,
};
