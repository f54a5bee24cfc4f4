// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells: waking the owner of a count that peers increment.
 *
 * Every word of the two pages may hold anything at any time: counts are
 * written by peers, armed words by the owner. The kernel compares counts for
 * being different and never reads an armed word back.
 */
#include <linux/eventfd.h>
#include <linux/hrtimer.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "compat.h"
#include "vfabric.h"

static u64 *vf_count(struct vf_holder *h, u32 vector)
{
	return h->bells + vector * VFAB_BELL_STRIDE;
}

/* One more, or one less, reason to be armed. */
static void vf_arm(struct vf_holder *h, u32 vector, int delta)
{
	u64 *word = h->bells + PAGE_SIZE + vector * VFAB_BELL_STRIDE;

	lockdep_assert_held(&h->wq.lock);
	h->armed[vector] += delta;
	/* Memory of a backplane is not to be written once its endpoint has ended */
	if (vf_holder_state(h) == VF_HOLDER_ATTACHED)
		WRITE_ONCE(*word, !!h->armed[vector]);
}

/* May @h ring @rank now? Under RCU. -EAGAIN: not while a blackhole is between. */
static int vf_ring_target(struct vf_holder *h, u32 rank, struct vf_holder **peer)
{
	int ret;

	if (vf_holder_state(h) != VF_HOLDER_ATTACHED)
		return vf_holder_state(h) == VF_HOLDER_NEW ? -ENOTCONN : -ENODEV;
	/* A change takes it from the view before it waits for vf_srcu */
	if (READ_ONCE(h->view->peer[rank].state) != VFAB_PEER_HELD) {
		ret = vf_reach(h->dom, h->rank, rank);
		if (ret)
			return ret;
	}
	*peer = rcu_dereference(h->dom->eps[rank].holder);
	if (!*peer)
		return -EHOSTUNREACH;
	if (!vf_same_channel(h, *peer))
		return -EPERM;
	return vf_route_holed(&h->dom->topo, h->rank, rank) ? -EAGAIN : 0;
}

/*
 * An eventfd counts what it is told, so a late word would be a ring that got
 * through: in SRCU, so that a change that cuts the route waits for us, see
 * change.c. The same where another node is told.
 */
static int vf_ring_through(struct vf_holder *h, struct vfab_ring *a)
{
	struct vf_eventfd *efd;
	struct vf_holder *peer;
	int ret, idx;
	bool remote;

	idx = srcu_read_lock(&vf_srcu);
	rcu_read_lock();
	ret = vf_ring_target(h, a->rank, &peer);
	remote = !ret && peer->remote;
	efd = ret ? NULL : rcu_dereference(peer->eventfd[a->vector]);
	if (efd)
		vf_eventfd_signal(efd->ctx);
	rcu_read_unlock();
	if (remote && vf_is_placed(h->dom))
		vf_placed_ring(h->dom, a->rank, a->vector);
	srcu_read_unlock(&vf_srcu, idx);
	return ret;
}

static int vf_ring_once(struct vf_holder *h, struct vfab_ring *a)
{
	struct vf_holder *peer;
	bool more = false;
	int ret;

	rcu_read_lock();
	ret = vf_ring_target(h, a->rank, &peer);
	if (!ret) {
		/* Who is woken too late looks at its count, and sleeps again */
		wake_up_all(&peer->wq);
		more = rcu_access_pointer(peer->eventfd[a->vector]) || peer->remote;
	}
	rcu_read_unlock();
	return more ? vf_ring_through(h, a) : ret;
}

/* Is there anything else to say of a ring than that it has to wait? */
static bool vf_ring_decided(struct vf_holder *h, struct vfab_ring *a)
{
	struct vf_holder *peer;
	bool decided;

	rcu_read_lock();
	decided = vf_ring_target(h, a->rank, &peer) != -EAGAIN;
	rcu_read_unlock();
	return decided;
}

int vf_doorbell_ring(struct vf_holder *h, struct vfab_ring *a)
{
	int ret;

	if (a->vector >= VFAB_VECTORS || a->rank >= h->dom->topo.world)
		return -EINVAL;
	atomic64_inc(&h->ring_calls);
	while ((ret = vf_ring_once(h, a)) == -EAGAIN) {
		atomic64_inc(&h->dom->stalls);
		/* vf_change_held() wakes us when blackholes end, or are routed around */
		if (wait_event_interruptible(h->wq, vf_ring_decided(h, a)))
			return -ERESTARTSYS;
	}
	return ret;
}

static int vf_wait_once(struct vf_holder *h, struct vfab_wait *a,
			u64 count, u64 loss)
{
	if (vf_holder_state(h) != VF_HOLDER_ATTACHED)
		return -ENODEV;
	a->loss = smp_load_acquire(&h->loss);	/* see vf_view_loss() */
	a->count = READ_ONCE(*vf_count(h, a->vector));
	/* Once it has ended, the page may be another's: vf_holder_forget_bell() */
	smp_rmb();
	if (vf_holder_state(h) != VF_HOLDER_ATTACHED)
		return -ENODEV;
	if (a->loss != loss)
		a->reason = VFAB_WAIT_LOSS;
	else if (a->count != count)
		a->reason = VFAB_WAIT_COUNT;
	else
		return -EAGAIN;
	return 0;
}

