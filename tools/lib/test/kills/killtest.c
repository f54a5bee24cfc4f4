// SPDX-License-Identifier: LGPL-2.1
/*
 * killtest: ranks of collectives are killed at random moments, again and again. By
 * example:
 *
 *	killtest				100 kills on a memfd
 *	killtest --kills 2500 --seed 7		more of them, by other algorithms
 *	killtest --sigbus			ranks read windows of peers meanwhile, the
 *						loss of which raises SIGBUS
 *	VFAB_DOMAIN=dom0 killtest		in a domain of 8 ranks, as root
 *
 * Each round is a group of 2 to 8 ranks, in any order, of which one or two are
 * killed while all make random calls; those who were killed are started anew for
 * the next round. Asked for is that
 *
 *	every result of a call that succeeds is right, before the kill, at it, after it;
 *	each other rank's call ends in time (VFAB_TEST_BOUND seconds, 5), with
 *	ECONNRESET and the name of a rank that was killed;
 *	vfab_comm_shrink() gives all who are left the same group, whose calls are
 *	right;
 *	SIGBUS comes only from windows of who was killed, or that were freed;
 *	rank 0, which lives through all rounds, has no more files, mappings or memory
 *	at the end, and there is no process left.
 *
 * Prints KTAP. What fails names its round: --first ROUND begins there.
 */
#include <dirent.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "vfab.h"

#define RANKS	8
#define KEEPER	0			/* is never killed */
#define ROOM	(128U << 10)
#define TAG	9000			/* of the first group; of windows */
#define LIMIT	60			/* seconds after which something hangs */
#define WARM	40			/* rounds until the keeper has what it needs */
#define OVER	UINT32_MAX

struct plan {
	uint32_t n, order[RANKS], victims[2], kills;
	uint32_t group, doomed;		/* ranks, one a bit */
	uint32_t delay, gap;		/* microseconds until the kills */
	bool early;			/* while they meet */
	bool apart;			/* the second, while they shrink */
	bool retaken;			/* the ranks, at once: the memory is gone then */
	uint32_t seed;
};

static struct shared {
	volatile uint32_t round, dead, freed;	/* ranks, one a bit */
	volatile double killed_at;
	struct {
		volatile uint32_t ready, there, shrinks, over, calls, told, buses, slow;
		volatile double worst;
	} rank[RANKS] __attribute__((aligned(128)));
	volatile int64_t files[2], maps[2], memory[2];	/* of the keeper */
	char why[400];
} *sh;

static const char *domain;
static bool sigbus;
static uint32_t seed = 1;
static double bound = 5;

struct me {
	struct vfab_ep *ep;
	uint32_t rank, round;
	struct vfab_mem win, wout, peek;
	uint32_t *in[2], *out[2];		/* private, window */
};

static struct me me;
static pthread_mutex_t peeking = PTHREAD_MUTEX_INITIALIZER;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static uint64_t noise(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 32;
}

/* The first that fails takes others along: what it said stays. */
__attribute__((noreturn, format(printf, 1, 2)))
static void fail(const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!*sh->why)
		snprintf(sh->why, sizeof(sh->why), "round %u, rank %u: %s", sh->round, me.rank,
			 text);
	_exit(1);
}

static void must(int ret, const char *what)
{
	if (ret)
		fail("%s: %s", what, vfab_strerror(ret));
}

/* --- What happens in a round ---------------------------------------------------------- */

