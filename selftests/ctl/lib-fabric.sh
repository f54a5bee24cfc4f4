# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# What the tests of vfabctl against the module share, besides lib.sh. They run
# as root, with the module loaded and no domain there, and leave none. By
# example:
#
#	. "$here/lib-fabric.sh"
#	small_domain d1
#	hold "/dev/vfabric/$id" 5
#	try "wait: attached" 0 '' wait d1 --for attached=1
#	let_go
#	finish

# shellcheck source=selftests/ctl/lib.sh disable=SC2154 # who includes this sets it
. "$here/lib.sh"

holders=
trap 'cleanup' EXIT
trap 'exit 1' INT TERM

# shellcheck disable=SC2317 # called by trap
cleanup() {
	# shellcheck disable=SC2086 # several numbers
	[ -z "$holders" ] || kill $holders 2>/dev/null
	for id in $(vfabctl -j domain show 2>/dev/null | jq '.[].id'); do
		vfabctl domain delete "$id" --force
	done
	vfabctl system set netns exclusive 2>/dev/null
	rm -rf "$tmp"
}

# hold ARGUMENTS...: a process that holds an endpoint; its number is in $holder
hold() {
	"$here/hold" "$@" >"$tmp/hold" 2>&1 &
	holder=$!
	holders="$holders $holder"
	until_true 20 grep -q . "$tmp/hold"
	grep -q '^ready' "$tmp/hold" || echo "# hold $*: $(cat "$tmp/hold")"
}

# let_go: the last one ends
let_go() {
	kill "$holder"
	wait "$holder" 2>/dev/null
}

# shellcheck disable=SC2317 # called by check
is_char_device() {
	[ -c "$1" ] && [ "$(stat -c '%a %u:%g' "$1")" = "$2" ]
}

nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# small_domain NAME: 8 endpoints, 4 planes; its id is in $id, its uuid in $uuid
uuid=01234567-89ab-cdef-0123-456789abcdef
small_domain() {
	vfabctl domain create "$1" --size 8 --planes 4 --uuid $uuid --rate 1000 --latency 250 >/dev/null
	id=$(domain_id "$1")
}

domain_id() {
	vfabctl -j domain show "$1" | jq '.[0].id'
}

echo "TAP version 13"