int vf_doorbell_wait(struct vf_holder *h, struct vfab_wait *a)
{
	ktime_t deadline = min_t(u64, a->deadline, KTIME_MAX);
	u64 count = a->count, loss = a->loss;
	bool expired = false;
	DEFINE_WAIT(wait);
	int ret;

	if (a->vector >= VFAB_VECTORS)
		return -EINVAL;
	if (vf_holder_state(h) == VF_HOLDER_NEW)
		return -ENOTCONN;
	atomic64_inc(&h->wait_calls);
	spin_lock_irq(&h->wq.lock);
	vf_arm(h, a->vector, 1);
	__add_wait_queue(&h->wq, &wait);
	/*
	 * The full barrier in here orders the armed word before the count. The
	 * ringer stores the count, fences, loads the armed word: it sees us
	 * armed and calls RING, or we see its count.
	 */
	set_current_state(TASK_INTERRUPTIBLE);
	spin_unlock_irq(&h->wq.lock);
	for (;;) {
		ret = vf_wait_once(h, a, count, loss);
		if (ret != -EAGAIN)
			break;
		ret = -ETIMEDOUT;
		if (expired)
			break;
		ret = -ERESTARTSYS;
		if (signal_pending(current))
			break;
		if (a->deadline == VFAB_NO_DEADLINE)
			schedule();
		else if (!schedule_hrtimeout_range(&deadline, 0, HRTIMER_MODE_ABS))
			expired = true;
		/* Most often this is it: do not queue again before looking */
		ret = vf_wait_once(h, a, count, loss);
		if (ret != -EAGAIN)
			break;
		prepare_to_wait(&h->wq, &wait, TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
	spin_lock_irq(&h->wq.lock);
	list_del_init(&wait.entry);
	vf_arm(h, a->vector, -1);
	spin_unlock_irq(&h->wq.lock);
	return ret;
}

static void vf_eventfd_free(struct rcu_head *rcu)
{
	struct vf_eventfd *efd = container_of(rcu, struct vf_eventfd, rcu);

	eventfd_ctx_put(efd->ctx);
	kfree(efd);
}

/* Under domain->lock: replace what a vector signals. */
static void vf_eventfd_swap(struct vf_holder *h, u32 vector, struct vf_eventfd *efd)
{
	struct vf_eventfd *old;

	lockdep_assert_held(&h->dom->lock);
	old = rcu_replace_pointer(h->eventfd[vector], efd,
				  lockdep_is_held(&h->dom->lock));
	spin_lock_irq(&h->wq.lock);
	vf_arm(h, vector, !!efd - !!old);
	spin_unlock_irq(&h->wq.lock);
	if (old)
		call_rcu(&old->rcu, vf_eventfd_free);
}

int vf_doorbell_eventfd(struct vf_holder *h, struct vfab_eventfd *a)
{
	struct vf_eventfd *efd = NULL;
	int ret;

	if (a->vector >= VFAB_VECTORS)
		return -EINVAL;
	if (a->fd != -1) {
		efd = kzalloc(sizeof(*efd), GFP_KERNEL_ACCOUNT);
		if (!efd)
			return -ENOMEM;
		efd->ctx = eventfd_ctx_fdget(a->fd);
		if (IS_ERR(efd->ctx)) {
			ret = PTR_ERR(efd->ctx);
			kfree(efd);
			return ret;
		}
	}
	ret = vf_holder_lock(h);
	if (ret) {
		if (efd)
			vf_eventfd_free(&efd->rcu);
		return ret;
	}
	vf_eventfd_swap(h, a->vector, efd);
	mutex_unlock(&h->dom->lock);
	return 0;
}

/* Under RCU: the endpoint of this kernel that holds @rank, or NULL. */
static struct vf_holder *vf_ring_local(struct vf_domain *dom, u32 rank)
{
	struct vf_holder *h = rcu_dereference(dom->eps[rank].holder);

	return h && !h->remote ? h : NULL;
}

static void vf_ring_signal(struct vf_holder *h, u32 vector)
{
	struct vf_eventfd *efd = rcu_dereference(h->eventfd[vector]);

	if (efd)
		vf_eventfd_signal(efd->ctx);
}

/**
 * vf_doorbell_deliver - another node says that a doorbell was rung
 * @dom: placed
 * @rank: below its world
 * @vector: below VFAB_VECTORS
 *
 * That node has looked whether it may. If it might no more a moment later,
 * nothing was counted, and who is woken sees that.
 */
void vf_doorbell_deliver(struct vf_domain *dom, u32 rank, u32 vector)
{
	struct vf_holder *h;

	rcu_read_lock();
	h = vf_ring_local(dom, rank);
	if (h) {
		wake_up_all(&h->wq);
		vf_ring_signal(h, vector);
	}
	rcu_read_unlock();
}

/* Nobody knows which were rung: all may have been. */
void vf_doorbell_deliver_all(struct vf_domain *dom)
{
	struct vf_holder *h;
	u32 rank, v;

	for (rank = 0; rank < dom->topo.world; rank++) {
		rcu_read_lock();
		h = vf_ring_local(dom, rank);
		if (h) {
			wake_up_all(&h->wq);
			for (v = 0; v < VFAB_VECTORS; v++)
				vf_ring_signal(h, v);
		}
		rcu_read_unlock();
		cond_resched();
	}
}

void vf_doorbell_unbind_all(struct vf_holder *h)
{
	u32 v;

	for (v = 0; v < VFAB_VECTORS; v++)
		if (rcu_access_pointer(h->eventfd[v]))
			vf_eventfd_swap(h, v, NULL);
}
