#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tunnels over ESP, with packets that are to be segmented.
#
#	ns_a				ns_b
#	tun  10.9.0.1, fd00:9::1	tun  10.9.0.2, fd00:9::2
#	veth 10.1.0.1, fd00:1::1 ====== veth 10.1.0.2, fd00:1::2
#				  ESP
#
# ESP is done in software, with esp4_offload and esp6_offload present: an SA
# then takes the ESP GSO path, which encrypts below the qdisc.  Bulk TCP goes
# from ns_a to ns_b. Each case wants
# - the file to arrive,
# - nothing on the wire but ESP records of the one SA, and none that begin alike
#   behind the IV: ciphertext does not, but headers left in clear do,
# - no record that the receiver refuses, and each record counted once,
# - no IV used twice: with AES-GCM that gives away keystream and key of the
#   authentication.
# An SA counts GSO packets on its way out and records on its way in: TCP alone
# must be on the ESP GSO path (fewer out than in). Last, an SA with a device
# that encrypts: all GSO packets are on that path, those of tunnels as well.

# shellcheck disable=SC1091,SC2154 # sourced, and namespaces that setup_ns sets
source lib.sh
source "$net_dir/../kselftest/ktap_helpers.sh"

KEY=0x$(printf 'a5%.0s' {1..20})
SPI_A=0xc0de0001
SPI_B=0xc0de0002
PORT=5201
BYTES=4194304
NSIM_ID=$((RANDOM + 1000))
TMP=$(mktemp -d)

cleanup()
{
	cleanup_netdevsim "$NSIM_ID"
	cleanup_netdevsim "$((NSIM_ID + 1))"
	cleanup_all_ns
	rm -rf "$TMP"
}
trap cleanup EXIT

in_a()
{
	ip netns exec "$ns_a" "$@"
}

in_b()
{
	ip netns exec "$ns_b" "$@"
}

# addr FAMILY NET NS: addresses of the wire (1) and of the tunnels (9)
addr()
{
	local ns=1

	[ "$3" = a ] || ns=2
	if [ "$1" = 4 ]; then
		echo "10.$2.0.$ns"
	else
		echo "fd00:$2::$ns"
	fi
}

skip_all()
{
	ktap_skip_all "$1"
	exit "$KSFT_SKIP"
}

setup()
{
	local ns mac

	setup_ns ns_a ns_b || skip_all "no network namespaces"
	ip -n "$ns_a" link add veth mtu 9000 type veth \
		peer name veth mtu 9000 netns "$ns_b" || skip_all "no veth"
	for ns in "$ns_a" "$ns_b"; do
		ip netns exec "$ns" sysctl -qw \
			net.ipv6.conf.all.accept_dad=0 \
			net.ipv6.conf.default.accept_dad=0 \
			net.ipv6.conf.all.router_solicitations=0 \
			net.ipv6.conf.default.router_solicitations=0
		ip -n "$ns" link set veth multicast off up
	done
	ip -n "$ns_a" addr add 10.1.0.1/24 dev veth
	ip -n "$ns_a" addr add fd00:1::1/64 dev veth nodad
	ip -n "$ns_b" addr add 10.1.0.2/24 dev veth
	ip -n "$ns_b" addr add fd00:1::2/64 dev veth nodad
	# the policies take neighbour discovery as well
	mac=$(ip -n "$ns_b" -j link show dev veth | jq -r '.[].address')
	ip -n "$ns_a" neigh add 10.1.0.2 lladdr "$mac" dev veth
	ip -n "$ns_a" neigh add fd00:1::2 lladdr "$mac" dev veth
	mac=$(ip -n "$ns_a" -j link show dev veth | jq -r '.[].address')
	ip -n "$ns_b" neigh add 10.1.0.1 lladdr "$mac" dev veth
	ip -n "$ns_b" neigh add fd00:1::1 lladdr "$mac" dev veth
	head -c "$BYTES" /dev/urandom > "$TMP/sent"
}

