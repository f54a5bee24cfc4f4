// SPDX-License-Identifier: LGPL-2.1
/* The netlink client: requests, dumps and events of the family "vfabric". */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include "vfab_nl.h"

#define REQUEST_SIZE	4096
#define RECV_SIZE	65536		/* larger than any message of a dump */
#define DUMP_TRIES	8
#define RESERVE_MAX	(16 << 20)

struct vfab_nl {
	struct mnl_socket *sock;
	uint16_t family;
	uint32_t group;
	uint32_t seq;
	char error[512];
	struct nlmsghdr *request;
	size_t room;			/* of the request */
	union {
		struct nlmsghdr hdr;
		char bytes[RECV_SIZE];
	} reply;
	char *dump;			/* messages of the dump being read */
	size_t dump_len, dump_room;
};

struct vfab_nl_msg {
	const struct nlmsghdr *header;
	const struct nlattr *attrs[VFAB_A_MAX + 1];
};

static const struct {
	int err;
	const char *text;
} sentences[] = {
	{ EPERM, "this needs CAP_NET_ADMIN in the initial user namespace" },
	{ EACCES, "you may not do this" },
	{ ENOENT, "there is no such object" },
	{ ENODEV, "the domain has ended" },
	{ EEXIST, "it exists already" },
	{ EBUSY, "it is in use" },
	{ EDQUOT, "a limit of this user is reached" },
	{ ENOSPC, "a limit of this machine is reached" },
	{ ENOMEM, "the kernel is out of memory" },
	{ ENOTCONN, "no process holds the endpoint" },
	{ EINVAL, "the kernel refused an argument" },
	{ ERANGE, "the kernel refused an argument: it is out of range" },
	{ EREMOTE, "the domain is owned by another node" },
	{ EOPNOTSUPP, "the vfabric module does not know the command: load a newer one" },
};

static int fail(struct vfab_nl *nl, int err, const char *text)
{
	snprintf(nl->error, sizeof(nl->error), "%s", text);
	return -err;
}

static int fail_errno(struct vfab_nl *nl, const char *doing)
{
	int err = errno;

	snprintf(nl->error, sizeof(nl->error), "%s: %s", doing, strerror(err));
	return -err;
}

/* The kernel refused and gave no sentence: ours. */
static int fail_kernel(struct vfab_nl *nl, int err, uint16_t attr)
{
	const char *text = strerror(err);
	size_t i;

	for (i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		if (sentences[i].err == err)
			text = sentences[i].text;
	fail(nl, err, text);
	if (attr)
		snprintf(nl->error, sizeof(nl->error), "%s (attribute %u)", text,
			 attr);
	return -err;
}

uint64_t vfab_nl_uint(const struct nlattr *attr)
{
	uint64_t value64;

	if (!attr)
		return 0;
	switch (mnl_attr_get_payload_len(attr)) {
	case 1:
		return mnl_attr_get_u8(attr);
	case 2:
		return mnl_attr_get_u16(attr);
	case 4:
		return mnl_attr_get_u32(attr);
	case 8:
		memcpy(&value64, mnl_attr_get_payload(attr), sizeof(value64));
		return value64;
	default:
		return 0;
	}
}

const char *vfab_nl_str(const struct nlattr *attr)
{
	const char *text;
	size_t len;

	if (!attr)
		return "";
	text = mnl_attr_get_payload(attr);
	len = mnl_attr_get_payload_len(attr);
	return len && memchr(text, 0, len) ? text : "";
}

/* Which attribute of the request stands at @offset, 0 if none does. */
static uint16_t attr_at(const struct nlmsghdr *req, uint32_t offset)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, req, sizeof(struct genlmsghdr))
		if ((const char *)attr - (const char *)req == (long)offset)
			return mnl_attr_get_type(attr);
	return 0;
}

/*
 * An NLMSG_ERROR, or the NLMSG_DONE that ends a dump. Attributes follow the
 * error number; in an NLMSG_ERROR, the header of the request (and, where the
 * kernel did not cap it, all of the request) stands between.
 */
