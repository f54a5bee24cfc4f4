// SPDX-License-Identifier: GPL-2.0
/*
 * System calls of the one who rings, counted from outside by ptrace: a child
 * rings RINGS times between two calls of getppid, which it makes for nothing
 * else.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"

#define RINGS	200
#define VECTOR	3
#define PAGE	4096

enum kind { AWAKE, ASLEEP, BOUND, EVENTFD, FUTEX };

static uint32_t *word;		/* of the futex */
static int efd;

static void mark(void)
{
	syscall(SYS_getppid);
}

/* Rank 1: looks at the count, or sleeps, until killed. */
static void waiter(enum kind kind, int ready)
{
	uint64_t count, value;
	struct vfab_ep *ep;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	must("attaching", vfab_open(&ep, domain_name(), 1));
	if (kind == BOUND)
		must("binding", vfab_eventfd(ep, VECTOR, efd));
	vfab_wait_policy(ep, 0, 0);
	count = vfab_count(ep, VECTOR);
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;) {
		switch (kind) {
		case AWAKE:
			while (vfab_count(ep, VECTOR) == count)
				sched_yield();
			count = vfab_count(ep, VECTOR);
			break;
		case ASLEEP:
			vfab_wait(ep, VECTOR, &count, NULL, VFAB_FOREVER);
			break;
		case BOUND:
		case EVENTFD:
			if (read(efd, &value, sizeof(value)) < 0)
				_exit(1);
			break;
		case FUTEX:
			syscall(SYS_futex, word, FUTEX_WAIT,
				__atomic_load_n(word, __ATOMIC_ACQUIRE), NULL, NULL, 0);
			break;
		}
	}
}

/* The page where one sees whether rank 1 sleeps. */
static const uint64_t *armed_word(struct vfab_ep *ep)
{
	struct vfab_bell k = { .rank = 1 };
	char *p = MAP_FAILED;

	if (!ioctl(vfab_fd(ep), VFAB_IOC_BELL, &k))
		p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, vfab_fd(ep),
			 k.cookie + PAGE);
	if (p == MAP_FAILED)
		die("doorbells of rank 1: %s", strerror(errno));
	return (void *)(p + VECTOR * VFAB_BELL_STRIDE);
}

/* Rank 0, which is traced. */
static void ringer(enum kind kind)
{
	uint64_t one = 1;
	const uint64_t *armed;
	struct vfab_ep *ep;
	int i;

	must("attaching", vfab_open(&ep, domain_name(), 0));
	armed = armed_word(ep);
	(void)*(const volatile uint64_t *)armed;
	must("ringing", vfab_ring(ep, 1, VECTOR));	/* maps the doorbell */
	mark();
	for (i = 0; i < RINGS; i++) {
		switch (kind) {
		case ASLEEP:
			while (!__atomic_load_n(armed, __ATOMIC_ACQUIRE))
				;
			/* fall through */
		case AWAKE:
		case BOUND:
			must("ringing", vfab_ring(ep, 1, VECTOR));
			break;
		case EVENTFD:
			if (write(efd, &one, sizeof(one)) != sizeof(one))
				_exit(1);
			break;
		case FUTEX:
			__atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
			syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
			break;
		}
	}
	mark();
	vfab_close(ep);
	_exit(0);
}

/* Lets @pid run to its end; system calls between its marks. */
static long count_calls(pid_t pid)
{
	struct __ptrace_syscall_info info;
	int status, marks = 0, sig;
	long calls = 0;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		die("the ringing process cannot be traced");
	ptrace(PTRACE_SETOPTIONS, pid, NULL,
	       PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (sig = 0;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, (long)sig) ||
		    waitpid(pid, &status, 0) != pid)
			die("tracing: %s", strerror(errno));
		sig = 0;
		if (WIFEXITED(status) && !WEXITSTATUS(status) && marks == 2)
			return calls;
		if (!WIFSTOPPED(status))
			die("the ringing process failed");
		if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
			sig = WSTOPSIG(status);
			continue;
		}
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
			die("tracing: %s", strerror(errno));
		if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		if (info.entry.nr == SYS_getppid)
			marks++;
		else if (marks == 1)
			calls++;
	}
}

static double calls_per_ring(enum kind kind)
{
	int ready[2];
	pid_t w, r;
	long calls;
	char c;

	if (pipe(ready))
		die("a pipe: %s", strerror(errno));
	w = fork();
	if (!w)
		waiter(kind, ready[1]);
	if (read(ready[0], &c, 1) != 1)
		die("the waiting process failed");
	r = fork();
	if (!r) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		ringer(kind);
	}
	calls = count_calls(r);
	kill(w, SIGKILL);
	waitpid(w, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	return (double)calls / RINGS;
}

void bench_calls(int repeats)
{
	double x[FUTEX + 1][MAX_REPEATS];
	int i, k;

	word = shared(sizeof(*word));
	efd = eventfd(0, 0);
	domain_create(2, 0);
	for (i = 0; i < repeats; i++)
		for (k = 0; k <= FUTEX; k++)
			x[k][i] = calls_per_ring(k);
	row("calls.awake", "calls/ring", x[AWAKE], x[EVENTFD], repeats);
	row("calls.asleep", "calls/ring", x[ASLEEP], x[FUTEX], repeats);
	row("calls.bound", "calls/ring", x[BOUND], x[EVENTFD], repeats);
}
