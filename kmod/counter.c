// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of endpoints and ports: what moves them, and where they are kept.
 *
 * Bytes and operations are counted by the processes, without a call, each in
 * memory of its own that nobody else writes (struct vfab_count). They are added
 * to dom->counts and, along the routes, to dom->port_counts when these are shown
 * and before routes change: so each byte is on the links by which it went.
 * What a process writes there may be anything. It changes counters only, of
 * its own endpoint and, by no more than could have been, of those that it
 * reaches.
 */
#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include "vfabric.h"

/* What is believed: so much by a nanosecond, and at once after a pause */
#define VF_FOLD_BYTES_NS	1024
#define VF_FOLD_BYTES		VF_WINDOW_MAX
#define VF_FOLD_OPS_NS		1
#define VF_FOLD_OPS		1000000

/**
 * struct vf_folded - the words of a struct vfab_count that have been added
 * @at:		when, nanoseconds
 */
struct vf_folded {
	u64 at;
	u64 put_bytes;
	u64 put_ops;
	u64 get_bytes;
	u64 get_ops;
	u64 rings;
};

/* What a link was when it was last looked at */
#define VF_LINK_WAS_DOWN	1
#define VF_LINK_WAS_OUT		2	/* down by itself */

int vf_counters_create(struct vf_domain *dom)
{
	const struct vf_topo *t = &dom->topo;

	dom->counts = kvcalloc(t->world, sizeof(*dom->counts), GFP_KERNEL_ACCOUNT);
	dom->port_counts = kvcalloc(t->nports + 1, sizeof(*dom->port_counts),
				    GFP_KERNEL_ACCOUNT);
	dom->link_was = kvcalloc(t->nlinks + 1, sizeof(*dom->link_was),
				 GFP_KERNEL_ACCOUNT);
	dom->touched = kvcalloc(BITS_TO_LONGS(t->nlinks + 1), sizeof(long),
				GFP_KERNEL_ACCOUNT);
	return dom->counts && dom->port_counts && dom->link_was && dom->touched ?
	       0 : -ENOMEM;
}

void vf_counters_destroy(struct vf_domain *dom)
{
	kvfree(dom->counts);
	kvfree(dom->port_counts);
	kvfree(dom->port_moved);
	kvfree(dom->link_was);
	kvfree(dom->touched);
	kvfree(dom->busy);
}

/* Room for what ports count of transfers; under domain->lock. */
int vf_counters_of_moved(struct vf_domain *dom)
{
	lockdep_assert_held(&dom->lock);
	if (!dom->port_moved)
		dom->port_moved = kvcalloc(dom->topo.nports + 1, sizeof(*dom->port_moved),
					   VF_GFP_LOCKED);
	return dom->port_moved ? 0 : -ENOMEM;
}

/* An import or a doorbell that was asked for and not given, not for its form. */
void vf_counter_refused(struct vf_holder *h, int err)
{
	switch (err) {
	case 0:
	case -EINVAL:
	case -EOPNOTSUPP:
	case -EINTR:
	case -ENOTCONN:
	case -ENODEV:
		return;
	}
	atomic64_inc(&h->imports_refused);
}

static void vf_count_port(void *arg, u32 port, u64 bytes)
{
	struct vf_domain *dom = arg;

	dom->port_moved[port].xmit_bytes += bytes;
	dom->port_moved[dom->topo.port[port].peer].rcv_bytes += bytes;
}

/* Bytes went from one endpoint to another; one of them, @who, says so. */
static void vf_count_moved(struct vf_domain *dom, u32 who, u32 src, u32 dst, u64 bytes,
			   u64 ops)
{
	bool apart = !vf_joined(dom, src, dst);

	if (!apart || who == src) {
		dom->counts[src].xmit_bytes += bytes;
		dom->counts[src].xmit_ops += ops;
	}
	if (!apart || who == dst) {
		dom->counts[dst].rcv_bytes += bytes;
		dom->counts[dst].rcv_ops += ops;
	}
	if (apart || !bytes)
		return;
	vf_route_flow(&dom->topo, src, dst, bytes, vf_count_port, dom);
	/* In a fabric whose tables lead in circles one takes long */
	cond_resched();
}

