// SPDX-License-Identifier: GPL-2.0
/* Which planes join two endpoints. */
#include "topology.h"

/**
 * vf_route_planes - the live paths between two endpoints
 * @p: the planes
 * @src: a rank
 * @dst: another rank
 *
 * A load is a request one way and data the other, a store waits for its
 * completion: a plane counts only if both its switch's entries, for @dst
 * and for @src, lead there. So the answer is the same from both ends.
 *
 * Return: a bitmap of planes, 0 where @dst cannot be reached.
 */
u64 vf_route_planes(const struct vf_planes *p, u32 src, u32 dst)
{
	return READ_ONCE(p->sw_up) &
	       READ_ONCE(p->port_up[src]) & READ_ONCE(p->port_up[dst]) &
	       READ_ONCE(p->entry[src]) & READ_ONCE(p->entry[dst]);
}

/**
 * vf_route_verdict - what stops a request on one plane
 * @t: the topology
 * @src: where it starts
 * @dst: where it should arrive
 * @sw: the plane
 *
 * Return: VF_PLANE_LIVE exactly where vf_route_planes() has the bit set.
 */
enum vf_verdict vf_route_verdict(const struct vf_topo *t, u32 src, u32 dst,
				 u32 sw)
{
	u16 out = t->table[sw * t->world + dst];
	u64 bit = 1ULL << sw;

	if (!(t->now.port_up[src] & bit))
		return VF_PLANE_SRC_DOWN;
	if (!(t->now.sw_up & bit))
		return VF_PLANE_SWITCH_DOWN;
	if (out == VF_NO_PORT)
		return VF_PLANE_NO_ENTRY;
	if (out != dst)
		return VF_PLANE_MISROUTED;
	if (!(t->now.port_up[dst] & bit))
		return VF_PLANE_DST_DOWN;
	if (!(t->now.entry[src] & bit))
		return VF_PLANE_NO_RETURN;
	return VF_PLANE_LIVE;
}
