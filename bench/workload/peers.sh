# SPDX-License-Identifier: GPL-2.0
# 32 TCP flows, each through a peer of its own, among as many peers as the
# argument says: the flows' peers are spread over all of them.  Both ends are of
# the mp kind, all peers share one socket.

wire
in_ns b tunnel t mp udp "$CIPHER" 0 "$WIRE_B" 1194 "$WIRE_A" 1194 \
	"$ARG" 10.16.0.1 fd00:16::1
in_ns a tunnel t mp udp "$CIPHER" 1 "$WIRE_A" 1194 "$WIRE_B" 1194 \
	"$ARG" 10.17.0.1 fd00:17::1
address a t 10.8.0.1/24 fd00:8::1/64
address b t 10.8.0.2/24 fd00:8::2/64
# every address of a prefix is local, without 2,000 commands
any_address() {
	ip -n "$1" route add local "$2" dev lo
	ip -n "$1" -6 route add local "$3" dev lo
	ip -n "$1" route add "$4" dev t
	ip -n "$1" -6 route add "$5" dev t
}
any_address a 10.16.0.0/16 fd00:16::/64 10.17.0.0/16 fd00:17::/64
any_address b 10.17.0.0/16 fd00:17::/64 10.16.0.0/16 fd00:16::/64
case $FAMILY in
ipv4)	TUN_A=10.16.0.1 TUN_B=10.17.0.1 ;;
*)	TUN_A=fd00:16::1 TUN_B=fd00:17::1 ;;
esac
tunnel_meters t
[ "$ARG" -ge 32 ] && flows=32 || flows=$ARG
if [ "$DIRECTION" = fwd ]; then
	flow stream "$flows" "$ARG" "$TUN_A"
else
	flow stream "$flows" "$ARG" "$TUN_B"
fi
