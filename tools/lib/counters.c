// SPDX-License-Identifier: LGPL-2.1
/*
 * What the module counts: names, and what they mean. The names are those of
 * enum vfabric_counter in Documentation/netlink/specs/vfabric.yaml, with _ for
 * -; selftests/host/counters.sh compares.
 */
#include <stddef.h>
#include "vfab_nl.h"

static const struct vfab_counter counters[] = {
	[VFAB_COUNTER_PORT_XMIT_BYTES] = {
		.name = "port_xmit_bytes", .unit = "bytes", .port = 1,
		.moved_by = "an operation of libvfab moves bytes out by this port: vfab_put() and vfab_get() their length, a collective what it reads of each peer, vfab_ring() 8",
		.infiniband = "port_xmit_data, which counts 4 bytes as one",
		.dcgm = "DCGM_FI_DEV_NVLINK_COUNT_TX_BYTES",
	},
	[VFAB_COUNTER_PORT_RCV_BYTES] = {
		.name = "port_rcv_bytes", .unit = "bytes", .port = 1,
		.moved_by = "an operation of libvfab moves bytes in by this port",
		.infiniband = "port_rcv_data, which counts 4 bytes as one",
		.dcgm = "DCGM_FI_DEV_NVLINK_COUNT_RX_BYTES",
	},
	[VFAB_COUNTER_PORT_XMIT_WAIT] = {
		.name = "port_xmit_wait", .unit = "nanoseconds", .port = 1,
		.moved_by = "a paced transfer waits for others before it leaves by this port (domain set shape on)",
		.infiniband = "port_xmit_wait, in ticks",
	},
	[VFAB_COUNTER_LINK_DOWNED] = {
		.name = "link_downed", .unit = "times", .port = 1,
		.moved_by = "the link stops working: set down, with its switch, or by itself; draining does not count",
		.infiniband = "link_downed",
		.dcgm = "DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS",
	},
	[VFAB_COUNTER_LINK_ERROR_RECOVERY] = {
		.name = "link_error_recovery", .unit = "times", .port = 1,
		.moved_by = "the link comes back after it had gone down by itself, as in each period of a flap",
		.infiniband = "link_error_recovery",
		.dcgm = "DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS",
	},
	[VFAB_COUNTER_XMIT_BYTES] = {
		.name = "xmit_bytes", .unit = "bytes",
		.moved_by = "an operation of libvfab, the endpoint's or a peer's, moves bytes from this endpoint to another",
		.dcgm = "DCGM_FI_PROF_NVLINK_TX_BYTES",
	},
	[VFAB_COUNTER_RCV_BYTES] = {
		.name = "rcv_bytes", .unit = "bytes",
		.moved_by = "an operation of libvfab, the endpoint's or a peer's, moves bytes from another endpoint to this one",
		.dcgm = "DCGM_FI_PROF_NVLINK_RX_BYTES",
	},
	[VFAB_COUNTER_XMIT_OPS] = {
		.name = "xmit_ops", .unit = "operations",
		.moved_by = "an operation moves bytes from this endpoint to another: its own vfab_put() and vfab_ring(), a peer's vfab_get(), each part that a collective reads",
	},
	[VFAB_COUNTER_RCV_OPS] = {
		.name = "rcv_ops", .unit = "operations",
		.moved_by = "an operation moves bytes from another endpoint to this one",
	},
	[VFAB_COUNTER_ATTACHES] = {
		.name = "attaches", .unit = "times",
		.moved_by = "a process attaches to the endpoint",
	},
	[VFAB_COUNTER_PEERS_LOST] = {
		.name = "peers_lost", .unit = "times",
		.moved_by = "a peer that was held is lost to this endpoint: its process or the route ended, and the retry timeout passed",
	},
	[VFAB_COUNTER_WINDOWS_REVOKED] = {
		.name = "windows_revoked", .unit = "windows",
		.moved_by = "a peer frees a window that this endpoint has imported",
	},
	[VFAB_COUNTER_IMPORTS_REFUSED] = {
		.name = "imports_refused", .unit = "times",
		.moved_by = "the endpoint asks for a window or for doorbells and does not get them: no route, another partition or channel, no such window, a limit",
	},
	[VFAB_COUNTER_RING_CALLS] = {
		.name = "ring_calls", .unit = "calls",
		.moved_by = "a ring of this endpoint enters the kernel, because somebody sleeps on the doorbell",
	},
	[VFAB_COUNTER_WAIT_CALLS] = {
		.name = "wait_calls", .unit = "calls",
		.moved_by = "a wait for a doorbell of this endpoint enters the kernel",
	},
	[VFAB_COUNTER_EVENTS_DROPPED] = {
		.name = "events_dropped", .unit = "events",
		.moved_by = "an event comes while the endpoint's queue is full: its process does not read",
	},
};

const struct vfab_counter *vfab_counter(uint32_t id)
{
	if (id >= sizeof(counters) / sizeof(counters[0]) || !counters[id].name)
		return NULL;
	return &counters[id];
}
