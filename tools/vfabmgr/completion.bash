# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of vfabmgr for bash. By example:
#
#	. tools/vfabmgr/completion.bash
#	vfabmgr --do<TAB> ra<TAB> --eng<TAB> up<TAB>

_vfabmgr() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words

	# --engine=up is three words to readline
	[ "$cur" != = ] || cur=
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD - 2]}
	case $prev in
	-d|--domain|--status)
		words=$(vfabctl -j domain show 2>/dev/null | tr ',' '\n' | sed -n 's/^"name":"\(.*\)"$/\1/p') ;;
	-e|--engine)	words='min-hop up-down dor file:' ;;
	--vcs)		words='1 2' ;;
	--root|--dims|--interval|--timeout) return ;;
	*)
		words='--domain --engine --root --dims --vcs --allow-loops --foreground --once
			--dry-run --interval --timeout --status --verbose --help --version' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _vfabmgr vfabmgr
