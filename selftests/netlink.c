// SPDX-License-Identifier: GPL-2.0
/*
 * netlink: the control plane. What each command does and shows, that every bad
 * request is refused with an errno, a sentence and the attribute at fault and
 * changes nothing, who may do what from which namespace, dumps that end, resume
 * and admit that they were interrupted, and events that match what happened.
 *
 *	build/selftests/netlink
 *	build/selftests/netlink -r nl.refusals
 */
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <linux/genetlink.h>
#include "kselftest_harness.h"
#include "vft.h"

/*
 * Four ranks, two planes; rank 3 is in partition 1, "other". Rank 0 is held,
 * with one window that it has imported itself.
 */
FIXTURE(nl) {
	struct vft_domain dom;
	int fd;
	uint64_t handle;
};

/* What FIXTURE_DATA(nl) is: the helpers below take it */
#define nl_data _test_data_nl

FIXTURE_SETUP(nl)
{
	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, NULL));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, "other", 3, 1));
	self->fd = vft_join(&self->dom, 0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, vft_alloc(self->fd, VFT_PAGE, 7, VFT_RW, &self->handle));
	ASSERT_EQ(0, vft_import(self->fd, self->handle, VFT_R, 0, NULL));
}

FIXTURE_TEARDOWN_PARENT(nl)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

/* --- one answer ---------------------------------------------------------------- */

/* A copy of a message, so that it outlives the buffer that it came in */
struct answer {
	unsigned int messages;
	uint32_t u[VFT_ATTRS];
	uint64_t v[VFT_ATTRS];
	bool has[VFT_ATTRS];
	char text[VFT_ATTRS][64];	/* also of strings and binaries */
	unsigned int len[VFT_ATTRS];
	unsigned int hops;
	uint32_t verdict[VFAB_MAX_PLANES];
};

static void keep_hop(struct answer *a, const struct nlattr *nest)
{
	const char *p = (const char *)nest + NLA_HDRLEN;
	const char *end = (const char *)nest + nest->nla_len;

	while (p + NLA_HDRLEN <= end) {
		const struct nlattr *in = (const void *)p;

		if ((in->nla_type & NLA_TYPE_MASK) == VFAB_HOP_A_VERDICT)
			memcpy(&a->verdict[a->hops], p + NLA_HDRLEN, sizeof(uint32_t));
		p += NLA_ALIGN(in->nla_len);
	}
	a->hops++;
}

static void keep(const struct vft_msg *msg, void *arg)
{
	struct answer *a = arg;
	unsigned int i;

	a->messages++;
	for (i = 0; i < VFT_ATTRS; i++) {
		unsigned int len;

		if (!msg->a[i])
			continue;
		len = msg->a[i]->nla_len - NLA_HDRLEN;
		a->has[i] = true;
		a->u[i] = vft_u32(msg, i);
		a->v[i] = vft_u64(msg, i);
		a->len[i] = len;
		memcpy(a->text[i], msg->a[i] + 1, len < 63 ? len : 63);
	}
	for (i = 0; i < msg->hops; i++)
		keep_hop(a, msg->hop[i]);
}

static void get(struct vft_req *req, const struct vft_domain *dom, int cmd)
{
	vft_req(req, vft_nl(), cmd, NLM_F_ACK);
	vft_put_u32(req, VFAB_A_DOMAIN, dom->id);
}

static int ask(struct vft_req *req, struct answer *a)
{
	memset(a, 0, sizeof(*a));
	return vft_call(vft_nl(), req, keep, a);
}

/* cmd(dom, attr1=value1, attr2=value2); attributes of 0 are left out */
static int ask2(const struct vft_domain *dom, int cmd, int attr1, uint32_t value1,
		int attr2, uint32_t value2, struct answer *a)
{
	struct vft_req req;

	get(&req, dom, cmd);
	if (attr1)
		vft_put_u32(&req, attr1, value1);
	if (attr2)
		vft_put_u32(&req, attr2, value2);
	return ask(&req, a);
}

/* --- what is shown ----------------------------------------------------------------- */

TEST_F(nl, system_is_shown)
{
	struct vft_req req;
	struct answer a;

	vft_req(&req, vft_nl(), VFAB_CMD_SYSTEM_GET, NLM_F_ACK);
	ASSERT_EQ(0, ask(&req, &a));
	EXPECT_EQ(VFAB_NETNS_EXCLUSIVE, a.u[VFAB_A_NETNS_MODE]);
	EXPECT_EQ(1, a.u[VFAB_A_DOMAINS]);
	EXPECT_EQ(true, a.has[VFAB_A_USER_MEM_LIMIT]);
}

static void count_backplane(const struct vft_msg *msg, void *arg)
{
	*(unsigned int *)arg += !!msg->a[VFAB_A_BACKPLANE];
}

/* No device, no backplane: selftests/host/backplane.sh has those that are there */
TEST_F(nl, no_backplane_is_shown)
{
	static const int cmds[] = { VFAB_CMD_BACKPLANE_GET, VFAB_CMD_BACKPLANE_NODE_GET };
	unsigned int count = 0;
	struct vft_req req;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		vft_req(&req, vft_nl(), cmds[i], NLM_F_DUMP);
		ASSERT_EQ(0, vft_call(vft_nl(), &req, count_backplane, &count));
	}
	EXPECT_EQ(0, count);
}

TEST_F(nl, domain_is_shown)
{
	struct vft_req req;
	struct answer a, b;

	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_DOMAIN_GET, 0, 0, 0, 0, &a));
	EXPECT_EQ(self->dom.id, a.u[VFAB_A_DOMAIN]);
	EXPECT_STREQ(self->dom.name, a.text[VFAB_A_DOMAIN_NAME]);
	EXPECT_EQ(16, a.len[VFAB_A_UUID]);
	EXPECT_EQ(4, a.u[VFAB_A_WORLD]);
	EXPECT_EQ(2, a.u[VFAB_A_PLANES]);
	EXPECT_EQ(0600, a.u[VFAB_A_MODE]);
	EXPECT_EQ(0, a.u[VFAB_A_UID]);
	EXPECT_EQ(VFAB_PEER_DEATH_REVOKE, a.u[VFAB_A_PEER_DEATH]);
	EXPECT_EQ(0, a.u[VFAB_A_RETRY_TIMEOUT]);
	EXPECT_EQ(true, a.has[VFAB_A_MEM_LIMIT]);
	EXPECT_EQ(VFT_PAGE, a.v[VFAB_A_MEM_USED]);
	EXPECT_EQ(1, a.u[VFAB_A_ATTACHED]);
	/* by name, and by both */
	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_GET, NLM_F_ACK);
	vft_put_str(&req, VFAB_A_DOMAIN_NAME, self->dom.name);
	ASSERT_EQ(0, ask(&req, &b));
	EXPECT_EQ(self->dom.id, b.u[VFAB_A_DOMAIN]);
	get(&req, &self->dom, VFAB_CMD_DOMAIN_GET);
	vft_put_str(&req, VFAB_A_DOMAIN_NAME, self->dom.name);
	ASSERT_EQ(0, ask(&req, &b));
	EXPECT_EQ(0, memcmp(a.text[VFAB_A_UUID], b.text[VFAB_A_UUID], 16));
	/* a change of topology counts */
	ASSERT_EQ(0, vft_link(&self->dom, 0, 0, false));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_DOMAIN_GET, 0, 0, 0, 0, &b));
	EXPECT_LT(a.v[VFAB_A_GENERATION], b.v[VFAB_A_GENERATION]);
}

TEST_F(nl, domain_set)
{
	ASSERT_EQ(0, vft_domain_set(&self->dom, VFAB_A_RETRY_TIMEOUT, 60000));
	EXPECT_EQ(60000, vft_domain_get(&self->dom, VFAB_A_RETRY_TIMEOUT));
	ASSERT_EQ(0, vft_domain_set(&self->dom, VFAB_A_PEER_DEATH, VFAB_PEER_DEATH_KEEP));
	EXPECT_EQ(VFAB_PEER_DEATH_KEEP, vft_domain_get(&self->dom, VFAB_A_PEER_DEATH));
	ASSERT_EQ(0, vft_domain_set(&self->dom, VFAB_A_MEM_LIMIT, 1ULL << 40));
	EXPECT_EQ(1ULL << 40, vft_domain_get(&self->dom, VFAB_A_MEM_LIMIT));
}

TEST_F(nl, domain_create_with_everything)
{
	static const char uuid[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 'v', 'f', 'a', 'b', 'r', 'i', 'c' };
	struct vft_domain dom = { };
	struct vft_req req;
	struct answer a;

	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_CREATE, NLM_F_ACK);
	vft_put_str(&req, VFAB_A_DOMAIN_NAME, "Z9_everything.of-it");
	vft_put(&req, VFAB_A_UUID, uuid, 16);
	vft_put_u32(&req, VFAB_A_WORLD, 8);
	vft_put_u32(&req, VFAB_A_PLANES, 64);
	vft_put_u32(&req, VFAB_A_MODE, 0640);
	vft_put_u32(&req, VFAB_A_UID, 1001);
	vft_put_u32(&req, VFAB_A_GID, 1002);
	vft_put_u32(&req, VFAB_A_PEER_DEATH, VFAB_PEER_DEATH_KEEP);
	vft_put_u32(&req, VFAB_A_RETRY_TIMEOUT, 250);
	vft_put_u64(&req, VFAB_A_MEM_LIMIT, 12345);
	vft_put_u32(&req, VFAB_A_RATE, 1234);
	vft_put_u32(&req, VFAB_A_LATENCY, 77);
	ASSERT_EQ(0, ask(&req, &a));
	dom.id = a.u[VFAB_A_DOMAIN];
	EXPECT_STREQ("Z9_everything.of-it", a.text[VFAB_A_DOMAIN_NAME]);
	EXPECT_EQ(0, memcmp(uuid, a.text[VFAB_A_UUID], 16));
	EXPECT_EQ(8, a.u[VFAB_A_WORLD]);
	EXPECT_EQ(64, a.u[VFAB_A_PLANES]);
	EXPECT_EQ(0640, a.u[VFAB_A_MODE]);
	EXPECT_EQ(1001, a.u[VFAB_A_UID]);
	EXPECT_EQ(1002, a.u[VFAB_A_GID]);
	EXPECT_EQ(VFAB_PEER_DEATH_KEEP, a.u[VFAB_A_PEER_DEATH]);
	EXPECT_EQ(250, a.u[VFAB_A_RETRY_TIMEOUT]);
	EXPECT_EQ(12345, a.v[VFAB_A_MEM_LIMIT]);
	ASSERT_EQ(0, ask2(&dom, VFAB_CMD_LINK_GET, VFAB_A_RANK, 7, VFAB_A_SWITCH, 63, &a));
	EXPECT_EQ(1234, a.u[VFAB_A_RATE]);
	EXPECT_EQ(38, a.u[VFAB_A_LATENCY]);
	ASSERT_EQ(0, ask2(&dom, VFAB_CMD_ROUTE_TRACE, VFAB_A_SRC, 1, VFAB_A_DST, 2, &a));
	EXPECT_EQ(64, a.hops);
	EXPECT_EQ(64 * 1234, a.u[VFAB_A_RATE]);
	EXPECT_EQ(0, vft_domain_delete(&dom, false));
}

TEST_F(nl, domain_defaults)
{
	struct vft_domain dom = { };
	struct vft_req req;
	struct answer a, b;
	char name[32];

	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_CREATE, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_WORLD, 1);
	ASSERT_EQ(0, ask(&req, &a));
	snprintf(name, sizeof(name), "dom%u", a.u[VFAB_A_DOMAIN]);
	EXPECT_STREQ(name, a.text[VFAB_A_DOMAIN_NAME]);
	EXPECT_EQ(18, a.u[VFAB_A_PLANES]);
	EXPECT_EQ(0600, a.u[VFAB_A_MODE]);
	dom.id = a.u[VFAB_A_DOMAIN];
	/* random, version 4 */
	EXPECT_EQ(0x40, a.text[VFAB_A_UUID][6] & 0xf0);
	ASSERT_EQ(0, ask(&req, &b));
	EXPECT_NE(0, memcmp(a.text[VFAB_A_UUID], b.text[VFAB_A_UUID], 16));
	EXPECT_EQ(0, vft_domain_delete(&dom, false));
	dom.id = b.u[VFAB_A_DOMAIN];
	EXPECT_EQ(0, vft_domain_delete(&dom, false));
}

TEST_F(nl, partition_is_shown)
{
	struct stat st;
	struct answer a;

	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_PARTITION_GET, VFAB_A_PARTITION, 0, 0, 0, &a));
	EXPECT_STREQ("default", a.text[VFAB_A_PARTITION_NAME]);
	EXPECT_EQ(3, a.u[VFAB_A_MEMBER_COUNT]);
	EXPECT_EQ(7, a.text[VFAB_A_MEMBERS][0]);
	EXPECT_EQ(1, a.u[VFAB_A_ATTACHED]);
	ASSERT_EQ(0, stat(vft_path(&self->dom, 0), &st));
	EXPECT_EQ(major(st.st_rdev), a.u[VFAB_A_DEV_MAJOR]);
	EXPECT_EQ(minor(st.st_rdev), a.u[VFAB_A_DEV_MINOR]);
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_PARTITION_GET, VFAB_A_PARTITION, 1, 0, 0, &a));
	EXPECT_STREQ("other", a.text[VFAB_A_PARTITION_NAME]);
	EXPECT_EQ(1, a.u[VFAB_A_MEMBER_COUNT]);
	EXPECT_EQ(8, a.text[VFAB_A_MEMBERS][0]);
	ASSERT_EQ(0, stat(vft_path(&self->dom, 1), &st));
	EXPECT_EQ(minor(st.st_rdev), a.u[VFAB_A_DEV_MINOR]);
}

