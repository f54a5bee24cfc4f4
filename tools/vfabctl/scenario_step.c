// SPDX-License-Identifier: GPL-2.0
/* A scenario's domains, its commands, and its steps one after the other. */
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "duration.h"
#include "vfabctl.h"
#include "scenario.h"

#define STEP_SECONDS	20	/* that a point may take, where the file does not say */
#define END_SECONDS	20	/* that programs may take after the last step */
#define COMMAND_SECONDS	60
#define LOOK_SECONDS	0.02	/* between two looks at what only the kernel knows */

/* A line of text with its time, or an object of JSON. */
void report(struct run *r, enum note what, const char *fmt, ...)
{
	static const char *const marks[] = { "", "ok: ", "FAILED: " };
	double at = crew_now(&r->crew);
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	out_text(r->c, "[%6.2f s] %s%s\n", at, marks[what], printable(text));
	out_open(r->c, NULL, '{');
	out_uint(r->c, "ms", NULL, at * 1000);
	out_str(r->c, "text", NULL, text);
	if (what != NOTE_DONE)
		out_bool(r->c, "held", what == NOTE_HELD);
	out_close(r->c, '}');
	fflush(stdout);
}

/* What is wrong with the set-up, with the line of the file. */
void complain(struct run *r, const struct text *at, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	error(r->c, "%s:%u: %s", r->s->file, at->line, text);
}

/* The last lines of what a process said. */
void quote_output(const struct proc *p, uint32_t lines)
{
	uint32_t i = p->nlines > lines ? p->nlines - lines : 0;

	for (; i < p->nlines; i++)
		fprintf(stderr, "    | %s\n", printable(p->lines[i].text));
}

/* As a shell has it; 256: it had to be killed. */
int exit_status(const struct proc *p)
{
	if (p->hung || p->status == -1)
		return 256;
	return WIFSIGNALED(p->status) ? 128 + WTERMSIG(p->status) : WEXITSTATUS(p->status);
}

static double until(const struct run *r, double seconds)
{
	double at = crew_now(&r->crew) + seconds;

	return at < r->deadline ? at : r->deadline;
}

/* Why a wait or command did not get done; @otherwise where it was neither of these */
static int interrupted(const struct run *r, int otherwise)
{
	if (r->crew.signal)
		return USAGE;
	return crew_now(&r->crew) >= r->deadline ? TIMED_OUT : otherwise;
}

/* The same program that this one is. NULL: out of memory, or not to be started. */
struct proc *run_vfabctl(struct run *r, const char *text)
{
	char **words = words_split(&r->vars, text), **argv;
	struct proc *p = NULL;
	uint32_t n = 0;

	while (words && words[n])
		n++;
	argv = calloc(n + 2, sizeof(*argv));
	if (words && argv) {
		memcpy(argv + 1, words, n * sizeof(*argv));
		argv[0] = (char *)"vfabctl";
		/* As it stands in a shell, for who copies it from there */
		p = crew_command(&r->crew, "/proc/self/exe",
				 argv + (n && !strcmp(words[0], "vfabctl")),
				 until(r, COMMAND_SECONDS));
	}
	free(argv);
	words_free(words);
	return p;
}

static int run_for_setup(struct run *r, const struct text *t, const char *command)
{
	struct proc *p = run_vfabctl(r, command);
	int ret = DONE;

	if (!p || exit_status(p)) {
		complain(r, t, "setting up failed: vfabctl %s", command);
		if (p)
			quote_output(p, 5);
		ret = interrupted(r, USAGE);
	}
	proc_free(p);
	return ret;
}

static struct addr domain_addr(const struct run *r, uint32_t i)
{
	struct addr a = { .kind = ADDR_DOM, .rank = -1, .sw = -1, .port = -1, .part = -1,
			  .chan = -1, .node = -1 };

	domain_name(a.name, getpid(), &r->s->domains[i]);
	return a;
}

struct seen {
	uint32_t id, world, *node;
};

static int see_domain(const struct vfab_nl_msg *msg, void *data)
{
	const struct nlattr *place = vfab_nl_attr(msg, VFAB_A_PLACE);
	const uint8_t *node = place ? mnl_attr_get_payload(place) : NULL;
	uint32_t nodes = get32(msg, VFAB_A_NODES), i;
	struct seen *seen = data;

	seen->id = get32(msg, VFAB_A_DOMAIN);
	seen->world = get32(msg, VFAB_A_WORLD);
	for (i = 0; i < seen->world; i++)
		seen->node[i] = node ? node[i] : i * nodes / seen->world;
	return 0;
}

