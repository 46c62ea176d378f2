#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Peers and devices are deleted while batches are under way.
#
# Topology, veth modes (of the wan here) and oracles: batch-common.sh

source ./batch-common.sh

ROUNDS=500
DEVICES=40

# flood ADDR: until killed, whatever becomes of it
flood() {
	ofl_in gw_a ./batch-send send -f -g 1250 "$1" "${OFL_PORT}" \
		39701 20001 &
	FLOOD_PID=$!
}

flood_end() {
	kill "${FLOOD_PID}"
	wait "${FLOOD_PID}" 2>/dev/null
}

# a place that swallows what is sent there, super-packets as well
sink() {
	ip -n "${gw_a}" link add sink0 type dummy
	ip -n "${gw_a}" addr add 198.51.100.1/24 dev sink0
	ip -n "${gw_a}" link set sink0 up
	ip -n "${gw_a}" neigh add 198.51.100.2 dev sink0 \
		lladdr 02:00:00:00:00:02
}

batches_of() {
	ofl_in gw_a ethtool -S "$1" | awk '$1 == "tx_batches:" { print $2 }'
}

peers_deleted() {
	sink
	defer ip -n "${gw_a}" link del sink0
	ofl_in gw_a "${OVPN_CLI}" new_iface tun1 MP >/dev/null
	defer ip -n "${gw_a}" link del tun1
	ip -n "${gw_a}" addr add 10.8.0.1/24 dev tun1
	ip -n "${gw_a}" link set tun1 mtu 1400 up
	flood 10.8.0.2
	defer flood_end
	if ! ofl_in gw_a ./peer-churn tun1 198.51.100.2 10.8.0.2 "${ROUNDS}" \
		>/dev/null; then
		ofl_fail "peer-churn"
		return 0
	fi
	[ "$(batches_of tun1)" -ge "${ROUNDS}" ] ||
		ofl_fail "$(batches_of tun1) batches in ${ROUNDS} rounds"
}

devices_deleted() {
	local n fd pid word

	sink
	defer ip -n "${gw_a}" link del sink0
	# there is a way for the flood without the device as well
	ip -n "${gw_a}" route add 10.8.0.0/16 via 198.51.100.2
	flood 10.8.0.2
	defer flood_end
	for n in $(seq "${DEVICES}"); do
		ofl_in gw_a "${OVPN_CLI}" new_iface tun1 MP >/dev/null
		ip -n "${gw_a}" addr add 10.8.0.1/24 dev tun1
		ip -n "${gw_a}" link set tun1 mtu 1400 up
		exec {fd}< <(exec ip netns exec "${gw_a}" ./peer-churn tun1 \
			198.51.100.2 10.8.0.2 1k)
		pid=$!
		if ! read -r -t 30 -u "${fd}" word _; then
			ofl_fail "no peer in round ${n}"
			return 0
		fi
		[ "$(batches_of tun1)" -gt 0 ] ||
			ofl_fail "no batches in round ${n}"
		# its peer and its key are in use
		ip -n "${gw_a}" link del tun1 || ofl_fail "round ${n}"
		kill "${pid}"
		exec {fd}<&-
	done
}

traffic() {
	bat_udp local 4 $((10 * 39701)) -g 1250 -n 10 39701 &&
	ofl_stream TCP fwd 6 medium
}

still_works() {
	bat_checked "udp=320 tcp=300" traffic
	bat_batched 500
}

# peer-churn takes both ciphers in turn
async() {
	local template

	bat_need_provider cryptd pcrypt
	bat_begin 12
	for template in cryptd pcrypt; do
		ofl_case "${template}: forced" bat_provider "${template}"
		rounds "${template}, aes over IPv4" bat_setup_async
		ofl_case "${template}: no user left" bat_provider_end
	done
}

# rounds NAME SETUP
rounds() {
	ofl_case "$1: set up" "$2" aes 4
	ofl_case "$1: peer deleted ${ROUNDS} times" peers_deleted
	ofl_case "$1: device deleted ${DEVICES} times" devices_deleted
	ofl_case "$1, SPLIT: traffic as before" still_works
}

if [ "${BATCH_ASYNC:-no}" = yes ]; then
	async
else
	bat_begin 4
	rounds "aes over IPv4" bat_setup
fi

ktap_finished
