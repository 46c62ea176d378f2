#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ground of the offload tests: the topology, what is sent, and what has to hold
# whatever was sent.
#
#   host_a              gw_a                     gw_b              host_b
#  +------+  lan   +------------+    wan     +------------+  lan  +------+
#  | eth0 |--------| lan0  wan0 |============| wan0  lan0 |-------| eth0 |
#  +------+        |    tun0 ~~~~~~~~~~~~~~~~~~~~ tun0    |       +------+
#                  +------------+    ovpn    +------------+
#
#  lan a   10.1.0.1 (gw_a)  10.1.0.2 (host_a)   fd01::1  fd01::2
#  lan b   10.2.0.1 (gw_b)  10.2.0.2 (host_b)   fd02::1  fd02::2
#  tunnel  10.9.0.1 (gw_a)  10.9.0.2 (gw_b)     fd09::1  fd09::2
#  wan     192.0.2.1, .2                        2001:db8::1, ::2
#
# "local" traffic runs from gw_a to gw_b, "forwarded" from host_a to host_b.
#
# veth modes: WHOLE lets super-packets cross unsplit.  SPLIT makes the sending
# end cut them and the receiving end run GRO, like a NIC.  NOGRO is SPLIT
# without GRO.  The wan is always SPLIT; the mode of the lans is a test's
# choice, WHOLE unless it says otherwise.
#
# The oracle: on both tun0, with GRO off, pktcheck computes every inner checksum
# of every received packet again.  Next to it the stacks' own checksum error
# counters, the drops of the tunnel devices and the peers' counters are judged.

OVPN_UDP_PEERS_FILE=${OVPN_UDP_PEERS_FILE:-/dev/null}
source ./common.sh
source ../lib.sh

OFL_PORT=5001
OFL_SEEN_ERRORS=0
# shellcheck disable=SC2034 # read by the tests
declare -A OFL_A OFL_B OFL_TAP
# the namespaces, named by setup_ns
host_a="" gw_a="" gw_b="" host_b=""
declare -A OFL_ADDR=(
	[local4]=10.9.0.2 [local6]=fd09::2 [fwd4]=10.2.0.2 [fwd6]=fd02::2
)

ofl_in() {
	local ns="$1"

	shift
	ip netns exec "${!ns}" "$@"
}

# report a failure of the running case; the case goes on
ofl_fail() {
	RET=${ksft_fail}
	retmsg+="${retmsg:+; }$*"
}

# ofl_broken WORDS...: that, and be false
ofl_broken() {
	ofl_fail "$@"
	return 1
}

ofl_skip() {
	RET=${ksft_skip}
	retmsg="$*"
}

# ofl_case NAME COMMAND...: one TAP line
ofl_case() {
	local name="$1"

	shift
	RET=0
	retmsg=""
	in_defer_scope "$@" || ofl_fail "$* returned an error"
	case ${RET} in
	0)
		ktap_test_pass "${name}"
		;;
	"${ksft_skip}")
		ktap_print_msg "${name}: ${retmsg}"
		ktap_test_skip "${name}"
		;;
	*)
		ktap_print_msg "${name}: ${retmsg}"
		ktap_test_fail "${name}"
		;;
	esac
}

ofl_exit() {
	# an exit that nobody planned must not look like a short success
	local rc=$?

	cleanup_all_ns
	rm -rf "${OFL_DIR}"
	exit "${rc}"
}

ofl_begin() {
	local tool

	ktap_print_header
	for tool in ip ethtool socat jq; do
		if ! command -v "${tool}" >/dev/null; then
			ktap_skip_all "${tool} not found"
			exit "${KSFT_SKIP}"
		fi
	done
	modprobe -q ovpn
	OFL_DIR=$(mktemp -d)
	trap ofl_exit EXIT
	ktap_set_plan "$1"
	head -c 2M /dev/urandom > "${OFL_DIR}/random"
	# the payload that pktcheck and udp-gso know: 0x5a
	head -c 1M /dev/zero | tr '\0' Z > "${OFL_DIR}/plain"
	head -c 512K "${OFL_DIR}/random" > "${OFL_DIR}/medium"
	printf 'small' > "${OFL_DIR}/small"
	ofl_case "the checker tells good checksums from bad ones" \
		./pktcheck -s
}

