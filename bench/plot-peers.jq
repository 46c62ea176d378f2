# SPDX-License-Identifier: GPL-2.0
# Peers of one device, for plot-peers.gp: how many, and instructions per record of
# base and patched on split.

def cell($kernel): map(select(.kernel == $kernel).instructions_per_record)
	| first // "-";

[.rows[] | select(.wire == "split")
	| .peers = (.workload | capture("^peers-(?<n>[0-9]+)$").n | tonumber)]
| group_by(.peers)
| if length < 2 then empty else .[]
	| [.[0].peers, cell("base"), cell("patched")]
	| map(tostring) | join("\t") end
