// SPDX-License-Identifier: LGPL-2.1
/* The cooperative transport: endpoints and their doorbells, and what it has not. */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "coop.h"

#define PREFIX	"backplane:"

/* "backplane:SOCKET/DOMAIN", into the two */
static int parse(const char *domain, char path[128], const char **name)
{
	const char *what = domain + strlen(PREFIX), *slash = strrchr(what, '/');

	if (*what != '/' || slash == what || !slash[1] || slash - what >= 108)
		return vfabi_fail(EINVAL,
				  "\"%s\" is not backplane:SOCKET/DOMAIN, see vfab_open(3)",
				  domain);
	memcpy(path, what, slash - what);
	path[slash - what] = 0;
	*name = slash + 1;
	return 0;
}

/* Asks vfabswitchd, which does not mean to be a node yet. */
static int ask(const char *path, struct backplane_status *s)
{
	char dir[128], why[256], *name, *socket;
	int ret;

	/* DIR/NAME/SOCKET */
	strcpy(dir, path);
	socket = strrchr(dir, '/');
	*socket = 0;
	name = strrchr(dir, '/');
	if (!name)
		return vfabi_fail(EINVAL, "%s is no socket of a backplane, such as DIR/NAME/node1",
				  path);
	*name++ = 0;
	ret = backplane_ask(dir, name, s, why, sizeof(why));
	return ret ? vfabi_fail(-ret, "%s", why) : 0;
}

static void fill_info(struct vfab_info *info, const struct vf_bp *bp,
		      const struct coop_domain_id *id, const struct vfab_bp_domain *dom)
{
	*info = (struct vfab_info){
		.abi = VFAB_ABI, .domain = VFAB_BP_DOMAIN_ID(id->node, id->index),
		.world = le32_to_cpu(dom->world), .planes = le32_to_cpu(dom->planes),
		.rank = VFAB_RANK_ANY, .vectors = VFAB_VECTORS, .window_max = bp->data_size,
		.channel = VFAB_CHANNEL_NONE, .node = VFAB_NODE_NONE, .nodes = bp->nodes,
	};
	info->view_bytes = sizeof(struct vfab_view) + info->world * sizeof(struct vfab_peer);
	memcpy(info->uuid, dom->uuid, sizeof(info->uuid));
	memcpy(info->name, dom->name, sizeof(info->name));
}

static int no_domain(const char *name)
{
	return vfabi_fail(ENOENT,
			  "no node of the backplane has a domain \"%s\": see 'vfabctl domain create'",
			  name);
}

static int coop_find(const char *domain, char *path, size_t len, struct vfab_info *info)
{
	struct coop_domain_id id;
	struct backplane_status s;
	struct vfab_bp_domain dom;
	char socket[128];
	const char *name;
	int ret;

	ret = parse(domain, socket, &name);
	if (!ret)
		ret = ask(socket, &s);
	if (ret)
		return ret;
	ret = coop_find_domain(&s.bp, name, &id, &dom);
	if (ret)
		ret = no_domain(name);
	else
		fill_info(info, &s.bp, &id, &dom);
	backplane_status_end(&s);
	if (ret)
		return ret;
	if ((size_t)snprintf(path, len, "%s", domain) >= len)
		return vfabi_fail(ENAMETOOLONG, "%s does not fit", domain);
	/* Until the node has joined, and has the memory */
	ret = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return ret < 0 ? vfabi_fail(errno, "/dev/null: %s", strerror(errno)) : ret;
}

/* --- Attaching ------------------------------------------------------------------------ */

static bool is_held(const struct coop *c, uint32_t rank)
{
	const struct coop_peer *own = c->n->peer[c->n->self];
	uint32_t i;

	for (i = 0; i < VFAB_BP_ENDPOINTS; i++)
		if (coop_is_of(c, c->n->self, &own->endpoint[i]) &&
		    le32_to_cpu(own->endpoint[i].rank) == rank)
			return true;
	return false;
}