ofl_veth_features() {
	local mode="$1"
	local gro=on
	local seg=off

	[ "${mode}" = WHOLE ] && seg=on && gro=off
	[ "${mode}" = NOGRO ] && gro=off
	shift
	ofl_in "$1" ethtool -K "$2" tso "${seg}" \
		tx-udp-segmentation "${seg}" gro "${gro}" >/dev/null
	# GRO waits for the next segment, however slow its sender is
	ofl_in "$1" sh -c \
		"echo 20000000 > /sys/class/net/$2/gro_flush_timeout"
}

ofl_lan_mode() {
	ofl_veth_features "$1" host_a eth0
	ofl_veth_features "$1" gw_a lan0
	ofl_veth_features "$1" gw_b lan0
	ofl_veth_features "$1" host_b eth0
}

ofl_link() {
	ip link add "$2" netns "${!1}" mtu "$5" type veth \
		peer name "$4" netns "${!3}" mtu "$5"
	# a full veth ring holds packets back instead of dropping them
	tc -n "${!1}" qdisc add dev "$2" root pfifo limit 10000
	tc -n "${!3}" qdisc add dev "$4" root pfifo limit 10000
	ofl_neighbours "$1" "$2"
	ofl_neighbours "$3" "$4"
}

# ofl_neighbours NS DEV: who has been resolved stays so for an hour, also where
# a case takes the way of the answer from a probe
ofl_neighbours() {
	ofl_in "$1" sysctl -qw \
		"net.ipv4.neigh.$2.base_reachable_time_ms=7200000" \
		"net.ipv6.neigh.$2.base_reachable_time_ms=7200000"
}

ofl_up() {
	ip -n "${!1}" addr add "$3" dev "$2"
	ip -n "${!1}" addr add "$4" dev "$2" nodad
	ip -n "${!1}" link set "$2" up
}

ofl_peer() {
	local ns="$1" alg="$2" remote="$3" dir="$4" mtu="$5"

	ofl_in "${ns}" "${OVPN_CLI}" new_iface tun0 P2P >/dev/null
	ip -n "${!ns}" link set tun0 mtu "${mtu}"
	ofl_up "${ns}" tun0 "10.9.0.$((dir + 1))/24" "fd09::$((dir + 1))/64"
	ofl_in "${ns}" "${OVPN_CLI}" new_peer tun0 1 none 1194 \
		"${remote}" 1194
	ofl_in "${ns}" "${OVPN_CLI}" new_key tun0 1 1 0 "${alg}" "${dir}" \
		data64.key
	ofl_in "${ns}" ethtool -K tun0 gro off
}

# ofl_setup CIPHER OUTER_FAMILY [TUNNEL_MTU]: build the topology, anew if needed
ofl_setup() {
	local alg="$1" outer="$2" mtu="${3:-1400}"
	local remote_a=192.0.2.2 remote_b=192.0.2.1
	local ns wan=1500

	if [ "${outer}" = 6 ]; then
		remote_a=2001:db8::2
		remote_b=2001:db8::1
	fi
	# a record of a large tunnel MTU still fits the wan unfragmented
	[ "${mtu}" -gt 1400 ] && wan=65535

	setup_ns host_a gw_a gw_b host_b || return
	ofl_link host_a eth0 gw_a lan0 1400
	ofl_link gw_a wan0 gw_b wan0 "${wan}"
	ofl_link gw_b lan0 host_b eth0 1400
	ofl_up host_a eth0 10.1.0.2/24 fd01::2/64
	ofl_up gw_a lan0 10.1.0.1/24 fd01::1/64
	ofl_up gw_a wan0 192.0.2.1/24 2001:db8::1/64
	ofl_up gw_b wan0 192.0.2.2/24 2001:db8::2/64
	ofl_up gw_b lan0 10.2.0.1/24 fd02::1/64
	ofl_up host_b eth0 10.2.0.2/24 fd02::2/64
	for ns in gw_a gw_b; do
		ofl_in "${ns}" sysctl -qw net.ipv4.ip_forward=1 \
			net.ipv6.conf.all.forwarding=1
	done
	ofl_veth_features SPLIT gw_a wan0
	ofl_veth_features SPLIT gw_b wan0
	ofl_lan_mode WHOLE

	ofl_peer gw_a "${alg}" "${remote_a}" 0 "${mtu}" || return
	ofl_peer gw_b "${alg}" "${remote_b}" 1 "${mtu}" || return

	ip -n "${host_a}" route add default via 10.1.0.1
	ip -n "${host_a}" route add default via fd01::1
	ip -n "${host_b}" route add default via 10.2.0.1
	ip -n "${host_b}" route add default via fd02::1
	ip -n "${gw_a}" route add 10.2.0.0/24 via 10.9.0.2
	ip -n "${gw_a}" route add fd02::/64 via fd09::2
	ip -n "${gw_b}" route add 10.1.0.0/24 via 10.9.0.1
	ip -n "${gw_b}" route add fd01::/64 via fd09::1
	OFL_SEEN_ERRORS=0

	# addresses resolved and routes cached before anything is counted
	ofl_in host_a ping -q -c 1 -W 10 10.2.0.2 >/dev/null &&
	ofl_in host_a ping -q -c 1 -W 10 fd02::2 >/dev/null
}

