// SPDX-License-Identifier: LGPL-2.1
/* The cooperative transport: what other nodes say, and what follows from it here. */
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "coop.h"

/* The record of a domain, by the name that it has in the slot of a node that lives */
int coop_find_domain(const struct vf_bp *bp, const char *name, struct coop_domain_id *id,
		     struct vfab_bp_domain *dom)
{
	struct vfab_bp_node node;

	for (id->node = 0; id->node < bp->nodes; id->node++) {
		if (vf_bp_read_node(bp, id->node, &node) ||
		    le32_to_cpu(node.state) != VFAB_BP_NODE_ACTIVE)
			continue;
		for (id->index = 0; id->index < VFAB_BP_DOMAINS; id->index++)
			if (!vf_bp_read_domain(bp, id->node, id->index, dom) &&
			    !strcmp(dom->name, name)) {
				id->generation = le64_to_cpu(dom->generation);
				return 0;
			}
	}
	return -ENOENT;
}

/* Is this record of a node about an endpoint of the domain? */
bool coop_is_of(const struct coop *c, uint32_t node, const struct vfab_bp_endpoint *e)
{
	uint32_t rank = le32_to_cpu(e->rank);

	return e->state && le32_to_cpu(e->domain) == VFAB_BP_DOMAIN_ID(c->id.node, c->id.index) &&
	       le64_to_cpu(e->domain_generation) == c->id.generation &&
	       rank < c->ep->info.world && c->dom.place[rank] == node;
}

/* Whoever sleeps on an own doorbell */
void coop_wake(struct coop *c, uint32_t vector)
{
	uint64_t one = 1;

	__atomic_fetch_add(&c->ticket[vector], 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &c->ticket[vector], FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	/* A full counter is readable, too */
	if (c->eventfd[vector] >= 0 && write(c->eventfd[vector], &one, sizeof(one)) < 0)
		return;
}

static void wake_all(struct coop *c)
{
	uint32_t i;

	for (i = 0; i < VFAB_VECTORS; i++)
		coop_wake(c, i);
}

static void bump(__u64 *word)
{
	__atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
}

/* The end of an endpoint: says so, then takes its mappings away. */
void coop_end(struct coop *c)
{
	struct coop_map *m;
	uint32_t i;

	if (c->view->ended)
		return;
	__atomic_store_n(&c->view->partition, VFAB_PARTITION_NONE, __ATOMIC_RELAXED);
	__atomic_store_n(&c->view->ended, 1, __ATOMIC_RELEASE);
	bump(&c->view->loss);
	for (m = c->maps; m; m = m->next)
		coop_revoke(c, m);
	for (i = 0; i < c->ep->info.world; i++)
		coop_revoke_bell(c, i);
	wake_all(c);
}

/* Which attachment each rank of the domain has now; 0: none */
static void find_held(struct coop *c, uint64_t held[VFAB_MAX_WORLD])
{
	uint32_t i, k;

	memset(held, 0, VFAB_MAX_WORLD * sizeof(*held));
	for (i = 0; i < c->n->bp.nodes; i++) {
		const struct coop_peer *p = c->n->peer[i];

		if (!p || !p->incarnation)
			continue;
		for (k = 0; k < VFAB_BP_ENDPOINTS; k++)
			if (coop_is_of(c, i, &p->endpoint[k]))
				held[le32_to_cpu(p->endpoint[k].rank)] =
					le64_to_cpu(p->endpoint[k].generation);
	}
}

/* One rank of the view; true: it was lost. */
static bool look_at(struct coop *c, uint32_t rank, uint64_t held)
{
	struct vfab_peer *p = &c->view->peer[rank], now = { 0 };
	bool reached = rank == c->ep->info.rank ||
		       coop_route_get(c->route, c->ep->info.rank, rank, &now);
	bool lost;

	now.state = !reached ? VFAB_PEER_UNREACHABLE : held ? VFAB_PEER_HELD : VFAB_PEER_VACANT;
	held = now.state == VFAB_PEER_HELD ? held : 0;
	lost = c->held[rank] && c->held[rank] != held;
	c->held[rank] = held;
	if (!lost && p->state == now.state && p->paths == now.paths && p->rate == now.rate &&
	    p->latency == now.latency)
		return false;
	__atomic_store_n(&p->generation, p->generation + 1, __ATOMIC_RELAXED);
	/* Odd before the rest changes */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&p->losses, p->losses + lost, __ATOMIC_RELEASE);
	__atomic_store_n(&p->state, now.state, __ATOMIC_RELEASE);
	__atomic_store_n(&p->paths, now.paths, __ATOMIC_RELAXED);
	__atomic_store_n(&p->rate, now.rate, __ATOMIC_RELAXED);
	__atomic_store_n(&p->latency, now.latency, __ATOMIC_RELAXED);
	__atomic_store_n(&p->generation, p->generation + 1, __ATOMIC_RELEASE);
	bump(&c->view->generation);
	return lost;
}

