// SPDX-License-Identifier: LGPL-2.1
/* The kernel fabric's transport: a device file of the vfabric module. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "vfab_int.h"

static int device_attach(struct vfab_ep *ep, const char *path, uint32_t rank)
{
	struct vfab_attach a = { .rank = rank };
	void *view;
	int ret;

	(void)path;
	if (ioctl(ep->fd, VFAB_IOC_ATTACH, &a)) {
		ret = errno;
		switch (ret) {
		case EBUSY:
			return vfabi_fail(ret,
					  "rank %u of dom%u is held by another process: 'vfabctl endpoint show' tells which",
					  rank, ep->info.domain);
		case EHOSTUNREACH:
			return vfabi_fail(ret,
					  "every rank of dom%u's partition %u is held: 'vfabctl endpoint show' tells by whom",
					  ep->info.domain, ep->info.partition);
		case EACCES:
			return vfabi_fail(ret,
					  "rank %u is not in partition %u of dom%u: see 'vfabctl partition show dom%u'",
					  rank, ep->info.partition, ep->info.domain,
					  ep->info.domain);
		case EINVAL:
			return vfabi_fail(ret, "rank %u is not one of dom%u's %u ranks",
					  rank, ep->info.domain, ep->info.world);
		case ENOSPC:
			return vfabi_fail(ret,
					  "cannot attach to dom%u: this node's part of the backplane has no memory left, or as many endpoints as it can: 'vfabctl backplane show' tells",
					  ep->info.domain);
		default:
			return vfabi_fail(ret, "cannot attach to dom%u: %s",
					  ep->info.domain, vfabi_errno(ret));
		}
	}
	if (ioctl(ep->fd, VFAB_IOC_INFO, &ep->info))
		return vfabi_fail(errno, "dom%u ended while it was attached to",
				  ep->info.domain);
	ret = vfabi_map(ep->fd, ep->info.view_cookie, ep->info.view_bytes, PROT_READ, &view);
	if (ret)
		return ret;
	snprintf(ep->name, sizeof(ep->name), "dom%u", ep->info.domain);
	ep->view = view;
	ep->ended = &ep->view->ended;
	ep->armed = ep->page;
	return 0;
}

static void device_detach(struct vfab_ep *ep)
{
	uint32_t i;

	for (i = 0; ep->bells && i < ep->info.world; i++)
		if (ep->bells[i].pages)
			munmap(ep->bells[i].pages, 2 * ep->page);
	munmap((void *)ep->view, ep->info.view_bytes);
	/* A forked child may hold the file open: end the endpoint by name. */
	ioctl(ep->fd, VFAB_IOC_DETACH);
}

static int device_alloc(struct vfab_ep *ep, struct vfab_window_alloc *a)
{
	int ret;

	if (!ioctl(ep->fd, VFAB_IOC_WINDOW_ALLOC, a))
		return 0;
	ret = errno;
	if (ret == EEXIST)
		return vfabi_fail_tag(ep, a->tag);
	if (ret == ENOSPC)
		return vfabi_fail(ret,
				  "this node's part of the backplane has no memory left ('vfabctl backplane show' tells) or, for this domain and endpoint, no more windows: free some");
	return vfabi_fail(ret, "a window of %llu bytes: %s", (unsigned long long)a->size,
			  vfabi_errno(ret));
}

static int device_free(struct vfab_ep *ep, uint64_t handle)
{
	struct vfab_window_free f = { .handle = handle };

	if (!ioctl(ep->fd, VFAB_IOC_WINDOW_FREE, &f) || errno == ENODEV)
		return 0;
	return vfabi_fail(errno, "window %#llx: %s", (unsigned long long)handle,
			  vfabi_errno(errno));
}

