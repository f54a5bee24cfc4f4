// SPDX-License-Identifier: GPL-2.0
/* Requests of netlink, made from their descriptions; and the state they leave. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/vfabric.h>
#include <linux/vfabric_netlink.h>
#include "fuzz.h"

#define NOBODY 65534

static int sock = -1;
static unsigned int family, group;
static char req[1 << 16] __attribute__((aligned(8)));
static char answer[1 << 16] __attribute__((aligned(8)));

/* Ids of the domains that this program made; the first is there before it */
static uint32_t domain[NAMED];
static unsigned int ndomains;

static struct nlmsghdr *begin(unsigned int type, unsigned int cmd, unsigned int flags)
{
	struct nlmsghdr *h = (struct nlmsghdr *)req;

	*h = (struct nlmsghdr){
		.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN), .nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags,
	};
	*(struct genlmsghdr *)NLMSG_DATA(h) = (struct genlmsghdr){ .cmd = cmd, .version = 1 };
	return h;
}

static void put(struct nlmsghdr *h, unsigned int type, const void *data, unsigned int len)
{
	struct nlattr *a = (struct nlattr *)((char *)h + NLMSG_ALIGN(h->nlmsg_len));

	if (NLMSG_ALIGN(h->nlmsg_len) + NLA_HDRLEN + NLA_ALIGN(len) > sizeof(req) ||
	    len > 0xfff0)
		return;
	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	if (len)
		memcpy(a + 1, data, len);
	memset((char *)(a + 1) + len, 0, NLA_ALIGN(len) - len);
	h->nlmsg_len = NLMSG_ALIGN(h->nlmsg_len) + NLA_HDRLEN + NLA_ALIGN(len);
}

static const struct nlattr *find(const struct nlmsghdr *h, unsigned int skip, unsigned int type)
{
	const char *p = (const char *)h + NLMSG_HDRLEN + skip;
	const char *end = (const char *)h + h->nlmsg_len;

	while (p + NLA_HDRLEN <= end) {
		const struct nlattr *a = (const struct nlattr *)p;

		if (a->nla_len < NLA_HDRLEN)
			break;
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
		p += NLA_ALIGN(a->nla_len);
	}
	return NULL;
}

static uint32_t get_u32(const struct nlmsghdr *h, unsigned int type)
{
	const struct nlattr *a = find(h, GENL_HDRLEN, type);

	return a ? *(const uint32_t *)(a + 1) : 0;
}

static uint64_t get_u64(const struct nlmsghdr *h, unsigned int type)
{
	const struct nlattr *a = find(h, GENL_HDRLEN, type);
	uint64_t value = 0;

	if (a)
		memcpy(&value, a + 1, sizeof(value));
	return value;
}

/* An error has a sentence, or names the attribute: in @told */
static int transact(struct nlmsghdr *h, void (*each)(const struct nlmsghdr *), bool *told)
{
	static unsigned int seq;
	struct nlmsghdr *m;
	ssize_t n;

	h->nlmsg_seq = ++seq;
	if (send(sock, h, h->nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		n = recv(sock, answer, sizeof(answer), MSG_DONTWAIT);
		if (n < 0)
			return -errno;
		for (m = (struct nlmsghdr *)answer; NLMSG_OK(m, n); m = NLMSG_NEXT(m, n)) {
			if (m->nlmsg_seq != seq)
				continue;	/* an event, or the rest of a dump */
			if (m->nlmsg_type == NLMSG_ERROR) {
				struct nlmsgerr *e = NLMSG_DATA(m);
				unsigned int skip = sizeof(*e);

				if (!(m->nlmsg_flags & NLM_F_CAPPED))
					skip += NLMSG_ALIGN(e->msg.nlmsg_len) - sizeof(e->msg);
				if (told)
					*told = m->nlmsg_flags & NLM_F_ACK_TLVS &&
						(find(m, skip, NLMSGERR_ATTR_MSG) ||
						 find(m, skip, NLMSGERR_ATTR_MISS_TYPE));
				return e->error;
			}
			if (m->nlmsg_type == NLMSG_DONE) {
				if (told)
					*told = true;
				return *(int *)NLMSG_DATA(m);
			}
			if (each)
				each(m);
		}
	}
}

static void found_family(const struct nlmsghdr *h)
{
	const struct nlattr *a = find(h, GENL_HDRLEN, CTRL_ATTR_MCAST_GROUPS);
	const struct nlattr *one = (const struct nlattr *)(a + 1);

	family = *(const uint16_t *)(find(h, GENL_HDRLEN, CTRL_ATTR_FAMILY_ID) + 1);
	/* The only group: index, name, id in whatever order */
	for (a = one + 1; a && (a->nla_type & NLA_TYPE_MASK) != CTRL_ATTR_MCAST_GRP_ID;)
		a = (const struct nlattr *)((const char *)a + NLA_ALIGN(a->nla_len));
	group = *(const uint32_t *)(a + 1);
}

static void subscribe(int fd)
{
	setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group));
}

