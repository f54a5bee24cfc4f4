// SPDX-License-Identifier: GPL-2.0
/* Words for what the kernel has as numbers; those of NVML where it has some. */
#include <stdio.h>
#include "telemetry.h"

static const char *word(const char *const *words, size_t n, uint32_t value)
{
	static char unknown[16];

	if (value < n)
		return words[value];
	snprintf(unknown, sizeof(unknown), "%u", value);
	return unknown;
}

#define WORD(words, value) word(words, sizeof(words) / sizeof((words)[0]), value)

/* Of a link or port: enum vfabric_link_state */
const char *tele_link_state(uint32_t state)
{
	static const char *const words[] = {
		"OFF", "INIT", "TRAIN", "ACTIVE", "DEGRADED", "RECOVERY", "FAULT",
	};

	return WORD(words, state);
}

/* Why it is so: enum vfabric_link_reason */
const char *tele_link_reason(uint32_t reason)
{
	static const char *const words[] = {
		"none", "admin", "switch", "drain", "flap", "degraded", "broken",
	};

	return WORD(words, reason);
}

/* Of an endpoint: enum vfabric_fabric_state */
const char *const tele_ep_states[] = {
	"NOT_SUPPORTED", "NOT_STARTED", "IN_PROGRESS", "COMPLETED", NULL
};

const char *tele_ep_state(uint32_t state)
{
	return word(tele_ep_states, 4, state);
}

/* Of an endpoint: enum vfabric_health */
const char *const tele_healths[] = {
	"NOT_SUPPORTED", "HEALTHY", "UNHEALTHY", "LIMITED_CAPACITY", NULL
};

const char *tele_health(uint32_t health)
{
	return word(tele_healths, 4, health);
}

/* dom0/ep5/p3; @text, for use in printf() */
const char *tele_text(const struct tele_addr *addr, char text[TELE_ADDR])
{
	int n = snprintf(text, TELE_ADDR, "dom%u/%s%d", addr->domain,
			 addr->is_switch ? "sw" : "ep", addr->index);

	if (addr->port >= 0)
		snprintf(text + n, TELE_ADDR - n, "/p%d", addr->port);
	return text;
}

/* As it is printed; @text, for use in printf() */
const char *tele_uuid(const struct tele_domain *d, char text[37])
{
	char *p = text;
	int i;

	for (i = 0; i < 16; i++)
		p += sprintf(p, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
			     d->uuid[i]);
	return text;
}
