# SPDX-License-Identifier: GPL-2.0
# Sourced by main.sh: the verbs of a workload.
#
#	namespace a				namespace b
#	w 10.10.0.1 fd00:10::1  --- wire ---  w 10.10.0.2 fd00:10::2
#	t 10.8.0.1  fd00:8::1   == tunnel ==  t 10.8.0.2  fd00:8::2
#
# a is the client.  Direction fwd is from a to b, rev from b to a.
#
# From the command line: WORKLOAD, WIRE (split, nic), CIPHER, FAMILY (ipv4,
# ipv6: of both layers), DIRECTION, WARM and WINDOW (milliseconds), WINDOWS, and
# PROFILE where functions are to be counted instead of packets.

die() {
	echo "bench: error: $*"
	exit 1
}

# in_ns NAMESPACE COMMAND...
in_ns() {
	ip netns exec "$@"
}

case $FAMILY in
ipv4)	WIRE_A=10.10.0.1 WIRE_B=10.10.0.2 TUN_A=10.8.0.1 TUN_B=10.8.0.2 ;;
ipv6)	WIRE_A=fd00:10::1 WIRE_B=fd00:10::2 TUN_A=fd00:8::1 TUN_B=fd00:8::2 ;;
-)	;;
*)	die "no such family: $FAMILY" ;;
esac

# counters that meter is to read besides the wire's
METERS=''

# wire: the two namespaces and what is between them
wire() {
	namespace a b
	case $WIRE in
	split)
		ip link add w netns a type veth peer name w netns b
		for ns in a b; do
			in_ns $ns ethtool -K w tso off tx-udp-segmentation off \
				gro "${GRO:-on}"
			# without it the 256 slots of veth are overrun
			tc -n $ns qdisc add dev w root pfifo limit 10000
		done
		;;
	nic)
		insmod /bench/modules/nicpair.ko
		ip link add w netns a link-netns b type nicpair
		ip -n b link set dev nicpair0 name w
		for ns in a b; do
			in_ns $ns ethtool -K w gro "${GRO:-on}"
			METERS="$METERS hw_$ns=$ns:w:hw_ns"
			METERS="$METERS overruns_$ns=$ns:w:rx_ring_overruns"
		done
		;;
	*)	die "no such wire: $WIRE" ;;
	esac
	address a w 10.10.0.1/24 fd00:10::1/64
	address b w 10.10.0.2/24 fd00:10::2/64
	up a w
	up b w
}

# up NAMESPACE DEVICE: wait until it has a carrier and IPv6 has noticed; what is
# sent before that is lost, and neighbours are asked for again after a second only
up() {
	until ip -n "$1" -6 route show table local dev "$2" |
		grep -q '^multicast'; do :; done
}

# namespace NAME...: with socket buffers of one size, for what autotuning makes of
# them differs from one connection to the next
namespace() {
	for ns; do
		ip netns add "$ns"
		in_ns "$ns" sysctl -qw "net.ipv4.tcp_rmem=4096 4194304 4194304" \
			"net.ipv4.tcp_wmem=4096 4194304 4194304"
	done
}

# address NAMESPACE DEVICE V4 V6: both, and up
address() {
	ip -n "$1" addr add "$3" dev "$2"
	ip -n "$1" addr add "$4" dev "$2" nodad
	ip -n "$1" link set dev "$2" up
	ip -n "$1" link set dev lo up
}

# ovpn_tunnel [udp|tcp]: device t at both ends
ovpn_tunnel() {
	if [ "${1:-udp}" = udp ]; then
		in_ns b tunnel t mp udp "$CIPHER" 0 "$WIRE_B" 1194 "$WIRE_A" 1194 \
			1 10.8.0.1 fd00:8::1
		in_ns a tunnel t p2p udp "$CIPHER" 1 "$WIRE_A" 1194 "$WIRE_B" 1194
	else
		in_ns b tunnel t mp listen "$CIPHER" 0 "$WIRE_B" 1194 "$WIRE_A" 0 \
			1 10.8.0.1 fd00:8::1 &
		until in_ns b ss -Hltn | grep -q :1194; do :; done
		in_ns a tunnel t p2p connect "$CIPHER" 1 "$WIRE_A" 0 "$WIRE_B" 1194
		wait $!
	fi
	address a t 10.8.0.1/24 fd00:8::1/64
	address b t 10.8.0.2/24 fd00:8::2/64
	tunnel_meters t
}

