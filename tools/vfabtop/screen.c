// SPDX-License-Identifier: GPL-2.0
/* The view on a terminal: panes, keys, and leaving it as it was. */
#include <curses.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include "vfabtop.h"

#define PANES_TOP	2	/* the title and the message */
#define FEW		4	/* rows of domains, unless they have all of the screen */
#define DELAY_MIN	100
#define DELAY_MAX	3600000
#define CTRL_L		('L' & 0x1f)

enum { ATTR_HEAD = 1, ATTR_BAD, ATTR_NOTICE };

static const char *const keys_help[] = {
	"Tab, d e l      next pane; domains, endpoints, links",
	"Up Down PgUp PgDn Home End    scroll the pane",
	"z               this pane alone, or all of them",
	"s r             next order of rows; reverse it",
	"+ -             more time, less time between readings",
	"space           read now; Ctrl-L draws the screen again",
	"p               pause",
	"h ?             this help",
	"q               quit",
	"",
	"Endpoints and links are red where they are down or unhealthy, yellow where",
	"they are degraded or not ready. TX and RX are bytes per second that libvfab's",
	"calls moved, of a link from its first end and to it; LOAD is the larger one",
	"against the link's rate. Plain loads and stores are not counted; '-' is what",
	"is not known.",
	NULL
};

static struct {
	struct source *source;
	enum table focus;
	enum order order[TABLES];
	bool reverse[TABLES];
	size_t first[TABLES];
	int height[TABLES];
	bool alone, help, paused;
	const char *trouble;
} screen;

/* --- Leaving --------------------------------------------------------------------- */

static volatile sig_atomic_t stop;

static void on_stop(int sig)
{
	stop = sig;
}

/*
 * A signal that nothing can be done about: the terminal gets back its settings
 * and its screen by calls that a signal handler may make, then the signal takes
 * its course.
 */
static struct termios settings;
static char leave[128];

static void on_crash(int sig)
{
	if (write(STDOUT_FILENO, leave, strlen(leave)) >= 0)
		tcsetattr(STDIN_FILENO, TCSANOW, &settings);
	raise(sig);	/* the handler is reset: see catch() */
}

/* What the terminal wants for it, or NULL */
static const char *capable(const char *capability)
{
	const char *text = tigetstr(capability);

	return text && text != (char *)-1 ? text : NULL;
}

static void remember(const char *capability)
{
	const char *text = capable(capability);

	if (text && strlen(leave) + strlen(text) < sizeof(leave))
		strcat(leave, text);
}

static void catch(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };

	sigaction(sig, &sa, NULL);
}

