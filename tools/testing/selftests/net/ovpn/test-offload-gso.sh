#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every kind of GSO packet that the features of an ovpn device let in, from
# local sockets and from hosts behind the gateway (veth modes WHOLE and SPLIT).
#
# Topology and oracle: offload-common.sh

source ./offload-common.sh

MTU=1400

# ofl_tapped on tun0 of gw_a, with a verdict on whether super-packets showed up
expect_super() {
	local want="$1"

	shift
	ofl_tapped gw_a tun0 "" "$@" || return 0
	if [ "${want}" = yes ] && [ "${OFL_TAP[max]}" -le "${MTU}" ]; then
		ofl_fail "no super-packet reached tun0"
	elif [ "${want}" = no ] && [ "${OFL_TAP[max]}" -gt "${MTU}" ]; then
		ofl_fail "tun0 was given ${OFL_TAP[max]} bytes in one packet"
	fi
}

# super FEATURE WANT COMMAND...: with FEATURE the device is given super-packets,
# without it single packets; what arrives is the same
super() {
	local feature="$1" want="$2"

	shift 2
	ofl_need tx-checksum-ip-generic "${feature}" || return 0
	ofl_checked "${want}" expect_super yes "$@"
	ofl_feature gw_a tun0 off "${feature}"
	defer ofl_feature gw_a tun0 on "${feature}"
	ofl_checked "${want}" expect_super no "$@"
}

udp_gso() {
	ofl_udp "$1" "$2" 320 $((10 * 39701)) "" -g 1250 -n 10 39701
}

# a sender without scatter-gather: GRO can only chain what it merges
chained() {
	ofl_lan_mode SPLIT
	defer ofl_lan_mode WHOLE
	ofl_feature host_a eth0 off tx-scatter-gather
	defer ofl_feature host_a eth0 on tx-scatter-gather
	ofl_checked "tcp=3000" chained_run
}

chained_run() {
	ofl_stream TCP fwd 4 random && ofl_stream TCP fwd 6 random
}

big_tcp() {
	local family="$1" attr=gso_max_size gro=gro_max_size

	if [ "${family}" = 4 ]; then
		attr=gso_ipv4_max_size
		gro=gro_ipv4_max_size
	fi
	if ! ip -n "${host_a}" link set eth0 "${attr}" 131072; then
		ofl_skip "veth takes no ${attr}"
		return
	fi
	defer ip -n "${host_a}" link set eth0 "${attr}" 65536
	ip -n "${gw_a}" link set lan0 "${gro}" 131072
	defer ip -n "${gw_a}" link set lan0 "${gro}" 65536
	# where the tunnel device takes them as well, local sockets use them
	if ip -n "${gw_a}" link set tun0 "${attr}" 131072 2>/dev/null; then
		defer ip -n "${gw_a}" link set tun0 "${attr}" 65536
	fi
	# windows that allow such a packet at once, whatever the round trip
	ofl_in host_a sysctl -qw net.ipv4.tcp_tso_rtt_log=20 \
		net.ipv4.tcp_wmem="4096 4194304 8388608"
	ofl_in host_b sysctl -qw net.ipv4.tcp_rmem="4096 4194304 8388608"
	ip -n "${host_a}" route change default via 10.1.0.1 initcwnd 300
	ip -n "${host_a}" route replace default via fd01::1 initcwnd 300
	ip -n "${host_b}" route change default via 10.2.0.1 initrwnd 300
	ip -n "${host_b}" route replace default via fd02::1 initrwnd 300
	ofl_checked "tcp=1500" big_tcp_run "${family}"
}

big_tcp_run() {
	ofl_tapped host_a eth0 "" ofl_stream TCP fwd "$1" random
	[ "${OFL_TAP[max]}" -gt 65536 ] ||
		ofl_fail "no packet was longer than ${OFL_TAP[max]} bytes"
	ofl_stream TCP local "$1" random
}

accecn() {
	local ns

	for ns in host_a gw_a gw_b host_b; do
		if ! ofl_in "${ns}" sysctl -qw net.ipv4.tcp_ecn=3; then
			ofl_skip "no accurate ECN in this kernel"
			return
		fi
		defer ofl_in "${ns}" sysctl -qw net.ipv4.tcp_ecn=2
	done
	ofl_checked "tcp=6000" accecn_run
}

accecn_run() {
	local where family

	for where in local fwd; do
		for family in 4 6; do
			ofl_stream TCP "${where}" "${family}" random || return
		done
	done
}

ofl_begin 18
ofl_case "set up" ofl_setup_case "${OVPN_ALG}" 4

for where in local fwd; do
	for family in 4 6; do
		ofl_case "WHOLE: ${where} TCP over IPv${family}, TSO on, off" \
			super "tx-tcp$([ "${family}" = 6 ] &&
				echo 6)-segmentation" "tcp=1500" \
			ofl_stream TCP "${where}" "${family}" random
		ofl_case "WHOLE: ${where} UDP over IPv${family}, USO on, off" \
			super tx-udp-segmentation "udp=320" \
			udp_gso "${where}" "${family}"
		ofl_case "WHOLE: ${where} SCTP over IPv${family}, on, off" \
			super tx-sctp-segmentation "sctp=380" \
			ofl_stream SCTP "${where}" "${family}" medium
	done
done

ofl_case "SPLIT: TCP super-packets chained by GRO" chained
ofl_case "WHOLE: BIG TCP over IPv6" big_tcp 6
ofl_case "WHOLE: BIG TCP over IPv4" big_tcp 4
ofl_case "WHOLE: accurate ECN" accecn

ktap_finished
