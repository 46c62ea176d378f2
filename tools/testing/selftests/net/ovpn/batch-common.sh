#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ground of the transmit batch tests: what offload-common.sh sets up and judges,
# and on top of it
#
#  - record-oracle on wan0 of both gateways: every record that either end sends
#    is decrypted and judged
#  - the batch counters of the tunnel devices (ethtool -S)
#  - as many records on the wire as the peers' counters say
#
# The veth mode of a case is the wan's here: on WHOLE the capture sees each
# batch as the one aggregate that the driver made, on SPLIT and NOGRO datagrams
# of wire size.  The lans are WHOLE unless a test says otherwise.

source ./offload-common.sh

# shellcheck disable=SC2034 # read by the tests
# what record-oracle saw of each gateway, and by how much the counters moved
declare -A BAT_A BAT_B BAT_DELTA_A BAT_DELTA_B
BAT_WAN=SPLIT
# the stack below may have to cut aggregates up, because the path has changed
BAT_PATH_CHANGES=no
BAT_ALG=aes
BAT_OPTIONS=()
# Put before the command of a sender whose datagrams have to keep their order:
# those sent from two CPUs may overtake each other, and cryptd's queues as well.
BAT_PIN=(taskset -c 0)
# what bat_provider has put before the AEADs
declare -A BAT_DRIVER

# bat_need_counter NAME: skip it all where a device does not count that
bat_need_counter() {
	local ns

	setup_ns ns || exit "${KSFT_SKIP}"
	modprobe -q ovpn
	ip netns exec "${ns}" "${OVPN_CLI}" new_iface tun0 P2P >/dev/null
	if ! ip netns exec "${ns}" ethtool -S tun0 2>/dev/null |
			grep -q "$1:"; then
		cleanup_all_ns
		ktap_skip_all "this driver does not count $1"
		exit "${KSFT_SKIP}"
	fi
	cleanup_ns "${ns}"
}

# bat_begin CASES: begin a test of so many cases and two self-tests, or skip it
# where the driver does not batch
bat_begin() {
	if ! command -v taskset >/dev/null; then
		ktap_skip_all "taskset not found"
		exit "${KSFT_SKIP}"
	fi
	bat_need_counter tx_batches
	ofl_begin "$(($1 + 2))"
	ofl_case "the oracle tells good records from bad ones" bat_self_test
}

bat_self_test() {
	local alg

	for alg in aes chachapoly; do
		./record-oracle -s -a "${alg}" -k 0:data64.key || return
	done
}

# bat_setup CIPHER OUTER_FAMILY [TUNNEL_MTU]
bat_setup() {
	BAT_ALG="$1"
	BAT_WAN=SPLIT
	ofl_setup "$@" || ofl_fail "topology not set up or no ping through it"
}

# bat_wan MODE: of the underlay, both directions
bat_wan() {
	BAT_WAN="$1"
	ofl_veth_features "$1" gw_a wan0
	ofl_veth_features "$1" gw_b wan0
}

# bat_switch on|off: batching, at gw_a
bat_switch() {
	ofl_feature gw_a tun0 "$1" tx-tcp-segmentation tx-tcp6-segmentation \
		tx-udp-segmentation
}

# bat_read ARRAY NS: the counters of tun0
bat_read() {
	local -n _read="$1"
	local name value

	_read=()
	while read -r name value; do
		[[ "${value}" =~ ^[0-9]+$ ]] && _read[${name%:}]=${value}
	done < <(ofl_in "$2" ethtool -S tun0 2>/dev/null)
	[ -n "${_read[tx_batches]}" ] ||
		ofl_fail "$2: ethtool -S tun0 shows no batches"
}

# bat_value NS COUNTER
bat_value() {
	ofl_in "$1" ethtool -S tun0 |
		awk -v name="$2:" '$1 == name { print $2 }'
}

# bat_delta ARRAY BEFORE AFTER
bat_delta() {
	local -n _delta="$1" _before="$2" _after="$3"
	local name

	_delta=()
	for name in "${!_after[@]}"; do
		# shellcheck disable=SC2004 # the key of an associative array
		_delta[${name}]=$((_after[${name}] - _before[${name}]))
	done
}

# records that a gateway has sent, by its own account
bat_sent() {
	ofl_in "$1" "${OVPN_CLI}" get_peer tun0 1 2>&1 |
		awk '/LINK TX packets/ { print $NF }'
}

# records that a gateway has received, by its own account
bat_got() {
	ofl_in "$1" "${OVPN_CLI}" get_peer tun0 1 2>&1 |
		awk '/LINK RX packets/ { print $NF }'
}

