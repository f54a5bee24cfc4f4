# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# What the tests of vfabctl share. By example:
#
#	. "$here/lib.sh"
#	try "one domain is shown" 0 'name d1' domain show d1
#	try "an unknown one is refused" 1 'no such domain' domain show nobody
#	json "its size" '.[0].size == 72' domain show d1
#	check "two files are there" [ "$(ls | wc -l)" = 2 ]
#	finish
#
# try NAME STATUS FRAGMENT ARGUMENTS...: vfabctl ends with exactly this status
# and says this ('' : anything). What it said stays in $out and $err. Status 0
# says nothing on stderr; others say "vfabctl: ..." there and nothing on stdout
# (route trace apart, whose answer may be "no").

count=0
failed=0
tmp=$(mktemp -d)
out=$tmp/out err=$tmp/err

top=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${VFABRIC_TOOLS:-$top/build/tools}:$PATH
export PATH
LC_ALL=C.UTF-8
export LC_ALL

result() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		failed=1
		sed 's/^/# /' "$out" "$err" | head -n 40
		echo "not ok $count - $2"
	fi
}

# check NAME COMMAND...
check() {
	check_name=$1
	shift
	if "$@" >>"$tmp/check" 2>&1; then
		result 0 "$check_name"
	else
		result 1 "$check_name"
	fi
}

# said FRAGMENT: in what the last vfabctl printed
said() {
	cat "$out" "$err" | grep -qF -- "$1"
}

# unwritten COMMAND...: when its output gets nowhere, does it say so and fail?
# shellcheck disable=SC2317 # called by check
unwritten() {
	"$@" >/dev/full 2>"$err"
	[ $? = 2 ] && grep -q '^vfab[a-z]*: cannot write the output: ' "$err" ||
		return 1
	"$@" >&- 2>"$err"
	[ $? = 2 ] && grep -q '^vfab[a-z]*: cannot write the output: ' "$err"
}

try() {
	try_name=$1 try_status=$2 try_said=$3
	shift 3
	vfabctl "$@" >"$out" 2>"$err" </dev/null
	try_rc=$?
	try_bad=
	[ "$try_rc" = "$try_status" ] || try_bad="status $try_rc instead of $try_status"
	[ -z "$try_said" ] || said "$try_said" || try_bad="$try_bad; did not say '$try_said'"
	if [ "$try_status" = 0 ]; then
		[ ! -s "$err" ] || try_bad="$try_bad; success, but complains"
	elif [ -s "$err" ]; then
		grep -q '^vfabctl: ' "$err" || try_bad="$try_bad; does not say who it is"
		[ ! -s "$out" ] || try_bad="$try_bad; refused, but prints"
	elif [ "$1 $2" != "route trace" ]; then
		try_bad="$try_bad; does not say why"
	fi
	if [ "$try_status" = 2 ] && grep -q "module not loaded" "$err"; then
		[ "$try_said" = "module not loaded" ] || try_bad="$try_bad; no module"
	fi
	[ -z "$try_bad" ] || echo "# vfabctl $*: $try_bad"
	[ -z "$try_bad" ]
	result $? "$try_name"
}

# json NAME FILTER ARGUMENTS...: what -j prints is JSON of which this is true
json() {
	json_name=$1 json_filter=$2
	shift 2
	vfabctl -j "$@" >"$out" 2>"$err" </dev/null && jq -e "$json_filter" <"$out" >"$tmp/jq" 2>&1
	json_rc=$?
	[ "$json_rc" = 0 ] || echo "# vfabctl -j $*: not $json_filter"
	result $json_rc "$json_name"
}

# until_true SECONDS COMMAND...
until_true() {
	until_tries=$(($1 * 10))
	shift
	while [ "$until_tries" -gt 0 ]; do
		! "$@" >/dev/null 2>&1 || return 0
		until_tries=$((until_tries - 1))
		sleep 0.1
	done
	return 1
}

finish() {
	rm -rf "$tmp"
	echo "1..$count"
	exit $failed
}
