// SPDX-License-Identifier: GPL-2.0
/*
 * Between two VMs: messages, doorbells, bandwidth and an all-reduce by a domain that lies
 * on a backplane, and the same by TCP over the network between the two. By example:
 *
 *	vfabrun --nodes vm0,vm1 vfabbench vms 15
 *
 * Ranks 0 and 2 are in one VM, rank 1 in the other, "vm1" ($VFAB_BENCH_PEER). Rank 0
 * measures; the others do as it does, in the same order, so that nobody needs to be told.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "bench.h"

#define PORT		"5201"
#define TAG		1
#define LINE		64		/* bytes of a message */
#define BULK		(1UL << 20)
#define ROUNDS		100		/* of a sample */
#define COPIES		16
#define TIMEOUT		(60 * VFAB_SECOND)

enum { POLL, SLEEP, HOWS };

/* A window's beginning: messages that come in; behind it, what is copied */
struct room {
	_Alignas(4096) unsigned char line[LINE];
	_Alignas(4096) unsigned char bulk[BULK];
};

static struct vfab_ep *ep;
static struct room *own, *peer;
static uint32_t rank, other;
static int sock = -1;
static uint64_t rings;

static void hurdle(struct vfab_comm *all)
{
	must("meeting", vfab_barrier(all));
}

/* --- TCP -------------------------------------------------------------------------- */

static void listen_for(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(atoi(PORT)) };
	int l = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(l, (struct sockaddr *)&any, sizeof(any)) || listen(l, 1))
		die("port " PORT ": %s", strerror(errno));
	sock = accept(l, NULL, NULL);
	close(l);
}

static void connect_to(const char *host)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *a;
	int tries;

	if (getaddrinfo(host, PORT, &hints, &a))
		die("there is no host %s: start with scripts/vm cluster 2 --net", host);
	for (tries = 0; tries < 600; tries++) {
		sock = socket(AF_INET, SOCK_STREAM, 0);
		if (!connect(sock, a->ai_addr, a->ai_addrlen))
			break;
		close(sock);
		usleep(100000);
	}
	freeaddrinfo(a);
}

static void take(void *to, size_t bytes, int flags)
{
	ssize_t n;

	for (; bytes; bytes -= n, to = (char *)to + n) {
		n = recv(sock, to, bytes, flags);
		if (n < 0 && errno == EAGAIN)
			n = 0;
		else if (n <= 0)
			die("the connection: %s", n ? strerror(errno) : "it ended");
	}
}

static void give(const void *from, size_t bytes)
{
	ssize_t n;

	for (; bytes; bytes -= n, from = (const char *)from + n) {
		n = send(sock, from, bytes, 0);
		if (n < 0)
			die("the connection: %s", strerror(errno));
	}
}

static void tcp_once(int how, bool first, unsigned char mark)
{
	unsigned char line[LINE];
	int i;

	for (i = 0; i < 2; i++) {
		if (first == !i) {
			memset(line, mark, LINE);
			give(line, LINE);
			continue;
		}
		take(line, LINE, how == POLL ? MSG_DONTWAIT : 0);
		if (line[0] != mark || line[LINE - 1] != mark)
			die("a message came wrong by TCP");
	}
}

/* --- Windows and doorbells ------------------------------------------------------------ */

static void wait_ring(void)
{
	must("waiting", vfab_wait(ep, 0, &rings, NULL, TIMEOUT));
}

/* The last byte says that all has come: it is stored last. */
static void put_line(unsigned char mark)
{
	memset(peer->line, mark, LINE - 1);
	__atomic_store_n(&peer->line[LINE - 1], mark, __ATOMIC_RELEASE);
}

static void get_line(unsigned char mark)
{
	while (__atomic_load_n(&own->line[LINE - 1], __ATOMIC_ACQUIRE) != mark)
		;
	if (own->line[0] != mark)
		die("a message came wrong by a window");
}

static void message_once(int how, bool first, unsigned char mark)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (first == !i) {
			put_line(mark);
			if (how == SLEEP)
				must("ringing", vfab_ring(ep, other, 0));
			continue;
		}
		if (how == SLEEP)
			wait_ring();
		get_line(mark);
	}
}

static void bell_once(int how, bool first, unsigned char mark)
{
	int i;

	(void)how;
	(void)mark;
	for (i = 0; i < 2; i++)
		if (first == !i)
			must("ringing", vfab_ring(ep, other, 0));
		else
			wait_ring();
}

/* --- Samples --------------------------------------------------------------------------- */

/* Microseconds of a round trip */
static double trips(void (*once)(int how, bool first, unsigned char mark), int how)
{
	double t = now_ns();
	int i;

	vfab_wait_policy(ep, how == POLL ? -1 : 0, 0);
	/* A mark is never the one before, which still stands there */
	for (i = 0; i < ROUNDS; i++)
		once(how, !rank, i % 250 + 1);
	once(how, !rank, 255);
	return (now_ns() - t) / 1e3 / (ROUNDS + 1);
}

static void copy(unsigned char *to, const unsigned char *from)
{
	memcpy(to, from, BULK);
	__asm__ volatile("" : : : "memory");
}

