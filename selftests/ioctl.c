// SPDX-License-Identifier: GPL-2.0
/*
 * ioctl: the table in uapi/linux/vfabric.h, call by call: what succeeds, every
 * errno that it documents, and that a failing call has changed nothing and
 * leaves its structure as it was.
 *
 *	build/selftests/ioctl                      # as root, module loaded
 *	build/selftests/ioctl -r fabric.alloc_refused
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include "kselftest_harness.h"
#include "vft.h"

#define NO_HANDLE	0x7fffffffffffULL
#define NO_COOKIE	(0x3fffULL << 41)

/*
 * Ranks 0 and 1 are attached, 2 is vacant, 3 is in partition 1; "raw" is open
 * but not attached. The domain has two planes and may have 8 MiB of windows.
 */
FIXTURE(fabric) {
	struct vft_domain dom;
	int fd, peer, raw;
	uint64_t handle, peer_handle;
};

/* What FIXTURE_DATA(fabric) is: the helpers below take it */
#define fabric_data _test_data_fabric

FIXTURE_SETUP(fabric)
{
	struct vft_options opt = { .mem_limit = 8 << 20 };

	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, &opt));
	ASSERT_EQ(0, vft_partition_create(&self->dom, 1, "other", 3, 1));
	self->fd = vft_join(&self->dom, 0);
	ASSERT_LE(0, self->fd);
	self->peer = vft_join(&self->dom, 1);
	ASSERT_LE(0, self->peer);
	self->raw = vft_open(&self->dom, 0);
	ASSERT_LE(0, self->raw);
	ASSERT_EQ(0, vft_alloc(self->fd, VFT_PAGE, 1, VFT_RW, &self->handle));
	ASSERT_EQ(0, vft_alloc(self->peer, 2 * VFT_PAGE, 1, VFT_R, &self->peer_handle));
}

FIXTURE_TEARDOWN_PARENT(fabric)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

/* Every call with a structure, and one that works in the fixture. */
struct call {
	const char *name;
	unsigned long cmd;
	size_t size;
};

#define CALL(n, t) { #n, VFAB_IOC_##n, sizeof(struct t) }
static const struct call calls[] = {
	CALL(INFO, vfab_info), CALL(ATTACH, vfab_attach),
	CALL(WINDOW_ALLOC, vfab_window_alloc), CALL(WINDOW_FREE, vfab_window_free),
	CALL(LOOKUP, vfab_lookup), CALL(IMPORT, vfab_import), CALL(RELEASE, vfab_release),
	CALL(BELL, vfab_bell), CALL(RING, vfab_ring), CALL(WAIT, vfab_wait),
	CALL(EVENTFD, vfab_eventfd), CALL(COUNTS, vfab_counts), CALL(PACE, vfab_pace),
};

/* Fills in a call that must succeed; returns the file to make it on. */
static int good_call(const struct fabric_data *self, const struct call *c, void *arg)
{
	memset(arg, 0, c->size);
	switch (c->cmd) {
	case VFAB_IOC_ATTACH: {
		struct vfab_attach *a = arg;

		a->rank = VFAB_RANK_ANY;
		return vft_open(&self->dom, 0);
	}
	case VFAB_IOC_WINDOW_ALLOC: {
		struct vfab_window_alloc *a = arg;

		a->size = VFT_PAGE;
		a->access = VFT_R;
		break;
	}
	case VFAB_IOC_WINDOW_FREE: {
		struct vfab_window_free *a = arg;
		uint64_t handle = 0;

		vft_alloc(self->fd, VFT_PAGE, 0, VFT_R, &handle);
		a->handle = handle;
		break;
	}
	case VFAB_IOC_LOOKUP: {
		struct vfab_lookup *a = arg;

		a->rank = 1;
		a->tag = 1;
		break;
	}
	case VFAB_IOC_IMPORT: {
		struct vfab_import *a = arg;

		a->handle = self->peer_handle;
		a->access = VFT_R;
		break;
	}
	case VFAB_IOC_RELEASE: {
		struct vfab_release *a = arg;
		uint64_t cookie = 0;

		vft_import(self->fd, self->peer_handle, VFT_R, 0, &cookie);
		a->cookie = cookie;
		break;
	}
	case VFAB_IOC_BELL:
	case VFAB_IOC_RING:
		((struct vfab_ring *)arg)->rank = 1;
		break;
	case VFAB_IOC_WAIT:
		/* differs from the count, which is 0: ends at once */
		((struct vfab_wait *)arg)->count = 1;
		break;
	case VFAB_IOC_EVENTFD:
		((struct vfab_eventfd *)arg)->fd = -1;
		break;
	case VFAB_IOC_PACE:
		((struct vfab_pace *)arg)->rank = 1;
		((struct vfab_pace *)arg)->bytes = 1;
		break;
	}
	return self->fd;
}

TEST_F(fabric, every_call_succeeds)
{
	char arg[512];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		int fd = good_call(self, &calls[i], arg);

		EXPECT_EQ(0, ioctl(fd, calls[i].cmd, arg)) {
			TH_LOG("%s: %s", calls[i].name, strerror(errno));
		}
		if (fd != self->fd)
			close(fd);
	}
	EXPECT_EQ(0, ioctl(self->peer, VFAB_IOC_DETACH));
}

