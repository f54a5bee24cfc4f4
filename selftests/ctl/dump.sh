#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# dump.sh - what is shown of all of a domain, also while it changes
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-dump

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

vfabctl domain create rack --size 72 >/dev/null

# All that can be shown is JSON
for object in domain partition endpoint window switch port link route; do
	json "-j $object show" 'type == "array"' $object show rack
	json "-jp $object show" 'type == "array"' -p $object show
done
json "-j system show" '.[0].domains == 1' system show

# The largest domain
vfabctl domain create big --size 1024 >/dev/null
json "1024 endpoints" 'length == 1024' endpoint show big
try "18432 links" 0 '' link show big
check "each once" [ "$(sort -u "$out" | wc -l) $(wc -l <"$out")" = "18432 18432" ]
try "18432 entries" 0 '' route show big
check "all lead home" [ "$(awk '$3 == $6' "$out" | sort -u | wc -l)" = 18432 ]
json "topo of 1024" '.[0] | .group == 64 and (.rows | length) == 16 and all(.rows[]; all(.paths[]; . == 18))' \
	topo big
vfabctl domain delete big

# Dumps while something changes: the state of one moment, or a refusal. What is
# dumped takes several messages, so that a change comes between two of them.
: >"$tmp/flap"
(while [ -e "$tmp/flap" ]; do vfabctl switch set rack/sw7 down; vfabctl switch set rack/sw7 up; done) >/dev/null 2>&1 &
flapper=$!
mixed=0 unsaid=0
for i in 1 2 3 4 5 6 7 8; do
	if vfabctl link show rack >"$out" 2>"$err"; then
		states=$(awk '$3 ~ /\/sw7\// { print $6 }' "$out" | sort | uniq -c | awk '{ print $1 }')
		[ "$(wc -l <"$out") $states" = "1296 72" ] || mixed=1
	else
		grep -q 'interrupted' "$err" && [ ! -s "$out" ] || unsaid=1
	fi
done
check "a dump never mixes two moments" [ $mixed = 0 ]
check "a dump that cannot be had is refused" [ $unsaid = 0 ]
rm "$tmp/flap"
wait $flapper
: >"$tmp/flap"
(while [ -e "$tmp/flap" ]; do vfabctl domain create x --size 4; vfabctl domain delete x; done) >/dev/null 2>&1 &
flapper=$!
bad=0
# shellcheck disable=SC2034
for i in 1 2 3 4 5; do
	if vfabctl domain show >"$out" 2>"$err"; then
		[ "$(grep -c '^dom.* name rack' "$out") $(grep -vc ' name rack\|^ ' "$out")" = "1 0" ] ||
			[ "$(grep -c '^dom.* name x' "$out") $(grep -c '^dom' "$out")" = "1 2" ] || bad=1
	else
		grep -q 'interrupted' "$err" || bad=1
	fi
done
check "a dump of domains that come and go" [ $bad = 0 ]
rm "$tmp/flap"
wait $flapper
vfabctl switch set rack/sw7 up >/dev/null
finish
