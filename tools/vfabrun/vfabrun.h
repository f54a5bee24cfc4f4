/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vfabrun: what its files share. A job is started in one of three roles:
 *
 *	here (local.c)		its processes are vfabrun's children
 *	over nodes (nodes.c)	each node has an agent, which vfabrun starts by a
 *				command such as ssh, and talks to by two pipes
 *	agent (agent.c)		the processes of one node are its children; what they
 *				print and how they end goes to who started it
 *
 * supervise.c is the loop that all three have.
 */
#ifndef VFABRUN_H
#define VFABRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "vfab.h"

#define EXIT_USAGE	2
#define EXIT_TIMEOUT	3
#define LINE		4096
/**
 * struct source - a file that is read when there is something
 * @fd: -1: closed
 * @control: it need not end before the job does
 */
struct source {
	int fd;
	void (*ready)(struct source *s);
	bool control;
};

struct proc;

/* A pipe from a process's output, and the part of a line that has come. */
struct out {
	struct source src;	/* first */
	struct proc *proc;
	int to;
	size_t len;
	char line[LINE];
};

struct proc {
	uint32_t rank;
	bool alive;
	pid_t pid;		/* of a child */
	struct host *host;	/* over nodes */
	struct out out[2];
};

/**
 * struct role - what differs
 * @signal: send this to every process that runs
 * @line: a process has printed it, without its end; @k is 1 for errors
 * @ended: a process has, with this status of wait()
 * @reaped: a child has
 * @tick: once a second; NULL: nothing is done
 */
struct role {
	void (*signal)(int sig);
	void (*line)(const struct proc *p, int k, const char *s, size_t len);
	void (*ended)(struct proc *p, int status);
	void (*reaped)(pid_t pid, int status);
	void (*tick)(void);
};

struct job {
	const struct role *role;
	struct proc *proc;
	uint32_t n, alive;
	uint32_t rank[VFAB_MAX_WORLD];	/* of all of the job, in its order */
	uint32_t size;			/* how many, of which @n are the role's */
	uint32_t world;			/* of the domain */
	uint32_t node[VFAB_MAX_WORLD];	/* by rank; VFAB_NODE_NONE: not known */
	const char *domain;
	bool memfd;			/* or another transport without a module */
	double timeout, grace;
	double silence;			/* seconds without a word between nodes */
	bool keep_going, label, quiet;
	int width;
	int status;
	bool ending;
	double drain;			/* seconds that output is waited for at the end */
	bool (*until)(void);		/* not NULL: supervise until this is so */
	pid_t pid;
	struct source *source[2 * VFAB_MAX_WORLD + 1];
	uint32_t sources;
};

extern struct job job;

/* vfabrun.c */
double now(void);
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int fail(const char *what, const char *why);
int misused(const char *what, const char *why);

/* ranks.c */
int read_list(const char *name, const char *list, uint32_t *ranks, uint32_t *count);
int choose_ranks(uint32_t n, const char *list, const struct vfab_info *info);
int check_here(const struct vfab_info *info);
int choose_here(const struct vfab_info *info, uint32_t index, const char *list,
		uint32_t *here, uint32_t *count);

/* supervise.c */
void watch(struct source *s);
void end_all(int status, const char *why, int sig);
void job_ended(struct proc *p, int status);
void put_line(const struct proc *p, int k, const char *s, size_t len);
int block_signals(void);
int supervise(int sigfd);

/* local.c */
extern const struct role local_role;
int local_prepare(const uint32_t *ranks, uint32_t n);
int local_start(char **argv);
int local_run(char **argv);
void local_signal(int sig);
void local_reaped(pid_t pid, int status);

/* nodes.c: --nodes, each time that it is given; then all of it */
int nodes_add(char *text);
bool nodes_given(void);
int nodes_run(const char *template, uint32_t n, const char *list, char **argv);

/* agent.c */
int agent_run(uint32_t index, const char *here, const struct vfab_info *info, char **argv);

#endif
