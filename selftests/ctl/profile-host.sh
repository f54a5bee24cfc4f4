#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# profile-host.sh - vfabctl's profiles and topology files, which need no module
#
# by example:
#
#	make -C tools && selftests/ctl/profile-host.sh
#
# Prints TAP.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib.sh
. "$here/lib.sh"
unset VFAB_PROFILE_PATH
rate=rate_mb_per_s_per_direction

echo "TAP version 13"

# Listed
try "all are listed" 0 'gb200-nvl72: size 72 nodes 18 ports 18 switches 18' profile
try "list" 0 'helios-72: size 72 nodes 18 ports - switches -' profile list
json "list: each has a name and a description" \
	'length >= 14 and all(.[]; .name == .address and (.description | length) > 10)' profile list
json "list: what is not known is null" \
	'.[] | select(.name == "rubin-ultra-nvl576") | .size == 144 and .ports == null' profile list
for profile in hgx-a100 hgx-h100 hgx-b200 hgx-b300 gh200-nvl256 gb200-nvl72 gb300-nvl72 vr-nvl72 \
	rubin-ultra-nvl576 helios-72 mi300x-8 ualink-1024 sue-1024 torus; do
	json "$profile is among them" "any(.[]; .name == \"$profile\")" profile list
	try "$profile is shown" 0 "$profile: " profile show $profile
	json "$profile: each number has a source, known ones a confidence" \
		'.[0] | .parameters + .facts | length > 5 and all(.[];
			(.source | length) > 3 and ((.value == null) == (.confidence == null)))' \
		profile show $profile
	try "$profile is checked" 0 "$profile: ok" profile show --check $profile
done
try "all are checked" 0 'torus: ok' profile show --check
json "all are checked, as JSON" 'length >= 14 and all(.[]; .ok)' profile show --check

# Shown: units and directions
try "a rate is shown per direction and as the sum" 0 \
	'50 GB/s per direction, 100 GB/s both directions' profile show gb200-nvl72
try "a rate of which the direction is not stated" 0 '600 GB/s, direction not stated' profile show torus
json "JSON has the file's numbers, with their unit" \
	".[0].parameters.$rate | .value == 50000 and .unit == \"MB/s per direction\"" profile show gb200-nvl72
json "JSON has nulls" '.[0].parameters.ports | .value == null and .confidence == null' \
	profile show helios-72
json "notes are a list" '.[0].notes | length == 1' profile show hgx-h100
json "show --set" '.[0].parameters.ports.value == 9' profile show helios-72 --set ports=9
try "show: unknown" 2 'there is no profile "nobody"' profile show nobody
try "show: a path" 2 'is no name of a profile' profile show ../profiles/torus
try "show: one too many" 2 'argument "b" is one too many' profile show a b
try "show --set: no name" 2 'want the name of a profile' profile show --set ports=4
try "show --set: no value" 2 '--set wants a value' profile show torus --set
try "show --set: not key=value" 1 'is not key=value such as ports=4' profile show torus --set ports
try "show --set: unknown" 1 'no parameter "lanes"' profile show torus --set lanes=4
try "show --set: of another generator" 1 'torus takes no switches, but: ' \
	profile show torus --set switches=4
try "show --set: above" 1 'world is a number of 1 to 1024' profile show helios-72 --set world=1000000000
try "show --set: twice" 1 'is given twice' profile show helios-72 --set ports=1 --set=ports=2

# Checked
try "check a profile" 0 'switches 18 links 1296' profile check gb200-nvl72
json "check: counts" '.[0] | .size == 72 and .nodes == 18 and .links == 1296 and .diameter == 2 and
	.connected and .endpointPorts == {least: 18, most: 18} and .switchPorts.most == 72 and
	.bisectionPerDirection == 32400000' profile check gb200-nvl72
try "check: both directions as published" 0 \
	'bisection 28800 GB/s per direction, 57600 GB/s both directions' profile check gh200-nvl256
json "check: a torus" '.[0] | .size == 512 and .switches == 0 and .links == 1536 and .nodes == null' \
	profile check torus:8x8x8 --set $rate=100000
json "check: nulls that are given" '.[0] | .ports == 36 and .links == 2592' \
	profile check helios-72 --set ports=36 --set switches=18
try "check: a null that is not" 1 'give --set ports=N --set switches=N' profile check helios-72
try "check: stations" 1 'give --set ports=N' profile check ualink-1024
try "check: a torus without a size" 1 'name it as in torus:8x8x8' profile check torus
try "check: a real pod" 1 'a domain holds 1024: the largest slice of it is ' \
	profile check torus:16x20x28
