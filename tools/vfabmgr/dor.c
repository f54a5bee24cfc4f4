// SPDX-License-Identifier: GPL-2.0
/*
 * Dimension order, for tori and meshes of endpoints: along the first axis until
 * that coordinate is right, then along the second, and so on; the shorter way
 * round, both where they are as long, or the other way where the shorter is cut.
 *
 * Rank x + X * (y + Y * z) is at (x, y, z). Ports may have any number.
 *
 * Around a ring, requests can block in a circle. Real tori avoid that by two
 * virtual channels with a dateline, where a ring closes: channel 0 is for those
 * that have yet to cross it, 1 for those that have, or need not. That depends on
 * where a request is and where it goes only, so tables that know no more do.
 * vfabric itself has no virtual channels, as it has no buffers that fill.
 */
#include "vfabmgr.h"

static u32 coordinate(const struct fabric *f, u32 rank, u32 axis)
{
	u32 i;

	for (i = 0; i < axis; i++)
		rank /= f->dims[i];
	return rank % f->dims[axis];
}

/* How far from @from up to @to, round the ring */
static u32 ahead(const struct fabric *f, u32 from, u32 to, u32 axis)
{
	u32 n = f->dims[axis];

	return (coordinate(f, to, axis) + n - coordinate(f, from, axis)) % n;
}

/* The only axis in which the two differ, f->ndims if there is none such */
static u32 axis_of(const struct fabric *f, u32 a, u32 b)
{
	u32 i, found = f->ndims;

	for (i = 0; i < f->ndims; i++) {
		if (!ahead(f, a, b, i))
			continue;
		if (found != f->ndims)
			return f->ndims;
		found = i;
	}
	return found;
}

static bool wired(const struct fabric *f, u32 a, u32 b)
{
	const struct vf_topo *t = &f->topo;
	u32 p;

	for (p = t->first[a]; p < t->first[a + 1]; p++)
		if (t->port[p].peer != VF_NONE && t->port[t->port[p].peer].vertex == b)
			return true;
	return false;
}

/* Ranks 0, 1, 2, ... are joined as far as the first axis goes, and so on. */
static void guess(struct fabric *f)
{
	u32 stride = 1, n;

	f->ndims = 0;
	while (stride < f->topo.world && f->ndims < MAX_DIMS) {
		for (n = 1; n * stride < f->topo.world; n++)
			if (!wired(f, (n - 1) * stride, n * stride))
				break;
		if (n == 1)
			break;
		f->dims[f->ndims++] = n;
		stride *= n;
	}
}

/* Does every link join neighbours? */
static bool fits(const struct fabric *f)
{
	const struct vf_topo *t = &f->topo;
	u32 i, world = 1, a, b, axis, up;

	for (i = 0; i < f->ndims; i++)
		world *= f->dims[i];
	if (world != t->world)
		return false;
	for (i = 0; i < t->nlinks; i++) {
		a = t->port[t->link[i].end[0]].vertex;
		b = t->port[t->link[i].end[1]].vertex;
		axis = axis_of(f, a, b);
		if (axis == f->ndims)
			return false;
		up = ahead(f, a, b, axis);
		if (up != 1 && up != f->dims[axis] - 1)
			return false;
	}
	return true;
}

static int find_dims(struct fabric *f, const struct options *o)
{
	if (!f->topo.forwards || f->topo.switches)
		return fabric_fail(f, -EINVAL,
				   "dor is for tori and meshes whose endpoints pass on what is for others: use min-hop or up-down");
	memcpy(f->dims, o->dims, sizeof(f->dims));
	f->ndims = o->ndims;
	if (!f->ndims)
		guess(f);
	if (fits(f))
		return 0;
	if (!o->ndims)
		return fabric_fail(f, -EINVAL,
				   "the links are not those of a torus or a mesh: use up-down, or give --dims");
	return fabric_fail(f, -EINVAL,
			   "--dims do not fit: a link joins ranks that are no neighbours, or the product is not the world size %u",
			   f->topo.world);
}

