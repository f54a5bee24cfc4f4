// SPDX-License-Identifier: GPL-2.0
/*
 * Domains that lie on a backplane: what other nodes tell of them, and what this
 * kernel does about it. The carrier calls, see backplane.h.
 *
 * A domain that another node owns is mirrored: a domain as any other, which is
 * changed only as its owner says. An endpoint that is attached on another node is
 * a holder without a process, and its windows and its bell are windows whose
 * pages are the backplane's: losses, imports and views need no code of their own.
 *
 * Whatever is read was written by somebody who may want to harm: each record is
 * copied once, by vf_bp_read_*(), which check it by itself; what is checked here is
 * whether it goes with others. A record that does not is as if it were not there.
 * What that costs the carrier measures, and lets pass before it calls again.
 *
 * Nobody is waited for in here: the node that this one would wait for may wait
 * for what this one is doing.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <uapi/linux/vfabric_netlink.h>
#include "placed.h"

/*
 * What the domains of one node may take here, in bytes; those of all nodes together
 * may have an eighth of memory, or as much as one.
 */
#define VF_MIRROR_ROOM		(64ULL << 20)
#define VF_MIRROR_DEVICE	4096	/* of this: a partition or a channel, about */

/*
 * So long domains are made one after the other; the rest waits for vf_mirror_retry(),
 * of whose time this is the share that it may work.
 */
#define VF_MIRROR_TURN		(HZ / 10)
#define VF_MIRROR_SHARE		8

/**
 * struct vf_mirror_domain - one that a node owns
 * @head:	of the record that was followed: seq, state, generation, changes
 * @generation:	of the record
 * @topo:	bytes that its topology takes
 * @bytes:	of VF_MIRROR_ROOM: these, and its partitions and channels
 * @dom:	its mirror; NULL: there is none
 * @waiting:	to be tried again
 * @told:	why there is none is in the log
 */
struct vf_mirror_domain {
	u64 head[3];
	u64 generation;
	u64 topo;
	u64 bytes;
	struct vf_domain *dom;
	bool waiting;
	bool told;
};

/**
 * struct vf_mirror_endpoint - one that is attached on a node
 * @rec:	as it was read; state 0: nothing that makes sense
 * @h:		who holds it for this kernel, or held it
 * @gone:	@h is not what @rec is about any more
 */
struct vf_mirror_endpoint {
	struct vfab_bp_endpoint rec;
	struct vf_holder *h;
	bool gone;
};

/* The same of a window; @withdrawn: its owner's reference is to be dropped. */
struct vf_mirror_window {
	struct vfab_bp_window rec;
	struct vf_window *win;
	bool gone;
	bool withdrawn;
};

/**
 * struct vf_mirror_node - what was read of a node
 * @fresh:	some record waits for a domain or an endpoint to appear
 * @bytes:	that its domains take
 * @rec:	room to read into
 */
struct vf_mirror_node {
	u32 node;
	bool fresh;
	u64 bytes;
	struct vfab_bp_domain rec;
	struct vf_mirror_domain dom[VFAB_BP_DOMAINS];
	struct vf_mirror_endpoint ep[VFAB_BP_ENDPOINTS];
	struct vf_mirror_window win[VFAB_BP_WINDOWS];
};

static DEFINE_SPINLOCK(vf_mirrors_lock);	/* vf_backplane_mirror() */

static void vf_mirror_free(struct kref *ref)
{
	struct vf_mirror *m = container_of(ref, struct vf_mirror, ref);

	xa_destroy(&m->domains);
	mutex_destroy(&m->lock);
	kfree_rcu(m, rcu);
}

void vf_mirror_put(struct vf_mirror *m)
{
	kref_put(&m->ref, vf_mirror_free);
}

/* Of this incarnation of this node, referenced; or NULL. */
struct vf_mirror *vf_mirror_get(struct vf_bp_dev *bd)
{
	struct vf_mirror *m;

	spin_lock(&vf_mirrors_lock);
	m = vf_backplane_mirror(bd);
	if (m)
		kref_get(&m->ref);
	spin_unlock(&vf_mirrors_lock);
	return m;
}

