// SPDX-License-Identifier: GPL-2.0
/*
 * Loss and gain: how a change of a domain reaches imports, route views and
 * waiters.
 *
 * Promise: when a change that takes reachability away is committed, no load,
 * store or ring of any process gets through any more.
 *
 * Proof. A fault maps a page only inside an SRCU read section in which it saw
 * the import LIVE; a ring signals an eventfd only inside one in which it saw the
 * route. (Where it only wakes, nothing is told but to look at the count, whose
 * page is an import as any other.)
 * The marks are stored first, so a section that begins after them sees them,
 * and synchronize_srcu() waits for those that began before. (An import that
 * has no reference but its tree's has no VMA, so no fault began; mmap() takes
 * a reference under holder->lock, so a VMA that is missed by vf_mapped() faults
 * after the mark.) What they mapped
 * is in the page tables of some VMA in the shadow inode's i_mmap when
 * unmap_mapping_range() walks it: ->mmap never maps a page itself, a VMA is
 * linked before its first fault, and fork() and mremap() copy entries with the
 * i_mmap lock held or the VMA linked. So nothing is left, and nothing new can
 * come: the next fault sees the mark.
 *
 * The view's losses and the loss generation are stored before any absorbing
 * page (all ones, in place of a peer's) is mapped: a fault that finds an import
 * marked waits until it is told (store-release after them, load-acquire in the
 * fault). So who reads an absorbed page and then loads the generation with
 * acquire ordering sees the new one.
 *
 * The other way round for gains: when a route returns, an import is LIVE first;
 * then whoever mapped an absorbing page is waited for and it is unmapped; then
 * the view shows the peer. So nothing that is done after the view shows a peer
 * ends in an absorbing page, unless the peer is lost anew.
 */
#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include "vfabric.h"

DEFINE_SRCU(vf_srcu);

static struct vf_holder *vf_held(struct vf_domain *dom, u32 rank)
{
	return rcu_dereference_protected(dom->eps[rank].holder,
					 lockdep_is_held(&dom->lock));
}

/* Is there a partition border between them? It is for good; a route may come back. */
static bool vf_apart(struct vf_domain *dom, u32 a, u32 b)
{
	return !dom->eps[a].part || dom->eps[a].part != dom->eps[b].part;
}

static bool vf_in_service(const struct vf_partition *part_a, bool parked_a,
			  const struct vf_partition *part_b, bool parked_b)
{
	return part_a && part_a == part_b && !parked_a && !parked_b;
}

/* May there be a route between them? Not over a border, nor of one that is parked. */
bool vf_joined(const struct vf_domain *dom, u32 a, u32 b)
{
	const struct vf_endpoint *ea = &dom->eps[a], *eb = &dom->eps[b];

	return vf_in_service(ea->part, ea->parked, eb->part, eb->parked);
}

static bool vf_were_joined(const struct vf_domain *dom, u32 a, u32 b)
{
	const struct vf_endpoint *ea = &dom->eps[a], *eb = &dom->eps[b];

	return vf_in_service(ea->was_part, ea->was_parked, eb->was_part, eb->was_parked);
}

/* The route from one rank to another as things stand; no paths where there may be none. */
void vf_pair_route(struct vf_domain *dom, u32 a, u32 b, struct vf_route *r)
{
	memset(r, 0, sizeof(*r));
	if (vf_joined(dom, a, b))
		vf_route_get(&dom->topo, a, b, r);
}

/* The open ports of both ends of a pair, or none. */
struct vf_pair {
	u64 ab, ba;
};

static struct vf_pair vf_pair_of(const struct vf_topo *t, const struct vf_routes *r,
				 u32 a, u32 b, bool together)
{
	struct vf_pair pair = { };

	if (together && vf_route_open(t, r, a, b)) {
		pair.ab = vf_route_ports(t, r, a, b);
		pair.ba = vf_route_ports(t, r, b, a);
	}
	return pair;
}

