#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# ctl-host.sh - what vfabctl does where there is no module: help, and refusals
#
# by example:
#
#	make -C tools && selftests/ctl/ctl-host.sh
#
# Needs no root and sends nothing but one request for the family. Prints TAP.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib.sh
. "$here/lib.sh"

echo "TAP version 13"

verbs='domain create
domain delete
domain show
domain set
domain wait
partition create
partition delete
partition show
partition set
partition activate
partition deactivate
channel create
channel delete
channel show
node show
endpoint show
endpoint set
endpoint evict
window show
switch show
switch set
port show
port set
link show
link set
fault create
fault delete
fault show
route show
route set
route trace
topo
profile show
profile check
counters show
counters describe
counters clear
counters snapshot
counters diff
scenario show
scenario check
scenario run
monitor
export
wait
system show
system set'

# helps WORDS...: prints a usage line that names what was asked
# shellcheck disable=SC2317 # called by check
helps() {
	vfabctl "$@" >"$out" 2>"$err" || return 1
	while [ "${1#-}" != "$1" ]; do shift; done
	[ ! -s "$err" ] && [ "$(wc -l <"$out")" -ge 3 ]
}

check "--help" helps --help
check "-h" helps -h
check "help" helps help
try "no object" 2 'name an object'
try "the version" 0 'vfabctl ' --version
try "the version, short" 0 'vfabctl ' -V
for words in --version -V --help "domain --help" "domain show --help"; do
	# shellcheck disable=SC2086 # several words
	check "$words: output that is lost" unwritten vfabctl $words
done
for object in $(printf '%s\n' "$verbs" | cut -d' ' -f1 | uniq); do
	check "$object --help" helps "$object" --help
	check "general help names $object" sh -c "vfabctl --help | grep -q '^  $object '"
done
while read -r object verb; do
	# shellcheck disable=SC2086 # there may be no verb
	check "$object${verb:+ $verb} --help" helps "$object" $verb --help
	check "$object${verb:+ $verb} --help: usage line" \
		grep -q "^usage: vfabctl $object${verb:+ $verb}" "$out"
	# shellcheck disable=SC2086
	check "$object${verb:+ $verb} -h after an argument" helps "$object" $verb dom0 -h
done <<END
$verbs
END

# Whatever is wrong is found before anything is sent
try "an unknown object" 2 'no object "nothing"' nothing
try "an ambiguous object" 2 'may be partition or port' p show
try "an unknown verb" 2 'no verb "frob"' domain frob
try "an ambiguous verb" 2 'may be show or set' switch s
try "an empty object" 2 'no object ""' ''
try "an empty verb" 2 'no verb ""' domain ''
try "an unknown global option" 2 'no option "-x"' -x domain show
try "an unknown long global option" 2 'no option "--jsn"' --jsn domain show
try "an unknown option" 2 'no option "--frob"' domain show --frob
try "an unknown short option" 2 'no option "-x"' domain show -x
try "an option without its value" 2 '--size wants a value' domain create d1 --size
try "an option given twice" 2 '--size is given twice' domain create d1 --size 1 --size 2
try "a flag with a value" 2 '--force takes no value' domain delete d1 --force=yes
try "an ambiguous option" 2 'may be --' domain create d1 --size 1 --p 3
try "an argument too many" 2 'argument "junk" is one too many' domain show d1 junk
try "an option without its dashes" 2 'argument "size" is one too many: write --size' domain create d1 size 4
try "an option as an assignment" 2 'too many: write --size' domain create d1 size=4
try "an unknown verb: which there are" 2 'window has show' window frob
try "an argument missing" 2 'a domain is missing' domain delete
try "an argument missing after another" 2 'up or down is missing after "dom0/sw3"' switch set dom0/sw3
try "a switch missing" 2 'a switch such as dom0/sw3 is missing' switch set
try "an alternative missing" 2 'or drop is missing after "3"' route set d1 3
try "a word missing" 2 'evict is missing after' endpoint set d1/ep3

try "create: no size" 2 '--size 1 to 1024, or give --profile or --topology' domain create d1
try "create: a file as a profile" 2 'give --topology ./x.yaml for a file' domain create d1 --profile ./x.yaml
try "create: size above" 2 \
	'vfabctl: domain "d1": world size 2000 is above the limit 1024' domain create d1 --size 2000
