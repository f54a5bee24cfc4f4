// SPDX-License-Identifier: GPL-2.0
/*
 * privilege: who may do what. Each command, the group of events, the device files
 * and the module itself are tried as each of those in the table below, which
 * Documentation/admin.rst shows (selftests/host/docs.sh compares). A command or a
 * group of the running module that has no row fails the test.
 *
 *	VFABRIC_KO=vfabric.ko build/selftests/privilege
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/genetlink.h>
#include "kselftest_harness.h"
#include "vft.h"

#define USER	1000

/*
 * Who tries. The domain in question is that of root in the initial network
 * namespace. "Passed": an ordinary user with what root opened, be it a netlink
 * socket or a device file.
 */
enum who { ROOT, UID0, ORDINARY, USERNS, OFF, ON, NETNS, SHARED, PASSED, WHOS };

static const char * const names[WHOS] = {
	"root", "uid 0", "user", "userns", "off", "on", "netns", "shared", "passed",
};

/* What is tried and is no command */
enum { HOLDER = 1000, MANAGER, EVENTS, OPEN_ROOT, OPEN_GROUP, ATTACH, LOAD, PARAM };

/*
 * yes	it is done
 * no	it is refused (EPERM; of files EACCES)
 * none	there is no such domain (ENOENT), nor one of his own
 * own	with his own domain; with that of others it is refused
 */
#define ROW(what, cmd, verdicts) { what, cmd, verdicts }
#define CMD(name) VFAB_CMD_##name

