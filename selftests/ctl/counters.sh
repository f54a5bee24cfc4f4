#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# counters.sh - vfabctl counters: each is moved by a known amount, and shown, kept, compared
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-counters
#
# What only a program of one's own moves is in selftests/counter.c; all of them
# are listed, with the tests that move them, in selftests/counters.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

small_domain d1

# value ADDRESS COUNTER: "absent" where it has none
value() {
	vfabctl -j counters show "$1" | jq -r --arg a "dom$id/${1#*/}" --arg k "$2" \
		'[.[] | select(.address == $a)][0].counters[$k] | if . == null then "absent" else . end'
}

# is NAME VALUE ADDRESS COUNTER
is() {
	is_value=$(value "$3" "$4")
	[ "$is_value" = "$2" ] || echo "# $4 of $3 is $is_value instead of $2"
	check "$1" [ "$is_value" = "$2" ]
}

# sum COUNTER: over the whole domain
sum() {
	vfabctl -j counters show d1 | jq --arg k "$1" '[.[].counters[$k] // 0] | add'
}

# --- what moves them ---

is "at first: link_downed" 0 d1/ep5/p1 link_downed
is "at first: attaches" 0 d1/ep5 attaches
is "at first: nobody counts bytes, so there is no such counter" absent d1/ep5 xmit_bytes
is "at first: nor at a port" absent d1/sw1/p5 port_rcv_bytes
vfabctl link set d1/ep5/p1 down >/dev/null
vfabctl link set d1/ep5/p1 down >/dev/null
is "link_downed: a link" 1 d1/ep5/p1 link_downed
is "link_downed: its other end" 1 d1/sw1/p5 link_downed
check "link_downed: nowhere else" [ "$(sum link_downed)" = 2 ]
vfabctl switch set d1/sw1 down >/dev/null
is "link_downed: with its switch" 1 d1/ep4/p1 link_downed
is "link_downed: what is down goes down once" 1 d1/ep5/p1 link_downed
check "link_downed: 8 links, both ends" [ "$(sum link_downed)" = 16 ]
vfabctl switch set d1/sw1 up >/dev/null
vfabctl link set d1/ep5/p1 up >/dev/null
check "link_error_recovery: not for what an admin did" [ "$(sum link_error_recovery)" = 0 ]
vfabctl link set d1/ep2/p3 flap --period 0.1 --count 3 >/dev/null
check "link_error_recovery: three flaps" until_true 10 sh -c \
	'[ "$(vfabctl -j counters show "$1" | jq ".[0].counters.link_error_recovery")" = 3 ]' - d1/ep2/p3
is "link_error_recovery: its other end" 3 d1/sw3/p2 link_error_recovery
is "link_downed: it went down for each" 3 d1/ep2/p3 link_downed
check "link_error_recovery: nowhere else" [ "$(sum link_error_recovery)" = 6 ]

hold "/dev/vfabric/$id" 5 window=65536,7
owner=$holder
hold "/dev/vfabric/$id" 6 import=5,7
is "attaches" 1 d1/ep5 attaches
check "attaches: nowhere else" [ "$(sum attaches)" = 2 ]
kill "$owner"
wait "$owner" 2>/dev/null
check "peers_lost: one peer" until_true 10 sh -c \
	'[ "$(vfabctl -j counters show "$1" | jq ".[0].counters.peers_lost")" = 1 ]' - d1/ep6
hold "/dev/vfabric/$id" 5
owner=$holder
is "attaches: once more" 2 d1/ep5 attaches
check "peers_lost: nowhere else" [ "$(sum peers_lost)" = 1 ]

hold "/dev/vfabric/$id" 4 refused=3
is "imports_refused" 3 d1/ep4 imports_refused
check "imports_refused: nowhere else" [ "$(sum imports_refused)" = 3 ]
let_go

hold "/dev/vfabric/$id" 3 count=5,1001,2
is "xmit_bytes" 1001 d1/ep3 xmit_bytes
is "xmit_ops" 2 d1/ep3 xmit_ops
is "rcv_bytes" 1001 d1/ep5 rcv_bytes
is "rcv_ops" 2 d1/ep5 rcv_ops
is "xmit_bytes: not of who received" 0 d1/ep5 xmit_bytes
check "bytes: nowhere else" [ "$(sum xmit_bytes) $(sum rcv_bytes)" = "1001 1001" ]
check "port_xmit_bytes: over four planes, at ports of rank 3 and of switches" \
	[ "$(sum port_xmit_bytes) $(sum port_rcv_bytes)" = "2002 2002" ]
check "port_xmit_bytes: evenly" [ "$(value d1/ep3/p0 port_xmit_bytes)" -ge 250 ]
is "port_xmit_bytes: not of another one" 0 d1/ep4/p0 port_xmit_bytes
is "port_xmit_bytes: not what it received" 0 d1/ep5/p0 port_xmit_bytes
is "port_rcv_bytes: not what it sent" 0 d1/ep3/p0 port_rcv_bytes
is "port_xmit_bytes: the switch's port to rank 5" "$(value d1/ep5/p2 port_rcv_bytes)" d1/sw2/p5 port_xmit_bytes
let_go
is "xmit_bytes: stay when the endpoint is left" 1001 d1/ep3 xmit_bytes

