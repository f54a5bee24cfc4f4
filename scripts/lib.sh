# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
# Functions shared by the scripts in this directory. By example:
#
#	here=$(cd "$(dirname "$0")" && pwd)
#	. "$here/lib.sh"
#	say "unpacking"                       # "kernel: unpacking" on stderr
#	die 2 "no such file: give another"    # the same, and exit 2
#	work "downloading" apt-get update     # shows that it is alive; its output only if it fails
#
# Everything said goes to stderr: stdout belongs to the caller's data.

me=${0##*/}

# A user's PATH lacks the directories of depmod, modprobe and ip.
PATH=$PATH:/usr/sbin:/sbin

# What a kernel prints when something is wrong with it (scripts/vm, scripts/uml).
# Not what kmemleak says to who asks it (selftests/run.sh).
# shellcheck disable=SC2034 # used there
kernel_complaints='\bBUG\b|WARNING: |cut here|\bOops\b|general protection fault[,:]|Kernel panic|possible (recursive|circular) locking|possible irq lock inversion|inconsistent lock state|suspicious RCU usage|INFO: task .* blocked for more than|INFO: trying to register non-static key|rcu.*(detected (expedited )?stalls|self-detected stall)|soft lockup|hard LOCKUP|refcount_t: |KASAN: |KCSAN: |KFENCE: |UBSAN: |Bad page state|sleeping function called from invalid|scheduling while atomic|ODEBUG: |list_(add|del) corruption|unable to handle (page fault|kernel)|DEBUG_LOCKS_WARN_ON|Invalid wait context|bad unlock balance|held lock freed|Voluntary context switch within RCU|unregister_netdevice: waiting for|still has objects|cannot create duplicate filename|kobject: .*(tried to|does not have a release)'

say() {
	printf '%s: %s\n' "$me" "$*" >&2
}

die() {
	die_status=$1
	shift
	say "$*"
	exit "$die_status"
}

# plain_path PATH: one that make, kbuild, the shell and QEMU all take as it is
plain_path() {
	case $1 in
	''|*[!A-Za-z0-9_./+@-]*) return 1 ;;
	esac
}

plain_words="letters, digits and _ . / + @ -"

# Before anything is done. Who has not set "here" is in the tree.
plain_path "${here:-$PWD}" ||
	die 2 "the path '$(dirname "${here:-$PWD/.}")' cannot be used by make, kbuild and QEMU: move the tree to one of $plain_words"

# The comment that opens a script is its help.
usage_from_header() {
	sed -n '1d; /^#/!q; /SPDX-License/d; s/^# \{0,1\}//; p' "$0"
}

# Where downloaded things live; needs no root and survives "make clean".
cache_dir() {
	[ -n "${VFABRIC_CACHE:-}${XDG_CACHE_HOME:-}${HOME:-}" ] ||
		die 2 "no place to keep downloads: set HOME or VFABRIC_CACHE"
	cache_dir=${VFABRIC_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/vfabric}
	case $cache_dir in
	/*) ;;
	*) die 2 "cache directory '$cache_dir': set VFABRIC_CACHE to an absolute path" ;;
	esac
	plain_path "$cache_dir" ||
		die 2 "cache directory '$cache_dir': make, kbuild and QEMU cannot use this path, set VFABRIC_CACHE to one of $plain_words"
	mkdir -p "$cache_dir" 2>/dev/null ||
		die 2 "cannot create $cache_dir: set VFABRIC_CACHE to a directory that you can write"
}

# can_install NAME DIR HINT [ROOT]: DIR, which the variable NAME says, may be
# installed into, below ROOT
can_install() {
	case $2 in
	/*) plain_path "$2" ;;
	*) false ;;
	esac || die 2 "$1 '$2' cannot be installed into: give an absolute path of $plain_words"
	place=${4:-}$2
	while [ ! -e "$place" ]; do
		place=$(dirname "$place")
	done
	[ -w "$place" ] || die 2 "installing into ${4:-}$2 needs root, or give $3"
}

# can_be_loaded DIR: programs find the library in DIR, or it is said how
can_be_loaded() {
	[ "$(id -u)" != 0 ] || ldconfig
	ldconfig -p | grep -q " $1/libvfab.so.1\$" ||
		echo "programs find libvfab.so.1 if they are linked with -Wl,-rpath,$1"
}

# need_space DIR MB WHAT
need_space() {
	free_mb=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
	[ "$free_mb" -ge "$2" ] ||
		die 2 "$3 needs $2 MB but $1 has $free_mb MB free: make room there${4:+, or $4}"
}

# need_command COMMAND...
need_command() {
	for tool; do
		command -v "$tool" >/dev/null 2>&1 ||
			die 2 "$tool is not installed: run 'scripts/deps install' as root"
	done
}

# work TEXT COMMAND...: run something long. Says TEXT, again every 15 s, and
# shows the command's output only if it fails.
work() {
	work_text=$1
	shift
	work_log=$(mktemp)
	say "$work_text"
	"$@" >"$work_log" 2>&1 </dev/null &
	work_pid=$!
	(
		trap 'kill "$nap" 2>/dev/null; exit' TERM
		t=0
		while :; do
			sleep 15 >/dev/null 2>&1 &
			nap=$!
			wait "$nap"
			t=$((t + 15))
			say "$work_text: still busy after $t s"
		done
	) &
	work_ticker=$!
	work_status=0
	wait "$work_pid" || work_status=$?
	kill "$work_ticker" 2>/dev/null || :
	wait "$work_ticker" 2>/dev/null || :
	if [ "$work_status" != 0 ]; then
		offline_in "$work_log"
		sed "s/^/$me: | /" "$work_log" >&2
	fi
	rm -f "$work_log"
	return "$work_status"
}

# Ends with one sentence if apt's output in FILE says that there is no network.
offline_in() {
	offline_why=$(grep -m 1 -oE '(Temporary failure|Could not|Unable to) (resolv|connect)[^(]*' "$1") ||
		return 0
	rm -f "$1"
	die 2 "no network (apt: ${offline_why%% }): connect this machine or mend its apt sources, then run this again"
}
