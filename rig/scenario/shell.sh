#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Inside the guest: the tunnel, and a shell to play with it.

set -eu

LOGS=/tmp
# shellcheck source=rig/scenario/tunnel.sh
. "$(dirname "$0")/tunnel.sh"

# the console does not know how large the terminal is
SIZE=${SIZE:-0 0}
[ "$SIZE" = "0 0" ] || stty rows "${SIZE% *}" cols "${SIZE#* }"

tunnel_up || {
	echo "no tunnel: $WHY"
	tunnel_down
	exit 1
}

cat >$T/bashrc <<'END'
PS1='guest:\w# '
HISTFILE=
server() { ip netns exec server "$@"; }
client() { ip netns exec client "$@"; }
END

cat <<END

Linux $(uname -r), ${WHICH:-}: an OpenVPN tunnel is up, $CIPHER over $PROTO.

              namespace "server"        namespace "client"
  tunnel tun0 $SERVER4                  $CLIENT4
              $SERVER6                 $CLIENT6
  wire        192.0.2.1                 192.0.2.2        (veth, SPLIT mode)
              2001:db8::1               2001:db8::2
  log         $LOGS/server.log           $LOGS/client.log
  settings    $T/server.conf  $T/client.conf

  client ping -c 3 $SERVER4             run a command in a namespace
  server iperf3 -s -D; client iperf3 -c $SERVER4 -t 5
  client ethtool -k tun0                 features of the ovpn device
  client tcpdump -ni wire -c 20 &        what goes over the wire
  client ip -s -d link show tun0         counters
  exit                                   leave; everything is taken down

END
# how the last command there ended is no verdict on the guest
bash --rcfile $T/bashrc -i || :
tunnel_down || {
	echo "$WHY"
	exit 1
}
rm -rf $T
