#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# backplane.sh - do kernels on a backplane find, judge and lose one another rightly?
#
# by example:
#
#	make -C tools all tests && selftests/host/backplane.sh
#	selftests/host/backplane.sh stop rmmod		only these parts
#
# Two VMs with the module, and processes of the host as more nodes: joining, leaving,
# rmmod, a node that is silent, VMs that are stopped or killed, a device that is taken
# out, devices of others, two backplanes, four VMs, a hostile node. Prints TAP.
# VFABRIC_HOSTILE is for how many seconds that one does harm (20).

set -u

cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=selftests/host/lib
. selftests/host/lib
# shellcheck source=selftests/host/lib-vms
. selftests/host/lib-vms
node=$PWD/build/tools/test/bpnode
[ -x "$node" ] || { echo "backplane.sh: nothing is built: run 'make -C tools all tests'" >&2; exit 2; }
parts=${*:-pair silent events rmmod stop duel behind mirrors records hostile kill unplug switchd foreign two four}
vms_begin
VFABRIC_PARAMS='backplane_period_ms=200 backplane_timeout_ms=3000'

part() {
	case " $parts " in *" $1 "*) return 0 ;; esac
	return 1
}

# said N FILTER: true of what vfabctl shows in guest N
said() {
	on "$1" "vfabctl -j backplane show rack | jq -e '[.[] | select(.view)] as \$n | .[0] as \$b | $2'"
}

# until_said N SECONDS FILTER
# shellcheck disable=SC2317 # called by result's caller
until_said() {
	local end=$((SECONDS + $2))

	until said "$1" "$3"; do
		[ "$SECONDS" -lt "$end" ] || { on "$1" 'vfabctl backplane show; dmesg | tail -n 5'; return 1; }
	done
}

ok() {
	local text=$1

	shift
	"$@"
	result "$text" $? "$tmp/out"
}

pair_up() {
	[ -z "${paired:-}" ] || return 0
	paired=yes
	backplane rack --size 32M --nodes 4
	vm 0 --backplane "$tmp/rack" --node 0
	vm 1 --backplane "$tmp/rack" --node 1
	vm_up 0 && vm_up 1
	ok "two VMs find one another" until_said 0 60 '$n[1].view == "live" and $n[1].state == "active"'
}

case $parts in *pair*|*silent*|*events*|*rmmod*|*stop*|*duel*|*behind*|*mirrors*|*records*|*hostile*|*kill*|*unplug*|*switchd*) pair_up ;; esac
if part pair; then
	ok "the other way round" until_said 1 60 '$n[0].view == "live" and $n[1].view == "self"'
	ok "incarnation and age" said 0 \
		'$n[1].incarnation == "1.1" and $n[1].age_ms < 3000 and $n[1].connected and $n[2].connected == false'
	# What lies below 4 GiB, QEMU's registers make uncached; some kernels heed none
	memory=uncached
	on 0 'test -e /proc/mtrr' || memory=write-back
	ok "a backplane says what it is" said 0 "\$b.memory == \"$memory\" and
		"'$b.nodes == 4 and $b.node == 0 and $b.state == "active" and $b.size == 33554432 and $b.ready'
	ok "an unknown one is refused" on 0 'vfabctl backplane show nobody 2>&1 | grep "no such backplane"'
	ok "a wrong name is refused" on 0 'vfabctl backplane show a/b; [ $? = 2 ]'
	ok "another network namespace does not see it" on 0 \
		'unshare -n sh -c "vfabctl -j backplane show" | jq -e "length == 0"'
	on 1 'modinfo $VFABRIC_KO | grep -c ^alias:.*pci'
	ok "there is no modalias" test "$(cat "$tmp/out")" = 0
fi

if part silent; then
	"$node" "$tmp/rack/node2" live 60 >"$tmp/live" &
	live=$!
	ok "a process of the host is a cooperative node" until_said 0 20 '$n[2].view == "live" and $n[2].cooperative'
	ok "which follows both" until_true 10 grep -q 'node 1 incarnation 1.1' "$tmp/live"
	kill -STOP $live
	ok "one that is silent is expelled" until_said 0 20 '$n[2].view == "lost" and $n[2].why == "silent"'
	kill -CONT $live
	wait $live
	ok "and learns it" test $? = 3
	ok "by what it reads" grep -qE '^expelled by node [01]$' "$tmp/live"
	ok "it says so" until_said 1 20 '$n[2].state == "fenced" and ($n[2].connected | not)'
	"$node" "$tmp/rack/node2" live 3 >"$tmp/live"
	ok "one that leaves has left, and had another incarnation" until_said 1 20 \
		'$n[2].view == "lost" and $n[2].why == "left" and $n[2].incarnation == "2.1"'
	"$node" "$tmp/rack/node2" live 60 >"$tmp/live" &
	live=$!
	until_said 0 20 '$n[2].view == "live"' && kill -KILL $live
	ok "one that is killed is lost at once" until_said 0 3 '$n[2].view == "lost" and $n[2].why == "closed"'
	wait $live 2>/dev/null
