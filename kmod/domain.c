// SPDX-License-Identifier: GPL-2.0
/* Domains: the registry, creation, deletion. */
#include <linux/ctype.h>
#include <linux/netlink.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <net/netns/generic.h>
#include <uapi/linux/vfabric_netlink.h>
#include "vfabric.h"

static DEFINE_MUTEX(vf_registry);
static DEFINE_XARRAY_ALLOC(vf_domains);
static u32 vf_domain_next_id;
static unsigned int vf_ndomains, vf_nmirrors;	/* vf_registry: all, mirrors of these */
static bool vf_shared;
static atomic_t vf_seq = ATOMIC_INIT(1);

static void vf_domain_free(struct kref *ref)
{
	struct vf_domain *dom = container_of(ref, struct vf_domain, ref);

	WARN_ON_ONCE(atomic64_read(&dom->mem_used));
	if (dom->restricted)
		vf_user_del_domain(dom->user);
	vf_user_put(dom->user);
	if (vf_is_placed(dom))
		vf_placed_destroy(dom->placed);
	vf_counters_destroy(dom);
	vf_topo_destroy(&dom->topo);
	kvfree(dom->eps);
	xa_destroy(&dom->windows);
	mutex_destroy(&dom->lock);
	kfree_rcu(dom, rcu);
}

void vf_domain_put(struct vf_domain *dom)
{
	kref_put(&dom->ref, vf_domain_free);
}

struct vf_domain *vf_domain_get_id(u32 id)
{
	struct vf_domain *dom;

	rcu_read_lock();
	dom = xa_load(&vf_domains, id);
	if (dom && !kref_get_unless_zero(&dom->ref))
		dom = NULL;
	rcu_read_unlock();
	return dom;
}

/**
 * vf_domain_next - walk the domains in the order of their ids
 * @id: where to start; left at the id found
 *
 * Return: a referenced domain, or NULL after the last one.
 */
struct vf_domain *vf_domain_next(unsigned long *id)
{
	struct vf_domain *dom;

	rcu_read_lock();
	xa_for_each_start(&vf_domains, *id, dom, *id)
		if (kref_get_unless_zero(&dom->ref))
			break;
	rcu_read_unlock();
	return dom;
}

bool vf_netns_shared(void)
{
	return READ_ONCE(vf_shared);
}

void vf_set_netns_shared(bool shared)
{
	WRITE_ONCE(vf_shared, shared);
}

/* For showing; changing always needs the domain's own network namespace. */
bool vf_domain_visible(const struct vf_domain *dom, const struct net *net)
{
	return READ_ONCE(dom->net) == net || vf_netns_shared();
}

/* Own network namespace first; others only where domains are shared. */
struct vf_domain *vf_domain_get_name(struct net *net, const char *name)
{
	struct vf_domain *dom, *found = NULL;
	unsigned long id;

	mutex_lock(&vf_registry);
	xa_for_each(&vf_domains, id, dom) {
		if (strcmp(dom->name, name) || !vf_domain_visible(dom, net))
			continue;
		found = dom;
		if (dom->net == net)
			break;
	}
	if (found && !kref_get_unless_zero(&found->ref))
		found = NULL;
	mutex_unlock(&vf_registry);
	return found;
}

unsigned int vf_domain_count(void)
{
	return READ_ONCE(vf_ndomains);
}

/* [A-Za-z0-9][A-Za-z0-9_.-]{0,31} */
bool vf_name_valid(const char *name)
{
	size_t i, len = strlen(name);

	if (!len || len > VFAB_NAME_LEN || !isascii(name[0]) || !isalnum(name[0]))
		return false;
	for (i = 1; i < len; i++)
		if (!isascii(name[i]) ||
		    (!isalnum(name[i]) && !strchr("_.-", name[i])))
			return false;
	return true;
}

/* Moves with every change of any domain. */
u32 vf_domains_seq(void)
{
	return atomic_read(&vf_seq) ?: 1;
}

/* Something that a dump shows has changed. */
void vf_domain_changed(struct vf_domain *dom)
{
	lockdep_assert_held(&dom->lock);
	WRITE_ONCE(dom->dump_seq, dom->dump_seq + 1 ?: 1);
	atomic_inc(&vf_seq);
}

