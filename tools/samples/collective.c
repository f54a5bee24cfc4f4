// SPDX-License-Identifier: GPL-2.0
/*
 * collective: all-reduces that outlive the loss of a rank. By example:
 *
 *	vfabrun -n 4 --domain rack ./collective 100
 *
 * It does right what collective-wrong does wrong: it looks at what each call
 * returns, uses nothing that a failed call has left, and goes on with those that
 * remain. Each element of each result is checked. A fabric that is not ready yet
 * is waited for. It prints "ready", "op N" for each operation, "error NAME lost R",
 * "regrouped N", and at the end "ops N wrong N stale N group N"; its status is 0 if
 * nothing was wrong.
 *
 * Arguments: operations (0: until one of the ranks gets SIGTERM), microseconds
 * between two of them, and --plain.
 *
 * Without --plain, each rank also keeps a window of a known pattern mapped by all
 * others. After a loss it must not show that pattern any more: that would be
 * "stale", memory that may belong to somebody else by now.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vfab.h>

#define COUNT	512
#define PATTERN	UINT64_C(0x5ca1ab1e)
#define TIMEOUT	(10 * VFAB_SECOND)

/* One element more than is reduced: how many ranks were told to stop */
static uint64_t in[COUNT + 1], out[COUNT + 1];
static struct vfab_mem canary[VFAB_MAX_WORLD];
static uint32_t ranks[VFAB_MAX_WORLD], n;
static unsigned long wrong, stale;

static int failed(const char *what, int ret)
{
	printf("%s: %s: %s\n", what, strerrorname_np(-ret), vfab_strerror(ret));
	return 1;
}

/* A fabric that comes up, a device file that is not there yet: try again. */
static int open_patiently(struct vfab_ep **ep)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	int ret, tries;

	for (tries = 0; ; tries++) {
		ret = vfab_open(ep, NULL, VFAB_RANK_ENV);
		if (!ret || tries == 500 ||
		    (ret != -EAGAIN && ret != -ENOENT && ret != -ENODEV && ret != -EACCES))
			return ret;
		if (!tries)
			printf("waiting: %s\n", vfab_strerror(ret));
		nanosleep(&pause, NULL);
	}
}

static int map_canaries(struct vfab_ep *ep)
{
	uint32_t self = vfab_info(ep)->rank, i;
	struct vfab_mem mine;
	uint64_t handle;
	int ret;

	ret = vfab_window_alloc(ep, 4096, PATTERN, VFAB_ACCESS_READ, &mine);
	if (ret)
		return ret;
	*(volatile uint64_t *)mine.addr = PATTERN;
	for (i = 0; i < n && !ret; i++) {
		if (ranks[i] == self)
			continue;
		ret = vfab_lookup(ep, ranks[i], PATTERN, TIMEOUT, &handle);
		if (!ret)
			ret = vfab_import(ep, handle, VFAB_ACCESS_READ, VFAB_LOSS_ABSORB,
					  &canary[ranks[i]]);
		/* Mapped, so that it can be seen to go; the owner may not have written yet */
		if (!ret)
			(void)*(volatile uint64_t *)canary[ranks[i]].addr;
	}
	return ret;
}

static bool is_gone(struct vfab_ep *ep, uint32_t rank)
{
	struct vfab_peer peer;

	return rank != vfab_info(ep)->rank &&
	       (vfab_peer(ep, rank, &peer) || peer.state != VFAB_PEER_HELD);
}

/* Take those out of the group that are gone, @lost among them. */
static void forget(struct vfab_ep *ep, uint32_t lost)
{
	uint32_t i, left = 0;

	for (i = 0; i < n; i++) {
		uint32_t r = ranks[i];

		if (r != lost && !is_gone(ep, r)) {
			ranks[left++] = r;
			continue;
		}
		if (canary[r].addr && *(volatile uint64_t *)canary[r].addr == PATTERN)
			stale++;
	}
	n = left;
}

