// SPDX-License-Identifier: GPL-2.0
/* Switches: show, set. */
#include "vfabctl.h"

static int show_one(const struct vfab_nl_msg *msg, void *ctx)
{
	struct ctx *c = ctx;

	item(c, "dom%u/sw%u", get32(msg, VFAB_A_DOMAIN), get32(msg, VFAB_A_SWITCH));
	out_uint(c, "domain", NULL, get(msg, VFAB_A_DOMAIN));
	out_uint(c, "switch", NULL, get(msg, VFAB_A_SWITCH));
	out_bool(c, "up", get(msg, VFAB_A_UP));
	out_text(c, get(msg, VFAB_A_UP) ? " up" : " down");
	out_uint(c, "ports_up", "ports", get(msg, VFAB_A_PORTS_UP));
	out_text(c, "/%u", get32(msg, VFAB_A_PORTS));
	out_uint(c, "ports", NULL, get(msg, VFAB_A_PORTS));
	item_end(c);
	return 0;
}

static int show(struct ctx *c, int argc, char **argv)
{
	return show_objects(c, argc, argv, VFAB_CMD_SWITCH_GET, ADDR_SW, ADDR_DOM, show_one);
}

static int set(struct ctx *c, int argc, char **argv)
{
	const char *pos[2];
	struct addr a;
	bool up;

	args_parse(c, argc, argv, NULL, 2, 2, pos);
	a = arg_addr(c, pos[0], ADDR_SW);
	up = arg_up(c, pos[1]);
	mnl_attr_put_u8(request(c, VFAB_CMD_SWITCH_SET, &a), VFAB_A_UP, up);
	return ask_change(c);
}

const struct verb switch_verbs[] = {
	{ "show list ls", show, "[D | D/swK]",
	  "Show one switch, those of a domain, or all." },
	{ "set", set, "D/swK up|down",
	  "Take a switch, and with it its links, up or down. Prints how many routes\n"
	  "(ordered pairs of endpoints) changed, and how many were lost." },
	{ NULL, NULL, NULL, NULL }
};