static struct vf_pair vf_pair_now(struct vf_domain *dom, u32 a, u32 b)
{
	return vf_pair_of(&dom->topo, &dom->topo.now, a, b, vf_joined(dom, a, b));
}

static struct vf_pair vf_pair_was(struct vf_domain *dom, u32 a, u32 b)
{
	return vf_pair_of(&dom->topo, &dom->topo.was, a, b, vf_were_joined(dom, a, b));
}

/**
 * vf_reach - may @a use what @b has, as things stand?
 * @dom: the domain; no lock needed, the answer holds inside vf_srcu or under
 *	domain->lock
 * @a: a rank
 * @b: a rank
 *
 * Return: 0, -EACCES across a partition border, -EHOSTUNREACH without a route or
 * where one is parked.
 */
int vf_reach(struct vf_domain *dom, u32 a, u32 b)
{
	struct vf_partition *part = READ_ONCE(dom->eps[a].part);

	if (a == b)
		return 0;
	if (!part || part != READ_ONCE(dom->eps[b].part))
		return -EACCES;
	if (READ_ONCE(dom->eps[a].parked) || READ_ONCE(dom->eps[b].parked))
		return -EHOSTUNREACH;
	return vf_route_open(&dom->topo, &dom->topo.now, a, b) ? 0 : -EHOSTUNREACH;
}

void vf_change_begin(struct vf_change *chg, struct vf_domain *dom, u32 reason)
{
	lockdep_assert_held(&dom->lock);
	memset(chg, 0, sizeof(*chg));
	chg->dom = dom;
	chg->reason = reason;
	INIT_LIST_HEAD(&chg->imports);
	INIT_LIST_HEAD(&chg->gains);
	INIT_LIST_HEAD(&chg->tell);
}

/* Wake @h and publish its staged events once the change is done. */
void vf_change_tell(struct vf_change *chg, struct vf_holder *h)
{
	if (list_empty(&h->tell)) {
		kref_get(&h->ref);
		list_add_tail(&h->tell, &chg->tell);
	}
}

/* May a fault be looking at @im, or have mapped some of it? See the proof. */
static bool vf_mapped(struct vf_import *im)
{
	bool mapped;

	spin_lock(&im->holder->lock);
	mapped = kref_read(&im->ref) > 1;
	spin_unlock(&im->holder->lock);
	return mapped;
}

void vf_change_import(struct vf_change *chg, struct vf_import *im,
		      enum vf_import_state state)
{
	if (im->state >= VF_IMPORT_GONE && state <= im->state)
		return;
	if (state <= VF_IMPORT_HOLD)
		WRITE_ONCE(im->told, false);
	WRITE_ONCE(im->state, state);
	vf_change_tell(chg, im->holder);	/* its faults may wait for us */
	if (vf_mapped(im))
		chg->sync = true;
	if (list_empty(&im->change_node)) {
		kref_get(&im->ref);
		list_add_tail(&im->change_node, &chg->imports);
	}
}

/* @from: bit per state that is to become @state. Return: those that there were. */
static u32 vf_change_imports_of(struct vf_change *chg, struct vf_holder *h,
				u32 rank, u32 from, enum vf_import_state state)
{
	struct vf_peer *peer = xa_load(&h->peers, rank);
	struct vf_import *im;
	u32 were = 0;

	if (!peer)
		return 0;
	list_for_each_entry(im, &peer->imports, peer_node) {
		if (!(from & BIT(im->state)))
			continue;
		were |= BIT(im->state);
		vf_change_import(chg, im, state);
	}
	return were;
}

#define VF_USABLE (BIT(VF_IMPORT_LIVE) | BIT(VF_IMPORT_HOLD))
#define VF_REVOCABLE (VF_USABLE | BIT(VF_IMPORT_WAIT) | BIT(VF_IMPORT_LOST))

/* What an import is while there is a route. */
static enum vf_import_state vf_usable(struct vf_domain *dom, u32 a, u32 b)
{
	return vf_route_holed(&dom->topo, a, b) ? VF_IMPORT_HOLD : VF_IMPORT_LIVE;
}

