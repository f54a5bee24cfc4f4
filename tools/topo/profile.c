// SPDX-License-Identifier: LGPL-2.1
/*
 * Profiles and topology files: reading what they say, before anything is made
 * of it. A file that names another one as its profile says only what differs.
 */
#include <limits.h>
#include "topo_int.h"

#define MAX_FACT (1ULL << 53)	/* what JSON readers keep of a number */

static const char *const confidence_words[] = { "", "A", "B", "C", "derived" };
static const char *const partition_words[] = { "one", "per-node", "none", "hgx15" };
static const char *const forwarding_words[] = { "no", "yes" };

const char *topo_confidence(enum topo_confidence c)
{
	return c < COUNT(confidence_words) ? confidence_words[c] : "";
}

static const struct {
	const char *suffix;
	enum topo_unit unit;
} units[] = {
	{ "_mb_per_s_per_direction", TOPO_MB_PER_DIRECTION },
	{ "_mb_per_s_both_directions", TOPO_MB_BOTH },
	{ "_mb_per_s_direction_not_stated", TOPO_MB_UNSTATED },
	{ "_ns", TOPO_NS },
	{ "_percent", TOPO_PERCENT },
	{ "_watts", TOPO_WATT },
	{ "_bytes", TOPO_BYTE },
};

static bool ends(const char *text, const char *suffix)
{
	size_t len = strlen(text), end = strlen(suffix);

	return len > end && !strcmp(text + len - end, suffix);
}

enum topo_unit topo_unit(const char *key)
{
	unsigned int i;

	for (i = 0; i < COUNT(units); i++)
		if (ends(key, units[i].suffix))
			return units[i].unit;
	return TOPO_COUNT;
}

/* Does it sound like a rate? */
static bool is_rate(const char *key)
{
	return ends(key, "_per_s") || strstr(key, "_per_s_") || strstr(key, "bps") ||
	       strstr(key, "bit_s") || strstr(key, "rate") || strstr(key, "bandwidth") ||
	       strstr(key, "_gb") || strstr(key, "_mb") || strstr(key, "_tb");
}

/* A rate says bytes and directions, or nobody will know what it was. */
static int check_key(struct load *l, const char *key, uint32_t line)
{
	if (!*key || strlen(key) > 60 ||
	    strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(key))
		return fail(l, -EINVAL, line,
			    "\"%s\" is not a key of small letters, digits and '_'",
			    quoted(key));
	if (topo_unit(key) == TOPO_COUNT && is_rate(key))
		return fail(l, -EINVAL, line,
			    "\"%s\" does not say which rate: end it in _mb_per_s_per_direction, _mb_per_s_both_directions or _mb_per_s_direction_not_stated",
			    quoted(key));
	return 0;
}

static int read_word(struct load *l, const struct node *n, const char *what,
		     const char *const *words, size_t count)
{
	size_t i;

	if (expect(l, n, SCALAR, what))
		return l->code;
	for (i = 0; i < count; i++)
		if (*words[i] && !strcmp(n->text, words[i]))
			return i;
	return fail(l, -EINVAL, n->line, "%s \"%s\" is unknown: see vfabric-topology(5)", what,
		    quoted(n->text));
}

static int read_number(struct load *l, const struct node *n, uint64_t min, uint64_t max,
		       struct topo_value *v)
{
	if (expect(l, n, SCALAR, v->key))
		return l->code;
	v->known = !is_null(n);
	v->number = 0;
	if (!v->known)
		return 0;
	if (!parse_uint(n->text, &v->number))
		return fail(l, -EINVAL, n->line,
			    "%s \"%s\" is not a whole number of %llu to %llu, or null",
			    v->key, quoted(n->text), (unsigned long long)min,
			    (unsigned long long)max);
	if (v->number > max)
		return fail(l, -EINVAL, n->line, "%s %s is above the limit %llu", v->key,
			    quoted(n->text), (unsigned long long)max);
	if (v->number < min)
		return fail(l, -EINVAL, n->line, "%s %s is below the limit %llu", v->key,
			    quoted(n->text), (unsigned long long)min);
	return 0;
}

