// SPDX-License-Identifier: GPL-2.0
/*
 * vfabperf lat: a message to a peer and one back, half of the time of both.
 *
 * store: each rank stores into the other's window and polls its own memory.
 * load: each rank stores into its own window and polls the other's.
 * The last 8 bytes of a message are its number; what is before them is copied
 * out and looked at.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "vfabperf.h"

#define TAG		UINT64_C(0x7666706572660010)
#define MAX_BYTES	(UINT64_C(1) << 30)

static const char usage[] =
"Usage: vfabperf lat [OPTION]...\n"
"Measure messages between two ranks through their windows, one way: half of a\n"
"round trip. Typical is the median.\n"
"\n"
"  -m, --mode=MODE      store: push, the receiver polls its own memory;\n"
"                       load: pull, it polls the sender's; default both\n"
"  -s, --size=BYTES     of a message, a multiple of 8 (default 8)\n"
"  -a, --all            all sizes from 8 to 1M\n"
"  -n, --iters=N        round trips (default 1000)\n"
"  -w, --warmup=N       round trips before that (default 100)\n"
"      --histogram      how often which time was seen\n"
"      --plot=FILE      draw medians and 99% with gnuplot, .svg or .png\n";

static const char header[] = {
"#bytes    #iterations  t_min     t_max      t_typical  t_avg     t_stdev   99%       99.9%     [usec]\n"
};

struct lat {
	struct run run;
	struct vfab_mem mine, theirs;
	uint32_t peer;
	uint32_t losses;
	char *buf;
	uint64_t number;	/* of the last message */
	bool load;
	bool histogram;
	const char *plot;
	struct point {
		bool load;
		size_t bytes;
		double median, p99;
	} points[2 * 64];
	size_t n_points;
};

/*
 * Polls for message @number of @bytes; copies what is in it. False if it does
 * not come, because of loss or time.
 */
static bool receive(struct lat *l, size_t bytes, uint64_t number)
{
	const char *from = l->load ? l->theirs.addr : l->mine.addr;
	const uint64_t *word = (const uint64_t *)(from + bytes - 8);
	double end = 0;
	uint32_t i = 0;
	struct vfab_peer p;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != number) {
		if (++i % 4096)
			continue;
		if (vfab_peer(l->run.ep, l->peer, &p) || p.losses != l->losses ||
		    p.state != VFAB_PEER_HELD)
			return false;
		if (!end)
			end = now_ns() + l->run.timeout * 1e9;
		if (now_ns() > end)
			return false;
		sched_yield();
	}
	memcpy(l->buf, from, bytes - 8);
	return true;
}

static void send(struct lat *l, size_t bytes, uint64_t number)
{
	char *to = l->load ? l->mine.addr : l->theirs.addr;

	if (bytes > 8)
		memset(to, (char)number, bytes - 8);
	__atomic_store_n((uint64_t *)(to + bytes - 8), number, __ATOMIC_RELEASE);
}

static bool good(const struct lat *l, size_t bytes, uint64_t number)
{
	char want = number;

	return bytes == 8 || (l->buf[0] == want && l->buf[bytes / 2 - 4] == want &&
			      l->buf[bytes - 9] == want);
}

/* All of one size; times one way in ns at rank 0. */
static int measure(struct lat *l, size_t bytes, uint64_t warmup, uint64_t iters,
		   double *times)
{
	const struct run *r = &l->run;
	uint64_t i;
	double t;
	int ret;

	/* Messages of other sizes have left their numbers in the windows. */
	ret = vfab_barrier(r->comm);
	if (ret)
		return run_failed(r, "barrier", ret);
	memset(l->mine.addr, 0, bytes);
	ret = vfab_barrier(r->comm);
	if (ret)
		return run_failed(r, "barrier", ret);
	for (i = 0; i < warmup + iters; i++) {
		uint64_t number = ++l->number;

		t = now_ns();
		if (run_first(r))
			send(l, bytes, number);
		if (!receive(l, bytes, number)) {
			fprintf(stderr, "vfabperf: rank %u: message %llu of rank %u did not come\n",
				vfab_info(r->ep)->rank, (unsigned long long)number,
				l->peer);
			return vfab_barrier(r->comm) == -ECONNRESET ?
			       EXIT_VERDICT : EXIT_TIMEOUT;
		}
		if (!run_first(r))
			send(l, bytes, number);
		if (i >= warmup)
			times[i - warmup] = (now_ns() - t) / 2;
		if (!good(l, bytes, number)) {
			fprintf(stderr, "vfabperf: rank %u: message %llu of %zu bytes is damaged\n",
				vfab_info(r->ep)->rank, (unsigned long long)number,
				bytes);
			vfab_comm_abort(r->comm);
			return EXIT_VERDICT;
		}
	}
	return 0;
}

static void report(struct lat *l, size_t bytes, double *times, uint64_t n)
{
	struct stats s;

	if (!run_first(&l->run))
		return;
	stats_of(times, n, &s);
	printf("%-9zu %-12zu %-9.3f %-10.3f %-10.3f %-9.3f %-9.3f %-9.3f %-9.3f\n",
	       bytes, s.n, s.min / 1e3, s.max / 1e3, s.median / 1e3, s.mean / 1e3,
	       s.stdev / 1e3, s.p99 / 1e3, s.p999 / 1e3);
	fflush(stdout);
	json_begin(NULL, '{');
	json_str("mode", l->load ? "load" : "store");
	json_num("bytes", bytes);
	json_stats_us(&s);
	if (l->histogram)
		hist_print(l->load ? "load" : "store", times, n);
	json_end('}');
	l->points[l->n_points++] = (struct point){ l->load, bytes, s.median, s.p99 };
}

