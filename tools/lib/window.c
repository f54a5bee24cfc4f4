// SPDX-License-Identifier: LGPL-2.1
/* Windows: exported, looked up, imported. */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
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
	struct vfab_window_free f;
	uint64_t page = ep->page;
	int ret;

	if (!size || size > ep->info.window_max)
		return vfabi_fail(EINVAL, "a window of %llu bytes: 1 to %llu are possible",
				  (unsigned long long)size,
				  (unsigned long long)ep->info.window_max);
	a.size = (size + page - 1) & ~(page - 1);
	if (ioctl(ep->fd, VFAB_IOC_WINDOW_ALLOC, &a)) {
		ret = errno;
		if (ret == EEXIST)
			return vfabi_fail(ret,
					  "rank %u has a window of tag %llu already: free it, or take another tag",
					  ep->info.rank, (unsigned long long)tag);
		return vfabi_fail(ret, "a window of %llu bytes: %s",
				  (unsigned long long)a.size, vfabi_errno(ret));
	}
	ret = vfab_import(ep, a.handle, VFAB_ACCESS_READ | VFAB_ACCESS_WRITE,
			  VFAB_LOSS_ABSORB, mem);
	if (ret) {
		f.handle = a.handle;
		ioctl(ep->fd, VFAB_IOC_WINDOW_FREE, &f);
	}
	return ret;
}

int vfab_window_free(struct vfab_ep *ep, struct vfab_mem *mem)
{
	struct vfab_window_free f = { .handle = mem->handle };
	int ret = 0;

	/*
	 * Peers lose the window before its owner does: what the owner stored
	 * to it last, they could see until it went.
	 */
	if (ioctl(ep->fd, VFAB_IOC_WINDOW_FREE, &f) && errno != ENODEV)
		return vfabi_fail(errno, "window %#llx: %s",
				  (unsigned long long)f.handle,
				  vfabi_errno(errno));
	ret = vfab_release(ep, mem);
	/* It went with the window. */
	return ret == -ENOENT ? 0 : ret;
}

static int lookup_failed(struct vfab_ep *ep, uint32_t rank, uint64_t tag, int err)
{
	uint32_t domain = ep->info.domain;
	struct vfab_peer p;

	switch (err) {
	case ENOENT:
	case ETIMEDOUT:
		if (!vfab_peer(ep, rank, &p) && p.state == VFAB_PEER_VACANT)
			return vfabi_fail(err,
					  "nothing is attached at rank %u%s: see 'vfabctl endpoint show dom%u/ep%u'",
					  rank, err == ENOENT ? "" : " yet", domain, rank);
		return vfabi_fail(err, "rank %u has no window of tag %llu%s", rank,
				  (unsigned long long)tag, err == ENOENT ? "" : " yet");
	case EHOSTUNREACH:
		return vfabi_fail(err,
				  "no route leads from rank %u to %u: see 'vfabctl route trace dom%u %u %u'",
				  ep->info.rank, rank, domain, ep->info.rank, rank);
	case EACCES:
		return vfabi_fail(err,
				  "rank %u is not in partition %u of dom%u: see 'vfabctl partition show dom%u'",
				  rank, ep->info.partition, domain, domain);
	case EINVAL:
		if (rank >= ep->info.world)
			return vfabi_fail(err, "rank %u is not one of dom%u's %u ranks",
					  rank, domain, ep->info.world);
		break;
	}
	return vfabi_fail(err, "looking for tag %llu of rank %u: %s",
			  (unsigned long long)tag, rank, vfabi_errno(err));
}

int vfab_lookup(struct vfab_ep *ep, uint32_t rank, uint64_t tag,
		int64_t timeout, uint64_t *handle)
{
	struct vfab_lookup l = { .rank = rank, .tag = tag };

	l.deadline = timeout ? vfabi_deadline(timeout) : 0;
	if (ioctl(ep->fd, VFAB_IOC_LOOKUP, &l))
		return lookup_failed(ep, rank, tag, errno);
	*handle = l.handle;
	pthread_mutex_lock(&ep->lock);
	ep->found = l;
	pthread_mutex_unlock(&ep->lock);
	return 0;
}

/* The import was refused: which file admits to the window's channel? */
static int other_channel(struct vfab_ep *ep, uint64_t handle)
{
	uint32_t partition = ep->view->partition;
	struct vfab_lookup l;
	char where[32], file[32];

	pthread_mutex_lock(&ep->lock);
	l = ep->found;
	pthread_mutex_unlock(&ep->lock);
	if (l.handle != handle)
		return vfabi_fail(EPERM, "window %#llx: %s", (unsigned long long)handle,
				  vfabi_errno(EPERM));
	snprintf(where, sizeof(where), "channel %u", l.channel);
	snprintf(file, sizeof(file), "%u.%u.%u", ep->info.domain, partition, l.channel);
	if (l.channel == VFAB_CHANNEL_NONE) {
		strcpy(where, "no channel");
		snprintf(file, sizeof(file), partition ? "%u.%u" : "%u", ep->info.domain,
			 partition);
	}
	return vfabi_fail(EPERM,
			  "rank %u exports in %s of partition %u: open %s/%s (VFAB_DOMAIN=%s)",
			  l.rank, where, partition, VFAB_DEV_DIR, file, file);
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
	struct vfab_release r;
	uint64_t fate = 0;
	bool known = fate_before(ep, handle, &fate);
	void *addr;
	int ret;

	if (ioctl(ep->fd, VFAB_IOC_IMPORT, &i)) {
		if (errno == EPERM)
			return other_channel(ep, handle);
		return vfabi_fail(errno, "window %#llx: %s",
				  (unsigned long long)handle,
				  vfabi_errno(errno));
	}
	ret = vfabi_map(ep->fd, i.cookie, i.size,
			PROT_READ | (i.access & VFAB_ACCESS_WRITE ? PROT_WRITE : 0),
			&addr);
	if (ret) {
		r.cookie = i.cookie;
		ioctl(ep->fd, VFAB_IOC_RELEASE, &r);
		return ret;
	}
	*mem = (struct vfab_mem) {
		.addr = addr, .size = i.size, .handle = handle,
		.cookie = i.cookie, .rank = i.rank, .access = i.access,
		.loss = loss, .known = known, .fate = fate,
	};
	return 0;
}

int vfab_release(struct vfab_ep *ep, struct vfab_mem *mem)
{
	struct vfab_release r = { .cookie = mem->cookie };

	if (!mem->addr)
		return vfabi_fail(EINVAL, "there is no mapping to release");
	munmap(mem->addr, mem->size);
	mem->addr = NULL;
	if (ioctl(ep->fd, VFAB_IOC_RELEASE, &r) && errno != ENODEV)
		return vfabi_fail(errno, "the import of rank %u's window: %s",
				  mem->rank, vfabi_errno(errno));
	return 0;
}
