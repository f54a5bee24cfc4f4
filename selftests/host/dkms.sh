#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# dkms.sh - does DKMS take and build the module, for each kernel?
#
# by example:
#
#	selftests/host/dkms.sh
#
# DKMS works in trees of the test's own: nothing is registered or installed on
# this machine, and no root is needed. The headers are those of scripts/kernel.
# Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
PATH=$PATH:/usr/sbin:/sbin
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
kernels='6.12 6.1'
# shellcheck source=selftests/host/lib
. selftests/host/lib

skip() {
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

conf() {
	sed -n "s/^$1=\"\(.*\)\"\$/\1/p" dkms.conf
}

# refuses STATUS TEXT ARGUMENTS...: says one sentence and changes nothing
refuses() {
	local want=$1 text=$2 status=0

	shift 2
	scripts/dkms "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	[ "$status" = "$want" ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" = 1 ] &&
		grep -q -e "$text" "$tmp/err"
}

# What modinfo must say, and that nothing loads the module by itself
complete() {
	local field text

	modinfo "$1" >"$tmp/modinfo" || return
	for field in version description author license; do
		grep -q "^$field: *[^ ]" "$tmp/modinfo" || { echo "no $field" >>"$tmp/modinfo"; return 1; }
	done
	grep -q "^version: *$version\$" "$tmp/modinfo" && ! grep -q '^alias:' "$tmp/modinfo" || return
	grep -oP '^module_param_named\(\K\w+' kmod/main.c >"$tmp/parms"
	[ -s "$tmp/parms" ] || return
	while read -r field; do
		text=$(grep "^parm: *$field:" "$tmp/modinfo") || return
		[[ $text == *' (default '* ]] || return
	done <"$tmp/parms"
}

version=$(conf PACKAGE_VERSION)
grep -qx "MODULE_VERSION(\"$version\");" kmod/main.c && grep -qx "version := $version" tools/Makefile
result "one version: dkms.conf, the module, the tools" $?

mkdir -p "$tmp/src" "$tmp/dkms"
scripts/dkms --sources "$tmp/src/vfabric-$version" && [ -e "$tmp/src/vfabric-$version/kmod/Kbuild" ] &&
	! find "$tmp/src" -name '*.o' -o -name '*.ko' -o -name '*.mod.c' | grep .
result "sources without objects" $?

refuses 2 'is not an option' --nope
result "an unknown option is refused" $?
if [ "$(id -u)" = 0 ]; then
	if command -v dkms >/dev/null; then
		refuses 2 'no headers of kernel 0.0-none: ' 0.0-none
	else
		refuses 2 'dkms is not installed' 0.0-none
	fi
else
	refuses 2 'needs root' && refuses 2 'needs root' --uninstall
fi
result "what is missing is said in one sentence" $?

if ! command -v dkms >/dev/null; then
	for kernel in $kernels; do
		skip "build for $kernel" "dkms is not installed"
	done
	echo "1..$count"
	exit "$failed"
fi

# The keys that DKMS makes, and has to be enrolled, are otherwise in /var/lib/dkms
export sign_file mok_signing_key=$tmp/mok.key mok_certificate=$tmp/mok.pub
trees=(--dkmstree "$tmp/dkms" --sourcetree "$tmp/src")
dkms add -m vfabric -v "$version" "${trees[@]}" >"$tmp/add.log" 2>&1
result "dkms takes the sources" $? "$tmp/add.log"
for kernel in $kernels; do
	parts=$(scripts/kernel path "$kernel" --headers --release) || exit 2
	{ read -r headers; read -r release; } <<<"$parts"
	log=$tmp/build-$kernel.log
	sign_file=$(ls "$headers"/../../lib/linux-kbuild-*/scripts/sign-file)
	dkms build -m vfabric -v "$version" -k "$release" --kernelsourcedir "$headers" \
		"${trees[@]}" >"$log" 2>&1
	result "build for $kernel" $? "$log"
	ko=$(find "$tmp/dkms/vfabric/$version/$release" -name 'vfabric.ko*')
	[ -n "$ko" ] && complete "$ko"
	result "module for $kernel says what it is" $? "$tmp/modinfo"
	grep -q '^signer: *DKMS module signing key$' "$tmp/modinfo" && [ -s "$tmp/mok.pub" ]
	result "module for $kernel is signed with a key of DKMS" $? "$tmp/modinfo"
	grep -q 'warning:' "$tmp/dkms/vfabric/$version/$release"/*/log/make.log
	[ $? = 1 ]
	result "no warning for $kernel" $? "$tmp/dkms/vfabric/$version/$release/$(uname -m)/log/make.log"
done
dkms remove -m vfabric -v "$version" --all "${trees[@]}" >"$tmp/remove.log" 2>&1 &&
	[ -z "$(find "$tmp/dkms" -name 'vfabric*')" ]
result "dkms removes it" $? "$tmp/remove.log"
echo "1..$count"
exit "$failed"