static void make_plan(uint32_t round, struct plan *p)
{
	static const uint32_t delays[] = { 300, 3000, 3000, 20000 };
	static const uint32_t gaps[] = { 0, 300, 1000, 3000, 3000, 300000 };
	uint64_t x = (uint64_t)seed << 32 | round;
	uint32_t all[RANKS], i, k;

	memset(p, 0, sizeof(*p));
	p->seed = noise(x);
	p->n = 2 + noise(x ^ 1ULL << 40) % (RANKS - 1);
	for (i = 0; i < RANKS; i++)
		all[i] = i;
	/* The keeper, and others; shuffled */
	for (i = 1; i < RANKS; i++) {
		k = i + noise(x ^ 2ULL << 40 ^ (uint64_t)i << 50) % (RANKS - i);
		p->order[0] = all[i];
		all[i] = all[k];
		all[k] = p->order[0];
	}
	p->victims[0] = all[1];
	p->victims[1] = all[2];
	p->kills = p->n > 2 && noise(x ^ 3ULL << 40) % 3 == 0 ? 2 : 1;
	for (i = 0; i < p->n; i++) {
		k = noise(x ^ 4ULL << 40 ^ (uint64_t)i << 50) % (i + 1);
		p->order[i] = p->order[k];
		p->order[k] = all[i];
		p->group |= 1U << all[i];
	}
	for (i = 0; i < p->kills; i++)
		p->doomed |= 1U << p->victims[i];
	p->delay = noise(x ^ 5ULL << 40) % delays[noise(x ^ 6ULL << 40) % 4];
	i = gaps[noise(x ^ 7ULL << 40) % 6];
	p->gap = i ? noise(x ^ 8ULL << 40) % i : 0;
	p->early = noise(x ^ 9ULL << 40) % 16 == 0;
	p->apart = !p->early && noise(x ^ 11ULL << 40) % 2;
	/* Who loses all others, and finds them there again, may take itself for lost. */
	p->retaken = p->n > 3 && noise(x ^ 10ULL << 40) % 2;
}

/* --- Calls, checked ------------------------------------------------------------------- */

struct job {
	struct vfab_comm *c;
	uint32_t n, index, seed;
	size_t count;
	uint32_t *in, *out;
};

static uint32_t element(const struct job *j, uint32_t place, size_t i)
{
	return noise((uint64_t)j->seed << 24 ^ (uint64_t)vfab_comm_rank(j->c, place) << 20 ^ i);
}

static uint32_t sum(const struct job *j, size_t i)
{
	uint32_t place, x = 0;

	for (place = 0; place < j->n; place++)
		x += element(j, place, i);
	return x;
}

static void expect(const struct job *j, enum vfab_coll kind, size_t i, uint32_t want)
{
	if (j->out[i] != want)
		fail("call %d of %u ranks, %zu elements, is wrong at %zu: %#x, not %#x", kind,
		     j->n, j->count, i, j->out[i], want);
}

static void verify(const struct job *j, const struct vfab_call *v)
{
	size_t i, k, n = j->count;
	bool root = v->root == j->index;

	switch (v->kind) {
	case VFAB_ALLREDUCE:
	case VFAB_REDUCE:
		for (i = 0; i < n && (root || v->kind == VFAB_ALLREDUCE); i++)
			expect(j, v->kind, i, sum(j, i));
		break;
	case VFAB_REDUCE_SCATTER:
		for (i = 0; i < n; i++)
			expect(j, v->kind, i, sum(j, j->index * n + i));
		break;
	case VFAB_ALLGATHER:
	case VFAB_GATHER:
		for (k = 0; k < j->n && (root || v->kind == VFAB_ALLGATHER); k++)
			for (i = 0; i < n; i++)
				expect(j, v->kind, k * n + i, element(j, k, i));
		break;
	case VFAB_ALLTOALL:
	case VFAB_ALLTOALLV:
		for (k = 0; k < j->n; k++)
			for (i = 0; i < n; i++)
				expect(j, v->kind, k * n + i, element(j, k, j->index * n + i));
		break;
	case VFAB_BROADCAST:
		for (i = 0; i < n; i++)
			expect(j, v->kind, i, element(j, v->root, i));
		break;
	case VFAB_SCATTER:
		for (i = 0; i < n; i++)
			expect(j, v->kind, i, element(j, v->root, j->index * n + i));
		break;
	case VFAB_RECV:
		for (i = 0; i < n; i++)
			expect(j, v->kind, i, element(j, v->root, i));
		break;
	default:
		break;
	}
}

