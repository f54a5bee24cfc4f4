// SPDX-License-Identifier: LGPL-2.1
/* One sentence about what is wrong. */
#include <stdarg.h>
#include "topo_int.h"

void load_init(struct load *l, const char *file, char *err, size_t errlen)
{
	*l = (struct load){ .file = file, .err = err, .errlen = errlen };
	if (errlen)
		*err = 0;
}

/* Of what a file holds no more than this gets into a message. */
#define SHOWN 60

/* Printable whatever it holds; one of four buffers. */
const char *quoted(const char *s)
{
	static _Thread_local char bufs[4][4 * SHOWN + 4];
	static _Thread_local unsigned int turn;
	char *buf = bufs[turn++ % 4], *p = buf;
	unsigned int i;

	for (i = 0; s[i] && i < SHOWN; i++) {
		unsigned char c = s[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			p += sprintf(p, "\\x%02x", c);
		else
			*p++ = c;
	}
	strcpy(p, s[i] ? "..." : "");
	return buf;
}

/**
 * fail - note an error, unless there is one already
 * @code: negative errno
 * @line: in the file, or 0
 *
 * Return: @code, or that of the first error.
 */
int fail(struct load *l, int code, uint32_t line, const char *fmt, ...)
{
	size_t len = 0;
	va_list ap;

	if (l->code)
		return l->code;
	l->code = code;
	if (!l->errlen)
		return code;
	if (l->file && line)
		len = snprintf(l->err, l->errlen, "%s:%u: ", quoted(l->file), line);
	else if (l->file)
		len = snprintf(l->err, l->errlen, "%s: ", quoted(l->file));
	if (len >= l->errlen)
		return code;
	va_start(ap, fmt);
	vsnprintf(l->err + len, l->errlen - len, fmt, ap);
	va_end(ap);
	return code;
}
