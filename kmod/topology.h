/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The model of one single-tier, multi-plane fabric: plain arrays, no locks, no
 * kernel objects, so that the module, a userspace test and a fuzzer compile
 * the same files (topology.c, route.c).
 *
 * Every endpoint has one port per plane; port k of rank r and port r of switch
 * k are the two ends of link (r, k). Switch k holds one table entry per
 * destination rank: the port by which a request for it leaves.
 */
#ifndef VFABRIC_TOPOLOGY_H
#define VFABRIC_TOPOLOGY_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#else
#include <stdint.h>
#include <stdbool.h>
#include <errno.h>
typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#endif

#define VF_MAX_WORLD	1024
#define VF_MAX_PLANES	64
#define VF_NO_PORT	0xffff

/**
 * struct vf_planes - what decides which planes join two endpoints
 * @sw_up:	bit k: switch k is up
 * @port_up:	per rank, bit k: its link to switch k is up
 * @entry:	per rank, bit k: switch k's entry for the rank leads to it
 */
struct vf_planes {
	u64 sw_up;
	u64 *port_up;
	u64 *entry;
};

/**
 * struct vf_topo - switches, links and routing tables of a domain
 * @world:	number of endpoints
 * @planes:	number of switches, and of ports per endpoint
 * @rate:	of one link, 10^6 bytes per second and direction
 * @latency:	end to end over one switch, nanoseconds
 * @now:	the planes as they are
 * @table:	[switch * world + rank]: egress port, or VF_NO_PORT
 */
struct vf_topo {
	u32 world;
	u32 planes;
	u32 rate;
	u32 latency;
	struct vf_planes now;
	u16 *table;
};

/* Why a plane does not carry a request; the order in which it is looked at. */
enum vf_verdict {
	VF_PLANE_LIVE,
	VF_PLANE_SRC_DOWN,
	VF_PLANE_SWITCH_DOWN,
	VF_PLANE_NO_ENTRY,
	VF_PLANE_MISROUTED,
	VF_PLANE_DST_DOWN,
	VF_PLANE_NO_RETURN,
};

void vf_topo_init(struct vf_topo *t);
void vf_topo_set_switch(struct vf_topo *t, u32 sw, bool up);
void vf_topo_set_link(struct vf_topo *t, u32 rank, u32 sw, bool up);
int vf_topo_set_entry(struct vf_topo *t, u32 sw, u32 dest, u16 egress);
bool vf_topo_link_up(const struct vf_topo *t, u32 rank, u32 sw);

u64 vf_route_planes(const struct vf_planes *p, u32 src, u32 dst);
enum vf_verdict vf_route_verdict(const struct vf_topo *t, u32 src, u32 dst,
				 u32 sw);

static inline u64 vf_topo_all(const struct vf_topo *t)
{
	return t->planes == 64 ? ~0ULL : (1ULL << t->planes) - 1;
}

#endif
