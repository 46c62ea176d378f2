# SPDX-License-Identifier: GPL-2.0
# UDP datagrams of 1200 bytes through ovpn

wire
ovpn_tunnel
flow udp 1200 1
