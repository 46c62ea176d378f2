#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Memory runs out while records are received: one after the other, each
# allocation fails that the NAPI thread of the wire makes, with and without
# batches, with a tap that shares them, and with an AEAD whose requests complete
# later.  Order is kept, nothing is damaged, what is lost is counted, and all is
# well afterwards.
#
# Topology and veth modes: gro-common.sh

source ./gro-common.sh


threaded() {
	ofl_in gw_b sh -c "echo $1 > /sys/class/net/wan0/threaded" ||
		ofl_fail "no NAPI thread"
}

napi_thread() {
	grep -l '^napi/wan0' /proc/[0-9]*/comm | sed 's,/proc/\(.*\)/comm,\1,'
}

# what the driver has received, what it has done with it, and what the stack
# has dropped before
counters() {
	local -n _counters="$1"

	# shellcheck disable=SC2034 # a reference to an array
	_counters=(
		[link]=$(bat_got gw_b)
		[good]=$(ofl_in gw_b cat \
			/sys/class/net/tun0/statistics/rx_packets)
		[drops]=$(bat_dropped gw_b tun0 rx)
		[errors]=$(gro_errors)
	)
}

# sweep MIN: each record that the driver has received is a packet or a drop
sweep() {
	# shellcheck disable=SC2034 # handed over by name
	local -A before after old new n
	local sent threads

	threaded 1
	defer threaded 0
	threads=$(napi_thread)
	[ "$(wc -w <<< "${threads}")" -eq 1 ] || {
		ofl_fail "NAPI threads: ${threads}"
		return
	}
	# cryptd has a queue on each CPU, and no order between them
	taskset -pc 0 "${threads}" >/dev/null || ofl_fail "not bound to a CPU"
	# each CPU has routes of its own: where there is no memory for that of
	# gw_b itself, IPv6 takes the next best one, and forwards
	bat_udp local 4 39701 -g 1250 -n 1 39701 ||
		ofl_fail "nothing came by the NAPI thread"
	bat_read before gw_b
	counters old
	sent=$(bat_sent gw_a)
	bat_faults "$1" -t "${threads}" || return 0
	sent=$(($(bat_sent gw_a) - sent))
	counters new
	bat_delta n old new
	bat_read after gw_b
	bat_delta GRO_DELTA before after
	[ "${n[link]}" -eq $((n[good] + n[drops])) ] ||
		ofl_fail "${n[link]} records, ${n[good]} packets," \
			"${n[drops]} drops"
	[ $((sent - n[link])) -le "${n[errors]}" ] ||
		ofl_fail "${sent} records sent, ${n[link]} received," \
			"${n[errors]} errors of UDP and IP"
	[ "${BAT_FAULTS[sent]}" -le $((BAT_FAULTS[received] + n[drops] +
				       n[errors])) ] ||
		ofl_fail "${BAT_FAULTS[sent]} datagrams sent," \
			"${BAT_FAULTS[received]} received"
}

batched() {
	bat_wan SPLIT
	sweep "$1"
	[ "${GRO_DELTA[rx_batch_records]}" -ge 64 ] ||
		ofl_fail "${GRO_DELTA[rx_batch_records]} records in batches"
}

single() {
	bat_wan SPLIT
	gro_switch off
	defer gro_switch on
	sweep "$1"
	[ "${GRO_DELTA[rx_batches]}" -eq 0 ] ||
		ofl_fail "${GRO_DELTA[rx_batches]} batches"
}

# it is UDP that cuts up what comes unsplit
whole() {
	bat_wan WHOLE
	ofl_in gw_a ethtool -K wan0 tso off >/dev/null
	ofl_in gw_b ethtool -K wan0 gro on
	sweep "$1"
}

# tapped COMMAND...: with somebody who holds clones of all that comes
tapped() {
	local fd pid
	local -A tap

	gro_tap fd pid gw_b wan0 -l || return 0
	"$@"
	ofl_capture_end "${fd}" "${pid}" tap
}

# what was lost remains lost: it is the difference that counts
link_equal() {
	[ $(($(bat_sent gw_a) - TX)) -eq $(($(bat_got gw_b) - RX)) ]
}

still_works() {
	bat_wan SPLIT
	TX=$(bat_sent gw_a)
	RX=$(bat_got gw_b)
	gro_counted bat_all
	busywait 5000 link_equal ||
		ofl_fail "$(($(bat_sent gw_a) - TX)) records sent," \
			"$(($(bat_got gw_b) - RX)) received"
	[ "${GRO_DELTA[rx_batch_records]}" -ge 500 ] ||
		ofl_fail "${GRO_DELTA[rx_batch_records]} records in batches"
}

# cases NAME SITES SITES_SINGLE
cases() {
	ofl_case "$1, batches: each allocation" batched "$2"
	ofl_case "$1, batches with a tap: each allocation" \
		tapped batched "$2"
	ofl_case "$1, single records: each allocation" single "$3"
	ofl_case "$1, single records with a tap: each allocation" \
		tapped single "$3"
	ofl_case "$1, WHOLE: each allocation" whole "$3"
	ofl_case "$1: traffic as before" still_works
}

set_up() {
	bat_setup_async "$@"
	gro_switch on
}

bat_need_faults
bat_need_provider cryptd
gro_begin 16
ofl_case "aes over IPv4: set up" gro_setup aes 4
cases "aes" 1 20
ofl_case "cryptd: forced" bat_provider cryptd
ofl_case "cryptd of chachapoly over IPv6: set up" set_up chachapoly 6
cases "cryptd of chachapoly" 20 20
ofl_case "cryptd: no user left" bat_provider_end

ktap_finished
