# SPDX-License-Identifier: GPL-2.0
# for the bench's own tests: ovpn.sh on a receive path that spends as many more
# instructions on each packet as the argument says

insmod /bench/modules/slow.ko instructions="$ARG"
wire
ovpn_tunnel
flow stream 1
