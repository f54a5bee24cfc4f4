// SPDX-License-Identifier: GPL-2.0
/* What the owner of a domain has published, and how its mirror is made the same. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <uapi/linux/vfabric_netlink.h>
#include "placed.h"

/**
 * struct vf_blobs - copies of what the owner of a domain has published
 * @data:	of all, to be freed
 */
struct vf_blobs {
	void *data;
	struct vfab_bp_entry *entry;
	struct vfab_bp_link *link;
	u8 *sw_up;
	__le32 *member;
	struct vfab_bp_partition *part;
	struct vfab_bp_channel *channel;
	u32 nparts;
	u32 nchannels;
};

static bool vf_blob_fits(const struct vf_topo *t, u32 blob, u64 bytes)
{
	size_t room = vf_placed_blob_bytes(t, blob);

	if (blob == VFAB_BP_BLOB_PARTITIONS)
		return bytes <= room && bytes % sizeof(struct vfab_bp_partition) == 0;
	if (blob == VFAB_BP_BLOB_CHANNELS)
		return bytes <= room && bytes % sizeof(struct vfab_bp_channel) == 0;
	return bytes == room;
}

/* Return: 0, -ENOMEM, or -EBADMSG where a blob is not as large as it must be. */
static int vf_blobs_copy(struct vf_bp_dev *bd, const struct vf_topo *t,
			 const struct vfab_bp_domain *rec, struct vf_blobs *b)
{
	void *at[VFAB_BP_BLOBS];
	size_t total = 0;
	u32 i;

	for (i = VFAB_BP_BLOB_ENTRIES; i <= VFAB_BP_BLOB_CHANNELS; i++) {
		if (!vf_blob_fits(t, i, le64_to_cpu(rec->blob[i].bytes)))
			return -EBADMSG;
		total += ALIGN(le64_to_cpu(rec->blob[i].bytes), 8);
	}
	b->data = kvmalloc(total, GFP_KERNEL_ACCOUNT);
	if (!b->data)
		return -ENOMEM;
	at[VFAB_BP_BLOB_ENTRIES] = b->data;
	for (i = VFAB_BP_BLOB_ENTRIES; i <= VFAB_BP_BLOB_CHANNELS; i++) {
		u64 bytes = le64_to_cpu(rec->blob[i].bytes);

		memcpy(at[i], vf_backplane_addr(bd, le64_to_cpu(rec->blob[i].offset)), bytes);
		if (i < VFAB_BP_BLOB_CHANNELS)
			at[i + 1] = at[i] + ALIGN(bytes, 8);
	}
	b->entry = at[VFAB_BP_BLOB_ENTRIES];
	b->link = at[VFAB_BP_BLOB_STATES];
	b->sw_up = (u8 *)(b->link + t->nlinks);
	b->member = at[VFAB_BP_BLOB_MEMBERS];
	b->part = at[VFAB_BP_BLOB_PARTITIONS];
	b->channel = at[VFAB_BP_BLOB_CHANNELS];
	b->nparts = le64_to_cpu(rec->blob[VFAB_BP_BLOB_PARTITIONS].bytes) / sizeof(*b->part);
	b->nchannels = le64_to_cpu(rec->blob[VFAB_BP_BLOB_CHANNELS].bytes) / sizeof(*b->channel);
	return 0;
}

static bool vf_link_sane(const struct vfab_bp_link *s)
{
	u32 rate = le32_to_cpu(s->rate);

	return rate && rate <= VF_MAX_RATE && le32_to_cpu(s->latency) <= VF_MAX_LATENCY &&
	       s->admin <= VFAB_BP_LINK_DRAIN &&
	       !(s->down & ~(VFAB_BP_LINK_OUTAGE | VFAB_BP_LINK_BROKEN));
}

