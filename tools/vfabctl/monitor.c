// SPDX-License-Identifier: GPL-2.0
/* Print changes as they happen. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "vfabctl.h"

#define DRAIN	10000		/* at most so many; in a storm, more come all the time */

static const char *const objects[] = {
	"domain", "partition", "endpoint", "window", "switch", "port", "link",
	"route", "system", "channel", "counter", "fault",
	"manager", "backplane",
};

static const char *const actions[] = {
	"created", "deleted", "changed", "attached", "detached",
};

static const char *const reasons[] = {
	"none", "exit", "link", "route", "partition", "free", "delete", "attach",
	"create", "admin",
};

struct watch {
	struct ctx *c;
	const struct addr *a;	/* kind 0: all domains */
	uint64_t seen, wanted;
};

static bool concerns(const struct addr *a, const struct vfab_nl_msg *msg)
{
	if (!a->kind)
		return true;
	if (*a->name)
		return !strcmp(a->name, get_str(msg, VFAB_A_DOMAIN_NAME));
	return has(msg, VFAB_A_DOMAIN) && get32(msg, VFAB_A_DOMAIN) == a->id;
}

/* Is the partition part of the object's address? */
static bool names_partition(const struct vfab_nl_msg *msg)
{
	uint32_t object = get32(msg, VFAB_A_OBJECT);

	return object == VFAB_OBJ_PARTITION || object == VFAB_OBJ_CHANNEL;
}

static void event_addr(char *addr, size_t len, const struct vfab_nl_msg *msg)
{
	static const struct {
		uint16_t attr;
		const char *prefix;
	} parts[] = {
		{ VFAB_A_NODE, "node" },
		{ VFAB_A_RANK, "ep" },
		{ VFAB_A_SWITCH, "sw" },
		{ VFAB_A_PORT, "p" },
	};
	size_t i, n;

	if (has(msg, VFAB_A_BACKPLANE)) {
		snprintf(addr, len, "%s/node%u", printable(get_str(msg, VFAB_A_BACKPLANE)),
			 get32(msg, VFAB_A_NODE));
		return;
	}
	if (!has(msg, VFAB_A_DOMAIN)) {
		snprintf(addr, len, "system");
		return;
	}
	n = snprintf(addr, len, "dom%u", get32(msg, VFAB_A_DOMAIN));
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (has(msg, parts[i].attr))
			n += snprintf(addr + n, len - n, "/%s%u", parts[i].prefix,
				      get32(msg, parts[i].attr));
	if (has(msg, VFAB_A_PARTITION) && names_partition(msg))
		n += snprintf(addr + n, len - n, "/part%u", get32(msg, VFAB_A_PARTITION));
	if (get(msg, VFAB_A_OBJECT) == VFAB_OBJ_CHANNEL)
		snprintf(addr + n, len - n, "/ch%u", get32(msg, VFAB_A_CHANNEL));
	if (has(msg, VFAB_A_FAULT_ID))
		snprintf(addr + n, len - n, "/fault%u", get32(msg, VFAB_A_FAULT_ID));
}

/* An attribute that is a number and may be absent. */
static void out_maybe(struct ctx *c, const struct vfab_nl_msg *msg, uint16_t attr, const char *key,
		      const char *label)
{
	if (has(msg, attr))
		out_uint(c, key, label, get(msg, attr));
}

static void show_event(struct ctx *c, const struct vfab_nl_msg *msg)
{
	uint32_t object = get32(msg, VFAB_A_OBJECT);
	char addr[64];

	event_addr(addr, sizeof(addr), msg);
	item(c, "%s", addr);
	out_str(c, "object", "", WORD(objects, object));
	out_str(c, "action", "", WORD(actions, get32(msg, VFAB_A_ACTION)));
	out_str(c, "reason", "why", WORD(reasons, get32(msg, VFAB_A_REASON)));
	out_maybe(c, msg, VFAB_A_DOMAIN, "domain", NULL);
	if (has(msg, VFAB_A_DOMAIN_NAME))
		out_str(c, "name", object == VFAB_OBJ_DOMAIN ? "name" : NULL,
			get_str(msg, VFAB_A_DOMAIN_NAME));
	out_maybe(c, msg, VFAB_A_PARTITION, "partition",
		  names_partition(msg) ? NULL : "partition");
	out_maybe(c, msg, VFAB_A_CHANNEL, "channel",
		  object == VFAB_OBJ_CHANNEL ? NULL : "channel");
	out_maybe(c, msg, VFAB_A_NODE, "node", NULL);
	out_maybe(c, msg, VFAB_A_RANK, "rank", NULL);
	out_maybe(c, msg, VFAB_A_SWITCH, "switch", NULL);
	out_maybe(c, msg, VFAB_A_PORT, "port", NULL);
	out_maybe(c, msg, VFAB_A_DEST, "dest", "dest");
	if (has(msg, VFAB_A_UP)) {
		out_bool(c, "up", get(msg, VFAB_A_UP));
		out_text(c, get(msg, VFAB_A_UP) ? " up" : " down");
	}
	if (has(msg, VFAB_A_ACTIVE)) {
		out_bool(c, "active", get(msg, VFAB_A_ACTIVE));
		out_text(c, get(msg, VFAB_A_ACTIVE) ? " active yes" : " active no");
	}
	if (has(msg, VFAB_A_FAULT_KIND))
		out_fault(c, msg);
	if (has(msg, VFAB_A_PARKED)) {
		out_bool(c, "parked", get(msg, VFAB_A_PARKED));
		out_text(c, get(msg, VFAB_A_PARKED) ? " parked yes" : " parked no");
	}
	if (has(msg, VFAB_A_RESILIENCY))
		out_str(c, "resiliency", "resiliency", get(msg, VFAB_A_RESILIENCY) ==
			VFAB_RESILIENCY_FULL ? "full" : "adaptive");
	if (has(msg, VFAB_A_MANAGER_STATE))
		out_str(c, "manager", "", WORD(manager_states, get32(msg, VFAB_A_MANAGER_STATE)));
	if (has(msg, VFAB_A_BACKPLANE_STATE))
		out_str(c, "state", "", WORD(backplane_states, get32(msg, VFAB_A_BACKPLANE_STATE)));
	if (has(msg, VFAB_A_BACKPLANE_WHY))
		out_str(c, "lost", "lost", WORD(backplane_whys, get32(msg, VFAB_A_BACKPLANE_WHY)));
	if (has(msg, VFAB_A_MEMBERS))
		out_ranks(c, "members", "members", vfab_nl_attr(msg, VFAB_A_MEMBERS));
	if (has(msg, VFAB_A_NETNS_MODE))
		out_str(c, "netns", "netns", get(msg, VFAB_A_NETNS_MODE) ==
			VFAB_NETNS_SHARED ? "shared" : "exclusive");
	out_maybe(c, msg, VFAB_A_ROUTES_CHANGED, "routes_changed", "routes-changed");
	out_maybe(c, msg, VFAB_A_ROUTES_LOST, "routes_lost", "routes-lost");
	out_maybe(c, msg, VFAB_A_GENERATION, "generation", "generation");
	item_end(c);
}

