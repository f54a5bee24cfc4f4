// SPDX-License-Identifier: GPL-2.0
/* Counters: what is known of each, and which objects have them. */
#include <stdlib.h>
#include "telemetry.h"

const struct tele_counter tele_counters[TELE_COUNTERS] = { 0 };

/* Orders objects as the addresses are: by domain, endpoints first. */
static uint64_t key_of(const struct tele_addr *addr)
{
	return (uint64_t)addr->domain << 32 | (uint64_t)addr->is_switch << 31 |
	       (uint64_t)addr->index << 14 | (addr->port + 1);
}

static int compare(const void *left, const void *right)
{
	const uint64_t *key = left;
	const struct tele_object *o = right;

	return *key < o->key ? -1 : *key > o->key;
}

/* NULL: it has none. */
const struct tele_object *tele_find(const struct tele *t, const struct tele_addr *addr)
{
	uint64_t key = key_of(addr);

	return t->nobjects ?
		bsearch(&key, t->objects, t->nobjects, sizeof(*t->objects), compare) : NULL;
}

bool tele_has_kind(const struct tele_object *o, enum tele_kind kind)
{
	unsigned int i;

	for (i = 0; i < TELE_COUNTERS; i++)
		if (tele_has(o, i) && tele_counters[i].kind == kind)
			return true;
	return false;
}