TEST_F(fabric, unknown_number_is_enotty)
{
	uint64_t arg[64] = { };
	unsigned int nr;

	for (nr = 14; nr < 256; nr++) {
		errno = 0;
		EXPECT_EQ(-1, ioctl(self->fd, _IOWR(VFAB_IOC_MAGIC, nr, uint64_t), arg));
		EXPECT_EQ(ENOTTY, errno);
		errno = 0;
		EXPECT_EQ(-1, ioctl(self->raw, _IO(VFAB_IOC_MAGIC, nr)));
		EXPECT_EQ(ENOTTY, errno);
	}
	errno = 0;
	EXPECT_EQ(-1, ioctl(self->fd, _IOR(VFAB_IOC_MAGIC + 1, 0, struct vfab_info), arg));
	EXPECT_EQ(ENOTTY, errno);
	/* a terminal's */
	errno = 0;
	EXPECT_EQ(-1, ioctl(self->fd, 0x5401, arg));
	EXPECT_EQ(ENOTTY, errno);
}

TEST_F(fabric, longer_struct_with_zero_tail_works)
{
	char arg[512];
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct call *c = &calls[i];
		int fd;

		memset(arg, 0, sizeof(arg));
		fd = good_call(self, c, arg);
		EXPECT_EQ(0, ioctl(fd, VFT_RESIZE(c->cmd, c->size + 40), arg)) {
			TH_LOG("%s with a zero tail: %s", c->name, strerror(errno));
		}
		for (k = c->size; k < sizeof(arg); k++)
			EXPECT_EQ(0, arg[k]);
		if (fd != self->fd)
			close(fd);
	}
}

