// SPDX-License-Identifier: GPL-2.0
/*
 * Domains that lie on a backplane: what this node tells the others of them.
 *
 * Each node writes records of its own endpoints and windows, and the owner of a
 * domain one of the domain: topology, tables, partitions. All is written under
 * domain->lock, at once with what it is about; when the lock is dropped, one
 * number of a change is announced for it (vf_domain_unlock()), and where something
 * was lost, the other nodes are waited for: without the lock, as another node may
 * wait for this one meanwhile.
 *
 * Memory of a window that is gone is handed out again when all have followed
 * the change that says so: until then it is on @gone, and then the carrier waits.
 *
 * What the owner publishes is written twice in turns: the room that is not in the
 * record is free once all have followed the record as it is. Who has more to
 * publish before that waits first, so that it cannot fail for lack of memory.
 */
#include <linux/netlink.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "placed.h"

/* Windows of a node that can be told apart in a domain */
#define VF_HANDLE_BITS		24

static atomic64_t vf_placed_seq;

/* Another one whenever it is asked for. */
static u64 vf_placed_generation(void)
{
	return atomic64_inc_return(&vf_placed_seq);
}

/* --- Announcing ---------------------------------------------------------------------- */

/* Say that records have changed. What is gone is so from this change on. */
static void vf_placed_announce(struct vf_domain *dom)
{
	struct vf_placed *p = dom->placed;
	struct vf_window *win, *next;

	lockdep_assert_held(&dom->lock);
	if (!p->news)
		return;
	p->change = vf_backplane_changed(p->bd, p->loss);
	p->news = false;
	p->loss = false;
	if (p->reissued)
		p->pub->change = p->change;
	p->reissued = false;
	list_for_each_entry_safe(win, next, &p->gone, node) {
		list_del_init(&win->node);
		win->change = p->change;
		vf_window_put(win);
	}
}

/* Return: as vf_backplane_followed(); unless -EINTR nobody needs to follow any more. */
static int vf_placed_wait(struct vf_placed *p, u64 change)
{
	int ret = vf_backplane_followed(p->bd, change);

	if (ret != -EINTR && p->pub && READ_ONCE(p->pub->followed) < change)
		WRITE_ONCE(p->pub->followed, change);
	return ret;
}

static bool vf_placed_publish(struct vf_domain *dom);

/**
 * vf_placed_unlock - see vf_domain_unlock()
 * @dom: placed
 */
int vf_placed_unlock(struct vf_domain *dom)
{
	struct vf_placed *p = dom->placed;
	bool wait = p->loss || p->stale;
	u64 change;
	int ret = 0;

	while (p->stale && ret != -EINTR && !vf_placed_publish(dom)) {
		change = p->pub->change;
		mutex_unlock(&dom->lock);
		ret = vf_placed_wait(p, change);
		mutex_lock(&dom->lock);
	}
	if (p->stale)
		vf_mirror_again(p->mirror);
	vf_placed_announce(dom);
	change = p->change;
	mutex_unlock(&dom->lock);
	/* Who was expelled in one of the waits is told of */
	return wait && ret != -EINTR ? vf_placed_wait(p, change) ?: ret : ret;
}

/* The same for those who follow another node, and must not wait for any. */
void vf_placed_unlock_nowait(struct vf_domain *dom)
{
	vf_placed_announce(dom);
	mutex_unlock(&dom->lock);
}

/**
 * vf_placed_settle - wait until the other nodes have followed what was lost
 * @dom: placed, not under its lock
 *
 * Return: as vf_domain_unlock().
 */
int vf_placed_settle(struct vf_domain *dom)
{
	return vf_placed_wait(dom->placed, READ_ONCE(dom->placed->change));
}

/* The owner has more to publish; it does when the lock is dropped. */
void vf_placed_reshaped(struct vf_domain *dom)
{
	dom->placed->stale = dom->placed->pub;
}

/* --- Endpoints and windows of this node ------------------------------------------------ */

u32 vf_placed_node(const struct vf_domain *dom, u32 rank)
{
	return dom->placed->place[rank];
}

u32 vf_placed_owner(const struct vf_domain *dom)
{
	return dom->placed->owner;
}

u32 vf_placed_home(const struct vf_domain *dom)
{
	return dom->placed->home;
}

