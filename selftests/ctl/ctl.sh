#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# ctl.sh - vfabctl and the module: each verb done, and each verb refused
#
# by example:
#
#	scripts/vm run --timeout 300 -- selftests/run.sh ctl
#
# As root, with the module loaded and no domain there; leaves none. Prints TAP.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib.sh
. "$here/lib.sh"

holders=
trap 'cleanup' EXIT
trap 'exit 1' INT TERM

# shellcheck disable=SC2317 # called by trap
cleanup() {
	# shellcheck disable=SC2086 # several numbers
	[ -z "$holders" ] || kill $holders 2>/dev/null
	for id in $(vfabctl -j domain show 2>/dev/null | jq '.[].id'); do
		vfabctl domain delete "$id" --force
	done
	vfabctl system set netns exclusive 2>/dev/null
	rm -rf "$tmp"
}

# hold ARGUMENTS...: a process that holds an endpoint; its number is in $holder
hold() {
	"$here/hold" "$@" >"$tmp/hold" 2>&1 &
	holder=$!
	holders="$holders $holder"
	until_true 20 grep -q . "$tmp/hold"
	grep -q '^ready' "$tmp/hold" || echo "# hold $*: $(cat "$tmp/hold")"
}

# let_go: the last one ends
let_go() {
	kill "$holder"
	wait "$holder" 2>/dev/null
}

# shellcheck disable=SC2317 # called by check
is_char_device() {
	[ -c "$1" ] && [ "$(stat -c '%a %u:%g' "$1")" = "$2" ]
}

nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

echo "TAP version 13"

json "no domain" '. == []' domain show
try "no domain, in text" 0 '' domain show
check "no domain prints nothing" [ ! -s "$out" ]
json "no endpoint" '. == []' endpoint show
try "an object alone shows" 0 '' domain
try "an unknown domain" 1 'vfabctl: domain "d1": no such domain' domain show d1
try "nothing is no empty list" 1 'no such domain' -j domain show d1
try "an unknown id" 1 'vfabctl: domain "dom0": no such domain' domain show dom0

# domain
u=01234567-89ab-cdef-0123-456789abcdef
try "domain create" 0 'name d1' domain create d1 --size 8 --planes 4 --uuid $u --mode 0640 \
	--user 65534 --group daemon --peer-death keep --retry-timeout 100 --mem-limit 64M \
	--rate 1000 --latency 250
id=$(vfabctl -j domain show d1 | jq '.[0].id')
check "it prints the uuid" said "uuid $u"
check "it prints the device file" said "device /dev/vfabric/$id"
check "the device file is as asked for" is_char_device "/dev/vfabric/$id" "640 65534:1"
json "all was taken" ".[0] | .name == \"d1\" and .id == $id and .uuid == \"$u\" and .size == 8
	and .planes == 4 and .mode == \"0640\" and .uid == 65534 and .gid == 1
	and .peer_death == \"keep\" and .retry_timeout == 100 and .mem_limit == 67108864
	and .mem_used == 0 and .rate == 1000 and .latency == 250 and .attached == 0
	and .device == \"/dev/vfabric/$id\" and .address == \"dom$id\"" domain show d1
try "domain create: the name is taken" 1 'a domain of this name exists' domain create d1 --size 8
try "domain create: the uuid is taken" 1 'a domain of this UUID exists' \
	domain create d2 --size 8 --uuid $u
try "domain create: the zero uuid" 1 'the zero UUID' \
	domain create d2 --size 8 --uuid 00000000-0000-0000-0000-000000000000
json "domain create: as JSON, with defaults" '.[0] | .size == 1 and .planes == 18
	and .mode == "0600" and .uid == 0 and .peer_death == "revoke"' domain add --size 1
