// SPDX-License-Identifier: LGPL-2.1
/*
 * Generators of fabrics with two tiers: endpoints on leaves, leaves on spines.
 * Leaves have the lowest switch numbers, pod by pod; the spines follow, plane by
 * plane.
 */
#include "topo_int.h"

/**
 * struct tiers - the two tiers
 * @pods, @leaves: groups of endpoints, and leaves of each group
 * @planes: 1: each leaf is joined to all spines; @leaves: the j-th leaves of all
 *	pods and their share of the spines are a fabric of their own
 * @taper: links down for each link up
 * @strided: pod p has the ranks p, p + pods, ..., not consecutive ones
 */
struct tiers {
	uint32_t world, ports, pods, leaves, spines, planes, taper;
	bool strided;
};

/* Links from each j-th leaf down to endpoints; up there are that / taper. */
static uint32_t down(const struct tiers *s, uint32_t j)
{
	uint32_t ports = s->ports / s->leaves + (j < s->ports % s->leaves);

	return s->world / s->pods * ports;
}

static uint32_t up(const struct tiers *s, uint32_t j)
{
	return down(s, j) / s->taper;
}

/* The spines that the j-th leaves share, in proportion to their links. */
static uint32_t share(const struct tiers *s, uint32_t j)
{
	uint64_t total = 0;
	uint32_t i;

	if (s->planes == 1)
		return s->spines;
	for (i = 0; i < s->leaves; i++)
		total += up(s, i);
	return total ? (uint64_t)s->spines * up(s, j) / total : 0;
}

static int check_tiers(struct build *b, const struct tiers *s)
{
	uint32_t j, all = 0;

	if (s->world % s->pods)
		return fail(b->l, -EINVAL, 0,
			    "world %u is no multiple of %u groups: set one of them",
			    s->world, s->pods);
	if (s->leaves > s->ports)
		return fail(b->l, -EINVAL, 0,
			    "an endpoint with %u ports cannot be joined to each of %u leaves of its pod: set ports or leaves_per_pod",
			    s->ports, s->leaves);
	if (s->planes != 1 && s->planes != s->leaves)
		return fail(b->l, -EINVAL, 0,
			    "planes %u is neither 1 nor leaves_per_pod %u: set planes",
			    s->planes, s->leaves);
	for (j = 0; j < s->leaves; j++) {
		if (down(s, j) % s->taper)
			return fail(b->l, -EINVAL, 0,
				    "%u links down from a leaf are no multiple of taper %u: set taper",
				    down(s, j), s->taper);
		if (!share(s, j) || up(s, j) % share(s, j))
			return fail(b->l, -EINVAL, 0,
				    "%u links up from a leaf do not spread evenly over %u spines: set spines",
				    up(s, j), share(s, j));
		all += share(s, j);
	}
	if (s->planes != 1 && all != s->spines)
		return fail(b->l, -EINVAL, 0,
			    "%u spines do not divide among %u planes in proportion to their links: set spines",
			    s->spines, s->planes);
	return 0;
}

static int join_endpoints(struct build *b, const struct tiers *s)
{
	uint32_t rank, pod, port;

	for (rank = 0; rank < s->world; rank++) {
		pod = s->strided ? rank % s->pods : rank / (s->world / s->pods);
		for (port = 0; port < s->ports; port++)
			if (join_switch(b, rank, port, pod * s->leaves + port % s->leaves))
				return b->l->code;
	}
	return 0;
}

static int join_leaf(struct build *b, const struct tiers *s, uint32_t leaf, uint32_t first,
		     uint32_t j)
{
	uint32_t spines = share(s, j), each = up(s, j) / spines, i, n;

	for (i = 0; i < spines; i++)
		for (n = 0; n < each; n++)
			if (join_switches(b, leaf, first + i))
				return b->l->code;
	return 0;
}

static int join_leaves(struct build *b, const struct tiers *s)
{
	uint32_t pod, j, spine;

	for (pod = 0; pod < s->pods; pod++) {
		spine = s->pods * s->leaves;
		for (j = 0; j < s->leaves; j++) {
			if (join_leaf(b, s, pod * s->leaves + j, spine, j))
				return b->l->code;
			if (s->planes != 1)
				spine += share(s, j);
		}
	}
	return 0;
}

