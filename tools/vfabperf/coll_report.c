// SPDX-License-Identifier: GPL-2.0
/* vfabperf coll: its results as text, in JSON and as a picture. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "coll.h"

/* Above each half: its name, the columns, their units; the rest with -I 1 */
static void print_header(const struct coll *c)
{
	static const char *const front[] = {
		"#                                                 ",
		"#       size         count      type   redop  root",
		"#        (B)    (elements)                        ",
	};
	static const char *const half[][2] = {
		{ "           out-of-place            ", "           in-place                " },
		{ "       time   algbw   busbw  #wrong", "       time   algbw   busbw  #wrong" },
		{ "       (us)  (GB/s)  (GB/s)        ", "       (us)  (GB/s)  (GB/s)        " },
	};
	static const char *const more[] = {
		"                                      ",
		"     i_min     i_max     i_p99   i_cv%",
		"      (us)      (us)      (us)     (%)",
	};
	int i, h;

	for (i = 0; i < 3; i++) {
		fputs(front[i], stdout);
		for (h = 0; h < 2; h++)
			printf("%s%s", half[i][h], c->per_iter ? more[i] : "");
		puts(c->stamps && i == 1 ? "            timestamp" : "");
	}
}

void row_half(const struct coll *c, const struct result *r)
{
	char wrong[24] = "N/A";

	if (r->checked)
		snprintf(wrong, sizeof(wrong), "%llu", (unsigned long long)r->wrong);
	printf("  %9.2f  %6.3f  %6.3f  %6s", r->time_us, r->algbw, r->busbw, wrong);
	if (c->per_iter)
		printf(" %9.2f %9.2f %9.2f %7.1f", r->s.min / 1e3, r->s.max / 1e3,
		       r->s.p99 / 1e3, r->s.mean ? 100 * r->s.stdev / r->s.mean : 0);
}

static void json_half(const struct coll *c, bool in_place, const struct result *r)
{
	const double *times = c->times[in_place];
	uint64_t i;

	json_begin(in_place ? "in_place" : "out_of_place", '{');
	json_num("time", r->time_us);
	json_num("alg_bw", r->algbw);
	json_num("bus_bw", r->busbw);
	if (r->checked)
		json_num("nwrong", r->wrong);
	else
		json_null("nwrong");
	json_end('}');
	json_begin(in_place ? "in_place_per_iter" : "out_of_place_per_iter", '{');
	json_stats_us(&r->s);
	if (c->per_iter) {
		json_begin("times_us", '[');
		for (i = 0; i < c->iters; i++)
			json_num(NULL, times[i] / 1e3);
		json_end(']');
	}
	if (c->histogram)
		hist_print(in_place ? "in place" : "out of place", times, c->iters);
	json_end('}');
}

static const char *type_of(const struct row *row)
{
	return row->kind->bus == BUS_NONE ? "none" : type_names[row->type];
}

static const char *op_of(const struct row *row)
{
	return row->kind->reduces ? op_names[row->op] : "none";
}

void row_front(const struct row *row)
{
	printf("%12zu  %12zu  %8s  %6s  %4d", row->bytes, row->count, type_of(row), op_of(row),
	       row->root);
	fflush(stdout);
}

void row_back(const struct coll *c)
{
	time_t now = time(NULL);
	char text[32];

	if (c->stamps) {
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", localtime(&now));
		printf("  %s", text);
	}
	putchar('\n');
	fflush(stdout);
}

/* After row_back(): a histogram comes below the row that it belongs to. */
void row_json(const struct coll *c, const struct row *row)
{
	int h;

	json_begin(NULL, '{');
	json_str("collective", row->kind->name);
	json_num("cycle", c->cycle);
	json_num("size", row->bytes);
	json_num("count", row->count);
	json_str("type", type_of(row));
	json_str("redop", op_of(row));
	json_num("root", row->root);
	for (h = 0; h < row->halves; h++)
		json_half(c, h, &row->r[h]);
	json_num("actual_iterations", c->iters);
	json_str("experiment_name", row->kind->name);
	json_end('}');
}

/* Of each row and half, the cycles' times: least, median, most */
static void print_cycles(const struct coll *c)
{
	double *times = calloc(c->cycles, sizeof(*times));
	struct stats s;
	size_t i, k;
	int h;

	if (!times)
		return;
	printf("# %llu cycles, time in us: least, median, most\n", (unsigned long long)c->cycles);
	for (i = 0; i < c->n_cycle; i++) {
		const struct row *row = &c->all[i];

		if (!c->kind && (!i || row->kind != row[-1].kind))
			printf("# %s\n", row->kind->name);
		row_front(row);
		for (h = 0; h < row->halves; h++) {
			for (k = 0; k < c->cycles; k++)
				times[k] = c->all[i + k * c->n_cycle].r[h].time_us;
			stats_of(times, c->cycles, &s);
			printf("  %9.2f %9.2f %9.2f", s.min, s.median, s.max);
		}
		putchar('\n');
	}
	free(times);
}

