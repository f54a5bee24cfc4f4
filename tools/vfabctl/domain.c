// SPDX-License-Identifier: GPL-2.0
/* Domains: create, delete, show, set. */
#include <stdio.h>
#include <string.h>
#include <linux/vfabric_backplane.h>
#include "topo.h"
#include "vfabctl.h"

static const char *const peer_death[] = { "revoke", "keep", NULL };
const char *const manager_states[3] = { "none", "alive", "lost" };
static const char *const part_modes[] = { "default", "none", "hgx15", "per-node", NULL };

/* Who may open a device file */
void out_access(struct ctx *c, const struct vfab_nl_msg *msg)
{
	char text[16];

	snprintf(text, sizeof(text), "%04o", get32(msg, VFAB_A_MODE));
	out_str(c, "mode", "mode", text);
	out_uint(c, "uid", "uid", get(msg, VFAB_A_UID));
	out_uint(c, "gid", "gid", get(msg, VFAB_A_GID));
}

/* Only the default partition's file is sure to be there. */
static void out_device(struct ctx *c, const struct vfab_nl_msg *msg)
{
	uint32_t mode = get32(msg, VFAB_A_PARTITION_MODE);
	char text[64];

	device_path(text, get32(msg, VFAB_A_DOMAIN), 0);
	if (mode == VFAB_PARTITIONS_DEFAULT)
		out_str(c, "device", "device", text);
	else
		out_null(c, "device", NULL, NULL);
	out_str(c, "partitions", mode ? "partitions" : NULL, WORD(part_modes, mode));
}

/* A sign of life is not older than its timeout, or the kernel says lost. */
static void out_manager(struct ctx *c, const struct vfab_nl_msg *msg)
{
	uint32_t state = get32(msg, VFAB_A_MANAGER_STATE);

	out_text(c, "\n   ");
	out_str(c, "manager", "manager", WORD(manager_states, state));
	if (state == VFAB_MANAGER_NONE)
		return;
	out_quoted(c, "manager_note", "says", get_str(msg, VFAB_A_MANAGER_NOTE));
	out_uint(c, "manager_age", "age", get(msg, VFAB_A_MANAGER_AGE));
	out_text(c, " ms");
	out_uint(c, "manager_timeout", "timeout", get(msg, VFAB_A_MANAGER_TIMEOUT));
	out_text(c, " ms");
	if (has(msg, VFAB_A_MANAGER_PID))
		out_uint(c, "manager_pid", "pid", get(msg, VFAB_A_MANAGER_PID));
}

/* In the words of --place: 0:0-35,1:36-71 */
static void place_text(const struct nlattr *a, char *text, size_t len)
{
	const uint8_t *place = mnl_attr_get_payload(a);
	unsigned int i, n = mnl_attr_get_payload_len(a), first;
	size_t at = 0;

	text[0] = 0;
	for (first = 0; first < n && at < len; first = i) {
		for (i = first + 1; i < n && place[i] == place[first]; i++)
			;
		if (place[first] == VFAB_BP_NO_NODE)
			continue;
		at += snprintf(text + at, len - at, "%s%u:%u", at ? "," : "", place[first], first);
		if (i - 1 > first && at < len)
			at += snprintf(text + at, len - at, "-%u", i - 1);
	}
}

static void out_placed(struct ctx *c, const struct vfab_nl_msg *msg)
{
	char text[VFAB_MAX_WORLD * 12];

	if (!has(msg, VFAB_A_BACKPLANE) || !has(msg, VFAB_A_PLACE))
		return;
	place_text(vfab_nl_attr(msg, VFAB_A_PLACE), text, sizeof(text));
	out_text(c, "\n   ");
	out_str(c, "backplane", "backplane", get_str(msg, VFAB_A_BACKPLANE));
	out_uint(c, "owner", "owner", get(msg, VFAB_A_OWNER));
	out_str(c, "place", "place", text);
}