static int create_domain(struct run *r, uint32_t i)
{
	const struct domain *d = &r->s->domains[i];
	struct addr a = domain_addr(r, i);
	char command[MAX_SCALAR + 64];
	struct seen seen = { .node = r->node[i] };
	int ret;

	snprintf(command, sizeof(command), "domain create %s %s", a.name, d->args.s);
	ret = run_for_setup(r, &d->args, command);
	if (ret)
		return ret;
	r->created++;
	request(r->c, VFAB_CMD_DOMAIN_GET, &a);
	ret = ask(r->c, see_domain, &seen);
	if (ret)
		return USAGE;
	vars_set(&r->vars, d->name.s, "%s", a.name);
	vars_set(&r->vars, d->id, "%u", seen.id);
	r->world[i] = seen.world;
	return DONE;
}

int setup(struct run *r)
{
	uint32_t i;
	char *text;
	int ret;

	for (i = 0; i < r->s->ndomains; i++) {
		ret = create_domain(r, i);
		if (ret)
			return ret;
	}
	for (i = 0; i < r->s->setup.n; i++) {
		text = vars_expand(&r->vars, r->s->setup.v[i].s);
		report(r, NOTE_DONE, "vfabctl %s", text ? text : "");
		free(text);
		ret = run_for_setup(r, &r->s->setup.v[i], r->s->setup.v[i].s);
		if (ret)
			return ret;
	}
	return DONE;
}

/* Also what a run that is interrupted has left; signals do not stop it. */
void teardown(struct run *r)
{
	char command[64], name[VFAB_NAME_LEN + 1];
	uint32_t i;

	r->crew.deaf = true;
	r->crew.signal = 0;
	r->deadline = crew_now(&r->crew) + COMMAND_SECONDS;
	for (i = 0; i < r->crew.n; i++)
		if (is_running(r->crew.procs[i]))
			kill(-r->crew.procs[i]->pid, SIGKILL);
	for (i = 0; i < r->created; i++) {
		domain_name(name, getpid(), &r->s->domains[i]);
		snprintf(command, sizeof(command), "domain delete %s --force", name);
		proc_free(run_vfabctl(r, command));
	}
	crew_end(&r->crew);
}

/* Which of the scenario's domains an address is in; the first where it is in none */
static uint32_t domain_of(const struct run *r, const char *address)
{
	size_t len = strcspn(address, "/");
	char name[VFAB_NAME_LEN + 1];
	uint32_t i;

	for (i = 0; i < r->created; i++) {
		domain_name(name, getpid(), &r->s->domains[i]);
		if (strlen(name) == len && !strncmp(name, address, len))
			return i;
	}
	return 0;
}

static char **expand_all(const struct run *r, const struct texts *t)
{
	char **words = calloc(t->n + 1, sizeof(*words));
	uint32_t i;

	for (i = 0; words && i < t->n; i++)
		words[i] = vars_expand(&r->vars, t->v[i].s);
	return words;
}

static int job_ranks(struct run *r, const struct program *p, uint32_t world, struct job *job)
{
	char *list = vars_expand(&r->vars, p->ranks.s);
	bool ranks[MAX_WORLD] = { false };
	uint32_t i;

	if (list && !strcmp(list, "all"))
		memset(ranks, true, world);
	else if (list && strcmp(list, "none") && !parse_ranks(list, ranks))
		complain(r, &p->ranks,
			 "ranks is \"%s\": it wants all, none, or a list such as 0-3,8",
			 list);
	for (i = 0; i < MAX_WORLD; i++)
		if (ranks[i])
			job->ranks[job->n++] = i;
	i = list && (job->n || !strcmp(list, "none"));
	free(list);
	return i ? DONE : USAGE;
}

