#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# tools.sh - vfabrun and vfabperf: what they print, and when they cannot
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-tools

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

vfabctl domain create t --size 3 >/dev/null
VFAB_DOMAIN=t
export VFAB_DOMAIN

# ends STATUS COMMAND...: what it said stays in $out and $err
# shellcheck disable=SC2317 # called by check
ends() {
	ends=$1
	shift
	"$@" >"$out" 2>"$err" </dev/null
	[ $? = "$ends" ]
}

# bytes FILE TEXT, where TEXT is as printf's
# shellcheck disable=SC2317 # called by check
bytes() {
	# shellcheck disable=SC2059 # that is what it is for
	printf "$2" | cmp - "$1"
}

check "vfabrun -l: done" ends 0 vfabrun -n 1 -l printf 'a\0b\n\nc'
check "vfabrun -l: every byte, and the last line" bytes "$out" '0: a\0b\n0: \n0: c\n'
check "vfabrun -l: errors" ends 0 vfabrun -n 1 -l sh -c 'printf "a\0b\n" >&2'
check "vfabrun -l: stay errors" bytes "$err" '0: a\0b\n'
check "vfabrun -l: a line of zeros" ends 0 vfabrun -n 1 -l head -c 10000 /dev/zero
check "vfabrun -l: comes in pieces" [ "$(tr -dc '\0' <"$out" | wc -c)" = 10000 ]
check "vfabrun -l: output that is lost" unwritten vfabrun -n 2 -l echo hi
check "vfabrun -l: errors that are lost" sh -c 'vfabrun -n 2 -l sh -c "echo hi >&2" 2>/dev/full; [ $? = 2 ]'
check "vfabrun -l: a failure comes first" sh -c 'vfabrun -n 2 -q -l sh -c "echo hi; exit 5" >/dev/full 2>&1; [ $? = 5 ]'
check "vfabrun: without output" sh -c 'vfabrun -n 2 true >&- 2>&-'
check "vfabrun: no such rank" ends 2 vfabrun -n 4 true
check "vfabrun: says which" grep -q "^vfabrun: rank 3 is not one of the domain's 3" "$err"

for words in "lat -n 5" "bw -b 8 -e 64 -r 2 --time 1" "doorbell -n 10" \
	"coll -n 2 allreduce -b 8 -e 8" "coll -n 2 barrier" "matrix -s 4K -i 1"; do
	# shellcheck disable=SC2086 # several words
	check "vfabperf $words" ends 0 vfabperf $words
	# shellcheck disable=SC2086
	check "vfabperf $words: output that is lost" unwritten vfabperf $words
done
# What cannot be counted and paced says so
check "vfabperf lat: is plain memory" ends 0 vfabperf lat -n 5 -J "$tmp/lat.json"
check "vfabperf lat: uncounted, unpaced" grep -q '^# plain loads and stores: uncounted, unpaced$' "$out"
check "vfabperf lat: also in JSON" jq -e '.config | .bytes == "uncounted" and .time == "unpaced"' "$tmp/lat.json"
check "vfabperf coll: shape is off" ends 0 vfabperf coll -n 2 barrier -J "$tmp/coll.json"
check "vfabperf coll: counted, unpaced" grep -q '^# counted, unpaced: shape is off$' "$out"
vfabctl domain set t shape on scale 10
check "vfabperf coll: shape is on" ends 0 vfabperf coll -n 2 barrier -J "$tmp/paced.json"
check "vfabperf coll: counted, paced" grep -q '^# counted, paced: times are 10 times' "$out"
check "vfabperf coll: also in JSON" jq -e \
	'.config | .bytes == "counted" and .time == "paced" and .shape_scale == 10' "$tmp/paced.json"
check "vfabperf bw: shape is on" ends 0 vfabperf bw -b 8 -e 64 -r 2 --time 1
check "vfabperf bw: unpaced all the same" grep -q 'uncounted, unpaced$' "$out"
vfabctl domain set t shape off
# All collectives on the kernel fabric; all that they print is in selftests/host/perf.sh
check "vfabperf coll: all, right" ends 0 vfabperf coll all -b 52 -e 1000 -f 19 -n 2 -w 0
check "vfabperf coll: all, in windows" ends 0 vfabperf coll all -b 52 -e 20K -f 19 -n 2 -w 0 -R 1
check "vfabperf coll: a damaged bit" ends 1 vfabperf coll alltoall -b 64 -e 64 -n 1 --plant-error
check "vfabperf bw: by calls" ends 0 vfabperf bw -m call -b 8 -e 64 -r 2 --time 1
check "vfabperf bw: counted" grep -q '^# counted, unpaced' "$out"
check "vfabperf tune" ends 0 vfabperf tune -b 64 -e 1K -f 16 -i 1 -r 1 allreduce barrier
check "vfabperf: no such rank" ends 2 vfabperf coll -n 4 barrier
check "vfabperf: says who it is" grep -q "^vfabperf: rank 3 is not one of the domain's 3" "$err"
check "vfabperf: no such domain" ends 2 vfabperf lat --domain nobody
check "vfabperf: says it in its name" grep -q '^vfabperf: domain: .*nobody' "$err"
vfabctl domain delete t
finish
