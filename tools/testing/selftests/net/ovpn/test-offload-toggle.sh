#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every feature that the tunnel device offers can be switched while traffic
# runs: each switch takes effect, none of them costs a byte or a checksum.
#
# Topology, veth modes and oracle: offload-common.sh

source ./offload-common.sh

FEATURES=(
	tx-checksum-ip-generic tx-scatter-gather tx-scatter-gather-fraglist
	tx-tcp-segmentation tx-tcp6-segmentation tx-udp-segmentation
	tx-sctp-segmentation tx-gso-list tx-generic-segmentation
)

# one transfer after the other until told to stop
stream_until_stopped() {
	while [ ! -e "${OFL_DIR}/stop" ]; do
		ofl_stream TCP "$1" "$2" random || return
		ofl_udp "$1" "$2" 320 $((10 * 39701)) "" -g 1250 -n 10 39701 ||
			return
	done
}

toggle_all() {
	local pid feature

	rm -f "${OFL_DIR}/stop"
	stream_until_stopped "$@" &
	pid=$!
	for feature in "${FEATURES[@]}"; do
		ofl_feature gw_a tun0 off "${feature}"
		restore
	done
	touch "${OFL_DIR}/stop"
	wait "${pid}"
}

# all on again, what depended on another one as well
restore() {
	ofl_feature gw_a tun0 on "${FEATURES[@]}"
}

toggled() {
	ofl_need "${FEATURES[@]}" || return 0
	ofl_checked "tcp=1000 udp=320" toggle_all "$@"
}

without() {
	ofl_need "${FEATURES[@]}" || return 0
	ofl_feature gw_a tun0 off "$1"
	ofl_checked "tcp=5500 udp=1280 sctp=200" everything
	restore
}

everything() {
	local where family

	for where in local fwd; do
		for family in 4 6; do
			ofl_stream TCP "${where}" "${family}" random || return
			ofl_udp "${where}" "${family}" 320 $((10 * 39701)) "" \
				-g 1250 -n 10 39701 || return
		done
		ofl_stream SCTP "${where}" 4 medium || return
	done
}

ofl_begin 9
ofl_case "set up" ofl_setup_case "${OVPN_ALG}" 4
ofl_case "WHOLE: local traffic over IPv4, all toggled" toggled local 4
ofl_case "WHOLE: local traffic over IPv6, all toggled" toggled local 6
ofl_case "WHOLE: forwarded traffic over IPv4, all toggled" toggled fwd 4
ofl_case "WHOLE: forwarded traffic over IPv6, all toggled" toggled fwd 6
ofl_case "WHOLE: all traffic without checksum offload" \
	without tx-checksum-ip-generic
ofl_case "WHOLE: all traffic without scatter-gather" without tx-scatter-gather
ofl_case "WHOLE: all traffic without GSO" without tx-generic-segmentation

ktap_finished
