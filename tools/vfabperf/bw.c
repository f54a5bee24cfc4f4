// SPDX-License-Identifier: GPL-2.0
/*
 * vfabperf bw: copies to and from a peer's window, and to and from shared
 * memory of the kernel's own kind (memfd), in turns.
 *
 * Rank 0 copies, rank 1 has the window and sleeps. A ratio within the spread
 * that the memfd copies have among themselves says "equal".
 */
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "vfabperf.h"

#define TAG		UINT64_C(0x7666706572660020)
#define MAX_BYTES	(UINT64_C(1) << 30)
#define TOUCH_BYTES	(UINT64_C(64) << 20)

static const char usage[] =
"Usage: vfabperf bw [OPTION]...\n"
"Measure copies of rank 0 to and from a window of rank 1, in turns with the\n"
"same copies to and from a memfd mapping; GB are 10^9 bytes.\n"
"\n"
"  -m, --mode=MODE      plain: loads and stores; call: by vfab_put() and vfab_get(),\n"
"                       counted, and paced where shape is on (default plain)\n"
"  -b, --minbytes=SIZE  smallest copy (default 64)\n"
"  -e, --maxbytes=SIZE  largest copy (default 64M)\n"
"  -f, --factor=N       from one size to the next (default 4)\n"
"  -r, --repeats=N      turns of which the median is taken (default 11)\n"
"      --time=MS        of each turn (default 4)\n"
"      --plot=FILE      draw it with gnuplot, .svg or .png\n";

static const char header[] = {
"# '=': the ratio is within the spread of the memfd against itself (p25 to p75)\n"
"#                           write: rank 0 stores                  read: rank 0 loads\n"
"#bytes     #iterations   window    memfd  ratio spread      window    memfd  ratio spread [GB/s]\n"
};

struct bw {
	struct run run;
	struct vfab_mem mine, window;
	char *memfd, *local;
	uint64_t from, to, factor, repeats;
	double turn_ns;
	bool bad;
	int err;		/* of a call */
	const char *plot;
	struct point *points;	/* to draw */
	size_t n_points;
};

enum { WRITE_WINDOW, WRITE_MEMFD, READ_WINDOW, READ_MEMFD, KINDS };

struct point {
	size_t bytes;
	double gbs[KINDS];
};

/* By the library; the first error stays. */
static void call(struct bw *b, int kind, size_t bytes, uint64_t n)
{
	while (n-- && !b->err)
		b->err = kind == WRITE_WINDOW ?
			 vfab_put(b->run.ep, &b->window, 0, b->local, bytes) :
			 vfab_get(b->run.ep, &b->window, 0, b->local, bytes);
}

/* @n copies one way; the choice of the memory is no part of them. */
static void copy(struct bw *b, int kind, size_t bytes, uint64_t n)
{
	bool window = kind == WRITE_WINDOW || kind == READ_WINDOW;
	bool reads = kind == READ_WINDOW || kind == READ_MEMFD;
	char *shared = window ? b->window.addr : b->memfd;
	char *to = reads ? b->local : shared, *from = reads ? shared : b->local;

	if (window && !b->run.raw) {
		call(b, kind, bytes, n);
		return;
	}
	while (n--) {
		memcpy(to, from, bytes);
		__asm__ volatile("" : : "r"(to), "r"(from) : "memory");
	}
}

/* GB/s */
static double turn(struct bw *b, int kind, size_t bytes, uint64_t n)
{
	double t = now_ns();

	copy(b, kind, bytes, n);
	return n * bytes / (now_ns() - t);
}

/* What was written into one side's memory must be read from it. */
static bool verified(struct bw *b, size_t bytes, uint32_t salt)
{
	size_t i;
	int kind;

	for (kind = WRITE_WINDOW; kind <= WRITE_MEMFD; kind++) {
		for (i = 0; i < bytes; i++)
			b->local[i] = i * 31 + salt + kind;
		copy(b, kind, bytes, 1);
		memset(b->local, 0, bytes);
		copy(b, kind + READ_WINDOW, bytes, 1);
		for (i = 0; i < bytes; i++)
			if (b->local[i] != (char)(i * 31 + salt + kind))
				return false;
	}
	return true;
}

static void keep(struct bw *b, size_t bytes, const struct stats *s)
{
	struct point *p = realloc(b->points, (b->n_points + 1) * sizeof(*p));
	int k;

	if (!p)
		return;
	b->points = p;
	p += b->n_points++;
	p->bytes = bytes;
	for (k = 0; k < KINDS; k++)
		p->gbs[k] = s[k].median;
}

static int draw(const struct bw *b)
{
	static const char *const titles[KINDS] = {
		"write, window", "write, memfd", "read, window", "read, memfd"
	};
	size_t i;
	int k;

	if (!b->n_points || !plot_begin(b->plot, "vfabperf bw", "set ylabel 'GB/s'"))
		return 0;
	plot_sizes(b->points[0].bytes, b->points[b->n_points - 1].bytes);
	plot_series(titles, KINDS);
	for (k = 0; k < KINDS; k++) {
		for (i = 0; i < b->n_points; i++)
			plot_line("%zu %g\n", b->points[i].bytes, b->points[i].gbs[k]);
		plot_line("e\n");
	}
	return plot_end();
}