try "create: two names" 2 'the name is given twice' domain create d1 --name d2 --size 8
try "create: size below" 2 'world size 0 is below the limit 1' domain create d1 --size 0
try "create: size negative" 2 'world size "-1" is not a number of 1 to 1024' domain create --size -1
try "create: size hexadecimal" 2 '"0x10" is not a number' domain create --size 0x10
try "create: size with junk" 2 '"8x" is not a number' domain create --size 8x
try "create: size with a blank" 2 '" 8" is not a number' domain create --size ' 8'
try "create: size empty" 2 '"" is not a number' domain create --size ''
try "create: size of 2^64 + 8" 2 'above the limit' domain create --size 18446744073709551624
try "create: planes above" 2 'planes 65 is above the limit 64' domain create --size 8 --planes 65
try "create: planes below" 2 'planes 0 is below the limit 1' domain create --size 8 --planes 0
try "create: mode" 2 'mode "1000" is not an octal number of 0 to 0777' \
	domain create --size 8 --mode 1000
try "create: mode no octal" 2 'mode "0689"' domain create --size 8 --mode 0689
try "create: uuid" 2 'is not a UUID' domain create --size 8 --uuid 1234
try "create: uuid too long" 2 'is not a UUID' \
	domain create --size 8 --uuid 01234567-89ab-cdef-0123-456789abcdef0
try "create: uuid without dashes" 2 'is not a UUID' \
	domain create --size 8 --uuid 0123456789abcdef0123456789abcdef
try "create: user" 2 'no user "no one"' domain create --size 8 --user 'no one'
try "create: user number" 2 'above the limit' domain create --size 8 --user 4294967295
try "create: group" 2 'no group "no one"' domain create --size 8 --group 'no one'
try "create: peer death" 2 '"die" is not revoke or keep' domain create --size 8 --peer-death die
try "create: retry timeout" 2 'retry timeout 60001 is above the limit 60000' \
	domain create --size 8 --retry-timeout 60001
try "create: memory limit" 2 '"12Q" is not a number of bytes' domain create --size 8 --mem-limit 12Q
try "create: memory limit above 64 bits" 2 'above the limit' \
	domain create --size 8 --mem-limit 17179869184G
try "create: rate" 2 'rate 0 is below the limit 1' domain create --size 8 --rate 0
try "create: latency" 2 'latency "fast"' domain create --size 8 --latency fast
try "create: a name with a slash" 2 'name "a/b"' domain create a/b --size 8
try "create: a name with a leading dot" 2 'name ".a"' domain create .a --size 8
try "create: a long name" 2 'letter or digit and up to 31 more' \
	domain create abcdefghijklmnopqrstuvwxyz0123456 --size 8
try "create: a name that looks like an id" 2 'kept for domain ids' domain create dom7 --size 8
try "create: a number as a name" 2 'kept for domain ids' domain create 7 --size 8
placed="domain create --size 8 --backplane rack --place"
try "create: a backplane without places" 2 '--backplane and --place go together' \
	domain create --size 8 --backplane rack
try "create: places without a backplane" 2 '--backplane and --place go together' \
	domain create --size 8 --place 0:0-3,1:4-7
try "create: places and modelled nodes" 2 '--nodes goes without --backplane' \
	domain create --size 8 --backplane rack --place 0:0-3,1:4-7 --nodes 2
try "create: a backplane's name" 2 'backplane "a/b"' domain create --size 8 --backplane a/b --place 0:0-7
for bad in '' : 0 0-7 0: 0:,1:0 0:0-7, 0:0-7,1: 0:0-7-8 0:7-0 x:0-7 0:x 0:0-7x 0::0-7 0:0:0-7 -1:0-7 \
	0:0-3,,4-7 ' 0:0-7' 0:0-3.4-7 ,0:0-7 0:-7 0x0:0-7; do
	# shellcheck disable=SC2086 # several words
	try "create: place '$bad'" 2 'is not nodes and their ranks such as' $placed "$bad"
