/* SPDX-License-Identifier: LGPL-2.1 */
/* What the files of bpnode share. */
#ifndef VFABRIC_BPNODE_H
#define VFABRIC_BPNODE_H

#include "../../../kmod/backplane_layout.h"

extern struct vf_bp bp;
extern u32 self, peer_id;
extern struct vfab_bp_node me;

void fail(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));
void pause_ms(unsigned int ms);
void learn_more(void);
void publish(enum vfab_bp_node_state state);
void interrupt(u32 peer, u32 vector);
void interrupt_all(u32 vector);

int live(unsigned int seconds, const char *how);
int flood(unsigned int seconds);
int misname(unsigned int seconds, u32 node);
int hostile(unsigned int seconds, unsigned int seed);

#endif
