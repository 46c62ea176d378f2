# SPDX-License-Identifier: GPL-2.0
# one TCP flow with OpenVPN's default tunnel MTU: every full record is fragmented

wire
ovpn_tunnel
ip -n a link set dev t mtu 1500
ip -n b link set dev t mtu 1500
flow stream 1
