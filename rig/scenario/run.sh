#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The main job, inside the guest: traffic of every kind over the tunnel, and
# what both ends say about it.  Prints a table as it goes; what a program
# wants to know is in $OUT/scenario.json.

set -eu

OUT=${OUT:-/out}
LOGS=$OUT
# The client changes keys often enough to do so while the file is under way.
# It sends with a new key once half this time has gone by, in whole seconds,
# because the server may finish later: below 4 that can be no time at all, and
# what the server has no key for yet is lost.
RENEG=${RENEG:-4}
# shellcheck source=rig/scenario/tunnel.sh
. "$(dirname "$0")/tunnel.sh"

IPERF_SECONDS=${IPERF_SECONDS:-5}
FILE_MIB=${FILE_MIB:-256}
# features that the device must have, by ethtool's names
WANT_FEATURES=${WANT_FEATURES:-}
YNL=${YNL:-/ovpn/build/linux}

FEATURES="tx-checksum-ip-generic tx-scatter-gather tx-scatter-gather-fraglist
	generic-segmentation-offload tx-gso-list generic-receive-offload"

# row LABEL TEXT: one line of the table
row() {
	printf '  %-12s %s\n' "$1" "$2"
}

# fact NAME JSON: one field of the result
fact() {
	printf '%s\t%s\n' "$1" "$2" >>$T/facts
}

# fail TEXT: the end, with the one line that says why
fail() {
	WHY=$*
	exit 1
}

# finish: runs whatever ended the scenario
finish() {
	rc=$?
	trap - EXIT
	if [ $rc -ne 0 ] && [ -z "$WHY" ]; then
		WHY="the scenario stopped in the middle"
	fi
	reason=$WHY
	tunnel_down || {
		rc=1
		reason=${reason:-$WHY}
	}
	jq -R -n --arg reason "$reason" '
		[inputs / "\t" | {(.[0]): (.[1] | fromjson)}] | add // {} |
		.reason = $reason | .ok = ($reason == "")
	' <$T/facts >"$OUT/scenario.json"
	rm -rf $T
	exit $rc
}

# now: seconds, as precise as openvpn's log
now() {
	date +%s.%6N
}

# since TIME: seconds gone by
since() {
	echo "$1 $(now)" | awk '{ printf "%.2f", $2 - $1 }'
}

mkdir -p $T
: >$T/facts
trap finish EXIT
trap 'exit 130' INT TERM

version=$(openvpn --version | awk 'NR == 1 { print $2 }')
row kernel "Linux $(uname -r)"
row openvpn "$version, $CIPHER over $PROTO"
fact kernel "\"$(uname -r)\""
fact openvpn "\"$version\""
fact cipher "\"$CIPHER\""

