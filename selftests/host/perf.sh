#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# perf.sh - what vfabperf prints, checks, draws and refuses, on a memfd
#
# by example:
#
#	make tools && selftests/host/perf.sh
#
# Needs neither root nor the module. Of times, only that they are there is looked
# at. Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=selftests/host/lib
. selftests/host/lib
PATH=$PWD/build/tools:$PATH
schema=tools/vfabperf/schema.json
kinds='allreduce reduce_scatter allgather alltoall alltoallv broadcast reduce gather scatter sendrecv barrier'
unset VFAB_DOMAIN VFAB_RANK VFAB_RANKS VFAB_WORLD_SIZE RANK WORLD_SIZE SLURM_PROCID PMI_RANK \
	OMPI_COMM_WORLD_RANK VFAB_TUNING VFAB_WAIT VFAB_COMM_BYTES
out=$tmp/out

# ends STATUS ARGUMENTS...: of vfabperf on a memfd; what it says is in $out
ends() {
	local want=$1 status=0

	shift
	timeout 60 vfabperf "$1" --memfd "${@:2}" >"$out" 2>&1 </dev/null || status=$?
	[ "$status" = "$want" ] || { echo "status $status instead of $want: $*" >>"$out"; return 1; }
}

# coll STATUS RANKS ARGUMENTS...
coll() {
	local want=$1 n=$2 status=0

	shift 2
	timeout 60 vfabperf coll --memfd -n "$n" "$@" >"$out" 2>&1 </dev/null || status=$?
	[ "$status" = "$want" ] || { echo "status $status instead of $want: $*" >>"$out"; return 1; }
}

# refuses TEXT ARGUMENTS...: status 2, and says this
refuses() {
	local text=$1

	shift
	ends 2 "$@" && grep -qF -- "$text" "$out"
}

# rows N: that many rows of results
rows() {
	[ "$(grep -c '^ *[0-9]' "$out")" = "$1" ] || { echo "not $1 rows" >>"$out"; return 1; }
}

# valid FILE: as the schema says
valid() {
	python3 - "$schema" "$1" >>"$out" 2>&1 <<'END'
import json
import sys
import jsonschema
with open(sys.argv[1], encoding="utf-8") as f:
    schema = json.load(f)
jsonschema.Draft7Validator.check_schema(schema)
with open(sys.argv[2], encoding="utf-8") as f:
    jsonschema.Draft7Validator(schema).validate(json.load(f))
END
}

echo "TAP version 13"

# Every collective is right, at sizes that no share and no vector divides
for n in 2 3 5; do
	# 4, 28, 196, 1372, 9604 bytes
	coll 0 "$n" all -b 4 -e 20K -f 7 -n 2 -w 1 && rows 51 && ! grep -q 'FAILED' "$out"
	result "all collectives, $n ranks" $? "$out"
done
coll 0 3 all -b 0 -e 8 -i 8 -n 2 -w 0 && rows 21
result "all collectives, no elements and two" $? "$out"
coll 0 3 all -b 52 -e 1000 -f 19 -n 2 -w 0 -z 0 && rows 21
result "by vfab_start() and vfab_finish()" $? "$out"
coll 0 3 all -b 52 -e 20K -f 19 -n 2 -w 0 -R 1 && rows 31 && grep -q 'buffers in windows' "$out"
result "buffers in windows" $? "$out"
# One after the other, of each number of chunks that the slots' number may divide
coll 0 2 allreduce -b 64K -e 2M -i 64K -n 2 -w 0 -m 3 -R 1 -T 5 && rows 32
result "all-reduces in windows, back to back" $? "$out"
coll 0 3 all -b 52 -e 1000 -f 19 -n 2 -w 0 -u 3 && rows 21
result "buffers that are not aligned" $? "$out"
coll 0 3 all -b 52 -e 52 -d all -n 1 -w 0 && rows $((10 * 14 + 1))
result "all collectives, all types" $? "$out"
for kind in allreduce reduce_scatter reduce; do
	# 8 operations of 8 types of integers, 5 of 6 types of floats
	coll 0 3 $kind -b 76 -e 76 -d all -o all -n 1 -w 0 && rows 94
	result "$kind, all types and operations" $? "$out"
