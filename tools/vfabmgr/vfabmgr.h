/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vfabmgr: what its files share. The links of a domain become a struct fabric,
 * an engine fills in the tables that it should have, loop.c says whether those
 * could block, plan.c in which order to write what differs. None of that speaks
 * to the kernel: client.c does. The model is the module's own (kmod/topology.h).
 */
#ifndef VFABMGR_H
#define VFABMGR_H

#include <stdio.h>
#include "../../kmod/topology.h"

#define MAX_DIMS	8
#define MAX_ROOTS	64
#define FAR		(VF_NONE / 2)	/* a distance that nothing has */

/* An entry: bit i of @mask: port @base + i. 0 is no entry; else bit 0 is set. */
struct entry {
	u32 base;
	u64 mask;
};

/**
 * struct fabric - a domain, and the tables it has and should have
 * @topo: its links as they are; its tables are those that are wanted
 * @mask, @base: the tables that it has, indexed as those of @topo
 * @next: per port, the vertex that a link which carries leads to, or VF_NONE
 * @trunk: ports whose link carries and leads to a router, in ascending order: of
 *	vertex v from @trunks[v] on
 * @island: per router, a number that all have which working links join
 * @shore: per rank, a bitmap of the islands it is joined to, of @words words
 * @dims, @ndims: of a torus or a mesh, as engine "dor" found it
 */
struct fabric {
	struct vf_topo topo;
	u64 *mask;
	u16 *base;
	u32 *next;
	u32 *trunk, *trunks;
	u16 *island;
	u64 *shore;
	u32 words;
	u32 *queue, *dist;		/* for searches: per vertex */
	u32 dims[MAX_DIMS], ndims;
	char why[256];			/* after a failure: what to do */
};

/* Pairs of endpoints: those that working links join, and of those the lost */
struct pairs {
	u32 joined, lost;
};

/**
 * struct options - what an engine is told
 * @dims: empty: find out
 * @roots: switches, or ranks where there are none; empty: find out
 * @text: of engine "file", with its name
 * @vcs: virtual channels of each link, 1 or 2
 */
struct options {
	u32 dims[MAX_DIMS], ndims;
	u32 roots[MAX_ROOTS], nroots;
	const char *text, *file;
	u32 vcs;
};

/**
 * struct engine - a way to make tables
 * @route: fills in f->topo's, which are empty, from f->next; returns 0 or a
 *	negative errno, then f->why is a sentence
 * @channel: NULL, or which of two virtual channels a request for dest takes
 *	when it leaves by this port
 */
struct engine {
	const char *name;
	int (*route)(struct fabric *f, const struct options *o);
	u32 (*channel)(const struct fabric *f, u32 dest, u32 port);
};

extern const struct engine engines[];

/* fabric.c */
int fabric_init(struct fabric *f, const struct vf_topo_config *cfg);
void fabric_free(struct fabric *f);
void fabric_links(struct fabric *f);
void fabric_take_wanted(struct fabric *f);
bool fabric_leads(const struct fabric *f, u32 router, u32 dest);
u32 fabric_ways(const struct fabric *f, u32 v, u32 dest, u32 *ports);
bool fabric_joined(const struct fabric *f, u32 a, u32 b);
struct pairs fabric_pairs(struct fabric *f);
int fabric_fail(struct fabric *f, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void fabric_port_name(const struct fabric *f, u32 port, char name[32]);

static inline size_t entry_index(const struct fabric *f, u32 router, u32 dest)
{
	return (size_t)router * f->topo.world + dest;
}

static inline struct entry entry_has(const struct fabric *f, size_t i)
{
	return (struct entry){ f->base[i], f->mask[i] };
}

static inline struct entry entry_wanted(const struct fabric *f, size_t i)
{
	return (struct entry){ f->topo.base[i], f->topo.mask[i] };
}

static inline bool entry_same(struct entry a, struct entry b)
{
	return a.mask == b.mask && (!a.mask || a.base == b.base);
}

/* engine.c */
const struct engine *engine_find(const char *name);
int engine_run(struct fabric *f, const struct engine *e, const struct options *o);
void engine_set(struct fabric *f, u32 router, u32 dest, const u32 *ports, u32 n);

/* updown.c, dor.c, file.c */
int updown_route(struct fabric *f, const struct options *o);
int dor_route(struct fabric *f, const struct options *o);
u32 dor_channel(const struct fabric *f, u32 dest, u32 port);
int file_route(struct fabric *f, const struct options *o);
void file_print(const struct fabric *f, FILE *to, u32 domain, u32 router, u32 dest,
		struct entry e);

/* loop.c */
int loop_check(struct fabric *f, const struct engine *e, u32 vcs);

/* plan.c */
typedef int (*plan_write)(void *data, u32 router, u32 dest, struct entry e);
int plan_run(struct fabric *f, plan_write write, void *data);
u32 plan_count(const struct fabric *f);

#endif
