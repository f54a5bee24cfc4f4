// SPDX-License-Identifier: LGPL-2.1
/* Memory that is freed all at once. */
#include "topo_int.h"

#define CHUNK (64 << 10)

struct chunk {
	struct chunk *next;
	size_t used;
	max_align_t align;
	char data[CHUNK];
};

/* Zeroed; NULL if there is none. @size is small against a chunk. */
void *arena_alloc(struct arena *a, size_t size)
{
	struct chunk *c = a->chunks;
	void *p;

	size = (size + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
	if (size > CHUNK)
		return NULL;
	if (!c || c->used + size > CHUNK) {
		c = malloc(sizeof(*c));
		if (!c)
			return NULL;
		c->next = a->chunks;
		c->used = 0;
		a->chunks = c;
	}
	p = c->data + c->used;
	c->used += size;
	return memset(p, 0, size);
}

char *arena_copy(struct arena *a, const void *text, size_t len)
{
	char *p = arena_alloc(a, len + 1);

	if (p)
		memcpy(p, text, len);
	return p;
}

void arena_free(struct arena *a)
{
	struct chunk *next;

	for (; a->chunks; a->chunks = next) {
		next = a->chunks->next;
		free(a->chunks);
	}
}
