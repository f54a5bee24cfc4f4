// SPDX-License-Identifier: GPL-2.0
/* Channels, the access groups of a partition: create, delete, show. */
#include <stdio.h>
#include "vfabctl.h"

static int show_one(const struct vfab_nl_msg *msg, void *ctx)
{
	uint32_t domain = get32(msg, VFAB_A_DOMAIN);
	uint32_t part = get32(msg, VFAB_A_PARTITION);
	uint32_t id = get32(msg, VFAB_A_CHANNEL);
	struct ctx *c = ctx;
	char text[64];

	item(c, "dom%u/part%u/ch%u", domain, part, id);
	out_uint(c, "domain", NULL, domain);
	out_uint(c, "partition", NULL, part);
	out_uint(c, "id", NULL, id);
	out_uint(c, "attached", "attached", get(msg, VFAB_A_ATTACHED));
	out_ranks(c, "ranks", "ranks", vfab_nl_attr(msg, VFAB_A_MEMBERS));
	channel_path(text, domain, part, id);
	out_str(c, "device", "device", text);
	out_access(c, msg);
	out_uint(c, "major", "major", get(msg, VFAB_A_DEV_MAJOR));
	out_uint(c, "minor", "minor", get(msg, VFAB_A_DEV_MINOR));
	item_end(c);
	return 0;
}

static int show(struct ctx *c, int argc, char **argv)
{
	return show_objects(c, argc, argv, VFAB_CMD_CHANNEL_GET, ADDR_CHAN,
			    ADDR_DOM | ADDR_PART, show_one);
}

static int create(struct ctx *c, int argc, char **argv)
{
	const char *mode = NULL, *user = NULL, *group = NULL;
	const struct opt opts[] = {
		{ "mode", &mode, NULL },
		{ "user", &user, NULL },
		{ "group", &group, NULL },
		{ NULL, NULL, NULL }
	};
	int64_t v_mode = -1, v_user = -1, v_group = -1;
	struct nlmsghdr *req;
	const char *pos[2];
	struct addr a;

	args_parse(c, argc, argv, opts, 1, 2, pos);
	a = arg_addr(c, pos[0], ADDR_PART | ADDR_CHAN);
	if (pos[1] && a.chan >= 0)
		usage(c, "the channel's id is given twice");
	if (pos[1])
		a.chan = arg_uint(c, "channel id", pos[1], 0, VFAB_CHANNELS - 1);
	if (mode)
		v_mode = arg_mode(c, mode);
	if (user)
		v_user = arg_user(c, user);
	if (group)
		v_group = arg_group(c, group);
	req = request(c, VFAB_CMD_CHANNEL_CREATE, &a);
	put_u32(req, VFAB_A_MODE, v_mode);
	put_u32(req, VFAB_A_UID, v_user);
	put_u32(req, VFAB_A_GID, v_group);
	return ask(c, show_one, c);
}

static int delete(struct ctx *c, int argc, char **argv)
{
	return delete_forced(c, argc, argv, VFAB_CMD_CHANNEL_DELETE, ADDR_CHAN);
}

const struct verb channel_verbs[] = {
	{ "create add", create, "D/partN [ID] [--mode MODE] [--user USER] [--group GROUP]",
	  "Create a channel of a partition and its device file, and print it. Without an id\n"
	  "(0 to 2047) the lowest free one is taken. Who opens this file is in the channel,\n"
	  "and shares windows and doorbells with those who are in it, too, only.\n"
	  "\n"
	  "  --mode MODE    of the device file, octal (the domain's)\n"
	  "  --user USER    its owner, name or number (the domain's)\n"
	  "  --group GROUP  the same for the group" },
	{ "delete del", delete, "D/partN/chC [--force]",
	  "Delete a channel.\n"
	  "\n"
	  "  --force  although endpoints are in it: they are evicted first" },
	{ "show list ls", show, "[D | D/partN | D/partN/chC]",
	  "Show one channel, those of a partition or domain, or all, and the ranks that are\n"
	  "in it." },
	{ NULL, NULL, NULL, NULL }
};
