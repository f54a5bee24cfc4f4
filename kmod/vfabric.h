/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vfabric: what the files of this module share.
 *
 * Lock order, outermost first:
 *
 *   mmap_lock		held around ->mmap, ->fault and vm_ops->open/close, which
 *			take nothing below but vf_srcu (read) and holder->lock
 *   holder->file_lock	mutex: one reader of events, one ATTACH; held over
 *			copy_to_user() by the reader, which takes no more mutexes
 *   mirror->lock	mutex, one per backplane: domains on it come, what other
 *			nodes say is followed; never held while one of them is
 *			waited for
 *   domain->lock	mutex: every change of a domain, its partitions, topology,
 *			holders, windows and imports; never taken under
 *			mmap_lock, never held while copying from or to a user
 *   vf_srcu (read)	faults and rings, while they look whether they still
 *			may; nothing in there copies from or to a user, or waits
 *			but for the memory of a page table
 *   i_mmap_rwsem	by unmap_mapping_range(), under domain->lock
 *   vf_registry	mutex: ids, names and minors; leaf
 *   holder->lock	spinlock: the tree of imports, the event queue; leaf
 *   holder->wq.lock	spinlock, interrupts off: who waits, armed counts; leaf
 *   vf_users		spinlock: per-user accounting; leaf
 *   bd->lock		mutex, of a backplane; may be taken under domain->lock, see
 *			backplane_dev.h; leaf but for bd->ring_lock
 *
 * synchronize_srcu(&vf_srcu) runs under domain->lock: a reader of vf_srcu
 * never takes a domain->lock.
 *
 * Other kernels: a change of a domain that lies on a backplane is waited for on
 * all nodes before the call that made it returns (vf_domain_unlock()). Who waits
 * for other kernels (vf_backplane_followed(), vf_backplane_ready()) holds no lock
 * that is held while following (domain->lock, mirror->lock), and does not follow
 * another node itself (mirror.c): otherwise two nodes could each wait for what the
 * other one does not come to, until they expel one another.
 *
 * Lifetimes:
 *
 *   domain	registry, its partitions, its windows (for accounting). Deleting
 *		marks it dead under domain->lock, ends its holders, deletes its
 *		partitions and drops the registry's reference.
 *   partition	its domain's list, each of its gates.
 *   gate	its partition, as its own or as a channel; each open file. Owns
 *		its minor until freed, so a minor is not reissued while an old
 *		file is open.
 *   fault	its domain's list; found and freed under domain->lock.
 *   holder	an open file and, once attached, an endpoint. References: the
 *		file, the shadow file that its VMAs hold, queued work, a change
 *		that will tell it something. Ends (state ENDED) long before it
 *		is freed; found under RCU through endpoint->holder.
 *   placed	its domain: what that has on a backplane. Holds the backplane, whose
 *		memory stays mapped for this kernel until the last of them is gone.
 *   remote holder
 *		an endpoint that is attached on another node. Referenced by what was
 *		read of that node (mirror.c), which also references its windows; both
 *		are dropped when its records are gone, or the node is.
 *   window	its owner while it lives, each import that can still reach it. Memory
 *		of this node's data area goes back to the carrier with it, and is handed
 *		out again once the other nodes have followed.
 *   import	its holder's tree, each VMA, each fault that sleeps on it. It
 *		drops its window as soon as it is GONE or ENDED, synchronized
 *		and unmapped, however long its VMAs stay. Those of the view and of
 *		the counts also have a reference of their holder, and keep their
 *		windows.
 *
 * A pointer found under vf_srcu or RCU is used only inside that section.
 */
#ifndef VFABRIC_H
#define VFABRIC_H

#include <linux/cdev.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/uuid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <uapi/linux/vfabric.h>
#include "backplane.h"
#include "topology.h"

/* Limits */
#define VF_MAX_PARTITION	65535		/* highest id */
#define VF_MAX_PARTITIONS	1024		/* per domain */
#define VF_USERNS_CHANNELS	256		/* per domain of a user namespace */
#define VF_MAX_WINDOWS		1024		/* per endpoint */
#define VF_MAX_IMPORTS		16384		/* per endpoint */
#define VF_WINDOW_MAX		(16ULL << 30)	/* bytes */
#define VF_EVENTS		128		/* queued per endpoint */
#define VF_MANAGER_NOTE		64		/* bytes */
#define VF_MAX_RETRY_MS		60000

/*
 * For what is allocated under domain->lock: fails rather than have others wait
 * while one memory cgroup is reclaimed or has a victim chosen.
 */
