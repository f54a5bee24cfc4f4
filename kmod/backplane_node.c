// SPDX-License-Identifier: GPL-2.0
/*
 * This node and the others: its beat, whom it follows, whom it expels, when it ends.
 *
 * Everything is looked at again once per period, and at once after an interrupt.
 * First comes whether somebody has expelled this node: who was stopped and goes
 * on learns this before he judges anybody. Ages count the time in which this
 * kernel ran: what passes between two beats counts as two periods at most.
 */
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <uapi/linux/vfabric_netlink.h>
#include "backplane_dev.h"
#include "vfabric.h"

/* --- What others may cost ----------------------------------------------------------- */

/**
 * vf_bp_spend - something was done because another node wanted it
 * @b:	what it is paid of
 * @ns:	what it cost
 *
 * A bucket that one @b->share-th of the time flows out of. What would take longer
 * than @b->most_ms to flow out is forgotten: that much at once is paid for in full.
 *
 * Return: for how many jiffies it is not to be done again; 0: it may.
 */
unsigned long vf_bp_spend(struct vf_bp_budget *b, u64 ns)
{
	u64 now = ktime_get_ns(), earned = (now - b->at) / b->share;
	u64 most = VF_BP_BURST_NS + (u64)b->most_ms * NSEC_PER_MSEC / b->share;

	b->level = min((b->level > earned ? b->level - earned : 0) + ns, most);
	b->at = now;
	if (b->level <= VF_BP_BURST_NS)
		return 0;
	return nsecs_to_jiffies((b->level - VF_BP_BURST_NS) * b->share) + 1;
}

/* The CPU time of this task, between two calls */
struct vf_bp_meter {
	u64 at, ran;
	unsigned long switches;
};

static void vf_bp_meter(struct vf_bp_meter *m)
{
	m->at = ktime_get_ns();
	m->ran = current->se.sum_exec_runtime;
	m->switches = current->nvcsw + current->nivcsw;
}

/* Exact where it ran without a pause; otherwise all but what came after the last one */
static u64 vf_bp_metered(const struct vf_bp_meter *from)
{
	struct vf_bp_meter m;

	vf_bp_meter(&m);
	return m.switches == from->switches ? m.at - from->at : m.ran - from->ran;
}

/* --- The others --------------------------------------------------------------------- */

/* Is @incarnation's connection still that of @peer? What cannot be read says nothing. */
static bool vf_bp_closed(const struct vf_bp_dev *bd, u32 node, u64 incarnation,
			 struct vfab_bp_peer *peer)
{
	return !vf_bp_read_peer(&bd->bp, node, peer) &&
	       (!peer->state || le64_to_cpu(peer->generation) != incarnation >> 32);
}

/**
 * vf_bp_may_touch - can a node have anything of this one mapped?
 * @bd: the backplane
 * @node: another one
 *
 * Not where vfabswitchd saw its connection end, where it says itself that it
 * touches nothing, or has not begun. What cannot be read may.
 */
bool vf_bp_may_touch(const struct vf_bp_dev *bd, u32 node)
{
	struct vfab_bp_peer peer;
	struct vfab_bp_node n;
	int ret;

	ret = vf_bp_read_peer(&bd->bp, node, &peer);
	if (!ret && !peer.state)
		return false;
	ret = ret ?: vf_bp_read_node(&bd->bp, node, &n);
	if (ret)
		return ret != -ENOENT;
	return le32_to_cpu(n.state) == VFAB_BP_NODE_ACTIVE &&
	       le64_to_cpu(n.incarnation) >> 32 == le64_to_cpu(peer.generation);
}

/* Does @node say that this incarnation follows it, and up to where? */
static bool vf_bp_acknowledged(const struct vf_bp_dev *bd, u32 node, u64 *change, u64 *rings)
{
	struct vfab_bp_follow f;

	if (vf_bp_read_follow(&bd->bp, node, bd->self, &f) ||
	    le64_to_cpu(f.incarnation) != bd->incarnation)
		return false;
	*change = le64_to_cpu(f.change);
	*rings = le64_to_cpu(f.rings);
	return true;
}

static const char *const vf_bp_reasons[] = {
	[VF_BP_WHY_NONE] = "",
	[VF_BP_WHY_SILENT] = "it had no beat within its timeout",
	[VF_BP_WHY_BEHIND] = "it did not follow a change in time",
	[VF_BP_WHY_LEFT] = "it left",
	[VF_BP_WHY_FENCED] = "it was expelled by another node",
	[VF_BP_WHY_RETURNED] = "it was started again",
	[VF_BP_WHY_CLOSED] = "its connection to vfabswitchd ended",
};

