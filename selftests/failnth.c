// SPDX-License-Identifier: GPL-2.0
/*
 * failnth: each allocation and each copy of each call fails once. Then the call
 * says so or does without, nothing is left of it, the same call works next, and
 * who listens misses no event without being told.
 *
 * The kernel fails the nth on request (/proc/thread-self/fail-nth), from the first
 * until a call is through before its turn comes. That takes a kernel of
 * 'scripts/kernel build debug' or 'scripts/uml build debug'.
 *
 *	build/selftests/failnth
 *	build/selftests/failnth -v attach
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define DEBUGFS		"/sys/kernel/debug/"
#define TRIES		2000	/* no call takes so many allocations */

#define A(name)	VFAB_A_##name
#define FA(name)	VFAB_A_FAULT_##name
#define F(name)	VFAB_FAULT_##name
#define CMD(name)	VFAB_CMD_##name

/*
 * Four ranks; 3 is in partition 1. Rank 0 is held by @a, 1 by @b, which has
 * the window @handle, tag 7, of two pages. The rest is what the call under
 * test and its surroundings keep.
 */
struct scene {
	struct vft_domain dom;
	struct vft_domain extra;
	int a, b;
	uint64_t handle;
	int fd;
	uint64_t mine;
	uint64_t cookie;
	void *map;
	unsigned int got;
};

/* A request: attributes and their values, up to a 0 */
struct ask {
	int cmd;
	uint64_t put[12];
};

/*
 * @call:	the call, of the device; returns as in vft.h
 * @ask:	or of netlink; of @dom, unless @of is another
 * @dump:	it is one
 * @result:	what it returns when nothing fails
 * @none:	nothing in it can fail
 * @before, @after, @first, @then: make and unmake what it needs, each time
 */
struct subject {
	int (*call)(struct scene *s);
	struct ask ask;
	enum { OF_DOM, OF_EXTRA, OF_NONE } of;
	bool dump;
	int result;
	bool none;
	int (*before)(struct scene *s);
	struct ask first;
	void (*after)(struct scene *s);
	struct ask then;
};

/* --- Failing ------------------------------------------------------------------------- */

static int fail_fd = -1;

