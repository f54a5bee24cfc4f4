// SPDX-License-Identifier: GPL-2.0
/* Arguments: all are checked before anything is sent. */
#include <ctype.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/vfabric_backplane.h>
#include "duration.h"
#include "vfabctl.h"

#define MAX_HOURS	24

static const struct opt *find_opt(struct ctx *c, const struct opt *opts,
				  const char *name, size_t len)
{
	const struct opt *o, *found = NULL;

	for (o = opts; len && o && o->name; o++) {
		if (strncmp(o->name, name, len))
			continue;
		if (!o->name[len])
			return o;
		if (found)
			usage(c, "option \"--%.*s\" may be --%s or --%s",
			      (int)len, name, found->name, o->name);
		found = o;
	}
	return found;
}

/* Returns whether the next argument is this one's value. */
static bool long_option(struct ctx *c, const struct opt *opts, const char *arg,
			const char *next)
{
	const char *name = arg + 2, *equals = strchr(name, '=');
	const struct opt *o;

	if (!strcmp(name, "json") || !strcmp(name, "pretty")) {
		c->json = true;
		c->pretty |= *name == 'p';
		return false;
	}
	o = find_opt(c, opts, name, equals ? (size_t)(equals - name) : strlen(name));
	if (!o)
		usage(c, "there is no option \"%s\"", escaped(arg));
	if (o->flag) {
		if (equals)
			usage(c, "--%s takes no value", o->name);
		*o->flag = true;
		return false;
	}
	if (*o->value)
		usage(c, "--%s is given twice", o->name);
	*o->value = equals ? equals + 1 : next;
	if (!*o->value)
		usage(c, "--%s wants a value", o->name);
	return !equals;
}

static void short_options(struct ctx *c, const char *arg)
{
	const char *p;

	for (p = arg + 1; *p; p++) {
		if (*p != 'j' && *p != 'p')
			usage(c, "there is no option \"%s\"", escaped(arg));
		c->json = true;
		c->pretty |= *p == 'p';
	}
}

/* "{via PORT | drop}" or "up|down" in words */
static const char *alternatives(const char *from, size_t len)
{
	static char text[96];
	size_t i, n = 0;

	for (i = 0; i < len && n < sizeof(text) - 5; i++)
		if (from[i] == '|')
			n += sprintf(text + n, i && from[i - 1] == ' ' ? "or" : " or ");
		else if (!strchr("{}", from[i]))
			text[n++] = from[i];
	text[n] = 0;
	return text;
}

/* The @n-th argument of a usage line that may not be left out, or "". */
static const char *wanted(const char *args, int n)
{
	size_t len;

	for (; *args; args += len, args += strspn(args, " ")) {
		len = strcspn(args, *args == '[' ? "]" : *args == '{' ? "}" : " ");
		if (strchr("[{", *args))
			len++;
		if (!strchr("[-", *args) && !n--)
			return alternatives(args, len);
	}
	return "";
}

static void missing(struct ctx *c, int n, const char **pos) __attribute__((noreturn));

static void missing(struct ctx *c, int n, const char **pos)
{
	static const char *const words[][2] = {
		{ "D", "a domain" },
		{ "D/partN", "a partition such as dom0/part1" },
		{ "D/epR", "an endpoint such as dom0/ep5" },
		{ "D/swK", "a switch such as dom0/sw3" },
		{ "D or D/swK or D/epR", "a domain, switch or endpoint" },
		{ "STATE", "a state such as down" },
		{ "SRC", "a source rank" },
		{ "DST", "a destination rank" },
		{ "DEST", "a destination rank" },
		{ "FILE", "a file" },
		{ "BEFORE", "a file that 'vfabctl counters snapshot' wrote" },
	};
	const char *what;
	size_t i;

	if (n && !strcmp(wanted(c->verb->args, 0), "D") && strchr(pos[0], '/'))
		usage(c, "\"%s\" is not a domain: give %s", escaped(pos[0]), c->verb->args);
	what = wanted(c->verb->args, n);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(what, words[i][0]))
			what = words[i][1];
	if (n)
		usage(c, "%s is missing after \"%s\"", what, escaped(pos[n - 1]));
	usage(c, "%s is missing", what);
}

static void too_many(struct ctx *c, const struct opt *opts, const char *arg)
	__attribute__((noreturn));

