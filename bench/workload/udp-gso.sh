# SPDX-License-Identifier: GPL-2.0
# UDP datagrams of 1200 bytes, 32 in each call, as QUIC sends them

wire
ovpn_tunnel
flow udp 1200 32