# --- the tunnel ---
fact dco_server false
fact dco_client false
tunnel_up || exit
fact dco_server true
fact dco_client true
handshake=$(awk '
	NR == 1 { start = $1 }
	/Initialization Sequence Completed$/ { printf "%.3f", $1 - start; exit }
	' "$LOGS/client.log")
tls=$(sed -n 's/.*Control Channel: \(TLS[^ ,]*\), cipher [^ ]* \([^ ,]*\),.*/\1 \2/p' \
	"$LOGS/client.log" | head -n 1)
row handshake "$handshake s from the client's start, $tls"
row offload "tun0 is an ovpn device in both namespaces"
row wire "veth, SPLIT: tso off, tx-udp-segmentation off, gro on"
fact handshake_s "$handshake"

# --- the devices ---
for ns in server client; do
	on $ns ethtool --json -k tun0 >"$T/features.$ns"
	fact "features_$ns" "$(jq -c '.[0] | map_values(.active? // empty)' \
		"$T/features.$ns")"
done
row features "$(printf '%-30s %-8s %s' '' server client)"
for feature in $FEATURES; do
	set --
	for ns in server client; do
		state=$(jq -r --arg f "$feature" \
			'.[0][$f].active | if . then "on" else "off" end' \
			"$T/features.$ns")
		set -- "$@" "$state"
	done
	row '' "$(printf '%-30s %-8s %s' "$feature" "$@")"
done
for feature in $WANT_FEATURES; do
	for ns in server client; do
		jq -e --arg f "$feature" '.[0][$f].active' "$T/features.$ns" \
			>/dev/null || fail "the $ns's tun0 has no $feature"
	done
done

# --- ping ---
for address in $SERVER4 $SERVER6; do
	on client ping -q -c 5 -i 0.1 -W 5 "$address" >$T/ping 2>&1 ||
		fail "ping $address: $(grep -m 1 loss $T/ping)"
	row ping "$address $(sed -n \
		's,^rtt [^=]*= \([^/]*\)/\([^/]*\)/\([^/]*\).*,min \1 avg \2 max \3 ms,p' \
		$T/ping)"
done

# --- iperf3 ---
# rate NAME ARROW OPTION...: one direction
rate() {
	name=$1
	arrow=$2
	shift 2
	on server iperf3 -s -1 --forceflush >$T/iperf.log 2>&1 &
	job=$!
	await $T/iperf.log 'Server listening' 10 ||
		fail "iperf3's server does not listen"
	on client iperf3 -c $SERVER4 -t "$IPERF_SECONDS" -J "$@" \
		>$T/iperf.json ||
		fail "iperf3 $arrow: $(jq -r .error $T/iperf.json)"
	wait $job || fail "iperf3's server: $(tail -n 1 $T/iperf.log)"
	mbit=$(jq '.end.sum_received.bits_per_second / 1e6 | round' \
		$T/iperf.json)
	again=$(jq .end.sum_sent.retransmits $T/iperf.json)
	[ "$mbit" -gt 0 ] || fail "iperf3 $arrow: nothing arrived"
	row iperf3 "$arrow  $mbit Mbit/s, $again retransmitted"
	fact "mbit_$name" "$mbit"
	fact "retransmits_$name" "$again"
}
rate fwd 'client -> server'
rate rev 'server -> client' -R

# --- the same without batches ---
# batching on|off: at both ends, both ways
batching() {
	for ns in server client; do
		on $ns ethtool -K tun0 tso "$1" tx-udp-segmentation "$1" \
			gro "$1" || fail "the $ns's tun0 cannot switch batches $1"
	done
}

# batches SIDE: its counters of batches as JSON, {} where there are none
batches() {
	{ on "$1" ethtool -S tun0 2>/dev/null || :; } |
		sed -n 's/^ *\([rt]x_batch[a-z_]*\): \([0-9]*\)$/"\1": \2/p' |
		paste -s -d , | sed 's/.*/{&}/'
}

for ns in server client; do
	batches $ns >"$T/batches.$ns"
	fact "batches_$ns" "$(cat "$T/batches.$ns")"
done
if [ "$(cat "$T/batches.client")" != '{}' ]; then
	for ns in server client; do
		row batches "$ns: $(jq -r '
			def mean(n; r): if n > 0 then
				"\(n) of \(r / n * 10 | round / 10) records"
				else "none" end;
			"sent \(mean(.tx_batches; .tx_batch_records)), " +
			"received \(mean(.rx_batches; .rx_batch_records))"
			' "$T/batches.$ns")"
	done
	jq -s -e 'all(.tx_batches > 0 and .rx_batches > 0)' \
		"$T/batches.server" "$T/batches.client" >/dev/null ||
		fail "nothing was sent or received in batches"
	batching off
	rate fwd_off 'client -> server, batches off:'
	rate rev_off 'server -> client, batches off:' -R
	batching on
fi

# --- the file, and a change of keys on its way ---
SWAP='Swapping primary and secondary keys'

# send: the server's file, all but the last MiB at once.  That waits for the
# change of keys, so that the file crosses it however fast the machine is.
send() {
	dd bs=1M count=$((FILE_MIB - 1)) status=none
	await "$LOGS/server.log" "$SWAP" 60 $((seen + 1)) || return
	# seeded fault: one byte is not what it was
	[ "$FAULT" != byte ] ||
		dd bs=1 count=1 status=none | tr '\000-\377' '\001-\377\000'
	dd bs=1M status=none
}

head -c "${FILE_MIB}M" /dev/urandom | tee $T/file | sha256sum >$T/sum.server
on client socat -u -d -d TCP6-LISTEN:5001 STDOUT 2>$T/socat.log |
	sha256sum >$T/sum.client &
job=$!
await $T/socat.log ' listening on ' 10 || fail "socat does not listen"
start=$(now)
seen=$(wc -l <"$LOGS/server.log")
{
	send <$T/file || echo late >$T/late
} | on server socat -u -b 65536 STDIN "TCP6:[$CLIENT6]:5001" ||
	fail "the file was not sent"
wait $job
end=$(now)
rm $T/file
[ ! -e $T/late ] || fail "no change of keys within 60 s"

# The server's log tells when the kernel began to send with the new key.
keys_total=$(grep -c "$SWAP" "$LOGS/server.log")
keys=$(awk -v seen="$seen" -v start="$start" -v end="$end" -v swap="$SWAP" '
	NR > seen && index($0, swap) && $1 < end {
		printf "%s%.1f s", n++ ? ", " : "", $1 - start
	}' "$LOGS/server.log")
rekeys=$(echo "$keys" | awk -F, '{ print NF }')
took=$(echo "$start $end" | awk '{ printf "%.1f", $2 - $1 }')
read -r sum_server _ <$T/sum.server
read -r sum_client _ <$T/sum.client
row file "$FILE_MIB MiB server -> client over IPv6 in $took s"
row sha256 "server $sum_server"
row '' "client $sum_client"
row keys "changed $keys_total times, $rekeys with the file under way: $keys"
fact file_mib "$FILE_MIB"
fact file_s "$took"
fact sha256 "\"$sum_server\""
fact rekeys "$rekeys"
fact rekeys_total "$keys_total"
fact sha256_equal "$([ "$sum_server" = "$sum_client" ] && echo true || echo false)"
[ "$sum_server" = "$sum_client" ] || fail "the file arrived corrupted"
[ "$rekeys" -ge 1 ] || fail "the keys did not change during the file"

# --- what both ends counted ---
# peer SIDE: the kernel's counters for its one peer
peer() {
	on "$1" python3 "$YNL/tools/net/ynl/pyynl/cli.py" --no-schema \
		--spec "$YNL/Documentation/netlink/specs/ovpn.yaml" \
		--dump peer-get --output-json --json \
		"{\"ifindex\": $(on "$1" cat /sys/class/net/tun0/ifindex)}" |
		jq -c '.[0].peer | with_entries(select(
			.key | test("^(vpn|link)-[rt]x-(bytes|packets)$")))'
}

