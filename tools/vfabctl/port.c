// SPDX-License-Identifier: GPL-2.0
/* Ports of endpoints and switches: show, set. */
#include <stdio.h>
#include "vfabctl.h"

/* Of the end that is an endpoint's or a switch's, whichever attribute is there. */
static void port_addr(char addr[64], const struct vfab_nl_msg *msg, uint16_t rank,
		      uint16_t sw, uint16_t port)
{
	bool ep = has(msg, rank);

	snprintf(addr, 64, "dom%u/%s%u/p%u", get32(msg, VFAB_A_DOMAIN), ep ? "ep" : "sw",
		 get32(msg, ep ? rank : sw), get32(msg, port));
}

static int show_one(const struct vfab_nl_msg *msg, void *ctx)
{
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
	out_link(c, msg);
	item_end(c);
	return 0;
}

static int show(struct ctx *c, int argc, char **argv)
{
	const char *pos[1];
	struct addr a;
	int ret;

	args_parse(c, argc, argv, NULL, 0, 1, pos);
	a = arg_addr(c, pos[0], ADDR_DOM | ADDR_EP | ADDR_EP_PORT | ADDR_SW | ADDR_SW_PORT);
	ret = a.port < 0 ? in_range(c, &a, -1) : DONE;
	if (ret)
		return ret;
	c->list = true;
	request(c, VFAB_CMD_PORT_GET, &a);
	return a.port >= 0 ? ask(c, show_one, c) : ask_all(c, show_one, c);
}

static int set(struct ctx *c, int argc, char **argv)
{
	const char *pos[2];
	struct addr a;
	bool up;

	args_parse(c, argc, argv, NULL, 2, 2, pos);
	a = arg_addr(c, pos[0], ADDR_EP_PORT | ADDR_SW_PORT);
	up = arg_up(c, pos[1]);
	mnl_attr_put_u8(request(c, VFAB_CMD_PORT_SET, &a), VFAB_A_UP, up);
	return ask_change(c);
}

const struct verb port_verbs[] = {
	{ "show list ls", show, "[D | D/epR | D/epR/pK | D/swK | D/swK/pR]",
	  "Show one port, or those of an endpoint, switch or domain, or all. Port K of an\n"
	  "endpoint leads to switch K; port R of a switch leads to rank R." },
	{ "set", set, "{D/epR/pK | D/swK/pR} up|down",
	  "Take a port, and with it its link, up or down. Prints how many routes (ordered\n"
	  "pairs of endpoints) changed, and how many were lost." },
	{ NULL, NULL, NULL, NULL }
};
