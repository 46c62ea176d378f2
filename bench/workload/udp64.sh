# SPDX-License-Identifier: GPL-2.0
# UDP datagrams of 64 bytes, one in each call: nothing to batch on transmit

wire
ovpn_tunnel
flow udp 64 1