static void too_many(struct ctx *c, const struct opt *opts, const char *arg)
{
	size_t len = strcspn(arg, "=");

	for (; opts && opts->name; opts++)
		if (strlen(opts->name) == len && !strncmp(opts->name, arg, len))
			usage(c, "argument \"%s\" is one too many: write --%s", escaped(arg),
			      opts->name);
	usage(c, "argument \"%s\" is one too many", escaped(arg));
}

/**
 * args_parse - sort the arguments of a verb into options and positions
 * @opts: may be NULL
 * @min: least number of positional arguments
 * @max: greatest
 * @pos: receives them, NULL for those that are absent
 *
 * Return: their number.
 */
int args_parse(struct ctx *c, int argc, char **argv, const struct opt *opts,
	       int min, int max, const char **pos)
{
	bool options = true;
	int i, n = 0;

	for (i = 0; i < max; i++)
		pos[i] = NULL;
	/* Who asks for help gets it, whatever else is wrong */
	for (i = 0; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			help(c);
	for (i = 0; i < argc; i++) {
		const char *arg = argv[i];

		if (options && !strcmp(arg, "--"))
			options = false;
		else if (options && !strncmp(arg, "--", 2))
			i += long_option(c, opts, arg, i + 1 < argc ? argv[i + 1] : NULL);
		else if (options && arg[0] == '-' && arg[1])
			short_options(c, arg);
		else if (n == max)
			too_many(c, opts, arg);
		else
			pos[n++] = arg;
	}
	if (n < min)
		missing(c, n, pos);
	return n;
}

/**
 * args_words - let options be written as words, as in "rate 100 silent"
 * @skip: so many arguments at the beginning are none
 *
 * To be called before args_parse(), which takes what words become here.
 */
void args_words(const struct opt *opts, int skip, int argc, char **argv)
{
	static char texts[64][16];
	const struct opt *o;
	int i, n = 0;

	for (i = skip; i < argc && n < 64; i++) {
		bool option = !strncmp(argv[i], "--", 2);
		const char *name = argv[i] + 2 * option;

		for (o = opts; o->name && strcmp(o->name, name); o++)
			;
		if (!o->name)
			continue;
		if (!option) {
			snprintf(texts[n], sizeof(texts[n]), "--%s", name);
			argv[i] = texts[n++];
		}
		i += !!o->value;	/* its value is none */
	}
}

/**
 * args_sets - take --set KEY=N, which may be repeated, out of the arguments
 * @sets: receives what follows each, and NULL at the end
 *
 * To be called before args_parse(), with the number of arguments that are left.
 *
 * Return: that number.
 */
int args_sets(struct ctx *c, int argc, char **argv, char *sets[MAX_SETS + 1])
{
	int i, n = 0, left = 0;
	bool options = true;

	for (i = 0; i < argc; i++) {
		bool equals = !strncmp(argv[i], "--set=", 6);

		if (!strcmp(argv[i], "--"))
			options = false;
		if (!options || (!equals && strcmp(argv[i], "--set"))) {
			argv[left++] = argv[i];
			continue;
		}
		if (!equals && i + 1 == argc)
			usage(c, "--set wants a value");
		if (n == MAX_SETS)
			usage(c, "--set is given more than %u times", MAX_SETS);
		sets[n++] = equals ? argv[i] + 6 : argv[++i];
	}
	sets[n] = NULL;
	return left;
}

/* Digits only; false: no number. Too large a number becomes UINT64_MAX. */
static bool digits(const char *text, size_t len, int base, uint64_t *v)
{
	size_t i;

	*v = 0;
	for (i = 0; i < len; i++) {
		const char *all = "0123456789abcdef";
		const char *digit = strchr(all, tolower((unsigned char)text[i]));

		if (!text[i] || !digit || digit - all >= base)
			return false;
		if (__builtin_mul_overflow(*v, (uint64_t)base, v) ||
		    __builtin_add_overflow(*v, (uint64_t)(digit - all), v))
			*v = UINT64_MAX;
	}
	return len;
}

uint64_t arg_uint(struct ctx *c, const char *what, const char *text,
		  uint64_t min, uint64_t max)
{
	uint64_t v;

	if (!digits(text, strlen(text), 10, &v))
		usage(c, "%s \"%s\" is not a number of %llu to %llu", what, escaped(text),
		      (unsigned long long)min, (unsigned long long)max);
	if (v > max)
		usage(c, "%s %s is above the limit %llu", what, text,
		      (unsigned long long)max);
	if (v < min)
		usage(c, "%s %s is below the limit %llu", what, text,
		      (unsigned long long)min);
	return v;
}

/* A rank, as a number or as it is shown: 5 or ep5 */
uint32_t arg_rank(struct ctx *c, const char *what, const char *text)
{
	bool shown = !strncmp(text, "ep", 2) && text[2];

	return arg_uint(c, what, text + 2 * shown, 0, VFAB_MAX_WORLD - 1);
}

/* A handle or tag: decimal, or hexadecimal after 0x. */
uint64_t arg_hex(struct ctx *c, const char *what, const char *text)
{
	bool hex = !strncmp(text, "0x", 2);
	size_t len = strlen(text + 2 * hex);
	uint64_t v;

	if (!digits(text + 2 * hex, len, hex ? 16 : 10, &v) || len > (hex ? 16 : 19))
		usage(c, "%s \"%s\" is not a number of 64 bits such as 0x1f", what,
		      escaped(text));
	return v;
}

uint64_t arg_bytes(struct ctx *c, const char *what, const char *text)
{
	static const char units[] = "KMGT";
	size_t len = strspn(text, "0123456789");
	const char *suffix = text + len, *unit;
	unsigned int shift = 0;
	uint64_t v;

	unit = *suffix ? strchr(units, toupper((unsigned char)*suffix)) : NULL;
	if (unit) {
		shift = 10 * (unit - units + 1);
		suffix++;
		if (!strcmp(suffix, "iB"))
			suffix += 2;
	}
	if (!digits(text, len, 10, &v) || *suffix)
		usage(c, "%s \"%s\" is not a number of bytes such as 4096, 64M or 2GiB",
		      what, escaped(text));
	if (v > UINT64_MAX >> shift || v == UINT64_MAX)
		usage(c, "%s %s is above the limit of 64 bits", what, text);
	return v << shift;
}

/* A time, rounded to milliseconds, but not to none. */
int arg_milliseconds(struct ctx *c, const char *what, const char *text)
{
	double seconds;

	if (!parse_seconds(text, MAX_HOURS * 3600.0, &seconds) ||
	    (seconds > 0 && seconds < 0.0005))
		usage(c, "%s \"%s\" is not a time such as 2, 0.5s, 200ms or 5m, up to %uh", what,
		      escaped(text), MAX_HOURS);
	return seconds * 1000 + 0.5;
}

uint32_t arg_mode(struct ctx *c, const char *text)
{
	uint64_t v;

	if (!digits(text, strlen(text), 8, &v) || v > 0777)
		usage(c, "mode \"%s\" is not an octal number of 0 to 0777", escaped(text));
	return v;
}

uint32_t arg_user(struct ctx *c, const char *text)
{
	struct passwd *pw;
	uint64_t v;

	if (digits(text, strlen(text), 10, &v))
		return arg_uint(c, "user", text, 0, UINT32_MAX - 1);
	pw = getpwnam(text);
	if (!pw)
		usage(c, "there is no user \"%s\"", escaped(text));
	return pw->pw_uid;
}

uint32_t arg_group(struct ctx *c, const char *text)
{
	struct group *gr;
	uint64_t v;

	if (digits(text, strlen(text), 10, &v))
		return arg_uint(c, "group", text, 0, UINT32_MAX - 1);
	gr = getgrnam(text);
	if (!gr)
		usage(c, "there is no group \"%s\"", escaped(text));
	return gr->gr_gid;
}

void arg_uuid(struct ctx *c, const char *text, uint8_t uuid[16])
{
	const char *p = text;
	unsigned int i;
	uint64_t byte;

	for (i = 0; i < 16; i++, p += 2) {
		if ((i == 4 || i == 6 || i == 8 || i == 10) && *p++ != '-')
			goto bad;
		if (!p[0] || !digits(p, 2, 16, &byte))
			goto bad;
		uuid[i] = byte;
	}
	if (!*p)
		return;
bad:
	usage(c, "\"%s\" is not a UUID such as 01234567-89ab-cdef-0123-456789abcdef",
	      escaped(text));
}

/**
 * arg_range - read "5" or "0-3" of a list of ranks
 * @what: what @text, the whole list, is called
 * @p: where the range begins; set to what follows it
 *
 * Return: false if there is none.
 */
bool arg_range(struct ctx *c, const char *what, const char *text, const char **p,
	       uint64_t *first, uint64_t *last)
{
	size_t len = strspn(*p, "0123456789");

	if (!digits(*p, len, 10, first))
		return false;
	*p += len;
	*last = *first;
	if (**p == '-') {
		len = strspn(++*p, "0123456789");
		if (!digits(*p, len, 10, last) || *last < *first)
			return false;
		*p += len;
	}
	if (*last >= VFAB_MAX_WORLD)
		usage(c, "%s \"%s\": rank %llu is above the limit %u", what, escaped(text),
		      (unsigned long long)*last, VFAB_MAX_WORLD - 1);
	return true;
}

/* "0-3,8" as a bitmap; a rank may stand there more than once. */
void arg_ranks(struct ctx *c, const char *what, const char *text,
	       uint8_t ranks[RANK_BYTES])
{
	const char *p = text;
	uint64_t first, last;

	memset(ranks, 0, RANK_BYTES);
	while (arg_range(c, what, text, &p, &first, &last)) {
		for (; first <= last; first++)
			ranks[first / 8] |= 1 << first % 8;
		if (!*p)
			return;
		if (*p++ != ',')
			break;
	}
	usage(c, "%s \"%s\" is not a list of ranks such as 0-3,8", what, escaped(text));
}

/**
 * arg_place - read "0:0-3,8,1:4-7": which node each rank is on
 * @world: of the domain
 * @place: receives the node by rank; each rank below @world must have one
 */
void arg_place(struct ctx *c, const char *text, uint32_t world, uint8_t place[VFAB_MAX_WORLD])
{
	uint64_t node = VFAB_BP_NO_NODE, first, last;
	const char *p = text;

	memset(place, VFAB_BP_NO_NODE, VFAB_MAX_WORLD);
	do {
		size_t len = strspn(p, "0123456789");

		if (p[len] == ':' && digits(p, len, 10, &node)) {
			if (node >= VFAB_BP_MAX_NODES)
				usage(c, "place \"%s\": node %.*s is above the limit %u",
				      escaped(text), (int)len, p, VFAB_BP_MAX_NODES - 1);
			p += len + 1;
		}
		if (node == VFAB_BP_NO_NODE || !arg_range(c, "place", text, &p, &first, &last) ||
		    (*p && *p != ','))
			usage(c, "place \"%s\" is not nodes and their ranks such as 0:0-35,1:36-71",
			      escaped(text));
		if (last >= world)
			usage(c, "place \"%s\": rank %llu is not one of %u: ranks are 0 to %u",
			      escaped(text), (unsigned long long)last, world, world - 1);
		for (; first <= last; first++) {
			if (place[first] != VFAB_BP_NO_NODE)
				usage(c, "place \"%s\" has rank %llu twice", escaped(text),
				      (unsigned long long)first);
			place[first] = node;
		}
	} while (*p++);
	for (first = 0; first < world; first++)
		if (place[first] == VFAB_BP_NO_NODE)
			usage(c, "place \"%s\" puts rank %llu on no node", escaped(text),
			      (unsigned long long)first);
}

static bool valid_name(const char *text)
{
	size_t len = strlen(text);

	if (!len || len > VFAB_NAME_LEN || strchr("_.-", *text))
		return false;
	while (*text && isascii((unsigned char)*text) &&
	       (isalnum((unsigned char)*text) || strchr("_.-", *text)))
		text++;
	return !*text;
}

void arg_name(struct ctx *c, const char *what, const char *text)
{
	if (!valid_name(text))
		usage(c, "%s \"%s\" is not a letter or digit and up to %u more, '_', '.' or '-'",
		      what, escaped(text), VFAB_NAME_LEN - 1);
}

/* Index of the word that @text is, or is the unambiguous beginning of. */
unsigned int arg_word(struct ctx *c, const char *what, const char *text,
		      const char *const *words)
{
	char list[256] = "";
	unsigned int i, found = 0, n = 0;

	for (i = 0; words[i]; i++) {
		if (!strcmp(words[i], text))
			return i;
		if (*text && !strncmp(words[i], text, strlen(text))) {
			found = i;
			n++;
		}
		strcat(strcat(list, i ? words[i + 1] ? ", " : " or " : ""), words[i]);
	}
	if (n != 1)
		usage(c, "%s \"%s\" is not %s", what, escaped(text), list);
	return found;
}

bool arg_up(struct ctx *c, const char *text)
{
	static const char *const words[] = { "down", "up", NULL };

	return arg_word(c, "state", text, words);
}

/* "dom7" or "7": never taken for a name. */
bool is_domain_id(const char *text, size_t len, uint64_t *id)
{
	if (len > 3 && !strncmp(text, "dom", 3))
		return digits(text + 3, len - 3, 10, id);
	return digits(text, len, 10, id);
}

/* "sw12" with prefix "sw": 12 */
static bool component(struct ctx *c, const char *part, size_t len,
		      const char *prefix, uint64_t max, int *v)
{
	size_t skip = strlen(prefix);
	uint64_t number;

	if (*v >= 0 || len <= skip || strncmp(part, prefix, skip) ||
	    !digits(part + skip, len - skip, 10, &number))
		return false;
	if (number > max)
		usage(c, "%.*s is above the limit %s%llu", (int)len, part, prefix,
		      (unsigned long long)max);
	*v = number;
	return true;
}

static const char *example(unsigned int allowed)
{
	static char text[128];
	static const struct {
		unsigned int kind;
		const char *text;
	} examples[] = {
		{ ADDR_DOM, "dom0" },
		{ ADDR_EP, "dom0/ep5" },
		{ ADDR_EP_PORT, "dom0/ep5/p3" },
		{ ADDR_SW, "dom0/sw3" },
		{ ADDR_SW_PORT, "dom0/sw3/p5" },
		{ ADDR_PART, "dom0/part1" },
		{ ADDR_CHAN, "dom0/part1/ch3" },
		{ ADDR_NODE, "dom0/node3" },
	};
	size_t i;

	*text = 0;
	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		if (allowed & examples[i].kind)
			strcat(strcat(text, *text ? " or " : ""), examples[i].text);
	return text;
}

/**
 * arg_addr - read an object's address
 * @text: NULL gives an address of kind 0
 * @allowed: the kinds that make sense here
 *
 * Messages that follow are about this object.
 */
struct addr arg_addr(struct ctx *c, const char *text, unsigned int allowed)
{
	struct addr a = { .rank = -1, .sw = -1, .port = -1, .part = -1, .chan = -1,
			  .node = -1 };
	const char *part;
	uint64_t id;
	size_t len;

	if (!text)
		return a;
	len = strcspn(text, "/");
	if (is_domain_id(text, len, &id)) {
		if (id > INT32_MAX)
			usage(c, "there is no domain %.*s: ids are at most %d", (int)len,
			      text, INT32_MAX);
		a.id = id;
	} else {
		if (len <= VFAB_NAME_LEN)
			memcpy(a.name, text, len);
		if (!valid_name(a.name))
			usage(c, "\"%s\" is not an address such as %s", escaped(text),
			      example(allowed));
	}
	for (part = text + len; *part; part += len) {
		len = strcspn(++part, "/");
		if (!component(c, part, len, "ep", VFAB_MAX_WORLD - 1, &a.rank) &&
		    !component(c, part, len, "sw", MAX_SWITCH, &a.sw) &&
		    !component(c, part, len, "node", VFAB_MAX_WORLD - 1, &a.node) &&
		    !component(c, part, len, "part", MAX_PARTITION, &a.part) &&
		    !(a.part >= 0 &&
		      component(c, part, len, "ch", VFAB_CHANNELS - 1, &a.chan)) &&
		    !component(c, part, len, "p", a.rank >= 0 ? VFAB_MAX_PLANES - 1 :
			       MAX_SWITCH_PORT, &a.port))
			usage(c, "\"%s\" is not an address such as %s", escaped(text),
			      example(allowed));
	}

	if (a.node >= 0)
		a.kind = a.rank >= 0 || a.sw >= 0 || a.port >= 0 || a.part >= 0 ? 0 : ADDR_NODE;
	else if (a.part >= 0)
		a.kind = a.rank >= 0 || a.sw >= 0 || a.port >= 0 ? 0 :
			 a.chan < 0 ? ADDR_PART : ADDR_CHAN;
	else if (a.rank >= 0 && a.sw >= 0)
		a.kind = a.port < 0 ? ADDR_EP_SW : 0;
	else if (a.rank >= 0)
		a.kind = a.port < 0 ? ADDR_EP : ADDR_EP_PORT;
	else if (a.sw >= 0)
		a.kind = a.port < 0 ? ADDR_SW : ADDR_SW_PORT;
	else
		a.kind = a.port < 0 ? ADDR_DOM : 0;
	if (!(a.kind & allowed))
		usage(c, "\"%s\" is not an address of this kind: use one such as %s",
		      escaped(text), example(allowed));
	if (a.kind == ADDR_DOM)
		about(c, "domain \"%s\"", text);
	else
		about(c, "%s", text);
	return a;
}
