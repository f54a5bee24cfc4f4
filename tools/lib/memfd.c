// SPDX-License-Identifier: LGPL-2.1
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
 * or a dead holder's things are cleaned up (reap()). That may be begun again by
 * another process at any point.
 *
 * Order. Memory is told of, and taken away, by single words: a window by its
 * handle (release; importers acquire), a peer by its losses in the view, which are
 * stored before its memory is given back (vfabi_lost() proves that enough), then
 * the loss generation, then sleepers are woken. Sleepers: see bell.ticket.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "vfab_int.h"

#define MAGIC		UINT64_C(0x31646d6562616676)	/* "vfabemd1" */
#define VERSION		1

#define SLICE		(UINT64_C(1) << 40)
#define WINDOW_MAX	(UINT64_C(16) << 30)	/* as in the kernel fabric */
#define WINDOWS		1024			/* of a rank, likewise */
#define ALIGN		(UINT64_C(2) << 20)	/* of windows that large */
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
	uint64_t watched LINE;	/* when somebody looked for the dead last */
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

static struct memfd *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t places_at(uint32_t world)
{
	size_t end = VIEW + sizeof(struct vfab_view) + world * sizeof(struct vfab_peer);

	return (end + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static size_t control_bytes(uint32_t world)
{
	return places_at(world) + world * sizeof(struct place);
}

static uint64_t slice_at(uint32_t world, uint32_t rank)
{
	return ((control_bytes(world) + ALIGN - 1) & ~(ALIGN - 1)) + rank * SLICE;
}

static struct head *head(const struct memfd *m)
{
	return (struct head *)m->base;
}

static struct vfab_view *view(const struct memfd *m)
{
	return (struct vfab_view *)(m->base + VIEW);
}

static struct place *place(const struct memfd *m, uint32_t rank)
{
	return (struct place *)(m->base + places_at(m->ep->info.world)) + rank;
}

static uint32_t state_of(const struct memfd *m, uint32_t rank)
{
	return __atomic_load_n(&view(m)->peer[rank].state, __ATOMIC_ACQUIRE);
}

/* --- Locks, futexes ------------------------------------------------------------------ */

static int lock_byte(int fd, off_t at, short type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &l) ? -errno : 0;
}

/* Does another process, or another endpoint of this one, hold the rank? */
static bool held(const struct memfd *m, uint32_t rank)
{
	struct flock l = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = HOLD + rank, .l_len = 1
	};

	/* If the question fails, nobody is declared dead */
	return fcntl(m->hold, F_OFD_GETLK, &l) || l.l_type != F_UNLCK;
}

/* The files of this process are locked by the mutex. */
static int try_take(struct memfd *m, uint32_t rank)
{
	int ret;

	pthread_mutex_lock(&m->lock);
	ret = lock_byte(m->hold, CARE + rank, F_WRLCK);
	if (ret)
		pthread_mutex_unlock(&m->lock);
	return ret == -EACCES ? -EAGAIN : ret;
}

/* Whoever has it is at work on the rank, or was stopped: a second is enough. */
static int take(struct memfd *m, uint32_t rank)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int ret, i;

	for (i = 0; i < 1000; i++) {
		ret = try_take(m, rank);
		if (ret != -EAGAIN)
			break;
		nanosleep(&ms, NULL);
	}
	if (ret == -EAGAIN)
		return vfabi_fail(EBUSY,
				  "a process that works on rank %u was stopped: continue or kill it",
				  rank);
	return ret ? vfabi_fail(-ret, "locking rank %u: %s", rank, strerror(-ret)) : 0;
}

static void give(struct memfd *m, uint32_t rank)
{
	lock_byte(m->hold, CARE + rank, F_UNLCK);
	pthread_mutex_unlock(&m->lock);
}

static int futex_sleep(uint32_t *word, uint32_t value, uint64_t until)
{
	struct timespec ts = { until / VFAB_SECOND, until % VFAB_SECOND };

	return syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, &ts, NULL,
		       FUTEX_BITSET_MATCH_ANY) ? -errno : 0;
}