/* How far a request gets from @rank along an axis, up or down, at most @most */
static u32 run(const struct fabric *f, u32 rank, u32 axis, bool up, u32 most)
{
	const struct vf_topo *t = &f->topo;
	u32 p, w, n, step = up ? 1 : f->dims[axis] - 1;

	for (n = 0; n < most; n++) {
		for (p = t->first[rank]; p < t->first[rank + 1]; p++) {
			w = f->next[p];
			if (w != VF_NONE && axis_of(f, rank, w) == axis &&
			    ahead(f, rank, w, axis) == step)
				break;
		}
		if (p == t->first[rank + 1])
			return n;
		rank = f->next[p];
	}
	return n;
}

/* Per rank and axis: how far it gets, up and down */
static u32 *find_runs(const struct fabric *f)
{
	u32 rank, axis, *runs = calloc((size_t)f->topo.world * f->ndims, 2 * sizeof(u32));

	for (rank = 0; runs && rank < f->topo.world; rank++)
		for (axis = 0; axis < f->ndims; axis++) {
			u32 *r = &runs[2 * (rank * f->ndims + axis)];

			r[0] = run(f, rank, axis, true, f->dims[axis]);
			r[1] = run(f, rank, axis, false, f->dims[axis]);
		}
	return runs;
}

/*
 * Which ways round, from how far it is up and how far one gets: bit 0 up, bit 1
 * down. A way that is whole here is whole for who comes along it, and no other
 * is tried there unless it is shorter, which it then was here.
 */
static u32 directions(u32 up, u32 dim, const u32 runs[2])
{
	u32 down = dim - up;
	bool can_up = up <= runs[0], can_down = down <= runs[1];

	if (can_up && can_down)
		return up == down ? 3 : up < down ? 1 : 2;
	return can_up | can_down << 1;
}

static void set_entry(struct fabric *f, const u32 *runs, u32 rank, u32 dest)
{
	const struct vf_topo *t = &f->topo;
	u32 axis = 0, up, ways, p, w, n = 0, ports[VF_MAX_PORTS];

	while (!ahead(f, rank, dest, axis))
		axis++;
	up = ahead(f, rank, dest, axis);
	ways = directions(up, f->dims[axis], &runs[2 * (rank * f->ndims + axis)]);
	for (p = t->first[rank]; p < t->first[rank + 1]; p++) {
		w = f->next[p];
		if (w == VF_NONE || axis_of(f, rank, w) != axis)
			continue;
		if ((ways & 1 && ahead(f, rank, w, axis) == 1) ||
		    (ways & 2 && ahead(f, w, rank, axis) == 1))
			ports[n++] = p - t->first[rank];
	}
	engine_set(f, vf_topo_router(t, rank), dest, ports, n);
}

int dor_route(struct fabric *f, const struct options *o)
{
	int ret = find_dims(f, o);
	u32 rank, dest, *runs;

	if (ret)
		return ret;
	runs = find_runs(f);
	if (!runs)
		return fabric_fail(f, -ENOMEM, "out of memory");
	for (rank = 0; rank < f->topo.world; rank++)
		for (dest = 0; dest < f->topo.world; dest++)
			if (rank != dest)
				set_entry(f, runs, rank, dest);
	free(runs);
	return 0;
}

/* The virtual channel of a request for @dest that leaves by @port: see the top. */
u32 dor_channel(const struct fabric *f, u32 dest, u32 port)
{
	const struct vf_topo *t = &f->topo;
	u32 here = t->port[port].vertex, there = f->next[port];
	u32 axis = axis_of(f, here, there);
	u32 from = coordinate(f, here, axis), to = coordinate(f, dest, axis);

	return ahead(f, here, there, axis) == 1 ? from <= to : from >= to;
}
