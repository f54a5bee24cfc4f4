#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# counters.sh - is each counter described, and moved by a test?
#
# by example:
#
#	selftests/host/counters.sh	# after make tools
#
# The kernel's list (Documentation/netlink/specs/vfabric.yaml), what 'vfabctl
# counters describe' says and selftests/counters must agree; a counter that
# somebody adds fails until it has a description and a test. Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=selftests/host/lib
. selftests/host/lib

build/tools/vfabctl -j counters describe >"$tmp/describe"
jq -r '.[].name' "$tmp/describe" >"$tmp/described"
python3 -c '
import yaml
spec = yaml.safe_load(open("Documentation/netlink/specs/vfabric.yaml"))
for entry in next(d for d in spec["definitions"] if d["name"] == "counter")["entries"]:
    print((entry if isinstance(entry, str) else entry["name"]).replace("-", "_"))' >"$tmp/spec"
[ "$(wc -l <"$tmp/spec")" -ge 16 ] && diff "$tmp/spec" "$tmp/described" >"$tmp/out" 2>&1
result "each counter of the netlink spec is described, in its order" $? "$tmp/out"

jq -e 'all(.[]; (.unit | length > 0) and (.event | length > 10) and (.objects | length > 0) and
	(.prometheus | test("^vfabric_[a-z_]+_total$")))' "$tmp/describe" >"$tmp/out" 2>&1
result "each has a unit, an event, objects and a name in Prometheus" $? "$tmp/out"

# looks TEST COUNTER: is the test there, and does it look at the counter?
looks() {
	local program fixture name

	case $1 in
	ctl-*)	grep -qsw -- "$2" "selftests/ctl/${1#ctl-}.sh" ;;
	*)	program=${1%%/*} fixture=${1#*/} name=${1##*.}
		fixture=${fixture%%.*}
		awk -v start="TEST_F\\($fixture, $name\\)|TEST_F_TIMEOUT\\($fixture, $name," '
			/^TEST_F/ { on = $0 ~ start } on' "selftests/$program.c" 2>/dev/null |
			grep -qE "(^|[^A-Z_])(VFAB_COUNTER_)?${2^^}([^A-Z_]|\$)" ;;
	esac
}

while read -r counter tests; do
	[[ $counter != '#'* ]] || continue
	grep -qx "$counter" "$tmp/described" || echo "selftests/counters: there is no counter $counter"
	[ -n "$tests" ] || echo "selftests/counters: no test moves $counter"
	for test in $tests; do
		looks "$test" "$counter" || echo "selftests/counters: $test does not look at $counter"
	done
done <selftests/counters >"$tmp/bad"
while read -r counter; do
	grep -q "^$counter[[:space:]]" selftests/counters ||
		echo "$counter: write into selftests/counters which test moves it"
done <"$tmp/described" >>"$tmp/bad"
[ ! -s "$tmp/bad" ]
result "each counter is moved by a test that is there" $? "$tmp/bad"

{
	cat "$tmp/described"
	grep -ohE '"vfabric_(domain|endpoint|switch|link)_[a-z_]+"' tools/vfabctl/prometheus.c |
		tr -d '"' | sort -u
} >"$tmp/names"
[ "$(grep -c '^vfabric_' "$tmp/names")" -ge 15 ] || echo "no metrics were found in prometheus.c" >"$tmp/bad"
while read -r name; do
	grep -qwF -- "$name" Documentation/telemetry.rst || echo "$name is not in Documentation/telemetry.rst"
done <"$tmp/names" >>"$tmp/bad"
[ ! -s "$tmp/bad" ]
result "Documentation/telemetry.rst has each counter and each metric" $? "$tmp/bad"
echo "1..$count"
exit "$failed"
