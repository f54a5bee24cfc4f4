// SPDX-License-Identifier: GPL-2.0
/*
 * Running a program, and what must hold: of each call what linux/vfabric.h says
 * of all, of each access to memory that it has the right, and in the end that
 * nothing is left. What the kernel itself finds, main.c reads in its log.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <linux/vfabric.h>
#include <linux/vfabric_netlink.h>
#include "fuzz.h"

#define PAGE		4096UL

bool verbose;

#define N(name, high) { name, K_INT, 8, 0, 0, high, A_OURS, NULL }
#define REST(name, high) { name, K_INT, 8, 0, 0, high, A_OURS | A_REST, NULL }
#define ARGS(...) (const struct arg[]){ __VA_ARGS__, { 0 } }
#define FILE_ARG N("file", FILES - 1)
#define MAP_ARG N("map", MAPS - 1)
#define PAGES_ARG { "pages", K_INT, 8, 0, 1, 1024, A_REST, NULL }
#define PAGE_ARG { "page", K_INT, 8, 0, 0, 1023, A_REST, NULL }
#define COOKIE_ARG { "cookie", K_COOKIE, 8, 0, 0, ~0ULL, 0, NULL }
#define DOMAIN_ARG { "domain", K_DOMAIN, 4, 0, 0, ~0U, A_REST, NULL }
#define SMALL(name) { name, K_INT, 8, 0, 0, 3, A_REST, NULL }

const struct desc sys_descs[] = {
	{ "open", C_SYS, SYS_OPEN, 0, 0, ARGS(FILE_ARG, DOMAIN_ARG, SMALL("partition"),
					     SMALL("channel"), REST("blocking", 1)) },
	{ "close", C_SYS, SYS_CLOSE, 0, 0, ARGS(FILE_ARG) },
	{ "dup", C_SYS, SYS_DUP, 0, 0, ARGS(FILE_ARG, N("to", FILES - 1)) },
	{ "eventfd", C_SYS, SYS_EVENTFD, 0, 0, ARGS(FILE_ARG) },
	{ "read", C_SYS, SYS_READ, 0, 0, ARGS(FILE_ARG, N("bytes", 100)) },
	{ "poll", C_SYS, SYS_POLL, 0, 0, ARGS(FILE_ARG) },
	{ "ioctl", C_SYS, SYS_IOCTL, 0, 0, ARGS(FILE_ARG, N("nr", 255), N("size", 200),
					       N("dir", 3)) },
	{ "mmap", C_SYS, SYS_MMAP, 0, 0, ARGS(MAP_ARG, FILE_ARG, COOKIE_ARG, SMALL("from"),
					     PAGE_ARG, PAGES_ARG, REST("prot", 7),
					     REST("private", 1)) },
	{ "munmap", C_SYS, SYS_MUNMAP, 0, 0, ARGS(MAP_ARG, PAGE_ARG, PAGES_ARG) },
	{ "mprotect", C_SYS, SYS_MPROTECT, 0, 0, ARGS(MAP_ARG, PAGE_ARG, PAGES_ARG,
						     N("prot", 7)) },
	{ "mremap", C_SYS, SYS_MREMAP, 0, 0, ARGS(MAP_ARG, PAGE_ARG, PAGES_ARG, N("to", MAPS - 1),
						 SMALL("more"), REST("keep", 1)) },
	{ "madvise", C_SYS, SYS_MADVISE, 0, 0, ARGS(MAP_ARG, PAGE_ARG, PAGES_ARG,
						   N("advice", 7)) },
	{ "load", C_SYS, SYS_LOAD, 0, 0, ARGS(MAP_ARG, PAGE_ARG, REST("word", 511)) },
	{ "store", C_SYS, SYS_STORE, 0, 0, ARGS(MAP_ARG, PAGE_ARG, REST("word", 511),
					       SMALL("value")) },
	{ "fork", C_SYS, SYS_FORK, 0, 0, ARGS(N("calls", 7), N("wait", 1)) },
	{ "reopen", C_SYS, SYS_REOPEN, 0, 0, ARGS(REST("none", 0)) },
	{ "nap", C_SYS, SYS_NAP, 0, 0, ARGS(REST("none", 0)) },
};

const unsigned int nsys_descs = sizeof(sys_descs) / sizeof(*sys_descs);

/* --- what a program has ------------------------------------------------- */

