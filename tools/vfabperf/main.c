// SPDX-License-Identifier: GPL-2.0
/*
 * vfabperf: how fast a vfabric domain is, and whether it is right. By example:
 *
 *	vfabperf lat				two ranks, 8 bytes to and fro
 *	vfabperf bw -J bw.json
 *	vfabperf coll -n 72 allreduce -b 8 -e 1M
 *	vfabrun --ranks 0,36 vfabperf lat	as ranks of a job
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../output.h"
#include "vfabperf.h"

#define TAG	UINT64_C(0x7666706572660001)

/* Seconds. In nanoseconds, 64 bits must hold it, and it must not be 0. */
#define TIMEOUT_MIN	0.001
#define TIMEOUT_MAX	1e9

static const char usage[] =
"Usage: vfabperf COMMAND [OPTION]...\n"
"Measure a vfabric domain.\n"
"\n"
"  lat        latency of loads and stores between two ranks\n"
"  bw         copies to and from a peer's window, against shared memory\n"
"  doorbell   notification, against futex and eventfd\n"
"  matrix     all pairs of ranks: a map of bandwidth and latency\n"
"  coll       collectives, and whether their results are right\n"
"  tune       which algorithm a collective is done by: a table for VFAB_TUNING\n"
"\n"
"'vfabperf COMMAND --help' tells more, 'vfabperf --version' (-V) the version. Without\n"
"a launcher, vfabperf starts the ranks itself; started by vfabrun or another launcher,\n"
"it is one of them.\n"
"\n"
"Exit status: 0 done; 1 the data was wrong, or a rank was lost; 2 wrong usage\n"
"or setup, or the output could not be written; 3 timed out.\n";

static const char common_usage[] =
"      --domain=DOMAIN  name, number or device file, or a partition: rack/part1\n"
"      --memfd          on shared memory of this machine: no module, no root, no switch\n"
"      --ranks=LIST     the ranks that take part, such as 0,36 (default: the first\n"
"                       members of the partition)\n"
"  -T, --timeout=S      give up when a call takes longer (default 60)\n"
"  -J, --json=FILE      write the results to FILE as well\n"
"      --no-pin         let the processes move between CPUs\n"
"  -h, --help           show this and exit\n";

static const char *command;

static void say(const char *fmt, va_list ap)
{
	fputs("vfabperf: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

static int see_help(void)
{
	fprintf(stderr, "see 'vfabperf%s%s --help'\n", command ? " " : "",
		command ? command : "");
	return EXIT_SETUP;
}

int usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return see_help();
}

int setup_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return EXIT_SETUP;
}

/* Sizes as in nccl-tests: K, M and G are powers of 1024. */
int parse_size(const char *text, uint64_t *bytes)
{
	char *end;
	double v = strtod(text, &end);
	int shift = 0;

	switch (toupper((unsigned char)*end)) {
	case 'G':
		shift += 10;
		/* fall through */
	case 'M':
		shift += 10;
		/* fall through */
	case 'K':
		shift += 10;
		end++;
	}
	/* Not a number is neither. */
	if (end == text || *end ||
	    !(v >= 0 && v * (1 << shift) <= (UINT64_C(1) << 40)))
		return usage_error("\"%s\" is not a size such as 8 or 64K, up to 1024G", text);
	*bytes = v * (UINT64_C(1) << shift);
	return -1;
}

int parse_count(const char *text, uint64_t max, uint64_t *count)
{
	char *end;

	errno = 0;
	*count = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || *count > max)
		return usage_error("\"%s\" is not a number of 0 to %llu", text,
				   (unsigned long long)max);
	return -1;
}

/* getopt_long() that complains in this program's name, not in the command's. */
int next_option(int argc, char **argv, const char *letters,
		const struct option *all)
{
	char *command = argv[1];
	int c;

	argv[1] = program_invocation_short_name;
	c = getopt_long(argc - 1, argv + 1, letters, all, NULL);
	argv[1] = command;
	return c;
}