static bool fail_open(void)
{
	static const char * const knobs[][2] = {
		{ DEBUGFS "failslab/ignore-gfp-wait", "N" },
		{ DEBUGFS "failslab/verbose", "0" },
		{ DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N" },
		{ DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ DEBUGFS "fail_page_alloc/min-order", "0" },
		{ DEBUGFS "fail_page_alloc/verbose", "0" },
		{ DEBUGFS "fail_usercopy/verbose", "0" },
	};
	unsigned int i;

	fail_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (fail_fd < 0)
		return false;
	for (i = 0; i < sizeof(knobs) / sizeof(*knobs); i++)
		if (!vft_write_text(knobs[i][0], knobs[i][1]))
			return false;
	return true;
}

static void fail_nth(unsigned int n)
{
	char text[12];
	int len = snprintf(text, sizeof(text), "%u", n);

	/* the turn of what was asked for before may come now */
	if (pwrite(fail_fd, text, len, 0) != len && pwrite(fail_fd, text, len, 0) != len) {
		perror("# failnth: " FAIL_NTH);
		exit(1);
	}
}

/* Has something failed since fail_nth()? Nothing does from now on. */
static bool fail_ended(void)
{
	char text[12] = "";
	bool failed;

	/* what is asked for may be a copy to us: it is left, then */
	failed = pread(fail_fd, text, sizeof(text) - 1, 0) > 0 && !atoi(text);
	fail_nth(0);
	return failed;
}

/* --- Netlink ------------------------------------------------------------------------- */

/* One that does not wait for an acknowledgment that nobody could allocate */
static struct vft_nl *nl(void)
{
	struct timeval tv = { .tv_sec = 5 };

	setsockopt(vft_nl()->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return vft_nl();
}

static const struct vfab_link_spec links[] = {
	{ { 0, VFAB_SPEC_SWITCH }, { 0, 0 }, 4, 0, 50000, 100 },
	{ { 1, VFAB_SPEC_SWITCH }, { 0, 1 }, 4, 0, 50000, 100 },
	{ { 0, 1 }, { 1, 1 }, 4, 0, 50000, 100 },
};

static const struct vfab_entry_spec entries[] = {
	{ VFAB_SPEC_SWITCH, 0, 0, 0, 1 },
	{ VFAB_SPEC_SWITCH, 1, 1, 0, 1 },
	{ VFAB_SPEC_SWITCH | 1, 0, 0, 0, 0 },
};

static void put(struct vft_req *req, int attr, uint64_t value)
{
	switch (attr) {
	case A(DOMAIN_NAME):
		vft_put_str(req, attr, "failnth.extra");
		break;
	case A(MANAGER_NOTE):
	case A(PARTITION_NAME):
		vft_put_str(req, attr, "name");
		break;
	case A(LINKS):
		vft_put(req, attr, links, sizeof(links));
		break;
	case A(ENTRIES):
		vft_put(req, attr, entries, sizeof(entries));
		break;
	case A(FORCE):
	case A(EVICT):
	case A(DROP):
	case A(RESTORE):
	case FA(ALL):
	case FA(SPARE):
		vft_put_flag(req, attr);
		break;
	case A(UP):
	case A(ACTIVE):
	case A(SHAPE):
	case A(ADD_MEMBERS):
	case A(DEL_MEMBERS):
	case A(PARK_MEMBERS):
	case A(UNPARK_MEMBERS):
		vft_put_u8(req, attr, value);
		break;
	case A(MEM_LIMIT):
	case A(HANDLE):
		vft_put_u64(req, attr, value);
		break;
	default:
		vft_put_u32(req, attr, value);
	}
}

static void build(struct scene *s, const struct subject *sub, const struct ask *ask, bool dump,
		  struct vft_req *req)
{
	unsigned int i;

	vft_req(req, nl(), ask->cmd, dump ? NLM_F_DUMP : NLM_F_ACK);
	if (sub->of != OF_NONE)
		vft_put_u32(req, A(DOMAIN), sub->of == OF_DOM ? s->dom.id : s->extra.id);
	for (i = 0; ask->put[i]; i += 2)
		put(req, ask->put[i], ask->put[i] == A(HANDLE) ? s->handle : ask->put[i + 1]);
}

static int quietly(struct scene *s, const struct subject *sub, const struct ask *ask)
{
	struct vft_req req;

	if (!ask->cmd)
		return 0;
	build(s, sub, ask, false, &req);
	return vft_call(nl(), &req, NULL, NULL);
}

/* --- What must not change ------------------------------------------------------------ */

static const int shown[] = {
	CMD(DOMAIN_GET), CMD(PARTITION_GET), CMD(ENDPOINT_GET), CMD(WINDOW_GET), CMD(SWITCH_GET),
	CMD(PORT_GET), CMD(LINK_GET), CMD(ROUTE_GET), CMD(CHANNEL_GET), CMD(FAULT_GET),
};

#define SHOWN (sizeof(shown) / sizeof(*shown))

struct state {
	uint64_t sum[SHOWN];
	unsigned int domains;
};

static void add(const struct vft_msg *msg, void *arg)
{
	uint64_t *sum = arg;
	unsigned int i, k;

	for (i = 0; i < VFT_ATTRS; i++) {
		const struct nlattr *a = msg->a[i];

		/* time goes by */
		if (!a || i == A(MANAGER_AGE) || i == FA(LEFT))
			continue;
		for (k = 0; k < a->nla_len; k++)
			*sum = (*sum ^ ((const uint8_t *)a)[k]) * 0x100000001b3ULL;
	}
}

static int look(const struct vft_domain *dom, struct state *st)
{
	unsigned int i;
	int ret = 0;

	memset(st, 0, sizeof(*st));
	st->domains = vft_domain_total();
	for (i = 0; i < SHOWN && !ret; i++) {
		struct vft_req req;

		vft_req(&req, nl(), shown[i], NLM_F_DUMP);
		vft_put_u32(&req, A(DOMAIN), dom->id);
		ret = vft_call(nl(), &req, add, &st->sum[i]);
	}
	return ret;
}

/* --- Device calls -------------------------------------------------------------------- */

static int get(struct scene *s, int fd)
{
	s->fd = fd;
	return fd < 0 ? fd : 0;
}

static int do_open(struct scene *s)
{
	return get(s, vft_open(&s->dom, 0));
}

static int do_join(struct scene *s)
{
	return get(s, vft_join(&s->dom, 2));
}

static void do_close(struct scene *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static int call_info(struct scene *s)
{
	struct vfab_info info;

	return ioctl(s->a, VFAB_IOC_INFO, &info) ? -errno : 0;
}

static int call_attach(struct scene *s)
{
	return vft_attach(s->fd, 2);
}

static int call_attach_any(struct scene *s)
{
	return vft_attach(s->fd, VFAB_RANK_ANY);
}

static int call_detach(struct scene *s)
{
	return vft_detach(s->fd);
}

/* Rank 2, with a window that rank 0 has imported and mapped */
static int do_join_with_window(struct scene *s)
{
	int ret = do_join(s);

	ret = ret ?: vft_alloc(s->fd, 2 * VFT_PAGE, 9, VFT_RW, &s->mine);
	ret = ret ?: vft_import(s->a, s->mine, VFT_RW, VFAB_LOSS_ABSORB, &s->cookie);
	if (ret)
		return ret;
	s->map = vft_map(s->a, s->cookie, 2 * VFT_PAGE, PROT_READ | PROT_WRITE);
	return s->map ? vft_store(s->map, 1) : -errno;
}

static int call_close(struct scene *s)
{
	do_close(s);
	return 0;
}

static int call_alloc(struct scene *s)
{
	return vft_alloc(s->a, 3 * VFT_PAGE, 8, VFT_RW, &s->mine);
}

static int call_alloc_huge(struct scene *s)
{
	return vft_alloc(s->a, VFT_HUGE + VFT_PAGE, 8, VFT_RW, &s->mine);
}

/* Its handle may not have come back */
static void do_free(struct scene *s)
{
	if (!vft_lookup(s->a, 0, 8, 0, &s->mine))
		vft_free(s->a, s->mine);
}

static int call_free(struct scene *s)
{
	return vft_free(s->fd, s->mine);
}

static int call_lookup(struct scene *s)
{
	uint64_t handle;

	return vft_lookup(s->a, 1, 7, 0, &handle);
}

/* The clock is a call as well: have no need of it */
static int call_lookup_late(struct scene *s)
{
	return vft_lookup(s->a, 1, 77, 1, NULL);
}

static int call_import(struct scene *s)
{
	return vft_import(s->a, s->handle, VFT_RW, VFAB_LOSS_ABSORB, &s->cookie);
}

/* The first of this peer: takes more */
static int call_import_of_new(struct scene *s)
{
	return vft_import(s->fd, s->handle, VFT_RW, 0, &s->cookie);
}

static int call_release(struct scene *s)
{
	return vft_release(s->a, s->cookie);
}

static void do_release(struct scene *s)
{
	vft_release(s->a, s->cookie);
}

static int call_bell(struct scene *s)
{
	return vft_bell(s->a, 1, &s->cookie);
}

static int call_ring(struct scene *s)
{
	return vft_ring(s->a, 1, 3);
}

static int do_look_at_bell(struct scene *s)
{
	s->mine = 0;
	s->cookie = 0;
	vft_wait(s->a, 3, &s->mine, &s->cookie, 1, NULL);
	return 0;
}

static int call_wait(struct scene *s)
{
	return vft_wait(s->a, 3, &s->mine, &s->cookie, 1, NULL);
}

static int do_eventfd(struct scene *s)
{
	return get(s, eventfd(0, EFD_CLOEXEC));
}

static int call_eventfd(struct scene *s)
{
	return vft_eventfd(s->a, 3, s->fd);
}

static void do_unbind(struct scene *s)
{
	vft_eventfd(s->a, 3, -1);
	do_close(s);
}

static int do_bind_to_peer(struct scene *s)
{
	return do_eventfd(s) ?: vft_eventfd(s->b, 3, s->fd);
}

static void do_unbind_peer(struct scene *s)
{
	vft_eventfd(s->b, 3, -1);
	do_close(s);
}

static int call_counts(struct scene *s)
{
	struct vfab_counts c = { };

	return ioctl(s->fd, VFAB_IOC_COUNTS, &c) ? -errno : 0;
}

static int call_pace(struct scene *s)
{
	uint64_t bytes = 4096, at;

	return vft_pace(s->a, 1, 0, &bytes, &at);
}

static int call_mmap(struct scene *s)
{
	s->map = vft_map(s->a, s->cookie, 2 * VFT_PAGE, PROT_READ | PROT_WRITE);
	return s->map ? 0 : -errno;
}

static int do_import_map(struct scene *s)
{
	return call_import(s) ?: call_mmap(s);
}

static void do_unmap(struct scene *s)
{
	munmap(s->map, 2 * VFT_PAGE);
	vft_release(s->a, s->cookie);
}

static void do_unmap_close(struct scene *s)
{
	do_unmap(s);
	do_close(s);
}

static int call_touch(struct scene *s)
{
	return -vft_store(s->map, 1);
}

static int do_lose(struct scene *s)
{
	return do_import_map(s) ?: vft_link(&s->dom, 1, -1, false);
}

static void do_regain(struct scene *s)
{
	vft_link(&s->dom, 1, -1, true);
	do_unmap(s);
}

/* Splits the mapping */
static int call_mprotect(struct scene *s)
{
	return mprotect(s->map, VFT_PAGE, PROT_READ) ? -errno : 0;
}

static int call_fork(struct scene *s)
{
	pid_t pid = fork();

	(void)s;
	if (!pid)
		_exit(0);
	if (pid < 0)
		return -errno;
	return waitpid(pid, NULL, 0) == pid ? 0 : -errno;
}

static void drain(int fd)
{
	struct vfab_event e[16];
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, 0) > 0 && read(fd, e, sizeof(e)) > 0)
		;
}

static int do_event(struct scene *s)
{
	drain(s->a);
	s->got = 0;
	return vft_link(&s->dom, 1, -1, false) ?: vft_link(&s->dom, 1, -1, true);
}

/* Both, each whole and in order, in however many tries */
static int call_read(struct scene *s)
{
	static const uint32_t wanted[] = { VFAB_EVENT_PEER_LOST, VFAB_EVENT_PEER_GAINED };
	struct vfab_event e[2];
	ssize_t n, i;

	while (s->got < 2) {
		n = read(s->a, e, (2 - s->got) * sizeof(*e));
		if (n < 0)
			return -errno;
		for (i = 0; i < n / (ssize_t)sizeof(*e); i++)
			if (e[i].type != wanted[s->got++])
				return -EBADMSG;
	}
	return 0;
}

static int call_poll(struct scene *s)
{
	struct pollfd p = { .fd = s->a, .events = POLLIN };

	return poll(&p, 1, 0) < 0 ? -errno : 0;
}

static void do_delete_partition(struct scene *s)
{
	vft_partition_delete(&s->dom, 2);
}

static int do_extra(struct scene *s)
{
	return vft_domain_create(&s->extra, 4, NULL);
}

static void do_delete_extra(struct scene *s)
{
	vft_domain_delete(&s->extra, true);
}

static int do_join_extra(struct scene *s)
{
	return do_extra(s) ?: get(s, vft_join(&s->extra, 1));
}

static void do_close_delete_extra(struct scene *s)
{
	do_close(s);
	do_delete_extra(s);
}

/* --- One by one ---------------------------------------------------------------------- */

FIXTURE(fail) {
	struct scene s;
	struct vft_nl events;
};

FIXTURE_VARIANT(fail) {
	struct subject sub;
};

#define SUBJECT(name)	FIXTURE_VARIANT_ADD(fail, name)
#define CALL(...)	.sub = { .call = __VA_ARGS__ }
#define ASK(...)	.sub = { .ask = __VA_ARGS__ }
#define DUMP(name)	.sub = { .ask = { CMD(name) }, .dump = true }
/* One of each kind, in a domain with an endpoint of rank 1 */
#define FAULT(kind, ...)						\
	.sub = { .ask = { CMD(FAULT_CREATE), { FA(KIND), F(kind), __VA_ARGS__ } },	\
		 .of = OF_EXTRA, .before = do_join_extra, .after = do_close_delete_extra }

SUBJECT(open) { CALL(do_open, .after = do_close) };
SUBJECT(info) { CALL(call_info) };
SUBJECT(attach) { CALL(call_attach, .before = do_open, .after = do_close) };
SUBJECT(attach_any) { CALL(call_attach_any, .before = do_open, .after = do_close) };

SUBJECT(detach) {
	CALL(call_detach, .before = do_join_with_window, .after = do_unmap_close, .none = true)
};

SUBJECT(close) { CALL(call_close, .before = do_join_with_window, .after = do_unmap, .none = true) };
SUBJECT(alloc) { CALL(call_alloc, .after = do_free) };
SUBJECT(alloc_huge) { CALL(call_alloc_huge, .after = do_free) };
SUBJECT(free) { CALL(call_free, .before = do_join_with_window, .after = do_unmap_close) };
SUBJECT(lookup) { CALL(call_lookup) };
SUBJECT(lookup_late) { CALL(call_lookup_late, .result = -ETIMEDOUT) };
SUBJECT(import) { CALL(call_import, .after = do_release) };
SUBJECT(import_of_new) { CALL(call_import_of_new, .before = do_join, .after = do_close) };
SUBJECT(release) { CALL(call_release, .before = call_import) };
SUBJECT(bell) { CALL(call_bell, .after = do_release) };
SUBJECT(ring) { CALL(call_ring, .none = true) };
SUBJECT(wait) { CALL(call_wait, .before = do_look_at_bell, .result = -ETIMEDOUT, .none = true) };
SUBJECT(eventfd) { CALL(call_eventfd, .before = do_eventfd, .after = do_unbind) };
SUBJECT(counts) { CALL(call_counts, .before = do_join, .after = do_close) };

SUBJECT(pace) {
	CALL(call_pace, .first = { CMD(DOMAIN_SET), { A(SHAPE), 1 } },
	     .then = { CMD(DOMAIN_SET), { A(SHAPE), 0 } })
};

SUBJECT(mmap) { CALL(call_mmap, .before = call_import, .after = do_unmap) };
SUBJECT(touch) { CALL(call_touch, .before = do_import_map, .after = do_unmap, .none = true) };
SUBJECT(mprotect) { CALL(call_mprotect, .before = do_import_map, .after = do_unmap) };
SUBJECT(fork) { CALL(call_fork, .before = do_import_map, .after = do_unmap) };
SUBJECT(read) { CALL(call_read, .before = do_event) };
SUBJECT(poll) { CALL(call_poll) };
SUBJECT(ring_eventfd) {
	CALL(call_ring, .before = do_bind_to_peer, .after = do_unbind_peer, .none = true)
};

SUBJECT(touch_lost) { CALL(call_touch, .before = do_lose, .after = do_regain, .none = true) };

SUBJECT(system_get) { ASK({ CMD(SYSTEM_GET) }, .of = OF_NONE) };

SUBJECT(system_set) {
	ASK({ CMD(SYSTEM_SET), { A(NETNS_MODE), VFAB_NETNS_EXCLUSIVE } }, .of = OF_NONE)
};

SUBJECT(domain_get) { ASK({ CMD(DOMAIN_GET) }) };

SUBJECT(domain_create) {
	ASK({ CMD(DOMAIN_CREATE), { A(DOMAIN_NAME), 1, A(WORLD), 8, A(PLANES), 4 } }, .of = OF_NONE,
	    .then = { CMD(DOMAIN_DELETE), { A(DOMAIN_NAME), 1 } })
};

SUBJECT(domain_create_links) {
	ASK({ CMD(DOMAIN_CREATE), { A(DOMAIN_NAME), 1, A(WORLD), 2, A(SWITCHES), 1, A(LINKS), 1 } },
	    .of = OF_NONE, .then = { CMD(DOMAIN_DELETE), { A(DOMAIN_NAME), 1 } })
};

SUBJECT(domain_create_hgx) {
	ASK({ CMD(DOMAIN_CREATE), { A(DOMAIN_NAME), 1, A(WORLD), 8, A(PLANES), 4,
	    A(PARTITION_MODE), VFAB_PARTITIONS_HGX15 } },
	    .of = OF_NONE, .then = { CMD(DOMAIN_DELETE), { A(DOMAIN_NAME), 1 } })
};

SUBJECT(domain_create_per_node) {
	ASK({ CMD(DOMAIN_CREATE), { A(DOMAIN_NAME), 1, A(WORLD), 8, A(NODES), 4,
	    A(PARTITION_MODE), VFAB_PARTITIONS_PER_NODE } },
	    .of = OF_NONE, .then = { CMD(DOMAIN_DELETE), { A(DOMAIN_NAME), 1 } })
};

SUBJECT(domain_delete) {
	ASK({ CMD(DOMAIN_DELETE), { A(FORCE), 1 } }, .of = OF_EXTRA, .before = do_join_extra,
	    .after = do_close)
};

SUBJECT(domain_set) {
	ASK({ CMD(DOMAIN_SET), { A(RETRY_TIMEOUT), 5, A(PEER_DEATH), 1 } },
	    .then = { CMD(DOMAIN_SET), { A(RETRY_TIMEOUT), 0, A(PEER_DEATH), 0 } })
};

SUBJECT(domain_set_shape) {
	ASK({ CMD(DOMAIN_SET), { A(SHAPE), 1 } }, .of = OF_EXTRA, .before = do_join_extra,
	    .after = do_close_delete_extra)
};

SUBJECT(domain_set_retry_held) {
	ASK({ CMD(DOMAIN_SET), { A(RETRY_TIMEOUT), 5 } }, .of = OF_EXTRA, .before = do_join_extra,
	    .after = do_close_delete_extra)
};

SUBJECT(partition_get) { ASK({ CMD(PARTITION_GET), { A(PARTITION), 1 } }) };

SUBJECT(partition_create) {
	ASK({ CMD(PARTITION_CREATE), { A(PARTITION), 2, A(ADD_MEMBERS), 4 } },
	    .then = { CMD(PARTITION_SET), { A(PARTITION), 0, A(ADD_MEMBERS), 4 } },
	    .after = do_delete_partition)
};

SUBJECT(partition_delete) {
	ASK({ CMD(PARTITION_DELETE), { A(PARTITION), 2 } },
	    .first = { CMD(PARTITION_CREATE), { A(PARTITION), 2, A(PARTITION_NAME), 1 } })
};

SUBJECT(partition_set_move) {
	ASK({ CMD(PARTITION_SET), { A(PARTITION), 1, A(ADD_MEMBERS), 2 } }, .before = do_import_map,
	    .after = do_unmap,
	    .then = { CMD(PARTITION_SET), { A(PARTITION), 0, A(ADD_MEMBERS), 2 } })
};

SUBJECT(partition_set_park) {
	ASK({ CMD(PARTITION_SET), { A(PARTITION), 0, A(PARK_MEMBERS), 2 } },
	    .then = { CMD(PARTITION_SET), { A(PARTITION), 0, A(UNPARK_MEMBERS), 2 } })
};

SUBJECT(partition_set_resiliency) {
	ASK({ CMD(PARTITION_SET), { A(PARTITION), 0, A(RESILIENCY), 1 } },
	    .then = { CMD(PARTITION_SET), { A(PARTITION), 0, A(RESILIENCY), 0 } })
};

SUBJECT(endpoint_get) { ASK({ CMD(ENDPOINT_GET), { A(RANK), 0 } }) };

SUBJECT(endpoint_set) {
	ASK({ CMD(ENDPOINT_SET), { A(RANK), 2, A(EVICT), 1 } }, .before = do_join_with_window,
	    .after = do_unmap_close)
};

SUBJECT(window_get) { ASK({ CMD(WINDOW_GET), { A(HANDLE), 1 } }) };
SUBJECT(switch_get) { ASK({ CMD(SWITCH_GET), { A(SWITCH), 0 } }) };

SUBJECT(switch_set) {
	ASK({ CMD(SWITCH_SET), { A(SWITCH), 0, A(UP), 0 } },
	    .then = { CMD(SWITCH_SET), { A(SWITCH), 0, A(UP), 1 } })
};

SUBJECT(port_get) { ASK({ CMD(PORT_GET), { A(RANK), 0, A(PORT), 0 } }) };

SUBJECT(port_set) {
	ASK({ CMD(PORT_SET), { A(RANK), 0, A(PORT), 0, A(UP), 0 } },
	    .then = { CMD(PORT_SET), { A(RANK), 0, A(PORT), 0, A(UP), 1 } })
};

SUBJECT(port_set_flap) {
	ASK({ CMD(PORT_SET), { A(RANK), 0, A(PORT), 0, A(FLAP_PERIOD), 3600000 } }, .of = OF_EXTRA,
	    .before = do_extra, .after = do_delete_extra)
};

SUBJECT(link_get) { ASK({ CMD(LINK_GET), { A(RANK), 0, A(PORT), 0 } }) };

SUBJECT(link_set) {
	ASK({ CMD(LINK_SET), { A(RANK), 1, A(UP), 0 } }, .before = do_import_map, .after = do_unmap,
	    .then = { CMD(LINK_SET), { A(RANK), 1, A(UP), 1 } })
};

SUBJECT(link_set_rate) {
	ASK({ CMD(LINK_SET), { A(RANK), 1, A(RATE), 1000 } },
	    .then = { CMD(LINK_SET), { A(RANK), 1, A(RESTORE), 1 } })
};

SUBJECT(route_get) { ASK({ CMD(ROUTE_GET), { A(SWITCH), 0, A(DEST), 0 } }) };

SUBJECT(route_set) {
	ASK({ CMD(ROUTE_SET), { A(DEST), 1, A(DROP), 1 } }, .of = OF_EXTRA, .before = do_join_extra,
	    .after = do_close_delete_extra)
};

SUBJECT(route_set_entries) {
	ASK({ CMD(ROUTE_SET), { A(ENTRIES), 1 } }, .of = OF_EXTRA, .before = do_join_extra,
	    .after = do_close_delete_extra)
};

SUBJECT(route_trace) { ASK({ CMD(ROUTE_TRACE), { A(SRC), 0, A(DST), 1 } }) };
SUBJECT(path_get) { ASK({ CMD(PATH_GET), { A(RANK), 0 } }) };
SUBJECT(channel_get) { ASK({ CMD(CHANNEL_GET), { A(PARTITION), 1, A(CHANNEL), 5 } }) };

SUBJECT(channel_create) {
	ASK({ CMD(CHANNEL_CREATE), { A(PARTITION), 1, A(CHANNEL), 6 } },
	    .then = { CMD(CHANNEL_DELETE), { A(PARTITION), 1, A(CHANNEL), 6 } })
};

SUBJECT(channel_delete) {
	ASK({ CMD(CHANNEL_DELETE), { A(PARTITION), 1, A(CHANNEL), 6 } },
	    .first = { CMD(CHANNEL_CREATE), { A(PARTITION), 1, A(CHANNEL), 6 } })
};

SUBJECT(counter_get) {
	ASK({ CMD(COUNTER_GET), { A(RANK), 0 } }, .of = OF_EXTRA, .before = do_extra,
	    .after = do_delete_extra)
};

SUBJECT(counter_clear) { ASK({ CMD(COUNTER_CLEAR), { A(RANK), 0 } }) };

SUBJECT(manager_heartbeat) {
	ASK({ CMD(MANAGER_HEARTBEAT), { A(MANAGER_TIMEOUT), 3600000, A(MANAGER_NOTE), 1 } },
	    .of = OF_EXTRA, .before = do_extra, .after = do_delete_extra)
};

SUBJECT(manager_goodbye) {
	ASK({ CMD(MANAGER_GOODBYE) }, .of = OF_EXTRA, .before = do_extra,
	    .first = { CMD(MANAGER_HEARTBEAT), { A(MANAGER_TIMEOUT), 3600000 } },
	    .after = do_delete_extra)
};

SUBJECT(fault_get) { ASK({ CMD(FAULT_GET), { FA(ID), 1 } }) };

SUBJECT(fault_delete) {
	ASK({ CMD(FAULT_DELETE) }, .of = OF_EXTRA, .before = do_join_extra,
	    .after = do_close_delete_extra,
	    .first = { CMD(FAULT_CREATE), { FA(KIND), F(LINK_DOWN), A(RANK), 1 } })
};

SUBJECT(fault_link_down) { FAULT(LINK_DOWN, A(RANK), 1) };
SUBJECT(fault_link_flap) { FAULT(LINK_FLAP, A(RANK), 1, A(FLAP_PERIOD), 3600000) };
SUBJECT(fault_link_degrade) { FAULT(LINK_DEGRADE, A(RANK), 1, A(RATE), 10) };
SUBJECT(fault_blackhole) { FAULT(BLACKHOLE, A(RANK), 1, FA(DURATION), 600000) };
SUBJECT(fault_stuck) { FAULT(STUCK, A(RANK), 2) };
SUBJECT(fault_override) { FAULT(OVERRIDE, A(RANK), 1, A(CLIQUE), 1) };
SUBJECT(fault_peer_kill) { FAULT(PEER_KILL, A(RANK), 1, FA(SPARE), 1) };
SUBJECT(fault_manager_stall) { FAULT(MANAGER_STALL, FA(DURATION), 3600000) };
SUBJECT(fault_import_refuse) { FAULT(IMPORT_REFUSE, A(RANK), 1) };
SUBJECT(fault_quota) { FAULT(QUOTA, FA(ALL), 1) };
SUBJECT(fault_event_delay) { FAULT(EVENT_DELAY, A(RANK), 1, FA(DELAY), 10) };
SUBJECT(fault_event_reorder) { FAULT(EVENT_REORDER, A(RANK), 1) };
SUBJECT(fault_event_drop) { FAULT(EVENT_DROP, A(RANK), 1) };
SUBJECT(fault_after) { FAULT(LINK_DOWN, A(RANK), 1, FA(AFTER), 3600000) };

SUBJECT(dump_domain_get) { DUMP(DOMAIN_GET) };
SUBJECT(dump_partition_get) { DUMP(PARTITION_GET) };
SUBJECT(dump_endpoint_get) { DUMP(ENDPOINT_GET) };
SUBJECT(dump_window_get) { DUMP(WINDOW_GET) };
SUBJECT(dump_switch_get) { DUMP(SWITCH_GET) };
SUBJECT(dump_port_get) { DUMP(PORT_GET) };
SUBJECT(dump_link_get) { DUMP(LINK_GET) };
SUBJECT(dump_route_get) { DUMP(ROUTE_GET) };
SUBJECT(dump_path_get) { DUMP(PATH_GET) };
SUBJECT(dump_channel_get) { DUMP(CHANNEL_GET) };
SUBJECT(dump_counter_get) { DUMP(COUNTER_GET) };
SUBJECT(dump_fault_get) { DUMP(FAULT_GET) };

FIXTURE_SETUP(fail)
{
	struct scene *s = &self->s;

	s->a = -1;
	s->b = -1;
	s->fd = -1;
	if (access(FAIL_NTH, F_OK))
		SKIP(return, "this kernel cannot fail on request");
	ASSERT_EQ(true, fail_open());
	ASSERT_EQ(0, vft_domain_create(&s->dom, 4, NULL));
	ASSERT_EQ(0, vft_partition_create(&s->dom, 1, "other", 3, 1));
	ASSERT_EQ(0, vft_channel_create(&s->dom, 1, 5, 0, 0, 0));
	s->a = vft_join(&s->dom, 0);
	s->b = vft_join(&s->dom, 1);
	ASSERT_LE(0, s->a);
	ASSERT_LE(0, s->b);
	ASSERT_EQ(0, vft_alloc(s->b, 2 * VFT_PAGE, 7, VFT_RW, &s->handle));
	ASSERT_EQ(0, quietly(s, &(struct subject){ }, &(struct ask){
		CMD(FAULT_CREATE), { FA(KIND), F(OVERRIDE), A(RANK), 3, A(CLIQUE), 1 } }));
	ASSERT_EQ(0, vft_nl_open(&self->events));
	ASSERT_EQ(0, vft_nl_listen(&self->events));
}

FIXTURE_TEARDOWN_PARENT(fail)
{
	EXPECT_EQ(0, vft_domain_end(&self->s.dom));
}

/* How many events came, or -ENOBUFS where it is said that some did not */
static int events(struct vft_nl *nl)
{
	char buf[8192];
	int n = 0, ret = 0;
	ssize_t len;

	do {
		len = recv(nl->fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (len > 0)
			n++;
		else if (len < 0 && errno == ENOBUFS)
			ret = -ENOBUFS;
	} while (len > 0 || (len < 0 && (errno == ENOBUFS || errno == EINTR)));
	return ret ?: n;
}

/* The call, whose @nth allocation fails (0: none): what it returns, whether one did */
static int call(struct scene *s, const struct subject *sub, unsigned int nth, bool *failed)
{
	struct vft_req req;
	int ret;

	if (sub->call) {
		fail_nth(nth);
		ret = sub->call(s);
		*failed = fail_ended() && nth;
		return ret;
	}
	build(s, sub, &sub->ask, sub->dump, &req);
	fail_nth(nth);
	ret = vft_send(nl(), &req);
	/* what it has done it has done when it is sent; a dump goes on */
	if (!sub->dump)
		*failed = fail_ended() && nth;
	ret = ret ?: vft_recv(nl(), NULL, NULL);
	if (sub->dump)
		*failed = fail_ended() && nth;
	/* a dump that broke off goes on in the socket */
	if (ret && sub->dump)
		vft_nl_reset();
	return ret;
}

TEST_F_TIMEOUT(fail, each_in_turn, 600)
{
	const struct subject *sub = &variant->sub;
	struct scene *s = &self->s;
	const struct vft_domain *dom = &s->dom;
	unsigned int nth, i, fails = 0;
	struct state was, is;
	unsigned int answers = 0;
	bool failed;
	int expected = 0;

	if (sub->call == call_fork && vft_uml())
		SKIP(return, "User Mode Linux ends when fork() finds no memory");
	nl();
	for (nth = 0; nth < TRIES; nth++) {
		int ret, n;

		ASSERT_EQ(0, sub->before ? sub->before(s) : 0);
		if (sub->of == OF_EXTRA)
			dom = &s->extra;
		ASSERT_EQ(0, quietly(s, sub, &sub->first));
		ASSERT_EQ(0, look(dom, &was));
		ret = call(s, sub, nth, &failed);
		if (!failed)
			ASSERT_EQ(sub->result, ret) {
				TH_LOG("nothing failed, but %s", strerror(-ret));
			}
		fails += failed;
		if (ret != sub->result) {
			bool changed;

			EXPECT_EQ(true, ret == -ENOMEM || ret == -EFAULT || ret == -ENOBUFS) {
				TH_LOG("nth %u: %s", nth, strerror(-ret));
			}
			/*
			 * ENOBUFS: the acknowledgment may be what could not be made.
			 * EFAULT: the device's answer, which is one copy; two, as an
			 * id may take an allocation more than the one before it did.
			 */
			changed = look(dom, &is) || memcmp(&was, &is, sizeof(was));
			answers += changed && sub->call && ret == -EFAULT;
			EXPECT_EQ(true, !changed || ret == -ENOBUFS ||
				  (sub->call && ret == -EFAULT && answers <= 2)) {
				TH_LOG("nth %u: it said %s, but changed something", nth,
				       strerror(-ret));
				for (i = 0; i < SHOWN; i++)
					if (was.sum[i] != is.sum[i])
						TH_LOG("what command %d shows", shown[i]);
			}
			if (!changed)
				EXPECT_EQ(sub->result, call(s, sub, 0, &failed)) {
					TH_LOG("nth %u: after %s it does not work", nth,
					       strerror(-ret));
				}
			failed = true;
		}
		EXPECT_EQ(0, quietly(s, sub, &sub->then));
		if (sub->after)
			sub->after(s);
		n = events(&self->events);
		if (!nth)
			expected = n;
		/* what was done but not acknowledged may have been done twice */
		EXPECT_EQ(true, n == expected || n == -ENOBUFS ||
			  (ret == -ENOBUFS && n == 2 * expected)) {
			TH_LOG("nth %u: %d events instead of %d", nth, n, expected);
		}
		if (nth && !failed)
			break;
	}
	EXPECT_GT(TRIES, nth);
	EXPECT_EQ(true, fails || sub->none);
	TH_LOG("%u failures", fails);
	close(s->a);
	close(s->b);
}

/* Loading the module is a call as well, with an unwinding of its own. */
FIXTURE(loading) {
	int ko;
};

static int load(int ko)
{
	return syscall(SYS_finit_module, ko, "", 0) ? -errno : 0;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "vfabric", O_NONBLOCK) ? -errno : 0;
}

static bool loaded(void)
{
	return !access("/sys/module/vfabric", F_OK);
}

FIXTURE_SETUP(loading)
{
	if (access(FAIL_NTH, F_OK))
		SKIP(return, "this kernel cannot fail on request");
	ASSERT_NE(NULL, getenv("VFABRIC_KO"));
	self->ko = open(getenv("VFABRIC_KO"), O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, self->ko);
	ASSERT_EQ(true, fail_open());
	ASSERT_EQ(0, unload());
}

FIXTURE_TEARDOWN(loading)
{
	if (!loaded())
		EXPECT_EQ(0, load(self->ko));
	close(self->ko);
}

TEST_F_TIMEOUT(loading, each_in_turn, 600)
{
	unsigned int nth, refused = 0, copies = 0;
	bool failed = true;
	int ret = 0;

	for (nth = 1; failed; nth++) {
		fail_nth(nth);
		ret = load(self->ko);
		failed = fail_ended();
		ASSERT_EQ(!ret, loaded());
		if (!ret && failed)
			ASSERT_EQ(0, unload());
		/* The kernel itself copies the parameters */
		if (ret == -EFAULT)
			copies++;
		else if (ret)
			EXPECT_EQ(-ENOMEM, ret) {
				TH_LOG("nth %u: %s", nth, strerror(-ret));
			}
		refused += !!ret;
	}
	EXPECT_EQ(0, ret);
	EXPECT_LT(0, refused);
	EXPECT_GE(1, copies);
	TH_LOG("%u of %u failures refuse it", refused, nth - 2);
}

TEST_HARNESS_MAIN
