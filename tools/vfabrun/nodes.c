// SPDX-License-Identifier: GPL-2.0
/*
 * A job over several nodes. On each, a command that the user may choose starts
 * vfabrun again, as an agent (agent.c says what is spoken), which knows by the
 * domain which ranks are its own. When all have said so, and each rank of the job
 * has one node, they are told to go.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vfabrun.h"

#define MAX_HOSTS	64
#define HEADER		8192	/* the longest: 1024 ranks */
#define BUFFER		(HEADER + LINE)

struct host {
	struct source src;	/* first */
	const char *name;
	const char *here;	/* its ranks, if the user says them */
	int to;			/* its standard input; -1: closed */
	pid_t pid;
	bool reaped, ready, lost;
	int status;
	double heard, reaped_at;
	uint32_t alive;
	uint32_t ranks[VFAB_MAX_WORLD], n;
	bool greeted;
	size_t len;
	char buf[BUFFER + 1];
};

static struct host *hosts[MAX_HOSTS];
static uint32_t nhosts;
/* All were ready, and have been told to go */
static bool going;

bool nodes_given(void)
{
	return nhosts;
}

static int add(const char *name, const char *here)
{
	struct host *h;

	if (!*name)
		return misused("--nodes", "a host has no name");
	/* ssh and its like would take it for an option */
	if (*name == '-')
		return misused(name, "no host is called so");
	if (nhosts == MAX_HOSTS)
		return misused("--nodes", "more than 64 hosts");
	h = calloc(1, sizeof(*h));
	if (!h)
		return fail("--nodes", strerror(ENOMEM));
	h->name = name;
	h->here = here;
	h->src.fd = -1;
	h->to = -1;
	hosts[nhosts++] = h;
	return 0;
}

/* "a,b", or "a=0-3,8": one host with its ranks */
int nodes_add(char *text)
{
	char *ranks = strchr(text, '='), *name;
	int ret = 0;

	if (ranks) {
		*ranks++ = 0;
		return add(text, ranks);
	}
	while (!ret && (name = strsep(&text, ",")))
		ret = add(name, NULL);
	return ret;
}

/* Commands are short, and an agent that does not read them is not waited for. */
static void tell(struct host *h, const char *line)
{
	if (h->to >= 0 && write(h->to, line, strlen(line)) < 0)
		h->heard = 0;
}

/* Nothing runs yet, and nothing will. */
static void give_up(void)
{
	job.alive = 0;
	job.drain = 0;
}

static void nodes_signal(int sig)
{
	char line[32];
	uint32_t i;

	if (!going)
		give_up();
	sprintf(line, "signal %d\n", sig);
	for (i = 0; i < nhosts; i++)
		tell(hosts[i], line);
}

static void hang_up(struct host *h)
{
	if (h->to >= 0)
		close(h->to);
	if (h->src.fd >= 0)
		close(h->src.fd);
	h->to = -1;
	h->src.fd = -1;
}

/* Its processes are gone, or may as well be: nobody hears of them any more. */
static void lose(struct host *h, int status, const char *why)
{
	uint32_t i, n = h->alive;

	hang_up(h);
	if (h->lost)
		return;
	h->lost = true;
	for (i = 0; i < job.n; i++)
		if (job.proc[i].host == h && job.proc[i].alive) {
			job.proc[i].alive = false;
			job.alive--;
		}
	h->alive = 0;
	if (job.ending || (going && !n))
		return;
	if (!going) {
		job.status = EXIT_USAGE;
		say("%s: %s", h->name, why);
		give_up();
		return;
	}
	if (!job.status)
		job.status = status;
	if (!job.quiet)
		say("%s: %s%s", h->name, why, job.keep_going ? "" : ": ending all");
	if (!job.keep_going)
		end_all(status, NULL, SIGTERM);
}

