// SPDX-License-Identifier: GPL-2.0
/*
 * manager: that somebody manages a domain is seen, and that nobody does any more.
 *
 *	build/selftests/manager
 */
#include <signal.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "vft.h"

#define TIMEOUT	300		/* ms; the tests take some of these */

FIXTURE(manager) {
	struct vft_domain dom;
	struct vft_nl mine, other;
};

FIXTURE_SETUP(manager)
{
	ASSERT_EQ(0, vft_domain_create(&self->dom, 4, NULL));
	ASSERT_EQ(0, vft_nl_open(&self->mine));
	ASSERT_EQ(0, vft_nl_open(&self->other));
}

FIXTURE_TEARDOWN_PARENT(manager)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

static int beat(const struct vft_domain *dom, struct vft_nl *nl, uint32_t timeout,
		const char *note)
{
	struct vft_req req;

	vft_req(&req, nl, VFAB_CMD_MANAGER_HEARTBEAT, 0);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	if (timeout)
		vft_put_u32(&req, VFAB_A_MANAGER_TIMEOUT, timeout);
	if (note)
		vft_put_str(&req, VFAB_A_MANAGER_NOTE, note);
	return vft_call(nl, &req, NULL, NULL);
}

static int goodbye(const struct vft_domain *dom, struct vft_nl *nl)
{
	struct vft_req req;

	vft_req(&req, nl, VFAB_CMD_MANAGER_GOODBYE, 0);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	return vft_call(nl, &req, NULL, NULL);
}

static uint64_t state(const struct vft_domain *dom)
{
	return vft_domain_get(dom, VFAB_A_MANAGER_STATE);
}

static void take_note(const struct vft_msg *msg, void *arg)
{
	snprintf(arg, 65, "%s", vft_str(msg, VFAB_A_MANAGER_NOTE));
}

static const char *note(const struct vft_domain *dom)
{
	static char text[65];
	struct vft_req req;

	vft_req(&req, vft_nl(), VFAB_CMD_DOMAIN_GET, 0);
	vft_put_u32(&req, VFAB_A_DOMAIN, dom->id);
	vft_call(vft_nl(), &req, take_note, text);
	return text;
}

TEST_F(manager, none_alive_none)
{
	EXPECT_EQ(VFAB_MANAGER_NONE, state(&self->dom));
	EXPECT_EQ(~0ULL, vft_domain_get(&self->dom, VFAB_A_MANAGER_AGE));
	EXPECT_EQ(~0ULL, vft_domain_get(&self->dom, VFAB_A_MANAGER_TIMEOUT));
	ASSERT_EQ(0, beat(&self->dom, &self->mine, 60000, "well"));
	EXPECT_EQ(VFAB_MANAGER_ALIVE, state(&self->dom));
	EXPECT_EQ(60000, vft_domain_get(&self->dom, VFAB_A_MANAGER_TIMEOUT));
	EXPECT_EQ((uint64_t)getpid(), vft_domain_get(&self->dom, VFAB_A_MANAGER_PID));
	EXPECT_STREQ("well", note(&self->dom));
	vft_sleep_ms(50);
	EXPECT_LE(40, vft_domain_get(&self->dom, VFAB_A_MANAGER_AGE));
	EXPECT_GT(60000, vft_domain_get(&self->dom, VFAB_A_MANAGER_AGE));
	/* said again, with another timeout and nothing new */
	ASSERT_EQ(0, beat(&self->dom, &self->mine, 50000, NULL));
	EXPECT_EQ(50000, vft_domain_get(&self->dom, VFAB_A_MANAGER_TIMEOUT));
	EXPECT_STREQ("well", note(&self->dom));
	ASSERT_EQ(0, goodbye(&self->dom, &self->mine));
	EXPECT_EQ(VFAB_MANAGER_NONE, state(&self->dom));
	EXPECT_EQ(~0ULL, vft_domain_get(&self->dom, VFAB_A_MANAGER_PID));
}

