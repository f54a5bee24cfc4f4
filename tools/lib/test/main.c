// SPDX-License-Identifier: LGPL-2.1
/*
 * libtest: tests of libvfab. By example:
 *
 *	VFAB_DOMAIN=memfd libtest [NAME]...		what needs no module
 *	vfabctl domain create --size 8
 *	VFAB_DOMAIN=dom0 libtest [NAME]...		as root in a VM
 *
 *	VFAB_DOMAIN=memfd libtest -l			names of the tests
 *	VFAB_TEST_LONG=1 VFAB_DOMAIN=memfd libtest	with 1024 ranks as well
 *	VFAB_TEST_SEED=7 VFAB_DOMAIN=memfd libtest chaos_0	kills at another point
 *
 * Prints KTAP. The domain needs 8 ranks and is not left as it was found. Of memfds,
 * each test has one of its own.
 */
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include "libtest.h"

const char *domain;
bool memfd;
double bound = 5;
volatile uint32_t *board;

#define BOARD	4096
#define LIMIT	(bound > 20 ? 5 * bound : 100)	/* seconds that a test may take */

static char *why;

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* The first rank to fail takes others along: what it said stays. */
void check_failed(const char *file, int line, const char *what)
{
	if (!*why)
		snprintf(why, 256, "%s:%d: %s", strrchr(file, '/') + 1, line, what);
	_exit(1);
}

void check_differs(const char *file, int line, const char *what, long long is,
		   long long want)
{
	if (!*why)
		snprintf(why, 256, "%s:%d: %s is %lld, not %lld (%s)",
			 strrchr(file, '/') + 1, line, what, is, want,
			 is < 0 && is > -4096 ? vfab_strerror(is) : "");
	_exit(1);
}

void board_wait(uint32_t i, uint32_t value)
{
	double end = now() + LIMIT / 3;

	while (board[i] < value) {
		CHECK(now() < end);
		usleep(1000);
	}
}

void kill_parent(pid_t rank)
{
	if (getppid() == rank)
		kill(rank, SIGKILL);
}

void await_sleep(pid_t pid)
{
	double end = now() + 30;
	char path[32], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (state != 'S') {
		CHECK(now() < end);
		usleep(1000);
		f = fopen(path, "r");
		CHECK(f && fscanf(f, "%*d %*s %c", &state) == 1);
		fclose(f);
	}
}

void sync_ranks(uint32_t ranks, uint32_t rank, uint32_t n)
{
	uint32_t i;

	board[rank * 16] = n;
	for (i = 0; i < ranks; i++)
		board_wait(i * 16, n);
}

struct vfab_ep *attach(uint32_t rank)
{
	struct vfab_ep *ep;

	EQUAL(vfab_open(&ep, domain, rank), 0);
	return ep;
}

int vfabctl(const char *fmt, ...)
{
	char args[200], command[300];
	va_list ap;
	int st;

	va_start(ap, fmt);
	vsnprintf(args, sizeof(args), fmt, ap);
	va_end(ap);
	snprintf(command, sizeof(command), "%s %s >/dev/null",
		 getenv("VFABCTL") ? getenv("VFABCTL") : "vfabctl", args);
	st = system(command);
	return WIFEXITED(st) ? WEXITSTATUS(st) : -1;
}

/* The memfd of one test; the file, to close. */
static int make_memfd(uint32_t ranks)
{
	static char address[32];
	int fd = vfab_memfd_create(ranks < 8 ? 8 : ranks);

	snprintf(address, sizeof(address), "memfd:%d", fd);
	domain = address;
	setenv("VFAB_DOMAIN", domain, 1);
	return fd;
}

