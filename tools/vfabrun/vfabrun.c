// SPDX-License-Identifier: GPL-2.0
/*
 * vfabrun: start a program on the ranks of a domain. By example:
 *
 *	vfabrun -n 8 ./prog args		ranks 0-7
 *	vfabrun --ranks 0,4-7 ./prog		these
 *	vfabrun -n 72 -l --domain rack ./prog	output labelled by rank
 *	vfabrun --domain rack/part1 ./prog	the members of this partition
 *	vfabrun --memfd -n 8 ./prog		without the module, on a memfd
 *
 * The first process that fails ends the others, and its status is vfabrun's.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../job.h"
#include "../output.h"
#include "vfab.h"
#include "vfab_nl.h"

#define EXIT_USAGE	2
#define EXIT_TIMEOUT	3
#define LINE		4096

static const char usage[] =
"Usage: vfabrun [OPTION]... PROGRAM [ARGUMENT]...\n"
"Start PROGRAM once for each of several ranks of a vfabric domain.\n"
"\n"
"  -n, --ntasks=N        number of processes: the first N members of the partition\n"
"      --ranks=LIST      these ranks of the domain, such as 0,4-7\n"
"      --domain=DOMAIN   a domain's name, number or device file, or a partition of\n"
"                        it, such as rack/part1 (default: VFAB_DOMAIN, else the\n"
"                        only one there is)\n"
"      --memfd           on shared memory of this machine instead: no module, no root,\n"
"                        no switch, no isolation; needs -n\n"
"      --timeout=S       end all after S seconds\n"
"      --grace=S         from SIGTERM to SIGKILL (default 5)\n"
"      --keep-going      let the others go on when one fails\n"
"  -l, --label           put the rank before each line of output\n"
"  -q, --quiet           do not tell which process failed\n"
"  -h, --help            show this and exit\n"
"  -V, --version         show the version and exit\n"
"\n"
"The processes find VFAB_DOMAIN, VFAB_RANK, VFAB_WORLD_SIZE, VFAB_RANKS, VFAB_NODE\n"
"and VFAB_LOCAL_RANK in their environment, and RANK, WORLD_SIZE, LOCAL_RANK and\n"
"LOCAL_WORLD_SIZE for programs that look for those. Without -n and --ranks, all\n"
"members of the partition are started, by default those of partition 0.\n"
"\n"
"Exit status: 0 if all processes succeed; else that of the first that failed\n"
"(128 + n if signal n ended it); 2 wrong usage or setup, or labelled output\n"
"could not be written; 3 timed out.\n";

/* A pipe from a process's output, and the part of a line that has come. */
struct out {
	int fd;
	int to;
	size_t len;
	char line[LINE];
};

struct proc {
	uint32_t rank;
	pid_t pid;		/* 0: reaped */
	struct out out[2];
};

static struct {
	struct proc *proc;
	uint32_t n, alive;
	uint32_t share;		/* ranks of a node */
	const char *domain;
	bool memfd;
	double timeout, grace;
	bool keep_going, label, quiet;
	int width;
	int status;
	bool ending;
	pid_t pid;
	struct rlimit files;
	uint32_t member[VFAB_MAX_WORLD], rank[VFAB_MAX_WORLD];
} job = { .grace = 5 };

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Under the name that it was started by: vfabperf starts its ranks by vfabrun. */
static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static int fail(const char *what, const char *why)
{
	say("%s: %s", what, why);
	return EXIT_USAGE;
}

static int misused(const char *what, const char *why)
{
	say("%s: %s", what, why);
	fputs("see 'vfabrun --help'\n", stderr);
	return EXIT_USAGE;
}

static void kill_all(int sig)
{
	uint32_t i;

	for (i = 0; i < job.n; i++)
		if (job.proc[i].pid)
			kill(job.proc[i].pid, sig);
}

static void child(uint32_t i, char **argv, int report)
{
	struct proc *p = &job.proc[i];
	sigset_t none;
	int err;

	/* Orphans would hold their ranks for ever. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != job.pid)
		_exit(1);
	/* The first may read the standard input, the others' is empty. */
	if (i) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		dup2(null, 0);
	}
	job_env(job.rank, job.n, i, job.share, job.domain);
	if (job.label) {
		dup2(p->out[0].to, 1);
		dup2(p->out[1].to, 2);
		setrlimit(RLIMIT_NOFILE, &job.files);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		err = ENOEXEC;
	_exit(127);
}

static int make_pipes(struct proc *p)
{
	int fds[2], k;

	for (k = 0; k < 2; k++) {
		if (pipe2(fds, O_CLOEXEC))
			return -errno;
		p->out[k].fd = fds[0];
		p->out[k].to = fds[1];
	}
	return 0;
}

