# SPDX-License-Identifier: GPL-2.0
# Readings, each an array of its name and its windows, as the rows of bench.json.
#
# Instructions are nanoseconds of the guest less the time of the NIC's hardware.
# A record is a packet that the tunnel device of the receiving end was given, or
# a frame that the wire delivered where there is no such device.
#
# What a record costs is the same in every window; how many bytes the sink has read
# in one of them is not, for megabytes are in socket buffers.  So the throughput is
# what a record costs times what records carry, on average over all windows.

def median: sort | if length % 2 == 1 then .[(length - 1) / 2]
	else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def to(n): . * n | round / n;
# an unstable reading is one whose windows differ by more, in percent
def limit: 1;

def traffic($end):
	(if $end == "a" then "b" else "a" end) as $other
	| (.ns - .idle_ns - (.hw_a // 0) - (.hw_b // 0)) as $ns
	| (.[$end + "_tunnel"] // .[$end + "_wire"]).rx as $records
	| {
		$ns, $records, bytes,
		answers: (.[$other + "_tunnel"] // .[$other + "_wire"]).rx,
		hardware: (((.hw_a // 0) + (.hw_b // 0)) / .ns * 100),
		idle: (.idle_ns / .ns * 100),
		retransmitted,
		overruns: ((.overruns_a // 0) + (.overruns_b // 0))
	};

def aead: {
	ns: ((.encrypt_ns | tonumber) + (.decrypt_ns | tonumber)),
	records: (.records | tonumber),
	bytes: (.bytes | tonumber),
	answers: 0, hardware: 0, idle: 0, retransmitted: 0, overruns: 0
};

def row:
	.[0] as $name
	| (if $name.direction == "rev" then "a" else "b" end) as $end
	| [.[1:][] | if has("encrypt_ns") then aead else traffic($end) end]
		as $w
	| ([$w[] | select(.bytes == 0 or .records == 0)] | length) as $empty
	| (if $empty > 0 then [null] else [$w[] | .ns / .records] end) as $cost
	| ($cost | median) as $c
	| (if $empty > 0 then null else ([$w[] | .bytes] | add)
		/ ([$w[] | .records] | add) end) as $payload
	| $name + {
		mbit: (if $empty > 0 then 0
			else $payload * 8000 / $c | to(10) end),
		instructions_per_record: (if $empty > 0 then null
			else $c | round end),
		overhead_per_record: null,
		spread_percent: (if $empty > 0 then null
			else (($cost | max) - ($cost | min)) / $c * 100
				| to(100) end),
		payload_per_record: (if $empty > 0 then null
			else $payload | to(10) end),
		answers_per_record: (if $empty > 0 then null
			else [$w[] | .answers / .records] | median | to(1000) end),
		hardware_percent: ([$w[] | .hardware] | median | to(10)),
		idle_percent: ([$w[] | .idle] | max | to(10)),
		retransmitted: ([$w[] | .retransmitted] | add),
		ring_overruns: ([$w[] | .overruns] | add),
		windows: ($w | length)
	}
	| .fault = (if $empty > 0 then "moved nothing"
		elif .windows < 3 then "has too few windows"
		elif .spread_percent > limit then
			"is not stable: spread \(.spread_percent) %"
		elif .idle_percent > 2 then
			"left the CPU idle for \(.idle_percent) % of the time"
		else null end);

# what one end's AEAD or plain TCP costs is known from rows of their own
def overhead($rows):
	if .cipher == "-" or (.workload | startswith("aead"))
		or .instructions_per_record == null then . else
	. as $r
	| ([$rows[] | select(.workload == "plain" and .kernel == $r.kernel
		and .wire == $r.wire and .family == $r.family
		and .direction == $r.direction)] | first) as $plain
	| ([$rows[] | select((.workload | startswith("aead-"))
		and .cipher == $r.cipher)]
		| sort_by(.payload_per_record)) as $aead
	| if $plain == null or ($aead | length) < 2 then . else
		(if .family == "ipv6" then 72 else 52 end) as $headers
		| (.payload_per_record + $headers) as $size
		| $aead[0] as $l | $aead[-1] as $h
		| ($l.instructions_per_record + ($size - $l.payload_per_record)
			* ($h.instructions_per_record - $l.instructions_per_record)
			/ ($h.payload_per_record - $l.payload_per_record)) as $crypt
		| ($plain.instructions_per_record / $plain.payload_per_record
			* .payload_per_record) as $tcp
		| .plain_per_record = ($tcp | round)
		| .aead_per_record = ($crypt | round)
		| .overhead_per_record =
			(.instructions_per_record - $tcp - $crypt | round)
	end end;

map(row) as $rows | $rows | map(overhead($rows))
	| sort_by(.workload, .wire, .cipher, .family, .direction, .kernel)
