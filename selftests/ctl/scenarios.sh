#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# scenarios.sh - the scenarios that are shipped, and samples that do it wrong
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-scenarios
#
# Each runs on two seeds, without its fault, and with a broken set-up;
# scripts/scenarios takes more seeds, scripts/mutants --scenarios breaks the module
# under them.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"
samples=$top/build/tools/samples

"$top/scripts/scenarios" --seeds 2 >"$tmp/all" 2>&1
while read -r line; do
	case $line in
	'ok '*)	result 0 "${line#ok * - }" ;;
	'not ok '*) cp "$tmp/all" "$out"; result 1 "${line#not ok * - }" ;;
	esac
done <"$tmp/all"
check "they were run" grep -q '^1\.\.[1-9]' "$tmp/all"

# The one that the documents print
awk '/^    name: two-links/ { on = 1 } on && !/^    / { exit } on { print substr($0, 5) }' \
	"$top/Documentation/scenarios.rst" >"$tmp/two-links.yaml"
vfabctl scenario run "$tmp/two-links.yaml" --seed 1 >"$out" 2>"$err"
check "the documents' example holds" [ $? = 0 ]

# caught NAME SCENARIO [OPTION...] -- WORD...: a program that is wrong fails
caught() {
	local rc=0 name=$1

	shift
	vfabctl scenario run "$@" >"$out" 2>"$err" || rc=$?
	[ $rc = 1 ]
	result $? "$name"
}
caught "a collective that looks at no error is caught" peer-kill --seed 1 \
	--under-test "$samples/collective-wrong" 30
# shellcheck disable=SC2016 # the program's own
caught "an allocator that looks at the clique alone is caught" same-clique --seed 1 \
	--under-test sh -c 'allocator-wrong $DOMAINS'
# shellcheck disable=SC2016
caught "a monitor that takes 0xaa for degraded is caught" world-sizes --set n=4 --seed 1 \
	--under-test sh -c 'monitor-wrong $VFAB_DOMAIN --once'
caught "a collective that does not look whether imports work is caught" capability-lies --seed 1 \
	--under-test "$samples/collective-wrong" 5
# shellcheck disable=SC2016
caught "an allocator that takes COMPLETED for usable is caught" health-lies --seed 1 \
	--under-test sh -c 'allocator-wrong $DOMAINS'
check "nothing is left" [ -z "$(vfabctl domain show)" ]
finish