static void touch(void)
{
	uint64_t i;

	pthread_mutex_lock(&peeking);
	for (i = 0; me.peek.addr && i < me.peek.size; i += 4096)
		(void)*(volatile char *)(me.peek.addr + i);
	pthread_mutex_unlock(&peeking);
}

/* To its end by polling, or by waiting */
static int finish(struct vfab_req *req, bool poll)
{
	int done = !poll;
	uint32_t i;

	for (i = 0; !done && !vfab_test(req, &done); i++)
		if (i > 200)
			usleep(50);
	return vfab_finish(req);
}

/* To the next and from the one before, both at once */
static int pass_on(struct job *j, struct vfab_call *v)
{
	struct vfab_call send = *v;
	struct vfab_req *req[2];
	int ret, ret2;

	v->kind = VFAB_RECV;
	v->root = (j->index + j->n - 1) % j->n;
	send.kind = VFAB_SEND;
	send.root = (j->index + 1) % j->n;
	ret = vfab_start(j->c, &send, &req[0]);
	if (ret)
		return ret;
	ret2 = vfab_start(j->c, v, &req[1]);
	ret = vfab_finish(req[0]);
	if (!ret2)
		ret2 = vfab_finish(req[1]);
	return ret ? ret : ret2;
}

static int exchange(struct job *j)
{
	size_t counts[RANKS], at[RANKS];
	uint32_t i;

	for (i = 0; i < j->n; i++) {
		counts[i] = j->count;
		at[i] = i * j->count;
	}
	return vfab_alltoallv(j->c, j->in, counts, at, j->out, counts, at, VFAB_U32);
}

/* A call that is the same everywhere, of @x; the places of buffers are not. */
static int call(struct vfab_comm *c, uint64_t x)
{
	static const size_t counts[] = { 1, 5, 30, 700, 5000, 25000 };
	static const enum vfab_coll kinds[] = {
		VFAB_ALLREDUCE, VFAB_REDUCE_SCATTER, VFAB_ALLGATHER, VFAB_ALLTOALL,
		VFAB_BROADCAST, VFAB_REDUCE, VFAB_GATHER, VFAB_SCATTER, VFAB_ALLTOALLV,
		VFAB_BARRIER, VFAB_SEND, VFAB_ALLREDUCE,
	};
	struct job j = { .c = c, .n = vfab_comm_size(c), .index = vfab_comm_index(c),
			 .seed = noise(x) };
	uint64_t where = noise(x ^ 1ULL << 50) % 4 ? noise(x ^ 2ULL << 50) :
			 noise(x ^ me.rank ^ 2ULL << 50);
	struct vfab_call v = { .kind = kinds[noise(x ^ 3ULL << 50) % 12], .type = VFAB_U32 };
	struct vfab_req *req;
	size_t i;
	int ret;

	if (j.n == 1 && v.kind == VFAB_SEND)
		v.kind = VFAB_BARRIER;
	j.count = counts[noise(x ^ 4ULL << 50) % 6] / j.n + 1;
	j.in = me.in[where & 1];
	j.out = me.out[where >> 1 & 1];
	for (i = 0; i < j.count * j.n; i++)
		j.in[i] = element(&j, j.index, i);
	v.in = j.in;
	v.out = j.out;
	v.count = j.count;
	v.root = noise(x ^ 5ULL << 50) % j.n;
	if (v.kind == VFAB_SEND) {
		ret = pass_on(&j, &v);
	} else if (v.kind == VFAB_ALLTOALLV) {
		ret = exchange(&j);
	} else if (v.kind == VFAB_ALLREDUCE && where & 4) {
		ret = vfab_allreduce(c, j.in, j.out, j.count, VFAB_U32, VFAB_SUM);
	} else {
		ret = vfab_start(c, &v, &req);
		if (!ret)
			ret = finish(req, where & 8);
	}
	if (!ret) {
		verify(&j, &v);
		sh->rank[me.rank].calls++;
	}
	if (sigbus)
		touch();
	return ret;
}

/* --- A rank --------------------------------------------------------------------------- */

