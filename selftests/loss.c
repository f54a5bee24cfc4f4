// SPDX-License-Identifier: GPL-2.0
/*
 * loss: when a control call that takes reachability away has returned, nothing
 * gets through: no store reaches the owner's memory and no load returns what
 * the owner wrote later, in any process, forked child, moved or split mapping.
 *
 * Most tests let processes hammer a window without pause while the cause of the
 * loss is brought about, and judge each access by the phase that it fell into:
 *
 *	LIVE	the window is reachable: every access must succeed
 *	CHANGING	the control call is under way: either is right
 *	GONE	the call has returned: no access may reach the owner
 *
 * An access counts for a phase if that was the phase before and after it.
 *
 *	build/selftests/loss
 *	build/selftests/loss -v link -t nothing_gets_through
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

#define SIZE		(VFT_HUGE + 64 * 1024)
#define PLANES		3
#define HAMMERS		4
#define LOAD_AT		2048	/* in each page; the hammers store below it */
#define ONES		(~0ULL)

/* Where in the window the hammers look: in 2 MiB pages and in 4 KiB pages */
static const size_t places[] = {
	0, 1 << 20, VFT_HUGE - VFT_PAGE, VFT_HUGE, VFT_HUGE + 15 * VFT_PAGE,
};

enum phase { LIVE, CHANGING, GONE };

/* What the owner writes: never ones, so that it cannot look like absorption */
#define VALUE(epoch)	(0x5a00000000000000ULL | (epoch))

struct hammer {
	_Atomic uint64_t stores, loads, faults;
	_Atomic uint64_t late;		/* accesses that got through after the loss */
	_Atomic uint64_t early;		/* accesses that failed before it */
	_Atomic uint64_t foreign;	/* loads of what the owner wrote, while it was lost */
	_Atomic uint64_t wrong;		/* loads of something nobody wrote */
};

/* Shared by the test and its hammers */
struct board {
	_Atomic uint64_t epoch;		/* 4 * n + enum phase */
	_Atomic uint32_t stop;
	struct vft_gate gate;
	struct hammer h[HAMMERS];
	_Atomic uint64_t base_loss;	/* see view_tells_before_the_access_goes */
	_Atomic uint64_t bad;
	uint64_t handle;		/* where a child is the owner */
};

static enum phase phase_of(uint64_t epoch)
{
	return epoch & 3;
}

static void enter(struct board *b, enum phase phase)
{
	uint64_t e = atomic_load(&b->epoch);

	if (phase <= phase_of(e))
		e += 4;
	atomic_store(&b->epoch, (e & ~3ULL) | phase);
}

static void hammer_once(struct board *b, struct hammer *h, unsigned int idx, char *page,
			bool absorb)
{
	static uint64_t number;
	uint64_t before, after, v = 0;
	int sig;

	before = atomic_load(&b->epoch);
	sig = vft_store(page + 8 * idx, ++number);
	after = atomic_load(&b->epoch);
	if (before == after) {
		if (phase_of(before) == LIVE && sig)
			h->early++;
		if (phase_of(before) == GONE && !sig && !absorb)
			h->late++;
		if (phase_of(before) == GONE && sig && absorb)
			h->early++;
	}
	if (sig)
		h->faults++;
	else
		h->stores++;

	before = atomic_load(&b->epoch);
	sig = vft_load(page + LOAD_AT, &v);
	after = atomic_load(&b->epoch);
	if (!sig)
		h->loads++;
	else
		h->faults++;
	if (before != after)
		return;
	if (phase_of(before) == LIVE) {
		if (sig)
			h->early++;
		else if (v != VALUE(0))
			h->wrong++;
	} else if (phase_of(before) == GONE) {
		if (!sig && !absorb)
			h->late++;
		if (!sig && (v & VALUE(0)) == VALUE(0) && v != ONES)
			h->foreign++;
		if (!sig && absorb && v != ONES)
			h->wrong++;
		if (sig && absorb)
			h->early++;
	}
}

/*
 * With a file, the window is mapped anew all the time, so that there are always
 * faults under way, which a loss must wait for.
 */
static void hammer(struct board *b, unsigned int idx, char *p, int fd, uint64_t cookie,
		   bool absorb)
{
	unsigned int i = 0;

	while (!atomic_load(&b->stop)) {
		if (fd >= 0 && i % ARRAY_SIZE(places) == 0)
			mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, cookie);
		hammer_once(b, &b->h[idx], idx, p + places[i++ % ARRAY_SIZE(places)], absorb);
		/* two CPUs are shared by all: let the others in sometimes */
		if (i % 4096 == 0)
			vft_sleep_ms(1);
	}
	_exit(0);
}

struct scene {
	struct board *b;
	int owner, importer;
	char *own;			/* the owner's mapping */
	char *p;			/* the importer's */
	uint64_t handle, cookie;
	pid_t owner_pid;
	pid_t pid[HAMMERS];
};

FIXTURE(loss) {
	struct vft_domain dom;
};

/*
 * What can take the way from ranks 1 and 2 to rank 0, and how it comes back.
 */
struct cause {
	const char *name;
	int (*prepare)(struct vft_domain *dom);	/* must not lose anything yet */
	int (*lose)(struct vft_domain *dom, struct scene *s);
	int (*restore)(struct vft_domain *dom);	/* NULL: for good */
	bool owner_is_child;
	bool owner_ends;		/* its own mapping is gone as well */
	bool importer_ends;		/* so that nothing can be mapped any more */
	uint32_t reason;
};

FIXTURE_VARIANT(loss) {
	struct cause c;
};

static int lose_link(struct vft_domain *dom, struct scene *s)
{
	(void)s;
	return vft_link(dom, 0, -1, false);
}

static int restore_link(struct vft_domain *dom)
{
	return vft_link(dom, 0, -1, true);
}

FIXTURE_VARIANT_ADD(loss, link) {
	.c = { "link", NULL, lose_link, restore_link, .reason = VFAB_REASON_LINK },
};

/* The last of several: the ones before must change nothing for the traffic. */
static int first_links(struct vft_domain *dom)
{
	return vft_link(dom, 0, 0, false) ?: vft_link(dom, 0, 2, false);
}

static int last_link(struct vft_domain *dom, struct scene *s)
{
	(void)s;
	return vft_link(dom, 0, 1, false);
}

FIXTURE_VARIANT_ADD(loss, last_link) {
	.c = { "last link", first_links, last_link, restore_link, .reason = VFAB_REASON_LINK },
};

static int first_switches(struct vft_domain *dom)
{
	return vft_switch(dom, 2, false) ?: vft_switch(dom, 0, false);
}

static int last_switch(struct vft_domain *dom, struct scene *s)
{
	(void)s;
	return vft_switch(dom, 1, false);
}

static int restore_switch(struct vft_domain *dom)
{
	return vft_switch(dom, 1, true) ?: vft_switch(dom, 0, true) ?: vft_switch(dom, 2, true);
}

FIXTURE_VARIANT_ADD(loss, last_switch) {
	.c = { "last switch", first_switches, last_switch, restore_switch,
	       .reason = VFAB_REASON_LINK },
};

/* Planes that fail at different ends have no common live path left. */
static int crossed_links(struct vft_domain *dom)
{
	return vft_link(dom, 0, 0, false) ?: vft_link(dom, 1, 1, false) ?:
	       vft_link(dom, 2, 1, false);
}

static int last_switch_of_three(struct vft_domain *dom, struct scene *s)
{
	(void)s;
	return vft_switch(dom, 2, false);
}

static int restore_crossed(struct vft_domain *dom)
{
	return vft_switch(dom, 2, true) ?: vft_link(dom, 0, 0, true) ?:
	       vft_link(dom, 1, 1, true) ?: vft_link(dom, 2, 1, true);
}

FIXTURE_VARIANT_ADD(loss, crossed) {
	.c = { "crossed", crossed_links, last_switch_of_three, restore_crossed,
	       .reason = VFAB_REASON_LINK },
};

static int port_down(struct vft_domain *dom, struct scene *s)
{
	(void)s;
	return vft_port(dom, -1, 0, 0, false);
}

static int first_ports(struct vft_domain *dom)
{
	/* at the switch and at the endpoint */
	return vft_port(dom, -1, 1, 0, false) ?: vft_port(dom, 0, -1, 2, false);
}

static int restore_ports(struct vft_domain *dom)
{
	return vft_port(dom, -1, 0, 0, true) ?: vft_port(dom, -1, 1, 0, true) ?:
	       vft_port(dom, 0, -1, 2, true);
}

FIXTURE_VARIANT_ADD(loss, port) {
	.c = { "port", first_ports, port_down, restore_ports, .reason = VFAB_REASON_LINK },
};

static int drop_route(struct vft_domain *dom, struct scene *s)
{
	(void)s;
	return vft_route_drop(dom, -1, 0);
}

static int restore_route(struct vft_domain *dom)
{
	int ret = 0, sw;

	for (sw = 0; sw < PLANES; sw++)
		ret = ret ?: vft_route_via(dom, sw, 0, 0);
	return ret;
}

FIXTURE_VARIANT_ADD(loss, route) {
	.c = { "route", NULL, drop_route, restore_route, .reason = VFAB_REASON_ROUTE },
};

/* Answers would come, but somewhere else */
static int misroute(struct vft_domain *dom, struct scene *s)
{
	(void)s;
	return vft_route_via(dom, -1, 0, 3);
}

FIXTURE_VARIANT_ADD(loss, misroute) {
	.c = { "misroute", NULL, misroute, restore_route, .reason = VFAB_REASON_ROUTE },
};

