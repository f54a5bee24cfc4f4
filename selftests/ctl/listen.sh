#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# listen.sh - vfabctl export --format prometheus, and its server
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-listen

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

ip link set lo up
small_domain d1
vfabctl partition create d1 7 --members 2 >/dev/null
vfabctl partition set d1/part0 --del 3
vfabctl link set d1/ep5/p1 down >/dev/null
vfabctl link set d1/ep6/p2 degrade --rate 250 >/dev/null
vfabctl link set d1/ep7 down >/dev/null
hold "/dev/vfabric/$id" 4 count=5,1003,1

# sample NAME VALUE METRIC LABELS: in what was written last
sample() {
	check "$1" [ "$("$here/prom-check" "$3" "$4" <"$tmp/prom")" = "$2" ]
}

try "prometheus: a domain" 0 '# TYPE vfabric_link_up gauge' export --format prometheus d1
cp "$out" "$tmp/prom"
check "prometheus: it is the text format 0.0.4" sh -c '"$1" <"$2"' - "$here/prom-check" "$tmp/prom"
if command -v promtool >/dev/null; then
	check "prometheus: promtool agrees" sh -c 'promtool check metrics <"$1"' - "$tmp/prom"
fi
sample "a link that is down" 0 vfabric_link_up "domain=d1,uuid=$uuid,rank=5,port=1,peer=sw1/p5"
sample "its state" 0 vfabric_link_state rank=5,port=1
sample "a link that is up" 1 vfabric_link_up rank=5,port=2
sample "a degraded one" 4 vfabric_link_state rank=6,port=2
sample "its rate" 250000000 vfabric_link_rate_bytes_per_second rank=6,port=2
sample "who is held" 1 vfabric_endpoint_held rank=4,node=0
sample "who is not" 0 vfabric_endpoint_held rank=5,node=0
sample "limited" 3 vfabric_endpoint_health rank=5
# As Documentation/telemetry.rst tells monitors to read them
sample "healthy: state" 3 vfabric_endpoint_state rank=0
sample "healthy: health" 1 vfabric_endpoint_health rank=0
sample "healthy: ports" 4 vfabric_endpoint_ports_up rank=0
sample "one link down: state" 3 vfabric_endpoint_state rank=5
sample "one link slow: health" 1 vfabric_endpoint_health rank=6
sample "cut off: health" 2 vfabric_endpoint_health rank=7
sample "cut off: state" 3 vfabric_endpoint_state rank=7
sample "in no partition: state" 1 vfabric_endpoint_state rank=3
sample "in no partition: its links" 4 vfabric_endpoint_ports_up rank=3
sample "a partition" 7 vfabric_endpoint_partition rank=2
check "who is in none has no sample" \
	[ "$("$here/prom-check" vfabric_endpoint_partition rank=3 <"$tmp/prom")" = "0 samples" ]
sample "a switch" 7 vfabric_switch_ports_up switch=0
sample "of which one link more is down" 6 vfabric_switch_ports_up switch=1
sample "a counter of an endpoint" 1 vfabric_attaches_total rank=4
sample "bytes of an endpoint" 1003 vfabric_xmit_bytes_total rank=4
sample "bytes at the other end" 1003 vfabric_rcv_bytes_total rank=5
sample "of its port" 1 vfabric_link_downed_total rank=5,port=1,peer=sw1/p5
sample "of a switch's port" 1 vfabric_link_downed_total switch=1,port=5,peer=ep5/p1
sample "bytes of a port that is down" 0 vfabric_port_rcv_bytes_total rank=5,port=1
sample "of another one" 0 vfabric_link_downed_total switch=1,port=4
check "a counter without a source has no sample" [ "$(grep -c '^vfabric_port_xmit_wait_seconds_total' "$tmp/prom")" = 0 ]
vfabctl domain create d2 --size 2 --planes 1 >/dev/null
try "prometheus: all domains" 0 'vfabric_domain_endpoints{domain="d2",' export --format prometheus
cp "$out" "$tmp/prom"
check "prometheus: of all, too" sh -c '"$1" <"$2"' - "$here/prom-check" "$tmp/prom"
sample "prometheus: one of two" 8 vfabric_domain_endpoints domain=d1
vfabctl domain delete d2
try "prometheus: unknown domain" 1 'no such domain' export --format prometheus nobody
try "prometheus: a node" 2 'not an address of this kind' export --format prometheus d1/node0
try "prometheus: as JSON" 2 'is no JSON' -j export --format prometheus d1
try "listen: another format" 2 'goes with --format prometheus' export --format nvml-mock d1 --listen 0
try "listen: unknown domain" 1 'no such domain' export --format prometheus nobody --listen 0
check "prometheus: output that is lost" unwritten vfabctl export --format prometheus d1

# serve ADDR [ARGUMENTS...]: its number is in $server, where it is in $port
serve() {
	serve_at=$1
	shift
	vfabctl export --format prometheus --listen "$serve_at" "$@" >"$tmp/serve" 2>&1 &
	server=$!
	holders="$holders $server"
	until_true 20 grep -q . "$tmp/serve"
	port=$(sed -n 's,.*:\([0-9]*\)/metrics$,\1,p' "$tmp/serve")
}

# ends: is it ended by SIGTERM, with status 0?
# shellcheck disable=SC2317 # called by check
ends() {
	kill "$server" && wait "$server"
}

pester() {
	timeout 60 "$here/pester" "$@"
}