static int start(char **argv)
{
	int report[2], err = 0, ret;
	uint32_t i;

	if (pipe2(report, O_CLOEXEC))
		return fail("pipe", strerror(errno));
	for (i = 0; i < job.n; i++) {
		struct proc *p = &job.proc[i];

		p->out[0].fd = -1;
		p->out[1].fd = -1;
		ret = job.label ? make_pipes(p) : 0;
		if (!ret)
			p->pid = fork();
		if (ret || p->pid < 0) {
			p->pid = 0;
			ret = fail("cannot start a process", strerror(errno));
			kill_all(SIGKILL);
			return ret;
		}
		if (!p->pid)
			child(i, argv, report[1]);
		job.alive++;
		if (job.label) {
			close(p->out[0].to);
			close(p->out[1].to);
		}
	}
	close(report[1]);
	/* The pipe closes with the last exec that succeeds. */
	if (read(report[0], &err, sizeof(err)) == sizeof(err)) {
		kill_all(SIGKILL);
		close(report[0]);
		return fail(argv[0], strerror(err));
	}
	close(report[0]);
	return 0;
}

/* In one piece, also where the stream has no buffer. */
static void put_line(const struct proc *p, int k, const char *s, size_t len)
{
	char text[LINE + 16];
	size_t n = sprintf(text, "%*u: ", job.width, p->rank);

	memcpy(text + n, s, len);
	text[n + len] = '\n';
	fwrite(text, 1, n + len + 1, k ? stderr : stdout);
}

/* A whole line at a time; one that is too long, or has no end, in pieces. */
static void take_output(struct proc *p, int k)
{
	struct out *o = &p->out[k];
	char *s = o->line, *nl;
	ssize_t n;

	n = read(o->fd, o->line + o->len, LINE - o->len);
	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0) {
		if (o->len)
			put_line(p, k, o->line, o->len);
		close(o->fd);
		o->fd = -1;
		return;
	}
	o->len += n;
	while ((nl = memchr(s, '\n', o->line + o->len - s))) {
		put_line(p, k, s, nl - s);
		s = nl + 1;
	}
	o->len -= s - o->line;
	memmove(o->line, s, o->len);
	if (o->len == LINE) {
		put_line(p, k, o->line, LINE);
		o->len = 0;
	}
	fflush(k ? stderr : stdout);
}

static void end_all(int status, const char *why, int sig)
{
	if (job.ending)
		return;
	job.ending = true;
	if (!job.status)
		job.status = status;
	if (why && !job.quiet)
		say("%s: ending all", why);
	kill_all(sig);
	kill_all(SIGCONT);
}

static void reap(void)
{
	char why[80];
	uint32_t i;
	int st, code;
	pid_t pid;

	while ((pid = waitpid(-1, &st, WNOHANG)) > 0) {
		for (i = 0; i < job.n && job.proc[i].pid != pid; i++)
			;
		if (i == job.n)
			continue;
		job.proc[i].pid = 0;
		job.alive--;
		code = WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
		if (!code || job.ending)
			continue;
		snprintf(why, sizeof(why), WIFSIGNALED(st) ?
			 "rank %u was killed by signal %d (%s)" :
			 "rank %u exited with status %d",
			 job.proc[i].rank, WIFSIGNALED(st) ? WTERMSIG(st) : code,
			 WIFSIGNALED(st) ? strsignal(WTERMSIG(st)) : "");
		if (!job.keep_going) {
			end_all(code, why, SIGTERM);
			continue;
		}
		if (!job.quiet)
			say("%s", why);
		if (!job.status)
			job.status = code;
	}
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
	kill_all(si.ssi_signo);
}

static bool output_left(void)
{
	uint32_t i;

	for (i = 0; i < job.n; i++)
		if (job.proc[i].out[0].fd >= 0 || job.proc[i].out[1].fd >= 0)
			return true;
	return false;
}

