# SPDX-License-Identifier: GPL-2.0
# Windows of the native bench, one a line, as rows of bench.json:
#	KERNEL CIPHER DIRECTION on|off BYTES CPU-NS WALL-NS BOOT.ROUND
#
# mbit is what the guest moves in a second of CPU time, whatever else the machine
# does meanwhile; a spread is that of the middle half.  What batching brings is
# asked for each round, whose two windows are neighbours, and the median taken of
# that: what is slow for a while is slow for both.

def to(n): . * n | round / n;
def quantile(q): sort | ((length - 1) * q) as $at | ($at | floor) as $low
	| .[$low] + ($at - $low) * ((.[$low + 1] // .[$low]) - .[$low]);
def spread: (quantile(0.75) - quantile(0.25)) / quantile(0.5) * 100 | to(10);

def row:
	map(.mbit) as $mbit
	| (.[0] | {
		kernel, wire: "native",
		workload: (if .batching == "on" then "ovpn" else "off" end),
		cipher, family: "ipv4", direction
	}) + (if ($mbit | any(. == null)) or length < 3 then {
		mbit: 0, spread_percent: null, wall_mbit: 0,
		fault: "moved nothing, or has too few windows"
	} else {
		mbit: ($mbit | quantile(0.5) | to(10)),
		spread_percent: ($mbit | spread),
		wall_mbit: (map(.wall) | quantile(0.5) | to(10)),
		fault: null
	} end) + {
		instructions_per_record: null, overhead_per_record: null,
		windows: length, series: $series, machine: $machine
	};

# rounds that have both windows
def on_off:
	[group_by(.round)[] | select(length == 2 and all(.mbit != null))
		| (map(select(.batching == "on").mbit) | first)
			/ (map(select(.batching == "off").mbit) | first)]
	| if length < 3 then {} else {
		on_off: (quantile(0.5) | to(1000)), on_off_spread_percent: spread
	} end;

[inputs | split(" ") | {
	kernel: .[0], cipher: .[1], direction: .[2], batching: .[3],
	round: .[7], bytes: (.[4] | tonumber), cpu: (.[5] | tonumber),
	ns: (.[6] | tonumber)
} | if .bytes > 0 and .cpu > 0 then
	.mbit = .bytes * 8000 / .cpu | .wall = .bytes * 8000 / .ns else . end]
| group_by([.cipher, .direction, .kernel])
| map((on_off) as $ratio | group_by(.batching) | map(row)
	| map(if .workload == "ovpn" then . + $ratio else . end)[])
