// SPDX-License-Identifier: GPL-2.0
/* Domains of growing size: time to create, and memory while nothing happens. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "bench.h"

#define DOMAINS	8

static const int sizes[] = { 64, 128, 256, 512, 1024 };

#define SIZES	((int)(sizeof(sizes) / sizeof(sizes[0])))

/*
 * KiB that are free or could be. Caches are emptied first, and what is freed
 * only after a grace period gets the time for it.
 */
static double available(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	char line[128];
	double kib = 0;
	FILE *f;

	usleep(200000);
	sync();
	if (fd < 0 || write(fd, "3", 1) != 1)
		die("/proc/sys/vm/drop_caches: %s", strerror(errno));
	close(fd);
	usleep(200000);
	f = fopen("/proc/meminfo", "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "MemFree:", 8))
			kib = atof(line + 8);
	if (!f || !kib)
		die("/proc/meminfo tells nothing");
	fclose(f);
	return kib;
}

/* Domains that nobody has opened yet */
static double memory_created(void)
{
	double was = available(), is;
	char names[DOMAINS][16];
	int i;

	for (i = 0; i < DOMAINS; i++) {
		domain_create(1024, 0);
		strcpy(names[i], domain_name());
	}
	is = available();
	for (i = 0; i < DOMAINS; i++) {
		domain_use(names[i]);
		domain_delete();
	}
	return (was - is) / (DOMAINS * 1024);
}

/* One domain, each endpoint held by an open file */
static double memory_attached(void)
{
	struct vfab_attach a = { .rank = VFAB_RANK_ANY };
	static int fds[1024];
	double was, is;
	int i;

	was = available();
	domain_create(1024, 0);
	for (i = 0; i < 1024; i++) {
		fds[i] = device_open();
		a.rank = VFAB_RANK_ANY;
		if (ioctl(fds[i], VFAB_IOC_ATTACH, &a))
			die("attaching rank %d: %s", i, strerror(errno));
	}
	is = available();
	for (i = 0; i < 1024; i++)
		close(fds[i]);
	domain_delete();
	return (was - is) / 1024;
}

void bench_create(int repeats)
{
	double ms[SIZES][MAX_REPEATS], gone[SIZES][MAX_REPEATS], t, kib[2][3];
	char id[32];
	int i, k;

	domain_create(1024, 0);		/* unmeasured */
	domain_delete();
	for (i = 0; i < repeats; i++)
		for (k = 0; k < SIZES; k++) {
			t = now_ns();
			domain_create(sizes[k], 0);
			ms[k][i] = (now_ns() - t) / 1e6;
			t = now_ns();
			domain_delete();
			gone[k][i] = (now_ns() - t) / 1e6;
		}
	for (k = 0; k < SIZES; k++) {
		snprintf(id, sizeof(id), "create.%d", sizes[k]);
		row(id, "ms", ms[k], NULL, repeats);
		snprintf(id, sizeof(id), "delete.%d", sizes[k]);
		row(id, "ms", gone[k], NULL, repeats);
	}
	for (i = 0; i < 3; i++) {
		kib[0][i] = memory_created();
		kib[1][i] = memory_attached();
	}
	row("memory.created", "KiB/endpoint", kib[0], NULL, 3);
	row("memory.attached", "KiB/endpoint", kib[1], NULL, 3);
}
