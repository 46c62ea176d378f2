#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Who looks at packets on their way from the wire to the tunnel - a packet
# socket, a tc mirror, nft dup - shares the chain and the data of its records
# with the driver, which takes the one apart and decrypts the other.  A reader
# that takes nothing out of its socket until all has arrived must find each
# record as it was sent, and the traffic is none the wiser.
#
# What gw_a sends is decrypted by record-oracle.  What the readers at gw_b see
# has to be the same, byte for byte.
#
# Topology and veth modes: gro-common.sh

source ./gro-common.sh

FAMILY=${GRO_FAMILY:-4}
declare -A IP=([4]=ip [6]=ip6)
declare -A LAN=([4]=10.2.0.2 [6]=fd02::2)

# rows of 64 records, which is as long as chains get, and some of everything
traffic() {
	bat_udp local 4 $((10 * 38400)) -g 600 -n 10 38400 &&
	bat_udp local 6 $((10 * 39701)) -g 1250 -n 10 39701 &&
	ofl_stream TCP fwd 4 medium
}

tap_setup() {
	gro_setup aes "${FAMILY}"
	# a ring that holds back what a burst puts beyond it, not a backlog
	ofl_in gw_b ethtool -K lan0 tso off >/dev/null
	ofl_in host_b ethtool -K eth0 gro on
	# or it is told that they do not fit who sent the original of the copies
	ip -n "${gw_b}" link set lan0 mtu 2000
	ip -n "${host_b}" link set eth0 mtu 2000
}

# reading "NS DEV OPTIONS"... -- COMMAND...: what is sent, and what each of the
# readers holds until the end
reading() {
	local readers=() fds=() pids=() fd pid fd_o pid_o n words digest missing
	local -A sent got

	while [ "$1" != -- ]; do
		readers+=("$1")
		shift
	done
	shift
	rm -f "${OFL_DIR}"/stray "${OFL_DIR}"/wire_* "${OFL_DIR}"/digest_*
	bat_oracle fd_o pid_o gw_a 0 || return 0
	for n in "${!readers[@]}"; do
		read -r -a words <<< "${readers[n]}"
		gro_tap fd pid "${words[@]}" -l -x "${OFL_DIR}/digest_${n}" ||
			return 0
		fds+=("${fd}")
		pids+=("${pid}")
	done
	# inside of the time in which they read
	gro_tap fd pid gw_a wan0 -o -x "${OFL_DIR}/digest_sent" || return 0
	fds+=("${fd}")
	pids+=("${pid}")
	"$@" || ofl_fail "failed: $*"
	# nothing is under way any more
	busywait 5000 ofl_peers_agree >/dev/null ||
		ofl_fail "peers' counters differ"
	ofl_capture_end "${fd_o}" "${pid_o}" sent || return 0
	if ! { [ "${sent[bad]}" -eq 0 ] && [ "${sent[lost]}" -eq 0 ]; }; then
		ofl_fail "${sent[bad]} faults, ${sent[lost]} lost at the sender"
	fi
	ofl_capture_end "${fds[-1]}" "${pids[-1]}" got || return 0
	sort "${OFL_DIR}/digest_sent" > "${OFL_DIR}/digest"
	for n in "${!readers[@]}"; do
		ofl_capture_end "${fds[n]}" "${pids[n]}" got ||
			return 0
		[ "${got[lost]}" -eq 0 ] ||
			ofl_fail "${readers[n]}: lost ${got[lost]}"
		[ "${got[bad]}" -eq 0 ] ||
			ofl_fail "${readers[n]}: ${got[bad]} bad"
		[ "${got[sums]}" -eq 0 ] ||
			ofl_fail "${readers[n]}: ${got[sums]} wrong checksums"
		READ_LONGEST=${got[longest]}
		digest="${OFL_DIR}/digest_${n}"
		missing=$(sort "${digest}" | comm -13 - "${OFL_DIR}/digest" |
			wc -l)
		[ "${missing}" -eq 0 ] ||
			ofl_fail "${readers[n]}: ${missing} of" \
				"$(wc -l < "${OFL_DIR}/digest") sent are not" \
				"among the $(wc -l < "${digest}") that were" \
				"read"
	done
}

# chains are what is read
chains() {
	[ "${READ_LONGEST}" -eq 64 ] ||
		ofl_fail "the longest chain that was read has" \
			"${READ_LONGEST} records"
}

