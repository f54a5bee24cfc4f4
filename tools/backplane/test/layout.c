// SPDX-License-Identifier: LGPL-2.1
/*
 * Tests of reading and writing the memory of a backplane. They run on the host
 * and need neither the module nor vfabswitchd:
 *
 *	build/tools/test/layouttest [SEED]
 *
 * Prints TAP. Built with the address and undefined-behaviour sanitizers.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "walk.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SIZE (32ULL << 20)
#define NODES 8

static unsigned int failed, number;
static const u8 uuid[16] = { 1, 2, 3 };
static struct vf_bp bp;

static void result(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void result(bool ok, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%sok %u ", ok ? "" : "not ", ++number);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	fflush(stdout);
	failed += !ok;
}

/* A fresh region, its end right behind the last byte */
static void *fresh(void)
{
	void *base = aligned_alloc(4096, SIZE);

	memset(base, 0, SIZE);
	if (vf_bp_format(&bp, base, SIZE, NODES, 4, uuid, "rack"))
		abort();
	return base;
}

/* --- Header ------------------------------------------------------------------------- */

static void test_sizes(void)
{
	struct vf_bp b, c;
	u32 nodes;
	bool ok = true;
	void *base = malloc(4096);

	for (nodes = 1; nodes <= VFAB_BP_MAX_NODES; nodes++) {
		u64 least = vf_bp_least(nodes);

		ok &= !vf_bp_format(&b, base, least, nodes, 1, uuid, "x");
		ok &= !vf_bp_open(&c, base, least);
		ok &= c.data_size >= VFAB_BP_DATA_ALIGN && c.nodes == nodes;
		ok &= vf_bp_data(&c, nodes - 1) + c.data_size <= least;
		ok &= vf_bp_data(&c, 0) >= VFAB_BP_SLOTS_OFFSET + nodes * VFAB_BP_SLOT_SIZE;
		ok &= vf_bp_format(&b, base, least / 2, nodes, 1, uuid, "x") == -EINVAL;
	}
	result(ok, "the least size is enough, and half of it is not");
	result(vf_bp_least(2) == 8 << 20 && vf_bp_least(8) == 32 << 20 &&
	       vf_bp_least(64) == 256 << 20, "least sizes are those of the manual");
	result(vf_bp_format(&b, base, 48 << 20, 8, 1, uuid, "x") == -EINVAL &&
	       vf_bp_format(&b, base, SIZE, 0, 1, uuid, "x") == -EINVAL &&
	       vf_bp_format(&b, base, SIZE, 65, 1, uuid, "x") == -EINVAL &&
	       vf_bp_format(&b, base, SIZE, 8, 0, uuid, "x") == -EINVAL &&
	       vf_bp_format(&b, base, SIZE, 8, 17, uuid, "x") == -EINVAL &&
	       vf_bp_format(&b, base, SIZE, 8, 1, uuid, "x y") == -EINVAL &&
	       vf_bp_format(&b, base, 1ULL << 41, 8, 1, uuid, "x") == -EINVAL,
	       "what is no backplane cannot be made");
	free(base);
}

static void test_header(void)
{
	u8 *base = fresh(), *before = malloc(SIZE);
	struct vf_bp b;
	unsigned int i, bad = 0;

	memcpy(before, base, SIZE);
	result(!vf_bp_open(&b, base, SIZE) && b.size == SIZE && b.nodes == NODES &&
	       b.vectors == 4 && !strcmp(b.name, "rack") && !memcmp(b.uuid, uuid, 16),
	       "a header is read as it was made");
	result(vf_bp_open(&b, base, SIZE / 2) == -EBADMSG && vf_bp_open(&b, base, 8) == -ENOENT,
	       "a device of another size is refused");
	/* Each bit counts, but those of numbers, UUID and name, which may be others */
	for (i = 0; i < sizeof(struct vfab_bp_header) * 8; i++) {
		size_t byte = i / 8;

		base[byte] ^= 1 << i % 8;
		if (!vf_bp_open(&b, base, SIZE))
			bad += byte < offsetof(struct vfab_bp_header, nodes) ||
			       (byte >= offsetof(struct vfab_bp_header, slots_offset) &&
				byte < offsetof(struct vfab_bp_header, uuid)) ||
			       byte >= offsetof(struct vfab_bp_header, reserved);
		base[byte] ^= 1 << i % 8;
	}
	result(!bad, "a header with one other bit is refused");
	base[0]++;
	result(vf_bp_open(&b, base, SIZE) == -ENOENT, "foreign memory");
	base[0]--;
	base[8]++;
	result(vf_bp_open(&b, base, SIZE) == -EPROTONOSUPPORT, "another version");
	base[8]--;
	result(!memcmp(before, base, SIZE), "nothing of that wrote to the memory");
	free(before);
	free(base);
}

