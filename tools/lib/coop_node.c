// SPDX-License-Identifier: LGPL-2.1
/* The cooperative transport: this process as a node, and what it makes of others. */
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "coop.h"

static struct coop_node *nodes;
static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;

static struct vfab_bp_slot *slot(const struct coop_node *n)
{
	return vf_bp_slot(&n->bp, n->self);
}

/* --- Waiting in this process ---------------------------------------------------------- */

/* Lets go of the lock until something happens; false: the deadline has passed. */
bool coop_nap(struct coop_node *n, uint64_t deadline)
{
	uint32_t ticket = __atomic_load_n(&n->ticket, __ATOMIC_ACQUIRE);
	uint64_t until = vfabi_now() + COOP_PERIOD_MS * 1000000LL;
	struct timespec ts;

	if ((uint64_t)vfabi_now() >= deadline)
		return false;
	until = until < deadline ? until : deadline;
	ts = (struct timespec){ until / VFAB_SECOND, until % VFAB_SECOND };
	pthread_mutex_unlock(&n->lock);
	syscall(SYS_futex, &n->ticket, FUTEX_WAIT_BITSET_PRIVATE, ticket, &ts, NULL,
		FUTEX_BITSET_MATCH_ANY);
	pthread_mutex_lock(&n->lock);
	return true;
}

static void tell_waiters(struct coop_node *n)
{
	__atomic_fetch_add(&n->ticket, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &n->ticket, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* --- Interrupts ------------------------------------------------------------------------ */

static struct coop_bell *find_bell(struct coop_node *n, uint32_t peer)
{
	uint32_t i;

	for (i = 0; i < n->bells; i++)
		if (n->bell[i].peer == peer)
			return &n->bell[i];
	return NULL;
}

static void drop_bell(struct coop_node *n, struct coop_bell *b)
{
	uint32_t i;

	for (i = 0; i < b->vectors; i++)
		close(b->fd[i]);
	*b = n->bell[--n->bells];
}

void coop_ring_vector(struct coop_node *n, uint32_t node, uint32_t vector)
{
	int peer = vf_bp_bell(&n->bp, node);
	struct coop_bell *b;
	uint64_t one = 1;

	if (peer < 0)
		return;
	b = find_bell(n, peer);
	/* A full counter is an interrupt, too */
	if (b && b->vectors && write(b->fd[vector % b->vectors], &one, sizeof(one)) < 0)
		return;
}

static void ring_all(struct coop_node *n)
{
	uint32_t i;

	for (i = 0; i < n->bp.nodes; i++)
		if (i != n->self)
			coop_ring_vector(n, i, VFAB_BP_VECTOR_CHANGE);
}

/* --- The daemon ------------------------------------------------------------------------- */

/* A message of 8 bytes, and a file that may come with it: 1, 0 none is there, or an error */
static int receive(int sock, int flags, int64_t *value, int *fd)
{
	ssize_t len = backplane_receive(sock, flags, value, sizeof(*value), fd);

	if (len < 0)
		return len == -EAGAIN || len == -EINTR ? 0 : len;
	*value = le64toh(*value);
	return len == sizeof(*value) ? 1 : -EPIPE;
}

/* Who is there: a vector of a peer, or, without a file, a peer that left */
static int take_peer(struct coop_node *n, int64_t value, int fd)
{
	struct coop_bell *b;

	if (value < 0 || value > VFAB_BP_MAX_PEER)
		return -EBADMSG;
	b = find_bell(n, value);
	if (fd < 0) {
		if (b)
			drop_bell(n, b);
		return 0;
	}
	if (!b && n->bells < sizeof(n->bell) / sizeof(n->bell[0])) {
		b = &n->bell[n->bells++];
		*b = (struct coop_bell){ .peer = value };
	}
	if (!b || b->vectors == VFAB_BP_MAX_VECTORS) {
		close(fd);
		return -EBADMSG;
	}
	b->fd[b->vectors++] = fd;
	return 0;
}

static void hear_daemon(struct coop_node *n)
{
	int64_t value;
	int fd, ret;

	while ((ret = receive(n->sock, MSG_DONTWAIT, &value, &fd)) > 0)
		take_peer(n, value, fd);
	if (ret < 0) {
		/* As guests do: without it, those who joined go on */
		close(n->sock);
		n->sock = -1;
	}
}

/* Version, own id, memory, then all that are there, and the own vectors last */
static int be_let_in(struct coop_node *n)
{
	struct coop_bell *own;
	struct stat st;
	int64_t value;
	void *base;
	int fd, ret;

	ret = receive(n->sock, MSG_WAITALL, &value, &fd);
	if (!ret)
		return -EAGAIN;
	if (ret != 1 || value ||
	    receive(n->sock, MSG_WAITALL, &value, &fd) != 1 || value < 0 ||
	    value > VFAB_BP_MAX_PEER)
		return -EPROTO;
	n->peer_id = value;
	if (receive(n->sock, MSG_WAITALL, &value, &n->region) != 1 || value != -1 ||
	    n->region < 0 || fstat(n->region, &st))
		return -EPROTO;
	base = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, n->region, 0);
	if (base == MAP_FAILED)
		return -errno;
	ret = vf_bp_open(&n->bp, base, st.st_size);
	if (ret) {
		munmap(base, st.st_size);
		n->bp.base = NULL;
		return ret;
	}
	do {
		ret = receive(n->sock, MSG_WAITALL, &value, &fd);
		ret = ret == 1 ? take_peer(n, value, fd) : -EPROTO;
		own = find_bell(n, n->peer_id);
	} while (!ret && !(own && own->vectors == n->bp.vectors));
	return ret;
}

/* --- The own slot ------------------------------------------------------------------------- */

static void publish(struct coop_node *n, enum vfab_bp_node_state state)
{
	n->rec.state = cpu_to_le32(state);
	vf_bp_write(&slot(n)->node, &n->rec, sizeof(n->rec), &n->node_seq);
}

/* Goes on where another writer ended, see vf_bp_write() */
static uint32_t even(__le32 seq)
{
	return (le32_to_cpu(READ_ONCE(seq)) + 1) & ~1U;
}

/* Empties a record of an earlier incarnation; @next: how its seq goes on */
#define CLEAR(record, next) do { \
	__typeof__(record) none = { 0 }; \
	(next) = even((record).seq); \
	vf_bp_write(&(record), &none, sizeof(none), &(next)); \
} while (0)

