// SPDX-License-Identifier: GPL-2.0
/*
 * fallback: adds up a number per rank, over the fabric if it works. By example:
 *
 *	vfabrun -n 4 --domain rack ./fallback
 *	fabric: sum 10
 *
 * What a fabric says of itself is no proof that it works: each rank exports a
 * window and imports that of every other, once, before it relies on any. If one
 * rank cannot, all of them must take the other way, so they tell one another by
 * sockets, as a launcher's network would carry it; then the sum goes over the
 * fabric, or over the same sockets. It prints which, why, and the sum, which is
 * the same either way; its status is 0 if the sum is right.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <vfab.h>

#define TAG	UINT64_C(0xfa11)
#define TIMEOUT	(5 * VFAB_SECOND)

static uint32_t ranks[VFAB_MAX_WORLD], n, self;

struct message {
	uint32_t rank, error, number;
};

static socklen_t address(struct sockaddr_un *a, uint32_t rank)
{
	const char *job = getenv("VFAB_SCENARIO"), *domain = getenv("VFAB_DOMAIN");

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	/* The name begins with a NUL: no file */
	return offsetof(struct sockaddr_un, sun_path) + 1 +
	       snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "fallback %s %s %u",
			job ? job : "", domain ? domain : "", rank);
}

/* Everybody tells everybody. 0, or -1 if somebody was not heard of. */
static int exchange(int sock, struct message *mine, struct message *all)
{
	struct sockaddr_un a;
	struct message m;
	uint32_t i, tries;
	socklen_t len;

	for (i = 0; i < n; i++) {
		len = address(&a, ranks[i]);
		for (tries = 0; tries < 500; tries++) {
			if (sendto(sock, mine, sizeof(*mine), 0, (void *)&a, len) > 0)
				break;
			usleep(10000);	/* it is not there yet */
		}
	}
	for (i = 0; i < n; i++) {
		if (recv(sock, &m, sizeof(m), 0) != sizeof(m) || m.rank >= VFAB_MAX_WORLD)
			return -1;
		all[m.rank] = m;
	}
	return 0;
}

/* A real import of each peer's window, which is then read. 0 or an errno. */
static uint32_t probe(struct vfab_ep *ep)
{
	struct vfab_mem mine, theirs;
	uint64_t handle;
	uint32_t i;
	int ret;

	ret = vfab_window_alloc(ep, 4096, TAG, VFAB_ACCESS_READ, &mine);
	for (i = 0; !ret && i < n; i++) {
		if (ranks[i] == self)
			continue;
		ret = vfab_lookup(ep, ranks[i], TAG, TIMEOUT, &handle);
		if (!ret)
			ret = vfab_import(ep, handle, VFAB_ACCESS_READ, VFAB_LOSS_ABSORB, &theirs);
		if (!ret && *(volatile uint64_t *)theirs.addr == ~0ULL)
			ret = -EIO;
	}
	if (ret)
		printf("probe: %s: %s\n", strerrorname_np(-ret), vfab_strerror(ret));
	return -ret;
}

static int over_fabric(struct vfab_ep *ep, uint32_t number, uint32_t *sum)
{
	struct vfab_comm *comm;
	int ret;

	ret = vfab_comm_create(ep, NULL, 0, 100, TIMEOUT, &comm);
	if (ret)
		return ret;
	ret = vfab_allreduce(comm, &number, sum, 1, VFAB_U32, VFAB_SUM);
	vfab_comm_destroy(comm);
	return ret;
}

int main(void)
{
	static struct message all[VFAB_MAX_WORLD];
	struct timeval patience = { .tv_sec = 10 };
	uint32_t i, sum = 0, want = 0, broken = 0;
	struct message mine = { 0 };
	struct sockaddr_un a;
	struct vfab_ep *ep;
	int sock, ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (vfab_open(&ep, NULL, VFAB_RANK_ENV) || vfab_env_job(&self, ranks, &n))
		return 2;
	sock = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (sock < 0 || bind(sock, (void *)&a, address(&a, self)))
		return 2;
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	mine = (struct message){ .rank = self, .error = probe(ep), .number = self + 1 };
	if (exchange(sock, &mine, all))
		return 2;
	for (i = 0; i < n; i++) {
		want += ranks[i] + 1;
		broken += !!all[ranks[i]].error;
	}
	if (broken) {
		for (i = 0; i < n; i++)
			sum += all[ranks[i]].number;
		printf("fallback: %u of %u ranks cannot import: sum %u\n", broken, n, sum);
	} else {
		ret = over_fabric(ep, mine.number, &sum);
		printf("fabric: sum %u%s%s\n", sum, ret ? ", " : "", ret ? vfab_strerror(ret) : "");
	}
	vfab_close(ep);
	return sum != want;
}
