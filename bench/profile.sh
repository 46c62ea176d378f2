#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/profile.sh WHAT WIRE WORKLOAD CIPHER FAMILY DIRECTION: where the
# instructions of a reading go, by stage and end, and the functions that take most.
# A table on stdout; with the samples' stacks in build/results/profile-*.

. "$(dirname "$0")/../rig/lib.sh"

[ $# = 6 ] || die "usage: bench/profile.sh base|patched WIRE WORKLOAD CIPHER" \
	"FAMILY DIRECTION"
what=$1 wire=$2 workload=$3 cipher=$4 family=$5 direction=$6

kernel=$("$RIG/kernel.sh" x86 "$what")
[ -e "$BUILD/bench/perf.cpio" ] || "$TOP/bench/image.sh"
out=$BUILD/bench/profile.$$
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
"$TOP/bench/qemu.sh" -p -k "$kernel" -o "$out" "$workload" wire="$wire" \
	cipher="$cipher" family="$family" direction="$direction" \
	warm=200 window=1000 windows=1
name=profile-$what-$wire-$workload-$cipher-$family-$direction
mkdir -p "$BUILD/results"
tr -d '\r' < "$out/results" | sed -n 's/^stack //p' | LC_ALL=C sort \
	> "$BUILD/results/$name.stacks"
# instructions per record, where they have been read
# shellcheck disable=SC2016 # that is jq's
records=$([ ! -e "$BUILD/results/bench.json" ] || "$RIG/in-root" \
	jq -r --arg name "$what $wire $workload $cipher $family $direction" '
		.rows[] | select([.kernel, .wire, .workload, .cipher, .family,
			.direction] | join(" ") == $name)
		| .instructions_per_record // empty' /ovpn/build/results/bench.json)

kernel_id=$(readlink -f "${kernel%/*}")
awk -F '\t' -v total="${records:-0}" -v kernel="${kernel_id##*/}" '
	FILENAME == ARGV[1] {
		if ($0 !~ /^#/ && NF == 3) {
			rules++
			what[rules] = "^(" $1 ")$"
			within[rules] = $2 == "-" ? "" : "^(" $2 ")$"
			stage[rules] = $3
		}
		next
	}
	# the stage that the innermost telling frame stands for; the same frame
	# in the same surroundings is asked for once
	function stage_of(n,    i, j, r) {
		for (i = 1; i <= n; i++)
			for (r = 1; r <= rules; r++) {
				if (f[i] !~ what[r])
					continue
				if (within[r] == "")
					return stage[r]
				for (j = i; j <= n; j++) {
					if (f[j] ~ within[r])
						return stage[r]
					if (f[j] == "net_rx_action")
						break
				}
			}
		return "the rest"
	}
	function side_of(n,    i) {
		for (i = 1; i <= n; i++) {
			if (f[i] ~ /^(net_rx_action|__napi_poll|tcp_recvmsg|__netif_receive_skb.*)$/)
				return "receiver"
			if (f[i] ~ /^(ovpn_net_xmit|wg_xmit|__dev_queue_xmit|__qdisc_run|net_tx_action|tcp_sendmsg|tcp_write_xmit|__tcp_push_pending_frames|wg_packet_encrypt_worker|wg_packet_tx_worker)$/)
				return "sender"
			if (f[i] ~ /^(wg_packet_decrypt_worker|wg_packet_rx_poll)$/)
				return "receiver"
		}
		return "both"
	}
	{
		count = $0
		sub(/ .*/, "", count)
		stack = $0
		sub(/^[0-9]+ [^;]*;?/, "", stack)
		n = split(stack, f, ";")
		s = stage_of(n)
		# interrupts are off in there, and what it takes is no part of
		# a reading
		if (s == "NIC hardware") {
			hardware += count
			next
		}
		side = side_of(n)
		sum[s, side] += count
		stages[s] += count
		ends[side] += count
		leaf[f[1]] += count
		all += count
	}
	function cell(x) {
		return total ? sprintf("%.0f", x / all * total) : \
			sprintf("%.1f", x / all * 100)
	}
	END {
		unit = total ? "instructions per record" : "percent"
		printf "stage\tsender\treceiver\tboth\tall (%s)\n", unit
		for (s in stages)
			printf "%s\t%s\t%s\t%s\t%s\n", s, \
				cell(sum[s, "sender"]), cell(sum[s, "receiver"]), \
				cell(sum[s, "both"]), cell(stages[s]) | \
				"sort -t \"\t\" -k 5 -rn"
		close("sort -t \"\t\" -k 5 -rn")
		printf "all\t%s\t%s\t%s\t%s\n", cell(ends["sender"]), \
			cell(ends["receiver"]), cell(ends["both"]), cell(all)
		printf "kernel\t%s\n", kernel
		printf "samples\t%d\n", all
		if (hardware)
			printf "NIC hardware, left out\t%.1f %%\n", \
				hardware / (all + hardware) * 100
		for (l in leaf)
			if (leaf[l] > all / 200)
				printf "\t%s\t%s\n", cell(leaf[l]), l | \
					"sort -k 1 -rn"
	}' "$TOP/bench/stages.tsv" "$BUILD/results/$name.stacks" |
	tee "$BUILD/results/$name.tsv"
