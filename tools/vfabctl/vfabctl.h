/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vfabctl: what its files share. One file per object, a table of verbs in
 * each; one struct ctx passed down; text and JSON printed by the same calls.
 */
#ifndef VFABCTL_H
#define VFABCTL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "vfab.h"
#include "vfab_nl.h"

#define RANK_BYTES	(VFAB_MAX_WORLD / 8)
#define MAX_PARTITION	65535
#define MAX_SWITCH	1023
#define MAX_SWITCH_PORT	4095

/* Exit statuses */
enum {
	DONE = 0,
	REFUSED = 1,		/* by the kernel, or the answer is "no" */
	USAGE = 2,		/* wrong arguments, or no module to talk to */
	TIMED_OUT = 3,
};

struct object;
struct verb;

/**
 * struct ctx - one run of vfabctl
 * @json: print JSON, @pretty: indented
 * @lines: JSON: one object per line instead of one list
 * @nl: NULL until something is asked
 * @object, @verb: what is being run, for hints
 * @subject: what error messages are about
 */
struct ctx {
	bool json, pretty;
	bool lines;
	struct vfab_nl *nl;
	const struct object *object;
	const struct verb *verb;
	char subject[128];
	struct {
		unsigned int depth;
		bool comma;	/* something stands before, in this list or object */
		bool opened;	/* the outermost list */
	} out;
};

/**
 * struct verb - one row of an object's table; a row of NULL ends it
 * @names: the verb and its aliases, separated by blanks; empty in the only row
 *	of an object that wants no verb
 * @run: what it does; returns the exit status
 * @args: for the usage line
 * @help: what it does, in words
 */
struct verb {
	const char *names;
	int (*run)(struct ctx *c, int argc, char **argv);
	const char *args;
	const char *help;
};

extern const struct verb domain_verbs[], partition_verbs[], channel_verbs[],
	node_verbs[], endpoint_verbs[],
	window_verbs[], switch_verbs[], port_verbs[], link_verbs[], route_verbs[],
	fault_verbs[], topo_verbs[], profile_verbs[], counters_verbs[], monitor_verbs[],
	export_verbs[], wait_verbs[], scenario_verbs[], system_verbs[], backplane_verbs[];

