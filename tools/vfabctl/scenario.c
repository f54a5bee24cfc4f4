// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios: incidents that can be replayed, from a seed, against a program of
 * one's own. Documentation/scenarios.rst says how a file is written.
 */
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "topo.h"
#include "duration.h"
#include "vfabctl.h"
#include "scenario.h"

#ifndef SCENARIO_DIR
#define SCENARIO_DIR "/usr/local/share/vfabric/scenarios"
#endif

#define RUN_SECONDS	60	/* of a whole run, where the file does not say */

static const struct places places = {
	.what = "scenario",
	.env = "VFAB_SCENARIO_PATH",
	.installed = "../share/vfabric/scenarios",
	.built = "scenarios",
	.fixed = SCENARIO_DIR,
};

/* A command of vfabctl that is plainly none; options and variables are let pass. */
static bool is_wrong(struct ctx *c, const struct scenario *s, const struct text *t)
{
	char object[32] = "", verb[32] = "";

	if (!t->s || sscanf(t->s, "%31s %31s", object, verb) < 1 || *object == '-' ||
	    strpbrk(object, "$'\"") || is_command(object, strpbrk(verb, "$'\"") ? "" : verb))
		return false;
	error(c, "%s:%u: vfabctl has no command \"%s%s%s\"", s->file, t->line, escaped(object),
	      *verb ? " " : "", escaped(verb));
	return true;
}

static int check_commands(struct ctx *c, const struct scenario *s)
{
	bool wrong = false;
	uint32_t i, k;

	for (i = 0; i < s->setup.n; i++)
		wrong |= is_wrong(c, s, &s->setup.v[i]);
	for (i = 0; i < s->nsteps; i++)
		for (k = 0; k < s->steps[i].run.n; k++)
			wrong |= is_wrong(c, s, &s->steps[i].run.v[k]);
	for (i = 0; i < s->nitems; i++)
		wrong |= is_wrong(c, s, &s->items[i].run);
	return wrong ? USAGE : DONE;
}

/* A path has a slash or a suffix, a name has neither. */
static int load(struct ctx *c, const char *what, struct scenario *s)
{
	static char path[PATH_MAX];
	char err[TOPO_ERR_LEN] = "";
	size_t len = strlen(what);
	struct load l;
	int ret = 0;

	load_init(&l, NULL, err, sizeof(err));
	if (strchr(what, '/') || (len > 5 && !strcmp(what + len - 5, ".yaml")))
		snprintf(path, sizeof(path), "%s", what);
	else
		ret = find_named(&l, &places, what, path, sizeof(path));
	if (!ret)
		ret = scenario_load(s, path, err, sizeof(err));
	*c->subject = 0;
	if (!ret)
		return check_commands(c, s);
	error(c, "%s", err);
	return USAGE;
}

static void out_or_null(struct ctx *c, const char *key, const struct text *t)
{
	if (t->s)
		out_str(c, key, NULL, t->s);
	else
		out_null(c, key, NULL, NULL);
}

/* "incident 14", or nothing, as a column */
static void list_one(struct ctx *c, const struct scenario *s)
{
	item(c, "%s", s->name.s);
	out_str(c, "name", NULL, s->name.s);
	out_or_null(c, "incident", &s->incident);
	out_or_null(c, "role", &s->role);
	out_or_null(c, "symptom", &s->symptom);
	out_str(c, "file", NULL, s->file);
	if (s->incident.s)
		out_text(c, " incident %s:", printable(s->incident.s));
	out_text(c, " %s", printable(s->symptom.s ? s->symptom.s : s->teaches.s));
	item_end(c);
}

static void show_texts(struct ctx *c, const char *key, const struct texts *t)
{
	uint32_t i;

	out_open(c, key, '[');
	for (i = 0; i < t->n; i++) {
		out_str(c, "", NULL, t->v[i].s);
		out_text(c, "\n  %-9s %s", i ? "" : key, printable(t->v[i].s));
	}
	out_close(c, ']');
}

