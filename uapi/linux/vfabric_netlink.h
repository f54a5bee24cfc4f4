/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/vfabric.yaml */
/* YNL-GEN uapi header */

#ifndef _UAPI_LINUX_VFABRIC_NETLINK_H
#define _UAPI_LINUX_VFABRIC_NETLINK_H

#define VFAB_GENL_NAME		"vfabric"
#define VFAB_GENL_VERSION	1

/**
 * enum vfabric_peer_death - What becomes of the windows of an endpoint that
 *   ended.
 * @VFAB_PEER_DEATH_REVOKE: Nobody reaches them any more (default).
 * @VFAB_PEER_DEATH_KEEP: Those who imported them keep them until they let go.
 */
enum vfabric_peer_death {
	VFAB_PEER_DEATH_REVOKE,
	VFAB_PEER_DEATH_KEEP,
};

enum vfabric_link_state {
	VFAB_LINK_OFF,
	VFAB_LINK_INIT,
	VFAB_LINK_TRAIN,
	VFAB_LINK_ACTIVE,
	VFAB_LINK_DEGRADED,
	VFAB_LINK_RECOVERY,
	VFAB_LINK_FAULT,
};

/**
 * enum vfabric_link_reason
 * @VFAB_LINK_REASON_ADMIN: Set down over netlink, at the endpoint or the link
 *   itself.
 * @VFAB_LINK_REASON_SWITCH: The switch is down.
 * @VFAB_LINK_REASON_DRAIN: Drained over netlink; the link works, but no route
 *   uses it.
 * @VFAB_LINK_REASON_FLAP: Down for a moment, as link-set's flap asked for.
 * @VFAB_LINK_REASON_DEGRADED: Its rate, latency or width is not as built.
 * @VFAB_LINK_REASON_BROKEN: Does not train, as with a broken cable or port.
 */
enum vfabric_link_reason {
	VFAB_LINK_REASON_NONE,
	VFAB_LINK_REASON_ADMIN,
	VFAB_LINK_REASON_SWITCH,
	VFAB_LINK_REASON_DRAIN,
	VFAB_LINK_REASON_FLAP,
	VFAB_LINK_REASON_DEGRADED,
	VFAB_LINK_REASON_BROKEN,
};

/**
 * enum vfabric_fabric_state - State of an endpoint, in the order of NVML's
 *   nvmlGpuFabricState_t.
 */
enum vfabric_fabric_state {
	VFAB_FABRIC_NOT_SUPPORTED,
	VFAB_FABRIC_NOT_STARTED,
	VFAB_FABRIC_IN_PROGRESS,
	VFAB_FABRIC_COMPLETED,
};

/**
 * enum vfabric_health - Summary, in the order of NVML's
 *   NVML_GPU_FABRIC_HEALTH_SUMMARY_*.
 * @VFAB_HEALTH_HEALTHY: All ports are up. Of a partition, all its links are as
 *   built.
 * @VFAB_HEALTH_UNHEALTHY: No port is up, it is parked, or a port is down and
 *   its partition is a full one. Of a partition, two members do not reach each
 *   other, or a link is not as built and it is a full one.
 * @VFAB_HEALTH_LIMITED: Some ports are up. Of a partition, some links are not
 *   as built.
 */
enum vfabric_health {
	VFAB_HEALTH_NOT_SUPPORTED,
	VFAB_HEALTH_HEALTHY,
	VFAB_HEALTH_UNHEALTHY,
	VFAB_HEALTH_LIMITED,
};

/**
 * enum vfabric_netns_mode
 * @VFAB_NETNS_EXCLUSIVE: Domains are seen in their own network namespace only
 *   (default).
 * @VFAB_NETNS_SHARED: Domains are seen, read-only, in every network namespace.
 */
enum vfabric_netns_mode {
	VFAB_NETNS_EXCLUSIVE,
	VFAB_NETNS_SHARED,
};

