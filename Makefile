# SPDX-License-Identifier: GPL-2.0
# vfabric: a scale-up memory fabric as a kernel module, with tools.
#
#	make demo		72 endpoints in a throw-away VM: bytes, a cut, recovery
#	make demo NATIVE=1	the same on this machine's kernel (as root)
#	make check		every test, on the host and in VMs
#	make check-mutants	break the module line by line: does a test notice?
#	make bench		measure; writes build/bench.json
#	make help		the rest

ifneq ($(KERNELRELEASE),)
# kbuild was pointed at the top: see Kbuild
else

KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
TEST ?=

all: tools

help:
	@sed -n 's/^#\t//p' Makefile
	@echo 'make tools		the library and the tools, into build/tools'
	@echo 'make modules [KDIR=...]	vfabric.ko for the running kernel, or for the headers in KDIR'
	@echo 'make modules_install	that, into /lib/modules (as root)'
	@echo 'make install		library, tools, headers, man pages; PREFIX=$(PREFIX), DESTDIR'
	@echo 'make dkms		register the module with DKMS (as root)'
	@echo 'make check TEST=...	one group of tests only: scripts/check --help'
	@echo 'make clean'

demo:
	@scripts/demo $(if $(filter 1,$(NATIVE)),--native)

check:
	@scripts/check $(TEST)

check-mutants:
	@scripts/check mutants

bench:
	@scripts/bench

tools:
	@$(MAKE) --no-print-directory -C tools

kdir-check:
	@test -e $(KDIR)/Makefile || { echo "make: no kernel headers in $(KDIR): install linux-headers-$$(uname -r), or give KDIR=" >&2; exit 2; }

modules: kdir-check
	@$(MAKE) --no-print-directory -C $(KDIR) M=$(CURDIR)/kmod modules

modules_install: modules
	@$(MAKE) --no-print-directory -C $(KDIR) M=$(CURDIR)/kmod modules_install
	depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $$(modinfo -F vermagic kmod/vfabric.ko | cut -d' ' -f1)

dkms:
	@scripts/dkms

install: tools
	@$(MAKE) --no-print-directory -C tools install PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)

clean:
	rm -rf build
	@! test -e $(KDIR)/Makefile || $(MAKE) -s -C $(KDIR) M=$(CURDIR)/kmod clean

.PHONY: all help demo check check-mutants bench tools kdir-check modules modules_install dkms install clean

endif