/* To @all: a command's own options, the common ones, the end. */
void all_options(struct option *all, const struct option *own)
{
	static const struct option common[] = {
		{ "domain", 1, NULL, 1000 }, { "ranks", 1, NULL, 1001 },
		{ "memfd", 0, NULL, 1003 },
		{ "timeout", 1, NULL, 'T' }, { "json", 1, NULL, 'J' },
		{ "no-pin", 0, NULL, 1002 }, { "help", 0, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};

	for (; own->name; own++)
		*all++ = *own;
	memcpy(all, common, sizeof(common));
}

int common_option(struct options *o, int c, const char *text)
{
	char *end;

	switch (c) {
	case 1000:
		o->domain = optarg;
		return -1;
	case 1001:
		o->list = optarg;
		return -1;
	case 1002:
		o->no_pin = true;
		return -1;
	case 1003:
		o->memfd = true;
		return -1;
	case 'J':
		o->json = optarg;
		return -1;
	case 'T':
		o->timeout = strtod(optarg, &end);
		if (end == optarg || *end || !(o->timeout >= TIMEOUT_MIN &&
					       o->timeout <= TIMEOUT_MAX))
			return usage_error("\"%s\" is not a number of seconds from %g to %.0f",
					   optarg, TIMEOUT_MIN, TIMEOUT_MAX);
		return -1;
	case 'h':
		fputs(text, stdout);
		fputs(common_usage, stdout);
		return EXIT_DONE;
	}
	return see_help();	/* getopt_long() has said why */
}

int cpu_count(void)
{
	static int n;
	cpu_set_t set;

	/* Before anything is pinned. */
	if (!n)
		n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
	return n;
}

/* To the @index-th of the CPUs that the process had at first. */
void pin_to(uint32_t index)
{
	static cpu_set_t all;
	cpu_set_t one;
	int cpu;

	if (!CPU_COUNT(&all) && sched_getaffinity(0, sizeof(all), &all))
		return;
	index %= CPU_COUNT(&all);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && !index--)
			break;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* vfabrun, from where this program is, runs it again as several ranks. */
static int launch(const struct options *o, char **argv)
{
	char self[PATH_MAX], path[PATH_MAX + 16], n[16];
	char *args[16 + 256];
	ssize_t len;
	int k = 0, i;

	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len < 0)
		return setup_error("cannot find this program: %s", strerror(errno));
	self[len] = 0;
	snprintf(n, sizeof(n), "%u", o->memfd && !o->ntasks ? 2 : o->ntasks);
	args[k++] = program_invocation_short_name;	/* it complains by this */
	args[k++] = "--quiet";
	if (o->memfd)
		args[k++] = "--memfd";
	if (o->memfd || o->ntasks) {
		args[k++] = "-n";
		args[k++] = n;
	}
	if (o->list) {
		args[k++] = "--ranks";
		args[k++] = (char *)o->list;
	}
	if (o->domain) {
		args[k++] = "--domain";
		args[k++] = (char *)o->domain;
	}
	args[k++] = strdup(self);
	for (i = 1; argv[i]; i++) {
		if (k == sizeof(args) / sizeof(args[0]) - 1)
			return usage_error("too many arguments");
		args[k++] = argv[i];
	}
	args[k] = NULL;
	snprintf(path, sizeof(path), "%s/vfabrun", dirname(self));
	execv(path, args);
	return setup_error("%s: %s", path, strerror(errno));
}

bool run_first(const struct run *r)
{
	return !r->index;
}

bool run_paced(const struct run *r)
{
	return !r->raw && vfab_view(r->ep)->shape;
}

int run_failed(const struct run *r, const char *what, int err)
{
	fprintf(stderr, "vfabperf: rank %u: %s: %s\n",
		r->ep ? vfab_info(r->ep)->rank : 0, what, vfab_strerror(err));
	switch (err) {
	case -ETIMEDOUT:
		return EXIT_TIMEOUT;
	case -ECONNRESET:
	case -EHOSTUNREACH:
		return EXIT_VERDICT;
	}
	return EXIT_SETUP;
}

int run_start(struct run *r, const struct options *o, char **argv)
{
	uint32_t rank, n;
	int ret;

	ret = vfab_env_job(&rank, r->ranks, &n);
	if (ret)
		return run_failed(r, "environment", ret);
	if (rank == VFAB_RANK_ANY)
		return json_check(o->json) ? EXIT_SETUP : launch(o, argv);
	cpu_count();
	r->argv = argv;
	r->json = o->json;
	r->timeout = o->timeout ? o->timeout : 60;
	if (!n)
		return setup_error("the launcher gave a rank, but no number of ranks");
	ret = vfab_open(&r->ep, o->domain, rank);
	if (ret)
		return run_failed(r, "attach", ret);
	for (r->index = 0; r->index < n && r->ranks[r->index] != rank; r->index++)
		;
	r->size = n;
	r->memfd = !strncmp(getenv("VFAB_DOMAIN") ? : "", "memfd:", 6);
	r->pin = !o->no_pin && n <= (uint32_t)cpu_count();
	if (r->pin)
		pin_to(r->index);
	ret = vfab_comm_create(r->ep, r->ranks, n, TAG,
			       r->timeout * VFAB_SECOND, &r->comm);
	if (ret)
		return run_failed(r, "meeting the others", ret);
	return -1;
}

/*
 * The first process that fails ends the job: where all fail by the same
 * verdict, they do so after rank 0 has written it down.
 */
int run_end(struct run *r, int status)
{
	int ret = 0;

	if (run_first(r) && r->json)
		ret = json_close();
	fflush(stdout);
	if (!status || r->agreed)
		vfab_barrier(r->comm);
	else
		vfab_comm_abort(r->comm);
	vfab_comm_destroy(r->comm);
	vfab_close(r->ep);
	return status ? status : ret;
}

static int run(int argc, char **argv)
{
	static const struct command commands[] = {
		{ "lat", lat_main }, { "bw", bw_main },
		{ "doorbell", doorbell_main }, { "matrix", matrix_main },
		{ "coll", coll_main }, { "tune", tune_main },
	};
	size_t i;

	if (argc < 2)
		return usage_error("name a command: lat, bw, doorbell, matrix, coll or tune");
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") ||
	    !strcmp(argv[1], "help")) {
		fputs(usage, stdout);
		return 0;
	}
	if (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version")) {
		puts("vfabperf " VFAB_VERSION);
		return 0;
	}
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[1], commands[i].name)) {
			command = argv[1];
			return commands[i].main(argc, argv);
		}
	return usage_error("there is no command \"%s\"", argv[1]);
}

int main(int argc, char **argv)
{
	const char *why;
	int ret;

	output_begin();
	ret = run(argc, argv);
	why = output_lost(stdout);
	if (!why)
		return ret;
	fprintf(stderr, "vfabperf: cannot write the output: %s\n", why);
	return ret ? ret : EXIT_SETUP;
}
