// SPDX-License-Identifier: GPL-2.0
/* Rows as text: 80 columns, whatever is in them. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "vfabtop.h"

const char *const table_names[TABLES] = { "domains", "endpoints", "links" };
const char *const order_names[ORDERS] = { "worst", "address", "rate", "errors" };

#define DOMAIN_FORMAT	"%-10s %-19.19s %5s %5s %6s %7s %6s %6s %7s"
#define EP_FORMAT	"%-14s %-11s %-9.9s %5s %5s %-13.13s %5s %5s %5s"
#define LINK_FORMAT	"%-18s %-12s %-8s %-8s %5s %5s %5s %5s %6s"

/* The line above the rows; good until the next call */
const char *table_head(enum table which)
{
	static char line[LINE];

	switch (which) {
	case DOMAINS:
		snprintf(line, LINE, DOMAIN_FORMAT, "DOMAIN", "NAME", "SIZE", "HELD", "LINKS",
			 "PLANES", "TX", "RX", "OPS/S");
		break;
	case ENDPOINTS:
		snprintf(line, LINE, EP_FORMAT, "ENDPOINT", "STATE", "HEALTH", "PORTS", "PART",
			 "HOLDER", "TX", "RX", "OPS/S");
		break;
	default:
		snprintf(line, LINE, LINK_FORMAT, "LINK", "PEER", "STATE", "REASON", "RATE",
			 "LOAD", "TX", "RX", "ERRORS");
	}
	return line;
}

/* At most 5 characters: "999", "1.5K", "12.3G"; "-" where nobody knows */
static const char *human(bool known, double v)
{
	static char bufs[8][16];
	static unsigned int turn;
	static const char units[] = " KMGTPE";
	char *buf = bufs[turn++ % 8];
	unsigned int unit = 0;

	if (!known)
		return "-";
	while (v >= 999.5 && unit < sizeof(units) - 2) {
		v /= 1000;
		unit++;
	}
	snprintf(buf, sizeof(bufs[0]), unit && v < 99.95 ? "%.1f%c" : "%.0f%c", v, units[unit]);
	if (!unit)
		buf[strlen(buf) - 1] = 0;
	return buf;
}

static const char *number(const char *prefix, uint32_t v)
{
	static char bufs[8][24];
	static unsigned int turn;
	char *buf = bufs[turn++ % 8];

	snprintf(buf, sizeof(bufs[0]), "%s%u", prefix, v);
	return buf;
}

/* In as few characters as the column has */
static const char *health(const struct tele_ep *e)
{
	if (e->health == VFAB_HEALTH_NOT_SUPPORTED)
		return "-";
	return e->health == VFAB_HEALTH_LIMITED ? "LIMITED" : tele_health(e->health);
}

/* A holder's name may be any bytes: what is not printable ASCII is '?' */
static void holder(const struct tele_ep *e, char text[24])
{
	unsigned int i;

	if (!e->held) {
		strcpy(text, "-");
		return;
	}
	if (!e->pid) {
		strcpy(text, "held");
		return;
	}
	snprintf(text, 24, "%u %.12s", e->pid, e->comm);
	for (i = 0; text[i]; i++)
		if (!isascii((unsigned char)text[i]) || !isprint((unsigned char)text[i]))
			text[i] = '?';
}

static void domain_line(const struct view *v, const struct row *row, char line[LINE])
{
	const struct tele_domain *d = &v->now.domains[row->index];
	const struct flow *f = &row->flow;

	snprintf(line, LINE, DOMAIN_FORMAT, number("dom", d->id), d->name, number("", d->world),
		 number("", d->attached), number("", d->links), number("", d->planes),
		 human(f->known, f->tx), human(f->known, f->rx), human(f->known, f->ops));
}

static void ep_line(const struct view *v, const struct row *row, char line[LINE])
{
	const struct tele_ep *e = &v->now.eps[row->index];
	const struct flow *f = &row->flow;
	char addr[TELE_ADDR], ports[24], who[24];

	tele_text(&(struct tele_addr){ e->domain, false, e->rank, -1 }, addr);
	snprintf(ports, sizeof(ports), "%u/%u", e->ports_up, e->planes);
	holder(e, who);
	snprintf(line, LINE, EP_FORMAT, addr, tele_ep_state(e->state), health(e), ports,
		 e->partition < 0 ? "none" : number("", e->partition), who,
		 human(f->known, f->tx), human(f->known, f->rx), human(f->known, f->ops));
}

static void link_line(const struct view *v, const struct row *row, char line[LINE])
{
	const struct tele_link *l = &v->now.links[row->index];
	double most = row->flow.tx > row->flow.rx ? row->flow.tx : row->flow.rx;
	char addr[TELE_ADDR], peer[TELE_ADDR], load[16] = "-";
	const struct flow *f = &row->flow;

	tele_text(&l->end[0], addr);
	tele_text(&l->end[1], peer);
	if (f->known && l->rate)
		snprintf(load, sizeof(load), "%.0f%%", 100 * most / (l->rate * 1e6));
	snprintf(line, LINE, LINK_FORMAT, addr, strchr(peer, '/') + 1, tele_link_state(l->state),
		 l->reason == VFAB_LINK_REASON_NONE ? "-" : tele_link_reason(l->reason),
		 human(true, l->rate * 1e6), load, human(f->known, f->tx),
		 human(f->known, f->rx), human(f->has_errors, f->errors));
}

/* The @i-th row of a table; @line, for use in printf() */
const char *table_line(const struct view *v, enum table which, size_t i, char line[LINE])
{
	static void (*const lines[])(const struct view *v, const struct row *row,
				     char line[LINE]) = {
		domain_line, ep_line, link_line,
	};

	lines[which](v, &v->rows[which].row[i], line);
	return line;
}

const char *table_summary(const struct view *v, char line[LINE])
{
	snprintf(line, LINE,
		 "%zu domain%s; %zu endpoints: %zu held, %zu not well; %zu links: %zu not well",
		 v->now.ndomains, v->now.ndomains == 1 ? "" : "s", v->now.neps, v->held,
		 v->bad_eps, v->now.nlinks, v->bad_links);
	return line;
}
