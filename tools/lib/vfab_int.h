/* SPDX-License-Identifier: LGPL-2.1 */
/* What the files of libvfab share: endpoints, and the transports below them. */
#ifndef VFAB_INT_H
#define VFAB_INT_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "vfab.h"
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
#include <sys/single_threaded.h>
#define VFABI_SINGLE_THREADED
#endif

/* A doorbell's words, the only ones that several processes write. */
struct vfabi_bell {
	char *pages;		/* counts, armed words; NULL: not mapped yet */
	uint64_t cookie;
	uint32_t losses;	/* of the peer, when it was mapped */
};

/*
 * A transport: how what is asked for in vfab.h is brought about. Whoever polls,
 * rings without waking anybody or looks whether a peer was lost does not call it:
 * each transport keeps the words concerned in memory that all share, and tells
 * where (@view, @ended and @armed of the endpoint, @pages of the doorbells).
 *
 * Calls return 0, or a negative errno whose sentence they have left with
 * vfabi_fail(), where they do not say otherwise. Ranks and vectors that they are
 * given are in range.
 */
struct vfab_ops {
	/* As vfab_find(); returns the file. @domain is NULL where nobody named one. */
	int (*find)(const char *domain, char *path, size_t len, struct vfab_info *info);
	/*
	 * Takes the rank, or any, of the domain that find() gave this @path for;
	 * fills @own, @view, @ended, @alive, @armed and @name, and @info anew; may
	 * replace @fd. On failure there is nothing to undo.
	 */
	int (*attach)(struct vfab_ep *ep, const char *path, uint32_t rank);
	/* Undoes attach, and what was mapped by bell; @fd stays open. */
	void (*detach)(struct vfab_ep *ep);
	int (*alloc)(struct vfab_ep *ep, struct vfab_window_alloc *a);
	int (*free)(struct vfab_ep *ep, uint64_t handle);
	int (*lookup)(struct vfab_ep *ep, struct vfab_lookup *l);
	/* The cookie is an offset in @fd, to be mapped. */
	int (*import)(struct vfab_ep *ep, struct vfab_import *i);
	/*
	 * An import is mapped at @addr; fails if it is gone meanwhile, and what is there
	 * is about to be unmapped. NULL: mappings look after themselves.
	 */
	int (*mapped)(struct vfab_ep *ep, const struct vfab_import *i, void *addr);
	void (*unmap)(struct vfab_ep *ep, void *addr);
	/* Without a sentence */
	int (*release)(struct vfab_ep *ep, uint64_t handle, uint64_t cookie);
	/* Maps the doorbells of @rank, see map_bell(); under @lock. */
	int (*bell)(struct vfab_ep *ep, uint32_t rank);
	/* Wakes those who sleep on a doorbell that is armed. */
	int (*wake)(struct vfab_ep *ep, uint32_t rank, uint32_t vector);
	/*
	 * Sleeps until the doorbell's count or the loss generation differs, the
	 * endpoint ends, or @deadline; may return 0 earlier. Without a sentence.
	 */
	int (*sleep)(struct vfab_ep *ep, uint32_t vector, uint64_t count, uint64_t loss,
		     uint64_t deadline);
	int (*eventfd)(struct vfab_ep *ep, uint32_t vector, int fd);
	int (*event)(struct vfab_ep *ep, struct vfab_event *event, int64_t timeout);
	/* Memory for struct vfab_count of each rank, which munmap() gives back */
	int (*counts)(struct vfab_ep *ep, void **p, size_t *bytes);
	/* Where shape is on. Without a sentence. */
	int (*pace)(struct vfab_ep *ep, struct vfab_pace *q);
	/* Looks for peers that died, now and then; NULL: the kernel tells. */
	void (*watch)(struct vfab_ep *ep);
};

extern const struct vfab_ops vfabi_device, vfabi_memfd, vfabi_coop;

/* find.c: find() of the kernel fabric */
int vfabi_device_find(const char *domain, char *path, size_t len, struct vfab_info *info);

