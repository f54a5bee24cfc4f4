// SPDX-License-Identifier: GPL-2.0
/* vft: see vft.h */
#include "vft.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/genetlink.h>

/* --- time, processes, files ------------------------------------------- */

uint64_t vft_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * VFT_SEC + ts.tv_nsec;
}

void vft_sleep_ms(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

pid_t vft_fork(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	return 0;
}

int vft_wait_pid(pid_t pid, unsigned int ms)
{
	int status = 0;

	if (!vft_until(ms, waitpid(pid, &status, WNOHANG)))
		return -ETIMEDOUT;
	return status;
}

int vft_kill(pid_t pid)
{
	int status = 0;

	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid ? status : -errno;
}

void *vft_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("vft: shared memory");
		exit(1);
	}
	return p;
}

unsigned int vft_random(unsigned int *state)
{
	*state = *state * 1103515245 + 12345;
	return *state >> 8;
}

unsigned int vft_kernel(void)
{
	struct utsname u;
	unsigned int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%u.%u", &major, &minor);
	return major * 100 + minor;
}

bool vft_read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return false;
	buf[n] = 0;
	return true;
}

bool vft_write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text);
}

bool vft_uml(void)
{
	struct utsname u;

	return !uname(&u) && strstr(u.release, "-uml");
}

long vft_read_long(const char *path)
{
	char text[64];

	return vft_read_text(path, text, sizeof(text)) ? strtol(text, NULL, 10) : -errno;
}

int vft_gate(struct vft_gate *gate, unsigned int count)
{
	unsigned int round = atomic_load(&gate->round);

	if (atomic_fetch_add(&gate->here, 1) + 1 == count) {
		atomic_store(&gate->here, 0);
		atomic_fetch_add(&gate->round, 1);
		return 0;
	}
	return vft_until(10000, atomic_load(&gate->round) != round) ? 0 : -ETIMEDOUT;
}

void vft_send_fd(int sock, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(sock, &msg, 0) != 1) {
		perror("# vft: sending a file");
		_exit(1);
	}
}

