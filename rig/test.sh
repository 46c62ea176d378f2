#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/test.sh [GLOB]: run the tests, all of those that make test stands for or
# those whose name matches GLOB, and print one line for each and the closing line.
#
# A name says where a test runs: KERNEL/SCRIPT is a kselftest in a guest, one
# guest each, of selftests/net/ovpn or one that a series adds to selftests/net;
# KERNEL/kunit is the driver's KUnit suites; rig/NAME is a script of rig/tests on
# the host; check/texts and check/builds are the gate.
# Every test speaks TAP, prove(1) judges it, and for a guest the verdict that
# was written after the leak checks counts as one more point.  What is left of
# a test lies in build/results/test/NAME.
#
# A guest that passed is remembered in the cache, by the content of its kernel,
# its tests, the guest's own programs and the tool root.  Where none of them has
# changed it is not run again, and its line says so.  FRESH=1 runs all the same,
# and so does a name.

. "$(dirname "$0")/lib.sh"

RESULTS=$BUILD/results/test
pattern=${1:-}
# What a guest spends its time with is one of its processes waiting for another:
# two system calls, and twice the price where they are on different CPUs.  So each
# guest is kept to one CPU, and there are two to each CPU, since they wait, too.
PARALLEL=${PARALLEL:-$((JOBS * 2))}

