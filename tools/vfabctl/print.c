// SPDX-License-Identifier: GPL-2.0
/* Text and JSON, printed by the same calls. */
#include <stdarg.h>
#include <stdio.h>
#include "vfabctl.h"

/* Length of the UTF-8 character at @s, 0 if there is none; @code receives it. */
static unsigned int utf8(const unsigned char *s, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int len, i;

	if (s[0] < 0x80) {
		*code = s[0];
		return 1;
	}
	len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	*code = s[0] & (0x7f >> len);
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[len] || *code > 0x10ffff ||
	    (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return len;
}

/* Would it move the cursor, or reorder what stands beside it? */
static bool unprintable(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) ||
	       (code >= 0x200b && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

/*
 * For a terminal: \xNN for each byte that is not printable UTF-8, and \ before
 * each of @special. One of four buffers, so that a few may be used in one printf().
 */
static const char *escape(const char *s, const char *special)
{
	static char bufs[4][1024];
	static unsigned int turn;
	char *buf = bufs[turn++ % 4], *p = buf, *end = buf + sizeof(bufs[0]) - 20;
	const unsigned char *in = (const unsigned char *)s;
	unsigned int len, i;
	uint32_t code;

	while (*in && p < end) {
		len = utf8(in, &code);
		if (!len || unprintable(code)) {
			for (i = 0; i < (len ? len : 1); i++)
				p += sprintf(p, "\\x%02x", in[i]);
		} else {
			if (strchr(special, *in))
				*p++ = '\\';
			memcpy(p, in, len);
			p += len;
		}
		in += len ? len : 1;
	}
	strcpy(p, *in ? "..." : "");
	return buf;
}

/* Between quotes */
const char *escaped(const char *s)
{
	return escape(s, "\"\\");
}

/* By itself, as a sentence: quotes are what they are */
const char *printable(const char *s)
{
	return escape(s, "\\");
}

static bool plain(unsigned char c)
{
	return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

static void json_string(const char *s)
{
	const unsigned char *in = (const unsigned char *)s;
	unsigned int len;
	uint32_t code;

	putchar('"');
	while (*in) {
		for (len = 0; plain(in[len]); len++)
			;
		fwrite(in, 1, len, stdout);
		in += len;
		if (!*in)
			break;
		len = utf8(in, &code);
		if (!len)
			fputs("\\ufffd", stdout);
		else if (code == '"' || code == '\\')
			printf("\\%c", code);
		else if (code < 0x10000 && unprintable(code))
			printf("\\u%04x", code);
		else
			fwrite(in, 1, len, stdout);
		in += len ? len : 1;
	}
	putchar('"');
}

/* Comma, line break and indentation before a value; then its key. */
static void json_next(struct ctx *c, const char *key)
{
	if (c->out.comma)
		putchar(',');
	if (c->pretty && (c->out.comma || c->out.depth) && !c->lines)
		printf("\n%*s", 4 * c->out.depth, "");
	c->out.comma = true;
	if (key && *key) {
		json_string(key);
		fputs(c->pretty ? ": " : ":", stdout);
	}
}

/* An object '{' or a list '['; does nothing in text. */
void out_open(struct ctx *c, const char *key, char bracket)
{
	if (!c->json)
		return;
	json_next(c, key);
	putchar(bracket);
	c->out.depth++;
	c->out.comma = false;
}

void out_close(struct ctx *c, char bracket)
{
	if (!c->json)
		return;
	c->out.depth--;
	if (c->pretty && c->out.comma && !c->lines)
		printf("\n%*s", 4 * c->out.depth, "");
	putchar(bracket);
	c->out.comma = true;
}

static void open_outermost(struct ctx *c)
{
	if (!c->json || c->lines || c->out.opened)
		return;
	out_open(c, NULL, '[');
	c->out.opened = true;
}

/* Start what is printed about one object. */
void item(struct ctx *c, const char *addr_fmt, ...)
{
	char addr[128];
	va_list ap;

	open_outermost(c);
	out_open(c, NULL, '{');
	va_start(ap, addr_fmt);
	if (c->json) {
		vsnprintf(addr, sizeof(addr), addr_fmt, ap);
		out_str(c, "address", NULL, addr);
	} else {
		vprintf(addr_fmt, ap);
		putchar(':');
	}
	va_end(ap);
}

void item_end(struct ctx *c)
{
	out_close(c, '}');
	if (!c->json || c->lines)
		putchar('\n');
	if (c->lines)
		c->out.comma = false;
}

/*
 * After all is printed: what was begun is complete JSON, whatever happened, and
 * who succeeds without a word prints an empty list.
 */
void out_finish(struct ctx *c, bool done)
{
	if (done)
		open_outermost(c);
	if (c->out.opened) {
		out_close(c, ']');
		putchar('\n');
	}
}

/* Whether it is JSON that is to be printed, after the key; or after the label. */
static bool as_json(struct ctx *c, const char *key)
{
	if (c->json && key)
		json_next(c, key);
	return c->json && key;
}

static bool as_text(struct ctx *c, const char *label)
{
	if (c->json || !label)
		return false;
	if (*label) {
		putchar(' ');
		fputs(label, stdout);
	}
	putchar(' ');
	return true;
}

/* A table has a million entries of several numbers: printf() would take most of the time. */
static void put_uint(uint64_t v)
{
	char text[20], *p = text + sizeof(text);

	do {
		*--p = '0' + v % 10;
		v /= 10;
	} while (v);
	fwrite(p, 1, text + sizeof(text) - p, stdout);
}

void out_text(struct ctx *c, const char *fmt, ...)
{
	va_list ap;

	if (c->json)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
}

void out_uint(struct ctx *c, const char *key, const char *label, uint64_t v)
{
	if (as_json(c, key) || as_text(c, label))
		put_uint(v);
}

void out_str(struct ctx *c, const char *key, const char *label, const char *s)
{
	if (as_json(c, key))
		json_string(s);
	else if (as_text(c, label))
		fputs(printable(s), stdout);
}

void out_quoted(struct ctx *c, const char *key, const char *label, const char *s)
{
	if (as_json(c, key))
		json_string(s);
	else if (as_text(c, label))
		printf("\"%s\"", escaped(s));
}

void out_bool(struct ctx *c, const char *key, bool v)
{
	if (as_json(c, key))
		fputs(v ? "true" : "false", stdout);
}

void out_null(struct ctx *c, const char *key, const char *label, const char *text)
{
	if (as_json(c, key))
		fputs("null", stdout);
	else if (as_text(c, label))
		fputs(text, stdout);
}

/* 64 bits are more than JSON readers keep of a number: a string there. */
void out_hex(struct ctx *c, const char *key, const char *label, uint64_t v)
{
	if (as_json(c, key))
		printf("\"0x%llx\"", (unsigned long long)v);
	else if (as_text(c, label))
		printf("0x%llx", (unsigned long long)v);
}

/* In the largest unit that keeps it exact. */
void out_bytes(struct ctx *c, const char *key, const char *label, uint64_t v)
{
	static const char *const units[] = { "", "KiB", "MiB", "GiB", "TiB" };
	unsigned int unit = 0;

	if (as_json(c, key)) {
		printf("%llu", (unsigned long long)v);
	} else if (as_text(c, label)) {
		while (v && v % 1024 == 0 && unit < 4) {
			v /= 1024;
			unit++;
		}
		printf("%llu%s", (unsigned long long)v, units[unit]);
	}
}

/* Bytes, of which 0 means that there is no limit. */
void out_limit(struct ctx *c, const char *key, const char *label, uint64_t v)
{
	if (c->json || v)
		out_bytes(c, key, label, v);
	else
		out_null(c, NULL, label, "none");
}

/* Nanoseconds; 0 is what nobody knows */
void out_latency(struct ctx *c, const char *key, const char *label, uint64_t v)
{
	if (!v) {
		out_null(c, key, label, "unknown");
		return;
	}
	out_uint(c, key, label, v);
	out_text(c, " ns");
}

/* 10^6 bytes per second; in text GB/s from 1000 on. */
void out_rate(struct ctx *c, const char *key, const char *label, uint64_t v)
{
	if (as_json(c, key))
		printf("%llu", (unsigned long long)v);
	else if (as_text(c, label))
		printf("%.10g %cB/s", v < 1000 ? v : v / 1000.0, v < 1000 ? 'M' : 'G');
}

/* "" where there is none */
const char *uuid_text(const struct nlattr *uuid, char text[37])
{
	const uint8_t *u;
	char *p = text;
	unsigned int i;

	*text = 0;
	if (!uuid || mnl_attr_get_payload_len(uuid) != 16)
		return text;
	u = mnl_attr_get_payload(uuid);
	for (i = 0; i < 16; i++)
		p += sprintf(p, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", u[i]);
	return text;
}

void out_uuid(struct ctx *c, const char *key, const char *label,
	      const struct nlattr *uuid)
{
	char text[37];

	if (*uuid_text(uuid, text))
		out_str(c, key, label, text);
}

/* A bitmap of ranks: a list of numbers, in text "0-3,8". */
void out_ranks(struct ctx *c, const char *key, const char *label,
	       const struct nlattr *bitmap)
{
	unsigned int n, first, last;
	bool any = false;

	n = bitmap ? 8 * mnl_attr_get_payload_len(bitmap) : 0;
	if (as_json(c, key))
		putchar('[');
	else if (!as_text(c, label))
		return;
	for (first = 0; first < n; first = last + 1) {
		last = first;
		if (!get_bit(bitmap, first))
			continue;
		while (!c->json && last + 1 < n && get_bit(bitmap, last + 1))
			last++;
		printf(last > first ? "%s%u-%u" : "%s%u", any ? "," : "", first, last);
		any = true;
	}
	if (c->json)
		putchar(']');
	else if (!any)
		fputs("none", stdout);
}

const char *word(const char *const *words, size_t n, uint32_t value)
{
	static char unknown[16];

	if (value < n)
		return words[value];
	snprintf(unknown, sizeof(unknown), "%u", value);
	return unknown;
}
