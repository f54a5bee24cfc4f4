// SPDX-License-Identifier: GPL-2.0
/*
 * vfabperf doorbell: a ring and one back, half of the time of both, in turns
 * with futex and eventfd between two processes of the same machine.
 *
 * spin, sleep, eventfd: rank 0 and rank 1, by vfab_ring() and vfab_wait() or
 * by an eventfd that is bound to the doorbell. futex and plain eventfd: rank 0
 * and a child of it, on rank 1's CPU, while rank 1 sleeps.
 */
#include <errno.h>
#include <getopt.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vfabperf.h"

#define VECTOR	1

static const char usage[] =
"Usage: vfabperf doorbell [OPTION]...\n"
"Measure doorbells between two ranks, one way: half of a round trip. Typical\n"
"is the median. The last column counts system calls of the ringing side.\n"
"\n"
"  -n, --iters=N        round trips of each kind (default 1000)\n"
"  -r, --repeats=N      turns that they are divided into (default 5)\n";

static const char header[] = {
"#kind                 #iterations  t_min     t_max      t_typical  t_avg     t_stdev   99%       99.9%     calls/ring   [usec]\n"
};

enum { SPIN, SLEEP, EVENTFD, FUTEX, PLAIN_EVENTFD, KINDS };

static const char *const names[KINDS] = {
	"doorbell, spinning", "doorbell, asleep", "doorbell, eventfd",
	"futex", "eventfd"
};

struct words {
	_Alignas(128) uint32_t ping;
	_Alignas(128) uint32_t pong;
};

struct bell {
	struct run run;
	uint32_t peer;
	uint64_t seen;		/* rings so far */
	uint64_t loss;
	int efd;		/* bound to the doorbell */
	struct words *words;
	int ping, pong;		/* plain eventfds */
	uint64_t iters, repeats;
	double *times[KINDS];
	uint64_t calls[KINDS], rings[KINDS];
};

static int wait_ring(struct bell *b, int kind)
{
	struct vfab_peer p;
	uint64_t value;
	int ret;

	if (kind == EVENTFD) {
		/* A ring of the turn before may still be in the eventfd. */
		while (vfab_count(b->run.ep, VECTOR) == b->seen)
			if (read(b->efd, &value, sizeof(value)) < 0 && errno != EINTR)
				return -errno;
		b->seen = vfab_count(b->run.ep, VECTOR);
		return 0;
	}
	do {
		/* Without a timer, as the others; a loss ends it. */
		ret = vfab_wait(b->run.ep, VECTOR, &b->seen, &b->loss,
				VFAB_FOREVER);
		if (ret == -ECONNRESET && !vfab_peer(b->run.ep, b->peer, &p) &&
		    p.state == VFAB_PEER_HELD)
			ret = -EAGAIN;	/* the loss was somebody else's */
	} while (ret == -EAGAIN);
	return ret;
}

static int ping_pong(struct bell *b, int kind, double *times, uint64_t n)
{
	struct run *r = &b->run;
	struct vfab_stats was, now;
	bool first = run_first(r);
	double t = 0;
	uint64_t i;
	int ret = 0;

	vfab_wait_policy(r->ep, kind == SPIN ? -1 : 0, 0);
	if (kind == EVENTFD)
		ret = vfab_eventfd(r->ep, VECTOR, b->efd);
	if (ret)
		return run_failed(r, "eventfd", ret);
	ret = vfab_barrier(r->comm);
	vfab_stats(r->ep, &was);
	for (i = 0; i < n && !ret; i++) {
		if (first) {
			t = now_ns();
			ret = vfab_ring(r->ep, b->peer, VECTOR);
		}
		if (!ret)
			ret = wait_ring(b, kind);
		if (first)
			times[i] = (now_ns() - t) / 2;
		else if (!ret)
			ret = vfab_ring(r->ep, b->peer, VECTOR);
	}
	if (ret)
		return run_failed(r, names[kind], ret);
	vfab_stats(r->ep, &now);
	b->rings[kind] += now.rings - was.rings;
	b->calls[kind] += now.ring_calls - was.ring_calls;
	ret = vfab_barrier(r->comm);
	if (!ret && kind == EVENTFD)
		ret = vfab_eventfd(r->ep, VECTOR, -1);
	return ret ? run_failed(r, "barrier", ret) : 0;
}

static void futex(uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void futex_send(uint32_t *word)
{
	__atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
	futex(word, FUTEX_WAKE, 1);
}

static void futex_receive(uint32_t *word, uint32_t seen)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == seen)
		futex(word, FUTEX_WAIT, seen);
}

