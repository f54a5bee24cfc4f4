// SPDX-License-Identifier: GPL-2.0
/* From nothing to 64 MiB that have been written to: a window, and a memfd. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "bench.h"

#define BYTES	(64UL << 20)
#define PAGE	4096

struct sample {
	double alloc_ms, touch_ms, faults;
};

static double faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt + u.ru_majflt;
}

static void touch(char *p, double start, struct sample *s)
{
	double f = faults(), t = now_ns();
	size_t i;

	for (i = 0; i < BYTES; i += PAGE)
		__atomic_store_n(p + i, 1, __ATOMIC_RELAXED);
	s->alloc_ms = (t - start) / 1e6;
	s->touch_ms = (now_ns() - t) / 1e6;
	s->faults = faults() - f;
}

static void window(struct vfab_ep *ep, struct sample *s)
{
	double t = now_ns();
	struct vfab_mem mem;

	must("a window", vfab_window_alloc(ep, BYTES, 0, VFAB_ACCESS_READ, &mem));
	touch(mem.addr, t, s);
	must("freeing the window", vfab_window_free(ep, &mem));
}

static void memfd(struct sample *s)
{
	double t = now_ns();
	int fd = memfd_create("vfabbench", MFD_CLOEXEC);
	char *p = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, BYTES))
		p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die("a memfd: %s", strerror(errno));
	touch(p, t, s);
	munmap(p, BYTES);
	close(fd);
}

void bench_touch(int repeats)
{
	double ours[3][MAX_REPEATS], peer[3][MAX_REPEATS];
	struct vfab_ep *ep;
	struct sample w, m;
	int i;

	domain_create(2, 0);
	must("attaching", vfab_open(&ep, domain_name(), 0));
	window(ep, &w);		/* both once, unmeasured */
	memfd(&m);
	for (i = 0; i < repeats; i++) {
		if (i % 2)
			memfd(&m);
		window(ep, &w);
		if (i % 2 == 0)
			memfd(&m);
		ours[0][i] = w.faults;
		peer[0][i] = m.faults;
		ours[1][i] = w.alloc_ms + w.touch_ms;
		peer[1][i] = m.alloc_ms + m.touch_ms;
		ours[2][i] = w.touch_ms;
		peer[2][i] = m.touch_ms;
	}
	row("touch.faults", "faults", ours[0], peer[0], repeats);
	row("touch.time", "ms", ours[1], peer[1], repeats);
	row("touch.only", "ms", ours[2], peer[2], repeats);
	vfab_close(ep);
}