TEST_F(fabric, longer_struct_with_other_tail_is_e2big)
{
	uint64_t used = vft_domain_get(&self->dom, VFAB_A_MEM_USED);
	char arg[512], was[512];
	size_t i;

	/* Not INFO: nothing of it is read */
	for (i = 1; i < ARRAY_SIZE(calls); i++) {
		const struct call *c = &calls[i];
		size_t tail;

		for (tail = 1; tail <= 33; tail += 8) {
			int fd;

			memset(arg, 0, sizeof(arg));
			fd = good_call(self, c, arg);
			arg[c->size + tail - 1] = 1;
			memcpy(was, arg, sizeof(arg));
			errno = 0;
			EXPECT_EQ(-1, ioctl(fd, VFT_RESIZE(c->cmd, c->size + tail), arg));
			EXPECT_EQ(E2BIG, errno) {
				TH_LOG("%s with byte %zu of the tail set", c->name, tail);
			}
			EXPECT_EQ(0, memcmp(arg, was, sizeof(arg)));
			if (fd != self->fd)
				close(fd);
			if (c->cmd == VFAB_IOC_WINDOW_FREE)
				EXPECT_EQ(0, vft_free(self->fd, *(uint64_t *)was));
		}
	}
	EXPECT_EQ(used, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	EXPECT_EQ(2, vft_domain_get(&self->dom, VFAB_A_ATTACHED));
}

TEST_F(fabric, shorter_struct_is_zero_extended)
{
	const unsigned long short_wait = VFT_RESIZE(VFAB_IOC_WAIT,
						    offsetof(struct vfab_wait, deadline));
	const unsigned long short_info = VFT_RESIZE(VFAB_IOC_INFO,
						    offsetof(struct vfab_info, uuid));
	struct vfab_attach attach = { .rank = 2, .flags = 0xdeadbeef };
	struct vfab_wait wait = { .deadline = VFAB_NO_DEADLINE };
	struct vfab_info info;
	char *rest = (char *)&info + offsetof(struct vfab_info, uuid);
	size_t i;

	/* flags are beyond the end: they count as 0 and stay as they are */
	EXPECT_EQ(0, ioctl(self->raw, VFT_RESIZE(VFAB_IOC_ATTACH, 4), &attach)) {
		TH_LOG("short ATTACH: %s", strerror(errno));
	}
	EXPECT_EQ(2, attach.rank);
	EXPECT_EQ(0xdeadbeef, attach.flags);

	/* the deadline is beyond the end: 0 is in the past, so this polls */
	wait.loss = vft_view(self->fd)->loss;
	errno = 0;
	EXPECT_EQ(-1, ioctl(self->fd, short_wait, &wait));
	EXPECT_EQ(ETIMEDOUT, errno);
	EXPECT_EQ(VFAB_NO_DEADLINE, wait.deadline);

	memset(&info, 0xa5, sizeof(info));
	EXPECT_EQ(0, ioctl(self->fd, short_info, &info));
	EXPECT_EQ(VFAB_ABI, info.abi);
	EXPECT_EQ(0, info.rank);
	for (i = 0; i < sizeof(info) - offsetof(struct vfab_info, uuid); i++)
		EXPECT_EQ((char)0xa5, rest[i]);
}

TEST_F(fabric, bad_pointer_is_efault)
{
	void *hole = mmap(NULL, VFT_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t used = vft_domain_get(&self->dom, VFAB_A_MEM_USED);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		int fd = calls[i].cmd == VFAB_IOC_ATTACH ? self->raw : self->fd;

		errno = 0;
		EXPECT_EQ(-1, ioctl(fd, calls[i].cmd, NULL));
		EXPECT_EQ(EFAULT, errno) {
			TH_LOG("%s(NULL)", calls[i].name);
		}
		errno = 0;
		EXPECT_EQ(-1, ioctl(fd, calls[i].cmd, hole));
		EXPECT_EQ(EFAULT, errno) {
			TH_LOG("%s(unreadable)", calls[i].name);
		}
	}
	EXPECT_EQ(used, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	EXPECT_EQ(2, vft_domain_get(&self->dom, VFAB_A_ATTACHED));
}

/* The kernel can read the structure but not write its reply. */
TEST_F(fabric, unwritable_reply_changes_nothing)
{
	uint64_t used = vft_domain_get(&self->dom, VFAB_A_MEM_USED);
	uint64_t imports = vft_endpoint_get(&self->dom, 0, VFAB_A_IMPORTS);
	char *arg = mmap(NULL, VFT_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	ASSERT_NE(MAP_FAILED, arg);
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		int fd;

		if (!(_IOC_DIR(calls[i].cmd) & _IOC_READ))
			continue;
		ASSERT_EQ(0, mprotect(arg, VFT_PAGE, PROT_READ | PROT_WRITE));
		fd = good_call(self, &calls[i], arg);
		if (calls[i].cmd == VFAB_IOC_WINDOW_ALLOC)
			((struct vfab_window_alloc *)arg)->tag = 77;
		ASSERT_EQ(0, mprotect(arg, VFT_PAGE, PROT_READ));
		errno = 0;
		EXPECT_EQ(-1, ioctl(fd, calls[i].cmd, arg));
		EXPECT_EQ(EFAULT, errno) {
			TH_LOG("%s: reply to read-only memory", calls[i].name);
		}
		if (calls[i].cmd == VFAB_IOC_ATTACH) {
			/* not attached, and the rank is free */
			EXPECT_EQ(-ENOTCONN, vft_alloc(fd, VFT_PAGE, 0, VFT_R, NULL));
			EXPECT_EQ(2, vft_domain_get(&self->dom, VFAB_A_ATTACHED));
			EXPECT_EQ(0, vft_attach(fd, VFAB_RANK_ANY));
			EXPECT_EQ(0, vft_detach(fd));
		}
		if (fd != self->fd)
			close(fd);
	}
	EXPECT_EQ(used, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	EXPECT_EQ(imports, vft_endpoint_get(&self->dom, 0, VFAB_A_IMPORTS));
	EXPECT_EQ(-ENOENT, vft_lookup(self->peer, 0, 77, 0, NULL));
	EXPECT_EQ(0, vft_alloc(self->fd, VFT_PAGE, 77, VFT_R, NULL));
}

TEST_F(fabric, before_attach_is_enotconn)
{
	struct vfab_info info;
	char arg[512];
	size_t i;

	for (i = 2; i < ARRAY_SIZE(calls); i++) {
		good_call(self, &calls[i], arg);
		errno = 0;
		EXPECT_EQ(-1, ioctl(self->raw, calls[i].cmd, arg));
		EXPECT_EQ(ENOTCONN, errno) {
			TH_LOG("%s: %s", calls[i].name, strerror(errno));
		}
		if (calls[i].cmd == VFAB_IOC_WINDOW_FREE)
			EXPECT_EQ(0, vft_free(self->fd, *(uint64_t *)arg));
	}
	EXPECT_EQ(-ENOTCONN, vft_detach(self->raw));
	/* what is asked before ATTACH */
	EXPECT_EQ(0, ioctl(self->raw, VFAB_IOC_INFO, &info));
	EXPECT_EQ(VFAB_RANK_ANY, info.rank);
	/* and there is nothing to map */
	EXPECT_EQ(NULL, vft_map(self->raw, info.view_cookie, info.view_bytes, PROT_READ));
	EXPECT_EQ(NULL, vft_map(self->raw, 0, VFT_PAGE, PROT_READ));
}

static void put_uuid(const struct vft_msg *msg, void *arg)
{
	if (msg->a[VFAB_A_UUID])
		memcpy(arg, msg->a[VFAB_A_UUID] + 1, 16);
}

TEST_F(fabric, info)
{
	struct vft_req req;
	struct vfab_info info;
	uint8_t uuid[16] = { };
	size_t i;

	memset(&info, 0xa5, sizeof(info));
	ASSERT_EQ(0, ioctl(self->fd, VFAB_IOC_INFO, &info));
	EXPECT_EQ(VFAB_ABI, info.abi);
	EXPECT_EQ(self->dom.id, info.domain);
	EXPECT_EQ(4, info.world);
	EXPECT_EQ(2, info.planes);
	EXPECT_EQ(0, info.partition);
	EXPECT_EQ(0, info.rank);
	EXPECT_EQ(VFAB_VECTORS, info.vectors);
	EXPECT_EQ(0, info.view_bytes % VFT_PAGE);
	EXPECT_LE(sizeof(struct vfab_view) + 4 * sizeof(struct vfab_peer), info.view_bytes);
	EXPECT_LE(64 << 20, info.window_max);
	EXPECT_EQ(0, info.window_max % VFT_PAGE);
	EXPECT_STREQ(self->dom.name, info.name);
	for (i = strlen(info.name); i < sizeof(info.name); i++)
		EXPECT_EQ(0, info.name[i]);

	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_GET, NLM_F_ACK);
	vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
	ASSERT_EQ(0, vft_call(vft_nl(), &req, put_uuid, uuid));
	EXPECT_EQ(0, memcmp(uuid, info.uuid, 16));
}

TEST_F(fabric, info_of_another_partition)
{
	struct vfab_info info;
	int fd = vft_open(&self->dom, 1);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ioctl(fd, VFAB_IOC_INFO, &info));
	EXPECT_EQ(1, info.partition);
	EXPECT_EQ(self->dom.id, info.domain);
	EXPECT_EQ(0, vft_attach(fd, VFAB_RANK_ANY));
	ASSERT_EQ(0, ioctl(fd, VFAB_IOC_INFO, &info));
	EXPECT_EQ(3, info.rank);
	/* an endpoint outlives the partition that admitted it */
	ASSERT_EQ(0, vft_partition_add(&self->dom, 0, 3, 1));
	ASSERT_EQ(0, vft_partition_delete(&self->dom, 1));
	ASSERT_EQ(0, ioctl(fd, VFAB_IOC_INFO, &info));
	EXPECT_EQ(3, info.rank);
	EXPECT_EQ(1, info.partition);
	EXPECT_EQ(0, vft_view(fd)->partition);
}

TEST_F(fabric, attach)
{
	struct vfab_attach any = { .rank = VFAB_RANK_ANY };
	int fd;

	/* the lowest free one */
	ASSERT_EQ(0, ioctl(self->raw, VFAB_IOC_ATTACH, &any));
	EXPECT_EQ(2, any.rank);
	EXPECT_EQ(3, vft_domain_get(&self->dom, VFAB_A_ATTACHED));
	/* a rank is free again as soon as the call that ended it returned */
	ASSERT_EQ(0, vft_detach(self->fd));
	fd = vft_open(&self->dom, 0);
	any.rank = VFAB_RANK_ANY;
	ASSERT_EQ(0, ioctl(fd, VFAB_IOC_ATTACH, &any));
	EXPECT_EQ(0, any.rank);
	close(fd);
	fd = vft_join(&self->dom, 0);
	EXPECT_LE(0, fd);
}

TEST_F(fabric, attach_refused)
{
	struct vfab_attach arg = { };
	uint32_t bit;

	arg.rank = 2;
	for (bit = 0; bit < 32; bit++) {
		arg.flags = 1U << bit;
		EXPECT_IOCTL_FAILS(EOPNOTSUPP, self->raw, VFAB_IOC_ATTACH, &arg);
	}
	arg.flags = 0;
	for (arg.rank = 4; arg.rank; arg.rank = arg.rank < 8 ? arg.rank + 1 : arg.rank * 2)
		EXPECT_IOCTL_FAILS(EINVAL, self->raw, VFAB_IOC_ATTACH, &arg);
	arg.rank = VFAB_RANK_ANY - 1;
	EXPECT_IOCTL_FAILS(EINVAL, self->raw, VFAB_IOC_ATTACH, &arg);
	arg.rank = 3;
	EXPECT_IOCTL_FAILS(EACCES, self->raw, VFAB_IOC_ATTACH, &arg);
	arg.rank = 0;
	EXPECT_IOCTL_FAILS(EBUSY, self->raw, VFAB_IOC_ATTACH, &arg);
	EXPECT_EQ(2, vft_domain_get(&self->dom, VFAB_A_ATTACHED));
	arg.rank = 2;
	EXPECT_IOCTL_FAILS(EALREADY, self->fd, VFAB_IOC_ATTACH, &arg);
	arg.rank = 0;
	EXPECT_IOCTL_FAILS(EALREADY, self->fd, VFAB_IOC_ATTACH, &arg);

	ASSERT_EQ(0, vft_attach(self->raw, 2));
	close(self->raw);
	self->raw = vft_open(&self->dom, 0);
	ASSERT_EQ(0, vft_attach(self->raw, VFAB_RANK_ANY));
	arg.rank = VFAB_RANK_ANY;
	{
		int fd = vft_open(&self->dom, 0);

		/* all ranks of the partition are held; that of the other is free */
		EXPECT_IOCTL_FAILS(EHOSTUNREACH, fd, VFAB_IOC_ATTACH, &arg);
		close(fd);
	}
}

TEST_F(fabric, alloc)
{
	struct vfab_window_alloc arg = {
		.size = 3 * VFT_PAGE, .tag = 5, .access = VFT_RW,
		.handle = 0xa5a5a5a5a5a5a5a5,
	};

	ASSERT_EQ(0, ioctl(self->fd, VFAB_IOC_WINDOW_ALLOC, &arg));
	EXPECT_NE(0, arg.handle);
	EXPECT_NE(0xa5a5a5a5a5a5a5a5, arg.handle);
	EXPECT_EQ(3 * VFT_PAGE, arg.size);
	EXPECT_EQ(5, arg.tag);
	EXPECT_EQ(VFT_RW, arg.access);
	EXPECT_EQ(0, arg.flags);
	EXPECT_EQ(6 * VFT_PAGE, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	/* tag 0 is no name: as many as one likes */
	EXPECT_EQ(0, vft_alloc(self->fd, VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(0, vft_alloc(self->fd, VFT_PAGE, 0, VFT_R, NULL));
	/* the same tag at another endpoint is another window */
	EXPECT_EQ(0, vft_alloc(self->peer, VFT_PAGE, 5, VFT_R, NULL));
	EXPECT_EQ(9 * VFT_PAGE, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
}

TEST_F(fabric, alloc_refused)
{
	uint64_t used = vft_domain_get(&self->dom, VFAB_A_MEM_USED);
	struct vfab_window_alloc arg;
	struct vfab_info info;
	size_t i;

	ASSERT_EQ(0, ioctl(self->fd, VFAB_IOC_INFO, &info));
	{
		const uint64_t sizes[] = {
			0, 1, 8, VFT_PAGE - 1, VFT_PAGE + 1, VFT_PAGE + 512, VFT_HUGE + 1,
			info.window_max + 1, info.window_max + VFT_PAGE, 1ULL << 62, 1ULL << 63,
			(1ULL << 63) + VFT_PAGE, -VFT_PAGE, -1ULL, -VFT_HUGE, 1ULL << 52,
		};

		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			memset(&arg, 0, sizeof(arg));
			arg.size = sizes[i];
			arg.access = VFT_RW;
			arg.handle = ~0ULL;
			EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_WINDOW_ALLOC, &arg);
		}
	}
	memset(&arg, 0, sizeof(arg));
	arg.size = VFT_PAGE;
	for (i = 2; i < 32; i++) {
		arg.access = VFT_R | 1U << i;
		EXPECT_IOCTL_FAILS(EOPNOTSUPP, self->fd, VFAB_IOC_WINDOW_ALLOC, &arg);
	}
	arg.access = 0;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_WINDOW_ALLOC, &arg);
	arg.access = VFAB_ACCESS_WRITE;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_WINDOW_ALLOC, &arg);
	arg.access = VFT_RW;
	for (i = 0; i < 32; i++) {
		arg.flags = 1U << i;
		EXPECT_IOCTL_FAILS(EOPNOTSUPP, self->fd, VFAB_IOC_WINDOW_ALLOC, &arg);
	}
	arg.flags = 0;
	arg.tag = 1;
	EXPECT_IOCTL_FAILS(EEXIST, self->fd, VFAB_IOC_WINDOW_ALLOC, &arg);
	/* the domain's limit is 8 MiB, three pages are used */
	arg.tag = 0;
	arg.size = 8 << 20;
	EXPECT_IOCTL_FAILS(EDQUOT, self->fd, VFAB_IOC_WINDOW_ALLOC, &arg);
	EXPECT_EQ(used, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	EXPECT_EQ(1, vft_endpoint_get(&self->dom, 0, VFAB_A_WINDOWS));
	/* exactly up to the limit */
	EXPECT_EQ(0, vft_alloc(self->fd, (8 << 20) - 3 * VFT_PAGE, 0, VFT_R, NULL));
	EXPECT_EQ(-EDQUOT, vft_alloc(self->peer, VFT_PAGE, 0, VFT_R, NULL));
}

TEST_F(fabric, free)
{
	struct vfab_window_free arg = { .handle = self->handle };
	uint64_t handle;

	ASSERT_EQ(0, ioctl(self->fd, VFAB_IOC_WINDOW_FREE, &arg));
	EXPECT_EQ(2 * VFT_PAGE, vft_domain_get(&self->dom, VFAB_A_MEM_USED));
	/* the tag is free as well */
	ASSERT_EQ(0, vft_alloc(self->fd, VFT_PAGE, 1, VFT_R, &handle));
	EXPECT_NE(self->handle, handle);
}

TEST_F(fabric, free_refused)
{
	struct vfab_window_free arg = { .handle = 0 };

	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_WINDOW_FREE, &arg);
	arg.handle = NO_HANDLE;
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_WINDOW_FREE, &arg);
	arg.handle = ~0ULL;
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_WINDOW_FREE, &arg);
	arg.handle = self->handle + (1ULL << 63);
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_WINDOW_FREE, &arg);
	/* another's */
	arg.handle = self->peer_handle;
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_WINDOW_FREE, &arg);
	EXPECT_EQ(0, vft_lookup(self->fd, 1, 1, 0, NULL));
	/* stale */
	arg.handle = self->handle;
	ASSERT_EQ(0, ioctl(self->fd, VFAB_IOC_WINDOW_FREE, &arg));
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_WINDOW_FREE, &arg);
}

