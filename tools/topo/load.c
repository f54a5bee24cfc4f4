// SPDX-License-Identifier: LGPL-2.1
/* From what a file says to links. */
#include "topo_int.h"

static void take_params(struct build *b, const struct doc *d)
{
	const struct topo_value *v;
	uint32_t i;

	for (i = 0; i < d->p.nparams; i++) {
		v = &d->p.params[i];
		b->p[find_param(v->key)] = (struct param_value){
			.given = true, .known = v->known, .number = v->number,
		};
	}
}

static int check_nodes(struct build *b)
{
	struct topo *t = b->t;

	t->nodes = b->p[P_NODES].known ? b->p[P_NODES].number : 0;
	if (t->nodes && t->world % t->nodes)
		return fail(b->l, -EINVAL, 0,
			    "world %u is no multiple of nodes %u: give --set nodes=N",
			    t->world, t->nodes);
	if (!t->nodes && t->partitions == TOPO_PART_PER_NODE)
		return fail(b->l, -ENODATA, 0,
			    "partitions per-node want a number of nodes: give --set nodes=N");
	if (t->world != 8 && t->partitions == TOPO_PART_HGX15)
		return fail(b->l, -EINVAL, 0,
			    "partitions hgx15 are those of 8 endpoints, and world is %u", t->world);
	return 0;
}

static int expand(struct load *l, const struct doc *d, struct topo *t)
{
	struct build *b = calloc(1, sizeof(*b));

	if (!b)
		return fail(l, -ENOMEM, 0, "out of memory");
	b->l = l;
	b->t = t;
	b->generator = d->generator;
	take_params(b, d);
	strcpy(t->name, d->p.name);
	t->partitions = d->partitions;
	t->forwarding = d->forwarding;
	if (!(d->links ? read_links(b, d->links) : d->generator->run(b)) && !build_check(b))
		check_nodes(b);
	free(b->lines);
	free(b);
	return l->code;
}

enum from { PROFILE, FILE_AT, TEXT };

/* @what: a profile's name, a path, or a text of @len bytes */
static int load(enum from from, const void *what, size_t len, const char *file,
		char *const *sets, struct topo *out, char *err, size_t errlen)
{
	struct doc *d = calloc(1, sizeof(*d));
	struct load l;

	memset(out, 0, sizeof(*out));
	load_init(&l, file, err, errlen);
	if (!d)
		return fail(&l, -ENOMEM, 0, "out of memory");
	if (from == PROFILE)
		doc_read_profile(&l, d, what);
	else if (from == FILE_AT)
		doc_read_file(&l, d, what);
	else
		doc_read_text(&l, d, what, len);
	if (!l.code && !doc_sets(&l, d, sets))
		expand(&l, d, out);
	doc_free(d);
	free(d);
	if (l.code)
		topo_free(out);
	return l.code;
}

int topo_load_profile(const char *spec, char *const *sets, struct topo *out, char *err,
		      size_t errlen)
{
	return load(PROFILE, spec, 0, NULL, sets, out, err, errlen);
}

int topo_load_file(const char *path, char *const *sets, struct topo *out, char *err,
		   size_t errlen)
{
	return load(FILE_AT, path, 0, path, sets, out, err, errlen);
}

int topo_load_text(const char *file, const void *text, size_t len, char *const *sets,
		   struct topo *out, char *err, size_t errlen)
{
	return load(TEXT, text, len, file, sets, out, err, errlen);
}

void topo_free(struct topo *t)
{
	free(t->links);
	memset(t, 0, sizeof(*t));
}
