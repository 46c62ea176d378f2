#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Records and the MTU of the way to the peer.  TCP segments are cut so that
# their records fit; datagrams that do not fit are no batch and leave in
# fragments.  A path that shrinks under a batch, or grows again, costs nothing
# but that.
#
# Topology, veth modes (of the wan here) and oracles: batch-common.sh

source ./batch-common.sh

UDP_BYTES=$((10 * 39701))
OUTER=4

# route_mtu MTU: of the way from gw_a to gw_b
route_mtu() {
	if [ "${OUTER}" = 4 ]; then
		ip -n "${gw_a}" route replace 192.0.2.2/32 dev wan0 mtu "$1"
	else
		ip -n "${gw_a}" route replace 2001:db8::2/128 dev wan0 \
			mtu "$1"
	fi
}

udp() {
	bat_udp local 4 "${UDP_BYTES}" -g 1250 -n 10 39701 &&
	bat_udp fwd 6 "${UDP_BYTES}" -g 1250 -n 10 39701
}

tcp() {
	ofl_stream TCP local 4 medium && ofl_stream TCP fwd 6 medium
}

full_size() {
	udp && tcp
}

# header bytes that go around an inner packet
overhead() {
	[ "${OUTER}" = 4 ] && echo 52 || echo 72
}

too_small() {
	bat_wan "$2"
	route_mtu "$1"
	defer route_mtu 1500
	bat_warm
	bat_checked "udp=640" udp
	bat_unbatched mtu
	[ "${BAT_A[fragmented]}" -ge 620 ] ||
		ofl_fail "${BAT_A[fragmented]} datagrams in fragments"
}

# nothing is in fragments but segments that came alone
made_to_fit() {
	local lone

	bat_wan "$2"
	route_mtu "$1"
	defer route_mtu 1500
	bat_warm
	bat_checked "tcp=$3" tcp
	bat_batched $(($3 * 3 / 4))
	[ "${BAT_DELTA_A[tx_batch_fitted]}" -gt 0 ] ||
		ofl_fail "tx_batch_fitted did not move"
	lone=$((BAT_A[records] - BAT_DELTA_A[tx_batch_records]))
	[ "${BAT_A[fragmented]}" -le "${lone}" ] ||
		ofl_fail "${BAT_A[fragmented]} datagrams in fragments," \
			"${lone} were in no batch"
}

# an IPv4 UDP packet of PAYLOAD bytes fits to the byte, or by one byte not
to_the_byte() {
	local len=1200 mtu

	mtu=$((28 + len + $(overhead)))
	bat_wan SPLIT
	defer route_mtu 1500
	route_mtu "${mtu}"
	bat_warm
	bat_checked "udp=320" bat_udp local 4 $((320 * len)) -g "${len}" \
		-n 10 $((32 * len))
	bat_batched 320
	[ "${BAT_A[fragmented]}" -eq 0 ] ||
		ofl_fail "${BAT_A[fragmented]} datagrams in fragments"
	route_mtu $((mtu - 1))
	bat_warm
	bat_checked "udp=320" bat_udp local 4 $((320 * len)) -g "${len}" \
		-n 10 $((32 * len))
	bat_unbatched mtu
	[ "${BAT_A[fragmented]}" -eq 320 ] ||
		ofl_fail "${BAT_A[fragmented]} of 320 datagrams in fragments"
}

# the path changes to and fro while data flows, until all of it is through
shrink_and_grow() {
	local pid n=0

	(full_size && ofl_stream TCP local 6 random) &
	pid=$!
	while kill -0 "${pid}" 2>/dev/null; do
		route_mtu 1300
		route_mtu 1500
		n=$((n + 1))
	done
	wait "${pid}" || return
	[ "${n}" -ge 5 ] || ofl_fail "the path changed ${n} times only"
}

in_flight() {
	bat_wan "$1"
	BAT_PATH_CHANGES=yes
	bat_checked "udp=640 tcp=2000" shrink_and_grow
	BAT_PATH_CHANGES=no
	route_mtu 1500
	bat_reasons mtu
	[ "${BAT_DELTA_A[tx_batches]}" -gt 0 ] || ofl_fail "no batches"
}


# 46 records of 1424 bytes: with UDP, IP and Ethernet headers that is more than
# a device takes at once, and the driver must know before
longest() {
	bat_wan WHOLE
	bat_checked "udp=460" bat_udp local 4 $((460 * 1372)) -g 1372 \
		-n 10 $((46 * 1372))
	bat_batched 460
}

sweep_run() {
	local size

	for size in 64 1000 1227 1228 1229 1320 1372 1373 2000 3000; do
		ofl_in host_a ping -q -c 2 -i 0.01 -W 10 -s "${size}" \
			10.2.0.2 >/dev/null || return
		ofl_in host_a ping -q -c 2 -i 0.01 -W 10 -s "${size}" \
			fd02::2 >/dev/null || return
	done
}

sweep() {
	local mtu

	bat_wan SPLIT
	defer route_mtu 1500
	for mtu in 1492 1400 1280; do
		route_mtu "${mtu}"
		bat_checked "icmp=20 icmp6=20" sweep_run
	done
}

bat_begin 22
for OUTER in 4 6; do
	on="over IPv${OUTER}"
	ofl_case "aes ${on}: set up" bat_setup aes "${OUTER}"
	ofl_case "${on}, SPLIT: UDP, path MTU 1300" too_small 1300 SPLIT
	ofl_case "${on}, WHOLE: UDP, path MTU 1300" too_small 1300 WHOLE
	ofl_case "${on}, SPLIT: TCP, path MTU 1300" made_to_fit 1300 SPLIT 800
	ofl_case "${on}, WHOLE: TCP, path MTU 1300" made_to_fit 1300 WHOLE 800
	ofl_case "${on}, SPLIT: TCP, path MTU 700" made_to_fit 700 SPLIT 1600
	ofl_case "${on}, SPLIT: a record that fits to the byte" to_the_byte
	ofl_case "${on}, SPLIT: path MTU changing" in_flight SPLIT
	ofl_case "${on}, WHOLE: path MTU changing" in_flight WHOLE
	ofl_case "${on}, WHOLE: aggregates as long as can be" longest
	ofl_case "${on}, SPLIT: pings of all sizes" sweep
done

ktap_finished
