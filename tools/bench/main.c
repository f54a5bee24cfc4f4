// SPDX-License-Identifier: GPL-2.0
/*
 * vfabbench: what scripts/bench compares with the kernel's own means. By
 * example, as root where the module is loaded:
 *
 *	vfabbench touch 11	first touch of 64 MiB, 11 repetitions
 *	vfabbench loss 5
 *
 * Prints rows of samples, one JSON object a line; scripts/bench judges them.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "bench.h"

static const struct measure {
	const char *name;
	void (*run)(int repeats);
	const char *what;
} measures[] = {
	{ "env", bench_env, "how fast the machine is right now" },
	{ "touch", bench_touch, "alloc and first touch of 64 MiB: page faults, time" },
	{ "calls", bench_calls, "system calls for each ring" },
	{ "copy", bench_copy, "memcpy to and from a window, memfd, and memfd" },
	{ "create", bench_create, "domains of 64 to 1024 endpoints: time, memory" },
	{ "import", bench_import, "72 ranks, all pairs: import and map 2 MiB" },
	{ "scale", bench_scale, "a link down in domains of 72, 576 and 1024" },
	{ "large", bench_large, "1024 x 18: create, dumps, vfabmgr" },
	{ "iplink", bench_iplink, "links against network interfaces" },
	{ "vms", bench_vms, "between two VMs: messages, bandwidth, against TCP" },
	{ "loss", bench_loss, "links down until the last access is gone" },
};

static struct vfab_nl *nl;
static char domain[16];
static pid_t owner;

double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("vfabbench: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

void must(const char *what, int ret)
{
	if (ret < 0)
		die("%s: %s", what, vfab_strerror(ret));
}

static void samples(const char *key, const double *x, int n)
{
	int i;

	printf(", \"%s\": [", key);
	for (i = 0; i < n; i++)
		printf("%s%.9g", i ? ", " : "", x[i]);
	putchar(']');
}

void row(const char *id, const char *unit, const double *ours,
	 const double *peer, int n)
{
	printf("{\"id\": \"%s\", \"unit\": \"%s\"", id, unit);
	samples("ours", ours, n);
	if (peer)
		samples("peer", peer, n);
	puts("}");
	fflush(stdout);
}

struct nlmsghdr *request(uint8_t cmd)
{
	struct nlmsghdr *req;
	int ret = nl ? 0 : vfab_nl_open(&nl);

	if (ret)
		die("%s", nl ? vfab_nl_error(nl) : "out of memory");
	req = vfab_nl_begin(nl, cmd);
	if (*domain)
		mnl_attr_put_u32(req, VFAB_A_DOMAIN, atoi(domain));
	return req;
}

void send_request(const char *what, vfab_nl_cb cb, void *data)
{
	if (vfab_nl_do(nl, cb, data))
		die("%s: %s", what, vfab_nl_error(nl));
}

static int take_id(const struct vfab_nl_msg *msg, void *data)
{
	(void)data;
	snprintf(domain, sizeof(domain), "%u",
		 (unsigned int)vfab_nl_uint(vfab_nl_attr(msg, VFAB_A_DOMAIN)));
	return 0;
}

void domain_create(uint32_t world, uint32_t planes)
{
	struct nlmsghdr *req;

	*domain = 0;
	req = request(VFAB_CMD_DOMAIN_CREATE);
	mnl_attr_put_u32(req, VFAB_A_WORLD, world);
	if (planes)
		mnl_attr_put_u32(req, VFAB_A_PLANES, planes);
	send_request("creating a domain", take_id, NULL);
	owner = getpid();
}

void domain_delete(void)
{
	struct nlmsghdr *req;

	if (!*domain || owner != getpid())
		return;
	req = request(VFAB_CMD_DOMAIN_DELETE);
	mnl_attr_put(req, VFAB_A_FORCE, 0, NULL);
	*domain = 0;
	send_request("deleting the domain", NULL, NULL);
}

const char *domain_name(void)
{
	return domain;
}

void domain_use(const char *name)
{
	snprintf(domain, sizeof(domain), "%s", name);
}

void link_set(int rank, int sw, bool up)
{
	struct nlmsghdr *req = request(VFAB_CMD_LINK_SET);

	if (rank >= 0)
		mnl_attr_put_u32(req, VFAB_A_RANK, rank);
	if (sw >= 0)
		mnl_attr_put_u32(req, VFAB_A_SWITCH, sw);
	mnl_attr_put_u8(req, VFAB_A_UP, up);
	send_request("setting a link", NULL, NULL);
}

void drop_tables(uint32_t world)
{
	struct nlmsghdr *req;
	uint32_t dest;

	for (dest = 0; dest < world; dest++) {
		req = request(VFAB_CMD_ROUTE_SET);
		mnl_attr_put_u32(req, VFAB_A_DEST, dest);
		mnl_attr_put(req, VFAB_A_DROP, 0, NULL);
		send_request("dropping an entry", NULL, NULL);
	}
}

static int count_one(const struct vfab_nl_msg *msg, void *data)
{
	(void)msg;
	++*(uint32_t *)data;
	return 0;
}

uint32_t dump_count(uint8_t cmd)
{
	uint32_t count = 0;

	request(cmd);
	if (vfab_nl_dump(nl, count_one, &count))
		die("a dump: %s", vfab_nl_error(nl));
	return count;
}

int device_open(void)
{
	char path[64];
	int fd;

	must("finding the domain", vfab_find(domain, path, sizeof(path), NULL));
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	return fd;
}

/* Teams */

