# SPDX-License-Identifier: GPL-2.0
# one TCP flow through ovpn over TCP

wire
ovpn_tunnel tcp
flow stream 1
