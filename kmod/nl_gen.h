/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/vfabric.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_VFABRIC_GEN_H
#define _LINUX_VFABRIC_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/vfabric_netlink.h>

extern const struct nla_policy vfabric_system_get_nl_policy[VFAB_A_PAD + 1];

extern const struct nla_policy vfabric_system_set_nl_policy[VFAB_A_NETNS_MODE + 1];

extern const struct nla_policy vfabric_domain_get_nl_policy[VFAB_A_DOMAIN_NAME + 1];

extern const struct nla_policy vfabric_domain_create_nl_policy[VFAB_A_PLACE + 1];

extern const struct nla_policy vfabric_domain_delete_nl_policy[VFAB_A_FORCE + 1];

extern const struct nla_policy vfabric_domain_set_nl_policy[VFAB_A_SHAPE_SCALE + 1];

extern const struct nla_policy vfabric_partition_get_nl_policy[VFAB_A_PARTITION + 1];

extern const struct nla_policy vfabric_partition_create_nl_policy[VFAB_A_RESILIENCY + 1];

extern const struct nla_policy vfabric_partition_delete_nl_policy[VFAB_A_PARTITION + 1];

extern const struct nla_policy vfabric_partition_set_nl_policy[VFAB_A_UNPARK_MEMBERS + 1];

extern const struct nla_policy vfabric_endpoint_get_nl_policy[VFAB_A_RANK + 1];

extern const struct nla_policy vfabric_endpoint_set_nl_policy[VFAB_A_NODE + 1];

extern const struct nla_policy vfabric_window_get_nl_policy[VFAB_A_HANDLE + 1];

extern const struct nla_policy vfabric_switch_get_nl_policy[VFAB_A_SWITCH + 1];

extern const struct nla_policy vfabric_switch_set_nl_policy[VFAB_A_UP + 1];

extern const struct nla_policy vfabric_port_get_nl_policy[VFAB_A_PORT + 1];

extern const struct nla_policy vfabric_port_set_nl_policy[VFAB_A_FLAP_COUNT + 1];

extern const struct nla_policy vfabric_link_get_nl_policy[VFAB_A_PORT + 1];

extern const struct nla_policy vfabric_link_set_nl_policy[VFAB_A_NODE + 1];

extern const struct nla_policy vfabric_route_get_nl_policy[VFAB_A_DEST + 1];

extern const struct nla_policy vfabric_route_set_nl_policy[VFAB_A_ENTRIES + 1];

extern const struct nla_policy vfabric_route_trace_nl_policy[VFAB_A_DST + 1];

extern const struct nla_policy vfabric_path_get_nl_policy[VFAB_A_RANK + 1];

extern const struct nla_policy vfabric_channel_get_nl_policy[VFAB_A_CHANNEL + 1];

extern const struct nla_policy vfabric_channel_create_nl_policy[VFAB_A_CHANNEL + 1];

extern const struct nla_policy vfabric_channel_delete_nl_policy[VFAB_A_CHANNEL + 1];

extern const struct nla_policy vfabric_counter_get_nl_policy[VFAB_A_PORT + 1];

extern const struct nla_policy vfabric_counter_clear_nl_policy[VFAB_A_PORT + 1];

extern const struct nla_policy vfabric_fault_get_nl_policy[VFAB_A_FAULT_ID + 1];

extern const struct nla_policy vfabric_fault_create_nl_policy[VFAB_A_CLIQUE + 1];

extern const struct nla_policy vfabric_fault_delete_nl_policy[VFAB_A_FAULT_ID + 1];

extern const struct nla_policy vfabric_manager_heartbeat_nl_policy[VFAB_A_MANAGER_NOTE + 1];

extern const struct nla_policy vfabric_manager_goodbye_nl_policy[VFAB_A_DOMAIN_NAME + 1];

extern const struct nla_policy vfabric_backplane_get_nl_policy[VFAB_A_BACKPLANE + 1];

extern const struct nla_policy vfabric_backplane_node_get_nl_policy[VFAB_A_BACKPLANE + 1];

/* Ops table for vfabric */
extern const struct genl_ops vfabric_nl_ops[35];

int vfabric_nl_system_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_system_set_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_domain_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_domain_get_dumpit(struct sk_buff *skb,
				 struct netlink_callback *cb);
int vfabric_nl_domain_create_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_domain_delete_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_domain_set_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_partition_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_partition_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb);
int vfabric_nl_partition_create_doit(struct sk_buff *skb,
				     struct genl_info *info);
int vfabric_nl_partition_delete_doit(struct sk_buff *skb,
				     struct genl_info *info);
int vfabric_nl_partition_set_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_endpoint_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_endpoint_get_dumpit(struct sk_buff *skb,
				   struct netlink_callback *cb);
int vfabric_nl_endpoint_set_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_window_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_window_get_dumpit(struct sk_buff *skb,
				 struct netlink_callback *cb);
int vfabric_nl_switch_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_switch_get_dumpit(struct sk_buff *skb,
				 struct netlink_callback *cb);
int vfabric_nl_switch_set_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_port_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_port_get_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb);
int vfabric_nl_port_set_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_link_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_link_get_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb);
int vfabric_nl_link_set_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_route_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_route_get_dumpit(struct sk_buff *skb,
				struct netlink_callback *cb);
int vfabric_nl_route_set_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_route_trace_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_path_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_path_get_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb);
int vfabric_nl_channel_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_channel_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb);
int vfabric_nl_channel_create_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_channel_delete_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_counter_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_counter_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb);
int vfabric_nl_counter_clear_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_fault_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_fault_get_dumpit(struct sk_buff *skb,
				struct netlink_callback *cb);
int vfabric_nl_fault_create_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_fault_delete_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_manager_heartbeat_doit(struct sk_buff *skb,
				      struct genl_info *info);
int vfabric_nl_manager_goodbye_doit(struct sk_buff *skb,
				    struct genl_info *info);
int vfabric_nl_backplane_get_doit(struct sk_buff *skb, struct genl_info *info);
int vfabric_nl_backplane_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb);
int vfabric_nl_backplane_node_get_doit(struct sk_buff *skb,
				       struct genl_info *info);
int vfabric_nl_backplane_node_get_dumpit(struct sk_buff *skb,
					 struct netlink_callback *cb);

enum {
	VFABRIC_NLGRP_EVENTS,
};

#endif /* _LINUX_VFABRIC_GEN_H */
