/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fuzz: a coverage-guided fuzzer of the module.
 *
 * A program is a sequence of calls: ioctls and netlink requests, as scripts/gen-fuzz
 * describes them, and what is done with files and memory besides. Arguments are
 * numbers. Those that name something small, as "the second handle that this program
 * was given", so that any sequence of calls makes sense; large ones are taken as
 * they are. As a text, a program has a line for each call:
 *
 *	open file=0
 *	ioctl.attach file=0 rank=0x1
 *	ioctl.window_alloc file=0 size=0x1 access=0x3
 *
 *	prog.c	programs: text, chance, mutation
 *	exec.c	running one, and what must hold in and after it
 *	memory.c mappings and accesses, and what must hold of them
 *	nl.c	requests of netlink
 *	main.c	the loop, the corpus, coverage, findings
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MAX_ARGS	48
#define MAX_CALLS	24
#define MAX_DESCS	128
#define FILES		4
#define MAPS		4
#define TEXT_MAX	8192

enum kind {
	K_INT,
	K_FLAG,			/* present or not */
	K_HANDLE,		/* below NAMED: of the program's handles, ... */
	K_COOKIE,
	K_DOMAIN,
	K_FD,			/* below FILES: that file of the program's */
	K_DEADLINE,		/* enum deadline, or as it is */
	K_SIZE,			/* below 4096: pages */
	K_NAME,			/* below NAMED: "f0", "f1", ... */
	K_STRING,		/* of netlink; length and bytes come from the number */
	K_BYTES,		/* the same: low byte length, then bytes */
	K_RECORDS,
};

#define NAMED		16

enum deadline { NO_WAIT, PAST, SOON, NEVER };

#define A_REPLY		1	/* the kernel writes it */
#define A_ZERO		2	/* must be 0, both ways */
#define A_OURS		4	/* no part of the interface */
#define A_REST		8	/* can be left to what is usual */

struct record;

struct arg {
	const char *name;
	unsigned int kind, size;
	unsigned int where;	/* offset in the structure, or attribute */
	uint64_t low, high;
	unsigned int flags;
	const struct record *record;
};

struct record {
	unsigned int size;
	const struct arg *args;	/* the last has no name */
};

/* Where the structure is, and how long it is said to be: 0 is as it should */
enum place { AT_BUFFER, AT_NULL, AT_END, AT_READONLY, AT_MAP };

#define IOCTL_ARGS \
	{ "file", K_INT, 1, 0, 0, FILES - 1, A_OURS, NULL }, \
	{ "at", K_INT, 1, 0, 0, AT_MAP + MAPS - 1, A_OURS, NULL }, \
	{ "length", K_INT, 2, 0, 0, 200, A_OURS, NULL },
enum { IOCTL_FILE, IOCTL_AT, IOCTL_LENGTH, IOCTL_OWN };

/* As nobody; a dump; with a byte changed */
#define NL_ARGS \
	{ "nobody", K_INT, 1, 0, 0, 1, A_OURS, NULL }, \
	{ "dump", K_INT, 1, 0, 0, 1, A_OURS, NULL }, \
	{ "broken", K_INT, 4, 0, 0, 0xffffffff, A_OURS, NULL },
enum { NL_NOBODY, NL_DUMP, NL_BROKEN, NL_OWN };

enum type { C_SYS, C_IOCTL, C_NL };

#define N_ADMIN		1
#define N_DUMP		2

struct desc {
	const char *name;
	enum type type;
	unsigned int number;	/* of the ioctl, of the command, enum sys */
	unsigned int size;	/* of the structure */
	unsigned int flags;
	const struct arg *args;
};

struct call {
	const struct desc *desc;
	uint64_t have;		/* bit per argument */
	uint64_t arg[MAX_ARGS];
};

struct prog {
	unsigned int n;
	struct call call[MAX_CALLS];
};

/* fuzz_table.c, made by scripts/gen-fuzz */
extern const struct desc generated[];
extern const unsigned int ngenerated;
extern const unsigned int limits[];	/* numbers near which something changes */
extern const unsigned int nlimits;
extern const int documented_errors[];	/* that an ioctl may fail with */
extern const unsigned int ndocumented_errors;

/* prog.c */
extern const struct desc *descs[];
extern unsigned int ndescs;
void prog_init(void);
void desc_done(const struct desc *d);
uint64_t chance(void);
unsigned int below(unsigned int n);
void chance_seed(uint64_t seed);
unsigned int prog_print(const struct prog *p, char *text, size_t size);
bool prog_parse(struct prog *p, const char **text, char *err, size_t size);
void prog_mutate(struct prog *p, const struct prog *other);
bool prog_forks(const struct prog *p);
uint64_t value_of(const struct arg *a, uint64_t (*next)(void));

/* Does @have hold argument @i, and which one is it? */
static inline uint64_t call_arg(const struct call *c, unsigned int i)
{
	return c->have & 1ULL << i ? c->arg[i] : 0;
}

/* exec.c */
enum sys {
	SYS_OPEN, SYS_CLOSE, SYS_DUP, SYS_EVENTFD, SYS_READ, SYS_POLL, SYS_IOCTL,
	SYS_MMAP, SYS_MUNMAP, SYS_MPROTECT, SYS_MREMAP, SYS_MADVISE, SYS_LOAD, SYS_STORE,
	SYS_FORK, SYS_REOPEN, SYS_NAP,
};

extern const struct desc sys_descs[];
extern const unsigned int nsys_descs;
extern bool verbose;

#define SLICE_US	10000		/* after which a call that sleeps is interrupted */

void exec_init(void);
void exec_prog(const struct prog *p);
void exec_reset(void);
void exec_end(void);

/* memory.c */
struct file {
	int fd;			/* -1: none */
	unsigned int opened;	/* which open() it is of; 0: not the device */
};

/* A right to map, as a call gave it; its file may be gone */
struct right {
	unsigned int opened;
	uint64_t cookie, size, handle;
	uint32_t access, loss;
};

void right_add(const struct right *r);
uint64_t right_cookie(uint64_t number);
void window_freed(uint64_t handle);
bool window_is_freed(uint64_t handle);
extern volatile sig_atomic_t slices;
int touch(void *to, const void *from, size_t n);
char *map_page(uint64_t map, uint64_t page);
void memory_call(const struct call *c, const struct file *f);
void memory_signal(int sig);
void memory_begin(void);
void memory_end(void);

/* nl.c */
void nl_init(void);
void nl_reopen(void);
void nl_call(const struct call *c);
uint64_t nl_domain(uint64_t number);
void nl_base(void);
void nl_sweep(void);
void nl_begin(void);

/* main.c */
struct shared {
	int dirty;		/* so many changes of the control plane */
	bool opened;		/* a file of the device, since nobody used the module */
	bool system;		/* what is set for all domains */
	uint64_t calls;
	uint64_t done[MAX_DESCS];	/* how often each succeeded, in the order of descs */
	char found[1024];	/* what is wrong, "" for nothing */
};

extern struct shared *shared;
/* Something must not be so: ends the run */
void __attribute__((format(printf, 1, 2), noreturn)) wrong(const char *format, ...);

#endif