# bat_oracle FD_VAR PID_VAR NS DIRECTION: start it on what NS sends
bat_oracle() {
	local -n _ofd="$1" _opid="$2"
	local ns="$3" word=""

	exec {_ofd}< <(exec ip netns exec "${!ns}" ./record-oracle -o -v \
		-r "$4" -a "${BAT_ALG}" -k 0:data64.key "${BAT_OPTIONS[@]}" \
		-d "${OFL_DIR}/digest_${ns}" wan0 \
		2>>"${OFL_DIR}/wire_${ns}")
	_opid=$!
	if ! read -r -t 20 -u "${_ofd}" word || [ "${word}" != ready ]; then
		ofl_fail "record-oracle did not start at ${ns}"
		return 1
	fi
}

# bat_judge A|B MIN MAX: what one gateway sent, between MIN and MAX records
bat_judge() {
	local -n _wire="BAT_$1"
	# shellcheck disable=SC2178 # a reference to an array
	local -n _delta="BAT_DELTA_$1"
	local ns="gw_${1,}"

	[ "${_wire[bad]}" -eq 0 ] ||
		ofl_fail "${ns}: ${_wire[bad]} faults on the wire:" \
			"$(head -n 3 "${OFL_DIR}/wire_${ns}" | tr '\n' ',')"
	[ "${_wire[lost]}" -eq 0 ] ||
		ofl_fail "${ns}: the oracle lost ${_wire[lost]} datagrams"
	[ "${_wire[twice]}" -eq 0 ] ||
		ofl_fail "${ns}: ${_wire[twice]} packet IDs used twice"
	[ "${_wire[gap]}" -eq 0 ] ||
		ofl_fail "${ns}: ${_wire[gap]} packet IDs left out"
	if [ "${_wire[records]}" -lt "$2" ] ||
	   [ "${_wire[records]}" -gt "$3" ]; then
		ofl_fail "${ns}: ${_wire[records]} records on the wire," \
			"$2 to $3 counted"
	fi
	[ "${_delta[tx_batch_drops]}" -eq 0 ] ||
		ofl_fail "${ns}: ${_delta[tx_batch_drops]} records dropped"
	[ "${_delta[tx_batch_records]}" -le "${_wire[records]}" ] ||
		ofl_fail "${ns}: ${_delta[tx_batch_records]} records in" \
			"batches, ${_wire[records]} on the wire"
	[ "${_delta[tx_batch_records]}" -ge \
	  $((2 * _delta[tx_batches])) ] ||
		ofl_fail "${ns}: ${_delta[tx_batches]} batches of" \
			"${_delta[tx_batch_records]} records"
	if [ "${BAT_WAN}" = WHOLE ] && [ "${BAT_PATH_CHANGES}" = yes ]; then
		[ "${_wire[aggregates]}" -le "${_delta[tx_batches]}" ] ||
			ofl_fail "${ns}: ${_delta[tx_batches]} batches," \
				"${_wire[aggregates]} aggregates on the wire"
	elif [ "${BAT_WAN}" = WHOLE ]; then
		[ "${_wire[aggregates]}" -eq "${_delta[tx_batches]}" ] ||
			ofl_fail "${ns}: ${_delta[tx_batches]} batches," \
				"${_wire[aggregates]} aggregates on the wire"
		[ "${_wire[batched]}" -eq "${_delta[tx_batch_records]}" ] ||
			ofl_fail "${ns}: ${_delta[tx_batch_records]} records" \
				"in batches, ${_wire[batched]} in aggregates"
	else
		[ "${_wire[aggregates]}" -eq 0 ] ||
			ofl_fail "${ns}: ${_wire[aggregates]} aggregates" \
				"on the wire"
	fi
}