TEST_F(fabric, lookup)
{
	struct vfab_lookup arg;

	memset(&arg, 0xa5, sizeof(arg));
	arg.rank = 1;
	arg.flags = 0;
	arg.tag = 1;
	arg.deadline = 0;
	arg.pad = 0;
	arg.pad2 = 0;
	ASSERT_EQ(0, ioctl(self->fd, VFAB_IOC_LOOKUP, &arg));
	EXPECT_EQ(self->peer_handle, arg.handle);
	EXPECT_EQ(2 * VFT_PAGE, arg.size);
	EXPECT_EQ(VFT_R, arg.access);
	EXPECT_EQ(0, arg.pad);
	EXPECT_EQ(VFAB_CHANNEL_NONE, arg.channel);
	/* one's own */
	arg.rank = 0;
	ASSERT_EQ(0, ioctl(self->fd, VFAB_IOC_LOOKUP, &arg));
	EXPECT_EQ(self->handle, arg.handle);
	EXPECT_EQ(VFT_RW, arg.access);
}

TEST_F(fabric, lookup_refused)
{
	struct vfab_lookup arg = { .rank = 1, .tag = 1 };
	size_t i;

	for (i = 0; i < 32; i++) {
		arg.flags = 1U << i;
		EXPECT_IOCTL_FAILS(EOPNOTSUPP, self->fd, VFAB_IOC_LOOKUP, &arg);
	}
	arg.flags = 0;
	arg.pad = 1;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_LOOKUP, &arg);
	arg.pad = 0;
	arg.tag = 0;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_LOOKUP, &arg);
	arg.tag = 1;
	arg.rank = 4;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_LOOKUP, &arg);
	arg.rank = VFAB_RANK_ANY;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_LOOKUP, &arg);
	arg.rank = 3;
	EXPECT_IOCTL_FAILS(EACCES, self->fd, VFAB_IOC_LOOKUP, &arg);
	arg.rank = 1;
	arg.tag = 2;
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_LOOKUP, &arg);
	/* vacant: there is no such window */
	arg.rank = 2;
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_LOOKUP, &arg);
	/* waiting in vain */
	arg.deadline = 1;
	EXPECT_IOCTL_FAILS(ETIMEDOUT, self->fd, VFAB_IOC_LOOKUP, &arg);
	arg.deadline = vft_now() + 20 * VFT_MS;
	EXPECT_IOCTL_FAILS(ETIMEDOUT, self->fd, VFAB_IOC_LOOKUP, &arg);
	EXPECT_LE(arg.deadline, vft_now());
	arg.deadline = 0;
	arg.rank = 1;
	arg.tag = 1;
	ASSERT_EQ(0, vft_link(&self->dom, 1, -1, false));
	EXPECT_IOCTL_FAILS(EHOSTUNREACH, self->fd, VFAB_IOC_LOOKUP, &arg);
	arg.deadline = VFAB_NO_DEADLINE;
	EXPECT_IOCTL_FAILS(EHOSTUNREACH, self->fd, VFAB_IOC_LOOKUP, &arg);
}

