/* SPDX-License-Identifier: GPL-2.0 */
/* Snapshots of a domain's counters and links: what makes them, and what compares them. */
#ifndef VFABCTL_SNAPSHOT_H
#define VFABCTL_SNAPSHOT_H

#include "telemetry.h"
#include "vfabctl.h"

/**
 * struct snapshot - a domain at one moment
 * @t: one domain, its links and its objects
 * @time_ms: since 1970
 */
struct snapshot {
	struct tele t;
	int64_t time_ms;
	char uuid[37];
};

int snapshot_load(struct ctx *c, const char *path, struct snapshot *s);
int snapshot_now(struct ctx *c, const struct snapshot *before, struct snapshot *s);
void snapshot_free(struct snapshot *s);

#endif
