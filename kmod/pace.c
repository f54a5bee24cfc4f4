// SPDX-License-Identifier: GPL-2.0
/*
 * Pacing: rates and latencies act on those who ask (libvfab does).
 *
 * Each port has a time until which it is busy sending. A transfer spreads over
 * the links of its route as vf_route_flow() says; each takes its share at its
 * rate, after what was reserved on it before. It has arrived when the last link
 * is done, but not sooner than the route's rate allows, and the latency later.
 * So transfers share links, first come, first served, and an idle route gives
 * what the route view and "route trace" say.
 *
 * Nobody waits in here: the answer is a time. Reservations are bounded, so that
 * a link that many share is not taken away from them: one call reserves
 * VF_PACE_ONCE at most by the rate of its route, and an endpoint that is
 * VF_PACE_AHEAD of the clock nothing. A link of the route may be much slower than
 * the route: no link is reserved beyond VF_PACE_MOST, and a link that changes is
 * free at once.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include "vfabric.h"

#define VF_PACE_ONCE	(NSEC_PER_SEC / 10)
#define VF_PACE_AHEAD	(10 * NSEC_PER_SEC)
#define VF_PACE_MOST	(120 * NSEC_PER_SEC)
#define VF_PACE_LEAST	64	/* bytes that a call reserves however long they take */

/* Nanoseconds that bytes take at a rate of 10^6 bytes per second */
static u64 vf_pace_ns(const struct vf_domain *dom, u64 bytes, u32 rate)
{
	return mul_u64_u64_div_u64(bytes, NSEC_PER_USEC * (u64)dom->shape_scale, rate);
}

/* Of at most so many, as many as a call reserves. */
static u64 vf_pace_grant(const struct vf_domain *dom, u64 bytes, u32 rate)
{
	u64 once = mul_u64_u64_div_u64(VF_PACE_ONCE, rate,
				       NSEC_PER_USEC * (u64)dom->shape_scale);

	return min_t(u64, bytes, max_t(u64, once, VF_PACE_LEAST));
}

/**
 * struct vf_pacing - a transfer that is being reserved
 * @now:	when it begins
 * @own:	until when the endpoint's transfers before it take
 * @end:	when all links are done
 */
struct vf_pacing {
	struct vf_domain *dom;
	u64 now;
	u64 own;
	u64 end;
};

static void vf_pace_port(void *arg, u32 port, u64 bytes)
{
	struct vf_pacing *p = arg;
	struct vf_domain *dom = p->dom;
	u32 rate = dom->topo.link[dom->topo.port[port].link].rate_now;
	u64 start = max(dom->busy[port], p->now);

	/* What waits for the endpoint's own is not held up by others */
	if (start > p->own)
		dom->port_moved[port].xmit_wait += start - p->own;
	dom->busy[port] = min(start + vf_pace_ns(dom, bytes, rate),
			      p->now + VF_PACE_MOST);
	p->end = max(p->end, dom->busy[port]);
}

static int vf_pace_route(struct vf_holder *h, struct vfab_pace *a)
{
	bool get = a->flags & VFAB_PACE_GET;
	u32 src = get ? a->rank : h->rank, dst = get ? h->rank : a->rank;
	struct vf_domain *dom = h->dom;
	struct vf_pacing p = { .dom = dom, .now = ktime_get_ns() };
	struct vf_route r;

	if (h->paced > p.now + VF_PACE_AHEAD) {
		a->bytes = 0;
		a->at = h->paced - VF_PACE_AHEAD;
		return 0;
	}
	vf_pair_route(dom, src, dst, &r);
	if (!r.rate)	/* no path; we divide by it */
		return -EHOSTUNREACH;
	a->bytes = vf_pace_grant(dom, a->bytes, r.rate);
	p.own = max(h->paced, p.now);
	p.end = p.now + vf_pace_ns(dom, a->bytes, r.rate);
	vf_route_flow(&dom->topo, src, dst, a->bytes, vf_pace_port, &p);
	h->paced = clamp(p.end, h->paced, p.now + VF_PACE_AHEAD + VF_PACE_ONCE);
	a->at = p.end + (u64)r.latency * dom->shape_scale;
	return 0;
}

/**
 * vf_pace - reserve time on the links of a route
 * @h: who moves bytes
 * @a: see struct vfab_pace
 *
 * Return: 0, -EOPNOTSUPP, -EINVAL, what vf_holder_lock() and vf_reach() say.
 */
int vf_pace(struct vf_holder *h, struct vfab_pace *a)
{
	int ret;

	if (a->flags & ~VFAB_PACE_GET)
		return -EOPNOTSUPP;
	if (a->rank >= h->dom->topo.world || !a->bytes || a->bytes > VF_WINDOW_MAX)
		return -EINVAL;
	ret = vf_holder_lock(h);
	if (ret)
		return ret;
	ret = a->rank == h->rank ? -EINVAL : vf_reach(h->dom, h->rank, a->rank);
	a->at = 0;
	if (!ret && h->dom->shape)
		ret = vf_pace_route(h, a);
	mutex_unlock(&h->dom->lock);
	return ret;
}

/* A link is about to change: what was reserved on it was so at another rate. */
void vf_pace_forget(struct vf_domain *dom, u32 link)
{
	const struct vf_link *l = &dom->topo.link[link];

	lockdep_assert_held(&dom->lock);
	if (dom->busy) {
		dom->busy[l->end[0]] = 0;
		dom->busy[l->end[1]] = 0;
	}
}

/**
 * vf_pace_set - rates and latencies act from now on, or no more
 * @dom: under its lock
 * @on: whether
 * @scale: so many times slower; 1 or more
 *
 * What was reserved before counts no more. Views tell. Return: 0 or -ENOMEM.
 */
int vf_pace_set(struct vf_domain *dom, bool on, u32 scale)
{
	struct vf_holder *h;
	u32 rank;

	lockdep_assert_held(&dom->lock);
	if (on && !dom->busy)
		dom->busy = kvcalloc(dom->topo.nports + 1, sizeof(*dom->busy),
				     VF_GFP_LOCKED);
	if (on && (!dom->busy || vf_counters_of_moved(dom)))
		return -ENOMEM;
	if (dom->busy)
		memset(dom->busy, 0, dom->topo.nports * sizeof(*dom->busy));
	dom->shape = on;
	dom->shape_scale = scale;
	for (rank = 0; rank < dom->topo.world; rank++) {
		h = rcu_dereference_protected(dom->eps[rank].holder,
					      lockdep_is_held(&dom->lock));
		if (!h || h->remote)
			continue;
		h->paced = 0;
		WRITE_ONCE(h->view->shape, on ? scale : 0);
	}
	return 0;
}
