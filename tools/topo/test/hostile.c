// SPDX-License-Identifier: LGPL-2.1
/* Files that are meant to do harm: each ends soon, in a refusal. */
#include <sys/resource.h>
#include <time.h>
#include "test.h"

#define MIB (1 << 20)
#define BOUND_NS 20000000000LL	/* under the sanitizers, on a busy machine */

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void refused(const char *what, const void *text, size_t len, int code, const char *said)
{
	char err[TOPO_ERR_LEN] = "";
	int64_t start = now_ns();
	struct topo t;
	int ret;

	ret = topo_load_text("f", text, len, NULL, &t, err, sizeof(err));
	if (ret != code || !strstr(err, said))
		note("status %d: %s", ret, err);
	result(ret == code && strstr(err, said) && now_ns() - start < BOUND_NS, "%s", what);
	topo_free(&t);
}

/* @head, then @text again and again, up to @size bytes */
static void repeated(const char *what, const char *head, const char *text, size_t size, int code,
		     const char *said)
{
	size_t each = strlen(text), at = strlen(head);
	char *all = malloc(size + each + at);

	if (!all) {
		result(false, "%s: memory", what);
		return;
	}
	memcpy(all, head, at);
	for (; at < size; at += each)
		memcpy(all + at, text, each);
	refused(what, all, at, code, said);
	free(all);
}

/* Distinct keys, or links, each by its number */
static void numbered(const char *what, const char *head, const char *fmt, unsigned int n, int code,
		     const char *said)
{
	size_t len = 0;
	char *text = NULL;
	unsigned int i;
	FILE *to;

	to = open_memstream(&text, &len);
	if (!to)
		return;
	fputs(head, to);
	for (i = 0; i < n; i++)
		fprintf(to, fmt, i);
	fclose(to);
	refused(what, text, len, code, said);
	free(text);
}

static void test_yaml(void)
{
	static const char laughs[] =
		"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
		"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n";

	refused("aliases of aliases", laughs, strlen(laughs), -EINVAL, "f:1: anchors");
	refused("an alias", "links: *a", 9, -EINVAL, "aliases (*)");
	refused("a tag", "name: !!python/object a", 23, -EINVAL, "tags (!)");
	refused("a map that contains itself", "&a {links: *a}", 14, -EINVAL, "f:1: anchors");
	refused("a second document", "name: a\n---\nname: b\n", 20, -EINVAL, "f:2: a second document");
	refused("a NUL byte", "name: a\0b\n", 10, -EINVAL, "holds a NUL character");
	refused("a NUL character that is written", "name: \"a\\0b\"\n", 13, -EINVAL,
		"f:1: this value holds a NUL character");
	refused("UTF-16", "\xff\xfen\0a\0", 6, -EINVAL, "NUL character");
	refused("a key that is a list", "? [a]\n: b\n", 10, -EINVAL, "a list cannot be a key");
	repeated("lists in lists", "", "[", 4 * MIB, -E2BIG, "f:1: lists and maps are nested");
	repeated("maps in maps", "", "{a: ", 4 * MIB, -E2BIG, "nested more than 6 deep");
	repeated("blocks in blocks", "", "- ", 4 * MIB, -E2BIG, "nested more than 6 deep");
	repeated("keys of keys", "", "? ", 4 * MIB, -EINVAL, "a map cannot be a key");
	repeated("a long value", "name: ", "a", 8 * MIB, -E2BIG, "longer than 1024 bytes");
	repeated("a long key", "", "a", 8 * MIB, -E2BIG, "longer than 1024 bytes");
	repeated("a long number", "generator: mesh\nparameters: {world: ", "9", 1000, -EINVAL, "not YAML");
	repeated("a value of many lines", "name: >\n", " a\n", 8 * MIB, -E2BIG, "longer than 1024 bytes");
	repeated("only blanks", "", " ", 15 * MIB, -EINVAL, "this is no map");
	repeated("only comments", "", "#\n", 15 * MIB, -EINVAL, "this is no map");
	repeated("only line ends", "", "\n", 15 * MIB, -EINVAL, "this is no map");
	repeated("a file of 17 MiB", "", "#\n", 17 * MIB, -E2BIG, "larger than 16777216 bytes");
	repeated("millions of values", "notes: [", "a,", 15 * MIB, -E2BIG, "more than 2097152 values");
	repeated("millions of empty lists", "notes: [", "[],", 15 * MIB, -E2BIG, "more than 2097152 values");
	repeated("directives", "", "%YAML 1.1\n", 4 * MIB, -EINVAL, "not YAML");
	numbered("many keys", "", "k%u: 1\n", 100000, -E2BIG, "f:65: this map has more than 64 keys");
	numbered("many facts", "generator: mesh\nfacts:\n", "  k%u: 1\n", 65, -E2BIG, "more than 64 keys");
}

