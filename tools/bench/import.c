// SPDX-License-Identifier: GPL-2.0
/*
 * Everybody gets everybody's 2 MiB: by lookup and import of windows, and by
 * passing memfds over sockets. Either way each rank then reads one byte of
 * each. From the first rank's first step to the last one's last.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "bench.h"

#define RANKS	72
#define BYTES	(2UL << 20)
#define TAG	1

static struct span *span;
static struct sockaddr_un address[RANKS];
static socklen_t address_len[RANKS];

static int me, sock, memfd;
static struct vfab_ep *ep;
static struct vfab_mem own, theirs[RANKS];
static char *maps[RANKS];

static void expect(const char *p, int rank)
{
	if (__atomic_load_n(p, __ATOMIC_RELAXED) != (char)(rank + 1))
		die("rank %d reads something else from rank %d", me, rank);
}

static void by_window(void)
{
	uint64_t handle;
	int i, r;

	for (i = 1; i < RANKS; i++) {
		r = (me + i) % RANKS;
		must("looking up", vfab_lookup(ep, r, TAG, 0, &handle));
		must("importing", vfab_import(ep, handle, VFAB_ACCESS_WRITE,
					      VFAB_LOSS_SIGBUS, &theirs[r]));
		expect(theirs[r].addr, r);
	}
}

static void send_memfd(int rank)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { &me, sizeof(me) };
	struct msghdr msg = {
		.msg_name = &address[rank], .msg_namelen = address_len[rank],
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.buf, .msg_controllen = sizeof(control.buf),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &memfd, sizeof(int));
	if (sendmsg(sock, &msg, 0) != sizeof(me))
		die("passing a memfd: %s", strerror(errno));
}

static void receive_memfd(void)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	int rank, fd;
	struct iovec iov = { &rank, sizeof(rank) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.buf, .msg_controllen = sizeof(control.buf),
	};
	struct cmsghdr *c;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != sizeof(rank))
		die("receiving a memfd: %s", strerror(errno));
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		die("a message without a memfd came");
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	maps[rank] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (maps[rank] == MAP_FAILED)
		die("mapping a memfd: %s", strerror(errno));
	close(fd);
	expect(maps[rank], rank);
}

static void by_socket(void)
{
	int i;

	for (i = 1; i < RANKS; i++)
		send_memfd((me + i) % RANKS);
	for (i = 1; i < RANKS; i++)
		receive_memfd();
}

static void forget(bool windows)
{
	int r;

	for (r = 0; r < RANKS; r++) {
		if (r == me)
			continue;
		if (windows)
			must("releasing", vfab_release(ep, &theirs[r]));
		else
			munmap(maps[r], BYTES);
	}
}

static void setup(void)
{
	char *p;

	must("attaching", vfab_open(&ep, domain_name(), me));
	must("a window", vfab_window_alloc(ep, BYTES, TAG, VFAB_ACCESS_WRITE, &own));
	*(char *)own.addr = me + 1;
	memfd = memfd_create("vfabbench", MFD_CLOEXEC);
	if (memfd < 0 || ftruncate(memfd, BYTES))
		die("a memfd: %s", strerror(errno));
	p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		 memfd, 0);
	if (p == MAP_FAILED)
		die("a memfd: %s", strerror(errno));
	*p = me + 1;
	sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || bind(sock, (struct sockaddr *)&address[me], address_len[me]))
		die("a socket: %s", strerror(errno));
}

static void rank_main(int repeats)
{
	int i, k;

	setup();
	for (i = 0; i < repeats; i++)
		for (k = 0; k < 2; k++) {
			bool windows = k == i % 2;

			meet();
			span[me].from = now_ns();
			if (windows)
				by_window();
			else
				by_socket();
			span[me].to = now_ns();
			meet();
			forget(windows);
		}
	vfab_close(ep);
	_exit(0);
}

/* Enough room in the queues that nobody who passes a memfd has to wait. */
static void long_queues(void)
{
	FILE *f = fopen("/proc/sys/net/unix/max_dgram_qlen", "we");

	if (!f || fprintf(f, "%d\n", 4 * RANKS) < 0 || fclose(f))
		die("/proc/sys/net/unix/max_dgram_qlen: %s", strerror(errno));
}

void bench_import(int repeats)
{
	double ours[MAX_REPEATS], peer[MAX_REPEATS];
	int i, k, r;

	long_queues();
	for (r = 0; r < RANKS; r++) {
		address[r].sun_family = AF_UNIX;
		k = snprintf(address[r].sun_path + 1, sizeof(address[r].sun_path) - 1,
			     "vfabbench-%d-%d", getpid(), r);
		address_len[r] = offsetof(struct sockaddr_un, sun_path) + 1 + k;
	}
	span = shared(RANKS * sizeof(*span));
	domain_create(RANKS, 0);
	me = team_start(RANKS);
	if (me >= 0)
		rank_main(repeats);
	for (i = 0; i < repeats; i++)
		for (k = 0; k < 2; k++) {
			meet();
			meet();
			(k == i % 2 ? ours : peer)[i] = whole(span, RANKS) / 1e6;
		}
	team_end();
	row("import.all", "ms", ours, peer, repeats);
}
