// SPDX-License-Identifier: LGPL-2.1
/*
 * A fuzzer of what is in the memory of a backplane, for clang's libFuzzer. How to
 * use, by example:
 *
 *	make -C tools fuzz
 *	mkdir corpus && build/tools/test/layoutfuzz -max_total_time=600 corpus
 *
 * The input is a list of patches to a region in which all is right: where, of
 * which records, and the bytes. What is read must lie inside of the region.
 */
#include <stdio.h>
#include <sys/mman.h>
#include "walk.h"

#define SIZE (8ULL << 20)
#define NODES 2

static struct vf_bp bp;
static struct vfab_bp_header header;
static u8 *base;

/* The region between two pages that may not be touched */
static void make(void)
{
	u8 uuid[16] = { 1 };

	base = mmap(NULL, SIZE + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED || mprotect(base + 4096, SIZE, PROT_READ | PROT_WRITE))
		abort();
	base += 4096;
	if (vf_bp_format(&bp, base, SIZE, NODES, 2, uuid, "fuzz"))
		abort();
	vf_bp_fill_header(&bp, &header);
}

static void fill(void)
{
	struct vfab_bp_node n = {
		.state = cpu_to_le32(VFAB_BP_NODE_ACTIVE),
		.incarnation = cpu_to_le64(1ULL << 32 | 1),
		.period_ms = cpu_to_le32(10), .timeout_ms = cpu_to_le32(100),
		.endpoints = cpu_to_le32(1), .windows = cpu_to_le32(1),
	};
	struct vfab_bp_domain d = {
		.state = cpu_to_le32(VFAB_BP_DOMAIN_LIVE), .name = "d", .world = cpu_to_le32(2),
		.planes = cpu_to_le32(1),
	};
	struct vfab_bp_endpoint e = {
		.state = cpu_to_le32(VFAB_BP_ENDPOINT_HELD), .generation = cpu_to_le64(1),
	};
	struct vfab_bp_window w = {
		.state = cpu_to_le32(VFAB_BP_WINDOW_LIVE), .access = cpu_to_le32(1),
		.handle = cpu_to_le64(1), .size = cpu_to_le64(4096),
	};
	u32 seq = 0, i;

	memset(d.place, VFAB_BP_NO_NODE, sizeof(d.place));
	d.place[0] = 0;
	d.place[1] = 1;
	for (i = 0; i < NODES; i++) {
		struct vfab_bp_slot *s = vf_bp_slot(&bp, i);

		d.blob[0].offset = cpu_to_le64(vf_bp_data(&bp, i));
		d.blob[0].bytes = cpu_to_le64(64);
		e.bell = cpu_to_le64(vf_bp_data(&bp, i));
		w.offset = e.bell;
		vf_bp_write(&s->node, &n, sizeof(n), &seq);
		vf_bp_write(&s->domain[0], &d, sizeof(d), &seq);
		vf_bp_write(&s->endpoint[0], &e, sizeof(e), &seq);
		vf_bp_write(&s->window[0], &w, sizeof(w), &seq);
		memset(s->rings, 0, sizeof(s->rings));
		memset(s->follow, 0, sizeof(s->follow));
	}
	memset(base + VFAB_BP_DAEMON_OFFSET, 0, sizeof(struct vfab_bp_daemon));
	memcpy(base, &header, sizeof(header));
}

/* Where a patch may go: the records that are there, and the header */
static u8 *place(u8 which)
{
	struct vfab_bp_slot *s = vf_bp_slot(&bp, which & 1);

	switch (which >> 1 & 7) {
	case 0: return (u8 *)&s->node;
	case 1: return (u8 *)&s->domain[0];
	case 2: return (u8 *)&s->endpoint[0];
	case 3: return (u8 *)&s->window[0];
	case 4: return (u8 *)&s->rings[0];
	case 5: return (u8 *)&s->follow[0];
	case 6: return (u8 *)vf_bp_daemon(&bp);
	default: return base;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vfab_bp_peer peer;
	struct vf_bp again;
	u32 i;

	if (!base)
		make();
	fill();
	while (size >= 4) {
		/* where, offset (2), length, bytes */
		size_t len = data[3] < size - 4 ? data[3] : size - 4;

		memcpy(place(data[0]) + (data[1] | data[2] << 8) % 1280, data + 4, len);
		data += 4 + len;
		size -= 4 + len;
	}
	for (i = 0; i < NODES; i++)
		walk_node(&bp, i);
	vf_bp_find_peer(&bp, 3, &peer);
	if (!vf_bp_open(&again, base, SIZE) &&
	    (again.data_offset != bp.data_offset || again.nodes != NODES ||
	     strlen(again.name) > 32))
		for (i = 0; i < again.nodes; i++)
			walk_node(&again, i);
	return 0;
}
