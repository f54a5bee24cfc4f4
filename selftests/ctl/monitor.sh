#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# monitor.sh - vfabctl monitor
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-monitor

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

vfabctl domain create rack --size 72 >/dev/null
vfabctl switch set rack/sw3 down >/dev/null
id=$(domain_id rack)

# listen ARGUMENTS...: a monitor in the background that is known to listen
listen() {
	groups=$(vfabric_listeners)
	vfabctl "$@" >"$tmp/events" 2>"$tmp/monitor" &
	monitor=$!
	until_true 10 more_listeners
}
vfabric_listeners() {
	awk '$2 == 16 && $4 != "00000000"' /proc/net/netlink | wc -l
}
# shellcheck disable=SC2317 # called by until_true
more_listeners() {
	[ "$(vfabric_listeners)" -gt "$groups" ]
}
heard() {
	wait "$monitor"
	heard=$?
	cp "$tmp/events" "$out"
	cp "$tmp/monitor" "$err"
}

listen monitor --count 5 --timeout 60
vfabctl domain create m1 --size 4 >/dev/null
vfabctl switch set rack/sw3 up >/dev/null
vfabctl link set rack/ep5/p2 down >/dev/null
vfabctl partition create rack 7 --members 1-3 >/dev/null
vfabctl domain delete m1
heard
check "monitor: so many events" [ $heard = 0 ]
check "monitor: a line each" [ "$(wc -l <"$out")" = 5 ]
check "monitor: created" grep -q '^dom[0-9]*: domain created why create name m1' "$out"
check "monitor: a switch" grep -q "^dom$id/sw3: switch changed why link up routes-changed 5112 routes-lost 0" "$out"
check "monitor: a link" grep -q "^dom$id/ep5/p2: link changed why link down routes-changed 142 routes-lost 0" "$out"
check "monitor: a partition" grep -q "^dom$id/part7: partition created why .* members 1-3" "$out"
check "monitor: deleted" grep -q '^dom[0-9]*: domain deleted why admin name m1' "$out"

listen -j monitor rack --count 4 --timeout 60
vfabctl domain create m2 --size 4 >/dev/null
vfabctl domain delete m2
vfabctl route set rack/sw0 9 drop >/dev/null
vfabctl port set rack/sw2/p5 up >/dev/null
hold "/dev/vfabric/$id" 11
let_go
heard
check "monitor D: so many events" [ $heard = 0 ]
check "monitor D: of this domain only" jq -es "length == 4 and all(.domain == $id and .name == \"rack\")" "$out"
check "monitor: JSON is one object per line" [ "$(wc -l <"$out")" = 4 ]
check "monitor: a route" jq -es '.[0] | .object == "route" and .reason == "route" and .switch == 0
	and .dest == 9 and .routes_changed == 136' "$out"
check "monitor: a port" jq -es ".[1] | .address == \"dom$id/sw2/p5\" and .up == true" "$out"
check "monitor: attached and detached" jq -es '.[2] | .object == "endpoint" and .action == "attached"
	and .rank == 11' "$out"
check "monitor: why it was detached" jq -es '.[3] | .action == "detached" and .rank == 11
	and .reason == "exit" and (has("pid") or has("comm") | not)' "$out"

try "monitor: a domain that is not there" 1 'no such domain' monitor nosuch
try "monitor: nothing in time" 0 '' monitor --timeout 0.1
try "monitor: too few in time" 3 '0 of 3 events came in 0.1 s' monitor --count 3 --timeout 0.1

groups=$(vfabric_listeners)
vfabctl monitor --timeout 60 >/dev/full 2>"$err" &
monitor=$!
until_true 10 more_listeners
vfabctl switch set rack/sw4 down >/dev/null
wait "$monitor"
check "monitor: ends when its output is lost" [ $? = 2 ]
check "monitor: says so" grep -q '^vfabctl: cannot write the output' "$err"

default=$(cat /proc/sys/net/core/rmem_default)
# room for one answer and its acknowledgement, not for ten events
echo 4608 >/proc/sys/net/core/rmem_default
listen -j monitor --timeout 100
kill -STOP "$monitor"
for i in 1 2 3 4 5 6 7 8 9 10; do
	vfabctl domain set rack --retry-timeout $i
done
kill -CONT "$monitor"
echo "$default" >/proc/sys/net/core/rmem_default
until_true 30 grep -q '"name":"rack".*"retry_timeout":10' "$tmp/events"
vfabctl domain set rack --retry-timeout 0
until_true 30 sh -c "tail -n 1 '$tmp/events' | grep -q changed"
kill "$monitor"
heard
check "monitor: lost events are reported" jq -es 'any(.action == "overflow")' "$out"
# shellcheck disable=SC2016 # jq's variables
check "monitor: the present state follows" jq -es '. as $all | (map(.action == "overflow") | index(true)) as $i
	| $all[$i + 1] | .name == "rack" and .retry_timeout == 10' "$out"
check "monitor: it goes on" jq -es 'last | .object == "domain" and .action == "changed"' "$out"
finish
