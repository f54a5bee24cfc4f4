// SPDX-License-Identifier: GPL-2.0
/* Imports: the right to map a window, the mapping, and its faults. */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "compat.h"
#include "vfabric.h"

/* Of the view or the counts: LIVE for ever, also when their endpoint has ended. */
bool vf_import_is_own(const struct vf_import *im)
{
	return im->kind == VF_WINDOW_VIEW || im->kind == VF_WINDOW_COUNTS;
}

static void vf_import_free(struct kref *ref)
{
	struct vf_import *im = container_of(ref, struct vf_import, ref);

	if (vf_import_is_own(im))
		vf_window_put(im->win);
	else
		WARN_ON_ONCE(im->win);
	if (im->absorb)
		__free_page(im->absorb);
	kfree(im);
}

void vf_import_put(struct vf_import *im)
{
	kref_put(&im->ref, vf_import_free);
}

/*
 * Faults use im->win only inside SRCU and LIVE: called when the import is GONE
 * or ENDED and synchronized, so nobody does any more.
 */
void vf_import_drop_window(struct vf_import *im)
{
	struct vf_window *win = im->win;

	if (!win)
		return;
	lockdep_assert_held(&win->dom->lock);
	list_del_init(&im->win_node);
	win->nimports--;
	im->win = NULL;
	vf_window_put(win);
}

/* Out of the holder's tree; the caller then drops the tree's reference. */
void vf_import_unlink(struct vf_import *im)
{
	struct vf_holder *h = im->holder;

	lockdep_assert_held(&h->dom->lock);
	spin_lock(&h->lock);
	rb_erase(&im->node, &h->imports);
	spin_unlock(&h->lock);
	if (vf_import_is_own(im))
		return;		/* LIVE for as long as it is mapped */
	h->nimports--;
	list_del_init(&im->peer_node);
	vf_import_drop_window(im);
}

static struct vf_import *vf_import_new(struct vf_holder *h, u32 access, u32 loss)
{
	struct vf_import *im = kzalloc(sizeof(*im), VF_GFP_USER);

	if (!im)
		return NULL;
	if (loss == VFAB_LOSS_ABSORB) {
		im->absorb = alloc_page(VF_GFP_USER);
		if (!im->absorb) {
			kfree(im);
			return NULL;
		}
		memset(page_address(im->absorb), 0xff, PAGE_SIZE);
	}
	kref_init(&im->ref);
	im->holder = h;
	im->access = access;
	im->loss = loss;
	INIT_LIST_HEAD(&im->peer_node);
	INIT_LIST_HEAD(&im->win_node);
	INIT_LIST_HEAD(&im->change_node);
	return im;
}

static struct vf_peer *vf_peer_get(struct vf_holder *h, u32 rank)
{
	struct vf_peer *peer = xa_load(&h->peers, rank);
	int ret;

	if (peer)
		return peer;
	peer = kzalloc(sizeof(*peer), VF_GFP_LOCKED);
	if (!peer)
		return NULL;
	INIT_LIST_HEAD(&peer->imports);
	INIT_LIST_HEAD(&peer->gain_node);
	peer->holder = h;
	peer->rank = rank;
	ret = xa_err(xa_store(&h->peers, rank, peer, VF_GFP_LOCKED));
	if (ret) {
		kfree(peer);
		return NULL;
	}
	return peer;
}

static void vf_import_set_window(struct vf_import *im, struct vf_window *win,
				 u64 cookie)
{
	kref_get(&win->ref);
	im->win = win;
	im->kind = win->kind;
	im->rank = win->rank;
	im->npages = win->npages;
	im->pgoff = cookie >> PAGE_SHIFT;
}

