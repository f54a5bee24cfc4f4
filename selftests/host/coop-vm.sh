#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# coop-vm.sh - processes of the host and a VM in one domain
#
# by example:
#
#	make -C tools all tests && selftests/host/coop-vm.sh
#
# The VM has the module, owns the domain and holds ranks 0 and 1; two processes here are
# nodes of their own, with ranks 2 and 3, without one. Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=selftests/host/lib
. selftests/host/lib
# shellcheck source=selftests/host/lib-vms
. selftests/host/lib-vms
node=$PWD/build/tools/test/coopnode
[ -x "$node" ] || { echo "coop-vm.sh: nothing is built: run 'make -C tools all tests'" >&2; exit 2; }
vms_begin
# shellcheck disable=SC2034 # of vm
VFABRIC_PARAMS='backplane_period_ms=200 backplane_timeout_ms=20000'
domain=backplane:$tmp/rack

# ok TEXT COMMAND...
ok() {
	local text=$1

	shift
	"$@"
	result "$text" $? "$tmp/out"
}

# guest LINE WANT: coopnode in the VM is asked, and answers so
guest() {
	on 0 "n=\$(wc -l </run/said); echo '$1' >/run/say
		for i in \$(seq 600); do [ \$(wc -l </run/said) = \$n ] || break; sleep 0.1; done
		tail -n 1 /run/said"
	grep -q "^$2" "$tmp/out"
}

# host LINE WANT: the same of the one here
host() {
	echo "$1" >&"${here[1]}"
	read -r -t 60 line <&"${here[0]}"
	echo "$line" >"$tmp/out"
	[[ $line == "$2"* ]]
}

# process: coopnode here, which ends with this script
process() {
	coproc here { exec "$node"; }
	# shellcheck disable=SC2154 # coproc sets it
	daemon_pids="$daemon_pids $here_PID"
}

# until_says WHO SECONDS LINE WANT
until_says() {
	until_true "$2" "$1" "$3" "$4"
}

backplane rack --size 64M --nodes 3
vm 0 --backplane "$tmp/rack" --node 0
ok "the VM" vm_up 0
ok "makes no domain on a node that there is not" on 0 \
	'vfabctl domain create job --size 2 --backplane rack --place 0:0,3:1 2>&1 | grep "does not have"'
ok "makes a domain" on 0 'vfabctl domain create job --size 4 --backplane rack --place 0:0-1,1:2,2:3'

# vfabrun knows by the domain what is where
ok "vfabrun refuses ranks that are elsewhere" on 0 '[ "$(vfabrun --domain job true 2>&1)" = \
	"vfabrun: rank 2 is on node 1 of rack, this is node 0: give --nodes or --ranks" ]'
ok "an agent starts the ranks of its node" on 0 'vfabrun --domain job --ranks 1,0 --nodes here \
	--node-command "exec sh -c {command}" sh -c "echo \$VFAB_RANK on \$VFAB_NODE, \$LOCAL_RANK" |
	sort | tr "\n" " " | grep -x "0 on 0, 1 1 on 0, 0 "'
ok "and a rank whose node is not given is missed" on 0 'vfabrun --domain job --nodes here \
	--node-command "exec sh -c {command}" true 2>&1 | grep -x "vfabrun: rank 2 is on none of the nodes that --nodes gives"'

# Not by its number of nodes, and not where an agent says so
ok "who starts all on one node is told which" on 0 'vfabctl domain create late --size 4 --backplane rack --place 1:0-1,0:2-3 &&
	vfabrun --domain late --ranks 3,2 -l sh -c "echo \$VFAB_NODE.\$VFAB_LOCAL_RANK" | sort | tr "\n" " " | grep -x "2: 0.1 3: 0.0 " &&
	vfabctl domain delete late'

# Two here, two there
measure='vfabperf coll allreduce -b 8 -e 4K -n 3 -w 1'
on 0 "for r in 0 1; do
	VFAB_DOMAIN=job VFAB_RANK=\$r VFAB_WORLD_SIZE=4 $measure >/run/perf.\$r 2>&1 && : >/run/perf.\$r.well &