static const struct row {
	const char *what;
	int cmd;
	const char *verdicts;	/* one for each of enum who */
} rows[] = {
	/* root, uid 0, user, userns, off, on, netns, shared, passed */
	ROW("system-get", CMD(SYSTEM_GET),		"yes,yes,yes,yes,yes,yes,yes,yes,yes"),
	ROW("system-set", CMD(SYSTEM_SET),		"yes,no,no,no,no,no,yes,yes,no"),
	ROW("domain-get", CMD(DOMAIN_GET),		"yes,yes,yes,yes,none,own,own,yes,yes"),
	ROW("domain-create", CMD(DOMAIN_CREATE),	"yes,no,no,no,no,yes,yes,yes,no"),
	ROW("domain-delete", CMD(DOMAIN_DELETE),	"yes,no,no,no,none,own,own,own,no"),
	ROW("domain-set", CMD(DOMAIN_SET),		"yes,no,no,no,none,own,own,own,no"),
	ROW("partition-get", CMD(PARTITION_GET),	"yes,yes,yes,yes,none,own,own,yes,yes"),
	ROW("partition-create", CMD(PARTITION_CREATE),	"yes,no,no,no,none,own,own,own,no"),
	ROW("partition-delete", CMD(PARTITION_DELETE),	"yes,no,no,no,none,own,own,own,no"),
	ROW("partition-set", CMD(PARTITION_SET),	"yes,no,no,no,none,own,own,own,no"),
	ROW("endpoint-get", CMD(ENDPOINT_GET),		"yes,yes,yes,yes,none,own,own,yes,yes"),
	ROW("endpoint-set", CMD(ENDPOINT_SET),		"yes,no,no,no,none,own,own,own,no"),
	ROW("window-get", CMD(WINDOW_GET),		"yes,yes,yes,yes,none,own,own,yes,yes"),
	ROW("switch-get", CMD(SWITCH_GET),		"yes,yes,yes,yes,none,own,own,yes,yes"),
	ROW("switch-set", CMD(SWITCH_SET),		"yes,no,no,no,none,own,own,own,no"),
	ROW("port-get", CMD(PORT_GET),			"yes,yes,yes,yes,none,own,own,yes,yes"),
	ROW("port-set", CMD(PORT_SET),			"yes,no,no,no,none,own,own,own,no"),
	ROW("link-get", CMD(LINK_GET),			"yes,yes,yes,yes,none,own,own,yes,yes"),
	ROW("link-set", CMD(LINK_SET),			"yes,no,no,no,none,own,own,own,no"),
	ROW("route-get", CMD(ROUTE_GET),		"yes,yes,yes,yes,none,own,own,yes,yes"),
	ROW("route-set", CMD(ROUTE_SET),		"yes,no,no,no,none,own,own,own,no"),
	ROW("route-trace", CMD(ROUTE_TRACE),		"yes,yes,yes,yes,none,own,own,yes,yes"),
	ROW("path-get", CMD(PATH_GET),			"yes,yes,yes,yes,none,own,own,yes,yes"),
	ROW("channel-get", CMD(CHANNEL_GET),		"yes,yes,yes,yes,none,own,own,yes,yes"),
	ROW("channel-create", CMD(CHANNEL_CREATE),	"yes,no,no,no,none,own,own,own,no"),
	ROW("channel-delete", CMD(CHANNEL_DELETE),	"yes,no,no,no,none,own,own,own,no"),
	ROW("counter-get", CMD(COUNTER_GET),		"yes,yes,yes,yes,none,own,own,yes,yes"),
	ROW("counter-clear", CMD(COUNTER_CLEAR),	"yes,no,no,no,none,own,own,own,no"),
	ROW("fault-get", CMD(FAULT_GET),		"yes,yes,yes,yes,none,own,own,yes,yes"),
	ROW("fault-create", CMD(FAULT_CREATE),		"yes,no,no,no,none,own,own,own,no"),
	ROW("fault-delete", CMD(FAULT_DELETE),		"yes,no,no,no,none,own,own,own,no"),
	ROW("manager-heartbeat", CMD(MANAGER_HEARTBEAT), "yes,no,no,no,none,own,own,own,no"),
	ROW("manager-goodbye", CMD(MANAGER_GOODBYE),	"yes,no,no,no,none,own,own,own,no"),
	/* Everybody may look; these tests run where there is none. */
	ROW("backplane-get", CMD(BACKPLANE_GET),
	    "none,none,none,none,none,none,none,none,none"),
	ROW("backplane-node-get", CMD(BACKPLANE_NODE_GET),
	    "none,none,none,none,none,none,none,none,none"),
	ROW("events", EVENTS,				"yes,yes,yes,yes,none,own,own,own,yes"),
	ROW("holder-pid", HOLDER,			"yes,no,no,no,none,own,own,yes,no"),
	ROW("manager-pid", MANAGER,			"yes,no,no,no,none,own,own,yes,no"),
	ROW("open 0600", OPEN_ROOT,			"yes,yes,no,no,no,own,yes,yes,no"),
	ROW("open 0660", OPEN_GROUP,			"yes,yes,yes,yes,yes,yes,yes,yes,yes"),
	ROW("attach", ATTACH,				"yes,yes,yes,yes,yes,yes,yes,yes,yes"),
	ROW("insmod", LOAD,				"yes,yes,no,no,no,no,yes,yes,no"),
	ROW("parameters", PARAM,			"no,no,no,no,no,no,no,no,no"),
};

static const char *verdict(const struct row *row, enum who who)
{
	static char word[8];
	const char *p = row->verdicts;
	unsigned int i;

	for (i = 0; i < who; i++)
		p = strchr(p, ',') + 1;
	sscanf(p, "%7[^,]", word);
	return word;
}

/* --- what is tried it on ------------------------------------------------------- */

struct scene {
	struct vft_domain dom;
	uint64_t handle;
	int fd;			/* rank 0 */
	int spare;		/* opened, not attached */
};

static int fault_create(const struct vft_domain *dom)
{
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_FAULT_CREATE, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	vft_put_u32(&req, VFAB_A_FAULT_KIND, VFAB_FAULT_LINK_DOWN);
	return vft_call(vft_nl(), &req, NULL, NULL);
}

/* As many objects as each command takes, for which @opt's owner must be an admin */
static int scene_make(struct scene *s, const struct vft_options *opt)
{
	int ret = vft_domain_create(&s->dom, 4, opt);

	s->fd = -1;
	s->spare = -1;
	ret = ret ?: vft_partition_create(&s->dom, 1, NULL, 0, 0);
	ret = ret ?: vft_channel_create(&s->dom, 0, 5, opt ? opt->mode : 0, 0,
					opt ? opt->gid : 0);
	ret = ret ?: fault_create(&s->dom);
	if (ret)
		return ret;
	s->fd = vft_join(&s->dom, 0);
	s->spare = vft_open(&s->dom, 0);
	if (s->fd < 0 || s->spare < 0)
		return -EBADF;
	return vft_alloc(s->fd, VFT_PAGE, 7, VFT_RW, &s->handle);
}