static int first_routes(struct vft_domain *dom)
{
	return vft_route_drop(dom, 0, 0) ?: vft_route_via(dom, 1, 0, 3);
}

static int last_route(struct vft_domain *dom, struct scene *s)
{
	(void)s;
	return vft_route_drop(dom, 2, 0);
}

FIXTURE_VARIANT_ADD(loss, last_route) {
	.c = { "last route", first_routes, last_route, restore_route,
	       .reason = VFAB_REASON_ROUTE },
};

static int make_partition(struct vft_domain *dom)
{
	return vft_partition_create(dom, 1, NULL, 3, 1);
}

static int move_owner(struct vft_domain *dom, struct scene *s)
{
	(void)s;
	return vft_partition_add(dom, 1, 0, 1);
}

FIXTURE_VARIANT_ADD(loss, partition_of_owner) {
	.c = { "partition", make_partition, move_owner, NULL, .reason = VFAB_REASON_PARTITION },
};

static int move_importers(struct vft_domain *dom, struct scene *s)
{
	(void)s;
	return vft_partition_add(dom, 1, 1, 2);
}

FIXTURE_VARIANT_ADD(loss, partition_of_importers) {
	.c = { "partition", make_partition, move_importers, NULL,
	       .reason = VFAB_REASON_PARTITION },
};

static int into_none(struct vft_domain *dom, struct scene *s)
{
	(void)s;
	return vft_partition_del(dom, 0, 0, 1);
}

FIXTURE_VARIANT_ADD(loss, no_partition) {
	.c = { "no partition", NULL, into_none, NULL, .reason = VFAB_REASON_PARTITION },
};

static int free_window(struct vft_domain *dom, struct scene *s)
{
	(void)dom;
	return vft_free(s->owner, s->handle);
}

FIXTURE_VARIANT_ADD(loss, free) {
	.c = { "free", NULL, free_window, NULL, .owner_ends = true,
	       .reason = VFAB_REASON_FREE },
};

static int detach_owner(struct vft_domain *dom, struct scene *s)
{
	(void)dom;
	return vft_detach(s->owner);
}

FIXTURE_VARIANT_ADD(loss, detach) {
	.c = { "detach", NULL, detach_owner, NULL, .owner_ends = true,
	       .reason = VFAB_REASON_EXIT },
};

static int evict_owner(struct vft_domain *dom, struct scene *s)
{
	(void)s;
	return vft_evict(dom, 0);
}

FIXTURE_VARIANT_ADD(loss, evict) {
	.c = { "evict", NULL, evict_owner, NULL, .owner_ends = true,
	       .reason = VFAB_REASON_EXIT },
};

/* The owner's process dies; when it has been reaped, the loss is complete. */
static int kill_owner(struct vft_domain *dom, struct scene *s)
{
	(void)dom;
	return vft_kill(s->owner_pid) == SIGKILL ? 0 : -ESRCH;
}

FIXTURE_VARIANT_ADD(loss, kill) {
	.c = { "kill", NULL, kill_owner, NULL, .owner_is_child = true, .owner_ends = true,
	       .reason = VFAB_REASON_EXIT },
};

static int delete_domain(struct vft_domain *dom, struct scene *s)
{
	(void)s;
	return vft_domain_delete(dom, true);
}

FIXTURE_VARIANT_ADD(loss, delete) {
	.c = { "delete", NULL, delete_domain, NULL, .owner_ends = true, .importer_ends = true,
	       .reason = VFAB_REASON_DELETE },
};

FIXTURE_SETUP(loss)
{
}

FIXTURE_TEARDOWN_PARENT(loss)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

static int scene_owner(struct scene *s, struct vft_domain *dom)
{
	size_t i;

	s->owner = vft_join(dom, 0);
	if (s->owner < 0 || vft_alloc(s->owner, SIZE, 1, VFT_RW, &s->handle))
		return -1;
	s->own = vft_import_map(s->owner, s->handle, SIZE, VFT_RW, 0);
	if (!s->own)
		return -1;
	for (i = 0; i < ARRAY_SIZE(places); i++)
		*(uint64_t *)(s->own + places[i] + LOAD_AT) = VALUE(0);
	return 0;
}

/*
 * Four mappings of rank 0's window: inherited by a child, which maps it again
 * and again; moved by a child to another place and alignment; split by a child
 * into pieces with a hole; and of another endpoint in another process, again and
 * again as well.
 */
static int scene_make(struct scene *s, struct vft_domain *dom, const struct cause *c, bool absorb)
{
	struct vft_options opt = { .planes = PLANES };
	uint32_t loss = absorb ? VFAB_LOSS_ABSORB : VFAB_LOSS_SIGBUS;
	unsigned int i;

	memset(s, 0, sizeof(*s));
	if (vft_domain_create(dom, 4, &opt))
		return -1;
	s->b = vft_shared(sizeof(*s->b));
	if (c && c->owner_is_child) {
		s->owner_pid = vft_fork();
		if (!s->owner_pid) {
			if (scene_owner(s, dom))
				_exit(1);
			s->b->handle = s->handle;
			vft_gate(&s->b->gate, 2);
			pause();
		}
		if (vft_gate(&s->b->gate, 2))
			return -1;
		s->handle = s->b->handle;
	} else if (scene_owner(s, dom)) {
		return -1;
	}
	s->importer = vft_join(dom, 1);
	if (s->importer < 0 || vft_import(s->importer, s->handle, VFT_RW, loss, &s->cookie))
		return -1;
	s->p = vft_map(s->importer, s->cookie, SIZE, PROT_READ | PROT_WRITE);
	if (!s->p)
		return -1;
	/* page tables to be copied by fork() */
	for (i = 0; i < ARRAY_SIZE(places); i++)
		vft_touch(s->p + places[i]);
	for (i = 0; i < HAMMERS; i++) {
		uint64_t cookie = s->cookie;
		char *p = s->p, *to;
		int fd = -1;

		s->pid[i] = vft_fork();
		if (s->pid[i])
			continue;
		if (i == 0) {
			fd = s->importer;
		} else if (i == 1) {
			to = mmap(NULL, 2 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			p = mremap(p, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to + VFT_PAGE);
		} else if (i == 2) {
			munmap(p + 100 * VFT_PAGE, 3 * VFT_PAGE);
			mprotect(p + 200 * VFT_PAGE, VFT_PAGE, PROT_READ);
			mprotect(p + VFT_HUGE - 2 * VFT_PAGE, VFT_PAGE, PROT_NONE);
		} else if (i == 3) {
			fd = vft_join(dom, 2);
			if (vft_import(fd, s->handle, VFT_RW, loss, &cookie))
				_exit(1);
			p = vft_map(fd, cookie, SIZE, PROT_READ | PROT_WRITE);
			/* the importer's file is not this process's business */
			close(s->importer);
		}
		if (!p || p == MAP_FAILED)
			_exit(1);
		vft_gate(&s->b->gate, HAMMERS + 1);
		/* A refused mmap() may leave a hole, which absorbs nothing */
		if (absorb && c && c->importer_ends)
			fd = -1;
		hammer(s->b, i, p, fd, cookie, absorb);
	}
	return vft_gate(&s->b->gate, HAMMERS + 1);
}

static void scene_end(struct scene *s)
{
	unsigned int i;

	atomic_store(&s->b->stop, 1);
	for (i = 0; i < HAMMERS; i++)
		vft_kill(s->pid[i]);
	munmap(s->p, SIZE);
	close(s->importer);
	if (s->own)
		munmap(s->own, SIZE);
	close(s->owner);
	munmap(s->b, sizeof(*s->b));
}

static bool hammers_went_on(struct board *b, uint64_t *seen, bool want_faults)
{
	unsigned int i;

	for (i = 0; i < HAMMERS; i++) {
		struct hammer *h = &b->h[i];

		if ((want_faults ? h->faults : h->stores + h->loads) <= seen[i] + 10)
			return false;
	}
	return true;
}

static void hammers_seen(struct board *b, uint64_t *seen, bool want_faults)
{
	unsigned int i;

	for (i = 0; i < HAMMERS; i++)
		seen[i] = want_faults ? b->h[i].faults : b->h[i].stores + b->h[i].loads;
}

/* Each hammer makes some accesses in this phase; on a debug kernel they may starve. */
static bool hammers_run(struct board *b, bool want_faults)
{
	uint64_t seen[HAMMERS];

	hammers_seen(b, seen, want_faults);
	return vft_until(30000, hammers_went_on(b, seen, want_faults));
}

static void copy_words(uint64_t *to, const char *own)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		memcpy(to + i * 16, own + places[i], 16 * sizeof(*to));
}