static int start_program(struct run *r, const struct program *p, bool fault)
{
	char *in = vars_expand(&r->vars, p->in.s ? p->in.s : "");
	char *user = p->user.s ? vars_expand(&r->vars, p->user.s) : NULL;
	char **words = NULL, **env = expand_all(r, &p->env);
	uint32_t dom = domain_of(r, in ? in : ""), ranks[MAX_WORLD];
	char first[VFAB_NAME_LEN + 1];
	struct job job = {
		.program = p, .env = env, .uid = user ? atol(user) : -1, .ranks = ranks,
		.node = r->node[dom],
	};
	const char *why;
	int ret;

	domain_name(first, getpid(), &r->s->domains[0]);
	job.domain = in && *in ? in : first;
	job.argv = p->under_test ? r->under_test : NULL;
	if (!job.argv) {
		words = p->run.n == 1 ? words_split(&r->vars, p->run.v[0].s) :
			expand_all(r, &p->run);
		job.argv = words;
	}
	ret = job_ranks(r, p, r->world[dom], &job);
	if (!ret && job.argv && job.argv[0]) {
		if (job.n)
			report(r, NOTE_DONE, "%sstart %s: %s on %u rank%s of %s",
			       fault ? "fault: " : "", p->name.s, job.argv[0], job.n,
			       job.n == 1 ? "" : "s", job.domain);
		else
			report(r, NOTE_DONE, "%sstart %s: %s", fault ? "fault: " : "", p->name.s,
			       job.argv[0]);
		ret = crew_start(&r->crew, &job, &why) ? USAGE : DONE;
		if (ret)
			complain(r, &p->run.v[0], "cannot start %s: %s", job.argv[0], why);
	}
	words_free(words);
	words_free(env);
	free(user);
	free(in);
	return ret;
}

/* What a step waits for, among the processes of one program */
struct point {
	struct run *r;
	const struct step *st;
	struct which which;
	const char *text;	/* that they print */
	uint32_t times;
	bool dead;		/* it can no longer come */
};

static uint32_t count_lines(const struct proc *p, const char *text, bool first)
{
	uint32_t i, n = 0;

	for (i = 0; i < p->nlines; i++)
		n += first ? !strncmp(p->lines[i].text, text, strlen(text)) :
		     !!strstr(p->lines[i].text, text);
	return n;
}

static bool has_reached(const struct point *pt, const struct proc *p)
{
	if (pt->st->point == WHEN_EXIT)
		return !is_running(p);
	return count_lines(p, pt->text, pt->st->point == WHEN_OPERATION) >= pt->times;
}

static bool is_reached(struct crew *w, void *data)
{
	uint32_t i, all = 0, there = 0, running = 0;
	struct point *pt = data;

	for (i = 0; i < w->n; i++) {
		if (!is_one_of(&pt->which, w->procs[i]))
			continue;
		all++;
		if (has_reached(pt, w->procs[i]))
			there++;
		else if (is_running(w->procs[i]))
			running++;
	}
	pt->dead = !(pt->which.any ? there || running : all && there + running == all);
	return pt->dead || (pt->which.any ? there : there == all);
}

struct held {
	const struct which *which;
	uint32_t n;
};

static int see_held(const struct vfab_nl_msg *msg, void *data)
{
	struct held *h = data;

	h->n += get(msg, VFAB_A_HELD) && h->which->ranks[get32(msg, VFAB_A_RANK) % MAX_WORLD];
	return 0;
}

static bool never(struct crew *w, void *data)
{
	(void)w;
	(void)data;
	return false;
}

/* Do those that were started hold their endpoints? -1: they cannot any more. */
static int all_attached(struct run *r, const struct which *which)
{
	char *in = vars_expand(&r->vars, which->program->in.s ? which->program->in.s : "");
	struct addr a = domain_addr(r, domain_of(r, in ? in : ""));
	struct held held = { .which = which };
	uint32_t i, started = 0, running = 0;

	free(in);
	for (i = 0; i < r->crew.n; i++) {
		started += is_one_of(which, r->crew.procs[i]);
		running += is_one_of(which, r->crew.procs[i]) && is_running(r->crew.procs[i]);
	}
	request(r->c, VFAB_CMD_ENDPOINT_GET, &a);
	if (vfab_nl_dump(r->c->nl, see_held, &held) || running < started || !started)
		return -1;
	return held.n >= started;
}

static int wait_attached(struct run *r, struct point *pt, double deadline)
{
	int ret;

	for (;;) {
		ret = all_attached(r, &pt->which);
		pt->dead = ret < 0;
		if (ret || crew_now(&r->crew) >= deadline)
			return ret ? 0 : -ETIMEDOUT;
		ret = crew_wait(&r->crew, never, NULL, crew_now(&r->crew) + LOOK_SECONDS);
		if (ret != -ETIMEDOUT)
			return ret;
	}
}

