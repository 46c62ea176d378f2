#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/kernel.sh FLAVOUR WHAT: build one kernel and print where it is.
#
# FLAVOUR	um (tests), um-debug (everything that finds faults), x86 (the
#		bench: a bzImage for QEMU, with the modules of bench/module),
#		um-bench (um-debug, which has no modules, with those of the
#		bench built in) or um-native (the native bench: one CPU, the
#		host's SIMD)
# WHAT		base, patched (build/linux as it stands, uncommitted changes
#		included), or any commit of build/linux
#
# A kernel is known by its source tree, its configuration and the tool root, and
# kept in the cache under that name: what was built once is not built again.
# Sources are checked out in build/src, so that going from base to patched
# compiles only what differs.

. "$(dirname "$0")/lib.sh"

[ $# = 2 ] || die "usage: rig/kernel.sh um|um-debug|x86|um-bench|um-native" \
	"base|patched|COMMIT"
flavour=$1
what=$2
case $flavour in
um)	fragments="features guest um" ;;
um-debug) fragments="features guest um debug" ;;
x86)	fragments="features guest qemu" ;;
um-bench) fragments="features guest um debug" ;;
um-native) fragments="features guest um native" ;;
*)	die "unknown kernel flavour $flavour" \
		"(um, um-debug, x86, um-bench, um-native)" ;;
esac
# shellcheck disable=SC2153 # lib.sh sets it
[ -d "$TREE/.git" ] || die "no kernel tree yet: run make tree"

case $what in
base)	tree=$(git -C "$TREE" rev-parse 'base^{tree}') ;;
patched) tree=$(tree_snapshot) ;;
*)	tree=$(git -C "$TREE" rev-parse -q --verify "$what^{tree}") ||
		die "build/linux has no commit $what" ;;
esac
# KUnit suites, which neither the base nor the first patches of a series have
has_option() {
	git -C "$TREE" grep -q "^config $1\$" "$tree" -- "$2"
}
if [ "$flavour" = um-debug ]; then
	! has_option OVPN_KUNIT_TEST drivers/net/Kconfig ||
		fragments="$fragments kunit-ovpn"
	! has_option IPV6_GRO_KUNIT_TEST net/ipv6/Kconfig ||
		fragments="$fragments kunit-gro"
fi
# patches that only the rig needs, to make a flavour work at all
patches=
case $flavour in
um-native) patches=$(ls "$RIG"/patches/um-*.patch "$TOP"/bench/native/*.patch) ;;
um*)	patches=$(ls "$RIG"/patches/um-*.patch) ;;
esac
config=$({
	for f in $fragments; do cat "$RIG/config/$f.config"; done
	case $flavour in
	x86 | um-bench) cat "$TOP"/bench/module/* ;;
	esac
	# shellcheck disable=SC2086 # a list
	cat "$RIG/kernel-build.sh" $patches
} | sha256sum | cut -c1-8)
root=$("$RIG/root.sh" path)
# A test or a text that changes makes no other kernel; KUnit tests are part of
# the debug kernel only.
sources=$(git -C "$TREE" ls-tree -r "$tree" | awk -F '\t' -v "flavour=$flavour" '
	$2 ~ /^tools\/testing\// ||
	$2 ~ /^Documentation\/.*\.(rst|txt|yaml)$/ ||
	$2 ~ /_kunit\.c$/ && flavour != "um-debug" { next }
	{ print }' | sha1sum | cut -c1-12)
id=$flavour-$sources-$config-${root##*-}
kernel=$CACHE/kernel/$id
case $what in
base|patched) link=$BUILD/kernel/$flavour-$what ;;
*)	link=$BUILD/kernel/$flavour-$(git -C "$TREE" rev-parse --short=12 \
		"$what") ;;
esac
mkdir -p "$BUILD/kernel" "$CACHE/kernel"

# build/src and the object folders serve one build at a time
lock() {
	exec 9>"$BUILD/.kernel.lock"
	flock -n 9 && return
	say "waiting for another build"
	flock 9
}

[ -e "$kernel/.complete" ] || lock
if [ ! -e "$kernel/.complete" ]; then
	need_space "$CACHE" 6
	src=$BUILD/src
	[ -d "$src" ] || {
		say "checking out build/src (once)"
		git -C "$TREE" worktree prune
		git -C "$TREE" worktree add -q --detach "$src" base
	}
	commit=$(echo snapshot | GIT_AUTHOR_NAME=rig GIT_AUTHOR_EMAIL=rig@localhost \
		GIT_COMMITTER_NAME=rig GIT_COMMITTER_EMAIL=rig@localhost \
		git -C "$TREE" commit-tree "$tree")
	git -C "$src" checkout -q -f --detach "$commit"
	git -C "$src" clean -qfdx
	for patch in $patches; do
		git -C "$src" apply "$patch" ||
			die "$patch does not apply to this base"
	done
	# all but their sources is that of um-debug
	objects=$flavour
	[ "$flavour" != um-bench ] || {
		objects=um-debug
		cp -r "$TOP/bench/module" "$src/drivers/net/bench"
		# one of them slows everything down
		sed -i 's/^obj-m := .*/obj-y := nicpair.o aeadloop.o/' \
			"$src/drivers/net/bench/Kbuild"
		echo 'obj-y += bench/' >> "$src/drivers/net/Makefile"
	}
	say "building $flavour $what"
	rm -rf "$kernel"
	mkdir -p "$kernel"
	# shellcheck disable=SC2086 # a list
	"$RIG/in-root" sh -eu rig/kernel-build.sh "$objects" "$JOBS" \
		"/cache/kernel/$id" $fragments ||
		die "the kernel $flavour $what did not build"
	touch "$kernel/.complete"
fi
ln -sfn "$kernel" "$link"
echo "$link/linux"
