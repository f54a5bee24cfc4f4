// SPDX-License-Identifier: GPL-2.0
/* What one uid has in all domains: bytes of windows, domains. */
#include <linux/slab.h>
#include "vfabric.h"

static LIST_HEAD(vf_users);
static DEFINE_SPINLOCK(vf_users_lock);

struct vf_user *vf_user_get(kuid_t uid)
{
	struct vf_user *user, *fresh;

	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return NULL;
	fresh->uid = uid;
	spin_lock(&vf_users_lock);
	list_for_each_entry(user, &vf_users, node)
		if (uid_eq(user->uid, uid))
			goto found;
	list_add(&fresh->node, &vf_users);
	user = fresh;
	fresh = NULL;
found:
	user->refs++;
	spin_unlock(&vf_users_lock);
	kfree(fresh);
	return user;
}

void vf_user_put(struct vf_user *user)
{
	if (!user)
		return;
	spin_lock(&vf_users_lock);
	if (--user->refs) {
		user = NULL;
	} else {
		WARN_ON_ONCE(user->bytes || user->domains);
		list_del(&user->node);
	}
	spin_unlock(&vf_users_lock);
	kfree(user);
}

bool vf_user_charge(struct vf_user *user, u64 bytes)
{
	u64 limit = vf_user_mem_limit();
	bool ok;

	spin_lock(&vf_users_lock);
	ok = !limit || (bytes <= limit && user->bytes <= limit - bytes);
	if (ok)
		user->bytes += bytes;
	spin_unlock(&vf_users_lock);
	return ok;
}

void vf_user_uncharge(struct vf_user *user, u64 bytes)
{
	spin_lock(&vf_users_lock);
	user->bytes -= bytes;
	spin_unlock(&vf_users_lock);
}

bool vf_user_add_domain(struct vf_user *user, unsigned int limit)
{
	bool ok;

	spin_lock(&vf_users_lock);
	ok = user->domains < limit;
	if (ok)
		user->domains++;
	spin_unlock(&vf_users_lock);
	return ok;
}

void vf_user_del_domain(struct vf_user *user)
{
	spin_lock(&vf_users_lock);
	user->domains--;
	spin_unlock(&vf_users_lock);
}
