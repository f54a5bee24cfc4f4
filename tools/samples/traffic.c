// SPDX-License-Identifier: GPL-2.0
/*
 * traffic: a known number of bytes from each rank to the next. By example:
 *
 *	vfabrun -n 4 --domain rack ./traffic 100 4096
 *	sent 409600
 *	received 409600 wrong 0
 *
 * Each rank puts so many messages of so many bytes (a multiple of 8, up to 64 KiB)
 * into the window of the next rank, and looks at those that it gets. A counter that
 * is right says the same number. It prints "op N" for each message, and stays until
 * it is told to end (SIGTERM), so that its endpoint can still be looked at.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vfab.h>

#define TAG	UINT64_C(0x7aff1c)
#define SLOTS	16	/* messages that may be on the way */
#define TIMEOUT	(10 * VFAB_SECOND)

static int failed(const char *what, int ret)
{
	printf("%s: %s: %s\n", what, strerrorname_np(-ret), vfab_strerror(ret));
	return 1;
}

/* What word @i of message @op from @rank holds; never 0 */
static uint64_t word(uint32_t rank, unsigned long op, size_t i)
{
	return (uint64_t)(rank + 1) << 48 | (uint64_t)(op + 1) << 16 | (i & 0xffff);
}

/*
 * A copy's words arrive in any order: each of them is waited for. Returns how many
 * did not come.
 */
static unsigned long take(const volatile uint64_t *slot, uint32_t from, unsigned long op,
			  size_t words)
{
	unsigned long wrong = 0, tries = 0;
	size_t i;

	for (i = 0; i < words; i++) {
		while (slot[i] != word(from, op, i) && tries++ < 100000)
			usleep(100);
		wrong += slot[i] != word(from, op, i);
	}
	return wrong;
}

int main(int argc, char **argv)
{
	unsigned long ops = argc > 1 ? strtoul(argv[1], NULL, 10) : 100, op, wrong = 0;
	size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 4096, i;
	static uint64_t message[8192];
	uint32_t ranks[VFAB_MAX_WORLD], n, self, at, to, from;
	struct vfab_mem mine, theirs;
	struct vfab_ep *ep;
	uint64_t handle;
	sigset_t term;
	int ret, sig;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	if (!size || size % 8 || size > sizeof(message))
		return 2;
	ret = vfab_open(&ep, NULL, VFAB_RANK_ENV);
	if (!ret)
		ret = vfab_env_job(&self, ranks, &n);
	if (ret)
		return failed("open", ret);
	for (at = 0; at < n && ranks[at] != self; at++)
		;
	to = ranks[(at + 1) % n];
	from = ranks[(at + n - 1) % n];
	ret = vfab_window_alloc(ep, SLOTS * size, TAG, VFAB_ACCESS_WRITE, &mine);
	if (!ret)
		ret = vfab_lookup(ep, to, TAG, TIMEOUT, &handle);
	if (!ret)
		ret = vfab_import(ep, handle, VFAB_ACCESS_WRITE, VFAB_LOSS_ABSORB, &theirs);
	if (ret)
		return failed("import", ret);
	puts("ready");
	for (op = 0; op < ops && !ret; op++) {
		for (i = 0; i < size / 8; i++)
			message[i] = word(self, op, i);
		ret = vfab_put(ep, &theirs, op % SLOTS * size, message, size);
		if (ret)
			return failed("put", ret);
		printf("op %lu\n", op);
		/* Whoever waits for the rank before it cannot be far ahead of the next */
		wrong += take((uint64_t *)mine.addr + op % SLOTS * size / 8, from, op, size / 8);
		usleep(1000);
	}
	printf("sent %lu\n", ops * size);
	printf("received %lu wrong %lu\n", ops * size, wrong);
	sigwait(&term, &sig);
	vfab_close(ep);
	return wrong != 0;
}
