#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# placed.sh - domains whose ranks are in several VMs
#
# by example:
#
#	make -C tools all tests && make -C selftests && selftests/host/placed.sh
#	VFABRIC_KERNEL=6.1 selftests/host/placed.sh
#	selftests/host/placed.sh steps stop         only these parts, see below
#	VFABRIC_PLACED='-n 10000000 -d 1000000 bells atomics' selftests/host/placed.sh steps
#
# The steps of selftests/cluster/placed.c in two VMs; an all-reduce over them; a module
# that is loaded anew; a VM that is stopped, and goes on; a hostile node; three VMs and
# four; a VM that is killed, as one that has ranks of a domain, and as the one that owns
# it. Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=selftests/host/lib
. selftests/host/lib
# shellcheck source=selftests/host/lib-vms
. selftests/host/lib-vms
placed=$PWD/build/selftests/cluster/placed
node=$PWD/build/tools/test/bpnode
[ -x "$placed" ] && [ -x "$node" ] ||
	{ echo "placed.sh: nothing is built: run 'make -C tools all tests; make -C selftests'" >&2; exit 2; }
parts=${*:-steps coll rmmod stop hostile many killed owner}
vms_begin
VFABRIC_PARAMS='backplane_period_ms=200 backplane_timeout_ms=5000'

part() {
	case " $parts " in *" $1 "*) return 0 ;; esac
	return 1
}

ok() {
	local text=$1

	shift
	"$@"
	result "$text" $? "$tmp/out"
}

# begin N COMMAND: in the guest, and do not wait; its output is in $said-N/said
begin() {
	on "$1" "cd $PWD; { ( $2 ) 2>&1; echo status \$?; } >\$VFABRIC_OUT/said 2>&1 &"
}
said=build/vm-out/$vm_name

# over N SECONDS: what was begun has ended well
over() {
	until_true "$2" grep -q '^status' "$said-$1/said"
	cp "$said-$1/said" "$tmp/out"
	grep -qx 'status 0' "$tmp/out" && ! grep -Eq '^not ok|^Bail' "$tmp/out"
}

# all N ARGUMENTS: of the program, in the first N
all() {
	local n nodes=$1

	shift
	for ((n = 0; n < nodes; n++)); do
		begin "$n" "VFABRIC_NODE=$n VFABRIC_NODES=$nodes $placed $*"
	done
}

both() {
	all 2 "$@"
}

# up N
up() {
	vm "$1" --mem 512M --backplane "$tmp/cluster" --node "$1"
}

# live N: do both VMs follow one another?
live() {
	until_on "$1" 60 "vfabctl -j backplane show cluster | jq -e '[.[] | select(.view)][$((1 - $1))].view == \"live\"'"
}

# Not in the time that VMs have to come up
scripts/kernel build "${VFABRIC_KERNEL:-6.12}" -- -s >"$tmp/out"
result "the module builds" $? "$tmp/out"
backplane cluster --size 512M --nodes 4
up 0
up 1
ok "two VMs are up" vm_up 0
ok "and find one another" vm_up 1

if part steps; then
	both "${VFABRIC_PLACED:-}"
	for n in 0 1; do
		ok "all steps in VM $n" over $n "${VFABRIC_TEST_TIMEOUT:-400}"
		echo "# $(grep -c '^ok' "$tmp/out") checks"
		grep -E 'exact|doorbells across' "$tmp/out" | sed 's/^/# /'
	done
	ok "no complaint in VM 0" no_complaints 0
	ok "nor in VM 1" no_complaints 1
fi

# A domain "job", whose ranks 0 and 1 are on node 0 and 2 and 3 on node 1
made() {
	both make
	over 0 120 && over 1 60
}

if part coll; then
	ok "a domain is made" made
	ok "and shown where it lies" on 1 'vfabctl domain show job |
		grep "backplane cluster owner 0 place 0:0-1,1:2-3"'
	ok "by node, too" on 1 'vfabctl -j node show job | jq -e "[.[] | [.node, .first, .last]] ==
		[[0, 0, 1], [1, 2, 3], [2, null, null], [3, null, null]]"'
	ok "a format that it does not fit is refused" on 1 'vfabctl export --format nvml-mock job/node0 2>&1 |
		grep "placed on a backplane"'
	for n in 0 1; do
		begin $n "export VFAB_DOMAIN=job VFAB_WORLD_SIZE=4
			for rank in $((2 * n)) $((2 * n + 1)); do
				VFAB_RANK=\$rank vfabperf coll allreduce -b 64K -e 64K -n 3 -w 1 & pids=\"\$pids \$!\"
			done
			for pid in \$pids; do wait \$pid || exit; done"
	done
	ok "vfabperf coll allreduce: two ranks in one VM" over 0 200
	ok "what it prints" grep -E '^ +65536 ' "$tmp/out"
	ok "and two in another" over 1 60
	ok "deleted" on 0 'vfabctl domain delete job'