json "a domain without a name" '.[1] | .name == .address' domain list
try "domain delete: by id" 0 '' domain del "$(jq '.[1].id' "$out")"
check "it prints nothing" [ ! -s "$out" ]
json "the other one is left" 'length == 1' domain ls
try "domain delete: unknown" 1 'no such domain' domain delete nobody
json "shown by name" ".[0].id == $id" domain show d1
json "shown by address" ".[0].name == \"d1\"" domain show "dom$id"
json "shown by id" ".[0].name == \"d1\"" domain show "$id"
try "abbreviated" 0 'name d1' dom s"h" d1
try "domain set" 0 '' domain set d1 --peer-death revoke --retry-timeout 0 --mem-limit 0
json "it is set" '.[0] | .peer_death == "revoke" and .retry_timeout == 0 and .mem_limit == 0' \
	domain show d1
try "no limit, in text" 0 'mem-limit none' domain show d1
try "domain set: unknown" 1 'no such domain' domain set nobody --mem-limit 1G

# wait
try "domain wait: ready" 0 '' domain wait d1 --for ready --timeout 5
try "wait: ready" 0 '' wait d1
try "wait: not ready, no such domain" 3 'not ready after 0.2 s: there is no such domain' \
	wait nobody --timeout 0.2
nobody vfabctl wait d1 --timeout 0 >"$out" 2>"$err"
check "wait: not ready for who may not open it" [ $? = 0 ]	# uid 65534 owns it
setpriv --reuid 65533 --regid 65533 --clear-groups vfabctl wait d1 --timeout 0 >"$out" 2>"$err"
check "wait: ready only for who may open it" [ $? = 3 ]
check "it says why" said "/dev/vfabric/$id: Permission denied"
try "wait: nothing attached" 0 '' wait d1 --for attached=0
try "wait: attached, but nobody is" 3 'not attached=1 after 0.1 s: 0 attached' \
	wait d1 --for attached=1 --timeout 0.1
try "wait: deleted, but it is there" 3 'it is there' wait d1 --for deleted --timeout 0.1
try "wait: deleted" 0 '' wait nobody --for deleted --timeout 0
(sleep 0.5; vfabctl domain create late --size 2 >/dev/null) &
try "wait: ready comes later" 0 '' wait late --timeout 20
(sleep 0.5; vfabctl domain delete late) &
try "wait: deleted comes later" 0 '' wait late --for deleted --timeout 20

# partition
try "partition create" 0 'name jobs members 4-6 count 3' \
	partition create d1 3 --name jobs --members 4-6
check "it prints the device file" said "device /dev/vfabric/$id.3"
check "its device file is there" is_char_device "/dev/vfabric/$id.3" "640 65534:1"
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
vfabctl partition set d1/part0 --add 0-7
vfabctl partition delete d1/part1
vfabctl partition delete d1/part3

