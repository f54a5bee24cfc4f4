// SPDX-License-Identifier: LGPL-2.1
/*
 * YAML as a tree of nodes, out of libyaml's events. Of YAML only maps, lists
 * and values are taken: an alias could stand for exponentially much, so there
 * are none, nor tags, nor a second document. Everything has a limit, and is
 * refused as soon as it exceeds it, before more is read.
 */
#include <yaml.h>
#include <string.h>
#include "yaml_tree.h"

/**
 * struct tree - where the parser is
 * @tail: where the next child of each open list or map goes; [0] is the root's
 * @open: the open lists and maps
 */
struct tree {
	struct load *l;
	const struct yaml_kind *kind;
	struct arena *a;
	struct node *root;
	struct node *open[MAX_DEPTH];
	struct node **tail[MAX_DEPTH + 1];
	unsigned int children[MAX_DEPTH + 1];
	unsigned int depth, nodes;
};

static const struct node *same_key(const struct node *map, const struct node *key)
{
	const struct node *k;

	for (k = map->child; k && k != key; k = k->next->next)
		if (!strcmp(k->text, key->text))
			return k;
	return NULL;
}

/* @n is a key: the map's other keys have their values. */
static int check_key(struct tree *t, const struct node *map, const struct node *n)
{
	const struct node *other;

	if (n->kind != SCALAR)
		return fail(t->l, -EINVAL, n->line, "%s cannot be a key: write a word and a colon",
			    kind_words[n->kind]);
	if (t->children[t->depth] > 2 * MAX_KEYS)
		return fail(t->l, -E2BIG, n->line, "this map has more than %u keys", MAX_KEYS);
	other = same_key(map, n);
	if (other)
		return fail(t->l, -EINVAL, n->line,
			    "\"%s\" stands in line %u already: remove one of them",
			    quoted(n->text), other->line);
	return 0;
}

static int add(struct tree *t, struct node *n)
{
	const struct node *parent = t->depth ? t->open[t->depth - 1] : NULL;
	bool key = parent && parent->kind == MAP && t->children[t->depth] % 2 == 0;

	*t->tail[t->depth] = n;
	t->tail[t->depth] = &n->next;
	t->children[t->depth]++;
	return key ? check_key(t, parent, n) : 0;
}

static struct node *new_node(struct tree *t, enum node_kind kind, uint32_t line)
{
	struct node *n;

	if (t->nodes++ == MAX_NODES) {
		fail(t->l, -E2BIG, line, "there are more than %u values in this file", MAX_NODES);
		return NULL;
	}
	n = arena_alloc(t->a, sizeof(*n));
	if (!n) {
		fail(t->l, -ENOMEM, 0, "out of memory");
		return NULL;
	}
	n->kind = kind;
	n->line = line;
	return n;
}

static int scalar(struct tree *t, const yaml_event_t *e, uint32_t line)
{
	const void *text = e->data.scalar.value;
	size_t len = e->data.scalar.length;
	struct node *n;

	if (len > MAX_SCALAR)
		return fail(t->l, -E2BIG, line, "this value is longer than %u bytes", MAX_SCALAR);
	if (memchr(text, 0, len))
		return fail(t->l, -EINVAL, line, "this value holds a NUL character: remove it");
	n = new_node(t, SCALAR, line);
	if (!n)
		return t->l->code;
	n->text = arena_copy(t->a, text, len);
	if (!n->text)
		return fail(t->l, -ENOMEM, 0, "out of memory");
	n->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	return add(t, n);
}

static int open_node(struct tree *t, enum node_kind kind, uint32_t line)
{
	struct node *n;

	if (t->depth == MAX_DEPTH)
		return fail(t->l, -E2BIG, line, "lists and maps are nested more than %u deep",
			    MAX_DEPTH);
	n = new_node(t, kind, line);
	if (!n || add(t, n))
		return t->l->code;
	t->open[t->depth++] = n;
	t->tail[t->depth] = &n->child;
	t->children[t->depth] = 0;
	return 0;
}

static bool marked_up(const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return e->data.scalar.anchor || e->data.scalar.tag;
	case YAML_SEQUENCE_START_EVENT:
		return e->data.sequence_start.anchor || e->data.sequence_start.tag;
	case YAML_MAPPING_START_EVENT:
		return e->data.mapping_start.anchor || e->data.mapping_start.tag;
	default:
		return e->type == YAML_ALIAS_EVENT;
	}
}

static int event(struct tree *t, const yaml_event_t *e)
{
	uint32_t line = e->start_mark.line + 1;

	if (marked_up(e))
		return fail(t->l, -EINVAL, line,
			    "anchors (&), aliases (*) and tags (!) are not taken: write the value out");
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return scalar(t, e, line);
	case YAML_SEQUENCE_START_EVENT:
		return open_node(t, LIST, line);
	case YAML_MAPPING_START_EVENT:
		return open_node(t, MAP, line);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		t->depth--;
		return 0;
	case YAML_DOCUMENT_START_EVENT:
		if (t->root)
			return fail(t->l, -EINVAL, line,
				    "a second document begins here: one file is one %s",
				    t->kind->one);
		return 0;
	default:
		return 0;
	}
}

static int not_yaml(struct load *l, const yaml_parser_t *p)
{
	if (p->error == YAML_MEMORY_ERROR)
		return fail(l, -ENOMEM, 0, "out of memory");
	if (p->error == YAML_READER_ERROR)
		return fail(l, -EINVAL, 0, "this is no text in UTF-8: %s at byte %zu", p->problem,
			    p->problem_offset);
	return fail(l, -EINVAL, p->problem_mark.line + 1, "this is not YAML: %s", p->problem);
}

struct node *yaml_parse(struct load *l, struct arena *a, const struct yaml_kind *kind,
			const void *text, size_t len)
{
	struct tree t = { .l = l, .kind = kind, .a = a };
	yaml_event_type_t type;
	yaml_parser_t parser;
	yaml_event_t e;

	if (len > MAX_FILE) {
		fail(l, -E2BIG, 0, "this file is larger than %u bytes", MAX_FILE);
		return NULL;
	}
	if (memchr(text, 0, len)) {
		fail(l, -EINVAL, 0, "this file holds a NUL character: it is no text");
		return NULL;
	}
	if (!yaml_parser_initialize(&parser)) {
		fail(l, -ENOMEM, 0, "out of memory");
		return NULL;
	}
	yaml_parser_set_input_string(&parser, text, len);
	t.tail[0] = &t.root;
	do {
		if (!yaml_parser_parse(&parser, &e)) {
			not_yaml(l, &parser);
			break;
		}
		type = e.type;
		event(&t, &e);
		yaml_event_delete(&e);
	} while (type != YAML_STREAM_END_EVENT && !l->code);
	yaml_parser_delete(&parser);
	if (!l->code && (!t.root || t.root->kind != MAP))
		fail(l, -EINVAL, 1, "this is no map: begin with %s", kind->begin);
	return l->code ? NULL : t.root;
}

const struct node *map_get(const struct node *map, const char *key)
{
	const struct node *k;

	for (k = map->child; k; k = k->next->next)
		if (!strcmp(k->text, key))
			return k->next;
	return NULL;
}
