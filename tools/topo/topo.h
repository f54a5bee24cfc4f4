/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Topologies: who is joined to whom, by which ports, at which rate. By example:
 *
 *	struct topo t;
 *	char err[TOPO_ERR_LEN];
 *
 *	if (topo_load_profile("torus:4x4x4", NULL, &t, err, sizeof(err)))
 *		die("%s", err);
 *	for (i = 0; i < t.nlinks; i++)
 *		join(&t.links[i]);
 *	topo_free(&t);
 *
 * The format of the files is in vfabric-topology(5). Nothing here speaks to the
 * kernel or needs a privilege. Files are not trusted: whatever they hold, a
 * call ends, with bounded memory. Calls that may fail return 0 or a negative
 * errno, and then @err is one sentence that says what to do, with file and line
 * where there is one; it is printable ASCII.
 */
#ifndef VFABRIC_TOPO_H
#define VFABRIC_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TOPO_MAX_WORLD		1024
#define TOPO_MAX_PORTS		64	/* of an endpoint */
#define TOPO_MAX_SWITCHES	1024
#define TOPO_MAX_SWITCH_PORTS	4096
/* A fat tree under 1024 endpoints of 64 ports has this many */
#define TOPO_MAX_LINKS		(2 * TOPO_MAX_WORLD * TOPO_MAX_PORTS)
#define TOPO_NAME_LEN		31
#define TOPO_ERR_LEN		512

/* Nodes of the graph: endpoint ranks 0..world-1, and switches */
#define TOPO_SWITCH(i)		(0x8000 | (i))
#define TOPO_IS_SWITCH(node)	((node) >> 15)
#define TOPO_INDEX(node)	((node) & 0x7fff)

/**
 * struct topo_link - a link, and the port at either end
 * @a, @b: a rank, or TOPO_SWITCH(i); they differ
 * @a_port, @b_port: 0..63 of an endpoint, 0..4095 of a switch; a port is the
 *	end of one link at most
 * @width: lanes, 0: unknown
 * @rate: 10^6 bytes per second and direction, never 0
 * @latency: nanoseconds, one way over this link, 0: unknown
 */
struct topo_link {
	uint16_t a, a_port, b, b_port;
	uint16_t width;
	uint32_t rate;
	uint32_t latency;
};

/* Which partitions a domain of this topology begins with */
enum topo_partitions {
	TOPO_PART_ONE,		/* one, which holds every endpoint */
	TOPO_PART_PER_NODE,	/* one for each node: node n's is partition n */
	TOPO_PART_NONE,		/* no endpoint is in a partition */
	TOPO_PART_HGX15,	/* the fixed ones of a board of 8, none of them active */
};

/**
 * struct topo - a topology, link by link
 * @name: "" or a name as a domain may have
 * @world: endpoints, 1..1024
 * @nodes: OS instances of world / nodes consecutive ranks each, 0: not stated
 * @ports: of each endpoint, not all of which need be joined; 0..64
 * @switches: 0..1024
 * @forwarding: endpoints pass on what is for others, as in a torus
 * @links: @nlinks of them, in an order that is the same for the same input;
 *	they may leave endpoints unjoined: see topo_measure()
 */
struct topo {
	char name[TOPO_NAME_LEN + 1];
	uint32_t world, nodes, ports, switches, nlinks;
	enum topo_partitions partitions;
	bool forwarding;
	struct topo_link *links;
};

/*
 * @spec: a profile's name, or torus:XxYxZ.
 * @sets: NULL, or "key=value" strings up to a NULL; they replace parameters.
 * @out: to be freed by topo_free() after success; empty after a failure.
 *
 * -ENOENT: no such profile or file; -ENODATA: a number that is needed is null,
 * and err names the --set options that are missing; -EINVAL: what is said is
 * wrong; -E2BIG: the file is too large; -ENOMEM; others as of open() and read().
 */
int topo_load_profile(const char *spec, char *const *sets, struct topo *out,
		      char *err, size_t errlen);
