// SPDX-License-Identifier: GPL-2.0
/* Profiles and topology files. Asks the module nothing. */
#include <stdio.h>
#include "topo.h"
#include "vfabctl.h"

#define NO_VALUE "-"

/* 10^6 bytes per second as GB/s, exactly. */
static const char *giga(uint64_t mb_per_s)
{
	static char bufs[2][32];
	static unsigned int turn;
	char *text = bufs[turn++ % 2];
	int len;

	len = snprintf(text, sizeof(bufs[0]), "%llu.%03u", (unsigned long long)(mb_per_s / 1000),
		       (unsigned int)(mb_per_s % 1000));
	while (text[len - 1] == '0')
		text[--len] = 0;
	if (text[len - 1] == '.')
		text[--len] = 0;
	return text;
}

static const char *unit_name(enum topo_unit unit)
{
	static const char *const names[] = {
		[TOPO_COUNT] = "",
		[TOPO_MB_PER_DIRECTION] = "MB/s per direction",
		[TOPO_MB_BOTH] = "MB/s both directions",
		[TOPO_MB_UNSTATED] = "MB/s direction not stated",
		[TOPO_NS] = "ns",
		[TOPO_PERCENT] = "%",
		[TOPO_WATT] = "W",
		[TOPO_BYTE] = "bytes",
	};

	return names[unit];
}

/* As text: a rate of each direction with the sum of both, and the other way. */
static void value_text(const struct topo_value *v, char *text, size_t size)
{
	enum topo_unit unit = topo_unit(v->key);

	if (!v->known)
		snprintf(text, size, "null");
	else if (unit == TOPO_MB_PER_DIRECTION)
		snprintf(text, size, "%s GB/s per direction, %s GB/s both directions",
			 giga(v->number), giga(2 * v->number));
	else if (unit == TOPO_MB_BOTH && v->number % 2 == 0)
		snprintf(text, size, "%s GB/s per direction, %s GB/s both directions",
			 giga(v->number / 2), giga(v->number));
	else if (unit == TOPO_MB_BOTH)
		snprintf(text, size, "%s GB/s both directions", giga(v->number));
	else if (unit == TOPO_MB_UNSTATED)
		snprintf(text, size, "%s GB/s, direction not stated", giga(v->number));
	else
		snprintf(text, size, "%llu%s%s", (unsigned long long)v->number,
			 unit == TOPO_COUNT || unit == TOPO_PERCENT ? "" : " ", unit_name(unit));
}

static void out_or_null(struct ctx *c, const char *key, const char *text)
{
	if (text && *text)
		out_str(c, key, NULL, text);
	else
		out_null(c, key, NULL, NULL);
}

static void show_values(struct ctx *c, const char *key, const struct topo_value *values,
			uint32_t n)
{
	char text[96];
	uint32_t i;

	out_text(c, "\n  %s", key);
	out_open(c, key, '{');
	for (i = 0; i < n; i++) {
		const struct topo_value *v = &values[i];
		const char *confidence = topo_confidence(v->confidence);

		value_text(v, text, sizeof(text));
		out_text(c, "\n    %-40s %-56s %-8s %s", v->key, text,
			 *confidence ? confidence : NO_VALUE,
			 v->source ? printable(v->source) : NO_VALUE);
		out_open(c, v->key, '{');
		if (v->known)
			out_uint(c, "value", NULL, v->number);
		else
			out_null(c, "value", NULL, NULL);
		out_or_null(c, "unit", unit_name(topo_unit(v->key)));
		out_or_null(c, "confidence", confidence);
		out_or_null(c, "source", v->source);
		out_close(c, '}');
	}
	out_close(c, '}');
}

static void show_profile(struct ctx *c, const struct topo_profile *p)
{
	uint32_t i;

	item(c, "%s", p->name);
	out_str(c, "name", NULL, p->name);
	out_or_null(c, "description", p->description);
	out_or_null(c, "generator", p->generator);
	out_text(c, " %s", p->description ? printable(p->description) : "");
	out_text(c, "\n  generator %s", p->generator ? p->generator : "none, it lists links");
	out_text(c, "\n    %-40s %-56s %-8s %s", "KEY", "VALUE", "CONF", "SOURCE");
	show_values(c, "parameters", p->params, p->nparams);
	show_values(c, "facts", p->facts, p->nfacts);
	if (p->nnotes)
		out_text(c, "\n  notes");
	out_open(c, "notes", '[');
	for (i = 0; i < p->nnotes; i++) {
		out_str(c, "", NULL, p->notes[i]);
		out_text(c, "\n    %s", printable(p->notes[i]));
	}
	out_close(c, ']');
	item_end(c);
}

