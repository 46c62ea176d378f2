# SPDX-License-Identifier: GPL-2.0
# one TCP flow through the openvpn program with its own data channel

cd /tmp || exit
wire
for ns in a b; do
	openssl req -quiet -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
		-nodes -subj /CN=$ns -days 30 -keyout $ns.key -out $ns.crt
	openssl x509 -in $ns.crt -noout -fingerprint -sha256 |
		sed 's/.*=//' > $ns.print
	mkfifo $ns.up
done
proto=udp
[ "$FAMILY" = ipv4 ] || proto=udp6

# program NAMESPACE PEER INNER INNER_PEER INNER6 INNER_PEER6 OPTION...
program() {
	ns=$1 peer=$2 inner="$3 $4" inner6="$5/64 $6"
	shift 6
	# shellcheck disable=SC2086 # two words each
	in_ns $ns openvpn --dev t --dev-type tun --disable-dco --proto $proto \
		--cert $ns.crt --key $ns.key \
		--peer-fingerprint "$(cat $peer.print)" \
		--data-ciphers "$CIPHER" --cipher "$CIPHER" \
		--ifconfig $inner --ifconfig-ipv6 $inner6 \
		--script-security 2 --up-delay \
		--up "/bin/sh /bench/guest/up.sh $ns.up" \
		--verb 1 "$@" &
}
program b a 10.8.0.2 10.8.0.1 fd00:8::2 fd00:8::1 \
	--tls-server --dh none --local "$WIRE_B" --lport 1194
program a b 10.8.0.1 10.8.0.2 fd00:8::1 fd00:8::2 \
	--tls-client --remote "$WIRE_B" 1194 --nobind
for ns in a b; do
	read -r _ < $ns.up
done
tunnel_meters t
# packets are lost between program and device, at random
WINDOW=$((WINDOW * 16))
flow stream 1
