// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots of a domain's counters and links, in files.
 *
 * A file, whose members are those of 'vfabctl -j counters show' and 'link show'
 * where they are there too:
 *
 *	{ "format": "vfabric-counters", "version": 1,
 *	  "domain": { "id": 0, "name": "rack", "uuid": "...", "generation": 4 },
 *	  "time": "2026-11-30T11:00:00.250Z", "time_ms": 1796036400250,
 *	  "links": [ { "address": "dom0/ep5/p3", "rank": 5, "port": 3,
 *		       "peer_switch": 3, "peer_port": 5, "state": "ACTIVE", ... } ],
 *	  "counters": [ { "address": "dom0/ep5", "rank": 5,
 *			  "counters": { "attaches": 1, ... } } ] }
 */
#include <json.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "snapshot.h"

#define FORMAT		"vfabric-counters"
#define VERSION		1
#define FILE_MAX	(256 << 20)
#define DEPTH		8
#define TRIES		8	/* while the domain changes all the time */

void snapshot_free(struct snapshot *s)
{
	tele_free(&s->t);
}

/* Read it now: all of one generation, so that links and counters belong together. */
static int take(struct ctx *c, const struct tele_domref *dom, struct snapshot *s)
{
	struct tele again = { 0 };
	struct timespec ts;
	int tries, ret = -EAGAIN;

	for (tries = 0; tries < TRIES && ret == -EAGAIN; tries++) {
		clock_gettime(CLOCK_REALTIME, &ts);
		ret = tele_read(c->nl, dom, TELE_LINKS | TELE_OBJECTS, &s->t);
		if (!ret)
			ret = tele_read(c->nl, dom, 0, &again);
		if (!ret && (again.domains[0].generation != s->t.domains[0].generation ||
			     again.domains[0].id != s->t.domains[0].id))
			ret = -EAGAIN;
		tele_free(&again);
	}
	if (!ret) {
		s->time_ms = ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
		tele_uuid(s->t.domains, s->uuid);
	}
	return ret;
}

static int taken(struct ctx *c, int ret)
{
	if (!ret)
		return DONE;
	if (ret == -EAGAIN)
		error(c, "it changes all the time: try again");
	else
		error(c, "%s", vfab_nl_error(c->nl));
	return REFUSED;
}

/* --- Writing ---------------------------------------------------------------------- */

static void add(struct json_object *to, const char *key, struct json_object *value)
{
	json_object_object_add(to, key, value);
}

static void add_addr(struct json_object *to, const char *address, const char *rank,
		     const char *sw, const char *port, const struct tele_addr *addr)
{
	char text[TELE_ADDR];

	add(to, address, json_object_new_string(tele_text(addr, text)));
	add(to, addr->is_switch ? sw : rank, json_object_new_int(addr->index));
	if (addr->port >= 0)
		add(to, port, json_object_new_int(addr->port));
}

static struct json_object *json_links(const struct tele *t)
{
	struct json_object *list = json_object_new_array(), *o;
	size_t i;

