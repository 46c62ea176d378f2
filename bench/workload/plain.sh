# SPDX-License-Identifier: GPL-2.0
# one TCP flow and no tunnel: what every tunnel starts from

wire
TUN_A=$WIRE_A TUN_B=$WIRE_B
flow stream 1
