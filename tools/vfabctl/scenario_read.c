// SPDX-License-Identifier: GPL-2.0
/*
 * Scenario files: from text to struct scenario. Files are not trusted: whatever
 * they hold, a call ends, with bounded memory, and says what is wrong and where.
 * What a file is made of is in Documentation/scenarios.rst.
 */
#include "scenario_int.h"

static const struct key scenario_keys[] = {
	{ "name", TEXT, offsetof(struct scenario, name), true },
	{ "incident", TEXT, offsetof(struct scenario, incident), false },
	{ "source", TEXTS, offsetof(struct scenario, source), false },
	{ "symptom", TEXT, offsetof(struct scenario, symptom), false },
	{ "teaches", TEXT, offsetof(struct scenario, teaches), true },
	{ "role", TEXT, offsetof(struct scenario, role), false },
	{ "domain", TEXT, offsetof(struct scenario, domain), false },
	{ "setup", COMMANDS, offsetof(struct scenario, setup), false },
	{ "ends", TEXT, offsetof(struct scenario, ends), false },
	{ "timeout", TEXT, offsetof(struct scenario, timeout), false },
};

static const struct key program_keys[] = {
	{ "run", TEXTS, offsetof(struct program, run), true },
	{ "ranks", TEXT, offsetof(struct program, ranks), true },
	{ "in", TEXT, offsetof(struct program, in), false },
	{ "user", TEXT, offsetof(struct program, user), false },
	{ "ready", TEXT, offsetof(struct program, ready), false },
	{ "operation", TEXT, offsetof(struct program, operation), false },
	{ "under-test", FLAG, offsetof(struct program, under_test), false },
};

static const struct key step_keys[] = {
	{ "name", TEXT, offsetof(struct step, name), false },
	{ "when", TEXT, offsetof(struct step, when), false },
	{ "program", TEXT, offsetof(struct step, program), false },
	{ "ranks", TEXT, offsetof(struct step, ranks), false },
	{ "after", TEXT, offsetof(struct step, after), false },
	{ "within", TEXT, offsetof(struct step, within), false },
	{ "start", TEXT, offsetof(struct step, start), false },
	{ "run", COMMANDS, offsetof(struct step, run), false },
	{ "shell", TEXT, offsetof(struct step, shell), false },
	{ "signal", TEXT, offsetof(struct step, signal), false },
	{ "expect", TEXT, offsetof(struct step, expect), false },
	{ "says", TEXT, offsetof(struct step, says), false },
	{ "fault", FLAG, offsetof(struct step, fault), false },
};

#define JUDGED(by) (offsetof(struct item, judges) + (by) * sizeof(struct text))

static const struct key item_keys[] = {
	{ "name", TEXT, offsetof(struct item, name), true },
	{ "program", TEXT, offsetof(struct item, program), false },
	{ "ranks", TEXT, offsetof(struct item, ranks), false },
	{ "run", TEXT, offsetof(struct item, run), false },
	{ "expect", TEXT, offsetof(struct item, expect), false },
	{ "exit", TEXT, JUDGED(JUDGE_EXIT), false },
	{ "says", TEXT, JUDGED(JUDGE_SAYS), false },
	{ "never", TEXT, JUDGED(JUDGE_NEVER), false },
	{ "count", TEXT, JUDGED(JUDGE_COUNT), false },
	{ "sum", TEXT, JUDGED(JUDGE_SUM), false },
	{ "survivors", TEXT, JUDGED(JUDGE_SURVIVORS), false },
	{ "is", TEXT, offsetof(struct item, is), false },
	{ "min", TEXT, offsetof(struct item, min), false },
	{ "max", TEXT, offsetof(struct item, max), false },
	{ "same-as", TEXT, offsetof(struct item, same), false },
	{ "since", TEXT, offsetof(struct item, since), false },
	{ "within", TEXT, offsetof(struct item, within), false },
};