int topo_load_file(const char *path, char *const *sets, struct topo *out,
		   char *err, size_t errlen);
/* @file is what messages call it */
int topo_load_text(const char *file, const void *text, size_t len,
		   char *const *sets, struct topo *out, char *err, size_t errlen);
void topo_free(struct topo *t);

/* As a file with explicit links, which loads as an equal topology. 0 or -EIO. */
int topo_dump(const struct topo *t, FILE *to);
bool topo_equal(const struct topo *x, const struct topo *y);

/**
 * struct topo_summary - what topo_measure() finds
 * @connected: every endpoint reaches every other over links
 * @ep_ports: fewest and most joined ports of an endpoint
 * @sw_ports: of a switch; 0 if there is none
 * @diameter: links on the longest of all shortest paths between endpoints;
 *	0 unless connected
 * @bisection: 10^6 bytes per second in one direction, from one half of the ranks
 *	to the other: the maximum flow, the least over @halvings regular ways to
 *	halve them; an upper bound of the true bisection. 0 for one endpoint.
 */
struct topo_summary {
	bool connected;
	uint32_t ep_ports[2], sw_ports[2];
	uint32_t diameter;
	uint32_t halvings;
	uint64_t bisection;
};

/* 0 or -ENOMEM */
int topo_measure(const struct topo *t, struct topo_summary *s);

/* What a profile says, numbers that nobody has published included. */

enum topo_confidence {
	TOPO_UNSOURCED,		/* nothing is said */
	TOPO_CONFIDENCE_A,	/* the vendor's text or public source code */
	TOPO_CONFIDENCE_B,	/* several texts that agree */
	TOPO_CONFIDENCE_C,	/* one text, or an announcement */
	TOPO_CONFIDENCE_DERIVED,	/* computed from others */
};

/**
 * struct topo_value - a number of a profile
 * @key: says the unit: see topo_unit()
 * @known: false: null, nobody has published it
 * @source, @confidence: where it is from; NULL, TOPO_UNSOURCED: not said
 */
struct topo_value {
	const char *key;
	bool known;
	uint64_t number;
	const char *source;
	enum topo_confidence confidence;
	uint32_t line;
};

#define TOPO_MAX_VALUES 64

/**
 * struct topo_profile - a profile's file
 * @file: its path
 * @generator: its name, NULL if it lists links
 * @params: what the topology is made from; @facts: what else is known
 * @notes: sentences
 * @priv: the memory behind all of this
 */
struct topo_profile {
	char name[TOPO_NAME_LEN + 1];
	const char *file, *description, *generator;
	struct topo_value params[TOPO_MAX_VALUES], facts[TOPO_MAX_VALUES];
	const char *notes[TOPO_MAX_VALUES];
	uint32_t nparams, nfacts, nnotes;
	void *priv;
};

/* As topo_load_profile(), but no number need be known. */
int topo_profile_read(const char *spec, char *const *sets,
		      struct topo_profile *out, char *err, size_t errlen);
void topo_profile_free(struct topo_profile *p);
/*
 * Does each number have a source and a confidence, and do those that say the
 * same in two ways agree? 0, or -EINVAL and the first that does not.
 */
int topo_profile_check(const struct topo_profile *p, char *err, size_t errlen);

/* Sorted names of all profiles that are found, and their number; or -ENOMEM. */
int topo_profile_names(char ***names);
void topo_names_free(char **names);

enum topo_unit {
	TOPO_COUNT,		/* of what the key says */
	TOPO_MB_PER_DIRECTION,	/* 10^6 bytes per second, in each direction */
	TOPO_MB_BOTH,		/* 10^6 bytes per second, both directions added */
	TOPO_MB_UNSTATED,	/* 10^6 bytes per second; the source does not say */
	TOPO_NS,
	TOPO_PERCENT,
	TOPO_WATT,
	TOPO_BYTE,
};

enum topo_unit topo_unit(const char *key);
const char *topo_confidence(enum topo_confidence c);

#endif
