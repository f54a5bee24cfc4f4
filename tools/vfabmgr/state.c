// SPDX-License-Identifier: GPL-2.0
/*
 * The manager of a domain holds a lock on its state file, which the kernel
 * takes back however it ends: who finds the file unlocked finds a manager that
 * was killed. It writes a sign of life every second; who finds that too old,
 * finds one that is stuck.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "state.h"

#define DIR		"/run/vfabric"
#define SIZE		512
#define STALE_MS	10000
#define LOCK_MS		1000		/* one that was killed lets go so soon */

/* Also while the machine sleeps, and never set back */
static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* The file that is there once it is locked may be another than was opened */
static bool same_file(int fd, const char *path)
{
	struct stat a, b;

	return !fstat(fd, &a) && !stat(path, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static int lock(const char *path)
{
	u64 until = now_ms() + LOCK_MS;
	int fd, err;

	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0)
			return -errno;
		if (!flock(fd, LOCK_EX | LOCK_NB) && same_file(fd, path))
			return fd;
		err = errno;
		close(fd);
		if (now_ms() > until)
			return err == EWOULDBLOCK ? -EBUSY : -err;
		usleep(10000);
	}
}

/**
 * state_take - be the manager of a domain
 *
 * Return: 0 or a negative errno, and why; EBUSY: there is one.
 */
int state_take(struct state *s, const struct domain *d, char why[256])
{
	*s = (struct state){ .fd = -1, .domain = d, .engine = "none", .result = "starting" };
	snprintf(s->path, sizeof(s->path), DIR "/%u.manager", d->id);
	if (mkdir(DIR, 0755) && errno != EEXIST) {
		snprintf(why, 256, "%s: %s", DIR, strerror(errno));
		return -errno;
	}
	s->fd = lock(s->path);
	if (s->fd == -EBUSY)
		snprintf(why, 256, "another vfabmgr manages it: see 'vfabmgr --status %u'", d->id);
	else if (s->fd < 0)
		snprintf(why, 256, "%s: %s", s->path, strerror(-s->fd));
	return s->fd < 0 ? s->fd : 0;
}

/* A sign of life. A reader sees one write, whole. */
void state_beat(struct state *s)
{
	char text[SIZE];
	int len;

	if (s->fd < 0)
		return;
	len = snprintf(text, sizeof(text),
		       "beat=%llu pid=%d domain=%u name=%s engine=%s result=%s pairs=%u lost=%u\n",
		       (unsigned long long)now_ms(), getpid(), s->domain->id, s->domain->name,
		       s->engine, s->result, s->pairs.joined, s->pairs.lost);
	memset(text + len, '\n', sizeof(text) - len);
	if (pwrite(s->fd, text, sizeof(text), 0) < 0)
		return;		/* the disk is full: it looks stuck, and is not well */
}

void state_drop(struct state *s)
{
	if (s->fd < 0)
		return;
	unlink(s->path);
	close(s->fd);
	s->fd = -1;
}

/* Print how it is. Return: STATE_* */
int state_show(u32 domain)
{
	char path[64], text[SIZE + 1] = "", engine[16] = "none", result[16] = "unknown";
	unsigned long long beat = 0;
	unsigned int pairs, lost;
	int fd, pid = 0;
	bool held;

	snprintf(path, sizeof(path), DIR "/%u.manager", domain);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		printf("dom%u: none: no manager, or it ended by itself\n", domain);
		return STATE_NONE;
	}
	held = flock(fd, LOCK_SH | LOCK_NB);
	if (pread(fd, text, SIZE, 0) <= 0 ||
	    sscanf(text,
		   "beat=%llu pid=%d domain=%*u name=%*s engine=%15s result=%15s pairs=%u lost=%u",
		   &beat, &pid, engine, result, &pairs, &lost) != 6)
		beat = held ? now_ms() : 0;	/* it has only just begun */
	close(fd);
	beat = now_ms() - beat;
	if (held && beat <= STALE_MS) {
		printf("dom%u: running: pid %d engine %s last %s, sign of life %llu ms ago\n",
		       domain, pid, engine, result, beat);
		return STATE_RUNNING;
	}
	if (held)
		printf("dom%u: stale: pid %d is stuck, without a sign of life for %llu ms\n",
		       domain, pid, beat);
	else
		printf("dom%u: stale: pid %d was killed: start vfabmgr again\n", domain, pid);
	return STATE_STALE;
}
