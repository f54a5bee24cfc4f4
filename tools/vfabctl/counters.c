// SPDX-License-Identifier: GPL-2.0
/* Counters of endpoints and ports: show, describe, clear. */
#include <ctype.h>
#include <stdio.h>
#include "telemetry.h"
#include "vfabctl.h"

#define COUNTED (ADDR_DOM | ADDR_EP | ADDR_EP_PORT | ADDR_SW | ADDR_SW_PORT)

struct show {
	struct ctx *c;
	bool nonzero;
	int only;		/* one counter, or -1 */
};

/* What of @o is to be shown: a bit for each counter */
static uint64_t wanted(const struct show *s, const struct tele_object *o)
{
	uint64_t mask = o->present;
	unsigned int i;

	if (s->only >= 0)
		mask &= 1ULL << s->only;
	for (i = 0; s->nonzero && i < TELE_COUNTERS; i++)
		if (!o->value[i])
			mask &= ~(1ULL << i);
	return mask;
}

static int show_one(const struct vfab_nl_msg *msg, void *data)
{
	bool ep = has(msg, VFAB_A_RANK);
	struct tele_object o = { .addr = {
		.domain = get32(msg, VFAB_A_DOMAIN), .is_switch = !ep,
		.index = get32(msg, ep ? VFAB_A_RANK : VFAB_A_SWITCH),
		.port = has(msg, VFAB_A_PORT) ? (int)get32(msg, VFAB_A_PORT) : -1,
	} };
	struct show *s = data;
	struct ctx *c = s->c;
	char addr[TELE_ADDR];
	unsigned int i;
	uint64_t mask;

	tele_read_object(msg, &o);
	mask = wanted(s, &o);
	if (!mask)
		return 0;
	item(c, "%s", tele_text(&o.addr, addr));
	out_uint(c, "domain", NULL, o.addr.domain);
	out_uint(c, ep ? "rank" : "switch", NULL, o.addr.index);
	if (o.addr.port >= 0)
		out_uint(c, "port", NULL, o.addr.port);
	out_open(c, "counters", '{');
	for (i = 0; i < TELE_COUNTERS; i++)
		if (mask >> i & 1)
			out_uint(c, tele_counters[i].name, tele_counters[i].name, o.value[i]);
	out_close(c, '}');
	item_end(c);
	return 0;
}

static int describe_all(struct ctx *c, int only);

/* The number of the counter of this name */
static int arg_counter(struct ctx *c, const char *name)
{
	int i = tele_by_name(name);

	if (i < 0)
		usage(c, "there is no counter \"%s\": 'vfabctl counters describe' lists them",
		      escaped(name));
	return i;
}

/* One port is asked for, else a dump: an object and what is below it */
static int show(struct ctx *c, int argc, char **argv)
{
	struct show s = { .c = c, .only = -1 };
	const char *only = NULL, *pos[1];
	bool describe = false;
	const struct opt opts[] = {
		{ "nonzero", NULL, &s.nonzero },
		{ "only", &only, NULL },
		{ "describe", NULL, &describe },
		{ NULL, NULL, NULL }
	};
	struct addr a;
	int ret;

	args_parse(c, argc, argv, opts, 0, 1, pos);
	if (only)
		s.only = arg_counter(c, only);
	if (describe)
		return describe_all(c, s.only);
	a = arg_addr(c, pos[0], COUNTED);
	ret = a.port < 0 ? in_range(c, &a, -1) : DONE;
	if (ret)
		return ret;
	request(c, VFAB_CMD_COUNTER_GET, &a);
	return a.port < 0 ? ask_all(c, show_one, &s) : ask(c, show_one, &s);
}

/* --- describe ---------------------------------------------------------------------- */

static const struct {
	unsigned int bit;
	const char *text;
} objects[] = {
	{ TELE_ON_EP, "endpoints" },
	{ TELE_ON_EP_PORT, "ports of endpoints" },
	{ TELE_ON_SW_PORT, "ports of switches" },
};