static int verdict(struct vfab_nl *nl, const struct nlmsghdr *msg)
{
	size_t len = mnl_nlmsg_get_payload_len(msg), skip = sizeof(int);
	const void *payload = mnl_nlmsg_get_payload(msg), *tlvs;
	const char *text = NULL;
	const struct nlattr *attr;
	uint16_t bad = 0;
	int err;

	if (len < sizeof(int)) {
		if (msg->nlmsg_type == NLMSG_DONE)
			return 0;
		return fail(nl, EPROTO, "the kernel's answer is cut off");
	}
	memcpy(&err, payload, sizeof(err));
	if (msg->nlmsg_type == NLMSG_ERROR) {
		skip = sizeof(struct nlmsgerr);
		if (!(msg->nlmsg_flags & NLM_F_CAPPED) && len >= skip) {
			const struct nlmsgerr *e = payload;

			skip += MNL_ALIGN(e->msg.nlmsg_len) - MNL_NLMSG_HDRLEN;
		}
	}
	if ((msg->nlmsg_flags & NLM_F_ACK_TLVS) && len > skip) {
		tlvs = (const char *)payload + skip;
		mnl_attr_for_each_payload(tlvs, len - skip) {
			switch (mnl_attr_get_type(attr)) {
			case NLMSGERR_ATTR_MSG:
				if (*vfab_nl_str(attr))
					text = vfab_nl_str(attr);
				break;
			case NLMSGERR_ATTR_OFFS:
				bad = attr_at(nl->request, vfab_nl_uint(attr));
				break;
			case NLMSGERR_ATTR_MISS_TYPE:
				bad = vfab_nl_uint(attr);
				break;
			}
		}
	}
	if (text || !err)
		return fail(nl, -err, text ? text : "");
	return fail_kernel(nl, -err, bad);
}

static int parse_attr(const struct nlattr *attr, void *data)
{
	uint16_t type = mnl_attr_get_type(attr);
	struct vfab_nl_msg *msg = data;

	/* A newer kernel may say more than this library knows */
	if (type <= VFAB_A_MAX)
		msg->attrs[type] = attr;
	return MNL_CB_OK;
}

static int deliver(const struct nlmsghdr *header, vfab_nl_cb cb, void *data)
{
	struct vfab_nl_msg msg = { .header = header };

	if (!cb)
		return 0;
	mnl_attr_parse(header, sizeof(struct genlmsghdr), parse_attr, &msg);
	return cb(&msg, data);
}

const struct nlattr *vfab_nl_attr(const struct vfab_nl_msg *msg, uint16_t attr)
{
	return attr <= VFAB_A_MAX ? msg->attrs[attr] : NULL;
}

const struct nlmsghdr *vfab_nl_header(const struct vfab_nl_msg *msg)
{
	return msg->header;
}

static ssize_t receive(struct vfab_nl *nl)
{
	ssize_t len;

	do
		len = mnl_socket_recvfrom(nl->sock, &nl->reply, sizeof(nl->reply));
	while (len < 0 && errno == EINTR);
	return len;
}

static int send_request(struct vfab_nl *nl, uint16_t flags)
{
	struct nlmsghdr *req = nl->request;

	req->nlmsg_flags = NLM_F_REQUEST | flags;
	req->nlmsg_seq = ++nl->seq;
	if (mnl_socket_sendto(nl->sock, req, req->nlmsg_len) < 0)
		return fail_errno(nl, "cannot send to the kernel");
	return 0;
}

struct nlmsghdr *vfab_nl_begin(struct vfab_nl *nl, uint8_t cmd)
{
	struct genlmsghdr *genl;

	memset(nl->request, 0, nl->room);
	mnl_nlmsg_put_header(nl->request);
	nl->request->nlmsg_type = nl->family;
	genl = mnl_nlmsg_put_extra_header(nl->request, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = VFAB_GENL_VERSION;
	return nl->request;
}

struct nlmsghdr *vfab_nl_reserve(struct vfab_nl *nl, size_t bytes)
{
	size_t room = nl->request->nlmsg_len + bytes + REQUEST_SIZE;
	int sndbuf = 2 * room;
	void *request;

