// SPDX-License-Identifier: LGPL-2.1
/*
 * What operations move: copies to and from peers, and what they, collectives
 * and rings have in common: bytes are counted, and take the time that the
 * fabric asks for. Loads and stores of mapped memory know nothing of it.
 */
#include <string.h>
#include <sys/mman.h>
#include "vfab_int.h"

/* How long a wait does not look whether it still makes sense */
#define SLICE	(VFAB_SECOND / 200)

/* Below this, a sleep takes longer than the wait. */
#define SPIN	20000

bool vfabi_forked;

static void forking(void)
{
	vfabi_forked = true;
}

static void watch_forks(void)
{
	pthread_atfork(forking, NULL, NULL);
}

int vfabi_counts_map(struct vfab_ep *ep)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	void *p = NULL;
	int ret = 0;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&ep->lock);
	if (!ep->counts)
		ret = ep->ops->counts(ep, &p, &ep->counts_bytes);
	if (p)
		__atomic_store_n(&ep->counts, p, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ep->lock);
	return ret;
}

void vfabi_counts_unmap(struct vfab_ep *ep)
{
	if (ep->counts)
		munmap(ep->counts, ep->counts_bytes);
}

/* Until @at, or until somebody has had enough. */
static int wait_until(struct vfabi_pace *p, uint64_t at)
{
	struct timespec ts;
	uint64_t now, next;
	int ret;

	for (;;) {
		now = vfabi_now();
		if (now >= at)
			return 0;
		if (at - now < SPIN) {
			vfabi_relax();
			continue;
		}
		next = at - now < SLICE ? at : now + SLICE;
		ts.tv_sec = next / VFAB_SECOND;
		ts.tv_nsec = next % VFAB_SECOND;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		ret = p->stop(p->arg);
		if (ret)
			return ret;
	}
}

static bool recovering(const struct vfab_ep *ep, uint32_t rank)
{
	return __atomic_load_n(&ep->view->peer[rank].state, __ATOMIC_RELAXED) ==
	       VFAB_PEER_RECOVERY;
}

int vfabi_reserve(struct vfabi_pace *p, uint32_t rank, enum vfabi_way way, size_t bytes)
{
	struct vfab_ep *ep = p->ep;
	struct vfab_pace q;
	int ret;

	while (bytes && rank != ep->info.rank && vfabi_paced(ep)) {
		q = (struct vfab_pace) {
			.rank = rank, .flags = way == VFABI_GET ? VFAB_PACE_GET : 0,
			.bytes = bytes < ep->info.window_max ? bytes : ep->info.window_max,
		};
		ret = ep->ops->pace(ep, &q);
		if (ret) {
			/* An outage that may pass */
			if (ret != -EHOSTUNREACH || !recovering(ep, rank))
				return ret;
			q.bytes = 0;
			q.at = vfabi_now() + VFAB_SECOND / 1000;
		}
		if (!q.bytes) {
			ret = wait_until(p, q.at);
			if (ret)
				return ret;
		} else if (q.at > p->until) {
			p->until = q.at;
		}
		bytes -= q.bytes;
	}
	return 0;
}

int vfabi_arrive(struct vfabi_pace *p)
{
	return p->until ? wait_until(p, p->until) : 0;
}

static int ended(const struct vfab_ep *ep)
{
	return vfabi_ended(ep) ? vfabi_fail_ended(ep) : 0;
}

/*
 * Map the window anew, at the same address. Whether the import that is there
 * still leads to it is not known: the owner was lost and came back, or freed some
 * window. If this one is gone, this is refused. Moving a mapping over another
 * leaves no gap, so other threads may be using it.
 */
static int renew(struct vfab_ep *ep, struct vfab_mem *mem)
{
	uint64_t old = mem->cookie;
	union vfabi_fate fate = vfabi_fate(ep, mem->rank);
	struct vfab_mem m;
	void *p;
	int ret;

	ret = vfab_import(ep, mem->handle, mem->access, mem->loss, &m);
	if (ret)
		return ret;
	p = mremap(m.addr, m.size, m.size, MREMAP_MAYMOVE | MREMAP_FIXED, mem->addr);
	if (p == MAP_FAILED) {
		ret = errno;
		vfab_release(ep, &m);
		return vfabi_fail(ret, "mapping rank %u's window anew: %s", mem->rank,
				  vfabi_errno(ret));
	}
	mem->cookie = m.cookie;
	__atomic_store_n(&mem->fate, fate.word, __ATOMIC_RELAXED);
	__atomic_store_n(&mem->known, 1, __ATOMIC_RELEASE);
	ep->ops->release(ep, mem->handle, old);
	return 0;
}

