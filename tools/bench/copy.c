// SPDX-License-Identifier: GPL-2.0
/*
 * memcpy between private memory and a peer's window, a shared memfd, and a
 * second memfd, which says how far two things of the same kind are apart here.
 * In turns, each time in another order; in several generations, since speed
 * also depends on which physical pages one was given.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "bench.h"

#define MAX_BYTES	(64UL << 20)
#define HUGE_PAGE	(2UL << 20)
#define GENERATIONS	5
#define TURN_NS		1e6

enum { WINDOW, MEMFD, OTHER_MEMFD, KINDS };
enum { WRITE, READ, WAYS };

static double gbs[WAYS][KINDS][GENERATIONS * MAX_REPEATS];
static char *maps[KINDS], *local;

/* As aligned as a window is */
static char *map_memfd(void)
{
	int fd = memfd_create("vfabbench", MFD_CLOEXEC);
	char *p = mmap(NULL, MAX_BYTES + HUGE_PAGE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED || fd < 0 || ftruncate(fd, MAX_BYTES))
		die("a memfd: %s", strerror(errno));
	p = (char *)(((uintptr_t)p + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	p = mmap(p, MAX_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	if (p == MAP_FAILED)
		die("a memfd: %s", strerror(errno));
	close(fd);
	return p;
}

/* One loop for all kinds and ways: only the addresses differ. */
static double __attribute__((noinline))
copies(char *to, const char *from, size_t bytes, uint64_t n)
{
	double t = now_ns();
	uint64_t i;

	for (i = 0; i < n; i++) {
		memcpy(to, from, bytes);
		__asm__ volatile("" : : "r"(to), "r"(from) : "memory");
	}
	return now_ns() - t;
}

static double turn(int way, int kind, size_t bytes, uint64_t n)
{
	char *to = way == WRITE ? maps[kind] : local;
	char *from = way == WRITE ? local : maps[kind];

	return n * bytes / copies(to, from, bytes, n);
}

static void verify(int kind, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i += 8)
		local[i] = i / 8 + kind;
	memcpy(maps[kind], local, bytes);
	memset(local, 0, bytes);
	memcpy(local, maps[kind], bytes);
	for (i = 0; i < bytes; i += 8)
		if (local[i] != (char)(i / 8 + kind))
			die("%zu bytes were not read as written", bytes);
}

static void one_size(size_t bytes, int first, int repeats)
{
	uint64_t n = 1;
	int i, k, way;

	for (k = 0; k < KINDS; k++)
		verify(k, bytes);
	while (copies(maps[MEMFD], local, bytes, n) < TURN_NS / 2)
		n *= 2;
	for (i = 0; i < repeats; i++)
		for (way = 0; way < WAYS; way++)
			for (k = 0; k < KINDS; k++) {
				int kind = (k + i) % KINDS;

				/* The first copy finds the cache as it may be. */
				turn(way, kind, bytes, 1);
				gbs[way][kind][first + i] = turn(way, kind, bytes, n);
			}
}

/* One size at a time, but all from one allocation */
void bench_copy(int repeats)
{
	static const char *const ways[WAYS] = { "write", "read" };
	static double (*all)[WAYS][KINDS][GENERATIONS * MAX_REPEATS];
	struct vfab_ep *ep, *owner;
	struct vfab_mem own, mem;
	size_t bytes;
	char id[64];
	int g, s, way;

	all = calloc(11, sizeof(*all));
	domain_create(2, 0);
	must("attaching", vfab_open(&owner, domain_name(), 1));
	must("attaching", vfab_open(&ep, domain_name(), 0));
	for (g = 0; g < GENERATIONS; g++) {
		must("a window", vfab_window_alloc(owner, MAX_BYTES, 0,
						   VFAB_ACCESS_WRITE, &own));
		must("importing", vfab_import(ep, own.handle, VFAB_ACCESS_WRITE,
					      VFAB_LOSS_SIGBUS, &mem));
		maps[WINDOW] = mem.addr;
		maps[MEMFD] = map_memfd();
		maps[OTHER_MEMFD] = map_memfd();
		if (!all || posix_memalign((void **)&local, HUGE_PAGE, MAX_BYTES))
			die("out of memory");
		for (s = 0, bytes = 64; bytes <= MAX_BYTES; s++, bytes *= 4) {
			memcpy(gbs, all[s], sizeof(gbs));
			one_size(bytes, g * repeats, repeats);
			memcpy(all[s], gbs, sizeof(gbs));
		}
		free(local);
		munmap(maps[MEMFD], MAX_BYTES);
		munmap(maps[OTHER_MEMFD], MAX_BYTES);
		must("releasing", vfab_release(ep, &mem));
		must("freeing", vfab_window_free(owner, &own));
	}
	for (s = 0, bytes = 64; bytes <= MAX_BYTES; s++, bytes *= 4)
		for (way = 0; way < WAYS; way++) {
			snprintf(id, sizeof(id), "copy.%s.%zu", ways[way], bytes);
			row(id, "GB/s", all[s][way][WINDOW], all[s][way][MEMFD],
			    GENERATIONS * repeats);
			snprintf(id, sizeof(id), "self.%s.%zu", ways[way], bytes);
			row(id, "GB/s", all[s][way][OTHER_MEMFD],
			    all[s][way][MEMFD], GENERATIONS * repeats);
		}
	free(all);
	vfab_close(ep);
	vfab_close(owner);
}