static void scene_end(struct scene *s)
{
	close(s->fd);
	close(s->spare);
	vft_domain_delete(&s->dom, true);
	/* it may have been deleted already */
	s->dom.exists = false;
}

/* --- requests -------------------------------------------------------------------- */

/* A request that is good where one may: its attributes are those of @s */
static void request(struct vft_req *req, const struct vft_nl *nl, const struct scene *s, int cmd)
{
	vft_req(req, nl, cmd, NLM_F_ACK);
	switch (cmd) {
	case VFAB_CMD_SYSTEM_GET:
		return;
	case VFAB_CMD_SYSTEM_SET:
		vft_put_u32(req, VFAB_A_NETNS_MODE, VFAB_NETNS_SHARED);
		return;
	case VFAB_CMD_DOMAIN_CREATE:
		vft_put_u32(req, VFAB_A_WORLD, 2);
		return;
	case VFAB_CMD_BACKPLANE_NODE_GET:
		vft_put_u32(req, VFAB_A_NODE, 0);
		/* fallthrough */
	case VFAB_CMD_BACKPLANE_GET:
		vft_put_str(req, VFAB_A_BACKPLANE, "rack");
		return;
	}
	vft_put_u32(req, VFAB_A_DOMAIN, s->dom.id);
	switch (cmd) {
	case VFAB_CMD_DOMAIN_DELETE:
		vft_put_flag(req, VFAB_A_FORCE);
		break;
	case VFAB_CMD_DOMAIN_SET:
		vft_put_u32(req, VFAB_A_RETRY_TIMEOUT, 5);
		break;
	case VFAB_CMD_PARTITION_SET:
		vft_put(req, VFAB_A_ADD_MEMBERS, "\x8", 1);
		/* fallthrough */
	case VFAB_CMD_PARTITION_GET:
	case VFAB_CMD_PARTITION_DELETE:
		vft_put_u32(req, VFAB_A_PARTITION, 1);
		break;
	case VFAB_CMD_CHANNEL_GET:
	case VFAB_CMD_CHANNEL_CREATE:
	case VFAB_CMD_CHANNEL_DELETE:
		vft_put_u32(req, VFAB_A_PARTITION, 0);
		vft_put_u32(req, VFAB_A_CHANNEL, cmd == VFAB_CMD_CHANNEL_CREATE ? 6 : 5);
		break;
	case VFAB_CMD_ENDPOINT_SET:
		vft_put_flag(req, VFAB_A_EVICT);
		/* fallthrough */
	case VFAB_CMD_ENDPOINT_GET:
	case VFAB_CMD_PATH_GET:
	case VFAB_CMD_COUNTER_GET:
	case VFAB_CMD_COUNTER_CLEAR:
		vft_put_u32(req, VFAB_A_RANK, 0);
		break;
	case VFAB_CMD_WINDOW_GET:
		vft_put_u64(req, VFAB_A_HANDLE, s->handle);
		break;
	case VFAB_CMD_SWITCH_SET:
		vft_put_u8(req, VFAB_A_UP, 0);
		/* fallthrough */
	case VFAB_CMD_SWITCH_GET:
		vft_put_u32(req, VFAB_A_SWITCH, 0);
		break;
	case VFAB_CMD_PORT_SET:
	case VFAB_CMD_LINK_SET:
		vft_put_u8(req, VFAB_A_UP, 0);
		/* fallthrough */
	case VFAB_CMD_PORT_GET:
	case VFAB_CMD_LINK_GET:
		vft_put_u32(req, VFAB_A_RANK, 0);
		vft_put_u32(req, VFAB_A_PORT, 0);
		break;
	case VFAB_CMD_ROUTE_SET:
		vft_put_flag(req, VFAB_A_DROP);
		/* fallthrough */
	case VFAB_CMD_ROUTE_GET:
		vft_put_u32(req, VFAB_A_SWITCH, 0);
		vft_put_u32(req, VFAB_A_DEST, 0);
		break;
	case VFAB_CMD_ROUTE_TRACE:
		vft_put_u32(req, VFAB_A_SRC, 1);
		vft_put_u32(req, VFAB_A_DST, 2);
		break;
	case VFAB_CMD_FAULT_CREATE:
		vft_put_u32(req, VFAB_A_FAULT_KIND, VFAB_FAULT_LINK_DOWN);
		break;
	case VFAB_CMD_FAULT_GET:
	case VFAB_CMD_FAULT_DELETE:
		vft_put_u32(req, VFAB_A_FAULT_ID, 1);
		break;
	case VFAB_CMD_MANAGER_HEARTBEAT:
		vft_put_u32(req, VFAB_A_MANAGER_TIMEOUT, 60000);
		break;
	}
}

