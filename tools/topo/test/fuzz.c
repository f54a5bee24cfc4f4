// SPDX-License-Identifier: LGPL-2.1
/*
 * A fuzzer of topology files, for clang's libFuzzer. How to use, by example:
 *
 *	make -C tools fuzz
 *	mkdir corpus && cp tools/profiles/[a-z]*.yaml corpus/
 *	VFAB_PROFILE_PATH=tools/profiles build/tools/test/topofuzz -max_total_time=600 corpus
 *
 * What loads must come back from its own dump, and can be measured.
 */
#include <stdlib.h>
#include "itself.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct topo *t)
{
	char err[TOPO_ERR_LEN];
	struct topo_summary s;

	if (!loads_as_itself(t, err) || topo_measure(t, &s))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[TOPO_ERR_LEN] = "";
	struct topo t;

	if (topo_load_text("f", data, size, NULL, &t, err, sizeof(err))) {
		if (!*err)
			abort();
		return 0;
	}
	/* Larger ones are right for the same reasons, and slow */
	if (t.nlinks <= 4096)
		check(&t);
	topo_free(&t);
	return 0;
}
