// SPDX-License-Identifier: GPL-2.0
/* Backplanes: show, with the nodes that are on them. */
#include <stdio.h>
#include <stdlib.h>
#include "vfabctl.h"

const char *const backplane_states[5] = { "none", "joining", "active", "left", "fenced" };
const char *const backplane_whys[7] = {
	"none", "silent", "behind", "left", "fenced", "returned", "closed",
};

const char *const backplane_views[4] = { "none", "live", "lost", "self" };

/* 2.1: the second connection as this node, its first start */
void out_incarnation(struct ctx *c, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%u.%u", (uint32_t)(v >> 32), (uint32_t)v);
	out_str(c, "incarnation", "incarnation", text);
}

static void out_ms(struct ctx *c, const char *key, const char *label, uint64_t v)
{
	out_uint(c, key, label, v);
	out_text(c, " ms");
}

static void out_what_it_says(struct ctx *c, const struct vfab_nl_msg *msg)
{
	out_str(c, "state", "state", WORD(backplane_states, get32(msg, VFAB_A_BACKPLANE_STATE)));
	if (!has(msg, VFAB_A_INCARNATION))
		return;
	out_incarnation(c, get(msg, VFAB_A_INCARNATION));
	out_uint(c, "change", "change", get(msg, VFAB_A_CHANGE));
	out_ms(c, "period_ms", "period", get(msg, VFAB_A_BEAT_PERIOD));
	out_ms(c, "timeout_ms", "timeout", get(msg, VFAB_A_BEAT_TIMEOUT));
}

static int show_node(const struct vfab_nl_msg *msg, void *data)
{
	uint32_t view = get32(msg, VFAB_A_BACKPLANE_VIEW);
	const char *name = get_str(msg, VFAB_A_BACKPLANE);
	struct ctx *c = data;

	item(c, "%s/node%u", name, get32(msg, VFAB_A_NODE));
	out_str(c, "backplane", NULL, name);
	out_uint(c, "node", NULL, get(msg, VFAB_A_NODE));
	out_str(c, "view", "", WORD(backplane_views, view));
	if (has(msg, VFAB_A_BEAT_AGE))
		out_ms(c, "age_ms", "age", get(msg, VFAB_A_BEAT_AGE));
	if (get32(msg, VFAB_A_BACKPLANE_WHY))
		out_str(c, "why", "why", WORD(backplane_whys, get32(msg, VFAB_A_BACKPLANE_WHY)));
	out_what_it_says(c, msg);
	if (has(msg, VFAB_A_FOLLOWED))
		out_uint(c, "followed", "followed", get(msg, VFAB_A_FOLLOWED));
	out_bool(c, "cooperative", has(msg, VFAB_A_COOPERATIVE));
	out_bool(c, "connected", get32(msg, VFAB_A_CONNECTED));
	if (has(msg, VFAB_A_COOPERATIVE))
		out_text(c, " cooperative");
	if (!get32(msg, VFAB_A_CONNECTED))
		out_text(c, " not connected");
	if (has(msg, VFAB_A_UNMIRRORED))
		out_uint(c, "unmirrored", get(msg, VFAB_A_UNMIRRORED) ? "unmirrored" : NULL,
			 get(msg, VFAB_A_UNMIRRORED));
	item_end(c);
	return 0;
}

static int show_backplane(const struct vfab_nl_msg *msg, void *data)
{
	struct ctx *c = data;

	item(c, "%s", get_str(msg, VFAB_A_BACKPLANE));
	out_str(c, "backplane", NULL, get_str(msg, VFAB_A_BACKPLANE));
	out_uint(c, "node", "node", get(msg, VFAB_A_NODE));
	out_uint(c, "nodes", NULL, get(msg, VFAB_A_NODES));
	out_text(c, " of %u", get32(msg, VFAB_A_NODES));
	out_uuid(c, "uuid", "uuid", vfab_nl_attr(msg, VFAB_A_UUID));
	out_what_it_says(c, msg);
	out_bytes(c, "size", "size", get(msg, VFAB_A_SIZE));
	out_bytes(c, "data", "data", get(msg, VFAB_A_DATA_SIZE));
	out_bytes(c, "used", "used", get(msg, VFAB_A_DATA_USED));
	out_bytes(c, "waiting", "waiting", get(msg, VFAB_A_DATA_WAITING));
	out_bool(c, "ready", get32(msg, VFAB_A_DATA_READY));
	out_str(c, "memory", "memory", get32(msg, VFAB_A_CACHED) ? "write-back" : "uncached");
	out_uint(c, "fences", "fences", get(msg, VFAB_A_FENCES));
	out_ms(c, "switchd_age_ms", "switchd-age", get(msg, VFAB_A_SWITCHD_AGE));
	out_uint(c, "interrupts", "interrupts", get(msg, VFAB_A_INTERRUPTS));
	out_uint(c, "interrupts_held", "held", get(msg, VFAB_A_INTERRUPTS_HELD));
	if (!get32(msg, VFAB_A_DATA_READY))
		out_text(c, " not ready");
	item_end(c);
	return 0;
}

static struct nlmsghdr *request_of(struct ctx *c, uint8_t cmd, const char *name)
{
	struct nlmsghdr *req = request(c, cmd, NULL);

	if (name)
		mnl_attr_put_strz(req, VFAB_A_BACKPLANE, name);
	return req;
}

static int show(struct ctx *c, int argc, char **argv)
{
	const char *pos[1];
	int ret;

	args_parse(c, argc, argv, NULL, 0, 1, pos);
	if (pos[0])
		arg_name(c, "backplane", pos[0]);
	request_of(c, VFAB_CMD_BACKPLANE_GET, pos[0]);
	ret = pos[0] ? ask(c, show_backplane, c) : ask_all(c, show_backplane, c);
	if (ret)
		return ret;
	request_of(c, VFAB_CMD_BACKPLANE_NODE_GET, pos[0]);
	return ask_all(c, show_node, c);
}

const struct verb backplane_verbs[] = {
	{ "show list ls", show, "[BACKPLANE]",
	  "Show a backplane that this machine is a node of, or all: its own state and\n"
	  "incarnation, the data area, how the memory is mapped, and interrupts; then the\n"
	  "nodes: what each says of itself, for how long no sign of life of it was seen, and\n"
	  "why it is not followed any more." },
	{ NULL, NULL, NULL, NULL }
};