# esp FAMILY MODE: SAs and policies at both ends
esp()
{
	local a b ns

	a=$(addr "$1" 1 a)
	b=$(addr "$1" 1 b)
	for ns in "$ns_a" "$ns_b"; do
		ip -n "$ns" xfrm policy flush
		ip -n "$ns" xfrm state flush
		ip -n "$ns" xfrm state add src "$a" dst "$b" proto esp \
			spi "$SPI_A" reqid 1 mode "$2" replay-window 128 \
			aead 'rfc4106(gcm(aes))' "$KEY" 128 || return
		ip -n "$ns" xfrm state add src "$b" dst "$a" proto esp \
			spi "$SPI_B" reqid 2 mode "$2" replay-window 128 \
			aead 'rfc4106(gcm(aes))' "$KEY" 128 || return
	done
	ip -n "$ns_a" xfrm policy add src "$a" dst "$b" dir out tmpl \
		src "$a" dst "$b" proto esp reqid 1 mode "$2" &&
	ip -n "$ns_a" xfrm policy add src "$b" dst "$a" dir in tmpl \
		src "$b" dst "$a" proto esp reqid 2 mode "$2" &&
	ip -n "$ns_b" xfrm policy add src "$b" dst "$a" dir out tmpl \
		src "$b" dst "$a" proto esp reqid 2 mode "$2" &&
	ip -n "$ns_b" xfrm policy add src "$a" dst "$b" dir in tmpl \
		src "$a" dst "$b" proto esp reqid 1 mode "$2"
}

# tunnel KIND LOCAL REMOTE NS: make tun there
tunnel()
{
	local -a type

	case $1 in
	ipip | sit)	type=("$1") ;;
	ip6ip6 | ipip6)	type=(ip6tnl mode "$1" encaplimit none) ;;
	gre | gretap)	type=("$1") ;;
	ip6gre)		type=("$1" encaplimit none) ;;
	vxlan)		type=(vxlan id 9 dstport 4789 udpcsum) ;;
	vxlan6)		type=(vxlan id 9 dstport 4789) ;;
	geneve | geneve6)
		ip -n "$4" link add tun type geneve id 9 remote "$3"
		return
		;;
	esac
	ip -n "$4" link add tun type "${type[@]}" local "$2" remote "$3"
}

# tunnels KIND FAMILY: at both ends
tunnels()
{
	local mac_a=02:00:00:00:00:0a mac_b=02:00:00:00:00:0b
	local a b ns end family mac

	a=$(addr "$2" 1 a)
	b=$(addr "$2" 1 b)
	tunnel "$1" "$a" "$b" "$ns_a" && tunnel "$1" "$b" "$a" "$ns_b" ||
		return
	for end in a b; do
		ns=ns_$end
		ns=${!ns}
		# of the wire's 9000, enough for ESP, tunnel and IPv6
		ip -n "$ns" link set tun mtu 8800 multicast off
		mac=mac_$end
		ip -n "$ns" link set tun address "${!mac}" 2>/dev/null
		ip -n "$ns" link set tun up
		ip -n "$ns" addr add "$(addr 4 9 "$end")/24" dev tun
		ip -n "$ns" addr add "$(addr 6 9 "$end")/64" dev tun nodad
	done
	if ip -n "$ns_a" link show dev tun | grep -q "$mac_a"; then
		for family in 4 6; do
			ip -n "$ns_a" neigh add "$(addr "$family" 9 b)" \
				lladdr "$mac_b" dev tun
			ip -n "$ns_b" neigh add "$(addr "$family" 9 a)" \
				lladdr "$mac_a" dev tun
		done
	fi
}

# sa_count NS: packets that the SA from ns_a to ns_b has counted there
sa_count()
{
	ip -n "$1" -s xfrm state get src "$from" dst "$to" proto esp \
		spi "$SPI_A" |
		sed -n 's/.*(bytes), \([0-9]*\)(packets).*/\1/p' | head -n 1
}

# refused: what IPsec has counted as errors at either end
refused()
{
	{
		in_a cat /proc/net/xfrm_stat
		in_b cat /proc/net/xfrm_stat
	} | awk '{ n += $2 } END { print n + 0 }'
}

# closed: no connection is left that still waits for the other end
closed()
{
	[ -z "$(in_a ss -Htn state connected exclude time-wait
		in_b ss -Htn state connected exclude time-wait)" ]
}