static const struct topo_value *param(const struct topo_profile *p, const char *key)
{
	uint32_t i;

	for (i = 0; i < p->nparams; i++)
		if (!strcmp(p->params[i].key, key) && p->params[i].known)
			return &p->params[i];
	return NULL;
}

static void list_number(struct ctx *c, const struct topo_profile *p, const char *key,
			const char *name)
{
	const struct topo_value *v = param(p, key);

	if (v)
		out_uint(c, name, name, v->number);
	else
		out_null(c, name, name, NO_VALUE);
}

/* One line; what is not known, or the user's to say, is "-". */
static void list_profile(struct ctx *c, const struct topo_profile *p)
{
	item(c, "%s", p->name);
	out_str(c, "name", NULL, p->name);
	out_or_null(c, "generator", p->generator);
	list_number(c, p, "world", "size");
	list_number(c, p, "nodes", "nodes");
	list_number(c, p, "ports", "ports");
	list_number(c, p, "switches", "switches");
	out_or_null(c, "description", p->description);
	if (p->description)
		out_text(c, "  %s", printable(p->description));
	item_end(c);
}

static int failed(struct ctx *c, int code, const char *err)
{
	*c->subject = 0;
	error(c, "%s", err);
	return code == -EINVAL || code == -ENODATA || code == -E2BIG || code == -ELOOP ?
		REFUSED : USAGE;
}

static int check_profile(struct ctx *c, const struct topo_profile *p)
{
	char err[TOPO_ERR_LEN];
	int ret;

	ret = topo_profile_check(p, err, sizeof(err));
	if (ret)
		return failed(c, ret, err);
	item(c, "%s", p->name);
	out_str(c, "name", NULL, p->name);
	out_bool(c, "ok", true);
	out_text(c, " ok");
	item_end(c);
	return DONE;
}

static int one_profile(struct ctx *c, const char *name, char **sets,
		       int (*what)(struct ctx *c, const struct topo_profile *p))
{
	char err[TOPO_ERR_LEN];
	struct topo_profile p;
	int ret;

	ret = topo_profile_read(name, sets, &p, err, sizeof(err));
	if (ret)
		return failed(c, ret, err);
	ret = what(c, &p);
	topo_profile_free(&p);
	return ret;
}

static int show_one(struct ctx *c, const struct topo_profile *p)
{
	show_profile(c, p);
	return DONE;
}

static int list_one(struct ctx *c, const struct topo_profile *p)
{
	list_profile(c, p);
	return DONE;
}

/* A profile that is wrong does not hide the others. */
static int all_profiles(struct ctx *c, bool check)
{
	int ret = DONE, n, i, one;
	char **names;

	n = topo_profile_names(&names);
	if (n <= 0) {
		error(c, n ? "out of memory" :
		      "no profiles were found: say where they are in VFAB_PROFILE_PATH");
		if (!n)
			topo_names_free(names);
		return USAGE;
	}
	for (i = 0; i < n; i++) {
		one = one_profile(c, names[i], NULL, check ? check_profile : list_one);
		if (one)
			ret = one;
	}
	topo_names_free(names);
	return ret;
}

/* A path has a slash or a suffix; a profile's name has neither. */
bool is_path(const char *text)
{
	size_t len = strlen(text);

	return strchr(text, '/') || (len > 5 && !strcmp(text + len - 5, ".yaml")) ||
	       (len > 4 && !strcmp(text + len - 4, ".yml"));
}

/* The explicit list of links, which is YAML in any case. */
static int expand(struct ctx *c, const char *name, char **sets)
{
	char err[TOPO_ERR_LEN];
	struct topo t;
	int ret;

	ret = is_path(name) ? topo_load_file(name, sets, &t, err, sizeof(err)) :
	      topo_load_profile(name, sets, &t, err, sizeof(err));
	if (ret)
		return failed(c, ret, err);
	topo_dump(&t, stdout);		/* main() sees whether it was written */
	topo_free(&t);
	return DONE;
}

