// SPDX-License-Identifier: GPL-2.0
/*
 * vfabswitchd: joins VMs, and processes of this machine, by shared memory and
 * doorbells. By example:
 *
 *	vfabswitchd rack				in the foreground
 *	vfabswitchd --size 1G --nodes 4 --allow libvirt-qemu rack
 *	vfabswitchd show rack
 *	qemu-system-x86_64 ... -chardev socket,id=bp,path=/run/vfabric/rack/join \
 *		-device ivshmem-doorbell,chardev=bp,vectors=4
 *
 * One process is one backplane. It makes the memory, tells each peer of the
 * others, and keeps a table of who is connected at the beginning of the memory
 * (uapi/linux/vfabric_backplane.h). It moves no data and sees none: when it ends,
 * those that have joined go on, but nobody else can join them.
 */
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "../output.h"
#include "vfabswitchd.h"

static const char usage[] =
"Usage: vfabswitchd [OPTION]... NAME\n"
"       vfabswitchd show [-j] [--dir=DIR] NAME\n"
"Join VMs and processes of this machine by shared memory and doorbells.\n"
"\n"
"  -s, --size=BYTES      of the memory: a power of two, with K, M or G (256M)\n"
"  -n, --nodes=N         how many can be joined at once, 1 to 64 (8)\n"
"      --vectors=N       interrupts of each, 1 to 16 (4)\n"
"      --hugepages=SIZE  memory of huge pages: 2M or 1G\n"
"      --reserve         have all of the memory from the beginning\n"
"      --allow=USER      let processes of this user join, too; may be repeated\n"
"                        (root and whoever starts vfabswitchd always may)\n"
"      --stall=S         serve a peer no more that has been behind with what it is\n"
"                        told for S seconds (10, 1 to 3600)\n"
"      --dir=DIR         sockets are in DIR/NAME (/run/vfabric)\n"
"  -j, --json            show: as JSON\n"
"  -h, --help            show this and exit\n"
"  -V, --version         show the version and exit\n"
"\n"
"Exit status: 0 ended by a signal, or shown; 1 refused: the name is taken, there\n"
"is no memory, nobody serves it; 2 wrong usage.\n";

static const char *name;	/* for messages */

void say(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "vfabswitchd: %s%s", name ? name : "", name ? ": " : "");
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
	say("%s: see 'vfabswitchd --help'", text);
	exit(EXIT_USAGE);
}

/* To the service manager that started us, if one did: see sd_notify(3) */
void notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (len < 2 || len >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, len);
	if (*path == '@')
		to.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
	       offsetof(struct sockaddr_un, sun_path) + len);
	close(fd);
}

/* --- Options --------------------------------------------------------------------- */

static uint64_t arg_size(const char *what, const char *text)
{
	unsigned int shift = 0;
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end && strchr("KMG", *end)) {
		shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
		end++;
	}
	if (errno || *text < '0' || *text > '9' || *end || value > VFAB_BP_MAX_SIZE >> shift)
		wrong("%s \"%s\" is not a number of bytes up to %lluG, such as 256M", what, text,
		      VFAB_BP_MAX_SIZE >> 30);
	return value << shift;
}

static uint32_t arg_number(const char *what, const char *text, uint32_t low, uint32_t high)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || !*text || *end || value < (long)low || value > (long)high)
		wrong("%s \"%s\" is not a number from %u to %u", what, text, low, high);
	return value;
}

static void add_uid(struct config *cfg, uid_t uid)
{
	unsigned int i;

	for (i = 0; i < cfg->nuids; i++)
		if (cfg->uid[i] == uid)
			return;
	if (cfg->nuids == MAX_UIDS)
		wrong("--allow: more than %u users", MAX_UIDS);
	cfg->uid[cfg->nuids++] = uid;
}

static void arg_user(struct config *cfg, const char *text)
{
	const struct passwd *pw = getpwnam(text);
	char *end;
	unsigned long uid;

	if (pw) {
		add_uid(cfg, pw->pw_uid);
		return;
	}
	errno = 0;
	uid = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || uid >= UINT32_MAX)
		wrong("--allow \"%s\" is no user of this machine and no number of one", text);
	add_uid(cfg, uid);
}