struct vfab_ep {
	const struct vfab_ops *ops;
	void *own;			/* the transport's */
	int fd;
	size_t page;
	struct vfab_info info;
	char name[24];			/* of the domain, for sentences */
	const struct vfab_view *view;
	const uint32_t *ended;		/* the endpoint has, unless it is @alive */
	uint32_t alive;
	size_t armed;			/* from a doorbell's count to its armed word */
	struct vfabi_bell *bells;	/* by rank */
	pthread_mutex_t lock;		/* of the mapping of bells, of tombs, of found */
	pthread_mutex_t renewing;	/* of windows, see transfer.c; outer to @lock */
	struct vfab_lookup found;	/* the last one that found something */
	int64_t spin;
	uint32_t yields;
	bool policy_fixed;		/* VFAB_WAIT was given */
	struct vfabi_tomb {
		uint64_t tag;
		struct vfab_mem mem;
	} tombs[4];			/* see comm.c */
	unsigned int next_tomb;
	struct vfab_stats stats;
	struct vfab_count *counts;	/* by peer; NULL: nothing to count yet */
	size_t counts_bytes;
	struct vfabi_region *regions;	/* of own windows, see region.c; under @lock */
	size_t n_regions;
};

/* Called and read without a detour by the tables of the linker */
#pragma GCC visibility push(hidden)

/* Remembers the sentence for vfab_strerror() and returns -err. */
int vfabi_fail(int err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), cold));

/* The same, with the sentences that several calls have: EHOSTUNREACH, ENODEV, */
__attribute__((cold)) int vfabi_fail_lost(const struct vfab_ep *ep, uint32_t rank);
__attribute__((cold)) int vfabi_fail_ended(const struct vfab_ep *ep);
/* EEXIST, and ENOENT or ETIMEDOUT */
int vfabi_fail_tag(const struct vfab_ep *ep, uint64_t tag);
int vfabi_fail_no_tag(int err, uint32_t rank, uint64_t tag);

/* What the error means whatever it happened to. */
const char *vfabi_errno(int err);

enum vfabi_wait { VFABI_WAIT_AUTO, VFABI_WAIT_SPIN, VFABI_WAIT_YIELD, VFABI_WAIT_BLOCK };
int vfabi_env_wait(void);
int vfabi_bells_init(struct vfab_ep *ep);
void vfabi_wait_init(struct vfab_ep *ep, enum vfabi_wait how);

/*
 * vfab_wait() without polling: sleeps at once. 0, -ECONNRESET, -ETIMEDOUT and
 * so on, without a sentence.
 */
int vfabi_sleep(struct vfab_ep *ep, uint32_t vector, uint64_t *count,
		uint64_t *loss, uint64_t deadline);

/* munmap() of an import */
void vfabi_unmap(struct vfab_ep *ep, struct vfab_mem *mem);

/* mmap() of a cookie, with huge pages possible; a negative errno or 0. */
int vfabi_map(int fd, uint64_t cookie, uint64_t size, int prot, void **addr);

static inline int64_t vfabi_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * VFAB_SECOND + ts.tv_nsec;
}

/* A timeout as the kernel's absolute deadline, which is never 0. */
static inline uint64_t vfabi_deadline(int64_t timeout)
{
	int64_t t;

	if (timeout < 0 ||
	    __builtin_add_overflow(vfabi_now(), timeout, &t))
		return VFAB_NO_DEADLINE;
	return t;
}

/* What is left of it, 0 once it has passed. */
static inline int64_t vfabi_left(uint64_t deadline)
{
	int64_t left;

	if (deadline == VFAB_NO_DEADLINE)
		return VFAB_FOREVER;
	left = (int64_t)deadline - vfabi_now();
	return left > 0 ? left : 0;
}

static inline void vfabi_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static inline uint64_t vfabi_load(const void *p)
{
	return __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE);
}

static inline uint64_t vfabi_loss(const struct vfab_ep *ep)
{
	return vfabi_load(&ep->view->loss);
}

static inline uint32_t vfabi_losses(const struct vfab_ep *ep, uint32_t rank)
{
	return __atomic_load_n(&ep->view->peer[rank].losses, __ATOMIC_ACQUIRE);
}

/* VFAB_PEER_* */
static inline uint32_t vfabi_state(const struct vfab_ep *ep, uint32_t rank)
{
	return __atomic_load_n(&ep->view->peer[rank].state, __ATOMIC_RELAXED);
}

/*
 * Whether @rank was lost since its losses were @base. What a peer's memory
 * gave before this returned false came from the peer: the kernel stores losses
 * and state before anybody can touch a page that stands in for the peer's, and
 * the acquire fence keeps these loads behind the caller's. (An atomic add that
 * may have gone to such a page needs a full fence: it stores.) An outage that
 * may pass, VFAB_PEER_RECOVERY, is no loss: accesses sleep until the route is
 * back or the loss is stored, and give nothing meanwhile.
 */