static void show_field(struct ctx *c, const char *key, const struct text *t)
{
	out_or_null(c, key, t);
	if (t->s)
		out_text(c, "\n  %-9s %s", key, printable(t->s));
}

static void show_choices(struct ctx *c, const struct scenario *s)
{
	uint32_t i;

	out_open(c, "choose", '{');
	for (i = 0; i < s->nchoices; i++) {
		out_str(c, s->choices[i].name.s, NULL, s->choices[i].spec.s);
		out_text(c, "\n  choose    %s: %s", s->choices[i].name.s,
			 printable(s->choices[i].spec.s));
	}
	out_close(c, '}');
}

static void show_programs(struct ctx *c, const struct scenario *s)
{
	const struct program *p;
	uint32_t i, k;

	out_open(c, "programs", '[');
	for (i = 0; i < s->nprograms; i++) {
		p = &s->programs[i];
		out_text(c, "\n  program   %s on %s:", p->name.s, printable(p->ranks.s));
		for (k = 0; k < p->run.n; k++)
			out_text(c, " %s", printable(p->run.v[k].s));
		out_text(c, "%s", p->under_test ? " (--under-test stands for it)" : "");
		if (p->ready.s)
			out_text(c, "\n            is ready when it says %s",
				 printable(p->ready.s));
		out_open(c, NULL, '{');
		out_str(c, "name", NULL, p->name.s);
		out_str(c, "ranks", NULL, p->ranks.s);
		out_open(c, "run", '[');
		for (k = 0; k < p->run.n; k++)
			out_str(c, "", NULL, p->run.v[k].s);
		out_close(c, ']');
		out_bool(c, "under_test", p->under_test);
		out_or_null(c, "ready", &p->ready);
		out_or_null(c, "operation", &p->operation);
		out_close(c, '}');
	}
	out_close(c, ']');
}

static const char *action(const struct step *st)
{
	return st->start.s ? "start" : st->run.n ? "vfabctl" : st->shell.s ? "sh -c" :
	       st->signal.s ? "signal" : "wait";
}

static const char *object(const struct step *st)
{
	return st->start.s ? st->start.s : st->run.n ? st->run.v[0].s : st->shell.s ? st->shell.s :
	       st->signal.s ? st->signal.s : "";
}

static void show_steps(struct ctx *c, const struct scenario *s)
{
	const struct step *st;
	uint32_t i;

	out_open(c, "steps", '[');
	for (i = 0; i < s->nsteps; i++) {
		st = &s->steps[i];
		out_text(c, "\n  step      ");
		if (st->when.s)
			out_text(c, "when %s: ", printable(st->when.s));
		if (st->after.s)
			out_text(c, "after %s: ", printable(st->after.s));
		out_text(c, "%s%s%s%s", action(st), *object(st) ? " " : "",
			 printable(object(st)), st->fault ? "  <- the fault" : "");
		out_open(c, NULL, '{');
		out_or_null(c, "when", &st->when);
		out_or_null(c, "after", &st->after);
		out_str(c, "action", NULL, action(st));
		out_str(c, "what", NULL, object(st));
		out_bool(c, "fault", st->fault);
		out_close(c, '}');
	}
	out_close(c, ']');
}

/* The sentence, and how it is judged: what a program under test must come to */
static void show_item(struct ctx *c, const struct item *it)
{
	static const char *const judgements[] = {
		"exit", "says", "never", "count", "sum", "survivors",
	};

	out_open(c, NULL, '{');
	out_str(c, "name", NULL, it->name.s);
	out_text(c, "\n  verdict   %s", printable(it->name.s));
	if (it->by < JUDGES) {
		out_str(c, judgements[it->by], NULL, it->judges[it->by].s);
		out_text(c, ": %s %s", judgements[it->by], printable(it->judges[it->by].s));
	}
	out_close(c, '}');
}

