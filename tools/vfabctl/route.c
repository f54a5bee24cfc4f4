// SPDX-License-Identifier: GPL-2.0
/* Routes: show and set the switches' tables, trace a pair of ranks. */
#include <stdio.h>
#include "vfabctl.h"

static int show_entry(const struct vfab_nl_msg *msg, void *ctx)
{
	uint64_t mask = has(msg, VFAB_A_EGRESS_MASK) ? get(msg, VFAB_A_EGRESS_MASK) : 1;
	bool ep = has(msg, VFAB_A_RANK);
	uint16_t owner = ep ? VFAB_A_RANK : VFAB_A_SWITCH;
	struct ctx *c = ctx;

	item(c, "dom%u/%s%u", get32(msg, VFAB_A_DOMAIN), ep ? "ep" : "sw", get32(msg, owner));
	out_uint(c, "domain", NULL, get(msg, VFAB_A_DOMAIN));
	out_uint(c, ep ? "rank" : "switch", NULL, get(msg, owner));
	out_uint(c, "dest", "dest", get(msg, VFAB_A_DEST));
	out_open(c, "egress", '[');
	if (has(msg, VFAB_A_EGRESS))
		out_text(c, mask == 1 ? " via port" : " via ports");
	else
		out_text(c, " drop");
	for (; has(msg, VFAB_A_EGRESS) && mask; mask &= mask - 1)
		out_uint(c, "", "", get(msg, VFAB_A_EGRESS) + __builtin_ctzll(mask));
	out_close(c, ']');
	item_end(c);
	return 0;
}

static int show(struct ctx *c, int argc, char **argv)
{
	const char *dest = NULL;
	const struct opt opts[] = {
		{ "dest", &dest, NULL },
		{ NULL, NULL, NULL }
	};
	struct nlmsghdr *req;
	int64_t v_dest = -1;
	const char *pos[1];
	struct addr a;
	bool one;
	int ret;

	args_parse(c, argc, argv, opts, 0, 1, pos);
	a = arg_addr(c, pos[0], ADDR_DOM | ADDR_SW | ADDR_EP);
	if (dest && !a.kind)
		usage(c, "--dest wants a domain");
	if (dest)
		v_dest = arg_rank(c, "destination", dest);
	one = (a.sw >= 0 || a.rank >= 0) && dest;
	ret = one ? DONE : in_range(c, &a, v_dest);
	if (ret)
		return ret;
	req = request(c, VFAB_CMD_ROUTE_GET, &a);
	put_u32(req, VFAB_A_DEST, v_dest);
	return one ? ask(c, show_entry, c) : ask_all(c, show_entry, c);
}

/* "5,6,9": the lowest, and a bit for each of them from there on */
static int64_t arg_egress(struct ctx *c, const char *text, uint64_t *mask)
{
	uint64_t port[64], low = UINT64_MAX;
	unsigned int i, n = 0;
	char one[24];
	size_t len;

	for (;; text += len + 1) {
		len = strcspn(text, ",");
		if (n == 64)
			usage(c, "more than 64 ports");
		snprintf(one, sizeof(one), "%.*s", (int)len, text);
		port[n] = arg_uint(c, "port", one, 0, MAX_SWITCH_PORT);
		if (port[n] < low)
			low = port[n];
		n++;
		if (!text[len])
			break;
	}
	*mask = 0;
	for (i = 0; i < n; i++) {
		if (port[i] - low >= 64)
			usage(c, "an entry's ports lie within 64 numbers: %llu and %llu do not",
			      (unsigned long long)low, (unsigned long long)port[i]);
		*mask |= 1ULL << (port[i] - low);
	}
	return low;
}