static pthread_barrier_t *barrier;
static pid_t *pids;
static int team, left;

void *shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("shared memory: %s", strerror(errno));
	return p;
}

/* A process that fails would let the others wait for ever. */
static void child_ended(int sig)
{
	static const char text[] = "vfabbench: a rank failed\n";
	int status, i;
	pid_t pid;

	(void)sig;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (!status) {
			left--;
			continue;
		}
		for (i = 0; i < team; i++)
			kill(pids[i], SIGKILL);
		if (write(2, text, sizeof(text) - 1) < 0)
			_exit(3);
		_exit(1);
	}
}

int team_start(int ranks)
{
	pthread_barrierattr_t attr;
	pid_t parent = getpid(), pid;
	int i;

	barrier = shared(sizeof(*barrier));
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(barrier, &attr, ranks + 1);
	pids = calloc(ranks, sizeof(*pids));
	team = 0;
	left = ranks;
	fflush(stdout);
	signal(SIGCHLD, child_ended);
	for (i = 0; i < ranks; i++) {
		pid = fork();
		if (pid < 0)
			die("process %d: %s", i, strerror(errno));
		if (!pid) {
			signal(SIGCHLD, SIG_DFL);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(1);
			return i;
		}
		pids[i] = pid;
		team = i + 1;
	}
	return -1;
}

void meet(void)
{
	pthread_barrier_wait(barrier);
}

void team_end(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	while (left)
		sigsuspend(&old);
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGCHLD, SIG_DFL);
	munmap(barrier, sizeof(*barrier));
	free(pids);
}

double whole(const struct span *span, int n)
{
	double from = span[0].from, to = span[0].to;
	int i;

	for (i = 1; i < n; i++) {
		if (span[i].from < from)
			from = span[i].from;
		if (span[i].to > to)
			to = span[i].to;
	}
	return to - from;
}

static void usage(FILE *to)
{
	size_t i;

	fputs("Usage: vfabbench MEASURE [REPETITIONS]\n", to);
	for (i = 0; i < sizeof(measures) / sizeof(measures[0]); i++)
		fprintf(to, "  %-8s %s\n", measures[i].name, measures[i].what);
}

int main(int argc, char **argv)
{
	struct rlimit files;
	int repeats = argc > 2 ? atoi(argv[2]) : 5;
	size_t i;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		usage(stdout);
		return 0;
	}
	if (argc < 2 || argc > 3 || repeats < 1 || repeats > MAX_REPEATS) {
		usage(stderr);
		return 2;
	}
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	for (i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
		if (strcmp(argv[1], measures[i].name))
			continue;
		atexit(domain_delete);
		measures[i].run(repeats);
		return 0;
	}
	fprintf(stderr, "vfabbench: there is no measure \"%s\"\n", argv[1]);
	usage(stderr);
	return 2;
}
