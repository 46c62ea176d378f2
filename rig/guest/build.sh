#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/guest/build.sh: the guest's PID 1 as an initramfs, and the kernel-log
# checker as a program, both in build/guest and only if their sources changed.

. "$(dirname "$0")/../lib.sh"

stale() {
	[ ! -e "$BUILD/guest/initramfs.cpio" ] ||
		[ -n "$(find "$RIG/guest" -name '*.[ch]' \
			-newer "$BUILD/guest/initramfs.cpio")" ]
}

stale || exit 0
mkdir -p "$BUILD/guest"
exec 9>"$BUILD/guest/lock"
flock 9
stale || exit 0

# shellcheck disable=SC2016 # expanded by the shell in the tool root
"$RIG/in-root" sh -euc '
	cc="gcc -std=gnu11 -O2 -Wall -Wextra -Werror -static -s"
	src=/ovpn/rig/guest
	cd build/guest
	rm -rf new
	mkdir new
	cd new
	$cc -o init "$src/init.c" "$src/judge.c" "$src/klog.c"
	$cc -o klog-check "$src/klog-check.c" "$src/klog.c"
	echo init | cpio --quiet -o -H newc -R 0:0 > initramfs.cpio
	# last, because its age tells whether everything is new
	mv klog-check initramfs.cpio ..
	rm init
	cd ..
	rmdir new
' 9>&- >&2 || die "the guest's PID 1 does not build"
