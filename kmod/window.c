// SPDX-License-Identifier: GPL-2.0
/* Windows: memory that an endpoint exports, and how peers find it. */
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/mount.h>
#include <linux/pagemap.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "compat.h"
#include "vfabric.h"

/* A tmpfs of our own: 2 MiB pages wherever a window holds a whole one. */
static struct vfsmount *vf_tmpfs;

static atomic_t vf_handle_seq;

/* The pages of @page's folio from it on. */
static unsigned long vf_folio_rest(struct page *page)
{
	struct folio *folio = page_folio(page);

	/* We hold it, so its size and place stay; other bits of that word change */
	return data_race(folio_nr_pages(folio) - folio_page_idx(folio, page));
}

static void vf_window_put_pages(struct vf_window *win)
{
	unsigned long i = 0;

	while (i < win->npages && win->pages[i]) {
		struct page *page = win->pages[i];

		i += vf_folio_rest(page);
		folio_put(page_folio(page));
	}
}

static void vf_window_release(struct kref *ref)
{
	struct vf_window *win = container_of(ref, struct vf_window, ref);

	WARN_ON_ONCE(!list_empty(&win->imports));
	if (win->pages && win->shm)
		vf_window_put_pages(win);
	kvfree(win->pages);
	if (win->mem.bytes && vf_is_placed(win->dom))
		vf_placed_free(win);
	else
		vfree(win->vmem);
	if (win->shm)
		fput(win->shm);
	if (win->charged) {
		vf_user_uncharge(win->user, win->charged);
		atomic64_sub(win->charged, &win->dom->mem_used);
	}
	vf_user_put(win->user);
	vf_domain_put(win->dom);
	kfree(win);
}

void vf_window_put(struct vf_window *win)
{
	kref_put(&win->ref, vf_window_release);
}

static struct vf_window *vf_window_new(struct vf_holder *h,
				       enum vf_window_kind kind, size_t bytes)
{
	struct vf_window *win = kzalloc(sizeof(*win), VF_GFP_USER);

	if (!win)
		return NULL;
	kref_init(&win->ref);
	win->kind = kind;
	win->dom = h->dom;
	kref_get(&win->dom->ref);
	INIT_LIST_HEAD(&win->node);
	INIT_LIST_HEAD(&win->imports);
	win->rank = h->rank;
	win->npages = bytes >> PAGE_SHIFT;
	win->record = -1;
	return win;
}

static int vf_window_pages(struct vf_window *win)
{
	win->pages = kvcalloc(win->npages, sizeof(*win->pages), VF_GFP_USER);
	return win->pages ? 0 : -ENOMEM;
}

/* Pages that the kernel reads and writes too: the doorbells, the view. */
struct vf_window *vf_window_kernel(struct vf_holder *h, enum vf_window_kind kind,
				   size_t bytes)
{
	struct vf_window *win = vf_window_new(h, kind, bytes);
	unsigned long i;

	if (!win)
		return NULL;
	if (!vf_window_pages(win))
		win->vmem = __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!win->vmem) {
		vf_window_put(win);
		return NULL;
	}
	for (i = 0; i < win->npages; i++)
		win->pages[i] = vmalloc_to_page(win->vmem + i * PAGE_SIZE);
	return win;
}

/**
 * vf_window_bell - the doorbell pages of an endpoint to be
 * @h: not attached yet
 *
 * Return: a window or an ERR_PTR.
 */
struct vf_window *vf_window_bell(struct vf_holder *h)
{
	const size_t bytes = 2 * PAGE_SIZE;
	struct vf_window *win;
	int ret;

	if (!vf_is_placed(h->dom))
		return vf_window_kernel(h, VF_WINDOW_BELL, bytes) ?: ERR_PTR(-ENOMEM);
	win = vf_window_new(h, VF_WINDOW_BELL, bytes);
	ret = win ? vf_placed_alloc(win, bytes) : -ENOMEM;
	if (!ret)
		return win;
	if (win)
		vf_window_put(win);
	return ERR_PTR(ret);
}

/**
 * vf_window_remote - memory of another node's part of a backplane
 * @h: an endpoint that is attached there
 * @kind: VF_WINDOW_MEMORY or VF_WINDOW_BELL
 * @pfn: the first of its page frames, which follow one another
 * @bytes: a multiple of the page size
 *
 * Return: a window or NULL.
 */
