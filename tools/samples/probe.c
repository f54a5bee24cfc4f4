// SPDX-License-Identifier: GPL-2.0
/*
 * probe: may this rank import the windows of others? By example:
 *
 *	VFAB_DOMAIN=rack/part0/ch1 VFAB_RANK=7 ./probe 0-3
 *
 * A flag that says "supported" proves nothing; an import does. For each rank it
 * looks a window up, by the tag of collective's or the one that is given as the
 * second argument, imports it and reads a word. It prints "rank R: OK", or the
 * error by name and libvfab's sentence, which says what to do. Its status is 0 if
 * all could be read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vfab.h>

static int probe(struct vfab_ep *ep, uint32_t rank, uint64_t tag)
{
	struct vfab_mem mem;
	uint64_t handle;
	int ret;

	ret = vfab_lookup(ep, rank, tag, 0, &handle);
	if (!ret)
		ret = vfab_import(ep, handle, VFAB_ACCESS_READ, VFAB_LOSS_ABSORB, &mem);
	if (ret) {
		printf("rank %u: %s: %s\n", rank, strerrorname_np(-ret), vfab_strerror(ret));
		return 1;
	}
	printf("rank %u: OK %lx\n", rank, (unsigned long)*(volatile uint64_t *)mem.addr);
	vfab_release(ep, &mem);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t tag = argc > 2 ? strtoull(argv[2], NULL, 0) : 0x5ca1ab1e;
	unsigned long first, last, failed = 0;
	struct vfab_ep *ep;
	char *end;
	int ret;

	if (argc < 2)
		return 2;
	first = strtoul(argv[1], &end, 10);
	last = *end == '-' ? strtoul(end + 1, NULL, 10) : first;
	ret = vfab_open(&ep, NULL, VFAB_RANK_ENV);
	if (ret) {
		printf("open: %s: %s\n", strerrorname_np(-ret), vfab_strerror(ret));
		return 1;
	}
	puts("ready");
	for (; first <= last; first++)
		failed += probe(ep, first, tag);
	vfab_close(ep);
	return failed != 0;
}
