# SPDX-License-Identifier: GPL-2.0
# several TCP flows through one tunnel; the argument says how many

wire
ovpn_tunnel
flow stream "$ARG"
