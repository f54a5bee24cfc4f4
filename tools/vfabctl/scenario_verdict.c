// SPDX-License-Identifier: GPL-2.0
/*
 * What came out: of the programs, their outputs and ends; of commands, what they
 * print. Each sentence is judged, and one that does not hold says why.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include "duration.h"
#include "vfabctl.h"
#include "scenario.h"

#define QUOTED	4	/* lines of one process that are shown for a failure */

/* all, any, 0-3, not 2; false, with a complaint, if it is nothing of this. */
bool which_ranks(struct run *r, const struct text *program, const struct text *ranks,
		 struct which *which)
{
	char *text = ranks->s ? vars_expand(&r->vars, ranks->s) : NULL;
	bool invert = text && !strncmp(text, "not ", 4), ok = true;
	uint32_t i;

	memset(which, 0, sizeof(*which));
	which->program = program->s ? find_program(r->s, program->s) : &r->s->programs[0];
	which->any = text && !strcmp(text, "any");
	if (!text || which->any || !strcmp(text, "all"))
		memset(which->ranks, true, sizeof(which->ranks));
	else
		ok = parse_ranks(text + 4 * invert, which->ranks);
	for (i = 0; invert && i < MAX_WORLD; i++)
		which->ranks[i] = !which->ranks[i];
	if (!ok)
		complain(r, ranks,
			 "ranks is '%s': it wants all, any, a list such as 0-3,8, or not and a list",
			 text);
	free(text);
	return ok;
}

bool is_one_of(const struct which *which, const struct proc *p)
{
	return p->program == which->program && (p->rank < 0 || which->ranks[p->rank]);
}

/* The first line with @text that came at @from seconds or later; "" is any line */
const struct line *find_line(const struct proc *p, const char *text, double from)
{
	uint32_t i;

	for (i = 0; i < p->nlines; i++)
		if (p->lines[i].at >= from && strstr(p->lines[i].text, text))
			return &p->lines[i];
	return NULL;
}

/**
 * struct judging - one sentence being judged
 * @outputs: whose are looked at: the command's, or those of ranks
 * @text: what the sentence is about, with values for names
 * @from, @to: seconds between which it must have come; @untimed: it is no matter
 * @guilty: whose output shows why it does not hold, or NULL
 */
struct judging {
	struct run *r;
	const struct item *it;
	struct which which;
	struct proc **outputs, *command;
	uint32_t n;
	const char *text;
	double from, to;
	bool untimed;
	const struct proc *guilty;
	char why[256];
};

