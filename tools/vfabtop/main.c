// SPDX-License-Identifier: GPL-2.0
/*
 * vfabtop: a live view of fabrics, the worst first. How to use, by example:
 *
 *	vfabtop				all domains; 'h' shows the keys
 *	vfabtop -d 0.5 rack		one, twice a second
 *	vfabtop -b -n 2 rack		print two readings, for scripts
 *	vfabtop -b -n 1 -r 10 -s errors	the ten worst of each table
 *
 * Each reading is one dump of each kind of object.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../output.h"
#include "vfabtop.h"

#define EXIT_REFUSED	1
#define EXIT_USAGE	2

static const char usage[] =
"Usage: vfabtop [OPTION]... [DOMAIN]\n"
"Show domains, endpoints and links as they are and what they carry, worst first.\n"
"\n"
"  -b, --batch           print, instead of showing on the terminal\n"
"  -n, --count=COUNT     end after COUNT readings\n"
"  -d, --delay=SECONDS   from one reading to the next, 0.1 to 3600 (2)\n"
"  -r, --rows=ROWS       with -b: the first ROWS rows of each table only\n"
"  -s, --sort=ORDER      worst, address, rate or errors (worst)\n"
"  -h, --help            show this and exit\n"
"  -V, --version         show the version and exit\n"
"\n"
"Rates are bytes per second that libvfab's calls moved; plain loads and stores\n"
"are not counted. '-' is what is not known. DOMAIN is a name, or an id such as\n"
"dom0 or 0.\n"
"\n"
"Exit status: 0 done; 1 refused, as where there is no such domain; 2 wrong\n"
"usage, no module to talk to, or output that was lost.\n";

static struct {
	bool batch;
	long count, rows;
	int delay_ms;
	enum order order;
	const char *domain;
	struct tele_client client;
	struct tele_domref dom;
	struct view view;
} top = { .count = -1, .rows = LONG_MAX, .delay_ms = 2000 };

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("vfabtop: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void wrong(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say("%s", text);
	fputs("see 'vfabtop --help'\n", stderr);
	exit(EXIT_USAGE);
}

/* --- Options --------------------------------------------------------------------- */

static long arg_number(const char *what, const char *text)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || !*text || *end || value < 1)
		wrong("%s \"%s\" is not a number above 0", what, text);
	return value;
}

static int arg_delay(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (!*text || *end || !(value >= 0.1 && value <= 3600))
		wrong("delay \"%s\" is not a number of seconds from 0.1 to 3600", text);
	return value * 1000 + 0.5;
}

static enum order arg_order(const char *text)
{
	int by;

	for (by = 0; by < ORDERS; by++)
		if (*text && !strncmp(order_names[by], text, strlen(text)))
			return by;
	wrong("order \"%s\" is not worst, address, rate or errors", text);
}

/* "dom7" or "7" is an id, all else a name */
static void arg_domain(const char *text)
{
	const char *number = strncmp(text, "dom", 3) ? text : text + 3;
	char *end;
	unsigned long id = strtoul(number, &end, 10);

	if (strchr(text, '/') || !*text || strlen(text) > VFAB_NAME_LEN)
		wrong("\"%s\" is not a domain: give its name, or an id such as dom0", text);
	top.domain = text;
	if (*number && strspn(number, "0123456789") == strlen(number) && !*end && id <= INT32_MAX)
		top.dom.id = id;
	else
		top.dom.name = text;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "batch", no_argument, NULL, 'b' },
		{ "count", required_argument, NULL, 'n' },
		{ "delay", required_argument, NULL, 'd' },
		{ "rows", required_argument, NULL, 'r' },
		{ "sort", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "bn:d:r:s:hV", options, NULL)) != -1) {
		switch (c) {
		case 'b':
			top.batch = true;
			break;
		case 'n':
			top.count = arg_number("count", optarg);
			break;
		case 'd':
			top.delay_ms = arg_delay(optarg);
			break;
		case 'r':
			top.rows = arg_number("number of rows", optarg);
			break;
		case 's':
			top.order = arg_order(optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(output_finish(EXIT_SUCCESS));
		case 'V':
			puts("vfabtop " VFAB_VERSION);
			exit(output_finish(EXIT_SUCCESS));
		default:
			fputs("see 'vfabtop --help'\n", stderr);
			exit(EXIT_USAGE);
		}
	}
	if (argc - optind > 1)
		wrong("argument \"%s\" is one too many", argv[optind + 1]);
	if (optind < argc)
		arg_domain(argv[optind]);
	if (!top.batch && top.rows != LONG_MAX)
		wrong("--rows goes with --batch");
}

/* --- Readings -------------------------------------------------------------------- */

static int read_once(void)
{
	return view_read(&top.view, &top.client, top.domain ? &top.dom : NULL);
}

static const char *read_for_screen(struct source *s)
{
	(void)s;
	return read_once() ? vfab_nl_error(top.client.nl) : NULL;
}

/* Why a reading failed; without a module it is another status */
static int refuse(void)
{
	const char *why = vfab_nl_error(top.client.nl);

	if (top.domain && top.client.ready)
		say("domain \"%s\": %s", top.domain, why);
	else
		say("%s", why);
	return top.client.ready ? EXIT_REFUSED : EXIT_USAGE;
}

/* --- Batch ----------------------------------------------------------------------- */

static void print_tables(struct view *v)
{
	char line[LINE], when[32];
	time_t now = time(NULL);
	enum table which;
	size_t i;

	strftime(when, sizeof(when), "%H:%M:%S", localtime(&now));
	printf("vfabtop %s\n%s\n", when, table_summary(v, line));
	for (which = 0; which < TABLES; which++) {
		view_sort(v, which, which == DOMAINS ? BY_ADDRESS : top.order, false);
		printf("\n%s\n", table_head(which));
		for (i = 0; i < v->rows[which].n && i < (size_t)top.rows; i++)
			printf("%s\n", table_line(v, which, i, line));
	}
	putchar('\n');
	fflush(stdout);
}

/*
 * Rates are of the time between two readings: the first one, which is not
 * printed, is a short while before the one that is.
 */
static int batch(void)
{
	int ret = read_once(), wait = top.delay_ms < 500 ? top.delay_ms : 500;
	long left;

	for (left = top.count; !ret && left; left -= left > 0) {
		poll(NULL, 0, wait);
		wait = top.delay_ms;
		ret = read_once();
		if (ret)
			break;
		print_tables(&top.view);
		if (ferror(stdout))
			break;
	}
	return ret ? refuse() : EXIT_SUCCESS;
}

static int interactive(void)
{
	struct source s = {
		.view = &top.view, .read = read_for_screen, .delay_ms = top.delay_ms,
		.count = top.count,
	};

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		say("this is no terminal: give -b to print instead");
		return EXIT_USAGE;
	}
	if (read_once())
		return refuse();
	return screen_run(&s, top.order) ? EXIT_USAGE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	int ret;

	output_begin();
	parse(argc, argv);
	ret = top.batch ? batch() : interactive();
	view_free(&top.view);
	vfab_nl_close(top.client.nl);
	return output_finish(ret);
}