static void futex_wake(uint32_t *word)
{
	__atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* --- Losses -------------------------------------------------------------------------- */

static void wake_rank(struct memfd *m, uint32_t rank)
{
	struct place *p = place(m, rank);
	uint32_t i;

	if (!__atomic_load_n(&p->sleepers, __ATOMIC_RELAXED))
		return;
	for (i = 0; i < VFAB_VECTORS; i++)
		if (__atomic_load_n(&p->bell[i].armed, __ATOMIC_RELAXED))
			futex_wake(&p->bell[i].ticket);
}

/* Something was lost, and the peer it was lost of says so: tell all. */
static void tell(struct memfd *m, uint32_t rank)
{
	uint32_t i;

	__atomic_fetch_add(&view(m)->loss, 1, __ATOMIC_RELEASE);
	/* See bell.ticket */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (i = 0; i < m->ep->info.world; i++)
		if (i == rank || state_of(m, i) == VFAB_PEER_HELD)
			wake_rank(m, i);
}

/* Of a rank whose CARE lock is held: readers retry while the generation is odd. */
static struct vfab_peer *change_begin(struct memfd *m, uint32_t rank)
{
	struct vfab_peer *p = &view(m)->peer[rank];

	__atomic_store_n(&p->generation,
			 __atomic_load_n(&p->generation, __ATOMIC_RELAXED) | 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return p;
}

static void change_end(struct memfd *m, struct vfab_peer *p)
{
	__atomic_fetch_add(&p->generation, 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&view(m)->generation, 1, __ATOMIC_RELEASE);
}

/* A descriptor that was closed behind the library's back may be any file's now. */
static bool ours(const struct memfd *m, int fd)
{
	struct stat s;

	return !fstat(fd, &s) && s.st_ino == m->ino && s.st_dev == m->dev;
}

static void punch(struct memfd *m, uint64_t at, uint64_t size)
{
	if (ours(m, m->ep->fd))
		fallocate(m->ep->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, size);
}

static uint32_t windows_of(const struct place *p)
{
	uint32_t top = __atomic_load_n(&p->top, __ATOMIC_RELAXED);

	return top < WINDOWS ? top : WINDOWS;
}

/*
 * The end of who held @rank: under its CARE lock, and from the start again if
 * whoever is at it dies. Losses come first and memory last, as vfabi_lost() needs
 * it.
 */
static void reap(struct memfd *m, uint32_t rank)
{
	struct place *p = place(m, rank);
	uint32_t i, n = windows_of(p);
	struct vfab_peer *peer = change_begin(m, rank);

	__atomic_fetch_add(&peer->losses, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&peer->state, VFAB_PEER_VACANT, __ATOMIC_RELEASE);
	change_end(m, peer);
	tell(m, rank);
	for (i = 0; i < n; i++)
		__atomic_store_n(&p->window[i].handle, 0, __ATOMIC_RELEASE);
	punch(m, slice_at(m->ep->info.world, rank), SLICE);
	__atomic_store_n(&p->dirty, 0, __ATOMIC_RELEASE);
}

static bool dirty(const struct memfd *m, uint32_t rank)
{
	/* The place of a rank that never was held has no memory: leave it so */
	return __atomic_load_n(&view(m)->peer[rank].generation, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&place(m, rank)->dirty, __ATOMIC_ACQUIRE);
}

static void look_for_dead(struct memfd *m)
{
	uint32_t i;

	for (i = 0; i < m->ep->info.world; i++) {
		/* One's own lock is no obstacle to oneself */
		if ((i == m->ep->info.rank && !m->forked) || !dirty(m, i) || held(m, i) ||
		    try_take(m, i))
			continue;
		if (dirty(m, i) && !held(m, i) && ours(m, m->hold))
			reap(m, i);
		give(m, i);
	}
}

static void memfd_watch(struct vfab_ep *ep)
{
	struct memfd *m = ep->own;
	struct timespec ts;
	uint64_t now, last;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	now = ts.tv_sec * VFAB_SECOND + ts.tv_nsec;
	if (now - __atomic_load_n(&m->watched, __ATOMIC_RELAXED) < WATCH / 4)
		return;
	__atomic_store_n(&m->watched, now, __ATOMIC_RELAXED);
	/* One for all. A time that is not in the last moments is nonsense, or old. */
	last = __atomic_load_n(&head(m)->watched, __ATOMIC_RELAXED);
	if (now - last >= WATCH &&
	    __atomic_compare_exchange_n(&head(m)->watched, &last, now, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		look_for_dead(m);
}

/* --- Forks --------------------------------------------------------------------------- */

static void before_fork(void)
{
	pthread_mutex_lock(&all_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&all_lock);
}

/* The endpoint is the parent's, and ends with it. */
static void forked(void)
{
	struct memfd *m;

	for (m = all; m; m = m->next) {
		close(m->hold);
		m->hold = open(m->path, O_RDWR | O_CLOEXEC);
		m->forked = true;
		pthread_mutex_init(&m->lock, NULL);
	}
	pthread_mutex_unlock(&all_lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, forked);
}

static void list(struct memfd *m, bool on)
{
	struct memfd **at = &all;

	pthread_mutex_lock(&all_lock);
	while (!on && *at != m)
		at = &(*at)->next;
	if (on)
		m->next = all;
	*at = on ? m : m->next;
	pthread_mutex_unlock(&all_lock);
}

/* --- The file ------------------------------------------------------------------------ */

int vfab_memfd_create(uint32_t world)
{
	struct head h = { .magic = MAGIC, .version = VERSION, .world = world };
	struct vfab_view v = {
		.abi = VFAB_ABI, .world = world, .rank = VFAB_RANK_ANY, .loss = 1
	};
	struct vfab_peer p = { .state = VFAB_PEER_VACANT, .paths = 1 };
	uint32_t i;
	int fd, ret;

	if (!world || world > VFAB_MAX_WORLD)
		return vfabi_fail(EINVAL, "a world of %u ranks: 1 to %u are possible", world,
				  VFAB_MAX_WORLD);
	h.page = sysconf(_SC_PAGESIZE);
	if (getrandom(h.uuid, sizeof(h.uuid), 0) != sizeof(h.uuid))
		return vfabi_fail(EIO, "there are no random bytes");
	fd = memfd_create("vfabric", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return vfabi_fail(errno, "a memfd: %s", strerror(errno));
	ret = ftruncate(fd, slice_at(world, world));
	if (!ret)
		ret = pwrite(fd, &h, sizeof(h), 0) != sizeof(h) ||
		      pwrite(fd, &v, sizeof(v), VIEW) != sizeof(v);
	for (i = 0; i < world && !ret; i++)
		ret = pwrite(fd, &p, sizeof(p), VIEW + sizeof(v) + i * sizeof(p)) != sizeof(p);
	/* Nobody can truncate what others have mapped */
	if (!ret)
		ret = fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	if (!ret)
		return fd;
	ret = errno;
	close(fd);
	return vfabi_fail(ret, "a memfd of %u ranks: %s", world, strerror(ret));
}

static int check_file(int fd, const char *path, struct vfab_info *info)
{
	struct head h;
	struct stat s;

	if (fstat(fd, &s) || !S_ISREG(s.st_mode) || pread(fd, &h, sizeof(h), 0) != sizeof(h) ||
	    h.magic != MAGIC)
		return vfabi_fail(ENOTTY,
				  "%s: not a file of the memfd transport: 'vfabrun --memfd' makes one",
				  path);
	if (h.version != VERSION)
		return vfabi_fail(EOPNOTSUPP,
				  "%s: its layout is of version %u, this library's of %u: use one library for all ranks",
				  path, h.version, VERSION);
	if (!h.world || h.world > VFAB_MAX_WORLD || h.page != (uint64_t)sysconf(_SC_PAGESIZE))
		return vfabi_fail(EINVAL, "%s: its header is damaged: start the job again", path);
	if ((uint64_t)s.st_size != slice_at(h.world, h.world))
		return vfabi_fail(EINVAL,
				  "%s: %lld bytes, and %llu belong to %u ranks: it was truncated, start the job again",
				  path, (long long)s.st_size,
				  (unsigned long long)slice_at(h.world, h.world), h.world);
	*info = (struct vfab_info) {
		.abi = VFAB_ABI, .world = h.world, .planes = 1, .rank = VFAB_RANK_ANY,
		.vectors = VFAB_VECTORS, .view_bytes = places_at(h.world) - VIEW,
		.view_cookie = VIEW, .window_max = WINDOW_MAX, .name = "memfd",
		.channel = VFAB_CHANNEL_NONE, .node = VFAB_NODE_NONE, .nodes = 1,
	};
	memcpy(info->uuid, h.uuid, sizeof(h.uuid));
	return 0;
}

/* "memfd:3", "memfd:/proc/77/fd/3"; "memfd": the one of the environment */
static int memfd_find(const char *domain, char *path, size_t len, struct vfab_info *info)
{
	const char *env = getenv("VFAB_DOMAIN");
	const char *what = strchr(domain, ':');
	int fd, ret;

	if (!what && env && !strncmp(env, "memfd:", 6))
		what = strchr(domain = env, ':');
	if (!what || !*++what)
		return vfabi_fail(ENOENT,
				  "\"%s\" names no memfd: start the ranks by 'vfabrun --memfd'", domain);
	if ((size_t)snprintf(path, len, "%s%s", what[strspn(what, "0123456789")] ? "" :
			     "/proc/self/fd/", what) >= len)
		return vfabi_fail(ENAMETOOLONG, "\"%s\" is too long a path", domain);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return vfabi_fail(errno, "%s: %s: has vfabrun ended, or was the file not inherited?",
				  path, strerror(errno));
	ret = check_file(fd, path, info);
	if (ret) {
		close(fd);
		return ret;
	}
	snprintf(path, len, "%s", domain);
	return fd;
}

/* --- Endpoints ----------------------------------------------------------------------- */

static int hold(struct memfd *m, uint32_t rank)
{
	struct place *p = place(m, rank);
	struct vfab_peer *peer;
	int ret = take(m, rank);

	if (ret)
		return ret;
	ret = lock_byte(m->hold, HOLD + rank, F_WRLCK);
	if (ret) {
		give(m, rank);
		if (ret == -EAGAIN || ret == -EACCES)
			return vfabi_fail(EBUSY, "rank %u of %s is held by process %u", rank,
					  m->ep->name, p->pid);
		return vfabi_fail(-ret, "locking rank %u: %s", rank, strerror(-ret));
	}
	if (dirty(m, rank))
		reap(m, rank);
	memset(p->bell, 0, sizeof(p->bell));
	p->sleepers = 0;
	p->top = 0;
	p->pid = getpid();
	__atomic_store_n(&p->dirty, 1, __ATOMIC_RELEASE);
	peer = change_begin(m, rank);
	__atomic_store_n(&peer->state, VFAB_PEER_HELD, __ATOMIC_RELEASE);
	change_end(m, peer);
	m->ep->info.rank = rank;
	m->ep->info.node = 0;
	m->ep->ended = &peer->losses;
	m->ep->alive = __atomic_load_n(&peer->losses, __ATOMIC_RELAXED);
	give(m, rank);
	return 0;
}

static int hold_any(struct memfd *m)
{
	uint32_t i;
	int ret;

	for (i = 0; i < m->ep->info.world; i++) {
		ret = held(m, i) ? -EBUSY : hold(m, i);
		if (ret != -EBUSY)
			return ret;
	}
	return vfabi_fail(EHOSTUNREACH, "every rank of %s is held", m->ep->name);
}

static int memfd_attach(struct vfab_ep *ep, uint32_t rank)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct memfd *m;
	struct stat s;
	int ret;

	snprintf(ep->name, sizeof(ep->name), "the memfd fabric");
	if (rank >= ep->info.world && rank != VFAB_RANK_ANY)
		return vfabi_fail(EINVAL, "rank %u is not one of %s's %u ranks", rank, ep->name,
				  ep->info.world);
	m = calloc(1, sizeof(*m));
	if (!m)
		return vfabi_fail(ENOMEM, "out of memory");
	m->ep = ep;
	m->bytes = control_bytes(ep->info.world);
	pthread_mutex_init(&m->lock, NULL);
	snprintf(m->path, sizeof(m->path), "/proc/self/fd/%d", ep->fd);
	m->base = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ep->fd, 0);
	if (m->base == MAP_FAILED) {
		ret = vfabi_fail(errno, "mapping %s: %s", ep->name, strerror(errno));
		goto free;
	}
	m->hold = open(m->path, O_RDWR | O_CLOEXEC);
	if (m->hold < 0 || fstat(m->hold, &s)) {
		ret = vfabi_fail(errno, "opening %s: %s", m->path, strerror(errno));
		goto unmap;
	}
	m->ino = s.st_ino;
	m->dev = s.st_dev;
	ep->own = m;
	ep->view = view(m);
	ep->armed = offsetof(struct bell, armed);
	pthread_once(&once, watch_forks);
	list(m, true);
	ret = rank == VFAB_RANK_ANY ? hold_any(m) : hold(m, rank);
	if (!ret)
		return 0;
	list(m, false);
	close(m->hold);
unmap:
	munmap(m->base, m->bytes);
free:
	pthread_mutex_destroy(&m->lock);
	free(m);
	return ret;
}

static void memfd_detach(struct vfab_ep *ep)
{
	struct memfd *m = ep->own;
	uint32_t rank = ep->info.rank;

	/* A child's is not its own; one that has ended may be another's by now */
	if (!m->forked && !take(m, rank)) {
		if (!vfabi_ended(ep))
			reap(m, rank);
		give(m, rank);
	}
	list(m, false);
	if (ours(m, m->hold))
		close(m->hold);
	munmap(m->base, m->bytes);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* --- Windows ------------------------------------------------------------------------- */

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
	return vfabi_fail(ENOENT, "window %#llx: no such window: the handle is unknown, or was freed",
			  (unsigned long long)handle);
}

/* Within the slice of its rank, whoever wrote it */
static bool valid(const struct memfd *m, uint32_t rank, uint64_t offset, uint64_t size)
{
	uint64_t from = slice_at(m->ep->info.world, rank), page = m->ep->page;

	return offset >= from && offset - from < SLICE && size && size <= WINDOW_MAX &&
	       size <= SLICE - (offset - from) && !(offset % page) && !(size % page);
}

static const struct window *overlaps(const struct place *p, uint64_t at, uint64_t size)
{
	uint32_t i, n = windows_of(p);

	for (i = 0; i < n; i++) {
		const struct window *w = &p->window[i];

		if (w->handle && w->offset < at + size && at < w->offset + w->size)
			return w;
	}
	return NULL;
}

/*
 * Where the next window goes, 0 if there is no room. Round and round, so that what
 * was freed is not used again soon: who still maps it could write to the new window.
 */
static uint64_t room(const struct memfd *m, const struct place *p, uint64_t size)
{
	uint64_t from = slice_at(m->ep->info.world, m->ep->info.rank), at = p->next;
	uint64_t align = size < ALIGN ? m->ep->page : ALIGN;
	const struct window *w;
	uint32_t i;

	for (i = 0; i < 2 * WINDOWS + 4; i++) {
		at = (at + align - 1) & ~(align - 1);
		if (at < from || at - from > SLICE - size)
			at = from;
		w = overlaps(p, at, size);
		if (!w)
			return at;
		at = w->offset + w->size;
	}
	return 0;
}

/* All of it, zeroed */
static int fill(struct memfd *m, uint64_t at, uint64_t size)
{
	uint64_t end = at + size, n, from = at;

	if (!ours(m, m->ep->fd))
		return -EBADF;
	punch(m, at, size);
	while (at < end) {
		n = end - at < CHUNK ? end - at : CHUNK;
		if (!fallocate(m->ep->fd, 0, at, n)) {
			at += n;
		} else if (errno != EINTR) {
			int err = errno;

			punch(m, from, size);
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
		if (!p->window[i].handle)
			at = i < at ? i : at;
		else if (a->tag && p->window[i].tag == a->tag)
			return vfabi_fail_tag(m->ep, a->tag);
	}
	if (at == WINDOWS)
		at = n;
	offset = at < WINDOWS ? room(m, p, a->size) : 0;
	if (!offset)
		return vfabi_fail(EDQUOT, "a window of %llu bytes: rank %u has %u windows, or 1 TiB of them",
				  (unsigned long long)a->size, m->ep->info.rank, n);
	ret = fill(m, offset, a->size);
	if (ret)
		return vfabi_fail(-ret, "a window of %llu bytes: %s",
				  (unsigned long long)a->size, strerror(-ret));
	w = &p->window[at];
	w->tag = a->tag;
	w->offset = offset;
	w->size = a->size;
	w->access = a->access;
	__atomic_store_n(&w->imports, 0, __ATOMIC_RELAXED);
	a->handle = handle_of(++w->serial, m->ep->info.rank, at);
	p->next = offset + a->size;
	if (at == n)
		__atomic_store_n(&p->top, n + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&w->handle, a->handle, __ATOMIC_RELEASE);
	return 0;
}

static int memfd_alloc(struct vfab_ep *ep, struct vfab_window_alloc *a)
{
	struct memfd *m = ep->own;
	struct place *p = place(m, ep->info.rank);
	int ret;

	if (!(a->access & VFAB_ACCESS_READ) || a->access & ~(VFAB_ACCESS_READ | VFAB_ACCESS_WRITE))
		return vfabi_fail(EINVAL, "access %#x: VFAB_ACCESS_READ or VFAB_ACCESS_WRITE",
				  a->access);
	ret = take(m, ep->info.rank);
	if (ret)
		return ret;
	ret = vfabi_ended(ep) ? vfabi_fail_ended(ep) : new_window(m, p, a);
	give(m, ep->info.rank);
	if (ret)
		return ret;
	/* As of bell.ticket */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&p->lookers, __ATOMIC_RELAXED))
		futex_wake(&p->ticket);
	return 0;
}

static int memfd_free(struct vfab_ep *ep, uint64_t handle)
{
	struct memfd *m = ep->own;
	struct vfab_peer *peer;
	struct window *w;
	uint32_t rank;
	int ret;

	if (vfabi_ended(ep))
		return 0;
	w = window(m, handle, &rank);
	if (!w || rank != ep->info.rank)
		return no_window(handle);
	ret = take(m, rank);
	if (ret)
		return ret;
	if (w->handle != handle) {
		give(m, rank);
		return no_window(handle);
	}
	__atomic_store_n(&w->handle, 0, __ATOMIC_RELEASE);
	/* Either this sees the import, or the import sees that the window went */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&w->imports, __ATOMIC_RELAXED)) {
		peer = change_begin(m, rank);
		__atomic_fetch_add(&peer->revoked, 1, __ATOMIC_RELEASE);
		change_end(m, peer);
		tell(m, rank);
	}
	if (valid(m, rank, w->offset, w->size))
		punch(m, w->offset, w->size);
	give(m, rank);
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
		if (!l->handle || w->tag != l->tag)
			continue;
		l->size = w->size;
		l->access = w->access;
		l->channel = VFAB_CHANNEL_NONE;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&w->handle, __ATOMIC_RELAXED) == l->handle)
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

