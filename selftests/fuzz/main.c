// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz - call the module by chance, and keep what reaches new code of it
 *
 * How to use, by example, as root in a throw-away guest (scripts/fuzz does all this):
 *
 *	fuzz --seconds 60 --seed 7 --out DIR FILE...
 *	fuzz --run FILE...		run the programs in there once, print TAP
 *	fuzz --verbose --run FILE...	and say what each call does
 *	fuzz --calls			list what is called, and with which arguments
 *
 * Without KCOV in the kernel, or a module that was not built for it, it goes on blind.
 * DIR/running has the last programs, the one that runs among them, whatever happens to
 * the kernel; DIR/corpus gets the programs that reached code which none before did.
 * Exit status: 0 nothing found, 1 found (the reason is the last line), 2 cannot start.
 */
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <linux/kcov.h>
#include "fuzz.h"

#define COVER_MAX	(1 << 15)	/* entries of the kernel's buffer */
#define EDGES		(1 << 16)
#define BLOCKS		(1 << 15)
#define CORPUS		2000
#define LISTEN		8		/* programs, after which the kernel's log is read */
#define RING		(2 * LISTEN)	/* that are remembered */
#define HANG_S		3
#define SLOW		5		/* slices: what takes longer is not worth keeping */
#define LONG		8		/* calls: what has more is made shorter */

/* What outlives the process that runs programs, which a program may have killed */
static struct all {
	struct shared shared;
	uint64_t progs, beat;
	unsigned int killed;
	unsigned int noted[RING];	/* bytes of what ran last */
	unsigned int seeds, nseeds;	/* run so far; of the first in corpus */
	uint8_t edge[EDGES];
	uint64_t block[BLOCKS];
	unsigned int nblocks, edges, n;
	bool kept[CORPUS];		/* reached a block that was new */
	struct prog corpus[CORPUS];
} *all;

struct shared *shared;
static uint64_t *cover;
static int kmsg_fd = -1, running_fd = -1;
static regex_t complaint;		/* what the kernel must not say */
static bool complaint_given;
static const char *out = ".";
static uint64_t seed = 1;
static unsigned int seconds = 60, total;
static time_t start;

void wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(shared->found, sizeof(shared->found), format, args);
	va_end(args);
	_exit(1);
}

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* --- what the kernel says ------------------------------------------------ */

/* Has the kernel complained since this was asked last? Then that is what is found. */
static bool kernel_complains(void)
{
	char line[8192], said[sizeof(shared->found)] = "", *text;
	bool rcu = false, itself = false;
	ssize_t n;

	/* Lines are "PRIORITY,NUMBER,TIME,FLAGS;TEXT" */
	while ((n = read(kmsg_fd, line, sizeof(line) - 1)) > 0) {
		line[n] = 0;
		text = strchr(line, ';');
		if (!text)
			continue;
		text[1 + strcspn(text + 1, "\n")] = 0;
		/* Of User Mode Linux itself: see complaints_in() of scripts/uml */
		itself |= !!strstr(text, "lib/maple_tree.c");
		if (strstr(text, "suspicious RCU usage"))
			rcu = true;
		else if (!*said && complaint_given && !regexec(&complaint, text + 1, 0, NULL, 0))
			snprintf(said, sizeof(said), "%s", text + 1);
	}
	if (!*said && rcu && !itself)
		strcpy(said, "suspicious RCU usage");
	if (*said)
		snprintf(shared->found, sizeof(shared->found), "the kernel says: %s", said);
	return *said;
}

/* --- coverage ------------------------------------------------------------ */

static unsigned int hit[EDGES], nhit;
static uint8_t is_hit[EDGES / 8];	/* a bit for each: near enough to be asked often */
static unsigned int run_slices;

static void cover_open(void)
{
	int fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	if (!ioctl(fd, KCOV_INIT_TRACE, COVER_MAX))
		cover = mmap(NULL, COVER_MAX * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (cover == MAP_FAILED || ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC))
		cover = NULL;
}

static bool new_block(uint64_t pc)
{
	unsigned int i;

	for (i = pc * 0x9e3779b97f4a7c15ULL >> 49; all->block[i]; i = (i + 1) % BLOCKS)
		if (all->block[i] == pc)
			return false;
	if (all->nblocks == BLOCKS / 2)
		return false;
	all->block[i] = pc;
	all->nblocks++;
	return true;
}

/* The edges of the run that ends, into hit[] */
static void cover_collect(void)
{
	uint64_t n = cover ? cover[0] : 0, before = 0, i;

	while (nhit)
		is_hit[hit[--nhit] / 8] = 0;
	for (i = 1; i <= n && i < COVER_MAX; i++) {
		unsigned int e = (cover[i] * 31 ^ before) * 0x9e3779b97f4a7c15ULL >> 48;

		before = cover[i] * 17;
		if (is_hit[e / 8] & 1 << e % 8)
			continue;
		is_hit[e / 8] |= 1 << e % 8;
		hit[nhit++] = e;
	}
}

