#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# scenario.sh - vfabctl scenario: what a run does, and what it leaves
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-scenario
#
# The scenarios that are shipped run in scenarios.sh.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

# A file with one program, these steps and this verdict
scene() {
	cat >"$tmp/s.yaml"
}

# ran NAME STATUS FRAGMENT ARGUMENTS...: as try, for a run, which prints in any case
ran() {
	local name=$1 want=$2 said=$3 rc=0

	shift 3
	vfabctl scenario run "$tmp/s.yaml" "$@" >"$out" 2>"$err" </dev/null || rc=$?
	[ "$rc" = "$want" ] || echo "# status $rc instead of $want"
	[ "$rc" = "$want" ] && { [ -z "$said" ] || said "$said"; }
	result $? "$name"
}

# shellcheck disable=SC2317 # called by check
nothing_left() {
	[ -z "$(vfabctl domain show)" ] && ! pgrep -f "$tmp/child" >/dev/null && [ ! -e /dev/vfabric ]
}

head='name: s
teaches: t
domain: --size 2
'
job="programs:
  job: {run: sh $tmp/child, ranks: 0-1, ready: ready, under-test: true}
"
cat >"$tmp/child" <<'END'
echo "ready $VFAB_RANK of $VFAB_RANKS"
echo "op 1"
echo "op 2"
echo "moved 5 moved 7"
[ "$1" != wait ] || sleep 100
[ "$VFAB_RANK" = 0 ] || exit 3
END

# Each way to judge, held and not held
scene <<END
$head$job
steps:
- {start: job, fault: true}
- {name: second, when: operation 2}
verdict:
- {name: exit, exit: 0, ranks: 0}
- {name: exit 3, exit: 3, ranks: 1}
- {name: exit nonzero, exit: nonzero, ranks: not 0}
- {name: one exits, exit: 3, ranks: any}
- {name: says, says: ready 1, ranks: 1}
- {name: says any, says: ready 0, ranks: any}
- {name: never, never: op 3}
- {name: count, count: op, is: 4}
- {name: count min, count: op, min: 4, max: 4}
- {name: sum, sum: 'moved ', is: 24}
- {name: survivors, survivors: 1}
- {name: command, run: domain show \$dom, expect: 0, says: size 2}
- {name: refused command, run: domain show nobody, expect: 1, says: no such domain}
- {name: command says, run: -j domain show \$dom, never: '"size":3'}
- {name: command counts, run: -j domain show \$dom, sum: '"size":', is: 2}
END
ran "each way to judge holds" 0 's: held'
while IFS='|' read -r wrong why; do
	scene <<END
$head$job
steps:
- {start: job, fault: true}
- {name: second, when: operation 2}
verdict:
- {name: v, $wrong}
END
	ran "not held: $wrong" 1 "FAILED: v: $why"
done <<'END'
exit: 0|job rank 1 exited with status 3
exit: signal 9|job rank 0 exited with status 0
exit: 4, ranks: any|job rank 1 exited with status 3
says: op 3|job rank 0 does not say 'op 3'
says: 'ready 1'|job rank 0 does not say 'ready 1'
never: op 2|job rank 0 says 'op 2'
count: op, is: 3|it is 4, not 3
count: op, min: 5|it is 4, below 5
count: op, max: 3|it is 4, above 3
sum: 'moved ', is: 23|it is 24, not 23
sum: 'moved ', same-as: 'op '|it is 24, and op  comes to 6
survivors: 2|1 of 2 survived, not 2
run: domain show nobody, expect: 0|the command ended with status 1, not 0
run: domain show $dom, says: nothing|the command does not say 'nothing'
exit: 0, ranks: 7|job has no such process
END

# Times
scene <<END
$head
programs:
  job: {run: sh -c 'echo ready; sleep 0.6; echo late', ranks: 0}
steps:
- {start: job}
- {name: mark, when: says ready, fault: true}
verdict:
- {name: late, says: late, since: mark, within: 5}
- {name: end, exit: 0, since: mark, within: 5}
END
ran "within the time" 0 held
ran "a step that was left out is no point in time" 1 "step 'mark' was not done" --no-fault
sed -i 's/within: 5/within: 0.2/' "$tmp/s.yaml"
ran "not within the time: says" 1 "FAILED: late: job rank 0 says 'late' after "
ran "not within the time: exit" 1 "FAILED: end: job rank 0 ended after "

# Points that are not reached, programs that do not end, time that is up
scene <<END
$head
programs:
  job: {run: sh $tmp/child wait, ranks: 0, ready: ready}
ends: 0.3
steps:
- {start: job, fault: true}
- {when: says never this, within: 0.3}
verdict:
- {name: v, says: ready}
END
ran "a point that is not reached in time" 1 'when says reached: not in time'
check "nothing is left of it" nothing_left
sed -i '/never this/d; s/says: ready/exit: 0/' "$tmp/s.yaml"
ran "a program that does not end" 1 'job rank 0 did not end, and was killed'
check "nothing is left of that" nothing_left
sed -i 's/^ends.*/timeout: 1/' "$tmp/s.yaml"
ran "the time is up" 3 'no verdict: the time is up'
check "nothing is left then" nothing_left
scene <<END
$head$job
steps:
- {start: job, fault: true}
- {when: says never this}
verdict:
- {name: v, says: ready}
END
ran "a point that cannot be reached any more" 1 'its processes ended before'
check "and by what it would have been" grep -q "wanted: that each says 'never this'" "$out"
sed -i 's/says never this/operation 3/' "$tmp/s.yaml"
ran "operations that do not come" 1 "of each 3 lines that begin with 'op '"

