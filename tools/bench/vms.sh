#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# vms.sh - measure between two guests; scripts/bench starts it in both
#
# by example, in the tree:
#
#	scripts/vm cluster 2 --net -- tools/bench/vms.sh vms:5
#
# Leaves rows.json in the $VFABRIC_OUT of the first.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
tools=$here/../../build/tools
bench=$here/../../build/bench/vfabbench

insmod "$VFABRIC_KO"
if [ "$VFABRIC_NODE" != 0 ]; then
	while [ ! -e /run/over ]; do
		sleep 1
	done
	exit
fi
uname -r >"$VFABRIC_OUT/kernel"
nproc >"$VFABRIC_OUT/cpus"
echo "$VFABRIC_GUEST_ACCEL" | tr '[:lower:]' '[:upper:]' >"$VFABRIC_OUT/mode"
"$bench" env 11 >"$VFABRIC_OUT/rows.json"
until "$tools/vfabctl" backplane show | grep -q 'node1: live'; do
	sleep 0.5
done
"$tools/vfabctl" domain create bench --size 3 --backplane cluster --place 0:0,2,1:1 >/dev/null
status=0
"$tools/vfabrun" --domain bench --nodes vm0,vm1 --node-command "$here/../../scripts/vm at {host} {command}" \
	--timeout 900 "$bench" vms "${1#*:}" >>"$VFABRIC_OUT/rows.json" || status=$?
"$here/../../scripts/vm" at vm1 'touch /run/over' </dev/null
exit "$status"