int show_domain(const struct vfab_nl_msg *msg, void *ctx)
{
	struct ctx *c = ctx;

	item(c, "dom%u", get32(msg, VFAB_A_DOMAIN));
	out_uint(c, "id", NULL, get(msg, VFAB_A_DOMAIN));
	out_str(c, "name", "name", get_str(msg, VFAB_A_DOMAIN_NAME));
	out_uuid(c, "uuid", "uuid", vfab_nl_attr(msg, VFAB_A_UUID));
	out_uint(c, "size", "size", get(msg, VFAB_A_WORLD));
	out_uint(c, "planes", "planes", get(msg, VFAB_A_PLANES));
	out_uint(c, "nodes", "nodes", get(msg, VFAB_A_NODES));
	out_uint(c, "attached", "attached", get(msg, VFAB_A_ATTACHED));
	out_device(c, msg);
	out_text(c, "\n   ");
	if (has(msg, VFAB_A_PROFILE))
		out_str(c, "profile", "profile", get_str(msg, VFAB_A_PROFILE));
	out_uint(c, "switches", "switches", get(msg, VFAB_A_SWITCHES));
	out_uint(c, "links", "links", get(msg, VFAB_A_LINK_COUNT));
	if (has(msg, VFAB_A_RATE)) {
		out_rate(c, "rate", "rate", get(msg, VFAB_A_RATE));
		out_latency(c, "latency", "latency", get(msg, VFAB_A_LATENCY));
	}
	out_text(c, "\n   ");
	out_access(c, msg);
	out_str(c, "peer_death", "peer-death",
		WORD(peer_death, get32(msg, VFAB_A_PEER_DEATH)));
	out_uint(c, "retry_timeout", "retry-timeout", get(msg, VFAB_A_RETRY_TIMEOUT));
	out_text(c, " ms");
	out_str(c, "shape", "shape", get(msg, VFAB_A_SHAPE) ? "on" : "off");
	out_uint(c, "shape_scale", get(msg, VFAB_A_SHAPE) ? "scale" : NULL,
		 get(msg, VFAB_A_SHAPE_SCALE));
	out_text(c, "\n   ");
	out_bytes(c, "mem_used", "mem-used", get(msg, VFAB_A_MEM_USED));
	out_limit(c, "mem_limit", "mem-limit", get(msg, VFAB_A_MEM_LIMIT));
	out_uint(c, "generation", "generation", get(msg, VFAB_A_GENERATION));
	out_placed(c, msg);
	out_manager(c, msg);
	item_end(c);
	return 0;
}

static int show(struct ctx *c, int argc, char **argv)
{
	return show_objects(c, argc, argv, VFAB_CMD_DOMAIN_GET, ADDR_DOM, 0, show_domain);
}

/* Options of create and of set */
struct policy {
	const char *peer_death, *retry, *limit;
	int death, retry_ms;
	uint64_t bytes;
};

static void policy_check(struct ctx *c, struct policy *p)
{
	if (p->peer_death)
		p->death = arg_word(c, "peer death policy", p->peer_death, peer_death);
	if (p->retry)
		p->retry_ms = arg_uint(c, "retry timeout", p->retry, 0, 60000);
	if (p->limit)
		p->bytes = arg_bytes(c, "memory limit", p->limit);
}

static void policy_put(struct nlmsghdr *req, const struct policy *p)
{
	if (p->peer_death)
		mnl_attr_put_u32(req, VFAB_A_PEER_DEATH, p->death);
	if (p->retry)
		mnl_attr_put_u32(req, VFAB_A_RETRY_TIMEOUT, p->retry_ms);
	if (p->limit)
		mnl_attr_put_u64(req, VFAB_A_MEM_LIMIT, p->bytes);
}

/* Links of an attribute, of which 64 KiB is the most */
#define LINKS_AT_ONCE	3000

static int put_links(struct ctx *c, const struct topo *t)
{
	static struct vfab_link_spec spec[LINKS_AT_ONCE];
	uint32_t i, n = 0;
	struct nlmsghdr *req;

	req = vfab_nl_reserve(c->nl, (size_t)t->nlinks * sizeof(*spec) +
			      (t->nlinks / LINKS_AT_ONCE + 2) * NLA_HDRLEN);
	if (!req) {
		error(c, "%s", vfab_nl_error(c->nl));
		return REFUSED;
	}
	for (i = 0; i < t->nlinks; i++) {
		const struct topo_link *l = &t->links[i];

		spec[n++] = (struct vfab_link_spec){
			.node = { l->a, l->b }, .port = { l->a_port, l->b_port },
			.width = l->width, .rate = l->rate, .latency = l->latency,
		};
		if (n < LINKS_AT_ONCE && i + 1 < t->nlinks)
			continue;
		mnl_attr_put(req, VFAB_A_LINKS, n * sizeof(*spec), spec);
		n = 0;
	}
	if (!t->nlinks)
		mnl_attr_put(req, VFAB_A_LINKS, 0, NULL);
	put_u32(req, VFAB_A_WORLD, t->world);
	put_u32(req, VFAB_A_SWITCHES, t->switches);
	if (t->forwarding)
		mnl_attr_put(req, VFAB_A_FORWARDING, 0, NULL);
	if (*t->name)
		mnl_attr_put_strz(req, VFAB_A_PROFILE, t->name);
	return DONE;
}