# What only "all" runs, and a name.  make test shares our tests between the two
# kernels: what deletes, injects faults, is tapped or has a matrix runs on the
# debug kernel with AES over IPv4, and otherwise on the plain one with another
# cipher or address family.
#
# on the debug kernel: programs start slowly there
LEFT_OUT=$(echo "
test.sh
test-batch-async.sh
test-batch-backpressure.sh
test-batch-delete-async.sh
test-batch-delete.sh
test-batch-exhaust.sh
test-batch-fallback.sh
test-batch-matrix-chachapoly.sh
test-batch-matrix.sh
test-batch-mtu.sh
test-batch-rekey-async.sh
test-batch-rekey.sh
test-chachapoly.sh
test-close-socket-tcp.sh
test-float.sh
test-gro-async.sh
test-gro-csum.sh
test-gro-life-ipv6.sh
test-gro-matrix-chachapoly-ipv6.sh
test-gro-matrix-chachapoly.sh
test-gro-matrix-ipv6.sh
test-gro-mixed-ipv6.sh
test-gro-mixed.sh
test-gro-nest.sh
test-gro-stray-ipv6.sh
test-gro-stray-tunnel-ipv6.sh
test-gro-stray-tunnel.sh
test-gro-stray.sh
test-gro-tap-ipv6.sh
test-large-mtu.sh
test-mark.sh
test-offload-csum-chachapoly.sh
test-offload-fraglist.sh
test-offload-gso.sh
test-offload-inner.sh
test-offload-toggle.sh
test-offload-tun.sh
test-refs-storm-async.sh
test-symmetric-id-float.sh
test-symmetric-id-tcp.sh
test-symmetric-id.sh
test-tcp.sh" | sed -n 's,^.,um-debug-patched/&,p')
# on the plain one: the debug kernel runs it, or a sibling runs here
LEFT_OUT=$LEFT_OUT$(echo "
test-batch-life.sh
test-batch-rekey-async.sh
test-gro-life.sh
test-gro-matrix-chachapoly.sh
test-gro-matrix-ipv6.sh
test-gro-matrix.sh
test-gro-mixed-ipv6.sh
test-gro-stray-ipv6.sh
test-gro-stray-tunnel.sh
test-gro-tap.sh
test-offload-csum.sh
test-offload-tap.sh
test-refs-storm.sh" | sed 's,^.,um-patched/&,')
# what injects faults, which the debug kernel alone can: elsewhere it skips
LEFT_OUT="$LEFT_OUT
um-patched/test-batch-fault.sh
um-patched/test-gro-fault.sh
um-patched/test-refs-memory.sh"
# Compiles for minutes where nothing is remembered yet; a test that waits for slow
# queues no longer than a machine with nothing else to do needs; 500 deletions,
# five minutes of them; and one whose points pass, but which leaves a network
# namespace behind where the machine is busy: found, not explained.
LEFT_OUT="$LEFT_OUT
rig/check
um-patched/test-batch-backpressure.sh
um-patched/test-batch-delete-async.sh
um-patched/xfrm_inner_gso.sh"

# names: every test there is, in the order in which it starts
names() {
	echo check/builds
	echo check/texts
	for script in "$RIG"/tests/*.sh; do
		[ -x "$script" ] && echo "rig/$(basename "$script" .sh)"
	done
	echo um-debug-patched/kunit
	for kernel in um-debug-patched um-patched um-base; do
		tests=$(suite "$kernel")
		for script in "$tests"/test*.sh; do
			[ -x "$script" ] && echo "$kernel/$(basename "$script")"
		done
		[ "$kernel" != um-patched ] || for script in \
			"$TOP"/tools/testing/selftests/net/*.sh; do
			[ -x "$script" ] && echo "$kernel/$(basename "$script")"
		done
	done
}

# suite KERNEL: the kselftests that belong on a kernel
suite() {
	echo "$BUILD/kselftest/${1##*-}/tools/testing/selftests/net/ovpn"
}

# key_of KERNEL: what identifies everything that its guests run; nothing if that
# cannot be told
key_of() {
	inputs=$RESULTS/inputs.$$
	{
		sha256sum "$BUILD/kernel/$1/linux" &&
		sha256sum "$("$RIG/root.sh" path)/var/lib/dpkg/status" &&
		(cd "$BUILD/kselftest/${1##*-}" &&
			find . -type f -print0 | LC_ALL=C sort -z |
			xargs -0 sha256sum) &&
		(cd "$RIG" && find guest test.sh lib.sh in-root -type f -print0 |
			LC_ALL=C sort -z | xargs -0 sha256sum)
	} > "$inputs" && sha256sum < "$inputs" | cut -c1-24
	rm -f "$inputs"
}

# pin SCRIPT: what keeps a guest to the CPU of its place among the PARALLEL ones
pin() {
	case $1 in
	# where ends race with traffic, the guest's CPUs are to be two
	*-life*.sh | *-delete*.sh | *-storm*.sh | *-exhaust.sh)	return ;;
	esac
	awk -v slot="${SLOT:-0}" '/^Cpus_allowed_list:/ {
		n = split($2, ranges, ",")
		for (i = 1; i <= n; i++) {
			split(ranges[i], ends, "-")
			to = ends[2] == "" ? ends[1] : ends[2]
			for (cpu = ends[1] + 0; cpu <= to + 0; cpu++)
				cpus[count++] = cpu
		}
		print "taskset -c " cpus[slot % count]
	}' /proc/self/status
}

# run_one NAME: run it, leave "PASSED FAILED SKIPPED" in its folder
run_one() {
	out=$RESULTS/$1
	rm -rf "$out"
	mkdir -p "$out"
	start=$(date +%s)
	key=
	case $1 in
	um-*)	key=$(key_of "${1%%/*}") ;;
	esac
	memory=$CACHE/test/$key/${1#*/}
	if [ -n "${REMEMBER:-}" ] && [ -n "$key" ] && [ -s "$memory" ]; then
		cp "$memory" "$out/count"
		touch "$memory" "$out/remembered"
		read -r passed failed skipped < "$out/count"
		printf '%-42s %3d passed (remembered)\n' "$1" "$passed"
		return 0
	fi
	: > "$out/why"
	case $1 in
	um-*/*)
		kernel=${1%%/*}
		deadline=1200
		dir=$(suite "$kernel")
		# what a series adds for the rest of the net tree
		[ ! -x "${dir%/*}/${1#*/}" ] || dir=${dir%/*}
		run="cd /ovpn/${dir#"$TOP/"} && exec ./${1#*/}"
		[ "${1#*/}" != kunit ] || run="exec /ovpn/rig/guest/kunit.sh"
		# where every allocation fails in turn
		allow=
		[ "${1#*/}" != test-refs-memory.sh ] || allow=ref-tracker
		# shellcheck disable=SC2046 # a command before the command
		$(pin "${1#*/}") \
		"$RIG/guest/boot.sh" -k "$BUILD/kernel/$kernel/linux" \
			-o "$out" -t "$deadline" -a "$allow" -- \
			env "PATH=/ovpn/rig/guest/slow:/usr/sbin:/usr/bin:/sbin:/bin" \
			sh -c "$run" \
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
	check/*)
		tap=$out/output.log
		"$RIG/check.sh" "${1#*/}" > "$tap" 2> "$out/stderr.log" &&
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
	if [ "$failed$skipped" != 00 ]; then
		rm -f "$memory"
	elif [ -n "$key" ] && [ "$(key_of "${1%%/*}")" = "$key" ]; then
		# nobody has built anything else meanwhile
		mkdir -p "${memory%/*}"
		cp "$out/count" "$memory.$$"
		mv "$memory.$$" "$memory"
	fi
	line="$(printf '%-42s %3d passed' "$1" "$passed")"
	[ "$failed" = 0 ] || line="$line, $failed FAILED"
	[ "$skipped" = 0 ] || line="$line, $skipped skipped"
	times > "$out/times"
	# its second line is about children, user and system
	echo "$line ($(($(date +%s) - start)) s, $(awk 'NR == 2 {
		split($0, t, /[ms ]+/)
		printf "%d", t[1] * 60 + t[2] + t[3] * 60 + t[4]
	}' "$out/times") s of CPU)"
	[ "$failed" = 0 ] || {
		# with what was said on the way there
		grep -B 4 '^not ok' "$tap" | grep -E '^(not ok|# )' |
			head -n 12
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
'')	pattern='*' left_out=$LEFT_OUT ;;
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
	*"$kernel/"* | *rig/* | *check/*)
		"$RIG/kernel.sh" "${kernel%-*}" "${kernel##*-}" >/dev/null
		;;
	esac
done

if [ "$pattern" = '*' ] && [ -z "${FRESH:-}" ]; then
	REMEMBER=1
	export REMEMBER
	# but nothing of kernels that nobody has any more
	[ ! -d "$CACHE/test" ] || {
		find "$CACHE/test" -type f -mtime +14 -delete
		find "$CACHE/test" -mindepth 1 -type d -empty -delete
	}
fi

echo "$chosen" | xargs -P "$PARALLEL" -n 1 --process-slot-var=SLOT "$0" --one

remembered=$(echo "$chosen" | while read -r name; do
	[ ! -e "$RESULTS/$name/remembered" ] || echo "$name"
done | wc -l)
[ "$remembered" = 0 ] ||
	echo "$remembered guests are remembered: nothing of theirs has changed" \
		"since they passed; FRESH=1 runs them again"

# a test that left no count did not even fail
echo "$chosen" | while read -r name; do
	cat "$RESULTS/$name/count" 2>/dev/null || echo 0 1 0
done | awk '
	{ p += $1; f += $2; s += $3 }
	END {
		printf "%d passed, %d failed, %d skipped\n", p, f, s
		exit f > 0 || p == 0
	}'