/* main.c */
void error(const struct ctx *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void usage(const struct ctx *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));
void about(struct ctx *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void help(const struct ctx *c) __attribute__((noreturn));
bool is_command(const char *object, const char *verb);

/* args.c: they do not return when the argument is wrong */

/* --name VALUE if @value is set, else --name; an empty @name ends the list */
struct opt {
	const char *name;
	const char **value;
	bool *flag;
};

/* What may follow the domain in an address */
enum {
	ADDR_DOM = 1 << 0,		/* dom0 */
	ADDR_EP = 1 << 1,		/* dom0/ep5 */
	ADDR_EP_PORT = 1 << 2,		/* dom0/ep5/p3 */
	ADDR_EP_SW = 1 << 3,		/* dom0/ep5/sw3 */
	ADDR_SW = 1 << 4,		/* dom0/sw3 */
	ADDR_SW_PORT = 1 << 5,		/* dom0/sw3/p5 */
	ADDR_PART = 1 << 6,		/* dom0/part1 */
	ADDR_CHAN = 1 << 7,		/* dom0/part1/ch3 */
	ADDR_NODE = 1 << 8,		/* dom0/node3 */
};

/**
 * struct addr - an object's address; what it does not name is -1
 * @kind: which ADDR_*, 0: no address, all domains are meant
 * @name: of the domain, if it was not given by its id
 */
struct addr {
	unsigned int kind;
	char name[VFAB_NAME_LEN + 1];
	uint32_t id;
	int rank, sw, port, part, chan, node;
};

#define MAX_SETS 32
int args_sets(struct ctx *c, int argc, char **argv, char *sets[MAX_SETS + 1]);
void args_words(const struct opt *opts, int skip, int argc, char **argv);
int args_parse(struct ctx *c, int argc, char **argv, const struct opt *opts,
	       int min, int max, const char **pos);
uint64_t arg_uint(struct ctx *c, const char *what, const char *text,
		  uint64_t min, uint64_t max);
uint32_t arg_rank(struct ctx *c, const char *what, const char *text);
uint64_t arg_hex(struct ctx *c, const char *what, const char *text);
uint64_t arg_bytes(struct ctx *c, const char *what, const char *text);
int arg_milliseconds(struct ctx *c, const char *what, const char *text);
uint32_t arg_mode(struct ctx *c, const char *text);
uint32_t arg_user(struct ctx *c, const char *text);
uint32_t arg_group(struct ctx *c, const char *text);
void arg_uuid(struct ctx *c, const char *text, uint8_t uuid[16]);
void arg_ranks(struct ctx *c, const char *what, const char *text,
	       uint8_t ranks[RANK_BYTES]);
bool arg_range(struct ctx *c, const char *what, const char *text, const char **p,
	       uint64_t *first, uint64_t *last);
void arg_place(struct ctx *c, const char *text, uint32_t world,
	       uint8_t place[VFAB_MAX_WORLD]);
void arg_name(struct ctx *c, const char *what, const char *text);
bool is_domain_id(const char *text, size_t len, uint64_t *id);
unsigned int arg_word(struct ctx *c, const char *what, const char *text,
		      const char *const *words);
struct addr arg_addr(struct ctx *c, const char *text, unsigned int allowed);
bool arg_up(struct ctx *c, const char *text);

/* request.c */
struct nlmsghdr *request(struct ctx *c, uint8_t cmd, const struct addr *a);
void put_u32(struct nlmsghdr *req, uint16_t attr, int64_t value);
void put_ranks(struct nlmsghdr *req, uint16_t attr, const uint8_t ranks[RANK_BYTES]);
int ask(struct ctx *c, vfab_nl_cb cb, void *data);
int ask_all(struct ctx *c, vfab_nl_cb cb, void *data);
int ask_change(struct ctx *c);
int show_objects(struct ctx *c, int argc, char **argv, uint8_t cmd, unsigned int own,
		 unsigned int wider, vfab_nl_cb cb);
int delete_forced(struct ctx *c, int argc, char **argv, uint8_t cmd, unsigned int kind);
int in_range(struct ctx *c, const struct addr *a, int64_t dest);

/* A reply's attribute; 0 or "" where it is absent */
static inline uint64_t get(const struct vfab_nl_msg *msg, uint16_t attr)
{
	return vfab_nl_uint(vfab_nl_attr(msg, attr));
}

static inline uint32_t get32(const struct vfab_nl_msg *msg, uint16_t attr)
{
	return vfab_nl_uint(vfab_nl_attr(msg, attr));
}

static inline const char *get_str(const struct vfab_nl_msg *msg, uint16_t attr)
{
	return vfab_nl_str(vfab_nl_attr(msg, attr));
}

static inline bool has(const struct vfab_nl_msg *msg, uint16_t attr)
{
	return vfab_nl_attr(msg, attr);
}

bool get_bit(const struct nlattr *bitmap, unsigned int bit);
void device_path(char path[64], uint32_t domain, uint32_t partition);
void channel_path(char path[64], uint32_t domain, uint32_t partition, uint32_t channel);

/*
 * print.c: each value has a JSON key and a label that stands before it in
 * text; NULL leaves it out of that form. Strings may be any bytes.
 */
void item(struct ctx *c, const char *addr_fmt, ...)
	__attribute__((format(printf, 2, 3)));
void item_end(struct ctx *c);
void out_finish(struct ctx *c, bool done);
void out_uint(struct ctx *c, const char *key, const char *label, uint64_t v);
void out_str(struct ctx *c, const char *key, const char *label, const char *s);
void out_quoted(struct ctx *c, const char *key, const char *label, const char *s);
void out_bool(struct ctx *c, const char *key, bool v);
void out_null(struct ctx *c, const char *key, const char *label, const char *text);
void out_hex(struct ctx *c, const char *key, const char *label, uint64_t v);
void out_bytes(struct ctx *c, const char *key, const char *label, uint64_t v);
void out_limit(struct ctx *c, const char *key, const char *label, uint64_t v);
void out_latency(struct ctx *c, const char *key, const char *label, uint64_t v);
void out_rate(struct ctx *c, const char *key, const char *label, uint64_t v);
const char *uuid_text(const struct nlattr *uuid, char text[37]);
void out_uuid(struct ctx *c, const char *key, const char *label,
	      const struct nlattr *uuid);
void out_ranks(struct ctx *c, const char *key, const char *label,
	       const struct nlattr *bitmap);
void out_text(struct ctx *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void out_open(struct ctx *c, const char *key, char bracket);
void out_close(struct ctx *c, char bracket);
const char *escaped(const char *s);
const char *printable(const char *s);
const char *word(const char *const *words, size_t n, uint32_t value);
#define WORD(words, value) word(words, sizeof(words) / sizeof((words)[0]), value)

/* What several objects' files need of each other */
int link_show(struct ctx *c, int argc, char **argv, uint8_t cmd, unsigned int kinds);
int link_set(struct ctx *c, int argc, char **argv, uint8_t cmd, unsigned int kinds);
void port_addr(char addr[64], const struct vfab_nl_msg *msg, uint16_t rank,
	       uint16_t sw, uint16_t port);		/* these three: link.c */
void out_access(struct ctx *c, const struct vfab_nl_msg *msg);	/* domain.c */
void out_fault(struct ctx *c, const struct vfab_nl_msg *msg);	/* fault.c */
uint32_t health_mask(const struct vfab_nl_msg *msg);	/* endpoint.c */
void out_channel(struct ctx *c, const struct vfab_nl_msg *msg);	/* endpoint.c */
int show_domain(const struct vfab_nl_msg *msg, void *ctx); /* domain.c */
int counters_snapshot(struct ctx *c, int argc, char **argv);	/* snapshot.c */
int counters_diff(struct ctx *c, int argc, char **argv);	/* diff.c */
bool is_path(const char *text);				/* profile.c */
extern const char *const manager_states[3];		/* domain.c */
extern const char *const backplane_states[5], *const backplane_views[4],
	*const backplane_whys[7];			/* these and the next: backplane.c */
void out_incarnation(struct ctx *c, uint64_t v);
int64_t now_ms(void);					/* wait.c */
int wait_run(struct ctx *c, int argc, char **argv);
#define WAIT_ARGS "D [--for ready|managed|attached=N|deleted] [--timeout S]"
extern const char wait_help[];

#endif
