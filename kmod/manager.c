// SPDX-License-Identifier: GPL-2.0
/*
 * The fabric manager of a domain: a process that says now and then that it is
 * there. The kernel does nothing in its place: while none is there routes stay
 * as they are. It says so, that is all.
 */
#include <linux/jiffies.h>
#include <linux/pid.h>
#include <uapi/linux/vfabric_netlink.h>
#include "vfabric.h"

static void vf_manager_tell(struct vf_domain *dom, int why)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_MANAGER, VFAB_ACT_CHANGED, why);

	n.manager = dom->manager.state;
	vf_domain_changed(dom);
	vf_notify(dom, &n);
}

static void vf_manager_set_pid(struct vf_manager *m, struct pid *tgid)
{
	if (m->tgid == tgid)
		return;
	put_pid(m->tgid);
	m->tgid = get_pid(tgid);
}

/* Is it another than who speaks by @portid, and alive? */
static bool vf_manager_other(const struct vf_manager *m, u32 portid)
{
	return m->state == VFAB_MANAGER_ALIVE && m->portid != portid;
}

/**
 * vf_manager_beat - the current process manages @dom, and is well
 * @dom: under its lock
 * @portid: the socket by which it says so
 * @timeout_ms: it is lost when it has not said so again for so long
 * @note: what else it says of itself, or NULL: as before
 *
 * Return: 0, or -EBUSY while another one is alive.
 */
int vf_manager_beat(struct vf_domain *dom, u32 portid, u32 timeout_ms, const char *note)
{
	struct vf_manager *m = &dom->manager;
	bool news = m->state != VFAB_MANAGER_ALIVE;

	lockdep_assert_held(&dom->lock);
	if (vf_manager_other(m, portid))
		return -EBUSY;
	if (note || m->portid != portid)
		strscpy(m->note, note ?: "", sizeof(m->note));
	vf_manager_set_pid(m, task_tgid(current));
	WRITE_ONCE(m->portid, portid);
	m->timeout_ms = timeout_ms;
	m->beat = jiffies;
	m->state = VFAB_MANAGER_ALIVE;
	mod_delayed_work(vf_wq, &m->silent, msecs_to_jiffies(timeout_ms) + 1);
	if (news)
		vf_manager_tell(dom, VFAB_WHY_ATTACH);
	return 0;
}

/**
 * vf_manager_leave - the manager ends, and means to
 * @dom: under its lock
 * @portid: its socket
 *
 * Return: 0, -ENOENT where there is none, -EBUSY where it is another.
 */
int vf_manager_leave(struct vf_domain *dom, u32 portid)
{
	struct vf_manager *m = &dom->manager;

	lockdep_assert_held(&dom->lock);
	if (m->state == VFAB_MANAGER_NONE)
		return -ENOENT;
	if (m->portid != portid)
		return -EBUSY;
	WRITE_ONCE(m->portid, 0);
	vf_manager_set_pid(m, NULL);
	m->state = VFAB_MANAGER_NONE;
	vf_manager_tell(dom, VFAB_WHY_EXIT);
	return 0;
}

static void vf_manager_lose(struct vf_domain *dom, int why)
{
	dom->manager.state = VFAB_MANAGER_LOST;
	vf_manager_tell(dom, why);
}

/**
 * vf_manager_closed - the socket by which a manager spoke is gone, and so is it
 * @net: the socket's
 * @portid: the socket's
 */
void vf_manager_closed(struct net *net, u32 portid)
{
	struct vf_domain *dom;
	unsigned long id = 0;

	while ((dom = vf_domain_next(&id))) {
		if (READ_ONCE(dom->net) == net &&
		    READ_ONCE(dom->manager.portid) == portid) {
			mutex_lock(&dom->lock);
			if (!dom->dead && dom->manager.portid == portid) {
				WRITE_ONCE(dom->manager.portid, 0);
				if (dom->manager.state == VFAB_MANAGER_ALIVE)
					vf_manager_lose(dom, VFAB_WHY_EXIT);
			}
			mutex_unlock(&dom->lock);
		}
		vf_domain_put(dom);
		id++;
	}
}

static void vf_manager_silent(struct work_struct *work)
{
	struct vf_manager *m = container_of(to_delayed_work(work), struct vf_manager,
					    silent);
	struct vf_domain *dom = container_of(m, struct vf_domain, manager);

	mutex_lock(&dom->lock);
	/* A sign of life that came meanwhile has queued this anew */
	if (!dom->dead && m->state == VFAB_MANAGER_ALIVE &&
	    time_after(jiffies, m->beat + msecs_to_jiffies(m->timeout_ms)))
		vf_manager_lose(dom, VFAB_WHY_NONE);
	mutex_unlock(&dom->lock);
}

void vf_manager_init(struct vf_domain *dom)
{
	INIT_DELAYED_WORK(&dom->manager.silent, vf_manager_silent);
}

/* @dom is dead, so that nobody says anything any more. */
void vf_manager_end(struct vf_domain *dom)
{
	cancel_delayed_work_sync(&dom->manager.silent);
	vf_manager_set_pid(&dom->manager, NULL);
}