TEST_F(nl, partition_moves)
{
	struct vft_req req;
	struct answer a;

	/* without an id the lowest free one, without a name one made of it */
	get(&req, &self->dom, VFAB_CMD_PARTITION_CREATE);
	ASSERT_EQ(0, ask(&req, &a));
	EXPECT_EQ(2, a.u[VFAB_A_PARTITION]);
	EXPECT_EQ(0, a.u[VFAB_A_MEMBER_COUNT]);
	EXPECT_NE(0, a.text[VFAB_A_PARTITION_NAME][0]);
	/* from wherever they are, the held one too */
	ASSERT_EQ(0, vft_partition_add(&self->dom, 2, 0, 4));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_PARTITION_GET, VFAB_A_PARTITION, 2, 0, 0, &a));
	EXPECT_EQ(15, a.text[VFAB_A_MEMBERS][0]);
	EXPECT_EQ(1, a.u[VFAB_A_ATTACHED]);
	EXPECT_EQ(2, vft_endpoint_get(&self->dom, 0, VFAB_A_PARTITION));
	/* into none */
	ASSERT_EQ(0, vft_partition_del(&self->dom, 2, 1, 2));
	EXPECT_EQ(~0ULL, vft_endpoint_get(&self->dom, 1, VFAB_A_PARTITION));
	EXPECT_EQ(VFAB_FABRIC_NOT_STARTED, vft_endpoint_get(&self->dom, 1, VFAB_A_FABRIC_STATE));
	/* both in one call */
	get(&req, &self->dom, VFAB_CMD_PARTITION_SET);
	vft_put_u32(&req, VFAB_A_PARTITION, 2);
	vft_put(&req, VFAB_A_ADD_MEMBERS, "\x02", 1);
	vft_put(&req, VFAB_A_DEL_MEMBERS, "\x09", 1);
	ASSERT_EQ(0, ask(&req, &a));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_PARTITION_GET, VFAB_A_PARTITION, 2, 0, 0, &a));
	EXPECT_EQ(2, a.text[VFAB_A_MEMBERS][0]);
	EXPECT_EQ(0, a.u[VFAB_A_ATTACHED]);
	/* empty, it can go; the id is free again */
	ASSERT_EQ(0, vft_partition_del(&self->dom, 2, 1, 1));
	ASSERT_EQ(0, vft_partition_delete(&self->dom, 2));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 2, NULL, 0, 0));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 65535, NULL, 0, 0));
	EXPECT_EQ(0, access(vft_path(&self->dom, 65535), F_OK));
}

TEST_F(nl, endpoint_is_shown)
{
	struct answer a;

	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ENDPOINT_GET, VFAB_A_RANK, 0, 0, 0, &a));
	EXPECT_EQ(0, a.u[VFAB_A_RANK]);
	EXPECT_EQ(0, a.u[VFAB_A_PARTITION]);
	EXPECT_EQ(16, a.len[VFAB_A_UUID]);
	EXPECT_EQ(VFAB_FABRIC_COMPLETED, a.u[VFAB_A_FABRIC_STATE]);
	EXPECT_EQ(0, a.u[VFAB_A_STATUS]);
	EXPECT_EQ(VFAB_HEALTH_HEALTHY, a.u[VFAB_A_HEALTH]);
	EXPECT_EQ(2, a.u[VFAB_A_PORTS_UP]);
	EXPECT_EQ(2, a.u[VFAB_A_PLANES]);
	EXPECT_EQ(1, a.u[VFAB_A_HELD]);
	EXPECT_EQ((uint32_t)getpid(), a.u[VFAB_A_HOLDER_PID]);
	EXPECT_STREQ("netlink", a.text[VFAB_A_HOLDER_COMM]);
	EXPECT_EQ(1, a.u[VFAB_A_WINDOWS]);
	EXPECT_EQ(VFT_PAGE, a.v[VFAB_A_MEM_USED]);
	EXPECT_EQ(1, a.u[VFAB_A_IMPORTS]);
	ASSERT_EQ(0, vft_link(&self->dom, 0, 1, false));
	EXPECT_EQ(VFAB_HEALTH_LIMITED, vft_endpoint_get(&self->dom, 0, VFAB_A_HEALTH));
	EXPECT_EQ(1, vft_endpoint_get(&self->dom, 0, VFAB_A_PORTS_UP));
	ASSERT_EQ(0, vft_switch(&self->dom, 0, false));
	EXPECT_EQ(VFAB_HEALTH_UNHEALTHY, vft_endpoint_get(&self->dom, 0, VFAB_A_HEALTH));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 0, VFAB_A_PORTS_UP));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ENDPOINT_GET, VFAB_A_RANK, 1, 0, 0, &a));
	EXPECT_EQ(0, a.u[VFAB_A_HELD]);
	EXPECT_EQ(false, a.has[VFAB_A_HOLDER_PID]);
}

/* A name that a process gave itself is passed on as it is, bounded. */
TEST_F(nl, holder_comm_is_that_of_the_holder)
{
	struct answer a;

	ASSERT_EQ(0, prctl(PR_SET_NAME, "\x1b[31m\n\"<>&%s\xff"));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ENDPOINT_GET, VFAB_A_RANK, 0, 0, 0, &a));
	EXPECT_STREQ("\x1b[31m\n\"<>&%s\xff", a.text[VFAB_A_HOLDER_COMM]);
	EXPECT_GE(16, a.len[VFAB_A_HOLDER_COMM]);
}

TEST_F(nl, window_is_shown)
{
	struct vft_req req;
	struct answer a;
	int fd = vft_join(&self->dom, 2);

	ASSERT_EQ(0, vft_import(fd, self->handle, VFT_R, 0, NULL));
	ASSERT_EQ(0, vft_import(fd, self->handle, VFT_RW, 0, NULL));
	get(&req, &self->dom, VFAB_CMD_WINDOW_GET);
	vft_put_u64(&req, VFAB_A_HANDLE, self->handle);
	ASSERT_EQ(0, ask(&req, &a));
	EXPECT_EQ(0, a.u[VFAB_A_RANK]);
	EXPECT_EQ(self->handle, a.v[VFAB_A_HANDLE]);
	EXPECT_EQ(VFT_PAGE, a.v[VFAB_A_SIZE]);
	EXPECT_EQ(7, a.v[VFAB_A_TAG]);
	EXPECT_EQ(VFT_RW, a.u[VFAB_A_ACCESS]);
	EXPECT_EQ(5, a.text[VFAB_A_IMPORTERS][0]);
	EXPECT_EQ(3, a.u[VFAB_A_IMPORT_COUNT]);
	close(fd);
	ASSERT_EQ(0, ask(&req, &a));
	EXPECT_EQ(1, a.text[VFAB_A_IMPORTERS][0]);
	EXPECT_EQ(1, a.u[VFAB_A_IMPORT_COUNT]);
}

TEST_F(nl, switch_port_and_link)
{
	struct answer a;

	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_SWITCH_GET, VFAB_A_SWITCH, 1, 0, 0, &a));
	EXPECT_EQ(1, a.u[VFAB_A_UP]);
	EXPECT_EQ(4, a.u[VFAB_A_PORTS_UP]);
	EXPECT_EQ(4, a.u[VFAB_A_PORTS]);
	/* a link, and its port at either end */
	ASSERT_EQ(0, vft_link(&self->dom, 2, 1, false));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_LINK_GET, VFAB_A_RANK, 2, VFAB_A_SWITCH, 1, &a));
	EXPECT_EQ(0, a.u[VFAB_A_UP]);
	EXPECT_EQ(VFAB_LINK_OFF, a.u[VFAB_A_LINK_STATE]);
	EXPECT_EQ(VFAB_LINK_REASON_ADMIN, a.u[VFAB_A_LINK_REASON]);
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_PORT_GET, VFAB_A_RANK, 2, VFAB_A_PORT, 1, &a));
	EXPECT_EQ(VFAB_LINK_OFF, a.u[VFAB_A_LINK_STATE]);
	EXPECT_EQ(1, a.u[VFAB_A_PEER_SWITCH]);
	EXPECT_EQ(2, a.u[VFAB_A_PEER_PORT]);
	EXPECT_EQ(false, a.has[VFAB_A_PEER_RANK]);
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_PORT_GET, VFAB_A_SWITCH, 1, VFAB_A_PORT, 2, &a));
	EXPECT_EQ(VFAB_LINK_OFF, a.u[VFAB_A_LINK_STATE]);
	EXPECT_EQ(2, a.u[VFAB_A_PEER_RANK]);
	EXPECT_EQ(1, a.u[VFAB_A_PEER_PORT]);
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_LINK_GET, VFAB_A_RANK, 2, VFAB_A_SWITCH, 0, &a));
	EXPECT_EQ(VFAB_LINK_ACTIVE, a.u[VFAB_A_LINK_STATE]);
	EXPECT_EQ(VFAB_LINK_REASON_NONE, a.u[VFAB_A_LINK_REASON]);
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_SWITCH_GET, VFAB_A_SWITCH, 1, 0, 0, &a));
	EXPECT_EQ(3, a.u[VFAB_A_PORTS_UP]);
	/* the switch: all of its links, and what was down before stays so after */
	ASSERT_EQ(0, vft_switch(&self->dom, 1, false));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_LINK_GET, VFAB_A_RANK, 0, VFAB_A_SWITCH, 1, &a));
	EXPECT_EQ(1, a.u[VFAB_A_UP]);
	EXPECT_EQ(VFAB_LINK_OFF, a.u[VFAB_A_LINK_STATE]);
	EXPECT_EQ(VFAB_LINK_REASON_SWITCH, a.u[VFAB_A_LINK_REASON]);
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_SWITCH_GET, VFAB_A_SWITCH, 1, 0, 0, &a));
	EXPECT_EQ(0, a.u[VFAB_A_UP]);
	EXPECT_EQ(0, a.u[VFAB_A_PORTS_UP]);
	ASSERT_EQ(0, vft_switch(&self->dom, 1, true));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_SWITCH_GET, VFAB_A_SWITCH, 1, 0, 0, &a));
	EXPECT_EQ(3, a.u[VFAB_A_PORTS_UP]);
	/* by the port at the other end */
	ASSERT_EQ(0, vft_port(&self->dom, -1, 1, 2, true));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_LINK_GET, VFAB_A_RANK, 2, VFAB_A_SWITCH, 1, &a));
	EXPECT_EQ(VFAB_LINK_ACTIVE, a.u[VFAB_A_LINK_STATE]);
}

/* How many ordered pairs a change concerned, of the 12 in a world of four */
static int changed(const struct vft_domain *dom, int cmd, int attr1, uint32_t value1, int attr2,
		   uint32_t value2, bool up, struct answer *a)
{
	struct vft_req req;

	get(&req, dom, cmd);
	if (attr1)
		vft_put_u32(&req, attr1, value1);
	if (attr2)
		vft_put_u32(&req, attr2, value2);
	vft_put_u8(&req, VFAB_A_UP, up);
	return ask(&req, a);
}

TEST_F(nl, changes_are_counted)
{
	struct answer a;

	/* rank 3 is in another partition: three ranks, six ordered pairs */
	ASSERT_EQ(0, changed(&self->dom, VFAB_CMD_LINK_SET, VFAB_A_RANK, 1, VFAB_A_SWITCH, 0,
			     false, &a));
	EXPECT_EQ(true, a.has[VFAB_A_ROUTES_CHANGED]);
	EXPECT_EQ(4, a.u[VFAB_A_ROUTES_CHANGED]);
	EXPECT_EQ(0, a.u[VFAB_A_ROUTES_LOST]);
	/* again: nothing changes */
	ASSERT_EQ(0, changed(&self->dom, VFAB_CMD_LINK_SET, VFAB_A_RANK, 1, VFAB_A_SWITCH, 0,
			     false, &a));
	EXPECT_EQ(0, a.u[VFAB_A_ROUTES_CHANGED]);
	ASSERT_EQ(0, changed(&self->dom, VFAB_CMD_PORT_SET, VFAB_A_RANK, 1, VFAB_A_PORT, 1,
			     false, &a));
	EXPECT_EQ(4, a.u[VFAB_A_ROUTES_CHANGED]);
	EXPECT_EQ(4, a.u[VFAB_A_ROUTES_LOST]);
	ASSERT_EQ(0, changed(&self->dom, VFAB_CMD_LINK_SET, VFAB_A_RANK, 1, 0, 0, true, &a));
	EXPECT_EQ(4, a.u[VFAB_A_ROUTES_CHANGED]);
	EXPECT_EQ(0, a.u[VFAB_A_ROUTES_LOST]);
	ASSERT_EQ(0, changed(&self->dom, VFAB_CMD_SWITCH_SET, VFAB_A_SWITCH, 0, 0, 0, false, &a));
	EXPECT_EQ(6, a.u[VFAB_A_ROUTES_CHANGED]);
	EXPECT_EQ(0, a.u[VFAB_A_ROUTES_LOST]);
	ASSERT_EQ(0, changed(&self->dom, VFAB_CMD_LINK_SET, VFAB_A_SWITCH, 1, 0, 0, false, &a));
	EXPECT_EQ(6, a.u[VFAB_A_ROUTES_CHANGED]);
	EXPECT_EQ(6, a.u[VFAB_A_ROUTES_LOST]);
}

