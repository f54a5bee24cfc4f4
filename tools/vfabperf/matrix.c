// SPDX-License-Identifier: GPL-2.0
/*
 * vfabperf matrix: copies between all pairs of ranks, one pair after the other.
 *
 * Each rank has a window. A rank copies to and from that of another one by
 * vfab_put() and vfab_get(): counted, and paced where shape is on, so that a slow
 * or degraded route shows. All others wait, asleep where they outnumber the CPUs.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "vfabperf.h"

#define TAG		UINT64_C(0x7666706572660040)
#define MAX_BYTES	(UINT64_C(1) << 30)
#define LAT_BYTES	8
#define LAT_CALLS	101
#define NARROW		16	/* ranks of which each pair gets a number */

static const char usage[] =
"Usage: vfabperf matrix [-n RANKS] [OPTION]...\n"
"Measure every pair of ranks, one after the other: copies to a peer's window, or\n"
"from it, in GB/s (10^9 bytes), and 8 bytes from it, in us. Rows copy, columns have\n"
"the window; medians. More than 16 ranks are shown by shades.\n"
"\n"
"  -n RANKS             ranks to start (default: all members of the partition)\n"
"  -m, --mode=MODE      write: to the peer; read: from it (default read)\n"
"  -s, --size=SIZE      of a copy (default 1M)\n"
"  -i, --iters=N        copies of each pair (default 5)\n"
"      --plot=FILE      draw the bandwidths with gnuplot, .svg or .png\n";

/* From nothing to the greatest value */
static const char shades[] = " .:-=+*#%@";

struct matrix {
	struct run run;
	bool write;
	uint64_t bytes, iters;
	const char *plot;
	struct vfab_mem mine, *theirs;
	char *buf;
	/* [row * size + column] */
	double *gbs, *lat_us;
	uint64_t wrong;
};

static char value_at(uint32_t rank, size_t i)
{
	return rank * 29 + i * 31 + i / 251;
}

static void fill(char *p, size_t bytes, uint32_t rank)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		p[i] = value_at(rank, i);
}

/* Was what came the peer's, or what went one's own? */
static bool right(const struct matrix *m, const char *p, uint32_t rank)
{
	size_t i;

	for (i = 0; i < m->bytes; i++)
		if (p[i] != value_at(rank, i))
			return false;
	return true;
}

static int one(struct matrix *m, uint32_t to, size_t bytes)
{
	if (m->write)
		return vfab_put(m->run.ep, &m->theirs[to], 0, m->buf, bytes);
	return vfab_get(m->run.ep, &m->theirs[to], 0, m->buf, bytes);
}

/* The caller's pair with @to */
static int pair(struct matrix *m, uint32_t to)
{
	size_t at = (size_t)m->run.index * m->run.size + to;
	double *times = calloc(m->iters + LAT_CALLS, sizeof(*times)), t;
	uint64_t i;
	int ret = 0;

	if (!times)
		return -ENOMEM;
	if (m->write)
		fill(m->buf, m->bytes, m->run.index);
	ret = one(m, to, m->bytes);
	for (i = 0; i < m->iters && !ret; i++) {
		t = now_ns();
		ret = one(m, to, m->bytes);
		times[i] = now_ns() - t;
	}
	m->gbs[at] = m->bytes / median(times, m->iters);
	if (!m->write)
		m->wrong += !ret && !right(m, m->buf, to);
	for (i = 0; i < LAT_CALLS && !ret; i++) {
		t = now_ns();
		ret = vfab_get(m->run.ep, &m->theirs[to], 0, m->buf, LAT_BYTES);
		times[i] = now_ns() - t;
	}
	m->lat_us[at] = median(times, LAT_CALLS) / 1e3;
	free(times);
	return ret;
}

static int all_pairs(struct matrix *m)
{
	struct run *r = &m->run;
	uint32_t from, to;
	int ret = 0;

	for (from = 0; from < r->size && !ret; from++) {
		for (to = 0; from == r->index && to < r->size && !ret; to++)
			if (to != from)
				ret = pair(m, to);
		/* Whoever looks at what was written does so when it is there. */
		if (!ret)
			ret = vfab_barrier(r->comm);
		if (m->write && !ret && from != r->index)
			m->wrong += !right(m, m->mine.addr, from);
		if (m->write && !ret)
			ret = vfab_barrier(r->comm);
		if (run_first(r))
			progress("matrix: rank %u of %u", from + 1, r->size);
	}
	progress_clear();
	return ret ? run_failed(r, "pairs", ret) : 0;
}

