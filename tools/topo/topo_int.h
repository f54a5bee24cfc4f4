/* SPDX-License-Identifier: LGPL-2.1 */
/* What the files of the topology library share. */
#ifndef VFABRIC_TOPO_INT_H
#define VFABRIC_TOPO_INT_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "topo.h"
#include "yaml_tree.h"

#define MAX_SETS	64
#define MAX_BASES	4		/* profiles that build on one another */

/* param.c: what generators take */
enum param {
	P_WORLD, P_NODES, P_PORTS, P_SWITCHES, P_LINKS_PER_SWITCH, P_SWITCH_PORTS,
	P_PODS, P_LEAVES_PER_POD, P_SPINES, P_PLANES, P_TAPER,
	P_X, P_Y, P_Z, P_LINKS_PER_PAIR,
	P_RATE, P_ENDPOINT_RATE, P_LATENCY, P_WIDTH,
	PARAMS
};

#define BIT(n) (1U << (n))

struct param_def {
	const char *key;
	uint32_t min, max;
};

extern const struct param_def param_defs[PARAMS];
int find_param(const char *key);

/**
 * struct param_value - a parameter as far as it is known
 * @given: it stands in the file or in a set, if only as null
 */
struct param_value {
	bool given, known;
	uint32_t number;
};

/**
 * struct build - a topology in the making
 * @takes: bits of the parameters that mean something to @generator
 * @next: each switch's first free port
 * @lines: of each link, or NULL
 */
struct build {
	struct load *l;
	struct topo *t;
	const struct generator *generator;
	struct param_value p[PARAMS];
	uint32_t cap;
	uint16_t next[TOPO_MAX_SWITCHES];
	uint32_t *lines;
};

struct generator {
	const char *name;
	uint32_t takes;		/* bits of parameters, the common ones apart */
	int (*run)(struct build *b);
};

extern const struct generator generators[];
#define COMMON_PARAMS (BIT(P_NODES) | BIT(P_SWITCH_PORTS) | BIT(P_RATE) | \
		       BIT(P_ENDPOINT_RATE) | BIT(P_LATENCY) | BIT(P_WIDTH))
const struct generator *find_generator(const char *name);
int need(struct build *b, uint32_t params);
int build_links(struct build *b);

/* build.c: how generators make links */
uint32_t need_rate(const struct build *b);
int set_rate(struct build *b);
int set_size(struct build *b, uint64_t world, uint64_t ports, uint64_t switches);
int join(struct build *b, uint16_t x, uint16_t x_port, uint16_t y, uint16_t y_port);
int join_switch(struct build *b, uint16_t x, uint16_t x_port, uint32_t sw);
int join_switches(struct build *b, uint32_t x, uint32_t y);
int build_check(struct build *b);

/* tiers.c */
int gen_two_tier(struct build *b);
int gen_rail(struct build *b);
int gen_fat_tree(struct build *b);

/* links.c */
int read_links(struct build *b, const struct node *list);

/* profile.c */

/**
 * struct doc - a file as it was read, with those that it builds on
 * @links: of the outermost file, or NULL
 */
struct doc {
	struct arena arena;
	struct topo_profile p;
	const struct generator *generator;
	const struct node *links;
	enum topo_partitions partitions;
	bool forwarding;
};

int doc_read_profile(struct load *l, struct doc *d, const char *spec);
int doc_read_file(struct load *l, struct doc *d, const char *path);
int doc_read_text(struct load *l, struct doc *d, const void *text, size_t len);
int doc_sets(struct load *l, struct doc *d, char *const *sets);
void doc_free(struct doc *d);

/* find.c */
int find_profile(struct load *l, const char *name, char *path, size_t size);

#endif