/* --- Records ------------------------------------------------------------------------ */

static struct vfab_bp_node good_node(void)
{
	return (struct vfab_bp_node) {
		.state = cpu_to_le32(VFAB_BP_NODE_ACTIVE),
		.incarnation = cpu_to_le64(1ULL << 32 | 7),
		.period_ms = cpu_to_le32(100), .timeout_ms = cpu_to_le32(1000),
		.endpoints = cpu_to_le32(2), .windows = cpu_to_le32(2),
	};
}

static struct vfab_bp_domain good_domain(void)
{
	struct vfab_bp_domain d = {
		.state = cpu_to_le32(VFAB_BP_DOMAIN_LIVE), .generation = cpu_to_le64(5),
		.name = "d1", .world = cpu_to_le32(4), .planes = cpu_to_le32(2),
	};

	memset(d.place, VFAB_BP_NO_NODE, sizeof(d.place));
	memset(d.place, 3, 2);
	d.blob[0].bytes = cpu_to_le64(80);
	d.blob[0].offset = cpu_to_le64(vf_bp_data(&bp, 3));
	return d;
}

static struct vfab_bp_endpoint good_endpoint(void)
{
	return (struct vfab_bp_endpoint) {
		.state = cpu_to_le32(VFAB_BP_ENDPOINT_HELD), .rank = cpu_to_le32(1),
		.domain = cpu_to_le32(VFAB_BP_DOMAIN_ID(3, 2)), .generation = cpu_to_le64(9),
		.domain_generation = cpu_to_le64(5), .bell = cpu_to_le64(vf_bp_data(&bp, 3) + 8192),
	};
}

static struct vfab_bp_window good_window(void)
{
	return (struct vfab_bp_window) {
		.state = cpu_to_le32(VFAB_BP_WINDOW_LIVE), .access = cpu_to_le32(3),
		.handle = cpu_to_le64(77), .offset = cpu_to_le64(vf_bp_data(&bp, 3) + 16384),
		.size = cpu_to_le64(8192), .generation = cpu_to_le64(1),
	};
}

/* Publish a record of node 3 with one field changed, and read it */
#define WITH(kind, record, field, value) ({ \
	struct vfab_bp_##kind r = good_##kind(), out; \
	u32 seq = 0; \
	r.field = (value); \
	vf_bp_write(record, &r, sizeof(r), &seq); \
	read_##kind(&out); })

static int read_node(struct vfab_bp_node *out)
{
	return vf_bp_read_node(&bp, 3, out);
}

static int read_domain(struct vfab_bp_domain *out)
{
	return vf_bp_read_domain(&bp, 3, 2, out);
}

static int read_endpoint(struct vfab_bp_endpoint *out)
{
	return vf_bp_read_endpoint(&bp, 3, 2, out);
}

static int read_window(struct vfab_bp_window *out)
{
	return vf_bp_read_window(&bp, 3, 2, out);
}

static void test_node(void)
{
	void *base = fresh();
	struct vfab_bp_node *n = &vf_bp_slot(&bp, 3)->node, r = good_node(), out;
	u32 seq = 0;

	result(read_node(&out) == -ENOENT, "node: none");
	vf_bp_write(n, &r, sizeof(r), &seq);
	result(!read_node(&out) && seq == 2 && out.seq == cpu_to_le32(2) &&
	       !memcmp((u8 *)&out + 4, (u8 *)&r + 4, sizeof(r) - 4), "node: as it was written");
	result(WITH(node, n, state, cpu_to_le32(5)) == -EBADMSG &&
	       WITH(node, n, incarnation, cpu_to_le64(7)) == -EBADMSG &&
	       WITH(node, n, incarnation, cpu_to_le64(7ULL << 32)) == -EBADMSG &&
	       WITH(node, n, flags, cpu_to_le32(2)) == -EBADMSG &&
	       WITH(node, n, period_ms, 0) == -EBADMSG &&
	       WITH(node, n, period_ms, cpu_to_le32(0x80000001)) == -EBADMSG &&
	       WITH(node, n, timeout_ms, cpu_to_le32(199)) == -EBADMSG &&
	       WITH(node, n, timeout_ms, cpu_to_le32(600001)) == -EBADMSG &&
	       WITH(node, n, endpoints, cpu_to_le32(1025)) == -EBADMSG &&
	       WITH(node, n, windows, cpu_to_le32(2049)) == -EBADMSG, "node: nonsense is refused");
	WRITE_ONCE(n->seq, cpu_to_le32(3));
	result(read_node(&out) == -EAGAIN, "node: being written for ever");
	free(base);
}

