# SPDX-License-Identifier: GPL-2.0
# one TCP flow through ovpn, batching off at the end that receives

wire
ovpn_tunnel
case $DIRECTION in
fwd)	batching_off b ;;
*)	batching_off a ;;
esac
flow stream 1