static int supervise(int sigfd)
{
	double deadline = job.timeout ? now() + job.timeout : 0;
	double kill_at = 0, drain_until = 0;
	struct pollfd *pfd = calloc(1 + 2 * job.n, sizeof(*pfd));
	uint32_t i;

	if (!pfd)
		return fail("poll", strerror(ENOMEM));
	while (job.alive || output_left()) {
		double wake = kill_at ? kill_at : deadline;
		int ms = -1;

		/* What a grandchild still holds open is not waited for. */
		if (!job.alive) {
			if (!drain_until)
				drain_until = now() + 1;
			wake = drain_until;
			if (now() >= drain_until)
				break;
		}
		if (wake)
			ms = wake > now() ? (wake - now()) * 1000 + 1 : 0;
		pfd[0] = (struct pollfd) { .fd = sigfd, .events = POLLIN };
		for (i = 0; i < 2 * job.n; i++)
			pfd[1 + i] = (struct pollfd) {
				.fd = job.proc[i / 2].out[i % 2].fd,
				.events = POLLIN,
			};
		if (poll(pfd, 1 + 2 * job.n, ms) < 0 && errno != EINTR)
			return fail("poll", strerror(errno));
		if (pfd[0].revents)
			signalled(sigfd);
		for (i = 0; i < 2 * job.n; i++)
			if (pfd[1 + i].fd >= 0 && pfd[1 + i].revents)
				take_output(&job.proc[i / 2], i % 2);
		reap();
		if (deadline && now() >= deadline && !job.ending)
			end_all(EXIT_TIMEOUT, "the time is up", SIGTERM);
		if (job.ending && !kill_at)
			kill_at = now() + job.grace;
		if (kill_at && now() >= kill_at) {
			kill_all(SIGKILL);
			kill_at = now() + job.grace;
		}
	}
	free(pfd);
	return job.status;
}

/* The exit status: @ret, if what was printed got out. */
static int finish(int ret)
{
	const char *why = output_lost(stdout);

	if (why)
		fail("cannot write the output", why);
	return ret || (!why && !output_lost(stderr)) ? ret : EXIT_USAGE;
}

static bool number(const char *text, double max, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && !*end && *value > 0 && *value <= max;
}

static int add_members(const struct vfab_nl_msg *msg, void *count)
{
	const struct nlattr *bitmap = vfab_nl_attr(msg, VFAB_A_MEMBERS);
	const uint8_t *bits = bitmap ? mnl_attr_get_payload(bitmap) : NULL;
	uint32_t n = bitmap ? 8 * mnl_attr_get_payload_len(bitmap) : 0, i;

	for (i = 0; i < n && i < VFAB_MAX_WORLD; i++)
		if (bits[i / 8] >> i % 8 & 1)
			job.member[(*(uint32_t *)count)++] = i;
	return 0;
}

static uint32_t all_ranks(const struct vfab_info *info)
{
	uint32_t n;

	for (n = 0; n < info->world; n++)
		job.member[n] = n;
	return n;
}

/*
 * The members of the partition that the device file admits to. Where the
 * control plane cannot be asked (a container, another network namespace), any
 * rank may be one: the kernel refuses those that are not.
 */
static uint32_t find_members(const struct vfab_info *info)
{
	struct nlmsghdr *req;
	struct vfab_nl *nl;
	uint32_t n = 0;
	int ret;

	ret = vfab_nl_open(&nl);
	if (!ret) {
		req = vfab_nl_begin(nl, VFAB_CMD_PARTITION_GET);
		mnl_attr_put_u32(req, VFAB_A_DOMAIN, info->domain);
		mnl_attr_put_u32(req, VFAB_A_PARTITION, info->partition);
		ret = vfab_nl_do(nl, add_members, &n);
	}
	if (ret) {
		if (info->partition)
			say("cannot ask who is in partition %u of dom%u (%s): give --ranks",
			    info->partition, info->domain, vfab_nl_error(nl));
		n = all_ranks(info);
	}
	vfab_nl_close(nl);
	return n;
}

/* --ranks, into @ranks */
static int read_list(const char *list, uint32_t *ranks, uint32_t *count)
{
	static const char variable[] = "VFAB_RANKS";
	const char *why;
	uint32_t rank;

	setenv("VFAB_RANK", "0", 1);
	setenv(variable, list, 1);
	if (!vfab_env_job(&rank, ranks, count))
		return 0;
	why = vfab_strerror(EINVAL);
	if (!strncmp(why, variable, strlen(variable)))
		why += strlen(variable);
	say("--ranks%s", why);
	return EXIT_USAGE;
}

static int take_members(const struct vfab_info *info, uint32_t n, uint32_t *ranks,
			uint32_t *count)
{
	uint32_t have = job.memfd ? all_ranks(info) : find_members(info);

	if (!have) {
		say("partition %u of dom%u has no members: see 'vfabctl partition set --help'",
		    info->partition, info->domain);
		return EXIT_USAGE;
	}
	if (n > have && have == info->world) {
		say("rank %u is not one of the domain's %u: ranks are 0 to %u",
		    have, have, have - 1);
		return EXIT_USAGE;
	}
	if (n > have) {
		say("-n %u: partition %u of dom%u has %u member%s: see 'vfabctl partition show'",
		    n, info->partition, info->domain, have, have == 1 ? "" : "s");
		return EXIT_USAGE;
	}
	*count = n ? n : have;
	memcpy(ranks, job.member, *count * sizeof(*ranks));
	return 0;
}