# A keepalive may pass between the two readings.  If the server reads the same
# before and after the client's, none did.
tries=0
before=
after=$(peer server)
while [ "$before" != "$after" ]; do
	tries=$((tries + 1))
	[ $tries -le 5 ] || fail "the counters do not come to rest"
	before=$after
	client=$(peer client)
	after=$(peer server)
done
fact peer_server "$after"
fact peer_client "$client"

row counters "$(printf '%-19s %-22s %s' '' 'packets (sent, recv)' \
	'bytes (sent, recv)')"
echo "[$after, $client]" | jq -r '
	def line(a; b; name; what): [name,
		"\(a[what + "-tx-packets"]) \(b[what + "-rx-packets"])",
		"\(a[what + "-tx-bytes"]) \(b[what + "-rx-bytes"])"] | @tsv;
	line(.[1]; .[0]; "to server, inner"; "vpn"),
	line(.[1]; .[0]; "to server, wire"; "link"),
	line(.[0]; .[1]; "to client, inner"; "vpn"),
	line(.[0]; .[1]; "to client, wire"; "link")
	' | tr '\t' '|' | while IFS='|' read -r name packets bytes; do
	row '' "$(printf '%-19s %-22s %s' "$name" "$packets" "$bytes")"
done
differ=$(echo "[$after, $client]" | jq -r '
	. as [$s, $c] | [$s | keys[] | . as $k |
	(if test("-tx-") then sub("-tx-"; "-rx-") else sub("-rx-"; "-tx-") end)
	as $k2 | select($s[$k] != $c[$k2]) |
	"server \($k) \($s[$k]), client \($k2) \($c[$k2])"] | join("; ")')
fact counters_agree "$([ -z "$differ" ] && echo true || echo false)"

# --- what must not have happened ---
# The namespaces are new, so every counter began at zero.
for ns in server client; do
	on $ns nstat -a -s -z -j | jq -c '.kernel | with_entries(select(
		.value > 0 and (.key | test("CsumErrors$|InErrors$|BufErrors$|" +
		"ReasmFails$|FragFails$|InDiscards$|OutDiscards$"))))'
	ip -n $ns -j -s link show | jq -c '[.[] |
		select(.ifname == "tun0" or .ifname == "wire") |
		.ifname as $dev | .stats64 | to_entries[] | .key as $dir |
		.value | to_entries[] | select(.value > 0 and
			(.key | test("errors|dropped"))) |
		{("\($dev) \($dir) \(.key)"): .value}] | add // {}'
done | jq -c -s '[.[] | to_entries[]]' >$T/errors
bad=$(jq -r 'map("\(.key) \(.value)") | join(", ")' $T/errors)
row errors "${bad:-none: no checksum error, no drop in either namespace}"
fact errors "$(cat $T/errors)"
[ -z "$differ" ] ||
	fail "the peers' counters differ: $differ${bad:+ (errors: $bad)}"
[ -z "$bad" ] || fail "errors or drops were counted: $bad"
