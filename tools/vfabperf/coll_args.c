// SPDX-License-Identifier: GPL-2.0
/* vfabperf coll: what it is asked for. */
#include <getopt.h>
#include <string.h>
#include <strings.h>
#include "coll.h"

#define MAX_BYTES	(UINT64_C(4) << 30)

static const char usage[] =
"Usage: vfabperf coll [-n RANKS] COLLECTIVE [OPTION]...\n"
"Measure a collective and check its results: allreduce, reduce_scatter, allgather,\n"
"alltoall, alltoallv, broadcast, reduce, gather, scatter, sendrecv, barrier, or all\n"
"of them. Columns as of nccl-tests: size is that of all ranks' shares, algbw is size\n"
"by time, busbw that times the factor of nccl-tests' PERFORMANCE.md; GB are 10^9\n"
"bytes; time is the mean over the iterations of the slowest rank's.\n"
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
"  -m, --agg_iters=N    operations of an iteration (default 1)\n"
"  -N, --run_cycles=N   all sizes so many times, one after the other (default 1)\n"
"  -c, --check=0|1      check the result of each iteration (default 1)\n"
"  -o, --op=OP          sum, prod, min, max, avg, and, or, xor or all (default sum)\n"
"  -d, --datatype=TYPE  float, double, half, bfloat16, int8, uint8, int16, uint16,\n"
"                       int32, uint32, int64, uint64, f8e4m3, f8e5m2 or all\n"
"                       (default float)\n"
"  -r, --root=N|all     the root's place among the ranks (default 0)\n"
"  -z, --blocking=0|1   0: by vfab_start() and vfab_finish() (default 1)\n"
"  -a, --average=0..3   the time is rank 0's, the mean, the least, the most of all\n"
"                       ranks' (default 3)\n"
"  -u, --unalign=BYTES  buffers begin so many bytes after a page's begin (default 0)\n"
"  -R, --local_register=0|1  1: buffers lie in windows (default 0)\n"
"  -I, --per_iter=0|1   1: columns of single iterations, all times in JSON (default 0)\n"
"  -S, --report_timestamps=0|1  1: when each row was measured (default 0)\n"
"      --histogram      how often which time was seen\n"
"      --plot=FILE      draw times and bandwidths with gnuplot, .svg or .png\n"
"      --no-dirty       leave the input alone between iterations\n"
"      --plant-error    damage one bit of one result: the check must see it\n";

enum { NO_DIRTY = 256, PLANT, HISTOGRAM, PLOT };

const char *const type_names[VFAB_TYPES] = {
	[VFAB_F32] = "float", [VFAB_F64] = "double", [VFAB_F16] = "half",
	[VFAB_BF16] = "bfloat16", [VFAB_I8] = "int8", [VFAB_U8] = "uint8",
	[VFAB_I16] = "int16", [VFAB_U16] = "uint16", [VFAB_I32] = "int32",
	[VFAB_U32] = "uint32", [VFAB_I64] = "int64", [VFAB_U64] = "uint64",
	[VFAB_F8E4M3] = "f8e4m3", [VFAB_F8E5M2] = "f8e5m2"
};

static const char *const type_aliases[VFAB_TYPES] = {
	[VFAB_F32] = "f32", [VFAB_F64] = "f64", [VFAB_F16] = "f16",
	[VFAB_BF16] = "bf16", [VFAB_I8] = "i8", [VFAB_U8] = "u8",
	[VFAB_I16] = "i16", [VFAB_U16] = "u16", [VFAB_I32] = "i32",
	[VFAB_U32] = "u32", [VFAB_I64] = "i64", [VFAB_U64] = "u64",
	[VFAB_F8E4M3] = "fp8_e4m3", [VFAB_F8E5M2] = "fp8_e5m2"
};

const char *const op_names[VFAB_OPS] = {
	[VFAB_SUM] = "sum", [VFAB_PROD] = "prod", [VFAB_MIN] = "min",
	[VFAB_MAX] = "max", [VFAB_AVG] = "avg", [VFAB_AND] = "and",
	[VFAB_OR] = "or", [VFAB_XOR] = "xor"
};

static int choose(const char *what, const char *text,
		  const char *const *names, const char *const *aliases, int n,
		  int *value)
{
	for (*value = 0; *value < n; ++*value)
		if (!strcasecmp(text, names[*value]) ||
		    (aliases && !strcasecmp(text, aliases[*value])))
			return -1;
	*value = -1;
	return strcmp(text, "all") ?
	       usage_error("there is no %s \"%s\"", what, text) : -1;
}

