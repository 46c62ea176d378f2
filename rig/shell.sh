#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/shell.sh [base|patched]: a shell in a guest on that kernel (the patched
# one unless told), with the tunnel of rig/scenario/tunnel.sh up.  CIPHER,
# PROTO and RENEG change it, KERNEL=FILE boots that kernel.

. "$(dirname "$0")/lib.sh"

which=${1:-patched}
case $which in
base|patched) ;;
*)	die "usage: rig/shell.sh [base|patched]" ;;
esac
[ -t 0 ] || die "a shell needs a terminal"

out=$BUILD/shell.$$
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
kernel=${KERNEL:-$("$RIG/kernel.sh" um "$which")}
"$RIG/guest/boot.sh" -k "$kernel" -o "$out" -c 1 -i -- env \
	WHICH="$which" CIPHER="${CIPHER:-AES-256-GCM}" \
	PROTO="${PROTO:-udp4}" RENEG="${RENEG:-3600}" \
	sh /ovpn/rig/scenario/shell.sh
