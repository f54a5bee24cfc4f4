// SPDX-License-Identifier: GPL-2.0
/*
 * vfabmgr as a user of the netlink interface: links and tables by dump, entries
 * by route-set, changes by the multicast group "events".
 *
 * A dump during which something changed is read again, a few times. While links
 * flap all the time none is ever whole, and the last one is taken: each of its
 * records was true at its time, and whatever changed since is announced, so it
 * is read again soon.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <netlink/netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <linux/netlink.h>
#include <linux/vfabric_netlink.h>
#include "client.h"

#define DUMP_TRIES	5
#define EVENT_BUFFER	(256 << 10)	/* too small costs a look more, no change */
#define MESSAGES	65536		/* larger than any of a dump */

static int fail(struct client *c, int err, const char *why)
{
	snprintf(c->why, sizeof(c->why), "%s", why);
	return err;
}

static int fail_nl(struct client *c, int nle, const char *doing)
{
	snprintf(c->why, sizeof(c->why), "%s: %s", doing, nl_geterror(nle));
	return -EIO;
}

static u32 get(struct nlattr **attrs, int attr)
{
	return attrs[attr] ? nla_get_u32(attrs[attr]) : VF_NONE;
}

static u64 get64(struct nlattr **attrs, int attr, u64 absent)
{
	return attrs[attr] ? nla_get_u64(attrs[attr]) : absent;
}

/* --- Requests -------------------------------------------------------------------- */

/*
 * The attributes have the length that the family gives them; a kernel that lies
 * about that is not what this defends against, but it is cheap.
 */
static struct nla_policy policy[VFAB_A_MAX + 1] = {
	[VFAB_A_DOMAIN] = { .type = NLA_U32 },
	[VFAB_A_DOMAIN_NAME] = { .type = NLA_STRING },
	[VFAB_A_WORLD] = { .type = NLA_U32 },
	[VFAB_A_SWITCHES] = { .type = NLA_U32 },
	[VFAB_A_LINK_COUNT] = { .type = NLA_U32 },
	[VFAB_A_SWITCH_LATENCY] = { .type = NLA_U32 },
	[VFAB_A_GENERATION] = { .type = NLA_U64 },
	[VFAB_A_RANK] = { .type = NLA_U32 },
	[VFAB_A_SWITCH] = { .type = NLA_U32 },
	[VFAB_A_PORT] = { .type = NLA_U32 },
	[VFAB_A_PEER_RANK] = { .type = NLA_U32 },
	[VFAB_A_PEER_SWITCH] = { .type = NLA_U32 },
	[VFAB_A_PEER_PORT] = { .type = NLA_U32 },
	[VFAB_A_LINK_STATE] = { .type = NLA_U32 },
	[VFAB_A_LINK_REASON] = { .type = NLA_U32 },
	[VFAB_A_RATE] = { .type = NLA_U32 },
	[VFAB_A_LATENCY] = { .type = NLA_U32 },
	[VFAB_A_DEST] = { .type = NLA_U32 },
	[VFAB_A_EGRESS] = { .type = NLA_U32 },
	[VFAB_A_EGRESS_MASK] = { .type = NLA_U64 },
	[VFAB_A_OBJECT] = { .type = NLA_U32 },
	[VFAB_A_ACTION] = { .type = NLA_U32 },
	[VFAB_A_MANAGER_STATE] = { .type = NLA_U32 },
	[VFAB_A_MANAGER_AGE] = { .type = NLA_U32 },
	[VFAB_A_MANAGER_NOTE] = { .type = NLA_STRING },
	[VFAB_A_MANAGER_PID] = { .type = NLA_U32 },
};

static int on_message(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[VFAB_A_MAX + 1];
	struct client *c = arg;

	if (c->err || !c->handle)
		return NL_OK;
	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, VFAB_A_MAX, policy))
		c->err = fail(c, -EPROTO,
			      "the kernel's answer is not understood: is the module of another version?");
	else
		c->err = c->handle(c, attrs, c->data);
	return NL_OK;
}

/* Of an acknowledged request. */
static int on_ack(struct nl_msg *msg, void *arg)
{
	struct client *c = arg;

	(void)msg;
	c->done = true;
	return NL_STOP;
}

