// SPDX-License-Identifier: GPL-2.0
/* Times and what is said about them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "vfabperf.h"

double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The smallest value that at least this share is not above. */
static double at(const double *x, size_t n, double share)
{
	size_t i = ceil(share * n);

	return x[i ? i - 1 : 0];
}

void stats_of(double *x, size_t n, struct stats *s)
{
	double sum = 0, sq = 0;
	size_t i;

	memset(s, 0, sizeof(*s));
	s->n = n;
	if (!n)
		return;
	qsort(x, n, sizeof(*x), compare);
	for (i = 0; i < n; i++)
		sum += x[i];
	s->mean = sum / n;
	for (i = 0; i < n; i++)
		sq += (x[i] - s->mean) * (x[i] - s->mean);
	s->stdev = sqrt(sq / n);
	s->min = x[0];
	s->max = x[n - 1];
	s->median = at(x, n, .5);
	s->p25 = at(x, n, .25);
	s->p75 = at(x, n, .75);
	s->p95 = at(x, n, .95);
	s->p99 = at(x, n, .99);
	s->p999 = at(x, n, .999);
}

double median(double *x, size_t n)
{
	struct stats s;

	stats_of(x, n, &s);
	return s.median;
}