static void measure(struct bw *b, size_t bytes)
{
	static const char *const names[KINDS] = {
		"write_window", "write_memfd", "read_window", "read_memfd"
	};
	double *x[KINDS], spread[2], ratio[2], t;
	struct stats s[KINDS];
	uint64_t n = 1, i;
	int k;

	if (!verified(b, bytes, bytes)) {
		fprintf(stderr, "vfabperf: %zu bytes were not read as written\n",
			bytes);
		b->bad = true;
	}
	/* As many copies as fill a turn, the same for all kinds. */
	for (;;) {
		t = now_ns();
		turn(b, WRITE_MEMFD, bytes, n);
		t = now_ns() - t;
		if (t >= b->turn_ns / 4 || b->err)
			break;
		n *= 2;
	}
	n = ceil(n * b->turn_ns / t);
	for (k = 0; k < KINDS; k++)
		x[k] = calloc(b->repeats, sizeof(double));
	for (i = 0; i < b->repeats; i++)
		for (k = 0; k < KINDS; k++)
			x[k][i] = turn(b, (k + i) % KINDS, bytes, n);
	/* The order moved on by one each time: sort it back. */
	for (i = 0; i < b->repeats; i++) {
		double row[KINDS];

		for (k = 0; k < KINDS; k++)
			row[(k + i) % KINDS] = x[k][i];
		for (k = 0; k < KINDS; k++)
			x[k][i] = row[k];
	}
	for (k = 0; k < KINDS; k++)
		stats_of(x[k], b->repeats, &s[k]);
	for (k = 0; k < 2; k++) {
		const struct stats *w = &s[2 * k], *m = &s[2 * k + 1];

		ratio[k] = w->median / m->median;
		spread[k] = (m->p75 - m->p25) / m->median;
	}
	printf("%-10zu %-11llu %8.2f %8.2f %6.3f +-%4.2f%2s  %8.2f %8.2f %6.3f +-%4.2f%2s\n",
	       bytes, (unsigned long long)(n * b->repeats),
	       s[0].median, s[1].median, ratio[0], spread[0],
	       fabs(ratio[0] - 1) <= spread[0] ? "=" : "",
	       s[2].median, s[3].median, ratio[1], spread[1],
	       fabs(ratio[1] - 1) <= spread[1] ? "=" : "");
	fflush(stdout);
	json_begin(NULL, '{');
	json_num("bytes", bytes);
	json_num("iterations", n * b->repeats);
	for (k = 0; k < KINDS; k++) {
		json_begin(names[k], '{');
		json_num("gbs", s[k].median);
		json_num("gbs_p25", s[k].p25);
		json_num("gbs_p75", s[k].p75);
		json_end('}');
	}
	json_num("write_ratio", ratio[0]);
	json_num("write_spread", spread[0]);
	json_num("read_ratio", ratio[1]);
	json_num("read_spread", spread[1]);
	json_end('}');
	for (k = 0; k < KINDS; k++)
		free(x[k]);
	keep(b, bytes, s);
}

static long faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt + u.ru_majflt;
}

static void touch(char *p, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i += 4096)
		__atomic_store_n(p + i, 1, __ATOMIC_RELAXED);
}

static char *map_memfd(size_t bytes)
{
	int fd = memfd_create("vfabperf", MFD_CLOEXEC);
	char *p = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, bytes))
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return p == MAP_FAILED ? NULL : p;
}

/* From nothing to memory that has been written: time and page faults. */
static int first_touch(struct bw *b)
{
	struct vfab_mem mem;
	double t, window_ns, memfd_ns;
	long window_faults, memfd_faults;
	char *p;
	int ret;

	t = now_ns();
	ret = vfab_window_alloc(b->run.ep, TOUCH_BYTES, 0, VFAB_ACCESS_READ, &mem);
	if (ret) {
		printf("# first touch of 64 MiB: skipped: %s\n", vfab_strerror(ret));
		return 0;
	}
	window_faults = faults();
	touch(mem.addr, TOUCH_BYTES);
	window_faults = faults() - window_faults;
	window_ns = now_ns() - t;
	vfab_window_free(b->run.ep, &mem);

	t = now_ns();
	p = map_memfd(TOUCH_BYTES);
	if (!p)
		return setup_error("no memfd of 64 MiB");
	memfd_faults = faults();
	touch(p, TOUCH_BYTES);
	memfd_faults = faults() - memfd_faults;
	memfd_ns = now_ns() - t;
	munmap(p, TOUCH_BYTES);

	printf("# first touch of 64 MiB, allocation included: window %ld faults, %.1f ms;",
	       window_faults, window_ns / 1e6);
	printf(" memfd %ld faults, %.1f ms\n", memfd_faults, memfd_ns / 1e6);
	json_begin("first_touch", '{');
	json_num("bytes", TOUCH_BYTES);
	json_num("window_faults", window_faults);
	json_num("window_ms", window_ns / 1e6);
	json_num("memfd_faults", memfd_faults);
	json_num("memfd_ms", memfd_ns / 1e6);
	json_end('}');
	return 0;
}