/**
 * enum vfabric_hop_verdict - Whether a path carries a pair, and if not, what
 *   stops it first. link-down is a link between switches, loop a path longer
 *   than 64 hops.
 */
enum vfabric_hop_verdict {
	VFAB_HOP_LIVE,
	VFAB_HOP_SRC_DOWN,
	VFAB_HOP_SWITCH_DOWN,
	VFAB_HOP_NO_ENTRY,
	VFAB_HOP_MISROUTED,
	VFAB_HOP_DST_DOWN,
	VFAB_HOP_NO_RETURN,
	VFAB_HOP_LINK_DOWN,
	VFAB_HOP_LOOP,
};

/**
 * enum vfabric_reason - Same values as enum vfab_reason of linux/vfabric.h.
 */
enum vfabric_reason {
	VFAB_WHY_NONE,
	VFAB_WHY_EXIT,
	VFAB_WHY_LINK,
	VFAB_WHY_ROUTE,
	VFAB_WHY_PARTITION,
	VFAB_WHY_FREE,
	VFAB_WHY_DELETE,
	VFAB_WHY_ATTACH,
	VFAB_WHY_CREATE,
	VFAB_WHY_ADMIN,
};

enum vfabric_object {
	VFAB_OBJ_DOMAIN,
	VFAB_OBJ_PARTITION,
	VFAB_OBJ_ENDPOINT,
	VFAB_OBJ_WINDOW,
	VFAB_OBJ_SWITCH,
	VFAB_OBJ_PORT,
	VFAB_OBJ_LINK,
	VFAB_OBJ_ROUTE,
	VFAB_OBJ_SYSTEM,
	VFAB_OBJ_CHANNEL,
	VFAB_OBJ_COUNTER,
	VFAB_OBJ_FAULT,
	VFAB_OBJ_MANAGER,
	VFAB_OBJ_BACKPLANE,
};

enum vfabric_action {
	VFAB_ACT_CREATED,
	VFAB_ACT_DELETED,
	VFAB_ACT_CHANGED,
	VFAB_ACT_ATTACHED,
	VFAB_ACT_DETACHED,
};

/**
 * enum vfabric_partition_mode - Which partitions a domain begins with, and who
 *   decides on them.
 * @VFAB_PARTITIONS_DEFAULT: Partition 0 holds every endpoint, and stays
 *   (default).
 * @VFAB_PARTITIONS_NONE: There is none; endpoints are in none until one is
 *   created.
 * @VFAB_PARTITIONS_HGX15: The 15 fixed sets of a board of 8 GPUs (all, 2 of 4,
 *   4 of 2, 8 of 1), none of them active; sets that overlap are not active at
 *   the same time.
 * @VFAB_PARTITIONS_PER_NODE: Partition k holds the ranks of node k; they are
 *   as any others.
 */
enum vfabric_partition_mode {
	VFAB_PARTITIONS_DEFAULT,
	VFAB_PARTITIONS_NONE,
	VFAB_PARTITIONS_HGX15,
	VFAB_PARTITIONS_PER_NODE,
};

