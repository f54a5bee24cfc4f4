// SPDX-License-Identifier: GPL-2.0
/* Partitions: create, delete, show, set. */
#include <stdio.h>
#include "vfabctl.h"

static int show_one(const struct vfab_nl_msg *msg, void *ctx)
{
	uint32_t domain = get32(msg, VFAB_A_DOMAIN);
	uint32_t id = get32(msg, VFAB_A_PARTITION);
	struct ctx *c = ctx;
	char text[64];

	item(c, "dom%u/part%u", domain, id);
	out_uint(c, "domain", NULL, domain);
	out_uint(c, "id", NULL, id);
	out_str(c, "name", "name", get_str(msg, VFAB_A_PARTITION_NAME));
	out_ranks(c, "members", "members", vfab_nl_attr(msg, VFAB_A_MEMBERS));
	out_uint(c, "member_count", "count", get(msg, VFAB_A_MEMBER_COUNT));
	out_uint(c, "attached", "attached", get(msg, VFAB_A_ATTACHED));
	out_bool(c, "active", get(msg, VFAB_A_ACTIVE));
	out_text(c, " active %s", get(msg, VFAB_A_ACTIVE) ? "yes" : "no");
	if (has(msg, VFAB_A_DEV_MINOR)) {
		device_path(text, domain, id);
		out_str(c, "device", "device", text);
		out_uint(c, "major", "major", get(msg, VFAB_A_DEV_MAJOR));
		out_uint(c, "minor", "minor", get(msg, VFAB_A_DEV_MINOR));
	}
	item_end(c);
	return 0;
}

static int show(struct ctx *c, int argc, char **argv)
{
	return show_objects(c, argc, argv, VFAB_CMD_PARTITION_GET, ADDR_PART, ADDR_DOM, show_one);
}

/* The kernel says that one of them is not there, this says which. */
static int members_in_range(struct ctx *c, const struct addr *a, const uint8_t ranks[RANK_BYTES])
{
	int last = VFAB_MAX_WORLD - 1;

	while (last >= 0 && !(ranks[last / 8] >> last % 8 & 1))
		last--;
	return in_range(c, a, last);
}

static int create(struct ctx *c, int argc, char **argv)
{
	const char *name = NULL, *members = NULL;
	const struct opt opts[] = {
		{ "name", &name, NULL },
		{ "members", &members, NULL },
		{ NULL, NULL, NULL }
	};
	uint8_t ranks[RANK_BYTES];
	struct nlmsghdr *req;
	const char *pos[2];
	struct addr a;
	int ret;

	args_parse(c, argc, argv, opts, 1, 2, pos);
	a = arg_addr(c, pos[0], ADDR_DOM | ADDR_PART);
	if (pos[1] && a.part >= 0)
		usage(c, "the partition's id is given twice");
	if (pos[1])
		a.part = arg_uint(c, "partition id", pos[1], 0, MAX_PARTITION);
	if (name)
		arg_name(c, "name", name);
	if (members) {
		arg_ranks(c, "members", members, ranks);
		ret = members_in_range(c, &a, ranks);
		if (ret)
			return ret;
	}
	req = request(c, VFAB_CMD_PARTITION_CREATE, &a);
	if (name)
		mnl_attr_put_strz(req, VFAB_A_PARTITION_NAME, name);
	if (members)
		put_ranks(req, VFAB_A_ADD_MEMBERS, ranks);
	return ask(c, show_one, c);
}

static int delete(struct ctx *c, int argc, char **argv)
{
	const char *pos[1];
	struct addr a;

	args_parse(c, argc, argv, NULL, 1, 1, pos);
	a = arg_addr(c, pos[0], ADDR_PART);
	request(c, VFAB_CMD_PARTITION_DELETE, &a);
	return ask(c, NULL, NULL);
}

static int set(struct ctx *c, int argc, char **argv)
{
	const char *add = NULL, *del = NULL;
	bool if_detached = false;
	const struct opt opts[] = {
		{ "add", &add, NULL },
		{ "del", &del, NULL },
		{ "if-detached", NULL, &if_detached },
		{ NULL, NULL, NULL }
	};
	uint8_t adds[RANK_BYTES], dels[RANK_BYTES];
	struct nlmsghdr *req;
	const char *pos[1];
	struct addr a;
	int ret = DONE;

	args_parse(c, argc, argv, opts, 1, 1, pos);
	a = arg_addr(c, pos[0], ADDR_PART);
	if (!add && !del)
		usage(c, "nothing to set: give --add or --del");
	if (add)
		arg_ranks(c, "--add", add, adds);
	if (del)
		arg_ranks(c, "--del", del, dels);
	if (add)
		ret = members_in_range(c, &a, adds);
	if (!ret && del)
		ret = members_in_range(c, &a, dels);
	if (ret)
		return ret;
	req = request(c, VFAB_CMD_PARTITION_SET, &a);
	if (add)
		put_ranks(req, VFAB_A_ADD_MEMBERS, adds);
	if (del)
		put_ranks(req, VFAB_A_DEL_MEMBERS, dels);
	if (if_detached)
		mnl_attr_put(req, VFAB_A_IF_DETACHED, 0, NULL);
	return ask(c, NULL, NULL);
}

static int set_active(struct ctx *c, const struct addr *a, bool active, bool force)
{
	struct nlmsghdr *req = request(c, VFAB_CMD_PARTITION_SET, a);

	mnl_attr_put_u8(req, VFAB_A_ACTIVE, active);
	if (force)
		mnl_attr_put(req, VFAB_A_FORCE, 0, NULL);
	return ask(c, NULL, NULL);
}

static int activate(struct ctx *c, int argc, char **argv)
{
	const char *pos[1];
	struct addr a;

	args_parse(c, argc, argv, NULL, 1, 1, pos);
	a = arg_addr(c, pos[0], ADDR_PART);
	return set_active(c, &a, true, false);
}

static int deactivate(struct ctx *c, int argc, char **argv)
{
	bool force = false;
	const struct opt opts[] = {
		{ "force", NULL, &force },
		{ NULL, NULL, NULL }
	};
	const char *pos[1];
	struct addr a;

	args_parse(c, argc, argv, opts, 1, 1, pos);
	a = arg_addr(c, pos[0], ADDR_PART);
	return set_active(c, &a, false, force);
}

const struct verb partition_verbs[] = {
	{ "create add", create, "D [ID] [--name NAME] [--members RANKS]",
	  "Create a partition and its device file, and print it. Without an id the\n"
	  "lowest free one is taken.\n"
	  "\n"
	  "  --members RANKS  endpoints to move into it, such as 0-3,8" },
	{ "delete del", delete, "D/partN",
	  "Delete a partition that has no members. Partition 0 stays." },
	{ "show list ls", show, "[D | D/partN]",
	  "Show one partition, those of a domain, or all." },
	{ "set", set, "D/partN [--add RANKS] [--del RANKS] [--if-detached]",
	  "Move endpoints into a partition, from wherever they are, or out of it, into\n"
	  "none. What crosses the new border is revoked before the command returns.\n"
	  "\n"
	  "  --if-detached  refuse if one that would move is held, and change nothing" },
	{ "activate", activate, "D/partN",
	  "Give a fixed partition its members and its device file, in a domain that was\n"
	  "created with partitions of the kind hgx15. Refused while one that overlaps it\n"
	  "is active." },
	{ "deactivate", deactivate, "D/partN [--force]",
	  "Take them away again: its endpoints are in none, and its channels are gone.\n"
	  "\n"
	  "  --force  although endpoints are attached: they are evicted first" },
	{ NULL, NULL, NULL, NULL }
};
