#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# domain.sh - vfabctl domain, vfabctl wait
#
# by example:
#
#	scripts/vm run -- selftests/run.sh ctl-domain

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/ctl/lib-fabric.sh
. "$here/lib-fabric.sh"

json "no domain" '. == []' domain show
try "no domain, in text" 0 '' domain show
check "no domain prints nothing" [ ! -s "$out" ]
json "no endpoint" '. == []' endpoint show
try "an object alone shows" 0 '' domain
try "an unknown domain" 1 'vfabctl: domain "d1": no such domain' domain show d1
check "it says which there are" said "'vfabctl domain show' lists them"
try "nothing is no empty list" 1 'no such domain' -j domain show d1
try "an unknown id" 1 'vfabctl: domain "dom0": no such domain' domain show dom0

# domain
try "domain create" 0 'name d1' domain create d1 --size 8 --planes 4 --uuid $uuid --mode 0640 \
	--user 65534 --group daemon --peer-death keep --retry-timeout 100 --mem-limit 64M \
	--rate 1000 --latency 250
id=$(domain_id d1)
check "it prints the uuid" said "uuid $uuid"
check "it prints the device file" said "device /dev/vfabric/$id"
check "the device file is as asked for" is_char_device "/dev/vfabric/$id" "640 65534:1"
json "all was taken" ".[0] | .name == \"d1\" and .id == $id and .uuid == \"$uuid\" and .size == 8
	and .planes == 4 and .mode == \"0640\" and .uid == 65534 and .gid == 1
	and .peer_death == \"keep\" and .retry_timeout == 100 and .mem_limit == 67108864
	and .mem_used == 0 and .rate == 1000 and .latency == 250 and .attached == 0
	and .device == \"/dev/vfabric/$id\" and .address == \"dom$id\"" domain show d1
try "domain create: the name is taken" 1 'a domain of this name exists' domain create d1 --size 8
try "domain create: the uuid is taken" 1 'a domain of this UUID exists' \
	domain create d2 --size 8 --uuid $uuid
try "domain create: no such backplane" 1 'this machine is on no backplane of this name' \
	domain create d2 --size 8 --backplane rack --place 0:0-3,1:4-7
try "domain create: the zero uuid" 1 'the zero UUID' \
	domain create d2 --size 8 --uuid 00000000-0000-0000-0000-000000000000
json "domain create: as JSON, with defaults" '.[0] | .size == 1 and .planes == 18
	and .mode == "0600" and .uid == 0 and .peer_death == "revoke"' domain add --size 1
json "domain create: --name" '.[0].name == "named"' domain create --name named --size 1
json "domain delete: as JSON" '. == []' domain delete named
json "a domain without a name" '.[1] | .name == .address' domain list
try "domain delete: by id" 0 '' domain del "$(jq '.[1].id' "$out")"
check "it prints nothing" [ ! -s "$out" ]
json "the other one is left" 'length == 1' domain ls
try "domain delete: unknown" 1 'no such domain' domain delete nobody
json "shown by name" ".[0].id == $id" domain show d1
json "shown by address" ".[0].name == \"d1\"" domain show "dom$id"
json "shown by id" ".[0].name == \"d1\"" domain show "$id"
try "abbreviated" 0 'name d1' dom s"h" d1
try "domain set" 0 '' domain set d1 --peer-death revoke --retry-timeout 0 --mem-limit 0
json "it is set" '.[0] | .peer_death == "revoke" and .retry_timeout == 0 and .mem_limit == 0' \
	domain show d1
try "no limit, in text" 0 'mem-limit none' domain show d1
json "shape is off" '.[0] | .shape == "off" and .shape_scale == 1' domain show d1
try "domain set: shape" 0 '' domain set d1 shape on scale 1000
try "domain show: shape" 0 'shape on scale 1000' domain show d1
try "domain set: shape off, the scale stays" 0 '' domain set d1 shape off --retry-timeout 0
json "it is off" '.[0] | .shape == "off" and .shape_scale == 1000' domain show d1
try "domain set: words and options" 0 '' domain set d1 --shape off retry-timeout 0 scale 1000
try "domain set: shape of another kind" 2 'not off or on' domain set d1 shape square
try "domain set: shape alone" 2 'shape wants a value' domain set d1 shape
try "domain set: scale 0" 2 'below the limit 1' domain set d1 scale 0
try "domain set: another word" 2 'argument "rate" is one too many' domain set d1 rate 5
try "domain set: unknown" 1 'no such domain' domain set nobody --mem-limit 1G

