// SPDX-License-Identifier: GPL-2.0
/* Windows: show. */
#include "vfabctl.h"

static int show_one(const struct vfab_nl_msg *msg, void *ctx)
{
	uint32_t access = get32(msg, VFAB_A_ACCESS);
	struct ctx *c = ctx;

	item(c, "dom%u/ep%u", get32(msg, VFAB_A_DOMAIN), get32(msg, VFAB_A_RANK));
	out_uint(c, "domain", NULL, get(msg, VFAB_A_DOMAIN));
	out_uint(c, "rank", NULL, get(msg, VFAB_A_RANK));
	out_hex(c, "handle", "window", get(msg, VFAB_A_HANDLE));
	out_bytes(c, "size", "size", get(msg, VFAB_A_SIZE));
	out_hex(c, "tag", "tag", get(msg, VFAB_A_TAG));
	out_str(c, "access", "access", access & VFAB_ACCESS_WRITE ? "rw" : "r");
	out_ranks(c, "importers", "importers", vfab_nl_attr(msg, VFAB_A_IMPORTERS));
	out_uint(c, "imports", "imports", get(msg, VFAB_A_IMPORT_COUNT));
	out_channel(c, msg);
	item_end(c);
	return 0;
}

static int show(struct ctx *c, int argc, char **argv)
{
	const char *rank = NULL, *handle = NULL;
	const struct opt opts[] = {
		{ "rank", &rank, NULL },
		{ "handle", &handle, NULL },
		{ NULL, NULL, NULL }
	};
	uint64_t v_handle = 0;
	struct nlmsghdr *req;
	const char *pos[1];
	struct addr a;
	int ret;

	args_parse(c, argc, argv, opts, 0, 1, pos);
	a = arg_addr(c, pos[0], ADDR_DOM | ADDR_EP);
	if (!a.kind && (rank || handle))
		usage(c, "--rank and --handle want a domain");
	if (rank && a.rank >= 0)
		usage(c, "the rank is given twice");
	if (rank)
		a.rank = arg_uint(c, "rank", rank, 0, VFAB_MAX_WORLD - 1);
	if (handle)
		v_handle = arg_hex(c, "handle", handle);
	ret = in_range(c, &a, -1);
	if (ret)
		return ret;
	req = request(c, VFAB_CMD_WINDOW_GET, &a);
	if (!handle)
		return ask_all(c, show_one, c);
	mnl_attr_put_u64(req, VFAB_A_HANDLE, v_handle);
	return ask(c, show_one, c);
}

const struct verb window_verbs[] = {
	{ "show list ls", show, "[D | D/epR] [--rank R] [--handle H]",
	  "Show the windows of an endpoint, of a domain, or all: their owner, size, tag,\n"
	  "the access that they give and the ranks that have imported them." },
	{ NULL, NULL, NULL, NULL }
};
