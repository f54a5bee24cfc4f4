/* SPDX-License-Identifier: GPL-2.0 */
/* That somebody manages a domain, and how it is: what the kernel is told of it. */
#ifndef VFABMGR_STATE_H
#define VFABMGR_STATE_H

#include "client.h"

/* Exit statuses of --status, as those of an init script */
enum {
	STATE_ALIVE = 0,
	STATE_LOST = 1,		/* killed, or stuck */
	STATE_NONE = 3,
};

/**
 * struct state - what the signs of life say
 * @timeout_ms: after how long without one the kernel calls it lost
 * @known: a sign of life was taken: goodbye is due
 * @next: when the next one is due, in milliseconds of CLOCK_MONOTONIC
 * @result: of the last look: "ok", "refused" or "failed"
 */
struct state {
	u32 timeout_ms;
	bool known;
	double next;
	const char *engine, *result;
	struct pairs pairs;
};

int state_take(struct state *s, struct client *c);
int state_beat(struct state *s, struct client *c);
void state_drop(struct state *s, struct client *c);
int state_show(const struct domain *d);
double now_ms(void);

#endif
