#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# completion.sh - completion of addresses, which asks the module; see ctl-host.sh
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-completion

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

vfabctl domain create d1 --size 3 --planes 2 >/dev/null
id=$(domain_id d1)
vfabctl partition create d1 4 >/dev/null

# offers TOOL WORDS...: prints what the last word may become
cat >"$tmp/offers" <<'END'
tool=$1
. "$2/$tool/completion.bash"
shift 2
COMP_WORDS=("$tool" "$@")
COMP_CWORD=$#
"_$tool" "$tool" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
echo "${COMPREPLY[*]}"
END

# offered NAME WORDS TOOL ARGUMENTS...
offered() {
	offered_name=$1 offered_words=$2 offered_tool=$3
	shift 3
	bash "$tmp/offers" "$offered_tool" "$top/tools" "$@" >"$out" 2>"$err"
	[ "$(cat "$out")" = "$offered_words" ] && [ ! -s "$err" ]
	result $? "$offered_name"
}

offered "domains" d1 vfabctl topo ''
offered "parts of a domain" 'd1/ep d1/node d1/sw' vfabctl link show d1/
offered "one part of it" 'd1/sw' vfabctl link show d1/s
offered "endpoints" 'd1/ep0 d1/ep1 d1/ep2' vfabctl endpoint show d1/ep
offered "endpoints, of the short name" 'd1/ep1' vfabctl ep evict d1/ep1
offered "switches" 'd1/sw0 d1/sw1' vfabctl switch set d1/sw
offered "partitions" 'd1/part0 d1/part4' vfabctl part set d1/part
offered "ports of an endpoint" 'd1/ep1/p0 d1/ep1/p1' vfabctl port set d1/ep1/
offered "ports of a switch" 'd1/sw1/p0 d1/sw1/p1 d1/sw1/p2' vfabctl port show d1/sw1/p
offered "ports, which name their links" 'd1/ep2/p0 d1/ep2/p1' vfabctl link set d1/ep2/
offered "what a link can be" 'down drain degrade' vfabctl link set d1/ep2/p0 d
offered "what can break" 'link-down link-flap link-degrade' vfabctl fault create d1 l
offered "what it takes" '--period --permille' vfabctl fault create d1 link-flap --pe
offered "or in words" 'period permille' vfabctl fault create d1 link-flap pe
offered "but no word for its value" '' vfabctl fault create d1 link-flap period ''
offered "words of a link" 'rate latency width period count' vfabctl link set d1/ep2/p0 degrade ''
offered "words of a domain" 'shape scale' vfabctl domain set d1 s
offered "and their values" 'off on' vfabctl domain set d1 shape ''
offered "profiles" 'hgx-a100 hgx-b200 hgx-b300 hgx-h100' vfabctl domain create d2 --profile hgx
offered "a domain by its id" "dom$id/ep0 dom$id/ep1 dom$id/ep2" vfabctl endpoint show "dom$id/ep"
offered "nothing of a domain that is not there" '' vfabctl endpoint show d2/ep
offered "vfabrun: domains" d1 vfabrun --domain ''
offered "vfabrun: domains behind =" d1 vfabrun --domain = d
offered "vfabperf: domains" d1 vfabperf lat --domain ''
finish
