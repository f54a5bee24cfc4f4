// SPDX-License-Identifier: GPL-2.0
/* What moved between two snapshots of a domain, the suspicious first. */
#include <stdio.h>
#include <stdlib.h>
#include "snapshot.h"

#define FEW	20	/* of those where only traffic moved */

/* Why a change is worth a look, the least first */
enum suspicion { TRAFFIC, WAITING, ERRORS, STATE };

static const char *const suspicions[] = { "none", "waiting", "errors", "state" };

/**
 * struct end - an object, and what it counted
 * @o: NULL: it has no counters
 * @cleared: its counters began again from 0
 */
struct end {
	const struct tele_object *o;
	uint64_t moved[TELE_COUNTERS];
	bool cleared;
};

/**
 * struct change - a link at which something moved, or an endpoint
 * @link: NULL: an endpoint, which is @end[0]
 */
struct change {
	const struct tele_link *link;
	uint32_t was;			/* the link's state */
	struct end end[2];
	enum suspicion why;
	uint64_t errors, wait, traffic;
};

struct diff {
	struct snapshot before, after;
	struct change *change;
	size_t n;
};

/*
 * Counters only grow until they are cleared, and an object's are cleared all at
 * once: where one went back, all began again from 0.
 */
static bool was_cleared(const struct tele_object *before, const struct tele_object *after)
{
	unsigned int k;

	for (k = 0; k < TELE_COUNTERS; k++)
		if (tele_has(before, k) &&
		    (!tele_has(after, k) || after->value[k] < before->value[k]))
			return true;
	return false;
}

static void compare_end(const struct diff *d, const struct tele_addr *addr, struct end *e)
{
	const struct tele_object *before = tele_find(&d->before.t, addr);
	unsigned int k;

	e->o = tele_find(&d->after.t, addr);
	if (!e->o)
		return;
	e->cleared = before && was_cleared(before, e->o);
	for (k = 0; k < TELE_COUNTERS; k++) {
		if (!tele_has(e->o, k))
			continue;
		e->moved[k] = e->o->value[k];
		if (before && tele_has(before, k) && !e->cleared)
			e->moved[k] -= before->value[k];
	}
}

static void sum_up(struct change *ch)
{
	unsigned int i, k;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < TELE_COUNTERS; k++) {
			uint64_t moved = ch->end[i].moved[k];

			if (tele_counters[k].kind == TELE_ERROR)
				ch->errors += moved;
			else if (tele_is_time(k))
				ch->wait += moved;
			else
				ch->traffic += moved;
		}
	}
	ch->why = ch->errors ? ERRORS : ch->wait ? WAITING : TRAFFIC;
}

static bool moved(const struct change *ch)
{
	return ch->errors || ch->wait || ch->traffic || ch->end[0].cleared ||
	       ch->end[1].cleared;
}

static void add_link(struct diff *d, const struct tele_link *link)
{
	const struct tele_link *before = NULL;
	struct change *ch = &d->change[d->n];
	uint64_t key = tele_key(&link->end[0]);
	size_t i = link - d->after.t.links;

	/* A domain keeps its links, and a dump their order: mostly it is the same one */
	if (i >= d->before.t.nlinks || tele_key(&d->before.t.links[i].end[0]) != key)
		for (i = 0; i < d->before.t.nlinks; i++)
			if (tele_key(&d->before.t.links[i].end[0]) == key)
				break;
	if (i < d->before.t.nlinks)
		before = &d->before.t.links[i];
	*ch = (struct change){ .link = link, .was = before ? before->state : link->state };
	compare_end(d, &link->end[0], &ch->end[0]);
	compare_end(d, &link->end[1], &ch->end[1]);
	sum_up(ch);
	if (ch->was != link->state || (moved(ch) && link->state != VFAB_LINK_ACTIVE))
		ch->why = STATE;
	d->n += moved(ch) || ch->why == STATE;
}

static void add_ep(struct diff *d, const struct tele_object *o)
{
	struct change *ch = &d->change[d->n];

	*ch = (struct change){ 0 };
	compare_end(d, &o->addr, &ch->end[0]);
	sum_up(ch);
	d->n += moved(ch);
}

/* Descending */
static int compare(uint64_t a, uint64_t b)
{
	return a < b ? 1 : -(a > b);
}

/* Links before the endpoints that may only have suffered from them */
static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	int ret = compare(a->why, b->why);

	if (!ret)
		ret = compare(!!a->link, !!b->link);
	if (!ret)
		ret = compare(a->errors, b->errors);
	if (!ret)
		ret = compare(a->wait, b->wait);
	if (!ret)
		ret = compare(a->traffic, b->traffic);
	if (ret)
		return ret;
	return a->link ? compare(tele_key(&b->link->end[0]), tele_key(&a->link->end[0])) :
			 compare(b->end[0].o->key, a->end[0].o->key);
}

/* The id may be another one, where a domain was made again with the same UUID. */
static void rename_domain(struct tele *t, uint32_t id)
{
	size_t i;

	for (i = 0; i < t->nlinks; i++) {
		t->links[i].end[0].domain = id;
		t->links[i].end[1].domain = id;
	}
	for (i = 0; i < t->nobjects; i++) {
		t->objects[i].addr.domain = id;
		t->objects[i].key = tele_key(&t->objects[i].addr);
	}
}

