// SPDX-License-Identifier: GPL-2.0
/* Partitions: create, delete, show, set. */
#include <stdio.h>
#include "telemetry.h"
#include "vfabctl.h"

static const char *const resiliencies[] = { "adaptive", "full", NULL };

/* Of members in service: how many of their links carry, and whether that will do */
static void out_partition_health(struct ctx *c, const struct vfab_nl_msg *msg)
{
	uint32_t health = get32(msg, VFAB_A_HEALTH);

	out_text(c, "\n   ");
	out_str(c, "resiliency", "resiliency",
		WORD(resiliencies, get32(msg, VFAB_A_RESILIENCY)));
	out_str(c, "health", "health", tele_health(health));
	out_uint(c, "links_up", "links", get(msg, VFAB_A_LINKS_UP));
	out_text(c, "/%u", get32(msg, VFAB_A_LINK_COUNT));
	out_uint(c, "links", NULL, get(msg, VFAB_A_LINK_COUNT));
	out_ranks(c, "parked", "parked", vfab_nl_attr(msg, VFAB_A_PARKED_MEMBERS));
}

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
	out_partition_health(c, msg);
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
	const char *name = NULL, *members = NULL, *mode = NULL;
	const struct opt opts[] = {
		{ "name", &name, NULL },
		{ "members", &members, NULL },
		{ "resiliency", &mode, NULL },
		{ NULL, NULL, NULL }
	};
	uint8_t ranks[RANK_BYTES];
	struct nlmsghdr *req;
	const char *pos[2];
	struct addr a;
	int ret, resiliency = -1;

	args_parse(c, argc, argv, opts, 1, 2, pos);
	a = arg_addr(c, pos[0], ADDR_DOM | ADDR_PART);
	if (pos[1] && a.part >= 0)
		usage(c, "the partition's id is given twice");
	if (pos[1] && strspn(pos[1], "0123456789") != strlen(pos[1]))
		usage(c, "\"%s\" is not the number of a partition: a name goes with --name",
		      escaped(pos[1]));
	if (pos[1])
		a.part = arg_uint(c, "partition id", pos[1], 0, MAX_PARTITION);
	if (name)
		arg_name(c, "name", name);
	if (mode)
		resiliency = arg_word(c, "resiliency", mode, resiliencies);
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
	put_u32(req, VFAB_A_RESILIENCY, resiliency);
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
	struct {
		const char *option, *text;
		uint16_t attr;
		uint8_t ranks[RANK_BYTES];
	} sets[] = {
		{ "--add", NULL, VFAB_A_ADD_MEMBERS, { 0 } },
		{ "--del", NULL, VFAB_A_DEL_MEMBERS, { 0 } },
		{ "--park", NULL, VFAB_A_PARK_MEMBERS, { 0 } },
		{ "--unpark", NULL, VFAB_A_UNPARK_MEMBERS, { 0 } },
	};
	const char *mode = NULL;
	bool if_detached = false, any = false;
	const struct opt opts[] = {
		{ "add", &sets[0].text, NULL },
		{ "del", &sets[1].text, NULL },
		{ "park", &sets[2].text, NULL },
		{ "unpark", &sets[3].text, NULL },
		{ "resiliency", &mode, NULL },
		{ "if-detached", NULL, &if_detached },
		{ NULL, NULL, NULL }
	};
	int ret = DONE, resiliency = -1;
	struct nlmsghdr *req;
	const char *pos[1];
	struct addr a;
	size_t i;

	args_parse(c, argc, argv, opts, 1, 1, pos);
	a = arg_addr(c, pos[0], ADDR_PART);
	if (mode)
		resiliency = arg_word(c, "resiliency", mode, resiliencies);
	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (sets[i].text) {
			arg_ranks(c, sets[i].option, sets[i].text, sets[i].ranks);
			any = true;
		}
	if (!any && !mode)
		usage(c, "nothing to set: give --add, --del, --park, --unpark or --resiliency");
	for (i = 0; !ret && i < sizeof(sets) / sizeof(sets[0]); i++)
		if (sets[i].text)
			ret = members_in_range(c, &a, sets[i].ranks);
	if (ret)
		return ret;
	req = request(c, VFAB_CMD_PARTITION_SET, &a);
	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (sets[i].text)
			put_ranks(req, sets[i].attr, sets[i].ranks);
	put_u32(req, VFAB_A_RESILIENCY, resiliency);
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
	{ "create add", create, "D [ID] [--name NAME] [--members RANKS] [--resiliency MODE]",
	  "Create a partition and its device file, and print it. Without an id the\n"
	  "lowest free one is taken.\n"
	  "\n"
	  "  --members RANKS    endpoints to move into it, such as 0-3,8\n"
	  "  --resiliency MODE  adaptive: it goes on with the links that remain (default);\n"
	  "                     full: without all of them it is unhealthy" },
	{ "delete del", delete, "D/partN",
	  "Delete a partition that has no members. Partition 0 stays." },
	{ "show list ls", show, "[D | D/partN]",
	  "Show one partition, those of a domain, or all." },
	{ "set", set, "D/partN [--add RANKS] [--del RANKS] [--if-detached] [--park RANKS]\n"
	  "       [--unpark RANKS] [--resiliency full|adaptive]",
	  "Move endpoints into a partition, from wherever they are, or out of it, into\n"
	  "none. What crosses the new border is revoked before the command returns. Or\n"
	  "park members: take them out of service where they are.\n"
	  "\n"
	  "  --if-detached  refuse if one that would move is held, and change nothing\n"
	  "  --park RANKS   members whose routes are all to be lost, as if their links were\n"
	  "                 down, until they are taken back by --unpark, or moved\n"
	  "  --resiliency   see create; routes do not change" },
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
