#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test-gro-matrix.sh with the other cipher, over IPv6

GRO_CIPHER="chachapoly"
GRO_FAMILY="6"

source test-gro-matrix.sh
