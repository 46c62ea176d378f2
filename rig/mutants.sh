#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/mutants.sh [GLOB]: break the driver on purpose and see the tests notice.
#
# rig/mutants/NAME.patch is a diff against build/linux whose first lines say
# what it breaks and, on a line "Red: SCRIPT", which kselftest has to fail.
# TAP: a mutant that a test catches is ok; one that survives is not.

. "$(dirname "$0")/lib.sh"
. "$RIG/tests/tap.sh"

pattern=${1:-*}
tests=$("$RIG/kselftest.sh" patched)
dir=/ovpn/${tests#"$TOP/"}
work=$BUILD/results/mutants
out=$work/guest
mkdir -p "$work"

# mutate PATCH: print a commit that is HEAD of build/linux with PATCH on top
mutate() {
	index=$BUILD/index.mutant
	rm -f "$index"
	GIT_INDEX_FILE=$index git -C "$TREE" read-tree HEAD
	GIT_INDEX_FILE=$index git -C "$TREE" apply --cached "$1" ||
		die "$1 does not apply: refresh it"
	tree=$(GIT_INDEX_FILE=$index git -C "$TREE" write-tree)
	rm -f "$index"
	echo mutant | GIT_AUTHOR_DATE='@0 +0000' GIT_COMMITTER_DATE='@0 +0000' \
		git -C "$TREE" commit-tree -p HEAD "$tree"
}

# caught KERNEL SCRIPT: the script fails on that kernel, by a TAP line of its own
caught() {
	rm -rf "$out"
	mkdir -p "$out"
	"$RIG/guest/boot.sh" -k "$1" -o "$out" -c 1 -- \
		sh -c "cd $dir && exec ./$2" > "$out/why" 2>&1 || :
	grep '^not ok' "$out/output.log"
}

for patch in "$RIG"/mutants/*.patch; do
	name=$(basename "$patch" .patch)
	# shellcheck disable=SC2254 # a glob is wanted
	case $name in
	$pattern) ;;
	*) continue ;;
	esac
	script=$(sed -n 's/^Red: //p' "$patch")
	[ -x "$tests/$script" ] || die "$patch names no kselftest"
	kernel=$("$RIG/kernel.sh" um "$(mutate "$patch")")
	works "$name turns $script red" caught "$kernel" "$script"
done
tap_end
