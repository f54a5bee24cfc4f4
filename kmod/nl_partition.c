// SPDX-License-Identifier: GPL-2.0
/* Netlink: partitions, and the channels that divide them. */
#include "netlink.h"

static const char vf_fixed_sets[] =
	"the partitions of an hgx15 domain are fixed: activate or deactivate one";

static int vf_nl_fill_partition(const struct vf_nl_to *to, struct vf_domain *dom,
				unsigned long index)
{
	struct vf_partition *part = vf_partition_find(dom, index);
	DECLARE_BITMAP(members, VF_MAX_WORLD) = { };
	DECLARE_BITMAP(parked, VF_MAX_WORLD) = { };
	struct sk_buff *skb = to->skb;
	struct vf_health health;
	void *hdr;
	u32 i;

	for (i = 0; i < dom->topo.world; i++) {
		if (part->fixed ? part->fixed >> i & 1 : dom->eps[i].part == part)
			__set_bit(i, members);
		if (dom->eps[i].part == part && dom->eps[i].parked)
			__set_bit(i, parked);
	}
	vf_partition_health(part, &health);
	hdr = vf_nl_begin(to, dom);
	if (!hdr)
		return -EMSGSIZE;
	return vf_nl_end(to, hdr,
		nla_put_u32(skb, VFAB_A_PARTITION, part->id) ||
		nla_put_string(skb, VFAB_A_PARTITION_NAME, part->name) ||
		nla_put_u32(skb, VFAB_A_MEMBER_COUNT,
			    part->fixed ? hweight_long(part->fixed) : part->members) ||
		vf_nl_put_bitmap(skb, VFAB_A_MEMBERS, members, dom->topo.world) ||
		nla_put_u32(skb, VFAB_A_ATTACHED, part->held) ||
		nla_put_u8(skb, VFAB_A_ACTIVE, !!part->gate) ||
		nla_put_u32(skb, VFAB_A_RESILIENCY, part->resiliency) ||
		nla_put_u32(skb, VFAB_A_HEALTH, health.health) ||
		nla_put_u32(skb, VFAB_A_LINK_COUNT, health.links) ||
		nla_put_u32(skb, VFAB_A_LINKS_UP, health.links_up) ||
		vf_nl_put_bitmap(skb, VFAB_A_PARKED_MEMBERS, parked, dom->topo.world) ||
		(part->gate &&
		 (nla_put_u32(skb, VFAB_A_DEV_MAJOR, MAJOR(vf_devt)) ||
		  nla_put_u32(skb, VFAB_A_DEV_MINOR, part->gate->minor))));
}

static int vf_nl_walk_partition(const struct vf_nl_to *to, struct vf_domain *dom,
				struct nlattr **attrs, unsigned long *index)
{
	struct nlattr *only = attrs[VFAB_A_PARTITION];
	struct vf_partition *part;
	int ret;

	list_for_each_entry(part, &dom->parts, node) {
		if (part->id < *index || (only && part->id != nla_get_u32(only)))
			continue;
		ret = vf_nl_fill_partition(to, dom, part->id);
		if (ret) {
			*index = part->id;
			return ret;
		}
	}
	return 0;
}

static struct vf_partition *vf_nl_partition(struct genl_info *info,
					    struct vf_domain *dom)
{
	struct vf_partition *part;
	u32 id;
	int ret;

	ret = vf_nl_index(info, VFAB_A_PARTITION, VF_MAX_PARTITION + 1,
			  "name a partition by its id", "no such partition id", &id);
	if (ret)
		return ERR_PTR(ret);
	part = vf_partition_find(dom, id);
	if (part)
		return part;
	return ERR_PTR(vf_nl_refuse(info, VFAB_A_PARTITION, -ENOENT,
				    "no such partition in this domain"));
}

int vfabric_nl_partition_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	struct vf_partition *part;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	part = vf_nl_partition(info, dom);
	if (IS_ERR(part))
		ret = PTR_ERR(part);
	else
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_partition, part->id);
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_partition_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_partition);
}