try "check: dimensions" 1 'such as torus:8x8x8' profile check torus:8x8x
try "check: dimensions of another" 1 'only a torus takes dimensions' profile check mi300x-8:8
try "check: nothing" 2 'FILE or NAME is missing' profile check
try "check: a file that is not there" 2 'cannot open it: No such file' profile check ./nothing.yaml

cat >"$tmp/pair.yaml" <<END
name: pair
parameters: {world: 3, $rate: 50000}
links:
- [ep0/p0, sw0/p0]
- [ep1/p0, sw0/p1]
END
sed 's/world: 3/world: 2/' "$tmp/pair.yaml" >"$tmp/joined.yaml"
try "check: a file" 0 'pair: size 2 nodes - ports 1 switches 1 links 2' profile check "$tmp/joined.yaml"
vfabctl -j profile check "$tmp/pair.yaml" >"$out" 2>"$err"
check "check: not connected is status 1" [ $? = 1 ]
check "check: not connected" jq -e '.[0] | .connected == false and .diameter == null' "$out"
printf '%s\n' '- [ep0/p1, sw0/p1]' >>"$tmp/joined.yaml"
try "check: a port twice" 1 'joined.yaml:6: sw0/p1 has a link already' profile check "$tmp/joined.yaml"
printf '%s\n' 'generator: mesh' 'parameters:' '  world: 1000000000' >"$tmp/large.yaml"
try "check: 10^9 ranks" 1 'large.yaml:3: world 1000000000 is above the limit 1024' \
	profile check "$tmp/large.yaml"
printf '%s\n' 'a: &a [x, x]' 'b: [*a, *a]' >"$tmp/alias.yaml"
try "check: an alias" 1 'alias.yaml:1: anchors (&), aliases (*) and tags (!) are not taken' \
	profile check "$tmp/alias.yaml"
printf 'name: "a\033[31m"\n"\033b": 1\n' >"$tmp/escape.yaml"
try "check: what a terminal would act on" 1 'no text in UTF-8: control characters' profile check "$tmp/escape.yaml"
printf 'generator: "a\\e[31m"\n' >"$tmp/escape.yaml"
try "check: what it would act on, written out" 1 'no generator "a\x1b[31m"' \
	profile check "$tmp/escape.yaml"

# Expanded
vfabctl profile show --expand gh200-nvl256 >"$tmp/gh200.yaml" 2>"$err"
check "expanded: one line each" [ "$(grep -c '^- \[' "$tmp/gh200.yaml")" = 6912 ]
vfabctl profile show --expand torus:4x4x2 --set $rate=7 --set latency_ns=9 >"$tmp/torus.yaml" 2>"$err"
check "expanded: with what was set" grep -q 'latency_ns: 9' "$tmp/torus.yaml"
for profile in gh200-nvl256 hgx-h100 mi300x-8; do
	vfabctl profile show --expand $profile >"$tmp/x.yaml" 2>"$err"
	vfabctl -j profile check "$tmp/x.yaml" >"$tmp/file" 2>>"$err"
	vfabctl -j profile check $profile >"$tmp/profile" 2>>"$err"
	check "$profile: expanded it is what it was" cmp "$tmp/file" "$tmp/profile"
done
try "expand: not as JSON" 2 '--expand goes without' profile show --expand mi300x-8 -j
try "expand: no name" 2 'want the name of a profile' profile show --expand
try "expand: a null" 1 'give --set switches=N' profile show --expand vr-nvl72

# Found
mkdir "$tmp/mine"
printf '%s\n' 'profile: mine' >"$tmp/mine/child.yaml"
printf '%s\n' 'description: "of my own"' 'generator: mesh' "parameters: {world: 3, $rate: 1}" \
	>"$tmp/mine/mine.yaml"
export VFAB_PROFILE_PATH="$tmp/mine"
try "VFAB_PROFILE_PATH" 0 'mine: size 3' profile list
try "VFAB_PROFILE_PATH: builds on another" 0 'child: size 3 nodes - ports 2 switches 0 links 3' \
	profile check child
try "VFAB_PROFILE_PATH: nothing else" 2 'no profile "hgx-h100"' profile show hgx-h100
try "check: no source" 1 'mine.yaml:3: world has no confidence' profile show --check mine
printf '%s\n' 'generator: nothing' >"$tmp/mine/bad.yaml"
vfabctl profile list >"$out" 2>"$err"
check "a profile that is wrong does not hide others" grep -q '^mine: ' "$out"
check "and is named" grep -q 'bad.yaml:1: there is no generator "nothing"' "$err"
VFAB_PROFILE_PATH=/nonexistent
try "VFAB_PROFILE_PATH: nowhere" 2 'no profiles were found' profile list

finish
