#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/native.sh: make bench-native.  What a byte costs on this machine's own
# CPU, caches and memory included: one TCP flow through ovpn in a User Mode Linux
# guest that has the SIMD code of x86.  Base and patched kernel are booted in
# turns; in each boot of the patched one batching goes off and on in turns.
#	BOOTS=N		of each kernel (default 2)
#	ROUNDS=N	windows of each kind in a boot (default 10)
#	K=base|patched	one kernel only
# Leaves build/results/native.json and its rows in build/results/bench.json.

. "$(dirname "$0")/../rig/lib.sh"

[ -d "$TREE/.git" ] || die "no kernel tree yet: run make tree"
work=$BUILD/native
results=$BUILD/results
mkdir -p "$work" "$results"

for what in ${K:-base patched}; do
	"$RIG/kernel.sh" um-native "$what" > /dev/null
done
# shellcheck disable=SC2016 # expanded by the shell in the tool root
"$RIG/in-root" sh -euc '
	cc="gcc -std=gnu11 -O2 -Wall -Wextra -Werror -static -s"
	out=/ovpn/build/native
	$cc -o $out/load /ovpn/bench/guest/load.c
	$cc -idirafter /ovpn/build/linux/include/uapi \
		-o $out/tunnel /ovpn/bench/guest/tunnel.c
	$cc -o $out/watch /ovpn/bench/native/watch.c
' >&2 || die "the programs of the native bench do not build"

watch=''
# shellcheck disable=SC2317 # called by the trap
end_watch() {
	[ -z "$watch" ] || kill "$watch" 2>/dev/null || :
}
trap end_watch EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# boot WHAT MODE...: one boot; a line in $work/windows for each window
boot() {
	what=$1
	shift
	out=$work/run
	rm -rf "$out"
	mkdir -p "$out"
	: > "$out/mark"
	"$work/watch" "$out" &
	watch=$!
	"$RIG/guest/boot.sh" -k "$BUILD/kernel/um-native-$what/linux" -c 1 \
		-o "$out" -t 600 -- sh /ovpn/bench/native/guest.sh \
		"${ROUNDS:-10}" "$@" >&2 ||
		die "$what: the guest failed, see ${out#"$TOP"/}"
	end_watch
	wait "$watch" 2>/dev/null || :
	watch=''
	awk -v kernel="$what" -v boot="$i" '
		$5 == "start" { bytes = $6; cpu = $7; wall = $8 }
		$5 == "end" {
			print kernel, $1, $2, $3, $6 - bytes, $7 - cpu, \
				$8 - wall, boot "." $4
		}' "$out/marks" >> "$work/windows"
}

: > "$work/windows"
i=0
while [ $((i += 1)) -le "${BOOTS:-2}" ]; do
	for what in ${K:-base patched}; do
		say "boot $i of $what"
		case $what in
		base)	boot base on ;;
		*)	boot "$what" off on ;;
		esac
	done
done

"$RIG/in-root" jq -n -R -f /ovpn/bench/native/rows.jq --arg series "$(series_id)" \
	--arg machine "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" \
	/ovpn/build/native/windows > "$results/native.json" ||
	die "the windows cannot be reported"
# beside the rows of make bench
# shellcheck disable=SC2016 # that is jq's
[ ! -e "$results/bench.json" ] || {
	"$RIG/in-root" jq --slurpfile native /ovpn/build/results/native.json \
		'.rows = [.rows[] | select(.wire != "native")] + $native[0]' \
		/ovpn/build/results/bench.json > "$work/bench.json" &&
	mv "$work/bench.json" "$results/bench.json"
}
"$RIG/in-root" jq -r -f /ovpn/bench/native/table.jq \
	/ovpn/build/results/native.json |
	awk -v left=2 -f "$TOP/bench/align.awk"
! grep -q '"fault": "' "$results/native.json" || die "some windows moved nothing"