done
while read -r bad said; do
	# shellcheck disable=SC2086 # several words
	try "create: place '$bad'" 2 "$said" $placed "$bad"
done <<END
64:0-7 node 64 is above the limit 63
18446744073709551616:0-7 node 18446744073709551616 is above the limit 63
0:0-8 rank 8 is not one of 8: ranks are 0 to 7
0:0-1024 rank 1024 is above the limit 1023
0:0-3,1:3-7 has rank 3 twice
0:0-7,0:7 has rank 7 twice
0:0-3,1:5-7 puts rank 4 on no node
0:1-7 puts rank 0 on no node
0:0-6 puts rank 7 on no node
END
# shellcheck disable=SC2086 # several words
try "create: places that are right" 2 'module not loaded' $placed 1:0-1,4,0:2-3,5,63:7,1:6
try "set: nothing" 2 'nothing to set' domain set d1
try "domain wait: state" 2 '"gone" is not ready, managed, attached=N or deleted' domain wait d1 --for gone
try "wait: number" 2 'endpoints 1025 is above the limit 1024' wait d1 --for attached=1025
try "wait: timeout" 2 'timeout "soon" is not a time' wait d1 --timeout soon
try "wait: timeout too fine" 2 'is not a time' wait d1 --timeout 0.0001
try "wait: timeout too long" 2 'up to 24h' wait d1 --timeout 99999999

try "address: not one" 2 'is not an address such as dom0' domain show 'dom0!'
try "address: empty" 2 'is not an address' domain show ''
try "address: of another kind" 2 'use one such as dom0/ep5' endpoint evict dom0/sw3
try "address: part unknown" 2 'is not an address such as' endpoint show dom0/gpu3
try "address: part empty" 2 'is not an address' endpoint show dom0/
try "address: number missing" 2 'is not an address' endpoint show dom0/ep
try "address: number with junk" 2 'is not an address' endpoint show dom0/ep3x
try "address: twice the same" 2 'is not an address' port show dom0/ep3/ep4
try "address: too long" 2 'not an address of this kind' port show dom0/ep3/sw4/p5
try "address: rank above" 2 'ep1024 is above the limit ep1023' endpoint show dom0/ep1024
try "address: switch above" 2 'sw1024 is above the limit sw1023' switch show dom0/sw1024
try "address: endpoint's port above" 2 'p64 is above the limit p63' port show dom0/ep3/p64
try "address: switch's port above" 2 'p4096 is above the limit p4095' port show dom0/sw3/p4096
try "address: partition above" 2 'part65536 is above' partition delete dom0/part65536
try "address: domain id above" 2 'ids are at most' domain show dom2147483648

try "partition create: id" 2 'partition id 65536 is above the limit 65535' partition create d1 65536
try "partition create: id twice" 2 'given twice' partition create d1/part3 4
try "partition create: a name in the id's place" 2 'a name goes with --name' partition create d1 right
try "partition create: name" 2 'name "a b"' partition create d1 1 --name 'a b'
try "partition create: members" 2 '"0-3,5-" is not a list of ranks' \
	partition create d1 1 --members 0-3,5-
try "partition create: members backwards" 2 '"3-0" is not a list of ranks' \
	partition create d1 1 --members 3-0
try "partition set: nothing" 2 'nothing to set' partition set d1/part1
try "partition set: rank above" 2 'rank 1024 is above the limit 1023' \
	partition set d1/part1 --add 0,1024
try "partition set: empty list" 2 '"" is not a list of ranks' partition set d1/part1 --del ''
try "endpoint set: what" 2 '"kill" is not evict' endpoint set d1/ep3 kill
try "window show: rank" 2 'rank 1024 is above the limit 1023' window show d1 --rank 1024
try "window show: rank without domain" 2 'want a domain' window show --rank 3
try "window show: rank twice" 2 'given twice' window show d1/ep3 --rank 4
try "window show: handle" 2 'is not a number of 64 bits' window show d1 --handle 0xg
try "switch set: state" 2 '"off" is not down or up' switch set d1/sw3 off
try "port set: address" 2 'use one such as dom0/ep5/p3 or dom0/sw3/p5' port set d1/ep3 up
try "link set: state" 2 '"sideways" is not down, up, drain, restore, degrade or flap' link set d1/ep3 sideways
try "link set: no state" 2 'a state such as down is missing after "d1/ep3"' link set d1/ep3
try "route show: destination" 2 'destination 1024 is above the limit 1023' \
	route show d1 --dest 1024
