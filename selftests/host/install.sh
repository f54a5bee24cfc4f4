#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# install.sh - does "make modules", "modules_install" and "install" do what they say?
#
# by example:
#
#	selftests/host/install.sh
#
# Works in a copy of the sources and installs below a directory of its own.
# Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
PATH=$PATH:/usr/sbin:/sbin
tree=$PWD
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=selftests/host/lib
. selftests/host/lib

# As a clone would be: without what was built in the tree
mkdir "$tmp/src"
cp -r Makefile Kbuild kmod uapi scripts tools Documentation COPYING LICENSES "$tmp/src/"
find "$tmp/src/kmod" \( -name '*.o' -o -name '*.ko' -o -name '*.mod*' -o -name '.*.cmd' \) -delete
(cd "$tmp/src" && find . -type f) | sort >"$tmp/sources"
unset MAKEFLAGS MFLAGS MAKELEVEL

parts=$(scripts/kernel path 6.12 --headers --release) || exit 2
{ read -r headers; read -r release; } <<<"$parts"
make -C "$tmp/src" modules KDIR="$headers" >"$tmp/modules.log" 2>&1 &&
	[ -e "$tmp/src/kmod/vfabric.ko" ]
result "make modules KDIR=" $? "$tmp/modules.log"
make -C "$tmp/src" modules KDIR=/nonexistent >"$tmp/out" 2>"$tmp/err"
[ $? = 2 ] && grep -q 'no kernel headers in /nonexistent: install ' "$tmp/err"
result "make modules without headers says what to install" $? "$tmp/err"
make -C "$tmp/src" modules_install KDIR="$headers" INSTALL_MOD_PATH="$tmp/root" >"$tmp/install.log" 2>&1 &&
	ls "$tmp/root/lib/modules/$release"/updates/vfabric.ko* >/dev/null
result "make modules_install INSTALL_MOD_PATH=" $? "$tmp/install.log"
! grep -iE 'ssl|sign' "$tmp/install.log"
result "it does not complain that it has no key to sign with" $? "$tmp/install.log"
make -C "$tmp/src" clean >"$tmp/clean.log" 2>&1 &&
	(cd "$tmp/src" && find . -type f) | sort | diff - "$tmp/sources" >>"$tmp/clean.log"
result "make clean leaves the sources, without headers" $? "$tmp/clean.log"

make -C "$tmp/src" install PREFIX=/usr DESTDIR="$tmp/root" >"$tmp/tools.log" 2>&1
result "make install DESTDIR=" $? "$tmp/tools.log"
make --no-print-directory -C "$tmp/src" install PREFIX=/usr DESTDIR="$tmp/root" >"$tmp/again.log" 2>&1 &&
	[ "$(grep -c . "$tmp/again.log")" = 1 ] && grep -q '^installed below ' "$tmp/again.log"
result "once more: nothing is built, and one line says what is there" $? "$tmp/again.log"
# Git refuses root in another's tree: no commit to name, which is no reason to build
mkdir "$tmp/nogit"
printf '#!/bin/sh\nexit 128\n' >"$tmp/nogit/git"
chmod 755 "$tmp/nogit/git"
PATH=$tmp/nogit:$PATH make -C "$tmp/src" install PREFIX="$tmp/inst" >"$tmp/again.log" 2>&1 &&
	! grep gcc "$tmp/again.log" && grep -q -- "-Wl,-rpath,$tmp/inst/lib" "$tmp/again.log"
result "another PREFIX=: how programs find the library there is said" $? "$tmp/again.log"
usr=$tmp/root/usr
for f in bin/vfabctl bin/vfabrun bin/vfabperf bin/vfabmgr bin/vfabtop bin/vfabswitchd lib/libvfab.so lib/libvfab.so.1 lib/libvfab.a \
	 lib/pkgconfig/vfab.pc include/vfab.h include/vfab_nl.h include/linux/vfabric.h \
	 include/linux/vfabric_netlink.h include/linux/vfabric_backplane.h share/bash-completion/completions/vfabctl \
	 share/bash-completion/completions/vfabrun share/bash-completion/completions/vfabperf \
	 share/bash-completion/completions/vfabmgr share/bash-completion/completions/vfabtop \
	 share/man/man1/vfabrun.1 share/man/man3/vfab_open.3 share/man/man4/vfabric.4 share/man/man5/vfabric-topology.5 \
	 share/man/man7/vfabric.7 share/man/man8/vfabmgr.8 share/man/man8/vfabtop.8 share/man/man8/vfabswitchd.8 \
	 share/bash-completion/completions/vfabswitchd lib/systemd/system/vfabswitchd@.service share/vfabric/profiles/gb200-nvl72.yaml \
	 share/vfabric/scenarios/peer-kill.yaml lib/vfabric/samples/collective; do
	[ -s "$usr/$f" ] || echo "missing: $f"
