#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/tests/nicpair.sh [MODULES]: TAP; inside a guest.  What the bench believes
# of nicpair, whose modules are in the folder MODULES, or built into the kernel.
#
#	namespace "a"				namespace "b"
#	+----------------------+		+----------------------+
#	| near  192.0.2.1      |--- nicpair ----|     192.0.2.2   far  |
#	|       2001:db8::1    |		|  2001:db8::2	       |
#	+----------------------+		+----------------------+

set -eu

modules=${1:-}
work=$(mktemp -d)
# shellcheck source=rig/tests/tap.sh
. "$(dirname "$0")/../../rig/tests/tap.sh"

# a file of this many bytes is sent in every transfer
size=420000
# UDP super-packets: bytes a call, payload of each datagram
call=42000
mss=1400
# so many calls, and so many datagrams; a last one without payload ends it
calls=10
datagrams=300

on() {
	on_ns=$1
	shift
	ip netns exec "$on_ns" "$@"
}

# say TEXT: fail, and name the reason
say() {
	echo "$*"
	return 1
}

# is NAME VALUE OPERATOR WANTED: a comparison that explains itself
is() {
	test "$2" "$3" "$4" || say "$1 is $2, not $3 $4"
}

# started JOB NAMESPACE TEXT COMMAND...: in the background; returns when it
# says TEXT
started() {
	job=$1
	ns=$2
	text=$3
	shift 3
	rm -f "$work/says"
	mkfifo "$work/says"
	ip netns exec "$ns" "$@" >"$work/says" 2>&1 &
	echo $! >"$work/$job.pid"
	exec 5<"$work/says"
	while read -r line <&5; do
		case $line in
		*"$text"*)
			# the pipe stays open for what it says later
			cat <&5 >"$work/$job.log" &
			exec 5<&-
			return ;;
		esac
		echo "$line"
	done
	exec 5<&-
	say "$1 did not start"
}

# ended JOB: by itself, and well
ended() {
	wait "$(cat "$work/$1.pid")" || say "$1 failed: $(cat "$work/$1.log")"
}

# stopped JOB SIGNAL: because it is told to
stopped() {
	kill -s "$2" "$(cat "$work/$1.pid")"
	wait "$(cat "$work/$1.pid")" || :
}

# stat DEVICE NAME: a counter
stat() {
	case $1 in
	near)	ns=a ;;
	far)	ns=b ;;
	esac
	on "$ns" ethtool -S "$1" | sed -n "s/^ *$2: //p"
}

# mib NAMESPACE NAME
mib() {
	on "$1" nstat -asz "$2" | awk -v name="$2" '$1 == name { print $2 }'
}

# address FAMILY NAMESPACE
address() {
	case $1$2 in
	4a)	echo 192.0.2.1 ;;
	4b)	echo 192.0.2.2 ;;
	6a)	echo 2001:db8::1 ;;
	6b)	echo 2001:db8::2 ;;
	esac
}

up() {
	ip -n a link set near up
	ip -n b link set far up
	# the addresses of IPv6 go when the device goes down
	ip -n a address replace 2001:db8::1/64 dev near nodad
	ip -n b address replace 2001:db8::2/64 dev far nodad
}

down() {
	ip -n a link set near down
	ip -n b link set far down
}

pair_up() {
	ip netns add a &&
	ip netns add b &&
	ip -n a link add near type nicpair &&
	ip -n a link set nicpair0 name far netns b &&
	ip -n a address add 192.0.2.1/24 dev near &&
	ip -n b address add 192.0.2.2/24 dev far &&
	ip -n a link set lo up &&
	ip -n b link set lo up &&
	# the size of a super-packet follows the rate, and a guest is slow
	# a socket whose program is gone asks its peer, which is gone too, and holds
	# its namespace for as long: once is enough
	for ns in a b; do
		on $ns sysctl -q -w net.ipv4.tcp_min_tso_segs=32 \
			net.ipv4.tcp_orphan_retries=1 || return
	done
	up
}

# the pair goes with either of its namespaces, which is gone when the last of its
# sockets is
pair_down() {
	ip netns del a || return
	tries=0
	while ip -n b link show dev far 2>/dev/null; do
		[ $((tries += 1)) -le 300 ] || say "the far end stays" || return
		sleep 0.2
	done
	ip netns del b
}

# --- captures ---------------------------------------------------------------

# await FILE PATTERN: until FILE has a line that matches
await() {
	rm -f "$work/await"
	mkfifo "$work/await"
	tail -n +1 -f "$1" >"$work/await" 2>/dev/null &
	await_tail=$!
	await_rc=0
	timeout 60 grep -q -m 1 -e "$2" <"$work/await" || await_rc=$?
	kill $await_tail
	wait $await_tail 2>/dev/null || :
	return $await_rc
}

