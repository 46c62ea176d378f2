# SPDX-License-Identifier: GPL-2.0
# The front door.  Everything is made below build/ and, where it outlives a
# checkout, in the cache folder; see README.md.

.POSIX:
.SUFFIXES:

help:
	@echo 'make run        real OpenVPN over the patched kernel: the main job'
	@echo 'make test       the tests; T=NAME for one, T=GLOB for some'
	@echo 'make test-all   with those that are slow on the debug kernel'
	@echo 'make shell      a guest with the tunnel up'
	@echo 'make check      the gate for every patch; check-all: every build'
	@echo 'make mutants    break the driver and see the tests notice; T=NAME'
	@echo 'make bench      count instructions per record, base against patched'
	@echo 'make bench-native   the same on this CPU, caches included'
	@echo 'make bench-profile  where the instructions go, by stage'
	@echo 'make bench-test     is the bench to be believed?'
	@echo 'make base       the kernel source: version and sha256'
	@echo 'make tree       assemble build/linux from base and series'
	@echo 'make export     write the commits of build/linux back to series/'
	@echo 'make series     mails under build/series, quilt queue in build/debian'
	@echo 'make kernel     build the kernels of the tests'
	@echo 'make clean      remove build/ (the cache stays)'
	@echo 'KSRC=DIR takes another kernel tree as the base.'

base:
	@rig/base.sh | { read -r id commit version sum && \
		printf '%s\nversion %s\nsha256  %s\ncommit  %s\n' \
		"$$id" "$$version" "$$sum" "$$commit"; }

root:
	@rig/root.sh

tree:
	@rig/tree.sh

export:
	@rig/export.sh

series:
	@rig/series.sh

kernel: root tree
	@for what in base patched; do rig/kernel.sh um $$what || exit; done
	@rig/kernel.sh um-debug patched

run: root tree
	@rig/run.sh

shell: root tree
	@rig/shell.sh

test: root tree
	@rig/test.sh $(T)

test-all: root tree
	@rig/test.sh all

check: root tree
	@rig/check.sh

check-all: root tree
	@rig/check.sh all

mutants: root tree
	@rig/mutants.sh $(T)

bench: root tree
	@bench/bench.sh

bench-native: root tree
	@bench/native.sh

bench-profile: root tree
	@bench/profiles.sh

bench-test: root tree
	@bench/test.sh

# tree.sh refuses if build/linux holds work that series/ has not
clean:
	@[ -n "$(FORCE)" ] || [ ! -e build/linux/.git ] || rig/tree.sh
	rm -rf build

.PHONY: help base root tree export series kernel run shell test \
	test-all check check-all mutants bench bench-native bench-profile \
	bench-test clean
