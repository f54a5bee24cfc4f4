# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of vfabtop for bash. By example:
#
#	. tools/vfabtop/completion.bash
#	vfabtop --so<TAB> er<TAB> ra<TAB>

_vfabtop() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words

	# --sort=errors is three words to readline
	[ "$cur" != = ] || cur=
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD - 2]}
	case $prev in
	-s|--sort)	words='worst address rate errors' ;;
	-n|--count|-d|--delay|-r|--rows) return ;;
	*)
		case $cur in
		-*)	words='--batch --count --delay --rows --sort --help --version' ;;
		*)	words=$(vfabctl -j domain show 2>/dev/null | tr ',' '\n' |
				sed -n 's/^"name":"\(.*\)"$/\1/p') ;;
		esac ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _vfabtop vfabtop
