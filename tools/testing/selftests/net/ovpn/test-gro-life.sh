#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The socket is user space's: GRO is told of it when the first peer comes, and
# has to forget it with the last one, however it goes, while packets are under
# way that GRO is looking up a socket for.  Sockets come and go with ovpn as the
# only UDP tunnel and next to others, whose traffic goes on; batches are formed
# afterwards as before, and a socket without a peer reads what any socket reads.
#
# Topology and veth modes: gro-common.sh

source ./gro-common.sh

ROUNDS=20
EXITS=6
# no flood gets as far as this packet ID
BEYOND=$((1 << 30))
# named by setup_ns
going=""
OUTER=${GRO_FAMILY:-4}

TEN=aaaaaaaaaa

flood() {
	ip netns exec "${gw_a}" ./gro-peer send -f "${GRO_TARGET}" 1194 \
		"${TEN}${TEN}${TEN}${TEN}${TEN}${TEN}" >/dev/null &
	FLOOD_PID=$!
}

flood_end() {
	kill "${FLOOD_PID}"
	wait "${FLOOD_PID}" 2>/dev/null
}

# churn OPTION...: the socket is attached and detached under a flood
# shellcheck disable=SC2120 # they are handed on by ofl_case
churn() {
	flood
	defer flood_end
	gro_counted churn_run "$@"
	[ "${GRO_DELTA[rx_batches]}" -ge "${ROUNDS}" ] ||
		ofl_fail "${GRO_DELTA[rx_batches]} batches in ${ROUNDS} rounds"
}

churn_run() {
	ofl_in gw_b timeout 60 ./gro-peer churn -n "${ROUNDS}" "$@" tun0 \
		"${GRO_REMOTE}" 1194 > "${OFL_DIR}/churn" 2>&1 ||
		ofl_fail "$(head -n 3 "${OFL_DIR}/churn" | tr '\n' ',')"
}

# after all that: batches, none of them damaged
batches() {
	local fd fd_a pid_a

	exec {fd_a}< <(exec ip netns exec "${gw_b}" ./gro-peer attach tun0 \
		"${GRO_REMOTE}" 1194)
	pid_a=$!
	read -r -t 20 -u "${fd_a}" _ || ofl_fail "no peer"
	# records of the flood may still be under way: one that comes behind
	# them, with a packet ID beyond theirs, is waited for
	moved 1 "${BEYOND}" a
	gro_counted moved 600 $((BEYOND + 1)) -n 10 \
		"${TEN}${TEN}${TEN}${TEN}${TEN}${TEN}"
	[ "${GRO_DELTA[rx_batch_records]}" -ge 500 ] ||
		ofl_fail "${GRO_DELTA[rx_batch_records]} records in batches"
	kill "${pid_a}"
	exec {fd_a}<&-
	busywait 5000 gro_port_free || ofl_fail "port 1194 is still in use"
}

# moved COUNT LAST_ID [OPTION...] SCRIPT: COUNT packets are sent, with packet
# IDs behind LAST_ID, and received
moved() {
	local count="$1" last="$2" fd report=""

	shift 2
	exec {fd}< <(exec ip netns exec "${gw_b}" ./gro-peer recv "${count}")
	read -r -t 20 -u "${fd}" _ || ofl_fail "no receiver"
	ofl_in gw_a ./gro-peer send -i "${last}" "${@:1:$#-1}" \
		"${GRO_TARGET}" 1194 "${!#}" >/dev/null
	read -r -t 30 -u "${fd}" report
	exec {fd}<&-
	[ "${report}" = "received=${count} wrong=0 disorder=0" ] ||
		ofl_fail "${count} sent: ${report}"
}

# Whoever holds the socket may end its encapsulation, whose end at the driver is
# not called then: what was registered with GRO is removed once all the same.
no_encapsulation() {
	local tainted

	tainted=$(cat /proc/sys/kernel/tainted)
	churn -x -e
	[ "$(cat /proc/sys/kernel/tainted)" = "${tainted}" ] ||
		ofl_fail "the kernel has warned"
}

all_ways() {
	ofl_case "${on}, $1: attached, detached, read" churn
	ofl_case "${on}, $1: closed after its peer" churn -o
	ofl_case "${on}, $1: closed under its peer" churn -x
	ofl_case "${on}, $1: closed without encapsulation" no_encapsulation
	ofl_case "${on}, $1: batches as before" batches
}

# the device goes with its peers, the namespace with everything
device_deleted() {
	local n fd word

	flood
	defer flood_end
	for n in $(seq "${EXITS}"); do
		exec {fd}< <(exec ip netns exec "${gw_b}" ./gro-peer churn \
			-n 1000 tun0 "${GRO_REMOTE}" 1194 2>&1)
		busywait 10000 received gw_b || ofl_fail "nothing in round ${n}"
		ip -n "${gw_b}" link del tun0
		# it notices that its device is gone
		read -r -t 30 -u "${fd}" word
		exec {fd}<&-
		busywait 5000 gro_port_free_at gw_b ||
			ofl_fail "socket still there"
		gro_new_device
	done
}

received() {
	[ "$(ofl_in "$1" cat /sys/class/net/tun0/statistics/rx_packets)" -gt \
		64 ]
}

