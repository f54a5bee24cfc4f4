// SPDX-License-Identifier: GPL-2.0
/* Holders: an open file, the endpoint it attaches to, and its end. */
#include <linux/file.h>
#include <linux/fs_context.h>
#include <linux/mount.h>
#include <linux/pid.h>
#include <linux/pseudo_fs.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <uapi/linux/vfabric_netlink.h>
#include "vfabric.h"

#define VF_FS_MAGIC 0x76666162

static struct vfsmount *vf_mnt;

/*
 * Each holder has an inode of its own on a private file system, so that its
 * mappings can be unmapped by mmap offset, and a shadow file on that inode for
 * its VMAs to hold: thus the endpoint's own file is released at its last
 * close, whatever mappings are left.
 *
 * file_system_type.owner stays unset: kern_mount() would pin the module.
 */
static int vf_fs_init(struct fs_context *fc)
{
	return init_pseudo(fc, VF_FS_MAGIC) ? 0 : -ENOMEM;
}

static struct file_system_type vf_fs_type = {
	.name = "vfabric",
	.init_fs_context = vf_fs_init,
	.kill_sb = kill_anon_super,
};

static int vf_shadow_release(struct inode *inode, struct file *file)
{
	vf_holder_put(file->private_data);
	return 0;
}

static const struct file_operations vf_shadow_fops = {
	.owner = THIS_MODULE,
	.release = vf_shadow_release,
	.fsync = noop_fsync,		/* msync() of plain memory */
	.llseek = noop_llseek,
};

static void vf_holder_free(struct kref *ref)
{
	struct vf_holder *h = container_of(ref, struct vf_holder, ref);
	struct vf_peer *peer;
	unsigned long i;

	xa_for_each(&h->peers, i, peer)
		kfree(peer);
	xa_destroy(&h->peers);
	if (h->bell)
		vf_window_put(h->bell);
	if (h->view_import)
		vf_import_put(h->view_import);
	if (h->counts_import)
		vf_import_put(h->counts_import);
	kvfree(h->folded);
	kvfree(h->events);
	kvfree(h->outages);
	if (h->inode)
		iput(h->inode);
	put_pid(h->tgid);
	if (h->gate)
		vf_gate_put(h->gate);
	if (h->remote)
		vf_domain_put(h->dom);
	kfree_rcu(h, rcu);
}

void vf_holder_put(struct vf_holder *h)
{
	kref_put(&h->ref, vf_holder_free);
}

/* Has every thread of the process that attached exited? */
static bool vf_holder_dead_process(struct vf_holder *h)
{
	struct task_struct *t;
	bool dead;

	rcu_read_lock();
	t = pid_task(h->tgid, PIDTYPE_TGID);
	dead = !t || (READ_ONCE(t->exit_state) && thread_group_empty(t));
	rcu_read_unlock();
	return dead;
}

static void vf_pid_work(struct work_struct *work)
{
	struct vf_holder *h = container_of(work, struct vf_holder, pid_work);

	if (vf_holder_dead_process(h))
		vf_holder_end(h, VFAB_REASON_EXIT);
	vf_holder_put(h);
}

/* tasklist_lock is held and interrupts are off */
static int vf_pid_wake(wait_queue_entry_t *entry, unsigned int mode, int flags,
		       void *key)
{
	struct vf_holder *h = container_of(entry, struct vf_holder, pid_wait);

	kref_get(&h->ref);
	if (!queue_work(vf_wq, &h->pid_work))
		kref_put(&h->ref, vf_holder_free);	/* never the last */
	return 0;
}

static struct vf_holder *vf_holder_new(struct vf_domain *dom)
{
	struct vf_holder *h = kzalloc(sizeof(*h), GFP_KERNEL_ACCOUNT);

	if (!h)
		return NULL;
	kref_init(&h->ref);
	h->dom = dom;
	h->channel = VFAB_CHANNEL_NONE;
	h->record = -1;
	h->rank = VFAB_RANK_ANY;
	INIT_LIST_HEAD(&h->part_node);
	INIT_LIST_HEAD(&h->windows);
	INIT_LIST_HEAD(&h->tell);
	xa_init(&h->peers);
	init_waitqueue_head(&h->wq);
	mutex_init(&h->file_lock);
	spin_lock_init(&h->lock);
	h->imports = RB_ROOT;
	return h;
}

/**
 * vf_holder_create - what open() makes
 * @gate: a reference that moves into the holder, also on failure
 *
 * Return: a holder that is not attached, or an ERR_PTR.
 */
struct vf_holder *vf_holder_create(struct vf_gate *gate)
{
	struct vf_holder *h;
	struct file *shadow;

