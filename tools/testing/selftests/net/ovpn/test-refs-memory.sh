#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A peer and a key are set up with each allocation failing in turn, until one
# attempt gets by without a failure. What a failure leaves behind is for the
# kernel's own detectors to find. Needs fault injection.

source ../../kselftest/ktap_helpers.sh

DEBUGFS=/sys/kernel/debug

# GFP_KERNEL may fail as well, and nothing is printed about it
allow() {
	local dir="${DEBUGFS}/$1"

	[ -w "${dir}/ignore-gfp-wait" ] || return
	echo N > "${dir}/ignore-gfp-wait" && echo 0 > "${dir}/verbose"
}

ktap_print_header
modprobe -q ovpn
if ! allow failslab || ! allow fail_page_alloc; then
	ktap_skip_all "no fault injection here"
	exit "${KSFT_SKIP}"
fi

ktap_set_plan 2
for mode in P2P MP; do
	if out=$(unshare --net ./refs-storm memory 2 "${mode}" 2>&1); then
		ktap_test_pass "${mode}"
	else
		ktap_test_fail "${mode}"
	fi
	ktap_print_msg "${mode}: ${out//$'\n'/, }"
done
ktap_finished
