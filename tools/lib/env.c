// SPDX-License-Identifier: LGPL-2.1
/* What launchers say in the environment. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "vfab_int.h"

/* In pairs: whoever names the rank also names the size. */
static const struct {
	const char *rank, *size;
} launchers[] = {
	{ "VFAB_RANK", "VFAB_WORLD_SIZE" },
	{ "RANK", "WORLD_SIZE" },
	{ "SLURM_PROCID", "SLURM_NTASKS" },
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
	{ "PMI_RANK", "PMI_SIZE" },
};

static int number(const char *name, const char *text, uint32_t max,
		  uint32_t *value)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || v > max)
		return vfabi_fail(EINVAL, "%s=\"%s\" is not a number of 0 to %u",
				  name, text, max);
	*value = v;
	return 0;
}

/* What VFAB_WAIT says: enum vfabi_wait, or -EINVAL. */
int vfabi_env_wait(void)
{
	static const char *const words[] = {
		[VFABI_WAIT_AUTO] = "auto", [VFABI_WAIT_SPIN] = "spin",
		[VFABI_WAIT_YIELD] = "yield", [VFABI_WAIT_BLOCK] = "block",
	};
	const char *how = getenv("VFAB_WAIT");
	size_t i;

	if (!how)
		return VFABI_WAIT_AUTO;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(how, words[i]))
			return i;
	return vfabi_fail(EINVAL, "VFAB_WAIT=\"%s\" is not auto, spin, yield or block", how);
}

/* "0,4-7": which may not name a rank twice. */
static int list(const char *name, const char *text, uint32_t *ranks,
		uint32_t *n)
{
	uint8_t seen[VFAB_MAX_WORLD] = { 0 };
	const char *p = text;
	char *end;

	*n = 0;
	do {
		unsigned long a, b;

		if (!isdigit((unsigned char)*p))
			goto bad;
		a = strtoul(p, &end, 10);
		b = a;
		if (*end == '-') {
			p = end + 1;
			if (!isdigit((unsigned char)*p))
				goto bad;
			b = strtoul(p, &end, 10);
		}
		if (b >= VFAB_MAX_WORLD)
			return vfabi_fail(EINVAL, "%s=\"%s\": rank %lu is above the limit %u",
					  name, text, b, VFAB_MAX_WORLD - 1);
		if (b < a)
			goto bad;
		for (; a <= b; a++) {
			if (seen[a]++)
				return vfabi_fail(EINVAL, "%s=\"%s\" names rank %lu twice",
						  name, text, a);
			if (ranks)
				ranks[*n] = a;
			++*n;
		}
		p = end + 1;
	} while (*end == ',');
	if (!*end)
		return 0;
bad:
	return vfabi_fail(EINVAL, "%s=\"%s\" is not a list of ranks such as 0,4-7",
			  name, text);
}

int vfab_env_job(uint32_t *rank, uint32_t *ranks, uint32_t *n)
{
	const char *text;
	size_t i;
	int ret;

	*rank = VFAB_RANK_ANY;
	*n = 0;
	for (i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		text = getenv(launchers[i].rank);
		if (!text)
			continue;
		ret = number(launchers[i].rank, text, VFAB_MAX_WORLD - 1, rank);
		if (ret)
			return ret;
		text = getenv(launchers[i].size);
		if (text) {
			ret = number(launchers[i].size, text, VFAB_MAX_WORLD, n);
			if (ret)
				return ret;
		}
		break;
	}
	text = getenv("VFAB_RANKS");
	if (text)
		return list("VFAB_RANKS", text, ranks, n);
	if (ranks)
		for (i = 0; i < *n; i++)
			ranks[i] = i;
	return 0;
}
