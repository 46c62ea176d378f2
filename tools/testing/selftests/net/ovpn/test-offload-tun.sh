#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A TUN device on gw_a stands for a virtual machine: who writes to it leaves the
# checksums to others and claims segment sizes that nobody may trust.  All of it
# is forwarded into the tunnel; how many segments of which payload arrive is
# known beforehand.
#
# Topology and oracle: offload-common.sh

source ./offload-common.sh

INJECT_SKIP=""

tun_add() {
	ip -n "${gw_a}" tuntap add dev vm0 mode tun vnet_hdr
	defer ip -n "${gw_a}" link del vm0
	ofl_up gw_a vm0 10.3.0.1/24 fd03::1/64
	# room for whatever is injected
	ip -n "${gw_a}" link set vm0 mtu 65535
}

inject_one() {
	local src=10.3.0.2 dst="${OFL_ADDR[fwd$1]}" family="$1"

	shift
	[ "${family}" = 6 ] && src=fd03::2
	ofl_in gw_a ./tun-inject "${@:1:$#-2}" vm0 "${@: -2:1}" "${src}" \
		"${dst}" "${@: -1}" ||
		ofl_fail "tun-inject $* over IPv${family}"
}

# inject LENGTHS SIZES OPTION...: TCP and UDP of both families, and count what
# has to come out: each packet with the segment size that was claimed for it
inject() {
	local lengths="$1" sizes="$2" family len size segment

	shift 2
	INJECT_BYTES=0
	INJECT_TCP=0
	INJECT_UDP=0
	for family in 4 6; do
		for len in ${lengths}; do
			for size in ${sizes}; do
				segment=${size}
				[ "${size}" -gt 0 ] || segment=65536
				inject_one "${family}" -g "${size}" "$@" \
					udp "${len}"
				INJECT_UDP=$((INJECT_UDP +
					(len + segment - 1) / segment))
				INJECT_BYTES=$((INJECT_BYTES + len))
				[ "${INJECT_SKIP}" = "tcp${family}" ] &&
					continue
				inject_one "${family}" -g "${size}" "$@" \
					tcp "${len}"
				# what a TCP sender gets away with
				[ "${segment}" -ge 8 ] || segment=8
				INJECT_TCP=$((INJECT_TCP +
					(len + segment - 1) / segment))
				INJECT_BYTES=$((INJECT_BYTES + len))
			done
		done
	done
}

# inject_checked LENGTHS SIZES OPTION...
inject_checked() {
	tun_add
	ofl_checked "" inject "$@"
	# answers to stray segments come back and carry no payload
	[ "${OFL_B[tcp]}" = "${INJECT_TCP}" ] ||
		ofl_fail "${OFL_B[tcp]} of ${INJECT_TCP} TCP segments"
	[ "${OFL_B[udp]}" = "${INJECT_UDP}" ] ||
		ofl_fail "${OFL_B[udp]} of ${INJECT_UDP} UDP datagrams"
	[ "${OFL_B[payload]}" = "${INJECT_BYTES}" ] ||
		ofl_fail "${OFL_B[payload]} of ${INJECT_BYTES} bytes"
}

# segments longer than the tunnel's MTU may be: fragments are what is right
inject_oversize() {
	tun_add
	ofl_checked "frag=60" inject_oversize_run
}

inject_oversize_run() {
	inject_one 4 -g 3000 tcp 30000
	inject_one 4 -g 3000 udp 30000
	inject_one 4 -g 0 udp 3000
}

tun_drops() {
	ofl_in gw_a cat /sys/class/net/tun0/statistics/tx_dropped
}

# a checksum that would be written over the address which chose the peer
inject_into_header() {
	local drops

	ofl_need tx-checksum-ip-generic || return 0
	tun_add
	drops=$(tun_drops)
	inject_one 6 -S 24 udp 100
	# shellcheck disable=SC2016 # evaluated on each turn
	busywait 5000 eval '[ "$(tun_drops)" -gt '"${drops}"' ]' ||
		ofl_fail "it was not dropped"
}

ofl_begin 11
ofl_case "set up" ofl_setup_case "${OVPN_ALG}" 4
ofl_case "many segment sizes" \
	inject_checked "1401 20001 60000" "536 1000 1340"
ofl_case "tiny segments" inject_checked "100" "1 7 9"
ofl_case "segment size beyond the packet" inject_checked "1000" "1340"
ofl_case "checksum only" inject_checked "1 2 99 1300" "0"
ofl_case "options, checksum only" inject_checked "1 1300" "0" -x
# the core drops forwarded TCP GSO behind an IPv6 extension header, because it
# looks for the TCP header right after the fixed header
INJECT_SKIP=tcp6
ofl_case "options" inject_checked "9001 60000" "1300" -x
INJECT_SKIP=""
ofl_case "headers alone are linear" inject_checked "60000" "1200" -H 60
ofl_case "segments beyond the MTU" inject_oversize
ofl_case "checksum inside the IPv6 header" inject_into_header

ktap_finished