static double time_of(struct run *r, const struct text *t, double otherwise)
{
	char *text = t->s ? vars_expand(&r->vars, t->s) : NULL;
	double seconds = otherwise;

	if (text && !parse_seconds(text, MAX_SECONDS, &seconds))
		complain(r, t, "\"%s\" is no time: it wants one such as 0.5, 200ms or 2m", text);
	free(text);
	return seconds;
}

/* Which point did not come, and by what each process would have said so */
static void report_missed(struct run *r, const struct point *pt, const struct program *p)
{
	const struct step *st = pt->st;
	char wanted[128] = "";

	if (st->point == WHEN_OPERATION)
		snprintf(wanted, sizeof(wanted), "; wanted: of each %u lines that begin with '%s'",
			 pt->times, pt->text);
	else if (st->point != WHEN_EXIT && pt->text && *pt->text)
		snprintf(wanted, sizeof(wanted), "; wanted: that each says '%s'", pt->text);
	report(r, NOTE_FAILED, "%s: when %.*s%s: %s%s", p->name.s,
	       (int)strcspn(st->when.s, " "), st->when.s,
	       st->point == WHEN_OPERATION || st->point == WHEN_SAYS ? " reached" : "",
	       pt->dead ? "its processes ended before, or did not start" : "not in time", wanted);
}

/* @text: what the point's processes print, or NULL */
static int wait_point(struct run *r, struct point *pt, const char *text)
{
	const struct step *st = pt->st;
	const struct program *p = pt->which.program;
	double deadline = until(r, time_of(r, &st->within, STEP_SECONDS));
	int ret;

	pt->times = 1;
	pt->text = text;
	if (st->point == WHEN_OPERATION) {
		pt->times = atol(text);
		pt->text = p->operation.s ? p->operation.s : "op ";
	} else if (st->point == WHEN_READY) {
		pt->text = p->ready.s;
	}
	if (st->point == WHEN_READY && !p->ready.s)
		ret = wait_attached(r, pt, deadline);
	else
		ret = crew_wait(&r->crew, is_reached, pt, deadline);
	if (!ret && !pt->dead)
		return DONE;
	ret = interrupted(r, REFUSED);
	if (ret == REFUSED)
		report_missed(r, pt, p);
	return ret;
}

static int wait_step(struct run *r, const struct step *st)
{
	struct point pt = { .r = r, .st = st };
	char *text;
	int ret = DONE;

	if (st->point != AT_ONCE) {
		if (!which_ranks(r, &st->program, &st->ranks, &pt.which))
			return USAGE;
		text = vars_expand(&r->vars, st->when_arg ? st->when_arg : "");
		ret = text ? wait_point(r, &pt, text) : USAGE;
		free(text);
	}
	if (ret || !st->after.s)
		return ret;
	crew_wait(&r->crew, never, NULL, until(r, time_of(r, &st->after, 0)));
	return interrupted(r, DONE);
}

static bool output_says(struct run *r, const struct proc *p, const struct text *t)
{
	char *text = t->s ? vars_expand(&r->vars, t->s) : NULL;
	bool yes = !text || find_line(p, text, 0);

	free(text);
	return yes;
}

/* Is it what the step expects? Where it expects nothing, it must succeed. */
static int judge_command(struct run *r, const struct step *st, const struct text *t,
			 const struct proc *p, const char *command)
{
	char *expect = vars_expand(&r->vars, st->expect.s ? st->expect.s : "0");
	int status = exit_status(p), want = expect ? atoi(expect) : 0, ret = DONE;

	free(expect);
	if (status == 256)
		ret = interrupted(r, REFUSED);
	else if (status != want)
		ret = st->expect.s ? REFUSED : USAGE;
	else if (!output_says(r, p, &st->says))
		ret = REFUSED;
	if (ret == USAGE && !r->crew.signal)
		complain(r, t, "status %d: %s", status, command);
	if (ret == REFUSED)
		report(r, NOTE_FAILED, "%s: status %d, %s", command, status, status == want ?
		       "but does not say what it should" : "which is not the one that is expected");
	if (ret == USAGE || ret == REFUSED)
		quote_output(p, 5);
	return ret;
}

