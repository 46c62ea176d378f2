#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What cannot become one UDP GSO packet leaves as single records: each reason is
# provoked, has to be the one that is counted, and costs neither a byte nor the
# order.  Sizes and MTUs have a test of their own, test-batch-mtu.sh.
#
# Topology, veth modes (of the wan here) and oracles: batch-common.sh

source ./batch-common.sh

UDP_BYTES=$((10 * 39701))

udp() {
	bat_udp "$1" 4 "${UDP_BYTES}" -g 1250 -n 10 39701 &&
	bat_udp "$1" 6 "${UDP_BYTES}" -g 1250 -n 10 39701
}

udp_and_tcp() {
	udp local && udp fwd &&
	ofl_stream TCP local 4 medium && ofl_stream TCP fwd 6 medium
}

batched() {
	bat_checked "udp=1280 tcp=700" udp_and_tcp
	bat_batched 1600
}

no_csum() {
	bat_nocheck 1 || ofl_fail "checksums not switched off"
	defer bat_nocheck 0
	bat_checked "udp=1280 tcp=700" udp_and_tcp
	bat_unbatched no_csum
	[ "${BAT_A[nosum]}" -eq "${BAT_A[datagrams]}" ] ||
		ofl_fail "${BAT_A[nosum]} of ${BAT_A[datagrams]} datagrams" \
			"without checksum"
}

# with two sockets in use, each has its own answer: the same case once more
summed_again() {
	batched
	[ "${BAT_A[nosum]}" -eq 0 ] ||
		ofl_fail "${BAT_A[nosum]} datagrams without checksum"
}

sctp() {
	bat_checked "sctp=380" sctp_run
	bat_unbatched type
}

sctp_run() {
	ofl_stream SCTP local 4 medium && ofl_stream SCTP fwd 6 medium
}

lists() {
	ofl_lan_mode SPLIT
	defer ofl_lan_mode WHOLE
	ofl_feature gw_a lan0 on rx-gro-list
	defer ofl_feature gw_a lan0 off rx-gro-list
	bat_checked "udp=640" udp fwd
	bat_unbatched fraglist
}

# a virtual machine that claims what it likes
odd_sizes() {
	ip -n "${gw_a}" tuntap add dev vm0 mode tun vnet_hdr
	defer ip -n "${gw_a}" link del vm0
	ofl_up gw_a vm0 10.3.0.1/24 fd03::1/64
	ip -n "${gw_a}" link set vm0 mtu 65535
	# one segment is no GSO packet
	bat_checked "udp=1" inject 4 -g 1340 udp 1000
	bat_off
	# IP options are batched, an extension header is left to others
	bat_checked "udp=6" inject 4 -g 1300 -x udp 7000
	bat_reasons
	bat_checked "udp=6" inject 6 -g 1300 -x udp 7000
	bat_unbatched type
	# more segments than one batch may have
	bat_checked "tcp=250" inject 4 -g 8 tcp 2000
	bat_reasons
}

inject() {
	local src=10.3.0.2 dst="${OFL_ADDR[fwd$1]}"

	[ "$1" = 4 ] || src=fd03::2
	shift
	ofl_in gw_a ./tun-inject "${@:1:$#-2}" vm0 "${@: -2:1}" "${src}" \
		"${dst}" "${@: -1}"
}

# the route is not known before the batch is sent
no_route() {
	# shellcheck disable=SC2034 # handed over by name
	local -A before after

	bat_read before gw_a
	new_peers || ofl_fail "peers not set up again"
	bat_udp local 4 "${UDP_BYTES}" -g 1250 -n 10 39701 ||
		ofl_fail "UDP through a new peer"
	bat_read after gw_a
	bat_delta BAT_DELTA_A before after
	bat_batched 320
	[ "${BAT_DELTA_A[tx_batch_drops]}" -eq 0 ] ||
		ofl_fail "${BAT_DELTA_A[tx_batch_drops]} records dropped"
}

no_peers() {
	local ns pid

	for ns in gw_a gw_b; do
		ofl_in "${ns}" "${OVPN_CLI}" del_peer tun0 1 || return
		for pid in $(bat_holders "${ns}"); do
			kill "${pid}"
		done
		busywait 5000 no_holder "${ns}" || return
	done
}

# the peers anew, without a packet that would look for a route
new_peers() {
	no_peers && new_peer gw_a && new_peer gw_b
}

new_peer() {
	local dir=0 remote=192.0.2.2

	if [ "$1" = gw_b ]; then
		dir=1
		remote=192.0.2.1
	fi
	ofl_in "$1" "${OVPN_CLI}" new_peer tun0 1 none 1194 "${remote}" \
		1194 || return
	ofl_in "$1" "${OVPN_CLI}" new_key tun0 1 1 0 "${BAT_ALG}" "${dir}" \
		data64.key
}

no_holder() {
	[ -z "$(bat_holders "$1")" ]
}

# nothing is sent without a key, and all is well when there is one
no_key() {
	# shellcheck disable=SC2034 # handed over by name
	local -A before after

	bat_read before gw_a
	ofl_in gw_a "${OVPN_CLI}" del_key tun0 1 1 || ofl_fail "del_key"
	ofl_in gw_a ./batch-send send -g 1250 -n 3 "${OFL_ADDR[local4]}" \
		"${OFL_PORT}" 39701 || ofl_fail "send without a key"
	bat_read after gw_a
	bat_delta BAT_DELTA_A before after
	[ "${BAT_DELTA_A[tx_unbatched_no_key]}" -eq 3 ] ||
		ofl_fail "tx_unbatched_no_key counts" \
			"${BAT_DELTA_A[tx_unbatched_no_key]} of 3"
	[ "${BAT_DELTA_A[tx_batches]}" -eq 0 ] ||
		ofl_fail "${BAT_DELTA_A[tx_batches]} batches without a key"
	new_peers || ofl_fail "peers not set up again"
	ofl_in host_a ping -q -c 1 -W 10 10.2.0.2 >/dev/null ||
		ofl_fail "no ping with a new key"
	OFL_SEEN_ERRORS=$(ofl_errors)
}