# capture FILTER: on both ends, as text, what is sent to port 7000
capture() {
	for end in "dump-a a near 128" "dump-b b far 10000"; do
		# shellcheck disable=SC2086 # four words
		set -- "$1" $end
		started "$2" "$3" 'listening on' tcpdump -Z root \
			--immediate-mode -l -envvn -B 65536 -s "$5" -i "$4" "icmp or ($1)" ||
			return
	done
}

# captured: a last packet tells that all before it are there
captured() {
	on a ping -q -c 1 192.0.2.2 >"$work/ping" &&
	await "$work/dump-a.log" 'ICMP echo reply' &&
	await "$work/dump-b.log" 'ICMP echo reply' || return
	stopped dump-a INT
	stopped dump-b INT
}

# frames END: the lengths, one a line
frames() {
	sed -n '/ICMP/d
		s/^.* ethertype [^,]*, length \([0-9]*\): .*/\1/p' \
		"$work/dump-$1.log"
}

longest() {
	frames "$1" | sort -n | tail -n 1
}

count() {
	frames "$1" | wc -l
}

# sums_right: all checksums on the far side's wire are
sums_right() {
	grep -q '(correct)\|sum ok' "$work/dump-b.log" ||
		say "no checksums in the capture" || return
	! grep -m 3 'incorrect\|bad .*sum' "$work/dump-b.log"
}

# --- transfers --------------------------------------------------------------

same_file() {
	cmp "$work/file" "$work/copy" || say "the copy differs"
}

# tcp FAMILY FROM TO: the file
tcp() {
	to=$(address "$1" "$3")
	[ "$1" = 4 ] || to="[$to]"
	rm -f "$work/copy"
	started server "$3" 'listening on' socat -d -d -u \
		"TCP$1-LISTEN:7000,reuseaddr" "CREATE:$work/copy" &&
	on "$2" socat -u -b 1000000 "OPEN:$work/file" "TCP$1:$to:7000" &&
	ended server &&
	same_file
}

# udp FAMILY FROM TO [OPTION...]: the file; UDP_SEGMENT makes a super-packet of
# each call
udp() {
	to=$(address "$1" "$3")
	[ "$1" = 4 ] || to="[$to]"
	rm -f "$work/copy"
	started server "$3" 'starting data transfer loop' socat -d -d -u \
		-b 65536 "UDP$1-RECV:7000,null-eof,rcvbuf=64000000" \
		"CREATE:$work/copy" &&
	on "$2" socat -u -b $call "OPEN:$work/file" \
		"UDP$1-CONNECT:$to:7000,setsockopt-int=17:103:$mss,shut-null" &&
	ended server
}

# iperf FAMILY CLIENT SERVER ARG...: into $work/iperf.json
iperf() {
	to=$(address "$1" "$3")
	client=$2
	server=$3
	shift 3
	started iperf "$server" 'Server listening' \
		iperf3 -s -1 --forceflush || return
	on "$client" iperf3 -J -c "$to" "$@" >"$work/iperf.json" ||
		say "$(jq -r .error "$work/iperf.json")" || return
	ended iperf
}

# --- what is tested ---------------------------------------------------------

features() {
	on a ethtool -k near >"$work/features" &&
	on b ethtool -k far >>"$work/features" || return
	for feature in tx-checksum-ip-generic scatter-gather \
		tx-tcp-segmentation tx-tcp6-segmentation \
		tx-udp-segmentation rx-checksumming generic-receive-offload \
		receive-hashing; do
		is "$feature" "$(grep -c "^[[:space:]]*$feature: on$" \
			"$work/features")" = 2 || return
	done
	[ "$(on a ethtool -i near | sed -n 's/^driver: //p')" = nicpair ]
}

# settled: the frames sent and received by both ends, read while nobody sends
settled() {
	now='' again='nothing yet'
	while [ "$now" != "$again" ]; do
		again=$now
		now=$(for counter in "near tx" "far rx" "far tx" "near rx"; do
			stat "${counter% *}" "${counter#* }_frames"
		done | tr '\n' ' ')
	done
	echo "$now"
}

