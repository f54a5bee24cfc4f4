// SPDX-License-Identifier: LGPL-2.1
/* The memfd transport: windows. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "memfd.h"

/* A handle is a serial number, the owner's rank and the place in its table. */
static uint64_t handle_of(uint64_t serial, uint32_t rank, uint32_t i)
{
	return serial << 20 | rank << 10 | i;
}

/* Where the handle says, if the rank has such a place; whether it is there, @handle tells */
static struct window *window(const struct memfd *m, uint64_t handle, uint32_t *rank)
{
	*rank = handle >> 10 & 1023;
	return *rank < m->ep->info.world && state_of(m, *rank) == VFAB_PEER_HELD ?
	       &place(m, *rank)->window[handle & 1023] : NULL;
}

static int no_window(uint64_t handle)
{
	return vfabi_fail(ENOENT,
			  "window %#llx: no such window: the handle is unknown, or was freed",
			  (unsigned long long)handle);
}

/* Within the slice of its rank, whoever wrote it */
static bool valid(const struct memfd *m, uint32_t rank, uint64_t offset, uint64_t size)
{
	uint64_t from = slice_at(m->ep->info.world, rank), page = m->ep->page;

	return offset >= from && offset - from < SLICE && size && size <= WINDOW_MAX &&
	       size <= SLICE - (offset - from) && !(offset % page) && !(size % page);
}

/* Where the window ends that has some of it; 0: none has */
static uint64_t occupied(const struct place *p, uint64_t at, uint64_t size)
{
	uint32_t i, n = windows_of(p);
	uint64_t from, end;

	for (i = 0; i < n; i++) {
		from = GET(p->window[i].offset);
		end = from + GET(p->window[i].size);
		if (GET(p->window[i].handle) && from < at + size && at < end)
			return end;
	}
	return 0;
}

/*
 * Where the next window goes, 0 if there is no room. Round and round, so that what
 * was freed is not used again soon: who still maps it could write to the new window.
 */
static uint64_t room(const struct memfd *m, const struct place *p, uint64_t size)
{
	uint64_t from = slice_at(m->ep->info.world, m->ep->info.rank);
	uint64_t align = size < ALIGN ? m->ep->page : ALIGN;
	uint64_t at = GET(p->next), end;
	uint32_t i;

	for (i = 0; i < 2 * WINDOWS + 4; i++) {
		at = (at + align - 1) & ~(align - 1);
		if (at < from || at - from > SLICE - size)
			at = from;
		end = occupied(p, at, size);
		if (!end)
			return at;
		at = end;
	}
	return 0;
}

/*
 * Whether the machine has so much left. That is not asked for small windows, and
 * may have changed a moment later; but who asks for too much shall get an error,
 * and not have the kernel kill somebody.
 */
