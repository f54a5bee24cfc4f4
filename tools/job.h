/* SPDX-License-Identifier: GPL-2.0 */
/* What a launcher tells each process of a job, in its environment. */
#ifndef VFAB_JOB_H
#define VFAB_JOB_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "vfab.h"

static inline void job_put(const char *name, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	setenv(name, text, 1);
}

/**
 * job_env - for the process at place @i of @n: all but LOCAL_RANK and LOCAL_WORLD_SIZE
 * @ranks: of the job, in its order
 * @node: by rank; VFAB_NODE_NONE where that is not known
 * @domain: address, or NULL: as the environment says
 */
static inline void job_env(const uint32_t *ranks, uint32_t n, uint32_t i,
			   const uint32_t *node, const char *domain)
{
	char *list = malloc(n * 6 + 1), *at = list;
	uint32_t k, place = 0, here = node[ranks[i]];

	for (k = 0; list && k < n; k++)
		at += sprintf(at, "%s%u", k ? "," : "", ranks[k]);
	if (list)
		setenv("VFAB_RANKS", list, 1);
	free(list);
	for (k = 0; k < i; k++)
		place += node[ranks[k]] == here;
	if (domain)
		setenv("VFAB_DOMAIN", domain, 1);
	job_put("VFAB_RANK", ranks[i]);
	job_put("VFAB_WORLD_SIZE", n);
	if (here == VFAB_NODE_NONE)
		unsetenv("VFAB_NODE");
	else
		job_put("VFAB_NODE", here);
	job_put("VFAB_LOCAL_RANK", place);
	job_put("RANK", i);
	job_put("WORLD_SIZE", n);
}

#endif