TEST_F(fabric, import)
{
	struct vfab_import arg;

	memset(&arg, 0xa5, sizeof(arg));
	arg.handle = self->peer_handle;
	arg.access = VFT_R;
	arg.loss = VFAB_LOSS_SIGBUS;
	arg.pad = 0;
	ASSERT_EQ(0, ioctl(self->fd, VFAB_IOC_IMPORT, &arg));
	EXPECT_EQ(2 * VFT_PAGE, arg.size);
	EXPECT_EQ(1, arg.rank);
	EXPECT_EQ(0, arg.pad);
	EXPECT_EQ(0, arg.cookie % VFT_HUGE);
	EXPECT_EQ(1, vft_endpoint_get(&self->dom, 0, VFAB_A_IMPORTS));
	/* the owner has any access to its own, whatever it grants */
	EXPECT_EQ(0, vft_import(self->peer, self->peer_handle, VFT_RW, VFAB_LOSS_ABSORB, NULL));
}

TEST_F(fabric, import_refused)
{
	struct vfab_import arg = { .handle = self->peer_handle, .access = VFT_R };
	uint64_t gone;
	size_t i;
	int fd;

	for (i = 2; i < 32; i++) {
		arg.loss = i;
		EXPECT_IOCTL_FAILS(EOPNOTSUPP, self->fd, VFAB_IOC_IMPORT, &arg);
		arg.loss = 0;
		arg.access = VFT_R | 1U << i;
		EXPECT_IOCTL_FAILS(EOPNOTSUPP, self->fd, VFAB_IOC_IMPORT, &arg);
		arg.access = VFT_R;
	}
	arg.loss = ~0U;
	EXPECT_IOCTL_FAILS(EOPNOTSUPP, self->fd, VFAB_IOC_IMPORT, &arg);
	arg.loss = 0;
	arg.access = 0;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_IMPORT, &arg);
	arg.access = VFAB_ACCESS_WRITE;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_IMPORT, &arg);
	arg.access = VFT_R;
	arg.pad = 1;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_IMPORT, &arg);
	arg.pad = 0;
	/* more than the window gives */
	arg.access = VFT_RW;
	EXPECT_IOCTL_FAILS(EACCES, self->fd, VFAB_IOC_IMPORT, &arg);
	arg.access = VFT_R;

	arg.handle = 0;
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_IMPORT, &arg);
	arg.handle = NO_HANDLE;
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_IMPORT, &arg);
	arg.handle = ~0ULL;
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_IMPORT, &arg);
	ASSERT_EQ(0, vft_alloc(self->peer, VFT_PAGE, 0, VFT_R, &gone));
	ASSERT_EQ(0, vft_free(self->peer, gone));
	arg.handle = gone;
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_IMPORT, &arg);

	/* a window of another partition */
	fd = vft_join_part(&self->dom, 1, 3);
	ASSERT_LE(0, fd);
	arg.handle = self->peer_handle;
	EXPECT_IOCTL_FAILS(EACCES, fd, VFAB_IOC_IMPORT, &arg);
	close(fd);

	ASSERT_EQ(0, vft_switch(&self->dom, 0, false));
	ASSERT_EQ(0, vft_switch(&self->dom, 1, false));
	EXPECT_IOCTL_FAILS(EHOSTUNREACH, self->fd, VFAB_IOC_IMPORT, &arg);
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 0, VFAB_A_IMPORTS));
	/* one's own needs no route */
	EXPECT_EQ(0, vft_import(self->fd, self->handle, VFT_RW, 0, NULL));
}

