// SPDX-License-Identifier: LGPL-2.1
/*
 * Which algorithm, by collective, ranks and bytes. A table is text, of which
 * VFAB_TUNING names a file of one's own, the same on every rank:
 *
 *	# collective	ranks<=	bytes<=	algorithm
 *	allreduce	8	2048	oneshot
 *	allreduce	*	*	window
 *
 * The first line that fits holds; what none fits is done as the built-in table
 * says. Bytes are those of @count elements; * stands for any number.
 *
 *	oneshot	allreduce and reduce: all read all (or the root does), through slots
 *	star	allreduce: place 0 reduces for all
 *	staged	through slots; allreduce and reduce: each reduces a share
 *	window	as staged; where all buffers concerned are in windows, from there
 *	flat	barrier: all look at all
 *	tree	barrier: up and down a tree
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "comm.h"

struct rule {
	enum vfab_coll kind;
	uint32_t ranks;
	uint64_t bytes;
	enum pick pick;
};

#define ANY	UINT32_MAX
#define ALL	UINT64_MAX
#define RULES	512		/* lines of a file */

static const char *const kinds[VFAB_COLLS] = {
	[VFAB_ALLREDUCE] = "allreduce", [VFAB_REDUCE_SCATTER] = "reduce_scatter",
	[VFAB_ALLGATHER] = "allgather", [VFAB_ALLTOALL] = "alltoall",
	[VFAB_ALLTOALLV] = "alltoallv", [VFAB_BROADCAST] = "broadcast",
	[VFAB_REDUCE] = "reduce", [VFAB_GATHER] = "gather", [VFAB_SCATTER] = "scatter",
	[VFAB_SEND] = "send", [VFAB_RECV] = "recv", [VFAB_BARRIER] = "barrier",
};

static const char *const picks[PICKS] = {
	[PICK_ONE_SHOT] = "oneshot", [PICK_STAGED] = "staged", [PICK_STAR] = "star",
	[PICK_WINDOW] = "window", [PICK_FLAT] = "flat", [PICK_TREE] = "tree",
};

/*
 * Everybody reads all of everybody's while that is not much more than a line
 * each; above, another step costs less than the reading it saves. Windows
 * ask for a step more where they are new, and for nothing else.
 */
static const struct rule built_in[] = {
	{ VFAB_ALLREDUCE, 2, 8192, PICK_ONE_SHOT },
	{ VFAB_ALLREDUCE, 8, 2048, PICK_ONE_SHOT },
	{ VFAB_ALLREDUCE, 16, 512, PICK_ONE_SHOT },
	{ VFAB_ALLREDUCE, ANY, 2048, PICK_STAR },
	{ VFAB_REDUCE, 8, 4096, PICK_ONE_SHOT },
	{ VFAB_REDUCE, ANY, 1024, PICK_ONE_SHOT },
	{ VFAB_REDUCE_SCATTER, ANY, 2048, PICK_STAGED },
	{ VFAB_ALLGATHER, ANY, 2048, PICK_STAGED },
	{ VFAB_ALLTOALL, ANY, 2048, PICK_STAGED },
	{ VFAB_BROADCAST, ANY, 4096, PICK_STAGED },
	{ VFAB_GATHER, ANY, 4096, PICK_STAGED },
	{ VFAB_SCATTER, ANY, 4096, PICK_STAGED },
	{ VFAB_BARRIER, 8, ALL, PICK_FLAT },
	{ VFAB_BARRIER, ANY, ALL, PICK_TREE },
};

static bool allowed(enum vfab_coll kind, enum pick pick)
{
	switch (kind) {
	case VFAB_BARRIER:
		return pick == PICK_FLAT || pick == PICK_TREE;
	case VFAB_ALLREDUCE:
		return pick < PICK_FLAT;
	case VFAB_REDUCE:
		return pick < PICK_FLAT && pick != PICK_STAR;
	case VFAB_ALLTOALLV:
	case VFAB_SEND:
	case VFAB_RECV:
		return pick == PICK_STAGED;
	default:
		return pick == PICK_STAGED || pick == PICK_WINDOW;
	}
}

static int find(const char *s, const char *const *words, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (!strcmp(s, words[i]))
			return i;
	return -1;
}

static bool number(const char *s, uint64_t *n, uint64_t any)
{
	char *end;

	if (!strcmp(s, "*")) {
		*n = any;
		return true;
	}
	errno = 0;
	*n = strtoull(s, &end, 10);
	return isdigit((unsigned char)*s) && !*end && !errno && *n <= any;
}

/* One line of a table */
struct entry {
	const char *path;
	int line;
	char *word[5];		/* one is too many */
	int words;
};