static void test_domain(void)
{
	void *base = fresh();
	struct vfab_bp_domain *d = &vf_bp_slot(&bp, 3)->domain[2], r = good_domain(), out;
	struct vfab_bp_endpoint ep = good_endpoint();
	u32 seq = 0;

	result(read_domain(&out) == -ENOENT, "domain: none");
	vf_bp_write(d, &r, sizeof(r), &seq);
	result(!read_domain(&out) &&
	       !memcmp((u8 *)&out + 4, (u8 *)&r + 4, sizeof(r) - 4), "domain: as it was written");
	result(vf_bp_belongs(&out, 3, &ep), "an endpoint of it, where it is placed");
	result(!vf_bp_belongs(&out, 2, &ep), "not on another node");
	ep.rank = cpu_to_le32(2);
	result(!vf_bp_belongs(&out, 3, &ep), "nor a rank that is placed nowhere");
	ep = good_endpoint();
	ep.domain_generation++;
	result(!vf_bp_belongs(&out, 3, &ep), "nor of a domain that was there before");
	result(WITH(domain, d, state, cpu_to_le32(2)) == -EBADMSG &&
	       WITH(domain, d, world, 0) == -EBADMSG &&
	       WITH(domain, d, world, cpu_to_le32(1025)) == -EBADMSG &&
	       WITH(domain, d, world, cpu_to_le32(1)) == -EBADMSG &&	/* rank 1 is placed */
	       WITH(domain, d, planes, cpu_to_le32(65)) == -EBADMSG &&
	       WITH(domain, d, switches, cpu_to_le32(1025)) == -EBADMSG &&
	       WITH(domain, d, format, 1) == -EBADMSG &&
	       WITH(domain, d, name[1], '/') == -EBADMSG &&
	       WITH(domain, d, place[3], NODES) == -EBADMSG &&
	       WITH(domain, d, place[4], 0) == -EBADMSG, "domain: nonsense is refused");
	result(WITH(domain, d, blob[0].offset, cpu_to_le64(vf_bp_data(&bp, 2))) == -EBADMSG &&
	       WITH(domain, d, blob[0].offset, cpu_to_le64(vf_bp_data(&bp, 3) + 1)) == -EBADMSG &&
	       WITH(domain, d, blob[0].bytes, cpu_to_le64(bp.data_size)) == 0 &&
	       WITH(domain, d, blob[0].bytes, cpu_to_le64(bp.data_size + 1)) == -EBADMSG &&
	       WITH(domain, d, blob[0].bytes, cpu_to_le64(~0ULL)) == -EBADMSG,
	       "domain: a blob outside of its owner's data is refused");
	free(base);
}

static void test_endpoint(void)
{
	void *base = fresh();
	struct vfab_bp_endpoint *e = &vf_bp_slot(&bp, 3)->endpoint[2];
	u64 end = vf_bp_data(&bp, 3) + bp.data_size;

	result(WITH(endpoint, e, state, 0) == -ENOENT, "endpoint: none");
	result(WITH(endpoint, e, bell, cpu_to_le64(end - 8192)) == 0, "endpoint: at the end");
	result(WITH(endpoint, e, state, cpu_to_le32(2)) == -EBADMSG &&
	       WITH(endpoint, e, domain, cpu_to_le32(VFAB_BP_DOMAIN_ID(NODES, 0))) == -EBADMSG &&
	       WITH(endpoint, e, domain, cpu_to_le32(VFAB_BP_DOMAIN_ID(0, 16))) == -EBADMSG &&
	       WITH(endpoint, e, rank, cpu_to_le32(1024)) == -EBADMSG &&
	       WITH(endpoint, e, generation, 0) == -EBADMSG &&
	       WITH(endpoint, e, bell, cpu_to_le64(end - 4096)) == -EBADMSG &&
	       WITH(endpoint, e, bell, cpu_to_le64(vf_bp_data(&bp, 3) - 4096)) == -EBADMSG &&
	       WITH(endpoint, e, bell, cpu_to_le64(end - 8191)) == -EBADMSG &&
	       WITH(endpoint, e, bell, cpu_to_le64(-4096ULL)) == -EBADMSG,
	       "endpoint: nonsense is refused");
	free(base);
}

