#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# partition.sh - vfabctl partition
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-partition

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

small_domain d1

# partition
try "partition create" 0 'name jobs members 4-6 count 3' \
	partition create d1 3 --name jobs --members 4-6
check "it prints the device file" said "device /dev/vfabric/$id.3"
check "its device file is there" is_char_device "/dev/vfabric/$id.3" "600 0:0"
json "partition create: the lowest free id" '.[0] | .id == 1 and .members == [] and .name == "part1"' \
	part add d1
json "partition create: by address" '.[0].id == 9' partition create d1/part9
try "partition create: the id is taken" 1 'a partition of this id exists: choose another' partition create d1 3
try "partition create: the name is taken" 1 'a partition of this name exists' \
	partition create d1 5 --name jobs
try "partition create: a member that is not there" 1 'rank 8 is not below the world size 8' \
	partition create d1 5 --members 0,8
try "partition set: a rank that is not there" 1 'rank 9 is not below the world size 8' \
	partition set d1/part1 --del 1,9
try "partition create: unknown domain" 1 'no such domain' partition create nobody 1
try "partition set: add" 0 '' partition set d1/part1 --add 0,4
json "partition set: as JSON" '. == []' partition set d1/part1 --add 4
json "it has moved them" '.[0].members == [0, 4]' partition show d1/part1
json "from where they were" '.[0].members == [5, 6]' partition show d1/part3
try "partition set: del" 0 '' partition set d1/part1 --del 0
json "they are in none" '.[0] | .cliqueId == null and .state == "NOT_STARTED" and .status == null' \
	endpoint show d1/ep0
try "in none, in text" 0 'partition none state NOT_STARTED' endpoint show d1/ep0
try "partition set: both" 0 '' partition set d1/part1 --add 0 --del 4
try "partition set: not a member" 1 'not in this partition' partition set d1/part1 --del 7
try "partition set: in and out" 1 'both added and taken out' partition set d1/part1 --add 1 --del 1
try "partition set: unknown" 1 'no such partition' partition set d1/part77 --add 1
json "partition show: all" '[.[].id] == [0, 1, 3, 9]' partition show d1
json "members are counted" '.[0].member_count == 4 and .[0].members == [1, 2, 3, 7]' partition show d1
json "device numbers" '.[0].minor != .[1].minor and .[0].major == .[1].major' partition show d1
try "partition show: unknown" 1 "'vfabctl partition show' lists them" partition show d1/part77
try "partition delete" 0 '' partition delete d1/part9
check "its device file is gone" [ ! -e "/dev/vfabric/$id.9" ]
try "partition delete: it has members" 1 'has members' partition delete d1/part3
try "partition delete: the default one" 1 'default partition' partition delete d1/part0
try "partition delete: unknown" 1 'no such partition' partition delete d1/part9
# resiliency
try "partition create --resiliency" 0 'resiliency full health HEALTHY links 4/4 parked none' \
	partition create d1 20 --members 6 --resiliency full
try "partition create --resiliency: no such one" 2 'resiliency "half" is not adaptive or full' \
	partition create d1 21 --resiliency half
json "the default" '.[0] | .resiliency == "adaptive" and .health == "HEALTHY" and .links == 16
	and .links_up == 16 and .parked == []' partition show d1/part0
vfabctl switch set d1/sw2 down >/dev/null
try "a lost switch: adaptive" 0 'resiliency adaptive health LIMITED_CAPACITY links 12/16' partition show d1/part0
try "a lost switch: full" 0 'resiliency full health UNHEALTHY links 3/4' partition show d1/part20
json "and the endpoint of either" '.[2].healthSummary == "LIMITED_CAPACITY" and .[2].healthMask == 169
	and .[6].healthSummary == "UNHEALTHY" and .[6].healthMask == 153' endpoint show d1
try "partition set --resiliency" 0 '' partition set d1/part20 --resiliency adaptive
json "is what it says" '.[0].health == "LIMITED_CAPACITY"' partition show d1/part20
vfabctl switch set d1/sw2 up >/dev/null
try "partition set --park" 0 '' partition set d1/part0 --park 2-3
try "it says so" 0 'health HEALTHY links 8/8 parked 2-3' partition show d1/part0
json "they are members, out of service" '.[0].members == [1, 2, 3, 7] and .[0].parked == [2, 3]' partition show d1/part0
json "the endpoint says so" '.[0] | .parked and .cliqueId == 0 and .state == "COMPLETED"
	and .healthSummary == "UNHEALTHY" and .healthMask == 154' endpoint show d1/ep2
try "and the trace" 1 "4 would carry it: see 'vfabctl partition show dom" route trace d1 1 2
try "partition set --park: not a member" 1 'is not in this partition' partition set d1/part0 --park 1,6
try "partition set --park: nor that is taken out" 1 'is not in this partition' partition set d1/part0 --park 1 --del 1
try "partition set: both" 1 'both parked and taken back' partition set d1/part0 --park 1 --unpark 1,2
try "partition set --park: no such rank" 1 'rank 8 is not below' partition set d1/part0 --park 8
try "partition set --unpark" 0 '' partition set d1/part0 --unpark 2-3
try "the trace again" 0 'reachable: 4 of 4 paths' route trace d1 1 2
try "partition set: nothing" 2 'nothing to set: give --add, --del, --park, --unpark or --resiliency' \
	partition set d1/part0
vfabctl partition set d1/part0 --add 6
vfabctl partition delete d1/part20
vfabctl partition set d1/part3 --add 6

# if-detached
hold "/dev/vfabric/$id" 7
try "partition set --if-detached: held" 1 'an endpoint to move is held' \
	partition set d1/part1 --add 6,7 --if-detached