static bool reaches(const unsigned int *edge, unsigned int n)
{
	while (n--)
		if (!(is_hit[edge[n] / 8] & 1 << edge[n] % 8))
			return false;
	return true;
}

/* --- programs ------------------------------------------------------------ */

/* Into the host's file, before it runs: the kernel may not survive it. */
static void note_running(const struct prog *p)
{
	static char text[TEXT_MAX];
	unsigned int slot = all->progs % RING, n, more;

	n = snprintf(text, sizeof(text), "# program %llu\n", (unsigned long long)all->progs);
	n += prog_print(p, text + n, sizeof(text) - n - 1);
	text[n++] = '\n';
	/* What is left of a longer one goes */
	more = all->noted[slot] > n ? all->noted[slot] - n : 0;
	memset(text + n, 0, more);
	all->noted[slot] = n;
	if (pwrite(running_fd, text, n + more, slot * TEXT_MAX) > 0)
		sync_file_range(running_fd, slot * TEXT_MAX, n + more,
				SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

static void run_prog(const struct prog *p)
{
	if (running_fd >= 0)
		note_running(p);
	all->progs++;
	all->beat++;
	if (cover)
		cover[0] = 0;
	run_slices = slices;
	exec_prog(p);
	run_slices = slices - run_slices;
	cover_collect();
	if (all->progs % LISTEN == 0)
		kernel_complains();
	exec_reset();
}

/* Without the calls that are not needed to reach the edges. */
static void shorten(struct prog *p, const unsigned int *edge, unsigned int n)
{
	static struct prog less;
	unsigned int i;

	for (i = p->n; i-- > 0 && p->n > 1;) {
		less = *p;
		less.n--;
		memmove(&less.call[i], &less.call[i + 1], (less.n - i) * sizeof(less.call[0]));
		run_prog(&less);
		if (reaches(edge, n))
			*p = less;
	}
}

/* Did it reach what none before did? Then it is worth keeping. */
static void consider(struct prog *p)
{
	static unsigned int fresh[EDGES];
	unsigned int n = 0, i;
	bool blocks = false;

	for (i = 0; i < nhit; i++)
		if (!all->edge[hit[i]])
			fresh[n++] = hit[i];
	if (!n || run_slices > SLOW)
		return;
	for (i = 1; i <= cover[0] && i < COVER_MAX; i++)
		blocks |= new_block(cover[i]);
	for (i = 0; i < n; i++)
		all->edge[fresh[i]] = 1;
	all->edges += n;
	if (all->n == CORPUS)
		return;
	if (blocks || p->n > LONG)
		shorten(p, fresh, n);
	all->corpus[all->n] = *p;
	all->kept[all->n++] = blocks;
}

/* One of the corpus, the newest more often, those with children more rarely */
static const struct prog *pick(void)
{
	unsigned int recent = all->n < 32 ? all->n : 32, tries = 3, i;

	do {
		i = below(2) ? below(all->n) : all->n - 1 - below(recent);
	} while (prog_forks(&all->corpus[i]) && --tries);
	return &all->corpus[i];
}

static void step(void)
{
	static struct prog p;

	if (all->seeds < all->nseeds) {
		p = all->corpus[all->seeds++];
		run_prog(&p);
		consider(&p);
		return;
	}
	p.n = 0;
	if (all->n && below(16))
		p = *pick();
	prog_mutate(&p, all->n ? pick() : NULL);
	run_prog(&p);
	consider(&p);
}

/* --- the process that runs them, and the one that looks after it ---------- */

static void report(const char *what)
{
	unsigned int s = now() - start;

	unsigned long long progs = all->progs, calls = shared->calls;

	fprintf(stderr, "fuzz: %s%u s, %llu programs (%llu/s), %llu calls (%llu/s), ", what, s,
		progs, progs / (s ? s : 1), calls, calls / (s ? s : 1));
	fprintf(stderr, "%u killed, corpus %u, %u edges, %u of %u blocks\n", all->killed, all->n,
		all->edges, all->nblocks, total);
}

/* What never did what it is for was not tried in earnest. */
static void report_done(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < ndescs; i++)
		if (descs[i]->type != C_SYS && !shared->done[i])
			fprintf(stderr, "%s %s", n++ ? "" : "fuzz: never succeeded:",
				descs[i]->name);
	if (n)
		fprintf(stderr, "\n");
}

static void child(void)
{
	sig_atomic_t seen;

	chance_seed(seed + all->progs);
	exec_init();
	cover_open();
	do {
		seen = slices;
		while (slices == seen)
			step();
	} while (now() - start < seconds);
	_exit(0);
}

/* Whether it ended in time; it is killed where it makes no progress. */
static bool look_after(pid_t pid, int *status)
{
	uint64_t beat = 0;
	time_t since = now(), shown = since;

	while (!waitpid(pid, status, WNOHANG)) {
		usleep(50000);
		if (all->beat != beat) {
			beat = all->beat;
			since = now();
		}
		if (now() - shown >= 10) {
			report("");
			shown = now();
		}
		if (now() - since > HANG_S)
			kill(pid, SIGKILL);
		if (now() - since > HANG_S + 20)
			return false;
	}
	return true;
}

static int fuzz(void)
{
	int status = 0;
	pid_t pid;

	/* One for all processes: none misses what is said between two of them */
	kmsg_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	lseek(kmsg_fd, 0, SEEK_END);
	do {
		pid = fork();
		if (!pid)
			child();
		if (!look_after(pid, &status)) {
			if (!kernel_complains())
				snprintf(shared->found, sizeof(shared->found),
					 "a process sleeps and cannot be killed");
			break;
		}
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
			snprintf(shared->found, sizeof(shared->found),
				 "the fuzzer died of signal %d", WTERMSIG(status));
		all->killed += WIFSIGNALED(status);
		kernel_complains();
	} while (WIFSIGNALED(status) && !*shared->found && now() - start < seconds);
	report("in all ");
	report_done();
	if (*shared->found)
		fprintf(stderr, "fuzz: FOUND: %s\n", shared->found);
	return !!*shared->found;
}

/* --- files --------------------------------------------------------------- */

static void load(const char *name)
{
	static char text[1 << 20];
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *p = text;
	char err[128];

	if (n < 0) {
		fprintf(stderr, "fuzz: %s: %s\n", name, strerror(errno));
		exit(2);
	}
	close(fd);
	text[n] = 0;
	while (all->n < CORPUS && prog_parse(&all->corpus[all->n], &p, err, sizeof(err)))
		all->n++;
	if (*err) {
		fprintf(stderr, "fuzz: %s: %s\n", name, err);
		exit(2);
	}
}

static void save(void)
{
	char path[4096], text[TEXT_MAX];
	unsigned int i;
	FILE *f;

	snprintf(path, sizeof(path), "%s/corpus", out);
	f = fopen(path, "w");
	for (i = all->nseeds; f && i < all->n; i++) {
		if (!all->kept[i])
			continue;
		prog_print(&all->corpus[i], text, sizeof(text));
		fprintf(f, "%s\n", text);
	}
	if (f)
		fclose(f);
}

static int list(void)
{
	unsigned int i;
	const struct arg *a;

	for (i = 0; i < ndescs; i++) {
		printf("%s", descs[i]->name);
		for (a = descs[i]->args; a->name; a++)
			printf(" %s", a->name);
		printf("\n");
	}
	return 0;
}

/* What the kernel says is for those to look at who run this. */
static int run_all(void)
{
	sigset_t alarm;
	int status = 0;
	pid_t pid;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	printf("TAP version 13\n1..%u\n", all->n);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		exec_init();
		while (all->seeds < all->n) {
			run_prog(&all->corpus[all->seeds]);
			/* A slice that ends must not end the writing of a line */
			sigprocmask(SIG_BLOCK, &alarm, NULL);
			printf("ok %u - program\n", ++all->seeds);
			fflush(stdout);
			sigprocmask(SIG_UNBLOCK, &alarm, NULL);
		}
		exec_end();
		_exit(0);
	}
	look_after(pid, &status);
	if (!*shared->found && !status)
		return 0;
	printf("# FOUND: %s\nnot ok %u - program\n",
	       *shared->found ? shared->found : "it does not end", all->seeds + 1);
	return 1;
}

static int usage(const char *word)
{
	fprintf(stderr, "fuzz: do not know '%s': see 'scripts/fuzz --help'\n", word);
	return 2;
}

int main(int argc, char **argv)
{
	bool only_run = false;
	char path[4096];
	int i;

	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return 2;
	shared = &all->shared;
	prog_init();
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--calls"))
			return list();
		if (!strcmp(argv[i], "--run"))
			only_run = true;
		else if (!strcmp(argv[i], "--verbose"))
			verbose = true;
		else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
			seconds = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--blocks") && i + 1 < argc)
			total = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--complaint") && i + 1 < argc)
			complaint_given = !regcomp(&complaint, argv[++i], REG_EXTENDED | REG_NOSUB);
		else if (!strcmp(argv[i], "--out") && i + 1 < argc)
			out = argv[++i];
		else if (*argv[i] != '-')
			load(argv[i]);
		else
			return usage(argv[i]);
	}
	start = now();
	if (only_run)
		return run_all();
	all->nseeds = all->n;
	snprintf(path, sizeof(path), "%s/running", out);
	running_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	i = fuzz();
	save();
	return i;
}