/* Does it all make sense? Only then is any of it done. */
static bool vf_blobs_sane(const struct vf_topo *t, struct vf_blobs *b)
{
	u32 i;

	for (i = 0; i < t->nlinks; i++)
		if (!vf_link_sane(&b->link[i]))
			return false;
	for (i = 0; i < t->switches; i++)
		if (b->sw_up[i] > 1)
			return false;
	for (i = 0; i < b->nparts; i++) {
		struct vfab_bp_partition *p = &b->part[i];

		if (!vf_bp_name_valid(p->name, sizeof(p->name)) ||
		    le32_to_cpu(p->id) > VF_MAX_PARTITION ||
		    le32_to_cpu(p->resiliency) > VFAB_RESILIENCY_FULL ||
		    (i && le32_to_cpu(p->id) <= le32_to_cpu(p[-1].id)))
			return false;
	}
	for (i = 0; i < b->nchannels; i++)
		if (le32_to_cpu(b->channel[i].partition) > VF_MAX_PARTITION ||
		    le32_to_cpu(b->channel[i].channel) >= VFAB_CHANNELS ||
		    le32_to_cpu(b->channel[i].mode) & ~0777)
			return false;
	return true;
}

static bool vf_apply_link(struct vf_domain *dom, u32 link, const struct vfab_bp_link *s,
			  unsigned long *dests)
{
	struct vf_link *l = &dom->topo.link[link];
	struct vf_speed speed = {
		le32_to_cpu(s->rate), le32_to_cpu(s->latency), le16_to_cpu(s->width),
	};
	u8 outage = !!(s->down & VFAB_BP_LINK_OUTAGE), broken = !!(s->down & VFAB_BP_LINK_BROKEN);
	bool rates = speed.rate != l->rate_now || speed.latency != l->latency_now ||
		     speed.width != l->width_now;

	if (!rates && s->admin == l->admin && outage == l->outage && broken == l->broken)
		return false;
	vf_change_link(dom, link, dests);
	l->admin = s->admin;
	l->outage = outage;
	l->broken = broken;
	l->set = speed;
	vf_topo_degrade(&dom->topo, link, speed.rate, speed.latency, speed.width);
	return rates;
}

static void vf_apply_entries(struct vf_domain *dom, const struct vfab_bp_entry *e,
			     unsigned long *dests)
{
	struct vf_topo *t = &dom->topo;
	u32 router, dest;

	for (router = 0; router < t->routers; router++) {
		for (dest = 0; dest < t->world; dest++, e++) {
			size_t i = (size_t)router * t->world + dest;
			u64 mask = le64_to_cpu(e->mask);
			u32 base = le32_to_cpu(e->base);

			if (t->mask[i] == mask && (!mask || t->base[i] == base))
				continue;
			vf_change_dest(dom, dest, dests);
			if (vf_topo_set_entry(t, router, dest, base, mask))
				vf_topo_set_entry(t, router, dest, 0, 0);
		}
		cond_resched();
	}
}

static void vf_apply_topology(struct vf_domain *dom, const struct vf_blobs *b)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_LINK, VFAB_ACT_CHANGED, VFAB_WHY_LINK);
	DECLARE_BITMAP(dests, VF_MAX_WORLD) = { };
	struct vf_topo *t = &dom->topo;
	struct vf_change chg;
	bool rates = false;
	u32 i;

	for (i = 0; i < t->nlinks; i++)
		rates |= vf_apply_link(dom, i, &b->link[i], dests);
	for (i = 0; i < t->switches; i++)
		if (b->sw_up[i] != t->sw_up[i]) {
			vf_change_switch(dom, i, dests);
			t->sw_up[i] = b->sw_up[i];
		}
	vf_apply_entries(dom, b->entry, dests);
	if (bitmap_empty(dests, t->world))
		return;
	vf_change_topology(&chg, dom, VFAB_REASON_LINK, dests, rates);
	n.chg = &chg;
	vf_notify(dom, &n);
}

/* Partitions that the owner has, and this kernel not yet: as far as they can be made. */
static void vf_apply_parts(struct vf_domain *dom, const struct vf_blobs *b)
{
	struct vf_partition *part;
	u32 i;

	for (i = 0; i < b->nparts; i++) {
		u32 id = le32_to_cpu(b->part[i].id);

		part = vf_partition_find(dom, id);
		if (!part) {
			part = vf_partition_create(dom, id, b->part[i].name);
			if (IS_ERR(part)) {
				pr_warn_ratelimited("vfabric: domain %s: partition %u of its owner could not be made here (error %ld): its members are in none\n",
						    dom->name, id, PTR_ERR(part));
				continue;
			}
		}
		strscpy(part->name, b->part[i].name, sizeof(part->name));
		part->resiliency = le32_to_cpu(b->part[i].resiliency);
	}
}