static void show_one(struct ctx *c, const struct scenario *s)
{
	uint32_t i;

	item(c, "%s", s->name.s);
	out_str(c, "name", NULL, s->name.s);
	show_field(c, "incident", &s->incident);
	show_texts(c, "source", &s->source);
	show_field(c, "symptom", &s->symptom);
	show_field(c, "teaches", &s->teaches);
	show_field(c, "role", &s->role);
	out_str(c, "file", NULL, s->file);
	out_text(c, "\n  file      %s", printable(s->file));
	show_choices(c, s);
	show_programs(c, s);
	show_steps(c, s);
	out_open(c, "verdict", '[');
	for (i = 0; i < s->nitems; i++)
		show_item(c, &s->items[i]);
	out_close(c, ']');
	item_end(c);
}

static int with_one(struct ctx *c, const char *what,
		    void (*use)(struct ctx *c, const struct scenario *s))
{
	struct scenario *s = malloc(sizeof(*s));
	int ret = USAGE;

	if (!s) {
		error(c, "out of memory");
		return USAGE;
	}
	ret = load(c, what, s);
	if (!ret)
		use(c, s);
	scenario_free(s);
	free(s);
	return ret;
}

/* A file that is wrong does not hide the others. */
static int list_all(struct ctx *c)
{
	int n, i, ret = DONE;
	char **names;

	n = find_names(&places, &names);
	if (n <= 0) {
		error(c, n ? "out of memory" :
		      "no scenarios were found: say where they are in VFAB_SCENARIO_PATH");
		if (!n)
			topo_names_free(names);
		return USAGE;
	}
	for (i = 0; i < n; i++)
		ret |= with_one(c, names[i], list_one);
	topo_names_free(names);
	return ret;
}

static int show(struct ctx *c, int argc, char **argv)
{
	const char *pos[1];

	args_parse(c, argc, argv, NULL, 0, 1, pos);
	return pos[0] ? with_one(c, pos[0], show_one) : list_all(c);
}

static void check_one(struct ctx *c, const struct scenario *s)
{
	item(c, "%s", s->file);
	out_str(c, "name", NULL, s->name.s);
	out_bool(c, "ok", true);
	out_text(c, " ok");
	item_end(c);
}

static int check(struct ctx *c, int argc, char **argv)
{
	const char *pos[1];

	args_parse(c, argc, argv, NULL, 1, 1, pos);
	return with_one(c, pos[0], check_one);
}

/* Samples, and this program, are found by name */
static void set_path(void)
{
	const char *old = getenv("PATH");
	char dir[PATH_MAX], *path;
	ssize_t len = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

	dir[len < 0 ? 0 : len] = 0;
	if (!strchr(dir, '/'))
		return;
	*strrchr(dir, '/') = 0;
	if (asprintf(&path, "%s:%s/samples:%s/../lib/vfabric/samples:%s", dir, dir, dir,
		     old ? old : "/usr/bin:/bin") < 0)
		return;
	setenv("PATH", path, 1);
	free(path);
}

/* Each process's output in a file of its own. */
static void keep_outputs(struct run *r)
{
	const struct proc *p;
	char path[PATH_MAX];
	uint32_t i, k;
	FILE *f;

	for (i = 0; r->keep && i < r->crew.n; i++) {
		p = r->crew.procs[i];
		if (p->rank < 0)
			snprintf(path, sizeof(path), "%s/%s.out", r->keep, p->program->name.s);
		else
			snprintf(path, sizeof(path), "%s/%s.%d.out", r->keep,
				 p->program->name.s, p->rank);
		f = fopen(path, "ae");
		if (!f) {
			error(r->c, "cannot keep %s: %s", path, strerror(errno));
			return;
		}
		for (k = 0; k < p->nlines; k++)
			fprintf(f, "%s\n", p->lines[k].text);
		fclose(f);
	}
}

