// SPDX-License-Identifier: GPL-2.0
/*
 * Links against network interfaces: a dump of 1024 links of a domain and of 1024
 * dummy interfaces, and how long after the request to set one down or up its event
 * arrives at a listener, both read in the same way. guest.sh loads the dummies.
 */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define LINKS	1024
#define EVENTS	64	/* of each repetition */

static char buf[65536];

static struct mnl_socket *route_socket(unsigned int groups)
{
	struct mnl_socket *s = mnl_socket_open(NETLINK_ROUTE);

	if (!s || mnl_socket_bind(s, groups, MNL_SOCKET_AUTOPID))
		die("NETLINK_ROUTE: %s", strerror(errno));
	return s;
}

static int count_one(const struct nlmsghdr *nlh, void *data)
{
	(void)nlh;
	++*(uint32_t *)data;
	return MNL_CB_OK;
}

static void put_ifinfo(struct nlmsghdr *nlh, int index, bool up)
{
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

	ifi->ifi_index = index;
	ifi->ifi_change = index ? IFF_UP : 0;
	ifi->ifi_flags = up ? IFF_UP : 0;
}

/* All interfaces, and how many there are */
static uint32_t dump_interfaces(struct mnl_socket *s)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	uint32_t count = 0;
	int ret = 1;

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	put_ifinfo(nlh, 0, false);
	if (mnl_socket_sendto(s, nlh, nlh->nlmsg_len) < 0)
		die("RTM_GETLINK: %s", strerror(errno));
	while (ret > 0) {
		ret = mnl_socket_recvfrom(s, buf, sizeof(buf));
		if (ret > 0)
			ret = mnl_cb_run(buf, ret, 0, mnl_socket_get_portid(s), count_one, &count);
	}
	if (ret < 0)
		die("RTM_GETLINK: %s", strerror(errno));
	return count;
}

static void set_interface(struct mnl_socket *s, int index, bool up)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	int ret;

	nlh->nlmsg_type = RTM_NEWLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	put_ifinfo(nlh, index, up);
	if (mnl_socket_sendto(s, nlh, nlh->nlmsg_len) < 0)
		die("RTM_NEWLINK: %s", strerror(errno));
	ret = mnl_socket_recvfrom(s, buf, sizeof(buf));
	if (ret < 0 || mnl_cb_run(buf, ret, 0, mnl_socket_get_portid(s), NULL, NULL) < 0)
		die("RTM_NEWLINK: %s", strerror(errno));
}

/* The time of the first event that is there or comes; the rest is read away. */
static double event_time(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	double t = 0;

	while (poll(&p, 1, t ? 0 : 10000) > 0) {
		if (recv(fd, buf, sizeof(buf), 0) < 0)
			die("an event: %s", strerror(errno));
		if (!t)
			t = now_ns();
	}
	if (!t)
		die("no event came");
	return t;
}

static double link_latency(struct vfab_nl *events)
{
	double sum = 0, t;
	int i;

	for (i = 0; i < EVENTS; i++) {
		t = now_ns();
		link_set(i / 2, 0, i & 1);
		sum += event_time(vfab_nl_fd(events)) - t;
	}
	return sum / EVENTS / 1e3;
}

static double interface_latency(struct mnl_socket *s, struct mnl_socket *events, int first)
{
	double sum = 0, t;
	int i;

	for (i = 0; i < EVENTS; i++) {
		t = now_ns();
		set_interface(s, first + i / 2, !(i & 1));
		sum += event_time(mnl_socket_get_fd(events)) - t;
	}
	return sum / EVENTS / 1e3;
}

void bench_iplink(int repeats)
{
	double ours[MAX_REPEATS], peer[MAX_REPEATS], us[MAX_REPEATS], ip_us[MAX_REPEATS], t;
	struct mnl_socket *s = route_socket(0), *ip_events = route_socket(RTMGRP_LINK);
	int i, first = if_nametoindex("dummy0");
	struct vfab_nl *events;
	uint32_t n;

	if (!first)
		die("there is no dummy0: see guest.sh");
	domain_create(LINKS, 1);
	must("events", vfab_nl_open(&events));
	must("events", vfab_nl_subscribe(events));
	for (i = 0; i < repeats; i++) {
		t = now_ns();
		n = dump_count(VFAB_CMD_LINK_GET);
		ours[i] = (now_ns() - t) / 1e3 / n;
		t = now_ns();
		n = dump_interfaces(s);
		peer[i] = (now_ns() - t) / 1e3 / n;
		us[i] = link_latency(events);
		ip_us[i] = interface_latency(s, ip_events, first);
	}
	vfab_nl_close(events);
	domain_delete();
	row("iplink.dump", "us/link", ours, peer, repeats);
	row("iplink.event", "us", us, ip_us, repeats);
	mnl_socket_close(s);
	mnl_socket_close(ip_events);
}
