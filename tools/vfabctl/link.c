// SPDX-License-Identifier: GPL-2.0
/* Links between endpoints and switches: show, set. */
#include "vfabctl.h"

static const char *const states[] = {
	"OFF", "INIT", "TRAIN", "ACTIVE", "DEGRADED", "RECOVERY", "FAULT",
};

static const char *const reasons[] = { "none", "admin", "switch" };

/* What ports and links say alike. */
void out_link(struct ctx *c, const struct vfab_nl_msg *msg)
{
	uint32_t reason = get32(msg, VFAB_A_LINK_REASON);

	out_bool(c, "up", get(msg, VFAB_A_UP));
	out_text(c, get(msg, VFAB_A_UP) ? " up" : " down");
	out_str(c, "state", "state", WORD(states, get32(msg, VFAB_A_LINK_STATE)));
	out_str(c, "reason", reason ? "reason" : NULL, WORD(reasons, reason));
	out_rate(c, "rate", "rate", get(msg, VFAB_A_RATE));
	out_uint(c, "latency", "latency", get(msg, VFAB_A_LATENCY));
	out_text(c, " ns");
}

static int show_one(const struct vfab_nl_msg *msg, void *ctx)
{
	uint32_t rank = get32(msg, VFAB_A_RANK), sw = get32(msg, VFAB_A_SWITCH);
	struct ctx *c = ctx;

	item(c, "dom%u/ep%u/sw%u", get32(msg, VFAB_A_DOMAIN), rank, sw);
	out_uint(c, "domain", NULL, get(msg, VFAB_A_DOMAIN));
	out_uint(c, "rank", NULL, rank);
	out_uint(c, "switch", NULL, sw);
	out_link(c, msg);
	item_end(c);
	return 0;
}

#define LINK_ADDRS (ADDR_EP | ADDR_SW | ADDR_EP_SW | ADDR_EP_PORT | ADDR_SW_PORT)

/* Either end's port names the link as well. */
static struct addr link_addr(struct ctx *c, const char *text, unsigned int allowed)
{
	struct addr a = arg_addr(c, text, allowed);

	if (a.kind == ADDR_EP_PORT)
		a.sw = a.port;
	if (a.kind == ADDR_SW_PORT)
		a.rank = a.port;
	a.port = -1;
	return a;
}

static int show(struct ctx *c, int argc, char **argv)
{
	const char *pos[1];
	struct addr a;
	bool one;
	int ret;

	args_parse(c, argc, argv, NULL, 0, 1, pos);
	a = link_addr(c, pos[0], ADDR_DOM | LINK_ADDRS);
	one = a.rank >= 0 && a.sw >= 0;
	ret = one ? DONE : in_range(c, &a, -1);
	if (ret)
		return ret;
	c->list = true;
	request(c, VFAB_CMD_LINK_GET, &a);
	return one ? ask(c, show_one, c) : ask_all(c, show_one, c);
}

static int set(struct ctx *c, int argc, char **argv)
{
	const char *pos[2];
	struct addr a;
	bool up;

	args_parse(c, argc, argv, NULL, 2, 2, pos);
	a = link_addr(c, pos[0], LINK_ADDRS | ADDR_NODE);
	up = arg_up(c, pos[1]);
	mnl_attr_put_u8(request(c, VFAB_CMD_LINK_SET, &a), VFAB_A_UP, up);
	return ask_change(c);
}

const struct verb link_verbs[] = {
	{ "show list ls", show, "[D | D/epR | D/swK | D/epR/swK]",
	  "Show one link, or those of an endpoint, switch or domain, or all." },
	{ "set", set, "{D/epR | D/nodeK | D/swK | D/epR/swK} up|down",
	  "Take one link, all of an endpoint, node or switch up or down, in one step.\n"
	  "D/epR/pK and D/swK/pR, the ports at its ends, name a link as well. Prints how\n"
	  "many routes (ordered pairs of endpoints) changed, and how many were lost." },
	{ NULL, NULL, NULL, NULL }
};
