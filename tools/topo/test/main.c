// SPDX-License-Identifier: LGPL-2.1
/*
 * Tests of the topology library. They run on the host and need no module:
 *
 *	build/tools/test/topotest [PROFILES [SEED]]
 *
 * from the top of the tree, or with the directory of the profiles. Prints TAP.
 * Built with the address and undefined-behaviour sanitizers.
 */
#include <stdarg.h>
#include <unistd.h>
#include "itself.h"
#include "test.h"

#define BOUND_S 300	/* all of it; a test that hangs ends here */

const char *profiles;
static unsigned int failed, number;

void result(bool ok, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%sok %u ", ok ? "" : "not ", ++number);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	fflush(stdout);
	failed += !ok;
}

/* About the result that follows. */
void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("# ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

uint32_t below(uint32_t n)
{
	return (uint32_t)random() % n;
}

int load_text(const char *text, struct topo *t, char err[TOPO_ERR_LEN])
{
	return topo_load_text("f", text, strlen(text), NULL, t, err, TOPO_ERR_LEN);
}

/* Does it come back from a file as it was? */
bool survives_dump(const struct topo *t)
{
	char err[TOPO_ERR_LEN] = "";
	bool ok = loads_as_itself(t, err);

	if (*err)
		note("%s", err);
	return ok;
}

int main(int argc, char **argv)
{
	unsigned int seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;

	profiles = argc > 1 ? argv[1] : "tools/profiles";
	if (access(profiles, R_OK)) {
		fprintf(stderr, "topotest: no profiles in %s: run it from the top of the tree\n",
			profiles);
		return 2;
	}
	setenv("VFAB_PROFILE_PATH", profiles, 1);
	srandom(seed);
	alarm(BOUND_S);
	puts("TAP version 13");
	note("seed %u", seed);
	test_model();
	test_profiles();
	test_generate();
	test_files();
	test_refuse();
	test_hostile();
	printf("1..%u\n", number);
	return failed != 0;
}
