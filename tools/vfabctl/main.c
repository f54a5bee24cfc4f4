// SPDX-License-Identifier: GPL-2.0
/*
 * vfabctl: look at and change vfabric domains. How to use, by example:
 *
 *	vfabctl domain create rack1 --size 72
 *	vfabctl topo rack1
 *	vfabctl switch set rack1/sw3 down
 *	vfabctl route trace rack1 5 9
 *	vfabctl -j endpoint show rack1 | jq '.[] | select(.held)'
 *
 * Objects are found in the table below; each has a table of verbs.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "../output.h"
#include "vfabctl.h"

static const struct object {
	const char *names;	/* as those of a verb */
	const struct verb *verbs;
	const char *help;
} objects[] = {
	{ "domain", domain_verbs, "scale-up domains" },
	{ "partition part", partition_verbs, "sets of endpoints that may reach one another" },
	{ "channel ch", channel_verbs, "access groups of a partition" },
	{ "node", node_verbs, "nodes, each with its share of the ranks" },
	{ "endpoint ep", endpoint_verbs, "the ranks' places, and who holds them" },
	{ "window", window_verbs, "exported memory, and who has imported it" },
	{ "switch sw", switch_verbs, "switches" },
	{ "port", port_verbs, "ports of endpoints and switches" },
	{ "link", link_verbs, "links between endpoints and switches" },
	{ "route", route_verbs, "routing tables, and the paths between two ranks" },
	{ "fault", fault_verbs, "what breaks, when and how often" },
	{ "topo", topo_verbs, "who reaches whom over how many planes" },
	{ "profile", profile_verbs, "named topologies, and files of one's own" },
	{ "counters", counters_verbs, "what endpoints and ports have counted" },
	{ "monitor", monitor_verbs, "print changes as they happen" },
	{ "export", export_verbs, "the state of endpoints as other tools read it" },
	{ "wait", wait_verbs, "wait for a state of a domain" },
	{ "scenario", scenario_verbs, "incidents, replayed against a program" },
	{ "backplane bp", backplane_verbs, "shared memory between VMs, and the nodes on it" },
	{ "system", system_verbs, "what holds for the whole module" },
	{ NULL, NULL, NULL }
};

static void say(const struct ctx *c, const char *fmt, va_list ap)
{
	fflush(stdout);
	fprintf(stderr, "vfabctl: %s%s", c->subject, *c->subject ? ": " : "");
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void error(const struct ctx *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(c, fmt, ap);
	va_end(ap);
}

/* Length of the first of several names, which is the one that is shown. */
static int first(const char *names)
{
	return strcspn(names, " ");
}

static void print_command(FILE *to, const struct ctx *c)
{
	fputs("vfabctl", to);
	if (c->object)
		fprintf(to, " %.*s", first(c->object->names), c->object->names);
	if (c->verb && *c->verb->names)
		fprintf(to, " %.*s", first(c->verb->names), c->verb->names);
}

/* Wrong arguments: say which, and where to look. */
void usage(const struct ctx *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(c, fmt, ap);
	va_end(ap);
	fputs("see '", stderr);
	print_command(stderr, c);
	fputs(" --help'\n", stderr);
	exit(USAGE);
}

void about(struct ctx *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->subject, sizeof(c->subject), fmt, ap);
	va_end(ap);
}

static void general_help(void)
{
	const struct object *o;

	puts("usage: vfabctl [OPTIONS] OBJECT [VERB] ARGUMENTS\n"
	     "       vfabctl OBJECT [VERB] --help\n"
	     "\n"
	     "Look at and change scale-up memory fabrics.\n"
	     "\n"
	     "objects:");
	for (o = objects; o->names; o++)
		printf("  %-11.*s%s\n", first(o->names), o->names, o->help);
	puts("\n"
	     "options:\n"
	     "  -j, --json     print JSON\n"
	     "  -p, --pretty   print JSON, indented\n"
	     "  -V, --version  print the version\n"
	     "  -h, --help     print help\n"
	     "\n"
	     "Objects are addressed as dom0, dom0/ep5, dom0/ep5/p3, dom0/sw3, dom0/sw3/p5\n"
	     "dom0/part1, dom0/part1/ch3 and dom0/node3; instead of dom0, the domain's name\n"
	     "or 0 will do. Objects and verbs may be abbreviated; ep, sw, part and ch are\n"
	     "endpoint, switch, partition and channel, add, del and list (or ls) are create,\n"
	     "delete and show. Without a verb, an object is shown.\n"
	     "\n"
	     "exit status: 0 done, 1 refused or the answer is no, 2 wrong usage, no\n"
	     "module, or the output was lost, 3 timed out");
}

static void object_help(const struct object *o)
{
	const struct verb *v;

	printf("%.*s: %s\n\n", first(o->names), o->names, o->help);
	for (v = o->verbs; v->names; v++)
		printf("  vfabctl %.*s %.*s%s%s\n", first(o->names), o->names,
		       first(v->names), v->names, *v->args ? " " : "", v->args);
	printf("\n'vfabctl %.*s VERB --help' says more.\n", first(o->names), o->names);
}