# --- show ---

try "show: a port" 0 "dom$id/ep5/p1: port_xmit_bytes 0 port_rcv_bytes 250 link_downed 1" counters show d1/ep5/p1
check "show: only that" [ "$(wc -l <"$out")" = 1 ]
try "show: an endpoint and its ports" 0 "dom$id/ep5: xmit_bytes 0 rcv_bytes 1001 xmit_ops 0 rcv_ops 2 attaches 2" counters show d1/ep5
check "show: all five" [ "$(wc -l <"$out")" = 5 ]
try "show: a switch's ports" 0 "dom$id/sw1/p5: port_xmit_bytes 250 port_rcv_bytes 0 link_downed 1" counters show d1/sw1
check "show: all eight" [ "$(wc -l <"$out")" = 8 ]
json "show: a domain" 'length == 8 + 2 * 32' counters show d1
json "show: as JSON" '.[0] | .rank == 5 and .counters.attaches == 2 and has("port") == false' counters show d1/ep5
json "show: a switch's port as JSON" '.[0] | .switch == 1 and .port == 5 and .counters.link_downed == 1' \
	counters show d1/sw1/p5
json "show: only those that are not 0" 'all(.[]; [.counters[]] | min > 0)' counters show d1 --nonzero
json "show: only one" '[.[] | .counters | keys] | unique == [["peers_lost"]]' counters show d1 --only peers_lost
is "show: without a source it is absent" absent d1/ep5/p1 port_xmit_wait
json "show: all domains" 'length == 8 + 2 * 32' counters show
json "show: without the verb" 'length == 1' counters show d1/ep5/p1
try "show: no such endpoint" 1 'not below the world size 8' counters show d1/ep9
try "show: no such port" 1 '' counters show d1/ep5/p9
try "show: no such switch" 1 'not below the number of switches 4' counters show d1/sw9
try "show: no such domain" 1 'no such domain' counters show nobody
try "show: no such counter" 2 'there is no counter "speed"' counters show d1 --only speed
try "show: a node" 2 'not an address of this kind' counters show d1/node0

# --- snapshot and diff ---

try "snapshot" 0 '' counters snapshot d1 "$tmp/before"
check "it is JSON" jq -e --arg u $uuid '.format == "vfabric-counters" and .domain.uuid == $u and
	.domain.name == "d1" and (.links | length) == 32 and (.counters | length) == 72 and
	(.time | test("^2[0-9]{3}-[0-9-]+T[0-9:.]+Z$"))' "$tmp/before"
try "diff: nothing moved" 0 'nothing moved' counters diff "$tmp/before"
json "diff: nothing moved, as JSON" 'length == 0' counters diff "$tmp/before"
kill "$owner"
wait "$owner" 2>/dev/null
hold "/dev/vfabric/$id" 5
owner=$holder
vfabctl link set d1/ep1/p2 down >/dev/null
vfabctl link set d1/ep3/p0 down >/dev/null
vfabctl link set d1/ep3/p0 up >/dev/null
try "diff: the link that is down first" 0 '' counters diff "$tmp/before"
check "diff: both of its ends, and why" \
	[ "$(sed -n 2p "$out")" = "dom$id/ep1/p2 - dom$id/sw2/p1: ACTIVE, now OFF (admin)" ]
check "diff: what moved" [ "$(sed -n 3p "$out")" = "    dom$id/ep1/p2: link_downed +1" ]
check "diff: then the one that was" [ "$(sed -n 5p "$out")" = "dom$id/ep3/p0 - dom$id/sw0/p3: ACTIVE" ]
json "diff: as JSON" '.[0].address == "dom'"$id"'/ep1/p2" and .[0].peer == "dom'"$id"'/sw2/p1" and
	.[0].suspicion == "state" and .[0].state == "OFF" and .[0].was == "ACTIVE" and
	.[0].moved["dom'"$id"'/sw2/p1"].link_downed == 1 and .[1].suspicion == "errors" and
	any(.[]; .address == "dom'"$id"'/ep6" and .moved[.address].peers_lost == 1) and
	any(.[]; .address == "dom'"$id"'/ep5" and .moved[.address].attaches == 1)' counters diff "$tmp/before"
json "diff: links before those who suffered" '[.[] | .peer != null] | . == (sort | reverse)' \
	counters diff "$tmp/before"
try "snapshot: the second" 0 '' counters snapshot d1 "$tmp/after"
vfabctl link set d1/ep1/p2 up >/dev/null
json "diff: of two files" '.[0].state == "OFF" and length == 4' counters diff "$tmp/before" "$tmp/after"
try "diff: in the wrong order" 1 'the older one' counters diff "$tmp/after" "$tmp/before"
vfabctl counters snapshot d1 - >"$tmp/stdout"
check "snapshot: to the standard output" jq -e .format "$tmp/stdout"
check "diff: from the standard input" sh -c 'vfabctl -j counters diff - "$1" <"$2" | jq -e "length == 4"' \
	- "$tmp/after" "$tmp/before"

