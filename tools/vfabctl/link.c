// SPDX-License-Identifier: GPL-2.0
/* Links between two ports: show, set. */
#include <stdio.h>
#include "telemetry.h"
#include "vfabctl.h"

/* The address of one end of a link, by whichever of these attributes is there. */
void port_addr(char addr[64], const struct vfab_nl_msg *msg, uint16_t rank,
	       uint16_t sw, uint16_t port)
{
	bool ep = has(msg, rank);

	snprintf(addr, 64, "dom%u/%s%u/p%u", get32(msg, VFAB_A_DOMAIN), ep ? "ep" : "sw",
		 get32(msg, ep ? rank : sw), get32(msg, port));
}

static void out_built(struct ctx *c, const struct vfab_nl_msg *msg)
{
	if (has(msg, VFAB_A_BUILT_RATE)) {
		out_text(c, " of");
		out_rate(c, "built_rate", "", get(msg, VFAB_A_BUILT_RATE));
	}
}

/* Both ends and the state: what ports and links say alike. */
static int show_one(const struct vfab_nl_msg *msg, void *ctx)
{
	uint32_t reason = get32(msg, VFAB_A_LINK_REASON);
	struct ctx *c = ctx;
	char addr[64];

	port_addr(addr, msg, VFAB_A_RANK, VFAB_A_SWITCH, VFAB_A_PORT);
	item(c, "%s", addr);
	out_uint(c, "domain", NULL, get(msg, VFAB_A_DOMAIN));
	if (has(msg, VFAB_A_RANK))
		out_uint(c, "rank", NULL, get(msg, VFAB_A_RANK));
	else
		out_uint(c, "switch", NULL, get(msg, VFAB_A_SWITCH));
	out_uint(c, "port", NULL, get(msg, VFAB_A_PORT));
	port_addr(addr, msg, VFAB_A_PEER_RANK, VFAB_A_PEER_SWITCH, VFAB_A_PEER_PORT);
	out_str(c, "peer", "peer", addr);
	if (has(msg, VFAB_A_PEER_RANK))
		out_uint(c, "peer_rank", NULL, get(msg, VFAB_A_PEER_RANK));
	else
		out_uint(c, "peer_switch", NULL, get(msg, VFAB_A_PEER_SWITCH));
	out_uint(c, "peer_port", NULL, get(msg, VFAB_A_PEER_PORT));
	out_bool(c, "up", get(msg, VFAB_A_UP));
	out_text(c, get(msg, VFAB_A_UP) ? " up" : " down");
	out_str(c, "state", "state", tele_link_state(get32(msg, VFAB_A_LINK_STATE)));
	out_str(c, "reason", reason ? "reason" : NULL, tele_link_reason(reason));
	out_rate(c, "rate", "rate", get(msg, VFAB_A_RATE));
	out_built(c, msg);
	out_latency(c, "latency", "latency", get(msg, VFAB_A_LATENCY));
	if (has(msg, VFAB_A_BUILT_LATENCY))
		out_latency(c, "built_latency", "of", get(msg, VFAB_A_BUILT_LATENCY));
	if (get(msg, VFAB_A_WIDTH) || has(msg, VFAB_A_BUILT_WIDTH))
		out_uint(c, "width", "width", get(msg, VFAB_A_WIDTH));
	if (has(msg, VFAB_A_BUILT_WIDTH))
		out_uint(c, "built_width", "of", get(msg, VFAB_A_BUILT_WIDTH));
	item_end(c);
	return 0;
}

/**
 * link_show - show links, or ports
 * @cmd: VFAB_CMD_LINK_GET or VFAB_CMD_PORT_GET
 * @kinds: addresses that make sense besides a port's
 */
int link_show(struct ctx *c, int argc, char **argv, uint8_t cmd, unsigned int kinds)
{
	const char *pos[1];
	struct addr a;
	int ret;

	args_parse(c, argc, argv, NULL, 0, 1, pos);
	a = arg_addr(c, pos[0], kinds | ADDR_EP_PORT | ADDR_SW_PORT);
	ret = a.port < 0 ? in_range(c, &a, -1) : DONE;
	if (ret)
		return ret;
	request(c, cmd, &a);
	return a.port >= 0 ? ask(c, show_one, c) : ask_all(c, show_one, c);
}

/* What a verb word asks for, and the options that go with it. */
struct change {
	const char *rate, *latency, *width, *period, *count;
};

enum { DOWN, UP, DRAIN, RESTORE, DEGRADE, FLAP };