fi

if part rmmod; then
	ok "a domain is made" made
	# Waits for the others, who do not come
	begin 1 'VFAB_DOMAIN=job VFAB_RANK=2 VFAB_WORLD_SIZE=4 vfabperf coll barrier -T 15; true'
	ok "an endpoint is held" until_on 1 10 'vfabctl -j endpoint show job/ep2 | jq -e ".[0].held"'
	ok "its module stays" on 1 '! rmmod vfabric'
	ok "until it has ended" over 1 60
	ok "unloaded" on 1 'rmmod vfabric'
	ok "loaded again" on 1 "insmod \$VFABRIC_KO $VFABRIC_PARAMS"
	ok "the domain is there" until_on 1 60 'vfabctl domain show job'
	ok "unloaded by the owner" on 0 'rmmod vfabric'
	ok "the domain is nowhere" until_on 1 60 '! vfabctl domain show job'
	ok "loaded again" on 0 "insmod \$VFABRIC_KO $VFABRIC_PARAMS"
	ok "and live" live 1
fi

if part stop; then
	ok "a domain is made" made
	kill_vm 1 -STOP
	ok "a VM is stopped: a route is taken away nevertheless" on 0 'vfabctl link set job/ep2 down'
	ok "its mirror was" on 0 'vfabctl -j backplane show cluster | jq -e "[.[] | select(.view)][1].view == \"lost\""'
	kill_vm 1 -CONT
	ok "it goes on, and mirrors the domain anew" until_on 1 60 'vfabctl -j port show job/ep2 |
		jq -e "all(.[]; .state == \"OFF\")"'
	ok "in which it was expelled once" on 1 'vfabctl -j backplane show cluster | jq -e ".[0].fences == 1"'
	ok "and which it does not change" on 1 'vfabctl link set job/ep2 up 2>&1 | grep "node 0"'
	ok "deleted" on 0 'vfabctl domain delete job'
	ok "there, too" until_on 1 60 '! vfabctl domain show job'
fi

if part hostile; then
	hostile=${VFABRIC_HOSTILE:-20}
	for n in 0 1; do
		begin $n "while [ ! -e /tmp/enough ]; do
			VFABRIC_NODE=$n VFABRIC_NODES=2 timeout 10 $placed windows bells killed links; done; true"
	done
	"$node" "$tmp/cluster/node2" hostile "$hostile" "$$" >"$tmp/hostile"
	result "a hostile node is served for $hostile s (seed $$)" $? "$tmp/hostile"
	for n in 0 1; do
		on $n ': >/tmp/enough'
		until_true 60 grep -q '^status' "$said-$n/said"
		ok "VM $n has no complaint" no_complaints $n
	done
	ok "both find one another again" live 0
	ok "the other way round" live 1
	# What its owner has; mirrors go with it
	on 0 'for d in $(vfabctl -j domain show | jq -r ".[].name"); do vfabctl domain delete $d --force; done'
	ok "what was made is gone" until_on 1 30 'vfabctl -j domain show | jq -e "length == 0"'
	both windows bells
	ok "and all is well in VM 0" over 0 200
	ok "and in VM 1" over 1 60
fi

if part many; then
	for nodes in 3 4; do
		up $((nodes - 1))
		ok "VM $((nodes - 1)) is up" vm_up $((nodes - 1))
		all $nodes windows all atomics
		for ((n = 0; n < nodes; n++)); do
			ok "a domain over $nodes VMs: all is well in VM $n" over "$n" 200
		done
		grep exact "$tmp/out" | sed 's/^/# /'
	done
	kill_vm 3 -KILL
	ok "one of four is killed" until_on 2 60 "vfabctl -j backplane show cluster | jq -e '[.[] | select(.view)][3].view == \"lost\"'"
	all 3 all
	for n in 0 1 2; do
		ok "the other three go on: VM $n" over $n 200
		ok "without a complaint" no_complaints $n
	done
	kill_vm 2 -KILL
fi

# victim N: VM N, with a rank of a domain of VM 0, is killed
victim() {
	local other=$((1 - $1))

	begin "$1" "VFABRIC_NODE=$1 VFABRIC_NODES=2 $placed victim"
	begin $other "VFABRIC_NODE=$other VFABRIC_NODES=2 $placed survivor"
	until_true 120 grep -q 'kill it' "$said-$other/said"
	result "both have windows of one another" $? "$said-$other/said"
	kill_vm "$1" -KILL
	ok "VM $1 is killed: what follows in the other" over $other 120
	grep 'ended after' "$tmp/out"
	ok "no complaint" no_complaints $other
}

if part killed; then
	victim 1
	up 1
	ok "there is another one in its place" vm_up 1
	ok "which is followed" live 0
fi
! part owner || victim 0
echo "1..$count"
exit "$failed"
