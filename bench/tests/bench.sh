#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Is the bench to be believed?  Uses the unpatched x86 kernel.

. "$(dirname "$0")/../../rig/lib.sh"

mkdir -p "$BUILD/bench"
work=$(mktemp -d "$BUILD/bench/test.XXXXXX")
trap 'rm -rf "$work"' EXIT
. "$RIG/tests/tap.sh"

"$RIG/kernel.sh" x86 base > "$work/kernel" 2> "$work/log" ||
	die "the kernel of the bench does not build: $(tail -n 1 "$work/log")"
read -r kernel < "$work/kernel"
kernel=$(readlink -f "${kernel%/*}")
kernel=${kernel##*/}
[ -s "$BUILD/bench/config" ] ||
	sha256sum < "$CACHE/kernel/$kernel/config" | cut -c1-12 \
		> "$BUILD/bench/config"
"$TOP/bench/image.sh"

# read_one NAME: NAME's reading on veth
read_one() {
	"$TOP/bench/reading.sh" "$kernel" base split "$1" AES-128-GCM ipv4 fwd \
		> "$work/$1"
}

# field NAME FIELD: what the report says of it
field() {
	"$TOP/bench/report.sh" "$work/$1" "$work/result" > /dev/null || return
	"$RIG/in-root" jq ".rows[0].$2" "/ovpn${work#"$TOP"}/result.json"
}

# slower A B: the readings slow-A and slow-B differ by B - A instructions for
# each UDP packet, answers included, to 2 %: the longer all takes, the more clock
# ticks come on top
slower() {
	a=$(field "slow-$1" instructions_per_record)
	b=$(field "slow-$2" instructions_per_record)
	answers=$(field "slow-$2" answers_per_record)
	echo "slow-$1: $a slow-$2: $b answers: $answers"
	awk -v want=$(($2 - $1)) -v a="$a" -v b="$b" -v answers="$answers" '
	BEGIN {
		d = (b - a) / (want * (1 + answers))
		print "ratio", d
		exit !(d > 0.98 && d < 1.02)
	}'
}

silence() {
	"$TOP/bench/report.sh" "$work/silent" "$work/result" > /dev/null
}

again() {
	before=$(ls "$BUILD/bench/readings")
	read_one slow-1000 2> "$work/progress"
	[ ! -s "$work/progress" ] && [ "$before" = "$(ls "$BUILD/bench/readings")" ]
}

works "a reading is taken" read_one slow-1000
works "it is not taken twice" again
works "another one" read_one slow-5000
works "a driver slowed by 4,000 instructions is seen as that" \
	slower 1000 5000
works "a guest without traffic" read_one silent
refused "is refused" "moved nothing" silence
refused "a workload that does not exist" "no workload" \
	"$TOP/bench/reading.sh" "$kernel" base split nothing - ipv4 fwd
tap_end
