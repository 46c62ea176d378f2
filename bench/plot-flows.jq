# SPDX-License-Identifier: GPL-2.0
# TCP flows through one tunnel, for plot-flows.gp: how many, and Mbit/s of base and
# patched on split, then on nic.

def cell($wire; $kernel): map(select(.wire == $wire and .kernel == $kernel).mbit)
	| first // "-";

[.rows[] | select(.cipher == "AES-128-GCM" and .family == "ipv4" and
		.direction == "fwd" and .wire != "native")
	| .flows = (if .workload == "ovpn" then 1
		else (.workload | capture("^flows-(?<n>[0-9]+)$").n | tonumber)
		end)]
| group_by(.flows)
| if length < 2 then empty else .[]
	| [.[0].flows, cell("split"; "base"), cell("split"; "patched"),
		cell("nic"; "base"), cell("nic"; "patched")]
	| map(tostring) | join("\t") end
