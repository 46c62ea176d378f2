#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/kernel.sh FLAVOUR WHAT: build one kernel and print where it is.
#
# FLAVOUR	um (tests), um-debug (everything that finds faults) or x86 (the
#		bench: a bzImage for QEMU, with the modules of bench/module)
# WHAT		base, patched (build/linux as it stands, uncommitted changes
#		included), or any commit of build/linux
#
# A kernel is known by its source tree, its configuration and the tool root, and
# kept in the cache under that name: what was built once is not built again.
# Sources are checked out in build/src, so that going from base to patched
# compiles only what differs.

. "$(dirname "$0")/lib.sh"

[ $# = 2 ] || die "usage: rig/kernel.sh um|um-debug|x86 base|patched|COMMIT"
flavour=$1
what=$2
case $flavour in
um)	fragments="features guest um" ;;
um-debug) fragments="features guest um debug" ;;
x86)	fragments="features guest qemu" ;;
*)	die "unknown kernel flavour $flavour (um, um-debug, x86)" ;;
esac
# shellcheck disable=SC2153 # lib.sh sets it
[ -d "$TREE/.git" ] || die "no kernel tree yet: run make tree"

case $what in
base)	tree=$(git -C "$TREE" rev-parse 'base^{tree}') ;;
patched) tree=$(tree_snapshot) ;;
*)	tree=$(git -C "$TREE" rev-parse -q --verify "$what^{tree}") ||
		die "build/linux has no commit $what" ;;
esac
# patches that only the rig needs, to make a flavour work at all
patches=
case $flavour in
um*)	patches=$(ls "$RIG"/patches/um-*.patch) ;;
esac
config=$({
	for f in $fragments; do cat "$RIG/config/$f.config"; done
	[ "$flavour" != x86 ] || cat "$TOP"/bench/module/*
	# shellcheck disable=SC2086 # a list
	cat "$RIG/kernel-build.sh" $patches
} | sha256sum | cut -c1-8)
root=$("$RIG/root.sh" path)
id=$flavour-$(echo "$tree" | cut -c1-12)-$config-${root##*-}
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
	git -C "$src" clean -qfd
	for patch in $patches; do
		git -C "$src" apply "$patch" ||
			die "$patch does not apply to this base"
	done
	say "building $flavour $what"
	rm -rf "$kernel"
	mkdir -p "$kernel"
	# shellcheck disable=SC2086 # a list
	"$RIG/in-root" sh -eu rig/kernel-build.sh "$flavour" "$JOBS" \
		"/cache/kernel/$id" $fragments ||
		die "the kernel $flavour $what did not build"
	touch "$kernel/.complete"
fi
ln -sfn "$kernel" "$link"
echo "$link/linux"
