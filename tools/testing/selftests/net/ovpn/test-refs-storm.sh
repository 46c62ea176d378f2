#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Peers and keys end in all the ways there are while traffic goes through them
# in both directions. refs-storm.c has the topology and the ways, and checks
# that what has ended is not found any more; what is left behind or freed too
# early is for the kernel's own detectors to find.
#
# REFS_ROUNDS	rounds of each way; more of them on a debug kernel are for
#		those who change lifetimes
# REFS_ASYNC	template of an AEAD that completes later (cryptd, pcrypt)

source ../../kselftest/ktap_helpers.sh

ROUNDS=${REFS_ROUNDS:-12}
FORCE=./crypto-force
AEADS="gcm(aes) rfc7539(chacha20,poly1305)"
DRIVERS=()

# one that needs what this kernel has not exits with the code of a skip
storm() {
	local name="$1 ($3)" out rc

	out=$(unshare --net ./refs-storm "$@" 2>&1)
	rc=$?
	[ -z "${out}" ] || ktap_print_msg "${name}: ${out//$'\n'/, }"
	case ${rc} in
	0) ktap_test_pass "${name}" ;;
	"${KSFT_SKIP}") ktap_test_skip "${name}" ;;
	*) ktap_test_fail "${name}" ;;
	esac
}

async_begin() {
	local aead driver

	[ -n "${REFS_ASYNC}" ] || return 0
	for aead in ${AEADS}; do
		if ! driver=$("${FORCE}" force "${REFS_ASYNC}" "${aead}" 2>&1)
		then
			async_end
			ktap_skip_all "no ${REFS_ASYNC} here: ${driver}"
			exit "${KSFT_SKIP}"
		fi
		DRIVERS+=("${driver}")
	done
}

# they only go when no key refers to them any more
async_end() {
	local driver rc=0

	for driver in "${DRIVERS[@]}"; do
		"${FORCE}" drop "${driver}" || rc=1
	done
	return "${rc}"
}

ktap_print_header
modprobe -q ovpn
async_begin
if [ -n "${REFS_ASYNC}" ]; then
	ktap_set_plan 14
else
	ktap_set_plan 13
fi

for mode in P2P MP; do
	storm netlink "${ROUNDS}" "${mode}"
	# a second and more per round
	storm keepalive $(((ROUNDS + 3) / 4)) "${mode}"
	storm close "${ROUNDS}" "${mode}"
	storm device "${ROUNDS}" "${mode}"
	storm netns "${ROUNDS}" "${mode}"
	storm race "${ROUNDS}" "${mode}"
done
storm exhaustion "${ROUNDS}" P2P

if [ -n "${REFS_ASYNC}" ]; then
	if async_end; then
		ktap_test_pass "keys gone"
	else
		ktap_test_fail "keys gone"
	fi
fi
ktap_finished