static void plain_send(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static void plain_receive(int fd)
{
	uint64_t value;

	if (read(fd, &value, sizeof(value)) != sizeof(value))
		abort();
}

static void baseline(struct bell *b, int kind, double *times, uint64_t n,
		     bool ponger)
{
	struct words *w = b->words;
	/* Counted, not read: the other side may have begun already. */
	uint32_t ping = b->rings[kind], pong = ping;
	double t = 0;
	uint64_t i;

	for (i = 0; i < n; i++) {
		if (!ponger)
			t = now_ns();
		if (kind == FUTEX && ponger) {
			futex_receive(&w->ping, ping++);
			futex_send(&w->pong);
		} else if (kind == FUTEX) {
			futex_send(&w->ping);
			futex_receive(&w->pong, pong++);
		} else if (ponger) {
			plain_receive(b->ping);
			plain_send(b->pong);
		} else {
			plain_send(b->ping);
			plain_receive(b->pong);
		}
		if (!ponger)
			times[i] = (now_ns() - t) / 2;
	}
	b->rings[kind] += n;
	b->calls[kind] += n;
}

/* The child that is the other side of the baselines, in step with rank 0. */
static pid_t start_child(struct bell *b)
{
	pid_t pid;
	uint64_t i;
	int k;

	b->words = mmap(NULL, sizeof(*b->words), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	b->ping = eventfd(0, EFD_CLOEXEC);
	b->pong = eventfd(0, EFD_CLOEXEC);
	if (b->words == MAP_FAILED || b->ping < 0 || b->pong < 0)
		return -1;
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (b->run.pin)
		pin_to(1);
	for (i = 0; i < b->repeats; i++)
		for (k = FUTEX; k < KINDS; k++)
			baseline(b, k, NULL, b->iters, true);
	_exit(0);
}

static int run_all(struct bell *b)
{
	bool spin = cpu_count() > 1;
	uint64_t i;
	int k, ret;

	for (i = 0; i < b->repeats; i++) {
		for (k = 0; k <= EVENTFD; k++) {
			if ((k == SPIN && !spin) || (k == EVENTFD && b->run.memfd))
				continue;
			ret = ping_pong(b, k, b->times[k] + i * b->iters,
					b->iters);
			if (ret)
				return ret;
		}
		for (; k < KINDS && run_first(&b->run); k++)
			baseline(b, k, b->times[k] + i * b->iters, b->iters,
				 false);
	}
	return 0;
}

static void report(struct bell *b)
{
	struct stats s[KINDS];
	int k;

	fputs(header, stdout);
	json_begin("results", '[');
	for (k = 0; k < KINDS; k++) {
		if (!b->rings[k]) {
			printf("%-21s skipped: %s\n", names[k],
			       k == SPIN ? "one CPU" : "a memfd has none");
			s[k].median = 0;
			continue;
		}
		stats_of(b->times[k], b->iters * b->repeats, &s[k]);
		printf("%-21s %-12zu %-9.3f %-10.3f %-10.3f %-9.3f %-9.3f %-9.3f %-9.3f %.3f\n",
		       names[k], s[k].n, s[k].min / 1e3, s[k].max / 1e3,
		       s[k].median / 1e3, s[k].mean / 1e3, s[k].stdev / 1e3,
		       s[k].p99 / 1e3, s[k].p999 / 1e3,
		       (double)b->calls[k] / b->rings[k]);
		json_begin(NULL, '{');
		json_str("kind", names[k]);
		json_stats_us(&s[k]);
		json_num("calls_per_ring", (double)b->calls[k] / b->rings[k]);
		json_end('}');
	}
	json_end(']');
	printf("# asleep, medians: doorbell/futex %.2f, doorbell/eventfd %.2f\n",
	       s[SLEEP].median / s[FUTEX].median,
	       s[SLEEP].median / s[PLAIN_EVENTFD].median);
	json_num("asleep_to_futex", s[SLEEP].median / s[FUTEX].median);
	json_num("asleep_to_eventfd", s[SLEEP].median / s[PLAIN_EVENTFD].median);
}

static int setup(struct bell *b)
{
	int k;

	if (b->run.size != 2)
		return setup_error("doorbell runs between 2 ranks, not %u",
				   b->run.size);
	b->peer = b->run.ranks[!b->run.index];
	b->efd = eventfd(0, EFD_CLOEXEC);
	for (k = 0; k < KINDS; k++) {
		b->times[k] = calloc(b->iters * b->repeats, sizeof(double));
		if (!b->times[k] || b->efd < 0)
			return setup_error("out of memory or of files");
	}
	b->seen = vfab_count(b->run.ep, VECTOR);
	b->loss = vfab_loss(b->run.ep);
	return 0;
}

int doorbell_main(int argc, char **argv)
{
	static const struct option own[] = {
		{ "iters", 1, NULL, 'n' }, { "repeats", 1, NULL, 'r' },
		{ NULL, 0, NULL, 0 }
	};
	struct option options[OPTIONS];
	struct bell b = { .run.command = "doorbell", .iters = 1000, .repeats = 5 };
	struct options o = { .ntasks = 2 };
	pid_t child = 0;
	struct env e;
	int c, ret;

	all_options(options, own);
	while ((c = next_option(argc, argv, "n:r:T:J:h", options)) != -1) {
		ret = -1;
		switch (c) {
		case 'n':
			ret = parse_count(optarg, 10000000, &b.iters);
			break;
		case 'r':
			ret = parse_count(optarg, 10000, &b.repeats);
			break;
		default:
			ret = common_option(&o, c, usage);
		}
		if (ret >= 0)
			return ret;
	}
	if (optind + 1 < argc)
		return usage_error("argument \"%s\" is one too many", argv[optind + 1]);
	if (!b.repeats || b.iters < b.repeats)
		return usage_error("each turn takes one round trip or more");
	b.iters /= b.repeats;
	/* This command chooses how to wait. */
	unsetenv("VFAB_WAIT");
	ret = run_start(&b.run, &o, argv);
	if (ret >= 0)
		return ret;
	vfab_comm_set_timeout(b.run.comm, VFAB_FOREVER);
	ret = setup(&b);
	if (!ret && run_first(&b.run)) {
		ret = json_open(b.run.json);
		env_get(&e);
		env_print(&e, &b.run);
		json_head(&e, &b.run);
		json_end('}');
		child = start_child(&b);
		if (child < 0)
			ret = setup_error("cannot start a process: %s",
					  strerror(errno));
	}
	if (!ret)
		ret = run_all(&b);
	if (child > 0) {
		if (ret)
			kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	if (!ret && run_first(&b.run))
		report(&b);
	return run_end(&b.run, ret);
}
