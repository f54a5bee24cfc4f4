// SPDX-License-Identifier: GPL-2.0
/*
 * What other tools read of a domain. One format so far:
 *
 * nvml-mock, the configuration of NVIDIA's mock of NVML
 * (github.com/NVIDIA/k8s-test-infra, pkg/gpu/mocknvml). Its keys are those of
 * YAMLConfig and FabricConfig in engine/config_types.go; LoadYAMLConfig() in
 * engine/config.go wants version and system.driver_version, and reads one node's
 * devices from one document. Only what the fabric decides is written: the rest
 * comes from one of its profiles.
 */
#include <stdio.h>
#include "vfabctl.h"

/* Of its profile gb200; a node's real one belongs there */
#define DRIVER	"580.65.06"

static const char *const formats[] = { "nvml-mock", NULL };

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

static int export(struct ctx *c, int argc, char **argv)
{
	struct export e = { .c = c };
	const char *format = NULL;
	const struct opt opts[] = {
		{ "format", &format, NULL },
		{ NULL, NULL, NULL }
	};
	const char *pos[1];
	struct addr a;
	int ret;

	args_parse(c, argc, argv, opts, 1, 1, pos);
	if (!format)
		usage(c, "say in which format: --format nvml-mock");
	arg_word(c, "format", format, formats);
	a = arg_addr(c, pos[0], ADDR_DOM | ADDR_NODE);
	if (c->json)
		usage(c, "the format nvml-mock is no JSON");
	e.node = a.node;
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

const struct verb export_verbs[] = {
	{ "", export, "--format nvml-mock {D | D/nodeK}",
	  "Write the state of a node's endpoints as other tools read it.\n"
	  "\n"
	  "  --format nvml-mock  the fabric part of a configuration of NVIDIA's mock of NVML:\n"
	  "                      cluster UUID, clique, state and health of each GPU; merge\n"
	  "                      it into one of its profiles" },
	{ NULL, NULL, NULL, NULL }
};