static inline bool vfabi_lost(const struct vfab_ep *ep, uint32_t rank,
			      uint32_t base)
{
	uint32_t state;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	state = vfabi_state(ep, rank);
	return vfabi_losses(ep, rank) != base ||
	       (state != VFAB_PEER_HELD && state != VFAB_PEER_RECOVERY);
}

static inline bool vfabi_ended(const struct vfab_ep *ep)
{
	return __atomic_load_n(ep->ended, __ATOMIC_ACQUIRE) != ep->alive;
}

/*
 * Whoever waits without vfabi_sleep(), which does it, calls this every 100 ms or
 * so: that peers died, one of those who wait has to find out.
 */
static inline void vfabi_watch(struct vfab_ep *ep)
{
	if (ep->ops->watch)
		ep->ops->watch(ep);
}

/*
 * Which of a peer's losses and revocations there have been, in one word: what
 * struct vfab_peer has in two.
 */
union vfabi_fate {
	uint64_t word;
	struct {
		uint32_t losses;
		uint32_t revoked;
	};
};

static inline union vfabi_fate vfabi_fate(const struct vfab_ep *ep, uint32_t rank)
{
	return (union vfabi_fate){ vfabi_load(&ep->view->peer[rank].losses) };
}

/* transfer.c: what operations move is counted, and takes its time. */

enum vfabi_way { VFABI_PUT, VFABI_GET };

/* Maps what bytes are counted in, if it is not yet. */
int vfabi_counts_map(struct vfab_ep *ep);
void vfabi_counts_unmap(struct vfab_ep *ep);

static inline int vfabi_counts(struct vfab_ep *ep)
{
	/* Pairs with the release in vfabi_counts_map() */
	return __atomic_load_n(&ep->counts, __ATOMIC_ACQUIRE) ? 0 : vfabi_counts_map(ep);
}

/* Set for good before the process forks: the child counts in the same memory. */
extern bool vfabi_forked;

/* Nobody else adds to the words, and the cheaper instruction will do. */
static inline bool vfabi_alone(void)
{
#ifdef VFABI_SINGLE_THREADED
	return __libc_single_threaded && !vfabi_forked;
#else
	return false;
#endif
}

static inline void vfabi_add(__u64 *word, uint64_t n)
{
	if (vfabi_alone())
		__atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) + n,
				 __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(word, n, __ATOMIC_RELAXED);
}

/* Bytes have moved to or from a peer, not the own rank. After vfabi_counts(). */
static inline void vfabi_count(struct vfab_ep *ep, uint32_t rank, enum vfabi_way way,
			       size_t bytes)
{
	struct vfab_count *c = &ep->counts[rank];

	vfabi_add(way == VFABI_PUT ? &c->put_bytes : &c->get_bytes, bytes);
	vfabi_add(way == VFABI_PUT ? &c->put_ops : &c->get_ops, 1);
}

/*
 * A wait for what the fabric needs: @until is when all that was reserved is
 * there. Meanwhile @stop is asked every few milliseconds; what it returns other
 * than 0 ends the wait and is returned.
 */
struct vfabi_pace {
	struct vfab_ep *ep;
	uint64_t until;
	int (*stop)(void *arg);
	void *arg;
};

static inline bool vfabi_paced(const struct vfab_ep *ep)
{
	return __atomic_load_n(&ep->view->shape, __ATOMIC_RELAXED);
}

/*
 * Reserve time for bytes to or from a peer, if shape is on; may wait until
 * there is room for that. 0, what @stop returned, or a negative errno without
 * a sentence.
 */
int vfabi_reserve(struct vfabi_pace *p, uint32_t rank, enum vfabi_way way, size_t bytes);

/* Wait until @until. 0, or what @stop returned. */
int vfabi_arrive(struct vfabi_pace *p);

/*
 * Before an operation: does the mapping lead to the window? It is mapped anew if
 * that is in doubt. @after it: did it lead there all the time?
 */
int vfabi_mem_check(struct vfab_ep *ep, struct vfab_mem *mem, bool after);

/*
 * region.c: mappings of own windows, with what access peers may have. The window
 * in which all of some bytes lie: its handle, and where.
 */
int vfabi_region_add(struct vfab_ep *ep, const struct vfab_mem *mem, uint32_t access);
void vfabi_region_del(struct vfab_ep *ep, const void *addr);
bool vfabi_region_find(struct vfab_ep *ep, const void *addr, size_t len, uint64_t *handle,
		       uint64_t *offset, uint32_t *access);

/* vfab_ring() when its time has come */
int vfabi_ring(struct vfab_ep *ep, uint32_t rank, uint32_t vector);

#pragma GCC visibility pop

#endif
