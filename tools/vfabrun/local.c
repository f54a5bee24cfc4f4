// SPDX-License-Identifier: GPL-2.0
/* Processes that are started here. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include "../job.h"
#include "vfabrun.h"

static struct rlimit files;
/* Output comes through pipes */
static bool piped;

void local_signal(int sig)
{
	uint32_t i;

	for (i = 0; i < job.n; i++)
		if (job.proc[i].alive)
			kill(job.proc[i].pid, sig);
}

void local_reaped(pid_t pid, int status)
{
	uint32_t i;

	for (i = 0; i < job.n; i++)
		if (job.proc[i].alive && job.proc[i].pid == pid) {
			job.role->ended(&job.proc[i], status);
			return;
		}
}

const struct role local_role = {
	.signal = local_signal,
	.line = put_line,
	.ended = job_ended,
	.reaped = local_reaped,
};

/* A process needs two pipes. */
static void raise_limit(void)
{
	struct rlimit l;

	getrlimit(RLIMIT_NOFILE, &files);
	l = files;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

/* Or an agent's: all output goes to who started it, whose is the standard input */
static bool local(void)
{
	return job.role == &local_role;
}

/* Of the job, these ranks are to be started here. */
int local_prepare(const uint32_t *ranks, uint32_t n)
{
	uint32_t i;

	job.proc = calloc(n, sizeof(*job.proc));
	if (!job.proc)
		return fail("ranks", strerror(ENOMEM));
	job.n = n;
	for (i = 0; i < n; i++)
		job.proc[i].rank = ranks[i];
	return 0;
}

static uint32_t place_in_job(uint32_t rank)
{
	uint32_t i = 0;

	while (job.rank[i] != rank)
		i++;
	return i;
}

static void child(struct proc *p, char **argv, int report)
{
	uint32_t index = place_in_job(p->rank);
	sigset_t none;
	int err;

	/* Orphans would hold their ranks for ever. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != job.pid)
		_exit(1);
	/* The first may read the standard input, the others' is empty. */
	if (index || !local()) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		dup2(null, 0);
	}
	job_env(job.rank, job.size, index, job.node, job.domain);
	job_put("LOCAL_RANK", p - job.proc);
	job_put("LOCAL_WORLD_SIZE", job.n);
	if (piped) {
		dup2(p->out[0].to, 1);
		dup2(p->out[1].to, 2);
		setrlimit(RLIMIT_NOFILE, &files);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		err = ENOEXEC;
	_exit(127);
}

/* A whole line at a time; one that is too long, or has no end, in pieces. */
static void take_output(struct source *src)
{
	struct out *o = (struct out *)src;
	int k = o == &o->proc->out[1];
	char *s = o->line, *nl;
	ssize_t n;

	n = read(src->fd, o->line + o->len, LINE - o->len);
	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0) {
		if (o->len)
			job.role->line(o->proc, k, o->line, o->len);
		close(src->fd);
		src->fd = -1;
		return;
	}
	o->len += n;
	while ((nl = memchr(s, '\n', o->line + o->len - s))) {
		job.role->line(o->proc, k, s, nl - s);
		s = nl + 1;
	}
	o->len -= s - o->line;
	memmove(o->line, s, o->len);
	if (o->len == LINE) {
		job.role->line(o->proc, k, o->line, LINE);
		o->len = 0;
	}
}

static int make_pipes(struct proc *p)
{
	int fds[2], k;

	for (k = 0; k < 2; k++) {
		if (pipe2(fds, O_CLOEXEC))
			return -errno;
		p->out[k].src = (struct source){ fds[0], take_output, false };
		p->out[k].to = fds[1];
		p->out[k].proc = p;
		watch(&p->out[k].src);
	}
	return 0;
}

int local_start(char **argv)
{
	int report[2], err = 0, ret;
	uint32_t i;

	piped = job.label || !local();
	if (piped)
		raise_limit();
	if (pipe2(report, O_CLOEXEC))
		return fail("pipe", strerror(errno));
	for (i = 0; i < job.n; i++) {
		struct proc *p = &job.proc[i];

		ret = piped ? make_pipes(p) : 0;
		if (!ret)
			p->pid = fork();
		if (ret || p->pid < 0) {
			ret = fail("cannot start a process", strerror(errno));
			local_signal(SIGKILL);
			return ret;
		}
		if (!p->pid)
			child(p, argv, report[1]);
		p->alive = true;
		job.alive++;
		if (piped) {
			close(p->out[0].to);
			close(p->out[1].to);
		}
	}
	close(report[1]);
	/* The pipe closes with the last exec that succeeds. */
	if (read(report[0], &err, sizeof(err)) == sizeof(err)) {
		local_signal(SIGKILL);
		close(report[0]);
		return fail(argv[0], strerror(err));
	}
	close(report[0]);
	return 0;
}

int local_run(char **argv)
{
	int sigfd = block_signals();
	int ret = local_prepare(job.rank, job.size);

	if (!ret)
		ret = local_start(argv);
	return ret ? ret : supervise(sigfd);
}