/* Of a dump: an error may be in its last message, as a number. */
static int on_finish(struct nl_msg *msg, void *arg)
{
	struct client *c = arg;
	int err = 0;

	if (nlmsg_datalen(nlmsg_hdr(msg)) >= (int)sizeof(err))
		memcpy(&err, nlmsg_data(nlmsg_hdr(msg)), sizeof(err));
	if (err < 0 && !c->err)
		c->err = fail(c, err, strerror(-err));
	c->done = true;
	return NL_STOP;
}

/* The kernel's own sentence, which stands behind the request's header */
static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct nlmsghdr *hdr = (struct nlmsghdr *)((char *)e - NLMSG_HDRLEN);
	size_t skip = sizeof(*e), len = hdr->nlmsg_len - NLMSG_HDRLEN;
	struct nlattr *attr, *text = NULL;
	struct client *c = arg;

	(void)from;
	if (!(hdr->nlmsg_flags & NLM_F_CAPPED))
		skip += NLMSG_ALIGN(e->msg.nlmsg_len) - NLMSG_HDRLEN;
	if (hdr->nlmsg_flags & NLM_F_ACK_TLVS && len > skip) {
		attr = (struct nlattr *)((char *)e + skip);
		text = nla_find(attr, len - skip, NLMSGERR_ATTR_MSG);
	}
	snprintf(c->why, sizeof(c->why), "%.*s", text ? nla_len(text) : 200,
		 text ? (char *)nla_data(text) :
		 e->error == -EPERM ? "this needs CAP_NET_ADMIN in the initial user namespace" :
		 strerror(-e->error));
	c->err = e->error;
	c->done = true;
	return NL_STOP;
}

static struct nl_msg *request(struct client *c, int cmd, int flags)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (msg && !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, c->family, 0, flags, cmd,
				VFAB_GENL_VERSION)) {
		nlmsg_free(msg);
		msg = NULL;
	}
	return msg;
}

typedef int (*handler)(struct client *c, struct nlattr **attrs, void *data);

/*
 * Send, and read until it is done. @msg is freed; NULL: there was no memory.
 * EINTR: a dump, and something changed meanwhile.
 */
static int ask(struct client *c, struct nl_msg *msg, handler handle, void *data)
{
	bool changed = false;
	int ret;

	if (!msg)
		return fail(c, -ENOMEM, "out of memory");
	c->done = false;
	c->err = 0;
	c->handle = handle;
	c->data = data;
	ret = nl_send_auto(c->sock, msg);
	nlmsg_free(msg);
	if (ret < 0)
		return fail_nl(c, ret, "cannot send to the kernel");
	while (!c->done) {
		ret = nl_recvmsgs_default(c->sock);
		changed |= ret == -NLE_DUMP_INTR;
		if (ret < 0 && ret != -NLE_DUMP_INTR && !c->done)
			return fail_nl(c, ret, "cannot read the kernel's answer");
	}
	return c->err ? c->err : changed ? -EINTR : 0;
}

/* Of all of the domain. @begin: forget what an earlier try has read. */
static int dump(struct client *c, int cmd, handler handle, void (*begin)(void *data),
		void *data)
{
	struct nl_msg *msg;
	int ret, tries;

	for (tries = 0; tries < DUMP_TRIES; tries++) {
		msg = request(c, cmd, NLM_F_DUMP);
		if (msg)
			nla_put_u32(msg, VFAB_A_DOMAIN, c->domain);
		begin(data);
		ret = ask(c, msg, handle, data);
		if (ret != -EINTR)
			return ret;
	}
	return 0;
}

