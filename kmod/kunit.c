// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the model, for kernels that have KUnit. By example:
 *
 *	scripts/kunit
 *
 * They are a module of their own, vfabric_kunit, which has the model's files in
 * it: vfabric need not be loaded.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include "topology.h"

static struct kunit *vf_test;		/* KUnit runs one at a time */
static struct rnd_state vf_random;

static void result(bool ok, const char *what)
{
	KUNIT_EXPECT_TRUE_MSG(vf_test, ok, "%s", what);
}

static void note(const char *text)
{
	kunit_info(vf_test, "%s", text);
}

static void bail_out(const char *why)
{
	KUNIT_ASSERT_TRUE_MSG(vf_test, false, "%s", why);
}

static u32 below(u32 n)
{
	return n ? prandom_u32_state(&vf_random) % n : 0;
}

#include "topology.c"
#include "route.c"
#include "model_test.h"

static int vf_kunit_init(struct kunit *test)
{
	vf_test = test;
	prandom_seed_state(&vf_random, 1);
	return 0;
}

static void default_routes(struct kunit *test)
{
	all_defaults();
}

static void path_verdicts(struct kunit *test)
{
	verdicts();
}

static void path_rates(struct kunit *test)
{
	rates();
}

static void endpoints_with_tables(struct kunit *test)
{
	tables_of_their_own();
}

static void flows_spread(struct kunit *test)
{
	flows();
}

static void bad_links_are_refused(struct kunit *test)
{
	refusals();
}

static void random_storms(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, storms(40, 100), 40U);
}

static struct kunit_case vf_kunit_cases[] = {
	KUNIT_CASE(default_routes),
	KUNIT_CASE(path_verdicts),
	KUNIT_CASE(path_rates),
	KUNIT_CASE(endpoints_with_tables),
	KUNIT_CASE(flows_spread),
	KUNIT_CASE(bad_links_are_refused),
	KUNIT_CASE(random_storms),
	{ }
};

static struct kunit_suite vf_kunit_suite = {
	.name = "vfabric_model",
	.init = vf_kunit_init,
	.test_cases = vf_kunit_cases,
};

kunit_test_suite(vf_kunit_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of vfabric's model");
