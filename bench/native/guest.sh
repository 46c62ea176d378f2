#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/native/guest.sh ROUNDS MODE...: inside a UML guest.  One TCP flow through
# ovpn for each cipher and direction, ROUNDS times through all MODEs (on, off: of
# batching, at both ends), while the flow goes on.  At both edges of each window
# of time a mark for watch: what was measured, and how many bytes have arrived.

set -eu

rounds=$1
shift
PATH=/ovpn/build/native:$PATH
WIRE=split FAMILY=ipv4
# shellcheck source=bench/guest/lib.sh
. /ovpn/bench/guest/lib.sh

mark() {
	echo "$* $(od -A n -t u8 -N 8 /run/load | tr -d ' ')" > /out/mark
}

# batching on|off
batching() {
	for ns in a b; do
		in_ns $ns ethtool -K t tso "$1" tx-udp-segmentation "$1" \
			> /tmp/ethtool
	done
}

for CIPHER in AES-128-GCM CHACHA20-POLY1305; do
	for DIRECTION in fwd rev; do
		wire
		ovpn_tunnel udp
		if [ "$DIRECTION" = fwd ]; then
			from=a to=b target=$TUN_B
		else
			from=b to=a target=$TUN_A
		fi
		in_ns $to load sink 5001
		in_ns $from load stream "$target" 5001 1 &
		sleep 1
		round=0
		while [ $((round += 1)) -le "$rounds" ]; do
			for mode; do
				batching "$mode"
				sleep 0.3
				what="$CIPHER $DIRECTION $mode $round"
				# shellcheck disable=SC2086 # four words
				mark $what start
				sleep 1
				# shellcheck disable=SC2086 # four words
				mark $what end
			done
		done
		killall load
		wait
		# what is on the way finds a closed port, as long as there is a way
		until [ -z "$(for ns in a b; do
			in_ns $ns ss -Htn state connected exclude time-wait
		done)" ]; do
			sleep 0.1
		done
		killall tunnel
		ip netns del a
		ip netns del b
	done
done