/* An outage begins: it is settled when it has lasted. */
static void vf_change_outage(struct vf_change *chg, struct vf_holder *h, u32 peer)
{
	unsigned long wait = msecs_to_jiffies(chg->dom->retry_ms);
	struct vf_domain *dom = chg->dom;

	h->outages[peer].deadline = jiffies + wait;
	h->outages[peer].reason = chg->reason;
	if (!delayed_work_pending(&dom->settle) ||
	    time_before(jiffies + wait, dom->settle_at)) {
		dom->settle_at = jiffies + wait;
		mod_delayed_work(vf_wq, &dom->settle, wait);
	}
	vf_change_imports_of(chg, h, peer, VF_USABLE, VF_IMPORT_WAIT);
	chg->sync = true;
}

/* @peer can be reached (again): nothing that absorbs is mapped any more. */
static void vf_change_gain(struct vf_change *chg, struct vf_holder *h, u32 peer)
{
	bool held = vf_held(chg->dom, peer);
	u32 was = h->view->peer[peer].state;
	struct vf_route route;

	if (held && was != VFAB_PEER_HELD && was != VFAB_PEER_RECOVERY)
		vf_event_stage(chg, h, VFAB_EVENT_PEER_GAINED, peer, 0, chg->reason);
	vf_pair_route(chg->dom, h->rank, peer, &route);
	if (vf_view_set(h, peer, held ? VFAB_PEER_HELD : VFAB_PEER_VACANT, &route,
			false, false))
		vf_change_tell(chg, h);
}

/**
 * vf_change_pair - make @h's view of @peer true, and act on the difference
 * @chg: the change being made
 * @h: an attached holder
 * @peer: another rank; its holder, partition and routes are as they will be
 */
void vf_change_pair(struct vf_change *chg, struct vf_holder *h, u32 peer)
{
	u32 was, now = VFAB_PEER_UNREACHABLE, were;
	struct vf_domain *dom = chg->dom;
	bool apart, held, had, lost;
	struct vf_route route;

	if (h->remote)
		return;		/* its own kernel does */
	apart = vf_apart(dom, h->rank, peer);
	held = vf_held(dom, peer);
	was = h->view->peer[peer].state;
	had = was == VFAB_PEER_HELD || was == VFAB_PEER_RECOVERY;
	lost = had;
	vf_pair_route(dom, h->rank, peer, &route);
	if (route.paths) {
		were = vf_change_imports_of(chg, h, peer, BIT(VF_IMPORT_WAIT) |
					    BIT(VF_IMPORT_LOST),
					    vf_usable(dom, h->rank, peer));
		if (were & BIT(VF_IMPORT_LOST)) {
			struct vf_peer *p = xa_load(&h->peers, peer);

			list_add_tail(&p->gain_node, &chg->gains);
			return;
		}
		if (held || !had) {
			vf_change_gain(chg, h, peer);
			return;
		}
		now = VFAB_PEER_VACANT;
	} else if (had && held && dom->retry_ms && !apart) {
		now = VFAB_PEER_RECOVERY;
		if (was == now)
			return;		/* the deadline belongs to the outage */
		vf_change_outage(chg, h, peer);
		lost = false;
	} else {
		were = vf_change_imports_of(chg, h, peer, VF_REVOCABLE,
					    apart ? VF_IMPORT_GONE : VF_IMPORT_LOST);
		/* A peer that died and left its windows is lost with them */
		lost |= were & ~BIT(VF_IMPORT_LOST);
	}
	if (lost) {
		chg->sync = true;
		if (dom->eps[h->rank].was_part)
			dom->eps[h->rank].was_part->lossy = true;
		vf_event_stage(chg, h, VFAB_EVENT_PEER_LOST, peer, 0, chg->reason);
	}
	if (vf_view_set(h, peer, now, &route, lost, false))
		vf_change_tell(chg, h);
}