try "route show: destination without domain" 2 'wants a domain' route show --dest 5
try "route set: via what" 2 'via wants a port' route set d1 5 via
try "route set: port" 2 'port 4096 is above' route set d1 5 via 4096
try "route set: drop and more" 2 'one too many' route set d1 5 drop 3
try "route set: what" 2 '"to" is not via or drop' route set d1 5 to 3
try "route trace: source" 2 'source "a"' route trace d1 a 3
try "route trace: an endpoint that there cannot be" 2 'destination 1024 is above' route trace d1 ep3 ep1024
try "route trace: an endpoint without a number" 2 'source "ep"' route trace d1 ep 3
try "route trace: destination missing" 2 'a destination rank is missing after "3"' route trace d1 3
try "route trace: addresses" 2 '"rack/ep0" is not a domain: give D SRC DST' route trace rack/ep0 rack/ep1
try "topo: no domain" 2 'a domain is missing' topo
try "topo: graph as JSON" 2 '--dot goes without' topo d1 --dot -j
try "counters show: counter" 2 'there is no counter "speed"' counters show d1 --only speed
try "counters describe: counter" 2 'there is no counter "speed"' counters describe speed
try "counters snapshot: no file" 2 'a file is missing after "d1"' counters snapshot d1
try "counters snapshot: no domain" 2 'not an address of this kind' counters snapshot d1/ep0 x
try "counters diff: nothing" 2 "a file that 'vfabctl counters snapshot' wrote is missing" counters diff
try "counters diff: no such file" 2 'cannot read' counters diff "$tmp/none"
try "counters diff: a directory" 2 'cannot read' counters diff "$tmp"
# refused TEXT: as a snapshot
refused() {
	printf '%b' "$1" >"$tmp/snapshot"
	try "counters diff: '$(printf %.30s "$1")'" 2 'this is no snapshot' counters diff "$tmp/snapshot"
}
dom='"format":"vfabric-counters","version":1,"domain":{"id":0,"name":"d1","uuid":"u"}'
refused ''
refused '\0'
refused '{'
refused 'no JSON'
refused '[]'
refused 'null'
refused '{"format":"other"}'
refused '{"format":"vfabric-counters","domain":7}'
refused "{$dom}"
refused "{$dom,\"links\":[],\"counters\":{}}"
refused "{$dom,\"links\":[{}],\"counters\":[]}"
refused "{$dom,\"links\":[],\"counters\":[7]}"
refused "{$dom,\"links\":[],\"counters\":[{\"rank\":1024,\"counters\":{}}]}"
refused "{$dom,\"links\":[],\"counters\":[{\"rank\":-1,\"counters\":{}}]}"
refused "{$dom,\"links\":[],\"counters\":[]} {}"
refused "$(printf '[%.0s' 1 2 3 4 5 6 7 8 9 10)"
refused "{\"format\":\"vfabric-counters\",\"domain\":{\"id\":0,\"uuid\":\"$(head -c 5000 /dev/zero | tr '\0' x)\"}}"
printf '%s' "{$dom,\"links\":[],\"counters\":[]}" | sed 's/"version":1/"version":2/' >"$tmp/snapshot"
try "counters diff: of a newer format" 2 'a newer vfabctl' counters diff "$tmp/snapshot"
printf '%s' "{$dom,\"links\":[],\"counters\":[]}" >"$tmp/a"
printf '%s' "{$dom,\"time_ms\":5,\"links\":[],\"counters\":[{\"rank\":3,\"counters\":{\"attaches\":18446744073709551615,\"new\":1,\"peers_lost\":-1}}]}" >"$tmp/b"
try "counters diff: two files need no module" 0 'dom0/ep3: attaches +18446744073709551615' counters diff "$tmp/a" "$tmp/b"
sed 's/"uuid":"u"/"uuid":"v"/' "$tmp/b" >"$tmp/c"
try "counters diff: other domains" 1 'of different domains' counters diff "$tmp/a" "$tmp/c"
try "export: listen where" 2 'is not a number of 0 to 65535' export --format prometheus --listen here
try "export: listen on port" 2 'port 65536 is above the limit' export --format prometheus --listen 65536
try "export: listen without a host" 2 'not an address such as' export --format prometheus --listen :9400
try "export: listen on IPv6 without brackets" 2 'into brackets' export --format prometheus --listen ::1:9400
try "monitor: count" 2 'count 0 is below the limit 1' monitor --count 0
try "monitor: timeout" 2 'timeout "1,5"' monitor --timeout 1,5
try "system set: what" 2 '"network" is not netns' system set network shared
try "system set: mode" 2 '"both" is not exclusive or shared' system set netns both
try "system show: an argument" 2 'one too many' system show x