# transfer ADDRESS: the file through TCP, intact
transfer()
{
	local tcp=TCP4 to=$1 listener

	case $to in
	*:*)	tcp=TCP6 to=[$1] ;;
	esac
	rm -f "$TMP/got"
	in_b timeout 30 socat -u -b 262144 "$tcp-LISTEN:$PORT,bind=$to" \
		"CREATE:$TMP/got" 2>/dev/null &
	listener=$!
	wait_local_port_listen "$ns_b" "$PORT" tcp
	in_a timeout 20 socat -u -b 262144 "FILE:$TMP/sent" "$tcp:$to:$PORT" \
		2>/dev/null
	wait "$listener"
	# an orphan would outlive the tunnel, and its namespace
	slowwait "$WAIT_TIMEOUT" closed >/dev/null
	cmp -s "$TMP/sent" "$TMP/got"
}

# capture DEVICE: what leaves ns_a there goes to $TMP/wire from now on, by $dump
capture()
{
	rm -f "$TMP/wire" "$TMP/dump"
	in_a tcpdump -i "$1" -p -Q out -s 96 -B 16384 --immediate-mode -U \
		-w "$TMP/wire" 'ip or ip6' 2> "$TMP/dump" &
	dump=$!
	busywait "$BUSYWAIT_TIMEOUT" grep -q listening "$TMP/dump" >/dev/null
}

# captured FILTER: is all that has arrived in the capture by now, and no more?
captured()
{
	[ "$(records "$1")" = "$(sa_count "$ns_b")" ]
}

# records FILTER: packets of the capture
records()
{
	tcpdump -nn -r "$TMP/wire" "$1" 2>/dev/null | wc -l
}

# alike OFFSET: values of the eight bytes at OFFSET that several records have
alike()
{
	tcpdump -nn -t -x -r "$TMP/wire" "dst host $to" 2>/dev/null |
		awk -v at="$1" '
		function bytes() {
			if (hex != "")
				print substr(hex, 2 * at + 1, 16)
			hex = ""
		}
		/^[^\t]/ { bytes(); next }
		{ sub(/^.*0x[0-9a-f]*: */, ""); gsub(/ /, ""); hex = hex $0 }
		END { bytes() }' | sort | uniq -d | wc -l
}

fail=
expect()
{
	local what=$1
	shift
	"$@" || fail="$fail; $what"
}

# run_case KIND MODE VARIANT
run_case()
{
	local kind=$1 mode=$2 variant=$3
	local outer=4 inner=4 errors good bad twice clear out in

	case $kind in
	*6) outer=6 ;;
	ip6*) outer=6 ;;
	esac
	case $kind in
	sit | ip6* | plain6) inner=6 ;;
	esac
	from=$(addr "$outer" 1 a)
	to=$(addr "$outer" 1 b)
	fail=
	esp "$outer" "$mode" || {
		ktap_test_skip "$kind, $mode mode, $variant: no such SA"
		return
	}
	errors=$(refused)
	capture veth
	if [ "${kind%?}" != plain ] && ! tunnels "$kind" "$outer"; then
		ktap_test_skip "$kind, $mode mode, $variant: no such tunnel"
		ip -n "$ns_a" link del tun 2>/dev/null
		kill_process "$dump"
		return
	fi
	in_a ethtool -K veth tso "${variant#TSO }" >/dev/null
	# with a queue, all segments exist before the first is encrypted
	[ "$variant" = "TSO on" ] ||
		tc -n "$ns_a" qdisc add dev veth root netem delay 1ms \
			limit 10000
	if [ "${kind%?}" = plain ]; then
		expect "the file did not arrive" transfer "$to"
	else
		expect "the file did not arrive" \
			transfer "$(addr "$inner" 9 b)"
	fi
	[ "$variant" = "TSO on" ] || tc -n "$ns_a" qdisc del dev veth root
	# whatever a tunnel sends unasked, it sends no more
	ip -n "$ns_a" link del tun 2>/dev/null
	ip -n "$ns_b" link del tun 2>/dev/null
	out=$(sa_count "$ns_a")
	if [ "$outer" = 4 ]; then
		good="dst host $to and ip proto 50 and ip[20:4] = $SPI_A"
	else
		good="dst host $to and ip6 proto 50 and ip6[40:4] = $SPI_A"
	fi
	bad="dst host $to and not ($good)"
	slowwait "$WAIT_TIMEOUT" captured "$good" >/dev/null
	in=$(sa_count "$ns_b")
	kill_process "$dump"
	bad=$(records "$bad")
	good=$(records "$good")
	twice=$(alike $((outer == 4 ? 28 : 48)))
	clear=$(alike $((outer == 4 ? 36 : 56)))

	expect "$bad packets in clear" [ "$bad" = 0 ]
	expect "$clear beginnings that are no ciphertext" [ "$clear" = 0 ]
	expect "$(($(refused) - errors)) IPsec errors" \
		[ "$(refused)" = "$errors" ]
	expect "$good records on the wire, $in at the receiver" \
		[ "$good" = "$in" ]
	expect "$in records are too few" \
		[ "$in" -ge $((BYTES / 9000)) ]
	expect "$twice IVs twice" [ "$twice" = 0 ]
	if [ "${kind%?}" = plain ]; then
		expect "not on the ESP GSO path: $out packets, $in records" \
			[ $((out * 2)) -lt "$in" ]
	fi
	ktap_print_msg "$kind $mode $variant: $out packets, $in records"
	if [ -z "$fail" ]; then
		ktap_test_pass "$kind, $mode mode, $variant"
	else
		ktap_test_fail "$kind, $mode mode, $variant: ${fail#; }"
	fi
}

