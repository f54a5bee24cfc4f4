// SPDX-License-Identifier: GPL-2.0
/*
 * From the request to set links down to its return, when by contract the last
 * access is gone: all ranks have mapped and touched 2 MiB of all others. In a
 * domain of one plane, an endpoint's link carries 2 * (n - 1) routes and those
 * of the switch all n * (n - 1). After each, all ranks look whether what is
 * lost is gone and what is not is there.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"

#define BYTES	(2UL << 20)
#define TAG	1
#define VICTIM	5

enum cut { NOTHING, ENDPOINT, SWITCH };

static enum cut *cut;
static int me, ranks;
static struct vfab_mem theirs[72];

static void look(void)
{
	int r;

	for (r = 0; r < ranks; r++) {
		bool lost = *cut == SWITCH ||
			    (*cut == ENDPOINT && (me == VICTIM || r == VICTIM));
		unsigned char want = lost ? 0xff : r + 1, is;

		if (r == me)
			continue;
		is = __atomic_load_n((unsigned char *)theirs[r].addr, __ATOMIC_RELAXED);
		if (is != want)
			die("rank %d reads %#x from rank %d, which is %s", me, is,
			    r, lost ? "cut off" : "not cut off");
	}
}

static void rank_main(int phases)
{
	struct vfab_mem own;
	struct vfab_ep *ep;
	uint64_t handle;
	int r;

	must("attaching", vfab_open(&ep, domain_name(), me));
	must("a window", vfab_window_alloc(ep, BYTES, TAG, VFAB_ACCESS_WRITE, &own));
	*(char *)own.addr = me + 1;
	meet();
	for (r = 0; r < ranks; r++) {
		if (r == me)
			continue;
		must("looking up", vfab_lookup(ep, r, TAG, 0, &handle));
		must("importing", vfab_import(ep, handle, VFAB_ACCESS_WRITE,
					      VFAB_LOSS_ABSORB, &theirs[r]));
	}
	while (phases--) {
		look();
		meet();		/* all have touched everything */
		meet();		/* the links have been set */
	}
	look();
	meet();			/* nobody leaves before all have looked */
	vfab_close(ep);
	_exit(0);
}

static double set(enum cut what, bool up)
{
	double t = now_ns();

	if (what == ENDPOINT)
		link_set(VICTIM, -1, up);
	else
		link_set(-1, 0, up);
	t = now_ns() - t;
	*cut = up ? NOTHING : what;
	return t / 1e3;
}

static void measure(int n, int repeats)
{
	double down[3][MAX_REPEATS], up[3][MAX_REPEATS];
	char id[32];
	int i, k;

	ranks = n;
	domain_create(n, 1);
	*cut = NOTHING;
	me = team_start(n);
	if (me >= 0)
		rank_main(4 * repeats);
	meet();
	for (i = 0; i < repeats; i++)
		for (k = ENDPOINT; k <= SWITCH; k++) {
			meet();
			down[k][i] = set(k, false);
			meet();
			meet();
			up[k][i] = set(k, true);
			meet();
		}
	meet();
	team_end();
	domain_delete();
	for (k = ENDPOINT; k <= SWITCH; k++) {
		int routes = k == ENDPOINT ? 2 * (n - 1) : n * (n - 1);

		snprintf(id, sizeof(id), "loss.%d.%d", n, routes);
		row(id, "us", down[k], NULL, repeats);
		snprintf(id, sizeof(id), "gain.%d.%d", n, routes);
		row(id, "us", up[k], NULL, repeats);
	}
}

void bench_loss(int repeats)
{
	cut = shared(sizeof(*cut));
	measure(16, repeats);
	measure(36, repeats);
	measure(72, repeats);
}
