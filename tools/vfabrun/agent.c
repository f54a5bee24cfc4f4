// SPDX-License-Identifier: GPL-2.0
/*
 * vfabrun --agent: the processes of one node, for a vfabrun elsewhere (nodes.c).
 * What goes to that one on standard output, each a line:
 *
 *	vfabrun-agent VERSION		first of all
 *	job WORLD RANKS			all ranks of the job, and
 *	here RANKS			those of this node, in the job's order, or nothing
 *	out RANK K LENGTH		a process printed a line (K 1: to its standard
 *					error): LENGTH bytes follow, which have no end of line
 *	end RANK STATUS			a process ended, as wait() says
 *	beat				once a second
 *
 * What comes, on standard input:
 *
 *	go				start them; nothing is started before
 *	signal N			to all that run
 *	beat				once a second
 *
 * The end of the input, or --node-timeout seconds without a line of it, means that nobody is
 * there any more: the processes are killed.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "vfabrun.h"

static double heard;

static void agent_line(const struct proc *p, int k, const char *s, size_t len)
{
	printf("out %u %d %zu\n", p->rank, k, len);
	fwrite(s, 1, len, stdout);
	fflush(stdout);
}

static void agent_ended(struct proc *p, int status)
{
	p->alive = false;
	job.alive--;
	/* Who waits for the end wants the output that came before */
	printf("end %u %d\n", p->rank, status);
	fflush(stdout);
}

static void abandoned(void)
{
	local_signal(SIGKILL);
	_exit(EXIT_USAGE);
}

static void agent_tick(void)
{
	puts("beat");
	if (fflush(stdout) || now() - heard > job.silence)
		abandoned();
}

static const struct role agent_role = {
	.signal = local_signal,
	.line = agent_line,
	.ended = agent_ended,
	.reaped = local_reaped,
	.tick = agent_tick,
};

static void command(const char *line)
{
	int sig;

	heard = now();
	if (sscanf(line, "signal %d", &sig) == 1)
		local_signal(sig);
}

/* One line, without its end; false: there will be none. */
static bool read_line(char *line, size_t size)
{
	size_t len = 0;

	while (len < size && read(STDIN_FILENO, line + len, 1) == 1)
		if (line[len++] == '\n') {
			line[len - 1] = 0;
			return true;
		}
	return false;
}

static void take_command(struct source *s)
{
	char line[64];

	(void)s;
	if (!read_line(line, sizeof(line)))
		abandoned();
	command(line);
}

static void print_list(const uint32_t *ranks, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		printf("%s%u", i ? "," : " ", ranks[i]);
	putchar('\n');
}

/**
 * agent_run - start and serve what of the job is for this node
 * @index: of the node
 * @list: ranks that are for it; NULL: those that the domain places here
 */
int agent_run(uint32_t index, const char *list, const struct vfab_info *info, char **argv)
{
	static struct source input = { STDIN_FILENO, take_command, true };
	uint32_t here[VFAB_MAX_WORLD], n;
	char line[64];
	int ret, sigfd;

	ret = choose_here(info, index, list, here, &n);
	if (!ret)
		ret = local_prepare(here, n);
	if (ret)
		return ret;
	printf("vfabrun-agent %s\njob %u", VFAB_VERSION, job.world);
	print_list(job.rank, job.size);
	printf("here");
	print_list(here, n);
	fflush(stdout);
	do {
		if (!read_line(line, sizeof(line)))
			return EXIT_USAGE;
	} while (strcmp(line, "go"));
	heard = now();
	job.role = &agent_role;
	sigfd = block_signals();
	ret = local_start(argv);
	if (ret)
		return ret;
	watch(&input);
	return supervise(sigfd);
}