TEST_F_TIMEOUT(loss, nothing_gets_through, 300)
{
	const struct cause *c = &variant->c;
	unsigned int rounds = c->restore ? 8 : 1, scenes = c->restore ? 1 : 2, round, i, k;
	uint64_t was[ARRAY_SIZE(places) * 16], is[ARRAY_SIZE(places) * 16];
	unsigned int seed = 7;
	struct scene s;

	for (k = 0; k < 2 * scenes; k++) {
		bool absorb = k & 1;

		ASSERT_EQ(0, scene_make(&s, &self->dom, c, absorb));
		for (round = 0; round < rounds; round++) {
			ASSERT_EQ(true, hammers_run(s.b, false));
			if (c->prepare)
				ASSERT_EQ(0, c->prepare(&self->dom));
			ASSERT_EQ(true, hammers_run(s.b, false));
			vft_sleep_ms(vft_random(&seed) % 4);

			enter(s.b, CHANGING);
			ASSERT_EQ(0, c->lose(&self->dom, &s));
			enter(s.b, GONE);
			if (!c->owner_ends) {
				copy_words(was, s.own);
				for (i = 0; i < ARRAY_SIZE(places); i++)
					*(uint64_t *)(s.own + places[i] + LOAD_AT) =
						VALUE(s.b->epoch);
			}
			EXPECT_EQ(true, hammers_run(s.b, !absorb));
			if (!c->owner_ends) {
				copy_words(is, s.own);
				EXPECT_EQ(0, memcmp(was, is, sizeof(is))) {
					TH_LOG("%s: a store reached the owner", c->name);
				}
				for (i = 0; i < ARRAY_SIZE(places); i++)
					*(uint64_t *)(s.own + places[i] + LOAD_AT) = VALUE(0);
			} else if (!c->owner_is_child) {
				EXPECT_EQ(SIGBUS, vft_touch(s.own));
			}
			EXPECT_EQ(absorb ? 0 : SIGBUS, vft_touch(s.p));
			if (!c->restore)
				break;
			enter(s.b, CHANGING);
			ASSERT_EQ(0, c->restore(&self->dom));
			enter(s.b, LIVE);
		}
		for (i = 0; i < HAMMERS; i++) {
			struct hammer *h = &s.b->h[i];

			EXPECT_EQ(0, h->late);
			EXPECT_EQ(0, h->foreign);
			EXPECT_EQ(0, h->early);
			EXPECT_EQ(0, h->wrong) {
				TH_LOG("%s: hammer %u: %llu stores, %llu loads, %llu faults",
				       c->name, i, (unsigned long long)h->stores,
				       (unsigned long long)h->loads, (unsigned long long)h->faults);
			}
		}
		scene_end(&s);
		if (self->dom.exists)
			EXPECT_EQ(0, vft_domain_end(&self->dom));
	}
}

/*
 * What the importer is told, in this order: the view before the access goes,
 * the event after it; and why.
 */
static int next_event(int fd, struct vfab_event *ev, uint32_t rank)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	for (;;) {
		if (poll(&pfd, 1, 2000) != 1 || !(pfd.revents & POLLIN))
			return -ETIMEDOUT;
		if (read(fd, ev, sizeof(*ev)) != sizeof(*ev))
			return -EIO;
		/* of the other ranks, and the news from before */
		if (ev->rank == rank && ev->type != VFAB_EVENT_PEER_GAINED)
			return 0;
	}
}

TEST_F(loss, told_by_view_and_event)
{
	const struct cause *c = &variant->c;
	const struct vfab_view *view;
	struct vfab_peer before, after;
	uint64_t generation, loss;
	struct vfab_event ev;
	struct scene s;
	bool lost_peer = c->reason != VFAB_REASON_FREE;

	ASSERT_EQ(0, scene_make(&s, &self->dom, c, false));
	view = vft_view(s.importer);
	ASSERT_NE(NULL, view);
	if (c->prepare)
		ASSERT_EQ(0, c->prepare(&self->dom));
	vft_peer(view, 0, &before);
	EXPECT_EQ(VFAB_PEER_HELD, before.state);
	EXPECT_LT(0, before.paths);
	generation = view->generation;
	loss = view->loss;
	ASSERT_EQ(0, c->lose(&self->dom, &s));
	vft_peer(view, 0, &after);
	if (c->reason == VFAB_REASON_DELETE) {
		EXPECT_NE(0, view->ended);
		EXPECT_EQ(VFAB_PARTITION_NONE, view->partition);
		scene_end(&s);
		return;
	}
	EXPECT_EQ(0, view->ended);
	if (lost_peer) {
		EXPECT_NE(VFAB_PEER_HELD, after.state);
		EXPECT_EQ(c->reason == VFAB_REASON_EXIT ? VFAB_PEER_VACANT : VFAB_PEER_UNREACHABLE,
			  after.state);
		EXPECT_NE(before.generation, after.generation);
		EXPECT_EQ(0, after.generation & 1);
		EXPECT_EQ(before.losses + 1, after.losses);
		EXPECT_NE(generation, view->generation);
		EXPECT_LT(loss, view->loss);
		if (after.state == VFAB_PEER_UNREACHABLE) {
			EXPECT_EQ(0, after.paths);
			EXPECT_EQ(0, after.rate);
		}
	} else {
		EXPECT_EQ(VFAB_PEER_HELD, after.state);
		EXPECT_EQ(before.losses, after.losses);
		EXPECT_EQ(before.revoked + 1, after.revoked);
		EXPECT_EQ(before.paths, after.paths);
		/* a loss of the partition: who waits looks again */
		EXPECT_NE(generation, view->generation);
		EXPECT_NE(loss, view->loss);
	}
	/* its own move comes with an event of its own */
	ASSERT_EQ(0, next_event(s.importer, &ev, 0));
	EXPECT_EQ(lost_peer ? VFAB_EVENT_PEER_LOST : VFAB_EVENT_WINDOW_REVOKED, ev.type);
	EXPECT_EQ(c->reason, ev.reason);
	EXPECT_EQ(0, ev.pad);
	EXPECT_EQ(lost_peer ? 0 : s.handle, ev.handle);
	EXPECT_EQ(view->loss, ev.loss);
	if (c->restore) {
		ASSERT_EQ(0, c->restore(&self->dom));
		vft_peer(view, 0, &before);
		EXPECT_EQ(VFAB_PEER_HELD, before.state);
		EXPECT_EQ(PLANES, before.paths);
		EXPECT_EQ(after.losses, before.losses);
		/* it came back: read on until its event */
		do {
			struct pollfd pfd = { .fd = s.importer, .events = POLLIN };

			ASSERT_EQ(1, poll(&pfd, 1, 2000));
			ASSERT_EQ(sizeof(ev), read(s.importer, &ev, sizeof(ev)));
		} while (ev.rank != 0);
		EXPECT_EQ(VFAB_EVENT_PEER_GAINED, ev.type);
		EXPECT_EQ(c->reason, ev.reason);
		EXPECT_EQ(0, vft_touch(s.p));
	}
	scene_end(&s);
}

/* --- single facts --------------------------------------------------------- */

FIXTURE(pair) {
	struct vft_domain dom;
	int owner, peer, third;
	uint64_t handle;
	char *own;
};

/* What FIXTURE_DATA(pair) is: the helpers below take it */
#define pair_data _test_data_pair

FIXTURE_SETUP(pair)
{
	struct vft_options opt = { .planes = PLANES };

	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, &opt));
	self->owner = vft_join(&self->dom, 0);
	self->peer = vft_join(&self->dom, 1);
	self->third = vft_join(&self->dom, 2);
	ASSERT_LE(0, self->owner);
	ASSERT_LE(0, self->peer);
	ASSERT_LE(0, self->third);
	ASSERT_EQ(0, vft_alloc(self->owner, SIZE, 1, VFT_RW, &self->handle));
	self->own = vft_import_map(self->owner, self->handle, SIZE, VFT_RW, 0);
	ASSERT_NE(NULL, self->own);
}

FIXTURE_TEARDOWN_PARENT(pair)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

/* A loss concerns the pair that lost its route, and no other. */
TEST_F(pair, others_are_not_disturbed)
{
	char *a = vft_import_map(self->peer, self->handle, SIZE, VFT_RW, 0);
	char *b = vft_import_map(self->third, self->handle, SIZE, VFT_RW, 0);

	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	EXPECT_EQ(0, vft_store(a, 1));
	EXPECT_EQ(0, vft_store(b + 8, 2));
	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, false));
	EXPECT_EQ(SIGBUS, vft_touch(a));
	EXPECT_EQ(0, vft_store(b + 16, 3));
	EXPECT_EQ(3, *(uint64_t *)(self->own + 16));
	EXPECT_EQ(0, vft_store(self->own, 4));
	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, true));
	EXPECT_EQ(0, vft_touch(a));
}

TEST_F(pair, absorb_reads_ones_and_keeps_stores_private)
{
	uint64_t *a = (uint64_t *)vft_import_map(self->peer, self->handle, SIZE, VFT_RW,
						 VFAB_LOSS_ABSORB);
	uint64_t *a2 = (uint64_t *)vft_import_map(self->peer, self->handle, SIZE, VFT_RW,
						  VFAB_LOSS_ABSORB);
	uint64_t *b = (uint64_t *)vft_import_map(self->third, self->handle, SIZE, VFT_RW,
						 VFAB_LOSS_ABSORB);
	uint64_t *own = (uint64_t *)self->own;
	size_t i, step = VFT_PAGE / 8;

	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, a2);
	ASSERT_NE(NULL, b);
	own[0] = 1;
	own[600] = 2;
	a[1] = 3;
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	for (i = 0; i < SIZE / 8; i += step) {
		EXPECT_EQ(ONES, a[i]);
		EXPECT_EQ(ONES, a[i + step - 1]);
	}
	EXPECT_EQ(ONES, a2[0]);
	EXPECT_EQ(ONES, b[0]);
	/* stores reach neither the owner, nor another import, nor another rank */
	a[0] = 77;
	a[600] = 78;
	EXPECT_EQ(1, own[0]);
	EXPECT_EQ(2, own[600]);
	EXPECT_EQ(ONES, a2[0]);
	EXPECT_EQ(ONES, b[0]);
	EXPECT_EQ(ONES, b[600]);
	own[0] = 5;
	EXPECT_NE(5, a[0]);
	/* the route returns: real bytes, and nothing of what was absorbed */
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	EXPECT_EQ(5, a[0]);
	EXPECT_EQ(3, a[1]);
	EXPECT_EQ(2, a[600]);
	EXPECT_EQ(5, a2[0]);
	EXPECT_EQ(5, b[0]);
	a[0] = 6;
	EXPECT_EQ(6, own[0]);
	/* lost again: nothing of the first time is specified but its privacy */
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	EXPECT_NE(6, a[0]);
	EXPECT_NE(5, a[0]);
	EXPECT_EQ(ONES, b[0]);
}

