/* SPDX-License-Identifier: GPL-2.0 */
/* What the netlink files share; the tables in nl_gen.c come from the spec. */
#ifndef VFABRIC_NETLINK_H
#define VFABRIC_NETLINK_H

#include <net/genetlink.h>
#include <uapi/linux/vfabric_netlink.h>
#include "compat.h"
#include "nl_gen.h"
#include "vfabric.h"

extern struct genl_family vf_family;

/**
 * struct vf_nl_to - where a message goes
 * @admin:	may see who holds an endpoint
 * @cb:		of a dump, else NULL
 */
struct vf_nl_to {
	struct sk_buff *skb;
	struct sk_buff *req;
	u32 portid;
	u32 seq;
	int flags;
	u8 cmd;
	bool admin;
	struct netlink_callback *cb;
};

/* Where a dump stands: kept in cb->ctx between its parts. */
struct vf_nl_cursor {
	u32 started;
	u32 single;		/* one named domain */
	u32 domain;
	u32 done;
	unsigned long index;	/* the next object of the domain */
};

typedef int (*vf_nl_fill_t)(const struct vf_nl_to *to, struct vf_domain *dom,
			    unsigned long index);
typedef int (*vf_nl_walk_t)(const struct vf_nl_to *to, struct vf_domain *dom,
			    struct nlattr **attrs, unsigned long *index);

void *vf_nl_begin(const struct vf_nl_to *to, struct vf_domain *dom);
int vf_nl_end(const struct vf_nl_to *to, void *hdr, int err);
int vf_nl_put_bitmap(struct sk_buff *skb, int attr, const unsigned long *ranks,
		     u32 world);
int vf_nl_get_bitmap(struct genl_info *info, int attr, u32 world,
		     unsigned long *ranks);
int vf_nl_refuse(struct genl_info *info, int attr, int err, const char *text);
int vf_nl_refuse_remote(struct genl_info *info, int attr, u32 node);
u32 vf_nl_u32(struct genl_info *info, int attr, u32 otherwise);
int vf_nl_put_access(const struct vf_nl_to *to, const struct vf_access *access);
int vf_nl_get_access(struct sk_buff *skb, struct genl_info *info, bool restricted,
		     const struct vf_access *otherwise, struct vf_access *access);
struct vf_domain *vf_nl_read(struct genl_info *info);
struct vf_domain *vf_nl_write(struct sk_buff *skb, struct genl_info *info);
void vf_nl_unlock(struct vf_domain *dom);
void vf_nl_expelled(struct genl_info *info, int nodes);
void vf_nl_done(struct genl_info *info, struct vf_domain *dom);
int vf_nl_index(struct genl_info *info, int attr, u32 limit, const char *need,
		const char *range, u32 *value);
int vf_nl_rank(struct genl_info *info, struct vf_domain *dom, u32 *rank);
int vf_nl_node(struct genl_info *info, struct vf_domain *dom, u32 *node);
int vf_nl_switch(struct genl_info *info, struct vf_domain *dom, u32 *sw);
int vf_nl_port(struct genl_info *info, struct vf_domain *dom, u32 *port);
int vf_nl_put_port(struct sk_buff *skb, const struct vf_topo *t, u32 port,
		   int rank_attr, int switch_attr, int port_attr);
int vf_nl_put_fault_id(struct sk_buff *skb, const struct vf_fault *f);
int vf_nl_links(struct genl_info *info, struct vf_domain *dom,
		struct vf_links *w, u32 *first);
int vf_nl_reply(struct sk_buff *skb, struct genl_info *info,
		struct vf_domain *dom, vf_nl_fill_t fill, unsigned long index);
int vf_nl_get_rank(struct sk_buff *skb, struct genl_info *info, vf_nl_fill_t fill);
int vf_nl_walk_index(const struct vf_nl_to *to, struct vf_domain *dom,
		     struct nlattr *only, u32 limit, vf_nl_fill_t fill,
		     unsigned long *index);
struct vf_nl_to vf_nl_dump_to(struct sk_buff *skb, struct netlink_callback *cb);
int vf_nl_dump(struct sk_buff *skb, struct netlink_callback *cb,
	       vf_nl_walk_t walk);

/* nl_manager.c */
int vf_nl_put_manager(const struct vf_nl_to *to, struct vf_domain *dom);
int vf_nl_manager_init(void);
void vf_nl_manager_exit(void);

#endif