/* Who was lost, or VFAB_RANK_ANY: @ret is another error. */
static uint32_t lost_rank(const struct vfab_comm *comm, int ret)
{
	uint32_t lost = VFAB_RANK_ANY;

	if (ret == -ECONNRESET || ret == -EHOSTUNREACH)
		lost = vfab_comm_lost_rank(comm);
	if (lost != VFAB_RANK_ANY)
		printf("error %s lost %u\n", strerrorname_np(-ret), lost);
	return lost;
}

/*
 * Meet those that are left, under a tag that says how many are not, and agree on
 * the operation to go on with: the one that failed here may have succeeded there.
 */
static int meet(struct vfab_ep *ep, struct vfab_comm **comm, uint32_t world, uint64_t *op)
{
	uint32_t lost;
	uint64_t least;
	int ret;

	for (;;) {
		*comm = NULL;
		ret = vfab_comm_create(ep, ranks, n, 100 + world - n, TIMEOUT, comm);
		if (!ret)
			ret = vfab_allreduce(*comm, op, &least, 1, VFAB_U64, VFAB_MIN);
		if (!ret) {
			*op = least;
			return 0;
		}
		lost = lost_rank(*comm, ret);
		vfab_comm_destroy(*comm);
		*comm = NULL;
		if (lost == VFAB_RANK_ANY || lost == vfab_info(ep)->rank)
			return ret;
		forget(ep, lost);
	}
}

/* SIGTERM is held back: no call is interrupted */
static bool told_to_stop(void)
{
	sigset_t set;

	return !sigpending(&set) && sigismember(&set, SIGTERM);
}

/* Every rank's input differs, in each element and operation. */
static int reduce(struct vfab_comm *comm, uint32_t self, unsigned long op)
{
	uint64_t sum;
	uint32_t i, k;
	int ret;

	for (i = 0; i < COUNT; i++)
		in[i] = op * 1000003 + self * 7919 + i;
	in[COUNT] = told_to_stop();
	ret = vfab_allreduce(comm, in, out, COUNT + 1, VFAB_U64, VFAB_SUM);
	for (i = 0; !ret && i < COUNT; i++) {
		for (k = 0, sum = 0; k < n; k++)
			sum += op * 1000003 + ranks[k] * 7919 + i;
		wrong += out[i] != sum;
	}
	return ret;
}

int main(int argc, char **argv)
{
	unsigned long ops = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
	unsigned long pause_us = argc > 2 ? strtoul(argv[2], NULL, 10) : 2000;
	struct vfab_comm *comm = NULL;
	uint32_t self, world, lost;
	struct vfab_ep *ep;
	uint64_t op = 0;
	sigset_t term;
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	ret = open_patiently(&ep);
	if (ret)
		return failed("open", ret);
	ret = vfab_env_job(&self, ranks, &n);
	self = vfab_info(ep)->rank;
	world = n;
	if (!ret && argc < 4)
		ret = map_canaries(ep);
	if (!ret)
		ret = meet(ep, &comm, world, &op);
	if (ret)
		return failed("meet", ret);
	puts("ready");
	while ((!ops || op < ops) && !out[COUNT]) {
		ret = reduce(comm, self, op);
		if (!ret) {
			printf("op %lu\n", (unsigned long)op++);
			usleep(pause_us);
			continue;
		}
		lost = lost_rank(comm, ret);
		if (lost == VFAB_RANK_ANY || lost == self)
			return failed("all-reduce", ret);
		vfab_comm_destroy(comm);
		forget(ep, lost);
		ret = meet(ep, &comm, world, &op);
		if (ret)
			return failed("meet", ret);
		printf("regrouped %u\n", n);
	}
	vfab_comm_destroy(comm);
	printf("ops %lu wrong %lu stale %lu group %u\n", (unsigned long)op, wrong, stale, n);
	vfab_close(ep);
	return wrong || stale;
}
