#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/report.sh: from the readings listed in build/bench/taken to
# build/results/bench.json, the table on stdout, and the plots.  Fails where a
# reading is not stable or moved nothing.

. "$(dirname "$0")/../rig/lib.sh"

in_root=${IN_ROOT:-$RIG/in-root}
base=$("$RIG/base.sh")
series=$(series_id)
mkdir -p "$BUILD/results"

# shellcheck disable=SC2016 # expanded by the shell in the tool root
"$in_root" sh -euc '
	cd /ovpn/build/bench
	LC_ALL=C sort -u taken | while read -r key; do
		jq -s -c . "readings/$key"
	done > readings.json
	jq -s -f /ovpn/bench/rows.jq readings.json > rows.json
	jq -n --slurpfile rows rows.json --arg base "$1" --arg series "$2" \
		--arg qemu "$(qemu-system-x86_64 --version |
			sed -n "1s/.*version \([^ ]*\).*/\1/p")" \
		--arg config "$(cat /ovpn/build/bench/config)" \
		"{base: \$base, series: \$series, qemu: \$qemu,
			configuration: \$config, rows: \$rows[0]}" \
		> ../results/bench.json
	jq -r -f /ovpn/bench/table.jq ../results/bench.json
' sh "$(echo "$base" | cut -d' ' -f3)" "$series" | column -t -s "$(printf '\t')"