/**
 * enum vfabric_counter - What is counted, of a port (port-*, link-*) or of an
 *   endpoint (the others), since the domain was created or the counter
 *   cleared. Bytes and operations are those of libvfab's calls; loads and
 *   stores of mapped memory are not counted. A counter that has no source is
 *   absent: those of bytes and operations until an endpoint of the domain has
 *   mapped the page in which it counts, port-xmit-wait until shape was on.
 * @VFAB_COUNTER_PORT_XMIT_BYTES: Bytes that left by this port.
 * @VFAB_COUNTER_PORT_RCV_BYTES: Bytes that came in by this port.
 * @VFAB_COUNTER_PORT_XMIT_WAIT: Nanoseconds for which paced transfers waited
 *   for others to leave by this port.
 * @VFAB_COUNTER_LINK_DOWNED: The link stopped working; set down, with its
 *   switch, or by itself.
 * @VFAB_COUNTER_LINK_ERROR_RECOVERY: The link came back after it had gone down
 *   by itself.
 * @VFAB_COUNTER_XMIT_BYTES: Bytes that operations moved from this endpoint to
 *   others.
 * @VFAB_COUNTER_RCV_BYTES: Bytes that operations moved from others to this
 *   endpoint.
 * @VFAB_COUNTER_XMIT_OPS: Operations that moved bytes from this endpoint to
 *   another, whoever called them.
 * @VFAB_COUNTER_RCV_OPS: Operations that moved bytes from another to this
 *   endpoint, whoever called them.
 * @VFAB_COUNTER_ATTACHES: The endpoint was attached to.
 * @VFAB_COUNTER_PEERS_LOST: A peer that was held was lost to this endpoint, as
 *   VFAB_EVENT_PEER_LOST tells.
 * @VFAB_COUNTER_WINDOWS_REVOKED: A peer freed a window that this endpoint had
 *   imported.
 * @VFAB_COUNTER_IMPORTS_REFUSED: This endpoint asked for an import of a window
 *   or of doorbells, rightly formed, and did not get it.
 * @VFAB_COUNTER_RING_CALLS: Doorbell rings of this endpoint that entered the
 *   kernel.
 * @VFAB_COUNTER_WAIT_CALLS: Waits for doorbells of this endpoint that entered
 *   the kernel.
 * @VFAB_COUNTER_EVENTS_DROPPED: Events that this endpoint's full queue did not
 *   take.
 */
enum vfabric_counter {
	VFAB_COUNTER_PORT_XMIT_BYTES,
	VFAB_COUNTER_PORT_RCV_BYTES,
	VFAB_COUNTER_PORT_XMIT_WAIT,
	VFAB_COUNTER_LINK_DOWNED,
	VFAB_COUNTER_LINK_ERROR_RECOVERY,
	VFAB_COUNTER_XMIT_BYTES,
	VFAB_COUNTER_RCV_BYTES,
	VFAB_COUNTER_XMIT_OPS,
	VFAB_COUNTER_RCV_OPS,
	VFAB_COUNTER_ATTACHES,
	VFAB_COUNTER_PEERS_LOST,
	VFAB_COUNTER_WINDOWS_REVOKED,
	VFAB_COUNTER_IMPORTS_REFUSED,
	VFAB_COUNTER_RING_CALLS,
	VFAB_COUNTER_WAIT_CALLS,
	VFAB_COUNTER_EVENTS_DROPPED,
};

/**
 * enum vfabric_fault_kind - What breaks. A fault acts on its target, and takes
 *   the attributes that its kind is said to take here besides after, duration
 *   and seed. Targets are links (as in link-set), endpoints (rank, node or
 *   fault-all), a node, or the domain.
 * @VFAB_FAULT_LINK_DOWN: Links are broken.
 * @VFAB_FAULT_LINK_FLAP: Links are down for the first half of each flap-period
 *   (wanted), fault-count times, or until the fault ends.
 * @VFAB_FAULT_LINK_DEGRADE: Links have another rate, latency or width (one of
 *   them is wanted), where that is worse than what they have. fault-silent:
 *   routes have them, but the links are shown as if they had not.
 * @VFAB_FAULT_BLACKHOLE: What would pass over the links stalls until the fault
 *   ends, while routes, views and links say that all is well. fault-duration
 *   is wanted, at most 600000.
 * @VFAB_FAULT_STUCK: Endpoints are shown in the state in-progress, and are not
 *   given to who attaches (EAGAIN); fault-count such refusals.
 * @VFAB_FAULT_OVERRIDE: Endpoints are shown with another fabric-state, status,
 *   uuid, clique or health (one of them is wanted), independent of what is so.
 * @VFAB_FAULT_PEER_KILL: An endpoint that is held ends, and the process that
 *   holds it is killed (CAP_KILL in the initial user namespace is needed)
 *   unless fault-spare.
 * @VFAB_FAULT_NODE_LOSS: The same for all endpoints of a node at once; then
 *   its links are broken.
 * @VFAB_FAULT_MANAGER_STALL: Whoever manages the fabric is stuck: routing
 *   tables do not change (EAGAIN).
 * @VFAB_FAULT_IMPORT_REFUSE: Imports of peers' windows by the endpoints are
 *   refused with fault-errno (EPERM), after the first fault-skip of each
 *   endpoint, of others fault-permille, and at most fault-count.
 * @VFAB_FAULT_QUOTA: The endpoints may have at most fault-limit (0) windows
 *   each; more are refused with fault-errno (EDQUOT or ENOMEM), at most
 *   fault-count times.
 * @VFAB_FAULT_EVENT_DELAY: Endpoints read their events fault-delay (wanted)
 *   late.
 * @VFAB_FAULT_EVENT_REORDER: Endpoints read the events of fault-delay (default
 *   100) together, in another order.
 * @VFAB_FAULT_EVENT_DROP: Of the endpoints' events, fault-permille are lost,
 *   at most fault-count; as with a full queue, an overflow record stands in
 *   their place.
 */
