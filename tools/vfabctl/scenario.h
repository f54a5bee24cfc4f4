/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vfabctl scenario: a file, and one run of it.
 *
 *	scenario.c		the verbs, and the order of a run
 *	scenario_read.c		from a file to struct scenario; scenario_map.c and
 *	scenario_value.c	help
 *	scenario_vars.c		$names, and what a seed chooses
 *	scenario_proc.c		processes, and what they print
 *	scenario_step.c		domains, commands, steps
 *	scenario_verdict.c	what came out
 *	scenario_guard.c	the end, if the run cannot see to it
 */
#ifndef VFABCTL_SCENARIO_H
#define VFABCTL_SCENARIO_H

#include <sys/types.h>
#include "yaml_tree.h"

#define MAX_WORLD	1024	/* VFAB_MAX_WORLD, which the reader does without */

/* Whatever a file holds, it is no more than this */
#define MAX_SCENARIO	(64 << 10)	/* bytes */
#define MAX_ROWS	64		/* of each of its lists and maps */
#define MAX_OPTIONS	32		/* to choose from */
#define MAX_SECONDS	3600

/* A value as it stands there; s is NULL where it does not */
struct text {
	const char *s;
	uint32_t line;
};

struct texts {
	struct text *v;
	uint32_t n;
};

/**
 * struct choice - what the seed chooses
 * @name: of the variable; @spec: as it stands in the file
 * @lo, @hi: a number of this range; or
 * @options: one of these
 * @other: not what this variable is, or NULL
 */
struct choice {
	struct text name, spec;
	uint64_t lo, hi;
	struct texts options;
	const char *other;
};

/**
 * struct domain - what a run creates and deletes
 * @name: of the variable that holds its name; @id: of the one with its number
 */
struct domain {
	struct text name;
	struct text args;
	const char *id;
};

/**
 * struct program - what is started on ranks
 * @run: words
 * @ranks: a list, all or none (one process without a rank)
 * @in: address of the domain, partition or channel
 * @env: NAME=VALUE
 * @user: its uid; @ready: what each prints when it is; @operation: what begins the
 *	line that each prints per operation
 * @under_test: --under-test stands for it
 */
struct program {
	struct text name;
	struct texts run, env;
	struct text ranks, in, user, ready, operation;
	bool under_test;
};

/* When a step is due; its argument is in step.when_arg */
enum when { AT_ONCE, WHEN_READY, WHEN_EXIT, WHEN_OPERATION, WHEN_SAYS };

/**
 * struct step - one point of a run
 * @start, @run, @shell, @signal: what to do; the last two are words of a shell,
 *	and a signal for @ranks of @program
 * @expect: the exit status that @run must have, which is part of the verdict
 * @fault: --no-fault leaves it out
 */
struct step {
	struct text name, when, program, ranks, after, within;
	struct text start, shell, signal, expect, says;
	struct texts run;
	bool fault;
	enum when point;
	const char *when_arg;
	uint32_t line;
};

enum judge {
	JUDGE_EXIT, JUDGE_SAYS, JUDGE_NEVER, JUDGE_COUNT, JUDGE_SUM, JUDGE_SURVIVORS,
	JUDGES
};

/**
 * struct item - one sentence of the verdict
 * @run: a command of vfabctl, whose output is judged; else that of @ranks of
 *	@program is
 * @by: how to judge; JUDGES: by the command's exit status alone
 * @what: the text, status or number
 */
struct item {
	struct text name, program, ranks, run, expect;
	struct text judges[JUDGES];
	struct text is, min, max, same, since, within;
	enum judge by;
	uint32_t line;
};

struct scenario {
	struct arena arena;
	const char *file;
	struct text name, incident, symptom, teaches, role, ends, timeout, domain;
	struct texts source, setup;
	struct domain domains[MAX_ROWS];
	struct choice choices[MAX_ROWS];
	struct program programs[MAX_ROWS];
	struct step steps[MAX_ROWS];
	struct item items[MAX_ROWS];
	uint32_t ndomains, nchoices, nprograms, nsteps, nitems;
};

/* scenario_read.c: both leave a sentence at @err; to be freed in either case */
int scenario_parse(struct scenario *s, const char *file, const void *text, size_t len,
		   char *err, size_t errlen);
int scenario_load(struct scenario *s, const char *path, char *err, size_t errlen);
void scenario_free(struct scenario *s);
const struct program *find_program(const struct scenario *s, const char *name);
bool parse_ranks(const char *text, bool ranks[MAX_WORLD]);
int parse_signal(const char *text);

