// SPDX-License-Identifier: LGPL-2.1
/* The cooperative transport: windows, and what becomes of mappings. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "coop.h"

/* --- Mappings ------------------------------------------------------------------------- */

/* Memory of this process alone that reads all ones, over what was there; at once. */
static void stand_in(void *addr, size_t bytes, int fill)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED) {
		if (fill)
			memset(p, fill, bytes);
		if (mremap(p, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, addr) != MAP_FAILED)
			return;
		munmap(p, bytes);
	}
	/* No memory for that: better a signal than another's data */
	mmap(addr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* Pages behind the end of a file raise SIGBUS */
static bool raise_sigbus(void *addr, size_t bytes)
{
	int fd = memfd_create("lost", MFD_CLOEXEC);
	void *p = fd < 0 ? MAP_FAILED :
		  mmap(addr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);

	if (fd >= 0)
		close(fd);
	return p != MAP_FAILED;
}

/* Takes the window's memory out of this process, as the import asked for. */
void coop_revoke(struct coop *c, struct coop_map *m)
{
	(void)c;
	m->gone = true;
	if (m->addr && (m->loss != VFAB_LOSS_SIGBUS || !raise_sigbus(m->addr, m->size)))
		stand_in(m->addr, m->size, 0xff);
	m->addr = NULL;
}

void coop_revoke_bell(struct coop *c, uint32_t rank)
{
	char *pages = c->ep->bells ? c->ep->bells[rank].pages : NULL;

	if (pages)
		stand_in(pages, 2 * COOP_PAGE, 0);
}

static bool is_there(const struct coop_node *n, const struct coop_map *m)
{
	const struct coop_peer *p = n->peer[m->node];

	return p && p->incarnation && p->window[m->window].state &&
	       le64_to_cpu(p->window[m->window].generation) == m->generation &&
	       le64_to_cpu(p->window[m->window].handle) == m->handle;
}

/* Windows that their owners have freed; true: there were some. */
bool coop_revoke_gone(struct coop *c)
{
	struct coop_map *m;
	bool some = false;

	for (m = c->maps; m; m = m->next) {
		struct vfab_peer *p = &c->view->peer[m->rank];

		if (m->gone || is_there(c->n, m))
			continue;
		if (m->rank != c->ep->info.rank) {
			__atomic_fetch_add(&p->generation, 1, __ATOMIC_RELAXED);
			__atomic_thread_fence(__ATOMIC_RELEASE);
			__atomic_fetch_add(&p->revoked, 1, __ATOMIC_RELEASE);
			__atomic_fetch_add(&p->generation, 1, __ATOMIC_RELEASE);
			__atomic_fetch_add(&c->view->generation, 1, __ATOMIC_RELEASE);
			__atomic_fetch_add(&c->view->loss, 1, __ATOMIC_RELEASE);
			some = true;
		}
		coop_revoke(c, m);
	}
	return some;
}

/* --- Windows --------------------------------------------------------------------------- */

static int no_window(uint64_t handle)
{
	return vfabi_fail(ENOENT,
			  "window %#llx: no such window: the handle is unknown, or was freed",
			  (unsigned long long)handle);
}

static int bad_access(uint32_t access)
{
	if (access & VFAB_ACCESS_READ && !(access & ~(VFAB_ACCESS_READ | VFAB_ACCESS_WRITE)))
		return 0;
	return vfabi_fail(EINVAL, "access %#x: VFAB_ACCESS_READ or VFAB_ACCESS_WRITE", access);
}

/* The endpoint of a window's record: of this domain, and the same attachment? */
static bool belongs(const struct coop *c, uint32_t node, const struct vfab_bp_window *w,
		    uint32_t *rank)
{
	const struct vfab_bp_endpoint *e =
		&c->n->peer[node]->endpoint[le32_to_cpu(w->endpoint) % VFAB_BP_ENDPOINTS];

	*rank = le32_to_cpu(e->rank);
	return w->state && coop_is_of(c, node, e) && e->generation == w->endpoint_generation;
}

typedef bool (*match_t)(const struct vfab_bp_window *w, uint32_t rank, const void *what);

/* A window of the domain by what @match says; its record, and whose it is */
static const struct vfab_bp_window *find(const struct coop *c, match_t match, const void *what,
					 uint32_t *node, uint32_t *index, uint32_t *rank)
{
	for (*node = 0; *node < c->n->bp.nodes; ++*node) {
		const struct coop_peer *p = c->n->peer[*node];

		for (*index = 0; p && p->incarnation && *index < VFAB_BP_WINDOWS; ++*index)
			if (belongs(c, *node, &p->window[*index], rank) &&
			    match(&p->window[*index], *rank, what))
				return &p->window[*index];
	}
	return NULL;
}

static bool by_handle(const struct vfab_bp_window *w, uint32_t rank, const void *what)
{
	(void)rank;
	return le64_to_cpu(w->handle) == *(const uint64_t *)what;
}

static bool by_tag(const struct vfab_bp_window *w, uint32_t rank, const void *what)
{
	const struct vfab_lookup *l = what;

	return rank == l->rank && le64_to_cpu(w->tag) == l->tag;
}

static int new_record(struct coop *c, const struct vfab_window_alloc *a, uint32_t *index)
{
	struct vfab_lookup l = { .rank = c->ep->info.rank, .tag = a->tag };
	const struct coop_peer *own = c->n->peer[c->n->self];
	uint32_t node, i, rank;

	if (a->tag && find(c, by_tag, &l, &node, &i, &rank))
		return vfabi_fail_tag(c->ep, a->tag);
	for (i = 0; i < VFAB_BP_WINDOWS; i++)
		if (!own->window[i].state) {
			*index = i;
			return 0;
		}
	return vfabi_fail(EDQUOT, "this node has %u windows, which is the most", VFAB_BP_WINDOWS);
}

static void publish_window(struct coop_node *n, uint32_t i, const struct vfab_bp_window *w)
{
	n->peer[n->self]->window[i] = *w;
	vf_bp_write(&vf_bp_slot(&n->bp, n->self)->window[i], w, sizeof(*w), &n->window_seq[i]);
}

static int new_window(struct coop *c, struct vfab_window_alloc *a)
{
	struct coop_node *n = c->n;
	struct vfab_bp_window w;
	uint64_t offset;
	uint32_t i = 0;
	int ret;

	if (vfabi_ended(c->ep))
		return vfabi_fail_ended(c->ep);
	ret = coop_take(n, a->size, &offset);
	if (ret == -ENODEV)
		return vfabi_fail_ended(c->ep);
	if (ret)
		return vfabi_fail(-ret, "a window of %llu bytes: %s", (unsigned long long)a->size,
				  ret == -ENOSPC ? "this node's part of the backplane is full" :
				  "another node has not let go of this one's memory yet: try again");
	/* After the last wait */
	ret = new_record(c, a, &i);
	if (ret) {
		coop_give(n, offset, a->size, 0);
		return ret;
	}
	n->serial++;
	a->handle = (uint64_t)n->serial << 32 | n->self << 24 | i;
	w = (struct vfab_bp_window){
		.state = cpu_to_le32(VFAB_BP_WINDOW_LIVE), .endpoint = cpu_to_le32(c->record),
		.access = cpu_to_le32(a->access),
		.endpoint_generation = n->peer[n->self]->endpoint[c->record].generation,
		.handle = cpu_to_le64(a->handle), .tag = cpu_to_le64(a->tag),
		.offset = cpu_to_le64(offset), .size = cpu_to_le64(a->size),
		.generation = cpu_to_le64(n->serial),
	};
	publish_window(n, i, &w);
	coop_changed(n, false);
	return 0;
}

int coop_alloc(struct vfab_ep *ep, struct vfab_window_alloc *a)
{
	struct coop *c = ep->own;
	int ret = bad_access(a->access);

	if (ret)
		return ret;
	pthread_mutex_lock(&c->n->lock);
	ret = new_window(c, a);
	pthread_mutex_unlock(&c->n->lock);
	return ret;
}

/* When it returns, nobody reaches the memory, or has been expelled. */
int coop_free(struct vfab_ep *ep, uint64_t handle)
{
	struct vfab_bp_window none = { 0 };
	struct coop *c = ep->own;
	const struct vfab_bp_window *w;
	uint64_t offset, size, change;
	uint32_t node, i, rank;
	int ret = 0;

	pthread_mutex_lock(&c->n->lock);
	w = vfabi_ended(ep) ? NULL : find(c, by_handle, &handle, &node, &i, &rank);
	if (w && rank == ep->info.rank) {
		offset = le64_to_cpu(w->offset);
		size = le64_to_cpu(w->size);
		publish_window(c->n, i, &none);
		change = coop_changed(c->n, true);
		coop_give(c->n, offset, size, change);
		coop_followed(c->n, change);
		coop_reclaim(c->n);
	} else if (!vfabi_ended(ep)) {
		ret = no_window(handle);
	}
	pthread_mutex_unlock(&c->n->lock);
	return ret;
}

static int not_there(const struct vfab_ep *ep, int err, const struct vfab_lookup *l)
{
	const struct vfab_peer *p = &ep->view->peer[l->rank];

	if (p->state == VFAB_PEER_HELD)
		return vfabi_fail_no_tag(err, l->rank, l->tag);
	if (p->state == VFAB_PEER_UNREACHABLE)
		return vfabi_fail(EHOSTUNREACH, "no route leads from rank %u to %u",
				  ep->info.rank, l->rank);
	return vfabi_fail(err, "nothing is attached at rank %u%s", l->rank,
			  err == ENOENT ? "" : " yet");
}

int coop_lookup(struct vfab_ep *ep, struct vfab_lookup *l)
{
	const struct vfab_bp_window *w;
	struct coop *c = ep->own;
	uint32_t node, i, rank;
	int ret;

	if (!l->tag)
		return vfabi_fail(EINVAL, "windows of tag 0 cannot be looked up");
	pthread_mutex_lock(&c->n->lock);
	for (;;) {
		ret = -ENODEV;
		if (vfabi_ended(ep))
			break;
		w = ep->view->peer[l->rank].state == VFAB_PEER_HELD ?
		    find(c, by_tag, l, &node, &i, &rank) : NULL;
		ret = 0;
		if (w)
			break;
		ret = -ENOENT;
		if (!l->deadline || ep->view->peer[l->rank].state == VFAB_PEER_UNREACHABLE)
			break;
		ret = -ETIMEDOUT;
		if (!coop_nap(c->n, l->deadline))
			break;
	}
	if (!ret) {
		l->handle = le64_to_cpu(w->handle);
		l->size = le64_to_cpu(w->size);
		l->access = le32_to_cpu(w->access);
		l->channel = VFAB_CHANNEL_NONE;
	}
	pthread_mutex_unlock(&c->n->lock);
	return !ret ? 0 : ret == -ENODEV ? vfabi_fail_ended(ep) : not_there(ep, -ret, l);
}

static int new_import(struct coop *c, struct vfab_import *i)
{
	const struct vfab_bp_window *w;
	struct vfab_ep *ep = c->ep;
	uint32_t node, index;
	struct coop_map *m;

	if (vfabi_ended(ep))
		return vfabi_fail_ended(ep);
	w = find(c, by_handle, &i->handle, &node, &index, &i->rank);
	if (!w)
		return no_window(i->handle);
	if (ep->view->peer[i->rank].state != VFAB_PEER_HELD)
		return vfabi_fail(EHOSTUNREACH, "no route leads from rank %u to %u",
				  ep->info.rank, i->rank);
	if (i->rank != ep->info.rank && i->access & ~le32_to_cpu(w->access))
		return vfabi_fail(EACCES, "rank %u exports window %#llx for reading", i->rank,
				  (unsigned long long)i->handle);
	m = calloc(1, sizeof(*m));
	if (!m)
		return vfabi_fail(ENOMEM, "out of memory");
	i->cookie = le64_to_cpu(w->offset);
	i->size = le64_to_cpu(w->size);
	*m = (struct coop_map){
		.next = c->maps, .handle = i->handle, .offset = i->cookie, .size = i->size,
		.rank = i->rank, .node = node, .window = index, .loss = i->loss,
		.generation = le64_to_cpu(w->generation),
	};
	c->maps = m;
	return 0;
}

int coop_import(struct vfab_ep *ep, struct vfab_import *i)
{
	struct coop *c = ep->own;
	int ret = bad_access(i->access);

	if (ret)
		return ret;
	pthread_mutex_lock(&c->n->lock);
	ret = new_import(c, i);
	pthread_mutex_unlock(&c->n->lock);
	return ret;
}

/* It is mapped now: where, is remembered, unless the window went meanwhile. */
int coop_mapped(struct vfab_ep *ep, const struct vfab_import *i, void *addr)
{
	struct coop *c = ep->own;
	struct coop_map *m;
	bool gone = true;

	pthread_mutex_lock(&c->n->lock);
	for (m = c->maps; m; m = m->next)
		if (m->handle == i->handle && !m->addr && !m->gone) {
			m->addr = addr;
			gone = false;
			break;
		}
	pthread_mutex_unlock(&c->n->lock);
	return gone ? no_window(i->handle) : 0;
}

/* It is about to be unmapped: whatever is there next is not to be replaced. */
void coop_unmap(struct vfab_ep *ep, void *addr)
{
	struct coop *c = ep->own;
	struct coop_map *m;

	pthread_mutex_lock(&c->n->lock);
	for (m = c->maps; m; m = m->next)
		if (m->addr == addr)
			m->addr = NULL;
	pthread_mutex_unlock(&c->n->lock);
}

int coop_release(struct vfab_ep *ep, uint64_t handle, uint64_t cookie)
{
	struct coop *c = ep->own;
	struct coop_map **at, *m;

	(void)cookie;
	pthread_mutex_lock(&c->n->lock);
	for (at = &c->maps; (m = *at); at = &m->next)
		if (m->handle == handle && !m->addr) {
			*at = m->next;
			free(m);
			break;
		}
	pthread_mutex_unlock(&c->n->lock);
	return 0;
}
