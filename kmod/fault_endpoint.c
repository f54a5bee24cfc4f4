// SPDX-License-Identifier: GPL-2.0
/* Faults of endpoints: what they are refused, how they are shown, their end. */
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include "fault.h"

static int vf_fault_errno(const struct vf_fault *f)
{
	return -(int)vf_fault_param(f, VF_P_ERRNO, f->kind->errnos[0]);
}

/* --- How endpoints are shown --------------------------------------------------------- */

static bool vf_fault_is_stuck(struct vf_domain *dom, u32 rank, struct vf_fault **by)
{
	struct vf_fault *f;

	for (f = vf_fault_next(dom, NULL, VFAB_FAULT_STUCK); f;
	     f = vf_fault_next(dom, f, VFAB_FAULT_STUCK))
		if (test_bit(rank, f->ranks) && !vf_fault_used_up(f)) {
			*by = f;
			return true;
		}
	return false;
}

/**
 * vf_fault_lie - what is shown of an endpoint, instead of what is so
 * @dom: under its lock
 * @rank: whose
 * @id: what is so; changed
 */
void vf_fault_lie(struct vf_domain *dom, u32 rank, struct vf_identity *id)
{
	struct vf_fault *f;

	if (vf_fault_is_stuck(dom, rank, &f))
		id->state = VFAB_FABRIC_IN_PROGRESS;
	for (f = vf_fault_next(dom, NULL, VFAB_FAULT_OVERRIDE); f;
	     f = vf_fault_next(dom, f, VFAB_FAULT_OVERRIDE)) {
		if (!test_bit(rank, f->ranks))
			continue;
		id->state = vf_fault_param(f, VF_P_STATE, id->state);
		id->status = vf_fault_param(f, VF_P_STATUS, id->status);
		id->clique = vf_fault_param(f, VF_P_CLIQUE, id->clique);
		id->health = vf_fault_param(f, VF_P_HEALTH, id->health);
		if (vf_fault_given(f, VF_P_UUID))
			id->uuid = f->cfg.uuid;
	}
}

/* What shows an endpoint shows another. */
static void vf_shown_otherwise(struct vf_fault *f, struct vf_fault_step *s)
{
	unsigned int rank;

	for_each_set_bit(rank, f->ranks, f->dom->topo.world)
		__set_bit(rank, s->endpoints);
}

const struct vf_fault_kind vf_fault_stuck = {
	.target = VF_TARGET_RANKS,
	.takes = VF_P(DURATION) | VF_P(COUNT),
	.start = vf_shown_otherwise,
	.stop = vf_shown_otherwise,
};

const struct vf_fault_kind vf_fault_override = {
	.target = VF_TARGET_RANKS,
	.takes = VF_P(DURATION) | VF_P(STATE) | VF_P(STATUS) | VF_P(UUID) | VF_P(CLIQUE) |
		 VF_P(HEALTH),
	.wants = VF_P(STATE) | VF_P(STATUS) | VF_P(UUID) | VF_P(CLIQUE) | VF_P(HEALTH),
	.want = "override wants some of fabric-state, status, uuid, clique and health",
	.start = vf_shown_otherwise,
	.stop = vf_shown_otherwise,
};

/* --- What they are refused ------------------------------------------------------------ */

/**
 * vf_fault_attach - may this endpoint be attached?
 * @dom: under its lock
 * @rank: a free one
 * @refuse: the caller is refused if not: count it
 */
bool vf_fault_attach(struct vf_domain *dom, u32 rank, bool refuse)
{
	struct vf_fault *f;

	if (!vf_fault_is_stuck(dom, rank, &f))
		return true;
	if (refuse)
		vf_fault_hit(f);
	return false;
}

/* May @h import a window of somebody else's? Return: 0 or an errno. */
int vf_fault_import(struct vf_holder *h)
{
	struct vf_domain *dom = h->dom;
	struct vf_fault *f;
	int ret = 0;

	/* All that concern it take their turn, whoever strikes */
	for (f = vf_fault_next(dom, NULL, VFAB_FAULT_IMPORT_REFUSE); f;
	     f = vf_fault_next(dom, f, VFAB_FAULT_IMPORT_REFUSE))
		if (test_bit(h->rank, f->ranks) && vf_fault_strikes(f, h->rank))
			ret = ret ?: vf_fault_errno(f);
	return ret;
}

