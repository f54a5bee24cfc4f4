// SPDX-License-Identifier: GPL-2.0
/* Maps and lists of a scenario file, read by tables of their keys. */
#include "scenario_int.h"

static const char *const sections[] = {
	"domains", "choose", "programs", "steps", "verdict",
};

int read_text(struct reading *r, const struct node *n, const char *what, bool vars,
	      struct text *t)
{
	if (expect(&r->l, n, SCALAR, what))
		return r->l.code;
	if (!*n->text)
		return fail(&r->l, -EINVAL, n->line, "%s is empty: give it a value, or remove it",
			    what);
	*t = (struct text){ n->text, n->line };
	return vars ? check_vars(r, t) : 0;
}

/* A list of values, or a single one. */
int read_texts(struct reading *r, const struct node *n, const char *what, bool vars,
	       bool commands, struct texts *out)
{
	const struct node *k;
	uint32_t count = 0;

	for (k = n->kind == LIST ? n->child : n; k; k = n->kind == LIST ? k->next : NULL)
		count++;
	if (!count || count > MAX_ROWS)
		return fail(&r->l, count ? -E2BIG : -EINVAL, n->line,
			    "%s wants 1 to %u values",
			    what,
			    MAX_ROWS);
	out->v = arena_alloc(&r->s->arena, count * sizeof(*out->v));
	if (!out->v)
		return fail(&r->l, -ENOMEM, 0, "out of memory");
	for (k = n->kind == LIST ? n->child : n; k; k = n->kind == LIST ? k->next : NULL) {
		if (read_text(r, k, what, vars, &out->v[out->n]) ||
		    (commands && check_quotes(r, &out->v[out->n])))
			return r->l.code;
		out->n++;
	}
	return 0;
}

static int read_flag(struct reading *r, const struct node *n, const char *what, bool *flag)
{
	if (expect(&r->l, n, SCALAR, what))
		return r->l.code;
	if (strcmp(n->text, "true") && strcmp(n->text, "false"))
		return fail(&r->l, -EINVAL, n->line, "%s is \"%s\": it wants true or false", what,
			    quoted(n->text));
	*flag = *n->text == 't';
	return 0;
}

static bool is_prose(const char *key)
{
	static const char *const prose[] = {
		"incident", "source", "symptom", "teaches", "role",
	};
	size_t i;

	for (i = 0; i < COUNT(prose); i++)
		if (!strcmp(prose[i], key))
			return true;
	return false;
}

static const struct key *find_key(const struct key *keys, uint32_t n, const char *name)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

static int read_value(struct reading *r, const struct node *n, const struct key *key, void *out)
{
	void *at = (char *)out + key->at;
	bool vars = !is_prose(key->name);

	switch (key->kind) {
	case TEXT:
		return read_text(r, n, key->name, vars, at);
	case TEXTS:
	case COMMANDS:
		return read_texts(r, n, key->name, vars, key->kind == COMMANDS, at);
	default:
		return read_flag(r, n, key->name, at);
	}
}

static int unknown_key(struct reading *r, const struct node *k, const struct key *keys,
		       uint32_t n, bool outermost)
{
	char list[256] = "";
	uint32_t i;

	for (i = 0; i < n; i++)
		strcat(strcat(list, i ? ", " : ""), keys[i].name);
	for (i = 0; outermost && i < COUNT(sections); i++)
		strcat(strcat(list, ", "), sections[i]);
	return fail(&r->l, -EINVAL, k->line, "there is no key \"%s\" here: the keys are %s",
		    quoted(k->text), list);
}

static bool is_section(const char *key)
{
	size_t i;

	for (i = 0; i < COUNT(sections); i++)
		if (!strcmp(sections[i], key))
			return true;
	return false;
}

/* @skip: a key that the caller reads himself, or NULL; "": the outermost map's sections */
int read_map(struct reading *r, const struct node *map, const struct key *keys,
	     uint32_t n, const char *skip, void *out)
{
	const struct key *key;
	const struct node *k;
	uint32_t i;

	for (k = map->child; k; k = k->next->next) {
		if (skip && (*skip ? !strcmp(skip, k->text) : is_section(k->text)))
			continue;
		key = find_key(keys, n, k->text);
		if (!key)
			return unknown_key(r, k, keys, n, skip && !*skip);
		if (read_value(r, k->next, key, out))
			return r->l.code;
	}
	for (i = 0; i < n; i++)
		if (keys[i].needed && !map_get(map, keys[i].name))
			return fail(&r->l, -EINVAL, map->line, "%s is missing here", keys[i].name);
	return 0;
}

/*
 * Rows of a section: @one reads each, a list's elements or a map's pairs. An
 * absent section has none.
 */
int read_rows(struct reading *r, const struct node *root, const char *section,
	      enum node_kind kind, uint32_t *count,
	      row_fn one)
{
	const struct node *rows = map_get(root, section), *k;

	if (!rows)
		return 0;
	if (expect(&r->l, rows, kind, section))
		return r->l.code;
	for (k = rows->child; k; k = kind == MAP ? k->next->next : k->next) {
		if (*count == MAX_ROWS)
			return fail(&r->l, -E2BIG, k->line, "%s has more than %u rows", section,
				    MAX_ROWS);
		if (one(r, k, kind == MAP ? k->next : k))
			return r->l.code;
		(*count)++;
	}
	return 0;
}

/* Of a variable, program or step: it can stand after '$', and in a message. */
int read_name(struct reading *r, const struct node *key, struct text *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz", more[] = "_0123456789-";
	size_t first = strspn(key->text, letters), len = strlen(key->text);
	char all[sizeof(letters) + sizeof(more)];

	snprintf(all, sizeof(all), "%s%s", letters, more);
	if (!first || len > 16 || strspn(key->text, all) != len)
		return fail(&r->l, -EINVAL, key->line,
			    "\"%s\" is no name: take up to 16 of a-z, 0-9, _ and -, a letter first",
			    quoted(key->text));
	*name = (struct text){ key->text, key->line };
	return 0;
}

int read_variable(struct reading *r, const struct node *key, struct text *name)
{
	uint32_t i;

	if (read_name(r, key, name))
		return r->l.code;
	if (strchr(key->text, '-'))
		return fail(&r->l, -EINVAL, key->line,
			    "\"%s\" stands after '$' and has a '-': write _ instead", key->text);
	for (i = 0; i < r->nvars; i++)
		if (!strcmp(r->vars[i], key->text))
			return fail(&r->l, -EINVAL, key->line,
				    "$%s has a value already: choose another name",
				    key->text);
	r->vars[r->nvars++] = key->text;
	return 0;
}
