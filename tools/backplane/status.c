// SPDX-License-Identifier: LGPL-2.1
/* Talking to vfabswitchd, and asking it. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "backplane.h"

/**
 * backplane_path - where a socket is
 * @dir:	NULL: BACKPLANE_DIR
 * @name:	of the backplane
 * @socket:	"join", "status", "node3", or NULL: the directory that they are in
 * @to:		receives the path
 * @room:	bytes there
 *
 * Return: 0, -EINVAL: that is no name, or -ENAMETOOLONG.
 */
int backplane_path(const char *dir, const char *name, const char *socket, char *to, size_t room)
{
	int n;

	if (!vf_bp_name_valid(name, 33))
		return -EINVAL;
	n = snprintf(to, room, "%s/%s%s%s", dir ? dir : BACKPLANE_DIR, name, socket ? "/" : "",
		     socket ? socket : "");
	return n < 0 || (size_t)n >= room ? -ENAMETOOLONG : 0;
}

/* The socket at @path, which waits @seconds at most; or a negative errno */
int backplane_connect(const char *path, unsigned int seconds)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = seconds };
	int fd, err;

	if (strlen(path) >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	strcpy(to.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	err = errno;
	close(fd);
	return -err;
}

/**
 * backplane_receive - a message, and the file that may come with its first byte
 * @flags:	of recvmsg()
 * @to:		room for @bytes
 * @fd:		receives the file, or -1: there is none
 *
 * Return: bytes that came, 0 at the end, or a negative errno.
 */
ssize_t backplane_receive(int sock, int flags, void *to, size_t bytes, int *fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { to, bytes };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t len = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;

	*fd = -1;
	if (len < 0)
		return -errno;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return len;
}

static int map_region(struct backplane_status *s, int fd)
{
	uint64_t size = le64_to_cpu(s->answer.header.size);
	struct stat st;
	void *base;
	int ret;

	/* Of the daemon, whose region cannot shrink */
	if (fstat(fd, &st) || (uint64_t)st.st_size != size)
		return -EBADMSG;
	base = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	/* What nodes say is in the region; what it looks like, the daemon says */
	ret = vf_bp_open(&s->bp, &s->answer.header, size);
	s->bp.base = ret ? NULL : base;
	if (ret)
		munmap(base, size);
	return ret;
}

/**
 * backplane_ask - what does the daemon of a backplane say?
 * @dir:	NULL: BACKPLANE_DIR
 * @name:	of the backplane
 * @s:		the outcome, for backplane_status_end()
 * @why:	a sentence, if it fails
 * @room:	bytes there
 *
 * Return: 0 or a negative errno.
 */
int backplane_ask(const char *dir, const char *name, struct backplane_status *s, char *why,
		  size_t room)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int fd, region, ret;
	ssize_t len;

	memset(s, 0, sizeof(*s));
	ret = backplane_path(dir, name, "status", path, sizeof(path));
	if (ret) {
		snprintf(why, room, "backplane \"%.40s\": this is no name of one", name);
		return ret;
	}
	fd = backplane_connect(path, 5);
	if (fd == -ENOENT || fd == -ECONNREFUSED) {
		snprintf(why, room, "backplane \"%s\": nobody serves %s: start vfabswitchd %s",
			 name, path, name);
		return fd;
	}
	ret = fd;
	if (fd >= 0) {
		len = backplane_receive(fd, MSG_WAITALL, &s->answer, sizeof(s->answer), &region);
		ret = len < 0 ? len : region < 0 ? -EBADMSG : 0;
		close(fd);
	}
	if (!ret) {
		ret = len != sizeof(s->answer) || s->answer.magic != BACKPLANE_MAGIC ||
		      s->answer.bytes != sizeof(s->answer) ? -EPROTO : map_region(s, region);
		close(region);
	}
	if (ret)
		snprintf(why, room, "backplane \"%s\": %s: %s%s", name, path,
			 ret == -EPROTO || ret == -EBADMSG ?
			 "the answer makes no sense: it is of another version, or you may not ask" :
			 ret == -EAGAIN ? "vfabswitchd does not answer: is it stopped?" :
			 strerror(-ret),
			 fd == -EACCES ? ": vfabswitchd --allow lets other users ask" : "");
	return ret;
}

void backplane_status_end(struct backplane_status *s)
{
	if (s->bp.base)
		munmap(s->bp.base, s->bp.size);
	s->bp.base = NULL;
}

/* From vf_bp_read_peer(), or of the daemon's answer */
const char *backplane_peer_state(const struct vfab_bp_peer *peer)
{
	static const char * const names[] = { "none", "joined", "mute" };
	uint32_t state = le32_to_cpu(peer->state);

	return state < 3 ? names[state] : "unknown";
}

/* From vf_bp_read_node() */
const char *backplane_node_state(const struct vfab_bp_node *node)
{
	static const char * const names[] = { "none", "joining", "active", "left", "fenced" };
	uint32_t state = le32_to_cpu(node->state);

	return state < 5 ? names[state] : "unknown";
}