static int draw(const struct lat *l)
{
	static const char *const titles[] = {
		"store, median", "store, 99%", "load, median", "load, 99%"
	};
	const struct point *p;
	int k;

	if (!plot_begin(l->plot, "vfabperf lat",
			"set logscale y 2\nset key left top\nset ylabel 'us, one way'"))
		return 0;
	plot_sizes(l->points[0].bytes, l->points[l->n_points - 1].bytes);
	plot_series(titles, 4);
	for (k = 0; k < 4; k++) {
		for (p = l->points; p < l->points + l->n_points; p++)
			if (p->load == k / 2)
				plot_line("%zu %g\n", p->bytes, (k % 2 ? p->p99 : p->median) / 1e3);
		plot_line("e\n");
	}
	return plot_end();
}

static int setup(struct lat *l, size_t bytes)
{
	struct run *r = &l->run;
	struct vfab_peer p;
	uint64_t handle;
	int ret;

	if (r->size != 2)
		return setup_error("lat runs between 2 ranks, not %u", r->size);
	l->peer = r->ranks[!r->index];
	ret = vfab_window_alloc(r->ep, bytes, TAG, VFAB_ACCESS_WRITE, &l->mine);
	if (!ret)
		ret = vfab_lookup(r->ep, l->peer, TAG, r->timeout * VFAB_SECOND,
				  &handle);
	if (!ret)
		ret = vfab_import(r->ep, handle, VFAB_ACCESS_WRITE,
				  VFAB_LOSS_ABSORB, &l->theirs);
	if (!ret)
		ret = vfab_peer(r->ep, l->peer, &p);
	if (ret)
		return run_failed(r, "windows", ret);
	l->losses = p.losses;
	l->buf = malloc(bytes);
	return l->buf ? 0 : setup_error("out of memory");
}

static int run_all(struct lat *l, int mode, size_t from, size_t to,
		   uint64_t warmup, uint64_t iters)
{
	double *times = calloc(iters, sizeof(*times));
	size_t bytes;
	int ret = 0, m;

	if (!times)
		return setup_error("out of memory");
	for (m = 0; m < 2 && !ret; m++) {
		if (mode >= 0 && mode != m)
			continue;
		l->load = m;
		if (run_first(&l->run))
			printf("# %s\n%s", m ?
			       "load: the receiver polls the sender's window" :
			       "store: the receiver polls its own window", header);
		for (bytes = from; bytes <= to && !ret; bytes *= 2) {
			ret = measure(l, bytes, warmup, iters, times);
			if (!ret)
				report(l, bytes, times, iters);
		}
	}
	free(times);
	return ret;
}

int lat_main(int argc, char **argv)
{
	enum { HISTOGRAM = 256, PLOT };
	static const struct option own[] = {
		{ "mode", 1, NULL, 'm' }, { "size", 1, NULL, 's' },
		{ "all", 0, NULL, 'a' }, { "iters", 1, NULL, 'n' },
		{ "histogram", 0, NULL, HISTOGRAM }, { "plot", 1, NULL, PLOT },
		{ "warmup", 1, NULL, 'w' }, { NULL, 0, NULL, 0 }
	};
	struct option options[OPTIONS];
	struct lat l = { .run.command = "lat", .run.raw = true };
	struct options o = { .ntasks = 2 };
	uint64_t from = 8, to = 8, iters = 1000, warmup = 100;
	int c, ret, mode = -1;
	struct env e;

	all_options(options, own);
	while ((c = next_option(argc, argv, "m:s:an:w:T:J:h", options)) != -1) {
		ret = -1;
		switch (c) {
		case 'm':
			mode = !strcmp(optarg, "load");
			if (!mode && strcmp(optarg, "store"))
				ret = !strcmp(optarg, "both") ? mode = -1 :
				      usage_error("there is no mode \"%s\"", optarg);
			break;
		case 's':
			ret = parse_size(optarg, &from);
			if (ret < 0 && (!from || from % 8 || from > MAX_BYTES))
				ret = usage_error("%s is not a multiple of 8 up to 1G",
						  optarg);
			to = from;
			break;
		case HISTOGRAM:
			l.histogram = true;
			break;
		case PLOT:
			l.plot = optarg;
			ret = plot_check(optarg);
			break;
		case 'a':
			from = 8;
			to = 1 << 20;
			break;
		case 'n':
			ret = parse_count(optarg, 100000000, &iters);
			if (ret < 0 && !iters)
				ret = usage_error("0 round trips tell nothing");
			break;
		case 'w':
			ret = parse_count(optarg, 100000000, &warmup);
			break;
		default:
			ret = common_option(&o, c, usage);
		}
		if (ret >= 0)
			return ret;
	}
	if (optind + 1 < argc)
		return usage_error("argument \"%s\" is one too many", argv[optind + 1]);
	ret = run_start(&l.run, &o, argv);
	if (ret >= 0)
		return ret;
	ret = setup(&l, to);
	if (!ret && run_first(&l.run)) {
		ret = json_open(l.run.json);
		env_get(&e);
		env_print(&e, &l.run);
		json_head(&e, &l.run);
		json_end('}');
		json_begin("results", '[');
	}
	if (!ret)
		ret = run_all(&l, mode, from, to, warmup, iters);
	json_end(']');
	if (!ret && run_first(&l.run))
		ret = draw(&l);
	return run_end(&l.run, ret);
}
