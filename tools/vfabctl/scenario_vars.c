// SPDX-License-Identifier: GPL-2.0
/*
 * Variables of a scenario. What the seed chooses is part of the interface: the
 * same file and seed give the same run, everywhere. Choices are made in the
 * order of the file, from SplitMix64 (Steele, Lea, Flood: Fast Splittable
 * Pseudorandom Number Generators, 2014) that starts at the seed: the next number
 * modulo the number of possibilities.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "scenario.h"

static uint64_t next(uint64_t *state)
{
	uint64_t z;

	*state += 0x9e3779b97f4a7c15;
	z = *state;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/*
 * What stands after a '$': "name" or "{name}". Returns the name's length, 0 if
 * there is none; @end receives what follows it.
 */
size_t var_name(const char *text, const char **end)
{
	bool braces = *text == '{';
	const char *p = text + braces;
	size_t len = strspn(p, "abcdefghijklmnopqrstuvwxyz_0123456789");

	*end = p + len;
	if (!braces)
		return len;
	if (p[len] != '}')
		return 0;
	(*end)++;
	return len;
}

void vars_set(struct vars *vars, const char *name, const char *fmt, ...)
{
	struct var *v = &vars->v[vars->n++];
	va_list ap;

	v->name = name;
	va_start(ap, fmt);
	vsnprintf(v->value, sizeof(v->value), fmt, ap);
	va_end(ap);
}

static const char *value(const struct vars *vars, const char *name, size_t len)
{
	uint32_t i;

	for (i = 0; i < vars->n; i++)
		if (strlen(vars->v[i].name) == len && !strncmp(vars->v[i].name, name, len))
			return vars->v[i].value;
	return NULL;
}

/* A number of the range; where one is excluded, those above it move down. */
static uint64_t number(const struct vars *vars, const struct choice *c, uint64_t random)
{
	const char *other = c->other ? value(vars, c->other, strlen(c->other)) : NULL;
	uint64_t n = c->hi - c->lo + 1, without;

	if (!other || !parse_uint(other, &without) || without < c->lo || without > c->hi)
		return c->lo + random % n;
	n = c->lo + random % (n - 1);
	return n + (n >= without);
}

static const char *set_value(char *const *sets, const char *name)
{
	size_t len = strlen(name);

	for (; sets && *sets; sets++)
		if (!strncmp(*sets, name, len) && (*sets)[len] == '=')
			return *sets + len + 1;
	return NULL;
}

/* @sets: NAME=VALUE up to a NULL, which the seed does not choose; or NULL */
void vars_choose(struct vars *vars, const struct scenario *s, uint64_t seed,
		 char *const *sets)
{
	const struct choice *c;
	uint64_t state = seed, random;
	const char *set;
	uint32_t i;

	vars_set(vars, "seed", "%llu", (unsigned long long)seed);
	for (i = 0; i < s->nchoices; i++) {
		c = &s->choices[i];
		/* One for each choice, also where it is not used: the others stay */
		random = next(&state);
		set = set_value(sets, c->name.s);
		if (set)
			vars_set(vars, c->name.s, "%s", set);
		else if (c->options.n)
			vars_set(vars, c->name.s, "%s", c->options.v[random % c->options.n].s);
		else
			vars_set(vars, c->name.s, "%llu", (unsigned long long)
				 number(vars, c, random));
	}
}

/* With values for names; to be freed. NULL: out of memory. */
char *vars_expand(const struct vars *vars, const char *text)
{
	const char *v, *end;
	char *out = NULL;
	size_t size, len;
	FILE *to;

	to = open_memstream(&out, &size);
	if (!to)
		return NULL;
	while (*text) {
		if (*text != '$') {
			fputc(*text++, to);
			continue;
		}
		if (*++text == '$') {
			fputc(*text++, to);
			continue;
		}
		len = var_name(text, &end);
		v = value(vars, text + (*text == '{'), len);
		fputs(v ? v : "", to);
		text = end;
	}
	fclose(to);
	return out;
}

/* One word: up to a blank outside quotes. */
static char *word(const struct vars *vars, const char **text)
{
	char *raw = strdup(*text), *to = raw, *out, open = 0;
	const char *p;

	for (p = *text; raw && *p && (open || *p != ' '); p++) {
		if (open ? *p == open : *p == '\'' || *p == '"')
			open = open ? 0 : *p;
		else
			*to++ = *p;
	}
	if (!raw)
		return NULL;
	*to = 0;
	*text = p + strspn(p, " ");
	out = vars_expand(vars, raw);
	free(raw);
	return out;
}

/* Words up to a NULL; variables are replaced after that. NULL: out of memory. */
char **words_split(const struct vars *vars, const char *text)
{
	char **words = calloc(strlen(text) / 2 + 2, sizeof(*words));
	uint32_t n = 0;

	text += strspn(text, " ");
	while (words && *text) {
		words[n] = word(vars, &text);
		if (!words[n++]) {
			words_free(words);
			return NULL;
		}
	}
	return words;
}

void words_free(char **words)
{
	char **w;

	for (w = words; w && *w; w++)
		free(*w);
	free(words);
}
