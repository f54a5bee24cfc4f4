// SPDX-License-Identifier: GPL-2.0
/*
 * placed: domains whose ranks are placed on several VMs.
 *
 * Runs in every VM of a cluster, and goes through the same steps in each: node 0
 * and node 1 act, all wait for one another between the steps. Prints TAP.
 * By example:
 *
 *	scripts/vm cluster 2 -- sh -c 'insmod $VFABRIC_KO && build/selftests/cluster/placed'
 *	... placed -n 10000000 -d 1000000 windows bells atomics    these alone, so often
 *	... placed make        leaves a domain "job", ranks 0 and 1 here, 2 and 3 there
 *	... placed survivor    in node 0 and "victim" in node 1, which is then killed;
 *	                       or the other way round: see selftests/host/placed.sh
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vft.h"

#define BACKPLANE "cluster"
#define LATE_MS 60000	/* what must not take so long, on however slow a machine */

static unsigned int node, nodes, count, failed;
static unsigned long atomics = 100000, dings = 2000;

/* --- Saying, and waiting for one another ----------------------------------------- */

static bool check(bool ok, const char *file, int line, const char *format, ...)
{
	va_list args;

	printf("%sok %u - ", ok ? "" : "not ", ++count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	if (!ok)
		printf(" (%s:%d: %s%s)", file, line, strerror(errno), vft_nl()->text);
	printf("\n");
	fflush(stdout);
	failed += !ok;
	return ok;
}

#define CHECK(ok, ...) check(ok, __FILE_NAME__, __LINE__, __VA_ARGS__)

/* For what later steps need */
#define NEED(ok, ...) do {						\
	if (!CHECK(ok, __VA_ARGS__)) {					\
		printf("Bail out! node %u\n", node);			\
		exit(1);						\
	}								\
} while (0)

static struct {
	struct vft_domain dom;
	int fd;
	volatile uint64_t *word;	/* by node: how many steps are behind it */
} meet;

/* Everybody comes here before anybody goes on. */
static void together(void)
{
	static uint64_t step;
	unsigned int i;

	step++;
	__atomic_store_n(&meet.word[node * 8], step, __ATOMIC_RELEASE);
	for (i = 0; i < nodes; i++)
		if (!vft_until(LATE_MS, __atomic_load_n(&meet.word[i * 8],
							__ATOMIC_ACQUIRE) >= step))
			NEED(false, "node %u is there", i);
}

static int create(struct vft_domain *dom, const char *name, uint32_t world, const uint8_t *place)
{
	struct vft_options opt = { .name = name, .backplane = BACKPLANE, .place = place };

	return vft_domain_create(dom, world, &opt);
}

/* Node 0's, and its mirrors. */
static void domain(struct vft_domain *dom, const char *name, uint32_t world, const uint8_t *place)
{
	if (!node)
		NEED(!create(dom, name, world, place), "%s: created", name);
	else
		NEED(vft_until(LATE_MS, !vft_domain_find(dom, name)), "%s: mirrored", name);
}

/* Whoever has a rank leaves; then it is deleted, without force. */
static void leave(struct vft_domain *dom, int fd)
{
	together();
	if (fd >= 0)
		close(fd);
	together();
	if (!node)
		CHECK(!vft_domain_end(dom), "the end, when all have gone");
	together();
}

/* The device file of a mirror is made by udev or devtmpfs a moment later. */
static int join(const struct vft_domain *dom, uint32_t rank)
{
	int fd = -ENOENT;

	vft_until(LATE_MS, (fd = vft_join(dom, rank)) != -ENOENT);
	return fd;
}

static void begin(void)
{
	uint8_t place[VFAB_MAX_WORLD];
	uint64_t handle;
	unsigned int i;

	for (i = 0; i < nodes; i++)
		place[i] = i;
	/* The device may be taken up a moment after the module was loaded */
	vft_quiet = true;
	if (!node && !vft_until(LATE_MS, create(&meet.dom, "meet", nodes, place) != -ENODEV))
		NEED(false, "there is a backplane");
	vft_quiet = false;
	if (node || !meet.dom.exists)
		NEED(vft_until(LATE_MS, !vft_domain_find(&meet.dom, "meet")), "meet: there");
	meet.fd = join(&meet.dom, node);
	NEED(meet.fd >= 0, "node %u attaches", node);
	if (!node)
		NEED(!vft_alloc(meet.fd, VFT_PAGE, 1, VFT_RW, &handle), "a window to meet in");
	else
		NEED(!vft_lookup(meet.fd, 0, 1, vft_now() + LATE_MS * VFT_MS, &handle),
		     "LOOKUP waits for a window of another node");
	meet.word = vft_import_map(meet.fd, handle, VFT_PAGE, VFT_RW, VFAB_LOSS_SIGBUS);
	NEED(meet.word, "it is mapped");
	together();
}

/* --- What is refused ------------------------------------------------------------- */

