/* SPDX-License-Identifier: GPL-2.0 OR LGPL-2.1 */
/*
 * Reading and writing the memory of a backplane: the rules of
 * uapi/linux/vfabric_backplane.h, for the module, for libraries and programs of
 * user space and for a fuzzer, which compile the same file.
 *
 * Whatever is in the region, a read ends after a number of steps that the
 * constants bound, touches nothing outside of the region, and returns a copy
 * whose values are in their ranges, or an error:
 *
 * EAGAIN	it was being written all the time: look again later
 * EBADMSG	its writer makes no sense
 * ENOENT	there is none
 */
#ifndef VFABRIC_BACKPLANE_LAYOUT_H
#define VFABRIC_BACKPLANE_LAYOUT_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>
#include <uapi/linux/vfabric_backplane.h>
#else
#include <linux/vfabric_backplane.h>
#include "backplane_user.h"
#endif

/**
 * struct vf_bp - a region that was found to be right
 * @base:	where it is mapped
 * @size:	its bytes
 * @data_offset: of node 0's data area
 * @data_size:	of each
 * @nodes:	slots
 * @vectors:	interrupts of each peer
 * @uuid:	of the backplane
 * @name:	NUL-terminated, of printable characters
 *
 * Nothing of it is read again.
 */
struct vf_bp {
	void *base;
	u64 size;
	u64 data_offset;
	u64 data_size;
	u32 nodes;
	u32 vectors;
	u8 uuid[16];
	char name[40];
};

/**
 * struct vf_bp_ring - a doorbell that was rung
 * @node:	owner of the domain
 * @domain:	index of its record there
 * @rank:	whose doorbell
 * @vector:	of the doorbell
 */
struct vf_bp_ring {
	u32 node;
	u32 domain;
	u32 rank;
	u32 vector;
};

u64 vf_bp_least(u32 nodes);
bool vf_bp_name_valid(const char *name, size_t room);
int vf_bp_format(struct vf_bp *bp, void *base, u64 size, u32 nodes, u32 vectors,
		 const u8 uuid[16], const char *name);
int vf_bp_open(struct vf_bp *bp, void *base, u64 size);

void vf_bp_fill_header(const struct vf_bp *bp, struct vfab_bp_header *h);
struct vfab_bp_daemon *vf_bp_daemon(const struct vf_bp *bp);
struct vfab_bp_slot *vf_bp_slot(const struct vf_bp *bp, u32 node);
u64 vf_bp_data(const struct vf_bp *bp, u32 node);
bool vf_bp_inside(const struct vf_bp *bp, u32 node, u64 offset, u64 bytes);

void vf_bp_write(void *record, const void *from, size_t bytes, u32 *seq);
u64 vf_bp_load(const __le64 *word);
void vf_bp_store(__le64 *word, u64 value);

int vf_bp_read_switch(const struct vf_bp *bp, struct vfab_bp_switch *to);
int vf_bp_read_peer(const struct vf_bp *bp, u32 node, struct vfab_bp_peer *to);
int vf_bp_find_peer(const struct vf_bp *bp, u32 peer, struct vfab_bp_peer *to);
int vf_bp_read_node(const struct vf_bp *bp, u32 node, struct vfab_bp_node *to);
int vf_bp_bell(const struct vf_bp *bp, u32 node);
int vf_bp_read_follow(const struct vf_bp *bp, u32 node, u32 of, struct vfab_bp_follow *to);
int vf_bp_read_domain(const struct vf_bp *bp, u32 node, u32 index, struct vfab_bp_domain *to);
int vf_bp_read_endpoint(const struct vf_bp *bp, u32 node, u32 index, struct vfab_bp_endpoint *to);
int vf_bp_read_window(const struct vf_bp *bp, u32 node, u32 index, struct vfab_bp_window *to);
bool vf_bp_belongs(const struct vfab_bp_domain *dom, u32 node, const struct vfab_bp_endpoint *ep);

void vf_bp_ring(struct vfab_bp_rings *to, u64 count, const struct vf_bp_ring *ring);
int vf_bp_read_rings(const struct vf_bp *bp, u32 from, u32 to, u64 *seen,
		     struct vf_bp_ring ring[VFAB_BP_RINGS]);

#endif