TEST_F(nl, route_is_set_and_shown)
{
	struct answer a;

	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ROUTE_GET, VFAB_A_SWITCH, 1, VFAB_A_DEST, 2, &a));
	EXPECT_EQ(2, a.u[VFAB_A_EGRESS]);
	ASSERT_EQ(0, vft_route_drop(&self->dom, 1, 2));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ROUTE_GET, VFAB_A_SWITCH, 1, VFAB_A_DEST, 2, &a));
	EXPECT_EQ(false, a.has[VFAB_A_EGRESS]);
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ROUTE_GET, VFAB_A_SWITCH, 0, VFAB_A_DEST, 2, &a));
	EXPECT_EQ(true, a.has[VFAB_A_EGRESS]);
	ASSERT_EQ(0, vft_route_via(&self->dom, -1, 2, 3));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ROUTE_GET, VFAB_A_SWITCH, 0, VFAB_A_DEST, 2, &a));
	EXPECT_EQ(3, a.u[VFAB_A_EGRESS]);
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ROUTE_GET, VFAB_A_SWITCH, 1, VFAB_A_DEST, 2, &a));
	EXPECT_EQ(3, a.u[VFAB_A_EGRESS]);
}

TEST_F(nl, trace)
{
	struct answer a;
	uint32_t rate;

	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ROUTE_TRACE, VFAB_A_SRC, 1, VFAB_A_DST, 2, &a));
	EXPECT_EQ(1, a.u[VFAB_A_REACHABLE]);
	EXPECT_EQ(2, a.u[VFAB_A_PATHS]);
	EXPECT_EQ(2, a.hops);
	EXPECT_EQ(VFAB_HOP_LIVE, a.verdict[0]);
	EXPECT_EQ(VFAB_HOP_LIVE, a.verdict[1]);
	rate = a.u[VFAB_A_RATE];
	ASSERT_EQ(0, vft_link(&self->dom, 1, 0, false));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ROUTE_TRACE, VFAB_A_SRC, 1, VFAB_A_DST, 2, &a));
	EXPECT_EQ(1, a.u[VFAB_A_PATHS]);
	EXPECT_EQ(rate / 2, a.u[VFAB_A_RATE]);
	EXPECT_EQ(VFAB_HOP_SRC_DOWN, a.verdict[0]);
	EXPECT_EQ(VFAB_HOP_LIVE, a.verdict[1]);
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ROUTE_TRACE, VFAB_A_SRC, 2, VFAB_A_DST, 1, &a));
	EXPECT_EQ(VFAB_HOP_DST_DOWN, a.verdict[0]);
	ASSERT_EQ(0, vft_link(&self->dom, 1, 0, true));
	ASSERT_EQ(0, vft_switch(&self->dom, 0, false));
	ASSERT_EQ(0, vft_route_drop(&self->dom, 1, 2));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ROUTE_TRACE, VFAB_A_SRC, 1, VFAB_A_DST, 2, &a));
	EXPECT_EQ(VFAB_HOP_SWITCH_DOWN, a.verdict[0]);
	EXPECT_EQ(VFAB_HOP_NO_ENTRY, a.verdict[1]);
	EXPECT_EQ(0, a.u[VFAB_A_REACHABLE]);
	EXPECT_EQ(0, a.u[VFAB_A_PATHS]);
	EXPECT_EQ(0, a.u[VFAB_A_RATE]);
	/* the other direction has a way there, and none for the answers */
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ROUTE_TRACE, VFAB_A_SRC, 2, VFAB_A_DST, 1, &a));
	EXPECT_EQ(VFAB_HOP_NO_RETURN, a.verdict[1]);
	EXPECT_EQ(0, a.u[VFAB_A_REACHABLE]);
	ASSERT_EQ(0, vft_route_via(&self->dom, 1, 2, 0));
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ROUTE_TRACE, VFAB_A_SRC, 1, VFAB_A_DST, 2, &a));
	/* by the switch, which says nothing, to rank 0, which forwards nothing */
	EXPECT_EQ(3, a.hops);
	EXPECT_EQ(VFAB_HOP_MISROUTED, a.verdict[2]);
	/* a border is no matter of planes */
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ROUTE_TRACE, VFAB_A_SRC, 0, VFAB_A_DST, 3, &a));
	EXPECT_EQ(0, a.u[VFAB_A_REACHABLE]);
}

TEST_F(nl, evict)
{
	ASSERT_EQ(0, vft_evict(&self->dom, 0));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 0, VFAB_A_HELD));
	EXPECT_EQ(0, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	EXPECT_EQ(-ENOTCONN, vft_evict(&self->dom, 0));
}

/* --- refusals ---------------------------------------------------------------------- */

enum kind { U8, U32, U64, STR, BIN, FLAG };

struct field {
	int attr;
	enum kind kind;
	uint64_t value;
	const char *text;
	size_t len;
};

#define F_DOM		{ .attr = VFAB_A_DOMAIN, .kind = U32, .value = ~0ULL }
#define F_U8(a, v)	{ .attr = VFAB_A_##a, .kind = U8, .value = v }
#define F_U32(a, v)	{ .attr = VFAB_A_##a, .kind = U32, .value = v }
#define F_U64(a, v)	{ .attr = VFAB_A_##a, .kind = U64, .value = v }
#define F_STR(a, t)	{ .attr = VFAB_A_##a, .kind = STR, .text = t }
#define F_BIN(a, t, l)	{ .attr = VFAB_A_##a, .kind = BIN, .text = t, .len = l }
#define F_FLAG(a)	{ .attr = VFAB_A_##a, .kind = FLAG }

#define MALFORMED	10000	/* the netlink core's choice: EINVAL or ERANGE */
#define BAD(a)		VFAB_A_##a
#define MISSING(a)	(-VFAB_A_##a)
#define ANY_PLACE	0

struct refusal {
	const char *what;
	int cmd;
	int err;
	int place;		/* which attribute is to blame, negative: is missing */
	struct field f[6];
};

static const char zeros[256];
static const char ones[256] = { [0 ... 255] = -1 };