/* A held endpoint that changed its partition: join the new one's holders. */
static void vf_change_moved(struct vf_change *chg, struct vf_holder *h)
{
	struct vf_endpoint *ep = &chg->dom->eps[h->rank];

	list_del_init(&h->part_node);
	if (ep->was_part) {
		ep->was_part->held--;
		ep->was_part->lossy = true;
	}
	if (ep->part) {
		list_add_tail(&h->part_node, &ep->part->holders);
		ep->part->held++;
		ep->part->lossy = true;
	}
	if (h->remote)
		return;
	if (!ep->part)
		vf_view_loss(h, ++chg->dom->loss_seq);
	WRITE_ONCE(h->view->partition,
		   ep->part ? ep->part->id : VFAB_PARTITION_NONE);
	vf_event_stage(chg, h, VFAB_EVENT_MOVED, h->rank, 0, chg->reason);
	vf_change_tell(chg, h);
}

/**
 * vf_change_cuts - would a pair of these ranks lose its last path?
 * @dom: its routes compiled as they are to be, not acted on yet
 * @ranks: as for vf_change_routes()
 */
bool vf_change_cuts(struct vf_domain *dom, const unsigned long *ranks)
{
	unsigned int a, b, world = dom->topo.world;

	for_each_set_bit(a, ranks, world) {
		for (b = 0; b < world; b++)
			if (b != a && vf_pair_was(dom, a, b).ab &&
			    !vf_pair_now(dom, a, b).ab)
				return true;
		cond_resched();
	}
	return false;
}

/**
 * vf_change_routes - act on a change of topology, tables or partitions
 * @chg: the change being made
 * @ranks: the endpoints of which something changed; all pairs that have one of
 *	them as an end are looked at
 */
void vf_change_routes(struct vf_change *chg, const unsigned long *ranks)
{
	struct vf_domain *dom = chg->dom;
	unsigned int a, b, world = dom->topo.world;

	lockdep_assert_held(&dom->lock);
	for_each_set_bit(a, ranks, world) {
		struct vf_holder *ha = vf_held(dom, a);

		for (b = 0; b < world; b++) {
			struct vf_pair was, now;
			struct vf_holder *hb;

			if (b == a || (b < a && test_bit(b, ranks)))
				continue;
			was = vf_pair_was(dom, a, b);
			now = vf_pair_now(dom, a, b);
			if (was.ab != now.ab || was.ba != now.ba) {
				chg->routes_changed += 2;
				if (!now.ab)
					chg->routes_lost += 2;
			} else if (!chg->rates && chg->reason != VFAB_REASON_PARTITION) {
				continue;
			}
			hb = vf_held(dom, b);
			if (ha)
				vf_change_pair(chg, ha, b);
			if (hb)
				vf_change_pair(chg, hb, a);
		}
		cond_resched();
	}
	for_each_set_bit(a, ranks, world) {
		struct vf_endpoint *ep = &dom->eps[a];
		struct vf_holder *h = vf_held(dom, a);

		if (ep->part != ep->was_part && h)
			vf_change_moved(chg, h);
		ep->was_part = ep->part;
		ep->was_parked = ep->parked;
	}
	vf_route_settle(&dom->topo, ranks);
	dom->generation++;
	vf_domain_reshaped(dom);
}

static void vf_publish_loss(struct vf_change *chg)
{
	struct vf_domain *dom = chg->dom;
	struct vf_partition *part;
	struct vf_holder *h;

	list_for_each_entry(part, &dom->parts, node) {
		if (!part->lossy)
			continue;
		part->lossy = false;
		part->loss = ++dom->loss_seq;
		list_for_each_entry(h, &part->holders, part_node) {
			if (h->remote)
				continue;
			vf_view_loss(h, part->loss);
			vf_change_tell(chg, h);
		}
	}
}

/* What is lost may absorb from here on. */
static void vf_change_told(struct vf_change *chg)
{
	struct vf_import *im;

	list_for_each_entry(im, &chg->imports, change_node)
		if (im->state >= VF_IMPORT_LOST)
			/* After the view and its loss generation; pairs with the fault */
			smp_store_release(&im->told, true);
}

/**
 * vf_change_commit - publish, synchronize, unmap, tell
 * @chg: all marks are made; the caller still holds domain->lock
 */
