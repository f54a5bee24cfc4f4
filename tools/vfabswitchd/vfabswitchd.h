/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of vfabswitchd share. */
#ifndef VFABSWITCHD_H
#define VFABSWITCHD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "../backplane/backplane.h"

#define EXIT_REFUSED	1
#define EXIT_USAGE	2
#define MAX_UIDS	32

/**
 * struct config - what was asked for
 * @page:	bytes of a huge page, 0: none
 * @reserve:	have all of the memory from the beginning
 * @stall_ms:	a peer that is behind for so long is served no more
 * @uid:	who may join: these
 */
struct config {
	const char *name;
	const char *dir;
	uint64_t size;
	uint64_t page;
	uint32_t nodes;
	uint32_t vectors;
	uint32_t stall_ms;
	bool reserve;
	uid_t uid[MAX_UIDS];
	unsigned int nuids;
};

/* main.c */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void notify(const char *text);

/* region.c */
struct region {
	struct vf_bp bp;
	int fd;			/* for peers */
	int read_only;		/* for those who look */
};

int region_make(struct region *r, const struct config *cfg);

/* place.c */
#define LISTEN_JOIN	VFAB_BP_MAX_NODES
#define LISTEN_STATUS	(VFAB_BP_MAX_NODES + 1)
#define LISTENERS	(VFAB_BP_MAX_NODES + 2)

/**
 * struct place - the directory, locked, and the sockets in it
 * @listener:	by node; then LISTEN_*
 */
struct place {
	int dir;
	int listener[LISTENERS];
	char path[256];
};

int place_take(struct place *p, const struct config *cfg);
void place_leave(struct place *p);

/* server.c */
int serve(const struct config *cfg, struct region *r, struct place *p);

/* show.c */
int show(const char *dir, const char *name, bool json);

#endif