#define R(w, c, e, p, ...) { w, VFAB_CMD_##c, e, p, { __VA_ARGS__ } }
static const struct refusal refusals[] = {
	R("nothing to set", SYSTEM_SET, EINVAL, MISSING(NETNS_MODE)),
	R("netns mode 2", SYSTEM_SET, MALFORMED, BAD(NETNS_MODE), F_U32(NETNS_MODE, 2)),
	R("netns mode too short", SYSTEM_SET, MALFORMED, BAD(NETNS_MODE), F_U8(NETNS_MODE, 1)),
	R("attribute of another command", SYSTEM_SET, MALFORMED, BAD(WORLD),
	  F_U32(NETNS_MODE, 0), F_U32(WORLD, 1)),
	R("attribute where none is known", SYSTEM_GET, MALFORMED, BAD(WORLD), F_U32(WORLD, 1)),

	R("no backplane named", BACKPLANE_GET, EINVAL, ANY_PLACE),
	R("unknown backplane", BACKPLANE_GET, ENOENT, BAD(BACKPLANE), F_STR(BACKPLANE, "nobody")),
	R("backplane's name too long", BACKPLANE_GET, MALFORMED, BAD(BACKPLANE),
	  F_STR(BACKPLANE, "a23456789012345678901234567890123")),
	R("node of no backplane", BACKPLANE_NODE_GET, EINVAL, ANY_PLACE, F_U32(NODE, 0)),
	R("node of an unknown backplane", BACKPLANE_NODE_GET, ENOENT, BAD(BACKPLANE),
	  F_STR(BACKPLANE, "nobody"), F_U32(NODE, 0)),
	R("node beyond all", BACKPLANE_NODE_GET, MALFORMED, BAD(NODE),
	  F_STR(BACKPLANE, "nobody"), F_U32(NODE, 1024)),

	R("no domain named", DOMAIN_GET, EINVAL, ANY_PLACE),
	R("unknown id", DOMAIN_GET, ENOENT, BAD(DOMAIN), F_U32(DOMAIN, 0x7ffffffe)),
	R("id beyond all", DOMAIN_GET, ENOENT, BAD(DOMAIN), F_U32(DOMAIN, 0xffffffff)),
	R("unknown name", DOMAIN_GET, ENOENT, BAD(DOMAIN_NAME), F_STR(DOMAIN_NAME, "nobody")),
	R("empty name", DOMAIN_GET, ENOENT, BAD(DOMAIN_NAME), F_STR(DOMAIN_NAME, "")),
	R("id and name disagree", DOMAIN_GET, ENOENT, ANY_PLACE, F_DOM,
	  F_STR(DOMAIN_NAME, "nobody")),
	R("id of 8 bytes", DOMAIN_GET, MALFORMED, BAD(DOMAIN), F_U64(DOMAIN, 0)),
	R("name without end", DOMAIN_GET, MALFORMED, BAD(DOMAIN_NAME),
	  F_BIN(DOMAIN_NAME, "abc", 3)),
	R("name of 33", DOMAIN_GET, MALFORMED, BAD(DOMAIN_NAME),
	  F_STR(DOMAIN_NAME, "a23456789012345678901234567890123")),

	R("no world", DOMAIN_CREATE, EINVAL, MISSING(WORLD), F_STR(DOMAIN_NAME, "x")),
	R("world 0", DOMAIN_CREATE, MALFORMED, BAD(WORLD), F_U32(WORLD, 0)),
	R("world 1025", DOMAIN_CREATE, MALFORMED, BAD(WORLD), F_U32(WORLD, 1025)),
	R("world 2^32-1", DOMAIN_CREATE, MALFORMED, BAD(WORLD), F_U32(WORLD, 0xffffffff)),
	R("world of 1 byte", DOMAIN_CREATE, MALFORMED, BAD(WORLD), F_U8(WORLD, 4)),
	R("planes 0", DOMAIN_CREATE, MALFORMED, BAD(PLANES), F_U32(WORLD, 4), F_U32(PLANES, 0)),
	R("planes 65", DOMAIN_CREATE, MALFORMED, BAD(PLANES), F_U32(WORLD, 4), F_U32(PLANES, 65)),
	R("mode 01000", DOMAIN_CREATE, MALFORMED, BAD(MODE), F_U32(WORLD, 4), F_U32(MODE, 01000)),
	R("mode setuid", DOMAIN_CREATE, MALFORMED, BAD(MODE), F_U32(WORLD, 4), F_U32(MODE, 04600)),
	R("uid -1", DOMAIN_CREATE, EINVAL, BAD(UID), F_U32(WORLD, 4), F_U32(UID, 0xffffffff)),
	R("gid -1", DOMAIN_CREATE, EINVAL, BAD(GID), F_U32(WORLD, 4), F_U32(GID, 0xffffffff)),
	R("peer-death 2", DOMAIN_CREATE, MALFORMED, BAD(PEER_DEATH), F_U32(WORLD, 4),
	  F_U32(PEER_DEATH, 2)),
	R("retry 60001", DOMAIN_CREATE, MALFORMED, BAD(RETRY_TIMEOUT), F_U32(WORLD, 4),
	  F_U32(RETRY_TIMEOUT, 60001)),
	R("rate 0", DOMAIN_CREATE, EINVAL, BAD(RATE), F_U32(WORLD, 4), F_U32(RATE, 0)),
	R("limit of 4 bytes", DOMAIN_CREATE, MALFORMED, BAD(MEM_LIMIT), F_U32(WORLD, 4),
	  F_U32(MEM_LIMIT, 1)),
	R("uuid of 15", DOMAIN_CREATE, MALFORMED, BAD(UUID), F_U32(WORLD, 4),
	  F_BIN(UUID, ones, 15)),
	R("uuid of 17", DOMAIN_CREATE, MALFORMED, BAD(UUID), F_U32(WORLD, 4),
	  F_BIN(UUID, ones, 17)),
	R("uuid zero", DOMAIN_CREATE, EINVAL, BAD(UUID), F_U32(WORLD, 4), F_BIN(UUID, zeros, 16)),
	R("name empty", DOMAIN_CREATE, EINVAL, BAD(DOMAIN_NAME), F_U32(WORLD, 4),
	  F_STR(DOMAIN_NAME, "")),
	R("name with a dot first", DOMAIN_CREATE, EINVAL, BAD(DOMAIN_NAME), F_U32(WORLD, 4),
	  F_STR(DOMAIN_NAME, ".a")),
	R("name with a dash first", DOMAIN_CREATE, EINVAL, BAD(DOMAIN_NAME), F_U32(WORLD, 4),
	  F_STR(DOMAIN_NAME, "-a")),
	R("name with an underscore first", DOMAIN_CREATE, EINVAL, BAD(DOMAIN_NAME), F_U32(WORLD, 4),
	  F_STR(DOMAIN_NAME, "_a")),
	R("name with a slash", DOMAIN_CREATE, EINVAL, BAD(DOMAIN_NAME), F_U32(WORLD, 4),
	  F_STR(DOMAIN_NAME, "a/b")),
	R("name with a blank", DOMAIN_CREATE, EINVAL, BAD(DOMAIN_NAME), F_U32(WORLD, 4),
	  F_STR(DOMAIN_NAME, "a b")),
	R("name with a newline", DOMAIN_CREATE, EINVAL, BAD(DOMAIN_NAME), F_U32(WORLD, 4),
	  F_STR(DOMAIN_NAME, "a\n")),
	R("name with a percent", DOMAIN_CREATE, EINVAL, BAD(DOMAIN_NAME), F_U32(WORLD, 4),
	  F_STR(DOMAIN_NAME, "a%s")),
	R("name with a letter beyond ASCII", DOMAIN_CREATE, EINVAL, BAD(DOMAIN_NAME),
	  F_U32(WORLD, 4), F_STR(DOMAIN_NAME, "caf\xc3\xa9")),
	R("name with an escape", DOMAIN_CREATE, EINVAL, BAD(DOMAIN_NAME), F_U32(WORLD, 4),
	  F_STR(DOMAIN_NAME, "a\x1b[2J")),
	R("name of 33 characters", DOMAIN_CREATE, MALFORMED, BAD(DOMAIN_NAME), F_U32(WORLD, 4),
	  F_STR(DOMAIN_NAME, "a23456789012345678901234567890123")),
	R("name without its end", DOMAIN_CREATE, MALFORMED, BAD(DOMAIN_NAME), F_U32(WORLD, 4),
	  F_BIN(DOMAIN_NAME, "abc", 3)),
	R("id chosen", DOMAIN_CREATE, MALFORMED, BAD(DOMAIN), F_U32(WORLD, 4), F_U32(DOMAIN, 7)),
	R("unknown attribute", DOMAIN_CREATE, MALFORMED, ANY_PLACE, F_U32(WORLD, 4),
	  { .attr = 1000, .kind = U32 }),
	R("attribute 0", DOMAIN_CREATE, MALFORMED, ANY_PLACE, F_U32(WORLD, 4),
	  { .attr = 0, .kind = U32 }),

	R("delete no domain", DOMAIN_DELETE, EINVAL, ANY_PLACE),
	R("delete unknown", DOMAIN_DELETE, ENOENT, BAD(DOMAIN), F_U32(DOMAIN, 0x7ffffffe)),
	R("delete while attached", DOMAIN_DELETE, EBUSY, BAD(DOMAIN), F_DOM),
	R("force with a value", DOMAIN_DELETE, MALFORMED, BAD(FORCE), F_DOM,
	  { .attr = VFAB_A_FORCE, .kind = U32, .value = 1 }),

	R("set nothing", DOMAIN_SET, EINVAL, ANY_PLACE, F_DOM),
	R("set unknown domain", DOMAIN_SET, ENOENT, BAD(DOMAIN), F_U32(DOMAIN, 0x7ffffffe),
	  F_U32(PEER_DEATH, 0)),
	R("set peer-death 2", DOMAIN_SET, MALFORMED, BAD(PEER_DEATH), F_DOM, F_U32(PEER_DEATH, 2)),
	R("set retry 60001", DOMAIN_SET, MALFORMED, BAD(RETRY_TIMEOUT), F_DOM,
	  F_U32(PEER_DEATH, 1), F_U32(RETRY_TIMEOUT, 60001)),
	R("set shape 2", DOMAIN_SET, MALFORMED, BAD(SHAPE), F_DOM, F_U8(SHAPE, 2)),
	R("set scale 0", DOMAIN_SET, MALFORMED, BAD(SHAPE_SCALE), F_DOM, F_U32(SHAPE_SCALE, 0)),
	R("set scale 1000001", DOMAIN_SET, MALFORMED, BAD(SHAPE_SCALE), F_DOM, F_U8(SHAPE, 1),
	  F_U32(SHAPE_SCALE, 1000001)),
	R("set world", DOMAIN_SET, MALFORMED, BAD(WORLD), F_DOM, F_U32(WORLD, 5)),
	R("set mode", DOMAIN_SET, MALFORMED, BAD(MODE), F_DOM, F_U32(MODE, 0666)),

	R("no partition named", PARTITION_GET, EINVAL, MISSING(PARTITION), F_DOM),
	R("unknown partition", PARTITION_GET, ENOENT, BAD(PARTITION), F_DOM, F_U32(PARTITION, 9)),
	R("partition 65536", PARTITION_GET, MALFORMED, BAD(PARTITION), F_DOM,
	  F_U32(PARTITION, 65536)),
	R("partition of unknown domain", PARTITION_GET, ENOENT, BAD(DOMAIN),
	  F_U32(DOMAIN, 0x7ffffffe), F_U32(PARTITION, 0)),
	R("partition id in use", PARTITION_CREATE, EEXIST, BAD(PARTITION), F_DOM,
	  F_U32(PARTITION, 1)),
	R("default partition again", PARTITION_CREATE, EEXIST, BAD(PARTITION), F_DOM,
	  F_U32(PARTITION, 0)),
	R("partition id 65536", PARTITION_CREATE, MALFORMED, BAD(PARTITION), F_DOM,
	  F_U32(PARTITION, 65536)),
	R("partition name in use", PARTITION_CREATE, EEXIST, BAD(PARTITION_NAME), F_DOM,
	  F_STR(PARTITION_NAME, "other")),
	R("partition name default", PARTITION_CREATE, EEXIST, BAD(PARTITION_NAME), F_DOM,
	  F_STR(PARTITION_NAME, "default")),
	R("partition name bad", PARTITION_CREATE, EINVAL, BAD(PARTITION_NAME), F_DOM,
	  F_STR(PARTITION_NAME, "../x")),
	R("partition name empty", PARTITION_CREATE, EINVAL, BAD(PARTITION_NAME), F_DOM,
	  F_STR(PARTITION_NAME, "")),
	R("partition name of 33", PARTITION_CREATE, MALFORMED, BAD(PARTITION_NAME), F_DOM,
	  F_STR(PARTITION_NAME, "a23456789012345678901234567890123")),
	R("member beyond the world", PARTITION_CREATE, EINVAL, BAD(ADD_MEMBERS), F_DOM,
	  F_BIN(ADD_MEMBERS, "\x10", 1)),
	R("last member of all", PARTITION_CREATE, EINVAL, BAD(ADD_MEMBERS), F_DOM,
	  F_BIN(ADD_MEMBERS, ones, 128)),
	R("members of 129 bytes", PARTITION_CREATE, MALFORMED, BAD(ADD_MEMBERS), F_DOM,
	  F_BIN(ADD_MEMBERS, ones, 129)),
	R("delete default", PARTITION_DELETE, EINVAL, BAD(PARTITION), F_DOM, F_U32(PARTITION, 0)),
	R("delete with members", PARTITION_DELETE, EBUSY, BAD(PARTITION), F_DOM,
	  F_U32(PARTITION, 1)),
	R("delete unknown partition", PARTITION_DELETE, ENOENT, BAD(PARTITION), F_DOM,
	  F_U32(PARTITION, 2)),
	R("delete no partition", PARTITION_DELETE, EINVAL, MISSING(PARTITION), F_DOM),
	R("set no partition", PARTITION_SET, EINVAL, MISSING(PARTITION), F_DOM,
	  F_BIN(ADD_MEMBERS, "\x1", 1)),
	R("set unknown partition", PARTITION_SET, ENOENT, BAD(PARTITION), F_DOM,
	  F_U32(PARTITION, 2), F_BIN(ADD_MEMBERS, "\x1", 1)),
	R("move nobody", PARTITION_SET, EINVAL, ANY_PLACE, F_DOM, F_U32(PARTITION, 1)),
	R("move none", PARTITION_SET, EINVAL, ANY_PLACE, F_DOM, F_U32(PARTITION, 1),
	  F_BIN(ADD_MEMBERS, "\0", 1)),
	R("both in and out", PARTITION_SET, EINVAL, BAD(DEL_MEMBERS), F_DOM, F_U32(PARTITION, 1),
	  F_BIN(ADD_MEMBERS, "\x9", 1), F_BIN(DEL_MEMBERS, "\x8", 1)),
	R("out although not in", PARTITION_SET, EINVAL, BAD(DEL_MEMBERS), F_DOM,
	  F_U32(PARTITION, 1), F_BIN(DEL_MEMBERS, "\x1", 1)),
	R("one good and one beyond", PARTITION_SET, EINVAL, BAD(ADD_MEMBERS), F_DOM,
	  F_U32(PARTITION, 1), F_BIN(ADD_MEMBERS, "\x11", 1)),
	R("out beyond the world", PARTITION_SET, EINVAL, BAD(DEL_MEMBERS), F_DOM,
	  F_U32(PARTITION, 1), F_BIN(DEL_MEMBERS, "\x18", 1)),

	R("hgx15 of 4", DOMAIN_CREATE, EINVAL, BAD(PARTITION_MODE), F_U32(WORLD, 4),
	  F_U32(PARTITION_MODE, VFAB_PARTITIONS_HGX15)),
	R("unknown kind of partitions", DOMAIN_CREATE, MALFORMED, BAD(PARTITION_MODE),
	  F_U32(WORLD, 8), F_U32(PARTITION_MODE, 4)),
	R("activate what always is", PARTITION_SET, EOPNOTSUPP, BAD(ACTIVE), F_DOM,
	  F_U32(PARTITION, 1), F_U8(ACTIVE, 1)),
	R("members and active", PARTITION_SET, EINVAL, BAD(ACTIVE), F_DOM, F_U32(PARTITION, 1),
	  F_U8(ACTIVE, 1), F_BIN(ADD_MEMBERS, "\x1", 1)),
	R("active 2", PARTITION_SET, MALFORMED, BAD(ACTIVE), F_DOM, F_U32(PARTITION, 1),
	  F_U8(ACTIVE, 2)),
	R("move a held one if detached", PARTITION_SET, EBUSY, BAD(ADD_MEMBERS), F_DOM,
	  F_U32(PARTITION, 1), F_BIN(ADD_MEMBERS, "\x1", 1), F_FLAG(IF_DETACHED)),
	R("take a held one out if detached", PARTITION_SET, EBUSY, BAD(DEL_MEMBERS), F_DOM,
	  F_U32(PARTITION, 0), F_BIN(DEL_MEMBERS, "\x3", 1), F_FLAG(IF_DETACHED)),
	R("park one beyond the world", PARTITION_SET, EINVAL, BAD(PARK_MEMBERS), F_DOM,
	  F_U32(PARTITION, 0), F_BIN(PARK_MEMBERS, "\x10", 1)),
	R("no channel named", CHANNEL_GET, EINVAL, MISSING(CHANNEL), F_DOM, F_U32(PARTITION, 1)),
	R("channel of no partition", CHANNEL_GET, EINVAL, MISSING(PARTITION), F_DOM,
	  F_U32(CHANNEL, 1)),
	R("unknown channel", CHANNEL_GET, ENOENT, BAD(CHANNEL), F_DOM, F_U32(PARTITION, 1),
	  F_U32(CHANNEL, 1)),
	R("channel 2048", CHANNEL_GET, MALFORMED, BAD(CHANNEL), F_DOM, F_U32(PARTITION, 1),
	  F_U32(CHANNEL, 2048)),
	R("channel in an unknown partition", CHANNEL_CREATE, ENOENT, BAD(PARTITION), F_DOM,
	  F_U32(PARTITION, 9)),
	R("channel in no partition", CHANNEL_CREATE, EINVAL, MISSING(PARTITION), F_DOM),
	R("channel with a mode of 01000", CHANNEL_CREATE, MALFORMED, BAD(MODE), F_DOM,
	  F_U32(PARTITION, 1), F_U32(MODE, 01000)),
	R("channel of uid -1", CHANNEL_CREATE, EINVAL, BAD(UID), F_DOM, F_U32(PARTITION, 1),
	  F_U32(UID, ~0U)),
	R("delete no channel", CHANNEL_DELETE, EINVAL, MISSING(CHANNEL), F_DOM,
	  F_U32(PARTITION, 1)),
	R("delete unknown channel", CHANNEL_DELETE, ENOENT, BAD(CHANNEL), F_DOM,
	  F_U32(PARTITION, 1), F_U32(CHANNEL, 0)),

	R("no rank", ENDPOINT_GET, EINVAL, MISSING(RANK), F_DOM),
	R("rank beyond the world", ENDPOINT_GET, EINVAL, BAD(RANK), F_DOM, F_U32(RANK, 4)),
	R("rank beyond all", ENDPOINT_GET, MALFORMED, BAD(RANK), F_DOM, F_U32(RANK, 1024)),
	R("evict nobody", ENDPOINT_SET, EINVAL, MISSING(RANK), F_DOM, F_FLAG(EVICT)),
	R("evict beyond", ENDPOINT_SET, EINVAL, BAD(RANK), F_DOM, F_U32(RANK, 4), F_FLAG(EVICT)),
	R("evict a vacant one", ENDPOINT_SET, ENOTCONN, BAD(RANK), F_DOM, F_U32(RANK, 1),
	  F_FLAG(EVICT)),
	R("evict an unknown node", ENDPOINT_SET, EINVAL, BAD(NODE), F_DOM, F_U32(NODE, 1),
	  F_FLAG(EVICT)),
	R("evict a rank and a node", ENDPOINT_SET, EINVAL, BAD(NODE), F_DOM, F_U32(RANK, 0),
	  F_U32(NODE, 0), F_FLAG(EVICT)),
	R("links of an unknown node", LINK_SET, EINVAL, BAD(NODE), F_DOM, F_U32(NODE, 1),
	  F_U8(UP, 0)),
	R("links of a rank and a node", LINK_SET, EINVAL, BAD(NODE), F_DOM, F_U32(RANK, 0),
	  F_U32(NODE, 0), F_U8(UP, 0)),
	R("nodes that do not divide the world", DOMAIN_CREATE, EINVAL, BAD(NODES), F_U32(WORLD, 4),
	  F_U32(NODES, 3)),
	R("more nodes than ranks", DOMAIN_CREATE, EINVAL, BAD(NODES), F_U32(WORLD, 4),
	  F_U32(NODES, 8)),
	R("no nodes", DOMAIN_CREATE, MALFORMED, BAD(NODES), F_U32(WORLD, 4), F_U32(NODES, 0)),
	R("set nothing of an endpoint", ENDPOINT_SET, EINVAL, ANY_PLACE, F_DOM, F_U32(RANK, 0)),
	R("evict with a value", ENDPOINT_SET, MALFORMED, BAD(EVICT), F_DOM, F_U32(RANK, 0),
	  F_U32(EVICT, 1)),

	R("no handle", WINDOW_GET, EINVAL, MISSING(HANDLE), F_DOM),
	R("handle 0", WINDOW_GET, ENOENT, BAD(HANDLE), F_DOM, F_U64(HANDLE, 0)),
	R("handle unknown", WINDOW_GET, ENOENT, BAD(HANDLE), F_DOM, F_U64(HANDLE, ~0ULL)),
	R("handle of 4 bytes", WINDOW_GET, MALFORMED, BAD(HANDLE), F_DOM, F_U32(HANDLE, 1)),

	R("no switch", SWITCH_GET, EINVAL, MISSING(SWITCH), F_DOM),
	R("switch beyond", SWITCH_GET, EINVAL, BAD(SWITCH), F_DOM, F_U32(SWITCH, 2)),
	R("switch beyond all", SWITCH_GET, MALFORMED, BAD(SWITCH), F_DOM, F_U32(SWITCH, 64)),
	R("set no switch", SWITCH_SET, EINVAL, MISSING(SWITCH), F_DOM, F_U8(UP, 0)),
	R("set switch beyond", SWITCH_SET, EINVAL, BAD(SWITCH), F_DOM, F_U32(SWITCH, 2),
	  F_U8(UP, 0)),
	R("switch to nothing", SWITCH_SET, EINVAL, MISSING(UP), F_DOM, F_U32(SWITCH, 0)),
	R("switch up 2", SWITCH_SET, MALFORMED, BAD(UP), F_DOM, F_U32(SWITCH, 0), F_U8(UP, 2)),
	R("switch up of 4 bytes", SWITCH_SET, MALFORMED, BAD(UP), F_DOM, F_U32(SWITCH, 0),
	  F_U32(UP, 0)),

	R("counters of nobody", COUNTER_GET, EINVAL, MISSING(RANK), F_DOM),
	R("counters of a switch", COUNTER_GET, EINVAL, BAD(SWITCH), F_DOM, F_U32(SWITCH, 0)),
	R("counters of both", COUNTER_GET, EINVAL, BAD(SWITCH), F_DOM, F_U32(RANK, 0),
	  F_U32(SWITCH, 0)),
	R("counters of a rank beyond", COUNTER_GET, EINVAL, BAD(RANK), F_DOM, F_U32(RANK, 4)),
	R("counters of a port beyond", COUNTER_GET, EINVAL, BAD(PORT), F_DOM, F_U32(PORT, 2),
	  F_U32(RANK, 0)),
	R("clear a rank beyond", COUNTER_CLEAR, EINVAL, BAD(RANK), F_DOM, F_U32(RANK, 4)),
	R("clear a switch beyond", COUNTER_CLEAR, EINVAL, BAD(SWITCH), F_DOM, F_U32(SWITCH, 2)),
	R("clear a port of nobody", COUNTER_CLEAR, EINVAL, ANY_PLACE, F_DOM, F_U32(PORT, 0)),
	R("clear of an unknown domain", COUNTER_CLEAR, ENOENT, BAD(DOMAIN),
	  F_U32(DOMAIN, 0x7ffffffe)),
	R("no port", PORT_GET, EINVAL, MISSING(PORT), F_DOM, F_U32(RANK, 0)),
	R("port of nobody", PORT_GET, EINVAL, ANY_PLACE, F_DOM, F_U32(PORT, 0)),
	R("port of both", PORT_GET, EINVAL, ANY_PLACE, F_DOM, F_U32(PORT, 0), F_U32(RANK, 0),
	  F_U32(SWITCH, 0)),
	R("endpoint port beyond", PORT_GET, EINVAL, BAD(PORT), F_DOM, F_U32(PORT, 2),
	  F_U32(RANK, 0)),
	R("switch port beyond", PORT_GET, EINVAL, BAD(PORT), F_DOM, F_U32(PORT, 4),
	  F_U32(SWITCH, 0)),
	R("set port beyond", PORT_SET, EINVAL, BAD(PORT), F_DOM, F_U32(PORT, 2), F_U32(RANK, 0),
	  F_U8(UP, 0)),
	R("set port of nobody", PORT_SET, EINVAL, ANY_PLACE, F_DOM, F_U32(PORT, 0), F_U8(UP, 0)),
	R("set port of both", PORT_SET, EINVAL, ANY_PLACE, F_DOM, F_U32(PORT, 0), F_U32(RANK, 0),
	  F_U32(SWITCH, 0), F_U8(UP, 0)),
	R("set no port", PORT_SET, EINVAL, MISSING(PORT), F_DOM, F_U32(RANK, 0), F_U8(UP, 0)),
	R("port to nothing", PORT_SET, EINVAL, MISSING(UP), F_DOM, F_U32(PORT, 0), F_U32(RANK, 0)),
	R("port up 2", PORT_SET, MALFORMED, BAD(UP), F_DOM, F_U32(PORT, 0), F_U32(RANK, 0),
	  F_U8(UP, 2)),

	R("link without switch", LINK_GET, EINVAL, MISSING(SWITCH), F_DOM, F_U32(RANK, 0)),
	R("link without rank", LINK_GET, EINVAL, MISSING(RANK), F_DOM, F_U32(SWITCH, 0)),
	R("link of rank beyond", LINK_GET, EINVAL, BAD(RANK), F_DOM, F_U32(RANK, 4),
	  F_U32(SWITCH, 0)),
	R("set no link", LINK_SET, EINVAL, ANY_PLACE, F_DOM, F_U8(UP, 0)),
	R("set link of rank beyond", LINK_SET, EINVAL, BAD(RANK), F_DOM, F_U32(RANK, 4),
	  F_U8(UP, 0)),
	R("set link of switch beyond", LINK_SET, EINVAL, BAD(SWITCH), F_DOM, F_U32(RANK, 0),
	  F_U32(SWITCH, 2), F_U8(UP, 0)),
	R("link to nothing", LINK_SET, EINVAL, MISSING(UP), F_DOM, F_U32(RANK, 0)),
	R("links of a port of a node", LINK_SET, EINVAL, BAD(PORT), F_DOM, F_U32(NODE, 0),
	  F_U32(PORT, 0), F_U8(UP, 0)),
	R("link up 255", LINK_SET, MALFORMED, BAD(UP), F_DOM, F_U32(RANK, 0), F_U8(UP, 255)),

	R("no destination", ROUTE_GET, EINVAL, MISSING(DEST), F_DOM, F_U32(SWITCH, 0)),
	R("route without switch", ROUTE_GET, EINVAL, MISSING(SWITCH), F_DOM, F_U32(DEST, 0)),
	R("route of a switch and a rank", ROUTE_GET, EINVAL, BAD(SWITCH), F_DOM, F_U32(RANK, 0),
	  F_U32(SWITCH, 0), F_U32(DEST, 0)),
	R("destination beyond", ROUTE_GET, EINVAL, BAD(DEST), F_DOM, F_U32(SWITCH, 0),
	  F_U32(DEST, 4)),
	R("set no destination", ROUTE_SET, EINVAL, MISSING(DEST), F_DOM, F_FLAG(DROP)),
	R("set destination beyond", ROUTE_SET, EINVAL, BAD(DEST), F_DOM, F_U32(DEST, 4),
	  F_FLAG(DROP)),
	R("route of switch beyond", ROUTE_SET, EINVAL, BAD(SWITCH), F_DOM, F_U32(DEST, 0),
	  F_U32(SWITCH, 2), F_FLAG(DROP)),
	R("egress beyond", ROUTE_SET, EINVAL, BAD(EGRESS), F_DOM, F_U32(DEST, 0), F_U32(EGRESS, 4)),
	R("egress beyond all", ROUTE_SET, MALFORMED, BAD(EGRESS), F_DOM, F_U32(DEST, 0),
	  F_U32(EGRESS, 1024)),
	R("neither egress nor drop", ROUTE_SET, EINVAL, ANY_PLACE, F_DOM, F_U32(DEST, 0)),
	R("both egress and drop", ROUTE_SET, EINVAL, ANY_PLACE, F_DOM, F_U32(DEST, 0),
	  F_U32(EGRESS, 0), F_FLAG(DROP)),
	R("mask of no egress", ROUTE_SET, EINVAL, BAD(EGRESS_MASK), F_DOM, F_U32(DEST, 0),
	  F_U64(EGRESS_MASK, 1), F_FLAG(DROP)),

	R("no source", ROUTE_TRACE, EINVAL, MISSING(SRC), F_DOM, F_U32(DST, 0)),
	R("no target", ROUTE_TRACE, EINVAL, MISSING(DST), F_DOM, F_U32(SRC, 0)),
	R("source beyond", ROUTE_TRACE, EINVAL, BAD(SRC), F_DOM, F_U32(SRC, 4), F_U32(DST, 0)),
	R("target beyond", ROUTE_TRACE, EINVAL, BAD(DST), F_DOM, F_U32(SRC, 0), F_U32(DST, 4)),
	R("to itself", ROUTE_TRACE, EINVAL, BAD(DST), F_DOM, F_U32(SRC, 1), F_U32(DST, 1)),
};

