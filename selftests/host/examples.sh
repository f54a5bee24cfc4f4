#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# examples.sh - do the examples of collectives compute what they say?
#
# by example:
#
#	selftests/host/examples.sh		# after make tools
#
# They run on the memfd transport, without root. Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
tools=build/tools
count=0 failed=0

# example NAME RANKS WANT: its one line
example() {
	local text status

	text=$(timeout 60 "$tools/vfabrun" --memfd -n "$2" "$tools/samples/$1" 2>&1)
	status=$?
	count=$((count + 1))
	if [ "$status" = 0 ] && [[ $text == *"$3"* ]]; then
		echo "ok $count - $1 of $2 ranks"
	else
		printf '%s\n' "$text" "status $status, expected: $3" | sed 's/^/# /'
		echo "not ok $count - $1 of $2 ranks"
		failed=1
	fi
}

for ranks in 1 2 3 8; do
	example matmul "$ranks" "$ranks ranks: 4096 x 840 times a vector, 0 wrong"
	example gradient "$ranks" "$ranks ranks: y = 3.00 -2.00 t, weights agree"
	example experts "$ranks" "$ranks ranks: $((ranks * 1000)) tokens there and back"
done
echo "1..$count"
exit "$failed"
