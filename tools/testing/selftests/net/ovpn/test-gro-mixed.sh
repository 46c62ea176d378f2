#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What must not be joined: control packets, keepalives, records of another key
# or peer, junk, all in one flow with records that may be joined.  The sender
# builds each packet itself (gro-peer), so that there is one right answer to
# how many packets are delivered, dropped, and left to user space.
#
# And what the wire does: duplicates, another order, damage, fragments.
#
# Taps in front of and behind GRO have to see the same datagrams in the same
# order, and within a chain one opcode word, one length and a shorter last one.
#
# Topology and veth modes: gro-common.sh.  gw_a is the sender, without a device.

source ./gro-common.sh

OUTER=4
SENDER=gw_a
ATTACH_FD=""
ATTACH_PID=""
REMOTE=192.0.2.1
TARGET=192.0.2.2
declare -A MIX

# mixed_setup OUTER [REMOTE TARGET]: the device is an MP one, gw_a has none
mixed_setup() {
	OUTER="$1"
	gro_setup aes "${OUTER}"
	ip -n "${gw_a}" link del tun0
	ip -n "${gw_b}" link del tun0
	for pid in $(ip netns pids "${gw_a}") $(ip netns pids "${gw_b}"); do
		[ "$(cat "/proc/${pid}/comm")" != ovpn-cli ] || kill "${pid}"
	done
	busywait 5000 port_free || ofl_fail "port 1194 is in use"
	REMOTE=192.0.2.1
	TARGET=192.0.2.2
	[ "${OUTER}" = 4 ] || REMOTE=2001:db8::1
	[ "${OUTER}" = 4 ] || TARGET=2001:db8::2
}

port_free() {
	[ -z "$(ofl_in gw_b ss -Hluan "sport = :1194")" ] &&
	[ -z "$(ofl_in gw_a ss -Hluan "sport = :1194")" ]
}

# attach PEERS: a new device with peers and keys, packet IDs from the beginning
attach() {
	local word=""

	ofl_in gw_b "${OVPN_CLI}" new_iface tun0 MP >/dev/null
	ip -n "${gw_b}" link set tun0 mtu 1400
	ofl_up gw_b tun0 10.9.0.2/24 fd09::2/64
	exec {ATTACH_FD}< <(exec ip netns exec "${gw_b}" ./gro-peer attach \
		-v -p "$1" tun0 "${REMOTE}" 1194 2>"${OFL_DIR}/attach")
	ATTACH_PID=$!
	read -r -t 20 -u "${ATTACH_FD}" word
	[ "${word}" = ready ] || ofl_fail "no peers: $(cat "${OFL_DIR}/attach")"
}

detach() {
	ofl_capture_end "${ATTACH_FD}" "${ATTACH_PID}" MIX
	ip -n "${gw_b}" link del tun0
	busywait 5000 port_free || ofl_fail "port 1194 is still in use"
}