# device: two linked netdevsims, of which the one in ns_a takes SAs
device()
{
	local sim_b=$((NSIM_ID + 1)) fd_a fd_b mac

	[ -e /sys/bus/netdevsim ] || modprobe netdevsim 2>/dev/null
	[ -e /sys/bus/netdevsim ] && [ -d /sys/kernel/debug/netdevsim ] &&
		command -v python3 >/dev/null || return
	sim=$(create_netdevsim "$NSIM_ID" "$ns_a" 2>/dev/null) || return
	sim_b=$(create_netdevsim "$sim_b" "$ns_b" 2>/dev/null) || return
	ip -n "$ns_a" xfrm policy flush
	ip -n "$ns_b" xfrm policy flush
	device_flush
	exec {fd_a}<"/run/netns/$ns_a" {fd_b}<"/run/netns/$ns_b"
	echo "$fd_a:$(in_a cat "/sys/class/net/$sim/ifindex")" \
		"$fd_b:$(in_b cat "/sys/class/net/$sim_b/ifindex")" \
		> /sys/bus/netdevsim/link_device
	exec {fd_a}<&- {fd_b}<&-
	from=10.2.0.1
	to=10.2.0.2
	mac=$(ip -n "$ns_a" -j link show dev "$sim" | jq -r '.[].address')
	ip -n "$ns_b" addr add "$to/24" dev "$sim_b" &&
	ip -n "$ns_b" neigh add "$from" lladdr "$mac" dev "$sim_b" &&
	mac=$(ip -n "$ns_b" -j link show dev "$sim_b" | jq -r '.[].address') &&
	ip -n "$ns_a" addr add "$from/24" dev "$sim" &&
	ip -n "$ns_a" neigh add "$to" lladdr "$mac" dev "$sim" &&
	ip -n "$ns_a" link add tun type ipip local "$from" remote "$to" &&
	ip -n "$ns_a" link set tun multicast off up mtu 1400 &&
	ip -n "$ns_a" addr add 10.9.0.1/24 dev tun
}

# device_sa: the SA of the device, and a policy for it
device_sa()
{
	ip -n "$ns_a" xfrm state add src "$from" dst "$to" proto esp \
		spi "$SPI_A" reqid 1 mode transport \
		aead 'rfc4106(gcm(aes))' "$KEY" 128 \
		offload dev "$sim" dir out &&
	ip -n "$ns_a" xfrm policy add src "$from" dst "$to" dir out tmpl \
		src "$from" dst "$to" proto esp reqid 1 mode transport
}

device_flush()
{
	ip -n "$ns_a" xfrm policy flush
	ip -n "$ns_a" xfrm state flush
}

# device_judge WHAT: GSO packets went through the SA whole, which counts fewer
# than the device has got: it has the ESP GSO path cut them, and encrypts
device_judge()
{
	ktap_print_msg "$1: $out packets, $taken by the device"
	expect "no packet of the SA" [ "$out" -gt 0 ]
	expect "$taken packets came to the device" [ "$taken" -gt "$out" ]
	if [ -z "$fail" ]; then
		ktap_test_pass "$1"
	else
		ktap_test_fail "$1: ${fail#; }"
	fi
}

