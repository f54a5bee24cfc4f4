// SPDX-License-Identifier: GPL-2.0
/*
 * monitor-wrong: cries wolf, and is silent when it matters. By example:
 *
 *	vfabctl scenario run health-monitor --under-test sh -c 'monitor-wrong $VFAB_DOMAIN'
 *
 * What is wrong with it: it takes the health mask for flags, of which any that is
 * set is an alarm, so that 0xaa (each field says "false", all is well) is one for
 * every healthy endpoint, and 0 (nothing is supported) is none. It does not look
 * at the state, and never at the manager. monitor does it right.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void end(int sig)
{
	(void)sig;
	ended = 1;
}

int main(int argc, char **argv)
{
	char command[128], *line = NULL;
	unsigned int rank, mask;
	size_t room = 0;
	const char *p;
	FILE *from;

	if (argc < 2)
		return 2;
	signal(SIGTERM, end);
	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(command, sizeof(command), "vfabctl -j endpoint show %s", argv[1]);
	while (!ended) {
		from = popen(command, "r");
		if (!from || getline(&line, &room, from) < 0)
			break;
		pclose(from);
		for (p = line; (p = strstr(p, "\"rank\":")); p++) {
			const char *m = strstr(p, "\"healthMask\":");

			if (sscanf(p, "\"rank\":%u", &rank) == 1 && m &&
			    sscanf(m, "\"healthMask\":%u", &mask) == 1 && mask)
				printf("alarm rank %u: mask 0x%x\n", rank, mask);
		}
		puts("ready");
		if (argc > 2)
			break;
		usleep(50000);
	}
	free(line);
	return 0;
}