json "nothing has moved" '.[0].members == [1, 2, 3, 7]' partition show d1/part0
try "partition set --if-detached: not held" 0 '' partition set d1/part1 --add 6 --if-detached
let_go

# none
json "domain create --partitions none" '.[0] | .partitions == "none" and .device == null' \
	domain create d2 --size 4 --partitions none
id2=$(domain_id d2)
json "it has none" '. == []' partition show d2
check "nor a device file" [ ! -e "/dev/vfabric/$id2" ]
json "its endpoints wait" 'all(.state == "NOT_STARTED" and .cliqueId == null)' endpoint show d2
try "wait: it is ready all the same" 0 '' wait d2
json "partition create: the first one" '.[0] | .id == 0 and .active' partition create d2 --members 0-3
check "its device file is there now" is_char_device "/dev/vfabric/$id2" "600 0:0"
try "domain create: unknown kind" 2 'kind of partitions "some" is not default, none, hgx15 or per-node' \
	domain create d3 --size 8 --partitions some

# per node
json "domain create --partitions per-node" '.[0] | .partitions == "per-node" and .nodes == 3 and .device == null' \
	domain create d4 --size 6 --nodes 3 --partitions per-node
json "each has its own" '[.[] | {id, members}] == [{"id": 0, "members": [0, 1]}, {"id": 1, "members": [2, 3]},
	{"id": 2, "members": [4, 5]}]' partition show d4
check "and its device file" is_char_device "/dev/vfabric/$(domain_id d4).2" "600 0:0"
try "they do not reach each other" 1 'unreachable' route trace d4 0 2
try "but among themselves" 0 'reachable' route trace d4 2 3
try "they are as any others: members go" 0 '' partition set d4/part1 --add 0-1
try "and partitions, too" 0 '' partition delete d4/part0
vfabctl domain delete d4

# What a file says is what is there, and what is there loads as it was
for kind in one per-node none hgx15; do
	printf 'name: rack\ngenerator: crossbar\npartitions: %s\nparameters: {world: 8, nodes: 4, ports: 2, switches: 2,
		rate_mb_per_s_per_direction: 1000}\n' $kind >"$tmp/file.yaml"
	try "a file: partitions $kind" 0 '' domain create d4 --topology "$tmp/file.yaml"
	vfabctl -j partition show d4 | jq -c '[.[] | select(.active) | .members]' >"$tmp/sets"
	case $kind in
	one)		want='[[0,1,2,3,4,5,6,7]]' ;;
	per-node)	want='[[0,1],[2,3],[4,5],[6,7]]' ;;
	*)		want='[]' ;;
	esac
	check "$kind: members" grep -qxF "$want" "$tmp/sets"
	json "$kind: nodes" '.[0].nodes == 4' domain show d4
	vfabctl -j partition show d4 | jq -S 'map(del(.domain, .address, .device, .minor))' >"$tmp/was"
	vfabctl domain delete d4
	vfabctl profile show --expand "$tmp/file.yaml" >"$tmp/again.yaml"
	try "$kind: expanded" 0 '' domain create d4 --topology "$tmp/again.yaml"
	vfabctl -j partition show d4 | jq -S 'map(del(.domain, .address, .device, .minor))' >"$tmp/is"
	check "$kind: the same again" cmp "$tmp/was" "$tmp/is"
	vfabctl domain delete d4
done
try "a file without nodes" 2 'give --set nodes=N' domain create d4 --topology "$tmp/file.yaml" --set nodes=3
sed -i 's/hgx15/per-node/; s/nodes: 4, //' "$tmp/file.yaml"
try "per-node without nodes" 2 'give --set nodes=N' domain create d4 --topology "$tmp/file.yaml"
json "--partitions and --nodes say otherwise" '.[0] | .partitions == "none" and .nodes == 2' \
	domain create d4 --topology "$tmp/file.yaml" --set nodes=8 --nodes 2 --partitions none

# hgx15
try "domain create --partitions hgx15: not 8" 1 'give a world size of 8' \
	domain create d3 --size 4 --partitions hgx15
json "domain create --partitions hgx15" '.[0].partitions == "hgx15"' \
	domain create d3 --size 8 --partitions hgx15
id3=$(domain_id d3)
json "fifteen, none active" 'length == 15 and all(.active | not) and .[1].members == [0, 1, 2, 3]' \
	partition show d3
try "partition show: not active, in text" 0 'members 0-3 count 4 attached 0 active no' \
	partition show d3/part1
try "wait: ready" 0 '' wait d3
try "partition activate" 0 '' partition activate d3/part1
try "partition show: active, in text" 0 "active yes device /dev/vfabric/$id3.1" \
	partition show d3/part1
try "partition activate: again" 1 'the partition is active' partition activate d3/part1
try "partition activate: overlaps" 1 'partition 1 is active and overlaps it' \
	partition activate d3/part7
try "partition activate: beside it" 0 '' partition activate d3/part2
try "partition set: fixed" 1 'are fixed: activate or deactivate' partition set d3/part1 --add 7
try "partition create: fixed" 1 'are fixed' partition create d3 20
try "partition delete: fixed" 1 'are fixed' partition delete d3/part2
try "partition activate: not in other domains" 1 'partitions are always active' \
	partition activate d1/part1
hold "/dev/vfabric/$id3.1" 2
try "partition deactivate: in use" 1 'are attached' partition deactivate d3/part1
try "partition deactivate: forced" 0 '' partition deactivate d3/part1 --force
check "its device file is gone" [ ! -e "/dev/vfabric/$id3.1" ]
let_go
try "partition deactivate: again" 1 'the partition is not active' partition deactivate d3/part1
finish
