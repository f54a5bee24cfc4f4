// SPDX-License-Identifier: GPL-2.0
/* Switches, links and routing tables: how they are set. */
#include "topology.h"

static void vf_set_bit(u64 *word, u32 bit, bool on)
{
	u64 mask = 1ULL << bit;

	/* Doorbells read these words without a lock */
	WRITE_ONCE(*word, on ? *word | mask : *word & ~mask);
}

/**
 * vf_topo_init - all up, every switch leads to every rank by its own port
 * @t: sizes filled in, arrays allocated
 */
void vf_topo_init(struct vf_topo *t)
{
	u32 sw, rank;

	t->now.sw_up = vf_topo_all(t);
	for (rank = 0; rank < t->world; rank++) {
		t->now.port_up[rank] = vf_topo_all(t);
		t->now.entry[rank] = vf_topo_all(t);
	}
	for (sw = 0; sw < t->planes; sw++)
		for (rank = 0; rank < t->world; rank++)
			t->table[sw * t->world + rank] = rank;
}

void vf_topo_set_switch(struct vf_topo *t, u32 sw, bool up)
{
	vf_set_bit(&t->now.sw_up, sw, up);
}

void vf_topo_set_link(struct vf_topo *t, u32 rank, u32 sw, bool up)
{
	vf_set_bit(&t->now.port_up[rank], sw, up);
}

/**
 * vf_topo_set_entry - change one routing-table entry
 * @t: the topology
 * @sw: whose table
 * @dest: which entry
 * @egress: a port of the switch, or VF_NO_PORT to drop what is for @dest
 *
 * Return: 0, or -EINVAL where the switch has no such port.
 */
int vf_topo_set_entry(struct vf_topo *t, u32 sw, u32 dest, u16 egress)
{
	if (egress != VF_NO_PORT && egress >= t->world)
		return -EINVAL;
	t->table[sw * t->world + dest] = egress;
	vf_set_bit(&t->now.entry[dest], sw, egress == dest);
	return 0;
}

/* A link is as down as its switch. */
bool vf_topo_link_up(const struct vf_topo *t, u32 rank, u32 sw)
{
	return (t->now.port_up[rank] & t->now.sw_up) >> sw & 1;
}
