#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/test.sh [bench|nicpair]: make bench-test.  Is the bench to be believed?
# "bench" takes readings of faults to order in QEMU; "nicpair" tests the NIC pair
# and the AEAD loop in a guest that finds faults (flavour um-bench), and the judge of
# the rig looks at what that has left behind.

. "$(dirname "$0")/../rig/lib.sh"

[ -d "$TREE/.git" ] || die "no kernel tree yet: run make tree"
results=$BUILD/results/bench-test
failed=''

# tap NAME: judge the TAP of a test
tap() {
	"$RIG/in-root" prove --nocolor -Q -e cat \
		"/ovpn/build/results/bench-test/$1/output.log" >&2 &&
		return
	grep '^not ok' "$results/$1/output.log" || :
	failed="$failed $1"
}

for test in ${1:-bench nicpair}; do
	out=$results/$test
	rm -rf "$out"
	mkdir -p "$out"
	case $test in
	bench)	"$TOP/bench/tests/bench.sh" > "$out/output.log" || : ;;
	nicpair)
		kernel=$("$RIG/kernel.sh" um-bench patched)
		"$RIG/guest/boot.sh" -k "$kernel" -t 1800 -o "$out" -- \
			sh /ovpn/bench/tests/nicpair.sh ||
			failed="$failed $test"
		;;
	*)	die "no such test: $test (bench, nicpair)" ;;
	esac
	tap "$test"
done
[ -z "$failed" ] || die "failed:$failed"