# wait
try "domain wait: ready" 0 '' domain wait d1 --for ready --timeout 5
try "wait: ready" 0 '' wait d1
json "wait: as JSON" '. == []' wait d1
json "domain set: as JSON" '. == []' domain set d1 --retry-timeout 0
try "wait: not ready, no such domain" 3 'not ready after 0.2 s: there is no such domain' \
	wait nobody --timeout 0.2
nobody vfabctl wait d1 --timeout 0 >"$out" 2>"$err"
check "wait: not ready for who may not open it" [ $? = 0 ]	# uid 65534 owns it
setpriv --reuid 65533 --regid 65533 --clear-groups vfabctl wait d1 --timeout 0 >"$out" 2>"$err"
check "wait: ready only for who may open it" [ $? = 3 ]
check "it says why" said "/dev/vfabric/$id: Permission denied"
try "wait: nothing attached" 0 '' wait d1 --for attached=0
try "wait: attached, but nobody is" 3 'not attached=1 after 0.1 s: 0 attached' \
	wait d1 --for attached=1 --timeout 0.1
try "wait: deleted, but it is there" 3 'it is there' wait d1 --for deleted --timeout 0.1
try "wait: deleted" 0 '' wait nobody --for deleted --timeout 0
(sleep 0.5; vfabctl domain create late --size 2 >/dev/null) &
try "wait: ready comes later" 0 '' wait late --timeout 20
(sleep 0.5; vfabctl domain delete late) &
try "wait: deleted comes later" 0 '' wait late --for deleted --timeout 20

# profiles and topology files
VFAB_PROFILE_PATH=$here/../../build/tools/profiles
export VFAB_PROFILE_PATH
try "domain create: a profile" 0 'profile gb200-nvl72 switches 18 links 1296 rate 50 GB/s latency 700 ns' \
	domain create nvl --profile gb200-nvl72
try "its routes" 0 'reachable: 18 of 18 paths, 900 GB/s per direction, 700 ns' route trace nvl 0 71
json "domain create: two tiers" '.[0] | .size == 256 and .switches == 164 and .links == 6912
	and .profile == "gh200-nvl256" and has("rate") == false' domain create --profile gh200-nvl256
try "its routes" 0 'reachable: 18 of 18 paths, 450 GB/s per direction, latency unknown' \
	route trace "$(jq '.[0].id' "$out")" 0 255
try "domain create: a mesh" 0 'switches 0 links 28' domain create mesh --profile mi300x-8
try "its routes" 0 'reachable: 1 of 1 paths, 64 GB/s per direction' route trace mesh 0 7
try "domain create: a torus" 0 'size 32 planes 6' domain create torus --profile torus:4x4x2 \
	--set rate_mb_per_s_per_direction=25000
try "its routes" 0 'ep1 in 1 out 0' route trace torus 0 2
try "an endpoint's table" 0 'dest 2 via ports' route show torus/ep0 --dest 2
try "domain create: the largest lists" 0 'links 18432' domain create --profile ualink-1024 --set ports=18
try "domain create: a profile with a hole" 2 'give --set ports=N' domain create --profile ualink-1024
try "domain create: no such profile" 2 'there is no profile' domain create --profile nosuch
try "domain create: a profile and planes" 2 'change it by --set' domain create --profile mi300x-8 --planes 3
try "domain create: --set alone" 2 'goes with' domain create --size 4 --set ports=2
vfabctl profile show mi300x-8 --expand >"$tmp/mesh.yaml"
try "domain create: a topology file" 0 'links 28' domain create again --topology "$tmp/mesh.yaml"
echo 'links: [{a: ep0/p0, b: ep9/p0}]' >"$tmp/bad.yaml"
try "domain create: a bad file" 2 "$tmp/bad.yaml" domain create --topology "$tmp/bad.yaml"
try "domain create: a file that is not there" 2 'nosuch.yaml' domain create --topology "$tmp/nosuch.yaml"
for name in nvl mesh torus again; do
	vfabctl domain delete $name
done
for id in $(vfabctl -j domain show | jq '.[] | select(.name != "d1") | .id'); do
	vfabctl domain delete "$id"
done

try "domain delete --force" 0 '' domain delete d1 --force
check "no device file is left" [ -z "$(ls /dev/vfabric 2>/dev/null)" ]
finish
