// SPDX-License-Identifier: GPL-2.0
/* Routes: show and set the switches' tables, trace a pair of ranks. */
#include "vfabctl.h"

static int show_entry(const struct vfab_nl_msg *msg, void *ctx)
{
	struct ctx *c = ctx;

	item(c, "dom%u/sw%u", get32(msg, VFAB_A_DOMAIN), get32(msg, VFAB_A_SWITCH));
	out_uint(c, "domain", NULL, get(msg, VFAB_A_DOMAIN));
	out_uint(c, "switch", NULL, get(msg, VFAB_A_SWITCH));
	out_uint(c, "dest", "dest", get(msg, VFAB_A_DEST));
	if (has(msg, VFAB_A_EGRESS))
		out_uint(c, "egress", "via port", get(msg, VFAB_A_EGRESS));
	else
		out_null(c, "egress", "", "drop");
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
	a = arg_addr(c, pos[0], ADDR_DOM | ADDR_SW);
	if (dest && !a.kind)
		usage(c, "--dest wants a domain");
	if (dest)
		v_dest = arg_uint(c, "destination", dest, 0, VFAB_MAX_WORLD - 1);
	one = a.sw >= 0 && dest;
	ret = one ? DONE : in_range(c, &a, v_dest);
	if (ret)
		return ret;
	c->list = true;
	req = request(c, VFAB_CMD_ROUTE_GET, &a);
	put_u32(req, VFAB_A_DEST, v_dest);
	return one ? ask(c, show_entry, c) : ask_all(c, show_entry, c);
}

static int set(struct ctx *c, int argc, char **argv)
{
	static const char *const actions[] = { "via", "drop", NULL };
	int64_t dest, egress = -1;
	struct nlmsghdr *req;
	const char *pos[4];
	struct addr a;
	bool drop;

	args_parse(c, argc, argv, NULL, 3, 4, pos);
	a = arg_addr(c, pos[0], ADDR_DOM | ADDR_SW);
	dest = arg_uint(c, "destination", pos[1], 0, VFAB_MAX_WORLD - 1);
	drop = arg_word(c, "what to do,", pos[2], actions);
	if (drop && pos[3])
		usage(c, "argument \"%s\" is one too many", escaped(pos[3]));
	if (!drop && !pos[3])
		usage(c, "via wants a port");
	if (!drop)
		egress = arg_uint(c, "port", pos[3], 0, VFAB_MAX_WORLD - 1);
	req = request(c, VFAB_CMD_ROUTE_SET, &a);
	put_u32(req, VFAB_A_DEST, dest);
	put_u32(req, VFAB_A_EGRESS, egress);
	if (drop)
		mnl_attr_put(req, VFAB_A_DROP, 0, NULL);
	return ask_change(c);
}

struct trace {
	struct ctx *c;
	bool reachable;
};