/* Everybody's row to all; the others' are 0 until then. */
static int together(struct matrix *m)
{
	size_t n = (size_t)m->run.size * m->run.size;
	int ret;

	ret = vfab_allreduce(m->run.comm, m->gbs, m->gbs, n, VFAB_F64, VFAB_SUM);
	if (!ret)
		ret = vfab_allreduce(m->run.comm, m->lat_us, m->lat_us, n, VFAB_F64, VFAB_SUM);
	if (!ret)
		ret = vfab_allreduce(m->run.comm, &m->wrong, &m->wrong, 1, VFAB_U64, VFAB_SUM);
	return ret ? run_failed(&m->run, "results", ret) : 0;
}

static struct stats all_of(const struct matrix *m, const double *x)
{
	uint32_t n = m->run.size, i, k;
	double *copy = calloc((size_t)n * n, sizeof(*copy));
	struct stats s = { 0 };
	size_t at = 0;

	for (i = 0; copy && i < n; i++)
		for (k = 0; k < n; k++)
			if (i != k)
				copy[at++] = x[(size_t)i * n + k];
	if (copy)
		stats_of(copy, at, &s);
	free(copy);
	return s;
}

static char shade(double x, const struct stats *s)
{
	return shades[s->max > 0 ? (int)(x / s->max * (sizeof(shades) - 2)) : 0];
}

static void print_map(const struct matrix *m, const char *title, const double *x)
{
	struct stats s = all_of(m, x);
	uint32_t n = m->run.size, i, k;
	bool wide = n > NARROW;
	double v;

	printf("# %s: least %.3g, median %.3g, most %.3g; shades from 0 to most: \"%s\"\n",
	       title, s.min, s.median, s.max, shades);
	printf("%6s", "");
	for (k = 0; k < n && !wide; k++)
		printf(" %8u ", m->run.ranks[k]);
	putchar('\n');
	for (i = 0; i < n; i++) {
		printf("%5u ", m->run.ranks[i]);
		for (k = 0; k < n; k++) {
			v = x[(size_t)i * n + k];
			if (wide)
				putchar(i == k ? 'X' : shade(v, &s));
			else if (i == k)
				printf(" %8s ", "X");
			else
				printf(" %8.3g%c", v, shade(v, &s));
		}
		putchar('\n');
	}
}

/* As nvbandwidth: a matrix, its sum, least, greatest and mean */
static void json_map(const struct matrix *m, const char *name, const char *unit, const double *x)
{
	struct stats s = all_of(m, x);
	uint32_t n = m->run.size, i, k;

	json_begin(NULL, '{');
	json_str("name", name);
	json_str("status", "Passed");
	json_str("unit", unit);
	json_begin("matrix", '[');
	for (i = 0; i < n; i++) {
		json_begin(NULL, '[');
		for (k = 0; k < n; k++)
			if (i == k)
				json_null(NULL);
			else
				json_num(NULL, x[(size_t)i * n + k]);
		json_end(']');
	}
	json_end(']');
	json_num("sum", s.mean * s.n);
	json_num("min", s.min);
	json_num("max", s.max);
	json_num("average", s.mean);
	json_num("median", s.median);
	json_end('}');
}

static int draw(const struct matrix *m)
{
	uint32_t n = m->run.size, i, k;

	if (!plot_begin(m->plot, "vfabperf matrix",
			"set xlabel 'rank that has the window'\nset ylabel 'rank that copies'\n"
			"set cblabel 'GB/s'\nset yrange [*:*] reverse\nset view map"))
		return 0;
	plot_line("plot '-' using 1:2:($1==$2 ? NaN : $3) with image notitle\n");
	for (i = 0; i < n; i++)
		for (k = 0; k < n; k++)
			plot_line("%u %u %g\n", k, i, m->gbs[(size_t)i * n + k]);
	plot_line("e\n");
	return plot_end();
}

static int report(struct matrix *m)
{
	const char *name = m->write ? "write" : "read";

	printf("# %s, row copies, column has the window\n", name);
	print_map(m, "GB/s", m->gbs);
	print_map(m, "8 bytes, us", m->lat_us);
	printf("# wrong: %llu\n", (unsigned long long)m->wrong);
	json_begin("testcases", '[');
	json_map(m, name, "GB/s", m->gbs);
	json_map(m, "latency", "us", m->lat_us);
	json_end(']');
	json_num("nwrong", m->wrong);
	m->run.agreed = true;
	return m->wrong ? EXIT_VERDICT : draw(m);
}