ofl_setup_case() {
	ofl_setup "$@" || ofl_fail "topology not set up or no ping through it"
}

# ofl_states NS DEV FEATURE...: true, false, or null where nobody knows it
ofl_states() {
	local names

	# ethtool lists this one by its old name only
	names="${*:3}"
	names="${names/tx-generic-segmentation/generic-segmentation-offload}"
	# shellcheck disable=SC2016 # $f is jq's
	ofl_in "$1" ethtool --json -k "$2" | jq -r --arg f "${names}" \
		'.[0] as $all | $f | split(" ")[] | $all[.].active'
}

# ofl_feature NS DEV on|off FEATURE...: switch, and see that it is switched
ofl_feature() {
	local ns="$1" dev="$2" to="$3" want=true state feature pairs=()

	shift 3
	[ "${to}" = on ] || want=false
	for feature in "$@"; do
		pairs+=("${feature}" "${to}")
	done
	state=$(ofl_in "${ns}" ethtool -K "${dev}" "${pairs[@]}" 2>&1) ||
		ofl_fail "ethtool -K ${dev} ${pairs[*]}: ${state}"
	for state in $(ofl_states "${ns}" "${dev}" "$@"); do
		[ "${state}" = "${want}" ] ||
			ofl_fail "${dev}: $1 is ${state}, switched ${to}"
		shift
	done
}

# ofl_need FEATURE...: skip the running case where the device offers less
ofl_need() {
	local state

	for state in $(ofl_states gw_a tun0 "$@"); do
		if [ "${state}" != true ]; then
			ofl_skip "tun0 does not offer $1"
			return 1
		fi
		shift
	done
}

# ofl_capture FD_VAR PID_VAR NS DEV [OPTION...]: start pktcheck, wait until it
# captures
ofl_capture() {
	local -n _fd="$1" _pid="$2"
	local ns="$3" dev="$4" word=""

	shift 4
	exec {_fd}< <(exec ip netns exec "${!ns}" ./pktcheck "$@" -v "${dev}" \
		2>>"${OFL_DIR}/faults_${ns}")
	_pid=$!
	if ! read -r -t 20 -u "${_fd}" word || [ "${word}" != ready ]; then
		ofl_fail "pktcheck did not start on ${dev}"
		return 1
	fi
}