	h = vf_holder_new(gate->part->dom);
	if (!h) {
		vf_gate_put(gate);
		return ERR_PTR(-ENOMEM);
	}
	h->gate = gate;
	h->channel = gate->channel;
	INIT_WORK(&h->pid_work, vf_pid_work);
	init_waitqueue_func_entry(&h->pid_wait, vf_pid_wake);
	INIT_LIST_HEAD(&h->pid_wait.entry);

	h->inode = alloc_anon_inode(vf_mnt->mnt_sb);
	if (IS_ERR(h->inode)) {
		int ret = PTR_ERR(h->inode);

		h->inode = NULL;
		vf_holder_put(h);
		return ERR_PTR(ret);
	}
	ihold(h->inode);		/* one for the holder, one for the file */
	__module_get(THIS_MODULE);	/* the shadow's: __fput() drops it */
	shadow = alloc_file_pseudo(h->inode, vf_mnt, "endpoint", O_RDWR,
				   &vf_shadow_fops);
	if (IS_ERR(shadow)) {
		module_put(THIS_MODULE);
		iput(h->inode);
		vf_holder_put(h);
		return ERR_CAST(shadow);
	}
	kref_get(&h->ref);
	shadow->private_data = h;
	h->shadow = shadow;
	return h;
}

/* domain->lock, for a holder that is attached; else why it is not. */
int vf_holder_lock(struct vf_holder *h)
{
	enum vf_holder_state state;

	if (mutex_lock_killable(&h->dom->lock))
		return -EINTR;
	state = h->state;
	if (state == VF_HOLDER_ATTACHED)
		return 0;
	mutex_unlock(&h->dom->lock);
	return state == VF_HOLDER_NEW ? -ENOTCONN : -ENODEV;
}

/* Is it this kernel where a rank may be attached? */
static bool vf_rank_here(const struct vf_domain *dom, u32 rank)
{
	return !vf_is_placed(dom) || vf_placed_here(dom, rank);
}

static int vf_pick_rank(struct vf_holder *h, u32 *rank)
{
	struct vf_partition *part = h->gate->part;
	struct vf_domain *dom = h->dom;
	u32 i, stuck = VFAB_RANK_ANY;

	if (*rank != VFAB_RANK_ANY) {
		if (*rank >= dom->topo.world)
			return -EINVAL;
		if (!vf_rank_here(dom, *rank))
			return -EXDEV;
		if (dom->eps[*rank].part != part)
			return -EACCES;
		if (rcu_access_pointer(dom->eps[*rank].holder))
			return -EBUSY;
		return vf_fault_attach(dom, *rank, true) ? 0 : -EAGAIN;
	}
	for (i = 0; i < dom->topo.world; i++) {
		if (dom->eps[i].part != part || rcu_access_pointer(dom->eps[i].holder) ||
		    !vf_rank_here(dom, i))
			continue;
		if (vf_fault_attach(dom, i, false)) {
			*rank = i;
			return 0;
		}
		stuck = i;
	}
	if (stuck == VFAB_RANK_ANY)
		return -EHOSTUNREACH;
	vf_fault_attach(dom, stuck, true);
	return -EAGAIN;
}

/* What an attached holder needs, allocated before domain->lock is taken. */
static int vf_holder_prepare(struct vf_holder *h)
{
	if (!h->events)
		h->events = kvcalloc(VF_EVENTS, sizeof(*h->events), GFP_KERNEL_ACCOUNT);
	if (!h->events)
		return -ENOMEM;
	if (!h->bell) {
		struct vf_window *bell = vf_window_bell(h);

		if (IS_ERR(bell))
			return PTR_ERR(bell);
		h->bell = bell;
		h->bells = bell->vmem;
	}
	return h->view_import ? 0 : vf_view_create(h);
}

/*
 * Memory of a backplane is nobody's quota's, and all its users share it: doorbell pages
 * are not kept as long as the file is, of which one may have many. Who still reads them
 * (vf_wait_once()) may, as the backplane stays mapped, and then sees that it has ended.
 */
void vf_holder_forget_bell(struct vf_holder *h)
{
	if (!h->bell || !vf_is_placed(h->dom))
		return;
	vf_window_put(h->bell);
	h->bell = NULL;
}

/* Room for outages to be ridden out; under domain->lock. */
int vf_holder_ride_out(struct vf_holder *h)
{
	lockdep_assert_held(&h->dom->lock);
	if (!h->outages)
		h->outages = kvcalloc(h->dom->topo.world, sizeof(*h->outages),
				      VF_GFP_LOCKED);
	return h->outages ? 0 : -ENOMEM;
}