static int make_tiers(struct build *b, const struct tiers *s)
{
	if (check_tiers(b, s) ||
	    set_size(b, s->world, s->ports, (uint64_t)s->pods * s->leaves + s->spines) ||
	    set_rate(b) || join_endpoints(b, s))
		return b->l->code;
	return join_leaves(b, s);
}

static uint32_t or_one(const struct param_value *p)
{
	return p->known ? p->number : 1;
}

int gen_two_tier(struct build *b)
{
	struct tiers s;

	if (need(b, BIT(P_WORLD) | BIT(P_PORTS) | BIT(P_PODS) | BIT(P_LEAVES_PER_POD) |
		 BIT(P_SPINES) | need_rate(b)))
		return b->l->code;
	s = (struct tiers){
		.world = b->p[P_WORLD].number, .ports = b->p[P_PORTS].number,
		.pods = b->p[P_PODS].number, .leaves = b->p[P_LEAVES_PER_POD].number,
		.spines = b->p[P_SPINES].number, .planes = or_one(&b->p[P_PLANES]),
		.taper = or_one(&b->p[P_TAPER]),
	};
	return make_tiers(b, &s);
}

/* The i-th endpoints of all nodes share a leaf: a pod is a rail. */
int gen_rail(struct build *b)
{
	struct tiers s;

	if (need(b, BIT(P_WORLD) | BIT(P_NODES) | BIT(P_PORTS) | BIT(P_SPINES) |
		 need_rate(b)))
		return b->l->code;
	if (b->p[P_WORLD].number % b->p[P_NODES].number)
		return fail(b->l, -EINVAL, 0,
			    "world %u is no multiple of nodes %u: set one of them",
			    b->p[P_WORLD].number, b->p[P_NODES].number);
	s = (struct tiers){
		.world = b->p[P_WORLD].number, .ports = b->p[P_PORTS].number,
		.pods = b->p[P_WORLD].number / b->p[P_NODES].number, .leaves = 1,
		.spines = b->p[P_SPINES].number, .planes = 1,
		.taper = or_one(&b->p[P_TAPER]), .strided = true,
	};
	return make_tiers(b, &s);
}

/**
 * struct plane - one plane of a fat tree; there is one for each endpoint port
 * @down: endpoints of a leaf, and its links up
 */
struct plane {
	uint32_t world, down, leaves, spines;
};

static int size_plane(struct build *b, struct plane *s)
{
	uint32_t radix = b->p[P_SWITCH_PORTS].number;

	s->world = b->p[P_WORLD].number;
	if (s->world <= radix) {
		*s = (struct plane){ .world = s->world, .down = s->world, .leaves = 1 };
		return 0;
	}
	if (radix % 2)
		return fail(b->l, -EINVAL, 0,
			    "switch_ports %u is odd: half of a leaf's ports lead down, set an even number",
			    radix);
	s->down = radix / 2;
	s->leaves = (s->world + s->down - 1) / s->down;
	if (s->leaves > radix)
		return fail(b->l, -EINVAL, 0,
			    "two tiers of switches with %u ports hold %u endpoints, not %u: set switch_ports or world",
			    radix, radix * s->down, s->world);
	/* Enough of them, and as many links from each leaf to each */
	s->spines = (s->leaves * s->down + radix - 1) / radix;
	while (s->down % s->spines)
		s->spines++;
	return 0;
}

static int make_plane(struct build *b, const struct plane *s, uint32_t port)
{
	uint32_t first = port * (s->leaves + s->spines), rank, leaf, i;

	for (rank = 0; rank < s->world; rank++)
		if (join_switch(b, rank, port, first + rank / s->down))
			return b->l->code;
	for (leaf = 0; leaf < s->leaves && s->spines; leaf++)
		for (i = 0; i < s->down; i++)
			if (join_switches(b, first + leaf,
					  first + s->leaves + i / (s->down / s->spines)))
				return b->l->code;
	return 0;
}

int gen_fat_tree(struct build *b)
{
	struct plane s = { 0 };
	uint32_t port, ports;

	if (need(b, BIT(P_WORLD) | BIT(P_PORTS) | BIT(P_SWITCH_PORTS) | need_rate(b)) ||
	    set_rate(b) || size_plane(b, &s))
		return b->l->code;
	ports = b->p[P_PORTS].number;
	if (set_size(b, s.world, ports, (uint64_t)ports * (s.leaves + s.spines)))
		return b->l->code;
	for (port = 0; port < ports; port++)
		if (make_plane(b, &s, port))
			return b->l->code;
	return 0;
}
