// SPDX-License-Identifier: GPL-2.0
/*
 * The format nvml-mock: the configuration of NVIDIA's mock of NVML
 * (github.com/NVIDIA/k8s-test-infra, pkg/gpu/mocknvml). Its keys are those of
 * YAMLConfig and FabricConfig in engine/config_types.go; LoadYAMLConfig() in
 * engine/config.go wants version and system.driver_version, and reads one node's
 * devices from one document. Only what the fabric decides is written: the rest
 * comes from one of its profiles.
 */
#include <stdio.h>
#include "export.h"

/* Of its profile gb200; a node's real one belongs there */
#define DRIVER	"580.65.06"

static const char *const states[] = {
	"not_supported", "not_started", "in_progress", "completed",
};

static const char *const summaries[] = {
	"not_supported", "healthy", "unhealthy", "limited_capacity",
};

struct export {
	struct ctx *c;
	uint32_t domain, world, planes, rate, nodes;
	int node;		/* -1: the only one */
};

static int read_domain(const struct vfab_nl_msg *msg, void *data)
{
	struct export *e = data;
	uint32_t share;

	e->domain = get32(msg, VFAB_A_DOMAIN);
	e->world = get32(msg, VFAB_A_WORLD);
	e->planes = get32(msg, VFAB_A_PLANES);
	e->rate = get32(msg, VFAB_A_RATE);
	e->nodes = get32(msg, VFAB_A_NODES);
	if (has(msg, VFAB_A_PLACE)) {
		error(e->c,
		      "the format has nodes of one size: the ranks of dom%u are placed on a backplane",
		      e->domain);
		return REFUSED;
	}
	if (!e->nodes || e->node >= (int)e->nodes) {
		error(e->c, "node %d is not below the number of nodes %u", e->node, e->nodes);
		return REFUSED;
	}
	if (e->node < 0 && e->nodes > 1) {
		error(e->c,
		      "the format holds one node, and there are %u: name one, such as dom%u/node0",
		      e->nodes, e->domain);
		return REFUSED;
	}
	if (e->node < 0)
		e->node = 0;
	share = e->world / e->nodes;
	printf("# vfabric: dom%u/node%d, ranks %u to %u; merge it into the profile of the GPUs\n"
	       "version: \"1.0\"\n"
	       "system:\n"
	       "  driver_version: \"" DRIVER "\"\n"
	       "nvlink:\n"
	       "  links_per_gpu: %u\n"
	       "  bandwidth_per_link_mbps: %u\n"
	       "devices:\n",
	       e->domain, e->node, e->node * share, e->node * share + share - 1, e->planes,
	       e->rate);
	return 0;
}

/* Who has not joined a fabric has neither its UUID nor a clique. */
static int write_endpoint(const struct vfab_nl_msg *msg, void *data)
{
	uint32_t state = get32(msg, VFAB_A_FABRIC_STATE);
	struct export *e = data;
	char uuid[37];

	if (get32(msg, VFAB_A_NODE) != (uint32_t)e->node)
		return 0;
	printf("  - index: %u\n"
	       "    fabric:\n", get32(msg, VFAB_A_RANK) % (e->world / e->nodes));
	if (state == VFAB_FABRIC_COMPLETED)
		printf("      cluster_uuid: \"%s\"\n"
		       "      clique_id: %u\n",
		       uuid_text(vfab_nl_attr(msg, VFAB_A_UUID), uuid),
		       get32(msg, VFAB_A_PARTITION));
	printf("      state: \"%s\"\n"
	       "      health_summary: \"%s\"\n"
	       "      health_mask: 0x%x\n", WORD(states, state),
	       WORD(summaries, get32(msg, VFAB_A_HEALTH)), health_mask(msg));
	return 0;
}

int export_nvml_mock(struct ctx *c, struct addr a)
{
	struct export e = { .c = c, .node = a.node };
	int ret;

	a.node = -1;
	request(c, VFAB_CMD_DOMAIN_GET, &a);
	ret = ask(c, read_domain, &e);
	if (ret)
		return ret;
	/* The name may be another domain's by the next request */
	a.id = e.domain;
	*a.name = 0;
	request(c, VFAB_CMD_ENDPOINT_GET, &a);
	return ask_all(c, write_endpoint, &e);
}
