#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test-batch-delete.sh with an AEAD whose requests complete later

BATCH_ASYNC="yes"

source test-batch-delete.sh