	for (i = 0; i < t->nlinks; i++) {
		const struct tele_link *l = &t->links[i];

		o = json_object_new_object();
		add_addr(o, "address", "rank", "switch", "port", &l->end[0]);
		add_addr(o, "peer", "peer_rank", "peer_switch", "peer_port", &l->end[1]);
		add(o, "state", json_object_new_string(tele_link_state(l->state)));
		add(o, "reason", json_object_new_string(tele_link_reason(l->reason)));
		add(o, "rate", json_object_new_int64(l->rate));
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *json_objects(const struct tele *t)
{
	struct json_object *list = json_object_new_array(), *o, *counters;
	size_t i;
	int k;

	for (i = 0; i < t->nobjects; i++) {
		o = json_object_new_object();
		counters = json_object_new_object();
		add_addr(o, "address", "rank", "switch", "port", &t->objects[i].addr);
		for (k = 0; k < TELE_COUNTERS; k++)
			if (tele_has(&t->objects[i], k))
				add(counters, tele_counters[k].name,
				    json_object_new_uint64(t->objects[i].value[k]));
		add(o, "counters", counters);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *json_snapshot(const struct snapshot *s)
{
	struct json_object *all = json_object_new_object(), *dom = json_object_new_object();
	const struct tele_domain *d = s->t.domains;
	time_t seconds = s->time_ms / 1000;
	char when[32], text[48];

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", gmtime(&seconds));
	snprintf(text, sizeof(text), "%s.%03dZ", when, (int)(s->time_ms % 1000));
	add(dom, "id", json_object_new_int64(d->id));
	add(dom, "name", json_object_new_string(d->name));
	add(dom, "uuid", json_object_new_string(s->uuid));
	add(dom, "generation", json_object_new_uint64(d->generation));
	add(all, "format", json_object_new_string(FORMAT));
	add(all, "version", json_object_new_int(VERSION));
	add(all, "domain", dom);
	add(all, "time", json_object_new_string(text));
	add(all, "time_ms", json_object_new_int64(s->time_ms));
	add(all, "links", json_links(&s->t));
	add(all, "counters", json_objects(&s->t));
	return all;
}

/* A file that could not be written to its end is not left behind. */
static int write_file(struct ctx *c, const char *path, const char *text)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "we") : stdout;
	struct stat st;
	int err = 0;

	if (!f || fputs(text, f) == EOF || fputc('\n', f) == EOF || fflush(f))
		err = errno;
	if (f == stdout)
		return DONE;	/* main() says what was lost */
	if (f && fclose(f) && !err)
		err = errno;
	if (!err)
		return DONE;
	error(c, "cannot write %s: %s", escaped(path), strerror(err));
	if (f && !stat(path, &st) && S_ISREG(st.st_mode))
		unlink(path);
	return USAGE;
}

int counters_snapshot(struct ctx *c, int argc, char **argv)
{
	struct snapshot s = { 0 };
	struct json_object *all;
	struct tele_domref dom;
	const char *pos[2];
	struct addr a;
	int ret;

	args_parse(c, argc, argv, NULL, 2, 2, pos);
	a = arg_addr(c, pos[0], ADDR_DOM);
	request(c, VFAB_CMD_DOMAIN_GET, &a);	/* opens the socket */
	dom = (struct tele_domref){ *a.name ? a.name : NULL, a.id };
	ret = taken(c, take(c, &dom, &s));
	if (!ret) {
		all = json_snapshot(&s);
		ret = write_file(c, pos[1],
				 json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN));
		json_object_put(all);
		/* What went to the standard output is all there is to print */
		if (!strcmp(pos[1], "-"))
			c->json = false;
	}
	snapshot_free(&s);
	return ret;
}

/* --- Reading ---------------------------------------------------------------------- */

static char *read_all(FILE *f, size_t *len)
{
	size_t room = 1 << 16;
	char *text = malloc(room), *bigger;

	*len = 0;
	errno = 0;
	while (text && (*len += fread(text + *len, 1, room - *len, f)) == room) {
		bigger = room < FILE_MAX ? realloc(text, 2 * room) : NULL;
		if (!bigger)
			free(text);
		text = bigger;
		room *= 2;
	}
	return text;
}

static struct json_object *parse(struct ctx *c, const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	struct json_tokener *tokener;
	struct json_object *all = NULL;
	char *text = NULL;
	size_t len = 0;

	if (f)
		text = read_all(f, &len);
	if (!f || !text || ferror(f)) {
		error(c, "cannot read %s: %s", escaped(path),
		      errno ? strerror(errno) : "it is too long");
	} else {
		tokener = json_tokener_new_ex(DEPTH);
		json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
		all = json_tokener_parse_ex(tokener, text, len);
		if (!all)
			error(c, "%s: this is no snapshot: %s", escaped(path),
			      json_tokener_error_desc(json_tokener_get_error(tokener)));
		json_tokener_free(tokener);
	}
	free(text);
	if (f && f != stdin)
		fclose(f);
	return all;
}

/* A member of this type, or NULL */
static struct json_object *member(struct json_object *o, const char *key, enum json_type type)
{
	struct json_object *value;

	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, key, &value) || !json_object_is_type(value, type))
		return NULL;
	return value;
}

static const char *text_of(struct json_object *o, const char *key)
{
	struct json_object *value = member(o, key, json_type_string);

	return value ? json_object_get_string(value) : "";
}

static int64_t number_of(struct json_object *o, const char *key, int64_t max)
{
	struct json_object *value = member(o, key, json_type_int);
	int64_t number = value ? json_object_get_int64(value) : -1;

	return number > max ? -1 : number;
}

/* False: it names neither an endpoint nor a switch. */
static bool get_addr(struct json_object *o, const char *rank, const char *sw, const char *port,
		     struct tele_addr *addr)
{
	addr->index = number_of(o, rank, VFAB_MAX_WORLD - 1);
	addr->is_switch = addr->index < 0;
	if (addr->is_switch)
		addr->index = number_of(o, sw, MAX_SWITCH);
	addr->port = number_of(o, port, MAX_SWITCH_PORT);
	return addr->index >= 0;
}

/* The number of a word; one that is not known is that of no state. */
static uint32_t number_of_word(const char *text, const char *(*words)(uint32_t))
{
	uint32_t i;

	for (i = 0; i < 32; i++)
		if (!strcmp(words(i), text))
			return i;
	return UINT32_MAX;
}

