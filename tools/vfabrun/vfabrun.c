// SPDX-License-Identifier: GPL-2.0
/*
 * vfabrun: start a program on the ranks of a domain. By example:
 *
 *	vfabrun -n 8 ./prog args		ranks 0-7
 *	vfabrun --ranks 0,4-7 ./prog		these
 *	vfabrun -n 72 -l --domain rack ./prog	output labelled by rank
 *	vfabrun --domain rack/part1 ./prog	the members of this partition
 *	vfabrun --memfd -n 8 ./prog		without the module, on a memfd
 *	vfabrun --nodes vm0,vm1 ./prog		the ranks of a domain that two VMs share
 *
 * The first process that fails ends the others, and its status is vfabrun's.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../output.h"
#include "vfabrun.h"

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
"      --nodes=HOST,...  over these nodes of the domain's backplane: each starts the\n"
"                        ranks that the domain places there; or HOST=RANKS, for one\n"
"                        host with its ranks; may be repeated\n"
"      --node-command=T  how to run something on a node: a shell's words, in which {host}\n"
"                        and {command} are replaced by one word each\n"
"                        (default: ssh -o BatchMode=yes {host} {command})\n"
"      --node-timeout=S  a node that says nothing for S seconds is lost (default 30)\n"
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

struct job job = { .role = &local_role, .grace = 5, .silence = 30, .drain = 1 };

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Under the name that it was started by: vfabperf starts its ranks by vfabrun. */
void say(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int fail(const char *what, const char *why)
{
	say("%s: %s", what, why);
	return EXIT_USAGE;
}

int misused(const char *what, const char *why)
{
	say("%s: %s", what, why);
	fputs("see 'vfabrun --help'\n", stderr);
	return EXIT_USAGE;
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

static bool is_node(const char *domain)
{
	return domain && !strncmp(domain, "backplane:", 10);
}

/* Of another transport: what the module says is not of this domain. */
static bool elsewhere(const char *domain)
{
	return is_node(domain) || (domain && !strncmp(domain, "memfd:", 6));
}

int main(int argc, char **argv)
{
	enum {
		RANKS = 256, DOMAIN, MEMFD, NODES, COMMAND, SILENCE, TIMEOUT, GRACE, KEEP,
		AGENT, HERE
	};
	static const struct option options[] = {
		{ "ntasks", 1, NULL, 'n' }, { "ranks", 1, NULL, RANKS },
		{ "domain", 1, NULL, DOMAIN }, { "memfd", 0, NULL, MEMFD },
		{ "nodes", 1, NULL, NODES }, { "node-command", 1, NULL, COMMAND },
		{ "node-timeout", 1, NULL, SILENCE },
		{ "timeout", 1, NULL, TIMEOUT },
		{ "grace", 1, NULL, GRACE }, { "keep-going", 0, NULL, KEEP },
		{ "label", 0, NULL, 'l' }, { "quiet", 0, NULL, 'q' },
		{ "help", 0, NULL, 'h' },
		{ "version", 0, NULL, 'V' },
		/* For agents, see agent.c */
		{ "agent", 1, NULL, AGENT }, { "here", 1, NULL, HERE }, { NULL, 0, NULL, 0 }
	};
	const char *list = NULL, *agent = NULL, *here = NULL, *command = NULL;
	struct vfab_info info;
	double v, n = 0;
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
			break;
		case MEMFD:
			job.memfd = true;
			break;
		case NODES:
			ret = nodes_add(optarg);
			if (ret)
				return ret;
			break;
		case COMMAND:
			command = optarg;
			break;
		case AGENT:
			agent = optarg;
			break;
		case HERE:
			here = optarg;
			break;
		case TIMEOUT:
		case GRACE:
		case SILENCE:
			if (!number(optarg, 1e9, &v))
				return misused(c == GRACE ? "--grace" : c == TIMEOUT ? "--timeout" :
					       "--node-timeout",
					       "not a number of seconds above 0, up to 1000000000");
			if (c == GRACE)
				job.grace = v;
			else if (c == TIMEOUT)
				job.timeout = v;
			else
				job.silence = v;
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
	if (job.memfd && job.domain && strcmp(job.domain, "memfd"))
		return misused("--domain", "with --memfd, there is no domain");
	job.memfd |= job.domain && !strcmp(job.domain, "memfd");
	if (job.memfd && list)
		return misused("--ranks", "with --memfd, ranks are 0 to N - 1");
	if (job.memfd && nodes_given())
		return misused("--nodes", "with --memfd, all ranks are on this machine");
	if (command && !nodes_given())
		return misused("--node-command", "goes with --nodes");
	if (nodes_given())
		return finish(nodes_run(command ? command : "ssh -o BatchMode=yes {host} {command}",
					n, list, argv + optind));
	ret = job.memfd ? make_memfd(n) : 0;
	if (ret)
		return ret;
	ret = vfab_find(job.domain, NULL, 0, &info);
	if (ret)
		return fail("domain", vfab_strerror(ret));
	job.memfd |= elsewhere(job.domain ? job.domain : getenv("VFAB_DOMAIN"));
	ret = choose_ranks(n, list, &info);
	if (ret)
		return ret;
	if (is_node(job.domain ? job.domain : getenv("VFAB_DOMAIN"))) {
		if (job.size > 1)
			return misused("--ranks",
				       "one process is one node of a backplane: give one rank");
		memset(job.node, 0xff, sizeof(job.node));	/* VFAB_NODE_NONE */
	}
	if (agent)
		return agent_run(strtoul(agent, NULL, 10), here, &info, argv + optind);
	ret = check_here(&info);
	return ret ? ret : finish(local_run(argv + optind));
}
