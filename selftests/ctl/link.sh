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
	and .rate == 1000 and .latency == 125' port show d1/ep2/p3
json "port show: one of a switch" '.[0] | .switch == 3 and .port == 2' port show d1/sw3/p2
try "port show, in text" 0 "peer dom$id/sw3/p2 up state ACTIVE rate 1 GB/s latency 125 ns" \
	port show d1/ep2/p3
try "port show: out of range" 1 'not below' port show d1/ep2/p4
try "port show: rank out of range" 1 'rank 8 is not below the world size 8' port show d1/ep8
try "port show: switch out of range" 1 'switch 4 is not below the number of switches 4' port show d1/sw4
try "port set down" 0 'routes-changed 14' port set d1/ep2/p3 down
json "the other end is down as well" '.[0] | (.up | not) and .state == "OFF" and .reason == "admin"' \
	port show d1/sw3/p2
try "port set up, at the other end" 0 'routes-changed 14' port set d1/sw3/p2 up
try "port set: out of range" 1 'no link at that port' port set d1/sw3/p8 down
json "link show: of a domain" 'length == 32' link show d1
json "link show: of an endpoint" 'length == 4 and all(.rank == 2)' link show d1/ep2
json "link show: of a switch" 'length == 8 and all(.peer_switch == 3)' link show d1/sw3
json "link show: one, by either port" '.[0] | .rank == 2 and .port == 3 and .peer_switch == 3 and .peer_port == 2' link show d1/sw3/p2
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

# neither up nor down
try "link set: degrade" 0 'routes-changed 0 routes-lost 0' \
	link set d1/ep2/p3 degrade --rate 400 --latency 900 --width 1
try "a degraded link, in text" 0 'state DEGRADED reason degraded rate 400 MB/s of 1 GB/s latency 900 ns of 125 ns width 1 of 0' \
	link show d1/ep2/p3
json "a degraded link" '.[0] | .rate == 400 and .built_rate == 1000 and .latency == 900
	and .built_latency == 125' port show d1/sw3/p2
try "what it costs" 0 'reachable: 4 of 4 paths, 3.4 GB/s' route trace d1 2 5
try "link set: degrade, in words" 0 'routes-changed' link set d1/ep2/p3 degrade rate 300
json "another rate" '.[0] | .rate == 300 and .latency == 900' link show d1/ep2/p3
try "link set: restore" 0 'routes-changed 0' link set d1/ep2 restore
json "restored" '.[0] | .state == "ACTIVE" and .rate == 1000 and has("built_rate") == false' \
	link show d1/ep2/p3
try "link set: drain" 0 'routes-changed 14 routes-lost 0' link set d1/ep2/sw3 drain
json "a drained link" '.[0] | .state == "ACTIVE" and .reason == "drain"' link show d1/ep2/p3
try "link set: drain the last paths" 1 'lose its last path' link set d1/ep2 drain
json "which changes nothing" '[.[] | select(.reason == "drain")] | length == 1' link show d1/ep2
try "link set: up again" 0 'routes-changed 14' link set d1/ep2 up
try "link set: flap" 0 'routes-changed 14' link set d1/ep2/p3 flap --period 0.2 --count 2
json "a flapping link" '.[0] | .reason == "flap" or .state == "ACTIVE"' link show d1/ep2/p3
try "link set: a word without a value" 2 '--rate wants a value' link set d1/ep2/p3 degrade rate
try "link set: degrade to nothing" 2 'degrade wants' link set d1/ep2/p3 degrade
try "link set: flap without a period" 2 'wants --period' link set d1/ep2/p3 flap
try "link set: a rate that goes with nothing" 2 'go with degrade' link set d1/ep2/p3 up --rate 3
try "link set: rate 0" 2 'below the limit 1' link set d1/ep2/p3 degrade --rate 0
built='built with: 1000'
case $(uname -r) in 6.1.*) built='built with' ;; esac
try "link set: a rate above the one as built" 1 "$built" link set d1/ep2/p3 degrade --rate 1001
try "link set: a period too short" 2 'is not 0.002' link set d1/ep2/p3 flap --period 0.001
sleep 0.6
json "all is up" 'all(.state == "ACTIVE")' link show d1
finish