#define VF_GFP_LOCKED	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/*
 * For what a user can have many of: fails rather than have a full memory cgroup
 * choose a victim.
 */
#define VF_GFP_USER (GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* mmap() offsets: a range of 2^45 bytes per peer rank, then the view's */
#define VF_COOKIE_RANK_SHIFT	45
#define VF_COOKIE_UNIT		(2UL << 20)
#define VF_COOKIE_UNITS		(1UL << (VF_COOKIE_RANK_SHIFT - 21))
#define VF_COOKIE_VIEW		BIT_ULL(62)
#define VF_COOKIE_COUNTS	(VF_COOKIE_VIEW + VF_COOKIE_UNIT)

struct netlink_ext_ack;
struct vf_fault;
struct vf_holder;
struct vf_window;

/**
 * struct vf_user - what one uid has in all domains
 */
struct vf_user {
	struct list_head node;
	kuid_t uid;
	unsigned int refs;
	u64 bytes;
	unsigned int domains;	/* created without init's CAP_NET_ADMIN */
};

/* Who may open a device file */
struct vf_access {
	umode_t mode;
	kuid_t uid;
	kgid_t gid;
};

/**
 * struct vf_gate - a device file: a partition's own one, or a channel's
 * @part:	holds a reference
 * @channel:	VFAB_CHANNEL_NONE for the partition's own one; never changes
 * @dead:	under domain->lock; no more attaching
 * @held:	attached endpoints that came by it, wherever they were moved
 */
struct vf_gate {
	struct kref ref;
	struct rcu_head rcu;
	struct vf_partition *part;
	u32 channel;
	int minor;
	struct vf_access access;
	struct device *dev;
	bool dead;
	u32 held;
};

struct vf_partition {
	struct kref ref;
	struct rcu_head rcu;
	struct vf_domain *dom;		/* holds a reference */
	struct list_head node;		/* dom->parts */
	u32 id;
	char name[VFAB_NAME_LEN + 1];
	struct vf_gate *gate;		/* its own file's; NULL while it is not active */
	unsigned long fixed;		/* hgx15: its members while active; else 0 */
	struct xarray channels;		/* id -> struct vf_gate */
	u32 members;
	u32 resiliency;			/* enum vfabric_resiliency */
	struct list_head holders;	/* of member endpoints */
	u32 held;
	u64 loss;			/* loss generation */
	bool lossy;			/* a loss in the change being made */
};

/**
 * struct vf_endpoint - one rank's place; there is one for each, all the time
 * @holder:	who holds it; read under RCU, written under domain->lock
 * @part:	its partition or NULL; read with READ_ONCE
 * @parked:	no route leads to it or from it; read with READ_ONCE
 * @was_part, @was_parked: the same before the change being made
 */
struct vf_endpoint {
	struct vf_holder __rcu *holder;
	struct vf_partition *part;
	struct vf_partition *was_part;
	bool parked;
	bool was_parked;
};

/**
 * struct vf_health - how a partition is
 * @links:	that its members in service may use
 * @links_up:	those that carry
 */
struct vf_health {
	u32 health;			/* enum vfabric_health */
	u32 links;
	u32 links_up;
};

/**
 * struct vf_port_counts - what a port counts; see enum vfabric_counter
 */
struct vf_port_counts {
	u64 link_downed;
	u64 link_error_recovery;
};

/**
 * struct vf_port_moved - the same, of what only domains that are used have
 */
struct vf_port_moved {
	u64 xmit_bytes;
	u64 rcv_bytes;
	u64 xmit_wait;
};

/**
 * struct vf_counts - what an endpoint counts, whoever holds it
 */
struct vf_counts {
	u64 xmit_bytes;
	u64 rcv_bytes;
	u64 xmit_ops;
	u64 rcv_ops;
	u64 attaches;
	u64 peers_lost;
	u64 windows_revoked;
	u64 imports_refused;
	u64 ring_calls;
	u64 wait_calls;
	u64 events_dropped;
};

/**
 * struct vf_manager - who manages a domain
 * @state:	enum vfabric_manager_state
 * @portid:	its netlink socket; 0: closed
 * @beat:	jiffies of its last sign of life
 * @silent:	pending until it has been silent for @timeout_ms
 */
struct vf_manager {
	u32 state;
	u32 portid;
	u32 timeout_ms;
	unsigned long beat;
	struct pid *tgid;
	char note[VF_MANAGER_NOTE + 1];
	struct delayed_work silent;
};