/* It holds its rank from now on: for all to see. */
static void vf_holder_enter(struct vf_holder *h)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_ENDPOINT, VFAB_ACT_ATTACHED,
				       VFAB_WHY_ATTACH);
	struct vf_domain *dom = h->dom;
	struct vf_partition *part = dom->eps[h->rank].part;
	struct vf_holder *peer;
	struct vf_change chg;

	vf_holder_set_state(h, VF_HOLDER_ATTACHED);
	rcu_assign_pointer(dom->eps[h->rank].holder, h);
	if (part) {
		list_add_tail(&h->part_node, &part->holders);
		part->held++;
		n.partition = part->id;
	}
	dom->attached++;
	dom->counts[h->rank].attaches++;
	vf_domain_changed(dom);

	vf_change_begin(&chg, dom, VFAB_REASON_ATTACH);
	if (part)
		list_for_each_entry(peer, &part->holders, part_node)
			if (peer != h)
				vf_change_pair(&chg, peer, h->rank);
	vf_change_commit(&chg);
	n.rank = h->rank;
	if (h->channel != VFAB_CHANNEL_NONE)
		n.channel = h->channel;
	vf_notify(dom, &n);
}

static int vf_holder_take(struct vf_holder *h, u32 *want)
{
	struct vf_domain *dom = h->dom;
	u32 rank = *want;
	int ret;

	if (mutex_lock_killable(&dom->lock))
		return -EINTR;
	ret = -ENODEV;
	if (dom->dead || h->gate->dead || h->state == VF_HOLDER_ENDED)
		goto unlock;
	ret = -EALREADY;
	if (h->state == VF_HOLDER_ATTACHED)
		goto unlock;
	ret = vf_pick_rank(h, &rank);
	if (!ret && dom->retry_ms)
		ret = vf_holder_ride_out(h);
	if (!ret && vf_is_placed(dom))
		ret = vf_placed_endpoint(h, rank);
	if (ret)
		goto unlock;

	/* Nothing can fail from here on */
	h->rank = rank;
	h->bell->rank = rank;
	vf_view_fill(h);
	kref_get(&h->view_import->ref);
	vf_import_link(h->view_import);
	WRITE_ONCE(h->tgid, get_pid(task_tgid(current)));
	h->gate->held++;
	vf_holder_enter(h);
	*want = rank;

	/*
	 * flush() sees most exits at once; the pid's wait queue sees the rest
	 * (a sibling that shares the file table, an exec, a passed file).
	 */
	add_wait_queue(&h->tgid->wait_pidfd, &h->pid_wait);
unlock:
	vf_domain_unlock(dom);
	return ret;
}

/**
 * vf_holder_attach_remote - an endpoint is attached on another node
 * @dom: under its lock, placed on a backplane
 * @rank: which nobody holds
 * @gate: of its channel, or NULL
 * @bell: the first page frame of its two doorbell pages
 *
 * Return: who holds it for this kernel, with a reference of the caller's; or NULL.
 */
struct vf_holder *vf_holder_attach_remote(struct vf_domain *dom, u32 rank,
					  struct vf_gate *gate, unsigned long bell)
{
	struct vf_holder *h = vf_holder_new(dom);

	lockdep_assert_held(&dom->lock);
	if (!h)
		return NULL;
	kref_get(&dom->ref);
	h->remote = true;
	h->rank = rank;
	h->bell = vf_window_remote(h, VF_WINDOW_BELL, bell, 2 * PAGE_SIZE);
	if (!h->bell) {
		vf_holder_put(h);
		return NULL;
	}
	if (gate) {
		kref_get(&gate->ref);
		h->gate = gate;
		h->channel = gate->channel;
		gate->held++;
	}
	vf_holder_enter(h);
	return h;
}

/**
 * vf_holder_attach - take an endpoint
 * @h: from open()
 * @a: see struct vfab_attach
 *
 * Return: 0 or an errno of the uapi header.
 */
int vf_holder_attach(struct vf_holder *h, struct vfab_attach *a)
{
	int ret;

	if (a->flags)
		return -EOPNOTSUPP;
	if (mutex_lock_killable(&h->file_lock))
		return -EINTR;
	ret = vf_holder_state(h) == VF_HOLDER_NEW ? vf_holder_prepare(h) : 0;
	if (!ret)
		ret = vf_holder_take(h, &a->rank);
	if (ret && vf_holder_state(h) == VF_HOLDER_NEW)
		vf_holder_forget_bell(h);
	mutex_unlock(&h->file_lock);
	return ret;
}

/**
 * vf_holder_kill - mark the end of an endpoint
 * @chg: the change being made; its commit unmaps and drains
 * @h: attached
 */