int vft_recv_fd(int sock)
{
	char control[CMSG_SPACE(sizeof(int))] = { }, byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd = -1;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static bool set_proc(const char *file, const char *format, int id)
{
	char text[64];

	snprintf(text, sizeof(text), format, id);
	return vft_write_text(file, text);
}

int vft_become(uid_t uid, int flags)
{
	if (uid && (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		return -errno;
	/* so that /proc/self is his */
	prctl(PR_SET_DUMPABLE, 1);
	if (flags && unshare(flags))
		return -errno;
	if (flags & CLONE_NEWUSER &&
	    !(set_proc("/proc/self/setgroups", "deny", 0) &&
	      set_proc("/proc/self/uid_map", "0 %d 1", uid) &&
	      set_proc("/proc/self/gid_map", "0 %d 1", uid)))
		return -EPERM;
	vft_nl_reset();
	return 0;
}

int vft_module_load(const char *params)
{
	const char *ko = getenv("VFABRIC_KO");
	int fd = open(ko ? ko : "", O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, params, 0) ? -errno : 0;
	close(fd);
	/* the family has another number now */
	vft_nl_reset();
	return ret;
}

int vft_module_unload(void)
{
	vft_nl_reset();
	return syscall(SYS_delete_module, "vfabric", O_NONBLOCK) ? -errno : 0;
}

bool vft_module_loaded(void)
{
	return !access("/sys/module/vfabric", F_OK);
}

/* --- a control group ---------------------------------------------------- */

static char cgroup[128];

const char *vft_cgroup(const char *file)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", cgroup, file);
	return path;
}

bool vft_cgroup_make(void)
{
	const char *root = "/sys/fs/cgroup";
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
	if (stat(path, &st)) {
		root = "/tmp/vft-cgroup";
		mkdir(root, 0700);
		if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", root, "cgroup2", 0, NULL))
			return false;
	}
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", root);
	if (!vft_write_text(path, "+memory"))
		return false;
	/* some kernels have none */
	vft_write_text(path, "+pids");
	snprintf(cgroup, sizeof(cgroup), "%s/vft-%d", root, (int)getpid());
	return !mkdir(cgroup, 0700);
}

bool vft_cgroup_enter(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	return vft_write_text(vft_cgroup("cgroup.procs"), pid);
}

long vft_cgroup_event(const char *name)
{
	char text[512], *p;

	if (!vft_read_text(vft_cgroup("memory.events"), text, sizeof(text)))
		return -1;
	p = strstr(text, name);
	return p ? strtol(p + strlen(name), NULL, 10) : -1;
}

int vft_cgroup_remove(void)
{
	return rmdir(cgroup) ? -errno : 0;
}

/* --- touching memory that may be gone ---------------------------------- */

static __thread sigjmp_buf touch_env;
static __thread volatile sig_atomic_t touching;

static void touch_handler(int sig)
{
	if (touching) {
		touching = 0;
		siglongjmp(touch_env, sig);
	}
	/* A fault that nobody expected: die of it, in plain sight */
	signal(sig, SIG_DFL);
	raise(sig);
}

static void __attribute__((constructor)) touch_init(void)
{
	struct sigaction sa = { .sa_handler = touch_handler, .sa_flags = SA_NODEFER };

	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
}

int vft_load(const volatile void *p, uint64_t *value)
{
	int sig = sigsetjmp(touch_env, 0);

	if (sig)
		return sig;
	touching = 1;
	*value = *(const volatile uint64_t *)p;
	touching = 0;
	return 0;
}

int vft_store(volatile void *p, uint64_t value)
{
	int sig = sigsetjmp(touch_env, 0);

	if (sig)
		return sig;
	touching = 1;
	*(volatile uint64_t *)p = value;
	touching = 0;
	return 0;
}

int vft_touch(const volatile void *p)
{
	uint64_t value;

	return vft_load(p, &value);
}

/* --- netlink ------------------------------------------------------------ */

static int nl_recv_raw(struct vft_nl *nl, char *buf, size_t size)
{
	ssize_t n;

	do {
		n = recv(nl->fd, buf, nl->bufsize ? nl->bufsize : size, 0);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

void vft_put(struct vft_req *req, int attr, const void *data, size_t len)
{
	struct nlattr *a = (void *)(req->buf + NLMSG_ALIGN(req->nlh.nlmsg_len));

	a->nla_type = attr;
	a->nla_len = NLA_HDRLEN + len;
	if (len)
		memcpy((char *)a + NLA_HDRLEN, data, len);
	memset((char *)a + a->nla_len, 0, NLA_ALIGN(a->nla_len) - a->nla_len);
	req->nlh.nlmsg_len = NLMSG_ALIGN(req->nlh.nlmsg_len) + NLA_ALIGN(a->nla_len);
}

void vft_put_u8(struct vft_req *req, int attr, uint8_t value)
{
	vft_put(req, attr, &value, sizeof(value));
}

void vft_put_u32(struct vft_req *req, int attr, uint32_t value)
{
	vft_put(req, attr, &value, sizeof(value));
}

void vft_put_u64(struct vft_req *req, int attr, uint64_t value)
{
	vft_put(req, attr, &value, sizeof(value));
}

void vft_put_str(struct vft_req *req, int attr, const char *value)
{
	vft_put(req, attr, value, strlen(value) + 1);
}

void vft_put_flag(struct vft_req *req, int attr)
{
	vft_put(req, attr, NULL, 0);
}

static void req_begin(struct vft_req *req, int type, int cmd, int version, int flags)
{
	struct genlmsghdr *g = (void *)(req->buf + NLMSG_HDRLEN);

	memset(req->buf, 0, NLMSG_HDRLEN + GENL_HDRLEN);
	req->nlh.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN;
	req->nlh.nlmsg_type = type;
	req->nlh.nlmsg_flags = NLM_F_REQUEST | flags;
	g->cmd = cmd;
	g->version = version;
}

void vft_req(struct vft_req *req, const struct vft_nl *nl, int cmd, int flags)
{
	req_begin(req, nl->family, cmd, VFAB_GENL_VERSION, flags ? flags : NLM_F_ACK);
}

int vft_send(struct vft_nl *nl, struct vft_req *req)
{
	req->nlh.nlmsg_seq = ++nl->seq;
	if (send(nl->fd, req->buf, req->nlh.nlmsg_len, 0) < 0)
		return -errno;
	return 0;
}

/*
 * Which attribute of a request @offset points at. The request is not at hand
 * any more, but the kernel echoes it in the error (no NETLINK_CAP_ACK).
 */
static int attr_at(const struct nlmsghdr *request, size_t room, uint32_t offset)
{
	const struct nlattr *a = (const void *)((const char *)request + offset);

	if (offset < NLMSG_HDRLEN + GENL_HDRLEN)
		return -1;
	if (offset + NLA_HDRLEN > room)
		return 0;
	return a->nla_type & NLA_TYPE_MASK;
}

/* The code and the extack of an error, acknowledgment or end of dump */
static int parse_ack(struct vft_nl *nl, const struct nlmsghdr *nlh)
{
	const char *base = (const char *)nlh;
	size_t len = nlh->nlmsg_len, pos = NLMSG_HDRLEN;
	const struct nlmsghdr *request = NULL;
	size_t room = 0;
	int code;

	if (len < pos + sizeof(code))
		return -EBADMSG;
	memcpy(&code, base + pos, sizeof(code));
	pos += sizeof(code);
	if (nlh->nlmsg_type == NLMSG_ERROR && len >= pos + sizeof(*request)) {
		request = (const void *)(base + pos);
		room = sizeof(*request);
		if (code && !(nlh->nlmsg_flags & NLM_F_CAPPED))
			room = request->nlmsg_len;
		pos += NLMSG_ALIGN(room);
	}
	while (nlh->nlmsg_flags & NLM_F_ACK_TLVS && pos + NLA_HDRLEN <= len) {
		const struct nlattr *a = (const void *)(base + pos);
		uint32_t value = 0;

		if (a->nla_len < NLA_HDRLEN || pos + a->nla_len > len)
			break;
		if (a->nla_len >= NLA_HDRLEN + sizeof(value))
			memcpy(&value, base + pos + NLA_HDRLEN, sizeof(value));
		switch (a->nla_type & NLA_TYPE_MASK) {
		case NLMSGERR_ATTR_MSG:
			snprintf(nl->text, sizeof(nl->text), "%.*s",
				 (int)(a->nla_len - NLA_HDRLEN), base + pos + NLA_HDRLEN);
			break;
		case NLMSGERR_ATTR_OFFS:
			nl->bad_attr = request ? attr_at(request, room, value) : 0;
			break;
		case NLMSGERR_ATTR_MISS_TYPE:
			nl->missing = value;
			break;
		}
		pos += NLA_ALIGN(a->nla_len);
	}
	return code;
}

static void parse_msg(const struct nlmsghdr *nlh, struct vft_msg *msg)
{
	const char *base = (const char *)nlh;
	size_t pos = NLMSG_HDRLEN + GENL_HDRLEN;

	memset(msg, 0, sizeof(*msg));
	msg->cmd = ((const struct genlmsghdr *)(base + NLMSG_HDRLEN))->cmd;
	while (pos + NLA_HDRLEN <= nlh->nlmsg_len) {
		const struct nlattr *a = (const void *)(base + pos);
		unsigned int type = a->nla_type & NLA_TYPE_MASK;

		if (a->nla_len < NLA_HDRLEN || pos + a->nla_len > nlh->nlmsg_len)
			break;
		if (type == VFAB_A_HOP && msg->hops < VFAB_MAX_PLANES)
			msg->hop[msg->hops++] = a;
		if (type == VFAB_A_COUNTER && msg->counters < 64)
			msg->counter[msg->counters++] = a;
		if (type < VFT_ATTRS)
			msg->a[type] = a;
		pos += NLA_ALIGN(a->nla_len);
	}
}

int vft_recv(struct vft_nl *nl, vft_cb cb, void *arg)
{
	static __thread char buf[65536] __attribute__((aligned(8)));

	nl->text[0] = 0;
	nl->bad_attr = 0;
	nl->missing = 0;
	nl->interrupted = false;
	for (;;) {
		const struct nlmsghdr *nlh = (const void *)buf;
		int n = nl_recv_raw(nl, buf, sizeof(buf));

		if (n < 0)
			return n;
		for (; NLMSG_OK(nlh, (unsigned int)n); nlh = NLMSG_NEXT(nlh, n)) {
			struct vft_msg msg;

			if (nlh->nlmsg_seq != nl->seq)
				continue;
			if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
				nl->interrupted = true;
			if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE)
				return parse_ack(nl, nlh);
			parse_msg(nlh, &msg);
			if (cb)
				cb(&msg, arg);
		}
	}
}

int vft_call(struct vft_nl *nl, struct vft_req *req, vft_cb cb, void *arg)
{
	int ret = vft_send(nl, req);

	return ret ? ret : vft_recv(nl, cb, arg);
}

int vft_event(struct vft_nl *nl, unsigned int ms, struct vft_msg *msg, void *buf, size_t size)
{
	struct pollfd pfd = { .fd = nl->fd, .events = POLLIN };
	int n;

	n = poll(&pfd, 1, ms);
	if (n <= 0)
		return n ? -errno : -EAGAIN;
	n = nl_recv_raw(nl, buf, size);
	if (n < 0)
		return n;
	parse_msg(buf, msg);
	return 0;
}

uint32_t vft_u32(const struct vft_msg *msg, int attr)
{
	const struct nlattr *a = msg->a[attr];
	uint32_t value = 0;

	if (a && a->nla_len == NLA_HDRLEN + 1)
		return *((const uint8_t *)a + NLA_HDRLEN);
	if (a && a->nla_len >= NLA_HDRLEN + sizeof(value))
		memcpy(&value, (const char *)a + NLA_HDRLEN, sizeof(value));
	return value;
}

uint64_t vft_u64(const struct vft_msg *msg, int attr)
{
	const struct nlattr *a = msg->a[attr];
	uint64_t value;

	if (!a || a->nla_len < NLA_HDRLEN + sizeof(value))
		return vft_u32(msg, attr);
	memcpy(&value, (const char *)a + NLA_HDRLEN, sizeof(value));
	return value;
}

const char *vft_str(const struct vft_msg *msg, int attr)
{
	const struct nlattr *a = msg->a[attr];

	return a ? (const char *)a + NLA_HDRLEN : "";
}

/* Answer of the family controller: the id of the family and of its group */
static void parse_family(struct vft_nl *nl, const struct nlmsghdr *nlh)
{
	const char *base = (const char *)nlh;
	size_t pos = NLMSG_HDRLEN + GENL_HDRLEN;

	for (; pos + NLA_HDRLEN <= nlh->nlmsg_len;
	     pos += NLA_ALIGN(((const struct nlattr *)(base + pos))->nla_len)) {
		const struct nlattr *a = (const void *)(base + pos);
		const char *data = base + pos + NLA_HDRLEN;

		if (a->nla_len < NLA_HDRLEN)
			break;
		switch (a->nla_type & NLA_TYPE_MASK) {
		case CTRL_ATTR_FAMILY_ID:
			nl->family = *(const uint16_t *)data;
			break;
		case CTRL_ATTR_MCAST_GROUPS: {
			/* one nest per group; there is one group */
			const struct nlattr *group = (const void *)data, *in = group + 1;
			const char *end = (const char *)group + group->nla_len;

			for (; (const char *)in + NLA_HDRLEN <= end && in->nla_len >= NLA_HDRLEN;
			     in = (const void *)((const char *)in + NLA_ALIGN(in->nla_len)))
				if ((in->nla_type & NLA_TYPE_MASK) == CTRL_ATTR_MCAST_GRP_ID)
					memcpy(&nl->group, in + 1, sizeof(nl->group));
			break;
		}
		}
	}
}

int vft_nl_open(struct vft_nl *nl)
{
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK };
	/* no larger: the kernel makes the parts of dumps as large as what was asked for once */
	char buf[4096] __attribute__((aligned(8)));
	struct vft_req req;
	int one = 1, n;

	memset(nl, 0, sizeof(*nl));
	nl->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (nl->fd < 0)
		return -errno;
	setsockopt(nl->fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(nl->fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, sizeof(one));
	if (bind(nl->fd, (struct sockaddr *)&sa, sizeof(sa))) {
		n = -errno;
		goto fail;
	}
	req_begin(&req, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1, 0);
	vft_put_str(&req, CTRL_ATTR_FAMILY_NAME, VFAB_GENL_NAME);
	n = vft_send(nl, &req);
	if (n)
		goto fail;
	n = nl_recv_raw(nl, buf, sizeof(buf));
	if (n < 0)
		goto fail;
	if (((struct nlmsghdr *)buf)->nlmsg_type == NLMSG_ERROR) {
		n = parse_ack(nl, (struct nlmsghdr *)buf);
		goto fail;
	}
	parse_family(nl, (struct nlmsghdr *)buf);
	n = -ENOENT;
	if (!nl->family)
		goto fail;
	return 0;
fail:
	vft_nl_close(nl);
	return n;
}

void vft_nl_close(struct vft_nl *nl)
{
	if (nl->fd >= 0)
		close(nl->fd);
	nl->fd = -1;
}

int vft_nl_listen(struct vft_nl *nl)
{
	int size = 8 << 20;

	/* also beyond what an ordinary user may have */
	if (setsockopt(nl->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(nl->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(nl->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &nl->group, sizeof(nl->group)))
		return -errno;
	return 0;
}

static __thread struct vft_nl own_nl = { .fd = -1 };
static __thread pid_t own_nl_pid;

void vft_nl_reset(void)
{
	if (own_nl_pid == getpid())
		vft_nl_close(&own_nl);
	own_nl.fd = -1;
	own_nl_pid = 0;
}

struct vft_nl *vft_nl(void)
{
	int ret;

	if (own_nl_pid == getpid() && own_nl.fd >= 0)
		return &own_nl;
	/* After fork() the socket is the parent's: do not mix the answers */
	if (own_nl.fd >= 0)
		close(own_nl.fd);
	ret = vft_nl_open(&own_nl);
	if (ret) {
		fprintf(stderr, "# vft: no netlink family %s: %s\n", VFAB_GENL_NAME,
			strerror(-ret));
		exit(1);
	}
	own_nl_pid = getpid();
	return &own_nl;
}

/* --- domains ------------------------------------------------------------ */

static pid_t main_pid;

static void __attribute__((constructor)) main_init(void)
{
	main_pid = getpid();
}

static void put_index(struct vft_req *req, int attr, int index)
{
	if (index >= 0)
		vft_put_u32(req, attr, index);
}

static int call_simple(struct vft_req *req)
{
	return vft_call(vft_nl(), req, NULL, NULL);
}

static void req_domain(struct vft_req *req, const struct vft_domain *dom, int cmd)
{
	vft_req(req, vft_nl(), cmd, NLM_F_ACK);
	vft_put_u32(req, VFAB_A_DOMAIN, dom->id);
}

static void created(const struct vft_msg *msg, void *arg)
{
	struct vft_domain *dom = arg;

	dom->exists = msg->a[VFAB_A_DOMAIN];
	dom->id = vft_u32(msg, VFAB_A_DOMAIN);
}

bool vft_quiet;

int vft_domain_create(struct vft_domain *dom, uint32_t world, const struct vft_options *opt)
{
	static _Atomic unsigned int number;
	static const struct vft_options none;
	struct vft_req req;
	int ret;

	if (!opt)
		opt = &none;
	memset(dom, 0, sizeof(*dom));
	dom->world = world;
	dom->planes = opt->planes ? opt->planes : 2;
	if (opt->name)
		snprintf(dom->name, sizeof(dom->name), "%s", opt->name);
	else
		snprintf(dom->name, sizeof(dom->name), "%.10s.%d.%d.%u",
			 program_invocation_short_name, (int)main_pid, (int)getpid(),
			 atomic_fetch_add(&number, 1));
	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_CREATE, NLM_F_ACK);
	vft_put_str(&req, VFAB_A_DOMAIN_NAME, dom->name);
	vft_put_u32(&req, VFAB_A_WORLD, world);
	if (opt->links) {
		vft_put(&req, VFAB_A_LINKS, opt->links, opt->nlinks * sizeof(*opt->links));
		vft_put_u32(&req, VFAB_A_SWITCHES, opt->switches);
		vft_put_u32(&req, VFAB_A_SWITCH_LATENCY, opt->switch_latency);
		if (opt->forwarding)
			vft_put_flag(&req, VFAB_A_FORWARDING);
	} else {
		vft_put_u32(&req, VFAB_A_PLANES, dom->planes);
	}
	if (opt->mode)
		vft_put_u32(&req, VFAB_A_MODE, opt->mode);
	if (opt->uid)
		vft_put_u32(&req, VFAB_A_UID, opt->uid);
	if (opt->gid)
		vft_put_u32(&req, VFAB_A_GID, opt->gid);
	if (opt->peer_death)
		vft_put_u32(&req, VFAB_A_PEER_DEATH, opt->peer_death);
	if (opt->retry_ms)
		vft_put_u32(&req, VFAB_A_RETRY_TIMEOUT, opt->retry_ms);
	if (opt->partitions)
		vft_put_u32(&req, VFAB_A_PARTITION_MODE, opt->partitions);
	if (opt->nodes)
		vft_put_u32(&req, VFAB_A_NODES, opt->nodes);
	if (opt->mem_limit)
		vft_put_u64(&req, VFAB_A_MEM_LIMIT, opt->mem_limit);
	if (opt->backplane)
		vft_put_str(&req, VFAB_A_BACKPLANE, opt->backplane);
	if (opt->place)
		vft_put(&req, VFAB_A_PLACE, opt->place, world);
	ret = vft_call(vft_nl(), &req, created, dom);
	if (ret && !vft_quiet)
		fprintf(stderr, "# vft: domain %s: %s: %s\n", dom->name, strerror(-ret),
			vft_nl()->text);
	if (!ret && !dom->exists)
		ret = -EBADMSG;
	return ret;
}

static void found(const struct vft_msg *msg, void *arg)
{
	struct vft_domain *dom = arg;

	created(msg, dom);
	dom->world = vft_u32(msg, VFAB_A_WORLD);
	dom->planes = vft_u32(msg, VFAB_A_PLANES);
}

int vft_domain_find(struct vft_domain *dom, const char *name)
{
	struct vft_req req;

	memset(dom, 0, sizeof(*dom));
	snprintf(dom->name, sizeof(dom->name), "%s", name);
	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_GET, NLM_F_ACK);
	vft_put_str(&req, VFAB_A_DOMAIN_NAME, name);
	return vft_call(vft_nl(), &req, found, dom);
}

int vft_domain_delete(struct vft_domain *dom, bool force)
{
	struct vft_req req;
	int ret;

	req_domain(&req, dom, VFAB_CMD_DOMAIN_DELETE);
	if (force)
		vft_put_flag(&req, VFAB_A_FORCE);
	ret = call_simple(&req);
	if (!ret)
		dom->exists = false;
	return ret;
}

int vft_domain_end(struct vft_domain *dom)
{
	int ret = 0;

	if (!dom->exists)
		return 0;
	if (!vft_until(5000, !vft_domain_get(dom, VFAB_A_ATTACHED))) {
		fprintf(stderr, "# vft: %s: %llu endpoints are still attached\n", dom->name,
			(unsigned long long)vft_domain_get(dom, VFAB_A_ATTACHED));
		ret = -EBUSY;
	}
	if (!vft_until(5000, !vft_domain_get(dom, VFAB_A_MEM_USED))) {
		fprintf(stderr, "# vft: %s: %llu bytes are still used\n", dom->name,
			(unsigned long long)vft_domain_get(dom, VFAB_A_MEM_USED));
		ret = -EBUSY;
	}
	return vft_domain_delete(dom, ret) ?: ret;
}

struct wanted {
	int attr;
	uint64_t value;
};

static void take(const struct vft_msg *msg, void *arg)
{
	struct wanted *w = arg;

	if (msg->a[w->attr])
		w->value = vft_u64(msg, w->attr);
}

uint64_t vft_domain_get(const struct vft_domain *dom, int attr)
{
	struct wanted w = { .attr = attr, .value = ~0ULL };
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_DOMAIN_GET);
	if (vft_call(vft_nl(), &req, take, &w))
		return ~0ULL;
	return w.value;
}

int vft_domain_set(const struct vft_domain *dom, int attr, uint64_t value)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_DOMAIN_SET);
	if (attr == VFAB_A_MEM_LIMIT)
		vft_put_u64(&req, attr, value);
	else if (attr == VFAB_A_SHAPE)
		vft_put_u8(&req, attr, value);
	else
		vft_put_u32(&req, attr, value);
	return call_simple(&req);
}

