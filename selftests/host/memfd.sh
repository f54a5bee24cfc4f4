#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# memfd.sh - vfabrun --memfd: by shells and other programs, killed, misused
#
# by example:
#
#	selftests/host/memfd.sh		# after make tools
#
# Prints TAP. What the library does on a memfd, libtest tests.

# shellcheck disable=SC2016,SC2086 # words, and what the ranks expand

set -u

cd "$(dirname "$0")/../.." || exit 2
tools=$PWD/build/tools
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset VFAB_DOMAIN VFAB_RANK RANK VFAB_RANKS VFAB_WORLD_SIZE
PATH=$tools:$PATH
# shellcheck source=selftests/host/lib
. selftests/host/lib

measure="vfabperf coll allreduce -b 8 -e 4K -n 2 -w 1"

says 0 '# Out of bounds values : 0 OK' vfabrun --memfd -n 4 $measure
result "four ranks all-reduce" $? "$tmp/log"

says 0 '# Out of bounds values : 0 OK' vfabperf coll -n 3 allreduce --domain memfd -b 8 -e 8
result "vfabperf starts ranks on a memfd itself" $? "$tmp/log"

says 0 '# Out of bounds values : 0 OK' vfabrun --memfd -n 2 sh -c "sh -c '$measure'; exit \$?"
result "by shells" $? "$tmp/log"

says 0 '# Out of bounds values : 0 OK' vfabrun --memfd -n 2 bash -c "
	for fd in {3..99}; do eval \"exec \$fd>&-\"; done; exec $measure"
result "by a program that closes all files" $? "$tmp/log"

says 0 '# Out of bounds values : 0 OK' vfabrun --memfd -n 2 bash -c "
	exec 7<>\${VFAB_DOMAIN#memfd:}; export VFAB_DOMAIN=memfd:7; exec $measure"
result "by the number of an inherited file" $? "$tmp/log"

says 1 'No such file or directory' vfabrun -q --memfd -n 2 env VFAB_DOMAIN=memfd:77 sh -c "$measure; exit 1"
result "by the number of a file that is not there" $? "$tmp/log"

for args in "--memfd true|by -n" "--memfd -n 2 --ranks 0,1 true|--ranks" \
	    "--memfd -n 2000 true|1 to 1024" "--domain memfd true|by -n" \
	    "--memfd -n 2 --domain rack true|there is no domain" \
	    "--domain rack --memfd -n 2 true|there is no domain"; do
	# shellcheck disable=SC2086 # words
	says 2 "${args#*|}" vfabrun ${args%|*}
	result "refused: vfabrun ${args%|*}" $? "$tmp/log"
done

for bytes in 1024K -18446744073709000000 x 4096; do
	says 2 'give bytes without a unit' env VFAB_COMM_BYTES=$bytes vfabrun -q --memfd -n 2 $measure
	result "refused: VFAB_COMM_BYTES=$bytes" $? "$tmp/log"
done

says 2 'fd/3: Too many open files' sh -c 'ulimit -n 4; exec vfabrun --memfd -n 2 true' &&
	! grep -q 'inherited' "$tmp/log"
result "no file is left: that is all that is said" $? "$tmp/log"

says 137 'killed by signal 9' vfabrun --memfd -n 4 sh -c '[ $RANK != 2 ] || kill -9 $$; exec sleep 100'
result "a rank that is killed ends the job" $? "$tmp/log"

# The others find out by themselves, and say whom they lost
says 137 'rank 2 of the group was lost' vfabrun --memfd -n 4 --keep-going sh -c "
	[ \$RANK = 2 ] && { (sleep 1; kill -9 \$\$) & }
	exec vfabperf coll allreduce -b 8 -e 8 -n 10000000 -T 60"
result "and without the launcher's help, an all-reduce" $? "$tmp/log"

# Nothing is left of a launcher that is killed: processes, names
find /dev/shm >"$tmp/before"
mark=left-by-memfd-test-$$
vfabrun --memfd -n 8 env MARK=$mark vfabperf coll allreduce -b 8 -e 8 -n 10000000 >/dev/null 2>&1 &
pid=$!
for _ in $(seq 100); do
	[ "$(grep -slz "^MARK=$mark" /proc/[0-9]*/environ | wc -l)" -ge 8 ] && break
	sleep 0.1
done
{
	[ "$(grep -slz "^MARK=$mark" /proc/[0-9]*/environ | wc -l)" -ge 8 ] || echo "it did not start"
	kill -9 $pid
	wait $pid
	for _ in $(seq 50); do
		grep -qslz "^MARK=$mark" /proc/[0-9]*/environ || break
		sleep 0.1
	done
	grep -slz "^MARK=$mark" /proc/[0-9]*/environ
	find /dev/shm | diff "$tmp/before" - | grep -i -e vfab -e memfd
} >"$tmp/bad" 2>/dev/null
[ ! -s "$tmp/bad" ]
result "a launcher that is killed leaves nothing" $? "$tmp/bad"

says 0 '# Out of bounds values : 0 OK' vfabrun --memfd -n 72 vfabperf coll allreduce -b 8 -e 1K -f 4 -n 1 -w 0 -T 100
result "72 ranks" $? "$tmp/log"

echo "1..$count"
exit "$failed"