# batching_off NAMESPACE...: ends of the tunnel that send record by record, as the
# unpatched driver does
batching_off() {
	for ns; do
		in_ns "$ns" ethtool -K t tso off tx-udp-segmentation off
	done
}

# tunnel_meters DEVICE: records are the packets of DEVICE, not those of the wire
tunnel_meters() {
	METERS="$METERS a_tunnel=a:$1 b_tunnel=b:$1"
}

# the namespaces of the flow's two ends
END_A=a END_B=b

# flow stream|rr|udp [ARGUMENT...]: traffic of load from the one end to a sink at
# the other, with the arguments that load wants after address and port; then the
# windows, or the profile
flow() {
	if [ "$DIRECTION" = fwd ]; then
		from=$END_A to=$END_B target=$TUN_B
	else
		from=$END_B to=$END_A target=$TUN_A
	fi
	kind=$1
	shift
	in_ns "$to" load sink 5001
	in_ns "$from" load "$kind" "$target" 5001 "$@" &
	source=$!
	if [ -n "${PROFILE:-}" ]; then
		profile
	else
		# shellcheck disable=SC2086 # a list
		meter "$WARM" "$WINDOW" "$WINDOWS" a_wire=a:w b_wire=b:w \
			$METERS > /tmp/windows
		sed 's/^/window /' /tmp/windows > /dev/ttyS1
	fi
	kill -0 "$source" || die "the traffic ended early"
}

# profile: stacks, folded, with the number of samples of each.  Traffic has a rhythm
# here, and one that is near the sampling's makes a picture of its own: so several
# rhythms.
profile() {
	periods="67003 76031 83009 91009 97001 103007 111031 127031"
	sleep "$(awk "BEGIN { print $WARM / 1000 }")"
	for period in $periods; do
		perf record -q -a -g -e cpu-clock -c "$period" \
			-o "/tmp/perf.$period" -- \
			sleep "$(awk "BEGIN { print $WINDOW / 8000 }")"
	done
	kill -STOP "$source"
	for period in $periods; do
		perf script -i "/tmp/perf.$period" -F comm,ip,sym --no-inline \
			2>/dev/null
		# the last stack ends with an empty line, too
		echo
	done |
	awk '
		/^$/ { if (n) stacks[s]++; n = 0; next }
		/^[^ \t]/ { s = $1; n = 1; next }
		{ s = s ";" $2 }
		END { for (s in stacks) print "stack", stacks[s], s }
	' > /dev/ttyS1
}

# esp_tunnel: the inner addresses are on lo, the policies do the rest
esp_tunnel() {
	case $CIPHER in
	AES-128-GCM) key=20 ;;
	AES-256-GCM) key=36 ;;
	*)	die "no ESP with $CIPHER" ;;
	esac
	key=0x$(seq "$key" | sed 's/.*/42/' | tr -d '\n')
	for ns in a b; do
		esp_state $ns "$WIRE_A" "$WIRE_B" 0x100
		esp_state $ns "$WIRE_B" "$WIRE_A" 0x200
	done
	esp_policy a "$TUN_A" "$TUN_B" "$WIRE_A" "$WIRE_B"
	esp_policy b "$TUN_B" "$TUN_A" "$WIRE_B" "$WIRE_A"
	address a lo 10.8.0.1/32 fd00:8::1/128
	address b lo 10.8.0.2/32 fd00:8::2/128
	ip -n a route add "$TUN_B" via "$WIRE_B" src "$TUN_A"
	ip -n b route add "$TUN_A" via "$WIRE_A" src "$TUN_B"
}

# esp_state NAMESPACE FROM TO SPI
esp_state() {
	ip -n "$1" xfrm state add src "$2" dst "$3" proto esp spi "$4" reqid 1 \
		mode tunnel replay-window 64 aead 'rfc4106(gcm(aes))' "$key" 128
}

# esp_policy NAMESPACE HERE THERE WIRE_HERE WIRE_THERE
esp_policy() {
	ip -n "$1" xfrm policy add src "$2" dst "$3" dir out \
		tmpl src "$4" dst "$5" proto esp reqid 1 mode tunnel
	ip -n "$1" xfrm policy add src "$3" dst "$2" dir in \
		tmpl src "$5" dst "$4" proto esp reqid 1 mode tunnel
}