struct vf_domain {
	struct kref ref;
	struct rcu_head rcu;
	u32 id;
	char name[VFAB_NAME_LEN + 1];
	uuid_t uuid;
	struct net *net;		/* valid until dead */
	struct vf_user *user;		/* who created it */
	bool restricted;		/* created by a user namespace's admin */
	struct vf_access access;	/* to its device files, unless a channel says otherwise */

	struct mutex lock;		/* see the lock order */
	bool dead;
	u32 peer_death;			/* enum vfab_peer_death */
	u32 retry_ms;
	u64 mem_limit;			/* 0: none */
	atomic64_t mem_used;
	u32 attached;
	u32 nodes;			/* divides topo.world */
	u32 part_mode;			/* enum vfabric_partition_mode */
	u64 generation;			/* topology, tables, partitions */
	u32 dump_seq;			/* anything that a dump shows */
	u64 loss_seq;
	unsigned long settle_at;	/* jiffies, while settle is pending */
	u32 handle_next;
	struct vf_topo topo;
	char profile[VFAB_NAME_LEN + 1];	/* where the topology is from, or "" */
	struct vf_endpoint *eps;
	struct list_head parts;		/* by id */
	u32 nparts;
	u32 nchannels;			/* of all partitions */
	struct xarray windows;		/* low half of the handle */
	struct delayed_work settle;	/* outages that outlast retry_ms */
	struct list_head flaps;
	struct delayed_work flap;
	bool shape;			/* rates and latencies act */
	u32 shape_scale;
	u64 *busy;			/* by port of @topo, see pace.c; NULL: never shaped */
	bool counting;			/* some endpoint has mapped its counts */
	struct vf_counts *counts;	/* by rank */
	struct vf_port_counts *port_counts;	/* by port of @topo */
	struct vf_port_moved *port_moved;	/* the same; NULL: nobody asked yet */
	u8 *link_was;			/* by link: VF_LINK_WAS_* */
	unsigned long *touched;		/* links that are being changed */
	DECLARE_BITMAP(told, VF_MAX_WORLD);	/* destinations whose routes are */
	struct list_head faults;	/* by id */
	u32 nfaults;
	u32 fault_id;			/* of the last one */
	u32 fault_kinds;		/* that act: bit per enum vfabric_fault_kind */
	struct delayed_work fault_work;	/* faults that begin or end by time */
	atomic64_t stalls;		/* accesses and rings that blackholes held */
	struct vf_manager manager;
	struct vf_placed *placed;	/* NULL: all of it is on this kernel */
};

enum vf_window_kind {
	VF_WINDOW_MEMORY,
	VF_WINDOW_BELL,			/* page 0: counts, page 1: armed words */
	VF_WINDOW_VIEW,
	VF_WINDOW_COUNTS,		/* struct vfab_count by rank */
};

/**
 * struct vf_window - pages that can be mapped
 * @owner:	under domain->lock; NULL once the owner let go or ended
 * @pages:	one per page; @shm holds one reference per folio. NULL: they are those
 *		of a backplane from @pfn on
 * @mem:	of this node's data area; no bytes: another node's, or none
 * @change:	who has followed this one does not use @mem any more
 * @record:	that the other nodes read, below 0: none
 */
struct vf_window {
	struct kref ref;
	enum vf_window_kind kind;
	struct vf_domain *dom;
	struct vf_holder *owner;
	struct list_head node;		/* owner->windows */
	struct list_head imports;
	u32 nimports;
	u32 rank;
	u32 access;
	u64 handle;
	u64 tag;
	unsigned long npages;
	struct page **pages;
	unsigned long pfn;
	struct vf_bp_mem mem;
	u64 change;
	int record;
	struct file *shm;		/* MEMORY */
	void *vmem;			/* BELL, VIEW */
	struct vf_user *user;
	u64 charged;
};

/*
 * LIVE <-> WAIT -> LOST -> LIVE: with the route. HOLD is LIVE to all that look,
 * but a blackhole has it: faults sleep, and no deadline runs. GONE: the window was freed,
 * its owner or its importer ended, or a partition border came between. ENDED:
 * released; SIGBUS whatever the import asked for. GONE and ENDED are final.
 */
enum vf_import_state {
	VF_IMPORT_LIVE,
	VF_IMPORT_HOLD,			/* until the blackhole ends */
	VF_IMPORT_WAIT,			/* within the retry timeout: faults sleep */
	VF_IMPORT_LOST,
	VF_IMPORT_GONE,
	VF_IMPORT_ENDED,
};

/**
 * struct vf_import - a right to map a window
 * @state:	written under domain->lock, read under vf_srcu
 */
