#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# GRO chains what a lookup by port finds the tunnel's socket for, and that is
# not always where it goes: the packet may be translated, intercepted,
# redirected, bridged or forwarded, also into another tunnel, or the socket is
# closed meanwhile.  Each datagram must get out of the chain as it was sent:
# number, length, bytes, checksums, and its own IP header.
#
# gw_a sends what looks like records (gro-stray), gw_b chains it on wan0 if it
# is for one of its addresses, and it ends up at host_b or at another socket.
#  A netdev hook on wan0
# counts packets, and sees a chain as one: much fewer than datagrams.
#
# LIST: the lan takes chains whole.  CUT: they are segmented in front of it.
#
# Topology and veth modes: gro-common.sh

source ./gro-common.sh

ROUNDS=4
# the datagrams are for an address of gw_b
TRANSIT=no
FAMILY=${GRO_FAMILY:-4}
SPORT=20000
declare -A WAN=([4]=192.0.2.2 [6]=2001:db8::2)
declare -A LAN=([4]=10.2.0.2 [6]=fd02::2)
declare -A ANY=([4]=0.0.0.0 [6]=::)
declare -A BRIDGED=([4]=192.0.2.3 [6]=2001:db8::3)
declare -A ROUTED=([4]=10.4.0.2 [6]=fd04::2)
declare -A TUNNEL=([4]=10.7.0.2 [6]=fd07::2)
declare -A IP=([4]=ip [6]=ip6)
CUT=no

stray_setup() {
	gro_setup aes "${FAMILY}"
	# datagrams of the full wan MTU fit, in another tunnel as well
	ip -n "${gw_b}" link set lan0 mtu 2000
	ip -n "${host_b}" link set eth0 mtu 2000
	ofl_up gw_b lan0 10.4.0.1/24 fd04::1/64
	ofl_up host_b eth0 10.4.0.2/24 fd04::2/64
	ofl_up host_b eth0 192.0.2.3/24 2001:db8::3/64
	ip -n "${gw_a}" route add 10.4.0.0/24 via 192.0.2.2
	ip -n "${gw_a}" route add fd04::/64 via 2001:db8::2
	ip -n "${gw_a}" route add 10.7.0.0/24 via 192.0.2.2
	ip -n "${gw_a}" route add fd07::/64 via 2001:db8::2
	# replies that were not asked for
	ip -n "${host_b}" route add unreachable 192.0.2.1
	ip -n "${host_b}" route add unreachable 2001:db8::1
	ofl_in gw_b nft -f - <<-NFT
	table netdev stray_count {
		chain wan {
			type filter hook ingress device wan0 priority 0
			udp dport 1194 counter
		}
	}
	NFT
}

# lan LIST|CUT
lan() {
	local state=on

	CUT=no
	if [ "$1" = CUT ]; then
		CUT=yes
		state=off
	fi
	ofl_in gw_b ethtool -K lan0 tx-gso-list "${state}" >/dev/null 2>&1 ||
		ofl_fail "lan0: frag lists not switched ${state}"
}

# sums DEVICE|PACKET: where the checksums are on the wan
sums() {
	local state=on

	[ "$1" = PACKET ] && state=off
	ofl_in gw_a ethtool -K wan0 tx "${state}" >/dev/null 2>&1
}

chained() {
	ofl_in gw_b nft list table netdev stray_count |
		sed -n 's/.*counter packets \([0-9]*\) .*/\1/p'
}

# few_packets BEFORE: the datagrams came in chains, unless they are on their way
# to another address: these are left alone
few_packets() {
	local n=$(($(chained) - $1))

	if [ "${TRANSIT}" = yes ]; then
		[ "${n}" -eq $((ROUNDS * GRO_ROUND)) ] ||
			ofl_fail "${n} packets of $((ROUNDS * GRO_ROUND))"
	elif ! { [ "${n}" -gt 0 ] &&
		 [ "${n}" -le $((ROUNDS * GRO_ROUND / 6)) ]; }; then
		ofl_fail "${n} packets on wan0 for" \
			"$((ROUNDS * GRO_ROUND)) datagrams"
	fi
}

# a flow of its own for each case: conntrack remembers
new_flow() {
	SPORT=$((SPORT + 1))
}

stray_send() {
	ofl_in gw_a "${BAT_PIN[@]}" ./gro-stray send -s "${SPORT}" \
		-n "${ROUNDS}" "$@"
}