/* What the domain begins with, as a file says */
static int part_mode_of(const struct topo *t)
{
	switch (t->partitions) {
	case TOPO_PART_ONE:
		break;
	case TOPO_PART_PER_NODE:
		return VFAB_PARTITIONS_PER_NODE;
	case TOPO_PART_NONE:
		return VFAB_PARTITIONS_NONE;
	case TOPO_PART_HGX15:
		return VFAB_PARTITIONS_HGX15;
	}
	return VFAB_PARTITIONS_DEFAULT;
}

/* What a profile or a file says, with what --set and --size change of it. */
static void load_topology(struct ctx *c, const char *profile, const char *file,
			  char **sets, const char *size, struct topo *t)
{
	char err[TOPO_ERR_LEN], world[32];
	unsigned int n;
	int ret;

	if (size) {
		snprintf(world, sizeof(world), "world=%llu", (unsigned long long)
			 arg_uint(c, "world size", size, 1, VFAB_MAX_WORLD));
		for (n = 0; sets[n]; n++)
			;
		if (n == MAX_SETS)
			usage(c, "--set is given more than %u times", MAX_SETS - 1);
		sets[n] = world;
		sets[n + 1] = NULL;
	}
	ret = profile ? topo_load_profile(profile, sets, t, err, sizeof(err)) :
	      topo_load_file(file, sets, t, err, sizeof(err));
	if (ret)
		usage(c, "%s", err);
}

