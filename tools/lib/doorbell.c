// SPDX-License-Identifier: LGPL-2.1
/* Doorbells: rung, waited for. */
#include <stdlib.h>
#include <string.h>
#include "vfab_int.h"

static bool mapped(const struct vfab_ep *ep, uint32_t rank)
{
	const struct vfabi_bell *b = &ep->bells[rank];

	/*
	 * Pairs with the release in map_bell(): whoever sees the losses also
	 * sees the pages that were mapped under them.
	 */
	return __atomic_load_n(&b->losses, __ATOMIC_ACQUIRE) ==
		       vfabi_losses(ep, rank) &&
	       __atomic_load_n(&b->pages, __ATOMIC_RELAXED);
}

/*
 * Maps the doorbells of @rank, anew if the peer was lost since: the endpoint
 * that has the rank now may be another one.
 */
static int map_bell(struct vfab_ep *ep, uint32_t rank)
{
	struct vfabi_bell *b = &ep->bells[rank];
	uint32_t losses = vfabi_losses(ep, rank);
	int ret = ep->ops->bell(ep, rank);

	if (!ret)
		__atomic_store_n(&b->losses, losses, __ATOMIC_RELEASE);
	return ret;
}

static int bell(struct vfab_ep *ep, uint32_t rank)
{
	int ret = 0;

	if (mapped(ep, rank))
		return 0;
	pthread_mutex_lock(&ep->lock);
	if (!mapped(ep, rank))
		ret = map_bell(ep, rank);
	pthread_mutex_unlock(&ep->lock);
	return ret;
}

int vfabi_bells_init(struct vfab_ep *ep)
{
	ep->bells = calloc(ep->info.world, sizeof(*ep->bells));
	if (!ep->bells)
		return vfabi_fail(ENOMEM, "out of memory");
	return map_bell(ep, ep->info.rank);
}

static void count_stat(uint64_t *stat)
{
	__atomic_store_n(stat, __atomic_load_n(stat, __ATOMIC_RELAXED) + 1,
			 __ATOMIC_RELAXED);
}

static inline int ring(struct vfab_ep *ep, uint32_t rank, uint32_t vector)
{
	struct vfabi_bell *b;
	uint32_t losses;
	char *word;
	int ret;

	ret = bell(ep, rank);
	if (!ret)
		ret = vfabi_counts(ep);
	if (ret)
		return ret;
	b = &ep->bells[rank];
	/*
	 * Before the ring: if the peer is lost and another thread maps the
	 * doorbells of who came after it, this ring may have been in the old
	 * ones. Who sees the new losses here also rings in the new doorbells,
	 * see mapped().
	 */
	losses = __atomic_load_n(&b->losses, __ATOMIC_ACQUIRE);
	word = b->pages + vector * VFAB_BELL_STRIDE;
	/*
	 * Sequentially consistent, both: that order is the full fence. It pairs
	 * with the fence between WAIT's store to the armed word and its load of
	 * the count: one of the two sees the other's store.
	 */
	__atomic_fetch_add((uint64_t *)word, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n((uint64_t *)(word + ep->armed), __ATOMIC_SEQ_CST)) {
		count_stat(&ep->stats.ring_calls);
		ret = ep->ops->wake(ep, rank, vector);
		if (ret)
			return ret;
	}
	/*
	 * The page that stands in for a lost peer's, or after the own end, takes
	 * the ring as well. That the ring went to the peer is known only now:
	 * the kernel lets nobody touch that page before the view says that the
	 * peer is lost or the endpoint has ended, and the load above, which
	 * follows the ring, acquires. During an outage that may pass the ring
	 * itself sleeps: until the route is back, or the view has the loss.
	 */
	if (vfabi_ended(ep))
		return vfabi_fail_ended(ep);
	if (rank != ep->info.rank && vfabi_lost(ep, rank, losses))
		return vfabi_fail_lost(ep, rank);
	vfabi_add(&ep->counts[rank].rings, 1);
	return 0;
}

int vfabi_ring(struct vfab_ep *ep, uint32_t rank, uint32_t vector)
{
	return ring(ep, rank, vector);
}

/* Whom a ring that waits is for */
struct ringing {
	struct vfab_ep *ep;
	uint32_t rank;
	uint32_t losses;
};

static int ring_stop(void *arg)
{
	const struct ringing *r = arg;

	if (vfabi_ended(r->ep))
		return vfabi_fail_ended(r->ep);
	return vfabi_lost(r->ep, r->rank, r->losses) ?
	       vfabi_fail_lost(r->ep, r->rank) : 0;
}

static int ring_pace(struct vfab_ep *ep, uint32_t rank)
{
	struct ringing r = { ep, rank, vfabi_losses(ep, rank) };
	struct vfabi_pace p = { .ep = ep, .stop = ring_stop, .arg = &r };
	int ret = vfabi_reserve(&p, rank, VFABI_PUT, VFAB_RING_BYTES);

	if (!ret)
		ret = vfabi_arrive(&p);
	/* Why there is no route, those who map and ring say better */
	return ret == -EHOSTUNREACH || ret == -EACCES ? 0 : ret;
}

int vfab_ring(struct vfab_ep *ep, uint32_t rank, uint32_t vector)
{
	int ret;

	if (rank >= ep->info.world || vector >= VFAB_VECTORS)
		return vfabi_fail(EINVAL, "doorbell %u of rank %u: there are %u ranks of %u",
				  vector, rank, ep->info.world, VFAB_VECTORS);
	if (__builtin_expect(vfabi_paced(ep), 0) && rank != ep->info.rank) {
		ret = ring_pace(ep, rank);
		if (ret)
			return ret;
	}
	return ring(ep, rank, vector);
}