/* Topology, tables or partitions have changed. */
void vf_domain_reshaped(struct vf_domain *dom)
{
	vf_domain_changed(dom);
	if (vf_is_placed(dom))
		vf_placed_reshaped(dom);
}

bool vf_domain_charge(struct vf_domain *dom, u64 bytes)
{
	u64 limit = READ_ONCE(dom->mem_limit);
	s64 used = atomic64_read(&dom->mem_used);

	do {
		if (limit && (bytes > limit || used > limit - bytes))
			return false;
	} while (!atomic64_try_cmpxchg(&dom->mem_used, &used, used + bytes));
	return true;
}

static struct vf_domain *vf_domain_alloc(const struct vf_domain_config *cfg,
					 struct netlink_ext_ack *extack)
{
	struct vf_domain *dom;
	const char *why;
	int ret;

	dom = kzalloc(sizeof(*dom), GFP_KERNEL_ACCOUNT);
	if (!dom)
		return ERR_PTR(-ENOMEM);
	kref_init(&dom->ref);
	mutex_init(&dom->lock);
	INIT_LIST_HEAD(&dom->parts);
	xa_init_flags(&dom->windows, XA_FLAGS_ALLOC1);
	INIT_DELAYED_WORK(&dom->settle, vf_settle_work);
	dom->access = cfg->access;
	dom->nodes = cfg->nodes;
	dom->part_mode = cfg->part_mode;
	INIT_LIST_HEAD(&dom->flaps);
	INIT_DELAYED_WORK(&dom->flap, vf_flap_work);
	INIT_LIST_HEAD(&dom->faults);
	INIT_DELAYED_WORK(&dom->fault_work, vf_fault_work);
	vf_manager_init(dom);
	dom->peer_death = cfg->peer_death;
	dom->retry_ms = cfg->retry_ms;
	dom->mem_limit = cfg->mem_limit;
	dom->dump_seq = 1;
	dom->shape_scale = 1;
	if (cfg->uuid)
		dom->uuid = *cfg->uuid;
	else
		uuid_gen(&dom->uuid);

	if (cfg->profile)
		strscpy(dom->profile, cfg->profile, sizeof(dom->profile));
	ret = vf_topo_create(&dom->topo, &cfg->topo, &why);
	if (ret == -EINVAL && extack)
		extack->_msg = why;
	if (!ret) {
		dom->eps = kvcalloc(dom->topo.world, sizeof(*dom->eps),
				    GFP_KERNEL_ACCOUNT);
		ret = dom->eps ? vf_counters_create(dom) : -ENOMEM;
	}
	if (ret) {
		vf_domain_put(dom);
		return ERR_PTR(ret);
	}
	return dom;
}

static bool vf_domain_is_mirror(const struct vf_domain *dom)
{
	return vf_is_placed(dom) && vf_placed_owner(dom) != vf_placed_home(dom);
}

/*
 * There must be room, and name and UUID be free; called under vf_registry. Other nodes,
 * whose domains are mirrored, take none of the room that those of this machine have.
 */
static int vf_domain_check_new(struct net *net, const char *name, const uuid_t *uuid,
			       bool mirror, struct netlink_ext_ack *extack)
{
	unsigned int have = mirror ? vf_nmirrors : vf_ndomains - vf_nmirrors;
	struct vf_domain *other;
	unsigned long id;

	if (have >= vf_param_max_domains) {
		NL_SET_ERR_MSG(extack,
			       "too many domains: delete one, or load the module with a larger max_domains");
		return -ENOSPC;
	}
	xa_for_each(&vf_domains, id, other) {
		if (uuid_equal(&other->uuid, uuid)) {
			NL_SET_ERR_MSG(extack, "a domain of this UUID exists on this machine");
			return -EEXIST;
		}
		if (name[0] && other->net == net && !strcmp(other->name, name)) {
			NL_SET_ERR_MSG(extack,
				       "a domain of this name exists: choose another name or delete it first");
			return -EEXIST;
		}
	}
	return 0;
}

