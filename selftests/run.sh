#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# run.sh - run the tests of the module, as root in a throw-away VM
#
# by example:
#
#	scripts/vm run --timeout 400 -- selftests/run.sh
#	scripts/vm run --kernel 6.1 --timeout 400 -- selftests/run.sh
#	scripts/vm run -- selftests/run.sh loss map      # only these programs
#	scripts/vm run -- selftests/run.sh ctl           # only the tests of vfabctl
#	scripts/vm run -- selftests/run.sh -storm -loss  # all but these
#
# It loads $VFABRIC_KO, runs each program in build/selftests, each script in
# selftests/ctl, the library's tests (lib, kills) and the fuzzer's programs (corpus),
# and unloads the module. What test NAME prints goes to $VFABRIC_OUT/NAME.log, which
# ends with the line "# status: RC"; scripts/ktap counts what is in there. Between
# the tests nothing may be left of them: no domain, no reference to the module, no
# complaint of the kernel; what is checked there is in run.log, as tests of its own.
#
# Exit status: 0 all passed, 1 a test failed, 2 nothing could be run.

set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
programs=${VFABRIC_SELFTESTS:-$top/build/selftests}
vfabctl=$top/build/tools/vfabctl
libtest=$top/build/tools/test/libtest
killtest=$top/build/tools/test/killtest
out=${VFABRIC_OUT:?run.sh: VFABRIC_OUT is not set: run it by scripts/vm run}
ko=${VFABRIC_KO:?run.sh: VFABRIC_KO is not set: run it by scripts/vm run}
limit=${VFABRIC_TEST_TIMEOUT:-180}

[ "$(id -u)" = 0 ] || { echo "run.sh: needs root, in a VM: scripts/vm run -- selftests/run.sh" >&2; exit 2; }
[ -d "$programs" ] || { echo "run.sh: nothing is built: run 'make -C selftests'" >&2; exit 2; }
mkdir -p "$out"

failed=0	# of all
wrong=0		# of what is checked here
count=0

# result TEXT STATUS [DIAGNOSTIC]: one test of this script
result() {
	count=$((count + 1))
	if [ "$2" = 0 ]; then
		echo "ok $count $1" >>"$out/run.log"
	else
		[ -z "${3:-}" ] || printf '# %s\n' "${3//$'\n'/$'\n'# }" >>"$out/run.log"
		echo "not ok $count $1" >>"$out/run.log"
		echo "run.sh: FAILED: $1${3:+: $3}"
		failed=1
		wrong=1
	fi
}

loaded() {
	[ -d /sys/module/vfabric ]
}

# left_clean NAME: what must hold after each test
left_clean() {
	local refs domains

	loaded || { result "$1: module still loaded" 1; return; }
	if [ -x "$vfabctl" ]; then
		domains=$("$vfabctl" domain show 2>&1)
		[ -z "$domains" ]
		result "$1: no domain left" $? "$domains"
	fi
	# Work that ends an endpoint after its process may be a moment late
	for _ in $(seq 50); do
		refs=$(cat /sys/module/vfabric/refcnt)
		[ "$refs" != 0 ] || break
		sleep 0.1
	done
	[ "$refs" = 0 ]
	result "$1: no reference to the module left" $? "refcnt is $refs"
	[ -z "$(ls /dev/vfabric 2>/dev/null)" ]
	result "$1: no device file left" $? "$(ls /dev/vfabric 2>/dev/null)"
}

# run NAME COMMAND...
run() {
	local name=$1 start=$SECONDS status=0 log
	shift
	log=$out/$name.log
	loaded || insmod "$ko" || { result "$name: module loads" 1; return; }
	echo "# condition: kernel=$(uname -r) arch=$(uname -m)" >"$log"
	timeout -k 5 "$limit" "$@" >>"$log" 2>&1 </dev/null || status=$?
	echo "# status: $status" >>"$log"
	printf 'run.sh: %-24s %3d passed, %d failed, %d skipped, status %d, %d s\n' "$name" \
		"$(grep -c '^ok ' "$log")" "$(grep -c '^not ok ' "$log")" \
		"$(grep -ci '^ok .*# SKIP' "$log")" "$status" $((SECONDS - start))
	# kselftest's own status for "all skipped" is no failure here
	case $status in
	0|4)	;;
	*)	failed=1
		grep -E '^not ok |^# .*(Expected|failed|terminated|vft:)' "$log" | sed "s/^/run.sh:   /" ;;
	esac
	left_clean "$name"
}