enum vfabric_fault_kind {
	VFAB_FAULT_LINK_DOWN,
	VFAB_FAULT_LINK_FLAP,
	VFAB_FAULT_LINK_DEGRADE,
	VFAB_FAULT_BLACKHOLE,
	VFAB_FAULT_STUCK,
	VFAB_FAULT_OVERRIDE,
	VFAB_FAULT_PEER_KILL,
	VFAB_FAULT_NODE_LOSS,
	VFAB_FAULT_MANAGER_STALL,
	VFAB_FAULT_IMPORT_REFUSE,
	VFAB_FAULT_QUOTA,
	VFAB_FAULT_EVENT_DELAY,
	VFAB_FAULT_EVENT_REORDER,
	VFAB_FAULT_EVENT_DROP,
};

/**
 * enum vfabric_fault_phase
 * @VFAB_FAULT_PHASE_PENDING: Waits for fault-after to pass.
 * @VFAB_FAULT_PHASE_ENDED: Has undone what it did; shown until it is deleted
 *   or room is needed.
 */
enum vfabric_fault_phase {
	VFAB_FAULT_PHASE_PENDING,
	VFAB_FAULT_PHASE_ACTIVE,
	VFAB_FAULT_PHASE_ENDED,
};

/**
 * enum vfabric_manager_state - Whether somebody manages a domain. Routes stay
 *   as they are when nobody does.
 * @VFAB_MANAGER_NONE: There was none, or it said goodbye.
 * @VFAB_MANAGER_ALIVE: It was heard of within its own timeout.
 * @VFAB_MANAGER_LOST: It said no goodbye, but its socket was closed (it was
 *   killed), or nothing was heard of it for its timeout (it is stuck).
 */
enum vfabric_manager_state {
	VFAB_MANAGER_NONE,
	VFAB_MANAGER_ALIVE,
	VFAB_MANAGER_LOST,
};

/**
 * enum vfabric_resiliency - What a partition makes of a lost link, trunk link
 *   or switch. Routes are the same in both: what remains is used. What counts
 *   are the links of members in service (not parked) and, where these have no
 *   switch in common, the links between switches, but of switches that serve
 *   endpoints and no member.
 * @VFAB_RESILIENCY_ADAPTIVE: It goes on with what remains, (n-1)/n of the
 *   links: its health is limited while all members reach one another
 *   (default).
 * @VFAB_RESILIENCY_FULL: It wants all: its health is unhealthy, and that of
 *   the endpoints that miss a port, until the links are back or these
 *   endpoints are parked.
 */
enum vfabric_resiliency {
	VFAB_RESILIENCY_ADAPTIVE,
	VFAB_RESILIENCY_FULL,
};