/* Move @add into @part and @del out of it, and say so. */
static void vf_nl_move(struct vf_domain *dom, struct vf_partition *part,
		       const unsigned long *add, const unsigned long *del,
		       struct vf_notice *n)
{
	DECLARE_BITMAP(both, VF_MAX_WORLD);
	struct vf_change chg;

	vf_change_begin(&chg, dom, VFAB_REASON_PARTITION);
	if (!bitmap_empty(add, dom->topo.world))
		vf_partition_move(dom, part, add, &chg);
	if (!bitmap_empty(del, dom->topo.world))
		vf_partition_move(dom, NULL, del, &chg);
	vf_change_commit(&chg);
	bitmap_or(both, add, del, VF_MAX_WORLD);
	n->partition = part->id;
	n->chg = &chg;
	n->members = both;
	vf_notify(dom, n);
}

static bool vf_nl_partition_taken(struct vf_domain *dom, u32 id, const char *name)
{
	struct vf_partition *part;

	list_for_each_entry(part, &dom->parts, node)
		if (part->id == id || !strcmp(part->name, name))
			return true;
	return false;
}

/* Both may be left out: the lowest free id, and the name that goes with it. */
static int vf_nl_new_partition(struct genl_info *info, struct vf_domain *dom,
			       u32 *id, char *name)
{
	struct nlattr *a_id = info->attrs[VFAB_A_PARTITION];
	struct nlattr *a_name = info->attrs[VFAB_A_PARTITION_NAME];

	if (dom->part_mode == VFAB_PARTITIONS_HGX15)
		return vf_nl_refuse(info, VFAB_A_PARTITION, -EPERM, vf_fixed_sets);
	if (dom->nparts >= VF_MAX_PARTITIONS)
		return vf_nl_refuse(info, -1, -ENOSPC,
				    "the domain has as many partitions as it can: delete one");
	*id = a_id ? nla_get_u32(a_id) : 0;
	if (a_id && vf_partition_find(dom, *id))
		return vf_nl_refuse(info, VFAB_A_PARTITION, -EEXIST,
				    "a partition of this id exists: choose another");
	if (a_name) {
		strscpy(name, nla_data(a_name), VFAB_NAME_LEN + 1);
		if (!vf_name_valid(name))
			return vf_nl_refuse(info, VFAB_A_PARTITION_NAME, -EINVAL,
				"a name is a letter or digit and up to 31 of letters, digits, _ . -");
		if (vf_nl_partition_taken(dom, VF_MAX_PARTITION + 1, name))
			return vf_nl_refuse(info, VFAB_A_PARTITION_NAME, -EEXIST,
					    "a partition of this name exists: choose another");
	}
	for (;; ++*id) {
		if (!a_name)
			snprintf(name, VFAB_NAME_LEN + 1, "part%u", *id);
		if (a_id || a_name ? !vf_partition_find(dom, *id) :
		    !vf_nl_partition_taken(dom, *id, name))
			break;
	}
	if (vf_nl_partition_taken(dom, VF_MAX_PARTITION + 1, name))
		return vf_nl_refuse(info, VFAB_A_PARTITION, -EEXIST,
				    "another partition has the name that goes with this id: give a name");
	return 0;
}

int vfabric_nl_partition_create_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_PARTITION, VFAB_ACT_CREATED,
				       VFAB_WHY_CREATE);
	DECLARE_BITMAP(add, VF_MAX_WORLD) = { };
	DECLARE_BITMAP(none, VF_MAX_WORLD) = { };
	struct vf_domain *dom = vf_nl_write(skb, info);
	char name[VFAB_NAME_LEN + 1];
	struct vf_partition *part;
	u32 id;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = vf_nl_new_partition(info, dom, &id, name);
	if (!ret && info->attrs[VFAB_A_ADD_MEMBERS])
		ret = vf_nl_get_bitmap(info, VFAB_A_ADD_MEMBERS, dom->topo.world, add);
	if (ret)
		goto unlock;
	part = vf_partition_create(dom, id, name);
	if (IS_ERR(part)) {
		ret = PTR_ERR(part);
		goto unlock;
	}
	part->resiliency = vf_nl_u32(info, VFAB_A_RESILIENCY, VFAB_RESILIENCY_ADAPTIVE);
	vf_domain_changed(dom);
	vf_nl_move(dom, part, add, none, &n);
	ret = vf_nl_reply(skb, info, dom, vf_nl_fill_partition, id);