# the outgoing half of a transport-mode SA is enough
xfrm_add() {
	local ns
	local key=0x0102030405060708090a0b0c0d0e0f1011121314
	local sel=(src 192.0.2.1/32 dst 192.0.2.2/32 proto udp dport 1194)

	for ns in gw_a gw_b; do
		ip -n "${!ns}" xfrm state add src 192.0.2.1 dst 192.0.2.2 \
			proto esp spi 0x100 reqid 1 mode transport \
			aead 'rfc4106(gcm(aes))' "${key}" 128 || return
	done
	ip -n "${gw_a}" xfrm policy add dir out "${sel[@]}" tmpl \
		src 192.0.2.1 dst 192.0.2.2 proto esp reqid 1 mode transport
}

xfrm_flush() {
	local ns

	for ns in gw_a gw_b; do
		ip -n "${!ns}" xfrm policy flush
		ip -n "${!ns}" xfrm state flush
	done
}

xfrm() {
	local before_esp after_esp
	# shellcheck disable=SC2034 # handed over by name
	local -A before after

	if ! xfrm_add; then
		ofl_skip "no ESP in this kernel"
		return
	fi
	defer xfrm_flush
	bat_warm
	# what is on the wire now is none of the oracle's business
	bat_read before gw_a
	before_esp=$(esp_packets)
	ofl_checked "udp=1280 tcp=700" udp_and_tcp
	after_esp=$(esp_packets)
	bat_read after gw_a
	bat_delta BAT_DELTA_A before after
	bat_unbatched xfrm
	[ $((after_esp - before_esp)) -ge 2000 ] ||
		ofl_fail "$((after_esp - before_esp)) packets through ESP"
}

esp_packets() {
	ip -n "${gw_b}" -s xfrm state |
		sed -n 's/.*bytes), \([0-9]*\)(packets).*/\1/p' | head -n 1
}

# --- TCP transport ----------------------------------------------------------

tcp_listens() {
	[ -n "$(ofl_in gw_b ss -Hltn 'sport = :1194')" ]
}

tcp_peer_known() {
	ofl_in gw_b "${OVPN_CLI}" get_peer tun0 1 2>&1 | grep -q 'VPN TX'
}

# who listens needs a device for several peers
multi_peer_device() {
	ip -n "${gw_b}" link del tun0
	ofl_in gw_b "${OVPN_CLI}" new_iface tun0 MP >/dev/null
	ip -n "${gw_b}" link set tun0 mtu 1400
	ofl_up gw_b tun0 10.9.0.2/24 fd09::2/64
	ip -n "${gw_b}" route add 10.1.0.0/24 via 10.9.0.1
}

tcp_transport() {
	# shellcheck disable=SC2034 # handed over by name
	local -A before after

	no_peers || ofl_fail "peers not deleted"
	multi_peer_device || ofl_fail "no device"
	echo "1 1 10.9.0.1" > "${OFL_DIR}/tcp_peers"
	ofl_in gw_b "${OVPN_CLI}" listen tun0 1194 SYMM \
		"${OFL_DIR}/tcp_peers" >/dev/null 2>&1 &
	busywait 10000 tcp_listens >/dev/null || ofl_fail "nobody listens"
	ofl_in gw_a "${OVPN_CLI}" connect tun0 1 none 192.0.2.2 1194 \
		data64.key >/dev/null 2>&1 || ofl_fail "not connected"
	busywait 10000 tcp_peer_known >/dev/null || ofl_fail "no peer"
	ofl_in gw_b "${OVPN_CLI}" new_key tun0 1 1 0 aes 0 data64.key ||
		ofl_fail "no key"
	ofl_in host_a ping -q -c 1 -W 10 10.2.0.2 >/dev/null ||
		ofl_fail "no ping"

	# the device drops what is beyond the queue to its TCP socket: no UDP,
	# which would not come again
	bat_read before gw_a
	tcp_run || ofl_fail "TCP over a TCP transport"
	bat_read after gw_a
	bat_delta BAT_DELTA_A before after
	bat_unbatched transport
}

tcp_run() {
	ofl_stream TCP local 4 medium && ofl_stream TCP fwd 4 medium
}

bat_begin 13
ofl_case "aes over IPv4: set up" bat_setup aes 4
ofl_case "SPLIT: nothing in the way" batched
ofl_case "SPLIT: socket without checksums" no_csum
ofl_case "SPLIT: socket with checksums again" summed_again
ofl_case "SPLIT: IPsec on the route" xfrm
ofl_case "SPLIT: frag lists" lists
ofl_case "SPLIT: SCTP" sctp
ofl_case "SPLIT: claimed sizes" odd_sizes
ofl_case "SPLIT: route not known" no_route
ofl_case "SPLIT: no key" no_key
ofl_case "SPLIT: TCP transport" tcp_transport
ofl_case "aes over IPv6: set up" bat_setup aes 6
ofl_case "SPLIT: socket without checksums over IPv6" no_csum

ktap_finished
