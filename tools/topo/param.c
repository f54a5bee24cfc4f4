// SPDX-License-Identifier: LGPL-2.1
/* The parameters of generators, and what is said where one is missing. */
#include "topo_int.h"

#define MAX_RATE 4294967295U

const struct param_def param_defs[PARAMS] = {
	[P_WORLD] = { "world", 1, TOPO_MAX_WORLD },
	[P_NODES] = { "nodes", 1, TOPO_MAX_WORLD },
	[P_PORTS] = { "ports", 1, TOPO_MAX_PORTS },
	[P_SWITCHES] = { "switches", 0, TOPO_MAX_SWITCHES },
	[P_LINKS_PER_SWITCH] = { "links_per_switch", 1, TOPO_MAX_PORTS },
	[P_SWITCH_PORTS] = { "switch_ports", 1, TOPO_MAX_SWITCH_PORTS },
	[P_PODS] = { "pods", 1, TOPO_MAX_SWITCHES },
	[P_LEAVES_PER_POD] = { "leaves_per_pod", 1, TOPO_MAX_PORTS },
	[P_SPINES] = { "spines", 1, TOPO_MAX_SWITCHES },
	[P_PLANES] = { "planes", 1, TOPO_MAX_PORTS },
	[P_TAPER] = { "taper", 1, 64 },
	[P_X] = { "x", 1, 65536 },
	[P_Y] = { "y", 1, 65536 },
	[P_Z] = { "z", 1, 65536 },
	[P_LINKS_PER_PAIR] = { "links_per_pair", 1, TOPO_MAX_PORTS },
	[P_RATE] = { "rate_mb_per_s_per_direction", 1, MAX_RATE },
	[P_ENDPOINT_RATE] = { "endpoint_rate_mb_per_s_per_direction", 1, MAX_RATE },
	[P_LATENCY] = { "latency_ns", 1, 1000000000 },
	[P_WIDTH] = { "width", 1, 65535 },
};

int find_param(const char *key)
{
	int i;

	for (i = 0; i < PARAMS; i++)
		if (!strcmp(param_defs[i].key, key))
			return i;
	return -1;
}

/* -ENODATA, and which of the bits in @params are not known, if some are not. */
int need(struct build *b, uint32_t params)
{
	char keys[512] = "", options[512] = "";
	unsigned int i;

	for (i = 0; i < PARAMS; i++) {
		if (!(params & BIT(i)) || b->p[i].known)
			continue;
		strcat(strcat(keys, *keys ? ", " : ""), param_defs[i].key);
		strcat(keys, b->p[i].given ? " (null: not published)" : " (missing)");
		strcat(strcat(strcat(options, " --set "), param_defs[i].key), "=N");
	}
	if (!*keys)
		return 0;
	return fail(b->l, -ENODATA, 0, "%s: give%s", keys, options);
}