/* Also where only reading was asked for */
TEST_F(pair, absorb_of_a_read_only_import)
{
	uint64_t cookie;
	uint64_t *a;

	ASSERT_EQ(0, vft_import(self->peer, self->handle, VFT_R, VFAB_LOSS_ABSORB, &cookie));
	a = vft_map(self->peer, cookie, SIZE, PROT_READ);
	ASSERT_NE(NULL, a);
	EXPECT_EQ(0, a[0]);
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	EXPECT_EQ(ONES, a[0]);
	EXPECT_EQ(ONES, a[(SIZE - 8) / 8]);
	EXPECT_EQ(SIGSEGV, vft_store(a, 1));
	EXPECT_EQ(-1, mprotect(a, SIZE, PROT_READ | PROT_WRITE));
}

TEST_F(pair, own_end_is_what_the_import_asked_for)
{
	char *a = vft_import_map(self->peer, self->handle, SIZE, VFT_RW, VFAB_LOSS_ABSORB);
	char *b = vft_import_map(self->third, self->handle, SIZE, VFT_RW, VFAB_LOSS_ABSORB);
	char *c = vft_import_map(self->third, self->handle, SIZE, VFT_RW, 0);
	volatile uint64_t *own = (uint64_t *)self->own;

	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, own);
	own[0] = 7;
	EXPECT_EQ(7, *(uint64_t *)a);
	ASSERT_EQ(0, vft_detach(self->peer));
	EXPECT_EQ(ONES, *(uint64_t *)a);
	EXPECT_EQ(0, vft_store(a, 1));
	EXPECT_EQ(0, vft_store(a + VFT_HUGE, 1));
	EXPECT_EQ(7, own[0]);
	/* absorbing already, then ended */
	ASSERT_EQ(0, vft_link(&self->dom, 2, -1, false));
	EXPECT_EQ(ONES, *(uint64_t *)b);
	ASSERT_EQ(0, vft_evict(&self->dom, 2));
	EXPECT_EQ(ONES, *(uint64_t *)b);
	EXPECT_EQ(0, vft_store(b, 1));
	EXPECT_EQ(SIGBUS, vft_touch(c));
	EXPECT_EQ(7, own[0]);
	/* its route is back, its place is not */
	ASSERT_EQ(0, vft_link(&self->dom, 2, -1, true));
	EXPECT_EQ(0, vft_store(b, 9));
	EXPECT_EQ(SIGBUS, vft_touch(c));
	EXPECT_EQ(7, own[0]);
}

/* What never comes back, whatever happens to the route */
TEST_F(pair, a_move_is_for_good)
{
	char *a = vft_import_map(self->peer, self->handle, SIZE, VFT_RW, 0);
	char *b = vft_import_map(self->peer, self->handle, SIZE, VFT_RW, VFAB_LOSS_ABSORB);
	uint64_t *c;

	ASSERT_EQ(0, vft_store(a, 5));
	EXPECT_EQ(0, vft_touch(b));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, NULL, 1, 1));
	EXPECT_EQ(SIGBUS, vft_touch(a));
	EXPECT_EQ(ONES, *(uint64_t *)b);
	ASSERT_EQ(0, vft_partition_add(&self->dom, 0, 1, 1));
	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, false));
	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, true));
	EXPECT_EQ(SIGBUS, vft_touch(a));
	EXPECT_EQ(ONES, *(uint64_t *)b);
	/* a new import is a new right */
	c = (uint64_t *)vft_import_map(self->peer, self->handle, SIZE, VFT_RW, 0);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(5, c[0]);
}

TEST_F(pair, a_freed_window_is_for_good)
{
	char *a = vft_import_map(self->peer, self->handle, SIZE, VFT_RW, 0);
	uint64_t handle;

	ASSERT_EQ(0, vft_store(a, 5));
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	/* freed while it is lost anyway */
	ASSERT_EQ(0, vft_free(self->owner, self->handle));
	ASSERT_EQ(0, vft_alloc(self->owner, SIZE, 1, VFT_RW, &handle));
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	EXPECT_EQ(SIGBUS, vft_touch(a));
	EXPECT_EQ(-ENOENT, vft_import(self->peer, self->handle, VFT_R, 0, NULL));
}

TEST_F(pair, an_ended_owner_is_for_good)
{
	char *a = vft_import_map(self->peer, self->handle, SIZE, VFT_RW, 0);
	uint64_t handle;
	int fd;

	ASSERT_EQ(0, vft_store(a, 5));
	ASSERT_EQ(0, vft_detach(self->owner));
	fd = vft_join(&self->dom, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vft_alloc(fd, SIZE, 1, VFT_RW, &handle));
	EXPECT_EQ(SIGBUS, vft_touch(a));
	EXPECT_EQ(-ENOENT, vft_import(self->peer, self->handle, VFT_R, 0, NULL));
}

/* A mapping that is made while the route is lost is lost as well. */
TEST_F(pair, mapped_while_lost)
{
	uint64_t cookie, absorbing;
	char *a, *b;

	ASSERT_EQ(0, vft_import(self->peer, self->handle, VFT_RW, 0, &cookie));
	ASSERT_EQ(0, vft_import(self->peer, self->handle, VFT_RW, VFAB_LOSS_ABSORB, &absorbing));
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	a = vft_map(self->peer, cookie, SIZE, PROT_READ | PROT_WRITE);
	b = vft_map(self->peer, absorbing, SIZE, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	EXPECT_EQ(SIGBUS, vft_touch(a));
	EXPECT_EQ(ONES, *(uint64_t *)b);
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	self->own[0] = 9;
	EXPECT_EQ(9, a[0]);
	EXPECT_EQ(9, b[0]);
}

/* The kernel's own accesses end as well, with EFAULT. */
TEST_F(pair, system_calls_on_lost_memory)
{
	char *a = vft_import_map(self->peer, self->handle, SIZE, VFT_RW, 0);
	int pipes[2];

	ASSERT_NE(NULL, a);
	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(64, write(pipes[1], a, 64));
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	EXPECT_EQ(-1, write(pipes[1], a, 64));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, read(pipes[0], a, 64));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0, self->own[0]);
}

TEST_F(pair, doorbell_pages_are_lost_too)
{
	struct vft_bells bells, own;

	ASSERT_EQ(0, vft_bells(&bells, self->peer, 0));
	ASSERT_EQ(0, vft_bells(&own, self->owner, 0));
	EXPECT_EQ(0, vft_ding(&bells, 3));
	EXPECT_EQ(1, *vft_count(&own, 3));
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	EXPECT_EQ(SIGBUS, vft_store(vft_count(&bells, 3), 5));
	EXPECT_EQ(SIGBUS, vft_touch(bells.armed));
	EXPECT_EQ(1, *vft_count(&own, 3));
	EXPECT_EQ(-EHOSTUNREACH, vft_ring(self->peer, 0, 3));
	EXPECT_EQ(0, vft_touch(own.counts));
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	EXPECT_EQ(0, vft_ding(&bells, 3));
	EXPECT_EQ(2, *vft_count(&own, 3));
	ASSERT_EQ(0, vft_detach(self->owner));
	EXPECT_EQ(SIGBUS, vft_touch(bells.counts));
	EXPECT_EQ(SIGBUS, vft_touch(bells.armed));
}

/* --- the order of things --------------------------------------------------- */

/* Whoever gets SIGBUS finds the loss in the view. */
TEST_F(pair, view_tells_before_the_access_goes)
{
	struct board *b = vft_shared(sizeof(*b));
	const struct vfab_view *view = vft_view(self->peer);
	char *a = vft_import_map(self->peer, self->handle, SIZE, VFT_RW, 0);
	unsigned int round;
	pid_t pid;

	ASSERT_NE(NULL, view);
	ASSERT_NE(NULL, a);
	atomic_store(&b->base_loss, view->loss);
	pid = vft_fork();
	if (!pid) {
		unsigned int i = 0;

		for (;;) {
			uint64_t e = atomic_load(&b->epoch), base = atomic_load(&b->base_loss);
			struct vfab_peer peer;
			uint64_t loss;

			i++;
			if (!vft_store(a + places[i % ARRAY_SIZE(places)], i))
				continue;
			loss = __atomic_load_n(&view->loss, __ATOMIC_ACQUIRE);
			vft_peer(view, 0, &peer);
			if (e == atomic_load(&b->epoch) && phase_of(e) == LIVE &&
			    (loss == base || peer.state == VFAB_PEER_HELD))
				b->bad++;
			b->h[0].faults++;
		}
	}
	for (round = 0; round < 60; round++) {
		uint64_t faults;

		vft_sleep_ms(2);
		/* LIVE lasts until after the loss here: the child must see it first */
		faults = b->h[0].faults;
		ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
		EXPECT_EQ(true, vft_until(2000, b->h[0].faults > faults));
		enter(b, CHANGING);
		ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
		atomic_store(&b->base_loss, view->loss);
		enter(b, LIVE);
	}
	EXPECT_EQ(0, b->bad);
	vft_kill(pid);
}

