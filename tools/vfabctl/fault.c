// SPDX-License-Identifier: GPL-2.0
/*
 * Faults: create, delete, show. By example:
 *
 *	vfabctl fault create rack1 link-flap ep5/p3 period 0.2 count 10 seed 7
 *	vfabctl fault create rack1 peer-kill after 2
 *	vfabctl fault show rack1
 *	vfabctl fault delete rack1 3
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "telemetry.h"
#include "vfabctl.h"

static const char *const kinds[] = {
	"link-down", "link-flap", "link-degrade", "blackhole", "stuck", "override",
	"peer-kill", "node-loss", "manager-stall", "import-refuse", "quota",
	"event-delay", "event-reorder", "event-drop", NULL
};

/* What each takes besides after and seed */
static const char *const takes[] = {
	"for",
	"for, count, period",
	"for, rate, latency, width, silent",
	"for",
	"for, count",
	"for, state, status, uuid, clique, health",
	"spare",
	"for, spare",
	"for",
	"for, count, errno, skip, permille",
	"for, count, errno, limit",
	"for, delay",
	"for, delay",
	"for, count, permille",
};

/* Of that, what may not be missing altogether */
static const char *const wants[VFAB_FAULT_EVENT_DROP + 1] = {
	[VFAB_FAULT_LINK_FLAP] = "period",
	[VFAB_FAULT_LINK_DEGRADE] = "rate, latency, width",
	[VFAB_FAULT_BLACKHOLE] = "for",
	[VFAB_FAULT_OVERRIDE] = "state, status, uuid, clique, health",
	[VFAB_FAULT_EVENT_DELAY] = "delay",
};

static const char *const phases[] = { "pending", "active", "ended" };

/* Those that the kernel takes for fault-errno, and statuses that people met */
static const struct {
	const char *name;
	int value;
} errnos[] = {
	{ "EPERM", EPERM }, { "ENOENT", ENOENT }, { "EACCES", EACCES },
	{ "EHOSTUNREACH", EHOSTUNREACH }, { "EDQUOT", EDQUOT }, { "ENOSPC", ENOSPC },
	{ "ENOMEM", ENOMEM }, { "EAGAIN", EAGAIN }, { "EBUSY", EBUSY }, { "EIO", EIO },
	{ "ETIMEDOUT", ETIMEDOUT },
};

