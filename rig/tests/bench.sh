#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The bench's arithmetic, and what README.md says of its results.  No guest: what
# the bench measures is tested by make bench-test.

. "$(dirname "$0")/../lib.sh"

mkdir -p "$BUILD/bench"
work=$(mktemp -d "$BUILD/bench/test.XXXXXX")
trap 'rm -rf "$work"' EXIT
. "$RIG/tests/tap.sh"

# readme README: is the table in there that of the stored results?
readme() {
	README=$1 "$TOP/bench/readme.sh" check
}

# one digit of the table, and of the line above it
sed '/^| split | ovpn/ { s/[1-8]/9/; }' "$TOP/README.md" > "$work/digit.md"
sed '/^Base .*series/d' "$TOP/README.md" > "$work/line.md"
grep -v '^<!-- bench: end' "$TOP/README.md" > "$work/mark.md"

works "the table in README.md is that of bench/results" readme "$TOP/README.md"
refused "another number in it" "not that of" readme "$work/digit.md"
refused "a line less" "not that of" readme "$work/line.md"
refused "a README without the marks" "lacks the lines" readme "$work/mark.md"

# window NS BYTES RECORDS IDLE: one of a reading, in which the NIC took a tenth
window() {
	echo "{\"ns\":$1,\"idle_ns\":$4,\"bytes\":$2,\"retransmitted\":0,
		\"hw_a\":$(($1 / 10)),\"hw_b\":0,
		\"a_tunnel\":{\"rx\":0},\"b_tunnel\":{\"rx\":$3}}"
}

# rows WORKLOAD: a row made of the windows on stdin
rows() {
	{
		echo "{\"kernel\":\"base\",\"wire\":\"nic\",\"workload\":\"$1\",
			\"cipher\":\"AES-128-GCM\",\"family\":\"ipv4\",
			\"direction\":\"fwd\"}"
		cat
	} | "$RIG/in-root" sh -c 'jq -s -c . | jq -s -c -f bench/rows.jq'
}

# says PATTERN: of the row
says() {
	cat "$work/row"
	grep -q "$1" "$work/row"
}

{
	window 1000000 80000 60 0
	window 1000000 80000 60 0
	window 1010000 80000 60 0
} | rows ovpn > "$work/row"
works "instructions are time less that of the hardware" \
	says '"instructions_per_record":15000,'
works "and give the throughput" says '"mbit":711.1,'
works "windows that agree are stable" says '"fault":null'

{
	window 1000000 80000 60 0
	window 1000000 80000 60 0
	window 1011000 80000 60 0
} | rows ovpn > "$work/row"
works "windows that differ by more than 1 % are not" says '"fault":"is not stable'

{
	window 1000000 80000 60 0
	window 1000000 0 0 0
	window 1000000 80000 60 0
} | rows ovpn > "$work/row"
works "a window without traffic is a fault" says '"fault":"moved nothing"'

{
	window 1000000 80000 60 30000
	window 1000000 80000 60 30000
	window 1000000 80000 60 30000
} | rows ovpn > "$work/row"
works "so is an idle CPU" says '"fault":"left the CPU idle'

# native KERNEL MODE BYTES...: windows of a second of CPU time and two on the wall
native() {
	kernel=$1 mode=$2 round=0
	shift 2
	for bytes; do
		echo "$kernel AES-128-GCM fwd $mode $bytes 1000000000 2000000000" \
			"1.$((round += 1))"
	done
}

# native_rows, native_table: of the windows on stdin, of the rows in $work/row
native_rows() {
	"$RIG/in-root" jq -n -R -c --arg series s --arg machine m \
		-f /ovpn/bench/native/rows.jq
}
native_table() {
	"$RIG/in-root" jq -r -f /ovpn/bench/native/table.jq \
		"/ovpn${work#"$TOP"}/row"
}

{
	native base on 100000000 102000000 98000000 101000000 99000000
	native patched off 100000000 150000000 50000000 140000000 60000000
	native patched on 120000000 180000000 60000000 168000000 72000000
} | native_rows > "$work/row"
works "the native bench takes medians, of CPU time" \
	says '"workload":"ovpn",.*"mbit":800,"spread_percent":2,'
native_table > "$work/table"
works "windows of one round are compared" grep -F '	1.2	1.2 (noise)' "$work/table"
{
	native base on 100000000 150000000 60000000 140000000 70000000
	native patched on 121000000 120000000 119000000 122000000 118000000
} | native_rows > "$work/row"
native_table > "$work/table"
works "a difference that is noise" grep '1.2 (noise)$' "$work/table"
{
	native base on 100000000 102000000 98000000 101000000 99000000
	native patched on 121000000 120000000 119000000 122000000 118000000
} | native_rows > "$work/row"
native_table > "$work/table"
works "and one that is larger" grep '	1.2$' "$work/table"
echo "base AES-128-GCM fwd on 0 1000000000 2000000000 1.1" | native_rows > "$work/row"
works "a window of it without traffic is a fault" says '"fault":"moved nothing'

tap_end
