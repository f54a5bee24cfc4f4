// SPDX-License-Identifier: GPL-2.0
/*
 * Tables from a file: what "vfabctl route show" prints, as text or as JSON. What
 * it does not name stays as it is. Files are not trusted: each number is
 * checked, and nothing nests deeper than lists of entries with lists of ports.
 */
#include <ctype.h>
#include <stdarg.h>
#include "vfabmgr.h"

struct reader {
	struct fabric *f;
	const char *name;
	const char *at;
	u32 line;
};

/* An entry as it is read; VF_NONE: not named yet */
struct row {
	u32 sw, rank, dest;
	u32 ports[64], n;
	bool egress;		/* or that there is none */
};

static int bad(struct reader *r, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return fabric_fail(r->f, -EINVAL, "%.60s:%u: %s", r->name, r->line, text);
}

/* Also over line breaks, if @lines */
static void blanks(struct reader *r, bool lines)
{
	for (;; r->at++) {
		if (*r->at == '\n' && lines)
			r->line++;
		else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r')
			return;
	}
}

static bool take(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(r->at, word, len))
		return false;
	r->at += len;
	return true;
}

/* A number below @limit */
static int number(struct reader *r, u32 limit, const char *what, u32 *n)
{
	u64 value = 0;

	if (!isdigit((unsigned char)*r->at))
		return bad(r, "a number is expected: %s", what);
	while (isdigit((unsigned char)*r->at)) {
		value = value * 10 + (u32)(*r->at++ - '0');
		if (value >= limit)
			return bad(r, "%s is not below %u", what, limit);
	}
	*n = value;
	return 0;
}

static int add_port(struct reader *r, struct row *row)
{
	u32 i, port;
	int ret = number(r, VF_MAX_RADIX, "a port", &port);

	if (ret)
		return ret;
	if (row->n == 64)
		return bad(r, "more than 64 ports");
	for (i = row->n++; i && row->ports[i - 1] > port; i--)
		row->ports[i] = row->ports[i - 1];
	row->ports[i] = port;
	return 0;
}

static int store(struct reader *r, const struct row *row)
{
	struct vf_topo *t = &r->f->topo;
	bool sw = row->sw != VF_NONE, ep = row->rank != VF_NONE;
	u32 i, router, base = row->n ? row->ports[0] : 0;
	u64 mask = 0;

	if (sw == ep || row->dest == VF_NONE || !row->egress)
		return bad(r, "an entry names a switch or a rank, a dest, and ports or drop");
	if (!sw && !t->forwards)
		return bad(r, "endpoints of this domain have no tables");
	for (i = 0; i < row->n; i++) {
		if (row->ports[i] - base >= 64)
			return bad(r, "an entry's ports lie within 64 numbers: %u and %u do not",
				   base, row->ports[i]);
		mask |= 1ULL << (row->ports[i] - base);
	}
	router = sw ? row->sw : vf_topo_router(t, row->rank);
	if (vf_topo_set_entry(t, router, row->dest, base, mask))
		return bad(r, "%s%u has no port %u", sw ? "sw" : "ep", sw ? row->sw : row->rank,
			   row->ports[row->n - 1]);
	return 0;
}

static int owner(struct reader *r, bool sw, struct row *row)
{
	return sw ? number(r, r->f->topo.switches, "a switch", &row->sw) :
		    number(r, r->f->topo.world, "a rank", &row->rank);
}

/* [dom0/]sw3: dest 2 via ports 2 3; or drop */
static int read_line(struct reader *r, struct row *row)
{
	u32 ignored;
	bool sw;
	int ret;

	if (take(r, "dom")) {
		ret = number(r, VF_NONE, "a domain", &ignored);
		if (ret)
			return ret;
		if (!take(r, "/"))
			return bad(r, "/ is expected after the domain");
	}
	sw = take(r, "sw");
	if (!sw && !take(r, "ep"))
		return bad(r, "sw or ep and a number are expected");
	ret = owner(r, sw, row);
	if (ret)
		return ret;
	take(r, ":");
	blanks(r, false);
	if (!take(r, "dest"))
		return bad(r, "dest and a rank are expected");
	blanks(r, false);
	ret = number(r, r->f->topo.world, "a destination", &row->dest);
	blanks(r, false);
	row->egress = true;
	if (ret || take(r, "drop"))
		return ret;
	if (!take(r, "via"))
		return bad(r, "via and ports, or drop, are expected");
	blanks(r, false);
	if (!take(r, "ports"))
		take(r, "port");
	do {
		blanks(r, false);
		ret = add_port(r, row);
		blanks(r, false);
		take(r, ",");
	} while (!ret && *r->at && *r->at != '\n' && *r->at != '#');
	return ret;
}