/* Something could not be done yet. The work has a reference. */
void vf_mirror_again(struct vf_mirror *m)
{
	kref_get(&m->ref);
	if (READ_ONCE(m->ended) ||
	    !queue_delayed_work(vf_wq, &m->retry, HZ + READ_ONCE(m->pause)))
		vf_mirror_put(m);
}

/* The domain of a record, owned here or mirrored; the caller puts it. */
static struct vf_domain *vf_mirror_find(struct vf_mirror *m, u32 node, u32 index)
{
	struct vf_domain *dom;

	rcu_read_lock();
	dom = xa_load(&m->domains, VFAB_BP_DOMAIN_ID(node, index));
	if (dom && !kref_get_unless_zero(&dom->ref))
		dom = NULL;
	rcu_read_unlock();
	return dom;
}

/* --- Endpoints and windows ------------------------------------------------------------ */

/*
 * Is a record what it was when it was read? Not to be told by its seq: whoever forges
 * it may come upon the one that its writer stores next.
 */
static bool vf_mirror_same(const void *there, const void *read, size_t bytes)
{
	const u64 *a = there, *b = read;
	size_t i;

	for (i = 0; i < bytes / sizeof(*a); i++)
		if (READ_ONCE(a[i]) != b[i])
			return false;
	return true;
}

/* Return: true where the record was being written all the time. */
static bool vf_mirror_read_endpoint(struct vf_mirror *m, struct vf_mirror_node *n, u32 i)
{
	const struct vf_bp *bp = vf_backplane_bp(m->bd);
	struct vf_mirror_endpoint *ep = &n->ep[i];
	struct vfab_bp_endpoint rec;
	int ret;

	if (vf_mirror_same(&vf_bp_slot(bp, n->node)->endpoint[i], &ep->rec, sizeof(rec)))
		return false;
	ret = vf_bp_read_endpoint(bp, n->node, i, &rec);
	if (ret == -EAGAIN)
		return true;
	if (ret)
		rec.state = 0;
	if (ep->h && (ret || memcmp(&rec.state, &ep->rec.state,
				    sizeof(rec) - offsetof(struct vfab_bp_endpoint, state))))
		ep->gone = true;
	ep->rec = rec;
	n->fresh |= !ret && (!ep->h || ep->gone);
	return false;
}

static bool vf_mirror_read_window(struct vf_mirror *m, struct vf_mirror_node *n, u32 i)
{
	const struct vf_bp *bp = vf_backplane_bp(m->bd);
	struct vf_mirror_window *w = &n->win[i];
	struct vfab_bp_window rec;
	int ret;

	if (vf_mirror_same(&vf_bp_slot(bp, n->node)->window[i], &w->rec, sizeof(rec)))
		return false;
	ret = vf_bp_read_window(bp, n->node, i, &rec);
	if (ret == -EAGAIN)
		return true;
	if (ret)
		rec.state = 0;
	if (w->win && (ret || memcmp(&rec.state, &w->rec.state,
				     sizeof(rec) - offsetof(struct vfab_bp_window, state))))
		w->gone = true;
	w->rec = rec;
	n->fresh |= !ret && (!w->win || w->gone);
	return false;
}

static bool vf_mirror_read(struct vf_mirror *m, struct vf_mirror_node *n)
{
	bool again = false;
	u32 i;

	for (i = 0; i < VFAB_BP_ENDPOINTS; i++)
		again |= vf_mirror_read_endpoint(m, n, i);
	for (i = 0; i < VFAB_BP_WINDOWS; i++)
		again |= vf_mirror_read_window(m, n, i);
	return again;
}