/* $rack is the domain's name, $rack_id its number. */
static int add_domain(struct reading *r, const struct node *key, const struct node *value,
		      struct domain *d)
{
	size_t len = strlen(key->text);
	char *id;

	if (read_variable(r, key, &d->name) || read_text(r, value, "domain", true, &d->args) ||
	    check_quotes(r, &d->args))
		return r->l.code;
	id = arena_alloc(&r->s->arena, len + 4);
	if (!id)
		return fail(&r->l, -ENOMEM, 0, "out of memory");
	memcpy(id, key->text, len);
	memcpy(id + len, "_id", 4);
	r->vars[r->nvars++] = id;
	d->id = id;
	return 0;
}

static int one_domain(struct reading *r, const struct node *key, const struct node *value)
{
	return add_domain(r, key, value, &r->s->domains[r->s->ndomains]);
}

/* "domain: ARGS" is short for "domains: {dom: ARGS}". */
static int single_domain(struct reading *r, const struct node *root)
{
	const struct node *value = map_get(root, "domain");
	struct node key = { .text = "dom", .kind = SCALAR };

	if (!value)
		return 0;
	key.line = value->line;
	if (map_get(root, "domains"))
		return fail(&r->l, -EINVAL, value->line,
			    "domain and domains both stand here: name the one under domains");
	if (!add_domain(r, &key, value, &r->s->domains[0]))
		r->s->ndomains = 1;
	return r->l.code;
}

static int not_a_choice(struct reading *r, const struct text *t)
{
	return fail(&r->l, -EINVAL, t->line,
		    "\"%s\" is no choice: write 0-7, 0-7 not other, or one of a, b, c",
		    quoted(t->s));
}

/* "a, b, c" */
static int read_options(struct reading *r, const struct text *t, const char *list,
			struct choice *c)
{
	size_t len;

	c->options.v = arena_alloc(&r->s->arena, MAX_OPTIONS * sizeof(*c->options.v));
	if (!c->options.v)
		return fail(&r->l, -ENOMEM, 0, "out of memory");
	for (;; list += len + 1) {
		list += strspn(list, " ");
		len = strcspn(list, ",");
		if (!len || len > 60)
			return not_a_choice(r, t);
		if (c->options.n == MAX_OPTIONS)
			return fail(&r->l, -E2BIG, t->line, "there are more than %u to choose from",
				    MAX_OPTIONS);
		c->options.v[c->options.n].s = arena_copy(&r->s->arena, list, len);
		if (!c->options.v[c->options.n++].s)
			return fail(&r->l, -ENOMEM, 0, "out of memory");
		if (!list[len])
			return 0;
	}
}

/* "LO-HI" or "LO-HI not OTHER" */
static int read_range(struct reading *r, const struct text *t, struct choice *c)
{
	const char *p = t->s, *end = p + strspn(p, "0123456789-");
	const char *dash = strchr(p, '-');
	char lo[24], hi[24];
	uint32_t i;

	if (!dash || dash > end || end - p > 20)
		return not_a_choice(r, t);
	snprintf(lo, sizeof(lo), "%.*s", (int)(dash - p), p);
	snprintf(hi, sizeof(hi), "%.*s", (int)(end - dash - 1), dash + 1);
	if (!parse_uint(lo, &c->lo) || !parse_uint(hi, &c->hi) || c->lo > c->hi ||
	    c->hi > UINT32_MAX)
		return not_a_choice(r, t);
	if (!*end)
		return 0;
	if (strncmp(end, " not ", 5))
		return not_a_choice(r, t);
	for (i = 0; i < r->s->nchoices; i++)
		if (!strcmp(r->s->choices[i].name.s, end + 5))
			c->other = end + 5;
	if (!c->other || c->lo == c->hi)
		return not_a_choice(r, t);
	return 0;
}

