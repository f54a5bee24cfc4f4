// SPDX-License-Identifier: GPL-2.0
/* Endpoints: show (with NVML's words for fabric state and health), evict. */
#include <stdio.h>
#include "telemetry.h"
#include "vfabctl.h"

/*
 * NVML's health mask has fields of two bits (the last one of four, of which
 * nothing is claimed here): 0 is not supported, 1 true, 2 false. A healthy
 * endpoint has 0xaa, as a healthy GPU has.
 */
enum { HEALTH_TRUE = 1, HEALTH_FALSE = 2 };

static const struct {
	const char *key;
	unsigned int shift;
} health_fields[] = {
	{ "degradedBw", 0 },
	{ "routeRecovery", 2 },
	{ "routeUnhealthy", 4 },
	{ "accessTimeoutRecovery", 6 },
	{ "incorrectConfiguration", 8 },
};

uint32_t health_mask(const struct vfab_nl_msg *msg)
{
	uint32_t degraded_bw = HEALTH_FALSE, route_unhealthy = HEALTH_FALSE;
	uint32_t health = get32(msg, VFAB_A_HEALTH), recovery = HEALTH_FALSE;

	if (health == VFAB_HEALTH_NOT_SUPPORTED)
		return 0;
	if (health == VFAB_HEALTH_LIMITED)
		degraded_bw = HEALTH_TRUE;
	if (health == VFAB_HEALTH_UNHEALTHY) {
		route_unhealthy = HEALTH_TRUE;
		/* Some ports are up, but its partition wants all */
		if (get(msg, VFAB_A_PORTS_UP) &&
		    get(msg, VFAB_A_PORTS_UP) < get(msg, VFAB_A_PLANES))
			degraded_bw = HEALTH_TRUE;
	}
	if (get(msg, VFAB_A_RECOVERING))
		recovery = HEALTH_TRUE;
	return degraded_bw | recovery << 2 | route_unhealthy << 4 | HEALTH_FALSE << 6;
}

static void out_health(struct ctx *c, const struct vfab_nl_msg *msg)
{
	static const char *const values[] = { "NOT_SUPPORTED", "TRUE", "FALSE" };
	uint32_t mask = health_mask(msg);
	unsigned int i;

	out_uint(c, "healthMask", NULL, mask);
	out_open(c, "health", '{');
	for (i = 0; i < sizeof(health_fields) / sizeof(health_fields[0]); i++)
		out_str(c, health_fields[i].key, NULL,
			WORD(values, mask >> health_fields[i].shift & 3));
	out_close(c, '}');
	out_str(c, "healthSummary", "health", tele_health(get32(msg, VFAB_A_HEALTH)));
}

static void out_holder(struct ctx *c, const struct vfab_nl_msg *msg)
{
	out_bool(c, "held", get(msg, VFAB_A_HELD));
	if (!get(msg, VFAB_A_HELD)) {
		out_text(c, " vacant");
		return;
	}
	out_text(c, " held");
	if (has(msg, VFAB_A_HOLDER_PID))
		out_uint(c, "pid", "pid", get(msg, VFAB_A_HOLDER_PID));
	if (has(msg, VFAB_A_HOLDER_COMM))
		out_quoted(c, "comm", "comm", get_str(msg, VFAB_A_HOLDER_COMM));
	out_uint(c, "windows", "windows", get(msg, VFAB_A_WINDOWS));
	out_bytes(c, "mem_used", "mem-used", get(msg, VFAB_A_MEM_USED));
	out_uint(c, "imports", "imports", get(msg, VFAB_A_IMPORTS));
}

/* An access group of the partition, or none */
void out_channel(struct ctx *c, const struct vfab_nl_msg *msg)
{
	if (has(msg, VFAB_A_CHANNEL))
		out_uint(c, "channel", "channel", get(msg, VFAB_A_CHANNEL));
	else
		out_null(c, "channel", NULL, NULL);
}