done
coll 0 3 allreduce -b 4 -e 4 -d i16 -o xor -n 1 && grep -q ' int16 *xor ' "$out"
result "one type and operation" $? "$out"
for kind in broadcast reduce gather scatter; do
	coll 0 3 $kind -b 76 -e 76 -r all -n 1 -w 0 && rows 3 &&
		[ "$(awk '/^ *76/ || /^ *72/ { print $5 }' "$out" | xargs)" = "0 1 2" ]
	result "$kind, each root" $? "$out"
done

# A wrong bit is seen, and said
for kind in $kinds; do
	coll 1 3 "$kind" -b 40 -e 40 -n 2 -w 0 --plant-error && grep -q '^# Out of bounds values : [1-9].* FAILED$' "$out"
	result "$kind: a damaged bit is seen" $? "$out"
done
coll 1 3 allreduce -b 40 -e 40 -n 2 -w 0 --plant-error -J "$tmp/bad.json" && valid "$tmp/bad.json" &&
	jq -e '.out_of_bounds == {"count": 1, "okay": false} and .results[0].out_of_place.nwrong == 1' "$tmp/bad.json" >>"$out"
result "and in JSON" $? "$out"
coll 0 3 allreduce -b 40 -e 40 -n 2 -w 0 -c 0 --plant-error -J "$tmp/blind.json" &&
	grep -q '^ .* N/A .* N/A$' "$out" && grep -qx '# Out of bounds values : N/A, results were not checked (-c 0)' "$out"
result "-c 0 does not look, and says so" $? "$out"
valid "$tmp/blind.json" && jq -e '.out_of_bounds == {"count": null, "okay": "unchecked"} and
	.results[0].out_of_place.nwrong == null and .config.validation == 0' "$tmp/blind.json" >"$out" &&
	jq '.out_of_bounds.okay = true' "$tmp/blind.json" >"$tmp/blind.json.true" && ! valid "$tmp/blind.json.true" 2>>"$out"
result "and in JSON" $? "$out"

# Columns
coll 0 2 allreduce -b 1K -e 4K -n 3 -w 1 && rows 2 && grep -q '^# sources are rewritten before each operation; buffers private$' "$out" &&
	grep -q '^# calibration: .*memcpy of 1 MiB' "$out" && grep -q '^# memfd: .* no switch, no isolation' "$out" &&
	awk '/^ *1024 / { exit !(NF == 13 && $2 == 256 && $3 == "float" && $4 == "sum" && $5 == -1 &&
		$7 > 0.9 * 1024 / $6 / 1000 - 0.001 && $9 == 0 && $13 == 0) }' "$out"
result "columns of nccl-tests" $? "$out"
coll 0 4 allgather -b 64K -e 64K -n 3 -w 1 && awk '/^ *65536 / { exit !($2 == 4096 && $8 > 0.74 * $7 - 0.001 && $8 < 0.76 * $7 + 0.001) }' "$out"
result "allgather: size is of all shares, busbw 3/4 of algbw" $? "$out"
coll 0 4 broadcast -b 64K -e 64K -n 3 -w 1 && awk '/^ *65536 / { exit !($2 == 16384 && $8 == $7) }' "$out"
result "broadcast: busbw is algbw" $? "$out"
coll 0 2 all_reduce -b 64 -e 64 -n 4 --no-dirty && grep -q '^# sources are not rewritten' "$out"
result "--no-dirty says so; nccl-tests' names" $? "$out"
coll 0 2 allreduce -b 64 -e 256 -n 4 -w 0 -I 1 -S 1 && grep -q 'i_min *i_max *i_p99 *i_cv%.*timestamp$' "$out" &&
	awk '/^ *64 / { exit !(NF == 23 && $10 <= $12 && $12 <= $11 && $22 ~ /^20..-/) }' "$out"
result "-I 1, -S 1" $? "$out"
coll 0 2 allreduce -b 64 -e 256 -n 4 -N 3 && rows 8 && grep -q '^# 3 cycles' "$out" &&
	[ "$(awk '/^# 3 cycles/ { on = 1 } on && /^ *64 / && NF == 11 && $6 <= $7 && $7 <= $8' "$out" | wc -l)" = 1 ]
result "-N 3: cycles, and what they have in common" $? "$out"

coll 0 2 all -b 8 -e 8 -n 1 -w 0 -N 2 &&
	for kind in $kinds; do
		awk -v k="# $kind" '/^# 2 cycles/ { on = 1 } on && $0 == k { n++ } END { exit n != 1 }' "$out" || break
	done
result "-N 2 of all collectives: whose times they are" $? "$out"
for average in 0 1 2; do
	coll 0 3 allreduce -b 64 -e 64 -n 4 -a $average && rows 1
	result "-a $average" $? "$out"
