// SPDX-License-Identifier: GPL-2.0
/* Counters of endpoints and ports: what moves them, and where they are kept. */
#include <linux/bitops.h>
#include <linux/mm.h>
#include "vfabric.h"

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
	kvfree(dom->link_was);
	kvfree(dom->touched);
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

/**
 * vf_counters_of_holder - add what a holder counted by itself
 * @h: attached, or just about not to be
 */
void vf_counters_of_holder(struct vf_holder *h)
{
	struct vf_counts *c = &h->dom->counts[h->rank];

	lockdep_assert_held(&h->dom->lock);
	c->imports_refused += atomic64_xchg(&h->imports_refused, 0);
	c->ring_calls += atomic64_xchg(&h->ring_calls, 0);
	c->wait_calls += atomic64_xchg(&h->wait_calls, 0);
}

/* Everything that is still elsewhere, so that dom->counts are true. */
void vf_counters_collect(struct vf_domain *dom)
{
	u32 rank;

	for (rank = 0; rank < dom->topo.world; rank++) {
		struct vf_holder *h;

		h = rcu_dereference_protected(dom->eps[rank].holder,
					      lockdep_is_held(&dom->lock));
		if (h)
			vf_counters_of_holder(h);
	}
}

static void vf_counter_of_link(struct vf_domain *dom, u32 link)
{
	const struct vf_link *l = &dom->topo.link[link];
	u8 was = dom->link_was[link], now = 0;
	bool downed, recovered;
	int i;

	if (!vf_link_works(&dom->topo, link))
		now = VF_LINK_WAS_DOWN | (l->outage ? VF_LINK_WAS_OUT : 0);
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
