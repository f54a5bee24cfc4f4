// SPDX-License-Identifier: LGPL-2.1
/*
 * A node by hand: without the module, through the device's memory in a guest, or
 * as a process of the host. By example:
 *
 *	bpnode pci 2 1000000			in each of two guests
 *	bpnode /run/vfabric/rack/join 3 1000000	and on the host
 *	bpnode pci 2 1000 --lost 1		then wait until node 1 has left
 *	bpnode pci 2 1000 --stay		then stay until killed
 *	bpnode /run/vfabric/rack/join live 20	follow the others for 20 s
 *	bpnode /run/vfabric/rack/join deaf 20	the same, but acknowledge nothing: see live.c
 *	bpnode /run/vfabric/rack/join hostile 60 7	do harm for 60 s, from seed 7
 *
 * All meet, each adds COUNT times 1 to a counter in the memory, all meet again,
 * and the counter must be exact. Then each rings the others; a process of the host
 * waits until it was rung. Exit status: 0 all of it held, 1 it did not, 2 not set up.
 */
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "../backplane.h"
#include "bpnode.h"

#define PATIENCE_S	120
#define IVPOSITION	2	/* words of BAR 0 */
#define DOORBELL	3

struct vf_bp bp;
u32 self, peer_id;
struct vfab_bp_node me;
static u32 seq;			/* of the own node's record */
static int sock;		/* to vfabswitchd */
static volatile u32 *regs;	/* of the device, or NULL: on the host */
static int bell[VFAB_BP_MAX_PEER + 1][VFAB_BP_MAX_VECTORS];	/* on the host; 0: none */

void fail(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("bpnode: ", stderr);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(status);
}

static void open_region(void *base, u64 size)
{
	int ret = base == MAP_FAILED ? -errno : vf_bp_open(&bp, base, size);

	if (ret)
		fail(2, "the memory is of no backplane: %s", strerror(-ret));
}

/* --- In a guest -------------------------------------------------------------------- */

static void *map_resource(const char *dev, unsigned int bar, u64 *size)
{
	char path[256];
	struct stat st;
	void *base;
	int fd;

	snprintf(path, sizeof(path), "%s/resource%u", dev, bar);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		fail(2, "%s: %s", path, strerror(errno));
	*size = st.st_size;
	base = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return base;
}

static bool is_ivshmem(const char *dev)
{
	char path[256], text[16] = "";
	int fd, i;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dev, i ? "device" : "vendor");
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, text, sizeof(text) - 1) < 6)
			return false;
		close(fd);
		if (strncmp(text, i ? "0x1110" : "0x1af4", 6))
			return false;
	}
	return true;
}

static void open_device(void)
{
	char path[256];
	glob_t g;
	void *base;
	size_t i;
	u64 size;
	int fd;

	if (glob("/sys/bus/pci/devices/*", 0, NULL, &g))
		fail(2, "no PCI devices");
	for (i = 0; i < g.gl_pathc && !is_ivshmem(g.gl_pathv[i]); i++)
		;
	if (i == g.gl_pathc)
		fail(2, "no ivshmem device: start with scripts/vm run --backplane");
	snprintf(path, sizeof(path), "%s/enable", g.gl_pathv[i]);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1)
		fail(2, "%s: %s", path, strerror(errno));
	close(fd);
	regs = map_resource(g.gl_pathv[i], 0, &size);
	if (regs == MAP_FAILED)
		fail(2, "%s: BAR 0: %s", g.gl_pathv[i], strerror(errno));
	/* One mapping, of one type: not resource2_wc as well */
	base = map_resource(g.gl_pathv[i], 2, &size);
	open_region(base, size);
	peer_id = regs[IVPOSITION];
	globfree(&g);
}

/* --- On the host ------------------------------------------------------------------- */

static int receive(int64_t *value)
{
	int fd;

	if (backplane_receive(sock, MSG_WAITALL, value, sizeof(*value), &fd) != sizeof(*value))
		fail(2, "the connection ended: see what vfabswitchd says");
	return fd;
}

/* A peer's eventfds come one by one, in the order of the vectors */
static bool learn(void)
{
	unsigned int i;
	int64_t value;
	int fd;

	fd = receive(&value);
	if (value < 0 || value > VFAB_BP_MAX_PEER)
		fail(2, "there is no peer %lld", (long long)value);
	for (i = 0; fd >= 0 && i < bp.vectors; i++)
		if (!bell[value][i]) {
			bell[value][i] = fd;
			break;
		}
	return value == peer_id;
}

/* Of who has joined meanwhile; not in a guest */
void learn_more(void)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN };

	while (!regs && poll(&pfd, 1, 0) == 1)
		learn();
}

static void join(const char *place)
{
	u32 own = 0;
	struct stat st;
	int64_t value;
	int region;

	sock = backplane_connect(place, 0);
	if (sock < 0)
		fail(2, "%s: %s", place, strerror(-sock));
	receive(&value);
	receive(&value);
	peer_id = value;
	region = receive(&value);
	if (value != -1 || fstat(region, &st))
		fail(2, "no memory was given");
	open_region(mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, region, 0),
		    st.st_size);
	while (own < bp.vectors)
		own += learn();
}

/* --- All of them --------------------------------------------------------------------- */

