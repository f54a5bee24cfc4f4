/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * The cooperative transport: a process of the host as a node of a backplane, without
 * a module. vfabswitchd(8) lets it join; uapi/linux/vfabric_backplane.h says what is
 * where in the memory, and what a node is to do. Nothing makes it do so but this code:
 * whoever has the memory mapped may write all of it.
 *
 * A process is one node, with one connection, however many endpoints it opens there.
 * A thread of its own (coop_node.c) beats, follows the other nodes and is interrupted
 * by them; it wakes those of this process who wait. Everything here is under
 * coop_node.lock, but for the words that are polled.
 *
 * What is lost: the thread first makes the views say so, then replaces the mappings of
 * this process, and only then tells the other node that it has followed, so that
 * memory is not reused while this process could still store to it by what libvfab
 * mapped. Mappings of a forked child are its own.
 */
#ifndef VFABI_COOP_H
#define VFABI_COOP_H

#include "vfab_int.h"
#include "../backplane/backplane.h"

#define COOP_PAGE	4096
#define COOP_PERIOD_MS	500
#define COOP_TIMEOUT_MS	10000
#define COOP_WINDOWS	1024	/* of this process */

/* Which domain: where its record is, and for which of those that were there */
struct coop_domain_id {
	uint32_t node, index;
	uint64_t generation;
};

/**
 * struct coop_peer - what has been read of another node; of the own one, what it says
 * @incarnation: that is followed; 0: none
 * @change, @rings: up to which
 * @loss: its beat.loss at the last look
 * @beat, @seen: its word, and when it was last seen to change; 0: not seen yet
 * @endpoint, @window: copies of its records; state 0: there is none that makes sense
 */
struct coop_peer {
	uint64_t incarnation;
	uint64_t change, rings;
	uint64_t loss;
	uint64_t beat;
	int64_t seen;
	struct vfab_bp_endpoint endpoint[VFAB_BP_ENDPOINTS];
	struct vfab_bp_window window[VFAB_BP_WINDOWS];
};

/* What was freed, and may still be mapped by the nodes of @who that follow no further */
struct coop_freed {
	struct coop_freed *next;
	uint64_t offset, bytes, change, who;
	uint64_t incarnation[VFAB_BP_MAX_NODES];
};

/* Someone who can be rung: its id, and the files to do it by */
struct coop_bell {
	uint32_t peer;
	uint32_t vectors;
	int fd[VFAB_BP_MAX_VECTORS];
};

struct coop_node {
	struct coop_node *next;
	unsigned int users;
	char path[128];
	pthread_mutex_t lock;
	pthread_t thread;
	int sock, region, stop;
	struct vf_bp bp;
	uint32_t self, peer_id;
	uint64_t incarnation;
	bool fenced, forked;
	struct vfab_bp_node rec;
	uint32_t node_seq, follow_seq[VFAB_BP_MAX_NODES];
	uint32_t endpoint_seq[VFAB_BP_ENDPOINTS], window_seq[VFAB_BP_WINDOWS];
	uint64_t beat, change, loss;
	uint64_t rung[VFAB_BP_MAX_NODES];
	struct coop_peer *peer[VFAB_BP_MAX_NODES];	/* NULL: never was live */
	uint64_t expelled[VFAB_BP_MAX_NODES];		/* the last that was lost; 0: none */
	struct coop_bell bell[2 * VFAB_BP_MAX_NODES];
	uint32_t bells;
	uint8_t *used;			/* by page of the data area */
	uint64_t pages, next_page;
	struct coop_freed *freed;
	uint32_t serial;		/* of windows and endpoints */
	uint32_t ticket;		/* of the futex: something was read or followed */
	struct coop *eps;
};

/* A window, own or of a peer, that this process has or had mapped */
struct coop_map {
	struct coop_map *next;
	uint64_t handle, offset, size;
	uint32_t rank, node, window;
	uint64_t generation;		/* of the record */
	enum vfab_loss loss;
	void *addr;			/* NULL: not mapped */
	bool gone;
};

struct coop {
	struct coop *next;
	struct coop_node *n;
	struct vfab_ep *ep;
	struct coop_domain_id id;
	struct vfab_bp_domain dom;	/* as it was followed */
	struct coop_route *route;
	struct vfab_view *view;
	size_t view_bytes;
	uint64_t *held;			/* by rank: generation of the endpoint that is HELD */
	uint32_t record;		/* of the own endpoint */
	uint64_t bell;			/* offset of its pages */
	uint32_t ticket[VFAB_VECTORS];
	int eventfd[VFAB_VECTORS];	/* -1: none */
	struct coop_map *maps;
};

/* coop_node.c */
int coop_join(struct coop_node **out, const char *path);
void coop_leave(struct coop_node *n);
uint64_t coop_changed(struct coop_node *n, bool loss);
int coop_followed(struct coop_node *n, uint64_t change);
void coop_ring_vector(struct coop_node *n, uint32_t node, uint32_t vector);
bool coop_nap(struct coop_node *n, uint64_t deadline);
uint64_t coop_live(const struct coop_node *n);

/* coop_domain.c */
int coop_find_domain(const struct vf_bp *bp, const char *name, struct coop_domain_id *id,
		     struct vfab_bp_domain *dom);
int coop_follow(struct coop_node *n, uint32_t node);
void coop_look(struct coop_node *n);
void coop_end(struct coop *c);
bool coop_is_of(const struct coop *c, uint32_t node, const struct vfab_bp_endpoint *e);
void coop_wake(struct coop *c, uint32_t vector);

/* coop_memory.c */
int coop_memory_init(struct coop_node *n);
void coop_memory_end(struct coop_node *n);
int coop_take(struct coop_node *n, uint64_t bytes, uint64_t *offset);
void coop_give(struct coop_node *n, uint64_t offset, uint64_t bytes, uint64_t change);
void coop_reclaim(struct coop_node *n);

/* coop_window.c */
int coop_alloc(struct vfab_ep *ep, struct vfab_window_alloc *a);
int coop_free(struct vfab_ep *ep, uint64_t handle);
int coop_lookup(struct vfab_ep *ep, struct vfab_lookup *l);
int coop_import(struct vfab_ep *ep, struct vfab_import *i);
int coop_mapped(struct vfab_ep *ep, const struct vfab_import *i, void *addr);
void coop_unmap(struct vfab_ep *ep, void *addr);
int coop_release(struct vfab_ep *ep, uint64_t handle, uint64_t cookie);
void coop_revoke(struct coop *c, struct coop_map *m);
bool coop_revoke_gone(struct coop *c);
void coop_revoke_bell(struct coop *c, uint32_t rank);

/* coop_route.c */
int coop_route_new(struct coop_route **out, const struct vf_bp *bp,
		   const struct vfab_bp_domain *dom);
int coop_route_apply(struct coop_route *r, const struct vf_bp *bp,
		     const struct vfab_bp_domain *dom);
void coop_route_free(struct coop_route *r);
uint32_t coop_route_partition(const struct coop_route *r, uint32_t rank);
bool coop_route_get(const struct coop_route *r, uint32_t src, uint32_t dst,
		    struct vfab_peer *to);

#endif