static void put_field(struct vft_req *req, const struct field *f, const struct vft_domain *dom)
{
	switch (f->kind) {
	case U8:
		vft_put_u8(req, f->attr, f->value);
		break;
	case U32:
		vft_put_u32(req, f->attr, f->value == ~0ULL ? dom->id : f->value);
		break;
	case U64:
		vft_put_u64(req, f->attr, f->value);
		break;
	case STR:
		vft_put_str(req, f->attr, f->text);
		break;
	case BIN:
		vft_put(req, f->attr, f->text, f->len);
		break;
	case FLAG:
		vft_put_flag(req, f->attr);
		break;
	}
}

TEST_F(nl, refusals)
{
	uint64_t before = vft_everything();
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		const struct refusal *r = &refusals[i];
		struct vft_nl *nl = vft_nl();
		struct vft_req req;
		int ret;

		vft_req(&req, nl, r->cmd, NLM_F_ACK);
		for (k = 0; k < ARRAY_SIZE(r->f); k++)
			if (r->f[k].attr || r->f[k].kind)
				put_field(&req, &r->f[k], &self->dom);
		ret = vft_call(nl, &req, NULL, NULL);
		if (r->err == MALFORMED) {
			EXPECT_EQ(true, ret == -EINVAL || ret == -ERANGE) {
				TH_LOG("%s: %s", r->what, strerror(-ret));
			}
		} else {
			EXPECT_EQ(-r->err, ret) {
				TH_LOG("%s: %s", r->what, strerror(-ret));
			}
		}
		EXPECT_NE(0, nl->text[0]) {
			TH_LOG("%s: no sentence", r->what);
		}
		if (r->place > 0) {
			EXPECT_EQ(r->place, nl->bad_attr) {
				TH_LOG("%s: \"%s\" points elsewhere", r->what, nl->text);
			}
		} else if (r->place < 0) {
			EXPECT_EQ(-r->place, nl->missing) {
				TH_LOG("%s: \"%s\" misses something else", r->what, nl->text);
			}
		}
		EXPECT_EQ(before, vft_everything()) {
			TH_LOG("%s: something has changed", r->what);
			before = vft_everything();
		}
	}
}

/* Names and UUIDs that are in use */
TEST_F(nl, duplicates_are_refused)
{
	struct vft_domain other = { };
	struct vft_req req;
	struct answer a;
	char uuid[16];

	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_DOMAIN_GET, 0, 0, 0, 0, &a));
	memcpy(uuid, a.text[VFAB_A_UUID], 16);
	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_CREATE, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_WORLD, 2);
	vft_put_str(&req, VFAB_A_DOMAIN_NAME, self->dom.name);
	EXPECT_EQ(-EEXIST, ask(&req, &a));
	EXPECT_NE(0, vft_nl()->text[0]);
	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_CREATE, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_WORLD, 2);
	vft_put(&req, VFAB_A_UUID, uuid, 16);
	EXPECT_EQ(-EEXIST, ask(&req, &a));
	EXPECT_NE(0, vft_nl()->text[0]);
	/* when the domain is gone they are free */
	ASSERT_EQ(0, vft_domain_delete(&self->dom, true));
	vft_put_str(&req, VFAB_A_DOMAIN_NAME, self->dom.name);
	ASSERT_EQ(0, ask(&req, &a));
	EXPECT_EQ(0, memcmp(uuid, a.text[VFAB_A_UUID], 16));
	other.id = a.u[VFAB_A_DOMAIN];
	EXPECT_NE(self->dom.id, other.id);
	EXPECT_EQ(0, vft_domain_delete(&other, false));
}