static void count_one(const struct vft_msg *msg, void *arg)
{
	(void)msg;
	++*(unsigned int *)arg;
}

unsigned int vft_domain_count(void)
{
	unsigned int count = 0;
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_GET, NLM_F_DUMP);
	vft_call(vft_nl(), &req, count_one, &count);
	return count;
}

unsigned int vft_domain_total(void)
{
	struct wanted w = { .attr = VFAB_A_DOMAINS, .value = ~0ULL };
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_SYSTEM_GET, NLM_F_ACK);
	vft_call(vft_nl(), &req, take, &w);
	return w.value;
}

static void add_up(const struct vft_msg *msg, void *arg)
{
	uint64_t *sum = arg;
	unsigned int i, k;

	for (i = 0; i < VFT_ATTRS; i++) {
		const unsigned char *p = (const void *)msg->a[i];

		for (k = 0; p && k < msg->a[i]->nla_len; k++)
			*sum = *sum * 1099511628211ULL + p[k];
	}
}

uint64_t vft_everything(void)
{
	static const int cmds[] = {
		VFAB_CMD_DOMAIN_GET, VFAB_CMD_PARTITION_GET, VFAB_CMD_ENDPOINT_GET,
		VFAB_CMD_WINDOW_GET, VFAB_CMD_SWITCH_GET, VFAB_CMD_LINK_GET, VFAB_CMD_ROUTE_GET,
	};
	uint64_t sum = 14695981039346656037ULL;
	struct vft_req req;
	size_t i;

	for (i = 0; i < sizeof(cmds) / sizeof(*cmds); i++) {
		vft_req(&req, vft_nl(), cmds[i], NLM_F_DUMP);
		vft_call(vft_nl(), &req, add_up, &sum);
	}
	vft_req(&req, vft_nl(), VFAB_CMD_SYSTEM_GET, NLM_F_ACK);
	vft_call(vft_nl(), &req, add_up, &sum);
	return sum;
}

