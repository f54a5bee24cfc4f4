/* SPDX-License-Identifier: GPL-2.0 */
/* Faults: what fault.c and its netlink part share. */
#ifndef VFABRIC_FAULT_H
#define VFABRIC_FAULT_H

#include <uapi/linux/vfabric_netlink.h>
#include "vfabric.h"

#define VF_MAX_FAULTS		64	/* per domain, ended ones included */
#define VF_BLACKHOLE_MAX	600000	/* milliseconds */

/* What a fault acts on */
enum vf_fault_target {
	VF_TARGET_LINKS,
	VF_TARGET_RANKS,
	VF_TARGET_NODE,
	VF_TARGET_DOMAIN,
};

/* What kinds of faults take; one number each, but for the UUID */
enum vf_fault_param {
	VF_P_DURATION,
	VF_P_COUNT,
	VF_P_PERIOD,
	VF_P_RATE,
	VF_P_LATENCY,
	VF_P_WIDTH,
	VF_P_STATE,
	VF_P_STATUS,
	VF_P_UUID,
	VF_P_CLIQUE,
	VF_P_HEALTH,
	VF_P_SILENT,
	VF_P_PERMILLE,
	VF_P_ERRNO,
	VF_P_SKIP,
	VF_P_LIMIT,
	VF_P_DELAY,
	VF_P_SPARE,
	VF_FAULT_PARAMS
};

/**
 * struct vf_fault_config - what is asked for
 * @rank:	the target, as far as it is named; VF_NONE where it leaves out
 * @all:	all links, or all endpoints
 * @after:	milliseconds
 * @pidns:	of who asks: whom it does not see is not killed; a fault has a reference
 * @given:	bit per enum vf_fault_param
 * @p:		values of those
 */
struct vf_fault_config {
	enum vfabric_fault_kind kind;
	u32 rank, sw, port, node;
	bool all;
	u32 seed;
	u32 after;
	struct pid_namespace *pidns;
	u32 given;
	u32 p[VF_FAULT_PARAMS];
	uuid_t uuid;
};

/**
 * struct vf_fault_step - what faults that begin or end together leave to be done
 * @dests:	destinations that links concern
 * @swallow:	the same of links that began or ceased to swallow, if @holes
 * @endpoints:	that are shown otherwise
 * @changed:	something that is shown
 * @shown:	of links something that is shown
 * @topology:	links changed
 * @rates:	some of them by rate or latency
 */
struct vf_fault_step {
	DECLARE_BITMAP(dests, VF_MAX_WORLD);
	DECLARE_BITMAP(swallow, VF_MAX_WORLD);
	DECLARE_BITMAP(endpoints, VF_MAX_WORLD);
	bool changed;
	bool holes;
	bool shown;
	bool topology;
	bool rates;
};

/**
 * struct vf_fault_kind - one row of the table of kinds
 * @takes:	bit per parameter that makes sense
 * @wants:	of these some must be given, else @want says so
 * @errnos:	that fault-errno may be, up to a 0; the first is the default
 * @turns:	leaves single calls to chance: needs vf_fault.turn
 * @once:	is over when it has begun
 * @prepare:	room that it needs, or NULL; -ENOMEM
 * @start:	begins to act; may not fail; notes in the step what is to be done;
 *		NULL where others look at whether it acts
 * @stop:	undoes all that start and tick did, or NULL
 * @tick:	what is due at vf_fault.tick, or NULL
 */
struct vf_fault_kind {
	enum vf_fault_target target;
	bool once;
	u32 takes;
	u32 wants;
	const char *want;
	const u8 *errnos;
	bool turns;
	int (*prepare)(struct vf_domain *dom);
	void (*start)(struct vf_fault *f, struct vf_fault_step *s);
	void (*stop)(struct vf_fault *f, struct vf_fault_step *s);
	void (*tick)(struct vf_fault *f, struct vf_fault_step *s);
};

/**
 * struct vf_fault - one fault of a domain; all of it under domain->lock
 * @links:	the target as links
 * @ranks:	the target as endpoints
 * @at:		jiffies: when it begins; once active, when it ends by time
 * @tick:	jiffies: when its kind's tick is due, if @ticking
 * @down:	a flap's links are down
 * @told:	the phase that was announced last
 * @stalls:	vf_domain.stalls when it began
 * @turn:	per rank, calls that chance has decided
 */
struct vf_fault {
	struct list_head node;		/* vf_domain.faults, by id */
	struct vf_domain *dom;
	const struct vf_fault_kind *kind;
	struct vf_fault_config cfg;
	u32 id;
	enum vfabric_fault_phase phase;
	enum vfabric_fault_phase told;
	struct vf_links links;
	DECLARE_BITMAP(ranks, VF_MAX_WORLD);
	unsigned long at;
	unsigned long tick;
	bool ticking;
	bool down;
	u64 hits;
	u64 stalls;
	u32 *turn;
};

#define VF_P(name) BIT(VF_P_ ## name)

/* fault.c */
const struct vf_fault_kind *vf_fault_kind(u32 kind);
struct vf_fault *vf_fault_create(struct vf_domain *dom, const struct vf_fault_config *cfg);
struct vf_fault *vf_fault_find(struct vf_domain *dom, u32 id);
void vf_fault_delete(struct vf_domain *dom, struct vf_fault *f);
u32 vf_fault_left(const struct vf_fault *f);
u64 vf_fault_hits(const struct vf_fault *f);
u32 vf_fault_chance(u32 seed, u64 n, u32 m);
bool vf_fault_used_up(const struct vf_fault *f);
struct vf_fault *vf_fault_next(struct vf_domain *dom, struct vf_fault *f, u32 kind);
void vf_fault_hit(struct vf_fault *f);
bool vf_fault_strikes(struct vf_fault *f, u32 rank);
void vf_fault_kick(struct vf_domain *dom);

/* fault_link.c */
extern const struct vf_fault_kind vf_fault_link_down, vf_fault_link_flap,
	vf_fault_link_degrade, vf_fault_blackhole;
void vf_fault_break(struct vf_fault *f, struct vf_fault_step *s, int delta);

/* fault_endpoint.c */
extern const struct vf_fault_kind vf_fault_stuck, vf_fault_override, vf_fault_peer_kill,
	vf_fault_node_loss, vf_fault_manager_stall, vf_fault_import_refuse, vf_fault_quota;

/* fault_event.c */
extern const struct vf_fault_kind vf_fault_event_delay, vf_fault_event_reorder,
	vf_fault_event_drop;

static inline struct vf_holder *vf_fault_held(struct vf_domain *dom, u32 rank)
{
	return rcu_dereference_protected(dom->eps[rank].holder,
					 lockdep_is_held(&dom->lock));
}

static inline bool vf_fault_given(const struct vf_fault *f, enum vf_fault_param param)
{
	return f->cfg.given & BIT(param);
}

static inline u32 vf_fault_param(const struct vf_fault *f, enum vf_fault_param param,
				 u32 otherwise)
{
	return vf_fault_given(f, param) ? f->cfg.p[param] : otherwise;
}

#endif
