/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * The memfd transport: a fabric in one shared file, without a module. It has no
 * switch, and isolates nobody: whoever has the file may write all of it.
 *
 * The file is a control area (struct head, the view, a place for each rank), and
 * behind it SLICE bytes for each rank's windows, sparse. All of what others store
 * is validated before it is used as an offset or a size, and no loop's end is
 * theirs to set. The number of ranks is read once, from the header.
 *
 * Who holds a rank has a lock on byte HOLD + rank of the file, by an open file
 * description of its own that is never mapped: so the kernel drops the lock when
 * the last of its descriptors goes, and that is when the process ends, however it
 * ends, since forked children close theirs (see forked()). Whoever waits looks for
 * ranks whose lock is gone (memfd_watch()).
 *
 * What belongs to a rank is changed under a lock of byte CARE + rank, which
 * likewise goes with who takes it: windows come and go, the rank is attached to,
 * or a dead holder's things are cleaned up (memfd_reap()). That may be begun again by
 * another process at any point.
 *
 * Order. Memory is told of, and taken away, by single words: a window by its
 * handle (release; importers acquire), a peer by its losses in the view, which are
 * stored before its memory is given back (vfabi_lost() proves that enough), then
 * the loss generation, then sleepers are woken. Sleepers: see bell.ticket.
 */
#ifndef VFAB_MEMFD_H
#define VFAB_MEMFD_H

#include <sys/types.h>
#include "vfab_int.h"

#define MAGIC		UINT64_C(0x31646d6562616676)	/* "vfabemd1" */
#define VERSION		1

#define SLICE		(UINT64_C(1) << 40)
#define WINDOW_MAX	(UINT64_C(16) << 30)	/* as in the kernel fabric */
#define WINDOWS		1024			/* of a rank, likewise */
#define ALIGN		(UINT64_C(2) << 20)	/* of windows that large */
#define LARGE		(UINT64_C(64) << 20)	/* is asked for first */
#define CHUNK		(UINT64_C(16) << 20)	/* allocated between signals */
#define PAGE		4096

/* Bytes that are locked: where, does not matter */
#define HOLD		0
#define CARE		VFAB_MAX_WORLD

/* How long a sleep lasts at most, and after what time somebody looks for the dead */
#define NAP		(VFAB_SECOND / 4)
#define WATCH		(VFAB_SECOND / 5)

#define LINE		__attribute__((aligned(64)))

struct head {
	uint64_t magic;
	uint32_t version;
	uint32_t world;
	uint64_t page;
	uint8_t uuid[16];
	struct {
		uint64_t at;	/* when somebody looked for the dead last */
	} LINE watched;
};

/* A doorbell's line; the first two words are where ring() looks for them. */
struct bell {
	uint64_t count;
	uint64_t armed;		/* how many sleep on it */
	/*
	 * The futex: it changes before a wake-up. A sleeper reads it, arms, and
	 * then looks whether there is still nothing to wake up for; a waker makes
	 * that visible, and then looks if armed. With full fences between, one
	 * sees the other, and a futex that has changed lets nobody sleep.
	 */
	uint32_t ticket;
} LINE;

struct window {
	uint64_t handle;	/* 0: none; the last word of it to be stored */
	uint64_t tag;
	uint64_t offset;
	uint64_t size;
	uint32_t access;
	uint32_t imports;
	uint64_t serial;	/* of the last handle; outlives the endpoint */
} LINE;

struct place {
	/* Of whoever has the CARE lock */
	uint32_t dirty;		/* attached, and not cleaned up since */
	uint32_t pid;		/* of the holder, for messages */
	uint32_t top;		/* windows beyond have never been used */
	uint64_t next;		/* where in the slice the next window goes */
	/* Of the holder: how many sleep on its doorbells */
	uint32_t sleepers LINE;
	/* Of those who look for a window: a futex, and how many sleep on it */
	uint32_t ticket LINE;
	uint32_t lookers;
	struct window window[WINDOWS];
	struct bell bell[VFAB_VECTORS] __attribute__((aligned(PAGE)));
};

#define VIEW		PAGE	/* offset, to be mapped on its own as well */

