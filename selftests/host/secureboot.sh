#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# secureboot.sh - what do lockdown and UEFI Secure Boot make of the module?
#
# by example:
#
#	selftests/host/secureboot.sh
#
# In VMs with Debian's stock kernel, locked down by its command line, told to take
# signed modules only, and started by UEFI with Secure Boot, where the keys of the
# firmware are OVMF's for tests. That part is skipped unless ovmf and sbsigntool are
# installed. Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=selftests/host/lib
. selftests/host/lib

# In the guest: what insmod says of each module, and of what was loaded its taint
if [ "${1:-}" = inside ]; then
	mount -t securityfs none /sys/kernel/security
	echo "lockdown: $(cat /sys/kernel/security/lockdown)"
	shift
	for ko; do
		if insmod "$ko" 2>/dev/null; then
			echo "${ko##*/}: loaded, taint $(cat /sys/module/vfabric/taint)"
			build/tools/vfabctl domain create sb --size 4 >/dev/null &&
				build/tools/vfabctl domain delete sb && rmmod vfabric &&
				echo "${ko##*/}: works"
		else
			echo "${ko##*/}: $(dmesg | grep -oE 'unsigned module loading is restricted|Loading of .* is rejected' | tail -n 1)"
		fi
	done
	exit 0
fi

kernel=6.12
tmp=$PWD/build/secureboot
rm -rf "$tmp"
mkdir -p "$tmp"
log=$tmp/out
ko=$(scripts/kernel build "$kernel" -- -s) || exit 2
cp "$ko" "$tmp/unsigned.ko"

# vm NAME OPTION... -- MODULE...
vm() {
	local name=$1 options=()

	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	scripts/vm run --no-module --kernel "$kernel" --name "secureboot-$name" "${options[@]}" -- \
		selftests/host/secureboot.sh inside "$@" >"$log" 2>&1
}

# says LINE...: all of them are in the log
says() {
	local line

	for line; do
		grep -qxF -e "$line" "$log" || return
	done
}

# A key of nobody's, and the firmware's for tests
sign_file=$(ls "$(scripts/kernel path "$kernel" --headers)"/../../lib/linux-kbuild-*/scripts/sign-file)
openssl req -new -x509 -newkey rsa:2048 -nodes -subj "/CN=nobody" -days 2 \
	-keyout "$tmp/nobody.key" -out "$tmp/nobody.pem" 2>/dev/null
cp "$ko" "$tmp/nobody.ko"
"$sign_file" sha256 "$tmp/nobody.key" "$tmp/nobody.pem" "$tmp/nobody.ko"
result "a module can be signed" $?

vm plain -- "$tmp/unsigned.ko" "$tmp/nobody.ko" &&
	says 'lockdown: [none] integrity confidentiality' \
		'unsigned.ko: loaded, taint OE' 'nobody.ko: loaded, taint OE' \
		'unsigned.ko: works' 'nobody.ko: works'
result "without lockdown any is loaded, and taints" $? "$log"

vm lockdown --append lockdown=integrity -- "$tmp/unsigned.ko" "$tmp/nobody.ko" &&
	says 'lockdown: none [integrity] confidentiality' \
		'unsigned.ko: unsigned module loading is restricted' \
		'nobody.ko: unsigned module loading is restricted'
result "lockdown=integrity refuses it, unsigned or of an unknown key" $? "$log"

vm enforce --append module.sig_enforce=1 -- "$tmp/unsigned.ko" "$tmp/nobody.ko" &&
	says 'lockdown: [none] integrity confidentiality' \
		'unsigned.ko: Loading of unsigned module is rejected' \
		'nobody.ko: Loading of module with unavailable key is rejected'
result "so does module.sig_enforce=1" $? "$log"

firmware=/usr/share/OVMF
if [ ! -e $firmware/OVMF_VARS_4M.snakeoil.fd ] || ! command -v sbsign >/dev/null; then
	count=$((count + 1))
	echo "ok $count - with Secure Boot a key that the firmware has is enough # SKIP ovmf and sbsigntool are not installed"
	echo "1..$count"
	exit "$failed"
fi

# OVMF's key for tests: in its list of keys (db), as one's own would be
openssl rsa -in /usr/share/ovmf/PkKek-1-snakeoil.key -passin pass:snakeoil -out "$tmp/db.key" 2>/dev/null
cp /usr/share/ovmf/PkKek-1-snakeoil.pem "$tmp/db.pem"
cp "$ko" "$tmp/db.ko"
"$sign_file" sha256 "$tmp/db.key" "$tmp/db.pem" "$tmp/db.ko"
vmlinux=$(scripts/kernel path "$kernel" --vmlinux)
sbsign --key "$tmp/db.key" --cert "$tmp/db.pem" --output "$tmp/vmlinuz" "${vmlinux/vmlinux/vmlinuz}" \
	>"$tmp/sbsign.log" 2>&1
result "a kernel can be signed" $? "$tmp/sbsign.log"

# scripts/vm starts a kernel without firmware: let QEMU have some
cat >"$tmp/qemu" <<-EOF
	#!/bin/bash
	[[ " \$* " != *" --version "* ]] || exec qemu-system-x86_64 "\$@"
	cp $firmware/OVMF_VARS_4M.snakeoil.fd $tmp/vars
	args=()
	for a; do
		case \$a in
		q35) a=q35,smm=on ;;
		$vmlinux) a=$tmp/vmlinuz ;;
		esac
		args+=("\$a")
	done
	exec qemu-system-x86_64 "\${args[@]}" -global driver=cfi.pflash01,property=secure,value=on \\
		-drive if=pflash,unit=0,format=raw,readonly=on,file=$firmware/OVMF_CODE_4M.secboot.fd \\
		-drive if=pflash,unit=1,format=raw,file=$tmp/vars
EOF
chmod +x "$tmp/qemu"
VFABRIC_BOOT_TIMEOUT=300 VFABRIC_QEMU=$tmp/qemu \
	vm efi -- "$tmp/unsigned.ko" "$tmp/nobody.ko" "$tmp/db.ko" &&
	grep -qa 'EFI stub: UEFI Secure Boot is enabled' build/vm-out/secureboot-efi/console.log &&
	says 'lockdown: none [integrity] confidentiality' \
		'unsigned.ko: Loading of unsigned module is rejected' \
		'nobody.ko: Loading of module with unavailable key is rejected' \
		'db.ko: loaded, taint O' 'db.ko: works'
result "with Secure Boot a key that the firmware has is enough" $? "$log"
echo "1..$count"
exit "$failed"