static int option(struct coll *c, struct options *o, int opt, bool after)
{
	uint64_t v;
	int ret = -1;

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
	case 'm':
		ret = parse_count(optarg, 10000000, &c->agg);
		break;
	case 'N':
		ret = parse_count(optarg, 10000, &c->cycles);
		break;
	case 'c':
		ret = parse_count(optarg, 10000000, &c->check);
		break;
	case 'z':
		ret = parse_count(optarg, 1, &c->blocking);
		break;
	case 'a':
		ret = parse_count(optarg, 3, &c->average);
		break;
	case 'u':
		ret = parse_count(optarg, ALIGN - 1, &c->unalign);
		break;
	case 'R':
		ret = parse_count(optarg, 1, &c->window);
		break;
	case 'I':
		ret = parse_count(optarg, 1, &c->per_iter);
		break;
	case 'S':
		ret = parse_count(optarg, 1, &c->stamps);
		break;
	case 'r':
		c->root = -1;
		ret = strcmp(optarg, "all") ? parse_count(optarg, VFAB_MAX_WORLD - 1, &v) : -1;
		if (ret < 0 && strcmp(optarg, "all"))
			c->root = v;
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
	case HISTOGRAM:
		c->histogram = true;
		break;
	case PLOT:
		c->plot = optarg;
		break;
	default:
		ret = common_option(o, opt, usage);
	}
	return ret;
}

static int choose_kind(struct coll *c, const char *name)
{
	const struct kind *k;

	c->run.command = name;
	if (!strcmp(name, "all"))
		return -1;
	for (k = kinds; k->name; k++)
		if (!strcmp(name, k->name) || !strcmp(name, k->alias)) {
			c->kind = k;
			return -1;
		}
	return usage_error("there is no collective \"%s\"", name);
}

/* What options ask for together: -1, or an exit status */
static int consistent(const struct coll *c)
{
	if (c->from > c->to)
		return usage_error("the largest size, -e %llu, is below the smallest, -b %llu",
				   (unsigned long long)c->to, (unsigned long long)c->from);
	if (c->to > MAX_BYTES || (!c->step && c->factor < 2) ||
	    !c->iters || (!c->from && !c->step))
		return usage_error("sizes are 1 to 4G, the factor 2 or more, iterations 1 or more");
	if (!c->agg || !c->cycles)
		return usage_error("operations of an iteration and cycles are 1 or more");
	if (c->op >= VFAB_AND && (c->type < 0 || !pattern_integer(c->type)))
		return usage_error("-o %s is for integers: give one of them by -d",
				   op_names[c->op]);
	return -1;
}

/* Options before the collective's name, the name, options after it. */
int coll_parse(struct coll *c, struct options *o, int argc, char **argv)
{
	static const struct option own[] = {
		{ "minbytes", 1, NULL, 'b' }, { "maxbytes", 1, NULL, 'e' },
		{ "stepfactor", 1, NULL, 'f' }, { "stepbytes", 1, NULL, 'i' },
		{ "iters", 1, NULL, 'n' }, { "warmup_iters", 1, NULL, 'w' },
		{ "agg_iters", 1, NULL, 'm' }, { "run_cycles", 1, NULL, 'N' },
		{ "check", 1, NULL, 'c' }, { "op", 1, NULL, 'o' },
		{ "datatype", 1, NULL, 'd' }, { "root", 1, NULL, 'r' },
		{ "blocking", 1, NULL, 'z' }, { "average", 1, NULL, 'a' },
		{ "unalign", 1, NULL, 'u' }, { "local_register", 1, NULL, 'R' },
		{ "per_iter", 1, NULL, 'I' }, { "report_timestamps", 1, NULL, 'S' },
		{ "histogram", 0, NULL, HISTOGRAM }, { "plot", 1, NULL, PLOT },
		{ "no-dirty", 0, NULL, NO_DIRTY },
		{ "plant-error", 0, NULL, PLANT }, { NULL, 0, NULL, 0 }
	};
	struct option options[OPTIONS];
	bool after = false;
	const char *name;
	int opt, ret;

	all_options(options, own);
	for (;; after = true) {
		while ((opt = next_option(argc, argv,
					  "+b:e:f:i:n:w:m:N:c:o:d:r:z:a:u:R:I:S:T:J:h",
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
		ret = choose_kind(c, name);
		if (ret >= 0)
			return ret;
		optind++;
	}
	if (!after)
		return usage_error("name a collective, such as allreduce, or all");
	ret = consistent(c);
	return ret < 0 ? plot_check(c->plot) : ret;
}
