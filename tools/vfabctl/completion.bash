# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of vfabctl for bash. By example:
#
#	. tools/vfabctl/completion.bash
#	vfabctl ro<TAB> tr<TAB> ra<TAB>

_vfabctl_domains() {
	vfabctl -j domain show 2>/dev/null | tr ',' '\n' | sed -n 's/^"name":"\(.*\)"$/\1/p'
}

# _vfabctl_addresses OBJECT ADDRESS: those that OBJECT show lists below ADDRESS, its
# domain written as there
_vfabctl_addresses() {
	vfabctl -j "$1" show "$2" 2>/dev/null | tr ',{' '\n\n' |
		sed -n "s,^\"address\":\"[^/]*\\(/.*\\)\"\$,${2%%/*}\\1,p"
}

# _vfabctl_verbs OBJECT
_vfabctl_verbs() {
	case $1 in
	domain)		echo create delete show set wait ;;
	partition)	echo create delete show set activate deactivate ;;
	channel|fault)	echo create delete show ;;
	endpoint)	echo show set evict ;;
	switch|port|link|system) echo show set ;;
	window|node|backplane) echo show ;;
	route)		echo show set trace ;;
	profile)	echo show list check ;;
	counters)	echo show describe clear snapshot diff ;;
	scenario)	echo show list check run ;;
	esac
}

# _vfabctl_options OBJECT VERB
_vfabctl_options() {
	case "$1 $2" in
	"domain create")
		echo --name --size --profile --topology --set --planes --nodes --backplane --place --partitions --rate --latency --uuid --mode --user --group \
			--peer-death --retry-timeout --mem-limit ;;
	"domain set")		echo --shape --scale --peer-death --retry-timeout --mem-limit ;;
	"domain delete"|"channel delete"|"partition deactivate") echo --force ;;
	"domain wait"|wait*)	echo --for --timeout ;;
	"partition create")	echo --name --members --resiliency ;;
	"channel create")	echo --mode --user --group ;;
	"fault create")
		echo --for --count --after --seed --period --rate --latency --width --silent \
			--state --status --uuid --clique --health --permille --errno --skip \
			--limit --delay --spare ;;
	"partition set")	echo --add --del --if-detached --park --unpark --resiliency ;;
	"link set"|"port set")	echo --rate --latency --width --period --count ;;
	"window show")		echo --rank --handle ;;
	"route show")		echo --dest ;;
	topo*)			echo --ranks --dot ;;
	"profile show")		echo --check --expand --set ;;
	"profile check")	echo --set ;;
	"scenario run")		echo --seed --set --no-fault --keep --under-test ;;
	monitor*)		echo --timeout --count ;;
	export*)		echo --format --listen ;;
	"counters show")	echo --nonzero --only --describe ;;
	"counters diff")	echo --all ;;
	esac
	echo --help --json --pretty
}

# _vfabctl_parts OBJECT: what may follow the domain in an address
_vfabctl_parts() {
	case $1 in
	partition|channel) echo part ;;
	endpoint)	echo ep node ;;
	window)		echo ep ;;
	node|export)	echo node ;;
	switch)		echo sw ;;
	port|route|counters) echo ep sw ;;
	link)		echo ep node sw ;;
	esac
}