tapped() {
	gro_checked 1200 reading "gw_b wan0" -- traffic
	chains
}

mirror_dev() {
	ip -n "${gw_b}" link add "$1" type dummy
	defer ip -n "${gw_b}" link del "$1"
	ofl_in gw_b sysctl -qw "net.ipv6.conf.$1.disable_ipv6=1"
	ip -n "${gw_b}" link set "$1" up mtu 65535
}

mirror_to() {
	if ! tc -n "${gw_b}" filter add dev wan0 ingress matchall \
		action mirred egress mirror dev "$1"; then
		ofl_skip "no mirror action here"
		return 1
	fi
}

mirrored() {
	mirror_dev mirror0
	tc -n "${gw_b}" qdisc add dev wan0 clsact
	defer tc -n "${gw_b}" qdisc del dev wan0 clsact
	mirror_to mirror0 || return 0
	gro_checked 1200 reading "gw_b mirror0 -o" -- traffic
	chains
}

# the copy is segmented while the original is decrypted
mirrored_cut() {
	ip -n "${gw_b}" link add cut0 type veth peer name cut1
	defer ip -n "${gw_b}" link del cut0
	ofl_in gw_b sysctl -qw net.ipv6.conf.cut0.disable_ipv6=1 \
		net.ipv6.conf.cut1.disable_ipv6=1
	ip -n "${gw_b}" link set cut0 up
	ip -n "${gw_b}" link set cut1 up
	tc -n "${gw_b}" qdisc add dev cut0 root pfifo limit 10000
	ofl_in gw_b ethtool -K cut0 tx-gso-list off >/dev/null 2>&1
	tc -n "${gw_b}" qdisc add dev wan0 clsact
	defer tc -n "${gw_b}" qdisc del dev wan0 clsact
	mirror_to cut0 || return 0
	gro_checked 1200 reading "gw_b cut1" "gw_b wan0" -- traffic
	chains
}

nft_table() {
	if ! ofl_in gw_b nft -f - <<-NFT
	table $1 tap {
		chain pre {
			type filter hook $2
			udp dport 1194 dup to $3
		}
	}
	NFT
	then
		ofl_skip "no dup in nft here"
		return 1
	fi
	defer ofl_in gw_b nft delete table "$1" tap
}

duplicated() {
	nft_table "${IP[${FAMILY}]}" "prerouting priority raw;" \
		"${LAN[${FAMILY}]} device lan0" || return 0
	gro_checked 1200 reading "host_b eth0" -- traffic
	chains
}

duplicated_cut() {
	ofl_in gw_b ethtool -K lan0 tx-gso-list off >/dev/null 2>&1
	defer ofl_in gw_b ethtool -K lan0 tx-gso-list on
	nft_table "${IP[${FAMILY}]}" "prerouting priority raw;" \
		"${LAN[${FAMILY}]} device lan0" || return 0
	gro_checked 1200 reading "host_b eth0" -- traffic
	[ "${READ_LONGEST}" -eq 1 ] || ofl_fail "not cut"
}

duplicated_netdev() {
	mirror_dev mirror0
	nft_table netdev "ingress device wan0 priority 0;" mirror0 || return 0
	gro_checked 1200 reading "gw_b mirror0 -o" -- traffic
	chains
}

# all at once
crowd() {
	mirror_dev mirror0
	mirror_dev mirror1
	tc -n "${gw_b}" qdisc add dev wan0 clsact
	defer tc -n "${gw_b}" qdisc del dev wan0 clsact
	mirror_to mirror0 || return 0
	nft_table netdev "ingress device wan0 priority 0;" mirror1 || return 0
	gro_checked 1200 reading "gw_b wan0" "gw_b wan0" "gw_b mirror0 -o" \
		"gw_b mirror1 -o" -- traffic
	chains
}

on="IPv${FAMILY}"
gro_begin 8
ofl_case "${on}: set up" tap_setup
ofl_case "${on}: packet socket held" tapped
ofl_case "${on}: tc mirror held" mirrored
ofl_case "${on}: tc mirror cut, packet socket held" mirrored_cut
ofl_case "${on}: nft dup to another host held" duplicated
ofl_case "${on}: nft dup to another host cut" duplicated_cut
ofl_case "${on}: nft dup to a device held" duplicated_netdev
ofl_case "${on}: all at once" crowd

ktap_finished
