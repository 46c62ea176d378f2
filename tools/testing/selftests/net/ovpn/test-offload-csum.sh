#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A device that takes packets with their checksums left to it completes every
# one of them before it encrypts.  What the far end decrypts is checked, for
# each protocol, from local sockets and from hosts behind the gateway, which
# hand over CHECKSUM_PARTIAL packets across a veth (mode WHOLE).
#
# Topology and oracle: offload-common.sh

source ./offload-common.sh

OUTER=${OUTER:-4}

# both families, one after the other
both() {
	local family

	for family in 4 6; do
		"$1" "$2" "${family}" "${@:3}" ||
			ofl_fail "$1 $2 over IPv${family}"
	done
}

tcp_bulk() {
	ofl_stream TCP "$1" "$2" random
}

tcp_small() {
	ofl_stream TCP "$1" "$2" small
}

udp_single() {
	local full=$((1400 - 28))

	[ "$2" = 6 ] && full=$((1400 - 48))
	ofl_udp "$1" "$2" 60 $((10 * (0 + 1 + 2 + 99 + 1000 + full))) "" \
		-n 10 0 1 2 99 1000 "${full}"
}

udp_options() {
	ofl_udp "$1" "$2" 30 $((10 * (1 + 100 + 1001))) "" -x -n 10 1 100 1001
}

udp_gso() {
	# the last datagram of each batch is shorter, and odd
	ofl_udp "$1" "$2" 320 $((10 * 39701)) "" -g 1250 -n 10 39701
}

sctp() {
	ofl_stream SCTP "$1" "$2" medium
}

icmp() {
	local size from

	from=$(ofl_sender "$1")
	for size in 0 1 8 57 1000 1343 3001; do
		ofl_in "${from}" ping -q -c 3 -i 0.01 -W 10 -s "${size}" \
			"${OFL_ADDR[$1$2]}" >/dev/null || return
	done
}

offered() {
	ofl_need tx-checksum-ip-generic
	return 0
}

ofl_begin 17

on="${OVPN_ALG} over IPv${OUTER}"
ofl_case "${on}: set up" ofl_setup_case "${OVPN_ALG}" "${OUTER}"
ofl_case "${on}: checksum offload is offered" offered
for where in local fwd; do
	ofl_case "${on}, WHOLE: ${where} bulk TCP" \
		ofl_checked "tcp=3000" both tcp_bulk "${where}"
	ofl_case "${on}, WHOLE: ${where} one small TCP segment" \
		ofl_checked "tcp=12" both tcp_small "${where}"
	ofl_case "${on}, WHOLE: ${where} UDP of several sizes" \
		ofl_checked "udp=120" both udp_single "${where}"
	ofl_case "${on}, WHOLE: ${where} UDP, IP options" \
		ofl_checked "udp=60" both udp_options "${where}"
	ofl_case "${on}, WHOLE: ${where} UDP GSO" \
		ofl_checked "udp=640" both udp_gso "${where}"
	ofl_case "${on}, WHOLE: ${where} SCTP" \
		ofl_checked "sctp=800" both sctp "${where}"
	ofl_case "${on}, WHOLE: ${where} ICMP of several sizes" \
		ofl_checked "icmp=36 icmp6=36 frag=30" both icmp "${where}"
done

ktap_finished