static int one_choice(struct reading *r, const struct node *key, const struct node *value)
{
	struct choice *c = &r->s->choices[r->s->nchoices];
	struct text t = { 0 };

	if (read_variable(r, key, &c->name) || read_text(r, value, "a choice", false, &t))
		return r->l.code;
	c->spec = t;
	if (!strncmp(t.s, "one of ", 7))
		return read_options(r, &t, t.s + 7, c);
	return read_range(r, &t, c);
}

static int read_env(struct reading *r, const struct node *map, struct texts *env)
{
	const struct node *k;
	size_t len, value;
	char *text;

	if (expect(&r->l, map, MAP, "env"))
		return r->l.code;
	env->v = arena_alloc(&r->s->arena, MAX_KEYS * sizeof(*env->v));
	if (!env->v)
		return fail(&r->l, -ENOMEM, 0, "out of memory");
	for (k = map->child; k; k = k->next->next) {
		if (expect(&r->l, k->next, SCALAR, "a variable of env"))
			return r->l.code;
		if (!*k->text || strchr(k->text, '='))
			return fail(&r->l, -EINVAL, k->line, "\"%s\" is no name of a variable",
				    quoted(k->text));
		len = strlen(k->text);
		value = strlen(k->next->text);
		text = arena_alloc(&r->s->arena, len + value + 2);
		if (!text)
			return fail(&r->l, -ENOMEM, 0, "out of memory");
		memcpy(text, k->text, len);
		text[len] = '=';
		memcpy(text + len + 1, k->next->text, value);
		env->v[env->n] = (struct text){ text, k->line };
		if (check_vars(r, &env->v[env->n++]))
			return r->l.code;
	}
	return 0;
}

static int one_program(struct reading *r, const struct node *key, const struct node *value)
{
	struct program *p = &r->s->programs[r->s->nprograms];
	const struct node *env;

	if (read_name(r, key, &p->name) || expect(&r->l, value, MAP, key->text) ||
	    read_map(r, value, program_keys, COUNT(program_keys), "env", p))
		return r->l.code;
	env = map_get(value, "env");
	if (env && read_env(r, env, &p->env))
		return r->l.code;
	if (p->run.n == 1 && check_quotes(r, &p->run.v[0]))
		return r->l.code;
	if (strcmp(p->ranks.s, "all") && strcmp(p->ranks.s, "none") && !strchr(p->ranks.s, '$') &&
	    !parse_ranks(p->ranks.s, NULL))
		return fail(&r->l, -EINVAL, p->ranks.line,
			    "ranks is \"%s\": it wants all, none, or a list such as 0-3,8",
			    quoted(p->ranks.s));
	return check_number(r, &p->user, "user");
}

/* "ready", "exit", "operation N", "says TEXT" */
static int read_when(struct reading *r, struct step *st)
{
	const char *t = st->when.s;
	struct text arg = { NULL, st->when.line };

	if (!t)
		return 0;
	if (!strcmp(t, "ready")) {
		st->point = WHEN_READY;
	} else if (!strcmp(t, "exit")) {
		st->point = WHEN_EXIT;
	} else if (!strncmp(t, "operation ", 10)) {
		st->point = WHEN_OPERATION;
		st->when_arg = t + 10;
		arg.s = st->when_arg;
		return check_number(r, &arg, "when: operation");
	} else if (!strncmp(t, "says ", 5) && t[5]) {
		st->point = WHEN_SAYS;
		st->when_arg = t + 5;
	} else {
		return fail(&r->l, -EINVAL, st->when.line,
			    "when is \"%s\": it wants ready, exit, operation N or says TEXT",
			    quoted(t));
	}
	return 0;
}