/* What the command ended with, where processes were left */
static void lose_ended(struct host *h)
{
	char why[80];

	if (WIFSIGNALED(h->status)) {
		snprintf(why, sizeof(why), "its command was killed by signal %d",
			 WTERMSIG(h->status));
		lose(h, 128 + WTERMSIG(h->status), why);
		return;
	}
	snprintf(why, sizeof(why), "its command ended with status %d",
		 WEXITSTATUS(h->status));
	lose(h, WEXITSTATUS(h->status) ? WEXITSTATUS(h->status) : EXIT_USAGE, why);
}

static void nodes_reaped(pid_t pid, int status)
{
	uint32_t i;

	for (i = 0; i < nhosts; i++)
		if (hosts[i]->pid == pid && !hosts[i]->reaped) {
			hosts[i]->reaped = true;
			hosts[i]->reaped_at = now();
			hosts[i]->status = status;
			if (hosts[i]->src.fd < 0)
				lose_ended(hosts[i]);
		}
}

static void nodes_tick(void)
{
	uint32_t i;

	for (i = 0; i < nhosts; i++) {
		struct host *h = hosts[i];

		if (h->lost)
			continue;
		tell(h, "beat\n");
		/* Something else may hold its output open */
		if (h->reaped && now() > h->reaped_at + 1) {
			lose_ended(h);
		} else if (!h->reaped && now() > h->heard + job.silence) {
			kill(-h->pid, SIGKILL);
			lose(h, 128 + SIGKILL, "nothing was heard of it for too long");
		}
	}
}

static const struct role nodes_role = {
	.signal = nodes_signal,
	.line = put_line,
	.ended = job_ended,
	.reaped = nodes_reaped,
	.tick = nodes_tick,
};

static struct proc *find(const struct host *h, uint32_t rank)
{
	uint32_t i;

	for (i = 0; i < job.n; i++)
		if (job.proc[i].rank == rank && job.proc[i].host == h)
			return &job.proc[i];
	return NULL;
}

static bool garbled(struct host *h, const char *line)
{
	char why[128];

	snprintf(why, sizeof(why), "said \"%.40s\", which this vfabrun does not understand", line);
	kill(-h->pid, SIGKILL);
	lose(h, EXIT_USAGE, why);
	return false;
}

/* RANKS of a line "job WORLD RANKS" or "here RANKS" */
static bool take_list(const char *list, uint32_t *ranks, uint32_t *n)
{
	*n = 0;
	return !*list || !read_list("a node", list, ranks, n);
}

static bool take_job(struct host *h, const char *line)
{
	uint32_t ranks[VFAB_MAX_WORLD], n, world;
	char text[12];
	int skip = 0;

	if (sscanf(line, "job %u %n", &world, &skip) != 1 || !skip ||
	    world > VFAB_MAX_WORLD || !take_list(line + skip, ranks, &n) || !n)
		return garbled(h, line);
	if (!job.size) {
		memcpy(job.rank, ranks, n * sizeof(*ranks));
		job.size = n;
		job.width = snprintf(text, sizeof(text), "%u", world - 1);
	} else if (n != job.size || memcmp(job.rank, ranks, n * sizeof(*ranks))) {
		lose(h, EXIT_USAGE, "its domain has other ranks than that of the node before");
		return false;
	}
	return true;
}

static bool take_here(struct host *h, const char *line)
{
	const char *list = line + strlen("here");

	if (!take_list(list + (*list == ' '), h->ranks, &h->n))
		return garbled(h, line);
	h->ready = true;
	return true;
}

static bool take_end(struct host *h, const char *line)
{
	struct proc *p = NULL;
	uint32_t rank;
	int status;

	if (sscanf(line, "end %u %d", &rank, &status) == 2)
		p = find(h, rank);
	if (!p || !p->alive)
		return garbled(h, line);
	h->alive--;
	job_ended(p, status);
	return true;
}