static int refused(int cmd, const struct vft_domain *dom, int attr, uint32_t value)
{
	struct vft_req req;

	vft_req(&req, vft_nl(), cmd, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	if (attr)
		vft_put_u32(&req, attr, value);
	return vft_call(vft_nl(), &req, NULL, NULL);
}

static int create_with(const char *backplane, const uint8_t *place, uint32_t len, int attr,
		       uint32_t value)
{
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_CREATE, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_WORLD, 4);
	if (backplane)
		vft_put_str(&req, VFAB_A_BACKPLANE, backplane);
	if (place)
		vft_put(&req, VFAB_A_PLACE, place, len);
	if (attr)
		vft_put_u32(&req, attr, value);
	return vft_call(vft_nl(), &req, NULL, NULL);
}

static bool said(const char *text)
{
	return strstr(vft_nl()->text, text);
}

static void test_creation_refused(void)
{
	static const uint8_t place[] = { 0, 0, 1, 1 }, bad[] = { 0, 0, 63, 1 };
	unsigned int before = vft_domain_count();

	CHECK(create_with("nobody", place, 4, 0, 0) == -ENODEV && said("no backplane of this name"),
	      "refused: another backplane");
	CHECK(create_with(BACKPLANE, NULL, 0, 0, 0) == -EINVAL && said("give both"),
	      "refused: a backplane without places");
	CHECK(create_with(NULL, place, 4, 0, 0) == -EINVAL && said("give both"),
	      "refused: places without a backplane");
	CHECK(create_with(BACKPLANE, place, 3, 0, 0) == -EINVAL && said("for each rank"),
	      "refused: not as many places as ranks");
	CHECK(create_with(BACKPLANE, bad, 4, 0, 0) == -EINVAL && said("does not have"),
	      "refused: a node that there is not");
	CHECK(create_with(BACKPLANE, place, 4, VFAB_A_NODES, 2) == -EOPNOTSUPP,
	      "refused: nodes of its own");
	CHECK(create_with(BACKPLANE, place, 4, VFAB_A_PARTITION_MODE,
			  VFAB_PARTITIONS_PER_NODE) == -EOPNOTSUPP, "refused: partitions per node");
	CHECK(create_with(BACKPLANE, place, 4, VFAB_A_PEER_DEATH,
			  VFAB_PEER_DEATH_KEEP) == -EOPNOTSUPP, "refused: windows that are kept");
	CHECK(vft_domain_count() == before, "and nothing was made");
}

static void test_owner_refused(const struct vft_domain *dom)
{
	CHECK(refused(VFAB_CMD_DOMAIN_SET, dom, VFAB_A_RETRY_TIMEOUT, 5) == -EOPNOTSUPP,
	      "refused: to set what was chosen at creation");
	CHECK(refused(VFAB_CMD_FAULT_CREATE, dom, VFAB_A_FAULT_KIND, VFAB_FAULT_QUOTA) ==
	      -EOPNOTSUPP, "refused: a fault that is not of links");
	CHECK(vft_link_node(dom, 0, false) == -EOPNOTSUPP, "refused: links of a node");
	CHECK(vft_evict(dom, 2) == -EREMOTE && said("node 1"),
	      "refused: to evict what is held on another node");
}

static void test_mirror_refused(const struct vft_domain *dom)
{
	struct vft_domain copy = *dom;

	CHECK(vft_link(dom, 0, -1, false) == -EREMOTE && said("node 0"),
	      "refused on a mirror: a link, and whose it is");
	CHECK(vft_partition_create(dom, 5, "five", 0, 1) == -EREMOTE,
	      "refused on a mirror: a partition");
	CHECK(vft_channel_create(dom, 0, 1, 0, 0, 0) == -EREMOTE, "refused on a mirror: a channel");
	CHECK(vft_domain_delete(&copy, true) == -EREMOTE, "refused on a mirror: its end");
	CHECK(vft_route_drop(dom, 0, 1) == -EREMOTE, "refused on a mirror: a route");
	CHECK(vft_join(dom, 0) == -EXDEV, "refused: a rank that is placed elsewhere");
}

static void test_refusals(void)
{
	static const uint8_t place[] = { 0, 0, 1, 1 };
	struct vft_domain dom;
	int fd = -1;

	if (!node)
		test_creation_refused();
	domain(&dom, "refusals", 4, place);
	if (node == 1) {
		fd = join(&dom, VFAB_RANK_ANY);
		CHECK(vft_endpoint_get(&dom, 2, VFAB_A_HELD) == 1,
		      "any rank is one of this node's");
		test_mirror_refused(&dom);
	}
	together();
	if (!node) {
		CHECK(vft_until(LATE_MS, vft_endpoint_get(&dom, 2, VFAB_A_HELD) == 1),
		      "the owner shows it");
		CHECK(vft_endpoint_get(&dom, 2, VFAB_A_NODE) == 1 &&
		      vft_domain_get(&dom, VFAB_A_OWNER) == 0, "and on which node");
		test_owner_refused(&dom);
		CHECK(vft_domain_delete(&dom, false) == -EBUSY,
		      "refused: to delete what is held on another node");
	}
	together();
	leave(&dom, fd);
	CHECK(vft_domain_find(&dom, "refusals") == -ENOENT, "and no mirror is left");
}

/* --- Windows --------------------------------------------------------------------- */

#define SIZE (2 * VFT_HUGE)