static int run_commands(struct run *r, const struct step *st)
{
	struct proc *p;
	uint32_t i;
	char *text;
	int ret = DONE;

	for (i = 0; !ret && i < st->run.n; i++) {
		text = vars_expand(&r->vars, st->run.v[i].s);
		report(r, NOTE_DONE, "%svfabctl %s", st->fault ? "fault: " : "", text ? text : "");
		p = run_vfabctl(r, st->run.v[i].s);
		ret = p ? judge_command(r, st, &st->run.v[i], p, text ? text : "") : USAGE;
		proc_free(p);
		free(text);
	}
	return ret;
}

static int run_shell(struct run *r, const struct step *st)
{
	char *text = vars_expand(&r->vars, st->shell.s);
	char *argv[4] = { (char *)"sh", (char *)"-c", text };
	struct proc *p = NULL;
	int ret = USAGE;

	if (text) {
		report(r, NOTE_DONE, "%s%s", st->fault ? "fault: " : "", text);
		p = crew_command(&r->crew, NULL, argv, until(r, COMMAND_SECONDS));
	}
	if (p)
		ret = judge_command(r, st, &st->shell, p, text);
	proc_free(p);
	free(text);
	return ret;
}

static int send_signal(struct run *r, const struct step *st)
{
	char *name = vars_expand(&r->vars, st->signal.s);
	int sig = name ? parse_signal(name) : 0;
	struct which which = { 0 };
	uint32_t i, n = 0;
	char *ranks;

	if (!sig || !which_ranks(r, &st->program, &st->ranks, &which)) {
		complain(r, &st->signal,
			 "\"%s\" is no signal that a scenario sends",
			 name ? name : "");
		free(name);
		return USAGE;
	}
	for (i = 0; i < r->crew.n; i++)
		if (is_one_of(&which, r->crew.procs[i]) && is_running(r->crew.procs[i]) &&
		    !kill(r->crew.procs[i]->pid, sig))
			n++;
	ranks = st->ranks.s ? vars_expand(&r->vars, st->ranks.s) : NULL;
	report(r, NOTE_DONE,
	       "%ssignal %s to %s%s%s, %u process%s",
	       st->fault ? "fault: " : "", name,
	       which.program->name.s, ranks ? " rank " : "", ranks ? ranks : "", n,
	       n == 1 ? "" : "es");
	free(ranks);
	free(name);
	return DONE;
}

static int do_step(struct run *r, const struct step *st)
{
	char *text;

	if (st->start.s)
		return start_program(r, find_program(r->s, st->start.s), st->fault);
	if (st->run.n)
		return run_commands(r, st);
	if (st->shell.s)
		return run_shell(r, st);
	if (st->signal.s)
		return send_signal(r, st);
	text = vars_expand(&r->vars, st->when.s ? st->when.s : "waited");
	report(r, NOTE_DONE, "%s: %s", !st->when.s ? st->after.s : st->program.s ? st->program.s :
	       r->s->programs[0].name.s, text ? text : "");
	free(text);
	return DONE;
}

int steps(struct run *r)
{
	uint32_t i;
	int ret;

	for (i = 0; i < r->s->nsteps; i++)
		r->step_at[i] = -1;
	for (i = 0; i < r->s->nsteps; i++) {
		if (r->s->steps[i].fault && r->no_fault)
			continue;
		ret = wait_step(r, &r->s->steps[i]);
		r->step_at[i] = crew_now(&r->crew);
		if (!ret)
			ret = do_step(r, &r->s->steps[i]);
		if (ret)
			return ret;
	}
	return DONE;
}

static bool all_ended(struct crew *w, void *data)
{
	uint32_t i;

	(void)data;
	for (i = 0; i < w->n; i++)
		if (is_running(w->procs[i]))
			return false;
	return true;
}

/* After the last step: programs end by themselves, or are ended and noted. */
int programs_end(struct run *r)
{
	uint32_t i;
	int ret;

	if (!crew_wait(&r->crew, all_ended, NULL, until(r, time_of(r, &r->s->ends, END_SECONDS))))
		return DONE;
	ret = interrupted(r, DONE);
	for (i = 0; i < r->crew.n; i++) {
		if (!is_running(r->crew.procs[i]))
			continue;
		r->crew.procs[i]->hung = true;
		kill(-r->crew.procs[i]->pid, SIGKILL);
	}
	r->crew.deaf = true;
	crew_wait(&r->crew, all_ended, NULL, crew_now(&r->crew) + COMMAND_SECONDS);
	return ret;
}