static uint64_t nap(uint64_t deadline)
{
	uint64_t until = vfabi_now() + NAP;

	return until < deadline ? until : deadline;
}

static int memfd_lookup(struct vfab_ep *ep, struct vfab_lookup *l)
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
		ret = look_up(m, l) ? 1 : futex_sleep(&p->ticket, ticket, nap(l->deadline));
		__atomic_fetch_sub(&p->lookers, 1, __ATOMIC_RELAXED);
		if (ret == 1)
			return 0;
		if (ret == -EINTR)
			return vfabi_fail(EINTR, "a signal arrived");
		memfd_watch(ep);
	}
}

static int memfd_import(struct vfab_ep *ep, struct vfab_import *i)
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
	i->cookie = w->offset;
	i->size = w->size;
	access = w->access;
	if (i->rank != ep->info.rank)
		__atomic_fetch_add(&w->imports, 1, __ATOMIC_RELAXED);
	/* See memfd_free(); and what was read above is this window's */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&w->handle, __ATOMIC_RELAXED) != i->handle)
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

static int memfd_release(struct vfab_ep *ep, uint64_t handle, uint64_t cookie)
{
	uint32_t rank;
	struct window *w = window(ep->own, handle, &rank);

	(void)cookie;
	if (w && rank != ep->info.rank && __atomic_load_n(&w->handle, __ATOMIC_RELAXED) == handle)
		__atomic_fetch_sub(&w->imports, 1, __ATOMIC_RELAXED);
	return 0;
}

