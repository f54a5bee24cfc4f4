// SPDX-License-Identifier: GPL-2.0
/* Counters: what is known of each, and which objects have them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "telemetry.h"

#define PORTS	(TELE_ON_EP_PORT | TELE_ON_SW_PORT)

/*
 * By enum vfabric_counter, in whose words the events are. InfiniBand's names
 * are those of /sys/class/infiniband, DCGM's those of dcgm_fields.h.
 */
const struct tele_counter tele_counters[TELE_COUNTERS] = {
	[VFAB_COUNTER_PORT_XMIT_BYTES] = {
		"port_xmit_bytes", "bytes",
		"bytes of libvfab's operations left by this port",
		"port_xmit_data (in units of 4 bytes)",
		"DCGM_FI_DEV_NVLINK_COUNT_TX_BYTES, DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_TX",
		TELE_BYTES_OUT, PORTS
	},
	[VFAB_COUNTER_PORT_RCV_BYTES] = {
		"port_rcv_bytes", "bytes",
		"bytes of libvfab's operations came in by this port",
		"port_rcv_data (in units of 4 bytes)",
		"DCGM_FI_DEV_NVLINK_COUNT_RX_BYTES, DCGM_FI_DEV_NVSWITCH_LINK_THROUGHPUT_RX",
		TELE_BYTES_IN, PORTS
	},
	[VFAB_COUNTER_PORT_XMIT_WAIT] = {
		"port_xmit_wait", "ns",
		"with shape on, a transfer waited for others to leave by this port",
		"port_xmit_wait (in ticks)", NULL,
		TELE_OTHER, PORTS
	},
	[VFAB_COUNTER_LINK_DOWNED] = {
		"link_downed", "times",
		"the link stopped working: set down, with its switch, or by itself",
		"link_downed", NULL,
		TELE_ERROR, PORTS
	},
	[VFAB_COUNTER_LINK_ERROR_RECOVERY] = {
		"link_error_recovery", "times",
		"the link came back after it had gone down by itself, as one that flaps does",
		"link_error_recovery",
		"DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS",
		TELE_ERROR, PORTS
	},
	[VFAB_COUNTER_XMIT_BYTES] = {
		"xmit_bytes", "bytes",
		"libvfab's operations moved bytes from this endpoint to others",
		NULL, "DCGM_FI_PROF_NVLINK_TX_BYTES",
		TELE_BYTES_OUT, TELE_ON_EP
	},
	[VFAB_COUNTER_RCV_BYTES] = {
		"rcv_bytes", "bytes",
		"libvfab's operations moved bytes from others to this endpoint",
		NULL, "DCGM_FI_PROF_NVLINK_RX_BYTES",
		TELE_BYTES_IN, TELE_ON_EP
	},
	[VFAB_COUNTER_XMIT_OPS] = {
		"xmit_ops", "operations",
		"an operation moved bytes from this endpoint to another, whoever called it",
		NULL, NULL,
		TELE_OPS, TELE_ON_EP
	},
	[VFAB_COUNTER_RCV_OPS] = {
		"rcv_ops", "operations",
		"an operation moved bytes from another to this endpoint, whoever called it",
		NULL, NULL,
		TELE_OPS, TELE_ON_EP
	},
	[VFAB_COUNTER_ATTACHES] = {
		"attaches", "times",
		"a process attached to the endpoint",
		NULL, NULL,
		TELE_OTHER, TELE_ON_EP
	},
	[VFAB_COUNTER_PEERS_LOST] = {
		"peers_lost", "times",
		"a peer that was held was lost to this endpoint",
		NULL, NULL,
		TELE_ERROR, TELE_ON_EP
	},
	[VFAB_COUNTER_WINDOWS_REVOKED] = {
		"windows_revoked", "times",
		"a peer freed a window that this endpoint had imported",
		NULL, NULL,
		TELE_OTHER, TELE_ON_EP
	},
	[VFAB_COUNTER_IMPORTS_REFUSED] = {
		"imports_refused", "times",
		"this endpoint asked for an import, rightly formed, and did not get it",
		NULL, NULL,
		TELE_ERROR, TELE_ON_EP
	},
	[VFAB_COUNTER_RING_CALLS] = {
		"ring_calls", "calls",
		"a doorbell ring of this endpoint entered the kernel",
		NULL, NULL,
		TELE_OTHER, TELE_ON_EP
	},
	[VFAB_COUNTER_WAIT_CALLS] = {
		"wait_calls", "calls",
		"a wait of this endpoint for a doorbell entered the kernel",
		NULL, NULL,
		TELE_OTHER, TELE_ON_EP
	},
	[VFAB_COUNTER_EVENTS_DROPPED] = {
		"events_dropped", "events",
		"this endpoint's queue of events was full",
		NULL, NULL,
		TELE_ERROR, TELE_ON_EP
	},
};

