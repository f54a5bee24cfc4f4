// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/vfabric.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "nl_gen.h"

#include <uapi/linux/vfabric_netlink.h>

/* Integer value ranges */
static struct netlink_range_validation vfab_a_retry_timeout_range = {
	.max	= 60000ULL,
};

static struct netlink_range_validation vfab_a_partition_range = {
	.max	= 65535ULL,
};

static struct netlink_range_validation vfab_a_switch_latency_range = {
	.max	= 1000000000ULL,
};

static struct netlink_range_validation vfab_a_width_range = {
	.max	= 65535ULL,
};

static struct netlink_range_validation vfab_a_flap_period_range = {
	.min	= 2ULL,
	.max	= 3600000ULL,
};

static struct netlink_range_validation vfab_a_flap_count_range = {
	.max	= 1000000ULL,
};

static struct netlink_range_validation vfab_a_shape_scale_range = {
	.min	= 1ULL,
	.max	= 1000000ULL,
};

static struct netlink_range_validation vfab_a_fault_after_range = {
	.max	= 86400000ULL,
};

static struct netlink_range_validation vfab_a_fault_duration_range = {
	.min	= 1ULL,
	.max	= 86400000ULL,
};

static struct netlink_range_validation vfab_a_fault_count_range = {
	.min	= 1ULL,
	.max	= 1000000ULL,
};

static struct netlink_range_validation vfab_a_fault_skip_range = {
	.max	= 1000000ULL,
};

static struct netlink_range_validation vfab_a_fault_delay_range = {
	.min	= 1ULL,
	.max	= 60000ULL,
};

static struct netlink_range_validation vfab_a_manager_timeout_range = {
	.min	= 100ULL,
	.max	= 3600000ULL,
};

/* VFAB_CMD_SYSTEM_GET - do */
const struct nla_policy vfabric_system_get_nl_policy[VFAB_A_PAD + 1] = {
};

/* VFAB_CMD_SYSTEM_SET - do */
const struct nla_policy vfabric_system_set_nl_policy[VFAB_A_NETNS_MODE + 1] = {
	[VFAB_A_NETNS_MODE] = NLA_POLICY_MAX(NLA_U32, 1),
};

/* VFAB_CMD_DOMAIN_GET - do */
const struct nla_policy vfabric_domain_get_nl_policy[VFAB_A_DOMAIN_NAME + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
};

/* VFAB_CMD_DOMAIN_CREATE - do */
const struct nla_policy vfabric_domain_create_nl_policy[VFAB_A_PLACE + 1] = {
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_UUID] = NLA_POLICY_EXACT_LEN(16),
	[VFAB_A_WORLD] = NLA_POLICY_RANGE(NLA_U32, 1, 1024),
	[VFAB_A_PLANES] = NLA_POLICY_RANGE(NLA_U32, 1, 64),
	[VFAB_A_MODE] = NLA_POLICY_MAX(NLA_U32, 511),
	[VFAB_A_UID] = { .type = NLA_U32, },
	[VFAB_A_GID] = { .type = NLA_U32, },
	[VFAB_A_PEER_DEATH] = NLA_POLICY_MAX(NLA_U32, 1),
	[VFAB_A_RETRY_TIMEOUT] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_retry_timeout_range),
	[VFAB_A_MEM_LIMIT] = { .type = NLA_U64, },
	[VFAB_A_RATE] = { .type = NLA_U32, },
	[VFAB_A_LATENCY] = { .type = NLA_U32, },
	[VFAB_A_SWITCHES] = NLA_POLICY_MAX(NLA_U32, 1024),
	[VFAB_A_LINKS] = { .type = NLA_BINARY, },
	[VFAB_A_SWITCH_LATENCY] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_switch_latency_range),
	[VFAB_A_FORWARDING] = { .type = NLA_FLAG, },
	[VFAB_A_PROFILE] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_NODES] = NLA_POLICY_RANGE(NLA_U32, 1, 1024),
	[VFAB_A_PARTITION_MODE] = NLA_POLICY_MAX(NLA_U32, 3),
	[VFAB_A_BACKPLANE] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_PLACE] = { .type = NLA_BINARY, .len = 1024, },
};

/* VFAB_CMD_DOMAIN_DELETE - do */
const struct nla_policy vfabric_domain_delete_nl_policy[VFAB_A_FORCE + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_FORCE] = { .type = NLA_FLAG, },
};