static bool fails(struct judging *j, const struct proc *p, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static bool fails(struct judging *j, const struct proc *p, const char *fmt, ...)
{
	char who[64] = "";
	size_t len;
	va_list ap;

	if (p && p->program && p->rank >= 0)
		snprintf(who, sizeof(who), "%s rank %d ", p->program->name.s, p->rank);
	else if (p)
		snprintf(who, sizeof(who), "%s ", p->program ? p->program->name.s : "the command");
	j->guilty = p;
	len = snprintf(j->why, sizeof(j->why), "%s", who);
	va_start(ap, fmt);
	vsnprintf(j->why + len, sizeof(j->why) - len, fmt, ap);
	va_end(ap);
	return false;
}

/* Each output must satisfy @test, or one of them where any is enough. */
static bool each(struct judging *j, bool (*test)(struct judging *j, const struct proc *p))
{
	uint32_t i, ok = 0;

	for (i = 0; i < j->n; i++) {
		if (test(j, j->outputs[i]))
			ok++;
		else if (!j->which.any)
			return false;
	}
	return j->which.any ? ok : true;
}

static bool in_time(const struct judging *j, double at)
{
	return j->untimed || (at >= j->from && at <= j->to);
}

static bool ended_so(struct judging *j, const struct proc *p)
{
	int status = exit_status(p), want;
	const char *s = j->text;

	if (status == 256)
		return fails(j, p, "did not end, and was killed");
	if (!strncmp(s, "signal ", 7))
		want = 128 + atoi(s + 7);
	else
		want = strcmp(s, "nonzero") ? atoi(s) : status ? status : 256;
	if (status != want)
		return fails(j, p, WIFSIGNALED(p->status) ? "was killed by signal %d" :
			     "exited with status %d", WIFSIGNALED(p->status) ?
			     WTERMSIG(p->status) : status);
	if (!in_time(j, p->ended))
		return fails(j, p, "ended after %.2f s", p->ended - j->from);
	return true;
}

static bool said_so(struct judging *j, const struct proc *p)
{
	const struct line *l = find_line(p, j->text, j->untimed ? 0 : j->from);

	if (!l)
		return fails(j, p, "does not say '%s'", j->text);
	if (!in_time(j, l->at))
		return fails(j, p, "says '%s' after %.2f s", j->text, l->at - j->from);
	return true;
}

static bool never_said(struct judging *j, const struct proc *p)
{
	return find_line(p, j->text, 0) ? fails(j, p, "says '%s'", j->text) : true;
}

/* All numbers that stand behind @text */
static uint64_t sum_of(const struct judging *j, struct proc *const *p, uint32_t n,
		       const char *text)
{
	uint64_t sum = 0;
	const char *s;
	uint32_t i, k;

	(void)j;
	for (i = 0; i < n; i++)
		for (k = 0; k < p[i]->nlines; k++)
			for (s = p[i]->lines[k].text; (s = strstr(s, text));) {
				s += strlen(text);
				sum += isdigit((unsigned char)*s) ? strtoull(s, NULL, 10) : 0;
			}
	return sum;
}

static uint64_t count_of(const struct judging *j)
{
	uint64_t n = 0;
	uint32_t i, k;

	for (i = 0; i < j->n; i++)
		for (k = 0; k < j->outputs[i]->nlines; k++)
			n += !!strstr(j->outputs[i]->lines[k].text, j->text);
	return n;
}

static bool bound(struct judging *j, const struct text *t, uint64_t *v)
{
	char *text = t->s ? vars_expand(&j->r->vars, t->s) : NULL;
	bool there = text && parse_uint(text, v);

	free(text);
	return there;
}

/* Processes that the sentence's ranks mean; those of a command's program too */
static uint32_t of_program(const struct judging *j, struct proc **out)
{
	uint32_t i, n = 0;

	for (i = 0; i < j->r->crew.n; i++)
		if (is_one_of(&j->which, j->r->crew.procs[i]))
			out[n++] = j->r->crew.procs[i];
	return n;
}

static uint64_t same_sum(struct judging *j)
{
	struct proc **procs = calloc(j->r->crew.n + 1, sizeof(*procs));
	char *text = vars_expand(&j->r->vars, j->it->same.s);
	uint64_t sum = 0;

	if (procs && text)
		sum = sum_of(j, procs, of_program(j, procs), text);
	free(procs);
	free(text);
	return sum;
}

static bool compare(struct judging *j, uint64_t v)
{
	unsigned long long have = v;
	uint64_t b;

	if (bound(j, &j->it->is, &b) && v != b)
		return fails(j, NULL, "it is %llu, not %llu", have, (unsigned long long)b);
	if (bound(j, &j->it->min, &b) && v < b)
		return fails(j, NULL, "it is %llu, below %llu", have, (unsigned long long)b);
	if (bound(j, &j->it->max, &b) && v > b)
		return fails(j, NULL, "it is %llu, above %llu", have, (unsigned long long)b);
	if (!j->it->same.s)
		return true;
	b = same_sum(j);
	return v == b ? true : fails(j, NULL, "it is %llu, and %s comes to %llu", have,
				     j->it->same.s, (unsigned long long)b);
}

static bool survived(struct judging *j)
{
	uint32_t i, n = 0, want = atoi(j->text);

	for (i = 0; i < j->n; i++)
		n += !exit_status(j->outputs[i]);
	return n == want ? true : fails(j, NULL, "%u of %u survived, not %u", n, j->n, want);
}

/* The command's own status, as the sentence wants it */
static bool command_did(struct judging *j)
{
	char *text = vars_expand(&j->r->vars, j->it->expect.s ? j->it->expect.s : "0");
	int want = text ? atoi(text) : 0, status = exit_status(j->command);

	free(text);
	return status == want ? true :
	       fails(j, j->command, "ended with status %d, not %d", status, want);
}

static bool judge_outputs(struct judging *j)
{
	switch (j->it->by) {
	case JUDGE_EXIT:
		return each(j, ended_so);
	case JUDGE_SAYS:
		return each(j, said_so);
	case JUDGE_NEVER:
		return each(j, never_said);
	case JUDGE_COUNT:
		return compare(j, count_of(j));
	case JUDGE_SUM:
		return compare(j, sum_of(j, j->outputs, j->n, j->text));
	case JUDGE_SURVIVORS:
		return survived(j);
	default:
		return true;
	}
}

/* false: it counts from a step that was not done */
static bool times(struct judging *j)
{
	char *within;
	double s = 0;
	uint32_t i;

	j->untimed = !j->it->since.s;
	if (j->untimed)
		return true;
	for (i = 0; i < j->r->s->nsteps; i++)
		if (j->r->s->steps[i].name.s && !strcmp(j->r->s->steps[i].name.s, j->it->since.s))
			break;
	if (i == j->r->s->nsteps || j->r->step_at[i] < 0)
		return false;
	within = vars_expand(&j->r->vars, j->it->within.s);
	if (within)
		parse_seconds(within, MAX_SECONDS, &s);
	free(within);
	j->from = j->r->step_at[i];
	j->to = j->from + s;
	return true;
}

static bool judge_command(struct judging *j)
{
	/* A program's ranks are asked for only to compare with */
	if (j->r->s->nprograms && !which_ranks(j->r, &j->it->program, &j->it->ranks, &j->which))
		return false;
	j->which.any = false;
	j->untimed = true;
	j->command = run_vfabctl(j->r, j->it->run.s);
	if (!j->command)
		return fails(j, NULL, "vfabctl could not be started");
	j->outputs[0] = j->command;
	j->n = 1;
	return command_did(j) && judge_outputs(j);
}

static bool judge_program(struct judging *j)
{
	if (!which_ranks(j->r, &j->it->program, &j->it->ranks, &j->which))
		return fails(j, NULL, "its ranks make no sense");
	j->n = of_program(j, j->outputs);
	if (!j->n)
		return fails(j, NULL, "%s has no such process", j->which.program->name.s);
	if (!times(j))
		return fails(j, NULL, "step '%s' was not done", j->it->since.s);
	return judge_outputs(j);
}

static bool judge(struct run *r, const struct item *it)
{
	struct judging j = { .r = r, .it = it };
	char *text = it->by < JUDGES ? vars_expand(&r->vars, it->judges[it->by].s) : NULL;
	char *name = vars_expand(&r->vars, it->name.s);
	bool held = false;

	j.text = text ? text : "";
	j.outputs = calloc(r->crew.n + 1, sizeof(*j.outputs));
	if (j.outputs && name)
		held = it->run.s ? judge_command(&j) : judge_program(&j);
	if (held)
		report(r, NOTE_HELD, "%s", name);
	else
		report(r, NOTE_FAILED, "%s: %s", name ? name : "", j.why);
	if (!held && j.guilty)
		quote_output(j.guilty, QUOTED);
	proc_free(j.command);
	free(j.outputs);
	free(name);
	free(text);
	return held;
}

bool verdict(struct run *r)
{
	bool held = true;
	uint32_t i;

	for (i = 0; i < r->s->nitems; i++)
		held &= judge(r, &r->s->items[i]);
	return held;
}