words() {
	local -n _words="$1"
	local word

	for word in $2; do
		_words[${word%%=*}]=${word#*=}
	done
}

# mixed PEERS MIN ROUNDS SCRIPT [OPTION...]: send SCRIPT so often, compare; at
# least MIN of the records came in chains
mixed() {
	local peers="$1" min="$2" rounds="$3" script="$4"
	local fd fd_o pid_o fd_i pid_i
	local dropped good report="" before
	local -A sent got out in

	shift 4
	rm -f "${OFL_DIR}/stray"
	attach "${peers}"
	gro_tap fd_o pid_o gw_a wan0 -o -r \
		-x "${OFL_DIR}/digest_sent" || return 0
	gro_tap fd_i pid_i gw_b wan0 -x "${OFL_DIR}/digest_got" || return 0
	good=$(tr -cd abslpu <<< "${script}" | wc -c)
	good=$((good * rounds))
	exec {fd}< <(exec ip netns exec "${gw_b}" ./gro-peer recv "${good}")
	read -r -t 20 -u "${fd}" _ || ofl_fail "no receiver"
	before=$(dropped)
	gro_counted mixed_send -n "${rounds}" "$@" "${TARGET}" 1194 "${script}"
	words sent "$(cat "${OFL_DIR}/sent")"
	read -r -t 60 -u "${fd}" report
	exec {fd}<&-
	words got "${report}"
	ofl_capture_end "${fd_o}" "${pid_o}" out || return 0
	ofl_capture_end "${fd_i}" "${pid_i}" in || return 0
	dropped=$(($(dropped) - before))
	# counters, when all has arrived
	bat_read GRO_DELTA gw_b
	detach

	if ! { [ "${got[received]:-0}" -eq "${sent[good]}" ] &&
	       [ "${got[wrong]}" -eq 0 ] &&
	       [ "${got[disorder]}" -eq 0 ]; }; then
		ofl_fail "${sent[good]} good packets sent: ${report}"
	fi
	[ "${dropped}" -eq "${sent[dropped]}" ] ||
		ofl_fail "${dropped} of ${sent[dropped]} dropped"
	if ! { [ "${MIX[control]}" -eq "${sent[control]}" ] &&
	       [ "${MIX[bad]}" -eq 0 ]; }; then
		ofl_fail "${MIX[control]} of ${sent[control]} control" \
			"packets, ${MIX[bad]} bad:" \
			"$(head -n 3 "${OFL_DIR}/attach" | tr '\n' ',')"
	fi
	cmp -s "${OFL_DIR}/digest_sent" "${OFL_DIR}/digest_got" ||
		ofl_fail "GRO changed $(wc -l < "${OFL_DIR}/digest_sent")" \
			"datagrams, first at line $(cmp \
			"${OFL_DIR}/digest_sent" "${OFL_DIR}/digest_got" |
			sed 's/.*line //')"
	[ "${in[bad]}" -eq 0 ] ||
		ofl_fail "${in[bad]} bad chains:" \
			"$(head -n 3 "${OFL_DIR}/stray" | tr '\n' ',')"
	[ "${GRO_DELTA[rx_batch_records]}" -ge "${min}" ] ||
		ofl_fail "${GRO_DELTA[rx_batch_records]} records in batches," \
			"want ${min}"
}

mixed_send() {
	ofl_in "${SENDER}" "${BAT_PIN[@]}" ./gro-peer send "$@" \
		> "${OFL_DIR}/sent"
}

dropped() {
	ofl_in gw_b cat /sys/class/net/tun0/statistics/rx_dropped
}

# ended REASON MIN COMMAND...: so many chains took no more for that reason
ended() {
	local why="rx_batch_end_$1" min="$2"

	shift 2
	"$@"
	[ "${GRO_DELTA[${why}]}" -ge "${min}" ] ||
		ofl_fail "${why} counts ${GRO_DELTA[${why}]}, want ${min}"
}

# a record that nothing can join is no batch
unbatched() {
	mixed "$@"
	[ "${GRO_DELTA[rx_batches]}" -eq 0 ] ||
		ofl_fail "${GRO_DELTA[rx_batches]} batches"
}

TEN=aaaaaaaaaa

