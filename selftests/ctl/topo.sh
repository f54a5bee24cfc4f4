#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# topo.sh - vfabctl topo: the same answers as route trace gives
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-topo

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

small_domain d1

vfabctl partition create d1 1 >/dev/null
vfabctl link set d1/ep1/p0 down >/dev/null
vfabctl link set d1/ep2 down >/dev/null
vfabctl route set d1/sw1 3 drop >/dev/null
vfabctl partition set d1/part1 --add 6,7
try "topo" 0 '7    --    --    --    --    --    --   VF4     X 1' topo d1
check "topo: degraded" said '0     X  VF3*    --  VF3*   VF4   VF4    --    -- 0'
check "topo: degraded twice" said '1  VF3*     X    --  VF2*  VF3*  VF3*    --    -- 0'
json "topo: as JSON" '.[0] | .group == 1 and .planes == 4 and
	.rows[1].paths == [3, null, 0, 2, 3, 3, 0, 0] and .rows[6].partition == 1' topo d1
same=0
for src in 1 2 6; do
	for dst in 0 3 7; do
		vfabctl -j route trace d1 $src $dst >"$tmp/trace"
		jq -e --slurpfile t "$tmp/trace" \
			".[0].rows[$src].paths[$dst] == \$t[0][0].paths" "$out" >/dev/null || same=1
	done
done
check "topo says what route trace says" [ $same = 0 ]
vfabctl topo d1 --dot >"$out" 2>"$err"
check "topo --dot: each link" [ "$(grep -c ' -- ' "$out")" = 32 ]
check "topo --dot: what is broken" [ "$(grep -c 'color=red' "$out")" = 5 ]
check "topo --dot: a graph" sh -c "head -n 1 '$out' | grep -q '^graph \"dom$id\" {' && tail -n 1 '$out' | grep -q '^}'"
try "topo: unknown domain" 1 'no such domain' topo nobody

# 72 endpoints: groups
vfabctl domain create rack --size 72 >/dev/null
try "topo: by groups" 0 'groups of 4 ranks' topo rack
check "topo: 18 groups" [ "$(grep -c ' VF18 .* 0$' "$out")" = 18 ]
vfabctl link set rack/ep5 down >/dev/null
json "topo: a group's worst pair" '.[0] | .group == 4 and .rows[0].paths[1] == 0
	and .rows[0].paths[2] == 18 and .rows[1].first == 4 and .rows[1].last == 7' topo rack
try "topo: the worst pair, in text" 0 '4-7  VF0*  VF0*  VF0*' topo rack
json "topo --ranks" '.[0] | (.rows | length) == 72 and .rows[5].paths[4] == 0' topo rack --ranks
vfabctl switch set rack/sw3 down >/dev/null
vfabctl link set rack/ep5 up >/dev/null
try "route trace: 17 of 18" 0 'reachable: 17 of 18 paths, 850 GB/s per direction' route trace rack 5 9
check "route trace: the plane that is down" said 'p3: sw3 in 5 out none switch-down'
finish