# to_socket NS OPTIONS BIND-ADDR BIND-PORT SEND-ARGUMENT...
to_socket() {
	local ns="$1" how="$2" addr="$3" port="$4" fd word="" said=""
	local packets

	shift 4
	rm -f "${OFL_DIR}/stray"
	# shellcheck disable=SC2086 # how is words
	exec {fd}< <(ip netns exec "${!ns}" ./gro-stray recv -v \
		-n "${ROUNDS}" ${how} "${addr}" "${port}" \
		2>>"${OFL_DIR}/stray" && echo complete)
	read -r -t 20 -u "${fd}" word || ofl_fail "no receiver"
	packets=$(chained)
	stray_send "$@" || ofl_fail "not sent"
	read -r -t 60 -u "${fd}" said
	read -r -t 5 -u "${fd}" word
	exec {fd}<&-
	[ "${word}" = complete ] ||
		ofl_fail "${said:-no report}:" \
			"$(head -n 3 "${OFL_DIR}/stray" | tr '\n' ',')"
	few_packets "${packets}"
}

# seen_on NS DEV COMMAND...: taps of the sender and on DEV see the same, in the
# same IP headers, but for TTL and checksum
seen_on() {
	local ns="$1" dev="$2" fd_out pid_out fd_in pid_in
	# shellcheck disable=SC2034 # handed over by name
	local -A sent got

	shift 2
	rm -f "${OFL_DIR}/stray"
	gro_tap fd_out pid_out gw_a wan0 -o -n "${ROUNDS}" \
		-w "${OFL_DIR}/headers_sent" || return 0
	gro_tap fd_in pid_in "${ns}" "${dev}" -n "${ROUNDS}" \
		-w "${OFL_DIR}/headers_got" || return 0
	"$@" || ofl_fail "failed: $*"
	gro_tap_end "${fd_out}" "${pid_out}" sent || return 0
	gro_tap_end "${fd_in}" "${pid_in}" got || return 0
	gro_tap_good sent $((ROUNDS * GRO_ROUND))
	gro_tap_good got $((ROUNDS * GRO_ROUND))
	# the header of a chain is that of its first datagram
	if [ "${CUT}" = no ]; then
		[ "${got[longest]}" -eq "$([ "${TRANSIT}" = yes ] &&
				echo 1 || echo 64)" ] ||
			ofl_fail "chains of ${got[longest]}"
		return 0
	fi
	[ "${got[aggregates]}" -eq 0 ] ||
		ofl_fail "${got[aggregates]} aggregates were not cut"
	cmp -s "${OFL_DIR}/headers_sent" "${OFL_DIR}/headers_got" ||
		ofl_fail "other headers: $(diff "${OFL_DIR}/headers_sent" \
			"${OFL_DIR}/headers_got" | head -n 4 | tr '\n' ',')"
}

nft_rule() {
	ofl_in gw_b nft -f - <<-NFT || ofl_fail "nft: $*"
	table ${IP[${FAMILY}]} stray {
		chain pre {
			type $1
			udp sport ${SPORT} udp dport 1194 ${*:2}
		}
	}
	NFT
	defer ofl_in gw_b nft delete table "${IP[${FAMILY}]}" stray
}

host_of() {
	[ "${FAMILY}" = 6 ] && echo "[$1]" || echo "$1"
}

dnat() {
	new_flow
	lan "$1"
	sums "$2"
	nft_rule "nat hook prerouting priority dstnat" \
		dnat to "$(host_of "${LAN[${FAMILY}]}"):1194"
	to_socket host_b "" "${LAN[${FAMILY}]}" 1194 \
		"${WAN[${FAMILY}]}" 1194
	new_flow
	ofl_in gw_b nft flush chain "${IP[${FAMILY}]}" stray pre
	ofl_in gw_b nft add rule "${IP[${FAMILY}]}" stray pre udp sport \
		"${SPORT}" udp dport 1194 dnat to \
		"$(host_of "${LAN[${FAMILY}]}"):1194"
	seen_on host_b eth0 stray_send "${WAN[${FAMILY}]}" 1194
}

redirect() {
	new_flow
	sums "$1"
	nft_rule "nat hook prerouting priority dstnat" redirect to :2000
	to_socket gw_b "" "${ANY[${FAMILY}]}" 2000 "${WAN[${FAMILY}]}" 1194
}

