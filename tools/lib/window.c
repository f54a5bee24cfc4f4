// SPDX-License-Identifier: LGPL-2.1
/* Windows: exported, looked up, imported. */
#include <sys/mman.h>
#include "vfab_int.h"

#define HUGE_PAGE	(UINT64_C(2) << 20)

static void *map(void *at, int flags, int fd, uint64_t cookie, uint64_t size,
		 int prot)
{
	void *p = mmap(at, size, prot, MAP_SHARED | flags, fd, cookie);

	return p == MAP_FAILED ? NULL : p;
}

/*
 * A huge page can only be mapped where address and offset agree modulo 2 MiB;
 * cookies are aligned, so the address should be, too. The kernel may have
 * chosen it so. If not, take a larger range, and map in what is aligned of it:
 * between giving it back and that another thread may map something there,
 * which NOREPLACE notices; then a mapping anywhere will do.
 */
int vfabi_map(int fd, uint64_t cookie, uint64_t size, int prot, void **addr)
{
	void *p = map(NULL, 0, fd, cookie, size, prot), *q;
	uintptr_t want;

	if (!p)
		return vfabi_fail(errno, "mapping %llu bytes: %s",
				  (unsigned long long)size, vfabi_errno(errno));
	*addr = p;
	if (size < HUGE_PAGE || !((uintptr_t)p % HUGE_PAGE))
		return 0;
	q = mmap(NULL, size + HUGE_PAGE, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (q == MAP_FAILED)
		return 0;
	want = ((uintptr_t)q + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	munmap(q, size + HUGE_PAGE);
	q = map((void *)want, MAP_FIXED_NOREPLACE, fd, cookie, size, prot);
	if (q) {
		munmap(p, size);
		*addr = q;
	}
	return 0;
}

/* WRITE includes READ, for those who ask for it alone. */
static uint32_t whole(uint32_t access)
{
	return access & VFAB_ACCESS_WRITE ? access | VFAB_ACCESS_READ : access;
}

int vfab_window_alloc(struct vfab_ep *ep, uint64_t size, uint64_t tag,
		      uint32_t access, struct vfab_mem *mem)
{
	struct vfab_window_alloc a = { .tag = tag, .access = whole(access) };
	uint64_t page = ep->page;
	int ret;

	if (!size || size > ep->info.window_max)
		return vfabi_fail(EINVAL, "a window of %llu bytes: 1 to %llu are possible",
				  (unsigned long long)size,
				  (unsigned long long)ep->info.window_max);
	a.size = (size + page - 1) & ~(page - 1);
	ret = ep->ops->alloc(ep, &a);
	if (ret)
		return ret;
	ret = vfab_import(ep, a.handle, VFAB_ACCESS_READ | VFAB_ACCESS_WRITE,
			  VFAB_LOSS_ABSORB, mem);
	if (ret) {
		ep->ops->free(ep, a.handle);
		return ret;
	}
	ret = vfabi_region_add(ep, mem, a.access);
	if (ret)
		vfab_window_free(ep, mem);
	return ret;
}

int vfab_window_free(struct vfab_ep *ep, struct vfab_mem *mem)
{
	/*
	 * Peers lose the window before its owner does: what the owner stored
	 * to it last, they could see until it went.
	 */
	int ret = ep->ops->free(ep, mem->handle);

	if (ret)
		return ret;
	ret = vfab_release(ep, mem);
	/* It went with the window. */
	return ret == -ENOENT ? 0 : ret;
}

int vfab_lookup(struct vfab_ep *ep, uint32_t rank, uint64_t tag,
		int64_t timeout, uint64_t *handle)
{
	struct vfab_lookup l = { .rank = rank, .tag = tag };
	int ret;

	if (rank >= ep->info.world)
		return vfabi_fail(EINVAL, "rank %u is not one of %s's %u ranks", rank, ep->name,
				  ep->info.world);
	l.deadline = timeout ? vfabi_deadline(timeout) : 0;
	ret = ep->ops->lookup(ep, &l);
	if (ret)
		return ret;
	*handle = l.handle;
	pthread_mutex_lock(&ep->lock);
	ep->found = l;
	pthread_mutex_unlock(&ep->lock);
	return 0;
}

/*
 * What the view says of the owner before the window is imported: then whatever
 * takes the import away shows as a difference. Of a handle that was not looked
 * up last, the owner is not known before.
 */
static bool fate_before(struct vfab_ep *ep, uint64_t handle, uint64_t *fate)
{
	uint32_t rank = VFAB_RANK_ANY;

	pthread_mutex_lock(&ep->lock);
	if (ep->found.handle == handle)
		rank = ep->found.rank;
	pthread_mutex_unlock(&ep->lock);
	if (rank != VFAB_RANK_ANY)
		*fate = vfabi_fate(ep, rank).word;
	return rank != VFAB_RANK_ANY;
}

int vfab_import(struct vfab_ep *ep, uint64_t handle, uint32_t access,
		enum vfab_loss loss, struct vfab_mem *mem)
{
	struct vfab_import i = {
		.handle = handle, .access = whole(access), .loss = loss
	};
	uint64_t fate = 0;
	bool known = fate_before(ep, handle, &fate);
	void *addr;
	int ret;

	ret = ep->ops->import(ep, &i);
	if (ret)
		return ret;
	ret = vfabi_map(ep->fd, i.cookie, i.size,
			PROT_READ | (i.access & VFAB_ACCESS_WRITE ? PROT_WRITE : 0),
			&addr);
	if (!ret && ep->ops->mapped) {
		ret = ep->ops->mapped(ep, &i, addr);
		if (ret)
			munmap(addr, i.size);
	}
	if (ret) {
		ep->ops->release(ep, handle, i.cookie);
		return ret;
	}
	*mem = (struct vfab_mem) {
		.addr = addr, .size = i.size, .handle = handle,
		.cookie = i.cookie, .rank = i.rank, .access = i.access,
		.loss = loss, .known = known, .fate = fate,
	};
	return 0;
}

void vfabi_unmap(struct vfab_ep *ep, struct vfab_mem *mem)
{
	if (ep->ops->unmap)
		ep->ops->unmap(ep, mem->addr);
	munmap(mem->addr, mem->size);
	mem->addr = NULL;
}

int vfab_release(struct vfab_ep *ep, struct vfab_mem *mem)
{
	int ret;

	if (!mem->addr)
		return vfabi_fail(EINVAL, "there is no mapping to release");
	vfabi_region_del(ep, mem->addr);
	vfabi_unmap(ep, mem);
	ret = ep->ops->release(ep, mem->handle, mem->cookie);
	if (ret && ret != -ENODEV)
		return vfabi_fail(-ret, "the import of rank %u's window: %s",
				  mem->rank, vfabi_errno(-ret));
	return 0;
}