void nl_reopen(void)
{
	int one = 1;

	if (sock >= 0)
		close(sock);
	sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	setsockopt(sock, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(sock, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
}

void nl_init(void)
{
	struct nlmsghdr *h;
	static int events;

	nl_reopen();
	h = begin(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	put(h, CTRL_ATTR_FAMILY_NAME, VFAB_GENL_NAME, sizeof(VFAB_GENL_NAME));
	if (transact(h, found_family, NULL))
		wrong("there is no netlink family: is the module loaded?");
	/* Somebody listens, and never reads */
	events = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	subscribe(events);
}

static uint64_t stream_state;

static uint64_t stream(void)
{
	stream_state = stream_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return stream_state;
}

static void put_string(struct nlmsghdr *h, unsigned int type, uint64_t v)
{
	char text[256];
	unsigned int len = v % 48, i;

	stream_state = v;
	for (i = 0; i < len; i++)
		text[i] = v & 64 ? "abz.-_09"[stream() >> 32 & 7] :
				   (char)(1 + (stream() >> 32) % 255);
	text[len] = 0;
	put(h, type, text, len + !(v & 128));
}

static void put_records(struct nlmsghdr *h, const struct arg *a, uint64_t v)
{
	unsigned int n = v % 3, i, k;
	static char all[1 << 15];
	char rec[64] = "";

	if (!(v / 3 % 16))		/* now and then many */
		n = v / 64 % 512;
	stream_state = v;
	for (i = 0; i < n; i++) {
		for (k = 0; a->record->args[k].name; k++) {
			const struct arg *f = &a->record->args[k];
			uint64_t value = (stream() >> 32) % 4;

			if (!(stream() >> 40 & 3))
				value = value_of(f, stream);
			if (f->flags & A_ZERO && stream() >> 40 & 15)
				value = 0;
			/* A switch among the nodes */
			if (!strncmp(f->name, "node", 4) && stream() >> 40 & 1)
				value |= VFAB_SPEC_SWITCH;
			memcpy(rec + f->where, &value, f->size);
		}
		memcpy(all + i * a->record->size, rec, a->record->size);
	}
	put(h, a->where, all, n * a->record->size);
}

static void put_arg(struct nlmsghdr *h, const struct arg *a, uint64_t v)
{
	char bytes[256] = "";
	uint64_t data = v >> 8;

	switch (a->kind) {
	case K_FLAG:
		put(h, a->where, NULL, 0);
		return;
	case K_NAME:
		if (v < NAMED)
			put(h, a->where, bytes, snprintf(bytes, sizeof(bytes), "f%d", (int)v) + 1);
		else
			put_string(h, a->where, v);
		return;
	case K_STRING:
		put_string(h, a->where, v);
		return;
	case K_BYTES:
		memcpy(bytes, &data, sizeof(data));
		put(h, a->where, bytes, v & 255);
		return;
	case K_RECORDS:
		put_records(h, a, v);
		return;
	case K_DOMAIN:
		v = nl_domain(v);
		break;
	}
	put(h, a->where, &v, a->size);
}

uint64_t nl_domain(uint64_t v)
{
	return v < NAMED ? domain[v] : v;
}

static void note_domain(const struct nlmsghdr *h)
{
	if (ndomains < NAMED)
		domain[ndomains++] = get_u32(h, VFAB_A_DOMAIN);
}

void nl_call(const struct call *c)
{
	const struct desc *d = c->desc;
	bool admin = d->flags & N_ADMIN, nobody = call_arg(c, NL_NOBODY) & 1;
	uint64_t broken = call_arg(c, NL_BROKEN);
	bool told = false;
	struct nlmsghdr *h;
	unsigned int i;
	int ret;

	h = begin(family, d->number, call_arg(c, NL_DUMP) & 1 ? NLM_F_DUMP : 0);
	for (i = NL_OWN; d->args[i].name; i++)
		if (c->have & 1ULL << i)
			put_arg(h, &d->args[i], c->arg[i]);
	if (broken)
		req[NLMSG_LENGTH(GENL_HDRLEN) + broken / 256 % 512] ^= broken;
	/* From now on it may have happened */
	if (admin)
		__atomic_add_fetch(&shared->dirty, 1, __ATOMIC_SEQ_CST);
	if (nobody)
		syscall(SYS_setresuid, -1, NOBODY, -1);
	ret = transact(h, d->number == VFAB_CMD_DOMAIN_CREATE ? note_domain : NULL, &told);
	if (nobody)
		syscall(SYS_setresuid, -1, 0, -1);
	if (!ret)
		desc_done(d);
	if (d->number == VFAB_CMD_SYSTEM_SET)
		shared->system = true;
	if (admin && ret)
		__atomic_sub_fetch(&shared->dirty, 1, __ATOMIC_SEQ_CST);
	if (verbose)
		fprintf(stderr, "%s: %s\n", d->name, strerror(-ret));
	if (nobody && admin && ret != -EPERM && ret != -EOPNOTSUPP && ret != -ENOBUFS)
		wrong("%s by an ordinary user is not refused (%s)", d->name, strerror(-ret));
	if (ret && !told && !broken && ret != -EPERM && ret != -EOPNOTSUPP && ret != -ENOMEM &&
	    ret != -EAGAIN && ret != -ENOBUFS)
		wrong("%s is refused (%s) without a sentence", d->name, strerror(-ret));
}

/* --- what programs find, and leave -------------------------------------- */

#define LEFT 64

static uint32_t left[LEFT], base;
static unsigned int nleft;

static void note_left(const struct nlmsghdr *h)
{
	if (nleft < LEFT)
		left[nleft++] = get_u32(h, VFAB_A_DOMAIN);
	if (get_u32(h, VFAB_A_ATTACHED))
		wrong("%u endpoints are attached after all files were closed",
		      get_u32(h, VFAB_A_ATTACHED));
	if (get_u64(h, VFAB_A_MEM_USED))
		wrong("%llu bytes are in use after all files were closed",
		      (unsigned long long)get_u64(h, VFAB_A_MEM_USED));
}

static int delete_domain(uint32_t id)
{
	struct nlmsghdr *h = begin(family, VFAB_CMD_DOMAIN_DELETE, 0);

	put(h, VFAB_A_DOMAIN, &id, 4);
	return transact(h, NULL, NULL);
}

/* The domain "f0" of four endpoints, to which programs come */
void nl_base(void)
{
	uint32_t world = 4, planes = 2, mode = 0666;
	struct nlmsghdr *h;
	int ret;

	ndomains = 0;
	h = begin(family, VFAB_CMD_DOMAIN_CREATE, 0);
	put(h, VFAB_A_DOMAIN_NAME, "f0", 3);
	put(h, VFAB_A_WORLD, &world, 4);
	put(h, VFAB_A_PLANES, &planes, 4);
	put(h, VFAB_A_MODE, &mode, 4);
	ret = transact(h, note_domain, NULL);
	if (ret)
		wrong("no domain can be created any more: %s", strerror(-ret));
	base = domain[0];
	shared->dirty = 0;
}

/* The ids that a program sees do not depend on what ran before it */
void nl_begin(void)
{
	memset(domain, 0, sizeof(domain));
	domain[0] = base;
	ndomains = 1;
}

/* All files are closed: nothing holds a domain, so each goes without force. */
void nl_sweep(void)
{
	struct nlmsghdr *h;
	uint32_t mode = VFAB_NETNS_EXCLUSIVE;
	unsigned int i;
	int ret;

	if (shared->system) {
		h = begin(family, VFAB_CMD_SYSTEM_SET, 0);
		put(h, VFAB_A_NETNS_MODE, &mode, 4);
		transact(h, NULL, NULL);
		shared->system = false;
	}
	do {
		nleft = 0;
		h = begin(family, VFAB_CMD_DOMAIN_GET, NLM_F_DUMP);
		transact(h, note_left, NULL);
		for (i = 0; i < nleft; i++) {
			ret = delete_domain(left[i]);
			if (ret)
				wrong("domain %u cannot be deleted: %s", left[i], strerror(-ret));
		}
	} while (nleft == LEFT);
}
