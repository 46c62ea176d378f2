# SPDX-License-Identifier: GPL-2.0
# Rows of the native bench as a table, and whether a difference is more than noise.

def of($kernel; $workload): map(select(.kernel == $kernel and
	.workload == $workload)) | first;
def show: if . == null or .fault != null then "-"
	else "\(.mbit) ±\(.spread_percent / 2 * 10 | round / 10) %" end;
def judged($ratio; $percent): "\($ratio * 1000 | round / 1000)"
	+ (if (if $ratio > 1 then $ratio - 1 else 1 - $ratio end) * 100 <= $percent
	then " (noise)" else "" end);
def on_off: if .on_off == null then "-"
	else judged(.on_off; .on_off_spread_percent / 2) end;
def ratio($a; $b): if [$a, $b] | any(. == null or .fault != null) then "-"
	else judged($b.mbit / $a.mbit;
		($a.spread_percent + $b.spread_percent) / 2) end;

(["cipher", "dir", "base", "patched off", "patched on", "on/off", "on/base"] | @tsv),
(group_by([.cipher, .direction])[]
	| of("base"; "ovpn") as $base | of("patched"; "off") as $off
	| of("patched"; "ovpn") as $on
	| [.[0].cipher, .[0].direction, ($base | show), ($off | show), ($on | show),
		($on | on_off), ratio($base; $on)] | @tsv)
