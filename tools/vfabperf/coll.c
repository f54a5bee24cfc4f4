// SPDX-License-Identifier: GPL-2.0
/*
 * vfabperf coll: collectives, with nccl-tests' columns, options and factors.
 *
 * Before each iteration the input is written anew (a source that is not would
 * stay in the readers' caches), and all ranks meet. The time of an iteration
 * is that of the slowest rank; every iteration's result is checked.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "vfabperf.h"

#define TAG		UINT64_C(0x7666706572660030)
#define MAX_BYTES	(UINT64_C(4) << 30)

static const char usage[] =
"Usage: vfabperf coll [-n RANKS] allreduce|barrier [OPTION]...\n"
"Measure a collective and check its results. Columns as of nccl-tests: algbw is\n"
"size by time, busbw that times 2(n-1)/n; GB are 10^9 bytes; time is the mean\n"
"over the iterations of the slowest rank's.\n"
"\n"
"Before the collective's name:\n"
"  -n RANKS             ranks to start (default: all members of the partition)\n"
"After it:\n"
"  -b, --minbytes=SIZE  smallest size (default 8)\n"
"  -e, --maxbytes=SIZE  largest size (default 512K)\n"
"  -f, --stepfactor=N   from one size to the next (default 4)\n"
"  -i, --stepbytes=SIZE add this instead\n"
"  -n, --iters=N        iterations of each size (default 20)\n"
"  -w, --warmup_iters=N iterations before that (default 5)\n"
"  -c, --check=0|1      check the result of each iteration (default 1)\n"
"  -o, --op=OP          sum, prod, min, max or all (default sum)\n"
"  -d, --datatype=TYPE  float, double, int32, int64, uint32, uint64 or all\n"
"                       (default float)\n"
"      --no-dirty       leave the input alone between iterations\n"
"      --plant-error    damage one bit of one result: the check must see it\n";

static const char header[] = {
"#                                                          out-of-place                      in-place\n"
"#       size         count      type   redop  root       time   algbw   busbw  #wrong       time   algbw   busbw  #wrong\n"
"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)               (us)  (GB/s)  (GB/s)\n"
};

enum { NO_DIRTY = 256, PLANT };

static const char *const type_names[VFAB_TYPES] = {
	"float", "double", "int32", "int64", "uint32", "uint64"
};

static const char *const type_aliases[VFAB_TYPES] = {
	"f32", "f64", "i32", "i64", "u32", "u64"
};

static const char *const op_names[VFAB_OPS] = { "sum", "prod", "min", "max" };

struct coll {
	struct run run;
	bool barrier;
	uint64_t from, to, factor, step, iters, warmup;
	uint64_t check;
	int type, op;			/* -1: all */
	bool no_dirty, plant, planted;
	char *in, *out;
	double *times;
	uint32_t iter;			/* all over the run: no input comes twice */
	/* barrier: every rank's epoch, which it counts up before each */
	struct vfab_mem epoch;
	struct vfab_mem *peers;
	/* sums for the last lines */
	uint64_t wrong, rows;
	double busbw;
};

struct result {
	struct stats s;
	double time_us, algbw, busbw;
	uint64_t wrong;
};

static uint64_t check(struct coll *c, char *out, size_t count,
		      enum vfab_type type, enum vfab_op op, uint32_t iter)
{
	/* One bit of one element, of one rank, once. */
	if (c->plant && !c->planted && c->run.index == c->run.size - 1 && count) {
		out[count / 2 * vfab_type_size(type)] ^= 1;
		c->planted = true;
	}
	return pattern_wrong(out, count, type, op, c->run.size, iter);
}

/* Iterations of one row's half; times in ns of this rank. */
static int iterate(struct coll *c, bool in_place, size_t count,
		   enum vfab_type type, enum vfab_op op, uint64_t *wrong)
{
	const struct run *r = &c->run;
	void *in = in_place ? c->out : c->in;
	uint32_t filled = 0;
	uint64_t i;
	double t;
	int ret;