/* The commands that the running module has, and whether they dump */
static struct {
	uint32_t flags[VFAB_CMD_MAX + 2];
	unsigned int commands, groups;
} module;

static const struct nlattr *next(const struct nlattr *a)
{
	return (const void *)((const char *)a + NLA_ALIGN(a->nla_len));
}

#define for_each_in(a, nest)						\
	for (a = (nest) + 1; (const char *)a < (const char *)(nest) + (nest)->nla_len; a = next(a))

static void note_op(const struct nlattr *op)
{
	const struct nlattr *a;
	uint32_t id = 0, flags = 0;

	for_each_in(a, op) {
		if (a->nla_type == CTRL_ATTR_OP_ID)
			memcpy(&id, a + 1, sizeof(id));
		if (a->nla_type == CTRL_ATTR_OP_FLAGS)
			memcpy(&flags, a + 1, sizeof(flags));
	}
	module.commands++;
	module.flags[id <= VFAB_CMD_MAX ? id : VFAB_CMD_MAX + 1] = flags;
}

/* What the kernel says of the family: more than what this was compiled with */
static int ask_module(void)
{
	static char buf[16384] __attribute__((aligned(8)));
	struct vft_nl nl;
	struct vft_req req;
	const struct nlattr *a, *op;
	const struct nlmsghdr *nlh = (const void *)buf;
	ssize_t n;

	memset(&module, 0, sizeof(module));
	if (vft_nl_open(&nl))
		return -ENOENT;
	vft_req(&req, &nl, CTRL_CMD_GETFAMILY, 0);
	req.nlh.nlmsg_type = GENL_ID_CTRL;
	req.nlh.nlmsg_flags = NLM_F_REQUEST;
	((struct genlmsghdr *)(req.buf + NLMSG_HDRLEN))->version = 1;
	vft_put_str(&req, CTRL_ATTR_FAMILY_NAME, VFAB_GENL_NAME);
	vft_send(&nl, &req);
	n = recv(nl.fd, buf, sizeof(buf), 0);
	vft_nl_close(&nl);
	if (n < (ssize_t)NLMSG_HDRLEN || nlh->nlmsg_type != GENL_ID_CTRL)
		return -EBADMSG;
	for (a = (const void *)(buf + NLMSG_HDRLEN + GENL_HDRLEN); (const char *)a < buf + n;
	     a = next(a)) {
		if ((a->nla_type & NLA_TYPE_MASK) == CTRL_ATTR_OPS)
			for_each_in(op, a)
				note_op(op);
		if ((a->nla_type & NLA_TYPE_MASK) == CTRL_ATTR_MCAST_GROUPS)
			for_each_in(op, a)
				module.groups++;
	}
	return 0;
}

/* --- trying ------------------------------------------------------------------------ */

static void has_pid(const struct vft_msg *msg, void *arg)
{
	if (msg->a[VFAB_A_HOLDER_PID] || msg->a[VFAB_A_HOLDER_COMM] || msg->a[VFAB_A_MANAGER_PID])
		*(bool *)arg = true;
}