static int device_lookup(struct vfab_ep *ep, struct vfab_lookup *l)
{
	uint32_t domain = ep->info.domain, rank = l->rank;
	struct vfab_peer p;
	int err;

	if (!ioctl(ep->fd, VFAB_IOC_LOOKUP, l))
		return 0;
	err = errno;
	switch (err) {
	case ENOENT:
	case ETIMEDOUT:
		if (!vfab_peer(ep, rank, &p) && p.state == VFAB_PEER_VACANT)
			return vfabi_fail(err,
					  "nothing is attached at rank %u%s: see 'vfabctl endpoint show dom%u/ep%u'",
					  rank, err == ENOENT ? "" : " yet", domain, rank);
		return vfabi_fail_no_tag(err, rank, l->tag);
	case EHOSTUNREACH:
		return vfabi_fail(err,
				  "no route leads from rank %u to %u: see 'vfabctl route trace dom%u %u %u'",
				  ep->info.rank, rank, domain, ep->info.rank, rank);
	case EACCES:
		return vfabi_fail(err,
				  "rank %u is not in partition %u of dom%u: see 'vfabctl partition show dom%u'",
				  rank, ep->info.partition, domain, domain);
	}
	return vfabi_fail(err, "looking for tag %llu of rank %u: %s",
			  (unsigned long long)l->tag, rank, vfabi_errno(err));
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

static int device_import(struct vfab_ep *ep, struct vfab_import *i)
{
	if (!ioctl(ep->fd, VFAB_IOC_IMPORT, i))
		return 0;
	if (errno == EPERM)
		return other_channel(ep, i->handle);
	return vfabi_fail(errno, "window %#llx: %s", (unsigned long long)i->handle,
			  vfabi_errno(errno));
}

static int device_release(struct vfab_ep *ep, uint64_t handle, uint64_t cookie)
{
	struct vfab_release r = { .cookie = cookie };

	(void)handle;
	return ioctl(ep->fd, VFAB_IOC_RELEASE, &r) ? -errno : 0;
}

/*
 * The pages keep their address, and moving new ones there leaves no gap, since
 * other threads may be ringing.
 */
static int device_bell(struct vfab_ep *ep, uint32_t rank)
{
	struct vfabi_bell *b = &ep->bells[rank];
	struct vfab_bell k = { .rank = rank, .loss = VFAB_LOSS_ABSORB };
	size_t page = ep->page;
	char *pages, *at = b->pages;
	void *p;
	int ret;

	if (ioctl(ep->fd, VFAB_IOC_BELL, &k))
		return vfabi_fail(errno, "the doorbells of rank %u: %s", rank,
				  vfabi_errno(errno));
	pages = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		goto release;
	p = mmap(pages, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 ep->fd, k.cookie);
	if (p != MAP_FAILED)
		p = mmap(pages + page, page, PROT_READ, MAP_SHARED | MAP_FIXED,
			 ep->fd, k.cookie + page);
	if (p != MAP_FAILED && at) {
		p = mremap(pages, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at);
		if (p != MAP_FAILED)
			p = mremap(pages + page, page, page,
				   MREMAP_MAYMOVE | MREMAP_FIXED, at + page);
	}
	if (p == MAP_FAILED)
		goto unmap;
	if (at)
		device_release(ep, 0, b->cookie);
	else
		__atomic_store_n(&b->pages, pages, __ATOMIC_RELAXED);
	b->cookie = k.cookie;
	return 0;
unmap:
	ret = errno;
	munmap(pages, 2 * page);
	errno = ret;
release:
	ret = errno;
	device_release(ep, 0, k.cookie);
	return vfabi_fail(ret, "mapping the doorbells of rank %u: %s", rank,
			  vfabi_errno(ret));
}

static int device_wake(struct vfab_ep *ep, uint32_t rank, uint32_t vector)
{
	struct vfab_ring r = { .rank = rank, .vector = vector };

	if (ioctl(ep->fd, VFAB_IOC_RING, &r))
		return vfabi_fail(errno, "ringing rank %u: %s", rank, vfabi_errno(errno));
	return 0;
}

static int device_sleep(struct vfab_ep *ep, uint32_t vector, uint64_t count, uint64_t loss,
			uint64_t deadline)
{
	struct vfab_wait w = {
		.vector = vector, .count = count, .loss = loss, .deadline = deadline
	};

	return ioctl(ep->fd, VFAB_IOC_WAIT, &w) ? -errno : 0;
}

static int device_eventfd(struct vfab_ep *ep, uint32_t vector, int fd)
{
	struct vfab_eventfd e = { .vector = vector, .fd = fd };

	if (!ioctl(ep->fd, VFAB_IOC_EVENTFD, &e))
		return 0;
	return vfabi_fail(errno, "binding fd %d to doorbell %u: %s", fd, vector,
			  errno == EINVAL ? "not an eventfd, or no such doorbell" :
			  vfabi_errno(errno));
}

static int device_event(struct vfab_ep *ep, struct vfab_event *event, int64_t timeout)
{
	uint64_t deadline = vfabi_deadline(timeout);
	struct pollfd p = { .fd = ep->fd, .events = POLLIN };
	struct timespec ts;
	int64_t left;
	ssize_t n;

	for (;;) {
		n = read(ep->fd, event, sizeof(*event));
		if (n == sizeof(*event))
			return 0;
		if (!n)
			return vfabi_fail_ended(ep);
		if (errno != EAGAIN)
			return vfabi_fail(errno, "reading an event: %s",
					  vfabi_errno(errno));
		left = vfabi_left(deadline);
		if (!left)
			return vfabi_fail(ETIMEDOUT, "there is no event");
		ts.tv_sec = left / VFAB_SECOND;
		ts.tv_nsec = left % VFAB_SECOND;
		if (ppoll(&p, 1, left < 0 ? NULL : &ts, NULL) < 0)
			return vfabi_fail(errno, "waiting for an event: %s",
					  vfabi_errno(errno));
	}
}

static int device_counts(struct vfab_ep *ep, void **p, size_t *bytes)
{
	struct vfab_counts c = { 0 };

	if (ioctl(ep->fd, VFAB_IOC_COUNTS, &c))
		return vfabi_fail(errno, "memory to count bytes in: %s", vfabi_errno(errno));
	*bytes = c.bytes;
	return vfabi_map(ep->fd, c.cookie, c.bytes, PROT_READ | PROT_WRITE, p);
}

static int device_pace(struct vfab_ep *ep, struct vfab_pace *q)
{
	return ioctl(ep->fd, VFAB_IOC_PACE, q) ? -errno : 0;
}

const struct vfab_ops vfabi_device = {
	.find = vfabi_device_find,
	.attach = device_attach,
	.detach = device_detach,
	.alloc = device_alloc,
	.free = device_free,
	.lookup = device_lookup,
	.import = device_import,
	.release = device_release,
	.bell = device_bell,
	.wake = device_wake,
	.sleep = device_sleep,
	.eventfd = device_eventfd,
	.event = device_event,
	.counts = device_counts,
	.pace = device_pace,
};