static bool vf_part_listed(const struct vf_blobs *b, u32 id)
{
	u32 i;

	for (i = 0; i < b->nparts; i++)
		if (le32_to_cpu(b->part[i].id) == id)
			return true;
	return false;
}

static void vf_apply_channel(struct vf_domain *dom, const struct vfab_bp_channel *c)
{
	const struct vf_access access = {
		.mode = le32_to_cpu(c->mode), .uid = GLOBAL_ROOT_UID, .gid = GLOBAL_ROOT_GID,
	};
	struct vf_partition *part = vf_partition_find(dom, le32_to_cpu(c->partition));
	u32 id = le32_to_cpu(c->channel);
	struct vf_gate *gate;

	if (!part || xa_load(&part->channels, id))
		return;
	gate = vf_channel_create(part, id, &access);
	if (IS_ERR(gate))
		pr_warn_ratelimited("vfabric: domain %s: channel %u of partition %u of its owner could not be made here (error %ld)\n",
				    dom->name, id, part->id, PTR_ERR(gate));
}

static bool vf_channel_listed(const struct vf_blobs *b, u32 part, u32 id)
{
	u32 i;

	for (i = 0; i < b->nchannels; i++)
		if (le32_to_cpu(b->channel[i].partition) == part &&
		    le32_to_cpu(b->channel[i].channel) == id)
			return true;
	return false;
}

/* The owner has deleted it: who is in it here ends, as those that were in it there. */
static void vf_apply_no_channel(struct vf_domain *dom, struct vf_gate *gate)
{
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };
	struct vf_holder *h;
	u32 i;

	for (i = 0; gate->held && i < dom->topo.world; i++) {
		h = rcu_dereference_protected(dom->eps[i].holder, lockdep_is_held(&dom->lock));
		if (h && h->gate == gate)
			__set_bit(i, ranks);
	}
	vf_holders_evict(dom, ranks, VFAB_WHY_ADMIN);
	vf_channel_delete(gate);
}

static void vf_apply_channels(struct vf_domain *dom, const struct vf_blobs *b)
{
	struct vf_partition *part;
	struct vf_gate *gate;
	unsigned long id;
	u32 i;

	list_for_each_entry(part, &dom->parts, node)
		xa_for_each(&part->channels, id, gate)
			if (!vf_channel_listed(b, part->id, id))
				vf_apply_no_channel(dom, gate);
	for (i = 0; i < b->nchannels; i++)
		vf_apply_channel(dom, &b->channel[i]);
	vf_domain_changed(dom);
}

/* The id of the partition that a rank is to be in, or VFAB_BP_MEMBER_NONE */
static u32 vf_member_id(const struct vf_blobs *b, u32 rank)
{
	u32 member = le32_to_cpu(b->member[rank]);

	return member == VFAB_BP_MEMBER_NONE ? member : member & ~VFAB_BP_MEMBER_PARKED;
}

/* Move who is elsewhere than the owner says; @moved: those. */
static void vf_apply_moves(struct vf_domain *dom, const struct vf_blobs *b,
			   struct vf_change *chg, unsigned long *moved)
{
	DECLARE_BITMAP(left, VF_MAX_WORLD);
	u32 i, k, id, world = dom->topo.world;

	for (i = 0; i < world; i++) {
		struct vf_partition *part = dom->eps[i].part;

		if (vf_member_id(b, i) != (part ? part->id : VFAB_BP_MEMBER_NONE))
			__set_bit(i, moved);
	}
	bitmap_copy(left, moved, VF_MAX_WORLD);
	for_each_set_bit(i, left, world) {
		DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };

		id = vf_member_id(b, i);
		for (k = i; k < world; k++)
			if (test_bit(k, left) && vf_member_id(b, k) == id) {
				__clear_bit(k, left);
				__set_bit(k, ranks);
			}
		/* Where there is no such partition, into none */
		vf_partition_move(dom, vf_partition_find(dom, id), ranks, chg);
	}
}

