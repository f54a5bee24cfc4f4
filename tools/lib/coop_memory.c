// SPDX-License-Identifier: LGPL-2.1
/* The cooperative transport: the node's data area, by the page. */
#include <stdlib.h>
#include <string.h>
#include "coop.h"

int coop_memory_init(struct coop_node *n)
{
	n->pages = n->bp.data_size / COOP_PAGE;
	n->used = calloc(n->pages, 1);
	return n->used ? 0 : -ENOMEM;
}

void coop_memory_end(struct coop_node *n)
{
	struct coop_freed *f;

	while ((f = n->freed)) {
		n->freed = f->next;
		free(f);
	}
	free(n->used);
	n->used = NULL;
}

/* Round and round, so that what was freed is not used again soon */
static bool find_room(struct coop_node *n, uint64_t pages, uint64_t *at)
{
	uint64_t i, run = 0, start = n->next_page;

	for (i = 0; i < n->pages + pages; i++) {
		uint64_t page = (start + i) % n->pages;

		if (!page)
			run = 0;
		run = n->used[page] ? 0 : run + 1;
		if (run == pages) {
			*at = page + 1 - pages;
			return true;
		}
	}
	return false;
}

/* Others may still have mapped what an earlier incarnation of this node had. */
static bool known_to_all(const struct coop_node *n)
{
	uint64_t live = coop_live(n);
	struct vfab_bp_follow f;
	uint32_t i;

	for (i = 0; i < n->bp.nodes; i++)
		if (live >> i & 1 &&
		    (vf_bp_read_follow(&n->bp, i, n->self, &f) ||
		     le64_to_cpu(f.incarnation) != n->incarnation))
			return false;
	return true;
}

/* Zeroed memory of the data area. May wait for others, without the lock. */
int coop_take(struct coop_node *n, uint64_t bytes, uint64_t *offset)
{
	uint64_t pages = bytes / COOP_PAGE, deadline = vfabi_deadline(5 * VFAB_SECOND), at;

	while (!known_to_all(n) && !n->fenced)
		if (!coop_nap(n, deadline))
			return -EAGAIN;
	for (;;) {
		if (n->fenced)
			return -ENODEV;
		coop_reclaim(n);
		if (find_room(n, pages, &at))
			break;
		/* What waits to be followed may be enough */
		if (!n->freed || !coop_nap(n, deadline))
			return -ENOSPC;
	}
	memset(n->used + at, 1, pages);
	n->next_page = (at + pages) % n->pages;
	*offset = vf_bp_data(&n->bp, n->self) + at * COOP_PAGE;
	memset((char *)n->bp.base + *offset, 0, bytes);
	return 0;
}

static void unuse(struct coop_node *n, uint64_t offset, uint64_t bytes)
{
	memset(n->used + (offset - vf_bp_data(&n->bp, n->self)) / COOP_PAGE, 0, bytes / COOP_PAGE);
}

/* To be used again once all that are live now have followed @change, or are gone */
void coop_give(struct coop_node *n, uint64_t offset, uint64_t bytes, uint64_t change)
{
	struct coop_freed *f = malloc(sizeof(*f));
	uint32_t i;

	/* Without a note of it the memory is not used again */
	if (!f)
		return;
	*f = (struct coop_freed){ .next = n->freed, .offset = offset, .bytes = bytes,
				  .change = change };
	for (i = 0; i < n->bp.nodes; i++) {
		uint64_t inc = n->peer[i] ? n->peer[i]->incarnation : 0;

		if (!inc)
			inc = n->expelled[i];
		if (i == n->self || !inc)
			continue;
		f->who |= UINT64_C(1) << i;
		f->incarnation[i] = inc;
	}
	n->freed = f;
}

/* Can this incarnation of a node still have mapped what was freed by @change? */
static bool may_have(const struct coop_node *n, uint32_t node, uint64_t incarnation,
		     uint64_t change)
{
	struct vfab_bp_follow f;
	struct vfab_bp_peer peer;
	struct vfab_bp_node rec;

	if (!vf_bp_read_peer(&n->bp, node, &peer) &&
	    (!peer.state || le64_to_cpu(peer.generation) != incarnation >> 32))
		return false;
	if (!vf_bp_read_node(&n->bp, node, &rec) &&
	    (le64_to_cpu(rec.incarnation) != incarnation ||
	     le32_to_cpu(rec.state) == VFAB_BP_NODE_LEFT ||
	     le32_to_cpu(rec.state) == VFAB_BP_NODE_FENCED))
		return false;
	return n->expelled[node] == incarnation ||
	       vf_bp_read_follow(&n->bp, node, n->self, &f) ||
	       le64_to_cpu(f.incarnation) != n->incarnation || le64_to_cpu(f.change) < change;
}

void coop_reclaim(struct coop_node *n)
{
	struct coop_freed **at = &n->freed, *f;
	uint32_t i;

	while ((f = *at)) {
		for (i = 0; i < n->bp.nodes; i++)
			if (f->who >> i & 1 && !may_have(n, i, f->incarnation[i], f->change))
				f->who &= ~(UINT64_C(1) << i);
		if (f->who) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		unuse(n, f->offset, f->bytes);
		free(f);
	}
}