static void names_the_dead(struct vfab_comm *c, int ret, const char *what)
{
	uint32_t dead = sh->dead, who = vfab_comm_lost_rank(c);

	if (!dead)
		fail("%s, but nobody was killed: %s", what, vfab_strerror(ret));
	if (who >= RANKS || !(dead >> who & 1))
		fail("%s names rank %u, which lives: %s", what, who, vfab_strerror(ret));
}

/* The error is one of these kills', and in time */
static void lost(struct vfab_comm *c, int ret, const char *what)
{
	double t = now() - sh->killed_at;

	if (ret != -ECONNRESET)
		fail("%s: %s", what, vfab_strerror(ret));
	names_the_dead(c, ret, what);
	if (t > bound)
		fail("%s: told %.1f s after the kill", what, t);
	if (t > sh->rank[me.rank].worst)
		sh->rank[me.rank].worst = t;
	sh->rank[me.rank].slow += t > 1;
	sh->rank[me.rank].told++;
}

/* Groups of those who are left, until it is all of them */
static void go_on(struct vfab_comm *c, const struct plan *p)
{
	uint32_t i, round;
	struct vfab_comm *d;
	int ret;

	for (round = 0;; round++) {
		sh->rank[me.rank].shrinks = me.round;
		must(vfab_comm_shrink(c, LIMIT * VFAB_SECOND, &d), "shrink");
		vfab_comm_destroy(c);
		c = d;
		if (vfab_comm_size(c) < p->n - p->kills)
			fail("a group of %u is left of %u", vfab_comm_size(c), p->n);
		for (ret = 0, i = 0; !ret; i++) {
			if (vfab_comm_size(c) == p->n - p->kills && i == 3)
				break;
			ret = call(c, (uint64_t)p->seed << 16 ^ round << 8 ^ i << 12 ^ 0x80);
		}
		if (!ret)
			break;
		lost(c, ret, "a call after shrinking");
	}
	vfab_comm_destroy(c);
}

static void windows(bool on)
{
	if (on) {
		must(vfab_window_alloc(me.ep, ROOM, TAG, VFAB_ACCESS_READ, &me.win), "window");
		must(vfab_window_alloc(me.ep, ROOM, 0, VFAB_ACCESS_WRITE, &me.wout), "window");
		me.in[1] = me.win.addr;
		me.out[1] = me.wout.addr;
	} else {
		__atomic_fetch_or(&sh->freed, 1U << me.rank, __ATOMIC_SEQ_CST);
		must(vfab_window_free(me.ep, &me.win), "free");
		must(vfab_window_free(me.ep, &me.wout), "free");
	}
}

static void peek(const struct plan *p, bool on)
{
	struct vfab_mem mem = { 0 };
	uint64_t handle;
	uint32_t i;

	if (on) {
		for (i = 0; p->order[i] != me.rank; i++)
			;
		i = p->order[(i + 1 + p->seed % (p->n - 1)) % p->n];
		if (i == me.rank)
			i = p->order[p->order[0] == me.rank];
		must(vfab_lookup(me.ep, i, TAG, LIMIT * VFAB_SECOND, &handle), "lookup");
		must(vfab_import(me.ep, handle, VFAB_ACCESS_READ, VFAB_LOSS_SIGBUS, &mem),
		     "import");
	}
	pthread_mutex_lock(&peeking);
	if (!on)
		vfab_release(me.ep, &me.peek);
	me.peek = mem;
	pthread_mutex_unlock(&peeking);
}

