// SPDX-License-Identifier: GPL-2.0
/*
 * A fuzzer of scenario files, for clang's libFuzzer. How to use, by example:
 *
 *	make -C tools fuzz
 *	mkdir corpus && cp tools/scenarios/[a-z]*.yaml corpus/
 *	build/tools/test/scenfuzz -max_total_time=600 corpus
 *
 * What is refused has a sentence; what loads can be chosen from and expanded.
 */
#include <stdlib.h>
#include <string.h>
#include "topo.h"
#include "scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expand(const struct vars *vars, const struct texts *t)
{
	uint32_t i;

	for (i = 0; i < t->n; i++) {
		free(vars_expand(vars, t->v[i].s));
		words_free(words_split(vars, t->v[i].s));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct scenario s;
	static struct vars vars;
	char err[TOPO_ERR_LEN] = "";
	uint32_t i;

	if (scenario_parse(&s, "f", data, size, err, sizeof(err))) {
		if (!*err)
			abort();
	} else {
		vars.n = 0;
		vars_choose(&vars, &s, size, NULL);
		expand(&vars, &s.setup);
		for (i = 0; i < s.nsteps; i++)
			expand(&vars, &s.steps[i].run);
		for (i = 0; i < s.nprograms; i++)
			expand(&vars, &s.programs[i].run);
	}
	scenario_free(&s);
	return 0;
}
