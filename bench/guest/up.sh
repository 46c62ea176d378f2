# SPDX-License-Identifier: GPL-2.0
# What the openvpn programs run once connected: a word into the fifo that the
# workload reads.

echo up > "/tmp/$1"
