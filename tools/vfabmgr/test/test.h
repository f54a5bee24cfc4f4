/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of vfabmgr share: main.c says how to run them. */
#ifndef VFABMGR_TEST_H
#define VFABMGR_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include "../vfabmgr.h"

void result(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
u32 below(u32 n);

/* make.c: fabrics; fabric_free() is due */
void make(struct fabric *f, const char *spec, char *const *sets);
void make_random(struct fabric *f);
void make_mesh(struct fabric *f, u32 x, u32 y);	/* of endpoints, without wrap */
void cut(struct fabric *f, u32 n);		/* so many links, at random */
void mend(struct fabric *f);
u32 link_between(const struct fabric *f, u32 a, u32 b);
bool route(struct fabric *f, const char *engine, const struct options *o);

/* plain.c: the same questions, answered slowly and obviously */
bool plain_joined(const struct fabric *f, u32 a, u32 b);
bool plain_reaches(const struct fabric *f, u32 a, u32 b);
bool plain_blocks(const struct fabric *f, const struct engine *e, u32 vcs);
u32 plain_lost(const struct fabric *f);		/* pairs joined that do not reach */

void test_engines(void);
void test_loops(void);
void test_plan(void);
void test_file(void);

#endif