# wanted NAME [GROUP]: is it not left out, and among those asked for, or were none
wanted() {
	local w

	[[ " $without " != *" $1 "* && " $without " != *" ${2:-$1} "* ]] || return 1
	[ ${#only[@]} != 0 ] || return 0
	for w in "${only[@]}"; do
		[ "$w" != "$1" ] && [ "$w" != "${2:-}" ] || return 0
	done
	return 1
}

kmemleak=/sys/kernel/debug/kmemleak

# no_leak WHEN: what the kernel has lost, where it knows. It reports what is
# older than 5 s and has not changed from one scan to the next.
no_leak() {
	local leaks

	[ -w $kmemleak ] || return
	sleep 5
	echo scan >$kmemleak
	echo scan >$kmemleak
	leaks=$(cat $kmemleak)
	[ -z "$leaks" ]
	result "nothing leaked: $1" $? "$leaks"
	echo clear >$kmemleak
}

only=() without=
for word; do
	case $word in
	-*)	without="$without ${word#-}" ;;
	*)	only+=("$word") ;;
	esac
done
for word in "${only[@]}" $without; do
	[[ " ctl lib kills kills-absorb kills-sigbus corpus " == *" $word "* ]] ||
		[ -x "$programs/$word" ] ||
		{ [ "$word" != "${word#ctl-}" ] && [ -x "$here/ctl/${word#ctl-}.sh" ]; } ||
		{ echo "run.sh: there is no test '$word': names are those of build/selftests, ctl-NAME for selftests/ctl/NAME.sh, ctl, lib, kills (kills-absorb, kills-sigbus) and corpus" >&2; exit 2; }
done
echo "TAP version 13" >"$out/run.log"
echo "# condition: kernel=$(uname -r) arch=$(uname -m)" >>"$out/run.log"

if loaded; then
	echo "run.sh: vfabric is loaded already: this is for a fresh VM" >&2
	exit 2
fi
# What was lost before is not the module's
if [ -w $kmemleak ]; then
	sleep 5
	echo scan >$kmemleak
	echo scan >$kmemleak
	echo clear >$kmemleak
fi
insmod "$ko" || { echo "run.sh: $ko does not load: see the console" >&2; exit 2; }

for program in "$programs"/*; do
	name=${program##*/}
	if [ ! -f "$program" ] || [ ! -x "$program" ] || ! wanted "$name"; then
		continue
	fi
	# Those need no kernel, and run on the host
	case $name in
	*_test) continue ;;
	esac
	run "$name" "$program"
done
for script in "$here"/ctl/*.sh; do
	name=${script##*/}
	name=ctl-${name%.sh}
	case $script in
	*-host.sh) continue ;;
	esac
	[ -x "$script" ] || continue
	wanted "$name" ctl || continue
	run "$name" "$script"
done
# library: libvfab with several ranks, in a domain of its own
library() {
	local status=0

	"$vfabctl" domain create libtest --size 8 >/dev/null || return
	VFAB_DOMAIN=libtest VFABCTL=$vfabctl "$libtest" || status=$?
	"$vfabctl" domain delete libtest || status=1
	return "$status"
}

if wanted lib && [ -x "$libtest" ]; then
	export -f library
	export vfabctl libtest
	run lib bash -c library
fi

# kills OPTION...: ranks of collectives are killed, in a domain of their own, which
# cannot be deleted if anything is left in it
kills() {
	local status=0

	"$vfabctl" domain create kills --size 8 >/dev/null || return
	VFAB_DOMAIN=kills VFAB_TEST_BOUND=${VFAB_TEST_BOUND:-20} "$killtest" "$@" || status=$?
	"$vfabctl" domain delete kills || status=1
	return "$status"
}

# Thousands: scripts/kills
for policy in absorb sigbus; do
	wanted kills-$policy kills && [ -x "$killtest" ] || continue
	export -f kills
	export vfabctl killtest
	option=
	[ $policy = absorb ] || option=--sigbus
	for seed in ${VFABRIC_KILL_SEEDS:-1}; do
		run "kills-$policy${VFABRIC_KILL_SEEDS:+-$seed}" bash -c 'kills "$@"' bash \
			--kills "${VFABRIC_KILLS:-12}" --seed "$seed" $option
	done
done

# corpus: programs that the fuzzer found, each of them once (scripts/fuzz). Tried in
# User Mode Linux only: elsewhere it runs where it is asked for.
if wanted corpus && [ -x "$programs/fuzz/fuzz" ] &&
	{ [ ${#only[@]} != 0 ] || [ "${VFABRIC_GUEST_ACCEL:-}" = uml ]; }; then
	run corpus "$programs/fuzz/fuzz" --run "$here"/fuzz/corpus/*
fi

no_leak "while the module is loaded"
if loaded; then
	text=$(rmmod vfabric 2>&1)
	result "module unloads at the end" $? "$text"
fi
no_leak "after the module is unloaded"
"$here/counts" "$out/gcov"
echo "1..$count" >>"$out/run.log"
echo "# status: $wrong" >>"$out/run.log"
exit $failed