# endpoint and window
json "endpoint show" 'length == 8 and [.[].rank] == [0,1,2,3,4,5,6,7]' endpoint show d1
json "endpoint show: NVML's names" ".[0] | .clusterUuid == \"$u\" and .cliqueId == 0
	and .state == \"COMPLETED\" and .status == \"SUCCESS\" and .healthMask == 170
	and .healthSummary == \"HEALTHY\" and .health.degradedBw == \"FALSE\"
	and .ports_up == 4 and .held == false and (has(\"pid\") | not)" endpoint show d1/ep5
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

# switch, port, link
json "switch show" 'length == 4 and (all(.up and .ports_up == 8 and .ports == 8))' switch show d1
try "switch set down" 0 'routes-changed 56 routes-lost 0' switch set d1/sw3 down
json "switch show: down" '.[0] | .up == false and .ports_up == 0' switch show d1/sw3
json "a link is as down as its switch" '.[0] | .up and .state == "OFF" and .reason == "switch"' \
	link show d1/ep2/sw3
json "its planes degrade health" '.[0] | .healthSummary == "LIMITED_CAPACITY" and .healthMask == 169
	and .health.degradedBw == "TRUE" and .ports_up == 3' endpoint show d1/ep2
json "switch set up, as JSON" '.[0] | .routes_changed == 56 and .routes_lost == 0' sw set d1/sw3 u
try "switch set: out of range" 1 'not below' switch set d1/sw4 down
try "switch show: out of range" 1 'not below' switch show d1/sw4
try "switch show: unknown domain" 1 'no such domain' switch show nobody
json "port show: of an endpoint" 'length == 4 and .[3].peer == "dom'"$id"'/sw3/p2"' port show d1/ep2
json "port show: of a switch" 'length == 8 and .[2].peer == "dom'"$id"'/ep2/p3"' port show d1/sw3
json "port show: of a domain" 'length == 64' port show d1
json "port show: one of an endpoint" '.[0] | .rank == 2 and .port == 3 and .state == "ACTIVE"
	and .rate == 1000 and .latency == 250' port show d1/ep2/p3
json "port show: one of a switch" '.[0] | .switch == 3 and .port == 2' port show d1/sw3/p2
try "port show, in text" 0 "peer dom$id/sw3/p2 up state ACTIVE rate 1 GB/s latency 250 ns" \
	port show d1/ep2/p3
try "port show: out of range" 1 'not below' port show d1/ep2/p4
try "port show: rank out of range" 1 'rank 8 is not below the world size 8' port show d1/ep8
try "port show: switch out of range" 1 'switch 4 is not below the number of planes 4' port show d1/sw4
try "port set down" 0 'routes-changed 14' port set d1/ep2/p3 down
json "the other end is down as well" '.[0] | (.up | not) and .state == "OFF" and .reason == "admin"' \
	port show d1/sw3/p2
try "port set up, at the other end" 0 'routes-changed 14' port set d1/sw3/p2 up
try "port set: out of range" 1 'not below' port set d1/sw3/p8 down
json "link show: of a domain" 'length == 32' link show d1
json "link show: of an endpoint" 'length == 4 and all(.rank == 2)' link show d1/ep2
json "link show: of a switch" 'length == 8 and all(.switch == 3)' link show d1/sw3
json "link show: one, by either port" '.[0] | .rank == 2 and .switch == 3' link show d1/sw3/p2
try "link show: out of range" 1 'not below' link show d1/ep8/sw3
try "link show: rank out of range" 1 'rank 8 is not below the world size 8' link show d1/ep8
try "link set: one" 0 'routes-changed 14 routes-lost 0' link set d1/ep2/p3 down
try "link set: of a switch" 0 'routes-changed 42 routes-lost 0' link set d1/sw3 down
try "link set: of an endpoint" 0 'routes-changed 14 routes-lost 14' link set d1/ep5 down
json "no port is up" '.[0] | .healthSummary == "UNHEALTHY" and .health.routeUnhealthy == "TRUE"
	and .ports_up == 0' endpoint show d1/ep5
try "link set: out of range" 1 'not below' link set d1/ep8 down
vfabctl link set d1/ep5 up >/dev/null
vfabctl link set d1/sw3 up >/dev/null
json "all is up" 'all(.state == "ACTIVE")' link show d1

# route
json "route show: of a domain" 'length == 32 and all(.egress == .dest)' route show d1
json "route show: of a switch" 'length == 8 and all(.switch == 3)' route show d1/sw3
json "route show: to a destination" 'length == 4 and all(.dest == 2)' route show d1 --dest 2
json "route show: one" '. == [{address: "dom'"$id"'/sw3", domain: '"$id"', switch: 3, dest: 2, egress: 2}]' \
	route show d1/sw3 --dest 2
try "route show: destination out of range" 1 'rank 8 is not below the world size 8' \
	route show d1 --dest 8
try "route show: switch out of range" 1 'switch 4 is not below the number of planes 4' route show d1/sw4
try "route show: one, out of range" 1 'not below' route show d1/sw4 --dest 2
try "route trace" 0 'reachable: 4 of 4 paths, 4 GB/s per direction, 250 ns' route trace d1 5 2
try "route set: drop" 0 'routes-changed 14 routes-lost 0' route set d1/sw0 2 drop
try "route set: elsewhere" 0 'routes-changed 14 routes-lost 0' route set d1/sw1 2 via 3
vfabctl route set d1/sw2 5 drop >/dev/null
vfabctl link set d1/ep2/p3 down >/dev/null
json "route show: a dropped entry" '.[0].egress == null' route show d1/sw0 --dest 2
try "a dropped entry, in text" 0 'dest 2 drop' route show d1/sw0 --dest 2
try "route trace: not reachable" 1 'unreachable: 0 of 4 paths' route trace d1 5 2
check "no entry" said 'sw0 in 5 out none no-entry'
check "misrouted" said 'sw1 in 5 out 3 misrouted'
check "no return" said 'sw2 in 5 out 2 no-return'
check "destination down" said 'sw3 in 5 out 2 dst-down'
vfabctl -j route trace d1 2 5 >"$out"
check "the answer no is a status" [ $? = 1 ]
check "the way back, as JSON" jq -e '.[0] | .reachable == false and .paths == 0 and .planes == 4 and
	[.hops[].verdict] == ["no-return", "no-return", "no-entry", "src-down"] and
	.hops[2].out_port == null and .hops[0].out_port == 5' "$out"
vfabctl link set d1/ep2/p3 up >/dev/null
try "route set: in all switches" 0 'routes-changed 14' route set d1 2 via 2
vfabctl route set d1 5 via 5 >/dev/null
try "route trace: all is well again" 0 'reachable: 4 of 4 paths' route trace d1 5 2
try "route set: destination out of range" 1 'not below' route set d1 8 drop
try "route set: no such port" 1 'no such port' route set d1/sw0 2 via 8
try "route set: switch out of range" 1 'not below' route set d1/sw4 2 drop
try "route trace: to itself" 1 'reaches itself' route trace d1 2 2
try "route trace: out of range" 1 'not below' route trace d1 2 8
vfabctl partition create d1 1 --members 2 >/dev/null
try "route trace: another partition" 1 'unreachable: 0 of 4 paths, 4 planes would carry it' \
	route trace d1 5 2
vfabctl partition set d1/part0 --add 2

# topo: the same answers as trace gives
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
try "domain delete --force" 0 '' domain delete d1 --force
check "no device file is left" [ -z "$(ls /dev/vfabric 2>/dev/null)" ]

# 72 endpoints, and 1024
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
check "the plane that is down" said 'sw3 in 5 out 9 switch-down'
for object in domain partition endpoint window switch port link route; do
	json "-j $object show" 'type == "array"' $object show rack
	json "-jp $object show" 'type == "array"' -p $object show
done
json "-j system show" '.[0].domains == 1' system show
vfabctl domain create big --size 1024 --planes 64 >/dev/null
json "1024 endpoints" 'length == 1024' endpoint show big
json "65536 links, each once" 'length == 65536 and ([.[] | .rank * 64 + .switch] | unique | length) == 65536' \
	link show big
json "65536 entries" 'length == 65536 and all(.egress == .dest)' route show big
json "topo of 1024" '.[0] | .group == 64 and (.rows | length) == 16 and all(.rows[]; all(.paths[]; . == 64))' \
	topo big

# Dumps while something changes: the state of one moment, or a refusal
(while :; do vfabctl switch set big/sw7 down; vfabctl switch set big/sw7 up; done) >/dev/null 2>&1 &
flapper=$!
mixed=0 said=0
for i in 1 2 3 4 5 6; do
	if vfabctl -j link show big >"$out" 2>"$err"; then
		jq -e 'length == 65536 and ([.[] | select(.switch == 7) | .state] | unique | length) == 1' \
			"$out" >/dev/null || mixed=1
	else
		grep -q 'interrupted' "$err" && [ ! -s "$out" ] || said=1
	fi
done
check "a dump never mixes two moments" [ $mixed = 0 ]
check "a dump that cannot be had is refused" [ $said = 0 ]
kill $flapper
wait $flapper 2>/dev/null
(while :; do vfabctl domain create x --size 4; vfabctl domain delete x; done) >/dev/null 2>&1 &
flapper=$!
bad=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	if vfabctl -j domain show >"$out" 2>"$err"; then
		jq -e 'map(select(.name != "x") | .name) == ["rack", "big"] and length <= 3' "$out" >/dev/null || bad=1
	else
		grep -q 'interrupted' "$err" || bad=1
	fi
done
check "a dump of domains that come and go" [ $bad = 0 ]
kill $flapper
wait $flapper 2>/dev/null
vfabctl domain delete x 2>/dev/null
vfabctl domain delete big

# monitor
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

id=$(vfabctl -j domain show rack | jq '.[0].id')
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
check "monitor: a link" grep -q "^dom$id/ep5/sw2: link changed why link down routes-changed 142 routes-lost 0" "$out"
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

try "monitor: nothing in time" 0 '' monitor --timeout 0.1
try "monitor: too few in time" 3 '0 of 3 events came in 0.1 s' monitor --count 3 --timeout 0.1

default=$(cat /proc/sys/net/core/rmem_default)
echo 2304 >/proc/sys/net/core/rmem_default
listen -j monitor --timeout 8
kill -STOP "$monitor"
for i in 1 2 3 4 5 6 7 8 9 10; do
	vfabctl domain set rack --retry-timeout $i
done
kill -CONT "$monitor"
echo "$default" >/proc/sys/net/core/rmem_default
until_true 5 grep -q overflow "$tmp/events"
vfabctl domain set rack --retry-timeout 0
heard
check "monitor: lost events are reported" jq -es 'any(.action == "overflow")' "$out"
# shellcheck disable=SC2016 # jq's variables
check "monitor: the present state follows" jq -es '. as $all | (map(.action == "overflow") | index(true)) as $i
	| $all[$i + 1] | .name == "rack" and .retry_timeout == 10' "$out"
check "monitor: it goes on" jq -es 'last | .object == "domain" and .action == "changed"' "$out"

# system, and who may do what
json "system show" '.[0] | .netns == "exclusive" and .domains == 1 and .user_mem_limit > 0' system show
unshare -n vfabctl -j domain show >"$out" 2>"$err"
check "another network namespace sees nothing" jq -e '. == []' "$out"
try "system set" 0 '' system set netns shared
json "it is set" '.[0].netns == "shared"' system show
unshare -n vfabctl -j domain show >"$out" 2>"$err"
check "another network namespace sees it" jq -e '.[0].name == "rack"' "$out"
unshare -n vfabctl switch set rack/sw1 down >"$out" 2>"$err"
check "but does not change it" [ $? = 1 ]
check "it says why not" said 'belongs to another network namespace'
vfabctl system set netns exclusive
nobody vfabctl -j domain show >"$out" 2>"$err"
check "everybody may look" jq -e '.[0].name == "rack"' "$out"
for words in "domain create --size 4" "domain delete rack" "domain set rack --retry-timeout 1" \
	"partition create rack 9" "partition set rack/part7 --add 1" "partition delete rack/part7" \
	"endpoint evict rack/ep1" "switch set rack/sw1 down" "port set rack/ep1/p1 down" \
	"link set rack/ep1 down" "route set rack 1 drop" "system set netns shared"; do
	# shellcheck disable=SC2086 # several words
	nobody vfabctl $words >"$out" 2>"$err"
	check "not everybody: $words" [ $? = 1 ]
	check "it says what is needed: $words" said 'CAP_NET_ADMIN in the initial user namespace'
done
json "and nothing has changed" '.[0] | .attached == 0 and .retry_timeout == 0' domain show rack

try "the end" 0 '' domain delete rack
json "no domain is left" '. == []' domain show
check "no device file is left at the end" [ -z "$(ls /dev/vfabric 2>/dev/null)" ]
finish