/* The counter of this name, or -1 */
int tele_by_name(const char *name)
{
	unsigned int i;

	for (i = 0; i < TELE_COUNTERS; i++)
		if (!strcmp(tele_counters[i].name, name))
			return i;
	return -1;
}

/**
 * tele_metric - the name that Prometheus is given
 * @text: receives it
 *
 * Seconds are the only unit of time there: where @counter has nanoseconds, its
 * value has to be divided.
 */
const char *tele_metric(unsigned int counter, char text[TELE_METRIC])
{
	const struct tele_counter *k = &tele_counters[counter];

	snprintf(text, TELE_METRIC, "vfabric_%s%s_total", k->name,
		 tele_is_time(counter) ? "_seconds" : "");
	return text;
}

/* Whether its value is nanoseconds */
bool tele_is_time(unsigned int counter)
{
	return !strcmp(tele_counters[counter].unit, "ns");
}

/* Adds the counter in @nest; one that a newer module has is passed over. */
static void read_counter(struct tele_object *o, const struct nlattr *nest)
{
	uint64_t id = UINT64_MAX, value = 0;
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest) {
		if (mnl_attr_get_type(attr) == VFAB_COUNTER_A_ID)
			id = vfab_nl_uint(attr);
		if (mnl_attr_get_type(attr) == VFAB_COUNTER_A_VALUE)
			value = vfab_nl_uint(attr);
	}
	if (id >= TELE_COUNTERS)
		return;
	o->present |= 1ULL << id;
	o->value[id] = value;
}

/**
 * tele_read_object - the counters in a reply to VFAB_CMD_COUNTER_GET
 * @o: receives all of it but the address, which is the reply's to tell
 */
void tele_read_object(const struct vfab_nl_msg *msg, struct tele_object *o)
{
	const struct nlmsghdr *header = vfab_nl_header(msg);
	const struct nlattr *attr;

	o->present = 0;
	o->key = tele_key(&o->addr);
	mnl_attr_for_each(attr, header, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) == VFAB_A_COUNTER)
			read_counter(o, attr);
}

/* Orders objects as a dump does: by domain, endpoints, their ports, those of switches. */
uint64_t tele_key(const struct tele_addr *addr)
{
	return (uint64_t)addr->domain << 32 | (uint64_t)(addr->port >= 0) << 31 |
	       (uint64_t)addr->is_switch << 30 | (uint64_t)addr->index << 14 | (addr->port + 1);
}

static int compare(const void *left, const void *right)
{
	const uint64_t *key = left;
	const struct tele_object *o = right;

	return *key < o->key ? -1 : *key > o->key;
}

static int compare_objects(const void *left, const void *right)
{
	return compare(&((const struct tele_object *)left)->key, right);
}

/* Into the order in which tele_find() looks for them */
void tele_sort(struct tele *t)
{
	size_t i = 1;

	while (i < t->nobjects && t->objects[i - 1].key < t->objects[i].key)
		i++;
	/* Nearly always it is */
	if (i < t->nobjects)
		qsort(t->objects, t->nobjects, sizeof(*t->objects), compare_objects);
}

/* NULL: it has none. */
const struct tele_object *tele_find(const struct tele *t, const struct tele_addr *addr)
{
	uint64_t key = tele_key(addr);

	return t->nobjects ?
		bsearch(&key, t->objects, t->nobjects, sizeof(*t->objects), compare) : NULL;
}
