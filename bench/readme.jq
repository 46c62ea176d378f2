# SPDX-License-Identifier: GPL-2.0
# The part of bench.json that README.md shows.

def n: if . == null then "" else tostring end;
def ratio($a; $b): if ($a // 0) == 0 or $b == null then ""
	else ($b / $a * 1000 | round / 1000 | tostring) end;

"Base \(.base), series \(.series), QEMU \(.qemu), configuration \(.configuration).",
"One TCP flow over IPv4, Mbit/s at 10^9 instructions/s; overhead is instructions per",
"record beside plain TCP and the AEAD, both ends together.  How it is read, and what",
"that cannot see: [bench/README.md](bench/README.md).",
"",
"![overhead of the tunnels](bench/results/bench-overhead.svg)",
"",
"| wire | tunnel | cipher | direction | base | patched | ratio | overhead base | overhead patched |",
"| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |",
# rows of the native bench depend on the machine and on what else it did
([.rows[] | select(.family == "ipv4" and .wire != "native" and .fault == null and
	(.workload | IN("plain", "ovpn", "wireguard", "esp", "openvpn")))]
	| group_by([.wire, .workload, .cipher, .direction])[]
	| (map(select(.kernel == "base")) | first) as $b
	| (map(select(.kernel == "patched")) | first) as $p
	| "| \(.[0].wire) | \(.[0].workload) | \(.[0].cipher) | \(.[0].direction) "
		+ "| \($b.mbit | n) | \($p.mbit | n) | \(ratio($b.mbit; $p.mbit)) "
		+ "| \($b.overhead_per_record | n) | \($p.overhead_per_record | n) |")