unlock:
	vf_nl_done(info, dom);
	return ret;
}

int vfabric_nl_partition_delete_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_PARTITION, VFAB_ACT_DELETED,
				       VFAB_WHY_ADMIN);
	struct vf_domain *dom = vf_nl_write(skb, info);
	struct vf_partition *part;
	int ret = 0;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	part = vf_nl_partition(info, dom);
	if (IS_ERR(part)) {
		ret = PTR_ERR(part);
	} else if (part->fixed) {
		ret = vf_nl_refuse(info, VFAB_A_PARTITION, -EPERM, vf_fixed_sets);
	} else if (!part->id && dom->part_mode == VFAB_PARTITIONS_DEFAULT) {
		ret = vf_nl_refuse(info, VFAB_A_PARTITION, -EINVAL,
				   "the default partition goes with its domain only");
	} else if (part->members) {
		ret = vf_nl_refuse(info, VFAB_A_PARTITION, -EBUSY,
				   "the partition has members: move them out first");
	} else {
		n.partition = part->id;
		vf_partition_delete(part);
		dom->generation++;
		vf_domain_changed(dom);
		vf_notify(dom, &n);
	}
	vf_nl_done(info, dom);
	return ret;
}

/* Only members can be taken out, and nobody both in and out. */
static int vf_nl_check_moves(struct genl_info *info, struct vf_domain *dom,
			     struct vf_partition *part, const unsigned long *add,
			     const unsigned long *del)
{
	unsigned int rank;

	if (bitmap_intersects(add, del, dom->topo.world))
		return vf_nl_refuse(info, VFAB_A_DEL_MEMBERS, -EINVAL,
				    "a rank is both added and taken out");
	for_each_set_bit(rank, del, dom->topo.world)
		if (dom->eps[rank].part != part)
			return vf_nl_refuse(info, VFAB_A_DEL_MEMBERS, -EINVAL,
				"a rank to take out is not in this partition");
	return 0;
}

/* Where asked for, those that would move are not held. */
static int vf_nl_check_held(struct genl_info *info, struct vf_domain *dom,
			    struct vf_partition *part, const unsigned long *add,
			    const unsigned long *del)
{
	u32 i;

	if (!info->attrs[VFAB_A_IF_DETACHED])
		return 0;
	for (i = 0; i < dom->topo.world; i++) {
		struct vf_partition *to = test_bit(i, add) ? part : NULL;

		if ((!to && !test_bit(i, del)) || dom->eps[i].part == to ||
		    !rcu_access_pointer(dom->eps[i].holder))
			continue;
		return vf_nl_refuse(info, to ? VFAB_A_ADD_MEMBERS : VFAB_A_DEL_MEMBERS, -EBUSY,
			"an endpoint to move is held: stop its process, or move it without if-detached");
	}
	return 0;
}

/* Who is parked or taken back is a member, and stays. */
static int vf_nl_get_parks(struct genl_info *info, struct vf_domain *dom,
			   struct vf_partition *part, const unsigned long *del,
			   unsigned long *park, unsigned long *unpark)
{
	const struct {
		int attr;
		unsigned long *ranks;
	} sets[] = { { VFAB_A_PARK_MEMBERS, park }, { VFAB_A_UNPARK_MEMBERS, unpark } };
	unsigned int i, rank;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		if (info->attrs[sets[i].attr])
			ret = vf_nl_get_bitmap(info, sets[i].attr, dom->topo.world, sets[i].ranks);
		if (ret)
			return ret;
		for_each_set_bit(rank, sets[i].ranks, dom->topo.world)
			if (dom->eps[rank].part != part || test_bit(rank, del))
				return vf_nl_refuse(info, sets[i].attr, -EINVAL,
					"a rank to park or to take back is not in this partition");
	}
	if (bitmap_intersects(park, unpark, dom->topo.world))
		return vf_nl_refuse(info, VFAB_A_UNPARK_MEMBERS, -EINVAL,
				    "a rank is both parked and taken back");
	return 0;
}