static bool get_links(struct json_object *list, uint32_t domain, struct tele *t)
{
	size_t n = list ? json_object_array_length(list) : 0, i;

	t->links = calloc(n + 1, sizeof(*t->links));
	if (!list || !t->links)
		return false;
	for (i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		struct tele_link *l = &t->links[i];

		if (!get_addr(o, "rank", "switch", "port", &l->end[0]) ||
		    !get_addr(o, "peer_rank", "peer_switch", "peer_port", &l->end[1]))
			return false;
		l->end[0].domain = domain;
		l->end[1].domain = domain;
		l->state = number_of_word(text_of(o, "state"), tele_link_state);
		l->reason = number_of_word(text_of(o, "reason"), tele_link_reason);
		l->rate = number_of(o, "rate", INT32_MAX);
	}
	t->nlinks = n;
	return true;
}

/* Counters that this program does not know are passed over. */
static bool get_object(struct json_object *o, uint32_t domain, struct tele_object *to)
{
	struct json_object *counters = member(o, "counters", json_type_object), *value;
	int k;

	if (!counters || !get_addr(o, "rank", "switch", "port", &to->addr))
		return false;
	to->addr.domain = domain;
	to->key = tele_key(&to->addr);
	for (k = 0; k < TELE_COUNTERS; k++) {
		value = member(counters, tele_counters[k].name, json_type_int);
		if (!value)
			continue;
		to->present |= 1ULL << k;
		to->value[k] = json_object_get_uint64(value);
	}
	return true;
}

static bool get_objects(struct json_object *list, uint32_t domain, struct tele *t)
{
	size_t n = list ? json_object_array_length(list) : 0, i;

	t->objects = calloc(n + 1, sizeof(*t->objects));
	if (!list || !t->objects)
		return false;
	for (i = 0; i < n; i++)
		if (!get_object(json_object_array_get_idx(list, i), domain, &t->objects[i]))
			return false;
	t->nobjects = n;
	tele_sort(t);
	return true;
}

/* Into @s what a snapshot says. @domain: the id to give it, or -1: its own */
static bool get_snapshot(struct json_object *all, struct snapshot *s)
{
	struct json_object *dom = member(all, "domain", json_type_object);
	int64_t id = number_of(dom, "id", INT32_MAX);
	struct tele *t = &s->t;

	t->domains = calloc(1, sizeof(*t->domains));
	if (!t->domains || strcmp(text_of(all, "format"), FORMAT) || id < 0 ||
	    strlen(text_of(dom, "uuid")) >= sizeof(s->uuid))
		return false;
	t->ndomains = 1;
	t->domains[0].id = id;
	snprintf(t->domains[0].name, sizeof(t->domains[0].name), "%s", text_of(dom, "name"));
	strcpy(s->uuid, text_of(dom, "uuid"));
	t->domains[0].generation = number_of(dom, "generation", INT64_MAX);
	s->time_ms = number_of(all, "time_ms", INT64_MAX);
	return get_links(member(all, "links", json_type_array), id, t) &&
	       get_objects(member(all, "counters", json_type_array), id, t);
}

/* From a file, "-" is the standard input. Return: an exit status; what is wrong is said. */
int snapshot_load(struct ctx *c, const char *path, struct snapshot *s)
{
	struct json_object *all = parse(c, path);
	int ret = DONE;

	if (!all)
		return USAGE;
	if (number_of(all, "version", INT32_MAX) > VERSION) {
		error(c, "%s: it was written by a newer vfabctl: use that one", escaped(path));
		ret = USAGE;
	} else if (!get_snapshot(all, s)) {
		error(c, "%s: this is no snapshot: make one by 'vfabctl counters snapshot'",
		      escaped(path));
		ret = USAGE;
	}
	json_object_put(all);
	return ret;
}

/* Now, of the domain that @before is of, which is found by its UUID. Return: as above. */
int snapshot_now(struct ctx *c, const struct snapshot *before, struct snapshot *s)
{
	struct tele all = { 0 };
	struct tele_domref dom = { NULL, 0 };
	bool found = false;
	char uuid[37];
	size_t i;
	int ret;

	request(c, VFAB_CMD_DOMAIN_GET, NULL);	/* opens the socket */
	ret = tele_read(c->nl, NULL, 0, &all);
	for (i = 0; !ret && i < all.ndomains && !found; i++) {
		tele_uuid(&all.domains[i], uuid);
		found = !strcmp(uuid, before->uuid);
		dom.id = all.domains[i].id;
	}
	tele_free(&all);
	if (!ret && !found) {
		error(c, "there is no domain with its UUID %s any more: \"%s\" was deleted",
		      escaped(before->uuid), escaped(before->t.domains[0].name));
		return REFUSED;
	}
	return taken(c, ret ? ret : take(c, &dom, s));
}