/* End what is gone of one domain, in one change. */
static void vf_mirror_drop_endpoints_of(struct vf_mirror_node *n, u32 first)
{
	struct vf_domain *dom = n->ep[first].h->dom;
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };
	u32 i;

	kref_get(&dom->ref);
	mutex_lock(&dom->lock);
	for (i = first; i < VFAB_BP_ENDPOINTS; i++)
		if (n->ep[i].gone && n->ep[i].h->dom == dom &&
		    n->ep[i].h->state == VF_HOLDER_ATTACHED)
			__set_bit(n->ep[i].h->rank, ranks);
	vf_holders_evict(dom, ranks, VFAB_WHY_EXIT);
	vf_placed_unlock_nowait(dom);
	for (i = first; i < VFAB_BP_ENDPOINTS; i++) {
		struct vf_mirror_endpoint *ep = &n->ep[i];

		if (!ep->gone || ep->h->dom != dom)
			continue;
		vf_holder_put(ep->h);
		ep->h = NULL;
		ep->gone = false;
	}
	vf_domain_put(dom);
}

static void vf_mirror_drop_windows_of(struct vf_mirror_node *n, u32 first)
{
	struct vf_domain *dom = n->win[first].win->dom;
	struct vf_change chg;
	u32 i;

	kref_get(&dom->ref);
	mutex_lock(&dom->lock);
	vf_change_begin(&chg, dom, VFAB_REASON_FREE);
	for (i = first; i < VFAB_BP_WINDOWS; i++) {
		struct vf_mirror_window *w = &n->win[i];

		if (!w->gone || w->win->dom != dom || !w->win->owner)
			continue;
		vf_window_withdraw(&chg, w->win);
		w->withdrawn = true;
	}
	vf_change_commit(&chg);
	vf_placed_unlock_nowait(dom);
	for (i = first; i < VFAB_BP_WINDOWS; i++) {
		struct vf_mirror_window *w = &n->win[i];

		if (!w->gone || w->win->dom != dom)
			continue;
		if (w->withdrawn)
			vf_window_put(w->win);
		vf_window_put(w->win);
		w->win = NULL;
		w->gone = false;
		w->withdrawn = false;
	}
	vf_domain_put(dom);
}

/*
 * What is marked to be gone is: nobody of this kernel reaches it any more. The same
 * where its domain is dead, or a window's endpoint has ended: whatever the records
 * still say, they keep nothing of that, and may be about what comes next.
 */
static void vf_mirror_drop(struct vf_mirror_node *n)
{
	u32 i;

	for (i = 0; i < VFAB_BP_ENDPOINTS; i++) {
		struct vf_mirror_endpoint *ep = &n->ep[i];

		if (ep->h && READ_ONCE(ep->h->dom->dead)) {
			ep->gone = true;
			n->fresh = true;
		}
		if (ep->gone)
			vf_mirror_drop_endpoints_of(n, i);
	}
	for (i = 0; i < VFAB_BP_WINDOWS; i++) {
		struct vf_mirror_window *w = &n->win[i];

		if (w->win && !READ_ONCE(w->win->owner)) {
			w->gone = true;
			n->fresh = true;
		}
		if (w->gone)
			vf_mirror_drop_windows_of(n, i);
	}
}

/*
 * May a record's endpoint be one of this domain? Under its lock.
 * @gate: gets its channel's, or NULL
 */
static bool vf_mirror_fits(struct vf_domain *dom, u32 node, const struct vfab_bp_endpoint *rec,
			   struct vf_gate **gate)
{
	u32 rank = le32_to_cpu(rec->rank), channel = le32_to_cpu(rec->channel);
	struct vf_partition *part;

	*gate = NULL;
	if (channel != VFAB_CHANNEL_NONE) {
		part = vf_partition_find(dom, le32_to_cpu(rec->partition));
		*gate = part ? xa_load(&part->channels, channel) : NULL;
		if (!*gate)
			return false;
	}
	return !dom->dead && dom->placed->generation == le64_to_cpu(rec->domain_generation) &&
	       rank < dom->topo.world && vf_placed_node(dom, rank) == node &&
	       !rcu_access_pointer(dom->eps[rank].holder);
}

