// SPDX-License-Identifier: GPL-2.0
/* Ports of endpoints and switches: show, set. */
#include "vfabctl.h"

static int show(struct ctx *c, int argc, char **argv)
{
	return link_show(c, argc, argv, VFAB_CMD_PORT_GET, ADDR_DOM | ADDR_EP | ADDR_SW);
}

static int set(struct ctx *c, int argc, char **argv)
{
	return link_set(c, argc, argv, VFAB_CMD_PORT_SET, 0);
}

const struct verb port_verbs[] = {
	{ "show list ls", show, "[D | D/epR | D/epR/pK | D/swK | D/swK/pR]",
	  "Show one port, or those of an endpoint, switch or domain, or all. In a domain\n"
	  "without a profile, port K of an endpoint leads to switch K, and port R of a\n"
	  "switch to rank R." },
	{ "set", set, "{D/epR/pK | D/swK/pR} STATE [OPTIONS]",
	  "Change a port, and with it its link: see 'vfabctl link set --help'." },
	{ NULL, NULL, NULL, NULL }
};