tproxy() {
	new_flow
	sums "$1"
	ip -"${FAMILY}" -n "${gw_b}" rule add fwmark 1 lookup 100
	defer ip -"${FAMILY}" -n "${gw_b}" rule del fwmark 1 lookup 100
	ip -"${FAMILY}" -n "${gw_b}" route add local default dev lo table 100
	defer ip -"${FAMILY}" -n "${gw_b}" route del local default dev lo \
		table 100
	nft_rule "filter hook prerouting priority mangle" \
		tproxy to :2000 meta mark set 1 accept
	to_socket gw_b -t "${ANY[${FAMILY}]}" 2000 "${WAN[${FAMILY}]}" 1194
}

redirected() {
	local proto=ip

	new_flow
	lan "$1"
	sums "$2"
	[ "${FAMILY}" = 6 ] && proto=ipv6
	tc -n "${gw_b}" qdisc add dev wan0 clsact
	defer tc -n "${gw_b}" qdisc del dev wan0 clsact
	if ! tc -n "${gw_b}" filter add dev wan0 ingress protocol "${proto}" \
		flower ip_proto udp src_port "${SPORT}" \
		action mirred egress redirect dev lan0; then
		ofl_skip "no redirect action here"
		return 0
	fi
	seen_on host_b eth0 stray_send "${WAN[${FAMILY}]}" 1194
}

bridged() {
	local TRANSIT=yes
	new_flow
	lan "$1"
	sums "$2"
	ip -n "${gw_b}" link add br0 type bridge forward_delay 0
	defer ip -n "${gw_b}" link del br0
	ip -n "${gw_b}" link set br0 up
	ip -n "${gw_b}" link set wan0 master br0
	ip -n "${gw_b}" link set lan0 master br0
	# gw_b has no part in it
	ofl_in host_b ip route del unreachable 192.0.2.1
	defer ofl_in host_b ip route add unreachable 192.0.2.1
	ofl_in host_b ip route del unreachable 2001:db8::1
	defer ofl_in host_b ip route add unreachable 2001:db8::1
	ofl_in gw_a ping -q -c 1 -W 10 "${BRIDGED[${FAMILY}]}" >/dev/null ||
		ofl_fail "no ping through the bridge"
	to_socket host_b "" "${BRIDGED[${FAMILY}]}" 1194 \
		"${BRIDGED[${FAMILY}]}" 1194
	new_flow
	seen_on host_b eth0 stray_send "${BRIDGED[${FAMILY}]}" 1194
}

forwarded() {
	local TRANSIT=yes
	new_flow
	lan "$1"
	sums "$2"
	to_socket host_b "" "${ROUTED[${FAMILY}]}" 1194 \
		"${ROUTED[${FAMILY}]}" 1194
	new_flow
	seen_on host_b eth0 stray_send "${ROUTED[${FAMILY}]}" 1194
	# each packet has an IP ID of its own
	new_flow
	seen_on host_b eth0 stray_send -d "${ROUTED[${FAMILY}]}" 1194
	# and all have the same one
	new_flow
	seen_on host_b eth0 stray_send -u "${ROUTED[${FAMILY}]}" 1194
	# rows follow each other that are alike but for TOS and TTL
	new_flow
	seen_on host_b eth0 stray_send -m "${ROUTED[${FAMILY}]}" 1194
}

# no datagram of a chain fits, so that each leaves in fragments
fragmented() {
	local TRANSIT=yes
	new_flow
	lan LIST
	ip -n "${gw_b}" link set lan0 mtu 576
	defer ip -n "${gw_b}" link set lan0 mtu 2000
	to_socket host_b "" 10.4.0.2 1194 -d 10.4.0.2 1194
}

# into_tunnel: what is on its way to the tunnel's other end is left alone, and
# what is translated to go there comes in chains
into_tunnel() {
	local TRANSIT=yes

	ofl_in gw_b ping -q -c 1 -W 10 "${TUNNEL[${FAMILY}]}" >/dev/null ||
		ofl_fail "no ping through the tunnel"
	new_flow
	to_socket host_b "" "${TUNNEL[${FAMILY}]}" 1194 \
		"${TUNNEL[${FAMILY}]}" 1194
	TRANSIT=no
	new_flow
	nft_rule "nat hook prerouting priority dstnat" \
		dnat to "$(host_of "${TUNNEL[${FAMILY}]}"):1194"
	to_socket host_b "" "${TUNNEL[${FAMILY}]}" 1194 \
		"${WAN[${FAMILY}]}" 1194
}