void vf_holder_kill(struct vf_change *chg, struct vf_holder *h)
{
	struct vf_domain *dom = chg->dom;
	struct vf_endpoint *ep = &dom->eps[h->rank];
	struct vf_holder *peer;
	struct vf_window *win;
	struct rb_node *node;

	lockdep_assert_held(&dom->lock);
	vf_holder_set_state(h, VF_HOLDER_ENDED);
	rcu_assign_pointer(ep->holder, NULL);
	list_del_init(&h->part_node);
	if (ep->part) {
		ep->part->held--;
		ep->part->lossy = true;
	}
	if (h->gate)
		h->gate->held--;
	vf_counters_of_holder(h);
	dom->attached--;
	vf_domain_changed(dom);
	chg->sync = true;
	vf_change_tell(chg, h);

	/* Own imports end for good; the view stays, and says so; the counts stay */
	for (node = rb_first(&h->imports); node; node = rb_next(node)) {
		struct vf_import *im = rb_entry(node, struct vf_import, node);

		if (!vf_import_is_own(im))
			vf_change_import(chg, im, VF_IMPORT_GONE);
	}
	if (!h->remote)
		vf_view_end(h);
	if (h->record >= 0 && vf_is_placed(dom))
		vf_placed_endpoint_gone(h);

	if (dom->peer_death == VFAB_PEER_DEATH_REVOKE)
		list_for_each_entry(win, &h->windows, node)
			vf_window_revoke(chg, win);
	vf_window_revoke(chg, h->bell);

	if (ep->part)
		list_for_each_entry(peer, &ep->part->holders, part_node)
			vf_change_pair(chg, peer, h->rank);
	/* A domain's end calls this 1024 times, for 1023 peers and fewer. */
	cond_resched();
}

/* After the commit's unmapping: let go of all that the endpoint had. */
void vf_holder_drain(struct vf_holder *h)
{
	struct vf_window *win, *next;
	struct rb_node *node;

	lockdep_assert_held(&h->dom->lock);
	list_for_each_entry_safe(win, next, &h->windows, node) {
		vf_window_unlink(win);
		vf_window_put(win);
		cond_resched();
	}
	while ((node = rb_first(&h->imports))) {
		struct vf_import *im = rb_entry(node, struct vf_import, node);

		vf_import_unlink(im);
		vf_import_put(im);
		cond_resched();
	}
	vf_doorbell_unbind_all(h);
}

/**
 * vf_holder_end - DETACH, the last close, or the process's exit
 * @h: in any state
 * @reason: enum vfab_reason
 *
 * When it returns, nobody reaches the endpoint's memory and it reaches nobody.
 */
void vf_holder_end(struct vf_holder *h, u32 reason)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_ENDPOINT, VFAB_ACT_DETACHED,
				       VFAB_WHY_EXIT);
	struct vf_domain *dom = h->dom;
	struct vf_change chg;

	mutex_lock(&dom->lock);
	if (h->state == VF_HOLDER_ATTACHED) {
		vf_change_begin(&chg, dom, reason);
		vf_holder_kill(&chg, h);
		vf_change_commit(&chg);
		n.reason = reason;
		n.rank = h->rank;
		vf_notify(dom, &n);
	}
	vf_holder_set_state(h, VF_HOLDER_ENDED);
	vf_domain_unlock(dom);
}

/**
 * vf_holders_evict - end endpoints in one change, as if their holders had exited
 * @dom: under its lock
 * @ranks: which; those that nobody holds are left alone
 * @why: what the announcement says, enum vfabric_reason
 */
void vf_holders_evict(struct vf_domain *dom, const unsigned long *ranks, int why)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_ENDPOINT, VFAB_ACT_DETACHED, why);
	DECLARE_BITMAP(ended, VF_MAX_WORLD) = { };
	struct vf_change chg;
	unsigned int rank;

	vf_change_begin(&chg, dom, VFAB_REASON_EXIT);
	for_each_set_bit(rank, ranks, dom->topo.world) {
		struct vf_holder *h;

		h = rcu_dereference_protected(dom->eps[rank].holder,
					      lockdep_is_held(&dom->lock));
		if (!h)
			continue;
		vf_holder_kill(&chg, h);
		__set_bit(rank, ended);
	}
	vf_change_commit(&chg);
	for_each_set_bit(rank, ended, dom->topo.world) {
		n.rank = rank;
		vf_notify(dom, &n);
	}
}

/* Is this the last thread of the process that attached, closing its files? */
bool vf_holder_exiting(struct vf_holder *h)
{
	return (current->flags & PF_EXITING) && READ_ONCE(h->tgid) == task_tgid(current) &&
	       !atomic_read(&current->signal->live);
}

void vf_holder_forget_pid(struct vf_holder *h)
{
	if (h->tgid)
		remove_wait_queue(&h->tgid->wait_pidfd, &h->pid_wait);
}

int vf_endpoint_init(void)
{
	vf_mnt = kern_mount(&vf_fs_type);
	return PTR_ERR_OR_ZERO(vf_mnt);
}

void vf_endpoint_exit(void)
{
	kern_unmount(vf_mnt);
}
