/* SPDX-License-Identifier: GPL-2.0 */
/* What every tool does so that no output is lost without a word. */
#ifndef VFAB_OUTPUT_H
#define VFAB_OUTPUT_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * First of all: a standard stream that is closed must not become the next file,
 * pipe or socket that is opened. Writing to what stands in for it fails.
 */
static inline void output_begin(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* Before the end: why not all that was printed to @f got out, or NULL. */
static inline const char *output_lost(FILE *f)
{
	errno = 0;
	if (!fflush(f) && !ferror(f))
		return NULL;
	return errno ? strerror(errno) : "a write failed earlier";
}

/* The exit status: @status, if what was printed got out; else 2, with a message. */
static inline int output_finish(int status)
{
	const char *lost = output_lost(stdout);

	if (!lost)
		return status;
	fprintf(stderr, "%s: cannot write the output: %s\n", program_invocation_short_name, lost);
	return 2;
}

#endif