static struct file file[FILES];
static unsigned int opens;
static uint64_t handle[NAMED];
static unsigned int nhandles;
static char *end_page, *readonly_page, *readonly_alias;
static pid_t child[MAX_CALLS];
static unsigned int nchildren;
static int refcnt_fd;

static int fd_of(uint64_t i)
{
	return file[i % FILES].fd;
}

static void set_file(uint64_t i, int fd, unsigned int opened)
{
	struct file *f = &file[i % FILES];

	if (f->fd >= 0)
		close(f->fd);
	f->fd = fd;
	f->opened = opened;
}

/* --- ioctls ------------------------------------------------------------- */

static uint64_t deadline_of(uint64_t v)
{
	struct timespec now;

	switch (v) {
	case NO_WAIT:
		return 0;
	case PAST:
		return 1;
	case SOON:
		clock_gettime(CLOCK_MONOTONIC, &now);
		return now.tv_sec * 1000000000ULL + now.tv_nsec + 1000000;
	case NEVER:
		return VFAB_NO_DEADLINE;
	default:
		return v;
	}
}

static uint64_t meaning(const struct arg *a, uint64_t v)
{
	switch (a->kind) {
	case K_HANDLE:
		return v < NAMED ? handle[v] : v;
	case K_COOKIE:
		return right_cookie(v);
	case K_DEADLINE:
		return deadline_of(v);
	case K_FD:
		return v < FILES ? (uint64_t)fd_of(v) : v;
	case K_SIZE:
		return v < 4096 ? v * PAGE : v;
	case K_DOMAIN:
		return nl_domain(v);
	default:
		return v;
	}
}

static uint64_t field(const struct desc *d, const char *buf, const char *name, uint64_t none)
{
	const struct arg *a;
	uint64_t v = 0;

	for (a = d->args + IOCTL_OWN; a->name; a++)
		if (!strcmp(a->name, name)) {
			memcpy(&v, buf + a->where, a->size);
			return v;
		}
	return none;
}

/* Keep what a call gave */
static void take_reply(const struct desc *d, const char *buf, const struct file *f)
{
	const struct arg *a;
	uint64_t v;

	for (a = d->args + IOCTL_OWN; a->name; a++) {
		v = 0;
		memcpy(&v, buf + a->where, a->size);
		if (a->flags & A_ZERO && v)
			wrong("%s: %s is %#llx, not 0", d->name, a->name, (unsigned long long)v);
		if (!(a->flags & A_REPLY))
			continue;
		if (a->kind == K_HANDLE && nhandles < NAMED)
			handle[nhandles++] = v;
		if (a->kind == K_COOKIE)
			right_add(&(struct right){
				.opened = f->opened, .cookie = v,
				/* what the file itself shows is to be read */
				.access = field(d, buf, "access",
						_IOC_DIR(d->number) == _IOC_READ ?
						VFAB_ACCESS_READ : ~0U),
				.loss = field(d, buf, "loss", 0),
				.size = field(d, buf, "size", 0),
				.handle = field(d, buf, "handle", 0),
			});
	}
}

/* Where the kernel is told to look, with the @size bytes there if that can be */
static char *place(unsigned int at, const char *buf, char *normal, size_t size)
{
	char *p;

	switch (at) {
	case AT_BUFFER:
		return normal;
	case AT_NULL:
		return NULL;
	case AT_END:
		p = end_page + PAGE - size / 2;
		memcpy(p, buf, size / 2);
		return p;
	case AT_READONLY:
		memcpy(readonly_alias, buf, size);
		return readonly_page;
	default:
		p = map_page(at - AT_MAP, 0);
		touch(p, buf, size);
		return p;
	}
}

static void check_error(const struct desc *d, int err)
{
	unsigned int i;

	for (i = 0; i < ndocumented_errors; i++)
		if (documented_errors[i] == err)
			return;
	wrong("%s fails with %d (%s), which linux/vfabric.h does not know", d->name, err,
	      strerror(err));
}