static void test_window(void)
{
	void *base = fresh();
	struct vfab_bp_window *w = &vf_bp_slot(&bp, 3)->window[2];
	u64 start = vf_bp_data(&bp, 3);

	result(WITH(window, w, state, 0) == -ENOENT, "window: none");
	result(WITH(window, w, access, cpu_to_le32(1)) == 0, "window: for reading");
	result(WITH(window, w, size, cpu_to_le64(bp.data_size - 16384)) == 0, "window: to the end");
	result(WITH(window, w, state, cpu_to_le32(2)) == -EBADMSG &&
	       WITH(window, w, access, cpu_to_le32(2)) == -EBADMSG &&
	       WITH(window, w, access, cpu_to_le32(7)) == -EBADMSG &&
	       WITH(window, w, endpoint, cpu_to_le32(1024)) == -EBADMSG &&
	       WITH(window, w, handle, 0) == -EBADMSG &&
	       WITH(window, w, size, 0) == -EBADMSG &&
	       WITH(window, w, size, cpu_to_le64(bp.data_size)) == -EBADMSG &&
	       WITH(window, w, size, cpu_to_le64(-16384ULL - start)) == -EBADMSG &&
	       WITH(window, w, size, cpu_to_le64(100)) == -EBADMSG &&
	       WITH(window, w, offset, cpu_to_le64(start - 4096)) == -EBADMSG &&
	       WITH(window, w, offset, cpu_to_le64(start + 1)) == -EBADMSG &&
	       WITH(window, w, offset, 0) == -EBADMSG, "window: nonsense is refused");
	free(base);
}

static void test_peers(void)
{
	void *base = fresh();
	struct vfab_bp_peer out, r = {
		.state = cpu_to_le32(VFAB_BP_PEER_JOINED), .peer = cpu_to_le32(300),
		.generation = cpu_to_le64(2),
	};
	struct vfab_bp_node n = {
		.state = cpu_to_le32(VFAB_BP_NODE_ACTIVE),
		.incarnation = cpu_to_le64(2ULL << 32 | 1),
		.period_ms = cpu_to_le32(1), .timeout_ms = cpu_to_le32(2),
	};
	struct vfab_bp_follow f = { .state = cpu_to_le32(VFAB_BP_FOLLOW_EXPELLED) }, seen;
	u32 seq = 0;

	result(vf_bp_find_peer(&bp, 300, &out) == -ENOENT &&
	       vf_bp_find_peer(&bp, 0, &out) == -ENOENT, "peer: none");
	vf_bp_write(&vf_bp_daemon(&bp)->peer[5], &r, sizeof(r), &seq);
	result(vf_bp_find_peer(&bp, 300, &out) == 5 && out.generation == cpu_to_le64(2),
	       "peer: found");
	vf_bp_write(&vf_bp_slot(&bp, 5)->node, &n, sizeof(n), &seq);
	result(vf_bp_bell(&bp, 5) == 300 && vf_bp_bell(&bp, 4) == -ENOENT, "bell: of who is there");
	n.state = cpu_to_le32(VFAB_BP_NODE_LEFT);
	vf_bp_write(&vf_bp_slot(&bp, 5)->node, &n, sizeof(n), &seq);
	result(vf_bp_bell(&bp, 5) == -ENOENT, "bell: not of who has left");
	r.generation = cpu_to_le64(1ULL << 32);
	vf_bp_write(&vf_bp_daemon(&bp)->peer[5], &r, sizeof(r), &seq);
	result(vf_bp_find_peer(&bp, 300, &out) == -ENOENT &&
	       vf_bp_read_peer(&bp, 5, &out) == -EBADMSG, "peer: nonsense is refused");
	result(vf_bp_read_follow(&bp, 1, 2, &seen) == -ENOENT, "follow: none");
	vf_bp_write(&vf_bp_slot(&bp, 1)->follow[2], &f, sizeof(f), &seq);
	result(!vf_bp_read_follow(&bp, 1, 2, &seen) &&
	       vf_bp_read_follow(&bp, 2, 1, &seen) == -ENOENT,
	       "follow: of the one about the other");
	f.state = cpu_to_le32(3);
	vf_bp_write(&vf_bp_slot(&bp, 1)->follow[2], &f, sizeof(f), &seq);
	result(vf_bp_read_follow(&bp, 1, 2, &seen) == -EBADMSG, "follow: nonsense is refused");
	free(base);
}

