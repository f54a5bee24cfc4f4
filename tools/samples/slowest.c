// SPDX-License-Identifier: GPL-2.0
/*
 * slowest: which rank holds all the others up? By example:
 *
 *	vfabctl domain set rack shape on scale 1000
 *	vfabrun -n 4 --domain rack ./slowest 10
 *	round 3 all-reduce 317% dragged slow rank 2
 *
 * A collective is as fast as its slowest link, and all that a rank sees of it is
 * that all-reduces take long. Here each rank also times a transfer to each other
 * one, while nobody else transfers, and tells all of them; of each, the better one
 * of two counts, as a busy machine may hold one up. A rank all of whose transfers,
 * both ways, take three times as long as those of the fastest quarter is slow. It
 * prints a line per round, with the time of an all-reduce relative to the fastest
 * round so far ("dragged" from twice that time on), and stops after so many rounds.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vfab.h>

#define TAG	UINT64_C(0x510e57)
#define MAX	16		/* ranks */
#define BYTES	8192		/* of a transfer */
#define COUNT	4096		/* elements of an all-reduce */
#define TIMEOUT	(20 * VFAB_SECOND)

static struct vfab_mem mem[MAX];
static uint64_t took[MAX][MAX];	/* nanoseconds, from and to */
static uint32_t ranks[VFAB_MAX_WORLD], n, at;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static int map_all(struct vfab_ep *ep)
{
	uint64_t handle;
	uint32_t i;
	int ret;

	ret = vfab_window_alloc(ep, BYTES, TAG, VFAB_ACCESS_WRITE, &mem[at]);
	for (i = 0; !ret && i < n; i++) {
		if (i == at)
			continue;
		ret = vfab_lookup(ep, ranks[i], TAG, TIMEOUT, &handle);
		if (!ret)
			ret = vfab_import(ep, handle, VFAB_ACCESS_WRITE, VFAB_LOSS_ABSORB, &mem[i]);
	}
	return ret;
}

/* One rank after the other; then everybody knows all times. */
static int measure(struct vfab_ep *ep, struct vfab_comm *comm)
{
	static const char data[BYTES];
	uint64_t all[MAX][MAX];
	uint32_t turn, i, tries;
	uint64_t start, time;
	int ret = 0;

	memset(took, 0, sizeof(took));
	for (turn = 0; turn < n && !ret; turn++) {
		for (i = 0; turn == at && i < n; i++)
			for (tries = 0; i != at && tries < 2 && !ret; tries++) {
				start = now();
				ret = vfab_put(ep, &mem[i], 0, data, BYTES);
				time = now() - start;
				if (!tries || time < took[at][i])
					took[at][i] = time;
			}
		if (!ret)
			ret = vfab_barrier(comm);
	}
	if (!ret)
		ret = vfab_allreduce(comm, took, all, MAX * MAX, VFAB_U64, VFAB_SUM);
	memcpy(took, all, sizeof(took));
	return ret;
}

/* The better one of two */
static int time_allreduce(struct vfab_comm *comm, uint64_t *time)
{
	static float in[COUNT], out[COUNT];
	uint64_t start, took_now;
	int ret = 0, tries;

	for (tries = 0; tries < 2 && !ret; tries++) {
		ret = vfab_barrier(comm);
		start = now();
		if (!ret)
			ret = vfab_allreduce(comm, in, out, COUNT, VFAB_F32, VFAB_SUM);
		took_now = now() - start;
		if (!tries || took_now < *time)
			*time = took_now;
	}
	return ret;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Nanoseconds within which a quarter of all transfers were done */
static uint64_t quarter(void)
{
	uint64_t times[MAX * MAX];
	uint32_t i, k, count = 0;

	for (i = 0; i < n; i++)
		for (k = 0; k < n; k++)
			if (i != k)
				times[count++] = took[i][k];
	qsort(times, count, sizeof(*times), compare);
	return times[count / 4];
}

/* Its rank, or -1 */
static int slow_rank(void)
{
	uint64_t limit = quarter() * 3;
	uint32_t i, k;
	bool slow;

	for (i = 0; i < n; i++) {
		slow = true;
		for (k = 0; k < n; k++)
			slow &= i == k || (took[i][k] > limit && took[k][i] > limit);
		if (slow)
			return ranks[i];
	}
	return -1;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10, round;
	uint64_t time, fastest = 0;
	struct vfab_comm *comm;
	struct vfab_ep *ep;
	uint32_t self;
	int ret, slow;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ret = vfab_open(&ep, NULL, VFAB_RANK_ENV);
	if (!ret)
		ret = vfab_env_job(&self, ranks, &n);
	if (ret || n < 3 || n > MAX)
		return 2;
	for (at = 0; at < n && ranks[at] != self; at++)
		;
	ret = vfab_comm_create(ep, NULL, 0, 100, TIMEOUT, &comm);
	if (!ret)
		ret = map_all(ep);
	if (!ret)	/* not measured: the first one is never like the others */
		ret = time_allreduce(comm, &time);
	for (round = 0; !ret && round < rounds; round++) {
		ret = time_allreduce(comm, &time);
		if (!ret && (!round || time < fastest))
			fastest = time;
		if (!ret)
			ret = measure(ep, comm);
		if (ret)
			break;
		slow = slow_rank();
		printf("round %lu all-reduce %lu%%%s slow ", round,
		       (unsigned long)(100 * time / fastest),
		       time >= 2 * fastest ? " dragged" : "");
		printf(slow < 0 ? "none\n" : "rank %d\n", slow);
	}
	if (ret)
		printf("failed: %s: %s\n", strerrorname_np(-ret), vfab_strerror(ret));
	vfab_comm_destroy(comm);
	vfab_close(ep);
	return ret != 0;
}