struct vf_window *vf_window_remote(struct vf_holder *h, enum vf_window_kind kind,
				   unsigned long pfn, u64 bytes)
{
	struct vf_window *win = vf_window_new(h, kind, bytes);

	if (win)
		win->pfn = pfn;
	return win;
}

/* shmem calls no memory for an inode or a page no space. */
static int vf_shmem_error(int err)
{
	return err == -ENOSPC ? -ENOMEM : err;
}

/*
 * All pages now, zeroed and charged to the caller's memory cgroup. They are
 * referenced for the window's life, so they are not reclaimed, moved or split.
 * __GFP_RETRY_MAYFAIL turns a full memory cgroup into ENOMEM rather than into
 * an OOM kill.
 */
static int vf_window_populate(struct vf_window *win)
{
	const gfp_t gfp = GFP_HIGHUSER | __GFP_RETRY_MAYFAIL | __GFP_NOWARN;
	struct address_space *mapping;
	unsigned long i = 0, j, n;
	struct folio *folio;

	if (vf_window_pages(win))
		return -ENOMEM;
	win->shm = vf_shmem_file(vf_tmpfs, "vfabric",
				 (loff_t)win->npages << PAGE_SHIFT);
	if (IS_ERR(win->shm)) {
		int ret = PTR_ERR(win->shm);

		win->shm = NULL;
		return vf_shmem_error(ret);
	}
	mapping = win->shm->f_mapping;
	mapping_set_gfp_mask(mapping, gfp);
	mapping_set_unevictable(mapping);

	while (i < win->npages) {
		struct page *page = shmem_read_mapping_page_gfp(mapping, i, gfp);

		if (IS_ERR(page))
			return vf_shmem_error(PTR_ERR(page));
		folio = page_folio(page);
		/* Its place may be in a word of which other bits change, as there */
		j = data_race(folio_page_idx(folio, page));
		for (n = j + vf_folio_rest(page); j < n && i < win->npages; j++, i++)
			win->pages[i] = data_race(folio_page(folio, j));	/* likewise */
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static bool vf_tag_taken(struct vf_holder *h, u64 tag)
{
	struct vf_window *win;

	if (!tag)
		return false;
	list_for_each_entry(win, &h->windows, node)
		if (win->tag == tag)
			return true;
	return false;
}

/* May @h have one more, of this tag? */
static int vf_window_room(struct vf_holder *h, u64 tag)
{
	if (vf_tag_taken(h, tag))
		return -EEXIST;
	return h->nwindows < VF_MAX_WINDOWS ? vf_fault_window(h) : -EDQUOT;
}

static void vf_window_own(struct vf_holder *h, struct vf_window *win)
{
	win->rank = h->rank;
	win->owner = h;
	list_add_tail(&win->node, &h->windows);
	h->nwindows++;
	h->win_bytes += (u64)win->npages << PAGE_SHIFT;
	vf_domain_changed(h->dom);
}

/*
 * The handle: a count that grows with each window of the module, so that no
 * two domains have the same, and where the domain keeps it: on a backplane in
 * this node's part, so that no two nodes give the same.
 */
static int vf_window_link(struct vf_holder *h, struct vf_window *win)
{
	struct xa_limit limit = vf_is_placed(h->dom) ? vf_placed_handles(h->dom) :
				XA_LIMIT(1, U32_MAX - 1);
	struct vf_domain *dom = h->dom;
	u32 index;
	int ret;

	ret = vf_window_room(h, win->tag);
	if (ret)
		return ret;
	ret = xa_alloc_cyclic(&dom->windows, &index, win, limit, &dom->handle_next,
			      VF_GFP_LOCKED);
	if (ret < 0)
		return ret == -EBUSY ? -EDQUOT : ret;
	win->handle = (u64)atomic_inc_return(&vf_handle_seq) << 32 | index;
	if (vf_is_placed(dom)) {
		ret = vf_placed_window(h, win);
		if (ret) {
			xa_erase(&dom->windows, index);
			return ret;
		}
	}
	vf_window_own(h, win);
	return 0;
}

/* Who waits in LOOKUP looks again. Pairs with add_wait_queue(). */
static void vf_window_announce(struct vf_holder *h)
{
	struct vf_partition *part = h->dom->eps[h->rank].part;
	struct vf_holder *peer;

	if (!part)
		return;
	list_for_each_entry(peer, &part->holders, part_node)
		if (wq_has_sleeper(&peer->wq))
			wake_up_all(&peer->wq);
}

/**
 * vf_window_add_remote - an endpoint on another node has a window
 * @h: attached there
 * @win: with its handle, tag and access
 *
 * Return: 0, or -EBUSY where a window of this domain has the handle's place,
 * -EDQUOT, -ENOMEM.
 */
int vf_window_add_remote(struct vf_holder *h, struct vf_window *win)
{
	int ret;

	lockdep_assert_held(&h->dom->lock);
	if (h->nwindows >= VF_MAX_WINDOWS)
		return -EDQUOT;
	ret = xa_insert(&h->dom->windows, lower_32_bits(win->handle), win, GFP_KERNEL);
	if (ret)
		return ret;
	vf_window_own(h, win);
	vf_window_announce(h);
	return 0;
}

/* Memory, charged to @a's user and the domain; -EDQUOT where a limit is reached. */
static int vf_window_charge(struct vf_window *win, u64 bytes)
{
	win->user = vf_user_get(current_uid());
	if (!win->user)
		return -ENOMEM;
	if (!vf_user_charge(win->user, bytes))
		return -EDQUOT;
	if (!vf_domain_charge(win->dom, bytes)) {
		vf_user_uncharge(win->user, bytes);
		return -EDQUOT;
	}
	win->charged = bytes;
	return 0;
}

int vf_window_alloc(struct vf_holder *h, struct vfab_window_alloc *a)
{
	struct vf_domain *dom = h->dom;
	struct vf_window *win;
	int ret;

	if (a->flags || a->access & ~(VFAB_ACCESS_READ | VFAB_ACCESS_WRITE))
		return -EOPNOTSUPP;
	if (!a->size || !PAGE_ALIGNED(a->size) || a->size > VF_WINDOW_MAX ||
	    !(a->access & VFAB_ACCESS_READ))
		return -EINVAL;

	/* What can be refused at once is, before memory is allocated */
	ret = vf_holder_lock(h);
	if (ret)
		return ret;
	ret = vf_window_room(h, a->tag);
	mutex_unlock(&dom->lock);
	if (ret)
		return ret;

	win = vf_window_new(h, VF_WINDOW_MEMORY, a->size);
	if (!win)
		return -ENOMEM;
	win->access = a->access;
	win->tag = a->tag;
	ret = vf_window_charge(win, a->size);
	if (!ret)
		ret = vf_is_placed(dom) ? vf_placed_alloc(win, a->size) :
					  vf_window_populate(win);
	if (ret)
		goto put;

	ret = vf_holder_lock(h);
	if (ret)
		goto put;
	ret = vf_window_link(h, win);
	if (!ret) {
		a->handle = win->handle;
		vf_window_announce(h);
	}
	vf_domain_unlock(dom);
put:
	if (ret)
		vf_window_put(win);
	return ret;
}

/* A window that still has its owner; under domain->lock. */
struct vf_window *vf_window_find(struct vf_domain *dom, u64 handle)
{
	struct vf_window *win;

	lockdep_assert_held(&dom->lock);
	win = xa_load(&dom->windows, lower_32_bits(handle));
	return win && win->handle == handle ? win : NULL;
}

/* Everybody's imports of @win are gone with this change. */
void vf_window_revoke(struct vf_change *chg, struct vf_window *win)
{
	struct vf_import *im;

	list_for_each_entry(im, &win->imports, win_node)
		vf_change_import(chg, im, VF_IMPORT_GONE);
}

/* The owner lets go; its reference is the caller's to drop. */
void vf_window_unlink(struct vf_window *win)
{
	struct vf_holder *h = win->owner;

	lockdep_assert_held(&win->dom->lock);
	xa_erase(&win->dom->windows, lower_32_bits(win->handle));
	list_del_init(&win->node);
	h->nwindows--;
	h->win_bytes -= (u64)win->npages << PAGE_SHIFT;
	win->owner = NULL;
	vf_domain_changed(win->dom);
	if (win->mem.bytes && vf_is_placed(win->dom))
		vf_placed_window_gone(win);
}

/**
 * vf_window_withdraw - a window is taken back by its owner, who lives on
 * @chg: the change being made
 * @win: its owner's reference is the caller's to drop
 */
void vf_window_withdraw(struct vf_change *chg, struct vf_window *win)
{
	struct vf_domain *dom = win->dom;
	struct vf_holder *h = win->owner;
	struct vf_import *im;

	vf_window_unlink(win);
	list_for_each_entry(im, &win->imports, win_node) {
		struct vf_holder *peer = im->holder;
		struct vf_peer *p = xa_load(&peer->peers, h->rank);
		struct vf_route route;

		/* Once for each importer, however often it imported */
		if (peer == h || im->state >= VF_IMPORT_GONE || p->freed == win->handle)
			continue;
		p->freed = win->handle;
		vf_event_stage(chg, peer, VFAB_EVENT_WINDOW_REVOKED, h->rank,
			       win->handle, VFAB_REASON_FREE);
		vf_pair_route(dom, peer->rank, h->rank, &route);
		vf_view_set(peer, h->rank, peer->view->peer[h->rank].state, &route,
			    false, true);
		if (dom->eps[h->rank].part)
			dom->eps[h->rank].part->lossy = true;
	}
	vf_window_revoke(chg, win);
}

int vf_window_free(struct vf_holder *h, struct vfab_window_free *a)
{
	struct vf_domain *dom = h->dom;
	struct vf_change chg;
	struct vf_window *win;
	int ret;

	ret = vf_holder_lock(h);
	if (ret)
		return ret;
	win = vf_window_find(dom, a->handle);
	if (!win || win->owner != h) {
		mutex_unlock(&dom->lock);
		return -ENOENT;
	}
	vf_change_begin(&chg, dom, VFAB_REASON_FREE);
	vf_window_withdraw(&chg, win);
	vf_change_commit(&chg);
	vf_domain_unlock(dom);
	vf_window_put(win);
	return 0;
}

/* One look; -EAGAIN where waiting may help. */
static int vf_lookup_once(struct vf_holder *h, struct vfab_lookup *a)
{
	struct vf_domain *dom = h->dom;
	struct vf_holder *peer;
	struct vf_window *win;
	int ret;

	ret = vf_holder_lock(h);
	if (ret)
		return ret;
	ret = vf_reach(dom, h->rank, a->rank);
	if (ret)
		goto unlock;
	ret = -EAGAIN;
	peer = rcu_dereference_protected(dom->eps[a->rank].holder,
					 lockdep_is_held(&dom->lock));
	if (!peer)
		goto unlock;
	list_for_each_entry(win, &peer->windows, node) {
		if (win->tag != a->tag)
			continue;
		a->handle = win->handle;
		a->size = (u64)win->npages << PAGE_SHIFT;
		a->access = win->access;
		a->channel = peer->channel;
		ret = 0;
		break;
	}
unlock:
	mutex_unlock(&dom->lock);
	return ret;
}

int vf_window_lookup(struct vf_holder *h, struct vfab_lookup *a)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	long left;
	int ret;

	if (a->flags)
		return -EOPNOTSUPP;
	if (!a->tag || a->pad || a->pad2 || a->rank >= h->dom->topo.world)
		return -EINVAL;
	/*
	 * Queued before looking, and who makes a window looks for sleepers
	 * after making it: one of the two sees the other.
	 */
	add_wait_queue(&h->wq, &wait);
	while ((ret = vf_lookup_once(h, a)) == -EAGAIN) {
		if (!a->deadline) {
			ret = -ENOENT;
			break;
		}
		left = MAX_SCHEDULE_TIMEOUT;
		if (a->deadline != VFAB_NO_DEADLINE) {
			u64 now = ktime_get_ns();

			if (now >= a->deadline) {
				ret = -ETIMEDOUT;
				break;
			}
			left = min_t(u64, nsecs_to_jiffies64(a->deadline - now) + 1,
				     MAX_SCHEDULE_TIMEOUT);
		}
		if (signal_pending(current)) {
			ret = -ERESTARTSYS;
			break;
		}
		wait_woken(&wait, TASK_INTERRUPTIBLE, left);
	}
	remove_wait_queue(&h->wq, &wait);
	return ret;
}

int vf_window_init(void)
{
	struct file_system_type *type = get_fs_type("tmpfs");
	char options[] = "huge=within_size";

	/* What was before this module was loaded is named by other nodes, too */
	atomic_set(&vf_handle_seq, get_random_u32());
	if (!type)
		return -ENODEV;
	vf_tmpfs = vfs_kern_mount(type, SB_KERNMOUNT, type->name, options);
	if (PTR_ERR(vf_tmpfs) == -EINVAL)	/* no transparent huge pages in this kernel */
		vf_tmpfs = vfs_kern_mount(type, SB_KERNMOUNT, type->name, NULL);
	module_put(type->owner);
	return vf_shmem_error(PTR_ERR_OR_ZERO(vf_tmpfs));
}

void vf_window_exit(void)
{
	kern_unmount(vf_tmpfs);
}