/* Return: false where it may be so later. */
static bool vf_mirror_enter_endpoint(struct vf_mirror *m, u32 node, struct vf_mirror_endpoint *ep)
{
	u32 id = le32_to_cpu(ep->rec.domain);
	struct vf_domain *dom = vf_mirror_find(m, id >> 8, id & 0xff);
	struct vf_gate *gate;

	if (!dom)
		return false;
	mutex_lock(&dom->lock);
	if (vf_mirror_fits(dom, node, &ep->rec, &gate))
		ep->h = vf_holder_attach_remote(dom, le32_to_cpu(ep->rec.rank), gate,
						vf_backplane_pfn(m->bd, le64_to_cpu(ep->rec.bell)));
	vf_placed_unlock_nowait(dom);
	vf_domain_put(dom);
	return ep->h;
}

static bool vf_mirror_enter_window(struct vf_mirror *m, struct vf_mirror_node *n,
				   struct vf_mirror_window *w)
{
	struct vf_mirror_endpoint *ep = &n->ep[le32_to_cpu(w->rec.endpoint)];
	u64 handle = le64_to_cpu(w->rec.handle), size = le64_to_cpu(w->rec.size);
	struct vf_window *win;
	struct vf_domain *dom;

	if (!ep->h || ep->rec.generation != w->rec.endpoint_generation)
		return false;
	if (!vf_placed_handle_of(handle, n->node) || size > VF_WINDOW_MAX)
		return true;	/* never */
	win = vf_window_remote(ep->h, VF_WINDOW_MEMORY,
			       vf_backplane_pfn(m->bd, le64_to_cpu(w->rec.offset)), size);
	if (!win)
		return false;
	win->handle = handle;
	win->tag = le64_to_cpu(w->rec.tag);
	win->access = le32_to_cpu(w->rec.access);
	dom = ep->h->dom;
	mutex_lock(&dom->lock);
	if (ep->h->state == VF_HOLDER_ATTACHED && !vf_window_add_remote(ep->h, win)) {
		kref_get(&win->ref);	/* the first one is the owner's */
		w->win = win;
	}
	vf_placed_unlock_nowait(dom);
	if (!w->win)
		vf_window_put(win);
	return w->win;
}

/* What there is of a node, as far as its domains are known here. */
static void vf_mirror_enter(struct vf_mirror *m, struct vf_mirror_node *n)
{
	bool fresh = false;
	u32 i;

	if (!n->fresh)
		return;
	for (i = 0; i < VFAB_BP_ENDPOINTS; i++)
		if (n->ep[i].rec.state && !n->ep[i].h)
			fresh |= !vf_mirror_enter_endpoint(m, n->node, &n->ep[i]);
	for (i = 0; i < VFAB_BP_WINDOWS; i++)
		if (n->win[i].rec.state && !n->win[i].win)
			fresh |= !vf_mirror_enter_window(m, n, &n->win[i]);
	n->fresh = fresh;
}

/* --- Domains ---------------------------------------------------------------------------- */

static const __le32 *vf_mirror_seq(struct vf_mirror *m, struct vf_mirror_node *n, u32 index)
{
	return &vf_bp_slot(vf_backplane_bp(m->bd), n->node)->domain[index].seq;
}

static void vf_mirror_set_bytes(struct vf_mirror *m, struct vf_mirror_node *n,
				struct vf_mirror_domain *d, u64 bytes)
{
	n->bytes += bytes - d->bytes;
	m->bytes += bytes - d->bytes;
	d->bytes = bytes;
}

static void vf_mirror_remove(struct vf_mirror *m, struct vf_mirror_node *n,
			     struct vf_mirror_domain *d)
{
	if (d->dom) {
		vf_domain_delete(d->dom, true);
		vf_domain_put(d->dom);
	}
	d->dom = NULL;
	vf_mirror_set_bytes(m, n, d, 0);
}

/* Is there room for what the record that was read asks for? Then it is taken. */
static bool vf_mirror_room(struct vf_mirror *m, struct vf_mirror_node *n,
			   struct vf_mirror_domain *d)
{
	u64 most = max_t(u64, VF_MIRROR_ROOM, (u64)totalram_pages() << PAGE_SHIFT >> 3);
	const struct vfab_bp_blob *b = n->rec.blob;
	u64 devices = le64_to_cpu(b[VFAB_BP_BLOB_PARTITIONS].bytes) /
		      sizeof(struct vfab_bp_partition) +
		      le64_to_cpu(b[VFAB_BP_BLOB_CHANNELS].bytes) /
		      sizeof(struct vfab_bp_channel);
	u64 bytes = d->topo + devices * VF_MIRROR_DEVICE;

