#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Batches on receive with an AEAD whose requests complete later, on another CPU
# or in another context: instances of cryptd and of pcrypt for both ciphers.
# What the requests belong to goes away before they complete: the key, the
# peer, the socket, the device.
#
# Topology and veth modes: gro-common.sh

source ./gro-common.sh

# 10 times 31 datagrams of 1250 bytes and one of 951
UDP_BYTES=$((10 * 39701))
TEN=aaaaaaaaaa
HELD=60

set_up() {
	bat_setup_async "$@"
	gro_switch on
}

batches() {
	gro_checked 1200 gro_wire bat_all
	gro_switch off
	gro_checked 0 bat_all
	gro_switch on
	gro_checked 300 bat_udp local 6 "${UDP_BYTES}" -g 1250 -n 10 39701
}

# --- in flight ----------------------------------------------------------------

# gw_a has no device: gro-peer is the peer, and at gw_b it has the socket
user_peer() {
	gro_user_peer "${cipher}" "${outer}"
	# GRO holds the records for a while, and the CPU that polls for whatever
	# arrives next completes them: nothing else does
	ofl_in gw_a ping -qc 1 "${GRO_TARGET}" >/dev/null ||
		ofl_fail "no answer from ${GRO_TARGET}"
	ofl_in gw_a nft -f - <<-NFT || ofl_fail "nft"
	table inet records_only {
		chain out {
			type filter hook output priority 0; policy drop
			udp sport 1194 accept
		}
	}
	NFT
	GRO_OPTIONS=()
	[ "${cipher}" = aes ] || GRO_OPTIONS=(-c)
}

attach() {
	exec {ATTACHED}< <(exec ip netns exec "${gw_b}" ./gro-peer attach \
		"${GRO_OPTIONS[@]}" tun0 "${GRO_REMOTE}" 1194)
	ATTACH_PID=$!
	read -r -t 20 -u "${ATTACHED}" _ || ofl_fail "no peer"
	# two keys
	bat_has_users "${cipher}" 4 ||
		ofl_fail "$(bat_users "${cipher}") users, want 4"
}

detach() {
	kill "${ATTACH_PID}" 2>/dev/null
	exec {ATTACHED}<&-
	busywait 10000 gro_port_free || ofl_fail "port 1194 is in use"
	busywait 10000 bat_has_users "${cipher}" 0 ||
		ofl_fail "$(bat_users "${cipher}") users left"
}

stat() {
	ofl_in gw_b cat "/sys/class/net/tun0/statistics/$1"
}

arrived() {
	[ "$(bat_value gw_b rx_batch_records)" -eq $((BATCHED + HELD)) ]
}

through() {
	[ $(($(stat rx_packets) + $(stat rx_dropped))) -eq $((DONE + HELD)) ]
}

# held_records: joined, none of them decrypted
held_records() {
	BATCHED=$(bat_value gw_b rx_batch_records)
	DONE=$(($(stat rx_packets) + $(stat rx_dropped)))
	bat_held gw_a ./gro-peer send -gk "${GRO_OPTIONS[@]}" \
		"${GRO_TARGET}" 1194 \
		"${TEN}${TEN}${TEN}${TEN}${TEN}${TEN}" || return
	busywait 10000 arrived || ofl_fail "no batch of ${HELD}"
	[ $(($(stat rx_packets) + $(stat rx_dropped))) -eq "${DONE}" ] ||
		ofl_fail "the records were not held"
}

# each record is accounted for, and what it referred to goes
let_go() {
	bat_go
	busywait 10000 through ||
		ofl_fail "$(stat rx_packets) packets and $(stat rx_dropped)" \
			"drops, want $((DONE + HELD))"
}

key_deleted() {
	local fd report=""

	bat_hold "${template}" || return 0
	attach
	exec {fd}< <(exec ip netns exec "${gw_b}" ./gro-peer recv "${HELD}")
	read -r -t 20 -u "${fd}" _ || ofl_fail "no receiver"
	held_records || return 0
	ofl_in gw_b "${OVPN_CLI}" del_key tun0 1 1 || ofl_fail "no key deleted"
	bat_has_users "${cipher}" 4 || ofl_fail "the key is gone already"
	let_go
	read -r -t 30 -u "${fd}" report
	exec {fd}<&-
	[ "${report}" = "received=${HELD} wrong=0 disorder=0" ] ||
		ofl_fail "${HELD} sent: ${report}"
	busywait 10000 bat_has_users "${cipher}" 2 ||
		ofl_fail "$(bat_users "${cipher}") users, want 2"
	detach
}

peer_deleted() {
	bat_hold "${template}" || return 0
	attach
	held_records || return 0
	ofl_in gw_b "${OVPN_CLI}" del_peer tun0 1 >/dev/null ||
		ofl_fail "peer not deleted"
	bat_has_users "${cipher}" 4 || ofl_fail "the keys are gone already"
	let_go
	detach
}

socket_closed() {
	bat_hold "${template}" || return 0
	attach
	held_records || return 0
	kill -KILL "${ATTACH_PID}"
	busywait 10000 gro_port_free_at gw_b || ofl_fail "port 1194 is in use"
	bat_has_users "${cipher}" 4 || ofl_fail "the keys are gone already"
	let_go
	detach
}

unlisted() {
	! ofl_in gw_b grep -q tun0: /proc/net/dev
}

device_deleted() {
	local pid

	bat_hold "${template}" || return 0
	attach
	held_records || return 0
	ip -n "${gw_b}" link del tun0 &
	pid=$!
	busywait 10000 unlisted || ofl_fail "device not deleted"
	bat_has_users "${cipher}" 4 || ofl_fail "the keys are gone already"
	kill -0 "${pid}" || ofl_fail "the device is gone before the requests"
	bat_go
	wait "${pid}" || ofl_fail "ip link del"
	detach
}

bat_need_provider cryptd pcrypt
gro_begin $((2 * (2 + 2 * 7)))
for template in cryptd pcrypt; do
	ofl_case "${template}: forced" bat_provider "${template}"
	for on in "aes 4" "chachapoly 6"; do
		read -r cipher outer <<< "${on}"
		on="${template} of ${cipher} over IPv${outer}"
		ofl_case "${on}: set up" set_up "${cipher}" "${outer}"
		ofl_case "${on}, SPLIT: batches" batches
		ofl_case "${on}: peer in user space" user_peer
		ofl_case "${on}: key deleted in flight" key_deleted
		ofl_case "${on}: peer deleted in flight" peer_deleted
		ofl_case "${on}: socket closed in flight" socket_closed
		ofl_case "${on}: device deleted in flight" device_deleted
	done
	ofl_case "${template}: no user left" bat_provider_end
done

ktap_finished