static bool fits(uint64_t size)
{
	unsigned long long kib = ~0ULL >> 10;
	char line[80];
	FILE *f;

	if (size < LARGE)
		return true;
	f = fopen("/proc/meminfo", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return size >> 10 < kib;
}

/* All of it, zeroed */
static int fill(struct memfd *m, uint64_t at, uint64_t size)
{
	uint64_t end = at + size, n, from = at;

	if (!memfd_ours(m, m->ep->fd))
		return -EBADF;
	if (!fits(size))
		return -ENOMEM;
	memfd_punch(m, at, size);
	while (at < end) {
		n = end - at < CHUNK ? end - at : CHUNK;
		if (!fallocate(m->ep->fd, 0, at, n)) {
			at += n;
		} else if (errno != EINTR) {
			int err = errno;

			memfd_punch(m, from, size);
			return err == ENOSPC ? -ENOMEM : -err;
		}
	}
	return 0;
}

static int new_window(struct memfd *m, struct place *p, struct vfab_window_alloc *a)
{
	uint32_t i, at = WINDOWS, n = windows_of(p);
	struct window *w;
	uint64_t offset;
	int ret;

	for (i = 0; i < n; i++) {
		if (!GET(p->window[i].handle))
			at = i < at ? i : at;
		else if (a->tag && GET(p->window[i].tag) == a->tag)
			return vfabi_fail_tag(m->ep, a->tag);
	}
	if (at == WINDOWS)
		at = n;
	offset = at < WINDOWS ? room(m, p, a->size) : 0;
	if (!offset)
		return vfabi_fail(EDQUOT,
				  "a window of %llu bytes: rank %u has %u windows, or 1 TiB of them",
				  (unsigned long long)a->size, m->ep->info.rank, n);
	ret = fill(m, offset, a->size);
	if (ret)
		return vfabi_fail(-ret, "a window of %llu bytes: %s",
				  (unsigned long long)a->size, strerror(-ret));
	w = &p->window[at];
	SET(w->tag, a->tag);
	SET(w->offset, offset);
	SET(w->size, a->size);
	SET(w->access, a->access);
	SET(w->imports, 0);
	SET(w->serial, GET(w->serial) + 1);
	a->handle = handle_of(GET(w->serial), m->ep->info.rank, at);
	SET(p->next, offset + a->size);
	if (at == n)
		SET(p->top, n + 1);
	__atomic_store_n(&w->handle, a->handle, __ATOMIC_RELEASE);
	return 0;
}

int memfd_alloc(struct vfab_ep *ep, struct vfab_window_alloc *a)
{
	struct memfd *m = ep->own;
	struct place *p = place(m, ep->info.rank);
	int ret;

	if (!(a->access & VFAB_ACCESS_READ) || a->access & ~(VFAB_ACCESS_READ | VFAB_ACCESS_WRITE))
		return vfabi_fail(EINVAL, "access %#x: VFAB_ACCESS_READ or VFAB_ACCESS_WRITE",
				  a->access);
	ret = memfd_take(m, ep->info.rank);
	if (ret)
		return ret;
	ret = vfabi_ended(ep) ? vfabi_fail_ended(ep) : new_window(m, p, a);
	memfd_give(m, ep->info.rank);
	if (ret)
		return ret;
	/* As of bell.ticket */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (GET(p->lookers))
		memfd_wake_all(&p->ticket);
	return 0;
}

int memfd_free(struct vfab_ep *ep, uint64_t handle)
{
	struct memfd *m = ep->own;
	struct vfab_peer *peer;
	uint64_t at, size;
	struct window *w;
	uint32_t rank;
	int ret;

	if (vfabi_ended(ep))
		return 0;
	w = window(m, handle, &rank);
	if (!w || rank != ep->info.rank)
		return no_window(handle);
	ret = memfd_take(m, rank);
	if (ret)
		return ret;
	if (GET(w->handle) != handle) {
		memfd_give(m, rank);
		return no_window(handle);
	}
	__atomic_store_n(&w->handle, 0, __ATOMIC_RELEASE);
	/* Either this sees the import, or the import sees that the window went */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (GET(w->imports)) {
		peer = memfd_change_begin(m, rank);
		__atomic_fetch_add(&peer->revoked, 1, __ATOMIC_RELEASE);
		memfd_change_end(m, peer);
		memfd_tell(m, rank);
	}
	at = GET(w->offset);
	size = GET(w->size);
	if (valid(m, rank, at, size))
		memfd_punch(m, at, size);
	memfd_give(m, rank);
	return 0;
}

static bool look_up(const struct memfd *m, struct vfab_lookup *l)
{
	const struct place *p = place(m, l->rank);
	uint32_t i, n;

	if (state_of(m, l->rank) != VFAB_PEER_HELD)
		return false;
	for (i = 0, n = windows_of(p); i < n; i++) {
		const struct window *w = &p->window[i];

		l->handle = __atomic_load_n(&w->handle, __ATOMIC_ACQUIRE);
		if (!l->handle || GET(w->tag) != l->tag)
			continue;
		l->size = GET(w->size);
		l->access = GET(w->access);
		l->channel = VFAB_CHANNEL_NONE;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (GET(w->handle) == l->handle)
			return true;
	}
	return false;
}

static int not_there(const struct memfd *m, int err, const struct vfab_lookup *l)
{
	if (state_of(m, l->rank) == VFAB_PEER_HELD)
		return vfabi_fail_no_tag(err, l->rank, l->tag);
	return vfabi_fail(err, "nothing is attached at rank %u%s", l->rank,
			  err == ENOENT ? "" : " yet");
}

int memfd_lookup(struct vfab_ep *ep, struct vfab_lookup *l)
{
	struct memfd *m = ep->own;
	struct place *p = place(m, l->rank);
	uint32_t ticket;
	int ret;

	if (!l->tag)
		return vfabi_fail(EINVAL, "windows of tag 0 cannot be looked up");
	for (;;) {
		if (vfabi_ended(ep))
			return vfabi_fail_ended(ep);
		if (look_up(m, l))
			return 0;
		if (!l->deadline)
			return not_there(m, ENOENT, l);
		if ((uint64_t)vfabi_now() >= l->deadline)
			return not_there(m, ETIMEDOUT, l);
		ticket = __atomic_load_n(&p->ticket, __ATOMIC_ACQUIRE);
		__atomic_fetch_add(&p->lookers, 1, __ATOMIC_SEQ_CST);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		ret = look_up(m, l) ? 1 : memfd_nap(&p->ticket, ticket, l->deadline);
		__atomic_fetch_sub(&p->lookers, 1, __ATOMIC_RELAXED);
		if (ret == 1)
			return 0;
		if (ret == -EINTR)
			return vfabi_fail(EINTR, "a signal arrived");
		memfd_watch(ep);
	}
}

int memfd_import(struct vfab_ep *ep, struct vfab_import *i)
{
	struct memfd *m = ep->own;
	struct window *w = window(m, i->handle, &i->rank);
	uint32_t access;

	if (vfabi_ended(ep))
		return vfabi_fail_ended(ep);
	if (!(i->access & VFAB_ACCESS_READ) || i->access & ~(VFAB_ACCESS_READ | VFAB_ACCESS_WRITE))
		return vfabi_fail(EINVAL, "access %#x: VFAB_ACCESS_READ or VFAB_ACCESS_WRITE",
				  i->access);
	if (!w || __atomic_load_n(&w->handle, __ATOMIC_ACQUIRE) != i->handle)
		return no_window(i->handle);
	i->cookie = GET(w->offset);
	i->size = GET(w->size);
	access = GET(w->access);
	if (i->rank != ep->info.rank)
		__atomic_fetch_add(&w->imports, 1, __ATOMIC_RELAXED);
	/* See memfd_free(), and what was read above is this window's */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (GET(w->handle) != i->handle)
		return no_window(i->handle);
	if (i->rank != ep->info.rank && i->access & ~access) {
		__atomic_fetch_sub(&w->imports, 1, __ATOMIC_RELAXED);
		return vfabi_fail(EACCES, "rank %u exports window %#llx for reading", i->rank,
				  (unsigned long long)i->handle);
	}
	if (valid(m, i->rank, i->cookie, i->size))
		return 0;
	return vfabi_fail(EIO, "window %#llx: rank %u's table is damaged: start the job again",
			  (unsigned long long)i->handle, i->rank);
}

int memfd_release(struct vfab_ep *ep, uint64_t handle, uint64_t cookie)
{
	uint32_t rank;
	struct window *w = window(ep->own, handle, &rank);

	(void)cookie;
	if (w && rank != ep->info.rank && GET(w->handle) == handle)
		__atomic_fetch_sub(&w->imports, 1, __ATOMIC_RELAXED);
	return 0;
}