/* Tell the listeners: @state of this node, or that another one came, or why it is lost */
static void vf_bp_notify(struct vf_bp_dev *bd, u32 node, int action, int state, int why)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_BACKPLANE, action, VFAB_WHY_NONE);

	n.backplane = bd->bp.name;
	n.node = node;
	n.bp_state = state;
	n.bp_why = why;
	vf_notify_machine(&n);
}

/* @o is followed no more: for good, as far as this incarnation of it goes */
static void vf_bp_lose(struct vf_bp_other *o, enum vf_bp_why why)
{
	struct vf_bp_dev *bd = o->bd;

	lockdep_assert_held(&bd->lock);
	/* It may be due already: vf_bp_expel() loses another incarnation meanwhile */
	o->ending |= o->state == VF_BP_OTHER_LIVE;
	WRITE_ONCE(o->state, VF_BP_OTHER_LOST);
	o->why = why;
	if (why == VF_BP_WHY_SILENT || why == VF_BP_WHY_BEHIND)
		WRITE_ONCE(bd->expelled, bd->expelled + 1);
	vf_bp_publish_follow(bd, o);
	vf_bp_interrupt(bd, o->node, VFAB_BP_VECTOR_CHANGE);
	mod_delayed_work(bd->queue, &o->work, 0);
	vf_bp_notify(bd, o->node, VFAB_ACT_DETACHED, -1, why);
	dev_notice_ratelimited(&bd->pdev->dev, "backplane %s: node %u is lost: %s\n",
			       bd->bp.name, o->node, vf_bp_reasons[why]);
}

/* Look at its records, as soon as it may cost something again */
static void vf_bp_queue_other(struct vf_bp_other *o)
{
	unsigned long now = jiffies;

	queue_delayed_work(o->bd->queue, &o->work,
			   time_after(o->next, now) ? o->next - now : 0);
}

static void vf_bp_age(struct vf_bp_other *o, u64 ran_ms)
{
	u64 beat = vf_bp_load(&vf_bp_slot(&o->bd->bp, o->node)->beat.beat);

	o->age_ms = beat == o->beat ? o->age_ms + ran_ms : 0;
	o->beat = beat;
}

/* Has it ended, by what it says itself, and by what vfabswitchd says? */
static enum vf_bp_why vf_bp_has_ended(struct vf_bp_other *o)
{
	struct vf_bp_dev *bd = o->bd;
	struct vfab_bp_peer peer;
	struct vfab_bp_node n;

	if (!vf_bp_read_node(&bd->bp, o->node, &n)) {
		if (le64_to_cpu(n.incarnation) != o->incarnation)
			return VF_BP_WHY_RETURNED;
		if (le32_to_cpu(n.state) == VFAB_BP_NODE_FENCED)
			return VF_BP_WHY_FENCED;
		if (le32_to_cpu(n.state) != VFAB_BP_NODE_ACTIVE)
			return VF_BP_WHY_LEFT;
		o->timeout_ms = le32_to_cpu(n.timeout_ms);
	}
	return vf_bp_closed(bd, o->node, o->incarnation, &peer) ? VF_BP_WHY_CLOSED :
								  VF_BP_WHY_NONE;
}

static void vf_bp_judge_live(struct vf_bp_other *o, u64 ran_ms)
{
	enum vf_bp_why why = vf_bp_has_ended(o);

	vf_bp_age(o, ran_ms);
	if (!why && o->age_ms > o->timeout_ms)
		why = VF_BP_WHY_SILENT;
	if (why)
		vf_bp_lose(o, why);
	else if (o->followed != vf_bp_load(&vf_bp_slot(&o->bd->bp, o->node)->beat.change))
		vf_bp_queue_other(o);
}

/*
 * Is there somebody to follow? Only whose beat was seen to move: what a node that
 * is gone left in its slot looks as alive as anything.
 *
 * What this node says of it comes before it reads any of its records: who
 * takes a record back, and then looks whether anybody follows, either sees this,
 * and waits, or had taken it back before it was read. Pairs with the virt_mb()
 * in vf_backplane_changed().
 */
