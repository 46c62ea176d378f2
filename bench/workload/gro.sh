# SPDX-License-Identifier: GPL-2.0
# GRO of IPv6 alone: aggregates with no, one and several extension headers, and of
# IPv6 in IPv6.  What an aggregate costs, in instructions.

sysctl -q -w net.core.gro_normal_batch=1000
insmod /bench/modules/groloop.ko
for case in "tcp 0 -1" "tcp 1 -1" "tcp 4 -1" "tcp 0 0" "tcp 1 1" "tcp 4 4" \
	"tcp 4 0" "tcp 0 4" "udp 0 -1" "udp 1 -1" "udp 4 -1"; do
	echo "$case 200" > /sys/kernel/debug/groloop
	cat /sys/kernel/debug/groloop
	sed 's/\([^ ]*\)=\([^ ]*\)/"\1":"\2",/g; s/^/window {/; s/,$/}/' \
		/sys/kernel/debug/groloop > /dev/ttyS1
done
