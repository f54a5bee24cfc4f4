# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Kernels built from Debian's linux-source, for scripts/uml and scripts/kernel.
# By example:
#
#	here=$(cd "$(dirname "$0")" && pwd)
#	. "$here/lib.sh"
#	. "$here/linux.sh"
#	cache_dir
#	linux_config base.config more.config	# what is asked for, to stdout
#	linux_make=(make ARCH=um)
#	linux_build TO NAME CONFIG-FILE... -- TARGET...
#
# linux_build leaves in TO what building modules takes, and what the function
# linux_keep, which the caller defines, puts there: it is called in the built
# tree, with TO-to-be as its argument. So is linux_patch, before the build, in
# the fresh tree. Nothing is done if TO was built with the same configuration.

linux_package=linux-source-6.12

# Of two lines for one option the last counts. Comments and order do not.
linux_config() {
	cat "$@" | tac | awk -F= '/^CONFIG_/ && !seen[$1]++' | sort
}

linux_complete() {
	local to=$1

	shift
	[ -e "$to/.vfabric-config" ] &&
		cmp -s <(linux_config "$@") <(linux_config "$to/.vfabric-config")
}

linux_version() {
	echo "$(cat "$1/include/config/kernel.release") ($linux_package $(cat "$1/.vfabric-version"))"
}

# Only what goes into these kernels.
linux_unpack() {
	dpkg-deb --fsys-tarfile "$1"/*.deb | tar -xOf - "./usr/src/$linux_package.tar.xz" | xz -dc |
		tar -x -C "$1/k" --strip-components=1 --no-same-owner --anchored --wildcards \
			--exclude="$linux_package/Documentation/*/*" \
			--exclude="$linux_package/arch/*/boot/dts" \
			--exclude="$linux_package/drivers/gpu/drm/amd/include" \
			--exclude="$linux_package/tools/perf" \
			--exclude="$linux_package/tools/testing"
}

linux_apt_download() {
	cd "$1" && apt-get -q -o APT::Sandbox::User=root download "$linux_package"
}

# The archives that scripts/kernel uses have the package, whatever the system's
# own lists hold.
linux_download() {
	local conf

	if apt-get -qq download --print-uris "$linux_package" >/dev/null 2>&1; then
		work "downloading $linux_package (150 MB)" linux_apt_download "$1" && return
	fi
	"$here/kernel" path 6.12 --release >/dev/null || exit 2
	conf=$cache_dir/apt/bookworm/apt.conf
	APT_CONFIG=$conf work "downloading $linux_package (150 MB)" linux_apt_download "$1" ||
		die 2 "cannot download $linux_package (above): check the network, run 'apt-get update' as root, then try again"
}

linux_compile() {
	cd "$1" && shift && "${linux_make[@]}" -j"$(nproc)" "$@" modules_prepare
}

# Of 1 GB of sources and objects, some 75 MB are kept. In the tree.
linux_prune() {
	# modules_prepare leaves no Module.symvers without modules: vmlinux's is it.
	[ -s Module.symvers ] || cp vmlinux.symvers Module.symvers
	find . -mindepth 1 -maxdepth 1 ! -name Makefile ! -name Kbuild ! -name Kconfig \
		! -name .config ! -name Module.symvers ! -name include ! -name scripts \
		! -name arch -exec rm -rf {} +
	find arch -mindepth 1 -maxdepth 1 ! -name um ! -name x86 -exec rm -rf {} +
	find arch scripts include -type f \( -name '*.c' -o -name '*.o' -o -name '*.S' \
		-o -name '*.a' -o -name '.*.cmd' \) ! -path 'scripts/module-common.c' \
		! -name module.lds.S -delete
	find . -xtype l -delete
	find . -type d -empty -delete
}

# The sources in DIR/k, as the last build left them if it was ended halfway.
linux_start() {
	local dir=$1 what=$2

	shift 2
	if [ -e "$dir/unpacked" ] && linux_config "$@" | cmp -s - "$dir/config"; then
		say "going on with a build that was ended"
		return
	fi
	need_space "$cache_dir" 2500 "building $what" "set VFABRIC_CACHE"
	rm -rf "$dir"
	mkdir -p "$dir/k"
	linux_download "$dir"
	work "unpacking" linux_unpack "$dir" ||
		die 2 "$linux_package cannot be unpacked (above): make room in $cache_dir and try again"
	dpkg-deb -f "$dir"/*.deb Version >"$dir/version"
	rm -f "$dir"/*.deb
	(cd "$dir/k" && linux_patch) ||
		die 2 "$linux_package has changed: correct linux_patch in scripts/$me"
	linux_config "$@" >"$dir/config"
	: >"$dir/unpacked"
}

linux_build() {
	local to=$1 what=$2 configs=() tmp line

	shift 2
	while [ "$1" != -- ]; do
		configs+=("$1")
		shift
	done
	shift
	! linux_complete "$to" "${configs[@]}" || return 0
	# A make that called us has nothing to say about this one.
	unset MAKEFLAGS MFLAGS MAKELEVEL
	need_command apt-get dpkg-deb tar xz make gcc-12
	for tool in flex bison bc; do
		command -v "$tool" >/dev/null ||
			die 2 "$tool is not installed: run 'apt-get install flex bison bc' as root"
	done
	exec 9>"$cache_dir/.linux.lock"
	if ! flock -n 9; then
		say "waiting for another build to end"
		flock 9
		if linux_complete "$to" "${configs[@]}"; then
			exec 9>&-
			return 0
		fi
	fi
	tmp=$cache_dir/.linux.${to##*/}
	linux_start "$tmp" "$what" "${configs[@]}"
	(cd "$tmp/k" && "${linux_make[@]}" KCONFIG_ALLCONFIG="$tmp/config" allnoconfig) >"$tmp/log" 2>&1 || {
		cat "$tmp/log" >&2
		die 2 "the kernel cannot be configured (above): look at ${configs[*]#"$here/"}"
	}
	while read -r line; do
		case $line in
		CONFIG_*=n) ! grep -q "^${line%n}" "$tmp/k/.config" || say "note: $linux_package does not take $line" ;;
		CONFIG_*) grep -qxF "$line" "$tmp/k/.config" || say "note: $linux_package does not take $line" ;;
		esac
	done <"$tmp/config"
	work "compiling $what (5 to 40 minutes)" linux_compile "$tmp/k" "$@" ||
		die 2 "$what does not build (above)"
	rm -rf "$tmp/kept" "$tmp/unpacked"
	mkdir "$tmp/kept"
	(cd "$tmp/k" && linux_keep "$tmp/kept" && linux_prune) ||
		die 2 "$what was built, but cannot be kept (above)"
	mv "$tmp/kept"/* "$tmp/k/"
	cp "$tmp/version" "$tmp/k/.vfabric-version"
	cp "$tmp/config" "$tmp/k/.vfabric-config"
	rm -rf "$to"
	mkdir -p "${to%/*}"
	mv "$tmp/k" "$to"
	rm -rf "$tmp"
	exec 9>&-
	say "$what $(linux_version "$to") is in place"
}
