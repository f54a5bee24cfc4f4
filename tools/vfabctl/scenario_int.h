/* SPDX-License-Identifier: GPL-2.0 */
/* What the files that read a scenario share. */
#ifndef VFABCTL_SCENARIO_INT_H
#define VFABCTL_SCENARIO_INT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "scenario.h"

enum kind { TEXT, TEXTS, COMMANDS, FLAG };

/**
 * struct key - a key that a map may have
 * @at: offset of its struct text, struct texts or bool
 * @needed: it must be there
 */
struct key {
	const char *name;
	enum kind kind;
	size_t at;
	bool needed;
};

/**
 * struct reading - one file being read
 * @vars: names that may stand after '$'
 */
struct reading {
	struct load l;
	struct scenario *s;
	const char *vars[4 + 3 * MAX_ROWS];
	uint32_t nvars;
};

/*
 * Each leaves a sentence in @r and returns something else than 0, if it does not
 * like what it sees.
 */

/* scenario_value.c: values that hold a $ are known when it runs only */
int check_quotes(struct reading *r, const struct text *t);
int check_vars(struct reading *r, const struct text *t);
int check_time(struct reading *r, const struct text *t, const char *what);
int check_number(struct reading *r, const struct text *t, const char *what);
int check_ranks(struct reading *r, const struct text *t);
int check_exit(struct reading *r, const struct text *t);
int check_program(struct reading *r, const struct text *t);

/* scenario_map.c */

/* A row of a section, whose key is the row itself in a list */
typedef int (*row_fn)(struct reading *r, const struct node *key, const struct node *value);

int read_text(struct reading *r, const struct node *n, const char *what, bool vars,
	      struct text *t);
int read_texts(struct reading *r, const struct node *n, const char *what, bool vars,
	       bool commands, struct texts *out);
int read_map(struct reading *r, const struct node *map, const struct key *keys,
	     uint32_t n, const char *skip, void *out);
int read_rows(struct reading *r, const struct node *root, const char *section,
	      enum node_kind kind, uint32_t *count,
	      row_fn one);
int read_name(struct reading *r, const struct node *key, struct text *name);
int read_variable(struct reading *r, const struct node *key, struct text *name);

#endif
