#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/run.sh [base|patched]: the main job.  Boots that kernel (the patched one
# unless told) and carries traffic through the real openvpn on it, by
# rig/scenario/run.sh.  The table goes to stdout as it grows, the result to
# $RESULTS/run.json and the guest's logs to $RESULTS/run/.
#
# KERNEL=FILE boots that one instead of building.  IPERF_SECONDS, FILE_MIB,
# RENEG, CIPHER and PROTO change the scenario, FAULT and PATIENCE are for the
# rig's own test.

. "$(dirname "$0")/lib.sh"

RESULTS=${RESULTS:-$BUILD/results}
out=$RESULTS/.run.$$
which=${1:-patched}
want=
case $which in
base)	;;
patched) want="tx-checksum-ip-generic tx-scatter-gather-fraglist" ;;
*)	die "usage: rig/run.sh [base|patched]" ;;
esac

began=$(date +%s)
# whatever happens from here on, no older result stands for this run's
rm -rf "$RESULTS/run.json" "$RESULTS/run"
base=$("$RIG/base.sh")
base=${base%% *}
series=none
[ "$which" = base ] || series=$(series_id)
kernel=${KERNEL:-$("$RIG/kernel.sh" um "$which")}

boot='' show=''
# shellcheck disable=SC2317 # called by the trap
clean() {
	rc=$?
	trap - EXIT
	# boot.sh takes its guest along
	if [ -n "$boot" ]; then
		kill "$boot"
		# it says what killed it, which is known
		wait "$boot" || :
	fi
	[ -z "$show" ] || wait "$show"
	rm -rf "$out"
	exit "$rc"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

mkdir -p "$out"

printf '  %-12s %s\n' base "$base" series "$series"

# A scenario's rows are indented; what else comes is boot.sh's: its reasons.
mkfifo "$out/fifo"
sed -u -n -e '/^  /{p;b' -e '}' -e "w $out/guest" <"$out/fifo" &
show=$!
# One CPU: with two, TCP over the bare veth falls from gigabits to 60 Mbit/s at
# times.  UML waking a CPU that sleeps too late would explain it; not proved.
"$RIG/guest/boot.sh" -k "$kernel" -o "$out" -c 1 -v -- env \
	WANT_FEATURES="$want" FAULT="${FAULT:-}" PATIENCE="${PATIENCE:-20}" \
	IPERF_SECONDS="${IPERF_SECONDS:-5}" FILE_MIB="${FILE_MIB:-256}" \
	RENEG="${RENEG:-4}" CIPHER="${CIPHER:-AES-256-GCM}" \
	PROTO="${PROTO:-udp4}" sh /ovpn/rig/scenario/run.sh >"$out/fifo" &
boot=$!
rc=0
wait $boot || rc=$?
boot=
wait $show
show=
took=$(($(date +%s) - began))

# One result: what the scenario found and what boot.sh says of the guest.  The
# scenario's reason makes "the command exits 1" redundant.
[ -s "$out/scenario.json" ] || echo '{}' >"$out/scenario.json"
# shellcheck disable=SC2016 # the variables are jq's
{
	cat "$out/scenario.json"
	"$RIG/in-root" jq -R -n '[inputs]' <"$out/guest"
} | "$RIG/in-root" jq -s --arg base "$base" --arg series "$series" \
	--arg which "$which" --argjson rc "$rc" --argjson took "$took" '
	.[0] as $s | .[1] as $guest |
	([$s.reason // empty | select(. != "")] |
		. + if . == [] then $guest
		else $guest - ["the command exits 1"] end) as $reasons |
	{ok: ($s.ok == true and $rc == 0 and $reasons == []),
	 reasons: $reasons, base: $base, series: $series, tree: $which,
	 seconds: $took} + ($s | del(.ok, .reason))
	' >"$out/run.json"
rm -f "$out/fifo" "$out/guest" "$out/scenario.json"
mv "$out/run.json" "$RESULTS/run.json"
mv "$out" "$RESULTS/run"

case $RESULTS in
"$TOP"/*) shown=${RESULTS#"$TOP/"} ;;
*)	shown=$RESULTS ;;
esac
"$RIG/in-root" jq -r '.reasons[]' <"$RESULTS/run.json" |
	while read -r reason; do
		printf 'run: error: %s\n' "$reason" >&2
	done
"$RIG/in-root" jq -e .ok <"$RESULTS/run.json" >/dev/null || exit 1
echo "run: ok in $took s, see $shown/run.json and $shown/run/"
