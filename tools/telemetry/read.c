// SPDX-License-Identifier: GPL-2.0
/* Reading a fabric: one dump of each kind of object. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "telemetry.h"

static uint64_t get(const struct vfab_nl_msg *msg, uint16_t attr)
{
	return vfab_nl_uint(vfab_nl_attr(msg, attr));
}

static void copy_text(char *to, size_t len, const struct vfab_nl_msg *msg, uint16_t attr)
{
	const char *text = vfab_nl_str(vfab_nl_attr(msg, attr));
	size_t n = strnlen(text, len - 1);

	memcpy(to, text, n);
	to[n] = 0;
}

/*
 * Room for one more element of @size in a list of @n, all zero; NULL: no memory.
 * Lists double, so that @n alone tells when.
 */
static void *more(void *list, size_t *n, size_t size)
{
	char **to = list, *bigger;

	if (!(*n & (*n - 1))) {
		bigger = realloc(*to, (*n ? 2 * *n : 1) * size);
		if (!bigger)
			return NULL;
		*to = bigger;
	}
	return memset(*to + (*n)++ * size, 0, size);
}

static int read_domain(const struct vfab_nl_msg *msg, void *data)
{
	const struct nlattr *uuid = vfab_nl_attr(msg, VFAB_A_UUID);
	struct tele *t = data;
	struct tele_domain *d = more(&t->domains, &t->ndomains, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->id = get(msg, VFAB_A_DOMAIN);
	copy_text(d->name, sizeof(d->name), msg, VFAB_A_DOMAIN_NAME);
	if (uuid && mnl_attr_get_payload_len(uuid) == sizeof(d->uuid))
		memcpy(d->uuid, mnl_attr_get_payload(uuid), sizeof(d->uuid));
	d->world = get(msg, VFAB_A_WORLD);
	d->planes = get(msg, VFAB_A_PLANES);
	d->nodes = get(msg, VFAB_A_NODES);
	d->switches = get(msg, VFAB_A_SWITCHES);
	d->links = get(msg, VFAB_A_LINK_COUNT);
	d->attached = get(msg, VFAB_A_ATTACHED);
	d->generation = get(msg, VFAB_A_GENERATION);
	d->mem_used = get(msg, VFAB_A_MEM_USED);
	d->mem_limit = get(msg, VFAB_A_MEM_LIMIT);
	return 0;
}

static int read_ep(const struct vfab_nl_msg *msg, void *data)
{
	struct tele *t = data;
	struct tele_ep *e = more(&t->eps, &t->neps, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->domain = get(msg, VFAB_A_DOMAIN);
	e->rank = get(msg, VFAB_A_RANK);
	e->node = get(msg, VFAB_A_NODE);
	e->partition = vfab_nl_attr(msg, VFAB_A_PARTITION) ? (int)get(msg, VFAB_A_PARTITION) : -1;
	e->state = get(msg, VFAB_A_FABRIC_STATE);
	e->status = get(msg, VFAB_A_STATUS);
	e->health = get(msg, VFAB_A_HEALTH);
	e->ports_up = get(msg, VFAB_A_PORTS_UP);
	e->planes = get(msg, VFAB_A_PLANES);
	e->held = get(msg, VFAB_A_HELD);
	e->windows = get(msg, VFAB_A_WINDOWS);
	e->pid = get(msg, VFAB_A_HOLDER_PID);
	copy_text(e->comm, sizeof(e->comm), msg, VFAB_A_HOLDER_COMM);
	return 0;
}

static void read_end(const struct vfab_nl_msg *msg, uint16_t rank, uint16_t sw, uint16_t port,
		     struct tele_addr *end)
{
	end->domain = get(msg, VFAB_A_DOMAIN);
	end->is_switch = !vfab_nl_attr(msg, rank);
	end->index = get(msg, end->is_switch ? sw : rank);
	end->port = vfab_nl_attr(msg, port) ? (int)get(msg, port) : -1;
}

static int read_link(const struct vfab_nl_msg *msg, void *data)
{
	struct tele *t = data;
	struct tele_link *l = more(&t->links, &t->nlinks, sizeof(*l));

	if (!l)
		return -ENOMEM;
	read_end(msg, VFAB_A_RANK, VFAB_A_SWITCH, VFAB_A_PORT, &l->end[0]);
	read_end(msg, VFAB_A_PEER_RANK, VFAB_A_PEER_SWITCH, VFAB_A_PEER_PORT, &l->end[1]);
	l->up = get(msg, VFAB_A_UP);
	l->state = get(msg, VFAB_A_LINK_STATE);
	l->reason = get(msg, VFAB_A_LINK_REASON);
	l->rate = get(msg, VFAB_A_RATE);
	l->built_rate = get(msg, VFAB_A_BUILT_RATE);
	return 0;
}

static int read_switch(const struct vfab_nl_msg *msg, void *data)
{
	struct tele *t = data;
	struct tele_switch *s = more(&t->switches, &t->nswitches, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->domain = get(msg, VFAB_A_DOMAIN);
	s->index = get(msg, VFAB_A_SWITCH);
	s->ports = get(msg, VFAB_A_PORTS);
	s->ports_up = get(msg, VFAB_A_PORTS_UP);
	s->up = get(msg, VFAB_A_UP);
	return 0;
}

static int read_object(const struct vfab_nl_msg *msg, void *data)
{
	struct tele *t = data;
	struct tele_object *o = more(&t->objects, &t->nobjects, sizeof(*o));

	if (!o)
		return -ENOMEM;
	read_end(msg, VFAB_A_RANK, VFAB_A_SWITCH, VFAB_A_PORT, &o->addr);
	tele_read_object(msg, o);
	return 0;
}

static void put_dom(struct nlmsghdr *req, const struct tele_domref *dom)
{
	if (dom && dom->name)
		mnl_attr_put_strz(req, VFAB_A_DOMAIN_NAME, dom->name);
	else if (dom)
		mnl_attr_put_u32(req, VFAB_A_DOMAIN, dom->id);
}

/**
 * tele_read - read a domain, or all
 * @dom: NULL: all
 * @what: TELE_*
 * @t: receives what was read; it is freed first, so that it may be used again.
 *	To be freed by tele_free(), also after an error.
 *
 * Each dump is true of one moment, but not all of the same one: where that
 * matters, compare generations. A domain named by @dom is read by its id from
 * the first dump on, so that all is of the same one.
 *
 * Return: 0 or a negative errno, see vfab_nl_error(). ENOENT: no such domain.
 */
int tele_read(struct vfab_nl *nl, const struct tele_domref *dom, unsigned int what,
	      struct tele *t)
{
	static const struct {
		unsigned int what;
		uint8_t cmd;
		vfab_nl_cb cb;
	} dumps[] = {
		{ TELE_EPS, VFAB_CMD_ENDPOINT_GET, read_ep },
		{ TELE_LINKS, VFAB_CMD_LINK_GET, read_link },
		{ TELE_SWITCHES, VFAB_CMD_SWITCH_GET, read_switch },
		{ TELE_OBJECTS, VFAB_CMD_COUNTER_GET, read_object },
	};
	struct tele_domref by_id;
	size_t i;
	int ret;

	tele_free(t);
	put_dom(vfab_nl_begin(nl, VFAB_CMD_DOMAIN_GET), dom);
	ret = dom ? vfab_nl_do(nl, read_domain, t) : vfab_nl_dump(nl, read_domain, t);
	if (!ret && dom) {
		by_id = (struct tele_domref){ .id = t->domains[0].id };
		dom = &by_id;
	}
	for (i = 0; !ret && i < sizeof(dumps) / sizeof(dumps[0]); i++) {
		if (!(what & dumps[i].what))
			continue;
		put_dom(vfab_nl_begin(nl, dumps[i].cmd), dom);
		ret = vfab_nl_dump(nl, dumps[i].cb, t);
	}
	tele_sort(t);
	return ret;
}

/**
 * tele_read_again - tele_read(), over and over
 *
 * The family of a module that was loaded again is another one: what fails is
 * tried once more with a new connection.
 */
int tele_read_again(struct tele_client *c, const struct tele_domref *dom, unsigned int what,
		    struct tele *t)
{
	int ret;

	if (c->ready) {
		ret = tele_read(c->nl, dom, what, t);
		if (!ret || ret == -EAGAIN || ret == -ENOMEM)
			return ret;
	}
	vfab_nl_close(c->nl);
	ret = vfab_nl_open(&c->nl);
	c->ready = !ret;
	return ret ? ret : tele_read(c->nl, dom, what, t);
}

void tele_free(struct tele *t)
{
	free(t->domains);
	free(t->eps);
	free(t->links);
	free(t->switches);
	free(t->objects);
	memset(t, 0, sizeof(*t));
}

/* NULL: it was not there yet when the domains were read. */
const struct tele_domain *tele_domain(const struct tele *t, uint32_t id)
{
	size_t i;

	for (i = 0; i < t->ndomains; i++)
		if (t->domains[i].id == id)
			return &t->domains[i];
	return NULL;
}
