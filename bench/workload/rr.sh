# SPDX-License-Identifier: GPL-2.0
# TCP request and response, one byte each: nothing to batch

wire
ovpn_tunnel
flow rr
