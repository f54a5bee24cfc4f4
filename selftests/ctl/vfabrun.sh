#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# vfabrun.sh - vfabrun and vfabperf: which ranks they start
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-vfabrun

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"
greet=$(dirname "$(command -v vfabctl)")/test/greet

small_domain d1
vfabctl partition create d1 1 --name right --members 4-6 >/dev/null
vfabctl partition create d1 2 >/dev/null

# runs NAME RANKS COMMAND...: ends well, each process with these ranks, without a word
runs() {
	runs_name=$1 runs_ranks=$2
	shift 2
	# shellcheck disable=SC2016 # for the ranks
	"$@" sh -c 'echo "$VFAB_RANK of $VFAB_RANKS, $WORLD_SIZE $LOCAL_WORLD_SIZE"' >"$tmp/ran" 2>"$err"
	runs_rc=$?
	runs_n=$(echo "$runs_ranks" | tr ',' '\n' | wc -l)
	for rank in $(echo "$runs_ranks" | tr ',' ' '); do
		echo "$rank of $runs_ranks, $runs_n $runs_n"
	done | sort -n >"$tmp/want"
	sort -n "$tmp/ran" >"$out"
	[ $runs_rc = 0 ] && [ ! -s "$err" ] && cmp -s "$tmp/want" "$out"
	result $? "$runs_name"
}

# refuses NAME FRAGMENT COMMAND...: status 2, and says this
refuses() {
	refuses_name=$1 refuses_said=$2
	shift 2
	"$@" >"$out" 2>"$err"
	refuses_rc=$?
	[ $refuses_rc = 2 ] && [ ! -s "$out" ] && said "$refuses_said"
	result $? "$refuses_name"
}

runs "the default partition's members" 0,1,2,3,7 vfabrun --domain d1
runs "the first of them" 0,1,2,3 vfabrun -n 4 --domain d1
runs "a partition's members, by address" 4,5,6 vfabrun --domain "dom$id/part1"
runs "by name and part" 4,5,6 vfabrun --domain d1/part1
runs "by name and number" 4,5,6 vfabrun --domain d1.1
runs "by the environment" 4,5,6 env VFAB_DOMAIN=d1.1 vfabrun
runs "by device file" 4,5,6 vfabrun --domain "/dev/vfabric/$id.1"
runs "the first two" 4,5 vfabrun -n 2 --domain d1.1
runs "a list is taken as it is" 6,4 vfabrun --ranks 6,4 --domain d1.1
refuses "more than there are members" \
	"-n 4: partition 1 of dom$id has 3 members: see 'vfabctl partition show'" \
	vfabrun -n 4 --domain d1.1 true
refuses "a partition without members" "partition 2 of dom$id has no members" \
	vfabrun --domain d1/part2 true
refuses "a partition that is not there" 'no domain "d1" with a partition 3' vfabrun --domain d1/part3 true
refuses "a rank twice" '--ranks="0,0" names rank 0 twice' vfabrun --ranks 0,0 --domain d1 true
refuses "a rank that is not there" "rank 9 is not one of the domain's 8: ranks are 0 to 7" \
	vfabrun --ranks 1,9 --domain d1 true
vfabctl domain create d2 --size 4 >/dev/null
refuses "more than the domain has" "rank 4 is not one of the domain's 4: ranks are 0 to 3" \
	vfabrun -n 5 --domain d2 true
vfabctl domain delete d2

# Another network namespace sees no domain
unshare -n vfabrun --domain d1.1 true >"$out" 2>"$err"
check "who cannot ask is told to give --ranks" said "cannot ask who is in partition 1 of dom$id"
runs "and who gives them is not told" 4,5,6 unshare -n vfabrun --ranks 4-6 --domain d1.1
runs "for a domain all ranks are taken" 0,1,2,3,4,5,6,7 unshare -n vfabrun --domain d1

vfabrun --domain d1/part1 "$greet" 2>"$err" | sort >"$out"
printf 'rank %d got "greetings from rank %d"\n' 4 6 5 4 6 5 | cmp -s - "$out"
result $? "the example of libvfab(3) in a partition"
vfabrun --domain d1 "$greet" 2>"$err" | sort >"$out"
printf 'rank %d got "greetings from rank %d"\n' 0 7 1 0 2 1 3 2 7 3 | cmp -s - "$out"
result $? "in what is left of the domain"
vfabctl link set d1/ep2 down >/dev/null
vfabrun --ranks 0,2 --domain d1 "$greet" >"$out" 2>"$err"
# Whichever of the two is first
check "what vfabric(7) says of a rank that is cut off" grep -qE \
	"^no route leads from rank (0 to 2|2 to 0): see 'vfabctl route trace dom$id (0 2|2 0)'" "$err"
vfabctl link set d1/ep2 up >/dev/null

check "vfabperf lat in a partition" vfabperf lat --domain d1/part1 -n 10 -w 1
vfabperf coll --domain d1.1 barrier -n 2 >"$out" 2>"$err"
check "vfabperf coll: its members" said '3 of 8 ranks'
env VFAB_WAIT=nonsense vfabperf lat --domain d1 -n 10 >"$out" 2>"$err"
check "VFAB_WAIT that nobody knows" said 'VFAB_WAIT="nonsense" is not auto, spin, yield or block'
vfabctl partition set d1/part2 --add 3 >/dev/null
refuses "vfabperf lat: two ranks at least" "-n 2: partition 2 of dom$id has 1 member:" \
	vfabperf lat --domain d1/part2
finish
