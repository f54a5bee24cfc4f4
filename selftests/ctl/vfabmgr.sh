#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# vfabmgr.sh - vfabmgr: tables are made right, and stay right
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-vfabmgr

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

# mgr NAME STATUS FRAGMENT ARGUMENTS...: vfabmgr ends with this status, and says this
mgr() {
	mgr_name=$1 mgr_status=$2 mgr_said=$3
	shift 3
	vfabmgr "$@" >"$out" 2>"$err" </dev/null
	mgr_rc=$?
	[ "$mgr_rc" = "$mgr_status" ] || echo "# vfabmgr $*: status $mgr_rc instead of $mgr_status"
	[ "$mgr_rc" = "$mgr_status" ] && { [ -z "$mgr_said" ] || said "$mgr_said"; }
	result $? "$mgr_name"
}

# start ARGUMENTS...: a manager that stays; its number is in $manager
start() {
	vfabmgr -f -v "$@" >"$tmp/manager" 2>&1 &
	manager=$!
	holders="$holders $manager"
	until_true 20 grep -q 'entries differ' "$tmp/manager"
}

# shellcheck disable=SC2317 # called by check
alive() {
	vfabmgr --status "$1" >"$out" 2>&1
}

generation() {
	vfabctl -j domain show "$1" | jq '.[0].generation'
}

# all_reach DOMAIN: every pair of it has a path
all_reach() {
	vfabctl -j topo "$1" --ranks | jq -e '[.[0].rows[].paths[] | select(. == 0)] == []'
}

# quiet DOMAIN: nothing changes any more
# shellcheck disable=SC2317 # called by until_true
quiet() {
	quiet_was=$(generation "$1")
	sleep 1
	[ "$(generation "$1")" = "$quiet_was" ]
}

# view: what the holder's view says of each rank, to $tmp/view
view() {
	rm -f "$tmp/view"
	kill -USR1 "$holder"
	until_true 20 test -e "$tmp/view"
}

# --- Wrong usage --------------------------------------------------------------------

mgr "no domain named" 2 'give --domain or --status' --once
mgr "no such engine" 2 'is not one of min-hop' --domain d1 --engine magic
mgr "a timeout that is none" 2 'is not a number from 1 to 3600' --domain d1 --timeout 0
mgr "no such domain" 1 'no such domain' --domain nobody --once
mgr "options that do not go together" 2 '--dims goes with' --domain d1 --dims 4x4
mgr "a number that is none" 2 'is not a number from 1 to 2' --domain d1 --vcs 3
mgr "an argument too many" 2 'one too many' --domain d1 d2
check "lost output is an error" unwritten vfabmgr --help

# --- Two tiers ----------------------------------------------------------------------