namespace_exits() {
	local n pid flood

	for n in $(seq "${EXITS}"); do
		setup_ns going
		ip link add go0 netns "${gw_a}" type veth peer name wan0 \
			netns "${going}"
		tc -n "${gw_a}" qdisc add dev go0 root pfifo limit 10000
		ofl_up gw_a go0 203.0.113.1/24 2001:db8:1::1/64
		ofl_up going wan0 203.0.113.2/24 2001:db8:1::2/64
		ofl_in gw_a ethtool -K go0 tso off tx-udp-segmentation off \
			>/dev/null
		ofl_in going ethtool -K wan0 gro on
		ofl_in going sh -c "echo 20000000 > \
			/sys/class/net/wan0/gro_flush_timeout"
		ofl_in going "${OVPN_CLI}" new_iface tun0 MP >/dev/null
		ofl_up going tun0 10.9.0.2/24 fd09::2/64
		ip netns exec "${going}" ./gro-peer attach tun0 203.0.113.1 \
			1194 >/dev/null &
		pid=$!
		ip netns exec "${gw_a}" ./gro-peer send -f 203.0.113.2 1194 \
			"${TEN}${TEN}${TEN}${TEN}${TEN}${TEN}" >/dev/null &
		flood=$!
		busywait 10000 received going || ofl_fail "nothing came"
		[ "$(ofl_in going ethtool -S tun0 |
		     awk '$1 == "rx_batches:" { print $2 }')" -gt 0 ] ||
			ofl_fail "no batches in round ${n}"
		# with all that is in it, and packets under way
		[ $((n % 2)) = 0 ] || kill -KILL "${pid}"
		cleanup_ns "${going}"
		kill "${flood}" "${pid}" 2>/dev/null
		wait "${flood}" "${pid}" 2>/dev/null
		ip -n "${gw_a}" link del go0 2>/dev/null
	done
	true
}

# --- other tunnels ------------------------------------------------------------

tunnel_pair() {
	local ns dir=1

	for ns in gw_a gw_b; do
		ip -n "${!ns}" link add "$1" type "$2" "${@:4}" \
			remote "192.0.2.$((3 - dir))" || return
		ip -n "${!ns}" link set "$1" mtu 1300
		ofl_up "${ns}" "$1" "$3.${dir}/24" "fd20:${3##*.}::${dir}/64"
		dir=2
	done
}

# one in which files go to and fro until the end
vxlan_traffic() {
	local n=0 rc=0

	while [ ! -e "${OFL_DIR}/stop" ]; do
		OFL_PORT=5002 vxlan_file || rc=1
		n=$((n + 1))
	done
	echo "${n} ${rc}" > "${OFL_DIR}/vxlan"
}

vxlan_file() {
	local pid rc=0 out="${OFL_DIR}/vxlan_out"

	rm -f "${out}"
	ofl_in gw_b timeout 60 socat -u -T 20 \
		TCP4-LISTEN:5002,reuseaddr "CREATE:${out}" &
	pid=$!
	busywait 10000 vxlan_listens >/dev/null || rc=1
	ofl_in gw_a socat -u -T 20 "OPEN:${OFL_DIR}/medium" \
		TCP4:10.20.7.2:5002 || rc=1
	wait "${pid}" || rc=1
	cmp "${OFL_DIR}/medium" "${out}" || rc=1
	return "${rc}"
}

vxlan_listens() {
	[ -n "$(ofl_in gw_b ss -Hltn "sport = :5002")" ]
}

others() {
	tunnel_pair vx0 vxlan 10.20.7 id 7 dstport 4789 ||
		ofl_fail "no vxlan"
	ofl_in gw_a ping -q -c 1 -W 10 10.20.7.2 >/dev/null ||
		ofl_fail "no ping through vxlan"
	rm -f "${OFL_DIR}/stop"
	vxlan_traffic &
	VXLAN_PID=$!
}

others_end() {
	local n rc

	touch "${OFL_DIR}/stop"
	wait "${VXLAN_PID}"
	read -r n rc < "${OFL_DIR}/vxlan"
	if ! { [ "${n}" -gt 0 ] && [ "${rc}" -eq 0 ]; }; then
		ofl_fail "${n} files through vxlan, damaged: ${rc}"
	fi
}

# every kind that there is has its place in the table
every_kind() {
	tunnel_pair gnv0 geneve 10.20.8 id 8 || {
		ofl_skip "no geneve here"
		return 0
	}
	ip -n "${gw_b}" link add gpe0 type vxlan external gpe dstport 4790 ||
		ofl_fail "no vxlan-gpe"
	batches
	# shellcheck disable=SC2119 # none
	churn
	ofl_in gw_a ping -q -c 1 -W 10 10.20.8.2 >/dev/null ||
		ofl_fail "no ping through geneve"
	! dmesg | grep -q 'Too many UDP tunnel types' ||
		ofl_fail "the table is full"
	ip -n "${gw_b}" link del gpe0
	ip -n "${gw_a}" link del gnv0
	ip -n "${gw_b}" link del gnv0
}

no_others() {
	ip -n "${gw_a}" link del vx0
	ip -n "${gw_b}" link del vx0
	batches
}

on="IPv${OUTER}"
gro_begin 17
ofl_case "${on}: set up" gro_user_peer aes "${OUTER}"
all_ways "no other tunnel"
ofl_case "${on}: device deleted ${EXITS} times" device_deleted
ofl_case "${on}: namespace deleted ${EXITS} times" namespace_exits
ofl_case "${on}: vxlan comes" others
all_ways "vxlan"
ofl_case "${on}: vxlan was not disturbed" others_end
ofl_case "${on}: every kind of tunnel" every_kind
ofl_case "${on}: vxlan goes" no_others

ktap_finished