static int wrong(const struct entry *e, int word, const char *expected)
{
	return vfabi_fail(EINVAL, "VFAB_TUNING=%s, line %d: \"%.40s\" is no %s", e->path, e->line,
			  e->word[word], expected);
}

static int wrong_pick(const struct entry *e, enum vfab_coll kind)
{
	char expected[128];
	int n, p;

	n = snprintf(expected, sizeof(expected), "algorithm of %s: take one of", kinds[kind]);
	for (p = 0; p < PICKS; p++)
		if (allowed(kind, p))
			n += snprintf(expected + n, sizeof(expected) - n, " %s", picks[p]);
	return wrong(e, 3, expected);
}

static int wrong_kind(const struct entry *e)
{
	char expected[160];
	int n, k;

	n = snprintf(expected, sizeof(expected), "collective: take one of");
	for (k = 0; k < VFAB_COLLS; k++)
		n += snprintf(expected + n, sizeof(expected) - n, " %s", kinds[k]);
	return wrong(e, 0, expected);
}

static int parse(const struct entry *e, struct rule *r)
{
	int kind, pick;
	uint64_t n;

	if (e->words != 4)
		return vfabi_fail(EINVAL,
				  "VFAB_TUNING=%s, line %d: %s than four words, 'collective ranks bytes algorithm', as in 'allreduce 8 2048 oneshot'",
				  e->path, e->line, e->words < 4 ? "fewer" : "more");
	kind = find(e->word[0], kinds, VFAB_COLLS);
	if (kind < 0)
		return wrong_kind(e);
	if (!number(e->word[1], &n, ANY) || !n)
		return wrong(e, 1, "number of ranks, 1 to 4294967295, or * for any");
	if (!number(e->word[2], &r->bytes, ALL))
		return wrong(e, 2, "number of bytes, or * for any");
	pick = find(e->word[3], picks, PICKS);
	if (pick < 0 || !allowed(kind, pick))
		return wrong_pick(e, kind);
	r->kind = kind;
	r->ranks = n;
	r->pick = pick;
	return 0;
}

static uint64_t mix_rule(uint64_t h, const struct rule *r)
{
	h = comm_mix(h, r->kind << 8 | r->pick);
	return comm_mix(comm_mix(h, r->ranks), r->bytes);
}

static void split(char *line, struct entry *e)
{
	char *rest = NULL;

	line[strcspn(line, "#")] = 0;
	e->words = 0;
	while (e->words < 5 && (e->word[e->words] = strtok_r(line, " \t\r\n", &rest))) {
		e->words++;
		line = NULL;
	}
}

static int read_rules(FILE *f, const char *path, struct rule *rules, uint64_t *digest)
{
	struct entry e = { .path = path };
	size_t room = 0;
	char *line = NULL;
	int n = 0, ret = 0;

	while (!ret && getline(&line, &room, f) >= 0) {
		e.line++;
		split(line, &e);
		if (!e.words)
			continue;
		ret = n < RULES ? parse(&e, &rules[n]) :
		      vfabi_fail(EINVAL, "VFAB_TUNING=%s, line %d: more than %d lines of a table",
				 path, e.line, RULES);
		if (!ret)
			*digest = mix_rule(*digest, &rules[n++]);
	}
	free(line);
	return ret;
}

int tuning_load(struct rule **rules, uint64_t *digest)
{
	const char *path = getenv("VFAB_TUNING");
	FILE *f;
	int ret;

	*rules = NULL;
	*digest = 0;
	if (!path || !*path)
		return 0;
	f = fopen(path, "re");
	if (!f)
		return vfabi_fail(errno, "VFAB_TUNING=%s: %s", path, strerror(errno));
	*rules = calloc(RULES + 1, sizeof(**rules));
	ret = *rules ? read_rules(f, path, *rules, digest) : vfabi_fail(ENOMEM, "out of memory");
	fclose(f);
	if (ret) {
		free(*rules);
		*rules = NULL;
	}
	return ret;
}

static bool fits(const struct rule *r, enum vfab_coll kind, uint32_t ranks, uint64_t bytes)
{
	return r->kind == kind && ranks <= r->ranks && bytes <= r->bytes;
}

enum pick tuning_pick(const struct rule *rules, enum vfab_coll kind, uint32_t ranks,
		      uint64_t bytes)
{
	size_t i;

	for (; rules && rules->ranks; rules++)
		if (fits(rules, kind, ranks, bytes))
			return rules->pick;
	for (i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++)
		if (fits(&built_in[i], kind, ranks, bytes))
			return built_in[i].pick;
	return PICK_WINDOW;
}