TEST_F(manager, refusals)
{
	static char text[70];

	EXPECT_EQ(-ENOENT, goodbye(&self->dom, &self->mine));
	EXPECT_STREQ("the domain has no manager", self->mine.text);
	EXPECT_EQ(-EINVAL, beat(&self->dom, &self->mine, 0, NULL));
	EXPECT_EQ(-ERANGE, beat(&self->dom, &self->mine, 99, NULL));
	EXPECT_EQ(VFAB_A_MANAGER_TIMEOUT, self->mine.bad_attr);
	EXPECT_EQ(-ERANGE, beat(&self->dom, &self->mine, 3600001, NULL));
	memset(text, 'x', 65);
	EXPECT_EQ(-EINVAL, beat(&self->dom, &self->mine, 1000, text));
	EXPECT_EQ(VFAB_A_MANAGER_NOTE, self->mine.bad_attr);
	EXPECT_EQ(VFAB_MANAGER_NONE, state(&self->dom));
	ASSERT_EQ(0, beat(&self->dom, &self->mine, 60000, NULL));
	EXPECT_EQ(-EBUSY, beat(&self->dom, &self->other, 60000, "I want"));
	EXPECT_STREQ("another manager is alive: stop it first", self->other.text);
	EXPECT_EQ(-EBUSY, goodbye(&self->dom, &self->other));
	EXPECT_STREQ("", note(&self->dom));
	EXPECT_EQ(VFAB_MANAGER_ALIVE, state(&self->dom));
}

TEST_F(manager, nobody_may_not)
{
	int status;
	pid_t pid;

	pid = vft_fork();
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(9);
		vft_nl_reset();
		_exit(beat(&self->dom, vft_nl(), 1000, NULL) == -EPERM &&
		      goodbye(&self->dom, vft_nl()) == -EPERM &&
		      /* to look is free */
		      vft_domain_get(&self->dom, VFAB_A_MANAGER_STATE) == VFAB_MANAGER_NONE ?
		      0 : 1);
	}
	status = vft_wait_pid(pid, 5000);
	EXPECT_EQ(0, status);
	EXPECT_EQ(VFAB_MANAGER_NONE, state(&self->dom));
}

/* A timeout is not over while it is alive, and is soon after. */
TEST_F(manager, silence_is_loss_and_may_end)
{
	unsigned int i;

	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, beat(&self->dom, &self->mine, 2 * TIMEOUT, NULL));
		vft_sleep_ms(TIMEOUT / 3);
		EXPECT_EQ(VFAB_MANAGER_ALIVE, state(&self->dom));
	}
	EXPECT_TRUE(vft_until(10000, state(&self->dom) == VFAB_MANAGER_LOST));
	EXPECT_LE(2 * TIMEOUT, vft_domain_get(&self->dom, VFAB_A_MANAGER_AGE));
	/* it was only stuck */
	ASSERT_EQ(0, beat(&self->dom, &self->mine, 60000, NULL));
	EXPECT_EQ(VFAB_MANAGER_ALIVE, state(&self->dom));
	/* a longer timeout than the one before: that is over, and nothing happens */
	ASSERT_EQ(0, beat(&self->dom, &self->mine, TIMEOUT, NULL));
	ASSERT_EQ(0, beat(&self->dom, &self->mine, 60000, NULL));
	vft_sleep_ms(2 * TIMEOUT);
	EXPECT_EQ(VFAB_MANAGER_ALIVE, state(&self->dom));
	/* silent again, and another takes over: the first one is refused from then on */
	ASSERT_EQ(0, beat(&self->dom, &self->mine, TIMEOUT, "old"));
	EXPECT_TRUE(vft_until(10000, state(&self->dom) == VFAB_MANAGER_LOST));
	ASSERT_EQ(0, beat(&self->dom, &self->other, 60000, "new"));
	EXPECT_EQ(-EBUSY, beat(&self->dom, &self->mine, 60000, "old"));
	EXPECT_STREQ("new", note(&self->dom));
	/* and its end is nobody's loss */
	vft_nl_close(&self->mine);
	EXPECT_EQ(VFAB_MANAGER_ALIVE, state(&self->dom));
	ASSERT_EQ(0, goodbye(&self->dom, &self->other));
}

/* Killed, it is lost long before its timeout is over. */
/* It beats, but a fault has it stalled. */
TEST_F(manager, stalled_is_lost)
{
	struct vft_nl *nl = vft_nl();
	struct vft_req req;

	ASSERT_EQ(0, beat(&self->dom, &self->mine, TIMEOUT, NULL));
	vft_req(&req, nl, VFAB_CMD_FAULT_CREATE, 0);
	vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
	vft_put_u32(&req, VFAB_A_FAULT_KIND, VFAB_FAULT_MANAGER_STALL);
	ASSERT_EQ(0, vft_call(nl, &req, NULL, NULL));
	EXPECT_EQ(true, vft_until(5000, beat(&self->dom, &self->mine, TIMEOUT, NULL) ||
				  state(&self->dom) == VFAB_MANAGER_LOST));
	EXPECT_EQ(VFAB_MANAGER_LOST, state(&self->dom));
	vft_req(&req, nl, VFAB_CMD_FAULT_DELETE, 0);
	vft_put_u32(&req, VFAB_A_DOMAIN, self->dom.id);
	vft_put_u32(&req, VFAB_A_FAULT_ID, 1);
	EXPECT_EQ(0, vft_call(nl, &req, NULL, NULL));
	EXPECT_EQ(0, beat(&self->dom, &self->mine, TIMEOUT, NULL));
	EXPECT_EQ(VFAB_MANAGER_ALIVE, state(&self->dom));
	EXPECT_EQ(0, goodbye(&self->dom, &self->mine));
}