try "clear: a port" 0 '' counters clear d1/ep5/p1
is "clear: it is 0" 0 d1/ep5/p1 link_downed
is "clear: and no other one" 1 d1/sw1/p5 link_downed
try "diff: says what was cleared" 0 "dom$id/ep5/p1 was cleared in between" counters diff "$tmp/before"
vfabctl link set d1/ep5/p1 down >/dev/null
vfabctl link set d1/ep5/p1 up >/dev/null
try "clear: an endpoint and its ports" 0 '' counters clear d1/ep2
is "clear: the endpoint" 0 d1/ep2/p3 link_error_recovery
try "clear: a domain" 0 '' counters clear d1
json "clear: all are 0" 'length == 0' counters show d1 --nonzero
vfabctl link set d1/ep3/p0 down >/dev/null
json "diff: over a clearing, what was counted since" '.[0].address == "dom'"$id"'/ep3/p0" and
	.[0].moved["dom'"$id"'/ep3/p0"].link_downed == 1' counters diff "$tmp/before"
vfabctl link set d1/ep3/p0 up >/dev/null
try "clear: no such port" 1 '' counters clear d1/ep5/p9
try "clear: nothing named" 2 'is missing' counters clear
nobody vfabctl counters clear d1 >"$out" 2>"$err"
check "clear: not for everybody" grep -q 'CAP_NET_ADMIN' "$err"
check "show: for everybody" nobody vfabctl counters show d1

small_uuid=$uuid
vfabctl counters snapshot d1 "$tmp/quiet"
hold "/dev/vfabric/$id" 2 count=0,4000,1 count=1,4000,1 count=3,4000,1 count=4,40000,1 count=7,4000,1
try "diff: traffic only" 0 "dom$id/ep2/p" counters diff "$tmp/quiet"
check "diff: the most traffic first" sh -c 'sed -n 2p "$1" | grep -q "^dom$2/ep2/p. - dom$2/sw"' - "$out" "$id"
check "diff: 20 of it" [ "$(grep -c '^dom.*/' "$out")" = 20 ]
check "diff: how many more" grep -q '^and 10 more where only traffic moved' "$out"
try "diff: all of it" 0 '' counters diff "$tmp/quiet" --all
check "diff: 24 links and 6 endpoints" [ "$(grep -c '^dom.*/' "$out")" = 30 ]
json "diff: JSON has all of it" 'length == 30 and all(.[]; .suspicion == "none") and
	([.[] | .moved[.address].xmit_bytes // 0] | add) == 56000' counters diff "$tmp/quiet"
vfabctl link set d1/ep7/p3 down >/dev/null
json "diff: errors before traffic" '.[0].address == "dom'"$id"'/ep7/p3"' counters diff "$tmp/quiet"
vfabctl link set d1/ep7/p3 up >/dev/null
let_go

vfabctl domain create d2 --size 2 --planes 1 >/dev/null
vfabctl counters snapshot d2 "$tmp/other"
try "diff: of different domains" 1 'they are of different domains: "d1"' counters diff "$tmp/before" "$tmp/other"
vfabctl domain delete d2
try "diff: the domain was deleted" 1 '"d2" was deleted' counters diff "$tmp/other"
vfabctl domain create d2 --size 2 --planes 1 >/dev/null
try "diff: another one of its name is another one" 1 '"d2" was deleted' counters diff "$tmp/other"
let_go
kill "$holders" 2>/dev/null
vfabctl domain delete d1 --force
vfabctl domain create again --size 8 --planes 4 --uuid "$small_uuid" >/dev/null
id=$(domain_id again)
vfabctl link set again/ep1/p1 down >/dev/null
json "diff: made again with its UUID, under another id" '.[0].address == "dom'"$id"'/ep1/p1"' \
	counters diff "$tmp/after"
try "snapshot: no such domain" 1 'no such domain' counters snapshot nobody "$tmp/none"
check "snapshot: then there is no file" [ ! -e "$tmp/none" ]
try "snapshot: nowhere to write" 2 'cannot write' counters snapshot again /dev/full
try "snapshot: no such directory" 2 'cannot write' counters snapshot again "$tmp/none/x"
check "snapshot: standard output that is lost" unwritten vfabctl counters snapshot again -

# The largest domain, in one piece
vfabctl domain delete d2
vfabctl domain create big --size 1024 >/dev/null
try "snapshot: 1024 endpoints" 0 '' counters snapshot big "$tmp/big"
check "all of them" jq -e '(.counters | length) == 1024 + 2 * 18432' "$tmp/big"
vfabctl link set big/ep1000/p17 down >/dev/null
json "diff: the one of 18432" 'length == 1 and .[0].peer == "dom'"$(domain_id big)"'/sw17/p1000"' \
	counters diff "$tmp/big"
finish
