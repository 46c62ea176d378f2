# SPDX-License-Identifier: GPL-2.0
# one TCP flow through ovpn over UDP

wire
ovpn_tunnel
flow stream 1
