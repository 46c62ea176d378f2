#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Memory runs out while batches are sent: one after the other, each allocation
# fails that the sender makes below its socket, also where batches are not
# possible and records are sent one by one, and with an AEAD whose requests
# complete later.  Order is kept, nothing is damaged, what is lost is counted,
# and all is well afterwards.
#
# Topology, veth modes (of the wan here) and oracles: batch-common.sh

source ./batch-common.sh

# what cannot be batched goes out record by record for it
NO_MEMORY=tx_unbatched_memory

link_agrees() {
	local sent got

	sent=$(($(bat_sent gw_a) - TX))
	got=$(($(bat_got gw_b) - RX))
	[ "${sent}" -le $((got + 32 * ($(bat_dropped gw_a wan0 tx) - WAN))) ]
}

# sweep MIN [OPTION...]: a datagram is a record on the wire, or a drop by the
# device.  The stack below drops what it has not cut yet, up to 32 records at
# once.
sweep() {
	# shellcheck disable=SC2034 # handed over by name
	local -A before after
	local sent gone

	bat_read before gw_a
	TX=$(bat_sent gw_a)
	RX=$(bat_got gw_b)
	WAN=$(bat_dropped gw_a wan0 tx)
	gone=$(bat_dropped gw_a tun0 tx)
	bat_faults "$@" || return 0
	sent=$((BAT_FAULTS[sent] + BAT_FAULTS[markers]))
	gone=$(($(bat_dropped gw_a tun0 tx) - gone))
	bat_read after gw_a
	bat_delta BAT_DELTA_A before after
	[ $((sent - $(bat_sent gw_a) + TX)) -le "${gone}" ] ||
		ofl_fail "${sent} datagrams, $(($(bat_sent gw_a) - TX))" \
			"records, ${gone} drops"
	busywait 5000 link_agrees ||
		ofl_fail "$(($(bat_sent gw_a) - TX)) records sent," \
			"$(($(bat_got gw_b) - RX)) received," \
			"$(($(bat_dropped gw_a wan0 tx) - WAN)) drops by wan0"
	[ "${BAT_DELTA_A[tx_batch_drops]}" -eq 0 ] ||
		ofl_fail "${BAT_DELTA_A[tx_batch_drops]} records of batches" \
			"dropped"
}

# nothing is lost for a batch that there is no memory for
batched() {
	bat_wan "$1"
	sweep 4
	[ "${BAT_DELTA_A[tx_batches]}" -ge 4 ] ||
		ofl_fail "${BAT_DELTA_A[tx_batches]} batches"
	[ "${BAT_DELTA_A[${NO_MEMORY}]}" -gt 0 ] ||
		ofl_fail "no batch without memory"
	bat_reasons memory
	[ "$1" != WHOLE ] ||
	[ "${BAT_FAULTS[sent]}" -eq "${BAT_FAULTS[received]}" ] ||
		ofl_fail "${BAT_FAULTS[sent]} sent," \
			"${BAT_FAULTS[received]} received"
}

# as many pages as it takes: smaller ones are no way out
no_pages() {
	bat_wan WHOLE
	bat_no_pages
	sweep 20 -a 20
	[ "${BAT_DELTA_A[${NO_MEMORY}]}" -ge 20 ] ||
		ofl_fail "${BAT_DELTA_A[${NO_MEMORY}]} batches without memory"
	bat_reasons memory
}

# a batch is cut up by the driver
unbatched() {
	bat_wan SPLIT
	bat_nocheck 1 || ofl_fail "checksums not switched off"
	defer bat_nocheck 0
	sweep 60
	bat_unbatched "$1"
}

# a batch is cut up before it comes to the driver
switched_off() {
	bat_wan SPLIT
	bat_switch off
	defer bat_switch on
	sweep 60
	bat_off
}

# what was lost remains lost: it is the difference that counts
link_equal() {
	[ $(($(bat_sent gw_a) - TX)) -eq $(($(bat_got gw_b) - RX)) ]
}

still_works() {
	# shellcheck disable=SC2034 # handed over by name
	local -A before after

	bat_wan "$1"
	bat_read before gw_a
	TX=$(bat_sent gw_a)
	RX=$(bat_got gw_b)
	bat_all || ofl_fail "failed: bat_all"
	busywait 5000 link_equal ||
		ofl_fail "$(($(bat_sent gw_a) - TX)) records sent," \
			"$(($(bat_got gw_b) - RX)) received"
	bat_read after gw_a
	bat_delta BAT_DELTA_A before after
	bat_batched 500
}

# cases NAME
cases() {
	ofl_case "$1, WHOLE: each allocation" batched WHOLE
	ofl_case "$1, SPLIT: each allocation" batched SPLIT
	ofl_case "$1, WHOLE: no pages" no_pages
	ofl_case "$1: each allocation, no checksums" unbatched no_csum
	ofl_case "$1: each allocation, batching off" switched_off
	ofl_case "$1, WHOLE: traffic as before" still_works WHOLE
	ofl_case "$1, SPLIT: traffic as before" still_works SPLIT
}

bat_need_faults
bat_need_provider cryptd
bat_begin 18
ofl_case "aes over IPv4: set up" bat_setup aes 4
cases "aes"
ofl_case "cryptd: forced" bat_provider cryptd
ofl_case "cryptd of chachapoly over IPv6: set up" bat_setup_async chachapoly 6
cases "cryptd of chachapoly"
ofl_case "cryptd: no user left" bat_provider_end

ktap_finished