/* VFAB_CMD_DOMAIN_SET - do */
const struct nla_policy vfabric_domain_set_nl_policy[VFAB_A_SHAPE_SCALE + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_PEER_DEATH] = NLA_POLICY_MAX(NLA_U32, 1),
	[VFAB_A_RETRY_TIMEOUT] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_retry_timeout_range),
	[VFAB_A_MEM_LIMIT] = { .type = NLA_U64, },
	[VFAB_A_SHAPE] = NLA_POLICY_MAX(NLA_U8, 1),
	[VFAB_A_SHAPE_SCALE] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_shape_scale_range),
};

/* VFAB_CMD_PARTITION_GET - do */
const struct nla_policy vfabric_partition_get_nl_policy[VFAB_A_PARTITION + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_PARTITION] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_partition_range),
};

/* VFAB_CMD_PARTITION_CREATE - do */
const struct nla_policy vfabric_partition_create_nl_policy[VFAB_A_RESILIENCY + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_PARTITION] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_partition_range),
	[VFAB_A_PARTITION_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_ADD_MEMBERS] = { .type = NLA_BINARY, .len = 128, },
	[VFAB_A_RESILIENCY] = NLA_POLICY_MAX(NLA_U32, 1),
};

/* VFAB_CMD_PARTITION_DELETE - do */
const struct nla_policy vfabric_partition_delete_nl_policy[VFAB_A_PARTITION + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_PARTITION] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_partition_range),
};

/* VFAB_CMD_PARTITION_SET - do */
const struct nla_policy vfabric_partition_set_nl_policy[VFAB_A_UNPARK_MEMBERS + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_PARTITION] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_partition_range),
	[VFAB_A_ADD_MEMBERS] = { .type = NLA_BINARY, .len = 128, },
	[VFAB_A_DEL_MEMBERS] = { .type = NLA_BINARY, .len = 128, },
	[VFAB_A_ACTIVE] = NLA_POLICY_MAX(NLA_U8, 1),
	[VFAB_A_IF_DETACHED] = { .type = NLA_FLAG, },
	[VFAB_A_FORCE] = { .type = NLA_FLAG, },
	[VFAB_A_RESILIENCY] = NLA_POLICY_MAX(NLA_U32, 1),
	[VFAB_A_PARK_MEMBERS] = { .type = NLA_BINARY, .len = 128, },
	[VFAB_A_UNPARK_MEMBERS] = { .type = NLA_BINARY, .len = 128, },
};

/* VFAB_CMD_ENDPOINT_GET - do */
const struct nla_policy vfabric_endpoint_get_nl_policy[VFAB_A_RANK + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_RANK] = NLA_POLICY_MAX(NLA_U32, 1023),
};

/* VFAB_CMD_ENDPOINT_SET - do */
const struct nla_policy vfabric_endpoint_set_nl_policy[VFAB_A_NODE + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_RANK] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_EVICT] = { .type = NLA_FLAG, },
	[VFAB_A_NODE] = NLA_POLICY_MAX(NLA_U32, 1023),
};

/* VFAB_CMD_WINDOW_GET - do */
const struct nla_policy vfabric_window_get_nl_policy[VFAB_A_HANDLE + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_RANK] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_HANDLE] = { .type = NLA_U64, },
};

/* VFAB_CMD_SWITCH_GET - do */
const struct nla_policy vfabric_switch_get_nl_policy[VFAB_A_SWITCH + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_SWITCH] = NLA_POLICY_MAX(NLA_U32, 1023),
};

/* VFAB_CMD_SWITCH_SET - do */
const struct nla_policy vfabric_switch_set_nl_policy[VFAB_A_UP + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_SWITCH] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_UP] = NLA_POLICY_MAX(NLA_U8, 1),
};

/* VFAB_CMD_PORT_GET - do */
const struct nla_policy vfabric_port_get_nl_policy[VFAB_A_PORT + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_RANK] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_SWITCH] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_PORT] = NLA_POLICY_MAX(NLA_U32, 4095),
};

/* VFAB_CMD_PORT_SET - do */
const struct nla_policy vfabric_port_set_nl_policy[VFAB_A_FLAP_COUNT + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_RANK] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_SWITCH] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_PORT] = NLA_POLICY_MAX(NLA_U32, 4095),
	[VFAB_A_UP] = NLA_POLICY_MAX(NLA_U8, 1),
	[VFAB_A_DRAIN] = { .type = NLA_FLAG, },
	[VFAB_A_RESTORE] = { .type = NLA_FLAG, },
	[VFAB_A_RATE] = { .type = NLA_U32, },
	[VFAB_A_LATENCY] = { .type = NLA_U32, },
	[VFAB_A_WIDTH] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_width_range),
	[VFAB_A_FLAP_PERIOD] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_flap_period_range),
	[VFAB_A_FLAP_COUNT] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_flap_count_range),
};