fi

if part events; then
	on 0 'vfabctl monitor --timeout 60 --count 2 >/tmp/events 2>&1 & sleep 1'
	"$node" "$tmp/rack/node3" live 3 >"$tmp/live"
	ok "events tell of a node that came and left" until_on 0 20 \
		'cat /tmp/events; grep -q "^rack/node3: backplane attached" /tmp/events &&
			grep -q "^rack/node3: backplane detached.* lost left" /tmp/events'
fi

if part rmmod; then
	on 1 'rmmod vfabric'
	ok "rmmod: the node has left" until_said 0 10 '$n[1].view == "lost" and $n[1].why == "left" and $n[1].connected'
	on 1 "insmod \$VFABRIC_KO $VFABRIC_PARAMS"
	ok "insmod: another start on the same connection" until_said 0 20 \
		'$n[1].view == "live" and $n[1].incarnation == "1.2"'
	ok "its data area is free" until_said 1 20 '$b.ready and $b.used == 0'
	ok "ten times, quickly" on 1 "for i in 1 2 3 4 5 6 7 8 9 10; do rmmod vfabric &&
		insmod \$VFABRIC_KO $VFABRIC_PARAMS || exit 1; done"
	ok "and it is there" until_said 0 20 '$n[1].view == "live" and $n[1].incarnation == "1.12"'
	# When it begins, another node says that it is of another connection
	on 1 'rmmod vfabric'
	"$node" "$tmp/rack/node2" misname 60 1 >"$tmp/misname" 2>&1 &
	pid=$!
	until_true 10 grep -q 'of backplane' "$tmp/misname"
	on 1 "insmod \$VFABRIC_KO $VFABRIC_PARAMS"
	wait $pid
	result "a node is misnamed while it begins" $? "$tmp/misname"
	ok "it finds out, and returns" until_said 0 30 \
		'$n[1].view == "live" and $n[1].incarnation == "1.13"'
fi

if part stop; then
	before=$(said 1 '$b.fences' >/dev/null && cat "$tmp/out")
	kill_vm 1 -STOP
	ok "a VM that is stopped is expelled" until_said 0 30 '$n[1].view == "lost" and $n[1].why == "silent"'
	sleep 3
	kill_vm 1 -CONT
	ok "it fences itself, and does not expel the other" until_said 1 30 "\$b.fences == $((before + 1)) and \$b.state == \"active\" and \$n[0].view == \"live\""
	ok "and is back as another incarnation" until_said 0 30 '$n[1].view == "live"'
	ok "the other one never was fenced" said 0 '$b.fences == 0'
	kill_vm 0 -STOP
	kill_vm 1 -STOP
	sleep 5
	kill_vm 0 -CONT
	kill_vm 1 -CONT
	sleep 5
	ok "both stopped, and going on: nobody is expelled" until_said 0 20 \
		'$b.fences == 0 and $n[1].view == "live"'
	ok "nor the other" until_said 1 20 "\$b.fences == $((before + 1)) and \$n[0].view == \"live\""
fi

if part duel; then
	said 1 '$b.fences' >/dev/null
	before=$(cat "$tmp/out")
	"$node" "$tmp/rack/node3" expel 5 >"$tmp/live" &
	ok "who is expelled fences itself" until_said 1 20 "\$b.fences > $before"
	wait $!
	ok "and returns" until_said 1 20 '$b.state == "active" and $n[0].view == "live"'
	ok "the other one, too" until_said 0 20 '$b.state == "active" and $n[1].view == "live"'
	said 1 '$b.fences' >/dev/null
	before=$(cat "$tmp/out")
	"$node" "$tmp/rack/node3" duel 15 >"$tmp/live"
	ok "one that is expelled expels both" test "$(grep -c '^expelled node' "$tmp/live")" = 2
	ok "the lower number stays" said 0 '$b.state == "active" and $n[1].view == "live"'
	ok "as does the other lower one" said 1 "\$b.fences == $before and \$n[0].view == \"live\""
fi