static void clear_slot(struct coop_node *n)
{
	struct vfab_bp_slot *s = slot(n);
	uint32_t i, unused;

	vf_bp_store(&s->beat.change, 0);
	vf_bp_store(&s->beat.loss, 0);
	for (i = 0; i < VFAB_BP_MAX_NODES; i++) {
		CLEAR(s->follow[i], n->follow_seq[i]);
		vf_bp_store(&s->rings[i].count, 0);
	}
	for (i = 0; i < VFAB_BP_DOMAINS; i++)
		CLEAR(s->domain[i], unused);
	for (i = 0; i < VFAB_BP_ENDPOINTS; i++)
		CLEAR(s->endpoint[i], n->endpoint_seq[i]);
	for (i = 0; i < VFAB_BP_WINDOWS; i++)
		CLEAR(s->window[i], n->window_seq[i]);
}

static int begin(struct coop_node *n)
{
	struct vfab_bp_peer peer;
	int self = vf_bp_find_peer(&n->bp, n->peer_id, &peer);

	if (self < 0)
		return -EPROTO;
	n->self = self;
	/* A process starts once on a connection */
	n->incarnation = le64_to_cpu(peer.generation) << 32 | 1;
	n->peer[self] = calloc(1, sizeof(*n->peer[self]));
	if (!n->peer[self])
		return -ENOMEM;
	n->peer[self]->incarnation = n->incarnation;
	n->node_seq = even(slot(n)->node.seq);
	n->rec = (struct vfab_bp_node){
		.incarnation = cpu_to_le64(n->incarnation),
		.flags = cpu_to_le32(VFAB_BP_NODE_COOPERATIVE),
		.period_ms = cpu_to_le32(COOP_PERIOD_MS),
		.timeout_ms = cpu_to_le32(COOP_TIMEOUT_MS),
		.endpoints = cpu_to_le32(VFAB_BP_ENDPOINTS),
		.windows = cpu_to_le32(VFAB_BP_WINDOWS),
	};
	publish(n, VFAB_BP_NODE_JOINING);
	clear_slot(n);
	publish(n, VFAB_BP_NODE_ACTIVE);
	ring_all(n);
	return coop_memory_init(n);
}