struct sweep {
	const char *prefix;
	unsigned int count;
	uint32_t id[1024];
};

static void sweep_one(const struct vft_msg *msg, void *arg)
{
	struct sweep *s = arg;

	if (strncmp(vft_str(msg, VFAB_A_DOMAIN_NAME), s->prefix, strlen(s->prefix)))
		return;
	if (s->count < 1024)
		s->id[s->count++] = vft_u32(msg, VFAB_A_DOMAIN);
}

unsigned int vft_domain_sweep(const char *prefix)
{
	struct sweep s = { .prefix = prefix };
	struct vft_req req;
	unsigned int i;

	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_GET, NLM_F_DUMP);
	vft_call(vft_nl(), &req, sweep_one, &s);
	for (i = 0; i < s.count; i++) {
		struct vft_domain dom = { .id = s.id[i] };

		vft_domain_delete(&dom, true);
	}
	return s.count;
}

/* A test that was killed left its domain: the next program starts clean. */
static void __attribute__((destructor)) main_exit(void)
{
	char prefix[40];
	struct vft_nl nl;
	unsigned int n;

	if (getpid() != main_pid || vft_nl_open(&nl))
		return;
	vft_nl_close(&nl);
	vft_nl_reset();
	snprintf(prefix, sizeof(prefix), "%.10s.%d.", program_invocation_short_name, (int)main_pid);
	n = vft_domain_sweep(prefix);
	if (n)
		fprintf(stderr, "# vft: swept away %u domains that tests had left\n", n);
}

