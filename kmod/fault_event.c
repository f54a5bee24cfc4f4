// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of events: read late, in another order, or lost. The view is never
 * touched: who looks at it when told of an overflow is right again.
 */
#include <linux/jiffies.h>
#include "fault.h"

#define VF_REORDER_DELAY	100	/* milliseconds, where none is given */

/* Is the event that @h is about to be told lost? */
bool vf_fault_drops(struct vf_holder *h)
{
	struct vf_domain *dom = h->dom;
	struct vf_fault *f;
	bool drops = false;

	for (f = vf_fault_next(dom, NULL, VFAB_FAULT_EVENT_DROP); f;
	     f = vf_fault_next(dom, f, VFAB_FAULT_EVENT_DROP))
		if (test_bit(h->rank, f->ranks) && vf_fault_strikes(f, h->rank))
			drops = true;
	return drops;
}

static bool vf_delay_by(struct vf_holder *h, u32 kind, u32 events)
{
	struct vf_domain *dom = h->dom;
	struct vf_fault *f;
	bool delays = false;

	for (f = vf_fault_next(dom, NULL, kind); f; f = vf_fault_next(dom, f, kind)) {
		unsigned long due;

		if (!test_bit(h->rank, f->ranks))
			continue;
		f->hits += events;
		due = jiffies + msecs_to_jiffies(vf_fault_param(f, VF_P_DELAY,
								VF_REORDER_DELAY));
		/* The first event's time holds for those that come meanwhile */
		if (!h->ev_late && (!delays || time_after(due, h->ev_due)))
			h->ev_due = due;
		if (!f->ticking || time_before(h->ev_due, f->tick))
			f->tick = h->ev_due;
		f->ticking = true;
		delays = true;
	}
	return delays;
}

/**
 * vf_fault_delays - are the next events of @h kept back?
 * @h: under its domain's lock
 * @events: how many there are
 *
 * If so, vf_event_release() is called when they are due.
 */
bool vf_fault_delays(struct vf_holder *h, u32 events)
{
	bool delays = vf_delay_by(h, VFAB_FAULT_EVENT_DELAY, events);

	delays |= vf_delay_by(h, VFAB_FAULT_EVENT_REORDER, events);
	if (delays)
		vf_fault_kick(h->dom);
	return delays;
}

/* Move each that is kept back to another place (Sattolo); under holder->lock. */
void vf_fault_reorder(struct vf_holder *h)
{
	struct vf_fault *f = vf_fault_next(h->dom, NULL, VFAB_FAULT_EVENT_REORDER);
	u32 i, j;

	while (f && !test_bit(h->rank, f->ranks))
		f = vf_fault_next(h->dom, f, VFAB_FAULT_EVENT_REORDER);
	if (!f)
		return;
	for (i = h->ev_stamped - h->ev_tail; i-- > 1;) {
		u64 n = 1 + h->rank + (u64)f->turn[h->rank]++ * VF_MAX_WORLD;

		j = vf_fault_chance(f->cfg.seed, n, i);
		swap(h->events[(h->ev_tail + i) % VF_EVENTS],
		     h->events[(h->ev_tail + j) % VF_EVENTS]);
	}
}

/* Those that are due may be read; @all: those that are not, too. */
static void vf_events_due(struct vf_fault *f, bool all)
{
	struct vf_domain *dom = f->dom;
	unsigned int rank;

	f->ticking = false;
	for_each_set_bit(rank, f->ranks, dom->topo.world) {
		struct vf_holder *h = vf_fault_held(dom, rank);

		if (!h || !h->ev_late)
			continue;
		if (all || time_after_eq(jiffies, h->ev_due)) {
			vf_event_release(h);
			continue;
		}
		if (!f->ticking || time_before(h->ev_due, f->tick))
			f->tick = h->ev_due;
		f->ticking = true;
	}
}

static void vf_event_delay_tick(struct vf_fault *f, struct vf_fault_step *s)
{
	vf_events_due(f, false);
}

/* What it kept back may be read now, in the order in which it came. */
static void vf_event_delay_stop(struct vf_fault *f, struct vf_fault_step *s)
{
	vf_events_due(f, true);
}

const struct vf_fault_kind vf_fault_event_delay = {
	.target = VF_TARGET_RANKS,
	.takes = VF_P(DURATION) | VF_P(DELAY),
	.wants = VF_P(DELAY),
	.want = "event-delay wants fault-delay, in milliseconds",
	.stop = vf_event_delay_stop,
	.tick = vf_event_delay_tick,
};

const struct vf_fault_kind vf_fault_event_reorder = {
	.target = VF_TARGET_RANKS,
	.takes = VF_P(DURATION) | VF_P(DELAY),
	.turns = true,
	.stop = vf_event_delay_stop,
	.tick = vf_event_delay_tick,
};

const struct vf_fault_kind vf_fault_event_drop = {
	.target = VF_TARGET_RANKS,
	.takes = VF_P(DURATION) | VF_P(COUNT) | VF_P(PERMILLE),
	.turns = true,
};
