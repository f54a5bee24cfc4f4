// SPDX-License-Identifier: GPL-2.0
/* What holds for the whole module: show, set. */
#include "vfabctl.h"

static const char *const netns_modes[] = { "exclusive", "shared", NULL };

static int show_system(const struct vfab_nl_msg *msg, void *ctx)
{
	struct ctx *c = ctx;

	item(c, "system");
	out_str(c, "netns", "netns", WORD(netns_modes, get32(msg, VFAB_A_NETNS_MODE)));
	out_uint(c, "domains", "domains", get(msg, VFAB_A_DOMAINS));
	out_limit(c, "user_mem_limit", "user-mem-limit", get(msg, VFAB_A_USER_MEM_LIMIT));
	item_end(c);
	return 0;
}

static int show(struct ctx *c, int argc, char **argv)
{
	args_parse(c, argc, argv, NULL, 0, 0, NULL);
	request(c, VFAB_CMD_SYSTEM_GET, NULL);
	return ask(c, show_system, c);
}

static int set(struct ctx *c, int argc, char **argv)
{
	static const char *const what[] = { "netns", NULL };
	const char *pos[2];
	unsigned int mode;

	args_parse(c, argc, argv, NULL, 2, 2, pos);
	arg_word(c, "what to set,", pos[0], what);
	mode = arg_word(c, "mode", pos[1], netns_modes);
	mnl_attr_put_u32(request(c, VFAB_CMD_SYSTEM_SET, NULL), VFAB_A_NETNS_MODE, mode);
	return ask(c, NULL, NULL);
}

const struct verb system_verbs[] = {
	{ "show list ls", show, "",
	  "Show the number of domains on this machine, the limit of one user's windows,\n"
	  "and who sees domains." },
	{ "set", set, "netns exclusive|shared",
	  "Choose whether domains are seen in their own network namespace only, or,\n"
	  "read-only, in all." },
	{ NULL, NULL, NULL, NULL }
};