static int event(const struct vfab_nl_msg *msg, void *data)
{
	struct watch *w = data;

	if (!concerns(w->a, msg))
		return 0;
	show_event(w->c, msg);
	/* Each line is flushed; where they go nowhere, main() says so. */
	return ++w->seen == w->wanted || ferror(stdout);
}

/*
 * Events were lost: say so, and how things are now. What is still queued
 * happened before the loss and must not be taken for news after it.
 */
static int resync(struct watch *w, struct vfab_nl *events)
{
	struct ctx *c = w->c;
	int i, ret = 0;

	for (i = 0; i < DRAIN && ret != -ETIMEDOUT; i++) {
		ret = vfab_nl_event(events, 0, event, w);
		if (ret > 0)
			return DONE;
	}
	item(c, "system");
	out_str(c, "object", "", "monitor");
	out_str(c, "action", "", "overflow");
	out_text(c, ": events were lost, these are the domains now; look at what else you follow");
	item_end(c);
	request(c, VFAB_CMD_DOMAIN_GET, NULL);
	return ask_all(c, show_domain, c);
}

static int watch(struct watch *w, struct vfab_nl *events, int64_t deadline)
{
	int64_t left = -1;
	int ret;

	for (;;) {
		if (deadline >= 0) {
			left = deadline - now_ms();
			if (left <= 0)
				return w->wanted ? TIMED_OUT : DONE;
		}
		ret = vfab_nl_event(events, left, event, w);
		if (ret > 0)
			return DONE;
		if (ret == -ENOBUFS) {
			ret = resync(w, events);
			if (ret || ferror(stdout) ||
			    (w->wanted && w->seen >= w->wanted))
				return ret;
		} else if (ret && ret != -ETIMEDOUT && ret != -EINTR) {
			error(w->c, "%s", vfab_nl_error(events));
			return REFUSED;
		}
	}
}

static int monitor(struct ctx *c, int argc, char **argv)
{
	const char *timeout = NULL, *count = NULL;
	const struct opt opts[] = {
		{ "timeout", &timeout, NULL },
		{ "count", &count, NULL },
		{ NULL, NULL, NULL }
	};
	struct watch w = { .c = c };
	struct vfab_nl *events;
	int64_t deadline = -1;
	const char *pos[1];
	struct addr a;
	int ret;

	args_parse(c, argc, argv, opts, 0, 1, pos);
	a = arg_addr(c, pos[0], ADDR_DOM);
	w.a = &a;
	if (timeout)
		deadline = now_ms() + arg_milliseconds(c, "timeout", timeout);
	if (count)
		w.wanted = arg_uint(c, "count", count, 1, UINT32_MAX);

	c->lines = true;
	setvbuf(stdout, NULL, _IOLBF, 0);
	request(c, VFAB_CMD_DOMAIN_GET, &a);	/* says whether the module is there */
	ret = a.kind ? ask(c, NULL, NULL) : DONE;
	if (ret)
		return ret;
	ret = vfab_nl_open(&events);
	if (!ret)
		ret = vfab_nl_subscribe(events);
	if (ret) {
		error(c, "%s", vfab_nl_error(events));
		ret = USAGE;
	} else {
		ret = watch(&w, events, deadline);
	}
	if (ret == TIMED_OUT)
		error(c, "%llu of %llu events came in %s s", (unsigned long long)w.seen,
		      (unsigned long long)w.wanted, timeout);
	vfab_nl_close(events);
	return ret;
}

const struct verb monitor_verbs[] = {
	{ "", monitor, "[D] [--timeout S] [--count N]",
	  "Print each change of a domain that is there, or of all, as it happens: the\n"
	  "object's address, what happened, and why. JSON is one object per line. A line\n"
	  "\"overflow\" says that events came faster than they were read; the domains'\n"
	  "present state follows it.\n"
	  "\n"
	  "  --timeout S  end after S seconds\n"
	  "  --count N    end after N events; with --timeout, exit status 3 if they do not\n"
	  "               come in time" },
	{ NULL, NULL, NULL, NULL }
};
