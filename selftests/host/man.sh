#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# man.sh - do the man pages say all that there is, and do their examples compile?
#
# by example:
#
#	selftests/host/man.sh		# after make tools
#
# What is checked against what: functions against the library's map and headers,
# ioctls, their fields, values and errors against the uapi header, parameters
# against the module, options and verbs against --help. Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
tools=build/tools
man=Documentation/man
uapi=uapi/linux/vfabric.h
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=selftests/host/lib
. selftests/host/lib

skip() {
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

# The page that a name leads to, by way of one .so line
page_of() {
	local file=$man/$1 to

	to=$(sed -n '1s/^\.so //p' "$file" 2>/dev/null)
	[ -z "$to" ] || file=$man/${to##*/}
	[ -e "$file" ] && echo "$file"
}

pages() {
	grep -L '^\.so ' "$man"/*.[1-9]
}

# section PAGE NAME
section() {
	awk -v want="$2" '/^\.SH/ { on = $0 == ".SH " want; next } on' "$1"
}

# C source in one line, one blank between words, none at brackets and stars
squeeze() {
	tr -s ' \t\n' ' ' | sed 's/ *\([(),;*]\) */\1/g'
}

# says FILE WORD: the word is in the page, however it is marked up
says() {
	sed 's/\\-/-/g' "$1" | grep -qE -e "(^|[^A-Za-z0-9_])$2([^A-Za-z0-9_]|\$)"
}

functions=$(sed -n 's/^\t\(vfab_[a-z_]*\);$/\1/p' tools/lib/libvfab.map)
cat tools/lib/vfab.h tools/lib/vfab_nl.h >"$tmp/headers.h"
squeeze <"$tmp/headers.h" >"$tmp/headers"

for f in $functions; do
	page=$(page_of "$f.3") || { echo "$f: no page"; continue; }
	section "$page" NAME | grep -qE "(^|[ ,])$f(,| |\$)" || echo "$f: not under NAME of $page"
	prototype=$(section "$page" SYNOPSIS | sed '/^\./d' | squeeze |
		grep -oE "(^|[;}]|>)[a-z0-9_ *]*[ *]$f\([^;]*\);" | sed 's/^[;}>]//; s/^ //')
	[ -n "$prototype" ] || { echo "$f: no prototype in $page"; continue; }
	grep -qF -- "$prototype" "$tmp/headers" || echo "$f: $page has another prototype than the header: $prototype"
	says "$man/libvfab.3" "$f" || echo "$f: not in libvfab.3"
done >"$tmp/bad"
clean "each function of the library has a page, with its prototype"

for page in "$man"/vfab_*.3; do
	name=$(basename "$page" .3)
	grep -qw "$name" <<<"$functions" || echo "$page: the library has no such function"
	page_of "$name.3" >/dev/null || echo "$page: leads nowhere"
done >"$tmp/bad"
clean "no page of a function that is not there"

# Errors of the library's own, and of what it passes on
{
	grep -oE '\{ E[A-Z0-9]+, "' tools/lib/error.c | grep -oE 'E[A-Z0-9]+' | while read -r err; do
		cat "$man"/libvfab.3 "$man"/vfab_*.3 "$man"/vfabric.4 >"$tmp/all"
		says "$tmp/all" "$err" || echo "$err: in no page"
	done
	sed -n '/^ \* What each errno means/,/\*\//p' "$uapi" | grep -oE '^ \* E[A-Z0-9]+' |
		grep -oE 'E[A-Z0-9]+' >"$tmp/errnos"
	[ "$(wc -l <"$tmp/errnos")" -ge 15 ] || echo "the header's list of errors was not found"
	section "$man/vfabric.4" ERRORS >"$tmp/errors"
	while read -r err; do
		says "$tmp/errors" "$err" || echo "$err: not under ERRORS of vfabric.4"
	done <"$tmp/errnos"
} >"$tmp/bad"
clean "each error is explained"

{
	grep -oE '^#define VFAB_IOC_[A-Z_]+' "$uapi" | sed 's/^#define //; /_MAGIC$/d' >"$tmp/ioctls"
	[ "$(wc -l <"$tmp/ioctls")" -ge 12 ] || echo "the header's ioctls were not found"
	while read -r ioctl; do
		grep -q "^\.SS $ioctl (" "$man/vfabric.4" || echo "$ioctl: no section in vfabric.4"
	done <"$tmp/ioctls"
	# fields of all structures, values of all enumerations
	sed -n '/^struct vfab_/,/^};/s/^\t\(__[us][0-9]*\|char\|struct [a-z_]*\) \([a-z_]*\).*;.*/\2/p' "$uapi" |
		grep -vx reserved | sort -u >"$tmp/fields"
	sed -n '/^enum vfab_/,/^};/s/^\t\(VFAB_[A-Z_]*\) *=.*/\1/p' "$uapi" >>"$tmp/fields"
	[ "$(wc -l <"$tmp/fields")" -ge 50 ] || echo "the header's fields were not found"
	while read -r word; do
		says "$man/vfabric.4" "$word" || echo "$word: not in vfabric.4"
	done <"$tmp/fields"
} >"$tmp/bad"
clean "each ioctl, field and value is in vfabric.4"

{
	grep -oP '^module_param_named\(\K\w+' kmod/main.c >"$tmp/parms"
	[ -s "$tmp/parms" ] || echo "no parameters found in kmod/main.c"
	section "$man/vfabric.4" "MODULE PARAMETERS" >"$tmp/section"
	while read -r parm; do
		says "$tmp/section" "$parm" || echo "$parm: not under MODULE PARAMETERS of vfabric.4"
	done <"$tmp/parms"
} >"$tmp/bad"
clean "each module parameter is in vfabric.4"

# options PAGE COMMAND...: those that --help shows are in the page
options() {
	local page=$1 option

	shift
	"$@" >"$tmp/help" 2>&1 || { echo "$*: fails"; return; }
	cat "$tmp/help" >>"$tmp/help-$(basename "$page")"
	grep -oE '(^|[ ,[|])--?[a-z][a-z_-]*' "$tmp/help" | grep -oE -- '-[a-z_-]+$' | sort -u |
		while read -r option; do
			# mdoc writes --all as Fl -all
			says "$page" "$option" || says "$page" "Fl ${option#-}" ||
				echo "$option of '$*': not in $page"
		done
}
{
	options "$man/vfabrun.1" "$tools/vfabrun" --help
	options "$man/vfabmgr.8" "$tools/vfabmgr" --help
	options "$man/vfabtop.8" "$tools/vfabtop" --help
	options "$man/vfabswitchd.8" "$tools/vfabswitchd" --help
	options "$man/vfabperf.1" "$tools/vfabperf" --help
	for command in $("$tools/vfabperf" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
		says "$man/vfabperf.1" "$command" || echo "vfabperf $command: not in vfabperf.1"
		options "$man/vfabperf.1" "$tools/vfabperf" "$command" --help
	done
} >"$tmp/bad"
clean "each option of vfabrun, vfabperf, vfabmgr, vfabtop and vfabswitchd is in its page"

{
	objects=$("$tools/vfabctl" --help | sed -n '/^objects:/,/^$/s/^  \([a-z]*\)  .*/\1/p')
	[ "$(wc -w <<<"$objects")" -ge 10 ] || echo "vfabctl --help names no objects"
	options "$man/vfabctl.8" "$tools/vfabctl" --help
	sed -n '/^\.Sh COMMANDS/,/^\.Sh EXIT/p' "$man/vfabctl.8" >"$tmp/commands"
	for object in $objects; do
		says "$tmp/commands" "$object" || echo "$object: not in vfabctl.8"
		options "$man/vfabctl.8" "$tools/vfabctl" "$object" --help
		for verb in $("$tools/vfabctl" "$object" --help | sed -n "s/^  vfabctl $object \([a-z]*\).*/\1/p" | sort -u); do
			says "$tmp/commands" "$object $verb" || echo "$object $verb: not in vfabctl.8"
			options "$man/vfabctl.8" "$tools/vfabctl" "$object" "$verb" --help
		done
	done
} >"$tmp/bad"
clean "each object, verb and option of vfabctl is in vfabctl.8"

# Those that a page lists: what its tags begin with
for page in vfabrun.1 vfabperf.1 vfabmgr.8 vfabtop.8 vfabswitchd.8 vfabctl.8; do
	awk '/^\.TP/ { getline; print } /^\.It Fl/ { gsub(/Fl /, "-"); print }' "$man/$page" | sed 's/\\-/-/g' |
		grep -oE '(^\.(B|BR|BI|It)|,) *"? ?--?[a-zA-Z][a-zA-Z_-]*' | grep -oE -- '--?[a-zA-Z_-]+$' |
		sort -u >"$tmp/listed"
	[ "$(wc -l <"$tmp/listed")" -ge 10 ] || echo "$page lists no options"
	while read -r option; do
		says "$tmp/help-$page" "$option" || echo "$page: no --help shows $option"
	done <"$tmp/listed"
done >"$tmp/bad"
clean "each option that a page lists is there"

# Programs in EXAMPLES, as somebody would build them
for page in $(pages); do
	section "$page" EXAMPLES | awk -v to="$tmp/$(basename "$page")" '
		/^\.EX/ { getline; on = /^#include/; if (on) { n++; file = to "." n ".c" } }
		/^\.EE/ { on = 0 }
		on { gsub(/\\-/, "-"); gsub(/\\\(aq/, "\047"); gsub(/\\e/, "\\"); print >file }'
done
programs=("$tmp"/*.c)
{
	[ ${#programs[@]} -ge 4 ] || echo "only ${#programs[@]} programs were found"
	for program in "${programs[@]}"; do
		gcc -std=c11 -Wall -Wextra -Werror -D_GNU_SOURCE -Iuapi -Itools/lib -o "$tmp/a.out" "$program" \
			-L"$tools" -lvfab -lmnl 2>&1
	done
} >"$tmp/bad"
clean "the examples compile"

for page in $(pages); do
	for to in $(grep -oE '^\.(BR|Xr) [a-z_]+ \(?[1-9]|" [a-z_]+" \([1-9]' "$page" |
		    sed -E 's/^\.(BR|Xr) //; s/^" //; s/"? \(?/./'); do
		case $to in
		libvfab*|vfab_*|vfabr*|vfabp*|vfabc*|vfabm*|vfabt*|vfabs*) [ -e "$man/$to" ] || echo "$page: there is no $to" ;;
		esac
	done
done >"$tmp/bad"
clean "pages refer to pages that are there"

if command -v mandoc >/dev/null; then
	for page in $(pages); do
		mandoc -Tlint -W warning "$page"
	done >"$tmp/bad" 2>&1
	clean "mandoc has no complaint"
else
	skip "mandoc has no complaint" "mandoc is not installed"
fi
if command -v groff >/dev/null; then
	for page in $(pages); do
		groff -mandoc -ww -Tutf8 -z "$page"
	done >"$tmp/bad" 2>&1
	clean "groff has no complaint"
else
	skip "groff has no complaint" "groff is not installed"
fi
echo "1..$count"
exit "$failed"