static void play(const struct plan *p)
{
	struct vfab_comm *c;
	uint64_t i;
	int ret;

	if (sigbus && !p->early)
		peek(p, true);
	if (p->early)
		sh->rank[me.rank].there = me.round;
	ret = vfab_comm_create(me.ep, p->order, p->n, TAG + me.round,
			       (p->early ? 3 : LIMIT) * VFAB_SECOND, &c);
	if (ret && p->early) {
		/* Whoever came after the kill waits in vain, and tells the others. */
		if (ret != -ETIMEDOUT && ret != -ECONNRESET)
			fail("meeting: %s", vfab_strerror(ret));
		names_the_dead(NULL, ret, "meeting");
		return;
	}
	must(ret, "meeting");
	sh->rank[me.rank].there = me.round;
	vfab_comm_set_timeout(c, LIMIT * VFAB_SECOND);
	for (i = 0; !ret; i++)
		ret = call(c, (uint64_t)p->seed << 16 ^ i);
	lost(c, ret, "a call");
	/* Not all have met. */
	if (p->early)
		vfab_comm_destroy(c);
	else
		go_on(c, p);
	if (sigbus && !p->early)
		peek(p, false);
}

static int64_t entries(const char *dir)
{
	DIR *d = opendir(dir);
	int64_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void look_at_myself(int when)
{
	char line[400];
	FILE *f = fopen("/proc/self/maps", "r");
	int64_t kb;

	sh->files[when] = entries("/proc/self/fd");
	sh->maps[when] = 0;
	while (f && fgets(line, sizeof(line), f))
		sh->maps[when]++;
	if (f)
		fclose(f);
	f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld", &kb) == 1)
			sh->memory[when] = kb;
	if (f)
		fclose(f);
}

static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	char *page = (char *)((uintptr_t)info->si_addr & ~4095UL);

	(void)sig;
	(void)context;
	if (page < (char *)me.peek.addr || page >= (char *)me.peek.addr + me.peek.size)
		fail("SIGBUS at %p, which is not in the window that raises it", info->si_addr);
	if (!((sh->dead | sh->freed) >> me.peek.rank & 1))
		fail("SIGBUS in the window of rank %u, which lives", me.peek.rank);
	if (mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page)
		fail("no page in the place of a lost one");
	sh->rank[me.rank].buses += sh->dead >> me.peek.rank & 1;
}

static void *reader(void *arg)
{
	for (;;) {
		touch();
		usleep(2000);
	}
	return arg;
}

static void rank_main(uint32_t rank)
{
	struct sigaction act = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };
	double end = now() + LIMIT;
	uint32_t rounds = 0;
	struct plan p;
	pthread_t t;
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	me.rank = rank;
	me.round = sh->round;
	/* What a process held may be given back a moment after its end. */
	do
		ret = vfab_open(&me.ep, domain, rank);
	while (ret == -EBUSY && now() < end);
	must(ret, "open");
	me.in[0] = malloc(ROOM);
	me.out[0] = malloc(ROOM);
	if (!me.in[0] || !me.out[0])
		fail("out of memory");
	memset(me.in[0], 0, ROOM);
	memset(me.out[0], 0, ROOM);
	windows(true);
	if (sigbus && (sigaction(SIGBUS, &act, NULL) || pthread_create(&t, NULL, reader, NULL)))
		fail("no thread");
	sh->rank[rank].ready = 1;
	for (;;) {
		while (sh->round == me.round)
			usleep(300);
		me.round = sh->round;
		if (me.round == OVER)
			break;
		make_plan(me.round, &p);
		if (p.group >> rank & 1) {
			play(&p);
			if (noise(p.seed ^ rank) % 8 == 0) {
				windows(false);
				windows(true);
			}
			if (rank == KEEPER && ++rounds == WARM)
				look_at_myself(0);
		}
		sh->rank[rank].over = me.round;
	}
	if (rank == KEEPER)
		look_at_myself(1);
	windows(false);
	vfab_close(me.ep);
	_exit(0);
}

/* --- Who kills ------------------------------------------------------------------------ */

static pid_t pids[RANKS];

/* A rank that ended by itself has failed. */
static bool any_ended(void)
{
	int status;
	pid_t pid = waitpid(-1, &status, WNOHANG);

	if (pid <= 0)
		return false;
	if (!*sh->why)
		snprintf(sh->why, sizeof(sh->why), "round %u: process %d ended with %#x",
			 sh->round, pid, status);
	return true;
}