done
coll 0 2 allreduce -b 64 -e 64 -n 4 -m 3 && awk '/^ *64 / { exit !($9 == 0 && $13 == "N/A") }' "$out"
result "-m 3: several operations, not checked in place" $? "$out"

# JSON
coll 0 3 all -b 64 -e 256 -n 4 -w 0 -I 1 --histogram -N 2 -J "$tmp/all.json" && valid "$tmp/all.json" &&
	jq -e '.config.ranks == 3 and (.config.devices | length) == 3 and .config.transport == "memfd" and
		(.results | length) == 42 and ([.results[].collective] | unique | length) == 11 and
		.config.run_cycles == 2 and ([.results[].cycle] | unique) == [0, 1] and
		all(.results[]; (.out_of_place_per_iter.times_us | length) == 4 and
			([.out_of_place_per_iter.histogram[].count] | add) == 4)' "$tmp/all.json" >>"$out"
result "coll: JSON as the schema says" $? "$out"
cp "$tmp/all.json" "$tmp/copy.json"
coll 2 2 allreduce -J "$tmp/all.json" && grep -q 'exists and is not overwritten: name another file$' "$out" &&
	cmp -s "$tmp/all.json" "$tmp/copy.json"
result "a file of results is not overwritten" $? "$out"
coll 2 2 allreduce -J "$tmp/none/all.json" && grep -q 'No such file' "$out"
result "JSON that cannot be written" $? "$out"
for words in "lat -n 9 -w 0 -a" "bw -b 8 -e 64 -r 2 --time 1" "doorbell -n 10" "matrix -n 3 -s 4K -i 2"; do
	# shellcheck disable=SC2086 # words
	ends 0 $words -J "$tmp/${words%% *}.json" && valid "$tmp/${words%% *}.json"
	result "${words%% *}: JSON as the schema says" $? "$out"
done
echo '{"version": 1}' >"$tmp/wrong.json"
! valid "$tmp/wrong.json" && jq '.results[0].size = "64"' "$tmp/all.json" >"$tmp/wrong.json" && ! valid "$tmp/wrong.json"
result "the schema refuses what is none" $?

# Pairs
ends 0 matrix -n 4 -s 64K -i 2 -m write && grep -q '^# wrong: 0$' "$out" &&
	[ "$(grep -cE '^ +[0-3] .* X ' "$out")" = 8 ]
result "matrix: a number for each pair" $? "$out"
jq -e '.nwrong == 0 and [.testcases[].name] == ["read", "latency"] and (.testcases[0].matrix | length) == 3 and
	.testcases[0].matrix[1][1] == null and .testcases[0].matrix[1][2] > 0' "$tmp/matrix.json" >"$out" 2>&1
result "matrix: in JSON" $? "$out"
ends 0 matrix -n 17 -s 4K -i 1 && [ "$(grep -cE '^ +[0-9]+ .*X' "$out")" = 34 ]
result "matrix: shades for many ranks" $? "$out"
ends 0 bw -m call -b 64 -e 64 -r 2 --time 1 && grep -q '^64 ' "$out"
result "bw by vfab_put() and vfab_get()" $? "$out"
ends 0 lat -n 20 -w 0 --histogram && grep -q '#   load: 20 times, us$' "$out"
result "lat: histogram" $? "$out"

# Algorithms
timeout 100 vfabperf tune --memfd -n 3 -b 64 -e 16K -f 16 -i 2 -r 1 -J "$tmp/tune.json" >"$tmp/tuning" 2>"$out" && valid "$tmp/tune.json" &&
	[ "$(grep -v '^#' "$tmp/tuning" | awk '$3 == "*"' | wc -l)" = 18 ] && ! grep -q 'wrong values' "$tmp/tuning"
result "tune: a table of all collectives, for 2 ranks and 3" $? "$out"
VFAB_TUNING=$tmp/tuning coll 0 3 all -b 64 -e 64K -f 16 -n 2 -w 0
result "the library takes it" $? "$out"
echo 'allreduce * * magic' >"$tmp/tuning"
VFAB_TUNING=$tmp/tuning coll 2 2 allreduce && grep -q 'tuning, line 1' "$out"
result "and does not take any" $? "$out"
ends 0 tune -n 2 barrier && grep -qE '^barrier	\*	\*	(flat|tree)$' "$out"
result "tune: one collective" $? "$out"

