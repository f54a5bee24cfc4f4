#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# switchd.sh - does vfabswitchd keep what it promises, whatever its peers do?
#
# by example:
#
#	make -C tools && selftests/host/switchd.sh
#	selftests/host/switchd.sh many limits		# only these parts
#
# Needs no VM; as root it also tries other users. Prints TAP.

cd "$(dirname "$0")/../.." || exit 2
[ -x build/tools/vfabswitchd ] || { echo "switchd.sh: nothing is built: run 'make tools'" >&2; exit 2; }
exec python3 selftests/host/switchd.py "$@"