# device_tunnel WHAT: UDP GSO packets of 20 datagrams through a tunnel
device_tunnel()
{
	local out taken

	fail=
	if ! device_sa; then
		ktap_test_skip "$1: the device takes no SA"
		return
	fi
	taken=$(device_taken)
	in_a python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, 1000)	# UDP_SEGMENT
for i in range(10):
    s.sendto(bytes(20000), (sys.argv[1], 9))
' 10.9.0.2 || fail="; sending failed"
	out=$(sa_count "$ns_a")
	taken=$(($(device_taken) - taken))
	device_flush
	expect "$out packets of the SA, not 10" [ "$out" = 10 ]
	device_judge "$1"
}

# device_sent: the device has been given something since
device_sent()
{
	[ "$(device_taken)" -gt "$taken" ]
}

# device_tcp WHAT: TCP. The device counts and does not encrypt, so a connection
# that exists gets the SA, and when the other end has had what it does not
# understand, none again, so that the file arrives.  Segments leave room for ESP
# from the beginning, lest the first packet is found too large and cut.
device_tcp()
{
	local out taken listener sender fd

	fail=
	rm -f "$TMP/got"
	in_b timeout 60 socat -u "TCP4-LISTEN:$PORT,bind=$to" \
		"CREATE:$TMP/got" 2>/dev/null &
	listener=$!
	wait_local_port_listen "$ns_b" "$PORT" tcp
	mkfifo "$TMP/pipe"
	in_a timeout 60 socat -u -b 262144 "OPEN:$TMP/pipe,rdonly" \
		"TCP4:$to:$PORT,mss=1300" 2>/dev/null &
	sender=$!
	exec {fd}>"$TMP/pipe"
	busywait "$BUSYWAIT_TIMEOUT" connected >/dev/null ||
		fail="; no connection"
	if ! device_sa; then
		exec {fd}>&-
		wait "$sender" "$listener"
		ktap_test_skip "$1: the device takes no SA"
		return
	fi
	taken=$(device_taken)
	cat "$TMP/sent" >&"$fd" &
	slowwait "$WAIT_TIMEOUT" device_sent >/dev/null
	ip -n "$ns_a" xfrm policy flush
	out=$(sa_count "$ns_a")
	taken=$(($(device_taken) - taken))
	exec {fd}>&-
	wait "$sender" "$listener"
	slowwait "$WAIT_TIMEOUT" closed >/dev/null
	device_flush
	cmp -s "$TMP/sent" "$TMP/got" || fail="$fail; the file did not arrive"
	device_judge "$1"
}

connected()
{
	[ -n "$(in_a ss -Htn state established "dport = :$PORT")" ]
}

# device_taken: packets of its SAs that the device was given
device_taken()
{
	sed -n 's/.*tx=\([0-9]*\).*/\1/p' \
		"/sys/kernel/debug/netdevsim/netdevsim$NSIM_ID/ports/0/ipsec"
}

KINDS=${KINDS:-"plain4 plain6 ipip sit ip6ip6 ipip6 gre ip6gre vxlan vxlan6
	geneve geneve6"}
MODES=${MODES:-transport tunnel}
for program in tcpdump socat ethtool jq; do
	command -v "$program" >/dev/null || skip_all "no $program"
done
ktap_print_header
setup
[ -e /proc/net/xfrm_stat ] || skip_all "no CONFIG_XFRM_STATISTICS"
# shellcheck disable=SC2086 # lists
set -- $KINDS
# shellcheck disable=SC2206
modes=($MODES)
ktap_set_plan $(($# * ${#modes[@]} * 2 + 2))
for kind; do
	for mode in "${modes[@]}"; do
		for variant in "TSO on" "TSO off"; do
			run_case "$kind" "$mode" "$variant"
		done
	done
done
if device; then
	device_tcp "TCP, SA with a device"
	device_tunnel "ipip, SA with a device"
else
	ktap_test_skip "TCP, SA with a device: no netdevsim"
	ktap_test_skip "ipip, SA with a device: no netdevsim"
fi
ktap_finished