# Pictures
if command -v gnuplot >/dev/null; then
	for words in "coll allreduce -b 64 -e 1K -n 2" "lat -n 5 -w 0" "bw -b 8 -e 64 -r 2 --time 1" "matrix -n 3 -s 4K -i 1"; do
		# shellcheck disable=SC2086 # words
		ends 0 $words --plot "$tmp/${words%% *}.svg" && grep -q '<svg' "$tmp/${words%% *}.svg" &&
			! grep -qi 'warning\|gnuplot' "$out"
		result "${words%% *}: a picture" $? "$out"
	done
	ends 0 matrix -n 3 -s 4K -i 1 --plot "$tmp/m.png" && [ "$(head -c 4 "$tmp/m.png" | tail -c 3)" = PNG ]
	result "a picture in PNG" $? "$out"
	ends 2 coll barrier --plot "$tmp/none/p.svg" && grep -q 'was not drawn' "$out" && ! grep -q '<svg' "$out"
	result "a picture that cannot be written" $? "$out"
else
	refuses 'which is not installed: install gnuplot-nox' coll allreduce --plot "$tmp/p.svg"
	result "pictures without gnuplot are refused" $? "$out"
fi
mkdir "$tmp/bin"
ln -s "$(command -v timeout)" "$(command -v vfabperf)" "$tmp/bin/"
PATH=$tmp/bin ends 2 coll allreduce --plot "$tmp/q.svg" && grep -q 'which is not installed: install gnuplot-nox' "$out"
result "without gnuplot, it is said before anything is measured" $? "$out"

# Progress is for terminals
script -qec "timeout 4 vfabperf coll --memfd -n 2 allreduce -b 8 -e 8 -n 10000000 -w 0" /dev/null >"$out" 2>&1
grep -q 'allreduce, 2 elements: iteration [0-9]* of 10000000' "$out"
result "a run that takes long says how far it is" $? "$out"
coll 0 2 allreduce -b 8 -e 8 && ! grep -q 'iteration [0-9]* of' "$out"
result "but not to a file" $? "$out"

# Refusals
refuses 'there is no collective "fly"' coll fly
result "no such collective" $? "$out"
refuses 'name a collective' coll
result "no collective" $? "$out"
refuses '-o xor is for integers' coll allreduce -o xor
result "bits of floats" $? "$out"
refuses 'there is no type "f7"' coll allreduce -d f7
result "no such type" $? "$out"
refuses 'there are ranks 0 to 1' coll broadcast -r 2
result "no such root" $? "$out"
refuses 'ends in .svg or .png' coll allreduce --plot x.gif
result "no such picture" $? "$out"
for words in "-z 2" "-a 4" "-u 4096" "-R 2" "-I 2" "-S 2" "-r x" "-m x" "-N x"; do
	# shellcheck disable=SC2086 # words
	refuses 'is not a number of 0 to' coll allreduce $words
	result "coll $words" $? "$out"
done
refuses 'cycles are 1 or more' coll allreduce -N 0
result "no cycles" $? "$out"
refuses 'there is no mode "x"' matrix -m x
result "matrix: no such mode" $? "$out"
refuses 'a pair takes 2 ranks' matrix -n 1
result "matrix: one rank" $? "$out"
refuses 'takes 2 ranks or more' tune -n 1
result "tune: one rank" $? "$out"
refuses 'sendrecv has one algorithm' tune sendrecv
result "tune: nothing to choose" $? "$out"
refuses 'sizes are 4 to 1G' tune -b 1
result "tune: size" $? "$out"

# Killed at any time, also while it measures the machine with a process of its own
: >"$out"
for ms in 30 45 60 75 90 105; do
	setsid vfabperf coll --memfd -n 2 allreduce -b 1K -e 1K >/dev/null 2>&1 &
	pid=$!
	sleep "0.$(printf %03d $ms)"
	kill -9 $pid
	wait $pid
	# dead ones that nobody has waited for yet are gone; who is killed needs a CPU to die
	for ((i = 0; i < 20; i++)); do
		sleep 0.1
		left=$(ps -s $pid -o stat=,pid=,args= | awk '$1 !~ /^Z/')
		[ -n "$left" ] || break
	done
	[ -z "$left" ] || echo "$left" >>"$out"
	awk '{ print $2 }' "$out" | xargs -r kill -9
done 2>/dev/null
[ ! -s "$out" ]
result "whoever is killed leaves no process" $? "$out"

echo "1..$count"
exit "$failed"
