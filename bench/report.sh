#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/report.sh TAKEN RESULT: from the readings whose keys are in the file TAKEN
# to RESULT.json, a table on stdout and RESULT-*.svg.  Fails where a reading is
# not stable or moved nothing.

. "$(dirname "$0")/../rig/lib.sh"

[ $# = 2 ] || die "usage: bench/report.sh TAKEN RESULT"
read -r _ _ version _ <<END
$("$RIG/base.sh")
END
work=$BUILD/bench/report.$$
mkdir -p "$work" "$(dirname "$2")"
trap 'rm -rf "$work"' EXIT
cp "$1" "$work/taken"

# shellcheck disable=SC2016 # expanded by the shell in the tool root
"$RIG/in-root" sh -euc '
	cd "/ovpn/build/bench/$1"
	LC_ALL=C sort -u taken | while read -r key; do
		jq -s -c . "../readings/$key"
	done | jq -s -f /ovpn/bench/rows.jq > rows.json
	jq -n --slurpfile rows rows.json --arg base "$2" --arg series "$3" \
		--arg qemu "$(qemu-system-x86_64 --version |
			sed -n "1s/.*version \([^ ]*\).*/\1/p")" \
		--arg config "$(cat ../config)" "{base: \$base, series: \$series,
			qemu: \$qemu, configuration: \$config,
			rows: \$rows[0]}" > result.json
	jq -r -f /ovpn/bench/table.jq result.json > table
	jq -r ".rows[] | select(.fault != null) | [.kernel, .wire, .workload,
		.cipher, .family, .direction, .fault] | join(\" \")" \
		result.json > faults
	for plot in flow overhead; do
		jq -r -f /ovpn/bench/plot-$plot.jq result.json > $plot.data
		[ ! -s $plot.data ] ||
			gnuplot -e "data=\"$plot.data\"; out=\"$plot.svg\"" \
				-e "note=\"base $2, series $3\"" \
				/ovpn/bench/plot-$plot.gp
	done
' sh "${work##*/}" "$version" "$(series_id)" ||
	die "the readings cannot be reported"

cp "$work/result.json" "$2.json"
for plot in "$work"/*.svg; do
	[ ! -e "$plot" ] || cp "$plot" "$2-${plot##*/}"
done
awk -F '\t' '
	{
		for (i = 1; i <= NF; i++) {
			cell[NR, i] = $i
			if (length($i) > width[i])
				width[i] = length($i)
		}
	}
	END {
		for (n = 1; n <= NR; n++) {
			for (i = 1; i <= NF; i++)
				printf i < 6 ? "%-*s  " : "%*s  ", width[i], \
					cell[n, i]
			print ""
		}
	}' "$work/table"
[ ! -s "$work/faults" ] ||
	die "$(wc -l < "$work/faults") bad readings:" "$(tr '\n' ';' < "$work/faults")"