static const struct row no_row = { .sw = VF_NONE, .rank = VF_NONE, .dest = VF_NONE };

static int read_lines(struct reader *r)
{
	struct row row;
	int ret;

	for (;;) {
		blanks(r, true);
		if (!*r->at)
			return 0;
		if (*r->at != '#') {
			row = no_row;
			ret = read_line(r, &row);
			if (!ret)
				ret = store(r, &row);
			if (ret)
				return ret;
			blanks(r, false);
		}
		if (*r->at == '#')
			r->at += strcspn(r->at, "\n");
		else if (*r->at && *r->at != '\n')
			return bad(r, "the line goes on after its entry");
	}
}

static int read_ports(struct reader *r, struct row *row)
{
	int ret;

	row->egress = true;
	if (!take(r, "["))
		return bad(r, "egress is a list of ports");
	blanks(r, true);
	if (take(r, "]"))
		return 0;
	for (;;) {
		blanks(r, true);
		ret = add_port(r, row);
		if (ret)
			return ret;
		blanks(r, true);
		if (take(r, "]"))
			return 0;
		if (!take(r, ","))
			return bad(r, ", or ] is expected");
	}
}

/* A value that nobody asks for: a string or a number */
static int skip_value(struct reader *r)
{
	u32 ignored;

	if (!take(r, "\""))
		return number(r, VF_NONE, "a value", &ignored);
	while (*r->at && *r->at != '"' && *r->at != '\n')
		r->at += *r->at == '\\' && r->at[1] ? 2 : 1;
	return take(r, "\"") ? 0 : bad(r, "a string has no end");
}

static int read_member(struct reader *r, struct row *row)
{
	const char *key = r->at;
	int ret = *key == '"' ? skip_value(r) : bad(r, "a name in quotes is expected");
	size_t len = r->at - key;

	if (ret)
		return ret;
	blanks(r, true);
	if (!take(r, ":"))
		return bad(r, ": is expected after a name");
	blanks(r, true);
	if (len == 8 && !strncmp(key, "\"switch\"", len))
		return owner(r, true, row);
	if (len == 6 && !strncmp(key, "\"rank\"", len))
		return owner(r, false, row);
	if (len == 6 && !strncmp(key, "\"dest\"", len))
		return number(r, r->f->topo.world, "a destination", &row->dest);
	if (len == 8 && !strncmp(key, "\"egress\"", len))
		return read_ports(r, row);
	return skip_value(r);
}

static int read_object(struct reader *r)
{
	struct row row = no_row;
	int ret;

	blanks(r, true);
	if (!take(r, "{"))
		return bad(r, "{ is expected");
	for (;;) {
		blanks(r, true);
		ret = read_member(r, &row);
		if (ret)
			return ret;
		blanks(r, true);
		if (take(r, "}"))
			return store(r, &row);
		if (!take(r, ","))
			return bad(r, ", or } is expected");
	}
}

static int read_json(struct reader *r)
{
	int ret;

	blanks(r, true);
	if (!take(r, "]"))
		for (;;) {
			ret = read_object(r);
			if (ret)
				return ret;
			blanks(r, true);
			if (take(r, "]"))
				break;
			if (!take(r, ","))
				return bad(r, ", or ] is expected");
		}
	blanks(r, true);
	return *r->at ? bad(r, "nothing is expected after the list") : 0;
}

int file_route(struct fabric *f, const struct options *o)
{
	struct reader r = { .f = f, .name = o->file, .at = o->text, .line = 1 };
	size_t entries = (size_t)f->topo.routers * f->topo.world;

	memcpy(f->topo.mask, f->mask, entries * sizeof(*f->mask));
	memcpy(f->topo.base, f->base, entries * sizeof(*f->base));
	blanks(&r, true);
	return take(&r, "[") ? read_json(&r) : read_lines(&r);
}

/* An entry as "vfabctl route show" prints it */
void file_print(const struct fabric *f, FILE *to, u32 domain, u32 router, u32 dest,
		struct entry e)
{
	u32 v = vf_router_vertex(&f->topo, router);
	bool ep = v < f->topo.world;

	fprintf(to, "dom%u/%s%u: dest %u ", domain, ep ? "ep" : "sw",
		ep ? v : v - f->topo.world, dest);
	fputs(!e.mask ? "drop" : e.mask == 1 ? "via port" : "via ports", to);
	for (; e.mask; e.mask &= e.mask - 1)
		fprintf(to, " %u", e.base + __ffs64(e.mask));
	fputc('\n', to);
}