static void vf_apply_parked(struct vf_domain *dom, const struct vf_blobs *b, bool parked)
{
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };
	struct vf_change chg;
	u32 i;

	for (i = 0; i < dom->topo.world; i++) {
		u32 member = le32_to_cpu(b->member[i]);
		bool is = member != VFAB_BP_MEMBER_NONE && member & VFAB_BP_MEMBER_PARKED;

		if (dom->eps[i].part && is == parked && dom->eps[i].parked != parked)
			__set_bit(i, ranks);
	}
	if (bitmap_empty(ranks, dom->topo.world))
		return;
	vf_change_begin(&chg, dom, VFAB_REASON_ROUTE);
	vf_partition_park(dom, ranks, parked, &chg);
	vf_change_commit(&chg);
}

static void vf_apply_members(struct vf_domain *dom, const struct vf_blobs *b)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_PARTITION, VFAB_ACT_CHANGED, VFAB_WHY_ADMIN);
	DECLARE_BITMAP(moved, VF_MAX_WORLD) = { };
	struct vf_partition *part, *next;
	struct vf_change chg;

	vf_apply_parts(dom, b);
	vf_change_begin(&chg, dom, VFAB_REASON_PARTITION);
	vf_apply_moves(dom, b, &chg, moved);
	vf_change_commit(&chg);
	list_for_each_entry_safe(part, next, &dom->parts, node)
		if (!vf_part_listed(b, part->id) && !part->members)
			vf_partition_delete(part);
	vf_apply_parked(dom, b, true);
	vf_apply_parked(dom, b, false);
	if (bitmap_empty(moved, dom->topo.world))
		return;
	n.chg = &chg;
	n.members = moved;
	vf_notify(dom, &n);
}

/**
 * vf_mirror_apply - make a mirror what its owner has published
 * @bd: the backplane
 * @rec: of the domain, as it was read
 * @seq: of the record, where it was read
 * @dom: the mirror
 *
 * Return: 0, -ENOMEM, -EBADMSG: it makes no sense; -EAGAIN: it has changed meanwhile.
 */
int vf_mirror_apply(struct vf_bp_dev *bd, const struct vfab_bp_domain *rec,
		    const __le32 *seq, struct vf_domain *dom)
{
	struct vf_blobs b = { };
	int ret;

	ret = vf_blobs_copy(bd, &dom->topo, rec, &b);
	if (ret)
		return ret;
	/* They were copied before the seq is loaded again */
	smp_rmb();
	if (READ_ONCE(*seq) != rec->seq)
		ret = -EAGAIN;
	else if (!vf_blobs_sane(&dom->topo, &b))
		ret = -EBADMSG;
	if (!ret) {
		mutex_lock(&dom->lock);
		if (!dom->dead) {
			vf_apply_members(dom, &b);
			vf_apply_channels(dom, &b);
			vf_apply_topology(dom, &b);
		}
		vf_placed_unlock_nowait(dom);
	}
	kvfree(b.data);
	return ret;
}

static int vf_mirror_links(struct vf_bp_dev *bd, const struct vfab_bp_domain *rec,
			   struct vf_topo_config *t)
{
	u64 bytes = le64_to_cpu(rec->blob[VFAB_BP_BLOB_LINKS].bytes);
	struct vfab_link_spec *links;
	u32 i, k;

	if (bytes % sizeof(*links) || bytes / sizeof(*links) > VF_MAX_LINKS)
		return -EBADMSG;
	links = kvmalloc(max_t(size_t, bytes, 1), GFP_KERNEL_ACCOUNT);
	if (!links)
		return -ENOMEM;
	memcpy(links, vf_backplane_addr(bd, le64_to_cpu(rec->blob[VFAB_BP_BLOB_LINKS].offset)),
	       bytes);
	t->links = links;
	t->nlinks = bytes / sizeof(*links);
	for (i = 0; i < t->nlinks; i++) {
		struct vfab_link_spec *s = &links[i];

		for (k = 0; k < 2; k++) {
			s->node[k] = le16_to_cpu((__force __le16)s->node[k]);
			s->port[k] = le16_to_cpu((__force __le16)s->port[k]);
		}
		s->rate = le32_to_cpu((__force __le32)s->rate);
		s->latency = le32_to_cpu((__force __le32)s->latency);
		s->width = le16_to_cpu((__force __le16)s->width);
	}
	return 0;
}

