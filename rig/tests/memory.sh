#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/tests/memory.sh: which guests that passed rig/test.sh remembers, and which
# it runs.  A checkout of its own, in which guests are stubs that note who ran.

. "$(dirname "$0")/../lib.sh"
RIG=$TOP/rig
. "$RIG/patch.sh"
. "$RIG/tests/tap.sh"

work_dir test-memory
unset FRESH REMEMBER
there=$work/main
suite=tools/testing/selftests/net/ovpn

# stub PATH: a program of that checkout, read from stdin
stub() {
	mkdir -p "$(dirname "$there/$1")"
	cat > "$there/$1"
	chmod +x "$there/$1"
}

mkdir -p "$there/rig/tests"
git init -q "$there"
cp "$RIG/lib.sh" "$RIG/test.sh" "$there/rig/"
for what in kselftest kernel check; do
	stub "rig/$what.sh" < /dev/null
done
stub rig/root.sh <<-'END'
	#!/bin/sh
	echo "$ROOT"
END
stub rig/in-root < /dev/null
# what the guest runs ends in ./NAME
stub rig/guest/boot.sh <<-'END'
	#!/bin/sh
	for last; do :; done
	while [ "$1" != -o ]; do shift; done
	echo 1..1 > "$2/output.log"
	echo "ok 1" >> "$2/output.log"
	echo "${last##*/}" >> "$RAN"
	# somebody builds another kernel while it runs
	[ ! -s "$REBUILD" ] || cp "$REBUILD" ../build/kernel/um-base/linux
	! grep -qxF "${last##*/}" "$BAD"
END
for kernel in um-patched um-base um-debug-patched; do
	mkdir -p "$there/build/kernel/$kernel"
	echo "$kernel" > "$there/build/kernel/$kernel/linux"
	for name in a b; do
		stub "build/kselftest/${kernel##*-}/$suite/test-$name.sh" \
			< /dev/null
	done
done
ROOT=$work/root
RAN=$work/ran
REBUILD=$work/rebuild
: > "$REBUILD"
BAD=$work/bad
export ROOT RAN BAD REBUILD
mkdir -p "$ROOT/var/lib/dpkg"
echo 1 > "$ROOT/var/lib/dpkg/status"
: > "$BAD"

# ran N [VARIABLE=VALUE...] [-- NAME]: N guests run, the others are remembered
ran() {
	want=$1
	shift
	name=
	case ${1:-} in
	--)	name=$2; shift 2 ;;
	esac
	: > "$RAN"
	(cd "$there/rig" && env XDG_CACHE_HOME="$work/cache" "$@" \
		./test.sh ${name:+"$name"}) > "$work/out" 2>&1 || :
	cat "$work/out"
	[ "$(wc -l < "$RAN")" -eq "$want" ]
}

# refute PATTERN: not in what the last run printed
refute() {
	! grep "$1" "$work/out"
}

# 3 kernels with two tests, KUnit; the two halves of the gate are no guests
works "the first time all run" ran 7
works "the second time none runs" ran 0
works "and it says so" grep -q '^7 guests are remembered' "$work/out"
works "what is remembered counts" \
	grep -q '^16 passed, 0 failed, 0 skipped' "$work/out"
works "FRESH=1 runs all" ran 7 FRESH=1
works "still none" ran 0
works "a name runs" ran 1 -- um-base/test-a.sh
works "and nothing else is told" refute remembered
echo changed >> "$there/build/kernel/um-patched/linux"
works "another kernel: its guests run" ran 2
echo changed >> "$there/build/kselftest/base/$suite/test-a.sh"
works "another test: the guests of its suite run" ran 2
echo 2 > "$ROOT/var/lib/dpkg/status"
works "another user land: all run" ran 7
echo '# changed' >> "$there/rig/guest/boot.sh"
works "another guest: all run" ran 7
echo test-b.sh > "$BAD"
works "a name fails" ran 1 -- um-base/test-b.sh
works "and is forgotten" ran 1
works "all fail that can" ran 7 FRESH=1
works "what failed runs again" ran 3
: > "$BAD"
works "until it passes" ran 3
works "and is remembered then" ran 0
older=$there/build/kernel/um-base/linux
echo older >> "$older"
cp "$older" "$work/older"
echo newer > "$REBUILD"
works "another kernel comes while they run" ran 2
cp "$work/older" "$older"
: > "$REBUILD"
works "nothing of that is remembered for the older one" ran 2
rm "$ROOT/var/lib/dpkg/status"
works "what cannot be told from another runs" ran 7

tap_end