TEST_F(fabric, release)
{
	uint64_t cookie, bell;

	ASSERT_EQ(0, vft_import(self->fd, self->peer_handle, VFT_R, 0, &cookie));
	ASSERT_EQ(0, vft_bell(self->fd, 1, &bell));
	EXPECT_EQ(0, vft_release(self->fd, cookie));
	EXPECT_EQ(0, vft_release(self->fd, bell));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 0, VFAB_A_IMPORTS));
	EXPECT_EQ(NULL, vft_map(self->fd, cookie, VFT_PAGE, PROT_READ));
}

TEST_F(fabric, release_refused)
{
	struct vfab_release arg = { .cookie = NO_COOKIE };
	struct vfab_info info;
	uint64_t cookie;

	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_RELEASE, &arg);
	arg.cookie = ~0ULL;
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_RELEASE, &arg);
	ASSERT_EQ(0, vft_import(self->fd, self->peer_handle, VFT_R, 0, &cookie));
	/* only the cookie itself, not the range behind it */
	arg.cookie = cookie + VFT_PAGE;
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_RELEASE, &arg);
	arg.cookie = cookie + 1;
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_RELEASE, &arg);
	/* another file's */
	arg.cookie = cookie;
	EXPECT_IOCTL_FAILS(ENOENT, self->peer, VFAB_IOC_RELEASE, &arg);
	ASSERT_EQ(0, vft_release(self->fd, cookie));
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_RELEASE, &arg);
	/* the view is not an import */
	ASSERT_EQ(0, ioctl(self->fd, VFAB_IOC_INFO, &info));
	arg.cookie = info.view_cookie;
	EXPECT_IOCTL_FAILS(ENOENT, self->fd, VFAB_IOC_RELEASE, &arg);
}