static int create(struct ctx *c, int argc, char **argv)
{
	const char *size = NULL, *planes = NULL, *uuid = NULL, *mode = NULL;
	const char *name = NULL, *user = NULL, *group = NULL, *rate = NULL, *latency = NULL;
	const char *profile = NULL, *file = NULL, *nodes = NULL, *parts = NULL;
	const char *backplane = NULL, *place = NULL;
	int64_t v_size = -1, v_planes = -1, v_mode = -1, v_user = -1, v_group = -1;
	int64_t v_rate = -1, v_latency = -1, v_nodes = -1, v_parts = -1;
	struct policy policy = { 0 };
	struct topo topo = { .world = 0 };
	uint8_t v_place[VFAB_MAX_WORLD];
	char *sets[MAX_SETS + 1];
	const struct opt opts[] = {
		{ "name", &name, NULL },
		{ "size", &size, NULL },
		{ "profile", &profile, NULL },
		{ "topology", &file, NULL },
		{ "planes", &planes, NULL },
		{ "nodes", &nodes, NULL },
		{ "backplane", &backplane, NULL },
		{ "place", &place, NULL },
		{ "partitions", &parts, NULL },
		{ "uuid", &uuid, NULL },
		{ "mode", &mode, NULL },
		{ "user", &user, NULL },
		{ "group", &group, NULL },
		{ "peer-death", &policy.peer_death, NULL },
		{ "retry-timeout", &policy.retry, NULL },
		{ "mem-limit", &policy.limit, NULL },
		{ "rate", &rate, NULL },
		{ "latency", &latency, NULL },
		{ NULL, NULL, NULL }
	};
	struct nlmsghdr *req;
	uint8_t v_uuid[16];
	const char *pos[1];
	uint64_t id;
	int ret;

	argc = args_sets(c, argc, argv, sets);
	args_parse(c, argc, argv, opts, 0, 1, pos);
	if (name && pos[0])
		usage(c, "the name is given twice");
	if (pos[0])
		name = pos[0];
	if (name) {
		arg_name(c, "name", name);
		about(c, "domain \"%s\"", name);
		if (is_domain_id(name, strlen(name), &id))
			usage(c, "such names are kept for domain ids: choose another or none");
	} else {
		about(c, "new domain");
	}
	if (profile && is_path(profile))
		usage(c, "--profile takes a name: give --topology %s for a file", escaped(profile));
	if (profile && file)
		usage(c, "give --profile or --topology, not both");
	if ((profile || file) && (planes || rate || latency))
		usage(c, "--planes, --rate and --latency go without a profile: change it by --set");
	if (*sets && !profile && !file)
		usage(c, "--set goes with --profile or --topology");
	if (!size && !profile && !file)
		usage(c, "say how many endpoints, --size 1 to %u, or give --profile or --topology",
		      VFAB_MAX_WORLD);
	if (backplane)
		arg_name(c, "backplane", backplane);
	if (!backplane != !place)
		usage(c, "--backplane and --place go together: give --place 0:0-35,1:36-71");
	if (backplane && nodes)
		usage(c, "--nodes goes without --backplane: --place says which nodes there are");
	if (size)
		v_size = arg_uint(c, "world size", size, 1, VFAB_MAX_WORLD);
	if (planes)
		v_planes = arg_uint(c, "number of planes", planes, 1, VFAB_MAX_PLANES);
	if (nodes)
		v_nodes = arg_uint(c, "number of nodes", nodes, 1, VFAB_MAX_WORLD);
	if (parts)
		v_parts = arg_word(c, "kind of partitions", parts, part_modes);
	if (uuid)
		arg_uuid(c, uuid, v_uuid);
	if (mode)
		v_mode = arg_mode(c, mode);
	if (user)
		v_user = arg_user(c, user);
	if (group)
		v_group = arg_group(c, group);
	if (rate)
		v_rate = arg_uint(c, "rate", rate, 1, UINT32_MAX);
	if (latency)
		v_latency = arg_uint(c, "latency", latency, 0, UINT32_MAX);
	policy_check(c, &policy);
	if (profile || file)
		load_topology(c, profile, file, sets, size, &topo);
	if (place)
		arg_place(c, place, topo.world ? topo.world : v_size, v_place);
	if (topo.nodes && !nodes && !backplane)
		v_nodes = topo.nodes;
	if (topo.world && !parts)
		v_parts = part_mode_of(&topo);

	req = request(c, VFAB_CMD_DOMAIN_CREATE, NULL);
	if (name)
		mnl_attr_put_strz(req, VFAB_A_DOMAIN_NAME, name);
	if (uuid)
		mnl_attr_put(req, VFAB_A_UUID, sizeof(v_uuid), v_uuid);
	if (!topo.world)
		put_u32(req, VFAB_A_WORLD, v_size);
	put_u32(req, VFAB_A_PLANES, v_planes);
	put_u32(req, VFAB_A_NODES, v_nodes);
	put_u32(req, VFAB_A_PARTITION_MODE, v_parts);
	put_u32(req, VFAB_A_MODE, v_mode);
	put_u32(req, VFAB_A_UID, v_user);
	put_u32(req, VFAB_A_GID, v_group);
	put_u32(req, VFAB_A_RATE, v_rate);
	put_u32(req, VFAB_A_LATENCY, v_latency);
	policy_put(req, &policy);
	if (backplane) {
		mnl_attr_put_strz(req, VFAB_A_BACKPLANE, backplane);
		mnl_attr_put(req, VFAB_A_PLACE, topo.world ? topo.world : v_size, v_place);
	}
	if (topo.world) {
		ret = put_links(c, &topo);
		topo_free(&topo);
		if (ret)
			return ret;
	}
	return ask(c, show_domain, c);
}

static int delete(struct ctx *c, int argc, char **argv)
{
	return delete_forced(c, argc, argv, VFAB_CMD_DOMAIN_DELETE, ADDR_DOM);
}