static void plot_values(const struct coll *c, int h, bool time)
{
	size_t i;

	for (i = 0; i < c->n_cycle; i++) {
		const struct row *row = &c->all[c->n_all - c->n_cycle + i];
		const struct result *r = &row->r[h];

		/* Another collective, type, operation or root is another line. */
		if (i && row->bytes <= row[-1].bytes)
			plot_line("\n");
		if (h < row->halves && row->bytes)
			plot_line("%zu %g\n", row->bytes, time ? r->s.median / 1e3 : r->busbw);
	}
	plot_line("e\n");
}

/* The last cycle: median time and bus bandwidth, by size */
static int draw(const struct coll *c)
{
	static const char *const titles[] = { "out of place", "in place" };
	char title[160];

	snprintf(title, sizeof(title), "vfabperf coll %s: %u ranks", c->run.command, c->run.size);
	if (!plot_begin(c->plot, title, "set multiplot layout 2,1\nset key left top\n"))
		return 0;
	plot_sizes(c->from ? c->from : 1, c->to);
	plot_line("set logscale y 2\nset ylabel 'us (median)'\n");
	plot_series(titles, 2);
	plot_values(c, 0, true);
	plot_values(c, 1, true);
	plot_line("unset title\nunset logscale y\nset ylabel 'busbw, GB/s'\n");
	plot_series(titles, 2);
	plot_values(c, 0, false);
	plot_values(c, 1, false);
	return plot_end();
}

/* What nccl-tests keeps under "config", in json_head()'s */
static void json_config(const struct coll *c)
{
	json_num("minimum_bytes", c->from);
	json_num("maximum_bytes", c->to);
	if (c->step)
		json_num("step_bytes", c->step);
	else
		json_num("step_factor", c->factor);
	json_num("warmup_iters", c->warmup);
	json_num("iterations", c->iters);
	json_num("aggregated_iterations", c->agg);
	json_num("run_cycles", c->cycles);
	json_num("validation", c->check);
	json_bool("blocking_collectives", c->blocking);
	json_bool("per_iter_timing", c->per_iter);
	json_bool("dirty", !c->no_dirty);
	json_str("buffers", c->window ? "window" : "private");
	json_num("unalign", c->unalign);
}

/* Everybody's process id, at rank 0 */
int coll_devices(struct coll *c)
{
	uint64_t pid = getpid(), *pids = calloc(c->run.size, sizeof(*pids));
	char host[65] = "";
	uint32_t i;
	int ret;

	if (!pids)
		return setup_error("out of memory");
	gethostname(host, sizeof(host) - 1);
	pids[c->run.index] = pid;
	ret = vfab_allreduce(c->run.comm, pids, pids, c->run.size, VFAB_U64, VFAB_SUM);
	if (run_first(&c->run)) {
		json_begin("devices", '[');
		for (i = 0; i < c->run.size && !ret; i++) {
			json_begin(NULL, '{');
			json_num("rank", c->run.ranks[i]);
			json_num("group", 0);
			json_num("pid", pids[i]);
			json_str("hostname", host);
			json_end('}');
		}
		json_end(']');
		json_end('}');
		json_begin("results", '[');
	}
	free(pids);
	return ret ? run_failed(&c->run, "processes", ret) : 0;
}

int coll_head(struct coll *c)
{
	struct env e;
	int ret = json_open(c->run.json);

	if (ret)
		return ret;
	env_get(&e);
	env_print(&e, &c->run);
	printf("# %s; buffers %s\n", c->no_dirty ?
	       "sources are not rewritten: caches may still hold them" :
	       "sources are rewritten before each operation",
	       c->window ? "in windows" : "private");
	print_header(c);
	json_head(&e, &c->run);
	json_config(c);
	return 0;
}

/* The exit status */
int coll_tail(struct coll *c)
{
	double mean = c->rows ? c->busbw / c->rows : 0;
	int ret;

	if (c->cycles > 1)
		print_cycles(c);
	if (c->check)
		printf("# Out of bounds values : %llu %s\n", (unsigned long long)c->wrong,
		       c->wrong ? "FAILED" : "OK");
	else
		puts("# Out of bounds values : N/A, results were not checked (-c 0)");
	if (mean)
		printf("# Avg bus bandwidth    : %g\n", mean);
	json_end(']');
	json_begin("out_of_bounds", '{');
	if (c->check) {
		json_num("count", c->wrong);
		json_bool("okay", !c->wrong);
	} else {
		json_null("count");
		json_str("okay", "unchecked");
	}
	json_end('}');
	json_begin("average_bus_bandwidth", '{');
	json_num("bandwidth", mean);
	json_str("okay", "unchecked");
	json_end('}');
	ret = draw(c);
	return c->wrong ? EXIT_VERDICT : ret;
}