static void check_size(const struct config *cfg)
{
	uint64_t least = vf_bp_least(cfg->nodes);

	if (cfg->size & (cfg->size - 1))
		wrong("--size %llu is not a power of two, as the memory of a PCI device must be",
		      (unsigned long long)cfg->size);
	if (cfg->size < least)
		wrong("--size %llu is too small for %u nodes: they need %lluM",
		      (unsigned long long)cfg->size, cfg->nodes, (unsigned long long)(least >> 20));
	if (cfg->page > cfg->size)
		wrong("--size %llu is less than a huge page", (unsigned long long)cfg->size);
}

static void parse(int argc, char **argv, struct config *cfg, bool *shows, bool *json)
{
	enum { VECTORS = 256, HUGE, RESERVE, ALLOW, STALL, DIR };
	static const struct option options[] = {
		{ "size", required_argument, NULL, 's' },
		{ "nodes", required_argument, NULL, 'n' },
		{ "vectors", required_argument, NULL, VECTORS },
		{ "hugepages", required_argument, NULL, HUGE },
		{ "reserve", no_argument, NULL, RESERVE },
		{ "allow", required_argument, NULL, ALLOW },
		{ "stall", required_argument, NULL, STALL },
		{ "dir", required_argument, NULL, DIR },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	bool serves = false;
	int c;

	while ((c = getopt_long(argc, argv, "s:n:jhV", options, NULL)) != -1) {
		serves |= c != 'j' && c != DIR;
		switch (c) {
		case 's':
			cfg->size = arg_size("size", optarg);
			break;
		case 'n':
			cfg->nodes = arg_number("number of nodes", optarg, 1, VFAB_BP_MAX_NODES);
			break;
		case VECTORS:
			cfg->vectors = arg_number("number of vectors", optarg, 1,
						  VFAB_BP_MAX_VECTORS);
			break;
		case HUGE:
			cfg->page = arg_size("huge page", optarg);
			if (cfg->page != 2 << 20 && cfg->page != 1 << 30)
				wrong("huge page \"%s\" is not 2M or 1G", optarg);
			break;
		case RESERVE:
			cfg->reserve = true;
			break;
		case ALLOW:
			arg_user(cfg, optarg);
			break;
		case STALL:
			cfg->stall_ms = 1000 * arg_number("number of seconds", optarg, 1, 3600);
			break;
		case DIR:
			cfg->dir = optarg;
			break;
		case 'j':
			*json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(output_finish(0));
		case 'V':
			puts("vfabswitchd " VFAB_VERSION);
			exit(output_finish(0));
		default:
			fputs("vfabswitchd: see 'vfabswitchd --help'\n", stderr);
			exit(EXIT_USAGE);
		}
	}
	*shows = optind < argc && !strcmp(argv[optind], "show");
	optind += *shows;
	if (*shows && serves)
		wrong("show: takes --json and --dir only");
	if (*json && !*shows)
		wrong("--json goes with show");
	if (optind == argc)
		wrong("name a backplane");
	if (optind + 1 < argc)
		wrong("argument \"%.100s\" is one too many", argv[optind + 1]);
	cfg->name = argv[optind];
	if (!vf_bp_name_valid(cfg->name, 33))
		wrong("\"%.100s\" is no name: take 1 to 32 letters, digits and _ . -", cfg->name);
}

int main(int argc, char **argv)
{
	struct config cfg = { .dir = BACKPLANE_DIR, .size = 256 << 20, .nodes = 8, .vectors = 4,
			      .stall_ms = 10000 };
	static struct region region;
	static struct place place;
	bool shows, json = false;
	int ret;

	output_begin();
	signal(SIGPIPE, SIG_IGN);
	add_uid(&cfg, geteuid());
	add_uid(&cfg, 0);
	parse(argc, argv, &cfg, &shows, &json);
	if (shows)
		return output_finish(show(cfg.dir, cfg.name, json));
	check_size(&cfg);
	name = cfg.name;
	/* The name first: who does not get it takes no memory */
	if (place_take(&place, &cfg))
		return EXIT_REFUSED;
	ret = region_make(&region, &cfg);
	if (!ret)
		ret = serve(&cfg, &region, &place);
	place_leave(&place);
	return ret ? EXIT_REFUSED : 0;
}
