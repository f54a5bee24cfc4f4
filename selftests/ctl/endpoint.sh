#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# endpoint.sh - vfabctl endpoint, vfabctl window
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-endpoint

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

small_domain d1

# endpoint and window
json "endpoint show" 'length == 8 and [.[].rank] == [0,1,2,3,4,5,6,7]' endpoint show d1
json "endpoint show: NVML's names" ".[0] | .clusterUuid == \"$uuid\" and .cliqueId == 0
	and .state == \"COMPLETED\" and .status == \"SUCCESS\" and .healthMask == 170
	and .healthSummary == \"HEALTHY\" and .health.degradedBw == \"FALSE\"
	and .label == \"$uuid.0\" and .health.routeRecovery == \"FALSE\"
	and .health.routeUnhealthy == \"FALSE\" and .health.accessTimeoutRecovery == \"FALSE\"
	and .health.incorrectConfiguration == \"NOT_SUPPORTED\" and .ports_up == 4 and .held == false and (has(\"pid\") | not)" endpoint show d1/ep5
try "endpoint show, in text" 0 \
	'partition 0 state COMPLETED status SUCCESS health HEALTHY ports 4/4 vacant' ep show d1/ep5
try "endpoint show: out of range" 1 "not below the domain's world size" endpoint show d1/ep8
try "endpoint evict: nobody there" 1 'nothing holds this endpoint' endpoint evict d1/ep5
try "endpoint evict: out of range" 1 "not below the domain's world size" endpoint evict d1/ep8
json "window show: none" '. == []' window show d1

hold "/dev/vfabric/$id" 5 window=131072,258 comm="$(printf 'e"v\\\033[1m\377')"
json "endpoint show: held" ".[0] | .held and .pid == $holder and .windows == 1 and .mem_used == 131072" \
	endpoint show d1/ep5
json "a name of any bytes is JSON" ".[0].comm == \"e\\\"v\\\\\\u001b[1m\\ufffd\"" endpoint show d1/ep5
try "a name of any bytes does nothing to a terminal" 0 'comm "e\"v\\\x1b[1m\xff"' endpoint show d1/ep5
nobody vfabctl -j endpoint show d1/ep5 >"$out" 2>"$err"
check "who holds it is for admins" jq -e '.[0] | .held and (has("pid") or has("comm") | not)' "$out"
try "wait: attached" 0 '' wait d1 --for attached=1 --timeout 5
try "domain delete: in use" 1 'endpoints are attached' domain delete d1
first=$holder
hold "/dev/vfabric/$id" 6 import=5,258
json "window show" '.[0] | .rank == 5 and .size == 131072 and .tag == "0x102" and .access == "rw"
	and .importers == [6] and .imports == 1' window show d1
handle=$(jq -r '.[0].handle' "$out")
try "window show, in text" 0 \
	"dom$id/ep5: window $handle size 128KiB tag 0x102 access rw importers 6 imports 1" window show d1
json "window show: of a rank" 'length == 1' window show d1 --rank 5
json "window show: of an address" 'length == 1' window show d1/ep5
json "window show: of another rank" '. == []' window show d1 --rank 6
json "window show: by handle" ".[0].handle == \"$handle\"" window show d1 --handle "$handle"
try "window show: unknown handle" 1 'no such window' window show d1 --handle 0x7
try "window show: rank out of range" 1 'rank 8 is not below the world size 8' window show d1 --rank 8
try "window show: unknown domain" 1 'no such domain' window show nobody
try "endpoint set evict" 0 '' endpoint set d1/ep6 evict
json "it is not held" '.[0].held == false' endpoint show d1/ep6
try "endpoint evict: again" 1 'nothing holds this endpoint' endpoint evict d1/ep6
let_go
try "endpoint evict" 0 '' endpoint evict d1/ep5
holder=$first
let_go

# health: each field, and the summary
hold "/dev/vfabric/$id" 5
first=$holder
hold "/dev/vfabric/$id" 6
vfabctl domain set d1 --retry-timeout 60000
vfabctl link set d1/ep6 down >/dev/null
json "no port is up" '.[0] | .healthSummary == "UNHEALTHY" and .health.routeUnhealthy == "TRUE"
	and .health.routeRecovery == "TRUE" and .healthMask == 150' endpoint show d1/ep6
json "its peer waits for it" '.[0] | .healthSummary == "HEALTHY" and .health.routeRecovery == "TRUE"
	and .health.degradedBw == "FALSE" and .healthMask == 166' endpoint show d1/ep5
json "who is not held waits for nobody" '.[0].healthMask == 170' endpoint show d1/ep4
vfabctl link set d1/ep6 up >/dev/null
json "it is over" '.[0].healthMask == 170' endpoint show d1/ep6
let_go
holder=$first
let_go
try "partition set: out" 0 '' partition set d1/part0 --del 3
json "no label where there is no clique" '.[0] | .label == null and .status == null
	and .state == "NOT_STARTED"' endpoint show d1/ep3
finish
