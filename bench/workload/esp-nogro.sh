# SPDX-License-Identifier: GPL-2.0
# ESP in tunnel mode as in esp.sh, without GRO on the wire

GRO=off
wire
esp_tunnel
flow stream 1