/* Is the rank this node's, in a partition, and free? */
static int choose(const struct coop *c, uint32_t *rank)
{
	const struct vfab_ep *ep = c->ep;
	uint32_t i, self = c->n->self;

	if (*rank == VFAB_RANK_ANY) {
		for (i = 0; i < ep->info.world; i++)
			if (c->dom.place[i] == self && !is_held(c, i)) {
				*rank = i;
				return 0;
			}
		return vfabi_fail(EHOSTUNREACH, "every rank of %s on node %u is held", ep->name,
				  self);
	}
	if (*rank >= ep->info.world)
		return vfabi_fail(EINVAL, "rank %u is not one of %s's %u ranks", *rank, ep->name,
				  ep->info.world);
	if (c->dom.place[*rank] == VFAB_BP_NO_NODE)
		return vfabi_fail(EXDEV, "rank %u of %s is placed on no node", *rank, ep->name);
	if (c->dom.place[*rank] != self)
		return vfabi_fail(EXDEV,
				  "rank %u of %s is placed on node %u, and this process is node %u",
				  *rank, ep->name, c->dom.place[*rank], self);
	if (is_held(c, *rank))
		return vfabi_fail(EBUSY, "rank %u of %s is held by this process", *rank, ep->name);
	return 0;
}

static void publish_endpoint(struct coop *c, const struct vfab_bp_endpoint *e)
{
	struct coop_node *n = c->n;

	n->peer[n->self]->endpoint[c->record] = *e;
	vf_bp_write(&vf_bp_slot(&n->bp, n->self)->endpoint[c->record], e, sizeof(*e),
		    &n->endpoint_seq[c->record]);
}

static int hold(struct coop *c, uint32_t rank)
{
	const struct coop_peer *own = c->n->peer[c->n->self];
	struct vfab_bp_endpoint e;
	int ret;

	ret = coop_take(c->n, 2 * COOP_PAGE, &c->bell);
	if (ret)
		return vfabi_fail(-ret, "doorbells for an endpoint: %s", ret == -ENOSPC ?
				  "this node's part of the backplane is full" :
				  ret == -ENODEV ? "this node was expelled" :
				  "another node has not let go of this one's memory yet: try again");
	/* After the last wait */
	ret = choose(c, &rank);
	for (c->record = 0; c->record < VFAB_BP_ENDPOINTS; c->record++)
		if (!own->endpoint[c->record].state)
			break;
	if (!ret && c->record == VFAB_BP_ENDPOINTS)
		ret = vfabi_fail(EDQUOT, "this node holds %u endpoints, which is the most",
				 VFAB_BP_ENDPOINTS);
	if (ret) {
		coop_give(c->n, c->bell, 2 * COOP_PAGE, 0);
		return ret;
	}
	c->ep->info.rank = rank;
	c->ep->info.node = c->n->self;
	c->ep->info.partition = coop_route_partition(c->route, rank);
	c->view->rank = rank;
	e = (struct vfab_bp_endpoint){
		.state = cpu_to_le32(VFAB_BP_ENDPOINT_HELD),
		.domain = cpu_to_le32(VFAB_BP_DOMAIN_ID(c->id.node, c->id.index)),
		.rank = cpu_to_le32(rank), .domain_generation = cpu_to_le64(c->id.generation),
		.generation = cpu_to_le64(++c->n->serial), .bell = cpu_to_le64(c->bell),
		.partition = cpu_to_le32(c->ep->info.partition),
		.channel = cpu_to_le32(VFAB_CHANNEL_NONE),
	};
	publish_endpoint(c, &e);
	c->next = c->n->eps;
	c->n->eps = c;
	coop_changed(c->n, false);
	return 0;
}

/* Its domain, as its owner has it now, once that one has been followed */
static int learn(struct coop *c, const char *name)
{
	uint64_t deadline = vfabi_deadline(5 * VFAB_SECOND);
	int ret;

	ret = coop_find_domain(&c->n->bp, name, &c->id, &c->dom);
	if (ret)
		return no_domain(name);
	while (!(coop_live(c->n) >> c->id.node & 1))
		if (!coop_nap(c->n, deadline))
			return vfabi_fail(ETIMEDOUT, "node %u, which has domain \"%s\", is silent",
					  c->id.node, name);
	ret = coop_route_new(&c->route, &c->n->bp, &c->dom);
	if (!ret)
		ret = coop_route_apply(c->route, &c->n->bp, &c->dom);
	if (ret == -ENOSPC)
		return vfabi_fail(ENOSPC, "domain \"%s\" is too large for this transport", name);
	if (ret)
		return vfabi_fail(-ret, "domain \"%s\": %s", name, ret == -ENOMEM ?
				  "out of memory" : "what its owner says of it makes no sense");
	/* It may have changed since: it is then read again at the next look */
	fill_info(&c->ep->info, &c->n->bp, &c->id, &c->dom);
	return 0;
}