	if (n->bytes - d->bytes + bytes > VF_MIRROR_ROOM || m->bytes - d->bytes + bytes > most)
		return false;
	vf_mirror_set_bytes(m, n, d, bytes);
	return true;
}

/* All that can be told beforehand is, as a topology may take long to make. */
static int vf_mirror_refused(struct vf_mirror *m, struct vf_mirror_node *n,
			     struct vf_mirror_domain *d, const struct vf_domain_config *cfg)
{
	int ret = vf_domain_refused(&init_net, cfg->name, cfg->uuid);

	if (!ret)
		ret = vf_mirror_topo_bytes(&cfg->topo, &d->topo);
	if (!ret && !vf_mirror_room(m, n, d))
		ret = -ENOSPC;
	return ret;
}

static struct vf_domain *vf_mirror_make(struct vf_mirror *m, struct vf_mirror_node *n, u32 index)
{
	struct vf_mirror_domain *d = &n->dom[index];
	struct vf_domain *dom = ERR_PTR(-ENOMEM);
	struct vf_domain_config cfg;
	uuid_t uuid;
	int ret;

	ret = vf_mirror_config(m->bd, &n->rec, &cfg, &uuid);
	if (ret)
		return ERR_PTR(ret);
	ret = vf_mirror_refused(m, n, d, &cfg);
	if (ret) {
		dom = ERR_PTR(ret);
		goto free;
	}
	cfg.placed = vf_placed_new(m, n->node, n->rec.place, cfg.topo.world);
	if (cfg.placed) {
		cfg.placed->index = index;
		cfg.placed->generation = le64_to_cpu(n->rec.generation);
		dom = vf_domain_create(&init_net, &cfg, NULL);
	}
	/* Links that are wrong are so for good: not to be tried again */
	if (dom == ERR_PTR(-EINVAL))
		dom = ERR_PTR(-EBADMSG);
free:
	kvfree(cfg.topo.links);
	return dom;
}

/* Once for each domain, unless it is only that there is no memory now. */
static void vf_mirror_complain(struct vf_mirror *m, struct vf_mirror_node *n,
			       struct vf_mirror_domain *d, int err)
{
	const char *why = "what its owner says of it makes no sense";

	if (d->told || err == -ENOMEM || err == -EAGAIN)
		return;
	d->told = true;
	if (err == -EEXIST)
		why = "a domain of its name or UUID exists here: delete that";
	else if (err == -ENOSPC)
		why = "there are too many domains here, or they are too large";
	pr_warn_ratelimited("vfabric: backplane %s: domain %s of node %u is not mirrored: %s\n",
			    vf_backplane_bp(m->bd)->name, n->rec.name, n->node, why);
}

static int vf_mirror_create(struct vf_mirror *m, struct vf_mirror_node *n, u32 index)
{
	struct vf_notice notice = VF_NOTICE(VFAB_OBJ_DOMAIN, VFAB_ACT_CREATED, VFAB_WHY_CREATE);
	struct vf_mirror_domain *d = &n->dom[index];
	struct vf_domain *dom;
	int ret;

	dom = vf_mirror_make(m, n, index);
	if (IS_ERR(dom)) {
		vf_mirror_remove(m, n, d);
		return PTR_ERR(dom);
	}
	d->dom = dom;
	d->generation = le64_to_cpu(n->rec.generation);
	dom->part_mode = le32_to_cpu(n->rec.partitions);
	/* It has no partition yet, and so no device file */
	ret = xa_err(xa_store(&m->domains, VFAB_BP_DOMAIN_ID(n->node, index), dom, GFP_KERNEL));
	if (!ret)
		ret = vf_mirror_apply(m->bd, &n->rec, vf_mirror_seq(m, n, index), dom);
	if (ret) {
		vf_mirror_remove(m, n, d);
		return ret;
	}
	mutex_lock(&dom->lock);
	if (!dom->dead)
		vf_notify(dom, &notice);
	mutex_unlock(&dom->lock);
	return 0;
}

