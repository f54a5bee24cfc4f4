/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model of a fabric: plain arrays, no locks, no kernel objects, so that
 * the module, a userspace test and a fuzzer compile the same files
 * (topology.c, route.c).
 *
 * Vertices are the endpoints (0 .. world - 1, the ranks) and then the switches.
 * Each has ports; a link joins two ports. Switches hold one routing-table entry
 * per destination rank: the set of ports by which a request for it may leave.
 * An endpoint sends by any port that leads on; where endpoints pass on what is
 * for others (a torus) they hold a table too, and send by that.
 *
 * Compiled from it, per destination: which switches lead there ("good"), and
 * for each group of endpoints with the same neighbours, which of their ports
 * do ("toward"). A route is then two words' and.
 */
#ifndef VFABRIC_TOPOLOGY_H
#define VFABRIC_TOPOLOGY_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <uapi/linux/vfabric.h>
#else
#include <linux/vfabric.h>
#include "topology_user.h"
#endif

#define VF_MAX_WORLD	1024
#define VF_MAX_PORTS	64	/* of an endpoint */
#define VF_MAX_SWITCHES	1024
#define VF_MAX_RADIX	4096	/* ports of a switch */
#define VF_MAX_LINKS	65536
#define VF_MAX_HOPS	64	/* of a path */
#define VF_MAX_WALK	(VF_MAX_PORTS * VF_MAX_HOPS)	/* hops of the paths of a route */
#define VF_MAX_RATE	100000000	/* of a link: 100 TB/s */
#define VF_MAX_LATENCY	1000000000	/* of a link or a switch: a second */
#define VF_NONE		(~0U)

/**
 * struct vf_topo_config - what a topology is made of
 * @links:	@nlinks of them, or NULL for a crossbar of @planes switches: port
 *		k of each endpoint leads to switch k
 * @forwards:	endpoints pass on what is for others
 */
struct vf_topo_config {
	u32 world;
	u32 planes;
	u32 switches;
	u32 nlinks;
	const struct vfab_link_spec *links;
	bool forwards;
	u32 rate;		/* of a crossbar's links */
	u32 latency;		/* of a crossbar, end to end */
	u32 switch_latency;	/* from port to port, nanoseconds */
};

enum vf_link_admin {
	VF_LINK_UP,
	VF_LINK_DOWN,
	VF_LINK_DRAIN,		/* works, but no route uses it */
};

/* What a link gives: 10^6 bytes per second and direction, nanoseconds, lanes */
struct vf_speed {
	u32 rate;
	u32 latency;
	u16 width;
};

/**
 * struct vf_link - two joined ports
 * @end:	the two ports
 * @rate:	as built; @rate_now as it is, degraded or not
 * @set:	as the admin has set it
 * @outage:	down for a moment: by so many flaps, whatever the admin wants
 * @broken:	down: by so many faults
 * @hole:	swallows what it carries: by so many faults
 */
struct vf_link {
	u32 end[2];
	u32 rate, rate_now;
	u32 latency, latency_now;
	u16 width, width_now;
	struct vf_speed set;
	u8 admin;		/* enum vf_link_admin */
	u8 outage;
	u8 broken;
	u8 hole;
};

/**
 * struct vf_links - a choice of links; VF_NONE where it leaves out
 *
 * rank or sw: those of an endpoint or a switch; both: those that join the two;
 * port: only the one at that port, of the rank if there is one. A node is its
 * @ranks ranks from @rank on. Without rank and sw: all.
 */
struct vf_links {
	u32 rank, sw, port, ranks;
};

struct vf_port {
	u32 vertex;
	u32 peer;		/* the port at the other end, VF_NONE: no link */
	u32 link;
};

/**
 * struct vf_routes - what decides whether two endpoints reach each other
 * @port_up:	per rank, bit k: port k's link carries
 * @toward:	[group * world + dest], bit k: port k of the group's endpoints
 *		leads to dest
 *
 * Read without a lock by doorbells and faults; each word is stored at once.
 */
struct vf_routes {
	u64 *port_up;
	u64 *toward;
};

/**
 * struct vf_flow - room for vf_route_flow()
 * @amount:	by router: what is there at this step, and at the next one
 * @list:	the routers that have some
 */
struct vf_flow {
	u64 *amount[2];
	u32 *list[2];
};

/**
 * struct vf_topo - a fabric
 * @ports:	most that an endpoint has
 * @routers:	vertices that have a table: the switches, and the endpoints if
 *		@forwards. Router r is switch r, or rank r - switches.
 * @first:	per vertex, its first port; one more at the end
 * @way:	ports that lead to routers, so that a search looks at no more; per vertex
 *		from @way_first on
 * @mask:	[router * world + dest]: bit i: port base + i is in the set
 * @good:	[dest * words + router / 64]: the router leads to dest
 * @via:	[router * world + dest], where it does: a bit of mask; who follows
 *		these arrives
 * @flow:	all zero between two uses
 * @holes:	links that swallow what they carry
 * @hole:	ports by which a request may get to one: port_up of a rank's own
 *		links, toward of what is further on; not allocated before the first one
 */
struct vf_topo {
	u32 world;
	u32 ports;
	u32 switches;
	u32 routers;
	u32 words;
	u32 groups;
	u32 nports;
	u32 nlinks;
	u32 switch_latency;
	bool forwards;
	bool direct;		/* some endpoints are joined without a switch */
	bool alike;		/* all links as built, and one switch on each path */
	u32 degraded;		/* links that are not as built */
	u32 *first;
	struct vf_port *port;
	u32 *way_first;
	u32 *way;
	struct vf_link *link;
	u8 *sw_up;
	u16 *group;		/* per rank */
	u16 *sample;		/* per group: one of its ranks */
	u64 *mask;
	u16 *base;
	u64 *good;
	u8 *via;
	struct vf_routes now;
	struct vf_routes was;	/* before the change being made */
	struct vf_flow flow;
	u32 holes;
	struct vf_routes hole;
};