struct vf_import {
	struct kref ref;
	struct vf_holder *holder;	/* pinned by the tree and by each VMA's file */
	struct vf_window *win;		/* domain->lock, or vf_srcu and LIVE */
	struct rb_node node;		/* holder->imports, by pgoff */
	struct list_head peer_node;	/* vf_peer.imports */
	struct list_head win_node;	/* win->imports */
	struct list_head change_node;
	unsigned long pgoff;
	unsigned long npages;
	enum vf_window_kind kind;
	u32 rank;
	u32 access;
	u32 loss;			/* enum vfab_loss */
	enum vf_import_state state;
	bool told;			/* the view tells of the loss: absorb */
	struct page *absorb;
};

/* What a holder has of one peer; stays until the holder is freed. */
struct vf_peer {
	struct vf_holder *holder;
	u32 rank;
	struct list_head imports;
	struct list_head gain_node;	/* vf_change.gains */
	u64 freed;			/* handle of the last window it freed */
	unsigned long next;		/* cookie unit; only grows */
};

/* Of a peer in RECOVERY */
struct vf_outage {
	unsigned long deadline;		/* jiffies */
	u32 reason;			/* enum vfab_reason */
};

struct vf_eventfd {
	struct rcu_head rcu;
	struct eventfd_ctx *ctx;
};

/**
 * struct vf_event - a queued struct vfab_event in half the room
 * @loss:	low half of the generation, which does not move by 2^32 while an
 *		event is queued
 */
struct vf_event {
	u64 handle;
	u32 loss;
	u16 rank;
	u8 type;
	u8 reason;
};

enum vf_holder_state {
	VF_HOLDER_NEW,
	VF_HOLDER_ATTACHED,
	VF_HOLDER_ENDED,
};

/*
 * One that is attached on another node of a backplane has no file, no process, no
 * view and no imports: only windows, and a bell that is not rung here.
 */
struct vf_holder {
	struct kref ref;
	struct rcu_head rcu;
	/* The device file that was opened; never changes. NULL: remote, in no channel */
	struct vf_gate *gate;
	struct vf_domain *dom;		/* gate->part->dom */
	u32 channel;			/* the gate's */
	bool remote;			/* on another node; holds a reference to @dom */
	int record;			/* that the other nodes read, below 0: none */
	u64 generation;			/* of the record */
	struct inode *inode;
	struct file *shadow;
	enum vf_holder_state state;	/* by vf_holder_state() unless under domain->lock */
	u32 rank;
	struct list_head part_node;	/* partition->holders */

	/* under domain->lock */
	struct list_head windows;
	u32 nwindows;
	u64 win_bytes;
	u32 nimports;
	struct xarray peers;		/* rank -> struct vf_peer */
	struct vf_window *bell;		/* NULL on a backplane unless attached */
	void *bells;			/* @bell's pages; set for good by ATTACH */
	struct vf_import *view_import;
	struct vfab_view *view;
	struct vf_import *counts_import;
	struct vfab_count *counts;	/* NULL: not asked for yet */
	struct vf_folded *folded;	/* of @counts; by rank */
	u64 paced;			/* until when it has reserved, ns */
	struct vf_outage *outages;	/* per peer; NULL while there is no retry timeout */
	struct list_head tell;		/* vf_change.tell */

	/* since they were added to dom->counts; no lock */
	atomic64_t imports_refused;
	atomic64_t ring_calls;
	atomic64_t wait_calls;

	wait_queue_head_t wq;		/* WAIT, LOOKUP, read, poll, faults */
	u64 loss;			/* as in the view, see vf_view_loss() */
	u32 armed[VFAB_VECTORS];	/* under wq.lock */
	struct mutex file_lock;		/* read() and ATTACH, one at a time */

	spinlock_t lock;		/* what follows, up to tgid */
	struct rb_root imports;
	struct vf_eventfd __rcu *eventfd[VFAB_VECTORS];
	struct vf_event *events;	/* VF_EVENTS of them */
	u32 ev_head, ev_tail;		/* readable: head <= i < tail */
	u32 ev_staged;			/* pushed, published by vf_change_commit() */
	u32 ev_stamped;			/* have their loss generation */
	bool ev_missed;			/* staged: ev_overflow once the change is done */
	bool ev_overflow;
	bool ev_late;			/* a fault keeps tail back ... */
	unsigned long ev_due;		/* ... until then, jiffies */

	struct pid *tgid;		/* of the process that attached */
	wait_queue_entry_t pid_wait;
	struct work_struct pid_work;
};