vfabctl domain create rack --profile gh200-nvl256 >/dev/null
mgr "status: none" 3 'none' --status rack
mgr "two tiers as created: nothing to write" 0 '0 of 41984 entries differ, 0 written' --domain rack --once -v
sed 's/^/# /' "$err"
mgr "up-down has hardly more to say" 0 ', 0 lost' --domain rack --once -v -n --engine up-down
port=$(vfabctl -j link show rack/sw0 | jq -r '[.[] | select(.switch != null and .peer_switch != null)][0] |
	if .switch == 0 then .port else .peer_port end')
vfabctl link set "rack/sw0/p$port" down >/dev/null
mgr "what would be set" 0 'dest ' --domain rack --dry-run
changes=$(wc -l <"$out")
check "what would be set is not set" sh -c "vfabmgr --domain rack -n | grep -c . | grep -qx $changes"
mgr "a cut between leaf and spine: few entries" 0 "$changes of 41984 entries differ, $changes written" \
	--domain rack --once -v
sed 's/^/# /' "$err"
check "the leaf does not send by it" sh -c "vfabctl -j route show rack/sw0 --dest 255 |
	jq -e '.[0].egress | index($port) == null and length > 1'"
try "route trace: it is right" 0 'reachable: 18 of 18 paths' route trace rack 0 255
mgr "nothing the second time" 0 '0 written' --domain rack --once -v
vfabctl link set "rack/sw0/p$port" up >/dev/null
mgr "and back" 0 "$changes written" --domain rack --once -v
vfabctl domain delete rack

# The largest crossbar that people have: 1024 endpoints, 18 planes
vfabctl domain create big --size 1024 --planes 18 >/dev/null
mgr "a crossbar of 1024: nothing to write" 0 '0 of 18432 entries differ, 0 written' --domain big --once -v
sed 's/^/# /' "$err"
vfabctl domain delete big

# --- A ring of switches, which default tables do not keep joined ------------------------

ring() {
	echo 'parameters: {world: 8, switches: 4, rate_mb_per_s_per_direction: 1000}'
	echo 'links:'
	for i in 0 1 2 3 4 5 6 7; do
		echo "- [ep$i/p0, sw$((i / 2))/p$((i % 2))]"
	done
	for i in 0 1 2 3; do
		echo "- [sw$i/p2, sw$(((i + 1) % 4))/p3]"
	done
}
ring >"$tmp/ring.yaml"
vfabctl domain create ring --topology "$tmp/ring.yaml" >/dev/null
id=$(domain_id ring)
vfabctl route show ring >"$tmp/default"
vfabctl link set ring/sw3/p2 down >/dev/null
vfabctl link set ring/sw3/p2 up >/dev/null
mgr "tables that could deadlock are refused" 1 'wait for one another: sw' --domain ring --once
check "all four links are named" sh -c "grep 'wait for one another' '$err' | grep -o 'sw[0-3]/p[23]' | sort -u | grep -c . | grep -qx 4"
check "and the tables are as they were" sh -c "vfabctl route show ring | cmp - '$tmp/default'"
mgr "unless they are asked for" 0 'could deadlock' --domain ring --once --allow-loops
mgr "no privilege, but to look" 0 '' --domain ring --dry-run --allow-loops
nobody vfabmgr --domain ring --dry-run --engine up-down >"$out" 2>"$err"
check "nobody may look" [ $? = 0 ]
nobody vfabmgr --domain ring --once --engine up-down >"$out" 2>"$err"
check "nobody may not set" [ $? = 1 ]

vfabctl link set ring/sw0/p2 down >/dev/null
try "without a manager a cut loses pairs" 1 'unreachable' route trace ring 0 2
mgr "up-down goes the long way" 0 '0 lost' --domain ring --engine up-down --once -v
try "it is there" 0 'reachable' route trace ring 0 2
check "and all others" all_reach ring
vfabctl link set ring/sw0/p2 up >/dev/null

# A manager that stays
hold "/dev/vfabric/$id" 4 "view=$tmp/view"
start --domain ring --engine up-down
check "status: alive" alive ring
check "it says by whom" sh -c "vfabmgr --status ring | grep 'pid $manager, engine up-down, last look ok, 0 pairs lost'"
try "the domain says so" 0 'manager alive says "engine up-down, last look ok, 0 pairs lost" age' domain show ring
json "and by which process" ".[0].manager == \"alive\" and .[0].manager_timeout == 10000 and .[0].manager_age < 10000 and .[0].manager_pid == $manager" domain show ring
nobody vfabctl -j domain show ring >"$out" 2>"$err"
check "which is for admins" sh -c "jq -e '.[0].manager == \"alive\" and (.[0] | has(\"manager_pid\") | not)' <'$out'"
try "wait: managed" 0 '' wait ring --for managed --timeout 0
mgr "only one at a time" 1 'another manager is alive: stop it first' --domain ring --once
view
cp "$tmp/view" "$tmp/before"
vfabctl link set ring/sw0/p2 down >/dev/null
check "a cut is routed around" until_true 10 all_reach ring
view
check "pairs that are not concerned have noticed nothing" sh -c "
	for rank in 5 6 7; do
		[ \"\$(sed -n \$((rank + 1))p '$tmp/before')\" = \"\$(sed -n \$((rank + 1))p '$tmp/view')\" ] || exit 1
	done"
vfabctl route set ring/sw0 5 drop >/dev/null
check "an entry that somebody dropped is put back" until_true 10 all_reach ring
until_true 10 sh -c "vfabmgr --domain ring --engine up-down -n | grep -q . && exit 1; exit 0"
vfabctl route show ring >"$tmp/tables"
kill -TERM $manager
wait $manager
check "it ends when it is asked to" [ $? = 0 ]
mgr "status: none again" 3 'none' --status ring
json "the domain says so" '.[0].manager == "none" and (.[0] | has("manager_age") | not)' domain show ring
try "wait: not managed" 3 'not managed after 0.2 s: its manager is none' wait ring --for managed --timeout 0.2
check "and leaves the tables as they are" sh -c "vfabctl route show ring | cmp - '$tmp/tables'"
was=$(generation ring)
start --domain ring --engine up-down
check "a restart changes nothing" [ "$(generation ring)" = "$was" ]

# More events than its socket takes, and among them the one that matters
kill -STOP $manager
vfabctl link set ring/sw1/p2 flap --period 0.008 --count 700 >/dev/null
vfabctl link set ring/sw0/p2 down >/dev/null
until_true 60 quiet ring
kill -CONT $manager
check "events were lost" until_true 10 grep -q 'events were lost' "$tmp/manager"
check "and nothing else" until_true 10 all_reach ring
vfabctl link set ring/sw0/p2 up >/dev/null

# Killed at any point while links flap, the next one goes on
view
cp "$tmp/view" "$tmp/before"
(
	while [ ! -e "$tmp/enough" ]; do
		vfabctl link set ring/sw0/p2 up
		vfabctl link set ring/sw0/p2 down
	done
) >/dev/null 2>&1 &
flapper=$!
for i in 1 2 3 4 5 6 7 8; do
	sleep "0.$((i * 37 % 60 + 10))"
	kill -KILL $manager
	wait $manager 2>/dev/null
	if [ $i = 1 ]; then
		mgr "status: lost" 1 'lost: pid' --status ring
		json "the domain says so" '.[0].manager == "lost"' domain show ring
		try "wait: lost" 3 'its manager is lost' wait ring --for managed --timeout 0.1
	fi
	vfabmgr -f --domain ring --engine up-down >"$tmp/manager" 2>&1 &
	manager=$!
	holders="$holders $manager"
done
touch "$tmp/enough"
wait $flapper
vfabctl link set ring/sw0/p2 down >/dev/null
kill -KILL $manager
wait $manager 2>/dev/null
began=$(date +%s%N)
vfabmgr -f --domain ring --engine up-down >"$tmp/manager" 2>&1 &
manager=$!
holders="$holders $manager"
check "killed eight times while a link flapped: all reach each other" until_true 10 all_reach ring
echo "# $((($(date +%s%N) - began) / 1000000)) ms after the restart"
view
check "and what was not concerned has noticed nothing" sh -c "
	for rank in 5 6 7; do
		[ \"\$(sed -n \$((rank + 1))p '$tmp/before' | cut -d' ' -f2,3)\" = \
		  \"\$(sed -n \$((rank + 1))p '$tmp/view' | cut -d' ' -f2,3)\" ] || exit 1
	done
	[ \"\$(sed -n 6p '$tmp/before')\" = \"\$(sed -n 6p '$tmp/view')\" ]"
diff "$tmp/before" "$tmp/view" | sed 's/^/# /'
let_go
vfabctl domain delete ring
until_true 10 sh -c "! kill -0 $manager" 2>/dev/null
wait $manager
check "it ends with its domain" [ $? = 0 ]

# --- A torus ------------------------------------------------------------------------

vfabctl domain create torus --profile torus:4x4 --set rate_mb_per_s_per_direction=1000 >/dev/null
mgr "min-hop on a torus is refused" 1 'could deadlock' --domain torus --once
mgr "dor with one virtual channel too" 1 'could deadlock' --domain torus --once --engine dor --vcs 1
mgr "dor with two is not" 0 '120 pairs joined, 0 lost' --domain torus --once --engine dor -v
check "all reach each other" all_reach torus
vfabctl link set torus/ep0/p0 down >/dev/null
mgr "dor goes round the other way" 0 ', 0 lost' --domain torus --once --engine dor -v
check "they still do" all_reach torus
vfabctl link set torus/ep2/p0 down >/dev/null
mgr "a ring that is cut twice: up-down" 0 'up-down is used until' --domain torus --once --engine dor
check "and still" all_reach torus
mgr "dims that do not fit" 1 'do not fit' --domain torus --once --engine dor --dims 2x8

# --- Tables from a file ---------------------------------------------------------------

vfabctl route show torus >"$tmp/tables"
vfabctl -j route show torus >"$tmp/tables.json"
vfabctl route set torus/ep1 2 drop >/dev/null
mgr "a file, as text" 0 '1 written' --domain torus --once -v --engine "file:$tmp/tables"
check "is what the tables are" sh -c "vfabctl route show torus | cmp - '$tmp/tables'"
vfabctl route set torus/ep1 2 drop >/dev/null
mgr "a file, as JSON" 0 '1 written' --domain torus --once -v --engine "file:$tmp/tables.json"
check "is what they are too" sh -c "vfabctl route show torus | cmp - '$tmp/tables'"
echo 'ep1: dest 2 via port 77' >"$tmp/bad"
mgr "a file with a port that is not there" 1 'bad:1: ep1 has no port 77' --domain torus --once --engine "file:$tmp/bad"
mgr "a file that is not there" 2 'No such file' --domain torus --once --engine "file:$tmp/nosuch"
vfabctl domain delete torus

# --- One that is stuck ------------------------------------------------------------------

small_domain d1
vfabctl monitor d1 >"$tmp/events" &
holders="$holders $!"
until_true 10 sh -c "vfabctl partition create d1 --name probe >/dev/null; vfabctl partition delete d1/part1; grep -q partition '$tmp/events'"
start --domain d1 --timeout 1
check "alive" alive d1
vfabctl link set d1/ep1/p0 down >/dev/null
vfabctl route show d1 >"$tmp/tables"
kill -STOP $manager
check "stuck, it is lost when its time is up" until_true 20 grep -q 'manager changed why none lost' "$tmp/events"
mgr "status: lost" 1 ': lost: ' --status d1
check "routes stay as they are" sh -c "vfabctl route show d1 | cmp - '$tmp/tables'"
try "and so do the others" 0 'reachable: 3 of 4 paths' route trace d1 1 2
kill -CONT $manager
check "when it goes on, it is back" until_true 10 sh -c "grep 'manager changed' '$tmp/events' | tail -n 1 | grep 'why attach alive'"
kill -STOP $manager
until_true 20 sh -c "vfabmgr --status d1 | grep ': lost: '"
vfabmgr -f --domain d1 2>"$tmp/second" &
second=$!
holders="$holders $second"
check "another takes over" until_true 20 alive d1
kill -CONT $manager
wait $manager
check "and the first one ends" [ $? = 1 ]
check "and says why" grep -q 'another manager is alive' "$tmp/manager"
check "the second one goes on" alive d1
kill $second
wait $second
check "and ends well" [ $? = 0 ]
check "events tell all of it" sh -c "[ \"\$(grep 'manager changed' '$tmp/events' | sed 's/.*why //; s/ generation.*//' | tr '\n' ,)\" = \
	'attach alive,none lost,attach alive,none lost,attach alive,exit none,' ]"
vfabctl domain delete d1

# --- In the background ----------------------------------------------------------------

small_domain d1
mgr "in the background" 0 '' --domain "$id"
check "it is there" until_true 10 alive d1
kill -TERM "$(grep -o 'pid [0-9]*' "$out" | cut -d' ' -f2)"
mgr_ended() { vfabmgr --status d1; [ $? = 3 ]; }
check "and ends" until_true 10 mgr_ended
finish