/* Whoever reads the event, of either kind, finds the access gone. */
static void event_order(struct __test_metadata *_metadata, struct pair_data *self, bool netlink)
{
	struct board *b = vft_shared(sizeof(*b));
	char *a = vft_import_map(self->peer, self->handle, SIZE, VFT_RW, 0);
	unsigned int round;
	pid_t hammer_pid, event_pid;

	ASSERT_NE(NULL, a);
	hammer_pid = vft_fork();
	if (!hammer_pid)
		hammer(b, 0, a, -1, 0, false);
	event_pid = vft_fork();
	if (!event_pid) {
		static char buf[16384] __attribute__((aligned(8)));
		struct vfab_event ev;
		struct vft_msg msg;

		if (netlink && vft_nl_listen(vft_nl()))
			_exit(1);
		vft_gate(&b->gate, 2);
		for (;;) {
			bool lost;

			if (netlink)
				lost = !vft_event(vft_nl(), 20000, &msg, buf, sizeof(buf)) &&
				       vft_u32(&msg, VFAB_A_ROUTES_LOST) > 0;
			else
				lost = read(self->peer, &ev, sizeof(ev)) == sizeof(ev) &&
				       ev.type == VFAB_EVENT_PEER_LOST;
			if (lost && phase_of(b->epoch) == CHANGING)
				enter(b, GONE);
		}
	}
	ASSERT_EQ(0, vft_gate(&b->gate, 2));
	for (round = 0; round < 40; round++) {
		uint64_t *word = (uint64_t *)(self->own + LOAD_AT);
		size_t i;

		for (i = 0; i < ARRAY_SIZE(places); i++)
			*(uint64_t *)(self->own + places[i] + LOAD_AT) = VALUE(0);
		enter(b, LIVE);
		vft_sleep_ms(2);
		enter(b, CHANGING);
		ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
		ASSERT_EQ(true, vft_until(2000, phase_of(b->epoch) == GONE)) {
			TH_LOG("no event of the loss");
		}
		*word = VALUE(1);
		vft_sleep_ms(2);
		enter(b, CHANGING);
		ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	}
	EXPECT_EQ(0, b->h[0].late);
	EXPECT_EQ(0, b->h[0].foreign);
	EXPECT_LT(0, b->h[0].faults);
	EXPECT_LT(0, b->h[0].stores);
	vft_kill(hammer_pid);
	vft_kill(event_pid);
}

TEST_F(pair, event_comes_after_the_access_is_gone)
{
	event_order(_metadata, self, false);
}

TEST_F(pair, notification_comes_after_the_access_is_gone)
{
	event_order(_metadata, self, true);
}

/* --- races ------------------------------------------------------------------ */

/* Children that are being born while the route goes: none keeps a page. */
TEST_F_TIMEOUT(pair, fork_storm, 60)
{
	struct board *b = vft_shared(sizeof(*b));
	char *a = vft_import_map(self->peer, self->handle, SIZE, VFT_RW, 0);
	unsigned int i, round;
	pid_t pid[2];

	ASSERT_NE(NULL, a);
	for (i = 0; i < ARRAY_SIZE(places); i++)
		*(uint64_t *)(self->own + places[i] + LOAD_AT) = VALUE(0);
	for (i = 0; i < 2; i++) {
		pid[i] = vft_fork();
		if (pid[i])
			continue;
		while (!atomic_load(&b->stop)) {
			unsigned int k;
			pid_t child;

			/* page table entries for fork() to copy, if there may be any */
			for (k = 0; k < ARRAY_SIZE(places); k++)
				vft_touch(a + places[k]);
			child = fork();
			if (!child) {
				for (k = 0; k < 3 * ARRAY_SIZE(places); k++)
					hammer_once(b, &b->h[i], i,
						    a + places[k % ARRAY_SIZE(places)], false);
				_exit(0);
			}
			if (child > 0)
				waitpid(child, NULL, 0);
		}
		_exit(0);
	}
	for (round = 0; round < 24; round++) {
		vft_sleep_ms(25);
		enter(b, CHANGING);
		ASSERT_EQ(0, vft_link(&self->dom, round & 1, -1, false));
		enter(b, GONE);
		vft_sleep_ms(25);
		enter(b, CHANGING);
		ASSERT_EQ(0, vft_link(&self->dom, round & 1, -1, true));
		enter(b, LIVE);
	}
	atomic_store(&b->stop, 1);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, vft_wait_pid(pid[i], 5000));
		EXPECT_EQ(0, b->h[i].late);
		EXPECT_EQ(0, b->h[i].early);
		EXPECT_EQ(0, b->h[i].foreign);
		EXPECT_LT(10, b->h[i].faults);
		EXPECT_LT(10, b->h[i].stores);
	}
}

struct mover {
	struct board *b;
	char *a, *room;
	int fd;
	uint64_t cookie;
};

/* Moves one mapping about, splits another one, and uses both in between. */
static void *move_about(void *arg)
{
	struct mover *m = arg;
	char *at = m->a;
	unsigned int i, k;

	for (i = 0; !atomic_load(&m->b->stop); i++) {
		char *to = m->room + (i % 2 ? VFT_HUGE * 4 : VFT_PAGE * 3), *p;

		to = mremap(at, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
		if (to == MAP_FAILED) {
			m->b->bad++;
			break;
		}
		at = to;
		for (k = 0; k < ARRAY_SIZE(places); k++)
			hammer_once(m->b, &m->b->h[0], 0, at + places[k], false);
		p = vft_map(m->fd, m->cookie, SIZE, PROT_READ | PROT_WRITE);
		if (!p) {
			m->b->bad++;
			break;
		}
		vft_touch(p);
		mprotect(p + (1 + i % 500) * VFT_PAGE, VFT_PAGE, PROT_READ);
		munmap(p + (2 + i % 500) * VFT_PAGE, VFT_PAGE);
		for (k = 0; k < ARRAY_SIZE(places); k++)
			hammer_once(m->b, &m->b->h[1], 1, p + places[k], false);
		munmap(p, SIZE);
	}
	return NULL;
}

TEST_F_TIMEOUT(pair, mremap_and_split_against_loss, 60)
{
	struct mover m = { .b = vft_shared(sizeof(struct board)) };
	pthread_t thread;
	unsigned int round;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		*(uint64_t *)(self->own + places[i] + LOAD_AT) = VALUE(0);
	m.fd = self->peer;
	ASSERT_EQ(0, vft_import(self->peer, self->handle, VFT_RW, 0, &m.cookie));
	m.a = vft_map(self->peer, m.cookie, SIZE, PROT_READ | PROT_WRITE);
	m.room = mmap(NULL, VFT_HUGE * 8, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(NULL, m.a);
	ASSERT_EQ(0, pthread_create(&thread, NULL, move_about, &m));
	for (round = 0; round < 40; round++) {
		vft_sleep_ms(5);
		enter(m.b, CHANGING);
		ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
		enter(m.b, GONE);
		vft_sleep_ms(10);
		enter(m.b, CHANGING);
		ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
		enter(m.b, LIVE);
	}
	atomic_store(&m.b->stop, 1);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, m.b->bad) {
		TH_LOG("a mapping could not be moved");
	}
	for (i = 0; i < 2; i++) {
		/* "early" is not judged: the second mapping has holes */
		EXPECT_EQ(0, m.b->h[i].late);
		EXPECT_EQ(0, m.b->h[i].foreign);
		EXPECT_LT(20, m.b->h[i].faults);
		EXPECT_LT(20, m.b->h[i].stores);
	}
}

struct mapper {
	struct board *b;
	int fd;
	_Atomic uint64_t cookie;
	_Atomic uint64_t mapped;
};

static void *map_again_and_again(void *arg)
{
	struct mapper *m = arg;

	while (!atomic_load(&m->b->stop)) {
		uint64_t e = atomic_load(&m->b->epoch);
		char *p = vft_map(m->fd, m->cookie, SIZE, PROT_READ | PROT_WRITE);

		if (!p)
			continue;
		m->mapped++;
		if (!vft_store(p, 1) && phase_of(e) == GONE && e == atomic_load(&m->b->epoch))
			m->b->bad++;
		vft_store(p + VFT_HUGE, 1);
		munmap(p, SIZE);
	}
	return NULL;
}

TEST_F_TIMEOUT(pair, mmap_racing_free, 60)
{
	struct mapper m = { .b = vft_shared(sizeof(struct board)), .fd = self->peer };
	uint64_t handle, cookie, start = vft_now();
	pthread_t thread[2];
	unsigned int i, round;

	ASSERT_EQ(0, vft_alloc(self->owner, SIZE, 0, VFT_RW, &handle));
	ASSERT_EQ(0, vft_import(self->peer, handle, VFT_RW, 0, &cookie));
	m.cookie = cookie;
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, map_again_and_again, &m));
	for (round = 0; round < 100 && vft_now() < start + 6 * VFT_SEC; round++) {
		vft_sleep_ms(1);
		enter(m.b, CHANGING);
		/* by turns the owner and the importer let go */
		ASSERT_EQ(0, round & 1 ? vft_free(self->owner, handle) :
					 vft_release(self->peer, cookie));
		enter(m.b, GONE);
		vft_sleep_ms(1);
		enter(m.b, CHANGING);
		if (round & 1)
			ASSERT_EQ(0, vft_alloc(self->owner, SIZE, 0, VFT_RW, &handle));
		ASSERT_EQ(0, vft_import(self->peer, handle, VFT_RW, 0, &cookie));
		m.cookie = cookie;
		enter(m.b, LIVE);
	}
	atomic_store(&m.b->stop, 1);
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(0, m.b->bad);
	EXPECT_LT(10, m.mapped);
	EXPECT_LT(5, round);
}

/* --- Absorbed means told ------------------------------------------------------- */

#define MORE	3000	/* imports that make a change take its time */

struct taker {
	struct vft_domain *dom;
	int owner, how;
	uint64_t handle;
	_Atomic int ready;
};