static void vf_bp_judge_stranger(struct vf_bp_other *o)
{
	struct vf_bp_dev *bd = o->bd;
	struct vfab_bp_peer peer;
	struct vfab_bp_node n;
	u64 incarnation;

	if (o->ending || time_before(jiffies, o->next) || vf_bp_read_node(&bd->bp, o->node, &n) ||
	    le32_to_cpu(n.state) != VFAB_BP_NODE_ACTIVE)
		return;
	incarnation = le64_to_cpu(n.incarnation);
	if (vf_bp_closed(bd, o->node, incarnation, &peer) ||
	    (o->state == VF_BP_OTHER_LOST && incarnation == o->incarnation))
		return;
	if (o->seen != incarnation) {
		o->seen = incarnation;
		vf_bp_age(o, 0);
		return;
	}
	vf_bp_age(o, 1);
	if (o->age_ms)
		return;
	o->incarnation = incarnation;
	o->why = VF_BP_WHY_NONE;
	o->timeout_ms = le32_to_cpu(n.timeout_ms);
	o->followed = ~0ULL;
	o->rings = 0;
	WRITE_ONCE(o->state, VF_BP_OTHER_LIVE);
	vf_bp_publish_follow(bd, o);
	/* Before its records are read, see above */
	virt_mb();
	vf_bp_interrupt(bd, o->node, VFAB_BP_VECTOR_CHANGE);
	vf_bp_queue_other(o);
	queue_delayed_work(bd->queue, &bd->rings, 0);
	vf_bp_notify(bd, o->node, VFAB_ACT_ATTACHED, -1, -1);
	dev_info_ratelimited(&bd->pdev->dev, "backplane %s: node %u is there\n", bd->bp.name,
			     o->node);
}

/*
 * Has @o expelled this incarnation? The verdict of a node that this one has expelled,
 * too, does not count where this one has the lower number: it is the other one that
 * fences itself. The node's record is read first: it names the incarnation whose
 * verdict is read after it.
 */
static bool vf_bp_expelled_by(struct vf_bp_other *o)
{
	struct vf_bp_dev *bd = o->bd;
	struct vfab_bp_follow f;
	struct vfab_bp_node n;
	int ret = vf_bp_read_node(&bd->bp, o->node, &n);

	if (!ret && le32_to_cpu(n.state) == VFAB_BP_NODE_JOINING)
		return false;
	/* The order of two reads, each of which ends with virt_rmb() */
	if (vf_bp_read_follow(&bd->bp, o->node, bd->self, &f) ||
	    le32_to_cpu(f.state) != VFAB_BP_FOLLOW_EXPELLED ||
	    le64_to_cpu(f.incarnation) != bd->incarnation)
		return false;
	return ret || bd->self > o->node || o->state != VF_BP_OTHER_LOST ||
	       le64_to_cpu(n.incarnation) != o->incarnation;
}

/* From here on nobody is followed, and nobody is judged */
static void vf_bp_stop(struct vf_bp_dev *bd)
{
	u32 i;

	lockdep_assert_held(&bd->lock);
	WRITE_ONCE(bd->state, VFAB_BP_NODE_FENCED);
	bd->open = false;
	for (i = 0; i < bd->bp.nodes; i++)
		WRITE_ONCE(bd->other[i].state, VF_BP_OTHER_NONE);
	wake_up_all(&bd->wq);
}

/* Where to ring the others: also those that are not followed */
static void vf_bp_find_peers(struct vf_bp_dev *bd)
{
	u32 i;
	int bell;

	for (i = 0; i < bd->bp.nodes; i++) {
		bell = vf_bp_bell(&bd->bp, i);
		if (i != bd->self && (bell >= 0 || bell == -ENOENT))
			WRITE_ONCE(bd->other[i].peer, bell < 0 ? VF_BP_NO_PEER : bell);
	}
}

static void vf_bp_fence(struct vf_bp_dev *bd)
{
	bd->fences++;
	vf_bp_stop(bd);
	vf_bp_notify(bd, bd->self, VFAB_ACT_CHANGED, VFAB_BP_NODE_FENCED, -1);
	queue_work(bd->queue, &bd->ending);
}

/* Before others are judged: has any of them expelled this node? */
static bool vf_bp_fences(struct vf_bp_dev *bd)
{
	u32 i;

	for (i = 0; i < bd->bp.nodes; i++)
		if (i != bd->self && vf_bp_expelled_by(&bd->other[i]))
			break;
	if (i == bd->bp.nodes)
		return false;
	dev_notice_ratelimited(&bd->pdev->dev,
			       "backplane %s: node %u has expelled this node, which ends what it has there and returns\n",
			       bd->bp.name, i);
	vf_bp_fence(bd);
	return true;
}

/*
 * The incarnation is of the connection that vfabswitchd had written when it began. If
 * somebody else wrote that, or the node is another connection's by now, nobody follows
 * it. That vfabswitchd says so all the time, which repairs its words once a second, is
 * waited for.
 */
