#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/tests/run.sh: the main job says the truth about itself, and leaves
# nothing behind.  TAP.  Boots the patched kernel, or KERNEL=FILE.

# functions are called by check and by the trap
# shellcheck disable=SC2317

set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$here" && git rev-parse --show-toplevel)
mkdir -p "$top/build"
work=$(mktemp -d "$top/build/test-run.XXXXXX")
session=
clean() {
	rc=$?
	trap - EXIT
	[ -z "$session" ] || kill -s KILL -- "-$session" 2>/dev/null || :
	rm -rf "$work"
	exit "$rc"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# small: what is tested is the verdict, not the traffic
RESULTS=$work/results IPERF_SECONDS=1 FILE_MIB=8
export RESULTS IPERF_SECONDS FILE_MIB

n=0
failed=0
# result STATUS NAME: one line of TAP
result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
		return
	fi
	echo "not ok $n $2"
	failed=1
	[ ! -s "$work/err" ] || sed 's/^/# /' "$work/err"
}

# check NAME COMMAND...
check() {
	name=$1
	shift
	rc=0
	"$@" || rc=1
	result $rc "$name"
}

# json FILTER: true of run.json
json() {
	"$here/in-root" jq -e "$1" <"$RESULTS/run.json" >"$work/json" 2>&1
}

# run [VARIABLE=VALUE]...: a run to its end; leaves its exit status in $status
run() {
	status=0
	env "$@" "$here/run.sh" >"$work/out" 2>"$work/err" || status=$?
}

failed_with() {
	[ "$status" != 0 ] && [ "$(wc -l <"$work/err")" = 1 ] &&
		grep -q -E "^run: error: $1" "$work/err" &&
		json '.ok == false and (.reasons | length) == 1'
}

table() {
	for row in base series kernel openvpn handshake offload features \
		ping iperf3 file sha256 keys counters errors; do
		grep -q "^  $row " "$work/out" || return
	done
}

# only the result and the logs, whatever happened
tidy() {
	[ "$(find "$RESULTS" -mindepth 1 -maxdepth 1 | sort | tr '\n' ' ')" = \
		"$RESULTS/run $RESULTS/run.json " ]
}

echo 1..15

# --- a good run ---
run
check "a good run exits 0 and says nothing on stderr" \
	test "$status" = 0 -a ! -s "$work/err"
check "its result has every field, and they are true" json '
	.ok and .dco_server and .dco_client and .sha256_equal and
	.counters_agree and .reasons == [] and .errors == [] and
	.rekeys >= 1 and .mbit_fwd > 0 and .mbit_rev > 0 and
	(.sha256 | length) == 64 and .peer_server["link-tx-packets"] > 0 and
	(.base | length) > 0 and (.series | length) > 0'
check "its table shows the main things" table
check "it leaves the result and the logs, and no more" tidy

# --- Ctrl-C with traffic under way ---
# what a terminal does: the signal goes to the whole group.  An asynchronous
# command of sh ignores SIGINT, which a terminal's foreground job does not.
mkfifo "$work/table"
IPERF_SECONDS=60 perl -e '$SIG{INT} = "DEFAULT"; setpgrp; exec @ARGV' \
	"$here/run.sh" >"$work/table" 2>"$work/err" &
session=$!
uml=
while read -r row _; do
	[ "$row" != ping ] || [ -n "$uml" ] || {
		uml=$(cat "$RESULTS"/.run.*/uml/guest/pid)
		kill -s INT -- "-$session"
	}
done <"$work/table"
status=0
wait "$session" || status=$?
session=
check "Ctrl-C ends it with 130" test "$status" = 130
# killed it is; tail waits until it is gone as well
check "Ctrl-C takes the guest along" \
	timeout 10 tail --pid="${uml:-$$}" -f /dev/null
check "Ctrl-C leaves no file, and no older result" \
	test -z "$(find "$RESULTS" -mindepth 1)"

# --- what goes wrong is said ---
run FAULT=authority
check "a client that trusts another authority fails the run" \
	failed_with 'the client.*certificate in certificate chain'
run FAULT=port PATIENCE=3
check "a client that reaches nobody fails the run" \
	failed_with 'the client was not ready after 3 s'
run FAULT=byte
check "one wrong byte in the file fails the run" \
	failed_with 'the file arrived corrupted'
check "and the result says that the hashes differ" json '.sha256_equal == false'
check "failed runs leave the result and the logs, and no more" tidy

# --- the shell ---
# script is the terminal; the words wait in it until a shell reads them
before=$(find "$top/build" -maxdepth 1 -name 'shell.*')
status=0
printf '%s\n' 'client ping -q -c 1 10.8.0.1' false exit |
	script -q -e -c "$here/shell.sh" /dev/null >"$work/out" 2>"$work/err" ||
	status=$?
check "a shell ends well, whatever was done in it" test "$status" = 0
check "the tunnel is up in it" grep -q ' 0% packet loss' "$work/out"
check "a shell leaves no file" test "$before" = \
	"$(find "$top/build" -maxdepth 1 -name 'shell.*')"

exit "$failed"
