// SPDX-License-Identifier: GPL-2.0
/* Links that go down and come back by themselves, a number of times. */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <uapi/linux/vfabric_netlink.h>
#include "vfabric.h"

/**
 * struct vf_flap - a link that is down for the first half of each period
 * @left:	changes that are still to come; after the last one it is up
 * @down:	now
 */
struct vf_flap {
	struct list_head node;		/* vf_domain.flaps */
	u32 link;
	u32 left;
	bool down;
	unsigned long half;		/* jiffies */
	unsigned long next;		/* when it changes */
};

static struct vf_flap *vf_flap_find(struct vf_domain *dom, u32 link)
{
	struct vf_flap *f;

	list_for_each_entry(f, &dom->flaps, node)
		if (f->link == link)
			return f;
	return NULL;
}

static void vf_flap_set(struct vf_domain *dom, struct vf_flap *f, bool down)
{
	dom->topo.link[f->link].outage += down - f->down;
	f->down = down;
}

/**
 * vf_flap_make - make room for a link to flap
 * @dom: under its lock
 * @link: a link
 *
 * Follow it by vf_flap_start() or vf_flap_unmake() before unlocking.
 * Return: 0 or -ENOMEM.
 */
int vf_flap_make(struct vf_domain *dom, u32 link)
{
	struct vf_flap *f;

	lockdep_assert_held(&dom->lock);
	if (vf_flap_find(dom, link))
		return 0;
	f = kzalloc(sizeof(*f), VF_GFP_LOCKED);
	if (!f)
		return -ENOMEM;
	f->link = link;
	list_add_tail(&f->node, &dom->flaps);
	return 0;
}

/* Undo vf_flap_make(): only links that flap are left. */
void vf_flap_unmake(struct vf_domain *dom)
{
	struct vf_flap *f, *next;

	list_for_each_entry_safe(f, next, &dom->flaps, node)
		if (!f->left) {
			list_del(&f->node);
			kfree(f);
		}
}

/**
 * vf_flap_start - take a link down, and up again, @count times
 * @dom: under its lock
 * @link: one of vf_flap_make(), which flaps anew if it did
 * @period: milliseconds, 2 or more
 * @count: 1 or more
 *
 * The link is down when it returns, but routes are not compiled.
 */
void vf_flap_start(struct vf_domain *dom, u32 link, u32 period, u32 count)
{
	struct vf_flap *f = vf_flap_find(dom, link);

	lockdep_assert_held(&dom->lock);
	f->left = 2 * count - 1;
	f->half = max(1UL, msecs_to_jiffies(period / 2));
	f->next = jiffies + f->half;
	vf_flap_set(dom, f, true);
	mod_delayed_work(vf_wq, &dom->flap, 0);
}

/* The link is up by itself again; routes are not compiled. */
void vf_flap_stop(struct vf_domain *dom, u32 link)
{
	struct vf_flap *f = vf_flap_find(dom, link);

	lockdep_assert_held(&dom->lock);
	if (!f)
		return;
	vf_flap_set(dom, f, false);
	list_del(&f->node);
	kfree(f);
}

void vf_flap_stop_all(struct vf_domain *dom)
{
	struct vf_flap *f, *next;

	list_for_each_entry_safe(f, next, &dom->flaps, node)
		vf_flap_stop(dom, f->link);
}

/* Change what is due. Return: whether there is more to come, and when. */
static bool vf_flap_due(struct vf_domain *dom, unsigned long *dests,
			unsigned long *when)
{
	struct vf_flap *f, *next;
	bool more = false;

	list_for_each_entry_safe(f, next, &dom->flaps, node) {
		if (time_after_eq(jiffies, f->next)) {
			vf_change_link(dom, f->link, dests);
			vf_flap_set(dom, f, !f->down);
			f->next += f->half;
			if (!--f->left) {
				vf_flap_stop(dom, f->link);
				continue;
			}
		}
		if (!more || time_before(f->next, *when))
			*when = f->next;
		more = true;
	}
	return more;
}

void vf_flap_work(struct work_struct *work)
{
	struct vf_domain *dom = container_of(to_delayed_work(work),
					     struct vf_domain, flap);
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_LINK, VFAB_ACT_CHANGED, VFAB_WHY_LINK);
	DECLARE_BITMAP(dests, VF_MAX_WORLD) = { };
	struct vf_change chg;
	unsigned long when;
	bool more;

	mutex_lock(&dom->lock);
	if (!dom->dead) {
		more = vf_flap_due(dom, dests, &when);
		if (!bitmap_empty(dests, dom->topo.world)) {
			vf_change_topology(&chg, dom, VFAB_REASON_LINK, dests, false);
			n.chg = &chg;
			vf_notify(dom, &n);
		}
		if (more)
			queue_delayed_work(vf_wq, &dom->flap,
					   time_after(when, jiffies) ? when - jiffies : 0);
	}
	vf_domain_unlock(dom);
}
