/* SPDX-License-Identifier: GPL-2.0 */
/* What vfabmgr asks of the kernel, over libnl. */
#ifndef VFABMGR_CLIENT_H
#define VFABMGR_CLIENT_H

#include <netlink/attr.h>
#include <linux/vfabric_netlink.h>
#include "vfabmgr.h"

#define NAME_LEN 32
#define NOTE_LEN 64
#define BATCH 2000	/* entries of a request */

/**
 * struct domain - what domain-get says
 * @generation: moves with each change of links, tables and partitions
 * @manager: enum vfabric_manager_state; what follows it is of it
 * @pid: 0 for who may not know
 * @note: printable
 */
struct domain {
	u32 id, world, switches, links, switch_latency;
	bool forwards;
	u64 generation;
	char name[NAME_LEN + 1];
	u32 manager, pid, age_ms;
	char note[NOTE_LEN + 1];
};

/**
 * struct client - two sockets: for requests, and for events
 * @done, @err, @why: of the request under way: it is over; a negative errno
 *	and a sentence
 * @news: an event told of something that is not known yet
 * @gone: the domain was deleted
 * @overruns: how often events were lost
 * @known: the generation up to which events are no news
 * @batch: entries that are set by the next request, @nbatch of them
 * @requests: that have set entries
 */
struct client {
	struct nl_sock *sock, *events;
	int family;
	u32 domain;
	bool done;
	int err;
	char why[256];
	bool news, gone;
	u32 overruns;
	u64 known;
	struct vfab_entry_spec batch[BATCH];
	u32 nbatch, requests;
	int (*handle)(struct client *c, struct nlattr **attrs, void *data);
	void *data;
};

/*
 * All return 0 or a negative errno, and then c->why is a sentence. ENOENT:
 * there is no module or no such domain; ENODEV: it has just ended.
 */
int client_open(struct client *c);
void client_close(struct client *c);
int client_find(struct client *c, const char *domain, struct domain *d);
int client_look(struct client *c, struct domain *d);
int client_fabric(struct client *c, const struct domain *d, struct fabric *f);
int client_links(struct client *c, struct fabric *f);
int client_tables(struct client *c, struct fabric *f);
int client_set(struct client *c, const struct fabric *f, u32 router, u32 dest,
	       struct entry e);
int client_flush(struct client *c);
int client_beat(struct client *c, u32 timeout_ms, const char *note);
int client_goodbye(struct client *c);
int client_events(struct client *c);
int client_drain(struct client *c);

#endif