/* Until all of these ranks have come to @value */
static bool wait_for(uint32_t ranks, size_t field, uint32_t value, const char *what)
{
	double end = now() + LIMIT;
	uint32_t i;

	for (i = 0; i < RANKS; i++) {
		while (ranks >> i & 1 &&
		       *(volatile uint32_t *)((char *)&sh->rank[i] + field) != value) {
			usleep(200);
			if (any_ended())
				return false;
			if (now() < end || *sh->why)
				continue;
			snprintf(sh->why, sizeof(sh->why), "round %u: rank %u hangs: %s",
				 sh->round, i, what);
			return false;
		}
	}
	return true;
}

#define FIELD(name) ((size_t)((char *)&sh->rank[0].name - (char *)&sh->rank[0]))

static void start(uint32_t ranks)
{
	uint32_t i;

	for (i = 0; i < RANKS; i++) {
		if (!(ranks >> i & 1) || pids[i])
			continue;
		sh->rank[i].ready = 0;
		pids[i] = fork();
		if (!pids[i])
			rank_main(i);
	}
}

static void slay(uint32_t rank, bool first, bool retake)
{
	struct vfab_ep *ep;

	if (first)
		sh->killed_at = now();
	sh->dead |= 1U << rank;
	kill(pids[rank], SIGKILL);
	waitpid(pids[rank], NULL, 0);
	pids[rank] = 0;
	if (retake && !vfab_open(&ep, domain, rank))
		vfab_close(ep);
}

static bool play_round(uint32_t round, uint32_t *kills)
{
	struct plan p;
	uint32_t i;

	make_plan(round, &p);
	start(p.group);
	if (!wait_for(p.group, FIELD(ready), 1, "attaching"))
		return false;
	sh->dead = 0;
	sh->freed = 0;
	sh->round = round;
	if (!wait_for(p.group, FIELD(there), round, "meeting"))
		return false;
	for (i = 0; i < p.kills; i++) {
		if (i && p.apart && !wait_for(1U << KEEPER, FIELD(shrinks), round, "in a call"))
			return false;
		usleep(i ? p.gap : p.delay);
		slay(p.victims[i], !i, p.retaken);
	}
	*kills += p.kills;
	return wait_for(p.group & ~p.doomed, FIELD(over), round, "in a call, or in shrinking");
}

static bool end_all(void)
{
	uint32_t i;
	int status;
	bool ok = true;

	sh->round = OVER;
	for (i = 0; i < RANKS; i++)
		if (pids[i] && (waitpid(pids[i], &status, 0) != pids[i] || status))
			ok = false;
	if (waitpid(-1, &status, 0) >= 0 || errno != ECHILD)
		ok = false;
	if (!ok && !*sh->why)
		snprintf(sh->why, sizeof(sh->why), "at the end a process failed, or was left");
	return ok;
}

static bool grown(const char *what, volatile int64_t *v, int64_t slack)
{
	printf("# rank %u, after %u rounds and at the end: %s %lld, %lld\n", KEEPER, WARM, what,
	       (long long)v[0], (long long)v[1]);
	if (v[0] && v[1] > v[0] + slack && !*sh->why)
		snprintf(sh->why, sizeof(sh->why), "%s grew from %lld to %lld", what,
			 (long long)v[0], (long long)v[1]);
	return v[0] && v[1] > v[0] + slack;
}

/* Who reads a window when its exporter dies is told by a signal, on the module. */
static bool was_told(bool memfd)
{
	uint32_t i, buses = 0;

	for (i = 0; i < RANKS; i++)
		buses += sh->rank[i].buses;
	if (!sigbus || memfd || buses)
		return true;
	snprintf(sh->why, sizeof(sh->why), "no window of those killed has raised SIGBUS");
	return false;
}