static int compute(struct ctx *c, struct diff *d)
{
	const struct tele *t = &d->after.t;
	size_t i;

	rename_domain(&d->before.t, t->domains[0].id);
	d->change = calloc(t->nlinks + t->nobjects + 1, sizeof(*d->change));
	if (!d->change) {
		error(c, "out of memory");
		return REFUSED;
	}
	for (i = 0; i < t->nlinks; i++)
		add_link(d, &t->links[i]);
	for (i = 0; i < t->nobjects; i++)
		if (!t->objects[i].addr.is_switch && t->objects[i].addr.port < 0)
			add_ep(d, &t->objects[i]);
	if (d->n)
		qsort(d->change, d->n, sizeof(*d->change), compare_changes);
	return DONE;
}

/* --- Output ----------------------------------------------------------------------- */

/* In text, @named: on a line of its own, with the address before it */
static void out_end(struct ctx *c, const struct end *e, bool named)
{
	char addr[TELE_ADDR];
	unsigned int k;

	if (!e->o)
		return;
	tele_text(&e->o->addr, addr);
	out_open(c, addr, '{');
	for (k = 0; k < TELE_COUNTERS; k++) {
		if (!e->moved[k])
			continue;
		if (named)
			out_text(c, "\n    %s:", addr);
		named = false;
		out_text(c, " %s +%llu", tele_counters[k].name, (unsigned long long)e->moved[k]);
		out_uint(c, tele_counters[k].name, NULL, e->moved[k]);
	}
	out_close(c, '}');
}

static void out_cleared(struct ctx *c, const struct change *ch)
{
	char addr[TELE_ADDR];
	int i;

	out_open(c, "cleared", '[');
	for (i = 0; i < 2; i++) {
		if (!ch->end[i].cleared)
			continue;
		tele_text(&ch->end[i].o->addr, addr);
		out_text(c, "\n    %s was cleared in between, and counts from there", addr);
		out_str(c, "", NULL, addr);
	}
	out_close(c, ']');
}

static void out_state(struct ctx *c, const struct change *ch)
{
	const struct tele_link *l = ch->link;
	char addr[TELE_ADDR];

	out_text(c, " - %s:", tele_text(&l->end[1], addr));
	out_str(c, "peer", NULL, addr);
	if (ch->was != l->state)
		out_text(c, " %s, now", tele_link_state(ch->was));
	out_str(c, "was", NULL, tele_link_state(ch->was));
	out_str(c, "state", "", tele_link_state(l->state));
	if (l->reason != VFAB_LINK_REASON_NONE)
		out_text(c, " (%s)", tele_link_reason(l->reason));
	out_str(c, "reason", NULL, tele_link_reason(l->reason));
}

static void out_change(struct ctx *c, const struct change *ch)
{
	char addr[TELE_ADDR];

	tele_text(ch->link ? &ch->link->end[0] : &ch->end[0].o->addr, addr);
	/* In text, a link has two addresses before its colon */
	if (c->json || !ch->link)
		item(c, "%s", addr);
	else
		out_text(c, "%s", addr);
	if (ch->link)
		out_state(c, ch);
	out_str(c, "suspicion", NULL, suspicions[ch->why]);
	out_open(c, "moved", '{');
	out_end(c, &ch->end[0], ch->link);
	out_end(c, &ch->end[1], true);
	out_close(c, '}');
	out_cleared(c, ch);
	item_end(c);
}

static void out_diff(struct ctx *c, const struct diff *d, bool all)
{
	const struct tele_domain *dom = d->after.t.domains;
	size_t i, few = 0;

	out_text(c, "dom%u \"%s\": in %.3f s", dom->id, escaped(dom->name),
		 (d->after.time_ms - d->before.time_ms) / 1000.0);
	out_text(c, d->n ? ", the suspicious first:\n" : " nothing moved\n");
	for (i = 0; i < d->n; i++) {
		if (!c->json && !all && d->change[i].why == TRAFFIC && few++ >= FEW)
			break;
		out_change(c, &d->change[i]);
	}
	if (i < d->n)
		out_text(c, "and %zu more where only traffic moved: --all shows them\n",
			 d->n - i);
}

/* --- The verb --------------------------------------------------------------------- */

static int load_after(struct ctx *c, const char *path, struct diff *d)
{
	int ret;

	if (!path)
		return snapshot_now(c, &d->before, &d->after);
	ret = snapshot_load(c, path, &d->after);
	if (ret)
		return ret;
	if (strcmp(d->before.uuid, d->after.uuid)) {
		error(c, "they are of different domains: \"%s\" (UUID %s) and \"%s\" (UUID %s)",
		      escaped(d->before.t.domains[0].name), escaped(d->before.uuid),
		      escaped(d->after.t.domains[0].name), escaped(d->after.uuid));
		return REFUSED;
	}
	if (d->after.time_ms < d->before.time_ms) {
		error(c, "%s is the older one: give them in the other order", escaped(path));
		return REFUSED;
	}
	return DONE;
}

int counters_diff(struct ctx *c, int argc, char **argv)
{
	struct diff d = { 0 };
	bool all = false;
	const struct opt opts[] = {
		{ "all", NULL, &all },
		{ NULL, NULL, NULL }
	};
	const char *pos[2];
	int ret;

	args_parse(c, argc, argv, opts, 1, 2, pos);
	ret = snapshot_load(c, pos[0], &d.before);
	if (!ret)
		ret = load_after(c, pos[1], &d);
	if (!ret)
		ret = compute(c, &d);
	if (!ret)
		out_diff(c, &d, all);
	free(d.change);
	snapshot_free(&d.before);
	snapshot_free(&d.after);
	return ret;
}