/**
 * struct vf_change - a change of a domain while domain->lock is held
 *
 * Marks are made first (imports, view entries of what is lost), then
 * vf_change_commit() publishes the loss generation, lets marked imports absorb,
 * synchronizes, unmaps, enters gains in views and tells, in this order.
 */
struct vf_change {
	struct vf_domain *dom;
	u32 reason;			/* enum vfab_reason */
	bool sync;
	bool rates;			/* also where the ports are the same */
	u32 routes_changed;
	u32 routes_lost;
	struct list_head imports;
	struct list_head gains;		/* struct vf_peer */
	struct list_head tell;
};

/* main.c */
extern unsigned int vf_param_max_domains;
extern unsigned int vf_param_userns_domains;
extern unsigned int vf_param_userns_world;
u64 vf_user_mem_limit(void);
extern struct workqueue_struct *vf_wq;

/* user.c */
struct vf_user *vf_user_get(kuid_t uid);
void vf_user_put(struct vf_user *user);
bool vf_user_charge(struct vf_user *user, u64 bytes);
void vf_user_uncharge(struct vf_user *user, u64 bytes);
bool vf_user_add_domain(struct vf_user *user, unsigned int limit);
void vf_user_del_domain(struct vf_user *user);

/* domain.c */
struct vf_domain_config {
	const char *name;		/* NULL: dom<id> */
	const uuid_t *uuid;		/* NULL: random */
	struct vf_topo_config topo;
	const char *profile;		/* NULL: none */
	struct vf_access access;
	u32 nodes;
	u32 part_mode;
	u32 peer_death;
	u32 retry_ms;
	u64 mem_limit;
	bool restricted;
	struct vf_placed *placed;	/* moves into the domain, also on failure */
};

int vf_domain_init(void);
void vf_domain_exit(void);
struct vf_domain *vf_domain_create(struct net *net,
				   const struct vf_domain_config *cfg,
				   struct netlink_ext_ack *extack);
int vf_domain_refused(struct net *net, const char *name, const uuid_t *uuid);
int vf_domain_delete(struct vf_domain *dom, bool force);
struct vf_domain *vf_domain_get_id(u32 id);
struct vf_domain *vf_domain_get_name(struct net *net, const char *name);
struct vf_domain *vf_domain_next(unsigned long *id);
void vf_domain_put(struct vf_domain *dom);
unsigned int vf_domain_count(void);
u32 vf_domains_seq(void);
bool vf_domain_visible(const struct vf_domain *dom, const struct net *net);
bool vf_netns_shared(void);
void vf_set_netns_shared(bool shared);
bool vf_name_valid(const char *name);

bool vf_domain_charge(struct vf_domain *dom, u64 bytes);
void vf_domain_changed(struct vf_domain *dom);
void vf_domain_reshaped(struct vf_domain *dom);

/* placed.c, of domains whose vf_is_placed() says so */
int vf_placed_prepare(struct vf_domain *dom, struct netlink_ext_ack *extack);
int vf_placed_begin(struct vf_domain *dom, struct netlink_ext_ack *extack);
void vf_placed_end(struct vf_domain *dom);
void vf_placed_destroy(struct vf_placed *p);
int vf_placed_unlock(struct vf_domain *dom);
int vf_placed_settle(struct vf_domain *dom);
void vf_placed_reshaped(struct vf_domain *dom);
bool vf_placed_here(const struct vf_domain *dom, u32 rank);
u32 vf_placed_node(const struct vf_domain *dom, u32 rank);
u32 vf_placed_owner(const struct vf_domain *dom);
u32 vf_placed_home(const struct vf_domain *dom);
struct xa_limit vf_placed_handles(const struct vf_domain *dom);
int vf_placed_endpoint(struct vf_holder *h, u32 rank);
void vf_placed_endpoint_gone(struct vf_holder *h);
int vf_placed_alloc(struct vf_window *win, u64 bytes);
void vf_placed_free(struct vf_window *win);
int vf_placed_window(struct vf_holder *h, struct vf_window *win);
void vf_placed_window_gone(struct vf_window *win);
void vf_placed_ring(struct vf_domain *dom, u32 rank, u32 vector);

/* Does it lie on a backplane? Never where there is none: what follows is left out. */
static inline bool vf_is_placed(const struct vf_domain *dom)
{
	return IS_ENABLED(CONFIG_PCI) && dom->placed;
}

