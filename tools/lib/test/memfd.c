// SPDX-License-Identifier: LGPL-2.1
/* Tests: what is the memfd transport's own. */
#include "libtest.h"

const struct test memfd_tests[] = {
	{ 0 }
};