static int vf_mirror_change(struct vf_mirror *m, struct vf_mirror_node *n, u32 index)
{
	struct vf_mirror_domain *d = &n->dom[index];

	if (!vf_mirror_room(m, n, d))
		return -ENOSPC;
	return vf_mirror_apply(m->bd, &n->rec, vf_mirror_seq(m, n, index), d->dom);
}

/* One record of a domain. Return: whether it is to be read again. */
static bool vf_mirror_follow_domain(struct vf_mirror *m, struct vf_mirror_node *n, u32 index)
{
	const __le32 *seq = vf_mirror_seq(m, n, index);
	struct vf_mirror_domain *d = &n->dom[index];
	int ret;

	if (!d->waiting && vf_mirror_same(seq, d->head, sizeof(d->head)))
		return false;
	/* Nobody here has anything of it yet: nothing that its owner would wait for */
	if (!d->dom && time_after(jiffies, m->until)) {
		d->waiting = true;
		return false;
	}
	ret = vf_bp_read_domain(vf_backplane_bp(m->bd), n->node, index, &n->rec);
	if (ret == -EAGAIN)
		return true;
	if (ret || (d->dom && d->generation != le64_to_cpu(n->rec.generation))) {
		vf_mirror_remove(m, n, d);
		d->told = false;
	}
	d->waiting = false;
	if (!ret) {
		ret = d->dom ? vf_mirror_change(m, n, index) : vf_mirror_create(m, n, index);
		if (ret == -EAGAIN || (ret == -ENOMEM && d->dom))
			return true;
		if (ret)
			vf_mirror_complain(m, n, d, ret);
		/* Not one that lacks what its owner has taken from others */
		if (ret)
			vf_mirror_remove(m, n, d);
		d->waiting = ret && ret != -EBADMSG;
	}
	memcpy(d->head, &n->rec, sizeof(d->head));
	return false;
}

static bool vf_mirror_domains(struct vf_mirror *m, struct vf_mirror_node *n)
{
	bool again = false, waiting = false;
	u32 i, unmirrored = 0;

	m->until = jiffies + VF_MIRROR_TURN;
	for (i = 0; i < VFAB_BP_DOMAINS; i++) {
		again |= vf_mirror_follow_domain(m, n, i);
		waiting |= n->dom[i].waiting;
		unmirrored += n->dom[i].told && !n->dom[i].dom;
	}
	vf_backplane_unmirrored(m->bd, n->node, unmirrored);
	if (waiting)
		vf_mirror_again(m);
	/* Endpoints of any node may have waited for one of them */
	for (i = 0; i < VFAB_BP_MAX_NODES; i++)
		if (m->node[i])
			vf_mirror_enter(m, m->node[i]);
	return again;
}

static void vf_mirror_retry(struct work_struct *work)
{
	struct vf_mirror *m = container_of(to_delayed_work(work), struct vf_mirror, retry);
	unsigned long id, start = jiffies;
	struct vf_domain *dom;
	u32 i;

	for (i = 0; i < VFAB_BP_MAX_NODES; i++) {
		mutex_lock(&m->lock);
		if (!m->ended && m->node[i])
			vf_mirror_domains(m, m->node[i]);
		mutex_unlock(&m->lock);
	}
	WRITE_ONCE(m->pause, (jiffies - start) * VF_MIRROR_SHARE);
	/* What a killed process left unpublished; may wait for others */
	xa_for_each(&m->domains, id, dom) {
		dom = vf_mirror_find(m, id >> 8, id & 0xff);
		if (!dom)
			continue;
		mutex_lock(&dom->lock);
		vf_placed_unlock(dom);
		vf_domain_put(dom);
	}
	vf_mirror_put(m);
}

/* --- What the carrier calls --------------------------------------------------------------- */

static struct vf_mirror_node *vf_mirror_node(struct vf_mirror *m, u32 node)
{
	struct vf_mirror_node *n = m->node[node];

