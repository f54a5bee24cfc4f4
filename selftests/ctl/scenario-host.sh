#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# scenario-host.sh - vfabctl scenario without a module: files, names, refusals
#
# by example:
#
#	selftests/ctl/scenario-host.sh
#
# What is wrong in a file is tested line by line by build/tools/test/scentest.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib.sh
. "$here/lib.sh"

echo "TAP version 13"

names=$(vfabctl -j scenario list | jq -r '.[].name')
check "scenarios come with it" [ "$(echo "$names" | wc -l)" -ge 7 ]
json "scenario list: what they are about" 'all(.[]; (.symptom | length) > 10 and (.file | length) > 5)' \
	scenario list
try "scenario show: all" 0 'peer-kill: incident 14: ' scenario show
for name in $names; do
	json "$name: is named as its file" ".[0].name == \"$name\" and (.[0].file | endswith(\"/$name.yaml\"))" \
		scenario show "$name"
	json "$name: has a source, a verdict and a fault" \
		'.[0] | (.source | length) > 0 and (.verdict | length) > 1 and any(.steps[]; .fault)' \
		scenario show "$name"
	try "$name: is checked" 0 ': ok' scenario check "$name"
done
sed -nE 's/^([a-z-]+) +([0-9]+|-)  .*/\1/p' "$top/Documentation/scenarios.rst" | sort >"$tmp/listed"
echo "$names" | sort >"$tmp/names"
check "the documents list them" cmp "$tmp/listed" "$tmp/names"
awk '/^    name: two-links/ { on = 1 } on && !/^    / { exit } on { print substr($0, 5) }' \
	"$top/Documentation/scenarios.rst" >"$tmp/two-links.yaml"
try "the documents' example is checked" 0 'two-links.yaml: ok' scenario check "$tmp/two-links.yaml"
try "scenario show: the steps" 0 'step      signal KILL  <- the fault' scenario show peer-kill
try "scenario show: what a program must say" 0 'group of three: says regrouped 3' scenario show peer-kill
try "scenario show: when it is ready" 0 'is ready when it says ready' scenario show peer-kill
json "scenario show: how it is judged" '.[0].verdict[3] | .name and .says == "regrouped 3"' scenario show peer-kill
try "scenario list: quotes in a sentence" 0 'GPUs say "system not' scenario list
try "scenario show: unknown" 2 'there is no scenario "nobody"' scenario show nobody
try "scenario show: a path without a file" 2 'cannot open it: No such file' scenario show ./nobody.yaml
try "scenario check: nothing" 2 'is missing' scenario check
try "scenario check: unknown" 2 'there is no scenario "nobody"' scenario check nobody

cat >"$tmp/mine.yaml" <<END
name: mine
teaches: nothing
domain: --size 2
choose: {who: 0-1}
programs:
  job: {run: 'true', ranks: \$who}
steps:
- {start: job, fault: true}
verdict:
- {name: it ends, exit: 0}
END
try "scenario check: a file" 0 'mine.yaml: ok' scenario check "$tmp/mine.yaml"
try "scenario show: a file" 0 'choose    who: 0-1' scenario show "$tmp/mine.yaml"
sed 's/start: job/begin: job/' "$tmp/mine.yaml" >"$tmp/bad.yaml"
try "scenario check: a key that there is not" 2 'bad.yaml:8: there is no key "begin" here: the keys are ' \
	scenario check "$tmp/bad.yaml"
# shellcheck disable=SC2016 # the file's own
sed 's/\$who/$whom/' "$tmp/mine.yaml" >"$tmp/bad.yaml"
# shellcheck disable=SC2016
try "scenario check: a name without a value" 2 'bad.yaml:6: "$whom" has no value' \
	scenario check "$tmp/bad.yaml"
sed 's/start: job/run: lnik set, fault: true}\n- {start: job/' "$tmp/mine.yaml" >"$tmp/bad.yaml"
try "scenario check: a command that there is not" 2 'bad.yaml:8: vfabctl has no command "lnik set"' \
	scenario check "$tmp/bad.yaml"
sed 's/exit: 0/run: domain shwo, says: x/' "$tmp/mine.yaml" >"$tmp/bad.yaml"
try "scenario check: a verb that there is not" 2 'bad.yaml:10: vfabctl has no command "domain shwo"' \
	scenario check "$tmp/bad.yaml"
# shellcheck disable=SC2016 # the file's own
sed 's/exit: 0/run: $who show, says: x/' "$tmp/mine.yaml" >"$tmp/bad.yaml"
try "scenario check: a command that only a run knows" 0 ': ok' scenario check "$tmp/bad.yaml"
# shellcheck disable=SC2016 # the file's own
sed 's/\$who/$whom/' "$tmp/mine.yaml" >"$tmp/bad.yaml"
try "scenario run: a file that is wrong" 2 'has no value' scenario run "$tmp/bad.yaml"
try "scenario run: no file" 2 'NAME or FILE is missing' scenario run
try "scenario run: a seed that is none" 2 'seed "x" is not a number' scenario run peer-kill --seed x
try "scenario run: --keep of what is no directory" 2 'is no directory: make it first' \
	scenario run peer-kill --keep "$tmp/none"
try "scenario run: --set of nothing" 2 '"op" is not NAME=VALUE' scenario run peer-kill --set op
try "scenario run: --set of another name" 2 '"pp=1" is not NAME=VALUE' scenario run peer-kill --set pp=1
try "scenario run: --under-test without a command" 2 '--under-test wants a command' \
	scenario run peer-kill --under-test
try "scenario run: no program to stand for" 2 'has no program that --under-test may stand for' \
	scenario run "$tmp/mine.yaml" --under-test true
[ -d /sys/module/vfabric ] ||
	try "scenario run: no module" 2 'module not loaded' scenario run peer-kill

mkdir "$tmp/dir"
cp "$tmp/mine.yaml" "$tmp/dir/mine.yaml"
export VFAB_SCENARIO_PATH="$tmp/dir"
try "VFAB_SCENARIO_PATH" 0 'mine: nothing' scenario list
try "VFAB_SCENARIO_PATH: nothing else" 2 'no scenario "peer-kill"' scenario show peer-kill
echo 'name: [' >"$tmp/dir/broken.yaml"
vfabctl scenario list >"$out" 2>"$err"
check "a file that is wrong does not hide others" grep -q '^mine: ' "$out"
check "and is named" grep -q 'broken.yaml:2: this is not YAML' "$err"
VFAB_SCENARIO_PATH=/nonexistent
try "VFAB_SCENARIO_PATH: nowhere" 2 'no scenarios were found' scenario list
finish
