#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/profiles.sh: make bench-profile.  The profiles that are kept for each
# release of the series: one TCP flow through ovpn, AES-128-GCM, IPv4.
#	K=base|patched	one kernel only

. "$(dirname "$0")/../rig/lib.sh"

for what in ${K:-base patched}; do
	for wire in split nic; do
		for direction in fwd rev; do
			say "$what $wire $direction"
			"$TOP/bench/profile.sh" "$what" "$wire" ovpn \
				AES-128-GCM ipv4 "$direction" |
				sed '/^samples/q'
		done
	done
done