/**
 * vf_domain_refused - would vf_domain_create() of a mirror fail, whatever the topology?
 * @net: as for that
 * @name: the same, not NULL
 * @uuid: the same, not NULL
 *
 * It says so only after it has made the topology, which may take long.
 *
 * Return: 0 (it may fail all the same), -EEXIST or -ENOSPC.
 */
int vf_domain_refused(struct net *net, const char *name, const uuid_t *uuid)
{
	int ret;

	mutex_lock(&vf_registry);
	ret = vf_domain_check_new(net, name, uuid, true, NULL);
	mutex_unlock(&vf_registry);
	return ret;
}

/* dom<id> may be somebody's given name: skip such ids. */
static int vf_domain_take_id(struct vf_domain *dom, struct net *net)
{
	struct vf_domain *other;
	unsigned int tries = 0;
	unsigned long i;
	int ret;

	do {
		bool clash = false;

		ret = xa_alloc_cyclic(&vf_domains, &dom->id, XA_ZERO_ENTRY,
				      XA_LIMIT(0, INT_MAX - 1), &vf_domain_next_id,
				      GFP_KERNEL_ACCOUNT);
		if (ret < 0)
			return ret;
		if (dom->name[0])
			return 0;
		snprintf(dom->name, sizeof(dom->name), "dom%u", dom->id);
		xa_for_each(&vf_domains, i, other)
			if (other->net == net && !strcmp(other->name, dom->name))
				clash = true;
		if (!clash)
			return 0;
		xa_erase(&vf_domains, dom->id);
		dom->name[0] = 0;
	} while (tries++ < vf_ndomains);
	return -ENOSPC;
}

/*
 * Who answers for a domain of a network namespace: who made the user namespace below
 * the initial one. The uids in there may be many (/etc/subuid), and all his.
 */
