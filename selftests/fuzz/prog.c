// SPDX-License-Identifier: GPL-2.0
/* Programs: their text, how they come about by chance, and how they change. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"

const struct desc *descs[MAX_DESCS];
unsigned int ndescs;

void prog_init(void)
{
	unsigned int i;

	for (i = 0; i < nsys_descs; i++)
		descs[ndescs++] = &sys_descs[i];
	for (i = 0; i < ngenerated; i++)
		descs[ndescs++] = &generated[i];
}

void desc_done(const struct desc *d)
{
	unsigned int i;

	for (i = 0; i < ndescs; i++)
		if (descs[i] == d)
			shared->done[i]++;
}

/* --- chance ------------------------------------------------------------- */

static uint64_t chance_state = 1;

void chance_seed(uint64_t seed)
{
	chance_state = seed * 0x9e3779b97f4a7c15ULL | 1;
}

/* xorshift64* */
uint64_t chance(void)
{
	chance_state ^= chance_state >> 12;
	chance_state ^= chance_state << 25;
	chance_state ^= chance_state >> 27;
	return chance_state * 0x2545f4914f6cdd1dULL;
}

unsigned int below(unsigned int n)
{
	return (chance() >> 32) % n;
}

static uint64_t wild(uint64_t (*next)(void))
{
	uint64_t power = 1ULL << (next() >> 32) % 64;

	switch ((next() >> 32) % 4) {
	case 0:
		return power - 1;
	case 1:
		return power;
	case 2:
		return next() & (power - 1);
	default:
		return -power;
	}
}

static uint64_t number(const struct arg *a, uint64_t (*next)(void))
{
	uint64_t span = a->high - a->low;

	switch ((next() >> 32) % 16) {
	case 0:
		return a->high;
	case 1:
		return a->high + 1;
	case 2:
		return a->low - 1;
	case 3:
		return a->low + (span ? wild(next) % span : 0);
	case 4:
		return wild(next);
	case 5:
		return limits[(next() >> 32) % nlimits] - (next() >> 63);
	default:
		return a->low + (next() >> 32) % (span < 5 ? span + 1 : 5);
	}
}

/* Below @n, and rather small: where few things are, calls meet at them. */
static uint64_t small(uint64_t n, uint64_t r)
{
	return r % ((r >> 16) % n + 1);
}

/* A number for @a, most often one that makes sense. */
uint64_t value_of(const struct arg *a, uint64_t (*next)(void))
{
	uint64_t r = next() >> 32;

	switch (a->kind) {
	case K_FLAG:
		return 1;
	case K_HANDLE:
	case K_COOKIE:
		return r % 16 ? small(6, r / 16) : wild(next);
	case K_DOMAIN:
	case K_NAME:
		return r % 16 ? small(3, r / 16) : wild(next);
	case K_FD:
		return r % 16 ? small(FILES, r / 16) : ~0ULL;
	case K_DEADLINE:
		return r % 16 ? r / 16 % 3 : (r / 16 % 2 ? NEVER : wild(next));
	case K_SIZE:
		return r % 16 ? r / 16 % 4 + 1 : (r / 16 % 2 ? 512 + r / 32 % 3 : wild(next));
	case K_STRING:
	case K_RECORDS:
		return next();
	case K_BYTES:
		/* length, then bits of small ranks */
		return (r % 8 ? (a->low ? a->low : 1) : r / 8 % 256) | (next() >> 60) << 8;
	default:
		if (a->flags & A_OURS)
			return a->low + small(a->high - a->low + 1, r);
		return number(a, next);
	}
}

static unsigned int nargs(const struct desc *d)
{
	unsigned int n = 0;

	while (d->args[n].name)
		n++;
	return n;
}

/* How often of 16 an argument is given */
static unsigned int likely(const struct desc *d, const struct arg *a)
{
	if (d->type == C_SYS)
		return a->flags & A_REST ? 4 : 15;
	if (a->flags & (A_REPLY | A_ZERO))
		return 1;
	if (d->type == C_IOCTL)
		return a->flags & A_OURS && strcmp(a->name, "file") ? 1 : 15;
	if (a->flags & A_OURS)
		return !strcmp(a->name, "dump") && d->flags & N_DUMP ? 8 : 1;
	return a->kind == K_DOMAIN ? 14 : 4;
}

static bool is_fork(const struct desc *d)
{
	return d->type == C_SYS && d->number == SYS_FORK;
}

bool prog_forks(const struct prog *p)
{
	unsigned int i;

	for (i = 0; i < p->n && !is_fork(p->call[i].desc); i++)
		;
	return i < p->n;
}

static void any_call(struct call *c)
{
	const struct desc *d = descs[below(ndescs)];
	unsigned int i;

	/* Netlink has the longer list, and takes longer; a child as long as forty calls */
	if ((d->type == C_NL && below(2)) || (is_fork(d) && below(4)))
		d = descs[below(ndescs)];
	memset(c, 0, sizeof(*c));
	c->desc = d;
	for (i = 0; i < nargs(d); i++) {
		if (below(16) >= likely(d, &d->args[i]))
			continue;
		c->have |= 1ULL << i;
		c->arg[i] = value_of(&d->args[i], chance);
	}
}