all_sorts() {
	ofl_case "${on}: one peer, one key" mixed 1 500 28 "${TEN}${TEN}"
	ofl_case "${on}: control packets" ended other 30 \
		mixed 1 300 40 "${TEN}c${TEN}ccaca"
	ofl_case "${on}: keepalives" ended other 30 \
		mixed 1 300 40 "${TEN}k${TEN}kkakac"
	ofl_case "${on}: two keys" ended key 30 \
		mixed 1 300 40 "${TEN}bbbbbbabababa"
	ofl_case "${on}: two keys in turns" unbatched 1 0 100 abc
	ofl_case "${on}: two peers" ended key 30 \
		mixed 2 300 40 "${TEN}ppppppapapapa"
	ofl_case "${on}: no peer ID" mixed 1 300 40 "${TEN}uuuuuuuuauauaa"
	ofl_case "${on}: lengths, shorter" ended short 30 \
		mixed 1 300 40 "${TEN}s${TEN}llsslaslas"
	ofl_case "${on}: lengths, longer" ended long 30 \
		mixed 1 300 40 "${TEN}l${TEN}llsslaslas"
	ofl_case "${on}: broken records" mixed 1 300 40 "${TEN}xaxxaaaxaxaaaa"
	ofl_case "${on}: nothing but broken records" \
		mixed 1 300 40 "xxxxxxxxxxxxxx"
	ofl_case "${on}: replays" mixed 1 300 40 "${TEN}raaarrraaaraar"
	ofl_case "${on}: unknown keys and peers" \
		mixed 1 300 40 "${TEN}yaqayyqqyyaaaa"
	ofl_case "${on}: junk" mixed 1 300 40 "${TEN}jajj1a11aza0aazz00j"
	ofl_case "${on}: everything" mixed 2 600 40 \
		"${TEN}cskxaabbbcapappplskyqjraa1aazaa0aac${TEN}"
	ofl_case "${on}: everything, no checksums" mixed 2 600 40 \
		"${TEN}cskxaabbbcapapppllkyqjraa1aazaa0aac${TEN}" -z
}

# --- what the wire does -------------------------------------------------------

numbers() {
	awk '{ print $1 }' "$1"
}

# wire NETEM-ARGUMENT...: packet IDs on the wire say what has to be delivered:
# each the first time, in that order.  IDs and numbers go together, 1 is 0.
wire() {
	local fd fd_o pid_o report="" before dropped rounds=40 good=1000 n
	local -A sent got out

	rm -f "${OFL_DIR}/stray"
	attach 1
	tc -n "${gw_a}" qdisc replace dev wan0 root netem limit 10000 "$@" || {
		detach
		ofl_skip "no netem here"
		return 0
	}
	defer tc -n "${gw_a}" qdisc replace dev wan0 root pfifo limit 10000
	gro_tap fd_o pid_o gw_a wan0 -o -r \
		-x "${OFL_DIR}/digest_sent" || return 0
	exec {fd}< <(exec ip netns exec "${gw_b}" ./gro-peer recv -a \
		-w "${OFL_DIR}/numbers" "${good}")
	read -r -t 20 -u "${fd}" _ || ofl_fail "no receiver"
	before=$(dropped)
	mixed_send -n "${rounds}" "${TARGET}" 1194 "${TEN}${TEN}aaaaa"
	words sent "$(cat "${OFL_DIR}/sent")"
	read -r -t 60 -u "${fd}" report
	exec {fd}<&-
	words got "${report}"
	ofl_capture_end "${fd_o}" "${pid_o}" out || return 0
	dropped=$(($(dropped) - before))
	n=$(bat_value gw_b rx_batch_records)
	detach

	awk '{ print $3 - 1 }' "${OFL_DIR}/digest_sent" > "${OFL_DIR}/on_wire"
	awk '!seen[$1]++' "${OFL_DIR}/on_wire" > "${OFL_DIR}/want"
	cmp -s "${OFL_DIR}/want" "${OFL_DIR}/numbers" ||
		ofl_fail "delivered $(wc -l < "${OFL_DIR}/numbers") of" \
			"$(wc -l < "${OFL_DIR}/want"): $(diff \
			"${OFL_DIR}/want" "${OFL_DIR}/numbers" | head -n 4 |
			tr '\n' ',')"
	[ "${got[wrong]}" -eq 0 ] || ofl_fail "${got[wrong]} wrong"
	WIRE_TWICE=$(($(wc -l < "${OFL_DIR}/on_wire") - \
		$(wc -l < "${OFL_DIR}/want")))
	[ "${dropped}" -eq "${WIRE_TWICE}" ] ||
		ofl_fail "${dropped} dropped, ${WIRE_TWICE} came twice"
	WIRE_LATE=$(awk '$1 < max { n++ } $1 > max { max = $1 }
		END { print n + 0 }' "${OFL_DIR}/want")
	[ "${n}" -ge 500 ] || ofl_fail "${n} records in batches"
}

