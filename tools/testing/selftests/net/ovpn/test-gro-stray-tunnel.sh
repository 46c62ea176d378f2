#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test-gro-stray.sh: into other tunnels, and sockets that go away

GRO_TUNNELS="yes"

source test-gro-stray.sh