static bool vf_bp_is_misnamed(struct vf_bp_dev *bd, u64 ran_ms)
{
	struct vfab_bp_peer peer;

	if (vf_bp_closed(bd, bd->self, bd->incarnation, &peer) && peer.state)
		bd->stranger_ms += ran_ms;
	else
		bd->stranger_ms = 0;
	if (bd->stranger_ms <= bd->timeout_ms)
		return false;
	dev_notice_ratelimited(&bd->pdev->dev,
			       "backplane %s: this node is of connection %u and says %u: it ends what it has there and returns\n",
			       bd->bp.name, (u32)le64_to_cpu(peer.generation),
			       (u32)(bd->incarnation >> 32));
	vf_bp_fence(bd);
	return true;
}

/* Look at all the others; @ran_ms of this kernel's time have passed since the last tick */
static void vf_bp_judge(struct vf_bp_dev *bd, u64 ran_ms)
{
	struct vf_bp_other *o;
	u32 i;

	lockdep_assert_held(&bd->lock);
	vf_bp_find_peers(bd);
	if (vf_bp_fences(bd) || vf_bp_is_misnamed(bd, ran_ms))
		return;
	for (i = 0; i < bd->bp.nodes; i++) {
		o = &bd->other[i];
		if (i == bd->self)
			continue;
		if (o->state == VF_BP_OTHER_LIVE)
			vf_bp_judge_live(o, ran_ms);
		else
			vf_bp_judge_stranger(o);
	}
	vf_bp_mem_reap(bd);
	wake_up_all(&bd->wq);
}

/* Interrupts may be lost: whoever is behind is rung again */
static void vf_bp_remind(struct vf_bp_dev *bd)
{
	u64 change, rings;
	u32 i;

	for (i = 0; i < bd->bp.nodes; i++) {
		if (bd->other[i].state != VF_BP_OTHER_LIVE ||
		    !vf_bp_acknowledged(bd, i, &change, &rings))
			continue;
		if (change != bd->change)
			vf_bp_interrupt(bd, i, VFAB_BP_VECTOR_CHANGE);
		if (rings != READ_ONCE(bd->rung[i]))
			vf_bp_interrupt(bd, i, VFAB_BP_VECTOR_RINGS);
	}
}

static void vf_bp_daemon_age(struct vf_bp_dev *bd, u64 ran_ms)
{
	u64 beat = vf_bp_load(&vf_bp_daemon(&bd->bp)->beat.beat);

	bd->daemon_age_ms = beat == bd->daemon_beat ? bd->daemon_age_ms + ran_ms : 0;
	bd->daemon_beat = beat;
}

static void vf_bp_tick(struct work_struct *work)
{
	struct vf_bp_dev *bd = container_of(to_delayed_work(work), struct vf_bp_dev, tick);
	u64 now = ktime_get_ns(), ran_ms;

	mutex_lock(&bd->lock);
	if (bd->state == VFAB_BP_NODE_ACTIVE) {
		ran_ms = min_t(u64, div_u64(now - bd->ticked, NSEC_PER_MSEC), 2 * bd->period_ms);
		bd->ticked = now;
		WRITE_ONCE(bd->ran_ms, bd->ran_ms + ran_ms);
		vf_bp_daemon_age(bd, ran_ms);
		vf_bp_judge(bd, ran_ms);
	}
	if (bd->state == VFAB_BP_NODE_ACTIVE) {
		vf_bp_publish(bd, bd->state);
		vf_bp_store(&vf_bp_slot(&bd->bp, bd->self)->beat.beat, ++bd->beat);
		vf_bp_remind(bd);
		queue_delayed_work(bd->queue, &bd->tick, msecs_to_jiffies(bd->period_ms));
		/* In case that their interrupt was lost */
		queue_delayed_work(bd->queue, &bd->rings, 0);
	}
	mutex_unlock(&bd->lock);
}

static void vf_bp_look(struct work_struct *work)
{
	struct vf_bp_dev *bd = container_of(to_delayed_work(work), struct vf_bp_dev, look);
	struct vf_bp_meter m;
	unsigned long pause;

	vf_bp_meter(&m);
	mutex_lock(&bd->lock);
	if (bd->state == VFAB_BP_NODE_ACTIVE)
		vf_bp_judge(bd, 0);
	mutex_unlock(&bd->lock);
	/* Too often: what comes meanwhile finds it queued, and is looked at then */
	pause = vf_bp_spend(&bd->look_budget, vf_bp_metered(&m));
	if (pause)
		queue_delayed_work(bd->queue, &bd->look, pause);
}

