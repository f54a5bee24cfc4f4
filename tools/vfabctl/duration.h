/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DURATION_H
#define DURATION_H

#include <stdbool.h>

/* "2", "0.5s", "200ms", "5m" or "1h"; false if it is none, or above @limit. */
bool parse_seconds(const char *text, double limit, double *seconds);

#endif
