#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A key runs out of packet IDs in mid-batch, with several CPUs at it: it is
# killed once, no ID is used twice, what is left of the IDs is not used, and
# traffic goes on with the next key.
#
# A key has 2^32 packet IDs. This needs a kernel whose keys can start near the
# end, by way of a file in debugfs, and is skipped elsewhere.
#
# Topology and oracles: batch-common.sh

source ./batch-common.sh

START=/sys/kernel/debug/ovpn_pktid_start
# packet IDs of the key that runs out
LEFT=1000
SENDERS=4

# install_key ID FIRST: at both ends, to be used from now on
install_key() {
	local id="$1"

	echo "$2" > "${START}"
	ofl_in gw_b "${OVPN_CLI}" new_key tun0 1 2 "${id}" "${BAT_ALG}" 1 \
		data64.key &&
	ofl_in gw_a "${OVPN_CLI}" new_key tun0 1 2 "${id}" "${BAT_ALG}" 0 \
		data64.key
	local rc=$?
	echo 1 > "${START}"
	[ "${rc}" -eq 0 ] &&
	ofl_in gw_a "${OVPN_CLI}" swap_keys tun0 1 &&
	ofl_in gw_b "${OVPN_CLI}" swap_keys tun0 1
}

# messages of the kernel that a key was killed
killed() {
	dmesg | grep -c "killing key $1 for peer 1"
}

received() {
	ofl_in gw_b "${OVPN_CLI}" get_peer tun0 1 2>&1 |
		awk '/LINK RX packets/ { print $NF }'
}

dropped() {
	ofl_in "$1" cat "/sys/class/net/tun0/statistics/$2_dropped"
}

run_out() {
	local id="$1" sent got drops lost kills reasons n pids=()

	# the other end does not send with it, and is not counted
	kills=$(killed "${id}")
	install_key "${id}" $((0x100000000 - LEFT)) || ofl_fail "no key ${id}"
	sent=$(bat_sent gw_a)
	got=$(received)
	drops=$(dropped gw_b rx)
	lost=$(dropped gw_a tx)
	reasons=$(bat_value gw_a tx_unbatched_exhausted)

	# shellcheck disable=SC2154 # setup_ns sets it
	ip netns exec "${gw_b}" socat -u "UDP4-RECV:${OFL_PORT}" /dev/null &
	defer kill_process $!
	for n in $(seq "${SENDERS}"); do
		ofl_in gw_a taskset -c $((n % $(nproc))) ./batch-send send \
			-g 1250 -n 20 "${OFL_ADDR[local4]}" "${OFL_PORT}" \
			39701 >/dev/null 2>&1 &
		pids+=($!)
	done
	wait "${pids[@]}"

	sent=$(($(bat_sent gw_a) - sent))
	[ "${sent}" -gt 0 ] || ofl_fail "nothing was sent with the key"
	[ "${sent}" -le "${LEFT}" ] ||
		ofl_fail "${sent} records with ${LEFT} packet IDs"
	[ "$(dropped gw_a tx)" -gt "${lost}" ] ||
		ofl_fail "the key did not run out"
	[ "$(($(killed "${id}") - kills))" -eq 1 ] ||
		ofl_fail "killed $(($(killed "${id}") - kills)) times"
	[ "$(bat_value gw_a tx_unbatched_exhausted)" -gt "${reasons}" ] ||
		ofl_fail "no batch met the end"
	got=$(($(received) - got))
	[ "${got}" -eq "${sent}" ] ||
		ofl_fail "${got} of ${sent} records have arrived"
	# a packet ID that is used twice is a replay
	[ "$(dropped gw_b rx)" -eq "${drops}" ] ||
		ofl_fail "$(($(dropped gw_b rx) - drops)) records were refused"
}

# what was lost with the old key keeps the peers' totals apart: compare what
# comes on top
next_key() {
	local batches sent got

	install_key "$1" 1 || ofl_fail "no key $1"
	batches=$(bat_value gw_a tx_batches)
	sent=$(bat_sent gw_a)
	got=$(received)
	bat_udp local 4 $((5 * 39701)) -g 1250 -n 5 39701 ||
		ofl_fail "not everything has arrived"
	[ $(($(bat_value gw_a tx_batches) - batches)) -eq 5 ] ||
		ofl_fail "$(($(bat_value gw_a tx_batches) - batches)) batches"
	[ $(($(received) - got)) -eq $(($(bat_sent gw_a) - sent)) ] ||
		ofl_fail "$(($(received) - got)) of" \
			"$(($(bat_sent gw_a) - sent)) records have arrived"
}

if [ ! -w "${START}" ]; then
	ktap_skip_all "keys cannot start near the end here"
	exit "${KSFT_SKIP}"
fi

bat_begin 6
ofl_case "aes over IPv4: set up" bat_setup aes 4
ofl_case "aes: a key runs out" run_out 1
ofl_case "aes: another one takes over" next_key 2
ofl_case "chachapoly over IPv6: set up" bat_setup chachapoly 6
ofl_case "chachapoly: a key runs out" run_out 1
ofl_case "chachapoly: another one takes over" next_key 2

ktap_finished