# _vfabctl_address OBJECT CUR: addresses that go on as CUR does
_vfabctl_address() {
	local domain=${2%%/*} rest=${2#*/} part

	case $rest in
	*/*)
		case $1 in
		port|link|counters) _vfabctl_addresses port "$domain/${rest%%/*}" ;;
		channel) _vfabctl_addresses channel "$domain/${rest%%/*}" ;;
		esac
		return ;;
	esac
	for part in $(_vfabctl_parts "$1"); do
		case $rest in
		ep*)	[ "$part" != ep ] || _vfabctl_addresses endpoint "$domain" ;;
		sw*)	[ "$part" != sw ] || _vfabctl_addresses switch "$domain" ;;
		node*)	[ "$part" != node ] || _vfabctl_addresses node "$domain" ;;
		part*)	[ "$part" != part ] || _vfabctl_addresses partition "$domain" ;;
		*)	echo "$domain/$part" ;;
		esac
	done
}

_vfabctl_counters() {
	vfabctl -j counters describe 2>/dev/null | tr ',{' '\n\n' | sed -n 's/^"name":"\(.*\)"$/\1/p'
}

_vfabctl_profiles() {
	vfabctl -j profile list 2>/dev/null | tr ',' '\n' | sed -n 's/^"name":"\(.*\)"$/\1/p'
}

# _vfabctl_words PREV WORDS...: the value of PREV, if it is one of the words, or a word
_vfabctl_words() {
	case $1 in
	shape)		echo off on ;;
	peer-death)	echo revoke keep ;;
	silent|spare)	echo "${@:2}" ;;
	*)		[[ " ${*:2} " == *" $1 "* ]] || echo "${@:2}" ;;
	esac
}

# _vfabctl_position OBJECT VERB N CUR PREV: the N-th positional argument
_vfabctl_position() {
	case "$1 $2 $3" in
	"domain create 1"|"system show 1")	;;
	"backplane show 1")	vfabctl -j backplane show 2>/dev/null | tr ',{' '\n\n' |
					sed -n 's,^"address":"\([^/]*\)"$,\1,p' ;;
	"system set 1")		echo netns ;;
	"system set 2")		echo exclusive shared ;;
	"endpoint set 2")	echo evict ;;
	"switch set 2")		echo up down ;;
	"port set 2"|"link set 2") echo up down drain restore degrade flap ;;
	"fault create 2")
		echo link-down link-flap link-degrade blackhole stuck override peer-kill \
			node-loss manager-stall import-refuse quota event-delay event-reorder \
			event-drop ;;
	"domain set "[2-9])	_vfabctl_words "$5" shape scale peer-death retry-timeout mem-limit ;;
	"port set "[3-9]|"link set "[3-9]) _vfabctl_words "$5" rate latency width period count ;;
	"fault create "[3-9])
		_vfabctl_words "$5" all after for seed count period rate latency width silent state \
			status uuid clique health permille errno skip limit delay spare ;;
	"fault delete 2")	echo all ;;
	"route set 3")		echo via drop ;;
	scenario*)	vfabctl -j scenario list 2>/dev/null | tr ',' '\n' | sed -n 's/.*"name":"\(.*\)"$/\1/p' ;;
	profile*)	_vfabctl_profiles ;;
	"counters describe 1")	_vfabctl_counters ;;
	"counters diff "*|"counters snapshot 2") compgen -f -- "$4" ;;
	*" 1")
		case $4 in
		*/*)	_vfabctl_address "$1" "$4" ;;
		*)	_vfabctl_domains ;;
		esac ;;
	esac
}

_vfabctl() {
	local cur=$2 prev=$3 object='' verb='' position=0 words='' i
	local objects='domain partition channel node endpoint window switch port link route fault topo profile counters scenario monitor export wait backplane system'

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--force|--if-detached|--no-fault|--ranks|--dot|--check|--expand|--nonzero|--describe|--all|--silent|--spare|--json|--pretty|--help|--version|-[jphV]*) ;;
		--*)	((i++)) ;;	# its value
		*)
			if [ -z "$object" ]; then
				object=${COMP_WORDS[i]}
				case $object in
				part)	object=partition ;;
				ep)	object=endpoint ;;
				sw)	object=switch ;;
				ch)	object=channel ;;
				topo|monitor|export|wait) verb=- ;;
				esac
			elif [ -z "$verb" ]; then
				case ${COMP_WORDS[i]} in
				add)		verb=create ;;
				del)		verb=delete ;;
				list|ls)	verb=show ;;
				*)		verb=${COMP_WORDS[i]} ;;
				esac
			else
				((position++))
			fi ;;
		esac
	done

	case $prev in
	--peer-death)	words='revoke keep' ;;
	--format)	words='nvml-mock prometheus' ;;
	--only)		words=$(_vfabctl_counters) ;;
	--profile)	words=$(_vfabctl_profiles) ;;
	--topology|--keep) words=$(compgen -f -- "$cur") ;;
	--for)		[ "$object" = fault ] || words='ready managed deleted attached=' ;;
	--partitions)	words='default none per-node hgx15' ;;
	--resiliency)	words='adaptive full' ;;
	--user)		words=$(compgen -u) ;;
	--group)	words=$(compgen -g) ;;
	--force|--if-detached|--no-fault|--ranks|--dot|--check|--expand|--nonzero|--describe|--all|--silent|--spare|--json|--pretty|--help)
		prev= ;;
	esac
	if [ -n "$words" ]; then
		:
	elif [[ $prev == --* ]]; then
		return		# a value that only the user knows
	elif [[ $cur == -* ]]; then
		words=$(_vfabctl_options "$object" "$verb")
		[ -n "$object" ] || words='--help --json --pretty --version'
	elif [ -z "$object" ]; then
		words=$objects
	elif [ -z "$verb" ]; then
		words=$(_vfabctl_verbs "$object")
	else
		words=$(_vfabctl_position "$object" "$verb" $((position + 1)) "$cur" "$prev")
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	# More follows "rack/ep", "attached=", and the endpoint of a port or link
	case $object:${COMPREPLY[0]-} in
	port:*/*/*[0-9]|link:*/*/*[0-9]|counters:*/*/*[0-9]) ;;
	*=|*/*[!0-9]|port:*/*|link:*/*|counters:*/*) compopt -o nospace 2>/dev/null ;;
	esac
}
complete -F _vfabctl vfabctl