/* --- Doorbells ----------------------------------------------------------------------- */

static int memfd_bell(struct vfab_ep *ep, uint32_t rank)
{
	struct memfd *m = ep->own;

	if (state_of(m, rank) != VFAB_PEER_HELD)
		return vfabi_fail(EHOSTUNREACH, "the doorbells of rank %u: nothing is attached there",
				  rank);
	__atomic_store_n(&ep->bells[rank].pages, (char *)place(m, rank)->bell, __ATOMIC_RELAXED);
	return 0;
}

static int memfd_wake(struct vfab_ep *ep, uint32_t rank, uint32_t vector)
{
	futex_wake(&place(ep->own, rank)->bell[vector].ticket);
	return 0;
}

static int memfd_sleep(struct vfab_ep *ep, uint32_t vector, uint64_t count, uint64_t loss,
		       uint64_t deadline)
{
	struct memfd *m = ep->own;
	struct place *p = place(m, ep->info.rank);
	struct bell *b = &p->bell[vector];
	uint32_t ticket = __atomic_load_n(&b->ticket, __ATOMIC_ACQUIRE);
	int ret = 0;

	__atomic_fetch_add(&b->armed, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&p->sleepers, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (vfabi_load(&b->count) == count && vfabi_loss(ep) == loss && !vfabi_ended(ep))
		ret = (uint64_t)vfabi_now() >= deadline ? -ETIMEDOUT :
		      futex_sleep(&b->ticket, ticket, nap(deadline));
	__atomic_fetch_sub(&p->sleepers, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&b->armed, 1, __ATOMIC_RELAXED);
	memfd_watch(ep);
	if (ret == -ETIMEDOUT && (uint64_t)vfabi_now() < deadline)
		return 0;
	return ret == -EAGAIN ? 0 : ret;
}

/* --- What there is not --------------------------------------------------------------- */

static int memfd_eventfd(struct vfab_ep *ep, uint32_t vector, int fd)
{
	(void)ep;
	(void)vector;
	(void)fd;
	return vfabi_fail(EOPNOTSUPP,
			  "the memfd transport has no eventfds: wait with vfab_wait(), in a thread of its own if need be");
}

static int memfd_event(struct vfab_ep *ep, struct vfab_event *event, int64_t timeout)
{
	(void)ep;
	(void)event;
	(void)timeout;
	return vfabi_fail(EOPNOTSUPP,
			  "the memfd transport has no events: vfab_wait() ends when something is lost, vfab_peer() tells what");
}

/* Nobody adds it up */
static int memfd_counts(struct vfab_ep *ep, void **p, size_t *bytes)
{
	*bytes = ep->info.world * sizeof(struct vfab_count);
	*p = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (*p != MAP_FAILED)
		return 0;
	*p = NULL;
	return vfabi_fail(errno, "memory to count bytes in: %s", strerror(errno));
}

/* There are no links; shape is on only where somebody scribbled over the view */
static int memfd_pace(struct vfab_ep *ep, struct vfab_pace *q)
{
	(void)ep;
	q->at = 0;
	return 0;
}

const struct vfab_ops vfabi_memfd = {
	.find = memfd_find,
	.attach = memfd_attach,
	.detach = memfd_detach,
	.alloc = memfd_alloc,
	.free = memfd_free,
	.lookup = memfd_lookup,
	.import = memfd_import,
	.release = memfd_release,
	.bell = memfd_bell,
	.wake = memfd_wake,
	.sleep = memfd_sleep,
	.eventfd = memfd_eventfd,
	.event = memfd_event,
	.counts = memfd_counts,
	.pace = memfd_pace,
	.watch = memfd_watch,
};