static int setup(struct matrix *m)
{
	struct run *r = &m->run;
	size_t n = (size_t)r->size * r->size;
	uint64_t handle;
	uint32_t i;
	int ret;

	m->theirs = calloc(r->size, sizeof(*m->theirs));
	m->gbs = calloc(n, sizeof(*m->gbs));
	m->lat_us = calloc(n, sizeof(*m->lat_us));
	m->buf = malloc(m->bytes);
	if (!m->theirs || !m->gbs || !m->lat_us || !m->buf)
		return setup_error("out of memory");
	ret = vfab_window_alloc(r->ep, m->bytes, TAG, VFAB_ACCESS_WRITE, &m->mine);
	if (!ret)
		fill(m->mine.addr, m->bytes, r->index);
	for (i = 0; i < r->size && !ret; i++) {
		if (i == r->index)
			continue;
		ret = vfab_lookup(r->ep, r->ranks[i], TAG, r->timeout * VFAB_SECOND, &handle);
		if (!ret)
			ret = vfab_import(r->ep, handle, VFAB_ACCESS_WRITE, VFAB_LOSS_ABSORB,
					  &m->theirs[i]);
	}
	if (!ret)
		ret = vfab_barrier(r->comm);
	return ret ? run_failed(r, "windows", ret) : 0;
}

static int head(struct matrix *m)
{
	struct env e;
	int ret = json_open(m->run.json);

	if (ret)
		return ret;
	env_get(&e);
	env_print(&e, &m->run);
	json_head(&e, &m->run);
	json_num("bytes", m->bytes);
	json_num("iterations", m->iters);
	json_end('}');
	return 0;
}

static int parse(struct matrix *m, struct options *o, int argc, char **argv)
{
	enum { PLOT = 256 };
	static const struct option own[] = {
		{ "mode", 1, NULL, 'm' }, { "size", 1, NULL, 's' }, { "iters", 1, NULL, 'i' },
		{ "plot", 1, NULL, PLOT }, { NULL, 0, NULL, 0 }
	};
	struct option options[OPTIONS];
	uint64_t v;
	int c, ret;

	all_options(options, own);
	while ((c = next_option(argc, argv, "n:m:s:i:T:J:h", options)) != -1) {
		ret = -1;
		switch (c) {
		case 'n':
			ret = parse_count(optarg, VFAB_MAX_WORLD, &v);
			o->ntasks = v;
			break;
		case 'm':
			m->write = !strcmp(optarg, "write");
			if (!m->write && strcmp(optarg, "read"))
				ret = usage_error("there is no mode \"%s\"", optarg);
			break;
		case 's':
			ret = parse_size(optarg, &m->bytes);
			break;
		case 'i':
			ret = parse_count(optarg, 100000, &m->iters);
			break;
		case PLOT:
			m->plot = optarg;
			ret = plot_check(optarg);
			break;
		default:
			ret = common_option(o, c, usage);
		}
		if (ret >= 0)
			return ret;
	}
	if (optind + 1 < argc)
		return usage_error("argument \"%s\" is one too many", argv[optind + 1]);
	if (m->bytes < LAT_BYTES || m->bytes > MAX_BYTES || !m->iters)
		return usage_error("sizes are 8 to 1G, copies 1 or more");
	return -1;
}

int matrix_main(int argc, char **argv)
{
	struct matrix m = { .run.command = "matrix", .bytes = 1 << 20, .iters = 5 };
	struct options o = { 0 };
	int ret;

	ret = parse(&m, &o, argc, argv);
	if (ret >= 0)
		return ret;
	ret = run_start(&m.run, &o, argv);
	if (ret >= 0)
		return ret;
	if (m.run.size < 2)
		return setup_error("a pair takes 2 ranks: there is 1");
	/* Everybody waits for as long as one rank measures. */
	vfab_comm_set_timeout(m.run.comm, VFAB_FOREVER);
	ret = setup(&m);
	if (!ret && run_first(&m.run))
		ret = head(&m);
	if (!ret)
		ret = all_pairs(&m);
	if (!ret)
		ret = together(&m);
	if (!ret)
		ret = run_first(&m.run) ? report(&m) : m.wrong ? EXIT_VERDICT : EXIT_DONE;
	return run_end(&m.run, ret);
}
