// SPDX-License-Identifier: GPL-2.0
/*
 * Faults: what breaks in a domain, from when, for how long and how often.
 *
 * A fault is pending, then active, then ended. The table of kinds says
 * what each takes and what its begin and its end do; the rest is the same for
 * all. Everything runs under domain->lock; what calls look at on
 * their way is in dom->fault_kinds, one word, so that a domain without faults
 * pays for one test. What the kinds do is in fault_link.c, fault_endpoint.c
 * and fault_event.c.
 *
 * What is left to chance comes from the seed: number n of it is
 *
 *	z = seed + (n + 1) * 0x9e3779b97f4a7c15
 *	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9
 *	z = (z ^ z >> 27) * 0x94d049bb133111eb
 *	z = z ^ z >> 31			(splitmix64)
 *
 * and 32 bits of it, times m, shifted right by 32, are one of m. Number 0
 * chooses the target; rank r's call k is decided by number 1 + r + k * 1024,
 * so what befalls a rank does not depend on when the others call.
 */
#include <linux/jiffies.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include "fault.h"

/* One of @m, number @n of the seed's. */
u32 vf_fault_chance(u32 seed, u64 n, u32 m)
{
	u64 z = seed + (n + 1) * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	z ^= z >> 31;
	return (z >> 32) * m >> 32;
}

static void vf_fault_notify(struct vf_fault *f, int action)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_FAULT, action, VFAB_WHY_ADMIN);

	n.fault = f;
	f->told = f->phase;
	vf_notify(f->dom, &n);
}

/* --- The life of a fault ------------------------------------------------------------ */

static const struct vf_fault_kind *const vf_fault_kinds[] = {
	[VFAB_FAULT_LINK_DOWN] = &vf_fault_link_down,
	[VFAB_FAULT_LINK_FLAP] = &vf_fault_link_flap,
	[VFAB_FAULT_LINK_DEGRADE] = &vf_fault_link_degrade,
	[VFAB_FAULT_BLACKHOLE] = &vf_fault_blackhole,
	[VFAB_FAULT_STUCK] = &vf_fault_stuck,
	[VFAB_FAULT_OVERRIDE] = &vf_fault_override,
	[VFAB_FAULT_PEER_KILL] = &vf_fault_peer_kill,
	[VFAB_FAULT_NODE_LOSS] = &vf_fault_node_loss,
	[VFAB_FAULT_MANAGER_STALL] = &vf_fault_manager_stall,
	[VFAB_FAULT_IMPORT_REFUSE] = &vf_fault_import_refuse,
	[VFAB_FAULT_QUOTA] = &vf_fault_quota,
	[VFAB_FAULT_EVENT_DELAY] = &vf_fault_event_delay,
	[VFAB_FAULT_EVENT_REORDER] = &vf_fault_event_reorder,
	[VFAB_FAULT_EVENT_DROP] = &vf_fault_event_drop,
};

/* NULL where there is no such kind. */
const struct vf_fault_kind *vf_fault_kind(u32 kind)
{
	return kind < ARRAY_SIZE(vf_fault_kinds) ? vf_fault_kinds[kind] : NULL;
}

/* Which kinds act: what others look at before they look at faults. */
static void vf_fault_count_kinds(struct vf_domain *dom)
{
	struct vf_fault *f;
	u32 kinds = 0;

	list_for_each_entry(f, &dom->faults, node)
		if (f->phase == VFAB_FAULT_PHASE_ACTIVE)
			kinds |= BIT(f->cfg.kind);
	WRITE_ONCE(dom->fault_kinds, kinds);
}

/* The next fault of a kind that acts, after @f or, with NULL, the first. */
struct vf_fault *vf_fault_next(struct vf_domain *dom, struct vf_fault *f, u32 kind)
{
	lockdep_assert_held(&dom->lock);
	if (!vf_fault_acts(dom, kind))
		return NULL;
	f = list_prepare_entry(f, &dom->faults, node);
	list_for_each_entry_continue(f, &dom->faults, node)
		if (f->cfg.kind == kind && f->phase == VFAB_FAULT_PHASE_ACTIVE)
			return f;
	return NULL;
}

