// SPDX-License-Identifier: GPL-2.0
/*
 * Where the sockets are. The directory is locked as long as its daemon lives,
 * however that ends: what is in a directory that is not locked was left behind.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "vfabswitchd.h"

static const char *socket_name(unsigned int i, char text[16])
{
	if (i == LISTEN_JOIN)
		return "join";
	if (i == LISTEN_STATUS)
		return "status";
	snprintf(text, 16, "node%u", i);
	return text;
}

static void clear(int dir)
{
	char text[16];
	unsigned int i;

	for (i = 0; i < LISTENERS; i++)
		unlinkat(dir, socket_name(i, text), 0);
	unlinkat(dir, "pid", 0);
}

static int taken(const struct place *p, const char *name)
{
	char text[16] = "";
	int fd = openat(p->dir, "pid", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n > 0)
		text[strcspn(text, "\n")] = 0;
	say("backplane \"%s\" is served already, by process %s: end that one, or take another name",
	    name, *text ? text : "(unknown)");
	return -EBUSY;
}

/* Only who is allowed to join can open it: nobody else can hold its lock */
static int lock(struct place *p, const struct config *cfg, mode_t mode)
{
	struct stat st;

	do {
		if (mkdir(p->path, mode) && errno != EEXIST)
			break;
		p->dir = open(p->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (p->dir < 0)
			break;
		if (flock(p->dir, LOCK_EX | LOCK_NB))
			return taken(p, cfg->name);
		/* Another one may have removed it just before */
		if (fstat(p->dir, &st))
			break;
		if (st.st_nlink) {
			if (st.st_uid != geteuid()) {
				say("%s belongs to user %u: remove it, or take another --dir",
				    p->path, st.st_uid);
				return -EPERM;
			}
			return fchmod(p->dir, mode) ? -errno : 0;
		}
		close(p->dir);
	} while (1);
	say("%s: %s", p->path, strerror(errno));
	return -errno;
}

static int write_pid(int dir)
{
	int fd = openat(dir, "pid", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), ret = 0;

	if (fd < 0 || dprintf(fd, "%d\n", getpid()) < 0) {
		ret = -errno;
		say("cannot write the file of the process id: %s", strerror(errno));
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

static int listen_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd;

	strcpy(at.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 128)) {
		say("%s: %s", path, strerror(errno));
		return -errno;
	}
	return fd;
}

/* The lock goes with the process */
void place_leave(struct place *p)
{
	clear(p->dir);
	rmdir(p->path);
}

static int make_sockets(struct place *p, const struct config *cfg)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)], text[16];
	unsigned int i;

	for (i = 0; i < LISTENERS; i++) {
		if (i >= cfg->nodes && i < VFAB_BP_MAX_NODES)
			continue;
		backplane_path(cfg->dir, cfg->name, socket_name(i, text), path, sizeof(path));
		p->listener[i] = listen_at(path);
		if (p->listener[i] < 0)
			return p->listener[i];
	}
	return 0;
}

/**
 * place_take - lock the directory, and make the sockets
 *
 * Return: 0, or a negative errno, and it was said why.
 */
int place_take(struct place *p, const struct config *cfg)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	bool others = false;
	unsigned int i;
	int ret;

	for (i = 0; i < cfg->nuids; i++)
		others |= cfg->uid[i] && cfg->uid[i] != geteuid();
	for (i = 0; i < LISTENERS; i++)
		p->listener[i] = -1;
	if (backplane_path(cfg->dir, cfg->name, NULL, p->path, sizeof(p->path)) ||
	    backplane_path(cfg->dir, cfg->name, "status", path, sizeof(path))) {
		say("sockets below %s would have too long a name: take a shorter --dir", cfg->dir);
		return -ENAMETOOLONG;
	}
	if (mkdir(cfg->dir, 0755) && errno != EEXIST) {
		say("%s: %s: make it, or take another --dir", cfg->dir, strerror(errno));
		return -errno;
	}
	ret = lock(p, cfg, others ? 0711 : 0700);
	if (ret)
		return ret;
	clear(p->dir);
	umask(others ? 0111 : 0177);
	ret = make_sockets(p, cfg);
	umask(022);
	if (!ret)
		ret = write_pid(p->dir);
	if (ret)
		place_leave(p);
	return ret;
}
