#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test-refs-storm.sh with requests that are completed later, on another CPU

REFS_ASYNC="cryptd"

source ./test-refs-storm.sh