/* --- Following one node -------------------------------------------------------------- */

static void vf_bp_paid(struct vf_bp_other *o, const struct vf_bp_meter *from)
{
	o->next = jiffies + vf_bp_spend(&o->budget, vf_bp_metered(from));
}

static void vf_bp_end_other(struct vf_bp_other *o)
{
	struct vf_bp_dev *bd = o->bd;
	struct vf_bp_meter m;

	mutex_unlock(&bd->lock);
	vf_bp_meter(&m);
	vf_mirror_lost(bd, o->node);
	mutex_lock(&bd->lock);
	vf_bp_paid(o, &m);
	o->ending = false;
	mod_delayed_work(bd->queue, &bd->look, 0);
}

static void vf_bp_follow(struct vf_bp_other *o)
{
	struct vf_bp_dev *bd = o->bd;
	const struct vfab_bp_beat *beat = &vf_bp_slot(&bd->bp, o->node)->beat;
	u64 incarnation = o->incarnation, change = vf_bp_load(&beat->change);
	struct vf_bp_meter m;
	int ret;

	mutex_unlock(&bd->lock);
	vf_bp_meter(&m);
	ret = vf_mirror_follow(bd, o->node);
	mutex_lock(&bd->lock);
	vf_bp_paid(o, &m);
	if (o->state != VF_BP_OTHER_LIVE || o->incarnation != incarnation)
		return;
	if (!ret) {
		o->followed = change;
		vf_bp_publish_follow(bd, o);
		vf_bp_interrupt(bd, o->node, VFAB_BP_VECTOR_CHANGE);
	}
	if (ret && !time_after(o->next, jiffies))
		o->next = jiffies + 1;
	if (ret || vf_bp_load(&beat->change) != change)
		vf_bp_queue_other(o);
}

static void vf_bp_other_work(struct work_struct *work)
{
	struct vf_bp_other *o = container_of(to_delayed_work(work), struct vf_bp_other, work);
	struct vf_bp_dev *bd = o->bd;

	mutex_lock(&bd->lock);
	if (bd->state == VFAB_BP_NODE_ACTIVE && o->ending)
		vf_bp_end_other(o);
	else if (bd->state == VFAB_BP_NODE_ACTIVE && o->state == VF_BP_OTHER_LIVE &&
		 o->followed != vf_bp_load(&vf_bp_slot(&bd->bp, o->node)->beat.change))
		vf_bp_follow(o);
	mutex_unlock(&bd->lock);
}

/* --- Doorbells ----------------------------------------------------------------------- */

/*
 * Tell of those that @o rang. Whoever rings and finds that this node has looked at
 * all before sends an interrupt: so what has come in between is looked for after
 * that was said. Pairs with the virt_mb() in vf_backplane_ring().
 *
 * Return: what it cost; @more: there are some already.
 */
static u64 vf_bp_take_rings(struct vf_bp_other *o, bool *more)
{
	struct vf_bp_ring ring[VFAB_BP_RINGS];
	struct vf_bp_dev *bd = o->bd;
	u64 incarnation = o->incarnation, seen = o->rings;
	int n;

	if (o->state != VF_BP_OTHER_LIVE)
		return 0;
	n = vf_bp_read_rings(&bd->bp, o->node, bd->self, &seen, ring);
	if (!n)
		return 0;
	mutex_unlock(&bd->lock);
	vf_mirror_rings(bd, o->node, ring, n);
	mutex_lock(&bd->lock);
	if (o->state == VF_BP_OTHER_LIVE && o->incarnation == incarnation) {
		o->rings = seen;
		vf_bp_publish_follow(bd, o);
		/* Before it is looked for more, see above */
		virt_mb();
		*more |= vf_bp_load(&vf_bp_slot(&bd->bp, o->node)->rings[bd->self].count) != seen;
	}
	return n < 0 ? VF_BP_RINGS_NS : n * VF_BP_RING_NS;
}

static void vf_bp_rings(struct work_struct *work)
{
	struct vf_bp_dev *bd = container_of(to_delayed_work(work), struct vf_bp_dev, rings);
	unsigned long pause;
	struct vf_bp_meter m;
	bool more = false;
	u64 cost = 0;
	u32 i;

	vf_bp_meter(&m);
	mutex_lock(&bd->lock);
	for (i = 0; i < bd->bp.nodes && bd->state == VFAB_BP_NODE_ACTIVE; i++)
		if (i != bd->self)
			cost += vf_bp_take_rings(&bd->other[i], &more);
	mutex_unlock(&bd->lock);
	pause = vf_bp_spend(&bd->rings_budget, vf_bp_metered(&m) + cost);
	if (pause || more)
		queue_delayed_work(bd->queue, &bd->rings, pause);
}