/* --- mutation ----------------------------------------------------------- */

static void insert(struct prog *p, const struct call *c)
{
	unsigned int at = below(2) ? p->n : below(p->n + 1);

	if (p->n == MAX_CALLS)
		return;
	memmove(&p->call[at + 1], &p->call[at], (p->n - at) * sizeof(*c));
	p->call[at] = *c;
	p->n++;
}

static void delete(struct prog *p, unsigned int at)
{
	p->n--;
	memmove(&p->call[at], &p->call[at + 1], (p->n - at) * sizeof(p->call[0]));
}

static void mutate_arg(struct call *c)
{
	unsigned int n = nargs(c->desc), i;

	if (!n)
		return;
	do {
		i = below(n);
	} while (likely(c->desc, &c->desc->args[i]) < 4 && below(4));
	if (c->have & 1ULL << i && !below(4)) {
		c->have &= ~(1ULL << i);
		return;
	}
	c->have |= 1ULL << i;
	switch (below(6)) {
	case 0:
		c->arg[i]++;
		break;
	case 1:
		c->arg[i]--;
		break;
	case 2:
		c->arg[i] ^= 1ULL << below(64);
		break;
	default:
		c->arg[i] = value_of(&c->desc->args[i], chance);
	}
}

static void splice(struct prog *p, const struct prog *other)
{
	unsigned int i = below(other->n);

	p->n = below(p->n + 1);
	while (i < other->n && p->n < MAX_CALLS)
		p->call[p->n++] = other->call[i++];
}

void prog_mutate(struct prog *p, const struct prog *other)
{
	unsigned int rounds = 1 + below(8), at;
	struct call c;

	if (other && !below(8))
		splice(p, other);
	while (rounds--) {
		at = p->n ? below(p->n) : 0;
		switch (p->n ? below(8) : 0) {
		case 0: case 1: case 2:
			any_call(&c);
			insert(p, &c);
			break;
		case 3:
			delete(p, at);
			break;
		case 4:
			c = p->call[at];
			insert(p, &c);
			break;
		default:
			mutate_arg(&p->call[at]);
		}
	}
}

/* --- text --------------------------------------------------------------- */

unsigned int prog_print(const struct prog *p, char *text, size_t size)
{
	unsigned int i, k;
	size_t len = 0;

	*text = 0;
	for (i = 0; i < p->n && len < size; i++) {
		const struct call *c = &p->call[i];

		len += snprintf(text + len, size - len, "%s", c->desc->name);
		for (k = 0; len < size && c->desc->args[k].name; k++)
			if (c->have & 1ULL << k)
				len += snprintf(text + len, size - len, " %s=%#" PRIx64,
						c->desc->args[k].name, c->arg[k]);
		if (len < size)
			len += snprintf(text + len, size - len, "\n");
	}
	return len < size ? len : size - 1;
}

static bool parse_call(struct call *c, char *line, char *err, size_t size)
{
	char *save, *word = strtok_r(line, " ", &save), *value;
	unsigned int i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < ndescs && !c->desc; i++)
		if (!strcmp(descs[i]->name, word))
			c->desc = descs[i];
	if (!c->desc) {
		snprintf(err, size, "there is no call '%s': 'fuzz --calls' lists them", word);
		return false;
	}
	while ((word = strtok_r(NULL, " ", &save))) {
		value = strchr(word, '=');
		if (value)
			*value++ = 0;
		for (i = 0; c->desc->args[i].name && strcmp(c->desc->args[i].name, word); i++)
			;
		if (!c->desc->args[i].name || !value) {
			snprintf(err, size, "%s takes no '%s': see 'fuzz --calls'",
				 c->desc->name, word);
			return false;
		}
		c->have |= 1ULL << i;
		c->arg[i] = strtoull(value, NULL, 0);
	}
	return true;
}

/*
 * The next program of @text, which ends with an empty line; lines with # are
 * left out. With false and an empty @err there is none.
 */
bool prog_parse(struct prog *p, const char **text, char *err, size_t size)
{
	char line[TEXT_MAX];

	p->n = 0;
	*err = 0;
	while (**text) {
		size_t len = strcspn(*text, "\n");

		if (len >= sizeof(line))
			len = sizeof(line) - 1;
		memcpy(line, *text, len);
		line[len] = 0;
		*text += len + ((*text)[len] == '\n');
		if (*line == '#')
			continue;
		if (!*line) {
			if (p->n)
				return true;
			continue;
		}
		if (p->n == MAX_CALLS) {
			snprintf(err, size, "a program has at most %d calls", MAX_CALLS);
			return false;
		}
		if (!parse_call(&p->call[p->n++], line, err, size))
			return false;
	}
	return p->n;
}
