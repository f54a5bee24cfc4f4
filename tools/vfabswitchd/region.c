// SPDX-License-Identifier: GPL-2.0
/* The memory of the backplane. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>
#include "vfabswitchd.h"

#ifndef MFD_HUGE_SHIFT
#define MFD_HUGE_SHIFT	26
#endif

static void random_uuid(u8 uuid[16])
{
	if (getrandom(uuid, 16, 0) != 16)
		say("no random numbers: the UUID is made of what there is");
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

static int no_memory(const struct config *cfg, int err)
{
	if (cfg->page)
		say("no %llu huge pages of %llu KiB are free (%s): raise their nr_hugepages",
		    (unsigned long long)(cfg->size / cfg->page),
		    (unsigned long long)(cfg->page >> 10), strerror(err));
	else
		say("cannot have %llu bytes of memory (%s): take a smaller --size",
		    (unsigned long long)cfg->size, strerror(err));
	return -err;
}

/**
 * region_make - make the memory, and write its header
 *
 * Sealed: no peer can make it shorter under the others, or longer.
 *
 * Return: 0, or a negative errno, and it was said why.
 */
int region_make(struct region *r, const struct config *cfg)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	char path[32];
	u8 uuid[16];
	void *base;

	if (cfg->page)
		flags |= MFD_HUGETLB | __builtin_ctzll(cfg->page) << MFD_HUGE_SHIFT;
	r->fd = memfd_create("vfabric-backplane", flags);
	if (r->fd < 0 || ftruncate(r->fd, cfg->size) ||
	    ((cfg->page || cfg->reserve) && fallocate(r->fd, 0, 0, cfg->size)))
		return no_memory(cfg, errno);
	if (fcntl(r->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		say("cannot seal the memory: %s", strerror(errno));
		return -errno;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->fd);
	r->read_only = open(path, O_RDONLY | O_CLOEXEC);
	if (r->read_only < 0) {
		say("cannot open the memory again (is /proc mounted?): %s", strerror(errno));
		return -errno;
	}
	base = mmap(NULL, cfg->size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (base == MAP_FAILED)
		return no_memory(cfg, errno);
	random_uuid(uuid);
	return vf_bp_format(&r->bp, base, cfg->size, cfg->nodes, cfg->vectors, uuid, cfg->name);
}