# bat_checked WANT COMMAND...: ofl_checked with an eye on the wire and on the
# counters.  Leaves BAT_A, BAT_DELTA_A and the same for B.
bat_checked() {
	local want="$1" fd_a fd_b pid_a pid_b
	local early_a late_a early_b late_b min_a min_b
	# shellcheck disable=SC2034 # handed over by name
	local -A before_a before_b after_a after_b

	shift
	rm -f "${OFL_DIR}"/wire_*
	bat_read before_a gw_a
	bat_read before_b gw_b
	# a stray packet may be sent while an oracle starts or stops
	early_a=$(bat_sent gw_a)
	early_b=$(bat_sent gw_b)
	bat_oracle fd_a pid_a gw_a 0 || return 0
	bat_oracle fd_b pid_b gw_b 1 || return 0
	late_a=$(bat_sent gw_a)
	late_b=$(bat_sent gw_b)
	ofl_checked "${want}" "$@"
	min_a=$(($(bat_sent gw_a) - late_a))
	min_b=$(($(bat_sent gw_b) - late_b))
	ofl_capture_end "${fd_a}" "${pid_a}" BAT_A || return 0
	ofl_capture_end "${fd_b}" "${pid_b}" BAT_B || return 0
	bat_read after_a gw_a
	bat_read after_b gw_b
	bat_delta BAT_DELTA_A before_a after_a
	bat_delta BAT_DELTA_B before_b after_b
	bat_judge A "${min_a}" "$(($(bat_sent gw_a) - early_a))"
	bat_judge B "${min_b}" "$(($(bat_sent gw_b) - early_b))"
}

# bat_warm: each CPU of gw_a knows the route to the peer.  Only a route that is
# known can be a reason, because it is looked up where the batch is sent.
bat_warm() {
	local cpu

	for cpu in $(seq 0 $(($(nproc) - 1))); do
		ofl_in gw_a taskset -c "${cpu}" ping -q -c 1 -W 10 10.9.0.2 \
			>/dev/null || ofl_fail "no ping from CPU ${cpu}"
	done
}

# bat_reasons [REASON]: nothing was left unbatched for another reason
bat_reasons() {
	local name

	for name in "${!BAT_DELTA_A[@]}"; do
		[[ "${name}" == tx_unbatched_* ]] || continue
		if [ "${BAT_DELTA_A[${name}]}" -ne 0 ] &&
		   [ "${name}" != "tx_unbatched_$1" ]; then
			ofl_fail "${name} counts ${BAT_DELTA_A[${name}]}"
		fi
	done
}

# bat_batched MIN: that many records in batches, and nothing left out
bat_batched() {
	[ "${BAT_DELTA_A[tx_batch_records]}" -ge "$1" ] ||
		ofl_fail "${BAT_DELTA_A[tx_batch_records]} records in" \
			"batches, want $1"
	bat_reasons
}

# bat_unbatched REASON: not one batch, and that is why
bat_unbatched() {
	[ "${BAT_DELTA_A[tx_batches]}" -eq 0 ] ||
		ofl_fail "${BAT_DELTA_A[tx_batches]} batches"
	[ "${BAT_DELTA_A[tx_unbatched_$1]:-0}" -gt 0 ] ||
		ofl_fail "tx_unbatched_$1 did not move"
	bat_reasons "$1"
}

# bat_off: no GSO packet reached the driver
bat_off() {
	[ "${BAT_DELTA_A[tx_batches]}" -eq 0 ] ||
		ofl_fail "${BAT_DELTA_A[tx_batches]} batches while off"
	bat_reasons
}

# bat_recv_udp FD_VAR WHERE FAMILY BYTES: start the receiver of bat_udp
bat_recv_udp() {
	local -n _ufd="$1"
	local to word=""

	to=$(ofl_receiver "$2")
	exec {_ufd}< <(ip netns exec "${!to}" ./batch-send recv \
		"${OFL_ADDR[$2$3]}" "${OFL_PORT}" "$4" 2>&1 && echo complete)
	read -r -t 20 -u "${_ufd}" word
	[ "${word}" = ready ] || ofl_broken "UDP: the receiver says '${word}'"
}

bat_recv_end() {
	local fd="$1" word=""

	read -r -t 60 -u "${fd}" word
	exec {fd}<&-
	[ "${word}" = complete ] ||
		ofl_broken "UDP: the receiver says '${word}'"
}

# bat_udp WHERE FAMILY BYTES OPTION... LEN...: BYTES in all, in order
bat_udp() {
	local where="$1" family="$2" bytes="$3" options=() fd from rc=0

	shift 3
	while [[ "$1" == -* ]]; do
		options+=("$1")
		if [ "$1" != -z ] && [ "$1" != -b ]; then
			options+=("$2")
			shift
		fi
		shift
	done
	from=$(ofl_sender "${where}")
	bat_recv_udp fd "${where}" "${family}" "${bytes}" || return
	ofl_in "${from}" "${BAT_PIN[@]}" ./batch-send send "${options[@]}" \
		"${OFL_ADDR[${where}${family}]}" "${OFL_PORT}" "$@" ||
		ofl_broken "UDP ${where} ${family}: the sender returned $?" ||
		rc=1
	bat_recv_end "${fd}" || rc=1
	return "${rc}"
}

