#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# export.sh - vfabctl export
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-export

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

vfabctl domain create d1 --size 4 --planes 2 --rate 53125 --nodes 2 --uuid $uuid >/dev/null
id=$(domain_id d1)
vfabctl partition create d1 7 --members 2 >/dev/null
vfabctl partition set d1/part0 --del 3
vfabctl link set d1/ep2/sw1 down >/dev/null

try "export: a node" 0 'state: "completed"' export --format nvml-mock d1/node1
cat >"$tmp/want" <<END
# vfabric: dom$id/node1, ranks 2 to 3; merge it into the profile of the GPUs
version: "1.0"
system:
  driver_version: "580.65.06"
nvlink:
  links_per_gpu: 2
  bandwidth_per_link_mbps: 53125
devices:
  - index: 0
    fabric:
      cluster_uuid: "$uuid"
      clique_id: 7
      state: "completed"
      health_summary: "limited_capacity"
      health_mask: 0xa9
  - index: 1
    fabric:
      state: "not_started"
      health_summary: "healthy"
      health_mask: 0xaa
END
check "it is what the mock reads" diff "$tmp/want" "$out"
try "export: abbreviated" 0 "clique_id: 0" export --form nvml d1/node0
try "export: several nodes" 1 'holds one node, and there are 2: name one' \
	export --format nvml-mock d1
try "export: no such node" 1 'not below the number of nodes 2' export --format nvml-mock d1/node2
try "export: unknown domain" 1 'no such domain' export --format nvml-mock nobody
try "export: no format" 2 'say in which format' export d1
try "export: unknown format" 2 'format "xml" is not nvml-mock or prometheus' export --format xml d1
try "export: as JSON" 2 'is no JSON' -j export --format nvml-mock d1/node0
vfabctl domain create d2 --size 8 >/dev/null
try "export: the only node" 0 '  - index: 7' export --format nvml-mock d2
finish
