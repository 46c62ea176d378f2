#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test-gro-stray.sh over IPv6

GRO_FAMILY="6"

source test-gro-stray.sh
