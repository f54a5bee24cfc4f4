// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of what vfabmgr computes. They run on the host and need no module:
 *
 *	build/tools/test/mgrtest [PROFILES [SEED]]
 *
 * from the top of the tree, or with the directory of the profiles. Prints KTAP.
 * Built with the address and undefined-behaviour sanitizers. What engines make
 * is held against searches link by link and request by request (plain.c), which
 * are slow and obvious.
 */
#include <stdarg.h>
#include <unistd.h>
#include "test.h"

#define BOUND_S 600	/* all of it; a test that hangs ends here */

static unsigned int failed, count;

void result(bool ok, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%sok %u ", ok ? "" : "not ", ++count);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	fflush(stdout);
	failed += !ok;
}

u32 below(u32 n)
{
	return n ? (u32)random() % n : 0;
}

int main(int argc, char **argv)
{
	unsigned int seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;

	alarm(BOUND_S);
	setenv("VFAB_PROFILE_PATH", argc > 1 ? argv[1] : "tools/profiles", 1);
	srandom(seed);
	printf("KTAP version 1\n# seed %u\n", seed);
	test_engines();
	test_loops();
	test_plan();
	test_file();
	printf("1..%u\n", count);
	return failed ? 1 : 0;
}