/* Why a path ends where it does; the numbers are those of the netlink spec. */
enum vf_verdict {
	VF_HOP_LIVE,
	VF_HOP_SRC_DOWN,	/* the first link does not carry */
	VF_HOP_SWITCH_DOWN,
	VF_HOP_NO_ENTRY,
	VF_HOP_MISROUTED,	/* the entry leads to a port without a way on */
	VF_HOP_DST_DOWN,	/* the last link does not carry */
	VF_HOP_NO_RETURN,	/* an answer would not find back */
	VF_HOP_LINK_DOWN,	/* a link between switches does not carry */
	VF_HOP_LOOP,
};

/**
 * struct vf_hop - one step of a path
 * @vertex:	where the request is
 * @in:		the port by which it came in, VF_NONE at the source
 * @out:	the port by which it leaves, VF_NONE where it ends
 * @ways:	how many ports it may leave by
 */
struct vf_hop {
	u32 vertex;
	u32 in;
	u32 out;
	u32 ways;
};

/**
 * struct vf_path - where a request gets to
 * @hop:	NULL, or room for VF_MAX_HOPS + 1
 * @rate:	10^6 bytes per second, of the narrowest step
 * @latency:	nanoseconds
 */
struct vf_path {
	struct vf_hop *hop;
	u32 hops;
	u32 rate;
	u32 latency;
	enum vf_verdict verdict;
};

/* Told of each port by which some of a flow leaves, and how much. */
typedef void (*vf_flow_t)(void *arg, u32 port, u64 amount);

/* The compiled answer for a pair. */
struct vf_route {
	u32 paths;		/* 0: not reachable */
	u32 rate;		/* 10^6 bytes per second and direction */
	u32 latency;		/* nanoseconds, one way, the shortest path's */
};

/* topology.c */
int vf_topo_create(struct vf_topo *t, const struct vf_topo_config *cfg,
		   const char **why);
void vf_topo_destroy(struct vf_topo *t);
void vf_topo_degrade(struct vf_topo *t, u32 link, u32 rate, u32 latency, u32 width);
bool vf_link_works(const struct vf_topo *t, u32 link);
bool vf_link_carries(const struct vf_topo *t, u32 link);
bool vf_links_have(const struct vf_topo *t, const struct vf_links *w, u32 link);
u32 vf_links_next(const struct vf_topo *t, const struct vf_links *w, u32 *at);
u32 vf_topo_port(const struct vf_topo *t, u32 vertex, u32 number);
bool vf_topo_is_router(const struct vf_topo *t, u32 vertex);
int vf_topo_set_entry(struct vf_topo *t, u32 router, u32 dest, u32 base, u64 mask);

/* route.c */
int vf_route_defaults(struct vf_topo *t);
void vf_topo_add_egress(struct vf_topo *t, u32 router, u32 dest, u32 number);
void vf_route_touch_link(const struct vf_topo *t, u32 link, unsigned long *dests);
void vf_route_touch_switch(const struct vf_topo *t, u32 sw, unsigned long *dests);
void vf_route_compile(struct vf_topo *t, const unsigned long *dests,
		      unsigned long *changed);
void vf_route_settle(struct vf_topo *t, const unsigned long *ranks);
void vf_route_holes(struct vf_topo *t, const unsigned long *dests);
u32 vf_route_paths(const struct vf_topo *t, u32 src, u32 dst);
void vf_route_get(const struct vf_topo *t, u32 src, u32 dst, struct vf_route *r);
void vf_route_walk(const struct vf_topo *t, u32 src, u32 port, u32 dst,
		   struct vf_path *path);
bool vf_route_flow(struct vf_topo *t, u32 src, u32 dst, u64 amount, vf_flow_t visit,
		   void *arg);

static inline u32 vf_topo_router(const struct vf_topo *t, u32 vertex)
{
	return vertex >= t->world ? vertex - t->world : t->switches + vertex;
}

static inline u32 vf_router_vertex(const struct vf_topo *t, u32 router)
{
	return router < t->switches ? t->world + router : router - t->switches;
}

static inline u32 vf_vertex_ports(const struct vf_topo *t, u32 vertex)
{
	return t->first[vertex + 1] - t->first[vertex];
}

/* Ports of @src whose way to @dst is open, one way. */
static inline u64 vf_route_ports(const struct vf_topo *t,
				 const struct vf_routes *r, u32 src, u32 dst)
{
	return READ_ONCE(r->port_up[src]) &
	       READ_ONCE(r->toward[t->group[src] * t->world + dst]);
}

/* A load is a request one way and data the other; a store is acknowledged. */
static inline bool vf_route_open(const struct vf_topo *t,
				 const struct vf_routes *r, u32 a, u32 b)
{
	return vf_route_ports(t, r, a, b) && vf_route_ports(t, r, b, a);
}

/* Ports of @src by which a request for @dst may be swallowed. */
static inline u64 vf_hole_ports(const struct vf_topo *t, u32 src, u32 dst)
{
	return vf_route_ports(t, &t->now, src, dst) &
	       (READ_ONCE(t->hole.port_up[src]) |
		READ_ONCE(t->hole.toward[t->group[src] * t->world + dst]));
}

/* May requests of a pair or their answers be swallowed? */
static inline bool vf_route_holed(const struct vf_topo *t, u32 a, u32 b)
{
	/* Who sees one sees the arrays */
	return smp_load_acquire(&t->holes) && a != b &&
	       (vf_hole_ports(t, a, b) || vf_hole_ports(t, b, a));
}

#endif