# no frame is lost, whoever sends.  TCP's retransmissions do not say so: where a
# guest is slow, one may come although nothing was lost.
tcp_clean() {
	iperf "$1" a b -n 1M && iperf "$1" a b -n 1M -R || return
	# shellcheck disable=SC2046 # four numbers
	set -- $(settled)
	is "frames from near" "$1" -gt 700 &&
	is "frames received by far" "$2" = "$1" &&
	is "frames from far" "$3" -gt 700 &&
	is "frames received by near" "$4" = "$3" &&
	is "overruns" "$(($(stat near rx_ring_overruns) +
		$(stat far rx_ring_overruns)))" = 0
}

# on the near side super-packets, on the far side what fits the wire
tcp_sizes() {
	on b ethtool -K far gro off &&
	super=$(stat near tx_super_packets) &&
	capture 'dst port 7000' &&
	tcp "$1" a b || return
	captured || return
	on b ethtool -K far gro on &&
	is "the longest near" "$(longest a)" -gt 10000 &&
	is "the longest far" "$(longest b)" = 1514 &&
	is super-packets "$(stat near tx_super_packets)" -gt "$super" &&
	sums_right
}

tcp_merged() {
	capture 'dst port 7000' &&
	tcp "$1" a b || return
	captured || return
	is "the longest far" "$(longest b)" -gt 1514
}

tso_off() {
	on a ethtool -K near tso off &&
	super=$(stat near tx_super_packets) &&
	capture 'dst port 7000' &&
	tcp "$1" a b || return
	captured || return
	on a ethtool -K near tso on &&
	is "the longest near" "$(longest a)" = 1514 &&
	is super-packets "$(stat near tx_super_packets)" = "$super"
}

udp_sizes() {
	headers=$((14 + 20 + 8))
	errors=UdpInCsumErrors
	if [ "$1" = 6 ]; then
		headers=$((14 + 40 + 8))
		errors=Udp6InCsumErrors
	fi
	super=$(stat near tx_super_packets) &&
	capture 'dst port 7000' &&
	udp "$1" a b || return
	captured || return
	same_file &&
	is "calls near" "$(count a)" = $((calls + 1)) &&
	is "the longest near" "$(longest a)" = \
		$((headers + call)) &&
	is "datagrams far" "$(count b)" = \
		$((datagrams + 1)) &&
	is "the longest far" "$(longest b)" = \
		$((headers + mss)) &&
	is super-packets "$(stat near tx_super_packets)" = \
		$((super + calls)) &&
	is "checksum errors" "$(mib b $errors)" = 0 &&
	sums_right
}

uso_off() {
	on a ethtool -K near tx-udp-segmentation off &&
	super=$(stat near tx_super_packets) &&
	capture 'dst port 7000' &&
	udp "$1" a b || return
	captured || return
	on a ethtool -K near tx-udp-segmentation on &&
	same_file &&
	is "datagrams near" "$(count a)" = \
		$((datagrams + 1)) &&
	is super-packets "$(stat near tx_super_packets)" = "$super"
}

# a header inline that the stack put there
vlan() {
	for end in "a near 1" "b far 2"; do
		# shellcheck disable=SC2086 # three words
		set -- $end
		ip -n "$1" link add link "$2" name vlan type vlan id 7 &&
		ip -n "$1" address add "198.51.100.$3/24" dev vlan &&
		ip -n "$1" link set vlan up || return
	done
	capture 'vlan 7' &&
	started server b 'listening on' socat -d -d -u \
		TCP4-LISTEN:7000,reuseaddr "CREATE:$work/copy" &&
	on a socat -u -b 1000000 "OPEN:$work/file" TCP4:198.51.100.2:7000 &&
	ended server || return
	captured || return
	ip -n a link del vlan
	ip -n b link del vlan
	same_file &&
	is "the longest near" "$(longest a)" -gt 10000
}

# split: the same buffers in two parts
split() {
	down
	on a ethtool --set-priv-flags near rx-split on &&
	on b ethtool --set-priv-flags far rx-split on &&
	up &&
	tcp 4 a b && tcp 6 b a && udp 4 a b && same_file || return
	down
	on a ethtool --set-priv-flags near rx-split off &&
	on b ethtool --set-priv-flags far rx-split off &&
	up
}

jumbo() {
	down
	ip -n a link set near mtu 9000 &&
	ip -n b link set far mtu 9000 &&
	up &&
	on b ethtool -K far gro off &&
	capture 'dst port 7000' &&
	tcp 4 a b || return
	captured || return
	on b ethtool -K far gro on &&
	is "the longest far" "$(longest b)" = 9014 &&
	tcp 6 b a && udp 6 a b && same_file || return
	down
	ip -n a link set near mtu 1500 &&
	ip -n b link set far mtu 1500 &&
	up
}