TEST_F(fabric, bell)
{
	struct vfab_bell arg = { .rank = 1, .cookie = ~0ULL };

	ASSERT_EQ(0, ioctl(self->fd, VFAB_IOC_BELL, &arg));
	EXPECT_EQ(0, arg.cookie % VFT_PAGE);
	EXPECT_NE(~0ULL, arg.cookie);
	arg.rank = 0;
	ASSERT_EQ(0, ioctl(self->fd, VFAB_IOC_BELL, &arg));
}

TEST_F(fabric, bell_refused)
{
	struct vfab_bell arg = { .rank = 4, .cookie = 3 };

	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_BELL, &arg);
	arg.rank = VFAB_RANK_ANY;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_BELL, &arg);
	arg.rank = 1;
	arg.loss = 2;
	EXPECT_IOCTL_FAILS(EOPNOTSUPP, self->fd, VFAB_IOC_BELL, &arg);
	arg.loss = 0;
	arg.rank = 3;
	EXPECT_IOCTL_FAILS(EACCES, self->fd, VFAB_IOC_BELL, &arg);
	arg.rank = 2;
	EXPECT_IOCTL_FAILS(EHOSTUNREACH, self->fd, VFAB_IOC_BELL, &arg);
	arg.rank = 1;
	ASSERT_EQ(0, vft_link(&self->dom, 0, -1, false));
	EXPECT_IOCTL_FAILS(EHOSTUNREACH, self->fd, VFAB_IOC_BELL, &arg);
}

TEST_F(fabric, ring_refused)
{
	struct vfab_ring arg = { .rank = 1, .vector = VFAB_VECTORS };

	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_RING, &arg);
	arg.vector = ~0U;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_RING, &arg);
	arg.vector = 0;
	arg.rank = 4;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_RING, &arg);
	arg.rank = VFAB_RANK_ANY;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_RING, &arg);
	arg.rank = 3;
	EXPECT_IOCTL_FAILS(EACCES, self->fd, VFAB_IOC_RING, &arg);
	arg.rank = 2;
	EXPECT_IOCTL_FAILS(EHOSTUNREACH, self->fd, VFAB_IOC_RING, &arg);
	arg.rank = 1;
	EXPECT_EQ(0, ioctl(self->fd, VFAB_IOC_RING, &arg));
	ASSERT_EQ(0, vft_route_drop(&self->dom, -1, 1));
	EXPECT_IOCTL_FAILS(EHOSTUNREACH, self->fd, VFAB_IOC_RING, &arg);
	/* one's own needs no route */
	arg.rank = 0;
	EXPECT_EQ(0, ioctl(self->fd, VFAB_IOC_RING, &arg));
}

TEST_F(fabric, wait_refused)
{
	struct vfab_wait arg = { .vector = VFAB_VECTORS };

	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_WAIT, &arg);
	arg.vector = ~0U;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_WAIT, &arg);
	/* the documented exception: the values are reported */
	arg.vector = 1;
	arg.loss = vft_view(self->fd)->loss;
	arg.reason = 99;
	errno = 0;
	EXPECT_EQ(-1, ioctl(self->fd, VFAB_IOC_WAIT, &arg));
	EXPECT_EQ(ETIMEDOUT, errno);
	EXPECT_EQ(0, arg.count);
	EXPECT_EQ(0, arg.deadline);
	EXPECT_EQ(vft_view(self->fd)->loss, arg.loss);
}

TEST_F(fabric, eventfd_refused)
{
	struct vfab_eventfd arg = { .vector = VFAB_VECTORS, .fd = eventfd(0, 0) };
	int good = arg.fd, pipes[2];

	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_EVENTFD, &arg);
	arg.vector = ~0U;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_EVENTFD, &arg);
	arg.vector = 0;
	arg.fd = 999;
	EXPECT_IOCTL_FAILS(EBADF, self->fd, VFAB_IOC_EVENTFD, &arg);
	arg.fd = -2;
	EXPECT_IOCTL_FAILS(EBADF, self->fd, VFAB_IOC_EVENTFD, &arg);
	ASSERT_EQ(0, pipe(pipes));
	arg.fd = pipes[0];
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_EVENTFD, &arg);
	arg.fd = self->fd;
	EXPECT_IOCTL_FAILS(EINVAL, self->fd, VFAB_IOC_EVENTFD, &arg);
	EXPECT_EQ(0, vft_eventfd(self->fd, 0, good));
	EXPECT_EQ(0, vft_eventfd(self->fd, 0, -1));
}

/* After the end of the endpoint, whoever ended it. */
static void all_enodev(struct __test_metadata *_metadata, const struct fabric_data *self, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char arg[512], was[512];
	size_t i;

	for (i = 1; i < ARRAY_SIZE(calls); i++) {
		if (calls[i].cmd == VFAB_IOC_ATTACH) {
			memset(arg, 0, sizeof(arg));
			((struct vfab_attach *)arg)->rank = VFAB_RANK_ANY;
		} else {
			good_call(self, &calls[i], arg);
		}
		memcpy(was, arg, calls[i].size);
		errno = 0;
		EXPECT_EQ(-1, ioctl(fd, calls[i].cmd, arg));
		EXPECT_EQ(ENODEV, errno) {
			TH_LOG("%s: %s", calls[i].name, strerror(errno));
		}
		EXPECT_EQ(0, memcmp(was, arg, calls[i].size));
	}
	EXPECT_EQ(-ENODEV, vft_detach(fd));
	EXPECT_EQ(1, poll(&pfd, 1, 2000));
	EXPECT_EQ(POLLHUP | POLLERR, pfd.revents & (POLLHUP | POLLERR));
}