/* Returns how many bytes of the buffer were used, 0: not all has come yet. */
static size_t take_message(struct host *h)
{
	char *end = memchr(h->buf, '\n', h->len);
	size_t line, length;
	struct proc *p;
	uint32_t rank;
	int k;

	if (!end) {
		if (h->len >= HEADER)
			garbled(h, h->buf);
		return 0;
	}
	*end = 0;
	line = end + 1 - h->buf;
	if (!h->greeted) {
		/* Shells may greet, too */
		h->greeted = !strncmp(h->buf, "vfabrun-agent ", 14);
		if (!h->greeted)
			fprintf(stderr, "%s\n", h->buf);
		else if (strcmp(h->buf + 14, VFAB_VERSION))
			garbled(h, h->buf);
		return line;
	}
	if (sscanf(h->buf, "out %u %d %zu", &rank, &k, &length) == 3) {
		p = find(h, rank);
		if (!p || length > LINE || (k != 0 && k != 1)) {
			garbled(h, h->buf);
			return 0;
		}
		if (h->len < line + length) {
			*end = '\n';
			return 0;
		}
		put_line(p, k, end + 1, length);
		return line + length;
	}
	if (strcmp(h->buf, "beat") &&
	    !(!strncmp(h->buf, "job ", 4) ? take_job(h, h->buf) :
	      !strncmp(h->buf, "here", 4) ? take_here(h, h->buf) : take_end(h, h->buf)))
		return 0;
	return line;
}

static void take_output(struct source *src)
{
	struct host *h = (struct host *)src;
	size_t used;
	ssize_t n;

	n = read(src->fd, h->buf + h->len, BUFFER - h->len);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		hang_up(h);
		if (h->reaped)
			lose_ended(h);
		return;
	}
	h->heard = now();
	h->len += n;
	h->buf[h->len] = 0;
	while (src->fd >= 0 && (used = take_message(h))) {
		h->len -= used;
		memmove(h->buf, h->buf + used, h->len + 1);
	}
}

/* A growing text */
struct text {
	char *s;
	size_t len;
};

static void put(struct text *t, const char *s, size_t len)
{
	t->s = realloc(t->s, t->len + len + 1);
	if (!t->s)
		exit(fail("--nodes", strerror(ENOMEM)));
	memcpy(t->s + t->len, s, len);
	t->len += len;
	t->s[t->len] = 0;
}

/* As one word of a shell's */
static void put_word(struct text *t, const char *s)
{
	put(t, " '" + !t->len, 2 - !t->len);
	for (; *s; s++)
		if (*s == '\'')
			put(t, "'\\''", 4);
		else
			put(t, s, 1);
	put(t, "'", 1);
}

static void put_option(struct text *t, const char *option, const char *value)
{
	if (!value)
		return;
	put_word(t, option);
	put_word(t, value);
}

/* What is to run on the node: this program, in this directory, as an agent. */
static char *agent_command(uint32_t index, uint32_t n, const char *list, char **argv)
{
	char self[PATH_MAX], dir[PATH_MAX], number[32];
	struct text t = { NULL, 0 };
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char **e;

	if (len < 0 || !getcwd(dir, sizeof(dir)))
		exit(fail("--nodes", strerror(errno)));
	self[len] = 0;
	put(&t, "cd", 2);
	put_word(&t, dir);
	put(&t, " && exec env", 12);
	for (e = environ; *e; e++)
		if (!strncmp(*e, "VFAB_", 5))
			put_word(&t, *e);
	put_word(&t, self);
	snprintf(number, sizeof(number), "%u", index);
	put_option(&t, "--agent", number);
	snprintf(number, sizeof(number), "%g", job.silence);
	put_option(&t, "--node-timeout", number);
	put_option(&t, "--here", hosts[index]->here);
	put_option(&t, "--domain", job.domain);
	put_option(&t, "--ranks", list);
	snprintf(number, sizeof(number), "%u", n);
	put_option(&t, "-n", n ? number : NULL);
	put_word(&t, "--");
	while (*argv)
		put_word(&t, *argv++);
	return t.s;
}

/* The template, with what it has in braces */
static char *fill(const char *template, const char *host, const char *command)
{
	const char *const what[][2] = { { "{host}", host }, { "{command}", command } };
	struct text t = { NULL, 0 }, word;
	size_t i, len;

	while (*template) {
		for (i = 0; i < 2; i++) {
			len = strlen(what[i][0]);
			if (!strncmp(template, what[i][0], len))
				break;
		}
		if (i == 2) {
			put(&t, template++, 1);
			continue;
		}
		word = (struct text){ NULL, 0 };
		put_word(&word, what[i][1]);
		put(&t, word.s, word.len);
		free(word.s);
		template += len;
	}
	return t.s;
}

