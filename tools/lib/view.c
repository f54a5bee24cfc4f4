// SPDX-License-Identifier: LGPL-2.1
/* What is reachable: the route view, and events. */
#include "vfab_int.h"

const struct vfab_view *vfab_view(const struct vfab_ep *ep)
{
	return ep->view;
}

uint64_t vfab_loss(const struct vfab_ep *ep)
{
	vfabi_watch((struct vfab_ep *)ep);
	return vfabi_loss(ep);
}

int vfab_peer(const struct vfab_ep *ep, uint32_t rank, struct vfab_peer *peer)
{
	const struct vfab_peer *p = &ep->view->peer[rank];
	int64_t end = 0;
	uint64_t g;

	if (rank >= ep->info.world)
		return vfabi_fail(EINVAL, "rank %u is not one of %s's %u ranks",
				  rank, ep->name, ep->info.world);
	vfabi_watch((struct vfab_ep *)ep);
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
	return ep->ops->event(ep, event, timeout);
}
