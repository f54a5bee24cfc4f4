// SPDX-License-Identifier: LGPL-2.1
/*
 * A node that owns a domain, and what it says of endpoints may be so or not: for tests of
 * the module, and of cooperative nodes that have none. By example:
 *
 *	bpowner /run/vfabric/rack/node0 job 1:0,2:1-2	three ranks on two other nodes
 *	bpowner /run/vfabric/rack/node0 job 1:0 wide	of more ports than any node mirrors
 *
 * The domain is a crossbar of two planes; wide: and a chain of switches that has hardly
 * any links, but at the highest ports there are. Says "ready", and then does what lines on
 * its standard input say, each answered by "done" when all nodes have followed:
 *
 *	link RANK PLANE up|down		a link of a rank's
 *	entry PLANE RANK up|down	a switch's entry for a rank
 *	member RANK PARTITION		moves it; -1: into none
 *	garble				an entry and links that make no sense
 *	blink				the domain has no record, and then has it again
 *	hold NODE INDEX RANK		an endpoint of the domain of that record, for good
 *	delete				the domain, and ends
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/coop.h"

#define PLANES	2
#define WIDE	1024

static struct coop_node *n;
static struct vfab_bp_domain dom;
static uint32_t seq, world, switches = PLANES;
static bool down[PLANES][VFAB_MAX_WORLD], dropped[PLANES][VFAB_MAX_WORLD], garbled;
static uint32_t member[VFAB_MAX_WORLD];

static void *take(uint32_t blob, uint64_t bytes)
{
	uint64_t offset, whole = (bytes + COOP_PAGE - 1) & ~(uint64_t)(COOP_PAGE - 1);

	if (coop_take(n, whole, &offset)) {
		fprintf(stderr, "bpowner: no room\n");
		exit(2);
	}
	dom.blob[blob].offset = cpu_to_le64(offset);
	dom.blob[blob].bytes = cpu_to_le64(bytes);
	dom.blob[blob].generation = dom.changes;
	return (char *)n->bp.base + offset;
}

/* As of the next change: what was before is still read */
static void give(uint32_t blob, uint64_t change)
{
	uint64_t bytes = le64_to_cpu(dom.blob[blob].bytes);

	if (bytes)
		coop_give(n, le64_to_cpu(dom.blob[blob].offset),
			  (bytes + COOP_PAGE - 1) & ~(uint64_t)(COOP_PAGE - 1), change);
}

static uint32_t links(void)
{
	return world * PLANES + (switches > PLANES ? switches - 1 : 0);
}

static void fill_link(struct vfab_link_spec *l, uint32_t a, uint32_t port_a, uint32_t b,
		      uint32_t port_b)
{
	memset(l, 0, sizeof(*l));
	l->node[0] = htole16(a);
	l->port[0] = htole16(port_a);
	l->node[1] = htole16(b);
	l->port[1] = htole16(port_b);
	l->rate = cpu_to_le32(1000);
	l->latency = cpu_to_le32(100);
}

static void fill_links(void)
{
	struct vfab_link_spec *l = take(VFAB_BP_BLOB_LINKS, links() * sizeof(*l));
	uint32_t r, p;

	for (r = 0; r < world; r++)
		for (p = 0; p < PLANES; p++)
			fill_link(l++, r, p, VFAB_SPEC_SWITCH | p, r);
	for (p = 1; switches > PLANES && p < switches; p++)
		fill_link(l++, VFAB_SPEC_SWITCH | (p - 1), 4095, VFAB_SPEC_SWITCH | p, 4094);
}

static void fill_changing(void)
{
	struct vfab_bp_entry *e = take(VFAB_BP_BLOB_ENTRIES, switches * world * sizeof(*e));
	struct vfab_bp_link *l = take(VFAB_BP_BLOB_STATES, links() * sizeof(*l) + switches);
	__le32 *m = take(VFAB_BP_BLOB_MEMBERS, world * sizeof(*m));
	uint32_t i, r, p;

	for (p = 0; p < switches; p++)
		for (r = 0; r < world; r++, e++) {
			e->mask = cpu_to_le64(p < PLANES && !dropped[p][r]);
			e->base = cpu_to_le32(garbled ? 77777 : r);
		}
	for (i = 0; i < links(); i++, l++) {
		r = i / PLANES;
		l->rate = cpu_to_le32(garbled ? 0 : 1000);
		l->latency = cpu_to_le32(100);
		l->admin = r < world && down[i % PLANES][r] ? VFAB_BP_LINK_DOWN : VFAB_BP_LINK_UP;
	}
	memset(l, 1, switches);
	for (r = 0; r < world; r++)
		m[r] = cpu_to_le32(member[r]);
}

