#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Batches on transmit against single records, on each kind of wire: the same
# data is sent with batching on and off, and both times the same packets have
# to be in the records, in the same order, and the same files have to arrive.
#
# Topology, veth modes (of the wan here) and oracles: batch-common.sh

source ./batch-common.sh

# 10 times 31 datagrams of 1250 bytes and one of 951
UDP_BYTES=$((10 * 39701))

udp() {
	bat_udp local 4 "${UDP_BYTES}" -g 1250 -n 10 39701 &&
	bat_udp local 6 "${UDP_BYTES}" -g 1250 -n 10 39701 &&
	bat_udp fwd 4 "${UDP_BYTES}" -g 1250 -n 10 39701 &&
	bat_udp fwd 6 "${UDP_BYTES}" -g 1250 -n 10 39701
}

tcp() {
	ofl_stream TCP local 4 medium && ofl_stream TCP local 6 medium &&
	ofl_stream TCP fwd 4 medium && ofl_stream TCP fwd 6 medium
}

all() {
	udp && tcp
}

digest() {
	grep "^udp.* port ${OFL_PORT} " "${OFL_DIR}/digest_gw_a"
}

# one kind of wire: the payload of a datagram is a record, never more
wire_size() {
	[ "${BAT_A[biggest]}" -le $((1400 + 24)) ] ||
		ofl_fail "datagram of ${BAT_A[biggest]} bytes on the wire"
}

on_and_off() {
	bat_wan "$1"
	bat_checked "udp=1280 tcp=1500" all
	# all of UDP and most of TCP
	bat_batched 2000
	wire_size
	digest > "${OFL_DIR}/digest_on"
	[ "$(wc -l < "${OFL_DIR}/digest_on")" -eq 1280 ] ||
		ofl_fail "$(wc -l < "${OFL_DIR}/digest_on") of 1280 datagrams" \
			"in the digest"

	bat_switch off
	defer bat_switch on
	bat_checked "udp=1280 tcp=1500" all
	bat_off
	wire_size
	digest > "${OFL_DIR}/digest_off"
	cmp "${OFL_DIR}/digest_on" "${OFL_DIR}/digest_off" ||
		ofl_fail "other packets without batching:" \
			"$(diff "${OFL_DIR}/digest_on" \
			   "${OFL_DIR}/digest_off" | head -n 4 | tr '\n' ',')"
}

CIPHER="${BATCH_CIPHER:-aes}"

bat_begin 8
for outer in 4 6; do
	on="${CIPHER} over IPv${outer}"
	ofl_case "${on}: set up" bat_setup "${CIPHER}" "${outer}"
	for mode in SPLIT WHOLE NOGRO; do
		ofl_case "${on}, ${mode}: batching on, off" \
			on_and_off "${mode}"
	done
done

ktap_finished