static void *take_away(void *arg)
{
	struct taker *t = arg;

	while (!atomic_load(&t->ready))
		sched_yield();
	vft_sleep_ms(1 + t->how);
	switch (t->how) {
	case 0:
		vft_link(t->dom, 0, -1, false);
		break;
	case 1:
		vft_evict(t->dom, 0);
		break;
	case 2:
		vft_free(t->owner, t->handle);
		break;
	default:
		vft_evict(t->dom, 1);
	}
	return NULL;
}

/*
 * Who maps the window anew all the time finds ones as early as anybody can. By
 * then the view must tell.
 */
TEST_F_TIMEOUT(pair, absorbed_means_told, 90)
{
	unsigned int i, round;

	for (round = 0; round < 12; round++) {
		struct taker t = { .dom = &self->dom, .how = round % 4 };
		const volatile struct vfab_view *view;
		uint64_t cookie, more, loss, end;
		uint32_t losses, revoked;
		bool seen = false;
		pthread_t thread;
		int importer;
		char *p;

		vft_link(&self->dom, 0, -1, true);
		for (i = 0; i < 3; i++) {
			if (vft_endpoint_get(&self->dom, i, VFAB_A_HELD))
				vft_evict(&self->dom, i);
		}
		t.owner = vft_join(&self->dom, 0);
		importer = vft_join(&self->dom, 1);
		ASSERT_EQ(0, vft_alloc(t.owner, SIZE, 1, VFT_RW, &t.handle));
		ASSERT_EQ(0, vft_alloc(t.owner, VFT_PAGE, 2, VFT_RW, &more));
		/* The first is marked first, and waits for the others */
		ASSERT_EQ(0, vft_import(importer, t.handle, VFT_RW, VFAB_LOSS_ABSORB, &cookie));
		for (i = 0; i < MORE; i++)
			ASSERT_EQ(0, vft_import(importer, t.how == 2 ? t.handle : more,
						VFT_RW, 0, NULL));
		p = vft_map(importer, cookie, SIZE, PROT_READ);
		view = vft_view(importer);
		ASSERT_NE(NULL, p);
		loss = view->loss;
		losses = view->peer[0].losses;
		revoked = view->peer[0].revoked;
		ASSERT_EQ(0, pthread_create(&thread, NULL, take_away, &t));
		atomic_store(&t.ready, 1);
		end = vft_now() + 10 * VFT_SEC;
		while (!seen && vft_now() < end) {
			if (mmap(p, SIZE, PROT_READ, MAP_SHARED | MAP_FIXED, importer, cookie) ==
			    MAP_FAILED) {
				seen = true;
				break;
			}
			for (i = 0; i < 200 && !seen; i++)
				seen = *(volatile uint64_t *)(p + i * VFT_PAGE) == ONES;
			if (!seen)
				continue;
			atomic_thread_fence(memory_order_acquire);
			EXPECT_NE(loss, view->loss) {
				TH_LOG("cause %d: the loss generation has not moved", t.how);
			}
			EXPECT_EQ(true, losses != view->peer[0].losses ||
				  revoked != view->peer[0].revoked || view->ended) {
				TH_LOG("cause %d: the peer's entry does not tell", t.how);
			}
		}
		EXPECT_EQ(true, seen);
		pthread_join(thread, NULL);
		munmap(p, SIZE);
		close(importer);
		close(t.owner);
	}
}

static void *link_up(void *arg)
{
	struct taker *t = arg;

	while (!atomic_load(&t->ready))
		sched_yield();
	vft_link(t->dom, 0, -1, true);
	return NULL;
}

/* And shown again means that nothing is absorbed any more. */
TEST_F_TIMEOUT(pair, shown_means_reached, 60)
{
	volatile uint64_t *p = vft_import_map(self->peer, self->handle, SIZE, VFT_RW,
					      VFAB_LOSS_ABSORB);
	const volatile struct vfab_view *view = vft_view(self->peer);
	volatile uint64_t *own = (uint64_t *)self->own;
	unsigned int i, round;

	ASSERT_NE(NULL, p);
	for (i = 0; i < MORE; i++)
		ASSERT_EQ(0, vft_import(self->peer, self->handle, VFT_RW, 0, NULL));
	for (round = 1; round <= 20; round++) {
		struct taker t = { .dom = &self->dom };
		pthread_t thread;

		ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
		p[0] = ONES;			/* the absorbing page is mapped */
		ASSERT_EQ(0, pthread_create(&thread, NULL, link_up, &t));
		atomic_store(&t.ready, 1);
		while (view->peer[0].state != VFAB_PEER_HELD)
			;
		atomic_thread_fence(memory_order_acquire);
		p[0] = round;
		EXPECT_EQ(round, own[0]);
		pthread_join(thread, NULL);
	}
}

TEST_F(pair, a_freed_window_counts_once)
{
	const struct vfab_view *view = vft_view(self->peer);
	struct vfab_event ev;
	int i, events = 0;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, vft_import(self->peer, self->handle, VFT_RW, 0, NULL));
	ASSERT_EQ(0, vft_free(self->owner, self->handle));
	EXPECT_EQ(1, view->peer[0].revoked);
	ASSERT_EQ(0, fcntl(self->peer, F_SETFL, O_NONBLOCK));
	while (read(self->peer, &ev, sizeof(ev)) == sizeof(ev)) {
		if (ev.type != VFAB_EVENT_WINDOW_REVOKED)
			continue;
		EXPECT_EQ(self->handle, ev.handle);
		events++;
	}
	EXPECT_EQ(1, events);
}

/* --- peer-death=keep --------------------------------------------------------- */

FIXTURE(keep) {
	struct vft_domain dom;
};

FIXTURE_SETUP(keep)
{
	struct vft_options opt = { .peer_death = VFAB_PEER_DEATH_KEEP };

	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, &opt));
}

FIXTURE_TEARDOWN_PARENT(keep)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

TEST_F(keep, a_dead_owners_memory_stays_until_its_importers_let_go)
{
	struct board *b = vft_shared(sizeof(*b));
	int fd = vft_join(&self->dom, 1), other = vft_join(&self->dom, 2);
	uint64_t cookie, dropped;
	struct vft_bells bells;
	char *a, *c;
	pid_t pid;

	pid = vft_fork();
	if (!pid) {
		struct scene s;

		if (scene_owner(&s, &self->dom))
			_exit(1);
		vft_alloc(s.owner, VFT_PAGE, 2, VFT_RW, NULL);
		b->handle = s.handle;
		vft_gate(&b->gate, 2);
		pause();
	}
	ASSERT_EQ(0, vft_gate(&b->gate, 2));
	ASSERT_EQ(0, vft_import(fd, b->handle, VFT_RW, 0, &cookie));
	a = vft_map(fd, cookie, SIZE, PROT_READ | PROT_WRITE);
	c = vft_import_map(other, b->handle, SIZE, VFT_RW, 0);
	ASSERT_EQ(0, vft_import(other, b->handle, VFT_RW, 0, &dropped));
	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, c);
	ASSERT_EQ(0, vft_bells(&bells, fd, 0));
	EXPECT_EQ(SIZE + VFT_PAGE, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	EXPECT_EQ(SIGKILL, vft_kill(pid));

	/* the endpoint has ended, what it shared has not */
	EXPECT_EQ(2, vft_domain_get(&self->dom, VFAB_A_ATTACHED));
	EXPECT_EQ(0, vft_store(a, 5));
	EXPECT_EQ(5, *(uint64_t *)c);
	EXPECT_EQ(VALUE(0), *(uint64_t *)(c + VFT_HUGE + LOAD_AT));
	/* the window that nobody imported is gone, the other is still charged */
	EXPECT_EQ(SIZE, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	/* no new import of it, and nobody answers its doorbell */
	EXPECT_EQ(-ENOENT, vft_import(fd, b->handle, VFT_RW, 0, NULL));
	EXPECT_EQ(-EHOSTUNREACH, vft_ring(fd, 0, 0));
	EXPECT_EQ(SIGBUS, vft_touch(bells.counts));
	/* one lets go, and the other */
	ASSERT_EQ(0, vft_release(fd, cookie));
	EXPECT_EQ(SIGBUS, vft_touch(a));
	EXPECT_EQ(0, vft_touch(c));
	EXPECT_EQ(SIZE, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	ASSERT_EQ(0, vft_detach(other));
	EXPECT_EQ(SIGBUS, vft_touch(c));
	EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
}

/* What a dead owner left is still reached over the fabric. */
TEST_F(keep, a_dead_owners_memory_stays_subject_to_routes_and_borders)
{
	int fd = vft_join(&self->dom, 1), other = vft_join(&self->dom, 2);
	int owner = vft_join(&self->dom, 0);
	const struct vfab_view *view = vft_view(fd);
	const struct vfab_view *bystander = vft_view(vft_join(&self->dom, 3));
	struct vfab_peer peer;
	uint64_t handle, loss;
	char *a, *b;

	ASSERT_EQ(0, vft_alloc(owner, SIZE, 0, VFT_RW, &handle));
	a = vft_import_map(fd, handle, SIZE, VFT_RW, VFAB_LOSS_SIGBUS);
	b = vft_import_map(other, handle, SIZE, VFT_RW, VFAB_LOSS_ABSORB);
	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	ASSERT_EQ(0, vft_store(a, 5));
	close(owner);
	EXPECT_EQ(5, *(uint64_t *)b);
	vft_peer(view, 0, &peer);
	EXPECT_EQ(VFAB_PEER_VACANT, peer.state);
	EXPECT_EQ(1, peer.losses);
	loss = view->loss;
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	EXPECT_EQ(SIGBUS, vft_touch(a));
	EXPECT_EQ(SIGBUS, vft_touch(a + VFT_HUGE));
	EXPECT_EQ(ONES, *(uint64_t *)b);
	/* who reads ones and looks at the loss generation learns what they are */
	vft_peer(view, 0, &peer);
	EXPECT_EQ(VFAB_PEER_UNREACHABLE, peer.state);
	EXPECT_EQ(2, peer.losses);
	EXPECT_NE(loss, view->loss);
	/* where nothing was lost, nothing is told */
	vft_peer(bystander, 0, &peer);
	EXPECT_EQ(1, peer.losses);
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	EXPECT_EQ(5, *(uint64_t *)a);
	EXPECT_EQ(5, *(uint64_t *)b);
	/* behind a border, for good */
	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, NULL, 1, 1));
	EXPECT_EQ(SIGBUS, vft_touch(a));
	EXPECT_EQ(5, *(uint64_t *)b);
	ASSERT_EQ(0, vft_partition_add(&self->dom, 0, 1, 1));
	EXPECT_EQ(SIGBUS, vft_touch(a));
	/* and the rank that is held by another now has nothing to do with it */
	owner = vft_join(&self->dom, 0);
	ASSERT_LE(0, owner);
	EXPECT_EQ(5, *(uint64_t *)b);
	ASSERT_EQ(0, vft_detach(other));
	EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
}

