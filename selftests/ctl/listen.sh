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

# samples NAME: each line of the input has metric, labels and value, as they are in
# what was written last
samples() {
	cat >"$tmp/expect"
	check "$1" "$here/prom-check" --expect "$tmp/expect" <"$tmp/prom"
	[ ! -s "$tmp/check" ] || sed 's/^/# /' "$tmp/check"
	: >"$tmp/check"
}

try "prometheus: a domain" 0 '# TYPE vfabric_link_up gauge' export --format prometheus d1
cp "$out" "$tmp/prom"
check "prometheus: it is the text format 0.0.4" sh -c '"$1" <"$2"' - "$here/prom-check" "$tmp/prom"
if command -v promtool >/dev/null; then
	check "prometheus: promtool agrees" sh -c 'promtool check metrics <"$1"' - "$tmp/prom"
fi
samples "links: down, up, degraded" <<END
vfabric_link_up domain=d1,uuid=$uuid,rank=5,port=1,peer=sw1/p5 0
vfabric_link_state rank=5,port=1 0
vfabric_link_up rank=5,port=2 1
vfabric_link_state rank=5,port=2 3
vfabric_link_state rank=6,port=2 4
vfabric_link_rate_bytes_per_second rank=6,port=2 250000000
vfabric_link_rate_bytes_per_second rank=6,port=1 1000000000
END
# As Documentation/telemetry.rst tells monitors to read them
samples "endpoints: healthy, one link down, one slow, cut off, in no partition" <<END
vfabric_endpoint_state rank=0 3
vfabric_endpoint_health rank=0 1
vfabric_endpoint_ports_up rank=0 4
vfabric_endpoint_state rank=5 3
vfabric_endpoint_health rank=5 3
vfabric_endpoint_health rank=6 1
vfabric_endpoint_state rank=7 3
vfabric_endpoint_health rank=7 2
vfabric_endpoint_ports_up rank=7 0
vfabric_endpoint_state rank=3 1
vfabric_endpoint_ports_up rank=3 4
vfabric_endpoint_partition rank=3 -
END
samples "endpoints: partitions and holders; switches" <<END
vfabric_endpoint_partition rank=0 0
vfabric_endpoint_partition rank=2 7
vfabric_endpoint_held rank=4,node=0 1
vfabric_endpoint_held rank=5,node=0 0
vfabric_switch_up switch=0 1
vfabric_switch_ports_up switch=0 7
vfabric_switch_ports_up switch=1 6
END
samples "counters of endpoints and of ports, at both ends" <<END
vfabric_attaches_total rank=4 1
vfabric_xmit_bytes_total rank=4 1003
vfabric_rcv_bytes_total rank=5 1003
vfabric_link_downed_total rank=5,port=1,peer=sw1/p5 1
vfabric_link_downed_total switch=1,port=5,peer=ep5/p1 1
vfabric_link_downed_total switch=1,port=4 0
vfabric_port_rcv_bytes_total rank=5,port=1 0
END
samples "a counter without a source has no sample" <<END
vfabric_port_xmit_wait_seconds_total rank=0,port=0 -
END
vfabctl domain create d2 --size 2 --planes 1 >/dev/null
try "prometheus: all domains" 0 'vfabric_domain_endpoints{domain="d2",' export --format prometheus
cp "$out" "$tmp/prom"
check "prometheus: of all, too" sh -c '"$1" <"$2"' - "$here/prom-check" "$tmp/prom"
samples "prometheus: one of two" <<EOF
vfabric_domain_endpoints domain=d1 8
EOF
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

# answers NAME: each line of the input has a status and a request
answers() {
	cat >"$tmp/expect"
	check "$1" pester "$port" expect "$tmp/expect"
	[ ! -s "$tmp/check" ] || sed 's/^/# /' "$tmp/check"
	: >"$tmp/check"
}

serve 0 d1
check "listen: a port alone" grep -qx "listening on http://127.0.0.1:$port/metrics" "$tmp/serve"
check "listen: the page" get
check "listen: not from elsewhere" sh -c '! "$1" "[::1]:$2" get /metrics' - "$here/pester" "$port"
answers "listen: what is asked for, in any way" <<'END'
200 GET /metrics HTTP/1.1\r\n\r\n
200 GET /metrics HTTP/1.0\r\n\r\n
200 GET /metrics?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n
200 HEAD /metrics HTTP/1.1\r\n\r\n
END
answers "listen: what is not there" <<'END'
404 GET / HTTP/1.1\r\n\r\n
404 GET /metricsx HTTP/1.1\r\n\r\n
404 GET //metrics HTTP/1.1\r\n\r\n
404 HEAD / HTTP/1.1\r\n\r\n
405 POST /metrics HTTP/1.1\r\n\r\n
405 get /metrics HTTP/1.1\r\n\r\n
END
answers "listen: what is no request" <<'END'
400 hello\r\n\r\n
400 GET /metrics\r\n\r\n
400 GET /metrics HTTP/1.1 x\r\n\r\n
400 PRI * HTTP/2.0\r\n\r\n
400 GET /\0metrics HTTP/1.1\r\n\r\n
400 \r\n\r\n
400 \xff\xfe  \r\n\r\n
431 GET /metrics HTTP/1.1\r\nX: @\r\n\r\n
431 GET /@ HTTP/1.1\r\n\r\n
431 @
END
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
samples "a page is at most a second old" <<EOF
vfabric_link_up rank=5,port=1 1
EOF
vfabctl domain create d2 --size 2 >/dev/null
pester "$port" get /metrics >"$tmp/prom"
check "other domains are not in it" sh -c '! grep -q d2 "$1"' - "$tmp/prom"
let_go
vfabctl domain delete d1
sleep 1.1
printf '%s\n' '503 GET /metrics HTTP/1.1\r\n\r\n' >"$tmp/503"
check "the domain is gone: 503" pester "$port" expect "$tmp/503"
small_domain d1
check "it is back" until_true 5 get
vfabctl domain delete d1
vfabctl domain delete d2
rmmod vfabric
sleep 1.1
check "the module is gone: 503" pester "$port" expect "$tmp/503"
check "and again" pester "$port" expect "$tmp/503"
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