# of everything: 10 times 31 datagrams of 1250 bytes and one of 951, twice, and
# 1 MiB over TCP
bat_all() {
	bat_udp local 4 $((10 * 39701)) -g 1250 -n 10 39701 &&
	bat_udp fwd 6 $((10 * 39701)) -g 1250 -n 10 39701 &&
	ofl_stream TCP local 6 medium &&
	ofl_stream TCP fwd 4 medium
}

# bat_file WHERE FAMILY FILE [OPTION]: over TCP, by batch-send
bat_file() {
	local where="$1" family="$2" file="${OFL_DIR}/$3" out="${OFL_DIR}/out"
	local addr="${OFL_ADDR[$1$2]}" from to pid rc=0 bind

	shift 3
	from=$(ofl_sender "${where}")
	to=$(ofl_receiver "${where}")
	bind=TCP${family}-LISTEN
	rm -f "${out}"
	ofl_in "${to}" timeout 60 socat -u -T 20 \
		"${bind}:${OFL_PORT},reuseaddr" "CREATE:${out}" &
	pid=$!
	busywait 10000 ofl_listens "${to}" TCP || rc=1
	ofl_in "${from}" ./batch-send file "$@" "${addr}" "${OFL_PORT}" \
		"${file}" || rc=1
	wait "${pid}" || rc=1
	cmp "${file}" "${out}" || rc=1
	return "${rc}"
}

# bat_holders NS: the processes that hold the transport sockets of NS
bat_holders() {
	ip netns pids "${!1}" | while read -r pid; do
		[ "$(cat "/proc/${pid}/comm")" != ovpn-cli ] || echo "${pid}"
	done
}

# bat_nocheck 1|0: no checksums on the wire, which is nothing for UDP GSO
bat_nocheck() {
	local ns pid

	for ns in gw_a gw_b; do
		for pid in $(bat_holders "${ns}"); do
			./udp-nocheck "${pid}" "$1" || return
		done
	done
}

# --- asynchronous providers ---------------------------------------------------

declare -A BAT_AEAD=(
	[aes]="gcm(aes)"
	[chachapoly]="rfc7539(chacha20,poly1305)"
)

# bat_need_provider TEMPLATE...: skip it all where they cannot be forced
bat_need_provider() {
	local template driver

	for template in "$@"; do
		if ! driver=$(./crypto-force force "${template}" \
			      "${BAT_AEAD[aes]}" 2>&1); then
			ktap_skip_all "${driver}"
			exit "${KSFT_SKIP}"
		fi
		./crypto-force drop "${driver}" || exit "${KSFT_FAIL}"
	done
}

# bat_provider TEMPLATE: tunnels that are set up from here on use instances of
# it, which complete requests later, for both ciphers
bat_provider() {
	local cipher driver

	for cipher in "${!BAT_AEAD[@]}"; do
		driver=$(./crypto-force force "$1" "${BAT_AEAD[${cipher}]}") ||
			ofl_fail "no $1 of ${cipher}"
		BAT_DRIVER[${cipher}]=${driver}
	done
}

# bat_provider_end: the topology goes, and then the instances, which are only
# let go if no key refers to them any more
bat_provider_end() {
	local cipher

	cleanup_all_ns
	for cipher in "${!BAT_DRIVER[@]}"; do
		./crypto-force drop "${BAT_DRIVER[${cipher}]}" ||
			ofl_fail "${BAT_DRIVER[${cipher}]} has users left"
	done
	BAT_DRIVER=()
}

# transforms of the forced instance, two in each key
bat_users() {
	awk -v driver="${BAT_DRIVER[$1]}" '
		$1 == "driver" { mine = $3 == driver }
		mine && $1 == "refcnt" { print $3 - 1 }' /proc/crypto
}

# bat_has_users CIPHER COUNT
bat_has_users() {
	[ "$(bat_users "$1")" -eq "$2" ]
}

# bat_setup_async CIPHER OUTER_FAMILY: bat_setup, and both ends use the instance
bat_setup_async() {
	bat_setup "$@"
	bat_has_users "$1" 4 ||
		ofl_fail "${BAT_DRIVER[$1]}: $(bat_users "$1") users, want 4"
}

