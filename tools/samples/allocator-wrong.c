// SPDX-License-Identifier: GPL-2.0
/*
 * allocator-wrong: places jobs by a clique's number. By example:
 *
 *	vfabctl scenario run same-clique --under-test sh -c 'allocator-wrong $DOMAINS'
 *
 * What is wrong with it: it takes endpoints of the same clique number for one
 * group, whatever cluster they are in, so that two racks with the same number
 * become one domain of twice the size, over which a job hangs; and it takes
 * "COMPLETED" for "usable", without a look at status, health and UUID. allocator
 * does it right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CLIQUE 65536

int main(int argc, char **argv)
{
	static unsigned int size[MAX_CLIQUE];
	unsigned int clique, groups = 0, largest = 0;
	char command[128], *line = NULL;
	size_t room = 0;
	const char *p;
	FILE *from;
	int a;

	for (a = 1; a < argc; a++) {
		snprintf(command, sizeof(command), "vfabctl -j endpoint show %s", argv[a]);
		from = popen(command, "r");
		if (!from || getline(&line, &room, from) < 0)
			return 2;
		pclose(from);
		for (p = line; (p = strstr(p, "\"cliqueId\":")); p++)
			if (sscanf(p, "\"cliqueId\":%u", &clique) == 1 &&
			    clique < MAX_CLIQUE)
				size[clique]++;
	}
	for (clique = 0; clique < MAX_CLIQUE; clique++) {
		if (!size[clique])
			continue;
		printf("group clique %u size %u\n", clique, size[clique]);
		groups++;
		if (size[clique] > largest)
			largest = size[clique];
	}
	printf("groups %u largest %u\n", groups, largest);
	free(line);
	return 0;
}