if part behind; then
	ok "a domain on both VMs" on 0 'vfabctl domain create d1 --size 4 --backplane rack --place 0:0-1,1:2-3'
	ok "is mirrored" until_on 1 20 'vfabctl domain show d1'
	ok "its nodes are the backplane's" on 1 'vfabctl -j node show d1 |
		jq -e "[.[] | [.ranks, .view]][:2] == [[[0, 1], \"live\"], [[2, 3], \"self\"]]"'
	"$node" "$tmp/rack/node2" deaf 60 >"$tmp/live" &
	deaf=$!
	until_said 0 20 '$n[2].view == "live"'
	ok "a change is made although one node does not follow" on 0 'vfabctl link set d1/ep0 down'
	ok "which is said" grep -q 'a node did not follow in time, and was expelled' "$tmp/out"
	ok "that one is expelled" said 0 '$n[2].view == "lost" and $n[2].why == "behind" and $n[1].view == "live"'
	ok "the other one has followed" said 0 '$n[1].followed == $b.change'
	wait $deaf
	ok "it learns it" test $? = 3
	ok "deleted" on 0 'vfabctl domain delete d1'
	ok "on both" until_on 1 20 '! vfabctl domain show d1'
	ok "a domain of this VM alone" on 1 'vfabctl domain create d1 --size 2'
	ok "keeps one of its name out" on 0 'vfabctl domain create d1 --size 4 --backplane rack --place 0:0-1,1:2-3'
	ok "which is told" until_said 1 20 '$n[0].unmirrored == 1 and ($n[1] | has("unmirrored") | not)'
	ok "to whoever reads, too" on 1 'vfabctl backplane show | grep "node0: live.* unmirrored 1"'
	ok "and not the owner" said 0 '$n[1].unmirrored == 0'
	ok "until it goes" on 1 'vfabctl domain delete d1'
	ok "then it is shown" until_on 1 20 'vfabctl domain show d1 | grep "owner 0"'
	ok "and none is missing" until_said 1 20 '$n[0].unmirrored == 0'
	ok "deleted" on 0 'vfabctl domain delete d1'
	ok "all memory is free again" until_said 0 20 '$b.used == 0 and $b.waiting == 0'
fi

if part mirrors; then
	ok "a module for two domains" on 1 "rmmod vfabric && insmod \$VFABRIC_KO $VFABRIC_PARAMS max_domains=2"
	ok "three domains of the other VM" on 0 'for d in m1 m2 m3; do
		vfabctl domain create $d --size 2 --backplane rack --place 0:0,1:1 || exit; done'
	ok "two of them are mirrored, one is not" until_said 1 30 '$n[0].unmirrored == 1'
	ok "and take no room from its own" on 1 'vfabctl domain create d1 --size 2 && vfabctl domain create d2 --size 2'
	ok "of which there are two" on 1 'vfabctl domain create d3 --size 2 2>&1 | grep "too many domains"'
	ok "the third is mirrored when another one goes" on 0 'vfabctl domain delete m1'
	ok "which takes a moment" until_said 1 20 '$n[0].unmirrored == 0'
	ok "deleted" on 0 'vfabctl domain delete m2 && vfabctl domain delete m3'
	ok "loaded anew" on 1 "rmmod vfabric && insmod \$VFABRIC_KO $VFABRIC_PARAMS"
fi

# tell LINE: to bpowner, which has done it
told=0
tell() {
	echo "$1" >"$tmp/say"
	told=$((told + 1))
	until_true 60 sh -c "[ \$(grep -c ^done $tmp/owner) = $told ]"
}

if part records; then
	mkfifo "$tmp/say"
	"${node%/*}/bpowner" "$tmp/rack/node2" blink 0:0,2:1 <>"$tmp/say" >"$tmp/owner" &
	owner=$!
	held='vfabctl -j endpoint show blink/ep1 | jq -e ".[0].held"'
	ok "a domain of a node without a module" until_on 0 40 'vfabctl domain show blink'
	ok "which says that a rank is held" tell 'hold 2 0 1'
	ok "and so it is" until_on 0 20 "$held"
	ok "the domain's record is gone for a moment" tell blink
	ok "and what is in it is there again" until_on 0 20 "$held"
	ok "a domain of a VM, of which that node has ranks" on 0 \
		'vfabctl domain create d1 --size 4 --backplane rack --place 0:0-1,2:2-3'
	ok "one is held" tell 'hold 0 0 2'
	ok "as the owner sees" until_on 0 20 'vfabctl -j endpoint show d1/ep2 | jq -e ".[0].held"'
	ok "it is deleted, and the record stays" on 0 'vfabctl domain delete d1 --force'
	ok "that node goes on" tell 'link 0 0 up'
	ok "and nothing is kept of the domain" until_said 0 20 '$b.used == 0 and $b.waiting == 0'
	ok "it ends" tell delete
	wait $owner
	rm "$tmp/say"
