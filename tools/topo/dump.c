// SPDX-License-Identifier: LGPL-2.1
/* A topology as a file of explicit links. */
#include "topo_int.h"

static const char *const partition_words[] = { "one", "per-node", "none", "hgx15" };

static void dump_end(FILE *to, const char *before, uint16_t node, uint16_t port)
{
	fprintf(to, "%s%s%u/p%u", before, TOPO_IS_SWITCH(node) ? "sw" : "ep", TOPO_INDEX(node),
		port);
}

/* The first link's numbers are everyone's, but of those that say otherwise. */
static void dump_link(FILE *to, const struct topo_link *link, const struct topo_link *usual)
{
	bool same = link->rate == usual->rate && link->latency == usual->latency &&
		link->width == usual->width;

	dump_end(to, same ? "- [" : "- {a: ", link->a, link->a_port);
	dump_end(to, same ? ", " : ", b: ", link->b, link->b_port);
	if (same) {
		fputs("]\n", to);
		return;
	}
	if (link->rate != usual->rate)
		fprintf(to, ", %s: %u", param_defs[P_RATE].key, link->rate);
	if (link->latency != usual->latency)
		fprintf(to, ", %s: %u", param_defs[P_LATENCY].key, link->latency);
	if (link->width != usual->width)
		fprintf(to, ", %s: %u", param_defs[P_WIDTH].key, link->width);
	fputs("}\n", to);
}

static void dump_param(FILE *to, enum param id, uint32_t v)
{
	if (v || id == P_SWITCHES)
		fprintf(to, "  %s: %u\n", param_defs[id].key, v);
}

int topo_dump(const struct topo *t, FILE *to)
{
	static const struct topo_link none;
	const struct topo_link *usual = t->nlinks ? t->links : &none;
	uint32_t i;

	fprintf(to, "# %u endpoints, %u switches, %u links\n", t->world, t->switches, t->nlinks);
	if (*t->name)
		fprintf(to, "name: \"%s\"\n", t->name);
	if (t->forwarding)
		fputs("forwarding: yes\n", to);
	fprintf(to, "partitions: %s\nparameters:\n", partition_words[t->partitions]);
	dump_param(to, P_WORLD, t->world);
	dump_param(to, P_NODES, t->nodes);
	dump_param(to, P_PORTS, t->ports);
	dump_param(to, P_SWITCHES, t->switches);
	dump_param(to, P_RATE, usual->rate);
	dump_param(to, P_LATENCY, usual->latency);
	dump_param(to, P_WIDTH, usual->width);
	fputs(t->nlinks ? "links:\n" : "links: []\n", to);
	for (i = 0; i < t->nlinks; i++)
		dump_link(to, &t->links[i], usual);
	return fflush(to) || ferror(to) ? -EIO : 0;
}

static bool link_equal(const struct topo_link *x, const struct topo_link *y)
{
	return x->a == y->a && x->a_port == y->a_port && x->b == y->b && x->b_port == y->b_port &&
	       x->width == y->width && x->rate == y->rate && x->latency == y->latency;
}

bool topo_equal(const struct topo *x, const struct topo *y)
{
	uint32_t i;

	if (strcmp(x->name, y->name) || x->world != y->world || x->nodes != y->nodes ||
	    x->ports != y->ports || x->switches != y->switches || x->nlinks != y->nlinks ||
	    x->partitions != y->partitions || x->forwarding != y->forwarding)
		return false;
	for (i = 0; i < x->nlinks; i++)
		if (!link_equal(&x->links[i], &y->links[i]))
			return false;
	return true;
}