static kuid_t vf_netns_owner(const struct net *net)
{
	const struct user_namespace *ns = net->user_ns;

	while (ns->parent && ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns->owner;
}

/**
 * vf_domain_create - make a domain and the partitions that it begins with
 * @net: the network namespace it belongs to
 * @cfg: checked for ranges by the caller
 * @extack: told why not
 *
 * Return: a referenced domain, visible to all, or an ERR_PTR and no trace.
 */
struct vf_domain *vf_domain_create(struct net *net,
				   const struct vf_domain_config *cfg,
				   struct netlink_ext_ack *extack)
{
	struct vf_partition *part, *next;
	struct vf_domain *dom;
	int ret;

	dom = vf_domain_alloc(cfg, extack);
	if (IS_ERR(dom)) {
		if (IS_ENABLED(CONFIG_PCI) && cfg->placed)
			vf_placed_destroy(cfg->placed);
		return dom;
	}
	dom->placed = cfg->placed;
	if (cfg->name)
		strscpy(dom->name, cfg->name, sizeof(dom->name));
	dom->net = net;
	dom->user = vf_user_get(cfg->restricted ? vf_netns_owner(net) : current_uid());
	if (!dom->user) {
		ret = -ENOMEM;
		goto put;
	}
	if (cfg->restricted) {
		if (!vf_user_add_domain(dom->user, vf_param_userns_domains)) {
			NL_SET_ERR_MSG(extack,
				       "this user has all the domains that the module parameter userns_domains allows");
			ret = -EDQUOT;
			goto put;
		}
		dom->restricted = true;
	}
	if (vf_is_placed(dom)) {
		ret = vf_placed_prepare(dom, extack);
		if (ret)
			goto put;
	}

	/* Its device files are there before it is: nobody attaches until then */
	mutex_lock(&dom->lock);
	mutex_lock(&vf_registry);
	ret = vf_domain_check_new(net, dom->name, &dom->uuid, vf_domain_is_mirror(dom), extack);
	if (!ret)
		ret = vf_domain_take_id(dom, net);
	if (ret)
		goto unlock;

	ret = vf_partitions_create(dom);
	if (!ret && vf_is_placed(dom))
		ret = vf_placed_begin(dom, extack);
	if (ret) {
		WRITE_ONCE(dom->dead, true);
		list_for_each_entry_safe(part, next, &dom->parts, node)
			vf_partition_delete(part);
		xa_erase(&vf_domains, dom->id);
		goto unlock;
	}
	kref_get(&dom->ref);		/* the caller's */
	vf_ndomains++;
	vf_nmirrors += vf_domain_is_mirror(dom);
	atomic_inc(&vf_seq);
	xa_store(&vf_domains, dom->id, dom, GFP_KERNEL); /* reserved: cannot fail */
	mutex_unlock(&vf_registry);
	mutex_unlock(&dom->lock);
	return dom;

unlock:
	mutex_unlock(&vf_registry);
	mutex_unlock(&dom->lock);
put:
	vf_domain_put(dom);
	return ERR_PTR(ret);
}

/**
 * vf_domain_delete - end everything in a domain and forget it
 * @dom: the domain; the caller keeps its reference
 * @force: although endpoints are attached
 *
 * Waits for no user: open files and mappings stay, dead; and for no other node,
 * see vf_placed_settle().
 *
 * Return: 0, -EBUSY, or -ENODEV where somebody else was faster.
 */
int vf_domain_delete(struct vf_domain *dom, bool force)
{
	struct vf_notice n = VF_NOTICE(VFAB_OBJ_DOMAIN, VFAB_ACT_DELETED,
				       VFAB_WHY_ADMIN);
	struct vf_notice detached = VF_NOTICE(VFAB_OBJ_ENDPOINT, VFAB_ACT_DETACHED,
					      VFAB_WHY_DELETE);
	DECLARE_BITMAP(ended, VF_MAX_WORLD) = { };
	struct vf_partition *part, *next;
	struct vf_change chg;
	u32 i;

	mutex_lock(&dom->lock);
	if (dom->dead || (dom->attached && !force)) {
		int ret = dom->dead ? -ENODEV : -EBUSY;

		mutex_unlock(&dom->lock);
		return ret;
	}
	WRITE_ONCE(dom->dead, true);
	vf_domain_changed(dom);
	vf_change_begin(&chg, dom, VFAB_REASON_DELETE);
	for (i = 0; i < dom->topo.world; i++) {
		struct vf_holder *h = rcu_dereference_protected(dom->eps[i].holder,
					lockdep_is_held(&dom->lock));

		if (!h)
			continue;
		vf_holder_kill(&chg, h);
		__set_bit(i, ended);
	}
	vf_change_commit(&chg);
	for_each_set_bit(i, ended, dom->topo.world) {
		detached.rank = i;
		vf_notify(dom, &detached);
	}
	list_for_each_entry_safe(part, next, &dom->parts, node)
		vf_partition_delete(part);
	vf_flap_stop_all(dom);
	vf_faults_end(dom);
	vf_notify(dom, &n);
	if (vf_is_placed(dom))
		vf_placed_end(dom);
	mutex_unlock(&dom->lock);
	cancel_delayed_work_sync(&dom->settle);
	cancel_delayed_work_sync(&dom->flap);
	cancel_delayed_work_sync(&dom->fault_work);
	vf_manager_end(dom);

	mutex_lock(&vf_registry);
	xa_erase(&vf_domains, dom->id);
	vf_ndomains--;
	vf_nmirrors -= vf_domain_is_mirror(dom);
	WRITE_ONCE(dom->net, NULL);
	mutex_unlock(&vf_registry);
	vf_domain_put(dom);		/* the registry's */
	return 0;
}

static void __net_exit vf_net_exit(struct net *net)
{
	struct vf_domain *dom;
	unsigned long id = 0;

	while ((dom = vf_domain_next(&id))) {
		if (READ_ONCE(dom->net) == net)
			vf_domain_delete(dom, true);
		vf_domain_put(dom);
		id++;
	}
}

static struct pernet_operations vf_net_ops = {
	.exit = vf_net_exit,
};

int vf_domain_init(void)
{
	return register_pernet_subsys(&vf_net_ops);
}

void vf_domain_exit(void)
{
	unregister_pernet_subsys(&vf_net_ops);
	xa_destroy(&vf_domains);
}