/* Nor does it matter in which order the owner and the routes go. */
TEST_F(keep, an_owner_that_dies_behind_a_cut)
{
	int fd = vft_join(&self->dom, 1), owner, cut;
	uint64_t handle;
	char *a;

	for (cut = 0; cut < 2; cut++) {
		owner = vft_join(&self->dom, 0);
		ASSERT_EQ(0, vft_alloc(owner, SIZE, 0, VFT_RW, &handle));
		a = vft_import_map(fd, handle, SIZE, VFT_RW, VFAB_LOSS_SIGBUS);
		ASSERT_EQ(0, vft_store(a, 5));
		ASSERT_EQ(0, vft_link(&self->dom, cut, -1, false));
		close(owner);
		EXPECT_EQ(SIGBUS, vft_touch(a));
		ASSERT_EQ(0, vft_link(&self->dom, cut, -1, true));
		EXPECT_EQ(5, *(uint64_t *)a);
	}
}

TEST_F(keep, free_is_not_death)
{
	int fd = vft_join(&self->dom, 1), owner = vft_join(&self->dom, 0);
	uint64_t handle;
	char *a;

	ASSERT_EQ(0, vft_alloc(owner, SIZE, 0, VFT_RW, &handle));
	a = vft_import_map(fd, handle, SIZE, VFT_RW, 0);
	EXPECT_EQ(0, vft_touch(a));
	ASSERT_EQ(0, vft_free(owner, handle));
	EXPECT_EQ(SIGBUS, vft_touch(a));
	EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
}

/* --- riding out a flap -------------------------------------------------------- */

#define RETRY_MS	1500

FIXTURE(flap) {
	struct vft_domain dom;
	int owner, peer;
	uint64_t handle;
	char *own, *a;
};

FIXTURE_SETUP(flap)
{
	struct vft_options opt = { .retry_ms = RETRY_MS };

	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, &opt));
	self->owner = vft_join(&self->dom, 0);
	self->peer = vft_join(&self->dom, 1);
	ASSERT_LE(0, self->owner);
	ASSERT_LE(0, self->peer);
	ASSERT_EQ(0, vft_alloc(self->owner, SIZE, 1, VFT_RW, &self->handle));
	self->own = vft_import_map(self->owner, self->handle, SIZE, VFT_RW, 0);
	self->a = vft_import_map(self->peer, self->handle, SIZE, VFT_RW, 0);
	ASSERT_NE(NULL, self->own);
	ASSERT_NE(NULL, self->a);
	EXPECT_EQ(0, vft_touch(self->a));
}

FIXTURE_TEARDOWN_PARENT(flap)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

/* A child that touches; exits with the signal it got */
static pid_t toucher(char *p)
{
	pid_t pid = vft_fork();

	if (!pid)
		_exit(vft_store(p, 42));
	return pid;
}

TEST_F(flap, a_short_outage_is_not_noticed)
{
	const struct vfab_view *view = vft_view(self->peer);
	struct vfab_peer peer;
	pid_t pid, reader;
	int pipes[2];

	ASSERT_NE(NULL, view);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	vft_peer(view, 0, &peer);
	EXPECT_EQ(VFAB_PEER_RECOVERY, peer.state);
	pid = toucher(self->a);
	reader = vft_fork();
	if (!reader)
		_exit(write(pipes[1], self->a + VFT_HUGE, 64) != 64);
	vft_sleep_ms(300);
	/* it waits, and reaches nothing */
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	EXPECT_EQ(0, waitpid(reader, NULL, WNOHANG));
	EXPECT_EQ(0, *(uint64_t *)self->own);
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	EXPECT_EQ(0, vft_wait_pid(pid, 1000));
	EXPECT_EQ(0, vft_wait_pid(reader, 1000));
	EXPECT_EQ(42, *(uint64_t *)self->own);
	vft_peer(view, 0, &peer);
	EXPECT_EQ(VFAB_PEER_HELD, peer.state);
	EXPECT_EQ(0, peer.losses);
}

TEST_F(flap, a_long_outage_is_a_loss)
{
	const struct vfab_view *view = vft_view(self->peer);
	struct vfab_peer peer;
	uint64_t start, took;

	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	start = vft_now();
	EXPECT_EQ(SIGBUS, vft_touch(self->a));
	took = vft_now() - start;
	EXPECT_LE((RETRY_MS - 200) * VFT_MS, took);
	EXPECT_GE((RETRY_MS + 2000) * VFT_MS, took);
	/* the deadline belongs to the outage, not to the access */
	start = vft_now();
	EXPECT_EQ(SIGBUS, vft_touch(self->a + VFT_HUGE));
	EXPECT_GE(500 * VFT_MS, vft_now() - start);
	EXPECT_EQ(true, vft_until(1000, (vft_peer(view, 0, &peer),
					 peer.state == VFAB_PEER_UNREACHABLE)));
	EXPECT_EQ(1, peer.losses);
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	EXPECT_EQ(0, vft_touch(self->a));
}

/* The loss is declared even if nobody touches anything. */
TEST_F(flap, a_long_outage_is_declared)
{
	const struct vfab_view *view = vft_view(self->peer);
	uint64_t loss = view->loss, count = 0, now = loss;
	struct vfab_event ev;
	uint32_t reason = 0;

	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	EXPECT_EQ(0, vft_wait(self->peer, 0, &count, &now, vft_now() + 8 * VFT_SEC, &reason));
	EXPECT_EQ(VFAB_WAIT_LOSS, reason);
	EXPECT_NE(loss, now);
	ASSERT_EQ(0, next_event(self->peer, &ev, 0));
	EXPECT_EQ(VFAB_EVENT_PEER_LOST, ev.type);
	EXPECT_EQ(VFAB_REASON_LINK, ev.reason);
}

/* Each outage has a deadline of its own. */
TEST_F(flap, outages_are_settled_one_by_one)
{
	const struct vfab_view *view = vft_view(self->peer);
	int third = vft_join(&self->dom, 2);
	struct vfab_peer peer;
	uint64_t first;

	ASSERT_LE(0, third);
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	vft_sleep_ms(700);
	ASSERT_EQ(0, vft_link(&self->dom, 2, -1, false));
	EXPECT_EQ(2, vft_endpoint_get(&self->dom, 1, VFAB_A_RECOVERING));
	EXPECT_EQ(true, vft_until(4000, (vft_peer(view, 0, &peer),
					 peer.state == VFAB_PEER_UNREACHABLE)));
	first = vft_now();
	EXPECT_EQ(true, vft_until(4000, (vft_peer(view, 2, &peer),
					 peer.state == VFAB_PEER_UNREACHABLE)));
	EXPECT_LE(300 * VFT_MS, vft_now() - first);
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 1, VFAB_A_RECOVERING));
}

/* It absorbs when it is declared, not when the timeout is over. */
TEST_F_TIMEOUT(flap, a_long_outage_is_told_before_it_absorbs, 60)
{
	const volatile struct vfab_view *view = vft_view(self->peer);
	volatile uint64_t *p = vft_import_map(self->peer, self->handle, SIZE, VFT_RW,
					      VFAB_LOSS_ABSORB);
	uint32_t losses = 0, ones = 0, i;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vft_domain_set(&self->dom, VFAB_A_RETRY_TIMEOUT, 60));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
		if (p[i] == ONES) {
			ones++;
			EXPECT_NE(losses, view->peer[0].losses);
		}
		ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
		losses = view->peer[0].losses;
	}
	EXPECT_EQ(20, ones);
	EXPECT_EQ(20, losses);
}

/* What cannot sleep is told so, and gets no page that is not the owner's. */
TEST_F(flap, futex_in_an_outage)
{
	uint32_t *own = (uint32_t *)self->own, other = 0;
	uint32_t *p = vft_import_map(self->peer, self->handle, SIZE, VFT_RW,
				     VFAB_LOSS_ABSORB);

	ASSERT_NE(NULL, p);
	own[0] = 5;
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	errno = 0;
	EXPECT_EQ(-1, syscall(SYS_futex, &other, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 1, 1, p,
			      FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0)));
	EXPECT_EQ(EFAULT, errno);
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	EXPECT_EQ(5, p[0]);
	EXPECT_EQ(5, own[0]);
}