/* Under the lock; returns when all have followed, or were expelled. */
static void publish(void)
{
	struct vfab_bp_domain old = dom;
	uint64_t change;
	uint32_t i;

	dom.changes = cpu_to_le64(le64_to_cpu(dom.changes) + 1);
	fill_changing();
	vf_bp_write(&vf_bp_slot(&n->bp, n->self)->domain[0], &dom, sizeof(dom), &seq);
	change = coop_changed(n, true);
	for (i = VFAB_BP_BLOB_ENTRIES; i <= VFAB_BP_BLOB_MEMBERS; i++) {
		struct vfab_bp_blob now = dom.blob[i];

		dom.blob[i] = old.blob[i];
		give(i, change);
		dom.blob[i] = now;
	}
	coop_followed(n, change);
}

static void place(char *text)
{
	char *word;

	memset(dom.place, VFAB_BP_NO_NODE, sizeof(dom.place));
	while ((word = strsep(&text, ","))) {
		unsigned int node, first, last;
		int got = sscanf(word, "%u:%u-%u", &node, &first, &last);

		if (got < 2 || node >= VFAB_BP_MAX_NODES || first >= VFAB_MAX_WORLD ||
		    (got == 3 && last >= VFAB_MAX_WORLD)) {
			fprintf(stderr, "bpowner: place %s\n", word);
			exit(2);
		}
		for (last = got == 3 ? last : first; first <= last; first++) {
			dom.place[first] = node;
			world = first + 1 > world ? first + 1 : world;
		}
	}
}

static void vanish(void)
{
	const struct vfab_bp_domain none = { 0 };

	vf_bp_write(&vf_bp_slot(&n->bp, n->self)->domain[0], &none, sizeof(none), &seq);
	coop_followed(n, coop_changed(n, true));
}

/* Nobody is attached: there is a record, which is never taken back. */
static void hold(uint32_t node, uint32_t index, uint32_t rank)
{
	const struct vfab_bp_domain *d = &vf_bp_slot(&n->bp, node)->domain[index];
	struct vfab_bp_endpoint e = {
		.state = cpu_to_le32(VFAB_BP_ENDPOINT_HELD),
		.domain = cpu_to_le32(VFAB_BP_DOMAIN_ID(node, index)),
		.rank = cpu_to_le32(rank),
		.domain_generation = d->generation,
		.generation = cpu_to_le64(1),
		.channel = cpu_to_le32(VFAB_CHANNEL_NONE),
	};
	static uint32_t held;
	uint64_t bell;

	if (coop_take(n, 2 * COOP_PAGE, &bell)) {
		fprintf(stderr, "bpowner: no room\n");
		exit(2);
	}
	e.bell = cpu_to_le64(bell);
	vf_bp_write(&vf_bp_slot(&n->bp, n->self)->endpoint[held], &e, sizeof(e),
		    &n->endpoint_seq[held]);
	held++;
	coop_followed(n, coop_changed(n, false));
}

static bool obey(const char *line)
{
	unsigned int a, b, rank;
	char word[8];
	int part;

	if (sscanf(line, "link %u %u %7s", &a, &b, word) == 3 && a < world && b < PLANES)
		down[b][a] = !strcmp(word, "down");
	else if (sscanf(line, "entry %u %u %7s", &a, &b, word) == 3 && a < PLANES && b < world)
		dropped[a][b] = !strcmp(word, "down");
	else if (sscanf(line, "member %u %d", &a, &part) == 2 && a < world)
		member[a] = part;
	else if (!strncmp(line, "garble", 6))
		garbled = true;
	else if (sscanf(line, "hold %u %u %u", &a, &b, &rank) == 3 && a < VFAB_BP_MAX_NODES &&
		 b < VFAB_BP_DOMAINS)
		hold(a, b, rank);
	else if (!strncmp(line, "blink", 5) || !strncmp(line, "delete", 6))
		vanish();
	if (!strncmp(line, "delete", 6))
		return false;
	publish();
	return true;
}

int main(int argc, char **argv)
{
	bool more = true;
	char line[64];

	if (argc < 4) {
		fprintf(stderr, "bpowner: say SOCKET NAME PLACE [wide]\n");
		return 2;
	}
	if (argv[4])
		switches = WIDE;
	if (coop_join(&n, argv[1])) {
		fprintf(stderr, "bpowner: %s\n", vfab_strerror(0));
		return 2;
	}
	pthread_mutex_lock(&n->lock);
	dom.state = cpu_to_le32(VFAB_BP_DOMAIN_LIVE);
	dom.generation = cpu_to_le64(7);
	memset(dom.uuid, 0x55, sizeof(dom.uuid));
	snprintf(dom.name, sizeof(dom.name), "%s", argv[2]);
	place(argv[3]);
	dom.world = cpu_to_le32(world);
	dom.planes = cpu_to_le32(PLANES);
	dom.switches = cpu_to_le32(switches);
	seq = le32_to_cpu(vf_bp_slot(&n->bp, n->self)->domain[0].seq);
	fill_links();
	publish();
	puts("ready");
	fflush(stdout);
	while (more) {
		pthread_mutex_unlock(&n->lock);
		if (!fgets(line, sizeof(line), stdin))
			return 0;
		pthread_mutex_lock(&n->lock);
		more = obey(line);
		puts("done");
		fflush(stdout);
	}
	pthread_mutex_unlock(&n->lock);
	coop_leave(n);
	return 0;
}