/* Those that are not so yet */
static void vf_nl_park(struct vf_domain *dom, struct vf_partition *part,
		       unsigned long *ranks, bool parked)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_PARTITION, VFAB_ACT_CHANGED, VFAB_WHY_ADMIN);
	struct vf_change chg;
	unsigned int rank;

	for_each_set_bit(rank, ranks, dom->topo.world)
		if (dom->eps[rank].parked == parked)
			__clear_bit(rank, ranks);
	if (bitmap_empty(ranks, dom->topo.world))
		return;
	vf_change_begin(&chg, dom, VFAB_REASON_ROUTE);
	vf_partition_park(dom, ranks, parked, &chg);
	vf_change_commit(&chg);
	n.partition = part->id;
	n.parked = parked;
	n.chg = &chg;
	n.members = ranks;
	vf_notify(dom, &n);
}

/* What it calls healthy; routes do not change. */
static void vf_nl_set_resiliency(struct vf_domain *dom, struct vf_partition *part, u32 mode)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_PARTITION, VFAB_ACT_CHANGED, VFAB_WHY_ADMIN);

	if (part->resiliency == mode)
		return;
	part->resiliency = mode;
	vf_domain_reshaped(dom);
	n.partition = part->id;
	n.resiliency = mode;
	vf_notify(dom, &n);
}

static int vf_nl_set_members(struct genl_info *info, struct vf_domain *dom,
			     struct vf_partition *part, struct vf_notice *n)
{
	DECLARE_BITMAP(add, VF_MAX_WORLD) = { };
	DECLARE_BITMAP(del, VF_MAX_WORLD) = { };
	DECLARE_BITMAP(park, VF_MAX_WORLD) = { };
	DECLARE_BITMAP(unpark, VF_MAX_WORLD) = { };
	bool moves;
	int ret = 0;

	if (info->attrs[VFAB_A_ADD_MEMBERS])
		ret = vf_nl_get_bitmap(info, VFAB_A_ADD_MEMBERS, dom->topo.world, add);
	if (!ret && info->attrs[VFAB_A_DEL_MEMBERS])
		ret = vf_nl_get_bitmap(info, VFAB_A_DEL_MEMBERS, dom->topo.world, del);
	moves = !bitmap_empty(add, dom->topo.world) || !bitmap_empty(del, dom->topo.world);
	if (!ret)
		ret = vf_nl_check_moves(info, dom, part, add, del);
	if (!ret && moves && part->fixed)
		ret = vf_nl_refuse(info, VFAB_A_PARTITION, -EPERM, vf_fixed_sets);
	if (!ret)
		ret = vf_nl_check_held(info, dom, part, add, del);
	if (!ret)
		ret = vf_nl_get_parks(info, dom, part, del, park, unpark);
	if (!ret && !moves && bitmap_empty(park, dom->topo.world) &&
	    bitmap_empty(unpark, dom->topo.world) && !info->attrs[VFAB_A_RESILIENCY])
		ret = vf_nl_refuse(info, -1, -EINVAL,
				   "nothing to set: give members to add, take out or park, or resiliency");
	if (ret)
		return ret;
	if (moves)
		vf_nl_move(dom, part, add, del, n);
	vf_nl_park(dom, part, park, true);
	vf_nl_park(dom, part, unpark, false);
	if (info->attrs[VFAB_A_RESILIENCY])
		vf_nl_set_resiliency(dom, part, nla_get_u32(info->attrs[VFAB_A_RESILIENCY]));
	return 0;
}