fi

# busy TEXT COMMAND...: on the host; how busy is VM 0 meanwhile? What others may
# cause is 1.1 of its 2 CPUs at most, see kmod/backplane_dev.h.
busy() {
	local text=$1 cpu='awk "/^cpu / { print \$2 + \$3 + \$4 + \$7 + \$8, \$5 }" /proc/stat' before after

	shift
	on 0 "$cpu"
	before=$(cat "$tmp/out")
	"$@" >"$tmp/hostile"
	result "$text" $? "$tmp/hostile"
	on 0 "$cpu"
	after=$(cat "$tmp/out")
	echo "# $(cat "$tmp/hostile"); jiffies busy and idle of VM 0: $before, then $after"
	ok "VM 0 is not kept busy" awk -v b="$before" -v a="$after" 'BEGIN {
		split(b, x); split(a, y); busy = y[1] - x[1]; all = busy + y[2] - x[2]
		exit !(all > 100 && busy < 0.6 * all) }'
	on 0 'vfabctl backplane show rack'
	sed 's/^/# /' "$tmp/out"
}

if part hostile; then
	hostile=${VFABRIC_HOSTILE:-20}
	mkfifo "$tmp/say"
	"${node%/*}/bpowner" "$tmp/rack/node2" wide 0:0,1:1 wide <>"$tmp/say" >"$tmp/owner" &
	owner=$!
	ok "a domain of 4 million ports is not mirrored" until_on 0 40 \
		'dmesg | grep "domain wide of node 2 is not mirrored: there are too many domains here, or they are too large"'
	ok "and it is not there" on 0 '! vfabctl domain show wide'
	kill $owner
	wait $owner 2>/dev/null
	until_said 0 30 '$n[2].view == "lost"'
	busy "interrupts without end, for $hostile s" "$node" "$tmp/rack/node3" flood "$hostile"
	busy "a hostile node is served for $hostile s (seed $$)" \
		"$node" "$tmp/rack/node2" hostile "$hostile" "$$"
	for n in 0 1; do
		ok "VM $n answers" on $n true
		ok "VM $n is back with the other" until_said $n 60 "\$b.state == \"active\" and \$n[$((1 - n))].view == \"live\""
		ok "VM $n has no complaint" no_complaints $n
		ok "VM $n unloads the module" on $n "rmmod vfabric && insmod \$VFABRIC_KO $VFABRIC_PARAMS"
	done
fi

if part kill; then
	# Its module may just have been loaded anew
	until_said 0 60 '$n[1].view == "live"' && kill_vm 1 -KILL
	ok "a VM that is killed is lost" until_said 0 10 '$n[1].view == "lost" and $n[1].why == "closed"'
	vm 1 --backplane "$tmp/rack" --node 1
	vm_up 1
	ok "its successor has another connection" until_said 0 30 '$n[1].view == "live" and $n[1].incarnation == "2.1"'
	ok "the other has no complaint" no_complaints 0
fi

if part unplug; then
	ok "unbound, the node has left" on 1 'dev=$(basename /sys/bus/pci/drivers/vfabric/0*) &&
		echo $dev >/sys/bus/pci/drivers/vfabric/unbind && echo $dev >/tmp/dev'
	ok "and the other knows" until_said 0 10 '$n[1].view == "lost" and $n[1].why == "left"'
	ok "no backplane is shown" on 1 'vfabctl -j backplane show | jq -e "length == 0"'
	ok "bound again" on 1 'echo $(cat /tmp/dev) >/sys/bus/pci/drivers/vfabric/bind'
	ok "it is back" until_said 0 20 '$n[1].view == "live"'
	ok "taken out of the guest" on 1 'echo 1 >/sys/bus/pci/devices/$(cat /tmp/dev)/remove'
	ok "the other knows" until_said 0 10 '$n[1].view == "lost"'
	ok "found again" on 1 'echo 1 >/sys/bus/pci/rescan'
	ok "it is back, too" until_said 0 20 '$n[1].view == "live"'
fi