int client_open(struct client *c)
{
	int on = 1, ret;

	memset(c, 0, sizeof(*c));
	c->sock = nl_socket_alloc();
	c->events = nl_socket_alloc();
	if (!c->sock || !c->events)
		return fail(c, -ENOMEM, "out of memory");
	ret = genl_connect(c->sock);
	if (!ret)
		ret = genl_connect(c->events);
	if (ret)
		return fail_nl(c, ret, "cannot open a netlink socket");
	c->family = genl_ctrl_resolve(c->sock, VFAB_GENL_NAME);
	if (c->family < 0)
		return fail(c, -ENOENT,
			    "module not loaded: run 'modprobe vfabric' or 'insmod vfabric.ko'");
	nl_socket_set_msg_buf_size(c->sock, MESSAGES);
	nl_socket_set_buffer_size(c->sock, MESSAGES, 0);
	setsockopt(nl_socket_get_fd(c->sock), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	setsockopt(nl_socket_get_fd(c->sock), SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	nl_socket_modify_cb(c->sock, NL_CB_VALID, NL_CB_CUSTOM, on_message, c);
	nl_socket_modify_cb(c->sock, NL_CB_ACK, NL_CB_CUSTOM, on_ack, c);
	nl_socket_modify_cb(c->sock, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, c);
	nl_socket_modify_err_cb(c->sock, NL_CB_CUSTOM, on_error, c);
	return 0;
}

void client_close(struct client *c)
{
	nl_socket_free(c->sock);
	nl_socket_free(c->events);
	memset(c, 0, sizeof(*c));
}

/* --- The domain ------------------------------------------------------------------ */

static void take_manager(struct domain *d, struct nlattr **attrs)
{
	char *p;

	d->manager = attrs[VFAB_A_MANAGER_STATE] ? get(attrs, VFAB_A_MANAGER_STATE) :
		     VFAB_MANAGER_NONE;
	d->age_ms = get(attrs, VFAB_A_MANAGER_AGE);
	d->pid = attrs[VFAB_A_MANAGER_PID] ? get(attrs, VFAB_A_MANAGER_PID) : 0;
	if (attrs[VFAB_A_MANAGER_NOTE])
		nla_strlcpy(d->note, attrs[VFAB_A_MANAGER_NOTE], sizeof(d->note));
	for (p = d->note; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
}

static int take_domain(struct client *c, struct nlattr **attrs, void *data)
{
	struct domain *d = data;

	(void)c;
	*d = (struct domain){
		.id = get(attrs, VFAB_A_DOMAIN),
		.world = get(attrs, VFAB_A_WORLD),
		.switches = get(attrs, VFAB_A_SWITCHES),
		.links = get(attrs, VFAB_A_LINK_COUNT),
		.switch_latency = get(attrs, VFAB_A_SWITCH_LATENCY),
		.forwards = attrs[VFAB_A_FORWARDING],
		.generation = get64(attrs, VFAB_A_GENERATION, 0),
	};
	if (attrs[VFAB_A_DOMAIN_NAME])
		nla_strlcpy(d->name, attrs[VFAB_A_DOMAIN_NAME], sizeof(d->name));
	take_manager(d, attrs);
	if (d->switches == VF_NONE)
		d->switches = 0;
	if (d->switch_latency == VF_NONE)
		d->switch_latency = 0;
	return 0;
}

/* @domain: a name, a number or domN */
int client_find(struct client *c, const char *domain, struct domain *d)
{
	struct nl_msg *msg = request(c, VFAB_CMD_DOMAIN_GET, 0);
	const char *digits = domain + (strncmp(domain, "dom", 3) ? 0 : 3);
	int ret;

	if (strlen(domain) > NAME_LEN) {
		nlmsg_free(msg);
		return fail(c, -ENOENT, "no such domain: names have 32 characters at most");
	}
	if (msg && *digits && strlen(digits) < 10 &&
	    strspn(digits, "0123456789") == strlen(digits))
		nla_put_u32(msg, VFAB_A_DOMAIN, strtoul(digits, NULL, 10));
	else if (msg)
		nla_put_string(msg, VFAB_A_DOMAIN_NAME, domain);
	ret = ask(c, msg, take_domain, d);
	c->domain = d->id;
	return ret;
}

int client_look(struct client *c, struct domain *d)
{
	struct nl_msg *msg = request(c, VFAB_CMD_DOMAIN_GET, 0);

	if (msg)
		nla_put_u32(msg, VFAB_A_DOMAIN, c->domain);
	return ask(c, msg, take_domain, d);
}

/* --- Links ----------------------------------------------------------------------- */

/**
 * struct links - links as they are read, in the kernel's order
 * @f: NULL, or whose links get their state
 * @specs: NULL, or room for @room of them
 */
struct links {
	struct fabric *f;
	struct vfab_link_spec *specs;
	u32 room, n;
};

/* State and reason say it all, what the switches do included. */
static void take_state(struct vf_link *l, u32 state, u32 reason)
{
	bool works = state == VFAB_LINK_ACTIVE || state == VFAB_LINK_DEGRADED;

	l->admin = reason == VFAB_LINK_REASON_DRAIN ? VF_LINK_DRAIN : VF_LINK_UP;
	l->outage = !works;
}

static int take_link(struct client *c, struct nlattr **attrs, void *data)
{
	u32 rank = get(attrs, VFAB_A_RANK), peer = get(attrs, VFAB_A_PEER_RANK);
	u32 sw = get(attrs, VFAB_A_SWITCH), peer_sw = get(attrs, VFAB_A_PEER_SWITCH);
	struct links *links = data;
	struct vfab_link_spec *s;

	if (links->n == links->room)
		return fail(c, -EPROTO, "there are more links than the domain has");
	if (links->f)
		take_state(&links->f->topo.link[links->n], get(attrs, VFAB_A_LINK_STATE),
			   get(attrs, VFAB_A_LINK_REASON));
	if (links->specs) {
		s = &links->specs[links->n];
		*s = (struct vfab_link_spec){
			.node = {
				rank != VF_NONE ? rank : VFAB_SPEC_SWITCH | sw,
				peer != VF_NONE ? peer : VFAB_SPEC_SWITCH | peer_sw,
			},
			.port = { get(attrs, VFAB_A_PORT), get(attrs, VFAB_A_PEER_PORT) },
			/* Of no concern here, and it may be degraded */
			.rate = 1,
		};
	}
	links->n++;
	return 0;
}

static void begin_links(void *data)
{
	((struct links *)data)->n = 0;
}

static int read_links(struct client *c, struct links *links)
{
	int ret = dump(c, VFAB_CMD_LINK_GET, take_link, begin_links, links);

	if (!ret && links->n != links->room)
		ret = fail(c, -EPROTO, "there are fewer links than the domain has");
	return ret;
}

/* What is joined to what, once for all: it never changes. Then fabric_free() is due. */
int client_fabric(struct client *c, const struct domain *d, struct fabric *f)
{
	struct links links = { .room = d->links };
	struct vf_topo_config cfg = {
		.world = d->world, .switches = d->switches, .nlinks = d->links,
		.switch_latency = d->switch_latency, .forwards = d->forwards,
	};
	int ret;

	if (!d->world || d->world > VF_MAX_WORLD || d->switches > VF_MAX_SWITCHES ||
	    d->links > VF_MAX_LINKS)
		return fail(c, -EPROTO, "the domain is larger than this version knows");
	links.specs = calloc(d->links + 1, sizeof(*links.specs));
	if (!links.specs)
		return fail(c, -ENOMEM, "out of memory");
	cfg.links = links.specs;
	ret = read_links(c, &links);
	if (!ret) {
		ret = fabric_init(f, &cfg);
		if (ret)
			fail(c, ret, f->why);
	}
	free(links.specs);
	return ret;
}

int client_links(struct client *c, struct fabric *f)
{
	struct links links = { .f = f, .room = f->topo.nlinks };
	int ret = read_links(c, &links);

	fabric_links(f);
	return ret;
}

/* --- Tables ---------------------------------------------------------------------- */

static int take_entry(struct client *c, struct nlattr **attrs, void *data)
{
	u32 sw = get(attrs, VFAB_A_SWITCH), rank = get(attrs, VFAB_A_RANK);
	u32 dest = get(attrs, VFAB_A_DEST), egress = get(attrs, VFAB_A_EGRESS);
	struct fabric *f = data;
	u32 router = sw != VF_NONE ? sw : f->topo.switches + rank;
	u64 mask = egress == VF_NONE ? 0 : get64(attrs, VFAB_A_EGRESS_MASK, 1);
	size_t i;

	/* The wanted tables are not made yet: they lend themselves to look at it */
	if (router >= f->topo.routers || dest >= f->topo.world ||
	    vf_topo_set_entry(&f->topo, router, dest, mask ? egress : 0, mask))
		return fail(c, -EPROTO, "there is an entry of a table that the domain has not");
	i = entry_index(f, router, dest);
	f->base[i] = mask ? egress : 0;
	f->mask[i] = mask;
	return 0;
}

static void begin_tables(void *data)
{
	struct fabric *f = data;

	memset(f->mask, 0, (size_t)f->topo.routers * f->topo.world * sizeof(*f->mask));
}

int client_tables(struct client *c, struct fabric *f)
{
	return dump(c, VFAB_CMD_ROUTE_GET, take_entry, begin_tables, f);
}

/* All that client_set() has put aside, in one step */
int client_flush(struct client *c)
{
	size_t bytes = c->nbatch * sizeof(*c->batch);
	struct nl_msg *msg;

	if (!c->nbatch)
		return 0;
	msg = nlmsg_alloc_size(NLMSG_HDRLEN + GENL_HDRLEN + 2 * NLA_HDRLEN + 64 + bytes);
	c->nbatch = 0;
	c->requests++;
	if (msg && genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, c->family, 0, 0,
			       VFAB_CMD_ROUTE_SET, VFAB_GENL_VERSION)) {
		nla_put_u32(msg, VFAB_A_DOMAIN, c->domain);
		nla_put(msg, VFAB_A_ENTRIES, bytes, c->batch);
	}
	return ask(c, msg, NULL, NULL);
}

/* Set an entry, at the latest by client_flush(), and in the order of the calls. */
int client_set(struct client *c, const struct fabric *f, u32 router, u32 dest,
	       struct entry e)
{
	u32 v = vf_router_vertex(&f->topo, router);

	c->batch[c->nbatch++] = (struct vfab_entry_spec){
		.node = v < f->topo.world ? v : VFAB_SPEC_SWITCH | (v - f->topo.world),
		.dest = dest, .egress = e.mask ? e.base : 0, .mask = e.mask,
	};
	return c->nbatch < BATCH ? 0 : client_flush(c);
}

/* --- The manager itself ------------------------------------------------------------ */

int client_beat(struct client *c, u32 timeout_ms, const char *note)
{
	struct nl_msg *msg = request(c, VFAB_CMD_MANAGER_HEARTBEAT, 0);

	if (msg) {
		nla_put_u32(msg, VFAB_A_DOMAIN, c->domain);
		nla_put_u32(msg, VFAB_A_MANAGER_TIMEOUT, timeout_ms);
		nla_put_string(msg, VFAB_A_MANAGER_NOTE, note);
	}
	return ask(c, msg, NULL, NULL);
}

int client_goodbye(struct client *c)
{
	struct nl_msg *msg = request(c, VFAB_CMD_MANAGER_GOODBYE, 0);

	if (msg)
		nla_put_u32(msg, VFAB_A_DOMAIN, c->domain);
	return ask(c, msg, NULL, NULL);
}

/* --- Events ---------------------------------------------------------------------- */

static int on_event(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[VFAB_A_MAX + 1];
	struct client *c = arg;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, VFAB_A_MAX, policy)) {
		c->news = true;
		return NL_OK;
	}
	if (get(attrs, VFAB_A_DOMAIN) != c->domain)
		return NL_OK;
	if (get(attrs, VFAB_A_OBJECT) == VFAB_OBJ_DOMAIN &&
	    get(attrs, VFAB_A_ACTION) == VFAB_ACT_DELETED)
		c->gone = true;
	switch (get(attrs, VFAB_A_OBJECT)) {
	case VFAB_OBJ_SWITCH:
	case VFAB_OBJ_PORT:
	case VFAB_OBJ_LINK:
	case VFAB_OBJ_ROUTE:
		c->news |= get64(attrs, VFAB_A_GENERATION, ~0ULL) > c->known;
	}
	return NL_OK;
}

