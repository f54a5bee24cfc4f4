// SPDX-License-Identifier: GPL-2.0
/*
 * The model (kmod/topology.c, kmod/route.c) against a slow and obvious one
 * that searches for a way link by link. Runs on the host, needs no kernel:
 *
 *	build/selftests/route_test [SEED]
 *
 * Prints TAP. Built with the address and undefined-behaviour sanitizers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../kmod/topology.h"

#define STORMS	40

static unsigned int failed, number;

static void result(bool ok, const char *what)
{
	printf("%sok %u %s\n", ok ? "" : "not ", ++number, what);
	failed += !ok;
}

static void note(const char *text)
{
	printf("# %s\n", text);
}

static void bail_out(const char *why)
{
	printf("Bail out! %s\n", why);
	exit(1);
}

static u32 below(u32 n)
{
	return n ? (u32)random() % n : 0;
}

#include "../kmod/model_test.h"

int main(int argc, char **argv)
{
	unsigned int seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	u32 done;

	srandom(seed);
	printf("TAP version 13\n");
	all_defaults();
	verdicts();
	rates();
	tables_of_their_own();
	flows();
	refusals();
	printf("# seed %u\n", seed);
	done = storms(STORMS, 500);
	if (done < STORMS)
		printf("# storm %u\n", done);
	result(done == STORMS, "40 random storms agree with the search link by link");
	printf("1..%u\n", number);
	return failed ? 1 : 0;
}
