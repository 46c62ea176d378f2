#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test-gro-matrix.sh with the other cipher

GRO_CIPHER="chachapoly"

source test-gro-matrix.sh
