/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Telemetry: what the tools that watch a fabric read of it. How to use, by
 * example:
 *
 *	struct tele t = { 0 };
 *
 *	ret = tele_read(nl, NULL, TELE_LINKS, &t);
 *	if (ret)
 *		fprintf(stderr, "%s\n", vfab_nl_error(nl));
 *	for (i = 0; i < t.nlinks; i++)
 *		look_at(&t.links[i], tele_find(&t, tele_port(&t.links[i].end[0])));
 *	tele_free(&t);
 *
 * A read is one dump of each kind of object, whatever their number.
 */
#ifndef VFAB_TELEMETRY_H
#define VFAB_TELEMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "vfab.h"
#include "vfab_nl.h"

#define TELE_COMM	32
#define TELE_METRIC	64
#define TELE_ADDR	48	/* "dom2147483647/ep1023/p63" and its NUL */

/**
 * struct tele_addr - an endpoint or switch, or a port of one
 * @port: -1: not a port
 */
struct tele_addr {
	uint32_t domain;
	bool is_switch;
	int index, port;
};

struct tele_domain {
	uint32_t id, world, planes, nodes, switches, links, attached;
	uint64_t generation, mem_used, mem_limit;
	uint8_t uuid[16];
	char name[VFAB_NAME_LEN + 1];
};

/**
 * struct tele_ep - an endpoint
 * @partition: -1: it is in none
 * @pid: 0 where it is not held, or not the reader's to know
 * @comm: any bytes, escape before printing
 */
struct tele_ep {
	uint32_t domain, rank, node, state, health, ports_up, planes, windows, pid;
	int partition;
	int32_t status;
	bool held;
	char comm[TELE_COMM];
};

/* Rates in 10^6 bytes per second and direction */
struct tele_link {
	struct tele_addr end[2];
	uint32_t state, reason, rate, built_rate;
	bool up;
};

struct tele_switch {
	uint32_t domain, index, ports, ports_up;
	bool up;
};

/* What a counter says, for tools that add several up */
enum tele_kind {
	TELE_OTHER,
	TELE_BYTES_OUT,
	TELE_BYTES_IN,
	TELE_OPS,
	TELE_ERROR,		/* something went wrong */
	TELE_KINDS
};

/* Objects that may have a counter */
enum {
	TELE_ON_EP = 1 << 0,
	TELE_ON_EP_PORT = 1 << 1,
	TELE_ON_SW_PORT = 1 << 2,
};

/**
 * struct tele_counter - what is known of a counter
 * @name: as InfiniBand has it where it has such a one
 * @unit: bytes, ns, or what is counted
 * @event: what moves it
 * @ib, @dcgm: their names for it, NULL where they have none
 * @objects: TELE_ON_*
 */
struct tele_counter {
	const char *name, *unit, *event, *ib, *dcgm;
	enum tele_kind kind;
	unsigned int objects;
};

/* Numbers of counters are below it; 64 at most */
#define TELE_COUNTERS	(VFAB_COUNTER_EVENTS_DROPPED + 1)
extern const struct tele_counter tele_counters[TELE_COUNTERS];

/**
 * struct tele_object - the counters of an endpoint or a port
 * @present: bit i: it has counter i; others are absent, not 0
 */
struct tele_object {
	struct tele_addr addr;
	uint64_t key;
	uint64_t present;
	uint64_t value[TELE_COUNTERS];
};

struct tele {
	struct tele_domain *domains;
	struct tele_ep *eps;
	struct tele_link *links;
	struct tele_switch *switches;
	struct tele_object *objects;	/* by address */
	size_t ndomains, neps, nlinks, nswitches, nobjects;
};

/* What to read */
enum {
	TELE_DOMAINS = 1 << 0,
	TELE_EPS = 1 << 1,
	TELE_LINKS = 1 << 2,
	TELE_SWITCHES = 1 << 3,
	TELE_OBJECTS = 1 << 4,
};

/**
 * struct tele_domref - one domain, by its name or else by its id
 */
struct tele_domref {
	const char *name;
	uint32_t id;
};

/**
 * struct tele_client - a netlink client that outlives the module
 * @nl: for vfab_nl_error() and vfab_nl_close(); NULL at first
 * @ready: @nl is good for requests, too
 */
struct tele_client {
	struct vfab_nl *nl;
	bool ready;
};

int tele_read_again(struct tele_client *c, const struct tele_domref *dom, unsigned int what,
		    struct tele *t);
int tele_read(struct vfab_nl *nl, const struct tele_domref *dom, unsigned int what,
	      struct tele *t);
void tele_free(struct tele *t);
const struct tele_domain *tele_domain(const struct tele *t, uint32_t id);

const char *tele_metric(unsigned int counter, char text[TELE_METRIC]);
bool tele_is_time(unsigned int counter);
int tele_by_name(const char *name);
void tele_read_object(const struct vfab_nl_msg *msg, struct tele_object *o);
uint64_t tele_key(const struct tele_addr *addr);
void tele_sort(struct tele *t);
const struct tele_object *tele_find(const struct tele *t, const struct tele_addr *addr);

static inline bool tele_has(const struct tele_object *o, unsigned int counter)
{
	return o->present >> counter & 1;
}

const char *tele_text(const struct tele_addr *addr, char text[TELE_ADDR]);
const char *tele_uuid(const struct tele_domain *d, char text[37]);
const char *tele_link_state(uint32_t state);
const char *tele_link_reason(uint32_t reason);
/* The words of tele_ep_state() and tele_health(), by number; they end with NULL. */
extern const char *const tele_ep_states[];
extern const char *const tele_healths[];
const char *tele_ep_state(uint32_t state);
const char *tele_health(uint32_t health);

#endif
