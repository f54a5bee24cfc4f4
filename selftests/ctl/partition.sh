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
try "partition create: the id is taken" 1 'a partition of this id exists' partition create d1 3
try "partition create: the name is taken" 1 'a partition of this name exists' \
	partition create d1 5 --name jobs
try "partition create: a member that is not there" 1 "not below the domain's world size" \
	partition create d1 5 --members 0,8
try "partition create: unknown domain" 1 'no such domain' partition create nobody 1
try "partition set: add" 0 '' partition set d1/part1 --add 0,4
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
try "partition show: unknown" 1 'no such partition' partition show d1/part77
try "partition delete" 0 '' partition delete d1/part9
check "its device file is gone" [ ! -e "/dev/vfabric/$id.9" ]
try "partition delete: it has members" 1 'has members' partition delete d1/part3
try "partition delete: the default one" 1 'default partition' partition delete d1/part0
try "partition delete: unknown" 1 'no such partition' partition delete d1/part9
finish