done >"$tmp/missing"
[ ! -s "$tmp/missing" ]
result "all that belongs there is installed" $? "$tmp/missing"
for tool in vfabctl vfabrun vfabperf vfabmgr vfabtop vfabswitchd; do
	"$usr/bin/$tool" --version || echo "$tool does not run"
done >"$tmp/versions" 2>&1
[ "$(sort -u "$tmp/versions" | grep -c .)" = 6 ] && ! grep -q 'does not run' "$tmp/versions"
result "the installed tools find the installed library" $? "$tmp/versions"
grep -q '^ExecStart=/usr/bin/vfabswitchd ' "$usr/lib/systemd/system/vfabswitchd@.service"
result "the service starts the installed vfabswitchd" $? "$usr/lib/systemd/system/vfabswitchd@.service"
(unset VFAB_PROFILE_PATH; cd / && "$usr/bin/vfabctl" profile check gb200-nvl72) >"$tmp/profile" 2>&1
result "and the installed profiles" $? "$tmp/profile"
(unset VFAB_SCENARIO_PATH; cd / && "$usr/bin/vfabctl" scenario check peer-kill) >"$tmp/scenario" 2>&1
result "and the installed scenarios" $? "$tmp/scenario"
ldd "$usr/lib/vfabric/samples/collective" >"$tmp/ldd" 2>&1 && ! grep 'not found' "$tmp/ldd"
result "samples find the installed library" $? "$tmp/ldd"

make -C "$tmp/src" uninstall PREFIX="$tmp/inst" >"$tmp/uninstall.log" 2>&1 &&
	find "$tmp/inst" ! -type d >>"$tmp/uninstall.log" &&
	[ "$(grep -v '^make' "$tmp/uninstall.log")" = "removed from below $tmp/inst" ]
result "make uninstall leaves no file" $? "$tmp/uninstall.log"

# A program is built the way its author would, and against either library
cat >"$tmp/prog.c" <<'END'
#include <stdio.h>
#include <vfab.h>

int main(void)
{
	puts(vfab_strerror(VFAB_ABI == 1 ? -16 : 0));
	return 0;
}
END
pc() {
	PKG_CONFIG_PATH=$usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$tmp/root pkg-config "$@" vfab
}
# shellcheck disable=SC2046 # flags are words
gcc -Wall -Werror $(pc --cflags) -o "$tmp/dynamic" "$tmp/prog.c" $(pc --libs) >"$tmp/cc.log" 2>&1 &&
	LD_LIBRARY_PATH=$usr/lib "$tmp/dynamic" | grep -q 'another process holds the rank'
result "a program links through pkg-config" $? "$tmp/cc.log"
# shellcheck disable=SC2046
awk '/^    #include/ { on = 1 } /^[^ ]/ { on = 0 } on' README.md >"$tmp/hello.c" &&
	gcc -Wall -Werror $(pc --cflags) -o "$tmp/hello" "$tmp/hello.c" $(pc --libs) >"$tmp/cc.log" 2>&1 &&
	LD_LIBRARY_PATH=$usr/lib VFAB_DOMAIN=none "$tmp/hello" 2>&1 | grep -q /dev/vfabric
result "the program of README.md" $? "$tmp/cc.log"
# shellcheck disable=SC2046
gcc -Wall -Werror $(pc --cflags) -o "$tmp/static" "$tmp/prog.c" "$usr/lib/libvfab.a" -lmnl -lpthread \
	>"$tmp/cc.log" 2>&1 && "$tmp/static" | grep -q 'another process holds the rank'
result "and with the static library" $? "$tmp/cc.log"

# Found by name, as installed: the links to pages of several functions too
if command -v man >/dev/null; then
	for page in $(sed -n 's/^\t\(vfab_[a-z_]*\);$/\1/p' "$tree/tools/lib/libvfab.map") libvfab vfabric vfabric-topology vfabrun vfabctl vfabperf vfabmgr vfabswitchd; do
		MANPATH=$usr/share/man man -w "$page" >/dev/null 2>&1 &&
			[ "$(MANPATH=$usr/share/man MANWIDTH=80 man -P cat "$page" 2>/dev/null | wc -l)" -gt 20 ] ||
			echo "man $page: nothing"
	done >"$tmp/pages"
	[ ! -s "$tmp/pages" ]
	result "man finds each page by each name" $? "$tmp/pages"
else
	count=$((count + 1))
	echo "ok $count - man finds each page by each name # SKIP man is not installed"
fi
echo "1..$count"
exit "$failed"
