#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# vfabtop.sh - vfabtop, printed and on terminals
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-vfabtop

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

# top NAME STATUS FRAGMENT ARGUMENTS...
top() {
	top_name=$1 top_status=$2 top_said=$3
	shift 3
	vfabtop "$@" >"$out" 2>"$err" </dev/null
	top_rc=$?
	[ "$top_rc" = "$top_status" ] || echo "# vfabtop $*: status $top_rc instead of $top_status"
	[ "$top_rc" = "$top_status" ] && { [ -z "$top_said" ] || said "$top_said"; }
	result $? "$top_name"
}

# on NAME SIZE TERM ARGUMENTS... -- ACTIONS...: see selftests/ctl/screen
on() {
	on_name=$1 on_size=$2 on_term=$3
	shift 3
	check "$on_name" "$here/screen" "$on_size" "$on_term" vfabtop "$@"
	[ ! -s "$tmp/check" ] || sed 's/^/# /' "$tmp/check"
	: >"$tmp/check"
}

# row TABLE N: the N-th row below the heading that begins with TABLE
row() {
	awk -v want="$1" -v n="$2" '$1 == want { at = NR + n } NR == at' "$out"
}

# widest: of the printed lines
# shellcheck disable=SC2317 # called by check
widest() {
	awk 'length > most { most = length } END { print most }' "$out"
}

small_domain d1
hold "/dev/vfabric/$id" 6 "comm=$(printf 'e\033[2Jil')"
vfabctl link set d1/ep5 down >/dev/null
vfabctl link set d1/ep2/p1 degrade --rate 250 >/dev/null
vfabctl link set d1/ep3/p1 down >/dev/null
vfabctl partition set d1/part0 --del 4

top "batch: one reading" 0 "1 domain; 8 endpoints: 1 held, 3 not well; 32 links: 6 not well" -b -n 1 -d 0.1
check "batch: the domain" [ "$(row DOMAIN 1 | awk '{ print $1, $2, $3, $4, $5, $6 }')" = "dom$id d1 8 1 32 4" ]
check "batch: the worst endpoint first" \
	[ "$(row ENDPOINT 1 | awk '{ print $1, $2, $3, $4, $5, $6 }')" = "dom$id/ep5 COMPLETED UNHEALTHY 0/4 0 -" ]
check "batch: then the next" [ "$(row ENDPOINT 2 | awk '{ print $1, $3, $4 }')" = "dom$id/ep3 LIMITED 3/4" ]
check "batch: then who is in no partition" \
	[ "$(row ENDPOINT 3 | awk '{ print $1, $2, $5 }')" = "dom$id/ep4 NOT_STARTED none" ]
check "batch: the holder, its name made harmless" sh -c 'grep -q "ep6 .* $1 e?\[2Jil " "$2"' - "$holder" "$out"
check "batch: rates that nobody counts are not 0" [ "$(row ENDPOINT 1 | awk '{ print $7, $8, $9 }')" = "- - -" ]
check "batch: the worst link first" \
	[ "$(row LINK 1 | awk '{ print $1, $2, $3, $4, $5, $9 }')" = "dom$id/ep3/p1 sw1/p3 OFF admin 1.0G 1" ]
check "batch: a degraded one" grep -q "dom$id/ep2/p1 *sw1/p2 *DEGRADED degraded *250M" "$out"
check "batch: all links" [ "$(grep -c '/p[0-9] *sw' "$out")" = 32 ]
check "batch: 80 columns" [ "$(widest)" -le 80 ]
top "batch: by address" 0 '' -b -n 1 -d 0.1 -s address
check "batch: the first one first" [ "$(row LINK 1 | awk '{ print $1 }')" = "dom$id/ep0/p0" ]
top "batch: few rows, twice" 0 '' -b -n 2 -d 0.1 -r 3
check "batch: so few" [ "$(grep -c '/p[0-9] *sw' "$out")" = 6 ]
hold "/dev/vfabric/$id" 7 rate=0,10000,1
top "batch: rates" 0 '' -b -n 1 -d 0.5 -s rate
check "batch: who sends most is first" [ "$(row ENDPOINT 1 | awk '{ print $1 }')" = "dom$id/ep7" ]
# A hundred times a second, or less often on a slow machine
# shellcheck disable=SC2317 # called by check
about_a_million() {
	echo "$1" | grep -qE '^([1-9][0-9][0-9](\.[0-9])?K|1\.[0-4]M)$'
}
check "batch: what it sends" about_a_million "$(row ENDPOINT 1 | awk '{ print $(NF - 2) }')"
check "batch: who receives is next" [ "$(row ENDPOINT 2 | awk '{ print $1, $(NF - 2) }')" = "dom$id/ep0 0" ]
check "batch: its links carry a quarter each" sh -c 'echo "$1" | grep -qE "^(1?[0-9]?[0-9]|2[0-9][0-9]|3[0-4][0-9])(\.[0-9])?K$"' \
	- "$(awk '/ep7\/p0 / { print $7 }' "$out")"