static int check_step(struct reading *r, const struct step *st)
{
	int actions = !!st->start.s + !!st->run.n + !!st->shell.s + !!st->signal.s;

	if (actions > 1)
		return fail(&r->l, -EINVAL, st->line,
			    "a step does one thing: start, run, shell or signal; make this several");
	if (!actions && !st->when.s && !st->after.s)
		return fail(&r->l, -EINVAL, st->line,
			    "this step does nothing and waits for nothing: give it start, run, shell, signal, when or after");
	if ((st->expect.s || st->says.s) && !st->run.n && !st->shell.s)
		return fail(&r->l, -EINVAL, st->line,
			    "expect and says want run or shell in the same step");
	if (st->signal.s && !strchr(st->signal.s, '$') && !parse_signal(st->signal.s))
		return fail(&r->l, -EINVAL, st->signal.line,
			    "signal is \"%s\": it wants HUP, INT, KILL, TERM, STOP, CONT, USR1 or USR2",
			    quoted(st->signal.s));
	if ((st->when.s || st->signal.s) && !r->s->nprograms)
		return fail(&r->l, -EINVAL, st->line,
			    "when and signal want a program: name it under programs");
	return check_program(r, &st->start) || check_program(r, &st->program) ||
	       check_ranks(r, &st->ranks) || check_time(r, &st->after, "after") ||
	       check_time(r, &st->within, "within") || check_number(r, &st->expect, "expect");
}

static int one_step(struct reading *r, const struct node *key, const struct node *value)
{
	struct step *st = &r->s->steps[r->s->nsteps];
	uint32_t i;

	(void)key;
	st->line = value->line;
	if (expect(&r->l, value, MAP, "a step") ||
	    read_map(r, value, step_keys, COUNT(step_keys), NULL, st) || read_when(r, st) ||
	    check_step(r, st))
		return r->l.code;
	for (i = 0; st->name.s && i < r->s->nsteps; i++)
		if (r->s->steps[i].name.s && !strcmp(r->s->steps[i].name.s, st->name.s))
			return fail(&r->l, -EINVAL, st->name.line, "step \"%s\" is there twice",
				    quoted(st->name.s));
	return 0;
}

static int check_since(struct reading *r, const struct item *it)
{
	uint32_t i;

	if (!it->since.s)
		return !it->within.s ? 0 :
		       fail(&r->l, -EINVAL, it->line,
			    "within wants since: the name of the step it counts from");
	if (!it->within.s || (it->by != JUDGE_EXIT && it->by != JUDGE_SAYS) || it->run.s)
		return fail(&r->l, -EINVAL, it->line,
			    "since goes with within, and with exit or says of a program");
	for (i = 0; i < r->s->nsteps; i++)
		if (r->s->steps[i].name.s && !strcmp(r->s->steps[i].name.s, it->since.s))
			return 0;
	return fail(&r->l, -EINVAL, it->since.line, "no step has the name \"%s\"",
		    quoted(it->since.s));
}

static int check_item(struct reading *r, struct item *it)
{
	bool compares = it->is.s || it->min.s || it->max.s || it->same.s;
	uint32_t i, n = 0;

	it->by = JUDGES;
	for (i = 0; i < JUDGES; i++)
		if (it->judges[i].s) {
			it->by = i;
			n++;
		}
	if (n > 1 || (!n && !(it->run.s && it->expect.s)))
		return fail(&r->l, -EINVAL, it->line,
			    "a verdict wants one of exit, says, never, count, sum or survivors, or run with expect");
	if (it->run.s && (it->by == JUDGE_EXIT || it->by == JUDGE_SURVIVORS))
		return fail(&r->l, -EINVAL, it->line,
			    "exit and survivors are of a program: for run write expect");
	if (it->expect.s && !it->run.s)
		return fail(&r->l, -EINVAL, it->line, "expect is of run: for a program write exit");
	if (!it->run.s && !r->s->nprograms)
		return fail(&r->l, -EINVAL, it->line,
			    "there is no program to judge: give run, or name one under programs");
	if (compares != (it->by == JUDGE_COUNT || it->by == JUDGE_SUM))
		return fail(&r->l, -EINVAL, it->line,
			    "count and sum want is, min, max or same-as, and only they do");
	if (it->run.s && check_quotes(r, &it->run))
		return r->l.code;
	return check_program(r, &it->program) || check_ranks(r, &it->ranks) || check_since(r, it) ||
	       check_time(r, &it->within, "within") || check_number(r, &it->expect, "expect") ||
	       check_number(r, &it->is, "is") || check_number(r, &it->min, "min") ||
	       check_number(r, &it->max, "max") ||
	       check_number(r, &it->judges[JUDGE_SURVIVORS], "survivors");
}

