#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# peers.sh - the benchmark that compares with MPI, on vfabric alone, and its verdicts
#
# by example:
#
#	make tools && selftests/host/peers.sh
#
# Needs neither root, nor the module, nor an MPI. Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=selftests/host/lib
. selftests/host/lib
unset MAKEFLAGS MFLAGS MAKELEVEL VFAB_DOMAIN VFAB_RANK VFAB_RANKS VFAB_WORLD_SIZE RANK WORLD_SIZE \
	SLURM_PROCID PMI_RANK OMPI_COMM_WORLD_RANK

# peers RANKS CASE...: rows in $tmp/rows
peers() {
	local n=$1

	shift
	rm -f "$tmp/sync" "$tmp/rows"
	timeout 60 build/tools/vfabrun --memfd -q -n "$n" build/peers/peers-vfabric "$tmp/sync" "$tmp/rows" 2 50 "$@" \
		>"$tmp/log" 2>&1 || { echo "status $?" >>"$tmp/log"; return 1; }
	cat "$tmp/rows" >>"$tmp/log"
}

echo "TAP version 13"
make -s -C tools/peers peers-vfabric >"$tmp/log" 2>&1
result "the benchmark builds without an MPI" $? "$tmp/log"
all='allreduce:private:8,1000 broadcast:private:8,1000 allgather:private:8,1000
	reduce_scatter:private:8,1000 alltoall:private:8,1000'
for n in 2 3; do
	# shellcheck disable=SC2086 # words
	peers $n barrier:private:0 $all copy:private:1000 ${all//private/window} &&
		jq -se '.[0].ranks == '$n' and (.[1:] | length) == 22 and
			all(.[1:][]; .wrong == 0 and .iterations >= 1 and .min_us <= .median_us)' "$tmp/rows" >>"$tmp/log"
	result "all cases, $n ranks: right" $? "$tmp/log"
done
! peers 2 fly:private:8 && grep -q 'a case is COLLECTIVE:private|window:SIZE' "$tmp/log"
result "no such case" $? "$tmp/log"

for words in '--ranks 3' '--ranks x' '--only moon' '--rst --nosuch'; do
	# shellcheck disable=SC2086 # words
	scripts/bench-peers $words >"$tmp/log" 2>&1
	[ $? = 2 ]
	result "bench-peers $words: refused" $? "$tmp/log"
done

# What it says of figures that are known
python3 - >"$tmp/log" 2>&1 <<'END'
import importlib.machinery
import importlib.util

loader = importlib.machinery.SourceFileLoader("peers", "scripts/bench-peers")
spec = importlib.util.spec_from_loader("peers", loader)
peers = importlib.util.module_from_spec(spec)
loader.exec_module(peers)


def raw(ours, ompi, mpich, hops=(50,) * 3, cpus=2, ranks="2", case="allreduce:private:8"):
    """A run of three repetitions in which each library took so long."""
    heads = [{"library": "l", "cpus_of_a_rank": 1, "hop_ns": h, "memcpy_gbs": 1.0,
              "complete": True} for h in hops]
    runs = {}
    for lib, times in (("vfabric", ours), ("openmpi", ompi), ("mpich", mpich)):
        rows = [{"median_us": t, "min_us": t, "wrong": 0, "state": peers.state(h)}
                for t, h in zip(times, heads)]
        runs[lib] = {"heads": heads, "cases": {case: rows}}
    return {"cpu": "c", "cpus": cpus, "kernel": "k", "load": 0, "load_end": 0, "seconds": 0,
            "mode": "native", "complete": True, "settings": {}, "runs": {ranks: runs}}


def judged(*args, **more):
    """Its row and goals."""
    data = raw(*args, **more)
    out = {"rows": peers.rows_of("native", data), "machines": {"native": peers.summary(data)}}
    return out["rows"][0], {g["case"]: g for g in peers.goals(out)}


row, goals = judged([1, 1, 1], [4, 4, 4], [3, 3, 3])
assert row["best"] == "mpich" and row["ratio"] == 3 and not row["equal"], row
assert goals["private buffers, ranks <= cores"]["reached"]
assert goals["private, all-reduce of 8 B .. 4 KiB"]["reached"]
# 1 us is more than 8 x 50 ns + 100 ns
assert not goals["private, all-reduce of 8 B, 2 ranks"]["reached"]
row, goals = judged([.4, .4, .4], [4, 4, 4], [3, 3, 3])
assert goals["private, all-reduce of 8 B, 2 ranks"]["reached"]
row, goals = judged([2, 2, 2], [1, 1, 1], [3, 3, 3])
assert row["best"] == "openmpi" and row["ratio"] == .5
assert not goals["private buffers, ranks <= cores"]["reached"]
assert "0.50x" in goals["private buffers, ranks <= cores"]["note"]
# Within the spread: neither faster nor slower, but far from 1.5x
row, goals = judged([1, 1.1, 1.2], [1, 1.05, 1.1], [3, 3, 3])
assert row["equal"] and not goals["private buffers, ranks <= cores"]["reached"]
# Runs in another state of the machine, and disturbed ones, are not compared with
row, goals = judged([1, 5, 99], [2, 10, 1], [50, 50, 50], hops=(50, 200, 9000))
assert row["ratio"] == 2, row
row, goals = judged([.1, .1, .1], [4, 4, 4], [3, 3, 3], hops=(9000,) * 3)
assert not goals["private, all-reduce of 8 B, 2 ranks"]["reached"]
# More ranks than cores: against Open MPI only
row, goals = judged([5, 5, 5], [6, 6, 6], [1, 1, 1], ranks="8", case="barrier:private:0")
assert row["crowded"] and goals["ranks outnumber cores, against Open MPI that yields"]["reached"]
assert goals["barrier of 8 on 2 cores"]["reached"] and len(goals) == 2, goals
row, goals = judged([7000] * 3, [6000] * 3, [1] * 3, ranks="8", case="barrier:private:0")
assert not any(g["reached"] for g in goals.values()), goals
END
result "verdicts on known figures" $? "$tmp/log"

echo "1..$count"
exit "$failed"
