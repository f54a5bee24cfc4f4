// SPDX-License-Identifier: GPL-2.0
/* Requests to the kernel, and what their replies have in common. */
#include <stdio.h>
#include <stdlib.h>
#include "vfabctl.h"

/* What the last request was about; its kind may be 0 */
static struct addr asked;

/* The first request opens the socket; without a module, that is the end. */
struct nlmsghdr *request(struct ctx *c, uint8_t cmd, const struct addr *a)
{
	struct nlmsghdr *req;

	if (!c->nl && vfab_nl_open(&c->nl)) {
		*c->subject = 0;
		error(c, "%s", vfab_nl_error(c->nl));
		exit(USAGE);
	}
	req = vfab_nl_begin(c->nl, cmd);
	asked = a ? *a : (struct addr){ 0 };
	if (!a || !a->kind)
		return req;
	if (*a->name)
		mnl_attr_put_strz(req, VFAB_A_DOMAIN_NAME, a->name);
	else
		mnl_attr_put_u32(req, VFAB_A_DOMAIN, a->id);
	put_u32(req, VFAB_A_RANK, a->rank);
	put_u32(req, VFAB_A_SWITCH, a->sw);
	put_u32(req, VFAB_A_PORT, a->port);
	put_u32(req, VFAB_A_PARTITION, a->part);
	put_u32(req, VFAB_A_CHANNEL, a->chan);
	put_u32(req, VFAB_A_NODE, a->node);
	return req;
}

/* Negative values are left out. */
void put_u32(struct nlmsghdr *req, uint16_t attr, int64_t value)
{
	if (value >= 0)
		mnl_attr_put_u32(req, attr, value);
}

/* Without the zeroes at the end: a rank that is not there is not refused. */
void put_ranks(struct nlmsghdr *req, uint16_t attr, const uint8_t ranks[RANK_BYTES])
{
	size_t len = RANK_BYTES;

	while (len > 1 && !ranks[len - 1])
		len--;
	mnl_attr_put(req, attr, len, ranks);
}

static struct nlmsghdr *request_domain(struct ctx *c, const struct addr *a)
{
	struct addr domain = *a;

	domain.rank = -1;
	domain.sw = -1;
	domain.port = -1;
	domain.part = -1;
	domain.chan = -1;
	domain.node = -1;
	return request(c, VFAB_CMD_DOMAIN_GET, &domain);
}

struct limits {
	uint32_t world, switches;
};

