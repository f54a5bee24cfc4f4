// SPDX-License-Identifier: LGPL-2.1
/*
 * A fuzzer of how profiles are named and changed, for clang's libFuzzer: the first
 * line is a profile or torus:XxYxZ, each one after it a --set. How to use, by
 * example:
 *
 *	make -C tools fuzz
 *	mkdir corpus && printf 'torus:2x2x2\nrate=1000\n' >corpus/torus
 *	VFAB_PROFILE_PATH=tools/profiles build/tools/test/specfuzz -max_total_time=600 corpus
 *
 * What is refused has a sentence; what loads is what its own dump says.
 */
#include <stdlib.h>
#include <string.h>
#include "itself.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_SETS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[512], err[TOPO_ERR_LEN] = "", *sets[MAX_SETS + 1] = { }, *spec, *rest = text;
	static struct topo_profile p;
	struct topo t;
	int n;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	spec = strsep(&rest, "\n");
	/* Files are the subject of topofuzz, and the machine's own are none of ours */
	if (strchr(spec, '/'))
		return 0;
	for (n = 0; rest && n < MAX_SETS; n++)
		sets[n] = strsep(&rest, "\n");
	if (topo_load_profile(spec, sets, &t, err, sizeof(err))) {
		if (!*err)
			abort();
	} else {
		/* Larger ones are right for the same reasons, and slow */
		if (t.nlinks <= 4096 && !loads_as_itself(&t, err))
			abort();
		topo_free(&t);
	}
	*err = 0;
	if (topo_profile_read(spec, sets, &p, err, sizeof(err))) {
		if (!*err)
			abort();
		return 0;
	}
	if (topo_profile_check(&p, err, sizeof(err)) && !*err)
		abort();
	topo_profile_free(&p);
	return 0;
}
