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
#include <time.h>
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

/* Who is @i-th in the chain: in order, or by turns the lowest and the highest that is left */
static u16 place(u32 i, u32 n, bool turns)
{
	return !turns ? i : i % 2 ? n - 1 - i / 2 : i / 2;
}

/* CPU time to compile all routes of a chain of @n endpoints that forward, in an order */
static double chain_time(u32 n, bool turns)
{
	struct vf_topo_config cfg;
	struct vf_topo t;
	clock_t from;
	u32 i;

	fresh(&cfg, n, 0);
	cfg.forwards = true;
	for (i = 1; i < n; i++)
		join(n, place(i - 1, n, turns), place(i, n, turns));
	make(&t, &cfg);
	from = clock();
	recompile(&t);
	from = clock() - from;
	vf_topo_destroy(&t);
	return (double)from / CLOCKS_PER_SEC;
}

/* How a fabric is numbered does not make its routes dear: as another node may number it. */
static void order_is_nothing(void)
{
	double plain = chain_time(512, false), turns = chain_time(512, true);

	printf("# %.3f s in order, %.3f s by turns\n", plain, turns);
	result(turns < 5 * plain + 0.1, "a chain is compiled as fast however it is numbered");
}

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
	order_is_nothing();
	refusals();
	printf("# seed %u\n", seed);
	done = storms(STORMS, 500);
	if (done < STORMS)
		printf("# storm %u\n", done);
	result(done == STORMS, "40 random storms agree with the search link by link");
	printf("1..%u\n", number);
	return failed ? 1 : 0;
}