/* A number, or a map of one with where it is from. */
static int read_value(struct load *l, const struct node *n, uint64_t min, uint64_t max,
		      struct topo_value *v)
{
	const struct node *k, *number = n;
	int confidence;

	if (n->kind == MAP) {
		number = NULL;
		for (k = n->child; k; k = k->next->next) {
			if (!strcmp(k->text, "value")) {
				number = k->next;
			} else if (!strcmp(k->text, "source")) {
				if (expect(l, k->next, SCALAR, "source"))
					return l->code;
				v->source = k->next->text;
			} else if (!strcmp(k->text, "confidence")) {
				confidence = read_word(l, k->next, "confidence", confidence_words,
						       COUNT(confidence_words));
				if (confidence < 0)
					return confidence;
				v->confidence = confidence;
			} else {
				return fail(l, -EINVAL, k->line,
					    "a number has no \"%s\": it has value, source and confidence",
					    quoted(k->text));
			}
		}
		if (!number)
			return fail(l, -EINVAL, n->line,
				    "%s has no value: write \"value:\", if only null",
				    v->key);
	}
	return read_number(l, number, min, max, v);
}

static struct topo_value *find_value(struct topo_value *values, uint32_t n, const char *key)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(values[i].key, key))
			return &values[i];
	return NULL;
}

/* Put in the place of one with the same key, or at the end. */
static int put_value(struct load *l, struct topo_value *values, uint32_t *n,
		     const struct topo_value *v)
{
	struct topo_value *old = find_value(values, *n, v->key);

	if (!old && *n == TOPO_MAX_VALUES)
		return fail(l, -E2BIG, v->line,
			    "there are more than %u numbers here",
			    TOPO_MAX_VALUES);
	if (!old)
		old = &values[(*n)++];
	*old = *v;
	return 0;
}

/* What links take, and with a generator the ones that it takes. */
static int check_takes(struct load *l, const struct doc *d, int param, uint32_t line)
{
	const struct generator *g = d->generator;
	uint32_t takes = COMMON_PARAMS | (g ? g->takes :
		BIT(P_WORLD) | BIT(P_PORTS) | BIT(P_SWITCHES));
	char list[TOPO_ERR_LEN] = "";
	unsigned int i;

	if (takes & BIT(param))
		return 0;
	for (i = 0; i < PARAMS; i++)
		if (takes & BIT(i))
			strcat(strcat(list, *list ? ", " : ""), param_defs[i].key);
	return fail(l, -EINVAL, line, "%s takes no %s, but: %s", g ? g->name : "a list of links",
		    param_defs[param].key, list);
}

static int read_params(struct load *l, struct doc *d, const struct node *map)
{
	const struct node *k;
	int param;

	if (expect(l, map, MAP, "parameters"))
		return l->code;
	for (k = map->child; k; k = k->next->next) {
		struct topo_value v = { .key = k->text, .line = k->line };

		param = find_param(k->text);
		if (param < 0)
			return fail(l, -EINVAL, k->line,
				    "there is no parameter \"%s\": see vfabric-topology(5); other numbers are facts",
				    quoted(k->text));
		if (check_takes(l, d, param, k->line) ||
		    read_value(l, k->next, param_defs[param].min, param_defs[param].max, &v) ||
		    put_value(l, d->p.params, &d->p.nparams, &v))
			return l->code;
	}
	return 0;
}

static int read_facts(struct load *l, struct doc *d, const struct node *map)
{
	const struct node *k;

	if (expect(l, map, MAP, "facts"))
		return l->code;
	for (k = map->child; k; k = k->next->next) {
		struct topo_value v = { .key = k->text, .line = k->line };

		if (check_key(l, k->text, k->line) ||
		    read_value(l, k->next, 0, MAX_FACT, &v) ||
		    put_value(l, d->p.facts, &d->p.nfacts, &v))
			return l->code;
	}
	return 0;
}

