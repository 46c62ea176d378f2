#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test-offload-csum.sh with the other cipher and the other outer family

OVPN_ALG="chachapoly"
OUTER=6

source test-offload-csum.sh
