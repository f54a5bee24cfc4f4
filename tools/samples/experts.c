// SPDX-License-Identifier: GPL-2.0
/*
 * experts: expert-parallel dispatch and combine. By example:
 *
 *	vfabrun --memfd -n 4 ./experts
 *
 * Each rank has tokens, and one expert. A token goes to the expert that its router
 * names, is worked on there, and comes back to where it was. How many go where
 * differs from pair to pair: the ranks exchange the counts first, then the tokens.
 */
#include <stdio.h>
#include <stdlib.h>
#include <vfab.h>

#define TOKENS	1000	/* of each rank */
#define MOST	64	/* ranks */

static void check(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "experts: %s: %s\n", what, vfab_strerror(ret));
	exit(1);
}

static unsigned int expert_of(uint32_t token, unsigned int n)
{
	return token * 2654435761U >> 16 & 7 ? token % n : 0;	/* the first is popular */
}

int main(void)
{
	size_t to[MOST] = { 0 }, from[MOST], to_at[MOST], from_at[MOST], at[MOST], total = 0;
	uint32_t token[TOKENS], sent[TOKENS], back[TOKENS], *work;
	unsigned int n, me, i, e, wrong = 0;
	struct vfab_comm *comm;
	struct vfab_ep *ep;

	check(vfab_open(&ep, NULL, VFAB_RANK_ENV), "open");
	check(vfab_comm_create(ep, NULL, 0, 1, 10 * VFAB_SECOND, &comm), "meet");
	n = vfab_comm_size(comm);
	me = vfab_comm_index(comm);
	if (n > MOST)
		return 2;

	/* Sort the tokens by expert. */
	for (i = 0; i < TOKENS; i++) {
		token[i] = me * TOKENS + i;
		to[expert_of(token[i], n)]++;
	}
	check(vfab_alltoall(comm, to, from, 1, VFAB_U64), "counts");
	for (e = 0; e < n; e++) {
		to_at[e] = e ? to_at[e - 1] + to[e - 1] : 0;
		from_at[e] = total;
		total += from[e];
		at[e] = to_at[e];
	}
	for (i = 0; i < TOKENS; i++)
		sent[at[expert_of(token[i], n)]++] = token[i];

	/* Dispatch, work, combine. */
	work = calloc(total + 1, sizeof(*work));
	if (!work)
		return 2;
	check(vfab_alltoallv(comm, sent, to, to_at, work, from, from_at, VFAB_U32), "dispatch");
	for (i = 0; i < total; i++) {
		wrong += expert_of(work[i], n) != me;
		work[i] = work[i] * 10 + me;
	}
	check(vfab_alltoallv(comm, work, from, from_at, back, to, to_at, VFAB_U32), "combine");

	for (i = 0; i < TOKENS; i++)
		wrong += back[i] != sent[i] * 10 + expert_of(sent[i], n);
	check(vfab_allreduce(comm, &wrong, &wrong, 1, VFAB_U32, VFAB_SUM), "all-reduce");
	if (!me)
		printf("%u ranks: %u tokens there and back, %zu at the first expert, %u wrong\n", n,
		       n * TOKENS, total, wrong);
	free(work);
	vfab_comm_destroy(comm);
	vfab_close(ep);
	return wrong ? 1 : 0;
}
