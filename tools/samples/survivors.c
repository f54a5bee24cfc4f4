// SPDX-License-Identifier: GPL-2.0
/*
 * survivors: all-reduces, until ranks are lost, and then among those who are left.
 * By example:
 *
 *	vfabrun --keep-going -n 4 --domain rack ./survivors 20
 *
 * Each element of each result is checked. When a call says that a rank was lost,
 * those who are left make a group of themselves, by vfab_comm_shrink(), and do so
 * many all-reduces more (20). Each rank prints "ready N", "lost NAME RANK after N" and
 * "done N group N wrong N"; the first of the group prints "op N" now and then.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vfab.h>

#define COUNT	512
#define TIMEOUT	(60 * VFAB_SECOND)

static uint64_t in[COUNT], out[COUNT];

static int failed(const char *what, int ret)
{
	printf("%s: %s: %s\n", what, strerrorname_np(-ret), vfab_strerror(ret));
	return 1;
}

/* Every rank's input differs, in each element and operation. */
static int reduce(struct vfab_comm *comm, uint32_t self, uint64_t op, unsigned long *wrong)
{
	uint64_t ranks = 0;
	uint32_t i, n = vfab_comm_size(comm);
	int ret;

	for (i = 0; i < n; i++)
		ranks += vfab_comm_rank(comm, i);
	for (i = 0; i < COUNT; i++)
		in[i] = op * 1000003 + self * 7919 + i;
	ret = vfab_allreduce(comm, in, out, COUNT, VFAB_U64, VFAB_SUM);
	for (i = 0; !ret && i < COUNT; i++)
		*wrong += out[i] != n * (op * 1000003 + i) + ranks * 7919;
	return ret;
}

/* Goes on as the others do: one of them may have one operation more. */
static int agree(struct vfab_comm *comm, uint64_t *op)
{
	uint64_t most;
	int ret = vfab_allreduce(comm, op, &most, 1, VFAB_U64, VFAB_MAX);

	*op = most;
	return ret;
}

/* Those who are left, although more may be lost meanwhile */
static int shrink(struct vfab_comm **comm, uint64_t *op)
{
	struct vfab_comm *left;
	int ret;

	do {
		ret = vfab_comm_shrink(*comm, TIMEOUT, &left);
		if (ret)
			return ret;
		vfab_comm_destroy(*comm);
		*comm = left;
		ret = agree(left, op);
	} while (ret == -ECONNRESET);
	return ret;
}

int main(int argc, char **argv)
{
	unsigned long more = argc > 1 ? strtoul(argv[1], NULL, 10) : 20, wrong = 0;
	uint32_t self, ranks[VFAB_MAX_WORLD], n;
	uint64_t op = 0, end = UINT64_MAX;
	struct vfab_comm *comm;
	struct vfab_ep *ep;
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ret = vfab_open(&ep, NULL, VFAB_RANK_ENV);
	if (ret)
		return failed("open", ret);
	ret = vfab_env_job(&self, ranks, &n);
	if (!ret)
		ret = vfab_comm_create(ep, ranks, n, 1, TIMEOUT, &comm);
	if (ret)
		return failed("meet", ret);
	self = vfab_info(ep)->rank;
	printf("ready %u\n", n);
	while (op < end) {
		ret = reduce(comm, self, op, &wrong);
		if (ret == -ECONNRESET) {
			printf("lost %s %u after %lu\n", strerrorname_np(-ret),
			       vfab_comm_lost_rank(comm), (unsigned long)op);
			ret = shrink(&comm, &op);
			end = op + more;
		} else if (!ret) {
			op++;
		}
		if (ret)
			return failed("all-reduce", ret);
		if (op % 20 == 0 && !vfab_comm_index(comm))
			printf("op %lu\n", (unsigned long)op);
	}
	printf("done %lu group %u wrong %lu\n", (unsigned long)op, vfab_comm_size(comm), wrong);
	vfab_comm_destroy(comm);
	vfab_close(ep);
	return wrong > 0;
}