/* Is the owner there, and what it was when the window was imported? */
static bool same(const struct vfab_ep *ep, const struct vfab_mem *mem, uint64_t *fate)
{
	bool known = __atomic_load_n(&mem->known, __ATOMIC_ACQUIRE);

	*fate = __atomic_load_n(&mem->fate, __ATOMIC_RELAXED);
	return known && vfabi_fate(ep, mem->rank).word == *fate &&
	       !vfabi_lost(ep, mem->rank, ((union vfabi_fate){ *fate }).losses);
}

/* Before an operation: does the mapping lead to the window? *@fate is that. */
static int find(struct vfab_ep *ep, struct vfab_mem *mem, uint64_t *fate)
{
	int ret = 0;

	if (mem->rank == ep->info.rank)
		return ended(ep);
	if (same(ep, mem, fate))
		return 0;
	pthread_mutex_lock(&ep->renewing);
	if (!same(ep, mem, fate)) {
		ret = renew(ep, mem);
		if (!ret && !same(ep, mem, fate))
			ret = vfabi_fail_lost(ep, mem->rank);
	}
	pthread_mutex_unlock(&ep->renewing);
	return ret;
}

/*
 * After it: did it lead there all the time? If some window of the owner was
 * freed, it did unless it was this one, which can be asked.
 */
static int found(struct vfab_ep *ep, struct vfab_mem *mem, uint64_t fate)
{
	union vfabi_fate was = { fate };
	int ret = ended(ep);

	if (ret || mem->rank == ep->info.rank)
		return ret;
	if (vfabi_lost(ep, mem->rank, was.losses))
		return vfabi_fail_lost(ep, mem->rank);
	return vfabi_fate(ep, mem->rank).word == fate ? 0 : find(ep, mem, &fate);
}

int vfabi_mem_check(struct vfab_ep *ep, struct vfab_mem *mem, bool after)
{
	uint64_t fate = mem->fate;

	return after ? found(ep, mem, fate) : find(ep, mem, &fate);
}

/* An operation that waits for its time */
struct waiting {
	struct vfab_ep *ep;
	struct vfab_mem *mem;
	uint64_t fate;
};

static int copy_stop(void *arg)
{
	struct waiting *w = arg;

	return found(w->ep, w->mem, w->fate);
}

static int check(const struct vfab_mem *mem, uint64_t offset, size_t len, uint32_t access)
{
	if (!mem->addr)
		return vfabi_fail(EINVAL, "there is no mapping: import the window");
	if (offset > mem->size || len > mem->size - offset)
		return vfabi_fail(EINVAL,
				  "%zu bytes from %llu on: the window of rank %u has %llu",
				  len, (unsigned long long)offset, mem->rank,
				  (unsigned long long)mem->size);
	if (access & ~mem->access)
		return vfabi_fail(EACCES, "rank %u's window was imported for reading",
				  mem->rank);
	return 0;
}

static int copy(struct vfab_ep *ep, struct vfab_mem *mem, enum vfabi_way way, void *to,
		const void *from, size_t len)
{
	struct waiting w = { .ep = ep, .mem = mem };
	struct vfabi_pace p = { .ep = ep, .stop = copy_stop, .arg = &w };
	int ret = vfabi_counts(ep);

	if (!ret)
		ret = find(ep, mem, &w.fate);
	if (ret)
		return ret;
	ret = vfabi_reserve(&p, mem->rank, way, len);
	if (ret == -EHOSTUNREACH || ret == -EACCES)
		ret = vfabi_fail_lost(ep, mem->rank);
	if (ret)
		return ret;
	memcpy(to, from, len);
	/* Stores, too, come before the looks at the view, see vfabi_lost() */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	ret = vfabi_arrive(&p);
	if (!ret)
		ret = found(ep, mem, w.fate);
	if (!ret && len && mem->rank != ep->info.rank)
		vfabi_count(ep, mem->rank, way, len);
	return ret;
}

int vfab_put(struct vfab_ep *ep, struct vfab_mem *mem, uint64_t offset,
	     const void *buf, size_t len)
{
	int ret = check(mem, offset, len, VFAB_ACCESS_WRITE);

	return ret ? ret : copy(ep, mem, VFABI_PUT, (char *)mem->addr + offset, buf, len);
}

int vfab_get(struct vfab_ep *ep, struct vfab_mem *mem, uint64_t offset,
	     void *buf, size_t len)
{
	int ret = check(mem, offset, len, VFAB_ACCESS_READ);

	return ret ? ret : copy(ep, mem, VFABI_GET, buf, (char *)mem->addr + offset, len);
}