/**
 * vf_domain_unlock - the end of what may have changed a domain
 * @dom: under its lock, which is dropped
 *
 * Where it lies on a backplane and something of it was lost, returns once the
 * other nodes have followed: the change is made everywhere. Not to be called by
 * who follows another node itself, see the lock order.
 *
 * Return: how many nodes were expelled, as they had not in time; or an errno, where
 * this node is on the backplane no more, or the caller was killed.
 */
static inline int vf_domain_unlock(struct vf_domain *dom)
{
	if (vf_is_placed(dom))
		return vf_placed_unlock(dom);
	mutex_unlock(&dom->lock);
	return 0;
}

/*
 * The node that a rank belongs to: ranks are divided evenly, in order, unless
 * they are placed on a backplane's.
 */
static inline u32 vf_node_of(const struct vf_domain *dom, u32 rank)
{
	return vf_is_placed(dom) ? vf_placed_node(dom, rank) :
	       rank / (dom->topo.world / dom->nodes);
}

/* gate.c */
int vf_gate_init(void);
void vf_gate_exit(void);
struct vf_gate *vf_gate_create(struct vf_partition *part, u32 channel,
			       const struct vf_access *access);
void vf_gate_delete(struct vf_gate *gate);
struct vf_gate *vf_gate_open(int minor);
void vf_gate_put(struct vf_gate *gate);
extern dev_t vf_devt;

#define VF_MINORS (MINORMASK + 1)

/* partition.c */
struct vf_partition *vf_partition_create(struct vf_domain *dom, u32 id,
					 const char *name);
int vf_partitions_create(struct vf_domain *dom);
int vf_partition_activate(struct vf_partition *part);
void vf_partition_deactivate(struct vf_partition *part);
void vf_partition_delete(struct vf_partition *part);
struct vf_partition *vf_partition_find(struct vf_domain *dom, u32 id);
void vf_partition_put(struct vf_partition *part);
void vf_partition_move(struct vf_domain *dom, struct vf_partition *to,
		       const unsigned long *ranks, struct vf_change *chg);
void vf_partition_park(struct vf_domain *dom, const unsigned long *ranks, bool parked,
		       struct vf_change *chg);
struct vf_gate *vf_channel_create(struct vf_partition *part, u32 id,
				  const struct vf_access *access);
void vf_channel_delete(struct vf_gate *gate);

/* health.c */
void vf_partition_health(const struct vf_partition *part, struct vf_health *h);
u32 vf_endpoint_health(const struct vf_domain *dom, u32 rank);

/* chardev.c */
int vf_chardev_init(void);
void vf_chardev_exit(void);

/* endpoint.c */
int vf_endpoint_init(void);
void vf_endpoint_exit(void);
struct vf_holder *vf_holder_create(struct vf_gate *gate);
void vf_holder_put(struct vf_holder *h);
int vf_holder_attach(struct vf_holder *h, struct vfab_attach *a);
struct vf_holder *vf_holder_attach_remote(struct vf_domain *dom, u32 rank,
					  struct vf_gate *gate, unsigned long bell);
void vf_holder_kill(struct vf_change *chg, struct vf_holder *h);
void vf_holder_drain(struct vf_holder *h);
void vf_holder_forget_bell(struct vf_holder *h);
void vf_holder_end(struct vf_holder *h, u32 reason);
void vf_holders_evict(struct vf_domain *dom, const unsigned long *ranks, int why);

/*
 * Without domain->lock. ATTACH fills a holder (view, bells, rank) and then says so:
 * whoever sees it attached, or that it was, sees all that.
 */
static inline enum vf_holder_state vf_holder_state(const struct vf_holder *h)
{
	return smp_load_acquire(&h->state);	/* pairs with vf_holder_set_state() */
}

static inline void vf_holder_set_state(struct vf_holder *h, enum vf_holder_state state)
{
	lockdep_assert_held(&h->dom->lock);
	smp_store_release(&h->state, state);	/* pairs with vf_holder_state() */
}

/**
 * vf_same_channel - are two endpoints in one access group of their partition?
 * @a: a holder
 * @b: another one, or the same
 *
 * Those in none meet those in none. A channel is its gate, not its number: who
 * was moved to another partition is not in the channel of the same number
 * there. Gates never change, so no lock is needed and the answer is for good.
 */
static inline bool vf_same_channel(const struct vf_holder *a, const struct vf_holder *b)
{
	return a->gate == b->gate ||
	       (a->channel == VFAB_CHANNEL_NONE && b->channel == VFAB_CHANNEL_NONE);
}

int vf_holder_lock(struct vf_holder *h);
int vf_holder_ride_out(struct vf_holder *h);
bool vf_holder_exiting(struct vf_holder *h);
void vf_holder_forget_pid(struct vf_holder *h);