void pause_ms(unsigned int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

void publish(enum vfab_bp_node_state state)
{
	me.state = cpu_to_le32(state);
	vf_bp_write(&vf_bp_slot(&bp, self)->node, &me, sizeof(me), &seq);
}

void interrupt(u32 peer, u32 vector)
{
	u64 one = 1;

	if (regs)
		regs[DOORBELL] = peer << 16 | vector;
	else if (bell[peer][vector] && write(bell[peer][vector], &one, sizeof(one)) < 0)
		fail(1, "cannot ring peer %u: %s", peer, strerror(errno));
}

static void begin(void)
{
	struct vfab_bp_peer peer;
	struct vfab_bp_slot *slot;
	int ret = vf_bp_find_peer(&bp, peer_id, &peer);

	if (ret < 0)
		fail(1, "the table of vfabswitchd does not have peer %u", peer_id);
	self = ret;
	slot = vf_bp_slot(&bp, self);
	me.incarnation = cpu_to_le64(le64_to_cpu(peer.generation) << 32 | 1);
	me.flags = cpu_to_le32(regs ? 0 : VFAB_BP_NODE_COOPERATIVE);
	me.period_ms = cpu_to_le32(1000);
	me.timeout_ms = cpu_to_le32(10000);
	seq = (le32_to_cpu(slot->node.seq) + 1) & ~1U;
	publish(VFAB_BP_NODE_JOINING);
	memset(&slot->beat, 0, sizeof(*slot) - sizeof(slot->node));
	publish(VFAB_BP_NODE_ACTIVE);
	printf("node %u of backplane %s: peer %u, process %u of user %u on the host\n", self,
	       bp.name, peer_id, le32_to_cpu(peer.pid), le32_to_cpu(peer.uid));
	fflush(stdout);
}

/* Until @nodes of them have come to @phase */
static void meet(u32 nodes, u64 phase)
{
	unsigned int ms, n;
	u32 i;

	vf_bp_store(&vf_bp_slot(&bp, self)->beat.change, phase);
	for (ms = 0; ms < PATIENCE_S * 1000; ms++) {
		n = 0;
		for (i = 0; i < bp.nodes; i++) {
			struct vfab_bp_node node;

			n += !vf_bp_read_node(&bp, i, &node) &&
			     vf_bp_load(&vf_bp_slot(&bp, i)->beat.change) >= phase;
		}
		if (n >= nodes)
			return;
		pause_ms(1);
	}
	fail(1, "%u of %u nodes came to phase %llu", n, nodes, (unsigned long long)phase);
}

static void count(u32 nodes, u64 times)
{
	__le64 *counter = (void *)((u8 *)bp.base + vf_bp_data(&bp, 0));
	u64 i, sum;

	meet(nodes, 1);
	for (i = 0; i < times; i++)
		__atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
	meet(nodes, 2);
	sum = vf_bp_load(counter);
	printf("counter %llu of %llu\n", (unsigned long long)sum,
	       (unsigned long long)(nodes * times));
	if (sum != nodes * times)
		fail(1, "the counter is not exact");
}

void interrupt_all(u32 vector)
{
	int peer;
	u32 i;

	for (i = 0; i < bp.nodes; i++) {
		peer = i == self ? -ENOENT : vf_bp_bell(&bp, i);
		if (peer >= 0)
			interrupt(peer, vector);
	}
}

static void ring(void)
{
	struct pollfd pfd;
	u64 got = 0;

	interrupt_all(VFAB_BP_VECTOR_CHANGE);
	if (regs)
		return;
	pfd = (struct pollfd){ .fd = bell[peer_id][0], .events = POLLIN };
	if (poll(&pfd, 1, PATIENCE_S * 1000) != 1 || read(pfd.fd, &got, sizeof(got)) != sizeof(got))
		fail(1, "nobody rang");
	printf("was rung\n");
}

static void until_lost(u32 node)
{
	struct vfab_bp_peer peer;
	unsigned int ms;

	printf("waits for node %u to leave\n", node);
	fflush(stdout);
	for (ms = 0; ms < PATIENCE_S * 1000; ms += 10) {
		if (!vf_bp_read_peer(&bp, node, &peer) && !peer.state) {
			printf("node %u left\n", node);
			return;
		}
		pause_ms(10);
	}
	fail(1, "node %u is still there", node);
}

/* live|deaf|expel|duel|flood|hostile SECONDS [SEED], misname SECONDS NODE */
static int play(int words, char **word)
{
	unsigned int seconds = strtoul(word[1], NULL, 10);

	/* Whatever an earlier one left: a second of the daemon's period is enough of a start */
	me.period_ms = cpu_to_le32(200);
	me.timeout_ms = cpu_to_le32(3000);
	if (!strcmp(word[0], "hostile"))
		return hostile(seconds, words > 2 ? strtoul(word[2], NULL, 10) : 1);
	if (!strcmp(word[0], "flood"))
		return flood(seconds);
	if (!strcmp(word[0], "misname") && words > 2)
		return misname(seconds, strtoul(word[2], NULL, 10) % bp.nodes);
	return live(seconds, word[0]);
}

int main(int argc, char **argv)
{
	u32 nodes;

	if (argc < 4)
		fail(2, "say: bpnode pci|SOCKET NODES COUNT, or live, deaf, ... SECONDS");
	if (strcmp(argv[1], "pci"))
		join(argv[1]);
	else
		open_device();
	setlinebuf(stdout);
	if (argv[2][0] > '9') {
		begin();
		return play(argc - 2, argv + 2);
	}
	nodes = strtoul(argv[2], NULL, 10);
	if (nodes < 1 || nodes > bp.nodes)
		fail(2, "%s nodes of %u", argv[2], bp.nodes);
	begin();
	count(nodes, strtoull(argv[3], NULL, 10));
	ring();
	if (argc > 5 && !strcmp(argv[4], "--lost"))
		until_lost(strtoul(argv[5], NULL, 10) % bp.nodes);
	fflush(stdout);
	if (argc > 4 && !strcmp(argv[4], "--stay"))
		pause();
	publish(VFAB_BP_NODE_LEFT);
	return 0;
}