/* scenario_vars.c */
struct var {
	const char *name;
	char value[64];
};

struct vars {
	struct var v[4 + 4 * MAX_ROWS];
	uint32_t n;
};

size_t var_name(const char *text, const char **end);
void vars_set(struct vars *vars, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void vars_choose(struct vars *vars, const struct scenario *s, uint64_t seed,
		 char *const *sets);
char *vars_expand(const struct vars *vars, const char *text);
char **words_split(const struct vars *vars, const char *text);
void words_free(char **words);

/* scenario_proc.c */

/**
 * struct line - one line of a process's output
 * @at: when it came, in seconds of the run
 */
struct line {
	double at;
	char *text;
};

/**
 * struct proc - a process, with all that it has printed
 * @program: NULL for a command
 * @rank: in its domain, -1: none
 * @status: as of waitpid(), once @ended is not 0
 * @ended: seconds; 0: it runs
 * @hung: it did not end in time, and was killed
 */
struct proc {
	const struct program *program;
	pid_t pid;
	int rank, status, fd;
	double ended;
	bool hung;
	struct line *lines;
	uint32_t nlines, size;
	char *part;
	size_t len, room;
};

/**
 * struct crew - all processes of a run
 * @signal: by which the run was ended, or 0; @deaf: it is being ended, and finishes
 */
struct crew {
	struct proc **procs;
	uint32_t n, size;
	double started;
	int sigfd, signal;
	bool deaf;
};

/**
 * struct job - what to start
 * @env: NAME=VALUE up to NULL; or NULL
 * @path: of the program, where it is not argv[0]
 * @domain: address, or NULL
 * @uid: -1: the caller's
 * @ranks: of the job, @n of them
 * @node: by rank
 */
struct job {
	const struct program *program;
	char **argv, **env;
	const char *path, *domain;
	long uid;
	uint32_t *ranks, n;
	const uint32_t *node;
};

int crew_init(struct crew *w);
void crew_end(struct crew *w);
double crew_now(const struct crew *w);
int crew_start(struct crew *w, const struct job *job, const char **why);
struct proc *crew_command(struct crew *w, const char *path, char **argv, double deadline);
/* Until @done says so (0), at @deadline (-ETIMEDOUT), or by a signal (-EINTR) */
int crew_wait(struct crew *w, bool (*done)(struct crew *w, void *data), void *data,
	      double deadline);
void proc_free(struct proc *p);
bool is_running(const struct proc *p);

/* scenario_step.c */
struct ctx;

/**
 * struct run - one run of a scenario
 * @under_test: words instead of the program's, or NULL
 * @sets: NAME=VALUE for choices, up to a NULL
 * @keep: directory for outputs, or NULL
 * @world, @node: of each domain, of which @created are there; @node by rank
 * @step_at: when each step was done, in seconds; negative: it was not
 * @deadline: of all of it, in seconds
 * @tmp: a directory of its own, which goes with it
 */
struct run {
	struct ctx *c;
	const struct scenario *s;
	struct crew crew;
	struct vars vars;
	uint64_t seed;
	char **under_test, *const *sets;
	const char *keep;
	bool no_fault;
	uint32_t world[MAX_ROWS], node[MAX_ROWS][MAX_WORLD], created;
	double step_at[MAX_ROWS], deadline;
	char tmp[32];
};

/* What a line of the report is about */
enum note { NOTE_DONE, NOTE_HELD, NOTE_FAILED };

void report(struct run *r, enum note what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void complain(struct run *r, const struct text *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* These three return an exit status; steps() REFUSED where the verdict has failed */
int setup(struct run *r);
int steps(struct run *r);
int programs_end(struct run *r);
void teardown(struct run *r);
struct proc *run_vfabctl(struct run *r, const char *text);
void quote_output(const struct proc *p, uint32_t lines);
int exit_status(const struct proc *p);

/* scenario_guard.c */
int guard_start(const struct scenario *s);
/* What the domain is called in the run that process @run does; VFAB_NAME_LEN + 1 bytes */
void domain_name(char *name, pid_t run, const struct domain *d);

/* scenario_verdict.c: whose output is meant, and what came out */

/**
 * struct which - ranks of a program
 * @any: one of them is enough
 */
struct which {
	const struct program *program;
	bool any, ranks[MAX_WORLD];
};

bool which_ranks(struct run *r, const struct text *program, const struct text *ranks,
		 struct which *which);
bool is_one_of(const struct which *which, const struct proc *p);
const struct line *find_line(const struct proc *p, const char *text, double from);
bool verdict(struct run *r);

#endif
