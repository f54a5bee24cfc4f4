// SPDX-License-Identifier: GPL-2.0
/*
 * What a program maps, where, and by which right; and that it gets no more than
 * this right gives.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <linux/vfabric.h>
#include "fuzz.h"

#define PAGE		4096UL
#define ARENA_PAGES	1024U		/* of a map: two huge pages */
#define ARENA		(ARENA_PAGES * PAGE)

static uint64_t freed[NAMED];
static unsigned int nfreed;
static struct right right[NAMED];
static unsigned int nrights;

/* Where nothing else is, and nothing else comes: above what mmap() chooses from */
static char *const arena = (char *)0x4000000000ULL;
/* By page of each map: the right that it was mapped by, from 1; 0 not known */
static uint8_t mapped[MAPS][ARENA_PAGES];
static bool maps_used;

/* Handles mean something within a domain: only where there is but one */
bool window_is_freed(uint64_t h)
{
	unsigned int i;

	for (i = 0; i < nfreed && !shared->dirty; i++)
		if (freed[i] == h)
			return true;
	return false;
}

void window_freed(uint64_t h)
{
	if (!shared->dirty && nfreed < NAMED)
		freed[nfreed++] = h;
}

/* --- rights ------------------------------------------------------------- */

/* The right to @cookie of the file, from 1 */
static unsigned int find_right(const struct file *f, uint64_t cookie)
{
	unsigned int i;

	for (i = nrights; i; i--)
		if (right[i - 1].opened == f->opened && right[i - 1].cookie == cookie)
			break;
	return i;
}

uint64_t right_cookie(uint64_t v)
{
	return v < NAMED ? right[v].cookie : v;
}

void right_add(const struct right *r)
{
	struct file f = { .opened = r->opened };

	if (nrights < NAMED && !find_right(&f, r->cookie))
		right[nrights++] = *r;
}

/* --- touching memory that may be gone ----------------------------------- */

static sigjmp_buf touch_env;
static volatile sig_atomic_t touching;

/* A clock that costs no call: how many slices of time are over */
volatile sig_atomic_t slices;

