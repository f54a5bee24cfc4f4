# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of vfabctl for bash. By example:
#
#	. tools/vfabctl/completion.bash
#	vfabctl ro<TAB> tr<TAB> ra<TAB>

_vfabctl_domains() {
	vfabctl -j domain show 2>/dev/null | tr ',' '\n' | sed -n 's/^"name":"\(.*\)"$/\1/p'
}

# _vfabctl_verbs OBJECT
_vfabctl_verbs() {
	case $1 in
	domain)		echo create delete show set wait ;;
	partition)	echo create delete show set activate deactivate ;;
	channel)	echo create delete show ;;
	endpoint)	echo show set evict ;;
	switch|port|link|system) echo show set ;;
	window|node)	echo show ;;
	route)		echo show set trace ;;
	profile)	echo show list check ;;
	esac
}

# _vfabctl_options OBJECT VERB
_vfabctl_options() {
	case "$1 $2" in
	"domain create")
		echo --size --profile --topology --set --planes --nodes --partitions --rate --latency --uuid --mode --user --group \
			--peer-death --retry-timeout --mem-limit ;;
	"domain set")		echo --peer-death --retry-timeout --mem-limit ;;
	"domain delete"|"channel delete"|"partition deactivate") echo --force ;;
	"domain wait"|wait*)	echo --for --timeout ;;
	"partition create")	echo --name --members ;;
	"channel create")	echo --mode --user --group ;;
	"partition set")	echo --add --del --if-detached ;;
	"link set"|"port set")	echo --rate --latency --width --period --count ;;
	"window show")		echo --rank --handle ;;
	"route show")		echo --dest ;;
	topo*)			echo --ranks --dot ;;
	"profile show")		echo --check --expand --set ;;
	"profile check")	echo --set ;;
	monitor*)		echo --timeout --count ;;
	export*)		echo --format ;;
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
	switch|route)	echo sw ;;
	port)		echo ep sw ;;
	link)		echo ep node sw ;;
	esac
}

# _vfabctl_position OBJECT VERB N CUR: the N-th positional argument
_vfabctl_position() {
	local part

	case "$1 $2 $3" in
	"domain create 1"|"system show 1")	;;
	"system set 1")		echo netns ;;
	"system set 2")		echo exclusive shared ;;
	"endpoint set 2")	echo evict ;;
	"switch set 2")		echo up down ;;
	"port set 2"|"link set 2") echo up down drain restore degrade flap ;;
	"route set 3")		echo via drop ;;
	profile*)	vfabctl -j profile list 2>/dev/null | tr ',' '\n' | sed -n 's/^"name":"\(.*\)"$/\1/p' ;;
	*" 1")
		if [[ $4 != */* ]]; then
			_vfabctl_domains
			return
		fi
		for part in $(_vfabctl_parts "$1"); do
			echo "${4%%/*}/$part"
		done ;;
	esac
}

_vfabctl() {
	local cur=$2 prev=$3 object='' verb='' position=0 words='' i
	local objects='domain partition channel node endpoint window switch port link route topo profile monitor export wait system'

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--force|--if-detached|--ranks|--dot|--check|--expand|--json|--pretty|--help|--version|-[jphV]*) ;;
		--*)	((i++)) ;;	# its value
		*)
			if [ -z "$object" ]; then
				object=${COMP_WORDS[i]}
				case $object in
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
	--format)	words=nvml-mock ;;
	--partitions)	words='default none hgx15' ;;
	--for)		words='ready deleted attached=' ;;
	--user)		words=$(compgen -u) ;;
	--group)	words=$(compgen -g) ;;
	--force|--if-detached|--ranks|--dot|--check|--expand|--json|--pretty|--help)
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
		words=$(_vfabctl_position "$object" "$verb" $((position + 1)) "$cur")
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	[[ ${COMPREPLY[0]-} != */* && ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null
}
complete -F _vfabctl vfabctl
