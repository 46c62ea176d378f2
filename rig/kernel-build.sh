#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/kernel-build.sh FLAVOUR JOBS OUT FRAGMENT...: the part of rig/kernel.sh
# that runs in the tool root: configure, check the configuration, compile, and
# leave kernel, configuration and modules in OUT.

set -eu

flavour=$1
jobs=$2
out=$3
shift 3
src=/ovpn/build/src
obj=/ovpn/build/obj/$flavour
log=$obj/build.log
case $flavour in
x86)
	arch=x86_64 image=arch/x86/boot/bzImage module=/ovpn/bench/module
	;;
*)
	arch=um image=linux module=
	;;
esac

export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970'
export KBUILD_BUILD_USER=rig KBUILD_BUILD_HOST=rig

die() {
	printf 'kernel: error: %s\n' "$*" >&2
	exit 1
}

# gcc puts large arrays of the large code model into .lbss, which lies behind
# __bss_stop: kmemleak does not look there and calls what they point to a leak
[ "$flavour" != um-debug ] ||
	export KCFLAGS=-mlarge-data-threshold=2147483647

kmake() {
	make -C "$src" O="$obj" ARCH=$arch CC="ccache gcc" "$@"
}

mkdir -p "$obj"
: > "$log"
for f; do
	cat "/ovpn/rig/config/$f.config"
done > "$obj/wanted"
if ! cmp -s "$obj/wanted" "$obj/wanted.done"; then
	rm -f "$obj/wanted.done"
	kmake -s allnoconfig >> "$log" 2>&1
	"$src/scripts/kconfig/merge_config.sh" -m -O "$obj" "$obj/.config" \
		"$obj/wanted" >> "$log" 2>&1
fi
kmake -s olddefconfig >> "$log" 2>&1 ||
	die "the configuration of $flavour failed, see $log"

# an option that Kconfig dropped is a test that tests nothing; where fragments
# differ, the last one's word counts
if awk '
	/^CONFIG_/ { split($0, a, "="); last[a[1]] = $0 }
	/^# CONFIG_.* is not set$/ { delete last[$2] }
	END { for (i in last) print last[i] }
' "$obj/wanted" | sort | grep -vxFf "$obj/.config" > "$obj/lost"; then
	# shellcheck disable=SC2046 # one line
	die "options lost in $flavour:" $(cat "$obj/lost")
fi
cp "$obj/wanted" "$obj/wanted.done"

# the last words of make are its errors; the steps become a line of progress
{
	kmake -j"$jobs" 2>> "$log" || touch "$obj/failed"
} | {
	steps=0
	while read -r verb file _; do
		case $verb in
		CC | AS | LD) steps=$((steps + 1)) ;;
		*) continue ;;
		esac
		[ $((steps % 200)) != 0 ] ||
			echo "kernel: $flavour: $steps steps, at ${file:-}" >&2
	done
}
if [ -e "$obj/failed" ]; then
	rm -f "$obj/failed"
	grep -E -m 5 'error|Error|undefined' "$log" >&2
	die "compiling $flavour failed, see $log"
fi

cp "$obj/$image" "$out/linux"
cp "$obj/.config" "$out/config"
if grep -qx 'CONFIG_MODULES=y' "$obj/.config"; then
	kmake -s INSTALL_MOD_PATH="$out" modules_install >> "$log" 2>&1 ||
		die "installing the modules of $flavour failed, see $log"
fi
if [ -n "$module" ]; then
	# out of tree, in a copy: the checkout stays clean
	rm -rf "$obj/bench"
	cp -r "$module" "$obj/bench"
	kmake -s M="$obj/bench" modules >> "$log" 2>&1 ||
		die "the modules of the bench did not build, see $log"
	cp "$obj"/bench/*.ko "$out"
fi
