// SPDX-License-Identifier: GPL-2.0
/* Times in classes that grow by the fourth root of two, as text and in JSON. */
#include <math.h>
#include "vfabperf.h"

#define PER_OCTAVE	4
#define WIDTH		50

static double bound(int class)
{
	return exp2((double)class / PER_OCTAVE);
}

static int class_of(double ns)
{
	return ns < 1 ? 0 : (int)floor(log2(ns) * PER_OCTAVE);
}

/* @x: sorted, ns */
void hist_print(const char *what, const double *x, size_t n)
{
	size_t i = 0, most = 0, in;
	int pass, class;

	for (pass = 0; pass < 2; pass++) {
		if (pass) {
			printf("#   %s: %zu times, us\n", what, n);
			json_begin("histogram", '[');
		}
		for (i = 0; i < n; i += in) {
			class = class_of(x[i]);
			for (in = 1; i + in < n && class_of(x[i + in]) == class; in++)
				;
			if (in > most)
				most = in;
			if (!pass)
				continue;
			printf("#   %10.3f - %-10.3f %8zu  %.*s\n", bound(class) / 1e3,
			       bound(class + 1) / 1e3, in, (int)ceil((double)WIDTH * in / most),
			       "##################################################");
			json_begin(NULL, '{');
			json_num("from_us", bound(class) / 1e3);
			json_num("to_us", bound(class + 1) / 1e3);
			json_num("count", in);
			json_end('}');
		}
	}
	json_end(']');
}