	if (n)
		return n;
	n = kvzalloc(sizeof(*n), GFP_KERNEL_ACCOUNT);
	if (!n)
		return NULL;
	n->node = node;
	m->node[node] = n;
	return n;
}

int vf_mirror_follow(struct vf_bp_dev *bd, u32 node)
{
	struct vf_mirror *m = vf_backplane_mirror(bd);
	struct vf_mirror_node *n;
	bool again = true;

	mutex_lock(&m->lock);
	n = vf_mirror_node(m, node);
	if (n) {
		again = vf_mirror_read(m, n);
		vf_mirror_drop(n);
		again |= vf_mirror_domains(m, n);
	}
	mutex_unlock(&m->lock);
	return again ? -EAGAIN : 0;
}

/* Everything that came from a node goes; under m->lock. */
static void vf_mirror_forget(struct vf_mirror *m, u32 node)
{
	struct vf_mirror_node *n = m->node[node];
	u32 i;

	if (!n)
		return;
	for (i = 0; i < VFAB_BP_ENDPOINTS; i++)
		n->ep[i].gone = n->ep[i].h;
	for (i = 0; i < VFAB_BP_WINDOWS; i++)
		n->win[i].gone = n->win[i].win;
	vf_mirror_drop(n);
	for (i = 0; i < VFAB_BP_DOMAINS; i++)
		vf_mirror_remove(m, n, &n->dom[i]);
	vf_backplane_unmirrored(m->bd, node, 0);
	m->node[node] = NULL;
	kvfree(n);
}

void vf_mirror_lost(struct vf_bp_dev *bd, u32 node)
{
	struct vf_mirror *m = vf_backplane_mirror(bd);

	mutex_lock(&m->lock);
	vf_mirror_forget(m, node);
	mutex_unlock(&m->lock);
}

void vf_mirror_rings(struct vf_bp_dev *bd, u32 node, const struct vf_bp_ring *ring, int n)
{
	struct vf_mirror *m = vf_backplane_mirror(bd);
	struct vf_domain *dom;
	unsigned long id;
	int i;

	for (i = 0; i < n; i++) {
		dom = vf_mirror_find(m, ring[i].node, ring[i].domain);
		if (!dom)
			continue;
		if (ring[i].rank < dom->topo.world)
			vf_doorbell_deliver(dom, ring[i].rank, ring[i].vector);
		vf_domain_put(dom);
	}
	if (n >= 0)
		return;
	xa_for_each(&m->domains, id, dom) {
		dom = vf_mirror_find(m, id >> 8, id & 0xff);
		if (!dom)
			continue;
		vf_doorbell_deliver_all(dom);
		vf_domain_put(dom);
	}
}

int vf_mirror_begin(struct vf_bp_dev *bd)
{
	struct vf_mirror *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);

	if (!m)
		return -ENOMEM;
	kref_init(&m->ref);
	m->bd = bd;
	mutex_init(&m->lock);
	xa_init(&m->domains);
	INIT_DELAYED_WORK(&m->retry, vf_mirror_retry);
	spin_lock(&vf_mirrors_lock);
	vf_backplane_set_mirror(bd, m);
	spin_unlock(&vf_mirrors_lock);
	return 0;
}

void vf_mirror_end(struct vf_bp_dev *bd)
{
	struct vf_mirror *m = vf_backplane_mirror(bd);
	struct vf_domain *dom;
	unsigned long id;
	u32 i;

	mutex_lock(&m->lock);
	WRITE_ONCE(m->ended, true);
	for (i = 0; i < VFAB_BP_MAX_NODES; i++)
		vf_mirror_forget(m, i);
	xa_for_each(&m->domains, id, dom) {
		dom = vf_mirror_find(m, id >> 8, id & 0xff);
		if (!dom)
			continue;
		vf_domain_delete(dom, true);
		vf_domain_put(dom);
	}
	mutex_unlock(&m->lock);
	if (cancel_delayed_work_sync(&m->retry))
		vf_mirror_put(m);
	spin_lock(&vf_mirrors_lock);
	vf_backplane_set_mirror(bd, NULL);
	spin_unlock(&vf_mirrors_lock);
	vf_mirror_put(m);
}