static int make_view(struct coop *c)
{
	c->view_bytes = c->ep->info.view_bytes;
	c->held = calloc(c->ep->info.world, sizeof(*c->held));
	c->view = mmap(NULL, c->view_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (c->view == MAP_FAILED || !c->held)
		return vfabi_fail(ENOMEM, "out of memory");
	c->view->abi = VFAB_ABI;
	c->view->world = c->ep->info.world;
	c->view->loss = 1;
	return 0;
}

static void destroy(struct coop *c)
{
	struct coop_map *m;

	while ((m = c->maps)) {
		c->maps = m->next;
		free(m);
	}
	coop_route_free(c->route);
	if (c->view && c->view != MAP_FAILED)
		munmap(c->view, c->view_bytes);
	free(c->held);
	free(c);
}

static int attach_to(struct coop *c, const char *name, uint32_t rank)
{
	int ret = learn(c, name);

	snprintf(c->ep->name, sizeof(c->ep->name), "%.23s", c->ep->info.name);
	if (!ret)
		ret = make_view(c);
	if (!ret)
		ret = choose(c, &rank);
	return ret ? ret : hold(c, rank);
}

static int coop_attach(struct vfab_ep *ep, const char *domain, uint32_t rank)
{
	char path[128];
	const char *name;
	struct coop *c;
	int ret, fd;

	if (ep->page != COOP_PAGE)
		return vfabi_fail(EOPNOTSUPP, "a backplane needs pages of %u bytes", COOP_PAGE);
	ret = parse(domain, path, &name);
	if (ret)
		return ret;
	c = calloc(1, sizeof(*c));
	if (!c)
		return vfabi_fail(ENOMEM, "out of memory");
	c->ep = ep;
	memset(c->eventfd, 0xff, sizeof(c->eventfd));
	ret = coop_join(&c->n, path);
	if (ret)
		goto free;
	fd = fcntl(c->n->region, F_DUPFD_CLOEXEC, 0);
	if (fd < 0) {
		ret = vfabi_fail(errno, "%s", strerror(errno));
		goto leave;
	}
	pthread_mutex_lock(&c->n->lock);
	if (c->n->fenced)
		ret = vfabi_fail(ENODEV, "this node was expelled: close all its endpoints first");
	else
		ret = attach_to(c, name, rank);
	pthread_mutex_unlock(&c->n->lock);
	if (ret) {
		close(fd);
		goto leave;
	}
	close(ep->fd);
	ep->fd = fd;
	ep->own = c;
	ep->view = c->view;
	ep->ended = &c->view->ended;
	ep->alive = 0;
	ep->armed = COOP_PAGE;
	return 0;
leave:
	coop_leave(c->n);
free:
	destroy(c);
	return ret;
}

/* The endpoint, and with it its windows */
static void end_records(struct coop *c)
{
	struct vfab_bp_endpoint none = { 0 };
	struct vfab_bp_window gone = { 0 };
	struct coop_node *n = c->n;
	struct coop_peer *own = n->peer[n->self];
	uint64_t change, offset[VFAB_BP_WINDOWS], size[VFAB_BP_WINDOWS];
	uint32_t i, windows = 0;

	for (i = 0; i < VFAB_BP_WINDOWS; i++) {
		struct vfab_bp_window *w = &own->window[i];

		if (!w->state || le32_to_cpu(w->endpoint) != c->record)
			continue;
		offset[windows] = le64_to_cpu(w->offset);
		size[windows++] = le64_to_cpu(w->size);
		*w = gone;
		vf_bp_write(&vf_bp_slot(&n->bp, n->self)->window[i], &gone, sizeof(gone),
			    &n->window_seq[i]);
	}
	publish_endpoint(c, &none);
	change = coop_changed(n, true);
	for (i = 0; i < windows; i++)
		coop_give(n, offset[i], size[i], change);
	coop_give(n, c->bell, 2 * COOP_PAGE, change);
	coop_followed(n, change);
}

static void coop_detach(struct vfab_ep *ep)
{
	struct coop *c = ep->own, **at;
	struct coop_node *n = c->n;
	uint32_t i;

	pthread_mutex_lock(&n->lock);
	for (at = &n->eps; *at && *at != c; at = &(*at)->next)
		;
	if (*at)
		*at = c->next;
	if (!n->forked && !n->fenced)
		end_records(c);
	pthread_mutex_unlock(&n->lock);
	for (i = 0; ep->bells && i < ep->info.world; i++)
		if (ep->bells[i].pages)
			munmap(ep->bells[i].pages, 2 * COOP_PAGE);
	destroy(c);
	coop_leave(n);
}

/* --- Doorbells --------------------------------------------------------------------------- */

/* Where the pages of a rank that is held are; 0: it is not. */
static uint64_t bell_of(const struct coop *c, uint32_t rank)
{
	const struct coop_peer *p = c->n->peer[c->dom.place[rank] % VFAB_BP_MAX_NODES];
	uint32_t i;

	for (i = 0; p && p->incarnation && i < VFAB_BP_ENDPOINTS; i++)
		if (coop_is_of(c, c->dom.place[rank], &p->endpoint[i]) &&
		    le32_to_cpu(p->endpoint[i].rank) == rank)
			return le64_to_cpu(p->endpoint[i].bell);
	return 0;
}

/*
 * Always at one address, as other threads may ring: the pages of a new holder, and of
 * nobody, are put over those that are there.
 */
static int coop_bell(struct vfab_ep *ep, uint32_t rank)
{
	struct coop *c = ep->own;
	char *pages = ep->bells[rank].pages;
	uint64_t offset;
	int ret = 0;

	pthread_mutex_lock(&c->n->lock);
	offset = bell_of(c, rank);
	if (ep->view->ended) {
		ret = vfabi_fail_ended(ep);
	} else if (ep->view->peer[rank].state != VFAB_PEER_HELD || !offset) {
		ret = vfabi_fail(EHOSTUNREACH, "the doorbells of rank %u: %s", rank,
				 ep->view->peer[rank].state == VFAB_PEER_UNREACHABLE ?
				 "no route leads there" : "nothing is attached there");
	} else {
		pages = mmap(pages, 2 * COOP_PAGE, PROT_READ | PROT_WRITE,
			     MAP_SHARED | (pages ? MAP_FIXED : 0), ep->fd, offset);
		if (pages == MAP_FAILED)
			ret = vfabi_fail(errno, "mapping the doorbells of rank %u: %s", rank,
					 strerror(errno));
		else
			__atomic_store_n(&ep->bells[rank].pages, pages, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&c->n->lock);
	return ret;
}

static int coop_ring(struct vfab_ep *ep, uint32_t rank, uint32_t vector)
{
	struct coop *c = ep->own, *other;
	struct coop_node *n = c->n;
	uint32_t node = c->dom.place[rank];
	struct vf_bp_ring ring = { c->id.node, c->id.index, rank, vector };

	pthread_mutex_lock(&n->lock);
	if (node == n->self) {
		for (other = n->eps; other; other = other->next)
			if (!memcmp(&other->id, &c->id, sizeof(c->id)) &&
			    other->ep->info.rank == rank)
				coop_wake(other, vector);
	} else if (node < n->bp.nodes && !n->fenced) {
		vf_bp_ring(&vf_bp_slot(&n->bp, n->self)->rings[node], n->rung[node]++, &ring);
		/* The count is seen before the interrupt: one of the two finds the other's */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		coop_ring_vector(n, node, VFAB_BP_VECTOR_RINGS);
	}
	pthread_mutex_unlock(&n->lock);
	return 0;
}

static uint64_t *armed(const struct vfab_ep *ep, uint32_t vector)
{
	return (uint64_t *)(ep->bells[ep->info.rank].pages + ep->armed +
			    vector * VFAB_BELL_STRIDE);
}

static int coop_sleep(struct vfab_ep *ep, uint32_t vector, uint64_t count, uint64_t loss,
		      uint64_t deadline)
{
	struct coop *c = ep->own;
	uint32_t ticket = __atomic_load_n(&c->ticket[vector], __ATOMIC_ACQUIRE);
	/* Whoever scribbled over the armed word costs a moment, not more */
	uint64_t until = vfabi_now() + VFAB_SECOND;
	struct timespec ts;
	int ret = 0;

	until = until < deadline ? until : deadline;
	ts = (struct timespec){ until / VFAB_SECOND, until % VFAB_SECOND };
	__atomic_fetch_add(armed(ep, vector), 1, __ATOMIC_RELAXED);
	/* Pairs with the order of the ringer's add and its look at the armed word */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (vfab_count(ep, vector) == count && vfabi_loss(ep) == loss && !vfabi_ended(ep)) {
		ret = (uint64_t)vfabi_now() >= deadline ? -ETIMEDOUT :
		      syscall(SYS_futex, &c->ticket[vector], FUTEX_WAIT_BITSET_PRIVATE, ticket, &ts,
			      NULL, FUTEX_BITSET_MATCH_ANY) ? -errno : 0;
	}
	__atomic_fetch_sub(armed(ep, vector), 1, __ATOMIC_RELAXED);
	if (ret == -EAGAIN || (ret == -ETIMEDOUT && (uint64_t)vfabi_now() < deadline))
		return 0;
	return ret;
}

static int coop_eventfd(struct vfab_ep *ep, uint32_t vector, int fd)
{
	struct coop *c = ep->own;
	uint64_t none = 0;
	int old;

	if (vector >= VFAB_VECTORS || (fd >= 0 && write(fd, &none, sizeof(none)) != sizeof(none)))
		return vfabi_fail(EINVAL,
				  "binding fd %d to doorbell %u: not an eventfd, or no such doorbell",
				  fd, vector);
	if (fd >= 0)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_lock(&c->n->lock);
	old = c->eventfd[vector];
	c->eventfd[vector] = fd;
	if (fd >= 0 && old < 0)
		__atomic_fetch_add(armed(ep, vector), 1, __ATOMIC_SEQ_CST);
	if (fd < 0 && old >= 0)
		__atomic_fetch_sub(armed(ep, vector), 1, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&c->n->lock);
	if (old >= 0)
		close(old);
	return 0;
}

/* --- What there is not ---------------------------------------------------------------- */

static int coop_event(struct vfab_ep *ep, struct vfab_event *event, int64_t timeout)
{
	(void)ep;
	(void)event;
	(void)timeout;
	return vfabi_fail(EOPNOTSUPP,
			  "a cooperative node has no events: vfab_wait() ends when something is lost, vfab_peer() tells what");
}

/* Nobody adds it up */
static int coop_counts(struct vfab_ep *ep, void **p, size_t *bytes)
{
	*bytes = ep->info.world * sizeof(struct vfab_count);
	*p = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (*p != MAP_FAILED)
		return 0;
	*p = NULL;
	return vfabi_fail(errno, "memory to count bytes in: %s", strerror(errno));
}

/* No domain of a backplane has a shape */
static int coop_pace(struct vfab_ep *ep, struct vfab_pace *q)
{
	(void)ep;
	q->at = 0;
	return 0;
}

const struct vfab_ops vfabi_coop = {
	.find = coop_find,
	.attach = coop_attach,
	.detach = coop_detach,
	.alloc = coop_alloc,
	.free = coop_free,
	.lookup = coop_lookup,
	.import = coop_import,
	.mapped = coop_mapped,
	.unmap = coop_unmap,
	.release = coop_release,
	.bell = coop_bell,
	.wake = coop_ring,
	.sleep = coop_sleep,
	.eventfd = coop_eventfd,
	.event = coop_event,
	.counts = coop_counts,
	.pace = coop_pace,
};
