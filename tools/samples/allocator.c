// SPDX-License-Identifier: GPL-2.0
/*
 * allocator: which endpoints may a job be placed on together? By example:
 *
 *	./allocator rack1 rack2
 *	group 40806e3e-fbf1-4960-916a-5691abd4f63c.0 size 72
 *	refused dom1/ep5: state IN_PROGRESS
 *	groups 1 largest 72
 *
 * It does right what allocator-wrong does wrong. Endpoints that reach one another
 * have the same cluster UUID and the same clique: a clique's number alone says
 * nothing, other racks use it too. An endpoint is offered only if it has
 * completed, its status is SUCCESS, its health is not UNHEALTHY and its UUID is
 * one: each of these has been seen to say "fine" while another one did not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GROUPS 64

static struct group {
	char name[64];
	unsigned int size;
} groups[MAX_GROUPS];
static unsigned int ngroups;

/* The value behind @key in the object that begins at @from, without quotes */
static const char *value(const char *from, const char *end, const char *key, char to[64])
{
	const char *p = strstr(from, key);
	size_t len;

	*to = 0;
	if (!p || p >= end)
		return to;
	p += strlen(key);
	p += *p == '"';
	len = strcspn(p, "\",}");
	snprintf(to, 64, "%.*s", (int)len, p);
	return to;
}

static const char *why_not(const char *from, const char *end, char text[96])
{
	char v[64];

	if (strcmp(value(from, end, "\"state\":", v), "COMPLETED"))
		snprintf(text, 96, "state %s", v);
	else if (strcmp(value(from, end, "\"status\":", v), "SUCCESS"))
		snprintf(text, 96, "status %s", v);
	else if (!strcmp(value(from, end, "\"healthSummary\":", v), "UNHEALTHY"))
		snprintf(text, 96, "health %s", v);
	else if (strspn(value(from, end, "\"clusterUuid\":", v), "0-") == strlen(v))
		snprintf(text, 96, "cluster UUID %s", *v ? v : "missing");
	else
		return NULL;
	return text;
}

static void add(const char *uuid, const char *clique)
{
	char name[64];
	unsigned int i;

	snprintf(name, sizeof(name), "%.40s.%.20s", uuid, clique);
	for (i = 0; i < ngroups && strcmp(groups[i].name, name); i++)
		;
	if (i == MAX_GROUPS)
		return;
	if (i == ngroups)
		strcpy(groups[ngroups++].name, name);
	groups[i].size++;
}

static void look(const char *json)
{
	char address[64], uuid[64], clique[64], text[96];
	const char *p = json, *end;

	while ((p = strstr(p, "{\"address\":"))) {
		end = strstr(p + 1, "{\"address\":");
		if (!end)
			end = p + strlen(p);
		value(p, end, "\"address\":", address);
		if (why_not(p, end, text))
			printf("refused %s: %s\n", address, text);
		else
			add(value(p, end, "\"clusterUuid\":", uuid),
			    value(p, end, "\"cliqueId\":", clique));
		p = end;
	}
}

int main(int argc, char **argv)
{
	static char json[1 << 20];
	unsigned int i, largest = 0;
	char command[128];
	FILE *from;
	int a;

	if (argc < 2 || argv[1][0] == '-') {
		fputs("usage: allocator DOMAIN...\n", stderr);
		return 2;
	}
	for (a = 1; a < argc; a++) {
		snprintf(command, sizeof(command), "vfabctl -j endpoint show %s", argv[a]);
		from = popen(command, "r");
		if (!from)
			return 2;
		json[fread(json, 1, sizeof(json) - 1, from)] = 0;
		if (pclose(from))
			return 2;
		look(json);
	}
	for (i = 0; i < ngroups; i++) {
		printf("group %s size %u\n", groups[i].name, groups[i].size);
		if (groups[i].size > largest)
			largest = groups[i].size;
	}
	printf("groups %u largest %u\n", ngroups, largest);
	return 0;
}
