# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of vfabperf for bash. By example:
#
#	. tools/vfabperf/completion.bash
#	vfabperf co<TAB> all<TAB> --min<TAB>

_vfabperf() {
	local cur=$2 prev=$3 command=${COMP_WORDS[1]} words=''

	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD-2]}
	[ "$cur" != = ] || cur=
	case $prev in
	--domain)
		words=$(vfabctl -j domain show 2>/dev/null | tr ',' '\n' | sed -n 's/^"name":"\(.*\)"$/\1/p') ;;
	-J|--json|--plot)
		compopt -o default 2>/dev/null
		return ;;
	*)
		if [ "$COMP_CWORD" = 1 ]; then
			words="$(vfabperf --help | sed -n 's/^  \([a-z]*\)  .*/\1/p') --help --version"
		elif [[ $cur == -* ]]; then
			words=$(vfabperf "$command" --help | grep -o -e ' --[a-z_-]*')
		elif [ "$command" = coll ]; then
			words='allreduce reduce_scatter allgather alltoall alltoallv broadcast reduce gather scatter sendrecv barrier all'
		elif [ "$command" = tune ]; then
			words='allreduce reduce_scatter allgather alltoall broadcast reduce gather scatter barrier'
		fi ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _vfabperf vfabperf
