// SPDX-License-Identifier: LGPL-2.1
/* Which window of one's own an address lies in: an array in order of addresses. */
#include <stdlib.h>
#include <string.h>
#include "vfab_int.h"

struct vfabi_region {
	uintptr_t addr;
	uint64_t size;
	uint64_t handle;
	uint32_t access;
};

/* The first that begins behind @addr; under @lock */
static size_t behind(const struct vfab_ep *ep, uintptr_t addr)
{
	size_t from = 0, to = ep->n_regions, mid;

	while (from < to) {
		mid = (from + to) / 2;
		if (ep->regions[mid].addr > addr)
			to = mid;
		else
			from = mid + 1;
	}
	return from;
}

int vfabi_region_add(struct vfab_ep *ep, const struct vfab_mem *mem, uint32_t access)
{
	struct vfabi_region r = { (uintptr_t)mem->addr, mem->size, mem->handle, access }, *all;
	size_t at;

	pthread_mutex_lock(&ep->lock);
	all = realloc(ep->regions, (ep->n_regions + 1) * sizeof(*all));
	if (all) {
		ep->regions = all;
		at = behind(ep, r.addr);
		memmove(all + at + 1, all + at, (ep->n_regions++ - at) * sizeof(*all));
		all[at] = r;
	}
	pthread_mutex_unlock(&ep->lock);
	return all ? 0 : vfabi_fail(ENOMEM, "out of memory");
}

void vfabi_region_del(struct vfab_ep *ep, const void *addr)
{
	size_t at;

	pthread_mutex_lock(&ep->lock);
	at = behind(ep, (uintptr_t)addr);
	if (at && ep->regions[at - 1].addr == (uintptr_t)addr) {
		memmove(ep->regions + at - 1, ep->regions + at,
			(ep->n_regions - at) * sizeof(*ep->regions));
		ep->n_regions--;
	}
	pthread_mutex_unlock(&ep->lock);
}

bool vfabi_region_find(struct vfab_ep *ep, const void *addr, size_t len, uint64_t *handle,
		       uint64_t *offset, uint32_t *access)
{
	const struct vfabi_region *r;
	bool found = false;
	size_t at;

	pthread_mutex_lock(&ep->lock);
	at = behind(ep, (uintptr_t)addr);
	if (at) {
		r = &ep->regions[at - 1];
		*offset = (uintptr_t)addr - r->addr;
		*handle = r->handle;
		*access = r->access;
		found = *offset <= r->size && len <= r->size - *offset;
	}
	pthread_mutex_unlock(&ep->lock);
	return found;
}
