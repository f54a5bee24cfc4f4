// SPDX-License-Identifier: LGPL-2.1
/* What is refused, and that the message says where and why. */
#include "test.h"

#define P "parameters: {world: 4, " RATE ": 1}\n"

static const struct {
	const char *text;
	int code;
	const char *said;
} wrong[] = {
	{ "", -EINVAL, "f:1: this is no map: begin with" },
	{ "- a\n", -EINVAL, "f:1: this is no map" },
	{ "a: [\n", -EINVAL, "f:2: this is not YAML" },
	{ "\n\n\ta: 1\n", -EINVAL, "f:3: this is not YAML" },
	{ "a: \xff\n", -EINVAL, "no text in UTF-8" },
	{ "name: a\n", -EINVAL, "none of \"generator:\"" },
	{ "generator: mesh\nlinks: []\n", -EINVAL, "more than one of \"generator:\"" },
	{ "generator: ring\n",
	  -EINVAL, "f:1: there is no generator \"ring\", but: crossbar, two-tier" },
	{ "generator: [a]\n", -EINVAL, "f:1: generator is a list: it wants a value" },
	{ "generator: mesh\nparameters: 4\n", -EINVAL, "f:2: parameters is a value" },
	{ "links: [[[[[4]]]]]\n", -ENODATA, "world (missing)" },
	{ "links: [[[[[[4]]]]]]\n", -E2BIG, "f:1: lists and maps are nested more than 6 deep" },
	{ "generator: mesh\nwrld: 4\n", -EINVAL, "f:2: there is no \"wrld\" in a topology file" },
	{ "generator: mesh\nparameters:\n  wrld: 4\n",
	  -EINVAL, "f:3: there is no parameter \"wrld\"" },
	{ "generator: mesh\nparameters:\n  x: 4\n", -EINVAL, "f:3: mesh takes no x, but: world" },
	{ "generator: mesh\nparameters:\n  world: 2000\n",
	  -EINVAL, "f:3: world 2000 is above the limit 1024" },
	{ "generator: mesh\nparameters:\n  world: 0\n",
	  -EINVAL, "f:3: world 0 is below the limit 1" },
	{ "generator: mesh\nparameters:\n  world: -1\n",
	  -EINVAL, "f:3: world \"-1\" is not a whole number" },
	{ "generator: mesh\nparameters:\n  world: 1e9\n",
	  -EINVAL, "f:3: world \"1e9\" is not a whole" },
	{ "generator: mesh\nparameters:\n  world: 0x10\n",
	  -EINVAL, "\"0x10\" is not a whole number" },
	{ "generator: mesh\nparameters:\n  world: 4.0\n",
	  -EINVAL, "\"4.0\" is not a whole number" },
	{ "generator: mesh\nparameters:\n  world: 1000000000\n", -EINVAL, "above the limit 1024" },
	{ "generator: mesh\nparameters:\n  world: 18446744073709551620\n",
	  -EINVAL, "above the limit 1024" },
	{ "generator: mesh\nparameters:\n  world: \"null\"\n",
	  -EINVAL, "\"null\" is not a whole number" },
	{ "generator: mesh\nparameters:\n  world: {valu: 4}\n",
	  -EINVAL, "f:3: a number has no \"valu\"" },
	{ "generator: mesh\nparameters:\n  world: {source: a}\n",
	  -EINVAL, "f:3: world has no value" },
	{ "generator: mesh\nparameters:\n  world: {value: 4, confidence: high}\n", -EINVAL,
	  "f:3: confidence \"high\" is unknown" },
	{ "generator: mesh\nparameters:\n  world: {value: {value: 4}}\n",
	  -EINVAL, "world is a map" },
	{ "generator: mesh\nparameters:\n  world: 4\n  world: 5\n", -EINVAL,
	  "f:4: \"world\" stands in line 3 already" },
	{ "generator: mesh\ngenerator: mesh\n",
	  -EINVAL, "f:2: \"generator\" stands in line 1 already" },
	{ "generator: mesh\nparameters: {world: 4}\n", -ENODATA,
	  "f: " RATE " (missing): give --set " RATE "=N" },
	{ "generator: mesh\nparameters: {world: null, " RATE ": ~}\n", -ENODATA,
	  "f: world (null: not published), " RATE " (null: not published): give --set world=N" },
	{ "generator: mesh\nname: a/b\n" P, -EINVAL, "f:2: name \"a/b\" is not a letter" },
	{ "generator: mesh\nname: abcdefghijklmnopqrstuvwxyz0123456\n" P,
	  -EINVAL, "up to 30 more" },
	{ "generator: mesh\npartitions: many\n" P, -EINVAL, "f:2: partitions \"many\" is unknown" },
	{ "generator: mesh\npartitions: per-node\n" P, -ENODATA, "give --set nodes=N" },
	{ "partitions: hgx15\nparameters: {world: 4}\nlinks: []", -EINVAL,
	  "are those of 8 endpoints" },
	{ "generator: mesh\nnotes: a\n" P, -EINVAL, "f:2: notes is a value: it wants a list" },
	{ "generator: mesh\nfacts: {link_rate: 4}\n" P, -EINVAL, "does not say which rate" },
	{ "generator: mesh\nfacts: {bisection_gbps: 4}\n" P, -EINVAL, "does not say which rate" },
	{ "generator: mesh\nfacts: {Speed: 4}\n" P, -EINVAL, "is not a key of small letters" },
	{ "generator: mesh\nfacts: {a: 99999999999999999999}\n" P, -EINVAL, "above the limit" },
	{ "generator: mesh\nparameters: {world: 4, nodes: 3, " RATE ": 1}\n", -EINVAL,
	  "f: world 4 is no multiple of nodes 3" },
	{ "generator: mesh\nparameters: {world: 66, " RATE ": 1}\n", -EINVAL,
	  "f: each endpoint has 65 ports: the limit is 64" },
	{ "generator: mesh\nparameters: {world: 4, ports: 4, " RATE ": 1}\n",
	  -EINVAL, "need 3 ports, not 4" },
	{ "generator: mesh\nparameters: {world: 4, endpoint_rate_mb_per_s_per_direction: 100}\n",
	  -EINVAL, "is no multiple of 3 ports" },
	{ "generator: crossbar\nparameters: {world: 4, " RATE ": 1}\n", -ENODATA,
	  "ports (missing), switches (missing): give --set ports=N --set switches=N" },
	{ "generator: crossbar\nparameters: {world: 4, ports: 4, switches: 3, links_per_switch: 1, "
	  RATE ": 1}\n", -EINVAL, "switches 3 times links_per_switch 1 is not ports 4" },
	{ "generator: crossbar\nparameters: {world: 4, ports: 3, links_per_switch: 2, " RATE ": 1}\n",
	  -EINVAL, "ports 3 is no multiple of links_per_switch 2" },
	{ "generator: crossbar\nparameters: {world: 4, ports: 3, switches: 4, " RATE ": 1}\n",
	  -EINVAL, "cannot be joined to each of 4 switches" },
	{ "generator: crossbar\nparameters: {world: 4, ports: 3, switches: 0, " RATE ": 1}\n",
	  -EINVAL, "switches is 0" },
	{ "generator: crossbar\nparameters: {world: 4, links_per_switch: 64, switches: 1024, "
	  RATE ": 1}\n", -EINVAL, "each endpoint has 65536 ports" },
	{ "generator: crossbar\nparameters: {world: 9, ports: 1, switches: 1, switch_ports: 8, "
	  RATE ": 1}\n", -EINVAL, "switch 0 would need more than its 8 ports" },
	{ "generator: crossbar\nparameters: {world: 1024, ports: 5, switches: 1, " RATE ": 1}\n",
	  -EINVAL, "switch 0 would need more than its 4096 ports" },
	{ "generator: two-tier\nparameters: {world: 4, ports: 1, pods: 3, leaves_per_pod: 1, "
	  "spines: 1, " RATE ": 1}\n", -EINVAL, "world 4 is no multiple of 3 groups" },
	{ "generator: two-tier\nparameters: {world: 4, ports: 1, pods: 2, leaves_per_pod: 2, "
	  "spines: 1, " RATE ": 1}\n", -EINVAL, "cannot be joined to each of 2 leaves" },
	{ "generator: two-tier\nparameters: {world: 4, ports: 1, pods: 2, leaves_per_pod: 1, "
	  "spines: 1, taper: 3, " RATE ": 1}\n", -EINVAL, "no multiple of taper 3" },
	{ "generator: two-tier\nparameters: {world: 4, ports: 1, pods: 2, leaves_per_pod: 1, "
	  "spines: 3, " RATE ": 1}\n", -EINVAL, "do not spread evenly over 3 spines" },
	{ "generator: two-tier\nparameters: {world: 4, ports: 2, pods: 2, leaves_per_pod: 2, "
	  "spines: 3, planes: 2, " RATE ": 1}\n", -EINVAL,
	  "3 spines do not divide among 2 planes" },
	{ "generator: two-tier\nparameters: {world: 4, ports: 3, pods: 2, leaves_per_pod: 3, "
	  "spines: 3, planes: 2, " RATE ": 1}\n", -EINVAL,
	  "planes 2 is neither 1 nor leaves_per_pod 3" },
	{ "generator: two-tier\nparameters: {world: 1024, ports: 1, pods: 1024, leaves_per_pod: 1, "
	  "spines: 1, " RATE ": 1}\n", -EINVAL, "it has 1025 switches: the limit is 1024" },
	{ "generator: rail\nparameters: {world: 4, ports: 1, spines: 1, nodes: 3, " RATE ": 1}\n",
	  -EINVAL, "world 4 is no multiple of nodes 3" },
	{ "generator: fat-tree\nparameters: {world: 9, ports: 1, switch_ports: 3, " RATE ": 1}\n",
	  -EINVAL, "switch_ports 3 is odd" },
	{ "generator: fat-tree\nparameters: {world: 9, ports: 1, switch_ports: 4, " RATE ": 1}\n",
	  -EINVAL, "two tiers of switches with 4 ports hold 8 endpoints, not 9" },
	{ "generator: fat-tree\nparameters: {world: 1024, ports: 64, switch_ports: 64, " RATE ": 1}\n",
	  -EINVAL, "it has 3072 switches" },
	{ "generator: torus\nparameters: {" RATE ": 1}\n", -ENODATA, "name it as in torus:8x8x8" },
	{ "generator: torus\nparameters: {x: 16, y: 20, z: 28}\n", -EINVAL,
	  "16x20x28 has 8960 endpoints and a domain holds 1024: the largest slice of it is" },
	{ "generator: torus\nparameters: {x: 65536, y: 65536, z: 65536}\n", -EINVAL,
	  "281474976710656 endpoints" },
	{ "generator: torus\nparameters: {x: 4, ports: 4, " RATE ": 1}\n", -EINVAL, "6 ports" },
	{ "generator: torus\nparameters: {x: 4, world: 5, " RATE ": 1}\n",
	  -EINVAL, "world is 5, but 4x1x1" },
	{ "links: []\n", -ENODATA, "world (missing): give --set world=N" },
	{ P "links: 4\n", -EINVAL, "f:2: links is a value" },
	{ P "links:\n- a\n", -EINVAL, "f:3: \"a\" is no link: write [ep0/p0, sw0/p0]" },
	{ P "links:\n- [ep0/p0]\n", -EINVAL, "f:3: a link has two ends" },
	{ P "links:\n- [ep0/p0, ep1/p0, ep2/p0]\n", -EINVAL, "f:3: a link has two ends" },
	{ P "links:\n- []\n", -EINVAL, "f:3: a link has two ends" },
	{ P "links:\n- {a: ep0/p0}\n", -EINVAL, "f:3: a link has two ends: a: ep0/p0" },
	{ P "links:\n- {a: ep0/p0, c: ep0/p1}\n", -EINVAL, "f:3: a link has no \"c\"" },
	{ P "links:\n- [ep0/p0, ep0/p1]\n", -EINVAL, "f:3: both ends are at ep0" },
	{ P "links:\n- [ep0/p0, ep1/p0]\n- [ep2/p0, ep1/p0]\n",
	  -EINVAL, "f:4: ep1/p0 has a link already" },
	{ P "links:\n- [ep0/p0, ep4/p0]\n", -EINVAL, "f:3: there is no ep4/p0: world is 4" },
	{ P "links:\n- [ep0/p0, ep1024/p0]\n", -EINVAL, "f:3: \"ep1024/p0\" is no end of a link" },
	{ P "links:\n- [ep0/p64, ep1/p0]\n", -EINVAL, "\"ep0/p64\" is no end of a link" },
	{ P "links:\n- [ep0/p0, sw1024/p0]\n", -EINVAL, "\"sw1024/p0\" is no end of a link" },
	{ P "links:\n- [ep0/p0, sw0/p4096]\n", -EINVAL, "\"sw0/p4096\" is no end of a link" },
	{ P "links:\n- [ep0/p0, sw0/p99999999999999999999]\n", -EINVAL, "is no end of a link" },
	{ P "links:\n- [ep0/p0, sw/p0]\n", -EINVAL, "\"sw/p0\" is no end of a link" },
	{ P "links:\n- [ep0/p0, sw0/p0x]\n", -EINVAL, "\"sw0/p0x\" is no end of a link" },
	{ P "links:\n- [ep0/p0, [a]]\n", -EINVAL, "\"a list\" is no end of a link" },
	{ P "links:\n- {a: ep0/p0, b: ep1/p0, width: 65536}\n", -EINVAL, "f:3: width \"65536\"" },
	{ P "links:\n- {a: ep0/p0, b: ep1/p0, " RATE ": 0}\n",
	  -EINVAL, "not a whole number of 1 to" },
	{ "parameters: {world: 2}\nlinks:\n- [ep0/p0, ep1/p0]\n",
	  -ENODATA, "f:3: this link has no rate" },
	{ "parameters: {world: 2, ports: 1, " RATE ": 1}\nlinks:\n- [ep0/p0, ep1/p1]\n", -EINVAL,
	  "f:3: there is no ep1/p1: ports is 1" },
	{ "parameters: {world: 2, switches: 1, " RATE ": 1}\nlinks:\n- [ep0/p0, sw1/p0]\n", -EINVAL,
	  "f:3: there is no sw1/p0: switches is 1" },
	{ "parameters: {world: 2, switch_ports: 4, " RATE ": 1}\nlinks:\n- [ep0/p0, sw1/p4]\n",
	  -EINVAL,
	  "f:3: there is no sw1/p4: switch_ports is 4" },
	{ "parameters: {world: 2, taper: 1}\nlinks: []\n",
	  -EINVAL, "a list of links takes no taper" },
};

void test_refuse(void)
{
	char err[TOPO_ERR_LEN];
	struct topo t;
	size_t i;
	int ret;

	for (i = 0; i < COUNT(wrong); i++) {
		ret = load_text(wrong[i].text, &t, err);
		if (ret != wrong[i].code || !strstr(err, wrong[i].said))
			note("status %d: %s", ret, err);
		result(ret == wrong[i].code && strstr(err, wrong[i].said) && !t.links &&
		       !strchr(err, '\n'), "refused: %s", wrong[i].said);
		topo_free(&t);
	}
}
