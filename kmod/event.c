// SPDX-License-Identifier: GPL-2.0
/* The bounded queue of events that read() returns. */
#include <linux/fs.h>
#include <linux/uaccess.h>
#include "vfabric.h"

/*
 * Events are staged while a change is made and become readable when it is
 * done: after the loss, never before it.
 */
void vf_event_stage(struct vf_change *chg, struct vf_holder *h, u32 type,
		    u32 rank, u64 handle, u32 reason)
{
	struct vf_counts *c = &h->dom->counts[h->rank];
	bool dropped = vf_fault_drops(h);

	lockdep_assert_held(&h->dom->lock);
	c->peers_lost += type == VFAB_EVENT_PEER_LOST;
	c->windows_revoked += type == VFAB_EVENT_WINDOW_REVOKED;
	spin_lock(&h->lock);
	/* None after a gap: the overflow record comes where it is */
	if (!dropped && !h->ev_overflow && !h->ev_missed &&
	    h->ev_staged - h->ev_head < VF_EVENTS) {
		h->events[h->ev_staged++ % VF_EVENTS] = (struct vf_event){
			.handle = handle,
			.rank = rank,
			.type = type,
			.reason = reason,
		};
	} else {
		h->ev_missed = true;
		c->events_dropped++;
	}
	spin_unlock(&h->lock);
	vf_change_tell(chg, h);
}

void vf_event_publish(struct vf_holder *h)
{
	u32 fresh = h->ev_staged - h->ev_stamped;
	bool late = fresh && h->state != VF_HOLDER_ENDED && vf_fault_delays(h, fresh);

	spin_lock(&h->lock);
	for (; h->ev_stamped != h->ev_staged; h->ev_stamped++)
		h->events[h->ev_stamped % VF_EVENTS].loss = lower_32_bits(h->view->loss);
	h->ev_late = h->state != VF_HOLDER_ENDED && (late || h->ev_late);
	if (!h->ev_late)
		h->ev_tail = h->ev_staged;
	if (h->ev_missed)
		h->ev_overflow = true;
	h->ev_missed = false;
	spin_unlock(&h->lock);
}

/* What faults kept back is readable now. */
void vf_event_release(struct vf_holder *h)
{
	lockdep_assert_held(&h->dom->lock);
	if (!h->ev_late)
		return;
	spin_lock(&h->lock);
	vf_fault_reorder(h);
	h->ev_late = false;
	h->ev_tail = h->ev_stamped;
	spin_unlock(&h->lock);
	wake_up_all(&h->wq);
}

/* The overflow record is not read before those that are kept back. */
static bool vf_event_gap(struct vf_holder *h)
{
	return READ_ONCE(h->ev_overflow) && !READ_ONCE(h->ev_late);
}

bool vf_event_pending(struct vf_holder *h)
{
	return READ_ONCE(h->ev_head) != READ_ONCE(h->ev_tail) || vf_event_gap(h);
}

static bool vf_event_ready(struct vf_holder *h)
{
	return vf_event_pending(h) || vf_holder_state(h) == VF_HOLDER_ENDED;
}

static void vf_event_unpack(struct vf_holder *h, const struct vf_event *q,
			    struct vfab_event *e)
{
	u64 now = h->view->loss;

	*e = (struct vfab_event){
		.type = q->type,
		.rank = q->rank,
		.handle = q->handle,
		.loss = now - (u32)(lower_32_bits(now) - q->loss),
		.reason = q->reason,
	};
}

/* The overflow record comes after those that were kept: they are older. */
static bool vf_event_peek(struct vf_holder *h, struct vfab_event *e)
{
	bool got = true;

	spin_lock(&h->lock);
	if (h->ev_head != h->ev_tail)
		vf_event_unpack(h, &h->events[h->ev_head % VF_EVENTS], e);
	else if (vf_event_gap(h))
		*e = (struct vfab_event){
			.type = VFAB_EVENT_OVERFLOW,
			.rank = h->rank,
			.loss = h->view->loss,
		};
	else
		got = false;
	spin_unlock(&h->lock);
	return got;
}

static void vf_event_pop(struct vf_holder *h, const struct vfab_event *e)
{
	spin_lock(&h->lock);
	if (e->type == VFAB_EVENT_OVERFLOW)
		h->ev_overflow = false;
	else
		h->ev_head++;
	spin_unlock(&h->lock);
}

ssize_t vf_event_read(struct vf_holder *h, struct file *file, char __user *buf,
		      size_t len)
{
	struct vfab_event e;
	size_t done = 0;
	bool got, bad;
	int ret;

	if (vf_holder_state(h) == VF_HOLDER_NEW)
		return -ENOTCONN;
	if (len < sizeof(e))
		return -EINVAL;
	while (len - done >= sizeof(e)) {
		/* One reader at a time, so that a bad buffer loses nothing */
		ret = mutex_lock_interruptible(&h->file_lock);
		if (ret)
			return done ?: -ERESTARTSYS;
		got = vf_event_peek(h, &e);
		bad = got && copy_to_user(buf + done, &e, sizeof(e));
		if (got && !bad)
			vf_event_pop(h, &e);
		mutex_unlock(&h->file_lock);
		if (bad)
			return done ?: -EFAULT;
		if (got) {
			done += sizeof(e);
			continue;
		}
		if (done || vf_holder_state(h) == VF_HOLDER_ENDED)
			break;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible(h->wq, vf_event_ready(h));
		if (ret)
			return ret;
	}
	return done;
}
