// SPDX-License-Identifier: GPL-2.0
/*
 * vfabperf tune: which algorithm is the fastest, by collective, ranks and bytes.
 *
 * What it prints is a table as VFAB_TUNING names it: measurements are comments in
 * it. Each algorithm has a communicator of its own, for which all calls are done
 * by it; the algorithms take turns, with private buffers and with such in windows,
 * and the one with the least geometric mean of both is chosen. Groups are the
 * first 2, 4, 8... of the ranks and all of them.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "vfabperf.h"

#define TAG		UINT64_C(0x7666706572660100)
#define MAX_BYTES	(UINT64_C(1) << 30)
#define LARGE		(1 << 20)	/* bytes, from which on fewer iterations will do */
#define CLEARLY		0.97		/* of another one's time, or it makes no difference */

static const char usage[] =
"Usage: vfabperf tune [-n RANKS] [OPTION]... [COLLECTIVE]...\n"
"Measure the algorithms of collectives, all of them by default, and print a table\n"
"for VFAB_TUNING: 'vfabperf tune >FILE', then VFAB_TUNING=FILE for what is to use\n"
"it. Groups are the first 2, 4, 8... ranks and all.\n"
"\n"
"  -n RANKS             ranks to start (default: all members of the partition)\n"
"  -b, --minbytes=SIZE  smallest size (default 8)\n"
"  -e, --maxbytes=SIZE  largest size of all ranks' shares (default 4M)\n"
"  -f, --stepfactor=N   from one size to the next (default 4)\n"
"  -i, --iters=N        iterations of each turn (default 20)\n"
"  -r, --repeats=N      turns (default 5)\n";

enum { ONE_SHOT, STAR, STAGED, WINDOW, FLAT, TREE, ALGOS };

static const char *const algos[ALGOS] = {
	"oneshot", "star", "staged", "window", "flat", "tree"
};

/* Which there are; in this order, unless another one is clearly faster. */
static const struct {
	enum vfab_coll coll;
	unsigned int algos;
} choices[] = {
	{ VFAB_ALLREDUCE, 1 << WINDOW | 1 << STAGED | 1 << ONE_SHOT | 1 << STAR },
	{ VFAB_REDUCE, 1 << WINDOW | 1 << STAGED | 1 << ONE_SHOT },
	{ VFAB_REDUCE_SCATTER, 1 << WINDOW | 1 << STAGED },
	{ VFAB_ALLGATHER, 1 << WINDOW | 1 << STAGED },
	{ VFAB_ALLTOALL, 1 << WINDOW | 1 << STAGED },
	{ VFAB_BROADCAST, 1 << WINDOW | 1 << STAGED },
	{ VFAB_GATHER, 1 << WINDOW | 1 << STAGED },
	{ VFAB_SCATTER, 1 << WINDOW | 1 << STAGED },
	{ VFAB_BARRIER, 1 << TREE | 1 << FLAT },
};

enum { PRIVATE, IN_WINDOW, BUFFERS };

struct tune {
	struct run run;
	bool wanted[VFAB_COLLS];
	uint64_t from, to, factor, iters, repeats;
	char *buf[BUFFERS][2];
	struct vfab_mem mem;
	double *times[ALGOS][BUFFERS];
	uint32_t iter;
	uint64_t wrong;
	/* the group: its first ranks, and a communicator for each algorithm */
	uint32_t n;
	struct vfab_comm *comm[ALGOS];
};

