// SPDX-License-Identifier: LGPL-2.1
/* Values of a file. */
#include "topo_int.h"

/* Nobody has published it. "null" in quotes is a word. */
bool is_null(const struct node *n)
{
	return n->kind == SCALAR && n->plain &&
	       (!*n->text || !strcmp(n->text, "null") || !strcmp(n->text, "~"));
}

/* Digits only; too large a number becomes UINT64_MAX. */
bool parse_uint(const char *text, uint64_t *v)
{
	*v = 0;
	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		if (__builtin_mul_overflow(*v, (uint64_t)10, v) ||
		    __builtin_add_overflow(*v, (uint64_t)(*text - '0'), v))
			*v = UINT64_MAX;
	}
	return true;
}

int expect(struct load *l, const struct node *n, enum node_kind kind, const char *what)
{
	if (n->kind == kind)
		return 0;
	return fail(l, -EINVAL, n->line, "%s is %s: it wants %s", quoted(what),
		    kind_words[n->kind], kind_words[kind]);
}

/* As a domain may be called. */
bool is_name(const char *text)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
	size_t len = strlen(text);

	return len && len <= TOPO_NAME_LEN && !strchr("_.-", *text) &&
	       strspn(text, allowed) == len;
}
