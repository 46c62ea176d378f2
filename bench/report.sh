#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/report.sh TAKEN RESULT: from the readings whose keys are in the file TAKEN
# to RESULT.json, a table on stdout and RESULT-*.svg.  Rows of the native bench,
# where it has read the same series, come along.  Fails where a reading is not
# stable or moved nothing.

. "$(dirname "$0")/../rig/lib.sh"

[ $# = 2 ] || die "usage: bench/report.sh TAKEN RESULT"
read -r _ _ version _ <<END
$("$RIG/base.sh")
END
work=$BUILD/bench/report.$$
mkdir -p "$work" "$(dirname "$2")"
trap 'rm -rf "$work"' EXIT
cp "$1" "$work/taken"
if [ "$2" = "$BUILD/results/bench" ] && [ -e "$BUILD/results/native.json" ]; then
	cp "$BUILD/results/native.json" "$work"
fi

# shellcheck disable=SC2016 # expanded by the shell in the tool root
"$RIG/in-root" sh -euc '
	cd "/ovpn/build/bench/$1"
	LC_ALL=C sort -u taken | while read -r key; do
		jq -s -c . "../readings/$key"
	done | jq -s -f /ovpn/bench/rows.jq > rows.json
	[ -e native.json ] || echo "[]" > native.json
	jq -n --slurpfile rows rows.json \
		--slurpfile native native.json --arg base "$2" --arg series "$3" \
		--arg qemu "$(qemu-system-x86_64 --version |
			sed -n "1s/.*version \([^ ]*\).*/\1/p")" \
		--arg config "$(cat ../config)" "{base: \$base, series: \$series,
			qemu: \$qemu, configuration: \$config,
			rows: (\$rows[0] + [\$native[0][]
				| select(.series == \$series)])}" > result.json
	jq -r -f /ovpn/bench/table.jq result.json > table
	jq -r ".rows[] | select(.fault != null) | [.kernel, .wire, .workload,
		.cipher, .family, .direction, .fault] | join(\" \")" \
		result.json > faults
	for plot in flow overhead flows peers; do
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
awk -v left=5 -f "$TOP/bench/align.awk" "$work/table"
[ ! -s "$work/faults" ] ||
	die "$(wc -l < "$work/faults") bad readings:" "$(tr '\n' ';' < "$work/faults")"