static unsigned int choices_of(enum vfab_coll coll)
{
	size_t i;

	for (i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		if (choices[i].coll == coll)
			return choices[i].algos;
	return 0;
}

static const struct kind *kind_of(enum vfab_coll coll)
{
	const struct kind *k;

	for (k = kinds; k->name && k->coll != coll; k++)
		;
	return k;
}

/* A table in which everything is done by one algorithm; its file, or -errno */
static int table_of(int algo)
{
	int fd = memfd_create("tuning", MFD_CLOEXEC);
	size_t i;

	if (fd < 0)
		return -errno;
	for (i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		if (choices[i].algos & 1 << algo &&
		    dprintf(fd, "%s * * %s\n", kind_of(choices[i].coll)->name, algos[algo]) < 0)
			return -EIO;
	return fd;
}

static int make_comm(struct tune *t, int algo)
{
	const struct run *r = &t->run;
	char path[32];
	int fd, ret;

	fd = table_of(algo);
	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("VFAB_TUNING", path, 1);
	ret = vfab_comm_create(r->ep, r->ranks, t->n, TAG + t->n * ALGOS + algo,
			       r->timeout * VFAB_SECOND, &t->comm[algo]);
	unsetenv("VFAB_TUNING");
	close(fd);
	return ret;
}

/* One turn of an algorithm, by one kind of buffers */
static int turn(struct tune *t, const struct kind *k, struct place *p, int algo, int buffers,
		double *times, uint64_t n)
{
	struct vfab_comm *comm = t->comm[algo];
	uint64_t i;
	double since;
	int ret;

	place_buffers(p, k, t->buf[buffers][0], t->buf[buffers][1], false);
	/* The first one is not counted. */
	for (i = 0; i <= n; i++) {
		if (k->bus != BUS_NONE)
			place_fill(p, k, ++t->iter);
		ret = vfab_barrier(comm);
		since = now_ns();
		if (!ret)
			ret = place_run(p, comm, true);
		if (ret)
			return ret;
		if (i)
			times[i - 1] = now_ns() - since;
		else if (k->bus != BUS_NONE)
			t->wrong += place_wrong(p, k, t->iter);
	}
	return 0;
}

/* Medians in us, the slowest rank's, of all algorithms of a collective */
static int compare(struct tune *t, const struct kind *k, struct place *p,
		   double us[ALGOS][BUFFERS])
{
	uint64_t n = p->call.count * vfab_type_size(p->call.type) < LARGE || t->iters < 12 ?
		     t->iters : t->iters / 4;
	unsigned int can = choices_of(k->coll);
	uint64_t i;
	int a, b, ret = 0;

	for (i = 0; i < t->repeats; i++)
		for (a = 0; a < ALGOS; a++)
			for (b = 0; b < BUFFERS && can & 1 << a && !ret; b++)
				ret = turn(t, k, p, a, b, t->times[a][b] + i * n, n);
	n *= t->repeats;
	for (a = 0; a < ALGOS; a++)
		for (b = 0; b < BUFFERS && can & 1 << a && !ret; b++) {
			ret = vfab_allreduce(t->comm[a], t->times[a][b], t->times[a][b], n,
					     VFAB_F64, VFAB_MAX);
			us[a][b] = median(t->times[a][b], n) / 1e3;
		}
	return ret;
}

static int best_of(unsigned int can, double us[ALGOS][BUFFERS])
{
	double score, least = INFINITY;
	int a, best = 0;

	for (a = ALGOS; a-- > 0;) {
		if (!(can & 1 << a))
			continue;
		score = sqrt(us[a][PRIVATE] * us[a][IN_WINDOW]);
		if (score < CLEARLY * least) {
			least = score;
			best = a;
		}
	}
	return best;
}

static void print_row(const struct tune *t, const struct kind *k, uint64_t bytes,
		      double us[ALGOS][BUFFERS], int best)
{
	unsigned int can = choices_of(k->coll);
	int a;

	progress_clear();
	printf("# %s, %u ranks, %llu bytes:", k->name, t->n, (unsigned long long)bytes);
	for (a = 0; a < ALGOS; a++)
		if (can & 1 << a)
			printf(" %s %.2f|%.2f", algos[a], us[a][PRIVATE], us[a][IN_WINDOW]);
	printf(" us: %s\n", algos[best]);
	fflush(stdout);
	json_begin(NULL, '{');
	json_str("collective", k->name);
	json_num("ranks", t->n);
	json_num("bytes", bytes);
	json_str("algorithm", algos[best]);
	for (a = 0; a < ALGOS; a++) {
		if (!(can & 1 << a))
			continue;
		json_begin(algos[a], '{');
		json_num("private_us", us[a][PRIVATE]);
		json_num("window_us", us[a][IN_WINDOW]);
		json_end('}');
	}
	json_end('}');
}

/* A line of the table; the last ones are for all that is larger. */
static void print_rule(const struct tune *t, const struct kind *k, uint64_t bytes, bool last,
		       int algo)
{
	char ranks[16] = "*", size[24] = "*";

	if (t->n < t->run.size)
		snprintf(ranks, sizeof(ranks), "%u", t->n);
	if (!last)
		snprintf(size, sizeof(size), "%llu", (unsigned long long)bytes);
	printf("%s\t%s\t%s\t%s\n", k->name, ranks, size, algos[algo]);
}

/* All sizes of a collective in this group */
static int tune_kind(struct tune *t, const struct kind *k)
{
	uint64_t bytes, was = 0, shares = k->in_each || k->out_each ? t->n : 1;
	bool first = run_first(&t->run);
	double us[ALGOS][BUFFERS];
	struct place p;
	int ret, best, last = -1;

	ret = place_init(&p, k, t->run.index, t->n);
	for (bytes = t->from; !ret && bytes * shares <= t->to; bytes *= t->factor) {
		p.call.count = bytes / sizeof(float);
		p.call.type = VFAB_F32;
		p.call.op = VFAB_SUM;
		if (first)
			progress("%s, %u ranks, %llu bytes", k->name, t->n,
				 (unsigned long long)bytes);
		ret = compare(t, k, &p, us);
		if (ret)
			break;
		best = best_of(choices_of(k->coll), us);
		if (first)
			print_row(t, k, bytes, us, best);
		if (first && last >= 0 && best != last)
			print_rule(t, k, was, false, last);
		last = best;
		was = bytes;
		if (k->bus == BUS_NONE)
			break;
	}
	if (first && last >= 0)
		print_rule(t, k, 0, true, last);
	place_free(&p);
	return ret;
}

static int tune_group(struct tune *t)
{
	const struct kind *k;
	int a, ret = 0;

	/* The same for all: who was in no smaller group has counted less. */
	t->iter = t->n << 20;
	for (a = 0; a < ALGOS && !ret; a++)
		ret = make_comm(t, a);
	for (k = kinds; k->name && !ret; k++)
		if (t->wanted[k->coll])
			ret = tune_kind(t, k);
	for (a = 0; a < ALGOS; a++) {
		vfab_comm_destroy(t->comm[a]);
		t->comm[a] = NULL;
	}
	return ret;
}

static int tune_all(struct tune *t)
{
	struct run *r = &t->run;
	int ret = 0;

	for (t->n = r->size < 2 ? r->size : 2; !ret; t->n *= 2) {
		if (t->n > r->size)
			t->n = r->size;
		if (r->index < t->n)
			ret = tune_group(t);
		/* Those who have no part in it wait here. */
		if (!ret)
			ret = vfab_barrier(r->comm);
		if (t->n == r->size)
			break;
	}
	if (!ret)
		ret = vfab_allreduce(r->comm, &t->wrong, &t->wrong, 1, VFAB_U64, VFAB_SUM);
	return ret ? run_failed(r, "tune", ret) : 0;
}

static int setup(struct tune *t)
{
	uint64_t bytes = (t->to + 4096) & ~UINT64_C(4095);
	uint64_t n = t->iters * t->repeats;
	int a, b, ret;

	for (a = 0; a < ALGOS; a++)
		for (b = 0; b < BUFFERS; b++) {
			t->times[a][b] = calloc(n, sizeof(double));
			if (!t->times[a][b])
				return setup_error("out of memory");
		}
	ret = vfab_window_alloc(t->run.ep, 2 * bytes, TAG, VFAB_ACCESS_WRITE, &t->mem);
	if (ret)
		return run_failed(&t->run, "window", ret);
	t->buf[IN_WINDOW][0] = t->mem.addr;
	t->buf[IN_WINDOW][1] = (char *)t->mem.addr + bytes;
	for (b = 0; b < 2; b++) {
		if (posix_memalign((void **)&t->buf[PRIVATE][b], 4096, bytes))
			return setup_error("out of memory");
		memset(t->buf[PRIVATE][b], 0, bytes);
	}
	return 0;
}

static int head(struct tune *t)
{
	struct env e;
	int ret = json_open(t->run.json);

	if (ret)
		return ret;
	env_get(&e);
	env_print(&e, &t->run);
	printf("# medians of the slowest rank: private buffers | buffers in windows\n");
	json_head(&e, &t->run);
	json_end('}');
	json_begin("results", '[');
	return 0;
}

/* Names of collectives; none: all that have a choice */
static int choose(struct tune *t, char **names)
{
	const struct kind *k;
	bool all = !*names;

	for (; *names; names++) {
		for (k = kinds; k->name; k++)
			if (!strcmp(*names, k->name) || !strcmp(*names, k->alias))
				break;
		if (!k->name)
			return usage_error("there is no collective \"%s\"", *names);
		if (!choices_of(k->coll))
			return usage_error("%s has one algorithm: there is nothing to choose",
					   k->name);
		t->wanted[k->coll] = true;
	}
	for (k = kinds; all && k->name; k++)
		t->wanted[k->coll] = choices_of(k->coll);
	return 0;
}

static int parse(struct tune *t, struct options *o, int argc, char **argv)
{
	static const struct option own[] = {
		{ "minbytes", 1, NULL, 'b' }, { "maxbytes", 1, NULL, 'e' },
		{ "stepfactor", 1, NULL, 'f' }, { "iters", 1, NULL, 'i' },
		{ "repeats", 1, NULL, 'r' }, { NULL, 0, NULL, 0 }
	};
	struct option options[OPTIONS];
	uint64_t v;
	int c, ret;

	all_options(options, own);
	while ((c = next_option(argc, argv, "n:b:e:f:i:r:T:J:h", options)) != -1) {
		ret = -1;
		switch (c) {
		case 'n':
			ret = parse_count(optarg, VFAB_MAX_WORLD, &v);
			o->ntasks = v;
			break;
		case 'b':
			ret = parse_size(optarg, &t->from);
			break;
		case 'e':
			ret = parse_size(optarg, &t->to);
			break;
		case 'f':
			ret = parse_count(optarg, 1 << 20, &t->factor);
			break;
		case 'i':
			ret = parse_count(optarg, 100000, &t->iters);
			break;
		case 'r':
			ret = parse_count(optarg, 1000, &t->repeats);
			break;
		default:
			ret = common_option(o, c, usage);
		}
		if (ret >= 0)
			return ret;
	}
	if (t->from > t->to)
		return usage_error("the largest size, -e %llu, is below the smallest, -b %llu",
				   (unsigned long long)t->to, (unsigned long long)t->from);
	if (t->from < sizeof(float) || t->to > MAX_BYTES || t->factor < 2 || !t->iters ||
	    !t->repeats)
		return usage_error("sizes are 4 to 1G, the factor 2 or more, the rest 1 or more");
	ret = choose(t, argv + optind + 1);
	return ret ? ret : -1;
}

int tune_main(int argc, char **argv)
{
	struct tune t = {
		.run.command = "tune", .from = 8, .to = 4 << 20, .factor = 4, .iters = 20,
		.repeats = 5,
	};
	struct options o = { 0 };
	int ret;

	ret = parse(&t, &o, argc, argv);
	if (ret >= 0)
		return ret;
	/* This command chooses the algorithms. */
	unsetenv("VFAB_TUNING");
	ret = run_start(&t.run, &o, argv);
	if (ret >= 0)
		return ret;
	if (t.run.size < 2)
		return setup_error("a collective takes 2 ranks or more: there is 1");
	vfab_comm_set_timeout(t.run.comm, VFAB_FOREVER);
	ret = setup(&t);
	if (!ret && run_first(&t.run))
		ret = head(&t);
	if (!ret)
		ret = tune_all(&t);
	json_end(']');
	t.run.agreed = !ret;
	if (!ret && t.wrong) {
		if (run_first(&t.run))
			printf("# %llu wrong values: do not use this table\n",
			       (unsigned long long)t.wrong);
		ret = EXIT_VERDICT;
	}
	return run_end(&t.run, ret);
}
