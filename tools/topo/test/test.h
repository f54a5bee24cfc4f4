/* SPDX-License-Identifier: LGPL-2.1 */
/* What the tests of the topology library share: main.c says how to run them. */
#ifndef VFABRIC_TOPO_TEST_H
#define VFABRIC_TOPO_TEST_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "topo.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RATE "rate_mb_per_s_per_direction"

extern const char *profiles;	/* their directory */

void result(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
uint32_t below(uint32_t n);

int load_text(const char *text, struct topo *t, char err[TOPO_ERR_LEN]);

/* model.c: the same questions, answered slowly and obviously */
bool plain_valid(const struct topo *t);
bool plain_connected(const struct topo *t);
uint64_t plain_bisection(const struct topo *t);

bool survives_dump(const struct topo *t);

void test_model(void);
void test_profiles(void);
void test_generate(void);
void test_files(void);
void test_refuse(void);
void test_hostile(void);

#endif
