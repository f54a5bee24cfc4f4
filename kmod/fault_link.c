// SPDX-License-Identifier: GPL-2.0
/* Faults of links: down, flapping, worse than they were built. */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include "fault.h"

/* The fault's links are about to change: what routes they concern is as it still is. */
static void vf_fault_touch(struct vf_fault *f, struct vf_fault_step *s)
{
	struct vf_topo *t = &f->dom->topo;
	u32 i, at = 0;

	while ((i = vf_links_next(t, &f->links, &at)) != VF_NONE)
		vf_change_link(f->dom, i, s->dests);
	s->topology = true;
	s->shown |= !vf_fault_given(f, VF_P_SILENT);
}

/* @delta: 1: they are broken by one fault more, -1: by one less */
void vf_fault_break(struct vf_fault *f, struct vf_fault_step *s, int delta)
{
	struct vf_topo *t = &f->dom->topo;
	u32 i, at = 0;

	vf_fault_touch(f, s);
	while ((i = vf_links_next(t, &f->links, &at)) != VF_NONE)
		t->link[i].broken += delta;
}

static void vf_link_down_start(struct vf_fault *f, struct vf_fault_step *s)
{
	vf_fault_break(f, s, 1);
	f->hits++;
}

static void vf_link_down_stop(struct vf_fault *f, struct vf_fault_step *s)
{
	vf_fault_break(f, s, -1);
}

static void vf_flap_links(struct vf_fault *f, struct vf_fault_step *s, bool down)
{
	struct vf_topo *t = &f->dom->topo;
	u32 i, at = 0;

	vf_fault_touch(f, s);
	while ((i = vf_links_next(t, &f->links, &at)) != VF_NONE)
		t->link[i].outage += down - f->down;
	f->hits += down && !f->down;
	f->down = down;
}

static unsigned long vf_flap_half(const struct vf_fault *f)
{
	return max(1UL, msecs_to_jiffies(f->cfg.p[VF_P_PERIOD] / 2));
}

static void vf_link_flap_start(struct vf_fault *f, struct vf_fault_step *s)
{
	vf_flap_links(f, s, true);
	f->tick = jiffies + vf_flap_half(f);
	f->ticking = true;
}

static void vf_link_flap_tick(struct vf_fault *f, struct vf_fault_step *s)
{
	vf_flap_links(f, s, !f->down);
	f->tick += vf_flap_half(f);
}

static void vf_link_flap_stop(struct vf_fault *f, struct vf_fault_step *s)
{
	vf_flap_links(f, s, false);
}

/* Of several that make a link worse, the worst holds for each property. */
static void vf_speed_worsen(struct vf_speed *speed, const struct vf_fault *f)
{
	speed->rate = min(speed->rate, vf_fault_param(f, VF_P_RATE, speed->rate));
	speed->latency = max(speed->latency, vf_fault_param(f, VF_P_LATENCY, speed->latency));
	if (vf_fault_given(f, VF_P_WIDTH) &&
	    (!speed->width || f->cfg.p[VF_P_WIDTH] < speed->width))
		speed->width = f->cfg.p[VF_P_WIDTH];
}

/* What a link gives: what the admin has set, and what faults leave of it. */
static struct vf_speed vf_fault_speed_of(struct vf_domain *dom, u32 link, bool silent)
{
	struct vf_speed speed = dom->topo.link[link].set;
	struct vf_fault *f;

	for (f = vf_fault_next(dom, NULL, VFAB_FAULT_LINK_DEGRADE); f;
	     f = vf_fault_next(dom, f, VFAB_FAULT_LINK_DEGRADE))
		if ((silent || !vf_fault_given(f, VF_P_SILENT)) &&
		    vf_links_have(&dom->topo, &f->links, link))
			vf_speed_worsen(&speed, f);
	return speed;
}

/* What a link is shown to give: silent faults are left out. */
struct vf_speed vf_fault_shown(struct vf_domain *dom, u32 link)
{
	return vf_fault_speed_of(dom, link, false);
}

