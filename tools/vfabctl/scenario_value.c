// SPDX-License-Identifier: GPL-2.0
/* Single values of a scenario, as a file has them and as a run uses them. */
#include <signal.h>
#include "duration.h"
#include "scenario_int.h"

/* "0-3,8"; @ranks may be NULL. */
bool parse_ranks(const char *text, bool ranks[MAX_WORLD])
{
	unsigned long first, last;
	char *end;

	for (;; text = end + 1) {
		if (*text < '0' || *text > '9')
			return false;
		first = strtoul(text, &end, 10);
		last = first;
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtoul(end + 1, &end, 10);
		if (first > last || last >= MAX_WORLD)
			return false;
		for (; ranks && first <= last; first++)
			ranks[first] = true;
		if (!*end)
			return true;
		if (*end != ',')
			return false;
	}
}

/* 0: none of those that make sense here */
int parse_signal(const char *text)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {
		{ "HUP", SIGHUP }, { "INT", SIGINT }, { "KILL", SIGKILL },
		{ "TERM", SIGTERM }, { "STOP", SIGSTOP }, { "CONT", SIGCONT },
		{ "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },
	};
	size_t i;

	for (i = 0; i < COUNT(signals); i++)
		if (!strcmp(signals[i].name, text))
			return signals[i].number;
	return 0;
}

/* Blanks part words, quotes keep them together; no more is checked here. */
int check_quotes(struct reading *r, const struct text *t)
{
	char open = 0;
	const char *p;

	for (p = t->s; *p; p++)
		if (open ? *p == open : *p == '\'' || *p == '"')
			open = open ? 0 : *p;
	return open ? fail(&r->l, -EINVAL, t->line,
			   "a quote is not closed: add the other %c",
			   open) :
	       0;
}

/* Each $name in @t is one that will have a value. */
int check_vars(struct reading *r, const struct text *t)
{
	const char *p = t->s, *end;
	size_t len;
	uint32_t i;

	while ((p = strchr(p, '$'))) {
		if (*++p == '$') {
			p++;
			continue;
		}
		len = var_name(p, &end);
		p += *p == '{';
		for (i = 0; i < r->nvars; i++)
			if (strlen(r->vars[i]) == len && !strncmp(r->vars[i], p, len))
				break;
		if (!len || i == r->nvars)
			return fail(&r->l, -EINVAL, t->line,
				    "\"$%.*s\" has no value: name it under choose or domains, or write $$ for a dollar",
				    (int)len, p);
		p = end;
	}
	return 0;
}

int check_time(struct reading *r, const struct text *t, const char *what)
{
	double v;

	if (!t->s || strchr(t->s, '$') || parse_seconds(t->s, MAX_SECONDS, &v))
		return 0;
	return fail(&r->l, -EINVAL, t->line,
		    "%s is \"%s\": it wants a time such as 0.5, 200ms or 2m, up to %u s", what,
		    quoted(t->s), MAX_SECONDS);
}

int check_number(struct reading *r, const struct text *t, const char *what)
{
	uint64_t v;

	if (!t->s || strchr(t->s, '$') || parse_uint(t->s, &v))
		return 0;
	return fail(&r->l, -EINVAL, t->line, "%s is \"%s\": it wants a number", what, quoted(t->s));
}

/* all, any, 0-3, not 2 */
int check_ranks(struct reading *r, const struct text *t)
{
	const char *list = t->s;

	if (!list || strchr(list, '$') || !strcmp(list, "all") || !strcmp(list, "any"))
		return 0;
	if (!strncmp(list, "not ", 4))
		list += 4;
	if (parse_ranks(list, NULL))
		return 0;
	return fail(&r->l, -EINVAL, t->line,
		    "ranks is \"%s\": it wants all, any, a list such as 0-3,8, or not and a list",
		    quoted(t->s));
}

/* 0, signal 9, nonzero */
int check_exit(struct reading *r, const struct text *t)
{
	const char *s = t->s;
	uint64_t v;

	if (!s || strchr(s, '$') || !strcmp(s, "nonzero"))
		return 0;
	if (!strncmp(s, "signal ", 7))
		s += 7;
	if (parse_uint(s, &v) && v < 256)
		return 0;
	return fail(&r->l, -EINVAL, t->line,
		    "exit is \"%s\": it wants a status, nonzero or signal N",
		    quoted(t->s));
}

const struct program *find_program(const struct scenario *s, const char *name)
{
	uint32_t i;

	for (i = 0; i < s->nprograms; i++)
		if (!strcmp(s->programs[i].name.s, name))
			return &s->programs[i];
	return NULL;
}

int check_program(struct reading *r, const struct text *t)
{
	if (!t->s || find_program(r->s, t->s))
		return 0;
	return fail(&r->l, -EINVAL, t->line, "there is no program \"%s\": name it under programs",
		    quoted(t->s));
}
