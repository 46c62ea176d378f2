#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Keys are replaced under load.  Each batch has one key from its first record to
# its last, whose packet IDs are all used, and nothing is lost on the way.
#
# Topology, veth modes (of the wan here) and oracles: batch-common.sh

source ./batch-common.sh

ROUNDS=15

# three keys take turns: the one of the setup, and two that differ from it
key_file() {
	[ "$1" = 0 ] && echo data64.key || echo "${OFL_DIR}/key$1"
}

make_keys() {
	head -c 256 data64.key | rev > "${OFL_DIR}/key1"
	head -c 256 data64.key | tr 'A-Za-z' 'N-ZA-Mn-za-m' > "${OFL_DIR}/key2"
	BAT_OPTIONS=(-e -k "1:${OFL_DIR}/key1" -k "2:${OFL_DIR}/key2")
}

# the far end knows a key before anybody uses it
rekey() {
	local id="$1" file

	file=$(key_file "${id}")
	ofl_in gw_b "${OVPN_CLI}" new_key tun0 1 2 "${id}" "${BAT_ALG}" 1 \
		"${file}" &&
	ofl_in gw_a "${OVPN_CLI}" new_key tun0 1 2 "${id}" "${BAT_ALG}" 0 \
		"${file}" &&
	ofl_in gw_a "${OVPN_CLI}" swap_keys tun0 1 &&
	ofl_in gw_b "${OVPN_CLI}" swap_keys tun0 1
}

batches_beyond() {
	[ "$(bat_value gw_a tx_batches)" -gt "$1" ]
}

answers_beyond() {
	[ "$(bat_sent gw_b)" -gt "$1" ]
}

# both ends use the key that they have now
key_in_use() {
	local batches answers

	batches=$(bat_value gw_a tx_batches)
	answers=$(bat_sent gw_b)
	busywait 20000 batches_beyond $((batches + 2)) &&
	busywait 20000 answers_beyond "${answers}"
}

until_stopped() {
	while [ ! -e "${OFL_DIR}/stop" ]; do
		"$@" || return
	done
}

traffic() {
	bat_udp local 4 $((20 * 39701)) -g 1250 -n 20 39701 &&
	ofl_stream TCP fwd 6 medium
}

rekey_under_load() {
	local pid n

	rm -f "${OFL_DIR}/stop"
	until_stopped traffic &
	pid=$!
	for n in $(seq "${ROUNDS}"); do
		key_in_use || ofl_fail "no batches in round ${n}"
		KEY=$(((KEY + 1) % 3))
		rekey "${KEY}" || ofl_fail "rekey ${n}"
	done
	key_in_use || ofl_fail "no batches with the last key"
	touch "${OFL_DIR}/stop"
	wait "${pid}"
}

KEY=0

rekeyed() {
	bat_wan "$1"
	bat_checked "udp=320 tcp=300" rekey_under_load
	bat_batched 1000
	[ "${BAT_A[epochs]}" -eq $((ROUNDS + 1)) ] ||
		ofl_fail "${BAT_A[epochs]} keys on the wire," \
			"want $((ROUNDS + 1))"
	[ "${BAT_B[epochs]}" -eq $((ROUNDS + 1)) ] ||
		ofl_fail "${BAT_B[epochs]} keys on the way back," \
			"want $((ROUNDS + 1))"
}

set_up() {
	KEY=0
	"$@"
}

sync() {
	bat_begin 5
	make_keys
	ofl_case "aes over IPv4: set up" set_up bat_setup aes 4
	ofl_case "aes, WHOLE: rekey under load" rekeyed WHOLE
	ofl_case "aes, SPLIT: rekey under load" rekeyed SPLIT
	ofl_case "chachapoly over IPv6: set up" set_up bat_setup chachapoly 6
	ofl_case "chachapoly, WHOLE: rekey under load" rekeyed WHOLE
}

async() {
	local template

	bat_need_provider cryptd pcrypt
	bat_begin 12
	make_keys
	for template in cryptd pcrypt; do
		ofl_case "${template}: forced" bat_provider "${template}"
		ofl_case "${template} of aes over IPv4: set up" \
			set_up bat_setup_async aes 4
		ofl_case "${template} of aes, WHOLE: rekey under load" \
			rekeyed WHOLE
		ofl_case "${template} of chachapoly over IPv6: set up" \
			set_up bat_setup_async chachapoly 6
		ofl_case "${template} of chachapoly, SPLIT: rekey under load" \
			rekeyed SPLIT
		ofl_case "${template}: no user left" bat_provider_end
	done
}

if [ "${BATCH_ASYNC:-no}" = yes ]; then
	async
else
	sync
fi

ktap_finished