check "batch: load against the rate" [ "$(row LINK 1 | awk '{ print $6 }')" = "0%" ]
check "batch: the domain" about_a_million "$(row DOMAIN 1 | awk '{ print $7 }')"
let_go
vfabctl domain create d2 --size 2 --planes 1 >/dev/null
top "batch: all domains" 0 '2 domains; 10 endpoints' -b -n 1 -d 0.1
top "batch: one domain" 0 '1 domain; 2 endpoints' -b -n 1 -d 0.1 d2
top "batch: by its id" 0 '1 domain; 8 endpoints' -b -n 1 -d 0.1 "dom$id"
top "no such domain" 1 'domain "nobody": no such domain' -b -n 1 nobody
top "no terminal" 2 'no terminal: give -b' -n 1
check "batch: output that is lost" unwritten vfabtop -b -n 1 -d 0.1
check "who is no admin sees that it is held" sh -c 'setpriv --reuid 65534 --clear-groups "$(command -v vfabtop)" -b -n 1 -d 0.1 d1 | grep -q "ep6 .* held "'
vfabctl domain delete d2

on "80x24: endpoints and links, the worst first" 80x24 vt100 -d 0.5 -- \
	"see:q: quit" "see:dom$id/ep5 " "see:dom$id/ep3/p1" "line:0:vfabtop" "line:1:1 domain;" key:q end:0
on "a change is seen" 80x24 vt100 -d 0.2 -n 5 -- see:d1 end:0
on "keys" 80x24 xterm -d 0.5 -- "see:>endpoints" 'key:\t\x0c' "see:>links" "see:by worst" \
	'key:s\x0c' "see:links  1-" "see:by address" 'key:r\x0c' "see:by address, reversed" \
	'key:z\x0c' "see:>links  1-20 of 32" not:ENDPOINT 'key:\e[6~' see:-32 'key:\x0cz' \
	'key:e\x0c' "see:>endpoints" 'key:d\x0c' "see:>domains" 'key:h\x0c' "see:this help" \
	'key:h\x0c' "see:>domains" 'key:+\x0c' "see:every 1 s" 'key:--\x0c' "see:every 0.25 s" \
	'key:p\x0c' see:paused 'key: p\x0c' key:q end:0
on "resized" 80x24 xterm -d 0.3 -- see:LINK size:120x50 "see:dom$id/ep0/p3" size:40x12 "see:dom$id/ep5" \
	size:200x60 "see:dom$id/ep7" size:9x3 ran:0.5 size:1x1 ran:0.5 size:80x24 see:LINK key:q end:0
on "small from the start" 20x4 xterm -d 0.3 -- see:vfabtop key:zlhhsr ran:0.5 key:q end:0
for sig in TERM INT HUP QUIT PIPE; do
	on "ended by SIG$sig" 80x24 xterm -d 0.3 -- see:LINK sig:$sig end:0
done
on "Ctrl-C" 80x24 xterm -- see:LINK 'key:\x03' end:0
on "it crashes" 80x24 xterm -- see:LINK sig:SEGV end:-11
on "it is stopped, and goes on" 80x24 xterm -d 0.3 -- see:LINK sig:TSTP ran:0.5 sig:CONT see:LINK key:q end:0
on "-n" 80x24 xterm -n 3 -d 0.1 -- end:0
on "a terminal that cannot" 80x24 dumb -- "see:give -b" end:2
on "an unknown terminal" 80x24 nosuch -- "see:give -b" end:2
on "no such domain, on a terminal" 80x24 xterm nobody -- "see:no such domain" end:1

# A domain that ends while it is watched, and comes back
again="vfabctl domain create d1 --size 8 --planes 4"
on "the domain is deleted and made again" 80x24 vt100 -d 0.2 d1 -- see:LINK \
	"run:vfabctl domain delete d1 --force" "see:no such domain" "run:$again" \
	"see:8 endpoints: 0 held, 0 not well" "line:4: d1 " "line:5:>endpoints" key:q end:0
# So does the module
vfabctl domain delete d1 --force
# shellcheck disable=SC2086 # several numbers
kill $holders 2>/dev/null
on "the module is unloaded and loaded again" 80x24 vt100 -d 0.2 -- see:LINK \
	"run:rmmod vfabric" "see:module not loaded" "run:insmod $VFABRIC_KO && $again" \
	"see:1 domain; 8 endpoints" key:q end:0
finish
