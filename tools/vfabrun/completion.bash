# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of vfabrun for bash. By example:
#
#	. tools/vfabrun/completion.bash
#	vfabrun --dom<TAB> ra<TAB> ./pro<TAB>

_vfabrun() {
	local cur=$2 prev=$3 words='' i

	# Behind the program's name, all is the program's
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-n|--ntasks|--ranks|--domain|--nodes|--node-command|--node-timeout|--timeout|--grace)
			[ "${COMP_WORDS[i+1]}" != = ] || ((i++))
			((i++)) ;;
		-*)	;;
		*)	compopt -o default 2>/dev/null
			return ;;
		esac
	done
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	case $prev in
	--domain)
		words=$(vfabctl -j domain show 2>/dev/null | tr ',' '\n' | sed -n 's/^"name":"\(.*\)"$/\1/p') ;;
	-n|--ntasks|--ranks|--nodes|--node-command|--node-timeout|--timeout|--grace)
		return ;;
	*)
		if [[ $cur != -* ]]; then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -d -- "$cur")
			return
		fi
		words=$(vfabrun --help | grep -o -e ' --[a-z-]*') ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _vfabrun vfabrun