/* Of two partitions one may be given the name that goes with the other's id. */
TEST_F(nl, partition_whose_name_is_taken)
{
	struct vft_req req;
	struct answer a;

	get(&req, &self->dom, VFAB_CMD_PARTITION_CREATE);
	vft_put_u32(&req, VFAB_A_PARTITION, 5);
	vft_put_str(&req, VFAB_A_PARTITION_NAME, "part6");
	ASSERT_EQ(0, ask(&req, &a));
	EXPECT_EQ(-EEXIST, ask2(&self->dom, VFAB_CMD_PARTITION_CREATE, VFAB_A_PARTITION, 6, 0, 0,
				&a));
	EXPECT_EQ(VFAB_A_PARTITION, vft_nl()->bad_attr);
}

TEST_F(nl, good_names)
{
	static const char * const names[] = {
		"A", "0", "a.b-c_d", "a23456789012345678901234567890AB", "9..", "x__",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct vft_domain dom = { };
		struct vft_req req;
		struct answer a;

		vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_CREATE, NLM_F_ACK);
		vft_put_u32(&req, VFAB_A_WORLD, 1);
		vft_put_str(&req, VFAB_A_DOMAIN_NAME, names[i]);
		ASSERT_EQ(0, ask(&req, &a));
		EXPECT_STREQ(names[i], a.text[VFAB_A_DOMAIN_NAME]);
		dom.id = a.u[VFAB_A_DOMAIN];
		EXPECT_EQ(0, vft_domain_delete(&dom, false));
	}
}

/* Messages that are wrong before any attribute is */
TEST_F(nl, broken_messages)
{
	uint64_t before = vft_everything();
	struct vft_nl *nl = vft_nl();
	struct vft_req req;
	unsigned int cut;
	int cmd;

	/* commands that do not exist, and the event, which is none */
	for (cmd = VFAB_CMD_EVENT; cmd < 256; cmd++) {
		if (cmd != VFAB_CMD_EVENT && cmd <= VFAB_CMD_MAX)
			continue;
		vft_req(&req, nl, cmd, NLM_F_ACK);
		EXPECT_EQ(-EOPNOTSUPP, vft_call(nl, &req, NULL, NULL));
	}
	vft_req(&req, nl, 0, NLM_F_ACK);
	EXPECT_EQ(-EOPNOTSUPP, vft_call(nl, &req, NULL, NULL));
	/* a reserved field */
	vft_req(&req, nl, VFAB_CMD_SYSTEM_GET, NLM_F_ACK);
	((struct genlmsghdr *)(req.buf + NLMSG_HDRLEN))->reserved = 1;
	EXPECT_EQ(-EINVAL, vft_call(nl, &req, NULL, NULL));
	/* no dump of what has none */
	vft_req(&req, nl, VFAB_CMD_DOMAIN_SET, NLM_F_DUMP);
	EXPECT_NE(0, vft_call(nl, &req, NULL, NULL));
	/* attributes longer than the message, shorter than a header, cut off */
	for (cut = 1; cut < 16; cut++) {
		struct nlattr *a;

		get(&req, &self->dom, VFAB_CMD_LINK_SET);
		vft_put_u32(&req, VFAB_A_RANK, 0);
		vft_put_u8(&req, VFAB_A_UP, 0);
		a = (void *)(req.buf + NLMSG_HDRLEN + GENL_HDRLEN + 8);
		a->nla_len = cut < 4 ? cut : 8 + cut * 100;
		EXPECT_NE(0, vft_call(nl, &req, NULL, NULL)) {
			TH_LOG("attribute length %u", a->nla_len);
		}
	}
	/* nested where it is not */
	get(&req, &self->dom, VFAB_CMD_LINK_SET);
	vft_put_u32(&req, VFAB_A_RANK | NLA_F_NESTED, 0);
	vft_put_u8(&req, VFAB_A_UP, 0);
	EXPECT_EQ(-EINVAL, vft_call(nl, &req, NULL, NULL));
	/* as large as it gets, full of repetitions */
	get(&req, &self->dom, VFAB_CMD_PARTITION_SET);
	while (req.nlh.nlmsg_len < 15000)
		vft_put(&req, VFAB_A_ADD_MEMBERS, ones, 128);
	EXPECT_NE(0, vft_call(nl, &req, NULL, NULL));
	EXPECT_EQ(before, vft_everything());
}

/* Random bytes as attributes: whatever it answers, it answers. */
TEST_F(nl, fuzz)
{
	uint64_t end = vft_now() + 3 * VFT_SEC;
	struct vft_nl *nl = vft_nl();
	unsigned int seed = 12345, n = 0;
	struct vft_req req;

	while (vft_now() < end) {
		/* not DOMAIN_CREATE, which could succeed and be forgotten */
		int cmd = 1 + vft_random(&seed) % VFAB_CMD_MAX, k, attrs = vft_random(&seed) % 6;

		if (cmd == VFAB_CMD_DOMAIN_CREATE || cmd == VFAB_CMD_DOMAIN_DELETE ||
		    cmd == VFAB_CMD_SYSTEM_SET)
			continue;
		vft_req(&req, nl, cmd, vft_random(&seed) % 4 ? NLM_F_ACK : NLM_F_DUMP);
		if (vft_random(&seed) % 4)
			vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
		if (cmd == VFAB_CMD_FAULT_CREATE)	/* we hold an endpoint */
			vft_put_flag(&req, VFAB_A_FAULT_SPARE);
		for (k = 0; k < attrs; k++) {
			char data[160];
			size_t len = vft_random(&seed) % sizeof(data), i;
			bool small = vft_random(&seed) % 2;

			if (vft_random(&seed) % 3)
				len = 4;
			for (i = 0; i < len; i++)
				data[i] = small && i ? 0 : vft_random(&seed) % (small ? 5 : 256);
			vft_put(&req, vft_random(&seed) % (VFAB_A_MAX + 2), data, len);
		}
		vft_call(nl, &req, NULL, NULL);
		n++;
	}
	EXPECT_LT(200, n);
	/* the domain is there and can be told what to do */
	get(&req, &self->dom, VFAB_CMD_FAULT_DELETE);
	EXPECT_EQ(0, vft_call(nl, &req, NULL, NULL));
	EXPECT_EQ(0, vft_link(&self->dom, -1, 0, true));
	vft_domain_set(&self->dom, VFAB_A_RETRY_TIMEOUT, 0);
}

/* --- limits and ids ------------------------------------------------------------------ */

TEST_F_TIMEOUT(nl, limit_of_domains, 60)
{
	static struct vft_domain dom[400];
	unsigned int n = 0, i;
	struct vft_req req;
	int ret = 0;

	while (n < ARRAY_SIZE(dom) && !ret) {
		struct answer a;

		vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_CREATE, NLM_F_ACK);
		vft_put_u32(&req, VFAB_A_WORLD, 1);
		vft_put_u32(&req, VFAB_A_PLANES, 1);
		ret = ask(&req, &a);
		if (!ret)
			dom[n++].id = a.u[VFAB_A_DOMAIN];
	}
	EXPECT_EQ(-ENOSPC, ret);
	EXPECT_NE(0, vft_nl()->text[0]);
	EXPECT_EQ(vft_read_long("/sys/module/vfabric/parameters/max_domains"), n + 1);
	EXPECT_EQ(n + 1, vft_domain_count());
	for (i = 0; i < n; i++)
		EXPECT_EQ(0, vft_domain_delete(&dom[i], false));
	EXPECT_EQ(1, vft_domain_count());
}

TEST_F(nl, limit_of_partitions)
{
	int n, ret = 0;

	for (n = 2; n < 3000 && !ret; n++)
		ret = vft_partition_create(&self->dom, n, NULL, 0, 0);
	EXPECT_EQ(-ENOSPC, ret);
	EXPECT_NE(0, vft_nl()->text[0]);
	EXPECT_LT(100, n);
}

TEST_F(nl, ids_are_not_reissued_at_once)
{
	uint32_t last = self->dom.id;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		struct vft_domain dom;

		ASSERT_EQ(0, vft_domain_create(&dom, 1, NULL));
		EXPECT_LT(last, dom.id);
		last = dom.id;
		ASSERT_EQ(0, vft_domain_delete(&dom, false));
		EXPECT_EQ(~0ULL, vft_domain_get(&dom, VFAB_A_WORLD));
	}
}

/* --- dumps ------------------------------------------------------------------------------ */

struct collected {
	unsigned int messages, wrong;
	uint32_t domain;
	int attr1, attr2;
	uint32_t base2;
	unsigned char seen[65536 / 8];
};

/* Each object once: attr1 * base2 + attr2 is its number */
static void collect(const struct vft_msg *msg, void *arg)
{
	struct collected *c = arg;
	uint32_t n;

	if (vft_u32(msg, VFAB_A_DOMAIN) != c->domain)
		return;
	c->messages++;
	n = vft_u32(msg, c->attr1) * c->base2 + (c->attr2 ? vft_u32(msg, c->attr2) : 0);
	if (n >= 65536 || c->seen[n / 8] >> n % 8 & 1)
		c->wrong++;
	else
		c->seen[n / 8] |= 1 << n % 8;
}

TEST_F_TIMEOUT(nl, dumps_resume_and_end, 60)
{
	static const struct {
		int cmd, attr1, attr2;
		uint32_t base2;
		unsigned int count;
	} dumps[] = {
		{ VFAB_CMD_ENDPOINT_GET, VFAB_A_RANK, 0, 1, 1024 },
		{ VFAB_CMD_LINK_GET, VFAB_A_RANK, VFAB_A_PORT, 4, 4096 },
		{ VFAB_CMD_PATH_GET, VFAB_A_RANK, 0, 1, 1024 },
		{ VFAB_CMD_ROUTE_GET, VFAB_A_SWITCH, VFAB_A_DEST, 1024, 4096 },
		{ VFAB_CMD_SWITCH_GET, VFAB_A_SWITCH, 0, 1, 4 },
		{ VFAB_CMD_PARTITION_GET, VFAB_A_PARTITION, 0, 1, 301 },
	};
	struct vft_options opt = { .planes = 4 };
	struct vft_domain dom;
	struct vft_nl nl;
	size_t i;
	int n;

	ASSERT_EQ(0, vft_nl_open(&nl));
	/* room for one part of the smallest size that the kernel makes */
	nl.bufsize = 4096;
	ASSERT_EQ(0, vft_domain_create(&dom, 1024, &opt));
	for (n = 1; n <= 300; n++)
		ASSERT_EQ(0, vft_partition_create(&dom, n, NULL, n, 1));
	for (i = 0; i < ARRAY_SIZE(dumps); i++) {
		static struct collected c;
		struct vft_req req;

		memset(&c, 0, sizeof(c));
		c.domain = dom.id;
		c.attr1 = dumps[i].attr1;
		c.attr2 = dumps[i].attr2;
		c.base2 = dumps[i].base2;
		vft_req(&req, &nl, dumps[i].cmd, NLM_F_DUMP);
		vft_put_u32(&req, VFAB_A_DOMAIN, dom.id);
		EXPECT_EQ(0, vft_call(&nl, &req, collect, &c));
		EXPECT_EQ(false, nl.interrupted);
		EXPECT_EQ(dumps[i].count, c.messages) {
			TH_LOG("command %d", dumps[i].cmd);
		}
		EXPECT_EQ(0, c.wrong) {
			TH_LOG("command %d repeats itself", dumps[i].cmd);
		}
		/* all domains: this one is as complete */
		memset(c.seen, 0, sizeof(c.seen));
		c.messages = 0;
		c.wrong = 0;
		vft_req(&req, &nl, dumps[i].cmd, NLM_F_DUMP);
		EXPECT_EQ(0, vft_call(&nl, &req, collect, &c));
		EXPECT_EQ(dumps[i].count, c.messages);
		EXPECT_EQ(0, c.wrong);
	}
	/* narrowed down */
	{
		static struct collected c = { .attr1 = VFAB_A_DEST, .base2 = 1 };
		struct vft_req req;

		c.domain = dom.id;
		vft_req(&req, &nl, VFAB_CMD_ROUTE_GET, NLM_F_DUMP);
		vft_put_u32(&req, VFAB_A_DOMAIN, dom.id);
		vft_put_u32(&req, VFAB_A_SWITCH, 3);
		EXPECT_EQ(0, vft_call(&nl, &req, collect, &c));
		EXPECT_EQ(1024, c.messages);
		EXPECT_EQ(0, c.wrong);
	}
	vft_nl_close(&nl);
	EXPECT_EQ(0, vft_domain_end(&dom));
}

TEST_F(nl, dump_of_windows)
{
	static struct collected c = { .attr1 = VFAB_A_TAG, .base2 = 1 };
	struct vft_nl nl;
	struct vft_req req;
	int i;

	ASSERT_EQ(0, vft_nl_open(&nl));
	nl.bufsize = 4096;
	for (i = 100; i < 500; i++)
		ASSERT_EQ(0, vft_alloc(self->fd, VFT_PAGE, i, VFT_R, NULL));
	c.domain = self->dom.id;
	vft_req(&req, &nl, VFAB_CMD_WINDOW_GET, NLM_F_DUMP);
	vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
	EXPECT_EQ(0, vft_call(&nl, &req, collect, &c));
	EXPECT_EQ(401, c.messages);
	EXPECT_EQ(0, c.wrong);
	vft_nl_close(&nl);
}

static void ports(const struct vft_msg *msg, void *arg)
{
	unsigned int *n = arg;

	n[!msg->a[VFAB_A_RANK]]++;
}

