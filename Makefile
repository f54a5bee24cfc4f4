# SPDX-License-Identifier: GPL-2.0
# vfabric: a scale-up memory fabric as a kernel module, with tools.
#
#	make demo		72 endpoints in a throw-away VM: bytes, a cut, recovery
#	make demo NATIVE=1	the same on this machine's kernel (as root)
#	make demo-vms		72 endpoints in two VMs, of which one is killed
#	make quick		without root, module or VM, within a minute: the library's
#				tests, all-reduces of 72 and 576 ranks in shared memory
#	make check		every test, on the host and in VMs
#	make check-mutants	break the module line by line: does a test notice?
#	make check-kernels	build and test for each kernel: Debian's 6.1, 6.12 and newest,
#				generic and cloud, and arm64
#	make check-debug	the tests on kernels that find mistakes: KASAN, lockdep, KCSAN; coverage
#	make fuzz		parsers, then the module, by chance; SECONDS=120 for each
#	make check-fuzz		plant bugs, one at a time: does the fuzzer find them?
#	make soak		an hour of traffic, faults and churn: does anything add up?
#	make bench		measure; writes build/bench.json
#	make bench-peers	collectives against Open MPI and MPICH, which it installs (as root)
#	make help		the rest

ifneq ($(KERNELRELEASE),)
# kbuild was pointed at the top: see Kbuild
else

# kbuild and others would fail half-way, or work in another directory
refusal := $(shell sh -c '. scripts/lib.sh' make 2>&1)
ifneq ($(refusal),)
$(error $(subst make: the,the,$(refusal)))
endif

KDIR ?= /lib/modules/$(shell uname -r)/build
TEST ?=
INSTALL_MOD_PATH ?=

all: tools

help:
	@sed -n 's/^#\t//p' Makefile
	@echo 'make tools		the library and the tools, into build/tools'
	@echo 'make modules [KDIR=...]	vfabric.ko for the running kernel, or for the headers in KDIR'
	@echo 'make modules_install	that, into /lib/modules (as root)'
	@echo 'make install		library, tools, headers, man pages; PREFIX=/usr/local, DESTDIR'
	@echo 'make uninstall		removes what make install installed'
	@echo 'make dkms		register the module with DKMS (as root)'
	@echo 'make check TEST=...	some groups of tests only: scripts/check --help'
	@echo 'make clean'

demo:
	@scripts/demo $(if $(filter 1,$(NATIVE)),--native)

demo-vms:
	@scripts/demo-vms

quick:
	@scripts/quick

check:
	@scripts/check $(TEST)

check-mutants:
	@scripts/check mutants

check-kernels:
	@scripts/check kernels

check-debug:
	@scripts/check debug

SECONDS ?= 120
fuzz:
	@scripts/fuzz --host --seconds $(SECONDS)
	@scripts/fuzz --seconds $(SECONDS)

check-fuzz:
	@scripts/fuzz --plant

MINUTES ?= 60
soak:
	@scripts/soak --minutes $(MINUTES)

bench:
	@scripts/bench

bench-peers:
	@scripts/bench-peers

tools:
	@$(MAKE) --no-print-directory -C tools

kdir-check:
	@test -e "$(KDIR)/Makefile" || { echo "make: no kernel headers in $(KDIR): install linux-headers-$$(uname -r), or give KDIR=" >&2; exit 2; }

modules: kdir-check
	@$(MAKE) --no-print-directory -C $(KDIR) M=$(CURDIR)/kmod modules

# A kernel that signs its modules as they are installed does so with a key that
# its headers do not hold: unless it is there, do not try.
sign_key = $(shell sed -n 's/^CONFIG_MODULE_SIG_KEY="\(.*\)"$$/\1/p' $(KDIR)/.config 2>/dev/null)
no_sign = $(if $(wildcard $(sign_key) $(KDIR)/$(sign_key)),,CONFIG_MODULE_SIG_ALL=)

modules_install: kdir-check modules_place
	@$(MAKE) --no-print-directory modules
	@$(MAKE) --no-print-directory -C $(KDIR) M=$(CURDIR)/kmod $(no_sign) modules_install
	@PATH=$$PATH:/usr/sbin:/sbin; depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) \
		$$(modinfo -F vermagic kmod/vfabric.ko | cut -d' ' -f1)

export INSTALL_MOD_PATH
modules_place:
	@sh -c '. scripts/lib.sh; can_install INSTALL_MOD_PATH "$$INSTALL_MOD_PATH/lib/modules" INSTALL_MOD_PATH=' make

dkms:
	@scripts/dkms

install uninstall:
	@$(MAKE) --no-print-directory -C tools $@

# What kbuild leaves, too, without asking for a kernel's headers
clean:
	rm -rf build
	@rm -rf $(foreach d,. kmod,$(addprefix $(d)/,*.o *.ko *.mod *.mod.c .*.cmd .*.d .*.o .tmp_* \
		Module.symvers modules.order))

.PHONY: all help demo demo-vms quick check check-mutants check-kernels check-debug fuzz check-fuzz soak bench bench-peers tools kdir-check modules modules_place modules_install dkms install clean

endif