static void put_members(struct vft_req *req, int attr, uint32_t first, uint32_t count)
{
	uint8_t bits[VFAB_MAX_WORLD / 8] = { };
	uint32_t r;

	for (r = first; r < first + count; r++)
		bits[r / 8] |= 1 << r % 8;
	vft_put(req, attr, bits, (first + count + 7) / 8);
}

void vft_link_req(struct vft_req *req, const struct vft_domain *dom, int rank, int sw, int port)
{
	req_domain(req, dom, VFAB_CMD_LINK_SET);
	put_index(req, VFAB_A_RANK, rank);
	put_index(req, VFAB_A_SWITCH, sw);
	put_index(req, VFAB_A_PORT, port);
}

int vft_link(const struct vft_domain *dom, int rank, int sw, bool up)
{
	struct vft_req req;

	vft_link_req(&req, dom, rank, sw, -1);
	vft_put_u8(&req, VFAB_A_UP, up);
	return call_simple(&req);
}

int vft_port(const struct vft_domain *dom, int rank, int sw, int port, bool up)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_PORT_SET);
	put_index(&req, VFAB_A_RANK, rank);
	put_index(&req, VFAB_A_SWITCH, sw);
	put_index(&req, VFAB_A_PORT, port);
	vft_put_u8(&req, VFAB_A_UP, up);
	return call_simple(&req);
}

