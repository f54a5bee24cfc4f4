/* SPDX-License-Identifier: LGPL-2.1 */
/* What tests and fuzzers of topologies hold each one to that loads. */
#ifndef TOPO_TEST_ITSELF_H
#define TOPO_TEST_ITSELF_H

#include <stdlib.h>
#include "topo.h"

/* Is its own dump a file that loads, as the same topology? If it does not, @err says why. */
static inline bool loads_as_itself(const struct topo *t, char err[TOPO_ERR_LEN])
{
	struct topo back;
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	bool ok;

	if (!to)
		return false;
	ok = !topo_dump(t, to);
	fclose(to);
	if (ok && topo_load_text("dump", text, len, NULL, &back, err, TOPO_ERR_LEN)) {
		ok = false;
	} else if (ok) {
		ok = topo_equal(t, &back);
		topo_free(&back);
	}
	free(text);
	return ok;
}

#endif
