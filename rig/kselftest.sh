#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/kselftest.sh base|patched: build the ovpn kselftests of one tree and print
# the folder that holds them.  The folder keeps the kernel's layout, because the
# tests reach for the ynl tool and the netlink specifications by relative path.

. "$(dirname "$0")/lib.sh"

[ $# = 1 ] || die "usage: rig/kselftest.sh base|patched"
# shellcheck disable=SC2153 # lib.sh sets it
[ -d "$TREE/.git" ] || die "no kernel tree yet: run make tree"
case $1 in
base)	tree=$(git -C "$TREE" rev-parse 'base^{tree}') ;;
patched) tree=$(tree_snapshot) ;;
*)	die "unknown tree $1 (base, patched)" ;;
esac

dir=$BUILD/kselftest/$1
tests=$dir/tools/testing/selftests/net/ovpn

exec 9>"$BUILD/.kselftest.lock"
flock 9
if [ "$(cat "$dir/.complete" 2>/dev/null)" != "$tree" ]; then
	say "building the kselftests of $1"
	rm -rf "$dir"
	mkdir -p "$dir"
	git -C "$TREE" archive "$tree" -- tools/testing/selftests/lib.mk \
		tools/testing/selftests/kselftest \
		tools/testing/selftests/kselftest.h \
		tools/testing/selftests/kselftest_harness.h \
		tools/testing/selftests/net tools/net/ynl \
		tools/include tools/scripts Documentation/netlink |
		tar -x -C "$dir"
	# the exported headers need the whole tree's uapi folders, little else
	git -C "$TREE" archive --prefix=uapi/ "$tree" -- Makefile Kbuild \
		Kconfig scripts usr include arch/x86 arch/um \
		tools/include tools/scripts tools/build tools/objtool |
		tar -x -C "$dir"
	# shellcheck disable=SC2016 # expanded in the tool root
	"$RIG/in-root" sh -euc '
		cd "/ovpn/build/kselftest/$1"
		make -s -C uapi ARCH=x86 headers
		mv uapi/usr/include headers
		rm -rf uapi
		make -s -C tools/testing/selftests/net/ovpn ARCH=x86 \
			KHDR_INCLUDES="-isystem $PWD/headers"
	' sh "$1" > "$BUILD/kselftest-$1.log" 2>&1 ||
		die "the kselftests of $1 did not build," \
			"see build/kselftest-$1.log"
	echo "$tree" > "$dir/.complete"
fi
echo "$tests"