static int choose_ranks(uint32_t n, const char *list, const struct vfab_info *info)
{
	uint32_t ranks[VFAB_MAX_WORLD], i, count;
	char text[12];
	int ret;

	unsetenv("VFAB_RANKS");
	unsetenv("VFAB_WORLD_SIZE");
	ret = list ? read_list(list, ranks, &count) : take_members(info, n, ranks, &count);
	if (ret)
		return ret;
	if (n && n != count)
		return fail("-n", "--ranks names another number of ranks");
	for (i = 0; i < count; i++)
		if (ranks[i] >= info->world) {
			say("rank %u is not one of the domain's %u: ranks are 0 to %u",
			    ranks[i], info->world, info->world - 1);
			return EXIT_USAGE;
		}
	job.proc = calloc(count, sizeof(*job.proc));
	if (!job.proc)
		return fail("ranks", strerror(ENOMEM));
	job.n = count;
	for (i = 0; i < count; i++)
		job.proc[i].rank = ranks[i];
	memcpy(job.rank, ranks, count * sizeof(*ranks));
	job.width = snprintf(text, sizeof(text), "%u", info->world - 1);
	return 0;
}

/*
 * The ranks open it by this process, which outlives them, so that it does not
 * matter what files a shell or another program between hands on.
 */
static int make_memfd(uint32_t n)
{
	static char address[48];
	int fd;

	if (!n)
		return misused("--memfd", "say how many processes, by -n");
	fd = vfab_memfd_create(n);
	if (fd < 0)
		return fail("--memfd", vfab_strerror(fd));
	snprintf(address, sizeof(address), "memfd:/proc/%d/fd/%d", job.pid, fd);
	job.domain = address;
	return 0;
}

/* A label needs two pipes per process. */
static void raise_limit(void)
{
	struct rlimit l;

	getrlimit(RLIMIT_NOFILE, &job.files);
	l = job.files;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

int main(int argc, char **argv)
{
	enum { RANKS = 256, DOMAIN, MEMFD, TIMEOUT, GRACE, KEEP };
	static const struct option options[] = {
		{ "ntasks", 1, NULL, 'n' }, { "ranks", 1, NULL, RANKS },
		{ "domain", 1, NULL, DOMAIN }, { "memfd", 0, NULL, MEMFD },
		{ "timeout", 1, NULL, TIMEOUT },
		{ "grace", 1, NULL, GRACE }, { "keep-going", 0, NULL, KEEP },
		{ "label", 0, NULL, 'l' }, { "quiet", 0, NULL, 'q' },
		{ "help", 0, NULL, 'h' },
		{ "version", 0, NULL, 'V' }, { NULL, 0, NULL, 0 }
	};
	const char *list = NULL;
	struct vfab_info info;
	double v, n = 0;
	sigset_t set;
	int c, ret;

	output_begin();
	job.pid = getpid();
	while ((c = getopt_long(argc, argv, "+n:lqhV", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			if (!number(optarg, VFAB_MAX_WORLD, &n) || n != (uint32_t)n)
				return misused("-n", "not a number of processes, 1 to 1024");
			break;
		case RANKS:
			list = optarg;
			break;
		case DOMAIN:
			job.domain = optarg;
			job.memfd = !strcmp(optarg, "memfd");
			break;
		case MEMFD:
			job.memfd = true;
			break;
		case TIMEOUT:
		case GRACE:
			if (!number(optarg, 1e9, &v))
				return misused(c == GRACE ? "--grace" : "--timeout",
					       "not a number of seconds above 0, up to 1000000000");
			if (c == GRACE)
				job.grace = v;
			else
				job.timeout = v;
			break;
		case KEEP:
			job.keep_going = true;
			break;
		case 'l':
			job.label = true;
			break;
		case 'q':
			job.quiet = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return finish(0);
		case 'V':
			puts("vfabrun " VFAB_VERSION);
			return finish(0);
		default:
			fputs("see 'vfabrun --help'\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (optind == argc)
		return misused("usage", "name a program to start");
	if (job.memfd && list)
		return misused("--ranks", "with --memfd, ranks are 0 to N - 1");
	ret = job.memfd ? make_memfd(n) : 0;
	if (ret)
		return ret;
	ret = vfab_find(job.domain, NULL, 0, &info);
	if (ret)
		return fail("domain", vfab_strerror(ret));
	job.share = info.world / (info.nodes ? info.nodes : 1);
	ret = choose_ranks(n, list, &info);
	if (ret)
		return ret;
	if (job.label)
		raise_limit();

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ret = start(argv + optind);
	if (ret)
		return ret;
	return finish(supervise(signalfd(-1, &set, SFD_CLOEXEC)));
}