/* change.c */
void vf_change_begin(struct vf_change *chg, struct vf_domain *dom, u32 reason);
void vf_change_tell(struct vf_change *chg, struct vf_holder *h);
void vf_change_import(struct vf_change *chg, struct vf_import *im,
		      enum vf_import_state state);
void vf_change_pair(struct vf_change *chg, struct vf_holder *h, u32 peer);
void vf_change_routes(struct vf_change *chg, const unsigned long *ranks);
void vf_change_commit(struct vf_change *chg);
void vf_change_topology(struct vf_change *chg, struct vf_domain *dom, u32 reason,
			const unsigned long *dests, bool rates);
void vf_change_link(struct vf_domain *dom, u32 link, unsigned long *dests);
void vf_change_switch(struct vf_domain *dom, u32 sw, unsigned long *dests);
void vf_change_dest(struct vf_domain *dom, u32 dest, unsigned long *dests);
void vf_change_holes(struct vf_domain *dom, const unsigned long *dests);
void vf_settle_work(struct work_struct *work);
int vf_reach(struct vf_domain *dom, u32 a, u32 b);
bool vf_joined(const struct vf_domain *dom, u32 a, u32 b);
void vf_pair_route(struct vf_domain *dom, u32 a, u32 b, struct vf_route *r);
bool vf_change_cuts(struct vf_domain *dom, const unsigned long *ranks);
extern struct srcu_struct vf_srcu;

/* counter.c */
int vf_counters_create(struct vf_domain *dom);
void vf_counters_destroy(struct vf_domain *dom);
int vf_counters_of_moved(struct vf_domain *dom);
void vf_counters_of_holder(struct vf_holder *h);
void vf_counters_collect(struct vf_domain *dom);
int vf_counts_map(struct vf_holder *h, struct vfab_counts *a);
void vf_counts_fold(struct vf_domain *dom, const unsigned long *ranks);
void vf_counters_of_links(struct vf_domain *dom);
void vf_counter_refused(struct vf_holder *h, int err);

/* pace.c */
int vf_pace(struct vf_holder *h, struct vfab_pace *a);
int vf_pace_set(struct vf_domain *dom, bool on, u32 scale);
void vf_pace_forget(struct vf_domain *dom, u32 link);

/* flap.c */
int vf_flap_make(struct vf_domain *dom, u32 link);
void vf_flap_unmake(struct vf_domain *dom);
void vf_flap_start(struct vf_domain *dom, u32 link, u32 period, u32 count);
void vf_flap_stop(struct vf_domain *dom, u32 link);
void vf_flap_stop_all(struct vf_domain *dom);
void vf_flap_work(struct work_struct *work);

/* fault.c */
void vf_faults_end(struct vf_domain *dom);
void vf_fault_work(struct work_struct *work);

/* Does any fault of this kind (enum vfabric_fault_kind) act? One load. */
static inline bool vf_fault_acts(const struct vf_domain *dom, u32 kind)
{
	return READ_ONCE(dom->fault_kinds) & BIT(kind);
}

/* fault_link.c */
struct vf_speed vf_fault_shown(struct vf_domain *dom, u32 link);
void vf_fault_speed(struct vf_domain *dom, u32 link);

/**
 * struct vf_identity - what an endpoint says of itself, as NVML has it
 * @clique:	VF_NONE: in none
 */
struct vf_identity {
	u32 state;		/* enum vfabric_fabric_state */
	s32 status;
	u32 clique;
	u32 health;		/* enum vfabric_health */
	uuid_t uuid;
};

/* fault_endpoint.c */
void vf_fault_lie(struct vf_domain *dom, u32 rank, struct vf_identity *id);
bool vf_fault_attach(struct vf_domain *dom, u32 rank, bool refuse);
int vf_fault_import(struct vf_holder *h);
int vf_fault_window(struct vf_holder *h);
bool vf_fault_stalled(struct vf_domain *dom);

/* fault_event.c */
bool vf_fault_drops(struct vf_holder *h);
bool vf_fault_delays(struct vf_holder *h, u32 events);
void vf_fault_reorder(struct vf_holder *h);

/* manager.c */
void vf_manager_init(struct vf_domain *dom);
void vf_manager_end(struct vf_domain *dom);
int vf_manager_beat(struct vf_domain *dom, u32 portid, u32 timeout_ms, const char *note);
int vf_manager_leave(struct vf_domain *dom, u32 portid);
void vf_manager_closed(struct net *net, u32 portid);

