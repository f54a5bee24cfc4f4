// SPDX-License-Identifier: GPL-2.0
/*
 * A fuzzer of the model, for clang's libFuzzer: the input says which fabric it is
 * and what becomes of its links, switches and tables. How to use, by example:
 *
 *	make -C selftests fuzz
 *	build/selftests/route_fuzz -max_len=4096 -max_total_time=600 corpus
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../kmod/topology.h"

static const unsigned char *input;
static size_t left;

static void result(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void note(const char *text)
{
	(void)text;
}

static void bail_out(const char *why)
{
	result(false, why);
}

/* Two bytes of the input; behind its end 0 */
static u32 below(u32 n)
{
	u32 value = 0;

	if (left < 2) {
		left = 0;
	} else {
		value = input[0] | input[1] << 8;
		input += 2;
		left -= 2;
	}
	return n ? value % n : 0;
}

#include "../kmod/model_test.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct vf_topo t;

	input = data;
	left = size;
	any_fabric(&t, below(5));
	while (left)
		result(storm_once(&t), "the model and the search differ");
	vf_topo_destroy(&t);
	return 0;
}