/* Is it shown who holds an endpoint, or manages a domain: asked for, in a dump? */
static int try_pid(struct vft_nl *nl, const struct scene *s, int cmd)
{
	bool one = false, dump = false;
	struct vft_req req;
	int ret;

	request(&req, nl, s, cmd);
	ret = vft_call(nl, &req, has_pid, &one);
	if (ret)
		return ret;
	vft_req(&req, nl, cmd, NLM_F_DUMP);
	ret = vft_call(nl, &req, has_pid, &dump);
	if (ret || one != dump)
		return ret ?: -EPROTO;
	return one ? 0 : -EPERM;
}

static int try_command(struct vft_nl *nl, const struct scene *s, int cmd)
{
	struct vft_req req;
	int ret, dump;

	request(&req, nl, s, cmd);
	ret = vft_call(nl, &req, NULL, NULL);
	/* where it is not the kernel that refuses, it is said why */
	if (ret == -ENOENT && !nl->text[0])
		return -EPROTO;
	if (!(module.flags[cmd] & GENL_CMD_CAP_DUMP))
		return ret;
	request(&req, nl, s, cmd);
	req.nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	dump = vft_call(nl, &req, NULL, NULL);
	return ret == dump ? ret : -EPROTO;
}

/* Each kind of device file */
static int try_open(const struct scene *s)
{
	char path[3][40];
	int ret = 0, all = 0, fd;
	unsigned int i;

	snprintf(path[0], sizeof(path[0]), "%s", vft_path(&s->dom, 0));
	snprintf(path[1], sizeof(path[1]), "%s", vft_path(&s->dom, 1));
	snprintf(path[2], sizeof(path[2]), "%s", vft_channel_path(&s->dom, 0, 5));
	for (i = 0; i < 3; i++) {
		fd = open(path[i], O_RDWR | O_CLOEXEC);
		ret = fd < 0 ? -errno : 0;
		if (i && ret != all)
			return -EPROTO;
		all = ret;
		if (fd >= 0)
			close(fd);
	}
	return all == -EACCES ? -EPERM : all;
}

/* All that one may do with a file that is open already */
static int try_attach(int fd)
{
	uint64_t handle;
	char *p;
	int ret = vft_attach(fd, 1);

	ret = ret ?: vft_alloc(fd, VFT_PAGE, 9, VFT_RW, &handle);
	if (ret)
		return ret;
	p = vft_import_map(fd, handle, VFT_PAGE, VFT_RW, 0);
	return p ? vft_store(p, 1) : -errno;
}

/* No module, and one that is in use: who may is told that, who may not is told so */
static int try_load(void)
{
	int load = syscall(SYS_init_module, "", 0, "") ? -errno : 0;
	int unload = vft_module_unload();

	if (load == -ENOEXEC && unload == -EAGAIN)
		return 0;
	return load == unload ? load : -EPROTO;
}

static int try_parameters(void)
{
	int fd = open("/sys/module/vfabric/parameters/userns_domains", O_WRONLY);

	return fd >= 0 ? 0 : errno == EACCES ? -EPERM : -errno;
}

static int try(struct vft_nl *nl, const struct scene *s, int fd, int cmd)
{
	switch (cmd) {
	case HOLDER:
		return try_pid(nl, s, VFAB_CMD_ENDPOINT_GET);
	case MANAGER:
		return try_pid(nl, s, VFAB_CMD_DOMAIN_GET);
	case OPEN_ROOT:
	case OPEN_GROUP:
		return try_open(s);
	case ATTACH:
		return try_attach(fd);
	case LOAD:
		return try_load();
	case PARAM:
		return try_parameters();
	}
	return try_command(nl, s, cmd);
}

/* The events that came so far: of @s's domain? */
static int heard(struct vft_nl *nl, const struct scene *s, unsigned int ms)
{
	static char buf[4096] __attribute__((aligned(8)));
	struct vft_msg msg;

	while (!vft_event(nl, ms, &msg, buf, sizeof(buf)))
		if (msg.a[VFAB_A_DOMAIN] && vft_u32(&msg, VFAB_A_DOMAIN) == s->dom.id)
			return 0;
	return -ENOENT;
}

/* --- as whom ------------------------------------------------------------------------- */