void vf_change_commit(struct vf_change *chg)
{
	struct vf_import *im, *im_next;
	struct vf_holder *h, *h_next;
	struct vf_peer *p, *p_next;

	lockdep_assert_held(&chg->dom->lock);
	vf_publish_loss(chg);
	vf_change_told(chg);

	if (chg->sync)
		synchronize_srcu_expedited(&vf_srcu);

	list_for_each_entry_safe(im, im_next, &chg->imports, change_node) {
		list_del_init(&im->change_node);
		unmap_mapping_range(im->holder->inode->i_mapping,
				    (loff_t)im->pgoff << PAGE_SHIFT,
				    (loff_t)im->npages << PAGE_SHIFT, 1);
		if (im->state >= VF_IMPORT_GONE)
			vf_import_drop_window(im);
		vf_import_put(im);
		cond_resched();
	}

	list_for_each_entry_safe(p, p_next, &chg->gains, gain_node) {
		list_del_init(&p->gain_node);
		vf_change_gain(chg, p->holder, p->rank);
	}

	list_for_each_entry_safe(h, h_next, &chg->tell, tell) {
		list_del_init(&h->tell);
		vf_event_publish(h);
		if (h->state == VF_HOLDER_ENDED)
			vf_holder_drain(h);
		wake_up_all(&h->wq);
		/* Who arms a doorbell did so before it was woken, see vf_arm() */
		if (h->state == VF_HOLDER_ENDED)
			vf_holder_forget_bell(h);
		vf_holder_put(h);
	}
}

/* What was counted so far went by the routes as they still are. */
static void vf_change_concerns(struct vf_domain *dom, const unsigned long *ranks,
			       unsigned long *dests)
{
	DECLARE_BITMAP(more, VF_MAX_WORLD);

	lockdep_assert_held(&dom->lock);
	if (bitmap_andnot(more, ranks, dests, dom->topo.world))
		vf_counts_fold(dom, more);
	bitmap_or(dests, dests, ranks, dom->topo.world);
	bitmap_or(dom->told, dom->told, ranks, dom->topo.world);
}

/**
 * vf_change_link - a link is about to be changed
 * @dom: under its lock, the link as it still is
 * @link: which
 * @dests: gets the destinations that may be concerned, for vf_change_topology()
 */
void vf_change_link(struct vf_domain *dom, u32 link, unsigned long *dests)
{
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };

	vf_route_touch_link(&dom->topo, link, ranks);
	vf_change_concerns(dom, ranks, dests);
	__set_bit(link, dom->touched);
	vf_pace_forget(dom, link);
	/* There may be 65536 of them, for each of 64 faults */
	cond_resched();
}

/* The same for a switch, and with it all its links. */
void vf_change_switch(struct vf_domain *dom, u32 sw, unsigned long *dests)
{
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };
	const struct vf_topo *t = &dom->topo;
	u32 p, v = t->world + sw;

	vf_route_touch_switch(t, sw, ranks);
	vf_change_concerns(dom, ranks, dests);
	for (p = t->first[v]; p < t->first[v + 1]; p++)
		if (t->port[p].link != VF_NONE)
			__set_bit(t->port[p].link, dom->touched);
}

/* The same for routing-table entries of one destination. */
void vf_change_dest(struct vf_domain *dom, u32 dest, unsigned long *dests)
{
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };

	__set_bit(dest, ranks);
	vf_change_concerns(dom, ranks, dests);
}

/* Imports are held, or no longer held, as t->hole says. */
static void vf_change_held(struct vf_change *chg)
{
	struct vf_domain *dom = chg->dom;
	struct vf_peer *peer;
	unsigned long i;
	u32 rank;

	chg->sync = true;	/* rings look at it under SRCU */
	for (rank = 0; rank < dom->topo.world; rank++) {
		struct vf_holder *h = vf_held(dom, rank);

		if (!h)
			continue;
		vf_change_tell(chg, h);		/* its rings may wait for us */
		xa_for_each(&h->peers, i, peer) {
			enum vf_import_state to = vf_usable(dom, rank, i);

			/* Who lost the route is not let go: vf_change_pair() sees to it */
			if (!vf_reach(dom, rank, i))
				vf_change_imports_of(chg, h, i, VF_USABLE & ~BIT(to), to);
		}
		cond_resched();
	}
}

