#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# check.sh - does scripts/check tell when something of it was killed?
#
# by example:
#
#	selftests/host/check.sh
#
# In a tree of its own where every test passes at once, apart from guests, which
# take a moment. Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=selftests/host/lib
. selftests/host/lib
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp"/{bin,scripts,selftests/{ctl,host},build/{tools/test,selftests}}
cp scripts/{check,lib.sh,ktap} "$tmp/scripts"
cd "$tmp" || exit 2

# stub FILE... < what it does
stub() {
	tee "$@" >/dev/null
	chmod +x "$@"
}

stub bin/make scripts/{deps,source,gen-netlink,demo,demo-vms} <<<'#!/bin/sh'
stub scripts/{style,mutants} selftests/ctl/a-host.sh selftests/host/b.sh build/selftests/route_test \
	build/tools/test/{libtest,libtest-asan,libtest-tsan,killtest,reducetest,topotest,mgrtest,scentest,layouttest} <<-'END'
	#!/bin/sh
	echo 'ok 1 stub'
	echo 1..1
END
stub scripts/kernel <<-'END'
	#!/bin/sh
	[ "$1" != list ] || printf '6.12 x\n6.1 x\n'
END
# Of a guest: its process and the one of who waits for it, and then what it tested
stub scripts/vm <<-'END'
	#!/bin/bash
	[ "$1" != check ] || exec selftests/host/b.sh
	while [ "$1" != -- ]; do [ "$1" != --name ] || name=$2; shift; done
	mkdir -p "build/vm-out/$name"
	echo "$$ $PPID" >"build/$name"
	[ ! -e build/slow ] || sleep 3
	echo panic | tee "build/vm-out/$name/console-1.log" >"build/vm-out/$name/console.log"
	printf 'ok 1 stub\n1..1\n# status: 0\n' >"build/vm-out/$name/test.log"
END
echo 30 >selftests/floor
: >selftests/skips

# checked STATUS [FIELD]: check ends so; meanwhile this process of the guest of 6.1 is killed
checked() {
	local status=0 pid

	rm -f build/check-* build/slow
	[ $# = 1 ] || : >build/slow
	PATH=$tmp/bin:$PATH scripts/check >out 2>&1 &
	pid=$!
	if [ $# = 2 ]; then
		until [ -s build/check-6.1 ]; do sleep 0.1; done
		kill -KILL "$(cut -d ' ' -f "$2" build/check-6.1)"
	fi
	wait "$pid" || status=$?
	[ "$status" = "$1" ]
}

echo "TAP version 13"
checked 0 && grep -q '^[0-9]* passed, 0 failed, 0 skipped$' out
result "all pass" $? out
checked 1 1 && grep -q 'FAIL .*vm-6.1: status 137' out
result "a guest that was killed is a failure" $? out
checked 1 2 && grep -q 'FAIL .*all steps beside these came to their end' out
result "and so is the chain of steps that it belongs to" $? out
echo "1..$count"
exit $failed