/**
 * enum vfabric_backplane_state - What a node of a backplane says of itself.
 * @VFAB_BACKPLANE_NONE: Nothing that makes sense.
 * @VFAB_BACKPLANE_LEFT: In good order; it touches nothing any more.
 * @VFAB_BACKPLANE_FENCED: It was expelled, has ended what it had, and returns.
 */
enum vfabric_backplane_state {
	VFAB_BACKPLANE_NONE,
	VFAB_BACKPLANE_JOINING,
	VFAB_BACKPLANE_ACTIVE,
	VFAB_BACKPLANE_LEFT,
	VFAB_BACKPLANE_FENCED,
};

/**
 * enum vfabric_backplane_view - What this node makes of another one.
 * @VFAB_BACKPLANE_VIEW_NONE: It was never followed.
 * @VFAB_BACKPLANE_VIEW_LOST: It was, and is not any more; backplane-why says
 *   why.
 */
enum vfabric_backplane_view {
	VFAB_BACKPLANE_VIEW_NONE,
	VFAB_BACKPLANE_VIEW_LIVE,
	VFAB_BACKPLANE_VIEW_LOST,
	VFAB_BACKPLANE_VIEW_SELF,
};

/**
 * enum vfabric_backplane_why
 * @VFAB_BACKPLANE_WHY_SILENT: It had no beat within its timeout, and was
 *   expelled.
 * @VFAB_BACKPLANE_WHY_BEHIND: It did not follow a change within this node's
 *   timeout, and was expelled.
 * @VFAB_BACKPLANE_WHY_FENCED: Another node had expelled it.
 * @VFAB_BACKPLANE_WHY_RETURNED: It was started again.
 * @VFAB_BACKPLANE_WHY_CLOSED: Its connection to vfabswitchd ended.
 */
enum vfabric_backplane_why {
	VFAB_BACKPLANE_WHY_NONE,
	VFAB_BACKPLANE_WHY_SILENT,
	VFAB_BACKPLANE_WHY_BEHIND,
	VFAB_BACKPLANE_WHY_LEFT,
	VFAB_BACKPLANE_WHY_FENCED,
	VFAB_BACKPLANE_WHY_RETURNED,
	VFAB_BACKPLANE_WHY_CLOSED,
};