int vft_switch(const struct vft_domain *dom, int sw, bool up)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_SWITCH_SET);
	put_index(&req, VFAB_A_SWITCH, sw);
	vft_put_u8(&req, VFAB_A_UP, up);
	return call_simple(&req);
}

int vft_route_drop(const struct vft_domain *dom, int sw, uint32_t dest)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_ROUTE_SET);
	put_index(&req, VFAB_A_SWITCH, sw);
	vft_put_u32(&req, VFAB_A_DEST, dest);
	vft_put_flag(&req, VFAB_A_DROP);
	return call_simple(&req);
}

int vft_route_via(const struct vft_domain *dom, int sw, uint32_t dest, uint32_t port)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_ROUTE_SET);
	put_index(&req, VFAB_A_SWITCH, sw);
	vft_put_u32(&req, VFAB_A_DEST, dest);
	vft_put_u32(&req, VFAB_A_EGRESS, port);
	return call_simple(&req);
}

int vft_partition_create(const struct vft_domain *dom, uint32_t id, const char *name,
			 uint32_t first, uint32_t count)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_PARTITION_CREATE);
	vft_put_u32(&req, VFAB_A_PARTITION, id);
	if (name)
		vft_put_str(&req, VFAB_A_PARTITION_NAME, name);
	if (count)
		put_members(&req, VFAB_A_ADD_MEMBERS, first, count);
	return call_simple(&req);
}

int vft_partition_delete(const struct vft_domain *dom, uint32_t id)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_PARTITION_DELETE);
	vft_put_u32(&req, VFAB_A_PARTITION, id);
	return call_simple(&req);
}

static int partition_set(const struct vft_domain *dom, uint32_t id, int attr, uint32_t first,
			 uint32_t count)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_PARTITION_SET);
	vft_put_u32(&req, VFAB_A_PARTITION, id);
	put_members(&req, attr, first, count);
	return call_simple(&req);
}

int vft_partition_add(const struct vft_domain *dom, uint32_t id, uint32_t first, uint32_t count)
{
	return partition_set(dom, id, VFAB_A_ADD_MEMBERS, first, count);
}

int vft_partition_add_detached(const struct vft_domain *dom, uint32_t id, uint32_t first,
			       uint32_t count)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_PARTITION_SET);
	vft_put_u32(&req, VFAB_A_PARTITION, id);
	put_members(&req, VFAB_A_ADD_MEMBERS, first, count);
	vft_put_flag(&req, VFAB_A_IF_DETACHED);
	return call_simple(&req);
}

int vft_partition_active(const struct vft_domain *dom, uint32_t id, bool active, bool force)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_PARTITION_SET);
	vft_put_u32(&req, VFAB_A_PARTITION, id);
	vft_put_u8(&req, VFAB_A_ACTIVE, active);
	if (force)
		vft_put_flag(&req, VFAB_A_FORCE);
	return call_simple(&req);
}

int vft_partition_del(const struct vft_domain *dom, uint32_t id, uint32_t first, uint32_t count)
{
	return partition_set(dom, id, VFAB_A_DEL_MEMBERS, first, count);
}

int vft_channel_create(const struct vft_domain *dom, uint32_t partition, uint32_t channel,
		       uint32_t mode, uint32_t uid, uint32_t gid)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_CHANNEL_CREATE);
	vft_put_u32(&req, VFAB_A_PARTITION, partition);
	vft_put_u32(&req, VFAB_A_CHANNEL, channel);
	if (mode) {
		vft_put_u32(&req, VFAB_A_MODE, mode);
		vft_put_u32(&req, VFAB_A_UID, uid);
		vft_put_u32(&req, VFAB_A_GID, gid);
	}
	return call_simple(&req);
}

int vft_channel_delete(const struct vft_domain *dom, uint32_t partition, uint32_t channel,
		       bool force)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_CHANNEL_DELETE);
	vft_put_u32(&req, VFAB_A_PARTITION, partition);
	vft_put_u32(&req, VFAB_A_CHANNEL, channel);
	if (force)
		vft_put_flag(&req, VFAB_A_FORCE);
	return call_simple(&req);
}