static int read_notes(struct load *l, struct doc *d, const struct node *list)
{
	const struct node *n;

	if (expect(l, list, LIST, "notes"))
		return l->code;
	for (n = list->child; n; n = n->next) {
		if (expect(l, n, SCALAR, "a note"))
			return l->code;
		if (d->p.nnotes == TOPO_MAX_VALUES)
			return fail(l, -E2BIG, n->line,
				    "there are more than %u notes",
				    TOPO_MAX_VALUES);
		d->p.notes[d->p.nnotes++] = n->text;
	}
	return 0;
}

static int read_name(struct load *l, struct doc *d, const struct node *n)
{
	if (expect(l, n, SCALAR, "name"))
		return l->code;
	if (!is_name(n->text))
		return fail(l, -EINVAL, n->line,
			    "name \"%s\" is not a letter or digit and up to %u more, '_', '.' or '-'",
			    quoted(n->text), TOPO_NAME_LEN - 1);
	strcpy(d->p.name, n->text);
	return 0;
}

static int read_generator(struct load *l, struct doc *d, const struct node *n)
{
	char list[TOPO_ERR_LEN] = "";
	const struct generator *g;

	if (expect(l, n, SCALAR, "generator"))
		return l->code;
	d->generator = find_generator(n->text);
	if (d->generator) {
		d->p.generator = d->generator->name;
		return 0;
	}
	for (g = generators; g->name; g++)
		strcat(strcat(list, *list ? ", " : ""), g->name);
	return fail(l, -EINVAL, n->line,
		    "there is no generator \"%s\", but: %s",
		    quoted(n->text), list);
}

static int read_path(struct load *l, struct doc *d, const char *path, unsigned int depth);

/* Another profile, which this file builds on: all of it is read first. */
static int read_base(struct load *l, struct doc *d, const struct node *n, unsigned int depth)
{
	const char *file = l->file;
	char path[PATH_MAX], *copy;

	if (expect(l, n, SCALAR, "profile"))
		return l->code;
	if (depth == MAX_BASES)
		return fail(l, -ELOOP, n->line,
			    "profiles build on one another more than %u deep: name one that stands by itself",
			    MAX_BASES);
	if (find_profile(l, n->text, path, sizeof(path)))
		return l->code;
	copy = arena_copy(&d->arena, path, strlen(path));
	if (!copy)
		return fail(l, -ENOMEM, 0, "out of memory");
	if (read_path(l, d, copy, depth + 1))
		return l->code;
	l->file = file;
	if (d->links)
		return fail(l, -EINVAL, n->line,
			    "profile \"%s\" lists links: only those with a generator can be built on",
			    quoted(n->text));
	return 0;
}

static int read_kind(struct load *l, struct doc *d, const struct node *root, unsigned int depth)
{
	const struct node *generator = map_get(root, "generator");
	const struct node *profile = map_get(root, "profile");
	const struct node *links = map_get(root, "links");

	if (!!generator + !!profile + !!links != 1)
		return fail(l, -EINVAL, root->line,
			    "%s of \"generator:\", \"profile:\" and \"links:\" is here: a file has exactly one",
			    generator || profile || links ? "more than one" : "none");
	if (generator)
		return read_generator(l, d, generator);
	if (profile)
		return read_base(l, d, profile, depth);
	d->links = links;
	return expect(l, links, LIST, "links");
}

static int read_member(struct load *l, struct doc *d, const struct node *k)
{
	int word;

	if (!strcmp(k->text, "name"))
		return read_name(l, d, k->next);
	if (!strcmp(k->text, "parameters"))
		return read_params(l, d, k->next);
	if (!strcmp(k->text, "facts"))
		return read_facts(l, d, k->next);
	if (!strcmp(k->text, "notes"))
		return read_notes(l, d, k->next);
	if (!strcmp(k->text, "description")) {
		d->p.description = k->next->text;
		return expect(l, k->next, SCALAR, "description");
	}
	if (!strcmp(k->text, "partitions")) {
		word = read_word(l, k->next, "partitions", partition_words, COUNT(partition_words));
		if (word >= 0)
			d->partitions = word;
		return word < 0 ? word : 0;
	}
	if (!strcmp(k->text, "forwarding")) {
		word = read_word(l, k->next, "forwarding", forwarding_words,
				 COUNT(forwarding_words));
		if (word >= 0)
			d->forwarding = word;
		return word < 0 ? word : 0;
	}
	if (!strcmp(k->text, "generator") || !strcmp(k->text, "profile") ||
	    !strcmp(k->text, "links"))
		return 0;
	return fail(l, -EINVAL, k->line,
		    "there is no \"%s\" in a topology file: it has name, description, generator, profile or links, parameters, partitions, forwarding, facts and notes",
		    quoted(k->text));
}

