#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# fault.sh - vfabctl fault
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-fault

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

vfabctl domain create d1 --size 8 --planes 4 --nodes 4 --rate 1000 --latency 250 >/dev/null
id=$(domain_id d1)

# each kind, with what it takes
try "link-down" 0 "link-down active at dom$id/ep2/p3 hits 1" fault create d1 link-down ep2/p3 seed 5
json "a broken link" '.[0] | .up and .state == "FAULT" and .reason == "broken"' link show d1/ep2/p3
try "delete" 0 '' fault delete d1 1
json "mended" '.[0] | .state == "ACTIVE"' link show d1/ep2/p3
try "a target with the domain before it" 0 "at dom$id/sw1" fault create d1 link-down d1/sw1 for 200ms
try "link-flap" 0 'count 2 period 0.100 s' fault create d1 link-flap ep1 period 100ms count 2
try "link-degrade, options instead of words" 0 'rate 100 MB/s latency 9000 ns width 1 silent' \
	fault create d1 link-degrade ep3 --rate 100 --latency 9000 --width 1 --silent --seed=9
json "which is silent" '.[0] | .state == "ACTIVE" and .rate == 1000' link show d1/ep3/p0
try "and acts" 0 '400 MB/s per direction' route trace d1 3 4
try "blackhole" 0 'for 0.300 s' fault create d1 blackhole ep6/p0 for 0.3
try "stuck, of a node" 0 "at dom$id/node0" fault create d1 stuck node0 for ever
json "in progress" '.[0] | .state == "IN_PROGRESS" and .status == null and .label == null' endpoint show d1/ep0
"$here/hold" "/dev/vfabric/$id" 0 >"$tmp/hold" 2>&1
check "stuck endpoints are not attached" grep -q 'Resource temporarily unavailable\|IN_PROGRESS\|EAGAIN' "$tmp/hold"
try "override" 0 'state NOT_STARTED status EIO uuid 00000000-0000-0000-0000-000000000000 clique 32766 health UNHEALTHY' \
	fault create d1 override ep7 state not-started status EIO uuid 0 clique 32766 health unhealthy
json "lies" '.[0] | .state == "NOT_STARTED" and .cliqueId == 32766 and .healthSummary == "UNHEALTHY"
	and .clusterUuid == "00000000-0000-0000-0000-000000000000"' endpoint show d1/ep7
try "manager-stall" 0 "at dom$id hits 0" fault create d1 manager-stall for 10
try "no table changes" 1 'the fabric manager is stalled' route set d1/sw0 1 drop
try "import-refuse" 0 'permille 500 errno ENOMEM skip 2' \
	fault create d1 import-refuse all errno ENOMEM skip 2 permille 500 count 7
try "quota" 0 'errno EDQUOT limit 128' fault create d1 quota ep4 limit 128 errno EDQUOT
try "event-delay" 0 'delay 0.250 s' fault create d1 event-delay ep4 delay 250ms
try "event-reorder" 0 'event-reorder active' fault create d1 event-reorder ep4
try "event-drop" 0 'count 1 permille 100' fault create d1 event-drop ep4 permille 100 count 1
hold "/dev/vfabric/$id" 5
try "peer-kill, of who is held" 0 "peer-kill ended at dom$id/ep5 hits 1" fault create d1 peer-kill
check "it is dead" until_true 10 sh -c "! kill -0 $holder"
hold "/dev/vfabric/$id" 5
try "peer-kill that spares" 0 'spare' fault create d1 peer-kill ep5 spare
check "it is not" kill -0 "$holder"
json "but has no endpoint" '.[0].held == false' endpoint show d1/ep5
let_go
try "peer-kill, later" 0 'peer-kill pending' fault create d1 peer-kill ep1 after 1h

# show
json "show, as JSON" 'length >= 15 and (.[] | select(.kind == "link-degrade") |
	.silent and .seed == 9 and .rate == 100 and .phase == "active" and .target == "dom'"$id"'/ep3")' fault show d1
try "show one" 0 'override active' fault show d1 "$(vfabctl -j fault show d1 | jq '.[] | select(.kind == "override").id')"
try "show one, by its address" 0 'override active' fault show \
	"$(vfabctl -j fault show d1 | jq -r '.[] | select(.kind == "override").address')"
