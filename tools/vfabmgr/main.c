// SPDX-License-Identifier: GPL-2.0
/*
 * vfabmgr: keeps the routing tables of a domain right while links come and go.
 * By example:
 *
 *	vfabmgr --domain rack				in the background
 *	vfabmgr -f -v --domain rack --engine up-down	in the foreground
 *	vfabmgr --once --dry-run --domain rack		what would it change?
 *	vfabmgr --status rack
 *
 * It reads links and tables, computes the tables for the links that work, writes
 * the entries that differ, and waits for the next change. It keeps nothing that
 * it could not read again: killed at any point, the next one goes on from what
 * the kernel has.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>
#include <unistd.h>
#include <sys/stat.h>
#include <netlink/netlink.h>
#include "../output.h"
#include "state.h"

#define EXIT_REFUSED	1
#define EXIT_USAGE	2
#define QUIET_MS	20	/* without an event: a burst is over */
#define BURST_MS	200	/* but no longer than so */
#define RETRY_MS	1000	/* after something failed */
#define FILE_MAX	(256 << 20)

static const char usage[] =
"Usage: vfabmgr [OPTION]... --domain D\n"
"       vfabmgr --status D\n"
"Keep the routing tables of a vfabric domain right while links come and go.\n"
"\n"
"  -d, --domain=D        the domain, by its name or its number\n"
"  -e, --engine=ENGINE   how tables are made (default min-hop):\n"
"                          min-hop    all shortest ways over links that work\n"
"                          up-down    up, then down, in an order of the switches\n"
"                          dor        dimension order, for a torus or a mesh\n"
"                          file:FILE  as 'vfabctl [-j] route show' printed them\n"
"      --root=LIST       up-down: switches at the top, such as 128,129\n"
"      --dims=XxYxZ      dor: the size (default: found out)\n"
"      --vcs=N           dor: virtual channels of a link, 1 or 2 (default 2)\n"
"      --allow-loops     also write tables that could deadlock\n"
"  -f, --foreground      stay in the foreground\n"
"      --once            end after the first look\n"
"  -n, --dry-run         print what would be set, set nothing, and end\n"
"      --interval=S      look every S seconds though nothing is announced\n"
"                        (default 30; 0: never)\n"
"      --timeout=S       without a sign of life for S seconds this one is lost, as\n"
"                        the domain then says (default 10, 1 to 3600)\n"
"      --status=D        say whether a domain has a manager, and end\n"
"  -v, --verbose         say what each look found, and how long it took\n"
"  -h, --help            show this and exit\n"
"  -V, --version         show the version and exit\n"
"\n"
"Exit status: 0 all is well; 1 refused, by the kernel or because the tables\n"
"could deadlock; 2 wrong usage, or no module to talk to. With --status: 0\n"
"alive, 1 lost (killed or stuck), 3 none.\n";

static struct {
	const char *domain_name, *status;
	const struct engine *engine;
	struct options opt;
	bool foreground, once, dry_run, verbose, allow_loops;
	u32 interval;
	bool background;		/* messages go to syslog */
	struct client client;
	struct domain domain;
	struct fabric fabric;
	struct state state;
	u32 writes;
} mgr = { .opt = { .vcs = 2 }, .interval = 30, .state = { .timeout_ms = 10000 } };

static volatile sig_atomic_t stop;

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	n = *mgr.domain.name ? snprintf(text, sizeof(text), "%s: ", mgr.domain.name) : 0;
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	va_end(ap);
	if (mgr.background)
		syslog(LOG_NOTICE, "%s", text);
	else
		fprintf(stderr, "vfabmgr: %s\n", text);
}

static void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void wrong(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say("%s: see 'vfabmgr --help'", text);
	exit(EXIT_USAGE);
}

/* --- Options --------------------------------------------------------------------- */

static u32 arg_number(const char *what, const char *text, u32 low, u32 high)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || !*text || *end || value < (long)low || value > (long)high)
		wrong("%s \"%s\" is not a number from %u to %u", what, text, low, high);
	return value;
}

/* Numbers with @separator between them */
static u32 arg_list(const char *what, char *text, const char *separator, u32 *list, u32 room,
		    u32 low, u32 high)
{
	char *at = text, *one;
	u32 n = 0;

	while ((one = strsep(&at, separator))) {
		if (n == room)
			wrong("%s has more than %u numbers", what, room);
		list[n++] = arg_number(what, one, low, high);
	}
	return n;
}

