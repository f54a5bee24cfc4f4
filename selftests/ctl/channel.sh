#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# channel.sh - vfabctl channel
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-channel

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

small_domain d1
vfabctl partition create d1 1 --members 0-3 >/dev/null

try "channel create" 0 "dom$id/part1/ch3: attached 0 ranks none device /dev/vfabric/$id.1.3" \
	channel create d1/part1 3
check "its device file is there" is_char_device "/dev/vfabric/$id.1.3" "600 0:0"
json "channel create: by address" '.[0].id == 9 and .[0].partition == 1' channel create d1/part1/ch9
json "channel create: the lowest free id" '.[0].id == 0' channel add d1/part1
json "channel create: of the default partition" \
	".[0].device == \"/dev/vfabric/$id.0.3\" and .[0].mode == \"0640\" and .[0].gid == 65534" \
	channel create d1/part0 3 --mode 640 --user root --group 65534
check "its device file is as asked for" is_char_device "/dev/vfabric/$id.0.3" "640 0:65534"
try "channel create: the id is taken" 1 'a channel of this id exists' channel create d1/part1 3
try "channel create: no such partition" 1 'no such partition' channel create d1/part7 3
try "channel create: unknown domain" 1 'no such domain' channel create nobody/part1 3
try "channel create: given twice" 2 'given twice' channel create d1/part1/ch4 4
try "channel create: above the limit" 2 'channel id 2048 is above the limit 2047' \
	channel create d1/part1 2048
try "channel create: in a domain" 2 'dom0/part1 or dom0/part1/ch3' channel create d1 3
try "a channel without its partition" 2 'is not an address' channel show d1/ch3
json "channel show: all" '[.[].address] == ["dom'"$id"'/part0/ch3", "dom'"$id"'/part1/ch0",
	"dom'"$id"'/part1/ch3", "dom'"$id"'/part1/ch9"]' channel show
json "channel show: of a partition" '[.[].id] == [0, 3, 9]' channel show d1/part1
json "channel show: one" '.[0].id == 9' channel list d1/part1/ch9
try "channel show: unknown" 1 'no such channel' channel show d1/part1/ch8
try "channel delete" 0 '' channel delete d1/part1/ch9
check "its device file is gone" [ ! -e "/dev/vfabric/$id.1.9" ]
try "channel delete: again" 1 'no such channel' channel delete d1/part1/ch9

hold "/dev/vfabric/$id.1.3" 2 window=4096,258
json "channel show: who is in it" '.[0] | .attached == 1 and .ranks == [2]' channel show d1/part1/ch3
json "endpoint show" '.[0].channel == 3' endpoint show d1/ep2
json "endpoint show: in none" '.[0].channel == null' endpoint show d1/ep1
json "window show" '.[0].channel == 3' window show d1
vfabctl monitor d1 --count 2 --timeout 20 >"$tmp/events" 2>&1 &
watcher=$!
sleep 1
try "channel delete: in use" 1 'endpoints are in the channel' channel delete d1/part1/ch3
try "channel delete: forced" 0 '' channel del d1/part1/ch3 --force
wait $watcher
check "monitor: the eviction, and the channel" \
	grep -q "^dom$id/part1/ch3: channel deleted why admin" "$tmp/events"
json "those in it are gone" '.[0].held == false' endpoint show d1/ep2
let_go
try "partition delete takes its channels along" 0 '' partition set d1/part0 --add 0-3
try "partition delete" 0 '' partition delete d1/part1
json "no channel of it is left" '[.[].partition] == [0]' channel show d1
check "nor its device file" [ ! -e "/dev/vfabric/$id.1.0" ]
finish