/* The vertex of a link's end, as vf_topo_create() numbers them; or none that there is */
static u32 vf_mirror_vertex(const struct vf_topo_config *t, u16 node)
{
	return node & VFAB_SPEC_SWITCH ? t->world + (node & ~VFAB_SPEC_SWITCH) : node;
}

/**
 * vf_mirror_topo_bytes - how much memory does a topology take?
 * @t: with links, which may be wrong
 * @bytes: the outcome, about: what there are many of; pairs as if no two endpoints
 *	had the same neighbours
 *
 * Return: 0 or -ENOMEM.
 */
int vf_mirror_topo_bytes(const struct vf_topo_config *t, u64 *bytes)
{
	u64 vertices = t->world + t->switches, ports = 0, i, k;
	u64 routers = t->switches + (t->forwards ? t->world : 0);
	u16 *radix = kvcalloc(vertices, sizeof(*radix), GFP_KERNEL_ACCOUNT);

	if (!radix)
		return -ENOMEM;
	for (i = 0; i < t->nlinks; i++)
		for (k = 0; k < 2; k++) {
			u32 v = vf_mirror_vertex(t, t->links[i].node[k]);

			if (v < vertices)
				radix[v] = max_t(u32, radix[v], 1 +
						 min_t(u32, t->links[i].port[k], VF_MAX_RADIX - 1));
		}
	for (i = 0; i < vertices; i++)
		ports += radix[i];
	kvfree(radix);
	*bytes = routers * t->world * (sizeof(u64) + sizeof(u16) + sizeof(u8)) +
		 2ULL * t->world * t->world * sizeof(u64) +
		 ports * (sizeof(struct vf_port) + sizeof(struct vf_port_counts) +
			  sizeof(struct vf_port_moved)) +
		 (u64)t->nlinks * sizeof(struct vf_link);
	return 0;
}

/**
 * vf_mirror_config - what a record says of a domain, in this kernel's words
 * @bd: the backplane
 * @rec: as it was read
 * @cfg: the outcome, whose links the caller frees
 * @uuid: room for one
 *
 * Return: 0, -EBADMSG, -ENOMEM.
 */
int vf_mirror_config(struct vf_bp_dev *bd, const struct vfab_bp_domain *rec,
		     struct vf_domain_config *cfg, uuid_t *uuid)
{
	import_uuid(uuid, rec->uuid);
	*cfg = (struct vf_domain_config){
		.name = rec->name,
		.uuid = uuid,
		.topo.world = le32_to_cpu(rec->world),
		.topo.switches = le32_to_cpu(rec->switches),
		.topo.switch_latency = le32_to_cpu(rec->switch_latency),
		.topo.forwards = le32_to_cpu(rec->flags) & VFAB_BP_DOMAIN_FORWARDS,
		.access.mode = le32_to_cpu(rec->mode),
		.access.uid = GLOBAL_ROOT_UID,
		.access.gid = GLOBAL_ROOT_GID,
		.nodes = vf_backplane_bp(bd)->nodes,
		.part_mode = VFAB_PARTITIONS_NONE,	/* until it is all there */
		.peer_death = VFAB_PEER_DEATH_REVOKE,
		.retry_ms = le32_to_cpu(rec->retry_ms),
		.mem_limit = le64_to_cpu(rec->mem_limit),
	};
	if (cfg->access.mode & ~0777 || cfg->retry_ms > VF_MAX_RETRY_MS || uuid_is_null(uuid) ||
	    cfg->topo.switch_latency > VF_MAX_LATENCY ||
	    le32_to_cpu(rec->partitions) > VFAB_PARTITIONS_NONE)
		return -EBADMSG;
	return vf_mirror_links(bd, rec, &cfg->topo);
}
