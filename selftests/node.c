// SPDX-License-Identifier: GPL-2.0
/*
 * node: which ranks belong to a node, and the loss of a whole one.
 *
 *	build/selftests/node
 */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

#define WORLD	6
#define NODES	3	/* ranks 0 1, 2 3, 4 5; rank 5 is vacant */

FIXTURE(node) {
	struct vft_domain dom;
	int fd[WORLD];
	uint64_t handle[WORLD];
};

FIXTURE_SETUP(node)
{
	struct vft_options opt = { .nodes = NODES };
	uint32_t r;

	ASSERT_EQ(0, vft_domain_create(&self->dom, WORLD, &opt));
	for (r = 0; r < 5; r++) {
		self->fd[r] = vft_join(&self->dom, r);
		ASSERT_LE(0, self->fd[r]);
		ASSERT_EQ(0, fcntl(self->fd[r], F_SETFL, O_NONBLOCK));
		ASSERT_EQ(0, vft_alloc(self->fd[r], VFT_PAGE, 1, VFT_RW, &self->handle[r]));
	}
}

FIXTURE_TEARDOWN_PARENT(node)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

TEST_F(node, ranks_are_divided_in_order)
{
	int fd = vft_open(&self->dom, 0);
	struct vfab_info info;
	uint32_t r;

	EXPECT_EQ(NODES, vft_domain_get(&self->dom, VFAB_A_NODES));
	for (r = 0; r < WORLD; r++)
		EXPECT_EQ(r / 2, vft_endpoint_get(&self->dom, r, VFAB_A_NODE));
	ASSERT_EQ(0, ioctl(fd, VFAB_IOC_INFO, &info));
	EXPECT_EQ(VFAB_NODE_NONE, info.node);
	EXPECT_EQ(NODES, info.nodes);
	for (r = 0; r < 5; r++) {
		ASSERT_EQ(0, ioctl(self->fd[r], VFAB_IOC_INFO, &info));
		EXPECT_EQ(r / 2, info.node);
		EXPECT_EQ(NODES, info.nodes);
	}
}

TEST_F(node, one_node_is_the_default)
{
	struct vft_domain dom;

	ASSERT_EQ(0, vft_domain_create(&dom, 3, NULL));
	EXPECT_EQ(1, vft_domain_get(&dom, VFAB_A_NODES));
	EXPECT_EQ(0, vft_endpoint_get(&dom, 2, VFAB_A_NODE));
	EXPECT_EQ(0, vft_domain_end(&dom));
}

/* A node's loss is one change: whoever looks in between sees no half of it. */
TEST_F(node, loss_of_a_node_is_one_change)
{
	const struct vfab_view *view = vft_view(self->fd[0]);
	uint64_t loss = view->loss;
	struct vfab_event ev;
	struct vfab_peer peer;
	unsigned int lost = 0;
	char *p, *q, *other;

	p = vft_import_map(self->fd[0], self->handle[2], VFT_PAGE, VFT_RW, 0);
	q = vft_import_map(self->fd[0], self->handle[3], VFT_PAGE, VFT_RW, VFAB_LOSS_ABSORB);
	other = vft_import_map(self->fd[0], self->handle[1], VFT_PAGE, VFT_RW, 0);
	ASSERT_EQ(true, p && q && other);
	EXPECT_EQ(0, vft_store(p, 1));
	EXPECT_EQ(0, vft_store(q, 1));
	while (read(self->fd[0], &ev, sizeof(ev)) > 0)
		;
	ASSERT_EQ(0, vft_evict_node(&self->dom, 1));
	EXPECT_EQ(SIGBUS, vft_touch(p));
	EXPECT_EQ(~0ULL, *(volatile uint64_t *)q);
	EXPECT_EQ(0, vft_touch(other));
	EXPECT_LT(loss, view->loss);
	vft_peer(view, 2, &peer);
	EXPECT_EQ(VFAB_PEER_VACANT, peer.state);
	vft_peer(view, 3, &peer);
	EXPECT_EQ(VFAB_PEER_VACANT, peer.state);
	/* both are told with the same loss generation */
	while (read(self->fd[0], &ev, sizeof(ev)) > 0) {
		EXPECT_EQ(VFAB_EVENT_PEER_LOST, ev.type);
		EXPECT_EQ(VFAB_REASON_EXIT, ev.reason);
		EXPECT_EQ(view->loss, ev.loss);
		lost++;
	}
	EXPECT_EQ(2, lost);
	EXPECT_EQ(-ENODEV, vft_ring(self->fd[2], 0, 0));
	EXPECT_EQ(-ENODEV, vft_ring(self->fd[3], 0, 0));
	EXPECT_EQ(0, vft_ring(self->fd[4], 0, 0));
	EXPECT_EQ(-ENOTCONN, vft_evict_node(&self->dom, 1));
	EXPECT_EQ(VFAB_A_NODE, vft_nl()->bad_attr);
}

TEST_F(node, loss_of_a_node_with_a_vacant_rank)
{
	EXPECT_EQ(0, vft_evict_node(&self->dom, 2));
	EXPECT_EQ(-ENODEV, vft_ring(self->fd[4], 0, 0));
	EXPECT_EQ(-EINVAL, vft_evict_node(&self->dom, NODES));
	EXPECT_EQ(VFAB_A_NODE, vft_nl()->bad_attr);
}

TEST_F(node, links_of_a_node)
{
	char *p = vft_import_map(self->fd[0], self->handle[2], VFT_PAGE, VFT_RW, 0);
	struct vft_msg msg;
	struct vft_nl nl;
	char buf[4096];

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vft_nl_open(&nl));
	ASSERT_EQ(0, vft_nl_listen(&nl));
	ASSERT_EQ(0, vft_link_node(&self->dom, 1, false));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 2, VFAB_A_PORTS_UP));
	EXPECT_EQ(0, vft_endpoint_get(&self->dom, 3, VFAB_A_PORTS_UP));
	EXPECT_EQ(2, vft_endpoint_get(&self->dom, 1, VFAB_A_PORTS_UP));
	EXPECT_EQ(2, vft_endpoint_get(&self->dom, 4, VFAB_A_PORTS_UP));
	EXPECT_EQ(SIGBUS, vft_touch(p));
	EXPECT_EQ(-EHOSTUNREACH, vft_ring(self->fd[0], 3, 0));
	ASSERT_EQ(0, vft_event(&nl, 3000, &msg, buf, sizeof(buf)));
	EXPECT_EQ(VFAB_OBJ_LINK, vft_u32(&msg, VFAB_A_OBJECT));
	EXPECT_EQ(1, vft_u32(&msg, VFAB_A_NODE));
	EXPECT_EQ(NULL, msg.a[VFAB_A_RANK]);
	ASSERT_EQ(0, vft_link_node(&self->dom, 1, true));
	EXPECT_EQ(0, vft_touch(p));
	EXPECT_EQ(0, vft_ring(self->fd[0], 3, 0));
	vft_nl_close(&nl);
}

TEST_HARNESS_MAIN