/**
 * vf_backplane_ring - tell a node of a doorbell that was rung
 * @bd: the backplane
 * @node: whose kernel has the endpoint, live; what is not is not told
 * @ring: the doorbell, whose count was added to before
 *
 * May be called under spinlocks.
 */
void vf_backplane_ring(struct vf_bp_dev *bd, u32 node, const struct vf_bp_ring *ring)
{
	unsigned long flags;
	u64 before;

	spin_lock_irqsave(&bd->ring_lock, flags);
	before = bd->rung[node];
	if (READ_ONCE(bd->state) == VFAB_BP_NODE_ACTIVE) {
		vf_bp_ring(&vf_bp_slot(&bd->bp, bd->self)->rings[node], before, ring);
		WRITE_ONCE(bd->rung[node], before + 1);
	}
	spin_unlock_irqrestore(&bd->ring_lock, flags);
	/* Counted before it is asked how far the other one is; see vf_bp_take_rings() */
	virt_mb();
	if (vf_bp_load(&vf_bp_slot(&bd->bp, node)->follow[bd->self].rings) == before)
		vf_bp_interrupt(bd, node, VFAB_BP_VECTOR_RINGS);
}

/* --- For those who place domains ------------------------------------------------------ */

/**
 * vf_backplane_unmirrored - say how many domains of a node cannot be mirrored
 * @bd: the backplane
 * @node: another one
 * @domains: that it owns, and that are not there for this kernel
 */
void vf_backplane_unmirrored(struct vf_bp_dev *bd, u32 node, u32 domains)
{
	WRITE_ONCE(bd->other[node].unmirrored, domains);
}

/**
 * vf_backplane_changed - records were changed: tell the others
 * @bd: the backplane
 * @loss: something was taken away from somebody
 *
 * To be called after they were, and before the lock is dropped under which they were.
 *
 * Return: the number of the change.
 */
u64 vf_backplane_changed(struct vf_bp_dev *bd, bool loss)
{
	struct vfab_bp_beat *beat = &vf_bp_slot(&bd->bp, bd->self)->beat;
	u64 change;

	mutex_lock(&bd->lock);
	change = bd->change;
	if (bd->open) {
		bd->loss += loss;
		vf_bp_store(&beat->loss, bd->loss);
		change = ++bd->change;
		vf_bp_store(&beat->change, change);
		/* Before it is asked who follows; pairs with vf_bp_judge_stranger() */
		virt_mb();
		vf_bp_interrupt_all(bd);
	}
	mutex_unlock(&bd->lock);
	return change;
}

/*
 * Must this node wait for another one to follow @change? Not any more once it is
 * lost. Whoever says that it follows this node counts, followed or not. No lock.
 */
static bool vf_bp_owes(struct vf_bp_dev *bd, u32 node, u64 change)
{
	struct vf_bp_other *o = &bd->other[node];
	struct vfab_bp_node n;
	u64 at, rings;

	if (node == bd->self || !vf_bp_may_touch(bd, node) ||
	    !vf_bp_acknowledged(bd, node, &at, &rings) || at >= change)
		return false;
	return READ_ONCE(o->state) != VF_BP_OTHER_LOST ||
	       (!vf_bp_read_node(&bd->bp, node, &n) &&
		le64_to_cpu(n.incarnation) != READ_ONCE(o->incarnation));
}

/**
 * vf_bp_waited - has this node waited long enough for others?
 * @bd: the backplane
 * @since: bd->ran_ms at the beginning
 *
 * Each tick wakes who waits. A clock that went on while this kernel did not is not asked.
 */
bool vf_bp_waited(const struct vf_bp_dev *bd, u64 since)
{
	return READ_ONCE(bd->ran_ms) - since >= bd->timeout_ms;
}

static bool vf_bp_is_still(const struct vf_bp_dev *bd, u64 incarnation)
{
	return READ_ONCE(bd->state) == VFAB_BP_NODE_ACTIVE &&
	       READ_ONCE(bd->incarnation) == incarnation;
}

