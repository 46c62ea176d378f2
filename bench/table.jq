# SPDX-License-Identifier: GPL-2.0
# bench.json as a table: one line for base and patched together.

def name: [.workload, .wire, .cipher, .family, .direction];
def or_none: if . == null then "-" else tostring end;
def ratio($a; $b): if $a == null or $b == null or $a == 0 then "-"
	else ($b / $a * 1000 | round / 1000 | tostring) end;

(["workload", "wire", "cipher", "family", "dir", "base Mbit", "patched Mbit",
	"ratio", "base instr", "patched instr", "base overhead",
	"patched overhead", "hw %", "spread %"] | @tsv),
(.rows | group_by(name)[]
	| (map(select(.kernel == "base")) | first) as $b
	| (map(select(.kernel == "patched")) | first) as $p
	| (.[0] | name) + [
		($b.mbit | or_none), ($p.mbit | or_none),
		ratio($b.mbit; $p.mbit),
		($b.instructions_per_record | or_none),
		($p.instructions_per_record | or_none),
		($b.overhead_per_record | or_none),
		($p.overhead_per_record | or_none),
		(map(.hardware_percent) | max | or_none),
		(map(.spread_percent // 0) | max)
	] | map(tostring) | @tsv)
