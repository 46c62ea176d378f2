#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/mutants.sh [GLOB]: break the driver on purpose and see the tests notice.
#
# rig/mutants/NAME.patch is a diff against build/linux.  Its first lines say what
# it breaks and, on a line "Red: SCRIPT: POINT" each, which point of which
# kselftest has to fail; the guest is stopped as soon as that point has spoken.
# "Red: kunit: SUITE: CASE" is a case of a KUnit suite, on the debug kernel;
# "Kernel: FLAVOUR" and "CPUs: N" ask for others than um and one for kselftests.
# TAP: a mutant that a test catches is ok; one that survives is not.

. "$(dirname "$0")/lib.sh"
. "$RIG/patch.sh"
. "$RIG/tests/tap.sh"

pattern=${1:-*}
# a script that hangs, or never comes to its point
DEADLINE=300

boot=
# shellcheck disable=SC2317 # called by the trap
end_guest() {
	# boot.sh takes its guest along; that it is gone by itself is as good
	[ -z "$boot" ] || {
		kill "$boot" 2> /dev/null || :
		wait "$boot" || :
	}
	rm -rf "$work"
}
# shellcheck disable=SC2154 # set by work_dir
work_dir mutants
trap end_guest EXIT

logs=$BUILD/results/mutants
mkdir -p "$logs"

# mutate PATCH: print a commit that is HEAD of build/linux with PATCH on top
mutate() {
	rm -f "$work/index"
	GIT_INDEX_FILE=$work/index tgit read-tree HEAD
	GIT_INDEX_FILE=$work/index tgit apply --cached "$1" ||
		die "$1 does not apply: refresh it"
	tree=$(GIT_INDEX_FILE=$work/index tgit write-tree)
	echo mutant | GIT_AUTHOR_DATE="@$EPOCH +0000" \
		GIT_COMMITTER_DATE="@$EPOCH +0000" \
		tgit commit-tree -p HEAD "$tree"
}

# header NAME DEFAULT: what the patch says, in its first lines
header() {
	value=$(sed -n "/^diff /q; s/^$1: //p" "$patch")
	echo "${value:-$2}"
}

# caught KERNEL SCRIPT POINT: the point fails on that kernel
caught() {
	log=$logs/$name-${2%.sh}.log
	case $2 in
	kunit)	cpus=2 run="exec /ovpn/rig/guest/kunit.sh ${3%%:*}" ;;
	*)	cpus=$(header CPUs 1)
		run="cd /ovpn/${tests#"$TOP/"} && exec ./$2" ;;
	esac
	rm -rf "$work/fifo" "$work/guest"
	mkfifo "$work/fifo"
	"$RIG/guest/boot.sh" -k "$1" -o "$work/guest" -c "$cpus" -t $DEADLINE \
		-v -- sh -c "$run" > "$work/fifo" 2>&1 &
	boot=$!
	while IFS= read -r line; do
		printf '%s\n' "$line"
		case $line in
		"ok "*" $3" | "not ok "*" $3") break ;;
		esac
	done < "$work/fifo" > "$log"
	kill "$boot" 2> /dev/null || :
	wait "$boot" || :
	boot=
	# what explains it comes before it
	tail -n 5 "$log"
	case $(tail -n 1 "$log") in
	"not ok "*" $3") ;;
	*) return 1 ;;
	esac
}

for patch in "$RIG"/mutants/*.patch; do
	name=$(basename "$patch" .patch)
	# shellcheck disable=SC2254 # a glob is wanted
	case $name in
	$pattern) ;;
	*) continue ;;
	esac
	sed -n 's/^Red: \([^:]*\): /\1 /p' "$patch" > "$work/reds"
	[ -s "$work/reds" ] || die "$patch names no point that has to fail"
	commit=$(mutate "$patch")
	while read -r script point <&8; do
		if [ "$script" = kunit ]; then
			kernel=$("$RIG/kernel.sh" um-debug "$commit")
		else
			tests=$("$RIG/kselftest.sh" patched)
			[ -x "$tests/$script" ] ||
				die "$patch: no kselftest $script"
			kernel=$("$RIG/kernel.sh" "$(header Kernel um)" \
				"$commit")
		fi
		works "$name: $script: $point" \
			caught "$kernel" "$script" "$point"
	done 8< "$work/reds"
done
[ "$tap_count" != 0 ] || die "no mutant is called $pattern"
tap_end
