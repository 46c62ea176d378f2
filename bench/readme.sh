#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/readme.sh keep|check
#
# keep: store build/results/bench.json, the plots and the profiles' tables in
# bench/results, and put the table made from them into README.md, between the two
# marks.
# check: fail where the table in README.md is not that of bench/results.
# README=FILE takes another file for README.md.

. "$(dirname "$0")/../rig/lib.sh"

begin='<!-- bench: begin -->'
end='<!-- bench: end -->'
kept=$TOP/bench/results
readme=${README:-$TOP/README.md}

# table: what stands between the marks
table() {
	"$RIG/in-root" jq -r -f /ovpn/bench/readme.jq \
		/ovpn/bench/results/bench.json ||
		die "bench/results/bench.json cannot be read"
}

[ "$(grep -cxF -e "$begin" -e "$end" "$readme")" = 2 ] ||
	die "README.md lacks the lines \"$begin\" and \"$end\""
case ${1:-} in
keep)
	[ -s "$BUILD/results/bench.json" ] || die "nothing to keep: run make bench"
	mkdir -p "$kept"
	cp "$BUILD/results/bench.json" "$BUILD"/results/bench-*.svg "$kept"
	for profile in "$BUILD"/results/profile-*.tsv; do
		[ ! -e "$profile" ] || cp "$profile" "$kept"
	done
	mkdir -p "$BUILD/bench"
	table > "$BUILD/bench/table.md"
	awk -v begin="$begin" -v end="$end" -v table="$BUILD/bench/table.md" '
		$0 == end { skip = 0 }
		!skip { print }
		$0 == begin {
			while ((getline line < table) > 0)
				print line
			skip = 1
		}' "$readme" > "$BUILD/bench/README.md"
	cp "$BUILD/bench/README.md" "$readme"
	;;
check)
	[ -s "$kept/bench.json" ] || die "bench/results has no results yet"
	mkdir -p "$BUILD/bench"
	table > "$BUILD/bench/table.md"
	awk -v begin="$begin" -v end="$end" '
		$0 == end { inside = 0 }
		inside { print }
		$0 == begin { inside = 1 }' "$readme" |
		cmp -s - "$BUILD/bench/table.md" ||
		die "the table in README.md is not that of bench/results"
	;;
*)	die "usage: bench/readme.sh keep|check" ;;
esac