/* A sentence for each of the 15: extack keeps the pointer. */
static const char *vf_nl_overlap(u32 id)
{
#define VF_OVERLAP(n) "partition " #n " is active and overlaps it: deactivate that first"
	static const char *const text[] = {
		VF_OVERLAP(0), VF_OVERLAP(1), VF_OVERLAP(2), VF_OVERLAP(3), VF_OVERLAP(4),
		VF_OVERLAP(5), VF_OVERLAP(6), VF_OVERLAP(7), VF_OVERLAP(8), VF_OVERLAP(9),
		VF_OVERLAP(10), VF_OVERLAP(11), VF_OVERLAP(12), VF_OVERLAP(13), VF_OVERLAP(14),
	};
#undef VF_OVERLAP

	return text[id];
}

static int vf_nl_activate(struct genl_info *info, struct vf_domain *dom,
			  struct vf_partition *part, struct vf_notice *n)
{
	DECLARE_BITMAP(none, VF_MAX_WORLD) = { };
	DECLARE_BITMAP(add, VF_MAX_WORLD) = { };
	struct vf_partition *other;
	int ret;

	if (part->gate)
		return vf_nl_refuse(info, VFAB_A_PARTITION, -EALREADY,
				    "the partition is active");
	list_for_each_entry(other, &dom->parts, node)
		if (other->gate && other->fixed & part->fixed)
			return vf_nl_refuse(info, VFAB_A_PARTITION, -EBUSY,
					    vf_nl_overlap(other->id));
	ret = vf_partition_activate(part);
	if (ret)
		return ret;
	bitmap_copy(add, &part->fixed, BITS_PER_LONG);
	n->active = true;
	vf_nl_move(dom, part, add, none, n);
	return 0;
}

static int vf_nl_deactivate(struct genl_info *info, struct vf_domain *dom,
			    struct vf_partition *part, struct vf_notice *n)
{
	DECLARE_BITMAP(none, VF_MAX_WORLD) = { };
	DECLARE_BITMAP(del, VF_MAX_WORLD) = { };

	if (!part->gate)
		return vf_nl_refuse(info, VFAB_A_PARTITION, -EALREADY,
				    "the partition is not active");
	if (part->held && !info->attrs[VFAB_A_FORCE])
		return vf_nl_refuse(info, VFAB_A_PARTITION, -EBUSY,
			"endpoints of the partition are attached: stop their processes, or force it");
	bitmap_copy(del, &part->fixed, BITS_PER_LONG);
	vf_holders_evict(dom, del, VFAB_WHY_ADMIN);
	n->active = false;
	vf_nl_move(dom, part, none, del, n);
	vf_partition_deactivate(part);
	return 0;
}

static int vf_nl_set_active(struct genl_info *info, struct vf_domain *dom,
			    struct vf_partition *part, struct vf_notice *n)
{
	if (info->attrs[VFAB_A_ADD_MEMBERS] || info->attrs[VFAB_A_DEL_MEMBERS] ||
	    info->attrs[VFAB_A_PARK_MEMBERS] || info->attrs[VFAB_A_UNPARK_MEMBERS] ||
	    info->attrs[VFAB_A_RESILIENCY])
		return vf_nl_refuse(info, VFAB_A_ACTIVE, -EINVAL,
				    "give active alone, or what else there is to set");
	if (!part->fixed)
		return vf_nl_refuse(info, VFAB_A_ACTIVE, -EOPNOTSUPP,
			"partitions are always active, but in an hgx15 domain");
	return nla_get_u8(info->attrs[VFAB_A_ACTIVE]) ?
	       vf_nl_activate(info, dom, part, n) : vf_nl_deactivate(info, dom, part, n);
}

int vfabric_nl_partition_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_PARTITION, VFAB_ACT_CHANGED,
				       VFAB_WHY_PARTITION);
	struct vf_domain *dom = vf_nl_write(skb, info);
	struct vf_partition *part;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	part = vf_nl_partition(info, dom);
	if (IS_ERR(part))
		ret = PTR_ERR(part);
	else if (info->attrs[VFAB_A_ACTIVE])
		ret = vf_nl_set_active(info, dom, part, &n);
	else
		ret = vf_nl_set_members(info, dom, part, &n);
	vf_nl_done(info, dom);
	return ret;
}

