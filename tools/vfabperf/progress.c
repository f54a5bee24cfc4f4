// SPDX-License-Identifier: GPL-2.0
/* What a person who waits at a terminal sees of a run that takes long. */
#include <unistd.h>
#include "vfabperf.h"

#define QUIET	2e9	/* ns before the first word, and between two of them: */
#define PAUSE	2e8

static bool shown;

void progress(const char *fmt, ...)
{
	static double begun, last;
	double now = now_ns();
	va_list ap;

	if (!begun)
		begun = isatty(STDERR_FILENO) ? now : -1;
	if (begun < 0 || now - begun < QUIET || now - last < PAUSE)
		return;
	last = now;
	shown = true;
	va_start(ap, fmt);
	fputs("\r", stderr);
	vfprintf(stderr, fmt, ap);
	fputs("\033[K", stderr);
	va_end(ap);
}

/* Before anything else is printed */
void progress_clear(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}