static void catch_signals(void)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS };
	static const int stops[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM,
				     SIGUSR1, SIGUSR2, SIGXCPU };
	size_t i;

	remember("sgr0");
	remember("cnorm");
	remember("rmkx");
	remember("rmcup");
	for (i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		catch(stops[i], on_stop, 0);
	for (i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		catch(crashes[i], on_crash, SA_RESETHAND | SA_NODEFER);
}

/* --- Drawing --------------------------------------------------------------------- */

static void put(int y, attr_t attr, const char *text)
{
	if (y >= LINES)
		return;
	attrset(attr);
	mvaddnstr(y, 0, text, COLS);
	attrset(A_NORMAL);
}

static attr_t attr_of(unsigned int badness)
{
	if (badness >= BAD)
		return COLOR_PAIR(ATTR_BAD) | A_BOLD;
	return badness >= NOTICE ? COLOR_PAIR(ATTR_NOTICE) : A_NORMAL;
}

/* How many lines each pane's rows have, its two lines of heading apart. */
static void share_out(void)
{
	const struct rows *rows = screen.source->view->rows;
	int lines = LINES - PANES_TOP, table, left;

	if (screen.alone) {
		memset(screen.height, 0, sizeof(screen.height));
		screen.height[screen.focus] = lines > 2 ? lines - 2 : 0;
		return;
	}
	left = lines - 2 * TABLES;
	screen.height[DOMAINS] = rows[DOMAINS].n < FEW ? rows[DOMAINS].n : FEW;
	left -= screen.height[DOMAINS];
	for (table = ENDPOINTS; table < TABLES; table++)
		screen.height[table] = left > 0 ? left / 2 : 0;
	/* What few endpoints leave, links get */
	if (rows[ENDPOINTS].n < (size_t)screen.height[ENDPOINTS])
		screen.height[ENDPOINTS] = rows[ENDPOINTS].n;
	if (left > screen.height[ENDPOINTS])
		screen.height[LINKS] = left - screen.height[ENDPOINTS];
}

static int draw_pane(enum table which, int y)
{
	struct view *v = screen.source->view;
	const struct rows *rows = &v->rows[which];
	size_t height = screen.height[which], first = screen.first[which], i;
	char line[LINE + 64];

	if (first + height > rows->n)
		first = rows->n > height ? rows->n - height : 0;
	screen.first[which] = first;
	snprintf(line, sizeof(line), "%c%s  %zu-%zu of %zu, by %s%s",
		 which == screen.focus ? '>' : ' ', table_names[which],
		 rows->n ? first + 1 : 0, first + height < rows->n ? first + height : rows->n,
		 rows->n, order_names[screen.order[which]],
		 screen.reverse[which] ? ", reversed" : "");
	put(y++, which == screen.focus ? A_BOLD : A_NORMAL, line);
	put(y++, A_REVERSE, table_head(which));
	for (i = first; i < rows->n && i < first + height; i++)
		put(y++, attr_of(rows->row[i].badness), table_line(v, which, i, line));
	return y;
}

static void draw_title(void)
{
	const struct source *s = screen.source;
	char line[2 * LINE], summary[LINE], when[32];
	time_t now = time(NULL);

	strftime(when, sizeof(when), "%H:%M:%S", localtime(&now));
	snprintf(line, sizeof(line), "vfabtop %s, every %g s%s; h: help, q: quit", when,
		 s->delay_ms / 1000.0, screen.paused ? ", paused" : "");
	put(0, A_BOLD, line);
	if (screen.trouble)
		put(1, COLOR_PAIR(ATTR_BAD) | A_BOLD, screen.trouble);
	else
		put(1, A_NORMAL, table_summary(s->view, summary));
}

static void draw(void)
{
	int table, y = PANES_TOP;

	erase();
	draw_title();
	if (screen.help) {
		for (table = 0; keys_help[table]; table++)
			put(y++, A_NORMAL, keys_help[table]);
	} else {
		share_out();
		for (table = 0; table < TABLES; table++)
			if (!screen.alone || table == (int)screen.focus)
				y = draw_pane(table, y);
	}
	refresh();
}

static void sort_all(void)
{
	int table;

	for (table = 0; table < TABLES; table++)
		view_sort(screen.source->view, table, screen.order[table], screen.reverse[table]);
}

/* --- Keys ------------------------------------------------------------------------ */

static void scroll_by(long rows)
{
	size_t *first = &screen.first[screen.focus];

	if (rows < 0 && (size_t)-rows > *first)
		*first = 0;
	else
		*first += rows;
}

static void change_delay(double factor)
{
	struct source *s = screen.source;
	double delay = s->delay_ms * factor;

	s->delay_ms = delay < DELAY_MIN ? DELAY_MIN : delay > DELAY_MAX ? DELAY_MAX : delay;
}

/* A key that moves the view. Return: whether it was one. */
static bool scroll_key(int key)
{
	int page = screen.height[screen.focus] > 1 ? screen.height[screen.focus] - 1 : 1;

	switch (key) {
	case KEY_UP:
	case 'k':
		scroll_by(-1);
		return true;
	case KEY_DOWN:
	case 'j':
		scroll_by(1);
		return true;
	case KEY_PPAGE:
		scroll_by(-page);
		return true;
	case KEY_NPAGE:
		scroll_by(page);
		return true;
	case KEY_HOME:
		screen.first[screen.focus] = 0;
		return true;
	case KEY_END:
		screen.first[screen.focus] = screen.source->view->rows[screen.focus].n;
		return true;
	}
	return false;
}

/* Return: whether to read now. */
static bool press(int key)
{
	enum table focus = screen.focus;

	if (scroll_key(key))
		return false;
	switch (key) {
	case 'q':
		stop = SIGTERM;
		break;
	case 'h':
	case '?':
		screen.help = !screen.help;
		break;
	case '\t':
		screen.focus = (focus + 1) % TABLES;
		break;
	case 'd':
		screen.focus = DOMAINS;
		break;
	case 'e':
		screen.focus = ENDPOINTS;
		break;
	case 'l':
		screen.focus = LINKS;
		break;
	case 'z':
		screen.alone = !screen.alone;
		break;
	case 's':
		screen.order[focus] = (screen.order[focus] + 1) % ORDERS;
		sort_all();
		break;
	case 'r':
		screen.reverse[focus] = !screen.reverse[focus];
		sort_all();
		break;
	case '+':
		change_delay(2);
		break;
	case '-':
		change_delay(0.5);
		break;
	case 'p':
		screen.paused = !screen.paused;
		break;
	case CTRL_L:
		clearok(stdscr, TRUE);
		break;
	case ' ':
		return true;
	}
	return false;
}

/* --- The loop -------------------------------------------------------------------- */

static void watch(void)
{
	struct source *s = screen.source;
	int64_t next = 0, left;
	bool now = true;
	int key;

	while (!stop) {
		if (now || (!screen.paused && now_ms() >= next)) {
			screen.trouble = s->read(s);
			sort_all();
			next = now_ms() + s->delay_ms;
			if (s->count > 0 && !--s->count)
				stop = SIGTERM;
		}
		draw();
		left = next - now_ms();
		timeout(screen.paused ? s->delay_ms : left > 0 ? left : 0);
		key = stop ? ERR : getch();
		now = key != ERR && press(key);
	}
}

/**
 * screen_run - show the view until it is quit
 * @order: of the rows, at first
 *
 * Return: 0, or -1 where the terminal is not good for it, which is said.
 */
int screen_run(struct source *s, enum order order)
{
	SCREEN *terminal;

	screen.source = s;
	screen.focus = ENDPOINTS;
	screen.order[DOMAINS] = BY_ADDRESS;
	screen.order[ENDPOINTS] = order;
	screen.order[LINKS] = order;
	setlocale(LC_ALL, "");
	tcgetattr(STDIN_FILENO, &settings);
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal || !capable("cup")) {
		if (terminal)
			endwin();
		fputs("vfabtop: the terminal is not known, or not good for this: ", stderr);
		fputs("set TERM, or give -b to print instead\n", stderr);
		return -1;
	}
	catch_signals();
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	if (start_color() == OK) {
		use_default_colors();
		init_pair(ATTR_BAD, COLOR_RED, -1);
		init_pair(ATTR_NOTICE, COLOR_YELLOW, -1);
	}
	watch();
	endwin();
	delscreen(terminal);
	return 0;
}
