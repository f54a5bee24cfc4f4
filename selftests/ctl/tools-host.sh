#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# tools-host.sh - vfabrun, vfabperf, vfabmgr, vfabtop and vfabswitchd where there is no domain: help, refusals
#
# by example:
#
#	make -C tools && selftests/ctl/tools-host.sh
#
# Needs neither root nor the module. Prints TAP.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib.sh
. "$here/lib.sh"

# What a launcher or a user left would count
unset VFAB_RANK VFAB_RANKS VFAB_WORLD_SIZE RANK WORLD_SIZE SLURM_PROCID PMI_RANK \
	OMPI_COMM_WORLD_RANK

echo "TAP version 13"

# helps COMMAND...: prints usage and nothing else
# shellcheck disable=SC2317 # called by check
helps() {
	"$@" >"$out" 2>"$err" && [ ! -s "$err" ] && grep -q "^Usage: $1" "$out"
}

# refuses FRAGMENT COMMAND...: status 2, says this, all in its own name
# shellcheck disable=SC2317 # called by check
refuses() {
	fragment=$1
	shift
	"$@" >"$out" 2>"$err" </dev/null
	[ $? = 2 ] && [ ! -s "$out" ] && said "$fragment" && grep -q "^$1: " "$err" &&
		! grep -vq -e "^$1: " -e "^see '$1.*--help'\$" "$err"
}

for words in vfabrun vfabmgr vfabtop vfabswitchd vfabperf "vfabperf lat" "vfabperf bw" "vfabperf doorbell" \
	"vfabperf coll" "vfabperf matrix" "vfabperf tune"; do
	# shellcheck disable=SC2086 # several words
	check "$words --help" helps $words --help
	# shellcheck disable=SC2086
	check "$words --help: output that is lost" unwritten $words --help
done
for tool in vfabrun vfabperf vfabmgr vfabtop vfabswitchd; do
	check "$tool --version" sh -c "$tool --version | grep -q '^$tool [0-9]'"
	check "$tool -V" sh -c "$tool -V | grep -q '^$tool [0-9]'"
	check "$tool --version: output that is lost" unwritten $tool --version
done

check "vfabmgr: no domain" refuses 'give --domain or --status' vfabmgr --once
check "vfabmgr: no such engine" refuses 'is not one of min-hop' vfabmgr --domain d1 --engine magic
check "vfabtop: count" refuses 'count "0" is not a number above 0' vfabtop -b -n 0
check "vfabtop: rows" refuses 'number of rows "x" is not a number' vfabtop -b -r x
check "vfabtop: rows, without -b" refuses 'goes with --batch' vfabtop -r 5
for seconds in nan inf 0 0.09 3601 "" 5x; do
	check "vfabtop: delay \"$seconds\"" refuses "delay \"$seconds\" is not a number of seconds" \
		vfabtop -b -d "$seconds"
done
check "vfabtop: order" refuses 'is not worst, address, rate or errors' vfabtop -s best
check "vfabtop: one too many" refuses 'argument "d2" is one too many' vfabtop d1 d2
check "vfabtop: no domain" refuses '"d1/ep0" is not a domain' vfabtop -b d1/ep0
check "vfabtop: an unknown option" refuses "unrecognized option '--nosuch'" vfabtop --nosuch
check "vfabrun: no program" refuses 'name a program' vfabrun
check "vfabrun: processes" refuses 'not a number of processes, 1 to 1024' vfabrun -n 1025 true
check "vfabrun: timeout" refuses 'not a number of seconds above 0, up to 1000000000' \
	vfabrun --timeout nan true
check "vfabrun: grace" refuses 'not a number of seconds' vfabrun --grace 1e10 true
check "vfabrun: an unknown option" refuses "unrecognized option '--nosuch'" vfabrun --nosuch

check "vfabperf coll: -e below -b" refuses 'the largest size, -e 4, is below the smallest, -b 8' \
	vfabperf coll allreduce -b 8 -e 4
check "vfabperf bw: -e below -b" refuses 'the largest size, -e 4, is below the smallest, -b 8' \
	vfabperf bw -b 8 -e 4
check "vfabperf: no command" refuses 'name a command' vfabperf
check "vfabperf: an unknown command" refuses 'no command "fly"' vfabperf fly
for words in lat bw doorbell "coll allreduce" matrix tune; do
	# shellcheck disable=SC2086 # several words
	check "vfabperf $words: an unknown option" \
		refuses "vfabperf: unrecognized option '--nosuch'" vfabperf $words --nosuch
	# shellcheck disable=SC2086
	check "vfabperf $words: a letter that is none" \
		refuses "vfabperf: invalid option -- 'x'" vfabperf $words -x
	# shellcheck disable=SC2086
	check "vfabperf $words: an argument is missing" \
		refuses "vfabperf: option requires an argument -- 'T'" vfabperf $words -T
	for seconds in nan inf -1 0 1e-4 1e10 1e300 "" 5x; do
		# shellcheck disable=SC2086
		check "vfabperf $words: timeout \"$seconds\"" \
			refuses "\"$seconds\" is not a number of seconds from 0.001 to 1000000000" \
			vfabperf $words -T "$seconds"
	done
done
for size in nan -1 1e300 8Q 2000G ""; do
	check "vfabperf bw: size \"$size\"" refuses "\"$size\" is not a size" vfabperf bw -b "$size"
done

if vfabctl system show >/dev/null 2>&1; then
	echo "# the module is loaded: what is said without it is not tried"
else
	unset VFAB_DOMAIN
	check "vfabrun: no domain" refuses 'vfabrun: domain: ' vfabrun true
	check "vfabtop: no module" refuses 'module not loaded' vfabtop -b -n 1
	check "vfabmgr: no module" refuses 'module not loaded' vfabmgr --domain d1 --once
	check "vfabperf: no domain" refuses 'vfabperf: domain: ' vfabperf lat
	check "vfabperf: no such domain" refuses 'vfabperf: domain: ' vfabperf coll --domain d1 barrier
fi

finish
