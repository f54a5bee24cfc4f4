/* SPDX-License-Identifier: GPL-2.0 */
/* What the formats of 'vfabctl export' share. */
#ifndef VFABCTL_EXPORT_H
#define VFABCTL_EXPORT_H

#include <stdio.h>
#include "telemetry.h"
#include "vfabctl.h"

int export_nvml_mock(struct ctx *c, struct addr a);	/* nvml_mock.c */

/**
 * prometheus_write - the text format 0.0.4 of what @t says
 *
 * Without memory, the samples of a metric may be missing, never wrong.
 */
void prometheus_write(FILE *to, const struct tele *t);	/* prometheus.c */
#define PROMETHEUS_READS (TELE_EPS | TELE_LINKS | TELE_SWITCHES | TELE_OBJECTS)
#define PROMETHEUS_TYPE	"text/plain; version=0.0.4; charset=utf-8"

/**
 * struct page - what the server answers with
 * @make: writes it; NULL, or a sentence about why it cannot
 */
struct page {
	const char *path, *type;
	const char *(*make)(FILE *to, void *data);
	void *data;
};

void http_check(struct ctx *c, const char *where);	/* these two: http.c */
int http_serve(struct ctx *c, const char *where, const struct page *page);

#endif