/* Records of this node have changed: the number of that. */
uint64_t coop_changed(struct coop_node *n, bool loss)
{
	if (loss)
		vf_bp_store(&slot(n)->beat.loss, ++n->loss);
	vf_bp_store(&slot(n)->beat.change, ++n->change);
	/* Pairs with meet(): one of the two sees the other's */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	coop_look(n);
	ring_all(n);
	return n->change;
}

/* --- Others -------------------------------------------------------------------------------- */

static bool is_live(const struct coop_node *n, uint32_t i)
{
	return n->peer[i] && n->peer[i]->incarnation;
}

/* Bit by node: those that are followed, not the own one */
uint64_t coop_live(const struct coop_node *n)
{
	uint64_t live = 0;
	uint32_t i;

	for (i = 0; i < n->bp.nodes; i++)
		if (i != n->self && is_live(n, i))
			live |= UINT64_C(1) << i;
	return live;
}

static void say_follow(struct coop_node *n, uint32_t i, uint32_t state, uint64_t incarnation)
{
	struct vfab_bp_follow f = {
		.state = cpu_to_le32(state), .incarnation = cpu_to_le64(incarnation),
		.change = cpu_to_le64(n->peer[i]->change),
		.rings = cpu_to_le64(n->peer[i]->rings),
	};

	vf_bp_write(&slot(n)->follow[i], &f, sizeof(f), &n->follow_seq[i]);
}

/* That incarnation is gone, and is never followed again. */
static void lose(struct coop_node *n, uint32_t i)
{
	struct coop_peer *p = n->peer[i];
	uint64_t incarnation = p->incarnation;

	n->expelled[i] = incarnation;
	say_follow(n, i, VFAB_BP_FOLLOW_EXPELLED, incarnation);
	memset(p, 0, sizeof(*p));
	coop_look(n);
	ring_all(n);
}

/* Everything ends: nothing of the memory is touched any more. */
static void fence(struct coop_node *n)
{
	struct coop *c;

	n->fenced = true;
	for (c = n->eps; c; c = c->next)
		coop_end(c);
	publish(n, VFAB_BP_NODE_FENCED);
	ring_all(n);
}

/* Of two that expel one another, the lower number stays. */
static bool stays(const struct coop_node *n, uint32_t other)
{
	struct vfab_bp_node rec;

	return n->self < other && n->expelled[other] && !vf_bp_read_node(&n->bp, other, &rec) &&
	       le64_to_cpu(rec.incarnation) == n->expelled[other];
}

static bool is_expelled(const struct coop_node *n)
{
	struct vfab_bp_follow f;
	uint32_t i;

	for (i = 0; i < n->bp.nodes; i++)
		if (i != n->self && !vf_bp_read_follow(&n->bp, i, n->self, &f) &&
		    le32_to_cpu(f.state) == VFAB_BP_FOLLOW_EXPELLED &&
		    le64_to_cpu(f.incarnation) == n->incarnation && !stays(n, i))
			return true;
	return false;
}