int vft_evict(const struct vft_domain *dom, uint32_t rank)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_ENDPOINT_SET);
	vft_put_u32(&req, VFAB_A_RANK, rank);
	vft_put_flag(&req, VFAB_A_EVICT);
	return call_simple(&req);
}

int vft_evict_node(const struct vft_domain *dom, uint32_t node)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_ENDPOINT_SET);
	vft_put_u32(&req, VFAB_A_NODE, node);
	vft_put_flag(&req, VFAB_A_EVICT);
	return call_simple(&req);
}

int vft_link_node(const struct vft_domain *dom, uint32_t node, bool up)
{
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_LINK_SET);
	vft_put_u32(&req, VFAB_A_NODE, node);
	vft_put_u8(&req, VFAB_A_UP, up);
	return call_simple(&req);
}

uint64_t vft_endpoint_get(const struct vft_domain *dom, uint32_t rank, int attr)
{
	struct wanted w = { .attr = attr, .value = ~0ULL };
	struct vft_req req;

	req_domain(&req, dom, VFAB_CMD_ENDPOINT_GET);
	vft_put_u32(&req, VFAB_A_RANK, rank);
	if (vft_call(vft_nl(), &req, take, &w))
		return ~0ULL;
	return w.value;
}

uint64_t vft_msg_counter(const struct vft_msg *msg, uint32_t id)
{
	const struct nlattr *value;
	uint32_t is;
	unsigned int i;
	uint64_t v;

	for (i = 0; i < msg->counters; i++) {
		const char *nest = (const char *)(msg->counter[i] + 1);

		/* id, then value, behind the pad there may be */
		memcpy(&is, nest + NLA_HDRLEN, sizeof(is));
		value = (const void *)(nest + NLA_HDRLEN + sizeof(is));
		if ((value->nla_type & NLA_TYPE_MASK) == VFAB_COUNTER_A_PAD)
			value++;
		memcpy(&v, value + 1, sizeof(v));
		if (is == id)
			return v;
	}
	return ~0ULL;
}

struct wanted_counter {
	uint32_t id;
	uint64_t value;
};

static void take_counter(const struct vft_msg *msg, void *arg)
{
	struct wanted_counter *w = arg;

	w->value = vft_msg_counter(msg, w->id);
}

static void counter_req(struct vft_req *req, const struct vft_domain *dom, int cmd, int rank,
			int sw, int port)
{
	req_domain(req, dom, cmd);
	if (rank >= 0)
		vft_put_u32(req, VFAB_A_RANK, rank);
	if (sw >= 0)
		vft_put_u32(req, VFAB_A_SWITCH, sw);
	if (port >= 0)
		vft_put_u32(req, VFAB_A_PORT, port);
}

uint64_t vft_counter(const struct vft_domain *dom, int rank, int sw, int port, uint32_t id)
{
	struct wanted_counter w = { .id = id, .value = ~0ULL };
	struct vft_req req;

	counter_req(&req, dom, VFAB_CMD_COUNTER_GET, rank, sw, port);
	return vft_call(vft_nl(), &req, take_counter, &w) ? ~0ULL : w.value;
}

int vft_counter_clear(const struct vft_domain *dom, int rank, int sw, int port)
{
	struct vft_req req;

	counter_req(&req, dom, VFAB_CMD_COUNTER_CLEAR, rank, sw, port);
	return call_simple(&req);
}

/* --- device files -------------------------------------------------------- */

const char *vft_path(const struct vft_domain *dom, uint32_t partition)
{
	static __thread char path[64];

	if (partition)
		snprintf(path, sizeof(path), "/dev/vfabric/%u.%u", dom->id, partition);
	else
		snprintf(path, sizeof(path), "/dev/vfabric/%u", dom->id);
	return path;
}

