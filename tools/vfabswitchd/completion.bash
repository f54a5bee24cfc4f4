# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of vfabswitchd for bash. By example:
#
#	. tools/vfabswitchd/completion.bash
#	vfabswitchd sh<TAB> -j ra<TAB>
#	vfabswitchd --hu<TAB> 2<TAB>

_vfabswitchd() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words dir=/run/vfabric i

	# --hugepages=2M is three words to readline
	[ "$cur" != = ] || cur=
	[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD - 2]}
	case $prev in
	--hugepages)	words='2M 1G' ;;
	--allow)	words=$(compgen -u) ;;
	--dir)		mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
	-s|--size|-n|--nodes|--vectors|--stall) return ;;
	*)
		words='--size --nodes --vectors --hugepages --reserve --allow --stall --dir --json
			--help --version'
		if [[ " ${COMP_WORDS[*]:1:COMP_CWORD-1} " == *' show '* ]]; then
			for ((i = 1; i < COMP_CWORD - 1; i++)); do
				[ "${COMP_WORDS[i]}" != --dir ] || dir=${COMP_WORDS[i + 1]}
			done
			words="--json --dir $(cd "$dir" 2>/dev/null && printf '%s\n' */status | sed 's,/status$,,; /^\*$/d')"
		elif [[ $cur != -* ]]; then
			words=show
		fi ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _vfabswitchd vfabswitchd
