# SPDX-License-Identifier: GPL-2.0
# Single flows of every tunnel, for plot-flow.gp: label, base, patched in Mbit/s.

[.rows[] | select(.family == "ipv4" and .direction == "fwd" and
	(.workload | IN("ovpn", "wireguard", "esp", "openvpn", "mtu1500")))]
| group_by([.wire, .workload, .cipher])[]
| (map(select(.kernel == "base")) | first) as $b
| (map(select(.kernel == "patched")) | first) as $p
| ["\"\(.[0].workload)\\n\(.[0].cipher | sub("-(GCM|POLY1305)$"; ""))\\n\(.[0].wire)\"",
	($b.mbit // 0), ($p.mbit // 0)]
| map(tostring) | join("\t")