	*wrong = 0;
	for (i = 0; i < c->warmup + c->iters; i++) {
		/* In place, the result has replaced the input. */
		if (!c->no_dirty || in_place || !i) {
			filled = c->iter++;
			pattern_fill(in, count, type, op, r->index, filled);
		}
		ret = vfab_barrier(r->comm);
		t = now_ns();
		if (!ret)
			ret = vfab_allreduce(r->comm, in, c->out, count, type, op);
		t = now_ns() - t;
		if (ret)
			return ret;
		if (i >= c->warmup)
			c->times[i - c->warmup] = t;
		if (c->check)
			*wrong += check(c, c->out, count, type, op, filled);
	}
	return 0;
}

/* The group's view of what each rank measured: slowest times, all errors. */
static int gather(struct coll *c, uint64_t wrong, size_t bytes, struct result *r)
{
	uint32_t n = c->run.size;
	int ret;

	ret = vfab_allreduce(c->run.comm, c->times, c->times, c->iters,
			     VFAB_F64, VFAB_MAX);
	if (!ret)
		ret = vfab_allreduce(c->run.comm, &wrong, &r->wrong, 1,
				     VFAB_U64, VFAB_SUM);
	if (ret)
		return ret;
	stats_of(c->times, c->iters, &r->s);
	r->time_us = r->s.mean / 1e3;
	r->algbw = bytes / r->s.mean;
	r->busbw = r->algbw * 2 * (n - 1) / n;
	c->wrong += r->wrong;
	c->busbw += r->busbw;
	c->rows++;
	return 0;
}

static void json_result(const char *key, const struct result *r)
{
	json_begin(key, '{');
	json_num("time", r->time_us);
	json_num("alg_bw", r->algbw);
	json_num("bus_bw", r->busbw);
	json_num("nwrong", r->wrong);
	json_stats_us(&r->s);
	json_end('}');
}

static void print_result(const struct coll *c, const struct result *r)
{
	char wrong[24] = "N/A";

	if (c->check)
		snprintf(wrong, sizeof(wrong), "%llu",
			 (unsigned long long)r->wrong);
	printf("  %9.2f  %6.3f  %6.3f  %5s", r->time_us, r->algbw, r->busbw, wrong);
}

static int row(struct coll *c, uint64_t bytes, enum vfab_type type,
	       enum vfab_op op)
{
	size_t elem = vfab_type_size(type), count = bytes / elem;
	struct result r[2];
	uint64_t wrong;
	int k, ret;

	if (run_first(&c->run)) {
		printf("%12zu  %12zu  %8s  %6s  %4d", count * elem, count,
		       type_names[type], op_names[op], -1);
		fflush(stdout);
	}
	for (k = 0; k < 2; k++) {
		ret = iterate(c, k, count, type, op, &wrong);
		if (!ret)
			ret = gather(c, wrong, count * elem, &r[k]);
		if (ret) {
			if (run_first(&c->run))
				putchar('\n');
			return run_failed(&c->run, "allreduce", ret);
		}
		if (run_first(&c->run))
			print_result(c, &r[k]);
	}
	if (!run_first(&c->run))
		return 0;
	putchar('\n');
	fflush(stdout);
	json_begin(NULL, '{');
	json_num("size", count * elem);
	json_num("count", count);
	json_str("type", type_names[type]);
	json_str("redop", op_names[op]);
	json_num("root", -1);
	json_result("out_of_place", &r[0]);
	json_result("in_place", &r[1]);
	json_end('}');
	return 0;
}

static int run_allreduce(struct coll *c)
{
	uint64_t bytes;
	int type, op, ret;

	if (posix_memalign((void **)&c->in, 4096, c->to) ||
	    posix_memalign((void **)&c->out, 4096, c->to))
		return setup_error("no memory for %llu bytes",
				   (unsigned long long)c->to);
	for (type = 0; type < VFAB_TYPES; type++) {
		for (op = 0; op < VFAB_OPS; op++) {
			if ((c->type >= 0 && type != c->type) ||
			    (c->op >= 0 && op != c->op))
				continue;
			for (bytes = c->from; bytes <= c->to;
			     bytes = c->step ? bytes + c->step : bytes * c->factor) {
				ret = row(c, bytes, type, op);
				if (ret)
					return ret;
			}
		}
	}
	return 0;
}

