// SPDX-License-Identifier: GPL-2.0
/*
 * One benchmark for several libraries of collectives: scripts/bench-peers starts
 * it, with the launcher of the library it was linked with. By example:
 *
 *	vfabrun --memfd -n 2 peers-vfabric SYNC OUT 30 20 allreduce:private:8,4096
 *	mpirun.openmpi -n 2 peers-openmpi SYNC OUT 30 20 barrier:private:0
 *
 * SYNC is a file that does not exist yet, by which the ranks meet before each
 * operation: the benchmark's own barrier, the same for all libraries. OUT
 * receives one JSON object a line. 30 ms is the time for each case, 20 s that for
 * all: at its end, the process ends with what it has measured.
 *
 * Before each operation every rank writes its source anew; after it, all of its
 * result is checked. The time of an operation is that of the slowest rank, from
 * its call to its return.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "peers.h"

#define MAX_RANKS	1024
#define MAX_ITERS	500
#define MAX_SIZES	32
#define HOPS		2000
#define WARMUP		6	/* libraries use buffers in turns: all have been touched */
#define LEAST		3	/* iterations, unless they take all too long */

struct sync {
	_Alignas(128) atomic_uint arrived;
	_Alignas(128) atomic_uint phase;
	_Alignas(128) atomic_uint go[2];	/* by parity of the iteration */
	_Alignas(128) atomic_uint ball;
	_Alignas(128) atomic_ullong wrong;
	_Alignas(128) double times[MAX_ITERS][MAX_RANKS];
};

static const char *const coll_names[COLLS] = {
	"barrier", "allreduce", "broadcast", "allgather", "reduce_scatter",
	"alltoall", "copy"
};

static uint32_t rank, size;
static bool crowded;		/* more ranks than CPUs */
static struct sync *sync_area;
static FILE *out_file;

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "peers: rank %u: ", rank);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	_exit(2);
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static void relax(void)
{
	if (crowded)
		sched_yield();
#if defined(__x86_64__)
	else
		__builtin_ia32_pause();
#endif
}

static void meet(void)
{
	unsigned int phase = atomic_load_explicit(&sync_area->phase, memory_order_relaxed);

	if (atomic_fetch_add(&sync_area->arrived, 1) + 1 == size) {
		atomic_store_explicit(&sync_area->arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&sync_area->phase, phase + 1, memory_order_release);
		return;
	}
	while (atomic_load_explicit(&sync_area->phase, memory_order_acquire) == phase)
		relax();
}

