// SPDX-License-Identifier: GPL-2.0
/*
 * gradient: data-parallel training, step by step. By example:
 *
 *	vfabrun --memfd -n 4 ./gradient
 *
 * Fits y = w0 + w1 t to points of which each rank has its own. In each step the
 * ranks average their gradients in 16 bits, as it is done to save bandwidth; all
 * get the same bits, so that their weights never drift apart. The gradient of a
 * layer is on its way while the next one is computed: here, that of w0 while w1's
 * is.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vfab.h>

#define POINTS	256	/* of each rank */
#define STEPS	400

static void check(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "gradient: %s: %s\n", what, vfab_strerror(ret));
	exit(1);
}

/* bf16 is the upper half of a float. */
static uint16_t to_bf16(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

static float from_bf16(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

int main(void)
{
	float w[2] = { 0 }, t[POINTS], y[POINTS], least[2], most[2];
	struct vfab_req *req[2];
	struct vfab_comm *comm;
	struct vfab_ep *ep;
	uint16_t g[2];
	int i, k, step, me;

	check(vfab_open(&ep, NULL, VFAB_RANK_ENV), "open");
	check(vfab_comm_create(ep, NULL, 0, 1, 10 * VFAB_SECOND, &comm), "meet");
	me = vfab_comm_index(comm);
	for (i = 0; i < POINTS; i++) {
		t[i] = (i * 37 + me * 101) % 255 / 127.5f - 1;
		y[i] = 3 - 2 * t[i];
	}
	for (step = 0; step < STEPS; step++) {
		for (k = 0; k < 2; k++) {
			struct vfab_call call = {
				.kind = VFAB_ALLREDUCE, .in = &g[k], .out = &g[k],
				.count = 1, .type = VFAB_BF16, .op = VFAB_AVG,
			};
			float sum = 0;

			for (i = 0; i < POINTS; i++)
				sum += 2 * (w[0] + w[1] * t[i] - y[i]) * (k ? t[i] : 1);
			g[k] = to_bf16(sum / POINTS);
			check(vfab_start(comm, &call, &req[k]), "start");
		}
		for (k = 0; k < 2; k++) {
			check(vfab_finish(req[k]), "all-reduce");
			w[k] -= 0.2f * from_bf16(g[k]);
		}
	}
	check(vfab_allreduce(comm, w, least, 2, VFAB_F32, VFAB_MIN), "least");
	check(vfab_allreduce(comm, w, most, 2, VFAB_F32, VFAB_MAX), "most");
	if (!me)
		printf("%u ranks: y = %.2f %+.2f t, weights %s\n", vfab_comm_size(comm), w[0], w[1],
		       memcmp(least, most, sizeof(least)) ? "differ" : "agree");
	vfab_comm_destroy(comm);
	vfab_close(ep);
	return memcmp(least, most, sizeof(least)) || fabsf(w[0] - 3) > 0.05f ||
	       fabsf(w[1] + 2) > 0.05f;
}