/* A rank that passed before another came would find its epoch too low. */
static int meet_epochs(struct coll *c)
{
	struct run *r = &c->run;
	uint64_t handle;
	uint32_t i;
	int ret;

	c->peers = calloc(r->size, sizeof(*c->peers));
	if (!c->peers)
		return -ENOMEM;
	ret = vfab_window_alloc(r->ep, 8, TAG, VFAB_ACCESS_READ, &c->epoch);
	for (i = 0; i < r->size && !ret; i++) {
		if (i == r->index)
			continue;
		ret = vfab_lookup(r->ep, r->ranks[i], TAG,
				  r->timeout * VFAB_SECOND, &handle);
		if (!ret)
			ret = vfab_import(r->ep, handle, VFAB_ACCESS_READ,
					  VFAB_LOSS_ABSORB, &c->peers[i]);
	}
	return ret ? ret : vfab_barrier(r->comm);
}

static uint64_t late(const struct coll *c, uint64_t epoch)
{
	uint64_t wrong = 0;
	uint32_t i;

	for (i = 0; i < c->run.size; i++)
		if (i != c->run.index)
			wrong += __atomic_load_n((uint64_t *)c->peers[i].addr,
						 __ATOMIC_RELAXED) < epoch;
	return wrong;
}

static int run_barrier(struct coll *c)
{
	struct run *r = &c->run;
	struct result res;
	uint64_t i, wrong = 0;
	double t;
	int ret;

	ret = meet_epochs(c);
	for (i = 0; i < c->warmup + c->iters && !ret; i++) {
		/* The planted error: rank 0 does not say that it came. */
		if (!(c->plant && run_first(r) && i == c->warmup))
			__atomic_store_n((uint64_t *)c->epoch.addr, i + 1,
					 __ATOMIC_RELAXED);
		t = now_ns();
		ret = vfab_barrier(r->comm);
		t = now_ns() - t;
		if (i >= c->warmup)
			c->times[i - c->warmup] = t;
		if (c->check && !ret)
			wrong += late(c, i + 1);
		/* Nobody counts on while others look. */
		if (c->check && !ret && c->plant)
			ret = vfab_barrier(r->comm);
	}
	if (!ret)
		ret = gather(c, wrong, 0, &res);
	if (ret)
		return run_failed(r, "barrier", ret);
	if (!run_first(r))
		return 0;
	printf("%12d  %12d  %8s  %6s  %4d", 0, 0, "none", "none", -1);
	print_result(c, &res);
	putchar('\n');
	json_begin(NULL, '{');
	json_num("size", 0);
	json_num("count", 0);
	json_str("type", "none");
	json_str("redop", "none");
	json_num("root", -1);
	json_result("out_of_place", &res);
	json_end('}');
	return 0;
}

static int choose(const char *what, const char *text,
		  const char *const *names, const char *const *aliases, int n,
		  int *value)
{
	for (*value = 0; *value < n; ++*value)
		if (!strcasecmp(text, names[*value]) ||
		    (aliases && !strcasecmp(text, aliases[*value])))
			return 0;
	*value = -1;
	return strcmp(text, "all") ?
	       usage_error("there is no %s \"%s\"", what, text) : 0;
}

/* As common_option(): >= 0 is the exit status. */
static int option(struct coll *c, struct options *o, int opt, bool after)
{
	uint64_t v;
	int ret = 0;

	switch (opt) {
	case 'n':
		ret = parse_count(optarg, after ? 10000000 : VFAB_MAX_WORLD, &v);
		if (after)
			c->iters = v;
		else
			o->ntasks = v;
		break;
	case 'b':
		ret = parse_size(optarg, &c->from);
		break;
	case 'e':
		ret = parse_size(optarg, &c->to);
		break;
	case 'f':
		ret = parse_count(optarg, 1 << 30, &c->factor);
		break;
	case 'i':
		ret = parse_size(optarg, &c->step);
		break;
	case 'w':
		ret = parse_count(optarg, 10000000, &c->warmup);
		break;
	case 'c':
		ret = parse_count(optarg, 10000000, &c->check);
		break;
	case 'o':
		ret = choose("operation", optarg, op_names, NULL, VFAB_OPS, &c->op);
		break;
	case 'd':
		ret = choose("type", optarg, type_names, type_aliases, VFAB_TYPES,
			     &c->type);
		break;
	case NO_DIRTY:
		c->no_dirty = true;
		break;
	case PLANT:
		c->plant = true;
		break;
	default:
		return common_option(o, opt, usage);
	}
	return ret ? ret : -1;
}