static int read_limits(const struct vfab_nl_msg *msg, void *data)
{
	struct limits *l = data;

	l->world = get32(msg, VFAB_A_WORLD);
	l->switches = get32(msg, VFAB_A_SWITCHES);
	return 0;
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* "... is not below the domain's world size": 72, or 0 where it is unknown */
static uint32_t limit_of(struct ctx *c, const char *refusal)
{
	bool switches = ends_in(refusal, "not below the domain's number of switches");
	struct limits l = { 0 };

	if (!asked.kind ||
	    (!switches && !ends_in(refusal, "not below the domain's world size")))
		return 0;
	request_domain(c, &asked);
	if (vfab_nl_do(c->nl, read_limits, &l))
		return 0;
	return switches ? l.switches : l.world;
}

/* What the kernel's sentence leaves to the tool: where to look, which limit. */
static int status(struct ctx *c, int ret)
{
	const char *remedy = "";
	char refusal[512];
	uint32_t limit;

	if (ret >= 0)
		return ret;
	snprintf(refusal, sizeof(refusal), "%s", vfab_nl_error(c->nl));
	limit = limit_of(c, refusal);
	if (limit) {
		error(c, "%s, %u", refusal, limit);
		return REFUSED;
	}
	if (ends_in(refusal, "no such domain in this network namespace"))
		remedy = ": 'vfabctl domain show' lists them";
	else if (ends_in(refusal, "no such partition in this domain"))
		remedy = ": 'vfabctl partition show' lists them";
	else if (ret == -EEXIST && !strstr(refusal, ": "))
		remedy = ": choose another";
	error(c, "%s%s", refusal, remedy);
	return REFUSED;
}

/* Send the request; a refusal is printed. Return: an exit status. */
int ask(struct ctx *c, vfab_nl_cb cb, void *data)
{
	int ret = vfab_nl_do(c->nl, cb, data);

	if (!ret && *vfab_nl_error(c->nl))
		error(c, "%s", vfab_nl_error(c->nl));
	return status(c, ret);
}

/* The same as a dump. */
int ask_all(struct ctx *c, vfab_nl_cb cb, void *data)
{
	return status(c, vfab_nl_dump(c->nl, cb, data));
}

struct bounds {
	struct ctx *c;
	int64_t rank, sw;
};

static int check_bounds(const struct vfab_nl_msg *msg, void *data)
{
	uint32_t world = get32(msg, VFAB_A_WORLD), switches = get32(msg, VFAB_A_SWITCHES);
	struct bounds *b = data;

	if (b->rank < world && b->sw < switches)
		return DONE;
	if (b->rank >= world)
		error(b->c, "rank %lld is not below the world size %u", (long long)b->rank, world);
	else
		error(b->c, "switch %lld is not below the number of switches %u",
		      (long long)b->sw, switches);
	return REFUSED;
}

/**
 * in_range - before a dump: does the domain have what is asked for
 * @a: the address; its domain, rank, switch and port (of a switch) are looked at
 * @dest: another rank, or -1
 *
 * A dump of something that is not there would be empty, not refused.
 */
int in_range(struct ctx *c, const struct addr *a, int64_t dest)
{
	struct bounds b = { .c = c, .rank = a->rank, .sw = a->sw };

	if (b.rank < dest)
		b.rank = dest;
	if (!a->kind || (b.rank < 0 && b.sw < 0))
		return DONE;
	request_domain(c, a);
	return ask(c, check_bounds, &b);
}

static int show_changed(const struct vfab_nl_msg *msg, void *data)
{
	struct ctx *c = data;

	item(c, "dom%u", get32(msg, VFAB_A_DOMAIN));
	out_uint(c, "routes_changed", "routes-changed", get(msg, VFAB_A_ROUTES_CHANGED));
	out_uint(c, "routes_lost", "routes-lost", get(msg, VFAB_A_ROUTES_LOST));
	item_end(c);
	return 0;
}

/* Send a request that changes routes, and print how many. */
int ask_change(struct ctx *c)
{
	return ask(c, show_changed, c);
}

/**
 * show_objects - the verb show, where it takes an address and no options
 * @own: the kind of address that names one object
 * @wider: kinds that name several; without an address, all are meant
 * @cb: prints one
 */
int show_objects(struct ctx *c, int argc, char **argv, uint8_t cmd, unsigned int own,
		 unsigned int wider, vfab_nl_cb cb)
{
	const char *pos[1];
	struct addr a;

	args_parse(c, argc, argv, NULL, 0, 1, pos);
	a = arg_addr(c, pos[0], own | wider);
	request(c, cmd, &a);
	return a.kind == own ? ask(c, cb, c) : ask_all(c, cb, c);
}

/* The verb of objects that are deleted with --force although they are in use. */
int delete_forced(struct ctx *c, int argc, char **argv, uint8_t cmd, unsigned int kind)
{
	bool force = false;
	const struct opt opts[] = {
		{ "force", NULL, &force },
		{ NULL, NULL, NULL }
	};
	struct nlmsghdr *req;
	const char *pos[1];
	struct addr a;

	args_parse(c, argc, argv, opts, 1, 1, pos);
	a = arg_addr(c, pos[0], kind);
	req = request(c, cmd, &a);
	if (force)
		mnl_attr_put(req, VFAB_A_FORCE, 0, NULL);
	return ask(c, NULL, NULL);
}

bool get_bit(const struct nlattr *bitmap, unsigned int bit)
{
	const uint8_t *bytes;

	if (!bitmap || bit / 8 >= mnl_attr_get_payload_len(bitmap))
		return false;
	bytes = mnl_attr_get_payload(bitmap);
	return bytes[bit / 8] >> bit % 8 & 1;
}

void device_path(char path[64], uint32_t domain, uint32_t partition)
{
	if (partition)
		snprintf(path, 64, VFAB_DEV_DIR "/%u.%u", domain, partition);
	else
		snprintf(path, 64, VFAB_DEV_DIR "/%u", domain);
}

void channel_path(char path[64], uint32_t domain, uint32_t partition, uint32_t channel)
{
	snprintf(path, 64, VFAB_DEV_DIR "/%u.%u.%u", domain, partition, channel);
}
