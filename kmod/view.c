// SPDX-License-Identifier: GPL-2.0
/* The route view: what an attached process reads about its peers. */
#include <linux/mm.h>
#include "vfabric.h"

const struct vf_route vf_no_route;

size_t vf_view_bytes(const struct vf_domain *dom)
{
	return PAGE_ALIGN(struct_size((struct vfab_view *)NULL, peer, dom->topo.world));
}

int vf_view_create(struct vf_holder *h)
{
	struct vf_window *win = vf_window_kernel(h, VF_WINDOW_VIEW, vf_view_bytes(h->dom));

	if (!win)
		return -ENOMEM;
	h->view_import = vf_import_own(h, win, VFAB_ACCESS_READ, VF_COOKIE_VIEW);
	vf_window_put(win);	/* the import has one of its own */
	if (!h->view_import)
		return -ENOMEM;
	h->view = h->view_import->win->vmem;
	return 0;
}

/* The loss generation: whom WAIT gives a new one finds it in the view. */
void vf_view_loss(struct vf_holder *h, u64 loss)
{
	WRITE_ONCE(h->view->loss, loss);
	/* Pairs with vf_wait_once()'s acquire */
	smp_store_release(&h->loss, loss);
}

/* Everything about a holder that is just being attached; nobody reads yet. */
void vf_view_fill(struct vf_holder *h)
{
	struct vf_domain *dom = h->dom;
	struct vfab_view *v = h->view;
	struct vf_partition *part = dom->eps[h->rank].part;
	u32 i;

	v->abi = VFAB_ABI;
	v->world = dom->topo.world;
	v->rank = h->rank;
	v->partition = part->id;
	vf_view_loss(h, part->loss);
	v->shape = dom->shape ? dom->shape_scale : 0;
	for (i = 0; i < v->world; i++) {
		struct vf_route route = { .paths = vf_vertex_ports(&dom->topo, i) };
		bool held = i == h->rank || rcu_access_pointer(dom->eps[i].holder);
		u32 state = VFAB_PEER_UNREACHABLE;

		if (i != h->rank)
			vf_pair_route(dom, h->rank, i, &route);
		if (route.paths || i == h->rank)
			state = held ? VFAB_PEER_HELD : VFAB_PEER_VACANT;
		vf_view_set(h, i, state, &route, false, false);
	}
}

/**
 * vf_view_set - write one entry, if it differs
 * @h: whose view
 * @rank: which entry
 * @state: enum vfab_peer_state
 * @r: its route
 * @lost: count a loss
 * @revoked: count a revoked window
 *
 * Odd generation, fields, even generation: the writes are ordered for readers
 * that load the generation with acquire, the fields, fence, the generation.
 *
 * Return: whether anything was written.
 */
bool vf_view_set(struct vf_holder *h, u32 rank, u32 state,
		 const struct vf_route *r, bool lost, bool revoked)
{
	struct vfab_peer *p = &h->view->peer[rank];
	u64 gen = p->generation;

	if (p->state == state && p->paths == r->paths && p->rate == r->rate &&
	    p->latency == r->latency && !lost && !revoked)
		return false;
	WRITE_ONCE(p->generation, gen + 1);
	smp_wmb();	/* odd before the fields; pairs with the reader's fence */
	WRITE_ONCE(p->losses, p->losses + lost);
	WRITE_ONCE(p->revoked, p->revoked + revoked);
	WRITE_ONCE(p->state, state);
	WRITE_ONCE(p->paths, r->paths);
	WRITE_ONCE(p->rate, r->rate);
	WRITE_ONCE(p->latency, r->latency);
	/* Even after the fields; pairs with the reader's first, acquiring load */
	smp_store_release(&p->generation, gen + 2);
	WRITE_ONCE(h->view->generation, h->view->generation + 1);
	return true;
}

/* The view outlives its endpoint: it says so, and that nobody is reachable. */
void vf_view_end(struct vf_holder *h)
{
	u32 i;

	WRITE_ONCE(h->view->ended, 1);
	WRITE_ONCE(h->view->partition, VFAB_PARTITION_NONE);
	for (i = 0; i < h->view->world; i++)
		vf_view_set(h, i, VFAB_PEER_UNREACHABLE, &vf_no_route, i != h->rank &&
			    h->view->peer[i].state == VFAB_PEER_HELD, false);
	vf_view_loss(h, ++h->dom->loss_seq);
}