static void change_check(struct ctx *c, unsigned int what, const struct change *o)
{
	if ((o->rate || o->latency || o->width) && what != DEGRADE)
		usage(c, "--rate, --latency and --width go with degrade");
	if ((o->period || o->count) && what != FLAP)
		usage(c, "--period and --count go with flap");
	if (what == DEGRADE && !o->rate && !o->latency && !o->width)
		usage(c, "degrade wants some of --rate, --latency and --width");
	if (what == FLAP && !o->period)
		usage(c, "flap wants --period, such as 200ms");
}

/**
 * link_set - change links, or a port's link
 * @cmd: VFAB_CMD_LINK_SET or VFAB_CMD_PORT_SET
 * @kinds: addresses that make sense besides a port's
 */
int link_set(struct ctx *c, int argc, char **argv, uint8_t cmd, unsigned int kinds)
{
	static const char *const words[] = {
		"down", "up", "drain", "restore", "degrade", "flap", NULL,
	};
	int64_t rate = -1, latency = -1, width = -1, period = -1, count = -1;
	struct change o = { NULL, NULL, NULL, NULL, NULL };
	const struct opt opts[] = {
		{ "rate", &o.rate, NULL },
		{ "latency", &o.latency, NULL },
		{ "width", &o.width, NULL },
		{ "period", &o.period, NULL },
		{ "count", &o.count, NULL },
		{ NULL, NULL, NULL }
	};
	struct nlmsghdr *req;
	const char *pos[2];
	unsigned int what;
	struct addr a;

	args_words(opts, 2, argc, argv);
	args_parse(c, argc, argv, opts, 2, 2, pos);
	a = arg_addr(c, pos[0], kinds | ADDR_EP_PORT | ADDR_SW_PORT);
	what = arg_word(c, "state", pos[1], words);
	change_check(c, what, &o);
	if (o.rate)
		rate = arg_uint(c, "rate", o.rate, 1, 100000000);
	if (o.latency)
		latency = arg_uint(c, "latency", o.latency, 0, 1000000000);
	if (o.width)
		width = arg_uint(c, "width", o.width, 1, UINT16_MAX);
	if (o.period)
		period = arg_milliseconds(c, "period", o.period);
	if (o.period && (period < 2 || period > 3600000))
		usage(c, "period \"%s\" is not 0.002 to 3600 seconds", escaped(o.period));
	if (o.count)
		count = arg_uint(c, "count", o.count, 1, 1000000);

	req = request(c, cmd, &a);
	if (what == UP || what == DOWN)
		mnl_attr_put_u8(req, VFAB_A_UP, what == UP);
	if (what == DRAIN || what == RESTORE)
		mnl_attr_put(req, what == DRAIN ? VFAB_A_DRAIN : VFAB_A_RESTORE, 0, NULL);
	put_u32(req, VFAB_A_RATE, rate);
	put_u32(req, VFAB_A_LATENCY, latency);
	put_u32(req, VFAB_A_WIDTH, width);
	put_u32(req, VFAB_A_FLAP_PERIOD, period);
	put_u32(req, VFAB_A_FLAP_COUNT, count);
	return ask_change(c);
}

#define LINK_ADDRS (ADDR_EP | ADDR_SW | ADDR_EP_SW)

static int show(struct ctx *c, int argc, char **argv)
{
	return link_show(c, argc, argv, VFAB_CMD_LINK_GET, ADDR_DOM | LINK_ADDRS);
}

static int set(struct ctx *c, int argc, char **argv)
{
	return link_set(c, argc, argv, VFAB_CMD_LINK_SET, LINK_ADDRS | ADDR_NODE);
}

const struct verb link_verbs[] = {
	{ "show list ls", show, "[D | D/epR | D/swK | D/epR/swK | D/epR/pK | D/swK/pR]",
	  "Show the links of an endpoint, a switch or a domain, those that join an endpoint\n"
	  "and a switch, the one at a port, or all." },
	{ "set", set,
	  "{D/epR | D/nodeK | D/swK | D/epR/swK | D/epR/pK | D/swK/pR} STATE [OPTIONS]",
	  "Change one link, all of an endpoint, node or switch, in one step. STATE is\n"
	  "one of these:\n"
	  "\n"
	  "  up        as it was before down or drain\n"
	  "  down      nothing passes any more when the command returns\n"
	  "  drain     out of all routes, but working; refused if a pair would lose its\n"
	  "            last path\n"
	  "  degrade   some of --rate MBPS (10^6 bytes per second and direction, at most\n"
	  "            as built), --latency NS and --width LANES; the others stay as they are\n"
	  "  flap      down for half of --period TIME, then up; --count times (1)\n"
	  "  restore   no longer degraded or flapping\n"
	  "\n"
	  "The options may be written without the dashes. Prints how many routes (ordered\n"
	  "pairs of endpoints) changed their paths, and how many were lost." },
	{ NULL, NULL, NULL, NULL }
};
