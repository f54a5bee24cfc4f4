// SPDX-License-Identifier: LGPL-2.1
/* Generators of fabrics with one tier of switches, or none. */
#include "topo_int.h"

/* Of ports, switches and links per switch, two say the third. */
static int solve_crossbar(struct build *b)
{
	struct param_value *ports = &b->p[P_PORTS], *switches = &b->p[P_SWITCHES];
	struct param_value *per = &b->p[P_LINKS_PER_SWITCH];

	if (switches->known && !switches->number)
		return fail(b->l, -EINVAL, 0,
			    "a crossbar has no endpoint without a switch: switches is 0");
	if (!ports->known && switches->known && per->known) {
		ports->number = switches->number * per->number;
		ports->known = true;
	} else if (!switches->known && ports->known && per->known) {
		if (ports->number % per->number)
			return fail(b->l, -EINVAL, 0,
				    "ports %u is no multiple of links_per_switch %u",
				    ports->number, per->number);
		switches->number = ports->number / per->number;
		switches->known = true;
	}
	if (per->known && ports->known && switches->known &&
	    (uint64_t)switches->number * per->number != ports->number)
		return fail(b->l, -EINVAL, 0,
			    "switches %u times links_per_switch %u is not ports %u: leave one out",
			    switches->number, per->number, ports->number);
	if (ports->known && switches->known && switches->number > ports->number)
		return fail(b->l, -EINVAL, 0,
			    "an endpoint with %u ports cannot be joined to each of %u switches: set ports or switches",
			    ports->number, switches->number);
	/* With links per switch, ports are enough */
	return need(b, BIT(P_WORLD) | BIT(P_PORTS) | need_rate(b) |
		    (per->known ? 0 : BIT(P_SWITCHES)));
}

static int gen_crossbar(struct build *b)
{
	uint32_t world, ports, switches, rank, port;

	if (solve_crossbar(b) || set_rate(b) || need(b, BIT(P_RATE)))
		return b->l->code;
	world = b->p[P_WORLD].number;
	ports = b->p[P_PORTS].number;
	switches = b->p[P_SWITCHES].number;
	if (set_size(b, world, ports, switches))
		return b->l->code;
	for (rank = 0; rank < world; rank++)
		for (port = 0; port < ports; port++)
			if (join_switch(b, rank, port, port % switches))
				return b->l->code;
	return 0;
}

/* The port of @rank that leads to @peer, over the @nth link between them. */
static uint16_t mesh_port(uint32_t rank, uint32_t peer, uint32_t per_pair, uint32_t nth)
{
	return (peer < rank ? peer : peer - 1) * per_pair + nth;
}

static int gen_mesh(struct build *b)
{
	uint32_t world, per_pair, x, y, n;
	uint64_t ports;

	if (!b->p[P_LINKS_PER_PAIR].known && !b->p[P_LINKS_PER_PAIR].given) {
		b->p[P_LINKS_PER_PAIR].number = 1;
		b->p[P_LINKS_PER_PAIR].known = true;
	}
	if (need(b, BIT(P_WORLD) | BIT(P_LINKS_PER_PAIR) | need_rate(b)))
		return b->l->code;
	world = b->p[P_WORLD].number;
	per_pair = b->p[P_LINKS_PER_PAIR].number;
	ports = (uint64_t)(world - 1) * per_pair;
	if (b->p[P_PORTS].known && b->p[P_PORTS].number != ports)
		return fail(b->l, -EINVAL, 0,
			    "%u endpoints with %u links between each two need %llu ports, not %u: set world, links_per_pair or ports",
			    world, per_pair,
			    (unsigned long long)ports, b->p[P_PORTS].number);
	if (set_size(b, world, ports, 0))
		return b->l->code;
	b->p[P_PORTS] = (struct param_value){ .known = ports, .number = ports };
	if (set_rate(b) || need(b, BIT(P_RATE)))
		return b->l->code;
	for (x = 0; x < world; x++)
		for (y = x + 1; y < world; y++)
			for (n = 0; n < per_pair; n++)
				if (join(b, x, mesh_port(x, y, per_pair, n),
					 y, mesh_port(y, x, per_pair, n)))
					return b->l->code;
	return 0;
}