/* Which incarnation of a node is there to be followed; 0: none. -1: it cannot be said now. */
static int64_t incarnation_of(const struct coop_node *n, uint32_t i, struct vfab_bp_node *rec)
{
	struct vfab_bp_peer peer;
	int ret = vf_bp_read_peer(&n->bp, i, &peer);
	uint64_t incarnation;

	if (!ret && !peer.state)
		return 0;
	if (!ret)
		ret = vf_bp_read_node(&n->bp, i, rec);
	if (ret == -EAGAIN)
		return -1;
	incarnation = ret ? 0 : le64_to_cpu(rec->incarnation);
	if (ret || le32_to_cpu(rec->state) != VFAB_BP_NODE_ACTIVE ||
	    incarnation >> 32 != le64_to_cpu(peer.generation) || incarnation == n->expelled[i])
		return 0;
	return incarnation;
}

static void take_rings(struct coop_node *n, uint32_t i)
{
	struct vf_bp_ring ring[VFAB_BP_RINGS];
	struct coop_peer *p = n->peer[i];
	int k, got = vf_bp_read_rings(&n->bp, i, n->self, &p->rings, ring);
	struct coop *c;
	uint32_t v;

	for (c = n->eps; c; c = c->next) {
		for (v = 0; got < 0 && v < VFAB_VECTORS; v++)
			coop_wake(c, v);
		for (k = 0; k < got; k++)
			if (ring[k].node == c->id.node && ring[k].domain == c->id.index &&
			    ring[k].rank == c->ep->info.rank && ring[k].vector < VFAB_VECTORS)
				coop_wake(c, ring[k].vector);
	}
}

/* One look at a node that is live */
static void follow(struct coop_node *n, uint32_t i)
{
	struct vfab_bp_slot *s = vf_bp_slot(&n->bp, i);
	struct coop_peer *p = n->peer[i];
	uint64_t change = vf_bp_load(&s->beat.change), rings = p->rings;
	bool news = false;

	if (change != p->change && !coop_follow(n, i)) {
		p->change = change;
		news = true;
	}
	if (vf_bp_load(&s->rings[n->self].count) != p->rings)
		take_rings(n, i);
	if (news || rings != p->rings)
		say_follow(n, i, VFAB_BP_FOLLOW_LIVE, p->incarnation);
	if (news)
		coop_ring_vector(n, i, VFAB_BP_VECTOR_CHANGE);
}

/* Is what this node has rung there known to the other one? If not, the interrupt was lost. */
static void ring_again(struct coop_node *n, uint32_t i)
{
	struct vfab_bp_follow f;

	if (!vf_bp_read_follow(&n->bp, i, n->self, &f) && le64_to_cpu(f.rings) != n->rung[i])
		coop_ring_vector(n, i, VFAB_BP_VECTOR_RINGS);
}

