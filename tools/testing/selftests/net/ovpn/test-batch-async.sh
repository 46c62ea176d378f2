#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Batches with an AEAD whose requests complete later, on another CPU or in
# another context: instances of cryptd and of pcrypt for both ciphers.  What
# their requests belong to goes away before they complete: the key, the peer,
# the device.
#
# Topology, veth modes (of the wan here) and oracles: batch-common.sh

source ./batch-common.sh

# three batches that are held back
HELD=(-g 1250 -n 3 -k)
HELD_BYTES=$((3 * 39701))
HELD_RECORDS=96

batches() {
	bat_wan "$1"
	bat_checked "udp=640 tcp=700" bat_all
	bat_batched 1000
}

# held_batches: sent, but neither complete nor given up
held_batches() {
	bat_read HELD_BEFORE gw_a
	bat_held gw_a ./batch-send send "${HELD[@]}" "${OFL_ADDR[local4]}" \
		"${OFL_PORT}" 39701
}

# what has become of them: still_held, or how many records were SENT, DROPPED
held_are() {
	# shellcheck disable=SC2034 # handed over by name
	local -A now

	bat_read now gw_a
	bat_delta HELD_DELTA HELD_BEFORE now
	[ "${HELD_DELTA[tx_batch_records]}" -eq "$1" ] &&
	[ "${HELD_DELTA[tx_batch_drops]}" -eq "$2" ]
}

held_must_be() {
	busywait 10000 held_are "$1" "$2" ||
		ofl_fail "${HELD_DELTA[tx_batch_records]} records sent," \
			"${HELD_DELTA[tx_batch_drops]} dropped, want $1, $2"
}

# shellcheck disable=SC2034 # handed over by name
declare -A HELD_BEFORE HELD_DELTA

replace_key() {
	local fd

	bat_recv_udp fd local 4 "${HELD_BYTES}" || return
	held_batches || return
	ofl_in gw_b "${OVPN_CLI}" new_key tun0 1 2 1 "${BAT_ALG}" 1 \
		"${OFL_DIR}/key1" || ofl_fail "no new key at gw_b"
	ofl_in gw_a "${OVPN_CLI}" new_key tun0 1 1 1 "${BAT_ALG}" 0 \
		"${OFL_DIR}/key1" || ofl_fail "no new key at gw_a"
	held_are 0 0 || ofl_fail "the batches were not held"
	bat_go
	bat_recv_end "${fd}" || ofl_fail "the batches did not arrive"
	held_must_be "${HELD_RECORDS}" 0
	ofl_in gw_b "${OVPN_CLI}" swap_keys tun0 1 &&
	bat_all
}

key_replaced() {
	bat_hold "$1" || return 0
	BAT_OPTIONS=(-e -k "1:${OFL_DIR}/key1")
	bat_checked "udp=736 tcp=700" replace_key
	BAT_OPTIONS=()
	bat_batched 1000
	# the replaced one went with its last batch
	bat_has_users "${BAT_ALG}" 6 ||
		ofl_fail "$(bat_users "${BAT_ALG}") users, want 6"
}

peer_deleted() {
	bat_hold "$1" || return 0
	held_batches || return 0
	ofl_in gw_a "${OVPN_CLI}" del_peer tun0 1 >/dev/null ||
		ofl_fail "peer not deleted"
	held_are 0 0 || ofl_fail "the batches were not held"
	# its key is what the requests refer to
	bat_has_users "${BAT_ALG}" 6 ||
		ofl_fail "$(bat_users "${BAT_ALG}") users, want 6"
	bat_go
	held_must_be 0 "${HELD_RECORDS}"
	busywait 10000 bat_has_users "${BAT_ALG}" 4 ||
		ofl_fail "$(bat_users "${BAT_ALG}") users, want 4"
}

unlisted() {
	! ofl_in gw_a grep -q tun0: /proc/net/dev
}

device_deleted() {
	local pid users

	bat_hold "$1" || return 0
	held_batches || return 0
	# it waits for the requests
	ip -n "${gw_a}" link del tun0 &
	pid=$!
	busywait 10000 unlisted || ofl_fail "device not deleted"
	users=$(bat_users "${BAT_ALG}")
	[ "${users}" -eq 4 ] || ofl_fail "${users} users, want 4"
	kill -0 "${pid}" || ofl_fail "the device is gone before the requests"
	bat_go
	wait "${pid}" || ofl_fail "ip link del"
	busywait 10000 bat_has_users "${BAT_ALG}" 2 ||
		ofl_fail "$(bat_users "${BAT_ALG}") users, want 2"
}

bat_need_provider cryptd pcrypt
bat_begin $((2 * (2 + 2 * 7)))
head -c 256 data64.key | rev > "${OFL_DIR}/key1"
for template in cryptd pcrypt; do
	ofl_case "${template}: forced" bat_provider "${template}"
	for on in "aes 4" "chachapoly 6"; do
		read -r cipher outer <<< "${on}"
		on="${template} of ${cipher} over IPv${outer}"
		ofl_case "${on}: set up" \
			bat_setup_async "${cipher}" "${outer}"
		for mode in SPLIT WHOLE; do
			ofl_case "${on}, ${mode}: batches" batches "${mode}"
		done
		ofl_case "${on}: key replaced in flight" \
			key_replaced "${template}"
		ofl_case "${on}: peer deleted in flight" \
			peer_deleted "${template}"
		ofl_case "${on}: set up again" \
			bat_setup_async "${cipher}" "${outer}"
		ofl_case "${on}: device deleted in flight" \
			device_deleted "${template}"
	done
	ofl_case "${template}: no user left" bat_provider_end
done

ktap_finished