static void out_objects(struct ctx *c, unsigned int on)
{
	bool any = false;
	size_t i;

	out_open(c, "objects", '[');
	out_text(c, "\n    of: ");
	for (i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		if (!(on & objects[i].bit))
			continue;
		if (c->json)
			out_str(c, "", NULL, objects[i].text);
		else
			printf("%s%s", any ? ", " : "", objects[i].text);
		any = true;
	}
	out_close(c, ']');
}

static void out_equivalent(struct ctx *c, const char *key, const char *label, const char *name)
{
	if (!name) {
		out_null(c, key, NULL, NULL);
		return;
	}
	out_text(c, "\n    %s:", label);
	out_str(c, key, "", name);
}

static int describe_all(struct ctx *c, int only)
{
	char metric[TELE_METRIC];
	int i;

	for (i = 0; i < TELE_COUNTERS; i++) {
		const struct tele_counter *k = &tele_counters[i];

		if (only >= 0 && i != only)
			continue;
		item(c, "%s", k->name);
		out_str(c, "name", NULL, k->name);
		out_str(c, "unit", "", k->unit);
		out_text(c, "\n    moved when:");
		out_str(c, "event", "", k->event);
		out_objects(c, k->objects);
		out_equivalent(c, "infiniband", "InfiniBand", k->ib);
		out_equivalent(c, "dcgm", "DCGM", k->dcgm);
		out_equivalent(c, "prometheus", "Prometheus", tele_metric(i, metric));
		item_end(c);
	}
	return DONE;
}

static int describe(struct ctx *c, int argc, char **argv)
{
	const char *pos[1];

	args_parse(c, argc, argv, NULL, 0, 1, pos);
	return describe_all(c, pos[0] ? arg_counter(c, pos[0]) : -1);
}

static int clear(struct ctx *c, int argc, char **argv)
{
	const char *pos[1];
	struct addr a;

	args_parse(c, argc, argv, NULL, 1, 1, pos);
	a = arg_addr(c, pos[0], COUNTED);
	request(c, VFAB_CMD_COUNTER_CLEAR, &a);
	return ask(c, NULL, NULL);
}

const struct verb counters_verbs[] = {
	{ "show list ls", show,
	  "[D | D/epR | D/epR/pK | D/swK | D/swK/pR] [--nonzero] [--only NAME]",
	  "Show the counters of one port, of an endpoint and its ports, of a switch's ports,\n"
	  "of all of a domain, or all there are. A counter that has no source at an object is\n"
	  "left out, and never shown as 0.\n"
	  "\n"
	  "  --nonzero    only counters that are not 0\n"
	  "  --only NAME  only this one\n"
	  "  --describe   the same as the verb describe" },
	{ "describe", describe, "[NAME]",
	  "Say of each counter, or of one, its unit, the event that moves it, which objects\n"
	  "have it, and what InfiniBand, DCGM and Prometheus ('vfabctl export') call it. Asks\n"
	  "the module nothing." },
	{ "clear", clear, "{D | D/epR | D/epR/pK | D/swK | D/swK/pR}",
	  "Set counters to 0: those that show would show." },
	{ "snapshot", counters_snapshot, "D FILE",
	  "Write all counters of a domain, and the state of its links, into a file (JSON), for\n"
	  "diff. '-' is the standard output." },
	{ "diff", counters_diff, "BEFORE [AFTER] [--all]",
	  "Say what moved from one snapshot to another, or until now, by link, with both\n"
	  "ends, and by endpoint. The suspicious ones come first: links whose state changed or\n"
	  "is not ACTIVE, then those with errors, then with waiting (shape), then with traffic.\n"
	  "Counters that were cleared in between are said to be so, and count from there.\n"
	  "Snapshots of different domains are refused. '-' is the standard input.\n"
	  "\n"
	  "  --all  in text, all those of which only the traffic moved; else 20 at most" },
	{ NULL, NULL, NULL, NULL }
};
