/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vfabtop: what its files share. view.c makes rows of two readings of the
 * fabric, table.c makes text of rows, screen.c shows it, main.c does the rest.
 */
#ifndef VFABTOP_H
#define VFABTOP_H

#include "telemetry.h"

#define LINE	160	/* a row's text and its NUL */

enum table { DOMAINS, ENDPOINTS, LINKS, TABLES };

/* What rows are sorted by; BY_WORST is the first */
enum order { BY_WORST, BY_ADDRESS, BY_RATE, BY_ERRORS, ORDERS };

/* How bad a row is: 0 nothing is wrong with it */
enum { FINE = 0, NOTICE = 10, BAD = 20 };

/**
 * struct flow - what moved over an object between two readings
 * @known: its counters were there both times
 * @tx, @rx: bytes per second; of a link, from its first end and to it
 * @ops: operations per second, both ways
 * @errors: in all, @new_errors: since the reading before
 */
struct flow {
	bool known, has_errors;
	double tx, rx, ops;
	uint64_t errors, new_errors;
};

struct row {
	size_t index;		/* in the list of the reading */
	unsigned int badness;
	struct flow flow;
};

struct rows {
	struct row *row;
	size_t n;
};

/**
 * struct view - two readings, and the rows made of them
 * @seconds: between the two; 0: there is one only
 * @held, @bad_eps, @bad_links: in all domains
 */
struct view {
	struct tele now, before;
	int64_t read_ms;
	double seconds;
	struct rows rows[TABLES];
	size_t held, bad_eps, bad_links;
};

/* view.c */
int64_t now_ms(void);
int view_read(struct view *v, struct tele_client *client, const struct tele_domref *dom);
int view_make(struct view *v);
void view_sort(struct view *v, enum table which, enum order by, bool reverse);
void view_free(struct view *v);

/* table.c */
extern const char *const table_names[TABLES], *const order_names[ORDERS];
const char *table_head(enum table which);
const char *table_line(const struct view *v, enum table which, size_t i, char line[LINE]);
const char *table_summary(const struct view *v, char line[LINE]);

/**
 * struct source - where the screen gets its readings
 * @read: reads once more; NULL or a sentence about why it could not
 */
struct source {
	struct view *view;
	const char *(*read)(struct source *s);
	int delay_ms;
	long count;		/* readings left, -1: no limit */
};

/* screen.c */
int screen_run(struct source *s, enum order order);

#endif