static uint64_t mark(unsigned int from, unsigned long i)
{
	return (uint64_t)(from + 1) << 56 | i * 0x9e3779b97f4a7c15 >> 8;
}

static void fill(volatile uint64_t *p, unsigned int from)
{
	unsigned long i;

	for (i = 0; i < SIZE / 8; i += 61)
		p[i] = mark(from, i);
}

static unsigned long wrong(const volatile uint64_t *p, unsigned int from)
{
	unsigned long i, n = 0;

	for (i = 0; i < SIZE / 8; i += 61)
		n += p[i] != mark(from, i);
	return n;
}

static unsigned long not_zero(const volatile uint64_t *p)
{
	unsigned long i, n = 0;

	for (i = 0; i < SIZE / 8; i++)
		n += !!p[i];
	return n;
}

static void test_windows(void)
{
	static const uint8_t place[] = { 0, 0, 1, 1 };
	uint64_t handle, other, cookie;
	struct vft_domain dom;
	volatile uint64_t *own = NULL, *far = NULL;
	unsigned int me = node * 2, peer = 2 - me;
	int fd = -1, i, dirty = 0;

	domain(&dom, "windows", 4, place);
	if (node < 2) {
		fd = join(&dom, me);
		NEED(fd >= 0, "attached");
		NEED(!vft_alloc(fd, SIZE, 7, VFT_RW, &handle), "a window");
		NEED(!vft_lookup(fd, peer, 7, vft_now() + LATE_MS * VFT_MS, &other),
		     "the other node's is found");
		own = vft_import_map(fd, handle, SIZE, VFT_RW, VFAB_LOSS_SIGBUS);
		far = vft_import_map(fd, other, SIZE, VFT_RW, VFAB_LOSS_SIGBUS);
		NEED(own && far, "both are mapped");
		CHECK(!not_zero(own) && !not_zero(far), "and zero");
	}
	together();
	if (node < 2)
		fill(far, node);
	together();
	if (node < 2) {
		CHECK(!wrong(own, !node), "what was stored on the other node is here");
		CHECK(vft_import(fd, 0x1234567800000000 | 1, VFT_R, 0, &cookie) == -ENOENT,
		      "no such handle");
	}
	together();
	if (!node)
		CHECK(!vft_free(fd, handle), "freed");
	together();
	if (node == 1) {
		CHECK(vft_touch(far) == SIGBUS, "when that has returned, SIGBUS on the other node");
		CHECK(vft_lookup(fd, peer, 7, 0, &other) == -ENOENT,
		      "and it is not found any more");
		CHECK(vft_view(fd)->peer[0].revoked == 1, "and the view tells");
	}
	/* The memory that was freed is given out again, and is zero */
	for (i = 0; i < 20 && !node; i++) {
		NEED(!vft_alloc(fd, SIZE, 100 + i, VFT_RW, &handle), "window %d of 20", i);
		far = vft_import_map(fd, handle, SIZE, VFT_RW, VFAB_LOSS_SIGBUS);
		dirty += !far || not_zero(far);
	}
	if (!node)
		CHECK(!dirty, "what is given out later is zero");
	together();
	if (node == 1)
		CHECK(vft_until(LATE_MS, vft_endpoint_get(&dom, 0, VFAB_A_WINDOWS) == 20) &&
		      vft_endpoint_get(&dom, 0, VFAB_A_MEM_USED) == 20 * SIZE,
		      "all of them are shown on the other node");
	leave(&dom, fd);
}

static void take_used(const struct vft_msg *msg, void *arg)
{
	*(uint64_t *)arg = vft_u64(msg, VFAB_A_DATA_USED);
}

/* Bytes of this node's part that are not free. */
static uint64_t used(void)
{
	uint64_t bytes = 0;
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_BACKPLANE_GET, NLM_F_ACK);
	vft_put_str(&req, VFAB_A_BACKPLANE, BACKPLANE);
	vft_call(vft_nl(), &req, take_used, &bytes);
	return bytes;
}

/* Files that hold no endpoint, not yet or no more, have nothing of what all share. */
static void hoard(const struct vft_domain *dom, uint32_t held, uint32_t vacant)
{
	uint64_t before = used();
	unsigned int i, ended = 0, refused = 0;
	int fd[32];

	for (i = 0; i < 32; i++) {
		fd[i] = vft_open(dom, 0);
		if (i % 2)
			ended += !vft_attach(fd[i], vacant) && !vft_detach(fd[i]);
		else
			refused += vft_attach(fd[i], held) == -EBUSY;
	}
	CHECK(ended == 16 && refused == 16, "%u files whose endpoint ended, %u that never had one",
	      ended, refused);
	CHECK(before && vft_until(LATE_MS, used() <= before),
	      "have nothing of this node's part: %llu bytes used, %llu before",
	      (unsigned long long)used(), (unsigned long long)before);
	for (i = 0; i < 32; i++)
		close(fd[i]);
}

