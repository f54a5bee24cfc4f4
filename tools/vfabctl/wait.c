// SPDX-License-Identifier: GPL-2.0
/* Wait for a state of a domain. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include "vfabctl.h"

#define DEFAULT_TIMEOUT	"30"
#define INTERVAL	50	/* milliseconds between two looks */

const char wait_help[] =
	"Wait until a domain is in a state.\n"
	"\n"
	"  --for ready       it exists, and the caller may open its device files (default)\n"
	"  --for managed     its fabric manager is alive (see vfabmgr(8))\n"
	"  --for attached=N  N or more endpoints are held; with 0, none is\n"
	"  --for deleted     there is no such domain\n"
	"  --timeout S       a time, such as 5 or 200ms (" DEFAULT_TIMEOUT ")\n"
	"\n"
	"Exit status 3 if the time is up before.";

/* What was seen, and why it is not yet what is waited for. */
struct sight {
	uint32_t attached, manager;
	char why[128];
};

static int see_domain(const struct vfab_nl_msg *msg, void *data)
{
	struct sight *s = data;

	s->attached = get32(msg, VFAB_A_ATTACHED);
	s->manager = get32(msg, VFAB_A_MANAGER_STATE);
	return 0;
}

static int see_device(const struct vfab_nl_msg *msg, void *data)
{
	struct sight *s = data;
	struct stat st;
	char path[64];

	if (!has(msg, VFAB_A_DEV_MINOR))
		return 0;	/* not active */
	device_path(path, get32(msg, VFAB_A_DOMAIN), get32(msg, VFAB_A_PARTITION));
	if (stat(path, &st) || access(path, R_OK | W_OK))
		snprintf(s->why, sizeof(s->why), "%s: %s", path, strerror(errno));
	else if (!S_ISCHR(st.st_mode) ||
		 st.st_rdev != makedev(get32(msg, VFAB_A_DEV_MAJOR),
				       get32(msg, VFAB_A_DEV_MINOR)))
		snprintf(s->why, sizeof(s->why), "%s is another device", path);
	return 0;
}

/* Look once. Return: 0 or an error; then @s->why is empty if the wait is over. */
static int look(struct ctx *c, const struct addr *a, const char *state, int attached,
		struct sight *s)
{
	bool gone = !strcmp(state, "deleted"), ready = !strcmp(state, "ready");
	bool managed = !strcmp(state, "managed");
	int ret;

	*s->why = 0;
	request(c, VFAB_CMD_DOMAIN_GET, a);
	ret = vfab_nl_do(c->nl, see_domain, s);
	if (!ret && ready) {
		request(c, VFAB_CMD_PARTITION_GET, a);
		ret = vfab_nl_dump(c->nl, see_device, s);
	}
	if (ret && ret != -ENOENT && ret != -ENODEV)
		return ret;
	if (ret && !gone)
		snprintf(s->why, sizeof(s->why), "there is no such domain");
	if (!ret && gone)
		snprintf(s->why, sizeof(s->why), "it is there");
	if (!ret && managed && s->manager != VFAB_MANAGER_ALIVE)
		snprintf(s->why, sizeof(s->why), "its manager is %s",
			 s->manager == VFAB_MANAGER_LOST ? "lost" : "none");
	if (!ret && attached > 0 && s->attached < (uint32_t)attached)
		snprintf(s->why, sizeof(s->why), "%u attached", s->attached);
	if (!ret && attached == 0 && s->attached)
		snprintf(s->why, sizeof(s->why), "%u attached", s->attached);
	return 0;
}

/* Milliseconds of a clock that only goes forward. */
int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

int wait_run(struct ctx *c, int argc, char **argv)
{
	const char *state = NULL, *timeout = NULL;
	const struct opt opts[] = {
		{ "for", &state, NULL },
		{ "timeout", &timeout, NULL },
		{ NULL, NULL, NULL }
	};
	struct sight s = { 0 };
	const char *pos[1];
	int ret, attached = -1;
	int64_t deadline;
	struct addr a;

	args_parse(c, argc, argv, opts, 1, 1, pos);
	a = arg_addr(c, pos[0], ADDR_DOM);
	if (!state)
		state = "ready";
	if (!strncmp(state, "attached=", 9))
		attached = arg_uint(c, "number of endpoints", state + 9, 0, VFAB_MAX_WORLD);
	else if (strcmp(state, "ready") && strcmp(state, "managed") && strcmp(state, "deleted"))
		usage(c, "\"%s\" is not ready, managed, attached=N or deleted", escaped(state));
	deadline = now_ms() + arg_milliseconds(c, "timeout", timeout ? timeout : DEFAULT_TIMEOUT);
	for (;;) {
		ret = look(c, &a, state, attached, &s);
		if (ret) {
			error(c, "%s", vfab_nl_error(c->nl));
			return REFUSED;
		}
		if (!*s.why)
			return DONE;
		if (now_ms() >= deadline)
			break;
		usleep(INTERVAL * 1000);
	}
	error(c, "not %s after %s s: %s", state, timeout ? timeout : DEFAULT_TIMEOUT, s.why);
	return TIMED_OUT;
}

const struct verb wait_verbs[] = {
	{ "", wait_run, WAIT_ARGS, wait_help },
	{ NULL, NULL, NULL, NULL }
};