static void vf_fault_begin(struct vf_fault *f, struct vf_fault_step *s)
{
	f->phase = VFAB_FAULT_PHASE_ACTIVE;
	vf_fault_count_kinds(f->dom);
	s->changed = true;
	if (vf_fault_given(f, VF_P_DURATION))
		f->at = jiffies + msecs_to_jiffies(f->cfg.p[VF_P_DURATION]);
	if (f->kind->start)
		f->kind->start(f, s);
	if (f->kind->once) {
		f->phase = VFAB_FAULT_PHASE_ENDED;
		vf_fault_count_kinds(f->dom);
	}
}

static void vf_fault_end(struct vf_fault *f, struct vf_fault_step *s)
{
	bool active = f->phase == VFAB_FAULT_PHASE_ACTIVE;

	f->phase = VFAB_FAULT_PHASE_ENDED;
	f->ticking = false;
	s->changed = true;
	vf_fault_count_kinds(f->dom);
	if (active && f->kind->stop)
		f->kind->stop(f, s);
}

/* Let what began or ended take effect, and announce it. */
static void vf_fault_apply(struct vf_domain *dom, struct vf_fault_step *s)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_LINK, VFAB_ACT_CHANGED, VFAB_WHY_LINK);
	struct vf_notice shown = VF_NOTICE(VFAB_OBJ_ENDPOINT, VFAB_ACT_CHANGED, VFAB_WHY_NONE);
	struct vf_change chg;
	unsigned int rank;

	if (s->holes)
		vf_change_holes(dom, s->swallow);
	if (s->topology) {
		vf_change_topology(&chg, dom, VFAB_REASON_LINK, s->dests, s->rates);
		n.chg = &chg;
		if (s->shown)
			vf_notify(dom, &n);
	}
	for_each_set_bit(rank, s->endpoints, dom->topo.world) {
		shown.rank = rank;
		vf_notify(dom, &shown);
	}
	if (s->changed)
		vf_domain_changed(dom);
}

/* Has it acted as often as it may? */
bool vf_fault_used_up(const struct vf_fault *f)
{
	/* A flap is up again after the last time down */
	return vf_fault_given(f, VF_P_COUNT) && f->hits >= f->cfg.p[VF_P_COUNT] && !f->down;
}

static bool vf_fault_over(const struct vf_fault *f)
{
	return vf_fault_used_up(f) ||
	       (vf_fault_given(f, VF_P_DURATION) && time_after_eq(jiffies, f->at));
}

/* Do what is due. Return: whether more is to come, and when. */
static bool vf_fault_due(struct vf_fault *f, struct vf_fault_step *s, unsigned long *when)
{
	if (f->phase == VFAB_FAULT_PHASE_PENDING && time_after_eq(jiffies, f->at))
		vf_fault_begin(f, s);
	else if (f->ticking && time_after_eq(jiffies, f->tick))
		f->kind->tick(f, s);
	if (f->phase == VFAB_FAULT_PHASE_ACTIVE && vf_fault_over(f))
		vf_fault_end(f, s);

	*when = f->at;
	if (f->phase == VFAB_FAULT_PHASE_PENDING)
		return true;
	if (f->phase == VFAB_FAULT_PHASE_ENDED)
		return false;
	if (f->ticking && (!vf_fault_given(f, VF_P_DURATION) || time_before(f->tick, f->at)))
		*when = f->tick;
	return f->ticking || vf_fault_given(f, VF_P_DURATION);
}

/* Something about faults has to be looked at, now. */
void vf_fault_kick(struct vf_domain *dom)
{
	mod_delayed_work(vf_wq, &dom->fault_work, 0);
}

/* One more time that it acted; the last one ends it. */
void vf_fault_hit(struct vf_fault *f)
{
	f->hits++;
	if (vf_fault_used_up(f))
		vf_fault_kick(f->dom);
}

/* Does it strike this call of @rank? Each call is asked about once. */
bool vf_fault_strikes(struct vf_fault *f, u32 rank)
{
	u32 turn = f->turn[rank]++;

	if (vf_fault_used_up(f) || turn < vf_fault_param(f, VF_P_SKIP, 0) ||
	    vf_fault_chance(f->cfg.seed, 1 + rank + (u64)turn * VF_MAX_WORLD, 1000) >=
	    vf_fault_param(f, VF_P_PERMILLE, 1000))
		return false;
	vf_fault_hit(f);
	return true;
}