/* What others have said since: first the view, then the mappings. */
static void look(struct coop *c, bool loss)
{
	uint64_t held[VFAB_MAX_WORLD];
	uint32_t i, world = c->ep->info.world;
	bool lost[VFAB_MAX_WORLD];
	struct coop_map *m;

	find_held(c, held);
	__atomic_store_n(&c->view->partition, coop_route_partition(c->route, c->ep->info.rank),
			 __ATOMIC_RELAXED);
	for (i = 0; i < world; i++) {
		lost[i] = look_at(c, i, held[i]);
		loss |= lost[i];
	}
	if (loss)
		bump(&c->view->loss);
	for (m = c->maps; m; m = m->next)
		if (lost[m->rank])
			coop_revoke(c, m);
	for (i = 0; i < world; i++)
		if (lost[i])
			coop_revoke_bell(c, i);
	if (coop_revoke_gone(c) || loss)
		wake_all(c);
}

static void look_all(struct coop_node *n, bool loss)
{
	struct coop *c;

	for (c = n->eps; c; c = c->next)
		if (!c->view->ended)
			look(c, loss);
}

void coop_look(struct coop_node *n)
{
	struct coop *c;

	/* A domain is lost with the node that owns it. */
	for (c = n->eps; c; c = c->next)
		if (!n->peer[c->id.node] || !n->peer[c->id.node]->incarnation)
			coop_end(c);
	look_all(n, false);
}

/* A record by its copy; false: it is being written all the time. */
#define READ(what, i) ({ \
	struct vfab_bp_##what rec, *copy = &p->what[i]; \
	int err = 0; \
	if (READ_ONCE(s->what[i].seq) != copy->seq) { \
		err = vf_bp_read_##what(&n->bp, node, i, &rec); \
		if (err != -EAGAIN) { \
			if (err) \
				rec.state = 0; \
			*copy = rec; \
		} \
	} \
	err != -EAGAIN; \
})

/* Of the domain of one endpoint; -EAGAIN: not all could be read. */
static int follow_domain(struct coop *c)
{
	const struct vf_bp *bp = &c->n->bp;
	const struct vfab_bp_domain *at = &vf_bp_slot(bp, c->id.node)->domain[c->id.index];
	struct vfab_bp_domain dom;
	int ret;

	if (c->view->ended || READ_ONCE(at->seq) == c->dom.seq)
		return 0;
	ret = vf_bp_read_domain(bp, c->id.node, c->id.index, &dom);
	if (ret == -EAGAIN)
		return ret;
	if (!ret && le64_to_cpu(dom.generation) == c->id.generation &&
	    dom.world == c->dom.world && !memcmp(dom.place, c->dom.place, sizeof(dom.place))) {
		ret = coop_route_apply(c->route, bp, &dom);
		/* What was copied is of this record only if it still stands there */
		virt_rmb();
		if (READ_ONCE(at->seq) != dom.seq)
			return -EAGAIN;
		c->dom = dom;
		if (!ret)
			return 0;
	}
	coop_end(c);
	return 0;
}

/**
 * coop_follow - read what a node says, and do what follows from it
 *
 * Return: 0, or -EAGAIN: not all could be read; what could be has been followed.
 */
int coop_follow(struct coop_node *n, uint32_t node)
{
	const struct vfab_bp_slot *s = vf_bp_slot(&n->bp, node);
	struct coop_peer *p = n->peer[node];
	uint64_t loss = vf_bp_load(&s->beat.loss);
	bool all = true;
	struct coop *c;
	uint32_t i;

	for (i = 0; i < VFAB_BP_ENDPOINTS; i++)
		all &= READ(endpoint, i);
	for (i = 0; i < VFAB_BP_WINDOWS; i++)
		all &= READ(window, i);
	for (c = n->eps; c; c = c->next)
		if (c->id.node == node)
			all &= !follow_domain(c);
	look_all(n, loss != p->loss);
	p->loss = loss;
	return all ? 0 : -EAGAIN;
}
