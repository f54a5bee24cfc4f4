// SPDX-License-Identifier: GPL-2.0
/*
 * vfabdemo: one process per rank of a domain; bytes, collectives, a plane
 * down, a rank cut off under traffic, and the rank back. By example:
 *
 *	vfabctl domain create --size 72
 *	vfabdemo
 *
 * One line per fact; exit status 0 only if all of them held.
 *
 * The parent leads the processes through phases: it sets the phase in shared
 * memory and waits until each process has been through it.
 */
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "demo.h"

struct shared *sh;
struct demo demo = { .timeout = 120 };

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

void futex_wait(_Atomic uint32_t *word, uint32_t value, double s)
{
	struct timespec ts = { s, (s - (long)s) * 1e9 };

	syscall(SYS_futex, word, FUTEX_WAIT, value, &ts, NULL, 0);
}

void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list ap;

	printf("[%6.1f s] ", now() - demo.began);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static int __attribute__((format(printf, 1, 2))) fail(const char *fmt, ...)
{
	uint32_t i;
	va_list ap;

	fflush(stdout);
	fputs("vfabdemo: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	for (i = 0; i < demo.world; i++)
		if (demo.pids[i] > 0)
			kill(demo.pids[i], SIGKILL);
	return 1;
}

/* Has one of the processes ended before its time? */
static int casualty(void)
{
	uint32_t i;
	int st;

	for (i = 0; i < demo.world; i++) {
		if (waitpid(demo.pids[i], &st, WNOHANG) != demo.pids[i])
			continue;
		demo.pids[i] = 0;
		if (WIFSIGNALED(st))
			return fail("rank %u was killed by signal %d (%s)", i,
				    WTERMSIG(st), strsignal(WTERMSIG(st)));
		return fail("rank %u: %s", i, sh->rank[i].why);
	}
	return 0;
}

/* Wait until @all says yes for every rank. */
static int wait_all(bool (*all)(uint32_t rank), const char *what, double timeout)
{
	double end = now() + timeout;
	uint32_t seen, i;

	for (;;) {
		seen = sh->arrivals;
		for (i = 0; i < demo.world && all(i); i++)
			;
		if (i == demo.world)
			return 0;
		if (casualty())
			return 1;
		if (now() > end)
			return fail("rank %u has not %s within %.0f s", i, what,
				    timeout);
		futex_wait(&sh->arrivals, seen, .02);
	}
}

static bool been_through(uint32_t i)
{
	return sh->rank[i].done >= sh->phase;
}

static void start(enum phase phase)
{
	sh->phase = phase;
	futex_wake(&sh->phase);
}

static int run(enum phase phase, const char *what)
{
	start(phase);
	return wait_all(been_through, what, demo.timeout);
}

/* As the user would type it. */
static int set(const char *kind, const char *object, const char *state)
{
	char *const argv[] = { "vfabctl", (char *)kind, "set", (char *)object,
			       (char *)state, NULL };
	pid_t pid;
	int st;

	printf("$ vfabctl %s set %s %s\n", kind, object, state);
	fflush(stdout);
	if (posix_spawnp(&pid, demo.vfabctl, NULL, NULL, argv, environ) ||
	    waitpid(pid, &st, 0) != pid)
		return fail("%s: %s", demo.vfabctl, strerror(errno));
	if (st)
		return fail("%s %s set %s %s did not succeed", demo.vfabctl,
			    kind, object, state);
	return 0;
}

static uint32_t rounds_before[VFAB_MAX_WORLD], want_paths;

static bool went_on(uint32_t i)
{
	return sh->rank[i].rounds >= rounds_before[i] + 3 &&
	       sh->rank[i].min_paths == want_paths &&
	       sh->rank[i].max_paths == want_paths;
}

static int wait_for_traffic(uint32_t paths)
{
	uint32_t i;

	for (i = 0; i < demo.world; i++)
		rounds_before[i] = sh->rank[i].rounds;
	want_paths = paths;
	return wait_all(went_on, "made 3 all-reduces over all paths that are left",
			demo.timeout);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double slowest_meeting(uint32_t skip)
{
	double t = 0;
	uint32_t i;

	for (i = 0; i < demo.world; i++)
		if (i != skip && sh->rank[i].meeting > t)
			t = sh->rank[i].meeting;
	return t;
}

static int bytes_and_sums(void)
{
	uint32_t n = demo.world;

	if (run(ATTACH, "attached"))
		return 1;
	say("%u processes attached to dom%u, one per rank", n, demo.id);
	if (run(MAP, "mapped all windows") || run(CHECK, "found its peers' bytes"))
		return 1;
	say("%u windows are mapped by all others: %u mappings", n, n * (n - 1));
	say("each window holds the bytes that every peer stored");
	if (run(GROUP, "finished the all-reduces"))
		return 1;
	say("%u ranks met in a group within %.2f s", n,
	    slowest_meeting(VFAB_RANK_ANY));
	say("%d all-reduces of %zu KiB: each element right at each rank",
	    ROUNDS, ELEMENTS * sizeof(float) / 1024);
	if (run(LATENCY, "finished the latency run"))
		return 1;
	qsort(sh->latency, PINGS, sizeof(double), by_value);
	say("latency rank 0 to 1, %d stores to and fro: min %.2f us, median %.2f us, 99%% %.2f us",
	    PINGS, sh->latency[0] * 1e6, sh->latency[PINGS / 2] * 1e6,
	    sh->latency[PINGS * 99 / 100] * 1e6);
	return 0;
}

static int plane_down(void)
{
	char object[48];

	start(TRAFFIC);
	if (wait_for_traffic(demo.planes))
		return 1;
	say("traffic runs: all-reduces over %u paths from each rank to each",
	    demo.planes);
	snprintf(object, sizeof(object), "dom%u/sw%u", demo.id, demo.plane);
	if (set("switch", object, "down") || wait_for_traffic(demo.planes - 1))
		return 1;
	say("plane %u is down: the all-reduces go on", demo.plane);
	say("the route view of each rank shows %u paths to each peer",
	    demo.planes - 1);
	return 0;
}

static int cut_off(void)
{
	double before, after, slowest = 0;
	uint32_t i, last = 0, named = 0;
	char object[48];

	snprintf(object, sizeof(object), "dom%u/ep%u", demo.id, demo.cut);
	before = now();
	if (set("link", object, "down"))
		return 1;
	after = now();
	if (wait_all(been_through, "got its error", demo.timeout))
		return 1;
	for (i = 0; i < demo.world; i++) {
		const struct rank *r = &sh->rank[i];

		if (r->err != -ECONNRESET)
			return fail("rank %u ended with: %s", i, r->why);
		named += r->lost == demo.cut;
		if (r->when > slowest) {
			slowest = r->when;
			last = i;
		}
	}
	say("rank %u is cut off: all %u ranks got their error, %u of them named rank %u",
	    demo.cut, demo.world, named, demo.cut);
	say("the slowest was rank %u, %.3f s after the command began, which took %.3f s",
	    last, slowest - before, after - before);
	if (slowest - before > demo.bound)
		return fail("that is above the bound of %g s", demo.bound);
	say("that is within the bound of %g s", demo.bound);
	if (named < demo.world - 1)
		return fail("all peers should have named rank %u", demo.cut);
	if (run(SURVIVE, "finished the all-reduces of those who are left"))
		return 1;
	say("no mapping reads rank %u's memory any more, nor it any other's",
	    demo.cut);
	say("the other %u made a new group (%.2f s): %d all-reduces, each element right",
	    demo.world - 1, slowest_meeting(demo.cut), ROUNDS);
	return 0;
}

static bool all_paths(uint32_t i)
{
	return sh->rank[i].min_paths == demo.planes;
}

static int restore(void)
{
	char object[48];

	snprintf(object, sizeof(object), "dom%u/ep%u", demo.id, demo.cut);
	if (set("link", object, "up"))
		return 1;
	snprintf(object, sizeof(object), "dom%u/sw%u", demo.id, demo.plane);
	if (set("switch", object, "up") || run(RESTORE, "finished the all-reduces") ||
	    wait_all(all_paths, "all its paths back", 0))
		return 1;
	say("restored: %u ranks again (%.2f s): %d all-reduces, each element right, over %u paths",
	    demo.world, slowest_meeting(VFAB_RANK_ANY), ROUNDS, demo.planes);
	return 0;
}

static int finish(void)
{
	uint32_t i;
	int st;

	start(PHASES);
	for (i = 0; i < demo.world; i++)
		if (waitpid(demo.pids[i], &st, 0) != demo.pids[i] || st)
			return fail("rank %u did not end well", i);
	say("all of it held");
	return 0;
}

/* "Within a second" is what hardware is held to, not its emulation. */
static double default_bound(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	bool emulated = false;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		emulated |= !strncmp(line, "model name", 10) && strstr(line, "TCG");
	if (f)
		fclose(f);
	return emulated ? 10 : 1;
}

static int begin(void)
{
	struct vfab_info info;
	uint32_t i;
	int ret;

	ret = vfab_find(demo.domain, NULL, 0, &info);
	if (ret) {
		fprintf(stderr, "vfabdemo: %s\n", vfab_strerror(ret));
		return 2;
	}
	if (info.world < 3 || info.planes < 2) {
		fprintf(stderr,
			"vfabdemo: dom%u has %u ranks and %u planes: 3 and 2 are the least\n",
			info.domain, info.world, info.planes);
		return 2;
	}
	demo.id = info.domain;
	demo.world = info.world;
	demo.planes = info.planes;
	demo.cut = info.world > 5 ? 5 : info.world - 1;
	demo.plane = info.planes > 3 ? 3 : info.planes - 1;
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED) {
		perror("vfabdemo");
		return 2;
	}
	demo.began = now();
	for (i = 0; i < demo.world; i++) {
		demo.pids[i] = fork();
		if (!demo.pids[i])
			process(i);
		if (demo.pids[i] < 0) {
			fail("fork: %s", strerror(errno));
			return 2;
		}
	}
	return 0;
}

static void find_vfabctl(void)
{
	ssize_t len = readlink("/proc/self/exe", demo.vfabctl,
			       sizeof(demo.vfabctl) - 16);

	demo.vfabctl[len > 0 ? len : 0] = 0;
	strcat(dirname(demo.vfabctl), "/vfabctl");
	if (access(demo.vfabctl, X_OK))
		strcpy(demo.vfabctl, "vfabctl");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "domain", 1, NULL, 'd' }, { "vfabctl", 1, NULL, 'c' },
		{ "bound", 1, NULL, 'b' }, { "timeout", 1, NULL, 't' },
		{ "help", 0, NULL, 'h' }, { NULL, 0, NULL, 0 }
	};
	int c, ret;

	find_vfabctl();
	demo.bound = default_bound();
	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			demo.domain = optarg;
			break;
		case 'c':
			snprintf(demo.vfabctl, sizeof(demo.vfabctl), "%s", optarg);
			break;
		case 'b':
			demo.bound = strtod(optarg, NULL);
			break;
		case 't':
			demo.timeout = strtod(optarg, NULL);
			break;
		default:
			fprintf(c == 'h' ? stdout : stderr,
				"Usage: vfabdemo [--domain=DOMAIN] [--vfabctl=PATH] [--bound=S] [--timeout=S]\n"
				"Show a domain at work with a process per rank, lose a plane and a rank\n"
				"under traffic, and get them back. Needs the right to change the domain.\n\n"
				"  --bound=S    longest time from the cut to every rank's error\n"
				"               (default 1, under an emulator 10)\n"
				"  --timeout=S  longest time of any other step (default 120)\n");
			return c == 'h' ? 0 : 2;
		}
	}
	if (optind < argc || demo.bound <= 0 || demo.timeout <= 0) {
		fputs("vfabdemo: wrong usage. Try --help.\n", stderr);
		return 2;
	}
	ret = begin();
	if (!ret)
		ret = bytes_and_sums() || plane_down() || cut_off() ||
		      restore() || finish();
	return ret;
}