/* What is in a file, or the standard input ("-"), with a NUL behind it */
static char *read_file(const char *path)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	size_t len = 0, room = 1 << 16;
	char *text = malloc(room + 1);
	ssize_t n = -1;

	while (fd >= 0 && text && (n = read(fd, text + len, room - len)) > 0) {
		len += n;
		if (len == room && room < FILE_MAX) {
			room *= 2;
			text = realloc(text, room + 1);
		}
	}
	if (n < 0 || !text) {
		say("%s: %s", path, strerror(errno));
		exit(EXIT_USAGE);
	}
	if (len == room || memchr(text, 0, len))
		wrong("%s: this is no file of tables", path);
	text[len] = 0;
	if (fd != STDIN_FILENO)
		close(fd);
	return text;
}

static void arg_engine(const char *text)
{
	bool file = !strncmp(text, "file:", 5);

	mgr.engine = engine_find(file ? "file" : text);
	if (!mgr.engine || !strcmp(text, "file"))
		wrong("engine \"%s\" is not one of min-hop, up-down, dor, file:FILE", text);
	if (file) {
		mgr.opt.file = text + 5;
		mgr.opt.text = read_file(text + 5);
	}
}

static void parse(int argc, char **argv)
{
	enum { ROOT = 256, DIMS, VCS, LOOPS, ONCE, INTERVAL, TIMEOUT, STATUS };
	static const struct option options[] = {
		{ "domain", required_argument, NULL, 'd' },
		{ "engine", required_argument, NULL, 'e' },
		{ "root", required_argument, NULL, ROOT },
		{ "dims", required_argument, NULL, DIMS },
		{ "vcs", required_argument, NULL, VCS },
		{ "allow-loops", no_argument, NULL, LOOPS },
		{ "foreground", no_argument, NULL, 'f' },
		{ "once", no_argument, NULL, ONCE },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "interval", required_argument, NULL, INTERVAL },
		{ "timeout", required_argument, NULL, TIMEOUT },
		{ "status", required_argument, NULL, STATUS },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "d:e:fnvhV", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			mgr.domain_name = optarg;
			break;
		case 'e':
			arg_engine(optarg);
			break;
		case ROOT:
			mgr.opt.nroots = arg_list("root", optarg, ",", mgr.opt.roots, MAX_ROOTS, 0,
						  VF_MAX_SWITCHES - 1);
			break;
		case DIMS:
			mgr.opt.ndims = arg_list("dims", optarg, "x", mgr.opt.dims, MAX_DIMS, 1,
						 VF_MAX_WORLD);
			break;
		case VCS:
			mgr.opt.vcs = arg_number("vcs", optarg, 1, 2);
			break;
		case LOOPS:
			mgr.allow_loops = true;
			break;
		case 'f':
			mgr.foreground = true;
			break;
		case ONCE:
			mgr.once = true;
			break;
		case 'n':
			mgr.dry_run = true;
			break;
		case INTERVAL:
			mgr.interval = arg_number("interval", optarg, 0, 86400);
			break;
		case TIMEOUT:
			mgr.state.timeout_ms = 1000 * arg_number("timeout", optarg, 1, 3600);
			break;
		case STATUS:
			mgr.status = optarg;
			break;
		case 'v':
			mgr.verbose = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(output_finish(0));
		case 'V':
			puts("vfabmgr " VFAB_VERSION);
			exit(output_finish(0));
		default:
			fputs("vfabmgr: see 'vfabmgr --help'\n", stderr);
			exit(EXIT_USAGE);
		}
	}
	if (optind < argc)
		wrong("argument \"%s\" is one too many", argv[optind]);
	if (!mgr.engine)
		arg_engine("min-hop");
	if (!mgr.status == !mgr.domain_name)
		wrong("give --domain or --status");
	if (mgr.opt.nroots && mgr.engine->route != updown_route)
		wrong("--root goes with --engine up-down");
	if (mgr.opt.ndims && mgr.engine->route != dor_route)
		wrong("--dims goes with --engine dor");
}

/* --- One look -------------------------------------------------------------------- */

static int write_entry(void *data, u32 router, u32 dest, struct entry e)
{
	int ret;

	(void)data;
	if (stop)
		return -ECANCELED;
	ret = client_set(&mgr.client, &mgr.fabric, router, dest, e);
	mgr.writes += !ret;
	/* A look at the clock may be a system call, as much as 100 entries take */
	if (!ret && !mgr.client.nbatch && now_ms() >= mgr.state.next)
		ret = state_beat(&mgr.state, &mgr.client);
	return ret;
}

