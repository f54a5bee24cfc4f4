// SPDX-License-Identifier: LGPL-2.1
/*
 * An endpoint by hand, on whichever transport: does what lines on its standard input
 * say, and answers each with a line. By example:
 *
 *	printf '%s\n' 'open backplane:/run/vfabric/rack/node1/job 0' 'peer 1' | coopnode
 *
 *	open DOMAIN RANK		another one, after close
 *	second DOMAIN RANK		beside that one, and closed at once
 *	alloc BYTES TAG rw|r		an own window
 *	free
 *	lookup RANK TAG MS
 *	import rw|r sigbus|absorb	what was looked up
 *	release
 *	load own|peer INDEX		of 8-byte words
 *	store own|peer INDEX VALUE
 *	add own|peer INDEX TIMES	1, so many times
 *	ring RANK VECTOR
 *	wait VECTOR MS			for one ring more than were seen, sleeping
 *	bind VECTOR			an eventfd, and
 *	poll MS				waits for that one
 *	peer RANK			"STATE paths N losses N revoked N"
 *	close
 *
 * An answer is "ok" and what there is to say, "NAME SENTENCE" of an error, or "SIGBUS".
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "vfab.h"

static struct vfab_ep *ep;
static struct vfab_mem own, peer;
static uint64_t handle, seen[VFAB_VECTORS], loss;
static int efd = -1;
static sigjmp_buf bus;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(bus, 1);
}

static void answer(int ret, const char *more)
{
	if (ret)
		printf("%s %s\n", strerrorname_np(-ret), vfab_strerror(ret));
	else
		printf("ok%s%s\n", *more ? " " : "", more);
	fflush(stdout);
}

static void look(unsigned int rank, char *more, size_t room)
{
	static const char *const states[] = { "unreachable", "vacant", "held", "recovery" };
	struct vfab_peer p;

	if (!vfab_peer(ep, rank, &p))
		snprintf(more, room, "%s paths %u losses %u revoked %u", states[p.state & 3],
			 p.paths, p.losses, p.revoked);
}

static void memory(const char *verb, const char *which, unsigned long index,
		   unsigned long value, char *more, size_t room)
{
	struct vfab_mem *mem = *which == 'o' ? &own : &peer;
	volatile uint64_t *word = (uint64_t *)mem->addr + index;

	if (!mem->addr || (index + 1) * 8 > mem->size)
		snprintf(more, room, "nowhere");
	else if (*verb == 'l')
		snprintf(more, room, "%lx", (unsigned long)*word);
	else if (*verb == 's')
		*word = value;
	else
		while (value--)
			__atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
}

static int wait_for(unsigned int vector, unsigned int ms)
{
	int ret;

	vfab_wait_policy(ep, 0, 0);
	ret = vfab_wait(ep, vector, &seen[vector], &loss, ms * 1000000LL);
	return ret;
}

static int second(const char *domain, unsigned int rank)
{
	struct vfab_ep *other;
	int ret = vfab_open(&other, domain, rank);

	if (!ret)
		vfab_close(other);
	return ret;
}

static uint32_t access_of(const char *text)
{
	return strcmp(text, "rw") ? VFAB_ACCESS_READ : VFAB_ACCESS_WRITE;
}

static bool was_signalled(int ms)
{
	struct pollfd p = { .fd = efd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

static int obey(char *line, char *more, size_t room)
{
	unsigned long a = 0, b = 0;
	char verb[16] = "", x[256] = "", y[16] = "";

	sscanf(line, "%15s", verb);
	if (sscanf(line, "open %255s %lu", x, &a) == 2) {
		int ret = vfab_open(&ep, x, a);

		memset(seen, 0, sizeof(seen));
		loss = ret ? 0 : vfab_loss(ep);
		return ret;
	}
	if (sscanf(line, "second %255s %lu", x, &a) == 2)
		return second(x, a);
	if (!ep)
		return -ENOTCONN;
	if (sscanf(line, "alloc %lu %lu %15s", &a, &b, y) == 3)
		return vfab_window_alloc(ep, a, b, access_of(y), &own);
	if (sscanf(line, "lookup %lu %lu %15s", &a, &b, y) == 3)
		return vfab_lookup(ep, a, b, strtol(y, NULL, 10) * 1000000LL, &handle);
	if (sscanf(line, "import %15s %255s", y, x) == 2)
		return vfab_import(ep, handle, access_of(y),
				   *x == 's' ? VFAB_LOSS_SIGBUS : VFAB_LOSS_ABSORB, &peer);
	if (sscanf(line, "ring %lu %lu", &a, &b) == 2)
		return vfab_ring(ep, a, b);
	if (sscanf(line, "wait %lu %lu", &a, &b) == 2)
		return wait_for(a % VFAB_VECTORS, b);
	if (sscanf(line, "bind %lu", &a) == 1)
		return vfab_eventfd(ep, a, efd = eventfd(0, EFD_CLOEXEC));
	if (sscanf(line, "poll %lu", &a) == 1)
		return was_signalled(a) ? 0 : -ETIMEDOUT;
	if (sscanf(line, "peer %lu", &a) == 1)
		look(a, more, room);
	else if (!strcmp(verb, "free"))
		return vfab_window_free(ep, &own);
	else if (!strcmp(verb, "release"))
		return vfab_release(ep, &peer);
	else if (!strcmp(verb, "close"))
		vfab_close(ep), ep = NULL;
	else if (sscanf(line, "%15s %255s %lu %lx", verb, x, &a, &b) >= 3)
		memory(verb, x, a, b, more, room);
	return 0;
}

int main(void)
{
	struct sigaction act = { .sa_handler = on_bus };
	char line[512], more[128];

	sigaction(SIGBUS, &act, NULL);
	while (fgets(line, sizeof(line), stdin)) {
		*more = 0;
		if (sigsetjmp(bus, 1)) {
			puts("SIGBUS");
			fflush(stdout);
			continue;
		}
		answer(obey(line, more, sizeof(more)), more);
	}
	return 0;
}