static void test_full(void)
{
	static const uint8_t place[] = { 0, 1, 0, 1 };
	unsigned int i, n = 0, again = 0;
	uint64_t handle[256];
	struct vft_domain dom;
	int fd = -1, ret = 0;

	domain(&dom, "full", 4, place);
	if (node < 2) {
		fd = join(&dom, node);
		NEED(fd >= 0, "attached");
		hoard(&dom, node, node + 2);
		while (n < 256 && !(ret = vft_alloc(fd, 4 * VFT_HUGE, 0, VFT_RW, &handle[n])))
			n++;
		CHECK(ret == -ENOSPC && n > 1,
		      "ENOSPC where this node's part is full: %u windows, %d", n, ret);
		for (i = 0; i < n; i++)
			vft_free(fd, handle[i]);
		/* What others have to follow first takes a moment */
		vft_until(LATE_MS, !vft_alloc(fd, 4 * VFT_HUGE, 0, VFT_RW, &handle[again]) &&
			  ++again == n);
		CHECK(again == n, "and all of it can be had again: %u", again);
	}
	leave(&dom, fd);
}

/* Windows until there are no more for this endpoint */
static unsigned int grab(int fd, int *ret)
{
	unsigned int n = 0;
	uint64_t handle;

	while (!(*ret = vft_alloc(fd, VFT_PAGE, 0, VFT_RW, &handle)))
		n++;
	return n;
}

/* All domains of a node share the records of its windows: none can take them all. */
static void test_share(void)
{
	static const uint8_t place[] = { 0, 0 };
	struct vft_domain greedy, other;
	unsigned int n[3] = { 0 }, i;
	int fd[3] = { -1, -1, -1 }, ret[3];

	domain(&greedy, "greedy", 2, place);
	domain(&other, "other", 2, place);
	for (i = 0; i < 3 && !node; i++) {
		fd[i] = join(i < 2 ? &greedy : &other, i % 2);
		NEED(fd[i] >= 0, "attached");
		n[i] = grab(fd[i], &ret[i]);
	}
	if (!node) {
		CHECK(ret[0] == -ENOSPC && n[0] > 600,
		      "ENOSPC where an endpoint has half of what is left: %u windows, %d", n[0],
		      ret[0]);
		CHECK(ret[1] == -ENOSPC && n[1] > 200,
		      "another one of its domain has windows, too: %u, %d", n[1], ret[1]);
		CHECK(ret[2] == -ENOSPC && n[2] > 300, "and so has another domain: %u, %d", n[2],
		      ret[2]);
		close(fd[1]);
		CHECK(vft_until(LATE_MS, !vft_endpoint_get(&greedy, 1, VFAB_A_HELD)) &&
		      grab(fd[2], &ret[2]) > 0, "which has more when some are given back");
		close(fd[2]);
	}
	leave(&greedy, fd[0]);
	leave(&other, -1);
}

/* --- Doorbells and atomics ------------------------------------------------------- */

/* Who is about to sleep is not waited for by sleeping, at first: there are a million of them. */
static bool asleep(const struct vft_bells *bells, uint32_t vector)
{
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		if (vft_armed(bells, vector))
			return true;
		sched_yield();
	}
	return vft_until(LATE_MS, vft_armed(bells, vector));
}

static void test_bells(void)
{
	static const uint8_t place[] = { 0, 1 };
	unsigned long i, slept = 0, lost = 0, invented = 0;
	uint64_t seen = 0, loss, value, handle;
	volatile uint64_t *word;
	struct vft_bells bells;
	struct vft_domain dom;
	struct pollfd p;
	uint32_t why;
	int fd = -1, ret = 0;

	domain(&dom, "bells", 2, place);
	if (node > 1)
		goto out;
	fd = join(&dom, node);
	NEED(fd >= 0, "attached");
	NEED(vft_until(LATE_MS, vft_view(fd)->peer[!node].state == VFAB_PEER_HELD),
	     "the other is there");
	NEED(!vft_bells(&bells, fd, !node), "its doorbells");
	loss = vft_view(fd)->loss;
	/* In turns: who is rung sleeps, which the ringer sees at its armed word */
	for (i = 0; i < dings; i++) {
		if (i % 2 != node) {
			seen = i / 2;
			ret = vft_wait(fd, 3, &seen, &loss, vft_now() + LATE_MS * VFT_MS, &why);
			lost += ret || why != VFAB_WAIT_COUNT;
			invented += seen != i / 2 + 1;
			if (ret)
				break;
			continue;
		}
		slept += asleep(&bells, 3);
		ret = vft_ding(&bells, 3);
		if (ret)
			break;
	}
	CHECK(!ret && !lost && !invented, "%lu doorbells across, %lu lost, %lu invented",
	      dings, lost, invented);
	CHECK(slept == dings / 2, "and each found its owner armed: %lu", slept);
	CHECK(vft_ring(fd, !node, 64) == -EINVAL, "refused: a vector that there is not");

	p = (struct pollfd){ .fd = eventfd(0, EFD_NONBLOCK), .events = POLLIN };
	if (!node)
		CHECK(!vft_eventfd(fd, 5, p.fd), "an eventfd is bound");
	/* Tells the other that it is */
	if (!node)
		NEED(!vft_alloc(fd, VFT_PAGE, 9, VFT_RW, &handle), "a window");
	else
		NEED(!vft_lookup(fd, 0, 9, vft_now() + LATE_MS * VFT_MS, &handle), "found");
	word = vft_import_map(fd, handle, VFT_PAGE, VFT_RW, VFAB_LOSS_SIGBUS);
	NEED(word, "mapped");
	if (node == 1)
		CHECK(!vft_ding(&bells, 5), "it is rung");
	else
		CHECK(poll(&p, 1, LATE_MS) == 1 && read(p.fd, &value, 8) == 8,
		      "and signalled from the other node");
	close(p.fd);
out:
	leave(&dom, fd);
}