static int one_item(struct reading *r, const struct node *key, const struct node *value)
{
	struct item *it = &r->s->items[r->s->nitems];

	(void)key;
	it->line = value->line;
	return expect(&r->l, value, MAP, "a sentence of the verdict") ||
	       read_map(r, value, item_keys, COUNT(item_keys), NULL, it) || check_item(r, it) ||
	       check_exit(r, &it->judges[JUDGE_EXIT]) ? r->l.code : 0;
}

static int check_whole(struct reading *r)
{
	struct scenario *s = r->s;
	uint32_t i, faults = 0, tested = 0;

	if (!is_name(s->name.s))
		return fail(&r->l, -EINVAL, s->name.line,
			    "\"%s\" is no name: take up to %u letters, digits, _ . and -",
			    quoted(s->name.s), 31);
	if (!s->ndomains)
		return fail(&r->l, -EINVAL, 0, "there is no domain: give \"domain: --size 8\"");
	if (!s->nsteps || !s->nitems)
		return fail(&r->l, -EINVAL, 0,
			    "%s is missing: a scenario wants steps and a verdict",
			    s->nsteps ? "verdict" : "steps");
	for (i = 0; i < s->nsteps; i++)
		faults += s->steps[i].fault;
	for (i = 0; i < s->nprograms; i++)
		tested += s->programs[i].under_test;
	if (!faults)
		return fail(&r->l, -EINVAL, 0,
			    "no step is marked as the fault: write \"fault: true\" into it");
	if (tested > 1)
		return fail(&r->l, -EINVAL, 0, "under-test stands at more than one program");
	return 0;
}

static int read_all(struct reading *r, const struct node *root)
{
	struct scenario *s = r->s;

	return read_rows(r, root, "choose", MAP, &s->nchoices, one_choice) ||
	       single_domain(r, root) ||
	       read_rows(r, root, "domains", MAP, &s->ndomains, one_domain) ||
	       read_map(r, root, scenario_keys, COUNT(scenario_keys), "", s) ||
	       check_time(r, &s->ends, "ends") || check_time(r, &s->timeout, "timeout") ||
	       read_rows(r, root, "programs", MAP, &s->nprograms, one_program) ||
	       read_rows(r, root, "steps", LIST, &s->nsteps, one_step) ||
	       read_rows(r, root, "verdict", LIST, &s->nitems, one_item) || check_whole(r);
}

int scenario_parse(struct scenario *s, const char *file, const void *text, size_t len,
		   char *err, size_t errlen)
{
	static const struct yaml_kind kind = { "scenario", "\"name:\"" };
	struct reading r = { .s = s, .vars = { "seed", "tmp" }, .nvars = 2 };
	const struct node *root;

	memset(s, 0, sizeof(*s));
	s->file = file;
	load_init(&r.l, file, err, errlen);
	if (len > MAX_SCENARIO)
		return fail(&r.l, -E2BIG, 0, "this file is larger than %u bytes", MAX_SCENARIO);
	root = yaml_parse(&r.l, &s->arena, &kind, text, len);
	if (root)
		read_all(&r, root);
	return r.l.code;
}

int scenario_load(struct scenario *s, const char *path, char *err, size_t errlen)
{
	struct load l;
	size_t len;
	char *text;
	int ret;

	memset(s, 0, sizeof(*s));
	load_init(&l, path, err, errlen);
	ret = read_file(&l, path, &text, &len);
	if (!ret)
		ret = scenario_parse(s, path, text, len, err, errlen);
	free(text);
	return ret;
}

void scenario_free(struct scenario *s)
{
	arena_free(&s->arena);
}