static void test_rings(void)
{
	void *base = fresh();
	struct vfab_bp_rings *r = &vf_bp_slot(&bp, 1)->rings[2];
	struct vf_bp_ring out[VFAB_BP_RINGS], in = { .node = 3, .domain = 4 };
	u64 seen = 0, count = 0, got = 0, overflows = 0;
	bool right = true;
	int n, i, turn;

	for (turn = 0; turn < 200; turn++) {
		int many = turn % 20;

		for (i = 0; i < many; i++) {
			in.rank = count % 1024;
			in.vector = count % 64;
			vf_bp_ring(r, count++, &in);
		}
		n = vf_bp_read_rings(&bp, 1, 2, &seen, out);
		right &= n == (many < VFAB_BP_RINGS ? many : -EOVERFLOW) && seen == count;
		for (i = 0; i < n; i++)
			right &= out[i].node == 3 && out[i].domain == 4 &&
				 out[i].rank == (count - n + i) % 1024 &&
				 out[i].vector == (count - n + i) % 64;
		if (n < 0)
			overflows++;
		else
			got += n;
	}
	result(right && got && overflows, "rings: each one, in order, or all of them");
	result(!vf_bp_read_rings(&bp, 2, 1, &(u64){0}, out), "rings: not those of another pair");
	in.vector = 64;
	vf_bp_ring(r, count, &in);
	result(vf_bp_read_rings(&bp, 1, 2, &seen, out) == -EOVERFLOW && seen == count + 1,
	       "rings: nonsense is all of them, once");
	seen = count + 9;
	result(vf_bp_read_rings(&bp, 1, 2, &seen, out) == -EOVERFLOW,
	       "rings: a count that went back");
	free(base);
}

/* --- Two at once -------------------------------------------------------------------- */

static bool stop;

/* Every rank is placed on the same node in each version of the record */
static void *write_for_ever(void *arg)
{
	struct vfab_bp_domain d = good_domain();
	volatile u32 pause;
	u32 seq = 0, i;

	d.world = cpu_to_le32(VFAB_BP_MAX_WORLD);
	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		d.changes = cpu_to_le64(i % NODES);
		memset(d.place, i % NODES, sizeof(d.place));
		vf_bp_write(arg, &d, sizeof(d), &seq);
		/* At other places of the reader's each time */
		for (pause = 0; pause < i % 5000; pause++)
			;
	}
	return NULL;
}

static bool is_torn(const struct vfab_bp_domain *d)
{
	u32 i;

	for (i = 0; i < VFAB_BP_MAX_WORLD; i++)
		if (d->place[i] != le64_to_cpu(d->changes))
			return true;
	return false;
}

static void test_torn(void)
{
	void *base = fresh();
	struct vfab_bp_domain out;
	unsigned int torn = 0, read = 0, i;
	pthread_t thread;

	stop = false;
	pthread_create(&thread, NULL, write_for_ever, &vf_bp_slot(&bp, 3)->domain[2]);
	for (i = 0; i < 1000000 && read < 20000; i++) {
		if (read_domain(&out))
			continue;
		read++;
		torn += is_torn(&out);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	printf("# %u reads in %u tries\n", read, i);
	result(read > 20 && !torn, "no record is read in parts");
	free(base);
}

/* Records that are right but for one byte, in a region that ends where it ends */
static void test_hostile(void)
{
	u8 *base = fresh();
	struct vfab_bp_slot *slot = vf_bp_slot(&bp, 3);
	struct vfab_bp_domain d = good_domain();
	struct vfab_bp_endpoint e = good_endpoint();
	struct vfab_bp_window w = good_window();
	struct vfab_bp_node n = good_node();
	unsigned int i;
	u32 seq = 0;

	for (i = 0; i < 3000; i++) {
		vf_bp_write(&slot->node, &n, sizeof(n), &seq);
		vf_bp_write(&slot->domain[2], &d, sizeof(d), &seq);
		vf_bp_write(&slot->endpoint[1], &e, sizeof(e), &seq);
		vf_bp_write(&slot->window[1], &w, sizeof(w), &seq);
		((u8 *)&slot->node)[random() % sizeof(n)] = random();
		((u8 *)&slot->domain[2])[random() % 300] = random();
		((u8 *)&slot->endpoint[1])[random() % sizeof(e)] = random();
		((u8 *)&slot->window[1])[random() % sizeof(w)] = random();
		walk_node(&bp, 3);
	}
	result(true, "what is read can be used, whatever is written");
	free(base);
}

int main(int argc, char **argv)
{
	static void (*const tests[])(void) = {
		test_sizes, test_header, test_node, test_domain, test_endpoint, test_window,
		test_peers, test_rings, test_torn, test_hostile,
	};
	unsigned int seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, i;

	alarm(300);
	srandom(seed);
	printf("TAP version 13\n# seed %u\n", seed);
	for (i = 0; i < COUNT(tests); i++)
		tests[i]();
	printf("1..%u\n", number);
	return failed != 0;
}