static const u8 vf_import_errnos[] = {
	EPERM, EACCES, ENOENT, EHOSTUNREACH, EDQUOT, ENOSPC, ENOMEM, 0
};

const struct vf_fault_kind vf_fault_import_refuse = {
	.target = VF_TARGET_RANKS,
	.takes = VF_P(DURATION) | VF_P(COUNT) | VF_P(ERRNO) | VF_P(SKIP) | VF_P(PERMILLE),
	.errnos = vf_import_errnos,
	.turns = true,
};

/* May @h have a window more? Return: 0 or an errno. */
int vf_fault_window(struct vf_holder *h)
{
	struct vf_domain *dom = h->dom;
	struct vf_fault *f;

	for (f = vf_fault_next(dom, NULL, VFAB_FAULT_QUOTA); f;
	     f = vf_fault_next(dom, f, VFAB_FAULT_QUOTA)) {
		if (!test_bit(h->rank, f->ranks) || vf_fault_used_up(f) ||
		    h->nwindows < vf_fault_param(f, VF_P_LIMIT, 0))
			continue;
		vf_fault_hit(f);
		return vf_fault_errno(f);
	}
	return 0;
}

static const u8 vf_quota_errnos[] = { EDQUOT, ENOMEM, 0 };

const struct vf_fault_kind vf_fault_quota = {
	.target = VF_TARGET_RANKS,
	.takes = VF_P(DURATION) | VF_P(COUNT) | VF_P(ERRNO) | VF_P(LIMIT),
	.errnos = vf_quota_errnos,
};

/* --- Their end ------------------------------------------------------------------------- */

/* As kill() of who asked could: not beyond its pid namespace, and not global init */
static bool vf_may_kill(const struct vf_fault *f, struct pid *tgid)
{
	return pid_nr_ns(tgid, f->cfg.pidns) && pid_nr(tgid) != 1;
}

/* End those that are held; processes that may not be killed live on. */
static void vf_peer_kill_start(struct vf_fault *f, struct vf_fault_step *s)
{
	struct vf_domain *dom = f->dom;
	unsigned int rank;

	for_each_set_bit(rank, f->ranks, dom->topo.world) {
		struct vf_holder *h = vf_fault_held(dom, rank);

		if (!h)
			continue;
		f->hits++;
		/* Its exit waits for domain->lock, so it is held until we end it */
		if (!vf_fault_given(f, VF_P_SPARE) && vf_may_kill(f, h->tgid))
			kill_pid(h->tgid, SIGKILL, 1);
	}
	vf_holders_evict(dom, f->ranks, VFAB_WHY_EXIT);
}

const struct vf_fault_kind vf_fault_peer_kill = {
	.target = VF_TARGET_RANKS,
	.takes = VF_P(SPARE),
	.once = true,
	.start = vf_peer_kill_start,
};

static void vf_node_loss_start(struct vf_fault *f, struct vf_fault_step *s)
{
	vf_peer_kill_start(f, s);
	vf_fault_break(f, s, 1);
}

static void vf_node_loss_stop(struct vf_fault *f, struct vf_fault_step *s)
{
	vf_fault_break(f, s, -1);
}

const struct vf_fault_kind vf_fault_node_loss = {
	.target = VF_TARGET_NODE,
	.takes = VF_P(DURATION) | VF_P(SPARE),
	.start = vf_node_loss_start,
	.stop = vf_node_loss_stop,
};

/* --- Who manages them ------------------------------------------------------------------- */

/* Is whoever manages the fabric stuck? A call that it is asked for is refused. */
bool vf_fault_stalled(struct vf_domain *dom)
{
	struct vf_fault *f;
	bool stalled = false;

	for (f = vf_fault_next(dom, NULL, VFAB_FAULT_MANAGER_STALL); f;
	     f = vf_fault_next(dom, f, VFAB_FAULT_MANAGER_STALL)) {
		f->hits++;
		stalled = true;
	}
	return stalled;
}

const struct vf_fault_kind vf_fault_manager_stall = {
	.target = VF_TARGET_DOMAIN,
	.takes = VF_P(DURATION),
};