/**
 * vf_change_holes - links began or ceased to swallow what they carry
 * @dom: under its lock
 * @dests: what vf_route_touch_link() says of them
 *
 * When it returns, what may get to one is held: by the proof above, as a fault
 * maps a page only where it saw the import LIVE, and a ring signals only where
 * it saw no hole. Views show no difference.
 */
void vf_change_holes(struct vf_domain *dom, const unsigned long *dests)
{
	struct vf_change chg;

	vf_route_holes(&dom->topo, dests);
	vf_change_begin(&chg, dom, VFAB_REASON_NONE);
	vf_change_held(&chg);
	vf_change_commit(&chg);
}

/**
 * vf_change_topology - a link, a switch or a table was changed: all of it
 * @chg: for the caller to look at
 * @dom: under its lock
 * @reason: enum vfab_reason
 * @dests: what vf_change_link() and its like said before the change
 * @rates: a rate or a latency changed; where links differ, that may be so
 *	whatever changed
 */
void vf_change_topology(struct vf_change *chg, struct vf_domain *dom, u32 reason,
			const unsigned long *dests, bool rates)
{
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };

	/* Who changes without a word before has bytes counted where they never were */
	WARN_ON_ONCE(!bitmap_subset(dests, dom->told, dom->topo.world));
	bitmap_zero(dom->told, dom->topo.world);
	vf_counters_of_links(dom);
	rates |= !dom->topo.alike || dom->topo.degraded;
	vf_route_compile(&dom->topo, dests, ranks);
	vf_change_begin(chg, dom, reason);
	chg->rates = rates;
	if (dom->topo.holes) {
		vf_route_holes(&dom->topo, dests);
		vf_change_held(chg);
	}
	vf_change_routes(chg, rates ? dests : ranks);
	vf_change_commit(chg);
}

/* Outages that lasted longer than the retry timeout become losses. */
static bool vf_settle(struct vf_domain *dom, unsigned long *next)
{
	struct vf_change chg;
	bool more = false;
	u32 a, b;

	vf_change_begin(&chg, dom, VFAB_REASON_LINK);
	for (a = 0; a < dom->topo.world; a++) {
		struct vf_holder *h = vf_held(dom, a);

		if (!h || h->remote)
			continue;
		for (b = 0; b < dom->topo.world; b++) {
			unsigned long deadline;

			if (h->view->peer[b].state != VFAB_PEER_RECOVERY)
				continue;
			deadline = h->outages[b].deadline;
			if (time_before(jiffies, deadline)) {
				if (!more || time_before(deadline, *next))
					*next = deadline;
				more = true;
				continue;
			}
			vf_change_imports_of(&chg, h, b, VF_REVOCABLE,
					     VF_IMPORT_LOST);
			vf_event_stage(&chg, h, VFAB_EVENT_PEER_LOST, b, 0,
				       h->outages[b].reason);
			vf_view_set(h, b, VFAB_PEER_UNREACHABLE, &vf_no_route, true, false);
			if (dom->eps[a].part)
				dom->eps[a].part->lossy = true;
			vf_change_tell(&chg, h);
		}
		cond_resched();
	}
	vf_change_commit(&chg);
	return more;
}

void vf_settle_work(struct work_struct *work)
{
	struct vf_domain *dom = container_of(to_delayed_work(work),
					     struct vf_domain, settle);
	unsigned long next;

	mutex_lock(&dom->lock);
	if (!dom->dead && vf_settle(dom, &next)) {
		dom->settle_at = next;
		queue_delayed_work(vf_wq, &dom->settle,
				   time_after(next, jiffies) ? next - jiffies : 0);
	}
	mutex_unlock(&dom->lock);
}