bool vf_placed_here(const struct vf_domain *dom, u32 rank)
{
	return vf_placed_node(dom, rank) == dom->placed->home;
}

/* May it be the handle of a window of this node? */
bool vf_placed_handle_of(u64 handle, u32 node)
{
	return lower_32_bits(handle) >> VF_HANDLE_BITS == node;
}

/* Where this node's windows are in dom->windows */
struct xa_limit vf_placed_handles(const struct vf_domain *dom)
{
	u32 first = dom->placed->home << VF_HANDLE_BITS;

	return XA_LIMIT(first + 1, first + BIT(VF_HANDLE_BITS) - 1);
}

/**
 * vf_placed_endpoint - tell of an endpoint that is about to be attached
 * @h: with its bell
 * @rank: which nobody holds
 *
 * Return: 0, or -ENOSPC where the node has as many as there is room for.
 */
int vf_placed_endpoint(struct vf_holder *h, u32 rank)
{
	struct vf_placed *p = h->dom->placed;
	struct vfab_bp_endpoint rec = {
		.state = cpu_to_le32(VFAB_BP_ENDPOINT_HELD),
		.domain = cpu_to_le32(VFAB_BP_DOMAIN_ID(p->owner, p->index)),
		.rank = cpu_to_le32(rank),
		.domain_generation = cpu_to_le64(p->generation),
		.bell = cpu_to_le64(h->bell->mem.offset),
		.partition = cpu_to_le32(h->gate->part->id),
		.channel = cpu_to_le32(h->channel),
	};
	int ret;

	lockdep_assert_held(&h->dom->lock);
	h->generation = vf_placed_generation();
	rec.generation = cpu_to_le64(h->generation);
	ret = vf_backplane_endpoint_add(p->bd, &rec);
	if (ret < 0)
		return ret;
	h->record = ret;
	p->news = true;
	return 0;
}

/* Its memory may be handed out again once all have followed. */
static void vf_placed_gone(struct vf_window *win)
{
	struct vf_placed *p = win->dom->placed;

	kref_get(&win->ref);
	list_add_tail(&win->node, &p->gone);
	p->news = true;
	p->loss = true;
}

void vf_placed_endpoint_gone(struct vf_holder *h)
{
	lockdep_assert_held(&h->dom->lock);
	vf_backplane_endpoint_del(h->dom->placed->bd, h->record);
	h->record = -1;
	vf_placed_gone(h->bell);
}

/**
 * vf_placed_alloc - memory of this node's data area
 * @win: to be a window of it
 * @bytes: a multiple of the page size
 *
 * May wait: not under domain->lock.
 *
 * Return: 0, and it is zeroed; -ENOSPC; -EAGAIN: this node was expelled, and others may
 * not have let go of what it had; -ENODEV; -EINTR.
 */
