// SPDX-License-Identifier: LGPL-2.1
/* What is reachable: the route view, and events. */
#include <poll.h>
#include <unistd.h>
#include "vfab_int.h"

const struct vfab_view *vfab_view(const struct vfab_ep *ep)
{
	return ep->view;
}

uint64_t vfab_loss(const struct vfab_ep *ep)
{
	return vfabi_load(&ep->view->loss);
}

int vfab_peer(const struct vfab_ep *ep, uint32_t rank, struct vfab_peer *peer)
{
	const struct vfab_peer *p = &ep->view->peer[rank];
	int64_t end = 0;
	uint64_t g;

	if (rank >= ep->info.world)
		return vfabi_fail(EINVAL, "rank %u is not one of dom%u's %u ranks",
				  rank, ep->info.domain, ep->info.world);
	for (;;) {
		g = vfabi_load(&p->generation);
		peer->generation = g;
		peer->losses = __atomic_load_n(&p->losses, __ATOMIC_RELAXED);
		peer->revoked = __atomic_load_n(&p->revoked, __ATOMIC_RELAXED);
		peer->state = __atomic_load_n(&p->state, __ATOMIC_RELAXED);
		peer->paths = __atomic_load_n(&p->paths, __ATOMIC_RELAXED);
		peer->rate = __atomic_load_n(&p->rate, __ATOMIC_RELAXED);
		peer->latency = __atomic_load_n(&p->latency, __ATOMIC_RELAXED);
		/* The fields are read before the generation is read again. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(g & 1) &&
		    __atomic_load_n(&p->generation, __ATOMIC_RELAXED) == g)
			return 0;
		if (!end)
			end = vfabi_now() + VFAB_SECOND;
		else if (vfabi_now() > end)
			return vfabi_fail(EAGAIN, "the route to rank %u changes all the time",
					  rank);
		sched_yield();
	}
}

int vfab_event(struct vfab_ep *ep, struct vfab_event *event, int64_t timeout)
{
	uint64_t deadline = vfabi_deadline(timeout);
	struct pollfd p = { .fd = ep->fd, .events = POLLIN };
	struct timespec ts;
	int64_t left;
	ssize_t n;

	for (;;) {
		n = read(ep->fd, event, sizeof(*event));
		if (n == sizeof(*event))
			return 0;
		if (!n)
			return vfabi_fail_ended();
		if (errno != EAGAIN)
			return vfabi_fail(errno, "reading an event: %s",
					  vfabi_errno(errno));
		left = vfabi_left(deadline);
		if (!left)
			return vfabi_fail(ETIMEDOUT, "there is no event");
		ts.tv_sec = left / VFAB_SECOND;
		ts.tv_nsec = left % VFAB_SECOND;
		if (ppoll(&p, 1, left < 0 ? NULL : &ts, NULL) < 0)
			return vfabi_fail(errno, "waiting for an event: %s",
					  vfabi_errno(errno));
	}
}