/* From now on: what changed before is in what is read after. */
int client_events(struct client *c)
{
	int group = genl_ctrl_resolve_grp(c->events, VFAB_GENL_NAME, "events");
	int ret = group < 0 ? group : nl_socket_add_membership(c->events, group);
	int size = EVENT_BUFFER;

	if (ret)
		return fail_nl(c, ret, "cannot listen to events");
	nl_socket_disable_seq_check(c->events);
	/* Beyond the system's limit an admin may; others lose events sooner */
	nl_socket_set_buffer_size(c->events, size, 0);
	setsockopt(nl_socket_get_fd(c->events), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	nl_socket_set_nonblocking(c->events);
	nl_socket_modify_cb(c->events, NL_CB_VALID, NL_CB_CUSTOM, on_event, c);
	return 0;
}

/*
 * Read what has come: sets c->news and c->gone. That some was lost (ENOBUFS, for
 * which libnl says that there is no memory) is news as well.
 */
int client_drain(struct client *c)
{
	int ret;

	do
		ret = nl_recvmsgs_default(c->events);
	while (!ret);
	if (ret == -NLE_NOMEM) {
		c->news = true;
		c->overruns++;
		return 0;
	}
	return ret == -NLE_AGAIN ? 0 : fail_nl(c, ret, "cannot read events");
}
