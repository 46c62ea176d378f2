#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test-batch-matrix.sh with the other cipher

BATCH_CIPHER="chachapoly"

source test-batch-matrix.sh
