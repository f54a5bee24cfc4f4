// SPDX-License-Identifier: GPL-2.0
/* Fabrics for tests: of profiles, and at random. */
#include "test.h"
#include "../../topo/topo.h"

static struct vfab_link_spec specs[VF_MAX_LINKS];
static u32 nspecs;
static u16 next_port[VF_MAX_WORLD + VF_MAX_SWITCHES];

static void create(struct fabric *f, struct vf_topo_config *cfg)
{
	cfg->links = specs;
	cfg->nlinks = nspecs;
	cfg->switch_latency = 100;
	if (fabric_init(f, cfg)) {
		printf("Bail out! %s\n", f->why);
		exit(1);
	}
}

/* @spec: a profile's name, or a text with a generator */
void make(struct fabric *f, const char *spec, char *const *sets)
{
	char err[TOPO_ERR_LEN];
	struct vf_topo_config cfg;
	struct topo t;
	int ret;
	u32 i;

	if (strchr(spec, '\n'))
		ret = topo_load_text("t", spec, strlen(spec), sets, &t, err, sizeof(err));
	else
		ret = topo_load_profile(spec, sets, &t, err, sizeof(err));
	if (ret) {
		printf("Bail out! %s\n", err);
		exit(1);
	}
	for (i = 0; i < t.nlinks; i++)
		specs[i] = (struct vfab_link_spec){
			.node = { t.links[i].a, t.links[i].b },
			.port = { t.links[i].a_port, t.links[i].b_port },
			.rate = t.links[i].rate, .latency = t.links[i].latency,
		};
	nspecs = t.nlinks;
	cfg = (struct vf_topo_config){
		.world = t.world, .switches = t.switches, .forwards = t.forwarding,
	};
	topo_free(&t);
	create(f, &cfg);
}

static u32 vertex_of(u16 node, u32 world)
{
	return node & VFAB_SPEC_SWITCH ? world + (node & ~VFAB_SPEC_SWITCH) : node;
}

static void join(u32 world, u16 a, u16 b)
{
	specs[nspecs++] = (struct vfab_link_spec){
		.node = { a, b },
		.port = { next_port[vertex_of(a, world)]++, next_port[vertex_of(b, world)]++ },
		.rate = 50000, .latency = 300,
	};
}

static void fresh(void)
{
	nspecs = 0;
	memset(next_port, 0, sizeof(next_port));
}

/* Anything: also switches that lead nowhere, parallel links, lonely endpoints */
void make_random(struct fabric *f)
{
	u32 i, a, b, n, world = 2 + below(16), switches = below(12);
	struct vf_topo_config cfg = {
		.world = world, .switches = switches, .forwards = below(2),
	};

	fresh();
	n = (world + switches) * (1 + below(3));
	for (i = 0; i < n; i++) {
		a = below(world + switches);
		b = below(world + switches);
		if (a == b || next_port[a] >= 60 || next_port[b] >= 60)
			continue;
		join(world, a < world ? a : VFAB_SPEC_SWITCH | (a - world),
		     b < world ? b : VFAB_SPEC_SWITCH | (b - world));
	}
	create(f, &cfg);
}

void make_mesh(struct fabric *f, u32 x, u32 y)
{
	struct vf_topo_config cfg = { .world = x * y, .forwards = true };
	u32 i, j;

	fresh();
	for (j = 0; j < y; j++)
		for (i = 0; i < x; i++) {
			if (i + 1 < x)
				join(x * y, j * x + i, j * x + i + 1);
			if (j + 1 < y)
				join(x * y, j * x + i, j * x + i + x);
		}
	create(f, &cfg);
}

void cut(struct fabric *f, u32 n)
{
	while (n--)
		f->topo.link[below(f->topo.nlinks)].outage = true;
	fabric_links(f);
}

void mend(struct fabric *f)
{
	u32 i;

	for (i = 0; i < f->topo.nlinks; i++)
		f->topo.link[i].outage = false;
	fabric_links(f);
}

/* The first link between two vertices */
u32 link_between(const struct fabric *f, u32 a, u32 b)
{
	const struct vf_topo *t = &f->topo;
	u32 p;

	for (p = t->first[a]; p < t->first[a + 1]; p++)
		if (t->port[p].peer != VF_NONE && t->port[t->port[p].peer].vertex == b)
			return t->port[p].link;
	return VF_NONE;
}

/* Compute and compile */
bool route(struct fabric *f, const char *engine, const struct options *o)
{
	static const struct options none = { .vcs = 2 };

	if (engine_run(f, engine_find(engine), o ? o : &none))
		return false;
	fabric_pairs(f);
	return true;
}