/* Or does nobody need to? That is so of a change of an earlier incarnation, too. */
static bool vf_bp_followed(struct vf_bp_dev *bd, u64 incarnation, u64 change)
{
	u32 i;

	if (change > READ_ONCE(bd->change))
		return true;
	for (i = 0; i < bd->bp.nodes && vf_bp_is_still(bd, incarnation); i++)
		if (vf_bp_owes(bd, i, change))
			return false;
	return true;
}

/* Expel those that have not followed; who is not followed here is expelled all the same */
static int vf_bp_expel(struct vf_bp_dev *bd, u64 change)
{
	struct vf_bp_other *o;
	struct vfab_bp_node n;
	int ret = 0;
	u32 i;

	mutex_lock(&bd->lock);
	if (bd->state == VFAB_BP_NODE_ACTIVE && vf_bp_fences(bd))
		ret = -ENODEV;
	for (i = 0; i < bd->bp.nodes && bd->state == VFAB_BP_NODE_ACTIVE; i++) {
		o = &bd->other[i];
		if (!vf_bp_owes(bd, i, change))
			continue;
		if (o->state != VF_BP_OTHER_LIVE && !vf_bp_read_node(&bd->bp, i, &n))
			o->incarnation = le64_to_cpu(n.incarnation);
		vf_bp_lose(o, VF_BP_WHY_BEHIND);
	}
	mutex_unlock(&bd->lock);
	return ret;
}

/**
 * vf_backplane_followed - wait until the others have followed a change
 * @bd: the backplane; no domain->lock is held
 * @change: from vf_backplane_changed()
 *
 * Whoever has not within this node's timeout is expelled, by this call, by another
 * one that waits, or, where it has no beat either, by vf_bp_tick().
 *
 * Return: how many were expelled meanwhile; -ENODEV: this node is fenced or has left,
 * -EINTR: killed meanwhile.
 */
int vf_backplane_followed(struct vf_bp_dev *bd, u64 change)
{
	u64 incarnation = READ_ONCE(bd->incarnation), since = READ_ONCE(bd->ran_ms);
	u32 before = READ_ONCE(bd->expelled);
	int ret = 0;

	if (wait_event_killable(bd->wq, vf_bp_followed(bd, incarnation, change) ||
				vf_bp_waited(bd, since)))
		return -EINTR;
	if (!vf_bp_is_still(bd, incarnation) || change > READ_ONCE(bd->change))
		return -ENODEV;
	if (vf_bp_waited(bd, since))
		ret = vf_bp_expel(bd, change);
	return ret ?: READ_ONCE(bd->expelled) - before;
}

/* --- Beginning and end ---------------------------------------------------------------- */

/*
 * Another one than the last on this connection, which the own slot names after insmod. If
 * the last one was of a connection that was not this node's, see vf_bp_is_misnamed(),
 * the one before that is not taken again either.
 */
static u64 vf_bp_next_incarnation(struct vf_bp_dev *bd, u64 generation)
{
	u64 last = bd->incarnation;
	struct vfab_bp_node n;
	u32 start = 0;

	if (last) {
		start = max_t(u32, last, bd->before);
	} else if (!vf_bp_read_node(&bd->bp, bd->self, &n)) {
		last = le64_to_cpu(n.incarnation);
		bd->before = last;
		start = last >> 32 == generation ? bd->before : 0;
	}
	return generation << 32 | (start + 1 ?: 1);
}

/**
 * vf_bp_start - a new incarnation joins
 * @bd: not active, and its works do not run
 *
 * Return: 0; -ENOENT: vfabswitchd does not know this peer (any more); or what
 * vf_mirror_begin() returned.
 */
int vf_bp_start(struct vf_bp_dev *bd)
{
	struct vfab_bp_peer peer;
	int ret = vf_bp_find_peer(&bd->bp, bd->peer, &peer);
	u32 i;

	if (ret != bd->self)
		return -ENOENT;
	mutex_lock(&bd->lock);
	WRITE_ONCE(bd->incarnation,
		   vf_bp_next_incarnation(bd, le64_to_cpu(peer.generation)));
	bd->change = 0;
	bd->loss = 0;
	bd->stranger_ms = 0;
	memset(bd->rung, 0, sizeof(bd->rung));
	for (i = 0; i < VFAB_BP_MAX_NODES; i++) {
		bd->other[i].state = VF_BP_OTHER_NONE;
		bd->other[i].ending = false;
		bd->other[i].seen = 0;
		bd->other[i].next = jiffies;
		bd->other[i].peer = VF_BP_NO_PEER;
	}
	vf_bp_slot_clear(bd);
	vf_bp_mem_reset(bd);
	vf_bp_find_peers(bd);
	bd->open = true;
	mutex_unlock(&bd->lock);

	ret = vf_mirror_begin(bd);
	mutex_lock(&bd->lock);
	bd->open = !ret;
	bd->begun = !ret;
	if (!ret) {
		bd->ticked = ktime_get_ns();
		vf_bp_publish(bd, VFAB_BP_NODE_ACTIVE);
		vf_bp_notify(bd, bd->self, VFAB_ACT_CHANGED, VFAB_BP_NODE_ACTIVE, -1);
		vf_bp_interrupt_all(bd);
		queue_delayed_work(bd->queue, &bd->tick, 0);
	}
	mutex_unlock(&bd->lock);
	return ret;
}