/* It is followed from now on: who changes something later waits for that. */
static void meet(struct coop_node *n, uint32_t i, uint64_t incarnation)
{
	struct coop_peer *p = n->peer[i];

	p->incarnation = incarnation;
	p->change = UINT64_MAX;		/* nothing yet */
	say_follow(n, i, VFAB_BP_FOLLOW_LIVE, incarnation);
	/* Pairs with the one between a change and the look at who follows */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void judge(struct coop_node *n, uint32_t i, bool beat)
{
	uint64_t word = vf_bp_load(&vf_bp_slot(&n->bp, i)->beat.beat);
	struct vfab_bp_node rec;
	int64_t incarnation = incarnation_of(n, i, &rec), now = vfabi_now();
	struct coop_peer *p = n->peer[i];
	bool moved;

	if (incarnation >= 0 && is_live(n, i) && (uint64_t)incarnation != p->incarnation)
		lose(n, i);
	if (!p && incarnation > 0) {
		p = calloc(1, sizeof(*p));
		n->peer[i] = p;
	}
	if (!p)
		return;
	moved = p->seen && word != p->beat;
	if (moved || !p->seen || incarnation < 0) {
		p->beat = word;
		p->seen = now;
	}
	if (!is_live(n, i) && incarnation > 0 && moved)
		meet(n, i, incarnation);
	if (!is_live(n, i))
		return;
	follow(n, i);
	if (!beat)
		return;
	if (incarnation > 0 && now - p->seen > le32_to_cpu(rec.timeout_ms) * 1000000LL) {
		lose(n, i);
		return;
	}
	ring_again(n, i);
}

/* One's own end is looked at first: who was stopped must not judge by a clock that went on. */
static void look_around(struct coop_node *n, bool beat)
{
	uint32_t i;

	if (n->fenced)
		return;
	if (is_expelled(n)) {
		fence(n);
		return;
	}
	if (beat)
		vf_bp_store(&slot(n)->beat.beat, ++n->beat);
	for (i = 0; i < n->bp.nodes; i++)
		if (i != n->self)
			judge(n, i, beat);
	coop_reclaim(n);
}

static void *serve(void *arg)
{
	struct coop_node *n = arg;
	int64_t next = 0, last = vfabi_now();
	struct pollfd p[VFAB_BP_MAX_VECTORS + 2];
	uint32_t i, vectors;
	uint64_t count;

	pthread_mutex_lock(&n->lock);
	for (;;) {
		struct coop_bell *own = find_bell(n, n->peer_id);
		int64_t now = vfabi_now();
		bool beat = now >= next;

		/* Who was stopped has heard of nobody: others get their time anew */
		if (now - last > 4 * COOP_PERIOD_MS * 1000000LL)
			for (i = 0; i < n->bp.nodes; i++)
				if (n->peer[i] && n->peer[i]->seen)
					n->peer[i]->seen = now;
		last = now;
		look_around(n, beat);
		if (beat)
			next = now + COOP_PERIOD_MS * 1000000LL;
		tell_waiters(n);
		vectors = own ? own->vectors : 0;
		p[0] = (struct pollfd){ .fd = n->stop, .events = POLLIN };
		p[1] = (struct pollfd){ .fd = n->sock, .events = POLLIN };
		for (i = 0; i < vectors; i++)
			p[2 + i] = (struct pollfd){ .fd = own->fd[i], .events = POLLIN };
		pthread_mutex_unlock(&n->lock);
		poll(p, 2 + vectors, (next - vfabi_now()) / 1000000 + 1 > 0 ?
		     (next - vfabi_now()) / 1000000 + 1 : 0);
		pthread_mutex_lock(&n->lock);
		if (p[0].revents)
			break;
		if (p[1].revents && n->sock >= 0)
			hear_daemon(n);
		for (i = 0; i < vectors; i++)
			if (p[2 + i].revents && read(p[2 + i].fd, &count, sizeof(count)) < 0)
				continue;
	}
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

/* Does a node follow this one, but not yet so far? */
static bool is_behind(const struct coop_node *n, uint32_t i, uint64_t change)
{
	struct vfab_bp_follow f;

	return is_live(n, i) && !vf_bp_read_follow(&n->bp, i, n->self, &f) &&
	       le32_to_cpu(f.state) == VFAB_BP_FOLLOW_LIVE &&
	       le64_to_cpu(f.incarnation) == n->incarnation && le64_to_cpu(f.change) < change;
}

static uint64_t who_is_behind(const struct coop_node *n, uint64_t change)
{
	uint64_t who = 0;
	uint32_t i;

	for (i = 0; i < n->bp.nodes; i++)
		if (i != n->self && is_behind(n, i, change))
			who |= UINT64_C(1) << i;
	return who;
}

/*
 * Sleeps until all that follow this node have followed a change, and expels those that
 * have not in time. Under the lock, which it lets go of.
 */
int coop_followed(struct coop_node *n, uint64_t change)
{
	uint64_t deadline = vfabi_deadline(COOP_TIMEOUT_MS * 1000000LL), behind;
	uint32_t i;

	while (!n->fenced) {
		behind = who_is_behind(n, change);
		if (!behind)
			return 0;
		if (coop_nap(n, deadline))
			continue;
		/* Whoever is expelled himself does not judge */
		if (is_expelled(n))
			fence(n);
		for (i = 0; i < n->bp.nodes && !n->fenced; i++)
			if (behind >> i & 1 && is_behind(n, i, change))
				lose(n, i);
	}
	return -ENODEV;
}

/* --- Joining and leaving --------------------------------------------------------------------- */

static void forked(void)
{
	struct coop_node *n;

	/* The connection is the parent's, and ends with it; so does the thread. */
	for (n = nodes; n; n = n->next) {
		if (n->sock >= 0)
			close(n->sock);
		n->sock = -1;
		n->forked = true;
		pthread_mutex_init(&n->lock, NULL);
	}
	pthread_mutex_init(&nodes_lock, NULL);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forked);
}

static void destroy(struct coop_node *n)
{
	uint32_t i;

	while (n->bells)
		drop_bell(n, &n->bell[0]);
	for (i = 0; i < VFAB_BP_MAX_NODES; i++)
		free(n->peer[i]);
	coop_memory_end(n);
	if (n->bp.base)
		munmap(n->bp.base, n->bp.size);
	if (n->region >= 0)
		close(n->region);
	if (n->sock >= 0)
		close(n->sock);
	if (n->stop >= 0)
		close(n->stop);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

static int start(struct coop_node *n)
{
	sigset_t all, old;
	int ret;

	n->stop = eventfd(0, EFD_CLOEXEC);
	n->sock = backplane_connect(n->path, 10);
	if (n->stop < 0 || n->sock < 0)
		return n->sock < 0 ? n->sock : -errno;
	ret = be_let_in(n);
	if (!ret)
		ret = begin(n);
	if (ret)
		return ret;
	/* Signals are for the program's own threads */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = -pthread_create(&n->thread, NULL, serve, n);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		publish(n, VFAB_BP_NODE_LEFT);
	return ret;
}

static const char *why_not(int err)
{
	switch (err) {
	case -ECONNREFUSED:
	case -ENOENT:
		return "nobody serves it: start vfabswitchd";
	case -EPROTO:
	case -EBADMSG:
	case -EPIPE:
		return "vfabswitchd lets nobody in: another may be this node, its log says why";
	case -EAGAIN:
		return "vfabswitchd does not answer: is it stopped?";
	case -EPROTONOSUPPORT:
		return "it is of another version than this library";
	}
	return strerror(-err);
}

/* The node that this process is there, or becomes; with a sentence where it cannot */
int coop_join(struct coop_node **out, const char *path)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct coop_node *n;
	int ret = 0;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&nodes_lock);
	for (n = nodes; n; n = n->next)
		if (!strcmp(n->path, path) && !n->forked)
			break;
	if (n) {
		n->users++;
	} else {
		n = calloc(1, sizeof(*n));
		ret = n ? 0 : -ENOMEM;
		if (n) {
			n->region = -1;
			n->users = 1;
			strcpy(n->path, path);
			pthread_mutex_init(&n->lock, NULL);
			ret = start(n);
		}
		if (!ret) {
			n->next = nodes;
			nodes = n;
		} else if (n) {
			destroy(n);
		}
	}
	pthread_mutex_unlock(&nodes_lock);
	if (ret)
		return vfabi_fail(-ret, "%s: %s", path, why_not(ret));
	*out = n;
	return 0;
}

void coop_leave(struct coop_node *n)
{
	struct coop_node **at = &nodes;
	uint64_t one = 1;

	pthread_mutex_lock(&nodes_lock);
	if (--n->users) {
		pthread_mutex_unlock(&nodes_lock);
		return;
	}
	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	pthread_mutex_unlock(&nodes_lock);
	if (!n->forked) {
		if (write(n->stop, &one, sizeof(one)) == sizeof(one))
			pthread_join(n->thread, NULL);
		if (!n->fenced) {
			publish(n, VFAB_BP_NODE_LEFT);
			ring_all(n);
		}
	}
	destroy(n);
}
