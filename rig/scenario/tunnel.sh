# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
# Sourced inside the guest: two network namespaces, a wire between them, and
# the real openvpn on both ends with its data channel in the kernel.
#
#	namespace "server"			namespace "client"
#	+----------------------+		+----------------------+
#	| tun0   10.8.0.1      |  ovpn device	|     10.8.0.2	  tun0 |
#	|        fd00:8::1     |		| fd00:8::1000	       |
#	|		       |		|		       |
#	| wire   192.0.2.1     |------ veth ----|    192.0.2.2	  wire |
#	|        2001:db8::1   |  (SPLIT mode)	|  2001:db8::2	       |
#	+----------------------+		+----------------------+
#
# The caller sets what it wants other than the defaults below, then calls
# tunnel_up, and tunnel_down whatever became of it.  A function that fails
# leaves the reason, one line, in $WHY.

# what belongs to the tunnel: keys, configurations, pid files
T=/tmp/tunnel
# where openvpn's logs go
LOGS=${LOGS:-$T}
CIPHER=${CIPHER:-AES-256-GCM}
# udp4 or udp6: what carries the tunnel
PROTO=${PROTO:-udp4}
# seconds between changes of the data key; openvpn's own default
RENEG=${RENEG:-3600}
# for the slowest step of the handshake on a busy machine
PATIENCE=${PATIENCE:-20}
# a mistake to make: "authority" (the client trusts another one) or "port"
# (the client knocks where nobody is)
FAULT=${FAULT:-}

# what follows is for those who source this
# shellcheck disable=SC2034
{
	SERVER4=10.8.0.1
	SERVER6=fd00:8::1
	# the first of the server's pools
	CLIENT4=10.8.0.2
	CLIENT6=fd00:8::1000
	WHY=
}

# why TEXT: say what went wrong, and fail
why() {
	# shellcheck disable=SC2034
	WHY=$*
	return 1
}

# on NAMESPACE COMMAND...
on() {
	on_ns=$1
	shift
	ip netns exec "$on_ns" "$@"
}

# await FILE REGEX SECONDS [LINE]: until FILE has, from LINE on, one that
# matches.  tail hears of every write: no polling and no sleep.
await() {
	rm -f "$T/await"
	mkfifo "$T/await"
	tail -n "+${4:-1}" -f "$1" >"$T/await" 2>/dev/null &
	await_tail=$!
	await_rc=0
	timeout "$3" grep -E -q -m 1 -e "$2" <"$T/await" || await_rc=$?
	# a line too many for grep, and tail is gone already
	kill "$await_tail" 2>/dev/null || :
	# the shell reports who died of a signal, which is no news here
	wait "$await_tail" 2>/dev/null || [ $? -gt 128 ]
	rm -f "$T/await"
	return "$await_rc"
}

# wire_up: both namespaces and the veth pair, in SPLIT mode: each end sends
# frames of the wire's size as a NIC does, and GRO joins what arrives.
wire_up() {
	ip netns add server
	ip netns add client
	ip -n server link add wire type veth peer name wire netns client
	for ns in server client; do
		[ $ns = server ] && n=1 || n=2
		ip -n $ns link set lo up
		# nobody solicits routers through the tunnel: the driver drops
		# what belongs to no peer, and drops are looked for
		on $ns sysctl -q -w \
			net.ipv6.conf.default.router_solicitations=0
		on $ns ethtool -K wire tso off tx-udp-segmentation off gro on
		# veth stops a queue that its peer's ring has no room for, but
		# only where there is a queue; without one it drops, and after
		# a drop the two ends' counters have nothing to say
		on $ns tc qdisc add dev wire root pfifo limit 10000
		ip -n $ns address add "192.0.2.$n/24" dev wire
		ip -n $ns address add "2001:db8::$n/64" dev wire nodad
		ip -n $ns link set wire up
	done
}

# certify NAME OPTION...: $T/NAME.key and $T/NAME.crt
certify() {
	name=$1
	shift
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
		-noenc -days 2 -subj "/CN=$name" -keyout "$T/$name.key" \
		-out "$T/$name.crt" "$@" 2>"$T/openssl.log" ||
		why "openssl: $(tail -n 1 "$T/openssl.log")"
}

# authority NAME: a certificate authority
authority() {
	certify "$1"
}

# certificate NAME AUTHORITY USAGE: what lets NAME be a server or a client
certificate() {
	certify "$1" -CA "$T/$2.crt" -CAkey "$T/$2.key" \
		-addext basicConstraints=critical,CA:FALSE \
		-addext keyUsage=critical,digitalSignature \
		-addext "extendedKeyUsage=$3"
}

