/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of vfabperf share. */
#ifndef VFABPERF_H
#define VFABPERF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "vfab.h"

enum {
	EXIT_DONE = 0,
	EXIT_VERDICT = 1,
	EXIT_SETUP = 2,
	EXIT_TIMEOUT = 3,
};

/* This process's part in the run. */
struct run {
	const char *command;	/* "lat" */
	char **argv;		/* of the process, for the record */
	struct vfab_ep *ep;
	struct vfab_comm *comm;
	uint32_t index, size;	/* in the group of ranks that take part */
	uint32_t ranks[VFAB_MAX_WORLD];
	double timeout;
	bool pin;
	const char *json;
	bool agreed;		/* all ranks end with the same status */
	bool raw;		/* plain loads and stores: neither counted nor paced */
	bool memfd;		/* the transport without a module */
};

/* What each command understands. */
struct options {
	const char *domain, *list;	/* --domain, --ranks */
	uint32_t ntasks;
	double timeout;			/* -T */
	bool no_pin, memfd;
	const char *json;		/* -J */
};

struct command {
	const char *name;
	int (*main)(int argc, char **argv);
};

int lat_main(int argc, char **argv);
int bw_main(int argc, char **argv);
int doorbell_main(int argc, char **argv);
int coll_main(int argc, char **argv);
int matrix_main(int argc, char **argv);
int tune_main(int argc, char **argv);

/* main.c */
struct option;
#define OPTIONS		40	/* of a command, common ones included */
void all_options(struct option *all, const struct option *own);
int next_option(int argc, char **argv, const char *letters,
		const struct option *all);
/* These three return -1; >= 0: exit with it. */
int common_option(struct options *o, int c, const char *usage);
int parse_size(const char *text, uint64_t *bytes);
int parse_count(const char *text, uint64_t max, uint64_t *count);
/* Both return EXIT_SETUP; the first one says where help is. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int setup_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* >= 0: exit with it; else this process is a rank of the run. */
int run_start(struct run *r, const struct options *o, char **argv);
int run_end(struct run *r, int status);
int run_failed(const struct run *r, const char *what, int err);
bool run_first(const struct run *r);
/* Do rates and latencies of the domain act on what this command does? */
bool run_paced(const struct run *r);
void pin_to(uint32_t index);
int cpu_count(void);

/* stats.c: all of one set of times, in the unit they came in */
struct stats {
	size_t n;
	double min, max, median, mean, stdev, p25, p75, p95, p99, p999;
};

double now_ns(void);
void stats_of(double *x, size_t n, struct stats *s);	/* sorts @x */
double median(double *x, size_t n);

/* env.c */
struct env {
	char kernel[160], cpu[128], mode[16], host[65];
	const char *commit;
	int cpus;
	double load, hop_ns, memcpy_gbs;
};

void env_get(struct env *e);
void env_print(const struct env *e, const struct run *r);

/* json.c: to a file, or nowhere */
int json_check(const char *path);
int json_open(const char *path);
int json_close(void);
void json_begin(const char *key, char bracket);
void json_end(char bracket);
void json_str(const char *key, const char *value);
void json_num(const char *key, double value);
void json_bool(const char *key, bool value);
void json_null(const char *key);
void json_stats_us(const struct stats *ns);
/* Leaves "config" open, for what the command adds. */
void json_head(const struct env *e, const struct run *r);

/* hist.c */
void hist_print(const char *what, const double *x, size_t n);

/* plot.c */
int plot_check(const char *file);	/* -1; >= 0: exit with it */
bool plot_begin(const char *file, const char *title, const char *commands);
void plot_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void plot_sizes(size_t from, size_t most);
void plot_series(const char *const *titles, int n);
int plot_end(void);

/* progress.c */
void progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void progress_clear(void);

/* pattern.c: inputs that differ per rank, element and iteration */
#define PERIOD	509

struct pattern {
	size_t elem;
	unsigned char bytes[PERIOD * 8];
};

bool pattern_integer(enum vfab_type type);
void pattern_moved(struct pattern *p, enum vfab_type type, uint32_t rank, uint32_t iter);
void pattern_input(struct pattern *p, enum vfab_type type, enum vfab_op op, uint32_t rank,
		   uint32_t iter);
void pattern_result(struct pattern *p, enum vfab_type type, enum vfab_op op, uint32_t ranks,
		    uint32_t iter);
void pattern_fill(const struct pattern *p, void *buf, size_t first, size_t n);
uint64_t pattern_wrong(const struct pattern *p, const void *buf, size_t first, size_t n);

/* kind.c: what the collectives have in common, and what not */
struct kind {
	const char *name, *alias;
	enum vfab_coll coll;
	enum { BUS_NONE, BUS_ONCE, BUS_OTHERS, BUS_TWICE } bus;
	bool reduces;
	bool rooted, to_root;		/* only the root has the source, or the result */
	bool in_each, out_each;		/* a share for, or of, each rank */
	bool out_of_place;		/* only */
};

/* One rank's part in a call */
struct place {
	uint32_t index, n;
	struct vfab_call call;
	size_t *counts, *offsets;	/* of the shares, in elements */
};

extern const struct kind kinds[];	/* up to one without a name */
double kind_bus(const struct kind *k, uint32_t n);
int place_init(struct place *p, const struct kind *k, uint32_t index, uint32_t n);
void place_free(struct place *p);
void place_buffers(struct place *p, const struct kind *k, char *a, char *b, bool in_place);
void place_fill(const struct place *p, const struct kind *k, uint32_t iter);
void *place_result(const struct place *p, const struct kind *k, size_t *len);
uint64_t place_wrong(const struct place *p, const struct kind *k, uint32_t iter);
int place_run(const struct place *p, struct vfab_comm *comm, bool blocking);

#endif
