#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test-gro-matrix.sh: who computes the checksums on the wire, and GSO packets
# that GRO sees

GRO_CHECKSUMS="yes"

source test-gro-matrix.sh
