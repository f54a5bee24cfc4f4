// SPDX-License-Identifier: GPL-2.0
/* What a backplane is, for people and as JSON. */
#include "vfabswitchd.h"

static void print_uuid(const u8 *u)
{
	unsigned int i;

	for (i = 0; i < 16; i++)
		printf("%02x%s", u[i], i == 3 || i == 5 || i == 7 || i == 9 ? "-" : "");
}

static double seconds(uint64_t from, uint64_t to)
{
	return to > from ? (to - from) / 1e9 : 0;
}

/* What the node itself says, in the memory that all of them can write to */
static void show_slot(const struct backplane_status *s, uint32_t node, bool json)
{
	struct vfab_bp_node n;
	int ret = vf_bp_read_node(&s->bp, node, &n);
	uint64_t incarnation = le64_to_cpu(n.incarnation);

	if (ret == -ENOENT) {
		printf(json ? ",\"slot\":null" : " slot empty");
	} else if (ret) {
		printf(json ? ",\"slot\":{\"state\":\"garbled\"}" : " slot garbled");
	} else {
		printf(json ? ",\"slot\":{\"state\":\"%s\",\"incarnation\":\"%u.%u\"" :
		       " slot %s incarnation %u.%u", backplane_node_state(&n),
		       (u32)(incarnation >> 32), (u32)incarnation);
		printf(json ? ",\"cooperative\":%s,\"endpoints\":%u,\"windows\":%u}" :
		       " cooperative %s endpoints %u windows %u",
		       n.flags ? json ? "true" : "yes" : json ? "false" : "no",
		       le32_to_cpu(n.endpoints), le32_to_cpu(n.windows));
	}
}

static void show_node(const struct backplane_status *s, uint32_t node, bool json)
{
	const struct vfab_bp_peer *p = &s->answer.daemon.peer[node];

	printf(json ? "%s{\"node\":%u,\"state\":\"%s\",\"generation\":%llu" :
	       "%s    node%u: %s generation %llu", json && node ? "," : "", node,
	       backplane_peer_state(p), (unsigned long long)le64_to_cpu(p->generation));
	if (p->generation)
		printf(json ? ",\"seconds\":%.1f" : " since %.1f s",
		       seconds(le64_to_cpu(p->since), s->answer.now));
	if (p->state)
		printf(json ? ",\"peer\":%u,\"pid\":%u,\"uid\":%u" : " peer %u pid %u uid %u",
		       le32_to_cpu(p->peer), le32_to_cpu(p->pid), le32_to_cpu(p->uid));
	show_slot(s, node, json);
	puts(json ? "}" : "");
}

/**
 * show - print a backplane: the daemon, and each node
 * @dir:	NULL: the default
 * @name:	of the backplane
 * @json:	an array of one object, as vfabctl prints
 *
 * Return: exit status.
 */
int show(const char *dir, const char *name, bool json)
{
	struct backplane_status s;
	const struct vfab_bp_switch *sw = &s.answer.daemon.sw;
	char why[512];
	uint32_t i;

	if (backplane_ask(dir, name, &s, why, sizeof(why))) {
		say("%s", why);
		return EXIT_REFUSED;
	}
	printf(json ? "[{\"name\":\"%s\",\"uuid\":\"" : "%s: uuid ", s.bp.name);
	print_uuid(s.bp.uuid);
	printf(json ? "\",\"pid\":%u,\"size\":%llu,\"nodes\":%u,\"data_size\":%llu,\"vectors\":%u" :
	       " pid %u\n    size %llu nodes %u data-size %llu vectors %u", s.answer.pid,
	       (unsigned long long)s.bp.size, s.bp.nodes, (unsigned long long)s.bp.data_size,
	       s.bp.vectors);
	printf(json ? ",\"joined\":%llu,\"refused\":%llu,\"muted\":%llu,\"node\":[\n" :
	       " joined %llu refused %llu muted %llu\n",
	       (unsigned long long)le64_to_cpu(sw->joined),
	       (unsigned long long)le64_to_cpu(sw->refused),
	       (unsigned long long)le64_to_cpu(sw->muted));
	for (i = 0; i < s.bp.nodes; i++)
		show_node(&s, i, json);
	if (json)
		puts("]}]");
	backplane_status_end(&s);
	return 0;
}