TEST_F(manager, killed_is_lost_at_once)
{
	_Atomic int *ready = vft_shared(sizeof(*ready));
	pid_t pid;

	pid = vft_fork();
	if (!pid) {
		vft_nl_reset();
		*ready = beat(&self->dom, vft_nl(), 3600000, NULL) ? -1 : 1;
		for (;;)
			pause();
	}
	ASSERT_TRUE(vft_until(5000, *ready));
	ASSERT_EQ(1, *ready);
	EXPECT_EQ(VFAB_MANAGER_ALIVE, state(&self->dom));
	EXPECT_EQ((uint64_t)pid, vft_domain_get(&self->dom, VFAB_A_MANAGER_PID));
	vft_kill(pid);
	EXPECT_TRUE(vft_until(5000, state(&self->dom) == VFAB_MANAGER_LOST));
	/* the next one needs not wait */
	ASSERT_EQ(0, beat(&self->dom, &self->mine, 60000, NULL));
	EXPECT_EQ(VFAB_MANAGER_ALIVE, state(&self->dom));
}

static int next_state(struct vft_nl *nl, const struct vft_domain *dom, uint32_t *why)
{
	char buf[8192];
	struct vft_msg msg;
	int ret;

	do
		ret = vft_event(nl, 10000, &msg, buf, sizeof(buf));
	while (!ret && (vft_u32(&msg, VFAB_A_DOMAIN) != dom->id ||
			vft_u32(&msg, VFAB_A_OBJECT) != VFAB_OBJ_MANAGER));
	*why = ret ? 0 : vft_u32(&msg, VFAB_A_REASON);
	return ret ? ret : (int)vft_u32(&msg, VFAB_A_MANAGER_STATE);
}

/* Each change of state is told once, what repeats is not, and routes stay. */
TEST_F(manager, events)
{
	uint64_t generation = vft_domain_get(&self->dom, VFAB_A_GENERATION);
	struct vft_nl listener;
	uint32_t why;
	int i;

	ASSERT_EQ(0, vft_nl_open(&listener));
	ASSERT_EQ(0, vft_nl_listen(&listener));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, beat(&self->dom, &self->mine, TIMEOUT, NULL));
	EXPECT_EQ(VFAB_MANAGER_ALIVE, next_state(&listener, &self->dom, &why));
	EXPECT_EQ(VFAB_WHY_ATTACH, why);
	EXPECT_EQ(VFAB_MANAGER_LOST, next_state(&listener, &self->dom, &why));
	EXPECT_EQ(VFAB_WHY_NONE, why);
	ASSERT_EQ(0, beat(&self->dom, &self->mine, 60000, NULL));
	EXPECT_EQ(VFAB_MANAGER_ALIVE, next_state(&listener, &self->dom, &why));
	vft_nl_close(&self->mine);
	EXPECT_EQ(VFAB_MANAGER_LOST, next_state(&listener, &self->dom, &why));
	EXPECT_EQ(VFAB_WHY_EXIT, why);
	ASSERT_EQ(0, beat(&self->dom, &self->other, 60000, NULL));
	EXPECT_EQ(VFAB_MANAGER_ALIVE, next_state(&listener, &self->dom, &why));
	ASSERT_EQ(0, goodbye(&self->dom, &self->other));
	EXPECT_EQ(VFAB_MANAGER_NONE, next_state(&listener, &self->dom, &why));
	EXPECT_EQ(VFAB_WHY_EXIT, why);
	EXPECT_EQ(generation, vft_domain_get(&self->dom, VFAB_A_GENERATION));
	vft_nl_close(&listener);
}

/* A domain may end before its manager, and with a timeout running. */
TEST_F(manager, ends_with_its_domain)
{
	struct vft_domain dom;

	ASSERT_EQ(0, vft_domain_create(&dom, 2, NULL));
	ASSERT_EQ(0, beat(&dom, &self->mine, 100, NULL));
	ASSERT_EQ(0, vft_domain_delete(&dom, false));
	EXPECT_EQ(-ENOENT, beat(&dom, &self->mine, 100, NULL));
	EXPECT_EQ(-ENOENT, goodbye(&dom, &self->mine));
}

TEST_HARNESS_MAIN
