// SPDX-License-Identifier: GPL-2.0
/* One process of the demonstration: a rank, through all phases. */
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>
#include "demo.h"

#define LINE	64

static struct vfab_ep *ep;
static uint32_t me;
static struct vfab_mem mine, theirs[VFAB_MAX_WORLD];
static float in[ELEMENTS], out[ELEMENTS];

static void __attribute__((noreturn, format(printf, 1, 2)))
give_up(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sh->rank[me].why, sizeof(sh->rank[me].why), fmt, ap);
	va_end(ap);
	_exit(1);
}

static void must(const char *what, int ret)
{
	if (ret)
		give_up("%s: %s", what, vfab_strerror(ret));
}

static uint64_t stamp(uint32_t from, uint32_t to)
{
	return UINT64_C(0x5641420000000000) | (uint64_t)from << 16 | to;
}

/* Where @from writes in every window: a line of its own. */
static uint64_t *slot(const struct vfab_mem *mem, uint32_t from)
{
	return (uint64_t *)((char *)mem->addr + (size_t)from * LINE);
}

static void map_all(void)
{
	uint64_t handle;
	uint32_t i, k;

	for (k = 1; k < demo.world; k++) {
		i = (me + k) % demo.world;
		must("looking for a window",
		     vfab_lookup(ep, i, TAG, demo.timeout * VFAB_SECOND, &handle));
		must("mapping a window",
		     vfab_import(ep, handle, VFAB_ACCESS_WRITE,
				 VFAB_LOSS_ABSORB, &theirs[i]));
		*slot(&theirs[i], me) = stamp(me, i);
	}
}

static void check_stamps(void)
{
	uint32_t i;

	for (i = 0; i < demo.world; i++)
		if (i != me && *slot(&mine, i) != stamp(i, me))
			give_up("rank %u's bytes are not here: %#llx", i,
				(unsigned long long)*slot(&mine, i));
}

/* One all-reduce, each element checked; ranks[] is sum and number of ranks. */
static int verified(struct vfab_comm *comm, uint32_t skip, uint32_t round,
		    uint32_t count)
{
	uint32_t n = vfab_comm_size(comm), i;
	uint64_t ranks = (uint64_t)demo.world * (demo.world - 1) / 2 -
			 (n < demo.world ? skip : 0);
	int ret;

	for (i = 0; i < count; i++)
		in[i] = 3 * me + (7 * i + round) % 251;
	ret = vfab_allreduce(comm, in, out, count, VFAB_F32, VFAB_SUM);
	for (i = 0; i < count && !ret; i++)
		if (out[i] != 3 * ranks + n * ((7 * i + round) % 251))
			give_up("all-reduce %u: element %u is %g", round, i, out[i]);
	return ret;
}

/* Meet @phase's group, all but @skip if that is a rank, and compute. */
static struct vfab_comm *group(enum phase phase, uint32_t skip, uint32_t rounds)
{
	uint32_t ranks[VFAB_MAX_WORLD], n = 0, i;
	struct vfab_comm *comm;
	double t = now();

	for (i = 0; i < demo.world; i++)
		if (i != skip)
			ranks[n++] = i;
	must("meeting the group",
	     vfab_comm_create(ep, ranks, n, TAG + phase,
			      demo.timeout * VFAB_SECOND, &comm));
	sh->rank[me].meeting = now() - t;
	for (i = 0; i < rounds; i++)
		must("all-reduce", verified(comm, skip, i, ELEMENTS));
	return comm;
}

/* Rank 0 and 1 store into each other's windows, on a line behind the slots. */
static void ping_pong(void)
{
	volatile uint64_t *here = slot(&mine, demo.world);
	volatile uint64_t *there = slot(&theirs[!me], demo.world);
	double t, end = now() + demo.timeout;
	uint32_t i;

	for (i = 1; i <= PINGS; i++) {
		t = now();
		if (!me)
			__atomic_store_n(there, i, __ATOMIC_RELEASE);
		while (__atomic_load_n(here, __ATOMIC_ACQUIRE) != i)
			if (now() > end)
				give_up("message %u did not come", i);
		if (me)
			__atomic_store_n(there, i, __ATOMIC_RELEASE);
		else
			sh->latency[i - 1] = (now() - t) / 2;
	}
}

static void look_at_paths(void)
{
	uint32_t i, min = UINT32_MAX, max = 0;
	struct vfab_peer p;

	for (i = 0; i < demo.world; i++) {
		if (i == me || vfab_peer(ep, i, &p))
			continue;
		min = p.paths < min ? p.paths : min;
		max = p.paths > max ? p.paths : max;
	}
	sh->rank[me].min_paths = min;
	sh->rank[me].max_paths = max;
}

/* All-reduces until one fails. */
static void traffic(struct vfab_comm *comm)
{
	struct rank *r = &sh->rank[me];
	uint32_t round;
	int ret;

	for (round = 0;; round++) {
		ret = verified(comm, VFAB_RANK_ANY, round, TRAFFIC_ELEMENTS);
		if (ret)
			break;
		look_at_paths();
		r->rounds++;
	}
	r->when = now();
	r->err = ret;
	r->lost = vfab_comm_lost_rank(comm);
	snprintf(r->why, sizeof(r->why), "%s", vfab_strerror(ret));
	vfab_comm_destroy(comm);
}

/* The command that cut it off has returned: nothing of it is readable. */
static void check_cut(void)
{
	uint32_t i;

	for (i = 0; i < demo.world; i++)
		if (i != me && (me == demo.cut || i == demo.cut) &&
		    *slot(&theirs[i], i) != UINT64_MAX)
			give_up("after the cut, rank %u's memory still reads %#llx",
				i, (unsigned long long)*slot(&theirs[i], i));
}

static void enter(enum phase phase)
{
	uint32_t p;

	if (phase > ATTACH) {
		sh->rank[me].done = phase - 1;
		sh->arrivals++;
		futex_wake(&sh->arrivals);
	}
	while ((p = sh->phase) < phase)
		futex_wait(&sh->phase, p, 1000);
}

void process(uint32_t rank)
{
	struct vfab_comm *comm;

	me = rank;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	enter(ATTACH);
	must("attaching", vfab_open(&ep, demo.domain, me));
	must("a window", vfab_window_alloc(ep, (demo.world + 1) * LINE, TAG,
					   VFAB_ACCESS_WRITE, &mine));
	enter(MAP);
	map_all();
	enter(CHECK);
	check_stamps();
	enter(GROUP);
	comm = group(GROUP, VFAB_RANK_ANY, ROUNDS);
	enter(LATENCY);
	if (me < 2)
		ping_pong();
	enter(TRAFFIC);
	traffic(comm);
	enter(SURVIVE);
	check_cut();
	if (me != demo.cut)
		vfab_comm_destroy(group(SURVIVE, demo.cut, ROUNDS));
	enter(RESTORE);
	comm = group(RESTORE, VFAB_RANK_ANY, ROUNDS);
	look_at_paths();
	vfab_comm_destroy(comm);
	enter(PHASES);
	vfab_close(ep);
	_exit(0);
}
