// SPDX-License-Identifier: GPL-2.0
/* Who reaches whom, as a matrix or as a graph. */
#include <stdio.h>
#include <stdlib.h>
#include "vfabctl.h"

#define NO_PARTITION	-1
#define WIDE		16	/* ranks; larger domains are shown by groups */
#define TRIES		5

struct topo {
	struct ctx *c;
	uint32_t domain, world, planes, switches;
	uint64_t generation;
	char name[VFAB_NAME_LEN + 1];
	struct rank {
		int partition;
		uint8_t paths[VFAB_MAX_WORLD];
	} rank[VFAB_MAX_WORLD];
};

static int read_domain(const struct vfab_nl_msg *msg, void *data)
{
	struct topo *t = data;

	t->domain = get32(msg, VFAB_A_DOMAIN);
	t->world = get32(msg, VFAB_A_WORLD);
	t->planes = get32(msg, VFAB_A_PLANES);
	t->switches = get32(msg, VFAB_A_SWITCHES);
	t->generation = get(msg, VFAB_A_GENERATION);
	snprintf(t->name, sizeof(t->name), "%s", get_str(msg, VFAB_A_DOMAIN_NAME));
	if (t->world > VFAB_MAX_WORLD || t->planes > VFAB_MAX_PLANES) {
		error(t->c, "the module has larger domains than this tool knows");
		return REFUSED;
	}
	return 0;
}

static int read_endpoint(const struct vfab_nl_msg *msg, void *data)
{
	uint32_t rank = get32(msg, VFAB_A_RANK);
	struct topo *t = data;

	if (rank < t->world)
		t->rank[rank].partition = has(msg, VFAB_A_PARTITION) ?
			(int)get32(msg, VFAB_A_PARTITION) : NO_PARTITION;
	return 0;
}

static int read_paths(const struct vfab_nl_msg *msg, void *data)
{
	const struct nlattr *counts = vfab_nl_attr(msg, VFAB_A_PATH_COUNTS);
	uint32_t rank = get32(msg, VFAB_A_RANK);
	struct topo *t = data;

	if (rank < t->world && counts && mnl_attr_get_payload_len(counts) == t->world)
		memcpy(t->rank[rank].paths, mnl_attr_get_payload(counts), t->world);
	return 0;
}

/* All of it, as it was at one moment. */
static int read_topo(struct topo *t, struct addr a)
{
	struct ctx *c = t->c;
	uint64_t before;
	int ret, tries;

	for (tries = 0; tries < TRIES; tries++) {
		memset(t->rank, 0, sizeof(t->rank));
		request(c, VFAB_CMD_DOMAIN_GET, &a);
		ret = ask(c, read_domain, t);
		if (ret)
			return ret;
		before = t->generation;
		/* The name may be another domain's by the next request */
		a.id = t->domain;
		*a.name = 0;
		request(c, VFAB_CMD_ENDPOINT_GET, &a);
		ret = ask_all(c, read_endpoint, t);
		if (!ret) {
			request(c, VFAB_CMD_PATH_GET, &a);
			ret = ask_all(c, read_paths, t);
		}
		if (!ret) {
			request(c, VFAB_CMD_DOMAIN_GET, &a);
			ret = ask(c, read_domain, t);
		}
		if (ret || t->generation == before)
			return ret;
	}
	error(c, "interrupted: it changes all the time, try again");
	return REFUSED;
}

/* The fewest and the most paths of any pair of two groups; -1: no pair. */
static void group_paths(const struct topo *t, uint32_t a, uint32_t b, uint32_t group,
			int *least, int *most)
{
	uint32_t i, j;
	int n;

	*least = *most = -1;
	for (i = a; i < a + group && i < t->world; i++)
		for (j = b; j < b + group && j < t->world; j++) {
			if (i == j)
				continue;
			n = t->rank[i].paths[j];
			if (n < *least || *least < 0)
				*least = n;
			if (n > *most)
				*most = n;
		}
}

static void show_cell(struct topo *t, int width, int least, int most)
{
	struct ctx *c = t->c;
	char text[16] = "X";

	if (least < 0) {
		out_null(c, "", NULL, NULL);
	} else {
		out_uint(c, "", NULL, least);
		snprintf(text, sizeof(text), most ? "VF%d%s" : "--", least,
			 t->switches && least < (int)t->planes ? "*" : "");
	}
	out_text(c, " %*s", width, text);
}

static int range(char text[24], uint32_t first, uint32_t last)
{
	return snprintf(text, 24, first == last ? "%u" : "%u-%u", first, last);
}

static uint32_t group_end(const struct topo *t, uint32_t first, uint32_t group)
{
	return first + group < t->world ? first + group - 1 : t->world - 1;
}

/* Partition of all ranks of a group, if it is the same one. */
static void show_partition(struct topo *t, uint32_t first, uint32_t last)
{
	int partition = t->rank[first].partition;
	struct ctx *c = t->c;
	uint32_t i;

	for (i = first; i <= last; i++)
		if (t->rank[i].partition != partition) {
			out_null(c, "partition", "", "mixed");
			return;
		}
	if (partition == NO_PARTITION)
		out_null(c, "partition", "", "none");
	else
		out_uint(c, "partition", "", partition);
}