static int set(struct ctx *c, int argc, char **argv)
{
	static const char *const states[] = { "off", "on", NULL };
	const char *shape = NULL, *scale = NULL, *pos[1];
	int64_t v_shape = -1, v_scale = -1;
	struct nlmsghdr *req;
	struct policy policy = { 0 };
	const struct opt opts[] = {
		{ "shape", &shape, NULL },
		{ "scale", &scale, NULL },
		{ "peer-death", &policy.peer_death, NULL },
		{ "retry-timeout", &policy.retry, NULL },
		{ "mem-limit", &policy.limit, NULL },
		{ NULL, NULL, NULL }
	};
	struct addr a;

	args_words(opts, 1, argc, argv);
	args_parse(c, argc, argv, opts, 1, 1, pos);
	a = arg_addr(c, pos[0], ADDR_DOM);
	if (!policy.peer_death && !policy.retry && !policy.limit && !shape && !scale)
		usage(c, "nothing to set: give shape, peer-death, retry-timeout or mem-limit");
	policy_check(c, &policy);
	if (shape)
		v_shape = arg_word(c, "shape", shape, states);
	if (scale)
		v_scale = arg_uint(c, "scale", scale, 1, 1000000);
	req = request(c, VFAB_CMD_DOMAIN_SET, &a);
	policy_put(req, &policy);
	if (shape)
		mnl_attr_put_u8(req, VFAB_A_SHAPE, v_shape);
	put_u32(req, VFAB_A_SHAPE_SCALE, v_scale);
	return ask(c, NULL, NULL);
}

const struct verb domain_verbs[] = {
	{ "create add", create,
	  "[NAME] {--size N | --profile P | --topology FILE} [OPTIONS]",
	  "Create a domain of N endpoints (1 to 1024), or as a profile or a file says\n"
	  "('vfabctl profile list'), with all links up and one partition that holds every\n"
	  "endpoint, and print it.\n"
	  "\n"
	  "  --name NAME          the same as NAME: a letter or digit, and up to 31 more,\n"
	  "                       '_', '.' or '-' (domN)\n"
	  "  --profile P          such as gb200-nvl72 or torus:4x4x4\n"
	  "  --topology FILE      see vfabric-topology(5)\n"
	  "  --set KEY=N          change a parameter of either; may be repeated\n"
	  "  --planes P           switches, and ports of each endpoint: 1 to 64 (18)\n"
	  "  --nodes N            nodes that share the endpoints evenly, in order: a divisor\n"
	  "                       of the size (1)\n"
	  "  --backplane B        share it with the other VMs of a backplane, see 'vfabctl\n"
	  "                       backplane show'; goes with --place\n"
	  "  --place N:RANKS,...  which of them may attach which ranks: 0:0-35,1:36-71\n"
	  "  --partitions KIND    default: one of all endpoints; none: endpoints are in none\n"
	  "                       until one is created; per-node: partition k has those of node\n"
	  "                       k; hgx15: the 15 fixed ones of a board of 8 GPUs, see 'vfabctl\n"
	  "                       partition activate'\n"
	  "  --rate MBPS          of a link, 10^6 bytes per second and direction (50000)\n"
	  "  --latency NS         of a path, one way, in nanoseconds (700)\n"
	  "  --uuid UUID          random if it is not given\n"
	  "  --mode MODE          of the device files, octal (0600)\n"
	  "  --user USER          owner of the device files, name or number (0)\n"
	  "  --group GROUP        the same for the group (0)\n"
	  "  --peer-death POLICY  what becomes of the windows of an endpoint that ended:\n"
	  "                       revoke them (default), or keep them for their importers\n"
	  "  --retry-timeout MS   how long accesses wait for a lost route: 0 to 60000 (0)\n"
	  "  --mem-limit BYTES    of all windows together, such as 512M; 0: no limit\n"
	  "                       (half of the memory)" },
	{ "delete del", delete, "D [--force]",
	  "Delete a domain.\n"
	  "\n"
	  "  --force  although endpoints are attached: they are ended first" },
	{ "show list ls", show, "[D]",
	  "Show one domain, or all." },
	{ "set", set,
	  "D [shape on|off] [scale N] [OPTIONS]",
	  "Change a domain: all that is given, or nothing. The options are --peer-death,\n"
	  "--retry-timeout and --mem-limit, as of create; each may be written without the\n"
	  "dashes, and shape and scale with them.\n"
	  "\n"
	  "  shape on   copies, collectives and doorbells of libvfab take the time that\n"
	  "             rates and latencies of their routes ask for; what a program loads\n"
	  "             and stores by itself stays as fast as memory\n"
	  "  shape off  they do not (default)\n"
	  "  scale N    with shape, N times that time, so that a small machine holds the\n"
	  "             ratios: 1 to 1000000 (1)" },
	{ "wait", wait_run, WAIT_ARGS, wait_help },
	{ NULL, NULL, NULL, NULL }
};