# configuration SIDE: what both ends have in common
configuration() {
	cat <<-END
	dev tun0
	dev-type tun
	proto $PROTO
	ca $T/$2.crt
	cert $T/$1.crt
	key $T/$1.key
	data-ciphers $CIPHER

	# A record adds 24 bytes, UDP 8 and IPv6 40.  At openvpn's default of
	# 1500 every full record would leave in two fragments.  1420 fits a
	# wire of 1500 over either family and spares 8 for PPPoE.
	tun-mtu 1420

	# a handshake that fails ends the program; it does not start over
	tls-exit
	management $T/$1.sock unix

	# Level 6 names each change of keys in the kernel, with the time to
	# the microsecond.  Data packets do not come by here, so it costs
	# nothing.
	verb 6
	machine-readable-output
	END
}

# openvpn_configure: the certificates and both configurations
openvpn_configure() {
	trusted=authority
	port=1194
	authority authority || return
	case $FAULT in
	authority)
		trusted=stranger
		authority stranger || return ;;
	port)
		port=1195 ;;
	esac
	certificate server authority serverAuth || return
	certificate client authority clientAuth || return
	[ "$PROTO" = udp6 ] && remote=2001:db8::1 || remote=192.0.2.1

	{
		configuration server authority
		cat <<-END

		server 10.8.0.0 255.255.255.0
		server-ipv6 fd00:8::/64
		topology subnet
		dh none
		remote-cert-tls client
		keepalive 10 60
		# the client alone times the changes of keys
		reneg-sec 0
		END
	} >$T/server.conf
	{
		configuration client $trusted
		cat <<-END

		client
		remote $remote $port
		nobind
		remote-cert-tls server
		reneg-sec $RENEG
		END
	} >$T/client.conf
}

# openvpn_start SIDE: in the background; its log ends with "exited N"
openvpn_start() {
	: >"$LOGS/$1.log"
	(
		# not by "on": the process that is started must be openvpn
		ip netns exec "$1" openvpn --config "$T/$1.conf" \
			>>"$LOGS/$1.log" 2>&1 &
		echo $! >"$T/$1.pid"
		rc=0
		wait $! || rc=$?
		echo "exited $rc" >>"$LOGS/$1.log"
	) &
	eval "job_$1=$!"
}

# openvpn_ready SIDE: wait until it says so
openvpn_ready() {
	await "$LOGS/$1.log" 'Initialization Sequence Completed$|^exited ' \
		"$PATIENCE" ||
		why "the $1 was not ready after $PATIENCE s$(complaint "$1")" ||
		return
	! grep -q '^exited ' "$LOGS/$1.log" ||
		why "the $1's openvpn ended$(complaint "$1")"
}

# complaint SIDE: the first error in its log, with a colon before it.  The
# second field of a line is its severity: 0x10 is fatal, 0x20 an error.
complaint() {
	sed -n -E '/^[0-9.]+ [0-9a-f]*[12][0-9a-f] / {
		s/^[^ ]* [^ ]* (udp[46]:[^ ]* )?/: /
		p
		q
	}' "$LOGS/$1.log"
}

# openvpn_stop SIDE: end it, if it was started, and hear that it ended well
openvpn_stop() {
	eval "job=\${job_$1:-}"
	[ -n "$job" ] || return 0
	eval "job_$1="
	grep -q '^exited ' "$LOGS/$1.log" || kill "$(cat "$T/$1.pid")"
	wait "$job"
	grep -q '^exited 0$' "$LOGS/$1.log" ||
		why "the $1's openvpn: $(tail -n 1 "$LOGS/$1.log")" \
			"$(complaint "$1")"
}

# offloaded SIDE: whether its data channel is in the kernel: the device is of
# that kind, and openvpn says that it uses it
offloaded() {
	kind=$(ip -n "$1" -d -j link show dev tun0 |
		jq -r '.[0].linkinfo.info_kind')
	[ "$kind" = ovpn ] ||
		why "the $1's tun0 is of kind \"$kind\", not ovpn" || return
	grep -q ' DCO device tun0 opened$' "$LOGS/$1.log" ||
		why "the $1's openvpn does not say that it uses DCO"
}

# tunnel_up: everything, as far as data can flow
tunnel_up() {
	mkdir -p "$T" "$LOGS"
	wire_up || why "the wire between the namespaces was not made" || return
	openvpn_configure || return
	openvpn_start server
	openvpn_ready server || return
	openvpn_start client
	openvpn_ready client || return
	offloaded server && offloaded client
}

# tunnel_down: both programs, whoever else is in the namespaces, and these
tunnel_down() {
	down_rc=0
	for ns in client server; do
		openvpn_stop $ns || down_rc=1
	done
	for ns in client server; do
		[ -e /run/netns/$ns ] || continue
		ip netns pids $ns | xargs -r kill
		ip netns delete $ns
	done
	return $down_rc
}