/* Put @im where mmap() finds it. */
void vf_import_link(struct vf_import *im)
{
	struct vf_holder *h = im->holder;
	struct rb_node **link, *parent = NULL;

	lockdep_assert_held(&h->dom->lock);
	spin_lock(&h->lock);
	for (link = &h->imports.rb_node; *link;) {
		parent = *link;
		if (im->pgoff < rb_entry(parent, struct vf_import, node)->pgoff)
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	rb_link_node(&im->node, parent, link);
	rb_insert_color(&im->node, &h->imports);
	spin_unlock(&h->lock);
}

/* The next cookie of @win's owner: 2 MiB units that are never used again. */
static int vf_import_add(struct vf_import *im, struct vf_window *win, u64 *cookie)
{
	struct vf_holder *h = im->holder;
	unsigned long units = DIV_ROUND_UP(win->npages << PAGE_SHIFT, VF_COOKIE_UNIT);
	struct vf_peer *peer;

	if (h->nimports >= VF_MAX_IMPORTS)
		return -EDQUOT;
	peer = vf_peer_get(h, win->rank);
	if (!peer)
		return -ENOMEM;
	if (units > VF_COOKIE_UNITS - peer->next)
		return -ENOSPC;
	*cookie = ((u64)win->rank << VF_COOKIE_RANK_SHIFT) +
		  peer->next * VF_COOKIE_UNIT;
	peer->next += units;
	h->nimports++;
	vf_import_set_window(im, win, *cookie);
	if (vf_route_holed(&h->dom->topo, h->rank, win->rank))
		im->state = VF_IMPORT_HOLD;
	list_add_tail(&im->win_node, &win->imports);
	win->nimports++;
	list_add_tail(&im->peer_node, &peer->imports);
	vf_import_link(im);
	vf_domain_changed(h->dom);
	return 0;
}

int vf_import_handle(struct vf_holder *h, struct vfab_import *a)
{
	struct vf_window *win;
	struct vf_import *im;
	int ret;

	if (a->access & ~(VFAB_ACCESS_READ | VFAB_ACCESS_WRITE) ||
	    a->loss > VFAB_LOSS_ABSORB)
		return -EOPNOTSUPP;
	if (!(a->access & VFAB_ACCESS_READ) || a->pad)
		return -EINVAL;
	im = vf_import_new(h, a->access, a->loss);
	if (!im)
		return -ENOMEM;
	ret = vf_holder_lock(h);
	if (ret)
		goto put;
	ret = -ENOENT;
	win = vf_window_find(h->dom, a->handle);
	if (!win)
		goto unlock;
	ret = vf_reach(h->dom, h->rank, win->rank);
	if (ret)
		goto unlock;
	ret = -EPERM;
	if (!vf_same_channel(h, win->owner))
		goto unlock;
	ret = -EACCES;
	if (win->owner != h && a->access & ~win->access)
		goto unlock;
	ret = win->owner != h ? vf_fault_import(h) : 0;
	if (ret)
		goto unlock;
	ret = vf_import_add(im, win, &a->cookie);
	if (ret)
		goto unlock;
	a->size = (u64)win->npages << PAGE_SHIFT;
	a->rank = win->rank;
unlock:
	mutex_unlock(&h->dom->lock);
put:
	if (ret)
		vf_import_put(im);
	return ret;
}

int vf_import_bell(struct vf_holder *h, struct vfab_bell *a)
{
	struct vf_domain *dom = h->dom;
	struct vf_holder *peer;
	struct vf_import *im;
	int ret;

	if (a->loss > VFAB_LOSS_ABSORB)
		return -EOPNOTSUPP;
	if (a->rank >= dom->topo.world)
		return -EINVAL;
	im = vf_import_new(h, VFAB_ACCESS_READ | VFAB_ACCESS_WRITE, a->loss);
	if (!im)
		return -ENOMEM;
	ret = vf_holder_lock(h);
	if (ret)
		goto put;
	ret = vf_reach(dom, h->rank, a->rank);
	if (ret)
		goto unlock;
	ret = -EHOSTUNREACH;
	peer = rcu_dereference_protected(dom->eps[a->rank].holder,
					 lockdep_is_held(&dom->lock));
	if (!peer)
		goto unlock;
	ret = -EPERM;
	if (!vf_same_channel(h, peer))
		goto unlock;
	ret = vf_import_add(im, peer->bell, &a->cookie);
unlock:
	mutex_unlock(&dom->lock);
put:
	if (ret)
		vf_import_put(im);
	return ret;
}

/**
 * vf_import_own - the import of pages that a holder shares with the kernel only
 * @h: a holder
 * @win: the view or the counts; the import takes a reference
 * @access: VFAB_ACCESS_*
 * @cookie: where mmap() finds it, once it is linked
 *
 * Return: the import or NULL.
 */
struct vf_import *vf_import_own(struct vf_holder *h, struct vf_window *win,
				u32 access, u64 cookie)
{
	struct vf_import *im = vf_import_new(h, access, VFAB_LOSS_SIGBUS);

	if (im)
		vf_import_set_window(im, win, cookie);
	return im;
}

/* The import that covers [pgoff, pgoff + n); under holder->lock. */
static struct vf_import *vf_import_at(struct vf_holder *h, unsigned long pgoff,
				      unsigned long n)
{
	struct rb_node *node = h->imports.rb_node;

	lockdep_assert_held(&h->lock);
	while (node) {
		struct vf_import *im = rb_entry(node, struct vf_import, node);

		if (pgoff < im->pgoff)
			node = node->rb_left;
		else if (pgoff - im->pgoff >= im->npages)
			node = node->rb_right;
		else
			return n <= im->npages - (pgoff - im->pgoff) ? im : NULL;
	}
	return NULL;
}

int vf_import_release(struct vf_holder *h, struct vfab_release *a)
{
	struct vf_change chg;
	struct vf_import *im;
	int ret;

	ret = vf_holder_lock(h);
	if (ret)
		return ret;
	spin_lock(&h->lock);
	im = vf_import_at(h, a->cookie >> PAGE_SHIFT, 1);
	spin_unlock(&h->lock);
	if (!im || vf_import_is_own(im) ||
	    a->cookie != (u64)im->pgoff << PAGE_SHIFT) {
		mutex_unlock(&h->dom->lock);
		return -ENOENT;
	}
	vf_change_begin(&chg, h->dom, VFAB_REASON_NONE);
	vf_change_import(&chg, im, VF_IMPORT_ENDED);
	vf_change_commit(&chg);
	vf_import_unlink(im);
	vf_import_put(im);
	vf_domain_changed(h->dom);
	mutex_unlock(&h->dom->lock);
	return 0;
}

/*
 * Is it decided what an access gets? Not while an outage or a blackhole may
 * end, and not between the mark of a loss and its publication: who absorbs
 * could see it before the view and the loss generation tell.
 */
static bool vf_import_decided(struct vf_import *im, enum vf_import_state state)
{
	if (state == VF_IMPORT_LIVE || state == VF_IMPORT_ENDED)
		return true;
	if (state == VF_IMPORT_WAIT || state == VF_IMPORT_HOLD)
		return false;
	/* Who sees it, and then looks at the view, sees the loss there */
	return smp_load_acquire(&im->told);
}

/*
 * Sleep until it is decided: vf_settle_work() ends outages, vf_fault_work()
 * blackholes, vf_change_commit() everything else. Leaves the mmap lock, so that
 * other threads can map and unmap, and has the access retried.
 */
static vm_fault_t vf_fault_wait(struct vm_fault *vmf, struct vf_import *im)
{
	struct file *file = vmf->vma->vm_file;
	struct vf_holder *h = im->holder;
	bool user = vmf->flags & FAULT_FLAG_USER;

	/* futex() and the like cannot wait, and must not get another's page */
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY))
		return VM_FAULT_SIGBUS;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;	/* the lock stays held */
	if (READ_ONCE(im->state) == VF_IMPORT_HOLD)
		atomic64_inc(&h->dom->stalls);
	kref_get(&im->ref);
	get_file(file);			/* pins the holder and this code */
	vf_fault_unlock(vmf);
	/* vmf->vma may be gone from here on */
	if (user)	/* any signal: its handler runs, the access restarts */
		wait_event_interruptible(h->wq,
					 vf_import_decided(im, READ_ONCE(im->state)));
	else		/* copy_*_user(): a handled signal would spin */
		wait_event_killable(h->wq, vf_import_decided(im, READ_ONCE(im->state)));
	vf_import_put(im);
	fput(file);
	return VM_FAULT_RETRY;
}