# tunnelled COMMAND...: a tunnel from gw_b to host_b, made by COMMAND for each
tunnelled() {
	lan CUT
	sums PACKET
	"$@" gw_b 10.2.0.1 10.2.0.2 0 || ofl_fail "no tunnel at gw_b"
	defer ip -n "${gw_b}" link del tnl0
	"$@" host_b 10.2.0.2 10.2.0.1 1 || ofl_fail "no tunnel at host_b"
	defer ip -n "${host_b}" link del tnl0
	ip -n "${gw_b}" link set tnl0 mtu 1500
	ip -n "${host_b}" link set tnl0 mtu 1500
	ofl_up gw_b tnl0 10.7.0.1/24 fd07::1/64
	ofl_up host_b tnl0 10.7.0.2/24 fd07::2/64
	# counted as they are
	ofl_in host_b ethtool -K tnl0 gro off
	into_tunnel
}

# vlans NS DEV ADDRESS ADDRESS6: two tags, and both of them are in the packet
vlans() {
	ofl_in "$1" ethtool -K "$2" txvlan off tx-vlan-stag-hw-insert off \
		>/dev/null 2>&1
	ip -n "${!1}" link add link "$2" name tag0 type vlan id 7 \
		reorder_hdr off &&
	ip -n "${!1}" link add link tag0 name tnl0 type vlan id 8 \
		reorder_hdr off &&
	ip -n "${!1}" link set tag0 up &&
	ofl_up "$1" tnl0 "$3" "$4"
}

# longer headers than there is room in front of a datagram that a program sent
tagged() {
	lan CUT
	sums PACKET
	if ! vlans gw_b lan0 10.7.0.1/24 fd07::1/64; then
		ofl_skip "no VLANs here"
		return 0
	fi
	defer ip -n "${gw_b}" link del tag0
	vlans host_b eth0 10.7.0.2/24 fd07::2/64 ||
		ofl_fail "no VLANs at host_b"
	defer ip -n "${host_b}" link del tag0
	ofl_in host_b ethtool -K tnl0 gro off
	into_tunnel
}

# ipsec NS: the same state at both ends, from gw_b to host_b
ipsec() {
	ip -n "${!1}" xfrm state add src 10.2.0.1 dst 10.2.0.2 proto esp \
		spi 7 mode tunnel flag af-unspec \
		aead 'rfc4106(gcm(aes))' "0x$(printf '%040d' 7)" 128
}

# no device, so that nobody segments before encapsulation but IPsec itself
secured() {
	local any=0.0.0.0/0 net=10.7.0.0/24 addr=10.7.0.2/32 via=10.2.0.2
	local nodad=()

	if [ "${FAMILY}" = 6 ]; then
		any=::/0
		net=fd07::/64
		addr=fd07::2/128
		via=fd02::2
		nodad=(nodad)
	fi
	lan "$1"
	sums "$2"
	if ! ipsec gw_b; then
		ofl_skip "no IPsec here"
		return 0
	fi
	defer ip -n "${gw_b}" xfrm state flush
	ipsec host_b || ofl_fail "no state at host_b"
	defer ip -n "${host_b}" xfrm state flush
	ip -n "${gw_b}" xfrm policy add src "${any}" dst "${net}" dir out \
		tmpl src 10.2.0.1 dst 10.2.0.2 proto esp mode tunnel ||
		ofl_fail "no policy at gw_b"
	defer ip -n "${gw_b}" xfrm policy flush
	ip -n "${host_b}" xfrm policy add src "${any}" dst "${net}" dir in \
		tmpl src 10.2.0.1 dst 10.2.0.2 proto esp mode tunnel ||
		ofl_fail "no policy at host_b"
	defer ip -n "${host_b}" xfrm policy flush
	ip -n "${host_b}" addr add "${addr}" dev eth0 "${nodad[@]}"
	defer ip -n "${host_b}" addr del "${addr}" dev eth0
	ip -n "${gw_b}" route add "${net}" via "${via}"
	defer ip -n "${gw_b}" route del "${net}"
	into_tunnel
}

# link TYPE OPTIONS NS LOCAL REMOTE DIRECTION
link() {
	# shellcheck disable=SC2086 # options are words
	ip -n "${!3}" link add tnl0 type "$1" local "$4" remote "$5" $2
}

ovpn_link() {
	ofl_in "$1" "${OVPN_CLI}" new_iface tnl0 P2P >/dev/null
	ofl_in "$1" "${OVPN_CLI}" new_peer tnl0 1 none 1195 "$3" 1195 &&
	ofl_in "$1" "${OVPN_CLI}" new_key tnl0 1 1 0 aes "$4" data64.key
}

port_free() {
	[ -z "$(ofl_in gw_b ss -Hluan "sport = :1194")" ]
}

