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

kernel=${KERNEL:-$("$RIG/kernel.sh" um "$which")}

out=$BUILD/shell.$$
boot=
# shellcheck disable=SC2317 # called by the trap
clean() {
	rc=$?
	trap - EXIT
	if [ -n "$boot" ]; then
		kill "$boot"
		# it says what killed it, which is known
		wait "$boot" || :
	fi
	rm -rf "$out"
	exit "$rc"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# In the background, or nothing here would hear of a terminal that is closed;
# sh takes the terminal away from what it puts there, so by another number.
size=$(stty size)
exec 3<&0
"$RIG/guest/boot.sh" -k "$kernel" -o "$out" -c 1 -i -- env \
	WHICH="$which" SIZE="$size" \
	CIPHER="${CIPHER:-AES-256-GCM}" PROTO="${PROTO:-udp4}" \
	RENEG="${RENEG:-3600}" sh /ovpn/rig/scenario/shell.sh <&3 3<&- &
boot=$!
rc=0
wait "$boot" || rc=$?
boot=
exit "$rc"