/* Options before the collective's name, the name, options after it. */
static int parse(struct coll *c, struct options *o, int argc, char **argv)
{
	static const struct option own[] = {
		{ "minbytes", 1, NULL, 'b' }, { "maxbytes", 1, NULL, 'e' },
		{ "stepfactor", 1, NULL, 'f' }, { "stepbytes", 1, NULL, 'i' },
		{ "iters", 1, NULL, 'n' }, { "warmup_iters", 1, NULL, 'w' },
		{ "check", 1, NULL, 'c' }, { "op", 1, NULL, 'o' },
		{ "datatype", 1, NULL, 'd' }, { "no-dirty", 0, NULL, NO_DIRTY },
		{ "plant-error", 0, NULL, PLANT }, { NULL, 0, NULL, 0 }
	};
	struct option options[OPTIONS];
	bool after = false;
	const char *name;
	int opt, ret;

	all_options(options, own);
	for (;; after = true) {
		while ((opt = next_option(argc, argv, "+b:e:f:i:n:w:c:o:d:T:J:h",
					  options)) != -1) {
			ret = option(c, o, opt, after);
			if (ret >= 0)
				return ret;
		}
		name = argv[1 + optind];
		if (!name)
			break;
		if (after)
			return usage_error("argument \"%s\" is one too many", name);
		c->run.command = name;
		c->barrier = !strcmp(name, "barrier");
		if (!c->barrier && strcmp(name, "allreduce") &&
		    strcmp(name, "all_reduce"))
			return usage_error("there is no collective \"%s\"", name);
		optind++;
	}
	if (!after)
		return usage_error("name a collective: allreduce or barrier");
	if (c->from > c->to)
		return usage_error("the largest size, -e %llu, is below the smallest, -b %llu",
				   (unsigned long long)c->to, (unsigned long long)c->from);
	if (c->to > MAX_BYTES || (!c->step && c->factor < 2) ||
	    !c->iters || (!c->from && !c->step))
		return usage_error("sizes are 1 to 4G, the factor 2 or more, iterations 1 or more");
	return -1;
}

static int finish(struct coll *c)
{
	if (run_first(&c->run)) {
		printf("# Out of bounds values : %llu %s\n",
		       (unsigned long long)c->wrong, c->wrong ? "FAILED" : "OK");
		if (!c->barrier)
			printf("# Avg bus bandwidth    : %g\n",
			       c->rows ? c->busbw / c->rows : 0);
		json_begin("out_of_bounds", '{');
		json_num("count", c->wrong);
		json_num("okay", !c->wrong);
		json_end('}');
		json_num("average_bus_bandwidth",
			 c->rows ? c->busbw / c->rows : 0);
	}
	c->run.agreed = true;
	return c->wrong ? EXIT_VERDICT : EXIT_DONE;
}

int coll_main(int argc, char **argv)
{
	struct coll c = {
		.from = 8, .to = 512 << 10, .factor = 4, .iters = 20,
		.warmup = 5, .check = 1, .type = VFAB_F32, .op = VFAB_SUM,
	};
	struct options o = { 0 };
	struct env e;
	int ret;

	ret = parse(&c, &o, argc, argv);
	if (ret >= 0)
		return ret;
	ret = run_start(&c.run, &o, argv);
	if (ret >= 0)
		return ret;
	c.times = calloc(c.iters, sizeof(*c.times));
	if (!c.times)
		return setup_error("out of memory");
	if (run_first(&c.run)) {
		ret = json_open(c.run.json);
		if (ret > 0)
			return ret;
		env_get(&e);
		env_print(&e, &c.run);
		json_head(&e, &c.run);
		fputs(header, stdout);
		json_begin("results", '[');
	}
	ret = c.barrier ? run_barrier(&c) : run_allreduce(&c);
	json_end(']');
	if (!ret)
		ret = finish(&c);
	return run_end(&c.run, ret);
}