/* The admin has set what a link gives, or a fault began or ended: let it hold. */
void vf_fault_speed(struct vf_domain *dom, u32 link)
{
	struct vf_speed speed = vf_fault_speed_of(dom, link, true);

	vf_topo_degrade(&dom->topo, link, speed.rate, speed.latency, speed.width);
}

static void vf_link_degrade(struct vf_fault *f, struct vf_fault_step *s)
{
	struct vf_topo *t = &f->dom->topo;
	u32 i, at = 0;

	vf_fault_touch(f, s);
	while ((i = vf_links_next(t, &f->links, &at)) != VF_NONE)
		vf_fault_speed(f->dom, i);
	s->rates = true;
}

static void vf_link_degrade_start(struct vf_fault *f, struct vf_fault_step *s)
{
	vf_link_degrade(f, s);
	f->hits++;
}

const struct vf_fault_kind vf_fault_link_down = {
	.target = VF_TARGET_LINKS,
	.takes = VF_P(DURATION),
	.start = vf_link_down_start,
	.stop = vf_link_down_stop,
};

const struct vf_fault_kind vf_fault_link_flap = {
	.target = VF_TARGET_LINKS,
	.takes = VF_P(DURATION) | VF_P(COUNT) | VF_P(PERIOD),
	.wants = VF_P(PERIOD),
	.want = "a flap wants flap-period, in milliseconds",
	.start = vf_link_flap_start,
	.stop = vf_link_flap_stop,
	.tick = vf_link_flap_tick,
};

const struct vf_fault_kind vf_fault_link_degrade = {
	.target = VF_TARGET_LINKS,
	.takes = VF_P(DURATION) | VF_P(RATE) | VF_P(LATENCY) | VF_P(WIDTH) | VF_P(SILENT),
	.wants = VF_P(RATE) | VF_P(LATENCY) | VF_P(WIDTH),
	.want = "degrade wants some of rate, latency and width",
	.start = vf_link_degrade_start,
	.stop = vf_link_degrade,
};

/* --- Blackholes ----------------------------------------------------------------------- */

static void vf_swallow(struct vf_fault *f, struct vf_fault_step *s, int delta)
{
	struct vf_topo *t = &f->dom->topo;
	u32 i, at = 0, holes = t->holes;

	while ((i = vf_links_next(t, &f->links, &at)) != VF_NONE) {
		holes -= !!t->link[i].hole;
		t->link[i].hole += delta;
		holes += !!t->link[i].hole;
		vf_route_touch_link(t, i, s->swallow);
		cond_resched();
	}
	/* After the arrays that prepare made; pairs with vf_route_holed() */
	smp_store_release(&t->holes, holes);
	s->holes = true;
}

/* Made once for a domain, and freed with it: who rings reads them without a lock. */
static int vf_blackhole_prepare(struct vf_domain *dom)
{
	struct vf_topo *t = &dom->topo;

	if (!t->hole.port_up)
		t->hole.port_up = kvcalloc(t->world, sizeof(u64), VF_GFP_LOCKED);
	if (!t->hole.toward)
		t->hole.toward = kvcalloc((size_t)t->groups * t->world, sizeof(u64),
					  VF_GFP_LOCKED);
	return t->hole.port_up && t->hole.toward ? 0 : -ENOMEM;
}

static void vf_blackhole_start(struct vf_fault *f, struct vf_fault_step *s)
{
	f->stalls = atomic64_read(&f->dom->stalls);
	vf_swallow(f, s, 1);
}

static void vf_blackhole_stop(struct vf_fault *f, struct vf_fault_step *s)
{
	f->hits = atomic64_read(&f->dom->stalls) - f->stalls;
	vf_swallow(f, s, -1);
}

const struct vf_fault_kind vf_fault_blackhole = {
	.target = VF_TARGET_LINKS,
	.takes = VF_P(DURATION),
	.wants = VF_P(DURATION),
	.want = "a blackhole wants fault-duration, in milliseconds: programs wait for its end",
	.prepare = vf_blackhole_prepare,
	.start = vf_blackhole_start,
	.stop = vf_blackhole_stop,
};