/* VFAB_CMD_LINK_GET - do */
const struct nla_policy vfabric_link_get_nl_policy[VFAB_A_PORT + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_RANK] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_SWITCH] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_PORT] = NLA_POLICY_MAX(NLA_U32, 4095),
};

/* VFAB_CMD_LINK_SET - do */
const struct nla_policy vfabric_link_set_nl_policy[VFAB_A_NODE + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_RANK] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_SWITCH] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_PORT] = NLA_POLICY_MAX(NLA_U32, 4095),
	[VFAB_A_UP] = NLA_POLICY_MAX(NLA_U8, 1),
	[VFAB_A_DRAIN] = { .type = NLA_FLAG, },
	[VFAB_A_RESTORE] = { .type = NLA_FLAG, },
	[VFAB_A_RATE] = { .type = NLA_U32, },
	[VFAB_A_LATENCY] = { .type = NLA_U32, },
	[VFAB_A_WIDTH] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_width_range),
	[VFAB_A_FLAP_PERIOD] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_flap_period_range),
	[VFAB_A_FLAP_COUNT] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_flap_count_range),
	[VFAB_A_NODE] = NLA_POLICY_MAX(NLA_U32, 1023),
};

/* VFAB_CMD_ROUTE_GET - do */
const struct nla_policy vfabric_route_get_nl_policy[VFAB_A_DEST + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_SWITCH] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_RANK] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_DEST] = NLA_POLICY_MAX(NLA_U32, 1023),
};

/* VFAB_CMD_ROUTE_SET - do */
const struct nla_policy vfabric_route_set_nl_policy[VFAB_A_ENTRIES + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_SWITCH] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_RANK] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_DEST] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_EGRESS] = NLA_POLICY_MAX(NLA_U32, 4095),
	[VFAB_A_EGRESS_MASK] = { .type = NLA_U64, },
	[VFAB_A_DROP] = { .type = NLA_FLAG, },
	[VFAB_A_ENTRIES] = { .type = NLA_BINARY, },
};

/* VFAB_CMD_ROUTE_TRACE - do */
const struct nla_policy vfabric_route_trace_nl_policy[VFAB_A_DST + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_SRC] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_DST] = NLA_POLICY_MAX(NLA_U32, 1023),
};

/* VFAB_CMD_PATH_GET - do */
const struct nla_policy vfabric_path_get_nl_policy[VFAB_A_RANK + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_RANK] = NLA_POLICY_MAX(NLA_U32, 1023),
};

/* VFAB_CMD_CHANNEL_GET - do */
const struct nla_policy vfabric_channel_get_nl_policy[VFAB_A_CHANNEL + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_PARTITION] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_partition_range),
	[VFAB_A_CHANNEL] = NLA_POLICY_MAX(NLA_U32, 2047),
};

/* VFAB_CMD_CHANNEL_CREATE - do */
const struct nla_policy vfabric_channel_create_nl_policy[VFAB_A_CHANNEL + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_PARTITION] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_partition_range),
	[VFAB_A_CHANNEL] = NLA_POLICY_MAX(NLA_U32, 2047),
	[VFAB_A_MODE] = NLA_POLICY_MAX(NLA_U32, 511),
	[VFAB_A_UID] = { .type = NLA_U32, },
	[VFAB_A_GID] = { .type = NLA_U32, },
};

/* VFAB_CMD_CHANNEL_DELETE - do */
const struct nla_policy vfabric_channel_delete_nl_policy[VFAB_A_CHANNEL + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_PARTITION] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_partition_range),
	[VFAB_A_CHANNEL] = NLA_POLICY_MAX(NLA_U32, 2047),
	[VFAB_A_FORCE] = { .type = NLA_FLAG, },
};

/* VFAB_CMD_COUNTER_GET - do */
const struct nla_policy vfabric_counter_get_nl_policy[VFAB_A_PORT + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_RANK] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_SWITCH] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_PORT] = NLA_POLICY_MAX(NLA_U32, 4095),
};

/* VFAB_CMD_COUNTER_CLEAR - do */
const struct nla_policy vfabric_counter_clear_nl_policy[VFAB_A_PORT + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_RANK] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_SWITCH] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_PORT] = NLA_POLICY_MAX(NLA_U32, 4095),
};

