# SPDX-License-Identifier: GPL-2.0
# one TCP flow to a host c behind the router b, whose devices do frag-list GRO as a
# router's would: what arrives in a batch is forwarded in a batch

wire
ovpn_tunnel
namespace c
ip link add c netns b type veth peer name c netns c
for ns in b c; do
	in_ns $ns ethtool -K c tso off tx-udp-segmentation off gro on
	tc -n $ns qdisc add dev c root pfifo limit 10000
done
in_ns b ethtool -K c rx-gro-list on
in_ns b ethtool -K t rx-gro-list on
address b c 10.12.0.1/24 fd00:12::1/64
address c c 10.12.0.2/24 fd00:12::2/64
up b c
up c c
in_ns b sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip -n c route add default via 10.12.0.1
ip -n c -6 route add default via fd00:12::1
ip -n a route add 10.12.0.0/24 dev t
ip -n a -6 route add fd00:12::/64 dev t
case $FAMILY in
ipv4)	TUN_B=10.12.0.2 ;;
*)	TUN_B=fd00:12::2 ;;
esac
END_B=c
# three hosts take turns in their own rhythm
WINDOW=$((WINDOW * 3))
flow stream 1
