#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# fuzz.sh - does the fuzzer call all that the module offers?
#
# by example:
#
#	selftests/host/fuzz.sh		# after make -C selftests
#
# It lists each ioctl and each command of netlink with all that it takes; so
# it does with one that was added to the header or the specification only.
# Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=selftests/host/lib
. selftests/host/lib
spec=Documentation/netlink/specs/vfabric.yaml header=uapi/linux/vfabric.h

build/selftests/fuzz/fuzz --calls >"$tmp/calls"
sed -n 's/^#define VFAB_IOC_\([A-Z_]*\)[[:space:]]*_IO.*/ioctl.\L\1/p' $header >"$tmp/offered"
python3 -c '
import yaml
for op in yaml.safe_load(open("'$spec'"))["operations"]["list"]:
    if "do" in op:
        print("nl." + op["name"])' >>"$tmp/offered"
[ "$(wc -l <"$tmp/offered")" -ge 47 ]
result "the test knows the ioctls and the commands" $? "$tmp/offered"
cut -d' ' -f1 "$tmp/calls" | sort | comm -13 - <(sort "$tmp/offered") >"$tmp/missing"
[ ! -s "$tmp/missing" ]
result "each ioctl and each command is called" $? "$tmp/missing"

# A new one of each, in a copy
mkdir -p "$tmp/uapi/linux" "$tmp/${spec%/*}"
sed 's/^#define VFAB_IOC_PACE.*/&\n#define VFAB_IOC_NEW _IOW(VFAB_IOC_MAGIC, 14, struct vfab_new)/
	s/^#define VFAB_IOC_MAGIC.*/struct vfab_new {\n\t__u64 handle;\n\t__u32 how;\n};\n\n&/' \
	$header >"$tmp/$header"
python3 -c '
import sys, yaml
spec = yaml.safe_load(sys.stdin)
spec["attribute-sets"][0]["attributes"].append({"name": "colour", "type": "u32", "checks": {"max": 7}})
spec["operations"]["list"].append({"name": "paint", "attribute-set": "vfabric",
    "flags": ["uns-admin-perm"], "do": {"request": {"attributes": ["domain", "colour"]}}})
yaml.safe_dump(spec, sys.stdout, sort_keys=False)' <$spec >"$tmp/$spec"
scripts/gen-fuzz --top "$tmp" >"$tmp/new" 2>&1
grep -q 'C_IOCTL, VFAB_IOC_NEW, sizeof(struct vfab_new)' "$tmp/new" &&
	grep -q '"how", K_INT, 4, offsetof(struct vfab_new, how)' "$tmp/new"
result "an ioctl that was added is called, with its fields" $? "$tmp/new"
grep -q 'C_NL, VFAB_CMD_PAINT, 0, N_ADMIN' "$tmp/new" &&
	grep -q '"colour", K_INT, 4, VFAB_A_COLOUR, 0x0, 0x7ULL' "$tmp/new"
result "a command that was added is called, with its attribute and who may" $? "$tmp/new"

sed 's/^\t__u32 how;/\tmystery_t how;/' "$tmp/$header" >"$tmp/odd"
mv "$tmp/odd" "$tmp/$header"
! scripts/gen-fuzz --top "$tmp" >"$tmp/new" 2>&1 && grep -q mystery_t "$tmp/new"
result "a field that the generator does not know is refused by name" $? "$tmp/new"

# What the corpus has is still there to be called
cat selftests/fuzz/corpus/* | awk '!/^#/ && NF { print $1 }' | sort -u |
	comm -23 - <(cut -d' ' -f1 "$tmp/calls" | sort) >"$tmp/gone"
[ ! -s "$tmp/gone" ]
result "the corpus calls what is there" $? "$tmp/gone"

while IFS='@' read -r name file program; do
	case $name in ''|'#'*) continue ;; esac
	file=kmod/${file// /}
	! sed "${program# }" "$file" | cmp -s - "$file" || echo "$name: its sed program changes nothing in $file"
done <selftests/fuzz/plants >"$tmp/stale"
[ ! -s "$tmp/stale" ]
result "each plant changes its file" $? "$tmp/stale"
echo "1..$count"
exit "$failed"
