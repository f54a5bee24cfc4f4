// SPDX-License-Identifier: GPL-2.0
/* A picture of the results: gnuplot draws it, from lines that come by a pipe. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "vfabperf.h"

static FILE *to;
static const char *path;

static bool in_path(const char *name)
{
	char *list = strdup(getenv("PATH") ? getenv("PATH") : ""), *at = list, *dir, file[4096];
	bool found = false;

	while (list && !found && (dir = strsep(&at, ":"))) {
		snprintf(file, sizeof(file), "%s/%s", dir, name);
		found = !access(file, X_OK);
	}
	free(list);
	return found;
}

static const char *terminal(const char *file)
{
	size_t len = strlen(file);

	if (len > 4 && !strcmp(file + len - 4, ".svg"))
		return "svg size 900,600 background 'white'";
	if (len > 4 && !strcmp(file + len - 4, ".png"))
		return "pngcairo size 900,600";
	return NULL;
}

/* Before anything is measured: can it be drawn? Else EXIT_SETUP. */
int plot_check(const char *file)
{
	if (!file)
		return -1;
	if (!terminal(file) || strchr(file, '\''))
		return usage_error("--plot \"%s\": name a file that ends in .svg or .png", file);
	if (!in_path("gnuplot"))
		return setup_error("--plot needs gnuplot, which is not installed: %s",
				   "install gnuplot-nox, or measure without --plot");
	return -1;
}

/* @commands: of gnuplot, before the data; false: there is nothing to draw */
bool plot_begin(const char *file, const char *title, const char *commands)
{
	if (!file)
		return false;
	/* A file that it cannot write, it writes to its output */
	to = popen("gnuplot >/dev/null", "we");
	if (!to)
		return false;
	path = file;
	fprintf(to, "set terminal %s\nset output '%s'\nset title '%s' noenhanced\n%s\n",
		terminal(file), file, title, commands);
	return true;
}

void plot_line(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(to, fmt, ap);
	va_end(ap);
}

/* The x axis: sizes from @from to @most, by powers of two */
void plot_sizes(size_t from, size_t most)
{
	plot_line("set logscale x 2\nset format x '%%.0b%%B'\nset xlabel 'bytes'\nset grid\n");
	plot_line("set xrange [%g:%g]\n", from / 2.0, most * 2.0);
}

/* What follows: so many lists of points, a line each, each list ended by "e" */
void plot_series(const char *const *titles, int n)
{
	int i;

	for (i = 0; i < n; i++)
		plot_line("%s '-' with linespoints title '%s'", i ? "," : "plot", titles[i]);
	plot_line("\n");
}

int plot_end(void)
{
	bool bad = ferror(to);

	if (!pclose(to) && !bad && !access(path, R_OK))
		return 0;
	return setup_error("%s was not drawn: see what gnuplot says", path);
}