/* What other processes may be changing, where nothing is ordered by it */
#define GET(word)		__atomic_load_n(&(word), __ATOMIC_RELAXED)
#define SET(word, value)	__atomic_store_n(&(word), value, __ATOMIC_RELAXED)

struct memfd {
	struct memfd *next;	/* of this process's endpoints */
	struct vfab_ep *ep;
	int hold;		/* has the lock; in a forked child: another, without it */
	bool forked;		/* this process is a child of the one that attached */
	ino_t ino;
	dev_t dev;
	char path[40];		/* to open the file anew */
	char *base;
	size_t bytes;
	pthread_mutex_t lock;	/* with any CARE lock, which threads share */
	uint64_t watched;
};

static inline size_t places_at(uint32_t world)
{
	size_t end = VIEW + sizeof(struct vfab_view) + world * sizeof(struct vfab_peer);

	return (end + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static inline size_t control_bytes(uint32_t world)
{
	return places_at(world) + world * sizeof(struct place);
}

static inline uint64_t slice_at(uint32_t world, uint32_t rank)
{
	return ((control_bytes(world) + ALIGN - 1) & ~(ALIGN - 1)) + rank * SLICE;
}

static inline struct head *head(const struct memfd *m)
{
	return (struct head *)m->base;
}

static inline struct vfab_view *view(const struct memfd *m)
{
	return (struct vfab_view *)(m->base + VIEW);
}

static inline struct place *place(const struct memfd *m, uint32_t rank)
{
	return (struct place *)(m->base + places_at(m->ep->info.world)) + rank;
}

static inline uint32_t state_of(const struct memfd *m, uint32_t rank)
{
	return __atomic_load_n(&view(m)->peer[rank].state, __ATOMIC_ACQUIRE);
}

static inline uint32_t windows_of(const struct place *p)
{
	uint32_t top = GET(p->top);

	return top < WINDOWS ? top : WINDOWS;
}

/* memfd_life.c: locks and deaths */

int memfd_lock(int fd, off_t at, short type);

/* Does another process, or another endpoint of this one, hold the rank? */
bool memfd_held(const struct memfd *m, uint32_t rank);

/*
 * The CARE lock of a rank, and @lock. Whoever has it is at work on the rank, or was
 * stopped: waits for a second.
 */
int memfd_take(struct memfd *m, uint32_t rank);
void memfd_give(struct memfd *m, uint32_t rank);

/* Sleeps on a futex until @deadline, but not much longer than a moment. */
int memfd_nap(uint32_t *word, uint32_t value, uint64_t deadline);
void memfd_wake_all(uint32_t *word);

/* Of a rank whose CARE lock is held: readers retry while the generation is odd. */
struct vfab_peer *memfd_change_begin(struct memfd *m, uint32_t rank);
void memfd_change_end(struct memfd *m, struct vfab_peer *p);

/* Something of @rank was lost, and its peer in the view says so: tell all. */
void memfd_tell(struct memfd *m, uint32_t rank);

/* A descriptor that was closed behind the library's back may be any file's now. */
bool memfd_ours(const struct memfd *m, int fd);

/* Gives memory back */
void memfd_punch(struct memfd *m, uint64_t at, uint64_t size);

/* Attached, and not cleaned up since */
bool memfd_dirty(const struct memfd *m, uint32_t rank);

/*
 * The end of who held @rank: under its CARE lock, and from the start again if
 * whoever is at it dies.
 */
void memfd_reap(struct memfd *m, uint32_t rank);

void memfd_watch(struct vfab_ep *ep);

/* memfd_file.c */
int memfd_find(const char *domain, char *path, size_t len, struct vfab_info *info);

/* memfd_window.c */
int memfd_alloc(struct vfab_ep *ep, struct vfab_window_alloc *a);
int memfd_free(struct vfab_ep *ep, uint64_t handle);
int memfd_lookup(struct vfab_ep *ep, struct vfab_lookup *l);
int memfd_import(struct vfab_ep *ep, struct vfab_import *i);
int memfd_release(struct vfab_ep *ep, uint64_t handle, uint64_t cookie);

#endif