/* GB/s into the other's window; with what it takes the other to say that all is there */
static double put(const unsigned char *from)
{
	double t = now_ns();
	int i;

	for (i = 0; i < COPIES; i++)
		copy(peer->bulk, from);
	message_once(POLL, true, 254);
	return COPIES * BULK / (now_ns() - t);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* GB/s of the middle copy into the other's window and into the own one, in turns */
static void copy_both(const unsigned char *from, double *theirs, double *mine)
{
	double t, spent[2][COPIES];
	int i;

	for (i = 0; i < 2 * COPIES; i++) {
		t = now_ns();
		copy(i & 1 ? own->bulk : peer->bulk, from);
		spent[i & 1][i / 2] = now_ns() - t;
	}
	for (i = 0; i < 2; i++)
		qsort(spent[i], COPIES, sizeof(double), by_size);
	*theirs = BULK / spent[0][COPIES / 2];
	*mine = BULK / spent[1][COPIES / 2];
}

static double stream(unsigned char *buffer)
{
	double t = now_ns();
	int i;

	for (i = 0; i < COPIES; i++)
		if (!rank)
			give(buffer, BULK);
		else
			take(buffer, BULK, 0);
	/* All has come */
	tcp_once(SLEEP, rank, 9);
	return COPIES * BULK / (now_ns() - t);
}

static double reduce(struct vfab_comm *comm, size_t count)
{
	static float in[BULK / 4], out[BULK / 4];
	double t = now_ns();
	int i;

	for (i = 0; i < 10; i++)
		must("all-reduce", vfab_allreduce(comm, in, out, count, VFAB_F32, VFAB_SUM));
	return (now_ns() - t) / 1e3 / 10;
}

static const struct trip {
	const char *id;
	void (*once)(int how, bool first, unsigned char mark);
	int how;
} kinds[] = {
	{ "vms.message.poll", message_once, POLL }, { "vms.message.sleep", message_once, SLEEP },
	{ "vms.bell.poll", bell_once, POLL }, { "vms.bell.sleep", bell_once, SLEEP },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static double ours[KINDS][MAX_REPEATS], tcp[KINDS][MAX_REPEATS];
static double told[MAX_REPEATS], streamed[MAX_REPEATS];
static double copied[MAX_REPEATS], raw[MAX_REPEATS];
static double across[2][MAX_REPEATS], within[2][MAX_REPEATS];
static const size_t sizes[2] = { 1024, BULK / 4 };

static void pair_once(int n, unsigned char *buffer)
{
	size_t k;

	for (k = 0; k < KINDS; k++) {
		ours[k][n] = trips(kinds[k].once, kinds[k].how);
		tcp[k][n] = trips(tcp_once, kinds[k].how);
	}
	if (!rank)
		told[n] = put(buffer);
	else
		message_once(POLL, false, 254);
	streamed[n] = stream(buffer);
	if (!rank)
		copy_both(buffer, &copied[n], &raw[n]);
}

static void import_room(struct vfab_mem *mem)
{
	uint64_t handle;

	must("looking up", vfab_lookup(ep, other, TAG, TIMEOUT, &handle));
	must("importing", vfab_import(ep, handle, VFAB_ACCESS_WRITE, VFAB_LOSS_SIGBUS, mem));
	peer = mem->addr;
}

static void print_rows(int repeats)
{
	char id[64];
	size_t k;

	for (k = 0; k < KINDS; k++)
		row(kinds[k].id, "us", ours[k], tcp[k], repeats);
	row("vms.bandwidth.tcp", "GB/s", told, streamed, repeats);
	row("vms.bandwidth.raw", "GB/s", copied, raw, repeats);
	for (k = 0; k < 2; k++) {
		snprintf(id, sizeof(id), "vms.allreduce.%zu", sizes[k] * 4);
		row(id, "us", across[k], within[k], repeats);
	}
}

void bench_vms(int repeats)
{
	static const uint32_t everybody[] = { 0, 1, 2 }, two[] = { 0, 1 }, one[] = { 0, 2 };
	struct vfab_comm *all, *comm[2] = { NULL, NULL };
	unsigned char *buffer = aligned_alloc(4096, BULK);
	struct vfab_mem mine, theirs;
	int n, k, on = 1;

	must("attaching", vfab_open(&ep, NULL, VFAB_RANK_ENV));
	rank = vfab_info(ep)->rank;
	other = !rank;
	must("meeting", vfab_comm_create(ep, everybody, 3, 10, TIMEOUT, &all));
	if (rank < 2) {
		must("a window", vfab_window_alloc(ep, sizeof(struct room), TAG, VFAB_ACCESS_WRITE,
						   &mine));
		own = mine.addr;
		import_room(&theirs);
		must("meeting", vfab_comm_create(ep, two, 2, 11, TIMEOUT, &comm[0]));
		if (rank)
			listen_for();
		else
			connect_to(getenv("VFAB_BENCH_PEER") ? : "vm1");
		setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	}
	if (rank != 1)
		must("meeting", vfab_comm_create(ep, one, 2, 12, TIMEOUT, &comm[1]));
	memset(buffer, 1, BULK);
	/* The first round finds everything cold */
	for (n = -1; n < repeats; n++) {
		hurdle(all);
		if (rank < 2)
			pair_once(n < 0 ? 0 : n, buffer);
		for (k = 0; k < 2; k++) {
			hurdle(all);
			if (comm[0])
				across[k][n < 0 ? 0 : n] = reduce(comm[0], sizes[k]);
			hurdle(all);
			if (comm[1])
				within[k][n < 0 ? 0 : n] = reduce(comm[1], sizes[k]);
		}
	}
	if (!rank)
		print_rows(repeats);
	fflush(stdout);
	hurdle(all);
	/* Not before the others are through */
	vfab_comm_destroy(all);
	vfab_close(ep);
}
