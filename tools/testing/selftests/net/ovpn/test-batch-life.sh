#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What happens to batches while they are under way: batching switched off and
# on, taps and mirrors on both sides of the encryption.
#
# Topology, veth modes (of the wan here) and oracles: batch-common.sh

source ./batch-common.sh

TOGGLES=200
# milliseconds: far more than the slowest machine takes for some packets
STALLED=120000
UDP_BYTES=$((10 * 39701))

# --- switched under traffic ---------------------------------------------------

traffic() {
	local n

	while [ ! -e "${OFL_DIR}/stop" ]; do
		bat_udp local 4 "${UDP_BYTES}" -g 1250 -n 10 39701 &&
		bat_udp fwd 6 "${UDP_BYTES}" -g 1250 -n 10 39701 &&
		ofl_stream TCP local 6 medium &&
		ofl_stream TCP fwd 4 medium || return
	done
}

switch() {
	ofl_in gw_a ethtool -K tun0 tso "$1" tx-udp-segmentation "$1"
}

sent_beyond() {
	[ "$(ofl_in gw_a cat /sys/class/net/tun0/statistics/tx_packets)" \
	  -gt "$1" ]
}

batches_beyond() {
	[ "$(bat_value gw_a tx_batches)" -gt "$1" ]
}

# more packets than a sender that is under way has left of its batch
sends_on() {
	local sent

	sent=$(ofl_in gw_a cat /sys/class/net/tun0/statistics/tx_packets)
	busywait "${STALLED}" sent_beyond $((sent + 200)) ||
		ofl_fail "traffic stalled with batching off"
}

# traffic runs, and none of it is batched any more
stays_off() {
	local batches

	sends_on
	batches=$(bat_value gw_a tx_batches)
	sends_on
	[ "$(bat_value gw_a tx_batches)" -eq "${batches}" ] ||
		ofl_fail "batches with batching off"
}

comes_back() {
	local batches

	batches=$(bat_value gw_a tx_batches)
	busywait "${STALLED}" batches_beyond "${batches}" ||
		ofl_fail "no batches with batching on again"
}

toggle() {
	local n pid

	rm -f "${OFL_DIR}/stop"
	traffic &
	pid=$!
	for n in $(seq "${TOGGLES}"); do
		switch off || ofl_fail "cannot switch off"
		[ $((n % 40)) -ne 0 ] || stays_off
		switch on || ofl_fail "cannot switch on"
		[ $((n % 40)) -ne 0 ] || comes_back
	done
	touch "${OFL_DIR}/stop"
	wait "${pid}"
}

toggled() {
	bat_wan "$1"
	bat_checked "udp=640 tcp=700" toggle
	bat_batched 500
}

# --- watched ------------------------------------------------------------------

plain() {
	ofl_udp local 4 320 "${UDP_BYTES}" "" -g 1250 -n 10 39701 &&
	ofl_udp fwd 6 320 "${UDP_BYTES}" "" -g 1250 -n 10 39701 &&
	ofl_stream TCP local 6 plain && ofl_stream TCP fwd 4 plain
}

plaintext_held() {
	[ "${OFL_TAP[dirty]}" -eq 0 ] ||
		ofl_fail "${OFL_TAP[dirty]} overwritten packets on $1"
	[ "${OFL_TAP[bad]}" -eq 0 ] ||
		ofl_fail "${OFL_TAP[bad]} damaged packets on $1"
	[ "${OFL_TAP[lost]}" -eq 0 ] ||
		ofl_fail "the tap on $1 lost ${OFL_TAP[lost]} packets"
	[ "${OFL_TAP[payload]}" -ge $((2 * UDP_BYTES + (2 << 20))) ] ||
		ofl_fail "${OFL_TAP[payload]} bytes on $1"
}

# taps on tun0 and wan0 that read nothing before all is over
tapped() {
	bat_wan "$1"
	BAT_OPTIONS=(-l)
	bat_checked "udp=640 tcp=1500" ofl_tapped gw_a tun0 "-l -f 0x5a" plain
	BAT_OPTIONS=()
	bat_batched 1500
	plaintext_held tun0
}

# mirror DEV TO: copy all that is sent out of DEV
mirror() {
	ip -n "${gw_a}" link add "$2" type dummy
	ip netns exec "${gw_a}" sysctl -qw "net.ipv6.conf.$2.disable_ipv6=1"
	ip -n "${gw_a}" link set "$2" up mtu 65535
	tc -n "${gw_a}" qdisc add dev "$1" clsact
	tc -n "${gw_a}" filter add dev "$1" egress matchall \
		action mirred egress mirror dev "$2"
}

mirror_end() {
	tc -n "${gw_a}" qdisc del dev "$1" clsact
	ip -n "${gw_a}" link del "$2"
}

# ciphertext COMMAND...: with an oracle that holds what the mirror of wan0 got
ciphertext() {
	local fd pid word=""
	local -A counts

	exec {fd}< <(exec ip netns exec "${gw_a}" ./record-oracle -o -l -v \
		-r 0 -a "${BAT_ALG}" -k 0:data64.key mirror1 \
		2>"${OFL_DIR}/wire_mirror")
	pid=$!
	read -r -t 20 -u "${fd}" word
	[ "${word}" = ready ] || ofl_fail "no oracle on the mirror"
	"$@" || ofl_fail "failed: $*"
	ofl_capture_end "${fd}" "${pid}" counts || return 0
	[ "${counts[bad]}" -eq 0 ] ||
		ofl_fail "${counts[bad]} faults on the mirror of wan0:" \
			"$(head -n 3 "${OFL_DIR}/wire_mirror" | tr '\n' ',')"
	[ "${counts[batched]}" -ge 1500 ] ||
		ofl_fail "${counts[batched]} records in aggregates on the" \
			"mirror of wan0"
}

mirrored() {
	bat_wan "$1"
	if ! mirror tun0 mirror0; then
		ofl_skip "no mirror action here"
		return 0
	fi
	defer mirror_end tun0 mirror0
	mirror wan0 mirror1
	defer mirror_end wan0 mirror1
	bat_checked "udp=640 tcp=1500" ciphertext \
		ofl_tapped gw_a mirror0 "-l -f 0x5a" plain
	bat_batched 1500
	plaintext_held mirror0
}

bat_begin 6
ofl_case "aes over IPv4: set up" bat_setup aes 4
ofl_case "SPLIT: switched ${TOGGLES} times" toggled SPLIT
ofl_case "WHOLE: taps on both devices" tapped WHOLE
ofl_case "SPLIT: taps on both devices" tapped SPLIT
ofl_case "WHOLE: mirrors on both devices" mirrored WHOLE
ofl_case "SPLIT: mirrors on both devices" mirrored SPLIT

ktap_finished
