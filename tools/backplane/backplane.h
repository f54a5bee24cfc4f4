/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Backplanes as programs on the host see them: where vfabswitchd's sockets are,
 * and how it is asked. By example:
 *
 *	struct backplane_status s;
 *
 *	if (backplane_ask(NULL, "rack", &s, why, sizeof(why)))
 *		fprintf(stderr, "%s\n", why);
 *	printf("%u nodes\n", s.bp.nodes);
 *	backplane_status_end(&s);
 *
 * The sockets are in DIR/NAME:
 *
 *	join	connect, and be a node: the protocol of QEMU's ivshmem-server
 *	nodeN	the same, as node N and no other
 *	status	connect, and get a struct backplane_answer
 */
#ifndef VFABRIC_BACKPLANE_H
#define VFABRIC_BACKPLANE_H

#include <sys/types.h>
#include "../../kmod/backplane_layout.h"

#define BACKPLANE_DIR		"/run/vfabric"
#define BACKPLANE_MAGIC		0x7461747362666176ULL	/* "vafbstat" */

/**
 * struct backplane_answer - the one message of a connection to "status"
 * @magic:	BACKPLANE_MAGIC
 * @bytes:	sizeof(struct backplane_answer)
 * @pid:	of the daemon
 * @now:	nanoseconds of CLOCK_REALTIME
 * @header:	as it was made
 * @daemon:	as it is
 *
 * In host byte order, but for what is of the region. It comes from the daemon's
 * own memory, which no node can write to, and with a file descriptor of the
 * region for reading.
 */
struct backplane_answer {
	uint64_t magic;
	uint32_t bytes;
	uint32_t pid;
	uint64_t now;
	struct vfab_bp_header header;
	struct vfab_bp_daemon daemon;
};

/**
 * struct backplane_status - a backplane, seen from outside
 * @bp:		its region, mapped for reading: what nodes say of themselves
 * @answer:	what the daemon says
 */
struct backplane_status {
	struct vf_bp bp;
	struct backplane_answer answer;
};

int backplane_path(const char *dir, const char *name, const char *socket, char *to, size_t room);
int backplane_connect(const char *path, unsigned int seconds);
ssize_t backplane_receive(int sock, int flags, void *to, size_t bytes, int *fd);
int backplane_ask(const char *dir, const char *name, struct backplane_status *s, char *why,
		  size_t room);
void backplane_status_end(struct backplane_status *s);
const char *backplane_peer_state(const struct vfab_bp_peer *peer);
const char *backplane_node_state(const struct vfab_bp_node *node);

#endif
