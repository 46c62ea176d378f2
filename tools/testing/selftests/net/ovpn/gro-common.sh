#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ground of the receive batch tests: what offload-common.sh and batch-common.sh
# set up and judge, and on top of it
#
#  - the counters of receive batches at the receiver, which is gw_b: batches
#    were formed, or were not, and no record was counted twice or not at all
#  - gro-stray, whose datagrams look like records and are checked one by one
#
# Receive batching follows GRO of the tunnel device, so it is on here, other
# than in the transmit tests: a capture on tun0 sees TCP merged.

source ./batch-common.sh

# shellcheck disable=SC2034 # read by the tests
GRO_ROUND=0
# shellcheck disable=SC2034 # read by the tests
declare -A GRO_DELTA
# addresses of gro_user_peer's ends
GRO_REMOTE=""
GRO_TARGET=""

# gro_begin CASES: begin a test of so many cases and two self-tests, or skip it
gro_begin() {
	bat_need_counter rx_batches
	ofl_begin "$(($1 + 2))"
	# shellcheck disable=SC2034 # read by the tests
	GRO_ROUND=$(./gro-stray round)
	ofl_case "the checker tells good datagrams from bad ones" \
		./gro-stray self-test
}

# gro_setup CIPHER OUTER_FAMILY [TUNNEL_MTU]: ofl_setup, batching on
gro_setup() {
	bat_setup "$@"
	gro_switch on
}

# gro_switch on|off [NS]: batching on receive
gro_switch() {
	ofl_in "${2:-gw_b}" ethtool -K tun0 gro "$1" ||
		ofl_fail "GRO of tun0 not switched $1"
}

# what must not happen meanwhile, all summed, on top of ofl_errors
gro_errors() {
	local ns

	for ns in host_a gw_a gw_b host_b; do
		ofl_in "${ns}" cat /proc/net/snmp /proc/net/snmp6
	done | awk '
		$1 ~ /:$/ && $2 !~ /^[-0-9]/ {
			for (i = 2; i <= NF; i++) name[i] = $i
			next
		}
		$1 == "Udp:" || $1 == "Ip:" {
			for (i = 2; i <= NF; i++)
				if (name[i] ~ /^(InErrors|ReasmFails)$/)
					n += $i
			next
		}
		$1 ~ /^(Udp6InErrors|Ip6ReasmFails)$/ { n += $2 }
		END { print n + 0 }'
}

# gro_counted COMMAND...: run it; what the counters of gw_b did is left in
# GRO_DELTA
gro_counted() {
	# shellcheck disable=SC2034 # handed over by name
	local -A before after
	local n sizes=0

	bat_read before gw_b
	"$@" || ofl_fail "failed: $*"
	bat_read after gw_b
	bat_delta GRO_DELTA before after
	for n in "${!GRO_DELTA[@]}"; do
		[[ "${n}" != rx_batch_size_* ]] ||
			sizes=$((sizes + GRO_DELTA[${n}]))
	done
	[ "${sizes}" -eq "${GRO_DELTA[rx_batches]}" ] ||
		ofl_fail "${GRO_DELTA[rx_batches]} batches, ${sizes} by size"
	if [ "${GRO_DELTA[rx_batch_records]}" -lt \
	     $((2 * GRO_DELTA[rx_batches])) ] ||
	   [ "${GRO_DELTA[rx_batch_records]}" -gt \
	     $((64 * GRO_DELTA[rx_batches])) ]; then
		ofl_fail "${GRO_DELTA[rx_batches]} batches of" \
			"${GRO_DELTA[rx_batch_records]} records"
	fi
}

# gro_checked MIN COMMAND...: run COMMAND, which moves traffic of which nothing
# may be lost; at least MIN records come in batches, and none where MIN is 0
gro_checked() {
	local min="$1" errors before msg

	shift
	errors=$(gro_errors)
	before=$(ofl_errors)
	gro_counted "$@"
	msg=$(busywait 5000 ofl_peers_agree) ||
		ofl_fail "peers' counters differ: ${msg}"
	if [ "${min}" -eq 0 ]; then
		[ "${GRO_DELTA[rx_batches]}" -eq 0 ] ||
			ofl_fail "${GRO_DELTA[rx_batches]} batches"
	else
		[ "${GRO_DELTA[rx_batch_records]}" -ge "${min}" ] ||
			ofl_fail "${GRO_DELTA[rx_batch_records]} records in" \
				"batches, want ${min}"
	fi
	errors=$(($(gro_errors) - errors))
	[ "${errors}" -eq 0 ] || ofl_fail "${errors} errors of UDP or IP"
	errors=$(($(ofl_errors) - before))
	[ "${errors}" -eq 0 ] ||
		ofl_fail "${errors} checksum errors or drops counted"
}

