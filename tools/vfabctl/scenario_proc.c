// SPDX-License-Identifier: GPL-2.0
/*
 * Processes of a scenario: started as vfabrun starts them, each with one pipe
 * for all that it prints. Signals come by a file, so that everything is waited
 * for in one place, and nothing is left when the run ends.
 */
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../job.h"
#include "vfabctl.h"
#include "scenario.h"

#define MAX_LINES	20000	/* that are kept of one process */
#define MAX_LINE	(1 << 20)	/* bytes; JSON is one line */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

double crew_now(const struct crew *w)
{
	return now() - w->started;
}

bool is_running(const struct proc *p)
{
	return p->ended == 0;
}

/* A world of ranks wants a pipe each. */
static void raise_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l))
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

int crew_init(struct crew *w)
{
	sigset_t set;

	memset(w, 0, sizeof(*w));
	w->started = now();
	raise_limit();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	w->sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* What the processes leave behind becomes a child of this one */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return w->sigfd < 0 ? -errno : 0;
}

static struct proc *add_proc(struct crew *w)
{
	struct proc **more, *p;

	if (w->n == w->size) {
		more = realloc(w->procs, (2 * w->size + 16) * sizeof(*more));
		if (!more)
			return NULL;
		w->procs = more;
		w->size = 2 * w->size + 16;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->fd = -1;
	p->rank = -1;
	w->procs[w->n++] = p;
	return p;
}

void proc_free(struct proc *p)
{
	uint32_t i;

	if (!p)
		return;
	for (i = 0; i < p->nlines; i++)
		free(p->lines[i].text);
	free(p->lines);
	free(p->part);
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

static void add_line(struct crew *w, struct proc *p, const char *text, size_t len)
{
	struct line *more;

	if (p->nlines == MAX_LINES)
		return;
	if (p->nlines == p->size) {
		more = realloc(p->lines, (2 * p->size + 16) * sizeof(*more));
		if (!more)
			return;
		p->lines = more;
		p->size = 2 * p->size + 16;
	}
	p->lines[p->nlines].at = crew_now(w);
	p->lines[p->nlines].text = strndup(text, len);
	if (p->lines[p->nlines].text)
		p->nlines++;
}

static void close_output(struct crew *w, struct proc *p)
{
	if (p->len)
		add_line(w, p, p->part, p->len);
	p->len = 0;
	close(p->fd);
	p->fd = -1;
}

static bool make_room(struct crew *w, struct proc *p)
{
	char *more;

	if (p->len == MAX_LINE) {
		add_line(w, p, p->part, p->len);
		p->len = 0;
	}
	if (p->len < p->room)
		return true;
	more = realloc(p->part, p->room ? 2 * p->room : 1024);
	if (!more)
		return false;
	p->part = more;
	p->room = p->room ? 2 * p->room : 1024;
	return true;
}

static void take_lines(struct crew *w, struct proc *p)
{
	char *s = p->part, *nl;

	while ((nl = memchr(s, '\n', p->part + p->len - s))) {
		add_line(w, p, s, nl - s);
		s = nl + 1;
	}
	p->len -= s - p->part;
	memmove(p->part, s, p->len);
}

/* All that is in the pipe; a line that is too long comes in pieces. */
static void take_output(struct crew *w, struct proc *p)
{
	ssize_t n;

	while (p->fd >= 0) {
		if (!make_room(w, p))
			return;
		n = read(p->fd, p->part + p->len, p->room - p->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			close_output(w, p);
			return;
		}
		p->len += n;
		take_lines(w, p);
	}
}

static void reap(struct crew *w)
{
	uint32_t i;
	pid_t pid;
	int st;

	while ((pid = waitpid(-1, &st, WNOHANG)) > 0) {
		for (i = 0; i < w->n; i++) {
			if (w->procs[i]->pid != pid || !is_running(w->procs[i]))
				continue;
			w->procs[i]->status = st;
			w->procs[i]->ended = crew_now(w);
			take_output(w, w->procs[i]);
		}
	}
}

static void take_signals(struct crew *w)
{
	struct signalfd_siginfo si;

	while (read(w->sigfd, &si, sizeof(si)) == sizeof(si))
		if (si.ssi_signo != SIGCHLD && !w->deaf)
			w->signal = si.ssi_signo;
}

/* Wait for anything, at most until @deadline. */
static int wait_once(struct crew *w, double deadline)
{
	struct pollfd *pfd = calloc(w->n + 1, sizeof(*pfd));
	double left = deadline - crew_now(w);
	uint32_t i;
	int ret;

	if (!pfd)
		return -ENOMEM;
	pfd[0] = (struct pollfd){ .fd = w->sigfd, .events = POLLIN };
	for (i = 0; i < w->n; i++)
		pfd[i + 1] = (struct pollfd){ .fd = w->procs[i]->fd, .events = POLLIN };
	ret = poll(pfd, w->n + 1, left > 0 ? left * 1000 + 1 : 0);
	for (i = 0; ret > 0 && i < w->n; i++)
		if (pfd[i + 1].revents)
			take_output(w, w->procs[i]);
	if (ret > 0 && pfd[0].revents)
		take_signals(w);
	reap(w);
	free(pfd);
	return ret < 0 && errno != EINTR ? -errno : 0;
}

int crew_wait(struct crew *w, bool (*done)(struct crew *w, void *data), void *data,
	      double deadline)
{
	int ret;

	for (;;) {
		if (w->signal)
			return -EINTR;
		if (done(w, data))
			return 0;
		if (crew_now(w) >= deadline)
			return -ETIMEDOUT;
		ret = wait_once(w, deadline);
		if (ret)
			return ret;
	}
}

static void become(const struct job *job)
{
	if (job->uid < 0)
		return;
	if (setgroups(0, NULL) || setgid(job->uid) || setuid(job->uid))
		_exit(127);
}

static void child(const struct job *job, uint32_t i, int out, int report) __attribute__((noreturn));

static void child(const struct job *job, uint32_t i, int out, int report)
{
	sigset_t none;
	char **env;
	int null, err;

	/* Signals of the terminal are the scenario's: it ends what it has started */
	setpgid(0, 0);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	if (job->n) {
		job_env(job->ranks, job->n, i, job->node, job->domain);
		job_put("LOCAL_RANK", i);
		job_put("LOCAL_WORLD_SIZE", job->n);
	} else if (job->domain) {
		setenv("VFAB_DOMAIN", job->domain, 1);
	}
	for (env = job->env; env && *env; env++)
		putenv(*env);
	become(job);
	/* After the change of the user, which would clear it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(job->path ? job->path : job->argv[0], job->argv);
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		err = ENOEXEC;
	_exit(127);
}

static int fork_one(struct crew *w, const struct job *job, uint32_t i, int report)
{
	struct proc *p = add_proc(w);
	int fds[2];

	if (!p)
		return -ENOMEM;
	p->program = job->program;
	p->rank = job->n ? (int)job->ranks[i] : -1;
	p->ended = -1;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	p->fd = fds[0];
	fcntl(p->fd, F_SETFL, O_NONBLOCK);
	p->pid = fork();
	if (!p->pid)
		child(job, i, fds[1], report);
	close(fds[1]);
	if (p->pid < 0)
		return -errno;
	p->ended = 0;
	return 0;
}

/* Start a process per rank, or one. @why receives what went wrong. */
int crew_start(struct crew *w, const struct job *job, const char **why)
{
	int report[2], ret = 0, err;
	uint32_t i;

	if (pipe2(report, O_CLOEXEC)) {
		*why = strerror(errno);
		return -errno;
	}
	for (i = 0; !ret && i < (job->n ? job->n : 1); i++)
		ret = fork_one(w, job, i, report[1]);
	close(report[1]);
	/* The pipe closes with the last exec that succeeds. */
	if (!ret && read(report[0], &err, sizeof(err)) == sizeof(err))
		ret = -err;
	close(report[0]);
	*why = strerror(-ret);
	return ret;
}

static bool has_ended(struct crew *w, void *proc)
{
	(void)w;
	return !is_running(proc);
}

/*
 * Run a command to its end. Returns it, to be freed, with status -1 where it
 * had to be killed; NULL where it could not be started.
 */
struct proc *crew_command(struct crew *w, const char *path, char **argv, double deadline)
{
	struct job job = { .argv = argv, .path = path, .uid = -1 };
	const char *why;
	struct proc *p;

	if (crew_start(w, &job, &why)) {
		proc_free(w->n ? w->procs[--w->n] : NULL);
		return NULL;
	}
	p = w->procs[w->n - 1];
	if (crew_wait(w, has_ended, p, deadline)) {
		kill(-p->pid, SIGKILL);
		waitpid(p->pid, &p->status, 0);
		p->ended = crew_now(w);
		p->status = -1;
	}
	w->n--;
	return p;
}

/* Kill what is a child of this process, adopted ones included; are there any? */
static bool kill_children(void)
{
	char path[64];
	bool any = false;
	FILE *f;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1) {
		kill(pid, SIGKILL);
		any = true;
	}
	if (f)
		fclose(f);
	return any;
}

/* Nothing that was started survives. */
void crew_end(struct crew *w)
{
	uint32_t i;

	for (i = 0; i < w->n; i++)
		if (w->procs[i]->pid > 0 && is_running(w->procs[i]))
			kill(-w->procs[i]->pid, SIGKILL);
	while (kill_children())
		if (waitpid(-1, NULL, 0) < 0 && errno != EINTR)
			break;
	for (i = 0; i < w->n; i++)
		proc_free(w->procs[i]);
	free(w->procs);
	w->procs = NULL;
	w->n = 0;
}
