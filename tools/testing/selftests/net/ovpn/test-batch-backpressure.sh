#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A batch is paid for by the socket whose data it carries, until it has left the
# queue of the underlay.  A slow queue (tbf) of limited length must therefore
# hold back its senders rather than drop, and whoever has sent gets all of it
# back: send buffers, user pages (MSG_ZEROCOPY), pages of files, unharmed.
#
# batch-send waits for a send buffer of zero and for all completions: that is
# judged in each case in which it sends.
#
# Topology, veth modes (of the wan here) and oracles: batch-common.sh

source ./batch-common.sh

MIB=$((1 << 20))

# slow BURST: gw_a sends no more than 30 Mbit/s, and few packets wait.  What is
# longer than BURST has to be cut up by the queue.
slow() {
	tc -n "${gw_a}" qdisc replace dev wan0 root tbf rate 30mbit \
		burst "$1" limit 400kb
}

fast() {
	tc -n "${gw_a}" qdisc replace dev wan0 root pfifo limit 10000
}

queue_drops() {
	tc -n "${gw_a}" -s -j qdisc show dev wan0 | jq '.[0].drops'
}

# held_back BURST WANT COMMAND...
held_back() {
	local drops

	slow "$1"
	defer fast
	bat_checked "${@:2}"
	bat_batched 400
	drops=$(queue_drops)
	[ "${drops}" = 0 ] || ofl_fail "the queue dropped ${drops} packets"
}

udp() {
	bat_udp local "$1" "${MIB}" -b -g 1024 -n 32 $((MIB / 32))
}

tcp() {
	bat_file local "$1" random
}

# both at once share the queue
flows() {
	local pid rc=0

	ofl_stream TCP fwd 4 medium &
	pid=$!
	bat_udp local 6 "${MIB}" -b -g 1024 -n 32 $((MIB / 32)) || rc=1
	wait "${pid}" || rc=1
	return "${rc}"
}

zerocopy_run() {
	bat_file local 4 random -z && bat_file local 6 random -z &&
	bat_udp local 4 "${MIB}" -z -g 1024 -n 32 $((MIB / 32)) &&
	bat_udp local 6 "${MIB}" -z -g 1024 -n 32 $((MIB / 32))
}

zerocopy() {
	bat_wan "$1"
	bat_checked "tcp=3000 udp=2048" zerocopy_run
	bat_batched 4000
}

zerocopy_slow() {
	bat_wan SPLIT
	held_back 128kb "tcp=3000" zerocopy_slow_run
}

zerocopy_slow_run() {
	bat_file local 4 random -z && bat_file local 6 random -z
}

# somebody else looks at all that enters the tunnel, and holds on to it
mirror() {
	ip -n "${gw_a}" link add mirror0 type dummy
	defer ip -n "${gw_a}" link del mirror0
	ip netns exec "${gw_a}" sysctl -qw net.ipv6.conf.mirror0.disable_ipv6=1
	ip -n "${gw_a}" link set mirror0 up mtu 65535
	tc -n "${gw_a}" qdisc add dev tun0 clsact
	defer tc -n "${gw_a}" qdisc del dev tun0 clsact
	if ! tc -n "${gw_a}" filter add dev tun0 egress matchall \
		action mirred egress mirror dev mirror0; then
		ofl_skip "no mirror action here"
		return 1
	fi
}

page_cache_run() {
	ofl_tapped gw_a mirror0 "-l -f 0x5a" page_cache_files
}

page_cache_files() {
	bat_file local 4 plain -p && bat_file local 6 plain -p &&
	bat_file fwd 4 plain -p && bat_file fwd 6 plain -p
}

# pages of the page cache go into the tunnel: they are not the driver's
page_cache() {
	local before

	before=$(sha256sum "${OFL_DIR}/plain")
	bat_wan SPLIT
	mirror || return 0
	bat_checked "tcp=3000" page_cache_run
	bat_batched 2500
	[ "$(sha256sum "${OFL_DIR}/plain")" = "${before}" ] ||
		ofl_fail "the file has changed"
	[ "${OFL_TAP[dirty]}" -eq 0 ] ||
		ofl_fail "${OFL_TAP[dirty]} overwritten packets on the mirror"
	[ "${OFL_TAP[payload]}" -ge $((4 * MIB)) ] ||
		ofl_fail "${OFL_TAP[payload]} bytes on the mirror"
}

# the same where nothing is batched and records are made in place
page_cache_single() {
	local before

	before=$(sha256sum "${OFL_DIR}/plain")
	bat_switch off
	defer bat_switch on
	mirror || return 0
	bat_checked "tcp=3000" page_cache_run
	bat_off
	[ "$(sha256sum "${OFL_DIR}/plain")" = "${before}" ] ||
		ofl_fail "the file has changed"
	[ "${OFL_TAP[dirty]}" -eq 0 ] ||
		ofl_fail "${OFL_TAP[dirty]} overwritten packets on the mirror"
}

bat_begin 12
ofl_case "set up" bat_setup aes 4
ofl_case "SPLIT: slow queue, TCP over IPv4" \
	held_back 128kb "tcp=1500" tcp 4
ofl_case "SPLIT: slow queue, TCP over IPv6" \
	held_back 128kb "tcp=1500" tcp 6
ofl_case "SPLIT: slow queue that cuts up, TCP" \
	held_back 8kb "tcp=1500" tcp 4
ofl_case "SPLIT: slow queue, UDP" held_back 128kb "udp=1024" udp 4
ofl_case "SPLIT: slow queue that cuts up, UDP" held_back 8kb "udp=1024" udp 6
ofl_case "SPLIT: slow queue, two flows" held_back 128kb "udp=1024" flows
ofl_case "SPLIT: zerocopy" zerocopy SPLIT
ofl_case "WHOLE: zerocopy" zerocopy WHOLE
ofl_case "SPLIT: zerocopy through a slow queue" zerocopy_slow
ofl_case "SPLIT: pages of a file, mirrored" page_cache
ofl_case "SPLIT: pages of a file, mirrored, not batched" page_cache_single

ktap_finished