TEST_F(nl, dump_of_ports)
{
	unsigned int n[2] = { };
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_PORT_GET, NLM_F_DUMP);
	vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
	EXPECT_EQ(0, vft_call(vft_nl(), &req, ports, n));
	EXPECT_EQ(8, n[0]);
	EXPECT_EQ(8, n[1]);
	memset(n, 0, sizeof(n));
	vft_put_u32(&req, VFAB_A_SWITCH, 1);
	EXPECT_EQ(0, vft_call(vft_nl(), &req, ports, n));
	EXPECT_EQ(0, n[0]);
	EXPECT_EQ(4, n[1]);
}

static void count_messages(const struct vft_msg *msg, void *arg)
{
	(void)msg;
	++*(unsigned int *)arg;
}

/* What a dump is told besides the domain leaves only what has that. */
TEST_F(nl, dumps_are_narrowed)
{
	static const struct {
		int cmd;
		unsigned int all, some;
		struct field f[3];
	} narrow[] = {
		{ VFAB_CMD_ENDPOINT_GET, 4, 1, { F_U32(RANK, 2) } },
		{ VFAB_CMD_PATH_GET, 4, 1, { F_U32(RANK, 2) } },
		{ VFAB_CMD_SWITCH_GET, 2, 1, { F_U32(SWITCH, 1) } },
		{ VFAB_CMD_PORT_GET, 16, 2, { F_U32(RANK, 2) } },
		{ VFAB_CMD_PORT_GET, 16, 1, { F_U32(SWITCH, 1), F_U32(PORT, 3) } },
		{ VFAB_CMD_LINK_GET, 8, 2, { F_U32(RANK, 2) } },
		{ VFAB_CMD_LINK_GET, 8, 1, { F_U32(RANK, 2), F_U32(SWITCH, 0) } },
		{ VFAB_CMD_ROUTE_GET, 8, 2, { F_U32(DEST, 3) } },
		{ VFAB_CMD_ROUTE_GET, 8, 1, { F_U32(SWITCH, 1), F_U32(DEST, 3) } },
		{ VFAB_CMD_COUNTER_GET, 20, 3, { F_U32(RANK, 2) } },
		{ VFAB_CMD_WINDOW_GET, 1, 1, { F_U32(RANK, 0) } },
		{ VFAB_CMD_WINDOW_GET, 1, 0, { F_U32(RANK, 1) } },
		{ VFAB_CMD_WINDOW_GET, 1, 0, { F_U64(HANDLE, 1) } },
		{ VFAB_CMD_FAULT_GET, 2, 1, { F_U32(FAULT_ID, 2) } },
		{ VFAB_CMD_FAULT_GET, 2, 0, { F_U32(FAULT_ID, 3) } },
	};
	struct vft_req req;
	struct answer a;
	unsigned int i, k, n;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_FAULT_CREATE, VFAB_A_FAULT_KIND,
				  VFAB_FAULT_STUCK, VFAB_A_RANK, i, &a));
	for (i = 0; i < ARRAY_SIZE(narrow); i++) {
		for (k = 0; k < 2; k++) {
			const struct field *f = narrow[i].f;

			vft_req(&req, vft_nl(), narrow[i].cmd, NLM_F_DUMP);
			vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
			for (; k && f->attr; f++)
				put_field(&req, f, &self->dom);
			n = 0;
			EXPECT_EQ(0, vft_call(vft_nl(), &req, count_messages, &n));
			EXPECT_EQ(k ? narrow[i].some : narrow[i].all, n) {
				TH_LOG("line %u, %s", i, k ? "narrowed" : "all");
			}
		}
	}
}

static void refused_dump(struct __test_metadata *_metadata, int cmd, uint32_t id)
{
	struct vft_req req;

	vft_req(&req, vft_nl(), cmd, NLM_F_DUMP);
	vft_put_u32(&req, VFAB_A_DOMAIN, id);
	EXPECT_EQ(-ENOENT, vft_call(vft_nl(), &req, NULL, NULL)) {
		TH_LOG("dump %d of domain %u", cmd, id);
	}
	EXPECT_NE(0, vft_nl()->text[0]);
}

TEST_F(nl, dump_of_an_unknown_domain)
{
	static const int cmds[] = {
		VFAB_CMD_DOMAIN_GET, VFAB_CMD_PARTITION_GET, VFAB_CMD_ENDPOINT_GET,
		VFAB_CMD_WINDOW_GET, VFAB_CMD_SWITCH_GET, VFAB_CMD_PORT_GET, VFAB_CMD_LINK_GET,
		VFAB_CMD_COUNTER_GET,
		VFAB_CMD_ROUTE_GET,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		refused_dump(_metadata, cmds[i], 0x7ffffffe);
}

/* One part of a dump; false at its end */
static bool dump_part(struct vft_nl *nl, unsigned int *objects, bool *interrupted)
{
	static char buf[65536] __attribute__((aligned(8)));
	const struct nlmsghdr *nlh = (const void *)buf;
	ssize_t n = recv(nl->fd, buf, 4096, 0);

	for (; n > 0 && NLMSG_OK(nlh, (size_t)n); nlh = NLMSG_NEXT(nlh, n)) {
		if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
			*interrupted = true;
		if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR)
			return false;
		++*objects;
	}
	return n >= 0;
}

/* What changes between two parts of a dump makes it admit that. */
TEST_F(nl, interrupted_dump_says_so)
{
	struct vft_domain dom[60], extra;
	unsigned int i, objects = 0;
	bool interrupted = false;
	struct vft_req req;
	struct vft_nl nl;

	ASSERT_EQ(0, vft_nl_open(&nl));
	for (i = 0; i < ARRAY_SIZE(dom); i++)
		ASSERT_EQ(0, vft_domain_create(&dom[i], 1, NULL));
	/* undisturbed */
	vft_req(&req, &nl, VFAB_CMD_DOMAIN_GET, NLM_F_DUMP);
	ASSERT_EQ(0, vft_send(&nl, &req));
	while (dump_part(&nl, &objects, &interrupted))
		;
	EXPECT_EQ(61, objects);
	EXPECT_EQ(false, interrupted);
	/* one comes */
	objects = 0;
	vft_req(&req, &nl, VFAB_CMD_DOMAIN_GET, NLM_F_DUMP);
	ASSERT_EQ(0, vft_send(&nl, &req));
	EXPECT_EQ(true, dump_part(&nl, &objects, &interrupted));
	EXPECT_GT(61, objects);
	ASSERT_EQ(0, vft_domain_create(&extra, 1, NULL));
	while (dump_part(&nl, &objects, &interrupted))
		;
	EXPECT_EQ(true, interrupted);
	/* one goes, of those not shown yet, and of those shown */
	interrupted = false;
	objects = 0;
	vft_req(&req, &nl, VFAB_CMD_DOMAIN_GET, NLM_F_DUMP);
	ASSERT_EQ(0, vft_send(&nl, &req));
	EXPECT_EQ(true, dump_part(&nl, &objects, &interrupted));
	ASSERT_EQ(0, vft_domain_delete(&extra, false));
	while (dump_part(&nl, &objects, &interrupted))
		;
	EXPECT_EQ(true, interrupted);
	interrupted = false;
	vft_req(&req, &nl, VFAB_CMD_DOMAIN_GET, NLM_F_DUMP);
	ASSERT_EQ(0, vft_send(&nl, &req));
	EXPECT_EQ(true, dump_part(&nl, &objects, &interrupted));
	ASSERT_EQ(0, vft_domain_delete(&dom[0], false));
	while (dump_part(&nl, &objects, &interrupted))
		;
	EXPECT_EQ(true, interrupted);
	for (i = 1; i < ARRAY_SIZE(dom); i++)
		EXPECT_EQ(0, vft_domain_delete(&dom[i], false));
	vft_nl_close(&nl);
}

/* Inside one domain: a link that goes down, and the domain itself that goes */
TEST_F(nl, interrupted_dump_of_one_domain)
{
	struct vft_domain dom;
	unsigned int objects = 0;
	bool interrupted = false;
	struct vft_req req;
	struct vft_nl nl;

	ASSERT_EQ(0, vft_nl_open(&nl));
	ASSERT_EQ(0, vft_domain_create(&dom, 500, NULL));
	vft_req(&req, &nl, VFAB_CMD_LINK_GET, NLM_F_DUMP);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom.id);
	ASSERT_EQ(0, vft_send(&nl, &req));
	EXPECT_EQ(true, dump_part(&nl, &objects, &interrupted));
	ASSERT_EQ(0, vft_link(&dom, 0, 0, false));
	while (dump_part(&nl, &objects, &interrupted))
		;
	EXPECT_EQ(true, interrupted);
	EXPECT_EQ(1000, objects);
	/* another domain's changes are no interruption of this one */
	interrupted = false;
	objects = 0;
	vft_req(&req, &nl, VFAB_CMD_LINK_GET, NLM_F_DUMP);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom.id);
	ASSERT_EQ(0, vft_send(&nl, &req));
	EXPECT_EQ(true, dump_part(&nl, &objects, &interrupted));
	ASSERT_EQ(0, vft_link(&self->dom, 0, 0, false));
	while (dump_part(&nl, &objects, &interrupted))
		;
	EXPECT_EQ(false, interrupted);
	EXPECT_EQ(1000, objects);
	/* it ends although what it is about has gone */
	objects = 0;
	vft_req(&req, &nl, VFAB_CMD_LINK_GET, NLM_F_DUMP);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom.id);
	ASSERT_EQ(0, vft_send(&nl, &req));
	EXPECT_EQ(true, dump_part(&nl, &objects, &interrupted));
	ASSERT_EQ(0, vft_domain_delete(&dom, false));
	while (dump_part(&nl, &objects, &interrupted))
		;
	EXPECT_GE(1000, objects);
	/* and if nobody reads on */
	vft_req(&req, &nl, VFAB_CMD_ENDPOINT_GET, NLM_F_DUMP);
	ASSERT_EQ(0, vft_send(&nl, &req));
	vft_nl_close(&nl);
}

/* --- events --------------------------------------------------------------------------------- */

struct seen {
	struct vft_nl nl;
	char buf[16384] __attribute__((aligned(8)));
	struct vft_msg msg;
};

static struct seen *listen_to_events(void)
{
	struct seen *s = calloc(1, sizeof(*s));

	if (vft_nl_open(&s->nl) || vft_nl_listen(&s->nl)) {
		free(s);
		return NULL;
	}
	return s;
}

/* The next event of this domain */
static int next(struct seen *s, const struct vft_domain *dom)
{
	int ret;

	do {
		ret = vft_event(&s->nl, 1000, &s->msg, s->buf, sizeof(s->buf));
	} while (!ret && s->msg.a[VFAB_A_DOMAIN] && vft_u32(&s->msg, VFAB_A_DOMAIN) != dom->id);
	return ret;
}