/* Also by a routing table, and for those who attached before it was asked for. */
TEST_F(flap, a_table_outage_names_the_table)
{
	struct vfab_event ev;

	ASSERT_EQ(0, vft_domain_set(&self->dom, VFAB_A_RETRY_TIMEOUT, 0));
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	EXPECT_EQ(SIGBUS, vft_touch(self->a));
	EXPECT_EQ(sizeof(ev), read(self->peer, &ev, sizeof(ev)));
	EXPECT_EQ(VFAB_REASON_LINK, ev.reason);
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	EXPECT_EQ(sizeof(ev), read(self->peer, &ev, sizeof(ev)));
	EXPECT_EQ(VFAB_EVENT_PEER_GAINED, ev.type);

	ASSERT_EQ(0, vft_domain_set(&self->dom, VFAB_A_RETRY_TIMEOUT, 200));
	ASSERT_EQ(0, vft_route_drop(&self->dom, -1, 0));
	EXPECT_EQ(SIGBUS, vft_touch(self->a));
	EXPECT_EQ(sizeof(ev), read(self->peer, &ev, sizeof(ev)));
	EXPECT_EQ(VFAB_EVENT_PEER_LOST, ev.type);
	EXPECT_EQ(VFAB_REASON_ROUTE, ev.reason);
}

TEST_F(flap, nothing_else_is_held_up)
{
	uint64_t start, worst = 0;
	unsigned int i;
	pid_t pid;

	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	pid = toucher(self->a);
	vft_sleep_ms(50);
	for (i = 0; i < 20; i++) {
		char path[64], text[4096];
		void *p;

		start = vft_now();
		p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(p, 1 << 20);
		snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
		vft_read_text(path, text, sizeof(text));
		EXPECT_EQ(0, vft_touch(self->own));
		if (vft_now() - start > worst)
			worst = vft_now() - start;
	}
	EXPECT_GT(500 * VFT_MS, worst);
	/* and it can be killed at once */
	start = vft_now();
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_GT(500 * VFT_MS, vft_now() - start);
}

static void *touch_thread(void *arg)
{
	return (void *)(long)vft_touch(arg);
}

/* In the same address space: the sleeper holds no lock of it. */
TEST_F(flap, a_thread_that_waits_blocks_no_other)
{
	uint64_t start;
	pthread_t thread;
	void *sig;
	void *p;

	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	ASSERT_EQ(0, pthread_create(&thread, NULL, touch_thread, self->a));
	vft_sleep_ms(100);
	start = vft_now();
	p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, 1 << 20);
	munmap(p, 1 << 20);
	EXPECT_GT(500 * VFT_MS, vft_now() - start);
	/* what is waited for goes away */
	ASSERT_EQ(0, munmap(self->a, SIZE));
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	pthread_join(thread, &sig);
	EXPECT_EQ(SIGSEGV, (long)sig);
}

TEST_F(flap, free_ends_the_waiting)
{
	uint64_t start;
	pid_t pid;

	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	pid = toucher(self->a);
	vft_sleep_ms(100);
	start = vft_now();
	ASSERT_EQ(0, vft_free(self->owner, self->handle));
	EXPECT_EQ(SIGBUS << 8, vft_wait_pid(pid, 3000));
	EXPECT_GT(700 * VFT_MS, vft_now() - start);
}

TEST_F(flap, own_end_ends_the_waiting)
{
	uint64_t start;
	pid_t pid;

	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	pid = toucher(self->a);
	vft_sleep_ms(100);
	start = vft_now();
	ASSERT_EQ(0, vft_detach(self->peer));
	EXPECT_EQ(SIGBUS << 8, vft_wait_pid(pid, 3000));
	EXPECT_GT(700 * VFT_MS, vft_now() - start);
}

/* --- events --------------------------------------------------------------------- */

TEST_F_TIMEOUT(pair, queue_overflows_with_one_record, 60)
{
	struct vfab_event ev[64];
	unsigned int i, records = 0, overflows = 0;
	ssize_t n;

	for (i = 0; i < 400; i++) {
		ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
		ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	}
	ASSERT_EQ(0, fcntl(self->peer, F_SETFL, O_NONBLOCK));
	while ((n = read(self->peer, ev, sizeof(ev))) > 0) {
		EXPECT_EQ(0, n % sizeof(ev[0]));
		for (i = 0; i < n / sizeof(ev[0]); i++) {
			records++;
			overflows += ev[i].type == VFAB_EVENT_OVERFLOW;
		}
	}
	EXPECT_EQ(-1, n);
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(1, overflows);
	EXPECT_GT(800, records);
	/* also where the gap begins when some had been read: nothing follows it */
	for (i = 0; i < 70; i++) {
		ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
		ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	}
	EXPECT_EQ(sizeof(ev), read(self->peer, ev, sizeof(ev)));
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, true));
	do {
		n = read(self->peer, ev, sizeof(ev[0]));
	} while (n == sizeof(ev[0]) && ev[0].type != VFAB_EVENT_OVERFLOW);
	EXPECT_EQ(sizeof(ev[0]), n);
	EXPECT_EQ(-1, read(self->peer, ev, sizeof(ev)));
	EXPECT_EQ(EAGAIN, errno);
	/* it works again */
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	EXPECT_EQ(sizeof(ev[0]), read(self->peer, ev, sizeof(ev)));
	EXPECT_EQ(VFAB_EVENT_PEER_LOST, ev[0].type);
	EXPECT_EQ(0, ev[0].rank);
}

TEST_F(pair, moved_endpoint_is_told)
{
	const struct vfab_view *view = vft_view(self->peer);
	struct vfab_event ev;
	struct vfab_peer peer;

	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, NULL, 1, 1));
	EXPECT_EQ(1, view->partition);
	do {
		ASSERT_EQ(0, next_event(self->peer, &ev, 1));
	} while (ev.type != VFAB_EVENT_MOVED);
	EXPECT_EQ(VFAB_REASON_PARTITION, ev.reason);
	/* nobody of the old partition is there for it any more */
	vft_peer(view, 0, &peer);
	EXPECT_EQ(VFAB_PEER_UNREACHABLE, peer.state);
	EXPECT_EQ(0, peer.paths);
	ASSERT_EQ(0, vft_partition_add(&self->dom, 1, 2, 1));
	vft_peer(view, 2, &peer);
	EXPECT_EQ(VFAB_PEER_HELD, peer.state);
	EXPECT_EQ(-EACCES, vft_lookup(self->peer, 0, 1, 0, NULL));
	EXPECT_EQ(-ENOENT, vft_lookup(self->peer, 2, 1, 0, NULL));
}

/* Who had imported a window that is freed is told, and nobody else. */
TEST_F(pair, revoked_windows_are_counted)
{
	const struct vfab_view *view = vft_view(self->peer), *other = vft_view(self->third);
	struct vfab_peer before, after, bystander;
	uint64_t loss, handle, cookie;

	vft_peer(view, 0, &before);
	vft_peer(other, 0, &bystander);
	loss = view->loss;
	/* not imported, or not any more: no loss */
	ASSERT_EQ(0, vft_alloc(self->owner, VFT_PAGE, 0, VFT_RW, &handle));
	ASSERT_EQ(0, vft_free(self->owner, handle));
	ASSERT_EQ(0, vft_alloc(self->owner, VFT_PAGE, 0, VFT_RW, &handle));
	ASSERT_EQ(0, vft_import(self->owner, handle, VFT_RW, 0, NULL));
	ASSERT_EQ(0, vft_import(self->peer, handle, VFT_RW, 0, &cookie));
	ASSERT_EQ(0, vft_release(self->peer, cookie));
	ASSERT_EQ(0, vft_free(self->owner, handle));
	vft_peer(view, 0, &after);
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
	EXPECT_EQ(loss, view->loss);
	ASSERT_EQ(0, vft_import(self->peer, self->handle, VFT_RW, 0, NULL));
	ASSERT_EQ(0, vft_free(self->owner, self->handle));
	vft_peer(view, 0, &after);
	EXPECT_EQ(before.revoked + 1, after.revoked);
	EXPECT_LT(loss, view->loss);
	vft_peer(other, 0, &after);
	EXPECT_EQ(0, memcmp(&bystander, &after, sizeof(after)));
}

TEST_F(pair, view_of_paths_rate_and_latency)
{
	const struct vfab_view *view = vft_view(self->peer);
	struct vfab_peer all, two, peer;

	ASSERT_NE(NULL, view);
	EXPECT_EQ(VFAB_ABI, view->abi);
	EXPECT_EQ(4, view->world);
	EXPECT_EQ(1, view->rank);
	EXPECT_EQ(0, view->partition);
	EXPECT_EQ(0, view->ended);
	vft_peer(view, 0, &all);
	EXPECT_EQ(PLANES, all.paths);
	EXPECT_LT(0, all.rate);
	EXPECT_LT(0, all.latency);
	vft_peer(view, 3, &peer);
	EXPECT_EQ(VFAB_PEER_VACANT, peer.state);
	EXPECT_EQ(PLANES, peer.paths);
	vft_peer(view, 1, &peer);
	EXPECT_EQ(VFAB_PEER_HELD, peer.state);

	ASSERT_EQ(0, vft_link(&self->dom, 0, 1, false));
	vft_peer(view, 0, &two);
	EXPECT_EQ(VFAB_PEER_HELD, two.state);
	EXPECT_EQ(PLANES - 1, two.paths);
	EXPECT_EQ(all.rate / PLANES * (PLANES - 1), two.rate);
	EXPECT_EQ(all.losses, two.losses);
	EXPECT_NE(all.generation, two.generation);
}

TEST_HARNESS_MAIN