static void test_atomics(void)
{
	uint8_t place[VFAB_MAX_WORLD];
	volatile uint64_t *word;
	struct vft_domain dom;
	uint64_t handle;
	unsigned long i;
	int fd;

	for (i = 0; i < nodes; i++)
		place[i] = i;
	domain(&dom, "atomics", nodes, place);
	fd = join(&dom, node);
	NEED(fd >= 0, "attached");
	if (!node)
		NEED(!vft_alloc(fd, VFT_PAGE, 1, VFT_RW, &handle), "a window");
	else
		NEED(!vft_lookup(fd, 0, 1, vft_now() + LATE_MS * VFT_MS, &handle), "found");
	word = vft_import_map(fd, handle, VFT_PAGE, VFT_RW, VFAB_LOSS_SIGBUS);
	NEED(word, "mapped");
	together();
	for (i = 0; i < atomics; i++) {
		uint64_t was = __atomic_load_n(&word[8], __ATOMIC_RELAXED);

		__atomic_fetch_add(&word[0], 1, __ATOMIC_SEQ_CST);
		while (!__atomic_compare_exchange_n(&word[8], &was, was + 1, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
	}
	together();
	CHECK(word[0] == nodes * atomics && word[8] == nodes * atomics,
	      "counters of %u nodes are exact: %llu and %llu of %lu", nodes,
	      (unsigned long long)word[0], (unsigned long long)word[8], nodes * atomics);
	leave(&dom, fd);
}

/* Each has a window and doorbells, which all others write to and ring. */
static void test_all(void)
{
	uint8_t place[VFAB_MAX_WORLD];
	volatile uint64_t *own, *far;
	uint64_t handle, seen = 0, loss;
	struct vft_bells bells;
	struct vft_domain dom;
	unsigned int i;
	int fd, ret = 0;

	for (i = 0; i < nodes; i++)
		place[i] = i;
	domain(&dom, "all", nodes, place);
	fd = join(&dom, node);
	NEED(fd >= 0 && !vft_alloc(fd, VFT_PAGE, 1, VFT_RW, &handle), "a window");
	own = vft_import_map(fd, handle, VFT_PAGE, VFT_RW, VFAB_LOSS_SIGBUS);
	NEED(own, "mapped");
	loss = vft_view(fd)->loss;
	for (i = 0; i < nodes; i++) {
		if (i == node)
			continue;
		NEED(!vft_lookup(fd, i, 1, vft_now() + LATE_MS * VFT_MS, &handle),
		     "node %u's is found", i);
		far = vft_import_map(fd, handle, VFT_PAGE, VFT_RW, VFAB_LOSS_SIGBUS);
		NEED(far, "and mapped");
		far[node] = mark(node, i);
		CHECK(!vft_bells(&bells, fd, i) && !vft_ding(&bells, 2), "and its owner rung");
	}
	while (!ret && seen < nodes - 1)
		ret = vft_wait(fd, 2, &seen, &loss, vft_now() + LATE_MS * VFT_MS, NULL);
	CHECK(!ret && seen == nodes - 1, "by each of the others once: %llu",
	      (unsigned long long)seen);
	for (i = 0; i < nodes; i++)
		ret |= own[i] != (i == node ? 0 : mark(i, node));
	CHECK(!ret, "whose stores were there before");
	leave(&dom, fd);
}

/* --- Losses ---------------------------------------------------------------------- */

/* A process that holds a rank with a window of tag 1, and sleeps */
static pid_t holder(const struct vft_domain *dom, uint32_t rank)
{
	volatile char *ready = vft_shared(VFT_PAGE);
	pid_t pid = vft_fork();
	uint64_t handle;
	int fd;

	if (pid) {
		NEED(vft_until(LATE_MS, *ready), "a process holds rank %u", rank);
		return pid;
	}
	fd = vft_join(dom, rank);
	if (fd < 0 || vft_alloc(fd, SIZE, 1, VFT_RW, &handle))
		_exit(1);
	*ready = 1;
	for (;;)
		pause();
}

static void test_killed(void)
{
	static const uint8_t place[] = { 0, 1 };
	uint64_t handle, counted = 0, loss = 0;
	volatile uint64_t *far = NULL;
	struct vft_domain dom;
	struct vfab_event e;
	pid_t pid = -1;
	int fd = -1;

	domain(&dom, "killed", 2, place);
	if (node == 1) {
		close(join(&dom, 1));	/* the device file is there */
		pid = holder(&dom, 1);
	}
	together();
	if (!node) {
		fd = join(&dom, 0);
		NEED(fd >= 0, "attached");
		NEED(!vft_lookup(fd, 1, 1, vft_now() + LATE_MS * VFT_MS, &handle), "found");
		far = vft_import_map(fd, handle, SIZE, VFT_RW, VFAB_LOSS_SIGBUS);
		NEED(far && !vft_store(far, 1), "and written to");
		loss = vft_view(fd)->loss;
	}
	together();
	if (node == 1)
		vft_kill(pid);		/* and waits for it */
	together();
	if (!node) {
		CHECK(vft_until(LATE_MS, vft_view(fd)->peer[1].state == VFAB_PEER_VACANT),
		      "a process is killed: its rank is vacant on the other node");
		CHECK(vft_touch(far) == SIGBUS, "and its window SIGBUS");
		CHECK(!vft_wait(fd, 0, &counted, &loss, vft_now() + LATE_MS * VFT_MS, NULL),
		      "and who waits is told");
		CHECK(read(fd, &e, sizeof(e)) == sizeof(e) && e.type == VFAB_EVENT_PEER_LOST &&
		      e.rank == 1 && e.reason == VFAB_REASON_EXIT, "and reads of it");
	}
	together();
	if (node == 1)
		pid = holder(&dom, 1);
	together();
	if (!node) {
		CHECK(!vft_lookup(fd, 1, 1, vft_now() + LATE_MS * VFT_MS, &handle),
		      "another process can have the rank");
	}
	together();
	if (node == 1)
		vft_kill(pid);
	leave(&dom, fd);
}

/* Stores to a window of another node as fast as it can, until that is lost */
static void hammer(const struct vft_domain *dom, uint32_t rank, uint32_t peer, volatile int *what)
{
	volatile uint64_t *far;
	uint64_t handle, n;
	int fd = vft_join(dom, rank), sig = 0;

	if (fd < 0 || vft_lookup(fd, peer, 1, vft_now() + LATE_MS * VFT_MS, &handle))
		_exit(1);
	far = vft_import_map(fd, handle, VFT_PAGE, VFT_RW, VFAB_LOSS_SIGBUS);
	if (!far)
		_exit(2);
	for (n = 1; !sig; n++) {
		sig = vft_store(far, n);
		if (n == 1000)
			what[0] = 1;
	}
	what[1] = sig;
	what[2] = vft_view(fd)->peer[peer].state;
	/* And again, once the route is back */
	vft_until(LATE_MS, vft_view(fd)->peer[peer].state == VFAB_PEER_HELD);
	what[3] = vft_store(far, 7);
	what[4] = 1;
	for (;;)
		pause();
}

static bool stands_still(const volatile uint64_t *p)
{
	uint64_t was = *p;

	vft_sleep_ms(200);
	return *p == was;
}

/* The owner takes a route away: when its call returns, nothing gets through anywhere. */
static void test_links(void)
{
	static const uint8_t place[] = { 0, 1 };
	volatile uint64_t *own = NULL;
	volatile int *what = NULL;
	struct vft_domain dom;
	uint64_t handle;
	pid_t pid = -1;
	int fd = -1;

	domain(&dom, "links", 2, place);
	if (!node) {
		fd = join(&dom, 0);
		NEED(fd >= 0 && !vft_alloc(fd, VFT_PAGE, 1, VFT_RW, &handle), "a window");
		own = vft_import_map(fd, handle, VFT_PAGE, VFT_RW, VFAB_LOSS_SIGBUS);
		NEED(own, "mapped");
	}
	if (node == 1) {
		close(join(&dom, 1));
		what = vft_shared(VFT_PAGE);
		pid = vft_fork();
		if (!pid)
			hammer(&dom, 1, 0, what);
		NEED(vft_until(LATE_MS, what[0]), "stores on the other node");
	}
	together();
	if (!node) {
		CHECK(!stands_still(own), "they arrive");
		CHECK(!vft_link(&dom, 1, -1, false), "the owner takes the links of that rank down");
		CHECK(stands_still(own), "and nothing arrives any more");
		CHECK(vft_view(fd)->peer[1].state == VFAB_PEER_UNREACHABLE, "it is unreachable");
	}
	together();
	if (node == 1) {
		CHECK(vft_until(LATE_MS, what[1]) && what[1] == SIGBUS, "who stored has SIGBUS");
		CHECK(what[2] == VFAB_PEER_UNREACHABLE, "and sees in the view why");
		CHECK(vft_endpoint_get(&dom, 1, VFAB_A_PORTS_UP) == 0,
		      "links are shown as they are");
	}
	together();
	if (!node)
		CHECK(!vft_link(&dom, 1, -1, true), "the links are up again");
	if (node == 1)
		CHECK(vft_until(LATE_MS, what[4]) && !what[3],
		      "and the same mapping is good again");
	together();
	if (!node) {
		CHECK(*own == 7, "what it stores arrives");
		CHECK(!vft_partition_create(&dom, 3, "three", 1, 1),
		      "it is moved to another partition");
		CHECK(vft_view(fd)->peer[1].state == VFAB_PEER_UNREACHABLE, "and unreachable");
	}
	together();
	if (node == 1) {
		CHECK(vft_endpoint_get(&dom, 1, VFAB_A_PARTITION) == 3, "on its own node as well");
		vft_kill(pid);
		pid = vft_fork();
		if (!pid)
			_exit(vft_join(&dom, 1) != -EACCES);
		CHECK(!vft_wait_pid(pid, LATE_MS), "it is not to be had by the file it was");
		vft_until(LATE_MS, (fd = vft_join_part(&dom, 3, 1)) >= 0);
		CHECK(fd >= 0, "but by the new partition's");
		close(fd);
	}
	together();
	if (!node) {
		CHECK(!vft_partition_add(&dom, 0, 1, 1) && !vft_partition_delete(&dom, 3),
		      "it comes back, and the partition goes");
		CHECK(!vft_route_drop(&dom, 0, 1) && !vft_route_drop(&dom, 1, 1),
		      "routes to it are dropped");
	}
	together();
	if (node == 1) {
		CHECK(vft_open(&dom, 3) == -ENOENT || vft_open(&dom, 3) == -ENODEV,
		      "the partition's file is gone");
		fd = vft_join(&dom, 1);
		CHECK(fd >= 0 && vft_view(fd)->peer[0].state == VFAB_PEER_UNREACHABLE,
		      "there is no route");
	}
	leave(&dom, fd);
}

/* A channel is one on all nodes, and its end as well. */
static void test_channels(void)
{
	static const uint8_t place[] = { 0, 0, 1, 1 };
	uint64_t handle, cookie;
	struct vft_domain dom;
	int fd = -1, none = -1;

	domain(&dom, "channels", 4, place);
	if (!node)
		CHECK(!vft_channel_create(&dom, 0, 9, 0, 0, 0), "a channel is made");
	together();
	if (node < 2) {
		vft_until(LATE_MS, (fd = vft_join_channel(&dom, 0, 9, node * 2)) >= 0);
		none = join(&dom, node * 2 + 1);
		NEED(fd >= 0 && none >= 0, "one endpoint is in it, one is not");
		NEED(!vft_alloc(fd, VFT_PAGE, 4, VFT_RW, &handle), "a window");
		NEED(!vft_lookup(fd, 2 - node * 2, 4, vft_now() + LATE_MS * VFT_MS, &handle),
		     "the other node's is found");
		CHECK(!vft_import(fd, handle, VFT_RW, 0, &cookie), "and imported in the channel");
		CHECK(vft_import(none, handle, VFT_RW, 0, &cookie) == -EPERM,
		      "but not from outside");
		CHECK(vft_ring(none, 2 - node * 2, 0) == -EPERM, "nor is a doorbell rung");
	}
	together();
	if (!node) {
		CHECK(vft_channel_delete(&dom, 0, 9, false) == -EBUSY,
		      "a channel that is held on two nodes is not deleted");
		CHECK(!vft_channel_delete(&dom, 0, 9, true), "but by force");
	}
	together();
	if (node < 2) {
		CHECK(vft_alloc(fd, VFT_PAGE, 5, VFT_RW, &handle) == -ENODEV,
		      "who was in it has ended");
		CHECK(!vft_alloc(none, VFT_PAGE, 5, VFT_RW, &handle), "and nobody else");
		close(none);
	}
	leave(&dom, fd);
}

/* The end of a domain is the end of it on all nodes. */
static void test_deleted(void)
{
	static const uint8_t place[] = { 0, 1 };
	uint64_t handle, counted = 0, loss = 0;
	volatile uint64_t *own = NULL;
	struct vft_domain dom;
	int fd = -1;

	domain(&dom, "deleted", 2, place);
	if (node == 1) {
		fd = join(&dom, 1);
		NEED(fd >= 0 && !vft_alloc(fd, VFT_PAGE, 1, VFT_RW, &handle), "a window");
		own = vft_import_map(fd, handle, VFT_PAGE, VFT_RW, VFAB_LOSS_SIGBUS);
		NEED(own && !vft_store(own, 1), "mapped");
		loss = vft_view(fd)->loss;
	}
	together();
	if (!node)
		CHECK(!vft_domain_delete(&dom, true), "deleted by force");
	together();
	if (node == 1) {
		CHECK(vft_until(LATE_MS, vft_touch(own) == SIGBUS), "on its node a window is gone");
		CHECK(vft_wait(fd, 0, &counted, &loss, VFAB_NO_DEADLINE, NULL) == -ENODEV,
		      "and a wait ends");
		close(fd);
	}
	CHECK(vft_until(LATE_MS, vft_domain_find(&dom, "deleted") == -ENOENT), "it is nowhere");
	together();
}

/* A mirror whose name is in use waits for it. */
static void test_clash(void)
{
	static const uint8_t place[] = { 0, 1 };
	struct vft_options opt = { .name = "clash" };
	struct vft_domain local, dom;

	if (node == 1)
		NEED(!vft_domain_create(&local, 3, &opt), "a domain of this kernel alone");
	together();
	if (!node)
		NEED(!create(&dom, "clash", 2, place), "one of this name on the backplane");
	together();
	if (node == 1) {
		vft_sleep_ms(1500);
		CHECK(!vft_domain_find(&dom, "clash") && dom.world == 3, "what was there stays");
		CHECK(!vft_domain_delete(&local, false), "and is deleted");
		CHECK(vft_until(LATE_MS, !vft_domain_find(&dom, "clash") && dom.world == 2),
		      "then the other is mirrored");
	}
	leave(&dom, -1);
}

/* A domain of four ranks that is left there, for whoever comes next. */
static void make(void)
{
	static const uint8_t place[] = { 0, 0, 1, 1 };
	struct vft_domain dom;

	domain(&dom, "job", 4, place);
}

/* --- A whole VM ------------------------------------------------------------------ */

/* Waits to be killed, with a window that the other has mapped. */
static void victim(void)
{
	uint64_t handle, seen = 0, loss = vft_view(meet.fd)->loss;

	NEED(!vft_alloc(meet.fd, SIZE, 2, VFT_RW, &handle), "a window");
	together();
	printf("# kill me\n");
	fflush(stdout);
	vft_wait(meet.fd, 0, &seen, &loss, VFAB_NO_DEADLINE, NULL);
	/* It was stopped, and goes on: it has been expelled, and knows */
	CHECK(vft_until(LATE_MS, vft_domain_find(&meet.dom, "meet") == -ENOENT),
	      "who was stopped for too long is on no backplane any more");
	CHECK(vft_touch(meet.word) == SIGBUS, "and has nothing of it mapped");
}

static void survivor(void)
{
	unsigned int other = !node;
	uint64_t handle, seen = 0, loss = vft_view(meet.fd)->loss, from;
	volatile uint64_t *far;
	bool owner = !node;
	int ret;

	together();
	NEED(!vft_lookup(meet.fd, other, 2, vft_now() + LATE_MS * VFT_MS, &handle), "found");
	far = vft_import_map(meet.fd, handle, SIZE, VFT_RW, VFAB_LOSS_SIGBUS);
	NEED(far && !vft_store(far, 1), "mapped");
	loss = vft_view(meet.fd)->loss;
	printf("# kill it\n");
	fflush(stdout);
	from = vft_now();
	ret = vft_wait(meet.fd, 0, &seen, &loss, from + LATE_MS * VFT_MS, NULL);
	printf("# ended after %llu ms\n", (unsigned long long)(vft_now() - from) / 1000000);
	/* What the owner held is lost first, then the domain */
	if (!owner && !ret)
		ret = vft_wait(meet.fd, 0, &seen, &loss, from + LATE_MS * VFT_MS, NULL);
	CHECK(ret == (owner ? 0 : -ENODEV), "a wait ends: %s",
	      owner ? "a peer is lost" : "the owner of the domain is, and so is the domain");
	CHECK(vft_until(LATE_MS, vft_touch(far) == SIGBUS), "its window is gone");
	if (owner) {
		CHECK(vft_view(meet.fd)->peer[other].state == VFAB_PEER_VACANT,
		      "its rank is vacant");
		close(meet.fd);
		CHECK(!vft_domain_end(&meet.dom), "and the domain goes on, to its end");
	} else {
		CHECK(vft_until(LATE_MS, vft_domain_find(&meet.dom, "meet") == -ENOENT),
		      "there is no mirror any more");
	}
}

static const struct {
	const char *name;
	void (*run)(void);
	bool asked;
} tests[] = {
	{ "refusals", test_refusals, false },
	{ "windows", test_windows, false },
	{ "full", test_full, false },
	{ "share", test_share, false },
	{ "bells", test_bells, false },
	{ "all", test_all, false },
	{ "atomics", test_atomics, false },
	{ "killed", test_killed, false },
	{ "links", test_links, false },
	{ "channels", test_channels, false },
	{ "deleted", test_deleted, false },
	{ "clash", test_clash, false },
	{ "make", make, true },
	{ "victim", victim, true },
	{ "survivor", survivor, true },
};

static bool wanted(const char *name, bool asked, char **words)
{
	if (!*words)
		return !asked;
	for (; *words; words++)
		if (!strcmp(*words, name))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	unsigned int i;
	bool end = true;
	int opt;

	while ((opt = getopt(argc, argv, "n:d:")) != -1) {
		if (opt == '?')
			return 2;
		*(opt == 'n' ? &atomics : &dings) = strtoul(optarg, NULL, 0);
	}
	node = strtoul(getenv("VFABRIC_NODE") ?: "0", NULL, 0);
	nodes = strtoul(getenv("VFABRIC_NODES") ?: "0", NULL, 0);
	if (nodes < 2) {
		fprintf(stderr, "placed: run it by 'scripts/vm cluster 2'\n");
		return 2;
	}
	printf("TAP version 13\n");
	begin();
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		if (!wanted(tests[i].name, tests[i].asked, argv + optind))
			continue;
		printf("# %s\n", tests[i].name);
		tests[i].run();
		end &= tests[i].run != victim && tests[i].run != survivor;
	}
	if (end) {
		together();
		if (node)
			close(meet.fd);
		else
			CHECK(vft_until(LATE_MS, vft_domain_get(&meet.dom, VFAB_A_ATTACHED) == 1) &&
			      !close(meet.fd) && !vft_domain_end(&meet.dom), "the end of all");
	}
	printf("1..%u\n", count);
	return failed ? 1 : 0;
}
