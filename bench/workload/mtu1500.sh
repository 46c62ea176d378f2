# SPDX-License-Identifier: GPL-2.0
# one TCP flow with OpenVPN's default tunnel MTU: a record of a full packet does
# not fit the wire

wire
ovpn_tunnel
ip -n a link set dev t mtu 1500
ip -n b link set dev t mtu 1500
# reassembly takes turns in its own rhythm, and where the driver makes segments
# fit, the receiver opens its window more slowly
WARM=2500
WINDOW=$((WINDOW * 4))
flow stream 1