static void do_ioctl(const struct call *c)
{
	const struct desc *d = c->desc;
	const struct file *f = &file[call_arg(c, IOCTL_FILE) % FILES];
	unsigned int at = call_arg(c, IOCTL_AT) % (AT_MAP + MAPS), i;
	unsigned int length = call_arg(c, IOCTL_LENGTH) % 200, number = d->number;
	char buf[256] = "", normal[256], *p;
	int ret, err;

	for (i = IOCTL_OWN; d->args[i].name; i++) {
		uint64_t v = c->have & 1ULL << i ? meaning(&d->args[i], c->arg[i]) : 0;

		memcpy(buf + d->args[i].where, &v, d->args[i].size);
	}
	if (length)
		number = (number & ~(_IOC_SIZEMASK << _IOC_SIZESHIFT)) | length << _IOC_SIZESHIFT;
	memcpy(normal, buf, sizeof(normal));
	p = place(at, buf, normal, length ? length : d->size);
	ret = ioctl(f->fd, number, p);
	err = errno;
	if (verbose)
		fprintf(stderr, "%s: %s\n", d->name, ret ? strerror(err) : "Success");
	if (!f->opened)
		return;		/* no file of the device */
	if (ret)
		check_error(d, err);
	else
		desc_done(d);
	if (at != AT_BUFFER)
		return;
	if (ret && !(err == ETIMEDOUT && d->number == VFAB_IOC_WAIT) &&
	    memcmp(buf, normal, sizeof(buf)))
		wrong("%s fails (%s), but changes its structure", d->name, strerror(err));
	if (ret || length)
		return;
	if (d->number == VFAB_IOC_WINDOW_FREE)
		window_freed(field(d, buf, "handle", 0));
	if (d->number == VFAB_IOC_IMPORT && window_is_freed(field(d, buf, "handle", 0)))
		wrong("a window could be imported after it was freed");
	take_reply(d, normal, f);
}

/* --- files -------------------------------------------------------------- */

static void do_open(const struct call *c)
{
	char path[64];
	unsigned int id = nl_domain(call_arg(c, 1));
	int n = snprintf(path, sizeof(path), "/dev/vfabric/%u", id);
	int fd;

	if (c->have & 1 << 3)
		snprintf(path + n, sizeof(path) - n, ".%d.%d", (int)call_arg(c, 2) % 65536,
			 (int)call_arg(c, 3) % 65536);
	else if (call_arg(c, 2))
		snprintf(path + n, sizeof(path) - n, ".%d", (int)call_arg(c, 2) % 65536);
	fd = open(path, O_RDWR | O_CLOEXEC | (call_arg(c, 4) & 1 ? 0 : O_NONBLOCK));
	if (verbose)
		fprintf(stderr, "open: %s: %s\n", path, fd < 0 ? strerror(errno) : "Success");
	set_file(call_arg(c, 0), fd, fd < 0 ? 0 : ++opens);
	if (fd >= 0)
		shared->opened = true;
}

static void do_file(const struct call *c)
{
	uint64_t i = call_arg(c, 0), to = call_arg(c, 1);
	struct pollfd p = { .fd = fd_of(i), .events = POLLIN };
	char buf[256] __attribute__((aligned(8)));

	switch (c->desc->number) {
	case SYS_OPEN:
		do_open(c);
		break;
	case SYS_CLOSE:
		set_file(i, -1, 0);
		break;
	case SYS_DUP:
		if (fd_of(i) >= 0)
			set_file(to, dup(fd_of(i)), file[i % FILES].opened);
		break;
	case SYS_EVENTFD:
		set_file(i, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), 0);
		break;
	case SYS_READ:
		read(fd_of(i), buf, call_arg(c, 1) % sizeof(buf));
		break;
	case SYS_POLL:
		poll(&p, 1, 0);
		break;
	case SYS_IOCTL:
		memset(buf, 0, sizeof(buf));
		if (file[i % FILES].opened)
			ioctl(fd_of(i), _IOC(call_arg(c, 3) & 3, VFAB_IOC_MAGIC,
					     call_arg(c, 1) & 255, call_arg(c, 2) % 200), buf);
		break;
	}
}

/* --- programs ----------------------------------------------------------- */

static void slice(bool on)
{
	struct itimerval t = { { 0, on ? SLICE_US : 0 }, { 0, on ? SLICE_US : 0 } };

	setitimer(ITIMER_REAL, &t, NULL);
}

