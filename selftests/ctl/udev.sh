#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# udev.sh - do rules of udev act on the device files, and without any nothing?
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-udev

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

udevd=${VFABRIC_UDEVD:-/lib/systemd/systemd-udevd}
if [ ! -x "$udevd" ]; then
	echo "ok 1 - udev # SKIP $udevd is not installed"
	echo "1..1"
	exit 0
fi

# becomes PATH "MODE USER GROUP"
# shellcheck disable=SC2317 # called by check
becomes() {
	for _ in $(seq 50); do
		[ "$(stat -c '%a %U %G' "$1")" != "$2" ] || return 0
		sleep 0.1
	done
	stat -c '%n %a %U %G' "$1"
	return 1
}

mkdir -p /run/udev/rules.d
sed -n '/^    SUBSYSTEM=="vfabric"/s/^    //p' "$top/Documentation/admin.rst" >/run/udev/rules.d/70-vfabric.rules
check "the documentation has a rule" [ -s /run/udev/rules.d/70-vfabric.rules ]
"$udevd" >"$out" 2>"$err" &
udev=$!
sleep 1
check "udev runs" kill -0 "$udev"
vfabctl domain create first --size 4 >/dev/null
first=$(vfabctl -j domain show first | jq -r '.[0].device')
check "the rule acts on a domain's file" becomes "$first" "660 root video"
vfabctl partition create first 1 --members 0 >/dev/null
check "and on a partition's" becomes "$first.1" "660 root video"
rm /run/udev/rules.d/70-vfabric.rules
sleep 1
vfabctl domain create second --size 4 --mode 0640 --group disk >/dev/null
second=$(vfabctl -j domain show second | jq -r '.[0].device')
sleep 1
check "without one, files are as they were asked for" becomes "$second" "640 root disk"
kill "$udev"
finish