#define EXPECT_EVENT(s, dom, object, action, reason) do {			\
	struct seen *__s = (s);							\
										\
	ASSERT_EQ(0, next(__s, dom));						\
	EXPECT_EQ(VFAB_CMD_EVENT, __s->msg.cmd);				\
	EXPECT_EQ(VFAB_OBJ_##object, vft_u32(&__s->msg, VFAB_A_OBJECT));	\
	EXPECT_EQ(VFAB_ACT_##action, vft_u32(&__s->msg, VFAB_A_ACTION));	\
	EXPECT_EQ(VFAB_WHY_##reason, vft_u32(&__s->msg, VFAB_A_REASON));	\
	/* processes are nobody's business here */				\
	EXPECT_EQ(NULL, __s->msg.a[VFAB_A_HOLDER_PID]);				\
	EXPECT_EQ(NULL, __s->msg.a[VFAB_A_HOLDER_COMM]);			\
} while (0)

TEST_F(nl, each_change_is_announced)
{
	struct seen *s = listen_to_events();
	struct vft_domain dom;
	uint64_t generation;
	int fd;

	ASSERT_NE(NULL, s);
	ASSERT_EQ(0, vft_domain_create(&dom, 4, NULL));
	EXPECT_EVENT(s, &dom, DOMAIN, CREATED, CREATE);
	EXPECT_STREQ(dom.name, vft_str(&s->msg, VFAB_A_DOMAIN_NAME));
	fd = vft_join(&dom, 2);
	EXPECT_EVENT(s, &dom, ENDPOINT, ATTACHED, ATTACH);
	EXPECT_EQ(2, vft_u32(&s->msg, VFAB_A_RANK));
	ASSERT_EQ(0, vft_link(&dom, 2, 1, false));
	EXPECT_EVENT(s, &dom, LINK, CHANGED, LINK);
	EXPECT_EQ(2, vft_u32(&s->msg, VFAB_A_RANK));
	EXPECT_EQ(1, vft_u32(&s->msg, VFAB_A_SWITCH));
	EXPECT_EQ(0, vft_u32(&s->msg, VFAB_A_UP));
	EXPECT_EQ(6, vft_u32(&s->msg, VFAB_A_ROUTES_CHANGED));
	EXPECT_EQ(0, vft_u32(&s->msg, VFAB_A_ROUTES_LOST));
	generation = vft_u64(&s->msg, VFAB_A_GENERATION);
	ASSERT_EQ(0, vft_port(&dom, -1, 1, 2, true));
	EXPECT_EVENT(s, &dom, PORT, CHANGED, LINK);
	EXPECT_EQ(1, vft_u32(&s->msg, VFAB_A_SWITCH));
	EXPECT_EQ(2, vft_u32(&s->msg, VFAB_A_PORT));
	EXPECT_EQ(1, vft_u32(&s->msg, VFAB_A_UP));
	EXPECT_LT(generation, vft_u64(&s->msg, VFAB_A_GENERATION));
	ASSERT_EQ(0, vft_switch(&dom, 1, false));
	EXPECT_EVENT(s, &dom, SWITCH, CHANGED, LINK);
	EXPECT_EQ(1, vft_u32(&s->msg, VFAB_A_SWITCH));
	ASSERT_EQ(0, vft_route_drop(&dom, 0, 3));
	EXPECT_EVENT(s, &dom, ROUTE, CHANGED, ROUTE);
	EXPECT_EQ(0, vft_u32(&s->msg, VFAB_A_SWITCH));
	EXPECT_EQ(3, vft_u32(&s->msg, VFAB_A_DEST));
	EXPECT_EQ(6, vft_u32(&s->msg, VFAB_A_ROUTES_LOST));
	ASSERT_EQ(0, vft_partition_create(&dom, 5, NULL, 2, 1));
	EXPECT_EVENT(s, &dom, PARTITION, CREATED, CREATE);
	EXPECT_EQ(5, vft_u32(&s->msg, VFAB_A_PARTITION));
	ASSERT_EQ(0, vft_partition_add(&dom, 0, 2, 1));
	EXPECT_EVENT(s, &dom, PARTITION, CHANGED, PARTITION);
	EXPECT_EQ(0, vft_u32(&s->msg, VFAB_A_PARTITION));
	EXPECT_EQ(4, *(unsigned char *)(s->msg.a[VFAB_A_MEMBERS] + 1));
	ASSERT_EQ(0, vft_partition_delete(&dom, 5));
	EXPECT_EVENT(s, &dom, PARTITION, DELETED, ADMIN);
	ASSERT_EQ(0, vft_domain_set(&dom, VFAB_A_RETRY_TIMEOUT, 1));
	EXPECT_EVENT(s, &dom, DOMAIN, CHANGED, ADMIN);
	close(fd);
	EXPECT_EVENT(s, &dom, ENDPOINT, DETACHED, EXIT);
	EXPECT_EQ(2, vft_u32(&s->msg, VFAB_A_RANK));
	fd = vft_join(&dom, 1);
	EXPECT_EVENT(s, &dom, ENDPOINT, ATTACHED, ATTACH);
	ASSERT_EQ(0, vft_evict(&dom, 1));
	EXPECT_EVENT(s, &dom, ENDPOINT, DETACHED, ADMIN);
	close(fd);
	ASSERT_EQ(0, vft_domain_delete(&dom, false));
	EXPECT_EVENT(s, &dom, DOMAIN, DELETED, ADMIN);
	/* and nothing twice */
	EXPECT_EQ(-EAGAIN, vft_event(&s->nl, 50, &s->msg, s->buf, sizeof(s->buf)));
}

/* A refused request is no event. */
TEST_F(nl, refusals_are_not_announced)
{
	struct seen *s = listen_to_events();

	ASSERT_NE(NULL, s);
	EXPECT_NE(0, vft_link(&self->dom, 4, -1, false));
	EXPECT_NE(0, vft_domain_delete(&self->dom, false));
	EXPECT_NE(0, vft_partition_delete(&self->dom, 1));
	EXPECT_NE(0, vft_evict(&self->dom, 1));
	EXPECT_EQ(-EAGAIN, vft_event(&s->nl, 50, &s->msg, s->buf, sizeof(s->buf)));
}

/* What is created is deleted, what attaches detaches: once each. */
TEST_F_TIMEOUT(nl, events_balance, 60)
{
	struct seen *s = listen_to_events();
	unsigned int seed = 4, i, made[2] = { }, count[9][5] = { };
	struct vft_domain dom[4] = { };
	int fd[4] = { -1, -1, -1, -1 };
	int ret;

	ASSERT_NE(NULL, s);
	for (i = 0; i < 1000; i++) {
		unsigned int d = vft_random(&seed) % 4;

		if (!dom[d].exists) {
			ASSERT_EQ(0, vft_domain_create(&dom[d], 2, NULL));
			made[0]++;
		} else if (fd[d] < 0 && vft_random(&seed) % 2) {
			fd[d] = vft_join(&dom[d], VFAB_RANK_ANY);
			ASSERT_LE(0, fd[d]);
			made[1]++;
		} else if (fd[d] >= 0 && vft_random(&seed) % 2) {
			close(fd[d]);
			fd[d] = -1;
		} else if (vft_random(&seed) % 3 == 0) {
			/* with what is attached */
			ASSERT_EQ(0, vft_domain_delete(&dom[d], true));
			if (fd[d] >= 0)
				close(fd[d]);
			fd[d] = -1;
		}
	}
	for (i = 0; i < 4; i++) {
		if (dom[i].exists)
			ASSERT_EQ(0, vft_domain_delete(&dom[i], true));
		if (fd[i] >= 0)
			close(fd[i]);
	}
	while (!(ret = vft_event(&s->nl, 100, &s->msg, s->buf, sizeof(s->buf)))) {
		uint32_t object = vft_u32(&s->msg, VFAB_A_OBJECT);
		uint32_t action = vft_u32(&s->msg, VFAB_A_ACTION);

		ASSERT_GT(9, object);
		ASSERT_GT(5, action);
		count[object][action]++;
	}
	EXPECT_EQ(-EAGAIN, ret);
	EXPECT_EQ(made[0], count[VFAB_OBJ_DOMAIN][VFAB_ACT_CREATED]);
	EXPECT_EQ(made[0], count[VFAB_OBJ_DOMAIN][VFAB_ACT_DELETED]);
	EXPECT_EQ(made[1], count[VFAB_OBJ_ENDPOINT][VFAB_ACT_ATTACHED]);
	EXPECT_EQ(made[1], count[VFAB_OBJ_ENDPOINT][VFAB_ACT_DETACHED]);
	EXPECT_LT(50, made[0]);
	EXPECT_LT(50, made[1]);
}

/* --- network namespaces; who may what is in privilege.c ------------------------- */

/* Run @what in a child; the number of things that were wrong there */
#define IN_CHILD(...) ({							\
	pid_t __pid = vft_fork();						\
	int __status;								\
										\
	if (!__pid)								\
		_exit(({ __VA_ARGS__; }));					\
	__status = vft_wait_pid(__pid, 20000);					\
	WIFEXITED(__status) ? WEXITSTATUS(__status) : __status; })

/* In another network namespace: number of domains that are seen after all */
static int sees_domains(const struct vft_domain *dom)
{
	struct answer a;

	return vft_domain_count() +
	       (ask2(dom, VFAB_CMD_DOMAIN_GET, 0, 0, 0, 0, &a) != -ENOENT);
}

static int new_netns(void)
{
	int ret = unshare(CLONE_NEWNET);

	vft_nl_reset();
	return ret;
}

static void set_netns_mode(uint32_t mode)
{
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_SYSTEM_SET, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_NETNS_MODE, mode);
	if (vft_call(vft_nl(), &req, NULL, NULL))
		exit(1);
}

/* A domain of the same name here is another one. */
static int make_twin(const struct vft_domain *dom)
{
	struct vft_domain twin = { };
	struct vft_req req;
	struct answer a;
	int bad = 0;

	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_GET, NLM_F_ACK);
	vft_put_str(&req, VFAB_A_DOMAIN_NAME, dom->name);
	bad += ask(&req, &a) != -ENOENT;
	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_CREATE, NLM_F_ACK);
	vft_put_str(&req, VFAB_A_DOMAIN_NAME, dom->name);
	vft_put_u32(&req, VFAB_A_WORLD, 2);
	bad += ask(&req, &a) != 0;
	bad += vft_domain_count() != 1;
	twin.id = a.u[VFAB_A_DOMAIN];
	bad += twin.id == dom->id;
	bad += vft_domain_delete(&twin, false) != 0;
	return bad;
}

/* Domains of other network namespaces are not there, for root either. */
TEST_F(nl, other_netns_exclusive)
{
	uint64_t before = vft_everything();

	EXPECT_EQ(0, IN_CHILD(new_netns() * 99 + sees_domains(&self->dom)));
	EXPECT_EQ(0, IN_CHILD(new_netns() * 99 + make_twin(&self->dom)));
	/* the data plane does not ask where one is */
	EXPECT_EQ(0, IN_CHILD(new_netns() * 99 + (vft_join(&self->dom, 2) < 0)));
	EXPECT_EQ(true, vft_until(2000, before == vft_everything()));
}

static int look_at_shared(const struct vft_domain *dom)
{
	struct answer a;
	int bad = 0;

	bad += vft_domain_count() != 1;
	bad += ask2(dom, VFAB_CMD_DOMAIN_GET, 0, 0, 0, 0, &a) != 0;
	bad += ask2(dom, VFAB_CMD_LINK_GET, VFAB_A_RANK, 0, VFAB_A_SWITCH, 0, &a) != 0;
	return bad;
}

TEST_F(nl, other_netns_shared)
{
	set_netns_mode(VFAB_NETNS_SHARED);
	EXPECT_EQ(0, IN_CHILD(new_netns() * 99 + look_at_shared(&self->dom)));
	set_netns_mode(VFAB_NETNS_EXCLUSIVE);
	EXPECT_EQ(0, IN_CHILD(new_netns() * 99 + sees_domains(&self->dom)));
}

/* The namespace goes, and its domains with it, whatever is open and mapped. */
TEST_F(nl, netns_deletion)
{
	struct shared {
		_Atomic int phase;
		struct vft_domain dom;
	} *sh = vft_shared(sizeof(*sh));
	unsigned int before, now;
	struct vft_req req;
	struct answer a;
	uint64_t handle;
	pid_t pid;
	char *p, path[64];
	int fd;

	vft_req(&req, vft_nl(), VFAB_CMD_SYSTEM_GET, NLM_F_ACK);
	ASSERT_EQ(0, ask(&req, &a));
	before = a.u[VFAB_A_DOMAINS];
	pid = vft_fork();
	if (!pid) {
		struct vft_domain second;

		if (new_netns() || vft_domain_create(&sh->dom, 4, NULL) ||
		    vft_domain_create(&second, 1024, NULL))
			_exit(1);
		sh->phase = 1;
		while (sh->phase != 2)
			vft_sleep_ms(1);
		_exit(0);
	}
	ASSERT_EQ(true, vft_until(5000, sh->phase));
	fd = vft_join(&sh->dom, 0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vft_alloc(fd, VFT_HUGE, 1, VFT_RW, &handle));
	p = vft_import_map(fd, handle, VFT_HUGE, VFT_RW, 0);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vft_store(p, 1));
	snprintf(path, sizeof(path), "%s", vft_path(&sh->dom, 0));
	sh->phase = 2;
	EXPECT_EQ(0, vft_wait_pid(pid, 3000));
	EXPECT_EQ(true, vft_until(5000, (vft_req(&req, vft_nl(), VFAB_CMD_SYSTEM_GET, NLM_F_ACK),
					 ask(&req, &a), now = a.u[VFAB_A_DOMAINS]) == before)) {
		TH_LOG("%u domains, %u before", now, before);
	}
	EXPECT_EQ(SIGBUS, vft_touch(p));
	EXPECT_EQ(-ENODEV, vft_alloc(fd, VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(true, vft_until(1000, access(path, F_OK)));
	/* this one's domain is not concerned */
	EXPECT_EQ(1, vft_domain_count());
	EXPECT_EQ(0, vft_alloc(self->fd, VFT_PAGE, 0, VFT_R, NULL));
}

/* --- holder pids in pid namespaces ------------------------------------------- */

static int child_stack[16384];

struct in_pidns {
	struct nl_data *self;
	int result;
};

static int look_from_pidns(void *arg)
{
	struct in_pidns *in = arg;
	struct answer a;
	int bad = 0;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	vft_nl_reset();
	/* the holder of rank 0 is outside: it has no number here */
	bad += ask2(&in->self->dom, VFAB_CMD_ENDPOINT_GET, VFAB_A_RANK, 0, 0, 0, &a) != 0;
	bad += a.u[VFAB_A_HELD] != 1;
	bad += a.has[VFAB_A_HOLDER_PID] && a.u[VFAB_A_HOLDER_PID];
	/* one's own is what getpid() says */
	fd = vft_join(&in->self->dom, 1);
	bad += fd < 0;
	bad += getpid() != 1;
	bad += ask2(&in->self->dom, VFAB_CMD_ENDPOINT_GET, VFAB_A_RANK, 1, 0, 0, &a) != 0;
	bad += a.u[VFAB_A_HOLDER_PID] != 1;
	in->result = bad;
	pause();
	return bad;
}

TEST_F(nl, holder_pid_is_that_of_the_readers_namespace)
{
	struct in_pidns *in = vft_shared(sizeof(*in));
	struct answer a;
	pid_t pid;

	in->self = self;
	in->result = -1;
	pid = clone(look_from_pidns, child_stack + ARRAY_SIZE(child_stack) - 16,
		    CLONE_NEWPID | SIGCHLD, in);
	ASSERT_LT(0, pid);
	EXPECT_EQ(true, vft_until(5000, *(volatile int *)&in->result >= 0));
	EXPECT_EQ(0, in->result);
	/* from here it has another number */
	ASSERT_EQ(0, ask2(&self->dom, VFAB_CMD_ENDPOINT_GET, VFAB_A_RANK, 1, 0, 0, &a));
	EXPECT_EQ((uint32_t)pid, a.u[VFAB_A_HOLDER_PID]);
	EXPECT_EQ(SIGKILL, vft_kill(pid));
}

TEST_HARNESS_MAIN