done"
for r in 2 3; do
	VFAB_DOMAIN=$domain/node$((r - 1))/job VFAB_RANK=$r VFAB_WORLD_SIZE=4 timeout 200 $measure >"$tmp/perf.$r" 2>&1 &
	perf[r]=$!
done
wait "${perf[2]}" && wait "${perf[3]}"
result "an all-reduce of two processes here and two in the VM: here" $? "$tmp/perf.2"
ok "and there" until_on 0 60 'cat /run/perf.0; grep -q "Out of bounds values : 0 OK" /run/perf.0 && ls /run/perf.1.well'

on 0 "mkfifo /run/say; : >/run/said; (exec 3<>/run/say; $node <&3 >/run/said 2>&1) >/dev/null 2>&1 &"
process
ok "the VM attaches" guest 'open job 0' ok
ok "and a process here" host "open $domain/node1/job 2" ok
ok "who sees the other" until_says host 30 'peer 0' 'ok held paths 18'
ok "and is seen" until_says guest 30 'peer 2' 'ok held paths 18'
ok "as cooperative" on 0 'vfabctl backplane show | grep "node1: live .* cooperative"'
ok "it holds no other node's rank" host "second $domain/node1/job 1" EXDEV
ok "nor does the VM hold its" guest 'second job 3' EXDEV

ok "a window of the VM" guest 'alloc 8192 5 rw' ok
ok "is found here" host 'lookup 0 5 30000' ok
ok "and mapped" host 'import rw absorb' ok
ok "a store" host 'store peer 3 abcd' ok
ok "arrives" guest 'load own 3' 'ok abcd'
ok "a window here" host 'alloc 2097152 6 rw' ok
ok "is found there" guest 'lookup 2 6 30000' ok
ok "and mapped" guest 'import rw sigbus' ok
ok "a store" guest 'store peer 9 77' ok
ok "arrives" host 'load own 9' 'ok 77'

ok "a doorbell from here" host 'ring 0 3' ok
ok "wakes the VM" guest 'wait 3 30000' ok
echo 'wait 3 60000' >&"${here[1]}"
ok "a doorbell from there" guest 'ring 2 3' ok
read -r -t 60 line <&"${here[0]}"
echo "$line" >"$tmp/out"
[ "$line" = ok ]
result "wakes a process here" $? "$tmp/out"

# What the owner changes holds here when the command has returned
ok "a link goes" on 0 'vfabctl link set job/ep2/p0 down'
ok "a path less here" host 'peer 0' 'ok held paths 17'
ok "all of them" on 0 'vfabctl link set job/ep2 down'
ok "and no path" host 'peer 0' 'ok unreachable paths 0 losses 1'
ok "the import reads all ones" host 'load peer 3' 'ok ffffffffffffffff'
ok "nor from there" guest 'load peer 9' SIGBUS
ok "they return" on 0 'vfabctl link set job/ep2 up'
ok "here, too" host 'peer 0' 'ok held paths 18'
ok "the window is freed" guest free ok

ok "another one" guest 'alloc 4096 7 rw' ok
ok "release" host release ok
ok "is found" host 'lookup 0 7 30000' ok
{ kill -9 "$here_PID"; wait "$here_PID"; } 2>/dev/null
ok "the process is killed: the VM sees its end" until_says guest 30 'peer 2' 'ok vacant'
ok "and shows it" until_on 0 30 'vfabctl backplane show | grep "node1: lost why closed"'
process
ok "it comes again" host "open $domain/node1/job 2" ok
ok "and is seen" until_says guest 30 'peer 2' 'ok held'
kill_vm 0 -KILL
ok "the VM is killed: its domain ends" until_says host 30 'wait 0 1000' ENODEV
ok "close" host close ok
ok "and who comes then learns who is silent" host "open $domain/node1/job 2" 'ETIMEDOUT node 0, which has domain "job", is silent'
echo "1..$count"
exit "$failed"
