// SPDX-License-Identifier: LGPL-2.1
/* How generators and lists make links, and what must hold of all of them. */
#include "topo_int.h"

/* Bit of the rate, if it is not known and will not follow from another. */
uint32_t need_rate(const struct build *b)
{
	return b->p[P_ENDPOINT_RATE].known ? 0 : BIT(P_RATE);
}

/* The rate of a link; or what an endpoint has, by its ports. */
int set_rate(struct build *b)
{
	struct param_value *rate = &b->p[P_RATE];
	const struct param_value *all = &b->p[P_ENDPOINT_RATE], *ports = &b->p[P_PORTS];

	if (rate->known || !all->known)
		return 0;
	if (!ports->known)
		return 0;
	if (all->number % ports->number)
		return fail(b->l, -EINVAL, 0, "%s %u is no multiple of %u ports: give --set %s=N",
			    param_defs[P_ENDPOINT_RATE].key, all->number, ports->number,
			    param_defs[P_RATE].key);
	rate->known = true;
	rate->number = all->number / ports->number;
	return 0;
}

/* Before the first link is made. */
int set_size(struct build *b, uint64_t world, uint64_t ports, uint64_t switches)
{
	if (world > TOPO_MAX_WORLD)
		return fail(b->l, -EINVAL, 0, "it has %llu endpoints: a domain holds %u",
			    (unsigned long long)world, TOPO_MAX_WORLD);
	if (ports > TOPO_MAX_PORTS)
		return fail(b->l, -EINVAL, 0, "each endpoint has %llu ports: the limit is %u",
			    (unsigned long long)ports, TOPO_MAX_PORTS);
	if (switches > TOPO_MAX_SWITCHES)
		return fail(b->l, -EINVAL, 0, "it has %llu switches: the limit is %u",
			    (unsigned long long)switches, TOPO_MAX_SWITCHES);
	b->t->world = world;
	b->t->ports = ports;
	b->t->switches = switches;
	return 0;
}

static int room_for_one(struct build *b)
{
	struct topo *t = b->t;
	struct topo_link *links;
	uint32_t cap;

	if (t->nlinks < b->cap)
		return 0;
	if (t->nlinks == TOPO_MAX_LINKS)
		return fail(b->l, -E2BIG, 0, "it has more than %u links", TOPO_MAX_LINKS);
	cap = b->cap ? 2 * b->cap : 256;
	links = realloc(t->links, cap * sizeof(*links));
	if (!links)
		return fail(b->l, -ENOMEM, 0, "out of memory");
	t->links = links;
	b->cap = cap;
	return 0;
}

int join(struct build *b, uint16_t x, uint16_t x_port, uint16_t y, uint16_t y_port)
{
	if (room_for_one(b))
		return b->l->code;
	b->t->links[b->t->nlinks++] = (struct topo_link){
		.a = x, .a_port = x_port, .b = y, .b_port = y_port,
		.width = b->p[P_WIDTH].number, .rate = b->p[P_RATE].number,
		.latency = b->p[P_LATENCY].number,
	};
	return 0;
}

static int take_port(struct build *b, uint32_t sw)
{
	uint32_t limit = b->p[P_SWITCH_PORTS].known ? b->p[P_SWITCH_PORTS].number :
		TOPO_MAX_SWITCH_PORTS;

	if (b->next[sw] < limit)
		return b->next[sw]++;
	return fail(b->l, -EINVAL, 0,
		    "switch %u would need more than its %u ports: give it fewer links, or more switches, or --set switch_ports=N",
		    sw, limit);
}

/* A port to the switch's first free one. */
int join_switch(struct build *b, uint16_t x, uint16_t x_port, uint32_t sw)
{
	int port = take_port(b, sw);

	return port < 0 ? port : join(b, x, x_port, TOPO_SWITCH(sw), port);
}

int join_switches(struct build *b, uint32_t x, uint32_t y)
{
	int port = take_port(b, x);

	return port < 0 ? port : join_switch(b, TOPO_SWITCH(x), port, y);
}

static const char *end_name(char name[32], uint16_t node, uint16_t port)
{
	snprintf(name, 32, "%s%u/p%u", TOPO_IS_SWITCH(node) ? "sw" : "ep", TOPO_INDEX(node), port);
	return name;
}

/* Bits of the ports that have a link. */
struct used {
	uint64_t ep[TOPO_MAX_WORLD];
	uint64_t sw[TOPO_MAX_SWITCHES][TOPO_MAX_SWITCH_PORTS / 64];
};

static int check_end(struct build *b, struct used *used, uint16_t node, uint16_t port,
		     uint32_t line)
{
	const struct topo *t = b->t;
	uint32_t index = TOPO_INDEX(node);
	uint32_t nodes = TOPO_IS_SWITCH(node) ? t->switches : t->world;
	uint32_t ports = !TOPO_IS_SWITCH(node) ? t->ports : b->p[P_SWITCH_PORTS].known ?
		b->p[P_SWITCH_PORTS].number : TOPO_MAX_SWITCH_PORTS;
	char name[32];
	uint64_t *bits;

	end_name(name, node, port);
	if (index >= nodes)
		return fail(b->l, -EINVAL, line, "there is no %s: %s is %u", name,
			    TOPO_IS_SWITCH(node) ? "switches" : "world", nodes);
	if (port >= ports)
		return fail(b->l, -EINVAL, line, "there is no %s: %s is %u", name,
			    TOPO_IS_SWITCH(node) ? "switch_ports" : "ports", ports);
	bits = TOPO_IS_SWITCH(node) ? used->sw[index] : &used->ep[index];
	if (bits[port / 64] >> port % 64 & 1)
		return fail(b->l, -EINVAL, line,
			    "%s has a link already: a port is the end of one",
			    name);
	bits[port / 64] |= 1ULL << port % 64;
	return 0;
}

/* All ends are there, and each has one link. */
int build_check(struct build *b)
{
	struct used *used = calloc(1, sizeof(*used));
	const struct topo_link *link;
	uint32_t i, line;

	if (!used)
		return fail(b->l, -ENOMEM, 0, "out of memory");
	for (i = 0; i < b->t->nlinks && !b->l->code; i++) {
		link = &b->t->links[i];
		line = b->lines ? b->lines[i] : 0;
		if (link->a == link->b)
			fail(b->l, -EINVAL, line, "both ends are at %s%u: a link joins two",
			     TOPO_IS_SWITCH(link->a) ? "sw" : "ep", TOPO_INDEX(link->a));
		else if (!check_end(b, used, link->a, link->a_port, line))
			check_end(b, used, link->b, link->b_port, line);
	}
	free(used);
	return b->l->code;
}