static int read_text(struct load *l, struct doc *d, const void *text, size_t len,
		     unsigned int depth)
{
	static const struct yaml_kind kind = {
		"topology", "\"generator:\", \"profile:\" or \"links:\"",
	};
	struct node *root = yaml_parse(l, &d->arena, &kind, text, len);
	const struct node *k;

	if (!root || read_kind(l, d, root, depth))
		return l->code;
	for (k = root->child; k; k = k->next->next)
		if (read_member(l, d, k))
			return l->code;
	return 0;
}

static int read_path(struct load *l, struct doc *d, const char *path, unsigned int depth)
{
	char *text;
	size_t len;

	l->file = path;
	if (!read_file(l, path, &text, &len))
		read_text(l, d, text, len, depth);
	free(text);
	return l->code;
}

/* A parameter that a user gives; it has no source. */
static int put_set(struct load *l, struct doc *d, int param, uint64_t number)
{
	struct topo_value v = { .key = param_defs[param].key, .known = true, .number = number };

	return put_value(l, d->p.params, &d->p.nparams, &v);
}

/* "8x4x2" after "torus:"; the dimensions that are not given are 1. */
static int read_dimensions(struct load *l, struct doc *d, const char *text)
{
	const struct param_def *def = &param_defs[P_X];
	const char *p = text;
	char *end = "";
	uint64_t v;
	int n;

	if (!d->generator || strcmp(d->generator->name, "torus"))
		return fail(l, -EINVAL, 0,
			    "only a torus takes dimensions: give the name without \":%s\"",
			    quoted(text));
	for (n = 0; n < 3; n++) {
		v = 1;
		if (p) {
			v = strtoull(p, &end, 10);
			if (*p < '0' || *p > '9' || v < def->min || v > def->max)
				goto bad;
			p = *end == 'x' ? end + 1 : NULL;
		}
		if (put_set(l, d, P_X + n, v))
			return l->code;
	}
	if (!p && !*end)
		return 0;
bad:
	return fail(l, -EINVAL, 0,
		    "\"%s\" is not one to three dimensions of 1 to %u such as torus:8x8x8",
		    quoted(text), def->max);
}

int doc_read_profile(struct load *l, struct doc *d, const char *spec)
{
	const char *colon = strchr(spec, ':');
	char name[TOPO_NAME_LEN + 2], path[PATH_MAX], *copy;

	snprintf(name, sizeof(name), "%.*s", colon ? (int)(colon - spec < TOPO_NAME_LEN + 1 ?
		 colon - spec : TOPO_NAME_LEN + 1) : TOPO_NAME_LEN + 1, spec);
	if (find_profile(l, name, path, sizeof(path)))
		return l->code;
	copy = arena_copy(&d->arena, path, strlen(path));
	if (!copy)
		return fail(l, -ENOMEM, 0, "out of memory");
	if (read_path(l, d, copy, 0))
		return l->code;
	d->p.file = copy;
	if (!*d->p.name)
		strcpy(d->p.name, name);
	return colon ? read_dimensions(l, d, colon + 1) : 0;
}

int doc_read_file(struct load *l, struct doc *d, const char *path)
{
	return read_path(l, d, path, 0);
}

int doc_read_text(struct load *l, struct doc *d, const void *text, size_t len)
{
	return read_text(l, d, text, len, 0);
}