static int set(struct ctx *c, int argc, char **argv)
{
	static const char *const actions[] = { "via", "drop", NULL };
	int64_t dest, egress = -1;
	struct nlmsghdr *req;
	uint64_t mask = 1;
	const char *pos[4];
	struct addr a;
	bool drop;

	args_parse(c, argc, argv, NULL, 3, 4, pos);
	a = arg_addr(c, pos[0], ADDR_DOM | ADDR_SW | ADDR_EP);
	dest = arg_rank(c, "destination", pos[1]);
	drop = arg_word(c, "what to do,", pos[2], actions);
	if (drop && pos[3])
		usage(c, "argument \"%s\" is one too many", escaped(pos[3]));
	if (!drop && !pos[3])
		usage(c, "via wants a port");
	if (!drop)
		egress = arg_egress(c, pos[3], &mask);
	req = request(c, VFAB_CMD_ROUTE_SET, &a);
	put_u32(req, VFAB_A_DEST, dest);
	put_u32(req, VFAB_A_EGRESS, egress);
	if (mask != 1)
		mnl_attr_put_u64(req, VFAB_A_EGRESS_MASK, mask);
	if (drop)
		mnl_attr_put(req, VFAB_A_DROP, 0, NULL);
	return ask_change(c);
}

struct trace {
	struct ctx *c;
	bool reachable;
	int64_t path;			/* being shown */
	unsigned int paths, live;
};

