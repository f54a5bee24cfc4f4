// SPDX-License-Identifier: GPL-2.0
/* Which ranks a job has, and which of them are this node's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "vfab_nl.h"
#include "vfabrun.h"

static uint32_t member[VFAB_MAX_WORLD];

static int add_members(const struct vfab_nl_msg *msg, void *count)
{
	const struct nlattr *bitmap = vfab_nl_attr(msg, VFAB_A_MEMBERS);
	const uint8_t *bits = bitmap ? mnl_attr_get_payload(bitmap) : NULL;
	uint32_t n = bitmap ? 8 * mnl_attr_get_payload_len(bitmap) : 0, i;

	for (i = 0; i < n && i < VFAB_MAX_WORLD; i++)
		if (bits[i / 8] >> i % 8 & 1)
			member[(*(uint32_t *)count)++] = i;
	return 0;
}

static uint32_t all_ranks(const struct vfab_info *info)
{
	uint32_t n;

	for (n = 0; n < info->world; n++)
		member[n] = n;
	return n;
}

/*
 * The members of the partition that the device file admits to. Where the
 * control plane cannot be asked (a container, another network namespace), any
 * rank may be one: the kernel refuses those that are not.
 */
static uint32_t find_members(const struct vfab_info *info)
{
	struct nlmsghdr *req;
	struct vfab_nl *nl;
	uint32_t n = 0;
	int ret;

	ret = vfab_nl_open(&nl);
	if (!ret) {
		req = vfab_nl_begin(nl, VFAB_CMD_PARTITION_GET);
		mnl_attr_put_u32(req, VFAB_A_DOMAIN, info->domain);
		mnl_attr_put_u32(req, VFAB_A_PARTITION, info->partition);
		ret = vfab_nl_do(nl, add_members, &n);
	}
	if (ret) {
		if (info->partition)
			say("cannot ask who is in partition %u of dom%u (%s): give --ranks",
			    info->partition, info->domain, vfab_nl_error(nl));
		n = all_ranks(info);
	}
	vfab_nl_close(nl);
	return n;
}

/* What the option @name lists, into @ranks */
int read_list(const char *name, const char *list, uint32_t *ranks, uint32_t *count)
{
	static const char variable[] = "VFAB_RANKS";
	const char *why;
	uint32_t rank;
	int ret;

	setenv("VFAB_RANK", "0", 1);
	setenv(variable, list, 1);
	ret = vfab_env_job(&rank, ranks, count);
	unsetenv("VFAB_RANK");
	unsetenv(variable);
	if (!ret)
		return 0;
	why = vfab_strerror(EINVAL);
	if (!strncmp(why, variable, strlen(variable)))
		why += strlen(variable);
	say("%s%s", name, why);
	return EXIT_USAGE;
}

static int take_members(const struct vfab_info *info, uint32_t n, uint32_t *ranks,
			uint32_t *count)
{
	uint32_t have = job.memfd ? all_ranks(info) : find_members(info);

	if (!have) {
		say("partition %u of dom%u has no members: see 'vfabctl partition set --help'",
		    info->partition, info->domain);
		return EXIT_USAGE;
	}
	if (n > have && have == info->world) {
		say("rank %u is not one of the domain's %u: ranks are 0 to %u",
		    have, have, have - 1);
		return EXIT_USAGE;
	}
	if (n > have) {
		say("-n %u: partition %u of dom%u has %u member%s: see 'vfabctl partition show'",
		    n, info->partition, info->domain, have, have == 1 ? "" : "s");
		return EXIT_USAGE;
	}
	*count = n ? n : have;
	memcpy(ranks, member, *count * sizeof(*ranks));
	return 0;
}

/* All of the job: the first @n, or all, of the partition's members, or @list. */
int choose_ranks(uint32_t n, const char *list, const struct vfab_info *info)
{
	char text[12];
	uint32_t i;
	int ret;

	unsetenv("VFAB_RANKS");
	unsetenv("VFAB_WORLD_SIZE");
	ret = list ? read_list("--ranks", list, job.rank, &job.size) :
	      take_members(info, n, job.rank, &job.size);
	if (ret)
		return ret;
	if (n && n != job.size)
		return fail("-n", "--ranks names another number of ranks");
	for (i = 0; i < job.size; i++)
		if (job.rank[i] >= info->world) {
			say("rank %u is not one of the domain's %u: ranks are 0 to %u",
			    job.rank[i], info->world, info->world - 1);
			return EXIT_USAGE;
		}
	job.world = info->world;
	for (i = 0; i < info->world; i++)
		job.node[i] = i * info->nodes / info->world;
	job.width = snprintf(text, sizeof(text), "%u", info->world - 1);
	return 0;
}

