#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# placed.sh - domains whose ranks are in several VMs
#
# by example:
#
#	make -C tools all tests && make -C selftests && selftests/host/placed.sh
#	VFABRIC_KERNEL=6.1 selftests/host/placed.sh
#	VFABRIC_PLACED='-n 10000000 -d 1000000 bells atomics' selftests/host/placed.sh steps
#	selftests/host/placed.sh steps killed       only these: steps, coll, killed, owner, stopped
#
# The steps of selftests/cluster/placed.c in two VMs; an all-reduce over them; then a VM that is killed, as one
# that has ranks of a domain, and as the one that owns it; and one that is stopped for
# longer than its timeout, and goes on. Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
PATH=$PWD/build/tools:$PATH
pids=
trap 'kill -9 $pids 2>/dev/null; rm -rf "$tmp"' EXIT
# shellcheck source=selftests/host/lib
. selftests/host/lib
placed=build/selftests/cluster/placed
[ -x "$placed" ] && [ -x build/tools/vfabswitchd ] ||
	{ echo "placed.sh: nothing is built: run 'make -C tools all tests; make -C selftests'" >&2; exit 2; }
limit=${VFABRIC_TEST_TIMEOUT:-400}

# wanted PART ARGUMENTS
wanted() {
	local part=$1 w

	shift
	[ $# != 0 ] || return 0
	for w; do
		[ "$w" != "$part" ] || return 0
	done
	return 1
}

# until_true SECONDS COMMAND...
until_true() {
	local end=$((SECONDS + $1))

	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.2
	done
}

# said FILE: did each step that it went through do well, and to the end?
said() {
	grep -q '1\.\.[1-9]' "$1" && ! grep -Eq '(^|: )not ok|Bail out' "$1"
}

steps() {
	local n

	# shellcheck disable=SC2086,SC2016 # words; for the guest
	scripts/vm cluster 2 --mem 512M --name "placed-$$" --timeout "$limit" -- sh -c \
		'insmod $VFABRIC_KO || exit 9; '"$placed ${VFABRIC_PLACED:-}"' || exit; rmmod vfabric' \
		>"$tmp/out" 2>&1
	result "all steps in both VMs, and the module unloads" $? "$tmp/out"
	for n in 0 1; do
		grep "^$n: " "$tmp/out" >"$tmp/$n"
		said "$tmp/$n"
		result "by what VM $n says: $(grep -c '^[01]: ok' "$tmp/$n") checks" $? "$tmp/out"
	done
}

# A program that knows nothing of nodes: two of its four ranks in each VM
coll() {
	# shellcheck disable=SC2016 # for the guest
	scripts/vm cluster 2 --mem 512M --name "placed-$$" --timeout "$limit" -- bash -c \
		'insmod $VFABRIC_KO || exit 9; '"$placed"' make || exit
		export VFAB_DOMAIN=job VFAB_WORLD_SIZE=4
		for rank in $((2 * VFABRIC_NODE)) $((2 * VFABRIC_NODE + 1)); do
			VFAB_RANK=$rank build/tools/vfabperf coll allreduce -e 64K -n 3 -w 1 &
			pids="$pids $!"
		done
		for pid in $pids; do wait $pid || status=1; done
		exit ${status:-0}' >"$tmp/out" 2>&1
	result "vfabperf coll allreduce, with ranks in two VMs" $? "$tmp/out"
	grep -E '^0: +65536 ' "$tmp/out" >"$tmp/0"
	result "by what it prints: $(head -n 1 "$tmp/0")" $? "$tmp/out"
}

# guest N WORD: the module and this part of the program, as node N; its output in $tmp/N
guest() {
	{
		# shellcheck disable=SC2016 # for the guest
		VFABRIC_NODE=$1 VFABRIC_NODES=2 scripts/vm run --mem 512M --timeout "$limit" \
			--name "placed-$1-$$" --backplane "$tmp/cluster" --node "$1" -- sh -c \
			'insmod $VFABRIC_KO || exit 9; '"$placed $2" >"$tmp/$1" 2>&1
		echo "status $?" >>"$tmp/$1"
	} &
	pids="$pids $!"
}

# pair VICTIM: two VMs that have met, and the process of the one that is to suffer
pair() {
	rm -f "$tmp"/[01]
	vfabswitchd --dir "$tmp" --nodes 2 cluster 2>"$tmp/daemon" &
	daemon=$!
	pids="$pids $daemon"
	until_true 30 grep -q serves "$tmp/daemon"
	guest "$1" victim
	guest $((1 - $1)) survivor
	until_true 200 grep -q 'kill it' "$tmp/$((1 - $1))"
	result "two VMs have met" $? "$tmp/$((1 - $1))"
	victim=$(vfabswitchd show -j --dir "$tmp" cluster | jq ".[0].node[$1].pid")
	[ "$(cat "/proc/$victim/comm")" = qemu-system-x86 ] || victim=0
}

# over: the daemon and what is left of the VMs
over() {
	kill "$daemon" 2>/dev/null
	# shellcheck disable=SC2086 # a list
	wait $pids 2>/dev/null
	pids=
}

killed() {
	pair 1
	kill -9 "$victim"
	result "the VM of some ranks is killed" $?
	until_true 200 grep -q '^status 0$' "$tmp/0" && said "$tmp/0"
	result "the other one loses these ranks, and goes on: $(grep -o 'ended after.*' "$tmp/0")" $? "$tmp/0"
	over
}

owner() {
	pair 0
	kill -9 "$victim"
	result "the VM that owns the domain is killed" $?
	until_true 200 grep -q '^status 0$' "$tmp/1" && said "$tmp/1"
	result "the domain ends on the other: $(grep -o 'ended after.*' "$tmp/1")" $? "$tmp/1"
	over
}

stopped() {
	pair 1
	kill -STOP "$victim"
	result "a VM is stopped" $?
	until_true 200 grep -q '^status 0$' "$tmp/0" && said "$tmp/0"
	result "the other one loses its ranks: $(grep -o 'ended after.*' "$tmp/0")" $? "$tmp/0"
	kill -CONT "$victim"
	until_true 200 grep -q '^status 0$' "$tmp/1" && said "$tmp/1"
	result "it goes on, and knows that it was expelled" $? "$tmp/1"
	over
}

for part in steps coll killed owner stopped; do
	! wanted "$part" "$@" || "$part"
done
rm -rf build/vm-out/placed-*"$$"*
echo "1..$count"
exit "$failed"