static int show(struct ctx *c, int argc, char **argv)
{
	bool check = false, expanded = false;
	const struct opt opts[] = {
		{ "check", NULL, &check },
		{ "expand", NULL, &expanded },
		{ NULL, NULL, NULL }
	};
	char *sets[MAX_SETS + 1];
	const char *pos[1];

	argc = args_sets(c, argc, argv, sets);
	args_parse(c, argc, argv, opts, 0, 1, pos);
	if (expanded && (c->json || check))
		usage(c, "--expand goes without --check and JSON: it prints a topology file");
	if ((expanded || *sets) && !pos[0])
		usage(c, "--expand and --set want the name of a profile");
	if (!pos[0])
		return all_profiles(c, check);
	if (expanded)
		return expand(c, pos[0], sets);
	return one_profile(c, pos[0], sets, check ? check_profile : show_one);
}

static void out_range(struct ctx *c, const char *key, const char *label, const uint32_t range[2])
{
	out_open(c, key, '{');
	out_uint(c, "least", NULL, range[0]);
	out_uint(c, "most", NULL, range[1]);
	out_close(c, '}');
	out_text(c, range[0] == range[1] ? " %s %u" : " %s %u-%u", label, range[0], range[1]);
}

static void show_summary(struct ctx *c, const struct topo *t, const struct topo_summary *s)
{
	item(c, "%s", *t->name ? t->name : "topology");
	out_str(c, "name", NULL, t->name);
	out_uint(c, "size", "size", t->world);
	if (t->nodes)
		out_uint(c, "nodes", "nodes", t->nodes);
	else
		out_null(c, "nodes", "nodes", NO_VALUE);
	out_uint(c, "ports", "ports", t->ports);
	out_uint(c, "switches", "switches", t->switches);
	out_uint(c, "links", "links", t->nlinks);
	out_text(c, "\n   ");
	out_range(c, "endpointPorts", "links-per-endpoint", s->ep_ports);
	if (t->switches)
		out_range(c, "switchPorts", "links-per-switch", s->sw_ports);
	out_bool(c, "connected", s->connected);
	out_text(c, " connected %s", s->connected ? "yes" : "no");
	if (s->connected)
		out_uint(c, "diameter", "diameter", s->diameter);
	else
		out_null(c, "diameter", "diameter", NO_VALUE);
	out_uint(c, "bisectionPerDirection", NULL, s->bisection);
	out_text(c, "\n    bisection %s GB/s per direction, %s GB/s both directions",
		 giga(s->bisection), giga(2 * s->bisection));
	item_end(c);
}

static int check(struct ctx *c, int argc, char **argv)
{
	char *sets[MAX_SETS + 1], err[TOPO_ERR_LEN];
	struct topo_summary s;
	const char *pos[1];
	struct topo t;
	int ret;

	argc = args_sets(c, argc, argv, sets);
	args_parse(c, argc, argv, NULL, 1, 1, pos);
	ret = (is_path(pos[0]) ? topo_load_file : topo_load_profile)(pos[0], sets, &t, err,
								      sizeof(err));
	if (ret)
		return failed(c, ret, err);
	ret = topo_measure(&t, &s);
	if (ret)
		error(c, "out of memory");
	else
		show_summary(c, &t, &s);
	topo_free(&t);
	if (ret)
		return USAGE;
	return s.connected ? DONE : REFUSED;
}

const struct verb profile_verbs[] = {
	{ "show list ls", show, "[NAME] [--check] [--expand] [--set KEY=N]...",
	  "Show the numbers of a profile, each with its unit, its confidence (A the vendor's\n"
	  "text or public source code, B several texts that agree, C one text or an\n"
	  "announcement, derived from others) and its source; or list all profiles. null is\n"
	  "what nobody has published. Profiles are looked for in VFAB_PROFILE_PATH, or beside\n"
	  "the program. A torus is named with its size: torus:8x8x8.\n"
	  "\n"
	  "  --check      instead, whether each number has a source, and all agree\n"
	  "  --expand     instead, print it, or what a topology file of this name says, as a\n"
	  "               topology file that lists each link\n"
	  "  --set KEY=N  with another number; may be repeated" },
	{ "check", check, "FILE|NAME [--set KEY=N]...",
	  "Read a topology file (its name has a '/' or ends in .yaml) or a profile, make its\n"
	  "links, and print what they amount to: links, ports in use, the longest of the\n"
	  "shortest paths between endpoints (diameter, in links), and the bandwidth between\n"
	  "halves of the ranks. The exit status is 1 if it is wrong or not connected. Nothing\n"
	  "is created.\n"
	  "\n"
	  "  --set KEY=N  with another number; may be repeated" },
	{ NULL, NULL, NULL, NULL }
};
