#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# system.sh - vfabctl system; who may look, and who may change
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-system

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

vfabctl domain create rack --size 72 >/dev/null
vfabctl partition create rack 7 >/dev/null

json "system show" '.[0] | .netns == "exclusive" and .domains == 1 and .user_mem_limit > 0' system show
unshare -n vfabctl -j domain show >"$out" 2>"$err"
check "another network namespace sees nothing" jq -e '. == []' "$out"
try "system set" 0 '' system set netns shared
json "it is set" '.[0].netns == "shared"' system show
unshare -n vfabctl -j domain show >"$out" 2>"$err"
check "another network namespace sees it" jq -e '.[0].name == "rack"' "$out"
unshare -n vfabctl switch set rack/sw1 down >"$out" 2>"$err"
check "but does not change it" [ $? = 1 ]
check "it says why not" said 'belongs to another network namespace'
vfabctl system set netns exclusive
nobody vfabctl -j domain show >"$out" 2>"$err"
check "everybody may look" jq -e '.[0].name == "rack"' "$out"
for words in "domain create --size 4" "domain delete rack" "domain set rack --retry-timeout 1" \
	"partition create rack 9" "partition set rack/part7 --add 1" "partition delete rack/part7" \
	"endpoint evict rack/ep1" "switch set rack/sw1 down" "port set rack/ep1/p1 down" \
	"link set rack/ep1 down" "route set rack 1 drop" "system set netns shared"; do
	# shellcheck disable=SC2086 # several words
	nobody vfabctl $words >"$out" 2>"$err"
	check "not everybody: $words" [ $? = 1 ]
	check "it says what is needed: $words" said 'CAP_NET_ADMIN in the initial user namespace'
done
json "and nothing has changed" '.[0] | .attached == 0 and .retry_timeout == 0' domain show rack
finish
