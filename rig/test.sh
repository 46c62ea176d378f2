#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/test.sh [GLOB]: run the tests, all of those that make test stands for or
# those whose name matches GLOB, and print one line for each and the closing line.
#
# A name says where a test runs: KERNEL/SCRIPT is a kselftest in a guest, one
# guest each; rig/NAME is a script of rig/tests on the host; check is the gate.
# Every test speaks TAP, prove(1) judges it, and for a guest the verdict that
# was written after the leak checks counts as one more point.  What is left of
# a test lies in build/results/test/NAME.

. "$(dirname "$0")/lib.sh"

RESULTS=$BUILD/results/test
pattern=${1:-}
# guests mostly wait; more of them than CPUs is no waste
PARALLEL=${PARALLEL:-$((JOBS + 1))}

# In-tree tests that take minutes each on the debug kernel: "all" has them, and
# so has their name.
SLOW="um-debug-patched/test.sh
um-debug-patched/test-chachapoly.sh
um-debug-patched/test-float.sh
um-debug-patched/test-large-mtu.sh
um-debug-patched/test-symmetric-id.sh
um-debug-patched/test-symmetric-id-float.sh
um-debug-patched/test-symmetric-id-tcp.sh
um-debug-patched/test-tcp.sh"

# names: every test there is, in the order in which it starts
names() {
	echo check
	for script in "$RIG"/tests/*.sh; do
		[ -x "$script" ] && echo "rig/$(basename "$script" .sh)"
	done
	for kernel in um-debug-patched um-patched um-base; do
		tests=$(suite "$kernel")
		for script in "$tests"/test*.sh; do
			[ -x "$script" ] && echo "$kernel/$(basename "$script")"
		done
	done
}

# suite KERNEL: the kselftests that belong on a kernel
suite() {
	echo "$BUILD/kselftest/${1##*-}/tools/testing/selftests/net/ovpn"
}

# run_one NAME: run it, leave "PASSED FAILED SKIPPED" in its folder
run_one() {
	out=$RESULTS/$1
	rm -rf "$out"
	mkdir -p "$out"
	start=$(date +%s)
	: > "$out/why"
	case $1 in
	um-*/*)
		kernel=${1%%/*}
		deadline=300
		path=
		[ "$kernel" != um-debug-patched ] || {
			deadline=900
			path=/ovpn/rig/guest/slow:
		}
		dir=$(suite "$kernel")
		"$RIG/guest/boot.sh" -k "$BUILD/kernel/$kernel/linux" \
			-o "$out" -t "$deadline" -- \
			env "PATH=$path/usr/sbin:/usr/bin:/sbin:/bin" sh -c \
			"cd /ovpn/${dir#"$TOP/"} && exec ./${1#*/}" \
			> "$out/why" 2>&1 && verdict=pass || verdict=fail
		tap=$out/output.log
		# kselftest's way to skip a whole script
		[ "$(cat "$out/why")" != "the command exits 4" ] || {
			verdict=skip
			echo "1..0 # SKIP $(tail -n 1 "$tap")" > "$tap.skip"
			mv "$tap.skip" "$tap"
		}
		;;
	rig/*)
		tap=$out/output.log
		"$RIG/tests/${1#rig/}.sh" > "$tap" 2> "$out/stderr.log" &&
			verdict=pass || verdict=fail
		;;
	check)
		tap=$out/output.log
		"$RIG/check.sh" > "$tap" 2> "$out/stderr.log" &&
			verdict=pass || verdict=fail
		;;
	esac
	touch "$tap"
	# what the TAP reader objects to: no plan, a wrong plan, a failed point
	"$RIG/in-root" prove --nocolor -Q -e cat "${tap#"$TOP/"}" \
		> "$out/prove.log" 2>&1 || {
		[ "$verdict" = fail ] || echo "TAP: $(grep -m 1 -E \
			'Parse errors|Failed test|No plan' "$out/prove.log")" \
			>> "$out/why"
		verdict=fail
	}
	awk -v verdict="$verdict" '
		/^ok .*# SKIP/ { s++; next }
		/^ok / { p++ }
		/^not ok / { f++ }
		END {
			if (verdict == "pass") p++
			else if (verdict == "skip") s++
			else f++
			print p + 0, f + 0, s + 0
		}' "$tap" > "$out/count"
	read -r passed failed skipped < "$out/count"
	line="$(printf '%-42s %3d passed' "$1" "$passed")"
	[ "$failed" = 0 ] || line="$line, $failed FAILED"
	[ "$skipped" = 0 ] || line="$line, $skipped skipped"
	echo "$line ($(($(date +%s) - start)) s)"
	[ "$failed" = 0 ] || {
		grep '^not ok' "$tap" | head -n 5
		sed 's/^[a-z]*: error: //' "$out/why" | head -n 5
		echo "see build/results/test/$1"
	} | sed 's/^/    /'
	grep -E '^(ok .*|1..0 )# SKIP' "$tap" | sed 's/^/    /'
	return 0
}

if [ "${1:-}" = --one ]; then
	run_one "$2"
	exit
fi

mkdir -p "$RESULTS"
for what in patched base; do
	"$RIG/kselftest.sh" $what >/dev/null
done
case $pattern in
'')	pattern='*' left_out=$SLOW ;;
all)	pattern='*' left_out=none ;;
*)	left_out=none ;;
esac
chosen=$(names | grep -vxF "$left_out" | while read -r name; do
	# shellcheck disable=SC2254 # a glob is wanted
	case $name in
	$pattern | */$pattern | */$pattern.sh) echo "$name" ;;
	esac
done)
[ -n "$chosen" ] || die "no test is called $pattern; there are:" \
	"$(names | tr '\n' ' ')"
for kernel in um-debug-patched um-patched um-base; do
	case $chosen in
	*"$kernel/"* | *rig/* | *check)
		"$RIG/kernel.sh" "${kernel%-*}" "${kernel##*-}" >/dev/null
		;;
	esac
done

echo "$chosen" | xargs -P "$PARALLEL" -n 1 "$0" --one

# a test that left no count did not even fail
echo "$chosen" | while read -r name; do
	cat "$RESULTS/$name/count" 2>/dev/null || echo 0 1 0
done | awk '
	{ p += $1; f += $2; s += $3 }
	END {
		printf "%d passed, %d failed, %d skipped\n", p, f, s
		exit f > 0 || p == 0
	}'
