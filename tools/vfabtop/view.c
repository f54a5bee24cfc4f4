// SPDX-License-Identifier: GPL-2.0
/* Rows made of two readings of the fabric, and their order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "vfabtop.h"

/* Of a clock that only goes forward */
int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* Counters start again from 0 where they were cleared between the readings. */
static uint64_t moved(uint64_t before, uint64_t now)
{
	return now >= before ? now - before : now;
}

/* Of the counters of each kind; a bit in @kinds for each that @o has */
struct sums {
	uint64_t of[TELE_KINDS];
	unsigned int kinds;
};

static struct sums sum(const struct tele_object *o)
{
	struct sums s = { .kinds = 0 };
	unsigned int i;

	for (i = 0; i < TELE_COUNTERS; i++) {
		if (!tele_has(o, i))
			continue;
		s.of[tele_counters[i].kind] += o->value[i];
		s.kinds |= 1 << tele_counters[i].kind;
	}
	return s;
}

/* What moved at @addr */
static struct flow flow_of(const struct view *v, const struct tele_addr *addr)
{
	const struct tele_object *now = tele_find(&v->now, addr);
	const struct tele_object *before = tele_find(&v->before, addr);
	struct flow f = { .known = false };
	struct sums s, was;

	if (!now)
		return f;
	s = sum(now);
	f.has_errors = s.kinds & 1 << TELE_ERROR;
	f.errors = s.of[TELE_ERROR];
	if (!before || v->seconds <= 0)
		return f;
	was = sum(before);
	f.known = s.kinds & 1 << TELE_BYTES_OUT;
	f.new_errors = moved(was.of[TELE_ERROR], s.of[TELE_ERROR]);
	f.tx = moved(was.of[TELE_BYTES_OUT], s.of[TELE_BYTES_OUT]) / v->seconds;
	f.rx = moved(was.of[TELE_BYTES_IN], s.of[TELE_BYTES_IN]) / v->seconds;
	f.ops = moved(was.of[TELE_OPS], s.of[TELE_OPS]) / v->seconds;
	return f;
}

/* At both ends; either sees errors that the other one does not. */
static struct flow flow_of_link(const struct view *v, const struct tele_link *l)
{
	struct flow f = flow_of(v, &l->end[0]), peer = flow_of(v, &l->end[1]);

	if (!f.known && peer.known) {
		f.known = true;
		f.tx = peer.rx;
		f.rx = peer.tx;
		f.ops = peer.ops;
	}
	f.has_errors |= peer.has_errors;
	if (peer.errors > f.errors)
		f.errors = peer.errors;
	if (peer.new_errors > f.new_errors)
		f.new_errors = peer.new_errors;
	return f;
}

static unsigned int badness_of_ep(const struct tele_ep *e)
{
	switch (e->health) {
	case VFAB_HEALTH_UNHEALTHY:
		return BAD + 5;
	case VFAB_HEALTH_LIMITED:
		return NOTICE + 5;
	}
	if (e->state == VFAB_FABRIC_COMPLETED)
		return e->status ? BAD : FINE;
	return e->state == VFAB_FABRIC_IN_PROGRESS ? NOTICE + 1 : NOTICE;
}

static unsigned int badness_of_link(const struct tele_link *l)
{
	switch (l->state) {
	case VFAB_LINK_ACTIVE:
		return l->reason == VFAB_LINK_REASON_NONE ? FINE : NOTICE;
	case VFAB_LINK_DEGRADED:
		return NOTICE + 2;
	case VFAB_LINK_INIT:
	case VFAB_LINK_TRAIN:
		return NOTICE + 4;
	case VFAB_LINK_OFF:
		return BAD;
	case VFAB_LINK_RECOVERY:
		return BAD + 2;
	default:
		return BAD + 4;
	}
}

static int room(struct rows *rows, size_t n)
{
	struct row *row = realloc(rows->row, (n ? n : 1) * sizeof(*row));

	if (!row)
		return -ENOMEM;
	rows->row = row;
	rows->n = n;
	return 0;
}

static void make_eps(struct view *v)
{
	struct rows *rows = &v->rows[ENDPOINTS];
	size_t i;

	for (i = 0; i < v->now.neps; i++) {
		const struct tele_ep *e = &v->now.eps[i];
		const struct tele_addr addr = { e->domain, false, e->rank, -1 };

		rows->row[i] = (struct row){ i, badness_of_ep(e), flow_of(v, &addr) };
		v->held += e->held;
		v->bad_eps += rows->row[i].badness != FINE;
	}
}