static const char vf_held_channel[] =
	"endpoints are in the channel: stop their processes, or force it";

static bool vf_nl_in_channel(struct vf_domain *dom, u32 rank, struct vf_gate *gate)
{
	struct vf_holder *h = rcu_dereference_protected(dom->eps[rank].holder,
							lockdep_is_held(&dom->lock));

	return h && h->gate == gate;
}

/* Who is in a channel: wherever they were moved. */
static void vf_nl_channel_ranks(struct vf_domain *dom, struct vf_gate *gate,
				unsigned long *ranks)
{
	u32 i;

	for (i = 0; gate->held && i < dom->topo.world; i++)
		if (vf_nl_in_channel(dom, i, gate))
			__set_bit(i, ranks);
}

/* @index: partition * VFAB_CHANNELS + channel */
static int vf_nl_fill_channel(const struct vf_nl_to *to, struct vf_domain *dom,
			      unsigned long index)
{
	struct vf_partition *part = vf_partition_find(dom, index / VFAB_CHANNELS);
	struct vf_gate *gate = xa_load(&part->channels, index % VFAB_CHANNELS);
	DECLARE_BITMAP(members, VF_MAX_WORLD) = { };
	struct sk_buff *skb = to->skb;
	void *hdr = vf_nl_begin(to, dom);

	if (!hdr)
		return -EMSGSIZE;
	vf_nl_channel_ranks(dom, gate, members);
	return vf_nl_end(to, hdr,
		nla_put_u32(skb, VFAB_A_PARTITION, part->id) ||
		nla_put_u32(skb, VFAB_A_CHANNEL, gate->channel) ||
		vf_nl_put_access(to, &gate->access) ||
		nla_put_u32(skb, VFAB_A_ATTACHED, gate->held) ||
		vf_nl_put_bitmap(skb, VFAB_A_MEMBERS, members, dom->topo.world) ||
		nla_put_u32(skb, VFAB_A_DEV_MAJOR, MAJOR(vf_devt)) ||
		nla_put_u32(skb, VFAB_A_DEV_MINOR, gate->minor));
}

static int vf_nl_walk_channel(const struct vf_nl_to *to, struct vf_domain *dom,
			      struct nlattr **attrs, unsigned long *index)
{
	struct nlattr *part_only = attrs[VFAB_A_PARTITION], *only = attrs[VFAB_A_CHANNEL];
	struct vf_partition *part;
	struct vf_gate *gate;
	unsigned long id, at;
	int ret;

	list_for_each_entry(part, &dom->parts, node) {
		if (part_only && part->id != nla_get_u32(part_only))
			continue;
		xa_for_each(&part->channels, id, gate) {
			at = part->id * VFAB_CHANNELS + id;
			if (at < *index || (only && id != nla_get_u32(only)))
				continue;
			ret = vf_nl_fill_channel(to, dom, at);
			if (ret) {
				*index = at;
				return ret;
			}
		}
	}
	return 0;
}

/* The channel that a request names, or an ERR_PTR. */
static struct vf_gate *vf_nl_channel(struct genl_info *info, struct vf_domain *dom)
{
	struct vf_partition *part = vf_nl_partition(info, dom);
	struct vf_gate *gate;
	u32 id;
	int ret;

	if (IS_ERR(part))
		return ERR_CAST(part);
	ret = vf_nl_index(info, VFAB_A_CHANNEL, VFAB_CHANNELS,
			  "name a channel by its id", "no such channel id", &id);
	if (ret)
		return ERR_PTR(ret);
	gate = xa_load(&part->channels, id);
	if (gate)
		return gate;
	return ERR_PTR(vf_nl_refuse(info, VFAB_A_CHANNEL, -ENOENT,
				    "no such channel in this partition"));
}

int vfabric_nl_channel_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_domain *dom = vf_nl_read(info);
	struct vf_gate *gate;
	int ret;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	gate = vf_nl_channel(info, dom);
	if (IS_ERR(gate))
		ret = PTR_ERR(gate);
	else
		ret = vf_nl_reply(skb, info, dom, vf_nl_fill_channel,
				  gate->part->id * VFAB_CHANNELS + gate->channel);
	vf_nl_unlock(dom);
	return ret;
}