static int setup(struct bw *b)
{
	struct run *r = &b->run;
	uint64_t handle;
	int ret = 0;

	if (r->size != 2)
		return setup_error("bw runs between 2 ranks, not %u", r->size);
	if (!run_first(r)) {
		ret = vfab_window_alloc(r->ep, b->to, TAG, VFAB_ACCESS_WRITE,
					&b->mine);
	} else {
		ret = vfab_lookup(r->ep, r->ranks[1], TAG,
				  r->timeout * VFAB_SECOND, &handle);
		if (!ret)
			ret = vfab_import(r->ep, handle, VFAB_ACCESS_WRITE,
					  VFAB_LOSS_ABSORB, &b->window);
		b->memfd = map_memfd(b->to);
		b->local = malloc(b->to);
		if (!b->memfd || !b->local)
			return setup_error("out of memory");
	}
	return ret ? run_failed(r, "windows", ret) : 0;
}

static int run_first_rank(struct bw *b)
{
	struct env e;
	uint64_t bytes;
	int ret;

	ret = json_open(b->run.json);
	if (ret)
		return ret;
	env_get(&e);
	env_print(&e, &b->run);
	json_head(&e, &b->run);
	json_end('}');
	ret = first_touch(b);
	if (ret)
		return ret;
	/* No first touch within a measurement. */
	touch(b->window.addr, b->to);
	touch(b->memfd, b->to);
	touch(b->local, b->to);
	fputs(header, stdout);
	json_begin("results", '[');
	for (bytes = b->from; bytes <= b->to && !b->err; bytes *= b->factor)
		measure(b, bytes);
	json_end(']');
	if (b->err)
		return run_failed(&b->run, "vfab_put() or vfab_get()", b->err);
	ret = draw(b);
	return b->bad ? EXIT_VERDICT : ret;
}

int bw_main(int argc, char **argv)
{
	enum { TIME = 256, PLOT };
	static const struct option own[] = {
		{ "minbytes", 1, NULL, 'b' }, { "maxbytes", 1, NULL, 'e' },
		{ "factor", 1, NULL, 'f' }, { "repeats", 1, NULL, 'r' },
		{ "time", 1, NULL, TIME }, { "mode", 1, NULL, 'm' },
		{ "plot", 1, NULL, PLOT }, { NULL, 0, NULL, 0 }
	};
	struct option options[OPTIONS];
	struct bw b = {
		.run.command = "bw", .run.raw = true, .from = 64, .to = UINT64_C(64) << 20,
		.factor = 4, .repeats = 11, .turn_ns = 4e6,
	};
	struct options o = { .ntasks = 2 };
	uint64_t v;
	int c, ret;

	all_options(options, own);
	while ((c = next_option(argc, argv, "m:b:e:f:r:T:J:h", options)) != -1) {
		ret = -1;
		switch (c) {
		case 'm':
			b.run.raw = !strcmp(optarg, "plain");
			if (!b.run.raw && strcmp(optarg, "call"))
				ret = usage_error("there is no mode \"%s\"", optarg);
			break;
		case PLOT:
			b.plot = optarg;
			ret = plot_check(optarg);
			break;
		case 'b':
			ret = parse_size(optarg, &b.from);
			break;
		case 'e':
			ret = parse_size(optarg, &b.to);
			break;
		case 'f':
			ret = parse_count(optarg, 1 << 20, &b.factor);
			break;
		case 'r':
			ret = parse_count(optarg, 10000, &b.repeats);
			break;
		case TIME:
			ret = parse_count(optarg, 100000, &v);
			b.turn_ns = v * 1e6;
			break;
		default:
			ret = common_option(&o, c, usage);
		}
		if (ret >= 0)
			return ret;
	}
	if (optind + 1 < argc)
		return usage_error("argument \"%s\" is one too many", argv[optind + 1]);
	if (b.from > b.to)
		return usage_error("the largest size, -e %llu, is below the smallest, -b %llu",
				   (unsigned long long)b.to, (unsigned long long)b.from);
	if (!b.from || b.to > MAX_BYTES || b.factor < 2 ||
	    !b.repeats || !b.turn_ns)
		return usage_error("sizes are 1 to 1G, the factor 2 or more, the rest 1 or more");
	ret = run_start(&b.run, &o, argv);
	if (ret >= 0)
		return ret;
	/* Rank 1 waits for as long as rank 0 measures. */
	vfab_comm_set_timeout(b.run.comm, VFAB_FOREVER);
	ret = setup(&b);
	if (!ret && run_first(&b.run))
		ret = run_first_rank(&b);
	c = vfab_barrier(b.run.comm);
	if (!ret && c)
		ret = run_failed(&b.run, "barrier", c);
	return run_end(&b.run, ret);
}