static void report(uint32_t rounds, uint32_t kills, double took)
{
	uint32_t i, calls = 0, told = 0, buses = 0, slow = 0;
	double worst = 0;

	for (i = 0; i < RANKS; i++) {
		calls += sh->rank[i].calls;
		told += sh->rank[i].told;
		buses += sh->rank[i].buses;
		slow += sh->rank[i].slow;
		if (sh->rank[i].worst > worst)
			worst = sh->rank[i].worst;
	}
	printf("# %u kills in %u rounds, %.0f s: %u calls were right\n", kills, rounds, took,
	       calls);
	if (sigbus)
		printf("# pages of the dead that raised SIGBUS: %u\n", buses);
	printf("# told of a loss: %u, the last after %.2f s, after more than a second: %u\n", told,
	       worst, slow);
}

/* What a memfd holds once all have left */
static bool given_back(int fd)
{
	struct stat s;

	if (fd < 0 || (!fstat(fd, &s) && s.st_blocks < 8192))
		return true;
	snprintf(sh->why, sizeof(sh->why), "%lld KiB are left in the memfd",
		 (long long)s.st_blocks / 2);
	return false;
}

/* Other algorithms with each seed, and with every other one slots that are small */
static void set_algorithms(void)
{
	static const char *const tables[] = {
		"allreduce * * oneshot\nreduce * * oneshot\nbarrier * * tree\n",
		NULL,
		"allreduce * * window\nreduce * * window\nallgather * * window\n"
		"alltoall * * window\nbroadcast * * window\ngather * * window\n"
		"scatter * * window\nreduce_scatter * * window\n",
		"allreduce * * star\nreduce * * staged\nallgather * * staged\n"
		"alltoall * * staged\nreduce_scatter * * staged\n",
	};
	const char *table = tables[seed % 4];
	char path[40];
	int fd;

	if (seed / 4 % 2)
		setenv("VFAB_COMM_BYTES", "36864", 1);
	if (!table)
		return;
	fd = memfd_create("tuning", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, table, strlen(table)) != (ssize_t)strlen(table))
		exit(2);
	setenv("VFAB_TUNING", path, 1);
}

static uint32_t number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text && !*end && n && n < OVER)
		return n;
	fprintf(stderr, "killtest: '%s': give a number from 1 on\n", text);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "kills", 1, NULL, 'k' }, { "seed", 1, NULL, 's' }, { "first", 1, NULL, 'f' },
		{ "sigbus", 0, NULL, 'b' }, { 0 }
	};
	uint32_t want = 100, kills = 0, first = 1, round, i;
	char address[32];
	double began = now();
	bool ok = true;
	int fd = -1, opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (opt) {
		case 'k':
			want = number(optarg);
			break;
		case 's':
			seed = number(optarg);
			break;
		case 'f':
			first = number(optarg);
			break;
		case 'b':
			sigbus = true;
			break;
		default:
			return 2;
		}
	}
	if (getenv("VFAB_TEST_BOUND"))
		bound = atof(getenv("VFAB_TEST_BOUND"));
	set_algorithms();
	domain = getenv("VFAB_DOMAIN");
	if (!domain || !strcmp(domain, "memfd")) {
		fd = vfab_memfd_create(RANKS);
		snprintf(address, sizeof(address), "memfd:%d", fd);
		domain = address;
		setenv("VFAB_DOMAIN", domain, 1);
	}
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("KTAP version 1\n1..1");
	for (round = first; kills < want && ok; round++)
		ok = play_round(round, &kills);
	if (ok)
		ok = end_all();
	for (i = 0; i < RANKS && !ok; i++)
		if (pids[i])
			kill(pids[i], SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	report(round - first, kills, now() - began);
	/*
	 * What malloc() keeps differs from round to round. A doorbell of another
	 * is mapped when it is rung first, on the module with its page of counts.
	 */
	if (ok)
		ok = !(grown("files", sh->files, 0) |
		       grown("mappings", sh->maps, 4 + 2 * (RANKS - 1)) |
		       grown("KiB of its own", sh->memory, 512)) && given_back(fd) &&
		     was_told(fd >= 0);
	if (!ok)
		printf("# %s\n", sh->why);
	printf("%s 1 kills.%s%s # seed %u\n", ok ? "ok" : "not ok", fd < 0 ? "fabric" : "memfd",
	       sigbus ? "-sigbus" : "", seed);
	return !ok;
}
