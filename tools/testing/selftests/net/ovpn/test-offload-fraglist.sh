#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets that are chains of packets.  GRO on the lan of gw_a (veth mode SPLIT,
# rx-gro-list on) merges what it forwards into frag-list GSO packets, which the
# tunnel device takes as they are.  Corked sockets make chains that are not GSO.
#
# Topology and oracle: offload-common.sh

source ./offload-common.sh

MTU=1400

# lists WANT COMMAND...: forwarded traffic is merged into lists, and these reach
# the tunnel device as they are
lists() {
	ofl_need tx-scatter-gather-fraglist tx-gso-list || return 0
	ofl_checked "$1" lists_tapped "${@:2}"
}

lists_tapped() {
	ofl_tapped gw_a tun0 "" "$@" || return 0
	[ "${OFL_TAP[max]}" -gt "${MTU}" ] ||
		ofl_fail "nothing but single packets reached tun0"
}

tcp() {
	ofl_stream TCP fwd "$1" random
}

# many equal datagrams, then a shorter one that ends the batch
udp() {
	ofl_udp fwd "$1" 320 $((10 * 39701)) "" -g 1250 -n 10 39701
}

# the list that the device does not take any more is single packets again
switched_off() {
	local feature

	ofl_need tx-scatter-gather-fraglist || return 0
	for feature in tx-scatter-gather-fraglist tx-gso-list; do
		ofl_feature gw_a tun0 off "${feature}"
		ofl_checked "udp=640 tcp=3000" switched_off_run
		ofl_feature gw_a tun0 on "${feature}"
		[ "${OFL_TAP[max]}" -le "${MTU}" ] ||
			ofl_fail "list reached tun0 with ${feature} off"
	done
}

# the core takes lists apart for a device without checksum offload and leaves
# the checksums of the pieces partial all the same
no_csum() {
	ofl_need tx-checksum-ip-generic tx-scatter-gather-fraglist || return 0
	ofl_feature gw_a tun0 off tx-checksum-ip-generic
	ofl_checked "udp=640 tcp=3000" both_protocols
	ofl_in gw_a ethtool -K tun0 tx-checksum-ip-generic on sg on gso on \
		tso on tx-udp-segmentation on \
		tx-scatter-gather-fraglist on >/dev/null
	ofl_need tx-scatter-gather-fraglist tx-gso-list ||
		ofl_fail "lists are not back"
}

switched_off_run() {
	ofl_tapped gw_a tun0 "" both_protocols
}

both_protocols() {
	both udp && both tcp
}

both() {
	"$1" 4 && "$1" 6
}

# the addresses of the first packet of a list change: so must all others'
with_snat() {
	ofl_need tx-scatter-gather-fraglist || return 0
	if ! ofl_in gw_a nft -f - <<-RULES; then
		table inet ofl {
			chain post {
				type nat hook postrouting priority 100;
				oifname "tun0" meta nfproto ipv4 \
					snat ip to 10.9.0.1
				oifname "tun0" meta nfproto ipv6 \
					snat ip6 to fd09::1
			}
		}
	RULES
		ofl_skip "nft has no NAT here"
		return 0
	fi
	defer ofl_in gw_a nft delete table inet ofl
	lists "udp=640 tcp=3000" both_protocols
}

# without scatter-gather at the sender the chained packets are linear
linear() {
	ofl_feature host_a eth0 off tx-scatter-gather
	defer ofl_feature host_a eth0 on tx-scatter-gather
	lists "udp=640 tcp=3000" both_protocols
}

udp_forwarding() {
	ofl_feature gw_a lan0 off rx-gro-list
	defer ofl_feature gw_a lan0 on rx-gro-list
	ofl_feature gw_a lan0 on rx-udp-gro-forwarding
	defer ofl_feature gw_a lan0 off rx-udp-gro-forwarding
	lists "udp=640" both udp
}

# a reader that still holds every packet when all is sent finds plaintext
held() {
	lists "udp=640 tcp=1500" held_run
}