int vft_open(const struct vft_domain *dom, uint32_t partition)
{
	int fd = open(vft_path(dom, partition), O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int do_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

int vft_attach(int fd, uint32_t rank)
{
	struct vfab_attach arg = { .rank = rank };

	return do_ioctl(fd, VFAB_IOC_ATTACH, &arg);
}

int vft_detach(int fd)
{
	return do_ioctl(fd, VFAB_IOC_DETACH, NULL);
}

static int attach_or_close(int fd, uint32_t rank)
{
	int ret;

	if (fd < 0)
		return fd;
	ret = vft_attach(fd, rank);
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

int vft_join_part(const struct vft_domain *dom, uint32_t partition, uint32_t rank)
{
	return attach_or_close(vft_open(dom, partition), rank);
}

int vft_join(const struct vft_domain *dom, uint32_t rank)
{
	return vft_join_part(dom, 0, rank);
}

const char *vft_channel_path(const struct vft_domain *dom, uint32_t partition,
			     uint32_t channel)
{
	static __thread char path[64];

	snprintf(path, sizeof(path), "/dev/vfabric/%u.%u.%u", dom->id, partition, channel);
	return path;
}

int vft_open_channel(const struct vft_domain *dom, uint32_t partition, uint32_t channel)
{
	int fd = open(vft_channel_path(dom, partition, channel), O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int vft_join_channel(const struct vft_domain *dom, uint32_t partition, uint32_t channel,
		     uint32_t rank)
{
	return attach_or_close(vft_open_channel(dom, partition, channel), rank);
}

int vft_alloc(int fd, uint64_t size, uint64_t tag, uint32_t access, uint64_t *handle)
{
	struct vfab_window_alloc arg = { .size = size, .tag = tag, .access = access };
	int ret = do_ioctl(fd, VFAB_IOC_WINDOW_ALLOC, &arg);

	if (!ret && handle)
		*handle = arg.handle;
	return ret;
}

int vft_free(int fd, uint64_t handle)
{
	struct vfab_window_free arg = { .handle = handle };

	return do_ioctl(fd, VFAB_IOC_WINDOW_FREE, &arg);
}

int vft_lookup(int fd, uint32_t rank, uint64_t tag, uint64_t deadline, uint64_t *handle)
{
	struct vfab_lookup arg = { .rank = rank, .tag = tag, .deadline = deadline };
	int ret = do_ioctl(fd, VFAB_IOC_LOOKUP, &arg);

	if (!ret && handle)
		*handle = arg.handle;
	return ret;
}

int vft_import(int fd, uint64_t handle, uint32_t access, uint32_t loss, uint64_t *cookie)
{
	struct vfab_import arg = { .handle = handle, .access = access, .loss = loss };
	int ret = do_ioctl(fd, VFAB_IOC_IMPORT, &arg);

	if (!ret && cookie)
		*cookie = arg.cookie;
	return ret;
}

int vft_release(int fd, uint64_t cookie)
{
	struct vfab_release arg = { .cookie = cookie };

	return do_ioctl(fd, VFAB_IOC_RELEASE, &arg);
}

int vft_bell(int fd, uint32_t rank, uint64_t *cookie)
{
	struct vfab_bell arg = { .rank = rank };
	int ret = do_ioctl(fd, VFAB_IOC_BELL, &arg);

	if (!ret && cookie)
		*cookie = arg.cookie;
	return ret;
}

int vft_ring(int fd, uint32_t rank, uint32_t vector)
{
	struct vfab_ring arg = { .rank = rank, .vector = vector };

	return do_ioctl(fd, VFAB_IOC_RING, &arg);
}

int vft_eventfd(int fd, uint32_t vector, int eventfd)
{
	struct vfab_eventfd arg = { .vector = vector, .fd = eventfd };

	return do_ioctl(fd, VFAB_IOC_EVENTFD, &arg);
}

struct vfab_count *vft_counts(int fd)
{
	struct vfab_counts c = { };

	if (ioctl(fd, VFAB_IOC_COUNTS, &c))
		return NULL;
	return vft_map(fd, c.cookie, c.bytes, PROT_READ | PROT_WRITE);
}

int vft_pace(int fd, uint32_t rank, uint32_t flags, uint64_t *bytes, uint64_t *at)
{
	struct vfab_pace p = { .rank = rank, .flags = flags, .bytes = *bytes };

	if (ioctl(fd, VFAB_IOC_PACE, &p))
		return -errno;
	*bytes = p.bytes;
	*at = p.at;
	return 0;
}

int vft_wait(int fd, uint32_t vector, uint64_t *count, uint64_t *loss, uint64_t deadline,
	     uint32_t *reason)
{
	struct vfab_wait arg = {
		.vector = vector, .count = *count, .loss = *loss, .deadline = deadline,
	};
	int ret = do_ioctl(fd, VFAB_IOC_WAIT, &arg);

	*count = arg.count;
	*loss = arg.loss;
	if (reason)
		*reason = arg.reason;
	return ret;
}

void *vft_map(int fd, uint64_t cookie, size_t size, int prot)
{
	void *p = mmap(NULL, size, prot, MAP_SHARED, fd, cookie);

	return p == MAP_FAILED ? NULL : p;
}

void *vft_import_map(int fd, uint64_t handle, size_t size, uint32_t access, uint32_t loss)
{
	uint64_t cookie;
	int ret = vft_import(fd, handle, access, loss, &cookie);

	if (ret) {
		errno = -ret;
		return NULL;
	}
	return vft_map(fd, cookie, size,
		       access & VFAB_ACCESS_WRITE ? PROT_READ | PROT_WRITE : PROT_READ);
}

const struct vfab_view *vft_view(int fd)
{
	struct vfab_info info;

	if (ioctl(fd, VFAB_IOC_INFO, &info))
		return NULL;
	return vft_map(fd, info.view_cookie, info.view_bytes, PROT_READ);
}

void vft_peer(const struct vfab_view *view, uint32_t rank, struct vfab_peer *peer)
{
	const volatile struct vfab_peer *p = &view->peer[rank];
	uint64_t generation;

	do {
		generation = __atomic_load_n(&p->generation, __ATOMIC_ACQUIRE);
		peer->losses = p->losses;
		peer->revoked = p->revoked;
		peer->state = p->state;
		peer->paths = p->paths;
		peer->rate = p->rate;
		peer->latency = p->latency;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (generation & 1 || generation != __atomic_load_n(&p->generation, __ATOMIC_RELAXED));
	peer->generation = generation;
}

int vft_bells(struct vft_bells *bells, int fd, uint32_t rank)
{
	uint64_t cookie;
	int ret = vft_bell(fd, rank, &cookie);

	if (ret)
		return ret;
	bells->fd = fd;
	bells->rank = rank;
	bells->counts = vft_map(fd, cookie, VFT_PAGE, PROT_READ | PROT_WRITE);
	if (!bells->counts)
		return -errno;
	bells->armed = vft_map(fd, cookie + VFT_PAGE, VFT_PAGE, PROT_READ);
	return bells->armed ? 0 : -errno;
}

_Atomic uint64_t *vft_count(const struct vft_bells *bells, uint32_t vector)
{
	return (_Atomic uint64_t *)(uintptr_t)(bells->counts + vector * VFAB_BELL_STRIDE);
}

uint64_t vft_armed(const struct vft_bells *bells, uint32_t vector)
{
	return *(const volatile uint64_t *)(bells->armed + vector * VFAB_BELL_STRIDE);
}

int vft_ding(const struct vft_bells *bells, uint32_t vector)
{
	atomic_fetch_add_explicit(vft_count(bells, vector), 1, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	return vft_armed(bells, vector) ? vft_ring(bells->fd, bells->rank, vector) : 0;
}