/* With those that differ written to the standard output instead */
static void print_changes(void)
{
	const struct fabric *f = &mgr.fabric;
	u32 r, dest;
	size_t i;

	for (r = 0; r < f->topo.routers; r++)
		for (dest = 0; dest < f->topo.world; dest++) {
			i = entry_index(f, r, dest);
			if (!entry_same(entry_has(f, i), entry_wanted(f, i)))
				file_print(f, stdout, mgr.domain.id, r, dest, entry_wanted(f, i));
		}
}

/*
 * The tables that are wanted, into f->topo; *engine: whose they are. Dimension
 * order loses pairs where a ring is cut twice: then all go up and down, as a
 * mixture of the two could deadlock.
 */
static int compute(const struct engine **engine)
{
	static const struct options none = { .vcs = 1 };
	struct fabric *f = &mgr.fabric;
	int ret;

	*engine = mgr.engine;
	ret = engine_run(f, mgr.engine, &mgr.opt);
	if (ret)
		return ret;
	mgr.state.pairs = fabric_pairs(f);
	if (!mgr.state.pairs.lost || mgr.engine->route != dor_route)
		return 0;
	say("in dimension order %u pairs have no way: up-down is used until they have",
	    mgr.state.pairs.lost);
	*engine = engine_find("up-down");
	ret = engine_run(f, *engine, &none);
	mgr.state.pairs = fabric_pairs(f);
	return ret;
}

static const char *links_down(char text[32])
{
	u32 i, down = 0;

	for (i = 0; i < mgr.fabric.topo.nlinks; i++)
		down += !vf_link_carries(&mgr.fabric.topo, i);
	snprintf(text, 32, "%u down", down);
	return text;
}

/**
 * look - read, compute, check, write
 *
 * Return: 0; -EDEADLK or another errno from computing: the tables are as they
 * were, and it has been said why; an errno from the kernel.
 */
static int look(void)
{
	struct fabric *f = &mgr.fabric;
	double start = now_ms(), have, made, checked;
	const struct engine *engine;
	struct domain d;
	char down[32];
	u32 differ;
	int ret;

	mgr.writes = 0;
	mgr.client.requests = 0;
	mgr.client.news = false;
	ret = client_look(&mgr.client, &d);
	if (!ret)
		ret = client_links(&mgr.client, f);
	if (!ret)
		ret = client_tables(&mgr.client, f);
	if (ret) {
		say("%s", mgr.client.why);
		return ret;
	}
	mgr.client.known = d.generation;
	have = now_ms();
	ret = compute(&engine);
	made = now_ms();
	if (ret) {
		say("%s: %s", mgr.engine->name, f->why);
		return -EDEADLK;
	}
	ret = loop_check(f, engine, mgr.opt.vcs);
	checked = now_ms();
	if (ret) {
		say("tables of %s could deadlock: %s", engine->name, f->why);
		if (ret != -EDEADLK || !mgr.allow_loops) {
			say("the tables stay as they are: use up-down, dor, or --allow-loops");
			return -EDEADLK;
		}
	}
	differ = plan_count(f);
	if (mgr.dry_run) {
		print_changes();
		ret = 0;
	} else {
		ret = plan_run(f, write_entry, NULL);
		if (!ret)
			ret = client_flush(&mgr.client);
		if (ret && ret != -ECANCELED)
			say("%s", mgr.client.why);
		mgr.client.nbatch = 0;
		/* If nobody else changed anything, all events so far are of this */
		if (!ret && mgr.writes && !client_look(&mgr.client, &d) &&
		    d.generation == mgr.client.known + mgr.client.requests)
			mgr.client.known = d.generation;
	}
	if (mgr.verbose && mgr.client.overruns)
		say("events were lost, %u times: all was read again", mgr.client.overruns);
	mgr.client.overruns = 0;
	if (mgr.verbose) {
		say("%u endpoints, %u switches, %u links (%s), %u pairs joined, %u lost",
		    f->topo.world, f->topo.switches, f->topo.nlinks, links_down(down),
		    mgr.state.pairs.joined, mgr.state.pairs.lost);
		say("%u of %zu entries differ, %u written", differ,
		    (size_t)f->topo.routers * f->topo.world, mgr.writes);
		say("ms: read %.1f, %s %.1f, loop check %.1f, write %.1f", have - start,
		    engine->name, made - have, checked - made, now_ms() - checked);
	}
	return ret;
}

