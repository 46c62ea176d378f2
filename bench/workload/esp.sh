# SPDX-License-Identifier: GPL-2.0
# one TCP flow through ESP in tunnel mode, AES-GCM, with the GRO of ESP

wire
esp_tunnel
flow stream 1