static vm_fault_t vf_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct vf_import *im = vma->vm_private_data;
	unsigned long index = vmf->pgoff - im->pgoff;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	enum vf_import_state state;
	unsigned long pfn = 0;		/* of nobody */
	bool wait = false;
	int idx;

	if (index >= im->npages)
		return VM_FAULT_SIGBUS;

	idx = srcu_read_lock(&vf_srcu);
	state = READ_ONCE(im->state);
	if (state == VF_IMPORT_LIVE)
		pfn = vf_window_pfn(im->win, index);
	else if (!vf_import_decided(im, state))
		wait = true;
	else if (state != VF_IMPORT_ENDED && im->absorb)
		pfn = page_to_pfn(im->absorb);
	if (pfn)
		ret = vmf_insert_pfn(vma, vmf->address, pfn);
	srcu_read_unlock(&vf_srcu, idx);
	return wait ? vf_fault_wait(vmf, im) : ret;
}

#ifdef VF_HUGE_FAULT
/* Is there a 2 MiB page, of memory or of a backplane, from this page on? */
static bool vf_window_huge(const struct vf_window *win, unsigned long index)
{
	if (!IS_ALIGNED(vf_window_pfn(win, index), HPAGE_PMD_NR))
		return false;
	if (!win->pages)
		return true;
	/* The window holds it, so its size stays; other bits of that word change */
	return data_race(folio_order(page_folio(win->pages[index]))) >= HPAGE_PMD_ORDER;
}

