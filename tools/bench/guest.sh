#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# guest.sh - measure inside a guest; scripts/bench starts it there
#
# by example, in the tree:
#
#	scripts/vm run -- tools/bench/guest.sh touch:11 calls:3 doorbell:5
#	scripts/uml run -- tools/bench/guest.sh copy:4
#
# Each argument is a measure and how often to repeat it. Leaves rows.json (one
# object a line), and vfabperf's own files, in $VFABRIC_OUT.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
tools=$here/../../build/tools
bench=$here/../../build/bench/vfabbench
PATH=$tools:$PATH
perf="$tools/vfabrun -q -n 2 --domain bench $tools/vfabperf"

insmod "$VFABRIC_KO" 2>/dev/null || [ -d /sys/module/vfabric ]
uname -r >"$VFABRIC_OUT/kernel"
nproc >"$VFABRIC_OUT/cpus"
echo "$VFABRIC_GUEST_ACCEL" | tr '[:lower:]' '[:upper:]' >"$VFABRIC_OUT/mode"
: >"$VFABRIC_OUT/rows.json"
"$bench" env 11 >>"$VFABRIC_OUT/rows.json"

status=0
for arg; do
	measure=${arg%%:*}
	repeats=${arg#*:}
	echo "$measure"
	case $measure in
	doorbell|doorbell-one-cpu)
		pin=
		[ "$measure" = doorbell ] || pin="taskset -c 0"
		# One run after the other: each has all kinds, in turns.
		"$tools/vfabctl" domain create bench --size 2 >/dev/null
		n=0
		while [ "$n" -lt "$repeats" ]; do
			n=$((n + 1))
			# shellcheck disable=SC2086 # lists
			$pin $perf doorbell --iters 600 --repeats 6 \
				-J "$VFABRIC_OUT/$measure.$n.json" >"$VFABRIC_OUT/$measure.$n.txt" || status=1
		done
		"$tools/vfabctl" domain delete bench >/dev/null ;;
	iplink)
		# 1024 interfaces to compare with, of the guest's own kernel
		xz -dc "$(find "$VFABRIC_MODULES" -name 'dummy.ko.xz')" >/tmp/dummy.ko 2>/dev/null ||
			cp "$(find "$VFABRIC_MODULES" -name 'dummy.ko')" /tmp/dummy.ko
		insmod /tmp/dummy.ko numdummies=1024
		"$bench" iplink "$repeats" >>"$VFABRIC_OUT/rows.json" || status=1
		rmmod dummy ;;
	opensm)
		"$here/opensm.sh" "$repeats" >>"$VFABRIC_OUT/rows.json" || status=1 ;;
	*)
		"$bench" "$measure" "$repeats" >>"$VFABRIC_OUT/rows.json" || status=1 ;;
	esac
done
exit $status