static void open_sync(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*sync_area)))
		die("%s: %s", path, strerror(errno));
	sync_area = mmap(NULL, sizeof(*sync_area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (sync_area == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	close(fd);
}

/* One line to and fro between ranks 0 and 1; ns one way. */
static double hop(void)
{
	unsigned int i, from = rank;
	double t;

	meet();
	t = now_us();
	if (rank < 2)
		for (i = from; i < HOPS; i += 2) {
			while (atomic_load_explicit(&sync_area->ball, memory_order_acquire) != i)
				;
			atomic_store_explicit(&sync_area->ball, i + 1, memory_order_release);
		}
	t = now_us() - t;
	meet();
	atomic_store(&sync_area->ball, 0);
	meet();
	return t * 1e3 / HOPS;
}

static double copy_gbs(void)
{
	size_t len = 1 << 20;
	char *from = malloc(len), *to = malloc(len);
	double t, best = 0;
	int i;

	if (!from || !to)
		die("no memory");
	memset(from, 1, len);
	memset(to, 2, len);
	for (i = 0; i < 20; i++) {
		t = now_us();
		memcpy(to, from, len);
		__asm__ volatile("" : : "r"(to) : "memory");
		t = len / (now_us() - t) / 1e3;
		best = t > best ? t : best;
	}
	free(from);
	free(to);
	return best;
}

/* Element i of rank r's source: every sum over the ranks is exact in a float. */
static float part(size_t i, uint32_t iter)
{
	return (float)((uint32_t)(i * 5 + iter * 3) & 127);
}

static void fill(float *x, size_t n, uint32_t iter)
{
	size_t i;

	for (i = 0; i < n; i++)
		x[i] = (float)(rank + 1) + part(i, iter);
}

/* @n elements that are @times the pattern from element @from on, plus @plus */
static size_t wrong_part(const float *x, size_t n, size_t from, uint32_t iter, float times,
			 float plus)
{
	size_t i;
	unsigned int wrong = 0;

	for (i = 0; i < n; i++)
		wrong += x[i] != plus + times * part(from + i, iter);
	return wrong;
}

static size_t wrong(enum coll coll, const float *in, const float *out, size_t count,
		    uint32_t iter)
{
	float sum = (float)(size * (size + 1) / 2);
	size_t bad = 0;
	uint32_t r;

	switch (coll) {
	case ALLREDUCE:
		return wrong_part(out, count, 0, iter, size, sum);
	case BROADCAST:
		return wrong_part(in, count, 0, iter, 1, 1);
	case REDUCE_SCATTER:
		return wrong_part(out, count, rank * count, iter, size, sum);
	case COPY:
		return wrong_part(out, count, 0, iter, 1, rank + 1);
	case ALLGATHER:
	case ALLTOALL:
		for (r = 0; r < size; r++)
			bad += wrong_part(out + r * count, count,
					  coll == ALLTOALL ? rank * count : 0, iter, 1, r + 1);
		return bad;
	default:
		return 0;
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(enum coll coll, bool window, size_t bytes, uint32_t iters)
{
	double slowest[MAX_ITERS];
	uint32_t i, r;

	for (i = 0; i < iters; i++) {
		slowest[i] = 0;
		for (r = 0; r < size; r++)
			if (sync_area->times[i][r] > slowest[i])
				slowest[i] = sync_area->times[i][r];
	}
	qsort(slowest, iters, sizeof(*slowest), compare);
	fprintf(out_file,
		"{\"coll\": \"%s\", \"buffers\": \"%s\", \"bytes\": %zu, \"iterations\": %u, \"min_us\": %.3f, \"median_us\": %.3f, \"wrong\": %llu}\n",
		coll_names[coll], window ? "window" : "private", bytes, iters, slowest[0],
		slowest[(iters - 1) / 2], (unsigned long long)atomic_load(&sync_area->wrong));
	fflush(out_file);
}

/* Rank 0: is there to be another iteration? */
static bool more(uint32_t i, double since, double budget)
{
	double spent = now_us() - since;

	if (i == WARMUP + MAX_ITERS)
		return false;
	if (i <= WARMUP)
		return true;
	return spent < budget || (i < WARMUP + LEAST && spent < 20 * budget);
}

static void run_case(enum coll coll, bool window, size_t bytes, float *in, float *out,
		     double budget)
{
	size_t count = bytes / sizeof(float), filled, bad;
	double t, since = now_us();
	uint32_t i;

	if (coll >= ALLGATHER && coll <= ALLTOALL) {
		count = count / size ? count / size : 1;
		bytes = count * size * sizeof(float);
	}
	filled = coll == BARRIER ? 0 : coll == ALLGATHER ? count : bytes / sizeof(float);
	atomic_store(&sync_area->wrong, 0);
	for (i = 0;; i++) {
		fill(in, filled, i);
		if (!rank)
			atomic_store(&sync_area->go[i & 1], more(i, since, budget));
		meet();
		if (!atomic_load(&sync_area->go[i & 1]))
			break;
		t = now_us();
		if (coll == COPY)
			memcpy(out, in, bytes);
		else
			lib_call(coll, in, out, count);
		t = now_us() - t;
		if (i >= WARMUP)
			sync_area->times[i - WARMUP][rank] = t;
		bad = wrong(coll, in, out, count, i);
		if (bad)
			atomic_fetch_add(&sync_area->wrong, bad);
	}
	if (!rank)
		report(coll, window, bytes, i - WARMUP);
	meet();
}

/* COLL:BUFFERS:SIZE,... */
struct cases {
	enum coll coll;
	bool window;
	uint32_t n;
	size_t bytes[MAX_SIZES];
};

static void parse(char *text, struct cases *c)
{
	char *coll = strsep(&text, ":"), *buffers = strsep(&text, ":"), *word;
	int i;

	for (i = 0; i < COLLS && strcmp(coll, coll_names[i]); i++)
		;
	if (i == COLLS || !buffers || !text)
		die("a case is COLLECTIVE:private|window:SIZE,...: not \"%s\"", coll);
	c->coll = i;
	c->window = !strcmp(buffers, "window");
	for (c->n = 0; c->n < MAX_SIZES && (word = strsep(&text, ",")); c->n++)
		c->bytes[c->n] = strtoul(word, NULL, 10);
}

static void run_buffers(bool window, char **words, int n, double budget)
{
	struct cases cases[n];
	size_t most = 0;
	void *in, *out;
	uint32_t k;
	int i;

	for (i = 0; i < n; i++) {
		parse(words[i], &cases[i]);
		for (k = 0; k < cases[i].n; k++)
			if (cases[i].window == window && cases[i].bytes[k] >= most)
				most = cases[i].bytes[k] + 4 * size;
	}
	if (!most)
		return;
	most = (most + 4095) & ~4095UL;
	lib_alloc(most, window, &in, &out);
	memset(in, 0, most);
	memset(out, 0, most);
	for (i = 0; i < n; i++)
		for (k = 0; k < cases[i].n; k++)
			if (cases[i].window == window)
				run_case(cases[i].coll, window, cases[i].bytes[k], in, out, budget);
	lib_free(window);
}

int main(int argc, char **argv)
{
	cpu_set_t set;
	double hop_ns = 0;

	lib_start(&argc, &argv, &rank, &size);
	if (argc < 6 || size > MAX_RANKS || size < 2)
		die("give SYNC OUT MILLISECONDS SECONDS CASE..., to 2 ranks or more");
	/* No launcher is relied upon to end what takes too long. */
	alarm(strtoul(argv[4], NULL, 10));
	crowded = size > sysconf(_SC_NPROCESSORS_ONLN);
	open_sync(argv[1]);
	sched_getaffinity(0, sizeof(set), &set);
	if (!crowded)
		hop_ns = hop();
	if (!rank) {
		out_file = fopen(argv[2], "we");
		if (!out_file)
			die("%s: %s", argv[2], strerror(errno));
		fprintf(out_file,
			"{\"library\": \"%s\", \"ranks\": %u, \"cpus_of_a_rank\": %d, \"hop_ns\": %.1f, \"memcpy_gbs\": %.2f}\n",
			lib_version(), size, CPU_COUNT(&set), hop_ns, copy_gbs());
		fflush(out_file);
	}
	meet();
	for (int window = 0; window < 2; window++) {
		char *words[argc];

		for (int i = 5; i < argc; i++)
			words[i - 5] = strdup(argv[i]);
		run_buffers(window, words, argc - 5, strtod(argv[3], NULL) * 1e3);
	}
	meet();
	lib_end();
	return 0;
}