	if (bytes > RESERVE_MAX || room > 2 * RESERVE_MAX) {
		fail(nl, EMSGSIZE, "the request is too long");
		return NULL;
	}
	if (room <= nl->room)
		return nl->request;
	request = realloc(nl->request, room);
	if (!request) {
		fail(nl, ENOMEM, "out of memory");
		return NULL;
	}
	nl->request = request;
	memset((char *)request + nl->room, 0, room - nl->room);
	nl->room = room;
	/* Beyond the system's limit an admin may; others are refused when sending */
	if (setsockopt(mnl_socket_get_fd(nl->sock), SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf,
		       sizeof(sndbuf)))
		setsockopt(mnl_socket_get_fd(nl->sock), SOL_SOCKET, SO_SNDBUF, &sndbuf,
			   sizeof(sndbuf));
	return nl->request;
}

static int keep(struct vfab_nl *nl, const struct nlmsghdr *msg)
{
	size_t len = MNL_ALIGN(msg->nlmsg_len);
	char *bigger;

	if (nl->dump_room - nl->dump_len < len) {
		size_t room = 2 * nl->dump_room + RECV_SIZE;

		bigger = realloc(nl->dump, room);
		if (!bigger)
			return fail(nl, ENOMEM, "out of memory");
		nl->dump = bigger;
		nl->dump_room = room;
	}
	memcpy(nl->dump + nl->dump_len, msg, msg->nlmsg_len);
	nl->dump_len += len;
	return 0;
}

/*
 * What comes up to the kernel's verdict: to @cb, or of a dump into nl->dump, which is
 * -EINTR if something changed meanwhile. A failure of either does not end the reading.
 */
static int converse(struct vfab_nl *nl, uint16_t flags, vfab_nl_cb cb, void *data)
{
	const struct nlmsghdr *msg;
	bool changed = false;
	int ret, taken = 0, left;
	ssize_t len;

	ret = send_request(nl, flags);
	if (ret)
		return ret;
	for (;;) {
		len = receive(nl);
		if (len < 0)
			return fail_errno(nl, "cannot read the kernel's answer");
		left = len;
		for (msg = &nl->reply.hdr; mnl_nlmsg_ok(msg, left);
		     msg = mnl_nlmsg_next(msg, &left)) {
			if (msg->nlmsg_seq != nl->seq)
				continue;	/* of a call that ended early */
			if (msg->nlmsg_flags & NLM_F_DUMP_INTR)
				changed = true;
			if (msg->nlmsg_type == NLMSG_ERROR ||
			    msg->nlmsg_type == NLMSG_DONE) {
				ret = verdict(nl, msg);
				return ret ? ret : taken ? taken : changed ? -EINTR : 0;
			}
			if (msg->nlmsg_type >= NLMSG_MIN_TYPE && !taken)
				taken = flags & NLM_F_DUMP ? keep(nl, msg) : deliver(msg, cb, data);
		}
	}
}

int vfab_nl_do(struct vfab_nl *nl, vfab_nl_cb cb, void *data)
{
	return converse(nl, NLM_F_ACK, cb, data);
}

static int read_dump(struct vfab_nl *nl)
{
	nl->dump_len = 0;
	return converse(nl, NLM_F_DUMP, NULL, NULL);
}

int vfab_nl_dump(struct vfab_nl *nl, vfab_nl_cb cb, void *data)
{
	const struct nlmsghdr *msg;
	int ret, tries = 0, left;
	char *dump;

	do
		ret = read_dump(nl);
	while (ret == -EINTR && ++tries < DUMP_TRIES);
	if (ret == -EINTR)
		return fail(nl, EAGAIN, "interrupted: it changes all the time, try again");
	if (ret)
		return ret;

	/* The callback may start a dump of its own */
	dump = nl->dump;
	left = nl->dump_len;
	nl->dump = NULL;
	nl->dump_len = 0;
	nl->dump_room = 0;
	for (msg = (void *)dump; dump && mnl_nlmsg_ok(msg, left) && !ret;
	     msg = mnl_nlmsg_next(msg, &left))
		ret = deliver(msg, cb, data);
	free(dump);
	return ret;
}

int vfab_nl_fd(const struct vfab_nl *nl)
{
	return mnl_socket_get_fd(nl->sock);
}

int vfab_nl_subscribe(struct vfab_nl *nl)
{
	if (mnl_socket_setsockopt(nl->sock, NETLINK_ADD_MEMBERSHIP, &nl->group,
				  sizeof(nl->group)) < 0)
		return fail_errno(nl, "cannot listen to events");
	return 0;
}

int vfab_nl_event(struct vfab_nl *nl, int timeout, vfab_nl_cb cb, void *data)
{
	struct pollfd pfd = { .fd = vfab_nl_fd(nl), .events = POLLIN };
	const struct nlmsghdr *msg;
	int ret, left;
	ssize_t len;

	ret = poll(&pfd, 1, timeout);
	if (!ret)
		return fail(nl, ETIMEDOUT, "no event came");
	if (ret < 0)
		return fail_errno(nl, "cannot wait for events");
	len = mnl_socket_recvfrom(nl->sock, &nl->reply, sizeof(nl->reply));
	if (len < 0 && errno == ENOBUFS)
		return fail(nl, ENOBUFS,
			    "events were lost: they came faster than they were read");
	if (len < 0)
		return fail_errno(nl, "cannot read events");
	left = len;
	ret = 0;
	for (msg = &nl->reply.hdr; mnl_nlmsg_ok(msg, left) && !ret;
	     msg = mnl_nlmsg_next(msg, &left))
		if (msg->nlmsg_type == nl->family)
			ret = deliver(msg, cb, data);
	return ret;
}

static int parse_ctrl(const struct nlattr *attr, void *data)
{
	const struct nlattr **tb = data;

	if (mnl_attr_get_type(attr) <= CTRL_ATTR_MAX)
		tb[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

static int read_family(const struct vfab_nl_msg *msg, void *data)
{
	const struct nlattr *tb[CTRL_ATTR_MAX + 1] = { 0 };
	const struct nlattr *group, *attr;
	struct vfab_nl *nl = data;

	mnl_attr_parse(msg->header, sizeof(struct genlmsghdr), parse_ctrl, tb);
	nl->family = vfab_nl_uint(tb[CTRL_ATTR_FAMILY_ID]);
	if (vfab_nl_uint(tb[CTRL_ATTR_VERSION]) != VFAB_GENL_VERSION)
		return fail(nl, EPROTONOSUPPORT,
			    "the vfabric module speaks another version: load one of this version");
	if (!tb[CTRL_ATTR_MCAST_GROUPS])
		return 0;
	mnl_attr_for_each_nested(group, tb[CTRL_ATTR_MCAST_GROUPS]) {
		const char *name = "";
		uint32_t id = 0;

		mnl_attr_for_each_nested(attr, group) {
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_NAME)
				name = vfab_nl_str(attr);
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID)
				id = vfab_nl_uint(attr);
		}
		if (!strcmp(name, VFABRIC_MCGRP_EVENTS))
			nl->group = id;
	}
	return 0;
}

static int find_family(struct vfab_nl *nl)
{
	struct nlmsghdr *req;
	int ret;

	req = vfab_nl_begin(nl, CTRL_CMD_GETFAMILY);
	req->nlmsg_type = GENL_ID_CTRL;
	mnl_attr_put_strz(req, CTRL_ATTR_FAMILY_NAME, VFAB_GENL_NAME);
	ret = vfab_nl_do(nl, read_family, nl);
	if (ret == -ENOENT)
		return fail(nl, ENOENT,
			    "module not loaded: run 'modprobe vfabric' or 'insmod vfabric.ko'");
	return ret;
}

int vfab_nl_open(struct vfab_nl **out)
{
	struct vfab_nl *nl;
	int on = 1;

	nl = *out = calloc(1, sizeof(*nl));
	if (!nl)
		return -ENOMEM;
	nl->room = REQUEST_SIZE;
	nl->request = calloc(1, nl->room);
	if (!nl->request)
		return fail(nl, ENOMEM, "out of memory");
	nl->sock = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!nl->sock || mnl_socket_bind(nl->sock, 0, MNL_SOCKET_AUTOPID) < 0)
		return fail_errno(nl, "cannot open a netlink socket");

	/* Without these, errors are bare numbers; but all else works */
	mnl_socket_setsockopt(nl->sock, NETLINK_EXT_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(nl->sock, NETLINK_CAP_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(nl->sock, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	return find_family(nl);
}

void vfab_nl_close(struct vfab_nl *nl)
{
	if (!nl)
		return;
	if (nl->sock)
		mnl_socket_close(nl->sock);
	free(nl->dump);
	free(nl->request);
	free(nl);
}

const char *vfab_nl_error(const struct vfab_nl *nl)
{
	return nl ? nl->error : "out of memory";
}