/* What was added to a word since it was folded, if that can be. */
static u64 vf_fold_word(const u64 *word, u64 *folded, u64 limit)
{
	u64 now = READ_ONCE(*word), more = now - *folded;

	*folded = now;
	return min(more, limit);
}

/* Their words are read while the process goes on adding to them. */
static void vf_fold_pair(struct vf_holder *h, u32 peer, u64 now)
{
	const struct vfab_count *c = &h->counts[peer];
	struct vf_folded *f = &h->folded[peer];
	u64 ns = min_t(u64, now - f->at, 1ULL << 40);
	u64 most = VF_FOLD_BYTES + ns * VF_FOLD_BYTES_NS;
	u64 most_ops = VF_FOLD_OPS + ns * VF_FOLD_OPS_NS;
	u64 put, get, puts, gets, rings;

	put = vf_fold_word(&c->put_bytes, &f->put_bytes, most);
	get = vf_fold_word(&c->get_bytes, &f->get_bytes, most);
	puts = vf_fold_word(&c->put_ops, &f->put_ops, most_ops);
	gets = vf_fold_word(&c->get_ops, &f->get_ops, most_ops);
	rings = vf_fold_word(&c->rings, &f->rings, most_ops);
	f->at = now;
	if (put || puts || rings)
		vf_count_moved(h->dom, h->rank, h->rank, peer,
			       put + rings * VFAB_RING_BYTES, puts + rings);
	if (get || gets)
		vf_count_moved(h->dom, h->rank, peer, h->rank, get, gets);
}

/* Pairs of @h with those of @ranks, or with all. */
static void vf_fold_holder(struct vf_holder *h, const unsigned long *ranks)
{
	u32 peer, world = h->dom->topo.world;
	u64 now = ktime_get_ns();

	if (!h->counts)
		return;
	for (peer = 0; peer < world; peer++) {
		if (ranks)
			peer = find_next_bit(ranks, world, peer);
		if (peer < world && peer != h->rank)
			vf_fold_pair(h, peer, now);
	}
	cond_resched();
}

static struct vf_holder *vf_counting_holder(struct vf_domain *dom, u32 rank)
{
	return rcu_dereference_protected(dom->eps[rank].holder,
					 lockdep_is_held(&dom->lock));
}

/**
 * vf_counts_fold - add up what endpoints have counted so far
 * @dom: under its lock, routes and partitions as they were meanwhile
 * @ranks: all pairs that have one of these as an end; NULL: all there are
 */
void vf_counts_fold(struct vf_domain *dom, const unsigned long *ranks)
{
	struct vf_holder *h;
	u32 rank;

	lockdep_assert_held(&dom->lock);
	for (rank = 0; dom->counting && rank < dom->topo.world; rank++) {
		h = vf_counting_holder(dom, rank);
		if (h)
			vf_fold_holder(h, ranks && test_bit(rank, ranks) ? NULL : ranks);
	}
}

/**
 * vf_counters_of_holder - add what a holder counted by itself
 * @h: attached, or just about not to be
 */
void vf_counters_of_holder(struct vf_holder *h)
{
	struct vf_counts *c = &h->dom->counts[h->rank];

	lockdep_assert_held(&h->dom->lock);
	vf_fold_holder(h, NULL);
	c->imports_refused += atomic64_xchg(&h->imports_refused, 0);
	c->ring_calls += atomic64_xchg(&h->ring_calls, 0);
	c->wait_calls += atomic64_xchg(&h->wait_calls, 0);
}