json "show those of all domains" 'length >= 15' fault show
sleep 0.5
json "what ended by time" '[.[] | select(.for_ms and .for_ms < 500) | .phase] | unique == ["ended"]' fault show d1
json "a flap that counted" '.[] | select(.kind == "link-flap") | .phase == "ended" and .hits == 2' fault show d1
try "delete all" 0 '' fault delete d1 all
json "none is left" 'length == 0' fault show d1
json "links are as they were" 'all(.state == "ACTIVE" and .rate == 1000)' link show d1
json "endpoints are as they were" 'all(.state == "COMPLETED" and .healthSummary == "HEALTHY")' endpoint show d1

# a seed chooses
target() {
	vfabctl -j fault create d1 link-down seed "$1" for 1ms | jq -r '.[0].target'
}
check "the same seed, the same target" [ "$(target 11)" = "$(target 11)" ]
check "another seed, another target" [ "$(target 11)" != "$(target 12)" ]
check "one that splitmix64 gives" [ "$(target 1)" = "dom$id/$(python3 - <<'END'
m = (1 << 64) - 1
z = (1 + 0x9e3779b97f4a7c15) & m
z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & m
z = (z ^ z >> 27) * 0x94d049bb133111eb & m
z ^= z >> 31
link = (z >> 32) * 32 >> 32
print(f"ep{link // 4}/p{link % 4}")
END
)" ]

# monitor
vfabctl -j monitor d1 --timeout 20 --count 2 >"$tmp/events" &
watcher=$!
sleep 0.5
vfabctl fault create d1 stuck ep1 >/dev/null
wait "$watcher"
check "a fault is announced" grep -q '"object":"fault","action":"created".*"kind":"stuck","phase":"active"' "$tmp/events"

# refusals
try "create: no kind" 2 'is missing' fault create d1
try "create: unknown kind" 2 'is not link-down, ' fault create d1 gremlin
try "create: not in this domain" 1 'no such domain' fault create nobody stuck
try "create: no such endpoint" 1 "not below the domain's world size, 8" fault create d1 stuck ep8
try "create: no such link" 1 'no link at that port' fault create d1 link-down ep1/p9
try "create: a target of another kind" 1 'target of this kind of fault is an endpoint' fault create d1 stuck sw1
try "create: a partition is none" 2 'not an address of this kind' fault create d1 stuck part0
try "create: what it does not take" 2 'link-down does not take count, but after, seed, for' fault create d1 link-down count 3
try "create: a flap without a period" 2 'link-flap wants "period TIME"' fault create d1 link-flap
try "create: a blackhole without an end" 2 'blackhole wants "for TIME"' fault create d1 blackhole
try "create: a blackhole for ever" 1 'wants fault-duration' fault create d1 blackhole for ever
try "create: a lie about nothing" 2 'override wants some of state, ' fault create d1 override
try "create: nothing but silent" 2 'wants some of rate, latency, width' fault create d1 link-degrade silent
try "create: an event that is not late" 2 'wants "delay TIME"' fault create d1 event-delay
try "create: a blackhole that is too long" 1 '600000' fault create d1 blackhole for 11m
try "create: no time" 2 'is not a time' fault create d1 stuck for 5x
try "create: a word without a value" 2 '--for wants a value' fault create d1 stuck for
try "create: an unknown errno" 2 'not an errno' fault create d1 quota errno EWHAT
try "create: an errno of another call" 1 'does not fail with that errno' fault create d1 quota errno EIO
try "create: permille beyond" 2 'above the limit 1000' fault create d1 event-drop permille 1001
try "create: nobody to kill" 1 'nothing holds' fault create d1 peer-kill
try "create: a state that there is not" 2 'state "BROKEN" is not' fault create d1 override state broken
try "create: too many arguments" 2 'one too many' fault create d1 stuck ep1 ep2
try "delete: no such fault" 1 'no such fault' fault delete d1 4711
try "delete: which" 2 'say which fault' fault delete d1
try "delete: twice named" 2 'names a fault already' fault delete d1/fault1 1
try "show: no such fault" 1 'no such fault' fault show d1/fault4711
try "show: no number" 2 'fault "x" is not a number' fault show d1 x
nobody vfabctl fault create d1 stuck >"$out" 2>"$err"
check "create: only for admins" grep -q 'CAP_NET_ADMIN\|root\|privilege' "$err"
nobody vfabctl fault show d1 >"$out" 2>"$err"
check "show: for all" grep -q 'stuck active' "$out"
finish