static bool run(const struct test *t)
{
	int fd = memfd ? make_memfd(t->ranks) : -1;
	pid_t pids[VFAB_MAX_WORLD];
	uint32_t i, failed = 0, killed = 0, left = t->ranks;
	double end = now() + LIMIT;
	pid_t pid;
	int st;

	memset((void *)board, 0, BOARD);
	*why = 0;
	for (i = 0; i < t->ranks; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			t->run(i);
			_exit(0);
		}
	}
	while (left && !failed) {
		pid = waitpid(-1, &st, WNOHANG);
		if (pid <= 0) {
			usleep(2000);
			if (now() < end)
				continue;
			snprintf(why, 256, "still running after %.0f s", LIMIT);
			failed++;
			break;
		}
		left--;
		for (i = 0; pids[i] != pid; i++)
			;
		pids[i] = 0;
		if (WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL && killed < t->killed)
			killed++;
		else if (st)
			failed++;
		if (WIFSIGNALED(st) && failed)
			snprintf(why, 256, "rank %u was killed by signal %d", i,
				 WTERMSIG(st));
	}
	for (i = 0; i < t->ranks; i++)
		if (pids[i])
			kill(pids[i], SIGKILL);
	while (waitpid(-1, &st, 0) > 0)
		;
	if (memfd)
		close(fd);
	if (!failed && killed != t->killed) {
		snprintf(why, 256, "%u ranks died, not %u", killed, t->killed);
		failed++;
	}
	return !failed;
}

/* What a test that failed may have left of the domain. */
static void mend(void)
{
	if (memfd)
		return;
	vfabctl("link set %s/sw1 up", domain);
	vfabctl("link set %s/ep5 up", domain);
	vfabctl("link set %s/ep0 up", domain);
	vfabctl("partition set %s/part0 --add 0-7", domain);
	vfabctl("domain delete paced --force 2>/dev/null");
}

static int list(const struct test *const *lists)
{
	const struct test *t;

	for (; *lists; lists++)
		for (t = *lists; t->name; t++)
			puts(t->name);
	return 0;
}

static bool selected(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	static const struct test *const on_fabric[] = {
		device_tests, fabric_device_tests, coll_tests, fabric_coll_tests,
		engine_tests, transfer_tests, fabric_transfer_tests, NULL
	}, *const on_memfd[] = {
		device_tests, memfd_tests, coll_tests, engine_tests, crowd_tests,
		transfer_tests, NULL
	}, *const on_memfd_long[] = {
		device_tests, memfd_tests, coll_tests, engine_tests, crowd_tests,
		transfer_tests, long_tests, NULL
	};
	const struct test *const *lists, *t;
	uint32_t i, n = 0, failed = 0;
	struct vfab_info info;

	setvbuf(stdout, NULL, _IOLBF, 0);
	domain = getenv("VFAB_DOMAIN");
	memfd = domain && !strcmp(domain, "memfd");
	lists = !memfd ? on_fabric : getenv("VFAB_TEST_LONG") ? on_memfd_long : on_memfd;
	if (getenv("VFAB_TEST_BOUND"))
		bound = atof(getenv("VFAB_TEST_BOUND"));
	if (argc == 2 && !strcmp(argv[1], "-l"))
		return list(lists);
	board = mmap(NULL, BOARD + 256, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED || !domain ||
	    (!memfd && (vfab_find(domain, NULL, 0, &info) || info.world < 8))) {
		fputs("libtest: VFAB_DOMAIN must name a domain of 8 ranks or more, or be memfd\n",
		      stderr);
		return 2;
	}
	why = (char *)board + BOARD;
	puts("KTAP version 1");
	for (i = 0; lists[i]; i++)
		for (t = lists[i]; t->name; t++)
			n += selected(t->name, argv + 1);
	printf("1..%u\n", n);
	for (n = i = 0; lists[i]; i++) {
		for (t = lists[i]; t->name; t++) {
			double began = now();
			bool ok;

			if (!selected(t->name, argv + 1))
				continue;
			ok = run(t);
			if (!ok) {
				printf("# %s\n", why);
				mend();
			}
			printf("%s %u lib.%s # %.1f s\n", ok ? "ok" : "not ok",
			       ++n, t->name, now() - began);
			failed += !ok;
		}
	}
	return failed ? 1 : 0;
}