# an MTU that the far end does not have
oversize() {
	down
	ip -n a link set near mtu 9000 &&
	up &&
	lost=$(stat far rx_oversize) &&
	! on a ping -q -c 1 -W 1 -s 8000 192.0.2.2 >"$work/ping" &&
	is oversize "$(stat far rx_oversize)" -gt "$lost" || return
	down
	ip -n a link set near mtu 1500 &&
	up
}

# rings RX TX: sizes of far's receive and near's transmit ring
rings() {
	down
	on b ethtool -G far rx "$1" &&
	on a ethtool -G near tx "$2" &&
	up
}

# queue DEVICE-ATTRIBUTE VALUE: of near
queue() {
	on a sh -c "echo $2 >/sys/class/net/near/$1"
}

# With flow control nothing is lost, the queue is stopped instead.  NAPI that is
# put off leaves what was sent in the ring, and BQL is told to allow it.
ring_stops() {
	pauses=$(stat near tx_pauses) &&
	stops=$(stat near tx_ring_stops) &&
	lost=$(stat far rx_ring_overruns) &&
	rings 8 4 &&
	# neighbours are asked for before answers take their time
	on a ping -q -c 1 192.0.2.2 &&
	queue queues/tx-0/byte_queue_limits/limit_min 10000000 &&
	queue gro_flush_timeout 3000000000 &&
	queue napi_defer_hard_irqs 1000000 &&
	# it is put off from the first that it receives
	on a ping -q -c 1 -W 10 192.0.2.2 &&
	udp 4 a b && same_file &&
	is pauses "$(stat near tx_pauses)" -gt "$pauses" &&
	is "ring stops" "$(stat near tx_ring_stops)" -gt "$stops" &&
	is overruns "$(stat far rx_ring_overruns)" = "$lost" &&
	queue queues/tx-0/byte_queue_limits/limit_min 0 &&
	queue gro_flush_timeout 0 &&
	queue napi_defer_hard_irqs 0 &&
	rings 1024 256
}

bql_stops() {
	stops=$(stat near tx_bql_stops) &&
	lost=$(stat far rx_ring_overruns) &&
	rings 8 256 &&
	udp 4 a b && same_file && tcp 6 a b &&
	is "BQL stops" "$(stat near tx_bql_stops)" -gt "$stops" &&
	is overruns "$(stat far rx_ring_overruns)" = "$lost" &&
	rings 1024 256
}

# without flow control frames are lost, and each is counted
overruns() {
	rings 8 256 &&
	on b ethtool -A far tx off &&
	before=$(stat far rx_ring_overruns) &&
	udp 4 a b || return
	# three counters are not read at once: read while nobody sends
	sent='' again=$(stat near tx_frames)
	while [ "$sent" != "$again" ]; do
		sent=$again
		got=$(stat far rx_frames)
		lost=$(stat far rx_ring_overruns)
		again=$(stat near tx_frames)
	done
	is overruns "$lost" -gt "$before" &&
	is "received and lost" $((got + lost)) = "$sent" &&
	! same_file >"$work/differs" 2>&1 &&
	on b ethtool -A far tx on &&
	rings 1024 256
}

# a wrong checksum is not taken for a right one
wrong_sums() {
	errors=$(mib b UdpInCsumErrors)
	# who cannot be asked for an address any more
	on a ping -q -c 1 192.0.2.2 >"$work/ping" &&
	tc -n a qdisc add dev near root netem corrupt 100% &&
	head -c 200000 "$work/file" | on a socat -u -b 1000 - \
		UDP4-DATAGRAM:192.0.2.2:9 &&
	tc -n a qdisc del dev near root || return
	# a flipped bit of the headers ends elsewhere: some 4 of 100
	is "checksum errors" "$(mib b UdpInCsumErrors)" -gt \
		$((errors + 150))
}

# its time is there, and less than all the time there was
hardware_time() {
	start=$(awk '{ print int($1 * 1000) }' /proc/uptime)
	took=$(stat near hw_ns)
	back=$(stat far hw_ns)
	tcp 4 a b || return
	took=$(($(stat near hw_ns) - took))
	back=$(($(stat far hw_ns) - back))
	ms=$(($(awk '{ print int($1 * 1000) }' /proc/uptime) - start))
	is "hardware time" $took -gt 0 &&
	is "hardware time" $((took / 1000000)) -lt $ms &&
	# the far end sent nothing but acknowledgements
	is "the way back" $back -lt $took
}

# flow: TCP both ways until stopped; not all that a slow guest can take, for then
# it does nothing else
flow() {
	started server b 'Server listening' iperf3 -s --forceflush &&
	started client a 'connected to' iperf3 -c 192.0.2.2 -t 1200 --bidir \
		-b 20M --forceflush &&
	flowing
}

