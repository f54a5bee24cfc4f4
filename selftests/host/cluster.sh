#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# cluster.sh - do VMs and processes of the host share the memory of a backplane?
#
# by example:
#
#	make -C tools all tests && selftests/host/cluster.sh
#
# Two guests and a process of the host join one vfabswitchd, without the module.
# Then one QEMU is killed, and then vfabswitchd. And 'scripts/vm cluster' and what
# it refuses. Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
PATH=$PWD/build/tools:$PATH
node=build/tools/test/bpnode
times=200000
pids=
trap 'kill -9 $pids 2>/dev/null; rm -rf "$tmp"' EXIT
# shellcheck source=selftests/host/lib
. selftests/host/lib
[ -x "$node" ] || { echo "cluster.sh: nothing is built: run 'make -C tools all tests'" >&2; exit 2; }

# until_true SECONDS COMMAND...
until_true() {
	local end=$((SECONDS + $1))

	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.2
	done
}

# table FILTER: of what vfabswitchd shows
table() {
	vfabswitchd show -j --dir "$tmp" rack >"$tmp/show" 2>&1 && jq -r "$1" <"$tmp/show"
}

# is FILTER: true of it
# shellcheck disable=SC2317 # called by until_true
is() {
	[ "$(table ".[0].node | $1")" = true ]
}

# guest N COMMAND: joined as node N; its output in $tmp/N, and its status at the end
guest() {
	{
		scripts/vm run --no-module --timeout 200 --name "cluster-$1-$$" --backplane "$tmp/rack" \
			--node "$1" -- sh -c "$2" >"$tmp/$1" 2>&1
		echo "status $?" >>"$tmp/$1"
	} &
	pids="$pids $!"
}

vfabswitchd --dir "$tmp" --size 32M --nodes 4 rack 2>"$tmp/daemon" &
daemon=$!
pids=$daemon
until_true 30 grep -q serves "$tmp/daemon"
result "vfabswitchd serves" $? "$tmp/daemon"
guest 0 "$node pci 3 $times --lost 1 && sleep 15 && echo alive"
guest 1 "$node pci 3 $times --stay"
timeout 200 "$node" "$tmp/rack/node2" 3 $times >"$tmp/2" 2>&1
result "a process of the host and two guests: a counter is exact, and the process is rung" $? "$tmp/2"
grep -qx "counter $((3 * times)) of $((3 * times))" "$tmp/2" && grep -qx 'was rung' "$tmp/2"
result "by what they did, all three" $? "$tmp/2"
until_true 60 is 'map(.state) == ["joined", "joined", "none", "none"]'
result "the table has the two guests, and not the process, which left" $? "$tmp/show"
is '.[0].slot.state == "active" and .[1].slot.state == "active" and
	.[0].slot.cooperative == false and .[2].slot.cooperative == true and .[2].slot.state == "left"'
result "and shows what each says of itself" $? "$tmp/show"

until_true 60 grep -q 'waits for node 1' "$tmp/0"
victim=$(table '.[0].node[1].pid')
[ "$(cat "/proc/$victim/comm")" = qemu-system-x86 ] && kill -9 "$victim"
result "the table names the QEMU of node 1, which is killed" $? "$tmp/show"
until_true 30 is '.[1].state == "none"'
result "the table shows its end" $? "$tmp/show"
until_true 60 grep -q 'node 1 left' "$tmp/0"
result "the other guest reads it in the memory" $? "$tmp/0"
"$node" "$tmp/rack/node1" 1 1 >"$tmp/again" 2>&1
grep -q 'node 1 of backplane rack: peer 3,' "$tmp/again"
result "another peer becomes node 1, with an id of its own" $? "$tmp/again"
kill -9 $daemon
until_true 90 grep -q '^status ' "$tmp/0"
grep -qx alive "$tmp/0" && grep -qx 'status 0' "$tmp/0"
result "a guest outlives a peer that came and left, and vfabswitchd" $? "$tmp/0"
until_true 30 grep -q '^status 125' "$tmp/1"
result "the guest whose QEMU was killed ended so" $? "$tmp/1"

VFABRIC_BACKPLANE='--size 32M' scripts/vm cluster 2 --no-module --name "cluster-$$" --timeout 200 -- \
	sh -c "$node pci \$VFABRIC_NODES 1000 && echo I am \$VFABRIC_NODE && exit \$((VFABRIC_NODE * 7))" >"$tmp/out" 2>&1
status=$?
[ "$status" = 7 ] && grep -qx '0: I am 0' "$tmp/out" && grep -qx '1: I am 1' "$tmp/out" &&
	grep -qx '0: counter 2000 of 2000' "$tmp/out" && grep -q '^1: node 1 of backplane' "$tmp/out"
result "scripts/vm cluster: numbered, joined, and its status is that of the one that failed" $? "$tmp/out"
! pgrep -f "$PWD/build/vm-out/cluster-.*$$" >"$tmp/left" && ! grep -q . "$tmp/left"
result "nothing of it runs any more" $? "$tmp/left"

# Guests on a network; one is killed, by its name, when the other says so
VFABRIC_BACKPLANE='--size 32M' scripts/vm cluster 2 --net --no-module --name "cluster-$$" --timeout 200 -- \
	sh -c 'if [ $VFABRIC_NODE = 1 ]; then sleep 150; exit; fi
		for i in $(seq 50); do scripts/vm at vm1 "hostname; cat; exit 9" </etc/hostname && break; sleep 1; done
		echo ready; sleep 5; scripts/vm at vm0 "echo alive; echo noise >&2" </dev/null' >"$tmp/out" 2>&1 &
pids="$pids $!"
cluster=$!
until_true 150 grep -qx '0: ready' "$tmp/out"
scripts/vm kill "cluster-$$-1" >>"$tmp/out" 2>&1
result "scripts/vm kill: ends the VM of a name" $? "$tmp/out"
wait $cluster
status=$?
[ "$status" = 125 ] && grep -qx '0: vm1' "$tmp/out" && grep -qx "0: $(cat /etc/hostname)" "$tmp/out" &&
	grep -qx '0: alive' "$tmp/out" && grep -qx '0: noise' "$tmp/out"
result "scripts/vm cluster --net: a shell of another guest, input and output" $? "$tmp/out"

# refused TEXT ARGUMENTS...
refused() {
	local text=$1

	shift
	scripts/vm "$@" >"$tmp/out" 2>&1
	[ $? = 2 ] && grep -qF -e "$text" "$tmp/out"
	result "refused: ${*//$tmp/DIR}" $? "$tmp/out"
}
refused '--net goes with cluster' run --net -- true
refused 'give the name of a VM' kill
refused "kill '../x'" kill ../x
refused 'say how many VMs' cluster
refused "cluster '0': take a number of VMs" cluster 0 -- true
refused 'say what to run' cluster 2 --no-module
refused 'has a backplane of its own' cluster 2 --backplane x -- true
refused '--node goes with --backplane' run --node 1 -- true
refused "--node 'x': take the number" run --backplane "$tmp/rack" --node x -- true
refused 'there is no socket' run --backplane "$tmp/nobody" -- true
rm -rf build/vm-out/cluster-*-$$ build/vm-out/cluster-$$-*
echo "1..$count"
exit "$failed"