static int parse_hop(const struct nlattr *attr, void *data)
{
	const struct nlattr **tb = data;

	if (mnl_attr_get_type(attr) <= VFAB_HOP_A_MAX)
		tb[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

/* Returns whether this plane carries the pair. */
static bool show_hop(struct ctx *c, const struct nlattr *hop)
{
	static const char *const verdicts[] = {
		"live", "src-down", "switch-down", "no-entry", "misrouted",
		"dst-down", "no-return",
	};
	const struct nlattr *tb[VFAB_HOP_A_MAX + 1] = { 0 };
	uint32_t verdict;

	mnl_attr_parse_nested(hop, parse_hop, tb);
	verdict = vfab_nl_uint(tb[VFAB_HOP_A_VERDICT]);
	out_open(c, NULL, '{');
	out_text(c, "\n ");
	out_text(c, " sw%llu", (unsigned long long)vfab_nl_uint(tb[VFAB_HOP_A_SWITCH]));
	out_uint(c, "switch", NULL, vfab_nl_uint(tb[VFAB_HOP_A_SWITCH]));
	out_uint(c, "in_port", "in", vfab_nl_uint(tb[VFAB_HOP_A_IN_PORT]));
	if (tb[VFAB_HOP_A_OUT_PORT])
		out_uint(c, "out_port", "out", vfab_nl_uint(tb[VFAB_HOP_A_OUT_PORT]));
	else
		out_null(c, "out_port", "out", "none");
	out_str(c, "verdict", "", WORD(verdicts, verdict));
	out_close(c, '}');
	return verdict == VFAB_HOP_LIVE;
}

static int show_trace(const struct vfab_nl_msg *msg, void *data)
{
	unsigned int planes = 0, live = 0;
	const struct nlattr *attr;
	struct trace *t = data;
	struct ctx *c = t->c;

	t->reachable = get(msg, VFAB_A_REACHABLE);
	item(c, "dom%u", get32(msg, VFAB_A_DOMAIN));
	out_text(c, " ep%u -> ep%u", get32(msg, VFAB_A_SRC), get32(msg, VFAB_A_DST));
	out_uint(c, "domain", NULL, get(msg, VFAB_A_DOMAIN));
	out_uint(c, "src", NULL, get(msg, VFAB_A_SRC));
	out_uint(c, "dst", NULL, get(msg, VFAB_A_DST));
	out_open(c, "hops", '[');
	mnl_attr_for_each(attr, vfab_nl_header(msg), sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) != VFAB_A_HOP)
			continue;
		planes++;
		live += show_hop(c, attr);
	}
	out_close(c, ']');
	out_text(c, "\n%s: %u of %u paths", t->reachable ? "reachable" : "unreachable",
		 get32(msg, VFAB_A_PATHS), planes);
	out_bool(c, "reachable", t->reachable);
	out_uint(c, "paths", NULL, get(msg, VFAB_A_PATHS));
	out_uint(c, "planes", NULL, planes);
	if (t->reachable) {
		out_text(c, ",");
		out_rate(c, "rate", "", get(msg, VFAB_A_RATE));
		out_text(c, " per direction,");
		out_uint(c, "latency", "", get(msg, VFAB_A_LATENCY));
		out_text(c, " ns");
	} else if (live) {
		out_text(c, ", %u planes would carry it: see 'vfabctl partition show dom%u'",
			 live, get32(msg, VFAB_A_DOMAIN));
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
	src = arg_uint(c, "source", pos[1], 0, VFAB_MAX_WORLD - 1);
	dst = arg_uint(c, "destination", pos[2], 0, VFAB_MAX_WORLD - 1);
	req = request(c, VFAB_CMD_ROUTE_TRACE, &a);
	put_u32(req, VFAB_A_SRC, src);
	put_u32(req, VFAB_A_DST, dst);
	ret = ask(c, show_trace, &t);
	return ret ? ret : t.reachable ? DONE : REFUSED;
}

const struct verb route_verbs[] = {
	{ "show list ls", show, "[D | D/swK] [--dest R]",
	  "Show the routing-table entries of all switches of a domain, or of one: by\n"
	  "which port a request for a destination rank leaves it." },
	{ "set", set, "{D | D/swK} DEST {via PORT | drop}",
	  "Change, or remove (drop), the entry for a destination rank in one switch or in\n"
	  "all of a domain. Prints how many routes (ordered pairs of endpoints) changed,\n"
	  "and how many were lost." },
	{ "trace", trace, "D SRC DST",
	  "Show how one rank reaches another, plane by plane: the switch, the port by\n"
	  "which a request enters it, the port by which its table sends it on, and what\n"
	  "becomes of it:\n"
	  "\n"
	  "  live         it arrives, and its answer returns\n"
	  "  src-down     the link of the source is down\n"
	  "  switch-down  the switch is down\n"
	  "  no-entry     the table has no entry for the destination\n"
	  "  misrouted    the entry leads elsewhere\n"
	  "  dst-down     the link of the destination is down\n"
	  "  no-return    the table has no entry that leads back to the source\n"
	  "\n"
	  "Exit status 1 if the destination cannot be reached." },
	{ NULL, NULL, NULL, NULL }
};
