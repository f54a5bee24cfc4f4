#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# route.sh - vfabctl route
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-route

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

small_domain d1

# route
json "route show: of a domain" 'length == 32 and all(.egress == [.dest])' route show d1
json "route show: of a switch" 'length == 8 and all(.switch == 3)' route show d1/sw3
json "route show: to a destination" 'length == 4 and all(.dest == 2)' route show d1 --dest 2
json "route show: one" '. == [{address: "dom'"$id"'/sw3", domain: '"$id"', switch: 3, dest: 2, egress: [2]}]' \
	route show d1/sw3 --dest 2
try "route show: destination out of range" 1 'rank 8 is not below the world size 8' \
	route show d1 --dest 8
try "route show: switch out of range" 1 'switch 4 is not below the number of switches 4' route show d1/sw4
try "route show: one, out of range" 1 'not below' route show d1/sw4 --dest 2
try "route trace" 0 'reachable: 4 of 4 paths, 4 GB/s per direction, 250 ns' route trace d1 5 2
try "route trace: ranks as they are shown" 0 'dom' route trace d1 ep5 ep2
check "it is the same" said 'ep5 -> ep2'
try "route set: drop" 0 'routes-changed 14 routes-lost 0' route set d1/sw0 2 drop
try "route set: elsewhere" 0 'routes-changed 14 routes-lost 0' route set d1/sw1 2 via 3
vfabctl route set d1 5 drop >/dev/null
vfabctl link set d1/ep2/p3 down >/dev/null
json "route show: a dropped entry" '.[0].egress == []' route show d1/sw0 --dest 2
try "a dropped entry, in text" 0 'dest 2 drop' route show d1/sw0 --dest 2
try "route trace: not reachable" 1 'unreachable: 0 of 4 paths' route trace d1 5 2
check "no entry" said 'sw0 in 5 out none no-entry'
check "misrouted" said 'p1: sw1 in 5 out 3, ep3 in 1 out none misrouted'
check "no return" said 'sw2 in 5 out 2 no-return'
check "destination down" said 'sw3 in 5 out 2 dst-down'
vfabctl -j route trace d1 2 5 >"$out"
check "the answer no is a status" [ $? = 1 ]
check "the way back, as JSON" jq -e '.[0] | .reachable == false and .paths == 0 and .planes == 4 and
	[.hops[].verdict] == ["no-entry", "no-entry", "no-entry", "src-down"] and
	.hops[2].out_port == null and .hops[0].in_port == 2' "$out"
vfabctl link set d1/ep2/p3 up >/dev/null
try "route set: in all switches" 0 'routes-changed 12' route set d1 2 via 2
vfabctl route set d1 5 via 5 >/dev/null
try "route trace: all is well again" 0 'reachable: 4 of 4 paths' route trace d1 5 2
try "route set: destination out of range" 1 'not below' route set d1 8 drop
try "route set: no such port" 1 'no such port' route set d1/sw0 2 via 8
try "route set: switch out of range" 1 'not below' route set d1/sw4 2 drop
try "route trace: to itself" 1 'reaches itself' route trace d1 2 2
try "route trace: out of range" 1 'not below' route trace d1 2 8
vfabctl partition create d1 1 --members 2 >/dev/null
try "route trace: another partition" 1 'unreachable: 0 of 4 paths, 4 would carry it' \
	route trace d1 5 2
vfabctl partition set d1/part0 --add 2 >/dev/null

# sets of ports
try "route set: a set" 0 'routes-changed' route set d1/sw0 2 via 3,2
json "route show: a set" '.[0].egress == [2, 3]' route show d1/sw0 --dest 2
try "a set, in text" 0 'dest 2 via ports 2 3' route show d1/sw0 --dest 2
try "route trace: the one that leads on" 0 'p0: sw0 in 5 out 2 live' route trace d1 5 2
try "route set: a port of a set is not there" 1 'no such port' route set d1/sw0 2 via 2,9
try "route set: a set too wide" 2 'within 64 numbers' route set d1/sw0 2 via 1,65
try "route set: an endpoint without a table" 1 'forward nothing' route set d1/ep0 2 via 0
try "route show: an endpoint without a table" 1 'forward nothing' route show d1/ep0 --dest 2
finish
