/* SPDX-License-Identifier: GPL-2.0 */
/* /run/vfabric/ID.manager: that somebody manages a domain, and how it is. */
#ifndef VFABMGR_STATE_H
#define VFABMGR_STATE_H

#include "client.h"

/* Exit statuses of --status, as those of an init script */
enum {
	STATE_RUNNING = 0,
	STATE_STALE = 1,	/* killed, or stuck */
	STATE_NONE = 3,
};

/**
 * struct state - the file, held while it is managed
 * @fd: -1: not held
 * @result: of the last pass: "ok", "refused" or "failed"
 */
struct state {
	int fd;
	char path[64];
	const struct domain *domain;
	const char *engine, *result;
	struct pairs pairs;
};

int state_take(struct state *s, const struct domain *d, char why[256]);
void state_beat(struct state *s);
void state_drop(struct state *s);
int state_show(u32 domain);

#endif
