#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# link.sh - vfabctl switch, vfabctl port, vfabctl link
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-link

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

small_domain d1

# switch, port, link
json "switch show" 'length == 4 and (all(.up and .ports_up == 8 and .ports == 8))' switch show d1
try "switch set down" 0 'routes-changed 56 routes-lost 0' switch set d1/sw3 down
json "switch show: down" '.[0] | .up == false and .ports_up == 0' switch show d1/sw3
json "a link is as down as its switch" '.[0] | .up and .state == "OFF" and .reason == "switch"' \
	link show d1/ep2/sw3
json "its planes degrade health" '.[0] | .healthSummary == "LIMITED_CAPACITY" and .healthMask == 169
	and .health.degradedBw == "TRUE" and .ports_up == 3' endpoint show d1/ep2
json "switch set up, as JSON" '.[0] | .routes_changed == 56 and .routes_lost == 0' sw set d1/sw3 u
try "switch set: out of range" 1 'not below' switch set d1/sw4 down
try "switch show: out of range" 1 'not below' switch show d1/sw4
try "switch show: unknown domain" 1 'no such domain' switch show nobody
json "port show: of an endpoint" 'length == 4 and .[3].peer == "dom'"$id"'/sw3/p2"' port show d1/ep2
json "port show: of a switch" 'length == 8 and .[2].peer == "dom'"$id"'/ep2/p3"' port show d1/sw3
json "port show: of a domain" 'length == 64' port show d1
json "port show: one of an endpoint" '.[0] | .rank == 2 and .port == 3 and .state == "ACTIVE"
	and .rate == 1000 and .latency == 250' port show d1/ep2/p3
json "port show: one of a switch" '.[0] | .switch == 3 and .port == 2' port show d1/sw3/p2
try "port show, in text" 0 "peer dom$id/sw3/p2 up state ACTIVE rate 1 GB/s latency 250 ns" \
	port show d1/ep2/p3
try "port show: out of range" 1 'not below' port show d1/ep2/p4
try "port show: rank out of range" 1 'rank 8 is not below the world size 8' port show d1/ep8
try "port show: switch out of range" 1 'switch 4 is not below the number of planes 4' port show d1/sw4
try "port set down" 0 'routes-changed 14' port set d1/ep2/p3 down
json "the other end is down as well" '.[0] | (.up | not) and .state == "OFF" and .reason == "admin"' \
	port show d1/sw3/p2
try "port set up, at the other end" 0 'routes-changed 14' port set d1/sw3/p2 up
try "port set: out of range" 1 'not below' port set d1/sw3/p8 down
json "link show: of a domain" 'length == 32' link show d1
json "link show: of an endpoint" 'length == 4 and all(.rank == 2)' link show d1/ep2
json "link show: of a switch" 'length == 8 and all(.switch == 3)' link show d1/sw3
json "link show: one, by either port" '.[0] | .rank == 2 and .switch == 3' link show d1/sw3/p2
try "link show: out of range" 1 'not below' link show d1/ep8/sw3
try "link show: rank out of range" 1 'rank 8 is not below the world size 8' link show d1/ep8
try "link set: one" 0 'routes-changed 14 routes-lost 0' link set d1/ep2/p3 down
try "link set: of a switch" 0 'routes-changed 42 routes-lost 0' link set d1/sw3 down
try "link set: of an endpoint" 0 'routes-changed 14 routes-lost 14' link set d1/ep5 down
json "no port is up" '.[0] | .healthSummary == "UNHEALTHY" and .health.routeUnhealthy == "TRUE"
	and .ports_up == 0' endpoint show d1/ep5
try "link set: out of range" 1 'not below' link set d1/ep8 down
vfabctl link set d1/ep5 up >/dev/null
vfabctl link set d1/sw3 up >/dev/null
json "all is up" 'all(.state == "ACTIVE")' link show d1
finish