int vf_placed_alloc(struct vf_window *win, u64 bytes)
{
	struct vf_bp_dev *bd = win->dom->placed->bd;
	struct vf_bp_mem mem;
	u64 done;
	int ret;

	ret = vf_backplane_ready(bd) ?: vf_backplane_alloc(bd, bytes, &mem);
	if (ret)
		return ret;
	win->mem = mem;
	win->pfn = vf_backplane_pfn(bd, mem.offset);
	win->vmem = vf_backplane_addr(bd, mem.offset);
	for (done = 0; done < bytes; done += PAGE_SIZE) {
		memset(win->vmem + done, 0, PAGE_SIZE);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* Called when nobody has @win any more. */
void vf_placed_free(struct vf_window *win)
{
	vf_backplane_free(win->dom->placed->bd, &win->mem, win->change);
}

/*
 * Tell of a window that has its handle; -ENOSPC where there is no room for more. All
 * domains of a node share its records: so that none of them takes all, nor one endpoint
 * what its domain may have, more must be free than the two have already.
 */
int vf_placed_window(struct vf_holder *h, struct vf_window *win)
{
	struct vf_placed *p = h->dom->placed;
	struct vfab_bp_window rec = {
		.state = cpu_to_le32(VFAB_BP_WINDOW_LIVE),
		.endpoint = cpu_to_le32(h->record),
		.access = cpu_to_le32(win->access),
		.endpoint_generation = cpu_to_le64(h->generation),
		.handle = cpu_to_le64(win->handle),
		.tag = cpu_to_le64(win->tag),
		.offset = cpu_to_le64(win->mem.offset),
		.size = cpu_to_le64((u64)win->npages << PAGE_SHIFT),
		.generation = cpu_to_le64(vf_placed_generation()),
	};
	int ret;

	lockdep_assert_held(&h->dom->lock);
	ret = vf_backplane_window_add(p->bd, &rec, p->windows + h->nwindows);
	if (ret < 0)
		return ret;
	win->record = ret;
	p->windows++;
	p->news = true;
	return 0;
}

void vf_placed_window_gone(struct vf_window *win)
{
	lockdep_assert_held(&win->dom->lock);
	vf_backplane_window_del(win->dom->placed->bd, win->record);
	win->dom->placed->windows--;
	vf_placed_gone(win);
}

/* Tell the node of a rank that one of its doorbells was rung. */
void vf_placed_ring(struct vf_domain *dom, u32 rank, u32 vector)
{
	const struct vf_placed *p = dom->placed;
	const struct vf_bp_ring ring = {
		.node = p->owner, .domain = p->index, .rank = rank, .vector = vector,
	};

	vf_backplane_ring(p->bd, p->place[rank], &ring);
}

/* --- What the owner publishes ------------------------------------------------------------ */

/**
 * vf_placed_blob_bytes - what a blob of a domain has room for
 * @t: its topology
 * @blob: VFAB_BP_BLOB_*
 *
 * Return: its bytes; of partitions and channels, the most that there may be.
 */
size_t vf_placed_blob_bytes(const struct vf_topo *t, u32 blob)
{
	switch (blob) {
	case VFAB_BP_BLOB_LINKS:
		return t->nlinks * sizeof(struct vfab_link_spec);
	case VFAB_BP_BLOB_ENTRIES:
		return (size_t)t->routers * t->world * sizeof(struct vfab_bp_entry);
	case VFAB_BP_BLOB_STATES:
		return t->nlinks * sizeof(struct vfab_bp_link) + t->switches;
	case VFAB_BP_BLOB_MEMBERS:
		return t->world * sizeof(__le32);
	case VFAB_BP_BLOB_PARTITIONS:
		return VF_MAX_PARTITIONS * sizeof(struct vfab_bp_partition);
	case VFAB_BP_BLOB_CHANNELS:
		return VFAB_BP_CHANNELS * sizeof(struct vfab_bp_channel);
	}
	return 0;
}

static __le16 vf_spec_node(const struct vf_topo *t, u32 vertex)
{
	return cpu_to_le16(vertex < t->world ? vertex :
			   VFAB_SPEC_SWITCH | (vertex - t->world));
}

static void vf_fill_links(const struct vf_topo *t, struct vfab_link_spec *spec)
{
	u32 i, k;

	for (i = 0; i < t->nlinks; i++, spec++) {
		const struct vf_link *l = &t->link[i];

		memset(spec, 0, sizeof(*spec));
		for (k = 0; k < 2; k++) {
			u32 v = t->port[l->end[k]].vertex;

			spec->node[k] = (__force u16)vf_spec_node(t, v);
			spec->port[k] = (__force u16)cpu_to_le16(l->end[k] - t->first[v]);
		}
		spec->rate = (__force u32)cpu_to_le32(l->rate);
		spec->latency = (__force u32)cpu_to_le32(l->latency);
		spec->width = (__force u16)cpu_to_le16(l->width);
	}
}

static void vf_fill_entries(const struct vf_topo *t, struct vfab_bp_entry *e)
{
	size_t i, n = (size_t)t->routers * t->world;

	for (i = 0; i < n; i++)
		e[i] = (struct vfab_bp_entry){
			.mask = cpu_to_le64(t->mask[i]),
			.base = cpu_to_le32(t->base[i]),
		};
}

static void vf_fill_states(const struct vf_topo *t, struct vfab_bp_link *s)
{
	u32 i;

	for (i = 0; i < t->nlinks; i++) {
		const struct vf_link *l = &t->link[i];

		s[i] = (struct vfab_bp_link){
			.rate = cpu_to_le32(l->rate_now),
			.latency = cpu_to_le32(l->latency_now),
			.width = cpu_to_le16(l->width_now),
			.admin = l->admin,
			.down = (l->outage ? VFAB_BP_LINK_OUTAGE : 0) |
				(l->broken ? VFAB_BP_LINK_BROKEN : 0),
		};
	}
	memcpy(s + t->nlinks, t->sw_up, t->switches);
}

static void vf_fill_members(const struct vf_domain *dom, __le32 *member)
{
	u32 i;

	for (i = 0; i < dom->topo.world; i++) {
		const struct vf_endpoint *ep = &dom->eps[i];

		member[i] = cpu_to_le32(!ep->part ? VFAB_BP_MEMBER_NONE :
					ep->part->id |
					(ep->parked ? VFAB_BP_MEMBER_PARKED : 0));
	}
}

/* Return: bytes */
static size_t vf_fill_partitions(const struct vf_domain *dom, struct vfab_bp_partition *to)
{
	struct vf_partition *part;
	size_t n = 0;

	list_for_each_entry(part, &dom->parts, node) {
		struct vfab_bp_partition *rec = &to[n++];

		memset(rec, 0, sizeof(*rec));
		rec->id = cpu_to_le32(part->id);
		rec->resiliency = cpu_to_le32(part->resiliency);
		strscpy(rec->name, part->name, sizeof(rec->name));
	}
	return n * sizeof(*to);
}

/* Return: bytes */
static size_t vf_fill_channels(const struct vf_domain *dom, struct vfab_bp_channel *to)
{
	struct vf_partition *part;
	struct vf_gate *gate;
	unsigned long id;
	size_t n = 0;

	list_for_each_entry(part, &dom->parts, node)
		xa_for_each(&part->channels, id, gate)
			to[n++] = (struct vfab_bp_channel){
				.partition = cpu_to_le32(part->id),
				.channel = cpu_to_le32(id),
				.mode = cpu_to_le32(gate->access.mode),
			};
	return n * sizeof(*to);
}

/* Return: how many bytes of its room it is */
static size_t vf_fill_blob(const struct vf_domain *dom, u32 blob, void *to)
{
	const struct vf_topo *t = &dom->topo;

	switch (blob) {
	case VFAB_BP_BLOB_ENTRIES:
		vf_fill_entries(t, to);
		break;
	case VFAB_BP_BLOB_STATES:
		vf_fill_states(t, to);
		break;
	case VFAB_BP_BLOB_MEMBERS:
		vf_fill_members(dom, to);
		break;
	case VFAB_BP_BLOB_PARTITIONS:
		return vf_fill_partitions(dom, to);
	case VFAB_BP_BLOB_CHANNELS:
		return vf_fill_channels(dom, to);
	}
	return vf_placed_blob_bytes(t, blob);
}

/* Write everything that may change into one of the rooms, and the record. */
static void vf_placed_fill(struct vf_domain *dom, u32 room)
{
	struct vf_published *pub = dom->placed->pub;
	u64 offset = pub->room[room].offset;
	struct vfab_bp_domain *rec = &pub->rec;
	u32 blob;

	le64_add_cpu(&rec->changes, 1);
	for (blob = VFAB_BP_BLOB_ENTRIES; blob <= VFAB_BP_BLOB_CHANNELS; blob++) {
		void *to = vf_backplane_addr(dom->placed->bd, offset);

		rec->blob[blob] = (struct vfab_bp_blob){
			.offset = cpu_to_le64(offset),
			.bytes = cpu_to_le64(vf_fill_blob(dom, blob, to)),
			.generation = rec->changes,
		};
		offset += ALIGN(vf_placed_blob_bytes(&dom->topo, blob), 8);
	}
	pub->at = room;
}

/* Return: whether it could be done; not while somebody may read what was before. */
static bool vf_placed_publish(struct vf_domain *dom)
{
	struct vf_placed *p = dom->placed;

	if (p->pub->change > READ_ONCE(p->pub->followed))
		return false;
	vf_placed_fill(dom, !p->pub->at);
	vf_backplane_domain_set(p->bd, p->index, &p->pub->rec);
	p->stale = false;
	p->reissued = true;
	p->news = true;
	p->loss = true;
	return true;
}

/* --- Creation and end -------------------------------------------------------------------- */

/**
 * vf_placed_new - what a domain will have that lies on a backplane
 * @m: of the backplane
 * @owner: a node
 * @place: by rank
 * @world: how many
 *
 * Return: for vf_domain_config, or NULL.
 */
struct vf_placed *vf_placed_new(struct vf_mirror *m, u32 owner, const u8 *place, u32 world)
{
	struct vf_placed *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);

	if (!p)
		return NULL;
	vf_backplane_hold(m->bd);
	p->bd = m->bd;
	kref_get(&m->ref);
	p->mirror = m;
	p->home = vf_backplane_node(m->bd);
	p->owner = owner;
	memset(p->place, VFAB_BP_NO_NODE, sizeof(p->place));
	memcpy(p->place, place, world);
	INIT_LIST_HEAD(&p->gone);
	return p;
}

/* Nobody can have followed less than the last change, which said that it ends. */
void vf_placed_destroy(struct vf_placed *p)
{
	struct vf_published *pub = p->pub;
	u32 i;

	WARN_ON_ONCE(!list_empty(&p->gone));
	if (pub) {
		for (i = 0; i < ARRAY_SIZE(pub->room); i++)
			if (pub->room[i].bytes)
				vf_backplane_free(p->bd, &pub->room[i], p->change);
		if (pub->links.bytes)
			vf_backplane_free(p->bd, &pub->links, p->change);
		kfree(pub);
	}
	vf_mirror_put(p->mirror);
	vf_backplane_put(p->bd);
	kfree(p);
}

static void vf_placed_fill_record(struct vf_domain *dom)
{
	struct vf_placed *p = dom->placed;
	struct vfab_bp_domain *rec = &p->pub->rec;

	rec->state = cpu_to_le32(VFAB_BP_DOMAIN_LIVE);
	rec->generation = cpu_to_le64(p->generation);
	export_uuid(rec->uuid, &dom->uuid);
	strscpy(rec->name, dom->name, sizeof(rec->name));
	rec->world = cpu_to_le32(dom->topo.world);
	rec->planes = cpu_to_le32(max(dom->topo.ports, 1U));
	rec->switches = cpu_to_le32(dom->topo.switches);
	memcpy(rec->place, p->place, sizeof(rec->place));
	rec->flags = cpu_to_le32(dom->topo.forwards ? VFAB_BP_DOMAIN_FORWARDS : 0);
	rec->switch_latency = cpu_to_le32(dom->topo.switch_latency);
	rec->retry_ms = cpu_to_le32(dom->retry_ms);
	rec->mode = cpu_to_le32(dom->access.mode);
	rec->mem_limit = cpu_to_le64(dom->mem_limit);
	rec->partitions = cpu_to_le32(dom->part_mode);
}

/**
 * vf_placed_prepare - room for what the owner of a domain will publish
 * @dom: not visible yet
 * @extack: told why not
 *
 * Return: 0, -ENOSPC, -ENOMEM, -EAGAIN as vf_placed_alloc().
 */
int vf_placed_prepare(struct vf_domain *dom, struct netlink_ext_ack *extack)
{
	struct vf_placed *p = dom->placed;
	size_t links = vf_placed_blob_bytes(&dom->topo, VFAB_BP_BLOB_LINKS), room = 0;
	u32 i;
	int ret = 0;

	if (p->owner != p->home)
		return 0;
	p->pub = kzalloc(sizeof(*p->pub), GFP_KERNEL_ACCOUNT);
	if (!p->pub)
		return -ENOMEM;
	for (i = VFAB_BP_BLOB_ENTRIES; i <= VFAB_BP_BLOB_CHANNELS; i++)
		room += ALIGN(vf_placed_blob_bytes(&dom->topo, i), 8);
	if (links)
		ret = vf_backplane_alloc(p->bd, PAGE_ALIGN(links), &p->pub->links);
	for (i = 0; i < ARRAY_SIZE(p->pub->room) && !ret; i++)
		ret = vf_backplane_alloc(p->bd, PAGE_ALIGN(room), &p->pub->room[i]);
	if (ret == -EAGAIN)
		NL_SET_ERR_MSG(extack,
			       "this node was expelled, and another one may not have let go of its memory yet: try again");
	else if (ret == -ENOSPC)
		NL_SET_ERR_MSG(extack,
			       "this node's part of the backplane has no room for the topology: free windows, or give vfabswitchd a larger --size");
	return ret;
}

/**
 * vf_placed_begin - let the other nodes see a domain that is owned here
 * @dom: under its lock, complete, about to be visible
 * @extack: told why not
 *
 * Return: 0 or -ENOSPC.
 */
int vf_placed_begin(struct vf_domain *dom, struct netlink_ext_ack *extack)
{
	struct vf_placed *p = dom->placed;
	struct vf_published *pub = p->pub;
	int ret;

	lockdep_assert_held(&dom->lock);
	if (p->owner != p->home)
		return 0;
	p->generation = vf_placed_generation();
	vf_placed_fill_record(dom);
	pub->rec.blob[VFAB_BP_BLOB_LINKS] = (struct vfab_bp_blob){
		.offset = cpu_to_le64(pub->links.offset),
		.bytes = cpu_to_le64(vf_placed_blob_bytes(&dom->topo, VFAB_BP_BLOB_LINKS)),
		.generation = cpu_to_le64(1),
	};
	if (pub->links.bytes)
		vf_fill_links(&dom->topo, vf_backplane_addr(p->bd, pub->links.offset));
	vf_placed_fill(dom, 0);
	ret = vf_backplane_domain_add(p->bd, &pub->rec);
	if (ret < 0) {
		NL_SET_ERR_MSG(extack,
			       "this node owns as many domains of the backplane as it can: delete one");
		return ret;
	}
	p->index = ret;
	ret = xa_err(xa_store(&p->mirror->domains, VFAB_BP_DOMAIN_ID(p->owner, p->index), dom,
			      GFP_KERNEL));
	if (ret) {
		vf_backplane_domain_del(p->bd, p->index);
		return ret;
	}
	p->stale = false;
	p->reissued = true;
	p->news = true;
	vf_placed_announce(dom);
	return 0;
}

/* The domain is dead: say so to the others. Under its lock. */
void vf_placed_end(struct vf_domain *dom)
{
	struct vf_placed *p = dom->placed;

	lockdep_assert_held(&dom->lock);
	xa_erase(&p->mirror->domains, VFAB_BP_DOMAIN_ID(p->owner, p->index));
	p->stale = false;
	if (p->pub) {
		vf_backplane_domain_del(p->bd, p->index);
		p->news = true;
		p->loss = true;
	}
	vf_placed_announce(dom);
}

/**
 * vf_placed_create - make a domain on a backplane, which this node owns
 * @net: for vf_domain_create()
 * @backplane: its name
 * @place: by rank: a node, or VFAB_BP_NO_NODE; as many as cfg->topo.world
 * @cfg: for vf_domain_create()
 * @extack: told why not
 *
 * Return: as vf_domain_create(); -ENODEV: there is no such backplane here.
 */
struct vf_domain *vf_placed_create(struct net *net, const char *backplane, const u8 *place,
				   struct vf_domain_config *cfg,
				   struct netlink_ext_ack *extack)
{
	struct vf_bp_dev *bd = vf_backplane_get(net, backplane);
	struct vf_domain *dom = ERR_PTR(-ENODEV);
	struct vf_mirror *m;
	u32 i;

	if (!bd) {
		NL_SET_ERR_MSG(extack,
			       "this machine is on no backplane of this name: see 'vfabctl backplane show'");
		return ERR_PTR(-ENODEV);
	}
	for (i = 0; i < cfg->topo.world; i++)
		if (place[i] != VFAB_BP_NO_NODE && place[i] >= vf_backplane_bp(bd)->nodes) {
			NL_SET_ERR_MSG(extack,
				       "a rank is placed on a node that the backplane does not have");
			vf_backplane_put(bd);
			return ERR_PTR(-EINVAL);
		}
	cfg->nodes = vf_backplane_bp(bd)->nodes;
	/* Not under m->lock, as others are not followed meanwhile */
	vf_backplane_ready(bd);
	m = vf_mirror_get(bd);
	if (m) {
		mutex_lock(&m->lock);
		if (!m->ended) {
			cfg->placed = vf_placed_new(m, vf_backplane_node(bd), place,
						    cfg->topo.world);
			dom = cfg->placed ? vf_domain_create(net, cfg, extack) :
					    ERR_PTR(-ENOMEM);
		}
		mutex_unlock(&m->lock);
		vf_mirror_put(m);
	}
	if (dom == ERR_PTR(-ENODEV))
		NL_SET_ERR_MSG(extack,
			       "this machine is not active on the backplane: see 'vfabctl backplane show'");
	vf_backplane_put(bd);
	return dom;
}