/* Of what is being run. */
void help(const struct ctx *c)
{
	if (!c->object) {
		general_help();
	} else if (!c->verb) {
		object_help(c->object);
	} else {
		fputs("usage: ", stdout);
		print_command(stdout, c);
		printf("%s%s\n\n%s\n", *c->verb->args ? " " : "", c->verb->args,
		       c->verb->help);
	}
	exit(output_finish(DONE));
}

/* How well @text matches one of the names: 2 entirely, 1 as an abbreviation. */
static int match(const char *names, const char *text)
{
	size_t len = strlen(text), name_len;
	int best = 0;

	for (; *names; names += name_len + (names[name_len] == ' ')) {
		name_len = strcspn(names, " ");
		if (!len || len > name_len || strncmp(names, text, len))
			continue;
		if (len == name_len)
			return 2;
		best = 1;
	}
	return best;
}

static const struct object *find_object(struct ctx *c, const char *text)
{
	const struct object *o, *found = NULL;
	int how;

	for (o = objects; o->names; o++) {
		how = match(o->names, text);
		if (how == 2)
			return o;
		if (how && found)
			usage(c, "object \"%s\" may be %.*s or %.*s", text,
			      first(found->names), found->names, first(o->names), o->names);
		if (how)
			found = o;
	}
	if (!found)
		usage(c, "there is no object \"%s\"", escaped(text));
	return found;
}

/* Are there such an object and, where it has some, such a verb? */
bool is_command(const char *object, const char *verb)
{
	const struct object *o;
	const struct verb *v;

	for (o = objects; o->names; o++) {
		if (!match(o->names, object))
			continue;
		if (!*o->verbs->names || !*verb || *verb == '-')
			return true;
		for (v = o->verbs; v->names; v++)
			if (match(v->names, verb))
				return true;
	}
	return false;
}

static void no_verb(struct ctx *c, const char *text) __attribute__((noreturn));

static void no_verb(struct ctx *c, const char *text)
{
	const struct verb *v;
	char list[96] = "";
	size_t n = 0;

	for (v = c->object->verbs; v->names; v++)
		n += snprintf(list + n, sizeof(list) - n, "%s%.*s",
			      v == c->object->verbs ? "" : v[1].names ? ", " : " and ",
			      first(v->names), v->names);
	usage(c, "there is no verb \"%s\": %.*s has %s", escaped(text),
	      first(c->object->names), c->object->names, list);
}

static const struct verb *find_verb(struct ctx *c, const char *text)
{
	const struct verb *v, *found = NULL;
	int how;

	for (v = c->object->verbs; v->names; v++) {
		how = match(v->names, text);
		if (how == 2)
			return v;
		if (how && found)
			usage(c, "verb \"%s\" may be %.*s or %.*s", text, first(found->names),
			      found->names, first(v->names), v->names);
		if (how)
			found = v;
	}
	if (!found)
		no_verb(c, text);
	return found;
}

static void global_option(struct ctx *c, const char *arg)
{
	const char *p;

	if (!strcmp(arg, "--json")) {
		c->json = true;
	} else if (!strcmp(arg, "--pretty")) {
		c->json = true;
		c->pretty = true;
	} else if (!strcmp(arg, "--help")) {
		help(c);
	} else if (!strcmp(arg, "--version")) {
		puts("vfabctl " VFAB_VERSION);
		exit(output_finish(DONE));
	} else {
		for (p = arg + 1; *p; p++) {
			if (*p == 'h')
				help(c);
			if (*p == 'V')
				global_option(c, "--version");
			if (*p != 'j' && *p != 'p')
				usage(c, "there is no option \"%s\"", escaped(arg));
			c->json = true;
			c->pretty |= *p == 'p';
		}
	}
}

int main(int argc, char **argv)
{
	struct ctx c = { 0 };
	int ret;

	output_begin();
	argc--;
	argv++;
	for (; argc && argv[0][0] == '-'; argc--, argv++)
		global_option(&c, argv[0]);
	if (!argc)
		usage(&c, "name an object");
	if (!strcmp(argv[0], "help"))
		help(&c);
	c.object = find_object(&c, argv[0]);
	argc--;
	argv++;

	if (!*c.object->verbs->names) {
		c.verb = c.object->verbs;
	} else {
		if (argc && (!strcmp(argv[0], "help") || !strcmp(argv[0], "--help") ||
			     !strcmp(argv[0], "-h")))
			help(&c);
		/* As "show", if it is followed by options at most */
		c.verb = find_verb(&c, argc && argv[0][0] != '-' ? argv[0] : "show");
		if (argc && argv[0][0] != '-') {
			argc--;
			argv++;
		}
	}

	ret = c.verb->run(&c, argc, argv);
	out_finish(&c, ret == DONE);
	vfab_nl_close(c.nl);
	return output_finish(ret);
}
