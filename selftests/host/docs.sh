#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# docs.sh - do the documents name tests and files that are there?
#
# by example:
#
#	selftests/host/docs.sh
#
# A test is named as program/fixture.test or program/fixture.variant.test, a
# file by its path in the tree. Prints TAP.
# shellcheck disable=SC2016 # backquotes of the documents

set -u

cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=selftests/host/lib
. selftests/host/lib

# What stands between double backquotes in the documents: FILE TEXT
literals() {
	grep -oHE '``[^`]+``' Documentation/*.rst | sed 's/``//g; s/:/ /'
}

# A test of PROGRAM with this name, in a fixture that has this variant, if any
is_test() {
	local program=$1 fixture=$2 variant=$3 name=$4

	grep -qE "^TEST_F(_TIMEOUT)?\($fixture, ${name}[,)]" "selftests/$program.c" &&
		{ [ -z "$variant" ] || grep -q "^FIXTURE_VARIANT_ADD($fixture, $variant)" "selftests/$program.c"; }
}

literals | sed -nE 's,^([^ ]+) ([a-z]+)/([a-z_]+)\.(([a-z_]+)\.)?([a-z0-9_]+)$,\1 \2 \3 .\5 \6,p' >"$tmp/tests"
{
	[ "$(wc -l <"$tmp/tests")" -ge 80 ] || echo "only $(wc -l <"$tmp/tests") tests were found in the documents"
	while read -r file program fixture variant name; do
		[ -e "selftests/$program.c" ] || continue	# a path, see below
		is_test "$program" "$fixture" "${variant#.}" "$name" ||
			echo "$file: there is no test $program/$fixture${variant%.}.$name"
	done <"$tmp/tests"
} >"$tmp/bad"
clean "each test that is named is there"

{
	literals | grep -E ' (kmod|uapi|tools|selftests|scripts|Documentation|LICENSES)/[^ ]*( |$)' |
		while read -r file path _; do
			case $path in
			*\<*|*NAME*) continue ;;
			esac
			# shellcheck disable=SC2086 # a glob
			ls -d $path >/dev/null 2>&1 || echo "$file: there is no $path"
		done
	grep -oHE ':doc:`[^`]+`' Documentation/*.rst | sed -E 's/:doc:`/ /; s/:? / /; s/`//; s/ [^<]*<([^>]*)>/ \1/' |
		while read -r file page; do
			[ -e "Documentation/$page.rst" ] || [ -e "Documentation/$page" ] ||
				echo "${file%:}: :doc: there is no $page"
		done
} >"$tmp/bad"
clean "each file that is named is there"

# The table of what works names what selftests/map.c tests, all of it
{
	sed -nE 's/^TEST_F(_TIMEOUT)?\(map, ([a-z0-9_]+).*/\2/p' selftests/map.c >"$tmp/map"
	[ -s "$tmp/map" ] || echo "no tests were found in selftests/map.c"
	grep -E '^Documentation/uapi.rst map ' "$tmp/tests" >"$tmp/named"
	while read -r name; do
		grep -q " $name\$" "$tmp/named" || echo "uapi.rst does not name map/map.$name"
	done <"$tmp/map"
} >"$tmp/bad"
clean "uapi.rst names each test of mappings"

# Who may do what stands once, in selftests/privilege.c
{
	sed -nE '/^\tROW\(/ { /"\),$/! { N; s/\n// }; s/^\tROW\("([^"]+)",[^"]*"([^"]+)"\),$/\1 \2/p }' selftests/privilege.c | tr , ' ' >"$tmp/rows"
	[ -s "$tmp/rows" ] || echo "no rows were found in selftests/privilege.c"
	sed -nE 's/^``([a-z0-9 -]+)`` +((yes|no|none|own)( +(yes|no|none|own)){8})$/\1 \2/p' \
		Documentation/admin.rst | tr -s ' ' | diff "$tmp/rows" -
} >"$tmp/bad"
clean "admin.rst has the privileges that are tested"

# Each item of a list there is a claim, and names what holds it
awk '
function done() {
	if (item != "" && item !~ /``[a-z]+\/[a-z_.]+\.[a-z0-9_]+``/ &&
	    item !~ /``(selftests|scripts)\/[^`]+``/ && item !~ /\*not tested\*/)
		print "no test is named: " substr(item, 1, 90)
	item = ""
}
/^- / { done(); item = $0; next }
/^[^ ]/ { done() }
item != "" { item = item " " $0 }
END { done() }' Documentation/admin.rst >"$tmp/bad"
[ "$(grep -c '^- ' Documentation/admin.rst)" -ge 25 ] || echo "only a few claims were found" >>"$tmp/bad"
clean "each claim of admin.rst names its test"

# The parameters of the module, and their defaults
sed -nE 's/^module_param_named\(([a-z_]+), .*/\1/p' kmod/main.c kmod/backplane.c |
	while read -r name; do
		default=$(grep -hA 1 "^MODULE_PARM_DESC($name," kmod/main.c kmod/backplane.c | grep -oE 'default [0-9]+' | cut -d' ' -f2)
		grep -qE "^\`\`$name\`\` +$default " Documentation/admin.rst ||
			echo "admin.rst does not name the parameter $name with the default $default"
	done >"$tmp/bad"
clean "admin.rst has each parameter"

if python3 -c 'import docutils' 2>/dev/null; then
	for file in Documentation/*.rst; do
		# :doc: is Sphinx's
		sed 's/:doc:`/`/' "$file" | python3 -c '
import sys, docutils.core
docutils.core.publish_string(sys.stdin.read(), source_path=sys.argv[1], writer_name="null",
                             settings_overrides={"report_level": 2, "halt_level": 5})' "$file" 2>&1
	done >"$tmp/bad"
	clean "the documents are reStructuredText"
else
	count=$((count + 1))
	echo "ok $count - the documents are reStructuredText # SKIP python3-docutils is not installed"
fi
echo "1..$count"
exit "$failed"