void vf_fault_work(struct work_struct *work)
{
	struct vf_domain *dom = container_of(to_delayed_work(work),
					     struct vf_domain, fault_work);
	struct vf_fault_step step = { };
	unsigned long when, next;
	bool more = false;
	struct vf_fault *f;

	mutex_lock(&dom->lock);
	if (dom->dead)
		goto unlock;
	list_for_each_entry(f, &dom->faults, node) {
		if (!vf_fault_due(f, &step, &when))
			continue;
		if (!more || time_before(when, next))
			next = when;
		more = true;
	}
	vf_fault_apply(dom, &step);
	list_for_each_entry(f, &dom->faults, node)
		if (f->told != f->phase)
			vf_fault_notify(f, VFAB_ACT_CHANGED);
	if (more)
		queue_delayed_work(vf_wq, &dom->fault_work,
				   time_after(next, jiffies) ? next - jiffies : 0);
unlock:
	vf_domain_unlock(dom);
}

static void vf_fault_free(struct vf_fault *f)
{
	list_del(&f->node);
	f->dom->nfaults--;
	put_pid_ns(f->cfg.pidns);
	kvfree(f->turn);
	kfree(f);
}

struct vf_fault *vf_fault_find(struct vf_domain *dom, u32 id)
{
	struct vf_fault *f;

	lockdep_assert_held(&dom->lock);
	list_for_each_entry(f, &dom->faults, node)
		if (f->id == id)
			return f;
	return NULL;
}

/* Milliseconds until it begins or ends; 0: who knows. */
u32 vf_fault_left(const struct vf_fault *f)
{
	if (f->phase == VFAB_FAULT_PHASE_ENDED ||
	    (f->phase == VFAB_FAULT_PHASE_ACTIVE && !vf_fault_given(f, VF_P_DURATION)) ||
	    time_before_eq(f->at, jiffies))
		return 0;
	return jiffies_to_msecs(f->at - jiffies);
}

/* Blackholes are not told apart: each has the stalls since it began. */
u64 vf_fault_hits(const struct vf_fault *f)
{
	if (f->cfg.kind != VFAB_FAULT_BLACKHOLE || f->phase != VFAB_FAULT_PHASE_ACTIVE)
		return f->hits;
	return atomic64_read(&f->dom->stalls) - f->stalls;
}

/* --- Targets ------------------------------------------------------------------------ */

static void vf_fault_pick_link(struct vf_fault *f)
{
	const struct vf_topo *t = &f->dom->topo;
	u32 link = vf_fault_chance(f->cfg.seed, 0, t->nlinks);
	u32 port = t->link[link].end[0], v = t->port[port].vertex;

	if (v < t->world)
		f->cfg.rank = v;
	else
		f->cfg.sw = v - t->world;
	f->cfg.port = port - t->first[v];
}

/* Who is to be killed now is one that is held, if any is. */
static void vf_fault_pick_rank(struct vf_fault *f)
{
	struct vf_domain *dom = f->dom;
	u32 rank, n = dom->topo.world;

	if (f->cfg.kind == VFAB_FAULT_PEER_KILL && !f->cfg.after && dom->attached) {
		n = vf_fault_chance(f->cfg.seed, 0, dom->attached);
		for (rank = 0; !vf_fault_held(dom, rank) || n--; rank++)
			;
		f->cfg.rank = rank;
	} else {
		f->cfg.rank = vf_fault_chance(f->cfg.seed, 0, n);
	}
}

static void vf_fault_aim(struct vf_fault *f)
{
	struct vf_fault_config *c = &f->cfg;
	struct vf_domain *dom = f->dom;
	u32 share = dom->topo.world / dom->nodes;
	bool none = !c->all && c->rank == VF_NONE && c->sw == VF_NONE && c->node == VF_NONE;

	if (none && f->kind->target == VF_TARGET_LINKS)
		vf_fault_pick_link(f);
	if (none && f->kind->target == VF_TARGET_RANKS)
		vf_fault_pick_rank(f);
	if (none && f->kind->target == VF_TARGET_NODE)
		c->node = vf_fault_chance(c->seed, 0, dom->nodes);

	f->links = (struct vf_links){ c->rank, c->sw, c->port, 1 };
	if (c->node != VF_NONE) {
		f->links.rank = c->node * share;
		f->links.ranks = share;
	}
	if (c->all)
		bitmap_fill(f->ranks, dom->topo.world);
	else if (f->links.rank != VF_NONE)
		bitmap_set(f->ranks, f->links.rank, f->links.ranks);
}