enum {
	VFAB_A_PAD = 1,
	VFAB_A_DOMAIN,
	VFAB_A_DOMAIN_NAME,
	VFAB_A_UUID,
	VFAB_A_WORLD,
	VFAB_A_PLANES,
	VFAB_A_MODE,
	VFAB_A_UID,
	VFAB_A_GID,
	VFAB_A_PEER_DEATH,
	VFAB_A_RETRY_TIMEOUT,
	VFAB_A_MEM_LIMIT,
	VFAB_A_MEM_USED,
	VFAB_A_ATTACHED,
	VFAB_A_GENERATION,
	VFAB_A_FORCE,
	VFAB_A_RANK,
	VFAB_A_SWITCH,
	VFAB_A_PORT,
	VFAB_A_PEER_RANK,
	VFAB_A_PEER_SWITCH,
	VFAB_A_PEER_PORT,
	VFAB_A_PARTITION,
	VFAB_A_PARTITION_NAME,
	VFAB_A_MEMBERS,
	VFAB_A_ADD_MEMBERS,
	VFAB_A_DEL_MEMBERS,
	VFAB_A_MEMBER_COUNT,
	VFAB_A_FABRIC_STATE,
	VFAB_A_STATUS,
	VFAB_A_HEALTH,
	VFAB_A_PORTS_UP,
	VFAB_A_HELD,
	VFAB_A_HOLDER_PID,
	VFAB_A_HOLDER_COMM,
	VFAB_A_WINDOWS,
	VFAB_A_IMPORTS,
	VFAB_A_EVICT,
	VFAB_A_HANDLE,
	VFAB_A_SIZE,
	VFAB_A_TAG,
	VFAB_A_ACCESS,
	VFAB_A_IMPORTERS,
	VFAB_A_IMPORT_COUNT,
	VFAB_A_UP,
	VFAB_A_LINK_STATE,
	VFAB_A_LINK_REASON,
	VFAB_A_RATE,
	VFAB_A_LATENCY,
	VFAB_A_DEST,
	VFAB_A_EGRESS,
	VFAB_A_DROP,
	VFAB_A_SRC,
	VFAB_A_DST,
	VFAB_A_REACHABLE,
	VFAB_A_PATHS,
	VFAB_A_HOP,
	VFAB_A_OBJECT,
	VFAB_A_ACTION,
	VFAB_A_REASON,
	VFAB_A_ROUTES_CHANGED,
	VFAB_A_ROUTES_LOST,
	VFAB_A_NETNS_MODE,
	VFAB_A_DOMAINS,
	VFAB_A_USER_MEM_LIMIT,
	VFAB_A_DEV_MAJOR,
	VFAB_A_DEV_MINOR,
	VFAB_A_SWITCHES,
	VFAB_A_LINKS,
	VFAB_A_LINK_COUNT,
	VFAB_A_SWITCH_LATENCY,
	VFAB_A_FORWARDING,
	VFAB_A_PROFILE,
	VFAB_A_PORTS,
	VFAB_A_DRAIN,
	VFAB_A_RESTORE,
	VFAB_A_WIDTH,
	VFAB_A_BUILT_RATE,
	VFAB_A_BUILT_LATENCY,
	VFAB_A_BUILT_WIDTH,
	VFAB_A_EGRESS_MASK,
	VFAB_A_PATH_COUNTS,
	VFAB_A_FLAP_PERIOD,
	VFAB_A_FLAP_COUNT,
	VFAB_A_CHANNEL,
	VFAB_A_NODES,
	VFAB_A_NODE,
	VFAB_A_PARTITION_MODE,
	VFAB_A_ACTIVE,
	VFAB_A_IF_DETACHED,
	VFAB_A_RECOVERING,
	VFAB_A_COUNTER,
	VFAB_A_SHAPE,
	VFAB_A_SHAPE_SCALE,
	VFAB_A_FAULT_ID,
	VFAB_A_FAULT_KIND,
	VFAB_A_FAULT_PHASE,
	VFAB_A_FAULT_AFTER,
	VFAB_A_FAULT_DURATION,
	VFAB_A_FAULT_LEFT,
	VFAB_A_FAULT_COUNT,
	VFAB_A_FAULT_SEED,
	VFAB_A_FAULT_HITS,
	VFAB_A_FAULT_ALL,
	VFAB_A_FAULT_SILENT,
	VFAB_A_FAULT_PERMILLE,
	VFAB_A_FAULT_ERRNO,
	VFAB_A_FAULT_SKIP,
	VFAB_A_FAULT_LIMIT,
	VFAB_A_FAULT_DELAY,
	VFAB_A_FAULT_SPARE,
	VFAB_A_CLIQUE,
	VFAB_A_MANAGER_STATE,
	VFAB_A_MANAGER_TIMEOUT,
	VFAB_A_MANAGER_AGE,
	VFAB_A_MANAGER_NOTE,
	VFAB_A_MANAGER_PID,
	VFAB_A_RESILIENCY,
	VFAB_A_LINKS_UP,
	VFAB_A_PARKED,
	VFAB_A_PARKED_MEMBERS,
	VFAB_A_PARK_MEMBERS,
	VFAB_A_UNPARK_MEMBERS,
	VFAB_A_ENTRIES,
	VFAB_A_BACKPLANE,
	VFAB_A_BACKPLANE_STATE,
	VFAB_A_BACKPLANE_VIEW,
	VFAB_A_BACKPLANE_WHY,
	VFAB_A_INCARNATION,
	VFAB_A_BEAT_PERIOD,
	VFAB_A_BEAT_TIMEOUT,
	VFAB_A_BEAT_AGE,
	VFAB_A_COOPERATIVE,
	VFAB_A_CONNECTED,
	VFAB_A_CHANGE,
	VFAB_A_FOLLOWED,
	VFAB_A_DATA_SIZE,
	VFAB_A_DATA_USED,
	VFAB_A_DATA_WAITING,
	VFAB_A_DATA_READY,
	VFAB_A_CACHED,
	VFAB_A_FENCES,
	VFAB_A_SWITCHD_AGE,
	VFAB_A_INTERRUPTS,
	VFAB_A_INTERRUPTS_HELD,
	VFAB_A_PLACE,
	VFAB_A_OWNER,
	VFAB_A_UNMIRRORED,