/* Everything that is still elsewhere, so that all counters are true. */
void vf_counters_collect(struct vf_domain *dom)
{
	struct vf_holder *h;
	u32 rank;

	for (rank = 0; rank < dom->topo.world; rank++) {
		h = vf_counting_holder(dom, rank);
		if (h)
			vf_counters_of_holder(h);
	}
}

/* The pages and what goes with them, made without a lock. */
static int vf_counts_make(struct vf_holder *h, struct vf_import **im,
			  struct vf_folded **folded)
{
	u32 world = h->dom->topo.world;
	struct vf_window *win;

	win = vf_window_kernel(h, VF_WINDOW_COUNTS,
			       PAGE_ALIGN(world * sizeof(struct vfab_count)));
	if (!win)
		return -ENOMEM;
	*im = vf_import_own(h, win, VFAB_ACCESS_READ | VFAB_ACCESS_WRITE, VF_COOKIE_COUNTS);
	vf_window_put(win);	/* the import has one of its own */
	*folded = kvcalloc(world, sizeof(**folded), GFP_KERNEL_ACCOUNT);
	return *im && *folded ? 0 : -ENOMEM;
}

/* From now on, the process can map what it counts in. */
static void vf_counts_install(struct vf_holder *h, struct vf_import *im,
			      struct vf_folded *folded)
{
	u64 now = ktime_get_ns();
	u32 i;

	for (i = 0; i < h->dom->topo.world; i++)
		folded[i].at = now;
	h->folded = folded;
	WRITE_ONCE(h->counts, im->win->vmem);
	h->counts_import = im;
	kref_get(&im->ref);
	vf_import_link(im);
	h->dom->counting = true;
}

int vf_counts_map(struct vf_holder *h, struct vfab_counts *a)
{
	struct vf_folded *folded = NULL;
	struct vf_import *im = NULL;
	int ret = 0;

	if (a->flags)
		return -EOPNOTSUPP;
	/* Who attaches from here on has nothing made: not to be found attached below */
	if (vf_holder_state(h) == VF_HOLDER_NEW)
		return -ENOTCONN;
	if (vf_holder_state(h) == VF_HOLDER_ATTACHED && !READ_ONCE(h->counts))
		ret = vf_counts_make(h, &im, &folded);
	if (!ret)
		ret = vf_holder_lock(h);
	if (!ret) {
		ret = vf_counters_of_moved(h->dom);
		if (!ret && !h->counts) {
			vf_counts_install(h, im, folded);
			im = NULL;
			folded = NULL;
		}
		a->cookie = VF_COOKIE_COUNTS;
		a->bytes = PAGE_ALIGN(h->dom->topo.world * sizeof(*h->counts));
		mutex_unlock(&h->dom->lock);
	}
	if (im)
		vf_import_put(im);
	kvfree(folded);
	return ret;
}

static void vf_counter_of_link(struct vf_domain *dom, u32 link)
{
	const struct vf_link *l = &dom->topo.link[link];
	u8 was = dom->link_was[link], now = 0;
	bool downed, recovered;
	int i;

	if (!vf_link_works(&dom->topo, link))
		now = VF_LINK_WAS_DOWN | (l->outage || l->broken ? VF_LINK_WAS_OUT : 0);
	downed = now && !was;
	recovered = !now && was & VF_LINK_WAS_OUT;
	for (i = 0; i < 2; i++) {
		dom->port_counts[l->end[i]].link_downed += downed;
		dom->port_counts[l->end[i]].link_error_recovery += recovered;
	}
	dom->link_was[link] = now;
}

/* Links were changed: those that vf_change_link() and its like were told of. */
void vf_counters_of_links(struct vf_domain *dom)
{
	unsigned int link;

	lockdep_assert_held(&dom->lock);
	for_each_set_bit(link, dom->touched, dom->topo.nlinks)
		vf_counter_of_link(dom, link);
	bitmap_zero(dom->touched, dom->topo.nlinks);
}