# gro_tap FD_VAR PID_VAR NS DEV [OPTION...]: start gro-stray tap
gro_tap() {
	local -n _fd="$1" _pid="$2"
	local ns="$3" dev="$4" word=""

	shift 4
	exec {_fd}< <(exec ip netns exec "${!ns}" ./gro-stray tap -v "$@" \
		"${dev}" 2>>"${OFL_DIR}/stray")
	_pid=$!
	if ! read -r -t 20 -u "${_fd}" word || [ "${word}" != ready ]; then
		ofl_fail "gro-stray did not start on ${dev}"
		return 1
	fi
}

# gro_tap_end FD PID ARRAY: when it has seen all, or nothing more comes
gro_tap_end() {
	local fd="$1" pid="$2"

	# it ends by itself
	timeout 10 tail --pid="${pid}" -f /dev/null
	ofl_capture_end "$@" 2>/dev/null
}

# gro_tap_good ARRAY WANT [SET]: a tap has seen WANT good datagrams, in order
gro_tap_good() {
	local -n _tap="$1"

	if ! { [ "${_tap[good]}" -eq "$2" ] &&
	       [ "${_tap[bad]}" -eq 0 ] && [ "${_tap[sums]}" -eq 0 ] &&
	       [ "${_tap[late]}" -eq 0 ] && [ "${_tap[gap]}" -eq 0 ] &&
	       [ "${_tap[lost]}" -eq 0 ]; }; then
		ofl_fail "$1: ${_tap[good]} good of $2, ${_tap[bad]} bad," \
			"${_tap[sums]} sums, ${_tap[late]} late," \
			"${_tap[gap]} missing, ${_tap[lost]} lost:" \
			"$(head -n 3 "${OFL_DIR}/stray" | tr '\n' ',')"
	fi
}

# gro_wire COMMAND...: on the wire as often as counted, each record has a
# datagram of its own
gro_wire() {
	local early late fd pid min max n
	local -A tap

	early=$(bat_sent gw_a)
	exec {fd}< <(exec ip netns exec "${gw_a}" ./record-oracle -o -r 0 \
		-a "${BAT_ALG}" -k 0:data64.key wan0)
	pid=$!
	read -r -t 20 -u "${fd}" _ || ofl_fail "record-oracle did not start"
	late=$(bat_sent gw_a)
	"$@" || ofl_fail "failed: $*"
	min=$(($(bat_sent gw_a) - late))
	ofl_capture_end "${fd}" "${pid}" tap || return 0
	max=$(($(bat_sent gw_a) - early))
	n=${tap[records]}
	if [ "${n}" -lt "${min}" ] || [ "${n}" -gt "${max}" ]; then
		ofl_fail "${n} records on the wire, ${min} to ${max} counted"
	fi
}

# --- peers in user space ------------------------------------------------------

# gro_user_peer CIPHER OUTER_FAMILY: as gro_setup, but gw_a has no device, and
# the peers are gro-peer's
# shellcheck disable=SC2034 # read by the tests
gro_user_peer() {
	local ns pid

	gro_setup "$1" "$2"
	GRO_REMOTE=192.0.2.1
	GRO_TARGET=192.0.2.2
	if [ "$2" = 6 ]; then
		GRO_REMOTE=2001:db8::1
		GRO_TARGET=2001:db8::2
	fi
	for ns in gw_a gw_b; do
		ip -n "${!ns}" link del tun0
		for pid in $(bat_holders "${ns}"); do
			kill "${pid}"
		done
	done
	busywait 5000 gro_port_free || ofl_fail "port 1194 is in use"
	gro_new_device
}

gro_new_device() {
	ofl_in gw_b "${OVPN_CLI}" new_iface tun0 MP >/dev/null
	ip -n "${gw_b}" link set tun0 mtu 1400
	ofl_up gw_b tun0 10.9.0.2/24 fd09::2/64
}

gro_port_free() {
	gro_port_free_at gw_a && gro_port_free_at gw_b
}

gro_port_free_at() {
	[ -z "$(ofl_in "$1" ss -Hluan "sport = :1194")" ]
}