int vfabric_nl_channel_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return vf_nl_dump(skb, cb, vf_nl_walk_channel);
}

/* The id that a new channel gets: the one asked for, else the lowest free one. */
static int vf_nl_new_channel_id(struct genl_info *info, struct vf_partition *part,
				u32 *id)
{
	/* Device files are everybody's: others must not run out of numbers */
	if (part->dom->restricted && part->dom->nchannels >= VF_USERNS_CHANNELS)
		return vf_nl_refuse(info, -1, -EDQUOT,
			"a domain made in a user namespace has no more channels: delete one");
	if (info->attrs[VFAB_A_CHANNEL]) {
		*id = nla_get_u32(info->attrs[VFAB_A_CHANNEL]);
		return xa_load(&part->channels, *id) ?
		       vf_nl_refuse(info, VFAB_A_CHANNEL, -EEXIST,
				    "a channel of this id exists") : 0;
	}
	for (*id = 0; *id < VFAB_CHANNELS; ++*id)
		if (!xa_load(&part->channels, *id))
			return 0;
	return vf_nl_refuse(info, -1, -ENOSPC,
			    "the partition has as many channels as it can: delete one");
}

int vfabric_nl_channel_create_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_CHANNEL, VFAB_ACT_CREATED,
				       VFAB_WHY_CREATE);
	struct vf_domain *dom = vf_nl_write(skb, info);
	struct vf_partition *part;
	struct vf_access access;
	struct vf_gate *gate;
	int ret = 0;
	u32 id;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	part = vf_nl_partition(info, dom);
	if (IS_ERR(part))
		ret = PTR_ERR(part);
	else if (vf_is_placed(dom) && dom->nchannels >= VFAB_BP_CHANNELS)
		ret = vf_nl_refuse(info, VFAB_A_PARTITION, -ENOSPC,
				   "a domain on a backplane has 2048 channels at most: delete one");
	else if (!part->gate)
		ret = vf_nl_refuse(info, VFAB_A_PARTITION, -ENODEV,
				   "the partition is not active: activate it first");
	if (!ret)
		ret = vf_nl_new_channel_id(info, part, &id);
	if (!ret)
		ret = vf_nl_get_access(skb, info, dom->restricted, &dom->access, &access);
	if (ret)
		goto unlock;
	gate = vf_channel_create(part, id, &access);
	if (IS_ERR(gate)) {
		ret = PTR_ERR(gate);
		goto unlock;
	}
	vf_domain_reshaped(dom);
	n.partition = part->id;
	n.channel = id;
	vf_notify(dom, &n);
	ret = vf_nl_reply(skb, info, dom, vf_nl_fill_channel,
			  part->id * VFAB_CHANNELS + id);
unlock:
	vf_nl_done(info, dom);
	return ret;
}

int vfabric_nl_channel_delete_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_CHANNEL, VFAB_ACT_DELETED,
				       VFAB_WHY_ADMIN);
	DECLARE_BITMAP(ranks, VF_MAX_WORLD) = { };
	struct vf_domain *dom = vf_nl_write(skb, info);
	struct vf_gate *gate;
	int ret = 0;

	if (IS_ERR(dom))
		return PTR_ERR(dom);
	gate = vf_nl_channel(info, dom);
	if (IS_ERR(gate)) {
		ret = PTR_ERR(gate);
	} else if (gate->held && !info->attrs[VFAB_A_FORCE]) {
		ret = vf_nl_refuse(info, VFAB_A_CHANNEL, -EBUSY, vf_held_channel);
	} else {
		vf_nl_channel_ranks(dom, gate, ranks);
		vf_holders_evict(dom, ranks, VFAB_WHY_ADMIN);
		n.partition = gate->part->id;
		n.channel = gate->channel;
		vf_channel_delete(gate);
		vf_domain_reshaped(dom);
		vf_notify(dom, &n);
	}
	vf_nl_done(info, dom);
	return ret;
}