TEST_F(fabric, after_detach_is_enodev)
{
	char event[256];

	ASSERT_EQ(0, vft_detach(self->fd));
	all_enodev(_metadata, self, self->fd);
	EXPECT_EQ(1, vft_domain_get(&self->dom, VFAB_A_ATTACHED));
	/* what is queued can still be read, then the end */
	while (read(self->fd, event, sizeof(event)) > 0)
		;
	EXPECT_EQ(0, read(self->fd, event, sizeof(event)));
}

TEST_F(fabric, after_evict_is_enodev)
{
	ASSERT_EQ(0, vft_evict(&self->dom, 0));
	all_enodev(_metadata, self, self->fd);
	EXPECT_EQ(0, vft_alloc(self->peer, VFT_PAGE, 0, VFT_R, NULL));
}

TEST_F(fabric, after_delete_is_enodev)
{
	struct vfab_attach arg = { .rank = VFAB_RANK_ANY };

	EXPECT_EQ(-EBUSY, vft_domain_delete(&self->dom, false));
	ASSERT_EQ(0, vft_domain_delete(&self->dom, true));
	all_enodev(_metadata, self, self->fd);
	all_enodev(_metadata, self, self->peer);
	/* open, never attached */
	EXPECT_IOCTL_FAILS(ENODEV, self->raw, VFAB_IOC_ATTACH, &arg);
}

TEST_F(fabric, after_partition_delete_is_enodev)
{
	struct vfab_attach arg = { .rank = VFAB_RANK_ANY };
	int fd = vft_open(&self->dom, 1);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vft_partition_add(&self->dom, 0, 3, 1));
	/* no member, yet the file is good */
	EXPECT_IOCTL_FAILS(EHOSTUNREACH, fd, VFAB_IOC_ATTACH, &arg);
	ASSERT_EQ(0, vft_partition_delete(&self->dom, 1));
	EXPECT_IOCTL_FAILS(ENODEV, fd, VFAB_IOC_ATTACH, &arg);
	EXPECT_EQ(-ENOENT, vft_open(&self->dom, 1));
}

TEST_F(fabric, read_of_events)
{
	struct vfab_event event[4];
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	void *nowhere = mmap(NULL, VFT_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;
	ssize_t n;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	/* rank 1 attached after rank 0 */
	n = read(self->fd, event, sizeof(event));
	ASSERT_EQ(sizeof(event[0]), n);
	EXPECT_EQ(VFAB_EVENT_PEER_GAINED, event[0].type);
	EXPECT_EQ(1, event[0].rank);
	EXPECT_EQ(VFAB_REASON_ATTACH, event[0].reason);
	EXPECT_EQ(0, event[0].pad);
	EXPECT_EQ(0, event[0].handle);

	EXPECT_EQ(-1, read(self->fd, event, sizeof(event)));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	ASSERT_EQ(0, vft_detach(self->peer));
	EXPECT_EQ(1, poll(&pfd, 1, 1000));
	EXPECT_EQ(POLLIN, pfd.revents);
	/* whole records only */
	for (i = 0; i < sizeof(event[0]); i += 8) {
		errno = 0;
		EXPECT_EQ(-1, read(self->fd, event, i));
		EXPECT_EQ(EINVAL, errno);
	}
	EXPECT_EQ(-1, read(self->fd, nowhere, sizeof(event[0])));
	EXPECT_EQ(EFAULT, errno);
	/* what could not be delivered is still there */
	EXPECT_EQ(sizeof(event[0]), read(self->fd, event, sizeof(event[0]) + 1));
	EXPECT_EQ(VFAB_EVENT_PEER_LOST, event[0].type);
	EXPECT_EQ(1, event[0].rank);
	EXPECT_EQ(VFAB_REASON_EXIT, event[0].reason);
}

TEST_F(fabric, no_other_file_operation)
{
	char byte = 0;

	EXPECT_EQ(-1, write(self->fd, &byte, 1));
	EXPECT_EQ(-1, pread(self->fd, &byte, 1, 0));
	EXPECT_EQ(-1, ftruncate(self->fd, 0));
	EXPECT_EQ(-1, fallocate(self->fd, 0, 0, VFT_PAGE));
	EXPECT_EQ(-1, lseek(self->fd, 0, SEEK_END));
}

#ifdef __x86_64__
/* The system call of 32-bit programs, which 64-bit ones can make as well */
static long call32(long nr, long a, long b, long c)
{
	long ret;

	asm volatile("int $0x80" : "=a" (ret) : "a" (nr), "b" (a), "c" (b), "d" (c)
		     : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}

TEST_F(fabric, program_of_32_bits_is_enotty)
{
	struct vfab_info *info = mmap(NULL, VFT_PAGE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (access("/proc/sys/abi/vsyscall32", F_OK))
		SKIP(return, "this kernel has no system calls of 32-bit programs");
	ASSERT_NE(MAP_FAILED, info);
	/* getpid: it has */
	ASSERT_EQ(getpid(), call32(20, 0, 0, 0));
	EXPECT_EQ(-ENOTTY, call32(54, self->fd, VFAB_IOC_INFO, (long)info));
	EXPECT_EQ(0, info->world);
}
#endif

/* Any process that holds the file may make every call. */
TEST_F(fabric, calls_from_another_process)
{
	pid_t pid = vft_fork();

	if (!pid) {
		uint64_t handle;
		int bad = 0;

		bad |= vft_alloc(self->fd, VFT_PAGE, 9, VFT_RW, &handle);
		bad |= vft_lookup(self->peer, 0, 9, 0, NULL);
		bad |= vft_free(self->fd, handle);
		bad |= vft_import(self->fd, self->peer_handle, VFT_R, 0, NULL);
		bad |= vft_ring(self->fd, 1, 0);
		_exit(!!bad);
	}
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
}

TEST_HARNESS_MAIN
