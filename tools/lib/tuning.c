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

static int word(const char *s, const char *const *words, int n)
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

static bool parse(const char *line, struct rule *r)
{
	char kind[32], ranks[32], bytes[32], pick[32], rest[2];
	int k, p;
	uint64_t n;

	if (sscanf(line, "%31s %31s %31s %31s %1s", kind, ranks, bytes, pick, rest) != 4)
		return false;
	k = word(kind, kinds, VFAB_COLLS);
	p = word(pick, picks, PICKS);
	if (k < 0 || p < 0 || !allowed(k, p) || !number(ranks, &n, ANY) || !n ||
	    !number(bytes, &r->bytes, ALL))
		return false;
	r->kind = k;
	r->ranks = n;
	r->pick = p;
	return true;
}

static uint64_t mix_rule(uint64_t h, const struct rule *r)
{
	h = comm_mix(h, r->kind << 8 | r->pick);
	return comm_mix(comm_mix(h, r->ranks), r->bytes);
}

static int read_rules(FILE *f, const char *path, struct rule *rules, uint64_t *digest)
{
	char line[256];
	int at = 0, n = 0;
	char *p;

	while (fgets(line, sizeof(line), f)) {
		at++;
		p = strchr(line, '#');
		if (p)
			*p = 0;
		if (!line[strspn(line, " \t\r\n")])
			continue;
		if (n == RULES || !parse(line, &rules[n]))
			return vfabi_fail(EINVAL,
					  "%s, line %d: %s 'collective ranks bytes algorithm', as in 'allreduce 8 2048 oneshot'",
					  path, at, n == RULES ? "too many of" : "is not");
		*digest = mix_rule(*digest, &rules[n++]);
	}
	rules[n].ranks = 0;
	return 0;
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
