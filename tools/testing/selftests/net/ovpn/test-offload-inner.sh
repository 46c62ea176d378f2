#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Another tunnel inside the ovpn tunnel: the checksum that the device has to
# complete starts deep in the packet, and more than one may have to be right.
#
# Topology and oracle: offload-common.sh

source ./offload-common.sh

inner_traffic() {
	ofl_stream TCP local 4 medium 10.8.0.2 &&
	ofl_stream TCP local 6 medium fd08::2 &&
	ofl_udp local 4 32 39701 10.8.0.2 -g 1250 39701 &&
	ofl_udp local 6 33 39701 fd08::2 -g 1220 39701 &&
	ofl_stream SCTP local 4 small 10.8.0.2
}

# a tunnel inside the tunnel, so that the checksum to complete starts deep
inner_tunnel() {
	local kind="$1" family="$2" far ns near

	shift 2
	for ns in gw_a gw_b; do
		near=1
		[ "${ns}" = gw_b ] && near=2
		far=$((3 - near))
		if [ "${family}" = 4 ]; then
			near=10.9.0.${near}
			far=10.9.0.${far}
		else
			near=fd09::${near}
			far=fd09::${far}
		fi
		ip -n "${!ns}" link add inner0 mtu 1280 type "${kind}" "$@" \
			local "${near}" remote "${far}" || return
		defer ip -n "${!ns}" link del inner0
	done
	ofl_up gw_a inner0 10.8.0.1/24 fd08::1/64
	ofl_up gw_b inner0 10.8.0.2/24 fd08::2/64
	# resolved before it is counted
	ofl_in gw_a ping -q -c 1 -W 10 10.8.0.2 >/dev/null &&
	ofl_in gw_a ping -q -c 1 -W 10 fd08::2 >/dev/null || return
	ofl_checked "tcp=700 udp=65 sctp=4" inner_traffic
}

ofl_begin 8

ofl_case "set up" ofl_setup_case "${OVPN_ALG}" 4
ofl_case "GRE" inner_tunnel gre 4
ofl_case "GRE with checksums" inner_tunnel gre 4 csum
ofl_case "GRE over IPv6" inner_tunnel ip6gre 6
ofl_case "VXLAN" inner_tunnel vxlan 4 id 7 dstport 4789 udpcsum
ofl_case "VXLAN over IPv6" inner_tunnel vxlan 6 id 7 dstport 4789
ofl_case "IPv4 and IPv6 in IPv6" inner_tunnel ip6tnl 6 mode any

ktap_finished
