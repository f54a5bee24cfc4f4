// SPDX-License-Identifier: GPL-2.0
/*
 * monitor: says which endpoints need somebody to look at them. By example:
 *
 *	./monitor rack & vfabctl link set rack/ep5/p3 down; sleep 1; kill $!
 *	alarm rank 5: degraded bandwidth (mask 0xa9)
 *
 * It does right what monitor-wrong does wrong. The health mask has two bits for
 * each field: 0 not supported, 1 true, 2 false; 0xaa, all false, is the mask of a
 * healthy endpoint, and one that is not supported is no alarm but "not applicable".
 * IN_PROGRESS is "not ready", which is an alarm only if it does not end. A manager
 * that is gone is an alarm although each endpoint still says that it is well.
 *
 * It looks every 50 ms, prints what changes, and ends when told to (SIGTERM); with
 * --once after the first look.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_RANKS	1024
#define SAID		128

static volatile sig_atomic_t ended;
static char said[MAX_RANKS + 1][SAID];	/* of each rank; the last: of the manager */

static void end(int sig)
{
	(void)sig;
	ended = 1;
}

/* The value behind @key in the object that begins at @from, without quotes */
static const char *value(const char *from, const char *to, const char *key, char v[64])
{
	const char *p = strstr(from, key);

	*v = 0;
	if (p && p < to) {
		p += strlen(key);
		p += *p == '"';
		snprintf(v, 64, "%.*s", (int)strcspn(p, "\",}"), p);
	}
	return v;
}

static void judge(unsigned long rank, const char *from, const char *to, char text[SAID])
{
	static const char *const fields[] = {
		"degraded bandwidth", "route recovery", "route unhealthy",
		"access timeout recovery",
	};
	unsigned long mask;
	unsigned int i;
	char v[64];

	*text = 0;
	if (!strcmp(value(from, to, "\"state\":", v), "NOT_SUPPORTED")) {
		snprintf(text, SAID, "not applicable rank %lu: NOT_SUPPORTED", rank);
		return;
	}
	if (strcmp(v, "COMPLETED")) {
		snprintf(text, SAID, "not ready rank %lu: %s", rank, v);
		return;
	}
	if (strcmp(value(from, to, "\"status\":", v), "SUCCESS")) {
		snprintf(text, SAID, "alarm rank %lu: status %s", rank, v);
		return;
	}
	mask = strtoul(value(from, to, "\"healthMask\":", v), NULL, 10);
	for (i = 0; i < 4; i++)
		if ((mask >> 2 * i & 3) == 1)
			snprintf(text, SAID, "alarm rank %lu: %s (mask 0x%lx)", rank, fields[i],
				 mask);
}

/* Print what was not so at the last look. */
static void tell(unsigned int i, const char *text)
{
	if (!strcmp(said[i], text))
		return;
	if (*text)
		puts(text);
	else if (i < MAX_RANKS)
		printf("clear rank %u\n", i);
	else
		puts("clear: the fabric has a manager again");
	strcpy(said[i], text);
}

static bool read_json(const char *what, const char *domain, char *json, size_t size)
{
	char command[128];
	FILE *from;

	snprintf(command, sizeof(command), "vfabctl -j %s show %s", what, domain);
	from = popen(command, "r");
	if (!from)
		return false;
	json[fread(json, 1, size - 1, from)] = 0;
	return !pclose(from);
}

static bool look(const char *domain)
{
	static char json[1 << 20];
	const char *p = json, *to;
	char text[SAID], v[64];
	unsigned long rank;

	if (!read_json("endpoint", domain, json, sizeof(json)))
		return false;
	while ((p = strstr(p, "{\"address\":"))) {
		to = strstr(p + 1, "{\"address\":");
		if (!to)
			to = p + strlen(p);
		rank = strtoul(value(p, to, "\"rank\":", v), NULL, 10) % MAX_RANKS;
		judge(rank, p, to, text);
		tell(rank, text);
		p = to;
	}
	if (!read_json("domain", domain, json, sizeof(json)))
		return false;
	value(json, json + strlen(json), "\"manager\":", v);
	tell(MAX_RANKS, strcmp(v, "lost") ? "" : "alarm: the fabric's manager is lost");
	return true;
}

int main(int argc, char **argv)
{
	bool once = argc > 2 && !strcmp(argv[2], "--once");
	unsigned long looks = 0;

	if (argc < 2 || argv[1][0] == '-') {
		fputs("usage: monitor DOMAIN [--once]\n", stderr);
		return 2;
	}
	signal(SIGTERM, end);
	setvbuf(stdout, NULL, _IOLBF, 0);
	do {
		/* A signal while vfabctl runs is the end, no failure */
		if (!look(argv[1]) && !ended)
			return 2;
		if (!looks++)
			puts("ready");
		if (!once)
			usleep(50000);
	} while (!ended && !once);
	printf("looks %lu\n", looks);
	return 0;
}
