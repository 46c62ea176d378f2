# SPDX-License-Identifier: GPL-2.0
# for the bench's own tests: a tunnel through which nothing goes

wire
ovpn_tunnel
in_ns b load sink 5001
# shellcheck disable=SC2086 # a list
meter "$WARM" "$WINDOW" "$WINDOWS" a_wire=a:w b_wire=b:w $METERS |
	sed 's/^/window /' > /dev/ttyS1