static int read_set(struct load *l, struct doc *d, const char *set)
{
	const char *equals = strchr(set, '=');
	char key[64];
	uint64_t v;
	int param;

	if (!equals || equals == set || equals - set >= (int)sizeof(key))
		return fail(l, -EINVAL, 0,
			    "--set \"%s\" is not key=value such as ports=4",
			    quoted(set));
	snprintf(key, sizeof(key), "%.*s", (int)(equals - set), set);
	param = find_param(key);
	if (param < 0)
		return fail(l, -EINVAL, 0,
			    "--set \"%s\": there is no parameter \"%s\"",
			    quoted(set),
			    quoted(key));
	if (check_takes(l, d, param, 0))
		return l->code;
	if (!parse_uint(equals + 1, &v) || v < param_defs[param].min || v > param_defs[param].max)
		return fail(l, -EINVAL, 0,
			    "--set \"%s\": %s is a number of %u to %u",
			    quoted(set), key,
			    param_defs[param].min, param_defs[param].max);
	return put_set(l, d, param, v);
}

int doc_sets(struct load *l, struct doc *d, char *const *sets)
{
	unsigned int i, j;
	size_t len;

	for (i = 0; sets && sets[i]; i++) {
		if (i == MAX_SETS)
			return fail(l, -E2BIG, 0, "--set is given more than %u times", MAX_SETS);
		len = strcspn(sets[i], "=") + 1;
		for (j = 0; j < i; j++)
			if (!strncmp(sets[i], sets[j], len))
				return fail(l, -EINVAL, 0,
					    "--set \"%s\" is given twice: leave one out",
					    quoted(sets[i]));
		if (read_set(l, d, sets[i]))
			return l->code;
	}
	return 0;
}

void doc_free(struct doc *d)
{
	arena_free(&d->arena);
}

int topo_profile_read(const char *spec, char *const *sets, struct topo_profile *out,
		      char *err, size_t errlen)
{
	struct doc *d = calloc(1, sizeof(*d));
	struct load l;

	memset(out, 0, sizeof(*out));
	load_init(&l, NULL, err, errlen);
	if (!d)
		return fail(&l, -ENOMEM, 0, "out of memory");
	if (doc_read_profile(&l, d, spec) || doc_sets(&l, d, sets)) {
		doc_free(d);
		free(d);
		return l.code;
	}
	*out = d->p;
	out->priv = d;
	return 0;
}

void topo_profile_free(struct topo_profile *p)
{
	if (p->priv)
		doc_free(p->priv);
	free(p->priv);
	memset(p, 0, sizeof(*p));
}

static int check_source(struct load *l, const struct topo_value *v)
{
	if (v->known && v->confidence == TOPO_UNSOURCED)
		return fail(l, -EINVAL, v->line,
			    "%s has no confidence: give A, B, C or derived",
			    v->key);
	if (!v->source || !*v->source)
		return fail(l, -EINVAL, v->line, v->known ?
			    "%s has no source: say where it is from" :
			    "%s is null without a source: say where it was looked for", v->key);
	return 0;
}

/* Rate times ports is what an endpoint has. */
static int check_rates(struct load *l, const struct topo_profile *p)
{
	struct topo_value *params = (struct topo_value *)p->params;
	const struct topo_value *rate, *ports, *all;

	rate = find_value(params, p->nparams, param_defs[P_RATE].key);
	ports = find_value(params, p->nparams, param_defs[P_PORTS].key);
	all = find_value(params, p->nparams, param_defs[P_ENDPOINT_RATE].key);
	if (!rate || !ports || !all || !rate->known || !ports->known || !all->known)
		return 0;
	if (rate->number * ports->number == all->number)
		return 0;
	return fail(l, -EINVAL, all->line,
		    "%s is %llu, but %llu ports have %llu: correct one of them",
		    all->key, (unsigned long long)all->number, (unsigned long long)ports->number,
		    (unsigned long long)(rate->number * ports->number));
}

int topo_profile_check(const struct topo_profile *p, char *err, size_t errlen)
{
	struct load l;
	uint32_t i;

	load_init(&l, p->file, err, errlen);
	if (!p->description || !*p->description)
		return fail(&l, -EINVAL, 0, "it has no description: say in a line what it is");
	for (i = 0; i < p->nparams; i++)
		if (check_source(&l, &p->params[i]))
			return l.code;
	for (i = 0; i < p->nfacts; i++)
		if (check_source(&l, &p->facts[i]))
			return l.code;
	return check_rates(&l, p);
}