static int look_and_tell(void)
{
	int ret = look();

	mgr.state.result = !ret ? "ok" : ret == -EDEADLK ? "refused" : "failed";
	if (mgr.state.known)
		mgr.state.next = 0;	/* tell soon */
	return ret;
}

/* --- Waiting --------------------------------------------------------------------- */

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

/* Wait for an event or a signal, @ms at most; then read what has come. */
static int wait_events(double ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms * 1e6) % 1000000000 };
	struct pollfd pfd = { .fd = nl_socket_get_fd(mgr.client.events), .events = POLLIN };
	sigset_t block, was;
	int ret = 0;

	/* Let a signal in only inside ppoll(), so that none is slept over */
	sigemptyset(&block);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGINT);
	sigprocmask(SIG_BLOCK, &block, &was);
	if (!stop)
		ret = ppoll(&pfd, 1, &ts, &was);
	sigprocmask(SIG_SETMASK, &was, NULL);
	return ret > 0 ? client_drain(&mgr.client) : 0;
}

/* After the first event of a burst: until there are no more, or it is too long. */
static void let_it_settle(void)
{
	struct pollfd pfd = { .fd = nl_socket_get_fd(mgr.client.events), .events = POLLIN };
	double until = now_ms() + BURST_MS;

	while (!stop && now_ms() < until && poll(&pfd, 1, QUIET_MS) > 0)
		if (client_drain(&mgr.client))
			return;
}

static int follow(int ret)
{
	double next, wait;

	while (!stop && !mgr.client.gone && ret != -ENOENT && ret != -ENODEV) {
		next = ret && ret != -EDEADLK ? RETRY_MS : mgr.interval ? mgr.interval * 1e3 : 1e12;
		next += now_ms();
		while (!stop && !mgr.client.news && !mgr.client.gone && now_ms() < next) {
			if (now_ms() >= mgr.state.next &&
			    state_beat(&mgr.state, &mgr.client) == -EBUSY) {
				say("%s", mgr.client.why);
				return EXIT_REFUSED;
			}
			wait = min(next, mgr.state.next) - now_ms();
			if (wait_events(wait > 1 ? wait : 1)) {
				say("%s", mgr.client.why);
				return EXIT_REFUSED;
			}
		}
		if (stop || mgr.client.gone)
			break;
		if (mgr.client.news)
			let_it_settle();
		ret = look_and_tell();
	}
	if (!stop)
		say("the domain has ended, and so does its manager");
	return 0;
}

/* 2: there is nobody to talk to */
static int exit_status(int ret)
{
	return !ret || ret == -ECANCELED ? 0 : EXIT_REFUSED;
}

static int manage(void)
{
	int ret = 0;

	mgr.state.engine = mgr.engine->name;
	if (!mgr.dry_run)
		ret = state_take(&mgr.state, &mgr.client);
	if (!ret && !mgr.once && !mgr.dry_run)
		ret = client_events(&mgr.client);
	if (!ret)
		ret = client_fabric(&mgr.client, &mgr.domain, &mgr.fabric);
	if (ret) {
		say("%s", mgr.client.why);
		return EXIT_REFUSED;
	}
	ret = look_and_tell();
	if (!ret && !mgr.once && !mgr.dry_run) {
		if (!mgr.foreground) {
			if (daemon(0, 0)) {
				say("cannot go into the background: %s", strerror(errno));
				ret = -errno;
			}
			openlog("vfabmgr", LOG_PID, LOG_DAEMON);
			mgr.background = true;
		}
		if (!ret)
			ret = follow(0);
	}
	fabric_free(&mgr.fabric);
	return exit_status(ret);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	int ret;

	output_begin();
	parse(argc, argv);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	ret = client_open(&mgr.client);
	if (!ret)
		ret = client_find(&mgr.client, mgr.status ? mgr.status : mgr.domain_name,
				  &mgr.domain);
	if (ret) {
		if (mgr.client.family > 0)
			say("%s: %s", mgr.status ? mgr.status : mgr.domain_name, mgr.client.why);
		else
			say("%s", mgr.client.why);
		ret = mgr.client.family > 0 ? EXIT_REFUSED : EXIT_USAGE;
	} else if (mgr.status) {
		ret = state_show(&mgr.domain);
	} else {
		ret = manage();
	}
	state_drop(&mgr.state, &mgr.client);
	client_close(&mgr.client);
	free((char *)mgr.opt.text);
	return mgr.background ? ret : output_finish(ret);
}