static void show_matrix(struct topo *t, uint32_t group)
{
	struct ctx *c = t->c;
	int width, least, most;
	uint32_t a, b, last;
	char text[24];

	/* The last group has the longest name, and VF18* is a cell */
	width = range(text, (t->world - 1) / group * group, t->world - 1);
	if (width < 5)
		width = 5;
	item(c, "dom%u", t->domain);
	out_uint(c, "domain", NULL, t->domain);
	out_str(c, "name", "name", t->name);
	out_uint(c, "size", "size", t->world);
	out_uint(c, "planes", "planes", t->planes);
	out_uint(c, "group", NULL, group);
	if (group > 1)
		out_text(c, "\ngroups of %u ranks; a cell is the worst pair (see --ranks)", group);
	out_text(c, "\n\n%*s", width, "");
	for (a = 0; a < t->world; a += group) {
		range(text, a, group_end(t, a, group));
		out_text(c, " %*s", width, text);
	}
	out_text(c, " partition");
	out_open(c, "rows", '[');
	for (a = 0; a < t->world; a += group) {
		last = group_end(t, a, group);
		range(text, a, last);
		out_text(c, "\n%*s", width, text);
		out_open(c, NULL, '{');
		out_uint(c, "first", NULL, a);
		out_uint(c, "last", NULL, last);
		out_open(c, "paths", '[');
		for (b = 0; b < t->world; b += group) {
			group_paths(t, a, b, group, &least, &most);
			show_cell(t, width, least, most);
		}
		out_close(c, ']');
		show_partition(t, a, last);
		out_close(c, '}');
	}
	out_close(c, ']');
	out_text(c, "\n\nX self, VFn n paths, * fewer than all ports, -- unreachable");
	item_end(c);
}

static int dot_link(const struct vfab_nl_msg *msg, void *data)
{
	static const char *const styles[] = {
		[VFAB_LINK_OFF] = " [color=red, style=dashed, label=\"down\"]",
		[VFAB_LINK_DEGRADED] = " [color=orange, label=\"degraded\"]",
		[VFAB_LINK_RECOVERY] = " [color=red, style=dotted, label=\"flaps\"]",
	};
	uint32_t state = get32(msg, VFAB_A_LINK_STATE);
	bool a = has(msg, VFAB_A_RANK), b = has(msg, VFAB_A_PEER_RANK);
	const char *style = NULL;

	(void)data;
	if (state < sizeof(styles) / sizeof(styles[0]))
		style = styles[state];
	if (get32(msg, VFAB_A_LINK_REASON) == VFAB_LINK_REASON_DRAIN)
		style = " [color=blue, style=dashed, label=\"drained\"]";
	printf("\t%s%u -- %s%u%s;\n", a ? "ep" : "sw",
	       get32(msg, a ? VFAB_A_RANK : VFAB_A_SWITCH), b ? "ep" : "sw",
	       get32(msg, b ? VFAB_A_PEER_RANK : VFAB_A_PEER_SWITCH), style ? style : "");
	return 0;
}

static int show_dot(const struct topo *t, struct addr a)
{
	uint32_t rank, sw;
	int ret;

	printf("graph \"dom%u\" {\n\tlabel=\"dom%u (%s)\";\n\trankdir=LR;\n"
	       "\tnode [shape=box];\n", t->domain, t->domain, t->name);
	for (rank = 0; rank < t->world; rank++) {
		printf("\tep%u [label=\"ep%u", rank, rank);
		if (t->rank[rank].partition == NO_PARTITION)
			printf("\\nno partition");
		else if (t->rank[rank].partition)
			printf("\\npart%d", t->rank[rank].partition);
		puts("\"];");
	}
	for (sw = 0; sw < t->switches; sw++)
		printf("\tsw%u [shape=ellipse];\n", sw);
	request(t->c, VFAB_CMD_LINK_GET, &a);
	ret = ask_all(t->c, dot_link, NULL);
	puts("}");
	return ret;
}

static int topo(struct ctx *c, int argc, char **argv)
{
	static struct topo t;
	bool ranks = false, dot = false;
	const struct opt opts[] = {
		{ "ranks", NULL, &ranks },
		{ "dot", NULL, &dot },
		{ NULL, NULL, NULL }
	};
	uint32_t group = 1;
	const char *pos[1];
	struct addr a;
	int ret;

	args_parse(c, argc, argv, opts, 1, 1, pos);
	a = arg_addr(c, pos[0], ADDR_DOM);
	if (dot && (c->json || ranks))
		usage(c, "--dot goes without --ranks and JSON");
	t.c = c;
	ret = read_topo(&t, a);
	if (ret)
		return ret;
	if (dot)
		return show_dot(&t, a);
	if (!ranks && t.world > WIDE)
		for (group = 4; (t.world + group - 1) / group > WIDE + 2;)
			group *= 2;
	show_matrix(&t, group);
	return DONE;
}

const struct verb topo_verbs[] = {
	{ "", topo, "D [--ranks] [--dot]",
	  "Show who reaches whom in a domain, and by how many paths, as a matrix:\n"
	  "X itself, VF18 by 18 paths, VF9* by fewer than there are ports, -- not at all.\n"
	  "Domains of more than 16 endpoints are shown by groups of ranks, each cell being\n"
	  "the worst pair of its two groups (VF0*: some pairs are unreachable).\n"
	  "\n"
	  "  --ranks  each rank, however many there are\n"
	  "  --dot    a graph of endpoints, switches and links for Graphviz" },
	{ NULL, NULL, NULL, NULL }
};
