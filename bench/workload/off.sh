# SPDX-License-Identifier: GPL-2.0
# one TCP flow through ovpn, batching off at both ends

wire
ovpn_tunnel
batching_off a b
flow stream 1