void memory_signal(int sig)
{
	slices += sig == SIGALRM;
	if (touching) {
		touching = 0;
		siglongjmp(touch_env, sig);
	}
	if (sig != SIGALRM) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

/* Copies, and returns 0 or the signal that ended it */
int touch(void *to, const void *from, size_t n)
{
	int sig = sigsetjmp(touch_env, 1);
	volatile char *t = to;
	const volatile char *f = from;
	size_t i;

	if (sig)
		return sig;
	touching = 1;
	if (n == 8)
		*(volatile uint64_t *)to = *(const volatile uint64_t *)from;
	else
		for (i = 0; i < n; i++)
			t[i] = f[i];
	touching = 0;
	return 0;
}

char *map_page(uint64_t map, uint64_t page)
{
	return arena + map % MAPS * ARENA + page % ARENA_PAGES * PAGE;
}

/* Of @pages from @page on, what lies in the arena; without a number it is one */
static size_t map_bytes(uint64_t page, uint64_t pages)
{
	uint64_t room = ARENA_PAGES - page % ARENA_PAGES;

	if (!pages)
		pages = 1;

	return (pages < room ? pages : room) * PAGE;
}

static void access_word(uint64_t map, uint64_t page, uint64_t word, bool store, uint64_t value)
{
	uint64_t *p = (uint64_t *)map_page(map, page) + word % 512;
	unsigned int i = mapped[map % MAPS][page % ARENA_PAGES];
	int sig = store ? touch(p, &value, 8) : touch(&value, p, 8);

	if (verbose)
		fprintf(stderr, "%s: signal %d, value %#llx\n", store ? "store" : "load", sig,
			(unsigned long long)value);
	if (sig || !i)
		return;
	if (store && !(right[i - 1].access & VFAB_ACCESS_WRITE))
		wrong("a store went through an import that is read-only");
	if (right[i - 1].handle && window_is_freed(right[i - 1].handle) &&
	    right[i - 1].loss == VFAB_LOSS_SIGBUS)
		wrong("an access reached a window that was freed");
}

/* --- memory ------------------------------------------------------------- */

static const int advices[] = {
	MADV_DONTNEED, MADV_WILLNEED, MADV_REMOVE, MADV_DONTFORK, MADV_HUGEPAGE, MADV_FREE,
	22 /* MADV_POPULATE_READ */, 23 /* MADV_POPULATE_WRITE */,
};

static void check_prot(unsigned int i, int prot, const char *by)
{
	if (!i)
		return;
	if (prot & PROT_EXEC)
		wrong("%s makes an import executable", by);
	if (prot & PROT_WRITE && !(right[i - 1].access & VFAB_ACCESS_WRITE))
		wrong("%s makes an import writable that is read-only", by);
}

static void do_mmap(const struct call *c, const struct file *f)
{
	/* Less than to the next cookie, which may be another import's */
	uint64_t cookie = right_cookie(call_arg(c, 2)), from = call_arg(c, 3) % 512 * PAGE;
	uint64_t page = call_arg(c, 4), map = call_arg(c, 0) % MAPS;
	size_t bytes = map_bytes(page, call_arg(c, 5));
	int prot = c->have & 1 << 6 ? call_arg(c, 6) & 7 : PROT_READ | PROT_WRITE;
	unsigned int i;
	void *p;

	maps_used = true;
	p = mmap(map_page(map, page), bytes, prot,
		 (call_arg(c, 7) & 1 ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED, f->fd, cookie + from);
	if (verbose)
		fprintf(stderr, "mmap: %s\n", p == MAP_FAILED ? strerror(errno) : "Success");
	if (p == MAP_FAILED && bytes)	/* what was there may be gone */
		memset(&mapped[map][page % ARENA_PAGES], 0, bytes / PAGE);
	if (p == MAP_FAILED)
		return;
	i = find_right(f, cookie);
	if (i && call_arg(c, 7) & 1)
		wrong("an import was mapped privately");
	check_prot(i, prot, "mmap()");
	if (i && right[i - 1].size && from + bytes > right[i - 1].size)
		wrong("mapped %#llx bytes of an import of %#llx",
		      (unsigned long long)(from + bytes), (unsigned long long)right[i - 1].size);
	memset(&mapped[map][page % ARENA_PAGES], i, bytes / PAGE);
}

static void do_mprotect(uint64_t map, uint64_t page, size_t bytes, int prot)
{
	size_t k;

	if (mprotect(map_page(map, page), bytes, prot))
		return;
	for (k = 0; k < bytes / PAGE; k++)
		check_prot(mapped[map % MAPS][page % ARENA_PAGES + k], prot, "mprotect()");
}

static void do_mremap(const struct call *c, uint64_t map, uint64_t page, size_t bytes)
{
	uint64_t to = call_arg(c, 3) % MAPS;
	size_t more = bytes + call_arg(c, 4) % 4 * PAGE;
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED | (call_arg(c, 5) & 1 ? MREMAP_DONTUNMAP : 0);
	uint8_t was[ARENA_PAGES];
	void *p;

	if (map % MAPS == to || more > ARENA)
		return;
	p = mremap(map_page(map, page), bytes, more, flags, map_page(to, 0));
	if (verbose)
		fprintf(stderr, "mremap: %s\n", p == MAP_FAILED ? strerror(errno) : "Success");
	/* Failing half-way, it may have unmapped what was there */
	memcpy(was, &mapped[map % MAPS][page % ARENA_PAGES], bytes / PAGE);
	memset(mapped[to], 0, more / PAGE);
	if (p == MAP_FAILED)
		return;
	if (!(flags & MREMAP_DONTUNMAP))
		memset(&mapped[map % MAPS][page % ARENA_PAGES], 0, bytes / PAGE);
	memcpy(mapped[to], was, bytes / PAGE);
	if (more > bytes && was[0])
		wrong("mremap() made an import longer");
}

/* @f is the file that mmap() names */
void memory_call(const struct call *c, const struct file *f)
{
	uint64_t map = call_arg(c, 0), page = call_arg(c, 1);
	size_t bytes = map_bytes(page, call_arg(c, 2));

	switch (c->desc->number) {
	case SYS_MMAP:
		do_mmap(c, f);
		break;
	case SYS_LOAD: case SYS_STORE:
		access_word(map, page, call_arg(c, 2), c->desc->number == SYS_STORE,
			    call_arg(c, 3));
		break;
	case SYS_MUNMAP:
		if (!munmap(map_page(map, page), bytes))
			memset(&mapped[map % MAPS][page % ARENA_PAGES], 0, bytes / PAGE);
		break;
	case SYS_MPROTECT:
		do_mprotect(map, page, bytes, call_arg(c, 3) & 7);
		break;
	case SYS_MREMAP:
		do_mremap(c, map, page, bytes);
		break;
	case SYS_MADVISE:
		madvise(map_page(map, page), bytes, advices[call_arg(c, 3) & 7]);
		break;
	}
}

void memory_begin(void)
{
	nfreed = 0;
	nrights = 0;
	memset(right, 0, sizeof(right));
}

/* What is mapped is looked at once more, and written to where it may not be. */
void memory_end(void)
{
	unsigned int map, page;

	if (!maps_used)
		return;
	for (map = 0; map < MAPS; map++) {
		for (page = 0; page < ARENA_PAGES && !mapped[map][page]; page++)
			;
		if (page == ARENA_PAGES)
			continue;
		access_word(map, page, 0, false, 0);
		if (!(right[mapped[map][page] - 1].access & VFAB_ACCESS_WRITE))
			do_mprotect(map, page, PAGE, PROT_READ | PROT_WRITE);
	}
	munmap(arena, ARENA * MAPS);
	memset(mapped, 0, sizeof(mapped));
	maps_used = false;
}