/* A domain on a backplane: which, and which node of it this is */
struct places {
	char backplane[VFAB_NAME_LEN + 1];
	uint32_t self;
};

static int read_places(const struct vfab_nl_msg *msg, void *data)
{
	const struct nlattr *place = vfab_nl_attr(msg, VFAB_A_PLACE);
	const uint8_t *node = place ? mnl_attr_get_payload(place) : NULL;
	uint32_t n = place ? mnl_attr_get_payload_len(place) : 0, i;
	struct places *p = data;

	if (!n || n > VFAB_MAX_WORLD)
		return 0;
	for (i = 0; i < n; i++)
		job.node[i] = node[i];
	snprintf(p->backplane, sizeof(p->backplane), "%s",
		 vfab_nl_str(vfab_nl_attr(msg, VFAB_A_BACKPLANE)));
	return 0;
}

static int read_self(const struct vfab_nl_msg *msg, void *data)
{
	struct places *p = data;

	p->self = vfab_nl_uint(vfab_nl_attr(msg, VFAB_A_NODE));
	return 0;
}

/* Returns whether the domain lies on a backplane. */
static bool find_places(const struct vfab_info *info, struct places *p)
{
	struct nlmsghdr *req;
	struct vfab_nl *nl;
	int ret;

	memset(p, 0, sizeof(*p));
	ret = vfab_nl_open(&nl);
	if (!ret) {
		req = vfab_nl_begin(nl, VFAB_CMD_DOMAIN_GET);
		mnl_attr_put_u32(req, VFAB_A_DOMAIN, info->domain);
		ret = vfab_nl_do(nl, read_places, p);
	}
	if (!ret && *p->backplane) {
		req = vfab_nl_begin(nl, VFAB_CMD_BACKPLANE_GET);
		mnl_attr_put_strz(req, VFAB_A_BACKPLANE, p->backplane);
		ret = vfab_nl_do(nl, read_self, p);
	}
	vfab_nl_close(nl);
	return !ret && *p->backplane;
}

/* All of the job is started here: is all of it placed here? */
int check_here(const struct vfab_info *info)
{
	struct places p;
	uint32_t i;

	if (job.memfd || !find_places(info, &p))
		return 0;
	for (i = 0; i < job.size; i++)
		if (job.node[job.rank[i]] != p.self) {
			say("rank %u is on node %u of %s, this is node %u: give --nodes or --ranks",
			    job.rank[i], job.node[job.rank[i]], p.backplane, p.self);
			return EXIT_USAGE;
		}
	return 0;
}

static int choose_placed(const struct vfab_info *info, uint32_t *here, uint32_t *count)
{
	struct places p;
	uint32_t i;

	if (job.memfd || !find_places(info, &p)) {
		say("dom%u is not placed over nodes: say what is where, --nodes HOST=RANKS",
		    info->domain);
		return EXIT_USAGE;
	}
	*count = 0;
	for (i = 0; i < job.size; i++)
		if (job.node[job.rank[i]] == p.self)
			here[(*count)++] = job.rank[i];
	return 0;
}

/**
 * choose_here - which of the job's ranks are for this node
 * @index: the node's place among those that vfabrun was given
 * @list: what that said of it; NULL: as the domain places them
 * @here: receives them, in the order of the job
 */
int choose_here(const struct vfab_info *info, uint32_t index, const char *list,
		uint32_t *here, uint32_t *count)
{
	uint32_t listed[VFAB_MAX_WORLD], n, i, k;
	int ret;

	if (!list)
		return choose_placed(info, here, count);
	ret = read_list("--nodes", list, listed, &n);
	if (ret)
		return ret;
	*count = 0;
	memset(job.node, 0xff, sizeof(job.node));	/* VFAB_NODE_NONE */
	for (i = 0; i < job.size; i++)
		for (k = 0; k < n; k++)
			if (listed[k] == job.rank[i]) {
				here[(*count)++] = listed[k];
				job.node[listed[k]] = index;
			}
	return 0;
}