/* $tmp, for the files of its steps */
static int make_tmp(struct run *r)
{
	strcpy(r->tmp, "/tmp/vfab-scenario-XXXXXX");
	if (!mkdtemp(r->tmp)) {
		error(r->c, "cannot make a directory in /tmp: %s", strerror(errno));
		*r->tmp = 0;
		return USAGE;
	}
	vars_set(&r->vars, "tmp", "%s", r->tmp);
	return DONE;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

static int run_steps(struct run *r)
{
	int ret;

	ret = make_tmp(r);
	if (!ret)
		ret = setup(r);
	if (!ret)
		ret = steps(r);
	if (ret == REFUSED) {
		/* Decided: what still runs is shown as it is */
		r->deadline = crew_now(&r->crew);
		programs_end(r);
		r->deadline = r->crew.n ? crew_now(&r->crew) + RUN_SECONDS : r->deadline;
		r->crew.deaf = false;
	} else if (!ret) {
		ret = programs_end(r);
	}
	return ret;
}

static int judge_run(struct run *r, int ret)
{
	if (ret != DONE && ret != REFUSED)
		return ret;
	out_close(r->c, ']');
	out_open(r->c, "verdict", '[');
	if (!verdict(r))
		ret = REFUSED;
	return ret;
}

static int finish_run(struct run *r, int ret)
{
	static const char *const words[] = { "held", "failed", "no verdict: the set-up is broken",
					     "no verdict: the time is up" };
	int sig = r->crew.signal;

	keep_outputs(r);
	teardown(r);
	if (*r->tmp)
		nftw(r->tmp, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	out_close(r->c, ']');
	out_str(r->c, "result", NULL, words[ret]);
	out_uint(r->c, "ms", NULL, crew_now(&r->crew) * 1000);
	out_text(r->c, "[%6.2f s] %s: %s\n", crew_now(&r->crew), r->s->name.s,
		 sig ? "interrupted" : words[ret]);
	return sig ? 128 + sig : ret;
}

static int run_one(struct ctx *c, const struct scenario *s, struct run *r)
{
	char *limit = NULL;
	double s_limit = RUN_SECONDS;
	int ret;

	r->c = c;
	r->s = s;
	vars_choose(&r->vars, s, r->seed, r->sets);
	if (s->timeout.s)
		limit = vars_expand(&r->vars, s->timeout.s);
	if (limit)
		parse_seconds(limit, MAX_SECONDS, &s_limit);
	free(limit);
	ret = guard_start(s);
	if (!ret)
		ret = crew_init(&r->crew);
	if (ret) {
		error(c, "cannot start: %s", strerror(-ret));
		return USAGE;
	}
	r->deadline = s_limit;
	set_path();
	out_open(c, NULL, '[');
	c->out.opened = c->json;	/* out_finish() closes it */
	out_open(c, NULL, '{');
	out_str(c, "name", NULL, s->name.s);
	out_uint(c, "seed", NULL, r->seed);
	out_bool(c, "fault", !r->no_fault);
	out_open(c, "steps", '[');
	out_text(c, "[%6.2f s] %s, seed %llu%s\n", 0.0, s->name.s, (unsigned long long)r->seed,
		 r->no_fault ? ", without the fault" : "");
	ret = finish_run(r, judge_run(r, run_steps(r)));
	out_close(c, '}');
	return ret;
}

/* What stands behind --under-test is the user's, options included. */
static int cut_under_test(struct ctx *c, int argc, char **argv, char ***words)
{
	int i;

	for (i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--under-test"))
			continue;
		*words = argv + i + 1;
		if (**words && !strcmp(**words, "--"))
			(*words)++;
		if (!**words)
			usage(c, "--under-test wants a command");
		return i;
	}
	return argc;
}

/* --set NAME=VALUE, of what the seed would choose */
static void check_sets(struct ctx *c, const struct scenario *s, char *const *sets)
{
	const char *equals;
	uint32_t i;

	for (; *sets; sets++) {
		equals = strchr(*sets, '=');
		for (i = 0; equals && i < s->nchoices; i++)
			if (!strncmp(s->choices[i].name.s, *sets, equals - *sets) &&
			    !s->choices[i].name.s[equals - *sets])
				break;
		if (!equals || i == s->nchoices)
			usage(c,
			      "--set \"%s\" is not NAME=VALUE of what %s chooses: see 'vfabctl scenario show %s'",
			      escaped(*sets), s->name.s, s->name.s);
		if (strlen(equals + 1) > 60)
			usage(c, "--set \"%s\" is longer than 60 bytes", escaped(*sets));
	}
}

static bool has_program_to_test(const struct scenario *s)
{
	uint32_t i;

	for (i = 0; i < s->nprograms; i++)
		if (s->programs[i].under_test)
			return true;
	return false;
}

static int run(struct ctx *c, int argc, char **argv)
{
	const char *seed = NULL, *keep = NULL, *pos[1];
	char *sets[MAX_SETS + 1];
	struct run r = { .seed = 0 };
	const struct opt opts[] = {
		{ "seed", &seed, NULL },
		{ "keep", &keep, NULL },
		{ "no-fault", NULL, &r.no_fault },
		{ NULL, NULL, NULL }
	};
	struct scenario *s;
	struct stat st;
	int ret;

	argc = cut_under_test(c, argc, argv, &r.under_test);
	argc = args_sets(c, argc, argv, sets);
	args_parse(c, argc, argv, opts, 1, 1, pos);
	r.seed = seed ? arg_hex(c, "seed", seed) : (uint64_t)time(NULL) & 0xffff;
	r.keep = keep;
	if (keep && (stat(keep, &st) || !S_ISDIR(st.st_mode)))
		usage(c, "--keep \"%s\" is no directory: make it first", escaped(keep));
	s = malloc(sizeof(*s));
	if (!s) {
		error(c, "out of memory");
		return USAGE;
	}
	ret = load(c, pos[0], s);
	if (!ret && r.under_test && !has_program_to_test(s))
		usage(c, "scenario %s has no program that --under-test may stand for", s->name.s);
	if (!ret) {
		check_sets(c, s, sets);
		r.sets = sets;
		request(c, VFAB_CMD_DOMAIN_GET, NULL);	/* ends here without a module */
		ret = run_one(c, s, &r);
	}
	scenario_free(s);
	free(s);
	return ret;
}

const struct verb scenario_verbs[] = {
	{ "show list ls", show, "[NAME | FILE]",
	  "Show what a scenario does: the incident, its steps, its verdict; or list all.\n"
	  "Scenarios are looked for in VFAB_SCENARIO_PATH, or beside the program." },
	{ "check", check, "NAME | FILE",
	  "Read a scenario's file, and say what is wrong with it. Nothing is run." },
	{ "run", run,
	  "{NAME | FILE} [--seed N] [--set NAME=VALUE]... [--no-fault] [--keep DIR] [--under-test CMD...]",
	  "Run a scenario (a file has a '/' in its name, or ends in .yaml): make its domain, do\n"
	  "its steps, judge what came out, and take everything down again.\n"
	  "\n"
	  "  --seed N          what is chosen at random follows from it; by default another\n"
	  "                    one each time, which is printed\n"
	  "  --set NAME=VALUE  this, instead of what the seed would choose; may be repeated\n"
	  "  --no-fault        leave out the steps that are the fault; the verdict must fail\n"
	  "  --keep DIR        write what each process prints into a file there\n"
	  "  --under-test CMD  run this instead of the scenario's own program; all words that\n"
	  "                    follow belong to it\n"
	  "\n"
	  "Exit status: 0 the verdict holds, 1 it does not, 2 the set-up is broken, 3 the time\n"
	  "is up." },
	{ NULL, NULL, NULL, NULL }
};