static int start_host(struct host *h, const char *command)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return fail("pipe", strerror(errno));
	h->pid = fork();
	if (h->pid < 0)
		return fail("cannot start a process", strerror(errno));
	if (!h->pid) {
		sigset_t none;

		/* What a terminal sends is for this vfabrun, which passes it on. */
		setpgid(0, 0);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	setpgid(h->pid, h->pid);
	close(in[0]);
	close(out[1]);
	fcntl(in[1], F_SETFL, O_NONBLOCK);
	h->to = in[1];
	h->src = (struct source){ out[0], take_output, false };
	h->heard = now();
	watch(&h->src);
	return 0;
}

/* Each rank of the job has a node: says so, or what is wrong. */
static int assign(void)
{
	uint32_t i, k, r;

	job.proc = calloc(job.size, sizeof(*job.proc));
	if (!job.proc)
		return fail("ranks", strerror(ENOMEM));
	job.n = job.size;
	for (i = 0; i < job.n; i++)
		job.proc[i].rank = job.rank[i];
	for (k = 0; k < nhosts; k++)
		for (r = 0; r < hosts[k]->n; r++) {
			for (i = 0; i < job.n && job.proc[i].rank != hosts[k]->ranks[r]; i++)
				;
			if (i == job.n)
				continue;
			if (job.proc[i].host) {
				say("rank %u is on %s and on %s: are they two nodes of one domain?",
				    job.rank[i], job.proc[i].host->name, hosts[k]->name);
				return EXIT_USAGE;
			}
			job.proc[i].host = hosts[k];
			hosts[k]->alive++;
		}
	for (i = 0; i < job.n; i++)
		if (!job.proc[i].host) {
			say("rank %u is on none of the nodes that --nodes gives", job.rank[i]);
			return EXIT_USAGE;
		}
	return 0;
}

static bool all_ready(void)
{
	uint32_t i;

	for (i = 0; i < nhosts; i++)
		if (!hosts[i]->ready)
			return false;
	return true;
}

/* They end when they are no longer talked to. */
static void dismiss(void)
{
	double until = now() + job.grace;
	uint32_t i;

	for (i = 0; i < nhosts; i++)
		hang_up(hosts[i]);
	for (i = 0; i < nhosts; i++)
		while (hosts[i]->pid > 0 && !hosts[i]->reaped &&
		       waitpid(hosts[i]->pid, NULL, WNOHANG) == 0) {
			if (now() > until)
				kill(-hosts[i]->pid, SIGKILL);
			usleep(10000);
		}
}

/**
 * nodes_run - the whole job, over the nodes that were added
 * @template: how to run something on one of them
 * @n, @list: as of choose_ranks(), which the agents are told
 */
int nodes_run(const char *template, uint32_t n, const char *list, char **argv)
{
	int sigfd = block_signals(), ret = 0;
	uint32_t i;

	if (!strstr(template, "{command}"))
		return misused("--node-command", "it has no {command}");
	signal(SIGPIPE, SIG_IGN);
	job.role = &nodes_role;
	job.drain = job.silence + 1;
	for (i = 0; i < nhosts && !ret; i++) {
		char *command = agent_command(i, n, list, argv);
		char *filled = fill(template, hosts[i]->name, command);

		ret = start_host(hosts[i], filled);
		free(filled);
		free(command);
	}
	/* Until all are ready, as if there were one process */
	job.alive = 1;
	job.until = all_ready;
	if (!ret)
		ret = supervise(sigfd);
	job.until = NULL;
	job.alive = 0;
	if (!ret)
		ret = assign();
	if (!ret) {
		for (i = 0; i < job.n; i++)
			job.proc[i].alive = true;
		job.alive = job.n;
		going = true;
		for (i = 0; i < nhosts; i++)
			tell(hosts[i], "go\n");
		ret = supervise(sigfd);
	}
	dismiss();
	return ret;
}