	__VFAB_A_MAX,
	VFAB_A_MAX = (__VFAB_A_MAX - 1)
};

enum {
	VFAB_HOP_A_SWITCH = 1,
	VFAB_HOP_A_IN_PORT,
	VFAB_HOP_A_OUT_PORT,
	VFAB_HOP_A_VERDICT,
	VFAB_HOP_A_RANK,
	VFAB_HOP_A_PATH,
	VFAB_HOP_A_WAYS,

	__VFAB_HOP_A_MAX,
	VFAB_HOP_A_MAX = (__VFAB_HOP_A_MAX - 1)
};

enum {
	VFAB_COUNTER_A_PAD = 1,
	VFAB_COUNTER_A_ID,
	VFAB_COUNTER_A_VALUE,

	__VFAB_COUNTER_A_MAX,
	VFAB_COUNTER_A_MAX = (__VFAB_COUNTER_A_MAX - 1)
};

enum {
	VFAB_CMD_SYSTEM_GET = 1,
	VFAB_CMD_SYSTEM_SET,
	VFAB_CMD_DOMAIN_GET,
	VFAB_CMD_DOMAIN_CREATE,
	VFAB_CMD_DOMAIN_DELETE,
	VFAB_CMD_DOMAIN_SET,
	VFAB_CMD_PARTITION_GET,
	VFAB_CMD_PARTITION_CREATE,
	VFAB_CMD_PARTITION_DELETE,
	VFAB_CMD_PARTITION_SET,
	VFAB_CMD_ENDPOINT_GET,
	VFAB_CMD_ENDPOINT_SET,
	VFAB_CMD_WINDOW_GET,
	VFAB_CMD_SWITCH_GET,
	VFAB_CMD_SWITCH_SET,
	VFAB_CMD_PORT_GET,
	VFAB_CMD_PORT_SET,
	VFAB_CMD_LINK_GET,
	VFAB_CMD_LINK_SET,
	VFAB_CMD_ROUTE_GET,
	VFAB_CMD_ROUTE_SET,
	VFAB_CMD_ROUTE_TRACE,
	VFAB_CMD_EVENT,
	VFAB_CMD_PATH_GET,
	VFAB_CMD_CHANNEL_GET,
	VFAB_CMD_CHANNEL_CREATE,
	VFAB_CMD_CHANNEL_DELETE,
	VFAB_CMD_COUNTER_GET,
	VFAB_CMD_COUNTER_CLEAR,
	VFAB_CMD_FAULT_GET,
	VFAB_CMD_FAULT_CREATE,
	VFAB_CMD_FAULT_DELETE,
	VFAB_CMD_MANAGER_HEARTBEAT,
	VFAB_CMD_MANAGER_GOODBYE,
	VFAB_CMD_BACKPLANE_GET,
	VFAB_CMD_BACKPLANE_NODE_GET,

	__VFAB_CMD_MAX,
	VFAB_CMD_MAX = (__VFAB_CMD_MAX - 1)
};

#define VFABRIC_MCGRP_EVENTS	"events"

#endif /* _UAPI_LINUX_VFABRIC_NETLINK_H */