/**
 * vf_bp_cancel - stop what others cause
 * @bd: not active
 *
 * An interrupt may queue it again, but then it does nothing.
 */
void vf_bp_cancel(struct vf_bp_dev *bd)
{
	u32 i;

	cancel_delayed_work_sync(&bd->tick);
	for (i = 0; i < VFAB_BP_MAX_NODES; i++)
		cancel_delayed_work_sync(&bd->other[i].work);
	cancel_delayed_work_sync(&bd->look);
	cancel_delayed_work_sync(&bd->rings);
}

/* Everything of this incarnation ends; then @state says so */
static void vf_bp_finish(struct vf_bp_dev *bd, u32 state)
{
	vf_bp_cancel(bd);
	if (bd->begun)
		vf_mirror_end(bd);
	bd->begun = false;
	mutex_lock(&bd->lock);
	vf_bp_publish(bd, state);
	vf_bp_interrupt_all(bd);
	mutex_unlock(&bd->lock);
}

static void vf_bp_ending(struct work_struct *work)
{
	struct vf_bp_dev *bd = container_of(work, struct vf_bp_dev, ending);

	vf_bp_finish(bd, VFAB_BP_NODE_FENCED);
	/* The others have two periods to read it */
	mutex_lock(&bd->lock);
	if (!bd->removed)
		queue_delayed_work(bd->queue, &bd->starting,
				   msecs_to_jiffies(2 * bd->period_ms));
	mutex_unlock(&bd->lock);
}

static void vf_bp_starting(struct work_struct *work)
{
	struct vf_bp_dev *bd = container_of(to_delayed_work(work), struct vf_bp_dev, starting);
	int ret = vf_bp_start(bd);

	if (!ret)
		return;
	dev_warn_ratelimited(&bd->pdev->dev,
			     "backplane %s: this node cannot return yet (error %d)\n",
			     bd->bp.name, ret);
	queue_delayed_work(bd->queue, &bd->starting, msecs_to_jiffies(bd->timeout_ms));
}

/**
 * vf_bp_leave - end in good order, for good
 * @bd: in whatever state
 */
void vf_bp_leave(struct vf_bp_dev *bd)
{
	mutex_lock(&bd->lock);
	bd->removed = true;
	mutex_unlock(&bd->lock);
	cancel_work_sync(&bd->ending);
	cancel_delayed_work_sync(&bd->starting);
	mutex_lock(&bd->lock);
	vf_bp_stop(bd);
	mutex_unlock(&bd->lock);
	/* It may have been queued once more before it was stopped */
	cancel_work_sync(&bd->ending);
	vf_bp_finish(bd, VFAB_BP_NODE_LEFT);
}

void vf_bp_node_init(struct vf_bp_dev *bd)
{
	u32 i;

	bd->look_budget = (struct vf_bp_budget){ VF_BP_SHARE, VF_BP_MOST_MS };
	bd->rings_budget = (struct vf_bp_budget){ VF_BP_RINGS_SHARE, VF_BP_MOST_MS };
	INIT_DELAYED_WORK(&bd->tick, vf_bp_tick);
	INIT_DELAYED_WORK(&bd->look, vf_bp_look);
	INIT_DELAYED_WORK(&bd->rings, vf_bp_rings);
	INIT_WORK(&bd->ending, vf_bp_ending);
	INIT_DELAYED_WORK(&bd->starting, vf_bp_starting);
	for (i = 0; i < VFAB_BP_MAX_NODES; i++) {
		bd->other[i].bd = bd;
		bd->other[i].node = i;
		/* Whoever waits for a change to be followed does so for its timeout */
		bd->other[i].budget = (struct vf_bp_budget){
			VF_BP_SHARE, max(bd->timeout_ms / 2, VF_BP_MOST_MS)
		};
		INIT_DELAYED_WORK(&bd->other[i].work, vf_bp_other_work);
	}
}
