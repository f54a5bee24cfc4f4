#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# counters.sh - does the library name the counters as the netlink spec does?
#
# by example:
#
#	selftests/host/counters.sh		# after make tools
#
# Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=selftests/host/lib
. selftests/host/lib

# The example of vfab_counter(3) prints all that the library knows
awk '/^\.EX/ { getline; on = /^#include <stdio/ } /^\.EE/ { on = 0 }
	on { gsub(/\\-/, "-"); gsub(/\\e/, "\\"); print }' \
	Documentation/man/vfab_counter.3 >"$tmp/counters.c"
gcc -std=c11 -Wall -Wextra -Werror -D_GNU_SOURCE -Iuapi -Itools/lib -o "$tmp/counters" \
	"$tmp/counters.c" -Lbuild/tools -lvfab -lmnl >"$tmp/log" 2>&1
result "the example of vfab_counter(3) compiles" $? "$tmp/log"

LD_LIBRARY_PATH=build/tools "$tmp/counters" >"$tmp/table" 2>"$tmp/log"
cut -d' ' -f1 "$tmp/table" >"$tmp/known"
python3 - <<'PYTHON' >"$tmp/spec"
import yaml

with open('Documentation/netlink/specs/vfabric.yaml', encoding='utf-8') as file:
    spec = yaml.safe_load(file)
for one in spec['definitions']:
    if one['name'] == 'counter':
        for entry in one['entries']:
            assert entry['doc']
            print(entry['name'].replace('-', '_'))
PYTHON
[ -s "$tmp/spec" ] && diff "$tmp/spec" "$tmp/known" >>"$tmp/log" 2>&1
result "the library knows the counters of the spec, in their order" $? "$tmp/log"

[ -s "$tmp/table" ] && ! grep -Ev '^[a-z_]+ +[a-z]+ +[a-z].{20,}' "$tmp/table" >"$tmp/log"
result "each has a unit and says what moves it" $? "$tmp/log"

echo "1..$count"
exit "$failed"