static void make_links(struct view *v)
{
	struct rows *rows = &v->rows[LINKS];
	size_t i;

	for (i = 0; i < v->now.nlinks; i++) {
		const struct tele_link *l = &v->now.links[i];

		rows->row[i] = (struct row){ i, badness_of_link(l), flow_of_link(v, l) };
		v->bad_links += rows->row[i].badness != FINE;
	}
}

static void add_flow(struct flow *to, const struct flow *f)
{
	to->known |= f->known;
	to->tx += f->tx;
	to->rx += f->rx;
	to->ops += f->ops;
}

/* A domain is as bad as the worst endpoint of it, and moves what they do. */
static void make_domains(struct view *v)
{
	const struct rows *eps = &v->rows[ENDPOINTS];
	struct rows *rows = &v->rows[DOMAINS];
	size_t i, e;

	for (i = 0; i < v->now.ndomains; i++) {
		struct row *row = &rows->row[i];

		*row = (struct row){ .index = i };
		for (e = 0; e < eps->n; e++) {
			if (v->now.eps[e].domain != v->now.domains[i].id)
				continue;
			add_flow(&row->flow, &eps->row[e].flow);
			if (row->badness < eps->row[e].badness)
				row->badness = eps->row[e].badness;
		}
	}
}

/* Make rows of what was read. Return: 0 or -ENOMEM, and then there are none. */
int view_make(struct view *v)
{
	const size_t n[] = { v->now.ndomains, v->now.neps, v->now.nlinks };
	int table;

	v->held = 0;
	v->bad_eps = 0;
	v->bad_links = 0;
	for (table = 0; table < TABLES; table++) {
		if (room(&v->rows[table], n[table])) {
			for (table = 0; table < TABLES; table++)
				v->rows[table].n = 0;
			return -ENOMEM;
		}
	}
	make_eps(v);
	make_links(v);
	make_domains(v);
	return 0;
}

/**
 * view_read - read once more, and make rows
 *
 * Return: 0 or a negative errno, and then the rows are as they were.
 */
int view_read(struct view *v, struct tele_client *client, const struct tele_domref *dom)
{
	struct tele t = { 0 };
	int64_t at = now_ms();
	int ret;

	ret = tele_read_again(client, dom, TELE_EPS | TELE_LINKS | TELE_OBJECTS, &t);
	if (ret) {
		tele_free(&t);
		return ret;
	}
	tele_free(&v->before);
	v->before = v->now;
	v->now = t;
	v->seconds = v->read_ms ? (at - v->read_ms) / 1000.0 : 0;
	v->read_ms = at;
	return view_make(v);
}

void view_free(struct view *v)
{
	int table;

	tele_free(&v->now);
	tele_free(&v->before);
	for (table = 0; table < TABLES; table++)
		free(v->rows[table].row);
	memset(v, 0, sizeof(*v));
}

/* --- Order --------------------------------------------------------------------- */

static struct {
	enum order by;
	int sign;
} sort;

static int compare(double a, double b)
{
	return a < b ? -1 : a > b;
}

/* The larger one first, so that what stands out is at the top */
static int by_rate(const struct row *a, const struct row *b)
{
	int ret = compare(b->flow.tx + b->flow.rx, a->flow.tx + a->flow.rx);

	return ret ? ret : compare(b->flow.tx, a->flow.tx);
}

static int by_errors(const struct row *a, const struct row *b)
{
	int ret = compare(b->flow.new_errors, a->flow.new_errors);

	return ret ? ret : compare(b->flow.errors, a->flow.errors);
}

/* Rows that are equal keep the order of the dump, which is that of addresses. */
static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int ret = 0;

	switch (sort.by) {
	case BY_WORST:
		ret = compare(b->badness, a->badness);
		if (!ret)
			ret = by_errors(a, b);
		if (!ret)
			ret = by_rate(a, b);
		break;
	case BY_RATE:
		ret = by_rate(a, b);
		break;
	case BY_ERRORS:
		ret = by_errors(a, b);
		break;
	default:
		break;
	}
	if (!ret)
		ret = compare(a->index, b->index);
	return sort.sign * ret;
}

void view_sort(struct view *v, enum table which, enum order by, bool reverse)
{
	sort.by = by;
	sort.sign = reverse ? -1 : 1;
	qsort(v->rows[which].row, v->rows[which].n, sizeof(struct row), compare_rows);
}