/* VFAB_CMD_FAULT_GET - do */
const struct nla_policy vfabric_fault_get_nl_policy[VFAB_A_FAULT_ID + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_FAULT_ID] = { .type = NLA_U32, },
};

/* VFAB_CMD_FAULT_CREATE - do */
const struct nla_policy vfabric_fault_create_nl_policy[VFAB_A_CLIQUE + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_FAULT_KIND] = NLA_POLICY_MAX(NLA_U32, 13),
	[VFAB_A_RANK] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_SWITCH] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_PORT] = NLA_POLICY_MAX(NLA_U32, 4095),
	[VFAB_A_NODE] = NLA_POLICY_MAX(NLA_U32, 1023),
	[VFAB_A_FAULT_ALL] = { .type = NLA_FLAG, },
	[VFAB_A_FAULT_SEED] = { .type = NLA_U32, },
	[VFAB_A_FAULT_AFTER] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_fault_after_range),
	[VFAB_A_FAULT_DURATION] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_fault_duration_range),
	[VFAB_A_FAULT_COUNT] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_fault_count_range),
	[VFAB_A_FLAP_PERIOD] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_flap_period_range),
	[VFAB_A_RATE] = { .type = NLA_U32, },
	[VFAB_A_LATENCY] = { .type = NLA_U32, },
	[VFAB_A_WIDTH] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_width_range),
	[VFAB_A_FABRIC_STATE] = NLA_POLICY_MAX(NLA_U32, 3),
	[VFAB_A_STATUS] = { .type = NLA_S32, },
	[VFAB_A_UUID] = NLA_POLICY_EXACT_LEN(16),
	[VFAB_A_CLIQUE] = { .type = NLA_U32, },
	[VFAB_A_HEALTH] = NLA_POLICY_MAX(NLA_U32, 3),
	[VFAB_A_FAULT_SILENT] = { .type = NLA_FLAG, },
	[VFAB_A_FAULT_PERMILLE] = NLA_POLICY_RANGE(NLA_U32, 1, 1000),
	[VFAB_A_FAULT_ERRNO] = { .type = NLA_U32, },
	[VFAB_A_FAULT_SKIP] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_fault_skip_range),
	[VFAB_A_FAULT_LIMIT] = NLA_POLICY_MAX(NLA_U32, 1024),
	[VFAB_A_FAULT_DELAY] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_fault_delay_range),
	[VFAB_A_FAULT_SPARE] = { .type = NLA_FLAG, },
};

/* VFAB_CMD_FAULT_DELETE - do */
const struct nla_policy vfabric_fault_delete_nl_policy[VFAB_A_FAULT_ID + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_FAULT_ID] = { .type = NLA_U32, },
};

/* VFAB_CMD_MANAGER_HEARTBEAT - do */
const struct nla_policy vfabric_manager_heartbeat_nl_policy[VFAB_A_MANAGER_NOTE + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_MANAGER_TIMEOUT] = NLA_POLICY_FULL_RANGE(NLA_U32, &vfab_a_manager_timeout_range),
	[VFAB_A_MANAGER_NOTE] = { .type = NLA_NUL_STRING, .len = 64, },
};

/* VFAB_CMD_MANAGER_GOODBYE - do */
const struct nla_policy vfabric_manager_goodbye_nl_policy[VFAB_A_DOMAIN_NAME + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32, },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_NUL_STRING, .len = 32, },
};

/* VFAB_CMD_BACKPLANE_GET - do */
const struct nla_policy vfabric_backplane_get_nl_policy[VFAB_A_BACKPLANE + 1] = {
	[VFAB_A_BACKPLANE] = { .type = NLA_NUL_STRING, .len = 32, },
};

/* VFAB_CMD_BACKPLANE_NODE_GET - do */
const struct nla_policy vfabric_backplane_node_get_nl_policy[VFAB_A_BACKPLANE + 1] = {
	[VFAB_A_BACKPLANE] = { .type = NLA_NUL_STRING, .len = 32, },
	[VFAB_A_NODE] = NLA_POLICY_MAX(NLA_U32, 1023),
};

