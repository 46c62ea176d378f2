# SPDX-License-Identifier: GPL-2.0
# one TCP flow through ovpn, GRO off on the wire

GRO=off
wire
ovpn_tunnel
flow stream 1