static bool vf_fault_nobody_held(struct vf_fault *f)
{
	unsigned int rank;

	for_each_set_bit(rank, f->ranks, f->dom->topo.world)
		if (vf_fault_held(f->dom, rank))
			return false;
	return true;
}

/* Room for one more: the oldest that ended goes. */
static bool vf_fault_room(struct vf_domain *dom)
{
	struct vf_fault *f;

	if (dom->nfaults < VF_MAX_FAULTS)
		return true;
	list_for_each_entry(f, &dom->faults, node)
		if (f->phase == VFAB_FAULT_PHASE_ENDED) {
			vf_fault_free(f);
			return true;
		}
	return false;
}

/**
 * vf_fault_create - a fault, which acts at once unless it is to begin later
 * @dom: under its lock
 * @cfg: checked
 *
 * Return: the fault, or an ERR_PTR and nothing changed: -ENOSPC (too many),
 * -ENOTCONN (nobody is there to be killed), -ENODEV (no link to choose from),
 * -ENOMEM.
 */
struct vf_fault *vf_fault_create(struct vf_domain *dom, const struct vf_fault_config *cfg)
{
	struct vf_fault_step step = { };
	struct vf_fault *f;
	int ret;

	lockdep_assert_held(&dom->lock);
	f = kzalloc(sizeof(*f), VF_GFP_LOCKED);
	if (!f)
		return ERR_PTR(-ENOMEM);
	f->dom = dom;
	f->cfg = *cfg;
	f->kind = vf_fault_kind(cfg->kind);
	ret = -ENODEV;
	if (f->kind->target == VF_TARGET_LINKS && !dom->topo.nlinks)
		goto free;
	vf_fault_aim(f);
	ret = -ENOTCONN;
	if (cfg->kind == VFAB_FAULT_PEER_KILL && !cfg->after && vf_fault_nobody_held(f))
		goto free;
	ret = -ENOMEM;
	if (f->kind->prepare && f->kind->prepare(dom))
		goto free;
	if (f->kind->turns) {
		f->turn = kvcalloc(dom->topo.world, sizeof(*f->turn), VF_GFP_LOCKED);
		if (!f->turn)
			goto free;
	}
	ret = -ENOSPC;
	if (!vf_fault_room(dom))
		goto free;

	get_pid_ns(f->cfg.pidns);
	f->id = ++dom->fault_id;
	f->at = jiffies + msecs_to_jiffies(cfg->after);
	list_add_tail(&f->node, &dom->faults);
	dom->nfaults++;
	step.changed = true;
	if (!cfg->after)
		vf_fault_begin(f, &step);
	vf_fault_apply(dom, &step);
	vf_fault_notify(f, VFAB_ACT_CREATED);
	vf_fault_kick(dom);
	return f;

free:
	kvfree(f->turn);
	kfree(f);
	return ERR_PTR(ret);
}

/**
 * vf_fault_delete - undo what a fault does, and forget it
 * @dom: under its lock
 * @f: one of its faults, or NULL for all of them
 */
void vf_fault_delete(struct vf_domain *dom, struct vf_fault *f)
{
	struct vf_fault_step step = { };
	struct vf_fault *i, *next;

	lockdep_assert_held(&dom->lock);
	list_for_each_entry(i, &dom->faults, node)
		if (!f || i == f)
			vf_fault_end(i, &step);
	vf_fault_apply(dom, &step);
	list_for_each_entry_safe(i, next, &dom->faults, node)
		if (!f || i == f) {
			vf_fault_notify(i, VFAB_ACT_DELETED);
			vf_fault_free(i);
		}
}

/* The domain ends: nothing is left that could be undone. */
void vf_faults_end(struct vf_domain *dom)
{
	struct vf_fault *f, *next;

	lockdep_assert_held(&dom->lock);
	WRITE_ONCE(dom->fault_kinds, 0);
	list_for_each_entry_safe(f, next, &dom->faults, node)
		vf_fault_free(f);
}
