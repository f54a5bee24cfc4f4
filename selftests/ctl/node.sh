#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# node.sh - vfabctl node, and what else takes a node's address; vfabrun's part
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-node

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

json "domain create --nodes" '.[0].nodes == 4' domain create d1 --size 8 --planes 4 --nodes 4
id=$(domain_id d1)
try "domain create: nodes that do not divide it" 1 'must divide the world size' \
	domain create d2 --size 8 --nodes 3
try "domain create: no nodes" 2 'number of nodes 0 is below the limit 1' \
	domain create d2 --size 8 --nodes 0
try "node show" 0 "dom$id/node3: ranks 6-7 attached 0/2 links-up 8/8" node show d1
json "node show: all" 'length == 4 and [.[].first] == [0, 2, 4, 6]' node show d1
json "node show: one" '.[0] | .node == 2 and .first == 4 and .last == 5 and .links == 8' \
	node list d1/node2
try "node show: out of range" 1 'node 4 is not below the number of nodes 4' node show d1/node4
try "node show: unknown domain" 1 'no such domain' node show nobody
try "node show: of an endpoint" 2 'use one such as dom0 or dom0/node3' node show d1/ep1
json "endpoint show" '[.[].node] == [0, 0, 1, 1, 2, 2, 3, 3]' endpoint show d1

hold "/dev/vfabric/$id" 4
first=$holder
hold "/dev/vfabric/$id" 5
json "node show: attached" '[.[].attached] == [0, 0, 2, 0]' node show d1
try "endpoint evict: a node" 0 '' endpoint evict d1/node2
json "both are gone" '[.[].attached] == [0, 0, 0, 0]' node show d1
try "endpoint evict: again" 1 'nothing holds an endpoint of this node' endpoint set d1/node2 evict
try "endpoint evict: out of range" 1 'not below' endpoint evict d1/node4
let_go
holder=$first
let_go
try "link set: a node" 0 'routes-changed 26 routes-lost 26' link set d1/node1 down
json "node show: its links" '[.[].links_up] == [8, 0, 8, 8]' node show d1
try "link set: up" 0 'routes-changed 26 routes-lost 0' link set d1/node1 up
try "link set: out of range" 1 'not below' link set d1/node4 up

# shellcheck disable=SC2016 # the program's
vfabrun --domain d1 --ranks 1,2-5 -l sh -c 'echo $VFAB_NODE.$VFAB_LOCAL_RANK' 2>&1 |
	sort >"$tmp/places"
printf '1: 0.0\n2: 1.0\n3: 1.1\n4: 2.0\n5: 2.1\n' >"$tmp/want"
check "vfabrun tells node and place" diff "$tmp/want" "$tmp/places"
finish
