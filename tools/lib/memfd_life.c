// SPDX-License-Identifier: LGPL-2.1
/* The memfd transport: locks, and what becomes of ranks that die. */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "memfd.h"

int memfd_lock(int fd, off_t at, short type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &l) ? -errno : 0;
}

bool memfd_held(const struct memfd *m, uint32_t rank)
{
	struct flock l = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = HOLD + rank, .l_len = 1
	};

	/* If the question fails, nobody is declared dead */
	return fcntl(m->hold, F_OFD_GETLK, &l) || l.l_type != F_UNLCK;
}

bool memfd_ours(const struct memfd *m, int fd)
{
	struct stat s;

	return !fstat(fd, &s) && s.st_ino == m->ino && s.st_dev == m->dev;
}

/* Without waiting, without a sentence. The files of this process are locked by the mutex. */
static int try_take(struct memfd *m, uint32_t rank)
{
	int ret;

	if (!memfd_ours(m, m->hold))
		return -EBADF;
	pthread_mutex_lock(&m->lock);
	ret = memfd_lock(m->hold, CARE + rank, F_WRLCK);
	if (ret)
		pthread_mutex_unlock(&m->lock);
	return ret == -EACCES ? -EAGAIN : ret;
}

int memfd_take(struct memfd *m, uint32_t rank)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int ret, i;

	for (i = 0; i < 1000; i++) {
		ret = try_take(m, rank);
		if (ret != -EAGAIN)
			break;
		nanosleep(&ms, NULL);
	}
	if (ret == -EAGAIN)
		return vfabi_fail(EBUSY,
				  "a process that works on rank %u was stopped: continue or kill it",
				  rank);
	return ret ? vfabi_fail(-ret, "locking rank %u: %s", rank, strerror(-ret)) : 0;
}

void memfd_give(struct memfd *m, uint32_t rank)
{
	memfd_lock(m->hold, CARE + rank, F_UNLCK);
	pthread_mutex_unlock(&m->lock);
}

int memfd_nap(uint32_t *word, uint32_t value, uint64_t deadline)
{
	uint64_t until = vfabi_now() + NAP;
	struct timespec ts;

	until = until < deadline ? until : deadline;
	ts = (struct timespec){ until / VFAB_SECOND, until % VFAB_SECOND };
	return syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, &ts, NULL,
		       FUTEX_BITSET_MATCH_ANY) ? -errno : 0;
}

void memfd_wake_all(uint32_t *word)
{
	__atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void wake_rank(struct memfd *m, uint32_t rank)
{
	struct place *p = place(m, rank);
	uint32_t i;

	if (!GET(p->sleepers))
		return;
	for (i = 0; i < VFAB_VECTORS; i++)
		if (GET(p->bell[i].armed))
			memfd_wake_all(&p->bell[i].ticket);
}

void memfd_tell(struct memfd *m, uint32_t rank)
{
	uint32_t i;

	__atomic_fetch_add(&view(m)->loss, 1, __ATOMIC_RELEASE);
	/* See bell.ticket */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (i = 0; i < m->ep->info.world; i++)
		if (i == rank || state_of(m, i) == VFAB_PEER_HELD)
			wake_rank(m, i);
}

struct vfab_peer *memfd_change_begin(struct memfd *m, uint32_t rank)
{
	struct vfab_peer *p = &view(m)->peer[rank];

	SET(p->generation, GET(p->generation) | 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return p;
}

void memfd_change_end(struct memfd *m, struct vfab_peer *p)
{
	__atomic_fetch_add(&p->generation, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&view(m)->generation, 1, __ATOMIC_RELEASE);
}

void memfd_punch(struct memfd *m, uint64_t at, uint64_t size)
{
	if (memfd_ours(m, m->ep->fd))
		fallocate(m->ep->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, size);
}

/* Losses come first and memory last, as vfabi_lost() needs it. */
void memfd_reap(struct memfd *m, uint32_t rank)
{
	struct place *p = place(m, rank);
	uint32_t i, n = windows_of(p);
	struct vfab_peer *peer = memfd_change_begin(m, rank);

	__atomic_fetch_add(&peer->losses, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&peer->state, VFAB_PEER_VACANT, __ATOMIC_RELEASE);
	memfd_change_end(m, peer);
	memfd_tell(m, rank);
	for (i = 0; i < n; i++)
		__atomic_store_n(&p->window[i].handle, 0, __ATOMIC_RELEASE);
	memfd_punch(m, slice_at(m->ep->info.world, rank), SLICE);
	__atomic_store_n(&p->dirty, 0, __ATOMIC_RELEASE);
}

bool memfd_dirty(const struct memfd *m, uint32_t rank)
{
	/* The place of a rank that never was held has no memory: leave it so */
	return GET(view(m)->peer[rank].generation) &&
	       __atomic_load_n(&place(m, rank)->dirty, __ATOMIC_ACQUIRE);
}

static void look_for_dead(struct memfd *m)
{
	uint32_t i;

	for (i = 0; i < m->ep->info.world; i++) {
		/* One's own lock is no obstacle to oneself */
		if ((i == m->ep->info.rank && !m->forked) || !memfd_dirty(m, i) ||
		    memfd_held(m, i) || try_take(m, i))
			continue;
		if (memfd_dirty(m, i) && !memfd_held(m, i))
			memfd_reap(m, i);
		memfd_give(m, i);
	}
}

void memfd_watch(struct vfab_ep *ep)
{
	struct memfd *m = ep->own;
	struct timespec ts;
	uint64_t now, last;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	now = ts.tv_sec * VFAB_SECOND + ts.tv_nsec;
	if (now - GET(m->watched) < WATCH / 4)
		return;
	SET(m->watched, now);
	/*
	 * One for all, but none that has lost its own file and could not tell. A
	 * time that is not in the last moments is nonsense, or old.
	 */
	last = GET(head(m)->watched.at);
	if (now - last >= WATCH && memfd_ours(m, m->hold) &&
	    __atomic_compare_exchange_n(&head(m)->watched.at, &last, now, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		look_for_dead(m);
}
