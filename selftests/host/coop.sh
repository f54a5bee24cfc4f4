#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# coop.sh - processes of this machine as cooperative nodes of a backplane
#
# by example:
#
#	make -C tools all tests && selftests/host/coop.sh
#
# coop.py says what is tried. Needs no root and no module. Prints TAP.

cd "$(dirname "$0")/../.." || exit 2
[ -x build/tools/test/bpowner ] || { echo "coop.sh: nothing is built: run 'make -C tools all tests'" >&2; exit 2; }
exec python3 selftests/host/coop.py "$@"