static int parse_hop(const struct nlattr *attr, void *data)
{
	const struct nlattr **tb = data;

	if (mnl_attr_get_type(attr) <= VFAB_HOP_A_MAX)
		tb[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

/* One line for each path: its hops, and at the last of them what becomes of it. */
static void show_hop(struct trace *t, const struct nlattr *hop)
{
	static const char *const verdicts[] = {
		"live", "src-down", "switch-down", "no-entry", "misrouted",
		"dst-down", "no-return", "link-down", "loop",
	};
	const struct nlattr *tb[VFAB_HOP_A_MAX + 1] = { 0 };
	struct ctx *c = t->c;
	uint64_t path, owner;
	bool ep;

	mnl_attr_parse_nested(hop, parse_hop, tb);
	path = vfab_nl_uint(tb[VFAB_HOP_A_PATH]);
	ep = tb[VFAB_HOP_A_RANK];
	owner = vfab_nl_uint(tb[ep ? VFAB_HOP_A_RANK : VFAB_HOP_A_SWITCH]);
	if (t->path != (int64_t)path) {
		t->path = path;
		t->paths++;
		out_text(c, "\n  p%llu:", (unsigned long long)path);
	} else {
		out_text(c, ",");
	}
	out_open(c, NULL, '{');
	out_uint(c, "path", NULL, path);
	out_text(c, " %s%llu", ep ? "ep" : "sw", (unsigned long long)owner);
	out_uint(c, ep ? "rank" : "switch", NULL, owner);
	out_uint(c, "in_port", "in", vfab_nl_uint(tb[VFAB_HOP_A_IN_PORT]));
	if (tb[VFAB_HOP_A_OUT_PORT])
		out_uint(c, "out_port", "out", vfab_nl_uint(tb[VFAB_HOP_A_OUT_PORT]));
	else
		out_null(c, "out_port", "out", "none");
	out_uint(c, "ways", NULL, vfab_nl_uint(tb[VFAB_HOP_A_WAYS]));
	if (vfab_nl_uint(tb[VFAB_HOP_A_WAYS]) > 1)
		out_text(c, " (1 of %llu)",
			 (unsigned long long)vfab_nl_uint(tb[VFAB_HOP_A_WAYS]));
	if (tb[VFAB_HOP_A_VERDICT]) {
		uint32_t verdict = vfab_nl_uint(tb[VFAB_HOP_A_VERDICT]);

		out_str(c, "verdict", "", WORD(verdicts, verdict));
		t->live += verdict == VFAB_HOP_LIVE;
	}
	out_close(c, '}');
}

static int show_trace(const struct vfab_nl_msg *msg, void *data)
{
	const struct nlattr *attr;
	struct trace *t = data;
	struct ctx *c = t->c;

	t->reachable = get(msg, VFAB_A_REACHABLE);
	t->path = -1;
	item(c, "dom%u", get32(msg, VFAB_A_DOMAIN));
	out_text(c, " ep%u -> ep%u", get32(msg, VFAB_A_SRC), get32(msg, VFAB_A_DST));
	out_uint(c, "domain", NULL, get(msg, VFAB_A_DOMAIN));
	out_uint(c, "src", NULL, get(msg, VFAB_A_SRC));
	out_uint(c, "dst", NULL, get(msg, VFAB_A_DST));
	out_open(c, "hops", '[');
	mnl_attr_for_each(attr, vfab_nl_header(msg), sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) == VFAB_A_HOP)
			show_hop(t, attr);
	out_close(c, ']');
	out_text(c, "\n%s: %u of %u paths", t->reachable ? "reachable" : "unreachable",
		 get32(msg, VFAB_A_PATHS), t->paths);
	out_bool(c, "reachable", t->reachable);
	out_uint(c, "paths", NULL, get(msg, VFAB_A_PATHS));
	out_uint(c, "planes", NULL, t->paths);
	if (t->reachable) {
		out_text(c, ",");
		out_rate(c, "rate", "", get(msg, VFAB_A_RATE));
		out_text(c, " per direction,");
		out_latency(c, "latency", get(msg, VFAB_A_LATENCY) ? "" : "latency",
			    get(msg, VFAB_A_LATENCY));
	} else if (t->live) {
		out_text(c, ", %u would carry it: see 'vfabctl partition show dom%u'",
			 t->live, get32(msg, VFAB_A_DOMAIN));
	}
	item_end(c);
	return 0;
}

static int trace(struct ctx *c, int argc, char **argv)
{
	struct trace t = { .c = c };
	int64_t src, dst;
	struct nlmsghdr *req;
	const char *pos[3];
	struct addr a;
	int ret;

	args_parse(c, argc, argv, NULL, 3, 3, pos);
	a = arg_addr(c, pos[0], ADDR_DOM);
	src = arg_rank(c, "source", pos[1]);
	dst = arg_rank(c, "destination", pos[2]);
	req = request(c, VFAB_CMD_ROUTE_TRACE, &a);
	put_u32(req, VFAB_A_SRC, src);
	put_u32(req, VFAB_A_DST, dst);
	ret = ask(c, show_trace, &t);
	return ret ? ret : t.reachable ? DONE : REFUSED;
}

const struct verb route_verbs[] = {
	{ "show list ls", show, "[D | D/swK | D/epR] [--dest R]",
	  "Show the routing-table entries of a domain, of one switch or, where endpoints\n"
	  "pass on what is for others, of one endpoint: by which ports a request for a\n"
	  "destination rank may leave it." },
	{ "set", set, "{D | D/swK | D/epR} DEST {via PORT[,PORT]... | drop}",
	  "Change, or remove (drop), the entry for a destination rank in one table, or in\n"
	  "those of all switches. A request takes any of the ports that leads on. Prints\n"
	  "how many routes (ordered pairs of endpoints) changed, and how many were lost." },
	{ "trace", trace, "D SRC DST",
	  "Show how one rank reaches another by each of its ports: the switches on the way,\n"
	  "the port by which a request enters each, the port by which its table sends it\n"
	  "on, and what becomes of it:\n"
	  "\n"
	  "  live         it arrives, and its answer returns\n"
	  "  src-down     the link of the source is down\n"
	  "  switch-down  the switch is down\n"
	  "  no-entry     the table has no entry for the destination\n"
	  "  misrouted    the entry leads elsewhere\n"
	  "  dst-down     the link of the destination is down\n"
	  "  no-return    no answer would find back\n"
	  "  link-down    a link between two switches is down\n"
	  "  loop         more than 64 hops\n"
	  "\n"
	  "Exit status 1 if the destination cannot be reached." },
	{ NULL, NULL, NULL, NULL }
};
