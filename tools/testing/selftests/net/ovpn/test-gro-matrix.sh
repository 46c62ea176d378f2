#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Batches on receive against single records, on each kind of wire: files and
# datagrams arrive in order and undamaged with batching on, off, and on again,
# batches are formed where GRO runs and nowhere else, and both ends count the
# same records.
#
# Topology, veth modes (of the wan here) and oracles: gro-common.sh

source ./gro-common.sh

# 10 times 31 datagrams of 1250 bytes and one of 951
UDP_BYTES=$((10 * 39701))

udp() {
	bat_udp local 4 "${UDP_BYTES}" -g 1250 -n 10 39701
}

on_and_off() {
	local want=0

	bat_wan "$1"
	# all of UDP and most of TCP
	[ "$1" = SPLIT ] && want=1200
	gro_checked "${want}" gro_wire bat_all
	gro_switch off
	gro_checked 0 bat_all
	gro_switch on
	[ "${want}" -eq 0 ] || want=300
	gro_checked "${want}" \
		bat_udp local 6 "${UDP_BYTES}" -g 1250 -n 10 39701
}

# GSO packets come in unsplit and GRO runs, which it does on a veth whose other
# end has no TSO: they are no records that could join, and single ones are
whole_gro() {
	bat_wan WHOLE
	ofl_in gw_a ethtool -K wan0 tso off >/dev/null
	ofl_in gw_b ethtool -K wan0 gro on
	gro_checked 0 udp
	bat_switch off
	defer bat_switch on
	gro_checked 1200 bat_all
}

wan_sums() {
	ofl_in "$1" ethtool -K wan0 "$2" "$3" >/dev/null 2>&1
}

# the checksum is in the packet, not in the hands of a device
summed() {
	bat_wan SPLIT
	wan_sums gw_a tx off
	defer wan_sums gw_a tx on
	gro_checked 1200 bat_all
	wan_sums gw_b rx off
	defer wan_sums gw_b rx on
	gro_checked 1200 bat_all
}

unsummed() {
	bat_wan SPLIT
	bat_nocheck 1 || ofl_fail "checksums not switched off"
	defer bat_nocheck 0
	gro_checked 1200 bat_all
}

# Where records come alone, GRO tries with every eighth only: a burst begins
# with up to seven more.  The second one has other numbers than the first.  Each
# ping is a command of its own: one that hurries does not wait for late answers.
alone() {
	local round got=0 n

	bat_wan SPLIT
	for round in 1 2; do
		for n in {1..21}; do
			ofl_in gw_a ping -q -c 1 -W 10 "${OFL_ADDR[local4]}" \
				>/dev/null || ofl_fail "no ping ${n}.${round}"
		done
		gro_counted bat_udp local 4 39701 -g 1250 -n 1 39701
		got=$((got + GRO_DELTA[rx_batch_records]))
	done
	[ "${got}" -gt 0 ] || ofl_fail "no chains any more"
	[ "${got}" -lt 64 ] || ofl_fail "each of ${got} records was waited for"
}

modes() {
	local mode

	gro_begin 5
	on="${CIPHER} over IPv${FAMILY}"
	ofl_case "${on}: set up" gro_setup "${CIPHER}" "${FAMILY}"
	for mode in SPLIT WHOLE NOGRO; do
		ofl_case "${on}, ${mode}: batching on, off, on" \
			on_and_off "${mode}"
	done
	ofl_case "${on}: records that come alone" alone
}

checksums() {
	gro_begin 8
	for FAMILY in 4 6; do
		on="${CIPHER} over IPv${FAMILY}"
		ofl_case "${on}: set up" gro_setup "${CIPHER}" "${FAMILY}"
		ofl_case "${on}, WHOLE with GRO" whole_gro
		ofl_case "${on}, SPLIT: checksums computed" summed
		ofl_case "${on}, SPLIT: no checksums" unsummed
	done
}

CIPHER="${GRO_CIPHER:-aes}"
FAMILY="${GRO_FAMILY:-4}"

if [ "${GRO_CHECKSUMS:-no}" = yes ]; then
	checksums
else
	modes
fi

ktap_finished