static int drop_net_admin(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		return -errno;
	data[0].effective &= ~(1U << CAP_NET_ADMIN);
	data[0].permitted &= ~(1U << CAP_NET_ADMIN);
	vft_nl_reset();
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

static int become(enum who who)
{
	switch (who) {
	case UID0:
		return drop_net_admin();
	case ORDINARY:
	case PASSED:
		return vft_become(USER, 0);
	case USERNS:
		return vft_become(USER, CLONE_NEWUSER);
	case OFF:
	case ON:
		return vft_become(USER, CLONE_NEWUSER | CLONE_NEWNET);
	case NETNS:
	case SHARED:
		return vft_become(0, CLONE_NEWNET);
	default:
		return 0;
	}
}

static int set_shared(bool shared)
{
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_SYSTEM_SET, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_NETNS_MODE, shared ? VFAB_NETNS_SHARED : VFAB_NETNS_EXCLUSIVE);
	return vft_call(vft_nl(), &req, NULL, NULL);
}

/* What came of it, where the child and its parent see it */
struct trial {
	_Atomic int phase;	/* 1: listens, 2: something has happened */
	int become;
	int other;		/* with root's domain */
	int own;		/* with one of his own */
};

static int heartbeat(struct vft_nl *nl, const struct scene *s)
{
	struct vft_req req;

	request(&req, nl, s, VFAB_CMD_MANAGER_HEARTBEAT);
	return vft_call(nl, &req, NULL, NULL);
}

static int try_own(struct vft_nl *nl, int cmd)
{
	struct scene own;
	int ret = scene_make(&own, NULL);

	if (!ret && (cmd == VFAB_CMD_MANAGER_GOODBYE || cmd == MANAGER))
		ret = heartbeat(nl, &own);
	if (!ret)
		ret = cmd == EVENTS ? heard(nl, &own, 1000) : try(nl, &own, own.spare, cmd);
	scene_end(&own);
	return ret;
}

/* The child: he who tries, with a file and a netlink socket that root opened */
static void as_another(struct trial *t, const struct scene *s, struct vft_nl *nl, int sock,
		       enum who who, const struct row *row)
{
	int fd, ret = become(who);

	fd = vft_recv_fd(sock);
	close(nl->fd);
	nl->fd = vft_recv_fd(sock);
	if (!ret && who != PASSED) {
		vft_nl_close(nl);
		ret = vft_nl_open(nl);
	}
	if (!ret && row->cmd == EVENTS)
		ret = vft_nl_listen(nl);
	if (!ret && row->cmd == VFAB_CMD_MANAGER_GOODBYE && who == ROOT)
		ret = heartbeat(nl, s);
	t->become = ret;
	t->phase = 1;
	if (ret)
		_exit(1);
	vft_until(5000, t->phase == 2);
	t->other = row->cmd == EVENTS ? heard(nl, s, 100) : try(nl, s, fd, row->cmd);
	if (row->cmd == VFAB_CMD_DOMAIN_CREATE)
		vft_domain_sweep("dom");
	if (!strcmp(verdict(row, who), "own"))
		t->own = try_own(nl, row->cmd);
	_exit(0);
}

/* What @row says of root's domain: 0 or an errno */
static int expected(const struct row *row, enum who who)
{
	const char *word = verdict(row, who);

	if (!strcmp(word, "yes"))
		return 0;
	if (!strcmp(word, "no"))
		return -EPERM;
	/* of what is not his: seen where it is shared, and files are always there */
	if (!strcmp(word, "own") && row->cmd != EVENTS &&
	    (who == SHARED || row->cmd == OPEN_ROOT))
		return -EPERM;
	return -ENOENT;
}

FIXTURE(privilege) {
	struct trial *t;
};

FIXTURE_VARIANT(privilege) {
	const char *params;
	enum who without;
};

FIXTURE_VARIANT_ADD(privilege, off) {
	.params = "",
	.without = ON,
};

FIXTURE_VARIANT_ADD(privilege, on) {
	.params = "userns_domains=64 userns_world=8",
	.without = OFF,
};

