#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tunnels in tunnels: ovpn in ovpn, over and under vxlan.  What one layer has
# joined is in the hands of the other one, and everything arrives.  An underlay
# in a VRF, whose addresses are in a table of their own.
#
# Topology and veth modes: gro-common.sh

source ./gro-common.sh

OUTER=${GRO_FAMILY:-4}

nest_setup() {
	gro_setup aes "${OUTER}"
	ip -n "${gw_a}" link set wan0 mtu 1700
	ip -n "${gw_b}" link set wan0 mtu 1700
	ip -n "${gw_a}" link set tun0 mtu 1550
	ip -n "${gw_b}" link set tun0 mtu 1550
}

# vxlan NAME NET LOCAL-PREFIX: between the addresses LOCAL-PREFIX.1 and .2
vxlan() {
	local n

	for n in 1 2; do
		ip -n "$(ns_of "${n}")" link add "$1" type vxlan id 7 \
			dstport 4789 local "$3.${n}" remote "$3.$((3 - n))" ||
			return
		ip -n "$(ns_of "${n}")" link set "$1" mtu 1450
		up "${n}" "$1" "$2"
	done
}

# ovpn NAME NET PREFIX PORT MTU: the same; ovpn-cli holds on to its port
ovpn() {
	local n

	for n in 1 2; do
		ip netns exec "$(ns_of "${n}")" "${OVPN_CLI}" new_iface "$1" \
			P2P >/dev/null
		ip netns exec "$(ns_of "${n}")" "${OVPN_CLI}" new_peer "$1" 1 \
			none "$4" "$3.$((3 - n))" "$4" &&
		ip netns exec "$(ns_of "${n}")" "${OVPN_CLI}" new_key "$1" 1 1 \
			0 chachapoly $((n - 1)) data64.key || return
		ip -n "$(ns_of "${n}")" link set "$1" mtu "$5"
		up "${n}" "$1" "$2"
	done
}

ns_of() {
	[ "$1" = 1 ] && echo "${gw_a}" || echo "${gw_b}"
}

up() {
	local ns=gw_a

	[ "$1" = 1 ] || ns=gw_b
	ofl_up "${ns}" "$2" "$3.$1/24" "fd20:${3##*.}::$1/64"
}

gone() {
	ip -n "${gw_a}" link del "$1"
	ip -n "${gw_b}" link del "$1"
}

batched() {
	ofl_in gw_b ethtool -S "$1" |
		awk '$1 == "rx_batch_records:" { print $2 }'
}

# through NET: in both families, and many datagrams in order
through() {
	OFL_ADDR[local4]="$1.2"
	ofl_stream TCP local 4 random "$1.2" &&
	ofl_stream TCP local 6 random "fd20:${1##*.}::2" &&
	bat_udp local 4 $((10 * 37001)) -g 1200 \
		-n 10 37001
}

checked() {
	local errors saved="${OFL_ADDR[local4]}"

	errors=$(gro_errors)
	ofl_in gw_a ping -q -c 1 -W 10 "$1.2" >/dev/null ||
		ofl_fail "no ping to $1.2"
	gro_counted through "$1"
	OFL_ADDR[local4]=${saved}
	[ "$(gro_errors)" -eq "${errors}" ] || ofl_fail "errors of UDP or IP"
	[ "$(ofl_errors)" -eq 0 ] || ofl_fail "$(ofl_errors) errors or drops"
}

in_ovpn() {
	ovpn tun1 10.21.1 10.9.0 1195 1450 || ofl_fail "no ovpn in ovpn"
	defer gone tun1
	checked 10.21.1
	[ "${GRO_DELTA[rx_batch_records]}" -ge 1500 ] ||
		ofl_fail "${GRO_DELTA[rx_batch_records]} records batched below"
	[ "$(batched tun1)" -ge 1500 ] ||
		ofl_fail "$(batched tun1) records batched above"
}

over_vxlan() {
	vxlan vx0 10.20.1 192.0.2 || ofl_fail "no vxlan"
	defer gone vx0
	ovpn tun1 10.21.2 10.20.1 1196 1350 || ofl_fail "no ovpn over vxlan"
	defer gone tun1
	checked 10.21.2
	[ "$(batched tun1)" -ge 1500 ] ||
		ofl_fail "$(batched tun1) records batched"
}

vxlan_over() {
	vxlan vx0 10.20.2 10.9.0 || ofl_fail "no vxlan over ovpn"
	defer gone vx0
	checked 10.20.2
	[ "${GRO_DELTA[rx_batch_records]}" -ge 1500 ] ||
		ofl_fail "${GRO_DELTA[rx_batch_records]} records batched"
}

vxlan_between() {
	vxlan vx0 10.20.3 10.9.0 || ofl_fail "no vxlan over ovpn"
	defer gone vx0
	ovpn tun1 10.21.3 10.20.3 1197 1350 || ofl_fail "no ovpn over vxlan"
	defer gone tun1
	checked 10.21.3
	[ "$(batched tun1)" -ge 1500 ] ||
		ofl_fail "$(batched tun1) records batched above"
}

# gw_b's wan0 is in the VRF, tun0 and the transport socket are not
under_vrf() {
	gro_setup aes "${OUTER}"
	if ! ip -n "${gw_b}" link add blue type vrf table 10; then
		ofl_skip "no VRF here"
		return 0
	fi
	ip -n "${gw_b}" link set blue up
	ip -n "${gw_b}" link set wan0 master blue
	# IPv6 loses it on the way there
	ip -n "${gw_b}" addr replace 2001:db8::2/64 dev wan0 nodad
	ip -n "${gw_b}" route add 192.0.2.0/24 dev wan0
	ip -n "${gw_b}" route add 2001:db8::/64 dev wan0
	ofl_in gw_b sysctl -qw net.ipv4.udp_l3mdev_accept=1
	gro_checked 1200 bat_all
}

on="IPv${OUTER}"
gro_begin 6
ofl_case "${on}: set up" nest_setup
ofl_case "${on}: ovpn in ovpn" in_ovpn
ofl_case "${on}: ovpn over vxlan" over_vxlan
ofl_case "${on}: vxlan over ovpn" vxlan_over
ofl_case "${on}: ovpn over vxlan over ovpn" vxlan_between
ofl_case "${on}, SPLIT: the underlay is in a VRF" under_vrf

ktap_finished