# A copy has no socket, and a packet that comes by veth has its sender's: GRO
# tells such flows apart.  Behind a router neither of them has one.
duplicates() {
	SENDER=host_a
	REMOTE=10.1.0.2
	[ "${OUTER}" = 4 ] || REMOTE=fd01::2
	ip -n "${gw_b}" route replace 10.1.0.0/24 via 192.0.2.1
	ip -n "${gw_b}" route replace fd01::/64 via 2001:db8::1
	wire duplicate "$1"
	[ "${WIRE_TWICE:-0}" -gt "$2" ] || ofl_fail "${WIRE_TWICE} duplicates"
	SENDER=gw_a
	REMOTE=192.0.2.1
	[ "${OUTER}" = 4 ] || REMOTE=2001:db8::1
}

disorder() {
	wire delay 2ms reorder 80% gap 5
	[ "${WIRE_LATE:-0}" -gt 20 ] || ofl_fail "${WIRE_LATE} late"
}

# --- float --------------------------------------------------------------------

remote_is() {
	ofl_in gw_b "${OVPN_CLI}" get_peer tun0 1 2>&1 | grep -q "Remote: $1"
}

# the peer changes its port between two records of a row
floated() {
	local fd report="" want="$1" row="${TEN}${TEN}"
	local -A sent got

	attach 1
	exec {fd}< <(exec ip netns exec "${gw_b}" ./gro-peer recv -a 120)
	read -r -t 20 -u "${fd}" _ || ofl_fail "no receiver"
	# one change: GRO does not keep the order of two flows
	mixed_send "${TARGET}" 1194 \
		"${row}${row}${row}${TEN}F${row}${row}${TEN}"
	words sent "$(cat "${OFL_DIR}/sent")"
	read -r -t 60 -u "${fd}" report
	exec {fd}<&-
	words got "${report}"
	busywait 2000 remote_is "${want}" >/dev/null || ofl_fail "remote is" \
		"$(ofl_in gw_b "${OVPN_CLI}" get_peer tun0 1 2>&1 |
		   grep Remote), not ${want}"
	if ! { [ "${got[received]:-0}" -eq 120 ] &&
	       [ "${got[wrong]}" -eq 0 ]; }; then
		ofl_fail "120 sent: ${report}"
	fi
	[ "$(bat_value gw_b rx_batch_records)" -ge 60 ] ||
		ofl_fail "$(bat_value gw_b rx_batch_records) in batches"
	detach
}

link_local() {
	local a b idx

	a=$(ll_of gw_a)
	b=$(ll_of gw_b)
	idx=$(ofl_in gw_b cat /sys/class/net/wan0/ifindex)
	REMOTE="${a}%wan0"
	TARGET="${b}%wan0"
	mixed 1 500 40 "${TEN}${TEN}c${TEN}kaxa"
	floated "${a}:1196 (scope-id: ${idx})"
	REMOTE=2001:db8::1
	TARGET=2001:db8::2
}

ll_of() {
	ip -n "${!1}" -j -6 addr show dev wan0 scope link |
		jq -r '.[].addr_info[] | select(.local).local' | head -n 1
}

# --- fragments ----------------------------------------------------------------

# fragments_run SIZE: GRO holds what is not fragmented, and fragments overtake
# it: all are
fragments_run() {
	local send=$(($1 * (39000 / $1)))

	bat_udp local 4 $((40 * send)) -g "$1" -n 40 "${send}" &&
	bat_udp local 6 $((40 * send)) -g "$1" -n 40 "${send}"
}