/*
 * May run under the per-VMA lock: never waits, never fails; whatever is not a
 * whole, live, aligned 2 MiB page is left to vf_fault().
 */
static vm_fault_t vf_huge_fault(struct vm_fault *vmf, unsigned int order)
{
	struct vm_area_struct *vma = vmf->vma;
	struct vf_import *im = vma->vm_private_data;
	unsigned long addr = vmf->address & PMD_MASK;	/* before the offset is taken */
	vm_fault_t ret = VM_FAULT_FALLBACK;
	unsigned long index;
	int idx;

	if (order != HPAGE_PMD_ORDER || addr < vma->vm_start || addr + PMD_SIZE > vma->vm_end)
		return ret;
	index = linear_page_index(vma, addr) - im->pgoff;
	if (index >= im->npages || im->npages - index < HPAGE_PMD_NR)
		return ret;

	idx = srcu_read_lock(&vf_srcu);
	if (READ_ONCE(im->state) == VF_IMPORT_LIVE && vf_window_huge(im->win, index))
		ret = vf_insert_pmd(vmf, vf_window_pfn(im->win, index));
	srcu_read_unlock(&vf_srcu, idx);
	return ret;
}
#endif

static void vf_vm_open(struct vm_area_struct *vma)
{
	struct vf_import *im = vma->vm_private_data;

	kref_get(&im->ref);
}

static void vf_vm_close(struct vm_area_struct *vma)
{
	vf_import_put(vma->vm_private_data);
}

static const struct vm_operations_struct vf_vm_ops = {
	.open = vf_vm_open,
	.close = vf_vm_close,
	.fault = vf_fault,
#ifdef VF_HUGE_FAULT
	.huge_fault = vf_huge_fault,
#endif
};

/* May this import be mapped so? */
static int vf_mmap_allowed(struct vf_holder *h, struct vf_import *im,
			   struct vm_area_struct *vma, bool *readonly)
{
	*readonly = !(im->access & VFAB_ACCESS_WRITE);
	if (im->kind == VF_WINDOW_BELL) {
		/* Two pages with different rights */
		if (vma_pages(vma) != 1)
			return -EINVAL;
		if (vma->vm_pgoff != im->pgoff && im->rank != h->rank)
			*readonly = true;
	}
	return *readonly && (vma->vm_flags & VM_WRITE) ? -EACCES : 0;
}

/**
 * vf_import_mmap - map an import, or a part of it
 * @h: whose file
 * @vma: shared, not executable, within one import
 *
 * Maps no page: see the proof in change.c.
 *
 * Return: 0, -EINVAL (no such import, too long, private), -EACCES (more access
 * than the import has, or executable), -ENODEV (the endpoint has ended).
 */
int vf_import_mmap(struct vf_holder *h, struct vm_area_struct *vma)
{
	struct vf_import *im;
	bool readonly;
	int ret;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	if (vf_holder_state(h) != VF_HOLDER_ATTACHED)
		return vf_holder_state(h) == VF_HOLDER_NEW ? -ENOTCONN : -ENODEV;

	spin_lock(&h->lock);
	im = vf_import_at(h, vma->vm_pgoff, vma_pages(vma));
	if (im)
		kref_get(&im->ref);
	spin_unlock(&h->lock);
	if (!im)
		return -EINVAL;
	ret = vf_mmap_allowed(h, im, vma, &readonly);
	if (ret) {
		vf_import_put(im);
		return ret;
	}
	vf_vma_set_flags(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP,
			 VM_MAYEXEC | (readonly ? VM_MAYWRITE : 0));
	vma->vm_private_data = im;	/* the reference moves into the VMA */
	vma->vm_ops = &vf_vm_ops;
	vma_set_file(vma, h->shadow);	/* last: nothing may fail after it */
	return 0;
}