static void test_numbers(void)
{
	numbered("too many links", "parameters: {world: 2, " RATE ": 1}\nlinks:\n",
		 "- [ep0/p0, ep1/p0] # %u\n", TOPO_MAX_LINKS + 1, -E2BIG, "more than 131072 links");
	numbered("as many links as may be, all the same", "parameters: {world: 2, " RATE ": 1}\nlinks:\n",
		 "- [ep0/p0, ep1/p0] # %u\n", TOPO_MAX_LINKS, -EINVAL, "f:4: ep0/p0 has a link already");
}

/* The largest that may be: it is made, and comes back from a file. */
static void test_largest(void)
{
	char err[TOPO_ERR_LEN];
	struct topo_summary s;
	struct topo t;

	if (load_text("generator: fat-tree\nparameters: {world: 1024, ports: 64, switch_ports: 256, "
		      RATE ": 4294967295}\n", &t, err)) {
		result(false, "the largest: %s", err);
		return;
	}
	result(t.nlinks == TOPO_MAX_LINKS && plain_valid(&t), "1024 endpoints, 64 ports, 131072 links");
	result(!topo_measure(&t, &s) && s.connected && s.bisection == 512ULL * 64 * 4294967295,
	       "its bisection");
	result(survives_dump(&t), "it comes back from a file");
	topo_free(&t);
}

static void mutate(char *text, size_t *len, size_t size)
{
	static const char *const pieces[] = {
		"0", "9999999999", "-1", "null", "~", ": ", "\n", "  ", "- ", "[", "]", "{", "}",
		"&a", "*a",
		"!x", "\"", "'", "#", "|", ">", "---\n", "%", "\0", "\xff", "\xc3\xa9", "world", "ports: 1",
		"ep0/p0", "sw0/p0", "links:\n", "generator: mesh\n", "<<: ", "?", "\t", "profile: torus\n",
	};
	const char *piece = pieces[below(COUNT(pieces))];
	size_t at = *len ? below(*len) : 0, n, some = strlen(piece) ? strlen(piece) : 1;

	switch (below(4)) {
	case 0:
		if (*len)
			text[at] ^= 1 << below(8);
		break;
	case 1:
		if (*len + some > size)
			break;
		memmove(text + at + some, text + at, *len - at);
		memcpy(text + at, piece, some);
		*len += some;
		break;
	case 2:
		n = below(20);
		if (n > *len - at)
			n = *len - at;
		memmove(text + at, text + at + n, *len - at - n);
		*len -= n;
		break;
	default:	/* a piece of itself, again */
		n = below(60);
		if (n > *len - at || *len + n > size)
			break;
		memmove(text + at + n, text + at, *len - at);
		*len += n;
	}
}

/* Files that are nearly right, wrong in ways that nobody thought of */
static void test_mutated(void)
{
	static char text[16384];
	char path[256], err[TOPO_ERR_LEN], **names;
	uint32_t i, j, made = 0, refusals = 0, wrong = 0;
	int n = topo_profile_names(&names);
	struct topo t;
	size_t len;
	FILE *from;

	for (i = 0; n > 0 && i < 4000; i++) {
		snprintf(path, sizeof(path), "%s/%s.yaml", profiles, names[below(n)]);
		from = fopen(path, "r");
		len = from ? fread(text, 1, sizeof(text) / 2, from) : 0;
		if (from)
			fclose(from);
		for (j = below(6); j < 6; j++)
			mutate(text, &len, sizeof(text));
		if (topo_load_text("f", text, len, NULL, &t, err, sizeof(err))) {
			refusals++;
			wrong += !*err || t.links;
			continue;
		}
		made++;
		wrong += !plain_valid(&t);
		if (i % 20 == 0)
			wrong += !survives_dump(&t);
		topo_free(&t);
	}
	topo_names_free(names);
	note("%u of %u files with mistakes are topologies", made, made + refusals);
	result(made > 100 && refusals > 100, "files with mistakes are of both kinds");
	result(!wrong, "they are refused with a reason, or valid");
}

void test_hostile(void)
{
	struct rusage use;

	test_yaml();
	test_numbers();
	test_largest();
	test_mutated();
	getrusage(RUSAGE_SELF, &use);
	note("largest size %ld MiB", use.ru_maxrss / 1024);
	result(use.ru_maxrss < 1200L * 1024, "all of this within bounds of memory");
}