# What a terminal would act on is not passed on
vfabctl domain show "$(printf 'a\033[31mb\302\233c\377')" >"$out" 2>"$err"
check "control characters in arguments are escaped" \
	grep -qF '"a\x1b[31mb\xc2\x9bc\xff"' "$err"

# What help names, completion knows; where the module is not needed
# completes TOOL WORDS...: the last one is offered after those before it, for what
# of it comes before a ^, if there is one
cat >"$tmp/completes" <<'END'
tool=$1
. "$2/$tool/completion.bash"
shift 2
last=${!#}
COMP_WORDS=("$tool" "${@:1:$#-1}" "")
COMP_CWORD=$#
[[ $last != --* ]] || COMP_WORDS[COMP_CWORD]=--
[[ $last != *^* ]] || COMP_WORDS[COMP_CWORD]=${last%^*}
"_$tool" "$tool" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
[[ " ${COMPREPLY[*]} " == *" ${last/^} "* ]]
END
# shellcheck disable=SC2317 # called by check
completes() {
	completes_tool=$1
	shift
	bash "$tmp/completes" "$completes_tool" "$top/tools" "$@"
}
while read -r object verb; do
	check "completion of $object${verb:+ $verb}" completes vfabctl "$object" ${verb:+"$verb"}
	# shellcheck disable=SC2086 # there may be no verb
	for option in $(vfabctl "$object" $verb --help | grep -o -e '--[a-z][a-z-]*' | sort -u); do
		check "completion of $object${verb:+ $verb} $option" completes vfabctl "$object" $verb "$option"
	done
done <<END
$verbs
END
check "completion of an object's short name" completes vfabctl ep evict
check "completion of vfabrun" completes vfabrun --domain
check "completion of vfabtop" completes vfabtop --sort
for option in $(vfabswitchd --help | grep -o -e '--[a-z][a-z-]*' | sort -u); do
	check "completion of vfabswitchd $option" completes vfabswitchd "$option"
done
check "completion of vfabswitchd: huge pages" completes vfabswitchd --hugepages 2M
check "completion of vfabswitchd: show" completes vfabswitchd show
mkdir -p "$tmp/bp/rack" && : >"$tmp/bp/rack/status"
check "completion of vfabswitchd: names" completes vfabswitchd show --dir "$tmp/bp" rack
check "completion of vfabtop: orders" completes vfabtop -s errors
check "completion of counters by name" completes vfabctl counters describe link_downed
check "completion of a counter shown alone" completes vfabctl counters show --only attaches
check "completion of vfabrun: after an option's value" completes vfabrun -n 3 --label
check "completion of vfabrun: the program" completes vfabrun --domain rack prin^tf
check "completion of vfabperf" completes vfabperf doorbell
check "completion of vfabperf coll" completes vfabperf coll allreduce
check "completion of vfabperf tune" completes vfabperf tune reduce_scatter
check "completion of vfabperf coll: options" completes vfabperf coll allreduce --warmup_iters

if vfabctl system show >/dev/null 2>&1; then
	echo "# the module is loaded: what is said without it is not tried"
else
	for command in "domain show" "domain create --size 8" "domain delete d1" "system show" \
		"topo d1" "wait d1 --timeout 0" "route trace d1 1 2" "monitor --timeout 0"; do
		# shellcheck disable=SC2086 # several words
		try "no module: $command" 2 'module not loaded' $command
	done
fi

finish
