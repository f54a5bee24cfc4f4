#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# opensm.sh - vfabmgr against opensm, on the same two tiers of switches
#
# by example, in a guest, after insmod:
#
#	tools/bench/opensm.sh 5 >>rows.json
#
# The fabric: 1024 endpoints of one port, 64 leaves, 16 spines, each leaf joined to
# each spine. vfabmgr makes all tables of a domain whose tables are empty: it reads
# links and tables, computes, looks for circles, writes. opensm does so for ibsim's
# simulation of the same links: it discovers, computes, writes. Each is one process
# from its start to its end (--once, opensm -o); the sweeps of opensm talk to another
# process, where vfabmgr talks to the kernel.
#
# opensm, ibsim and libumad2sim are Debian's packages opensm, ibsim-utils and
# libumad2sim0: installed, or unpacked where $VFABRIC_IB_ROOT says.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
PATH=$here/../../build/tools:$PATH:/usr/sbin
root=${VFABRIC_IB_ROOT:-}
if [ -n "$root" ]; then
	PATH=$PATH:$root/usr/sbin:$root/usr/bin
	LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu
	export LD_LIBRARY_PATH
fi
sim=$(find "$root"/usr/lib -path '*umad2sim/libumad2sim.so' 2>/dev/null | head -n 1)
if ! command -v opensm >/dev/null || ! command -v ibsim >/dev/null || [ -z "$sim" ]; then
	echo "opensm.sh: opensm is left out: install opensm, ibsim-utils and libumad2sim0" >&2
	exit 0
fi

tmp=$(mktemp -d)
ibsim=
trap '[ -z "$ibsim" ] || kill $ibsim 2>/dev/null; vfabctl domain delete bench 2>/dev/null || :; rm -rf "$tmp"' EXIT

cat >"$tmp/tiers.yaml" <<END
generator: two-tier
parameters: {world: 1024, ports: 1, pods: 64, leaves_per_pod: 1, spines: 16, planes: 1, taper: 1,
  rate_mb_per_s_per_direction: 50000, latency_ns: 100}
END
# ibsim's file lists the ports of each, from 1 on; the manager is at the first one
vfabctl profile show --expand "$tmp/tiers.yaml" | tr -d '[],-' | awk '
	$1 ~ /^(ep|sw)[0-9]+\/p/ && NF == 2 {
		for (i = 1; i <= 2; i++) {
			split($i, a, "/p"); split($(3 - i), b, "/p")
			if (!(a[1] in n)) { order[++all] = a[1]; n[a[1]] = 0 }
			if (a[2] + 1 > n[a[1]]) n[a[1]] = a[2] + 1
			lines[a[1]] = lines[a[1]] sprintf("[%d] \"%s\"[%d]\n", a[2] + 1, b[1], b[2] + 1)
		}
	}
	END {
		for (i = 1; i <= all; i++)
			printf "%s %d \"%s\"\n%s\n", order[i] ~ /^ep/ ? "Hca" : "Switch",
				n[order[i]], order[i], lines[order[i]]
	}' >"$tmp/tiers.net"

now() {
	date +%s%N
}

# ms FROM TO
ms() {
	awk -v from="$1" -v to="$2" 'BEGIN { printf "%.3f", (to - from) / 1e6 }'
}

# row ID OURS PEER: comma-separated samples
row() {
	printf '{"id": "opensm.%s", "unit": "ms", "ours": [%s], "peer": [%s]}\n' "$1" "$2" "$3"
}

ours='' theirs='' compute='' routing=''
i=0
while [ $i -lt "${1:-3}" ]; do
	i=$((i + 1))
	vfabctl domain create bench --topology "$tmp/tiers.yaml" >/dev/null
	dest=0
	while [ $dest -lt 1024 ]; do
		vfabctl route set bench $dest drop >/dev/null
		dest=$((dest + 1))
	done
	from=$(now)
	vfabmgr --once -v --domain bench 2>"$tmp/mgr"
	ours="$ours${ours:+, }$(ms "$from" "$(now)")"
	grep -q '81920 written' "$tmp/mgr" || { cat "$tmp/mgr" >&2; exit 1; }
	compute="$compute${compute:+, }$(sed -n 's/.*min-hop \([0-9.]*\),.*/\1/p' "$tmp/mgr")"
	vfabctl domain delete bench

	[ -p "$tmp/fifo" ] || mkfifo "$tmp/fifo"
	(cd "$tmp" && exec ibsim -s -N 2048 -S 256 -P 8192 -L 16384 tiers.net >ibsim.log 2>&1 <"$tmp/fifo") &
	ibsim=$!
	exec 3>"$tmp/fifo"
	sleep 3
	rm -f "$tmp/osm.log"
	from=$(now)
	SIM_HOST=ep0 OSM_TMP_DIR=$tmp OSM_CACHE_DIR=$tmp LD_PRELOAD=$sim \
		opensm -o -R minhop -f "$tmp/osm.log" -D 0x43 >"$tmp/osm.out" 2>&1 || :
	theirs="$theirs${theirs:+, }$(ms "$from" "$(now)")"
	grep -q 'SUBNET UP' "$tmp/osm.log" || { cat "$tmp/osm.out" "$tmp/ibsim.log" >&2; exit 1; }
	# From being the master of what was found to all tables computed and sent
	routing="$routing${routing:+, }$(awk '{
			split($3, t, ":"); s = t[1] * 3600 + t[2] * 60 + t[3] + $4 / 1e6 }
		/Entering MASTER/ { from = s }
		/tables configured on all/ { printf "%.3f", 1e3 * (s - from) }' "$tmp/osm.log")"
	exec 3>&-
	kill $ibsim
	wait $ibsim 2>/dev/null || :
	ibsim=
done
row whole "$ours" "$theirs"
row compute "$compute" "$routing"
