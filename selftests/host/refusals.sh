#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# refusals.sh - what make and the scripts refuse is refused before any work
#
# by example:
#
#	selftests/host/refusals.sh
#
# Works in copies of the sources; builds, boots and installs nothing. Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
chmod 755 "$tmp"
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
# shellcheck source=selftests/host/lib
. selftests/host/lib

# copy DIR: the sources, as a clone would be
copy() {
	mkdir -p "$1"
	git ls-files -z 2>/dev/null | xargs -0 cp --parents -t "$1" 2>/dev/null
}

# refused TEXT COMMAND...: with status 2, says this and one line, and make's own
refused() {
	local text=$1 status=0

	shift
	"$@" >"$tmp/out" 2>&1 </dev/null || status=$?
	echo "status $status" >"$tmp/log"
	cat "$tmp/out" >>"$tmp/log"
	[ "$status" = 2 ] && grep -qF -e "$text" "$tmp/out" &&
		[ "$(grep -cv '^make\(\[[0-9]*\]\)\?: \(\*\*\*\|Entering\|Leaving\)' "$tmp/out")" = 1 ]
}

# A path that some part of the build would take apart
mkdir "$tmp/paths"
# shellcheck disable=SC2016 # as they are
for name in 'my tree' "o'clock" 'a&b' 'a$b' 'a(b)' 'a,b' 'a:b' 'a#b' 'a;b' 'a%b' 'a"b' 'a\b' 'a*b'; do
	tree=$tmp/paths/$name
	copy "$tree"
	find "$tmp/paths" | sort >"$tmp/before"
	for command in 'make' 'make tools' 'make modules' 'make modules_install' 'make install' \
		       'make check' 'make demo' 'make clean' scripts/check scripts/demo \
		       'scripts/vm probe' 'scripts/kernel list' scripts/style; do
		# shellcheck disable=SC2086 # words
		(cd "$tree" && refused "move the tree" $command) || echo "$command: $(cat "$tmp/log")"
	done >"$tmp/bad"
	find "$tmp/paths" | sort | diff "$tmp/before" - >>"$tmp/bad"
	[ ! -s "$tmp/bad" ]
	result "a tree in '${name//#/hash}'" $? "$tmp/bad"
	rm -rf "$tree"
done

tree=$tmp/tree
copy "$tree"
find "$tree" | sort >"$tmp/before"
refused "INSTALL_MOD_PATH 'x/lib/modules'" make -C "$tree" modules_install KDIR="$tree" INSTALL_MOD_PATH=x
result "modules_install: a relative place" $? "$tmp/log"
# shellcheck disable=SC2016 # make's
for value in "$tmp/my inst" inst '/tmp/$$b' "/tmp/a'b" ''; do
	refused "PREFIX '${value/\$\$/\$}' cannot be installed into" make -C "$tree" install PREFIX="$value"
	result "install: PREFIX=$value" $? "$tmp/log"
done
refused "LIBDIR 'lib' cannot be installed into" make -C "$tree" install PREFIX=/usr LIBDIR=lib DESTDIR="$tmp/root"
result "install: a relative LIBDIR" $? "$tmp/log"
refused "DESTDIR 'root' cannot be installed into" make -C "$tree" install DESTDIR=root
result "install: a relative DESTDIR" $? "$tmp/log"
user=
[ "$(id -u)" != 0 ] || user='setpriv --reuid 65534 --regid 65534 --clear-groups'
# shellcheck disable=SC2086 # words
refused 'installing into /usr/local needs root, or give PREFIX=' $user make -C "$tree" install
result "install: without permission" $? "$tmp/log"
cp Makefile "$tmp/Makefile"	# of no kernel, but there
# shellcheck disable=SC2086
refused 'installing into /lib/modules needs root' $user make -C "$tree" modules_install KDIR="$tmp"
result "modules_install: without permission" $? "$tmp/log"

for size in '' abc 0 1 1025 -3 99999999999; do
	refused "--size '$size': take a number of 3 to 1024" "$tree/scripts/demo" --size "$size"
	result "demo: --size '$size'" $? "$tmp/log"
done
refused "--size ''" "$tree/scripts/demo" --size
result "demo: --size without a number" $? "$tmp/log"
# shellcheck disable=SC2086 # words
refused "'make demo'" $user make -C "$tree" demo NATIVE=1
result "demo: NATIVE=1 without modules, or without root" $? "$tmp/log"

for groups in 6.99 6.12x 'host 6.12x' '6.1 6.12 nothing' ''; do
	if [ -n "$groups" ]; then
		refused "unknown group '${groups##* }'" make -C "$tree" check TEST="$groups"
	else
		refused "unknown group ''" "$tree/scripts/check" ''
	fi
	result "check: unknown group in '$groups'" $? "$tmp/log"
done
refused "give directories of tests' output" "$tree/scripts/coverage"
result "coverage: no directory" $? "$tmp/log"
refused "nothing in $tmp/gcov" "$tree/scripts/coverage" "$tmp"
result "coverage: no counts" $? "$tmp/log"
find "$tree" | sort | diff "$tmp/before" - >"$tmp/log"
result "nothing of that left anything in the tree" $? "$tmp/log"

# Each group that was asked for runs: with all that takes long replaced
for script in deps source kernel vm demo mutants mutants-host; do
	printf '#!/bin/sh\necho "1..1"\necho "ok 1 - %s"\n' "$script" >"$tree/scripts/$script"
done
printf '#!/bin/sh\n' | tee "$tree/scripts/demo" >"$tree/scripts/demo-vms"
printf 'all tests:\n' | tee "$tree/tools/Makefile" >"$tree/selftests/Makefile"
make -C "$tree" check TEST="demo mutants" >"$tmp/log" 2>&1
status=$?
[ "$status" = 0 ] && [ -e "$tree/build/check/demo.log" ] && [ -e "$tree/build/check/mutants.log" ] &&
	! ls "$tree"/build/check/vm-* >/dev/null 2>&1
result "check: two groups run" $? "$tmp/log"

echo "1..$count"
exit "$failed"