# Set-ups that are broken
while IFS='|' read -r what from to why; do
	scene <<END
${head}setup: topo \$dom
$job
steps:
- {start: job, fault: true}
- {run: topo \$dom}
verdict:
- {name: v, says: ready}
END
	sed -i "s,$from,$to," "$tmp/s.yaml"
	ran "broken: $what" 2 "$why"
	check "broken: $what: nothing is left" nothing_left
done <<END
the domain|--size 2|--size 5000|s.yaml:3: setting up failed: vfabctl domain create
the set-up|setup: topo|setup: topo x|s.yaml:4: setting up failed: vfabctl topo x
a step|run: topo|run: link set|status 2: link set
a program|run: sh|run: $tmp/nothing|cannot start $tmp/nothing: No such file
ranks|ranks: 0-1|ranks: \$seed\$seed\$seed\$seed-0|ranks is
END

# A step that is part of the verdict
scene <<END
$head
steps:
- {run: domain show nobody, expect: 1, says: no such domain, fault: true}
verdict:
- {name: v, run: topo \$dom, expect: 0}
END
ran "a step that must be refused is" 0 held
sed -i 's/expect: 1/expect: 0/' "$tmp/s.yaml"
ran "a step that should not be" 1 'status 1, which is not the one that is expected'
sed -i 's/expect: 0, says: no such/expect: 1, says: no such wonderful/' "$tmp/s.yaml"
ran "a step that does not say it" 1 'does not say what it should'

# Shell, signals, several domains, users, environment
scene <<END
name: s
teaches: t
domains: {a: --size 2, b: --size 3 --nodes 3}
choose: {who: 0-1}
programs:
  job:
    run: [sh, -c, 'echo \$\$(id -u) \$\$MINE \$\$VFAB_DOMAIN \$\$VFAB_RANK \$\$VFAB_NODE.\$\$VFAB_LOCAL_RANK; sleep 100']
    ranks: all
    in: \$b
    user: 1001
    env: {MINE: 'is \$who', OTHER: x}
  alone:
    run: sh -c 'echo alone \$\${VFAB_RANK-none}'
    ranks: none
steps:
- {start: job}
- {when: says 1001 is \$who}
- {start: alone}
- {shell: echo \$b_id >$tmp/shell}
- {signal: KILL, ranks: 1, fault: true}
- {signal: TERM, ranks: not 1}
verdict:
- {name: three ranks of b, count: 1001 is \$who \$b, is: 3}
- {name: killed, exit: signal 9, ranks: 1}
- {name: ended, exit: signal 15, ranks: not 1}
- {name: a node each, says: \$b 2 2.0, ranks: 2}
- {name: no rank, program: alone, says: alone none}
END
ran "two domains, a user, an environment, signals" 0 held
check "a shell did what it should" grep -q '^[0-9]*$' "$tmp/shell"
check "nothing is left of the two" nothing_left
json "JSON" '.[0] | .name == "s" and .seed == 3 and .fault and .result == "held" and
	(.steps | length) == 6 and (.verdict | length) == 5 and all(.verdict[]; .held)' \
	scenario run "$tmp/s.yaml" --seed 3
mkdir "$tmp/keep"
ran "outputs are kept" 0 held --keep "$tmp/keep"
check "a file each" [ "$(cat "$tmp/keep/alone.out")" = 'alone none' ] && [ -s "$tmp/keep/job.2.out" ]
for i in 1 2; do
	vfabctl scenario run "$tmp/s.yaml" --seed 7 2>&1 | sed -E 's/\[ *[0-9.]+ s\]//; s/scn[0-9]+//; s/[0-9]+ *>//' >"$tmp/run$i"
done
check "the same seed does the same" cmp "$tmp/run1" "$tmp/run2"
ran "what is set" 0 held --set who=9

# The end comes in any case
scene <<END
$head
programs:
  job: {run: sh -c 'setsid sh $tmp/child wait & sleep 100', ranks: 0-1}
steps:
- {start: job, fault: true}
- {when: operation 1, within: 100}
- {when: says never, within: 100}
verdict:
- {name: v, exit: 0}
END
for signal in TERM INT KILL; do
	vfabctl scenario run "$tmp/s.yaml" >"$out" 2>"$err" &
	pid=$!
	until_true 20 grep -q 'operation 1' "$out"
	kill -$signal $pid
	wait $pid
	rc=$?
	[ $rc = $((128 + $(kill -l $signal))) ]
	result $? "SIG$signal: its status says so"
	until_true 20 nothing_left
	result $? "SIG$signal: no domain and no process is left"
done

check "nothing is left" nothing_left
finish