static const char *errno_name(int value)
{
	static char number[16];
	size_t i;

	for (i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		if (errnos[i].value == value)
			return errnos[i].name;
	snprintf(number, sizeof(number), "%d", value);
	return number;
}

/* --- Showing ------------------------------------------------------------------------ */

static void out_target(struct ctx *c, const struct vfab_nl_msg *msg)
{
	uint32_t dom = get32(msg, VFAB_A_DOMAIN);
	char addr[64];
	int n = snprintf(addr, sizeof(addr), "dom%u", dom);
	static const struct {
		uint16_t attr;
		const char *prefix;
	} parts[] = {
		{ VFAB_A_NODE, "node" }, { VFAB_A_RANK, "ep" }, { VFAB_A_SWITCH, "sw" },
		{ VFAB_A_PORT, "p" },
	};
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (has(msg, parts[i].attr))
			n += snprintf(addr + n, sizeof(addr) - n, "/%s%u", parts[i].prefix,
				      get32(msg, parts[i].attr));
	if (has(msg, VFAB_A_FAULT_ALL))
		snprintf(addr + n, sizeof(addr) - n, "/all");
	out_str(c, "target", "at", addr);
}

/* Milliseconds: in JSON as they are, in text as seconds */
static void out_time(struct ctx *c, const struct vfab_nl_msg *msg, uint16_t attr,
		     const char *key, const char *label)
{
	uint64_t ms = get(msg, attr);

	if (!has(msg, attr))
		return;
	out_uint(c, key, NULL, ms);
	out_text(c, " %s %llu", label, (unsigned long long)ms / 1000);
	if (ms % 1000)
		out_text(c, ".%03llu", (unsigned long long)ms % 1000);
	out_text(c, " s");
}

static void out_number(struct ctx *c, const struct vfab_nl_msg *msg, uint16_t attr,
		       const char *key, const char *label)
{
	if (has(msg, attr))
		out_uint(c, key, label, get(msg, attr));
}

static void out_flag(struct ctx *c, const struct vfab_nl_msg *msg, uint16_t attr,
		     const char *key)
{
	if (!has(msg, attr))
		return;
	out_bool(c, key, true);
	out_text(c, " %s", key);
}

static void out_lies(struct ctx *c, const struct vfab_nl_msg *msg)
{
	if (has(msg, VFAB_A_FABRIC_STATE))
		out_str(c, "state", "state", tele_ep_state(get32(msg, VFAB_A_FABRIC_STATE)));
	if (has(msg, VFAB_A_STATUS))
		out_str(c, "status", "status", (int32_t)get32(msg, VFAB_A_STATUS) ?
			errno_name(-(int32_t)get32(msg, VFAB_A_STATUS)) : "0");
	out_uuid(c, "uuid", "uuid", vfab_nl_attr(msg, VFAB_A_UUID));
	out_number(c, msg, VFAB_A_CLIQUE, "clique", "clique");
	if (has(msg, VFAB_A_HEALTH))
		out_str(c, "health", "health", tele_health(get32(msg, VFAB_A_HEALTH)));
}

/* What breaks, and whether it does now */
void out_fault(struct ctx *c, const struct vfab_nl_msg *msg)
{
	out_str(c, "kind", "", WORD(kinds, get32(msg, VFAB_A_FAULT_KIND)));
	out_str(c, "phase", "", WORD(phases, get32(msg, VFAB_A_FAULT_PHASE)));
}

static int show_one(const struct vfab_nl_msg *msg, void *ctx)
{
	struct ctx *c = ctx;

	item(c, "dom%u/fault%u", get32(msg, VFAB_A_DOMAIN), get32(msg, VFAB_A_FAULT_ID));
	out_uint(c, "domain", NULL, get(msg, VFAB_A_DOMAIN));
	out_uint(c, "id", NULL, get(msg, VFAB_A_FAULT_ID));
	out_fault(c, msg);
	out_target(c, msg);
	out_uint(c, "hits", "hits", get(msg, VFAB_A_FAULT_HITS));
	out_time(c, msg, VFAB_A_FAULT_LEFT, "left_ms", "left");
	out_time(c, msg, VFAB_A_FAULT_AFTER, "after_ms", "after");
	out_time(c, msg, VFAB_A_FAULT_DURATION, "for_ms", "for");
	out_number(c, msg, VFAB_A_FAULT_COUNT, "count", "count");
	out_time(c, msg, VFAB_A_FLAP_PERIOD, "period_ms", "period");
	if (has(msg, VFAB_A_RATE))
		out_rate(c, "rate", "rate", get(msg, VFAB_A_RATE));
	if (has(msg, VFAB_A_LATENCY))
		out_latency(c, "latency", "latency", get(msg, VFAB_A_LATENCY));
	out_number(c, msg, VFAB_A_WIDTH, "width", "width");
	out_lies(c, msg);
	out_number(c, msg, VFAB_A_FAULT_PERMILLE, "permille", "permille");
	if (has(msg, VFAB_A_FAULT_ERRNO))
		out_str(c, "errno", "errno", errno_name(get32(msg, VFAB_A_FAULT_ERRNO)));
	out_number(c, msg, VFAB_A_FAULT_SKIP, "skip", "skip");
	out_number(c, msg, VFAB_A_FAULT_LIMIT, "limit", "limit");
	out_time(c, msg, VFAB_A_FAULT_DELAY, "delay_ms", "delay");
	out_flag(c, msg, VFAB_A_FAULT_SILENT, "silent");
	out_flag(c, msg, VFAB_A_FAULT_SPARE, "spare");
	out_uint(c, "seed", "seed", get(msg, VFAB_A_FAULT_SEED));
	item_end(c);
	return 0;
}

/* "3" or "fault3" */
static uint32_t fault_id(struct ctx *c, const char *text)
{
	return arg_uint(c, "fault", strncmp(text, "fault", 5) ? text : text + 5, 1, UINT32_MAX);
}

/* D, D ID, or D/faultID as they are shown; returns the id, or 0 for all */
static uint32_t fault_addr(struct ctx *c, const char **pos, struct addr *a)
{
	char text[64];
	size_t len = pos[0] ? strcspn(pos[0], "/") : 0;

	if (pos[0] && !strncmp(pos[0] + len, "/fault", 6) && len < sizeof(text)) {
		if (pos[1])
			usage(c, "\"%s\" names a fault already", escaped(pos[0]));
		memcpy(text, pos[0], len);
		text[len] = 0;
		*a = arg_addr(c, text, ADDR_DOM);
		return fault_id(c, pos[0] + len + 1);
	}
	*a = arg_addr(c, pos[0], ADDR_DOM);
	return pos[1] ? fault_id(c, pos[1]) : 0;
}

static int show(struct ctx *c, int argc, char **argv)
{
	struct nlmsghdr *req;
	const char *pos[2];
	struct addr a;
	uint32_t id;

	args_parse(c, argc, argv, NULL, 0, 2, pos);
	id = fault_addr(c, pos, &a);
	req = request(c, VFAB_CMD_FAULT_GET, &a);
	if (id)
		mnl_attr_put_u32(req, VFAB_A_FAULT_ID, id);
	return id ? ask(c, show_one, c) : ask_all(c, show_one, c);
}

static int delete(struct ctx *c, int argc, char **argv)
{
	struct nlmsghdr *req;
	const char *pos[2];
	struct addr a;
	uint32_t id;

	args_parse(c, argc, argv, NULL, 1, 2, pos);
	if (!pos[1] && !strchr(pos[0], '/'))
		usage(c, "say which fault: its number, or all");
	if (pos[1] && !strcmp(pos[1], "all"))
		pos[1] = NULL;
	id = fault_addr(c, pos, &a);
	req = request(c, VFAB_CMD_FAULT_DELETE, &a);
	if (id)
		mnl_attr_put_u32(req, VFAB_A_FAULT_ID, id);
	return ask(c, NULL, NULL);
}

/* --- Creation ------------------------------------------------------------------------ */

/* Times are seconds, or have a unit: 500ms, 2s, 5m, 1h */
static uint32_t arg_errno(struct ctx *c, const char *what, const char *text)
{
	size_t i;

	for (i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++)
		if (!strcmp(errnos[i].name, text))
			return errnos[i].value;
	if (text[strspn(text, "0123456789")])
		usage(c, "%s \"%s\" is not an errno such as EPERM or 1", what, escaped(text));
	return arg_uint(c, what, text, 0, 4095);
}

/* Words as NVML writes them, in either case */
static uint32_t arg_nvml(struct ctx *c, const char *what, const char *text,
			 const char *const *words)
{
	char upper[32] = "";
	size_t i;

	for (i = 0; text[i] && i < sizeof(upper) - 1; i++)
		upper[i] = text[i] == '-' ? '_' : text[i] >= 'a' && text[i] <= 'z' ?
			   text[i] - 'a' + 'A' : text[i];
	return arg_word(c, what, upper, words);
}

struct wishes {
	const char *duration, *count, *after, *seed, *period, *rate, *latency, *width, *state,
		*status, *uuid, *clique, *health, *permille, *err, *skip, *limit, *delay;
	bool silent, spare;
};

static void put_time(struct ctx *c, struct nlmsghdr *req, uint16_t attr, const char *what,
		     const char *text)
{
	if (text)
		mnl_attr_put_u32(req, attr, arg_milliseconds(c, what, text));
}

static void put_number(struct ctx *c, struct nlmsghdr *req, uint16_t attr, const char *what,
		       const char *text, uint64_t min, uint64_t max)
{
	if (text)
		mnl_attr_put_u32(req, attr, arg_uint(c, what, text, min, max));
}

static void put_lies(struct ctx *c, struct nlmsghdr *req, const struct wishes *w)
{
	uint8_t uuid[16];

	if (w->state)
		mnl_attr_put_u32(req, VFAB_A_FABRIC_STATE,
				 arg_nvml(c, "state", w->state, tele_ep_states));
	if (w->status)
		mnl_attr_put_u32(req, VFAB_A_STATUS, -arg_errno(c, "status", w->status));
	if (w->uuid && !strcmp(w->uuid, "0")) {
		memset(uuid, 0, sizeof(uuid));
		mnl_attr_put(req, VFAB_A_UUID, sizeof(uuid), uuid);
	} else if (w->uuid) {
		arg_uuid(c, w->uuid, uuid);
		mnl_attr_put(req, VFAB_A_UUID, sizeof(uuid), uuid);
	}
	put_number(c, req, VFAB_A_CLIQUE, "clique", w->clique, 0, UINT32_MAX);
	if (w->health)
		mnl_attr_put_u32(req, VFAB_A_HEALTH,
				 arg_nvml(c, "health", w->health, tele_healths));
}

static void put_wishes(struct ctx *c, struct nlmsghdr *req, const struct wishes *w)
{
	if (w->duration && strcmp(w->duration, "ever"))
		put_time(c, req, VFAB_A_FAULT_DURATION, "for", w->duration);
	put_time(c, req, VFAB_A_FAULT_AFTER, "after", w->after);
	put_number(c, req, VFAB_A_FAULT_COUNT, "count", w->count, 1, 1000000);
	put_number(c, req, VFAB_A_FAULT_SEED, "seed", w->seed, 0, UINT32_MAX);
	put_time(c, req, VFAB_A_FLAP_PERIOD, "period", w->period);
	put_number(c, req, VFAB_A_RATE, "rate", w->rate, 1, 100000000);
	put_number(c, req, VFAB_A_LATENCY, "latency", w->latency, 0, 1000000000);
	put_number(c, req, VFAB_A_WIDTH, "width", w->width, 1, UINT16_MAX);
	put_number(c, req, VFAB_A_FAULT_PERMILLE, "permille", w->permille, 1, 1000);
	if (w->err)
		mnl_attr_put_u32(req, VFAB_A_FAULT_ERRNO, arg_errno(c, "errno", w->err));
	put_number(c, req, VFAB_A_FAULT_SKIP, "skip", w->skip, 0, 1000000);
	put_number(c, req, VFAB_A_FAULT_LIMIT, "limit", w->limit, 0, 1024);
	put_time(c, req, VFAB_A_FAULT_DELAY, "delay", w->delay);
	if (w->silent)
		mnl_attr_put(req, VFAB_A_FAULT_SILENT, 0, NULL);
	if (w->spare)
		mnl_attr_put(req, VFAB_A_FAULT_SPARE, 0, NULL);
	put_lies(c, req, w);
}

/* "ep5/p3" below the domain, or a whole address; "all" */
static struct addr target_addr(struct ctx *c, const char *domain, const char *target,
			       bool *all)
{
	char text[128];
	size_t len = strlen(domain);

	*all = target && !strcmp(target, "all");
	if (!target || *all)
		return arg_addr(c, domain, ADDR_DOM);
	if (!strncmp(target, domain, len) && target[len] == '/')
		snprintf(text, sizeof(text), "%s", target);
	else
		snprintf(text, sizeof(text), "%s/%s", domain, target);
	return arg_addr(c, text, ADDR_EP | ADDR_EP_PORT | ADDR_EP_SW | ADDR_SW |
				 ADDR_SW_PORT | ADDR_NODE);
}

static bool listed(const char *list, const char *name)
{
	const char *at = strstr(list, name);
	size_t len = strlen(name);

	return at && (at == list || at[-1] == ' ') && (!at[len] || at[len] == ',');
}

/* The kernel would refuse it without saying what the kind does take. */
static void check_takes(struct ctx *c, unsigned int kind, const struct opt *opts)
{
	const struct opt *o;

	for (o = opts; o->name; o++)
		if ((o->value ? !!*o->value : *o->flag) && !listed("after, seed", o->name) &&
		    !listed(takes[kind], o->name))
			usage(c, "%s does not take %s, but after, seed, %s", kinds[kind],
			      o->name, takes[kind]);
}

/* The kernel would name its attribute, not the word that is missing. */
static void check_wants(struct ctx *c, unsigned int kind, const struct opt *opts)
{
	const struct opt *o;

	for (o = opts; wants[kind] && o->name; o++)
		if (o->value && *o->value && listed(wants[kind], o->name))
			return;
	if (wants[kind] && strchr(wants[kind], ','))
		usage(c, "%s wants some of %s", kinds[kind], wants[kind]);
	if (wants[kind])
		usage(c, "%s wants \"%s TIME\", such as \"%s 200ms\"", kinds[kind], wants[kind],
		      wants[kind]);
}

static int create(struct ctx *c, int argc, char **argv)
{
	struct wishes w = { 0 };
	const struct opt opts[] = {
		{ "for", &w.duration, NULL },
		{ "count", &w.count, NULL },
		{ "after", &w.after, NULL },
		{ "seed", &w.seed, NULL },
		{ "period", &w.period, NULL },
		{ "rate", &w.rate, NULL },
		{ "latency", &w.latency, NULL },
		{ "width", &w.width, NULL },
		{ "state", &w.state, NULL },
		{ "status", &w.status, NULL },
		{ "uuid", &w.uuid, NULL },
		{ "clique", &w.clique, NULL },
		{ "health", &w.health, NULL },
		{ "permille", &w.permille, NULL },
		{ "errno", &w.err, NULL },
		{ "skip", &w.skip, NULL },
		{ "limit", &w.limit, NULL },
		{ "delay", &w.delay, NULL },
		{ "silent", NULL, &w.silent },
		{ "spare", NULL, &w.spare },
		{ NULL, NULL, NULL }
	};
	struct nlmsghdr *req;
	const char *pos[3];
	unsigned int kind;
	struct addr a;
	bool all;

	args_words(opts, 2, argc, argv);
	args_parse(c, argc, argv, opts, 2, 3, pos);
	kind = arg_word(c, "kind", pos[1], kinds);
	check_takes(c, kind, opts);
	check_wants(c, kind, opts);
	a = target_addr(c, pos[0], pos[2], &all);
	req = request(c, VFAB_CMD_FAULT_CREATE, &a);
	mnl_attr_put_u32(req, VFAB_A_FAULT_KIND, kind);
	if (all)
		mnl_attr_put(req, VFAB_A_FAULT_ALL, 0, NULL);
	put_wishes(c, req, &w);
	return ask(c, show_one, c);
}

const struct verb fault_verbs[] = {
	{ "show list ls", show, "[D [ID] | D/faultID]",
	  "Show one fault of a domain, all of a domain, or all: what breaks, where, whether\n"
	  "it is pending, active or ended, how often it acted (hits), and its seed." },
	{ "create add", create, "D KIND [TARGET] [PARAMETERS]",
	  "Break something, from now or later, for a time, a number of times, or until the\n"
	  "fault is deleted. TARGET is as in an address, without the domain; \"all\" are all\n"
	  "links or endpoints; without one, it is chosen from the seed. KIND is one of:\n"
	  "\n"
	  "  link-down      links are broken\n"
	  "  link-flap      links go down and up: period TIME [count N]\n"
	  "  link-degrade   links are worse: [rate MBPS] [latency NS] [width LANES] [silent]\n"
	  "  blackhole      what would pass over links stalls, though all seems well: for TIME\n"
	  "  stuck          endpoints stay IN_PROGRESS, attaching is refused: [count N]\n"
	  "  override       endpoints are shown with: [state S] [status ERRNO] [uuid UUID|0]\n"
	  "                 [clique N] [health H]\n"
	  "  peer-kill      an endpoint ends and its process is killed; [spare] only ends it\n"
	  "  node-loss      all endpoints of a node, and then its links; [spare]\n"
	  "  manager-stall  no routing table changes\n"
	  "  import-refuse  imports fail: [errno E] [skip N] [permille N] [count N]\n"
	  "  quota          windows beyond limit N fail: [errno E] [count N]\n"
	  "  event-delay    events are read late: delay TIME\n"
	  "  event-reorder  in another order: [delay TIME]\n"
	  "  event-drop     or not at all: [permille N] [count N]\n"
	  "\n"
	  "All take these, the times in seconds or as 200ms, 5m, 1h:\n"
	  "\n"
	  "  after TIME     it begins then, not now\n"
	  "  for TIME       it ends by itself, unless \"for ever\" (default)\n"
	  "  seed N         decides what is left to chance (default: a random one)" },
	{ "delete del", delete, "{D ID | D all | D/faultID}",
	  "Delete a fault, or all of a domain: what it did is undone when this returns." },
	{ NULL, NULL, NULL, NULL }
};