# ofl_capture_end FD PID ARRAY: stop it and read its counts
ofl_capture_end() {
	local -n _counts="$3"
	local fd="$1" report="" word

	_counts=()
	kill -TERM "$2"
	read -r -t 60 -u "${fd}" report
	exec {fd}<&-
	for word in ${report}; do
		_counts[${word%%=*}]=${word#*=}
	done
	if [ -z "${_counts[packets]}" ]; then
		ofl_fail "pktcheck gave no counts"
		return 1
	fi
}

# checksum errors of the stacks and drops of the tunnel devices, all summed
ofl_errors() {
	local ns stats=/sys/class/net/tun0/statistics

	# no SCTP and no tunnel device everywhere
	for ns in host_a gw_a gw_b host_b; do
		ofl_in "${ns}" cat /proc/net/snmp /proc/net/snmp6 \
			/proc/net/sctp/snmp "${stats}/rx_dropped" \
			"${stats}/tx_dropped" 2>/dev/null
	done | awk '
		# Tcp: NAME... and then Tcp: VALUE...
		$1 ~ /:$/ && $2 !~ /^[-0-9]/ {
			for (i = 2; i <= NF; i++) name[i] = $i
			next
		}
		$1 ~ /:$/ {
			for (i = 2; i <= NF; i++)
				if (name[i] ~ /CsumErrors$/) n += $i
			next
		}
		NF == 2 && $1 ~ /(Csum|Checksum)Errors$/ { n += $2 }
		NF == 1 { n += $1 }
		END { print n + 0 }'
}

# what the peer's counters at both ends say, and whether they say the same
ofl_peers_agree() {
	local ns dir unit stats=/sys/class/net/tun0/statistics

	for ns in gw_a gw_b; do
		ofl_in "${ns}" "${OVPN_CLI}" get_peer tun0 1 2>&1 |
			sed "s/^/${ns} /"
		for dir in rx tx; do
			for unit in bytes packets; do
				echo "${ns} DEV ${dir^^} ${unit}:" \
					"$(ofl_in "${ns}" \
					cat "${stats}/${dir}_${unit}")"
			done
		done
	done | awk '
		# gw_a VPN TX bytes: 123
		$2 ~ /^(VPN|LINK|DEV)$/ { n[$1, $2, $3, $4] = $5; seen++ }
		function differ(from, to, layer, unit,   sent, got) {
			sent = n[from, layer, "TX", unit]
			got = n[to, layer, "RX", unit]
			if (sent == got)
				return 0
			print from ": " layer, unit, sent, "sent,", got,
				"received"
			return 1
		}
		# the device counts what its only peer counts
		function apart(where, dir, unit,   dev, peer) {
			dev = n[where, "DEV", dir, unit]
			peer = n[where, "VPN", dir, unit]
			if (dev == peer)
				return 0
			print where ":", dir, unit, dev, "by the device,",
				peer, "by the peer"
			return 1
		}
		END {
			bad = seen != 24
			bad += apart("gw_a", "TX", "bytes:")
			bad += apart("gw_a", "TX", "packets:")
			bad += apart("gw_a", "RX", "bytes:")
			bad += apart("gw_a", "RX", "packets:")
			bad += apart("gw_b", "TX", "bytes:")
			bad += apart("gw_b", "TX", "packets:")
			bad += apart("gw_b", "RX", "bytes:")
			bad += apart("gw_b", "RX", "packets:")
			bad += differ("gw_a", "gw_b", "VPN", "bytes:")
			bad += differ("gw_a", "gw_b", "VPN", "packets:")
			bad += differ("gw_a", "gw_b", "LINK", "bytes:")
			bad += differ("gw_a", "gw_b", "LINK", "packets:")
			bad += differ("gw_b", "gw_a", "VPN", "bytes:")
			bad += differ("gw_b", "gw_a", "VPN", "packets:")
			bad += differ("gw_b", "gw_a", "LINK", "bytes:")
			bad += differ("gw_b", "gw_a", "LINK", "packets:")
			exit bad != 0
		}'
}

# what one gateway received from the tunnel
ofl_judge() {
	local -n _counts="OFL_$1"

	[ "${_counts[bad]}" -eq 0 ] ||
		ofl_fail "gw_${1,}: ${_counts[bad]} bad packets:" \
			"$(head -n 3 "${OFL_DIR}/faults_gw_${1,}" |
			   tr '\n' ',')"
	[ "${_counts[lost]}" -eq 0 ] ||
		ofl_fail "gw_${1,}: capture lost ${_counts[lost]} packets"
	[ "${_counts[none]}" -eq 0 ] ||
		ofl_fail "gw_${1,}: ${_counts[none]} UDP packets without" \
			"checksum"
}

# ofl_checked WANT COMMAND...: run COMMAND, which moves traffic, and judge it.
# WANT lists what pktcheck has to have seen right: "udp=40 sctp=3" are minimum
# counts of packets received by either gateway from the tunnel.
ofl_checked() {
	local want="$1" fd_a fd_b pid_a pid_b key errors word msg

	shift
	rm -f "${OFL_DIR}"/faults_*
	# read at the end only: SCTP checks a CRC by clearing the field for a
	# moment, in data that the capture shares
	ofl_capture fd_a pid_a gw_a tun0 -l || return 0
	ofl_capture fd_b pid_b gw_b tun0 -l || return 0
	"$@" || ofl_fail "failed: $*"
	# nothing is under way any more when both ends have counted the same
	msg=$(busywait 5000 ofl_peers_agree) ||
		ofl_fail "peers' counters differ: ${msg}"
	ofl_capture_end "${fd_a}" "${pid_a}" OFL_A || return 0
	ofl_capture_end "${fd_b}" "${pid_b}" OFL_B || return 0

	ofl_judge A
	ofl_judge B
	for word in ${want}; do
		key=${word%%=*}
		[ $((OFL_A[${key}] + OFL_B[${key}])) -ge "${word#*=}" ] ||
			ofl_fail "saw $((OFL_A[${key}] + OFL_B[${key}]))" \
				"good ${key} packets, want ${word#*=}"
	done
	errors=$(ofl_errors)
	if [ "${errors}" != "${OFL_SEEN_ERRORS}" ]; then
		ofl_fail "$((errors - OFL_SEEN_ERRORS)) checksum errors or" \
			"drops counted"
		OFL_SEEN_ERRORS=${errors}
	fi
}

