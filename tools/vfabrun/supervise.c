// SPDX-License-Identifier: GPL-2.0
/* A job that runs: output, signals, ends, time. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vfabrun.h"

void watch(struct source *s)
{
	job.source[job.sources++] = s;
}

/* In one piece, also where the stream has no buffer. */
void put_line(const struct proc *p, int k, const char *s, size_t len)
{
	FILE *to = k ? stderr : stdout;
	char text[LINE + 16];
	size_t n = job.label ? sprintf(text, "%*u: ", job.width, p->rank) : 0;

	memcpy(text + n, s, len);
	text[n + len] = '\n';
	fwrite(text, 1, n + len + 1, to);
	fflush(to);
}

void end_all(int status, const char *why, int sig)
{
	if (job.ending)
		return;
	job.ending = true;
	if (!job.status)
		job.status = status;
	if (why && !job.quiet)
		say("%s: ending all", why);
	job.role->signal(sig);
	job.role->signal(SIGCONT);
}

void job_ended(struct proc *p, int status)
{
	int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	char why[80];

	p->alive = false;
	job.alive--;
	if (!code || job.ending)
		return;
	snprintf(why, sizeof(why), WIFSIGNALED(status) ?
		 "rank %u was killed by signal %d (%s)" :
		 "rank %u exited with status %d",
		 p->rank, WIFSIGNALED(status) ? WTERMSIG(status) : code,
		 WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "");
	if (!job.keep_going) {
		end_all(code, why, SIGTERM);
		return;
	}
	if (!job.quiet)
		say("%s", why);
	if (!job.status)
		job.status = code;
}

static void reap(void)
{
	pid_t pid;
	int st;

	while ((pid = waitpid(-1, &st, WNOHANG)) > 0)
		job.role->reaped(pid, st);
}

int block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static void signalled(int fd)
{
	struct signalfd_siginfo si;

	if (read(fd, &si, sizeof(si)) != sizeof(si) || si.ssi_signo == SIGCHLD)
		return;
	switch (si.ssi_signo) {
	case SIGINT:
	case SIGTERM:
	case SIGHUP:
	case SIGQUIT:
		if (!job.ending) {
			end_all(128 + si.ssi_signo, NULL, si.ssi_signo);
			return;
		}
	}
	job.role->signal(si.ssi_signo);
}

static bool output_left(void)
{
	uint32_t i;

	for (i = 0; i < job.sources; i++)
		if (job.source[i]->fd >= 0 && !job.source[i]->control)
			return true;
	return false;
}

int supervise(int sigfd)
{
	double deadline = job.timeout ? now() + job.timeout : 0;
	double kill_at = 0, drain_until = 0, tick_at = job.role->tick ? now() : 0;
	struct pollfd *pfd = calloc(1 + job.sources, sizeof(*pfd));
	uint32_t i;

	if (!pfd)
		return fail("poll", strerror(ENOMEM));
	while ((job.alive || output_left()) && !(job.until && job.until())) {
		double wake = kill_at ? kill_at : deadline;
		int ms = -1;

		/* What a grandchild still holds open is not waited for. */
		if (!job.alive) {
			if (!drain_until)
				drain_until = now() + job.drain;
			wake = drain_until;
			if (now() >= drain_until)
				break;
		}
		if (tick_at && (!wake || tick_at < wake))
			wake = tick_at;
		if (wake)
			ms = wake > now() ? (wake - now()) * 1000 + 1 : 0;
		pfd[0] = (struct pollfd){ .fd = sigfd, .events = POLLIN };
		for (i = 0; i < job.sources; i++)
			pfd[1 + i] = (struct pollfd){ .fd = job.source[i]->fd, .events = POLLIN };
		if (poll(pfd, 1 + job.sources, ms) < 0 && errno != EINTR)
			return fail("poll", strerror(errno));
		if (pfd[0].revents)
			signalled(sigfd);
		for (i = 0; i < job.sources; i++)
			if (job.source[i]->fd >= 0 && pfd[1 + i].revents)
				job.source[i]->ready(job.source[i]);
		reap();
		if (tick_at && now() >= tick_at) {
			job.role->tick();
			tick_at = now() + 1;
		}
		if (deadline && now() >= deadline && !job.ending)
			end_all(EXIT_TIMEOUT, "the time is up", SIGTERM);
		if (job.ending && !kill_at)
			kill_at = now() + job.grace;
		if (kill_at && now() >= kill_at) {
			job.role->signal(SIGKILL);
			kill_at = now() + job.grace;
		}
	}
	free(pfd);
	return job.status;
}