# fragments OUTER TUNNEL-MTU WAN-MTU SIZE: a list of fragments is no list of
# records
fragments() {
	gro_setup aes "$1" "$2"
	ip -n "${gw_a}" link set wan0 mtu "$3"
	ip -n "${gw_b}" link set wan0 mtu "$3"
	gro_counted fragments_run "$4"
	# only what is not fragmented can join
	[ "${GRO_DELTA[rx_batch_records]}" -le 60 ] ||
		ofl_fail "${GRO_DELTA[rx_batch_records]} records in batches"
	[ "$(gro_errors)" -eq 0 ] || ofl_fail "$(gro_errors) errors"
	busywait 5000 ofl_peers_agree >/dev/null ||
		ofl_fail "peers' counters differ"
	[ "$(reassembled)" -gt 300 ] || ofl_fail "$(reassembled) reassembled"
}

# Whoever sends fragments has nothing to say about batches unless he has the
# key: records of a peer's ID that nobody has encrypted, while batches come.
forged() {
	local before drops n=40

	gro_setup aes "${OUTER}"
	{
		printf '\x48\x00\x00\x01'
		head -c 2996 /dev/zero
	} > "${OFL_DIR}/forged"
	before=$(reassembled)
	drops=$(dropped)
	gro_counted forged_run "${n}"
	[ $(($(reassembled) - before)) -eq "${n}" ] ||
		ofl_fail "$(($(reassembled) - before)) of ${n} reassembled"
	[ $(($(dropped) - drops)) -eq "${n}" ] ||
		ofl_fail "$(($(dropped) - drops)) of ${n} dropped"
	[ "${GRO_DELTA[rx_unbatched_fragments]}" -eq 0 ] ||
		ofl_fail "${GRO_DELTA[rx_unbatched_fragments]} records not held"
	[ "${GRO_DELTA[rx_batch_records]}" -ge 600 ] ||
		ofl_fail "${GRO_DELTA[rx_batch_records]} records in batches"
}

forged_run() {
	local to="192.0.2.2" pid i

	[ "${OUTER}" = 4 ] || to="[2001:db8::2]"
	for ((i = 0; i < $1; i++)); do
		cat "${OFL_DIR}/forged"
		# the next one when batches have come behind it
		busywait_for_counter 20000 64 tun0_packets >/dev/null || break
	done | ofl_in gw_a socat -u -b 3000 - \
		"UDP${OUTER}-SENDTO:${to}:1194" &
	pid=$!
	while kill -0 "${pid}" 2>/dev/null; do
		bat_udp local 4 $((40 * 38750)) -g 1250 -n 40 38750 || return
	done
	wait "${pid}"
}

tun0_packets() {
	ofl_in gw_b cat /sys/class/net/tun0/statistics/rx_packets
}

reassembled() {
	ofl_in gw_b cat /proc/net/snmp /proc/net/snmp6 | awk '
		$1 == "Ip:" && $2 !~ /^[0-9]/ {
			for (i = 2; i <= NF; i++) name[i] = $i
			next
		}
		$1 == "Ip:" {
			for (i = 2; i <= NF; i++)
				if (name[i] == "ReasmOKs") n += $i
		}
		$1 == "Ip6ReasmOKs" { n += $2 }
		END { print n + 0 }'
}

OUTER=${GRO_FAMILY:-4}
on="IPv${OUTER}"
gro_begin $((OUTER == 6 ? 25 : 24))
ofl_case "${on}: set up" mixed_setup "${OUTER}"
all_sorts
ofl_case "${on}: some come twice" duplicates 20% 100
ofl_case "${on}: all come twice" duplicates 100% 900
ofl_case "${on}: another order" disorder
ofl_case "${on}: float in a row" floated "${REMOTE}:1196"
[ "${OUTER}" = 4 ] || ofl_case "${on}: link-local peers" link_local
ofl_case "${on}: fragments" fragments "${OUTER}" 1400 \
	$((OUTER == 6 ? 1280 : 1000)) 1250
ofl_case "${on}: fragments of more than a page" fragments "${OUTER}" 8000 \
	$((OUTER == 6 ? 1280 : 1000)) 7000
ofl_case "${on}: forged fragments" forged

ktap_finished