flowing() {
	on b timeout 60 tcpdump -Z root -i far -c 60 -w /dev/null \
		'tcp port 5201' 2>/dev/null || say "nothing flows"
}

flow_stop() {
	stopped client KILL
	stopped server KILL
}

toggles() {
	flow || return
	for _ in 1 2 3 4 5 6 7 8; do
		for state in off on; do
			on a ethtool -K near tso $state rx $state &&
			on b ethtool -K far tso $state gro $state \
				rxhash $state &&
			on a ethtool -K near tx $state sg $state || return
		done
	done
	flowing || return
	flow_stop
	# what depends on another came back with it
	on a ethtool -K near tso on tx-udp-segmentation on gso on &&
	on b ethtool -K far tso on tx-udp-segmentation on gso on &&
	features
}

link_flaps() {
	flow || return
	for _ in 1 2 3 4 5; do
		ip -n b link set far down &&
		ip -n b link set far up &&
		ip -n a link set near down &&
		ip -n a link set near up || return
	done
	flowing || return
	flow_stop
	up
}

removed() {
	for _ in 1 2 3; do
		flow || return
		ip -n b link del far || return
		! ip -n a link show dev near >/dev/null 2>&1 || return
		flow_stop
		ip netns del a && ip netns del b && pair_up || return
	done
}

unloaded() {
	for _ in 1 2 3; do
		flow || return
		rmmod nicpair || return
		flow_stop
		ip netns del a && ip netns del b || return
		! grep '^nicpair ' /proc/modules || return
		insmod "$modules/nicpair.ko" && pair_up || return
	done
}

namespace_gone() {
	flow || return
	# who is in a namespace keeps it
	flow_stop
	pair_down
}

# aead ALGORITHM KEY: both times are there
aead() {
	echo "$1 $2 1400 640" >/sys/kernel/debug/aeadloop &&
	cat /sys/kernel/debug/aeadloop &&
	grep -q "^alg=$1 driver=[^ ]* key=$2 payload=1400 records=640\
 bytes=896000 encrypt_ns=[1-9][0-9]* decrypt_ns=[1-9][0-9]*$" \
		/sys/kernel/debug/aeadloop
}

aead_refused() {
	! echo "$1" 2>/dev/null >/sys/kernel/debug/aeadloop
}

# module NAME COMMAND...: a test of what only a module does
module() {
	[ -z "$modules" ] || {
		works "$@"
		return
	}
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP built in"
}

head -c $size /dev/urandom >"$work/file"
sysctl -q -w net.core.rmem_max=64000000

module "the modules load" \
	insmod "$modules/nicpair.ko"
works "a pair, an end in each of two namespaces" pair_up
works "what a NIC offers is on" features
for family in 4 6; do
	works "TCP both ways, IPv$family: no frame lost" \
		tcp_clean $family
	works "TCP, IPv$family: super-packets near, wire size far" \
		tcp_sizes $family
	works "TCP, IPv$family: GRO merges" tcp_merged $family
	works "TCP, IPv$family: TSO off" tso_off $family
	works "UDP GSO, IPv$family: super-packets near, wire size far" \
		udp_sizes $family
	works "UDP GSO, IPv$family: USO off" uso_off $family
done
works "TCP over a VLAN" vlan
works "receive buffers in two parts" split
works "MTU 9000" jumbo
works "frames too long for the far end are counted" oversize
works "a full ring stops the queue" ring_stops
works "BQL stops the queue" bql_stops
works "without flow control each lost frame is counted" overruns
works "wrong checksums stay wrong" wrong_sums
works "the hardware's time is accounted" hardware_time
works "offloads switched under traffic" toggles
works "either end down and up under traffic" link_flaps
works "an end removed under traffic" removed
module "the module removed under traffic" unloaded
works "a namespace removed" namespace_gone
module "the module unloads" rmmod nicpair

module "aeadloop loads" insmod "$modules/aeadloop.ko"
works "AES-128-GCM alone" aead 'gcm(aes)' 16
works "AES-256-GCM alone" aead 'gcm(aes)' 32
works "ChaCha20-Poly1305 alone" aead 'rfc7539(chacha20,poly1305)' 32
works "no such AEAD" aead_refused 'gcm(nothing) 16 1400 2000'
works "a key of the wrong length" aead_refused 'gcm(aes) 15 1400 2000'
works "not a request" aead_refused 'gcm(aes)'
module "aeadloop unloads" rmmod aeadloop

rm -rf "$work"
tap_end