/* The largest torus that fits a domain and this one; of equals the most even. */
static void largest_slice(const uint32_t dim[3], uint32_t slice[3])
{
	uint32_t x, y, z, most = 0, longest = 0, side;

	for (x = 1; x <= dim[0] && x <= TOPO_MAX_WORLD; x++)
		for (y = 1; y <= dim[1] && x * y <= TOPO_MAX_WORLD; y++) {
			z = TOPO_MAX_WORLD / (x * y);
			if (z > dim[2])
				z = dim[2];
			side = x > y ? x : y;
			if (z > side)
				side = z;
			if (x * y * z < most || (x * y * z == most && side >= longest))
				continue;
			most = x * y * z;
			longest = side;
			slice[0] = x;
			slice[1] = y;
			slice[2] = z;
		}
}

static int check_torus(struct build *b, const uint32_t dim[3], uint64_t world)
{
	uint32_t slice[3] = { 0 };

	if (world > TOPO_MAX_WORLD) {
		largest_slice(dim, slice);
		return fail(b->l, -EINVAL, 0,
			    "%ux%ux%u has %llu endpoints and a domain holds %u: the largest slice of it is %ux%ux%u",
			    dim[0], dim[1], dim[2], (unsigned long long)world, TOPO_MAX_WORLD,
			    slice[0], slice[1], slice[2]);
	}
	if (b->p[P_WORLD].known && b->p[P_WORLD].number != world)
		return fail(b->l, -EINVAL, 0,
			    "world is %u, but %ux%ux%u is %llu endpoints: leave world out",
			    b->p[P_WORLD].number, dim[0], dim[1], dim[2],
			    (unsigned long long)world);
	if (b->p[P_PORTS].known && b->p[P_PORTS].number != 6)
		return fail(b->l, -EINVAL, 0, "a torus has 6 ports, one for each direction, not %u",
			    b->p[P_PORTS].number);
	return 0;
}

/*
 * Ports 0 to 5 lead to +x, -x, +y, -y, +z, -z, so that a port says where it
 * leads. In a dimension of two there is one link between the two, from + to -,
 * as both directions lead to the same neighbour; in one of one there is none.
 */
static int gen_torus(struct build *b)
{
	uint32_t dim[3], at[3], stride[3], rank, axis, peer, i;
	uint64_t world = 1;

	if (!b->p[P_X].known)
		return fail(b->l, -ENODATA, 0,
			    "a torus has a size: name it as in torus:8x8x8, or give --set x=N --set y=N --set z=N");
	for (i = 0; i < 3; i++) {
		if (!b->p[P_X + i].known)
			b->p[P_X + i].number = 1;
		dim[i] = b->p[P_X + i].number;
		stride[i] = world;
		world *= dim[i];
	}
	if (check_torus(b, dim, world) || set_size(b, world, 6, 0))
		return b->l->code;
	b->p[P_PORTS] = (struct param_value){ .known = true, .number = 6 };
	b->t->forwarding = true;
	if (set_rate(b) || need(b, BIT(P_RATE)))
		return b->l->code;
	for (rank = 0; rank < world; rank++)
		for (axis = 0; axis < 3; axis++) {
			at[axis] = rank / stride[axis] % dim[axis];
			if (dim[axis] == 1 || (dim[axis] == 2 && at[axis] == 1))
				continue;
			peer = rank - at[axis] * stride[axis] +
				(at[axis] + 1) % dim[axis] * stride[axis];
			if (join(b, rank, 2 * axis, peer, 2 * axis + 1))
				return b->l->code;
		}
	return 0;
}

const struct generator generators[] = {
	{ "crossbar", BIT(P_WORLD) | BIT(P_PORTS) | BIT(P_SWITCHES) | BIT(P_LINKS_PER_SWITCH),
	  gen_crossbar },
	{ "two-tier", BIT(P_WORLD) | BIT(P_PORTS) | BIT(P_PODS) | BIT(P_LEAVES_PER_POD) |
	  BIT(P_SPINES) | BIT(P_PLANES) | BIT(P_TAPER), gen_two_tier },
	{ "fat-tree", BIT(P_WORLD) | BIT(P_PORTS), gen_fat_tree },
	{ "rail", BIT(P_WORLD) | BIT(P_PORTS) | BIT(P_SPINES) | BIT(P_TAPER), gen_rail },
	{ "mesh", BIT(P_WORLD) | BIT(P_PORTS) | BIT(P_LINKS_PER_PAIR), gen_mesh },
	{ "torus", BIT(P_WORLD) | BIT(P_PORTS) | BIT(P_X) | BIT(P_Y) | BIT(P_Z), gen_torus },
	{ NULL, 0, NULL }
};

const struct generator *find_generator(const char *name)
{
	const struct generator *g;

	for (g = generators; g->name; g++)
		if (!strcmp(g->name, name))
			return g;
	return NULL;
}
