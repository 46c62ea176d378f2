# SPDX-License-Identifier: GPL-2.0
# What a record costs beside plain TCP and the AEAD, for plot-overhead.gp.

[.rows[] | select(.family == "ipv4" and .direction == "fwd" and
	.overhead_per_record != null and
	(.workload | IN("ovpn", "wireguard", "esp", "openvpn")))]
| group_by([.wire, .workload, .cipher])[]
| (map(select(.kernel == "base")) | first) as $b
| (map(select(.kernel == "patched")) | first) as $p
| ["\"\(.[0].workload)\\n\(.[0].cipher | sub("-(GCM|POLY1305)$"; ""))\\n\(.[0].wire)\"",
	($b.overhead_per_record // 0), ($p.overhead_per_record // 0)]
| map(tostring) | join("\t")
