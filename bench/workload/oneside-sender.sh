# SPDX-License-Identifier: GPL-2.0
# one TCP flow through ovpn, batching off at the end that sends

wire
ovpn_tunnel
case $DIRECTION in
fwd)	batching_off a ;;
*)	batching_off b ;;
esac
flow stream 1