# get [HOST]: one good page
# shellcheck disable=SC2317 # called by check
get() {
	pester "${1:-}:$port" get /metrics | "$here/prom-check" vfabric_domain_endpoints domain=d1
}

fds() {
	find "/proc/$server/fd" -type l | wc -l
}

# few_fds N: are so many files open at most?
# shellcheck disable=SC2317 # called by check
few_fds() {
	[ "$(fds)" -le "$1" ]
}

# answers STATUS METHOD PATH
# shellcheck disable=SC2317 # called by check
answers() {
	[ "$(pester "$port" status "$2" "$3")" = "$1" ]
}

# says FIRST-LINE REQUEST
# shellcheck disable=SC2317 # called by check
says() {
	[ "$(pester "$port" raw "$2")" = "$1" ]
}

serve 0 d1
check "listen: a port alone" grep -qx "listening on http://127.0.0.1:$port/metrics" "$tmp/serve"
check "listen: the page" get
check "listen: not from elsewhere" sh -c '! "$1" "[::1]:$2" get /metrics' - "$here/pester" "$port"
check "listen: another path" answers 404 GET /
check "listen: a longer path" answers 404 GET /metricsx
check "listen: with a query" answers 200 GET '/metrics?x=1'
check "listen: HEAD" answers 200 HEAD /metrics
check "listen: HEAD has no page" [ "$(pester "$port" raw 'HEAD /metrics HTTP/1.1\r\n\r\n' | wc -l)" = 1 ]
check "listen: POST" answers 405 POST /metrics
check "listen: no HTTP" says 'HTTP/1.1 400 Bad Request' 'hello\r\n\r\n'
check "listen: no version" says 'HTTP/1.1 400 Bad Request' 'GET /metrics\r\n\r\n'
check "listen: too many words" says 'HTTP/1.1 400 Bad Request' 'GET /metrics HTTP/1.1 x\r\n\r\n'
check "listen: HTTP/2" says 'HTTP/1.1 400 Bad Request' 'PRI * HTTP/2.0\r\n\r\n'
check "listen: a NUL" says 'HTTP/1.1 400 Bad Request' 'GET /\0metrics HTTP/1.1\r\n\r\n'
check "listen: an empty line only" says 'HTTP/1.1 400 Bad Request' '\r\n\r\n'
check "listen: too long" says 'HTTP/1.1 431 Request Header Fields Too Large' \
	"GET /metrics HTTP/1.1\r\nX: $(head -c 9000 /dev/zero | tr '\0' x)\r\n\r\n"
check "listen: HTTP/1.0" says 'HTTP/1.1 200 OK' 'GET /metrics HTTP/1.0\r\n\r\n'
try "listen: the port is taken" 2 'Address already in use' export --format prometheus --listen "$port"

before=$(fds)
"$here/pester" "$port" trickle 70 >"$tmp/trickle" 2>&1 &
pest=$!
holders="$holders $pest"
until_true 20 grep -q ready "$tmp/trickle"
check "70 slow clients: one that is not gets its page" get
check "and again" get
check "slow clients do not stay" until_true 12 few_fds "$before"
kill $pest
"$here/pester" "$port" deaf 70 >"$tmp/deaf" 2>&1 &
pest=$!
holders="$holders $pest"
until_true 20 grep -q ready "$tmp/deaf"
check "70 deaf clients: one that is not gets its page" get
kill $pest
check "clients that reset" pester "$port" reset 60
check "the page still comes" get
rss() {
	awk '/VmRSS/ { print $2 }' "/proc/$server/status"
}
pester "$port" many 20
was=$(rss)
pester "$port" many 100
check "100 requests leave nothing behind" [ "$(rss)" -le $((was + 400)) ]
check "no file is left open" until_true 5 few_fds "$before"
vfabctl link set d1/ep5/p1 up >/dev/null
sleep 1.1
pester "$port" get /metrics >"$tmp/prom"
sample "a page is at most a second old" 1 vfabric_link_up rank=5,port=1
vfabctl domain create d2 --size 2 >/dev/null
pester "$port" get /metrics >"$tmp/prom"
check "other domains are not in it" sh -c '! grep -q d2 "$1"' - "$tmp/prom"
let_go
vfabctl domain delete d1
sleep 1.1
check "the domain is gone: 503" answers 503 GET /metrics
small_domain d1
check "it is back" until_true 5 get
vfabctl domain delete d1
vfabctl domain delete d2
rmmod vfabric
sleep 1.1
check "the module is gone: 503" answers 503 GET /metrics
check "and again" answers 503 GET /metrics
insmod "$VFABRIC_KO"
small_domain d1
check "both are back" until_true 5 get
vfabctl domain create d2 --size 2 >/dev/null
check "listen: SIGTERM ends it" ends

serve '[::]:0' d1
check "listen: [::]" grep -qx "listening on http://\[::\]:$port/metrics" "$tmp/serve"
check "listen: by IPv6" get '[::1]'
check "listen: by IPv4, too" get 127.0.0.1
check "listen: SIGINT ends it" sh -c 'kill -INT "$1"' - "$server"
wait "$server"
check "with status 0" [ $? = 0 ]
serve 127.0.0.1:0
check "listen: an address" get
ends
vfabctl domain delete d2
try "listen: not an address of this machine" 2 'cannot listen on 192.0.2.1:9400' \
	export --format prometheus --listen 192.0.2.1:9400
check "listen: where it is cannot be said" sh -c 'vfabctl export --format prometheus --listen 0 >/dev/full 2>"$1"; [ $? = 2 ]' - "$err"
finish