FIXTURE_SETUP(privilege)
{
	ASSERT_NE(NULL, getenv("VFABRIC_KO"));
	if (vft_module_loaded())
		ASSERT_EQ(0, vft_module_unload());
	ASSERT_EQ(0, vft_module_load(variant->params));
	self->t = vft_shared(sizeof(*self->t));
	ASSERT_EQ(0, ask_module());
}

FIXTURE_TEARDOWN_PARENT(privilege)
{
	int ret = -1;

	EXPECT_EQ(true, vft_until(10000, !(ret = vft_module_unload())));
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, vft_module_load(""));
}

/* Else somebody could do something that the table does not tell of. */
TEST_F(privilege, each_command_and_group_has_its_row)
{
	unsigned int i, commands = 0;
	int cmd;

	for (cmd = 0; cmd <= VFAB_CMD_MAX + 1; cmd++) {
		bool found = false;

		for (i = 0; i < ARRAY_SIZE(rows); i++)
			found = found || rows[i].cmd == cmd;
		EXPECT_EQ(!!module.flags[cmd], found) {
			TH_LOG("command %d", cmd);
		}
		commands += found;
	}
	EXPECT_EQ(module.commands, commands);
	EXPECT_LT(30, commands);
	/* "events" */
	EXPECT_EQ(1, module.groups);
}

/* Does it leave the scene as it was, where it is not refused? */
static bool only_looks(const struct row *row)
{
	return row->cmd > VFAB_CMD_MAX ? row->cmd != ATTACH :
	       strstr(row->what, "-get") || row->cmd == VFAB_CMD_ROUTE_TRACE;
}

static void one_trial(struct __test_metadata *_metadata, struct trial *t, struct scene *s,
		      const struct row *row, enum who who)
{
	struct vft_options opt = { .mode = 0660, .gid = USER };
	struct vft_nl passed;
	uint64_t before = 0;
	int socks[2];
	pid_t pid;

	if (!s->dom.exists)
		ASSERT_EQ(0, scene_make(s, row->cmd == OPEN_GROUP ? &opt : NULL));
	ASSERT_EQ(0, set_shared(who == SHARED));
	if (row->cmd == MANAGER)
		ASSERT_EQ(0, heartbeat(vft_nl(), s));
	if (row->cmd <= VFAB_CMD_MAX && expected(row, who))
		before = vft_everything();
	ASSERT_EQ(0, vft_nl_open(&passed));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	*t = (struct trial){ .become = 1, .other = 1 };
	pid = vft_fork();
	if (!pid)
		as_another(t, s, &passed, socks[0], who, row);
	vft_send_fd(socks[1], s->spare);
	vft_send_fd(socks[1], passed.fd);
	ASSERT_EQ(true, vft_until(5000, t->phase));
	if (row->cmd == EVENTS) {
		EXPECT_EQ(0, vft_link(&s->dom, 1, -1, false));
		EXPECT_EQ(0, vft_link(&s->dom, 1, -1, true));
	}
	t->phase = 2;
	EXPECT_EQ(0, vft_wait_pid(pid, 20000));
	EXPECT_EQ(0, t->become);
	EXPECT_EQ(expected(row, who), t->other) {
		TH_LOG("%s as %s: %s", row->what, names[who], strerror(-t->other));
	}
	EXPECT_EQ(0, t->own) {
		TH_LOG("%s as %s, in a domain of his own: %s", row->what, names[who],
		       strerror(-t->own));
	}
	if (before)
		EXPECT_EQ(before, vft_everything()) {
			TH_LOG("%s as %s was refused, but has changed something", row->what,
			       names[who]);
		}
	close(socks[0]);
	close(socks[1]);
	vft_nl_close(&passed);
	ASSERT_EQ(0, set_shared(false));
	if (!expected(row, who) && !only_looks(row))
		scene_end(s);
}

TEST_F_TIMEOUT(privilege, as_the_table_says, 300)
{
	struct scene s = { };
	enum who who;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (who = ROOT; who < WHOS; who++)
			if (who != variant->without)
				one_trial(_metadata, self->t, &s, &rows[i], who);
		if (s.dom.exists)
			scene_end(&s);
	}
}

TEST_HARNESS_MAIN