/* view.c */
int vf_view_create(struct vf_holder *h);
void vf_view_fill(struct vf_holder *h);
bool vf_view_set(struct vf_holder *h, u32 rank, u32 state,
		 const struct vf_route *r, bool lost, bool revoked);
extern const struct vf_route vf_no_route;
void vf_view_loss(struct vf_holder *h, u64 loss);
void vf_view_end(struct vf_holder *h);
size_t vf_view_bytes(const struct vf_domain *dom);

/* event.c */
void vf_event_stage(struct vf_change *chg, struct vf_holder *h, u32 type,
		    u32 rank, u64 handle, u32 reason);
void vf_event_publish(struct vf_holder *h);
ssize_t vf_event_read(struct vf_holder *h, struct file *file, char __user *buf,
		      size_t len);
bool vf_event_pending(struct vf_holder *h);
void vf_event_release(struct vf_holder *h);

/* window.c */
int vf_window_init(void);
void vf_window_exit(void);
int vf_window_alloc(struct vf_holder *h, struct vfab_window_alloc *a);
int vf_window_free(struct vf_holder *h, struct vfab_window_free *a);
int vf_window_lookup(struct vf_holder *h, struct vfab_lookup *a);
struct vf_window *vf_window_kernel(struct vf_holder *h, enum vf_window_kind kind,
				   size_t bytes);
struct vf_window *vf_window_bell(struct vf_holder *h);
struct vf_window *vf_window_remote(struct vf_holder *h, enum vf_window_kind kind,
				   unsigned long pfn, u64 bytes);
int vf_window_add_remote(struct vf_holder *h, struct vf_window *win);
struct vf_window *vf_window_find(struct vf_domain *dom, u64 handle);
void vf_window_withdraw(struct vf_change *chg, struct vf_window *win);
void vf_window_revoke(struct vf_change *chg, struct vf_window *win);
void vf_window_unlink(struct vf_window *win);
void vf_window_put(struct vf_window *win);

/* The page frame of a window's page. */
static inline unsigned long vf_window_pfn(const struct vf_window *win, unsigned long index)
{
	return win->pages ? page_to_pfn(win->pages[index]) : win->pfn + index;
}

/* import.c */
int vf_import_handle(struct vf_holder *h, struct vfab_import *a);
int vf_import_bell(struct vf_holder *h, struct vfab_bell *a);
struct vf_import *vf_import_own(struct vf_holder *h, struct vf_window *win,
				u32 access, u64 cookie);
bool vf_import_is_own(const struct vf_import *im);
void vf_import_link(struct vf_import *im);
int vf_import_release(struct vf_holder *h, struct vfab_release *a);
int vf_import_mmap(struct vf_holder *h, struct vm_area_struct *vma);
void vf_import_put(struct vf_import *im);
void vf_import_unlink(struct vf_import *im);
void vf_import_drop_window(struct vf_import *im);

/* doorbell.c */
int vf_doorbell_ring(struct vf_holder *h, struct vfab_ring *a);
int vf_doorbell_wait(struct vf_holder *h, struct vfab_wait *a);
int vf_doorbell_eventfd(struct vf_holder *h, struct vfab_eventfd *a);
void vf_doorbell_unbind_all(struct vf_holder *h);
void vf_doorbell_deliver(struct vf_domain *dom, u32 rank, u32 vector);
void vf_doorbell_deliver_all(struct vf_domain *dom);

/* netlink.c */
int vf_netlink_init(void);
void vf_netlink_exit(void);

/**
 * struct vf_notice - one message to the multicast group "events"
 *
 * Negative values and NULL are left out. Called under domain->lock or before
 * a domain is visible; a failure to send is reported to the listeners only.
 */
struct vf_notice {
	int object, action, reason;
	int partition, channel, node, rank, sw, port, dest, up, shared, active;
	int manager, parked, resiliency;
	const char *backplane;
	int bp_state, bp_why;
	const struct vf_change *chg;
	const struct vf_fault *fault;
	const unsigned long *members;
};

void vf_notify(struct vf_domain *dom, const struct vf_notice *n);
void vf_notify_machine(const struct vf_notice *n);

#define VF_NOTICE(obj, act, why) { .object = (obj), .action = (act), \
	.reason = (why), .partition = -1, .channel = -1, .node = -1, .rank = -1, \
	.sw = -1, .port = -1, .dest = -1, .up = -1, .shared = -1, \
	.active = -1, .manager = -1, .parked = -1, \
	.resiliency = -1, .bp_state = -1, .bp_why = -1 }

#endif
