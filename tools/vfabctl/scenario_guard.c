// SPDX-License-Identifier: GPL-2.0
/*
 * If a run is killed before it could take anything down, another process does it:
 * it sees a pipe close. At a regular end it is killed with all others.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vfabctl.h"
#include "scenario.h"

#define ENVIRON	(256 << 10)	/* bytes of an environment that are looked at */

/* Does the environment of @pid have the variable @mark? */
static bool is_marked(pid_t pid, const char *mark)
{
	static char text[ENVIRON];
	char path[64], *p;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[len < 0 ? 0 : len] = 0;
	for (p = text; p < text + len; p += strlen(p) + 1)
		if (!strcmp(p, mark))
			return true;
	return false;
}

/* Whatever the run's programs have started has inherited its mark. */
static bool kill_marked(const char *mark)
{
	DIR *d = opendir("/proc");
	struct dirent *entry;
	bool any = false;
	pid_t pid;

	while (d && (entry = readdir(d))) {
		pid = isdigit((unsigned char)*entry->d_name) ? atoi(entry->d_name) : 0;
		if (pid <= 0 || pid == getpid() || !is_marked(pid, mark))
			continue;
		any |= !kill(pid, SIGKILL);
	}
	if (d)
		closedir(d);
	return any;
}

void domain_name(char *name, pid_t run, const struct domain *d)
{
	snprintf(name, VFAB_NAME_LEN + 1, "scn%d-%s", run, d->name.s);
}

static void clean_up(const struct scenario *s, pid_t run) __attribute__((noreturn));

static void clean_up(const struct scenario *s, pid_t run)
{
	char mark[64], name[VFAB_NAME_LEN + 1];
	uint32_t i, tries;

	snprintf(mark, sizeof(mark), "VFAB_SCENARIO=scn%d", run);
	for (tries = 0; tries < 100 && kill_marked(mark); tries++)
		usleep(20000);
	unsetenv("VFAB_SCENARIO");
	for (i = 0; i < s->ndomains; i++) {
		domain_name(name, run, &s->domains[i]);
		if (fork()) {
			wait(NULL);
			continue;
		}
		execl("/proc/self/exe", "vfabctl", "domain", "delete", name, "--force",
		      (char *)NULL);
		_exit(1);
	}
	_exit(0);
}

/* From now on the domains of this process's run will go. 0 or a negative errno. */
int guard_start(const struct scenario *s)
{
	pid_t run = getpid();
	char mark[32], c;
	int fds[2], null;

	snprintf(mark, sizeof(mark), "scn%d", run);
	if (pipe(fds))
		return -errno;
	fflush(NULL);
	switch (fork()) {
	case -1:
		return -errno;
	case 0:
		break;
	default:
		close(fds[0]);
		fcntl(fds[1], F_SETFD, FD_CLOEXEC);
		return setenv("VFAB_SCENARIO", mark, 1) ? -errno : 0;
	}
	/* Who waits for the run's output to end does not wait for this one */
	setsid();
	null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	close(fds[1]);
	if (read(fds[0], &c, 1) < 0)
		_exit(1);
	clean_up(s, run);
}