static void run(const struct prog *p, unsigned int from, unsigned int to, bool may_fork);

/* A child makes the next calls; those that follow them are the parent's. */
static unsigned int do_fork(const struct prog *p, unsigned int at, unsigned int to)
{
	const struct call *c = &p->call[at];
	unsigned int n = call_arg(c, 0) % MAX_CALLS;
	siginfo_t info;
	pid_t pid;

	if (n > to - at - 1)
		n = to - at - 1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		nl_reopen();	/* what answers a child does not answer its parent */
		slice(true);
		run(p, at + 1, at + 1 + n, false);
		_exit(0);
	}
	if (pid < 0)
		return n;
	child[nchildren++] = pid;
	if (call_arg(c, 1) & 1)		/* at most until the slice is over */
		waitid(P_PID, pid, &info, WEXITED | WNOWAIT);
	return n;
}

static void run(const struct prog *p, unsigned int from, unsigned int to, bool may_fork)
{
	struct timespec nap = { .tv_nsec = 1000000 };
	unsigned int i;

	for (i = from; i < to; i++) {
		const struct call *c = &p->call[i];

		shared->calls++;
		if (c->desc->type == C_IOCTL) {
			do_ioctl(c);
			continue;
		}
		if (c->desc->type == C_NL) {
			nl_call(c);
			continue;
		}
		switch (c->desc->number) {
		case SYS_MMAP:
		case SYS_MUNMAP:
		case SYS_MPROTECT:
		case SYS_MREMAP:
		case SYS_MADVISE:
		case SYS_LOAD:
		case SYS_STORE:
			memory_call(c, &file[call_arg(c, 1) % FILES]);
			break;
		case SYS_FORK:
			if (may_fork)
				i += do_fork(p, i, to);
			break;
		case SYS_REOPEN:
			nl_reopen();
			break;
		case SYS_NAP:
			nanosleep(&nap, NULL);
			break;
		default:
			do_file(c);
		}
	}
}

/* Runs @p and closes all that it has; exec_reset() must follow. */
void exec_prog(const struct prog *p)
{
	unsigned int i;

	nhandles = 0;
	memset(handle, 0, sizeof(handle));
	nl_begin();
	memory_begin();
	run(p, 0, p->n, true);
	memory_end();
	for (i = 0; i < nchildren; i++) {
		/* A child has one more slice to end by itself */
		if (!waitpid(child[i], NULL, WNOHANG)) {
			usleep(1000);
			kill(child[i], SIGKILL);
			while (waitpid(child[i], NULL, 0) < 0 && errno == EINTR)
				;
		}
	}
	nchildren = 0;
	for (i = 0; i < FILES; i++)
		set_file(i, -1, 0);
}

static bool module_is_idle(void)
{
	char now[16] = "";

	return pread(refcnt_fd, now, sizeof(now) - 1, 0) > 0 && !strcmp(now, "0\n");
}

/* Nothing may be left; then the next program finds what the last one found. */
void exec_reset(void)
{
	unsigned int tries;

	if (*shared->found)
		_exit(1);
	for (tries = 0; shared->opened && !module_is_idle(); tries++) {
		if (tries == 2000)
			wrong("something still uses the module after all files were closed");
		usleep(1000);
	}
	shared->opened = false;
	if (shared->dirty) {
		nl_sweep();
		nl_base();
	}
}

/* Nothing of the fuzzer is left */
void exec_end(void)
{
	nl_sweep();
}

void exec_init(void)
{
	struct sigaction sa = { .sa_handler = memory_signal };
	unsigned int i;
	int memfd;

	for (i = 0; i < FILES; i++)
		file[i].fd = -1;
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	end_page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(end_page + PAGE, PAGE);
	memfd = memfd_create("fuzz", MFD_CLOEXEC);
	ftruncate(memfd, PAGE);
	readonly_page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, memfd, 0);
	readonly_alias = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	close(memfd);
	refcnt_fd = open("/sys/module/vfabric/refcnt", O_RDONLY | O_CLOEXEC);
	slice(true);
	nl_init();
	shared->dirty = 1;
	exec_reset();
}
