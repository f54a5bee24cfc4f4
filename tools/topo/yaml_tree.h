/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * YAML files that are not trusted, as trees. By example:
 *
 *	load_init(&l, "file.yaml", err, sizeof(err));
 *	root = yaml_parse(&l, &arena, &kind, text, len);
 *	if (!root)
 *		die("%s", err);
 *	[...]
 *	arena_free(&arena);
 *
 * Files of topologies and of scenarios are read by it.
 */
#ifndef VFABRIC_YAML_TREE_H
#define VFABRIC_YAML_TREE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Whatever a file holds, it costs no more than this */
#define MAX_FILE	(16 << 20)	/* bytes */
#define MAX_NODES	(2 << 20)	/* scalars, lists and maps */
#define MAX_DEPTH	6
#define MAX_KEYS	64		/* of one map */
#define MAX_SCALAR	1024		/* bytes */

/**
 * struct load - one call of the library
 * @file: what messages begin with
 * @code: what the call will return; the first error stays
 */
struct load {
	const char *file;
	char *err;
	size_t errlen;
	int code;
};

/* error.c */
void load_init(struct load *l, const char *file, char *err, size_t errlen);
int fail(struct load *l, int code, uint32_t line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
const char *quoted(const char *s);

/* memory.c: freed all at once */
struct arena {
	struct chunk *chunks;
};

void *arena_alloc(struct arena *a, size_t size);
char *arena_copy(struct arena *a, const void *text, size_t len);
void arena_free(struct arena *a);

/* yaml.c */
enum node_kind { SCALAR, LIST, MAP };

static const char *const kind_words[] = { "a value", "a list", "a map" };

/**
 * struct node - a piece of a file
 * @child: of a list; of a map: key, value, key, value
 * @text: of a scalar, without NUL inside
 * @plain: it stands there without quotes
 */
struct node {
	struct node *next, *child;
	const char *text;
	uint32_t line;
	enum node_kind kind;
	bool plain;
};

/* The root, which is a map; or NULL. @kind: what a file is, and how it may begin. */
struct yaml_kind {
	const char *one, *begin;
};

struct node *yaml_parse(struct load *l, struct arena *a, const struct yaml_kind *kind,
			const void *text, size_t len);
const struct node *map_get(const struct node *map, const char *key);

/* value.c */
bool is_null(const struct node *n);
bool parse_uint(const char *text, uint64_t *v);
int expect(struct load *l, const struct node *n, enum node_kind kind, const char *what);
bool is_name(const char *text);

/**
 * struct places - where files that have names are looked for
 * @what: a word for one of them, which is also vfabctl's object
 * @env: a variable that says where, and nowhere else
 * @installed, @built: from the program's directory
 * @fixed: where they are installed
 */
struct places {
	const char *what, *env, *installed, *built, *fixed;
};

/* find.c */
int find_named(struct load *l, const struct places *p, const char *name, char *path,
	       size_t size);
/* Sorted names, to be freed by topo_names_free(), and their number; or -ENOMEM. */
int find_names(const struct places *p, char ***names);
int read_file(struct load *l, const char *path, char **text, size_t *len);

#endif
