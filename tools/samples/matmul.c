// SPDX-License-Identifier: GPL-2.0
/*
 * matmul: a tensor-parallel matrix product. By example:
 *
 *	vfabrun --memfd -n 4 ./matmul
 *
 * y = A x, where each rank has some columns of A and the same elements of x: its
 * product is a part of every element of y, and an all-reduce adds them up. The
 * results lie in windows, so that they go straight from rank to rank.
 */
#include <stdio.h>
#include <stdlib.h>
#include <vfab.h>

#define ROWS	4096
#define COLUMNS	840	/* that 1 to 8 ranks can share */

static void check(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "matmul: %s: %s\n", what, vfab_strerror(ret));
	exit(1);
}

/* Small whole numbers: every sum is exact, in whatever order. */
static float a(int row, int column)
{
	return (row * 7 + column * 3) % 11 - 5;
}

static float x(int column)
{
	return column % 5 - 2;
}

int main(void)
{
	struct vfab_comm *comm;
	struct vfab_mem mem;
	struct vfab_ep *ep;
	int n, me, row, column, wrong = 0;
	float *part, *y, sum;

	check(vfab_open(&ep, NULL, VFAB_RANK_ENV), "open");
	check(vfab_comm_create(ep, NULL, 0, 1, 10 * VFAB_SECOND, &comm), "meet");
	check(vfab_window_alloc(ep, 2 * ROWS * sizeof(float), 0, VFAB_ACCESS_WRITE, &mem),
	      "window");
	n = vfab_comm_size(comm);
	me = vfab_comm_index(comm);
	part = mem.addr;
	y = part + ROWS;

	for (row = 0; row < ROWS; row++)
		for (column = me * COLUMNS / n; column < (me + 1) * COLUMNS / n; column++)
			part[row] += a(row, column) * x(column);
	check(vfab_allreduce(comm, part, y, ROWS, VFAB_F32, VFAB_SUM), "all-reduce");

	for (row = 0; row < ROWS; row++) {
		for (column = 0, sum = 0; column < COLUMNS; column++)
			sum += a(row, column) * x(column);
		wrong += y[row] != sum;
	}
	if (!me)
		printf("%d ranks: %d x %d times a vector, %d wrong\n", n, ROWS, COLUMNS, wrong);
	vfab_comm_destroy(comm);
	vfab_window_free(ep, &mem);
	vfab_close(ep);
	return wrong ? 1 : 0;
}
