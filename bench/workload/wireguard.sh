# SPDX-License-Identifier: GPL-2.0
# one TCP flow through WireGuard

wire
umask 077
for ns in a b; do
	wg genkey > /tmp/$ns.key
	ip -n $ns link add dev t type wireguard
done
key_a=$(wg pubkey < /tmp/a.key)
key_b=$(wg pubkey < /tmp/b.key)
case $FAMILY in
ipv6)	end_a=[$WIRE_A] end_b=[$WIRE_B] ;;
*)	end_a=$WIRE_A end_b=$WIRE_B ;;
esac
in_ns a wg set t listen-port 1194 private-key /tmp/a.key peer "$key_b" \
	endpoint "$end_b:1194" allowed-ips 10.8.0.2,fd00:8::2
in_ns b wg set t listen-port 1194 private-key /tmp/b.key peer "$key_a" \
	endpoint "$end_a:1194" allowed-ips 10.8.0.1,fd00:8::1
address a t 10.8.0.1/24 fd00:8::1/64
address b t 10.8.0.2/24 fd00:8::2/64
tunnel_meters t
# its workers take turns in their own rhythm
WINDOW=$((WINDOW * 16))
flow stream 1
