#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test-gro-stray-tunnel.sh over IPv6

GRO_FAMILY="6"
GRO_TUNNELS="yes"

source test-gro-stray.sh
