// SPDX-License-Identifier: GPL-2.0
/* Times as users write them, on command lines and in scenarios. */
#include <stdlib.h>
#include <string.h>
#include "duration.h"

bool parse_seconds(const char *text, double limit, double *seconds)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {
		{ "", 1 }, { "ms", 0.001 }, { "s", 1 }, { "m", 60 }, { "h", 3600 },
	};
	size_t len = strspn(text, "0123456789."), i;
	double value;
	char *end;

	/* Digits first and nothing longer: no sign, no exponent, no "nan" */
	if (*text < '0' || *text > '9' || len > 16)
		return false;
	value = strtod(text, &end);
	if (end != text + len)
		return false;
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].name) && value * units[i].seconds <= limit) {
			*seconds = value * units[i].seconds;
			return true;
		}
	return false;
}