# bat_hold TEMPLATE: let no request complete that is started on CPU 1, while
# something of real-time priority keeps it busy there; for the running case
bat_hold() {
	local sched=/sys/kernel/debug/sched rt=kernel.sched_rt_runtime_us dir

	# where ordinary tasks have a share of the CPU in any case, it is taken
	if [ ! -d "${sched}" ] || [ ! -d /sys/devices/system/cpu/cpu1 ]; then
		ofl_skip "no debugfs or no second CPU"
		return 1
	fi
	if [ -d "${sched}/fair_server" ]; then
		sched+=/fair_server/cpu1/runtime
		defer bat_write "${sched}" "$(cat "${sched}")"
		bat_write "${sched}" 0
	fi
	defer sysctl -qw "${rt}=$(sysctl -n "${rt}")"
	sysctl -qw "${rt}=-1"
	[ "$1" = pcrypt ] || return 0
	for dir in pencrypt pdecrypt; do
		dir=/sys/kernel/pcrypt/${dir}/serial_cpumask
		defer bat_write "${dir}" "$(cat "${dir}")"
		bat_write "${dir}" 2
	done
}

bat_write() {
	echo "$2" > "$1" || ofl_fail "cannot write $2 to $1"
}

# bat_held NS COMMAND...: run it until it says that it has sent, and is busy
bat_held() {
	local ns="$1" word=""

	shift
	rm -f "${OFL_DIR}/go"
	mkfifo "${OFL_DIR}/go"
	exec {BAT_HELD}< <(ofl_in "${ns}" chrt -f 1 taskset -c 1 "$@" \
		< "${OFL_DIR}/go" && echo complete)
	exec {BAT_GO}> "${OFL_DIR}/go"
	read -r -t 20 -u "${BAT_HELD}" word
	if [ "${word}" != sent ]; then
		ofl_fail "nothing sent"
		return 1
	fi
}

# bat_go: what was held completes
bat_go() {
	local word

	echo go >&"${BAT_GO}"
	while read -r -t 30 -u "${BAT_HELD}" word; do
		[ "${word}" != complete ] || break
	done
	[ "${word}" = complete ] || ofl_fail "the sender failed"
	exec {BAT_GO}>&- {BAT_HELD}<&-
}

# --- memory that runs out -----------------------------------------------------

declare -A BAT_FAULTS

# bat_need_faults: skip it all where allocations cannot be made to fail
bat_need_faults() {
	if [ ! -w /proc/self/fail-nth ] ||
	   [ ! -d /sys/kernel/debug/failslab ] ||
	   [ ! -d /sys/kernel/debug/fail_page_alloc ]; then
		ktap_skip_all "no fault injection into allocations here"
		exit "${KSFT_SKIP}"
	fi
}

# bat_fault_set: failures are silent, and any number of pages can fail
bat_fault_set() {
	local file

	for file in failslab/verbose fail_page_alloc/verbose \
		    fail_page_alloc/min-order; do
		file=/sys/kernel/debug/${file}
		defer bat_write "${file}" "$(cat "${file}")"
		bat_write "${file}" 0
	done
}

# bat_no_pages: a task that is told to fail gets no pages, of whatever order
bat_no_pages() {
	local dir=/sys/kernel/debug/fail_page_alloc file

	for file in task-filter probability times; do
		defer bat_write "${dir}/${file}" "$(cat "${dir}/${file}")"
	done
	bat_write "${dir}/task-filter" Y
	bat_write "${dir}/times" -1
	bat_write "${dir}/probability" 100
}

# packets, or records, that the devices of a gateway dropped
bat_dropped() {
	ofl_in "$1" cat "/sys/class/net/$2/statistics/$3_dropped"
}

# bat_faults MIN [OPTION...]: batches from gw_a to gw_b, until no allocation
# fails any more, which takes MIN failures at least
bat_faults() {
	local min="$1" word report

	shift
	bat_fault_set
	report=$(ofl_in gw_a taskset -c 0 ./fault-send "$@" \
		"/run/netns/${gw_b}" "${OFL_ADDR[local4]}" "${OFL_PORT}") || {
		ofl_fail "fault-send: ${report}"
		return 1
	}
	ktap_print_msg "${report}"
	BAT_FAULTS=()
	for word in ${report}; do
		BAT_FAULTS[${word%%=*}]=${word#*=}
	done
	[ "${BAT_FAULTS[bad]}" -eq 0 ] ||
		ofl_fail "${BAT_FAULTS[bad]} datagrams damaged"
	[ "${BAT_FAULTS[late]}" -eq 0 ] ||
		ofl_fail "${BAT_FAULTS[late]} datagrams twice or late"
	[ "${BAT_FAULTS[injected]}" -ge "${min}" ] ||
		ofl_fail "${BAT_FAULTS[injected]} failures, want ${min}"
}
