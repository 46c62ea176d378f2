#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Who looks at packets on their way into the tunnel device - a packet socket, a
# tc mirror - shares their data with the driver, which encrypts.  A reader that
# takes nothing out of its socket until all is sent must find the plaintext of
# every packet, and what arrives at the far end must be right as well.
#
# Topology, veth modes and oracle: offload-common.sh

source ./offload-common.sh

# held DEV BYTES COMMAND...: run COMMAND while a tap on DEV holds all packets;
# at least BYTES of payload have to be there
held() {
	local dev="$1" bytes="$2"

	shift 2
	ofl_tapped gw_a "${dev}" "-l -f 0x5a" "$@" || return 0
	[ "${OFL_TAP[bad]}" -eq 0 ] ||
		ofl_fail "${OFL_TAP[bad]} damaged packets on ${dev}"
	[ "${OFL_TAP[dirty]}" -eq 0 ] ||
		ofl_fail "${OFL_TAP[dirty]} overwritten packets on ${dev}"
	[ "${OFL_TAP[lost]}" -eq 0 ] ||
		ofl_fail "the tap on ${dev} lost ${OFL_TAP[lost]} packets"
	[ "${OFL_TAP[payload]}" -ge "${bytes}" ] ||
		ofl_fail "${OFL_TAP[payload]} of ${bytes} bytes on ${dev}"
}

tcp() {
	ofl_stream TCP "$1" 4 plain && ofl_stream TCP "$1" 6 plain
}

udp() {
	ofl_udp "$1" 4 320 $((10 * 39701)) "" -g 1250 -n 10 39701 &&
	ofl_udp "$1" 6 40 $((20 * 1002)) "" -n 20 2 1000
}

TCP_BYTES=$((2 << 20))
UDP_BYTES=$((10 * 39701 + 20 * 1002))

# mirrored MODE COMMAND...: a second device is given a copy of all that is sent
# into the tunnel
mirrored() {
	ip -n "${gw_a}" link add mirror0 type dummy
	defer ip -n "${gw_a}" link del mirror0
	ip -n "${gw_a}" link set mirror0 up mtu 65535
	ip netns exec "${gw_a}" sysctl -qw net.ipv6.conf.mirror0.disable_ipv6=1
	tc -n "${gw_a}" qdisc add dev tun0 clsact
	defer tc -n "${gw_a}" qdisc del dev tun0 clsact
	if ! tc -n "${gw_a}" filter add dev tun0 egress matchall \
		action mirred egress mirror dev mirror0; then
		ofl_skip "no mirror action here"
		return 0
	fi
	"$@"
}

# lists COMMAND...: forwarded traffic comes as frag-list GSO packets
lists() {
	# the core leaves the checksums of a list that it takes apart partial,
	# so only a device that completes them can be judged
	ofl_need tx-scatter-gather-fraglist tx-gso-list || return 0
	ofl_lan_mode SPLIT
	defer ofl_lan_mode WHOLE
	ofl_feature gw_a lan0 on rx-gro-list
	defer ofl_feature gw_a lan0 off rx-gro-list
	"$@"
}

# a decoder's view of the far end: all datagrams, all plaintext
decoded() {
	local out="${OFL_DIR}/tcpdump" lines pid

	if ! command -v tcpdump >/dev/null; then
		ofl_skip "tcpdump not found"
		return 0
	fi
	# a slot of the capture ring is as large as the snapshot length
	ofl_in gw_b timeout 60 tcpdump --immediate-mode -B 65536 -s 2048 \
		-p -n -t -vv -i tun0 -c 320 "udp port ${OFL_PORT}" \
		> "${out}" 2> "${out}.err" &
	pid=$!
	busywait 20000 grep -q 'listening on' "${out}.err" >/dev/null ||
		ofl_fail "tcpdump does not listen"
	ofl_udp local 4 320 $((10 * 39701)) "" -g 1250 -n 10 39701 ||
		ofl_fail "UDP GSO not received"
	wait "${pid}" || ofl_fail "tcpdump: $(tail -n 1 "${out}.err")"
	lines=$(grep -c 'udp sum ok.* UDP, length \(1250\|951\)$' "${out}")
	[ "${lines}" -eq 320 ] || ofl_fail "tcpdump read ${lines} of 320"
}

ofl_begin 13
ofl_case "set up" ofl_setup_case "${OVPN_ALG}" 4
for where in local fwd; do
	ofl_case "WHOLE: tap held, ${where} TCP" ofl_checked "tcp=1500" \
		held tun0 "${TCP_BYTES}" tcp "${where}"
	ofl_case "WHOLE: tap held, ${where} UDP, GSO and single" \
		ofl_checked "udp=360" held tun0 "${UDP_BYTES}" udp "${where}"
	ofl_case "WHOLE: mirror held, ${where} TCP" mirrored \
		ofl_checked "tcp=1500" held mirror0 "${TCP_BYTES}" \
		tcp "${where}"
	ofl_case "WHOLE: mirror held, ${where} UDP, GSO and single" mirrored \
		ofl_checked "udp=360" held mirror0 "${UDP_BYTES}" udp "${where}"
done
ofl_case "SPLIT: mirror held, TCP lists" lists mirrored \
	ofl_checked "tcp=1500" held mirror0 "${TCP_BYTES}" tcp fwd
ofl_case "SPLIT: mirror held, UDP lists" lists mirrored \
	ofl_checked "udp=360" held mirror0 "${UDP_BYTES}" udp fwd
ofl_case "tcpdump at the far end" decoded

ktap_finished