if part switchd; then
	ok "vfabswitchd's age is told" said 0 '$b.switchd_age_ms < 5000'
	kill -KILL "$daemon"
	ok "killed, it is silent" until_said 0 20 '$b.switchd_age_ms > 3000'
	backplane rack --size 32M --nodes 4
	result "another one is started" $? "$tmp/daemon-rack"
	sleep 4
	ok "the VMs go on with the old memory" said 0 '$n[1].view == "live" and $b.state == "active"'
	on 1 'rmmod vfabric'
	ok "also when one leaves" until_said 0 10 '$n[1].view == "lost"'
	on 1 "insmod \$VFABRIC_KO $VFABRIC_PARAMS"
	ok "and returns" until_said 0 20 '$n[1].view == "live"'
	kill_vm 1 -KILL
	ok "one that is killed is lost by its silence" until_said 0 20 '$n[1].view == "lost" and $n[1].why == "silent"'
	ok "nobody complained" no_complaints 0
fi
kill_vm 0 -KILL 2>/dev/null
kill_vm 1 -KILL 2>/dev/null

# A guest whose only such device is of somebody else, and one with a damaged header
if part foreign; then
	head -c 1048576 /dev/urandom >"$tmp/foreign"
	sum=$(sha256sum <"$tmp/foreign")
	vm 2 --qemu "-object memory-backend-file,id=f,size=1M,share=on,mem-path=$tmp/foreign
		-device ivshmem-plain,memdev=f"
	vm_up 2
	# shellcheck disable=SC2016 # the guest's
	ok "a foreign device is not bound, nor enabled, nor changed" on 2 'rmmod vfabric
		dev=$(dirname $(grep -l 0x1110 /sys/bus/pci/devices/*/device)) && cd $dev &&
		cp config /tmp/config && insmod $VFABRIC_KO && cmp config /tmp/config &&
		[ ! -e driver ] && [ "$(cat enable)" = 0 ] && [ ! -s /tmp/out ]'
	ok "its memory is what it was" test "$sum" = "$(sha256sum <"$tmp/foreign")"
	ok "not even when the driver is named" on 2 'cd $(dirname $(grep -l 0x1110 /sys/bus/pci/devices/*/device)) &&
		echo vfabric >driver_override && ! basename "$PWD" >/sys/bus/pci/drivers_probe; [ ! -e driver ]'
	ok "nobody is told of a backplane" on 2 'vfabctl -j backplane show | jq -e "length == 0"'
	kill_vm 2 -KILL
fi

if part two; then
	backplane one --size 16M --nodes 2
	backplane other --size 2G --nodes 2
	vm 3 --backplane "$tmp/one" --node 0 --qemu "-chardev socket,id=other,path=$tmp/other/node1
		-device ivshmem-doorbell,chardev=other,vectors=4"
	vm_up 3
	ok "one VM is on two backplanes" on 3 'vfabctl -j backplane show |
		jq -e "[.[] | select(.memory) | [.backplane, .node]] == [[\"one\", 0], [\"other\", 1]]"'
	ok "the larger one is mapped write-back" on 3 'vfabctl -j backplane show |
		jq -e ".[] | select(.memory and .backplane == \"other\") | .memory == \"write-back\""'
	"$node" "$tmp/one/node1" live 100 >"$tmp/live-one" &
	one=$!
	"$node" "$tmp/other/node0" live 100 >"$tmp/live-other" &
	other=$!
	ok "and has others on both" until_on 3 20 'vfabctl -j backplane show |
		jq -e "[.[] | select(.view == \"live\") | .address] == [\"one/node1\", \"other/node0\"]"'
	kill -KILL $other
	ok "what ends on one stays on the other" until_on 3 20 \
		'vfabctl -j backplane show | jq -e "[.[] | select(.view == \"live\") | .address] == [\"one/node1\"]"'
	kill -KILL $one
	wait $one $other 2>/dev/null
	"$node" "$tmp/other/node0" duel 15 >"$tmp/live"
	ok "of two that expel one another the higher number ends" until_on 3 20 \
		'vfabctl -j backplane show other | jq -e ".[0].fences == 1"'
	ok "on the one backplane, not on the other" on 3 'vfabctl -j backplane show one | jq -e ".[0].fences == 0"'
	kill_vm 3 -KILL
fi

if part four; then
	backplane quad --size 32M --nodes 4
	for n in 4 5 6 7; do
		vm $n --mem 512M --backplane "$tmp/quad" --node $((n - 4))
	done
	for n in 4 5 6 7; do
		vm_up $n
		ok "node $((n - 4)) of four sees the others" until_on $n 60 \
			'vfabctl -j backplane show | jq -e "[.[] | select(.view == \"live\")] | length == 3"'
	done
	kill_vm 6 -KILL
	ok "one of four is killed" until_on 4 20 'vfabctl -j backplane show | jq -e "[.[] | select(.view == \"live\")] | length == 2"'
	for n in 4 5 7; do
		ok "node $((n - 4)) has no complaint" no_complaints $n
	done
fi
echo "1..$count"
exit "$failed"