held_run() {
	ofl_tapped gw_a tun0 "-l -f 0x5a" held_traffic
	[ "${OFL_TAP[bad]}" -eq 0 ] ||
		ofl_fail "${OFL_TAP[bad]} damaged packets on the tap"
	[ "${OFL_TAP[dirty]}" -eq 0 ] ||
		ofl_fail "${OFL_TAP[dirty]} overwritten packets on the tap"
	[ "${OFL_TAP[lost]}" -eq 0 ] ||
		ofl_fail "the tap lost ${OFL_TAP[lost]} packets"
}

held_traffic() {
	both udp && ofl_stream TCP fwd 4 plain && ofl_stream TCP fwd 6 plain
}

# a chain that is not GSO, of PIECES pieces; the payload of one packet is
# 1372 (IPv4) or 1352 bytes (IPv6)
chain() {
	local pieces="$1"

	ip -n "${gw_a}" route replace 10.9.0.2/32 dev tun0 mtu 1400
	ip -n "${gw_a}" route replace fd09::2/128 dev tun0 mtu 1400
	ofl_checked "udp=2" chain_run 4 $((pieces * 1340)) "${pieces}"
	ofl_checked "udp=2" chain_run 6 $((pieces * 1340)) "${pieces}"
}

chain_run() {
	local family="$1" bytes="$2" pieces="$3"

	ofl_tapped gw_a tun0 "" chain_send "$@" || return 0
	# whole, or it was no chain
	[ "${OFL_TAP[max]}" -ge "${bytes}" ] ||
		ofl_fail "largest packet ${OFL_TAP[max]}, expected ${bytes}"
}

chain_send() {
	local addr="${OFL_ADDR[local$1]}" bytes="$2" pieces="$3"
	local fd word="" rc=0 _

	exec {fd}< <(ip netns exec "${gw_b}" ./udp-gso recv "${addr}" \
		"${OFL_PORT}" 2 $((2 * bytes)) && echo complete)
	read -r -t 20 -u "${fd}" word || rc=1
	for _ in 1 2; do
		ofl_in gw_a ./udp-fraglist "${addr}" "${OFL_PORT}" \
			"${pieces}" 1340 || rc=1
	done
	read -r -t 60 -u "${fd}" word || rc=1
	[ "${word}" = complete ] || rc=1
	exec {fd}<&-
	return "${rc}"
}

chacha_setup() {
	ofl_setup_case chachapoly 6
	split_lists
}

split_lists() {
	ofl_lan_mode SPLIT
	ofl_feature gw_a lan0 on rx-gro-list
	# where packets arrive slowly, a poll sees one at a time: let GRO wait
	ofl_in gw_a sh -c "echo 20000000 > /sys/class/net/lan0/gro_flush_timeout
		echo 10 > /sys/class/net/lan0/napi_defer_hard_irqs" ||
		ofl_fail "GRO does not wait"
}

aes_setup() {
	ofl_setup_case aes 4
	split_lists
}

ofl_begin 21

ofl_case "aes over IPv4: set up" aes_setup
ofl_case "SPLIT: UDP lists over IPv4" lists "udp=320" udp 4
ofl_case "SPLIT: UDP lists over IPv6" lists "udp=320" udp 6
ofl_case "SPLIT: TCP lists over IPv4" lists "tcp=1500" tcp 4
ofl_case "SPLIT: TCP lists over IPv6" lists "tcp=1500" tcp 6
ofl_case "SPLIT: lists with source NAT" with_snat
ofl_case "SPLIT: lists of linear packets" linear
ofl_case "SPLIT: lists switched off" switched_off
ofl_case "SPLIT: lists, checksum offload switched off" no_csum
ofl_case "SPLIT: UDP GRO forwarding instead of lists" udp_forwarding
ofl_case "SPLIT: a tap that holds the lists keeps its plaintext" held
ofl_case "chachapoly over IPv6: set up" chacha_setup
ofl_case "chachapoly, SPLIT: UDP lists over IPv4" lists "udp=320" udp 4
ofl_case "chachapoly, SPLIT: TCP lists over IPv6" lists "tcp=1500" tcp 6
ofl_case "large tunnel MTU: set up" ofl_setup_case aes 4 60000
ofl_case "chain of 2 packets, not GSO" chain 2
ofl_case "chain of 16 packets, not GSO" chain 16
ofl_case "chain of 17 packets, not GSO" chain 17
ofl_case "chain of 18 packets, not GSO" chain 18
ofl_case "chain of 40 packets, not GSO" chain 40

ktap_finished
