// SPDX-License-Identifier: LGPL-2.1
/* Links that a file lists one by one. */
#include "topo_int.h"

/* Digits of a number of at most @max; NULL if there are none. */
static const char *read_index(const char *text, uint32_t max, uint32_t *v)
{
	const char *p = text;

	for (*v = 0; *p >= '0' && *p <= '9' && *v <= max; p++)
		*v = *v * 10 + (*p - '0');
	return p > text && *v <= max ? p : NULL;
}

/* "ep5/p3" or "sw7/p12" */
static int read_end(struct load *l, const struct node *n, uint16_t *node, uint16_t *port)
{
	const char *p = n->kind == SCALAR ? n->text : "";
	bool sw = !strncmp(p, "sw", 2);
	uint32_t index, number;

	if (!sw && strncmp(p, "ep", 2))
		goto bad;
	p = read_index(p + 2, (sw ? TOPO_MAX_SWITCHES : TOPO_MAX_WORLD) - 1, &index);
	if (!p || strncmp(p, "/p", 2))
		goto bad;
	p = read_index(p + 2, (sw ? TOPO_MAX_SWITCH_PORTS : TOPO_MAX_PORTS) - 1, &number);
	if (!p || *p)
		goto bad;
	*node = sw ? TOPO_SWITCH(index) : index;
	*port = number;
	return 0;
bad:
	return fail(l, -EINVAL, n->line,
		    "\"%s\" is no end of a link such as ep5/p3 or sw7/p12, up to ep%u/p%u and sw%u/p%u",
		    quoted(n->kind == SCALAR ? n->text : kind_words[n->kind]),
		    TOPO_MAX_WORLD - 1, TOPO_MAX_PORTS - 1, TOPO_MAX_SWITCHES - 1,
		    TOPO_MAX_SWITCH_PORTS - 1);
}

/* A number of a link; null is that which holds for all */
static int read_number(struct load *l, const struct node *n, enum param id, uint32_t *to)
{
	const struct param_def *def = &param_defs[id];
	uint64_t v;

	if (expect(l, n, SCALAR, def->key))
		return l->code;
	if (is_null(n))
		return 0;
	if (!parse_uint(n->text, &v) || v > def->max || (v && v < def->min) ||
	    (!v && id == P_RATE))
		return fail(l, -EINVAL, n->line,
			    "%s \"%s\" is not a whole number of %u to %u",
			    def->key,
			    quoted(n->text), id == P_RATE ? 1 : 0, def->max);
	*to = v;
	return 0;
}

/**
 * struct entry - a link as it is written
 */
struct entry {
	const struct node *a, *b;
	uint32_t rate, latency, width;
};

static int read_pair(struct load *l, const struct node *n, struct entry *e)
{
	e->a = n->child;
	e->b = e->a ? e->a->next : NULL;
	if (!e->b || e->b->next)
		return fail(l, -EINVAL, n->line, "a link has two ends: [ep0/p0, sw0/p0]");
	return 0;
}

static int read_map(struct load *l, const struct node *n, struct entry *e)
{
	const struct node *k;
	int ret = 0;

	for (k = n->child; k && !ret; k = k->next->next) {
		if (!strcmp(k->text, "a"))
			e->a = k->next;
		else if (!strcmp(k->text, "b"))
			e->b = k->next;
		else if (!strcmp(k->text, param_defs[P_RATE].key))
			ret = read_number(l, k->next, P_RATE, &e->rate);
		else if (!strcmp(k->text, param_defs[P_LATENCY].key))
			ret = read_number(l, k->next, P_LATENCY, &e->latency);
		else if (!strcmp(k->text, param_defs[P_WIDTH].key))
			ret = read_number(l, k->next, P_WIDTH, &e->width);
		else
			ret = fail(l, -EINVAL, k->line,
				   "a link has no \"%s\": it has a, b, %s, %s and %s",
				   quoted(k->text), param_defs[P_RATE].key,
				   param_defs[P_LATENCY].key, param_defs[P_WIDTH].key);
	}
	if (!ret && (!e->a || !e->b))
		ret = fail(l, -EINVAL, n->line, "a link has two ends: a: ep0/p0 and b: sw0/p0");
	return ret;
}

static int read_link(struct build *b, const struct node *n)
{
	struct entry e = {
		.rate = b->p[P_RATE].number, .latency = b->p[P_LATENCY].number,
		.width = b->p[P_WIDTH].number,
	};
	struct topo_link link, *to;

	if (n->kind == SCALAR)
		return fail(b->l, -EINVAL, n->line, "\"%s\" is no link: write [ep0/p0, sw0/p0]",
			    quoted(n->text));
	if ((n->kind == LIST ? read_pair : read_map)(b->l, n, &e) ||
	    read_end(b->l, e.a, &link.a, &link.a_port) ||
	    read_end(b->l, e.b, &link.b, &link.b_port))
		return b->l->code;
	if (!e.rate)
		return fail(b->l, -ENODATA, n->line,
			    "this link has no rate: give it one, or write %s under parameters for all, or give --set %s=N",
			    param_defs[P_RATE].key,
			    param_defs[P_RATE].key);
	if (join(b, link.a, link.a_port, link.b, link.b_port))
		return b->l->code;
	to = &b->t->links[b->t->nlinks - 1];
	to->rate = e.rate;
	to->latency = e.latency;
	to->width = e.width;
	b->lines[b->t->nlinks - 1] = n->line;
	return 0;
}

/* What the file does not say is as much as its links need. */
static int size_links(struct build *b)
{
	uint32_t ports = 0, switches = 0, i;

	for (i = 0; i < 2 * b->t->nlinks; i++) {
		const struct topo_link *link = &b->t->links[i / 2];
		uint16_t node = i % 2 ? link->b : link->a;
		uint16_t port = i % 2 ? link->b_port : link->a_port;

		if (TOPO_IS_SWITCH(node) && TOPO_INDEX(node) >= switches)
			switches = TOPO_INDEX(node) + 1;
		if (!TOPO_IS_SWITCH(node) && port >= ports)
			ports = port + 1;
	}
	if (b->p[P_PORTS].known)
		ports = b->p[P_PORTS].number;
	if (b->p[P_SWITCHES].known)
		switches = b->p[P_SWITCHES].number;
	return set_size(b, b->p[P_WORLD].number, ports, switches);
}

int read_links(struct build *b, const struct node *list)
{
	const struct node *n;
	uint32_t count = 0;

	if (need(b, BIT(P_WORLD)))
		return b->l->code;
	for (n = list->child; n; n = n->next)
		if (++count > TOPO_MAX_LINKS)
			return fail(b->l, -E2BIG, n->line,
				    "there are more than %u links",
				    TOPO_MAX_LINKS);
	b->lines = calloc(count ? count : 1, sizeof(*b->lines));
	if (!b->lines)
		return fail(b->l, -ENOMEM, 0, "out of memory");
	for (n = list->child; n; n = n->next)
		if (read_link(b, n))
			return b->l->code;
	return size_links(b);
}