uint64_t vfab_count(const struct vfab_ep *ep, uint32_t vector)
{
	const char *pages = ep->bells[ep->info.rank].pages;

	return vfabi_load(pages + vector % VFAB_VECTORS * VFAB_BELL_STRIDE);
}

void vfabi_wait_init(struct vfab_ep *ep, enum vfabi_wait how)
{
	cpu_set_t cpus;
	uint32_t n;

	/* All ranks of a memfd run on this machine: who spins keeps others from it */
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		n = 2;
	else
		n = CPU_COUNT(&cpus);
	if (n > 1 && (ep->ops == &vfabi_device || ep->info.world <= n))
		vfab_wait_policy(ep, 20000, 0);
	else
		vfab_wait_policy(ep, 0, 10);
	switch (how) {
	case VFABI_WAIT_AUTO:
		return;
	case VFABI_WAIT_SPIN:
		vfab_wait_policy(ep, -1, 0);
		break;
	case VFABI_WAIT_YIELD:
		vfab_wait_policy(ep, 0, UINT32_MAX);
		break;
	case VFABI_WAIT_BLOCK:
		vfab_wait_policy(ep, 0, 0);
		break;
	}
	ep->policy_fixed = true;
}

void vfab_wait_policy(struct vfab_ep *ep, int64_t spin, uint32_t yields)
{
	if (ep->policy_fixed)
		return;
	ep->spin = spin;
	ep->yields = yields;
}

/* What vfab_wait() returns if it returns now, or 1 to go on. */
static int changed(struct vfab_ep *ep, uint32_t vector, uint64_t *count,
		   uint64_t *loss)
{
	uint64_t c = vfab_count(ep, vector);
	uint64_t l = loss ? vfabi_loss(ep) : 0;
	int ret = 1;

	/*
	 * All of these loads acquire, so the order is that of the text. The
	 * count first: who rings because of a loss, or after it, is not seen
	 * without that loss. After the own end the count reads all ones, but not
	 * before the view says so: @ended last.
	 */
	if (c != *count)
		ret = 0;
	if (loss && l != *loss) {
		*loss = l;
		ret = -ECONNRESET;
	}
	*count = c;
	return vfabi_ended(ep) ? -ENODEV : ret;
}

static int poll_for(struct vfab_ep *ep, uint32_t vector, uint64_t *count,
		    uint64_t *loss, uint64_t deadline)
{
	int64_t end = ep->spin < 0 ? INT64_MAX : ep->spin;
	uint32_t i, yields = ep->yields;
	int ret;

	if (end && end != INT64_MAX)
		end += vfabi_now();
	while (end) {
		for (i = 0; i < 64; i++) {
			ret = changed(ep, vector, count, loss);
			if (ret <= 0)
				return ret;
			vfabi_relax();
		}
		vfabi_watch(ep);
		if ((uint64_t)vfabi_now() >= deadline)
			return -ETIMEDOUT;
		if (vfabi_now() >= end)
			break;
	}
	for (i = 0; i < yields || yields == UINT32_MAX; i++) {
		ret = changed(ep, vector, count, loss);
		if (ret <= 0)
			return ret;
		vfabi_watch(ep);
		if ((uint64_t)vfabi_now() >= deadline)
			return -ETIMEDOUT;
		sched_yield();
	}
	return 1;
}

int vfabi_sleep(struct vfab_ep *ep, uint32_t vector, uint64_t *count,
		uint64_t *loss, uint64_t deadline)
{
	int ret, err;

	do {
		count_stat(&ep->stats.wait_calls);
		err = ep->ops->sleep(ep, vector, *count, loss ? *loss : vfabi_loss(ep),
				     deadline);
		ret = changed(ep, vector, count, loss);
		if (ret == 1 && err)
			ret = err;
	} while (ret == 1);
	return ret;
}

int vfab_wait(struct vfab_ep *ep, uint32_t vector, uint64_t *count,
	      uint64_t *loss, int64_t timeout)
{
	uint64_t deadline;
	int ret;

	if (vector >= VFAB_VECTORS)
		return vfabi_fail(EINVAL, "there is no doorbell %u: there are %u",
				  vector, VFAB_VECTORS);
	count_stat(&ep->stats.waits);
	ret = changed(ep, vector, count, loss);
	if (ret == 1 && !timeout)
		ret = -ETIMEDOUT;
	if (ret == 1) {
		deadline = vfabi_deadline(timeout);
		ret = poll_for(ep, vector, count, loss, deadline);
		if (ret == 1)
			ret = vfabi_sleep(ep, vector, count, loss, deadline);
	}
	switch (ret) {
	case -ECONNRESET:
		return vfabi_fail(ECONNRESET,
				  "an endpoint of the partition ended, or a route was lost: vfab_peer() tells which");
	case -ETIMEDOUT:
		return vfabi_fail(ETIMEDOUT, "nobody rang doorbell %u", vector);
	case -ENODEV:
		return vfabi_fail_ended(ep);
	}
	return ret;
}

int vfab_eventfd(struct vfab_ep *ep, uint32_t vector, int fd)
{
	return ep->ops->eventfd(ep, vector, fd);
}

void vfab_stats(const struct vfab_ep *ep, struct vfab_stats *stats)
{
	uint32_t i;

	stats->rings = 0;
	stats->ring_calls = __atomic_load_n(&ep->stats.ring_calls, __ATOMIC_RELAXED);
	stats->waits = __atomic_load_n(&ep->stats.waits, __ATOMIC_RELAXED);
	stats->wait_calls = __atomic_load_n(&ep->stats.wait_calls, __ATOMIC_RELAXED);
	for (i = 0; i < ep->info.world && ep->counts; i++)
		stats->rings += __atomic_load_n(&ep->counts[i].rings, __ATOMIC_RELAXED);
}