# ofl_tapped NS DEV OPTIONS COMMAND...: run COMMAND with a second pktcheck on
# what NS sends out of DEV; its counts are left in OFL_TAP
ofl_tapped() {
	local ns="$1" dev="$2" options="$3" fd pid

	shift 3
	# shellcheck disable=SC2086 # options are words
	ofl_capture fd pid "${ns}" "${dev}" -o ${options} || return 1
	"$@" || ofl_fail "failed: $*"
	ofl_capture_end "${fd}" "${pid}" OFL_TAP
}

ofl_sender() {
	[ "$1" = local ] && echo gw_a || echo host_a
}

ofl_receiver() {
	[ "$1" = local ] && echo gw_b || echo host_b
}

ofl_listens() {
	if [ "$2" = SCTP ]; then
		ofl_in "$1" grep -q " ${OFL_PORT} " /proc/net/sctp/eps
	else
		[ -n "$(ofl_in "$1" ss -Hltn "sport = :${OFL_PORT}")" ]
	fi
}

# ofl_stream PROTO WHERE FAMILY FILE [ADDRESS]: send FILE, compare what arrives
ofl_stream() {
	local proto="$1" where="$2" family="$3" file="${OFL_DIR}/$4"
	local addr="${5:-${OFL_ADDR[$2$3]}}" out="${OFL_DIR}/out"
	local what="$*" from to pid rc=0 chunk=1048576

	from=$(ofl_sender "${where}")
	to=$(ofl_receiver "${where}")
	[ "${family}" = 6 ] && addr="[${addr}]"
	[ "${proto}" = SCTP ] && chunk=65536
	rm -f "${out}"
	ofl_in "${to}" timeout 60 socat -u -T 20 \
		"${proto}${family}-LISTEN:${OFL_PORT},reuseaddr" \
		"CREATE:${out}" &
	pid=$!
	busywait 10000 ofl_listens "${to}" "${proto}" ||
		ofl_broken "${what}: nobody listens" || rc=1
	ofl_in "${from}" socat -u -T 20 -b "${chunk}" "OPEN:${file}" \
		"${proto}${family}:${addr}:${OFL_PORT}" ||
		ofl_broken "${what}: the sender returned $?" || rc=1
	wait "${pid}" || ofl_broken "${what}: the receiver returned $?" || rc=1
	cmp "${file}" "${out}" || ofl_broken "${what}: not the same" || rc=1
	return "${rc}"
}

# ofl_udp WHERE FAMILY DATAGRAMS BYTES ADDRESS OPTION...: send with udp-gso what
# makes DATAGRAMS and BYTES at the receiver
ofl_udp() {
	local where="$1" family="$2" datagrams="$3" bytes="$4"
	local addr="${5:-${OFL_ADDR[$1$2]}}"
	local what="$*" from to fd pid word="" rc=0 options=()

	shift 5
	from=$(ofl_sender "${where}")
	to=$(ofl_receiver "${where}")
	while [[ "$1" == -* ]]; do
		options+=("$1")
		if [ "$1" != -x ]; then
			options+=("$2")
			shift
		fi
		shift
	done
	exec {fd}< <(ip netns exec "${!to}" ./udp-gso recv "${addr}" \
		"${OFL_PORT}" "${datagrams}" "${bytes}" 2>&1 && echo complete)
	read -r -t 20 -u "${fd}" word
	[ "${word}" = ready ] ||
		ofl_broken "UDP ${what}: the receiver says '${word}'" || rc=1
	ofl_in "${from}" ./udp-gso send "${options[@]}" "${addr}" \
		"${OFL_PORT}" "$@" ||
		ofl_broken "UDP ${what}: the sender returned $?" || rc=1
	word=""
	read -r -t 60 -u "${fd}" word
	[ "${word}" = complete ] ||
		ofl_broken "UDP ${what}: the receiver says '${word}'" || rc=1
	exec {fd}<&-
	return "${rc}"
}
