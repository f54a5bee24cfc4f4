// SPDX-License-Identifier: GPL-2.0
/* Nodes: show what their endpoints are, put together from those. */
#include <string.h>
#include "vfabctl.h"

struct nodes {
	struct ctx *c;
	uint32_t domain, world, planes, count;
	struct {
		uint32_t ranks, first, last, attached, links_up;
	} node[VFAB_MAX_WORLD];
};

static int read_domain(const struct vfab_nl_msg *msg, void *data)
{
	struct nodes *n = data;

	n->domain = get32(msg, VFAB_A_DOMAIN);
	n->world = get32(msg, VFAB_A_WORLD);
	n->planes = get32(msg, VFAB_A_PLANES);
	n->count = get32(msg, VFAB_A_NODES);
	if (n->count && n->count <= VFAB_MAX_WORLD)
		return DONE;
	error(n->c, "the module is older or newer than this tool: it tells no number of nodes");
	return REFUSED;
}

static int read_endpoint(const struct vfab_nl_msg *msg, void *data)
{
	uint32_t node = get32(msg, VFAB_A_NODE), rank = get32(msg, VFAB_A_RANK);
	struct nodes *n = data;

	if (node < n->count) {
		if (!n->node[node].ranks++)
			n->node[node].first = rank;
		n->node[node].last = rank;
		n->node[node].attached += get32(msg, VFAB_A_HELD);
		n->node[node].links_up += get32(msg, VFAB_A_PORTS_UP);
	}
	return 0;
}

static void show_one(struct nodes *n, uint32_t k)
{
	uint32_t share = n->node[k].ranks, first = n->node[k].first, last = n->node[k].last;
	struct ctx *c = n->c;

	item(c, "dom%u/node%u", n->domain, k);
	out_uint(c, "domain", NULL, n->domain);
	out_uint(c, "node", NULL, k);
	if (share) {
		out_uint(c, "first", NULL, first);
		out_uint(c, "last", NULL, last);
		out_text(c, share > 1 ? " ranks %u-%u" : " ranks %u", first, last);
	}
	/* Where they are placed on a backplane */
	if (share && share != last - first + 1)
		out_text(c, " (%u of them)", share);
	out_uint(c, "attached", "attached", n->node[k].attached);
	out_text(c, "/%u", share);
	out_uint(c, "links_up", "links-up", n->node[k].links_up);
	out_text(c, "/%u", share * n->planes);
	out_uint(c, "links", NULL, share * n->planes);
	item_end(c);
}

static int show(struct ctx *c, int argc, char **argv)
{
	static struct nodes n;
	const char *pos[1];
	struct addr a, dom;
	uint32_t k;
	int ret;

	memset(&n, 0, sizeof(n));
	n.c = c;
	args_parse(c, argc, argv, NULL, 1, 1, pos);
	a = arg_addr(c, pos[0], ADDR_DOM | ADDR_NODE);
	dom = a;
	dom.node = -1;
	request(c, VFAB_CMD_DOMAIN_GET, &dom);
	ret = ask(c, read_domain, &n);
	if (ret)
		return ret;
	if (a.node >= (int)n.count) {
		error(c, "node %d is not below the number of nodes %u", a.node, n.count);
		return REFUSED;
	}
	/* The name may be another domain's by the next request */
	dom.id = n.domain;
	*dom.name = 0;
	request(c, VFAB_CMD_ENDPOINT_GET, &dom);
	ret = ask_all(c, read_endpoint, &n);
	if (ret)
		return ret;
	for (k = 0; k < n.count; k++)
		if (a.node < 0 || a.node == (int)k)
			show_one(&n, k);
	return DONE;
}

const struct verb node_verbs[] = {
	{ "show list ls", show, "D | D/nodeK",
	  "Show the nodes of a domain, or one: their ranks, how many of them are held, and\n"
	  "how many of their links are up." },
	{ NULL, NULL, NULL, NULL }
};