/* As GPU feature discovery labels the nodes of a cluster (nvidia.com/gpu.clique) */
static void out_label(struct ctx *c, const struct vfab_nl_msg *msg)
{
	char text[64], uuid[37];

	if (!has(msg, VFAB_A_PARTITION) || get(msg, VFAB_A_FABRIC_STATE) != VFAB_FABRIC_COMPLETED) {
		out_null(c, "label", NULL, NULL);
		return;
	}
	snprintf(text, sizeof(text), "%s.%u", uuid_text(vfab_nl_attr(msg, VFAB_A_UUID), uuid),
		 get32(msg, VFAB_A_PARTITION));
	out_str(c, "label", NULL, text);
}

static int show_one(const struct vfab_nl_msg *msg, void *ctx)
{
	uint32_t state = get32(msg, VFAB_A_FABRIC_STATE);
	int32_t status = get32(msg, VFAB_A_STATUS);
	struct ctx *c = ctx;

	item(c, "dom%u/ep%u", get32(msg, VFAB_A_DOMAIN), get32(msg, VFAB_A_RANK));
	out_uint(c, "domain", NULL, get(msg, VFAB_A_DOMAIN));
	out_uint(c, "rank", NULL, get(msg, VFAB_A_RANK));
	out_uint(c, "node", "node", get(msg, VFAB_A_NODE));
	out_uuid(c, "clusterUuid", NULL, vfab_nl_attr(msg, VFAB_A_UUID));
	if (has(msg, VFAB_A_PARTITION))
		out_uint(c, "cliqueId", "partition", get(msg, VFAB_A_PARTITION));
	else
		out_null(c, "cliqueId", "partition", "none");
	out_label(c, msg);
	out_str(c, "state", "state", tele_ep_state(state));
	if (state != VFAB_FABRIC_COMPLETED)
		out_null(c, "status", NULL, NULL);
	else
		out_str(c, "status", "status", status ? strerror(-status) : "SUCCESS");
	out_health(c, msg);
	out_uint(c, "ports_up", "ports", get(msg, VFAB_A_PORTS_UP));
	out_text(c, "/%u", get32(msg, VFAB_A_PLANES));
	out_uint(c, "planes", NULL, get(msg, VFAB_A_PLANES));
	out_bool(c, "parked", get(msg, VFAB_A_PARKED));
	out_text(c, get(msg, VFAB_A_PARKED) ? " parked" : "");
	out_holder(c, msg);
	out_channel(c, msg);
	item_end(c);
	return 0;
}

static int show(struct ctx *c, int argc, char **argv)
{
	return show_objects(c, argc, argv, VFAB_CMD_ENDPOINT_GET, ADDR_EP, ADDR_DOM, show_one);
}

static int send_evict(struct ctx *c, const struct addr *a)
{
	mnl_attr_put(request(c, VFAB_CMD_ENDPOINT_SET, a), VFAB_A_EVICT, 0, NULL);
	return ask(c, NULL, NULL);
}

static int evict(struct ctx *c, int argc, char **argv)
{
	const char *pos[1];
	struct addr a;

	args_parse(c, argc, argv, NULL, 1, 1, pos);
	a = arg_addr(c, pos[0], ADDR_EP | ADDR_NODE);
	return send_evict(c, &a);
}

static int set(struct ctx *c, int argc, char **argv)
{
	static const char *const what[] = { "evict", NULL };
	const char *pos[2];
	struct addr a;

	args_parse(c, argc, argv, NULL, 2, 2, pos);
	a = arg_addr(c, pos[0], ADDR_EP | ADDR_NODE);
	arg_word(c, "what to do,", pos[1], what);
	return send_evict(c, &a);
}

const struct verb endpoint_verbs[] = {
	{ "show list ls", show, "[D | D/epR]",
	  "Show one endpoint, those of a domain, or all. JSON uses NVML's names:\n"
	  "clusterUuid, cliqueId, state, status, healthMask, healthSummary; and label, which\n"
	  "is clusterUuid.cliqueId. Who holds an endpoint is shown to admins only." },
	{ "set", set, "{D/epR | D/nodeK} evict",
	  "The same as evict." },
	{ "evict", evict, "D/epR | D/nodeK",
	  "End an endpoint, or in one step all of a node, as if its holder had exited." },
	{ NULL, NULL, NULL, NULL }
};