# the tunnel's socket gives way to a plain one and comes back, and all the time
# chains are under way
closed() {
	local n pid flood before answer

	new_flow
	sums PACKET
	before=$(chained)
	rm -f "${OFL_DIR}/stray"
	# no function: it is this process that is going to be killed
	ip netns exec "${gw_a}" ./gro-stray send -s "${SPORT}" -f \
		"${WAN[${FAMILY}]}" 1194 &
	flood=$!
	for n in 1 2 3; do
		if [ "$1" = peer ]; then
			ofl_in gw_b "${OVPN_CLI}" del_peer tun0 1 ||
				ofl_fail "peer not deleted"
		fi
		for pid in $(bat_holders gw_b); do
			kill "${pid}"
		done
		busywait 5000 port_free || ofl_fail "socket not closed"
		answer=$(ofl_in gw_b timeout 30 ./gro-stray recv -v -g \
			-n "${ROUNDS}" "${WAN[${FAMILY}]}" 1194 \
			2>>"${OFL_DIR}/stray") ||
			ofl_fail "round ${n}: ${answer/ready/}:" \
				"$(head -n 3 "${OFL_DIR}/stray" | tr '\n' ',')"
		new_peer || ofl_fail "no new peer in round ${n}"
	done
	kill "${flood}"
	wait "${flood}" 2>/dev/null
	[ "$(chained)" -gt "${before}" ] || ofl_fail "nothing came"
	# all is well again
	ofl_in host_a ping -q -c 1 -W 10 10.2.0.2 >/dev/null ||
		ofl_fail "no ping through the tunnel"
	gro_counted bat_udp local 4 $((4 * 39701)) -g 1250 -n 4 39701
	[ "${GRO_DELTA[rx_batches]}" -gt 0 ] ||
		ofl_fail "no batches with a new socket"
}

new_peer() {
	local remote=192.0.2.1

	[ "${FAMILY}" = 6 ] && remote=2001:db8::1
	ofl_in gw_b "${OVPN_CLI}" new_peer tun0 1 none 1194 "${remote}" \
		1194 &&
	ofl_in gw_b "${OVPN_CLI}" new_key tun0 1 1 0 aes 1 data64.key &&
	# packet IDs begin again
	ofl_in gw_a "${OVPN_CLI}" new_key tun0 1 1 0 aes 0 data64.key
}

direct() {
	local mode state

	for mode in LIST CUT; do
		ofl_case "${on}, ${mode}: dnat" dnat "${mode}" DEVICE
		ofl_case "${on}, ${mode}: forwarded" \
			forwarded "${mode}" PACKET
		ofl_case "${on}, ${mode}: tc redirect" \
			redirected "${mode}" PACKET
		ofl_case "${on}, ${mode}: bridged" bridged "${mode}" PACKET
	done
	ofl_case "${on}, CUT: dnat, checksums computed" dnat CUT PACKET
	for state in DEVICE PACKET; do
		ofl_case "${on}: redirect, checksums in ${state}" \
			redirect "${state}"
		ofl_case "${on}: tproxy, checksums in ${state}" \
			tproxy "${state}"
	done
	[ "${FAMILY}" = 6 ] || ofl_case "${on}: fragmented" fragmented
}

moving() {
	local last=ipip

	[ "${FAMILY}" = 6 ] && last=sit
	ofl_case "${on}: into vxlan" tunnelled \
		link vxlan "id 7 dstport 4789 udpcsum"
	ofl_case "${on}: into vxlan without checksums" tunnelled \
		link vxlan "id 7 dstport 4789 noudpcsum"
	ofl_case "${on}: into gretap" tunnelled link gretap ""
	ofl_case "${on}: into gre" tunnelled link gre ""
	ofl_case "${on}: into ovpn" tunnelled ovpn_link
	ofl_case "${on}: into ${last}" tunnelled link "${last}" ""
	ofl_case "${on}, LIST: into IPsec" secured LIST PACKET
	ofl_case "${on}, CUT: into IPsec" secured CUT PACKET
	ofl_case "${on}, CUT: into IPsec, checksums in DEVICE" \
		secured CUT DEVICE
	ofl_case "${on}, CUT: into two VLANs" tagged
	ofl_case "${on}: socket closed under load" closed socket
	ofl_case "${on}: peer deleted under load" closed peer
}

on="IPv${FAMILY}"
if [ "${GRO_TUNNELS:-no}" = yes ]; then
	gro_begin 13
	ofl_case "${on}: set up" stray_setup
	moving
else
	gro_begin $((FAMILY == 6 ? 14 : 15))
	ofl_case "${on}: set up" stray_setup
	direct
fi

ktap_finished