/* Ops table for vfabric */
const struct genl_ops vfabric_nl_ops[35] = {
	{
		.cmd		= VFAB_CMD_SYSTEM_GET,
		.doit		= vfabric_nl_system_get_doit,
		.policy		= vfabric_system_get_nl_policy,
		.maxattr	= VFAB_A_PAD,
	},
	{
		.cmd		= VFAB_CMD_SYSTEM_SET,
		.doit		= vfabric_nl_system_set_doit,
		.policy		= vfabric_system_set_nl_policy,
		.maxattr	= VFAB_A_NETNS_MODE,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_DOMAIN_GET,
		.doit		= vfabric_nl_domain_get_doit,
		.dumpit		= vfabric_nl_domain_get_dumpit,
		.policy		= vfabric_domain_get_nl_policy,
		.maxattr	= VFAB_A_DOMAIN_NAME,
	},
	{
		.cmd		= VFAB_CMD_DOMAIN_CREATE,
		.doit		= vfabric_nl_domain_create_doit,
		.policy		= vfabric_domain_create_nl_policy,
		.maxattr	= VFAB_A_PLACE,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_DOMAIN_DELETE,
		.doit		= vfabric_nl_domain_delete_doit,
		.policy		= vfabric_domain_delete_nl_policy,
		.maxattr	= VFAB_A_FORCE,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_DOMAIN_SET,
		.doit		= vfabric_nl_domain_set_doit,
		.policy		= vfabric_domain_set_nl_policy,
		.maxattr	= VFAB_A_SHAPE_SCALE,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_PARTITION_GET,
		.doit		= vfabric_nl_partition_get_doit,
		.dumpit		= vfabric_nl_partition_get_dumpit,
		.policy		= vfabric_partition_get_nl_policy,
		.maxattr	= VFAB_A_PARTITION,
	},
	{
		.cmd		= VFAB_CMD_PARTITION_CREATE,
		.doit		= vfabric_nl_partition_create_doit,
		.policy		= vfabric_partition_create_nl_policy,
		.maxattr	= VFAB_A_RESILIENCY,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_PARTITION_DELETE,
		.doit		= vfabric_nl_partition_delete_doit,
		.policy		= vfabric_partition_delete_nl_policy,
		.maxattr	= VFAB_A_PARTITION,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_PARTITION_SET,
		.doit		= vfabric_nl_partition_set_doit,
		.policy		= vfabric_partition_set_nl_policy,
		.maxattr	= VFAB_A_UNPARK_MEMBERS,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_ENDPOINT_GET,
		.doit		= vfabric_nl_endpoint_get_doit,
		.dumpit		= vfabric_nl_endpoint_get_dumpit,
		.policy		= vfabric_endpoint_get_nl_policy,
		.maxattr	= VFAB_A_RANK,
	},
	{
		.cmd		= VFAB_CMD_ENDPOINT_SET,
		.doit		= vfabric_nl_endpoint_set_doit,
		.policy		= vfabric_endpoint_set_nl_policy,
		.maxattr	= VFAB_A_NODE,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_WINDOW_GET,
		.doit		= vfabric_nl_window_get_doit,
		.dumpit		= vfabric_nl_window_get_dumpit,
		.policy		= vfabric_window_get_nl_policy,
		.maxattr	= VFAB_A_HANDLE,
	},
	{
		.cmd		= VFAB_CMD_SWITCH_GET,
		.doit		= vfabric_nl_switch_get_doit,
		.dumpit		= vfabric_nl_switch_get_dumpit,
		.policy		= vfabric_switch_get_nl_policy,
		.maxattr	= VFAB_A_SWITCH,
	},
	{
		.cmd		= VFAB_CMD_SWITCH_SET,
		.doit		= vfabric_nl_switch_set_doit,
		.policy		= vfabric_switch_set_nl_policy,
		.maxattr	= VFAB_A_UP,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_PORT_GET,
		.doit		= vfabric_nl_port_get_doit,
		.dumpit		= vfabric_nl_port_get_dumpit,
		.policy		= vfabric_port_get_nl_policy,
		.maxattr	= VFAB_A_PORT,
	},
	{
		.cmd		= VFAB_CMD_PORT_SET,
		.doit		= vfabric_nl_port_set_doit,
		.policy		= vfabric_port_set_nl_policy,
		.maxattr	= VFAB_A_FLAP_COUNT,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_LINK_GET,
		.doit		= vfabric_nl_link_get_doit,
		.dumpit		= vfabric_nl_link_get_dumpit,
		.policy		= vfabric_link_get_nl_policy,
		.maxattr	= VFAB_A_PORT,
	},
	{
		.cmd		= VFAB_CMD_LINK_SET,
		.doit		= vfabric_nl_link_set_doit,
		.policy		= vfabric_link_set_nl_policy,
		.maxattr	= VFAB_A_NODE,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_ROUTE_GET,
		.doit		= vfabric_nl_route_get_doit,
		.dumpit		= vfabric_nl_route_get_dumpit,
		.policy		= vfabric_route_get_nl_policy,
		.maxattr	= VFAB_A_DEST,
	},
	{
		.cmd		= VFAB_CMD_ROUTE_SET,
		.doit		= vfabric_nl_route_set_doit,
		.policy		= vfabric_route_set_nl_policy,
		.maxattr	= VFAB_A_ENTRIES,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_ROUTE_TRACE,
		.doit		= vfabric_nl_route_trace_doit,
		.policy		= vfabric_route_trace_nl_policy,
		.maxattr	= VFAB_A_DST,
	},
	{
		.cmd		= VFAB_CMD_PATH_GET,
		.doit		= vfabric_nl_path_get_doit,
		.dumpit		= vfabric_nl_path_get_dumpit,
		.policy		= vfabric_path_get_nl_policy,
		.maxattr	= VFAB_A_RANK,
	},
	{
		.cmd		= VFAB_CMD_CHANNEL_GET,
		.doit		= vfabric_nl_channel_get_doit,
		.dumpit		= vfabric_nl_channel_get_dumpit,
		.policy		= vfabric_channel_get_nl_policy,
		.maxattr	= VFAB_A_CHANNEL,
	},
	{
		.cmd		= VFAB_CMD_CHANNEL_CREATE,
		.doit		= vfabric_nl_channel_create_doit,
		.policy		= vfabric_channel_create_nl_policy,
		.maxattr	= VFAB_A_CHANNEL,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_CHANNEL_DELETE,
		.doit		= vfabric_nl_channel_delete_doit,
		.policy		= vfabric_channel_delete_nl_policy,
		.maxattr	= VFAB_A_CHANNEL,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_COUNTER_GET,
		.doit		= vfabric_nl_counter_get_doit,
		.dumpit		= vfabric_nl_counter_get_dumpit,
		.policy		= vfabric_counter_get_nl_policy,
		.maxattr	= VFAB_A_PORT,
	},
	{
		.cmd		= VFAB_CMD_COUNTER_CLEAR,
		.doit		= vfabric_nl_counter_clear_doit,
		.policy		= vfabric_counter_clear_nl_policy,
		.maxattr	= VFAB_A_PORT,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_FAULT_GET,
		.doit		= vfabric_nl_fault_get_doit,
		.dumpit		= vfabric_nl_fault_get_dumpit,
		.policy		= vfabric_fault_get_nl_policy,
		.maxattr	= VFAB_A_FAULT_ID,
	},
	{
		.cmd		= VFAB_CMD_FAULT_CREATE,
		.doit		= vfabric_nl_fault_create_doit,
		.policy		= vfabric_fault_create_nl_policy,
		.maxattr	= VFAB_A_CLIQUE,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_FAULT_DELETE,
		.doit		= vfabric_nl_fault_delete_doit,
		.policy		= vfabric_fault_delete_nl_policy,
		.maxattr	= VFAB_A_FAULT_ID,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_MANAGER_HEARTBEAT,
		.doit		= vfabric_nl_manager_heartbeat_doit,
		.policy		= vfabric_manager_heartbeat_nl_policy,
		.maxattr	= VFAB_A_MANAGER_NOTE,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_MANAGER_GOODBYE,
		.doit		= vfabric_nl_manager_goodbye_doit,
		.policy		= vfabric_manager_goodbye_nl_policy,
		.maxattr	= VFAB_A_DOMAIN_NAME,
		.flags		= GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd		= VFAB_CMD_BACKPLANE_GET,
		.doit		= vfabric_nl_backplane_get_doit,
		.dumpit		= vfabric_nl_backplane_get_dumpit,
		.policy		= vfabric_backplane_get_nl_policy,
		.maxattr	= VFAB_A_BACKPLANE,
	},
	{
		.cmd		= VFAB_CMD_BACKPLANE_NODE_GET,
		.doit		= vfabric_nl_backplane_node_get_doit,
		.dumpit		= vfabric_nl_backplane_node_get_dumpit,
		.policy		= vfabric_backplane_node_get_nl_policy,
		.maxattr	= VFAB_A_BACKPLANE,
	},
};

static const struct genl_multicast_group vfabric_nl_mcgrps[] = {
	[VFABRIC_NLGRP_EVENTS] = { "events", },
};
