// SPDX-License-Identifier: GPL-2.0
/* Nodes: show what their endpoints are, put together from those. */
#include <stdio.h>
#include <linux/vfabric_backplane.h>
#include "vfabctl.h"

struct nodes {
	struct ctx *c;
	uint32_t domain, world, planes, count;
	char backplane[VFAB_NAME_LEN + 1];	/* "": all of it is here */
	struct {
		uint32_t ranks, attached, links_up;
		uint8_t rank[RANK_BYTES];
		bool seen;		/* on the backplane */
		uint32_t view, why, age;
		uint64_t incarnation;
	} node[VFAB_MAX_WORLD];
};

/* Ranks are divided evenly, in order, or as the domain was placed */
static uint32_t node_of(struct nodes *n, const struct nlattr *place, uint32_t rank)
{
	const uint8_t *node = place ? mnl_attr_get_payload(place) : NULL;

	if (!place)
		return rank / (n->world / n->count);
	return rank < mnl_attr_get_payload_len(place) ? node[rank] : VFAB_BP_NO_NODE;
}

static int read_domain(const struct vfab_nl_msg *msg, void *data)
{
	const struct nlattr *place = vfab_nl_attr(msg, VFAB_A_PLACE);
	struct nodes *n = data;
	uint32_t rank, k;

	n->domain = get32(msg, VFAB_A_DOMAIN);
	n->world = get32(msg, VFAB_A_WORLD);
	n->planes = get32(msg, VFAB_A_PLANES);
	n->count = get32(msg, VFAB_A_NODES);
	if (!n->count || n->count > VFAB_MAX_WORLD || n->world > VFAB_MAX_WORLD) {
		error(n->c,
		      "the module is older or newer than this tool: it tells no number of nodes");
		return REFUSED;
	}
	snprintf(n->backplane, sizeof(n->backplane), "%s", get_str(msg, VFAB_A_BACKPLANE));
	for (rank = 0; rank < n->world; rank++) {
		k = node_of(n, place, rank);
		if (k >= n->count)
			continue;
		n->node[k].ranks++;
		n->node[k].rank[rank / 8] |= 1 << rank % 8;
	}
	return DONE;
}

static int read_backplane(const struct vfab_nl_msg *msg, void *data)
{
	uint32_t node = get32(msg, VFAB_A_NODE);
	struct nodes *n = data;

	if (node < n->count) {
		n->node[node].seen = true;
		n->node[node].view = get32(msg, VFAB_A_BACKPLANE_VIEW);
		n->node[node].why = get32(msg, VFAB_A_BACKPLANE_WHY);
		n->node[node].age = get32(msg, VFAB_A_BEAT_AGE);
		n->node[node].incarnation = get(msg, VFAB_A_INCARNATION);
	}
	return 0;
}

static int read_endpoint(const struct vfab_nl_msg *msg, void *data)
{
	uint32_t node = get32(msg, VFAB_A_NODE);
	struct nodes *n = data;

	if (node < n->count) {
		n->node[node].attached += get32(msg, VFAB_A_HELD);
		n->node[node].links_up += get32(msg, VFAB_A_PORTS_UP);
	}
	return 0;
}

static bool has_rank(const struct nodes *n, uint32_t k, uint32_t rank)
{
	return rank < n->world && n->node[k].rank[rank / 8] >> rank % 8 & 1;
}

/* Those of a node that has them in one piece are told by the first and the last */
static void out_node_ranks(struct nodes *n, uint32_t k)
{
	uint32_t share = n->node[k].ranks, first = 0, last = n->world;
	struct ctx *c = n->c;
	bool any = false;

	while (first < n->world && !has_rank(n, k, first))
		first++;
	while (share && !has_rank(n, k, last))
		last--;
	if (share) {
		out_uint(c, "first", NULL, first);
		out_uint(c, "last", NULL, last);
	}
	out_text(c, share ? " ranks " : " no ranks");
	out_open(c, "ranks", '[');
	for (; first < n->world; first = last + 1) {
		last = first;
		if (!has_rank(n, k, first))
			continue;
		out_uint(c, "", NULL, first);
		while (!c->json && has_rank(n, k, last + 1))
			last++;
		out_text(c, last > first ? "%s%u-%u" : "%s%u", any ? "," : "", first, last);
		any = true;
	}
	out_close(c, ']');
}

static void show_one(struct nodes *n, uint32_t k)
{
	uint32_t share = n->node[k].ranks;
	struct ctx *c = n->c;

	item(c, "dom%u/node%u", n->domain, k);
	out_uint(c, "domain", NULL, n->domain);
	out_uint(c, "node", NULL, k);
	out_node_ranks(n, k);
	out_uint(c, "attached", "attached", n->node[k].attached);
	out_text(c, "/%u", share);
	out_uint(c, "links_up", "links-up", n->node[k].links_up);
	out_text(c, "/%u", share * n->planes);
	out_uint(c, "links", NULL, share * n->planes);
	if (n->node[k].seen) {
		out_str(c, "view", "", WORD(backplane_views, n->node[k].view));
		if (n->node[k].why)
			out_str(c, "why", "why", WORD(backplane_whys, n->node[k].why));
		out_incarnation(c, n->node[k].incarnation);
		out_uint(c, "age_ms", "age", n->node[k].age);
		out_text(c, " ms");
	}
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
	if (*n.backplane) {
		mnl_attr_put_strz(request(c, VFAB_CMD_BACKPLANE_NODE_GET, NULL), VFAB_A_BACKPLANE,
				  n.backplane);
		ret = ask_all(c, read_backplane, &n);
	}
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
	  "how many of their links are up; on a backplane, how each is seen from here." },
	{ NULL, NULL, NULL, NULL }
};
