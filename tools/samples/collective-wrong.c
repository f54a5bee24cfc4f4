// SPDX-License-Identifier: GPL-2.0
/*
 * collective-wrong: all-reduces that trust the fabric. By example:
 *
 *	vfabctl scenario run peer-kill --under-test collective-wrong 100
 *
 * What is wrong with it: it does not look at what a call returns. When a rank is
 * lost, the group's calls fail from then on, and the results that it goes on to
 * use are left-overs. It checks nothing either, prints success, and ends with 0:
 * a training run that continues on garbage. collective does it right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <vfab.h>

#define COUNT	512

int main(int argc, char **argv)
{
	unsigned long op, ops = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
	static uint64_t in[COUNT], out[COUNT];
	struct vfab_comm *comm;
	struct vfab_ep *ep;
	uint32_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (vfab_open(&ep, NULL, VFAB_RANK_ENV) ||
	    vfab_comm_create(ep, NULL, 0, 100, 10 * VFAB_SECOND, &comm))
		return 1;
	puts("ready");
	for (op = 0; op < ops; op++) {
		for (i = 0; i < COUNT; i++)
			in[i] = op + i;
		vfab_allreduce(comm, in, out, COUNT, VFAB_U64, VFAB_SUM);
		printf("op %lu\n", op);
		usleep(2000);
	}
	vfab_comm_destroy(comm);
	printf("ops %lu first %lu\n", op, (unsigned long)out[0]);
	vfab_close(ep);
	return 0;
}
